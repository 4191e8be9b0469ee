#include "cli/base/connect_all.h"

#include "base/buf.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/tally.h"
#include "base/text.h"
#include "cli/base/catalogue.h"
#include "cli/base/entries.h"
#include "cli/base/signals.h"
#include "cli/base/message.h"

#include <stdio.h>
#include <string.h>

#define BATCH_SIZE "MCP_SERVER_CONNECTION_BATCH_SIZE"
#define IDENTITY_MAX 256 /* bytes of a name or version that are kept */

const char *cli_member_state(const struct cli_member *m)
{
    static const char *const names[] = {"pending",  "connected",      "failed",
                                        "disabled", "needs-approval", "needs-auth"};
    return names[m->state];
}

/* ---- who is on it ---- */

/* One that was switched off is not expected to work, whatever else is wrong with it. */
static void judge(struct cli_member *m)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    struct mcplug_entry_info e = cli_entry_info(m->entry);
    enum mcplug_entry_state state = mcplug_entry_state(m->entry, &err);

    if (e.disabled) {
        state = MCPLUG_ENTRY_DISABLED;
        mp_fail(&err, MCPLUG_ECONFIG, "server \"%.64s\" is disabled in %s", e.name,
                e.file);
    }
    if (state == MCPLUG_ENTRY_READY)
        return;
    m->state = state == MCPLUG_ENTRY_DISABLED         ? CLI_STATE_DISABLED
               : state == MCPLUG_ENTRY_NEEDS_APPROVAL ? CLI_STATE_NEEDS_APPROVAL
                                                      : CLI_STATE_FAILED;
    m->reason = mp_strdup(err.text);
    m->stage = CLI_STAGE_SETTLED;
}

static bool is_named(const struct cli_list *words, const char *name)
{
    for (size_t i = 0; i < words->n; i++)
        if (strcmp(words->items[i], name) == 0)
            return true;
    return words->n == 0;
}

/* What the environment has, or what is used instead, after having told why. */
static size_t batch_size(void)
{
    int wrong;
    unsigned n = mcplug_batch_size(&wrong);
    char line[160];

    snprintf(line, sizeof line, BATCH_SIZE " must be a number from 1 to %d; using %u",
             MCPLUG_BATCH_MAX, n);
    if (wrong)
        cli_log_line(MCPLUG_LOG_WARN, "config", line);
    return n;
}

int cli_connect_all_init(struct cli_connect_all *r, struct cli *cli)
{
    const struct cli_list *words = &cli->args.words;
    mcplug_config *config = cli_config(cli);
    mcplug_entry *entry;

    memset(r, 0, sizeof *r);
    r->cli = cli;
    if (!config)
        return CLI_BAD_CONFIG;
    for (size_t i = 0; i < words->n; i++)
        if (!cli_by_name_find(cli, words->items[i]))
            return cli_by_name_none(cli);
    r->batch.size = batch_size();
    r->members = mp_alloc((mcplug_config_count(config) + 1) * sizeof *r->members);
    if (!r->members) {
        cli_error("out of memory");
        return CLI_INTERNAL;
    }
    for (size_t i = 0; (entry = mcplug_entry_at(config, i)); i++) {
        struct mcplug_entry_info e = cli_entry_info(entry);
        if (e.shadowed_by || !is_named(words, e.name))
            continue;
        struct cli_member *m = &r->members[r->n++];
        m->roster = r;
        m->entry = entry;
        m->type = e.type[0] ? mp_strdup(e.type) : NULL;
        m->tools = -1;
        judge(m);
        if (m->stage == CLI_STAGE_WAITS)
            m->missing = mcplug_entry_missing(m->entry);
        r->n_wanted += m->stage == CLI_STAGE_WAITS;
    }
    return CLI_OK;
}

