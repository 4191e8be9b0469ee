/* What may stand in an entry. */
#include "config/config.h"

#include "base/error.h"
#include "base/mem.h"
#include "json/skip.h"
#include "plugin/props.h"

#include "../../plugins/common/url.h"

#include <stdio.h>
#include <strings.h>

struct checker {
    struct mcplug_config *config;
    struct mp_entry *entry;
};

/* `below` is what comes behind the server's name: ".args[1]". */
static void complain(struct checker *c, bool is_warning, const char *below, mp_view at,
                     const char *text)
{
    char path[512];
    snprintf(path, sizeof path, "mcpServers.%.128s%s", c->entry->name, below);
    mp_config_note(c->config, c->entry->source, c->entry->name, is_warning, path, at,
                   "%s", text);
    c->entry->broken |= !is_warning;
}

/* ---- shapes ---- */

static const char *shape_of(mp_view v)
{
    switch (v.data[0]) {
    case '{':
        return "an object";
    case '[':
        return "a list";
    case '"':
        return "a string";
    case 't':
    case 'f':
        return "a boolean";
    case 'n':
        return "null";
    default:
        return "a number";
    }
}

static bool is_number(mp_view v)
{
    return v.data[0] == '-' || (v.data[0] >= '0' && v.data[0] <= '9');
}

static bool is_bool(mp_view v)
{
    return v.data[0] == 't' || v.data[0] == 'f';
}

/* Something that can be written as one text. */
static bool is_scalar(mp_view v)
{
    return mp_view_is_string(v) || is_number(v) || is_bool(v);
}

static void expected(struct checker *c, const char *below, mp_view at, const char *what)
{
    char text[256];
    snprintf(text, sizeof text, "expected %s, found %s", what, shape_of(at));
    complain(c, false, below, at, text);
}

/* What can't be looked at can't be used. */
static void no_memory(struct checker *c)
{
    c->config->incomplete = true;
    c->entry->broken = true;
}

/* A string of C: no NUL inside. */
static void check_string(struct checker *c, const char *below, mp_view v)
{
    struct mp_str text;
    mp_str_init(&text, MP_FILE_MAX);
    mp_str_add_view(&text, v);
    if (text.failed)
        no_memory(c);
    else if (text.data && strlen(text.data) != text.len)
        complain(c, false, below, v, "has a NUL character");
    mp_str_clear(&text);
}

static void check_items(struct checker *c, const char *key, mp_view v,
                        bool (*fits)(mp_view v))
{
    struct mp_walk w = mp_walk_into(v);
    mp_view item;
    char below[160];

    if (!mp_view_is_array(v)) {
        snprintf(below, sizeof below, ".%.64s", key);
        expected(c, below, v, "a list of strings");
        return;
    }
    for (size_t i = 0; mp_walk_element(&w, &item); i++) {
        snprintf(below, sizeof below, ".%.64s[%zu]", key, i);
        if (!fits(item))
            expected(c, below, item, "a string");
        else
            check_string(c, below, item);
    }
}

static void check_strings(struct checker *c, const char *key, mp_view v)
{
    check_items(c, key, v, is_scalar);
}

/* Names are texts and nothing else: a number there was meant for another key. */
static void check_names(struct checker *c, const char *key, mp_view v)
{
    check_items(c, key, v, mp_view_is_string);
}

static void check_members(struct checker *c, const char *key, mp_view v,
                          bool (*fits)(mp_view v))
{
    struct mp_walk w = mp_walk_into(v);
    mp_view name, item;
    char below[320];

    snprintf(below, sizeof below, ".%.64s", key);
    if (!mp_view_is_object(v)) {
        expected(c, below, v, "an object with strings");
        return;
    }
    while (mp_walk_member(&w, &name, &item)) {
        char *text = mp_view_strdup(name);
        snprintf(below, sizeof below, ".%.64s.%.128s", key, text ? text : "");
        if (!fits(item))
            expected(c, below, item, "a string");
        else
            check_string(c, below, item);
        if (!text)
            no_memory(c);
        else if (!*text || (strcmp(key, "env") == 0 && strchr(text, '=')))
            complain(c, false, below, name, "is no name");
        mp_free(text);
    }
}

