/* The keeper: what it does in each state. */
#include "keeper_kit.h"

#include "base/mem.h"
#include "suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct mp_loop *loop;
static struct mp_starts starts;
static struct server s;

static void on_changed(struct mp_keeper *k)
{
    ((struct server *)k)->changes++;
}

static const struct mp_keeper_ops exact = {on_start, on_stop, on_changed, NULL, NULL};

static void setup(void)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    loop = mp_loop_new(&err);
    ck_assert_ptr_nonnull(loop);
    mp_loop_fake_clock(loop);
    mp_loop_advance(loop, 1000);
    mp_starts_init(&starts, MP_STARTS_MAX);
    memset(&s, 0, sizeof s);
    mp_keeper_init(&s.k, &exact, loop, &starts, "s");
}

static void teardown(void)
{
    mp_keeper_end(&s.k, NULL);
    if (s.k.state == MP_KEEPER_STOPPING)
        mp_keeper_stopped(&s.k);
    mp_loop_advance(loop, 1);
    mp_keeper_clear(&s.k);
    mp_loop_free(loop);
}

static void wait_for(struct person *p, uint64_t ms)
{
    memset(p, 0, sizeof *p);
    p->w.done = on_done;
    mp_keeper_wait(&s.k, &p->w, ms);
}

static void fails(const char *text)
{
    struct mcplug_error why = because(MCPLUG_EREFUSED, text);
    ck_assert_int_eq(s.doing, STARTS);
    mp_keeper_failed(&s.k, &why, false);
    ck_assert_int_eq(s.doing, STOPS);
    s.doing = NOTHING;
    mp_keeper_stopped(&s.k);
}

static void succeeds(void)
{
    ck_assert_int_eq(s.doing, STARTS);
    s.doing = NOTHING;
    mp_keeper_started(&s.k);
    ck_assert_int_eq(s.k.state, MP_KEEPER_READY);
}

static void is_lost(void)
{
    struct mcplug_error why = because(MCPLUG_ECLOSED, "gone");
    mp_keeper_lost(&s.k, &why);
    ck_assert_int_eq(s.doing, STOPS);
    s.doing = NOTHING;
    mp_keeper_stopped(&s.k);
}

/* ---- waiting ---- */

START_TEST(acquire_of_a_ready_server_succeeds_at_once)
{
    struct person a, b;
    wait_for(&a, 0);
    succeeds();
    mp_loop_advance(loop, 0);
    ck_assert_int_eq(a.answers, 1);
    ck_assert_int_eq(a.code, MCPLUG_OK);
    wait_for(&b, 0);
    ck_assert_int_eq(b.answers, 0); /* never inside of the call */
    mp_loop_advance(loop, 0);
    ck_assert_int_eq(b.answers, 1);
    ck_assert_uint_eq(s.k.starts_made, 1);
}
END_TEST

START_TEST(all_who_wait_fail_together_60_s_after_the_first)
{
    struct person a, b, c;
    wait_for(&a, 0);
    mp_loop_advance(loop, 5000);
    wait_for(&b, 0);
    mp_loop_advance(loop, 54999);
    ck_assert_int_eq(a.answers + b.answers, 0);
    mp_loop_advance(loop, 1);
    ck_assert_int_eq(a.answers, 1);
    ck_assert_int_eq(b.answers, 1);
    ck_assert_int_eq(b.code, MCPLUG_ETIMEDOUT);
    mp_loop_advance(loop, 5000);
    wait_for(&c, 0);
    mp_loop_advance(loop, 0);
    ck_assert_int_eq(c.answers, 1); /* and later ones at once */
    ck_assert_ptr_nonnull(strstr(c.text, "initialization failed 5s ago"));
    ck_assert_uint_eq(s.k.starts_made, 1); /* the attempt goes on */
}
END_TEST

START_TEST(recovery_serves_the_next)
{
    struct person a, b, c;
    wait_for(&a, 0);
    fails("no such host");
    mp_loop_advance(loop, 0);
    fails("no such host"); /* after 0 s */
    mp_loop_advance(loop, 61000);
    ck_assert_int_eq(a.answers, 1);
    ck_assert_ptr_nonnull(strstr(a.text, "no such host"));
    mp_loop_advance(loop, 3600000); /* no expiry: it fails for ever .. */
    wait_for(&b, 0);
    mp_loop_advance(loop, 0);
    ck_assert_int_eq(b.code, MCPLUG_EREFUSED);
    succeeds(); /* .. until an attempt succeeds */
    wait_for(&c, 0);
    mp_loop_advance(loop, 0);
    ck_assert_int_eq(c.answers, 1);
    ck_assert_int_eq(c.code, MCPLUG_OK);
}
END_TEST

