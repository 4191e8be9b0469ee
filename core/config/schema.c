/* What may stand in an entry. */
#include "config/keys.h"

#include "base/error.h"
#include "base/mem.h"
#include "json/skip.h"
#include "plugin/props.h"

#include "../../plugins/common/url.h"

#include <stdio.h>
#include <strings.h>

/* What a module says of its own settings is not said here. */
static const struct mp_key *find_key(mp_view name)
{
    const struct mp_key *key = mp_key_find(name);
    return key && key->check ? key : NULL;
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

static void complain_of_slip(struct mp_entry *entry, const char *text, mp_view name,
                             const char *meant)
{
    char below[160];

    snprintf(below, sizeof below, ".%.128s", text);
    mp_entry_complain(entry, false, below, name, "is unknown; did you mean \"%s\"?",
                      meant);
}

/* Neither "command" nor "url", but perhaps something like it. */
static void complain_of_neither(struct mp_entry *entry, mp_view json)
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
            complain_of_slip(entry, text, name, best);
        mp_free(text);
    }
    if (!best)
        mp_entry_complain(
            entry, false, "", json,
            mp_view_get(json, "serverUrl").len || mp_view_get(json, "httpUrl").len
                ? "\"url\" is missing; `mcplug import` reads the form of other "
                  "programs"
                : "\"command\" or \"url\" is missing");
}

static void check_probe_has_url(struct mp_entry *entry)
{
    mp_view probe = mp_view_get(entry->json, "healthProbe");

    if (mp_view_equals(mp_probe_of(probe), "http") &&
        !mp_view_get(entry->json, "healthUrl").len &&
        !(mp_view_is_object(probe) && mp_view_get(probe, "healthUrl").len))
        mp_entry_complain(entry, false, ".healthProbe", probe,
                          "\"http\" needs \"healthUrl\", which is missing");
}

/* Complains if not. */
static bool is_walkable(struct mp_entry *entry, const char *wanted)
{
    if (!mp_view_is_object(entry->json))
        mp_entry_expected(entry, "", entry->json, wanted);
    else if (entry->json.len > MP_ENTRY_MAX || too_deep(entry->json))
        mp_entry_complain(entry, false, "", entry->json,
                          "is too long, or nested too deeply");
    else
        return true;
    return false;
}

static bool accepts_scheme(const char *const *accepts, const char *url, size_t len)
{
    for (size_t i = 0; accepts[i]; i++)
        if (strlen(accepts[i]) == len && strncasecmp(accepts[i], url, len) == 0)
            return true;
    return false;
}

/* Whatever follows the colon: url_parse() says what is wrong with it. */
static bool is_web(const char *url, size_t scheme)
{
    static const char *const web[] = {"http", "https", "ws", "wss", NULL};
    return url[scheme] == ':' && accepts_scheme(web, url, scheme);
}

/* Before anyone is asked whether it may be used: a host that a person would read as
 * another one is never shown for approval. One with variables is seen when they are
 * known. */
static void check_web(struct mp_entry *entry, mp_view value)
{
    char *url = mp_view_strdup(value);
    struct url parts;

    if (!url && mp_view_is_string(value))
        mp_entry_no_memory(entry);
    if (url && !strstr(url, "${") && is_web(url, strcspn(url, ":"))) {
        const char *wrong = url_parse(url, &parts);
        if (wrong)
            mp_entry_complain(entry, false, ".url", value, "%s", wrong);
    }
    mp_free(url);
}

