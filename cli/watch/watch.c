#include "cli/watch/watch.h"

#include "base/stderr_hint.h"
#include "base/error.h"
#include "base/mem.h"
#include "json/walk.h"
#include "cli/base/message.h"

#include <stdio.h>

#define LOGGED_MAX ((size_t)1 << 16)
#define WORDS_MAX ((size_t)1024)
#define ATTEMPTS 3 /* after which one that never was ready counts as not ready */
/* What a server may take to go is bounded by its own settings; if that does not come to
 * an end either, what guards the processes ends them. */
#define LEAVE_MS 30000

/* ---- what the library tells ---- */

/* The first start is over, so the next server may begin. */
static void settle(struct cli_watched *s)
{
    mp_batch_done(&s->watch->batch, (size_t)(s - s->watch->all));
}

/* What happened, for those who look at the log. */
static void keep_state(struct cli_watched *s, enum mcplug_state state,
                       const struct mcplug_error *why)
{
    struct mp_str line;
    size_t tools = cli_watched_tools(s);

    mp_str_init(&line, CLI_KEPT_LINE);
    mp_str_adds(&line, mcplug_state_name(state));
    if (state == MCPLUG_STATE_READY)
        mp_str_addf(&line, ": %zu tool%s, revision %s (%s)", tools, tools == 1 ? "" : "s",
                    s->status.revision, cli_era_of(s->status.revision));
    else if (state == MCPLUG_STATE_WAITING)
        mp_str_addf(&line, " %llus", cli_watched_seconds(s));
    if (why && state != MCPLUG_STATE_STOPPING)
        mp_str_addf(&line, ": %.*s", (int)cli_error_len(why->text), why->text);
    cli_kept_add(&s->kept, false, line.data ? line.data : "", line.len);
    mp_str_clear(&line);
}

/* What it said belongs to the failure that came then. */
static void hear_words(struct cli_watched *s, const char *text, size_t len)
{
    struct mp_str line;

    while (len && (text[len - 1] == ' ' || text[len - 1] == '\r'))
        len--;
    if (!mp_stderr_hint_more(text, len, s->heard))
        return;
    mp_str_init(&line, 4 * WORDS_MAX);
    cli_kept_text(&line, text, len < WORDS_MAX ? len : WORDS_MAX);
    mp_free(s->heard);
    s->heard = mp_str_take(&line);
}

static void settle_words(struct cli_watched *s, enum mcplug_state state)
{
    if (state == MCPLUG_STATE_STARTING || state == MCPLUG_STATE_READY) {
        mp_free(mp_move(&s->heard)); /* said while all was well: explains nothing */
    } else if (state == MCPLUG_STATE_WAITING || state == MCPLUG_STATE_PARKED) {
        mp_free(s->words);
        s->words = mp_move(&s->heard);
    }
}

static void on_state(void *arg, mcplug_server *handle, enum mcplug_state state,
                     const struct mcplug_error *why)
{
    struct cli_watched *s = arg;
    (void)handle;

    cli_watched_look(s);
    if (state == MCPLUG_STATE_READY && s->told == state &&
        s->told_starts == s->status.starts)
        return; /* on_ready() was first */
    s->told = state;
    s->told_starts = s->status.starts;
    settle_words(s, state);
    if (state == MCPLUG_STATE_READY)
        s->was_ready = true;
    else if (state == MCPLUG_STATE_WAITING && !s->was_ready &&
             s->status.starts >= ATTEMPTS)
        s->answered = true;
    if (state == MCPLUG_STATE_READY || state == MCPLUG_STATE_WAITING ||
        state == MCPLUG_STATE_PARKED || state == MCPLUG_STATE_ENDED)
        settle(s);
    keep_state(s, state, why);
    s->watch->news(s->watch, s, true);
}

/* One that shares its connection with another may be ready without ever having been in
 * another state. */
static void on_ready(void *arg, mcplug_server *handle, const struct mcplug_error *why)
{
    struct cli_watched *s = arg;

    if (handle != s->handle)
        return; /* it was let go of */
    s->answered = true;
    settle(s);
    if (s->leaving)
        return;
    if (!why)
        on_state(s, handle, MCPLUG_STATE_READY, NULL);
    else
        s->watch->news(s->watch, s, false);
}

static void on_changed(void *arg, mcplug_server *handle, int kind, const char *uri)
{
    struct cli_watched *s = arg;
    (void)handle, (void)kind, (void)uri;
    s->watch->news(s->watch, s, false);
}

/* notifications/message: `warning logger: text` */
static void on_logged(void *arg, mcplug_server *handle, const char *params, size_t len)
{
    struct cli_watched *s = arg;
    mp_view v = mp_bytes(params, len);
    struct mp_str line;
    (void)handle;

    mp_str_init(&line, LOGGED_MAX);
    cli_logged_text(v, &line);
    if (line.data) {
        cli_journal_line(s->member->journal, MCPLUG_LOG_VERBOSE, CLI_JOURNAL_EVENT,
                         line.data, line.len);
        cli_kept_add(&s->kept, false, line.data, line.len);
    }
    mp_str_clear(&line);
    s->watch->news(s->watch, s, false);
}

