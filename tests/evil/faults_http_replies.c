/* Answers that are wrong in one way each: their own call ends at once, with a code, the
 * HTTP status where there is one, and a text that says what is wrong; others go on. */
#include "faults_http.h"

static const struct {
    const char *mode;
    int code; /* 0: a result */
    int status;
    const char *text;   /* in the error, or of the result */
    unsigned char runs; /* how often the tool may run; 0: once */
} rows[] = {
    {"ok", 0, 0, "fine", 0},
    {"json-lines", 0, 0, "fine", 0},
    {"odd-events", 0, 0, "fine", 0},
    {"data-first", 0, 0, "fine", 0},
    {"data-first-crlf", 0, 0, "fine", 0},
    {"no-type", MCPLUG_EPROTO, 200, "", 0},

    /* what the network does */
    {"reset-before-status", MCPLUG_ECLOSED, 0, "", 0},
    {"fin-before-status", MCPLUG_ECLOSED, 0, "", 0},
    {"reset-in-headers", MCPLUG_ECLOSED, 0, "", 0},
    {"fin-in-headers", MCPLUG_EPROTO, 0, "", 0},
    {"reset-in-body", MCPLUG_ECLOSED, 0, "in the middle of the answer", 0},
    {"fin-in-body", MCPLUG_ECLOSED, 0, "in the middle of the answer", 0},
    {"reset-in-event", MCPLUG_ECLOSED, 0, "in the middle of the answer", 0},
    {"fin-in-event", MCPLUG_ECLOSED, 0, "in the middle of the answer", 0},
    {"half-event", MCPLUG_EPROTO, 0, "", 0},
    {"no-reply", MCPLUG_EPROTO, 0, "without a reply", 0},
    {"empty-stream", MCPLUG_EPROTO, 0, "without a reply", 0},

    /* statuses */
    {"202", MCPLUG_EPROTO, 202, "202", 0},
    {"204", MCPLUG_EPROTO, 204, "204", 0},
    {"205", MCPLUG_EPROTO, 205, "205", 0},
    {"400-text", MCPLUG_EREFUSED, 400, "400", 0},
    {"400-json", MCPLUG_EPEER, -32602, "no good", 0},
    {"401", MCPLUG_EAUTH, 401, "authentication required", 0},
    {"401-bare", MCPLUG_EAUTH, 401, "authentication required", 0},
    {"401-json", MCPLUG_EAUTH, 401, "authentication required", 0},
    {"403", MCPLUG_EAUTH, 403, "403", 0},
    {"403-json", MCPLUG_EAUTH, 403, "403", 0},
    {"404", MCPLUG_EREFUSED, 404, "404", 0},
    {"404-json", MCPLUG_EPEER, -32601, "no method", 0},
    {"405", MCPLUG_EREFUSED, 405, "405", 0},
    {"406", MCPLUG_EREFUSED, 406, "406", 0},
    {"413", MCPLUG_EREFUSED, 413, "413", 0},
    {"418", MCPLUG_EREFUSED, 418, "418", 0},
    {"429", MCPLUG_EREFUSED, 429, "429", 0},
    {"429?after=9999", MCPLUG_EREFUSED, 429, "9999s", 0},
    {"429-date", MCPLUG_EREFUSED, 429, "429", 0},
    {"429-junk", MCPLUG_EREFUSED, 429, "429", 0},
    {"500", MCPLUG_EREFUSED, 500, "500", 0},
    {"502", MCPLUG_EREFUSED, 502, "502", 0},
    {"503", MCPLUG_EREFUSED, 503, "503", 0},
    {"503?after=9999", MCPLUG_EREFUSED, 503, "9999s", 0},
    {"599", MCPLUG_EREFUSED, 599, "599", 0},
    {"999", MCPLUG_EREFUSED, 999, "999", 0},

    /* bodies */
    {"html", MCPLUG_EPROTO, 200, "text/html", 0},
    {"wrong-type", MCPLUG_EPROTO, 200, "application/xml", 0},
    {"empty-body", MCPLUG_EPROTO, 0, "", 0},
    {"null-body", MCPLUG_EPROTO, 0, "", 0},
    {"text-body", MCPLUG_EPROTO, 0, "", 0},
    {"long-length", MCPLUG_ECLOSED, 0, "in the middle of the answer", 0},
    {"short-length", MCPLUG_EPROTO, 0, "", 0},
    {"odd-length", MCPLUG_EPROTO, 0, "", 0},
    {"chunk-garbage", MCPLUG_EPROTO, 0, "", 0},
    {"chunk-huge", MCPLUG_EPROTO, 0, "", 0},
    {"json-then-garbage", MCPLUG_EPROTO, 0, "unexpected text after the value", 0},
    {"reply-wrong-id", MCPLUG_EPROTO, 0, "without a reply", 0},
    {"two-replies", 0, 0, "fine", 0},

    /* heads */
    {"bad-status-line", MCPLUG_EPROTO, 0, "", 0},
    {"http09", MCPLUG_EPROTO, 0, "", 0},
    {"not-http", MCPLUG_EPROTO, 0, "", 0},
    {"huge-headers", MCPLUG_ETOOBIG, 0, "longer than 65536 bytes", 0},
    {"many-headers", MCPLUG_ETOOBIG, 0, "longer than 65536 bytes", 0},
    {"endless-headers", MCPLUG_ETOOBIG, 0, "longer than 65536 bytes", 0},
    {"huge-headers?n=60000", 0, 0, "fine", 0},
    {"1xx-flood?n=3", 0, 0, "fine", 0},
    {"1xx-flood?n=100000", MCPLUG_ETOOBIG, 0, "longer than 65536 bytes", 0},

    /* redirects: 307 and 308 within the origin, all else is refused */
    {"redirect-307-same", 0, 0, "fine", 2},
    {"redirect-308-same", 0, 0, "fine", 2},
    {"redirect-301", MCPLUG_EREFUSED, 301, "redirects to", 0},
    {"redirect-302", MCPLUG_EREFUSED, 302, "redirects to", 0},
    {"redirect-303", MCPLUG_EREFUSED, 303, "redirects to", 0},
    {"redirect-loop", MCPLUG_EREFUSED, 307, "redirects to", 4},
    {"redirect-file", MCPLUG_EREFUSED, 307, "file:///etc/passwd", 0},
    {"redirect-gopher", MCPLUG_EREFUSED, 307, "gopher://", 0},
    {"redirect-junk", MCPLUG_EREFUSED, 307, "redirects to", 0},
    {"redirect-nowhere", MCPLUG_EREFUSED, 307, "redirects to", 0},
    {"redirect-other", MCPLUG_EREFUSED, 307, "redirects to", 0},
    {"redirect-slashes", MCPLUG_EREFUSED, 307, "redirects to", 0},
    {"redirect-user", MCPLUG_EREFUSED, 307, "redirects to", 0},
};
enum { ROWS = sizeof rows / sizeof *rows };

