#include "cli/commands/commands.h"

#include "cli/base/content.h"
#include "cli/base/oneshot.h"
#include "cli/base/message.h"
#include "cli/complete/words.h"

#include <string.h>

static void on_result(struct cli_oneshot *link, void *arg, const struct cli_doc *doc)
{
    struct cli_out *out = &link->cli->out;
    mp_view result = cli_doc_view(doc), value;
    (void)arg;

    if (cli_oneshot_put_json(link, doc, CLI_OK))
        return;
    struct mp_walk w = mp_walk_into(mp_view_path(result, "completion/values"));
    while (mp_walk_element(&w, &value)) {
        cli_out_view(out, value);
        cli_out_s(out, "\n");
    }
    cli_oneshot_done(link, MCPLUG_OK, CLI_OK);
}

static void on_ready(struct cli_oneshot *link, void *arg)
{
    cli_oneshot_request(link, "Completion", "completion/complete", arg, on_result);
}

/* `known` are the arguments that were filled in before. */
static json_t *make_params(const struct cli_list *words, json_t *known)
{
    const char *const *w = words->items;
    bool prompt = strcmp(w[0], "prompt") == 0;
    json_t *params =
        json_pack("{s:{s:s,s:s},s:{s:s,s:s}}", "ref", "type",
                  prompt ? "ref/prompt" : "ref/resource", prompt ? "name" : "uri", w[1],
                  "argument", "name", w[2], "value", words->n > 3 ? w[3] : "");
    if (params && json_object_size(known))
        json_object_set_new(params, "context", json_pack("{s:O}", "arguments", known));
    return params;
}

static int run(struct cli *cli)
{
    const char *what = cli->args.words.items[0];

    if (strcmp(what, "prompt") != 0 && strcmp(what, "resource") != 0) {
        cli_error("expected \"prompt\" or \"resource\", got \"%s\"", what);
        return CLI_USAGE;
    }
    return cli_oneshot_run_words(cli, 4, make_params, on_ready);
}

/* ---- how its own words are completed ---- */

static const struct cli_choice references[] = {
    {"prompt", "an argument of a prompt"},
    {"resource", "a placeholder of a template"},
    {0},
};

static void offer_names(struct cli_cursor *at)
{
    bool prompt = strcmp(at->own[0], "prompt") == 0;
    cli_candidates_items(at, prompt ? MCPLUG_PROMPTS : MCPLUG_TEMPLATES);
}

static void offer_arguments(struct cli_cursor *at)
{
    if (strcmp(at->own[0], "prompt") == 0)
        cli_candidates_argument_names(at, at->own[1]);
}

const struct cli_command cli_cmd_complete = {
    .name = "complete",
    .words = "prompt|resource NAME ARGUMENT [VALUE [KEY=VALUE...]]",
    .summary = "Ask for completions of a partly typed argument.",
    .details = "NAME is the name of a prompt or the URI of a resource template, ARGUMENT "
               "one of its arguments or placeholders, VALUE what has been typed so far. "
               "KEY=VALUE gives arguments that are already known. The server's "
               "completions are printed, one per line.",
    .flags = CLI_SERVER | CLI_REQUEST,
    .min_words = 3,
    .max_words = CLI_MANY,
    .complete = {{.choices = references},
                 {.offer = offer_names},
                 {.offer = offer_arguments},
                 {.is = CLI_WORD_FREE}},
    .run = run,
};
