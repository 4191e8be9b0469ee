#include "cli/commands/commands.h"

#include "base/buf.h"
#include "base/mem.h"
#include "base/text.h"
#include "cli/base/entries.h"
#include "cli/base/connect_all.h"
#include "cli/base/failure.h"
#include "cli/base/message.h"
#include "cli/base/reason.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define STATE_WIDTH 14 /* needs-approval */
#define SCOPE_WIDTH 10 /* enterprise */
#define TEXT_MAX ((size_t)8 << 20)
#define JSON_MAX ((size_t)256 << 20)

struct job {
    struct cli *cli;
    struct cli_out *out;
    size_t names, types; /* columns of the widest */
    bool status;         /* is there a terminal for the line that shows who is asked? */
    int put;             /* the outcome of the document */
};

/* ---- parts of a line ---- */

/* Columns of `text` as it is shown. Names and types that are not valid may be of any
 * length; lines are not aligned by those. */
static size_t shown_width(const char *text)
{
    struct mp_str shown;
    size_t len = strlen(text);
    mp_str_init(&shown, 4096);
    mp_str_add_escaped(&shown, text, len < 256 ? len : 256, false);
    size_t width = shown.data ? cli_columns(shown.data, shown.len) : 0;
    mp_str_clear(&shown);
    return width;
}

static void put_padded(struct cli_out *out, const char *text, size_t width)
{
    size_t n = shown_width(text);
    cli_out_shown(out, text, strlen(text));
    cli_out_spaces(out, (n < width ? width - n : 0) + 2);
}

static enum cli_style style_of(enum cli_state state)
{
    switch (state) {
    case CLI_STATE_CONNECTED:
        return CLI_GREEN;
    case CLI_STATE_FAILED:
        return CLI_RED;
    case CLI_STATE_NEEDS_APPROVAL:
    case CLI_STATE_NEEDS_AUTH:
        return CLI_YELLOW;
    default:
        return CLI_DIM;
    }
}

static void put_head(const struct job *job, const struct cli_member *m)
{
    cli_out_style(job->out, CLI_BOLD);
    put_padded(job->out, mcplug_entry_name(m->entry), job->names);
    cli_out_style(job->out, CLI_PLAIN);
    cli_out_style(job->out, style_of(m->state));
    put_padded(job->out, cli_member_state(m), STATE_WIDTH);
    cli_out_style(job->out, CLI_PLAIN);
}

/* Where the last column begins; what comes below stands there too, unless that leaves
 * little of the terminal. */
static size_t last_column(const struct job *job)
{
    return job->names + 2 + STATE_WIDTH + 2;
}

static size_t indent_of(const struct job *job)
{
    size_t at = last_column(job), width = job->out->width;
    return width && at > width / 2 ? 4 : at;
}

static void put_below(const struct job *job, const char *head, const char *text)
{
    struct mp_str line;
    mp_str_init(&line, TEXT_MAX);
    mp_str_adds(&line, head);
    mp_str_adds(&line, text);
    cli_out_style(job->out, CLI_DIM);
    for (size_t i = 0; i < line.len; i++) /* one line it was */
        if (line.data[i] == '\n' || line.data[i] == '\r')
            line.data[i] = ' ';
    cli_out_wrapped(job->out, line.data ? line.data : "", line.len, indent_of(job), 0);
    cli_out_style(job->out, CLI_PLAIN);
    mp_str_clear(&line);
}

/* What is wrong with its entry, but for what is its reason already. */
static void put_problems(const struct job *job, const struct cli_member *m)
{
    mcplug_config *config = job->cli->config;
    struct mcplug_entry_info e = cli_entry_info(m->entry);
    struct mcplug_problem p = {.struct_size = sizeof p};
    bool told = m->state != CLI_STATE_FAILED; /* the first that is no warning is it */

    for (size_t i = 0; mcplug_config_problem_info(config, i, &p); i++) {
        if (!cli_problem_is_of(&p, &e) || (p.is_warning && job->cli->args.quiet))
            continue;
        if (p.is_warning || told)
            put_below(job, "", mcplug_config_problem(config, i));
        told = told || !p.is_warning;
    }
}

/* ---- with a connection ---- */

/* "example 1.0, 2025-11-25 (legacy), 13 tools, 42ms" */
static void add_identity(struct mp_str *out, const struct cli_member *m)
{
    if (m->name) {
        mp_str_adds(out, m->name);
        mp_str_adds(out, m->version ? " " : "");
        mp_str_adds(out, m->version ? m->version : "");
        mp_str_adds(out, ", ");
    }
    mp_str_addf(out, "%s (%s), ", m->revision, cli_era_of(m->revision));
    if (m->tools >= 0)
        mp_str_addf(out, "%lld tool%s, ", (long long)m->tools, m->tools == 1 ? "" : "s");
    mp_str_addf(out, "%llums", (unsigned long long)m->ms);
}

