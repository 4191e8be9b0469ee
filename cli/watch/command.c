#include "cli/commands/commands.h"

#include "base/mem.h"
#include "cli/base/failure.h"
#include "cli/base/message.h"
#include "cli/watch/watch.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#define REDRAW_MS 50 /* a flood of news must not become a flood of frames */
#define TICK_MS 1000

/* ---- a line per event ---- */

static void put_news(struct cli_watch *w, struct cli_watched *s, bool event)
{
    if (event)
        cli_watch_put_event(w, s);
}

static void hold_news(struct cli_watch *w, struct cli_watched *s, bool event)
{
    (void)w, (void)s, (void)event;
}

static void on_stop(void *arg, int number)
{
    cli_watch_leave(arg, CLI_SIGNAL + number);
}

/* Is nobody there any more who would read it? A file or a terminal is always there. */
static void check_reader(void *arg, short revents)
{
    struct cli_watch *w = arg;

    if (w->cli->out.failed)
        cli_watch_leave(w, CLI_IO_ERROR); /* main() tells why */
    else if (revents & (POLLERR | POLLNVAL))
        cli_watch_leave(w, CLI_BROKEN_PIPE);
}

static void turn_plain(struct cli_watch *w, uint64_t due)
{
    bool unseen = w->loop.ending || w->cli->out.terminal;
    bool more = mp_batch_begin(&w->batch);

    cli_loop_turn(&w->loop, unseen ? -1 : w->cli->out.fd, 0, more ? cli_now() : due);
}

static void run_plain(struct cli_watch *w)
{
    w->news = put_news;
    for (size_t i = 0; i < w->n; i++)
        if (!w->all[i].usable)
            cli_watch_put_event(w, &w->all[i]);
    if (!cli_watch_usable(w))
        cli_watch_leave(w, CLI_NO_SERVER);
    while (!w->loop.ending) {
        turn_plain(w, 0);
        if (!cli_watch_usable(w)) /* what was to be started could not be */
            cli_watch_leave(w, CLI_NO_SERVER);
    }
}

/* ---- until all are ready ---- */

/* "waiting for a, b (3 of 5 are known)" */
static void show_waiting(struct cli_watch *w)
{
    size_t there = 0, named = 0;
    struct mp_str names, text;

    mp_str_init(&names, 256);
    mp_str_init(&text, 512);
    for (size_t i = 0; i < w->n; i++) {
        const struct cli_watched *s = &w->all[i];
        there += s->usable && s->answered;
        if (s->usable && !s->answered && s->begun)
            mp_str_addf(&names, "%s%s", named++ ? ", " : "",
                        mcplug_entry_name(s->member->entry));
    }
    if (named)
        mp_str_addf(&text, "waiting for %s (%zu of %zu are known)",
                    names.data ? names.data : "..", there, cli_watch_usable(w));
    cli_status_show(text.len ? text.data : NULL);
    mp_str_clear(&names);
    mp_str_clear(&text);
}

static bool all_answered(const struct cli_watch *w)
{
    for (size_t i = 0; i < w->n; i++)
        if (w->all[i].usable && !w->all[i].answered)
            return false;
    return true;
}

/* Those that are not to be started do not count, unless somebody named them. */
static int verdict(const struct cli_watch *w)
{
    bool named = w->cli->args.words.n > 0;

    for (size_t i = 0; i < w->n; i++) {
        const struct cli_watched *s = &w->all[i];
        bool counts = s->usable || named || s->member->state == CLI_STATE_FAILED;
        if (counts && !cli_watched_healthy(s))
            return CLI_NOTHING;
    }
    /* nobody knows what else there should be */
    return cli_config_info(w->cli->config).damaged ? CLI_BAD_CONFIG : CLI_OK;
}

/* Nobody should have to find out from the exit code. */
static void tell_late(const struct cli_watch *w)
{
    unsigned long long ms = w->cli->args.timeout;
    bool whole = ms % 1000 == 0;
    struct mp_str names;
    size_t n = 0;

    mp_str_init(&names, 1024);
    for (size_t i = 0; i < w->n && names.len < 512; i++)
        if (w->all[i].usable && !cli_watched_healthy(&w->all[i]))
            mp_str_addf(&names, "%s%s", n++ ? ", " : "",
                        mcplug_entry_name(w->all[i].member->entry));
    cli_error("not ready within the --timeout of %llu%s: %s", whole ? ms / 1000 : ms,
              whole ? "s" : "ms", names.data ? names.data : "..");
    mp_str_clear(&names);
}

