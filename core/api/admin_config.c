/* The configuration for commands and panels: <mcplug/admin.h> over core/config. */
#include "api/host.h"

#include "base/error.h"
#include "base/mem.h"
#include "config/expand.h"
#include "config/keys.h"
#include "config/supervision.h"
#include "plugin/props.h"
#include "registry/filter.h"
#include "rpc/spill.h"

#include <mcplug/admin.h>

#include <stdio.h>
#include <stdlib.h>

#define TEXT_MAX (MP_FILE_MAX * 8) /* of an entry, masked or laid out */

/* ---- the whole ---- */

void mcplug_config_info(const mcplug_config *config, struct mcplug_config_info *out)
{
    if (!config || !out)
        return;
    bool policy = config->policy || config->policy_error;
    const struct mcplug_config_info own = {
        .exclusive = config->exclusive,
        .damaged = mp_config_damaged(config),
        .policy = policy ? config->paths.policy : NULL,
        .policy_error = config->policy_error,
        .files = config->n_sources,
        .entries = config->n_entries,
        .problems = config->n_problems,
    };
    mp_give_struct(out, own);
}

void mcplug_config_paths(const mcplug_config *config, struct mcplug_paths *out)
{
    if (!config || !out)
        return;
    const struct mp_paths *p = &config->paths;
    const struct mcplug_paths own = {
        .cwd = p->cwd,
        .home = p->home,
        .settings = p->settings,
        .approvals = p->approvals,
        .state = p->state,
        .cache = p->cache,
        .managed = p->managed,
        .policy = p->policy,
    };
    mp_give_struct(out, own);
}

char *mcplug_spill_place(size_t i, int *own)
{
    bool is_own = false;
    char *dirs = mp_spill_dir(NULL), *place = NULL;

    if (dirs)
        place = mp_spill_place(dirs, i, &is_own);
    if (place && own)
        *own = is_own;
    mp_free(dirs);
    return place;
}

int mcplug_config_file(const mcplug_config *config, size_t i,
                       struct mcplug_config_file *out)
{
    if (!config || !out || i >= config->n_sources)
        return 0;
    const struct mp_source *source = &config->sources[i];
    struct mcplug_config_file own = {
        .scope = source->scope,
        .path = source->path,
        .in_place = source->real == NULL,
        .broken = source->broken,
        .mode = source->file.st.st_mode,
        .group = source->file.st.st_gid,
    };
    for (size_t k = 0; k < config->n_entries; k++)
        own.entries += config->entries[k].source == source;
    mp_give_struct(out, own);
    return 1;
}

int mcplug_config_problem_info(const mcplug_config *config, size_t i,
                               struct mcplug_problem *out)
{
    if (!config || !out || i >= config->n_problems)
        return 0;
    const struct mp_problem *p = &config->problems[i];
    struct mcplug_problem own = {
        .is_warning = p->is_warning,
        .file = p->file,
        .server = p->server,
        .path = p->path,
        .text = p->text,
        .line = p->at.line,
        .column = p->at.column,
        .scope = MCPLUG_SCOPE_DYNAMIC,
    };
    for (size_t k = 0; k < config->n_sources; k++)
        if (config->sources[k].path == p->file) {
            own.scope = config->sources[k].scope;
            own.file_is_broken = config->sources[k].broken;
        }
    mp_give_struct(out, own);
    return 1;
}

/* ---- entries ---- */

void mcplug_entry_info(const mcplug_entry *entry, struct mcplug_entry_info *out)
{
    if (!entry || !out)
        return;
    const struct mp_source *source = entry->source;
    struct mcplug_entry_info own = {
        .scope = source->scope,
        .name = entry->name,
        .file = source->path,
        .line = entry->at.line,
        .column = entry->at.column,
        .json = (const char *)entry->json.data,
        .json_len = entry->json.len,
        .real = source->real,
        .broken = entry->broken,
        .disabled = entry->disabled,
        .approval = mp_scope_needs_approval(source->scope) ? entry->approval
                                                           : MCPLUG_APPROVAL_GIVEN,
        .mode = source->file.st.st_mode,
        .shadowed_by = entry->by,
    };
    if (own.approval == MCPLUG_APPROVAL_CHANGED) {
        own.approved = (const char *)entry->was.data;
        own.approved_len = entry->was.len;
    }
    mcplug_json_type(own.json, own.json_len, own.type);
    mp_give_struct(out, own);
}

const char *mcplug_entry_name(const mcplug_entry *entry)
{
    return entry ? entry->name : NULL;
}

