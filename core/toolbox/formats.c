/* Tools as the APIs of models want them. One tool that such an API refuses fails the
 * whole request, so what is known to be refused is repaired or left out: schemas whose
 * root is no plain object, tools without a description, names of properties. */
#include "toolbox/toolbox.h"

#include "base/mem.h"

enum {
    SOURCES_MAX = 32,    /* schemas that are merged into one */
    REFS_MAX = 8,        /* how deep they may refer to each other */
    WORK_MAX = 16 << 20, /* bytes that are looked at for that, again and again */
    KEY_MAX = 64,        /* of a property, for those who mind */
};

/* ---- the schema of the arguments ---- */

/* The root of a schema and what it says of the same object elsewhere: in allOf, anyOf and
 * oneOf, and behind $ref. */
struct merge {
    mp_view root;
    mp_view of[SOURCES_MAX];
    size_t n;
    size_t work;     /* left; a server may write what would take for ever */
    bool plain_keys; /* properties of other names are left out */
    bool lost;       /* one of them is required */
};

static const char *const combinators[] = {"allOf", "anyOf", "oneOf"};

/* What a local reference means; len 0: nothing that there is. */
static mp_view resolve(mp_view root, mp_view ref)
{
    char *path = mp_view_strdup(ref), *at = path;
    mp_view v = path && path[0] == '#' ? root : mp_bytes(NULL, 0);

    at += at && *at == '#';
    while (at && *at && v.len) {
        char *name = *at == '/' ? at + 1 : NULL, *to = name;
        if (!name) {
            v = mp_bytes(NULL, 0);
            break;
        }
        for (at = name; *at && *at != '/'; at++)
            if (at[0] == '~' && (at[1] == '0' || at[1] == '1'))
                *to++ = *++at == '0' ? '~' : '/';
            else
                *to++ = *at;
        char end = *at;
        *to = '\0';
        v = mp_view_get(v, name);
        *at = end;
    }
    mp_free(path);
    return v;
}

/* May so many bytes be looked at once more? */
static bool spend(struct merge *m, size_t len)
{
    m->work = m->work > len ? m->work - len : 0;
    return m->work > 0;
}

static void add_source(struct merge *m, mp_view schema, unsigned depth)
{
    if (!mp_view_is_object(schema) || m->n == SOURCES_MAX || depth > REFS_MAX)
        return;
    m->of[m->n++] = schema;
    if (!spend(m, schema.len + m->root.len))
        return;
    add_source(m, resolve(m->root, mp_view_get(schema, "$ref")), depth + 1);
    for (size_t i = 0; i < MP_COUNT(combinators); i++) {
        struct mp_walk w = mp_walk_into(mp_view_get(schema, combinators[i]));
        mp_view branch;
        while (mp_walk_element(&w, &branch))
            add_source(m, branch, depth + 1);
    }
}

static bool names(mp_view list, const char *name)
{
    struct mp_walk w = mp_walk_into(list);
    mp_view item;

    while (mp_view_is_array(list) && mp_walk_element(&w, &item))
        if (mp_view_equals(item, name))
            return true;
    return false;
}

/* In any case, that is: in all branches of a choice. */
static bool is_required(struct merge *m, mp_view schema, const char *name, unsigned depth)
{
    if (!mp_view_is_object(schema) || depth > REFS_MAX || !spend(m, schema.len))
        return false;
    if (names(mp_view_get(schema, "required"), name) ||
        (mp_view_get(schema, "$ref").len && spend(m, m->root.len) &&
         is_required(m, resolve(m->root, mp_view_get(schema, "$ref")), name, depth + 1)))
        return true;
    for (size_t i = 0; i < MP_COUNT(combinators); i++) {
        struct mp_walk w = mp_walk_into(mp_view_get(schema, combinators[i]));
        size_t n = 0, wanted = 0;
        mp_view branch;
        for (; mp_walk_element(&w, &branch); n++)
            wanted += is_required(m, branch, name, depth + 1);
        if (wanted && (i == 0 || wanted == n))
            return true;
    }
    return false;
}

static bool is_plain_key(const char *name)
{
    size_t n = strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                            "0123456789_.-");
    return n && !name[n] && n <= KEY_MAX;
}

/* Was it in one of the first `n`? */
static bool is_known(struct merge *m, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (!spend(m, m->of[i].len) ||
            mp_view_get(mp_view_get(m->of[i], "properties"), name).len)
            return true;
    return false;
}

static void add_property(struct merge *m, struct mp_str *out, struct mp_str *required,
                         const char *name, mp_view key, mp_view value)
{
    bool wanted = is_required(m, m->root, name, 0);

    if (m->plain_keys && !is_plain_key(name)) {
        m->lost = m->lost || wanted;
        return;
    }
    mp_str_adds(out, out->len && out->data[out->len - 1] != '{' ? "," : "");
    mp_str_add(out, key.data, key.len);
    mp_str_addc(out, ':');
    mp_str_add(out, value.data, value.len);
    if (wanted) {
        mp_str_adds(required, required->len ? "," : "");
        mp_str_add(required, key.data, key.len);
    }
}

