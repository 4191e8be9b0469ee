#include "json/schema.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

/* Schemas come from peers: some refer to themselves, and some do so from many places
 * at every level. */
enum { DEPTH_MAX = 32, STEPS_MAX = 100000 };

/* ---- references ---- */

static int hex_value(char c)
{
    static const char digits[] = "0123456789abcdef";
    const char *at = c ? strchr(digits, c >= 'A' && c <= 'F' ? c | 0x20 : c) : NULL;
    return at ? (int)(at - digits) : -1;
}

/* %XX, as in every part of a URI. */
static bool read_byte(const char **in, char *c)
{
    *c = *(*in)++;
    if (*c != '%')
        return true;
    int high = hex_value((*in)[0]), low = high < 0 ? -1 : hex_value((*in)[1]);
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

/* Does `schema` itself name the type? */
static bool names_type(const json_t *schema, const char *name)
{
    const json_t *type = json_object_get(schema, "type");
    const char *text = json_string_value(type);
    bool found = text && strcmp(text, name) == 0;

    for (size_t i = 0; i < json_array_size(type) && !found; i++) {
        text = json_string_value(json_array_get(type, i));
        found = text && strcmp(text, name) == 0;
    }
    return found;
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

bool mp_schemas_element(const struct mp_schemas *set, size_t index,
                        struct mp_schemas *out)
{
    bool array = false;

    mp_schemas_init(out, set->root);
    for (size_t i = 0; i < set->n; i++) {
        const json_t *items = json_object_get(set->of[i], "items");
        const json_t *first = json_object_get(set->of[i], "prefixItems");
        if (json_is_array(items)) /* as it was written before prefixItems */
            first = items;
        if (!names_type(set->of[i], "array") &&
            (json_object_get(set->of[i], "type") || !(items || first)))
            continue;
        array = true;
        if (index < json_array_size(first))
            mp_schemas_add(out, json_array_get(first, index));
        else if (!json_is_array(items))
            mp_schemas_add(out, items);
    }
    mp_schemas_expand(out, true);
    return array;
}

static bool is_typed(const json_t *schema)
{
    return json_is_false(schema) || json_object_get(schema, "type") ||
           json_object_get(schema, "enum") || json_object_get(schema, "const");
}

bool mp_schemas_typed(const struct mp_schemas *set)
{
    for (size_t i = 0; i < set->n; i++)
        if (is_typed(set->of[i]))
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

static bool same(const json_t *a, const json_t *b)
{
    if (json_is_number(a) && json_is_number(b) && json_typeof(a) != json_typeof(b))
        return json_number_value(a) == json_number_value(b);
    return json_equal(a, b);
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
    for (size_t i = 0; i < MP_COUNT(names); i++)
        known = known || strcmp(names[i], name) == 0;
    return !known; /* a type that we never heard of is the peer's affair */
}

static bool type_accepts(const json_t *type, const json_t *value)
{
    if (json_is_string(type))
        return is_type(value, json_string_value(type));
    for (size_t i = 0; i < json_array_size(type); i++) {
        const char *name = json_string_value(json_array_get(type, i));
        if (name && is_type(value, name))
            return true;
    }
    return json_array_size(type) == 0;
}

static bool lists(struct check *c, const json_t *choices, const json_t *value)
{
    size_t n = json_array_size(choices);

    c->steps -= n < c->steps ? (unsigned)n : c->steps;
    for (size_t i = 0; i < n; i++)
        if (same(json_array_get(choices, i), value))
            return true;
    return false;
}

/* All of the schemas in `list`, or one of them; no list accepts everything. */
static bool list_accepts(struct check *c, const json_t *list, const json_t *value,
                         bool all, unsigned depth)
{
    for (size_t i = 0; i < json_array_size(list); i++)
        if (accepts(c, json_array_get(list, i), value, depth) != all)
            return !all;
    return all || json_array_size(list) == 0;
}

static bool elements_accept(struct check *c, const json_t *schema, const json_t *array,
                            unsigned depth)
{
    const json_t *items = json_object_get(schema, "items");
    const json_t *first = json_object_get(schema, "prefixItems");
    if (json_is_array(items)) {
        first = items;
        items = NULL;
    }
    for (size_t i = 0; i < json_array_size(array); i++) {
        const json_t *of = i < json_array_size(first) ? json_array_get(first, i) : items;
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
    const json_t *type = json_object_get(schema, "type");
    const json_t *choices = json_object_get(schema, "enum");
    const json_t *only = json_object_get(schema, "const");
    return (!type || type_accepts(type, value)) &&
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
