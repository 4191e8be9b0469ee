/* When to ask a server whether it lives, and what to make of the answers. [loop]
 *
 * A server that says something is alive: it is asked only after having been silent, for
 * `idle_ms` when nobody waits for it, for MP_HEALTH_BUSY_MS when a call does. Any
 * well-formed answer is life. Three checks in a row without one, and it is dead. */
#ifndef MP_REGISTRY_HEALTH_H
#define MP_REGISTRY_HEALTH_H

#include "loop/loop.h"

#include <mcplug/types.h>

#define MP_HEALTH_IDLE_MS 30000
#define MP_HEALTH_BUSY_MS 300000
#define MP_HEALTH_CHECK_MS 3000 /* for one answer */
#define MP_HEALTH_AGAIN_MS 1000 /* between a miss and the next check */
#define MP_HEALTH_MISSES 3

struct mp_health;

struct mp_health_ops {
    /* Since the last byte came in. */
    uint64_t (*silent_ms)(struct mp_health *h);
    /* Does somebody wait for an answer? */
    bool (*busy)(struct mp_health *h);
    /* Begin one check: mp_health_checked() follows, once, not from inside, unless
     * cancel() is called before. An error is a miss. */
    int (*check)(struct mp_health *h, struct mcplug_error *err);
    void (*cancel)(struct mp_health *h);
    /* It is dead, and not watched any more; `h` may be gone when this returns. Comes from
     * a timer or mp_health_checked(), never from watch, rest or suspect. */
    void (*dead)(struct mp_health *h, const struct mcplug_error *why);
};

struct mp_health {
    const struct mp_health_ops *ops;
    struct mp_loop *loop;
    uint64_t idle_ms; /* UINT64_MAX: an idle server is never asked; at least AGAIN_MS */
    unsigned misses;  /* in a row */
    bool suspected;   /* for a reason of somebody's */
    unsigned allowed; /* misses until it is dead; MP_HEALTH_MISSES unless suspected */
    bool watching, checking;
    bool doubted;            /* check at once, however little it was silent */
    bool excused;            /* one late check of this row was no miss */
    uint64_t began_at;       /* the last check */
    uint64_t alive_at;       /* the last check that went well, or when watching began */
    uint64_t checks, missed; /* in all */
    uint64_t idle_at;        /* when nobody was seen to wait, the last time */
    struct mp_timer timer;
    struct mp_job job; /* in place of a timer, without memory for one */
};

void mp_health_init(struct mp_health *h, const struct mp_health_ops *ops,
                    struct mp_loop *loop, uint64_t idle_ms);
void mp_health_watch(struct mp_health *h); /* it is ready: begin */
void mp_health_rest(struct mp_health *h);  /* it is not: a check under way is cancelled */
/* Somebody has a reason to doubt: check now. Dead after `misses`. Bytes that come in
 * meanwhile clear it of suspicion, and so does a call that is made meanwhile, as long as
 * it has not been silent for MP_HEALTH_BUSY_MS: a server that works one call after the
 * other may be at the first one still. */
void mp_health_suspect(struct mp_health *h, unsigned misses);
void mp_health_checked(struct mp_health *h, const struct mcplug_error *why);

#endif
