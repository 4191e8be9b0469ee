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
        unsigned long before = web_stat("good");
        struct shot *s = shoot(p, "good", 10, bound_ms());
        for (unsigned k = 0; k < 10; k++)
            check_call("session", &s[k], 0, 0, "good");
        ck_assert_uint_le(web_stat("good"), before + 20); /* some may not have left */
        check_good(p);
    }
    ck_assert_uint_eq(p->dropped, 0);
    ck_assert_uint_eq(web_stat("initializes"), 6);
    web_end(p);
    ck_assert_uint_eq(web_stat("deletes"), 1);
}
END_TEST

START_TEST(the_call_that_met_the_end_of_its_session_is_sent_again_once)
{
    static const struct {
        const char *mode;
        bool again;
    } rows[] = {
        {"session", true}, {"session?over=null", true}, {"session?over=text", false}};
    struct peer *p = web_up(rows[_i].mode);

    for (unsigned i = 0; i < 3; i++) {
        unsigned long before = web_stat("good");
        struct mcplug_ledger was = books(p);
        check_call("expire", shoot(p, "expire", 1, bound_ms()), 0, 0, "good");
        struct shot *s = shoot(p, "good", 1, bound_ms());
        if (rows[_i].again)
            check_call(rows[_i].mode, s, 0, 0, "good");
        else
            check_call(rows[_i].mode, s, MCPLUG_ECLOSED, 404, "has ended the session");
        ck_assert_uint_eq(web_stat("good"), before + 1 + rows[_i].again);
        check_good(p);
        struct mcplug_ledger is = books(p);
        ck_assert_uint_eq(is.transport_error, was.transport_error + 1);
        ck_assert_uint_eq(is.ok, was.ok + 3 + rows[_i].again); /* and initialize */
        ck_assert_uint_eq(is.issued, was.issued + 4 + rows[_i].again);
    }
    ck_assert_uint_eq(web_stat("initializes"), 4);
    ck_assert_uint_eq(p->dropped, 0);
    web_end(p);
}
END_TEST

/* As shoot(), with others under way. */
static struct shot *shoot_beside(struct peer *p, const char *tool, unsigned times,
                                 unsigned ms)
{
    struct shot *s = fire(p, tool, times, 60000);
    double since = now_ms();

    for (unsigned i = 0; i < times; i++)
        while (!s[i].ended) {
            ck_assert_msg(now_ms() - since < ms, "%s: not within %u ms", tool, ms);
            peer_run(p, 1);
        }
    return s;
}

/* Calls that are not answered; the session ends meanwhile. */
static struct shot *hold(struct peer *p, unsigned times)
{
    struct shot *held = fire(p, "held", times, 60000);

    while (web_stat("bad") < times)
        peer_run(p, 5);
    peer_run(p, 30);
    check_call("expire", shoot_beside(p, "expire", 1, bound_ms()), 0, 0, "good");
    return held;
}

START_TEST(a_call_that_is_not_answered_does_not_hold_up_the_new_session)
{
    struct peer *p = web_up("session");
    struct shot *held = hold(p, 2);
    struct shot *s = fire(p, "good", 5, 60000);
    peer_until(p, all_ended, 1000 + bound_ms());
    for (unsigned i = 0; i < 5; i++)
        check_call("good", &s[i], 0, 0, "good");
    for (unsigned i = 0; i < 2; i++)
        check_call("held", &held[i], MCPLUG_ECLOSED, 404,
                   "(HTTP 404) (the request had already been sent)");
    ck_assert_uint_eq(web_stat("good"), 10);
    ck_assert_uint_eq(web_stat("bad"), 3);
    ck_assert_uint_eq(web_stat("initializes"), 2);
    ck_assert_uint_eq(p->dropped, 0);
    web_end(p);
}
END_TEST