START_TEST(after_a_recovery_whoever_comes_waits_again)
{
    struct person a, b;
    wait_for(&a, 0);
    mp_loop_advance(loop, 60000);
    ck_assert_int_eq(a.answers, 1);
    succeeds();
    is_lost();
    wait_for(&b, 0);
    mp_loop_advance(loop, 1); /* the next attempt */
    ck_assert_int_eq(b.answers, 0);
    succeeds();
    mp_loop_advance(loop, 0);
    ck_assert_int_eq(b.code, MCPLUG_OK);
}
END_TEST

START_TEST(a_kick_lets_wait_again)
{
    struct person a, b;
    wait_for(&a, 0);
    fails("x");
    mp_loop_advance(loop, 0);
    fails("x");
    mp_loop_advance(loop, 60000);
    ck_assert_int_eq(a.answers, 1);
    while (s.doing == STARTS)
        fails("x");
    mp_keeper_kick(&s.k, NULL);
    wait_for(&b, 0);
    mp_loop_advance(loop, 1);
    ck_assert_int_eq(b.answers, 0);
    succeeds();
    mp_loop_advance(loop, 0);
    ck_assert_int_eq(b.code, MCPLUG_OK);
}
END_TEST

START_TEST(who_waits_for_a_first_start_that_is_in_vain_hears_it_at_once)
{
    struct person a, b, c;
    wait_for(&a, 0);
    fails("no such program");
    mp_keeper_fail_waiters(&s.k);
    ck_assert_int_eq(a.answers, 0); /* never inside of the call */
    mp_loop_advance(loop, 0);
    ck_assert_int_eq(a.answers, 1);
    ck_assert_int_eq(a.code, MCPLUG_EREFUSED);
    ck_assert_ptr_nonnull(strstr(a.text, "initialization failed 0s ago: no such progr"));
    fails("no such program"); /* attempts go on */
    mp_loop_advance(loop, 900);
    mp_keeper_fail_waiters(&s.k); /* once is enough */
    mp_loop_advance(loop, 2100);
    wait_for(&b, 0);
    mp_loop_advance(loop, 0);
    ck_assert_ptr_nonnull(strstr(b.text, "initialization failed 3s ago"));
    succeeds();
    wait_for(&c, 0);
    mp_loop_advance(loop, 0);
    ck_assert_int_eq(c.answers, 1);
    ck_assert_int_eq(c.code, MCPLUG_OK);
}
END_TEST

START_TEST(who_waits_for_a_server_that_was_up_is_not_told_that_it_is_in_vain)
{
    struct person a;
    mp_keeper_want(&s.k);
    succeeds();
    mp_keeper_fail_waiters(&s.k);
    is_lost();
    wait_for(&a, 0);
    mp_loop_advance(loop, 0);
    fails("no such program");
    mp_keeper_fail_waiters(&s.k);
    mp_loop_advance(loop, 59000);
    ck_assert_int_eq(a.answers, 0);
    mp_loop_advance(loop, 1000);
    ck_assert_int_eq(a.code, MCPLUG_ERESTART);
}
END_TEST

START_TEST(a_deadline_of_ones_own_comes_first)
{
    struct person a, b;
    wait_for(&a, 0);
    wait_for(&b, 2000);
    mp_loop_advance(loop, 2000);
    ck_assert_int_eq(b.answers, 1);
    ck_assert_int_eq(b.code, MCPLUG_ETIMEDOUT);
    ck_assert_int_eq(a.answers, 0);
    mp_waiter_leave(&a.w);
    mp_loop_advance(loop, 100000);
    ck_assert_int_eq(a.answers, 0); /* who left hears nothing */
    ck_assert_uint_eq(s.k.failed_at, 0);
}
END_TEST

static void wait_own(struct person *p, uint64_t ready_ms)
{
    memset(p, 0, sizeof *p);
    p->w.done = on_done;
    p->w.ready_ms = ready_ms;
    mp_keeper_wait(&s.k, &p->w, 0);
}

