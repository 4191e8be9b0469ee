#include "toolbox/members.h"
#include "toolbox/rules.h"

#include "base/mem.h"

#include <stdlib.h>

/* ---- what a schema says of the arguments ---- */

#define ARGUMENT SIZE_MAX

struct ids { /* of members */
    size_t *list, n, cap;
};

/* The root of a schema and what it says of the same object elsewhere: in allOf, anyOf and
 * oneOf, and behind $ref. Members of ARGUMENT are the arguments of the tool, others are
 * what a reference leads through. */
struct merge {
    struct mp_members members;
    struct ids arguments; /* that are described, in that order */
    struct ids required;  /* a stack: of the schemas that are being visited */
    struct ids kept;
    bool is_too_deep;
};

static const char *const combinators[] = {"allOf", "anyOf", "oneOf"};

/* false: stop, nothing that was collected counts. */
static bool spend(struct merge *m, size_t work)
{
    return !m->is_too_deep && mp_members_spend(&m->members, work);
}

static bool push(struct merge *m, struct ids *ids, size_t id)
{
    if (!mp_grow(&ids->list, &ids->cap, ids->n + 1)) {
        m->members.failed = true;
        return false;
    }
    ids->list[ids->n++] = id;
    return true;
}

/* Finds the arguments; of two of one name the first counts. */
static bool collect(struct merge *m, mp_view properties)
{
    struct mp_walk w = mp_walk_into(properties);
    mp_view key, value;

    if (!spend(m, properties.len))
        return false;
    while (mp_walk_member(&w, &key, &value)) {
        size_t i = mp_members_find_key(&m->members, ARGUMENT, key);
        if (i == MP_NO_MEMBER)
            return false;
        struct mp_member_entry *argument = &m->members.list[i];
        if (argument->value.len)
            continue;
        argument->key = key;
        argument->value = value;
        if (!push(m, &m->arguments, i))
            return false;
    }
    return true;
}

static void visit(struct merge *m, mp_view schema, unsigned depth);

/* Visits what a reference means, once. A reference to a schema that is being visited,
 * which JSON Schema forbids, adds nothing. */
static void visit_target(struct merge *m, size_t i, unsigned depth)
{
    struct mp_member_entry *list = m->members.list;
    size_t before = m->required.n;

    if (!list[i].visited) {
        list[i].visited = true;
        visit(m, list[i].value, depth);
        list = m->members.list;
        list[i].kept = m->kept.n;
        for (size_t k = before; k < m->required.n; k++)
            if (!spend(m, 1) || !push(m, &m->kept, m->required.list[k]))
                return;
        list[i].n_kept = m->required.n - before;
        return;
    }
    for (size_t k = 0; k < list[i].n_kept; k++)
        if (!spend(m, 1) || !push(m, &m->required, m->kept.list[list[i].kept + k]))
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
        m->is_too_deep = true;
        return;
    }
    if (!collect(m, mp_view_get(schema, "properties")))
        return;
    required = mp_view_get(schema, "required");
    struct mp_walk w = mp_walk_into(required);
    while (mp_view_is_array(required) && mp_walk_element(&w, &item)) {
        size_t i = mp_view_is_string(item)
                       ? mp_members_find_key(&m->members, ARGUMENT, item)
                       : MP_NO_MEMBER;
        if (i != MP_NO_MEMBER && !push(m, &m->required, i))
            return;
    }
    size_t target = mp_members_resolve(&m->members, mp_view_get(schema, "$ref"));
    if (target != MP_NO_MEMBER)
        visit_target(m, target, depth + 1);
    w = mp_walk_into(mp_view_get(schema, combinators[0]));
    while (mp_walk_element(&w, &item))
        visit(m, item, depth + 1);
    for (size_t i = 1; i < MP_COUNT(combinators); i++)
        visit_choice(m, mp_view_get(schema, combinators[i]), depth + 1);
}

/* ---- the schema of the arguments ---- */

static bool is_plain_key(const struct mp_provider *provider, const char *name, size_t len)
{
    size_t n = 0;

    if (!provider->key_max)
        return true;
    if (!len || len > provider->key_max)
        return false;
    while (n < len && name[n] &&
           strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-",
                  name[n]))
        n++;
    return n == len;
}

struct target {
    struct mp_str *out;
    const struct mp_provider *provider;
    const struct mp_at *at;
    struct mp_findings *found;
};

static void find(const struct target *t, enum mp_rule rule, mp_view key)
{
    struct mp_at properties = {.up = t->at, .name = "properties"};
    struct mp_at here = {.up = &properties, .key = key};

    mp_find(t->found, t->provider, rule, &here);
}

/* Adds the properties, then the names of those that are required. false: one of these
 * cannot be named. */
