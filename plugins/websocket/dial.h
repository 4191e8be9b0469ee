/* plugins/websocket/dial.h - from a name to a connected TCP socket.
 *
 * Done here and not by libwebsockets, which would look names up on the loop's thread,
 * and could not say why a connection failed. [loop]
 */
#ifndef WEBSOCKET_DIAL_H
#define WEBSOCKET_DIAL_H

#include "../common/lookup.h"
#include "target.h"

struct ws_dial;

/* Runs once, unless stopped: `fd` is connected, does not block and is taken; or it is -1
 * and `why` tells the failure of the last address. The dial is gone by then. */
typedef void ws_dial_fn(void *arg, int fd, const struct mcplug_error *why);

/* NULL: errno tells. `to` must outlive the dial. Addresses that it denies are not
 * connected to, whatever name leads to them. */
struct ws_dial *ws_dial_start(const struct mcplug_host *host, mcplug_self *self,
                              struct lookups *lookups, const struct ws_target *to,
                              ws_dial_fn *fn, void *arg);
void ws_dial_stop(struct ws_dial *dial); /* NULL is fine */

#endif /* WEBSOCKET_DIAL_H */
