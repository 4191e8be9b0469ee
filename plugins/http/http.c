#include "http.h"

#include "../common/url.h"

#include <string.h>

/* ---- ending ---- */

static void drop_all(struct http_link *l)
{
    for (size_t i = 0; i < HTTP_BUCKETS; i++)
        while (l->buckets[i] != NULL)
            http_exchange_free(l->buckets[i]);
}

static void let_go(struct http_link *l)
{
    if (l->hold != NULL)
        l->host->loop->timer_stop(l->hold);
    l->hold = NULL;
}

void http_end(struct http_link *l, const struct mcplug_error *why)
{
    if (l->is_over)
        return;
    l->is_over = 1;
    if (l->patience != NULL)
        l->host->loop->timer_stop(l->patience);
    l->patience = NULL;
    let_go(l);
    drop_all(l);
    l->host->wire->closed(l->conn, l->is_closing ? NULL : why);
}

static void end_session(struct http_link *l)
{
    struct mcplug_error why = MCPLUG_ERROR_INIT;
    l->host->diag->fail(&why, MCPLUG_ECLOSED,
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
    if (l->over == 0) {
        l->over = status;
        l->host->mem->free(l->session);
        l->session = NULL;
        if (l->n_active > 0)
            l->patience =
                l->host->loop->timer_start(l->self, HTTP_OVER_MS, on_unanswered, l);
    }
    if (l->n_active == 0 || l->patience == NULL)
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
    l->fetch->stop(l->farewell);
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
        .n_headers = 2,
    };
    l->patience = l->host->loop->timer_start(l->self, HTTP_DELETE_MS, delete_timeout, l);
    return l->patience != NULL
               ? l->fetch->start(l->client, &ask, &events, l, &l->farewell, &err)
               : MCPLUG_ENOMEM;
}

void http_link_close(void *t)
{
    struct http_link *l = t;
    if (l->is_over || l->is_closing)
        return;
    l->is_closing = 1;
    drop_all(l);
    if (l->session == NULL || send_delete(l) != MCPLUG_OK)
        http_end(l, NULL);
}

void http_link_destroy(void *t)
{
    struct http_link *l = t;
    if (l->patience != NULL)
        l->host->loop->timer_stop(l->patience);
    let_go(l);
    drop_all(l);
    l->fetch->client_free(l->client);
    l->host->mem->free(l->session);
    l->host->mem->free(l->endpoint);
    l->host->mem->free(l->url);
    l->host->mem->free(l);
}

/* ---- the queue ---- */

static int may_begin(const struct http_link *l)
{
    return l->barrier == NULL && l->hold == NULL && l->over == 0 &&
           l->n_active < l->max_active;
}

static void enqueue(struct http_link *l, struct http_exchange *e)
{
    e->is_queued = 1;
    e->owes = 1;
    e->later = NULL;
    e->before = l->last;
    *l->last = e;
    l->last = &e->later;
}

void http_unqueue(struct http_exchange *e)
{
    if (!e->is_queued)
        return;
    *e->before = e->later;
    if (e->later != NULL)
        e->later->before = e->before;
    else
        e->link->last = e->before;
    e->is_queued = 0;
}

void http_pump(struct http_link *l)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    if (l->over != 0 && !l->is_over && l->n_active == 0)
        end_session(l);
    while (l->first != NULL && !l->is_over && may_begin(l)) {
        struct http_exchange *e = l->first;
        http_unqueue(e);
        if (http_exchange_begin(e, &err) != MCPLUG_OK) {
            if (e->number != 0)
                l->host->wire->exchange_end(l->conn, e->number, &err);
            http_exchange_free(e);
        } else if (l->fetch->is_written(e->request)) {
            http_exchange_written(e);
        }
    }
}

static void on_held(void *arg)
{
    struct http_link *l = arg;
    l->hold = NULL;
    http_pump(l);
}

void http_hold(struct http_link *l, uint64_t ms)
{
    let_go(l);
    l->hold = l->host->loop->timer_start(l->self, ms, on_held, l);
}

/* The session begins. What the server says unasked should have its stream before the
 * first request can make it say something. */
static void begin_session(struct http_link *l, struct http_exchange *e)
{
    l->barrier = e;
    if (l->is_sse)
        return;
    http_hold(l, HTTP_HOLD_MS); /* before it: the stream may begin in there */
    if (http_stream_open(l, NULL) != MCPLUG_OK)
        http_hold(l, 0);
}

int http_link_send(void *t, mcplug_buf *frame, const struct mcplug_envelope *env,
                   struct mcplug_error *err)
{
    struct http_link *l = t;
    if (l->is_over || l->is_closing) {
        l->host->mem->buf_unref(frame);
        return l->host->diag->fail(err, MCPLUG_ECLOSED, "the connection is closed");
    }
    if (l->over != 0) {
        l->host->mem->buf_unref(frame);
        return l->host->diag->fail(err, MCPLUG_ECLOSED,
                                   "the server has ended the session");
    }
    struct http_exchange *e = http_exchange_new(l, frame, env);
    if (e == NULL)
        return l->host->diag->fail(err, MCPLUG_ENOMEM, "out of memory");
    /* Answers and notifications never wait: a call may wait for them. */
    if (e->number != 0 && !may_begin(l)) {
        enqueue(l, e);
        return MCPLUG_QUEUED;
    }
    int r = http_exchange_begin(e, err);
    if (r != MCPLUG_OK) {
        http_exchange_free(e);
        return r;
    }
    if (e->is_initialized)
        begin_session(l, e);
    if (l->fetch->is_written(e->request))
        return MCPLUG_OK;
    e->owes = 1;
    return MCPLUG_QUEUED;
}