void cli_connect_all_clear(struct cli_connect_all *r)
{
    for (size_t i = 0; i < r->n; i++) {
        struct cli_member *m = &r->members[i];
        mp_free(m->type);
        mp_free(m->reason);
        mcplug_text_free(m->missing);
        mp_free(m->name);
        mp_free(m->version);
        cli_remarks_clear(&m->remarks);
        cli_journal_close(m->journal);
    }
    mp_free(r->members);
    memset(r, 0, sizeof *r);
}

const char *cli_member_remark(const struct cli_member *m)
{
    return m->remarks.best;
}

/* ---- what the library tells ---- */

/* What is known of one is noted here and told by the loop, which closes it then too. */
static void settle(struct cli_member *m, enum cli_state state, const char *reason)
{
    if (m->stage >= CLI_STAGE_SETTLED)
        return;
    m->state = state;
    m->reason = reason ? mp_strdup(reason) : NULL;
    m->stage = CLI_STAGE_SETTLED;
    m->roster->n_settled++;
}

static void fail(struct cli_member *m, const struct mcplug_error *why)
{
    const char *text = why->text[0] ? why->text : mcplug_error_name(why->code);
    char line[sizeof why->text + 64];

    if (why->code == MCPLUG_EPEER)
        snprintf(line, sizeof line, "the server answered with error %d: %s",
                 why->peer_status, text);
    else
        snprintf(line, sizeof line, "%s", text);
    settle(m, why->code == MCPLUG_EAUTH ? CLI_STATE_NEEDS_AUTH : CLI_STATE_FAILED, line);
}

/* give; no more of it than people can read. */
static char *short_text(mp_view string)
{
    char *text = mp_view_strdup(string);
    if (text && strlen(text) > IDENTITY_MAX) {
        size_t n = IDENTITY_MAX;
        while (n && ((unsigned char)text[n] & 0xc0) == 0x80) /* no half characters */
            n--;
        text[n] = '\0';
    }
    return text;
}

static void on_ready(void *arg, mcplug_server *server, const struct mcplug_error *why)
{
    struct cli_member *m = arg;

    if (m->stage != CLI_STAGE_OPENS)
        return;
    m->ms = cli_now() - m->began;
    if (why) {
        fail(m, why);
        return;
    }
    mp_view info = mp_text(mcplug_server_info(server));
    m->name = short_text(mp_view_get(info, "name"));
    m->version = short_text(mp_view_get(info, "version"));
    snprintf(m->revision, sizeof m->revision, "%s", mcplug_server_revision(server));
    /* one that the server refuses, or makes nonsense of, leaves it connected */
    mcplug_list *tools = mcplug_server_list(server, MCPLUG_TOOLS);
    if (tools)
        m->tools = (int64_t)mcplug_list_count(tools);
    settle(m, CLI_STATE_CONNECTED, NULL);
}

static void on_state(void *arg, mcplug_server *server, enum mcplug_state state,
                     const struct mcplug_error *why)
{
    struct cli_member *m = arg;
    (void)server, (void)state;
    if (why && m->stage != CLI_STAGE_OPENS) /* else `ready` tells */
        fail(m, why);
}

static void on_remark(void *arg, mcplug_server *server, const char *line, size_t len)
{
    struct cli_member *m = arg;
    (void)server;
    cli_remarks_add(&m->remarks, line, len);
}

static void on_closed(void *arg)
{
    struct cli_member *m = arg;
    m->server = NULL;
    m->stage = CLI_STAGE_GONE;
    if (m->state == CLI_STATE_CONNECTED)
        cli_journal_event(m->journal, MCPLUG_LOG_VERBOSE, "closed");
    cli_journal_close(mp_move(&m->journal)); /* not all at once are open */
}

/* NULL: it is of none of them. */
static struct cli_member *member_of(const struct cli_connect_all *r, const char *server)
{
    for (size_t i = 0; i < r->batch.n_running; i++) {
        struct cli_member *m = &r->members[r->batch.running[i]];
        if (m->journal && strcmp(mcplug_entry_name(m->entry), server) == 0)
            return m;
    }
    return NULL;
}

