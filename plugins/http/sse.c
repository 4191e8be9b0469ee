/* HTTP+SSE of 2024-11-05: one stream, which first says where messages are to be sent,
 * and then carries everything that the server says. A message's POST is answered with
 * 202 and nothing else. */
#include "http.h"

#include "../common/url.h"

#include <string.h>

static void give_up(struct http_link *l, const char *what, const char *why)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    l->host->diag->fail(&err, MCPLUG_EPROTO, "%s%s", what, why);
    http_end(l, &err);
}

/* Ends the connection from inside of its own stream, which is not to be freed there. */
static void give_up_soon(void *arg)
{
    struct http_link *l = arg;
    l->patience = NULL;
    give_up(l, l->refusal, "");
}

static void refuse(struct http_link *l, const char *why)
{
    l->refusal = why;
    if (l->patience == NULL)
        l->patience = l->host->loop->timer_start(l->self, 0, give_up_soon, l);
}

/* Relative or absolute, but never elsewhere: our headers go along. */
void http_sse_endpoint(struct http_link *l, const char *said, size_t len)
{
    char reference[URL_MAX], to[URL_MAX];
    struct url here, there;
    if (len == 0 || len >= sizeof reference || memchr(said, '\0', len) != NULL) {
        refuse(l, "the stream's endpoint is no address");
        return;
    }
    memcpy(reference, said, len);
    reference[len] = '\0';
    if (url_resolve(l->url, reference, to, sizeof to) != NULL ||
        url_parse(l->url, &here) != NULL || url_parse(to, &there) != NULL) {
        refuse(l, "the stream's endpoint is no address");
        return;
    }
    if (!url_same_origin(&here, &there)) {
        refuse(l, "the stream's endpoint is at another origin");
        return;
    }
    l->endpoint = l->host->mem->alloc(strlen(to) + 1);
    if (l->endpoint == NULL) {
        refuse(l, "out of memory");
        return;
    }
    strcpy(l->endpoint, to);
    if (l->stream->timer != NULL)
        l->host->loop->timer_stop(l->stream->timer);
    l->stream->timer = NULL;
    l->host->wire->opened(l->conn);
}

void http_sse_ended(struct http_exchange *stream, const struct mcplug_error *why)
{
    struct http_link *l = stream->link;
    struct mcplug_error told = MCPLUG_ERROR_INIT;
    if (why != NULL) {
        http_end(l, why);
        return;
    }
    if (stream->reading == HTTP_EVENTS)
        l->host->diag->fail(&told, MCPLUG_ECLOSED, "the server ended the stream");
    else
        http_explain(stream, &told);
    http_end(l, &told);
}

int http_sse_open(struct web_module *module, mcplug_conn *conn,
                  const mcplug_props *settings, const char *url,
                  const struct mcplug_pair *extra, void **out, struct mcplug_error *err)
{
    struct http_link *l;
    int r = http_link_new(module, conn, settings, url, extra, &l, err);
    if (r != MCPLUG_OK)
        return r;
    l->is_sse = 1;
    r = http_stream_open(l, err);
    if (r == MCPLUG_OK)
        *out = l;
    else
        http_link_destroy(l);
    return r;
}

static int sse_open(void *ctx, mcplug_conn *conn, const mcplug_props *settings,
                    void **out, struct mcplug_error *err)
{
    struct web_module *module = ctx;
    return http_sse_open(module, conn, settings,
                         module->host->diag->prop(settings, "url"), NULL, out, err);
}

const struct mcplug_option http_sse_options[] = {
    {"url", "string", NULL, "of the stream: http://HOST[:PORT]/PATH or https://.."},
    HTTP_OPTIONS,
    {NULL, NULL, NULL, NULL},
};

const struct mcplug_transport_ops http_sse_ops = {
    .struct_size = sizeof http_sse_ops,
    .open = sse_open,
    .send = http_link_send,
    .close = http_link_close,
    .destroy = http_link_destroy,
    .cancel = http_link_cancel,
};
