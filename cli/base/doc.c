#include "cli/base/doc.h"

#include "cli/base/message.h"

#include <stdlib.h>
#include <string.h>

void cli_doc_init(struct cli_doc *doc, const mcplug_result *result)
{
    doc->result = result;
    doc->json = mcplug_result_json(result, &doc->len);
    doc->raw = false;
    doc->pictures = NULL;
}

mp_view cli_doc_view(const struct cli_doc *doc)
{
    mp_view v = {(const unsigned char *)doc->json, doc->len};
    return v;
}

static size_t offset_of(const struct cli_doc *doc, mp_view part)
{
    return (size_t)((const char *)part.data - doc->json);
}

int cli_doc_text_sink(void *arg, const char *data, size_t len)
{
    struct cli_out *out = arg;
    cli_out_text(out, data, len);
    return !out->failed;
}

/* All but the end of it never passes through here. */
static int put_spill(const struct cli_doc *doc, size_t i, uint64_t size,
                     struct cli_out *out)
{
    char piece[16384];
    uint64_t at, tail = size < sizeof piece ? size : sizeof piece;
    int fd = mcplug_result_spill_fd(doc->result, i, &at);

    at = cli_out_file(out, fd, at, size - tail);
    while (at < size && !out->failed) {
        int64_t n = mcplug_result_spill_read(doc->result, i, at, piece, sizeof piece);
        if (n <= 0)
            return MCPLUG_EIO;
        cli_out_add(out, piece, (size_t)n);
        at += (uint64_t)n;
    }
    return MCPLUG_OK;
}

static bool find_spill(const struct cli_doc *doc, mp_view string, size_t *i,
                       struct mcplug_spill *spill)
{
    spill->struct_size = sizeof *spill;
    for (*i = 0; *i < mcplug_result_spills(doc->result); ++*i)
        if (mcplug_result_spill(doc->result, *i, spill) == MCPLUG_OK &&
            spill->json_offset == offset_of(doc, string))
            return true;
    return false;
}

bool cli_doc_is_spilled(const struct cli_doc *doc, mp_view string)
{
    struct mcplug_spill spill;
    size_t i;
    return doc->result && find_spill(doc, string, &i, &spill);
}

int cli_doc_write(const struct cli_doc *doc, mp_view value, mcplug_write_fn *write,
                  void *arg)
{
    bool is_string = mp_view_is_string(value);
    struct mp_str text;
    int r = MCPLUG_OK;

    if (doc->result && is_string)
        return mcplug_result_write_string(doc->result, offset_of(doc, value), write, arg,
                                          NULL);
    if (doc->result)
        return mcplug_result_write(doc->result, offset_of(doc, value), value.len, write,
                                   arg, NULL);
    if (!is_string) {
        write(arg, (const char *)value.data, value.len);
        return MCPLUG_OK;
    }
    mp_str_init(&text, value.len);
    if (!mp_str_add_view(&text, value))
        r = MCPLUG_ENOMEM;
    else if (text.len)
        write(arg, text.data, text.len);
    mp_str_clear(&text);
    return r;
}

static int count(void *arg, const char *data, size_t len)
{
    uint64_t *size = arg;
    (void)data;
    *size += len;
    return 1;
}

int cli_doc_size(const struct cli_doc *doc, mp_view string, uint64_t *size)
{
    *size = 0;
    return cli_doc_write(doc, string, count, size);
}

int cli_doc_text(const struct cli_doc *doc, mp_view string, struct cli_out *out)
{
    struct mcplug_spill spill;
    size_t i;

    if (!out->terminal && find_spill(doc, string, &i, &spill))
        return put_spill(doc, i, spill.size, out);
    int r = mcplug_result_write_string(doc->result, offset_of(doc, string),
                                       cli_doc_text_sink, out, NULL);
    cli_out_text_end(out);
    return r;
}

/* ---- JSON ---- */

static int json_sink(void *arg, const char *data, size_t len)
{
    struct cli_out *out = arg;
    if (out->terminal)
        cli_out_json(out, data, len);
    else
        cli_out_add(out, data, len);
    return !out->failed;
}

