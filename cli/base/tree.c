#include "cli/base/tree.h"

#include "base/buf.h"
#include "base/error.h"

/* What jansson would not build. Strings pass through `text`, which is kept for the next
 * one. NULL means that memory ran out: what is walked was scanned. */
static json_t *build(mp_view v, struct mp_str *text);

/* Into `text`. */
static bool read_string(mp_view string, struct mp_str *text)
{
    mp_str_reset(text);
    return mp_str_add_view(text, string);
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

static json_t *build_number(mp_view v)
{
    bool real = memchr(v.data, '.', v.len) || memchr(v.data, 'e', v.len) ||
                memchr(v.data, 'E', v.len);
    int64_t n;
    double d;

    if (!real && mp_view_int(v, &n))
        return json_integer(n);
    if (real && mp_view_double(v, &d))
        return json_real(d);
    return json_stringn((const char *)v.data, v.len);
}

static json_t *build_container(mp_view v, bool is_object, struct mp_str *text)
{
    json_t *made = is_object ? json_object() : json_array();
    struct mp_walk w = mp_walk_into(v);
    bool ok = made != NULL;
    mp_view key, value;

    while (ok &&
           (is_object ? mp_walk_member(&w, &key, &value) : mp_walk_element(&w, &value))) {
        json_t *child = build(value, text);
        if (!is_object) {
            ok = json_array_append_new(made, child) == 0;
        } else if (child && read_string(key, text) && replace_nul(text)) {
            ok = json_object_set_new(made, text->data, child) == 0;
        } else {
            json_decref(child);
            ok = false;
        }
    }
    if (ok)
        return made;
    json_decref(made);
    return NULL;
}

static json_t *build(mp_view v, struct mp_str *text)
{
    switch (v.data[0]) {
    case '{':
    case '[':
        return build_container(v, v.data[0] == '{', text);
    case '"':
        return read_string(v, text) ? json_stringn(text->data, text->len) : NULL;
    case 't':
        return json_true();
    case 'f':
        return json_false();
    case 'n':
        return json_null();
    default:
        return build_number(v);
    }
}

static json_t *build_odd(mp_view text, struct mcplug_error *err)
{
    const struct mp_scan_limits limits = {.depth = 64, .tokens = UINT32_MAX};
    struct mp_str room;

    /* Building trusts the text, so nobody's mistake may bring another here. */
    if (mp_scan_text((const char *)text.data, text.len, &limits, NULL, err) != MCPLUG_OK)
        return NULL;
    mp_str_init(&room, 3 * text.len + 1);
    json_t *tree = build(mp_view_trim(text), &room);
    mp_str_clear(&room);
    if (!tree)
        mp_fail_nomem(err);
    return tree;
}

json_t *cli_tree(mp_view text, struct mcplug_error *err)
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
