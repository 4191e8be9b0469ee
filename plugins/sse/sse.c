#include "sse.h"

#include <stdio.h>
#include <string.h>

static struct sse_link *of(struct web_post *p)
{
    return (struct sse_link *)p->outbox; /* its first member */
}

void sse_explain(const struct sse_link *l, const struct web_answer *a,
                 struct mcplug_error *why)
{
    char advice[WEB_ADVICE_MAX];
    web_answer_advise(a, l->outbox.is_authorized, advice);
    if (a->status == 404)
        snprintf(advice, sizeof advice, "; there is no such endpoint; try the path /sse");
    else if (a->status == 405)
        snprintf(advice, sizeof advice, "; the endpoint has no event stream");
    web_answer_explain(l->outbox.host, a, advice, why);
}

/* ---- messages ---- */

const char *const sse_wanted[] = {"WWW-Authenticate", NULL};

static void on_head(void *arg, const struct mcplug_fetch_head *head)
{
    struct web_post *p = arg;
    web_post_written(p);
    web_answer_head(&p->answer, head, head->values[0]);
    p->answer.is_unwanted = head->status >= 300;
    if (head->status < 300)
        web_post_taken(p);
}

static void on_body(void *arg, struct mcplug_bytes piece)
{
    struct web_post *p = arg;
    if (p->answer.is_unwanted)
        web_post_keep(p, piece);
}

static void refused(struct web_post *p)
{
    const struct web_outbox *o = p->outbox;
    const struct web_answer *a = &p->answer;
    struct mcplug_error why = MCPLUG_ERROR_INIT;
    if (web_post_waits(p))
        return;
    sse_explain(of(p), a, &why);
    if (p->number != 0 && web_answer_tells(a, p->is_initialize))
        o->host->wire->feed(o->conn, p->number,
                            (struct mcplug_bytes){(unsigned char *)a->text, a->len}, 1);
    web_post_end(p, &why);
}

static void post_free(struct web_post *p)
{
    const struct mcplug_mem *mem = p->outbox->host->mem;
    web_post_clear(p);
    mem->free(p);
}

static void post_done(struct web_post *p, const struct mcplug_error *why)
{
    struct web_outbox *o = p->outbox;
    struct sse_link *l = of(p);
    web_post_rest(p);
    if (l->is_over)
        return;
    if (why == NULL && p->answer.is_unwanted) {
        refused(p);
    } else if (why == NULL && p->number != 0) { /* the reply comes on the stream */
        post_free(p);
        web_outbox_pump(o);
    } else {
        web_post_end(p, why);
    }
}

static void on_done(void *arg, const struct mcplug_error *why)
{
    post_done(arg, why);
}

static int post_begin(struct web_post *p, struct mcplug_error *err)
{
    static const struct mcplug_fetch_events events = {
        .struct_size = sizeof events,
        .head = on_head,
        .body = on_body,
        .sent = web_post_written,
        .done = on_done,
    };
    return web_post_start(p, of(p)->endpoint, NULL, 0, sse_wanted, &events, err);
}

static const struct web_post_ops post_ops = {
    .begin = post_begin,
    .done = post_done,
    .free = post_free,
};

static int sse_post(struct sse_link *l, mcplug_buf *frame,
                    const struct mcplug_envelope *env, struct mcplug_error *err)
{
    const struct mcplug_host *host = l->outbox.host;
    struct web_post *p = host->mem->alloc(sizeof *p);
    if (p == NULL) {
        host->mem->buf_unref(frame);
        return host->diag->fail(err, MCPLUG_ENOMEM, "out of memory");
    }
    if (web_post_init(p, &l->outbox, frame, env) != MCPLUG_OK) {
        post_free(p);
        return host->diag->fail(err, MCPLUG_ENOMEM, "out of memory");
    }
    return web_outbox_send(&l->outbox, p, err);
}

/* ---- what the core sees ---- */

void sse_end(struct sse_link *l, const struct mcplug_error *why)
{
    struct web_outbox *o = &l->outbox;
    if (l->is_over)
        return;
    l->is_over = 1;
    o->is_shut = 1;
    sse_stream_stop(l);
    web_outbox_drop(o);
    o->host->wire->closed(o->conn, l->is_closing ? NULL : why);
}

static int link_send(void *t, mcplug_buf *frame, const struct mcplug_envelope *env,
                     struct mcplug_error *err)
{
    struct sse_link *l = t;
    if (l->is_over) {
        l->outbox.host->mem->buf_unref(frame);
        return l->outbox.host->diag->fail(err, MCPLUG_ECLOSED,
                                          "the connection is closed");
    }
    return sse_post(l, frame, env, err);
}

static void link_close(void *t)
{
    struct sse_link *l = t;
    l->is_closing = 1;
    sse_end(l, NULL);
}

static void link_destroy(void *t)
{
    struct sse_link *l = t;
    const struct mcplug_host *host = l->outbox.host;
    sse_stream_stop(l);
    web_outbox_clear(&l->outbox);
    web_answer_clear(host, &l->answer);
    host->mem->free(l->endpoint);
    host->mem->free(l->url);
    host->mem->free(l);
}

static void link_cancel(void *t, uint64_t exchange)
{
    struct sse_link *l = t;
    web_outbox_cancel(&l->outbox, exchange);
}

static int sse_open(void *ctx, mcplug_conn *conn, const mcplug_props *settings,
                    void **out, struct mcplug_error *err)
{
    struct web_module *module = ctx;
    const struct mcplug_host *host = module->host;
    const char *url = host->diag->prop(settings, "url");
    struct sse_link *l = host->mem->alloc(sizeof *l);
    if (l == NULL || (l->url = host->mem->alloc(strlen(url) + 1)) == NULL) {
        host->mem->free(l);
        return host->diag->fail(err, MCPLUG_ENOMEM, "out of memory");
    }
    strcpy(l->url, url);
    int r = web_outbox_init(&l->outbox, &post_ops, module, conn, settings, url, err);
    if (r != MCPLUG_OK) {
        host->mem->free(l->url);
        host->mem->free(l);
        return r;
    }
    r = sse_stream_open(l, err);
    if (r == MCPLUG_OK)
        *out = l;
    else
        link_destroy(l);
    return r;
}

static const struct mcplug_option options[] = {
    {"url", "url", NULL, "URL of the stream: http://HOST[:PORT]/PATH or https://.."},
    WEB_OPTIONS,
    {NULL, NULL, NULL, NULL},
};

static const struct mcplug_transport_ops ops = {
    .struct_size = sizeof ops,
    .open = sse_open,
    .send = link_send,
    .close = link_close,
    .destroy = link_destroy,
    .cancel = link_cancel,
};

static const struct mcplug_feature features[] = {
    {
        .kind = MCPLUG_TRANSPORT,
        .name = "sse",
        .summary = "a server behind a URL, HTTP+SSE of 2024-11-05",
        .options = options,
        .ops = &ops,
    },
};

MCPLUG_PLUGIN(sse) = {
    MCPLUG_HEAD(4),   MCPLUG_FEATURES(features), .name = "sse",
    .version = "1.0", .license = "MIT",          .summary = "Older servers behind a URL",
    .init = web_init, .fini = web_fini,
};
