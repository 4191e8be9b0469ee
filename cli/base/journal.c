#include "cli/base/journal.h"

#include "base/buf.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/text.h"
#include "cli/base/progress.h"
#include "cli/base/message.h"
#include "cli/base/state_file.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define DIR_NAME "logs"
#define LOCK_TRIES 20 /* a millisecond apart */

static const struct cli_journal_limits defaults = {
    .file = CLI_JOURNAL_FILE,
    .lines = 1000,
    .bytes = (uint64_t)1 << 20,
    .window_ms = 10000,
};

/* What may be written until the window ends, and what was not. */
struct budget {
    uint64_t began, lines, bytes, left_out;
};

struct cli_journal {
    pthread_mutex_t lock;
    struct cli_journal_limits limits;
    const struct mcplug_paths *paths;
    char file[CLI_JOURNAL_NAME_MAX], older[CLI_JOURNAL_NAME_MAX];
    int dir_fd, fd; /* -1: not open yet */
    dev_t dev;      /* of `fd` */
    ino_t ino;
    bool given_up;
    bool is_stuck; /* who should begin the next file does not */
    struct budget budgets[CLI_JOURNAL_KINDS];
    time_t second; /* that `stamp` is for */
    char stamp[32];
    char line[CLI_JOURNAL_LINE];
};

/* ---- files ---- */

bool cli_journal_wanted(void)
{
    const char *value = getenv(CLI_JOURNAL_OFF);
    return !value || strcmp(value, "0") != 0;
}

char *cli_journal_dir(const struct mcplug_paths *paths)
{
    return paths->state ? mp_path_join(paths->state, DIR_NAME) : NULL;
}

static void file_names(const char *name, char file[CLI_JOURNAL_NAME_MAX],
                       char older[CLI_JOURNAL_NAME_MAX])
{
    snprintf(file, CLI_JOURNAL_NAME_MAX, "%s.log", name);
    snprintf(older, CLI_JOURNAL_NAME_MAX, "%s.log.1", name);
}

int cli_journal_look(const struct mcplug_paths *paths, const char *name, bool older,
                     int *out, struct mcplug_error *err)
{
    char files[2][CLI_JOURNAL_NAME_MAX];
    struct mcplug_error no_name = MCPLUG_ERROR_INIT;
    struct stat st;
    int dir_fd, fd = -1;

    *out = -1;
    if (!paths->state || mcplug_name_check(name, &no_name) != MCPLUG_OK)
        return MCPLUG_OK; /* nothing can have been kept */
    file_names(name, files[0], files[1]);
    int r = cli_state_dir(paths, DIR_NAME, false, &dir_fd, err);
    if (r == MCPLUG_OK && dir_fd >= 0) {
        r = cli_state_file(paths, DIR_NAME, dir_fd, files[older], O_RDONLY, &fd, &st,
                           err);
        close(dir_fd);
    }
    if (r == MCPLUG_OK)
        *out = fd;
    return r;
}

/* Adds the last `max` bytes; true: there are more before them. */
static bool add_end(int fd, size_t max, struct mp_str *out)
{
    struct stat st;
    off_t at = 0;
    ssize_t n = 1;

    if (!max || fstat(fd, &st) != 0 || !mp_str_reserve(out, max))
        return true;
    if ((uint64_t)st.st_size > max)
        at = st.st_size - (off_t)max;
    bool is_cut = at > 0;
    while (max && n) {
        n = pread(fd, out->data + out->len, max, at);
        if (n < 0 && errno == EINTR)
            continue;
        n = n < 0 ? 0 : n;
        out->len += (size_t)n;
        max -= (size_t)n;
        at += n;
    }
    out->data[out->len] = '\0';
    return is_cut;
}

static void drop_line(struct mp_str *s, size_t begin)
{
    char *first = s->data + begin, *end = strchr(first, '\n');
    size_t rest = end ? s->len - (size_t)(end + 1 - s->data) : 0;

    memmove(first, end ? end + 1 : first, rest);
    s->len = begin + rest;
    s->data[s->len] = '\0';
}

