#include "json/schema.h"

#include "base/mem.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

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
        if (name && strcmp(types[i][0], name) == 0 && !(w->types & 1u << i)) {
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
    const json_t *type = json_object_get(schema, "type");
    const json_t *choices = json_object_get(schema, "enum");
    const json_t *only = json_object_get(schema, "const");

    for (size_t i = 0; i < json_array_size(choices); i++)
        say_value(w, json_array_get(choices, i));
    if (only)
        say_value(w, only);
    if (only || json_array_size(choices))
        return;
    say_type(w, json_string_value(type));
    for (size_t i = 0; i < json_array_size(type); i++)
        say_type(w, json_string_value(json_array_get(type, i)));
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

enum { NAME_MAX_LEN = 63, NAMES_MAX = 10000 };

/* How many bytes to change, add or leave out: both names at most NAME_MAX_LEN long. */
static unsigned distance(const char *a, const char *b)
{
    unsigned row[NAME_MAX_LEN + 1];
    size_t len = strlen(b);

    for (size_t k = 0; k <= len; k++)
        row[k] = (unsigned)k;
    for (size_t i = 0; a[i]; i++) {
        unsigned corner = row[0];
        row[0] = (unsigned)i + 1;
        for (size_t k = 0; k < len; k++) {
            unsigned least = corner + (a[i] != b[k]);
            corner = row[k + 1];
            if (corner + 1 < least)
                least = corner + 1;
            if (row[k] + 1 < least)
                least = row[k] + 1;
            row[k + 1] = least;
        }
    }
    return row[len];
}

const char *mp_schemas_nearest(const struct mp_schemas *set, const char *name)
{
    const char *nearest = NULL, *key;
    unsigned least = UINT32_MAX;
    unsigned seen = 0;
    json_t *value;

    if (strlen(name) > NAME_MAX_LEN)
        return NULL;
    for (size_t i = 0; i < set->n; i++)
        json_object_foreach(json_object_get(set->of[i], "properties"), key, value)
        {
            if (seen++ == NAMES_MAX)
                return nearest;
            unsigned d = strlen(key) > NAME_MAX_LEN ? UINT32_MAX : distance(name, key);
            if (d < least) {
                least = d;
                nearest = key;
            }
        }
    return nearest;
}
