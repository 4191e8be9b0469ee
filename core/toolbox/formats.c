/* Tools as the APIs of models want them. One tool that such an API refuses fails the
 * whole request, so what is known to be refused is repaired or left out: schemas whose
 * root is no plain object, tools without a description, names of properties. */
#include "toolbox/toolbox.h"

#include "base/mem.h"

#include <stdlib.h>

enum { KEY_MAX = 64 }; /* of a property, for those who mind */

/* ---- what a schema says of the arguments ---- */

#define ARGUMENT SIZE_MAX
#define NONE SIZE_MAX

/* An argument of the tool, or a member of an object that a reference leads through. */
struct member {
    size_t of;          /* the member that has it, or ARGUMENT */
    size_t at, len;     /* its name, in `text` */
    uint64_t hash;      /* of the two */
    mp_view key, value; /* len 0: required or referred to, but not described */
    bool required;
    bool indexed;        /* its own members are known */
    bool visited;        /* as the target of a reference */
    size_t kept, n_kept; /* the arguments it requires; none before its visit has ended */
};

struct ids { /* of members */
    size_t *list, n, cap;
};

/* The root of a schema and what it says of the same object elsewhere: in allOf, anyOf and
 * oneOf, and behind $ref. */
struct merge {
    struct member *members; /* the first is the root */
    size_t n, cap;
    size_t *slots, n_slots; /* they by their hashes: the index + 1, or 0 */
    struct mp_str text, scratch;
    struct ids arguments; /* that are described, in that order */
    struct ids required;  /* a stack: of the schemas that are being visited */
    struct ids kept;
    size_t work;             /* left */
    enum mp_formatted limit; /* that was exceeded */
    bool failed;             /* no memory */
};

static const char *const combinators[] = {"allOf", "anyOf", "oneOf"};

/* Every loop over what a server wrote pays, by the byte. false: stop, nothing that was
 * collected counts. */
static bool spend(struct merge *m, size_t work)
{
    if (m->failed || m->limit != MP_FORMATTED)
        return false;
    if (work > m->work) {
        m->limit = MP_FORMAT_TOO_COSTLY;
        return false;
    }
    m->work -= work;
    return true;
}

static bool push(struct merge *m, struct ids *ids, size_t id)
{
    if (!mp_grow(&ids->list, &ids->cap, ids->n + 1)) {
        m->failed = true;
        return false;
    }
    ids->list[ids->n++] = id;
    return true;
}

static uint64_t hash_name(size_t of, const char *name, size_t len)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325) ^ of;

    for (size_t i = 0; i < len; i++)
        hash = (hash ^ (unsigned char)name[i]) * UINT64_C(0x100000001b3);
    return hash ^ hash >> 32;
}

/* At least half of the slots are free. */
static bool reserve_slot(struct merge *m)
{
    size_t n = m->n_slots ? m->n_slots * 2 : 32;

    if (m->n * 2 < m->n_slots)
        return true;
    size_t *slots = mp_alloc(n * sizeof *slots);
    if (!slots)
        return false;
    for (size_t k = 1; k < m->n; k++) {
        size_t i = m->members[k].hash & (n - 1);
        while (slots[i])
            i = (i + 1) & (n - 1);
        slots[i] = k + 1;
    }
    mp_free(m->slots);
    m->slots = slots;
    m->n_slots = n;
    return true;
}

/* The member of that name, new if need be. NONE: stop. */
static size_t find(struct merge *m, size_t of, const char *name, size_t len)
{
    if (!spend(m, len + 1))
        return NONE;
    if (!reserve_slot(m) || !mp_grow(&m->members, &m->cap, m->n + 1)) {
        m->failed = true;
        return NONE;
    }
    uint64_t hash = hash_name(of, name, len);
    size_t i = hash & (m->n_slots - 1);
    for (; m->slots[i]; i = (i + 1) & (m->n_slots - 1)) {
        const struct member *known = &m->members[m->slots[i] - 1];
        if (known->hash == hash && known->of == of && known->len == len &&
            memcmp(m->text.data + known->at, name, len) == 0)
            return m->slots[i] - 1;
        if (!spend(m, 1))
            return NONE;
    }
    m->members[m->n] =
        (struct member){.of = of, .at = m->text.len, .len = len, .hash = hash};
    m->failed = !mp_str_add(&m->text, name, len);
    m->slots[i] = ++m->n;
    return m->n - 1;
}

static size_t find_key(struct merge *m, size_t of, mp_view key)
{
    mp_str_reset(&m->scratch);
    if (!mp_str_add_view(&m->scratch, key)) {
        m->failed = true;
        return NONE;
    }
    return find(m, of, m->scratch.len ? m->scratch.data : "", m->scratch.len);
}

