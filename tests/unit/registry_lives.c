/* A million random lives of keepers (50,000 unless told): whatever happens, nothing is
 * stuck and everybody is answered once. */
#include "keeper_kit.h"
#include "suite.h"

#include <stdlib.h>

static struct mp_loop *loop;
static struct mp_starts starts;

enum { SERVERS = 3, PEOPLE = 8, STEPS = 40 };

static uint64_t dice;

static uint32_t roll(uint32_t n)
{
    dice ^= dice << 13;
    dice ^= dice >> 7;
    dice ^= dice << 17;
    return (uint32_t)(dice >> 11) % n;
}

static uint32_t by_chance(struct mp_keeper *k)
{
    (void)k;
    return roll(UINT32_MAX);
}

static const struct mp_keeper_ops chancy = {on_start, on_stop, NULL, by_chance, NULL};

struct world {
    struct server servers[SERVERS];
    struct person people[PEOPLE];
    bool waits[PEOPLE];   /* joined and has not left */
    uint64_t due[PEOPLE]; /* answered until then, whatever happens */
    bool over[SERVERS];   /* it failed, or was lost */
};

#define TRUE_OF(condition)                                                               \
    HOLDS(condition, "seed %llu, step %d: %s", (unsigned long long)seed, step, #condition)

/* One attempt, and when that has failed, or the server has gone, that was it. */
static void look_at_once(const struct server *x, bool over, uint64_t seed, int step)
{
    const struct mp_keeper *k = &x->k;
    bool ends = k->state == MP_KEEPER_STOPPING && k->after == MP_KEEPER_ENDED;
    TRUE_OF(x->starts <= 1 && k->starts_made == x->starts);
    TRUE_OF(k->state != MP_KEEPER_WAITING && k->state != MP_KEEPER_PARKED);
    TRUE_OF(k->state != MP_KEEPER_STOPPING || ends);
    TRUE_OF(!over || ends || k->state == MP_KEEPER_ENDED);
    TRUE_OF(!k->waiters || !over || k->job.queued); /* nobody waits for processes */
}

/* Whoever waits has somebody to tell them. */
static void look_at_waiters(const struct mp_keeper *k, uint64_t seed, int step)
{
    unsigned together = 0;
    for (const struct mp_waiter *w = k->waiters; w; w = w->next) {
        TRUE_OF(!w->ready_ms || w->deadline.slot);
        TRUE_OF(!w->came_late || !k->failed_at || k->job.queued);
        together += !w->ready_ms;
    }
    TRUE_OF(together == k->together);
    /* the one attempt of `once` has a limit of its own */
    TRUE_OF(!together || k->patience.slot || k->job.queued || k->once);
    TRUE_OF(together || !k->patience.slot);
}

static void look(const struct world *w, uint64_t seed, int step)
{
    uint64_t now = mp_loop_now(loop);
    unsigned starting = 0;
    for (int i = 0; i < SERVERS; i++) {
        const struct mp_keeper *k = &w->servers[i].k;
        enum doing doing = w->servers[i].doing;
        starting += k->state == MP_KEEPER_STARTING;
        TRUE_OF((k->state == MP_KEEPER_STARTING) == (doing == STARTS));
        TRUE_OF((k->state == MP_KEEPER_STOPPING) == (doing == STOPS));
        TRUE_OF(k->state != MP_KEEPER_WAITING || k->timer.slot);
        TRUE_OF((k->state == MP_KEEPER_QUEUED) == (k->prev_queued != NULL));
        TRUE_OF(k->users < 1000);
        look_at_waiters(k, seed, step);
        if (k->once)
            look_at_once(&w->servers[i], w->over[i], seed, step);
        TRUE_OF(!k->waiters || k->state != MP_KEEPER_RESTING);
    }
    TRUE_OF(starting == starts.under_way);
    TRUE_OF(starts.under_way <= starts.max);
    TRUE_OF(!starts.first || starts.under_way == starts.max);
    for (int i = 0; i < PEOPLE; i++) {
        const struct person *p = &w->people[i];
        TRUE_OF(p->answers + (p->w.prev != NULL) == w->waits[i]);
        TRUE_OF(!w->waits[i] || (p->answers ? p->at : now) <= w->due[i]);
    }
}

static void let_go_on(struct world *w, struct server *x)
{
    struct mcplug_error why = because(MCPLUG_EREFUSED, "no");
    enum doing was = x->doing;
    if (was == NOTHING)
        return;
    if (was == STOPS) {
        x->doing = NOTHING;
        mp_keeper_stopped(&x->k);
    } else if (roll(3)) {
        x->doing = NOTHING;
        mp_keeper_started(&x->k);
    } else {
        w->over[x - w->servers] = true;
        mp_keeper_failed(&x->k, &why, roll(6) == 0);
        if (roll(4) == 0)
            mp_keeper_fail_waiters(&x->k);
    }
}

static void join(struct world *w, struct server *x)
{
    int i = (int)roll(PEOPLE);
    if (w->people[i].w.prev)
        return;
    memset(&w->people[i], 0, sizeof w->people[i]);
    w->people[i].w.done = on_done;
    w->waits[i] = true;
    uint64_t ms = roll(2) ? 1 + roll(100000) : 0, most = UINT64_MAX;
    if (ms)
        most = ms;
    else if (roll(2)) /* a time of its own */
        most = w->people[i].w.ready_ms = 1 + roll(100000);
    w->due[i] = most == UINT64_MAX ? most : mp_loop_now(loop) + most;
    mp_keeper_wait(&x->k, &w->people[i].w, ms);
}

static void happen(struct world *w)
{
    struct server *x = &w->servers[roll(SERVERS)];
    struct mcplug_error why = because(MCPLUG_ECLOSED, "gone");
    int i;
    switch (roll(12)) {
    case 0:
    case 1:
    case 2:
        let_go_on(w, x);
        break;
    case 3:
    case 4:
        join(w, x);
        break;
    case 5:
        i = (int)roll(PEOPLE);
        if (w->people[i].w.prev) {
            mp_waiter_leave(&w->people[i].w);
            w->waits[i] = false;
        }
        break;
    case 6:
        w->over[x - w->servers] |= x->k.state == MP_KEEPER_READY;
        mp_keeper_lost(&x->k, &why);
        break;
    case 7:
        if (roll(3) == 0)
            mp_keeper_kick(&x->k, roll(2) ? &why : NULL);
        break;
    case 8:
        mp_keeper_use(&x->k);
        break;
    case 9:
        if (x->k.users)
            mp_keeper_release(&x->k);
        break;
    case 10:
        mp_keeper_answered(&x->k);
        break;
    default:
        if (roll(20) == 0)
            mp_keeper_end(&x->k, &why);
        break;
    }
}

static void end_all(struct world *w, uint64_t seed, int step)
{
    for (int i = 0; i < SERVERS; i++)
        mp_keeper_end(&w->servers[i].k, NULL);
    for (int i = 0; i < SERVERS; i++) {
        if (w->servers[i].doing == STOPS) {
            w->servers[i].doing = NOTHING;
            mp_keeper_stopped(&w->servers[i].k);
        }
    }
    mp_loop_advance(loop, 0);
    for (int i = 0; i < SERVERS; i++)
        TRUE_OF(w->servers[i].k.state == MP_KEEPER_ENDED && !w->servers[i].k.waiters);
    look(w, seed, step); /* every waiter was answered once */
    for (int i = 0; i < SERVERS; i++)
        mp_keeper_clear(&w->servers[i].k);
}

static void live(uint64_t seed)
{
    static struct world w;
    memset(&w, 0, sizeof w);
    dice = seed * 0x9e3779b97f4a7c15u + 1;
    mp_starts_init(&starts, 1 + roll(2));
    for (int i = 0; i < SERVERS; i++) {
        mp_keeper_init(&w.servers[i].k, &chancy, loop, &starts, "s");
        w.servers[i].k.idle_ms = roll(2) ? roll(20000) : 0;
        w.servers[i].k.once = roll(3) == 0;
    }
    int step = 0;
    for (; step < STEPS; step++) {
        happen(&w);
        if (roll(3) == 0)
            mp_loop_advance(loop, roll(4) ? roll(3000) : roll(70000));
        look(&w, seed, step);
    }
    end_all(&w, seed, step);
}

START_TEST(whatever_happens_every_waiter_is_answered_once_and_nothing_is_stuck)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    loop = mp_loop_new(&err);
    ck_assert_ptr_nonnull(loop);
    mp_loop_fake_clock(loop);
    mp_loop_advance(loop, 1000);
    const char *given = getenv("MCPLUG_TEST_SEED"), *count = getenv("MCPLUG_TEST_LIVES");
    uint64_t first = given ? strtoull(given, NULL, 10) : 1;
    uint64_t n = given ? 1 : count ? strtoull(count, NULL, 10) : fewer(50000);
    for (uint64_t i = 0; i < n; i++)
        live(first + i);
    mp_loop_free(loop);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("registry_lives");
    TCase *tc = tcase_create("lives");
    tcase_set_timeout(tc, 600);
    tcase_add_test(tc,
                   whatever_happens_every_waiter_is_answered_once_and_nothing_is_stuck);
    suite_add_tcase(suite, tc);

    return run_to_end(suite);
}
