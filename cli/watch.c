#include "watch.h"

#include "base/error.h"
#include "base/mem.h"
#include "config/upkeep.h"
#include "json/walk.h"
#include "signals.h"
#include "tell.h"

#include <stdio.h>

#define STDERR_HEAD "stderr: " /* of log lines of the core */
#define LOGGED_MAX ((size_t)1 << 16)

/* ---- how they are ---- */

void cli_watched_look(struct cli_watched *s)
{
    if (s->leaving)
        return; /* as it was when it was told to go */
    memset(&s->status, 0, sizeof s->status);
    s->status.struct_size = sizeof s->status;
    s->status.revision = "";
    if (s->handle)
        mcplug_handle_status(s->handle, &s->status);
}

const char *cli_watched_state(const struct cli_watched *s)
{
    if (!s->usable)
        return cli_member_state(s->member);
    if (s->gone)
        return mcplug_state_name(MCPLUG_STATE_ENDED);
    if (s->leaving)
        return mcplug_state_name(MCPLUG_STATE_STOPPING);
    return s->handle ? mcplug_state_name(s->status.state) : "pending";
}

const char *cli_watched_error(const struct cli_watched *s)
{
    const struct mcplug_error *e = &s->status.error;

    if (!s->usable)
        return s->member->reason ? s->member->reason : "";
    if (!e->code)
        return "";
    return e->text[0] ? e->text : mcplug_error_name(e->code);
}

bool cli_watched_down(const struct cli_watched *s)
{
    return s->handle && !s->leaving &&
           (s->status.state == MCPLUG_STATE_WAITING ||
            s->status.state == MCPLUG_STATE_PARKED ||
            s->status.state == MCPLUG_STATE_RESTING);
}

int cli_watched_restart(struct cli_watched *s, struct mcplug_error *err)
{
    if (!s->usable)
        return mp_fail(err, MCPLUG_ECONFIG, "it is not started: %s",
                       s->member->reason ? s->member->reason
                                         : cli_member_state(s->member));
    if (!s->handle || s->leaving)
        return mp_fail(err, MCPLUG_ERESTARTING, "its turn has not come yet");
    return mcplug_restart(s->handle, err);
}

size_t cli_watch_usable(const struct cli_watch *w)
{
    size_t n = 0;
    for (size_t i = 0; i < w->n; i++)
        n += w->all[i].usable;
    return n;
}

/* ---- what the library tells ---- */

/* The first start is over, so the next server may begin. */
static void settle(struct cli_watched *s)
{
    if (s->settled)
        return;
    s->settled = true;
    s->watch->starting--;
}

/* What happened, for those who look at the log. */
static void keep_state(struct cli_watched *s, enum mcplug_state state,
                       const struct mcplug_error *why)
{
    struct mp_str line;

    mp_str_init(&line, CLI_KEPT_LINE);
    mp_str_adds(&line, mcplug_state_name(state));
    if (state == MCPLUG_STATE_READY)
        mp_str_addf(&line, ": %u tool%s, revision %s (%s)", s->status.tools,
                    s->status.tools == 1 ? "" : "s", s->status.revision,
                    cli_era_of(s->status.revision));
    else if (state == MCPLUG_STATE_WAITING)
        mp_str_addf(&line, " %llus",
                    (unsigned long long)(s->status.next_ms + 999) / 1000);
    if (why && state != MCPLUG_STATE_STOPPING)
        mp_str_addf(&line, ": %s", why->text);
    cli_kept_add(&s->kept, false, line.data ? line.data : "", line.len);
    mp_str_clear(&line);
}

static void on_state(void *arg, mcplug_handle *handle, enum mcplug_state state,
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
    if (state == MCPLUG_STATE_READY || state == MCPLUG_STATE_WAITING ||
        state == MCPLUG_STATE_PARKED || state == MCPLUG_STATE_ENDED)
        settle(s);
    keep_state(s, state, why);
    s->watch->news(s->watch, s, true);
}

/* One that shares its connection with another may be ready without ever having been in
 * another state. */
static void on_ready(void *arg, mcplug_handle *handle, const struct mcplug_error *why)
{
    struct cli_watched *s = arg;

    s->answered = true;
    settle(s);
    if (s->leaving)
        return;
    if (!why)
        on_state(s, handle, MCPLUG_STATE_READY, NULL);
    else
        s->watch->news(s->watch, s, false);
}

