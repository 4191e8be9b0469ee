/* mcplug/fetch.h - the service "fetch", version 1: HTTP for modules.
 *
 *   const struct mcplug_fetch *fetch =
 *       host->use(self, MCPLUG_FETCH, MCPLUG_FETCH_VERSION, &ctx, err);
 *
 * A client is what some settings say about the network, the connections that are kept
 * alive, and the requests under way. It keeps the rules that no user may forget:
 * redirects only within one origin, what the settings say of a server (headers, our
 * certificate, that its own may be any) only for the origin that they were given for,
 * cookies of that origin only, in memory only and bounded, no netrc, a bounded header
 * block, bounded decompression, keepalive. A request may go to another origin, without
 * all that.
 *
 * Ownership and thread words as in <mcplug/plugin.h>; everything here is [loop]. No event
 * comes from inside of a function of the table, unless a request is eager.
 */
#ifndef MCPLUG_FETCH_H
#define MCPLUG_FETCH_H

#include <mcplug/plugin.h>

#ifdef __cplusplus
extern "C" {
#endif

#define MCPLUG_FETCH "fetch"
#define MCPLUG_FETCH_VERSION 1

#define MCPLUG_FETCH_WANTS_MAX 16 /* headers of an answer that one can ask for */

typedef struct mcplug_fetch_client mcplug_fetch_client;
typedef struct mcplug_fetch_request mcplug_fetch_request;

/* The settings that a client reads. A feature that uses one declares them among its own
 * options, so that people can set them. */
#define MCPLUG_FETCH_OPTIONS                                                             \
    {"headers", "map", NULL, "sent with every request, to this origin only"},            \
        {"caFile", "string", "", "certificates to trust instead of the system's (PEM)"}, \
        {"certFile", "string", "",                                                       \
         "client certificate, if the server requires one (PEM)"},                        \
        {"keyFile", "string", "", "its private key (PEM)"},                              \
        {"insecure", "bool", "false", "accept any certificate of the server"},           \
        {"proxy", "url", "",                                                             \
         "URL of a proxy; none: use no proxy, not even the environment's"},              \
        {"denyAddresses", "addresses", "",                                               \
         "set by the policy: what must not be connected to"},                            \
    {                                                                                    \
        "connectTimeout", "duration", "30s", "time-out of the network connection"        \
    }

/* What a server answered, before its body. borrow, all of it */
struct mcplug_fetch_head {
    uint32_t struct_size;
    int32_t status;
    const char *type;       /* media type, lower case, without parameters; "": none */
    int64_t length;         /* of the body, as announced; -1: not known, compressed */
    int64_t retry_after_ms; /* -1: none */
    /* Of the headers asked for, in that order; NULL: there is none, or it is longer than
     * 8 KiB. Several of one name are joined by commas. */
    const char *const *values;
};

struct mcplug_fetch_events {
    uint32_t struct_size;
    uint32_t reserved; /* 0 */
    /* The final head is in; the body follows. */
    void (*head)(void *arg, const struct mcplug_fetch_head *head);
    void (*body)(void *arg, struct mcplug_bytes piece); /* borrow */
    /* All of it has left, though is_written() had said no after start(); or it failed,
     * but some of it had left: right before done(). May be NULL. */
    void (*sent)(void *arg);
    /* The last one; the request is gone. `why` NULL: the whole answer came. */
    void (*done)(void *arg, const struct mcplug_error *why);
    /* For a body in pieces: fills at most `size` bytes. How many; 0: that was all;
     * MCPLUG_FETCH_LATER: none now, resume() will be called; negative: an MCPLUG_E* that
     * ends the request. */
    int64_t (*pull)(void *arg, unsigned char *buf, size_t size);
};
#define MCPLUG_FETCH_LATER INT64_MAX

/* flags of a request; others are refused */
#define MCPLUG_FETCH_ONCE 1u /* must not be sent again once it was written */
/* head(), body() and pull() may come from inside of start(), of this request or another
 * one of the client: *out is set before. A turn less when the server is quick. */
#define MCPLUG_FETCH_EAGER 2u

struct mcplug_fetch_ask {
    uint32_t struct_size;
    uint32_t flags;
    const char *method; /* "GET" "POST" "DELETE" ..; static text */
    const char *url;    /* borrow, until it is done */
    /* Beside those of the settings, which they replace; a NULL value: not even that is
     * sent. At most 128; names and values are checked, and what says how long a message
     * is, and where it goes, is not to be set. With a Cookie, here or in the settings,
     * those that were kept are not sent. copied */
    const struct mcplug_pair *headers;
    size_t n_headers;
    /* Headers of the answer, NULL-ended, at most MCPLUG_FETCH_WANTS_MAX; static */
    const char *const *wants;
    mcplug_buf *body; /* borrow, until it is done; NULL: none, or .. */
    uint64_t pulled;  /* .. so many bytes by events->pull(), once: a redirect of
                       * a request that has begun to pull is not followed */
};
#define MCPLUG_FETCH_STREAM UINT64_MAX /* pulled: as many as there will be */

struct mcplug_fetch {
    uint32_t struct_size;
    uint32_t caps; /* 0 */
    /* give. `url` is where the settings' headers may go. The settings are read here and
     * not kept. */
    int (*client_new)(void *ctx, const mcplug_props *settings, const char *url,
                      mcplug_fetch_client **out, struct mcplug_error *err);
    /* Ends what is under way, without a word. NULL is fine. Not in an event of its
     * requests. */
    void (*client_free)(mcplug_fetch_client *client);
    /* Begins a request; done() will follow. `events` is static. Not inside of head(),
     * body() or pull() of a request of the same client: MCPLUG_EINVAL. */
    int (*start)(mcplug_fetch_client *client, const struct mcplug_fetch_ask *ask,
                 const struct mcplug_fetch_events *events, void *arg,
                 mcplug_fetch_request **out, struct mcplug_error *err);
    /* Ends a request; no event follows. Also fine in its events but done(). NULL is
     * fine. */
    void (*stop)(mcplug_fetch_request *request);
    /* Has all of the request left? */
    int (*is_written)(const mcplug_fetch_request *request);
    /* After MCPLUG_FETCH_LATER: pull() has something again. */
    void (*resume)(mcplug_fetch_request *request);
};

#ifdef __cplusplus
}
#endif
#endif /* MCPLUG_FETCH_H */
