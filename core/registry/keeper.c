#include "registry/keeper.h"

#include "base/error.h"
#include "base/links.h"
#include "base/mem.h"
#include "base/text.h"

#include <string.h>

static const uint32_t delays[] = {0, 1000, 2000, 5000, 10000, 30000, 60000};

const char *mp_keeper_state_name(enum mp_keeper_state state)
{
    static const char *const names[] = {"resting",  "queued",  "starting", "ready",
                                        "stopping", "waiting", "parked",   "ended"};
    return names[state];
}

/* ---- slots ---- */

void mp_starts_init(struct mp_starts *starts, unsigned max)
{
    memset(starts, 0, sizeof *starts);
    starts->max = max;
    starts->last = &starts->first;
}

static void queue_leave(struct mp_keeper *k)
{
    if (k->prev_queued)
        mp_links_remove(k->starts->last, k, next_queued, prev_queued);
}

static void start(struct mp_keeper *k);

/* The slot of an attempt that is over goes to whoever waited longest. */
static void slot_free(struct mp_keeper *k)
{
    struct mp_starts *starts = k->starts;
    if (!k->has_slot)
        return;
    k->has_slot = false;
    starts->under_way--;
    struct mp_keeper *next = starts->first;
    if (next && starts->under_way < starts->max) {
        queue_leave(next);
        start(next);
    }
}

/* ---- those who wait ---- */

void mp_waiter_leave(struct mp_waiter *w)
{
    struct mp_keeper *k = w->keeper;

    if (!w->prev)
        return;
    mp_links_remove(k->last_waiter, w, next, prev);
    mp_timer_stop(k->loop, &w->deadline);
    k->together -= !w->ready_ms;
    if (!k->together)
        mp_timer_stop(k->loop, &k->patience);
}

enum whom { ALL, WITHOUT_TIME, LATE }; /* they have no time of their own; `came_late` */

/* Those who come while the others are told wait for the next time. One of those who hear
 * that it is ready may have it started anew; the others wait for that then. */
static void answer(struct mp_keeper *k, enum whom whom, const struct mcplug_error *why)
{
    uint64_t until = k->last_seq;
    struct mp_waiter *w = k->waiters;

    while (w && w->seq <= until && (why || k->state == MP_KEEPER_READY)) {
        if (whom == ALL || (whom == LATE ? w->came_late : !w->ready_ms)) {
            mp_waiter_leave(w);
            w->done(w, why);
            w = k->waiters; /* the list may be another one */
        } else {
            w = w->next;
        }
    }
}

/* The first attempts, or to bring it back? */
static int code_of(const struct mp_keeper *k, int code)
{
    return k->was_ready ? MCPLUG_ERESTART : code;
}

static const char *kind_of(const struct mp_keeper *k)
{
    return k->was_ready ? "mcp_restart_failed: " : "";
}

/* It will not come up, whatever time there is. */
static bool is_over(const struct mp_keeper *k)
{
    return k->state == MP_KEEPER_PARKED || k->state == MP_KEEPER_ENDED ||
           (k->state == MP_KEEPER_STOPPING && k->after == MP_KEEPER_ENDED);
}

static void fill_cause(const struct mp_keeper *k, struct mcplug_error *err)
{
    *err = (struct mcplug_error)MCPLUG_ERROR_INIT;
    if (is_over(k)) {
        mp_error_copy(err, k->cause);
        return;
    }
    uint64_t now = mp_loop_now(k->loop);
    uint64_t ago = now > k->failed_at ? (now - k->failed_at) / 1000 : 0;
    mp_fail(err, code_of(k, k->cause->code ? k->cause->code : MCPLUG_ETIMEDOUT),
            "%sserver \"%.64s\": initialization failed %llus ago%s%.300s", kind_of(k),
            k->name, (unsigned long long)ago, k->cause->text[0] ? ": " : "",
            k->cause->text);
}

/* Those who waited have given up: whoever comes now fails at once. */
static bool has_failed(const struct mp_keeper *k)
{
    return k->failed_at && k->state != MP_KEEPER_READY;
}

static void note_failure(struct mp_keeper *k)
{
    k->failed_at = mp_loop_now(k->loop);
    if (!k->failed_at) /* 0 would be nobody */
        k->failed_at = 1;
}

