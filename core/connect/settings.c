#include "connect/settings.h"

#include "base/error.h"
#include "base/mem.h"
#include "base/text.h"
#include "config/config.h"

#include "../../plugins/common/url.h"

#include <stdio.h>
#include <string.h>

mcplug_settings *mp_settings_take(const char *type, mcplug_props *props)
{
    mcplug_settings *s = props ? mp_alloc(sizeof *s) : NULL;

    if (!s || (type && !(s->type = mp_strdup(type)))) {
        mp_props_free(props);
        mp_free(s);
        return NULL;
    }
    s->props = props;
    return s;
}

mcplug_settings *mcplug_settings_new(const char *type)
{
    return mp_settings_take(type, mp_props_new());
}

mcplug_settings *mp_settings_copy(const mcplug_settings *from)
{
    return mp_settings_take(from->type, mp_props_copy(from->props));
}

void mcplug_settings_free(mcplug_settings *s)
{
    if (s) {
        mp_props_free(s->props);
        mp_free(s->type);
        mp_free(s);
    }
}

int mcplug_settings_set(mcplug_settings *s, const char *name, const char *value)
{
    return s && name && value ? mp_props_set(s->props, name, value) : MCPLUG_EINVAL;
}

int mcplug_settings_add(mcplug_settings *s, const char *name, const char *value)
{
    return s && name && value ? mp_props_add(s->props, name, value) : MCPLUG_EINVAL;
}

int mcplug_settings_put(mcplug_settings *s, const char *name, const char *key,
                        const char *value)
{
    return s && name && key && value ? mp_props_put(s->props, name, key, value)
                                     : MCPLUG_EINVAL;
}

/* "args": [] means that there are none. */
static void drop_empty(mcplug_props *props, mp_view object)
{
    struct mp_walk w = mp_walk_into(object);
    mp_view key, value;

    while (mp_walk_member(&w, &key, &value)) {
        bool is_empty = (mp_view_is_array(value) || mp_view_is_object(value)) &&
                        !mp_view_count(value);
        char *name = is_empty ? mp_view_strdup(key) : NULL;
        mp_props_drop(props, name);
        mp_free(name);
    }
}

int mcplug_settings_json(mcplug_settings *s, const char *json, struct mcplug_error *err)
{
    if (!s || !json)
        return mp_fail_null(err, "`s` and `json`");
    mp_view object = mp_text(json);
    struct mp_entry entry = {.json = object};
    mcplug_props *props = mp_props_new();
    char *type = NULL;

    int r = props ? mp_part_check("settings", true, &object, err) : mp_fail_nomem(err);
    entry.json = object;
    if (r == MCPLUG_OK)
        r = mp_entry_type(&entry, &type, err);
    if (r == MCPLUG_OK)
        r = mp_props_add_json(props, object, "type", err);
    if (r == MCPLUG_OK && (r = mp_props_replace(s->props, props)) != MCPLUG_OK)
        mp_fail(err, r, r == MCPLUG_ENOMEM ? "out of memory" : "too many settings");
    if (r == MCPLUG_OK) {
        drop_empty(s->props, object);
        if (type && (!s->type || mp_view_get(object, "type").len)) {
            mp_free(s->type);
            s->type = mp_move(&type);
        }
    }
    mp_free(type);
    mp_props_free(props);
    return r;
}

int mp_settings_merge(mcplug_settings *settings, const mcplug_settings *top,
                      struct mcplug_error *err)
{
    int r = mp_props_merge(settings->props, top->props);

    if (r == MCPLUG_OK)
        return r;
    return r == MCPLUG_ENOMEM
               ? mp_fail_nomem(err)
               : mp_fail(err, r == MCPLUG_EINVAL ? MCPLUG_ECONFIG : r,
                         "the settings that are added conflict with the entry's");
}

const char *mp_settings_name(const mcplug_settings *settings, char *buf, size_t size)
{
    const char *command = mp_props_get(settings->props, "command");
    const char *url = mp_props_get(settings->props, "url");

    if (command) {
        const char *slash = strrchr(command, '/');
        return slash && slash[1] ? slash + 1 : command;
    }
    if (!url)
        return settings->type ? settings->type : "server";
    url_place(url, buf, size);
    return buf;
}