void cli_journal_tail(const struct mcplug_paths *paths, const char *name, size_t max,
                      struct mp_str *out)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    struct stat st = {.st_size = 0};
    size_t begin = out->len;
    bool is_cut = false;
    int older = -1, newer = -1;

    if (cli_journal_look(paths, name, false, &newer, &err) != MCPLUG_OK)
        return;
    if (newer >= 0 && fstat(newer, &st) != 0)
        st.st_size = 0;
    if ((uint64_t)st.st_size < max)
        cli_journal_look(paths, name, true, &older, &err);
    if (older >= 0)
        is_cut = add_end(older, max - (size_t)st.st_size, out);
    if (newer >= 0) {
        bool more = add_end(newer, max - (out->len - begin), out);
        is_cut |= older < 0 && more;
    }
    if (is_cut && out->len > begin)
        drop_line(out, begin);
    if (older >= 0)
        close(older);
    if (newer >= 0)
        close(newer);
}

void cli_journal_remove(const struct mcplug_paths *paths, const char *name)
{
    char file[CLI_JOURNAL_NAME_MAX], older[CLI_JOURNAL_NAME_MAX];
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    int dir_fd;

    if (!paths->state || mcplug_name_check(name, &err) != MCPLUG_OK ||
        cli_state_dir(paths, DIR_NAME, false, &dir_fd, &err) != MCPLUG_OK || dir_fd < 0)
        return;
    file_names(name, file, older);
    unlinkat(dir_fd, older, 0);
    unlinkat(dir_fd, file, 0);
    close(dir_fd);
}

/* ---- giving up ---- */

/* Where nothing can be kept, as in a home that is read-only, this is how it is and no
 * news each time. What others could have a hand in, or a disk that is full, is. */
static bool is_expected(const struct mcplug_error *why)
{
    static const int expected[] = {EACCES, EPERM, EROFS, ENOENT, ENOTDIR};
    for (size_t i = 0; i < MP_COUNT(expected); i++)
        if (why->code == MCPLUG_EIO && why->os_error == expected[i])
            return true;
    return false;
}

/* For all servers together it is told once: there may be many, on one disk. */
static void give_up(struct cli_journal *j, const struct mcplug_error *why)
{
    static atomic_bool told;
    char text[sizeof why->text + 64];

    j->given_up = true;
    snprintf(text, sizeof text, "%s; nothing more is stored there", why->text);
    if (is_expected(why))
        cli_log_line(MCPLUG_LOG_VERBOSE, DIR_NAME, text);
    else if (!atomic_exchange(&told, true))
        cli_log_line(MCPLUG_LOG_WARN, DIR_NAME, text);
}

/* ---- writing ---- */

static int put(struct cli_journal *j, const char *line, size_t len,
               struct mcplug_error *err)
{
    ssize_t n;
    do
        n = write(j->fd, line, len);
    while (n < 0 && errno == EINTR);
    if (n == (ssize_t)len)
        return MCPLUG_OK;
    return cli_state_fail(j->paths, DIR_NAME, j->file, n < 0 ? errno : ENOSPC,
                          "cannot be written", err);
}

static void pause_ms(void)
{
    nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
}

/* Does the file end in the middle of a line? Another writer's line can be seen half when
 * it crosses a page; it grows to its end in a moment, and what nobody goes on with is
 * torn. */
static bool is_torn(const struct cli_journal *j, off_t size)
{
    struct stat now;
    char last = '\n';

    if (size == 0 || pread(j->fd, &last, 1, size - 1) != 1 || last == '\n')
        return false;
    for (int i = 0; i < LOCK_TRIES; i++) {
        pause_ms();
        if (fstat(j->fd, &now) != 0 || now.st_size != size)
            return false;
    }
    return true;
}

/* The file as it is named now. Whoever was stopped in the middle of a line left it
 * without its end. */
static int reopen(struct cli_journal *j, struct stat *st, struct mcplug_error *err)
{
    if (j->fd >= 0)
        close(j->fd);
    int r = cli_state_file(j->paths, DIR_NAME, j->dir_fd, j->file,
                           O_RDWR | O_APPEND | O_CREAT, &j->fd, st, err);
    if (r != MCPLUG_OK)
        return r;
    j->dev = st->st_dev;
    j->ino = st->st_ino;
    if (st->st_mode & (S_IRWXG | S_IRWXO))
        fchmod(j->fd, 0600);
    if (is_torn(j, st->st_size))
        r = put(j, "\n", 1, err);
    return r;
}

static bool is_ours(const struct cli_journal *j, const struct stat *st)
{
    return st->st_dev == j->dev && st->st_ino == j->ino;
}

/* What is at the file's name now; false: nothing. */
static bool see(const struct cli_journal *j, struct stat *st)
{
    return fstatat(j->dir_fd, j->file, st, AT_SYMLINK_NOFOLLOW) == 0;
}

