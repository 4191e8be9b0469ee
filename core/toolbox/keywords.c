#include "toolbox/members.h"
#include "toolbox/rules.h"

#include "base/mem.h"

/* ---- what a keyword may be, by JSON Schema 2020-12 ---- */

enum shape {
    ANY,
    STRING,
    NUMBER,
    POSITIVE,
    COUNT,
    BOOL,
    ARRAY,
    OBJECT,
    TYPE,
    SCHEMA,
    SCHEMAS, /* some of them, in an array */
    MAP,     /* of names to schemas */
    MIXED,   /* of names to schemas, or to names */
    /* those with repairs of their own */
    REQUIRED,
    ITEMS,
    ADDITIONAL_ITEMS,
    LEAST,
    MOST,
    ABOVE,
    BELOW,
    FORMAT,
    DIALECT,
    REFERENCE
};

static const struct keyword {
    const char *name;
    enum shape shape;
} keywords[] = {
    {"type", TYPE},
    {"description", STRING},
    {"properties", MAP},
    {"required", REQUIRED},
    {"items", ITEMS},
    {"enum", ARRAY},
    {"title", STRING},
    {"default", ANY},
    {"format", FORMAT},
    {"$ref", REFERENCE},
    {"anyOf", SCHEMAS},
    {"oneOf", SCHEMAS},
    {"allOf", SCHEMAS},
    {"minimum", LEAST},
    {"maximum", MOST},
    {"exclusiveMinimum", ABOVE},
    {"exclusiveMaximum", BELOW},
    {"multipleOf", POSITIVE},
    {"minLength", COUNT},
    {"maxLength", COUNT},
    {"pattern", STRING},
    {"minItems", COUNT},
    {"maxItems", COUNT},
    {"uniqueItems", BOOL},
    {"prefixItems", SCHEMAS},
    {"additionalItems", ADDITIONAL_ITEMS},
    {"contains", SCHEMA},
    {"minContains", COUNT},
    {"maxContains", COUNT},
    {"minProperties", COUNT},
    {"maxProperties", COUNT},
    {"additionalProperties", SCHEMA},
    {"patternProperties", MAP},
    {"propertyNames", SCHEMA},
    {"dependentSchemas", MAP},
    {"dependentRequired", OBJECT},
    {"dependencies", MIXED},
    {"unevaluatedItems", SCHEMA},
    {"unevaluatedProperties", SCHEMA},
    {"not", SCHEMA},
    {"if", SCHEMA},
    {"then", SCHEMA},
    {"else", SCHEMA},
    {"$defs", MAP},
    {"definitions", MAP},
    {"$schema", DIALECT},
    {"$id", STRING},
    {"$anchor", STRING},
    {"$comment", STRING},
    {"examples", ARRAY},
    {"readOnly", BOOL},
    {"writeOnly", BOOL},
    {"deprecated", BOOL},
    {"contentEncoding", STRING},
    {"contentMediaType", STRING},
    {"contentSchema", SCHEMA},
};

static enum shape shape_of(mp_view key)
{
    bool is_escaped = memchr(key.data, '\\', key.len);

    for (size_t i = 0; i < MP_COUNT(keywords); i++) {
        size_t len = strlen(keywords[i].name);
        if (is_escaped
                ? mp_view_equals(key, keywords[i].name)
                : len + 2 == key.len && memcmp(key.data + 1, keywords[i].name, len) == 0)
            return keywords[i].shape;
    }
    return ANY;
}

static bool is_number(mp_view v)
{
    return v.len && (v.data[0] == '-' || (v.data[0] >= '0' && v.data[0] <= '9'));
}

static bool is_bool(mp_view v)
{
    return v.len && (v.data[0] == 't' || v.data[0] == 'f');
}

static bool is_type(mp_view v)
{
    static const char *const types[] = {"string",  "object",  "array", "number",
                                        "integer", "boolean", "null"};

    for (size_t i = 0; mp_view_is_string(v) && i < MP_COUNT(types); i++)
        if (mp_view_equals(v, types[i]))
            return true;
    return false;
}

/* One, or several, each of them once. */
static bool are_types(mp_view v)
{
    struct mp_walk w = mp_walk_into(v);
    mp_view seen[8], item;
    size_t n = 0;

    if (!mp_view_is_array(v))
        return is_type(v);
    for (; mp_walk_element(&w, &item); seen[n++] = item) {
        if (!is_type(item))
            return false;
        for (size_t i = 0; i < n; i++)
            if (mp_view_same(seen[i], item))
                return false;
    }
    return n > 0;
}

