#include "registry/registry.h"

#include "base/error.h"
#include "base/links.h"
#include "base/mem.h"
#include "base/text.h"
#include "registry/filter.h"

#include <stdio.h>

enum { SENDS_MAX = 8 }; /* of one call, none of which was written */

enum stage {
    AT_SERVER, /* waits until it is up */
    IN_QUEUE,  /* waits for its turn */
    SENT,
    OVER
};

/* One call of a user, from the moment it is made until it ends, once. Its texts are
 * behind it. */
struct mp_pending_call {
    struct mp_request request;
    mcplug_server *server;
    struct mp_service *service;
    struct mp_pending_call *next, **prev;
    enum stage stage;
    struct mp_waiter waiter;
    struct mp_ticket ticket;
    struct mp_queue *queue;   /* NULL: none */
    struct mp_timer deadline; /* while it is in a queue, or too late to be sent */
    struct mp_job job;        /* ends it outside of the call that decided so */
    unsigned sends;
    bool cancelled;
    char *uri;            /* of a subscription */
    mcplug_result *empty; /* what it ends with where the wire has no result for it */
    mcplug_done_fn *done; /* NULL: nobody is told, of one of these */
    void *arg;
};

static struct mp_pending_call *of_request(const struct mp_request *request)
{
    return MP_OF(request, struct mp_pending_call, request);
}

mcplug_server *mp_pending_call_server(const struct mp_request *request)
{
    return of_request(request)->server;
}

static struct mp_loop *loop_of(const struct mp_pending_call *c)
{
    return c->service->registry->o.loop;
}

/* ---- the end ---- */

void mp_pending_call_end(const mcplug_call *call, const mcplug_result *result,
                         const struct mcplug_error *why, struct mp_event_call *out)
{
    const struct mp_request *r = MP_OF(call, struct mp_request, base);
    const struct mp_pending_call *c = of_request(r);
    uint64_t now = mp_loop_now(loop_of(c));

    out->id = r->number;
    out->method = r->method;
    out->tool = r->tool;
    out->latency_ms = now > r->began_at ? now - r->began_at : 0;
    out->queued_ms = c->sends ? r->queued_ms : out->latency_ms;
    if (result || why)
        mp_request_result(r, result, why, out);
}

static bool is_wanted(const struct mp_pending_call *c, enum mp_event_kind kind)
{
    return mp_events_want(c->service->registry->o.log, kind, MCPLUG_LOG_VERBOSE);
}

/* `refused`: at once. What made it knows from what it returned, and no ledger counts it.
 */
static void tell(const struct mp_pending_call *c, enum mp_event_kind kind, bool refused,
                 const mcplug_result *result, const struct mcplug_error *why)
{
    struct mp_event event = {.kind = kind,
                             .level = MCPLUG_LOG_VERBOSE,
                             .source = c->service->source,
                             .call.refused = refused};
    mp_pending_call_end(&c->request.base, result, why, &event.call);
    mp_events_tell(c->service->registry->o.log, &event);
}

static void set_stage(struct mp_pending_call *c, enum stage stage)
{
    struct mp_service *s = c->service;

    s->n_sent -= c->stage == SENT;
    s->n_waiting -= c->stage < SENT;
    s->n_at_server -= c->stage == AT_SERVER;
    c->stage = stage;
    s->n_sent += stage == SENT;
    s->n_waiting += stage < SENT;
    s->n_at_server += stage == AT_SERVER;
}

static void stop_waiting(struct mp_pending_call *c)
{
    mp_waiter_leave(&c->waiter);
    mp_ticket_leave(&c->ticket);
    mp_timer_stop(loop_of(c), &c->deadline);
}

/* It does not wait any more. Its block stays as long as somebody has a reference. */
static void call_free(struct mp_pending_call *c)
{
    if (c->prev)
        mp_links_remove(c->service->last_call, c, next, prev);
    mp_job_drop(loop_of(c), &c->job);
    mp_request_clear(&c->request);
    mp_message_unref(c->empty);
    mp_free(c->uri);
    mcplug_call_unref(&c->request.base);
}

/* A server that nobody else waits for is asked whether it lives; one that is a single
 * user's and does not say so at once, is started anew. */