/* The members of the root that stay; those that are refused there, or merged, do not. */
static void add_rest(struct mp_str *out, mp_view root)
{
    static const char *const gone[] = {
        "type", "properties", "required", "allOf",   "anyOf", "oneOf", "not",
        "enum", "const",      "$ref",     "$schema", "if",    "then",  "else"};
    struct mp_walk w = mp_walk_into(root);
    mp_view key, value;

    while (mp_view_is_object(root) && mp_walk_member(&w, &key, &value)) {
        bool stays = true;
        for (size_t i = 0; stays && i < MP_COUNT(gone); i++)
            stays = !mp_view_equals(key, gone[i]);
        if (!stays)
            continue;
        mp_str_addc(out, ',');
        mp_str_add(out, key.data, key.len);
        mp_str_addc(out, ':');
        mp_str_add(out, value.data, value.len);
    }
}

/* Adds the properties of all that is said of the object, and those that are required.
 * false: one that is cannot be named. */
static bool add_merged(struct mp_str *out, mp_view schema, bool plain_keys)
{
    struct merge m = {.root = schema, .work = WORK_MAX, .plain_keys = plain_keys};
    struct mp_str required;
    mp_view key, value;

    mp_str_init(&required, mp_format_max(schema.len));
    add_source(&m, schema, 0);
    mp_str_adds(out, ",\"properties\":{");
    for (size_t i = 0; i < m.n; i++) {
        struct mp_walk w = mp_walk_into(mp_view_get(m.of[i], "properties"));
        while (mp_walk_member(&w, &key, &value)) {
            char *name = mp_view_strdup(key);
            if (!name)
                out->failed = true;
            else if (!is_known(&m, i, name))
                add_property(&m, out, &required, name, key, value);
            mp_free(name);
        }
    }
    mp_str_addc(out, '}');
    if (required.len) {
        mp_str_adds(out, ",\"required\":[");
        mp_str_add(out, required.data, required.len);
        mp_str_addc(out, ']');
    }
    out->failed = out->failed || required.failed;
    mp_str_clear(&required);
    return !m.lost;
}

/* Are its properties all that is said of the object, under names that can be used? Of
 * nearly all schemas they are. */
static bool is_simple(mp_view schema, bool plain_keys)
{
    mp_view properties = mp_view_get(schema, "properties"), key, value;
    struct mp_walk w = mp_walk_into(properties);

    if (mp_view_get(schema, "$ref").len)
        return false;
    for (size_t i = 0; i < MP_COUNT(combinators); i++)
        if (mp_view_get(schema, combinators[i]).len)
            return false;
    while (plain_keys && mp_walk_member(&w, &key, &value)) {
        char *name = mp_view_strdup(key);
        bool fits = name && is_plain_key(name);
        mp_free(name);
        if (!fits)
            return false;
    }
    return true;
}

/* Adds the schema as that of a plain object. */
static bool add_schema(struct mp_str *out, mp_view schema, bool plain_keys)
{
    mp_view properties = mp_view_get(schema, "properties");
    mp_view required = mp_view_get(schema, "required");
    bool ok = true;

    mp_str_adds(out, "{\"type\":\"object\"");
    add_rest(out, schema);
    if (!is_simple(schema, plain_keys)) {
        ok = add_merged(out, schema, plain_keys);
    } else {
        mp_str_adds(out, ",\"properties\":");
        if (mp_view_is_object(properties))
            mp_str_add(out, properties.data, properties.len);
        else
            mp_str_adds(out, "{}");
        if (mp_view_is_array(required)) {
            mp_str_adds(out, ",\"required\":");
            mp_str_add(out, required.data, required.len);
        }
    }
    mp_str_addc(out, '}');
    return ok;
}

/* ---- the tool ---- */

/* Without one the model is told as much as there is. */
static void add_description(struct mp_str *out, const char *name, mp_view tool)
{
    mp_view about[] = {mp_view_get(tool, "description"), mp_view_get(tool, "title"),
                       mp_view_path(tool, "annotations/title")};

    mp_str_adds(out, ",\"description\":");
    for (size_t i = 0; i < MP_COUNT(about); i++)
        if (mp_view_is_string(about[i]) && about[i].len > 2) {
            mp_str_add(out, about[i].data, about[i].len);
            return;
        }
    mp_str_add_json(out, name, strlen(name));
}

/* Is it for the user interface of the server alone? */
static bool is_hidden(mp_view tool)
{
    mp_view visible = mp_view_path(tool, "_meta/ui/visibility");
    return mp_view_is_array(visible) && !names(visible, "model");
}

size_t mp_format_max(size_t len)
{
    return len * (SOURCES_MAX + 2) + 1024;
}

bool mp_format_tool(struct mp_str *out, enum mcplug_format format, const char *name,
                    mp_view tool)
{
    mp_view schema = mp_view_get(tool, "inputSchema");
    bool plain_keys = format == MCPLUG_FORMAT_ANTHROPIC;

    if (is_hidden(tool))
        return false;
    mp_str_adds(out, format == MCPLUG_FORMAT_OPENAI ? "{\"type\":\"function\","
                                                      "\"function\":{\"name\":"
                     : format == MCPLUG_FORMAT_OPENAI_RESPONSES
                         ? "{\"type\":\"function\",\"name\":"
                         : "{\"name\":");
    mp_str_add_json(out, name, strlen(name));
    add_description(out, name, tool);
    mp_str_adds(out, plain_keys ? ",\"input_schema\":" : ",\"parameters\":");
    bool ok = add_schema(out, schema, plain_keys);
    /* Responses are strict unless told otherwise, which few schemas are made for. */
    mp_str_adds(out, format == MCPLUG_FORMAT_OPENAI             ? "}}"
                     : format == MCPLUG_FORMAT_OPENAI_RESPONSES ? ",\"strict\":false}"
                                                                : "}");
    return ok;
}