static bool fits(enum shape shape, mp_view v)
{
    double number = 0;

    switch (shape) {
    case STRING:
    case FORMAT:
    case REFERENCE:
        return mp_view_is_string(v);
    case NUMBER:
    case LEAST:
    case MOST:
    case ABOVE:
    case BELOW:
        return is_number(v);
    case POSITIVE:
        return is_number(v) && mp_view_double(v, &number) && number > 0;
    case COUNT: /* 2.0 is one, too */
        return is_number(v) && mp_view_double(v, &number) && number >= 0 &&
               (number > 1e15 || number == (double)(int64_t)number);
    case BOOL:
        return is_bool(v);
    case ARRAY:
    case REQUIRED:
        return mp_view_is_array(v);
    case OBJECT:
    case MAP:
    case MIXED:
        return mp_view_is_object(v);
    case TYPE:
        return are_types(v);
    case SCHEMAS:
        return mp_view_is_array(v) && mp_view_count(v) > 0;
    default:
        return true;
    }
}

/* ---- one schema ---- */

struct writer {
    const struct mp_provider *provider;
    struct mp_str *out;
    struct mp_findings *found;
    struct mp_members members; /* of the root; and sets of names */
    bool is_open;              /* they are in use */
    bool has_bases;            /* $id and anchors, so references mean what others know */
    bool is_merged;
    mp_view root;
    size_t n_sets;
};

struct node { /* what has to be known before it is written */
    mp_view ref, items, required, properties, least, most, above, below;
    bool is_array;    /* by its type */
    bool has_prefix;  /* prefixItems */
    bool has_choice;  /* anyOf */
    bool has_company; /* of a $ref */
};

static void add_schema(struct writer *w, mp_view schema, const struct mp_at *at);

static void find(struct writer *w, enum mp_rule rule, const struct mp_at *at)
{
    mp_find(w->found, w->provider, rule, at);
}

static struct mp_members *members(struct writer *w)
{
    if (!w->is_open)
        mp_members_init(&w->members, w->root, (w->root.len + 1) * MP_FORMAT_WORK);
    w->is_open = true;
    return &w->members;
}

/* A set of names, for has_name(). No member of the schema has that number. */
static size_t new_set(struct writer *w)
{
    return SIZE_MAX - 1 - w->n_sets++;
}

/* Was the name there? It is from now on. false where that takes too long to tell. */
static bool has_name(struct writer *w, size_t set, mp_view name)
{
    struct mp_members *m = members(w);
    size_t before = m->n, i = mp_members_find_key(m, set, name);

    return i != MP_NO_MEMBER && m->n == before;
}

static bool starts(mp_view string, const char *text)
{
    size_t n = strlen(text);
    return string.len >= n + 2 && memcmp(string.data + 1, text, n) == 0;
}

/* Are there two members of one name? */
static bool has_twice(struct writer *w, mp_view object)
{
    int r = mp_view_unique(object, NULL);

    w->out->failed = w->out->failed || r == MCPLUG_ENOMEM;
    return r == MCPLUG_EPROTO;
}

static void read_node(struct node *n, mp_view schema)
{
    struct mp_walk walk = mp_walk_into(schema);
    mp_view key, value, type = {NULL, 0};

    *n = (struct node){0};
    while (mp_walk_member(&walk, &key, &value)) {
        enum shape shape = shape_of(key);
        mp_view *at = shape == REFERENCE                                  ? &n->ref
                      : shape == ITEMS                                    ? &n->items
                      : shape == REQUIRED                                 ? &n->required
                      : shape == LEAST                                    ? &n->least
                      : shape == MOST                                     ? &n->most
                      : shape == ABOVE                                    ? &n->above
                      : shape == BELOW                                    ? &n->below
                      : shape == TYPE                                     ? &type
                      : shape == MAP && mp_view_equals(key, "properties") ? &n->properties
                                                                          : NULL;
        if (at && !at->len)
            *at = value;
        n->has_prefix |= shape == SCHEMAS && mp_view_equals(key, "prefixItems");
        n->has_choice |= shape == SCHEMAS && mp_view_equals(key, "anyOf");
        n->has_company |= !starts(key, "$") && !starts(key, "x-");
    }
    n->is_array = mp_view_is_string(type) && mp_view_equals(type, "array");
}

