/* Too much, too long, or nothing at all: calls end with their own time or at a limit,
 * and memory stays what it was. */
#include "faults_http.h"

/* ---- answers that never come ---- */

static const char *const mute[] = {
    "silence",       "silence?legacy", "headers-only",         "stall-in-body",
    "drip?n=1000",   "endless-notes",  "endless-comments",     "stall-in-body?sse",
    "endless-error", "endless-id",     "endless-event?legacy",
};
enum { MUTE = sizeof mute / sizeof *mute };

START_TEST(a_call_without_an_answer_ends_with_its_own_time)
{
    struct peer *p = web_up(mute[_i]);
    unsigned long before = web_stat("open") - 1;
    struct shot *s = fire(p, "bad", 3, 400), *beside = fire(p, "good", 1, 0);

    peer_until(p, all_ended, 400 + bound_ms());
    check_call(mute[_i], beside, 0, 0, "good");
    for (unsigned i = 0; i < 3; i++) {
        if (strcmp(mute[_i], "endless-error") == 0) { /* a status is enough */
            check_call(mute[_i], &s[i], MCPLUG_EREFUSED, 500, "500");
            continue;
        }
        check_call(mute[_i], &s[i], MCPLUG_ETIMEDOUT, 0,
                   "MCP tool call 'bad' timed out after 400ms");
        ck_assert(s[i].ms < 400 + bound_ms());
    }
    check_good(p);
    web_wait_open(p, before + 4); /* those that are kept, three to say so */
    check_memory(p, 40);
    web_end(p);
}
END_TEST

START_TEST(an_answer_in_single_bytes_is_an_answer)
{
    struct peer *p = web_up("drip?n=5");
    struct shot *s = shoot(p, "bad", 10, 5000 + bound_ms());

    for (unsigned i = 0; i < 10; i++)
        check_call("drip", &s[i], 0, 0, "fine");
    web_end(p);
}
END_TEST

/* ---- streams that stay open after the answer ---- */

START_TEST(a_stream_that_stays_open_after_its_answer_is_left)
{
    struct peer *p = web_up(_i ? "never-closes?legacy" : "never-closes");
    unsigned long before = web_stat("open") - 1;
    double since = now_ms();

    for (unsigned i = 0; i < 300; i++) {
        check_call("never-closes", shoot(p, "bad", 1, bound_ms()), 0, 0, "fine");
        ck_assert_uint_le(open_fds(), p->n_fds + 150);
    }
    check_good(p);
    ck_assert_msg(now_ms() - since < bound_ms(), "300 calls took %.0f ms",
                  now_ms() - since);
    peer_run(p, 2100); /* they may end by themselves until then */
    web_wait_open(p, before + 4);
    check_good(p);
    web_end(p);
}
END_TEST

/* ---- too much ---- */

START_TEST(a_line_that_is_no_message_is_skipped_whole)
{
    struct peer *p = web_up(long_run() ? "long-line?n=256" : "long-line?n=16");
    struct shot *s = shoot(p, "bad", 2, 20000);

    for (unsigned i = 0; i < 2; i++)
        check_call("long-line", &s[i], 0, 0, "fine");
    check_good(p);
    ck_assert_uint_eq(books(p).noise, 2);
    check_memory(p, 40);
    web_end(p);
}
END_TEST

START_TEST(a_long_answer_goes_to_a_file)
{
    struct peer *p = web_new(NULL, "huge-answer?n=100");
    struct mcplug_spill spill = {.struct_size = sizeof spill};

    p->o.max_memory = 1024 * 1024;
    ck_assert_int_eq(peer_open(p), 0);
    struct shot *s = fire(p, "bad", 1, 0), *beside = fire(p, "good", 1, 0);
    peer_until(p, all_ended, 30000);
    check_call("huge-answer", beside, 0, 0, "good");
    ck_assert_int_eq(s->code, 0);
    ck_assert_uint_eq(mcplug_result_spills(s->result), 1);
    ck_assert_int_eq(mcplug_result_spill(s->result, 0, &spill), 0);
    ck_assert_uint_eq(spill.size, 100 * 1024 * 1024);
    check_good(p);
    check_memory(p, 20);
    web_end(p);
}
END_TEST

START_TEST(an_answer_beyond_the_limit_for_spilling_is_refused)
{
    struct peer *p = web_new(NULL, "huge-answer?n=64");

    p->o.max_spill = 16 * 1024 * 1024;
    ck_assert_int_eq(peer_open(p), 0);
    struct shot *s = fire(p, "bad", 1, 0), *beside = fire(p, "good", 1, 0);
    peer_until(p, all_ended, 5 * bound_ms());
    check_call("huge-answer", s, MCPLUG_ETOOBIG, 0, "16777216");
    check_call("huge-answer", beside, 0, 0, "good");
    check_good(p);
    check_memory(p, 40);
    web_end(p);
}
END_TEST

