/* Servers that say nothing, and when they are taken for dead. */
#include "matrix.h"
#include "matrix_kit.h"
#include "../unit/suite.h"

#include <signal.h>
#include <unistd.h>

static bool is_ready(struct rig *r)
{
    return rig_is(r, MCPLUG_STATE_READY);
}

static bool is_lost(struct rig *r)
{
    return !rig_is(r, MCPLUG_STATE_READY);
}

static bool is_back(struct rig *r)
{
    return rig_status(r).starts == 2 && is_ready(r);
}

static struct rig *up(bool shared, const char *args)
{
    struct rig *r = rig_new_fake(args);

    r->ao.dedicated = !shared;
    rig_add(r);
    if (shared)
        rig_add(r);
    UNTIL(r, 10000, r->users[r->n_users - 1].ready);
    return r;
}

static void stop_server(struct rig *r)
{
    struct mcplug_status s = rig_status(r);
    ck_assert_int_gt(s.pid, 0);
    ck_assert_int_eq(kill((pid_t)s.pid, SIGSTOP), 0);
}

/* How long it took until it was known, in ms of the clock. */
static uint64_t time_to_know(struct rig *r, uint64_t at_most)
{
    uint64_t since = rig_clock(r);

    if (!rig_pass(r, at_most, 500, is_lost)) {
        rig_show(r);
        ck_abort_msg("not found dead within %llu ms", (unsigned long long)at_most);
    }
    return rig_clock(r) - since;
}

static void check_back(struct rig *r)
{
    ck_assert(rig_pass(r, 10000, 50, is_back)); /* SIGKILL is what ends it */
    ck_assert_uint_eq(rig_status(r).restarts, 1);
    rig_good(r);
}

/* R4: silent for 30 s, then three checks of 3 s each, a second apart: 41 s. */
START_TEST(stopped_idle_server_is_found_dead_by_three_probes_and_started_anew)
{
    struct rig *r = up(_i, "");

    stop_server(r);
    uint64_t ms = time_to_know(r, 60000);
    ck_assert_msg(ms >= 40000 && ms <= 44000, "%llu ms", (unsigned long long)ms);
    ck_assert_uint_eq(rig_logged(r, "health check failed"), 3);
    ck_assert_uint_ge(
        rig_logged(r, "the server does not respond: 3 health checks failed"), 1);
    check_back(r);
    rig_end(r);
}
END_TEST

/* Whichever way it was told to be asked. */
START_TEST(probe_that_is_named_is_the_one_that_asks)
{
    static const char *const probes[] = {"ping", "listTools", "discover"};
    static const char *const asked[] = {"asked ping", "asked tools/list",
                                        "asked server/discover"};
    struct rig *r = rig_new_fake(_i == 0 ? "--legacy" : "");

    r->ao.probe = probes[_i];
    rig_add(r);
    UNTIL(r, 10000, r->users[0].ready);
    unsigned before = rig_noted(r, asked[_i]);
    rig_pass(r, 65000, 1000, NULL);
    ck_assert(is_ready(r));
    ck_assert_uint_eq(rig_noted(r, asked[_i]), before + 2);
    ck_assert_uint_eq(rig_logged(r, "health check failed"), 0);
    stop_server(r);
    time_to_know(r, 60000);
    ck_assert_uint_eq(rig_logged(r, "health check failed"), 3);
    check_back(r);
    rig_end(r);
}
END_TEST

/* With calls it is given 300 s, then the same. */
START_TEST(stopped_server_with_calls_is_found_dead_after_300_s_and_they_end)
{
    struct rig *r = up(_i % 2, "");
    unsigned calls = _i < 2 ? 1 : 100;

    for (unsigned i = 0; i < calls; i++)
        rig_fire(r, i % r->n_users, "mute", 1, 0);
    UNTIL(r, 10000, rig_noted(r, "call mute") == calls);
    stop_server(r);
    rig_pass(r, 299000, 29900, NULL);
    ck_assert(is_ready(r));
    uint64_t ms = 299000 + time_to_know(r, 100000);
    ck_assert_msg(ms >= 300000 && ms <= 345000, "%llu ms", (unsigned long long)ms);
    UNTIL(r, bound_ms(), rig_done(r));
    for (unsigned i = 0; i < calls; i++) {
        HOLDS(r->shots[i].code == MCPLUG_ECLOSED || r->shots[i].code == MCPLUG_ETIMEDOUT,
              "%s", r->shots[i].text);
        HOLDS(strstr(r->shots[i].text, "the server does not respond") &&
                  strstr(r->shots[i].text, "had already been sent"),
              "%s", r->shots[i].text);
    }
    ck_assert_uint_eq(rig_status(r).calls->transport_error, calls);
    check_back(r);
    rig_end(r);
}
END_TEST

/* A long call is no sign of death while probes are answered. */
START_TEST(server_that_answers_probes_keeps_a_call_for_hours)
{
    struct rig *r = up(true, _i ? "--legacy" : "");

    struct shot *s = rig_fire(r, 0, "mute", 1, 0);
    UNTIL(r, 10000, rig_noted(r, "call mute") == 1);
    for (int i = 0; i < 60; i++) /* 2 h; each check is answered as it comes */
        rig_pass(r, 120000, 30000, NULL);
    ck_assert_uint_eq(s->ended, 0);
    ck_assert_uint_eq(rig_status(r).starts, 1);
    rig_good(r);
    mcplug_cancel(s->call);
    UNTIL(r, 1000, s->ended);
    rig_end(r);
}
END_TEST

/* R6: after a cancel that is not answered. One check of 3 s for a server of one user's
 * own, three for one that others use: 11 s. */
