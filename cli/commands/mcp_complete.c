#include "cli/commands/commands.h"

#include "base/error.h"
#include "cli/base/content.h"
#include "cli/base/oneshot.h"
#include "cli/base/message.h"
#include "cli/base/key_value.h"
#include "cli/complete/words.h"

#include <stdlib.h>
#include <string.h>

static void on_result(struct cli_oneshot *link, void *arg, const struct cli_doc *doc)
{
    struct cli_out *out = &link->cli->out;
    mp_view result = cli_doc_view(doc), value;
    int r = MCPLUG_OK;
    (void)arg;

    if (link->cli->args.json) {
        r = cli_doc_json(doc, result, out);
        cli_out_s(out, "\n");
    } else {
        struct mp_walk w = mp_walk_into(mp_view_path(result, "completion/values"));
        while (mp_walk_element(&w, &value)) {
            cli_out_view(out, value);
            cli_out_s(out, "\n");
        }
    }
    cli_oneshot_done(link, r, CLI_OK);
}

static void on_ready(struct cli_oneshot *link, void *arg)
{
    cli_oneshot_request(link, "Completion", "completion/complete", arg, on_result);
}

/* `known` are the arguments that were filled in before. */
static json_t *make_tree(const char *const *words, size_t n, json_t *known)
{
    bool prompt = strcmp(words[0], "prompt") == 0;
    json_t *params =
        json_pack("{s:{s:s,s:s},s:{s:s,s:s}}", "ref", "type",
                  prompt ? "ref/prompt" : "ref/resource", prompt ? "name" : "uri",
                  words[1], "argument", "name", words[2], "value", n > 3 ? words[3] : "");
    if (params && json_object_size(known))
        json_object_set_new(params, "context", json_pack("{s:O}", "arguments", known));
    return params;
}

static char *make_params(const struct cli_args *args, struct mcplug_error *err)
{
    const char *const *words = args->words.items;
    size_t n = args->words.n, rest = n > 4 ? 4 : n;
    struct cli_words context;

    if (strcmp(words[0], "prompt") != 0 && strcmp(words[0], "resource") != 0) {
        mp_fail(err, MCPLUG_EINVAL, "complete a \"prompt\" or a \"resource\", not \"%s\"",
                words[0]);
        return NULL;
    }
    json_t *known = NULL, *params = NULL;
    char *text = NULL;
    if (cli_words_read(words + rest, n - rest, &context, err) == MCPLUG_OK)
        known = cli_words_strings(&context, err);
    if (known) {
        params = make_tree(words, n, known);
        text = params ? json_dumps(params, JSON_COMPACT) : NULL;
        if (!text)
            mp_fail(err, MCPLUG_EINVAL, "a word is not UTF-8");
    }
    json_decref(params);
    json_decref(known);
    cli_words_clear(&context);
    return text;
}

static int run(struct cli *cli)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    char *params = make_params(&cli->args, &err);
    int code = CLI_USAGE;
    if (params)
        code = cli_oneshot_run(cli, on_ready, params);
    else
        cli_error("%s", err.text);
    free(params);
    return code;
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
    .summary = "Ask the server how an argument may go on.",
    .details =
        "NAME is that of a prompt, or the URI of a resource template; ARGUMENT one "
        "of its arguments or placeholders, VALUE what is typed of it so far. "
        "Behind it may stand the arguments that have their value already. What "
        "the server offers is printed, one per line.",
    .flags = CLI_SERVER | CLI_REQUEST,
    .min_words = 3,
    .max_words = CLI_MANY,
    .complete = {{.choices = references},
                 {.offer = offer_names},
                 {.offer = offer_arguments},
                 {.is = CLI_WORD_FREE}},
    .run = run,
};