static void run_until_ready(struct cli_watch *w)
{
    uint64_t limit = w->cli->args.timeout, due = limit ? cli_now() + limit : 0;
    bool status = isatty(STDERR_FILENO) && !w->cli->args.quiet;

    w->news = hold_news;
    while (!w->loop.ending && !all_answered(w) && !(due && cli_now() >= due)) {
        turn_plain(w, due);
        if (status)
            show_waiting(w);
    }
    if (status)
        cli_status_show(NULL);
    if (!w->loop.ending) {
        cli_watch_put_table(w);
        int code = verdict(w);
        if (code == CLI_NOTHING && !all_answered(w)) {
            code = CLI_TIMED_OUT;
            tell_late(w);
        }
        cli_failure_put(w->cli, code, NULL, NULL);
        cli_out_close(
            &w->cli->out); /* who reads it need not wait for the servers to go */
        cli_watch_leave(w, code);
    }
}

static int run_lines(struct cli_watch *w)
{
    w->loop.arg = w;
    w->loop.stop = on_stop;
    w->loop.woken = check_reader;
    cli_loop_open(&w->loop, w->host);
    if (w->cli->args.until_ready)
        run_until_ready(w);
    else
        run_plain(w);
    while (w->held)
        turn_plain(w, 0);
    cli_loop_close(&w->loop);
    return w->loop.exit_code;
}

/* ---- the screen ---- */

static void draw_news(struct cli_watch *w, struct cli_watched *s, bool event)
{
    struct cli_view *v = w->arg;
    bool looked_at = v->page == CLI_VIEW_LOG && s == &w->all[v->selected];
    v->dirty = v->dirty || event || looked_at || v->page == CLI_VIEW_SERVERS;
}

/* What is on the screen is not known any more: all is drawn. */
static void redraw_all(struct cli_view *v)
{
    mp_str_reset(&v->last);
    v->dirty = true;
    v->drawn = 0;
}

static void on_screen_stop(void *arg, int number)
{
    struct cli_view *v = arg;

    cli_watch_leave(v->watch, CLI_SIGNAL + number);
    v->dirty = true;
}

static bool on_screen_signal(void *arg, int number)
{
    struct cli_view *v = arg;

    switch (number) {
    case SIGWINCH:
        cli_term_measure(v->term);
        cli_term_write(v->term, "\033[2J", 4);
        break;
    case SIGTSTP:
        cli_term_suspend(v->term);
        break;
    case SIGCONT: /* somebody may have changed the terminal while we stood still */
        cli_term_enter(v->term);
        break;
    default:
        return false;
    }
    redraw_all(v);
    return true;
}

static void on_restore(void *arg)
{
    struct cli_view *v = arg;
    cli_term_leave(v->term);
}

static void on_key(struct cli_view *v, int key)
{
    struct cli_watch *w = v->watch;

    if (w->loop.ending && (key == 'q' || key == 'Q'))
        cli_loop_leave(&w->loop, w->loop.exit_code);
    if (cli_view_key(v, key))
        cli_watch_leave(w, CLI_OK);
}

static void read_keys(struct cli_view *v)
{
    unsigned char bytes[256];
    ssize_t n = read(v->term->fd, bytes, sizeof bytes);

    if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
        v->term->lost = true;
    for (ssize_t i = 0; i < n; i++)
        on_key(v, cli_keys_feed(&v->keys, bytes[i], cli_now()));
}

/* When to draw next, or to look at an Esc again. */
static uint64_t next_due(const struct cli_view *v)
{
    uint64_t due = v->drawn + (v->dirty ? REDRAW_MS : TICK_MS);
    if (v->term->unsent.len || v->term->lost)
        due = cli_now() + TICK_MS; /* it goes on when the terminal takes more */
    return v->keys.due && v->keys.due < due ? v->keys.due : due;
}

static void on_screen_woken(void *arg, short revents)
{
    struct cli_view *v = arg;
    struct cli_term *t = v->term;

    if (revents & POLLOUT)
        t->lost = !cli_term_flush(t);
    if (revents & (POLLIN | POLLERR | POLLHUP))
        read_keys(v);
    on_key(v, cli_keys_due(&v->keys, cli_now()));
}

static void turn_screen(struct cli_view *v)
{
    struct cli_watch *w = v->watch;
    struct cli_term *t = v->term;
    short events = t->unsent.len ? POLLIN | POLLOUT : POLLIN;
    bool more = mp_batch_begin(&w->batch);

    cli_loop_turn(&w->loop, t->lost ? -1 : t->fd, events, more ? cli_now() : next_due(v));
    uint64_t since = cli_now() - v->drawn;
    if (!t->lost && !t->unsent.len &&
        (since >= TICK_MS || (v->dirty && since >= REDRAW_MS)))
        t->lost = !cli_view_draw(v);
    if (t->lost && !w->loop.ending)
        cli_loop_stop(&w->loop, SIGHUP); /* as a terminal says it, where it can */
}

