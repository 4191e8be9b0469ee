#include "json/tree.h"

#include "base/buf.h"
#include "base/error.h"
#include "json/skip.h"

enum { DEPTH_MAX = 64 }; /* the scan lets nothing deeper through */

/* Builds in one pass what jansson would not. Strings pass through `text`, which is
 * kept for the next one. */
struct builder {
    struct mp_walk at;
    struct mp_str text;
    unsigned depth;
};

static json_t *build(struct builder *b);

static bool skip(struct builder *b, char c)
{
    b->at.p = mp_skip_space(b->at.p, b->at.end);
    if (b->at.p == b->at.end || *b->at.p != (unsigned char)c)
        return false;
    b->at.p++;
    return true;
}

static bool read_string(struct builder *b)
{
    const unsigned char *p = b->at.p;
    b->at.p = mp_skip_string(p, b->at.end);
    b->text.len = 0;
    return mp_str_add_view(&b->text, mp_bytes(p, (size_t)(b->at.p - p)));
}

/* jansson has no NUL in keys: those who read them as C strings would see another. */
static bool replace_nul(struct mp_str *s)
{
    struct mp_str clean;

    if (!memchr(s->data, '\0', s->len))
        return true;
    mp_str_init(&clean, s->max);
    for (size_t i = 0; i < s->len; i++)
        if (s->data[i])
            mp_str_addc(&clean, s->data[i]);
        else
            mp_str_adds(&clean, "\xef\xbf\xbd");
    mp_str_clear(s);
    *s = clean;
    return !s->failed;
}

static json_t *build_number(struct builder *b)
{
    const unsigned char *p = b->at.p;
    bool integer = true;
    int64_t n;
    double d;

    while (b->at.p < b->at.end && strchr("+-.0123456789eE", *b->at.p)) {
        integer = integer && (*b->at.p == '-' || (*b->at.p >= '0' && *b->at.p <= '9'));
        b->at.p++;
    }
    mp_view v = mp_bytes(p, (size_t)(b->at.p - p));
    if (integer && mp_view_int(v, &n))
        return json_integer(n);
    if (!integer && mp_view_double(v, &d))
        return json_real(d);
    return json_stringn((const char *)v.data, v.len);
}

static json_t *build_array(struct builder *b)
{
    json_t *array = json_array();

    if (array && !skip(b, ']')) {
        do {
            if (json_array_append_new(array, build(b)) != 0) {
                json_decref(array);
                return NULL;
            }
        } while (skip(b, ','));
        skip(b, ']');
    }
    return array;
}

static bool build_member(struct builder *b, json_t *object)
{
    b->at.p = mp_skip_space(b->at.p, b->at.end);
    if (!read_string(b) || !replace_nul(&b->text))
        return false;
    struct mp_str key = b->text;
    mp_str_init(&b->text, key.max);
    bool ok = skip(b, ':') && json_object_set_new(object, key.data, build(b)) == 0;
    mp_str_clear(&key);
    return ok;
}

static json_t *build_object(struct builder *b)
{
    json_t *object = json_object();

    if (object && !skip(b, '}')) {
        do {
            if (!build_member(b, object)) {
                json_decref(object);
                return NULL;
            }
        } while (skip(b, ','));
        skip(b, '}');
    }
    return object;
}

static json_t *build_literal(struct builder *b)
{
    switch (*b->at.p) {
    case 't':
        b->at.p += 4;
        return json_true();
    case 'f':
        b->at.p += 5;
        return json_false();
    default:
        b->at.p += 4;
        return json_null();
    }
}

/* NULL means that memory ran out: the text was scanned. */
static json_t *build(struct builder *b)
{
    json_t *value = NULL;

    b->at.p = mp_skip_space(b->at.p, b->at.end);
    b->depth++;
    switch (b->depth <= DEPTH_MAX + 1 && b->at.p < b->at.end ? *b->at.p : '\0') {
    case '\0':
        break;
    case '{':
        b->at.p++;
        value = build_object(b);
        break;
    case '[':
        b->at.p++;
        value = build_array(b);
        break;
    case '"':
        if (read_string(b))
            value = json_stringn(b->text.data, b->text.len);
        break;
    case 't':
    case 'f':
    case 'n':
        value = build_literal(b);
        break;
    default:
        value = build_number(b);
    }
    b->depth--;
    return value;
}

static json_t *build_odd(mp_view text, struct mcplug_error *err)
{
    static const struct mp_scan_limits limits = {DEPTH_MAX, UINT32_MAX};
    struct builder b = {{text.data, text.data + text.len}, {0}, 0};

    /* Building trusts the text, so nobody's mistake may bring another here. */
    if (mp_scan_text((const char *)text.data, text.len, &limits, NULL, err) != MCPLUG_OK)
        return NULL;
    mp_str_init(&b.text, 3 * text.len + 1);
    json_t *tree = build(&b);
    mp_str_clear(&b.text);
    if (!tree)
        mp_fail_nomem(err);
    return tree;
}

json_t *mp_tree(mp_view text, struct mcplug_error *err)
{
    json_error_t why = {0};
    if (text.len == 0)
        text = mp_text("");
    json_t *tree = json_loadb((const char *)text.data, text.len,
                              JSON_DECODE_ANY | JSON_ALLOW_NUL, &why);
    if (tree)
        return tree;
    if (json_error_code(&why) == json_error_out_of_memory) {
        mp_fail_nomem(err);
        return NULL;
    }
    return build_odd(text, err);
}
