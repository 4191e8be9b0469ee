/* From what went wrong to what a person is told, and the exit code. */
#include "cli/base/oneshot.h"

#include "base/buf.h"
#include "base/mem.h"
#include "cli/base/entries.h"
#include "cli/base/failure.h"
#include "json/walk.h"
#include "base/stderr_hint.h"
#include "cli/base/packages.h"
#include "cli/base/message.h"
#include "cli/base/reason.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define REMARK_MAX 1024

void cli_remarks_add(struct cli_remarks *r, const char *line, size_t len)
{
    const char *last = r->n ? r->lines[(r->n - 1) % CLI_REMARKS] : NULL;
    len = len < REMARK_MAX ? len : REMARK_MAX;
    if (last && strlen(last) == len && memcmp(last, line, len) == 0)
        return; /* a server that was started twice complains twice */
    char **slot = &r->lines[r->n++ % CLI_REMARKS];
    mp_free(*slot);
    *slot = mp_strndup(line, len);
    if (mp_stderr_hint_more(line, len, r->best)) {
        mp_free(r->best);
        r->best = mp_strndup(line, len);
    }
}

void cli_remarks_tell(const struct cli_remarks *r)
{
    size_t first = r->n > CLI_REMARKS ? r->n - CLI_REMARKS : 0;
    if (r->n)
        cli_detail("Last lines of the server's stderr:");
    for (size_t i = first; i < r->n; i++) {
        const char *line = r->lines[i % CLI_REMARKS];
        if (line)
            cli_detail("| %s", line);
    }
}

void cli_remarks_clear(struct cli_remarks *r)
{
    for (size_t i = 0; i < CLI_REMARKS; i++)
        mp_free(r->lines[i]);
    mp_free(r->best);
    memset(r, 0, sizeof *r);
}

/* Before a connection, whatever has no reason of its own is that there is none. */
static int outcome_of_connecting(const struct cli_oneshot *link,
                                 const struct mcplug_error *why)
{
    switch (why->code) {
    case MCPLUG_ECONFIG:
        return CLI_BAD_CONFIG;
    case MCPLUG_EINVAL:
        return CLI_USAGE;
    case MCPLUG_ENOTSUP:
        return CLI_UNSUPPORTED;
    case MCPLUG_EREFUSED: /* nobody was asked yet, so that it was us */
        return link->server ? CLI_NO_SERVER : CLI_BLOCKED;
    case MCPLUG_EIO: /* a file of headers */
        return link->server ? CLI_NO_SERVER : CLI_IO_ERROR;
    default:
        return CLI_NO_SERVER;
    }
}

static int outcome_of_request(const struct mcplug_error *why)
{
    switch (why->code) {
    case MCPLUG_EPEER:
        return CLI_PEER_ERROR;
    case MCPLUG_EPROTO:
        return CLI_BROKEN_PROTOCOL;
    case MCPLUG_ETOOBIG:
    case MCPLUG_EOVERLOADED:
        return CLI_TOO_BIG;
    case MCPLUG_EINVAL:
        return CLI_BAD_ARGUMENTS;
    default:
        return CLI_LOST;
    }
}

static int outcome_of(const struct cli_oneshot *link, const struct mcplug_error *why)
{
    switch (why->code) {
    case MCPLUG_ETIMEDOUT:
        return CLI_TIMED_OUT;
    case MCPLUG_EAUTH:
        return CLI_NEEDS_AUTH;
    case MCPLUG_ENOMEM:
        return CLI_INTERNAL;
    default:
        return link->connected ? outcome_of_request(why)
                               : outcome_of_connecting(link, why);
    }
}

/* What was to be started; NULL: nothing was. */
static const char *program_of(const struct cli_oneshot *link, char *room, size_t size)
{
    if (link->cli->args.server_command)
        return link->cli->args.server_command[0];
    if (!link->entry)
        return NULL;
    char *command = mp_view_strdup(mp_view_get(cli_entry_json(link->entry), "command"));
    snprintf(room, size, "%s", command ? command : "");
    mp_free(command);
    return *room ? room : NULL;
}

/* The options that make `mcplug plugins` look where this command did. */
static const char *same_dirs(const struct cli_args *args, char *room, size_t size)
{
    size_t used = 0;

    room[0] = '\0';
    for (size_t i = 0; i < args->plugin_dirs.n && used < size; i++)
        used += (size_t)snprintf(room + used, size - used, " --plugin-dir %s",
                                 args->plugin_dirs.items[i]);
    return room;
}