/* Finds the members of an object; of two of one name the first counts. */
static bool index_members(struct merge *m, size_t of, mp_view object)
{
    struct mp_walk w = mp_walk_into(object);
    mp_view key, value;

    if (!spend(m, object.len))
        return false;
    while (mp_walk_member(&w, &key, &value)) {
        size_t i = find_key(m, of, key);
        if (i == NONE)
            return false;
        if (m->members[i].value.len)
            continue;
        m->members[i].key = key;
        m->members[i].value = value;
        if (of == ARGUMENT && !push(m, &m->arguments, i))
            return false;
    }
    return true;
}

/* The member that a local reference means; NONE: there is no such one. */
static size_t resolve(struct merge *m, mp_view ref)
{
    char *path = mp_view_strdup(ref), *at = path;
    size_t i = path && path[0] == '#' ? 0 : NONE;

    m->failed = m->failed || (!path && mp_view_is_string(ref));
    if (i == 0)
        at++;
    while (i != NONE && *at) {
        char *name = at + 1, *to = name;
        if (*at != '/') {
            i = NONE;
            break;
        }
        for (at = name; *at && *at != '/'; at++)
            if (at[0] == '~' && (at[1] == '0' || at[1] == '1'))
                *to++ = *++at == '0' ? '~' : '/';
            else
                *to++ = *at;
        if (!m->members[i].indexed)
            index_members(m, i, m->members[i].value);
        m->members[i].indexed = true;
        i = find(m, i, name, (size_t)(to - name));
        if (i != NONE && !m->members[i].value.len)
            i = NONE;
    }
    mp_free(path);
    return i;
}

static void visit(struct merge *m, mp_view schema, unsigned depth);

/* Visits what a reference means, once. A reference to a schema that is being visited,
 * which JSON Schema forbids, adds nothing. */
static void visit_target(struct merge *m, size_t i, unsigned depth)
{
    size_t before = m->required.n;

    if (!m->members[i].visited) {
        m->members[i].visited = true;
        visit(m, m->members[i].value, depth);
        m->members[i].kept = m->kept.n;
        for (size_t k = before; k < m->required.n; k++)
            if (!spend(m, 1) || !push(m, &m->kept, m->required.list[k]))
                return;
        m->members[i].n_kept = m->required.n - before;
        return;
    }
    for (size_t k = 0; k < m->members[i].n_kept; k++)
        if (!spend(m, 1) || !push(m, &m->required, m->kept.list[m->members[i].kept + k]))
            return;
}

static int by_id(const void *a, const void *b)
{
    size_t x = *(const size_t *)a, y = *(const size_t *)b;
    return (x > y) - (x < y);
}

/* Visits the branches of a choice. Required is what all of them require. */
static void visit_choice(struct merge *m, mp_view choice, unsigned depth)
{
    struct mp_walk w = mp_walk_into(choice);
    size_t before = m->required.n, n_common = 0, n_branches = 0;
    mp_view branch;

    for (; mp_walk_element(&w, &branch); n_branches++) {
        size_t from = before + n_common, n = 0, k = before;
        m->required.n = from;
        visit(m, branch, depth);
        if (!spend(m, (m->required.n - before) * 8))
            return;
        size_t *ids = m->required.list, end = m->required.n;
        if (from < end)
            qsort(ids + from, end - from, sizeof *ids, by_id);
        for (size_t i = from; i < end; i++) {
            if (i > from && ids[i] == ids[i - 1])
                continue;
            while (k < from && ids[k] < ids[i])
                k++;
            if (n_branches == 0 || (k < from && ids[k] == ids[i]))
                ids[before + n++] = ids[i];
        }
        n_common = n;
    }
    m->required.n = before + n_common;
}

/* Collects the properties of a schema and pushes what it requires. */
static void visit(struct merge *m, mp_view schema, unsigned depth)
{
    mp_view required, item;

    if (!mp_view_is_object(schema) || !spend(m, schema.len))
        return;
    if (depth > MP_FORMAT_DEPTH) {
        m->limit = MP_FORMAT_TOO_DEEP;
        return;
    }
    if (!index_members(m, ARGUMENT, mp_view_get(schema, "properties")))
        return;
    required = mp_view_get(schema, "required");
    struct mp_walk w = mp_walk_into(required);
    while (mp_view_is_array(required) && mp_walk_element(&w, &item)) {
        size_t i = mp_view_is_string(item) ? find_key(m, ARGUMENT, item) : NONE;
        if (i != NONE && !push(m, &m->required, i))
            return;
    }
    size_t target = resolve(m, mp_view_get(schema, "$ref"));
    if (target != NONE)
        visit_target(m, target, depth + 1);
    w = mp_walk_into(mp_view_get(schema, combinators[0]));
    while (mp_walk_element(&w, &item))
        visit(m, item, depth + 1);
    for (size_t i = 1; i < MP_COUNT(combinators); i++)
        visit_choice(m, mp_view_get(schema, combinators[i]), depth + 1);
}