static void not_ready_within(struct mp_keeper *k, uint64_t ms, struct mcplug_error *why)
{
    char time[32];

    note_failure(k);
    mp_text_duration(time, sizeof time, ms, true);
    mp_fail(why, code_of(k, MCPLUG_ETIMEDOUT),
            "%sserver \"%.64s\" was not ready within %s%s%.300s", kind_of(k), k->name,
            time, k->cause->text[0] ? ": " : "", k->cause->text);
}

/* All who wait for this server fail together. */
static void on_patience(struct mp_timer *timer)
{
    struct mp_keeper *k = MP_OF(timer, struct mp_keeper, patience);
    struct mcplug_error why = MCPLUG_ERROR_INIT;

    not_ready_within(k, MP_KEEPER_WAIT_MS, &why);
    answer(k, WITHOUT_TIME, &why);
}

/* One that has a time of its own. */
static void on_ready_late(struct mp_timer *timer)
{
    struct mp_waiter *w = MP_OF(timer, struct mp_waiter, deadline);
    struct mcplug_error why = MCPLUG_ERROR_INIT;

    mp_waiter_leave(w);
    not_ready_within(w->keeper, w->ready_ms, &why);
    w->done(w, &why);
}

static void on_job(struct mp_job *job);

/* Without memory for the limit nobody would be told that it does not come up. */
static void be_patient(struct mp_keeper *k)
{
    if (!k->together || k->patience.slot || k->once) /* its one attempt has a limit */
        return;
    k->is_hasty = mp_timer_start(k->loop, &k->patience, MP_KEEPER_WAIT_MS, on_patience) !=
                  MCPLUG_OK;
    if (k->is_hasty)
        mp_job_defer(k->loop, &k->job, on_job);
}

static void on_job(struct mp_job *job)
{
    struct mp_keeper *k = MP_OF(job, struct mp_keeper, job);
    struct mcplug_error why;

    if (k->state == MP_KEEPER_READY) {
        answer(k, ALL, NULL);
        if (k->state != MP_KEEPER_READY)
            be_patient(k);
    } else if (is_over(k) || has_failed(k)) {
        fill_cause(k, &why);
        answer(k, is_over(k) ? ALL : LATE, &why);
    } else if (k->is_hasty) {
        k->is_hasty = false;
        why = (struct mcplug_error)MCPLUG_ERROR_INIT;
        mp_fail_nomem(&why);
        answer(k, ALL, &why);
    } else { /* it was lost, or started anew, before they could be told */
        for (struct mp_waiter *w = k->waiters; w; w = w->next)
            w->came_late = false;
        be_patient(k);
    }
}

static void on_deadline(struct mp_timer *timer)
{
    struct mp_waiter *w = MP_OF(timer, struct mp_waiter, deadline);
    struct mp_keeper *k = w->keeper;
    struct mcplug_error why = MCPLUG_ERROR_INIT;

    mp_waiter_leave(w);
    mp_fail(&why, k->was_ready ? MCPLUG_ERESTARTING : MCPLUG_ETIMEDOUT,
            "%sserver \"%.64s\" is %s, and was not ready in time%s%.300s",
            k->was_ready ? "mcp_restart_in_progress: " : "", k->name,
            mp_keeper_state_name(k->state), k->cause->text[0] ? ": " : "",
            k->cause->text);
    w->done(w, &why);
}

void mp_keeper_wait(struct mp_keeper *k, struct mp_waiter *w, uint64_t ms)
{
    w->keeper = k;
    w->seq = ++k->last_seq;
    mp_links_append(k->last_waiter, w, next, prev);
    if (ms)
        mp_timer_start(k->loop, &w->deadline, ms, on_deadline);
    else if (w->ready_ms && mp_timer_start(k->loop, &w->deadline, w->ready_ms,
                                           on_ready_late) != MCPLUG_OK)
        w->ready_ms = 0; /* no memory: with the others, then */
    k->together += !w->ready_ms;
    mp_keeper_want(k);
    w->came_late = has_failed(k);
    if (k->state == MP_KEEPER_READY || is_over(k) || w->came_late)
        mp_job_defer(k->loop, &k->job, on_job);
    else
        be_patient(k);
}

/* ---- the machine: the only place that changes the state ---- */

