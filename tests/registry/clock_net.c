/* Servers on the network that stay away, stand still or say nothing, over minutes: real
 * sockets, and a clock that the tests move. Every test has a process of its own. */
#include "matrix_kit.h"
#include "../evil/run.h"

#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

enum { NET_WIRES = WIRES - HTTP };

static enum wire wire_of(int i)
{
    return (enum wire)(HTTP + i % NET_WIRES);
}

static bool waits(struct rig *r)
{
    return rig_is(r, MCPLUG_STATE_WAITING);
}

static bool is_ready(struct rig *r)
{
    return rig_is(r, MCPLUG_STATE_READY);
}

static bool is_lost(struct rig *r)
{
    return !is_ready(r);
}

static bool is_starting(struct rig *r)
{
    return rig_is(r, MCPLUG_STATE_STARTING);
}

static uint64_t starts(struct rig *r)
{
    return rig_status(r).starts;
}

/* Connections still come about then, made by the system, and nobody answers. */
static void freeze(struct rig *r)
{
    double since = now_ms();

    ck_assert_int_eq(kill(r->peer, SIGSTOP), 0);
    while (!stopped(r->peer)) { /* a signal takes its time */
        ck_assert_msg(now_ms() - since < 5000, "the peer does not stop");
        usleep(200);
    }
}

static void thaw(struct rig *r)
{
    ck_assert_int_eq(kill(r->peer, SIGCONT), 0);
}

/* Two servers that share, or one that does not. `ping` is a WebSocket's; NULL: as it
 * is. */
static struct rig *up(enum wire wire, bool shared, const char *ping)
{
    struct rig *r = rig_new_fake_over(wire);

    if (wire == WEBSOCKET && ping)
        mcplug_settings_set(r->settings, "ping", ping);
    r->ao.dedicated = !shared;
    rig_add(r);
    if (shared)
        rig_add(r);
    UNTIL(r, 10000, r->users[r->n_users - 1].ready);
    ck_assert_msg(is_ready(r), "%s: %s", wire_names[wire], r->users[0].why.text);
    return r;
}

/* The modules' libraries look at a real clock: an attempt that could succeed is given
 * some of its time. */
static void come_back(struct rig *r, uint64_t at_most)
{
    for (uint64_t since = rig_clock(r); rig_clock(r) - since <= at_most;) {
        for (double from = now_ms(); is_starting(r) && now_ms() - from < 200;)
            rig_turn(r);
        if (is_ready(r))
            return;
        rig_pass(r, 1000, 1000, is_ready);
    }
    rig_show(r);
    ck_abort_msg("not ready within %llu ms", (unsigned long long)at_most);
}

/* ---- attempts ---- */

static const unsigned delays[] = {0, 1000, 2000, 5000, 10000, 30000, 60000};
enum { DELAYS = sizeof delays / sizeof *delays };

/* While an attempt fails the clock goes on, in steps of this and about as fast as a real
 * one: modules may have timers for that, and libraries that look at the real one. */
enum { CREEP = 5 };

/* Lets the attempt under way fail: nobody is there, or he who was has just died. Each era
 * may have a connection of its own. */
static void fail_attempt(struct rig *r, bool dies, uint64_t attempt)
{
    for (int i = 0; dies && i < 4; i++) {
        rig_run(r, 20);
        if (starts(r) > attempt || waits(r))
            return;
        rig_kill(r);
        freeze(r); /* the next one, before anybody has asked it */
    }
    uint64_t since = rig_clock(r);
    while (starts(r) == attempt && !waits(r)) {
        rig_pass(r, CREEP, CREEP, waits);
        HOLDS(rig_clock(r) - since <= 1000, "attempt %u does not fail",
              (unsigned)attempt);
    }
}

/* Returns how much time the attempts took. */
static uint64_t see_delays(struct rig *r, bool dies)
{
    uint64_t began = rig_clock(r);

    for (unsigned i = 0; i < DELAYS; i++) {
        ck_assert_uint_eq(starts(r), i + 1);
        fail_attempt(r, dies, i + 1);
        if (delays[i]) {
            UNTIL(r, 10000, waits(r));
            uint64_t next = rig_status(r).next_ms;
            HOLDS(next + CREEP >= delays[i] * 8 / 10 && next <= delays[i] * 12 / 10,
                  "delay %u is %llu ms instead of %u", i, (unsigned long long)next,
                  delays[i]);
            rig_pass(r, next - 1, next, NULL);
            ck_assert_uint_eq(starts(r), i + 1); /* not before */
            rig_pass(r, 1, 1, NULL);
        }
        UNTIL(r, 10000, starts(r) == i + 2);
    }
    return rig_clock(r) - began;
}

