#include "cli/commands/commands.h"

#include "base/error.h"
#include "base/mem.h"
#include "cli/base/by_name.h"
#include "cli/base/failure.h"
#include "cli/base/message.h"
#include "cli/base/model.h"
#include "cli/base/signals.h"
#include "cli/run/run.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MODEL_VARIABLE "MCPLUG_MODEL"

/* ---- what is asked for ---- */

static int check_args(struct cli_run *run)
{
    const struct cli_args *args = &run->cli->args;
    char *end = NULL;

    if (args->max_cost) {
        errno = 0;
        run->max_cost = strtod(args->max_cost, &end);
        if (end == args->max_cost || *end || errno || !isfinite(run->max_cost) ||
            run->max_cost <= 0) {
            cli_error("--max-cost: expected a number above 0, got \"%.64s\"",
                      args->max_cost);
            return CLI_USAGE;
        }
    }
    if (args->max_steps > UINT32_MAX) {
        cli_error("--max-steps: expected at most %u", UINT32_MAX);
        return CLI_USAGE;
    }
    if (args->tools_only && (args->words.n || args->resume || args->save)) {
        cli_error("--tools-only: there is no model, so %s has no meaning",
                  args->words.n  ? "a prompt"
                  : args->resume ? "--resume"
                                 : "--save");
        return CLI_USAGE;
    }
    if (args->tools_only && !args->servers.n && !args->server_command) {
        cli_error("--tools-only: no server given: use --server NAME, or put its command "
                  "after --");
        return CLI_USAGE;
    }
    return args->save ? cli_run_check_save(args->save) : CLI_OK;
}

/* ---- the model ---- */

static const char *model_name(const struct cli_run *run)
{
    const char *name = run->cli->args.model;
    return name ? name : getenv(MODEL_VARIABLE);
}

static int check_model(const struct cli_run *run)
{
    const char *name = model_name(run);

    if (name && *name)
        return cli_model_check(name, run->cli->args.model ? "--model" : MODEL_VARIABLE,
                               &run->cli->args.set);
    cli_error("no model given: use -m TYPE/NAME or a name of the configuration, or "
              "set " MODEL_VARIABLE ", for example -m " CLI_MODEL_EXAMPLE);
    return CLI_USAGE;
}

static int open_model(struct cli_run *run)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;

    if (!run->calls)
        return cli_model_open(run->cli, run->host, model_name(run), &run->cli->args.set,
                              &run->model);
    run->model = cli_calls_model(run->calls, &err);
    if (run->model)
        return CLI_OK;
    cli_error("%s", err.text);
    return CLI_INTERNAL;
}

/* ---- how it ends ---- */

void cli_run_finish(struct cli_run *run, int code)
{
    if (run->is_finished)
        return;
    run->is_finished = true;
    run->code = code;
}

void cli_run_stop(struct cli_run *run, int code)
{
    cli_run_ask_stop(run);
    if (run->code == CLI_OK)
        run->code = code;
    if (run->call)
        mcplug_cancel(run->call); /* its end ends us */
    else
        cli_run_finish(run, code);
}

/* Of this run and those before it. */
static uint64_t tokens_of(const struct cli_run *run)
{
    return run->spent.input + run->spent.output + run->usage.input + run->usage.output;
}

static double cost_of(const struct cli_run *run)
{
    return mcplug_model_cost(run->model, &run->spent) +
           mcplug_model_cost(run->model, &run->usage);
}

static void report_tokens(const struct cli_run *run)
{
    cli_error("stopped after %llu tokens: the limit is reached",
              (unsigned long long)tokens_of(run));
    cli_hint("--max-tokens N allows more.");
}

static void report_cost(const struct cli_run *run)
{
    cli_error("stopped at a cost of %.4g: the limit is reached", cost_of(run));
    cli_hint("--max-cost X allows more.");
}

