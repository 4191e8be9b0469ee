#include "link.h"

#include "base/buf.h"
#include "base/error.h"
#include "base/mem.h"
#include "json/walk.h"
#include "tell.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

/* After Ctrl+C the server gets this long to go in good order; then we leave, and what
 * guards its processes ends them. */
#define LEAVE_MS 2000

/* ---- signals ---- */

/* Runs only while a write of ours blocks: everything else sees the signal through the
 * descriptor. */
static void leave_at_once(int number)
{
    _exit(CLI_SIGNAL + number);
}

/* Whoever started us with a signal ignored, as shells do with SIGINT for what runs in
 * the background, wants it that way. */
static void handle(int number, sigset_t *set)
{
    struct sigaction at_once = {.sa_handler = leave_at_once}, old;
    if (sigaction(number, NULL, &old) == 0 && old.sa_handler == SIG_IGN)
        return;
    sigaction(number, &at_once, NULL);
    sigaddset(set, number);
}

static int signals_open(void)
{
    sigset_t set;
    sigemptyset(&set);
    handle(SIGINT, &set);
    handle(SIGTERM, &set);
    sigprocmask(SIG_BLOCK, &set, NULL);
    return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

static void on_signal(struct cli_link *link)
{
    struct signalfd_siginfo info;
    if (read(link->signal_fd, &info, sizeof info) != sizeof info)
        return;
    int number = (int)info.ssi_signo;
    if (link->signal || link->finished) {
        cli_status_show(NULL);
        _exit(CLI_SIGNAL + number); /* the second one, or nothing left to save */
    }
    link->signal = number;
    link->patience = cli_now() + LEAVE_MS;
    cli_ask_stop(link->ask);
    if (link->call)
        mcplug_cancel(link->call); /* its end ends us */
    else
        cli_link_finish(link, CLI_SIGNAL + number);
}

/* ---- what the library tells ---- */

/* A failure that ends the command is told once, as its error and not as a log line
 * beside it, unless everything is wanted. */
static bool is_told(const struct cli_link *link, int level, const char *source,
                    const char *text)
{
    return level == MCPLUG_LOG_ERROR && !link->cli->args.verbose &&
           strncmp(source, "mcp:", 4) == 0 &&
           (!link->connected || strncmp(text, link->told, strlen(text)) == 0);
}

static void on_log(void *arg, int level, const char *source, const char *text)
{
    if (!is_told(arg, level, source, text))
        cli_log_line(level, source, text);
}

static void on_remark(void *arg, mcplug_server *server, const char *line, size_t len)
{
    struct cli_link *link = arg;
    cli_remarks_add(&link->remarks, line, len);
    if (link->cli->args.verbose && !link->cli->args.quiet) {
        char head[160];
        snprintf(head, sizeof head, "VRB mcp:%s stderr: ", mcplug_server_name(server));
        cli_tell(head, line, len);
    }
}

/* notifications/message: `mcp:NAME warning logger: text` */
static void on_logged(void *arg, mcplug_server *server, const char *params, size_t len)
{
    mp_view v = {(const unsigned char *)params, len};
    mp_view logger = mp_view_get(v, "logger"), data = mp_view_get(v, "data");
    struct mp_str line;
    (void)arg;

    mp_str_init(&line, (size_t)1 << 18);
    mp_str_addf(&line, "mcp:%s ", mcplug_server_name(server));
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
    cli_tell("", line.data, line.len);
    mp_str_clear(&line);
}

static void on_ready(void *arg, mcplug_server *server, const struct mcplug_error *why)
{
    struct cli_link *link = arg;
    (void)server;
    if (link->finished)
        return;
    if (why) {
        cli_link_fail(link, why, NULL);
        return;
    }
    link->connected = true;
    link->ready(link, link->job);
}

static void on_dropped(void *arg, mcplug_server *server, const struct mcplug_error *why)
{
    (void)server;
    cli_link_fail(arg, why, NULL);
}

static void on_elicit(void *arg, mcplug_server *server, mcplug_input *input,
                      const char *params, size_t len)
{
    struct cli_link *link = arg;
    (void)server;
    cli_progress_pause(&link->progress, true);
    cli_ask_put(link->ask, input, params, len, false);
}

static void on_elicit_url(void *arg, mcplug_server *server, mcplug_input *input,
                          const char *params, size_t len)
{
    struct cli_link *link = arg;
    (void)server;
    cli_progress_pause(&link->progress, true);
    cli_ask_put(link->ask, input, params, len, true);
}

static void on_roots(void *arg, mcplug_server *server, mcplug_input *input,
                     const char *params, size_t len)
{
    struct cli_link *link = arg;
    (void)server, (void)params, (void)len;
    mcplug_input_answer(input, link->roots);
}

static void on_closed(void *arg)
{
    struct cli_link *link = arg;
    link->closed = true;
}

/* ---- opening ---- */

static mcplug *host_new(struct cli_link *link, struct mcplug_error *err)
{
    const struct cli_args *args = &link->cli->args;
    struct mcplug_options options = {
        .struct_size = sizeof options,
        .log_level = MCPLUG_LOG_WARN + args->verbose,
        .client_name = "mcplug",
        .client_version = mcplug_version(),
        .plugin_dirs = args->plugin_dirs.items,
        .log = args->quiet ? NULL : on_log,
        .log_arg = link,
    };
    if (options.log_level > MCPLUG_LOG_TRACE)
        options.log_level = MCPLUG_LOG_TRACE;
    return mcplug_new(&options, err);
}

static uint32_t clamp(uint64_t ms)
{
    return ms > UINT32_MAX ? UINT32_MAX : (uint32_t)ms;
}

static int server_open(struct cli_link *link, const mcplug_settings *settings,
                       struct mcplug_error *err)
{
    const struct cli_args *args = &link->cli->args;
    struct mcplug_server_options options = {
        .struct_size = sizeof options,
        .timeout_ms = clamp(args->connect_timeout),
        .request_ms = clamp(args->timeout),
        .log_level = args->log_level,
        .revision = args->revision,
        .arg = link,
        .elicit = link->ask ? on_elicit : NULL,
        .elicit_url = link->ask ? on_elicit_url : NULL,
        .roots = link->roots ? on_roots : NULL,
        .logged = args->log_level ? on_logged : NULL,
        .remark = on_remark,
        .dropped = on_dropped,
    };
    return mcplug_open(link->host, settings, &options, on_ready, link, &link->server,
                       err);
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
                       "--log-level is one of debug, info, notice, warning, error, "
                       "critical, alert and emergency, not \"%.64s\"",
                       args->log_level);

    static const struct mp_scan_limits limits = {.depth = 64, .tokens = 100000};
    const char *meta = args->meta;
    if (meta && (mp_scan_text(meta, strlen(meta), &limits, NULL, err) != MCPLUG_OK ||
                 meta[strspn(meta, " \t\r\n")] != '{'))
        return mp_fail(err, MCPLUG_EINVAL, "--meta wants a JSON object");
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
static int prepare(struct cli_link *link, mcplug_settings **settings,
                   struct mcplug_error *err)
{
    const struct cli_args *args = &link->cli->args;

    int r = check_words(args, err);
    if (r != MCPLUG_OK)
        return r;
    if (args->roots.n && !(link->roots = cli_roots(args, err)))
        return MCPLUG_EINVAL;
    if (!cli_meta(args, &link->meta, err))
        return MCPLUG_ENOMEM;
    if (!(*settings = cli_settings(args, err)))
        return MCPLUG_EINVAL;
    link->progress.mode = progress_mode(args);
    if (!args->no_input && isatty(STDIN_FILENO) && isatty(STDERR_FILENO))
        link->ask = cli_ask_new();
    return MCPLUG_OK;
}

/* ---- turning ---- */

void cli_link_finish(struct cli_link *link, int exit_code)
{
    if (link->finished)
        return;
    link->finished = true;
    link->exit_code = exit_code;
}

/* What was printed is out before we wait for the server to go, and who reads it from a
 * pipe sees its end. */
static void let_go(struct cli_link *link)
{
    link->closing = true;
    cli_progress_end(&link->progress);
    cli_ask_abandon(link->ask);
    cli_out_close(&link->cli->out);
    mcplug_close(link->server, on_closed, link);
}

static int wait_ms(const struct cli_link *link)
{
    int ms = mcplug_timeout(link->host);
    uint64_t now = cli_now(), due = link->progress.due;
    if (link->closing && link->patience && (!due || link->patience < due))
        due = link->patience;
    if (due) {
        uint64_t left = due > now ? due - now : 0;
        if (ms < 0 || left < (uint64_t)ms)
            ms = (int)left;
    }
    return ms;
}

static void turn(struct cli_link *link)
{
    bool asking = cli_ask_waits(link->ask);
    struct pollfd fds[] = {
        {.fd = mcplug_fd(link->host), .events = POLLIN},
        {.fd = link->signal_fd, .events = POLLIN},
        {.fd = asking ? STDIN_FILENO : -1, .events = POLLIN},
    };
    poll(fds, 3, wait_ms(link));
    if (fds[1].revents)
        on_signal(link);
    if (fds[2].revents)
        cli_ask_read(link->ask);
    if (asking && !cli_ask_waits(link->ask))
        cli_progress_pause(&link->progress, false);
    cli_progress_tick(&link->progress);
    mcplug_turn(link->host, 0);
}

static void run(struct cli_link *link)
{
    while (!link->closed) {
        if (link->finished && !link->closing)
            let_go(link);
        if (link->patience && link->closing && cli_now() >= link->patience)
            _exit(link->exit_code);
        turn(link);
    }
}

int cli_link_run(struct cli *cli, cli_ready_fn *ready, void *job)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    struct cli_link link = {
        .cli = cli, .ready = ready, .job = job, .signal_fd = -1, .exit_code = CLI_USAGE};
    mcplug_settings *settings = NULL;

    if (prepare(&link, &settings, &err) != MCPLUG_OK) {
        cli_error("%s", err.text);
    } else {
        link.signal_fd = signals_open();
        link.host = host_new(&link, &err);
        if (!link.host || server_open(&link, settings, &err) != MCPLUG_OK)
            cli_link_fail(&link, &err, NULL);
        else
            run(&link);
    }
    mcplug_settings_free(settings);
    cli_ask_free(link.ask);
    if (link.host)
        mcplug_free(link.host);
    if (link.signal_fd >= 0)
        close(link.signal_fd);
    cli_remarks_clear(&link.remarks);
    mp_free(link.roots);
    mp_free(link.meta);
    return link.exit_code;
}
