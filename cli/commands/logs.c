/* logs NAME: what is kept of a server, and what is added while one looks on. */
#include "cli/commands/commands.h"

#include "base/buf.h"
#include "base/mem.h"
#include "cli/base/journal.h"
#include "cli/base/by_name.h"
#include "cli/base/signals.h"
#include "cli/base/message.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define READ_MAX ((off_t)CLI_JOURNAL_FILE * 4) /* of a file, from its end */
#define KEPT_MAX ((size_t)READ_MAX * 3)        /* of lines, to count them from the end */
#define REST_MAX ((size_t)CLI_JOURNAL_LINE * 4)
#define LOOK_MS 2000 /* where changes are told: in case one was not */
#define BLIND_MS 250 /* where they are not */
#define STAMP_LEN 24 /* 2026-11-16T15:04:05.123Z */
#define TRIES 4      /* at files that are rotated meanwhile */

/* A file that is read on as it grows, whatever its name is by then. */
struct tail {
    int fd;
    dev_t dev;
    ino_t ino;
    off_t at;
    bool named; /* it still has one of our two names */
    struct mp_str rest;
};

struct look {
    struct cli *cli;
    const char *name;
    struct tail tails[4]; /* the oldest first: two that are named, two that were */
    size_t n;
    char since[STAMP_LEN + 1]; /* "": from the beginning */
    bool skipping;             /* the last line was before that */
    struct mp_str *kept;       /* where lines go that are to be counted; NULL: out */
    size_t n_kept;
};

/* ---- one line ---- */

struct parts {
    const char *level, *kind, *text;
    size_t kind_len, text_len;
};

/* false: not as we write it. */
static bool take_apart(const char *line, size_t len, struct parts *out)
{
    const size_t kind = STAMP_LEN + sizeof " ERR";
    if (len <= kind || line[STAMP_LEN - 1] != 'Z' || line[STAMP_LEN] != ' ' ||
        line[kind - 1] != ' ')
        return false;
    const char *space = memchr(line + kind, ' ', len - kind);
    if (!space)
        return false;
    out->level = line + STAMP_LEN + 1;
    out->kind = line + kind;
    out->kind_len = (size_t)(space - out->kind);
    out->text = space + 1;
    out->text_len = len - (size_t)(out->text - line);
    return true;
}

static void put_member(struct mp_str *out, const char *name, const char *text, size_t len)
{
    mp_str_addf(out, "%s\"%s\":", out->len > 1 ? "," : "", name);
    if (text)
        mp_str_add_json(out, text, len);
    else
        mp_str_adds(out, "null");
}

static void put_json(struct cli_out *out, const char *line, size_t len)
{
    struct parts p = {.text = line, .text_len = len};
    bool whole = take_apart(line, len, &p);
    struct mp_str text;

    mp_str_init(&text, REST_MAX * 8);
    mp_str_addc(&text, '{');
    put_member(&text, "time", whole ? line : NULL, STAMP_LEN);
    put_member(&text, "level", p.level, 3);
    put_member(&text, "kind", p.kind, p.kind_len);
    put_member(&text, "text", p.text, p.text_len);
    mp_str_adds(&text, "}\n");
    if (!text.failed)
        cli_out_json(out, text.data, text.len);
    mp_str_clear(&text);
}

static void put_line(struct cli *cli, const char *line, size_t len)
{
    struct cli_out *out = &cli->out;
    struct parts p;

    if (cli->args.json) {
        put_json(out, line, len);
        return;
    }
    if (take_apart(line, len, &p)) {
        bool bad = memcmp(p.level, "ERR", 3) == 0, odd = memcmp(p.level, "WRN", 3) == 0;
        cli_out_style(out, CLI_DIM);
        cli_out_shown(out, line, STAMP_LEN);
        cli_out_style(out, CLI_PLAIN);
        cli_out_s(out, " ");
        if (bad || odd)
            cli_out_style(out, bad ? CLI_RED : CLI_YELLOW);
        cli_out_shown(out, p.level, 3);
        if (bad || odd)
            cli_out_style(out, CLI_PLAIN);
        len -= (size_t)(p.level + 3 - line);
        line = p.level + 3;
    }
    cli_out_shown(out, line, len);
    cli_out_s(out, "\n");
}

/* A line that is none of ours belongs to the one before. */
static void take_line(struct look *l, const char *line, size_t len)
{
    struct parts p;

    if (l->since[0] && take_apart(line, len, &p))
        l->skipping = memcmp(line, l->since, STAMP_LEN) < 0;
    if (l->skipping)
        return;
    if (!l->kept) {
        put_line(l->cli, line, len);
    } else if (mp_str_add(l->kept, line, len) && mp_str_addc(l->kept, '\n')) {
        l->n_kept++;
    }
}

/* ---- files ---- */

/* take `fd` */
static void tail_open(struct look *l, int fd, const struct stat *st)
{
    struct tail *t = &l->tails[l->n++];
    *t = (struct tail){.fd = fd, .dev = st->st_dev, .ino = st->st_ino, .named = true};
    mp_str_init(&t->rest, REST_MAX);
    if (st->st_size > READ_MAX)
        t->at = st->st_size - READ_MAX;
}