void mcplug_entry_probe(const mcplug_entry *entry, char out[MCPLUG_TYPE_MAX])
{
    _Static_assert(MCPLUG_TYPE_MAX == MP_PROBE_NAME, "a name");
    if (!entry || !out)
        return;
    mp_view probe = mp_probe_of(mp_view_get(entry->json, "healthProbe"));
    char *name = mp_view_strdup(probe);
    mp_probe_name(name ? name : "", out);
    mp_free(name);
}

int mcplug_entry_digest(const mcplug_entry *entry, char out[65])
{
    _Static_assert(MP_SHA256_HEX + 1 == 65, "a digest");
    if (!entry || !out)
        return MCPLUG_EINVAL;
    return mp_approval_digest("", "", entry->json, out) ? MCPLUG_OK : MCPLUG_ENOMEM;
}

int mcplug_config_key(size_t i, struct mcplug_key *out)
{
    size_t n = 0;
    while (mp_keys[n].name && n < i)
        n++;
    const struct mp_key *key = &mp_keys[n];
    if (!key->name || !out)
        return 0;
    const struct mcplug_key own = {.is_setting = !key->ours,
                                   .name = key->name,
                                   .type = key->type,
                                   .help = key->help};
    mp_give_struct(out, own);
    return 1;
}

int mcplug_name_is_telling(const char *name)
{
    return name && mp_key_tells(name, strlen(name));
}

/* ---- which tools ---- */

int mcplug_tool_matches(const char *pattern, const char *tool)
{
    const char *const list[] = {pattern, NULL};
    return pattern && tool && mp_filter_match(list, tool) != NULL;
}

int mcplug_entry_allows(const mcplug_entry *entry, const char *tool,
                        struct mcplug_error *why)
{
    struct mp_supervision s = {0};

    if (!entry || !tool) {
        mp_fail_null(why, "`entry` and `tool`");
        return 0;
    }
    bool listed = mp_view_get(entry->json, "toolsAllowed").len ||
                  mp_view_get(entry->json, "toolsDenied").len;
    bool allowed = entry->broken || !listed;

    if (!allowed && mp_entry_supervision(entry, &s, why) == MCPLUG_OK) {
        const char *const *only = (const char *const *)s.tools_allowed;
        const char *const *denied = (const char *const *)s.tools_denied;
        const char *by = mp_filter_match(denied, tool);
        allowed = mp_filter_allows(only, denied, tool);
        if (by)
            mp_fail(why, MCPLUG_EREFUSED,
                    "tool '%.128s' of server \"%s\" is not allowed: toolsDenied of %s "
                    "has \"%.128s\"",
                    tool, entry->name, entry->source->path, by);
        else if (!allowed)
            mp_fail(why, MCPLUG_EREFUSED,
                    "tool '%.128s' of server \"%s\" is not allowed: it is not in "
                    "toolsAllowed of %s",
                    tool, entry->name, entry->source->path);
    }
    mp_supervision_clear(&s);
    return allowed;
}

/* ---- checking ---- */

void mcplug_entry_check(mcplug_entry *entry, mcplug *host)
{
    struct mcplug_error why = MCPLUG_ERROR_INIT;
    const struct mp_offer *offer;
    char *type = NULL, *url = NULL;

    if (!entry || mp_host_check(host, NULL) != MCPLUG_OK || entry->broken ||
        mp_entry_type(entry, &type, &why) != MCPLUG_OK)
        return;
    if (!type) {
        url = mp_view_strdup(mp_view_get(entry->json, "url"));
        if (url && strncmp(url, "${", 2) == 0) { /* not known before it is used */
            mp_free(url);
            return;
        }
    }
    if (mp_connector_type(&host->connector, type, url, &offer, &why) == MCPLUG_OK) {
        const struct mcplug_feature *f = &offer->feature;
        mp_entry_check(entry, f->name, f->options);
        mp_entry_check_url(entry, f->name, f->accepts);
        mp_target_check_probe(&host->connector, entry);
    } else {
        const char *key = type ? "type" : "url";
        char path[MCPLUG_NAME_MAX + 32];
        snprintf(path, sizeof path, "mcpServers.%s.%s", entry->name, key);
        mp_config_note(entry->config, entry->source, entry->name, false, path,
                       mp_view_get(entry->json, key), "%s", why.text);
        entry->broken = true;
    }
    mp_free(type);
    mp_free(url);
}

