/* Scan, walk, unescape and tree against each other and against jansson. The first
 * byte tells how many of the next ones are sizes of pieces; the rest is the text. */
#include "base/buf.h"
#include "json/scan.h"
#include "cli/base/tree.h"
#include "json/walk.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

static const struct mp_scan_limits limits = {64, 1000};

struct input {
    const unsigned char *sizes;
    size_t n_sizes;
    const char *text;
    size_t len;
};

static void must(bool held)
{
    if (!held)
        abort();
}

static size_t piece_size(const struct input *in, size_t i, size_t left)
{
    size_t n = in->n_sizes ? in->sizes[i % in->n_sizes] % 64u : left;
    return n < left ? n : left;
}

/* ---- pieces ---- */

static void splits_change_nothing(const struct input *in, int whole_result,
                                  const struct mp_scan *whole,
                                  const struct mcplug_error *whole_err)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    struct mp_scan s;
    size_t used;
    int r = MCPLUG_OK;

    mp_scan_init(&s, &limits);
    for (size_t at = 0, i = 0; at < in->len && r == MCPLUG_OK; i++) {
        size_t n = piece_size(in, i, in->len - at);
        if (n == 0 && i % 2)
            n = 1;
        char *copy = malloc(n);
        memcpy(copy, in->text + at, n);
        r = mp_scan_feed(&s, copy, n, i % 3 == 0, &used, &err);
        free(copy);
        at += used;
    }
    if (r == MCPLUG_OK)
        r = mp_scan_end(&s, &err);
    must(r == whole_result);
    must(strcmp(err.text, whole_err->text) == 0);
    must(s.env.n_inner == whole->env.n_inner);
    must(s.env.names == whole->env.names || s.env.names & MP_KEYS_ALIKE);
    s.env.names = whole->env.names; /* a name that was cut may be like any */
    must(memcmp(&s.env, &whole->env,
                offsetof(struct mp_envelope, inner) +
                    s.env.n_inner * sizeof s.env.inner[0]) == 0);
}

/* ---- spans ---- */

static void span_is_a_value(const char *text, size_t len, struct mp_span span, bool whole)
{
    if (span.len == 0)
        return;
    must(span.at < len && span.len <= len - span.at);
    char first = text[span.at], last = text[span.at + span.len - 1];
    must((first != '"' || (last == '"' && span.len > 1)) &&
         (first != '{' || last == '}') && (first != '[' || last == ']'));
    if (whole)
        must(mp_scan_text(text + span.at, span.len, &limits, NULL, NULL) == MCPLUG_OK);
}

static void spans_are_values(const struct mp_envelope *env, const char *text, size_t len,
                             bool whole)
{
    span_is_a_value(text, len, env->jsonrpc, whole);
    span_is_a_value(text, len, env->id, whole);
    span_is_a_value(text, len, env->method, whole);
    span_is_a_value(text, len, env->params, whole);
    span_is_a_value(text, len, env->result, whole);
    span_is_a_value(text, len, env->error, whole);
    must(env->n_inner <= env->n_inner_seen && env->n_inner <= MP_INNER_MAX);
    for (uint32_t i = 0; i < env->n_inner; i++) {
        must(env->inner[i].key.len >= 2 && env->inner[i].value.len);
        span_is_a_value(text, len, env->inner[i].key, whole);
        span_is_a_value(text, len, env->inner[i].value, whole);
    }
}

/* Throws away what is inside of strings wherever a piece ends in one. */
static void spans_hold_for_what_is_kept(const struct input *in)
{
    struct mp_str kept;
    struct mp_scan s;
    size_t used;
    bool dropping = false;

    mp_scan_init(&s, &limits);
    mp_str_init(&kept, in->len);
    for (size_t at = 0, i = 0; at < in->len; at += used, i++) {
        size_t n = piece_size(in, i, in->len - at);
        must(mp_scan_feed(&s, in->text + at, n ? n : 1, dropping, &used, NULL) == 0);
        size_t gone = !dropping ? 0 : s.in_string ? used : used - 1;
        mp_str_add(&kept, in->text + at + gone, used - gone);
        mp_scan_dropped(&s, gone);
        must(s.at == kept.len);
        dropping = s.in_string && s.string_is_value && i % 2;
    }
    must(mp_scan_end(&s, NULL) == MCPLUG_OK);
    must(s.seen == in->len && s.at == kept.len);
    spans_are_values(&s.env, kept.data, kept.len, false);
    mp_str_clear(&kept);
}

/* ---- walking ---- */

static void is_inside(mp_view outer, mp_view v)
{
    must(v.len && v.data >= outer.data && v.data + v.len <= outer.data + outer.len);
}

