#include "http.h"

#include <string.h>

/* ---- ending ---- */

static void stop_patience(struct http_link *l)
{
    if (l->patience != NULL)
        l->outbox.host->loop->timer_stop(l->patience);
    l->patience = NULL;
}

void http_end(struct http_link *l, const struct mcplug_error *why)
{
    struct web_outbox *o = &l->outbox;
    if (l->is_over)
        return;
    l->is_over = 1;
    o->is_shut = 1;
    stop_patience(l);
    web_outbox_drop(o);
    o->host->wire->closed(o->conn, l->is_closing ? NULL : why);
}

static void end_session(struct http_link *l)
{
    struct mcplug_error why = MCPLUG_ERROR_INIT;
    l->outbox.host->diag->fail(&why, MCPLUG_ECLOSED,
                               "the server has ended the session (HTTP %d)", l->over);
    why.peer_status = 404;
    http_end(l, &why);
}

static void on_unanswered(void *arg)
{
    struct http_link *l = arg;
    l->patience = NULL;
    end_session(l);
}

/* Requests that were made side by side are refused side by side, and only the one that
 * was may be made again: they get a moment to hear of it. */
void http_session_over(struct http_link *l, int status)
{
    struct web_outbox *o = &l->outbox;
    if (l->over == 0) {
        l->over = status;
        o->is_shut = 1;
        o->host->mem->free(l->session);
        l->session = NULL;
        if (o->n_active > 0)
            l->patience =
                o->host->loop->timer_start(o->self, HTTP_OVER_MS, on_unanswered, l);
    }
    if (o->n_active == 0 || l->patience == NULL)
        end_session(l);
}

static void on_farewell_head(void *arg, const struct mcplug_fetch_head *head)
{
    (void)arg, (void)head;
}

static void on_farewell_body(void *arg, struct mcplug_bytes piece)
{
    (void)arg, (void)piece;
}

/* Whatever came of it: the server will forget the session by itself some day. */
static void on_farewell(void *arg, const struct mcplug_error *why)
{
    struct http_link *l = arg;
    (void)why;
    l->farewell = NULL;
    http_end(l, NULL);
}

static void delete_timeout(void *arg)
{
    struct http_link *l = arg;
    l->patience = NULL;
    l->outbox.fetch->stop(l->farewell);
    l->farewell = NULL;
    http_end(l, NULL);
}

static int send_delete(struct http_link *l)
{
    static const struct mcplug_fetch_events events = {
        .struct_size = sizeof events,
        .head = on_farewell_head,
        .body = on_farewell_body,
        .done = on_farewell,
    };
    struct web_outbox *o = &l->outbox;
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    struct mcplug_pair headers[] = {
        {"Mcp-Session-Id", l->session},
        {"MCP-Protocol-Version", l->revision[0] != '\0' ? l->revision : NULL},
    };
    struct mcplug_fetch_ask ask = {
        .struct_size = sizeof ask,
        .method = "DELETE",
        .url = l->url,
        .headers = headers,
        .n_headers = sizeof headers / sizeof headers[0],
    };
    l->patience = o->host->loop->timer_start(o->self, HTTP_DELETE_MS, delete_timeout, l);
    return l->patience != NULL
               ? o->fetch->start(o->client, &ask, &events, l, &l->farewell, &err)
               : MCPLUG_ENOMEM;
}

static void link_close(void *t)
{
    struct http_link *l = t;
    if (l->is_over || l->is_closing)
        return;
    l->is_closing = 1;
    web_outbox_drop(&l->outbox);
    if (l->session == NULL || send_delete(l) != MCPLUG_OK)
        http_end(l, NULL);
}

static void link_destroy(void *t)
{
    struct http_link *l = t;
    const struct mcplug_mem *mem = l->outbox.host->mem;
    stop_patience(l);
    web_outbox_clear(&l->outbox);
    mem->free(l->session);
    mem->free(l->url);
    mem->free(l);
}

/* ---- sending ---- */

/* The session begins. What the server says unasked should have its stream before the
 * first request can make it say something. */