START_TEST(a_call_made_while_answers_of_an_ended_session_are_awaited_waits_too)
{
    struct peer *p = web_up("session");

    hold(p, 1);
    fire(p, "good", 1, 60000);
    peer_run(p, 300); /* it has met the end by now */
    struct shot *s = shoot_beside(p, "good", 5, 1000 + bound_ms());
    for (unsigned i = 0; i < 5; i++)
        check_call("good", &s[i], 0, 0, "good");
    ck_assert_uint_eq(web_stat("good"), 7);
    ck_assert_uint_eq(web_stat("initializes"), 2);
    web_end(p);
}
END_TEST

START_TEST(a_server_is_closed_while_answers_of_an_ended_session_are_awaited)
{
    struct peer *p = web_up("session");
    struct shot *held = hold(p, 1);
    struct shot *s = fire(p, "good", 1, 60000);
    peer_run(p, 300);
    mcplug_close_wait(p->server);
    p->server = NULL;
    p->ready = 0;
    ck_assert_int_eq(held->code, MCPLUG_ECANCELED);
    ck_assert_int_eq(s->code, MCPLUG_ECANCELED);
    ck_assert_uint_eq(web_stat("good"), 1);
    ck_assert_uint_eq(web_stat("initializes"), 1);
    web_end(p);
}
END_TEST

START_TEST(a_call_whose_reply_had_begun_is_not_sent_again)
{
    struct peer *p = web_up("session");
    struct shot *s = shoot(p, "begun", 1, 1000 + bound_ms());

    check_call("begun", s, MCPLUG_ECLOSED, 404, "(the request had already been sent)");
    check_good(p);
    ck_assert_uint_eq(web_stat("bad"), 1);
    ck_assert_uint_eq(web_stat("initializes"), 2);
    web_end(p);
}
END_TEST

/* What a status could mean is told by what comes with it. */
START_TEST(an_error_about_a_request_does_not_end_the_session)
{
    struct peer *p = web_up("session");

    for (unsigned i = 0; i < 3; i++) {
        check_call("missing", shoot(p, "missing", 1, bound_ms()), MCPLUG_EPEER, -32601,
                   "no such method");
        check_call("unfit", shoot(p, "unfit", 1, bound_ms()), MCPLUG_EPEER, -32602,
                   "no such session");
        check_good(p);
    }
    ck_assert_uint_eq(web_stat("initializes"), 1);
    web_end(p);
    ck_assert_uint_eq(web_stat("deletes"), 1);
}
END_TEST

START_TEST(a_server_that_never_takes_the_end_of_the_handshake_is_asked_all_the_same)
{
    struct peer *p = web_up("session?initialized=mute");
    struct shot *s = shoot(p, "good", 3, 5000 + bound_ms());

    for (unsigned i = 0; i < 3; i++) {
        check_call("mute", &s[i], 0, 0, "good");
        ck_assert_msg(s[i].ms > 4500, "%.0f ms", s[i].ms); /* it had its time */
    }
    check_good(p);
    ck_assert_uint_eq(web_stat("initializes"), 1);
    web_end(p);
}
END_TEST

/* ---- the stream of a session ---- */

static bool has_changed(struct peer *p)
{
    return p->changes > 0;
}

START_TEST(the_stream_of_a_session_is_opened_again_when_it_was_refused_for_a_while)
{
    struct peer *p = web_up("session?get=busy");

    peer_until(p, has_changed, 2000 + bound_ms()); /* the third says so */
    ck_assert_uint_eq(web_stat("gets"), 3);
    check_good(p);
    ck_assert_uint_eq(web_stat("initializes"), 1);
    web_end(p);
}
END_TEST

START_TEST(the_stream_of_a_session_that_always_ends_at_once_keeps_nobody_busy)
{
    struct peer *p = web_up("session?get=hasty");
    unsigned long before = web_stat("gets");

    peer_run(p, 1000);
    unsigned long more = web_stat("gets") - before;
    ck_assert_msg(more >= 2 && more <= 8, "%lu within a second", more);
    peer_run(p, 2000);
    ck_assert_msg(web_stat("gets") - before <= 10, "%lu within 3 seconds",
                  web_stat("gets") - before);
    check_good(p);
    web_end(p);
}
END_TEST

/* ---- HTTP+SSE ---- */

