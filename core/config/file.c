/* What a kill may leave behind is a temporary file and nothing else, and it is the next
 * writer who removes it. Whoever holds the lock is alone with the names in the directory;
 * who does not ask for the lock (an editor) is found out just before the rename. */
#include "config/file.h"

#include "../../plugins/common/fds.h"
#include "base/error.h"
#include "base/fsize.h"
#include "base/mem.h"
#include "base/path.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

#define NAMES_MAX 16      /* tried for a temporary file */
#define ENTRIES_MAX 65536 /* of a directory that is looked through for what was left */
#define TEMP_MARK ".mcplug-"
#define TEMP_DIGITS 16
#define MOVES_MAX 16 /* of one that others move all the time */

#define READ_FLAGS (O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)
#define DIR_FLAGS (O_RDONLY | O_DIRECTORY | O_CLOEXEC)
#define UNCHANGED "the file is unchanged"

typedef char file_name[NAME_MAX + 1];

/* Where a file really is, behind all links, and the lock that its writers take turns
 * with. */
struct target {
    const char *path; /* as the caller says it, borrowed */
    char *dir;
    char *name;
    int fd;                 /* the directory, and its lock */
    int lock_fd;            /* of a lock file, where directories cannot be locked */
    bool is_cache;          /* what is written need not outlast a crash of the machine */
    mp_file_commit *commit; /* NULL: there is none */
    void *arg;
};

/* ---- errors ---- */

int mp_file_fail(struct mcplug_error *err, int code, const char *path, const char *what)
{
    char shown[MP_PATH_SHOWN + 1];

    mp_path_shown(path, shown);
    return mp_fail(err, code, "%s: %s", shown, what);
}

int mp_file_fail_os(struct mcplug_error *err, const char *path, int os_error,
                    const char *what, const char *after)
{
    char shown[MP_PATH_SHOWN + 1];

    if (os_error == ENOMEM)
        return mp_fail_nomem(err);
    mp_path_shown(path, shown);
    mp_fail(err, MCPLUG_EIO, "%s: %s: %s%s%s%s", shown, what, strerror(os_error),
            after ? " (" : "", after ? after : "", after ? ")" : "");
    if (err)
        err->os_error = os_error;
    return MCPLUG_EIO;
}

/* ---- reading ---- */

static void wipe(struct mp_str *s)
{
    if (s->data)
        explicit_bzero(s->data, s->cap);
    mp_str_clear(s);
}

void mp_file_clear(struct mp_file *file)
{
    wipe(&file->text);
    memset(&file->st, 0, sizeof file->st);
    file->exists = false;
    file->stranger = NULL;
}

static void file_init(struct mp_file *file, size_t max)
{
    memset(file, 0, sizeof *file);
    mp_str_init(&file->text, max + 1); /* one more tells what is too long */
}

/* Room for `more` bytes. Not realloc(), which would leave a copy of the text behind. */
static bool make_room(struct mp_str *s, size_t more)
{
    struct mp_str larger;

    if (more > s->max - s->len)
        more = s->max - s->len;
    if (s->cap - s->len > more)
        return true;
    mp_str_init(&larger, s->max);
    if (!mp_str_reserve(&larger, s->len + more))
        return false;
    mp_str_add(&larger, s->len ? s->data : "", s->len);
    wipe(s);
    *s = larger;
    return true;
}

static int read_text(const char *path, int fd, struct mp_str *text,
                     struct mcplug_error *err)
{
    char why[64];
    size_t more = 4096;

    while (text->len < text->max) {
        if (text->cap - text->len < 2) {
            if (!make_room(text, more))
                return mp_fail_nomem(err);
            more *= 2;
        }
        ssize_t n = read(fd, text->data + text->len, text->cap - text->len - 1);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return mp_file_fail_os(err, path, errno, "cannot read", NULL);
        text->len += (size_t)n;
        text->data[text->len] = '\0';
        if (n == 0)
            return MCPLUG_OK;
    }
    snprintf(why, sizeof why, "is longer than %zu bytes", text->max - 1);
    return mp_file_fail(err, MCPLUG_ETOOBIG, path, why);
}

/* Takes `fd`, which open() gave, or its failure. */
static int read_opened(const char *path, int fd, struct mp_file *out,
                       struct mcplug_error *err)
{
    int r = MCPLUG_OK;