void mp_entry_check_shape(struct mp_entry *entry)
{
    struct mp_walk w = mp_walk_into(entry->json);
    mp_view name, value, command = mp_view_get(entry->json, "command");
    mp_view url = mp_view_get(entry->json, "url");
    char below[96];

    if (!is_walkable(entry, "an object that describes a server"))
        return;
    while (mp_walk_member(&w, &name, &value)) {
        const struct mp_key *key = find_key(name);
        snprintf(below, sizeof below, ".%s", key ? key->name : "");
        if (key && key->own && mp_scope_needs_approval(entry->source->scope))
            mp_entry_complain(entry, false, below, name,
                              "cannot be set in the %s scope; move the server to the "
                              "user scope",
                              mp_scope_name(entry->source->scope));
        else if (key)
            key->check(entry, below, value);
    }
    check_probe_has_url(entry);
    check_web(entry, url);
    if (command.len && url.len)
        mp_entry_complain(entry, false, "", url,
                          "has both \"command\" and \"url\"; remove one");
    else if (url.len && (mp_view_get(entry->json, "path").len ||
                         mp_view_get(entry->json, "host").len))
        mp_entry_complain(entry, false, "", url,
                          "has both \"url\" and \"path\" or \"host\"; remove one");
    else if (!command.len && !url.len && !mp_view_get(entry->json, "type").len)
        complain_of_neither(entry, entry->json);
}

/* ---- parts of an entry that are given in place ---- */

static void check_unknown_part(struct mp_entry *entry, mp_view name, bool is_setting)
{
    char *text = mp_view_strdup(name), below[160];
    const char *best = NULL;

    snprintf(below, sizeof below, ".%.128s", text ? text : "");
    for (const struct mp_key *k = mp_keys; text && k->name; k++)
        if (k->into)
            mp_nearest(text, k->name, &best);
    if (!text)
        mp_entry_no_memory(entry);
    else if (is_setting)
        mp_entry_complain(entry, false, below, name,
                          "is no setting of a transport, but of the server's options");
    else
        mp_entry_complain(entry, false, below, name, "is unknown%s%s%s",
                          best ? "; did you mean \"" : "", best ? best : "",
                          best ? "\"?" : "");
    mp_free(text);
}

static void check_part(struct mp_entry *entry, bool settings)
{
    struct mp_walk w = mp_walk_into(entry->json);
    mp_view name, value;
    char below[96];

    if (!is_walkable(entry, "an object"))
        return;
    while (mp_walk_member(&w, &name, &value)) {
        const struct mp_key *key = mp_key_find(name);
        bool is_type = key && strcmp(key->name, "type") == 0;
        snprintf(below, sizeof below, ".%s", key ? key->name : "");
        if (settings ? key && key->ours && !is_type : !key || !key->into)
            check_unknown_part(entry, name, settings);
        else if (key && key->check)
            key->check(entry, below, value);
    }
    if (!settings)
        check_probe_has_url(entry);
}

int mp_part_check(const char *name, bool settings, mp_view *json,
                  struct mcplug_error *err)
{
    static char in_no_file[] = "";
    struct mcplug_config *config = mp_alloc(sizeof *config);
    struct mp_source source = {.scope = MCPLUG_SCOPE_DYNAMIC, .path = in_no_file};
    struct mp_entry entry = {
        .config = config, .name = (char *)(uintptr_t)name, .source = &source};

    if (!config)
        return mp_fail_nomem(err);
    atomic_init(&config->refs, 1);
    int r = mp_json_check_file(name, *json, err);
    if (r == MCPLUG_OK) {
        entry.json = *json = mp_view_trim(*json);
        check_part(&entry, settings);
        r = config->incomplete ? mp_fail_nomem(err)
                               : mp_entry_broken(&entry, 0, MCPLUG_ECONFIG, err);
    }
    mcplug_config_free(config);
    return r;
}

/* ---- with the transport's options ---- */

static void check_option(struct mp_entry *entry, const struct mcplug_option *o, mp_view v)
{
    char below[128], what[160], *text;
    int64_t number;

    snprintf(below, sizeof below, ".%.64s", o->name);
    if (strcmp(o->type, MP_ADDRESSES) == 0) {
        mp_entry_complain(entry, false, below, v, "cannot be set: it is the policy's");
    } else if (strcmp(o->type, "list") == 0) {
        mp_check_strings(entry, below, v);
    } else if (strcmp(o->type, "map") == 0) {
        mp_check_map(entry, below, v);
    } else if (!mp_view_is_scalar(v)) {
        snprintf(what, sizeof what, "a value of type %s", o->type);
        mp_entry_expected(entry, below, v, what);
    } else {
        text = mp_view_text(v);
        mp_check_string(entry, below, v);
        if (!text)
            mp_entry_no_memory(entry);
        else if (!strstr(text, "${") && !mp_option_parse(o->type, text, &number))
            mp_entry_complain(entry, false, below, v, "\"%.64s\" is not of type %s", text,
                              o->type);
        mp_free(text);
    }
}