START_TEST(an_endless_answer_takes_no_more_than_the_limits)
{
    struct peer *p = web_new(NULL, "endless-body");
    unsigned long before;

    p->o.max_memory = 1024 * 1024;
    p->o.max_spill = 16 * 1024 * 1024;
    ck_assert_int_eq(peer_open(p), 0);
    before = web_stat("open") - 1;
    struct shot *s = fire(p, "bad", 2, 0), *beside = fire(p, "good", 1, 0);
    peer_until(p, all_ended, 5 * bound_ms());
    for (unsigned i = 0; i < 2; i++)
        check_call("endless-body", s + i, MCPLUG_ETOOBIG, 0, "could not be read");
    check_call("endless-body", beside, 0, 0, "good");
    web_wait_open(p, before + 2);
    check_good(p);
    check_memory(p, 40);
    web_end(p);
}
END_TEST

/* A bomb is refused while it comes: who has read all of it complains of its checksum. How
 * long that takes is up to its sender too, who has work to do; ours is to be little. What
 * has come by then was unpacked and looked through, so that the strict times do not hold.
 */
enum { BOMB_MS = 60000 };

static void check_work(double before)
{
    double ms = work_ms() - before;
    ck_assert_msg(ms < work_bound_ms(), "%.0f ms of work", ms);
}

START_TEST(a_bomb_in_gzip_is_defused)
{
    struct peer *p = web_new(NULL, "gzip-bomb");

    p->o.max_memory = 1024 * 1024;
    p->o.max_spill = 64 * 1024 * 1024;
    ck_assert_int_eq(peer_open(p), 0);
    double before = work_ms();
    struct shot *s = fire(p, "bad", 1, 0), *beside = fire(p, "good", 1, 0);
    peer_until(p, all_ended, BOMB_MS);
    check_work(before);
    check_call("gzip-bomb", s, MCPLUG_ETOOBIG, 0, "");
    check_call("gzip-bomb", beside, 0, 0, "good");
    check_good(p);
    check_memory(p, 40);
    web_end(p);
}
END_TEST

/* _i: how its coding is told */
START_TEST(a_bomb_in_gzip_is_defused_by_the_transport_too)
{
    static const char *const paths[] = {"gzip-bomb", "gzip-bomb?coding=1",
                                        "gzip-bomb?coding=2"};
    struct peer *p = web_up(paths[_i]);
    double before = work_ms();
    struct shot *s = shoot(p, "bad", 1, BOMB_MS);

    check_work(before);
    check_call("gzip-bomb", s, MCPLUG_ETOOBIG, 0, "its compressed size");
    check_good(p);
    check_memory(p, 40);
    web_end(p);
}
END_TEST

START_TEST(a_flood_in_gzip_is_bounded)
{
    struct peer *p = web_up(_i ? "gzip-notes?legacy" : "gzip-notes");
    struct shot *s = fire(p, "bad", 3, 400), *beside = fire(p, "good", 1, 0);

    peer_until(p, all_ended, 400 + bound_ms());
    for (unsigned i = 0; i < 3; i++)
        ck_assert_msg(s[i].code == MCPLUG_ETIMEDOUT || s[i].code == MCPLUG_ETOOBIG ||
                          s[i].code == MCPLUG_EPROTO,
                      "%s: %s", code_name(s[i].code), s[i].text);
    check_call("gzip-notes", beside, 0, 0, "good");
    check_good(p);
    check_memory(p, 40);
    web_end(p);
}
END_TEST

void add_http_flood_tests(Suite *suite)
{
    TCase *t = tcase_create("http floods");

    tcase_set_timeout(t, 120);
    tcase_add_loop_test(t, a_call_without_an_answer_ends_with_its_own_time, 0, MUTE);
    tcase_add_test(t, an_answer_in_single_bytes_is_an_answer);
    tcase_add_loop_test(t, a_stream_that_stays_open_after_its_answer_is_left, 0, 2);
    tcase_add_test(t, a_line_that_is_no_message_is_skipped_whole);
    tcase_add_test(t, a_long_answer_goes_to_a_file);
    tcase_add_test(t, an_answer_beyond_the_limit_for_spilling_is_refused);
    tcase_add_test(t, an_endless_answer_takes_no_more_than_the_limits);
    tcase_add_loop_test(t, a_bomb_in_gzip_is_defused, 0, 3); /* it is a matter of time */
    tcase_add_loop_test(t, a_bomb_in_gzip_is_defused_by_the_transport_too, 0, 3);
    tcase_add_loop_test(t, a_flood_in_gzip_is_bounded, 0, 2);
    suite_add_tcase(suite, t);
}
