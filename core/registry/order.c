#include "registry/registry.h"

#include "base/error.h"
#include "base/mem.h"

#include <stdio.h>

enum { SENDS_MAX = 8 }; /* of one call, none of which was written */

enum stage {
    AT_SERVER, /* waits until it is up */
    IN_QUEUE,  /* waits for its turn */
    SENT,
    OVER
};

/* One call of a user, from the moment it is made until it ends, once. */
struct mp_order {
    struct mcplug_call base;
    mcplug_handle *handle;
    struct mp_service *service;
    struct mp_order *next, **prev;
    enum stage stage;
    struct mp_waiter waiter;
    struct mp_ticket ticket;
    struct mp_queue *queue;   /* NULL: none */
    struct mp_timer deadline; /* while it is in a queue */
    struct mp_job job;        /* ends it outside of the call that decided so */
    struct mp_request *call;
    unsigned sends;
    bool cancelled;
    uint64_t began_at, timeout_ms;
    struct mcplug_error failure;

    mcplug_done_fn *done;
    void *arg;
    struct mcplug_call_options o;
    const char *method, *tool, *params; /* behind this struct */
};

/* ---- the end ---- */

static enum mp_outcome outcome_of(const struct mp_order *o, const mcplug_result *result,
                                  const struct mcplug_error *why)
{
    if (!why)
        return o->tool && result && mcplug_result_is_error(result) ? MP_TOOL_ERROR
                                                                   : MP_OK;
    switch (why->code) {
    case MCPLUG_EPEER:
        return MP_PEER_ERROR;
    case MCPLUG_ETIMEDOUT:
    case MCPLUG_ERESTARTING:
        return MP_TIMED_OUT;
    case MCPLUG_ECANCELED:
        return MP_CANCELLED;
    default:
        return MP_TRANSPORT_ERROR;
    }
}

static void set_stage(struct mp_order *o, enum stage stage)
{
    struct mp_service *s = o->service;

    s->n_sent -= o->stage == SENT;
    s->n_waiting -= o->stage < SENT;
    s->n_at_server -= o->stage == AT_SERVER;
    o->stage = stage;
    s->n_sent += stage == SENT;
    s->n_waiting += stage < SENT;
    s->n_at_server += stage == AT_SERVER;
}

static void order_free(struct mp_order *o)
{
    struct mp_loop *loop = o->service->registry->o.loop;

    if (o->prev) {
        *o->prev = o->next;
        *(o->next ? &o->next->prev : &o->service->last_order) = o->prev;
    }
    mp_waiter_leave(&o->waiter);
    mp_ticket_leave(&o->ticket);
    mp_timer_stop(loop, &o->deadline);
    mp_job_drop(loop, &o->job);
    mp_free(o);
}

/* The one place where an order ends. What it held is free before anybody hears of it. */
static void finish(struct mp_order *o, mcplug_result *result,
                   const struct mcplug_error *why)
{
    struct mp_service *s = o->service;
    mcplug_handle *h = o->handle;
    enum mp_outcome outcome = outcome_of(o, result, why);
    bool was_sent = o->stage == SENT;

    set_stage(o, OVER);
    s->ended[outcome]++;
    mp_waiter_leave(&o->waiter);
    mp_ticket_leave(&o->ticket);
    if (!why || why->code == MCPLUG_EPEER)
        mp_keeper_answered(&s->keeper);
    mp_keeper_release(&s->keeper);
    /* A server that nobody else waits for is asked whether it still is with us; one that
     * is a single user's and does not say so at once, is started anew. */
    if (was_sent && !s->n_sent && mp_service_ready(s) &&
        (outcome == MP_CANCELLED || outcome == MP_TIMED_OUT))
        mp_health_suspect(&s->health, s->dedicated && s->transport &&
                                              strcmp(s->transport, "stdio") == 0
                                          ? 1
                                          : MP_HEALTH_MISSES);
    o->done(o->arg, &o->base, result, why);
    order_free(o);
    h->n_orders--;
    mp_handle_settle(h);
    if (!s->orders)
        mp_service_maybe_free(s);
}

static void finish_later(struct mp_job *job)
{
    struct mp_order *o = MP_OF(job, struct mp_order, job);
    finish(o, NULL, &o->failure);
}

static void fail_later(struct mp_order *o)
{
    mp_job_defer(o->service->registry->o.loop, &o->job, finish_later);
}