static void doubt(struct mp_service *s)
{
    bool is_own_program = s->dedicated && mp_identity_fact(&s->id, "pid");

    if (!s->n_sent && mp_service_ready(s) && !s->keeper.once)
        mp_health_suspect(&s->health, is_own_program ? 1 : MP_HEALTH_MISSES);
}

static void finish(struct mp_pending_call *c, mcplug_result *result,
                   const struct mcplug_error *why);

/* Whatever it failed of: may its request be made again? */
static void fail(struct mp_pending_call *c, mcplug_result *result,
                 const struct mcplug_error *why)
{
    struct mcplug_error told;

    mp_error_copy(&told, why);
    told.flags = mp_request_flags(&c->request, why);
    finish(c, result, &told);
}

/* The one place where a call ends. What it held is free before anybody hears of it. */
static void finish(struct mp_pending_call *c, mcplug_result *result,
                   const struct mcplug_error *why)
{
    struct mp_service *s = c->service;
    mcplug_server *h = c->server;
    enum mp_outcome outcome = mp_request_outcome(&c->request, why);
    bool was_sent = c->stage == SENT;

    set_stage(c, OVER);
    c->request.base.cancel = NULL;
    s->ended[outcome]++;
    h->ended[outcome]++;
    stop_waiting(c);
    if (!why || why->code == MCPLUG_EPEER)
        mp_keeper_answered(&s->keeper);
    mp_keeper_release(&s->keeper);
    if (was_sent && (outcome == MP_CANCELLED || outcome == MP_TIMED_OUT))
        doubt(s);
    h->under_way--;
    if (c->request.uri && c->request.subscribes)
        mp_server_subscribed(h, c->request.uri, why);
    if (!result && !why)
        result = c->empty;
    if (is_wanted(c, MP_EVENT_ENDED))
        tell(c, MP_EVENT_ENDED, false, result, why);
    if (c->done)
        c->done(c->arg, &c->request.base, result, why);
    if (c->request.o.free_arg)
        c->request.o.free_arg(c->request.o.progress_arg);
    call_free(c);
    h->n_calls--; /* it had to stay until this was told */
    mp_server_settle(h);
    if (!s->calls)
        mp_service_maybe_free(s);
}

static void finish_cancelled(struct mp_job *job)
{
    static const struct mcplug_error why = {
        .struct_size = sizeof why, .code = MCPLUG_ECANCELED, .text = "cancelled"};
    fail(MP_OF(job, struct mp_pending_call, job), NULL, &why);
}

static void finish_well(struct mp_job *job)
{
    finish(MP_OF(job, struct mp_pending_call, job), NULL, NULL);
}

static uint64_t left_ms(const struct mp_pending_call *c)
{
    uint64_t now = mp_loop_now(loop_of(c));
    return c->request.deadline > now ? c->request.deadline - now : 1;
}

/* ---- on its way ---- */

static int go_on(struct mp_pending_call *c, struct mcplug_error *err);

/* For steps that nobody waits for. */
static void step(struct mp_pending_call *c)
{
    struct mcplug_error why;

    mp_error_init(&why);
    if (go_on(c, &why) != MCPLUG_OK)
        fail(c, NULL, &why);
}

static void on_up(struct mp_waiter *w, const struct mcplug_error *why)
{
    struct mp_pending_call *c = MP_OF(w, struct mp_pending_call, waiter);

    if (why)
        fail(c, NULL, why);
    else
        step(c);
}

static void on_turn(struct mp_ticket *ticket)
{
    step(MP_OF(ticket, struct mp_pending_call, ticket));
}

static void on_late(struct mp_timer *timer)
{
    struct mp_pending_call *c = MP_OF(timer, struct mp_pending_call, deadline);
    const struct mp_request *r = &c->request;
    struct mcplug_error why = MCPLUG_ERROR_INIT;
    char after[32], where[128] = "";

    mp_text_duration(after, sizeof after, r->timeout_ms, true);
    if (c->queue && !c->ticket.running)
        snprintf(where, sizeof where, ", waiting in queue \"%.64s\" (%u run, %u wait)",
                 c->queue->name, c->queue->running, c->queue->waiting);
    mp_fail(&why, MCPLUG_ETIMEDOUT, "%s%.200s%s timed out after %s%s",
            r->tool ? "MCP tool call '" : "", r->tool ? r->tool : r->method,
            r->tool ? "'" : "", after, where);
    fail(c, NULL, &why);
}

