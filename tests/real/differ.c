/* What our parsers make of documents, for differ.mjs, which asks others the same:
 *
 *   differ json|url|sse|args <DOCUMENTS >ANSWERS
 *
 * Documents and answers are frames: the length in four bytes, the lowest first, then the
 * text. An answer is JSON, `null` when the document is refused. */
#include "base/buf.h"
#include "base/mem.h"
#include "cli/base/typed_args.h"
#include "json/scan.h"
#include "json/walk.h"

#include "../../plugins/common/sse.h"
#include "../../plugins/common/url.h"

#include <curl/curl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ANSWER_MAX = 64 << 20 };

/* ---- answers ---- */

/* UTF-8, or bytes that become U+0000 .. U+00FF: `\u` and four digits for whatever is not
 * plain. */
static void add_text(struct mp_str *out, const char *text, size_t len)
{
    char escape[8];

    mp_str_addc(out, '"');
    for (size_t i = 0; i < len; i++) {
        unsigned char c = (unsigned char)text[i];
        if (c == '"' || c == '\\' || c < ' ') {
            snprintf(escape, sizeof escape, "\\u%04x", c);
            mp_str_add(out, escape, 6);
        } else {
            mp_str_addc(out, (char)c);
        }
    }
    mp_str_addc(out, '"');
}

static void add_member(struct mp_str *out, const char *name, const char *text)
{
    mp_str_addc(out, out->data[out->len - 1] == '{' ? ' ' : ',');
    add_text(out, name, strlen(name));
    mp_str_addc(out, ':');
    if (text)
        add_text(out, text, strlen(text));
    else
        mp_str_add(out, "null", 4);
}

/* ---- json: scanned, walked over, and written anew ---- */

static void add_value(struct mp_str *out, mp_view v)
{
    struct mp_walk w = mp_walk_into(v);
    struct mp_str text;
    mp_view key, value;
    bool more = false;

    if (mp_view_is_object(v)) {
        mp_str_addc(out, '{');
        for (; mp_walk_member(&w, &key, &value); more = true) {
            if (more)
                mp_str_addc(out, ',');
            add_value(out, key);
            mp_str_addc(out, ':');
            add_value(out, value);
        }
        mp_str_addc(out, '}');
    } else if (mp_view_is_array(v)) {
        mp_str_addc(out, '[');
        for (; mp_walk_element(&w, &value); more = true) {
            if (more)
                mp_str_addc(out, ',');
            add_value(out, value);
        }
        mp_str_addc(out, ']');
    } else if (mp_view_is_string(v)) {
        mp_str_init(&text, v.len);
        mp_str_add_view(&text, v);
        add_text(out, text.len ? text.data : "", text.len);
        mp_str_clear(&text);
    } else {
        mp_str_add(out, (const char *)v.data, v.len);
    }
}

static void of_json(struct mp_str *out, const char *text, size_t len)
{
    if (mp_scan_text(text, len, &mp_scan_defaults, NULL, NULL) == MCPLUG_OK)
        add_value(out, mp_view_trim(mp_bytes(text, len)));
}

/* ---- url: ours, and libcurl's ---- */

static void add_part(struct mp_str *out, CURLU *u, const char *name, CURLUPart part)
{
    char *text = NULL;

    if (curl_url_get(u, part, &text, part == CURLUPART_PORT ? CURLU_DEFAULT_PORT : 0) !=
        CURLUE_OK)
        text = NULL;
    add_member(out, name, text);
    curl_free(text);
}

static void of_url(struct mp_str *out, const char *text, size_t len)
{
    struct url u;
    char resolved[URL_MAX], port[8];

    if (strlen(text) != len || url_parse(text, &u))
        return;
    snprintf(port, sizeof port, "%u", u.port);
    mp_str_addc(out, '{');
    add_member(out, "scheme", u.scheme);
    add_member(out, "host", u.host);
    add_member(out, "port", port);
    add_member(out, "resolved",
               url_resolve(text, "", resolved, sizeof resolved) ? NULL : resolved);
    mp_str_add(out, ",\"target\":", 10);
    add_text(out, text + u.target, u.target_len);

    CURLU *theirs = curl_url();
    /* Schemes that this libcurl was not built with are read all the same. */
    if (theirs &&
        curl_url_set(theirs, CURLUPART_URL, text,
                     CURLU_NON_SUPPORT_SCHEME | CURLU_PATH_AS_IS) == CURLUE_OK) {
        mp_str_add(out, ",\"curl\":{", 9);
        add_part(out, theirs, "host", CURLUPART_HOST);
        add_part(out, theirs, "port", CURLUPART_PORT);
        add_part(out, theirs, "path", CURLUPART_PATH);
        add_part(out, theirs, "query", CURLUPART_QUERY);
        add_part(out, theirs, "user", CURLUPART_USER);
        mp_str_addc(out, '}');
    }
    curl_url_cleanup(theirs);
    mp_str_addc(out, '}');
}

