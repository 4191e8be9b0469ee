#include "base/path.h"

#include "base/buf.h"
#include "base/mem.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

char *mp_path_join(const char *dir, const char *name)
{
    struct mp_str path;
    size_t len = strlen(dir);
    mp_str_init(&path, (size_t)PATH_MAX * 4);
    mp_str_add(&path, dir, len);
    if (len == 0 || dir[len - 1] != '/')
        mp_str_addc(&path, '/');
    mp_str_adds(&path, name);
    return mp_str_take(&path);
}

char *mp_path_dir(const char *path)
{
    const char *slash = strrchr(path, '/');
    if (!slash)
        return mp_strdup(".");
    return mp_strndup(path, slash == path ? 1 : (size_t)(slash - path));
}

char *mp_path_absolute(const char *path)
{
    if (*path == '/')
        return mp_strdup(path);
    char *cwd = getcwd(NULL, 0);
    if (!cwd && errno != ENOMEM)
        return mp_strdup(path); /* the working directory is gone; so is this one */
    char *whole = cwd ? mp_path_join(cwd, path) : NULL;
    free(cwd);
    return whole;
}

const char *mp_path_shown(const char *path, char shown[MP_PATH_SHOWN + 1])
{
    size_t len = strlen(path), half = MP_PATH_SHOWN / 2 - 2;

    if (len <= MP_PATH_SHOWN)
        memcpy(shown, path, len + 1);
    else
        snprintf(shown, MP_PATH_SHOWN + 1, "%.*s...%s", (int)half, path,
                 path + len - half);
    return shown;
}