START_TEST(who_has_a_time_of_his_own_fails_then_and_newcomers_at_once)
{
    struct person a, b, all, late;
    wait_own(&a, 3000);
    wait_own(&b, 90000);
    wait_for(&all, 0);
    mp_loop_advance(loop, 2999);
    ck_assert_int_eq(a.answers, 0);
    mp_loop_advance(loop, 1);
    ck_assert_int_eq(a.answers, 1);
    ck_assert_int_eq(a.code, MCPLUG_ETIMEDOUT);
    ck_assert_str_eq(a.text, "server \"s\" was not ready within 3s");
    mp_loop_advance(loop, 1000);
    wait_own(&late, 50000);
    ck_assert_int_eq(late.answers, 0); /* never inside of the call */
    mp_loop_advance(loop, 0);
    ck_assert_int_eq(late.answers, 1);
    ck_assert_ptr_nonnull(strstr(late.text, "initialization failed 1s ago"));
    ck_assert_int_eq(b.answers + all.answers, 0);
    mp_loop_advance(loop, 56000); /* a minute after he came */
    ck_assert_int_eq(all.answers, 1);
    ck_assert_int_eq(b.answers, 0);
    mp_loop_advance(loop, 29999);
    ck_assert_int_eq(b.answers, 0);
    mp_loop_advance(loop, 1);
    ck_assert_int_eq(b.answers, 1);
    wait_own(&late, 100);
    succeeds();
    mp_loop_advance(loop, 0);
    ck_assert_int_eq(late.code, MCPLUG_OK);
}
END_TEST

START_TEST(a_start_in_vain_is_told_to_all_though_one_has_given_up)
{
    struct person a, b, all;
    wait_own(&a, 10);
    wait_own(&b, 90000);
    wait_for(&all, 0);
    mp_loop_advance(loop, 10);
    ck_assert_int_eq(a.answers, 1);
    fails("no such program");
    mp_keeper_fail_waiters(&s.k);
    mp_loop_advance(loop, 0);
    ck_assert_int_eq(b.answers, 1);
    ck_assert_int_eq(all.answers, 1);
    ck_assert_int_eq(b.code, MCPLUG_EREFUSED);
}
END_TEST

START_TEST(who_came_late_but_sees_a_kick_has_his_time)
{
    struct person a, b, c, d;
    wait_own(&a, 10);
    mp_loop_advance(loop, 10);
    fails("no");
    wait_own(&b, 50000);
    mp_keeper_kick(&s.k, NULL); /* before he is told */
    mp_loop_advance(loop, 0);
    ck_assert_int_eq(b.answers, 0);
    wait_own(&c, 10);
    mp_loop_advance(loop, 10);
    ck_assert_int_eq(c.answers, 1);
    wait_own(&d, 10);
    mp_loop_advance(loop, 0);
    ck_assert_int_eq(d.answers, 1);
    ck_assert_int_eq(b.answers, 0);
    mp_loop_advance(loop, 49990);
    ck_assert_int_eq(b.answers, 1);
}
END_TEST

/* _i: 0 the attempt fails, 1 for a cause that lasts, 2 it is lost, 3 it is idle */
START_TEST(once_is_one_attempt)
{
    struct mcplug_error why = because(MCPLUG_EREFUSED, "no");
    struct person a, b;
    s.k.once = true;
    s.k.idle_ms = _i == 3 ? 1000 : 0;
    wait_for(&a, 0);
    if (_i > 1)
        succeeds();
    mp_loop_advance(loop, 0);
    if (_i < 2)
        mp_keeper_failed(&s.k, &why, _i == 1);
    else if (_i == 2)
        mp_keeper_lost(&s.k, &why);
    else
        mp_loop_advance(loop, 1000);
    ck_assert_int_eq(s.doing, STOPS);
    mp_loop_advance(loop, 0);
    ck_assert_int_eq(a.answers, 1); /* though something of it is left */
    ck_assert_int_eq(a.code, _i < 2 ? MCPLUG_EREFUSED : MCPLUG_OK);
    mp_keeper_kick(&s.k, NULL);
    s.doing = NOTHING;
    mp_keeper_stopped(&s.k);
    ck_assert_int_eq(s.k.state, MP_KEEPER_ENDED);
    mp_keeper_kick(&s.k, NULL);
    mp_keeper_want(&s.k);
    wait_for(&b, 0);
    mp_loop_advance(loop, 200000);
    ck_assert_int_eq(b.answers, 1);
    ck_assert_int_ne(b.code, MCPLUG_OK);
    ck_assert_int_eq(s.k.state, MP_KEEPER_ENDED);
    ck_assert_uint_eq(s.k.starts_made, 1);
}
END_TEST

