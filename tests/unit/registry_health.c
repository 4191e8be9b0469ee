/* When a server is asked whether it lives, and when it counts as dead. */
#include "health_kit.h"

START_TEST(an_idle_server_is_asked_after_30_s_of_silence)
{
    pass(29999);
    ck_assert_uint_eq(p.checks, 0);
    pass(1);
    ck_assert_uint_eq(p.checks, 1);
    answers();
    pass(29999);
    ck_assert_uint_eq(p.checks, 1);
    pass(1);
    ck_assert_uint_eq(p.checks, 2);
}
END_TEST

START_TEST(a_server_that_says_something_is_not_asked)
{
    for (int i = 0; i < 1000; i++) {
        pass(29999);
        says();
    }
    ck_assert_uint_eq(p.checks, 0);
    pass(30000);
    ck_assert_uint_eq(p.checks, 1);
}
END_TEST

START_TEST(three_misses_in_a_row_are_death)
{
    pass(30000);
    pass(3000);
    misses("no answer within 3000ms");
    pass(999);
    ck_assert_uint_eq(p.checks, 1);
    pass(1);
    ck_assert_uint_eq(p.checks, 2);
    misses("reset");
    pass(1000);
    ck_assert_uint_eq(p.deaths, 0);
    misses("no answer within 3000ms");
    ck_assert_uint_eq(p.deaths, 1);
    ck_assert_str_eq(
        p.why, "the server does not respond: 3 health checks failed, the last one: no "
               "answer within 3000ms");
    pass(3600000);
    ck_assert_uint_eq(p.checks, 3); /* and that is the end of it */
    ck_assert_uint_eq(p.deaths, 1);
    ck_assert_uint_eq(p.h.missed, 3);
}
END_TEST

START_TEST(an_answer_forgets_the_misses_before_it)
{
    for (int i = 0; i < 10; i++) {
        pass(30000);
        misses("x");
        pass(1000);
        misses("x");
        pass(1000);
        answers();
    }
    ck_assert_uint_eq(p.deaths, 0);
    ck_assert_uint_eq(p.h.checks, 30);
    ck_assert_uint_eq(p.h.missed, 20);
}
END_TEST

START_TEST(a_busy_server_may_be_silent_for_300_s_and_no_longer)
{
    p.busy = true;
    pass(299999);
    ck_assert_uint_eq(p.checks, 0);
    pass(1);
    for (int i = 0; i < 3; i++) {
        ck_assert_uint_eq(p.checks, (unsigned)i + 1);
        pass(3000);
        misses("no answer within 3000ms");
        pass(i < 2 ? 1000 : 0);
    }
    ck_assert_uint_eq(p.deaths, 1);
    ck_assert_uint_eq(now() - p.said_at, 311000);
}
END_TEST

START_TEST(a_server_that_was_busy_is_asked_as_an_idle_one_again)
{
    p.busy = true;
    pass(100000);
    p.busy = false;
    ck_assert_uint_eq(p.checks, 0);
    pass(30000);
    ck_assert_uint_eq(p.checks, 1);
}
END_TEST

START_TEST(bytes_during_a_check_are_life_even_when_it_fails)
{
    for (int i = 0; i < 10; i++) {
        pass(30000);
        ck_assert(p.asked);
        pass(1500);
        says();
        pass(1500);
        misses("no answer within 3000ms");
        ck_assert_uint_eq(p.h.misses, 0);
    }
    ck_assert_uint_eq(p.deaths, 0);
    pass(28499); /* since those bytes */
    ck_assert(!p.asked);
    pass(1);
    ck_assert(p.asked);
}
END_TEST

START_TEST(bytes_between_two_checks_are_life_too)
{
    pass(30000);
    pass(3000);
    misses("x");
    pass(500);
    says();
    pass(500);
    ck_assert(!p.asked);
    ck_assert_uint_eq(p.h.misses, 0);
    pass(29500);
    ck_assert(p.asked);
}
END_TEST

START_TEST(a_check_that_goes_past_the_session_counts_as_well)
{
    pass(30000);
    p.asked = false;
    mp_health_checked(&p.h, NULL); /* and the session said nothing */
    pass(29999);
    ck_assert_uint_eq(p.checks, 1);
    pass(1);
    ck_assert_uint_eq(p.checks, 2);
}
END_TEST

