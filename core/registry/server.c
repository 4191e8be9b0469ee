#include "registry/registry.h"

#include "base/error.h"
#include "base/links.h"
#include "base/mem.h"
#include "base/text.h"
#include "registry/filter.h"

#include <stdlib.h>

enum { FETCHES_MAX = 8 }; /* of one list, each lost with its connection */

/* ---- copies of what was given ---- */

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

static bool copy_options(mcplug_server *h, const struct mcplug_server_options *o)
{
    const struct mp_registry_options *r = &h->service->registry->o;

    h->o = *o;
    h->o.tool_ms = o->tool_ms ? o->tool_ms : r->tool_ms;
    h->o.request_ms = o->request_ms ? o->request_ms : r->request_ms;
    h->o.name = h->o.log_level = h->o.revision = NULL; /* the service's */
    h->o.identity = h->o.probe = h->o.probe_url = NULL;
    h->o.overlay = NULL;
    h->o.policy = NULL;
    h->o.queue = mp_strdup(o->queue);
    h->name = mp_strdup(o->name ? o->name : h->service->name);
    bool ok = h->name && (h->o.queue || !o->queue);
    ok = copy_texts(&h->o.tool_queues, o->tool_queues) && ok;
    ok = copy_texts(&h->o.tool_output_tokens, o->tool_output_tokens) && ok;
    ok = copy_texts(&h->o.tools_allowed, o->tools_allowed) && ok;
    ok = copy_texts(&h->o.tools_denied, o->tools_denied) && ok;
    ok = copy_texts(&h->o.tools_approved, o->tools_approved) && ok;
    ok = copy_texts(&h->o.tools_asked, o->tools_asked) && ok;
    return ok;
}

/* ---- lists that it asked for ---- */

/* One list that a server asked for, from the moment it did until it is told, once. */
struct mp_list_call {
    struct mcplug_call base;
    mcplug_server *server;
    struct mp_list_call *next, **prev;
    enum mcplug_kind kind;
    struct mp_waiter waiter;
    struct mp_session *session; /* that fetches it; NULL: none */
    unsigned fetches;
    uint64_t timeout_ms, deadline;
    struct mp_timer timer; /* where its caller has set a time */
    struct mp_job job;     /* it was cancelled */
    mcplug_list_fn *done;
    void *arg;
    void (*free_arg)(void *arg); /* NULL: none */
    void *progress_arg;          /* for that alone */
};

static struct mp_loop *loop_of(const struct mp_list_call *c)
{
    return c->server->service->registry->o.loop;
}

/* It waits for nothing any more. */
static void stop_waiting(struct mp_list_call *c)
{
    mp_waiter_leave(&c->waiter);
    mp_timer_stop(loop_of(c), &c->timer);
    if (c->session)
        mp_lists_leave(c->session, c);
    c->session = NULL;
}

static void leave(struct mp_list_call *c)
{
    stop_waiting(c);
    mp_job_drop(loop_of(c), &c->job);
    mp_links_drop(c, next, prev);
    c->base.cancel = NULL;
}

/* Whoever hears it may close the server. */
static void end_list(struct mp_list_call *c, mcplug_list *list,
                     const struct mcplug_error *why)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    mcplug_list *own = NULL;

    leave(c);
    if (why) {
        mp_error_copy(&err, why);
        err.flags = (c->fetches ? MCPLUG_ERROR_SENT : 0) | mp_error_retry(why);
        why = &err;
    }
    if (list && c->kind == MCPLUG_TOOLS && !(own = mp_server_filter(c->server, list))) {
        mp_fail_nomem(&err);
        why = &err;
    }
    c->done(c->arg, &c->base, why ? NULL : own ? own : list, why);
    mcplug_list_unref(own);
    if (c->free_arg)
        c->free_arg(c->progress_arg);
    mcplug_call_unref(&c->base);
}