static void check_unknown(struct mp_entry *entry, const char *transport,
                          const struct mcplug_option *options, mp_view name)
{
    char *text = mp_view_strdup(name), below[160];
    const char *best = NULL;

    if (!text) {
        mp_entry_no_memory(entry);
        return;
    }
    for (const struct mp_key *key = mp_keys; key->name; key++)
        if (key->ours)
            mp_nearest(text, key->name, &best);
    for (const struct mcplug_option *o = options; o && o->name; o++)
        mp_nearest(text, o->name, &best);
    if (best) {
        complain_of_slip(entry, text, name, best);
    } else {
        snprintf(below, sizeof below, ".%.128s", text);
        mp_entry_complain(entry, true, below, name,
                          "is unknown to transport \"%.32s\", and ignored", transport);
    }
    mp_free(text);
}

static void check_missing(struct mp_entry *entry, const char *transport,
                          const struct mcplug_option *options)
{
    for (const struct mcplug_option *o = options; o && o->name; o++) {
        bool may_miss =
            o->fallback || strcmp(o->type, "list") == 0 || strcmp(o->type, "map") == 0;
        if (!may_miss && !mp_view_get(entry->json, o->name).len)
            mp_entry_complain(entry, false, "", entry->json,
                              "\"%.64s\" is missing, which transport \"%.32s\" needs",
                              o->name, transport);
    }
}

void mp_entry_check(struct mp_entry *entry, const char *transport,
                    const struct mcplug_option *options)
{
    struct mp_walk w = mp_walk_into(entry->json);
    mp_view name, value;
    char below[96];

    if (entry->checked || !mp_view_is_object(entry->json))
        return;
    entry->checked = true;
    while (mp_walk_member(&w, &name, &value)) {
        const struct mp_key *key = find_key(name);
        const struct mcplug_option *o = mp_option_find(options, name);
        if (o && !key) {
            check_option(entry, o, value);
        } else if (key && !key->ours && !o) {
            snprintf(below, sizeof below, ".%s", key->name);
            mp_entry_complain(entry, true, below, name,
                              "is not used by transport \"%.32s\"", transport);
        } else if (!key && !o && !mp_key_is_foreign(name)) {
            check_unknown(entry, transport, options, name);
        }
    }
    check_missing(entry, transport, options);
}

static void note_probe(void *arg, const char *name, mp_view at, const char *text)
{
    char below[160];

    snprintf(below, sizeof below, ".healthProbe%s%.128s", *name ? "." : "", name);
    mp_entry_complain(arg, false, below, at, "%s", text);
}

void mp_entry_check_probe(struct mp_entry *entry, const char *probe,
                          const struct mcplug_option *options)
{
    struct mp_options_check check = {.kind = "probe",
                                     .feature = probe,
                                     .options = options,
                                     .skip = "name",
                                     .beside = entry->json,
                                     .note = note_probe,
                                     .arg = entry};
    mp_view settings = mp_view_get(entry->json, "healthProbe");

    if (mp_view_is_object(settings))
        mp_options_check(&check, settings);
}

void mp_entry_check_url(struct mp_entry *entry, const char *transport,
                        const char *const *accepts)
{
    mp_view value = mp_view_get(entry->json, "url");
    char *url = mp_view_strdup(value);
    size_t scheme = url ? strcspn(url, ":") : 0;

    if (url && memchr(url, '$', scheme) == NULL && accepts &&
        !accepts_scheme(accepts, url, scheme)) {
        mp_entry_complain(
            entry, false, ".url", value,
            "transport \"%.32s\" does not support URLs that begin with \"%.*s\"",
            transport, (int)(scheme < 32 ? scheme : 32), url);
    }
    mp_free(url);
}