static void put_member(const struct job *job, const struct cli_member *m)
{
    const char *remark = cli_member_remark(m);
    char room[CLI_REASON_SIZE];
    struct mp_str text;

    put_head(job, m);
    mp_str_init(&text, TEXT_MAX);
    if (m->state == CLI_STATE_CONNECTED)
        add_identity(&text, m);
    if (m->reason)
        mp_str_adds(&text, cli_reason(m->reason, true, room));
    if (m->state == CLI_STATE_NEEDS_APPROVAL)
        mp_str_addf(&text, "; review and approve it with `mcplug approve %s`",
                    mcplug_entry_name(m->entry));
    for (size_t i = 0; i < text.len; i++)
        if (text.data[i] == '\n')
            text.data[i] = ' ';
    cli_out_wrapped(job->out, text.data ? text.data : "", text.len, indent_of(job),
                    last_column(job));
    mp_str_clear(&text);
    if (m->state == CLI_STATE_FAILED && remark)
        put_below(job, "| ", remark);
    if (m->missing)
        put_below(job, "Set the following environment variables: ", m->missing);
    put_problems(job, m);
}

/* "connecting to a, b, c (7 of 20)", with as many names as there is room for. */
static void show_status(const struct job *job, const struct cli_connect_all *r)
{
    size_t room = job->out->width > 60 ? job->out->width - 40 : 20, n = 0;
    struct mp_str text;

    mp_str_init(&text, 65536);
    mp_str_adds(&text, "connecting to ");
    for (size_t i = 0; i < r->batch.n_running; i++) {
        const struct cli_member *m = &r->members[r->batch.running[i]];
        if (m->stage >= CLI_STAGE_SETTLED)
            continue;
        const char *name = mcplug_entry_name(m->entry);
        bool fits = text.len + strlen(name) <= 14 + room || !n;
        mp_str_adds(&text, n ? ", " : "");
        mp_str_adds(&text, fits ? name : "..");
        n++;
        if (!fits)
            break;
    }
    mp_str_addf(&text, " (%zu of %zu)", r->n_settled, r->n_wanted);
    cli_status_show(n && text.data ? text.data : NULL);
    mp_str_clear(&text);
}

static void on_news(struct cli_connect_all *r, struct cli_member *m)
{
    struct job *job = r->arg;

    if (m->state != CLI_STATE_PENDING && !job->cli->args.json) {
        if (job->status)
            cli_status_show(NULL);
        put_member(job, m);
        cli_out_flush(job->out);
    }
    if (job->out->failed)
        cli_connect_all_stop(r); /* nobody wants to know the rest */
    else if (job->status)
        show_status(job, r);
}

/* ---- without one ---- */

/* A word of a command line: as it is, or as JSON where it would look like several. */
static void add_word(struct mp_str *out, mp_view word)
{
    char *text = mp_view_strdup(word);
    if (text && *text && !strpbrk(text, " \t\r\n\"'\\"))
        mp_str_adds(out, text);
    else
        mp_str_add(out, word.data, word.len);
    mp_free(text);
}

static void put_target(const struct job *job, const struct mcplug_entry_info *e)
{
    char *masked = mcplug_json_masked(e->json, e->json_len);
    mp_view json = mp_text(masked ? masked : ""), word;
    struct mp_str line;

    mp_str_init(&line, TEXT_MAX);
    mp_view command = mp_view_get(json, "command"), url = mp_view_get(json, "url");
    if (command.len) {
        struct mp_walk w = mp_walk_into(mp_view_get(json, "args"));
        add_word(&line, command);
        while (mp_walk_element(&w, &word)) {
            mp_str_addc(&line, ' ');
            add_word(&line, word);
        }
    } else if (url.len) {
        add_word(&line, url);
    }
    if (line.len)
        put_below(job, "", line.data);
    mp_str_clear(&line);
    mcplug_text_free(masked);
}

static void put_offline(const struct job *job, const struct cli_member *m)
{
    struct mcplug_entry_info e = cli_entry_info(m->entry);

    put_head(job, m);
    put_padded(job->out, m->type ? m->type : "-", job->types);
    put_padded(job->out, cli_scope_name(e.scope), SCOPE_WIDTH);
    cli_out_shown(job->out, e.file, strlen(e.file));
    cli_out_s(job->out, "\n");
    put_target(job, &e);
    if (m->reason)
        put_below(job, "", m->reason);
    put_problems(job, m);
}

/* ---- JSON ---- */

static void add_member(struct mp_str *out, const char *name, const char *text)
{
    mp_str_addf(out, ",\"%s\":", name);
    if (text)
        mp_str_add_json(out, text, strlen(text));
    else
        mp_str_adds(out, "null");
}