static void enter(struct mp_keeper *k, enum mp_keeper_state state)
{
    k->state = state;
    if (state == MP_KEEPER_READY || state == MP_KEEPER_PARKED || state == MP_KEEPER_ENDED)
        mp_job_defer(k->loop, &k->job, on_job);
    if (k->ops->changed)
        k->ops->changed(k);
}

static void start(struct mp_keeper *k)
{
    k->has_slot = true;
    k->starts->under_way++;
    k->starts_made++;
    enter(k, MP_KEEPER_STARTING);
    k->ops->start(k);
}

/* As soon as there is a slot. */
static void start_soon(struct mp_keeper *k)
{
    mp_timer_stop(k->loop, &k->timer);
    if (k->starts->under_way < k->starts->max && !k->starts->first) {
        start(k);
        return;
    }
    mp_links_append(k->starts->last, k, next_queued, prev_queued);
    enter(k, MP_KEEPER_QUEUED);
}

static void stop(struct mp_keeper *k, enum mp_keeper_state after)
{
    mp_timer_stop(k->loop, &k->timer);
    k->after = after;
    enter(k, MP_KEEPER_STOPPING);
    k->ops->stop(k);
}

static const struct mcplug_error was_idle = {.struct_size = sizeof was_idle,
                                             .code = MCPLUG_ECLOSED,
                                             .text = "stopped because it was idle"};

static void on_due(struct mp_timer *timer)
{
    struct mp_keeper *k = MP_OF(timer, struct mp_keeper, timer);
    if (k->state == MP_KEEPER_WAITING)
        start_soon(k);
    else if (k->state == MP_KEEPER_READY && !k->users && k->idle_ms) {
        if (k->waiters || (k->ops->is_used && k->ops->is_used(k))) {
            mp_timer_start(k->loop, &k->timer, k->idle_ms, on_due); /* once more */
            return;
        }
        if (k->once)
            mp_error_keep(&k->cause, &was_idle);
        stop(k, k->once ? MP_KEEPER_ENDED : MP_KEEPER_RESTING);
    }
}

static void wait_for_next(struct mp_keeper *k)
{
    size_t i = k->failures < MP_COUNT(delays) ? k->failures : MP_COUNT(delays) - 1;
    uint64_t ms = delays[i];

    k->failures++;
    if (ms && k->ops->random) /* 80 .. 120 % */
        ms = ms * 8 / 10 + k->ops->random(k) % (ms * 4 / 10 + 1);
    k->due = mp_loop_now(k->loop) + ms;
    enter(k, MP_KEEPER_WAITING);
    if (mp_timer_start(k->loop, &k->timer, ms, on_due) != MCPLUG_OK)
        start_soon(k); /* no memory for a delay is no reason to give up */
}

static void watch_idle(struct mp_keeper *k)
{
    if (k->state == MP_KEEPER_READY && !k->users && k->idle_ms)
        mp_timer_start(k->loop, &k->timer, k->idle_ms, on_due);
    else if (k->state == MP_KEEPER_READY)
        mp_timer_stop(k->loop, &k->timer);
}

static void keep_cause(struct mp_keeper *k, const struct mcplug_error *why)
{
    if (why)
        mp_error_keep(&k->cause, why);
}

/* ---- what is wanted ---- */

void mp_keeper_init(struct mp_keeper *k, const struct mp_keeper_ops *ops,
                    struct mp_loop *loop, struct mp_starts *starts, const char *name)
{
    memset(k, 0, sizeof *k);
    k->ops = ops;
    k->loop = loop;
    k->starts = starts;
    k->name = name;
    k->last_waiter = &k->waiters;
    k->cause = &mp_no_error;
}

void mp_keeper_clear(struct mp_keeper *k)
{
    mp_timer_stop(k->loop, &k->timer);
    mp_timer_stop(k->loop, &k->patience);
    mp_job_drop(k->loop, &k->job);
    queue_leave(k);
    mp_error_drop(&k->cause);
}

void mp_keeper_want(struct mp_keeper *k)
{
    if (k->state == MP_KEEPER_RESTING)
        start_soon(k);
    else if (k->state == MP_KEEPER_STOPPING && k->after == MP_KEEPER_RESTING)
        k->after = MP_KEEPER_QUEUED; /* it was being stopped for want of use */
}

void mp_keeper_set_idle(struct mp_keeper *k, uint64_t ms)
{
    k->idle_ms = ms;
    watch_idle(k);
}

