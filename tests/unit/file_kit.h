/* Files for the suites about them, in a directory of the test's own. */
#ifndef FILE_KIT_H
#define FILE_KIT_H

#include "config/file.h"

#include "base/error.h"
#include "suite.h"

#include <check.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define NOBODY 65534

static char top[256];
static char made_paths[8][1024];
static unsigned n_made;
static struct mcplug_error err;

/* Below the directory of this test; good until seven others were asked for. */
static inline const char *at(const char *name)
{
    char *path = made_paths[n_made++ % 8];
    snprintf(path, sizeof made_paths[0], "%s/%s", top, name);
    return path;
}

static inline void set_up(void)
{
    const char *tmp = getenv("TMPDIR");
    snprintf(top, sizeof top, "%s/config_file.XXXXXX", tmp ? tmp : "/tmp");
    ck_assert_ptr_nonnull(mkdtemp(top));
    memset(&err, 0, sizeof err);
}

static inline int remove_one(const char *path, const struct stat *st, int kind,
                             struct FTW *ftw)
{
    (void)st, (void)kind, (void)ftw;
    return remove(path);
}

static inline void tear_down(void)
{
    nftw(top, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static inline void put(const char *name, const char *text, mode_t mode)
{
    int fd = open(at(name), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    ck_assert_int_eq(fchmod(fd, mode), 0);
    close(fd);
}

static inline void holds(const char *name, const char *text)
{
    struct mp_file file;
    ck_assert_int_eq(mp_file_read(at(name), &file, &err), MCPLUG_OK);
    ck_assert(file.exists);
    ck_assert_str_eq(file.text.data, text);
    ck_assert_uint_eq(file.text.len, strlen(text));
    mp_file_clear(&file);
}

static inline struct stat look(const char *name)
{
    struct stat st;
    ck_assert_int_eq(lstat(at(name), &st), 0);
    return st;
}

static inline bool is_there(const char *name)
{
    struct stat st;
    return lstat(at(name), &st) == 0;
}

static inline unsigned count(const char *name)
{
    unsigned n = 0;
    DIR *dir = opendir(at(name));
    ck_assert_ptr_nonnull(dir);
    for (struct dirent *e; (e = readdir(dir));)
        n += strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0;
    closedir(dir);
    return n;
}

/* The change: `arg` is added at the end. */
static inline int append(void *arg, const struct mp_file *old, struct mp_str *out,
                         struct mcplug_error *why)
{
    (void)why;
    mp_str_add(out, old->text.len ? old->text.data : "", old->text.len);
    mp_str_adds(out, arg);
    return MCPLUG_OK;
}

static inline int add_to(const char *name, const char *text)
{
    return mp_file_update(at(name), 0600, append, (void *)(uintptr_t)text, &err);
}

static inline void adds(const char *name, const char *text)
{
    int r = add_to(name, text);
    ck_assert_msg(r == MCPLUG_OK, "%d: %s", r, err.text);
}

/* The message is the path and this. */
static inline void says(const char *path, const char *what)
{
    size_t len = strlen(path);
    ck_assert_msg(strncmp(err.text, path, len) == 0, "%s", err.text);
    ck_assert_str_eq(err.text + len, what);
}

/* A number that nobody has: neither the one who runs this, nor root. */
static inline uid_t somebody_else(void)
{
    uid_t uid = 54321;
    while (uid == geteuid() || uid == getuid() || getpwuid(uid))
        uid++;
    return uid;
}

/* Runs `what` in a process of its own that has no privileges. */
static inline void as_nobody(void (*what)(void))
{
    int status;
    if (getuid() == 0)
        ck_assert_int_eq(chown(top, NOBODY, NOBODY), 0);
    pid_t pid = fork();
    if (pid == 0) {
        if (getuid() == 0 && (setgid(NOBODY) != 0 || setuid(NOBODY) != 0))
            _exit(2);
        what();
        _exit(0);
    }
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert_int_eq(status, 0);
}

/* For as_nobody(): an assertion that reaches nobody ends the process instead. */
#define MUST(condition)                                                                  \
    do {                                                                                 \
        if (!(condition)) {                                                              \
            fprintf(stderr, "%d: %s (%s)\n", __LINE__, #condition, err.text);            \
            _exit(1);                                                                    \
        }                                                                                \
    } while (0)

static inline int run_suite(const char *name, void (*add)(TCase *t))
{
    Suite *suite = suite_create(name);
    TCase *t = tcase_create("all");

    tcase_set_timeout(t, 60);
    tcase_add_checked_fixture(t, set_up, tear_down);
    add(t);
    suite_add_tcase(suite, t);
    return run_to_end(suite);
}

#endif
