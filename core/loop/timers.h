/* A heap of timers, by due time. They live inside their owners, so starting one
 * costs no allocation but the heap's own growth. */
#ifndef MP_LOOP_TIMERS_H
#define MP_LOOP_TIMERS_H

#include "loop/loop.h"

struct mp_timers {
    struct mp_timer **heap; /* 1-based */
    size_t count, cap;
    uint64_t seq; /* counts what was started */
};

bool mp_timers_add(struct mp_timers *t, struct mp_timer *timer);
void mp_timers_remove(struct mp_timers *t, struct mp_timer *timer); /* idle is fine */
uint64_t mp_timers_next(const struct mp_timers *t);                 /* 0: none */
/* Takes out and returns one that is due and was started no later than `seq`, NULL when
 * there is none. */
struct mp_timer *mp_timers_due(struct mp_timers *t, uint64_t now, uint64_t seq);
void mp_timers_clear(struct mp_timers *t);

#endif
