/* A queue: how many calls may run at once, of all the servers and tools that name it.
 * Whoever has to wait is served fairly: the servers in turn, of each server its users in
 * turn, of each user the oldest call first. So a user with a thousand calls delays
 * another one by one call, not by a thousand. [loop] */
#ifndef MP_REGISTRY_QUEUE_H
#define MP_REGISTRY_QUEUE_H

#include "loop/loop.h"

#include <mcplug/types.h>

#define MP_QUEUE_LIMIT 1      /* calls at once, where only a name is given */
#define MP_QUEUE_WAITING 1024 /* that may wait */

/* A list of tickets, the oldest first. */
struct mp_line {
    struct mp_ticket *first, **last;
};

/* One that takes turns with others: a server among servers, a user among the users of a
 * server. There while somebody waits in it, so memory follows those who wait. */
struct mp_lane {
    struct mp_lane *over; /* the server of a user; of a server, the root */
    const void *key;
    struct mp_lane *next, **prev;                  /* the others of `over`, in turn */
    struct mp_lane *first, **last;                 /* of a server: its users */
    struct mp_line line;                           /* of a user */
    struct mp_lane *next_in_bucket, **prev_bucket; /* found by `over` and `key` */
};

struct mp_queue {
    struct mp_loop *loop;
    struct mp_queue *next; /* for its owner */
    char *name;
    unsigned limit, room;
    unsigned running, waiting; /* the granted run */
    struct mp_lane root;
    struct mp_line granted; /* they have their slot, turn() is still to run */
    struct mp_job job;
    struct mp_lane **buckets;
    size_t n_buckets, n_lanes;
};

/* One call in a queue; lives inside its owner, zeroed before the first use. */
struct mp_ticket {
    /* Its turn has come: it holds a slot, until mp_ticket_leave(). Runs once, in a turn
     * of its own, never inside mp_queue_join(). */
    void (*turn)(struct mp_ticket *ticket);
    struct mp_ticket *next, **prev;
    struct mp_lane *lane;   /* while it waits */
    struct mp_queue *queue; /* NULL: in none */
    bool running; /* it has a slot, and was told: by mp_queue_join() or by turn() */
};

/* give; NULL: no memory. `limit` and `waiting` 0: as above. */
struct mp_queue *mp_queue_new(struct mp_loop *loop, const char *name, unsigned limit,
                              unsigned waiting);
void mp_queue_free(struct mp_queue *q); /* empty ones only; NULL is fine */
/* More slots take effect at once, fewer as calls end. */
void mp_queue_set(struct mp_queue *q, unsigned limit, unsigned waiting);

/* Gets a slot at once (true in ticket->running, and turn() does not run), or waits.
 * `server` and `user` are only compared. MCPLUG_EOVERLOADED with the numbers when too
 * many wait already, MCPLUG_ENOMEM. */
int mp_queue_join(struct mp_queue *q, struct mp_ticket *ticket, const void *server,
                  const void *user, struct mcplug_error *err);
/* Gives up the slot, or the place; turn() does not run any more. In none is fine. */
void mp_ticket_leave(struct mp_ticket *ticket);

#endif