/* Who has the lock is done in a moment, unless he is stopped: then he is waited for once,
 * and not long. */
static bool lock(struct cli_journal *j)
{
    bool locked = flock(j->fd, LOCK_EX | LOCK_NB) == 0;

    for (int i = 0; i < LOCK_TRIES && !locked && !j->is_stuck; i++) {
        pause_ms();
        locked = flock(j->fd, LOCK_EX | LOCK_NB) == 0;
    }
    j->is_stuck = !locked;
    return locked;
}

/* One of all writers moves the file away; the others find that it has another name. */
static int rotate(struct cli_journal *j, struct stat *st, struct mcplug_error *err)
{
    int r = MCPLUG_OK;

    if (!lock(j))
        return r;
    if (see(j, st) && is_ours(j, st) &&
        renameat(j->dir_fd, j->file, j->dir_fd, j->older) != 0)
        r = cli_state_fail(j->paths, DIR_NAME, j->older, errno, "cannot be replaced",
                           err);
    flock(j->fd, LOCK_UN);
    return r == MCPLUG_OK ? reopen(j, st, err) : r;
}

/* Makes room for `len` bytes. false in `fits`: there is none while others rotate. */
static int prepare(struct cli_journal *j, size_t len, bool *fits,
                   struct mcplug_error *err)
{
    struct stat st;
    int r = MCPLUG_OK;

    if (j->dir_fd < 0)
        r = cli_state_dir(j->paths, DIR_NAME, true, &j->dir_fd, err);
    if (r == MCPLUG_OK && (j->fd < 0 || !see(j, &st) || !is_ours(j, &st)))
        r = reopen(j, &st, err);
    if (r == MCPLUG_OK && (uint64_t)st.st_size + len > j->limits.file)
        r = rotate(j, &st, err);
    *fits = r == MCPLUG_OK && (uint64_t)st.st_size + len <= j->limits.file * 2;
    return r;
}

static size_t put_head(struct cli_journal *j, int level, enum cli_journal_kind kind)
{
    static const char *const levels[] = {"ERR", "WRN", "VRB", "TRC"};
    struct timespec now;
    struct tm tm;

    clock_gettime(CLOCK_REALTIME, &now);
    if (now.tv_sec != j->second || !j->stamp[0]) {
        strftime(j->stamp, sizeof j->stamp, "%Y-%m-%dT%H:%M:%S",
                 gmtime_r(&now.tv_sec, &tm));
        j->second = now.tv_sec;
    }
    return (size_t)snprintf(j->line, sizeof j->line, "%s.%03ldZ %s %s ", j->stamp,
                            now.tv_nsec / 1000000,
                            levels[level >= 0 && level < 4 ? level : 3],
                            kind == CLI_JOURNAL_STDERR ? "stderr" : "event");
}

/* Escapes what fits; most lines have nothing to escape and take a short way. `*len`
 * becomes what was read. */
static size_t escape(const char *text, size_t *len, char *out, size_t cap)
{
    size_t plain = 0, most = *len < cap ? *len : cap;
    while (plain < most && text[plain] >= ' ' && text[plain] <= '~')
        plain++;
    if (plain)
        memcpy(out, text, plain);
    size_t rest = *len - plain;
    size_t n =
        rest ? mp_escape(text + plain, &rest, false, false, out + plain, cap - plain) : 0;
    *len = plain + rest;
    return plain + n;
}

static size_t make_line(struct cli_journal *j, int level, enum cli_journal_kind kind,
                        const char *text, size_t len)
{
    static const char cut[] = "...\n";
    size_t n = put_head(j, level, kind), used = len;

    n += escape(text, &used, j->line + n, sizeof j->line - n - (sizeof cut - 1));
    if (used < len) {
        memcpy(j->line + n, cut, sizeof cut - 1);
        return n + sizeof cut - 1;
    }
    j->line[n++] = '\n';
    return n;
}

static void put_line(struct cli_journal *j, size_t len)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    bool fits;

    if (j->given_up)
        return;
    int r = prepare(j, len, &fits, &err);
    if (r == MCPLUG_OK && fits)
        r = put(j, j->line, len, &err);
    if (r != MCPLUG_OK)
        give_up(j, &err);
}

/* ---- how much ---- */

