/* A keeper keeps one server up: it says when to start it, when to end it, how long to
 * wait between attempts, and answers those who wait for it. It knows no sessions and no
 * processes; what is to be done it asks its owner for, so that the whole of it can be
 * tried with a clock that stands still. [loop]
 *
 *                    want, kick                 slot             started
 *        RESTING ───────────────▶ QUEUED ───────────▶ STARTING ─────────▶ READY
 *           ▲                       ▲  ▲                  │ failed           │ dropped,
 *           │                       │  │ kick,            ▼                  ▼ sick, kick
 *           │ idle                  │  │ delay over    STOPPING ◀────────────┘
 *           └───── STOPPING         │  └── WAITING ◀─────┤ stopped
 *                                   └───── PARKED ◀──────┘ (a cause that lasts)
 *
 *   any ── end ──▶ STOPPING ──▶ ENDED
 *
 * Delays before the attempts after a failure: 0, 1, 2, 5, 10, 30, 60, 60 .. seconds, each
 * 20 % more or less by chance. They begin again at 0 once the server has been ready for
 * 60 s and has answered a request. A cause that lasts (policy, approval, login) is not
 * tried again by itself: somebody has to kick.
 *
 * Whoever waits, waits with all others: 60 s after the first one came all of them fail
 * together, but for those who have set a time of their own. From then on everybody who
 * comes fails at once, with how long ago that was, until an attempt succeeds. Attempts
 * never stop. For a server that was up before these failures are mcp_restart_failed, and
 * mcp_restart_in_progress for whoever has less time.
 *
 * A keeper that is `once` makes one attempt: when that fails, or the server goes, it is
 * ENDED, and everybody who waits hears so at once.
 */
#ifndef MP_REGISTRY_KEEPER_H
#define MP_REGISTRY_KEEPER_H

#include "base/shared.h"
#include "loop/loop.h"

#include <mcplug/types.h>

#define MP_KEEPER_WAIT_MS 60000    /* all who wait, together */
#define MP_KEEPER_HEALTHY_MS 60000 /* ready that long: delays begin again */
#define MP_STARTS_MAX 20           /* under way at once, of one registry */

enum mp_keeper_state {
    MP_KEEPER_RESTING,
    MP_KEEPER_QUEUED, /* too many others are starting */
    MP_KEEPER_STARTING,
    MP_KEEPER_READY,
    MP_KEEPER_STOPPING,
    MP_KEEPER_WAITING,
    MP_KEEPER_PARKED,
    MP_KEEPER_ENDED
};
const char *mp_keeper_state_name(enum mp_keeper_state state); /* "ready" */

struct mp_keeper;

/* How many may start at once, shared by the keepers of a registry. */
struct mp_starts {
    unsigned max, under_way;
    struct mp_keeper *first, **last; /* that wait for their turn */
};
void mp_starts_init(struct mp_starts *starts, unsigned max);

struct mp_keeper_ops {
    /* Start the server: mp_keeper_started() or _failed() follows, not from inside. */
    void (*start)(struct mp_keeper *k);
    /* End what start() began, connected or not: mp_keeper_stopped() follows, once nothing
     * of it is left; not from inside. */
    void (*stop)(struct mp_keeper *k);
    /* The state has changed; for those who watch. May be NULL. */
    void (*changed)(struct mp_keeper *k);
    uint32_t (*random)(struct mp_keeper *k); /* NULL: no jitter */
    /* Is it, beside those who use it through the keeper? May be NULL. */
    bool (*is_used)(struct mp_keeper *k);
};

/* Somebody who waits for the server; lives inside its owner. */
struct mp_waiter {
    /* why == NULL: it is ready now. Runs once, in a turn of its own. The waiter is the
     * caller's again. */
    void (*done)(struct mp_waiter *w, const struct mcplug_error *why);
    struct mp_waiter *next, **prev; /* NULL: not waiting */
    uint64_t seq;
    uint64_t ready_ms; /* it gives up after that, by itself; 0: with all others */
    bool came_late;    /* after they had given up */
    struct mp_timer deadline;
    struct mp_keeper *keeper;
};

struct mp_keeper {
    const struct mp_keeper_ops *ops;
    struct mp_loop *loop;
    struct mp_starts *starts;
    const char *name; /* for messages; borrow */

    enum mp_keeper_state state, after; /* `after` STOPPING comes this */
    bool once;                         /* one attempt; set before the first is wanted */
    uint64_t idle_ms;                  /* 0: never stopped for being idle */
    unsigned users;                    /* handles that are held */
    bool answered;                     /* a request, since it is ready */
    unsigned failures;                 /* in a row; index of the next delay */
    uint64_t starts_made;              /* in all */
    uint64_t ready_at;                 /* the last time */
    bool was_ready;                    /* at all */
    uint64_t failed_at; /* when those who waited gave up; 0: they did not */
    uint64_t due;       /* end of WAITING */
    bool has_slot;
    bool is_hasty;                    /* there was no memory for `patience` */
    const struct mcplug_error *cause; /* of the last failure; kept */

    struct mp_timer timer; /* WAITING: the next attempt; READY: idle */
    struct mp_timer patience;
    struct mp_waiter *waiters, **last_waiter;
    unsigned together; /* of them have no time of their own */
    uint64_t last_seq;
    struct mp_job job; /* answers who can be answered */
    struct mp_keeper *next_queued, **prev_queued;
};

/* `k` is zeroed but for what is set here. */
void mp_keeper_init(struct mp_keeper *k, const struct mp_keeper_ops *ops,
                    struct mp_loop *loop, struct mp_starts *starts, const char *name);
/* Drops timers and jobs; nobody may wait any more. In RESTING, PARKED or ENDED. */
void mp_keeper_clear(struct mp_keeper *k);

/* ---- what is wanted of it ---- */

/* Keep it up from now on. */
void mp_keeper_want(struct mp_keeper *k);
/* A handle more or less: without any, `idle_ms` later it is stopped. */
void mp_keeper_set_idle(struct mp_keeper *k, uint64_t ms);
void mp_keeper_use(struct mp_keeper *k);
void mp_keeper_release(struct mp_keeper *k);
/* Wait until it is ready, `ms` at most (0: as long as the others, or its `ready_ms`). `w`
 * need only have `done` set. */
void mp_keeper_wait(struct mp_keeper *k, struct mp_waiter *w, uint64_t ms);
/* No more: `done` does not run. Nothing if it does not wait. */
void mp_waiter_leave(struct mp_waiter *w);
/* Start it anew, now, whatever it is doing; PARKED too. The delays begin anew. Nothing
 * for one that is `once`. */
void mp_keeper_kick(struct mp_keeper *k, const struct mcplug_error *why);
/* For good. All who wait fail with `why`. */
void mp_keeper_end(struct mp_keeper *k, const struct mcplug_error *why);

/* ---- what has happened ---- */

void mp_keeper_started(struct mp_keeper *k);
/* The attempt failed; `lasts`: another one would fail the same way. */
void mp_keeper_failed(struct mp_keeper *k, const struct mcplug_error *why, bool lasts);
/* Those who wait for its first start hear now that it failed, as they would after 60 s;
 * attempts go on. */
void mp_keeper_fail_waiters(struct mp_keeper *k);
/* The connection is gone though nobody asked, or a probe found it dead. Ignored unless
 * READY. */
void mp_keeper_lost(struct mp_keeper *k, const struct mcplug_error *why);
void mp_keeper_stopped(struct mp_keeper *k);
void mp_keeper_answered(struct mp_keeper *k); /* a request was */

#endif
