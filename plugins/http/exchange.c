#include "http.h"

#include "../common/header.h"

#include <stdio.h>
#include <string.h>

/* ---- life ---- */

static void enlist(struct http_exchange *e)
{
    struct http_exchange **at = &e->link->buckets[e->number % HTTP_BUCKETS];
    e->next = *at;
    e->prev = at;
    if (e->next != NULL)
        e->next->prev = &e->next;
    *at = e;
}

struct http_exchange *http_exchange_new(struct http_link *l, mcplug_buf *frame,
                                        const struct mcplug_envelope *env)
{
    struct http_exchange *e = l->host->mem->alloc(sizeof *e);
    const char *method = env != NULL ? http_meta(env, "method") : NULL;
    const char *revision = env != NULL ? http_meta(env, "protocol-version") : NULL;
    if (e == NULL) {
        l->host->mem->buf_unref(frame);
        return NULL;
    }
    e->link = l;
    e->frame = frame;
    e->retry_after_ms = -1;
    if (env != NULL) {
        e->kind = env->kind;
        e->serial = env->serial;
        e->number = env->kind == MCPLUG_REQUEST ? env->exchange : 0;
    }
    e->is_modern = revision != NULL && strcmp(revision, HTTP_FIRST_MODERN) >= 0;
    e->once = method != NULL && e->kind == MCPLUG_REQUEST && !http_is_harmless(method);
    e->is_initialize = method != NULL && strcmp(method, "initialize") == 0;
    e->is_initialized =
        method != NULL && strcmp(method, "notifications/initialized") == 0;
    e->is_standing = method != NULL && strcmp(method, "subscriptions/listen") == 0;
    if (revision != NULL && !e->is_modern)
        snprintf(l->revision, sizeof l->revision, "%s", revision);
    enlist(e);
    if (env != NULL && http_headers_take(e, env) != 0) {
        http_exchange_free(e);
        return NULL;
    }
    return e;
}

static void stop(struct http_exchange *e)
{
    e->link->fetch->stop(e->request);
    e->request = NULL;
    if (e->timer != NULL)
        e->link->host->loop->timer_stop(e->timer);
    e->timer = NULL;
}

void http_exchange_free(struct http_exchange *e)
{
    struct http_link *l = e->link;
    const struct mcplug_mem *mem = l->host->mem;
    stop(e);
    *e->prev = e->next;
    if (e->next != NULL)
        e->next->prev = e->prev;
    http_unqueue(e);
    if (e->is_active)
        l->n_active--;
    if (e->lingers)
        l->n_lingering--;
    if (l->barrier == e)
        l->barrier = NULL;
    if (l->stream == e)
        l->stream = NULL;
    mem->buf_unref(e->frame);
    mem->free(e->headers);
    mem->free(e->events);
    mem->free(e->problem);
    mem->free(e->lost);
    mem->free(e);
}

void http_exchange_written(struct http_exchange *e)
{
    if (e->owes)
        e->link->host->wire->written(e->link->conn, e->serial);
    e->owes = 0;
}

void http_exchange_end(struct http_exchange *e, const struct mcplug_error *why)
{
    struct http_link *l = e->link;
    if (e->number != 0)
        l->host->wire->exchange_end(l->conn, e->number, why);
    else
        http_exchange_written(e); /* nobody waits for it, but it is counted */
    if (why != NULL && e->number == 0 && e->kind != 0)
        l->host->diag->log(l->self, MCPLUG_LOG_WARN, "a %s was not taken: %s",
                           e->kind == MCPLUG_RESPONSE ? "response" : "notification",
                           why->text);
    http_exchange_free(e);
    http_pump(l);
}

static void fail_without_memory(struct http_exchange *e)
{
    struct mcplug_error why = MCPLUG_ERROR_INIT;
    e->link->host->diag->fail(&why, MCPLUG_ENOMEM, "out of memory");
    http_exchange_end(e, &why);
}

static void keep_problem(struct http_exchange *e, struct mcplug_bytes piece)
{
    size_t room = HTTP_PROBLEM_MAX - e->problem_len;
    size_t n = piece.len < room ? piece.len : room;
    char *more = e->link->host->mem->resize(e->problem, e->problem_len + n + 1);
    if (more == NULL)
        return;
    memcpy(more + e->problem_len, piece.data, n);
    e->problem = more;
    e->problem_len += n;
}

/* ---- events ---- */