/* The transport that the server has; "": that is not known. */
static void type_of(const struct cli_oneshot *link, char out[MCPLUG_TYPE_MAX])
{
    const struct cli_args *args = &link->cli->args;
    struct mp_str json;

    out[0] = '\0';
    if (link->entry) {
        snprintf(out, MCPLUG_TYPE_MAX, "%s", cli_entry_info(link->entry).type);
    } else if (args->type) {
        snprintf(out, MCPLUG_TYPE_MAX, "%s", args->type);
    } else if (args->server_command) {
        cli_program_type(out);
    } else if (args->url) {
        mp_str_init(&json, (size_t)1 << 20);
        mp_str_adds(&json, "{\"url\":");
        mp_str_add_json(&json, args->url, strlen(args->url));
        mp_str_addc(&json, '}');
        if (!json.failed)
            mcplug_json_type(json.data, json.len, out);
        mp_str_clear(&json);
    }
}

/* What to do next, where there is something to do. */
static void advise(const struct cli_oneshot *link, const struct mcplug_error *why)
{
    const struct cli_args *args = &link->cli->args;
    char room[512], dirs[512], type[MCPLUG_TYPE_MAX];
    const char *name = link->entry ? mcplug_entry_name(link->entry) : "",
               *space = *name ? " " : "";
    const char *program = program_of(link, room, sizeof room);
    struct mcplug_status status = {.struct_size = sizeof status};

    type_of(link, type);
    if (link->server)
        mcplug_server_status(link->server, &status);
    if (!link->connected && why->code == MCPLUG_ETIMEDOUT && status.wire &&
        !status.wire
             ->noise) /* else it has time enough, but does not speak our language */
        cli_hint(
            "To wait longer, use --connect-timeout TIME or set MCP_TIMEOUT (in ms).");
    else if (!link->connected && why->code == MCPLUG_ENOTSUP)
        cli_hint("`mcplug plugins%s` lists the modules that are installed.",
                 same_dirs(args, dirs, sizeof dirs));
    else if (why->code == MCPLUG_EAUTH &&
             strstr(why->text, "rejected the Authorization header"))
        cli_hint("Check that the token is valid and has not expired.");
    else if (!link->connected && why->code == MCPLUG_EAUTH && why->peer_status == 401)
        cli_hint(
            "Pass credentials with --header 'Authorization: Bearer TOKEN', or in the "
            "server's \"headers\".");
    else if (!link->connected && why->code == MCPLUG_ECONFIG && *type)
        cli_hint("`mcplug plugins %s%s` lists its settings.", type,
                 same_dirs(args, dirs, sizeof dirs));
    else if (!link->connected && program &&
             !strstr(why->text, "cannot enter directory") &&
             (why->os_error == ENOENT || why->os_error == EACCES))
        cli_hint("Check that %s is installed, executable and in PATH.", program);
    else if (link->connected && why->code == MCPLUG_EPEER && why->peer_status == -32601)
        cli_hint("`mcplug info%s%s` shows what this server can do.", space, name);
    else if (why->code == MCPLUG_EPEER && args->command->hint &&
             (why->peer_status == -32602 || why->peer_status == -32002))
        cli_hint("`mcplug %s%s%s` lists what the server has.", args->command->hint, space,
                 name);
}

/* Whoever asked for JSON gets the error object whole, `data` included. */
static void put_failure(struct cli_oneshot *link, int outcome,
                        const mcplug_result *result)
{
    struct cli_doc peer;
    bool has_object = false;

    if (result) {
        cli_doc_init(&peer, result);
        has_object = mp_view_is_object(cli_doc_view(&peer));
    }
    cli_failure_put(link->cli, outcome, link->remarks.best, has_object ? &peer : NULL);
}

void cli_oneshot_fail(struct cli_oneshot *link, const struct mcplug_error *why,
                      const mcplug_result *result)
{
    if (link->finished)
        return;
    cli_progress_end(&link->progress);
    if (why->code == MCPLUG_ECANCELED && link->loop.signal) {
        /* as asked: nothing to say */
        cli_oneshot_finish(link, CLI_SIGNAL + link->loop.signal);
        return;
    }
    const char *text = why->text[0] ? why->text : mcplug_error_name(why->code);
    char room[CLI_REASON_SIZE];
    snprintf(link->told, sizeof link->told, "%s", text);
    link->broke = why->code != MCPLUG_EPEER && why->code != MCPLUG_EINVAL;
    if (why->code == MCPLUG_EPEER)
        cli_error("server \"%s\" answered with error %d: %s",
                  mcplug_server_name(link->server), why->peer_status, text);
    else
        cli_error_shown(text, cli_reason(text, !link->connected, room));
    advise(link, why);
    if (!link->cli->args.verbose && why->code != MCPLUG_EPEER)
        cli_remarks_tell(&link->remarks);
    put_failure(link, outcome_of(link, why), why->code == MCPLUG_EPEER ? result : NULL);
    cli_oneshot_finish(link, outcome_of(link, why));
}

void cli_oneshot_done(struct cli_oneshot *link, int r, int exit_code)
{
    if (r != MCPLUG_OK && !link->finished) {
        cli_error("cannot read a long text of the result back from its temporary file");
        if (link->cli->args.json)
            cli_out_retract(&link->cli->out);
        exit_code = CLI_IO_ERROR;
    }
    cli_oneshot_finish(link, exit_code);
}
