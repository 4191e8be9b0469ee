#include "connect/settings.h"

#include "base/error.h"
#include "base/mem.h"
#include "base/text.h"

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
    return mp_props_set(s->props, name, value);
}

int mcplug_settings_add(mcplug_settings *s, const char *name, const char *value)
{
    return mp_props_add(s->props, name, value);
}

int mcplug_settings_put(mcplug_settings *s, const char *name, const char *key,
                        const char *value)
{
    return mp_props_put(s->props, name, key, value);
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
                         "what is put on top of the settings does not fit them");
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