static void check_map(struct checker *c, const char *key, mp_view v)
{
    check_members(c, key, v, is_scalar);
}

static void check_named(struct checker *c, const char *key, mp_view v)
{
    check_members(c, key, v, mp_view_is_string);
}

/* Milliseconds from `least` on, or a text such as `like`. A bare number in quotes would
 * have to be guessed at. */
static void check_duration(struct checker *c, const char *below, mp_view v, int64_t least,
                           const char *like)
{
    char line[96], *text = mp_view_strdup(v);
    int64_t ms = 0;

    if (!text && mp_view_is_string(v))
        no_memory(c);
    bool ok = is_number(v) ? mp_view_int(v, &ms)
                           : text && mp_option_parse("duration", text, &ms);
    snprintf(line, sizeof line, "expected milliseconds, or a time such as \"%s\"", like);
    if (!ok || ms < least)
        complain(c, false, below, v, line);
    else if (ms > MP_TIME_MAX)
        complain(c, false, below, v, "is more than 365 days");
    else if (text && ms && !text[strspn(text, "0123456789")]) {
        snprintf(line, sizeof line, "is it \"%.16sms\" or \"%.16ss\"?", text, text);
        complain(c, false, below, v, line);
    }
    mp_free(text);
}

static void check_timeouts(struct checker *c, const char *key, mp_view v)
{
    static const char *const names[] = {"connect", "request", "tool"};
    struct mp_walk w = mp_walk_into(v);
    mp_view name, item;
    char below[320];

    snprintf(below, sizeof below, ".%s", key);
    if (!mp_view_is_object(v)) {
        expected(c, below, v, "an object with \"connect\", \"request\", \"tool\"");
        return;
    }
    while (mp_walk_member(&w, &name, &item)) {
        bool known = false;
        for (size_t i = 0; i < MP_COUNT(names); i++)
            known = known || mp_view_equals(name, names[i]);
        char *text = mp_view_strdup(name);
        snprintf(below, sizeof below, ".%s.%.128s", key, text ? text : "");
        if (!known)
            complain(c, false, below, name,
                     "is unknown; there are \"connect\", \"request\" and \"tool\"");
        else
            check_duration(c, below, item, 1, "30s");
        mp_free(text);
    }
}

static void check_time(struct checker *c, const char *key, mp_view v)
{
    char below[96];
    snprintf(below, sizeof below, ".%s", key);
    check_duration(c, below, v, 0, "10m");
}

/* The words differ in one place, by two letters at most. */
static bool is_slip(const char *given, const char *meant)
{
    size_t n = strlen(given), m = strlen(meant), head = 0, tail = 0;
    while (head < n && given[head] == meant[head])
        head++;
    while (tail + head < n && tail + head < m &&
           given[n - 1 - tail] == meant[m - 1 - tail])
        tail++;
    return head + tail + 2 >= (n > m ? n : m);
}

/* Modules may offer more than the four, so only what looks like a slip is refused. */
static void check_probe(struct checker *c, const char *key, mp_view v)
{
    static const char *const names[] = {"ping", "listTools", "discover", "http"};
    struct mcplug_error why = MCPLUG_ERROR_INIT;
    const char *best = NULL;
    char below[96], text[256], *given = mp_view_strdup(v);
    bool known = false;

    snprintf(below, sizeof below, ".%s", key);
    for (size_t i = 0; given && i < MP_COUNT(names); i++) {
        known = known || strcmp(given, names[i]) == 0;
        mp_nearest(given, names[i], &best);
    }
    if (best && !is_slip(given, best)) /* "tcp" is near to "http", and another word */
        best = NULL;
    for (size_t i = 0; given && i < MP_COUNT(names); i++)
        if (strcasecmp(given, names[i]) == 0)
            best = names[i];
    snprintf(text, sizeof text, "expected ping, listTools, discover or http%s%s%s",
             best ? "; did you mean \"" : ", or a name that a module offers",
             best ? best : "", best ? "\"?" : "");
    if (!given && mp_view_is_string(v))
        no_memory(c);
    else if (!known && (!given || best || mp_name_check(given, &why) != MCPLUG_OK))
        complain(c, false, below, v, text);
    else
        check_string(c, below, v);
    mp_free(given);
}

