/* For the suites about health: a server that says, answers and misses what it is told to,
 * and a clock that stands still. */
#ifndef HEALTH_KIT_H
#define HEALTH_KIT_H

#include "fake.h"
#include "quick.h"
#include "registry/health.h"

#include "base/error.h"
#include "base/mem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct peer {
    struct mp_health h; /* first */
    uint64_t said_at;   /* the last byte */
    bool busy, asked;   /* asked: a check is under way */
    int refuses;        /* what check() fails with */
    unsigned checks, cancels, deaths;
    char why[512];
};

static struct mp_loop *loop;
static struct peer p;

static inline uint64_t now(void)
{
    return mp_loop_now(loop);
}

static inline uint64_t on_silent(struct mp_health *h)
{
    return now() - ((struct peer *)h)->said_at;
}

static inline bool on_busy(struct mp_health *h)
{
    return ((struct peer *)h)->busy;
}

static inline int on_check(struct mp_health *h, struct mcplug_error *err)
{
    struct peer *peer = (struct peer *)h;
    HOLDS(!peer->asked, "two checks at once");
    peer->checks++;
    if (peer->refuses)
        return mp_fail(err, peer->refuses, "no way to ask");
    peer->asked = true;
    return MCPLUG_OK;
}

static inline void on_cancel(struct mp_health *h)
{
    struct peer *peer = (struct peer *)h;
    HOLDS(peer->asked, "a check is cancelled that is not under way");
    peer->asked = false;
    peer->cancels++;
}

static inline void on_dead(struct mp_health *h, const struct mcplug_error *why)
{
    struct peer *peer = (struct peer *)h;
    HOLDS(!peer->asked && !h->timer.slot, "dead with a check or a timer left");
    peer->deaths++;
    snprintf(peer->why, sizeof peer->why, "%s", why->text);
    mp_health_rest(h);
}

static const struct mp_health_ops ops = {on_silent, on_busy, on_check, on_cancel,
                                         on_dead};

static inline void setup_with(uint64_t idle_ms)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    loop = mp_loop_new(&err);
    ck_assert_ptr_nonnull(loop);
    mp_loop_fake_clock(loop);
    mp_loop_advance(loop, 1000);
    memset(&p, 0, sizeof p);
    p.said_at = now();
    mp_health_init(&p.h, &ops, loop, idle_ms);
    mp_health_watch(&p.h);
}

static inline void setup(void)
{
    setup_with(MP_HEALTH_IDLE_MS);
}

static inline void teardown(void)
{
    mp_health_rest(&p.h);
    mp_loop_free(loop);
}

static inline void pass(uint64_t ms)
{
    mp_loop_advance(loop, ms);
}

static inline void says(void)
{
    p.said_at = now();
}

static inline void answers(void)
{
    ck_assert(p.asked);
    p.asked = false;
    says();
    mp_health_checked(&p.h, NULL);
}

static inline void misses(const char *text)
{
    struct mcplug_error why = MCPLUG_ERROR_INIT;
    mp_fail(&why, MCPLUG_ETIMEDOUT, "%s", text);
    ck_assert(p.asked);
    p.asked = false;
    mp_health_checked(&p.h, &why);
}

/* The clock jumps, and what was due comes late. */
static inline void jump(uint64_t ms)
{
    void (*fn)(struct mp_timer *) = p.h.timer.slot ? p.h.timer.fn : NULL;
    mp_timer_stop(loop, &p.h.timer);
    pass(ms);
    if (fn)
        fn(&p.h.timer);
}

#endif
