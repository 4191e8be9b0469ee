/* Where the files of the configuration are. Nothing that a project brings along can move
 * them: only the environment, and there only absolute paths count. */
#ifndef MP_CONFIG_PATHS_H
#define MP_CONFIG_PATHS_H

#include "base/path.h"

#include <mcplug/types.h>

#include <stdbool.h>
#include <sys/types.h>

struct mp_paths {
    char *cwd; /* "/" when it is gone */
    bool has_cwd;
    char *home;      /* NULL: not known */
    char *settings;  /* $XDG_CONFIG_HOME/mcplug/settings.json; NULL without a home */
    char *approvals; /* $XDG_STATE_HOME/mcplug/approvals.json; likewise */
    char *state;     /* $XDG_STATE_HOME/mcplug; likewise */
    char *cache;     /* $XDG_CACHE_HOME/mcplug; likewise */
    char *managed;   /* the administrator's servers */
    char *policy;    /* and policy */
    char *packages;  /* a directory of *.json */
    uid_t owner;     /* to whom the administrator's files belong: root */
};

/* Reads the environment. MCPLUG_OK or MCPLUG_ENOMEM. Clear in any case. */
int mp_paths_init(struct mp_paths *paths, struct mcplug_error *err);
void mp_paths_clear(struct mp_paths *paths);

/* ---- installed.c: given at build time ---- */

const char *mp_installed_system_dir(void);  /* SYSCONFDIR/mcplug */
const char *mp_installed_package_dir(void); /* DATADIR/mcplug/servers.d */
uid_t mp_installed_owner(void);             /* root */

#endif
