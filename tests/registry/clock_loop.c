/* Attempts, those who wait for them, and jumps of the clock. */
#include "matrix.h"
#include "matrix_kit.h"

#include <unistd.h>

/* Each delay, 20 % more or less by chance. */
static const unsigned delays[] = {0, 1000, 2000, 5000, 10000, 30000, 60000, 60000, 60000};
enum { DELAYS = sizeof delays / sizeof *delays };

static bool waits(struct rig *r)
{
    return rig_is(r, MCPLUG_STATE_WAITING);
}

static bool is_starting(struct rig *r)
{
    return rig_is(r, MCPLUG_STATE_STARTING);
}

static bool is_ready(struct rig *r)
{
    return rig_is(r, MCPLUG_STATE_READY);
}

/* Goes through the attempts until `n` delays were seen, and checks each. Returns how much
 * time that took. */
static uint64_t see_delays(struct rig *r, unsigned n)
{
    uint64_t began = rig_clock(r);

    for (unsigned i = 0; i < n; i++) {
        uint64_t starts = rig_status(r).starts;
        if (delays[i]) { /* the wait of 0 ms is over before it can be seen */
            UNTIL(r, 10000, waits(r));
            uint64_t next = rig_status(r).next_ms;
            HOLDS(next >= delays[i] * 8 / 10 && next <= delays[i] * 12 / 10,
                  "delay %u is %llu ms instead of %u", i, (unsigned long long)next,
                  delays[i]);
            starts = rig_status(r).starts;
            rig_pass(r, next - 1, next, NULL);
            ck_assert_uint_eq(rig_status(r).starts, starts); /* not before */
            rig_pass(r, 1, 1, NULL);
        }
        UNTIL(r, 10000, rig_status(r).starts == starts + 1);
    }
    return rig_clock(r) - began;
}

/* R3. 8 starts, the first of them at 0, take 108 s, 20 % more or less: so there are at
 * most 7 in any 86 s of a crash loop's beginning, and two a minute or less from there
 * on. */
START_TEST(crash_loop_starts_at_0_1_2_5_10_30_60_60_seconds_give_or_take_a_fifth)
{
    struct rig *r = rig_new_fake("--fail exit 100000");

    rig_add(r);
    uint64_t took = see_delays(r, 7);
    ck_assert_uint_eq(rig_status(r).starts, 8);
    ck_assert_msg(took >= 86400 && took <= 129700, "8 starts within %llu ms",
                  (unsigned long long)took);
    /* those who waited were told at 60 s, and attempts go on */
    ck_assert_uint_eq(r->users[0].ready, 1);
    ck_assert_int_ne(r->users[0].why.code, 0);
    for (int i = 0; i < 3; i++) {
        UNTIL(r, 10000, waits(r));
        uint64_t next = rig_status(r).next_ms, starts = rig_status(r).starts;
        ck_assert_msg(next >= 48000 && next <= 72000, "%llu ms",
                      (unsigned long long)next);
        rig_pass(r, next, next, NULL);
        UNTIL(r, 10000, rig_status(r).starts == starts + 1);
    }
    ck_assert_uint_eq(rig_status(r).restarts, 0); /* it never was ready */
    UNTIL(r, 10000, waits(r));
    /* one that exits at once is tried as a server of either era, in each attempt */
    ck_assert_uint_le(rig_noted(r, "start "), 2 * rig_status(r).starts);
    rig_end(r);
}
END_TEST

/* Being ready for a moment does not make it healthy: the delays go on growing. */
START_TEST(server_that_dies_right_after_it_was_ready_is_still_in_a_crash_loop)
{
    struct rig *r = rig_new_fake("");

    rig_add(r);
    for (unsigned i = 0; i < 5; i++) {
        UNTIL(r, 10000, is_ready(r));
        rig_kill(r);
        if (delays[i]) {
            UNTIL(r, 10000, waits(r));
            uint64_t next = rig_status(r).next_ms;
            HOLDS(next >= delays[i] * 8 / 10 && next <= delays[i] * 12 / 10,
                  "delay %u is %llu ms", i, (unsigned long long)next);
            rig_pass(r, next, next, NULL);
        } else {
            UNTIL(r, 10000, !is_ready(r));
            UNTIL(r, 10000, waits(r) || is_ready(r));
            rig_pass(r, 1, 1, NULL);
        }
    }
    UNTIL(r, 10000, is_ready(r));
    rig_end(r);
}
END_TEST

