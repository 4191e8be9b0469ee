#include "cli/base/state_file.h"

#include "base/error.h"
#include "base/mem.h"
#include "base/path.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

int cli_state_fail(const struct mcplug_paths *paths, const char *dir_name,
                   const char *file, int os_error, const char *what,
                   struct mcplug_error *err)
{
    char *dir = mp_path_join(paths->state, dir_name), *path = NULL,
         shown[MP_PATH_SHOWN + 1];
    int r = MCPLUG_ENOMEM;

    if (dir)
        path = *file ? mp_path_join(dir, file) : mp_strdup(dir);
    if (!path || os_error == ENOMEM)
        mp_fail_nomem(err);
    else if (os_error)
        r = mp_fail_os(err, MCPLUG_EIO, os_error, "%s: %s", mp_path_shown(path, shown),
                       what);
    else
        r = mp_fail(err, MCPLUG_EREFUSED, "%s: %s", mp_path_shown(path, shown), what);
    mp_free(path);
    mp_free(dir);
    return r;
}

/* Is what was opened ours alone? */
static int check(int fd, bool is_dir, const struct mcplug_paths *paths,
                 const char *dir_name, const char *file, struct stat *st,
                 struct mcplug_error *err)
{
    if (fstat(fd, st) != 0)
        return cli_state_fail(paths, dir_name, file, errno, "cannot be accessed", err);
    if (!is_dir && !S_ISREG(st->st_mode))
        return cli_state_fail(paths, dir_name, file, 0, "is not a regular file", err);
    if (st->st_uid != geteuid())
        return cli_state_fail(paths, dir_name, file, 0, "belongs to another user", err);
    if (st->st_mode & (S_IWGRP | S_IWOTH))
        return cli_state_fail(paths, dir_name, file, 0, "is writable by other users",
                              err);
    return MCPLUG_OK;
}

/* Those above are made as they are found missing; what is wrong shows at the last one. */
static int make_state(const char *state)
{
    char *path = mp_strdup(state);
    if (!path)
        return ENOMEM;
    for (char *p = path + 1; (p = strchr(p, '/')); p++) {
        *p = '\0';
        mkdir(path, 0700);
        *p = '/';
    }
    int e = mkdir(path, 0700) == 0 || errno == EEXIST ? 0 : errno;
    mp_free(path);
    return e;
}

/* The user's own directories may be links, but not this one. */
int cli_state_dir(const struct mcplug_paths *paths, const char *dir_name, bool make,
                  int *out, struct mcplug_error *err)
{
    int flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC;
    struct stat st;

    *out = -1;
    int above = open(paths->state, flags);
    if (above < 0 && errno == ENOENT && make) {
        int e = make_state(paths->state);
        above = e ? -1 : open(paths->state, flags);
        errno = e ? e : errno;
    }
    if (above < 0)
        return errno == ENOENT && !make
                   ? MCPLUG_OK
                   : cli_state_fail(paths, dir_name, "", errno, "cannot be created", err);
    int e = make && mkdirat(above, dir_name, 0700) != 0 && errno != EEXIST ? errno : 0;
    int fd = openat(above, dir_name, flags | O_NOFOLLOW);
    if (fd < 0 && !e)
        e = errno;
    close(above);
    if (fd < 0 && e == ENOENT && !make)
        return MCPLUG_OK;
    if (fd < 0 && (e == ENOTDIR || e == ELOOP))
        return cli_state_fail(paths, dir_name, "", 0,
                              "is a symbolic link or not a directory", err);
    if (fd < 0)
        return cli_state_fail(paths, dir_name, "", e, "cannot be opened", err);
    int r = check(fd, true, paths, dir_name, "", &st, err);
    if (r == MCPLUG_OK)
        *out = fd;
    else
        close(fd);
    return r;
}

/* A pipe or a device must not make us wait before we see what it is. */
int cli_state_file(const struct mcplug_paths *paths, const char *dir_name, int dir_fd,
                   const char *file, int flags, int *out, struct stat *st,
                   struct mcplug_error *err)
{
    int fd = openat(dir_fd, file, flags | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);

    *out = -1;
    if (fd < 0 && errno == ENOENT && !(flags & O_CREAT))
        return MCPLUG_OK;
    if (fd < 0 && errno == ELOOP)
        return cli_state_fail(paths, dir_name, file, 0, "is a link", err);
    if (fd < 0)
        return cli_state_fail(paths, dir_name, file, errno, "cannot be opened", err);
    int r = check(fd, false, paths, dir_name, file, st, err);
    if (r == MCPLUG_OK)
        *out = fd;
    else
        close(fd);
    return r;
}
