#include "cli/commands/commands.h"

#include "cli/base/content.h"
#include "cli/base/listing.h"

static void put_arguments(struct cli_out *out, mp_view prompt)
{
    struct mp_walk w = mp_walk_into(mp_view_get(prompt, "arguments"));
    mp_view argument;
    while (mp_walk_element(&w, &argument)) {
        bool needed = mp_view_true(mp_view_get(argument, "required"));
        cli_out_s(out, needed ? " " : " [");
        cli_out_view(out, mp_view_get(argument, "name"));
        cli_out_s(out, needed ? "" : "]");
    }
}

static void brief(struct cli_out *out, mp_view prompt)
{
    cli_out_style(out, CLI_BOLD);
    cli_out_view(out, mp_view_get(prompt, "name"));
    cli_out_style(out, CLI_PLAIN);
    put_arguments(out, prompt);
    cli_out_s(out, "\n");
    cli_put_brief(out, mp_view_get(prompt, "description"));
}

static void full(struct cli_out *out, mp_view prompt)
{
    struct mp_walk w = mp_walk_into(mp_view_get(prompt, "arguments"));
    mp_view argument;
    bool any = false;

    cli_put_head(out, mp_view_get(prompt, "name"), prompt);
    while (mp_walk_element(&w, &argument)) {
        cli_out_s(out, any ? "  " : "\nArguments:\n  ");
        any = true;
        cli_out_view(out, mp_view_get(argument, "name"));
        if (!mp_view_true(mp_view_get(argument, "required")))
            cli_out_s(out, " (optional)");
        cli_out_s(out, "\n");
        cli_put_brief(out, mp_view_get(argument, "description"));
    }
}

static int run(struct cli *cli)
{
    static const struct cli_listing prompts = {
        .kinds = {MCPLUG_PROMPTS}, .noun = "prompt", .brief = brief, .full = full};
    return cli_listing_run(cli, &prompts);
}

const struct cli_command cli_cmd_prompts = {
    .name = "prompts",
    .words = "[NAME]",
    .summary = "List the server's prompts, or show one in full.",
    .details = "Each prompt is shown with its arguments, optional ones in brackets.",
    .options = cli_listing_options,
    .flags = CLI_SERVER,
    .max_words = 1,
    .complete = {{.is = CLI_WORD_PROMPT}},
    .run = run,
};