/* ---- sse: the first byte is the size of the pieces, 0: one ---- */

struct stream {
    struct sse_in in;
    struct mp_str data, *out;
};

static void on_data(void *arg, const char *type, struct mcplug_bytes piece)
{
    (void)type;
    mp_str_add(&((struct stream *)arg)->data, (const char *)piece.data, piece.len);
}

static void on_event(void *arg, const char *type, int has_data)
{
    struct stream *s = arg;

    if (has_data) {
        mp_str_addc(s->out, s->out->len == 1 ? ' ' : ',');
        mp_str_addc(s->out, '{');
        add_member(s->out, "type", type);
        add_member(s->out, "id", s->in.id);
        mp_str_add(s->out, ",\"data\":", 8);
        add_text(s->out, s->data.len ? s->data.data : "", s->data.len);
        mp_str_addc(s->out, '}');
    }
    s->data.len = 0;
}

static void of_sse(struct mp_str *out, const char *text, size_t len)
{
    static struct stream s;
    size_t piece = len ? (unsigned char)text[0] : 0;

    mp_str_addc(out, '[');
    s.out = out;
    mp_str_init(&s.data, ANSWER_MAX);
    sse_in_init(&s.in, on_data, on_event, &s);
    for (size_t at = 1; at < len;) {
        size_t n = piece && piece < len - at ? piece : len - at;
        sse_in_feed(&s.in, (const unsigned char *)text + at, n);
        at += n;
    }
    mp_str_clear(&s.data);
    mp_str_addc(out, ']');
}

/* ---- args: a schema, then keys and values, each behind a NUL ---- */

static void of_args(struct mp_str *out, const char *text, size_t len)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    struct cli_numbers numbers = {0};
    json_t *schema = json_loads(text, 0, NULL), *args = json_object();
    const char *at = text + strlen(text) + 1, *end = text + len;
    int r = schema ? MCPLUG_OK : MCPLUG_EINVAL;

    while (r == MCPLUG_OK && at < end) {
        const char *key = at, *value = key + strlen(key) + 1;
        r = cli_typed_args_set(args, schema, key, value, &numbers, &err);
        at = value + strlen(value) + 1;
    }
    if (r == MCPLUG_OK)
        r = cli_typed_args_check_required(args, schema, &err);
    char *json = r == MCPLUG_OK ? cli_tree_text(args, &numbers) : NULL;
    if (json)
        mp_str_add(out, json, strlen(json));
    mp_free(json);
    cli_numbers_clear(&numbers);
    json_decref(args);
    json_decref(schema);
}

/* ---- frames ---- */

static char *read_frame(size_t *len)
{
    unsigned char head[4];

    if (fread(head, 1, 4, stdin) != 4)
        return NULL;
    *len = head[0] | (size_t)head[1] << 8 | (size_t)head[2] << 16 | (size_t)head[3] << 24;
    char *text = malloc(*len + 2);
    if (!text || fread(text, 1, *len, stdin) != *len)
        abort();
    text[*len] = text[*len + 1] = '\0';
    return text;
}

static void write_frame(struct mp_str *s)
{
    if (s->failed)
        abort();
    if (!s->len)
        mp_str_add(s, "null", 4);
    for (int i = 0; i < 32; i += 8)
        putchar((int)(s->len >> i & 255));
    fwrite(s->data, 1, s->len, stdout);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*of)(struct mp_str *out, const char *text, size_t len);
    } kinds[] = {{"json", of_json}, {"url", of_url}, {"sse", of_sse}, {"args", of_args}};
    size_t k = 0, len;
    char *text;

    while (k < 4 && (argc != 2 || strcmp(argv[1], kinds[k].name)))
        k++;
    if (k == 4)
        return 2;
    while ((text = read_frame(&len))) {
        struct mp_str out;
        mp_str_init(&out, ANSWER_MAX);
        kinds[k].of(&out, text, len);
        write_frame(&out);
        mp_str_clear(&out);
        free(text);
    }
    return 0;
}