START_TEST(who_comes_during_a_restart_waits_for_it)
{
    struct person a;
    mp_keeper_want(&s.k);
    succeeds();
    is_lost();
    wait_for(&a, 0);
    mp_loop_advance(loop, 0);
    succeeds();
    mp_loop_advance(loop, 0);
    ck_assert_int_eq(a.answers, 1);
    ck_assert_int_eq(a.code, MCPLUG_OK);
}
END_TEST

START_TEST(who_came_just_before_it_was_lost_still_has_a_limit)
{
    struct person a;
    mp_keeper_want(&s.k);
    succeeds();
    wait_for(&a, 0); /* would be told at the end of the turn */
    struct mcplug_error why = because(MCPLUG_ECLOSED, "gone");
    mp_keeper_lost(&s.k, &why);
    s.doing = NOTHING;
    mp_loop_advance(loop, 59999);
    ck_assert_int_eq(a.answers, 0);
    mp_loop_advance(loop, 2);
    ck_assert_int_eq(a.answers, 1);
    ck_assert_int_eq(a.code, MCPLUG_ERESTART); /* it was up once */
    ck_assert_ptr_nonnull(strstr(a.text, "mcp_restart_failed"));
}
END_TEST

/* ---- attempts ---- */

START_TEST(a_crash_loop_has_at_most_8_starts_in_108_s)
{
    mp_keeper_want(&s.k);
    for (int at = 0; at <= 108000; at++) {
        if (s.doing == STARTS) {
            succeeds();
            is_lost(); /* at once */
        }
        mp_loop_advance(loop, 1);
    }
    ck_assert_uint_eq(s.k.starts_made, 8);
}
END_TEST

START_TEST(delays_are_0_1_2_5_10_30_60_60)
{
    static const unsigned seconds[] = {0, 1, 2, 5, 10, 30, 60, 60, 60};
    mp_keeper_want(&s.k);
    for (size_t i = 0; i < MP_COUNT(seconds); i++) {
        fails("x");
        ck_assert_int_eq(s.k.state, MP_KEEPER_WAITING);
        ck_assert_uint_eq(s.k.due - mp_loop_now(loop), seconds[i] * 1000);
        if (seconds[i])
            mp_loop_advance(loop, seconds[i] * 1000 - 1);
        ck_assert(!seconds[i] || s.doing == NOTHING);
        mp_loop_advance(loop, 1);
    }
}
END_TEST

START_TEST(delays_begin_again_after_a_minute_of_health_and_an_answer)
{
    mp_keeper_want(&s.k);
    for (int i = 0; i < 4; i++) {
        fails("x");
        mp_loop_advance(loop, 5000);
    }
    succeeds();
    mp_loop_advance(loop, 60000);
    is_lost(); /* it never answered anything */
    ck_assert_uint_eq(s.k.due - mp_loop_now(loop), 10000);
    mp_loop_advance(loop, 10000);
    succeeds();
    mp_keeper_answered(&s.k);
    mp_loop_advance(loop, 59999);
    is_lost(); /* not for long enough */
    ck_assert_uint_eq(s.k.due - mp_loop_now(loop), 30000);
    mp_loop_advance(loop, 30000);
    succeeds();
    mp_keeper_answered(&s.k);
    mp_loop_advance(loop, 60000);
    is_lost();
    ck_assert_uint_eq(s.k.due, mp_loop_now(loop));
}
END_TEST

START_TEST(delays_begin_again_when_somebody_starts_it_anew)
{
    mp_keeper_want(&s.k);
    for (int i = 0; i < 6; i++) {
        fails("x");
        mp_loop_advance(loop, 30000);
    }
    fails("x");
    ck_assert_uint_eq(s.k.due - mp_loop_now(loop), 60000);
    mp_keeper_kick(&s.k, NULL);
    ck_assert_int_eq(s.doing, STARTS);
    fails("x");
    ck_assert_uint_eq(s.k.due, mp_loop_now(loop));
    mp_loop_advance(loop, 0);
    fails("x");
    ck_assert_uint_eq(s.k.due - mp_loop_now(loop), 1000);
}
END_TEST