/* Is it about this one? Those who share a connection share its events; before it is
 * acquired only its name is known. */
static bool concerns(const struct mcplug_activity *event, const struct cli_watched *s)
{
    if (!s->begun || !event->server)
        return false;
    return s->handle ? mcplug_activity_concerns(event, s->handle)
                     : strcmp(event->server, mcplug_entry_name(s->member->entry)) == 0;
}

static void hear(struct cli_watched *s, const struct mcplug_activity *event)
{
    cli_journal_take(s->member->journal, event);
    if (event->kind != MCPLUG_ACTIVITY_REMARK)
        return;
    cli_kept_add(&s->kept, true, event->text, event->len);
    if (!s->leaving)
        hear_words(s, event->text, event->len);
    s->watch->news(s->watch, s, false);
}

static void on_event(void *arg, const struct mcplug_activity *event)
{
    struct cli_watch *w = arg;

    for (size_t i = 0; i < w->n; i++)
        if (concerns(event, &w->all[i]))
            hear(&w->all[i], event);
}

/* What goes wrong with a server is told as its state. */
static void on_log(void *arg, int level, const char *source, const char *text)
{
    const struct cli_watch *w = arg;
    bool of_server = strncmp(source, "mcp:", 4) == 0;

    if (of_server && !w->cli->args.verbose)
        cli_log_file(level, source, text);
    else
        cli_log_line(level, source, text);
}

/* ---- the beginning ---- */

static void open_journal(struct cli_watched *s)
{
    if (!s->member->journal)
        s->member->journal =
            cli_journal_open(&s->watch->cli->paths, mcplug_entry_name(s->member->entry));
}

void cli_watched_give_up(struct cli_watched *s, const char *why)
{
    struct cli_member *m = s->member;

    m->state = CLI_STATE_FAILED;
    mp_free(m->reason);
    m->reason = mp_strdup(why);
    s->usable = false;
    open_journal(s);
    cli_journal_event(m->journal, MCPLUG_LOG_ERROR, why);
    cli_kept_add(&s->kept, false, why, strlen(why));
}

static void give_up(struct cli_watched *s, const struct mcplug_error *why)
{
    cli_watched_give_up(s, why->text[0] ? why->text : mcplug_error_name(why->code));
}

/* What people should know of its entry before it is started. */
void cli_watched_prepare(struct cli_watched *s)
{
    static const char head[] = "Set the following environment variables: ";
    const char *missing = s->member->missing;

    if (missing) {
        cli_kept_add(&s->kept, false, head, sizeof head - 1);
        cli_kept_add(&s->kept, false, missing, strlen(missing));
    }
}

static bool waits(void *arg, size_t i)
{
    const struct cli_watch *w = arg;
    return w->all[i].usable && !w->all[i].begun;
}

static bool begin(void *arg, size_t i)
{
    struct cli_watch *w = arg;
    w->all[i].begun = true;
    return cli_watched_start(&w->all[i]);
}

int cli_watch_init(struct cli_watch *w, struct cli *cli)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;

    memset(w, 0, sizeof *w);
    w->cli = cli;
    w->loop = (struct cli_loop){.signal_fd = -1, .leave_ms = LEAVE_MS};
    int code = cli_connect_all_init(&w->roster, cli);
    if (code != CLI_OK)
        return code;
    w->all = mp_alloc((w->roster.n + 1) * sizeof *w->all);
    w->host = w->all ? cli_host_new(cli, on_log, w, &err) : NULL;
    if (!w->host || !mcplug_listen(w->host, MCPLUG_ACTIVITY_ALL & ~MCPLUG_ACTIVITY_FRAME,
                                   MCPLUG_LOG_VERBOSE, on_event, w)) {
        cli_error("%s", w->all && !w->host ? err.text : "out of memory");
        return CLI_INTERNAL;
    }
    w->loop.host = w->host;
    w->n = w->roster.n;
    w->batch = (struct mp_batch){.n = w->n,
                                 .size = w->roster.batch.size,
                                 .arg = w,
                                 .waits = waits,
                                 .begin = begin};
    for (size_t i = 0; i < w->n; i++) {
        struct cli_watched *s = &w->all[i];
        s->watch = w;
        s->member = &w->roster.members[i];
        s->usable = s->member->stage == CLI_STAGE_WAITS;
        cli_watched_look(s);
    }
    for (size_t i = 0; i < w->n; i++)
        if (w->all[i].usable)
            cli_watched_prepare(&w->all[i]);
        else if (w->all[i].member->reason)
            cli_kept_add(&w->all[i].kept, false, w->all[i].member->reason,
                         strlen(w->all[i].member->reason));
    return CLI_OK;
}

