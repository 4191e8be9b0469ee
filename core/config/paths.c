#include "config/paths.h"

#include "base/buf.h"
#include "base/error.h"
#include "base/mem.h"

#include <pwd.h>
#include <stdlib.h>
#include <unistd.h>

static const char *absolute(const char *variable)
{
    const char *value = getenv(variable);
    return value && value[0] == '/' ? value : NULL;
}

static char *find_home(bool *known)
{
    const char *home = absolute("HOME");
    struct passwd entry, *found = NULL;
    char room[4096];

    if (!home && getpwuid_r(getuid(), &entry, room, sizeof room, &found) == 0 && found &&
        found->pw_dir && found->pw_dir[0] == '/')
        home = found->pw_dir;
    *known = home != NULL;
    return home ? mp_strdup(home) : NULL;
}

/* $VARIABLE/NAME, or HOME/FALLBACK/NAME; NULL when neither is known. false: no memory */
static bool below(const char *variable, const char *home, const char *fallback,
                  const char *name, char **out)
{
    const char *base = absolute(variable);
    char *dir = !base && home ? mp_path_join(home, fallback) : NULL;

    base = base ? base : dir;
    *out = base ? mp_path_join(base, name) : NULL;
    mp_free(dir);
    return *out || (!home && !absolute(variable));
}

int mp_paths_init(struct mp_paths *paths, struct mcplug_error *err)
{
    const char *system = mp_installed_system_dir();
    memset(paths, 0, sizeof *paths);

    char *cwd = getcwd(NULL, 0); /* it is the C library's, as what it lies in */
    paths->has_cwd = cwd && cwd[0] == '/';
    paths->cwd = mp_strdup(paths->has_cwd ? cwd : "/");
    free(cwd);
    paths->owner = mp_installed_owner();
    bool known;
    paths->home = find_home(&known);
    paths->managed = mp_path_join(system, "managed.json");
    paths->policy = mp_path_join(system, "policy.json");
    paths->packages = mp_strdup(mp_installed_package_dir());
    bool ok =
        (paths->home || !known) && paths->cwd && paths->managed && paths->policy &&
        paths->packages &&
        below("XDG_CONFIG_HOME", paths->home, ".config", "mcplug/settings.json",
              &paths->settings) &&
        below("XDG_STATE_HOME", paths->home, ".local/state", "mcplug/approvals.json",
              &paths->approvals) &&
        below("XDG_STATE_HOME", paths->home, ".local/state", "mcplug", &paths->state) &&
        below("XDG_CACHE_HOME", paths->home, ".cache", "mcplug", &paths->cache);
    return ok ? MCPLUG_OK : mp_fail_nomem(err);
}

void mp_paths_clear(struct mp_paths *paths)
{
    mp_free(paths->cwd);
    mp_free(paths->home);
    mp_free(paths->settings);
    mp_free(paths->approvals);
    mp_free(paths->state);
    mp_free(paths->cache);
    mp_free(paths->managed);
    mp_free(paths->policy);
    mp_free(paths->packages);
    memset(paths, 0, sizeof *paths);
}
