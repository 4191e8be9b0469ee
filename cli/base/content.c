#include "cli/base/content.h"

#include "base/buf.h"

#define WORD_MAX ((size_t)1 << 16)

void cli_out_view(struct cli_out *out, mp_view string)
{
    struct mp_str text;
    mp_str_init(&text, WORD_MAX);
    if (string.len <= WORD_MAX)
        mp_str_add_view(&text, string);
    cli_out_shown(out, text.data, text.len);
    mp_str_clear(&text);
}

int cli_content_block(const struct cli_doc *doc, const struct mcplug_block *block,
                      struct cli_out *out)
{
    if (block->kind == MCPLUG_BLOCK_OTHER)
        return cli_doc_json(doc, block->json, out);
    if (block->kind == MCPLUG_BLOCK_TEXT && block->text.len)
        return cli_doc_text(doc, block->text, out);
    int r = mcplug_block_write(doc->result, block, cli_doc_text_sink, out, NULL);
    cli_out_text_end(out);
    if (block->kind != MCPLUG_BLOCK_TEXT && !block->text.len)
        cli_out_s(out, "\n");
    return r;
}

int cli_content_blocks(const struct cli_doc *doc, mp_view blocks, size_t skip,
                       struct cli_out *out)
{
    struct mcplug_block block = {.struct_size = sizeof block};
    int r = MCPLUG_OK;
    while (r == MCPLUG_OK && !out->failed && mcplug_block_next(&blocks, &block)) {
        if (skip) {
            skip--;
            continue;
        }
        cli_out_fresh_line(out);
        r = cli_content_block(doc, &block, out);
    }
    return r;
}

static int data_sink(void *arg, const char *data, size_t len)
{
    struct cli_out *out = arg;
    cli_out_add(out, data, len);
    return !out->failed;
}

int cli_content_data(const struct cli_doc *doc, const struct mcplug_block *block,
                     struct cli_out *out)
{
    return mcplug_block_write_data(doc->result, block, data_sink, out, NULL);
}