static void wait_for_server(struct mp_pending_call *c)
{
    mp_ticket_leave(&c->ticket); /* others can use the slot meanwhile */
    set_stage(c, AT_SERVER);
    c->waiter.done = on_up;
    mp_keeper_wait(&c->service->keeper, &c->waiter, left_ms(c));
}

/* Its time was over before it could be sent: that is an end like others, and no refusal
 * by the function that made it. */
static int end_soon(struct mp_pending_call *c, struct mcplug_error *err)
{
    set_stage(c, IN_QUEUE);
    if (mp_timer_start(loop_of(c), &c->deadline, 0, on_late) != MCPLUG_OK)
        return mp_fail_nomem(err);
    if (err) {
        err->code = MCPLUG_OK;
        err->text[0] = '\0';
    }
    return MCPLUG_OK;
}

/* ---- sent ---- */

/* The connection went before the request did: it had no effect, and can be made again. */
static bool can_be_sent_again(const struct mp_pending_call *c,
                              const struct mcplug_error *why)
{
    bool lost = why->code != MCPLUG_EPEER && why->code != MCPLUG_ETIMEDOUT &&
                why->code != MCPLUG_EINVAL && why->code != MCPLUG_ENOMEM &&
                why->code != MCPLUG_ETOOBIG && why->code != MCPLUG_EPROTO &&
                why->code != MCPLUG_EOVERLOADED;
    return lost && !c->cancelled && !mp_request_was_written(&c->request) &&
           !c->service->retired && !c->service->keeper.once && c->sends < SENDS_MAX;
}

static void on_done(void *arg, mcplug_call *base, mcplug_result *result,
                    const struct mcplug_error *why)
{
    struct mp_pending_call *c = arg;
    const struct mp_keeper *k = &c->service->keeper;
    struct mcplug_error told;
    (void)base;

    if (why && can_be_sent_again(c, why)) {
        wait_for_server(c);
        return;
    }
    /* one that ends because we stop the server did not end as its user asked for */
    if (why && why->code == MCPLUG_ECANCELED && !c->cancelled &&
        k->state == MP_KEEPER_STOPPING && !c->service->retired) {
        told = (struct mcplug_error)MCPLUG_ERROR_INIT;
        mp_fail(&told, MCPLUG_ECLOSED,
                "the server was ended%s: %.300s (the request had already been sent)",
                k->after == MP_KEEPER_RESTING || k->after == MP_KEEPER_ENDED
                    ? ""
                    : " and restarted",
                k->cause->text);
        why = &told;
    }
    if (why)
        fail(c, result, why);
    else
        finish(c, result, NULL);
}

/* The next thing on the way: the server, a turn in the queue, the wire. On failure it is
 * the caller's to end it. */
static int go_on(struct mp_pending_call *c, struct mcplug_error *err)
{
    mp_timer_stop(loop_of(c), &c->deadline);
    if (!mp_service_ready(c->service)) {
        wait_for_server(c);
        return MCPLUG_OK;
    }
    if (c->queue && !c->ticket.running) {
        c->ticket.turn = on_turn;
        int r = mp_queue_join(c->queue, &c->ticket, c->service, c->server, err);
        if (r != MCPLUG_OK)
            return r;
    }
    if (c->queue && !c->ticket.running) {
        set_stage(c, IN_QUEUE);
        if (mp_timer_start(loop_of(c), &c->deadline, left_ms(c), on_late) == MCPLUG_OK)
            return MCPLUG_OK;
        mp_ticket_leave(&c->ticket);
        return mp_fail_nomem(err);
    }
    c->sends++;
    int r = mp_request_begin(&c->request, c->service->session, err);
    if (r == MCPLUG_OK) {
        c->service->queued_ms += c->request.queued_ms;
        set_stage(c, SENT);
    } else if (r == MCPLUG_ECLOSED && c->sends < SENDS_MAX) { /* it is about to be lost */
        wait_for_server(c);
        r = MCPLUG_OK;
    }
    return r;
}

/* ---- cancel ---- */

static void cancel(mcplug_call *call)
{
    struct mp_pending_call *c = of_request(MP_OF(call, struct mp_request, base));

    if (c->stage == OVER || c->cancelled)
        return;
    c->cancelled = true;
    if (c->stage == SENT) {
        mp_request_cancel(&c->request);
        return;
    }
    stop_waiting(c);
    mp_job_drop(loop_of(c), &c->job);
    mp_job_defer(loop_of(c), &c->job, finish_cancelled);
}

