#include "cli/base/oneshot.h"

#include "base/buf.h"
#include "base/error.h"
#include "base/mem.h"
#include "json/walk.h"
#include "cli/base/by_name.h"
#include "cli/base/failure.h"
#include "cli/base/signals.h"
#include "cli/base/message.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define LOGGED_MAX ((size_t)1 << 18) /* of one message of a server */

/* ---- what the library tells ---- */

/* A failure that ends the command is told once, as its error and not as a log line
 * beside it, unless everything is wanted. */
static bool is_told(const struct cli_oneshot *link, int level, const char *source,
                    const char *text)
{
    /* that of core/base/event_text.c; the reason of the loss is the error */
    bool dropped = (!link->finished || link->broke) &&
                   strstr(text, " connection dropped after ") != NULL;

    return level == MCPLUG_LOG_ERROR && !link->cli->args.verbose &&
           strncmp(source, "mcp:", 4) == 0 &&
           (!link->connected || dropped || strncmp(text, link->told, strlen(text)) == 0);
}

static void on_event(void *arg, const struct mcplug_activity *event)
{
    const struct cli_oneshot *link = arg;

    if (event->server && strcmp(event->server, mcplug_entry_name(link->entry)) == 0)
        cli_journal_take(link->journal, event);
}

/* core/session/connect.c says so between the lines of the two. */
static void on_line(void *arg, const struct mcplug_activity *event)
{
    static const char again[] = "the connection ended on server/discover";
    struct cli_oneshot *link = arg;

    if (event->text && event->len >= sizeof again &&
        memcmp(event->text, again, sizeof again - 1) == 0)
        link->started_again = true;
}

static void on_log(void *arg, int level, const char *source, const char *text)
{
    const struct cli_oneshot *link = arg;

    if (is_told(link, level, source, text))
        cli_log_file(level, source, text);
    else
        cli_log_line(level, source, text);
}

static void on_remark(void *arg, mcplug_server *server, const char *line, size_t len)
{
    struct cli_oneshot *link = arg;
    (void)server;
    if (link->started_again) /* it says the same once more */
        cli_remarks_clear(&link->remarks);
    link->started_again = false;
    cli_remarks_add(&link->remarks, line, len); /* the log has it as well */
}

void cli_logged_text(mp_view params, struct mp_str *out)
{
    mp_view logger = mp_view_get(params, "logger"), data = mp_view_get(params, "data");

    mp_str_add_view(out, mp_view_get(params, "level"));
    if (mp_view_is_string(logger)) {
        mp_str_addc(out, ' ');
        mp_str_add_view(out, logger);
    }
    mp_str_adds(out, ": ");
    if (mp_view_is_string(data))
        mp_str_add_view(out, data);
    else
        mp_str_add(out, data.data, data.len);
}

/* notifications/message: `mcp:NAME warning logger: text`; every line of it says whose it
 * is, also one that a terminal would break. */
static void on_logged(void *arg, mcplug_server *server, const char *params, size_t len)
{
    size_t width = isatty(STDERR_FILENO) ? cli_width(STDERR_FILENO) : LOGGED_MAX;
    mp_view v = {(const unsigned char *)params, len};
    struct mp_str text, lines;
    char mark[256];
    (void)arg;

    mp_str_init(&text, LOGGED_MAX);
    mp_str_init(&lines, LOGGED_MAX);
    snprintf(mark, sizeof mark, "mcp:%.240s ", mcplug_server_name(server));
    cli_logged_text(v, &text);
    cli_quote(&lines, mark, text.data ? text.data : "", text.len, width);
    cli_tell("", lines.data, lines.len);
    mp_str_clear(&text);
    mp_str_clear(&lines);
}

/* No transport was found for the URL, since it has no scheme to find one by. */
static bool lacks_scheme(const struct cli_args *args, const struct mcplug_error *why)
{
    return args->url && !args->type &&
           (why->code == MCPLUG_ENOTSUP || why->code == MCPLUG_ECONFIG) &&
           (cli_is_address(args->url) || !strchr(args->url, ':'));
}

static void on_ready(void *arg, mcplug_server *server, const struct mcplug_error *why)
{
    struct cli_oneshot *link = arg;
    struct mcplug_error plain = MCPLUG_ERROR_INIT;
    (void)server;
    if (link->finished)
        return;
    if (why && lacks_scheme(&link->cli->args, why)) {
        mp_fail(&plain, MCPLUG_EINVAL, CLI_NO_SCHEME, link->cli->args.url);
        why = &plain;
    }
    if (why) {
        cli_oneshot_fail(link, why, NULL);
        return;
    }
    link->connected = true;
    link->ready(link, link->job);
}

