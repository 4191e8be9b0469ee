#include "config/atomic_file.h"

#include "base/buf.h"
#include "base/error.h"
#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* ---- errors ---- */

static void show_path(const char *path, char shown[MP_TARGET_SHOWN + 1])
{
    size_t len = strlen(path), half = MP_TARGET_SHOWN / 2 - 2;

    if (len <= MP_TARGET_SHOWN)
        memcpy(shown, path, len + 1);
    else
        snprintf(shown, MP_TARGET_SHOWN + 1, "%.*s...%s", (int)half, path,
                 path + len - half);
}

int mp_atomic_file_fail(struct mcplug_error *err, int code, const char *path,
                        const char *what)
{
    char shown[MP_TARGET_SHOWN + 1];

    show_path(path, shown);
    return mp_fail(err, code, "%s: %s", shown, what);
}

int mp_atomic_file_fail_os(struct mcplug_error *err, const char *path, int os_error,
                           const char *what, const char *after)
{
    char shown[MP_TARGET_SHOWN + 1];

    if (os_error == ENOMEM)
        return mp_fail_nomem(err);
    show_path(path, shown);
    mp_fail(err, MCPLUG_EIO, "%s: %s: %s%s%s%s", shown, what, strerror(os_error),
            after ? " (" : "", after ? after : "", after ? ")" : "");
    if (err)
        err->os_error = os_error;
    return MCPLUG_EIO;
}

/* ---- where it is ---- */