static void finish_cancelled(struct mp_job *job)
{
    static const struct mcplug_error why = {
        .struct_size = sizeof why, .code = MCPLUG_ECANCELED, .text = "cancelled"};
    end_list(MP_OF(job, struct mp_list_call, job), NULL, &why);
}

static void cancel_list(mcplug_call *call)
{
    struct mp_list_call *c = MP_OF(call, struct mp_list_call, base);

    stop_waiting(c);
    mp_job_defer(loop_of(c), &c->job, finish_cancelled);
}

static void on_late(struct mp_timer *timer)
{
    struct mp_list_call *c = MP_OF(timer, struct mp_list_call, timer);
    struct mcplug_error why = MCPLUG_ERROR_INIT;
    char after[32];

    mp_text_duration(after, sizeof after, c->timeout_ms, true);
    mp_fail(&why, MCPLUG_ETIMEDOUT, "%s timed out after %s", mp_lists_method(c->kind),
            after);
    end_list(c, NULL, &why);
}

static uint64_t left_ms(const struct mp_list_call *c)
{
    uint64_t now = mp_loop_now(loop_of(c));
    return c->deadline > now ? c->deadline - now : 1;
}

static void on_up(struct mp_waiter *waiter, const struct mcplug_error *why);

static void wait_for_server(struct mp_list_call *c)
{
    c->waiter.done = on_up;
    mp_keeper_wait(&c->server->service->keeper, &c->waiter, left_ms(c));
}

/* It is asked for again when it was lost with its connection: that costs nothing but
 * time. */
static bool can_be_asked_again(const struct mp_list_call *c,
                               const struct mcplug_error *why)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    bool lost = why->code == MCPLUG_ECLOSED || why->code == MCPLUG_ECANCELED;

    return lost && c->fetches < FETCHES_MAX && left_ms(c) > 1 &&
           mp_server_check(c->server, &err) == MCPLUG_OK;
}

#define METHOD_NOT_FOUND -32601 /* of JSON-RPC */

static void on_list(void *arg, mcplug_list *list, const struct mcplug_error *why)
{
    struct mp_list_call *c = arg;
    mcplug_list *none = NULL;

    c->session = NULL;
    if (why && can_be_asked_again(c, why)) {
        wait_for_server(c);
        return;
    }
    /* a server that does not know such lists has none: it need not be asked again */
    if (why && why->code == MCPLUG_EPEER && why->peer_status == METHOD_NOT_FOUND)
        none = mp_list_read(c->kind, mp_text("[]"));
    if (list || none)
        mp_service_take_list(c->server->service, c->kind, list ? list : none);
    mcplug_list_unref(none);
    end_list(c, list, why);
}

static int fetch(struct mp_list_call *c, struct mcplug_error *err)
{
    struct mp_session *session = c->server->service->session;

    c->fetches++;
    if (mp_lists_get(session, c->kind, on_list, c, err) == MCPLUG_OK) {
        c->session = session;
        return MCPLUG_OK;
    }
    if (!can_be_asked_again(c, err))
        return err->code;
    wait_for_server(c); /* it is about to be lost */
    return MCPLUG_OK;
}

static void on_up(struct mp_waiter *waiter, const struct mcplug_error *why)
{
    struct mp_list_call *c = MP_OF(waiter, struct mp_list_call, waiter);
    struct mcplug_error err = MCPLUG_ERROR_INIT;

    if (why || fetch(c, &err) != MCPLUG_OK)
        end_list(c, NULL, why ? why : &err);
}

static int check_kind(enum mcplug_kind kind, struct mcplug_error *err)
{
    return kind == MCPLUG_TOOLS || kind == MCPLUG_PROMPTS || kind == MCPLUG_RESOURCES ||
                   kind == MCPLUG_TEMPLATES
               ? MCPLUG_OK
               : mp_fail(err, MCPLUG_EINVAL, "no list of kind %d", (int)kind);
}