static int run_screen(struct cli_watch *w, struct cli_term *t)
{
    struct cli_view view;

    cli_view_init(&view, w, t);
    w->news = draw_news;
    w->arg = &view;
    w->loop.arg = &view;
    w->loop.signal_fd = t->signal_fd;
    w->loop.stop = on_screen_stop;
    w->loop.other = on_screen_signal;
    w->loop.woken = on_screen_woken;
    w->loop.restore = on_restore;
    cli_term_enter(t);
    while (!w->loop.ending || w->held)
        turn_screen(&view);
    cli_term_leave(t);
    w->news = hold_news;
    cli_view_clear(&view);
    return w->loop.exit_code;
}

/* ---- the command ---- */

static int watch(struct cli_watch *w)
{
    const struct cli_args *args = &w->cli->args;
    struct cli_term term;
    int code;

    bool screen = !args->until_ready && !args->plain && !args->json;
    if (!screen || !cli_term_init(&term))
        return run_lines(w);
    code = run_screen(w, &term);
    cli_term_clear(&term);
    return code;
}

static int tell_none(const struct cli *cli)
{
    struct mcplug_config_info config = cli_config_info(cli->config);
    bool damaged = config.damaged;

    if (damaged || config.exclusive) {
        cli_tell_no_server(cli);
    } else {
        cli_error("there is no server to watch");
        cli_hint(
            "`mcplug list` shows the servers, `mcplug add NAME -- COMMAND` adds one.");
    }
    return damaged ? CLI_BAD_CONFIG : CLI_NO_SERVER;
}

static int run(struct cli *cli)
{
    struct cli_watch w;
    int code = CLI_USAGE;

    if (cli->args.timeout && !cli->args.until_ready) {
        cli_error("--timeout needs --until-ready");
        return code;
    }
    code = cli_watch_init(&w, cli);
    w.news = hold_news;
    if (code == CLI_OK)
        code = w.n ? watch(&w) : tell_none(cli);
    cli_watch_clear(&w);
    return code;
}

static const struct cli_option options[] = {
    {"plain", 0, CLI_FLAG, NULL, "print one line per event, even on a terminal",
     .at = offsetof(struct cli_args, plain)},
    {"until-ready", 0, CLI_FLAG, NULL,
     "wait until each server is ready or has failed, print their states, and exit",
     .at = offsetof(struct cli_args, until_ready)},
    {"timeout", 0, CLI_DURATION, "TIME", "how long to wait until all are ready",
     offsetof(struct cli_args, timeout), .complete.is = CLI_WORD_FREE},
    {"connect-timeout", 0, CLI_DURATION, "TIME", "give up an attempt after TIME",
     offsetof(struct cli_args, connect_timeout), .complete.is = CLI_WORD_FREE},
    {"env", 0, CLI_LIST, "NAME=VALUE",
     "set an environment variable of the servers; may be repeated",
     offsetof(struct cli_args, env), .complete.is = CLI_WORD_FREE},
    {.name = NULL},
};

const struct cli_command cli_cmd_watch = {
    .name = "watch",
    .words = "[SERVER...]",
    .summary = "Keep servers running, and show their state live.",
    .details =
        "Starts every server that may be used, a few at a time, and restarts it 0, 1, 2, "
        "5, 10, 30, 60, 60 .. seconds after a failure. On a terminal, the servers are "
        "shown on a full screen. Keys: up and down select a server, r restarts it with "
        "its current configuration, R restarts all that are down, l or Enter shows its "
        "log, ? shows help, q or Ctrl+C closes all servers and exits.\n\n"
        "Without a terminal, and with --plain, each event is a line: time, name, state, "
        "detail. With --json, it is an object with the members time, server, state, "
        "revision, tools, restarts, next_ms, error and stderr. Ctrl+C or SIGTERM closes "
        "all servers and exits when they have ended; a second Ctrl+C exits at once.\n\n"
        "With --until-ready, the exit code is 0 if all servers are ready, or were and "
        "are resting now, 1 if one is not, 2 if a configuration file cannot be used, and "
        "5 if the time-out expired. A server that was never ready has failed after three "
        "attempts, or after one if its program cannot be started. "
        "MCP_SERVER_CONNECTION_BATCH_SIZE sets how many servers are first started at a "
        "time (default 3).",
    .options = options,
    .flags = CLI_CONFIG | CLI_LINES,
    .max_words = CLI_MANY,
    .complete = {{.is = CLI_WORD_SERVER}},
    .run = run,
};
