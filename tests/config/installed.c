/* In place of core/config/installed.c: where the administrator's files are, for tests. */
#include "config/paths.h"

#include <stdlib.h>
#include <unistd.h>

static const char *from(const char *variable)
{
    const char *value = getenv(variable);
    return value ? value : "/nonexistent";
}

const char *mp_installed_system_dir(void)
{
    return from("MCPLUG_TEST_SYSTEM");
}

const char *mp_installed_package_dir(void)
{
    return from("MCPLUG_TEST_PACKAGES");
}

uid_t mp_installed_owner(void)
{
    return geteuid();
}
