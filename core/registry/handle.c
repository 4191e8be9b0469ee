#include "registry/registry.h"

#include "base/error.h"
#include "base/mem.h"
#include "registry/filter.h"

#include <stdlib.h>

/* ---- copies of what was given ---- */

static void free_texts(const char *const *texts)
{
    for (size_t i = 0; texts && texts[i]; i++)
        mp_free((char *)texts[i]);
    mp_free((void *)texts);
}

/* give; false: no memory */
static bool copy_texts(const char *const **out, const char *const *texts)
{
    size_t n = 0;

    *out = NULL;
    if (!texts)
        return true;
    while (texts[n])
        n++;
    const char **copy = mp_alloc((n + 1) * sizeof *copy);
    bool ok = copy != NULL;
    for (size_t i = 0; ok && i < n; i++)
        ok = (copy[i] = mp_strdup(texts[i]));
    *out = copy;
    return ok;
}

static bool copy_options(mcplug_handle *h, const struct mcplug_acquire_options *o)
{
    h->o = *o;
    h->o.server = NULL;
    h->o.identity = h->o.probe = h->o.probe_url = NULL; /* the service's */
    h->o.queue = mp_strdup(o->queue);
    const char *name =
        o->server && MCPLUG_KNOWS(o->server, struct mcplug_server_options, name)
            ? o->server->name
            : NULL;
    h->name = mp_strdup(name ? name : h->service->name);
    bool ok = h->name && (h->o.queue || !o->queue);
    ok = copy_texts(&h->o.tool_queues, o->tool_queues) && ok;
    ok = copy_texts(&h->o.tools_allowed, o->tools_allowed) && ok;
    ok = copy_texts(&h->o.tools_denied, o->tools_denied) && ok;
    if (o->server) {
        if (MCPLUG_KNOWS(o->server, struct mcplug_server_options, request_ms))
            h->request_ms = o->server->request_ms;
        if (MCPLUG_KNOWS(o->server, struct mcplug_server_options, tool_ms))
            h->tool_ms = o->server->tool_ms;
    }
    return ok;
}

/* ---- life ---- */

static void unlink_handle(mcplug_handle *h)
{
    if (!h->prev)
        return;
    *h->prev = h->next;
    if (h->next)
        h->next->prev = h->prev;
    h->prev = NULL;
    h->next = NULL;
    h->service->n_handles--;
}

void mp_handle_free(mcplug_handle *h)
{
    unlink_handle(h);
    h->service->n_alive -= !h->leaving;
    mp_waiter_leave(&h->waiter);
    mp_job_drop(h->service->registry->o.loop, &h->release_job);
    mcplug_list_unref(h->tools);
    mcplug_list_unref(h->tools_of);
    mp_free(h->name);
    mp_free((char *)h->o.queue);
    free_texts(h->o.tool_queues);
    free_texts(h->o.tools_allowed);
    free_texts(h->o.tools_denied);
    mp_free(h);
}

void mp_handle_gone(mcplug_handle *h)
{
    void (*released)(void *) = h->on_released;
    void *arg = h->released_arg;

    mp_handle_free(h);
    if (released)
        released(arg);
}

static void on_waited(struct mp_waiter *w, const struct mcplug_error *why)
{
    mcplug_handle *h = MP_OF(w, mcplug_handle, waiter);
    h->ready_due = false;
    h->ready(h->ready_arg, h, why);
}

int mp_handle_new(struct mp_registry *r, const mcplug_settings *settings,
                  const struct mcplug_acquire_options *options,
                  void (*ready)(void *, mcplug_handle *, const struct mcplug_error *),
                  void *ready_arg, mcplug_handle **out, struct mcplug_error *err)
{
    struct mcplug_acquire_options o = {0};
    int result = mp_take_options(&o, options, err);
    mcplug_handle *h = result == MCPLUG_OK ? mp_alloc(sizeof *h) : NULL;

    if (!h)
        return result != MCPLUG_OK ? result : mp_fail_nomem(err);
    result = mp_registry_find(r, settings, &o, &h->service, err);
    if (result != MCPLUG_OK) {
        mp_free(h);
        return result;
    }
    struct mp_service *s = h->service;
    s->n_alive++;
    if (!copy_options(h, &o)) {
        mp_handle_free(h);
        mp_service_maybe_free(s);
        return mp_fail_nomem(err);
    }
    h->told = s->change; /* what has been is no news */
    h->next = s->handles;
    h->prev = &s->handles;
    if (s->handles)
        s->handles->prev = &h->next;
    s->handles = h;
    s->n_handles++;
    if (ready) {
        h->ready = ready;
        h->ready_arg = ready_arg;
        h->ready_due = true;
        h->waiter.done = on_waited;
        mp_keeper_wait(&s->keeper, &h->waiter, 0);
    }
    *out = h;
    return MCPLUG_OK;
}

/* ---- release ---- */

/* Everything of it has ended; what is left is to say so, now or with the server. */
void mp_handle_settle(mcplug_handle *h)
{
    struct mp_service *s = h->service;

    if (!h->gone || h->n_orders)
        return;
    if (s->retired && s->keeper.state != MP_KEEPER_ENDED && !s->n_handles) {
        h->next = s->leaving;
        s->leaving = h;
        h->leaving = true;
        s->n_alive--;
    } else {
        mp_handle_gone(h);
    }
    mp_service_maybe_free(s);
}