static int report_end(struct cli_run *run, const struct mcplug_run_result *result)
{
    switch (result->end) {
    case MCPLUG_RUN_DONE:
        return CLI_OK;
    case MCPLUG_RUN_LENGTH:
        cli_error("the answer is not complete: it was as long as the model may answer");
        return CLI_UNFINISHED;
    case MCPLUG_RUN_REFUSED:
        cli_error("the model refused to answer");
        return CLI_UNFINISHED;
    case MCPLUG_RUN_FULL:
        cli_error("the conversation is too long for the model");
        return CLI_UNFINISHED;
    case MCPLUG_RUN_STEPS:
        cli_error("stopped after %u step%s, which is the limit", result->steps,
                  result->steps == 1 ? "" : "s");
        cli_hint("--max-steps N allows more.");
        break;
    case MCPLUG_RUN_TOKENS:
        report_tokens(run);
        break;
    case MCPLUG_RUN_COST:
        report_cost(run);
        break;
    case MCPLUG_RUN_TIME:
        cli_error("stopped: the time is over");
        cli_hint("--timeout TIME allows more.");
        break;
    default:
        cli_error("stopped: the model made the same call again and again");
        break;
    }
    if (run->save && !run->talk)
        cli_hint("`mcplug run --resume %s` goes on.", run->save);
    return CLI_RUN_LIMIT;
}

static int report_failure(struct cli_run *run, const struct mcplug_error *why)
{
    const char *text = why->text[0] ? why->text : mcplug_error_name(why->code);

    if (why->code == MCPLUG_ECANCELED && run->code != CLI_OK)
        return run->code; /* as asked: nothing to say */
    if (why->code == MCPLUG_ECANCELED && cli_talk_is_stopped(run->talk)) {
        cli_note("stopped");
        return CLI_OK;
    }
    if (why->code == MCPLUG_EPEER && why->peer_status)
        cli_error("the model's API answered with error %d: %s", why->peer_status, text);
    else
        cli_error("the model could not be asked: %s", text);
    if (why->code == MCPLUG_EAUTH)
        cli_hint("Check the key: --set apiKey=KEY, or the variable that `mcplug plugins "
                 "%.*s` names.",
                 (int)strcspn(model_name(run), "/"), model_name(run));
    return why->code == MCPLUG_ENOMEM ? CLI_INTERNAL : CLI_MODEL_FAILED;
}

static void on_done(void *arg, mcplug_call *call, const struct mcplug_run_result *result,
                    const struct mcplug_error *why)
{
    struct cli_run *run = arg;
    (void)call;

    run->call = NULL;
    cli_run_ask_drop(run);
    cli_progress_end(&run->progress);
    if (run->calls) {
        if (why)
            cli_run_finish(run, report_failure(run, why));
        cli_calls_ran(run->calls, why);
        return;
    }
    cli_run_end_line(run);
    int code = result ? report_end(run, result) : report_failure(run, why);
    cli_talk_ran(run->talk);
    int saved = run->save ? cli_run_save(run, run->save) : CLI_OK;
    code = code == CLI_OK ? saved : code;
    cli_run_put_result(run, result, code);
    if (run->talk && run->code == CLI_OK)
        cli_talk_go_on(run->talk, saved);
    else
        cli_run_finish(run, code);
}

/* What is left of the limits that hold for all runs together; false: nothing, which was
 * reported. */
static bool take_limits(const struct cli_run *run, struct mcplug_run_options *o)
{
    uint64_t max = run->cli->args.max_tokens;
    double cost = mcplug_model_cost(run->model, &run->spent);

    if (max && tokens_of(run) >= max) {
        report_tokens(run);
        return false;
    }
    if (run->max_cost > 0 && cost >= run->max_cost) {
        report_cost(run);
        return false;
    }
    o->max_tokens = max ? max - tokens_of(run) : 0;
    o->max_cost = cost > 0 ? run->max_cost - cost : run->max_cost;
    return true;
}

/* The next run is counted by itself. */
static void begin_counting(struct cli_run *run)
{
    cli_run_count(&run->spent, &run->usage);
    run->usage = (struct mcplug_usage){.struct_size = sizeof run->usage};
    run->steps = run->n_calls = run->text_step = 0;
    mp_str_reset(&run->text);
    run->began = cli_now();
}