START_TEST(a_check_that_cannot_begin_is_a_miss)
{
    p.refuses = MCPLUG_ENOMEM;
    pass(30000);
    ck_assert_uint_eq(p.h.misses, 1);
    pass(2000);
    ck_assert_uint_eq(p.deaths, 1);
    ck_assert_str_eq(
        p.why,
        "the server does not respond: 3 health checks failed, the last one: no way "
        "to ask");
}
END_TEST

START_TEST(a_jump_of_the_clock_leads_to_a_check_and_not_to_death)
{
    jump(3600000);
    ck_assert_uint_eq(p.checks, 1);
    ck_assert_uint_eq(p.deaths, 0);
    misses("x");
    jump(3600000); /* between two checks */
    ck_assert_uint_eq(p.checks, 2);
    misses("x");
    pass(1000);
    jump(3600000); /* during one: its deadline has come before its answer could */
    ck_assert_uint_eq(p.h.misses, 2);
    misses("no answer within 3000ms");
    ck_assert_uint_eq(p.deaths, 0);
    pass(1000);
    ck_assert_uint_eq(p.checks, 4);
    answers();
    ck_assert_uint_eq(p.h.misses, 0);
}
END_TEST

START_TEST(checks_that_are_always_late_are_excused_once)
{
    pass(30000);
    for (int i = 0; i < 3; i++) {
        ck_assert_uint_eq(p.deaths, 0);
        pass(10000);
        misses("slow");
        pass(1000);
    }
    ck_assert_uint_eq(p.deaths, 0);
    pass(10000);
    misses("slow");
    ck_assert_uint_eq(p.deaths, 1);
}
END_TEST

START_TEST(a_suspect_is_checked_at_once_and_dead_after_fewer_misses)
{
    pass(100);
    mp_health_suspect(&p.h, 1);
    ck_assert_uint_eq(p.checks, 0); /* not from inside */
    pass(0);
    ck_assert_uint_eq(p.checks, 1);
    mp_health_suspect(&p.h, 1); /* by somebody else */
    pass(3000);
    misses("gone");
    ck_assert_uint_eq(p.deaths, 1);
    ck_assert_str_eq(p.why, "the server does not respond: a health check failed: gone");
}
END_TEST

START_TEST(a_call_that_is_made_meanwhile_clears_of_suspicion)
{
    mp_health_suspect(&p.h, 1);
    pass(0);
    p.busy = true;
    pass(3000);
    misses("x");
    ck_assert_uint_eq(p.deaths, 0);
    pass(200000);
    ck_assert_uint_eq(p.checks, 1); /* as long as any call may take */
}
END_TEST

/* Somebody whose calls time out makes the next one at once. */
START_TEST(a_busy_suspect_may_be_silent_for_300_s_and_no_longer)
{
    unsigned allowed = _i ? MP_HEALTH_MISSES : 1;
    p.busy = true;
    for (uint64_t asked_at = 0; !p.deaths && now() - p.said_at < 400000; pass(100)) {
        if (!p.asked)
            asked_at = now();
        if (p.asked && now() - asked_at >= 3000)
            misses("no answer within 3000ms");
        else if (now() % 2000 == 0)
            mp_health_suspect(&p.h, allowed);
    }
    ck_assert_uint_eq(p.deaths, 1);
    ck_assert_msg(strstr(p.why, "3 health checks failed"), "%s", p.why);
    uint64_t ms = now() - p.said_at;
    ck_assert_msg(ms >= 300000 && ms <= 320000, "%llu ms", (unsigned long long)ms);
}
END_TEST

START_TEST(bytes_clear_of_suspicion)
{
    mp_health_suspect(&p.h, 1);
    pass(1000);
    says();
    pass(2000);
    misses("x");
    ck_assert_uint_eq(p.deaths, 0);
    ck_assert_uint_eq(p.h.allowed, MP_HEALTH_MISSES);
    pass(30000);
    misses("x"); /* one is none again */
    ck_assert_uint_eq(p.deaths, 0);
    pass(500);
    says();
    pass(100);
    mp_health_suspect(&p.h, 1); /* what it said before does not count */
    pass(0);
    ck_assert(p.asked);
    misses("x");
    ck_assert_uint_eq(p.deaths, 1);
}
END_TEST