/* Once connected, the only state that can follow is its end. */
static void on_state(void *arg, mcplug_server *server, enum mcplug_state state,
                     const struct mcplug_error *why)
{
    struct cli_oneshot *link = arg;
    (void)server, (void)state;
    if (!why || !link->connected || link->dropped)
        return;
    link->dropped = true;
    if (!link->answered)
        cli_oneshot_fail(link, why, NULL);
}

static void put_question(struct cli_oneshot *link, mcplug_input *input,
                         const char *params, size_t len, bool url)
{
    cli_progress_pause(&link->progress, true);
    cli_ask_put(link->ask, input, params, len, url);
    if (!cli_ask_waits(link->ask)) /* it was refused */
        cli_progress_pause(&link->progress, false);
}

static void on_elicit(void *arg, mcplug_server *server, mcplug_input *input,
                      const char *params, size_t len)
{
    (void)server;
    put_question(arg, input, params, len, false);
}

static void on_elicit_url(void *arg, mcplug_server *server, mcplug_input *input,
                          const char *params, size_t len)
{
    (void)server;
    put_question(arg, input, params, len, true);
}

static void on_roots(void *arg, mcplug_server *server, mcplug_input *input,
                     const char *params, size_t len)
{
    struct cli_oneshot *link = arg;
    (void)server, (void)params, (void)len;
    mcplug_input_answer(input, link->roots);
}

static void on_closed(void *arg)
{
    struct cli_oneshot *link = arg;
    link->closed = true;
    if (link->connected && !link->dropped)
        cli_journal_event(link->journal, MCPLUG_LOG_VERBOSE, "closed");
}

/* ---- opening ---- */

mcplug *cli_host_new(struct cli *cli, cli_log_fn *log, void *arg,
                     struct mcplug_error *err)
{
    const struct cli_args *args = &cli->args;
    int level = MCPLUG_LOG_WARN + args->verbose; /* a file gets more than the eye */
    bool kept = args->log_file;
    if (kept && level < MCPLUG_LOG_VERBOSE)
        level = MCPLUG_LOG_VERBOSE;
    struct mcplug_options options = {
        .struct_size = sizeof options,
        .log_level = level,
        .client_name = "mcplug",
        .client_version = mcplug_version(),
        .plugin_dirs = args->plugin_dirs.items,
        .user_plugin_dirs = cli_plugin_dirs(cli),
        .converters = cli_converters(cli),
        .plugins = cli->plugins,
        .log = args->quiet && !kept ? NULL : log,
        .log_arg = arg,
    };
    if (options.log_level > MCPLUG_LOG_TRACE)
        options.log_level = MCPLUG_LOG_TRACE;
    return mcplug_new(&options, err);
}

static int server_open(struct cli_oneshot *link, struct mcplug_error *err)
{
    const struct cli_args *args = &link->cli->args;
    struct mcplug_server_options options = {
        .struct_size = sizeof options,
        .once = 1,
        .timeout_ms = cli_ms(args->connect_timeout),
        .request_ms = cli_ms(args->timeout),
        .log_level = args->log_level,
        .revision = args->revision,
        .arg = link,
        .elicit = link->ask ? on_elicit : NULL,
        .elicit_url = link->ask ? on_elicit_url : NULL,
        .roots = link->roots ? on_roots : NULL,
        .logged = args->log_level ? on_logged : NULL,
        .remark = on_remark,
        .state = on_state,
    };
    if (link->entry)
        return cli_by_name_open(link->cli, link->host, link->entry, &options, on_ready,
                                link, &link->server, err);
    mcplug_settings *settings = cli_settings(args, err);
    options.policy = settings ? cli_config_silent(link->cli, err) : NULL;
    int r = options.policy ? MCPLUG_OK : err->code;
    if (r == MCPLUG_OK)
        r = mcplug_open(link->host, settings, &options, on_ready, link, &link->server,
                        err);
    mcplug_settings_free(settings);
    return r;
}

static int check_words(const struct cli_args *args, struct mcplug_error *err)
{
    static const char *const levels[] = {"debug", "info",     "notice", "warning",
                                         "error", "critical", "alert",  "emergency"};
    bool known = !args->log_level;
    for (size_t i = 0; i < MP_COUNT(levels) && !known; i++)
        known = strcmp(args->log_level, levels[i]) == 0;
    if (!known)
        return mp_fail(err, MCPLUG_EINVAL,
                       "--log-level: expected debug, info, notice, warning, error, "
                       "critical, alert or emergency, got \"%.64s\"",
                       args->log_level);

    static const struct mp_scan_limits limits = {.depth = 64, .tokens = 100000};
    const char *meta = args->meta;
    if (meta && (mp_scan_text(meta, strlen(meta), &limits, NULL, err) != MCPLUG_OK ||
                 meta[strspn(meta, " \t\r\n")] != '{'))
        return mp_fail(err, MCPLUG_EINVAL, "--meta: expected a JSON object");
    return MCPLUG_OK;
}

