/* plugins/http/http.h - Streamable HTTP, every revision of it.
 *
 *   http.c      what the core sees: open, send, close; the queue
 *   exchange.c  one message: its POST, its reply, a stream that is taken up again
 *   sse.c       the same for HTTP+SSE of 2024-11-05, where replies come on one stream
 *   ide.c       both for an editor on this machine
 *   headers.c   what rides beside a message, as headers
 *   answer.c    what a status means, in words
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
#include "../common/web.h"

#define HTTP_FIRST_MODERN "2026-07-28"

enum {
    HTTP_BUCKETS = 1024,
    HTTP_PARAMS_MAX = 64,         /* Mcp-Param-* headers of one call */
    HTTP_PROBLEM_MAX = 65536,     /* what is read of an answer that is an error */
    HTTP_RETRY_AFTER_MAX = 60000, /* ms; a server that wants more gets no retry */
    HTTP_RETRIES_MAX = 3,
    HTTP_PAUSE_MIN = 50,    /* ms; before a stream is taken up again */
    HTTP_OPEN_MS = 60000,   /* for a stream to begin */
    HTTP_HOLD_MS = 250,     /* for the session's stream, before the first request */
    HTTP_BARRIER_MS = 5000, /* for a POST to be taken; then others go on */
    HTTP_LINGER_MS = 2000,  /* for a stream to end that has said everything */
    HTTP_LINGER_MAX = 16,   /* how many of those at a time */
    HTTP_DELETE_MS = 2000,  /* for the end of a session */
    HTTP_OVER_MS = 1000,    /* for the answers of a session that the server has ended */
    HTTP_LOSSES_MAX = 3     /* of the session's stream in a row: the server is gone */
};

enum http_reading { HTTP_NOTHING, HTTP_JSON, HTTP_EVENTS, HTTP_PROBLEM };

struct http_link;

/* A frame on its way, or the session's own stream (kind 0). */
struct http_exchange {
    struct http_link *link;
    struct http_exchange *next, **prev;    /* in its bucket */
    struct http_exchange *later, **before; /* in the queue */
    uint32_t kind;
    uint64_t serial, number; /* number 0: no reply is awaited */
    mcplug_buf *frame;
    struct mcplug_pair *headers; /* with their text behind them */
    size_t n_headers;
    int is_modern, once, is_initialize, is_initialized;
    int is_standing; /* a stream that lives as long as the connection: never counted */
    int is_queued;   /* has not begun */
    int owes;        /* the core waits to hear that it was written */
    int is_settled;  /* its reply is in */
    int lingers;     /* its stream should end by itself */
    int is_active;   /* counts as one of the requests under way */
    int had_session;

    mcplug_fetch_request *request;
    mcplug_timer *timer;
    enum http_reading reading;
    int status;
    int64_t retry_after_ms;
    char type[64];
    struct sse_in *events;
    int is_partial;  /* some of an event has been fed */
    int has_skipped; /* and some has not, for its type at that time */
    int fed;
    unsigned retries, losses;
    struct mcplug_error *lost; /* why its stream broke off; NULL: it did not */
    uint64_t began;            /* of a stream */
    char *problem;
    size_t problem_len;
};

struct http_link {
    const struct mcplug_host *host;
    mcplug_self *self;
    mcplug_conn *conn;
    const struct mcplug_fetch *fetch; /* the service */
    mcplug_fetch_client *client;
    char *url;
    int is_sse;     /* HTTP+SSE */
    int is_ide;     /* an editor, which wants to be greeted */
    char *endpoint; /* with it: where messages go; NULL before it is told */
    char *session;  /* id; NULL: none */
    int over;       /* the status by which the server said that it has ended; 0: not */
    char revision[16];
    size_t n_active, max_active, n_lingering;
    struct http_exchange *buckets[HTTP_BUCKETS];
    struct http_exchange *first, **last; /* the queue */
    struct http_exchange *barrier;       /* all others wait until it is answered */
    struct http_exchange *stream;        /* what the server says unasked */
    mcplug_timer *hold;                  /* requests wait for the stream to begin */
    mcplug_fetch_request *farewell;      /* DELETE */
    mcplug_timer *patience;              /* with it, or for answers when `over` */
    const char *refusal;                 /* of an endpoint; static text */
    int is_closing, is_over;
};