/* ---- the schema of the arguments ---- */

static bool is_plain_key(const char *name, size_t len)
{
    size_t n = len && len <= KEY_MAX ? 0 : len + 1;

    while (n < len && name[n] &&
           strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-",
                  name[n]))
        n++;
    return n == len;
}

/* Adds the properties, then the names of those that are required. false: one of these
 * cannot be named. */
static bool add_arguments(const struct merge *m, struct mp_str *out, bool plain_keys)
{
    size_t n = 0, n_required = 0;

    mp_str_adds(out, ",\"properties\":{");
    for (size_t i = 0; i < m->arguments.n; i++) {
        const struct member *a = &m->members[m->arguments.list[i]];
        if (plain_keys && !is_plain_key(m->text.data + a->at, a->len)) {
            if (a->required)
                return false;
            continue;
        }
        mp_str_adds(out, n++ ? "," : "");
        mp_str_add_bytes(out, a->key);
        mp_str_addc(out, ':');
        mp_str_add_bytes(out, a->value);
    }
    mp_str_addc(out, '}');
    for (size_t i = 0; i < m->arguments.n; i++) {
        const struct member *a = &m->members[m->arguments.list[i]];
        if (!a->required)
            continue;
        mp_str_adds(out, n_required++ ? "," : ",\"required\":[");
        mp_str_add_bytes(out, a->key);
    }
    mp_str_adds(out, n_required ? "]" : "");
    return true;
}

/* Adds all that is said of the arguments. */
static enum mp_formatted add_merged(struct mp_str *out, mp_view schema, bool plain_keys)
{
    struct merge m = {.n = 1, .work = schema.len * MP_FORMAT_WORK};
    enum mp_formatted result = MP_FORMATTED;

    mp_str_init(&m.text, mp_format_max(schema.len));
    mp_str_init(&m.scratch, mp_format_max(schema.len));
    if (mp_grow(&m.members, &m.cap, 1)) {
        m.members[0] = (struct member){.value = schema, .visited = true};
        visit(&m, schema, 0);
    } else {
        m.failed = true;
    }
    if (m.failed) {
        out->failed = true;
    } else if (m.limit != MP_FORMATTED) {
        result = m.limit;
    } else {
        for (size_t i = 0; i < m.required.n; i++)
            m.members[m.required.list[i]].required = true;
        result = add_arguments(&m, out, plain_keys) ? MP_FORMATTED : MP_FORMAT_UNFIT;
    }
    mp_str_clear(&m.text);
    mp_str_clear(&m.scratch);
    mp_free(m.members);
    mp_free(m.slots);
    mp_free(m.arguments.list);
    mp_free(m.required.list);
    mp_free(m.kept.list);
    return result;
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
    while (plain_keys && mp_walk_member(&w, &key, &value)) /* an escape is not plain */
        if (!is_plain_key((const char *)key.data + 1, key.len - 2))
            return false;
    return true;
}

/* Adds the schema as that of a plain object. */
static enum mp_formatted add_schema(struct mp_str *out, mp_view schema, bool plain_keys)
{
    mp_view properties = mp_view_get(schema, "properties");
    mp_view required = mp_view_get(schema, "required");
    enum mp_formatted result = MP_FORMATTED;

    mp_str_adds(out, "{\"type\":\"object\"");
    add_rest(out, schema);
    if (!is_simple(schema, plain_keys)) {
        result = add_merged(out, schema, plain_keys);
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
    return result;
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
            mp_quote_description(out, about[i]);
            return;
        }
    mp_str_add_json(out, name, strlen(name));
}

size_t mp_format_max(size_t len)
{
    return len * (MP_FORMAT_WORK + 2) + 1024;
}

enum mp_formatted mp_format_tool(struct mp_str *out, enum mcplug_format format,
                                 const char *name, mp_view tool)
{
    mp_view schema = mp_view_get(tool, "inputSchema");
    bool plain_keys = format == MCPLUG_FORMAT_ANTHROPIC;

    mp_str_adds(out, format == MCPLUG_FORMAT_OPENAI ? "{\"type\":\"function\","
                                                      "\"function\":{\"name\":"
                     : format == MCPLUG_FORMAT_OPENAI_RESPONSES
                         ? "{\"type\":\"function\",\"name\":"
                         : "{\"name\":");
    mp_str_add_json(out, name, strlen(name));
    add_description(out, name, tool);
    mp_str_adds(out, plain_keys ? ",\"input_schema\":" : ",\"parameters\":");
    enum mp_formatted result = add_schema(out, schema, plain_keys);
    /* Responses are strict unless told otherwise, which few schemas are made for. */
    mp_str_adds(out, format == MCPLUG_FORMAT_OPENAI             ? "}}"
                     : format == MCPLUG_FORMAT_OPENAI_RESPONSES ? ",\"strict\":false}"
                                                                : "}");
    return result;
}
