/* What may be a secret is not shown. */
#include "config/config.h"

#include "base/mem.h"
#include "config/mask_text.h"

#include <strings.h>

#define HIDDEN "\"***\""

/* Where a value stands. All but PLAIN and ARGUMENTS hold for everything below. */
enum place {
    PLAIN,
    OPEN,      /* shown as it is */
    ARGUMENTS, /* the command and what is given to it */
    HEADERS,
    VARIABLES,
    SECRET, /* its key tells */
};

struct masker {
    struct mp_str *out;
    bool failed; /* something was hidden for want of memory */
};

/* ---- keys ---- */

/* Members of an entry itself that have no room for secrets. */
static const char *const open_keys[] = {
    "type",     "disabled",    "timeouts", "queue",        "toolQueues",
    "shared",   "healthProbe", "ping",     "toolsAllowed", "toolsDenied",
    "insecure", "keepAlive",   "idle",
};

/* Names of files, and a time, whose keys tell nevertheless. */
static const char *const plain_keys[] = {"keyFile", "certFile", "caFile",
                                         "connectTimeout"};

static const char *const argument_keys[] = {"args", "arguments", "command", "cmd"};

/* Members that say nothing of what they hold: {"name": "API_KEY", "value": ..}. */
static const char *const vague_keys[] = {"value", "values", "default"};

#define ONE_OF(list, name) mp_mask_in(list, MP_COUNT(list), name, strlen(name))

/* `top`: the member is one of the entry itself. */
static enum place place_of(enum place outer, bool top, const char *name)
{
    if (outer != PLAIN && outer != ARGUMENTS)
        return outer;
    if (ONE_OF(argument_keys, name))
        return ARGUMENTS;
    if (strncasecmp(name, "env", 3) == 0 && strcasecmp(name, "envFile") != 0)
        return VARIABLES;
    if (top && ONE_OF(open_keys, name))
        return OPEN;
    if (ONE_OF(plain_keys, name))
        return PLAIN;
    if (strcasestr(name, "header"))
        return HEADERS;
    return mp_mask_name_tells(name, strlen(name)) || ONE_OF(vague_keys, name) ? SECRET
                                                                              : PLAIN;
}

/* ---- values ---- */

/* Adds one text as it may be shown; `before` is the argument before it. */
static bool add_shown(struct mp_str *shown, enum place place, const char *name,
                      const char *before, const char *text, size_t len)
{
    static const char *const harmless[] = {"Accept", "Content-Type"};

    switch (place) {
    case OPEN:
        return mp_str_add(shown, text, len);
    case PLAIN:
        return mp_mask_text(shown, text, len);
    case ARGUMENTS:
        return mp_mask_arg(shown, text, len, before);
    case HEADERS:
        return (ONE_OF(harmless, name) ? mp_mask_text : mp_mask_hide)(shown, text, len);
    case VARIABLES:
        return (mp_mask_variable_is_plain(name, strlen(name), text, len)
                    ? mp_mask_text
                    : mp_mask_hide)(shown, text, len);
    case SECRET:
        break;
    }
    return mp_mask_hide(shown, text, len);
}

/* A string or a number. A number that is shown stays one. */
static void add_scalar(struct masker *m, enum place place, const char *name,
                       const char *before, mp_view v)
{
    struct mp_str text, shown;
    bool string = mp_view_is_string(v);

    mp_str_init(&text, MP_FILE_MAX);
    mp_str_init(&shown, MP_FILE_MAX * 4);
    bool ok = mp_str_add_lit(&text, "") && mp_str_add_lit(&shown, "") &&
              (string ? mp_str_add_view(&text, v) : mp_str_add(&text, v.data, v.len));
    bool whole = ok && !memchr(text.data, '\0', text.len);
    if (whole)
        ok = add_shown(&shown, place, name, before, text.data, text.len);
    if (!ok || !whole)
        mp_str_adds(m->out, HIDDEN);
    else if (!string && shown.len == text.len &&
             memcmp(shown.data, text.data, text.len) == 0)
        mp_str_add(m->out, v.data, v.len);
    else
        mp_str_add_json(m->out, shown.data, shown.len);
    m->failed |= !ok;
    mp_str_clear(&text);
    mp_str_clear(&shown);
}

static void add_value(struct masker *m, enum place place, const char *name,
                      const char *before, mp_view v);

static void add_members(struct masker *m, enum place place, bool top, mp_view object)
{
    struct mp_walk w = mp_walk_into(object);
    mp_view key, value, program = mp_view_get(object, "command");
    char *command = mp_view_strdup(program); /* "sshpass -p" tells of its arguments */
    bool first = true, lost = !command && mp_view_is_string(program);

    mp_str_addc(m->out, '{');
    while (mp_walk_member(&w, &key, &value)) {
        char *name = mp_view_strdup(key);
        enum place inner = name ? place_of(place, top, name) : SECRET;
        bool args = name && inner == ARGUMENTS && strcasecmp(name, "command") != 0;
        if (args && lost)
            inner = SECRET;
        if (!first)
            mp_str_addc(m->out, ',');
        first = false;
        mp_str_add(m->out, key.data, key.len);
        mp_str_addc(m->out, ':');
        add_value(m, inner, name ? name : "", args ? command : NULL, value);
        m->failed |= !name;
        mp_free(name);
    }
    mp_str_addc(m->out, '}');
    m->failed |= lost;
    mp_free(command);
}

static void add_elements(struct masker *m, enum place place, const char *name,
                         const char *before, mp_view array)
{
    struct mp_walk w = mp_walk_into(array);
    mp_view value;
    char *last = NULL;
    bool first = true;

    mp_str_addc(m->out, '[');
    while (mp_walk_element(&w, &value)) {
        if (!first)
            mp_str_addc(m->out, ',');
        add_value(m, place, name, first ? before : last, value);
        first = false;
        mp_free(last);
        last = place == ARGUMENTS ? mp_view_strdup(value) : NULL;
        if (place == ARGUMENTS && mp_view_is_string(value) && !last) {
            m->failed = true;
            place = SECRET; /* nobody knows what it said of the next */
        }
    }
    mp_free(last);
    mp_str_addc(m->out, ']');
}

static void add_value(struct masker *m, enum place place, const char *name,
                      const char *before, mp_view v)
{
    if (m->out->failed)
        return;
    if (mp_view_is_object(v))
        add_members(m, place, false, v);
    else if (mp_view_is_array(v))
        add_elements(m, place, name, before, v);
    else if (v.len && strchr("tfn", v.data[0]))
        mp_str_add(m->out, v.data, v.len);
    else
        add_scalar(m, place, name, before, v);
}

bool mp_mask_entry(mp_view entry, struct mp_str *out)
{
    struct masker m = {out, false};
    if (mp_view_is_object(entry))
        add_members(&m, PLAIN, true, entry);
    else
        add_value(&m, PLAIN, "", NULL, entry);
    return !out->failed && !m.failed;
}