static void on_changed(void *arg, mcplug_handle *handle, int kind, const char *uri)
{
    struct cli_watched *s = arg;
    (void)handle, (void)kind, (void)uri;
    s->watch->news(s->watch, s, false);
}

static void on_remark(void *arg, mcplug_handle *handle, const char *line, size_t len)
{
    struct cli_watched *s = arg;
    (void)handle;
    cli_journal_line(s->member->journal, MCPLUG_LOG_VERBOSE, CLI_JOURNAL_STDERR, line,
                     len);
    cli_kept_add(&s->kept, true, line, len);
    s->watch->news(s->watch, s, false);
}

/* notifications/message: `warning logger: text` */
static void on_logged(void *arg, mcplug_handle *handle, const char *params, size_t len)
{
    struct cli_watched *s = arg;
    mp_view v = mp_bytes(params, len);
    mp_view logger = mp_view_get(v, "logger"), data = mp_view_get(v, "data");
    struct mp_str line;
    (void)handle;

    mp_str_init(&line, LOGGED_MAX);
    mp_str_add_view(&line, mp_view_get(v, "level"));
    if (mp_view_is_string(logger)) {
        mp_str_addc(&line, ' ');
        mp_str_add_view(&line, logger);
    }
    mp_str_adds(&line, ": ");
    if (mp_view_is_string(data))
        mp_str_add_view(&line, data);
    else
        mp_str_add(&line, data.data, data.len);
    if (line.data) {
        cli_journal_line(s->member->journal, MCPLUG_LOG_VERBOSE, CLI_JOURNAL_EVENT,
                         line.data, line.len);
        cli_kept_add(&s->kept, false, line.data, line.len);
    }
    mp_str_clear(&line);
    s->watch->news(s->watch, s, false);
}

/* NULL: it is of none of them. */
static struct cli_watched *of_source(const struct cli_watch *w, const char *source)
{
    for (size_t i = 0; i < w->n; i++)
        if (w->all[i].begun && cli_journal_source(source, w->all[i].member->entry->name))
            return &w->all[i];
    return NULL;
}

/* The last words of a server whose connection is gone come here and nowhere else. */
static void hear(struct cli_watched *s, int level, const char *text)
{
    size_t head = strlen(STDERR_HEAD);
    bool closing = s->leaving;

    if (s->handle && !s->leaving) {
        cli_watched_look(s);
        closing = s->status.state == MCPLUG_STATE_STOPPING;
    }
    cli_journal_log(s->member->journal, level, text, closing);
    if (closing && strncmp(text, STDERR_HEAD, head) == 0)
        cli_kept_add(&s->kept, true, text + head, strlen(text + head));
}

/* What goes wrong with a server is told as its state. */
static void on_log(void *arg, int level, const char *source, const char *text)
{
    struct cli_watch *w = arg;
    bool of_server = strncmp(source, "mcp:", 4) == 0;
    struct cli_watched *s = of_server ? of_source(w, source) : NULL;

    if (s)
        hear(s, level, text);
    if (of_server && !w->cli->args.verbose)
        cli_log_file(level, source, text);
    else
        cli_log_line(level, source, text);
}

/* ---- the beginning ---- */

static void give_up(struct cli_watched *s, const struct mcplug_error *why)
{
    struct cli_member *m = s->member;

    m->state = CLI_STATE_FAILED;
    m->reason = mp_strdup(why->text[0] ? why->text : mcplug_error_name(why->code));
    s->usable = false;
    if (!m->journal)
        m->journal = cli_journal_open(&s->watch->cli->config->places, m->entry->name);
    cli_journal_event(m->journal, MCPLUG_LOG_ERROR, m->reason ? m->reason : why->text);
}

/* A secret may take its time to come: all are looked up before the first one starts. */
static void resolve(struct cli_watched *s)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    struct cli_member *m = s->member;

    if (cli_named_settings(s->watch->cli, s->watch->host, m->entry, &m->resolved,
                           &m->settings, &err) != MCPLUG_OK) {
        give_up(s, &err);
    } else if (m->resolved.missing) {
        static const char head[] = "Set the following environment variables: ";
        cli_kept_add(&s->kept, false, head, sizeof head - 1);
        cli_kept_add(&s->kept, false, m->resolved.missing, strlen(m->resolved.missing));
    }
}

