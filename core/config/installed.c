#include "config/paths.h"

#if !defined(MCPLUG_SYSCONF_DIR) || !defined(MCPLUG_DATA_DIR)
#error "define MCPLUG_SYSCONF_DIR and MCPLUG_DATA_DIR as strings"
#endif

/* In a file of their own, so that tests can put others in their place. The environment
 * must not: whoever a policy is meant for has the environment in their hands. */

const char *mp_installed_system_dir(void)
{
    return MCPLUG_SYSCONF_DIR "/mcplug";
}

const char *mp_installed_package_dir(void)
{
    return MCPLUG_DATA_DIR "/mcplug/servers.d";
}

uid_t mp_installed_owner(void)
{
    return 0;
}
