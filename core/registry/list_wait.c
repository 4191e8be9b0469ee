#include "registry/registry.h"

#include "base/error.h"
#include "base/links.h"
#include "base/mem.h"

enum { FETCHES_MAX = 8 }; /* of one list, each lost with its connection */

/* One list that a server asked for, from the moment it did until it is told, once. */
struct mp_list_wait {
    mcplug_server *server; /* NULL: it was told already */
    struct mp_list_wait *next, **prev;
    enum mcplug_kind kind;
    struct mp_waiter waiter;
    bool fetching; /* the session has our callback, and we stay until it comes */
    unsigned fetches;
    uint64_t deadline;
    mcplug_list_fn *done;
    void *arg;
};

static void unlink_wait(struct mp_list_wait *w)
{
    mp_links_drop(w, next, prev);
    mp_waiter_leave(&w->waiter);
    w->server = NULL;
}

/* Whoever hears it may close the server. */
static void finish(struct mp_list_wait *w, mcplug_list *list,
                   const struct mcplug_error *why)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    mcplug_server *h = w->server;
    mcplug_list *own = NULL;

    if (h) {
        unlink_wait(w);
        if (list && w->kind == MCPLUG_TOOLS && !(own = mp_server_filter(h, list))) {
            mp_fail_nomem(&err);
            why = &err;
        }
        w->done(w->arg, why ? NULL : own ? own : list, why);
        mcplug_list_unref(own);
    }
    if (!w->fetching)
        mp_free(w);
}

static uint64_t left_ms(const struct mp_list_wait *w)
{
    uint64_t now = mp_loop_now(w->server->service->registry->o.loop);
    return w->deadline > now ? w->deadline - now : 1;
}

static void on_up(struct mp_waiter *waiter, const struct mcplug_error *why);

static void wait_for_server(struct mp_list_wait *w)
{
    w->waiter.done = on_up;
    mp_keeper_wait(&w->server->service->keeper, &w->waiter, left_ms(w));
}

/* It is asked for again when it was lost with its connection: that costs nothing but
 * time. */
static bool can_be_asked_again(const struct mp_list_wait *w,
                               const struct mcplug_error *why)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    bool lost = why->code == MCPLUG_ECLOSED || why->code == MCPLUG_ECANCELED;

    return lost && w->server && w->fetches < FETCHES_MAX && left_ms(w) > 1 &&
           mp_server_check(w->server, &err) == MCPLUG_OK;
}

#define METHOD_NOT_FOUND -32601 /* of JSON-RPC */

static void on_list(void *arg, mcplug_list *list, const struct mcplug_error *why)
{
    struct mp_list_wait *w = arg;
    mcplug_list *none = NULL;

    w->fetching = false;
    if (why && can_be_asked_again(w, why)) {
        wait_for_server(w);
        return;
    }
    /* a server that does not know such lists has none: it need not be asked again */
    if (why && why->code == MCPLUG_EPEER && why->peer_status == METHOD_NOT_FOUND)
        none = mp_list_read(w->kind, mp_text("[]"));
    if (w->server && (list || none))
        mp_service_take_list(w->server->service, w->kind, list ? list : none);
    mcplug_list_unref(none);
    finish(w, list, why);
}

static int fetch(struct mp_list_wait *w, struct mcplug_error *err)
{
    w->fetches++;
    w->fetching =
        mp_lists_get(w->server->service->session, w->kind, on_list, w, err) == MCPLUG_OK;
    if (w->fetching)
        return MCPLUG_OK;
    if (!can_be_asked_again(w, err))
        return err->code;
    wait_for_server(w); /* it is about to be lost */
    return MCPLUG_OK;
}

static void on_up(struct mp_waiter *waiter, const struct mcplug_error *why)
{
    struct mp_list_wait *w = MP_OF(waiter, struct mp_list_wait, waiter);
    struct mcplug_error err = MCPLUG_ERROR_INIT;

    if (why || fetch(w, &err) != MCPLUG_OK)
        finish(w, NULL, why ? why : &err);
}

int mp_list_wait_start(mcplug_server *h, enum mcplug_kind kind, mcplug_list_fn *done,
                       void *arg, struct mcplug_error *err)
{
    struct mp_service *s = h->service;

    if (kind != MCPLUG_TOOLS && kind != MCPLUG_PROMPTS && kind != MCPLUG_RESOURCES &&
        kind != MCPLUG_TEMPLATES)
        return mp_fail(err, MCPLUG_EINVAL, "no list of kind %d", (int)kind);
    int r = mp_request_check(done != NULL, err);
    if (r == MCPLUG_OK)
        r = mp_server_check(h, err);
    if (r != MCPLUG_OK)
        return r;
    struct mp_list_wait *w = mp_alloc(sizeof *w);
    if (!w)
        return mp_fail_nomem(err);
    w->server = h;
    w->kind = kind;
    w->done = done;
    w->arg = arg;
    mp_loop_tick(s->registry->o.loop);
    w->deadline = mp_loop_now(s->registry->o.loop) + h->o.request_ms;
    mp_links_push(h->lists_waiting, w, next, prev);
    if (!mp_service_ready(s)) {
        wait_for_server(w);
        return MCPLUG_OK;
    }
    r = fetch(w, err);
    if (r != MCPLUG_OK) {
        unlink_wait(w);
        mp_free(w);
    }
    return r;
}

void mp_list_waits_leave(mcplug_server *h)
{
    for (struct mp_list_wait *w = h->lists_waiting; w; w = w->next)
        mp_waiter_leave(&w->waiter);
}

void mp_list_waits_cancel(mcplug_server *h)
{
    static const struct mcplug_error why = {sizeof why, MCPLUG_ECANCELED, 0, 0,
                                            "the server was closed"};
    while (h->lists_waiting)
        finish(h->lists_waiting, NULL, &why);
}
