/* Settings of features that are no transports: objects whose members a module declares.
 */
#include "config/keys.h"

#include "base/buf.h"
#include "base/mem.h"
#include "plugin/props.h"

#include <stdarg.h>
#include <stdio.h>

/* One member of the object. */
struct member {
    const struct mp_options_check *check;
    const char *name;
};

MCPLUG_PRINTF(3, 4)
static void complain(const struct member *m, mp_view at, const char *fmt, ...)
{
    char text[256];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    m->check->note(m->check->arg, m->name, at, text);
}

static void no_memory(const struct member *m, mp_view at)
{
    complain(m, at, "out of memory");
}

static void check_value(const struct member *m, const char *type, mp_view v)
{
    struct mp_str text;
    int64_t number;

    mp_str_init(&text, MP_FILE_MAX);
    if (mp_view_is_string(v))
        mp_str_add_view(&text, v);
    else
        mp_str_add(&text, v.data, v.len);
    if (!mp_view_is_scalar(v))
        complain(m, v, "expected a value of type %s", type);
    else if (text.failed)
        no_memory(m, v);
    else if (text.data && strlen(text.data) != text.len)
        complain(m, v, "has a NUL character");
    else if (!mp_option_parse(type, text.data ? text.data : "", &number))
        complain(m, v, "\"%.64s\" is not of type %s", text.data ? text.data : "", type);
    mp_str_clear(&text);
}

static void check_member(const struct member *m, const struct mcplug_option *o, mp_view v)
{
    struct mp_walk w = mp_walk_into(v);
    mp_view name, item;

    if (strcmp(o->type, MP_ADDRESSES) == 0)
        complain(m, v, "cannot be set: it is the policy's");
    else if (strcmp(o->type, "list") == 0 && !mp_view_is_array(v))
        complain(m, v, "expected a list");
    else if (strcmp(o->type, "map") == 0 && !mp_view_is_object(v))
        complain(m, v, "expected an object");
    else if (strcmp(o->type, "list") == 0)
        while (mp_walk_element(&w, &item))
            check_value(m, "string", item);
    else if (strcmp(o->type, "map") == 0)
        while (mp_walk_member(&w, &name, &item))
            check_value(m, "string", item);
    else
        check_value(m, o->type, v);
}

static void check_unknown(const struct member *m, mp_view at)
{
    const char *best = NULL;

    for (const struct mcplug_option *o = m->check->options; o && o->name; o++)
        mp_nearest(m->name, o->name, &best);
    if (best)
        complain(m, at, "is unknown to the %s \"%.32s\"; did you mean \"%s\"?",
                 m->check->kind, m->check->feature, best);
    else
        complain(m, at, "is unknown to the %s \"%.32s\"", m->check->kind,
                 m->check->feature);
}

void mp_options_check(const struct mp_options_check *check, mp_view object)
{
    struct mp_walk w = mp_walk_into(object);
    struct member m = {.check = check};
    mp_view name, value;

    while (mp_walk_member(&w, &name, &value)) {
        const struct mcplug_option *o = mp_option_find(check->options, name);
        char *text = mp_view_strdup(name);
        m.name = text ? text : "";
        if (!text)
            no_memory(&m, name);
        else if (check->skip && strcmp(text, check->skip) == 0)
            ; /* not a setting */
        else if (o)
            check_member(&m, o, value);
        else
            check_unknown(&m, name);
        mp_free(text);
    }
    m.name = "";
    for (const struct mcplug_option *o = check->options; o && o->name; o++) {
        bool may_miss =
            o->fallback || strcmp(o->type, "list") == 0 || strcmp(o->type, "map") == 0 ||
            (mp_view_is_object(check->beside) && mp_view_get(check->beside, o->name).len);
        if (!may_miss && !mp_view_get(object, o->name).len)
            complain(&m, object, "\"%.64s\" is missing, which the %s \"%.32s\" needs",
                     o->name, check->kind, check->feature);
    }
}