static void tell_left_out(struct cli_journal *j, enum cli_journal_kind kind)
{
    uint64_t n = j->budgets[kind].left_out;
    char text[64];

    if (n == 0)
        return;
    j->budgets[kind].left_out = 0;
    int len = snprintf(text, sizeof text, "%llu line%s omitted", (unsigned long long)n,
                       n == 1 ? "" : "s");
    put_line(j, make_line(j, MCPLUG_LOG_WARN, kind, text, (size_t)len));
}

/* A new window begins with the first line behind the last one's end. */
static bool may_write(struct cli_journal *j, enum cli_journal_kind kind, size_t len)
{
    struct budget *b = &j->budgets[kind];
    uint64_t now = j->limits.now ? j->limits.now() : cli_now();

    if (b->lines == 0 || now - b->began >= j->limits.window_ms) {
        tell_left_out(j, kind);
        *b = (struct budget){.began = now};
    }
    /* What is cut off does not count, and what escapes add is not known yet. */
    len = len < CLI_JOURNAL_LINE ? len : CLI_JOURNAL_LINE;
    if (b->left_out || b->lines >= j->limits.lines || b->bytes + len > j->limits.bytes) {
        b->lines++; /* so that it is no new window */
        b->left_out++;
        return false;
    }
    b->lines++;
    return true;
}

void cli_journal_line(struct cli_journal *j, int level, enum cli_journal_kind kind,
                      const char *text, size_t len)
{
    if (!j)
        return;
    pthread_mutex_lock(&j->lock);
    if (!j->given_up && may_write(j, kind, len)) {
        size_t n = make_line(j, level, kind, text, len);
        j->budgets[kind].bytes += n;
        put_line(j, n);
    }
    pthread_mutex_unlock(&j->lock);
}

void cli_journal_event(struct cli_journal *j, int level, const char *text)
{
    cli_journal_line(j, level, CLI_JOURNAL_EVENT, text, strlen(text));
}

void cli_journal_take(struct cli_journal *j, const struct mcplug_activity *event)
{
    char line[MCPLUG_ACTIVITY_LINE_MAX];

    if (!j || event->level > MCPLUG_LOG_VERBOSE)
        return;
    if (event->kind == MCPLUG_ACTIVITY_REMARK) {
        cli_journal_line(j, event->level, CLI_JOURNAL_STDERR, event->text, event->len);
        return;
    }
    for (unsigned n = 0; mcplug_activity_text(event, n, line); n++)
        cli_journal_event(j, event->level, line);
}

mcplug_listener *cli_journal_listen(mcplug *host, mcplug_activity_fn *fn, void *arg)
{
    return cli_journal_wanted()
               ? mcplug_listen(host, MCPLUG_ACTIVITY_ALL & ~MCPLUG_ACTIVITY_FRAME,
                               MCPLUG_LOG_VERBOSE, fn, arg)
               : NULL;
}

/* ---- life ---- */

/* A file beyond the limit that the user set for all would end us with a signal. */
static uint64_t file_limit(uint64_t wanted)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
        limit.rlim_cur / 4 < wanted)
        return limit.rlim_cur / 4;
    return wanted;
}

struct cli_journal *cli_journal_open_with(const struct mcplug_paths *paths,
                                          const char *name,
                                          const struct cli_journal_limits *limits)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    uint64_t file = file_limit(limits->file);

    if (!cli_journal_wanted() || !paths->state || file < CLI_JOURNAL_LINE ||
        mcplug_name_check(name, &err) != MCPLUG_OK)
        return NULL;
    struct cli_journal *j = mp_alloc(sizeof *j);
    if (!j)
        return NULL;
    pthread_mutex_init(&j->lock, NULL);
    j->limits = *limits;
    j->limits.file = file;
    j->paths = paths;
    j->dir_fd = j->fd = -1;
    file_names(name, j->file, j->older);
    return j;
}

struct cli_journal *cli_journal_open(const struct mcplug_paths *paths, const char *name)
{
    return cli_journal_open_with(paths, name, &defaults);
}

void cli_journal_close(struct cli_journal *j)
{
    if (!j)
        return;
    for (int kind = 0; kind < CLI_JOURNAL_KINDS; kind++)
        tell_left_out(j, (enum cli_journal_kind)kind);
    if (j->fd >= 0)
        close(j->fd);
    if (j->dir_fd >= 0)
        close(j->dir_fd);
    pthread_mutex_destroy(&j->lock);
    mp_free(j);
}
