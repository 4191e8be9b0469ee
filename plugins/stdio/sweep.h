/* plugins/stdio/sweep.h - ending what a server left when its reaper could not. [loop]
 *
 * The search reads what processes of the server can make slow, even endless, so it has a
 * thread of its own, which can be left behind. It shares nothing with us but a socket.
 */
#ifndef MCPLUG_STDIO_SWEEP_H
#define MCPLUG_STDIO_SWEEP_H

#include "../common/mark.h"

#include <mcplug/plugin.h>

struct stdio_sweep;

typedef void stdio_swept_fn(void *arg, struct mark_sweep found);

/* Ends all processes that have `mark` or are in its cgroup, then calls `fn`: from the
 * loop, or, where no thread can be had, before it returns, which is NULL then. */
struct stdio_sweep *stdio_sweep_start(const struct mcplug_host *host, mcplug_self *self,
                                      const char *mark, stdio_swept_fn *fn, void *arg);

/* `fn` is not called any more. Takes NULL. */
void stdio_sweep_abandon(struct stdio_sweep *sweep);

#endif /* MCPLUG_STDIO_SWEEP_H */