static void tail_end_line(struct look *l, struct tail *t)
{
    if (t->rest.len)
        take_line(l, t->rest.data, t->rest.len);
    mp_str_reset(&t->rest);
}

static void tail_close(struct look *l, struct tail *t)
{
    tail_end_line(l, t);
    mp_str_clear(&t->rest);
    close(t->fd);
}

static void tail_feed(struct look *l, struct tail *t, const char *data, size_t len)
{
    while (len) {
        const char *end = memchr(data, '\n', len);
        size_t n = end ? (size_t)(end - data) : len;
        if (t->rest.len + n >= REST_MAX) /* nothing that we wrote */
            tail_end_line(l, t);
        if (t->rest.len == 0 && end) {
            take_line(l, data, n);
        } else if (n < REST_MAX) {
            mp_str_add(&t->rest, data, n);
            if (end)
                tail_end_line(l, t);
        }
        data += n + (end != NULL);
        len -= n + (end != NULL);
    }
}

static void tail_read(struct look *l, struct tail *t)
{
    char chunk[REST_MAX];
    struct stat st;
    ssize_t n;

    if (fstat(t->fd, &st) == 0 && st.st_size < t->at)
        t->at = 0; /* somebody emptied it */
    while (!l->cli->out.failed &&
           (n = pread(t->fd, chunk, sizeof chunk - 1, t->at)) != 0) {
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            break;
        t->at += n;
        tail_feed(l, t, chunk, (size_t)n);
    }
}

static struct tail *tail_of(struct look *l, const struct stat *st)
{
    for (size_t i = 0; i < l->n; i++)
        if (l->tails[i].dev == st->st_dev && l->tails[i].ino == st->st_ino)
            return &l->tails[i];
    return NULL;
}

/* Opens what has one of the names now and was not seen before: the older one first. The
 * newer one is looked at first, so that none slips through between the two. */
static int find_files(struct look *l, bool *changed, struct mcplug_error *err)
{
    const struct mcplug_paths *paths = &l->cli->paths;
    int fds[2] = {-1, -1}; /* the older one, the newer one */
    struct stat st;

    int r = cli_journal_look(paths, l->name, false, &fds[1], err);
    if (r == MCPLUG_OK)
        r = cli_journal_look(paths, l->name, true, &fds[0], err);
    *changed = false;
    for (size_t i = 0; i < l->n; i++)
        l->tails[i].named = false;
    for (int i = 0; i < 2; i++) {
        bool there = fds[i] >= 0 && fstat(fds[i], &st) == 0;
        struct tail *known = there ? tail_of(l, &st) : NULL;
        if (there && !known && r == MCPLUG_OK && l->n < MP_COUNT(l->tails)) {
            tail_open(l, fds[i], &st);
            *changed = true;
            continue;
        }
        if (known)
            known->named = true;
        if (fds[i] >= 0)
            close(fds[i]);
    }
    return r;
}

static void read_files(struct look *l)
{
    size_t kept = 0;
    for (size_t i = 0; i < l->n; i++) {
        tail_read(l, &l->tails[i]);
        if (l->tails[i].named)
            l->tails[kept++] = l->tails[i];
        else
            tail_close(l, &l->tails[i]);
    }
    l->n = kept;
}

/* ---- what there is ---- */

/* The last `n` of the lines in `text`. */
static void put_last(struct look *l, const struct mp_str *text, uint64_t n)
{
    const char *p = text->data, *end = p + text->len;
    for (size_t i = 0; p < end; i++) {
        const char *newline = memchr(p, '\n', (size_t)(end - p));
        if (i + n >= l->n_kept)
            put_line(l->cli, p, (size_t)(newline - p));
        p = newline + 1;
    }
}

static int put_all(struct look *l, struct mcplug_error *err)
{
    uint64_t wanted = l->cli->args.lines;
    bool changed = true;
    struct mp_str kept;
    int r = MCPLUG_OK;

    mp_str_init(&kept, KEPT_MAX);
    l->kept = wanted ? &kept : NULL;
    for (int i = 0; r == MCPLUG_OK && changed && i < TRIES; i++) {
        r = find_files(l, &changed, err);
        if (r == MCPLUG_OK)
            read_files(l);
    }
    if (!l->cli->args.follow)
        for (size_t i = 0; i < l->n; i++)
            tail_end_line(l, &l->tails[i]);
    l->kept = NULL;
    if (kept.len)
        put_last(l, &kept, wanted - 1);
    mp_str_clear(&kept);
    cli_out_flush(&l->cli->out);
    return r;
}

/* ---- what comes ---- */

/* How long to wait if nothing is told. */
static int watch(int fd, const char *dir)
{
    unsigned mask = IN_MODIFY | IN_CREATE | IN_MOVED_TO | IN_DELETE | IN_ONLYDIR;
    return fd >= 0 && dir && inotify_add_watch(fd, dir, mask) >= 0 ? LOOK_MS : BLIND_MS;
}

