/* When a server is asked whether it lives: any order of events. */
#include "health_kit.h"

static struct {
    bool busy_all_along; /* since the last look at what follows */
    unsigned row;        /* misses, as the test counts them */
    bool excused, doubted, suspected;
    uint64_t asked_at;
    unsigned allowed, seen_checks, seen_deaths;
    unsigned total_deaths, total_checks;
} model;

static unsigned chance(unsigned below)
{
    return (unsigned)random() % below;
}

static void forget(void)
{
    model.row = 0;
    model.excused = false;
    model.suspected = false;
    model.allowed = MP_HEALTH_MISSES;
}

/* A check may only have begun after a window of silence, after a miss, or on suspicion.
 */
static void look_at_checks(unsigned seed)
{
    if (p.checks == model.seen_checks)
        return;
    uint64_t silent = p.h.began_at - p.said_at;
    uint64_t window = model.busy_all_along ? MP_HEALTH_BUSY_MS : MP_HEALTH_IDLE_MS;
    if (p.said_at > model.asked_at && !model.doubted)
        forget(); /* it has spoken since: the row is over */
    HOLDS(p.checks == model.seen_checks + 1, "seed %u: two checks at once", seed);
    HOLDS(model.row || model.excused || model.doubted || silent >= window,
          "seed %u: asked after %llu ms of silence", seed, (unsigned long long)silent);
    model.seen_checks = p.checks;
    model.total_checks++;
    model.asked_at = p.h.began_at;
    model.doubted = false;
}

static void some_outcome(unsigned seed)
{
    struct mcplug_error why = MCPLUG_ERROR_INIT;
    bool fails = chance(4) != 0;
    bool spoke = p.said_at > model.asked_at;
    bool late = now() - model.asked_at > 2 * MP_HEALTH_CHECK_MS;
    bool dies = false;

    p.asked = false;
    if (!fails && chance(2))
        says();
    mp_fail(&why, MCPLUG_EIO, "x");
    uint64_t calm = p.h.alive_at > p.h.idle_at ? p.h.alive_at : p.h.idle_at;
    bool may_wait = now() - (p.said_at > calm ? p.said_at : calm) < MP_HEALTH_BUSY_MS;
    if (fails && model.suspected && p.busy && !may_wait)
        model.allowed = MP_HEALTH_MISSES;
    if (!fails || spoke || (model.suspected && p.busy && may_wait)) {
        forget();
    } else if (late && !model.excused) {
        model.excused = true;
    } else {
        dies = ++model.row >= model.allowed;
    }
    mp_health_checked(&p.h, fails ? &why : NULL);
    HOLDS((p.deaths != model.seen_deaths) == dies, "seed %u: %s after %u of %u misses",
          seed, dies ? "not dead" : "dead", model.row, model.allowed);
}

static void some_step(unsigned seed)
{
    static const uint64_t times[] = {0,    1,    10,    999,   1000,
                                     2999, 3000, 29999, 30000, 60000};

    switch (chance(8)) {
    case 0:
        says();
        break;
    case 1:
        p.busy = !p.busy;
        break;
    case 2:
    case 3:
        if (p.asked)
            some_outcome(seed);
        break;
    case 4:
        if (chance(4) == 0 && p.h.watching) {
            if (!p.asked && p.said_at > model.asked_at)
                forget();
            model.allowed = 1 + chance(3);
            model.suspected = true;
            model.doubted = !p.asked && !model.row && !model.excused;
            mp_health_suspect(&p.h, model.allowed);
        }
        break;
    case 5:
        if (chance(50) == 0)
            jump(3600000);
        break;
    default:
        pass(times[chance(MP_COUNT(times))]);
    }
}

START_TEST(any_order_of_events_keeps_the_promises)
{
    unsigned seed = getenv("MCPLUG_TEST_SEED")
                        ? (unsigned)atoi(getenv("MCPLUG_TEST_SEED"))
                        : (unsigned)time(NULL);
    srandom(seed);
    forget();
    for (int i = 0; i < 100000; i++) {
        model.busy_all_along = p.busy;
        some_step(seed);
        model.busy_all_along &= p.busy;
        look_at_checks(seed);
        if (!p.asked && p.said_at > model.asked_at && !p.h.misses && !p.h.excused &&
            (model.row || model.excused))
            forget(); /* at its next timer */
        HOLDS(!p.h.watching || p.asked || p.h.timer.slot, "seed %u: nothing follows",
              seed);
        HOLDS(p.h.checking == p.asked, "seed %u: is a check under way?", seed);
        if (p.deaths != model.seen_deaths) {
            HOLDS(!p.h.watching && !p.h.timer.slot, "seed %u: undead", seed);
            model.seen_deaths = p.deaths;
            model.total_deaths++;
            says();
            forget();
            model.doubted = false;
            mp_health_watch(&p.h);
        }
    }
    HOLDS(model.total_deaths > 10 && model.total_checks > 1000,
          "seed %u: %u checks, %u deaths", seed, model.total_checks, model.total_deaths);
}
END_TEST

static void add(TCase *tc)
{
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, any_order_of_events_keeps_the_promises);
}

int main(void)
{
    return run_suite("registry_health_any", add);
}