int cli_watch_init(struct cli_watch *w, struct cli *cli)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;

    memset(w, 0, sizeof *w);
    w->cli = cli;
    int code = cli_roster_init(&w->roster, cli);
    if (code != CLI_OK)
        return code;
    w->all = mp_alloc((w->roster.n + 1) * sizeof *w->all);
    w->host = w->all ? cli_host_new(cli, on_log, w, &err) : NULL;
    if (!w->host) {
        cli_error("%s", w->all ? err.text : "out of memory");
        return CLI_FAILED;
    }
    w->n = w->roster.n;
    for (size_t i = 0; i < w->n; i++) {
        struct cli_watched *s = &w->all[i];
        s->watch = w;
        s->member = &w->roster.members[i];
        s->usable = s->member->stage == CLI_STAGE_WAITS;
        cli_watched_look(s);
    }
    for (size_t i = 0; i < w->n; i++)
        if (w->all[i].usable)
            resolve(&w->all[i]);
    return CLI_OK;
}

void cli_watch_clear(struct cli_watch *w)
{
    mcplug_free(w->host);
    for (size_t i = 0; i < w->n; i++)
        cli_kept_clear(&w->all[i].kept);
    mp_free(w->all);
    cli_roster_clear(&w->roster);
    memset(w, 0, sizeof *w);
}

static uint32_t clamp(uint64_t ms)
{
    return ms > UINT32_MAX ? UINT32_MAX : (uint32_t)ms;
}

static int acquire(struct cli_watched *s, struct mcplug_error *err)
{
    struct cli_watch *w = s->watch;
    struct cli_member *m = s->member;
    struct mp_upkeep upkeep = {0};
    struct mcplug_server_options server = {
        .struct_size = sizeof server,
        .name = m->entry->name,
        .timeout_ms = clamp(w->cli->args.connect_timeout),
    };

    mp_resolved_times(&m->resolved, &server.timeout_ms, &server.request_ms,
                      &server.tool_ms);
    int r = mp_entry_upkeep(m->entry, &upkeep, err);
    struct mcplug_acquire_options o = {
        .struct_size = sizeof o,
        .dedicated = !upkeep.shared,
        .server = &server,
        .probe = upkeep.probe,
        .probe_url = upkeep.probe_url,
        .idle_ms = upkeep.idle_ms,
        .tools_allowed = (const char *const *)upkeep.tools_allowed,
        .tools_denied = (const char *const *)upkeep.tools_denied,
        .arg = s,
        .state = on_state,
        .changed = on_changed,
        .logged = on_logged,
        .remark = on_remark,
    };
    if (r == MCPLUG_OK)
        r = mcplug_acquire(w->host, m->settings, &o, on_ready, s, &s->handle, err);
    mp_upkeep_clear(&upkeep);
    return r;
}

bool cli_watch_may_begin(struct cli_watch *w)
{
    while (w->next < w->n && (!w->all[w->next].usable || w->all[w->next].begun))
        w->next++;
    return !w->leaving && w->next < w->n && w->starting < w->roster.batch;
}

void cli_watch_begin(struct cli_watch *w)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;

    if (!cli_watch_may_begin(w))
        return;
    struct cli_watched *s = &w->all[w->next++];
    s->begun = true;
    s->member->journal =
        cli_journal_open(&w->cli->config->places, s->member->entry->name);
    if (acquire(s, &err) == MCPLUG_OK) {
        w->starting++;
        w->held++;
        w->news(w, s, false);
    } else {
        give_up(s, &err);
        w->news(w, s, true);
    }
}

/* ---- the end ---- */

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
    if (w->leaving)
        return;
    w->leaving = true;
    w->exit_code = exit_code;
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
        mcplug_release(s->handle, on_released, s);
    }
}

bool cli_watch_signal(struct cli_watch *w, int number)
{
    if (w->leaving)
        return true;
    w->signal = number;
    w->patience = cli_now() + CLI_LEAVE_MS;
    cli_watch_leave(w, CLI_SIGNAL + number);
    return false;
}

bool cli_watch_impatient(const struct cli_watch *w)
{
    return w->patience && cli_now() >= w->patience;
}

int cli_watch_wait_ms(struct cli_watch *w, uint64_t due)
{
    int ms = mcplug_timeout(w->host);
    uint64_t now = cli_now();

    if (cli_watch_may_begin(w) || (w->leaving && !w->held))
        return 0;
    if (w->patience && (!due || w->patience < due))
        due = w->patience;
    if (due) {
        uint64_t left = due > now ? due - now : 0;
        if (ms < 0 || left < (uint64_t)ms)
            ms = (int)left;
    }
    return ms;
}
