#include "registry/health.h"

#include "base/error.h"
#include "base/mem.h"

#include <string.h>

static void on_time(struct mp_timer *timer);
static void begin(struct mp_health *h);

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* ---- how long it may be silent ---- */

static uint64_t idle_window(const struct mp_health *h)
{
    return h->idle_ms > MP_HEALTH_AGAIN_MS ? h->idle_ms : MP_HEALTH_AGAIN_MS;
}

/* How long it has been silent as far as that means something: a check that went well may
 * have gone past the session, and what it did not say while nobody waited is no reason to
 * doubt a call that has just begun. */
static uint64_t quiet_ms(struct mp_health *h, bool busy)
{
    uint64_t now = mp_loop_now(h->loop);
    uint64_t quiet = least(h->ops->silent_ms(h), now - h->alive_at);

    if (!busy)
        h->idle_at = now;
    return busy ? least(quiet, now - h->idle_at) : quiet;
}

/* 0: it is to be checked. Else when to look again: calls come and go meanwhile, so never
 * much later than the shorter window. */
static uint64_t rest_ms(struct mp_health *h)
{
    bool busy = h->ops->busy(h);
    uint64_t window = busy ? MP_HEALTH_BUSY_MS : idle_window(h);
    uint64_t quiet = quiet_ms(h, busy);

    if (window == UINT64_MAX)
        return MP_HEALTH_IDLE_MS;
    return quiet >= window
               ? 0
               : least(window - quiet, least(idle_window(h), MP_HEALTH_IDLE_MS));
}

/* ---- the clock ---- */

static void on_job(struct mp_job *job)
{
    begin(MP_OF(job, struct mp_health, job));
}

/* Without memory for a timer it is checked at once, which takes its time too. */
static void arm(struct mp_health *h, uint64_t ms)
{
    if (mp_timer_start(h->loop, &h->timer, ms, on_time) != MCPLUG_OK)
        mp_job_defer(h->loop, &h->job, on_job);
}

static void disarm(struct mp_health *h)
{
    mp_timer_stop(h->loop, &h->timer);
    mp_job_drop(h->loop, &h->job);
}

/* ---- life and death ---- */

static void clear(struct mp_health *h)
{
    h->misses = 0;
    h->allowed = MP_HEALTH_MISSES;
    h->doubted = false;
    h->excused = false;
    h->suspected = false;
}

/* Since the last check began. */
static bool was_heard(struct mp_health *h)
{
    return h->ops->silent_ms(h) < mp_loop_now(h->loop) - h->began_at;
}

/* The last thing that is done: `h` may be gone. */
static void miss(struct mp_health *h, const struct mcplug_error *last)
{
    struct mcplug_error why = MCPLUG_ERROR_INIT;

    h->missed++;
    h->misses++;
    if (h->misses < h->allowed) {
        arm(h, MP_HEALTH_AGAIN_MS);
        return;
    }
    h->watching = false;
    if (h->misses == 1)
        mp_fail(&why, MCPLUG_ETIMEDOUT,
                "the server does not respond: a health check failed: %.400s", last->text);
    else
        mp_fail(
            &why, MCPLUG_ETIMEDOUT,
            "the server does not respond: %u health checks failed, the last one: %.400s",
            h->misses, last->text);
    h->ops->dead(h, &why);
}

static void begin(struct mp_health *h)
{
    struct mcplug_error why = MCPLUG_ERROR_INIT;

    disarm(h);
    h->doubted = false;
    h->checking = true;
    h->checks++;
    h->began_at = mp_loop_now(h->loop);
    int r = h->ops->check(h, &why);
    if (r == MCPLUG_OK || !h->checking) /* or it was told to rest in there */
        return;
    h->checking = false;
    if (why.code == MCPLUG_OK)
        mp_fail(&why, r, "the check could not be started: %s", mp_error_name(r));
    miss(h, &why);
}

/* However late it comes, it only ever leads to a check. */
static void on_time(struct mp_timer *timer)
{
    struct mp_health *h = MP_OF(timer, struct mp_health, timer);

    if ((h->misses || h->excused) && was_heard(h))
        clear(h);
    uint64_t rest = h->misses || h->doubted ? 0 : rest_ms(h);
    if (rest)
        arm(h, rest);
    else
        begin(h);
}

void mp_health_checked(struct mp_health *h, const struct mcplug_error *why)
{
    if (!h->checking)
        return;
    h->checking = false;
    if (!why)
        h->alive_at = mp_loop_now(h->loop);
    /* A doubt is no reason to take it from those who have called since: they are given
     * the time that any call has. */
    if (why && h->suspected && h->ops->busy(h)) {
        if (quiet_ms(h, true) < MP_HEALTH_BUSY_MS) {
            clear(h);
            arm(h, rest_ms(h));
            return;
        }
        h->allowed = MP_HEALTH_MISSES;
    }
    if (!why || was_heard(h)) {
        clear(h);
        arm(h, rest_ms(h));
        return;
    }
    /* A miss that took far longer than a check may says that we stood still, not the
     * server. Once in a row: a check may be slow in other ways. */
    bool late = mp_loop_now(h->loop) - h->began_at > 2 * MP_HEALTH_CHECK_MS;
    if (!late || h->excused) {
        miss(h, why);
        return;
    }
    h->excused = h->doubted = true;
    arm(h, MP_HEALTH_AGAIN_MS);
}

/* ---- for its owner ---- */

void mp_health_init(struct mp_health *h, const struct mp_health_ops *ops,
                    struct mp_loop *loop, uint64_t idle_ms)
{
    memset(h, 0, sizeof *h);
    h->ops = ops;
    h->loop = loop;
    h->idle_ms = idle_ms;
    clear(h);
}

void mp_health_watch(struct mp_health *h)
{
    if (h->watching)
        return;
    h->watching = true;
    h->alive_at = h->idle_at = mp_loop_now(h->loop);
    clear(h);
    arm(h, rest_ms(h));
}

void mp_health_rest(struct mp_health *h)
{
    disarm(h);
    h->watching = false;
    if (!h->checking)
        return;
    h->checking = false;
    h->ops->cancel(h);
}

/* A check that is under way, or due within a second after a miss, is soon enough. */
void mp_health_suspect(struct mp_health *h, unsigned misses)
{
    if (!h->watching)
        return;
    if (!h->checking && (h->misses || h->excused) && was_heard(h))
        clear(h); /* what it said before is no answer to this */
    h->allowed = misses ? misses : 1;
    h->suspected = true;
    if (h->checking || h->misses)
        return;
    h->doubted = true;
    arm(h, 0);
}
