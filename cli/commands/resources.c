#include "cli/commands/commands.h"

#include "cli/base/content.h"
#include "cli/base/listing.h"

static mp_view address(mp_view item, bool *is_template)
{
    mp_view uri = mp_view_get(item, "uriTemplate");
    *is_template = uri.len != 0;
    return *is_template ? uri : mp_view_get(item, "uri");
}

static void brief(struct cli_out *out, mp_view item)
{
    bool is_template;
    mp_view uri = address(item, &is_template), mime = mp_view_get(item, "mimeType");

    cli_out_style(out, CLI_BOLD);
    cli_out_view(out, uri);
    cli_out_style(out, CLI_PLAIN);
    cli_out_s(out, "  ");
    cli_out_view(out, mp_view_get(item, "name"));
    if (mp_view_is_string(mime)) {
        cli_out_s(out, "  ");
        cli_out_view(out, mime);
    }
    cli_out_s(out, is_template ? "  (template)\n" : "\n");
    cli_put_brief(out, mp_view_get(item, "description"));
}

static void full(struct cli_out *out, mp_view item)
{
    bool is_template;
    cli_put_head(out, address(item, &is_template), item);
    cli_out_s(out, "\n");
    cli_put_line(out, "Name", mp_view_get(item, "name"));
    cli_put_line(out, "Type", mp_view_get(item, "mimeType"));
    cli_put_line(out, "Size", mp_view_get(item, "size"));
    cli_put_value(out, "Annotations", mp_view_get(item, "annotations"));
}

static int run(struct cli *cli)
{
    static const struct cli_listing resources = {
        .kinds = {MCPLUG_RESOURCES, MCPLUG_TEMPLATES},
        .noun = "resource",
        .brief = brief,
        .full = full,
    };
    return cli_listing_run(cli, &resources);
}

const struct cli_command cli_cmd_resources = {
    .name = "resources",
    .words = "[URI]",
    .summary = "List the server's resources and resource templates, or show one in full.",
    .details = "Each one is shown with its URI, name and MIME type. Templates have "
               "{placeholders} in their URI; fill them in and use `mcplug read`.",
    .options = cli_listing_options,
    .flags = CLI_SERVER,
    .max_words = 1,
    .complete = {{.is = CLI_WORD_RESOURCE}},
    .run = run,
};
