/* The loop: one thread, timers, watched descriptors, work of other threads, and jobs that
 * wait for the end of the current callback. The only place that knows libuv.
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
/* Every timer, watch and job must be gone; waits for work of threads under way. */
void mp_loop_free(struct mp_loop *loop);
/* MCPLUG_EIO: its own descriptors were closed by somebody else, and to run it, or to free
 * it, would end the process; from then on nobody can wake it. Costs a system call. */
int mp_loop_intact(struct mp_loop *loop, struct mcplug_error *err);

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
void mp_loop_settle(struct mp_loop *loop);   /* runs what was posted, waits for threads */
/* For a foreign loop: a descriptor that is readable when there is something to do. Call
 * mp_loop_turn(loop, false) then. The first call makes a timerfd that is inside of it, so
 * that timers need no other wait. -1: there was no descriptor for that. */
int mp_loop_fd(struct mp_loop *loop);
/* How long to wait for that at most, in ms; -1: for ever. */
int mp_loop_timeout(struct mp_loop *loop);

/* ---- whose it is ---- */

/* On a page of its own, which fork() clears in the child: what is open is the parent's.
 * So the child is told apart without a system call. */
struct mp_loop_owner {
    atomic_uintptr_t thread; /* that runs it; MP_LOOP_RESTS; 0: we are the child */
};
#define MP_LOOP_RESTS 1 /* no thread runs it */
struct mp_loop_head {   /* the first thing in a loop */
    struct mp_loop_owner *owner;
};
static inline uintptr_t mp_loop_thread(const struct mp_loop *loop)
{
    const struct mp_loop_owner *owner = ((const struct mp_loop_head *)loop)->owner;
    return atomic_load_explicit(&owner->thread, memory_order_relaxed);
}
/* While a thread is inside mp_loop_run(), the loop belongs to it. [any] */
static inline bool mp_loop_here(const struct mp_loop *loop)
{
    uintptr_t thread = mp_loop_thread(loop);
    return thread == MP_LOOP_RESTS || thread == (uintptr_t)pthread_self();
}
/* It was made by the process that forked this one: nothing of it may be used. [any] */
static inline bool mp_loop_forked(const struct mp_loop *loop)
{
    return mp_loop_thread(loop) == 0;
}
/* For the beginning of a public function. MCPLUG_EINVAL: it was called on another thread
 * than the loop's, which `err` says, or if that is NULL, the log; or after fork(), which
 * is not logged: locks may be held by threads that are not there. [any] */
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

/* ---- work of threads ---- */

/* Runs run(arg) on a thread, four of them at a time, then done(arg, MCPLUG_OK) in a turn.
 * MCPLUG_ENOMEM; MCPLUG_EIO: no thread can be started. */
int mp_loop_work(struct mp_loop *loop, void (*run)(void *arg),
                 void (*done)(void *arg, int status), void *arg);

#endif