static void on_event(void *arg, const struct mcplug_activity *event)
{
    struct cli_member *m = event->server ? member_of(arg, event->server) : NULL;
    if (m)
        cli_journal_take(m->journal, event);
}

/* What is wrong with an entry stands with its server, where people look for it; next to a
 * JSON document it is a warning as anywhere else. */
static void on_problem(void *arg, const char *source, const char *text)
{
    const struct cli_member *m = arg;
    const struct cli_args *args = &m->roster->cli->args;

    (args->json && !args->quiet ? cli_log_line : cli_log_file)(MCPLUG_LOG_WARN, source,
                                                               text);
    if (strcmp(source, "config") != 0)
        cli_journal_event(m->journal, MCPLUG_LOG_WARN, text);
}

/* Why a connection failed is told as the state of its server. */
static void on_log(void *arg, int level, const char *source, const char *text)
{
    const struct cli_connect_all *r = arg;
    bool of_server = strncmp(source, "mcp:", 4) == 0;

    if (of_server && !r->cli->args.verbose &&
        (level == MCPLUG_LOG_ERROR || r->batch.stopped))
        cli_log_file(level, source, text);
    else
        cli_log_line(level, source, text);
}

/* ---- one after the other ---- */

static int member_open(struct cli_member *m, struct mcplug_error *err)
{
    struct cli_connect_all *r = m->roster;
    struct mcplug_server_options options = {
        .struct_size = sizeof options,
        .once = 1,
        .lists = MCPLUG_TOOLS, /* so that the time to connect counts for them too */
        .timeout_ms = cli_ms(r->cli->args.connect_timeout),
        .arg = m,
        .remark = on_remark,
        .state = on_state,
        .problem = on_problem,
    };
    m->journal = cli_journal_open(&r->cli->paths, mcplug_entry_name(m->entry));
    m->stage = CLI_STAGE_OPENS;
    m->began = cli_now();
    return cli_by_name_open(r->cli, r->host, m->entry, &options, on_ready, m, &m->server,
                            err);
}

static void member_give_up(struct cli_member *m, const struct mcplug_error *why)
{
    fail(m, why);
    if (!m->journal)
        m->journal =
            cli_journal_open(&m->roster->cli->paths, mcplug_entry_name(m->entry));
    cli_journal_event(m->journal, MCPLUG_LOG_ERROR, m->reason ? m->reason : why->text);
    cli_journal_close(mp_move(&m->journal));
    m->stage = CLI_STAGE_GONE;
    m->roster->news(m->roster, m);
}

static bool waits(void *arg, size_t i)
{
    const struct cli_connect_all *r = arg;
    return r->members[i].stage == CLI_STAGE_WAITS;
}

static bool begin(void *arg, size_t i)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    struct cli_connect_all *r = arg;
    struct cli_member *m = &r->members[i];

    if (member_open(m, &err) != MCPLUG_OK) {
        member_give_up(m, &err);
        return false;
    }
    r->news(r, m);
    return true;
}

static void member_close(struct cli_member *m)
{
    m->stage = CLI_STAGE_CLOSES;
    mcplug_close(m->server, on_closed, m);
}

/* Tells of those that are settled, and lets go of those that have gone. */
static void sweep(struct cli_connect_all *r)
{
    size_t i = 0;
    while (i < r->batch.n_running) {
        size_t at = r->batch.running[i];
        struct cli_member *m = &r->members[at];
        if (m->stage == CLI_STAGE_SETTLED) {
            member_close(m);
            r->news(r, m);
        }
        if (m->stage == CLI_STAGE_GONE)
            mp_batch_done(&r->batch, at);
        else
            i++;
    }
}

void cli_connect_all_stop(struct cli_connect_all *r)
{
    r->batch.stopped = true;
}