static uint64_t spent_ms(const struct mp_order *o)
{
    uint64_t now = mp_loop_now(o->service->registry->o.loop);
    return now > o->began_at ? now - o->began_at : 0;
}

/* 0: none */
static uint64_t left_ms(const struct mp_order *o)
{
    uint64_t spent = spent_ms(o);
    return o->timeout_ms > spent ? o->timeout_ms - spent : 0;
}

/* ---- on its way ---- */

static int go_on(struct mp_order *o, struct mcplug_error *err);

/* For steps that nobody waits for. */
static void step(struct mp_order *o)
{
    if (go_on(o, &o->failure) != MCPLUG_OK)
        finish(o, NULL, &o->failure);
}

static void on_up(struct mp_waiter *w, const struct mcplug_error *why)
{
    struct mp_order *o = MP_OF(w, struct mp_order, waiter);
    if (why)
        finish(o, NULL, why);
    else
        step(o);
}

static void on_turn(struct mp_ticket *ticket)
{
    step(MP_OF(ticket, struct mp_order, ticket));
}

static void on_late(struct mp_timer *timer)
{
    struct mp_order *o = MP_OF(timer, struct mp_order, deadline);
    char after[32];

    mp_say_timeout(o->timeout_ms, after, sizeof after);
    mp_fail(&o->failure, MCPLUG_ETIMEDOUT,
            "%s%.200s%s timed out after %s, waiting in queue \"%.64s\" (%u run, %u wait)",
            o->tool ? "MCP tool call '" : "", o->tool ? o->tool : o->method,
            o->tool ? "'" : "", after, mp_queue_name(o->queue),
            mp_queue_running(o->queue), mp_queue_waiting(o->queue));
    finish(o, NULL, &o->failure);
}

static void wait_for_server(struct mp_order *o)
{
    uint64_t left = left_ms(o);

    mp_ticket_leave(&o->ticket); /* others can use the slot meanwhile */
    set_stage(o, AT_SERVER);
    o->waiter.done = on_up;
    mp_keeper_wait(&o->service->keeper, &o->waiter, left ? left : 1);
}

static int wait_in_queue(struct mp_order *o, struct mcplug_error *err)
{
    struct mp_loop *loop = o->service->registry->o.loop;
    uint64_t left = left_ms(o);

    o->ticket.turn = on_turn;
    int r = mp_queue_join(o->queue, &o->ticket, o->service, o->handle, err);
    if (r != MCPLUG_OK || o->ticket.running)
        return r;
    set_stage(o, IN_QUEUE);
    if (mp_timer_start(loop, &o->deadline, left ? left : 1, on_late) == MCPLUG_OK)
        return MCPLUG_OK;
    mp_ticket_leave(&o->ticket);
    return mp_fail_nomem(err);
}

/* ---- sent ---- */

static void on_progress(void *arg, mcplug_call *call, double progress, double total,
                        const char *message)
{
    struct mp_order *o = arg;
    (void)call;
    o->o.progress(o->o.progress_arg, &o->base, progress, total, message);
}

/* The connection went before the request did: it had no effect, and can be made again. */
static bool can_be_sent_again(const struct mp_order *o, const struct mp_request *call,
                              const struct mcplug_error *why)
{
    bool lost = why->code != MCPLUG_EPEER && why->code != MCPLUG_ETIMEDOUT &&
                why->code != MCPLUG_EINVAL && why->code != MCPLUG_ENOMEM &&
                why->code != MCPLUG_ETOOBIG && why->code != MCPLUG_EPROTO &&
                why->code != MCPLUG_EOVERLOADED;
    return lost && !o->cancelled && !mp_request_was_written(call) &&
           !o->service->retired && o->sends < SENDS_MAX;
}

/* A call that ends because we stop the server did not end as its user asked for. */
static bool ends_with_server(const struct mp_order *o, const struct mcplug_error *why)
{
    return why->code == MCPLUG_ECANCELED && !o->cancelled &&
           o->service->keeper.state == MP_KEEPER_STOPPING && !o->service->retired;
}

static void on_done(void *arg, mcplug_call *base, mcplug_result *result,
                    const struct mcplug_error *why)
{
    struct mp_order *o = arg;
    struct mp_request *call = MP_OF(base, struct mp_request, base);
    struct mcplug_error told;

    o->call = NULL;
    if (why && can_be_sent_again(o, call, why)) {
        wait_for_server(o);
        return;
    }
    if (why && ends_with_server(o, why)) {
        told = (struct mcplug_error)MCPLUG_ERROR_INIT;
        mp_fail(&told, MCPLUG_ECLOSED,
                "the server was ended%s: %.300s (the request had been written)",
                o->service->keeper.after == MP_KEEPER_RESTING ? "" : " and started anew",
                o->service->keeper.cause.text);
        why = &told;
    }
    finish(o, result, why);
}