    if (fd < 0 && errno == ENOENT)
        return MCPLUG_OK;
    if (fd < 0 && errno == ENXIO) /* a socket */
        return mp_file_fail(err, MCPLUG_ECONFIG, path, "is not a regular file");
    if (fd < 0)
        return mp_file_fail_os(err, path, errno, "cannot open", NULL);
    if (fstat(fd, &out->st) != 0)
        r = mp_file_fail_os(err, path, errno, "cannot access it", NULL);
    else if (!S_ISREG(out->st.st_mode))
        r = mp_file_fail(err, MCPLUG_ECONFIG, path,
                         S_ISDIR(out->st.st_mode) ? "is a directory"
                                                  : "is not a regular file");
    if (r == MCPLUG_OK && out->st.st_size > 0 &&
        !make_room(&out->text, (size_t)out->st.st_size + 1))
        r = mp_fail_nomem(err);
    if (r == MCPLUG_OK)
        r = read_text(path, fd, &out->text, err);
    if (r == MCPLUG_OK)
        out->exists = true;
    else
        mp_file_clear(out);
    close(fd);
    return r;
}

int mp_file_read_up_to(const char *path, size_t max, struct mp_file *out,
                       struct mcplug_error *err)
{
    file_init(out, max);
    return read_opened(path, fds_high(open(path, READ_FLAGS)), out, err);
}

int mp_file_read(const char *path, struct mp_file *out, struct mcplug_error *err)
{
    return mp_file_read_up_to(path, MP_FILE_MAX, out, err);
}

int mp_file_read_own(const char *path, struct mp_file *out, struct mcplug_error *err)
{
    file_init(out, MP_FILE_MAX);
    return read_opened(path, fds_high(open(path, READ_FLAGS | O_NOFOLLOW)), out, err);
}

/* ---- where it is ---- */

static void close_fd(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

static void target_clear(struct target *p)
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

static int sync_dir(int fd)
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
    int fd = above ? fds_high(open(slash ? above : ".", DIR_FLAGS)) : -1;
    int e = 0;
    if (fd >= 0)
        e = sync_dir(fd); /* one that we may not open is not ours to care for */
    close_fd(&fd);
    mp_free(above);
    return e;
}

static int make_dirs(const char *path, char *dir, struct mcplug_error *err)
{
    struct stat st;
    int e = 0;

    for (char *p = dir; e == 0 && *p;) {
        p += strspn(p, "/");
        p += strcspn(p, "/");
        char end = *p;
        *p = '\0';
        if (mkdir(dir, 0700) == 0) {
            e = sync_parent(dir);
        } else {
            /* Whatever it says: above, file systems may be read-only, or closed to us. */
            e = errno;
            if (stat(dir, &st) == 0)
                e = S_ISDIR(st.st_mode) ? 0 : ENOTDIR;
        }
        *p = end;
    }
    if (e)
        return mp_file_fail_os(err, path, e, "cannot create its directory", UNCHANGED);
    return MCPLUG_OK;
}

