#include "json/conform.h"

#include "base/buf.h"
#include "base/error.h"
#include "base/mem.h"

#include <stdio.h>

#define PLACE_MAX 200 /* bytes of a place in a message */

struct conform {
    mp_view root;
    unsigned steps, depth;
    bool gave_up; /* it would take too long: nothing is held against the value */
    char path[PLACE_MAX];
    struct mcplug_error *err; /* NULL: nobody asks why */
};

static bool conforms(struct conform *c, mp_view schema, mp_view value);

static bool wrong(struct conform *c, const char *fmt, ...) MCPLUG_PRINTF(2, 3);
static bool wrong(struct conform *c, const char *fmt, ...)
{
    char what[200];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(what, sizeof what, fmt, ap);
    va_end(ap);
    mp_fail(c->err, MCPLUG_EPROTO, "%s%s%s", c->path[0] ? c->path : "the value", ": ",
            what);
    return false;
}

/* ---- places ---- */

static size_t enter(struct conform *c, const char *fmt, const char *name, size_t index)
{
    size_t before = strlen(c->path);
    char *at = c->path + before;
    size_t room = sizeof c->path - before;

    if (name)
        snprintf(at, room, fmt, name);
    else
        snprintf(at, room, fmt, index);
    return before;
}

/* ---- single keywords ---- */

static const char *type_of(mp_view v)
{
    unsigned char c = v.data[0];

    return c == '{'   ? "object"
           : c == '[' ? "array"
           : c == '"' ? "string"
           : c == 'n' ? "null"
           : c == 't' ? "boolean"
           : c == 'f' ? "boolean"
                      : "number";
}

static bool is_integer(mp_view v)
{
    double d;
    bool is_small = mp_view_double(v, &d) && d > -9e15 && d < 9e15;
    return !is_small || (double)(int64_t)d == d; /* beyond that all are */
}

static bool has_type(mp_view type, mp_view value)
{
    return mp_view_equals(type, type_of(value)) ||
           (mp_view_equals(type, "integer") && strcmp(type_of(value), "number") == 0 &&
            is_integer(value));
}

static bool check_type(struct conform *c, mp_view type, mp_view value)
{
    struct mp_walk w = mp_walk_into(type);
    mp_view one;

    if (mp_view_is_string(type) && !has_type(type, value))
        return wrong(c, "expected %.*s, found %s", (int)(type.len < 20 ? type.len : 20),
                     (const char *)type.data, type_of(value));
    if (!mp_view_is_array(type))
        return true;
    while (mp_walk_element(&w, &one))
        if (has_type(one, value))
            return true;
    return wrong(c, "is a %s, which the schema does not allow", type_of(value));
}

/* Equal as JSON: numbers by what they are, objects whatever their order. */
static bool equal(struct conform *c, mp_view a, mp_view b)
{
    struct mp_walk w = mp_walk_into(a), x = mp_walk_into(b);
    mp_view key, item, other;
    double m, n;

    if (c->steps++ > MP_CONFORM_STEPS)
        c->gave_up = true;
    if (c->gave_up || strcmp(type_of(a), type_of(b)) != 0)
        return c->gave_up;
    if (mp_view_is_string(a))
        return mp_view_same(a, b);
    if (mp_view_double(a, &m) && mp_view_double(b, &n))
        return m == n;
    if (!mp_view_is_object(a) && !mp_view_is_array(a))
        return a.len == b.len && memcmp(a.data, b.data, a.len) == 0;
    if (mp_view_count(a) != mp_view_count(b))
        return false;
    if (mp_view_is_array(a)) {
        while (mp_walk_element(&w, &item) && mp_walk_element(&x, &other))
            if (!equal(c, item, other))
                return false;
        return true;
    }
    while (mp_walk_member(&w, &key, &item)) {
        char *name = mp_view_strdup(key);
        other = name ? mp_view_get(b, name) : mp_bytes(NULL, 0);
        c->gave_up = c->gave_up || !name;
        mp_free(name);
        if (!c->gave_up && (!other.len || !equal(c, item, other)))
            return false;
    }
    return true;
}

static bool check_enum(struct conform *c, mp_view list, mp_view value)
{
    struct mp_walk w = mp_walk_into(list);
    mp_view one;

    while (mp_walk_element(&w, &one))
        if (equal(c, one, value))
            return true;
    return wrong(c, "is none of the values that the schema lists");
}

