#include "json/schema.h"

#include "base/mem.h"
#include "base/nearest.h"
#include "base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Schemas come from peers: some refer to themselves, and some do so from many places
 * at every level. A step is the look at one schema, type, choice or element. */
enum { DEPTH_MAX = 32, STEPS_MAX = 100000, NAMES_MAX = 10000 };

/* ---- references ---- */

/* %XX, as in every part of a URI. */
static bool read_byte(const char **in, char *c)
{
    *c = *(*in)++;
    if (*c != '%')
        return true;
    int high = mp_hex_value((*in)[0]), low = high < 0 ? -1 : mp_hex_value((*in)[1]);
    if (low < 0 || (high == 0 && low == 0))
        return false;
    *c = (char)(high << 4 | low);
    *in += 2;
    return true;
}

/* The next step of a JSON pointer, at whose '/' `*p` stands. */
static bool read_step(const char **p, char *out, size_t size)
{
    const char *in = *p + 1;
    size_t n = 0, kept = 0;

    for (; *in && *in != '/'; n++)
        if (n + 1 >= size || !read_byte(&in, &out[n]))
            return false;
    for (size_t i = 0; i < n; i++) {
        out[kept++] = out[i];
        if (out[i] == '~' && i + 1 < n && (out[i + 1] == '0' || out[i + 1] == '1'))
            out[kept - 1] = out[++i] == '1' ? '/' : '~';
    }
    out[kept] = '\0';
    *p = in;
    return true;
}

static const json_t *resolve(const json_t *root, const char *ref)
{
    char step[256];

    if (*ref++ != '#')
        return NULL;
    while (root && *ref == '/') {
        if (!read_step(&ref, step, sizeof step))
            return NULL;
        if (json_is_array(root))
            root = *step >= '0' && *step <= '9'
                       ? json_array_get(root, strtoul(step, NULL, 10))
                       : NULL;
        else
            root = json_object_get(root, step);
    }
    return *ref == '\0' ? root : NULL;
}

static const json_t *referred(const json_t *root, const json_t *schema)
{
    const char *ref = json_string_value(json_object_get(schema, "$ref"));
    return ref ? resolve(root, ref) : NULL;
}

/* ---- sets ---- */

void mp_schemas_init(struct mp_schemas *set, const json_t *root)
{
    set->root = root;
    set->n = set->given = 0;
}

void mp_schemas_add(struct mp_schemas *set, const json_t *schema)
{
    for (size_t i = 0; i < set->n; i++)
        if (set->of[i] == schema)
            return;
    if (schema && set->n < MP_COUNT(set->of))
        set->of[set->n++] = schema;
}

static void add_all(struct mp_schemas *set, const json_t *list)
{
    for (size_t i = 0; i < json_array_size(list) && set->n < MP_COUNT(set->of); i++)
        if (!json_is_true(json_array_get(list, i))) /* which says nothing */
            mp_schemas_add(set, json_array_get(list, i));
}

void mp_schemas_expand(struct mp_schemas *set, bool choices)
{
    set->given = set->n;
    for (size_t i = 0; i < set->n; i++) {
        const json_t *schema = set->of[i];
        mp_schemas_add(set, referred(set->root, schema));
        add_all(set, json_object_get(schema, "allOf"));
        if (choices) {
            add_all(set, json_object_get(schema, "anyOf"));
            add_all(set, json_object_get(schema, "oneOf"));
        }
    }
}

/* The types that `schema` itself names, one after the other, from `*i` = 0; NULL: there
 * are no more. */
static const char *next_type(const json_t *schema, size_t *i)
{
    const json_t *type = json_object_get(schema, "type");
    const char *name = NULL;

    if (!json_is_array(type))
        return (*i)++ == 0 ? json_string_value(type) : NULL;
    while (!name && *i < json_array_size(type))
        name = json_string_value(json_array_get(type, (*i)++));
    return name;
}

static bool names_type(const json_t *schema, const char *name)
{
    const char *type;

    for (size_t i = 0; (type = next_type(schema, &i));)
        if (strcmp(type, name) == 0)
            return true;
    return false;
}

bool mp_schemas_property(const struct mp_schemas *set, const char *name,
                         struct mp_schemas *out)
{
    mp_schemas_init(out, set->root);
    for (size_t i = 0; i < set->n; i++)
        mp_schemas_add(out,
                       json_object_get(json_object_get(set->of[i], "properties"), name));
    mp_schemas_expand(out, true);
    return out->n > 0;
}

