#include "plugin/services.h"

#include "json/walk.h"
#include "plugin/lines.h"

#include <string.h>

/* ---- json ---- */

static int json_valid(struct mcplug_bytes text)
{
    return text.len > 0 && mp_scan_text((const char *)text.data, text.len,
                                        &mp_scan_defaults, NULL, NULL) == MCPLUG_OK;
}

static struct mcplug_bytes json_get(struct mcplug_bytes object, const char *key)
{
    return mp_view_get(mp_view_trim(object), key);
}

static struct mcplug_bytes json_at(struct mcplug_bytes array, size_t n)
{
    const mp_view none = {NULL, 0};
    mp_view value;

    array = mp_view_trim(array);
    if (!mp_view_is_array(array))
        return none;
    struct mp_walk walk = mp_walk_into(array);
    while (mp_walk_element(&walk, &value))
        if (n-- == 0)
            return value;
    return none;
}

static char *json_string(struct mcplug_bytes value)
{
    return mp_view_strdup(mp_view_trim(value));
}

static int json_integer(struct mcplug_bytes value, int64_t *out)
{
    return mp_view_int(mp_view_trim(value), out);
}

static const struct mcplug_json json_table = {
    .struct_size = sizeof json_table,
    .valid = json_valid,
    .get = json_get,
    .at = json_at,
    .string = json_string,
    .integer = json_integer,
};

const struct mcplug_json *mp_service_json(void)
{
    return &json_table;
}

/* ---- by name ---- */

static const struct {
    const char *name;
    uint32_t version; /* what it has grown to */
    const void *table;
} services[] = {
    {"json", 1, &json_table},
    {"lines", 1, &mp_lines_table},
};

const void *mp_service_find(const char *name, uint32_t version)
{
    for (size_t i = 0; i < sizeof services / sizeof services[0]; i++)
        if (strcmp(services[i].name, name) == 0 && version <= services[i].version)
            return services[i].table;
    return NULL;
}