static uint32_t top(struct mp_keeper *k)
{
    (void)k;
    return UINT32_MAX;
}

static uint32_t bottom(struct mp_keeper *k)
{
    (void)k;
    return 0;
}

START_TEST(chance_adds_or_takes_20_percent_at_most)
{
    static const struct mp_keeper_ops longest = {on_start, on_stop, NULL, top, NULL};
    static const struct mp_keeper_ops shortest = {on_start, on_stop, NULL, bottom, NULL};
    mp_keeper_want(&s.k);
    fails("x"); /* 0 s stay 0 s */
    mp_loop_advance(loop, 0);
    s.k.ops = &shortest;
    fails("x");
    ck_assert_uint_eq(s.k.due - mp_loop_now(loop), 800);
    mp_loop_advance(loop, 800);
    s.k.ops = &longest;
    fails("x");
    ck_assert_uint_ge(s.k.due - mp_loop_now(loop), 1600);
    ck_assert_uint_le(s.k.due - mp_loop_now(loop), 2400);
}
END_TEST

START_TEST(a_cause_that_lasts_is_not_tried_again_before_somebody_kicks)
{
    struct mcplug_error why = because(MCPLUG_EAUTH, "log in first");
    struct person a, b;
    wait_for(&a, 0);
    mp_keeper_failed(&s.k, &why, true);
    s.doing = NOTHING;
    mp_keeper_stopped(&s.k);
    mp_loop_advance(loop, 0);
    ck_assert_int_eq(s.k.state, MP_KEEPER_PARKED);
    ck_assert_int_eq(a.code, MCPLUG_EAUTH);
    ck_assert_str_eq(a.text, "log in first");
    mp_loop_advance(loop, 3600000);
    ck_assert_uint_eq(s.k.starts_made, 1);
    wait_for(&b, 0);
    mp_loop_advance(loop, 0);
    ck_assert_int_eq(b.code, MCPLUG_EAUTH);
    mp_keeper_kick(&s.k, NULL);
    succeeds();
}
END_TEST

START_TEST(two_who_restart_it_at_once_restart_it_once)
{
    mp_keeper_want(&s.k);
    succeeds();
    mp_keeper_kick(&s.k, NULL);
    mp_keeper_kick(&s.k, NULL);
    struct mcplug_error why = because(MCPLUG_ECLOSED, "gone");
    mp_keeper_lost(&s.k, &why); /* the end that was asked for is no loss */
    s.doing = NOTHING;
    mp_keeper_stopped(&s.k);
    ck_assert_uint_eq(s.k.starts_made, 2);
    mp_keeper_kick(&s.k, NULL);
    ck_assert_int_eq(s.doing, STOPS); /* of the attempt that is under way */
    s.doing = NOTHING;
    mp_keeper_stopped(&s.k);
    succeeds();
    ck_assert_uint_eq(s.k.starts_made, 3);
}
END_TEST

START_TEST(an_idle_server_is_stopped_and_starts_again_on_demand)
{
    struct person a;
    s.k.idle_ms = 5000;
    wait_for(&a, 0);
    succeeds();
    mp_loop_advance(loop, 0);
    mp_keeper_use(&s.k);
    mp_loop_advance(loop, 60000);
    ck_assert_int_eq(s.k.state, MP_KEEPER_READY); /* somebody holds it */
    mp_keeper_release(&s.k);
    mp_loop_advance(loop, 4999);
    ck_assert_int_eq(s.doing, NOTHING);
    mp_loop_advance(loop, 1);
    ck_assert_int_eq(s.doing, STOPS);
    s.doing = NOTHING;
    mp_keeper_stopped(&s.k);
    ck_assert_int_eq(s.k.state, MP_KEEPER_RESTING);
    wait_for(&a, 0);
    succeeds();
    mp_loop_advance(loop, 5000);
    ck_assert_int_eq(a.code, MCPLUG_OK);
    ck_assert_int_eq(s.doing, STOPS);
    wait_for(&a, 0); /* while it is on its way out */
    s.doing = NOTHING;
    mp_keeper_stopped(&s.k);
    succeeds();
    mp_loop_advance(loop, 0);
    ck_assert_int_eq(a.code, MCPLUG_OK);
}
END_TEST