static int is_message(const char *type)
{
    return type[0] == '\0' || strcmp(type, "message") == 0;
}

/* The fields of an event have no order: what it is may be said behind its data, and only
 * on_event() knows. Until then an event that has not said so is taken for a message, or,
 * while the endpoint is waited for, for that. */
static void on_data(void *arg, const char *type, struct mcplug_bytes piece)
{
    struct http_exchange *e = arg;
    struct http_link *l = e->link;
    if (l->is_sse && l->endpoint == NULL) {
        if (type[0] == '\0' || strcmp(type, "endpoint") == 0)
            keep_problem(e, piece);
        return;
    }
    if (e->is_settled)
        return;
    if (!is_message(type)) {
        e->has_skipped = 1;
        return;
    }
    e->is_partial = 1;
    e->link->host->wire->feed(e->link->conn, e->number, piece, 0);
}

static void on_event(void *arg, const char *type, int has_data)
{
    struct http_exchange *e = arg;
    struct http_link *l = e->link;
    (void)has_data;
    if (l->is_sse && l->endpoint == NULL && strcmp(type, "endpoint") == 0)
        http_sse_endpoint(l, e->problem, e->problem_len);
    e->problem_len = 0;
    if (e->is_partial && (!is_message(type) || e->has_skipped))
        l->host->wire->discard(l->conn, e->number);
    else if (e->is_partial)
        l->host->wire->feed(l->conn, e->number, (struct mcplug_bytes){NULL, 0}, 1);
    e->is_partial = e->has_skipped = 0;
}

static int read_events(struct http_exchange *e)
{
    e->reading = HTTP_EVENTS;
    if (e->events != NULL)
        return 0;
    e->events = e->link->host->mem->alloc(sizeof *e->events);
    if (e->events == NULL)
        return -1;
    sse_in_init(e->events, on_data, on_event, e);
    return 0;
}

/* ---- the answer ---- */

static const char *const wanted[] = {"Mcp-Session-Id", NULL};

static void keep_session(struct http_exchange *e, const char *id)
{
    const struct mcplug_mem *mem = e->link->host->mem;
    if (id == NULL || e->link->is_sse)
        return;
    for (const char *p = id; *p != '\0'; p++)
        if (*p < 0x21 || *p > 0x7e)
            return;
    mem->free(e->link->session);
    e->link->session = mem->alloc(strlen(id) + 1);
    if (e->link->session != NULL)
        strcpy(e->link->session, id);
}

static void stream_began(struct http_exchange *e)
{
    e->losses = 0;
    e->began = e->link->host->loop->now(e->link->self) + 1; /* never 0 */
}

static void on_done(void *arg, const struct mcplug_error *why);

static void on_taken(void *arg)
{
    struct http_exchange *e = arg;
    e->timer = NULL;
    e->link->fetch->stop(e->request);
    on_done(e, NULL);
}

/* No reply is awaited, and it was taken: whatever else comes holds up nobody. */
static void taken(struct http_exchange *e)
{
    struct http_link *l = e->link;
    if (e->timer != NULL)
        l->host->loop->timer_stop(e->timer);
    e->timer = l->host->loop->timer_start(l->self, HTTP_LINGER_MS, on_taken, e);
    if (l->barrier != e)
        return;
    l->barrier = NULL;
    if (l->hold == NULL)
        http_hold(l, 0); /* not from inside of curl */
}

static void on_head(void *arg, const struct mcplug_fetch_head *head)
{
    struct http_exchange *e = arg;
    int awaits = (e->number != 0 && !e->link->is_sse) || e->kind == 0;
    http_exchange_written(e);
    e->status = head->status;
    e->retry_after_ms = head->retry_after_ms;
    snprintf(e->type, sizeof e->type, "%s", head->type);
    if (e->kind == 0 && !e->link->is_sse && e->timer != NULL) { /* it has begun */
        e->link->host->loop->timer_stop(e->timer);
        e->timer = NULL;
    }
    if (e->kind == 0 && e->link->hold != NULL)
        http_hold(e->link, 0); /* not from inside of curl */
    if (head->status >= 300)
        e->reading = HTTP_PROBLEM;
    else if (!awaits || head->status == 202 || head->status == 204)
        e->reading = HTTP_NOTHING;
    else if (strcmp(head->type, "text/event-stream") == 0 && read_events(e) == 0)
        stream_began(e);
    else if (strcmp(head->type, "application/json") == 0 && e->kind != 0)
        e->reading = HTTP_JSON;
    else
        e->reading = HTTP_PROBLEM;
    if (head->status < 300 && e->is_initialize)
        keep_session(e, head->values[0]);
    if (head->status < 300 && !awaits)
        taken(e);
}

