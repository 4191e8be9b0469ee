/* Whatever befalls a command that changes a file, the file is the old one or the new one.
 *
 *   killer kill FILE TEXT -- COMMAND ARGS..
 *   killer fail FILE TEXT -- COMMAND ARGS..
 *
 * First COMMAND runs twice undisturbed. The first run must change FILE (which may be
 * missing, even with its directory, or be a link) into one that holds TEXT, and call
 * fsync() before and after it renames. Then, each time with FILE as it was:
 *
 *   kill   COMMAND is killed at its n-th entry into or exit from a system call, counted
 *          from the first that touches FILE's directory, for n = 1, 2, 3 ..
 *   fail   the n-th call that touches it fails with ENOSPC, then with EDQUOT, EROFS ..;
 *          once, and then with every later call of its kind
 *
 * until a run ends undisturbed. After each FILE is byte for byte the old or the new one,
 * nobody may read more of it or of what else is there than before, and COMMAND, run
 * again, does what it did undisturbed and leaves nothing behind. Where a call failed,
 * too, nothing is left behind (unless it was the removal that failed), COMMAND says 0
 * only when FILE is new, and names FILE when it does not.
 *
 * FILE's directory is put back as it was between the runs: what comes up in it is
 * removed. It should hold nothing that COMMAND needs to start. Exits with 0, 1, or 77
 * where it cannot trace. */
#include "trace.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define NAMES_MAX 256
#define FAILURES_SHOWN 20

struct image {
    bool exists;
    mode_t mode;
    char *text;
    size_t len;
};

struct names {
    char list[NAMES_MAX][NAME_MAX + 1];
    size_t n;
};

static struct {
    const char *given; /* FILE as it was said */
    const char *words; /* TEXT */
    char **argv;
    char file[PATH_MAX]; /* the real one */
    char dir[PATH_MAX];
    char given_dir[PATH_MAX]; /* from the root, but through links */
    char missing[PATH_MAX];   /* the topmost directory that is not there, or "" */
    char link[PATH_MAX];      /* what the link says, or "" */
    struct image old, new, again;
    int code_again; /* of the second run */
    struct names before, allowed;
    int out; /* what COMMAND prints */
    unsigned long runs, n_old, n_new, failures;
} w;

static void die(const char *what)
{
    fprintf(stderr, "killer: %s: %s\n", what, strerror(errno));
    exit(1);
}

/* ---- what there is ---- */

static struct image take_image(const char *path)
{
    struct image i = {.exists = false};
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC);

    if (fd < 0 && (errno == ENOENT || errno == ENOTDIR))
        return i;
    if (fd < 0 || fstat(fd, &st) != 0)
        die(path);
    i.exists = true;
    i.mode = st.st_mode & 07777;
    i.len = (size_t)st.st_size;
    i.text = calloc(1, i.len + 1);
    if (!i.text || read(fd, i.text, i.len) != (ssize_t)i.len)
        die(path);
    close(fd);
    return i;
}

static bool same(const struct image *a, const struct image *b)
{
    return a->exists == b->exists && a->len == b->len &&
           (a->len == 0 || memcmp(a->text, b->text, a->len) == 0);
}

static bool has_name(const struct names *names, const char *name)
{
    for (size_t i = 0; i < names->n; i++)
        if (strcmp(names->list[i], name) == 0)
            return true;
    return false;
}

/* Adds what is in the directory, but FILE. */
static void add_names(struct names *names)
{
    const char *file = strrchr(w.file, '/') + 1;
    DIR *dir = opendir(w.dir);

    if (!dir && errno == ENOENT)
        return;
    if (!dir)
        die(w.dir);
    for (struct dirent *e; (e = readdir(dir));) {
        if (strcmp(e->d_name, file) == 0 || has_name(names, e->d_name))
            continue;
        if (names->n == NAMES_MAX) {
            fprintf(stderr, "killer: %s holds more than %d names\n", w.dir, NAMES_MAX);
            exit(1);
        }
        memcpy(names->list[names->n++], e->d_name, strlen(e->d_name) + 1);
    }
    closedir(dir);
}

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *ftw)
{
    (void)st, (void)kind, (void)ftw;
    return remove(path);
}

