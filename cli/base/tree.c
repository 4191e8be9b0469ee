#include "cli/base/tree.h"

#include "base/buf.h"
#include "base/error.h"
#include "base/mem.h"

#include <float.h>
#include <stdlib.h>

/* ---- numbers ---- */

void cli_numbers_clear(struct cli_numbers *numbers)
{
    for (size_t i = 0; i < numbers->n; i++) {
        json_decref(numbers->items[i].node);
        mp_free(numbers->items[i].text);
    }
    mp_free(numbers->items);
    memset(numbers, 0, sizeof *numbers);
}

static bool note(struct cli_numbers *numbers, json_t *node, mp_view text)
{
    if (!mp_grow(&numbers->items, &numbers->cap, numbers->n + 1))
        return false;
    char *copy = mp_strndup((const char *)text.data, text.len);
    if (!copy)
        return false;
    numbers->items[numbers->n++] = (struct cli_number){json_incref(node), copy};
    numbers->sorted = false;
    return true;
}

static int by_node(const void *a, const void *b)
{
    const struct cli_number *x = a, *y = b;
    return (x->node > y->node) - (x->node < y->node);
}

static const char *noted(struct cli_numbers *numbers, const json_t *node)
{
    struct cli_number key = {(json_t *)node, NULL};

    if (!numbers->n)
        return NULL;
    if (!numbers->sorted)
        qsort(numbers->items, numbers->n, sizeof *numbers->items, by_node);
    numbers->sorted = true;
    const struct cli_number *found =
        bsearch(&key, numbers->items, numbers->n, sizeof *numbers->items, by_node);
    return found ? found->text : NULL;
}

/* ---- building ---- */

/* What jansson would not build. Strings pass through `text`, which is kept for the next
 * one. */
struct builder {
    struct mp_str text;
    struct cli_numbers *numbers; /* may be NULL */
};

/* give; NULL means that memory ran out: what is walked was scanned. */
static json_t *build(struct builder *b, mp_view v);

/* Into `b->text`. */
static bool read_string(struct builder *b, mp_view string)
{
    mp_str_reset(&b->text);
    return mp_str_add_view(&b->text, string);
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

static json_t *build_number(struct builder *b, mp_view v)
{
    const double exact = 9007199254740992; /* whole numbers up to it are all there */
    bool negative = v.data[0] == '-', as_written = false;
    int64_t n;
    double d;
    json_t *made;

    if (mp_view_int(v, &n)) {
        made = json_integer(n);
        as_written = n || !negative;
    } else {
        if (!mp_view_double(v, &d))
            d = negative ? -DBL_MAX : DBL_MAX;
        if (b->numbers && d > -exact && d < exact && d == (double)(int64_t)d)
            made = json_integer((int64_t)d);
        else
            made = json_real(d);
    }
    if (made && b->numbers && !as_written && !note(b->numbers, made, v)) {
        json_decref(made);
        return NULL;
    }
    return made;
}

static json_t *build_container(struct builder *b, mp_view v, bool is_object)
{
    json_t *made = is_object ? json_object() : json_array();
    struct mp_walk w = mp_walk_into(v);
    bool ok = made != NULL;
    mp_view key, value;

    while (ok &&
           (is_object ? mp_walk_member(&w, &key, &value) : mp_walk_element(&w, &value))) {
        json_t *child = build(b, value);
        if (!is_object) {
            ok = json_array_append_new(made, child) == 0;
        } else if (child && read_string(b, key) && replace_nul(&b->text)) {
            ok = json_object_set_new(made, b->text.data, child) == 0;
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

static json_t *build(struct builder *b, mp_view v)
{
    switch (v.data[0]) {
    case '{':
    case '[':
        return build_container(b, v, v.data[0] == '{');
    case '"':
        return read_string(b, v) ? json_stringn(b->text.data, b->text.len) : NULL;
    case 't':
        return json_true();
    case 'f':
        return json_false();
    case 'n':
        return json_null();
    default:
        return build_number(b, v);
    }
}

static json_t *build_odd(mp_view text, struct cli_numbers *numbers,
                         struct mcplug_error *err)
{
    const struct mp_scan_limits limits = {.depth = 64, .tokens = UINT32_MAX};
    struct builder b = {.numbers = numbers};

    /* Building trusts the text, so nobody's mistake may bring another here. */
    if (mp_scan_text((const char *)text.data, text.len, &limits, NULL, err) != MCPLUG_OK)
        return NULL;
    mp_str_init(&b.text, 3 * text.len + 1);
    json_t *tree = build(&b, mp_view_trim(text));
    mp_str_clear(&b.text);
    if (!tree)
        mp_fail_nomem(err);
    return tree;
}

json_t *cli_tree(mp_view text, struct cli_numbers *numbers, struct mcplug_error *err)
{
    json_error_t why = {0};
    if (text.len == 0)
        text = mp_text("");
    if (numbers)
        return build_odd(text, numbers, err);
    json_t *tree = json_loadb((const char *)text.data, text.len,
                              JSON_DECODE_ANY | JSON_ALLOW_NUL, &why);
    if (tree)
        return tree;
    if (json_error_code(&why) == json_error_out_of_memory) {
        mp_fail_nomem(err);
        return NULL;
    }
    return build_odd(text, NULL, err);
}

/* ---- writing ---- */

static void write_tree(const json_t *tree, struct cli_numbers *numbers,
                       struct mp_str *out)
{
    const char *key, *number = json_is_number(tree) ? noted(numbers, tree) : NULL;
    json_t *child;
    size_t i = 0;

    if (json_is_object(tree)) {
        mp_str_addc(out, '{');
        json_object_foreach((json_t *)tree, key, child)
        {
            if (i++)
                mp_str_addc(out, ',');
            mp_str_add_json(out, key, strlen(key));
            mp_str_addc(out, ':');
            write_tree(child, numbers, out);
        }
        mp_str_addc(out, '}');
    } else if (json_is_array(tree)) {
        json_array_foreach(tree, i, child)
        {
            mp_str_addc(out, i ? ',' : '[');
            write_tree(child, numbers, out);
        }
        mp_str_adds(out, json_array_size(tree) ? "]" : "[]");
    } else if (json_is_string(tree)) {
        mp_str_add_json(out, json_string_value(tree), json_string_length(tree));
    } else if (number) {
        mp_str_adds(out, number);
    } else {
        char *text = json_dumps(tree, JSON_ENCODE_ANY);
        mp_str_adds(out, text ? text : "null");
        out->failed |= !text;
        free(text);
    }
}

char *cli_tree_text(const json_t *tree, struct cli_numbers *numbers)
{
    struct mp_str out;

    mp_str_init(&out, SIZE_MAX / 2);
    write_tree(tree, numbers, &out);
    return mp_str_take(&out);
}