static void close_fd(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

void mp_atomic_file_clear(struct mp_atomic_file *p)
{
    /* Said, not left to close(): a child that another thread forks has the lock, too. */
    if (p->lock_fd >= 0)
        flock(p->lock_fd, LOCK_UN);
    else if (p->fd >= 0)
        flock(p->fd, LOCK_UN);
    close_fd(&p->lock_fd);
    close_fd(&p->fd);
    mp_free(mp_move(&p->dir));
    mp_free(mp_move(&p->name));
}

int mp_atomic_file_sync(int fd)
{
    while (fsync(fd) != 0)
        if (errno != EINTR)
            return errno == EINVAL ? 0 : errno; /* not every file system can */
    return 0;
}

/* Writes out that the directory at `path` has come into being; returns an errno. */
static int sync_parent(const char *path)
{
    char *above = mp_strdup(path), *slash = above ? strrchr(above, '/') : NULL;

    if (slash)
        slash[slash == above] = '\0';
    int fd = above ? open(slash ? above : ".", MP_TARGET_DIR_FLAGS) : -1;
    int e = 0;
    if (fd >= 0)
        e = mp_atomic_file_sync(
            fd); /* one that we may not open is not ours to care for */
    close_fd(&fd);
    mp_free(above);
    return e;
}

static int make_dir(const char *dir)
{
    struct stat st;

    if (mkdir(dir, 0700) == 0)
        return sync_parent(dir);
    int e = errno;
    if (stat(dir, &st) != 0)
        return e;
    /* Whatever mkdir() says: above, file systems may be read-only, or closed to us. */
    return S_ISDIR(st.st_mode) ? 0 : ENOTDIR;
}

static int make_dirs(const char *path, char *dir, struct mcplug_error *err)
{
    int e = 0;

    for (char *p = dir; e == 0 && *p;) {
        p += strspn(p, "/");
        p += strcspn(p, "/");
        char end = *p;
        *p = '\0';
        e = make_dir(dir);
        *p = end;
    }
    if (e)
        return mp_atomic_file_fail_os(err, path, e, "cannot make its directory",
                                      MP_TARGET_UNCHANGED);
    return MCPLUG_OK;
}

/* Takes `at`, a path, apart and opens the directory. */
static int open_target(struct mp_atomic_file *p, const char *at, struct mcplug_error *err)
{
    const char *slash = strrchr(at, '/'), *name = slash ? slash + 1 : at;
    int r = MCPLUG_OK;

    if (!*name || strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
        return mp_atomic_file_fail(err, MCPLUG_ECONFIG, p->path, "is no name of a file");
    size_t len = slash == at ? 1 : slash ? (size_t)(slash - at) : 0;
    p->dir = len ? mp_strndup(at, len) : mp_strdup(".");
    p->name = mp_strdup(name);
    if (!p->dir || !p->name)
        return mp_fail_nomem(err);
    p->fd = open(p->dir, MP_TARGET_DIR_FLAGS);
    if (p->fd < 0 && errno == ENOENT) {
        r = make_dirs(p->path, p->dir, err);
        p->fd = r == MCPLUG_OK ? open(p->dir, MP_TARGET_DIR_FLAGS) : -1;
    }
    if (r == MCPLUG_OK && p->fd < 0)
        r = mp_atomic_file_fail_os(err, p->path, errno, "cannot open its directory",
                                   MP_TARGET_UNCHANGED);
    return r;
}

/* give; where the link at the target leads to, as a path; NULL in `*out` when there is no
 * link. */
static int follow(const struct mp_atomic_file *p, char **out, struct mcplug_error *err)
{
    char to[PATH_MAX];
    struct mp_str next;

    *out = NULL;
    ssize_t n = readlinkat(p->fd, p->name, to, sizeof to);
    if (n < 0 && (errno == EINVAL || errno == ENOENT))
        return MCPLUG_OK;
    if (n < 0 || (size_t)n == sizeof to)
        return mp_atomic_file_fail_os(err, p->path, n < 0 ? errno : ENAMETOOLONG,
                                      "cannot follow it", MP_TARGET_UNCHANGED);
    mp_str_init(&next, (size_t)3 * PATH_MAX);
    if (to[0] != '/') {
        mp_str_adds(&next, p->dir);
        mp_str_addc(&next, '/');
    }
    mp_str_add(&next, to, (size_t)n);
    *out = mp_str_take(&next);
    return *out ? MCPLUG_OK : mp_fail_nomem(err);
}

static int find_target(struct mp_atomic_file *p, struct mcplug_error *err)
{
    char *at = mp_strdup(p->path), *next = NULL;
    int r = at ? MCPLUG_OK : mp_fail_nomem(err);

    for (int links = 0; r == MCPLUG_OK && at; links++) {
        mp_atomic_file_clear(p);
        r = open_target(p, at, err);
        if (r == MCPLUG_OK)
            r = follow(p, &next, err);
        mp_free(at);
        at = mp_move(&next);
        if (r == MCPLUG_OK && at && links == MP_TARGET_LINKS)
            r = mp_atomic_file_fail_os(err, p->path, ELOOP, "cannot follow it",
                                       MP_TARGET_UNCHANGED);
    }
    mp_free(at);
    return r;
}

/* Is the target, now that it is locked, still where the path leads to? */
static bool still_there(const struct mp_atomic_file *p)
{
    struct stat ours, there;
    char to[1];

    return fstat(p->fd, &ours) == 0 && stat(p->dir, &there) == 0 &&
           ours.st_dev == there.st_dev && ours.st_ino == there.st_ino &&
           readlinkat(p->fd, p->name, to, sizeof to) < 0;
}

/* ---- the lock ---- */

static int64_t now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* 0, an errno, or ETIMEDOUT. */
static int take_lock(int fd, int64_t until)
{
    while (flock(fd, LOCK_EX | LOCK_NB) != 0) {
        if (errno == EINTR)
            continue;
        if (errno != EWOULDBLOCK)
            return errno;
        int64_t now = now_ns();
        if (now >= until)
            return ETIMEDOUT;
        /* 2 to 10 ms. The clock's last digits keep those who wait out of step. */
        struct timespec rest = {0, 2000000 + (long)(now / 64 % 8000000)};
        nanosleep(&rest, NULL);
    }
    return 0;
}

static int open_lock_file(struct mp_atomic_file *p, mode_t mode)
{
    struct stat st;
    char name[NAME_MAX + 1];

    snprintf(name, sizeof name, ".%.*s.lock", MP_TARGET_KEPT, p->name);
    p->lock_fd = openat(p->fd, name,
                        O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY,
                        mode & 0666);
    if (p->lock_fd < 0 || fstat(p->lock_fd, &st) != 0)
        return errno;
    return S_ISREG(st.st_mode) ? 0 : EINVAL;
}

static int lock_target(struct mp_atomic_file *p, mode_t mode, int64_t until,
                       struct mcplug_error *err)
{
    int e = take_lock(p->fd, until);
    if (e == EBADF || e == ENOLCK || e == EOPNOTSUPP) {
        e = open_lock_file(p, mode);
        if (e == 0)
            e = take_lock(p->lock_fd, until);
    }
    if (e == ETIMEDOUT) {
        char shown[MP_TARGET_SHOWN + 1], dir[MP_TARGET_SHOWN + 1];
        show_path(p->path, shown);
        show_path(p->dir, dir);
        mp_fail(err, MCPLUG_EIO,
                "%s: cannot lock: another program is changing files in %s", shown, dir);
        if (err)
            err->os_error = e;
        return MCPLUG_EIO;
    }
    return e ? mp_atomic_file_fail_os(err, p->path, e, "cannot lock", MP_TARGET_UNCHANGED)
             : MCPLUG_OK;
}

int mp_atomic_file_lock(struct mp_atomic_file *p, const char *path, mode_t mode,
                        unsigned wait_ms, struct mcplug_error *err)
{
    int64_t until = now_ns() + (int64_t)wait_ms * 1000000;

    *p = (struct mp_atomic_file){.path = path, .fd = -1, .lock_fd = -1};
    for (int tries = 0; tries < MP_TARGET_TRIES; tries++) {
        int r = find_target(p, err);
        if (r == MCPLUG_OK)
            r = lock_target(p, mode, until, err);
        if (r != MCPLUG_OK || still_there(p))
            return r;
    }
    return mp_atomic_file_fail(err, MCPLUG_EIO, p->path,
                               "another program keeps moving it");
}