/* R3: refused, or accepted by one that dies before it answers. The attempts take some
 * time themselves, a second each at most. */
START_TEST(peer_that_stays_away_is_tried_8_times_in_108_s_give_or_take_a_fifth)
{
    bool dies = _i / NET_WIRES;
    struct rig *r = rig_new_fake_over(wire_of(_i));

    if (dies)
        freeze(r);
    else
        peer_stop(r);
    rig_add(r);
    rig_add(r);
    uint64_t took = see_delays(r, dies);
    ck_assert_msg(took >= 86400 && took <= 129600 + 8 * 1000, "8 attempts within %llu ms",
                  (unsigned long long)took);
    ck_assert_uint_eq(rig_status(r).restarts, 0); /* it never was ready */
    if (dies) /* one for each attempt, or for each era */
        ck_assert_uint_ge(rig_noted(r, "start "), DELAYS + 1);
    for (int i = 0; i < 2; i++) { /* told at 60 s, both */
        ck_assert_uint_eq(r->users[i].ready, 1);
        ck_assert_int_ne(r->users[i].why.code, 0);
    }
    fail_attempt(r, dies, 8);
    UNTIL(r, 10000, waits(r));
    uint64_t next = rig_status(r).next_ms;
    ck_assert_msg(next + CREEP >= 48000 && next <= 72000, "%llu ms",
                  (unsigned long long)next);
    if (dies)
        thaw(r);
    else
        peer_start(r);
    rig_pass(r, next, next, NULL);
    UNTIL(r, 10000, is_ready(r));
    ck_assert_uint_eq(starts(r), 9);
    rig_good(r);
    rig_end(r);
}
END_TEST

/* ---- a peer that stands still ---- */

/* How long it took until it was known, in ms of the clock. */
static uint64_t time_to_know(struct rig *r, uint64_t at_most)
{
    uint64_t since = rig_clock(r);

    if (!rig_pass(r, at_most, 1000, is_lost)) {
        rig_show(r);
        ck_abort_msg("not found dead within %llu ms", (unsigned long long)at_most);
    }
    return rig_clock(r) - since;
}

/* R4: silent for 30 s, then three checks of 3 s each, a second apart: 41 s. */
START_TEST(stopped_idle_peer_is_found_dead_by_three_checks_and_had_again_when_it_runs)
{
    struct rig *r = up(wire_of(_i), _i / NET_WIRES, NULL);

    freeze(r);
    uint64_t ms = time_to_know(r, 60000);
    ck_assert_msg(ms >= 40000 && ms <= 44000, "%llu ms", (unsigned long long)ms);
    ck_assert_uint_eq(rig_logged(r, "health check failed"), 3);
    ck_assert_uint_ge(
        rig_logged(r, "the server does not respond: 3 health checks failed"), 1);
    rig_pass(r, 45000, 3000, is_ready);
    ck_assert(!is_ready(r));
    ck_assert_uint_ge(starts(r), 2); /* it is tried meanwhile */
    thaw(r);
    come_back(r, 60000);
    ck_assert_uint_eq(rig_noted(r, "start "), 1); /* the same one */
    rig_good(r);
    rig_end(r);
}
END_TEST

/* Fires so many calls that are not answered, and stops the peer. */
static struct rig *stop_with_calls(struct rig *r, unsigned calls)
{
    for (unsigned i = 0; i < calls; i++)
        rig_fire(r, i % r->n_users, "mute", 1, 0);
    UNTIL(r, 10000, rig_noted(r, "call mute") == calls);
    freeze(r);
    return r;
}

static void check_calls(struct rig *r, unsigned calls, const char *why)
{
    UNTIL(r, bound_ms(), rig_done(r));
    for (unsigned i = 0; i < calls; i++) {
        HOLDS(r->shots[i].ended == 1, "ended %u times", r->shots[i].ended);
        HOLDS(r->shots[i].code == MCPLUG_ECLOSED || r->shots[i].code == MCPLUG_ETIMEDOUT,
              "%s", r->shots[i].text);
        HOLDS(strstr(r->shots[i].text, why), "%s", r->shots[i].text);
    }
    ck_assert_uint_eq(rig_status(r).calls->transport_error, calls);
    thaw(r);
    come_back(r, 120000);
    rig_good(r);
    rig_end(r);
}

/* With calls it is given 300 s, then the same: by the core. A WebSocket has pings of its
 * own, which are the next test's. */
