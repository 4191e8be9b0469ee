/* The loop: one thread, timers, watched descriptors, pool work, and jobs that wait
 * for the end of the current callback. The only place that knows libuv.
 *
 * A *turn* is one callback from the loop into the program (a timer, a watch, a
 * posted function). Jobs deferred during a turn run when that callback has
 * returned, before the loop sleeps again (beyond 1000, after others had their turn);
 * deferred outside of one, they run as the next thing the loop does. So nobody is ever
 * entered from a call he is making.
 */
#ifndef MP_LOOP_LOOP_H
#define MP_LOOP_LOOP_H

#include <mcplug/types.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

struct mp_events;
struct mp_loop;

struct mp_loop *mp_loop_new(struct mcplug_error *err); /* give */
/* Every timer, watch and job must be gone; waits for pool work under way. */
void mp_loop_free(struct mp_loop *loop);

/* ---- running [loop] ---- */

/* Runs turns until mp_loop_stop(). */
void mp_loop_run(struct mp_loop *loop);
/* Runs what is due; waits for something first when `wait`. */
void mp_loop_turn(struct mp_loop *loop, bool wait);
void mp_loop_stop(struct mp_loop *loop);   /* [any] */
void mp_loop_unstop(struct mp_loop *loop); /* forgets a stop that found nobody running */
void mp_loop_tick(struct mp_loop *loop);   /* brings mp_loop_now() up to date in a turn */
void mp_loop_call(struct mp_loop *loop, void (*fn)(void *arg), void *arg); /* a turn */
bool mp_loop_in_turn(const struct mp_loop *loop); /* inside one of its callbacks? */
uint64_t
mp_loop_turn_id(const struct mp_loop *loop); /* of this turn; 0: outside of one */
void mp_loop_settle(struct mp_loop *loop); /* runs what was posted, waits for the pool */
/* For a foreign loop: a descriptor that is readable when there is something to do. Call
 * mp_loop_turn(loop, false) then. The first call makes a timerfd that is inside of it, so
 * that timers need no other wait. -1: there was no descriptor for that. */
int mp_loop_fd(struct mp_loop *loop);
/* How long to wait for that at most, in ms; -1: for ever. */
int mp_loop_timeout(struct mp_loop *loop);

/* ---- whose it is ---- */

struct mp_loop_owner {       /* the first thing in a loop */
    atomic_uintptr_t thread; /* that runs it; 0: none does */
};
/* While a thread is inside mp_loop_run(), the loop belongs to it. [any] */
static inline bool mp_loop_here(const struct mp_loop *loop)
{
    const struct mp_loop_owner *owner = (const struct mp_loop_owner *)loop;
    uintptr_t thread = atomic_load_explicit(&owner->thread, memory_order_relaxed);
    return !thread || thread == (uintptr_t)pthread_self();
}
/* For the beginning of a public function. MCPLUG_EINVAL: it was called on another thread
 * than the loop's, which `err` says, or if that is NULL, the log. [any] */
#define mp_loop_check(loop, err)                                                         \
    (mp_loop_here(loop) ? MCPLUG_OK : mp_loop_refuse(loop, __func__, err))
int mp_loop_refuse(const struct mp_loop *loop, const char *function,
                   struct mcplug_error *err);
void mp_loop_set_log(struct mp_loop *loop, struct mp_events *log); /* borrow */
bool mp_loop_is_running(const struct mp_loop *loop); /* inside mp_loop_run() */
/* That thread is about to call mp_loop_run(). */
void mp_loop_set_thread(struct mp_loop *loop, pthread_t thread);
void mp_loop_disown(struct mp_loop *loop); /* that thread has ended */

/* ---- time ---- */

/* ms, monotonic; in a turn, as of its beginning */
uint64_t mp_loop_now(struct mp_loop *loop);
/* For tests: time stands still until it is moved. */
void mp_loop_fake_clock(struct mp_loop *loop);
void mp_loop_advance(struct mp_loop *loop, uint64_t ms);

/* A timer lives inside its owner. One shot; starting it again moves it. */
struct mp_timer {
    void (*fn)(struct mp_timer *timer);
    uint64_t due, seq;
    size_t slot; /* in the loop's heap, 0: not running */
};
int mp_timer_start(struct mp_loop *loop, struct mp_timer *timer, uint64_t ms,
                   void (*fn)(struct mp_timer *timer)); /* MCPLUG_OK or _ENOMEM */
void mp_timer_stop(struct mp_loop *loop, struct mp_timer *timer); /* idle is fine */

/* ---- jobs at the end of the turn ---- */

struct mp_job {
    void (*fn)(struct mp_job *job);
    struct mp_job *next;
    bool queued;
};
/* Runs fn once; a job that waits already is not queued again. */
void mp_job_defer(struct mp_loop *loop, struct mp_job *job, void (*fn)(struct mp_job *));
void mp_job_drop(struct mp_loop *loop, struct mp_job *job);

/* ---- from other threads [any] ---- */

int mp_loop_post(struct mp_loop *loop, void (*fn)(void *arg), void *arg);
void mp_loop_wake(struct mp_loop *loop); /* to look at what was left for it */

struct mp_post {
    struct mp_post *next;
    void (*fn)(void *arg);
    void *arg;
    bool is_allocated; /* by mp_loop_post() */
};
/* The same with a post of the caller's, which is left alone until fn runs; so it cannot
 * fail. */
void mp_loop_post_own(struct mp_loop *loop, struct mp_post *post, void (*fn)(void *arg),
                      void *arg);

/* ---- descriptors ---- */

struct mp_watch;
#define MP_READABLE 1u
#define MP_WRITABLE 2u
/* give; NULL with errno set. fn may stop the watch. */
struct mp_watch *mp_watch_start(struct mp_loop *loop, int fd, unsigned events,
                                void (*fn)(void *arg, unsigned events), void *arg);
int mp_watch_update(struct mp_watch *watch, unsigned events);
void mp_watch_stop(struct mp_watch *watch); /* take; before the fd is closed */

/* ---- pool ---- */

int mp_loop_work(struct mp_loop *loop, void (*run)(void *arg),
                 void (*done)(void *arg, int status), void *arg);

#endif