int mcplug_entry_check_new(mcplug_config *config, enum mcplug_scope scope,
                           const char *name, const char *json, size_t len, mcplug *host,
                           struct mcplug_error *err)
{
    static char in_no_file[] = "the entry";
    struct mp_source source = {.scope = scope, .path = in_no_file};
    struct mp_entry entry = {.config = config,
                             .name = (char *)(uintptr_t)name,
                             .source = &source,
                             .json = mp_bytes(json, len)};

    if (mp_host_check(host, err) != MCPLUG_OK)
        return MCPLUG_EINVAL;
    if (!config || !name || !json)
        return mp_fail_null(err, "`config`, `name` and `json`");
    source.file.text.data = (char *)(uintptr_t)json; /* for lines and columns */
    source.file.text.len = len;
    size_t before = config->n_problems;
    mp_entry_check_shape(&entry);
    mcplug_entry_check(&entry, host);
    return mp_entry_broken(&entry, before, MCPLUG_ECONFIG, err);
}

/* ---- text ---- */

int mcplug_json_check(const char *json, size_t len, size_t *line, size_t *column,
                      struct mcplug_error *err)
{
    struct mp_place at = {0, 0};

    if (!json)
        return mp_fail_null(err, "`json`");
    int r = mp_json_check(mp_bytes(json, len), &at, err);
    if (line)
        *line = at.line;
    if (column)
        *column = at.column;
    return r;
}

void mcplug_json_type(const char *text, size_t len, char out[MCPLUG_TYPE_MAX])
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    const struct mp_entry entry = {.json = mp_bytes(text, len)};
    char *type = NULL, *url = NULL;

    if (!out)
        return;
    out[0] = '\0';
    if (!text || !mp_view_is_object(entry.json))
        return;
    if (mp_entry_type(&entry, &type, NULL) == MCPLUG_OK && type) {
        snprintf(out, MCPLUG_TYPE_MAX, "%s", type);
    } else if ((url = mp_view_strdup(mp_view_get(entry.json, "url")))) {
        size_t n = strspn(url, letters);
        for (size_t i = 0; i < n; i++)
            url[i] = (char)(url[i] | 0x20);
        if (n && url[n] == ':')
            snprintf(out, MCPLUG_TYPE_MAX, "%.*s", (int)n, url);
    }
    const char *shown = mp_type_shown(out);
    if (shown != out)
        snprintf(out, MCPLUG_TYPE_MAX, "%s", shown);
    mp_free(type);
    mp_free(url);
}

/* give: what `make` makes of it, unless something does not fit. */
static char *made(bool (*make)(mp_view json, struct mp_str *out), const char *json,
                  size_t len)
{
    struct mp_str out;

    if (!json)
        return NULL;
    mp_str_init(&out, TEXT_MAX);
    char *text = make(mp_bytes(json, len), &out) ? mp_str_take(&out) : NULL;
    mp_str_clear(&out);
    return text;
}

char *mcplug_json_masked(const char *entry, size_t len)
{
    return made(mp_mask_entry, entry, len);
}

char *mcplug_json_canonical(const char *json, size_t len)
{
    return made(mp_json_canonical, json, len);
}

char *mcplug_json_layout(const char *json, size_t len)
{
    return made(mp_json_layout, json, len);
}

static const char *variable(void *arg, const char *name)
{
    (void)arg;
    return getenv(name);
}

static int tell_secret(void *arg, const char *kind, const char *name, struct mp_str *out,
                       struct mcplug_error *err)
{
    const struct mcplug_expansion *e = arg;
    (void)out, (void)err;
    if (e->secret)
        e->secret(e->arg, kind, name);
    return MCPLUG_OK;
}

static void tell_missing(void *arg, const char *name)
{
    const struct mcplug_expansion *e = arg;
    if (e->missing)
        e->missing(e->arg, name);
}

char *mcplug_expand(const char *text, const struct mcplug_expansion *expansion,
                    struct mcplug_error *err)
{
    struct mcplug_expansion own = {0};
    const struct mp_expansion e = {variable, tell_secret, tell_missing, &own};
    char *expanded = NULL;
    struct mp_str out;

    if (!text) {
        mp_fail_null(err, "`text`");
        return NULL;
    }

    mp_str_init(&out, MP_EXPAND_MAX);
    if (mp_take_options(&own, expansion, err) == MCPLUG_OK &&
        mp_expand(&e, text, &out, err) == MCPLUG_OK) {
        if (!(expanded = mp_str_take(&out)))
            mp_fail_nomem(err);
    }
    if (out.data)
        explicit_bzero(out.data, out.len);
    mp_str_clear(&out);
    return expanded;
}
