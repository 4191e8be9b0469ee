/* The keys of an entry: their checkers, their readers, and the table. */
#include "config/keys.h"
#include "config/policy.h"

#include "base/mem.h"
#include "base/text.h"
#include "config/supervision.h"
#include "plugin/props.h"

#include "../../plugins/common/url.h"

#include <ctype.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <strings.h>

/* ---- problems ---- */

void mp_entry_complain(struct mp_entry *entry, bool is_warning, const char *below,
                       mp_view at, const char *fmt, ...)
{
    char path[512], text[512];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    snprintf(path, sizeof path, "mcpServers.%.128s%s", entry->name, below);
    mp_config_note(entry->config, entry->source, entry->name, is_warning, path, at, "%s",
                   text);
    entry->broken |= !is_warning;
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

mp_view mp_probe_of(mp_view v)
{
    return mp_view_is_object(v) ? mp_view_get(v, "name") : v;
}

static bool is_number(mp_view v)
{
    return v.data[0] == '-' || (v.data[0] >= '0' && v.data[0] <= '9');
}

static bool is_bool(mp_view v)
{
    return v.data[0] == 't' || v.data[0] == 'f';
}

bool mp_view_is_scalar(mp_view v)
{
    return mp_view_is_string(v) || is_number(v) || is_bool(v);
}

char *mp_view_text(mp_view v)
{
    return mp_view_is_string(v) ? mp_view_strdup(v)
                                : mp_strndup((const char *)v.data, v.len);
}

void mp_entry_expected(struct mp_entry *entry, const char *below, mp_view at,
                       const char *what)
{
    mp_entry_complain(entry, false, below, at, "expected %s, found %s", what,
                      shape_of(at));
}

void mp_entry_no_memory(struct mp_entry *entry)
{
    entry->config->incomplete = true;
    entry->broken = true;
}

void mp_check_string(struct mp_entry *entry, const char *below, mp_view v)
{
    struct mp_str text;
    mp_str_init(&text, MP_FILE_MAX);
    mp_str_add_view(&text, v);
    if (text.failed)
        mp_entry_no_memory(entry);
    else if (text.data && strlen(text.data) != text.len)
        mp_entry_complain(entry, false, below, v, "has a NUL character");
    mp_str_clear(&text);
}

static void check_item(struct mp_entry *entry, const char *below, mp_view v,
                       bool (*fits)(mp_view v))
{
    if (!fits(v))
        mp_entry_expected(entry, below, v, "a string");
    else
        mp_check_string(entry, below, v);
}

static void check_items(struct mp_entry *entry, const char *below, mp_view v,
                        bool (*fits)(mp_view v))
{
    struct mp_walk w = mp_walk_into(v);
    mp_view item;
    char path[160];

    if (!mp_view_is_array(v))
        mp_entry_expected(entry, below, v, "a list of strings");
    for (size_t i = 0; mp_view_is_array(v) && mp_walk_element(&w, &item); i++) {
        snprintf(path, sizeof path, "%.65s[%zu]", below, i);
        check_item(entry, path, item, fits);
    }
}

void mp_check_strings(struct mp_entry *entry, const char *below, mp_view v)
{
    check_items(entry, below, v, mp_view_is_scalar);
}

/* Names are texts and nothing else: a number there was meant for another key. */
static void check_names(struct mp_entry *entry, const char *below, mp_view v)
{
    check_items(entry, below, v, mp_view_is_string);
}

static void check_members(struct mp_entry *entry, const char *below, mp_view v,
                          bool (*fits)(mp_view v))
{
    struct mp_walk w = mp_walk_into(v);
    mp_view name, item;
    char path[320];

    if (!mp_view_is_object(v))
        mp_entry_expected(entry, below, v, "an object with strings");
    while (mp_view_is_object(v) && mp_walk_member(&w, &name, &item)) {
        char *text = mp_view_strdup(name);
        snprintf(path, sizeof path, "%.65s.%.128s", below, text ? text : "");
        check_item(entry, path, item, fits);
        if (!text)
            mp_entry_no_memory(entry);
        else if (!*text || (strcmp(below, ".env") == 0 && strchr(text, '=')))
            mp_entry_complain(entry, false, path, name, "is not a name");
        mp_free(text);
    }
}

void mp_check_map(struct mp_entry *entry, const char *below, mp_view v)
{
    check_members(entry, below, v, mp_view_is_scalar);
}

static void check_named(struct mp_entry *entry, const char *below, mp_view v)
{
    check_members(entry, below, v, mp_view_is_string);
}

/* Milliseconds from `least` on, or a text such as `like`. A bare number in quotes would
 * have to be guessed at. */
static void check_duration(struct mp_entry *entry, const char *below, mp_view v,
                           int64_t least, const char *like)
{
    char *text = mp_view_strdup(v);
    int64_t ms = 0;

    if (!text && mp_view_is_string(v))
        mp_entry_no_memory(entry);
    bool ok = is_number(v) ? mp_view_int(v, &ms)
                           : text && mp_option_parse("duration", text, &ms);
    if (!ok || ms < least)
        mp_entry_complain(entry, false, below, v,
                          "expected milliseconds, or a time such as \"%s\"", like);
    else if (ms > MP_TIME_MAX)
        mp_entry_complain(entry, false, below, v, "is more than 365 days");
    else if (text && ms && !text[strspn(text, "0123456789")])
        mp_entry_complain(entry, false, below, v, "is it \"%.16sms\" or \"%.16ss\"?",
                          text, text);
    mp_free(text);
}

static void check_timeouts(struct mp_entry *entry, const char *below, mp_view v)
{
    struct mp_walk w = mp_walk_into(v);
    mp_view name, item;
    char path[320];

    if (!mp_view_is_object(v))
        mp_entry_expected(entry, below, v,
                          "an object with \"connect\", \"request\", \"tool\"");
    while (mp_view_is_object(v) && mp_walk_member(&w, &name, &item)) {
        char *text = mp_view_strdup(name);
        snprintf(path, sizeof path, "%s.%.128s", below, text ? text : "");
        if (mp_view_equals(name, "connect") || mp_view_equals(name, "request") ||
            mp_view_equals(name, "tool"))
            check_duration(entry, path, item, 1, "30s");
        else
            mp_entry_complain(
                entry, false, path, name,
                "is unknown; there are \"connect\", \"request\" and \"tool\"");
        mp_free(text);
    }
}

static void check_time(struct mp_entry *entry, const char *below, mp_view v)
{
    check_duration(entry, below, v, 0, "10m");
}

static void check_bytes(struct mp_entry *entry, const char *below, mp_view v)
{
    char *text = mp_view_strdup(v);
    int64_t n = 0;

    if (!text && mp_view_is_string(v))
        mp_entry_no_memory(entry);
    bool ok =
        is_number(v) ? mp_view_int(v, &n) : text && mp_option_parse("bytes", text, &n);
    if (!ok || n < 1)
        mp_entry_complain(entry, false, below, v,
                          "expected bytes, or a size such as \"8G\"");
    else if (n > MP_SPILL_LIMIT)
        mp_entry_complain(entry, false, below, v, "is more than 1024G");
    mp_free(text);
}

static void check_number(struct mp_entry *entry, const char *below, mp_view v,
                         int64_t least, int64_t most, const char *what)
{
    int64_t n = 0;

    if (!mp_view_int(v, &n) || n < least || n > most)
        mp_entry_complain(entry, false, below, v, "expected %s, from %lld to %lld", what,
                          (long long)least, (long long)most);
}

static void check_tokens(struct mp_entry *entry, const char *below, mp_view v)
{
    check_number(entry, below, v, 1, MP_OUTPUT_LIMIT, "a number of tokens");
}

static void check_percent(struct mp_entry *entry, const char *below, mp_view v)
{
    check_number(entry, below, v, 0, 90, "a percentage");
}

static void check_tool_tokens(struct mp_entry *entry, const char *below, mp_view v)
{
    struct mp_walk w = mp_walk_into(v);
    mp_view name, item;
    char path[320];

    if (!mp_view_is_object(v))
        mp_entry_expected(entry, below, v, "an object with numbers");
    while (mp_view_is_object(v) && mp_walk_member(&w, &name, &item)) {
        char *text = mp_view_strdup(name);
        snprintf(path, sizeof path, "%s.%.128s", below, text ? text : "");
        check_tokens(entry, path, item);
        if (!text)
            mp_entry_no_memory(entry);
        mp_free(text);
    }
}

/* Modules may offer more than the four, so only what looks like a slip is refused. */
static void check_probe_name(struct mp_entry *entry, const char *below, mp_view v)
{
    static const char *const names[] = {"ping", "listTools", "discover", "http"};
    struct mcplug_error why = MCPLUG_ERROR_INIT;
    const char *best = NULL;
    char *given = mp_view_strdup(v);
    bool known = false;

    for (size_t i = 0; given && i < MP_COUNT(names); i++) {
        known = known || strcmp(given, names[i]) == 0;
        mp_nearest(given, names[i], &best);
    }
    /* "tcp" is near to "http", and another word */
    if (best && !mp_key_is_slip(given, best, 2))
        best = NULL;
    for (size_t i = 0; given && i < MP_COUNT(names); i++)
        if (strcasecmp(given, names[i]) == 0)
            best = names[i];
    if (!given && mp_view_is_string(v))
        mp_entry_no_memory(entry);
    else if (!known && (!given || best || mcplug_name_check(given, &why) != MCPLUG_OK))
        mp_entry_complain(entry, false, below, v,
                          "expected ping, listTools, discover or http%s%s%s",
                          best ? "; did you mean \"" : ", or a name that a module offers",
                          best ? best : "", best ? "\"?" : "");
    else
        mp_check_string(entry, below, v);
    mp_free(given);
}

/* A name, or an object that has it beside the settings; what is right of those its module
 * declares. */
static void check_probe(struct mp_entry *entry, const char *below, mp_view v)
{
    mp_view name = mp_probe_of(v);
    char path[96];

    if (!mp_view_is_object(v)) {
        check_probe_name(entry, below, v);
    } else if (!name.len) {
        mp_entry_complain(entry, false, below, v, "\"name\" is missing");
    } else {
        snprintf(path, sizeof path, "%s.name", below);
        check_probe_name(entry, path, name);
    }
}

static void check_text(struct mp_entry *entry, const char *below, mp_view v)
{
    if (!mp_view_is_string(v))
        mp_entry_expected(entry, below, v, "a string");
    else if (v.len == 2)
        mp_entry_complain(entry, false, below, v, "is empty");
    else
        mp_check_string(entry, below, v);
}

static void check_probe_url(struct mp_entry *entry, const char *below, mp_view v)
{
    char *url = mp_view_strdup(v);
    const char *wrong;
    struct url parts;

    check_text(entry, below, v);
    if (!url && mp_view_is_string(v))
        mp_entry_no_memory(entry);
    if (url && *url) {
        bool web =
            strncasecmp(url, "http://", 7) == 0 || strncasecmp(url, "https://", 8) == 0;
        wrong = web ? url_parse(url, &parts) : "does not begin with http:// or https://";
        if (wrong)
            mp_entry_complain(entry, false, below, v, "%s", wrong);
        else if (strstr(url, "${"))
            mp_entry_complain(entry, true, below, v,
                              "is used as it is, without variables");
    }
    mp_free(url);
}

static void check_flag(struct mp_entry *entry, const char *below, mp_view v)
{
    if (!is_bool(v))
        mp_entry_expected(entry, below, v, "true or false");
}

/* ---- readers; only for values that their checkers let through ---- */

static bool read_text(mp_view v, void *out)
{
    return !mp_view_is_string(v) || (*(char **)out = mp_view_strdup(v));
}

static bool read_probe(mp_view v, void *out)
{
    return !(mp_view_is_string(v) || mp_view_is_object(v)) ||
           (*(char **)out = mp_view_text(v));
}

static void clear_text(void *out)
{
    mp_free(*(char **)out);
}

/* Of a list its texts; of an object names and texts in turn. */
static bool read_list(mp_view v, void *out)
{
    struct mp_walk w = mp_walk_into(v);
    bool is_map = mp_view_is_object(v);
    char **items;
    mp_view name, item;
    size_t n = 0;

    if (!is_map && !mp_view_is_array(v))
        return true;
    *(char ***)out = items = mp_alloc((mp_view_count(v) * 2 + 1) * sizeof *items);
    while (items &&
           (is_map ? mp_walk_member(&w, &name, &item) : mp_walk_element(&w, &item))) {
        if (is_map && !(items[n++] = mp_view_strdup(name)))
            return false;
        if (!(items[n++] = mp_view_text(item)))
            return false;
    }
    return items != NULL;
}

static void clear_list(void *out)
{
    mp_free_list(*(const char *const **)out);
}

static bool read_flag(mp_view v, void *out)
{
    *(bool *)out = mp_view_true(v);
    return true;
}

static bool read_amount(const char *type, mp_view v, void *out)
{
    char *text = mp_view_strdup(v);
    int64_t n = 0;

    if (mp_view_is_string(v) && !text)
        return false;
    if (text)
        mp_option_parse(type, text, &n);
    else
        mp_view_int(v, &n);
    mp_free(text);
    *(uint64_t *)out = n > 0 ? (uint64_t)n : 0;
    return true;
}

static bool read_time(mp_view v, void *out)
{
    return read_amount("duration", v, out);
}

static bool read_bytes(mp_view v, void *out)
{
    return read_amount("bytes", v, out);
}

static bool read_number(mp_view v, void *out)
{
    int64_t n = 0;

    mp_view_int(v, &n);
    *(uint32_t *)out = n > 0 ? (uint32_t)n : 0;
    return true;
}

static bool read_timeouts(mp_view v, void *out)
{
    struct mp_timeouts *timeouts = out;
    uint64_t connect, request;

    if (!read_time(mp_view_get(v, "connect"), &connect) ||
        !read_time(mp_view_get(v, "request"), &request) ||
        !read_time(mp_view_get(v, "tool"), &timeouts->tool_ms))
        return false;
    timeouts->connect_ms = connect > UINT32_MAX ? UINT32_MAX : (uint32_t)connect;
    timeouts->request_ms = request > UINT32_MAX ? UINT32_MAX : (uint32_t)request;
    return true;
}

static const struct mp_key_reader text = {read_text, clear_text};
static const struct mp_key_reader probe = {read_probe, clear_text};
static const struct mp_key_reader list = {read_list, clear_list};
static const struct mp_key_reader flag = {read_flag, NULL};
static const struct mp_key_reader duration = {read_time, NULL};
static const struct mp_key_reader bytes = {read_bytes, NULL};
static const struct mp_key_reader number = {read_number, NULL};
static const struct mp_key_reader timeouts = {read_timeouts, NULL};

/* ---- the table ---- */

#define INTO(reader, member)                                                             \
    .into = &(reader), .at = offsetof(struct mp_supervision, member)
#define OURS .ours = true, .shown = MP_SHOWN

const struct mp_key mp_keys[] = {
    {"type", "string", check_text, OURS,
     .help = "the transport: stdio, http, sse, websocket, .."},
    {"command", "string", check_text, .judged = true, .help = "the program to start"},
    {"args", "list", mp_check_strings, .judged = true,
     .help = "arguments of the program"},
    {"env", "map", mp_check_map, .judged = true, .shown = MP_HIDDEN,
     .help = "environment variables of the program"},
    {"cwd", "string", check_text, .judged = true, .help = "the directory it starts in"},
    {"cleanUp", "list", mp_check_strings, .judged = true, .own = true,
     .help = "program and arguments to run once it has ended"},
    {"url", "url", check_text, .judged = true, .help = "where the server is"},
    {"headers", "map", mp_check_map, .shown = MP_HIDDEN,
     .help = "headers sent with every request"},
    {"disabled", "bool", check_flag, OURS, .help = "true: keep the entry, do not use it"},
    {"timeouts", "map", check_timeouts, INTO(timeouts, timeouts), OURS,
     .help = "how long connect, request and tool may take"},
    {"toolsAllowed", "list", check_names, INTO(list, tools_allowed), OURS,
     .help = "the tools that may be used"},
    {"toolsDenied", "list", check_names, INTO(list, tools_denied), OURS,
     .help = "the tools that may not be used"},
    {"toolsApproved", "list", check_names, INTO(list, tools_approved), OURS,
     .help = "the tools that a model may call without asking the user"},
    {"toolsAsked", "list", check_names, INTO(list, tools_asked), OURS,
     .help = "the tools that the user is always asked about"},
    {"shared", "bool", check_flag, INTO(flag, shared), OURS,
     .help = "false: a connection for each of its users"},
    {"keepAlive", "bool", check_flag, INTO(flag, keep_alive), OURS,
     .help = "true: ping it while a tool runs"},
    {"idle", "duration", check_time, INTO(duration, idle_ms), OURS,
     .help = "stop it after this time without a call"},
    {"healthProbe", "string", check_probe, INTO(probe, probe), OURS,
     .help = "ping, listTools, discover, http, .."},
    {"healthUrl", "url", check_probe_url, INTO(text, probe_url), .ours = true,
     .judged = true, .help = "what the probe http asks for"},
    {"maxSpill", "bytes", check_bytes, INTO(bytes, max_spill), OURS,
     .help = "how much of one result may be kept on disk"},
    {"queue", "string", check_text, INTO(text, queue), OURS,
     .help = "the queue that its calls go through"},
    {"toolQueues", "map", check_named, INTO(list, tool_queues), OURS,
     .help = "queues of single tools"},
    {"maxOutputTokens", "int", check_tokens, INTO(number, max_output_tokens), OURS,
     .help = "how long its results may be for a model"},
    {"toolMaxOutputTokens", "map", check_tool_tokens, INTO(list, tool_output_tokens),
     OURS, .help = "the same of single tools"},
    {"outputTail", "int", check_percent, INTO(number, output_tail), OURS,
     .help = "percent of a cut text that are its end"},

    /* Settings that modules declare and check: those that the policy looks at, and those
     * whose names would hide them. */
    {"path", .judged = true},
    {"host", .judged = true},
    {"port", .judged = true},
    {"proxy", .judged = true},
    {"insecure", .judged = true},
    {"caFile", .judged = true},
    {"certFile", .judged = true},
    {"program", .judged = true},
    {"sshOptions", .judged = true},
    {"image", .judged = true},
    {"mounts", .judged = true},
    {"network", .judged = true},
    {"runArgs", .judged = true},
    {"keyFile", .shown = MP_SHOWN},
    {"connections", .shown = MP_SHOWN},
    {"connectTimeout", .shown = MP_SHOWN},
    {.name = NULL},
};

const struct mp_key *mp_key_find(mp_view name)
{
    for (const struct mp_key *key = mp_keys; key->name; key++)
        if (mp_view_equals(name, key->name))
            return key;
    return NULL;
}

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

bool mp_key_is_foreign(mp_view name)
{
    for (size_t i = 0; i < MP_COUNT(foreign); i++)
        if (mp_view_equals(name, foreign[i]))
            return true;
    return false;
}

const struct mcplug_option *mp_option_find(const struct mcplug_option *options,
                                           mp_view name)
{
    for (const struct mcplug_option *o = options; o && o->name; o++)
        if (mp_view_equals(name, o->name))
            return o;
    return NULL;
}

/* ---- names ---- */

bool mp_key_tells(const char *name, size_t len)
{
    static const char *const parts[] = {
        "token",   "secret", "pass",  "pwd",  "key",  "auth",  "header", "cred",
        "cookie",  "sess",   "sig",   "jwt",  "user", "dsn",   "conn",   "priv",
        "license", "bearer", "|pin|", "|pw|", "|pk|", "|pat|", "|otp|",  "|sas|",
    };
    char words[130] = "|"; /* "|api|key|" */

    for (size_t i = 0; i < len && i < sizeof words - 3; i++) {
        words[i + 1] = isalpha((unsigned char)name[i]) ? (char)(name[i] | 0x20) : '|';
        words[i + 2] = '|';
    }
    for (size_t i = 0; i < MP_COUNT(parts); i++)
        if (strstr(words, parts[i]))
            return true;
    return len > sizeof words - 3; /* who knows what is in so long a name? */
}

bool mp_key_is_slip(const char *given, const char *meant, size_t letters)
{
    size_t n = strlen(given), m = strlen(meant), head = 0, tail = 0;

    while (head < n && mp_lower(given[head]) == mp_lower(meant[head]))
        head++;
    while (tail + head < n && tail + head < m &&
           mp_lower(given[n - 1 - tail]) == mp_lower(meant[m - 1 - tail]))
        tail++;
    return head + tail + letters >= (n > m ? n : m);
}

enum mp_shown mp_key_shown(mp_view key, enum mp_shown outer, bool *failed)
{
    const struct mp_key *row = mp_key_find(key);
    char *name = row ? NULL : mp_view_strdup(key);

    *failed |= !row && !name;
    if (outer == MP_SHOWN_MASKED && row)
        outer = row->shown;
    else if (outer == MP_SHOWN_MASKED && (!name || strncasecmp(name, "env", 3) == 0 ||
                                          mp_key_tells(name, strlen(name))))
        outer = MP_HIDDEN;
    else if (outer == MP_HIDDEN && name && !mp_key_tells(name, strlen(name)) &&
             mp_policy_is_telling((const char *const[]){name, NULL}))
        outer = MP_SHOWN_MASKED; /* it chooses what runs */
    mp_free(name);
    return outer;
}