static void refused(struct http_exchange *e);

/* More is not read of an error. */
static void on_enough(void *arg)
{
    struct http_exchange *e = arg;
    e->timer = NULL;
    e->link->fetch->stop(e->request);
    e->request = NULL;
    refused(e);
}

static void on_body(void *arg, struct mcplug_bytes piece)
{
    struct http_exchange *e = arg;
    switch (e->reading) {
    case HTTP_NOTHING:
        break;
    case HTTP_JSON:
        if (e->is_settled) /* too long, and refused already */
            break;
        e->fed = 1;
        e->link->host->wire->feed(e->link->conn, e->number, piece, 0);
        break;
    case HTTP_EVENTS:
        sse_in_feed(e->events, piece.data, piece.len);
        break;
    case HTTP_PROBLEM:
        keep_problem(e, piece);
        if (e->problem_len == HTTP_PROBLEM_MAX && e->kind != 0 && e->timer == NULL)
            e->timer = e->link->host->loop->timer_start(e->link->self, 0, on_enough, e);
        break;
    }
}

/* ---- once more ---- */

static void on_again(void *arg)
{
    struct http_exchange *e = arg;
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    e->timer = NULL;
    if (e->link->over != 0)
        return; /* it goes with the connection */
    if (http_exchange_begin(e, &err) != MCPLUG_OK)
        http_exchange_end(e, &err);
}

static void again_in(struct http_exchange *e, int64_t ms)
{
    e->timer = e->link->host->loop->timer_start(e->link->self, (uint64_t)ms, on_again, e);
    if (e->timer == NULL)
        fail_without_memory(e);
}

/* Can the stream be taken up where it broke off? */
static int is_resumable(const struct http_exchange *e)
{
    return e->events != NULL && !e->is_modern && e->events->id[0] != '\0' &&
           header_is_value(e->events->id);
}

static int64_t pause_before(const struct http_exchange *e)
{
    int64_t wanted = e->events != NULL && e->events->retry_ms >= 0
                         ? e->events->retry_ms
                         : (e->kind == 0 ? 1000 : 0);
    int64_t patience = e->losses > 1 ? 500LL << (e->losses < 7 ? e->losses : 7) : 0;
    if (wanted > HTTP_RETRY_AFTER_MAX)
        wanted = HTTP_RETRY_AFTER_MAX;
    if (wanted < HTTP_PAUSE_MIN)
        wanted = HTTP_PAUSE_MIN; /* or a stream that ends at once keeps us busy */
    return wanted > patience ? wanted : patience;
}

static void drop_partial(struct http_exchange *e)
{
    if (e->events != NULL)
        sse_in_restart(e->events);
    if (e->is_partial)
        e->link->host->wire->discard(e->link->conn, e->number);
    e->is_partial = e->has_skipped = 0;
}

/* The session's stream has ended: it is opened again, unless the server does not want
 * it, or is gone. */
static void stream_ended(struct http_exchange *e, const struct mcplug_error *why)
{
    struct http_link *l = e->link;
    if (why == NULL && e->reading != HTTP_EVENTS) {
        if (e->began != 0 && (e->status == 429 || e->status >= 500)) {
            e->losses++; /* of whoever stands before the server: it may pass */
            again_in(e, pause_before(e));
            return;
        }
        int over = http_says_session_over(e) && e->began != 0 ? e->status : 0;
        http_exchange_free(e);
        if (over != 0)
            http_session_over(l, over);
        return;
    }
    if (why != NULL && ++e->losses > HTTP_LOSSES_MAX) {
        if (e->began != 0)
            http_end(l, why);
        else /* it never was there */
            http_exchange_free(e);
        return;
    }
    again_in(e, pause_before(e));
}

/* A reply's stream broke off. If it cannot be taken up again, this is the reason. */
static void keep_loss(struct http_exchange *e, const struct mcplug_error *why)
{
    if (e->lost == NULL)
        e->lost = e->link->host->mem->alloc(sizeof *e->lost);
    if (e->lost != NULL)
        *e->lost = *why;
}