START_TEST(a_request_that_is_not_taken_makes_others_wait_no_longer_than_5s)
{
    struct peer *p = web_new("sse", "sse-post-held");

    mcplug_settings_set(p->settings, "connections", "2");
    ck_assert_msg(peer_open(p) == 0, "%s", p->why.text);
    struct shot *s = fire(p, "bad", 3, 0), *given_up = fire(p, "good", 1, 300),
                *after = fire(p, "good", 1, 0);
    peer_until(p, all_ended, 5000 + bound_ms());
    ck_assert_int_eq(given_up->code, MCPLUG_ETIMEDOUT); /* it never got there */
    ck_assert_uint_eq(web_stat("cancels"), 0);
    ck_assert_uint_eq(web_stat("good"), 1);
    for (unsigned i = 0; i < 3; i++) { /* replies count as soon as they are there */
        check_call("held", &s[i], 0, 0, "fine");
        ck_assert_msg(s[i].ms < (i < 2 ? 0 : 5000) + bound_ms(), "%u: %.0f ms", i,
                      s[i].ms);
    }
    check_call("held", after, 0, 0, "good");
    ck_assert_msg(s[2].ms > 4500 && after->ms > 4500, "%.0f ms", after->ms);
    ck_assert_uint_eq(web_stat("bad"), 3);
    web_end(p);
}
END_TEST

START_TEST(what_was_dropped_is_named_as_what_it_turned_out_to_be)
{
    struct peer *p = web_up("sse");

    check_good(p);
    web_stop();
    peer_until(p, was_dropped, bound_ms());
    ck_assert_uint_eq(logged(p, MCPLUG_LOG_ERROR, "peer: SSE connection dropped after "),
                      1);
    ck_assert_uint_eq(logged(p, MCPLUG_LOG_ERROR, "connection dropped"), 1);
    web_end(p);
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

START_TEST(a_reply_that_always_breaks_off_is_taken_up_ever_more_seldom)
{
    struct peer *p = web_up("resume-forever?legacy");

    fire(p, "bad", 1, 3000);
    peer_until(p, all_ended, 3000 + bound_ms());
    ck_assert_uint_ge(web_stat("gets"), 4);
    ck_assert_uint_le(web_stat("gets"), 11); /* and one for the session */
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
    tcase_add_loop_test(t, the_call_that_met_the_end_of_its_session_is_sent_again_once, 0,
                        3);
    tcase_add_test(t, a_call_that_is_not_answered_does_not_hold_up_the_new_session);
    tcase_add_test(t,
                   a_call_made_while_answers_of_an_ended_session_are_awaited_waits_too);
    tcase_add_test(t, a_server_is_closed_while_answers_of_an_ended_session_are_awaited);
    tcase_add_test(t, a_call_whose_reply_had_begun_is_not_sent_again);
    tcase_add_test(t, an_error_about_a_request_does_not_end_the_session);
    tcase_add_test(
        t, a_server_that_never_takes_the_end_of_the_handshake_is_asked_all_the_same);
    tcase_add_test(
        t, the_stream_of_a_session_is_opened_again_when_it_was_refused_for_a_while);
    tcase_add_test(t, the_stream_of_a_session_that_always_ends_at_once_keeps_nobody_busy);
    tcase_add_test(t, a_request_that_is_not_taken_makes_others_wait_no_longer_than_5s);
    tcase_add_test(t, what_was_dropped_is_named_as_what_it_turned_out_to_be);
    tcase_add_loop_test(t, a_stream_that_ended_early_is_taken_up_again, 0, 3);
    tcase_add_loop_test(t, a_stream_that_cannot_be_taken_up_again_ends_its_call, 0, 2);
    tcase_add_test(t, a_stream_that_always_ends_early_ends_with_the_calls_time);
    tcase_add_test(t, a_reply_that_always_breaks_off_is_taken_up_ever_more_seldom);
    tcase_add_test(t, a_modern_stream_that_ended_early_is_not_taken_up_again);
    suite_add_tcase(suite, t);
}