static void begin_session(struct http_link *l)
{
    web_outbox_hold(&l->outbox, HTTP_HOLD_MS);
    if (http_stream_open(l, NULL) != MCPLUG_OK)
        web_outbox_hold(&l->outbox, 0);
}

static int link_send(void *t, mcplug_buf *frame, const struct mcplug_envelope *env,
                     struct mcplug_error *err)
{
    struct http_link *l = t;
    const struct mcplug_host *host = l->outbox.host;
    if (l->is_over || l->is_closing || l->over != 0) {
        host->mem->buf_unref(frame);
        return host->diag->fail(err, MCPLUG_ECLOSED,
                                l->over != 0 ? "the server has ended the session"
                                             : "the connection is closed");
    }
    struct http_exchange *e = http_exchange_new(l, frame, env);
    if (e == NULL)
        return host->diag->fail(err, MCPLUG_ENOMEM, "out of memory");
    int begins = e->post.is_initialized;
    int r = web_outbox_send(&l->outbox, &e->post, err);
    if (r >= MCPLUG_OK && begins)
        begin_session(l);
    return r;
}

static void link_cancel(void *t, uint64_t exchange)
{
    struct http_link *l = t;
    web_outbox_cancel(&l->outbox, exchange);
}

static void link_settled(void *t, uint64_t exchange)
{
    struct http_link *l = t;
    struct web_post *p = web_outbox_find(&l->outbox, exchange);
    if (p != NULL)
        http_exchange_settled((struct http_exchange *)p);
}

/* ---- what the core sees ---- */

static int http_open(void *ctx, mcplug_conn *conn, const mcplug_props *settings,
                     void **out, struct mcplug_error *err)
{
    struct web_module *module = ctx;
    const struct mcplug_host *host = module->host;
    const char *url = host->diag->prop(settings, "url");
    struct http_link *l = host->mem->alloc(sizeof *l);
    if (l == NULL || (l->url = host->mem->alloc(strlen(url) + 1)) == NULL) {
        host->mem->free(l);
        return host->diag->fail(err, MCPLUG_ENOMEM, "out of memory");
    }
    strcpy(l->url, url);
    int r =
        web_outbox_init(&l->outbox, &http_exchange_ops, module, conn, settings, url, err);
    if (r != MCPLUG_OK) {
        host->mem->free(l->url);
        host->mem->free(l);
        return r;
    }
    l->outbox.replies = 1;
    host->wire->opened(conn); /* nothing to connect: each request does so itself */
    *out = l;
    return MCPLUG_OK;
}

static const struct mcplug_option options[] = {
    {"url", "url", NULL, "http://HOST[:PORT]/PATH or https://.."},
    WEB_OPTIONS,
    {NULL, NULL, NULL, NULL},
};

static const struct mcplug_transport_ops ops = {
    .struct_size = sizeof ops,
    .caps = MCPLUG_CAN_EXCHANGE | MCPLUG_MIRRORS_PARAMS,
    .open = http_open,
    .send = link_send,
    .close = link_close,
    .destroy = link_destroy,
    .cancel = link_cancel,
    .settled = link_settled,
};

static const char *const schemes[] = {"http", "https", NULL};

static const struct mcplug_feature features[] = {
    {
        .kind = MCPLUG_TRANSPORT,
        .name = "http",
        .summary = "a server behind a URL, Streamable HTTP of any revision",
        .accepts = schemes,
        .options = options,
        .ops = &ops,
        .next = "sse",
    },
    {
        .kind = MCPLUG_PROBE,
        .name = "http",
        .summary = "requests a URL and checks its HTTP status",
        .accepts = schemes,
        .options = http_probe_options,
        .ops = &http_probe_ops,
    },
};

MCPLUG_PLUGIN(http) = {
    MCPLUG_HEAD(4),   MCPLUG_FEATURES(features), .name = "http",
    .version = "1.0", .license = "MIT",          .summary = "Servers behind a URL",
    .init = web_init, .fini = web_fini,
};