/* Does it lead anywhere? What has a base of its own is not judged. */
static bool is_reference(struct writer *w, mp_view ref)
{
    return w->has_bases || mp_members_resolve(members(w), ref) != MP_NO_MEMBER ||
           members(w)->is_spent;
}

/* ---- its members ---- */

static void add_key(struct writer *w, size_t *n, mp_view key)
{
    mp_str_adds(w->out, (*n)++ ? "," : "");
    mp_str_add_bytes(w->out, key);
    mp_str_addc(w->out, ':');
}

static void add_schemas(struct writer *w, mp_view list, const struct mp_at *at)
{
    struct mp_walk walk = mp_walk_into(list);
    mp_view item;

    mp_str_addc(w->out, '[');
    for (size_t i = 0; mp_walk_element(&walk, &item); i++) {
        struct mp_at here = {.up = at, .index = i};
        mp_str_adds(w->out, i ? "," : "");
        add_schema(w, item, &here);
    }
    mp_str_addc(w->out, ']');
}

static void add_map(struct writer *w, mp_view map, bool is_mixed, const struct mp_at *at)
{
    struct mp_walk walk = mp_walk_into(map);
    bool is_judged = has_twice(w, map);
    size_t n = 0, set = is_judged ? new_set(w) : 0;
    mp_view key, value;

    mp_str_addc(w->out, '{');
    while (mp_walk_member(&walk, &key, &value)) {
        struct mp_at here = {.up = at, .key = key};
        if (is_judged && has_name(w, set, key)) {
            find(w, MP_RULE_TWICE, &here);
            continue;
        }
        add_key(w, &n, key);
        if (is_mixed && mp_view_is_array(value))
            mp_str_add_bytes(w->out, value);
        else
            add_schema(w, value, &here);
    }
    mp_str_addc(w->out, '}');
}

/* Names, each once; for those who mind, of properties that are described. */
static void add_required(struct writer *w, const struct node *node, mp_view list,
                         const struct mp_at *at)
{
    bool is_root = !at->up->up;
    bool is_judged = w->provider->needs_described && !w->is_merged &&
                     (is_root || mp_view_is_object(node->properties));
    size_t seen = new_set(w), described = new_set(w), n = 0;
    struct mp_walk walk = mp_walk_into(node->properties);
    mp_view item, value;

    while (is_judged && mp_walk_member(&walk, &item, &value))
        has_name(w, described, item);
    walk = mp_walk_into(list);
    mp_str_addc(w->out, '[');
    for (size_t i = 0; mp_walk_element(&walk, &item); i++) {
        struct mp_at here = {.up = at, .index = i};
        if (!mp_view_is_string(item))
            find(w, MP_RULE_KEYWORD, &here);
        else if (has_name(w, seen, item))
            find(w, MP_RULE_TWICE, &here);
        else if (is_judged && !has_name(w, described, item) && !members(w)->is_spent)
            find(w, MP_RULE_REQUIRED_UNKNOWN, &here);
        else {
            mp_str_adds(w->out, n++ ? "," : "");
            mp_str_add_bytes(w->out, item);
        }
    }
    mp_str_addc(w->out, ']');
}

static bool is_known_format(const struct mp_provider *p, mp_view format)
{
    for (size_t i = 0; p->formats && p->formats[i]; i++)
        if (mp_view_equals(format, p->formats[i]))
            return true;
    return !p->formats;
}

