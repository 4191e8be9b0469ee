/* An answer that is an error. Some lead to another try: begin() makes the headers of the
 * request anew each time, so whoever has better ones, after a 401, gets them in there. */
#include "http.h"

#include "../common/url.h"

#include <stdio.h>
#include <string.h>

static void advise(const struct http_exchange *e, char out[WEB_ADVICE_MAX])
{
    const char *url_text = e->link->url;
    struct url url;
    web_answer_advise(&e->post.answer, e->post.outbox->is_authorized, out);
    if (e->post.answer.status == 405)
        snprintf(out, WEB_ADVICE_MAX,
                 "; the endpoint does not accept POST; is it of type sse?");
    else if (e->post.answer.status == 404)
        snprintf(out, WEB_ADVICE_MAX, "; there is no such endpoint%s",
                 url_parse(url_text, &url) == NULL &&
                         strncmp(url_text + url.target, "/mcp", 4) != 0
                     ? "; try the path /mcp"
                     : "");
}

void http_explain(const struct http_exchange *e, struct mcplug_error *why)
{
    char advice[WEB_ADVICE_MAX];
    advise(e, advice);
    web_answer_explain(e->post.outbox->host, &e->post.answer, advice, why);
}

/* ---- the session ---- */

/* Is it about the method or its parameters, as JSON-RPC has it? */
static int is_about_request(const struct web_answer *a)
{
    return web_answer_is_error(a) &&
           (web_answer_has(a, "-32601") || web_answer_has(a, "-32602"));
}

/* 404 by the book; many servers say 400 and a text about sessions. */
int http_says_session_over(const struct http_exchange *e)
{
    const struct web_answer *a = &e->post.answer;
    if (!e->had_session || e->post.is_modern || is_about_request(a))
        return 0;
    return a->status == 404 || (a->status == 400 && web_answer_has(a, "session"));
}

/* The error of whoever stands before the server, and has not read the request. */
static int is_without_id(const struct web_answer *a)
{
    return web_answer_is_error(a) &&
           (!web_answer_has(a, "\"id\"") || web_answer_has(a, "\"id\":null") ||
            web_answer_has(a, "\"id\": null"));
}

/* Was the request itself refused for that? 404 is what the specification has for it; a
 * 400 may have been said by a tool. One whose reply had begun was carried out. */
static int says_not_carried_out(const struct http_exchange *e)
{
    const struct web_answer *a = &e->post.answer;
    return e->post.number != 0 && e->events == NULL &&
           (a->status == 404 || is_without_id(a));
}

/* A request that was not carried out says so, with 404, and the core sends it again in a
 * new session. One whose reply had begun goes with the connection. */
static void session_over(struct http_exchange *e)
{
    struct http_link *l = e->link;
    struct web_outbox *o = &l->outbox;
    struct mcplug_error why = MCPLUG_ERROR_INIT;
    int status = e->post.answer.status;
    if (says_not_carried_out(e)) {
        o->host->diag->fail(&why, MCPLUG_ECLOSED,
                            "the server has ended the session (HTTP %d); the request was "
                            "not carried out",
                            status);
        why.peer_status = 404;
        o->host->wire->exchange_end(o->conn, e->post.number, &why);
        http_exchange_free(e);
    } else {
        o->n_active -= e->post.is_active ? 1 : 0;
        e->post.is_active = 0;
    }
    http_session_over(l, status);
}

/* ---- all of them ---- */

static void fail(struct http_exchange *e)
{
    const struct web_outbox *o = e->post.outbox;
    const struct web_answer *a = &e->post.answer;
    struct mcplug_error why = MCPLUG_ERROR_INIT;
    http_explain(e, &why);
    if (e->lost != NULL)
        why = *e->lost;
    if (e->post.number != 0 && web_answer_tells(a, e->post.is_initialize))
        o->host->wire->feed(o->conn, e->post.number,
                            (struct mcplug_bytes){(unsigned char *)a->text, a->len}, 1);
    web_post_end(&e->post, &why);
}

void http_refused(struct http_exchange *e)
{
    if (web_post_waits(&e->post))
        return;
    if (http_says_session_over(e))
        session_over(e);
    else
        fail(e);
}