static void finish_release(struct mp_job *job)
{
    mcplug_handle *h = MP_OF(job, mcplug_handle, release_job);
    static const struct mcplug_error why = {sizeof why, MCPLUG_ECANCELED, 0, 0,
                                            "the handle was released"};
    if (h->ready_due) {
        h->ready_due = false;
        h->ready(h->ready_arg, h, &why);
    }
    h->gone = true;
    mp_handle_settle(h);
}

void mp_handle_release(mcplug_handle *h, void (*released)(void *arg), void *arg)
{
    struct mp_service *s = h->service;

    if (h->released)
        return;
    h->released = true;
    h->on_released = released;
    h->released_arg = arg;
    mp_waiter_leave(&h->waiter);
    unlink_handle(h);
    mp_orders_cancel(h);
    if (!s->n_handles)
        mp_service_unused(s);
    mp_job_defer(s->registry->o.loop, &h->release_job, finish_release);
}

/* ---- what it sees ---- */

bool mp_handle_allows(const mcplug_handle *h, const char *tool)
{
    return mp_filter_allows(h->o.tools_allowed, h->o.tools_denied, tool);
}

static bool keep_tool(void *arg, const char *name)
{
    return mp_handle_allows(arg, name);
}

mcplug_list *mp_handle_list(mcplug_handle *h, enum mcplug_kind kind)
{
    struct mp_service *s = h->service;
    int i = kind == MCPLUG_TOOLS ? 0 : kind == MCPLUG_PROMPTS ? 1 : 2;

    if (kind != MCPLUG_TOOLS && kind != MCPLUG_PROMPTS && kind != MCPLUG_RESOURCES)
        return NULL;
    mp_service_refresh_if_stale(s, i);
    mcplug_list *list = s->lists[i].list;
    if (!list || kind != MCPLUG_TOOLS || (!h->o.tools_allowed && !h->o.tools_denied))
        return list;
    if (h->tools_of != list) {
        mcplug_list *left = mp_list_subset(list, keep_tool, h);
        if (!left)
            return NULL; /* rather none than more than allowed */
        mcplug_list_unref(h->tools);
        mcplug_list_unref(h->tools_of);
        h->tools = left;
        h->tools_of = mcplug_list_ref(list);
        mp_log(s->registry->o.log, MCPLUG_LOG_VERBOSE, s->source,
               "%zu of %zu tools are left by toolsAllowed and toolsDenied",
               mcplug_list_count(left), mcplug_list_count(list));
    }
    return h->tools;
}

void mp_handle_status(const mcplug_handle *h, struct mcplug_status *out)
{
    struct mp_service *s = h->service;
    const struct mp_keeper *k = &s->keeper;
    uint64_t now = mp_loop_now(s->registry->o.loop);
    const char *pid = s->session ? mp_session_fact(s->session, "pid") : NULL;
    struct mcplug_status all = {
        .struct_size = out->struct_size,
        .state = (enum mcplug_state)k->state,
        .name = h->name,
        .transport = s->transport ? s->transport : "",
        .revision = s->revision ? s->revision : "",
        .pid = pid && mp_service_ready(s) ? strtoll(pid, NULL, 10) : 0,
        .handles = s->n_handles,
        .tools = s->lists[0].list ? (uint32_t)mcplug_list_count(s->lists[0].list) : 0,
        .under_way = s->n_sent,
        .waiting = s->n_waiting,
        .starts = k->starts_made,
        .restarts = s->restarts,
        .up_ms = mp_service_ready(s) ? now - k->ready_at : 0,
        .next_ms = k->state == MP_KEEPER_WAITING && k->due > now ? k->due - now : 0,
        .queued_ms = s->queued_ms,
        .error = s->error,
        .calls = {.struct_size = sizeof all.calls,
                  .under_way = s->n_sent + s->n_waiting,
                  .issued = s->issued,
                  .ok = s->ended[MP_OK],
                  .tool_error = s->ended[MP_TOOL_ERROR],
                  .peer_error = s->ended[MP_PEER_ERROR],
                  .transport_error = s->ended[MP_TRANSPORT_ERROR],
                  .timed_out = s->ended[MP_TIMED_OUT],
                  .cancelled = s->ended[MP_CANCELLED]},
    };
    memcpy(out, &all, out->struct_size < sizeof all ? out->struct_size : sizeof all);
}

int mp_handle_restart(mcplug_handle *h, struct mcplug_error *err)
{
    struct mp_service *s = h->service;
    struct mcplug_error why = {sizeof why, MCPLUG_ECLOSED, 0, 0,
                               "restarted as asked for"};

    enum mp_keeper_state state = s->keeper.state;
    if (state == MP_KEEPER_STOPPING) /* what counts is what comes of it */
        state = s->keeper.after;
    switch (state) {
    case MP_KEEPER_ENDED:
        return mp_fail(err, MCPLUG_ECLOSED, "server \"%.64s\" has ended", s->name);
    case MP_KEEPER_QUEUED:
    case MP_KEEPER_STARTING:
        return mp_fail(err, MCPLUG_ERESTARTING,
                       "mcp_restart_in_progress: server \"%.64s\" is %s already", s->name,
                       mp_keeper_state_name(s->keeper.state));
    default:
        mp_keeper_kick(&s->keeper, &why);
        return MCPLUG_OK;
    }
}
