#include "cli/run/run.h"

#include "base/error.h"
#include "base/mem.h"
#include "cli/base/by_name.h"
#include "cli/base/message.h"
#include "cli/base/packages.h"
#include "cli/base/reason.h"

#include <stdio.h>
#include <string.h>

/* ---- which ---- */

static struct cli_run_server *find(const struct cli_run *run, const char *name)
{
    for (size_t i = 0; i < run->n_servers; i++)
        if (strcmp(run->servers[i].name, name) == 0)
            return &run->servers[i];
    return NULL;
}

static void add(struct cli_run *run, mcplug_entry *entry, const char *name)
{
    struct cli_run_server *s = &run->servers[run->n_servers++];

    s->run = run;
    s->entry = entry;
    snprintf(s->name, sizeof s->name, "%s", name);
    if (entry)
        s->journal = cli_journal_open(&run->cli->paths, s->name);
}

/* What a server is called whose command is given in place: as its program, unless one of
 * that name is there. */
static void add_in_place(struct cli_run *run)
{
    const char *command = run->cli->args.server_command[0];
    const char *slash = strrchr(command, '/'), *from = slash ? slash + 1 : command;
    char name[33];
    size_t n = 0;

    for (; *from && *from != '.' && n < sizeof name - 1; from++)
        name[n++] =
            strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-",
                   *from)
                ? *from
                : '_';
    name[n] = '\0';
    add(run, NULL, n && !find(run, name) ? name : "server--");
}

int cli_run_find_servers(struct cli_run *run)
{
    const struct cli_list *names = &run->cli->args.servers;
    int code = CLI_OK;

    if (!cli_config(run->cli))
        return CLI_BAD_CONFIG;
    run->servers = mp_alloc((names->n + 1) * sizeof *run->servers);
    if (!run->servers) {
        cli_error("out of memory");
        return CLI_INTERNAL;
    }
    for (size_t i = 0; code == CLI_OK && i < names->n; i++) {
        mcplug_entry *entry = cli_by_name_find(run->cli, names->items[i]);
        if (!entry)
            return cli_by_name_none(run->cli);
        code = cli_by_name_usable(run->cli, entry);
        if (code == CLI_OK && !find(run, names->items[i]))
            add(run, entry, names->items[i]);
    }
    if (code == CLI_OK && run->cli->args.server_command)
        add_in_place(run);
    return code;
}

/* ---- what the library tells ---- */

void cli_run_log(void *arg, int level, const char *source, const char *text)
{
    const struct cli_run *run = arg;
    bool of_server =
        strncmp(source, "mcp:", 4) == 0 && (level == MCPLUG_LOG_ERROR || run->n_awaited);
    /* that of core/run/use.c */
    bool of_call = level == MCPLUG_LOG_WARN && strcmp(source, "core") == 0 &&
                   strstr(text, "': failed after ");

    /* why a call failed stands in its line, and why a server did in our error */
    if (!run->cli->args.verbose && (of_server || of_call))
        cli_log_file(level, source, text);
    else
        cli_log_line(level, source, text);
}

static void on_event(void *arg, const struct mcplug_activity *event)
{
    struct cli_run_server *s = event->server ? find(arg, event->server) : NULL;
    if (s)
        cli_journal_take(s->journal, event);
}

static int outcome_of(const struct mcplug_error *why)
{
    switch (why->code) {
    case MCPLUG_ECONFIG:
        return CLI_BAD_CONFIG;
    case MCPLUG_EINVAL:
        return CLI_USAGE;
    case MCPLUG_ENOTSUP:
        return CLI_UNSUPPORTED;
    case MCPLUG_EREFUSED:
        return CLI_BLOCKED;
    case MCPLUG_EAUTH:
        return CLI_NEEDS_AUTH;
    case MCPLUG_ETIMEDOUT:
        return CLI_TIMED_OUT;
    case MCPLUG_ENOMEM:
        return CLI_INTERNAL;
    default:
        return CLI_NO_SERVER;
    }
}

/* A server that was asked for and is not there ends the command before the model costs
 * something. */
static int report(struct cli_run_server *s, const struct mcplug_error *why, bool started)
{
    const char *text = why->text[0] ? why->text : mcplug_error_name(why->code);
    char room[CLI_REASON_SIZE], whole[CLI_REASON_SIZE + MCPLUG_NAME_MAX + 16],
        shown[sizeof whole];

    snprintf(whole, sizeof whole, "server \"%s\": %s", s->name, text);
    snprintf(shown, sizeof shown, "server \"%s\": %s", s->name,
             cli_reason(text, started, room));
    cli_error_shown(whole, shown);
    if (!s->run->cli->args.verbose && s->remarks.n > 1) /* the reason has one */
        cli_remarks_tell(&s->remarks);
    return started && why->code == MCPLUG_EREFUSED ? CLI_NO_SERVER : outcome_of(why);
}