static void check_text(struct checker *c, const char *key, mp_view v)
{
    char below[96];
    snprintf(below, sizeof below, ".%s", key);
    if (!mp_view_is_string(v))
        expected(c, below, v, "a string");
    else if (v.len == 2)
        complain(c, false, below, v, "is empty");
    else
        check_string(c, below, v);
}

static void check_probe_url(struct checker *c, const char *key, mp_view v)
{
    char below[96], *url = mp_view_strdup(v);
    const char *wrong;
    struct url parts;

    snprintf(below, sizeof below, ".%s", key);
    check_text(c, key, v);
    if (!url && mp_view_is_string(v))
        no_memory(c);
    if (url && *url) {
        bool web =
            strncasecmp(url, "http://", 7) == 0 || strncasecmp(url, "https://", 8) == 0;
        wrong = web ? url_parse(url, &parts) : "does not begin with http:// or https://";
        if (wrong)
            complain(c, false, below, v, wrong);
        else if (strstr(url, "${"))
            complain(c, true, below, v, "is used as it is, without variables");
    }
    mp_free(url);
}

static void check_flag(struct checker *c, const char *key, mp_view v)
{
    char below[96];
    snprintf(below, sizeof below, ".%s", key);
    if (!is_bool(v))
        expected(c, below, v, "true or false");
}

/* ---- keys ---- */

static const struct key {
    const char *name;
    void (*check)(struct checker *c, const char *key, mp_view v);
    bool ours; /* not a setting of the transport */
} keys[] = {
    {"type", check_text, true},           {"command", check_text, false},
    {"args", check_strings, false},       {"env", check_map, false},
    {"cwd", check_text, false},           {"url", check_text, false},
    {"headers", check_map, false},        {"toolsAllowed", check_names, true},
    {"toolsDenied", check_names, true},   {"shared", check_flag, true},
    {"healthProbe", check_probe, true},   {"queue", check_text, true},
    {"toolQueues", check_named, true},    {"timeouts", check_timeouts, true},
    {"disabled", check_flag, true},       {"keepAlive", check_flag, true},
    {"healthUrl", check_probe_url, true}, {"idle", check_time, true},
};

/* What other programs keep in an entry, and what has no meaning here. */
static const char *const foreign[] = {
    "_comment",      "alwaysAllow", "autoApprove",   "autoStart", "comment",
    "description",   "dev",         "disabledTools", "enabled",   "envFile",
    "excludeTools",  "gallery",     "icon",          "iconPath",  "id",
    "includeTools",  "isActive",    "metadata",      "name",      "note",
    "notes",         "oauth",       "provider",      "scope",     "source",
    "tags",          "timeout",     "title",         "tools",     "transport",
    "transportType", "trust",       "version",       "$schema",   "inputs",
};

static const struct key *find_key(mp_view name)
{
    for (size_t i = 0; i < MP_COUNT(keys); i++)
        if (mp_view_equals(name, keys[i].name))
            return &keys[i];
    return NULL;
}

static bool is_foreign(const char *name)
{
    for (size_t i = 0; i < MP_COUNT(foreign); i++)
        if (strcmp(name, foreign[i]) == 0)
            return true;
    return false;
}

/* Approvals keep entries inside objects of their own, and all of it has to be read. */
static bool too_deep(mp_view json)
{
    size_t depth = 0, deepest = 0;
    for (const unsigned char *p = json.data, *end = p + json.len; p < end;) {
        if (*p == '"') {
            p = mp_skip_string(p, end);
            continue;
        }
        depth += *p == '{' || *p == '[';
        depth -= *p == '}' || *p == ']';
        deepest = depth > deepest ? depth : deepest;
        p++;
    }
    return deepest > MP_ENTRY_DEPTH;
}