/* The row's mode, with `more` in its query. */
static const char *with(const char *mode, const char *more)
{
    static char where[128];

    snprintf(where, sizeof where, "%s%s%s", mode, strchr(mode, '?') ? "&" : "?", more);
    return where;
}

static void check_row(int i, const char *more, unsigned times)
{
    struct peer *p = web_up(with(rows[i].mode, more));
    struct shot *s = fire(p, "bad", times, 0), *beside = fire(p, "good", 1, 0);

    peer_until(p, all_ended, bound_ms());
    for (unsigned k = 0; k < times; k++)
        check_call(rows[i].mode, &s[k], rows[i].code, rows[i].status, rows[i].text);
    check_call(rows[i].mode, beside, 0, 0, "good");
    check_good(p);
    ck_assert_uint_eq(web_stat("bad"), times * (rows[i].runs ? rows[i].runs : 1));
    ck_assert_str_eq(web_ask(web_start()->port2, "/seen"), "");
    check_memory(p, 40);
    web_end(p);
}

START_TEST(a_wrong_answer_ends_its_own_call_and_nothing_else)
{
    check_row(_i, "", 1);
}
END_TEST

START_TEST(a_wrong_answer_of_a_legacy_server_ends_its_own_call_and_nothing_else)
{
    check_row(_i, "legacy", 1);
}
END_TEST