static int send_now(struct mp_order *o, struct mcplug_error *err)
{
    struct mp_service *s = o->service;
    struct mcplug_call_options options = o->o;

    options.struct_size = sizeof options;
    options.timeout_ms = o->timeout_ms;
    options.waited_ms = spent_ms(o);
    if (options.progress) {
        options.progress = on_progress;
        options.progress_arg = o;
    }
    o->sends++;
    o->call = mp_request_start(s->session, o->method, mp_text(o->params), o->tool,
                               &options, on_done, o, err);
    if (!o->call)
        return err->code;
    s->queued_ms += options.waited_ms;
    if (options.waited_ms >= 1000)
        mp_log(s->registry->o.log, MCPLUG_LOG_VERBOSE, s->source,
               "%s waited %llums before it was sent", o->tool ? o->tool : o->method,
               (unsigned long long)options.waited_ms);
    set_stage(o, SENT);
    return MCPLUG_OK;
}

/* The next thing on the way: the server, a turn in the queue, the wire. On failure it is
 * the caller's to end it. */
static int go_on(struct mp_order *o, struct mcplug_error *err)
{
    mp_timer_stop(o->service->registry->o.loop, &o->deadline);
    if (!mp_service_ready(o->service)) {
        wait_for_server(o);
        return MCPLUG_OK;
    }
    if (o->queue && !o->ticket.running) {
        int r = wait_in_queue(o, err);
        if (r != MCPLUG_OK || !o->ticket.running)
            return r;
    }
    int r = send_now(o, err);
    if (r == MCPLUG_ECLOSED && o->sends < SENDS_MAX) { /* it is about to be lost */
        wait_for_server(o);
        return MCPLUG_OK;
    }
    return r;
}

/* ---- cancel ---- */

static void cancel(mcplug_call *call)
{
    struct mp_order *o = MP_OF(call, struct mp_order, base);

    if (o->stage == OVER || o->cancelled)
        return;
    o->cancelled = true;
    if (o->call) {
        mp_request_cancel(o->call);
        return;
    }
    mp_waiter_leave(&o->waiter);
    mp_ticket_leave(&o->ticket);
    mp_timer_stop(o->service->registry->o.loop, &o->deadline);
    mp_fail(&o->failure, MCPLUG_ECANCELED, "cancelled");
    fail_later(o);
}

void mp_orders_cancel(mcplug_handle *h)
{
    for (struct mp_order *o = h->service->orders; o; o = o->next)
        if (o->handle == h)
            cancel(&o->base);
}

/* ---- the beginning ---- */

static const char *put_text(char **at, const char *text)
{
    if (!text)
        return NULL;
    size_t n = strlen(text) + 1;
    char *put = memcpy(*at, text, n);
    *at += n;
    return put;
}

static size_t room_for(const char *text)
{
    return text ? strlen(text) + 1 : 0;
}

/* One block for the order and its texts. */
static struct mp_order *order_new(mcplug_handle *h, const char *method, const char *tool,
                                  const char *params,
                                  const struct mcplug_call_options *given,
                                  struct mcplug_error *err)
{
    struct mcplug_call_options o = {0};

    if (mp_take_options(&o, given, err) != MCPLUG_OK)
        return NULL;
    struct mp_order *order =
        mp_alloc_raw(sizeof *order + room_for(method) + room_for(tool) +
                     room_for(params) + room_for(o.meta) + room_for(o.log_level));
    if (!order) {
        mp_fail_nomem(err);
        return NULL;
    }
    char *at = (char *)(order + 1);
    memset(order, 0, sizeof *order);
    order->base.cancel = cancel;
    order->handle = h;
    order->service = h->service;
    order->failure = (struct mcplug_error)MCPLUG_ERROR_INIT;
    order->o = o;
    order->method = put_text(&at, method);
    order->tool = put_text(&at, tool);
    order->params = put_text(&at, params);
    order->o.meta = put_text(&at, o.meta);
    order->o.log_level = put_text(&at, o.log_level);
    order->stage = OVER;
    return order;
}

