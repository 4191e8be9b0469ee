/* plugins/sse/sse.h - HTTP+SSE of 2024-11-05.
 *
 * One stream, which first says where messages are to be sent, and then carries everything
 * that the server says. A message's POST is answered with 202 and nothing else.
 *
 *   sse.c     what the core sees: open, send, close; messages
 *   stream.c  the stream
 *
 * [loop]
 */
#ifndef MCPLUG_SSE_H
#define MCPLUG_SSE_H

#include "../common/sse.h"
#include "../common/web_post.h"

struct sse_link {
    struct web_outbox outbox; /* first */
    char *url;
    char *endpoint; /* where messages go; NULL before it is told */
    mcplug_fetch_request *stream;
    mcplug_timer *timer; /* for the endpoint to be told, or the link to end */
    struct web_answer answer;
    struct sse_in events;
    int is_stream;       /* the answer is one of events */
    int is_partial;      /* some of an event has been fed */
    int has_skipped;     /* and some has not, for its type at that time */
    const char *refusal; /* of an endpoint; static text */
    int is_closing, is_over;
};

/* ---- sse.c ---- */

/* Headers of an answer that are looked at. */
extern const char *const sse_wanted[];
/* The connection is over. */
void sse_end(struct sse_link *l, const struct mcplug_error *why);
/* Puts an answer in words. */
void sse_explain(const struct sse_link *l, const struct web_answer *a,
                 struct mcplug_error *why);

/* ---- stream.c ---- */

int sse_stream_open(struct sse_link *l, struct mcplug_error *err);
void sse_stream_stop(struct sse_link *l);

#endif /* MCPLUG_SSE_H */
