#include "api/host.h"
#include "api/options.h"

#include "base/error.h"

#include <mcplug/admin.h>

const char *mcplug_state_name(enum mcplug_state state)
{
    return (unsigned)state <= MCPLUG_STATE_ENDED
               ? mp_keeper_state_name((enum mp_keeper_state)state)
               : "unknown";
}

int mcplug_open(mcplug *host, const mcplug_settings *settings,
                const struct mcplug_server_options *options, mcplug_ready_fn *ready,
                void *ready_arg, mcplug_server **out, struct mcplug_error *err)
{
    struct mcplug_error own = MCPLUG_ERROR_INIT;
    struct mcplug_server_options o = {0};
    struct mp_supervision kept = {0};
    struct mp_target *target = NULL;

    err = err ? err : &own;
    if (host->freeing)
        return mp_fail(err, MCPLUG_ECLOSED, "the host is being freed");
    if (!settings || !out)
        return mp_fail(err, MCPLUG_EINVAL, "`settings` and `out` must not be NULL");
    int r = mp_take_options(&o, options, err);
    if (r == MCPLUG_OK)
        r = mp_server_options_fill(&o, mp_bytes(NULL, 0), &kept, err);
    if (r == MCPLUG_OK)
        r = mp_target_of_settings(settings, o.policy, &target, err);
    if (r == MCPLUG_OK)
        r = mp_server_open(&host->registry, target, &o, ready, ready_arg, out, err);
    mp_target_unref(target);
    mp_supervision_clear(&kept);
    return r;
}

void mcplug_server_end(mcplug_server *server, void (*closed)(void *arg), void *arg)
{
    if (server && server->service->n_servers == 1)
        mp_keeper_set_idle(&server->service->keeper, 0);
    mcplug_close(server, closed, arg);
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

/* ---- what is known of it ---- */

const char *mcplug_server_name(const mcplug_server *server)
{
    return server->name;
}

const char *mcplug_server_revision(const mcplug_server *server)
{
    return server->service->revision;
}

const char *mcplug_server_info(const mcplug_server *server)
{
    const char *info = server->service->id.info;
    return info ? info : "{}";
}

const char *mcplug_server_capabilities(const mcplug_server *server)
{
    const char *capabilities = server->service->id.capabilities;
    return capabilities ? capabilities : "{}";
}

const char *mcplug_server_instructions(const mcplug_server *server)
{
    const char *instructions = server->service->id.instructions;
    return instructions ? instructions : "";
}

const char *mcplug_server_fact(const mcplug_server *server, const char *name)
{
    return mp_identity_fact(&server->service->id, name);
}

/* ---- requests ---- */

mcplug_call *mcplug_call_tool(mcplug_server *server, const char *tool,
                              const char *arguments,
                              const struct mcplug_call_options *options,
                              mcplug_done_fn *done, void *arg, struct mcplug_error *err)
{
    if (!tool) {
        mp_fail(err, MCPLUG_EINVAL, "`tool` must not be NULL");
        return NULL;
    }
    return mp_pending_call_start(server, "tools/call", tool, arguments, options, done,
                                 arg, err);
}

mcplug_call *mcplug_request(mcplug_server *server, const char *method, const char *params,
                            const struct mcplug_call_options *options,
                            mcplug_done_fn *done, void *arg, struct mcplug_error *err)
{
    if (!method) {
        mp_fail(err, MCPLUG_EINVAL, "`method` must not be NULL");
        return NULL;
    }
    return mp_pending_call_start(server, method, NULL, params, options, done, arg, err);
}

mcplug_call *mcplug_ping(mcplug_server *server, const struct mcplug_call_options *options,
                         mcplug_done_fn *done, void *arg, struct mcplug_error *err)
{
    return mp_pending_call_start(server, NULL, NULL, NULL, options, done, arg, err);
}

void mcplug_cancel(mcplug_call *call)
{
    if (call && call->cancel)
        call->cancel(call);
}

mcplug_server *mcplug_input_server(mcplug_input *input)
{
    return mp_input_owner(input);
}

mcplug_call *mcplug_input_call(mcplug_input *input)
{
    struct mp_request *request = mp_input_request(input);
    mcplug_call *call = request ? &request->base : NULL;
    return call && call->shown ? call->shown : call;
}
