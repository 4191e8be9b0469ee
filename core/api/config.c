/* Servers by name. */
#include "api/host.h"
#include "api/options.h"

#include "base/error.h"
#include "base/mem.h"
#include "plugin/props.h"
#include "registry/tool_cache.h"

#include <mcplug/admin.h>

#include <stdio.h>

static int find(const mcplug_config *config, const char *name, struct mp_entry **out,
                struct mcplug_error *err)
{
    if (!config || !name)
        return mp_fail_null(err, "`config` and `name`");
    *out = mcplug_entry_find(config, name);
    return *out ? MCPLUG_OK
                : mp_fail(err, MCPLUG_ECONFIG, "there is no server \"%.128s\"", name);
}

enum mcplug_entry_state mcplug_config_check(const mcplug_config *config, const char *name,
                                            struct mcplug_error *err)
{
    struct mp_entry *entry;
    int r = find(config, name, &entry, err);
    return r == MCPLUG_OK ? mcplug_entry_state(entry, err) : MCPLUG_ENTRY_NONE;
}

int mcplug_config_approve(mcplug_config *config, const char *name,
                          struct mcplug_error *err)
{
    struct mp_entry *entry;
    int r = find(config, name, &entry, err);
    return r == MCPLUG_OK ? mcplug_entry_approve(entry, err) : r;
}

/* ---- opening ---- */

static void use_queue(mcplug *host, const struct mcplug_config *config, const char *name)
{
    unsigned concurrent, waiting;
    if (name && mp_config_queue(config, name, &concurrent, &waiting))
        mcplug_set_queue(host, name, concurrent, waiting);
}

static void warn(mcplug *host, const struct mcplug_server_options *o, const char *source,
                 const char *text)
{
    if (o->problem)
        o->problem(o->arg, source, text);
    else
        mp_log(&host->events, MCPLUG_LOG_WARN, source, "%s", text);
}

/* What is wrong with its settings, but not so that it could not be used. */
static void warn_all(mcplug *host, const struct mcplug_server_options *o,
                     mcplug_config *config, const struct mp_entry *entry,
                     const char *missing)
{
    char source[MCPLUG_NAME_MAX + 8], text[MP_LINE_MAX];

    for (size_t i = 0; i < config->n_problems; i++) {
        struct mp_problem *p = &config->problems[i];
        if (p->is_warning && p->server && p->file == entry->source->path &&
            strcmp(p->server, entry->name) == 0)
            warn(host, o, "config", mp_problem_text(p));
    }
    snprintf(source, sizeof source, "mcp:%s", entry->name);
    snprintf(text, sizeof text, "Set the following environment variables: %s",
             missing ? missing : "");
    if (missing)
        warn(host, o, source, text);
}

static int open_entry(mcplug *host, mcplug_config *config, struct mp_entry *entry,
                      struct mcplug_server_options *o, mcplug_ready_fn *ready,
                      void *ready_arg, mcplug_server **out, struct mcplug_error *err)
{
    struct mp_resolved resolved;
    struct mp_supervision supervision = {0};
    struct mp_target *target = NULL;
    bool altered = o->overlay != NULL;

    int r = mp_target_of_entry(&host->connector, config, entry, o->overlay, &resolved,
                               &target, err);
    host->reporting++;
    warn_all(host, o, config, entry, r == MCPLUG_OK ? resolved.missing : NULL);
    host->reporting--;
    if (r == MCPLUG_OK)
        r = mp_server_options_fill(o, entry->json, &supervision, err);
    if (r == MCPLUG_OK) {
        o->name = o->name ? o->name : entry->name;
        use_queue(host, config, o->queue);
        const char *const *tq = o->tool_queues;
        for (size_t i = 0; tq && tq[i] && tq[i + 1]; i += 2)
            use_queue(host, config, tq[i + 1]);
        r = mp_server_open(&host->registry, target, o, ready, ready_arg, out, err);
    }
    /* What one may see another may not, and an altered server is another one. */
    if (r == MCPLUG_OK && !o->identity && !altered)
        mp_service_recall((*out)->service, mp_tool_cache_path(&config->paths, entry));
    mp_target_unref(target);
    mp_resolved_clear(&resolved);
    mp_supervision_clear(&supervision);
    return r;
}

int mcplug_entry_open(mcplug *host, mcplug_entry *entry,
                      const struct mcplug_server_options *options, mcplug_ready_fn *ready,
                      void *ready_arg, mcplug_server **out, struct mcplug_error *err)
{
    struct mcplug_error own = MCPLUG_ERROR_INIT;
    struct mcplug_server_options o = {0};

    if (mp_host_check(host, err) != MCPLUG_OK)
        return MCPLUG_EINVAL;
    err = err ? err : &own;
    if (host->freeing)
        return mp_fail(err, MCPLUG_ECLOSED, "the host is being freed");
    if (!entry || !out)
        return mp_fail_null(err, "`entry` and `out`");
    int r = mp_take_options(&o, options, err);
    if (r != MCPLUG_OK)
        return r;
    o.struct_size = sizeof o;
    mp_pull_fill_server(&host->pull, &o);
    return open_entry(host, entry->config, entry, &o, ready, ready_arg, out, err);
}

int mcplug_open_named(mcplug *host, mcplug_config *config, const char *name,
                      const struct mcplug_server_options *options, mcplug_ready_fn *ready,
                      void *ready_arg, mcplug_server **out, struct mcplug_error *err)
{
    struct mp_entry *entry;
    int r = mp_host_check(host, err);
    if (r == MCPLUG_OK)
        r = find(config, name, &entry, err);
    return r == MCPLUG_OK
               ? mcplug_entry_open(host, entry, options, ready, ready_arg, out, err)
               : r;
}