static enum cli_progress_mode progress_mode(const struct cli_args *args)
{
    if (args->no_progress || !(args->command->flags & CLI_REQUEST))
        return CLI_PROGRESS_OFF;
    if (isatty(STDERR_FILENO))
        return CLI_PROGRESS_LINE;
    return args->progress ? CLI_PROGRESS_LOG : CLI_PROGRESS_OFF;
}

/* Everything that can be wrong with the words comes before anything is started. */
static int prepare(struct cli_oneshot *link, struct mcplug_error *err)
{
    const struct cli_args *args = &link->cli->args;

    int r = check_words(args, err);
    if (r != MCPLUG_OK)
        return r;
    if (args->roots.n && !(link->roots = cli_roots(args, err)))
        return MCPLUG_EINVAL;
    if (!cli_meta(args, &link->meta, err))
        return MCPLUG_ENOMEM;
    link->progress.mode = progress_mode(args);
    if (!args->no_input && isatty(STDIN_FILENO) && isatty(STDERR_FILENO))
        link->ask = cli_ask_new(STDIN_FILENO);
    return MCPLUG_OK;
}

/* ---- turning ---- */

void cli_oneshot_finish(struct cli_oneshot *link, int exit_code)
{
    if (link->finished)
        return;
    link->finished = true;
    link->exit_code = exit_code;
}

/* What was printed is out before we wait for the server to go, and who reads it from a
 * pipe sees its end. */
static void let_go(struct cli_oneshot *link)
{
    cli_loop_end(&link->loop, link->exit_code);
    if (link->ended)
        link->ended(link, link->job);
    if (link->broke && link->connected && !link->dropped) /* else the log has it */
        cli_journal_event(link->journal, MCPLUG_LOG_ERROR, link->told);
    cli_progress_end(&link->progress);
    cli_ask_abandon(link->ask);
    cli_failure_put(link->cli, link->exit_code, NULL, NULL);
    cli_out_close(&link->cli->out);
    mcplug_close(link->server, on_closed, link);
}

static void on_stop(void *arg, int number)
{
    struct cli_oneshot *link = arg;

    cli_ask_stop(link->ask);
    if (link->call)
        mcplug_cancel(link->call); /* its end ends us */
    else
        cli_oneshot_finish(link, CLI_SIGNAL + number);
}

static void on_woken(void *arg, short revents)
{
    struct cli_oneshot *link = arg;

    if (revents)
        cli_ask_read(link->ask);
    if (link->asking && !cli_ask_waits(link->ask))
        cli_progress_pause(&link->progress, false);
    cli_progress_tick(&link->progress);
}

static void run(struct cli_oneshot *link)
{
    while (!link->closed) {
        if (link->finished && !link->loop.ending)
            let_go(link);
        link->asking = cli_ask_waits(link->ask);
        cli_loop_turn(&link->loop, link->asking ? STDIN_FILENO : -1, POLLIN,
                      link->progress.due);
    }
}

static void connect(struct cli_oneshot *link)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;

    link->host = cli_host_new(link->cli, on_log, link, &err);
    if (link->host && link->journal)
        cli_journal_listen(link->host, on_event, link);
    if (link->host) /* without it, some lines are told twice */
        mcplug_listen(link->host, MCPLUG_ACTIVITY_LINE, MCPLUG_LOG_VERBOSE, on_line,
                      link);
    cli_loop_open(&link->loop, link->host);
    if (link->host && server_open(link, &err) == MCPLUG_OK) {
        run(link);
        return;
    }
    cli_journal_event(link->journal, MCPLUG_LOG_ERROR, err.text);
    cli_oneshot_fail(link, &err, NULL);
}

int cli_oneshot_run(struct cli *cli, cli_ready_fn *ready, void *job)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    struct cli_oneshot link = {
        .cli = cli,
        .ready = ready,
        .job = job,
        .exit_code = CLI_USAGE,
        .loop = {.signal_fd = -1,
                 .leave_ms = CLI_LEAVE_MS,
                 .arg = &link,
                 .stop = on_stop,
                 .woken = on_woken},
    };

    int code = cli_by_name_server(cli, &link.entry);
    if (code == CLI_OK && link.entry && cli_by_name_asks(link.entry))
        code = cli_by_name_usable(cli, link.entry);
    if (code != CLI_OK)
        return code;
    if (link.entry)
        link.journal = cli_journal_open(&cli->paths, mcplug_entry_name(link.entry));
    if (prepare(&link, &err) != MCPLUG_OK)
        cli_error("%s", err.text);
    else
        connect(&link);
    cli_ask_free(link.ask);
    if (link.host)
        mcplug_free(link.host);
    cli_loop_close(&link.loop);
    cli_journal_close(link.journal);
    cli_remarks_clear(&link.remarks);
    mp_free(link.roots);
    mp_free(link.meta);
    return link.exit_code;
}
