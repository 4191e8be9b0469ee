/* plugins/websocket/engine.h - libwebsockets, driven by the core's loop.
 *
 * It comes with an integration for libuv, and gets a loop of its own: an epoll
 * descriptor, which the core watches, and a time, for which the core has a timer. So its
 * callbacks come only from within ours, which are turns of the core's loop: nothing that
 * the core does can happen inside of libwebsockets. And when a host is freed, this loop
 * can run until libwebsockets has closed its handles, which it does bit by bit. [loop]
 */
#ifndef WEBSOCKET_ENGINE_H
#define WEBSOCKET_ENGINE_H

#include "target.h"

#include <libwebsockets.h>
#include <signal.h>
#include <uv.h>

enum {
    WS_READ = 64 << 10,      /* read at once, and the longest piece for the core */
    WS_FRAGMENT = 256 << 10, /* longer messages go out in several frames */
    WS_CONNECTIONS = 1024    /* of one host */
};

struct ws_link;

/* TLS settings, and the libwebsockets object for connections that share them. */
struct ws_site {
    struct ws_site *next;
    char *key;
    void *tls; /* SSL_CTX; NULL: plain */
    struct lws_vhost *vhost;
};

struct ws_engine {
    const struct mcplug_host *host;
    mcplug_self *self;
    struct lookups *lookups;
    struct ws_link *links; /* all that are not freed */
    unsigned n_links;
    struct lws_context *lws; /* NULL: not started */
    unsigned char *out;      /* LWS_PRE + WS_FRAGMENT bytes to send from */
    struct ws_site *sites;   /* kept until the end */
    unsigned n_sites, n_tls; /* n_tls: those with TLS */
    int pipe_fd;             /* that libwebsockets wakes itself with */
    uv_loop_t loop;
    mcplug_watch *watch; /* of the loop, while there are links */
    mcplug_timer *timer;
    uint64_t due; /* when the timer rings */
};

/* Starts libwebsockets when the first connection wants it. */
int ws_engine_start(struct ws_engine *engine, struct mcplug_error *err);
/* Closes and frees everything; the links that are left, too. Also fine when it was never
 * started. */
void ws_engine_stop(struct ws_engine *engine);

/* What calls into libwebsockets stands between these two. OpenSSL writes to sockets in a
 * way that raises SIGPIPE when the peer has gone: it is held back and dropped. */
struct ws_guard {
    int is_on;
    sigset_t before;
};
void ws_engine_enter(struct ws_engine *engine, struct ws_guard *guard);
/* With `run`, libwebsockets gets to do what the calls left to be done. */
void ws_engine_leave(struct ws_engine *engine, struct ws_guard *guard, int run);
/* The same in a turn of its own. */
void ws_engine_soon(struct ws_engine *engine);

/* To be called when the first link has come, and the last one gone. */
int ws_engine_wake(struct ws_engine *engine, struct mcplug_error *err);
void ws_engine_rest(struct ws_engine *engine);

/* The site for a target, kept as long as the engine runs. */
int ws_engine_site(struct ws_engine *engine, const struct ws_target *target,
                   struct lws_vhost **out, struct mcplug_error *err);

/* link.c: what libwebsockets calls for each connection. */
int ws_link_event(struct lws *wsi, enum lws_callback_reasons reason, void *user, void *in,
                  size_t len);

#endif /* WEBSOCKET_ENGINE_H */
