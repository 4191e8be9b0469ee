/* plugins/websocket/link.h - one connection, from dialling to its end. [loop] */
#ifndef WEBSOCKET_LINK_H
#define WEBSOCKET_LINK_H

#include "dial.h"
#include "engine.h"
#include "outbox.h"

enum ws_state {
    WS_DIALLING, /* TCP */
    WS_SHAKING,  /* TLS and the upgrade */
    WS_OPEN,
    WS_CLOSING, /* close() was called; our close frame is on its way */
    WS_OVER     /* the core was told */
};

struct ws_link {
    struct ws_engine *engine;
    const struct mcplug_host *host;
    mcplug_self *self;
    mcplug_conn *conn;
    struct ws_link *next; /* in engine->links */
    struct ws_target target;
    struct lws_vhost *vhost; /* the site of the target */
    enum ws_state state;
    struct ws_dial *dial;
    int fd;              /* connected, until libwebsockets has it; -1: none */
    struct lws *wsi;     /* NULL: libwebsockets knows nothing of us (any more) */
    mcplug_timer *timer; /* for connecting, then for silence, at last for closing */
    uint64_t heard;      /* when something came last */
    uint64_t asked;      /* when a ping went out that nothing came after; 0: none */
    int is_excused;      /* a ping was late, but so were we */
    struct ws_outbox out;
    int is_secured;    /* TLS is up, or not wanted */
    int in_message;    /* some of it has been fed */
    int warned_binary; /* once is enough */
    int is_destroyed;  /* the core has no use for it, libwebsockets may have */
    char tls_reason[160];
};

/* After a failure there is nothing to destroy. Clears the target then, too. */
int ws_link_open(struct ws_engine *engine, mcplug_conn *conn, struct ws_target *target,
                 struct ws_link **out, struct mcplug_error *err);
int ws_link_send(struct ws_link *link, mcplug_buf *frame, uint64_t serial,
                 struct mcplug_error *err);
void ws_link_close(struct ws_link *link);
void ws_link_destroy(struct ws_link *link);

/* ---- failure.c: why a connection ended --------------------------------------- */

/* The upgrade failed; `what` is what libwebsockets says to it. */
void ws_failure_shaking(const struct ws_link *link, struct lws *wsi,
                        struct mcplug_bytes what, int os_error, struct mcplug_error *why);
/* The connection ended without a close frame. */
void ws_failure_lost(const struct ws_link *link, struct lws *wsi, int os_error,
                     struct mcplug_error *why);
/* A close frame of the peer: its code and reason. */
void ws_failure_closed(const struct ws_link *link, struct mcplug_bytes payload,
                       struct mcplug_error *why);

#endif /* WEBSOCKET_LINK_H */