static void reply_ended(struct http_exchange *e, const struct mcplug_error *why)
{
    struct http_link *l = e->link;
    if (e->is_settled) {
        http_exchange_end(e, NULL);
    } else if (e->reading == HTTP_EVENTS && is_resumable(e)) {
        if (why != NULL)
            keep_loss(e, why);
        e->losses += why != NULL;
        again_in(e, pause_before(e));
    } else if (why != NULL && e->lost != NULL) {
        http_exchange_end(e, e->lost);
    } else if (e->reading == HTTP_NOTHING && why == NULL) {
        struct mcplug_error none = MCPLUG_ERROR_INIT;
        http_explain(e, &none);
        http_exchange_end(e, &none);
    } else {
        if (e->reading == HTTP_JSON && e->fed && why == NULL)
            l->host->wire->feed(l->conn, e->number, (struct mcplug_bytes){NULL, 0}, 1);
        http_exchange_end(e, why);
    }
}

/* ---- errors ---- */

static int waits_and_retries(struct http_exchange *e)
{
    if ((e->status != 429 && e->status != 503) || e->retry_after_ms < 0 ||
        e->retry_after_ms > HTTP_RETRY_AFTER_MAX || e->retries >= HTTP_RETRIES_MAX)
        return 0;
    e->retries++;
    again_in(e, e->retry_after_ms);
    return 1;
}

/* A request that was not carried out says so, with 404, and the core sends it again in a
 * new session. One whose reply had begun goes with the connection. */
static void session_over(struct http_exchange *e)
{
    struct http_link *l = e->link;
    struct mcplug_error why = MCPLUG_ERROR_INIT;
    int status = e->status;
    if (http_says_not_carried_out(e)) {
        l->host->diag->fail(&why, MCPLUG_ECLOSED,
                            "the server has ended the session (HTTP %d); the request was "
                            "not carried out",
                            status);
        why.peer_status = 404;
        l->host->wire->exchange_end(l->conn, e->number, &why);
        http_exchange_free(e);
    } else {
        l->n_active -= e->is_active ? 1 : 0;
        e->is_active = 0;
    }
    http_session_over(l, status);
}

static void refused(struct http_exchange *e)
{
    struct http_link *l = e->link;
    struct mcplug_error why = MCPLUG_ERROR_INIT;
    if (waits_and_retries(e))
        return;
    if (http_says_session_over(e)) {
        session_over(e);
        return;
    }
    http_explain(e, &why);
    if (e->lost != NULL)
        why = *e->lost;
    if (e->number != 0 && http_says_jsonrpc(e))
        l->host->wire->feed(
            l->conn, e->number,
            (struct mcplug_bytes){(unsigned char *)e->problem, e->problem_len}, 1);
    http_exchange_end(e, &why);
}

static void on_done(void *arg, const struct mcplug_error *why)
{
    struct http_exchange *e = arg;
    struct http_link *l = e->link;
    e->request = NULL;
    if (e->timer != NULL)
        l->host->loop->timer_stop(e->timer);
    e->timer = NULL;
    drop_partial(e);
    if (l->is_over)
        return;
    if (e->kind == 0 && l->hold != NULL)
        http_hold(l, 0);
    if (e->kind == 0 && l->is_sse) {
        http_sse_ended(e, why);
    } else if (e->kind == 0) {
        stream_ended(e, why);
    } else if (why == NULL && e->reading == HTTP_PROBLEM) {
        refused(e);
    } else if (e->number != 0 && l->is_sse && why == NULL) {
        http_exchange_free(e); /* the reply comes on the stream */
        http_pump(l);
    } else if (e->number != 0) {
        reply_ended(e, why);
    } else {
        int opens = e->is_initialized && why == NULL;
        http_exchange_end(e, why);
        if (opens && l->is_ide)
            http_ide_greet(l);
    }
}

/* ---- beginning ---- */

static void on_sent(void *arg)
{
    http_exchange_written(arg);
}

static const struct mcplug_fetch_events events = {
    .struct_size = sizeof events,
    .head = on_head,
    .body = on_body,
    .sent = on_sent,
    .done = on_done,
};

static void on_too_late(void *arg);

/* Before it begins: the head may be there before start() returns. */
static void allow(struct http_exchange *e, uint64_t ms)
{
    e->timer = e->link->host->loop->timer_start(e->link->self, ms, on_too_late, e);
}

