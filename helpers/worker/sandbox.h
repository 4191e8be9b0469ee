/* Locks for a process that works on what others have sent. */
#ifndef WORKER_SANDBOX_H
#define WORKER_SANDBOX_H

#include <mcplug/types.h>

/* Bounds memory, processor time, files and core dumps; before anything else. */
void worker_set_limits(void);
/* From here on no file can be opened, no network reached, no program and no process
 * started, for good; `fd` is the one socket that can be used. MCPLUG_ENOTSUP: this system
 * cannot do that. */
int worker_lock(int fd, struct mcplug_error *err);

#endif