void mp_pending_calls_cancel(mcplug_server *h)
{
    if (!h->n_calls)
        return;
    for (struct mp_pending_call *c = h->service->calls; c; c = c->next)
        if (c->server == h)
            cancel(&c->request.base);
}

void mp_pending_calls_unsubscribe(mcplug_server *h, const char *uri)
{
    for (struct mp_pending_call *c = h->service->calls; c; c = c->next) {
        struct mp_request *r = &c->request;
        if (c->server != h || !r->uri || !r->subscribes ||
            (uri && strcmp(r->uri, uri) != 0))
            continue;
        r->uri = NULL;
        cancel(&r->base);
    }
}

bool mp_pending_call_subscribes(const struct mp_service *s, const char *uri)
{
    for (const struct mp_pending_call *c = s->calls; c; c = c->next)
        if (c->request.uri && c->request.subscribes && strcmp(c->request.uri, uri) == 0)
            return true;
    return false;
}

/* ---- the beginning ---- */

/* The queue of that tool, or of the server. MCPLUG_ENOMEM */
static int find_queue(struct mp_pending_call *c, struct mcplug_error *err)
{
    const struct mcplug_server_options *o = &c->server->o;
    const char *name = o->queue, *tool = c->request.tool;

    if (!tool) /* lists and the like are not what queues are for */
        return MCPLUG_OK;
    for (size_t i = 0; o->tool_queues && o->tool_queues[i]; i += 2) {
        if (!o->tool_queues[i + 1])
            break;
        if (strcmp(o->tool_queues[i], tool) == 0)
            name = o->tool_queues[i + 1];
    }
    if (!name || !*name)
        return MCPLUG_OK;
    c->queue = mp_registry_queue(c->service->registry, name);
    return c->queue ? MCPLUG_OK : mp_fail_nomem(err);
}

/* The one place where filters are enforced for calls; mp_server_filter() is for lists. */
static int check(const mcplug_server *h, const char *method, const char *tool,
                 struct mcplug_error *err)
{
    const struct mp_service *s = h->service;

    if (!tool && method && strcmp(method, "tools/call") == 0)
        return mp_fail(err, MCPLUG_EINVAL, "tools/call is made with mcplug_call_tool()");
    if (method && strcmp(method, "tools/list") == 0)
        return mp_fail(err, MCPLUG_EINVAL, "tools/list is made with mcplug_get_list()");
    int r = mp_server_check(h, err);
    if (r != MCPLUG_OK)
        return r;
    if (tool && !mp_filter_allows(h->o.tools_allowed, h->o.tools_denied, tool))
        return mp_fail(err, MCPLUG_ECONFIG,
                       "tool '%.200s' of server \"%.64s\" is not allowed: toolsAllowed, "
                       "toolsDenied",
                       tool, s->name);
    if (s->n_at_server >= MP_CALLS_WAITING) {
        mp_fail(err, MCPLUG_EOVERLOADED,
                "server \"%.64s\": overloaded, %u calls are waiting until it is up "
                "(limit %u)",
                s->name, s->n_at_server, MP_CALLS_WAITING);
        mp_error_flag(err, MCPLUG_ERROR_RETRY);
        return MCPLUG_EOVERLOADED;
    }
    return MCPLUG_OK;
}

/* give; it waits for nothing yet, and is in no list */
static struct mp_pending_call *call_new(mcplug_server *h, struct mp_ask *ask,
                                        const struct mcplug_call_options *options,
                                        mcplug_done_fn *done, void *arg,
                                        struct mcplug_error *err)
{
    struct mp_service *s = h->service;

    if (options && mp_take_options(&ask->o, options, err) != MCPLUG_OK)
        return NULL;
    mp_loop_tick(s->registry->o.loop); /* whoever calls may have been busy for long */
    ask->now = mp_loop_now(s->registry->o.loop);
    ask->timeout_ms = ask->o.timeout_ms ? ask->o.timeout_ms
                      : ask->tool       ? h->o.tool_ms
                                        : h->o.request_ms;
    struct mp_pending_call *c = mp_alloc_raw(sizeof *c + mp_request_room(ask));
    if (!c) {
        mp_fail_nomem(err);
        return NULL;
    }
    memset((char *)c + sizeof c->request, 0, sizeof *c - sizeof c->request);
    c->server = h;
    c->service = s;
    c->stage = OVER;
    c->done = done;
    c->arg = arg;
    if (mp_request_init(&c->request, (char *)(c + 1), ask, err) != MCPLUG_OK) {
        mp_free(c);
        return NULL;
    }
    c->request.arg = c;
    c->request.base.cancel = cancel;
    c->request.base.loop = s->registry->o.loop;
    c->request.number = ++s->registry->n_calls;
    return c;
}