static void unescaping_in_pieces_is_the_same(const struct input *in, mp_view string)
{
    struct mp_unescape u = {0, 0, {0}};
    const char *p = (const char *)string.data + 1;
    size_t left = string.len - 2, done = 0;
    struct mp_str s;

    mp_str_init(&s, string.len);
    must(mp_str_add_view(&s, string));
    for (size_t i = 0; left; i++) {
        size_t n = piece_size(in, i, left);
        if (n == 0)
            n = 1;
        char *out = malloc(4 + 3 * n);
        size_t put = mp_unescape_feed(&u, p, n, out);
        must(done + put <= s.len && memcmp(out, s.data + done, put) == 0);
        free(out);
        done += put;
        p += n;
        left -= n;
    }
    char out[4];
    size_t put = mp_unescape_end(&u, out);
    must(done + put == s.len && memcmp(out, s.data + done, put) == 0);
    if (!memchr(s.data, '\0', s.len))
        must(mp_view_equals(string, s.data));
    mp_str_clear(&s);
}

static void scalar_is(mp_view v, const json_t *tree)
{
    double d;
    int64_t n;

    if (json_is_integer(tree))
        must(mp_view_int(v, &n) && n == json_integer_value(tree));
    else if (json_is_real(tree)) /* one beyond a double is the largest there is */
        must(mp_view_double(v, &d) ? d == json_real_value(tree)
                                   : fabs(json_real_value(tree)) == DBL_MAX);
    else
        must(json_is_string(tree) || json_is_null(tree) == mp_view_is_null(v));
    must(json_is_true(tree) == mp_view_true(v));
}

/* The walker and the tree see the same. */
static void visit(const struct input *in, mp_view v, const json_t *tree)
{
    struct mp_walk w = mp_walk_into(v);
    mp_view key, value;
    size_t n = 0;

    if (mp_view_is_array(v)) {
        must(json_is_array(tree) && mp_view_count(v) == json_array_size(tree));
        for (; mp_walk_element(&w, &value); n++) {
            is_inside(v, value);
            visit(in, value, json_array_get(tree, n));
        }
        must(n == json_array_size(tree));
    } else if (mp_view_is_object(v)) {
        size_t count = mp_view_count(v);
        must(json_is_object(tree) && count >= json_object_size(tree));
        for (; mp_walk_member(&w, &key, &value); n++) {
            is_inside(v, key);
            is_inside(v, value);
            unescaping_in_pieces_is_the_same(in, key);
            char *name = mp_view_strdup(key);
            if (!mp_view_equals(key, name)) { /* cut at a NUL: another key's name */
                free(name);
                continue;
            }
            json_t *member = json_object_get(tree, name);
            if (member && count == json_object_size(tree))
                visit(in, value, member);
            must(mp_view_get(v, name).len > 0 || !member);
            free(name);
        }
        must(n == count);
    } else if (mp_view_is_string(v)) {
        must(json_is_string(tree));
        unescaping_in_pieces_is_the_same(in, v);
    } else {
        scalar_is(v, tree);
    }
}

static void accepted(const struct input *in, const struct mp_envelope *env)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    const char *start = in->text, *end = start + in->len;

    spans_are_values(env, in->text, in->len, true);
    spans_hold_for_what_is_kept(in);
    while (strchr(" \t\r\n", *start))
        start++;
    while (strchr(" \t\r\n", end[-1]))
        end--;
    json_t *tree = cli_tree(mp_bytes(in->text, in->len), NULL, &err);
    must(tree != NULL);
    visit(in, mp_bytes(start, (size_t)(end - start)), tree);
    json_decref(tree);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    struct mp_scan s;
    size_t used;
    uint64_t id;

    if (size == 0 || size - 1 < data[0] % 8u)
        return 0;
    struct input in = {data + 1, data[0] % 8u, (const char *)data + 1 + data[0] % 8u, 0};
    in.len = size - 1 - in.n_sizes;

    mp_scan_init(&s, &limits);
    int r = mp_scan_feed(&s, in.text, in.len, false, &used, &err);
    if (r == MCPLUG_OK)
        r = mp_scan_end(&s, &err);
    must((r == MCPLUG_OK) == (err.text[0] == '\0'));
    splits_change_nothing(&in, r, &s, &err);
    if (r == MCPLUG_OK)
        accepted(&in, &s.env);

    json_t *tree = json_loadb(in.text, in.len, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
    r = mp_scan_text(in.text, in.len, &limits, NULL, NULL);
    must(!tree || r == MCPLUG_OK || r == MCPLUG_ETOOBIG || memchr(in.text, '\0', in.len));
    json_decref(tree);

    size_t cut = in.len / 2;
    for (int quoted = 0; quoted < 2; quoted++) {
        mp_scan_salvage_id(in.text, cut, in.text + cut, in.len - cut, quoted, &id);
        mp_scan_salvage_id(in.text, in.len, NULL, 0, quoted, &id);
    }
    return 0;
}