/* The time counts from now: as a deadline where the caller has set it, and else for the
 * server, which has a limit of its own for each page then. */
static int begin_list(struct mp_list_call *c, const struct mcplug_call_options *o,
                      struct mcplug_error *err)
{
    uint64_t ms = o->timeout_ms ? o->timeout_ms : c->server->o.request_ms;
    uint64_t left = ms > o->waited_ms ? ms - o->waited_ms : 0;

    mp_loop_tick(loop_of(c));
    uint64_t now = mp_loop_now(loop_of(c));
    c->timeout_ms = ms;
    c->deadline = left > UINT64_MAX - now ? UINT64_MAX : now + left;
    if (o->timeout_ms &&
        mp_timer_start(loop_of(c), &c->timer, left, on_late) != MCPLUG_OK)
        return mp_fail_nomem(err);
    if (mp_service_ready(c->server->service))
        return fetch(c, err);
    wait_for_server(c);
    return MCPLUG_OK;
}

mcplug_call *mp_server_get_list(mcplug_server *h, enum mcplug_kind kind,
                                const struct mcplug_call_options *options,
                                mcplug_list_fn *done, void *arg, struct mcplug_error *err)
{
    struct mcplug_error own = MCPLUG_ERROR_INIT;
    struct mcplug_call_options o = {0};

    err = err ? err : &own;
    if (check_kind(kind, err) != MCPLUG_OK ||
        mp_request_check(done != NULL, err) != MCPLUG_OK ||
        mp_take_options(&o, options, err) != MCPLUG_OK ||
        mp_server_check(h, err) != MCPLUG_OK)
        return NULL;
    struct mp_list_call *c = mp_alloc(sizeof *c);
    if (!c) {
        mp_fail_nomem(err);
        return NULL;
    }
    atomic_init(&c->base.refs, 1);
    c->base.loop = mp_server_loop(h);
    c->base.cancel = cancel_list;
    c->server = h;
    c->kind = kind;
    c->done = done;
    c->arg = arg;
    mp_links_push(h->list_calls, c, next, prev);
    if (begin_list(c, &o, err) != MCPLUG_OK) {
        leave(c);
        mcplug_call_unref(&c->base);
        return NULL;
    }
    c->free_arg = o.free_arg;
    c->progress_arg = o.progress_arg;
    return &c->base;
}

/* All of them end now. */
static void cancel_lists(mcplug_server *h)
{
    static const struct mcplug_error why = {.struct_size = sizeof why,
                                            .code = MCPLUG_ECANCELED,
                                            .text = "the server was closed"};
    while (h->list_calls)
        end_list(h->list_calls, NULL, &why);
}

/* ---- subscriptions ---- */

static bool others_want(const mcplug_server *h, const char *uri)
{
    for (const mcplug_server *o = h->service->servers; o; o = o->next)
        if (o != h && mp_uris_have(&o->uris, uri))
            return true;
    return false;
}

/* Those that the next connection is to have, or this one has. */
static struct mp_uris *uris_of(struct mp_service *s)
{
    return s->session ? mp_session_uris(s->session) : &s->uris;
}

/* The service is not to hear of it any more, unless another user of it is. */
static void drop_subscription(mcplug_server *h, const char *uri, bool tell)
{
    struct mp_service *s = h->service;
    struct mcplug_error err = MCPLUG_ERROR_INIT;

    if (!others_want(h, uri) &&
        (!tell || !mp_service_ready(s) || !mp_uris_have(uris_of(s), uri) ||
         mp_notify_subscribe(s->session, uri, false, &err) != MCPLUG_OK))
        mp_uris_set(uris_of(s), uri, false, NULL);
    mp_uris_set(&h->uris, uri, false, NULL); /* last: it may be the one of this list */
}