static void complain_of_slip(struct checker *c, const char *text, mp_view name,
                             const char *meant)
{
    char below[160], line[256];

    snprintf(below, sizeof below, ".%.128s", text);
    snprintf(line, sizeof line, "is unknown; did you mean \"%s\"?", meant);
    complain(c, false, below, name, line);
}

/* Neither "command" nor "url", but perhaps something like it. */
static void complain_of_neither(struct checker *c, mp_view json)
{
    struct mp_walk w = mp_walk_into(json);
    const char *best = NULL;
    mp_view name, value;

    while (!best && mp_walk_member(&w, &name, &value)) {
        char *text = find_key(name) ? NULL : mp_view_strdup(name);
        if (text) {
            mp_nearest(text, "command", &best);
            mp_nearest(text, "url", &best);
        }
        if (best)
            complain_of_slip(c, text, name, best);
        mp_free(text);
    }
    if (!best)
        complain(c, false, "", json,
                 mp_view_get(json, "serverUrl").len || mp_view_get(json, "httpUrl").len
                     ? "\"url\" is missing; `mcplug import` reads the form of other "
                       "programs"
                     : "\"command\" or \"url\" is missing");
}

void mp_config_check_shape(struct mcplug_config *config, struct mp_entry *entry)
{
    struct checker c = {config, entry};
    struct mp_walk w = mp_walk_into(entry->json);
    mp_view name, value, command = mp_view_get(entry->json, "command");
    mp_view url = mp_view_get(entry->json, "url");
    mp_view probe = mp_view_get(entry->json, "healthProbe");

    if (!mp_view_is_object(entry->json)) {
        expected(&c, "", entry->json, "an object that describes a server");
        return;
    }
    if (entry->json.len > MP_ENTRY_MAX || too_deep(entry->json)) {
        complain(&c, false, "", entry->json, "is too long, or nested too deeply");
        return;
    }
    while (mp_walk_member(&w, &name, &value)) {
        const struct key *key = find_key(name);
        if (key)
            key->check(&c, key->name, value);
    }
    if (mp_view_equals(probe, "http") && !mp_view_get(entry->json, "healthUrl").len)
        complain(&c, false, ".healthProbe", probe,
                 "\"http\" needs \"healthUrl\", which is missing");
    if (command.len && url.len)
        complain(&c, false, "", url, "has both \"command\" and \"url\"; one must go");
    else if (url.len && (mp_view_get(entry->json, "path").len ||
                         mp_view_get(entry->json, "host").len))
        complain(&c, false, "", url,
                 "has \"url\" beside \"path\" or \"host\"; one must go");
    else if (!command.len && !url.len && !mp_view_get(entry->json, "type").len)
        complain_of_neither(&c, entry->json);
}

/* ---- with the transport's options ---- */

static const struct mcplug_option *find_option(const struct mcplug_option *options,
                                               mp_view name)
{
    for (const struct mcplug_option *o = options; o && o->name; o++)
        if (mp_view_equals(name, o->name))
            return o;
    return NULL;
}

static void check_option(struct checker *c, const struct mcplug_option *o, mp_view v)
{
    char below[128], what[160], *text;
    int64_t number;

    snprintf(below, sizeof below, ".%.64s", o->name);
    if (strcmp(o->type, "list") == 0) {
        check_strings(c, o->name, v);
    } else if (strcmp(o->type, "map") == 0) {
        check_map(c, o->name, v);
    } else if (!is_scalar(v)) {
        snprintf(what, sizeof what, "a value of type %s", o->type);
        expected(c, below, v, what);
    } else {
        text = mp_view_is_string(v) ? mp_view_strdup(v)
                                    : mp_strndup((const char *)v.data, v.len);
        check_string(c, below, v);
        if (!text) {
            no_memory(c);
        } else if (!strstr(text, "${") && !mp_option_parse(o->type, text, &number)) {
            snprintf(what, sizeof what, "\"%.64s\" is not of type %s", text, o->type);
            complain(c, false, below, v, what);
        }
        mp_free(text);
    }
}