/* Well for a minute, with an answered call or health check: from the beginning again. */
START_TEST(server_that_was_well_for_a_minute_is_started_again_at_once)
{
    struct rig *r = rig_new_fake("");

    rig_add(r);
    UNTIL(r, 10000, is_ready(r));
    for (int i = 0; i < 3; i++) {
        if (_i)
            rig_good(r);
        rig_pass(r, 61000, 1000, NULL);
        ck_assert(is_ready(r));
        uint64_t starts = rig_status(r).starts, before = rig_clock(r);
        rig_kill(r);
        UNTIL(r, 10000, !is_ready(r));
        UNTIL(r, 10000, waits(r) || rig_status(r).starts > starts);
        ck_assert_uint_le(rig_status(r).next_ms, 0);
        rig_pass(r, 1, 1, NULL);
        UNTIL(r, 10000, is_ready(r));
        ck_assert_uint_le(rig_clock(r) - before, 1);
    }
    ck_assert_uint_eq(rig_status(r).restarts, 3);
    rig_end(r);
}
END_TEST

/* R2 */
START_TEST(all_who_wait_fail_together_after_60_s_and_later_ones_at_once)
{
    struct rig *r = rig_new_fake("--fail mute 2");

    r->ao.timeout_ms = 200000; /* the start itself takes longer than that */
    r->ao.revision = "2026-07-28";
    rig_add(r);
    rig_pass(r, 20000, 5000, NULL);
    rig_add(r);
    struct shot *s = rig_fire(r, 0, "good", 1, 0);
    rig_pass(r, 39000, 3000, NULL);
    ck_assert_uint_eq(r->users[0].ready + r->users[1].ready + s->ended, 0);
    rig_pass(r, 1001, 1001, NULL);
    ck_assert_uint_eq(r->users[0].ready, 1);
    ck_assert_uint_eq(r->users[1].ready, 1); /* together, though it came later */
    ck_assert_uint_eq(s->ended, 1);
    ck_assert_int_eq(r->users[0].why.code, MCPLUG_ETIMEDOUT);
    ck_assert_int_eq(r->users[1].why.code, MCPLUG_ETIMEDOUT);
    ck_assert_int_eq(s->code, MCPLUG_ETIMEDOUT);
    ck_assert_uint_eq(rig_status(r).starts, 1); /* all joined one attempt */
    rig_pass(r, 7000, 7000, NULL);
    struct user *late = rig_add(r);
    UNTIL(r, 1000, late->ready);
    ck_assert_msg(strstr(late->why.text, "initialization failed 7s ago"), "%s",
                  late->why.text);
    s = rig_fire(r, 0, "good", 1, 0);
    UNTIL(r, 1000, s->ended);
    ck_assert_msg(strstr(s->text, "initialization failed 7s ago"), "%s", s->text);
    ck_assert(rig_pass(r, 1000000, 2000, is_ready)); /* the third start is good */
    rig_good(r);
    late = rig_add(r);
    UNTIL(r, 1000, late->ready);
    ck_assert_int_eq(late->why.code, 0);
    rig_end(r);
}
END_TEST

static bool has_ended(struct rig *r)
{
    return rig_done(r);
}