START_TEST(no_more_than_the_limit_start_at_once_and_in_order)
{
    enum { N = 50 };
    struct server *many = mp_alloc(N * sizeof *many);
    mp_starts_init(&starts, MP_STARTS_MAX);
    for (int i = 0; i < N; i++) {
        mp_keeper_init(&many[i].k, &exact, loop, &starts, "m");
        mp_keeper_want(&many[i].k);
    }
    for (int done = 0; done < N; done++) {
        ck_assert_uint_le(starts.under_way, MP_STARTS_MAX);
        ck_assert_int_eq(many[done].doing, STARTS);
        many[done].doing = NOTHING;
        mp_keeper_started(&many[done].k);
    }
    ck_assert_uint_eq(starts.under_way, 0);
    for (int i = 0; i < N; i++) {
        mp_keeper_end(&many[i].k, NULL);
        mp_keeper_stopped(&many[i].k);
        mp_loop_advance(loop, 0);
        mp_keeper_clear(&many[i].k);
    }
    mp_free(many);
}
END_TEST

START_TEST(the_end_answers_who_waits_and_starts_nothing)
{
    struct mcplug_error why = because(MCPLUG_ECANCELED, "the host is being freed");
    struct person a, b;
    wait_for(&a, 0);
    mp_keeper_end(&s.k, &why);
    ck_assert_int_eq(a.answers, 1);
    ck_assert_int_eq(a.code, MCPLUG_ECANCELED);
    s.doing = NOTHING;
    mp_keeper_stopped(&s.k);
    ck_assert_int_eq(s.k.state, MP_KEEPER_ENDED);
    mp_keeper_kick(&s.k, NULL);
    mp_keeper_want(&s.k);
    wait_for(&b, 0);
    mp_loop_advance(loop, 100000);
    ck_assert_int_eq(b.code, MCPLUG_ECANCELED);
    ck_assert_uint_eq(s.k.starts_made, 1);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("registry_keeper");
    TCase *tc = tcase_create("keeper");
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, acquire_of_a_ready_server_succeeds_at_once);
    tcase_add_test(tc, all_who_wait_fail_together_60_s_after_the_first);
    tcase_add_test(tc, recovery_serves_the_next);
    tcase_add_test(tc, after_a_recovery_whoever_comes_waits_again);
    tcase_add_test(tc, a_kick_lets_wait_again);
    tcase_add_test(tc, who_waits_for_a_first_start_that_is_in_vain_hears_it_at_once);
    tcase_add_test(tc, who_waits_for_a_server_that_was_up_is_not_told_that_it_is_in_vain);
    tcase_add_test(tc, a_deadline_of_ones_own_comes_first);
    tcase_add_test(tc, who_has_a_time_of_his_own_fails_then_and_newcomers_at_once);
    tcase_add_test(tc, a_start_in_vain_is_told_to_all_though_one_has_given_up);
    tcase_add_test(tc, who_came_late_but_sees_a_kick_has_his_time);
    tcase_add_loop_test(tc, once_is_one_attempt, 0, 4);
    tcase_add_test(tc, who_comes_during_a_restart_waits_for_it);
    tcase_add_test(tc, who_came_just_before_it_was_lost_still_has_a_limit);
    tcase_add_test(tc, a_crash_loop_has_at_most_8_starts_in_108_s);
    tcase_add_test(tc, delays_are_0_1_2_5_10_30_60_60);
    tcase_add_test(tc, delays_begin_again_after_a_minute_of_health_and_an_answer);
    tcase_add_test(tc, delays_begin_again_when_somebody_starts_it_anew);
    tcase_add_test(tc, chance_adds_or_takes_20_percent_at_most);
    tcase_add_test(tc, a_cause_that_lasts_is_not_tried_again_before_somebody_kicks);
    tcase_add_test(tc, two_who_restart_it_at_once_restart_it_once);
    tcase_add_test(tc, an_idle_server_is_stopped_and_starts_again_on_demand);
    tcase_add_test(tc, no_more_than_the_limit_start_at_once_and_in_order);
    tcase_add_test(tc, the_end_answers_who_waits_and_starts_nothing);
    suite_add_tcase(suite, tc);

    return run_to_end(suite);
}
