#include "cli/base/content.h"

#include "base/buf.h"
#include "cli/base/base64.h"

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

struct blob {
    struct cli_base64 state;
    struct cli_out *out; /* NULL: only count */
};

static int blob_sink(void *arg, const char *data, size_t len)
{
    struct blob *blob = arg;
    char bytes[4096];
    while (len && !blob->state.malformed) {
        size_t n = len < sizeof bytes ? len : sizeof bytes;
        size_t put = cli_base64_feed(&blob->state, data, n, bytes);
        if (blob->out)
            cli_out_add(blob->out, bytes, put);
        data += n;
        len -= n;
    }
    return !blob->state.malformed && !(blob->out && blob->out->failed);
}

int cli_content_blob(const struct cli_doc *doc, mp_view base64, struct cli_out *out)
{
    struct blob blob = {.out = out};
    int r = cli_doc_string(doc, base64, blob_sink, &blob);
    return r == MCPLUG_OK && blob.state.malformed ? MCPLUG_EPROTO : r;
}

int cli_content_note(const struct cli_doc *doc, mp_view mime, mp_view base64,
                     struct cli_out *out)
{
    struct blob blob = {.out = NULL};
    int r = cli_doc_string(doc, base64, blob_sink, &blob);

    cli_out_s(out, "[");
    if (mp_view_is_string(mime))
        cli_out_view(out, mime);
    else
        cli_out_s(out, "application/octet-stream");
    if (blob.state.malformed)
        cli_out_s(out, ", not Base64]\n");
    else
        cli_out_f(out, ", %llu bytes]\n", (unsigned long long)blob.state.size);
    return r;
}

static int text_block(const struct cli_doc *doc, mp_view block, struct cli_out *out)
{
    return cli_doc_text(doc, mp_view_get(block, "text"), out);
}

static int data_block(const struct cli_doc *doc, mp_view block, struct cli_out *out)
{
    return cli_content_note(doc, mp_view_get(block, "mimeType"),
                            mp_view_get(block, "data"), out);
}

static int link_block(const struct cli_doc *doc, mp_view block, struct cli_out *out)
{
    (void)doc;
    cli_out_s(out, "Resource link: ");
    cli_out_view(out, mp_view_get(block, "uri"));
    cli_out_s(out, "\n");
    return MCPLUG_OK;
}

static int resource_block(const struct cli_doc *doc, mp_view block, struct cli_out *out)
{
    mp_view resource = mp_view_get(block, "resource");
    mp_view uri = mp_view_get(resource, "uri"), text = mp_view_get(resource, "text");
    mp_view mime = mp_view_get(resource, "mimeType");

    if (mp_view_is_string(text)) {
        cli_out_s(out, "Resource: ");
        cli_out_view(out, uri);
        cli_out_s(out, "\n");
        return cli_doc_text(doc, text, out);
    }
    cli_out_s(out, "[Binary resource: ");
    cli_out_view(out, uri);
    cli_out_s(out, " (");
    if (mp_view_is_string(mime))
        cli_out_view(out, mime);
    else
        cli_out_s(out, "application/octet-stream");
    cli_out_s(out, ")]\n");
    return MCPLUG_OK;
}

int cli_content_block(const struct cli_doc *doc, mp_view block, struct cli_out *out)
{
    static const struct {
        const char *type;
        int (*put)(const struct cli_doc *doc, mp_view block, struct cli_out *out);
    } kinds[] = {
        {"text", text_block},         {"image", data_block},
        {"audio", data_block},        {"resource_link", link_block},
        {"resource", resource_block},
    };
    mp_view type = mp_view_get(block, "type");

    cli_out_fresh_line(out);
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (mp_view_is_string(type) && mp_view_equals(type, kinds[i].type))
            return kinds[i].put(doc, block, out);
    return cli_doc_json(doc, block, out);
}

int cli_content_blocks(const struct cli_doc *doc, mp_view blocks, size_t skip,
                       struct cli_out *out)
{
    struct mp_walk w = mp_walk_into(blocks);
    mp_view block;
    int r = MCPLUG_OK;
    while (r == MCPLUG_OK && !out->failed && mp_walk_element(&w, &block)) {
        if (skip)
            skip--;
        else
            r = cli_content_block(doc, block, out);
    }
    return r;
}