START_TEST(a_wrong_answer_where_streams_are_usual_ends_its_own_call_and_nothing_else)
{
    check_row(_i, "sse", 1);
}
END_TEST

START_TEST(thirty_wrong_answers_end_thirty_calls)
{
    check_row(_i, "", 30);
}
END_TEST

/* ---- waiting as told ---- */

START_TEST(a_call_that_is_refused_for_a_second_is_made_again)
{
    struct peer *p = web_up(_i ? "503?after=1&times=5&legacy" : "429?after=1&times=5");
    struct shot *s = shoot(p, "bad", 5, 1000 + bound_ms());

    for (unsigned i = 0; i < 5; i++) {
        check_call("429", &s[i], 0, 0, "fine");
        ck_assert(s[i].ms >= 900);
    }
    ck_assert_uint_eq(web_stat("bad"), 10);
    check_good(p);
    web_end(p);
}
END_TEST

START_TEST(a_call_that_is_refused_again_and_again_is_given_up)
{
    struct peer *p = web_up(_i ? "429?after=1&legacy" : "429?after=1");
    struct shot *s = fire(p, "bad", 5, 0), *beside = shoot(p, "good", 1, 20000);

    for (unsigned i = 0; i < 5; i++)
        check_call("429", &s[i], MCPLUG_EREFUSED, 429, ": retry after 1s");
    check_call("429", beside, 0, 0, "good");
    ck_assert(beside->ms < bound_ms());
    ck_assert_uint_eq(web_stat("bad"), 5 * 4);
    web_end(p);
}
END_TEST

START_TEST(the_time_of_a_call_goes_on_while_it_waits_to_be_made_again)
{
    struct peer *p = web_up("429?after=30");
    struct shot *s = fire(p, "bad", 5, 400);

    peer_until(p, all_ended, 400 + bound_ms());
    for (unsigned i = 0; i < 5; i++)
        check_call("429", &s[i], MCPLUG_ETIMEDOUT, 0, "timed out after 400ms");
    ck_assert_uint_eq(web_stat("bad"), 5);
    check_good(p);
    web_end(p);
}
END_TEST

/* ---- what leaves open whom it is for ---- */

START_TEST(an_error_without_an_id_ends_the_call_that_it_answers)
{
    struct peer *p = web_up(_i ? "reply-no-id?sse" : "reply-no-id");
    struct shot *s = shoot(p, "bad", 5, bound_ms());

    for (unsigned i = 0; i < 5; i++)
        ck_assert_msg(s[i].code == MCPLUG_EPEER || s[i].code == MCPLUG_EPROTO, "%s",
                      s[i].text);
    check_good(p);
    web_end(p);
}
END_TEST

START_TEST(a_second_answer_behind_the_first_reaches_no_call)
{
    struct peer *p = web_up(_i ? "two-replies?sse" : "two-replies");

    for (unsigned i = 0; i < 20; i++) {
        check_call("two-replies", shoot(p, "bad", 1, bound_ms()), 0, 0, "fine");
        check_good(p);
    }
    web_end(p);
}
END_TEST

/* Connections that were used before are what is broken here: a client that just tried
 * again would have the tool run twice. */
START_TEST(a_call_that_was_sent_is_never_sent_again)
{
    static const char *const modes[] = {"reset-before-status", "fin-before-status",
                                        "reset-before-status?legacy",
                                        "fin-before-status?legacy"};
    struct peer *p = web_up(modes[_i]);

    for (unsigned i = 0; i < 30; i++) {
        struct shot *s = fire(p, "good", 3, 0);
        peer_until(p, all_ended, bound_ms());
        check_call(modes[_i], &s[2], 0, 0, "good");
        s = shoot(p, "bad", 5, bound_ms());
        for (unsigned k = 0; k < 5; k++) {
            check_call(modes[_i], &s[k], MCPLUG_ECLOSED, 0, "no answer (");
            ck_assert_msg(strstr(s[k].text, "(the request had already been sent)") !=
                              NULL,
                          "%s", s[k].text);
        }
    }
    ck_assert_uint_eq(web_stat("bad"), 150);
    web_end(p);
}
END_TEST

