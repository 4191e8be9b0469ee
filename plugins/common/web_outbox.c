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
    o->last = &o->first;
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

static void enqueue(struct web_outbox *o, struct web_post *p)
{
    p->is_queued = 1;
    p->owes = 1;
    p->later = NULL;
    p->before = o->last;
    *o->last = p;
    o->last = &p->later;
}

static void unqueue(struct web_post *p)
{
    if (!p->is_queued)
        return;
    *p->before = p->later;
    if (p->later != NULL)
        p->later->before = p->before;
    else
        p->outbox->last = p->before;
    p->is_queued = 0;
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

static int may_begin(const struct web_outbox *o)
{
    return o->barrier == NULL && o->hold == NULL && !o->is_shut &&
           o->n_active < o->max_active;
}

void web_outbox_pump(struct web_outbox *o)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    if (o->is_shut && o->n_active == 0 && o->ops->drained != NULL)
        o->ops->drained(o);
    while (o->first != NULL && may_begin(o)) {
        struct web_post *p = o->first;
        unqueue(p);
        if (o->ops->begin(p, &err) != MCPLUG_OK) {
            if (p->number != 0)
                o->host->wire->exchange_end(o->conn, p->number, &err);
            o->ops->free(p);
        } else if (o->fetch->is_written(p->request)) {
            web_post_written(p);
        }
    }
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

int web_outbox_send(struct web_outbox *o, struct web_post *p, struct mcplug_error *err)
{
    /* Answers and notifications never wait: a call may wait for them. */
    if (p->number != 0 && !may_begin(o)) {
        enqueue(o, p);
        return MCPLUG_QUEUED;
    }
    int r = o->ops->begin(p, err);
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
