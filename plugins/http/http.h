/* plugins/http/http.h - Streamable HTTP, every revision of it.
 *
 *   http.c      what the core sees: open, send, close; the session
 *   exchange.c  one message, or the session's own stream: from its beginning to its end
 *   reply.c     what is read of an answer
 *   stream.c    a stream that broke off, and is taken up again
 *   refused.c   an answer that is an error, and what can be done about it
 *   probe.c     a health check: does a URL answer?
 *
 * Up to 2025-11-25 there are sessions: an id that the server may give out with the
 * answer to initialize, a stream for what it says unasked (GET), streams that can be
 * taken up again where they broke off (Last-Event-ID). Since 2026-07-28 every request
 * stands for itself. Which of both a frame belongs to rides beside it. [loop]
 */
#ifndef MCPLUG_HTTP_H
#define MCPLUG_HTTP_H

#include "../common/sse.h"
#include "../common/web_post.h"

enum {
    HTTP_PAUSE_MIN = 50,    /* ms; before a stream is taken up again, .. */
    HTTP_STOOD_MS = 1000,   /* .. but if it ended within so long .. */
    HTTP_SHORT_MAX = 4,     /* .. so often in a row, twice that, and so on, .. */
    HTTP_DOUBLINGS = 5,     /* .. up to so often: 1.6 s, and 25.6 s .. */
    HTTP_OWN_DOUBLINGS = 9, /* .. for the session's own stream */
    HTTP_HOLD_MS = 250,     /* for the session's stream, before the first request */
    HTTP_LINGER_MAX = 16,   /* streams at a time that have said everything */
    HTTP_DELETE_MS = 2000,  /* for the end of a session */
    HTTP_OVER_MS = 1000,    /* for the answers of a session that the server has ended */
    HTTP_LOSSES_MAX = 3     /* of the session's stream in a row: the server is gone */
};

enum http_reading { HTTP_NOTHING, HTTP_JSON, HTTP_EVENTS, HTTP_PROBLEM };

/* A frame on its way, or the session's own stream (kind 0). */
struct http_exchange {
    struct web_post post; /* first */
    struct http_link *link;
    int is_settled;  /* its reply is in */
    int lingers;     /* its stream should end by itself */
    int had_session; /* its id went along */
    enum http_reading reading;
    struct sse_in *events;
    int is_partial;  /* some of an event has been fed */
    int has_skipped; /* and some has not, for its type at that time */
    int fed;
    unsigned losses;
    struct mcplug_error *lost; /* why its stream broke off; NULL: it did not */
    uint64_t began;            /* of a stream */
    uint64_t since;            /* the same of the current one; 0: did not begin */
    unsigned n_short;          /* streams in a row that ended soon */
};

struct http_link {
    struct web_outbox outbox;
    char *url;
    char *session; /* id; NULL: none */
    int over;      /* the status by which the server said that it has ended; 0: not */
    char revision[16];
    size_t n_lingering;
    struct http_exchange *stream;   /* what the server says unasked */
    mcplug_fetch_request *farewell; /* DELETE */
    mcplug_timer *patience;         /* with it, or for answers when `over` */
    int is_closing, is_over;
};

/* ---- http.c ---- */

/* The connection is over. */
void http_end(struct http_link *l, const struct mcplug_error *why);
/* The server has said, with that status, that the session is no more. The connection goes
 * with it, as soon as the other requests of the session have their answers. */
void http_session_over(struct http_link *l, int status);

/* ---- exchange.c ---- */

extern const struct web_post_ops http_exchange_ops;
/* NULL: no memory. The frame is taken. */
struct http_exchange *http_exchange_new(struct http_link *l, mcplug_buf *frame,
                                        const struct mcplug_envelope *env);
void http_exchange_free(struct http_exchange *e); /* ends it without a word */
void http_exchange_settled(struct http_exchange *e);
/* Opens the stream for what the server says unasked. */
int http_stream_open(struct http_link *l, struct mcplug_error *err);

/* ---- reply.c ---- */

/* Headers of an answer that are looked at: the session's id, and who may come in. */
extern const char *const http_wanted[];
void http_reply_head(void *e, const struct mcplug_fetch_head *head);
void http_reply_body(void *e, struct mcplug_bytes piece);
/* The stream is over: what it has not ended is forgotten. */
void http_reply_drop_partial(struct http_exchange *e);

/* ---- stream.c ---- */

/* Can the stream be taken up where it broke off? */
int http_is_resumable(const struct http_exchange *e);
/* The session's stream has ended: it is opened again, unless the server does not want
 * it, or is gone. */
void http_stream_ended(struct http_exchange *e, const struct mcplug_error *why);
/* The answer to a request has ended, `why` NULL: in good order. */
void http_reply_ended(struct http_exchange *e, const struct mcplug_error *why);

/* ---- refused.c ---- */

/* The answer is an error: the request is made again, or has failed. */
void http_refused(struct http_exchange *e);
/* Puts the answer in words. */
void http_explain(const struct http_exchange *e, struct mcplug_error *why);
/* Does it say that the session is no more? */
int http_says_session_over(const struct http_exchange *e);

/* ---- probe.c ---- */

extern const struct mcplug_probe_ops http_probe_ops;
extern const struct mcplug_option http_probe_options[];

#endif