/* take `c`. `ask` false: the server need not be asked. */
static mcplug_call *set_out(struct mp_pending_call *c, bool ask, struct mcplug_error *err)
{
    struct mp_service *s = c->service;
    mcplug_server *h = c->server;

    if (is_wanted(c, MP_EVENT_CALL))
        tell(c, MP_EVENT_CALL, false, NULL, NULL);
    mp_keeper_use(&s->keeper);
    int r = find_queue(c, err);
    if (r == MCPLUG_OK && ask) {
        r = go_on(c, err);
    } else if (r == MCPLUG_OK) {
        set_stage(c, IN_QUEUE);
        mp_job_defer(loop_of(c), &c->job, finish_well);
    }
    if (r == MCPLUG_ETIMEDOUT)
        r = end_soon(c, err);
    if (r != MCPLUG_OK) {
        set_stage(c, OVER);
        stop_waiting(c);
        mp_error_flag(err, MCPLUG_ERROR_RETRY);
        if (is_wanted(c, MP_EVENT_ENDED))
            tell(c, MP_EVENT_ENDED, true, NULL, err);
        call_free(c);
        mp_keeper_release(&s->keeper);
        return NULL;
    }
    mp_links_append(s->last_call, c, next, prev);
    h->n_calls++;
    h->under_way++;
    h->issued++;
    s->issued++;
    return &c->request.base;
}

mcplug_call *mp_pending_call_start(mcplug_server *h, const char *method, const char *tool,
                                   const char *params,
                                   const struct mcplug_call_options *options,
                                   mcplug_done_fn *done, void *arg,
                                   struct mcplug_error *err)
{
    struct mp_ask ask = {.method = method ? method : "ping",
                         .tool = tool,
                         .tool_len = tool ? strlen(tool) : 0,
                         .params = mp_text(params),
                         .done = on_done};
    struct mcplug_error own;

    if (!err) { /* what ends early is told all the same */
        own = (struct mcplug_error)MCPLUG_ERROR_INIT;
        err = &own;
    }
    if (check(h, method, tool, err) != MCPLUG_OK ||
        mp_request_check(done != NULL, err) != MCPLUG_OK)
        return NULL;
    struct mp_pending_call *c = call_new(h, &ask, options, done, arg, err);
    if (!c)
        return NULL;
    c->request.pings = !method;
    return set_out(c, true, err);
}

mcplug_call *mp_pending_call_subscribe(mcplug_server *h, const char *uri, bool on,
                                       bool ask_server,
                                       const struct mcplug_call_options *options,
                                       mcplug_done_fn *done, void *arg,
                                       struct mcplug_error *err)
{
    struct mp_ask ask = {.method = on ? "resources/subscribe" : "resources/unsubscribe",
                         .done = on_done};
    struct mp_pending_call *c = NULL;
    struct mp_str params;

    if (check(h, ask.method, NULL, err) != MCPLUG_OK)
        return NULL;
    mp_str_init(&params, MP_FRAME_MAX);
    mp_str_adds(&params, "{\"uri\":");
    mp_str_add_json(&params, uri, strlen(uri));
    mp_str_addc(&params, '}');
    ask.params = mp_bytes(params.data, params.len);
    if (params.failed)
        mp_fail_nomem(err);
    else
        c = call_new(h, &ask, options, done, arg, err);
    mp_str_clear(&params);
    if (!c)
        return NULL;
    c->request.subscribes = on;
    c->uri = mp_strdup(uri);
    c->empty = mp_message_new("{}", 2, NULL);
    if (c->empty)
        mp_message_expose(c->empty, (struct mp_span){0, 2});
    if (!c->uri || !c->empty) {
        mp_fail_nomem(err);
        call_free(c);
        return NULL;
    }
    c->request.uri = c->uri;
    return set_out(c, ask_server, err);
}