/* ---- turning ---- */

static void on_stop(void *arg, int number)
{
    (void)number;
    cli_connect_all_stop(arg);
}

/* One is begun per turn, so that signals are seen in between: it may take a while. */
static void turn(struct cli_connect_all *r)
{
    bool more = mp_batch_begin(&r->batch);

    cli_loop_turn(&r->loop, -1, 0, more || !r->batch.n_running ? cli_now() : 0);
    sweep(r);
}

/* What is known is told before we wait for the last ones to go. */
static void finish(struct cli_connect_all *r)
{
    cli_loop_end(&r->loop, r->loop.signal ? CLI_SIGNAL + r->loop.signal : CLI_OK);
    for (size_t i = 0; i < r->batch.n_running; i++) {
        struct cli_member *m = &r->members[r->batch.running[i]];
        if (m->stage < CLI_STAGE_CLOSES)
            member_close(m);
    }
    r->done(r);
}

static void loop(struct cli_connect_all *r)
{
    while (!r->loop.ending || r->batch.n_running) {
        bool over = r->batch.stopped || r->n_settled == r->n_wanted;
        if (over && !r->loop.ending)
            finish(r);
        if (r->batch.n_running || !r->loop.ending)
            turn(r);
    }
}

/* ---- the whole ---- */

/* `12 stdio, 5 http, 3 sse`: the most frequent first. */
static void add_types(const struct cli_connect_all *r, struct mp_str *out)
{
    struct mp_tally types = {.rows = NULL};

    for (size_t i = 0; i < r->n; i++)
        if (r->members[i].stage == CLI_STAGE_WAITS)
            mp_tally_add(&types, r->members[i].type ? r->members[i].type : "other", 1);
    mp_tally_sort(&types);
    for (size_t i = 0; i < types.n; i++) {
        const char *name = types.rows[i].name;
        mp_str_addf(out, "%s%zu ", i ? ", " : "", types.rows[i].count);
        mp_str_add_escaped(out, name, strlen(name), false);
    }
    mp_tally_clear(&types);
}

static void log_plan(const struct cli_connect_all *r)
{
    struct mp_str line;
    mp_str_init(&line, 65536);
    mp_str_addf(&line, "Connecting to %zu server%s in batches of %zu: ", r->n_wanted,
                r->n_wanted == 1 ? "" : "s", r->batch.size);
    add_types(r, &line);
    cli_log_line(MCPLUG_LOG_VERBOSE, "mcp", line.data ? line.data : "");
    mp_str_clear(&line);
}

/* Of some all is known without a connection. */
static void tell_settled(struct cli_connect_all *r)
{
    for (size_t i = 0; i < r->n && !r->batch.stopped; i++) {
        struct cli_member *m = &r->members[i];
        if (m->stage != CLI_STAGE_SETTLED)
            continue;
        m->stage = CLI_STAGE_GONE;
        r->news(r, m);
    }
}

int cli_connect_all_run(struct cli_connect_all *r)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    int code = CLI_OK;

    r->batch = (struct mp_batch){
        .n = r->n, .size = r->batch.size, .arg = r, .waits = waits, .begin = begin};
    r->loop = (struct cli_loop){
        .signal_fd = -1, .leave_ms = CLI_LEAVE_MS, .arg = r, .stop = on_stop};
    tell_settled(r);
    if (r->n_wanted == 0) {
        r->done(r);
        return code;
    }
    log_plan(r);
    r->host = cli_host_new(r->cli, on_log, r, &err);
    if (!r->host) {
        cli_error("%s", err.text);
        code = CLI_INTERNAL;
    } else {
        cli_journal_listen(r->host, on_event, r);
        cli_loop_open(&r->loop, r->host);
        loop(r);
        code = r->loop.exit_code;
    }
    mcplug_free(r->host);
    cli_loop_close(&r->loop);
    return code;
}