/* Takes `at`, a path, apart. */
static int split_target(struct target *p, const char *at, struct mcplug_error *err)
{
    const char *slash = strrchr(at, '/'), *name = slash ? slash + 1 : at;

    if (!*name || strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
        return mp_file_fail(err, MCPLUG_ECONFIG, p->path, "is not a file name");
    size_t len = slash == at ? 1 : slash ? (size_t)(slash - at) : 0;
    p->dir = len ? mp_strndup(at, len) : mp_strdup(".");
    p->name = mp_strdup(name);
    return p->dir && p->name ? MCPLUG_OK : mp_fail_nomem(err);
}

/* And opens the directory, which is made where it is missing. */
static int open_target(struct target *p, const char *at, struct mcplug_error *err)
{
    int r = split_target(p, at, err);

    if (r != MCPLUG_OK)
        return r;
    p->fd = fds_high(open(p->dir, DIR_FLAGS));
    if (p->fd < 0 && errno == ENOENT) {
        r = make_dirs(p->path, p->dir, err);
        p->fd = r == MCPLUG_OK ? fds_high(open(p->dir, DIR_FLAGS)) : -1;
    }
    if (r == MCPLUG_OK && p->fd < 0)
        r = mp_file_fail_os(err, p->path, errno, "cannot open its directory", UNCHANGED);
    return r;
}

/* give; where the link `name` in `fd` leads to, or the link `fd` itself where that is "",
 * as a path; NULL in `*out` when there is no link. */
static int follow(const struct target *p, int fd, const char *name, char **out,
                  struct mcplug_error *err)
{
    char to[PATH_MAX];
    struct mp_str next;

    *out = NULL;
    ssize_t n = readlinkat(fd, name, to, sizeof to);
    if (n < 0 && (errno == EINVAL || errno == ENOENT))
        return MCPLUG_OK;
    if (n < 0 || (size_t)n == sizeof to)
        return mp_file_fail_os(err, p->path, n < 0 ? errno : ENAMETOOLONG,
                               "cannot follow it", UNCHANGED);
    mp_str_init(&next, (size_t)3 * PATH_MAX);
    if (to[0] != '/') {
        mp_str_adds(&next, p->dir);
        mp_str_addc(&next, '/');
    }
    mp_str_add(&next, to, (size_t)n);
    *out = mp_str_take(&next);
    return *out ? MCPLUG_OK : mp_fail_nomem(err);
}

static int find_target(struct target *p, struct mcplug_error *err)
{
    char *at = mp_strdup(p->path), *next = NULL;
    int r = at ? MCPLUG_OK : mp_fail_nomem(err);

    for (int links = 0; r == MCPLUG_OK && at; links++) {
        target_clear(p);
        r = open_target(p, at, err);
        if (r == MCPLUG_OK)
            r = follow(p, p->fd, p->name, &next, err);
        mp_free(at);
        at = mp_move(&next);
        if (r == MCPLUG_OK && at && links == MP_FILE_LINKS)
            r = mp_file_fail_os(err, p->path, ELOOP, "cannot follow it", UNCHANGED);
    }
    mp_free(at);
    return r;
}

/* Is the target, now that it is locked, still where the path leads to? */
static bool still_there(const struct target *p)
{
    struct stat ours, there;
    char to[1];

    return fstat(p->fd, &ours) == 0 && stat(p->dir, &there) == 0 &&
           ours.st_dev == there.st_dev && ours.st_ino == there.st_ino &&
           readlinkat(p->fd, p->name, to, sizeof to) < 0;
}

/* ---- whose it is ---- */

static bool is_strange(const struct stat *st)
{
    return st->st_uid != geteuid() && st->st_uid != 0;
}

/* One step of the way: the directory is opened and looked at, and what is there under the
 * name, which is not opened yet. `next` gets where a link leads to. */
static int look_at(struct target *p, const char *at, bool first, struct mp_file *out,
                   char **next, struct mcplug_error *err)
{
    struct stat st;

    int r = split_target(p, at, err);
    if (r != MCPLUG_OK)
        return r;
    p->fd = fds_high(open(p->dir, O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (p->fd < 0 || fstat(p->fd, &st) != 0)
        return mp_file_fail_os(err, p->path, errno, "cannot access its directory", NULL);
    out->owners.dir = st.st_uid;
    if (is_strange(&st)) {
        out->stranger = first ? "its directory belongs to another user"
                              : "it leads to a directory that belongs to another user";
        return MCPLUG_OK;
    }
    int fd = fds_high(openat(p->fd, p->name, O_PATH | O_NOFOLLOW | O_CLOEXEC));
    if (fd < 0 && errno == ENOENT) /* it has just gone */
        return MCPLUG_OK;
    if (fd < 0 || fstat(fd, &st) != 0)
        r = mp_file_fail_os(err, p->path, errno, "cannot access it", NULL);
    else if (is_strange(&st))
        out->stranger = S_ISLNK(st.st_mode) ? "it is a link that belongs to another user"
                                            : "it belongs to another user";
    else if (S_ISLNK(st.st_mode))
        r = follow(p, fd, "", next, err);
    close_fd(&fd);
    return r;
}

/* The last step: it may be another file by now, so this one is looked at, too. */
static int read_found(const struct target *p, struct mp_file *out,
                      struct mcplug_error *err)
{
    int fd = fds_high(openat(p->fd, p->name, READ_FLAGS | O_NOFOLLOW));
    int r = read_opened(p->path, fd, out, err);

    out->owners.file = out->st.st_uid;
    if (r == MCPLUG_OK && out->exists && is_strange(&out->st)) {
        mp_file_clear(out);
        out->stranger = "it belongs to another user";
    }
    return r;
}

int mp_file_read_placed(const char *path, struct mp_file *out, struct mcplug_error *err)
{
    struct target p = {.path = path, .fd = -1, .lock_fd = -1};
    char *at = NULL, *next = NULL;
    int r = MCPLUG_OK;

    file_init(out, MP_FILE_MAX);
    if (access(path, F_OK) != 0 && errno == ENOENT) /* most are not there */
        return MCPLUG_OK;
    if (!(at = mp_strdup(path)))
        return mp_fail_nomem(err);
    for (int links = 0; r == MCPLUG_OK && at; links++) {
        target_clear(&p);
        r = look_at(&p, at, links == 0, out, &next, err);
        mp_free(at);
        at = mp_move(&next);
        if (r == MCPLUG_OK && at && links == MP_FILE_LINKS)
            r = mp_file_fail_os(err, path, ELOOP, "cannot follow it", NULL);
    }
    mp_free(at);
    if (r == MCPLUG_OK && !out->stranger)
        r = read_found(&p, out, err);
    if (r == MCPLUG_OK && out->stranger)
        out->exists = true;
    target_clear(&p);
    return r;
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

static int open_lock_file(struct target *p, mode_t mode)
{
    struct stat st;
    char name[NAME_MAX + 1];

    snprintf(name, sizeof name, ".%.*s.lock", MP_FILE_NAME_KEPT, p->name);
    p->lock_fd = fds_high(openat(
        p->fd, name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY,
        mode & 0666));
    if (p->lock_fd < 0 || fstat(p->lock_fd, &st) != 0)
        return errno;
    return S_ISREG(st.st_mode) ? 0 : EINVAL;
}

static int lock_target(struct target *p, mode_t mode, int64_t until,
                       struct mcplug_error *err)
{
    int e = take_lock(p->fd, until);
    if (e == EBADF || e == ENOLCK || e == EOPNOTSUPP) {
        e = open_lock_file(p, mode);
        if (e == 0)
            e = take_lock(p->lock_fd, until);
    }
    if (e == ETIMEDOUT) {
        char shown[MP_PATH_SHOWN + 1], dir[MP_PATH_SHOWN + 1];
        mp_path_shown(p->path, shown);
        mp_path_shown(p->dir, dir);
        mp_fail(err, MCPLUG_EIO,
                "%s: cannot lock: another program is changing files in %s", shown, dir);
        if (err)
            err->os_error = e;
        return MCPLUG_EIO;
    }
    return e ? mp_file_fail_os(err, p->path, e, "cannot lock", UNCHANGED) : MCPLUG_OK;
}

static int target_lock(struct target *p, const char *path, mode_t mode, unsigned wait_ms,
                       struct mcplug_error *err)
{
    int64_t until = now_ns() + (int64_t)wait_ms * 1000000;

    *p = (struct target){.path = path, .fd = -1, .lock_fd = -1};
    for (int tries = 0; tries < MOVES_MAX; tries++) {
        int r = find_target(p, err);
        if (r == MCPLUG_OK)
            r = lock_target(p, mode, until, err);
        if (r != MCPLUG_OK || still_there(p))
            return r;
    }
    return mp_file_fail(err, MCPLUG_EIO, p->path, "another program keeps moving it");
}

/* ---- temporary files ---- */

static size_t temp_prefix(const struct target *p, file_name out)
{
    return (size_t)snprintf(out, sizeof(file_name), ".%.*s" TEMP_MARK, MP_FILE_NAME_KEPT,
                            p->name);
}

/* With the lock held no temporary file is in use. What cannot be removed may stay. */
static void remove_stale(const struct target *p)
{
    file_name prefix;
    struct stat st;
    size_t len = temp_prefix(p, prefix);
    int fd = fds_high(openat(p->fd, ".", DIR_FLAGS));
    DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
    struct dirent *e;

    if (!dir) {
        if (fd >= 0)
            close(fd);
        return;
    }
    for (int n = 0; n < ENTRIES_MAX && (e = readdir(dir)); n++)
        if (strncmp(e->d_name, prefix, len) == 0 &&
            strlen(e->d_name + len) == TEMP_DIGITS &&
            strspn(e->d_name + len, "0123456789abcdef") == TEMP_DIGITS &&
            fstatat(p->fd, e->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
            S_ISREG(st.st_mode))
            unlinkat(p->fd, e->d_name, 0);
    closedir(dir);
}

static int open_temp(const struct target *p, file_name name, int *out)
{
    uint64_t bits = 0;
    size_t len = temp_prefix(p, name);

    for (int tries = 0;; tries++) {
        ssize_t n;
        do
            n = getrandom(&bits, sizeof bits, 0);
        while (n < 0 && errno == EINTR);
        if (n != (ssize_t)sizeof bits)
            return n < 0 ? errno : EIO;
        snprintf(name + len, sizeof(file_name) - len, "%016llx",
                 (unsigned long long)bits);
        *out = fds_high(openat(
            p->fd, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
        if (*out >= 0)
            return 0;
        if (errno != EEXIST || tries == NAMES_MAX)
            return errno;
    }
}

/* ---- writing ---- */

/* A new file. 0 or an errno. */
static int write_all(int fd, const char *data, size_t len)
{
    uint64_t at = 0;

    if (mp_fsize_room(0) < len)
        return EFBIG;
    while (len) {
        ssize_t n = mp_fsize_write(fd, at, data, len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n < 0 ? errno : EIO;
        data += n;
        at += (uint64_t)n;
        len -= (size_t)n;
    }
    return 0;
}

static bool not_for_us(int e)
{
    return e == EPERM || e == EINVAL; /* EINVAL: an id that our namespace has not */
}

/* What the group may do is not given to another group. */
static int keep_owner(int fd, const struct stat *old, mode_t *mode)
{
    struct stat st;

    if (fstat(fd, &st) != 0)
        return errno;
    if ((st.st_uid == old->st_uid && st.st_gid == old->st_gid) ||
        fchown(fd, old->st_uid, old->st_gid) == 0)
        return 0;
    if (!not_for_us(errno))
        return errno;
    if (st.st_gid != old->st_gid && fchown(fd, (uid_t)-1, old->st_gid) != 0) {
        if (!not_for_us(errno))
            return errno;
        *mode &= ~(mode_t)S_IRWXG;
    }
    return 0;
}

/* With an access list the group's bits are but the most that anyone on it may have.
 * The list is not kept, so neither are they. */
static bool has_list(const struct target *p)
{
    int fd = fds_high(openat(p->fd, p->name, READ_FLAGS | O_NOFOLLOW));
    ssize_t n = fd >= 0 ? fgetxattr(fd, "system.posix_acl_access", NULL, 0) : -1;
    bool has = n > 0 || (n < 0 && errno != ENODATA && errno != ENOTSUP);

    if (fd >= 0)
        close(fd);
    return has;
}

static int keep_mode(const struct target *p, int fd, const struct mp_file *old,
                     mode_t mode)
{
    if (old->exists) {
        mode = old->st.st_mode;
        if ((mode & S_IRWXG) && has_list(p))
            mode &= ~(mode_t)S_IRWXG;
        int e = keep_owner(fd, &old->st, &mode);
        if (e)
            return e;
    }
    return fchmod(fd, mode & 0777) == 0 ? 0 : errno;
}

/* The new text, on the disk under its temporary name. */
static int write_temp(const struct target *p, int fd, const struct mp_file *old,
                      mode_t mode, const struct mp_str *text, struct mcplug_error *err)
{
    const char *step = "cannot write";
    int e = write_all(fd, text->data, text->len);

    if (e == 0) {
        step = "cannot set its mode and owner";
        e = keep_mode(p, fd, old, mode);
    }
    while (e == 0 && !p->is_cache && fsync(fd) != 0) {
        step = "cannot write it to disk";
        if (errno != EINTR)
            e = errno;
    }
    /* After EINTR it is closed, too, and it was written out before. */
    if (close(fd) != 0 && errno != EINTR && e == 0) {
        step = "cannot close";
        e = errno;
    }
    return e ? mp_file_fail_os(err, p->path, e, step, UNCHANGED) : MCPLUG_OK;
}

/* Somebody who knows nothing of the lock may have written meanwhile. */
static bool same_as_read(const struct target *p, const struct mp_file *old)
{
    struct stat st;

    if (fstatat(p->fd, p->name, &st, AT_SYMLINK_NOFOLLOW) != 0)
        return errno == ENOENT && !old->exists;
    return old->exists && st.st_dev == old->st.st_dev && st.st_ino == old->st.st_ino &&
           st.st_size == old->st.st_size && st.st_mtim.tv_sec == old->st.st_mtim.tv_sec &&
           st.st_mtim.tv_nsec == old->st.st_mtim.tv_nsec;
}

static int run_commit(const struct target *p, const char *temp, struct mcplug_error *err)
{
    struct stat file, dir;

    if (fstatat(p->fd, temp, &file, AT_SYMLINK_NOFOLLOW) != 0 || fstat(p->fd, &dir) != 0)
        return mp_file_fail_os(err, p->path, errno, "cannot access it", UNCHANGED);
    char *place = realpath(p->dir, NULL);
    char *real = mp_path_join(place ? place : p->dir, p->name);
    int r =
        real ? p->commit(p->arg, real,
                         (struct mp_owners){.file = file.st_uid, .dir = dir.st_uid}, err)
             : mp_fail_nomem(err);
    free(place);
    mp_free(real);
    return r;
}

static int replace(const struct target *p, const struct mp_file *old, mode_t mode,
                   const struct mp_str *text, struct mcplug_error *err)
{
    file_name temp;
    int fd = -1;

    if (old->exists && faccessat(p->fd, p->name, W_OK, AT_EACCESS) != 0)
        return mp_file_fail_os(err, p->path, errno, "is read-only", UNCHANGED);
    int e = open_temp(p, temp, &fd);
    if (e)
        return mp_file_fail_os(err, p->path, e, "cannot create a new file beside it",
                               UNCHANGED);
    int r = write_temp(p, fd, old, mode, text, err);
    if (r == MCPLUG_OK && !same_as_read(p, old))
        r = mp_file_fail(err, MCPLUG_EIO, p->path,
                         "another program has changed it meanwhile");
    if (r == MCPLUG_OK && p->commit)
        r = run_commit(p, temp, err);
    if (r == MCPLUG_OK && renameat(p->fd, temp, p->fd, p->name) != 0)
        r = mp_file_fail_os(err, p->path, errno, "cannot replace it", UNCHANGED);
    if (r != MCPLUG_OK) {
        unlinkat(p->fd, temp, 0);
        return r;
    }
    e = p->is_cache ? 0 : sync_dir(p->fd);
    return e ? mp_file_fail_os(err, p->path, e,
                               "was changed, but the change may not survive a crash",
                               NULL)
             : MCPLUG_OK;
}

/* ---- all of it ---- */

static int update(const char *path, mode_t mode, unsigned wait_ms, bool is_cache,
                  mp_file_change *change, mp_file_commit *commit, void *arg,
                  struct mcplug_error *err)
{
    struct target p;
    struct mp_file old;
    struct mp_str out;

    file_init(&old, MP_FILE_MAX);
    mp_str_init(&out, MP_FILE_MAX);
    int r = target_lock(&p, path, mode, wait_ms, err);
    p.is_cache = is_cache;
    p.commit = commit;
    p.arg = arg;
    if (r == MCPLUG_OK) {
        remove_stale(&p);
        int fd = fds_high(openat(p.fd, p.name, READ_FLAGS | O_NOFOLLOW));
        r = read_opened(path, fd, &old, err);
    }
    if (r == MCPLUG_OK)
        r = change(arg, &old, &out, err);
    if (r == MCPLUG_OK && out.failed)
        r = mp_file_fail(err, MCPLUG_ETOOBIG, path, "would become too long");
    if (r == MCPLUG_OK &&
        !(out.len == old.text.len &&
          (out.len == 0 || memcmp(out.data, old.text.data, out.len) == 0)))
        r = replace(&p, &old, mode, &out, err);
    wipe(&out);
    mp_file_clear(&old);
    target_clear(&p);
    return r;
}

int mp_file_update(const char *path, mode_t mode, mp_file_change *change, void *arg,
                   struct mcplug_error *err)
{
    return update(path, mode, MP_FILE_LOCK_MS, false, change, NULL, arg, err);
}

int mp_file_update_with(const char *path, mode_t mode, mp_file_change *change,
                        mp_file_commit *commit, void *arg, struct mcplug_error *err)
{
    return update(path, mode, MP_FILE_LOCK_MS, false, change, commit, arg, err);
}

int mp_file_update_cache(const char *path, mode_t mode, unsigned wait_ms,
                         mp_file_change *change, void *arg, struct mcplug_error *err)
{
    return update(path, mode, wait_ms, true, change, NULL, arg, err);
}
