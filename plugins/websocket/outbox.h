/* plugins/websocket/outbox.h - messages that wait to be sent. [loop] */
#ifndef WEBSOCKET_OUTBOX_H
#define WEBSOCKET_OUTBOX_H

#include "engine.h"

struct ws_message;

struct ws_outbox {
    struct ws_message *first, *last;
    struct ws_message *spare; /* saves an allocation for each message */
    size_t sent;              /* bytes of the first message that have left */
    size_t waiting;           /* bytes in all */
    uint64_t leaving;         /* serial whose end libwebsockets still keeps; 0: none */
    int is_ping_due;
};

/* take `frame`. Bounds what waits, but for a single message, which always may. */
int ws_outbox_add(struct ws_outbox *out, const struct mcplug_host *host,
                  mcplug_buf *frame, uint64_t serial, struct mcplug_error *err);

/* Sends what the socket takes, and asks for a WRITEABLE event if something is left. Tells
 * the core what was written, but for the serial `quiet`. Negative: the connection is
 * broken, and errno may say why. */
int ws_outbox_flush(struct ws_outbox *out, const struct mcplug_host *host,
                    mcplug_conn *conn, struct lws *wsi, unsigned char *buf,
                    uint64_t quiet);

/* Is this serial still to leave? */
int ws_outbox_has(const struct ws_outbox *out, uint64_t serial);

/* Drops everything. */
void ws_outbox_clear(struct ws_outbox *out, const struct mcplug_host *host);

#endif /* WEBSOCKET_OUTBOX_H */
