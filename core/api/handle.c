/* Servers that stay up. */
#include "api/host.h"

#include "base/error.h"
#include "base/mem.h"
#include "config/supervision.h"
#include "registry/tool_cache.h"

const char *mcplug_state_name(enum mcplug_state state)
{
    return (unsigned)state <= MCPLUG_STATE_ENDED
               ? mp_keeper_state_name((enum mp_keeper_state)state)
               : "unknown";
}

int mcplug_acquire(mcplug *host, const mcplug_settings *settings,
                   const struct mcplug_acquire_options *options,
                   void (*ready)(void *arg, mcplug_handle *handle,
                                 const struct mcplug_error *why),
                   void *ready_arg, mcplug_handle **out, struct mcplug_error *err)
{
    struct mcplug_error own = MCPLUG_ERROR_INIT;

    if (!err)
        err = &own;
    if (host->freeing)
        return mp_fail(err, MCPLUG_ECLOSED, "the host is being freed");
    if (!settings || !out)
        return mp_fail(err, MCPLUG_EINVAL, "no settings, or no place for the handle");
    return mp_handle_new(&host->registry, settings, options, ready, ready_arg, out, err);
}

/* ---- by name ---- */

static void use_queue(mcplug *host, const struct mcplug_config *config, const char *name)
{
    unsigned concurrent, waiting;
    if (name && mp_config_queue(config, name, &concurrent, &waiting))
        mcplug_set_queue(host, name, concurrent, waiting);
}

/* What the caller left open is as the entry has it. */
static void fill_options(const struct mp_supervision *u, struct mcplug_acquire_options *o,
                         struct mcplug_server_options *server)
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
    if (u->keep_alive && !server->keep_alive_ms)
        server->keep_alive_ms = 50000;
}

static int
acquire_entry(mcplug *host, mcplug_config *config, struct mp_entry *entry,
              struct mcplug_acquire_options *o, struct mcplug_server_options *server,
              void (*ready)(void *, mcplug_handle *, const struct mcplug_error *),
              void *ready_arg, mcplug_handle **out, struct mcplug_error *err)
{
    struct mp_resolved resolved = {0};
    struct mp_supervision supervision = {0};
    mcplug_settings *settings = NULL;

    int r = mp_host_settings(host, config, entry, &resolved, &settings, err);
    if (r == MCPLUG_OK)
        r = mp_entry_supervision(entry, &supervision, err);
    if (r == MCPLUG_OK) {
        fill_options(&supervision, o, server);
        server->name = server->name ? server->name : entry->name;
        mp_resolved_times(&resolved, &server->timeout_ms, &server->request_ms,
                          &server->tool_ms);
        use_queue(host, config, o->queue);
        const char *const *tq = o->tool_queues;
        for (size_t i = 0; tq && tq[i] && tq[i + 1]; i += 2)
            use_queue(host, config, tq[i + 1]);
        if (resolved.missing)
            mp_log(&host->log, MCPLUG_LOG_WARN, "config",
                   "server \"%s\": Set the following environment variables: %s",
                   entry->name, resolved.missing);
        r = mcplug_acquire(host, settings, o, ready, ready_arg, out, err);
        if (r == MCPLUG_OK && !o->identity) /* what one may see another may not */
            mp_service_recall((*out)->service, mp_tool_cache_path(&config->paths, entry));
    }
    mcplug_settings_free(settings);
    mp_resolved_clear(&resolved);
    mp_supervision_clear(&supervision);
    return r;
}

int mcplug_acquire_named(mcplug *host, mcplug_config *config, const char *name,
                         const struct mcplug_acquire_options *options,
                         void (*ready)(void *arg, mcplug_handle *handle,
                                       const struct mcplug_error *why),
                         void *ready_arg, mcplug_handle **out, struct mcplug_error *err)
{
    struct mcplug_error own = MCPLUG_ERROR_INIT;
    struct mcplug_acquire_options o = {0};
    struct mcplug_server_options server = {0};
    struct mp_entry *entry = mp_config_find(config, name);

    if (!err)
        err = &own;
    if (!entry)
        return mp_fail(err, MCPLUG_ECONFIG, "there is no server \"%.128s\"", name);
    int r = mp_take_options(&o, options, err);
    if (r == MCPLUG_OK)
        r = mp_take_options(&server, o.server, err);
    if (r != MCPLUG_OK)
        return r;
    o.server = &server;
    return acquire_entry(host, config, entry, &o, &server, ready, ready_arg, out, err);
}

/* ---- what a handle can do ---- */

void mcplug_release(mcplug_handle *handle, void (*released)(void *arg), void *arg)
{
    if (handle)
        mp_handle_release(handle, released, arg);
}

mcplug_call *mcplug_handle_call(mcplug_handle *handle, const char *tool,
                                const char *arguments,
                                const struct mcplug_call_options *options,
                                mcplug_done_fn *done, void *arg, struct mcplug_error *err)
{
    return mp_order_start(handle, "tools/call", tool, arguments, options, done, arg, err);
}

mcplug_call *mcplug_handle_request(mcplug_handle *handle, const char *method,
                                   const char *params,
                                   const struct mcplug_call_options *options,
                                   mcplug_done_fn *done, void *arg,
                                   struct mcplug_error *err)
{
    return mp_order_start(handle, method, NULL, params, options, done, arg, err);
}

mcplug_list *mcplug_handle_list(mcplug_handle *handle, enum mcplug_kind kind)
{
    return mp_handle_list(handle, kind);
}

mcplug_server *mcplug_handle_server(mcplug_handle *handle)
{
    return mp_service_ready(handle->service) ? handle->service->session : NULL;
}

const char *mcplug_handle_name(const mcplug_handle *handle)
{
    return handle->name;
}

int mcplug_restart(mcplug_handle *handle, struct mcplug_error *err)
{
    return mp_handle_restart(handle, err);
}

void mcplug_handle_status(mcplug_handle *handle, struct mcplug_status *out)
{
    mp_handle_status(handle, out);
}

int mcplug_set_queue(mcplug *host, const char *name, unsigned concurrent,
                     unsigned waiting)
{
    struct mp_queue *q = mp_registry_queue(&host->registry, name);
    if (!q)
        return MCPLUG_ENOMEM;
    mp_queue_set(q, concurrent, waiting);
    return MCPLUG_OK;
}