static struct http_exchange *find(struct http_link *l, uint64_t number)
{
    struct http_exchange *e = l->buckets[number % HTTP_BUCKETS];
    while (e != NULL && (e->number != number || e->number == 0))
        e = e->next;
    return e;
}

void http_link_cancel(void *t, uint64_t exchange)
{
    struct http_link *l = t;
    struct http_exchange *e = find(l, exchange);
    if (e == NULL)
        return;
    if (e->request != NULL && l->fetch->is_written(e->request))
        http_exchange_written(e); /* the server may have it */
    http_exchange_free(e);
    http_pump(l);
}

void http_link_settled(void *t, uint64_t exchange)
{
    struct http_exchange *e = find(t, exchange);
    if (e != NULL)
        http_exchange_settled(e);
}

/* ---- what the core sees ---- */

int http_link_new(struct web_module *module, mcplug_conn *conn,
                  const mcplug_props *settings, const char *url_text,
                  const struct mcplug_pair *extra, struct http_link **out,
                  struct mcplug_error *err)
{
    const struct mcplug_host *host = module->host;
    int r = web_use(module, err);
    if (r != MCPLUG_OK)
        return r;
    char peer[URL_HOST_MAX + 32];
    struct url url;
    struct http_link *l = host->mem->alloc(sizeof *l);
    if (l == NULL)
        return host->diag->fail(err, MCPLUG_ENOMEM, "out of memory");
    l->host = host;
    l->self = module->self;
    l->fetch = module->fetch;
    l->conn = conn;
    l->last = &l->first;
    l->url = host->mem->alloc(strlen(url_text) + 1);
    int64_t most = host->diag->prop_int(settings, "connections", 0);
    l->max_active = most < 1 ? 1 : most > 10000 ? 10000 : (size_t)most;
    r = l->url != NULL ? MCPLUG_OK
                       : host->diag->fail(err, MCPLUG_ENOMEM, "out of memory");
    if (r == MCPLUG_OK)
        r = l->fetch->client_new(module->fetch_ctx, settings, strcpy(l->url, url_text),
                                 extra, extra != NULL && extra->name != NULL ? 1 : 0,
                                 &l->client, err);
    if (r != MCPLUG_OK) {
        host->mem->free(l->url);
        host->mem->free(l);
        return r;
    }
    url_parse(l->url, &url);
    url_origin(&url, peer, sizeof peer);
    host->wire->describe(conn, "peer", peer);
    *out = l;
    return MCPLUG_OK;
}

int http_open(struct web_module *module, mcplug_conn *conn, const mcplug_props *settings,
              const char *url, const struct mcplug_pair *extra, void **out,
              struct mcplug_error *err)
{
    struct http_link *l;
    int r = http_link_new(module, conn, settings, url, extra, &l, err);
    if (r != MCPLUG_OK)
        return r;
    l->host->wire->opened(conn); /* nothing to connect: each request does so itself */
    *out = l;
    return MCPLUG_OK;
}

static int plain_open(void *ctx, mcplug_conn *conn, const mcplug_props *settings,
                      void **out, struct mcplug_error *err)
{
    struct web_module *module = ctx;
    return http_open(module, conn, settings, module->host->diag->prop(settings, "url"),
                     NULL, out, err);
}

static const struct mcplug_option options[] = {
    {"url", "string", NULL, "http://HOST[:PORT]/PATH or https://.."},
    HTTP_OPTIONS,
    {NULL, NULL, NULL, NULL},
};

static const struct mcplug_transport_ops ops = {
    .struct_size = sizeof ops,
    .caps = MCPLUG_CAN_EXCHANGE | MCPLUG_MIRRORS_PARAMS,
    .open = plain_open,
    .send = http_link_send,
    .close = http_link_close,
    .destroy = http_link_destroy,
    .cancel = http_link_cancel,
    .settled = http_link_settled,
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
        .kind = MCPLUG_TRANSPORT,
        .name = "sse",
        .summary = "a server behind a URL, HTTP+SSE of 2024-11-05",
        .options = http_sse_options,
        .ops = &http_sse_ops,
    },
    {
        .kind = MCPLUG_TRANSPORT,
        .name = "sse-ide",
        .summary = "an editor on this machine, HTTP+SSE",
        .options = http_ide_options,
        .ops = &http_sse_ide_ops,
    },
    {
        .kind = MCPLUG_TRANSPORT,
        .name = "http-ide",
        .summary = "an editor on this machine, Streamable HTTP",
        .options = http_ide_options,
        .ops = &http_ide_ops,
    },
    {
        .kind = MCPLUG_PROBE,
        .name = "http",
        .summary = "gets a URL, whose status tells",
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
