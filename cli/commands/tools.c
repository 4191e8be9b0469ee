#include "cli/commands/commands.h"

#include "base/buf.h"
#include "cli/base/catalogue.h"
#include "cli/base/content.h"
#include "cli/base/lint.h"
#include "cli/base/listing.h"
#include "cli/base/message.h"

static void brief(struct cli_out *out, mp_view tool)
{
    struct mp_str arguments;
    mp_str_init(&arguments, (size_t)1 << 18);
    cli_schema_summary(mp_view_get(tool, "inputSchema"), &arguments);

    cli_out_style(out, CLI_BOLD);
    cli_out_view(out, mp_view_get(tool, "name"));
    cli_out_style(out, CLI_PLAIN);
    if (arguments.len) {
        cli_out_s(out, " ");
        cli_out_shown(out, arguments.data, arguments.len);
    }
    cli_out_s(out, "\n");
    cli_put_brief(out, mp_view_get(tool, "description"));
    mp_str_clear(&arguments);
}

static void full(struct cli_out *out, mp_view tool)
{
    cli_put_head(out, mp_view_get(tool, "name"), tool);
    cli_put_value(out, "Input schema", mp_view_get(tool, "inputSchema"));
    cli_put_value(out, "Output schema", mp_view_get(tool, "outputSchema"));
    cli_put_value(out, "Annotations", mp_view_get(tool, "annotations"));
}

static int run(struct cli *cli)
{
    static const struct cli_listing tools = {
        .kinds = {MCPLUG_TOOLS}, .noun = "tool", .brief = brief, .full = full};
    const struct cli_args *args = &cli->args;
    if (args->lint || args->repair)
        return cli_lint_run(cli, &tools);
    if (args->providers) {
        cli_error("--for needs --lint or --repair");
        return CLI_USAGE;
    }
    return args->server || cli_args_alter(args) ? cli_listing_run(cli, &tools)
                                                : cli_catalogue_run(cli, &tools);
}

const struct cli_command cli_cmd_tools = {
    .name = "tools",
    .words = "[NAME]",
    .summary = "List the server's tools, or show one in full.",
    .details =
        "Each tool is shown with its arguments as NAME:TYPE, optional ones in brackets, "
        "and the first line of its description. With NAME, that tool is shown with its "
        "whole description and schemas. Without a server, the tools that all configured "
        "servers listed last are shown, and no server is started.\n"
        "--lint reports what the APIs of models refuse in the definitions, what mcplug "
        "does about it and what the author of the server should do. The exit status is 1 "
        "if a definition would be refused as it is. --repair prints the definitions as "
        "mcplug sends them, as a JSON document like the result of tools/list.",
    .options = cli_lint_options,
    .flags = CLI_SERVER | CLI_ALL_SERVERS,
    .max_words = 1,
    .complete = {{.is = CLI_WORD_TOOL}},
    .run = run,
};