/* ---- http.c ---- */

/* The connection is over. */
void http_end(struct http_link *l, const struct mcplug_error *why);
/* The server has said, with that status, that the session is no more. The connection goes
 * with it, as soon as the other requests of the session have their answers. */
void http_session_over(struct http_link *l, int status);
/* Begins what waits, if there is room. */
void http_pump(struct http_link *l);
/* Takes it from the queue, if it is there. */
void http_unqueue(struct http_exchange *e);
/* Requests wait for that long, or until it is called again with less. */
void http_hold(struct http_link *l, uint64_t ms);

/* For open() of either binding. `extra` goes along with every request; NULL, or a NULL
 * name: none. */
int http_link_new(struct web_module *module, mcplug_conn *conn,
                  const mcplug_props *settings, const char *url,
                  const struct mcplug_pair *extra, struct http_link **out,
                  struct mcplug_error *err);
int http_open(struct web_module *module, mcplug_conn *conn, const mcplug_props *settings,
              const char *url, const struct mcplug_pair *extra, void **out,
              struct mcplug_error *err);
void http_link_close(void *t);
void http_link_destroy(void *t);
int http_link_send(void *t, mcplug_buf *frame, const struct mcplug_envelope *env,
                   struct mcplug_error *err);
void http_link_cancel(void *t, uint64_t exchange);
void http_link_settled(void *t, uint64_t exchange);

#define HTTP_OPTIONS                                                                     \
    {"connections", "int", "128", "how many requests may be under way; more wait"},      \
        MCPLUG_FETCH_OPTIONS

/* ---- sse.c ---- */

extern const struct mcplug_transport_ops http_sse_ops;
extern const struct mcplug_option http_sse_options[];
int http_sse_open(struct web_module *module, mcplug_conn *conn,
                  const mcplug_props *settings, const char *url,
                  const struct mcplug_pair *extra, void **out, struct mcplug_error *err);
/* The stream says where messages go. */
void http_sse_endpoint(struct http_link *l, const char *said, size_t len);
/* The stream is over, or never came. */
void http_sse_ended(struct http_exchange *stream, const struct mcplug_error *why);

/* ---- ide.c ---- */

extern const struct mcplug_transport_ops http_sse_ide_ops, http_ide_ops;
extern const struct mcplug_option http_ide_options[];
void http_ide_greet(struct http_link *l);

/* ---- exchange.c ---- */

/* NULL: no memory. The frame is taken. */
struct http_exchange *http_exchange_new(struct http_link *l, mcplug_buf *frame,
                                        const struct mcplug_envelope *env);
int http_exchange_begin(struct http_exchange *e, struct mcplug_error *err);
void http_exchange_free(struct http_exchange *e); /* ends it without a word */
/* Tells the core that it is over, and frees it. */
void http_exchange_end(struct http_exchange *e, const struct mcplug_error *why);
void http_exchange_settled(struct http_exchange *e);
void http_exchange_written(struct http_exchange *e);
/* Opens the stream for what the server says unasked. */
int http_stream_open(struct http_link *l, struct mcplug_error *err);

/* ---- headers.c ---- */

/* What the envelope says of it; NULL: nothing. */
const char *http_meta(const struct mcplug_envelope *env, const char *name);
/* What may be asked twice when a connection breaks: nothing happens by it. */
int http_is_harmless(const char *method);
/* Copies what the frame's envelope says about headers: it may have to wait. Two places
 * stay free at the end, for the session and its resumption. */
int http_headers_take(struct http_exchange *e, const struct mcplug_envelope *env);

/* ---- probe.c ---- */

extern const struct mcplug_probe_ops http_probe_ops;
extern const struct mcplug_option http_probe_options[];

/* ---- answer.c ---- */

/* "Not Found"; "" for the less known ones. */
const char *http_status_name(int status);
/* The answer was an error: puts it in words. */
void http_explain(const struct http_exchange *e, struct mcplug_error *why);
/* Does it say that the session is no more? */
int http_says_session_over(const struct http_exchange *e);
/* And that this request was not carried out for it? */
int http_says_not_carried_out(const struct http_exchange *e);
/* Is it a JSON-RPC message, which says more than the status? */
int http_says_jsonrpc(const struct http_exchange *e);

#endif