static void add_json(struct mp_str *out, const struct cli_member *m)
{
    struct mcplug_entry_info e = cli_entry_info(m->entry);

    mp_str_adds(out, "{\"name\":");
    mp_str_add_json(out, e.name, strlen(e.name));
    add_member(out, "state", cli_member_state(m));
    if (m->reason)
        add_member(out, "reason", m->reason);
    if (m->state == CLI_STATE_FAILED && cli_member_remark(m))
        add_member(out, "stderr", cli_member_remark(m));
    add_member(out, "scope", cli_scope_name(e.scope));
    add_member(out, "file", e.file);
    add_member(out, "type", m->type);
    if (m->state == CLI_STATE_CONNECTED) {
        if (m->name) { /* one without a name has not introduced itself */
            mp_str_adds(out, ",\"server\":{\"name\":");
            mp_str_add_json(out, m->name, strlen(m->name));
            if (m->version)
                add_member(out, "version", m->version);
            mp_str_addc(out, '}');
        }
        add_member(out, "revision", m->revision);
        add_member(out, "era", cli_era_of(m->revision));
        if (m->tools >= 0)
            mp_str_addf(out, ",\"tools\":%lld", (long long)m->tools);
        mp_str_addf(out, ",\"ms\":%llu", (unsigned long long)m->ms);
    }
    mp_str_addc(out, '}');
}

static int put_json(struct cli *cli, const struct cli_connect_all *r)
{
    struct mp_str text;

    mp_str_init(&text, JSON_MAX);
    mp_str_adds(&text, "{\"servers\":[");
    for (size_t i = 0; i < r->n; i++) {
        mp_str_adds(&text, i ? "," : "");
        add_json(&text, &r->members[i]);
    }
    mp_str_adds(&text, "]}\n");
    return cli_put_document(cli, &text, CLI_OK);
}

/* ---- the command ---- */

/* Those of whom nothing came to be known stand at the end. */
static void on_done(struct cli_connect_all *r)
{
    struct job *job = r->arg;

    if (job->status)
        cli_status_show(NULL);
    for (size_t i = 0; i < r->n; i++) {
        struct cli_member *m = &r->members[i];
        if (m->state != CLI_STATE_PENDING)
            continue;
        m->reason = mp_strdup("interrupted before it was connected");
        if (!job->cli->args.json)
            put_member(job, m);
    }
    if (job->cli->args.json)
        job->put = put_json(job->cli, r);
    cli_failure_put(job->cli, job->put, NULL, NULL);
    cli_out_close(job->out);
}

static int list_offline(struct job *job, const struct cli_connect_all *r)
{
    if (job->cli->args.json)
        return put_json(job->cli, r);
    for (size_t i = 0; i < r->n; i++)
        put_offline(job, &r->members[i]);
    return CLI_OK;
}

static int list_online(struct cli_connect_all *r)
{
    int code = cli_connect_all_run(r);
    for (size_t i = 0; i < r->n && code == CLI_OK; i++)
        if (r->members[i].state != CLI_STATE_CONNECTED &&
            r->members[i].state != CLI_STATE_DISABLED)
            code = CLI_NO_SERVER;
    return code;
}

static int run(struct cli *cli)
{
    struct cli_connect_all roster;
    struct job job = {.cli = cli, .out = &cli->out};
    int code = cli_connect_all_init(&roster, cli);

    roster.news = on_news;
    roster.done = on_done;
    roster.arg = &job;
    job.status = isatty(STDERR_FILENO) && !cli->args.quiet &&
                 (cli->out.terminal || cli->args.json);
    for (size_t i = 0; i < roster.n; i++) {
        const struct cli_member *m = &roster.members[i];
        size_t name = shown_width(mcplug_entry_name(m->entry));
        size_t type = m->type ? shown_width(m->type) : 1;
        job.names = name > job.names && name <= MCPLUG_NAME_MAX ? name : job.names;
        job.types = type > job.types && type <= 16 ? type : job.types;
    }
    if (code == CLI_OK && roster.n == 0 && !cli->args.json && !cli->args.quiet)
        cli_tell_no_server(cli);
    bool damaged = code == CLI_OK && cli_config_info(cli->config).damaged;
    if (code == CLI_OK)
        code = cli->args.no_connect ? list_offline(&job, &roster) : list_online(&roster);
    if (job.put != CLI_OK)
        code = job.put;
    if (code == CLI_OK && damaged)
        code = CLI_BAD_CONFIG;
    cli_connect_all_clear(&roster);
    return code;
}

static const struct cli_option options[] = {
    {"no-connect", 0, CLI_FLAG, NULL, "show the configuration only and start nothing",
     .at = offsetof(struct cli_args, no_connect)},
    {"connect-timeout", 0, CLI_DURATION, "TIME", "give up on a server after TIME",
     offsetof(struct cli_args, connect_timeout), .complete.is = CLI_WORD_FREE},
    {.name = NULL},
};

const struct cli_command cli_cmd_list = {
    .name = "list",
    .words = "[SERVER...]",
    .summary = "List the configured servers and their state.",
    .details =
        "Connects to every server, a few at a time, and reports each one as soon as its "
        "state is known: connected, failed, disabled, needs-approval, needs-auth or "
        "pending, with the reason. It never prompts and approves nothing. The exit code "
        "is 3 if a server that is not disabled could not be connected.\n\n"
        "MCP_SERVER_CONNECTION_BATCH_SIZE sets how many servers are connected at a time "
        "(default 3), MCP_TIMEOUT how many milliseconds each may take to connect.",
    .options = options,
    .flags = CLI_CONFIG,
    .max_words = CLI_MANY,
    .complete = {{.is = CLI_WORD_SERVER}},
    .run = run,
};
