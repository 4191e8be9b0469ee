/* plugins/common/ports.h - is anybody listening on this machine? */
#ifndef MCPLUG_COMMON_PORTS_H
#define MCPLUG_COMMON_PORTS_H

#include <stddef.h>

/* Sets open[i] to 1 when someone listens on ports[i] of 127.0.0.1, or when it can't be
 * found out, else to 0. Connects to all of them at once, a few dozen at a time, and
 * returns after `timeout_ms` at the latest: who has not answered by then does not listen.
 * [any] */
void ports_open(const int *ports, size_t n, int timeout_ms, unsigned char *open);

#endif /* MCPLUG_COMMON_PORTS_H */
