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

    if (mp_host_check(host, err) != MCPLUG_OK)
        return MCPLUG_EINVAL;
    err = err ? err : &own;
    if (host->freeing)
        return mp_fail(err, MCPLUG_ECLOSED, "the host is being freed");
    if (!settings || !out)
        return mp_fail_null(err, "`settings` and `out`");
    int r = mp_take_options(&o, options, err);
    if (r == MCPLUG_OK)
        r = mp_server_options_fill(&o, mp_bytes(NULL, 0), &kept, err);
    if (r == MCPLUG_OK)
        r = mp_target_of_settings(settings, o.policy, &target, err);
    o.struct_size = sizeof o;
    if (r == MCPLUG_OK) {
        mp_pull_fill_server(&host->pull, &o);
        r = mp_server_open(&host->registry, target, &o, ready, ready_arg, out, err);
    }
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
    if (mp_host_check(host, NULL) != MCPLUG_OK || !name)
        return MCPLUG_EINVAL;
    struct mp_queue *q = mp_registry_queue(&host->registry, name);
    if (!q)
        return MCPLUG_ENOMEM;
    mp_queue_set(q, concurrent, waiting);
    return MCPLUG_OK;
}

/* ---- what is known of it ---- */

const char *mcplug_server_name(const mcplug_server *server)
{
    return server ? server->name : NULL;
}

const char *mcplug_server_revision(const mcplug_server *server)
{
    if (mp_server_here(server, NULL) != MCPLUG_OK)
        return NULL;
    return server->service->revision;
}

const char *mcplug_server_info(const mcplug_server *server)
{
    if (mp_server_here(server, NULL) != MCPLUG_OK)
        return NULL;
    const char *info = server->service->id.info;
    return info ? info : "{}";
}

const char *mcplug_server_capabilities(const mcplug_server *server)
{
    if (mp_server_here(server, NULL) != MCPLUG_OK)
        return NULL;
    const char *capabilities = server->service->id.capabilities;
    return capabilities ? capabilities : "{}";
}

const char *mcplug_server_instructions(const mcplug_server *server)
{
    if (mp_server_here(server, NULL) != MCPLUG_OK)
        return NULL;
    const char *instructions = server->service->id.instructions;
    return instructions ? instructions : "";
}

const char *mcplug_server_fact(const mcplug_server *server, const char *name)
{
    if (mp_server_here(server, NULL) != MCPLUG_OK)
        return NULL;
    return name ? mp_identity_fact(&server->service->id, name) : NULL;
}

/* ---- requests ---- */

/* What a call without `done` is made with: the queue of events gets its end. */
struct pulled_call {
    struct mp_pulled *place;
    struct mcplug_call_options o;
};

static int begin_pulled(struct pulled_call *p, const mcplug_server *server,
                        const struct mcplug_call_options *options, void *arg,
                        struct mcplug_error *err)
{
    struct mp_pull *pull = &mp_host_of(server->service->registry)->pull;

    p->o = (struct mcplug_call_options){0};
    if (!mp_pull_wants(pull, MCPLUG_EVENT_DONE))
        return mp_fail_null(err, "`done`");
    if (mp_take_options(&p->o, options, err) != MCPLUG_OK)
        return MCPLUG_EINVAL;
    p->place = mp_pull_reserve(pull, server->name, arg, err);
    if (!p->place)
        return MCPLUG_EOVERLOADED;
    p->o.struct_size = sizeof p->o;
    if (!p->o.progress && !p->o.progress_json && !p->o.progress_arg && !p->o.free_arg &&
        mp_pull_wants(pull, MCPLUG_EVENT_PROGRESS)) {
        p->o.progress = mp_pull_progress;
        p->o.progress_arg = p->place;
    }
    return MCPLUG_OK;
}

static mcplug_call *start(mcplug_server *server, const char *method, const char *tool,
                          const char *params, const struct mcplug_call_options *options,
                          mcplug_done_fn *done, void *arg, struct mcplug_error *err)
{
    struct pulled_call p;

    if (done)
        return mp_pending_call_start(server, method, tool, params, options, done, arg,
                                     err);
    if (begin_pulled(&p, server, options, arg, err) != MCPLUG_OK)
        return NULL;
    mcplug_call *call = mp_pending_call_start(server, method, tool, params, &p.o,
                                              mp_pull_done, p.place, err);
    if (!call)
        mp_pull_cancel(p.place);
    return call;
}

mcplug_call *mcplug_call_tool(mcplug_server *server, const char *tool,
                              const char *arguments,
                              const struct mcplug_call_options *options,
                              mcplug_done_fn *done, void *arg, struct mcplug_error *err)
{
    if (mp_server_here(server, err) != MCPLUG_OK)
        return NULL;
    if (!tool) {
        mp_fail_null(err, "`tool`");
        return NULL;
    }
    return start(server, "tools/call", tool, arguments, options, done, arg, err);
}

mcplug_call *mcplug_request(mcplug_server *server, const char *method, const char *params,
                            const struct mcplug_call_options *options,
                            mcplug_done_fn *done, void *arg, struct mcplug_error *err)
{
    if (mp_server_here(server, err) != MCPLUG_OK)
        return NULL;
    if (!method) {
        mp_fail_null(err, "`method`");
        return NULL;
    }
    return start(server, method, NULL, params, options, done, arg, err);
}

mcplug_call *mcplug_ping(mcplug_server *server, const struct mcplug_call_options *options,
                         mcplug_done_fn *done, void *arg, struct mcplug_error *err)
{
    if (mp_server_here(server, err) != MCPLUG_OK)
        return NULL;
    return start(server, NULL, NULL, NULL, options, done, arg, err);
}

mcplug_call *mcplug_get_list(mcplug_server *server, enum mcplug_kind kind,
                             const struct mcplug_call_options *options,
                             mcplug_list_fn *done, void *arg, struct mcplug_error *err)
{
    struct pulled_call p;

    if (mp_server_here(server, err) != MCPLUG_OK)
        return NULL;
    if (done)
        return mp_server_get_list(server, kind, options, done, arg, err);
    if (begin_pulled(&p, server, options, arg, err) != MCPLUG_OK)
        return NULL;
    mcplug_call *call =
        mp_server_get_list(server, kind, &p.o, mp_pull_list_done, p.place, err);
    if (!call)
        mp_pull_cancel(p.place);
    return call;
}

void mcplug_cancel(mcplug_call *call)
{
    if (call && call->cancel && mp_loop_check(call->loop, NULL) == MCPLUG_OK)
        call->cancel(call);
}

mcplug_server *mcplug_input_server(mcplug_input *input)
{
    if (!input || mp_input_check(input, __func__) != MCPLUG_OK)
        return NULL;
    return mp_input_owner(input);
}

mcplug_call *mcplug_input_call(mcplug_input *input)
{
    if (!input || mp_input_check(input, __func__) != MCPLUG_OK)
        return NULL;
    struct mp_request *request = mp_input_request(input);
    mcplug_call *call = request ? &request->base : NULL;
    return call && call->shown ? call->shown : call;
}
