/* plugins/socket/lookup.h - from a host's name to its addresses.
 *
 * getaddrinfo() may take its time, so it runs on a pool thread. It cannot be
 * called off there: hence a thing of its own, which may outlive who asked.
 */
#ifndef MCPLUG_SOCKET_LOOKUP_H
#define MCPLUG_SOCKET_LOOKUP_H

#include "address.h"

struct socket_lookup;

/* give `found`, for freeaddrinfo(); when it is NULL, `why` says why. */
typedef void socket_lookup_fn(void *arg, struct addrinfo *found,
                              const struct mcplug_error *why);

/* `fn` runs once, unless abandoned before. NULL: no memory. [loop] */
struct socket_lookup *socket_lookup_start(const struct mcplug_host *host,
                                          mcplug_self *self,
                                          const struct socket_address *what,
                                          socket_lookup_fn *fn, void *arg);
void socket_lookup_abandon(struct socket_lookup *lookup); /* NULL is fine. [loop] */

#endif /* MCPLUG_SOCKET_LOOKUP_H */