START_TEST(stopped_peer_with_calls_is_found_dead_after_300_s_and_they_end)
{
    unsigned calls = _i / NET_WIRES / 2 ? 100 : 1;
    struct rig *r = up(wire_of(_i), _i / NET_WIRES % 2, "0");

    stop_with_calls(r, calls);
    rig_pass(r, 299000, 29900, NULL);
    ck_assert(is_ready(r));
    uint64_t ms = 299000 + time_to_know(r, 100000);
    ck_assert_msg(ms >= 300000 && ms <= 345000, "%llu ms", (unsigned long long)ms);
    check_calls(r, calls, "the server does not respond");
}
END_TEST

/* A WebSocket asks after 30 s whether there is anybody, and waits another 30 s. Whoever
 * works long on a call still answers that. */
START_TEST(stopped_peer_with_calls_is_found_dead_by_the_pings_of_a_websocket)
{
    unsigned calls = _i ? 100 : 1;
    struct rig *r = up(WEBSOCKET, _i, NULL);

    stop_with_calls(r, calls);
    rig_pass(r, 59000, 29500, NULL);
    ck_assert(is_ready(r));
    uint64_t ms = 59000 + time_to_know(r, 10000);
    ck_assert_msg(ms >= 60000 && ms <= 61000, "%llu ms", (unsigned long long)ms);
    check_calls(r, calls, "has not answered a ping for 30 s");
}
END_TEST

/* ---- a peer that is slow to start ---- */

/* Says nothing at all, or only what makes the connection. */
static void hush(struct rig *r, bool frozen, bool on)
{
    char flag[128];

    snprintf(flag, sizeof flag, "%s/mute", r->dir);
    if (frozen) {
        on ? freeze(r) : thaw(r);
    } else if (on) {
        FILE *f = fopen(flag, "w");
        ck_assert_ptr_nonnull(f);
        fclose(f);
    } else {
        ck_assert_int_eq(unlink(flag), 0);
    }
}

/* R2 */
START_TEST(all_who_wait_fail_together_after_60_s_and_later_ones_at_once)
{
    bool frozen = _i / NET_WIRES % 2, shared = _i / NET_WIRES < 2;
    struct rig *r = rig_new_fake_over(wire_of(_i));

    r->ao.dedicated = !shared;
    hush(r, frozen, true);
    rig_add(r);
    rig_pass(r, 20000, 2000, NULL);
    if (shared)
        rig_add(r);
    struct shot *s = rig_fire(r, 0, "good", 1, 0);
    rig_pass(r, 39999, 2000, NULL);
    for (unsigned i = 0; i < r->n_users; i++)
        ck_assert_uint_eq(r->users[i].ready, 0);
    ck_assert_uint_eq(s->ended, 0);
    rig_pass(r, 1, 1, NULL);
    for (unsigned i = 0; i < r->n_users; i++) { /* together, though one came later */
        ck_assert_uint_eq(r->users[i].ready, 1);
        ck_assert_int_eq(r->users[i].why.code, MCPLUG_ETIMEDOUT);
    }
    ck_assert_uint_eq(s->ended, 1);
    ck_assert_int_eq(s->code, MCPLUG_ETIMEDOUT);
    rig_pass(r, 7000, 7000, NULL);
    s = rig_fire(r, 0, "good", 1, 0);
    struct user *late = shared ? rig_add(r) : NULL;
    UNTIL(r, 1000, s->ended && (!late || late->ready));
    ck_assert_msg(strstr(s->text, "initialization failed 7s ago"), "%s", s->text);
    ck_assert_msg(!late || strstr(late->why.text, "initialization failed 7s ago"), "%s",
                  late ? late->why.text : "");
    hush(r, frozen, false);
    come_back(r, 120000);
    rig_good(r);
    if (shared) {
        late = rig_add(r);
        UNTIL(r, 1000, late->ready);
        ck_assert_int_eq(late->why.code, 0);
    }
    ck_assert_uint_eq(rig_status(r).restarts, 0);
    rig_end(r);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("registry_clock_net");
    TCase *t = tcase_create("network");

    tcase_set_timeout(t, 60);
    tcase_add_loop_test(
        t, peer_that_stays_away_is_tried_8_times_in_108_s_give_or_take_a_fifth, 0,
        2 * NET_WIRES);
    tcase_add_loop_test(
        t, stopped_idle_peer_is_found_dead_by_three_checks_and_had_again_when_it_runs, 0,
        2 * NET_WIRES);
    tcase_add_loop_test(t, stopped_peer_with_calls_is_found_dead_after_300_s_and_they_end,
                        0, 4 * NET_WIRES);
    tcase_add_loop_test(
        t, stopped_peer_with_calls_is_found_dead_by_the_pings_of_a_websocket, 0, 2);
    tcase_add_loop_test(t, all_who_wait_fail_together_after_60_s_and_later_ones_at_once,
                        0, 3 * NET_WIRES);
    suite_add_tcase(suite, t);
    return run_faults(suite);
}