void cli_out_item(struct cli_out *out, mp_view json)
{
    json_sink(out, (const char *)json.data, json.len);
}

/* People at a terminal get it escaped even where JSON was asked for: a JSON string may
 * hold raw what a terminal obeys. */
int cli_doc_json(const struct cli_doc *doc, mp_view part, struct cli_out *out)
{
    if (doc->result)
        return mcplug_result_write(doc->result, offset_of(doc, part), part.len, json_sink,
                                   out, NULL);
    cli_out_item(out, part);
    return MCPLUG_OK;
}

static int put_whole(struct cli *cli, const char *text, size_t len, int outcome)
{
    if (!text) {
        cli_error("out of memory");
        return CLI_INTERNAL;
    }
    cli_out_json(&cli->out, text, len);
    cli_out_fresh_line(&cli->out);
    return outcome;
}

int cli_put_document(struct cli *cli, struct mp_str *text, int outcome)
{
    int code = put_whole(cli, text->failed ? NULL : text->data, text->len, outcome);
    mp_str_clear(text);
    return code;
}

int cli_put_tree(struct cli *cli, const json_t *tree, int outcome)
{
    char *text = json_dumps(tree, JSON_COMPACT);
    int code = put_whole(cli, text, text ? strlen(text) : 0, outcome);
    free(text);
    return code;
}

static void new_line(struct cli_out *out, size_t indent)
{
    cli_out_s(out, "\n");
    cli_out_spaces(out, indent);
}

static int pretty_object(const struct cli_doc *doc, mp_view part, size_t indent,
                         struct cli_out *out)
{
    struct mp_walk w = mp_walk_into(part);
    mp_view key, value;
    bool any = false;
    int r = MCPLUG_OK;

    cli_out_s(out, "{");
    while (r == MCPLUG_OK && mp_walk_member(&w, &key, &value)) {
        if (any)
            cli_out_s(out, ",");
        any = true;
        new_line(out, indent + 2);
        cli_out_style(out, CLI_CYAN);
        cli_out_item(out, key);
        cli_out_style(out, CLI_PLAIN);
        cli_out_s(out, ": ");
        r = cli_doc_pretty(doc, value, indent + 2, out);
    }
    if (any)
        new_line(out, indent);
    cli_out_s(out, "}");
    return r;
}

static bool is_simple(mp_view v)
{
    return !mp_view_is_object(v) && !mp_view_is_array(v);
}

/* A short list of simple values, as enums and `required` are, stays on its line. */
static bool fits_a_line(mp_view array)
{
    struct mp_walk w = mp_walk_into(array);
    mp_view v;
    if (array.len > 60)
        return false;
    while (mp_walk_element(&w, &v))
        if (!is_simple(v))
            return false;
    return true;
}

static int pretty_array(const struct cli_doc *doc, mp_view part, size_t indent,
                        struct cli_out *out)
{
    struct mp_walk w = mp_walk_into(part);
    bool flat = fits_a_line(part), any = false;
    mp_view value;
    int r = MCPLUG_OK;

    cli_out_s(out, "[");
    while (r == MCPLUG_OK && mp_walk_element(&w, &value)) {
        if (any)
            cli_out_s(out, flat ? ", " : ",");
        any = true;
        if (!flat)
            new_line(out, indent + 2);
        r = cli_doc_pretty(doc, value, indent + 2, out);
    }
    if (any && !flat)
        new_line(out, indent);
    cli_out_s(out, "]");
    return r;
}

static enum cli_style style_of(mp_view value)
{
    unsigned char c = value.len ? *value.data : 0;
    if (c == '"')
        return CLI_GREEN;
    return c == 't' || c == 'f' || c == 'n' ? CLI_MAGENTA : CLI_YELLOW;
}

int cli_doc_pretty(const struct cli_doc *doc, mp_view part, size_t indent,
                   struct cli_out *out)
{
    if (mp_view_is_object(part))
        return pretty_object(doc, part, indent, out);
    if (mp_view_is_array(part))
        return pretty_array(doc, part, indent, out);
    cli_out_style(out, style_of(part));
    int r = cli_doc_json(doc, part, out);
    cli_out_style(out, CLI_PLAIN);
    return r;
}