int cli_run_start(struct cli_run *run)
{
    const struct cli_args *args = &run->cli->args;
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    struct mcplug_run_options o = {
        .struct_size = sizeof o,
        .max_steps = run->calls ? 2 : (uint32_t)args->max_steps,
        .model = run->model,
        .box = run->box,
        .system = run->system,
        .tools_allowed = args->tools.n ? (const char *const *)args->tools.items : NULL,
        .max_ms = args->timeout,
        .max_repeats = run->calls ? UINT32_MAX : 0,
        .arg = run,
        .event = cli_run_event,
        .approve = cli_run_approve,
        .tool_budget = args->tool_budget,
        .tools_first = run->calls ? NULL : cli_run_most_used(run),
    };

    if (run->calls) {
        run->thread = mcplug_thread_new();
        if (!run->thread ||
            mcplug_thread_say(run->thread, "Call the tools.") != MCPLUG_OK) {
            cli_error("out of memory");
            return CLI_INTERNAL;
        }
    }
    begin_counting(run);
    if (!take_limits(run, &o))
        return CLI_RUN_LIMIT;
    run->call = mcplug_thread_run(run->thread, &o, on_done, run, &err);
    if (run->call)
        return CLI_OK;
    cli_error("%s", err.text);
    return err.code == MCPLUG_ECONFIG  ? CLI_BAD_CONFIG
           : err.code == MCPLUG_EINVAL ? CLI_USAGE
                                       : CLI_INTERNAL;
}

/* ---- turning ---- */

static void on_stop(void *arg, int number)
{
    cli_run_stop(arg, CLI_SIGNAL + number);
}

/* What nobody reads any more is not worth its price. */
static void check_reader(struct cli_run *run, short revents)
{
    if (run->is_finished || run->code != CLI_OK)
        return;
    if (run->cli->out.failed)
        cli_run_stop(run, run->cli->out.failed == EPIPE ? CLI_BROKEN_PIPE : CLI_IO_ERROR);
    else if (revents & (POLLERR | POLLNVAL))
        cli_run_stop(run, CLI_BROKEN_PIPE);
}

static bool on_signal(void *arg, int number)
{
    struct cli_run *run = arg;
    return cli_talk_signal(run->talk, number);
}

static void on_restore(void *arg)
{
    struct cli_run *run = arg;
    cli_talk_leave(run->talk);
}

static void on_woken(void *arg, short revents)
{
    struct cli_run *run = arg;

    if (cli_run_asks(run) && revents)
        cli_run_ask_read(run);
    else if (cli_talk_waits(run->talk) && revents)
        cli_talk_read(run->talk);
    else if (cli_calls_waits(run->calls) && revents)
        cli_calls_read(run->calls);
    else
        check_reader(run, revents);
    cli_progress_tick(&run->progress);
}

static void turn(struct cli_run *run)
{
    struct cli_out *out = &run->cli->out;
    int fd = out->terminal || out->closed || run->loop.ending ? -1 : out->fd;
    short events = 0;

    bool asks = cli_run_asks(run);
    if (asks || cli_calls_waits(run->calls) || cli_talk_waits(run->talk)) {
        fd = asks ? run->ask.fd : STDIN_FILENO;
        events = POLLIN;
    }
    cli_loop_turn(&run->loop, fd, events, run->progress.due);
    check_reader(run, 0);
}

static void begin(struct cli_run *run)
{
    int code = CLI_OK;

    if (run->calls) {
        cli_calls_begin(run->calls);
        return;
    }
    if (run->talk) {
        cli_talk_begin(run->talk);
        return;
    }
    cli_progress_begin(&run->progress, "The model is");
    code = cli_run_start(run);
    if (code != CLI_OK)
        cli_run_finish(run, code);
}

static void on_freed(void *arg)
{
    struct cli_run *run = arg;
    run->is_freed = true;
}

/* What was printed is out before we wait for servers to go. */
static void let_go(struct cli_run *run)
{
    cli_talk_leave(run->talk);
    cli_loop_end(&run->loop, run->code);
    cli_progress_end(&run->progress);
    cli_failure_put(run->cli, run->code, NULL, NULL);
    cli_out_close(&run->cli->out);
    run->is_freed = !run->box;
    if (run->box)
        mcplug_toolbox_free(run->box, on_freed, run);
    while (!run->is_freed)
        cli_loop_turn(&run->loop, -1, 0, 0);
}

