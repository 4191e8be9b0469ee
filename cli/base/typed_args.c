#include "cli/base/typed_args.h"

#include "base/buf.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/text.h"
#include "json/schema.h"

#include <stdio.h>

enum { LEVELS_MAX = 32 };

static const struct mp_scan_limits limits = {64, 1000000};

/* One `key=value`. */
struct word {
    const char *key, *value;
    struct cli_numbers *numbers;
    struct mcplug_error *err;
};

/* How much of `text` an error shows: whole characters. */
static int shown_len(const char *text)
{
    size_t len = strlen(text), n = 60;

    if (len <= n)
        return (int)len;
    while (n && ((unsigned char)text[n] & 0xc0) == 0x80)
        n--;
    return (int)n;
}

/* ---- one value ---- */

/* give; `*out` is NULL when the value is no JSON, for which `why` may
 * have the reason. */
static int parse(const struct word *w, json_t **out, struct mcplug_error *why)
{
    mp_view text = mp_text(w->value);

    *out = NULL;
    if (mp_scan_text(w->value, text.len, &limits, NULL, why) != MCPLUG_OK)
        return MCPLUG_OK;
    *out = cli_tree(text, w->numbers, w->err);
    return *out ? MCPLUG_OK : MCPLUG_ENOMEM;
}

/* give; the value as one that the schemas accept; `*out` is NULL when there is none. */
static int convert(const struct word *w, const struct mp_schemas *set, json_t **out,
                   struct mcplug_error *why)
{
    bool typed = mp_schemas_typed(set);
    json_t *value;

    *out = NULL;
    int r = parse(w, &value, why);
    if (r != MCPLUG_OK)
        return r;
    if (value && (typed ? !json_is_string(value) && mp_schemas_accept(set, value)
                        : !json_is_boolean(value) && !json_is_null(value))) {
        *out = value;
        return MCPLUG_OK;
    }
    json_decref(value);
    value = json_string(w->value);
    if (!value)
        return mp_fail_nomem(w->err);
    if (typed && !mp_schemas_accept(set, value)) {
        json_decref(value);
        value = NULL;
    }
    *out = value;
    return MCPLUG_OK;
}

/* `.5`, which other programs read. */
static bool lacks_digit(const char *value)
{
    value += *value == '-';
    return value[0] == '.' && value[1] >= '0' && value[1] <= '9';
}

static int refuse(const struct word *w, const struct mp_schemas *set, const char *each,
                  const struct mcplug_error *why)
{
    char wanted[200];
    bool json = *w->value == '[' || *w->value == '{';
    int len = shown_len(w->value);

    mp_schemas_describe(set, wanted, sizeof wanted);
    return mp_fail(w->err, MCPLUG_EINVAL, "%.*s: %sexpected %s, got \"%.*s%s\"%s%s%s%s",
                   shown_len(w->key), w->key, each, wanted, len, w->value,
                   w->value[len] ? ".." : "", json && *why->text ? " (as JSON: " : "",
                   json ? why->text : "", json && *why->text ? ")" : "",
                   lacks_digit(w->value) ? " (a number has a digit before its point)"
                                         : "");
}

/* ---- setting it ---- */

/* take `value`. */
static int put(const struct word *w, json_t *object, const char *name, json_t *value)
{
    return json_object_set_new(object, name, value) == 0 ? MCPLUG_OK
                                                         : mp_fail_nomem(w->err);
}

/* The value as one more element of the array `name`. */
static int add_element(const struct word *w, json_t *object, const char *name,
                       const struct mp_schemas *set)
{
    struct mcplug_error why = MCPLUG_ERROR_INIT;
    json_t *old = json_object_get(object, name), *array = NULL, *value;
    struct mp_schemas element;

    if (!json_is_array(old))
        old = NULL;
    mp_schemas_element(set, json_array_size(old), &element);
    int r = convert(w, &element, &value, &why);
    if (r == MCPLUG_OK && !value)
        r = refuse(w, &element, "each element: ", &why);
    /* What begins like an array was meant to be all of it. */
    else if (r == MCPLUG_OK && *w->value == '[' && json_is_string(value))
        r = refuse(w, set, "", &why);
    if (r == MCPLUG_OK) {
        array = old ? json_incref(old) : json_array();
        if (!array || json_array_append(array, value) != 0)
            r = mp_fail_nomem(w->err);
    }
    if (r == MCPLUG_OK && !old)
        r = put(w, object, name, json_incref(array));
    json_decref(array);
    json_decref(value);
    return r;
}

static int set_value(const struct word *w, json_t *object, const char *name,
                     const struct mp_schemas *set)
{
    struct mcplug_error why = MCPLUG_ERROR_INIT;
    struct mp_schemas element;
    json_t *value, *old = json_object_get(object, name);

    int r = convert(w, set, &value, &why);
    if (r != MCPLUG_OK)
        return r;
    bool array = mp_schemas_element(set, 0, &element);
    if (!value)
        return array ? add_element(w, object, name, set) : refuse(w, set, "", &why);
    if (array && json_is_array(value) && json_is_array(old)) {
        r = json_array_extend(old, value) == 0 ? MCPLUG_OK : mp_fail_nomem(w->err);
        json_decref(value);
        return r;
    }
    return put(w, object, name, value);
}

