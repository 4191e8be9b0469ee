#include "http.h"

#include "../common/header.h"

int http_is_resumable(const struct http_exchange *e)
{
    return e->events != NULL && !e->post.is_modern && e->events->id[0] != '\0' &&
           header_is_value(e->events->id);
}

/* A stream has ended. However soon the server wants it taken up again, one that always
 * ends at once is taken up ever more seldom. */
static void note_end(struct http_exchange *e)
{
    const struct web_outbox *o = e->post.outbox;
    int stood =
        e->since != 0 && o->host->loop->now(o->self) + 1 - e->since >= HTTP_STOOD_MS;
    e->since = 0;
    e->n_short = stood ? 0 : e->n_short + 1;
}

static int64_t least_pause(const struct http_exchange *e)
{
    unsigned most = e->post.kind == 0 ? HTTP_OWN_DOUBLINGS : HTTP_DOUBLINGS;
    unsigned n = e->n_short > HTTP_SHORT_MAX ? e->n_short - HTTP_SHORT_MAX : 0;
    return (int64_t)HTTP_PAUSE_MIN << (n < most ? n : most);
}

static int64_t pause_before(const struct http_exchange *e)
{
    int64_t wanted = e->events != NULL && e->events->retry_ms >= 0
                         ? e->events->retry_ms
                         : (e->post.kind == 0 ? 1000 : 0);
    int64_t patience = e->losses > 1 ? 500LL << (e->losses < 7 ? e->losses : 7) : 0;
    if (wanted > WEB_RETRY_AFTER_MAX)
        wanted = WEB_RETRY_AFTER_MAX;
    if (wanted < least_pause(e))
        wanted = least_pause(e);
    return wanted > patience ? wanted : patience;
}

void http_stream_ended(struct http_exchange *e, const struct mcplug_error *why)
{
    struct http_link *l = e->link;
    int status = e->post.answer.status;
    note_end(e);
    if (why == NULL && e->reading != HTTP_EVENTS) {
        if (e->began != 0 && (status == 429 || status >= 500)) {
            e->losses++; /* of whoever stands before the server: it may pass */
            web_post_again_in(&e->post, pause_before(e));
            return;
        }
        int over = http_says_session_over(e) && e->began != 0 ? status : 0;
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
    web_post_again_in(&e->post, pause_before(e));
}

/* A reply's stream broke off. If it cannot be taken up again, this is the reason. */
static void keep_loss(struct http_exchange *e, const struct mcplug_error *why)
{
    if (e->lost == NULL)
        e->lost = e->post.outbox->host->mem->alloc(sizeof *e->lost);
    if (e->lost != NULL)
        *e->lost = *why;
}

void http_reply_ended(struct http_exchange *e, const struct mcplug_error *why)
{
    const struct web_outbox *o = e->post.outbox;
    if (e->is_settled) {
        web_post_end(&e->post, NULL);
    } else if (e->reading == HTTP_EVENTS && http_is_resumable(e)) {
        if (why != NULL)
            keep_loss(e, why);
        note_end(e);
        e->losses += why != NULL;
        web_post_again_in(&e->post, pause_before(e));
    } else if (why != NULL && e->lost != NULL) {
        web_post_end(&e->post, e->lost);
    } else if (e->reading == HTTP_NOTHING && why == NULL) {
        struct mcplug_error none = MCPLUG_ERROR_INIT;
        http_explain(e, &none);
        web_post_end(&e->post, &none);
    } else {
        if (e->reading == HTTP_JSON && e->fed && why == NULL)
            o->host->wire->feed(o->conn, e->post.number, (struct mcplug_bytes){NULL, 0},
                                1);
        web_post_end(&e->post, why);
    }
}