static void work(struct cli_run *run)
{
    bool has_begun = false;
    int code = open_model(run);

    if (code == CLI_OK)
        code = cli_run_open_servers(run);
    if (code != CLI_OK)
        cli_run_finish(run, code);
    if (run->n_awaited)
        cli_progress_begin(&run->progress, "The start of the servers is");
    while (!run->is_finished) {
        if (!has_begun && !run->n_awaited) {
            cli_progress_end(&run->progress);
            has_begun = true;
            begin(run);
        } else if (cli_talk_has_more(run->talk)) {
            cli_talk_read(run->talk);
        } else {
            turn(run);
        }
    }
    let_go(run);
}

/* ---- the command ---- */

static int prepare(struct cli_run *run)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    const struct cli_args *args = &run->cli->args;
    int code = check_args(run);

    if (code == CLI_OK && !args->tools_only) /* before anything is read */
        code = check_model(run);
    if (code == CLI_OK)
        code = cli_run_find_servers(run);
    if (code == CLI_OK && args->tools_only && !(run->calls = cli_calls_new(run)))
        code = CLI_INTERNAL;
    if (code == CLI_OK && cli_talk_wanted(run->cli) && !(run->talk = cli_talk_new(run)))
        code = CLI_INTERNAL;
    if (code != CLI_OK)
        return code;
    run->host = cli_host_new(run->cli, cli_run_log, run, &err);
    if (!run->host) {
        cli_error("%s", err.text);
        return err.code == MCPLUG_ECONFIG ? CLI_BAD_CONFIG : CLI_INTERNAL;
    }
    return args->tools_only ? CLI_OK : cli_run_read_prompt(run);
}

static void clear(struct cli_run *run)
{
    cli_run_ask_close(run);
    mcplug_model_free(run->model);
    if (run->host)
        mcplug_free(run->host);
    mcplug_thread_free(run->thread);
    cli_loop_close(&run->loop);
    cli_run_clear_servers(run);
    cli_run_clear_most_used(run);
    cli_calls_free(run->calls);
    cli_talk_free(run->talk);
    for (size_t i = 0; i < run->n_running; i++) {
        mp_free(run->running[i].id);
        mp_free(run->running[i].arguments);
    }
    mp_free(run->running);
    mp_free(run->system);
    mp_str_clear(&run->text);
}

static int run_command(struct cli *cli)
{
    struct cli_run run = {
        .cli = cli,
        .ask.fd = -1,
        .save = cli->args.save,
        .usage.struct_size = sizeof run.usage,
        .spent.struct_size = sizeof run.spent,
        .loop = {.signal_fd = -1,
                 .leave_ms = CLI_LEAVE_MS,
                 .arg = &run,
                 .stop = on_stop,
                 .other = on_signal,
                 .woken = on_woken,
                 .restore = on_restore},
    };

    mp_str_init(&run.text, CLI_RUN_TEXT_MAX);
    int code = prepare(&run);
    if (code == CLI_OK) {
        cli_run_ask_open(&run);
        run.progress.mode = isatty(STDERR_FILENO) && !cli->args.quiet ? CLI_PROGRESS_LINE
                                                                      : CLI_PROGRESS_OFF;
        cli_loop_open(&run.loop, run.host);
        if (run.talk) {
            cli_loop_close(&run.loop);
            run.loop.signal_fd = cli_signals_open_terminal();
        }
        work(&run);
        code = run.code;
    }
    clear(&run);
    return code;
}