/* A GET, or a POST that brings no reply: nobody else would end it. */
static void on_too_late(void *arg)
{
    struct http_exchange *e = arg;
    struct http_link *l = e->link;
    struct mcplug_error why = MCPLUG_ERROR_INIT;
    e->timer = NULL;
    if (l->barrier == e || e->number != 0) { /* others have waited long enough for it */
        l->barrier = l->barrier == e ? NULL : l->barrier;
        l->n_active -= e->is_active ? 1 : 0;
        e->is_active = 0;
        if (e->number == 0) /* else its reply comes on the stream */
            allow(e, HTTP_OPEN_MS);
        http_pump(l);
        return;
    }
    e->link->fetch->stop(e->request);
    l->host->diag->fail(&why, MCPLUG_ETIMEDOUT, "no %s came within %d s",
                        e->kind == 0 ? "stream" : "answer", HTTP_OPEN_MS / 1000);
    on_done(e, &why);
}

/* A GET: the session's stream, or a reply that is taken up again. */
static int begin_stream(struct http_exchange *e, struct mcplug_error *err)
{
    struct http_link *l = e->link;
    const char *id = is_resumable(e) ? e->events->id : NULL;
    struct mcplug_pair headers[] = {
        {"Accept", "text/event-stream"},
        {"MCP-Protocol-Version", l->revision[0] != '\0' ? l->revision : NULL},
        {"Mcp-Session-Id", l->session},
        {"Last-Event-ID", id},
    };
    struct mcplug_fetch_ask ask = {
        .struct_size = sizeof ask,
        .method = "GET",
        .url = l->url,
        .headers = headers,
        .n_headers = 4,
    };
    e->had_session = l->session != NULL;
    e->reading = HTTP_NOTHING;
    if (e->kind == 0)
        allow(e, HTTP_OPEN_MS);
    return l->fetch->start(l->client, &ask, &events, e, &e->request, err);
}

int http_exchange_begin(struct http_exchange *e, struct mcplug_error *err)
{
    struct http_link *l = e->link;
    e->problem_len = 0;
    e->fed = 0;
    if (e->kind == 0 || (e->number != 0 && is_resumable(e)))
        return begin_stream(e, err);
    size_t n = e->n_headers;
    if (!e->is_modern && !e->is_initialize && l->session != NULL)
        e->headers[n++] = (struct mcplug_pair){"Mcp-Session-Id", l->session};
    e->had_session = n > e->n_headers;
    struct mcplug_fetch_ask ask = {
        .struct_size = sizeof ask,
        .flags = e->once ? MCPLUG_FETCH_ONCE : 0,
        .method = "POST",
        .url = l->is_sse ? l->endpoint : l->url,
        .headers = e->headers,
        .n_headers = n,
        .wants = e->is_initialize ? wanted : NULL,
        .body = e->frame,
    };
    if (e->number == 0 || l->is_sse)
        allow(e, e->is_initialized || e->number != 0 ? HTTP_BARRIER_MS : HTTP_OPEN_MS);
    int r = l->fetch->start(l->client, &ask, &events, e, &e->request, err);
    if (r == MCPLUG_OK && e->number != 0 && !e->is_active && !e->is_standing) {
        e->is_active = 1;
        l->n_active++;
    }
    return r;
}

int http_stream_open(struct http_link *l, struct mcplug_error *err)
{
    if (l->stream != NULL || l->is_closing || l->is_over)
        return MCPLUG_OK;
    l->stream = http_exchange_new(l, NULL, NULL);
    if (l->stream == NULL)
        return l->host->diag->fail(err, MCPLUG_ENOMEM, "out of memory");
    int r = http_exchange_begin(l->stream, err);
    if (r != MCPLUG_OK)
        http_exchange_free(l->stream);
    return r;
}

/* ---- settled ---- */

static void on_lingered(void *arg)
{
    struct http_exchange *e = arg;
    e->timer = NULL;
    http_exchange_end(e, NULL);
}

/* The stream should end by itself, which keeps its connection alive for others. */
void http_exchange_settled(struct http_exchange *e)
{
    struct http_link *l = e->link;
    e->is_settled = 1;
    if (e->request == NULL || l->n_lingering >= HTTP_LINGER_MAX) {
        http_exchange_end(e, NULL);
        return;
    }
    l->n_active -= e->is_active ? 1 : 0;
    e->is_active = 0;
    e->lingers = 1;
    l->n_lingering++;
    if (e->timer != NULL)
        l->host->loop->timer_stop(e->timer);
    e->timer = l->host->loop->timer_start(l->self, HTTP_LINGER_MS, on_lingered, e);
    http_pump(l);
}