/* ---- the user's headers ---- */

static struct peer *with_secrets(const char *where)
{
    struct peer *p = web_new("http", where);

    mcplug_settings_put(p->settings, "headers", "Authorization", "Bearer secret");
    mcplug_settings_put(p->settings, "headers", "X-Api-Key", "k");
    return p;
}

START_TEST(headers_of_the_user_reach_the_server_and_those_of_the_protocol_too)
{
    static const char *const lines[] = {"\r\nAuthorization: Bearer secret\r\n",
                                        "\r\nX-Api-Key: k\r\n",
                                        "\r\nMCP-Protocol-Version: 2026-07-28\r\n",
                                        "\r\nMcp-Method: tools/call\r\n",
                                        "\r\nMcp-Name: good\r\n",
                                        "\r\nContent-Type: application/json\r\n"};
    struct peer *p = with_secrets("ok");

    ck_assert_int_eq(peer_open(p), 0);
    check_good(p);
    const char *head = web_ask(web_start()->port, "/last");
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        ck_assert_msg(strcasestr(head, lines[i]) != NULL, "%s is not in %s", lines[i],
                      head);
    ck_assert_uint_eq(logged(p, MCPLUG_LOG_TRACE, "secret"), 0);
    web_end(p);
}
END_TEST

static const char *const elsewhere[] = {"redirect-other", "redirect-slashes",
                                        "redirect-user"};

START_TEST(nothing_reaches_another_origin)
{
    struct peer *p = with_secrets(elsewhere[_i]);

    ck_assert_int_eq(peer_open(p), 0);
    shoot(p, "bad", 5, bound_ms());
    check_good(p);
    ck_assert_str_eq(web_ask(web_start()->port2, "/seen"), "");
    web_end(p);
}
END_TEST

START_TEST(nothing_reaches_another_origin_while_connecting)
{
    struct peer *p = with_secrets(with(elsewhere[_i], "at=connect"));

    ck_assert_int_eq(peer_open(p), MCPLUG_EREFUSED);
    ck_assert_int_eq(p->why.peer_status, 307);
    ck_assert_str_eq(web_ask(web_start()->port2, "/seen"), "");
    ck_assert_uint_eq(logged(p, MCPLUG_LOG_TRACE, "secret"), 0);
    web_end(p);
}
END_TEST

void add_http_reply_tests(Suite *suite)
{
    TCase *t = tcase_create("http replies");

    tcase_set_timeout(t, 60);
    tcase_add_loop_test(t, a_wrong_answer_ends_its_own_call_and_nothing_else, 0, ROWS);
    tcase_add_loop_test(
        t, a_wrong_answer_of_a_legacy_server_ends_its_own_call_and_nothing_else, 0, ROWS);
    tcase_add_loop_test(
        t, a_wrong_answer_where_streams_are_usual_ends_its_own_call_and_nothing_else, 0,
        ROWS);
    tcase_add_loop_test(t, thirty_wrong_answers_end_thirty_calls, 0, ROWS);
    tcase_add_loop_test(t, a_call_that_is_refused_for_a_second_is_made_again, 0, 2);
    tcase_add_loop_test(t, a_call_that_is_refused_again_and_again_is_given_up, 0, 2);
    tcase_add_test(t, the_time_of_a_call_goes_on_while_it_waits_to_be_made_again);
    tcase_add_loop_test(t, an_error_without_an_id_ends_the_call_that_it_answers, 0, 2);
    tcase_add_loop_test(t, a_second_answer_behind_the_first_reaches_no_call, 0, 2);
    tcase_add_loop_test(t, a_call_that_was_sent_is_never_sent_again, 0, 4);
    tcase_add_test(t, headers_of_the_user_reach_the_server_and_those_of_the_protocol_too);
    tcase_add_loop_test(t, nothing_reaches_another_origin, 0, 3);
    tcase_add_loop_test(t, nothing_reaches_another_origin_while_connecting, 0, 3);
    suite_add_tcase(suite, t);
}
