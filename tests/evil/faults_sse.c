/* The HTTP+SSE transport of 2024-11-05: one stream for all answers, which a peer may
 * break, and an address for requests, which a peer may lie about. */
#include "faults_http.h"

static struct peer *sse_up(const char *where)
{
    struct peer *p = web_new("sse", where);

    ck_assert_msg(peer_open(p) == 0, "%s: %s", where, p->why.text);
    return p;
}

START_TEST(a_server_of_2024_is_reached)
{
    static const char *const modes[] = {"sse", "sse-relative/stream", "sse-absolute",
                                        "sse-data-first", "sse-data-first-crlf"};
    struct peer *p = sse_up(modes[_i]);
    struct shot *s = shoot(p, "bad", 50, bound_ms());

    ck_assert_str_eq(mcplug_server_revision(p->server), "2024-11-05");
    for (unsigned i = 0; i < 50; i++)
        check_call(modes[_i], &s[i], 0, 0, "fine");
    check_good(p);
    ck_assert_uint_eq(books(p).noise, 0);
    web_end(p);
}
END_TEST

START_TEST(a_server_of_2024_is_found_where_only_its_address_is_known)
{
    struct peer *p = web_up("sse");

    ck_assert_str_eq(mcplug_server_revision(p->server), "2024-11-05");
    check_good(p);
    web_end(p);
}
END_TEST

/* ---- connecting ---- */

static const struct {
    const char *mode;
    int code, status;
    const char *text;
} starts[] = {
    {"sse-other-origin", MCPLUG_EPROTO, 0, "another origin"},
    {"sse-slashes", MCPLUG_EPROTO, 0, "another origin"},
    {"sse-file", MCPLUG_EPROTO, 0, "is not a URL"},
    {"sse-junk", MCPLUG_EPROTO, 0, "is not a URL"},
    {"sse-long-endpoint", MCPLUG_EPROTO, 0, ""},
    {"sse-404", MCPLUG_EREFUSED, 404, "404"},
    {"sse-401", MCPLUG_EAUTH, 401, "rejected the Authorization header"},
    {"sse-html", MCPLUG_EPROTO, 200, "text/html"},
    {"ok", MCPLUG_EREFUSED, 405, "405"},
};
enum { STARTS = sizeof starts / sizeof *starts };

START_TEST(a_peer_that_is_no_such_server_is_told_as_such)
{
    struct peer *p = web_new("sse", starts[_i].mode);

    mcplug_settings_put(p->settings, "headers", "Authorization", "Bearer secret");
    peer_open(p);
    ck_assert(now_ms() - p->began < bound_ms());
    ck_assert_msg(p->why.code == starts[_i].code &&
                      p->why.peer_status == starts[_i].status &&
                      strstr(p->why.text, starts[_i].text),
                  "%s: %s, status %d, \"%s\"", starts[_i].mode, code_name(p->why.code),
                  p->why.peer_status, p->why.text);
    ck_assert_str_eq(web_ask(web_start()->port2, "/seen"), "");
    check_memory(p, 40);
    web_end(p);
}
END_TEST

START_TEST(a_server_that_names_no_address_lets_connecting_run_out_of_time)
{
    struct peer *p = web_new("sse", "sse-no-endpoint");

    p->o.timeout_ms = 500;
    ck_assert_msg(peer_open(p) == MCPLUG_ETIMEDOUT, "%s", p->why.text);
    ck_assert(now_ms() - p->began < 500 + bound_ms());
    web_end(p);
}
END_TEST

/* ---- calls ---- */

static const struct {
    const char *mode;
    int code, status;
    const char *text;
} posts[] = {
    {"sse-post-500", MCPLUG_EREFUSED, 500, "500"},
    {"sse-post-404", MCPLUG_EREFUSED, 404, "404"},
    {"sse-post-reset", MCPLUG_ECLOSED, 0, ""},
};

START_TEST(a_request_that_is_not_taken_ends_its_call_and_nothing_else)
{
    struct peer *p = sse_up(posts[_i].mode);
    struct shot *s = fire(p, "bad", 20, 0), *beside = fire(p, "good", 1, 0);

    peer_until(p, all_ended, bound_ms());
    for (unsigned i = 0; i < 20; i++)
        check_call(posts[_i].mode, &s[i], posts[_i].code, posts[_i].status,
                   posts[_i].text);
    check_call(posts[_i].mode, beside, 0, 0, "good");
    check_good(p);
    ck_assert_uint_eq(web_stat("bad"), 20);
    web_end(p);
}
END_TEST

START_TEST(a_request_that_is_not_answered_ends_with_its_own_time)
{
    struct peer *p = sse_up(_i ? "sse-mute" : "sse-post-silent");
    struct shot *s = fire(p, "bad", 10, 400), *beside = fire(p, "good", 1, 0);

    peer_until(p, all_ended, 400 + bound_ms());
    for (unsigned i = 0; i < 10; i++)
        check_call("sse", &s[i], MCPLUG_ETIMEDOUT, 0, "timed out after 400ms");
    check_call("sse", beside, 0, 0, "good");
    check_good(p);
    web_end(p);
}
END_TEST

START_TEST(a_stream_that_goes_takes_all_calls_with_it)
{
    struct peer *p = sse_up(_i ? "sse-breaks" : "sse-dies");
    struct shot *s = shoot(p, "bad", 20, bound_ms());

    for (unsigned i = 0; i < 20; i++)
        check_call("sse", &s[i], MCPLUG_ECLOSED, 0, "");
    peer_until(p, was_dropped, bound_ms());
    ck_assert_int_eq(p->why.code, MCPLUG_ECLOSED);
    ck_assert_uint_eq(books(p).under_way, 0);
    peer_run(p, 50);
    web_end(p);
}
END_TEST

START_TEST(an_idle_stream_whose_peer_goes_is_dropped)
{
    struct peer *p = sse_up("sse");

    check_good(p);
    web_stop();
    peer_until(p, was_dropped, bound_ms());
    ck_assert_int_eq(p->why.code, MCPLUG_ECLOSED);
    web_end(p);
}
END_TEST

void add_sse_tests(Suite *suite)
{
    TCase *t = tcase_create("sse");

    tcase_set_timeout(t, 60);
    tcase_add_loop_test(t, a_server_of_2024_is_reached, 0, 5);
    tcase_add_test(t, a_server_of_2024_is_found_where_only_its_address_is_known);
    tcase_add_loop_test(t, a_peer_that_is_no_such_server_is_told_as_such, 0, STARTS);
    tcase_add_test(t, a_server_that_names_no_address_lets_connecting_run_out_of_time);
    tcase_add_loop_test(t, a_request_that_is_not_taken_ends_its_call_and_nothing_else, 0,
                        3);
    tcase_add_loop_test(t, a_request_that_is_not_answered_ends_with_its_own_time, 0, 2);
    tcase_add_loop_test(t, a_stream_that_goes_takes_all_calls_with_it, 0, 2);
    tcase_add_test(t, an_idle_stream_whose_peer_goes_is_dropped);
    suite_add_tcase(suite, t);
}