static bool add_arguments(const struct merge *m, const struct target *t)
{
    const struct mp_member_entry *list = m->members.list;
    size_t n = 0, n_required = 0;
    bool is_fit = true;

    mp_str_adds(t->out, ",\"properties\":{");
    for (size_t i = 0; i < m->arguments.n; i++) {
        const struct mp_member_entry *a = &list[m->arguments.list[i]];
        if (!is_plain_key(t->provider, m->members.text.data + a->at, a->len)) {
            is_fit &= !a->required;
            find(t, a->required ? MP_RULE_REQUIRED_KEY : MP_RULE_KEY, a->key);
            continue;
        }
        mp_str_adds(t->out, n++ ? "," : "");
        mp_str_add_bytes(t->out, a->key);
        mp_str_addc(t->out, ':');
        mp_str_add_bytes(t->out, a->value);
    }
    mp_str_addc(t->out, '}');
    for (size_t i = 0; i < m->arguments.n; i++) {
        const struct mp_member_entry *a = &list[m->arguments.list[i]];
        if (!a->required)
            continue;
        mp_str_adds(t->out, n_required++ ? "," : ",\"required\":[");
        mp_str_add_bytes(t->out, a->key);
    }
    mp_str_adds(t->out, n_required ? "]" : "");
    for (size_t i = 1; i < m->members.n; i++)
        if (list[i].of == ARGUMENT && list[i].required && !list[i].value.len) {
            struct mp_at here = {.up = t->at, .name = "required"};
            mp_find(t->found, t->provider, MP_RULE_REQUIRED_UNKNOWN, &here);
        }
    return is_fit;
}

/* Adds all that is said of the arguments. */
static enum mp_formatted add_merged(const struct target *t, mp_view schema)
{
    enum mp_formatted result = MP_FORMATTED;
    struct merge m = {.is_too_deep = false};

    mp_members_init(&m.members, schema, schema.len * MP_FORMAT_WORK);
    visit(&m, schema, 0);
    if (m.members.failed) {
        t->out->failed = true;
    } else if (m.is_too_deep || m.members.is_spent) {
        result = m.is_too_deep ? MP_FORMAT_TOO_DEEP : MP_FORMAT_TOO_COSTLY;
        mp_find(t->found, t->provider,
                m.is_too_deep ? MP_RULE_TOO_DEEP : MP_RULE_TOO_COSTLY, t->at);
    } else {
        for (size_t i = 0; i < m.required.n; i++)
            m.members.list[m.required.list[i]].required = true;
        result = add_arguments(&m, t) ? MP_FORMATTED : MP_FORMAT_UNFIT;
    }
    mp_members_clear(&m.members);
    mp_free(m.arguments.list);
    mp_free(m.required.list);
    mp_free(m.kept.list);
    return result;
}

/* ---- its root ---- */

/* What is refused at the root; the first four are merged. */
static const char *const lost[] = {"allOf", "anyOf", "oneOf", "$ref", "not",
                                   "enum",  "const", "if",    "then", "else"};

bool mp_root_is_merged(mp_view schema, const struct mp_provider *provider)
{
    struct mp_walk w = mp_walk_into(mp_view_get(schema, "properties"));
    mp_view key, value;

    if (mp_view_get(schema, "$ref").len)
        return true;
    for (size_t i = 0; i < MP_COUNT(combinators); i++)
        if (mp_view_get(schema, combinators[i]).len)
            return true;
    while (provider->key_max && mp_walk_member(&w, &key, &value))
        if (!is_plain_key(provider, (const char *)key.data + 1, key.len - 2))
            return true; /* an escape is not plain */
    return false;
}

/* The members of the root that stay. */
static void add_rest(const struct target *t, mp_view root)
{
    static const char *const written[] = {"type", "properties", "required"};
    struct mp_walk w = mp_walk_into(root);
    mp_view key, value;

    while (mp_view_is_object(root) && mp_walk_member(&w, &key, &value)) {
        struct mp_at here = {.up = t->at, .key = key};
        bool stays = true;
        for (size_t i = 0; stays && i < MP_COUNT(written); i++)
            stays = !mp_view_equals(key, written[i]);
        for (size_t i = 0; stays && i < MP_COUNT(lost); i++) {
            stays = !mp_view_equals(key, lost[i]);
            if (!stays)
                mp_find(t->found, t->provider,
                        i < 3    ? MP_RULE_ROOT_CHOICE
                        : i == 3 ? MP_RULE_ROOT_REF
                                 : MP_RULE_ROOT_KEYWORD,
                        &here);
        }
        if (!stays)
            continue;
        mp_str_addc(t->out, ',');
        mp_str_add_bytes(t->out, key);
        mp_str_addc(t->out, ':');
        mp_str_add_bytes(t->out, value);
    }
}

enum mp_formatted mp_merge_add(struct mp_str *out, const struct mp_provider *provider,
                               mp_view schema, const struct mp_at *at,
                               struct mp_findings *found)
{
    struct target t = {out, provider, at, found};
    mp_view properties = mp_view_get(schema, "properties");
    mp_view required = mp_view_get(schema, "required");
    mp_view type = mp_view_get(schema, "type");
    enum mp_formatted result = MP_FORMATTED;

    if (!mp_view_is_string(type) || !mp_view_equals(type, "object"))
        mp_find(found, provider, MP_RULE_ROOT_TYPE, at);
    mp_str_adds(out, "{\"type\":\"object\"");
    add_rest(&t, schema);
    if (mp_root_is_merged(schema, provider)) {
        result = add_merged(&t, schema);
    } else {
        mp_str_adds(out, ",\"properties\":");
        if (mp_view_is_object(properties)) {
            mp_str_add_bytes(out, properties);
        } else {
            mp_find(found, provider, MP_RULE_ROOT_PROPERTIES, at);
            mp_str_adds(out, "{}");
        }
        if (mp_view_is_array(required)) {
            mp_str_adds(out, ",\"required\":");
            mp_str_add_bytes(out, required);
        }
    }
    mp_str_addc(out, '}');
    return result;
}
