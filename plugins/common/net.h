/* plugins/common/net.h - HTTP requests on the core's loop, by libcurl.
 *
 * One `struct net` for each connection of the core: what the settings say about the
 * network, the TCP connections that are kept alive, and the requests under way. Here are
 * the rules that no binding may forget: redirects only within one origin, headers of the
 * user's only to the origin that they were given for, no cookies, no netrc, a bounded
 * header block, bounded decompression, keepalive. [loop]
 */
#ifndef MCPLUG_COMMON_NET_H
#define MCPLUG_COMMON_NET_H

#include <mcplug/plugin.h>

enum {
    NET_HEADER_MAX = 65536,    /* bytes of all response headers together */
    NET_DECODED_MAX = 1 << 26, /* bytes that a compressed body may always become .. */
    NET_RATIO_MAX = 64,        /* .. and how many times its size beyond that */
    NET_VALUE_MAX = 8192       /* of a header that we look at */
};

struct net;
struct net_fetch; /* one request under way */

/* The settings that every binding over HTTP has; `url` is the caller's. */
#define NET_OPTIONS                                                                      \
    {"headers", "map", NULL, "sent with every request, to this origin only"},            \
        {"caFile", "string", "", "certificates to trust instead of the system's (PEM)"}, \
        {"certFile", "string", "", "our certificate, if the server wants one (PEM)"},    \
        {"keyFile", "string", "", "its private key (PEM)"},                              \
        {"insecure", "bool", "false", "take any certificate of the server"},             \
        {"proxy", "string", "", "URL of a proxy; none: not even the environment's"},     \
    {                                                                                    \
        "connectTimeout", "duration", "30s", "for the network connection"                \
    }

struct net_head {
    int status;
    int is_json, is_events; /* by its content type */
    char type[64];
    const char *session;    /* Mcp-Session-Id; NULL: none */
    int64_t retry_after_ms; /* -1: none */
};

struct net_events {
    /* The final head is in; the body follows. */
    void (*head)(void *arg, const struct net_head *head);
    void (*body)(void *arg, struct mcplug_bytes piece);
    /* All of it has left, though net_is_written() had said no after net_start(); or it
     * failed, but some of it had left: right before done(). May be NULL. */
    void (*sent)(void *arg);
    /* The last one; the fetch is gone. `why` NULL: the whole answer came. */
    void (*done)(void *arg, const struct mcplug_error *why);
};

struct net_header {
    const char *name;
    const char *value; /* NULL: left out */
};

struct net_ask {
    const char *method;               /* "GET" "POST" "DELETE"; static text */
    const char *url;                  /* borrow, until it is done */
    mcplug_buf *body;                 /* borrow; NULL: none */
    const struct net_header *headers; /* checked already; copied */
    size_t n_headers;
    int once; /* must not be sent again once it was written */
};

/* give. `url` is where the settings' headers may go, and `extra` with them (NULL, or a
 * NULL name: none). */
int net_new(const struct mcplug_host *host, mcplug_self *self,
            const mcplug_props *settings, const char *url, const struct net_header *extra,
            struct net **out, struct mcplug_error *err);
void net_free(struct net *net); /* ends what is under way, without a word */

/* Begins a request; done() will follow, but not in here. */
int net_start(struct net *net, const struct net_ask *ask, const struct net_events *events,
              void *arg, struct net_fetch **out, struct mcplug_error *err);
/* Ends a request; no event follows. Also fine in its events but done(). */
void net_stop(struct net_fetch *fetch);
/* Has all of the request left? */
int net_is_written(const struct net_fetch *fetch);

/* For module's init and fini. */
int net_library_init(const struct mcplug_host *host, struct mcplug_error *err);
void net_library_fini(void);

#endif /* MCPLUG_COMMON_NET_H */