static uint64_t characters(mp_view string)
{
    struct mp_str text;
    uint64_t n = 0;

    mp_str_init(&text, string.len + 1);
    mp_str_add_view(&text, string);
    for (size_t i = 0; i < text.len; i++)
        n += ((unsigned char)text.data[i] & 0xc0) != 0x80;
    mp_str_clear(&text);
    return n;
}

static bool check_range(struct conform *c, mp_view schema, mp_view value)
{
    const struct {
        const char *low, *high, *what;
        bool applies;
    } rules[] = {
        {"minimum", "maximum", "the value", strcmp(type_of(value), "number") == 0},
        {"minLength", "maxLength", "the length", mp_view_is_string(value)},
        {"minItems", "maxItems", "the number of items", mp_view_is_array(value)},
    };
    double is = 0, low, high;

    for (size_t i = 0; i < MP_COUNT(rules); i++) {
        if (!rules[i].applies)
            continue;
        bool has_low = mp_view_double(mp_view_get(schema, rules[i].low), &low);
        bool has_high = mp_view_double(mp_view_get(schema, rules[i].high), &high);
        if (!has_low && !has_high)
            continue;
        if (i == 0)
            mp_view_double(value, &is);
        else
            is = (double)(i == 1 ? characters(value) : mp_view_count(value));
        if (has_low && is < low)
            return wrong(c, "%s is below %g", rules[i].what, low);
        if (has_high && is > high)
            return wrong(c, "%s is above %g", rules[i].what, high);
    }
    return true;
}

/* ---- members and elements ---- */

/* Members are found by looking at one after the other. */
static void looked(struct conform *c, size_t members)
{
    c->steps +=
        (unsigned)(members / 8 < MP_CONFORM_STEPS ? members / 8 : MP_CONFORM_STEPS);
    c->gave_up = c->gave_up || c->steps > MP_CONFORM_STEPS;
}

static bool check_required(struct conform *c, mp_view required, mp_view value)
{
    struct mp_walk w = mp_walk_into(required);
    mp_view one;
    bool ok = true;

    size_t n = mp_view_count(value);
    while (ok && mp_view_is_array(required) && !c->gave_up && mp_walk_element(&w, &one)) {
        char *name = mp_view_strdup(one);
        looked(c, n);
        if (name && !c->gave_up && !mp_view_get(value, name).len)
            ok = wrong(c, "\"%.64s\" is missing", name);
        mp_free(name);
    }
    return ok;
}

static bool is_false(mp_view v)
{
    return v.len == 5 && v.data[0] == 'f';
}

static bool check_members(struct conform *c, mp_view schema, mp_view value)
{
    mp_view properties = mp_view_get(schema, "properties");
    mp_view more = mp_view_get(schema, "additionalProperties"), key, item;
    bool has_patterns = mp_view_get(schema, "patternProperties").len != 0;
    struct mp_walk w = mp_walk_into(value);
    bool ok = check_required(c, mp_view_get(schema, "required"), value);

    size_t n = mp_view_count(properties);
    while (ok && (properties.len || more.len) && mp_walk_member(&w, &key, &item)) {
        char *name = mp_view_strdup(key);
        looked(c, n);
        if (!name || c->gave_up) {
            mp_free(name);
            c->gave_up = true;
            break;
        }
        mp_view of = mp_view_get(properties, name);
        size_t before = enter(c, ".%.64s", name, 0);
        if (of.len)
            ok = conforms(c, of, item);
        else if (is_false(more) && !has_patterns)
            ok = wrong(c, "is not in the schema");
        else if (mp_view_is_object(more) && !has_patterns)
            ok = conforms(c, more, item);
        c->path[before] = '\0';
        mp_free(name);
    }
    return ok;
}

static bool check_elements(struct conform *c, mp_view schema, mp_view value)
{
    mp_view items = mp_view_get(schema, "items"), of, item;
    mp_view prefix = mp_view_get(schema, "prefixItems");
    struct mp_walk w = mp_walk_into(value), p;
    size_t i = 0;
    bool ok = true;

    if (mp_view_is_array(items)) { /* as older schemas have it */
        prefix = items;
        items = mp_view_get(schema, "additionalItems");
    }
    p = mp_walk_into(prefix);
    while (ok && (items.len || prefix.len) && mp_walk_element(&w, &item)) {
        size_t before = enter(c, "[%zu]", NULL, i++);
        if (mp_view_is_array(prefix) && mp_walk_element(&p, &of))
            ok = conforms(c, of, item);
        else if (items.len)
            ok = conforms(c, items, item);
        c->path[before] = '\0';
    }
    return ok;
}

