#include "content/results.h"

#include "../../plugins/common/fds.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/path.h"
#include "config/file.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>

#define PREFIX "mcp-"
#define TEMP ".tmp-"           /* of files that have no name yet */
#define TEMP_AGE_S (24 * 3600) /* after that their writer is gone */
#define LOCK_MS 5000
#define LIST_MAX ((size_t)2 * MP_STORE_FILES)
#define TIME_DIGITS 19 /* of the largest number */

#define DIR_FLAGS (O_RDONLY | O_DIRECTORY | O_CLOEXEC)

/* ---- the directory ---- */

static void close_fd(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

static bool is_strange(const struct stat *st)
{
    return st->st_uid != geteuid() && st->st_uid != 0;
}

/* With a umask that takes rights from its owner, a new directory has not all of them. */
static bool make_private(int fd, const struct stat *st)
{
    char path[64];

    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    return (st->st_mode & 0700) == 0700 || chmod(path, 0700) == 0;
}

/* One step down from `at`, which stays open. -1 with errno, or with a text in `*why`. */
static int enter(int at, const char *name, bool make, const char **why)
{
    struct stat st;
    bool made = false;
    int fd = fds_high(openat(at, name, O_PATH | O_NOFOLLOW | O_CLOEXEC));

    if (fd < 0 && errno == ENOENT && make) {
        made = mkdirat(at, name, 0700) == 0;
        if (made || errno == EEXIST)
            fd = fds_high(openat(at, name, O_PATH | O_NOFOLLOW | O_CLOEXEC));
    }
    if (fd < 0)
        return -1;
    int e = fstat(fd, &st) == 0 ? 0 : errno;
    if (e == 0 && S_ISLNK(st.st_mode) && is_strange(&st)) {
        *why = "the path has a link that belongs to another user";
        e = EPERM;
    } else if (e == 0 && S_ISLNK(st.st_mode)) {
        close(fd);
        return fds_high(openat(at, name, O_PATH | O_DIRECTORY | O_CLOEXEC));
    } else if (e == 0 && !S_ISDIR(st.st_mode)) {
        e = ENOTDIR;
    } else if (e == 0 && made && !make_private(fd, &st)) {
        e = errno;
    }
    if (e)
        close_fd(&fd);
    errno = e;
    return fd;
}

/* To be opened for reading, it is the last one. */
static int walk(const char *path, bool make, const char **why)
{
    int fd = fds_high(open(path[0] == '/' ? "/" : ".", O_PATH | O_DIRECTORY | O_CLOEXEC));
    mp_file_name name;

    while (fd >= 0 && *(path += strspn(path, "/"))) {
        size_t len = strcspn(path, "/");
        int next = -1;
        if (len < sizeof name) {
            memcpy(name, path, len);
            name[len] = '\0';
            next = enter(fd, name, make, why);
        } else {
            errno = ENAMETOOLONG;
        }
        int e = errno;
        close(fd);
        errno = e;
        fd = next;
        path += len;
    }
    if (fd < 0)
        return -1;
    int dir = fds_high(openat(fd, ".", DIR_FLAGS)), e = errno;
    close(fd);
    errno = e;
    return dir;
}

/* Could others see, replace or add files? NULL: no. */
static const char *judge(int dir)
{
    struct stat own, above;

    if (fstat(dir, &own) != 0 || fstatat(dir, "..", &above, 0) != 0)
        return "its owner cannot be told";
    if (own.st_uid != geteuid())
        return "the directory belongs to another user";
    if (own.st_mode & (S_IWGRP | S_IWOTH))
        return "others can write to the directory; chmod 700 it";
    if (is_strange(&above))
        return "the directory above it belongs to another user";
    if ((above.st_mode & S_IWOTH) && !(above.st_mode & S_ISVTX))
        return "others can write to the directory above it";
    return NULL;
}

int mp_results_open(const struct mp_store *s, bool make, int *out,
                    struct mcplug_error *err)
{
    const char *why = NULL;
    int dir = walk(s->dir, make, &why), e = errno;

    *out = -1;
    if (dir < 0 && !why && e == ENOENT && !make)
        return MCPLUG_OK;
    if (dir < 0 && !why)
        return mp_file_fail_os(err, s->dir, e, "cannot open the directory for results",
                               NULL);
    if (dir >= 0)
        why = judge(dir);
    if (why) {
        close_fd(&dir);
        return mp_file_fail(err, MCPLUG_EIO, s->dir, why);
    }
    *out = dir;
    return MCPLUG_OK;
}

int64_t mp_results_now(clockid_t clock)
{
    struct timespec t;

    clock_gettime(clock, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

void mp_results_lock(int dir)
{
    int64_t until = mp_results_now(CLOCK_MONOTONIC) + LOCK_MS;

    while (flock(dir, LOCK_EX | LOCK_NB) != 0 &&
           (errno == EWOULDBLOCK || errno == EINTR) &&
           mp_results_now(CLOCK_MONOTONIC) < until) {
        struct timespec rest = {0, 2000000};
        nanosleep(&rest, NULL);
    }
}

/* Not left to close(): a child that another thread forks has the lock, too. */
void mp_results_unlock(int *dir)
{
    if (*dir >= 0)
        flock(*dir, LOCK_UN);
    close_fd(dir);
}

/* ---- names ---- */

static bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           c == '_';
}

/* A word and the - behind it; NULL: there is none. */
static const char *read_word(const char *p, char out[MP_STORE_WORD_MAX + 1])
{
    size_t n = 0;

    while (is_word(p[n]))
        n++;
    if (n == 0 || n > MP_STORE_WORD_MAX || p[n] != '-')
        return NULL;
    memcpy(out, p, n);
    out[n] = '\0';
    return p + n + 1;
}

const char *mp_result_time_read(const char *p, int64_t *out)
{
    size_t n = strspn(p, "0123456789");
    uint64_t t = 0;

    if (n == 0 || n > TIME_DIGITS)
        return NULL;
    for (size_t i = 0; i < n; i++)
        t = t * 10 + (uint64_t)(p[i] - '0');
    if (t > INT64_MAX)
        return NULL;
    *out = (int64_t)t;
    return p + n;
}

bool mp_result_name_read(const char *name, struct mp_result_name *out)
{
    const char *p = name + strlen(PREFIX);

    if (strncmp(name, PREFIX, strlen(PREFIX)) != 0 || strchr(name, '/') ||
        !(p = read_word(p, out->server)) || !(p = read_word(p, out->tool)) ||
        !(p = mp_result_time_read(p, &out->time_ms)) || (*p && *p != '-' && *p != '.'))
        return false;
    out->ext = *p == '.' ? strrchr(p, '.') : mp_name_extension(p);
    return true;
}

static char *put_word(char *out, const char *word)
{
    size_t n = 0;

    for (; word && word[n] && n < MP_STORE_WORD_MAX; n++)
        out[n] = is_word(word[n]) ? word[n] : '_';
    if (n == 0)
        out[n++] = '_';
    out[n++] = '-';
    out[n] = '\0';
    return out + n;
}

void mp_result_frame_init(struct mp_result_frame *f, const char *server, const char *tool,
                          const char *name, const char *ext)
{
    char extension[1 + MP_EXTENSION_MAX + 1] = ".", stem[MP_SAFE_NAME_MAX + 1] = "";

    memcpy(f->head, PREFIX, sizeof PREFIX);
    put_word(put_word(f->head + strlen(PREFIX), server), tool);
    size_t n = 1;
    for (const char *p = ext ? ext : ""; *p && n <= MP_EXTENSION_MAX; p++)
        if (is_word(*p) && *p != '_')
            extension[n++] = *p;
    extension[n] = '\0';
    if (n == 1)
        extension[0] = '\0';

    size_t room = NAME_MAX - strlen(f->head) - TIME_DIGITS - strlen(extension) - 1;
    if (room > MP_SAFE_NAME_MAX)
        room = MP_SAFE_NAME_MAX;
    size_t len = mp_safe_name_put(name ? name : "", name ? strlen(name) : 0, room, stem);
    bool has_it = extension[0] && strcasecmp(mp_name_extension(stem), extension) == 0;
    snprintf(f->tail, sizeof f->tail, "%s%s%s", len ? "-" : "", stem,
             has_it ? "" : extension);
}

/* ---- what there is ---- */

void mp_results_clear(struct mp_results *l)
{
    for (size_t i = 0; i < l->n; i++)
        mp_free(l->list[i].name);
    mp_free(l->list);
    *l = (struct mp_results){0};
}

static int newest_first(const void *a, const void *b)
{
    const struct mp_result_entry *x = a, *y = b;

    if (x->time_ms != y->time_ms)
        return x->time_ms < y->time_ms ? 1 : -1;
    return strcmp(y->name, x->name);
}

static void sort(struct mp_results *l)
{
    if (l->n)
        qsort(l->list, l->n, sizeof l->list[0], newest_first);
}

/* The oldest. One that cannot be removed still takes its room. */
static void drop_last(struct mp_results *l, int dir, bool removes)
{
    struct mp_result_entry *e = &l->list[l->n - 1];

    if (!removes || unlinkat(dir, e->name, 0) == 0 || errno == ENOENT)
        l->size -= e->size;
    mp_free(e->name);
    l->n--;
}

bool mp_result_is_ours(int dir, const char *name, struct stat *st)
{
    return fstatat(dir, name, st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st->st_mode) &&
           st->st_uid == geteuid();
}

/* More than can be kept in memory are halved: those that are newer stay. */
static bool add_entry(struct mp_results *l, int dir, const char *name, int64_t time_ms,
                      uint64_t size, bool removes)
{
    if (l->n == LIST_MAX) {
        sort(l);
        while (l->n > LIST_MAX / 2)
            drop_last(l, dir, removes);
    }
    if (!mp_grow(&l->list, &l->cap, l->n + 1))
        return false;
    char *copy = mp_strdup(name);
    if (!copy)
        return false;
    l->list[l->n++] = (struct mp_result_entry){time_ms, size, copy};
    l->size = l->size > UINT64_MAX - size ? UINT64_MAX : l->size + size;
    return true;
}

int mp_results_read(struct mp_results *l, const struct mp_store *s, int dir, bool removes,
                    struct mcplug_error *err)
{
    int fd = fds_high(openat(dir, ".", DIR_FLAGS)), r = MCPLUG_OK;
    DIR *d = fd >= 0 ? fdopendir(fd) : NULL;
    time_t now = time(NULL);
    struct dirent *e;
    struct mp_result_name parts;
    struct stat st;

    *l = (struct mp_results){0};
    if (!d) {
        r = mp_file_fail_os(err, s->dir, errno, "cannot read the directory", NULL);
        close_fd(&fd);
        return r;
    }
    while (r == MCPLUG_OK && (errno = 0, e = readdir(d))) {
        if (removes && strncmp(e->d_name, TEMP, strlen(TEMP)) == 0 &&
            mp_result_is_ours(dir, e->d_name, &st) && st.st_mtime < now - TEMP_AGE_S)
            unlinkat(dir, e->d_name, 0);
        if (mp_result_name_read(e->d_name, &parts) &&
            mp_result_is_ours(dir, e->d_name, &st) &&
            !add_entry(l, dir, e->d_name, parts.time_ms, (uint64_t)st.st_size, removes))
            r = mp_fail_nomem(err);
    }
    if (r == MCPLUG_OK && errno)
        r = mp_file_fail_os(err, s->dir, errno, "cannot read the directory", NULL);
    closedir(d);
    if (r == MCPLUG_OK)
        sort(l);
    else
        mp_results_clear(l);
    return r;
}

/* ---- making room ---- */

int mp_results_fail_quota(const struct mp_store *s, uint64_t size,
                          struct mcplug_error *err)
{
    char shown[MP_PATH_SHOWN + 1];

    return mp_fail(err, MCPLUG_ETOOBIG,
                   "%s: the result has %llu bytes or more, the quota of the directory is "
                   "%llu bytes",
                   mp_path_shown(s->dir, shown), (unsigned long long)size,
                   (unsigned long long)s->quota);
}

static bool is_old(const struct mp_store *s, const struct mp_result_entry *e, int64_t now)
{
    uint64_t apart = e->time_ms > now ? (uint64_t)e->time_ms - (uint64_t)now
                                      : (uint64_t)now - (uint64_t)e->time_ms;
    return apart / 1000 >= s->age_s;
}

static void drop_old(struct mp_results *l, const struct mp_store *s, int dir)
{
    int64_t now = mp_results_now(CLOCK_REALTIME);
    size_t kept = 0;

    for (size_t i = 0; i < l->n; i++) {
        struct mp_result_entry e = l->list[i];
        if (is_old(s, &e, now) && (unlinkat(dir, e.name, 0) == 0 || errno == ENOENT)) {
            l->size -= e.size;
            mp_free(e.name);
        } else {
            l->list[kept++] = e;
        }
    }
    l->n = kept;
}

int mp_results_make_room(const struct mp_store *s, int dir, uint64_t need,
                         struct mp_results *l, struct mcplug_error *err)
{
    *l = (struct mp_results){0};
    if (need > s->quota)
        return mp_results_fail_quota(s, need, err);
    int r = mp_results_read(l, s, dir, true, err);
    if (r != MCPLUG_OK)
        return r;
    drop_old(l, s, dir);
    while (l->n && (l->size > s->quota - need || l->n >= MP_STORE_FILES))
        drop_last(l, dir, true);
    if (l->size > s->quota - need)
        return mp_file_fail(err, MCPLUG_EIO, s->dir,
                            "old results cannot be removed to make room for a new one");
    return MCPLUG_OK;
}