/* Adds one member as it is, or as it can be made; or leaves it out. */
static void add_member(struct writer *w, const struct node *node, mp_view key,
                       mp_view value, size_t *n, const struct mp_at *up)
{
    struct mp_at here = {.up = up, .key = key};
    enum shape shape = shape_of(key);
    bool is_tuple = mp_view_is_array(node->items);
    bool is_root = !up->up;

    /* limits as draft 4 had them */
    bool is_above = shape == ABOVE || shape == LEAST;
    mp_view exclusive = is_above ? node->above : node->below;
    mp_view limit = is_above ? node->least : node->most;
    if ((shape == ABOVE || shape == BELOW) && is_bool(value)) {
        find(w, MP_RULE_EXCLUSIVE, &here);
        if (mp_view_true(value) && is_number(limit)) {
            add_key(w, n, key);
            mp_str_add_bytes(w->out, limit);
        }
        return;
    }
    if ((shape == LEAST || shape == MOST) && mp_view_true(exclusive) && is_number(value))
        return; /* which went there */

    if (shape == DIALECT) {
        find(w, MP_RULE_DIALECT, &here);
        return;
    }
    if (w->provider->drops_extensions && starts(key, "x-")) {
        find(w, MP_RULE_EXTENSION, &here);
        return;
    }
    if (!fits(shape, value)) {
        find(w, MP_RULE_KEYWORD, &here);
        return;
    }
    if (shape == FORMAT && !is_known_format(w->provider, value)) {
        find(w, MP_RULE_FORMAT, &here);
        return;
    }
    if (shape == REFERENCE && !is_reference(w, value)) {
        find(w, MP_RULE_REF, &here);
        return;
    }
    if (shape == REFERENCE && w->provider->has_lone_refs && node->has_company &&
        !is_root) {
        find(w, MP_RULE_REF_BESIDE, &here);
        add_key(w, n, mp_text(node->has_choice ? "\"allOf\"" : "\"anyOf\""));
        mp_str_adds(w->out, "[{\"$ref\":");
        mp_str_add_bytes(w->out, value);
        mp_str_adds(w->out, "}]");
        return;
    }
    if (shape == ITEMS && is_tuple) {
        find(w, MP_RULE_TUPLE, &here);
        if (node->has_prefix || mp_view_count(value) == 0)
            return;
        add_key(w, n, mp_text("\"prefixItems\""));
        add_schemas(w, value, &here);
        return;
    }
    if (shape == ADDITIONAL_ITEMS && is_tuple)
        key = mp_text("\"items\"");
    add_key(w, n, key);
    if (shape == SCHEMA || shape == ITEMS || (shape == ADDITIONAL_ITEMS && is_tuple))
        add_schema(w, value, &here);
    else if (shape == SCHEMAS)
        add_schemas(w, value, &here);
    else if (shape == MAP || shape == MIXED)
        add_map(w, value, shape == MIXED, &here);
    else if (shape == REQUIRED)
        add_required(w, node, value, &here);
    else
        mp_str_add_bytes(w->out, value);
}

static void add_schema(struct writer *w, mp_view schema, const struct mp_at *at)
{
    struct mp_walk walk = mp_walk_into(schema);
    bool has_items = false, is_judged;
    struct node node;
    mp_view key, value;
    size_t n = 0, set = 0;

    if (is_bool(schema)) {
        mp_str_add_bytes(w->out, schema);
        return;
    }
    if (!mp_view_is_object(schema)) {
        find(w, MP_RULE_NO_SCHEMA, at);
        mp_str_adds(w->out, "{}");
        return;
    }
    read_node(&node, schema);
    is_judged = has_twice(w, schema);
    if (is_judged)
        set = new_set(w);
    mp_str_addc(w->out, '{');
    while (mp_walk_member(&walk, &key, &value)) {
        if (is_judged && has_name(w, set, key)) {
            struct mp_at here = {.up = at, .key = key};
            find(w, MP_RULE_TWICE, &here);
            continue;
        }
        enum shape shape = shape_of(key);
        has_items |= shape == ITEMS
                         ? !mp_view_is_array(value)
                         : shape == ADDITIONAL_ITEMS && mp_view_is_array(node.items);
        add_member(w, &node, key, value, &n, at);
    }
    if (w->provider->needs_items && node.is_array && !has_items) {
        find(w, MP_RULE_NO_ITEMS, at);
        add_key(w, &n, mp_text("\"items\""));
        mp_str_adds(w->out, "{}");
    }
    mp_str_addc(w->out, '}');
}

void mp_keywords_add(struct mp_str *out, const struct mp_provider *provider,
                     mp_view schema, bool is_merged, const struct mp_at *at,
                     struct mp_findings *found)
{
    struct writer w = {.provider = provider,
                       .out = out,
                       .found = found,
                       .is_merged = is_merged,
                       .root = schema};

    w.has_bases = memmem(schema.data, schema.len, "\"$id\"", 5) ||
                  memmem(schema.data, schema.len, "nchor\"", 6);
    add_schema(&w, schema, at);
    out->failed = out->failed || (w.is_open && w.members.failed);
    if (w.is_open)
        mp_members_clear(&w.members);
}
