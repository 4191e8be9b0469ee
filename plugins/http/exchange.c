#include "http.h"

#include <stdio.h>
#include <string.h>

/* ---- life ---- */

static struct http_exchange *of(struct web_post *p)
{
    return (struct http_exchange *)p; /* its first member */
}

struct http_exchange *http_exchange_new(struct http_link *l, mcplug_buf *frame,
                                        const struct mcplug_envelope *env)
{
    const char *revision = env != NULL ? web_meta(env, "protocol-version") : NULL;
    struct http_exchange *e = l->outbox.host->mem->alloc(sizeof *e);
    if (e == NULL) {
        l->outbox.host->mem->buf_unref(frame);
        return NULL;
    }
    e->link = l;
    if (web_post_init(&e->post, &l->outbox, frame, env) != MCPLUG_OK) {
        http_exchange_free(e);
        return NULL;
    }
    if (revision != NULL && !e->post.is_modern)
        snprintf(l->revision, sizeof l->revision, "%s", revision);
    return e;
}

void http_exchange_free(struct http_exchange *e)
{
    struct http_link *l = e->link;
    const struct mcplug_mem *mem = l->outbox.host->mem;
    web_post_clear(&e->post);
    if (e->lingers)
        l->n_lingering--;
    if (l->stream == e)
        l->stream = NULL;
    mem->free(e->events);
    mem->free(e->lost);
    mem->free(e);
}

static void exchange_free(struct web_post *p)
{
    http_exchange_free(of(p));
}

/* ---- its end ---- */

static void exchange_done(struct web_post *p, const struct mcplug_error *why)
{
    struct http_exchange *e = of(p);
    struct http_link *l = e->link;
    web_post_rest(p);
    http_reply_drop_partial(e);
    if (l->is_over)
        return;
    if (p->kind == 0 && l->outbox.hold != NULL)
        web_outbox_hold(&l->outbox, 0);
    if (p->kind == 0)
        http_stream_ended(e, why);
    else if (why == NULL && e->reading == HTTP_PROBLEM)
        http_refused(e);
    else if (p->number != 0)
        http_reply_ended(e, why);
    else
        web_post_end(p, why);
}

static void on_done(void *arg, const struct mcplug_error *why)
{
    exchange_done(arg, why);
}

/* ---- its beginning ---- */

static const struct mcplug_fetch_events events = {
    .struct_size = sizeof events,
    .head = http_reply_head,
    .body = http_reply_body,
    .sent = web_post_written,
    .done = on_done,
};

/* A GET: the session's stream, or a reply that is taken up again. */
static int begin_stream(struct http_exchange *e, struct mcplug_error *err)
{
    struct http_link *l = e->link;
    struct mcplug_pair headers[] = {
        {"Accept", "text/event-stream"},
        {"MCP-Protocol-Version", l->revision[0] != '\0' ? l->revision : NULL},
        {"Mcp-Session-Id", l->session},
        {"Last-Event-ID", http_is_resumable(e) ? e->events->id : NULL},
    };
    struct mcplug_fetch_ask ask = {
        .struct_size = sizeof ask,
        .method = "GET",
        .url = l->url,
        .headers = headers,
        .n_headers = sizeof headers / sizeof headers[0],
        .wants = http_wanted,
    };
    e->had_session = l->session != NULL;
    e->reading = HTTP_NOTHING;
    if (e->post.kind == 0)
        web_post_allow(&e->post, WEB_OPEN_MS);
    return l->outbox.fetch->start(l->outbox.client, &ask, &events, e, &e->post.request,
                                  err);
}

static int exchange_begin(struct web_post *p, struct mcplug_error *err)
{
    struct http_exchange *e = of(p);
    struct http_link *l = e->link;
    e->fed = 0;
    if (p->kind == 0 || (p->number != 0 && http_is_resumable(e)))
        return begin_stream(e, err);
    e->had_session = !p->is_modern && !p->is_initialize && l->session != NULL;
    struct mcplug_pair session = {"Mcp-Session-Id", l->session};
    return web_post_start(p, l->url, &session, e->had_session ? 1 : 0, http_wanted,
                          &events, err);
}

static void drained(struct web_outbox *o)
{
    struct http_link *l = (struct http_link *)o; /* its first member */
    if (l->over != 0)
        http_session_over(l, l->over);
}

const struct web_post_ops http_exchange_ops = {
    .begin = exchange_begin,
    .done = exchange_done,
    .free = exchange_free,
    .drained = drained,
};

int http_stream_open(struct http_link *l, struct mcplug_error *err)
{
    if (l->stream != NULL || l->is_closing || l->is_over)
        return MCPLUG_OK;
    l->stream = http_exchange_new(l, NULL, NULL);
    if (l->stream == NULL)
        return l->outbox.host->diag->fail(err, MCPLUG_ENOMEM, "out of memory");
    int r = exchange_begin(&l->stream->post, err);
    if (r != MCPLUG_OK)
        http_exchange_free(l->stream);
    return r;
}

/* ---- settled ---- */

static void on_lingered(void *arg)
{
    struct web_post *p = arg;
    p->timer = NULL;
    web_post_end(p, NULL);
}

/* The stream should end by itself, which keeps its connection alive for others. */
void http_exchange_settled(struct http_exchange *e)
{
    struct http_link *l = e->link;
    struct web_outbox *o = &l->outbox;
    struct web_post *p = &e->post;
    e->is_settled = 1;
    if (p->request == NULL || l->n_lingering >= HTTP_LINGER_MAX) {
        web_post_end(p, NULL);
        return;
    }
    o->n_active -= p->is_active ? 1 : 0;
    p->is_active = 0;
    e->lingers = 1;
    l->n_lingering++;
    if (p->timer != NULL)
        o->host->loop->timer_stop(p->timer);
    p->timer = o->host->loop->timer_start(o->self, WEB_LINGER_MS, on_lingered, p);
    web_outbox_pump(o);
}