void cli_watch_clear(struct cli_watch *w)
{
    mcplug_free(w->host);
    cli_connect_all_clear(&w->roster);
    for (size_t i = 0; i < w->n; i++) {
        struct cli_watched *s = &w->all[i];
        cli_kept_clear(&s->kept);
        cli_reading_drop(s->reading);
        mp_free(s->heard);
        mp_free(s->words);
    }
    mp_free(w->all);
    memset(w, 0, sizeof *w);
}

static int acquire(struct cli_watched *s, struct mcplug_error *err)
{
    struct cli_watch *w = s->watch;
    struct mcplug_server_options o = {
        .struct_size = sizeof o,
        .timeout_ms = cli_ms(w->cli->args.connect_timeout),
        .arg = s,
        .state = on_state,
        .changed = on_changed,
        .logged = on_logged,
    };
    return cli_by_name_open(w->cli, w->host, s->member->entry, &o, on_ready, s,
                            &s->handle, err);
}

/* Do both have one connection? */
static bool share(const struct cli_watched *a, const struct cli_watched *b)
{
    struct mcplug_status x = {.struct_size = sizeof x}, y = x;

    mcplug_server_status(a->handle, &x);
    mcplug_server_status(b->handle, &y);
    return x.source == y.source;
}

/* What the others have heard before it failed. */
static void hear_of_others(struct cli_watched *s)
{
    const struct cli_watch *w = s->watch;
    for (size_t i = 0; i < w->n && !s->heard; i++)
        if (w->all[i].handle && share(&w->all[i], s))
            s->heard = mp_strdup(w->all[i].words);
}

/* What the others have seen of the connection that it shares is no news to the library,
 * but it is for those who look at this one. */
static void tell_joined(struct cli_watched *s)
{
    struct mcplug_status *status = &s->status;
    struct mp_str line;

    mp_str_init(&line, CLI_KEPT_LINE);
    mp_str_addf(&line, "shares the connection of %.64s, which is %s",
                status->source + strlen("mcp:"), mcplug_state_name(status->state));
    if (status->state == MCPLUG_STATE_READY)
        mp_str_addf(&line, ": %u tool%s, revision %s", status->tools,
                    status->tools == 1 ? "" : "s", status->revision);
    if (line.data) {
        cli_journal_event(s->member->journal, MCPLUG_LOG_VERBOSE, line.data);
        cli_kept_add(&s->kept, false, line.data, line.len);
    }
    mp_str_clear(&line);
    enum mcplug_state state = status->state;
    status->state = MCPLUG_STATE_STARTING;
    s->watch->news(s->watch, s, true);
    if (state == MCPLUG_STATE_WAITING || state == MCPLUG_STATE_PARKED) {
        struct mcplug_error why = s->error;
        hear_of_others(s);
        on_state(s, s->handle, state, &why);
    }
}

bool cli_watched_start(struct cli_watched *s)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;

    s->told = MCPLUG_STATE_RESTING;
    s->told_starts = 0;
    s->was_ready = s->answered = false;
    mp_free(mp_move(&s->heard));
    mp_free(mp_move(&s->words));
    open_journal(s);
    if (acquire(s, &err) != MCPLUG_OK) {
        give_up(s, &err);
        s->watch->news(s->watch, s, true);
        return false;
    }
    s->watch->held++;
    cli_watched_look(s);
    s->watch->news(s->watch, s, false);
    if (cli_watched_others(s))
        tell_joined(s);
    return true;
}

/* ---- the end ---- */

static void on_let_go(void *arg)
{
    struct cli_watched *s = arg;
    void (*gone)(struct cli_watched *) = mp_move(&s->when_gone);
    s->watch->held--;
    if (gone)
        gone(s);
}

/* Nobody is to come back to it: it does not linger. */
void cli_watched_let_go(struct cli_watched *s, void (*gone)(struct cli_watched *s))
{
    mcplug_server *handle = mp_move(&s->handle);
    if (!handle)
        return;
    settle(s);
    s->when_gone = gone;
    mcplug_server_end(handle, on_let_go, s);
}

static void on_released(void *arg)
{
    struct cli_watched *s = arg;
    s->handle = NULL;
    s->gone = true;
    s->watch->held--;
    if (s->was_up)
        cli_journal_event(s->member->journal, MCPLUG_LOG_VERBOSE, "closed");
    s->watch->news(s->watch, s, true);
}

void cli_watch_leave(struct cli_watch *w, int exit_code)
{
    if (w->loop.ending)
        return;
    cli_loop_end(&w->loop, exit_code);
    w->batch.stopped = true;
    for (size_t i = 0; i < w->n; i++) {
        struct cli_watched *s = &w->all[i];
        if (!s->handle)
            continue;
        cli_watched_look(s);
        s->was_up = s->status.state == MCPLUG_STATE_READY;
        s->leaving = true;
        s->status.state = MCPLUG_STATE_STOPPING;
        s->status.name = s->status.transport = s->status.revision =
            ""; /* were borrowed */
        mcplug_close(s->handle, on_released, s);
        w->news(w, s, true);
    }
}
