/* Servers by name. */
#include "api/host.h"

#include "base/error.h"
#include "base/mem.h"
#include "config/supervision.h"
#include "plugin/props.h"
#include "registry/tool_cache.h"

#include <mcplug/mcplug.h>

/* ---- settings ---- */

static int from_vault(void *arg, const char *vault, const char *name, struct mp_str *out,
                      struct mcplug_error *err)
{
    mcplug *host = arg;
    return mp_vault_get(host->catalogue, vault, name, out, err);
}

/* Which transport is it? Without a type the URL tells, and that may have variables. */
static int find_offer(mcplug *host, const struct mcplug_config *config,
                      const struct mp_entry *entry, const struct mp_offer **out,
                      struct mcplug_error *err)
{
    static const struct mcplug_option only_url[] = {{"url", "string", "", ""},
                                                    {NULL, NULL, NULL, NULL}};
    struct mp_resolved first;
    char *type = NULL;
    int r = mp_entry_type(entry, &type, err);
    if (r == MCPLUG_OK && type) {
        r = mp_connector_transport(&host->connector, type, NULL, out, err);
    } else if (r == MCPLUG_OK) {
        r = mp_entry_resolve(config, entry, only_url, NULL, &first, err);
        if (r == MCPLUG_OK)
            r = mp_connector_transport(&host->connector, NULL,
                                       mp_props_get(first.props, "url"), out, err);
        mp_resolved_clear(&first);
    }
    mp_free(type);
    return r;
}

int mp_host_settings(mcplug *host, struct mcplug_config *config, struct mp_entry *entry,
                     struct mp_resolved *resolved, mcplug_settings **settings,
                     struct mcplug_error *err)
{
    const struct mp_vaults vaults = {from_vault, host};
    const struct mp_offer *offer;
    enum mp_state state;

    memset(resolved, 0, sizeof *resolved);
    int r = mp_entry_usable(config, entry, &state, err);
    if (r == MCPLUG_OK)
        r = find_offer(host, config, entry, &offer, err);
    if (r == MCPLUG_OK) {
        mp_config_check(config, entry, offer->feature.name, offer->feature.options);
        mp_config_check_url(config, entry, offer->feature.name, offer->feature.accepts);
        r = mp_entry_resolve(config, entry, offer->feature.options, &vaults, resolved,
                             err);
    }
    if (r != MCPLUG_OK)
        return r;
    mcplug_settings *s = mcplug_settings_new(resolved->type);
    if (!s)
        return mp_fail_nomem(err);
    mp_props_free(s->props);
    s->props = mp_move(&resolved->props);
    *settings = s;
    return MCPLUG_OK;
}

/* ---- the public functions ---- */

mcplug_config *mcplug_config_load(const struct mcplug_config_options *options,
                                  struct mcplug_error *err)
{
    struct mp_config_options o = {0};
    struct mcplug_config_options given = {0};
    if (mp_take_options(&given, options, err) != MCPLUG_OK)
        return NULL;
    o.dynamic = given.more;
    o.strict = given.strict != 0;
    return mp_config_load(&o, err);
}

void mcplug_config_free(mcplug_config *config)
{
    mp_config_free(config);
}

size_t mcplug_config_count(const mcplug_config *config)
{
    size_t n = 0;
    for (size_t i = 0; i < config->n_entries; i++)
        n += config->entries[i].by == NULL;
    return n;
}

const char *mcplug_config_name(const mcplug_config *config, size_t i)
{
    for (size_t k = 0; k < config->n_entries; k++)
        if (!config->entries[k].by && i-- == 0)
            return config->entries[k].name;
    return NULL;
}

const char *mcplug_config_problem(mcplug_config *config, size_t i)
{
    return i < config->n_problems ? mp_problem_text(&config->problems[i]) : NULL;
}

const char *const *mcplug_config_plugin_dirs(const mcplug_config *config)
{
    return (const char *const *)config->plugin_dirs;
}

static int find(const mcplug_config *config, const char *name, struct mp_entry **out,
                struct mcplug_error *err)
{
    *out = mp_config_find(config, name);
    return *out ? MCPLUG_OK
                : mp_fail(err, MCPLUG_ECONFIG, "there is no server \"%.128s\"", name);
}

