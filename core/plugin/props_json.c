#include "plugin/props.h"

#include "base/error.h"
#include "base/mem.h"
#include "json/walk.h"

static char *text_of(mp_view v)
{
    return mp_view_is_string(v) ? mp_view_strdup(v)
                                : mp_strndup((const char *)v.data, v.len);
}

static bool is_scalar(mp_view v)
{
    return !mp_view_is_object(v) && !mp_view_is_array(v) && !mp_view_is_null(v);
}

/* `key` NULL: of a list; `is_one`: the setting itself. */
static int add_value(mcplug_props *props, const char *name, bool is_one, mp_view key,
                     mp_view v)
{
    char *value = is_scalar(v) ? text_of(v) : NULL;
    char *word = key.len ? mp_view_strdup(key) : NULL;
    int r = !is_scalar(v)                  ? MCPLUG_ECONFIG
            : !value || (key.len && !word) ? MCPLUG_ENOMEM
            : is_one                       ? mp_props_set(props, name, value)
            : word                         ? mp_props_put(props, name, word, value)
                                           : mp_props_add(props, name, value);
    mp_free(word);
    mp_free(value);
    return r;
}

static int add_member(mcplug_props *props, const char *name, mp_view v)
{
    struct mp_walk w = mp_walk_into(v);
    mp_view key = {NULL, 0}, item;
    int r = MCPLUG_OK;

    if (mp_view_is_object(v))
        while (r == MCPLUG_OK && mp_walk_member(&w, &key, &item))
            r = add_value(props, name, false, key, item);
    else if (mp_view_is_array(v))
        while (r == MCPLUG_OK && mp_walk_element(&w, &item))
            r = add_value(props, name, false, key, item);
    else
        r = add_value(props, name, true, key, v);
    return r;
}

int mp_props_add_json(mcplug_props *props, mp_view object, const char *skip,
                      struct mcplug_error *err)
{
    struct mp_walk w = mp_walk_into(object);
    mp_view key, value;
    int r = MCPLUG_OK;

    while (r == MCPLUG_OK && mp_walk_member(&w, &key, &value)) {
        char *name = mp_view_strdup(key);
        if (!name)
            r = mp_fail_nomem(err);
        else if (!skip || strcmp(name, skip) != 0)
            r = add_member(props, name, value);
        if (name && r == MCPLUG_ENOMEM)
            mp_fail_nomem(err);
        else if (name && r != MCPLUG_OK)
            r = mp_fail(err, MCPLUG_ECONFIG,
                        "%.64s: expected a value, a list or an object of values", name);
        mp_free(name);
    }
    return r;
}

bool mp_isolation_is_known(struct mcplug_bytes value)
{
    return !value.len || mp_view_equals(value, "process") ||
           mp_view_equals(value, "none");
}
