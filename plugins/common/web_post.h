/* plugins/common/web_post.h - messages on their way to a server, each by a POST.
 *
 * What Streamable HTTP and HTTP+SSE have in common: an outbox for each connection, with
 * the messages under way and those that wait for their turn, and for each message its
 * POST, made again when the server asks for patience. How a message is sent and what its
 * answer means is the binding's, by its functions. A post is the first member of what the
 * binding keeps of a message. [loop]
 *
 *   web_post.c     one message
 *   web_outbox.c   all of them
 *   web_headers.c  what rides beside a message, as headers
 */
#ifndef MCPLUG_COMMON_WEB_POST_H
#define MCPLUG_COMMON_WEB_POST_H

#include "web.h"
#include "web_answer.h"

#define WEB_FIRST_MODERN "2026-07-28"

enum {
    WEB_BUCKETS = 1024,
    WEB_PARAMS_MAX = 64,         /* Mcp-Param-* headers of one call */
    WEB_RETRY_AFTER_MAX = 60000, /* ms; a server that wants more gets no retry */
    WEB_RETRIES_MAX = 3,
    WEB_OPEN_MS = 60000,   /* for an answer to begin */
    WEB_BARRIER_MS = 5000, /* for a POST to be taken; then others go on */
    WEB_CANCEL_MS = 5000,  /* for a cancellation to be answered */
    WEB_LINGER_MS = 2000,  /* for an answer to end that nobody waits for */
    /* Messages that await no reply, of one connection. Calls cannot take their places,
     * nor they those of calls. */
    WEB_ASIDE_MAX = 16,      /* under way */
    WEB_ASIDE_WAITING = 256, /* that wait for their turn; further ones are refused .. */
    WEB_CANCELS_WAITING = 64 /* .. and cancellations before others */
};

struct web_outbox;
struct web_post;

/* Posts that have not begun, in the order in which they came. */
struct web_queue {
    struct web_post *first, **last;
    size_t count;
};

/* A frame on its way. */
struct web_post {
    struct web_outbox *outbox;
    struct web_post *next, **prev; /* in its bucket */
    struct web_queue *queue;       /* NULL: has begun */
    struct web_post *later, **before;
    uint32_t kind;           /* 0: no frame; the binding's own request */
    uint64_t serial, number; /* number 0: no reply is awaited */
    mcplug_buf *frame;
    struct mcplug_pair *headers; /* with their text behind them */
    size_t n_headers;
    int is_modern, once, is_initialize, is_initialized;
    int is_standing; /* a stream that lives as long as the connection: never counted */
    int is_cancel;   /* notifications/cancelled */
    int owes;        /* the core waits to hear that it was written */
    int is_active;   /* counts as one of the requests under way */
    int is_late;     /* does not any more: its POST was not answered in time */
    int is_aside;    /* counts as one of those under way that await no reply */

    mcplug_fetch_request *request;
    mcplug_timer *timer;
    struct web_answer answer;
    unsigned retries;
};

struct web_post_ops {
    /* Sends it, perhaps not for the first time. */
    int (*begin)(struct web_post *p, struct mcplug_error *err);
    /* Its request is over, like mcplug_fetch_events.done(). */
    void (*done)(struct web_post *p, const struct mcplug_error *why);
    /* Frees it, by way of web_post_clear(). */
    void (*free)(struct web_post *p);
    /* An outbox that is shut has no requests under way any more. May be NULL. */
    void (*drained)(struct web_outbox *o);
};

struct web_outbox {
    const struct mcplug_host *host;
    mcplug_self *self;
    mcplug_conn *conn;
    const struct mcplug_fetch *fetch; /* the service */
    mcplug_fetch_client *client;
    const struct web_post_ops *ops;
    int replies;       /* a request's answer is its reply */
    int is_shut;       /* nothing begins any more */
    int is_authorized; /* the headers of the settings have an Authorization */
    size_t n_active, n_late, max_active;
    size_t n_aside;
    struct web_post *buckets[WEB_BUCKETS];
    struct web_queue requests, asides;
    struct web_post *barrier; /* all others wait until it is answered */
    mcplug_timer *hold;       /* requests wait */
};