int mcplug_config_check(const mcplug_config *config, const char *name,
                        struct mcplug_error *err)
{
    struct mp_entry *entry;
    enum mp_state state;
    int r = find(config, name, &entry, err);
    return r == MCPLUG_OK ? mp_entry_usable(config, entry, &state, err) : r;
}

const char *mcplug_config_entry(const mcplug_config *config, const char *name,
                                size_t *len)
{
    struct mp_entry *entry = mp_config_find(config, name);
    if (!entry)
        return NULL;
    *len = entry->json.len;
    return (const char *)entry->json.data;
}

int mcplug_config_approve(mcplug_config *config, const char *name,
                          struct mcplug_error *err)
{
    struct mp_entry *entry;
    int r = find(config, name, &entry, err);
    return r == MCPLUG_OK ? mp_config_approve(config, entry, err) : r;
}

/* ---- opening ---- */

static void use_queue(mcplug *host, const struct mcplug_config *config, const char *name)
{
    unsigned concurrent, waiting;
    if (name && mp_config_queue(config, name, &concurrent, &waiting))
        mcplug_set_queue(host, name, concurrent, waiting);
}

/* What the caller left open is as the entry has it. */
static void fill_options(const struct mp_supervision *u, struct mcplug_server_options *o)
{
    o->dedicated = o->dedicated || !u->shared;
    o->probe = o->probe ? o->probe : u->probe;
    o->probe_url = o->probe_url ? o->probe_url : u->probe_url;
    o->idle_ms = o->idle_ms ? o->idle_ms : u->idle_ms;
    o->queue = o->queue ? o->queue : u->queue;
    if (!o->tool_queues)
        o->tool_queues = (const char *const *)u->tool_queues;
    if (!o->tools_allowed)
        o->tools_allowed = (const char *const *)u->tools_allowed;
    if (!o->tools_denied)
        o->tools_denied = (const char *const *)u->tools_denied;
    if (u->keep_alive && !o->keep_alive_ms)
        o->keep_alive_ms = 50000;
}

static int open_entry(mcplug *host, mcplug_config *config, struct mp_entry *entry,
                      struct mcplug_server_options *o, mcplug_ready_fn *ready,
                      void *ready_arg, mcplug_server **out, struct mcplug_error *err)
{
    struct mp_resolved resolved = {0};
    struct mp_supervision supervision = {0};
    mcplug_settings *settings = NULL;

    int r = mp_host_settings(host, config, entry, &resolved, &settings, err);
    if (r == MCPLUG_OK)
        r = mp_entry_supervision(entry, &supervision, err);
    if (r == MCPLUG_OK) {
        fill_options(&supervision, o);
        o->name = o->name ? o->name : entry->name;
        mp_resolved_times(&resolved, &o->timeout_ms, &o->request_ms, &o->tool_ms);
        use_queue(host, config, o->queue);
        const char *const *tq = o->tool_queues;
        for (size_t i = 0; tq && tq[i] && tq[i + 1]; i += 2)
            use_queue(host, config, tq[i + 1]);
        if (resolved.missing)
            mp_log(&host->log, MCPLUG_LOG_WARN, "config",
                   "server \"%s\": Set the following environment variables: %s",
                   entry->name, resolved.missing);
        r = mcplug_open(host, settings, o, ready, ready_arg, out, err);
        if (r == MCPLUG_OK && !o->identity) /* what one may see another may not */
            mp_service_recall((*out)->service, mp_tool_cache_path(&config->paths, entry));
    }
    mcplug_settings_free(settings);
    mp_resolved_clear(&resolved);
    mp_supervision_clear(&supervision);
    return r;
}

int mcplug_open_named(mcplug *host, mcplug_config *config, const char *name,
                      const struct mcplug_server_options *options, mcplug_ready_fn *ready,
                      void *ready_arg, mcplug_server **out, struct mcplug_error *err)
{
    struct mcplug_error own = MCPLUG_ERROR_INIT;
    struct mcplug_server_options o = {0};
    struct mp_entry *entry;

    err = err ? err : &own;
    int r = find(config, name, &entry, err);
    if (r == MCPLUG_OK)
        r = mp_take_options(&o, options, err);
    if (r == MCPLUG_OK) {
        o.struct_size = sizeof o;
        r = open_entry(host, config, entry, &o, ready, ready_arg, out, err);
    }
    return r;
}