static void remove_new_names(void)
{
    static struct names now;
    char path[PATH_MAX + NAME_MAX + 2];

    now.n = 0;
    add_names(&now);
    for (size_t i = 0; i < now.n; i++)
        if (!has_name(&w.before, now.list[i])) {
            snprintf(path, sizeof path, "%s/%s", w.dir, now.list[i]);
            nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
        }
}

/* FILE and its directory as they were before anything ran. */
static void restore(void)
{
    if (w.missing[0]) {
        nftw(w.missing, remove_one, 16, FTW_DEPTH | FTW_PHYS);
        return;
    }
    remove_new_names();
    unlink(w.file);
    if (!w.old.exists)
        return;
    int fd = open(w.file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0 || write(fd, w.old.text, w.old.len) != (ssize_t)w.old.len ||
        fchmod(fd, w.old.mode) != 0)
        die(w.file);
    close(fd);
}

/* ---- where it is ---- */

static void find_dir(const char *path, char dir[PATH_MAX])
{
    char *slash;

    if (path[0] == '/')
        snprintf(dir, PATH_MAX, "%s", path);
    else if (!getcwd(dir, PATH_MAX))
        die(".");
    else
        snprintf(dir + strlen(dir), PATH_MAX - strlen(dir), "/%s", path);
    slash = strrchr(dir, '/');
    slash[slash == dir] = '\0';
}

static void find_missing(void)
{
    char path[PATH_MAX];
    struct stat st;

    memcpy(path, w.dir, sizeof path);
    while (strcmp(path, "/") != 0 && lstat(path, &st) != 0) {
        memcpy(w.missing, path, sizeof path);
        char *slash = strrchr(path, '/');
        slash[slash == path] = '\0';
    }
}

static void find_file(void)
{
    char real[PATH_MAX];
    const char *name = strrchr(w.given, '/');

    name = name ? name + 1 : w.given;
    find_dir(w.given, w.given_dir);
    ssize_t n = readlink(w.given, w.link, sizeof w.link - 1);
    w.link[n < 0 ? 0 : n] = '\0';
    if (realpath(w.given, real)) {
        memcpy(w.file, real, sizeof real);
        find_dir(w.file, w.dir);
        return;
    }
    if (w.link[0])
        die("FILE is a link to nothing");
    memcpy(w.dir, realpath(w.given_dir, real) ? real : w.given_dir, sizeof w.dir);
    if (snprintf(w.file, sizeof w.file, "%.*s/%s", PATH_MAX - NAME_MAX - 2, w.dir, name) <
        0)
        die(w.given);
    find_missing();
}

/* ---- judging ---- */