void mp_server_subscribed(mcplug_server *h, const char *uri,
                          const struct mcplug_error *why)
{
    struct mp_service *s = h->service;
    struct mcplug_error err = MCPLUG_ERROR_INIT;

    if (!why)
        return;
    if (why->code == MCPLUG_EPEER || why->code == MCPLUG_ENOTSUP)
        drop_subscription(h, uri, false);
    else if (why->code == MCPLUG_ECANCELED)
        drop_subscription(h, uri, true);
    else if (!mp_uris_have(uris_of(s), uri) &&
             (!s->session ||
              mp_notify_subscribe(s->session, uri, true, &err) != MCPLUG_OK))
        mp_uris_set(uris_of(s), uri, true, NULL); /* it is asked for at the next start */
}

static int check_uri(const mcplug_server *h, const char *uri, struct mcplug_error *err)
{
    return uri ? mp_server_check(h, err) : mp_fail_null(err, "`uri`");
}

mcplug_call *mcplug_subscribe(mcplug_server *h, const char *uri,
                              const struct mcplug_call_options *options,
                              mcplug_done_fn *done, void *arg, struct mcplug_error *err)
{
    struct mcplug_error own = MCPLUG_ERROR_INIT;

    err = err ? err : &own;
    if (mp_server_here(h, err) != MCPLUG_OK || check_uri(h, uri, err) != MCPLUG_OK)
        return NULL;
    bool had = mp_uris_have(&h->uris, uri);
    bool ask =
        !(had || others_want(h, uri)) || mp_pending_call_subscribes(h->service, uri);
    if (mp_uris_set(&h->uris, uri, true, err) != MCPLUG_OK)
        return NULL;
    mcplug_call *call =
        mp_pending_call_subscribe(h, uri, true, ask, options, done, arg, err);
    if (!call && !had)
        mp_uris_set(&h->uris, uri, false, NULL);
    return call;
}

mcplug_call *mcplug_unsubscribe(mcplug_server *h, const char *uri,
                                const struct mcplug_call_options *options,
                                mcplug_done_fn *done, void *arg, struct mcplug_error *err)
{
    struct mcplug_error own = MCPLUG_ERROR_INIT;

    err = err ? err : &own;
    if (mp_server_here(h, err) != MCPLUG_OK || check_uri(h, uri, err) != MCPLUG_OK)
        return NULL;
    struct mp_service *s = h->service;
    bool others = others_want(h, uri);
    bool ask = !others && mp_service_ready(s) && mp_uris_have(uris_of(s), uri);
    mcplug_call *call =
        mp_pending_call_subscribe(h, uri, false, ask, options, done, arg, err);
    if (!call)
        return NULL;
    mp_uris_set(&h->uris, uri, false, NULL);
    mp_pending_calls_unsubscribe(h, uri);
    if (!others)
        mp_uris_set(uris_of(s), uri, false, NULL);
    return call;
}

/* ---- life ---- */

static void unlink_server(mcplug_server *h)
{
    struct mp_service *s = h->service;

    if (!h->prev)
        return;
    for (struct mp_cursor *c = s->cursors; c; c = c->outer)
        if (c->next == h)
            c->next = h->next;
    mp_links_remove(s->last_server, h, next, prev);
    s->n_servers--;
}

void mp_server_free(mcplug_server *h)
{
    unlink_server(h);
    h->service->n_alive -= !h->leaving;
    mp_waiter_leave(&h->waiter);
    cancel_lists(h);
    mp_job_drop(h->service->registry->o.loop, &h->close_job);
    mcplug_list_unref(h->tools);
    mcplug_list_unref(h->tools_of);
    mp_uris_clear(&h->uris);
    mp_free(h->name);
    mp_free((char *)h->o.queue);
    mp_free_list(h->o.tool_queues);
    mp_free_list(h->o.tool_output_tokens);
    mp_free_list(h->o.tools_allowed);
    mp_free_list(h->o.tools_denied);
    mp_free_list(h->o.tools_approved);
    mp_free_list(h->o.tools_asked);
    if (h->free_arg)
        h->free_arg(h->given_arg);
    mp_free(h);
}