/* ---- web_outbox.c ---- */

/* The settings of every binding, but its URL. */
#define WEB_OPTIONS                                                                      \
    {"connections", "int", "128",                                                        \
     "how many requests may run at a time; the others wait"},                            \
        MCPLUG_FETCH_OPTIONS

/* For open(). On failure there is nothing to clear. */
int web_outbox_init(struct web_outbox *o, const struct web_post_ops *ops,
                    struct web_module *module, mcplug_conn *conn,
                    const mcplug_props *settings, const char *url,
                    struct mcplug_error *err);
void web_outbox_clear(struct web_outbox *o);
/* Frees every message, without a word. */
void web_outbox_drop(struct web_outbox *o);
/* As send() of a transport, with a post that was made of the frame. Whether it is freed
 * when that fails, its owner need not care: it is. */
int web_outbox_send(struct web_outbox *o, struct web_post *p, struct mcplug_error *err);
/* NULL: none that awaits a reply. */
struct web_post *web_outbox_find(struct web_outbox *o, uint64_t number);
/* As cancel() of a transport. */
void web_outbox_cancel(struct web_outbox *o, uint64_t number);
/* Begins what waits, if there is room. */
void web_outbox_pump(struct web_outbox *o);
/* Requests wait for that long, or until it is called again with less. */
void web_outbox_hold(struct web_outbox *o, uint64_t ms);
/* For web_post.c. */
void web_outbox_enlist(struct web_outbox *o, struct web_post *p);
void web_outbox_delist(struct web_post *p);

/* ---- web_post.c ---- */

/* Fills in what is zero. The frame is taken. `env` NULL: kind 0. MCPLUG_ENOMEM: it is to
 * be freed all the same. */
int web_post_init(struct web_post *p, struct web_outbox *o, mcplug_buf *frame,
                  const struct mcplug_envelope *env);
void web_post_clear(struct web_post *p); /* ends it without a word */
/* Its POST; `more` are headers besides its own, two at most. */
int web_post_start(struct web_post *p, const char *url, const struct mcplug_pair *more,
                   size_t n_more, const char *const *wants,
                   const struct mcplug_fetch_events *events, struct mcplug_error *err);
/* Nobody else would end a request that brings no reply: this does, after so long. */
void web_post_allow(struct web_post *p, uint64_t ms);
/* It is in the server's hands. For events->sent(), too. */
void web_post_written(void *p);
/* The head of its answer says that it was taken, and no reply will follow: whatever else
 * comes holds up nobody. */
void web_post_taken(struct web_post *p);
/* Some of an answer that is an error. More than enough of it ends the request. */
void web_post_keep(struct web_post *p, struct mcplug_bytes piece);
/* For done(): neither request nor timer is there any more. */
void web_post_rest(struct web_post *p);
/* Begins it once more, then. */
void web_post_again_in(struct web_post *p, int64_t ms);
/* The server wants to be asked later, and will be: true. */
int web_post_waits(struct web_post *p);
/* Tells the core that it is over, and frees it. */
void web_post_end(struct web_post *p, const struct mcplug_error *why);
void web_post_fail(struct web_post *p, int code, const char *text);

/* ---- web_headers.c ---- */

/* What the envelope says of it; NULL: nothing. */
const char *web_meta(const struct mcplug_envelope *env, const char *name);
/* What may be asked twice when a connection breaks: nothing happens by it. */
int web_is_harmless(const char *method);
/* Copies what the frame's envelope says about headers: it may have to wait. Two places
 * stay free at the end. */
int web_headers_take(struct web_post *p, const struct mcplug_envelope *env);

#endif /* MCPLUG_COMMON_WEB_POST_H */
