#include "web_post.h"

#include "url.h"

#include <strings.h>

/* ---- life ---- */

int web_outbox_init(struct web_outbox *o, const struct web_post_ops *ops,
                    struct web_module *module, mcplug_conn *conn,
                    const mcplug_props *settings, const char *url_text,
                    struct mcplug_error *err)
{
    const struct mcplug_host *host = module->host;
    char peer[URL_HOST_MAX + 32];
    struct url url;
    int r = web_use(module, err);
    if (r == MCPLUG_OK)
        r = module->fetch->client_new(module->fetch_ctx, settings, url_text, &o->client,
                                      err);
    if (r != MCPLUG_OK)
        return r;
    o->host = host;
    o->self = module->self;
    o->conn = conn;
    o->fetch = module->fetch;
    o->ops = ops;
    o->requests.last = &o->requests.first;
    o->asides.last = &o->asides.first;
    int64_t most = host->diag->prop_int(settings, "connections", 0);
    o->max_active = most < 1 ? 1 : most > 10000 ? 10000 : (size_t)most;
    for (const char *const *h = host->diag->prop_list(settings, "headers"); *h; h += 2)
        o->is_authorized |= strcasecmp(*h, "Authorization") == 0;
    url_parse(url_text, &url);
    url_origin(&url, peer, sizeof peer);
    host->wire->describe(conn, "peer", peer);
    return MCPLUG_OK;
}

void web_outbox_drop(struct web_outbox *o)
{
    for (size_t i = 0; i < WEB_BUCKETS; i++)
        while (o->buckets[i] != NULL)
            o->ops->free(o->buckets[i]);
}

static void let_go(struct web_outbox *o)
{
    if (o->hold != NULL)
        o->host->loop->timer_stop(o->hold);
    o->hold = NULL;
}

void web_outbox_clear(struct web_outbox *o)
{
    let_go(o);
    web_outbox_drop(o);
    o->fetch->client_free(o->client);
}

/* ---- who is there ---- */

void web_outbox_enlist(struct web_outbox *o, struct web_post *p)
{
    struct web_post **at = &o->buckets[p->number % WEB_BUCKETS];
    p->next = *at;
    p->prev = at;
    if (p->next != NULL)
        p->next->prev = &p->next;
    *at = p;
}

static void enqueue(struct web_queue *queue, struct web_post *p)
{
    p->queue = queue;
    p->owes = 1;
    p->later = NULL;
    p->before = queue->last;
    *queue->last = p;
    queue->last = &p->later;
    queue->count++;
}

static void unqueue(struct web_post *p)
{
    if (p->queue == NULL)
        return;
    *p->before = p->later;
    if (p->later != NULL)
        p->later->before = p->before;
    else
        p->queue->last = p->before;
    p->queue->count--;
    p->queue = NULL;
}

void web_outbox_delist(struct web_post *p)
{
    *p->prev = p->next;
    if (p->next != NULL)
        p->next->prev = p->prev;
    unqueue(p);
}

struct web_post *web_outbox_find(struct web_outbox *o, uint64_t number)
{
    struct web_post *p = o->buckets[number % WEB_BUCKETS];
    while (p != NULL && (p->number != number || p->number == 0))
        p = p->next;
    return p;
}

/* ---- whose turn it is ---- */

/* A request waits for the barrier and for a connection. Answers and notifications have
 * connections of their own: a call may wait for one. */
static int may_begin(const struct web_outbox *o, const struct web_post *p)
{
    if (p->number == 0)
        return p->is_initialized || (o->n_aside < WEB_ASIDE_MAX && !o->is_shut);
    return o->barrier == NULL && o->hold == NULL && !o->is_shut &&
           o->n_active < o->max_active;
}

static void pump(struct web_outbox *o, struct web_queue *queue)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    while (queue->first != NULL && may_begin(o, queue->first)) {
        struct web_post *p = queue->first;
        unqueue(p);
        if (o->ops->begin(p, &err) != MCPLUG_OK) {
            if (p->number != 0)
                o->host->wire->exchange_end(o->conn, p->number, &err);
            else
                web_post_written(p); /* it waits no more */
            o->ops->free(p);
        } else if (o->fetch->is_written(p->request)) {
            web_post_written(p);
        }
    }
}

void web_outbox_pump(struct web_outbox *o)
{
    if (o->is_shut && o->n_active == 0 && o->ops->drained != NULL)
        o->ops->drained(o);
    pump(o, &o->asides);
    pump(o, &o->requests);
}

static void on_held(void *arg)
{
    struct web_outbox *o = arg;
    o->hold = NULL;
    web_outbox_pump(o);
}

void web_outbox_hold(struct web_outbox *o, uint64_t ms)
{
    let_go(o);
    o->hold = o->host->loop->timer_start(o->self, ms, on_held, o);
}

/* How many requests wait, the core bounds. MCPLUG_QUEUED, MCPLUG_EOVERLOADED */
static int wait_for_turn(struct web_outbox *o, struct web_post *p,
                         struct mcplug_error *err)
{
    size_t limit = p->is_cancel ? WEB_CANCELS_WAITING : WEB_ASIDE_WAITING;
    if (p->number == 0 && o->asides.count >= limit)
        return o->host->diag->fail(
            err, MCPLUG_EOVERLOADED,
            "overloaded: %d messages are under way and %zu wait; the server answers them "
            "too slowly",
            WEB_ASIDE_MAX, o->asides.count);
    enqueue(p->number == 0 ? &o->asides : &o->requests, p);
    return MCPLUG_QUEUED;
}

int web_outbox_send(struct web_outbox *o, struct web_post *p, struct mcplug_error *err)
{
    int r = MCPLUG_OK;
    if (!may_begin(o, p)) {
        r = wait_for_turn(o, p, err);
        if (r != MCPLUG_QUEUED)
            o->ops->free(p);
        return r;
    }
    r = o->ops->begin(p, err);
    if (r != MCPLUG_OK) {
        o->ops->free(p);
        return r;
    }
    if (p->is_initialized)
        o->barrier = p;
    if (o->fetch->is_written(p->request))
        return MCPLUG_OK;
    p->owes = 1;
    return MCPLUG_QUEUED;
}

void web_outbox_cancel(struct web_outbox *o, uint64_t number)
{
    struct web_post *p = web_outbox_find(o, number);
    if (p == NULL)
        return;
    if (p->request != NULL && o->fetch->is_written(p->request))
        web_post_written(p); /* the server may have it */
    o->ops->free(p);
    web_outbox_pump(o);
}
