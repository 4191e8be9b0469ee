/* What a command asks of its server. */
#include "cli/base/oneshot.h"

#include "base/error.h"
#include "cli/base/catalogue.h"
#include "cli/base/key_value.h"
#include "cli/base/message.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void on_progress(void *arg, mcplug_call *call, double progress, double total,
                        const char *message)
{
    struct cli_oneshot *link = arg;
    (void)call;
    cli_progress_news(&link->progress, progress, total, message);
}

static void on_done(void *arg, mcplug_call *call, mcplug_result *result,
                    const struct mcplug_error *why)
{
    struct cli_oneshot *link = arg;
    struct cli_doc doc;
    (void)call;

    link->call = NULL;
    cli_progress_end(&link->progress);
    cli_ask_stop(link->ask);
    if (link->finished)
        return;
    if (why || !result) {
        struct mcplug_error none = MCPLUG_ERROR_INIT;
        none.code = MCPLUG_EPROTO;
        cli_oneshot_fail(link, why ? why : &none, result);
        return;
    }
    cli_doc_init(&doc, result);
    doc.raw = link->cli->args.raw;
    link->done(link, link->job, &doc);
}

static void fill_options(struct cli_oneshot *link, struct mcplug_call_options *options)
{
    memset(options, 0, sizeof *options);
    options->struct_size = sizeof *options;
    options->timeout_ms = link->cli->args.timeout;
    options->meta = link->meta;
    if (link->progress.mode != CLI_PROGRESS_OFF) {
        options->progress = on_progress;
        options->progress_arg = link;
    }
}

/* `call` is what a request function returned. */
static void started(struct cli_oneshot *link, mcplug_call *call, cli_result_fn *fn,
                    const struct mcplug_error *err)
{
    link->call = call;
    link->done = fn;
    if (!call)
        cli_oneshot_fail(link, err, NULL);
}

void cli_oneshot_request(struct cli_oneshot *link, const char *what, const char *method,
                         const char *params, cli_result_fn *fn)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    struct mcplug_call_options options;
    fill_options(link, &options);
    cli_progress_begin(&link->progress, what);
    started(link,
            mcplug_request(link->server, method, params, &options, on_done, link, &err),
            fn, &err);
}

void cli_oneshot_call_tool(struct cli_oneshot *link, const char *tool,
                           const char *arguments, cli_result_fn *fn)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    struct mcplug_call_options options;
    char what[128];
    snprintf(what, sizeof what, "Tool '%s'", tool);
    fill_options(link, &options);
    cli_progress_begin(&link->progress, what);
    started(
        link,
        mcplug_call_tool(link->server, tool, arguments, &options, on_done, link, &err),
        fn, &err);
}

void cli_oneshot_ping(struct cli_oneshot *link, cli_result_fn *fn)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    struct mcplug_call_options options = {.struct_size = sizeof options,
                                          .timeout_ms = link->cli->args.timeout};
    started(link, mcplug_ping(link->server, &options, on_done, link, &err), fn, &err);
}

/* ---- lists ---- */

static void on_list(void *arg, mcplug_call *call, mcplug_list *list,
                    const struct mcplug_error *why)
{
    struct cli_list_wish *wish = arg;
    struct cli_oneshot *link = wish->link;
    struct mcplug_error none = MCPLUG_ERROR_INIT;
    (void)call;
    none.code = MCPLUG_EPROTO;
    if (!link->finished)
        wish->fn(link, link->job, wish->kind, list, list ? NULL : why ? why : &none);
}

void cli_oneshot_list(struct cli_oneshot *link, enum mcplug_kind kind, cli_list_fn *fn)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    size_t slot = kind == MCPLUG_TOOLS       ? 0
                  : kind == MCPLUG_PROMPTS   ? 1
                  : kind == MCPLUG_RESOURCES ? 2
                                             : 3;
    struct cli_list_wish *wish = &link->wishes[slot];
    *wish = (struct cli_list_wish){link, kind, fn};
    if (!mcplug_get_list(link->server, kind, NULL, on_list, wish, &err))
        fn(link, link->job, kind, NULL, &err);
}

/* ---- what goes, and what comes ---- */

static char *make_params(const struct cli_list *words, size_t first, cli_params_fn *make,
                         struct mcplug_error *err)
{
    size_t at = first < words->n ? first : words->n;
    struct cli_words pairs;
    json_t *arguments = NULL, *params = NULL;
    char *text = NULL;

    if (cli_words_read(words->items + at, words->n - at, &pairs, err) == MCPLUG_OK)
        arguments = cli_words_strings(&pairs, err);
    if (arguments) {
        params = make(words, arguments);
        text = params ? json_dumps(params, JSON_COMPACT) : NULL;
        if (!text)
            mp_fail(err, MCPLUG_EINVAL, "an argument is not UTF-8");
    }
    json_decref(params);
    json_decref(arguments);
    cli_words_clear(&pairs);
    return text;
}

int cli_oneshot_run_words(struct cli *cli, size_t first, cli_params_fn *make,
                          cli_ready_fn *ready)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    char *params = make_params(&cli->args.words, first, make, &err);
    int code;

    if (params) {
        code = cli_oneshot_run(cli, ready, params);
    } else {
        cli_error("%s", err.text);
        code = cli_words_outcome(&err);
    }
    free(params);
    return code;
}

bool cli_oneshot_put_json(struct cli_oneshot *link, const struct cli_doc *doc,
                          int exit_code)
{
    if (!link->cli->args.json)
        return false;
    int r = cli_doc_json(doc, cli_doc_view(doc), &link->cli->out);
    if (r == MCPLUG_OK)
        cli_out_s(&link->cli->out, "\n");
    cli_oneshot_done(link, r, exit_code);
    return true;
}