void mp_keeper_use(struct mp_keeper *k)
{
    k->users++;
    watch_idle(k);
}

void mp_keeper_release(struct mp_keeper *k)
{
    k->users--;
    watch_idle(k);
}

void mp_keeper_kick(struct mp_keeper *k, const struct mcplug_error *why)
{
    if (k->once)
        return;
    keep_cause(k, why);
    k->failures = 0; /* somebody has put something right, or thinks so */
    switch (k->state) {
    case MP_KEEPER_RESTING:
    case MP_KEEPER_WAITING:
    case MP_KEEPER_PARKED:
        k->failed_at = 0;
        start_soon(k);
        break;
    case MP_KEEPER_READY:
    case MP_KEEPER_STARTING:
        slot_free(k);
        stop(k, MP_KEEPER_QUEUED);
        break;
    case MP_KEEPER_STOPPING:
        k->failed_at = 0;
        if (k->after != MP_KEEPER_ENDED)
            k->after = MP_KEEPER_QUEUED;
        break;
    case MP_KEEPER_QUEUED:
    case MP_KEEPER_ENDED:
        break;
    }
}

void mp_keeper_end(struct mp_keeper *k, const struct mcplug_error *why)
{
    keep_cause(k, why);
    switch (k->state) {
    case MP_KEEPER_STARTING:
    case MP_KEEPER_READY:
        slot_free(k);
        stop(k, MP_KEEPER_ENDED);
        break;
    case MP_KEEPER_STOPPING:
        k->after = MP_KEEPER_ENDED;
        break;
    case MP_KEEPER_ENDED:
        break;
    default:
        mp_timer_stop(k->loop, &k->timer);
        queue_leave(k);
        enter(k, MP_KEEPER_ENDED);
        break;
    }
    /* nobody has to wait for the processes to go */
    if (k->waiters) {
        struct mcplug_error err = MCPLUG_ERROR_INIT;
        mp_error_copy(&err, k->cause);
        answer(k, ALL, &err);
    }
}

/* ---- what has happened ---- */

void mp_keeper_started(struct mp_keeper *k)
{
    if (k->state != MP_KEEPER_STARTING)
        return; /* stopped meanwhile */
    slot_free(k);
    k->ready_at = mp_loop_now(k->loop);
    k->was_ready = true;
    k->failed_at = 0;
    k->answered = false;
    enter(k, MP_KEEPER_READY);
    watch_idle(k);
}

void mp_keeper_failed(struct mp_keeper *k, const struct mcplug_error *why, bool lasts)
{
    if (k->state != MP_KEEPER_STARTING)
        return;
    keep_cause(k, why);
    slot_free(k);
    stop(k, k->once ? MP_KEEPER_ENDED : lasts ? MP_KEEPER_PARKED : MP_KEEPER_WAITING);
    if (k->once) /* nobody has to wait for the processes to go */
        mp_job_defer(k->loop, &k->job, on_job);
}

void mp_keeper_fail_waiters(struct mp_keeper *k)
{
    if (k->was_ready || k->state == MP_KEEPER_READY)
        return;
    if (!k->failed_at)
        note_failure(k);
    mp_timer_stop(k->loop, &k->patience);
    for (struct mp_waiter *w = k->waiters; w; w = w->next)
        w->came_late = true;
    mp_job_defer(k->loop, &k->job, on_job);
}

void mp_keeper_lost(struct mp_keeper *k, const struct mcplug_error *why)
{
    if (k->state != MP_KEEPER_READY)
        return;
    keep_cause(k, why);
    if (k->answered && mp_loop_now(k->loop) - k->ready_at >= MP_KEEPER_HEALTHY_MS)
        k->failures = 0; /* it has been well for a minute: the delays begin anew */
    stop(k, k->once ? MP_KEEPER_ENDED : MP_KEEPER_WAITING);
}

void mp_keeper_stopped(struct mp_keeper *k)
{
    if (k->state != MP_KEEPER_STOPPING)
        return;
    if (k->after == MP_KEEPER_WAITING)
        wait_for_next(k);
    else if (k->after == MP_KEEPER_QUEUED)
        start_soon(k);
    else
        enter(k, k->after);
}

void mp_keeper_answered(struct mp_keeper *k)
{
    k->answered = true;
}