void mp_server_gone(mcplug_server *h)
{
    void (*closed)(void *) = h->on_closed;
    void *arg = h->closed_arg;

    mp_server_free(h);
    if (closed)
        closed(arg);
}

static void tell_ready(mcplug_server *h, const struct mcplug_error *why)
{
    h->ready_due = false;
    h->ready(h->ready_arg, h, why);
}

static void on_first_list(void *arg, mcplug_call *call, mcplug_list *list,
                          const struct mcplug_error *why);

/* One who came to a connection that was up without a list that he waits for. */
static bool awaits_list(mcplug_server *h)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;

    for (int i = 0; i < MP_FETCHED; i++) {
        enum mcplug_kind kind = MP_KIND(i);
        if (h->lists & kind & ~h->service->asked &&
            mp_server_get_list(h, kind, NULL, on_first_list, h, &err))
            return true;
        h->lists &= ~(unsigned)kind;
    }
    return false;
}

/* As when it starts, only the tools decide. */
static void on_first_list(void *arg, mcplug_call *call, mcplug_list *list,
                          const struct mcplug_error *why)
{
    mcplug_server *h = arg;
    unsigned kind = h->lists & -h->lists; /* the first that is left */
    (void)call;

    if (!h->ready_due || h->closed)
        return; /* it is told with the close */
    h->lists &= ~kind;
    if (list)
        h->service->asked |= kind;
    if (why && (kind == MCPLUG_TOOLS || !mp_service_ready(h->service)))
        tell_ready(h, why);
    else if (!awaits_list(h))
        tell_ready(h, NULL);
}

static void on_waited(struct mp_waiter *w, const struct mcplug_error *why)
{
    mcplug_server *h = MP_OF(w, mcplug_server, waiter);
    if (why || !awaits_list(h))
        tell_ready(h, why);
}

int mp_server_open(struct mp_registry *r, struct mp_target *target,
                   const struct mcplug_server_options *options, mcplug_ready_fn *ready,
                   void *ready_arg, mcplug_server **out, struct mcplug_error *err)
{
    struct mcplug_server_options o = {0};
    int result = mp_take_options(&o, options, err);
    mcplug_server *h = result == MCPLUG_OK ? mp_alloc(sizeof *h) : NULL;

    if (!h)
        return result != MCPLUG_OK ? result : mp_fail_nomem(err);
    result = mp_registry_find(r, target, &o, &h->service, err);
    if (result != MCPLUG_OK) {
        mp_free(h);
        return result;
    }
    struct mp_service *s = h->service;
    s->n_alive++;
    if (!copy_options(h, &o)) {
        mp_server_free(h);
        mp_service_maybe_free(s);
        return mp_fail_nomem(err);
    }
    h->seq = ++s->opened;
    h->told = s->change; /* what has been is no news */
    mp_links_append(s->last_server, h, next, prev);
    s->n_servers++;
    if (ready) {
        h->ready = ready;
        h->ready_arg = ready_arg;
        h->ready_due = true;
        h->lists = mp_server_lists_of(&o);
        h->waiter.done = on_waited;
        h->waiter.ready_ms = o.ready_ms;
        mp_keeper_wait(&s->keeper, &h->waiter, 0);
    }
    h->free_arg = o.free_arg;
    h->given_arg = o.arg;
    *out = h;
    return MCPLUG_OK;
}

/* ---- close ---- */

/* Everything of it has ended; what is left is to say so, now or with the connection. */
void mp_server_settle(mcplug_server *h)
{
    struct mp_service *s = h->service;

    if (!h->gone || h->n_calls)
        return;
    if (s->retired && s->keeper.state != MP_KEEPER_ENDED && !s->n_servers) {
        h->next = s->leaving;
        s->leaving = h;
        h->leaving = true;
        s->n_alive--;
    } else {
        mp_server_gone(h);
    }
    mp_service_maybe_free(s);
}