static void complain(const char *when, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

static void complain(const char *when, const char *fmt, ...)
{
    char said[4096];
    va_list ap;

    if (++w.failures > FAILURES_SHOWN)
        return;
    va_start(ap, fmt);
    printf("FAILED: %s: ", when);
    vprintf(fmt, ap);
    va_end(ap);
    ssize_t n = pread(w.out, said, sizeof said, 0);
    printf("\n%.*s%s", n > 0 ? (int)n : 0, said,
           n > 0 && said[n - 1] != '\n' ? "\n" : "");
}

static bool was_said(const char *words)
{
    char said[65536];
    ssize_t n = pread(w.out, said, sizeof said - 1, 0);

    said[n > 0 ? n : 0] = '\0';
    return strstr(said, words) != NULL;
}

/* Nothing there may be open to more people than FILE is. */
static void check_modes(const char *when)
{
    static struct names now;
    char path[PATH_MAX + NAME_MAX + 2];
    mode_t most = (w.old.exists ? w.old.mode : 0) | w.new.mode;
    struct stat st;

    now.n = 0;
    add_names(&now);
    for (size_t i = 0; i < now.n; i++) {
        snprintf(path, sizeof path, "%s/%s", w.dir, now.list[i]);
        if (!has_name(&w.before, now.list[i]) && lstat(path, &st) == 0 &&
            S_ISREG(st.st_mode) && (st.st_mode & 07777 & ~most))
            complain(when, "%s has mode %04o", path, (unsigned)st.st_mode & 07777);
    }
    if (lstat(w.file, &st) == 0 && (st.st_mode & 07777 & ~most))
        complain(when, "%s has mode %04o", w.file, (unsigned)st.st_mode & 07777);
}

static void check_leftovers(const char *when)
{
    static struct names now;

    now.n = 0;
    add_names(&now);
    for (size_t i = 0; i < now.n; i++)
        if (!has_name(&w.allowed, now.list[i]))
            complain(when, "%s is left in %s", now.list[i], w.dir);
}

static void check_link(const char *when)
{
    char now[PATH_MAX];
    ssize_t n = readlink(w.given, now, sizeof now - 1);

    now[n < 0 ? 0 : n] = '\0';
    if (strcmp(now, w.link) != 0)
        complain(when, "%s is another link: \"%s\"", w.given, now);
}

/* Is FILE the new one? */
static bool check_file(const char *when)
{
    struct image now = take_image(w.file);
    bool old = same(&now, &w.old), new = same(&now, &w.new);

    if (!old && !new)
        complain(when, "%s is neither old nor new (%zu bytes): %.200s", w.file, now.len,
                 now.text ? now.text : "(missing)");
    w.n_old += old;
    w.n_new += new;
    free(now.text);
    check_modes(when);
    check_link(when);
    return new;
}

static void run_plain(struct trace *t)
{
    if (ftruncate(w.out, 0) != 0 || lseek(w.out, 0, SEEK_SET) != 0)
        die("a file in memory");
    trace_none(t, w.argv, w.out);
}

/* Nothing that happened may be in the way of the next. */
static void check_next(const char *when, bool new)
{
    const struct image *want = new ? &w.again : &w.new;
    struct trace t = {.late = false};
    char next[128];

    snprintf(next, sizeof next, "after %s", when);
    run_plain(&t);
    struct image now = take_image(w.file);
    if (t.late)
        complain(next, "COMMAND did not end within %d s", TRACE_SECONDS);
    else if (!WIFEXITED(t.status) || WEXITSTATUS(t.status) != (new ? w.code_again : 0))
        complain(next, "COMMAND ended with %#x", (unsigned)t.status);
    else if (!same(&now, want))
        complain(next, "%s is not what it should become", w.file);
    free(now.text);
    check_leftovers(next);
    check_link(next);
}

/* ---- running ---- */

static bool run_traced(struct trace *t)
{
    t->watch[0] = w.missing[0] ? w.missing : w.dir;
    t->watch[1] = w.missing[0] ? NULL : w.given_dir;
    restore();
    if (ftruncate(w.out, 0) != 0 || lseek(w.out, 0, SEEK_SET) != 0)
        die("a file in memory");
    if (!trace_run(t, w.argv, w.out)) {
        printf("skipped: processes cannot be traced here\n");
        exit(77);
    }
    return t->acted;
}

static void learn(void)
{
    struct trace t = {.late = false};

    w.old = take_image(w.file);
    add_names(&w.before);
    add_names(&w.allowed);
    run_plain(&t);
    w.new = take_image(w.file);
    add_names(&w.allowed);
    if (t.late || !WIFEXITED(t.status) || WEXITSTATUS(t.status) != 0)
        complain("undisturbed", "COMMAND ended with %#x", (unsigned)t.status);
    else if (same(&w.old, &w.new) || !strstr(w.new.exists ? w.new.text : "", w.words))
        complain("undisturbed", "%s has not got \"%s\"", w.file, w.words);
    run_plain(&t);
    w.again = take_image(w.file);
    add_names(&w.allowed);
    w.code_again = WIFEXITED(t.status) ? WEXITSTATUS(t.status) : -1;
    if (t.late || w.code_again < 0)
        complain("undisturbed", "the second COMMAND ended with %#x", (unsigned)t.status);
}

/* The text has to be on the disk before its name, and the name before the end. */
static void check_order(void)
{
    struct trace t = {.late = false};

    run_traced(&t);
    if (t.hasty)
        complain("undisturbed", "COMMAND renames what it has not written out");
    if (t.wrote || t.renamed)
        complain("undisturbed", "COMMAND ends without writing out what it did");
}

static void do_kills(void)
{
    char when[64];

    for (unsigned long n = 1;; n++) {
        struct trace t = {.kill_at = n};
        if (!run_traced(&t))
            break;
        snprintf(when, sizeof when, "kill %lu", n);
        if (t.late)
            complain(when, "COMMAND did not end within %d s", TRACE_SECONDS);
        check_next(when, check_file(when));
        w.runs++;
    }
    printf("%lu kill points, old: %lu, new: %lu\n", w.runs, w.n_old, w.n_new);
}

static void check_failed(const char *when, const struct trace *t)
{
    bool new = check_file(when), ended = WIFEXITED(t->status) && !t->late;

    if (!ended)
        complain(when, "COMMAND ended with %#x", (unsigned)t->status);
    else if (WEXITSTATUS(t->status) == 0 && !new)
        complain(when, "COMMAND says 0, but %s is not new", w.file);
    else if (WEXITSTATUS(t->status) == 0 && t->os_error != EINTR &&
             trace_must_matter(t->number))
        complain(when, "COMMAND says 0 all the same");
    else if (WEXITSTATUS(t->status) != 0 && !was_said(w.given))
        complain(when, "COMMAND does not name %s", w.given);
    if (!trace_is_unlink(t->number))
        check_leftovers(when);
    check_next(when, new);
}

static void do_failures(void)
{
    static const int errors[] = {ENOSPC, EDQUOT, EROFS, EIO, EACCES, EINTR};
    char when[128];

    for (size_t i = 0; i < 2 * sizeof errors / sizeof errors[0]; i++) {
        struct trace t = {.os_error = errors[i / 2], .forever = i % 2};
        if (t.os_error == EINTR && t.forever)
            continue; /* no call is interrupted for ever */
        for (t.fail_at = 1; run_traced(&t); t.fail_at++) {
            snprintf(when, sizeof when, "call %lu, %s, %s: %s", t.fail_at,
                     trace_name(t.number), t.forever ? "for ever" : "once",
                     strerror(t.os_error));
            check_failed(when, &t);
            w.runs++;
        }
    }
    printf("%lu failed calls, old: %lu, new: %lu\n", w.runs, w.n_old, w.n_new);
}

int main(int argc, char **argv)
{
    bool fail = argc > 1 && strcmp(argv[1], "fail") == 0;

    if (argc < 6 || (!fail && strcmp(argv[1], "kill") != 0) ||
        strcmp(argv[4], "--") != 0) {
        fprintf(stderr, "usage: killer kill|fail FILE TEXT -- COMMAND ARGS..\n");
        return 2;
    }
    if (fail && !trace_can_fail()) {
        printf("skipped: calls cannot be made to fail on this machine\n");
        return 77;
    }
    setvbuf(stdout, NULL, _IOLBF, 0);
    w.given = argv[2];
    w.words = argv[3];
    w.argv = argv + 5;
    w.out = memfd_create("output", MFD_CLOEXEC);
    if (w.out < 0)
        die("memfd_create");
    find_file();
    learn();
    check_order();
    if (w.failures == 0 && fail)
        do_failures();
    else if (w.failures == 0)
        do_kills();
    restore();
    if (w.failures == 0 && (w.n_old == 0 || w.n_new == 0))
        complain("in the end", "not both the old and the new file were seen");
    free(w.old.text);
    free(w.new.text);
    free(w.again.text);
    if (w.failures)
        printf("%lu failures\n", w.failures);
    return w.failures != 0;
}
