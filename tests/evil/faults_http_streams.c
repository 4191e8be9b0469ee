/* Sessions that a server forgets, and streams that are taken up again. */
#include "faults_http.h"

/* ---- sessions of legacy servers ---- */

START_TEST(a_session_is_ended_once_when_the_server_is_closed)
{
    struct peer *p = web_up("session");

    ck_assert_str_eq(mcplug_server_revision(p->server), "2025-06-18");
    check_good(p);
    const char *head = web_ask(web_start()->port, "/last");
    ck_assert_msg(strcasestr(head, "\r\nMcp-Session-Id: s1\r\n") != NULL, "%s", head);
    ck_assert_uint_eq(web_stat("deletes"), 0);
    web_end(p);
    ck_assert_uint_eq(web_stat("deletes"), 1);
    ck_assert_uint_eq(web_stat("initializes"), 1);
}
END_TEST

START_TEST(a_server_without_a_session_gets_no_delete)
{
    struct peer *p = web_up(_i ? "ok?legacy" : "ok");

    check_good(p);
    web_end(p);
    ck_assert_uint_eq(web_stat("deletes"), 0);
}
END_TEST

START_TEST(a_session_that_the_server_forgot_is_begun_anew)
{
    struct peer *p = web_up("session");

    for (unsigned i = 0; i < 5; i++) {
        check_call("expire", shoot(p, "expire", 1, bound_ms()), 0, 0, "good");
        struct shot *s = shoot(p, "good", 10, bound_ms());
        unsigned told = 0; /* one finds out, the others go with its connection */
        for (unsigned k = 0; k < 10; k++) {
            check_call("session", &s[k], MCPLUG_ECLOSED, 404, "has ended the session");
            told += strstr(s[k].text, "was not carried out") != NULL;
        }
        ck_assert_uint_ge(told, 1);
        check_good(p);
    }
    ck_assert_uint_eq(p->dropped, 0);
    ck_assert_uint_eq(web_stat("initializes"), 6);
    web_end(p);
    ck_assert_uint_eq(web_stat("deletes"), 1);
}
END_TEST

/* ---- streams that end before the answer ---- */

START_TEST(a_stream_that_ended_early_is_taken_up_again)
{
    static const char *const modes[] = {"resume?legacy", "resume?legacy&n=5",
                                        "resume-half?legacy"};
    struct peer *p = web_up(modes[_i]);
    struct shot *s = fire(p, "bad", 10, 0), *beside = fire(p, "good", 1, 0);

    peer_until(p, all_ended, 1000 + bound_ms());
    for (unsigned i = 0; i < 10; i++)
        check_call(modes[_i], &s[i], 0, 0, "fine");
    check_call(modes[_i], beside, 0, 0, "good");
    ck_assert_uint_eq(web_stat("bad"), 10); /* asked once each */
    ck_assert_uint_eq(books(p).noise, 0);
    web_end(p);
}
END_TEST

START_TEST(a_stream_that_cannot_be_taken_up_again_ends_its_call)
{
    static const char *const modes[] = {"resume-refused?legacy", "resume-lost?legacy"};
    struct peer *p = web_up(modes[_i]);
    struct shot *s = shoot(p, "bad", 10, 1000 + bound_ms());

    for (unsigned i = 0; i < 10; i++)
        ck_assert_msg(s[i].code == MCPLUG_ECLOSED || s[i].code == MCPLUG_EPROTO ||
                          s[i].code == MCPLUG_EREFUSED,
                      "%s: %s", code_name(s[i].code), s[i].text);
    check_good(p);
    web_end(p);
}
END_TEST

START_TEST(a_stream_that_always_ends_early_ends_with_the_calls_time)
{
    struct peer *p = web_up("resume-forever?legacy");
    struct shot *s = fire(p, "bad", 3, 500);

    peer_until(p, all_ended, 500 + bound_ms());
    for (unsigned i = 0; i < 3; i++)
        ck_assert_msg(s[i].code != 0, "an answer came");
    ck_assert_uint_le(web_stat("gets"), 3 * 30); /* every 20 ms, as told */
    check_good(p);
    web_end(p);
}
END_TEST

START_TEST(a_modern_stream_that_ended_early_is_not_taken_up_again)
{
    struct peer *p = web_up("resume");
    struct shot *s = shoot(p, "bad", 3, bound_ms());

    for (unsigned i = 0; i < 3; i++)
        check_call("resume", &s[i], MCPLUG_EPROTO, 0, "without a reply");
    ck_assert_uint_eq(web_stat("gets"), 0);
    check_good(p);
    web_end(p);
}
END_TEST

void add_http_stream_tests(Suite *suite)
{
    TCase *t = tcase_create("http streams");

    tcase_set_timeout(t, 60);
    tcase_add_test(t, a_session_is_ended_once_when_the_server_is_closed);
    tcase_add_loop_test(t, a_server_without_a_session_gets_no_delete, 0, 2);
    tcase_add_test(t, a_session_that_the_server_forgot_is_begun_anew);
    tcase_add_loop_test(t, a_stream_that_ended_early_is_taken_up_again, 0, 3);
    tcase_add_loop_test(t, a_stream_that_cannot_be_taken_up_again_ends_its_call, 0, 2);
    tcase_add_test(t, a_stream_that_always_ends_early_ends_with_the_calls_time);
    tcase_add_test(t, a_modern_stream_that_ended_early_is_not_taken_up_again);
    suite_add_tcase(suite, t);
}