/* What changed does not matter: we look at all there is. */
static void drain(int fd)
{
    char events[4096];
    while (read(fd, events, sizeof events) > 0)
        continue;
}

static int follow(struct look *l, int signal_fd, struct mcplug_error *err)
{
    char *dir = cli_journal_dir(&l->cli->paths);
    int notify_fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK), code = -1;
    int ms = watch(notify_fd, dir);
    bool changed;

    while (code < 0) { /* it may have changed before it was watched */
        if (find_files(l, &changed, err) != MCPLUG_OK) {
            cli_error("%s", err->text);
            code = CLI_IO_ERROR;
            break;
        }
        read_files(l);
        cli_out_flush(&l->cli->out);
        struct pollfd fds[] = {
            {.fd = notify_fd, .events = POLLIN},
            {.fd = signal_fd, .events = POLLIN},
            {.fd = l->cli->out.fd}, /* nobody reads it any more */
        };
        int n = l->cli->out.failed ? 0 : poll(fds, MP_COUNT(fds), changed ? 0 : ms);
        int number = fds[1].revents ? cli_signals_read(signal_fd) : 0;
        if (number)
            code = CLI_SIGNAL + number;
        else if (l->cli->out.failed)
            code = CLI_IO_ERROR; /* main() tells why */
        else if (fds[2].revents & (POLLERR | POLLHUP | POLLNVAL))
            code = CLI_BROKEN_PIPE;
        else if (fds[0].revents)
            drain(notify_fd);
        else if (n == 0)
            ms = watch(notify_fd, dir); /* the directory may be another one */
    }
    if (notify_fd >= 0)
        close(notify_fd);
    mp_free(dir);
    return code;
}

/* ---- the whole ---- */

static void set_since(struct look *l, uint64_t ms)
{
    struct timespec now;
    struct tm tm;

    clock_gettime(CLOCK_REALTIME, &now);
    uint64_t at = (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
    at = at > ms ? at - ms : 0;
    time_t second = (time_t)(at / 1000);
    char text[32];
    size_t n = strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", gmtime_r(&second, &tm));
    snprintf(text + n, sizeof text - n, ".%03uZ", (unsigned)(at % 1000));
    memcpy(l->since, text, STAMP_LEN);
    l->skipping = true; /* until a line says when it was */
}

static void tell_none(struct cli *cli, const char *name)
{
    if (cli->args.quiet)
        return;
    cli_note("server \"%s\" has no log yet", name);
    if (!cli_journal_wanted())
        cli_hint(CLI_JOURNAL_OFF "=0 is set, so no logs are stored.");
}

static int run(struct cli *cli)
{
    struct look l = {.cli = cli, .name = cli->args.words.items[0]};
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    int code = CLI_OK, signal_fd = -1;

    if (!cli_config(cli))
        return CLI_BAD_CONFIG;
    if (cli->args.since)
        set_since(&l, cli->args.since - 1);
    if (cli->args.follow)
        signal_fd = cli_signals_open();
    if (put_all(&l, &err) != MCPLUG_OK) {
        cli_error("%s", err.text);
        code = CLI_IO_ERROR;
    } else if (l.n == 0 && !cli_by_name_find(cli, l.name)) {
        code = cli_by_name_none(
            cli); /* one that was removed may still have something kept */
    } else {
        if (l.n == 0)
            tell_none(cli, l.name);
        if (cli->args.follow)
            code = follow(&l, signal_fd, &err);
    }
    while (l.n)
        tail_close(&l, &l.tails[--l.n]);
    if (signal_fd >= 0)
        close(signal_fd);
    return code;
}

static const struct cli_option options[] = {
    {"follow", 'f', CLI_FLAG, NULL, "follow the log until Ctrl+C",
     .at = offsetof(struct cli_args, follow)},
    {"lines", 'n', CLI_LIMIT, "N", "start with the last N lines; 0: only new lines",
     offsetof(struct cli_args, lines), .complete.is = CLI_WORD_FREE},
    {"since", 0, CLI_AGE, "TIME",
     "start with lines that are not older than TIME: 30s, 10m",
     offsetof(struct cli_args, since), .complete.is = CLI_WORD_FREE},
    {.name = NULL},
};

const struct cli_command cli_cmd_logs = {
    .name = "logs",
    .words = "NAME",
    .summary = "Show a server's log: its stderr, and when it connected or failed.",
    .details = "The log has what a configured server wrote while mcplug used it, and "
               "when it was connected, failed or was lost: up to 2 MiB per server, the "
               "oldest line first. With --json, each line is an object with the members "
               "time, level, kind (stderr or event) and text.\n"
               "MCPLUG_LOGS=0 in the environment turns logs off. `mcplug remove` removes "
               "the log as well.",
    .options = options,
    .flags = CLI_CONFIG | CLI_LINES,
    .min_words = 1,
    .max_words = 1,
    .complete = {{.is = CLI_WORD_SERVER}},
    .run = run,
};