/* R5: a call's own time, and the minute of all. */
START_TEST(
    deadline_during_a_restart_is_mcp_restart_in_progress_and_60_s_mcp_restart_failed)
{
    struct rig *r = rig_new_fake("");
    char flag[128];

    snprintf(flag, sizeof flag, "%s/flaky", r->dir);
    mcplug_settings_add(r->settings, "args", "--flaky");
    mcplug_settings_add(r->settings, "args", flag);
    rig_add(r);
    UNTIL(r, 10000, is_ready(r));
    FILE *f = fopen(flag, "w");
    ck_assert_ptr_nonnull(f);
    fclose(f);
    rig_kill(r); /* comes back, but says nothing */
    UNTIL(r, 10000, !is_ready(r));
    struct shot *hurry = rig_fire(r, 0, "good", 1, 5000);
    struct shot *patient = rig_fire(r, 0, "good", 1, 3600000);
    rig_pass(r, 4000, 1000, NULL);
    ck_assert_uint_eq(hurry->ended, 0);
    rig_pass(r, 1001, 1001, NULL);
    ck_assert_uint_eq(hurry->ended, 1);
    ck_assert_int_eq(hurry->code, MCPLUG_ERESTARTING);
    ck_assert_msg(strstr(hurry->text, "mcp_restart_in_progress"), "%s", hurry->text);
    ck_assert_uint_eq(patient->ended, 0);
    ck_assert(rig_pass(r, 56000, 1000, has_ended));
    ck_assert_int_eq(patient->code, MCPLUG_ERESTART);
    ck_assert_msg(strstr(patient->text, "mcp_restart_failed"), "%s", patient->text);
    struct shot *late = rig_fire(r, 0, "good", 1, 0); /* at once, from then on */
    UNTIL(r, 1000, late->ended);
    ck_assert_int_eq(late->code, MCPLUG_ERESTART);
    unlink(flag);
    ck_assert(rig_pass(r, 200000, 1000, is_ready));
    rig_good(r);
    rig_end(r);
}
END_TEST

START_TEST(release_while_it_waits_for_the_next_attempt_ends_it_at_once)
{
    struct rig *r = rig_new_fake("--fail exit 100000");

    rig_add(r);
    see_delays(r, 2);
    UNTIL(r, 10000, waits(r));
    rig_release(r, &r->users[0]);
    UNTIL(r, 1000, r->users[0].released);
    ck_assert_int_eq(r->users[0].why.code, MCPLUG_ECANCELED);
    unsigned starts = rig_noted(r, "start ");
    rig_pass(r, 100000, 10000, has_ended);
    ck_assert_uint_eq(rig_noted(r, "start "), starts);
    rig_end(r);
}
END_TEST

static bool stops(struct rig *r)
{
    return rig_is(r, MCPLUG_STATE_STOPPING);
}

START_TEST(restart_while_a_failed_one_is_being_ended_is_not_lost)
{
    struct rig *r = rig_new_fake("--fail stubborn 2");
    struct mcplug_error err = MCPLUG_ERROR_INIT;

    r->ao.timeout_ms = 5000;
    r->ao.revision = "2026-07-28"; /* an attempt is one process */
    rig_add(r);
    ck_assert(rig_pass(r, 10000, 50, stops));
    ck_assert(rig_pass(r, 10000, 50, is_starting));
    ck_assert(rig_pass(r, 10000, 50, stops)); /* and 1 s later the next, but for .. */
    ck_assert_int_eq(mcplug_restart(r->users[0].server, &err), 0);
    ck_assert_int_eq(mcplug_restart(r->users[0].server, &err), MCPLUG_ERESTARTING);
    uint64_t before = rig_clock(r);
    ck_assert(rig_pass(r, 10000, 50, is_ready));
    ck_assert_uint_le(rig_clock(r) - before, 600); /* the time that it takes to end it */
    ck_assert_uint_eq(rig_status(r).starts, 3);
    rig_end(r);
}
END_TEST

void add_loop_tests(Suite *suite)
{
    TCase *t = tcase_create("attempts");

    tcase_set_timeout(t, 60);
    tcase_add_test(t,
                   crash_loop_starts_at_0_1_2_5_10_30_60_60_seconds_give_or_take_a_fifth);
    tcase_add_test(t, server_that_dies_right_after_it_was_ready_is_still_in_a_crash_loop);
    tcase_add_loop_test(t, server_that_was_well_for_a_minute_is_started_again_at_once, 0,
                        2);
    tcase_add_test(t, restart_while_a_failed_one_is_being_ended_is_not_lost);
    tcase_add_test(t, all_who_wait_fail_together_after_60_s_and_later_ones_at_once);
    tcase_add_test(
        t,
        deadline_during_a_restart_is_mcp_restart_in_progress_and_60_s_mcp_restart_failed);
    tcase_add_test(t, release_while_it_waits_for_the_next_attempt_ends_it_at_once);
    suite_add_tcase(suite, t);
}
