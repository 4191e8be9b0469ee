/* plugins/common/lookup.h - from a host's name to its addresses.
 *
 * getaddrinfo() may take its time and cannot be called off, so it runs on threads that
 * can be left behind: neither a time-out nor the end of the host waits for one. A thread
 * uses nothing of the host, and its code stays, since modules are never unloaded.
 */
#ifndef MCPLUG_COMMON_LOOKUP_H
#define MCPLUG_COMMON_LOOKUP_H

#include <mcplug/plugin.h>
#include <netdb.h>

enum { LOOKUP_THREADS = 8 }; /* of one module in one host; further names wait */

struct lookups; /* of one module in one host */
struct lookup;

/* give `found`, for freeaddrinfo(). When it is NULL, `reason` says why, and `os_error` is
 * an errno or 0. */
typedef void lookup_fn(void *arg, struct addrinfo *found, const char *reason,
                       int os_error);

/* give; NULL: no memory. [loop], as all of it */
struct lookups *lookups_new(const struct mcplug_host *host, mcplug_self *self);
/* After its lookups have ended or were stopped. NULL is fine. */
void lookups_free(struct lookups *all);

/* `fn` runs once, never inside of this, unless it is stopped before. The texts are
 * copied. NULL: errno tells. */
struct lookup *lookup_start(struct lookups *all, const char *node, const char *port,
                            lookup_fn *fn, void *arg);
void lookup_stop(struct lookup *lookup); /* NULL is fine */

#endif /* MCPLUG_COMMON_LOOKUP_H */
