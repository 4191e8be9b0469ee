#include "cli/base/doc.h"

#include <stdio.h>

#define PIECE 32768

void cli_doc_init(struct cli_doc *doc, const mcplug_result *result)
{
    doc->result = result;
    doc->json = mcplug_result_json(result, &doc->len);
}

mp_view cli_doc_view(const struct cli_doc *doc)
{
    mp_view v = {(const unsigned char *)doc->json, doc->len};
    return v;
}

/* The first long string that begins at `at` or behind it, before `end`. */
static bool next_spill(const struct cli_doc *doc, size_t at, size_t end, size_t *index,
                       struct mcplug_spill *out)
{
    size_t n = doc->result ? mcplug_result_spills(doc->result) : 0;
    bool found = false;
    for (size_t i = 0; i < n; i++) {
        struct mcplug_spill s = {.struct_size = sizeof s};
        if (mcplug_result_spill(doc->result, i, &s) != MCPLUG_OK)
            continue;
        if (s.json_offset < at || s.json_offset >= end)
            continue;
        if (found && s.json_offset >= out->json_offset)
            continue;
        *index = i;
        *out = s;
        found = true;
    }
    return found;
}

static size_t offset_of(const struct cli_doc *doc, mp_view part)
{
    return (size_t)((const char *)part.data - doc->json);
}

/* ---- strings ---- */

static int feed_spill(const struct cli_doc *doc, size_t index, cli_sink *sink, void *arg)
{
    char piece[PIECE];
    uint64_t at = 0;
    for (;;) {
        int64_t n = mcplug_result_spill_read(doc->result, index, at, piece, sizeof piece);
        if (n < 0)
            return MCPLUG_EIO;
        if (n == 0 || !sink(arg, piece, (size_t)n))
            return MCPLUG_OK;
        at += (uint64_t)n;
    }
}

int cli_doc_string(const struct cli_doc *doc, mp_view string, cli_sink *sink, void *arg)
{
    size_t index;
    struct mcplug_spill s;
    if (!mp_view_is_string(string))
        return MCPLUG_OK;
    if (doc->result &&
        next_spill(doc, offset_of(doc, string), offset_of(doc, string) + 1, &index, &s))
        return feed_spill(doc, index, sink, arg);

    char piece[4 + 3 * 4096];
    struct mp_unescape u = {0};
    const char *p = (const char *)string.data + 1, *end = p + string.len - 2;
    while (p < end) {
        size_t n = (size_t)(end - p) < 4096 ? (size_t)(end - p) : 4096;
        size_t put = mp_unescape_feed(&u, p, n, piece);
        if (put && !sink(arg, piece, put))
            return MCPLUG_OK;
        p += n;
    }
    size_t put = mp_unescape_end(&u, piece);
    if (put)
        sink(arg, piece, put);
    return MCPLUG_OK;
}

static bool text_sink(void *arg, const char *data, size_t len)
{
    struct cli_out *out = arg;
    cli_out_text(out, data, len);
    return !out->failed;
}

int cli_doc_text(const struct cli_doc *doc, mp_view string, struct cli_out *out)
{
    int r = cli_doc_string(doc, string, text_sink, out);
    cli_out_text_end(out);
    return r;
}

/* ---- JSON ---- */

/* The inside of a JSON string. What went to the file was well-formed UTF-8, so only
 * the few bytes that JSON keeps for itself need care. */
static bool escape_sink(void *arg, const char *data, size_t len)
{
    struct cli_out *out = arg;
    const char *plain = data, *end = data + len;

    for (const char *p = data; p < end; p++) {
        unsigned char c = (unsigned char)*p;
        if (c >= 0x20 && c != '"' && c != '\\')
            continue;
        cli_out_text(out, plain, (size_t)(p - plain));
        plain = p + 1;
        char code[8];
        static const char names[] = "btn\vfr";
        if (c == '"' || c == '\\')
            snprintf(code, sizeof code, "\\%c", c);
        else if (c >= '\b' && c <= '\r' && c != '\v')
            snprintf(code, sizeof code, "\\%c", names[c - '\b']);
        else
            snprintf(code, sizeof code, "\\u%04x", c);
        cli_out_s(out, code);
    }
    cli_out_text(out, plain, (size_t)(end - plain));
    return !out->failed;
}

/* Bytes of the document's text. People at a terminal get them escaped even where JSON
 * was asked for: a JSON string may hold raw what a terminal obeys. */
static void put_raw(const struct cli_doc *doc, size_t at, size_t end, struct cli_out *out)
{
    cli_out_text(out, doc->json + at, end - at);
}

int cli_doc_json(const struct cli_doc *doc, mp_view part, struct cli_out *out)
{
    size_t at = offset_of(doc, part), end = at + part.len, index;
    struct mcplug_spill s;
    int r = MCPLUG_OK;

    while (r == MCPLUG_OK && next_spill(doc, at, end, &index, &s)) {
        put_raw(doc, at, s.json_offset + 1, out);
        r = feed_spill(doc, index, escape_sink, out);
        cli_out_s(out, "\"");
        at = s.json_offset + s.json_len;
    }
    if (r == MCPLUG_OK)
        put_raw(doc, at, end, out);
    cli_out_text_end(out);
    return r;
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
        cli_out_text(out, (const char *)key.data, key.len);
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

int cli_doc_pretty(const struct cli_doc *doc, mp_view part, size_t indent,
                   struct cli_out *out)
{
    if (mp_view_is_object(part))
        return pretty_object(doc, part, indent, out);
    if (mp_view_is_array(part))
        return pretty_array(doc, part, indent, out);
    return cli_doc_json(doc, part, out);
}