static void fail(struct cli_run_server *s, const struct mcplug_error *why)
{
    if (s->run->is_finished)
        return;
    cli_run_finish(s->run, report(s, why, true));
}

static void settle(struct cli_run_server *s)
{
    s->is_awaited = false;
    s->run->n_awaited--;
}

static void on_state(void *arg, mcplug_toolbox *box, const char *server,
                     enum mcplug_state state, const struct mcplug_error *why)
{
    struct cli_run_server *s = find(arg, server);
    (void)box, (void)state;

    if (s && s->is_awaited && why)
        fail(s, why);
}

static void on_remark(void *arg, mcplug_toolbox *box, const char *server,
                      const char *line, size_t len)
{
    struct cli_run_server *s = find(arg, server);
    (void)box;

    if (s && s->is_awaited)
        cli_remarks_add(&s->remarks, line, len);
}

static void on_list(void *arg, mcplug_call *call, mcplug_list *list,
                    const struct mcplug_error *why)
{
    struct cli_run_server *s = arg;
    (void)call, (void)list;

    if (!s->is_awaited)
        return;
    if (why)
        fail(s, why);
    else
        settle(s);
}

static void on_elicit(void *arg, mcplug_server *server, mcplug_input *input,
                      const char *params, size_t len)
{
    (void)server;
    cli_run_question(arg, input, params, len, false);
}

static void on_elicit_url(void *arg, mcplug_server *server, mcplug_input *input,
                          const char *params, size_t len)
{
    (void)server;
    cli_run_question(arg, input, params, len, true);
}

/* ---- the toolbox ---- */

static int open_in_place(struct cli_run_server *s, struct mcplug_server_options *o,
                         struct mcplug_error *err)
{
    char **command = s->run->cli->args.server_command, type[MCPLUG_TYPE_MAX];

    o->policy = s->run->cli->config;
    cli_program_type(type);
    mcplug_settings *settings = mcplug_settings_new(type);
    int r =
        settings ? mcplug_settings_set(settings, "command", command[0]) : MCPLUG_ENOMEM;
    for (size_t i = 1; r == MCPLUG_OK && command[i]; i++)
        r = mcplug_settings_add(settings, "args", command[i]);
    if (r != MCPLUG_OK)
        mp_fail(err, r, "too many arguments for a server");
    else
        r = mcplug_toolbox_add(s->run->box, s->name, settings, o, err);
    mcplug_settings_free(settings);
    return r;
}

/* What a server offered last is enough to begin with: it is started when it is called. */
static int await(struct cli_run_server *s, struct mcplug_error *err)
{
    mcplug_server *server = mcplug_toolbox_server(s->run->box, s->name);

    if (mcplug_server_list(server, MCPLUG_TOOLS))
        return MCPLUG_OK;
    s->is_awaited = true;
    s->run->n_awaited++;
    return mcplug_get_list(server, MCPLUG_TOOLS, NULL, on_list, s, err) ? MCPLUG_OK
                                                                        : err->code;
}

int cli_run_open_servers(struct cli_run *run)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    struct mcplug_toolbox_options o = {
        .struct_size = sizeof o, .arg = run, .state = on_state, .remark = on_remark};

    if (!run->n_servers)
        return CLI_OK;
    cli_journal_listen(run->host, on_event, run);
    run->box = mcplug_toolbox_new(run->host, &o, &err);
    if (!run->box) {
        cli_error("%s", err.text);
        return CLI_INTERNAL;
    }
    for (size_t i = 0; i < run->n_servers; i++) {
        struct cli_run_server *s = &run->servers[i];
        struct mcplug_server_options so = {
            .struct_size = sizeof so,
            .arg = run,
            .elicit = run->ask.questions ? on_elicit : NULL,
            .elicit_url = run->ask.questions ? on_elicit_url : NULL};
        int r = s->entry ? mcplug_toolbox_add_named(run->box, run->cli->config, s->name,
                                                    &so, &err)
                         : open_in_place(s, &so, &err);
        if (r == MCPLUG_OK)
            r = await(s, &err);
        if (r != MCPLUG_OK)
            return report(s, &err, false);
    }
    return CLI_OK;
}

void cli_run_clear_servers(struct cli_run *run)
{
    for (size_t i = 0; i < run->n_servers; i++) {
        cli_journal_close(run->servers[i].journal);
        cli_remarks_clear(&run->servers[i].remarks);
    }
    mp_free(run->servers);
    run->servers = NULL;
    run->n_servers = 0;
}
