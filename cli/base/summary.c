/* A JSON Schema in a few words. */
#include "cli/base/listing.h"

#include "base/buf.h"

#define DEPTH 4 /* of types within types that are spelled out */

static void add_type(mp_view schema, struct mp_str *out, int depth);

static void add_each(mp_view list, struct mp_str *out, int depth)
{
    struct mp_walk w = mp_walk_into(list);
    mp_view one;
    bool any = false;
    while (mp_walk_element(&w, &one)) {
        if (any)
            mp_str_addc(out, '|');
        any = true;
        if (mp_view_is_string(one))
            mp_str_add_view(out, one);
        else
            add_type(one, out, depth);
    }
}

static void add_type(mp_view schema, struct mp_str *out, int depth)
{
    mp_view type = mp_view_get(schema, "type"), items = mp_view_get(schema, "items");
    mp_view any = mp_view_get(schema, "anyOf");
    if (any.len == 0)
        any = mp_view_get(schema, "oneOf");

    if (depth == 0)
        mp_str_adds(out, "any");
    else if (mp_view_is_string(type) && mp_view_equals(type, "array") &&
             mp_view_is_object(items)) {
        add_type(items, out, depth - 1);
        mp_str_adds(out, "[]");
    } else if (mp_view_is_string(type))
        mp_str_add_view(out, type);
    else if (mp_view_is_array(type))
        add_each(type, out, depth);
    else if (mp_view_is_array(any) && mp_view_count(any))
        add_each(any, out, depth - 1);
    else if (mp_view_get(schema, "enum").len || mp_view_get(schema, "const").len)
        mp_str_adds(out, "enum");
    else
        mp_str_adds(out, "any");
}

static bool names(mp_view list, mp_view key)
{
    struct mp_walk w = mp_walk_into(list);
    struct mp_str name;
    mp_view one;
    bool found = false;
    mp_str_init(&name, 4096);
    mp_str_add_view(&name, key);
    while (!found && name.data && mp_walk_element(&w, &one))
        found = mp_view_is_string(one) && mp_view_equals(one, name.data);
    mp_str_clear(&name);
    return found;
}

void cli_schema_summary(mp_view schema, struct mp_str *out)
{
    struct mp_walk w = mp_walk_into(mp_view_get(schema, "properties"));
    mp_view required = mp_view_get(schema, "required"), key, value;
    bool any = false;

    while (mp_walk_member(&w, &key, &value)) {
        bool needed = names(required, key);
        mp_str_adds(out, any ? " " : "");
        mp_str_adds(out, needed ? "" : "[");
        mp_str_add_view(out, key);
        mp_str_addc(out, ':');
        add_type(value, out, DEPTH);
        mp_str_adds(out, needed ? "" : "]");
        any = true;
    }
}
