#include "cli/commands/commands.h"

#include "cli/base/content.h"
#include "cli/base/oneshot.h"
#include "cli/base/listing.h"

static int put_message(const struct cli_doc *doc, mp_view message, struct cli_out *out)
{
    cli_out_fresh_line(out);
    cli_out_style(out, CLI_BOLD);
    cli_out_view(out, mp_view_get(message, "role"));
    cli_out_s(out, ":");
    cli_out_style(out, CLI_PLAIN);
    cli_out_s(out, "\n");
    int r = cli_content_blocks(doc, mp_view_get(message, "content"), 0, out);
    cli_out_fresh_line(out);
    return r;
}

static void on_result(struct cli_oneshot *link, void *arg, const struct cli_doc *doc)
{
    struct cli_out *out = &link->cli->out;
    mp_view result = cli_doc_view(doc), message;
    struct cli_seen seen = {0};
    int r = MCPLUG_OK;
    (void)arg;

    if (cli_oneshot_put_json(link, doc, CLI_OK))
        return;
    struct mp_walk w = mp_walk_into(mp_view_get(result, "messages"));
    cli_put_brief(out, mp_view_get(result, "description"));
    while (r == MCPLUG_OK && mp_walk_element(&w, &message)) {
        r = put_message(doc, message, out);
        cli_seen_add(&seen, mp_view_get(message, "content"));
    }
    cli_seen_tell(&seen, link, false);
    cli_oneshot_done(link, r, CLI_OK);
}

static void on_ready(struct cli_oneshot *link, void *arg)
{
    cli_oneshot_request(link, link->cli->args.words.items[0], "prompts/get", arg,
                        on_result);
}

static json_t *make_params(const struct cli_list *words, json_t *arguments)
{
    json_t *params = json_pack("{s:s}", "name", words->items[0]);
    if (params && json_object_size(arguments))
        json_object_set(params, "arguments", arguments);
    return params;
}

static int run(struct cli *cli)
{
    return cli_oneshot_run_words(cli, 1, make_params, on_ready);
}

const struct cli_command cli_cmd_prompt = {
    .name = "prompt",
    .words = "NAME [KEY=VALUE...]",
    .summary = "Fill in a prompt and print its messages.",
    .details = "Arguments are text. KEY=@FILE reads the value from a file, KEY=@- from "
               "standard input; write @@ for a value that begins with @.",
    .hint = "prompts",
    .flags = CLI_SERVER | CLI_REQUEST,
    .min_words = 1,
    .max_words = CLI_MANY,
    .complete = {{.is = CLI_WORD_PROMPT}, {.is = CLI_WORD_PROMPT_ARGUMENT}},
    .run = run,
};