bool mp_schemas_additional(const struct mp_schemas *set, struct mp_schemas *out)
{
    static const char *const words[] = {"additionalProperties", "unevaluatedProperties"};
    bool closed = false, patterns = false;

    mp_schemas_init(out, set->root);
    for (size_t i = 0; i < set->n; i++) {
        patterns = patterns || json_object_get(set->of[i], "patternProperties");
        for (size_t k = 0; k < MP_COUNT(words); k++) {
            const json_t *rule = json_object_get(set->of[i], words[k]);
            if (json_is_false(rule))
                closed = true;
            else
                mp_schemas_add(out, rule);
        }
    }
    if (patterns) /* which they speak of cannot be told */
        mp_schemas_init(out, set->root);
    mp_schemas_expand(out, true);
    return patterns || !closed;
}

/* What `schema` says of the element `i` of an array; NULL: nothing. */
static const json_t *element_of(const json_t *schema, size_t i)
{
    const json_t *items = json_object_get(schema, "items");
    const json_t *first = json_object_get(schema, "prefixItems");
    if (json_is_array(items)) { /* as it was written before prefixItems */
        first = items;
        items = NULL;
    }
    return i < json_array_size(first) ? json_array_get(first, i) : items;
}

bool mp_schemas_element(const struct mp_schemas *set, size_t index,
                        struct mp_schemas *out)
{
    bool array = false;

    mp_schemas_init(out, set->root);
    for (size_t i = 0; i < set->n; i++) {
        const json_t *schema = set->of[i];
        bool has_items =
            json_object_get(schema, "items") || json_object_get(schema, "prefixItems");
        if (names_type(schema, "array") ||
            (has_items && !json_object_get(schema, "type"))) {
            array = true;
            mp_schemas_add(out, element_of(schema, index));
        }
    }
    mp_schemas_expand(out, true);
    return array;
}

bool mp_schemas_typed(const struct mp_schemas *set)
{
    for (size_t i = 0; i < set->n; i++)
        if (json_is_false(set->of[i]) || json_object_get(set->of[i], "type") ||
            json_object_get(set->of[i], "enum") || json_object_get(set->of[i], "const"))
            return true;
    return false;
}

bool mp_schemas_object(const struct mp_schemas *set)
{
    for (size_t i = 0; i < set->n; i++)
        if (names_type(set->of[i], "object"))
            return true;
    return !mp_schemas_typed(set);
}

/* ---- accepting ---- */

struct check {
    const json_t *root;
    unsigned steps;
};

static bool accepts(struct check *c, const json_t *schema, const json_t *value,
                    unsigned depth);

/* That many are looked at, which there may be no steps for: the last ones are for free,
 * so that a list has an answer. */
static void spend(struct check *c, size_t steps)
{
    c->steps -= steps < c->steps ? (unsigned)steps : c->steps;
}

/* What it takes to compare with it. */
static size_t weight(const json_t *value)
{
    return 1 + json_array_size(value) + json_object_size(value) +
           json_string_length(value) / 1024;
}

static bool same(const json_t *a, const json_t *b)
{
    if (json_is_number(a) && json_is_number(b) && json_typeof(a) != json_typeof(b))
        return json_number_value(a) == json_number_value(b);
    return json_equal(a, b);
}

/* 1.0 and 1e3 are integers, and so is every double from 2^53 on. */
static bool is_whole(const json_t *value)
{
    const double exact = 9007199254740992;
    double d = json_real_value(value);

    if (!json_is_real(value))
        return json_is_integer(value);
    return d <= -exact || d >= exact || d == (double)(int64_t)d;
}

static bool is_type(const json_t *value, const char *name)
{
    static const char *const names[] = {
        [JSON_OBJECT] = "object",   [JSON_ARRAY] = "array", [JSON_STRING] = "string",
        [JSON_INTEGER] = "integer", [JSON_REAL] = "number", [JSON_TRUE] = "boolean",
        [JSON_FALSE] = "boolean",   [JSON_NULL] = "null",
    };
    bool known = false;

    if (strcmp(names[json_typeof(value)], name) == 0)
        return true;
    if (strcmp(name, "number") == 0)
        return json_is_number(value);
    if (strcmp(name, "integer") == 0)
        return is_whole(value);
    for (size_t i = 0; i < MP_COUNT(names); i++)
        known = known || strcmp(names[i], name) == 0;
    return !known; /* a type that we never heard of is the peer's affair */
}

static bool type_accepts(struct check *c, const json_t *schema, const json_t *value)
{
    const json_t *type = json_object_get(schema, "type");
    const char *name;

    spend(c, json_array_size(type));
    for (size_t i = 0; (name = next_type(schema, &i));)
        if (is_type(value, name))
            return true;
    return !json_is_string(type) && json_array_size(type) == 0;
}

static bool lists(struct check *c, const json_t *choices, const json_t *value)
{
    size_t n = json_array_size(choices);

    spend(c, n * weight(value));
    for (size_t i = 0; i < n; i++)
        if (same(json_array_get(choices, i), value))
            return true;
    return false;
}