static void check_unknown(struct checker *c, const char *transport,
                          const struct mcplug_option *options, mp_view name)
{
    char *text = mp_view_strdup(name), below[160], line[256];
    const char *best = NULL;

    if (!text)
        no_memory(c);
    if (!text || is_foreign(text)) {
        mp_free(text);
        return;
    }
    for (size_t i = 0; i < MP_COUNT(keys); i++)
        if (keys[i].ours)
            mp_nearest(text, keys[i].name, &best);
    for (const struct mcplug_option *o = options; o && o->name; o++)
        mp_nearest(text, o->name, &best);
    if (best) {
        complain_of_slip(c, text, name, best);
    } else {
        snprintf(below, sizeof below, ".%.128s", text);
        snprintf(line, sizeof line, "is unknown to transport \"%.32s\", and ignored",
                 transport);
        complain(c, true, below, name, line);
    }
    mp_free(text);
}

static void check_missing(struct checker *c, const char *transport,
                          const struct mcplug_option *options)
{
    char line[160];
    for (const struct mcplug_option *o = options; o && o->name; o++) {
        bool may_miss =
            o->fallback || strcmp(o->type, "list") == 0 || strcmp(o->type, "map") == 0;
        if (may_miss || mp_view_get(c->entry->json, o->name).len)
            continue;
        snprintf(line, sizeof line,
                 "\"%.64s\" is missing, which transport \"%.32s\" needs", o->name,
                 transport);
        complain(c, false, "", c->entry->json, line);
    }
}

void mp_config_check(struct mcplug_config *config, struct mp_entry *entry,
                     const char *transport, const struct mcplug_option *options)
{
    struct checker c = {config, entry};
    struct mp_walk w = mp_walk_into(entry->json);
    mp_view name, value;
    char line[256];

    if (entry->checked || !mp_view_is_object(entry->json))
        return;
    entry->checked = true;
    while (mp_walk_member(&w, &name, &value)) {
        const struct key *key = find_key(name);
        const struct mcplug_option *o = find_option(options, name);
        if (o && !key) {
            check_option(&c, o, value);
        } else if (key && !key->ours && !o) {
            char below[96];
            snprintf(below, sizeof below, ".%s", key->name);
            snprintf(line, sizeof line, "means nothing to transport \"%.32s\"",
                     transport);
            complain(&c, true, below, name, line);
        } else if (!key && !o) {
            check_unknown(&c, transport, options, name);
        }
    }
    check_missing(&c, transport, options);
}

static bool accepts_scheme(const char *const *accepts, const char *url, size_t len)
{
    for (size_t i = 0; accepts[i]; i++)
        if (strlen(accepts[i]) == len && strncasecmp(accepts[i], url, len) == 0)
            return true;
    return false;
}

void mp_config_check_url(struct mcplug_config *config, struct mp_entry *entry,
                         const char *transport, const char *const *accepts)
{
    struct checker c = {config, entry};
    mp_view value = mp_view_get(entry->json, "url");
    char *url = mp_view_strdup(value), line[256];
    size_t scheme = url ? strcspn(url, ":") : 0;
    struct url parts;

    if (url && memchr(url, '$', scheme) == NULL && accepts &&
        !accepts_scheme(accepts, url, scheme)) {
        snprintf(line, sizeof line,
                 "transport \"%.32s\" takes no URL that begins with "
                 "\"%.*s\"",
                 transport, (int)(scheme < 32 ? scheme : 32), url);
        complain(&c, false, ".url", value, line);
    } else if (url && !strstr(url, "${") && strstr(url, "://") &&
               (strncasecmp(url, "http", 4) == 0 || strncasecmp(url, "ws", 2) == 0)) {
        const char *wrong = url_parse(url, &parts);
        if (wrong)
            complain(&c, false, ".url", value, wrong);
    }
    mp_free(url);
}
