/* Processes of mcplug-worker, each with one module. A conversion takes one that is idle,
 * starts one, or waits: there are no more at a time than processors. One that was used is
 * kept for a while, for to load a module takes longer than most conversions. A worker
 * that crashes, hangs or is killed is one failed conversion. [any], blocks */
#ifndef MP_CONVERT_POOL_H
#define MP_CONVERT_POOL_H

#include "base/event.h"
#include "convert/message.h"
#include "loop/loop.h"

#define MP_WORKER_KEPT_MS 30000 /* that an idle worker is kept */

struct mp_pool;

/* give. `program` is the path of mcplug-worker; borrow `loop`. */
struct mp_pool *mp_pool_new(struct mp_loop *loop, const char *program,
                            struct mcplug_error *err);
/* Ends them all. [loop], nothing may be under way. */
void mp_pool_free(struct mp_pool *pool);

/* One request to a worker that has loaded `file`. In: m->head, texts and, if `n_fds`,
 * descriptors. Out: the answer, with no descriptors. MCPLUG_ETIMEDOUT: not in
 * `timeout_ms`, the wait for a worker included; MCPLUG_ECANCELED; MCPLUG_EIO: it ended;
 * or why the module cannot be loaded. */
int mp_pool_ask(struct mp_pool *pool, const char *file, struct mp_worker_message *m,
                int n_fds, uint64_t timeout_ms, const atomic_bool *cancelled,
                struct mcplug_error *err);

/* Fills `err` with what a worker says went wrong, and returns the code. */
int mp_pool_fail(struct mcplug_error *err, const struct mp_worker_message *m);
/* Sees to it that idle workers end in time; after each conversion. [loop] */
void mp_pool_watch(struct mp_pool *pool);
/* How many there are now, idle or not; for tests. */
size_t mp_pool_count(struct mp_pool *pool);

#endif