/* ---- several schemas ---- */

/* How many of them it conforms to; nobody is told why it does not to others. */
static size_t count_of(struct conform *c, mp_view list, mp_view value)
{
    struct mp_walk w = mp_walk_into(list);
    struct mcplug_error *err = c->err;
    mp_view one;
    size_t n = 0;

    c->err = NULL;
    while (!c->gave_up && mp_walk_element(&w, &one))
        n += conforms(c, one, value);
    c->err = err;
    return n;
}

static bool check_combined(struct conform *c, mp_view schema, mp_view value)
{
    mp_view all = mp_view_get(schema, "allOf"), any = mp_view_get(schema, "anyOf");
    mp_view one = mp_view_get(schema, "oneOf"), not = mp_view_get(schema, "not"), of;
    struct mp_walk w = mp_walk_into(all);
    bool ok = true;

    while (ok && mp_view_is_array(all) && mp_walk_element(&w, &of))
        ok = conforms(c, of, value);
    if (ok && mp_view_is_array(any) && !count_of(c, any, value) && !c->gave_up)
        ok = wrong(c, "conforms to none of anyOf");
    if (ok && mp_view_is_array(one)) {
        size_t n = count_of(c, one, value);
        if (n != 1 && !c->gave_up)
            ok = wrong(c, "conforms to %zu of oneOf", n);
    }
    if (ok && not .len) {
        struct mcplug_error *err = c->err;
        c->err = NULL;
        bool does = conforms(c, not, value);
        c->err = err;
        if (does && !c->gave_up)
            ok = wrong(c, "is what the schema excludes");
    }
    return ok;
}

/* What "#/$defs/a" refers to; len 0: nothing, or something outside. */
static mp_view referred(const struct conform *c, mp_view ref)
{
    char *text = mp_view_strdup(ref), *rest = text, *step;
    mp_view at = c->root;

    if (!text || text[0] != '#')
        at = mp_bytes(NULL, 0);
    else if (text[1] == '/')
        for (rest = text + 2; at.len && (step = strsep(&rest, "/"));)
            at = mp_view_get(at, step);
    else if (text[1])
        at = mp_bytes(NULL, 0);
    mp_free(text);
    return at;
}

static bool check_all(struct conform *c, mp_view schema, mp_view value)
{
    mp_view type = mp_view_get(schema, "type"), list = mp_view_get(schema, "enum");
    mp_view only = mp_view_get(schema, "const"), ref = mp_view_get(schema, "$ref");
    mp_view to = ref.len ? referred(c, ref) : ref;

    if (to.len && !conforms(c, to, value))
        return false;
    if (type.len && !check_type(c, type, value))
        return false;
    if (mp_view_is_array(list) && !check_enum(c, list, value))
        return false;
    if (only.len && !equal(c, only, value))
        return wrong(c, "is not the value that the schema has");
    if (!check_range(c, schema, value))
        return false;
    if (mp_view_is_object(value) && !check_members(c, schema, value))
        return false;
    if (mp_view_is_array(value) && !check_elements(c, schema, value))
        return false;
    return check_combined(c, schema, value);
}

static bool conforms(struct conform *c, mp_view schema, mp_view value)
{
    if (is_false(schema))
        return wrong(c, "is excluded by the schema");
    if (!mp_view_is_object(schema))
        return true;
    if (c->depth == MP_CONFORM_DEPTH || c->steps++ > MP_CONFORM_STEPS)
        c->gave_up = true;
    if (c->gave_up)
        return true;
    c->depth++;
    bool ok = check_all(c, schema, value);
    c->depth--;
    return ok || c->gave_up;
}

int mp_conform(mp_view schema, mp_view value, struct mcplug_error *err)
{
    struct conform c = {.root = schema, .err = err};

    return conforms(&c, schema, value) ? MCPLUG_OK : MCPLUG_EPROTO;
}
