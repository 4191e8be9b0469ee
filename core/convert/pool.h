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

struct mp_worker_request { /* borrow, all of it */
    const char *file;      /* a worker that has loaded this module */
    int n_fds;             /* of the message */
    uint64_t timeout_ms;
    const atomic_bool *cancelled; /* NULL: cannot be */
    /* Is this an answer that a worker of ours gives? One that gives another is ended. */
    bool (*is_sound)(void *arg, const struct mp_worker_message *answer);
    void *arg;
};

/* One request. In: m->head, texts and descriptors. Out: the answer, which is sound and
 * has no descriptors. MCPLUG_ETIMEDOUT: not in time, the wait for a worker included;
 * MCPLUG_ECANCELED; MCPLUG_EIO: the worker ended, or its answer is not sound; or why the
 * module cannot be loaded. */
int mp_pool_ask(struct mp_pool *pool, const struct mp_worker_request *request,
                struct mp_worker_message *m, struct mcplug_error *err);

/* Fills `err` with what a worker says went wrong, and returns the code: one that a
 * converter can have. */
int mp_pool_fail(struct mcplug_error *err, const struct mp_worker_message *m);
/* Sees to it that idle workers end in time; after each conversion. [loop] */
void mp_pool_watch(struct mp_pool *pool);
/* How many there are now, idle or not; for tests. */
size_t mp_pool_count(struct mp_pool *pool);

#endif