static void finish_close(struct mp_job *job)
{
    mcplug_server *h = MP_OF(job, mcplug_server, close_job);
    static const struct mcplug_error why = {
        .struct_size = sizeof why,
        .code = MCPLUG_ECANCELED,
        .text = "the server was closed before it was ready"};
    if (h->ready_due)
        tell_ready(h, &why);
    cancel_lists(h);
    h->gone = true;
    mp_server_settle(h);
}

void mcplug_close(mcplug_server *h, void (*closed)(void *arg), void *arg)
{
    if (!h || mp_server_here(h, NULL) != MCPLUG_OK || h->closed)
        return;
    struct mp_service *s = h->service;
    h->on_closed = closed;
    h->closed_arg = arg;
    h->closed = true;
    mp_pending_calls_unsubscribe(h, NULL);
    mp_waiter_leave(&h->waiter);
    for (struct mp_list_call *c = h->list_calls; c; c = c->next)
        stop_waiting(c); /* they are cancelled later */
    unlink_server(h);
    while (h->uris.n) /* what nobody else wants to hear */
        drop_subscription(h, h->uris.all[0], true);
    if (s->session)
        mp_inputs_pass_on(s->session, h, s->servers);
    mp_pending_calls_cancel(h);
    if (!s->n_servers)
        mp_service_unused(s);
    mp_job_defer(s->registry->o.loop, &h->close_job, finish_close);
}

/* ---- what it sees ---- */

static bool keep_tool(void *arg, const char *name)
{
    const mcplug_server *h = arg;
    return mp_filter_allows(h->o.tools_allowed, h->o.tools_denied, name);
}

mcplug_list *mp_server_filter(mcplug_server *h, mcplug_list *tools)
{
    if (!h->o.tools_allowed && !h->o.tools_denied)
        return mcplug_list_ref(tools);
    mcplug_list *left = mp_list_subset(tools, keep_tool, h);
    if (left)
        mp_log(h->service->registry->o.log, MCPLUG_LOG_VERBOSE, h->service->source,
               "%zu of %zu tools are allowed by toolsAllowed and toolsDenied",
               mcplug_list_count(left), mcplug_list_count(tools));
    return left;
}

mcplug_list *mcplug_server_list(mcplug_server *h, enum mcplug_kind kind)
{
    int i = 0;

    while (i < MP_FETCHED && MP_KIND(i) != kind)
        i++;
    if (i == MP_FETCHED || mp_server_here(h, NULL) != MCPLUG_OK)
        return NULL;
    struct mp_service *s = h->service;
    mp_service_refresh_if_stale(s, i);
    mcplug_list *list = s->lists[i].list;
    if (!list || kind != MCPLUG_TOOLS)
        return list;
    if (h->tools_of != list) {
        mcplug_list *left = mp_server_filter(h, list);
        if (!left)
            return NULL; /* rather none than more than allowed */
        mcplug_list_unref(h->tools);
        mcplug_list_unref(h->tools_of);
        h->tools = left;
        h->tools_of = mcplug_list_ref(list);
    }
    return h->tools;
}

/* ---- what is known of it ---- */

int mp_server_check(const mcplug_server *h, struct mcplug_error *err)
{
    const struct mp_service *s = h->service;
    const struct mp_keeper *k = &s->keeper;

    if (h->closed || s->retired)
        return mp_fail(err, MCPLUG_ECLOSED, "server \"%.64s\" has ended", s->name);
    if (k->state == MP_KEEPER_ENDED ||
        (k->state == MP_KEEPER_STOPPING && k->after == MP_KEEPER_ENDED))
        return mp_fail(err, MCPLUG_ECLOSED, "server \"%.64s\" is not connected: %.300s",
                       s->name, k->cause->text);
    return MCPLUG_OK;
}