static const struct cli_option options[] = {
    {"model", 'm', CLI_TEXT, "TYPE/NAME",
     "the model: a module's type and the API's name for it, such as " CLI_MODEL_EXAMPLE
     "; default: $" MODEL_VARIABLE,
     offsetof(struct cli_args, model), .complete.is = CLI_WORD_FREE},
    {"set", 0, CLI_LIST, "NAME=VALUE",
     "a setting of the model (mcplug plugins TYPE lists them), such as url=URL or "
     "priceInput=3; may be repeated",
     offsetof(struct cli_args, set), .complete.is = CLI_WORD_FREE},
    {"server", 's', CLI_LIST, "NAME",
     "a server whose tools the model may use; may be repeated; default: none",
     offsetof(struct cli_args, servers), .complete.is = CLI_WORD_SERVER_ENABLED},
    {"tools", 0, CLI_LIST, "PATTERN",
     "only tools with such a name, for example 'get_*'; may be repeated",
     offsetof(struct cli_args, tools), .complete.is = CLI_WORD_FREE},
    {"tool-budget", 0, CLI_NUMBER, "N",
     "let definitions of tools take N tokens; where all would take more, the model gets "
     "the most used ones and a search; default: a tenth of its context",
     offsetof(struct cli_args, tool_budget), .complete.is = CLI_WORD_FREE},
    {"system", 0, CLI_TEXT, "TEXT", "instructions for the model; @FILE reads a file",
     offsetof(struct cli_args, system), .complete.is = CLI_WORD_AT_FILE},
    {"yes", 'y', CLI_FLAG, NULL,
     "allow all tools without asking, but for those of toolsAsked",
     .at = offsetof(struct cli_args, yes)},
    {"max-steps", 0, CLI_NUMBER, "N", "ask the model at most N times; default: 50",
     offsetof(struct cli_args, max_steps), .complete.is = CLI_WORD_FREE},
    {"max-tokens", 0, CLI_NUMBER, "N",
     "stop when all requests and answers together have N tokens",
     offsetof(struct cli_args, max_tokens), .complete.is = CLI_WORD_FREE},
    {"max-cost", 0, CLI_TEXT, "X",
     "stop when X was spent; needs the settings priceInput and priceOutput",
     offsetof(struct cli_args, max_cost), .complete.is = CLI_WORD_FREE},
    {"timeout", 0, CLI_DURATION, "TIME", "stop after TIME: 30s, 5m, 1h",
     offsetof(struct cli_args, timeout), .complete.is = CLI_WORD_FREE},
    {"save", 0, CLI_TEXT, "FILE", "save the conversation, however the run ends",
     offsetof(struct cli_args, save), .complete.is = CLI_WORD_FILE},
    {"resume", 0, CLI_TEXT, "FILE", "go on with a conversation that was saved",
     offsetof(struct cli_args, resume), .complete.is = CLI_WORD_FILE},
    {"tools-only", 0, CLI_FLAG, NULL,
     "no model: make the calls of tools that are read from standard input as JSON",
     .at = offsetof(struct cli_args, tools_only)},
    {.name = NULL},
};

const struct cli_command cli_cmd_run = {
    .name = "run",
    .words = "[PROMPT...] [-- COMMAND...]",
    .summary = "Ask a model, which may use the tools of servers.",
    .details =
        "The answer is printed as it comes; calls of tools are reported on standard "
        "error. The model gets the tools of the servers that --server names, or whose "
        "command stands behind --, and of no others.\n\n"
        "A word @FILE attaches an image or a PDF, or inserts a text; @@ begins a word "
        "with an @. What is piped into standard input comes before the prompt.\n\n"
        "Without a prompt, at a terminal, it is a conversation: a line is typed, the "
        "model answers, and so on. /help there says how. Steps and time are then limited "
        "for each answer, tokens and cost for all of them.\n\n"
        "Before a tool is called that does not say that it only reads, the user is asked "
        "at the terminal. Without one it is not called, unless --yes is given. The "
        "answer a allows the tool for the rest of the run; the key toolsApproved of the "
        "server's entry does so for good. Tools that its key toolsAsked names are always "
        "asked about, also with --yes. What a server asks in the middle of a call is "
        "asked at the terminal, too.\n\n"
        "The exit code is 6 if the model could not be asked, 7 if a limit was reached, "
        "and 8 if the answer is not complete or was refused.",
    .options = options,
    .flags = CLI_CONFIG | CLI_IN_PLACE | CLI_LINES,
    .max_words = CLI_MANY,
    .complete = {{.is = CLI_WORD_AT_FILE}},
    .run = run_command,
};