/* All of the schemas in `list`, or one of them; no list accepts everything. */
static bool list_accepts(struct check *c, const json_t *list, const json_t *value,
                         bool all, unsigned depth)
{
    for (size_t i = 0; i < json_array_size(list) && c->steps; i++)
        if (accepts(c, json_array_get(list, i), value, depth) != all)
            return !all;
    return all || !c->steps || json_array_size(list) == 0;
}

static bool elements_accept(struct check *c, const json_t *schema, const json_t *array,
                            unsigned depth)
{
    for (size_t i = 0; i < json_array_size(array) && c->steps; i++) {
        const json_t *of = element_of(schema, i);
        if (of && !accepts(c, of, json_array_get(array, i), depth))
            return false;
    }
    return true;
}

static bool accepts(struct check *c, const json_t *schema, const json_t *value,
                    unsigned depth)
{
    if (!json_is_object(schema))
        return !json_is_false(schema);
    if (c->steps == 0)
        return true; /* the peer looks at it as well */
    c->steps--;
    if (depth == 0)
        return false;
    depth--;

    const json_t *target = referred(c->root, schema);
    const json_t *choices = json_object_get(schema, "enum");
    const json_t *only = json_object_get(schema, "const");
    return type_accepts(c, schema, value) &&
           (!json_is_array(choices) || lists(c, choices, value)) &&
           (!only || same(only, value)) &&
           (!target || accepts(c, target, value, depth)) &&
           list_accepts(c, json_object_get(schema, "allOf"), value, true, depth) &&
           list_accepts(c, json_object_get(schema, "anyOf"), value, false, depth) &&
           list_accepts(c, json_object_get(schema, "oneOf"), value, false, depth) &&
           (!json_is_array(value) || elements_accept(c, schema, value, depth));
}

bool mp_schemas_accept(const struct mp_schemas *set, const json_t *value)
{
    struct check c = {set->root, STEPS_MAX};

    for (size_t i = 0; i < set->given; i++)
        if (accepts(&c, set->of[i], value, DEPTH_MAX))
            return true;
    return set->given == 0;
}

/* ---- what is wanted ---- */

struct words {
    char *out;
    size_t size, len;
    uint8_t types; /* one bit per name in `types` that was said */
    bool full;
};

static const char *const types[][2] = {
    {"string", "a string"},       {"integer", "an integer"}, {"number", "a number"},
    {"boolean", "true or false"}, {"null", "null"},          {"array", "an array"},
    {"object", "an object"},
};

static void say(struct words *w, const char *text)
{
    const char *join = w->len ? " or " : "";

    if (w->full)
        return;
    /* room for the dots is always left */
    w->full = w->size - w->len < strlen(join) + strlen(text) + sizeof " or ..";
    w->len += (size_t)snprintf(w->out + w->len, w->size - w->len, "%s%s", join,
                               w->full ? ".." : text);
}

static void say_type(struct words *w, const char *name)
{
    for (size_t i = 0; i < MP_COUNT(types); i++)
        if (strcmp(types[i][0], name) == 0 && !(w->types & 1u << i)) {
            w->types |= (uint8_t)(1u << i);
            say(w, types[i][1]);
        }
}

static void say_value(struct words *w, const json_t *value)
{
    char text[64];
    size_t n = json_dumpb(value, text, sizeof text - 1, JSON_ENCODE_ANY | JSON_COMPACT);

    if (n == 0 || n >= sizeof text)
        n = (size_t)snprintf(text, sizeof text, "..");
    text[n] = '\0';
    say(w, text);
}

static void say_schema(struct words *w, const json_t *schema)
{
    const json_t *choices = json_object_get(schema, "enum");
    const json_t *only = json_object_get(schema, "const");
    const char *type;

    for (size_t i = 0; i < json_array_size(choices); i++)
        say_value(w, json_array_get(choices, i));
    if (only)
        say_value(w, only);
    if (only || json_array_size(choices))
        return;
    for (size_t i = 0; (type = next_type(schema, &i));)
        say_type(w, type);
}

void mp_schemas_describe(const struct mp_schemas *set, char *out, size_t size)
{
    struct words w = {out, size, 0, 0, false};

    *out = '\0';
    for (size_t i = 0; i < set->n; i++)
        say_schema(&w, set->of[i]);
    if (w.len == 0)
        snprintf(out, size, "another value");
}

/* ---- what was meant ---- */

const char *mp_schemas_nearest(const struct mp_schemas *set, const char *name)
{
    const char *nearest = NULL, *key;
    size_t least = SIZE_MAX, seen = 0;
    json_t *value;

    for (size_t i = 0; i < set->n; i++)
        json_object_foreach(json_object_get(set->of[i], "properties"), key, value)
        {
            if (seen++ == NAMES_MAX)
                return nearest;
            size_t d = mp_distance(name, key);
            if (d < least) {
                least = d;
                nearest = key;
            }
        }
    return nearest;
}
