/* For the suites about stored results: a store of the test's own, and a system that may
 * lack something. */
#ifndef STORE_KIT_H
#define STORE_KIT_H

#include "content/store.h"

#include "base/mem.h"
#include "file_kit.h"

#include <limits.h>
#include <stdarg.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <time.h>

/* ---- what the system may refuse ---- */

static bool no_tmpfile, no_noreplace, no_range, no_sendfile, no_proc;
static uint64_t disk_size, disk_free; /* 0: as it is */

int openat(int dir, const char *name, int flags, ...)
{
    va_list ap;
    va_start(ap, flags);
    mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(ap, mode_t) : 0;
    va_end(ap);
    if (no_tmpfile && (flags & O_TMPFILE) == O_TMPFILE) {
        errno = EOPNOTSUPP;
        return -1;
    }
    return (int)syscall(SYS_openat, dir, name, flags, mode);
}

int renameat2(int from, const char *old, int to, const char *new, unsigned flags)
{
    if (no_noreplace && flags) {
        errno = EINVAL;
        return -1;
    }
    return (int)syscall(SYS_renameat2, from, old, to, new, flags);
}

int linkat(int from, const char *old, int to, const char *new, int flags)
{
    if (no_proc && flags) {
        errno = ENOENT;
        return -1;
    }
    return (int)syscall(SYS_linkat, from, old, to, new, flags);
}

ssize_t copy_file_range(int from, off_t *at, int to, off_t *there, size_t len,
                        unsigned flags)
{
    if (no_range) {
        errno = EXDEV;
        return -1;
    }
    return syscall(SYS_copy_file_range, from, at, to, there, len, flags);
}

ssize_t sendfile(int to, int from, off_t *at, size_t len)
{
    if (no_sendfile) {
        errno = EINVAL;
        return -1;
    }
    return syscall(SYS_sendfile, to, from, at, len);
}

int fstatvfs(int fd, struct statvfs *out)
{
    (void)fd;
    *out = (struct statvfs){.f_frsize = 1,
                            .f_blocks = disk_size ? disk_size : 1 << 30,
                            .f_bavail = disk_size ? disk_free : 1 << 30};
    return 0;
}

/* ---- a store ---- */

static struct mp_store *s;

static inline void make_store(uint64_t quota)
{
    mp_store_free(s);
    s = mp_store_new(at("results"), quota, 0);
    ck_assert_ptr_nonnull(s);
}

static inline void begin_test(void)
{
    no_tmpfile = no_noreplace = no_range = no_sendfile = no_proc = false;
    disk_size = 0;
    set_up();
    make_store(0);
}

static inline void end_test(void)
{
    mp_store_free(s);
    s = NULL;
    tear_down();
}

static inline const char *shown(const char *path)
{
    return path + strlen(at("results")) + 1;
}

/* free() it. */
static char *store(const char *text, const char *name, const char *ext)
{
    struct mp_store_file *f = NULL;
    char *path = NULL;

    int r = mp_store_begin(s, &f, &err);
    ck_assert_msg(r == MCPLUG_OK, "%s", err.text);
    ck_assert_int_eq(mp_store_write(f, text, strlen(text), &err), MCPLUG_OK);
    r = mp_store_commit(f, "my-server", "read.file", name, ext, &path, &err);
    ck_assert_msg(r == MCPLUG_OK, "%s", err.text);
    return path;
}

static inline void stores(const char *text)
{
    mp_free(store(text, NULL, ".txt"));
}

static inline int64_t now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* A file that looks like a result. */
static inline const char *plant(int64_t time_ms, size_t size)
{
    static char name[128];
    static char bytes[4096];

    ck_assert(mkdir(at("results"), 0700) == 0 || errno == EEXIST);
    snprintf(name, sizeof name, "results/mcp-s-t-%lld.txt", (long long)time_ms);
    int fd = open(at(name), O_WRONLY | O_CREAT | O_EXCL, 0600);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(write(fd, bytes, size), (ssize_t)size);
    close(fd);
    return name + strlen("results/");
}

static char seen[65536];
static size_t n_seen;
static uint64_t seen_size;
static int64_t last_time;

static inline bool see(void *arg, const struct mp_stored *one)
{
    size_t *max = arg;
    size_t len = strlen(seen);

    if (len < 4096)
        snprintf(seen + len, sizeof seen - len, "%s|%s|%s|%s\n", one->name, one->server,
                 one->tool, one->ext);
    ck_assert(n_seen == 0 || one->time_ms <= last_time);
    last_time = one->time_ms;
    seen_size += one->size;
    return ++n_seen < *max;
}

static inline size_t look_up_to(size_t max)
{
    seen[0] = '\0';
    n_seen = seen_size = 0;
    int r = mp_store_each(s, see, &max, &err);
    ck_assert_msg(r == MCPLUG_OK, "%s", err.text);
    return n_seen;
}

static inline size_t stored(void)
{
    return look_up_to(SIZE_MAX);
}

static inline mode_t mode_of(const char *path)
{
    struct stat st;
    ck_assert_int_eq(lstat(path, &st), 0);
    return st.st_mode & 07777;
}

/* A word, a number, and what follows. */
static inline bool looks_like(const char *name, const char *head, const char *tail)
{
    size_t n = strlen(head);
    return strncmp(name, head, n) == 0 && strspn(name + n, "0123456789") == 13 &&
           strcmp(name + n + 13, tail) == 0;
}

static inline void has_name(char *path, const char *head, const char *tail)
{
    ck_assert_msg(looks_like(shown(path), head, tail), "%s", shown(path));
    mp_free(path);
}

static inline int run_store_suite(const char *name, void (*add)(TCase *t))
{
    Suite *suite = suite_create(name);
    TCase *t = tcase_create("all");

    tcase_set_timeout(t, 60);
    tcase_add_checked_fixture(t, begin_test, end_test);
    add(t);
    suite_add_tcase(suite, t);
    return run_to_end(suite);
}

#endif
