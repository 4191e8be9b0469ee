#include "cli/commands/commands.h"

#include "base/buf.h"
#include "base/mem.h"
#include "cli/base/content.h"
#include "cli/base/oneshot.h"
#include "cli/base/message.h"
#include "cli/base/pictures.h"
#include "cli/base/save.h"
#include "cli/base/table.h"

#include <string.h>

/* ---- the parts ---- */

/* What there is to write; text counts where a part has both. */
static bool has_content(const struct mcplug_block *part)
{
    return part->text.len || part->data.len;
}

static size_t count_parts(mp_view parts, size_t *n_data)
{
    struct mcplug_block part = {.struct_size = sizeof part};
    size_t n = 0;

    *n_data = 0;
    while (mcplug_block_next(&parts, &part)) {
        n += has_content(&part);
        *n_data += part.data.len && !part.text.len;
    }
    return n;
}

static int put_part(const struct cli_doc *doc, const struct mcplug_block *part,
                    struct cli_out *out)
{
    if (out->terminal)
        return cli_content_block(doc, part, out);
    return part->text.len ? cli_doc_text(doc, part->text, out)
                          : cli_content_data(doc, part, out);
}

/* One part is as the server has it. Several never run together: each begins a line, and
 * says which one it is. */
static int put_parts(const struct cli_doc *doc, mp_view parts, struct cli_out *out)
{
    struct mcplug_block part = {.struct_size = sizeof part};
    size_t n_data, n = count_parts(parts, &n_data);
    int r = MCPLUG_OK;

    while (r == MCPLUG_OK && !out->failed && mcplug_block_next(&parts, &part)) {
        if (!has_content(&part))
            continue;
        cli_out_fresh_line(out);
        if (n > 1 && !doc->raw) {
            cli_out_s(out, "Resource: ");
            cli_out_view(out, part.uri);
            cli_out_s(out, "\n");
        }
        r = put_part(doc, &part, out);
    }
    if (out->terminal || (!doc->raw && !n_data))
        cli_out_fresh_line(out);
    return r;
}

/* Data between texts would be of no use, and nothing says where it ends. */
static bool can_put(struct cli_oneshot *link, mp_view parts)
{
    size_t n_data, n = count_parts(parts, &n_data);

    if (n < 2 || !n_data || link->cli->out.terminal)
        return true;
    cli_error("%s has %zu parts, and not all of them are text",
              link->cli->args.words.items[0], n);
    cli_hint("-o DIR/ saves each of them, --json prints them.");
    cli_oneshot_finish(link, CLI_BAD_ARGUMENTS);
    return false;
}

static void print(struct cli_oneshot *link, void *arg, const struct cli_doc *doc)
{
    struct cli_out *out = &link->cli->out;
    mp_view parts = mp_view_get(cli_doc_view(doc), "contents");
    struct cli_seen seen = {0};
    (void)arg;

    if (!can_put(link, parts))
        return;
    int r = put_parts(doc, parts, out);
    if (r == MCPLUG_EPROTO) {
        cli_error("the blob of %s is not Base64", link->cli->args.words.items[0]);
        cli_oneshot_finish(link, CLI_BROKEN_PROTOCOL);
        return;
    }
    cli_seen_add(&seen, parts);
    cli_seen_tell(&seen, link, true);
    cli_oneshot_done(link, r, CLI_OK);
}

static void on_result(struct cli_oneshot *link, void *arg, const struct cli_doc *doc)
{
    struct cli_save *save = arg;
    mp_view parts = mp_view_get(cli_doc_view(doc), "contents"), none = {0};

    if (link->cli->args.table) {
        cli_table_result(link, save, doc, none, parts);
        return;
    }
    if (cli_save_document(save, link, doc))
        return;
    if (save->to)
        cli_save_done(link, doc, cli_save_blocks(save, link->cli, doc, parts));
    else if (!cli_oneshot_put_json(link, doc, CLI_OK) &&
             !cli_pictures_draw(link, doc, parts, print))
        print(link, arg, doc);
}

static void on_ready(struct cli_oneshot *link, void *arg)
{
    const char *uri = link->cli->args.words.items[0];
    struct mp_str params;
    (void)arg;
    mp_str_init(&params, (size_t)1 << 20);
    mp_str_adds(&params, "{\"uri\":");
    mp_str_add_json(&params, uri, strlen(uri));
    mp_str_adds(&params, "}");
    cli_oneshot_request(link, uri, "resources/read", params.data, on_result);
    mp_str_clear(&params);
}

static int run(struct cli *cli)
{
    struct cli_save save = {0};
    int code = CLI_BAD_ARGUMENTS;

    if (cli->args.table && cli->args.json)
        cli_error("use either --table or --json, not both");
    else
        code = cli_save_begin(&save, &cli->args);

    if (code == CLI_OK)
        code = cli_oneshot_run(cli, on_ready, &save);
    cli_save_end(&save);
    return code;
}

static const struct cli_option options[] = {
    CLI_SAVE_OPTIONS,
    {"raw", 0, CLI_FLAG, NULL,
     "add no newline to text that ends without one; a terminal gets it anyway",
     .at = offsetof(struct cli_args, raw)},
    CLI_IMAGES_OPTION,
    CLI_TABLE_OPTION,
    {.name = NULL},
};

const struct cli_command cli_cmd_read = {
    .name = "read",
    .words = "URI",
    .summary = "Read a resource.",
    .details = "Text and data are written byte for byte; on standard output, a newline "
               "is added to a text that ends without one. On a terminal, text is escaped "
               "and data is replaced by a note; -o saves it. Images are shown below the "
               "note, if the modules image and chafa are there.",
    .hint = "resources",
    .options = options,
    .flags = CLI_SERVER | CLI_REQUEST,
    .min_words = 1,
    .max_words = 1,
    .complete = {{.is = CLI_WORD_RESOURCE}},
    .run = run,
};