static int refuse_name(const struct word *w, const struct mp_schemas *set,
                       const char *name)
{
    const char *nearest = mp_schemas_nearest(set, name);
    return mp_fail(w->err, MCPLUG_EINVAL, "%.*s: there is no property \"%.*s\"%s%s%s",
                   shown_len(w->key), w->key, shown_len(name), name,
                   nearest ? "; did you mean \"" : "", nearest ? nearest : "",
                   nearest ? "\"?" : "");
}

static int set_at(const struct word *w, json_t *object, const struct mp_schemas *set,
                  char *name, unsigned levels);

/* Sets `rest` in the object that the member `name` of `object` is or becomes. */
static int set_inside(const struct word *w, json_t *object, const char *name, char *rest,
                      const struct mp_schemas *set, unsigned levels)
{
    json_t *old = json_object_get(object, name);

    if (!mp_schemas_object(set) || (old && !json_is_object(old)))
        return mp_fail(w->err, MCPLUG_EINVAL, "%.*s: \"%.*s\" %s", shown_len(w->key),
                       w->key, shown_len(name), name,
                       old ? "was given before, and not as an object"
                           : "is not an object, so it has no members");
    if (levels == 0)
        return mp_fail(w->err, MCPLUG_EINVAL, "%.*s: more than %d levels",
                       shown_len(w->key), w->key, LEVELS_MAX);
    json_t *inside = old ? json_incref(old) : json_object();
    if (!inside)
        return mp_fail_nomem(w->err);
    int r = set_at(w, inside, set, rest, levels - 1);
    if (r == MCPLUG_OK && !old)
        return put(w, object, name, inside);
    json_decref(inside);
    return r;
}

/* A dot with something on both sides of it, from `from` leftwards. */
static char *dot_before(char *name, char *from)
{
    char *dot = memrchr(name, '.', (size_t)(from - name));
    return dot && dot > name ? dot : NULL;
}

static int set_at(const struct word *w, json_t *object, const struct mp_schemas *set,
                  char *name, unsigned levels)
{
    struct mp_schemas found;
    char *dot, *first = NULL;

    if (mp_schemas_property(set, name, &found))
        return set_value(w, object, name, &found);
    for (dot = name + strlen(name); (dot = dot_before(name, dot));) {
        if (dot[1] == '\0')
            continue;
        *dot = '\0';
        if (mp_schemas_property(set, name, &found))
            return set_inside(w, object, name, dot + 1, &found, levels);
        *dot = '.';
        first = dot;
    }
    bool open = mp_schemas_additional(set, &found);
    if (first)
        *first = '\0';
    if (!open)
        return refuse_name(w, set, name);
    if (!first)
        return set_value(w, object, name, &found);
    return set_inside(w, object, name, first + 1, &found, levels);
}

int cli_typed_args_set(json_t *args, const json_t *schema, const char *key,
                       const char *value, struct cli_numbers *numbers,
                       struct mcplug_error *err)
{
    struct word w = {key, value, numbers, err};
    struct mp_schemas set;

    if (*key == '\0')
        return mp_fail(err, MCPLUG_EINVAL, "a key is missing before \"=%.*s\"",
                       shown_len(value), value);
    if (!mp_is_utf8(key) || !mp_is_utf8(value))
        return mp_fail(err, MCPLUG_EINVAL, "%.*s: the %s is not UTF-8", shown_len(key),
                       key, mp_is_utf8(key) ? "value" : "key");
    mp_schemas_init(&set, schema);
    mp_schemas_add(&set, schema);
    mp_schemas_expand(&set, true);

    char *name = mp_strdup(key);
    if (!name)
        return mp_fail_nomem(err);
    int r = set_at(&w, args, &set, name, LEVELS_MAX);
    mp_free(name);
    return r;
}

int cli_typed_args_check_required(const json_t *args, const json_t *schema,
                                  struct mcplug_error *err)
{
    struct mp_schemas set;
    char missing[400] = "", quoted[140];

    mp_schemas_init(&set, schema);
    mp_schemas_add(&set, schema);
    mp_schemas_expand(&set, false);
    for (size_t i = 0; i < set.n; i++) {
        const json_t *names = json_object_get(set.of[i], "required");
        for (size_t k = 0; k < json_array_size(names); k++) {
            const char *name = json_string_value(json_array_get(names, k));
            if (!name || json_object_get(args, name))
                continue;
            snprintf(quoted, sizeof quoted, "\"%.*s\"", shown_len(name), name);
            if (strstr(missing, quoted))
                continue;
            size_t len = strlen(missing);
            snprintf(missing + len, sizeof missing - len, "%s%s", len ? ", " : "",
                     quoted);
        }
    }
    return *missing ? mp_fail(err, MCPLUG_EINVAL, "missing argument%s: %s",
                              strchr(missing, ',') ? "s" : "", missing)
                    : MCPLUG_OK;
}
