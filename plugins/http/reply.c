#include "http.h"

#include <string.h>

/* ---- events ---- */

static int is_message(const char *type)
{
    return type[0] == '\0' || strcmp(type, "message") == 0;
}

/* The fields of an event have no order: what it is may be said behind its data, and only
 * on_event() knows. Until then an event that has not said so is taken for a message. */
static void on_data(void *arg, const char *type, struct mcplug_bytes piece)
{
    struct http_exchange *e = arg;
    const struct web_outbox *o = e->post.outbox;
    if (e->is_settled)
        return;
    if (!is_message(type)) {
        e->has_skipped = 1;
        return;
    }
    e->is_partial = 1;
    o->host->wire->feed(o->conn, e->post.number, piece, 0);
}

static void on_event(void *arg, const char *type, int has_data)
{
    struct http_exchange *e = arg;
    const struct web_outbox *o = e->post.outbox;
    (void)has_data;
    if (e->is_partial && (!is_message(type) || e->has_skipped))
        o->host->wire->discard(o->conn, e->post.number);
    else if (e->is_partial)
        o->host->wire->feed(o->conn, e->post.number, (struct mcplug_bytes){NULL, 0}, 1);
    e->is_partial = e->has_skipped = 0;
}

static int read_events(struct http_exchange *e)
{
    e->reading = HTTP_EVENTS;
    if (e->events != NULL)
        return 0;
    e->events = e->post.outbox->host->mem->alloc(sizeof *e->events);
    if (e->events == NULL)
        return -1;
    sse_in_init(e->events, on_data, on_event, e);
    return 0;
}

void http_reply_drop_partial(struct http_exchange *e)
{
    const struct web_outbox *o = e->post.outbox;
    if (e->events != NULL)
        sse_in_restart(e->events);
    if (e->is_partial)
        o->host->wire->discard(o->conn, e->post.number);
    e->is_partial = e->has_skipped = 0;
}

/* ---- the head ---- */

enum { SESSION, CHALLENGE };
const char *const http_wanted[] = {
    [SESSION] = "Mcp-Session-Id",
    [CHALLENGE] = "WWW-Authenticate",
    NULL,
};

static void keep_session(struct http_link *l, const char *id)
{
    const struct mcplug_mem *mem = l->outbox.host->mem;
    if (id == NULL)
        return;
    for (const char *p = id; *p != '\0'; p++)
        if (*p < 0x21 || *p > 0x7e)
            return;
    mem->free(l->session);
    l->session = mem->alloc(strlen(id) + 1);
    if (l->session != NULL)
        strcpy(l->session, id);
}

static void stream_began(struct http_exchange *e)
{
    const struct web_outbox *o = e->post.outbox;
    e->losses = 0;
    e->began = e->since = o->host->loop->now(o->self) + 1; /* never 0 */
}

static int is_type(const struct mcplug_fetch_head *head, const char *type)
{
    return strcmp(head->type, type) == 0;
}

void http_reply_head(void *arg, const struct mcplug_fetch_head *head)
{
    struct http_exchange *e = arg;
    struct web_outbox *o = e->post.outbox;
    int awaits = e->post.number != 0 || e->post.kind == 0;
    web_post_written(&e->post);
    web_answer_head(&e->post.answer, head, head->values[CHALLENGE]);
    if (e->post.kind == 0 && e->post.timer != NULL) { /* it has begun */
        o->host->loop->timer_stop(e->post.timer);
        e->post.timer = NULL;
    }
    if (e->post.kind == 0 && o->hold != NULL)
        web_outbox_hold(o, 0); /* not from inside of an event */
    if (head->status >= 300)
        e->reading = HTTP_PROBLEM;
    else if (!awaits || head->status == 202 || head->status == 204)
        e->reading = HTTP_NOTHING;
    else if (is_type(head, "text/event-stream") && read_events(e) == 0)
        stream_began(e);
    else if (is_type(head, "application/json") && e->post.kind != 0)
        e->reading = HTTP_JSON;
    else
        e->reading = HTTP_PROBLEM;
    e->post.answer.is_unwanted = e->reading == HTTP_PROBLEM;
    if (head->status < 300 && e->post.is_initialize)
        keep_session(e->link, head->values[SESSION]);
    if (head->status < 300 && !awaits)
        web_post_taken(&e->post);
}

/* ---- the body ---- */

void http_reply_body(void *arg, struct mcplug_bytes piece)
{
    struct http_exchange *e = arg;
    const struct web_outbox *o = e->post.outbox;
    switch (e->reading) {
    case HTTP_NOTHING:
        break;
    case HTTP_JSON:
        if (e->is_settled) /* too long, and refused already */
            break;
        e->fed = 1;
        o->host->wire->feed(o->conn, e->post.number, piece, 0);
        break;
    case HTTP_EVENTS:
        sse_in_feed(e->events, piece.data, piece.len);
        break;
    case HTTP_PROBLEM:
        web_post_keep(&e->post, piece);
        break;
    }
}