START_TEST(deaf_server_is_started_anew_after_a_cancel)
{
    bool shared = _i % 2, late = _i / 2;
    struct rig *r = up(shared, "");

    struct shot *s = rig_fire(r, 0, "deaf", 1, late ? 10000 : 0);
    UNTIL(r, 5000, rig_noted(r, "call deaf") == 1);
    if (late)
        rig_pass(r, 10001, 10001, NULL);
    else
        mcplug_cancel(s->call);
    UNTIL(r, 1000, s->ended);
    ck_assert_int_eq(s->code, late ? MCPLUG_ETIMEDOUT : MCPLUG_ECANCELED);
    ck_assert(is_ready(r));
    uint64_t ms = time_to_know(r, 30000);
    if (shared)
        ck_assert_msg(ms >= 10500 && ms <= 13000, "%llu ms", (unsigned long long)ms);
    else
        ck_assert_msg(ms >= 2500 && ms <= 4000, "%llu ms", (unsigned long long)ms);
    check_back(r);
    rig_end(r);
}
END_TEST

/* While others wait for it, nobody's cancel takes it from them. */
START_TEST(cancel_of_one_call_does_not_end_the_server_of_others)
{
    struct rig *r = up(true, "");

    struct shot *mine = rig_fire(r, 0, "mute", 1, 0);
    struct shot *theirs = rig_fire(r, 1, "mute", 1, 0);
    UNTIL(r, 5000, rig_noted(r, "call mute") == 2);
    stop_server(r);
    mcplug_cancel(mine->call);
    rig_pass(r, 60000, 1000, NULL);
    ck_assert_uint_eq(mine->ended, 1);
    ck_assert_uint_eq(theirs->ended, 0);
    ck_assert(is_ready(r));
    ck_assert_int_eq(kill((pid_t)rig_status(r).pid, SIGCONT), 0);
    rig_good(r);
    mcplug_cancel(theirs->call);
    UNTIL(r, 1000, theirs->ended);
    rig_end(r);
}
END_TEST

static bool rests(struct rig *r)
{
    return rig_is(r, MCPLUG_STATE_RESTING);
}

static bool never(struct rig *r)
{
    (void)r;
    return false;
}

START_TEST(server_without_calls_is_stopped_after_its_idle_time_and_comes_back)
{
    struct rig *r = rig_new_fake("");

    r->ao.idle_ms = 90000;
    rig_add(r);
    UNTIL(r, 10000, r->users[0].ready);
    rig_good(r);
    rig_pass(r, 80000, 1000, NULL);
    ck_assert(is_ready(r));
    rig_good(r); /* a call begins it anew */
    rig_pass(r, 89000, 1000, NULL);
    ck_assert(is_ready(r));
    ck_assert(rig_pass(r, 5000, 200, rests));
    check_no_children();
    rig_pass(r, 1000000, 100000, NULL);
    ck_assert_uint_eq(rig_noted(r, "start "), 1); /* that was what was asked for */
    struct shot *s = rig_fire(r, 0, "mute", 1, 0);
    UNTIL(r, 5000, rig_noted(r, "call mute") == 1);
    for (int i = 0; i < 20; i++) /* a call is a use */
        rig_pass(r, 10000, 2500, NULL);
    ck_assert(is_ready(r));
    mcplug_cancel(s->call);
    UNTIL(r, 1000, s->ended);
    ck_assert_uint_eq(rig_status(r).starts, 2);
    rig_pass(r, 1, 1, NULL);
    rig_release(r, &r->users[0]); /* it stays for as long, should somebody come back */
    UNTIL(r, 1000, r->users[0].released);
    rig_pass(r, 80000, 1000, never);
    struct user *u = rig_add(r);
    UNTIL(r, 1000, u->ready);
    ck_assert_uint_eq(rig_noted(r, "start "), 2);
    rig_release(r, u);
    UNTIL(r, 1000, u->released);
    rig_pass(r, 95000, 1000, never);
    check_no_children();
    rig_end(r);
}
END_TEST

/* A start that hangs takes its 30 s, and the next attempt comes. */
START_TEST(start_that_hangs_is_given_up_and_tried_again)
{
    struct rig *r = rig_new_fake(_i ? "--fail stubborn 1" : "--fail mute 1");

    rig_add(r);
    struct shot *s = rig_fire(r, 0, "good", 3, 0);
    ck_assert(rig_pass(r, 59000, 500, is_ready));
    UNTIL(r, 1000, rig_done(r) && r->users[0].ready);
    ck_assert_msg(s->code == 0, "%s", s->text);
    ck_assert_int_eq(r->users[0].why.code, 0);
    rig_end(r);
}
END_TEST

void add_probe_tests(Suite *suite)
{
    TCase *t = tcase_create("probes");

    tcase_set_timeout(t, 60);
    tcase_add_loop_test(
        t, stopped_idle_server_is_found_dead_by_three_probes_and_started_anew, 0, 2);
    if (offered("ping"))
        tcase_add_loop_test(t, probe_that_is_named_is_the_one_that_asks, 0, 3);
    tcase_add_loop_test(
        t, stopped_server_with_calls_is_found_dead_after_300_s_and_they_end, 0, 4);
    tcase_add_loop_test(t, server_that_answers_probes_keeps_a_call_for_hours, 0, 2);
    tcase_add_loop_test(t, deaf_server_is_started_anew_after_a_cancel, 0, 4);
    tcase_add_test(t, cancel_of_one_call_does_not_end_the_server_of_others);
    tcase_add_test(t, server_without_calls_is_stopped_after_its_idle_time_and_comes_back);
    tcase_add_loop_test(t, start_that_hangs_is_given_up_and_tried_again, 0, 2);
    suite_add_tcase(suite, t);
}