static uint64_t time_for(const mcplug_handle *h, const struct mp_order *o)
{
    const struct mp_registry_options *r = &h->service->registry->o;

    if (o->o.timeout_ms)
        return o->o.timeout_ms;
    if (o->tool)
        return h->tool_ms ? h->tool_ms : r->tool_ms;
    return h->request_ms ? h->request_ms : r->request_ms;
}

/* The queue of that tool, or of the server. MCPLUG_ENOMEM */
static int find_queue(struct mp_order *o, struct mcplug_error *err)
{
    const struct mcplug_acquire_options *ho = &o->handle->o;
    const char *name = ho->queue;

    if (!o->tool) /* lists and the like are not what queues are for */
        return MCPLUG_OK;
    for (size_t i = 0; ho->tool_queues && ho->tool_queues[i]; i += 2) {
        if (!ho->tool_queues[i + 1])
            break;
        if (strcmp(ho->tool_queues[i], o->tool) == 0)
            name = ho->tool_queues[i + 1];
    }
    if (!name || !*name)
        return MCPLUG_OK;
    o->queue = mp_registry_queue(o->service->registry, name);
    return o->queue ? MCPLUG_OK : mp_fail_nomem(err);
}

static int check_handle(const mcplug_handle *h, const char *method, const char *tool,
                        struct mcplug_error *err)
{
    const struct mp_service *s = h->service;

    if (!tool && strcmp(method, "tools/call") == 0) /* filters and queues go by it */
        return mp_fail(err, MCPLUG_EINVAL,
                       "tools/call wants the name of a tool: see mcplug_handle_call()");
    if (h->released || s->retired)
        return mp_fail(err, MCPLUG_ECLOSED, "server \"%.64s\" has ended", s->name);
    if (tool && !mp_handle_allows(h, tool))
        return mp_fail(err, MCPLUG_ECONFIG,
                       "tool '%.200s' of server \"%.64s\" is not allowed: toolsAllowed, "
                       "toolsDenied",
                       tool, s->name);
    if (s->n_at_server >= MP_ORDERS_WAITING)
        return mp_fail(err, MCPLUG_EOVERLOADED,
                       "server \"%.64s\": overloaded, %u calls wait until it is up "
                       "(limit %u)",
                       s->name, s->n_at_server, MP_ORDERS_WAITING);
    return MCPLUG_OK;
}

/* What may have to wait is looked at before. */
static int check_texts(const struct mp_order *o, struct mcplug_error *err)
{
    mp_view params = mp_text(o->params), meta = mp_text(o->o.meta);
    int r = MCPLUG_OK;

    if (params.len)
        r = mp_frame_object(&params, o->tool ? "arguments" : "params", err);
    if (r == MCPLUG_OK && meta.len)
        r = mp_frame_object(&meta, "_meta", err);
    return r;
}

mcplug_call *mp_order_start(mcplug_handle *h, const char *method, const char *tool,
                            const char *params, const struct mcplug_call_options *options,
                            mcplug_done_fn *done, void *arg, struct mcplug_error *err)
{
    struct mcplug_error own = MCPLUG_ERROR_INIT;
    struct mp_service *s = h->service;

    if (!err)
        err = &own;
    if (check_handle(h, method, tool, err) != MCPLUG_OK ||
        mp_request_check(done != NULL, err) != MCPLUG_OK)
        return NULL;
    struct mp_order *o = order_new(h, method, tool, params, options, err);
    if (!o)
        return NULL;
    o->done = done;
    o->arg = arg;
    o->timeout_ms = time_for(h, o);
    mp_loop_tick(s->registry->o.loop);
    o->began_at = mp_loop_now(s->registry->o.loop);
    o->began_at -= o->o.waited_ms < o->began_at ? o->o.waited_ms : o->began_at;
    mp_keeper_use(&s->keeper);
    int r = find_queue(o, err);
    if (r == MCPLUG_OK &&
        (o->queue || !mp_service_ready(s))) /* else it is sent at once */
        r = check_texts(o, err);
    if (r == MCPLUG_OK)
        r = go_on(o, err);
    if (r != MCPLUG_OK) {
        set_stage(o, OVER);
        order_free(o);
        mp_keeper_release(&s->keeper);
        return NULL;
    }
    o->prev = s->last_order;
    *s->last_order = o;
    s->last_order = &o->next;
    h->n_orders++;
    s->issued++;
    return &o->base;
}
