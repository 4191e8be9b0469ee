#include "sse.h"

#include "../common/url.h"

#include <string.h>

static void stop_timer(struct sse_link *l)
{
    if (l->timer != NULL)
        l->outbox.host->loop->timer_stop(l->timer);
    l->timer = NULL;
}

/* ---- where messages go ---- */

/* Ends the connection, but not from inside of an event. */
static void on_refused(void *arg)
{
    struct sse_link *l = arg;
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    l->timer = NULL;
    l->outbox.host->diag->fail(&err, MCPLUG_EPROTO, "%s", l->refusal);
    sse_end(l, &err);
}

static void refuse(struct sse_link *l, const char *why)
{
    l->refusal = why;
    mcplug_timer *soon =
        l->outbox.host->loop->timer_start(l->outbox.self, 0, on_refused, l);
    if (soon == NULL)
        return; /* nothing opens: it ends in time */
    stop_timer(l);
    l->timer = soon;
}

/* Relative or absolute, but never elsewhere: our headers go along. */
static void take_endpoint(struct sse_link *l, const char *said, size_t len)
{
    char reference[URL_MAX], to[URL_MAX];
    struct url here, there;
    if (len == 0 || len >= sizeof reference || memchr(said, '\0', len) != NULL) {
        refuse(l, "the stream's endpoint is not a URL");
        return;
    }
    memcpy(reference, said, len);
    reference[len] = '\0';
    if (url_resolve(l->url, reference, to, sizeof to) != NULL ||
        url_parse(l->url, &here) != NULL || url_parse(to, &there) != NULL) {
        refuse(l, "the stream's endpoint is not a URL");
        return;
    }
    if (!url_same_origin(&here, &there)) {
        refuse(l, "the stream's endpoint is at another origin");
        return;
    }
    l->endpoint = l->outbox.host->mem->alloc(strlen(to) + 1);
    if (l->endpoint == NULL) {
        refuse(l, "out of memory");
        return;
    }
    strcpy(l->endpoint, to);
    stop_timer(l);
    l->outbox.host->wire->opened(l->outbox.conn);
}

/* ---- what it carries ---- */

static int is_message(const char *type)
{
    return type[0] == '\0' || strcmp(type, "message") == 0;
}

/* The fields of an event have no order: what it is may be said behind its data, and only
 * on_event() knows. Until then an event that has not said so is taken for a message, or,
 * while the endpoint is waited for, for that. */
static void on_data(void *arg, const char *type, struct mcplug_bytes piece)
{
    struct sse_link *l = arg;
    const struct web_outbox *o = &l->outbox;
    if (l->endpoint == NULL) {
        if (type[0] == '\0' || strcmp(type, "endpoint") == 0)
            web_answer_keep(o->host, &l->answer, piece);
    } else if (!is_message(type)) {
        l->has_skipped = 1;
    } else {
        l->is_partial = 1;
        o->host->wire->feed(o->conn, 0, piece, 0);
    }
}

static void on_event(void *arg, const char *type, int has_data)
{
    struct sse_link *l = arg;
    const struct web_outbox *o = &l->outbox;
    (void)has_data;
    if (l->endpoint == NULL && l->refusal == NULL && strcmp(type, "endpoint") == 0)
        take_endpoint(l, l->answer.text, l->answer.len);
    l->answer.len = 0;
    if (l->is_partial && (!is_message(type) || l->has_skipped))
        o->host->wire->discard(o->conn, 0);
    else if (l->is_partial)
        o->host->wire->feed(o->conn, 0, (struct mcplug_bytes){NULL, 0}, 1);
    l->is_partial = l->has_skipped = 0;
}

/* ---- its request ---- */

static void on_head(void *arg, const struct mcplug_fetch_head *head)
{
    struct sse_link *l = arg;
    web_answer_head(&l->answer, head, head->values[0]);
    l->is_stream = head->status < 300 && head->status != 202 && head->status != 204 &&
                   strcmp(head->type, "text/event-stream") == 0;
    l->answer.is_unwanted = !l->is_stream && head->status != 202 && head->status != 204;
}

static void on_body(void *arg, struct mcplug_bytes piece)
{
    struct sse_link *l = arg;
    if (l->is_stream)
        sse_in_feed(&l->events, piece.data, piece.len);
    else if (l->answer.is_unwanted)
        web_answer_keep(l->outbox.host, &l->answer, piece);
}

/* It is over, or never came. */
static void on_done(void *arg, const struct mcplug_error *why)
{
    struct sse_link *l = arg;
    const struct mcplug_host *host = l->outbox.host;
    struct mcplug_error told = MCPLUG_ERROR_INIT;
    l->stream = NULL;
    stop_timer(l);
    if (l->is_partial)
        host->wire->discard(l->outbox.conn, 0);
    l->is_partial = 0;
    if (why == NULL && l->is_stream)
        host->diag->fail(&told, MCPLUG_ECLOSED, "the server ended the stream");
    else if (why == NULL)
        sse_explain(l, &l->answer, &told);
    sse_end(l, why != NULL ? why : &told);
}

static void on_too_late(void *arg)
{
    struct sse_link *l = arg;
    struct mcplug_error why = MCPLUG_ERROR_INIT;
    l->timer = NULL;
    l->outbox.fetch->stop(l->stream);
    l->outbox.host->diag->fail(&why, MCPLUG_ETIMEDOUT, "no event stream within %d s",
                               WEB_OPEN_MS / 1000);
    on_done(l, &why);
}

int sse_stream_open(struct sse_link *l, struct mcplug_error *err)
{
    static const struct mcplug_fetch_events events = {
        .struct_size = sizeof events,
        .head = on_head,
        .body = on_body,
        .done = on_done,
    };
    static const struct mcplug_pair accept = {"Accept", "text/event-stream"};
    struct web_outbox *o = &l->outbox;
    struct mcplug_fetch_ask ask = {
        .struct_size = sizeof ask,
        .method = "GET",
        .url = l->url,
        .headers = &accept,
        .n_headers = 1,
        .wants = sse_wanted,
    };
    sse_in_init(&l->events, on_data, on_event, l);
    l->timer = o->host->loop->timer_start(o->self, WEB_OPEN_MS, on_too_late, l);
    return o->fetch->start(o->client, &ask, &events, l, &l->stream, err);
}

void sse_stream_stop(struct sse_link *l)
{
    l->outbox.fetch->stop(l->stream);
    l->stream = NULL;
    stop_timer(l);
}
