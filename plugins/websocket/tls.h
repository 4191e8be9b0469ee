/* plugins/websocket/tls.h - TLS settings, and whom to trust. */
#ifndef WEBSOCKET_TLS_H
#define WEBSOCKET_TLS_H

#include "engine.h"

/* An SSL_CTX for connections to `target`. They verify the server as the link says to
 * which their socket belongs, and leave in it why they did not. */
int ws_tls_new(struct ws_engine *engine, const struct ws_target *target, void **out,
               struct mcplug_error *err);
void ws_tls_free(void *tls); /* NULL is fine */

#endif /* WEBSOCKET_TLS_H */