static void fill_ledger(struct mcplug_ledger *l, uint64_t issued,
                        const uint64_t ended[MP_OUTCOMES], unsigned under_way)
{
    *l = (struct mcplug_ledger){.struct_size = sizeof *l,
                                .under_way = under_way,
                                .issued = issued,
                                .ok = ended[MP_OK],
                                .tool_error = ended[MP_TOOL_ERROR],
                                .peer_error = ended[MP_PEER_ERROR],
                                .transport_error = ended[MP_TRANSPORT_ERROR],
                                .timed_out = ended[MP_TIMED_OUT],
                                .cancelled = ended[MP_CANCELLED]};
}

void mcplug_server_ledger(const mcplug_server *h, struct mcplug_ledger *out)
{
    struct mcplug_ledger all;

    if (mp_server_here(h, NULL) != MCPLUG_OK || !out)
        return;
    fill_ledger(&all, h->issued, h->ended, h->under_way);
    mp_give_struct(out, all);
}

void mcplug_server_status(mcplug_server *h, struct mcplug_status *out)
{
    if (mp_server_here(h, NULL) != MCPLUG_OK || !out)
        return;
    struct mp_service *s = h->service;
    const struct mp_keeper *k = &s->keeper;
    uint64_t now = mp_loop_now(s->registry->o.loop);
    const char *pid = mp_identity_fact(&s->id, "pid");
    struct mcplug_status all = {
        .state = (enum mcplug_state)k->state,
        .next_state = (enum mcplug_state)k->after,
        .name = h->name,
        .source = s->source,
        .transport = s->transport ? s->transport : "",
        .revision = s->revision,
        .pid = pid && mp_service_ready(s) ? strtoll(pid, NULL, 10) : 0,
        .servers = s->n_servers,
        .tools = s->lists[0].list ? (uint32_t)mcplug_list_count(s->lists[0].list) : 0,
        .sent = s->n_sent,
        .waiting = s->n_waiting,
        .starts = k->starts_made,
        .restarts = s->restarts,
        .up_ms = mp_service_ready(s) ? now - k->ready_at : 0,
        .next_ms = k->state == MP_KEEPER_WAITING && k->due > now ? k->due - now : 0,
        .queued_ms = s->queued_ms,
        .error = s->error->code ? s->error : NULL,
        .calls = &s->calls_told,
        .wire = &s->wire_told,
    };
    fill_ledger(&s->calls_told, s->issued, s->ended, s->n_sent + s->n_waiting);
    s->wire_told = s->wire;
    if (s->session)
        mp_session_count(s->session, &s->wire_told);
    mp_give_struct(out, all);
}

int mcplug_restart(mcplug_server *h, struct mcplug_error *err)
{
    struct mcplug_error why = {.struct_size = sizeof why,
                               .code = MCPLUG_ECLOSED,
                               .text = "restarted on request"};

    if (mp_server_here(h, err) != MCPLUG_OK)
        return MCPLUG_EINVAL;
    struct mp_service *s = h->service;
    enum mp_keeper_state state = s->keeper.state;
    if (state == MP_KEEPER_STOPPING) /* what counts is what comes of it */
        state = s->keeper.after;
    if (s->keeper.once)
        return mp_fail(err, MCPLUG_ECLOSED,
                       "server \"%.64s\" was opened without supervision", s->name);
    if (state == MP_KEEPER_ENDED || s->retired)
        return mp_fail(err, MCPLUG_ECLOSED, "server \"%.64s\" has ended", s->name);
    if (state == MP_KEEPER_QUEUED || state == MP_KEEPER_STARTING)
        return mp_fail(err, MCPLUG_ERESTARTING,
                       "mcp_restart_in_progress: server \"%.64s\" is %s already", s->name,
                       mp_keeper_state_name(s->keeper.state));
    mp_keeper_kick(&s->keeper, &why);
    return MCPLUG_OK;
}