START_TEST(suspicions_at_once_do_not_add_up)
{
    p.refuses = MCPLUG_EIO;
    for (int i = 0; i < 5; i++) {
        mp_health_suspect(&p.h, 2);
        pass(0);
    }
    ck_assert_uint_eq(p.checks, 1);
    ck_assert_uint_eq(p.deaths, 0);
    pass(1000);
    ck_assert_uint_eq(p.deaths, 1);
}
END_TEST

START_TEST(rest_cancels_the_check_and_watch_begins_anew)
{
    pass(30000);
    misses("x");
    pass(1000);
    misses("x");
    pass(1000);
    mp_health_rest(&p.h);
    ck_assert_uint_eq(p.cancels, 1);
    mp_health_suspect(&p.h, 1); /* nobody watches */
    mp_health_checked(&p.h, NULL);
    pass(3600000);
    ck_assert_uint_eq(p.checks, 3);
    mp_health_watch(&p.h);
    mp_health_watch(&p.h);
    pass(30000);
    misses("x");
    ck_assert_uint_eq(p.deaths, 0);
    ck_assert_uint_eq(p.h.misses, 1);
}
END_TEST

START_TEST(an_idle_server_that_is_never_asked_is_when_a_call_waits)
{
    teardown();
    setup_with(UINT64_MAX);
    pass(36000000);
    ck_assert_uint_eq(p.checks, 0);
    p.busy = true; /* ten hours of silence are no reason to doubt this call */
    pass(MP_HEALTH_BUSY_MS - MP_HEALTH_IDLE_MS - 1);
    ck_assert_uint_eq(p.checks, 0);
    pass(MP_HEALTH_IDLE_MS + 1);
    ck_assert_uint_eq(p.checks, 1);
}
END_TEST

START_TEST(no_time_at_all_is_not_asking_all_the_time)
{
    teardown();
    setup_with(0);
    for (int i = 0; i < 10; i++) {
        pass(1000);
        ck_assert_uint_eq(p.checks, (unsigned)i + 1);
        answers();
    }
}
END_TEST

static void add(TCase *tc)
{
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, an_idle_server_is_asked_after_30_s_of_silence);
    tcase_add_test(tc, a_server_that_says_something_is_not_asked);
    tcase_add_test(tc, three_misses_in_a_row_are_death);
    tcase_add_test(tc, an_answer_forgets_the_misses_before_it);
    tcase_add_test(tc, a_busy_server_may_be_silent_for_300_s_and_no_longer);
    tcase_add_test(tc, a_server_that_was_busy_is_asked_as_an_idle_one_again);
    tcase_add_test(tc, bytes_during_a_check_are_life_even_when_it_fails);
    tcase_add_test(tc, bytes_between_two_checks_are_life_too);
    tcase_add_test(tc, a_check_that_goes_past_the_session_counts_as_well);
    tcase_add_test(tc, a_check_that_cannot_begin_is_a_miss);
    tcase_add_test(tc, a_jump_of_the_clock_leads_to_a_check_and_not_to_death);
    tcase_add_test(tc, checks_that_are_always_late_are_excused_once);
    tcase_add_test(tc, a_suspect_is_checked_at_once_and_dead_after_fewer_misses);
    tcase_add_test(tc, a_call_that_is_made_meanwhile_clears_of_suspicion);
    tcase_add_loop_test(tc, a_busy_suspect_may_be_silent_for_300_s_and_no_longer, 0, 2);
    tcase_add_test(tc, bytes_clear_of_suspicion);
    tcase_add_test(tc, suspicions_at_once_do_not_add_up);
    tcase_add_test(tc, rest_cancels_the_check_and_watch_begins_anew);
    tcase_add_test(tc, an_idle_server_that_is_never_asked_is_when_a_call_waits);
    tcase_add_test(tc, no_time_at_all_is_not_asking_all_the_time);
}

int main(void)
{
    return run_suite("registry_health", add);
}
