#include "helpers/check/kit.h"

#include "base/mem.h"
#include "loop/loop.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#define RETURN_MS 10000 /* a call that takes longer will never return */
#define LOOK_MS 500     /* how often that is looked for */

static uint64_t clock_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

void mp_kit_enter(struct mp_kit *kit, const char *fmt, ...)
{
    char last[sizeof kit->calls];
    va_list ap;

    pthread_mutex_lock(&kit->lock);
    memcpy(last, kit->calls, sizeof last);
    va_start(ap, fmt);
    vsnprintf(kit->calls, sizeof kit->calls, fmt, ap);
    va_end(ap);
    kit->inside = true;
    kit->since = clock_ms();
    if (kit->report.calls && !kit->left && strcmp(last, kit->calls) != 0)
        kit->report.calls(kit->report.arg, kit->calls);
    pthread_mutex_unlock(&kit->lock);
}

uint64_t mp_kit_leave(struct mp_kit *kit)
{
    pthread_mutex_lock(&kit->lock);
    uint64_t took = clock_ms() - kit->since;
    kit->inside = false;
    pthread_mutex_unlock(&kit->lock);
    mp_kit_process_compare(kit, kit->calls);
    mp_kit_stdout_check(kit, kit->calls);
    return took;
}

/* ---- callbacks on the loop ---- */

static void on_alarm(struct mp_timer *timer)
{
    (void)timer;
}

static void turn(struct mp_kit *kit, const char *who, bool wait)
{
    mp_kit_enter(kit, "%s: a callback of its timers or watches", who);
    mp_loop_turn(kit->loop, wait);
    mp_kit_leave(kit);
}

/* In steps: a wait of the loop itself is no call that does not return. */
bool mp_kit_await(struct mp_kit *kit, const char *who, bool (*so)(const void *arg),
                  const void *arg, uint64_t ms)
{
    struct mp_timer alarm = {0};

    turn(kit, who, false); /* also brings the loop's clock up to date */
    uint64_t until = mp_loop_now(kit->loop) + ms, now;
    while (!so(arg) && (now = mp_loop_now(kit->loop)) < until) {
        uint64_t step = until - now < LOOK_MS ? until - now : LOOK_MS;
        if (mp_timer_start(kit->loop, &alarm, step, on_alarm) != MCPLUG_OK)
            break;
        turn(kit, who, true);
    }
    mp_timer_stop(kit->loop, &alarm);
    return so(arg);
}

/* ---- the thread that calls, and the one that has a clock ---- */

struct run {
    struct mp_kit *kit;
    void (*fn)(void *arg);
    void *arg;
};

static void *on_thread(void *arg)
{
    struct run *run = arg;
    struct mp_kit *kit = run->kit;

    run->fn(run->arg);
    mp_free(run);
    pthread_mutex_lock(&kit->lock);
    kit->over = true;
    pthread_cond_signal(&kit->over_changed);
    pthread_mutex_unlock(&kit->lock);
    return NULL;
}

/* Until the thread is over, or a call of it has taken too long. With the lock. */
static void wait_for(struct mp_kit *kit)
{
    while (!kit->over) {
        uint64_t now = clock_ms();
        if (kit->inside && now >= kit->since + RETURN_MS)
            return;
        uint64_t until = now + LOOK_MS;
        struct timespec t = {(time_t)(until / 1000), (long)(until % 1000) * 1000000};
        pthread_cond_timedwait(&kit->over_changed, &kit->lock, &t);
    }
}

bool mp_kit_run(struct mp_kit *kit, void (*fn)(void *arg), void *arg)
{
    struct run *run = mp_alloc(sizeof *run);
    char what[sizeof kit->calls];
    pthread_t thread;

    if (run)
        *run = (struct run){kit, fn, arg};
    if (!run || pthread_create(&thread, NULL, on_thread, run) != 0) {
        mp_free(run);
        mp_kit_say(kit, false, "no thread could be started for the check");
        return true;
    }
    pthread_mutex_lock(&kit->lock);
    wait_for(kit);
    bool over = kit->over;
    memcpy(what, kit->calls, sizeof what);
    pthread_mutex_unlock(&kit->lock);
    if (over) {
        pthread_join(thread, NULL);
        return true;
    }
    mp_kit_say(kit, false, "%s did not return within %d s", what, RETURN_MS / 1000);
    pthread_mutex_lock(&kit->lock);
    kit->left = true;
    pthread_mutex_unlock(&kit->lock);
    pthread_detach(thread);
    return false;
}
