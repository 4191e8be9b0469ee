/* Peers that are no servers, from the first request on: connecting fails with a reason,
 * and in time. */
#include "faults_http.h"

#include <stdlib.h>

static const struct {
    const char *mode;
    int code, status;
    const char *text;
} rows[] = {
    {"ok", MCPLUG_EPROTO, 0, ""}, /* answers that fit nothing */
    {"reset-before-status", MCPLUG_ECLOSED, 0, ""},
    {"fin-before-status", MCPLUG_ECLOSED, 0, ""},
    {"reset-in-headers", MCPLUG_ECLOSED, 0, ""},
    {"fin-in-headers", MCPLUG_EPROTO, 0, ""},
    {"reset-in-body", MCPLUG_ECLOSED, 0, "in the middle of the answer"},
    {"fin-in-body", MCPLUG_ECLOSED, 0, "in the middle of the answer"},
    {"fin-in-event", MCPLUG_ECLOSED, 0, "in the middle of the answer"},
    {"no-reply", MCPLUG_EPROTO, 0, "without a reply"},
    {"202", MCPLUG_EPROTO, 202, "202"},
    {"204", MCPLUG_EPROTO, 204, "204"},
    {"400-text", MCPLUG_EREFUSED, 400, "400"},
    {"401", MCPLUG_EAUTH, 401, "authentication required"},
    {"403", MCPLUG_EAUTH, 403, "403"},
    {"404", MCPLUG_EREFUSED, 404, "endpoint"},
    {"405", MCPLUG_EREFUSED, 405, "405"},
    {"429", MCPLUG_EREFUSED, 429, "429"},
    {"500", MCPLUG_EREFUSED, 500, "500"},
    {"503", MCPLUG_EREFUSED, 503, "503"},
    {"html", MCPLUG_EPROTO, 200, "text/html"},
    {"empty-body", MCPLUG_EPROTO, 0, ""},
    {"long-length", MCPLUG_ECLOSED, 0, "in the middle of the answer"},
    {"short-length", MCPLUG_EPROTO, 0, ""},
    {"chunk-garbage", MCPLUG_EPROTO, 0, ""},
    {"bad-status-line", MCPLUG_EPROTO, 0, ""},
    {"http09", MCPLUG_EPROTO, 0, ""},
    {"not-http", MCPLUG_EPROTO, 0, ""},
    {"huge-headers", MCPLUG_ETOOBIG, 0, "65536"},
    {"endless-headers", MCPLUG_ETOOBIG, 0, "65536"},
    {"redirect-loop", MCPLUG_EREFUSED, 307, "redirects to"},
    {"redirect-301", MCPLUG_EREFUSED, 301, "redirects to"},
    {"redirect-file", MCPLUG_EREFUSED, 307, "file:///etc/passwd"},
    {"reply-wrong-id", MCPLUG_EPROTO, 0, "without a reply"},
};
enum { ROWS = sizeof rows / sizeof *rows };

static void check_why(const struct peer *p, const char *where, int code, int status,
                      const char *text)
{
    ck_assert_msg(p->why.code == code, "%s: %s instead of %s, \"%s\"", where,
                  code_name(p->why.code), code_name(code), p->why.text);
    ck_assert_msg(p->why.peer_status == status, "%s: status %d instead of %d, \"%s\"",
                  where, p->why.peer_status, status, p->why.text);
    ck_assert_msg(strstr(p->why.text, text) != NULL, "%s: \"%s\" is not in \"%s\"", where,
                  text, p->why.text);
}

static void check_row(int i, const char *query)
{
    char where[128];
    snprintf(where, sizeof where, "%s?%s", rows[i].mode, query);
    struct peer *p = web_new("http", where);

    peer_open(p);
    ck_assert(now_ms() - p->began < bound_ms());
    check_why(p, where, rows[i].code, rows[i].status, rows[i].text);
    check_memory(p, 40);
    web_end(p);
}

START_TEST(a_peer_that_is_wrong_from_the_start_is_told_as_such)
{
    check_row(_i, "at=connect");
}
END_TEST

START_TEST(a_peer_that_is_wrong_from_the_start_is_told_as_such_for_one_revision)
{
    char where[128];
    snprintf(where, sizeof where, "%s?at=connect", rows[_i].mode);
    struct peer *p = web_new("http", where);

    p->o.revision = "2025-06-18";
    ck_assert_int_ne(peer_open(p), 0);
    ck_assert(now_ms() - p->began < bound_ms());
    if (strcmp(rows[_i].mode, "ok") != 0)
        check_why(p, where, rows[_i].code, rows[_i].status, rows[_i].text);
    web_end(p);
}
END_TEST

/* What is no server of either kind is told by the first of both. */
START_TEST(a_peer_that_is_no_server_of_any_kind_is_told_as_such)
{
    static const struct {
        const char *where;
        int status;
    } nothing[] = {
        {"400-text?at=connect", 400}, {"404?at=connect", 404}, {"405?at=connect", 405}};
    struct peer *p = web_new(NULL, nothing[_i].where);

    peer_open(p);
    ck_assert(now_ms() - p->began < bound_ms());
    check_why(p, nothing[_i].where, MCPLUG_EREFUSED, nothing[_i].status, "HTTP 40");
    web_end(p);
}
END_TEST

/* A refusal is no sign of a later server for having the form of JSON-RPC. */
START_TEST(a_server_of_2024_is_found_behind_a_refusal_in_json)
{
    struct peer *p = web_up(_i ? "sse-json-405" : "sse-json-404");

    ck_assert_str_eq(mcplug_server_revision(p->server), "2024-11-05");
    check_good(p);
    web_end(p);
}
END_TEST

/* ---- what is nobody's business ---- */

static const char *const proxies[] = {
    "foo://user:secret@127.0.0.1:1", "foo://user:se@cret:secret@127.0.0.1:1",
    "http://user:secret@127.0.0.1:1", "socks5h://user:secret@127.0.0.1:1",
    "http://user:secret@127.0.0.1:port"};
enum { PROXIES = sizeof proxies / sizeof *proxies };

START_TEST(a_proxy_that_is_of_no_use_is_told_without_its_password)
{
    struct peer *p = peer_new_url("http", "http://mcp.invalid/");

    mcplug_settings_set(p->settings, "proxy", proxies[_i]);
    int r = mcplug_open_wait(p->host, p->settings, &p->o, &p->server, &p->err);
    ck_assert_int_ne(r, 0);
    ck_assert_str_ne(p->err.text, "");
    ck_assert_msg(strstr(p->err.text, "cret") == NULL, "%s", p->err.text);
    ck_assert_uint_eq(logged(p, MCPLUG_LOG_TRACE, "cret"), 0);
    p->server = NULL;
    peer_end(p);
}
END_TEST

START_TEST(a_server_is_not_named_after_the_keys_in_its_address)
{
    char name[64];
    struct peer *p = web_new(NULL, "ok?key=secret");

    p->o.name = NULL;
    ck_assert_msg(peer_open(p) == 0, "%s", p->why.text);
    snprintf(name, sizeof name, "http://127.0.0.1:%d/ok", web_start()->port);
    ck_assert_str_eq(mcplug_server_name(p->server), name);
    struct shot *s = fire(p, "bad", 1, 0);
    mcplug_cancel(s->call);
    peer_until(p, all_ended, bound_ms());
    ck_assert_msg(strstr(s->text, "secret") == NULL, "%s", s->text);
    ck_assert_uint_eq(logged(p, MCPLUG_LOG_TRACE, "secret"), 0);
    web_end(p);
}
END_TEST

/* ---- time ---- */

static const char *const mute[] = {"silence",     "headers-only",     "stall-in-body",
                                   "drip?n=1000", "endless-comments", "endless-notes",
                                   "endless-id"};

START_TEST(a_peer_that_never_answers_lets_connecting_run_out_of_time)
{
    char where[128];
    snprintf(where, sizeof where, "%s%sat=connect", mute[_i],
             strchr(mute[_i], '?') ? "&" : "?");
    struct peer *p = web_new(NULL, where);

    p->o.timeout_ms = 700;
    ck_assert_msg(peer_open(p) == MCPLUG_ETIMEDOUT, "%s: %s", where, p->why.text);
    ck_assert_str_eq(p->why.text,
                     "Connection to MCP server \"peer\" timed out after 700ms");
    ck_assert(now_ms() - p->began < 700 + bound_ms());
    check_memory(p, 40);
    web_end(p);
}
END_TEST

START_TEST(a_slow_legacy_server_is_reached)
{
    struct peer *p = web_up("drip?legacy&n=1");
    struct shot *s = shoot(p, "bad", 3, 3000 + bound_ms());

    check_call("drip", s, 0, 0, "fine");
    ck_assert_str_eq(mcplug_server_revision(p->server), "2025-06-18");
    ck_assert_uint_eq(web_stat("initializes"), 1);
    web_end(p);
}
END_TEST

/* ---- nobody there ---- */

START_TEST(a_port_where_nobody_listens_is_told_at_once)
{
    web_start();
    struct peer *p = web_new(NULL, "ok");

    web_stop();
    ck_assert_msg(peer_open(p) == MCPLUG_EREFUSED, "%s", p->why.text);
    ck_assert(now_ms() - p->began < bound_ms());
    ck_assert_msg(strstr(p->why.text, "refused") != NULL, "%s", p->why.text);
    web_end(p);
}
END_TEST

START_TEST(a_peer_that_goes_takes_the_calls_under_way_with_it)
{
    struct peer *p = web_up(_i ? "silence?legacy" : "silence");
    struct shot *s = fire(p, "bad", 100, 0);

    while (web_stat("bad") < 100)
        peer_run(p, 5);
    double since = now_ms();
    web_stop();
    peer_until(p, all_ended, bound_ms());
    ck_assert(now_ms() - since < bound_ms());
    for (unsigned i = 0; i < 100; i++) {
        check_call("gone", &s[i], MCPLUG_ECLOSED, 0, "");
        ck_assert_msg(strstr(s[i].text, "(the request had already been sent)"), "%s",
                      s[i].text);
    }
    if (!p->dropped) { /* the next one finds nobody */
        s = shoot(p, "good", 1, bound_ms());
        check_call("gone", s, MCPLUG_EREFUSED, 0, "refused");
    }
    web_end(p);
}
END_TEST

/* ---- closing ---- */

static const char *const holding[] = {
    "silence",       "stall-in-body",  "headers-only", "endless-comments",
    "endless-notes", "silence?legacy", "drip?n=100",   "never-closes"};

START_TEST(a_server_is_closed_with_calls_under_way)
{
    struct peer *p = web_up(holding[_i]);
    struct shot *s = fire(p, "bad", 20, 0);

    while (web_stat("bad") < 20)
        peer_run(p, 5);
    peer_run(p, 30);
    double since = now_ms();
    mcplug_close_wait(p->server);
    ck_assert(now_ms() - since < bound_ms());
    p->server = NULL;
    p->ready = 0;
    for (unsigned i = 0; i < 20; i++)
        if (strcmp(holding[_i], "never-closes") != 0)
            check_call(holding[_i], &s[i], MCPLUG_ECANCELED, 0, "");
    web_wait_open(NULL, 0);
    web_end(p);
}
END_TEST

static bool is_closed;

static void on_closed(void *arg)
{
    (void)arg;
    is_closed = true;
}

static bool has_closed(struct peer *p)
{
    (void)p;
    return is_closed;
}

START_TEST(a_server_is_closed_while_it_connects)
{
    char where[128];
    snprintf(where, sizeof where, "%s%sat=connect", mute[_i],
             strchr(mute[_i], '?') ? "&" : "?");
    struct peer *p = web_new(NULL, where);

    mcplug_free(mcplug_new(NULL, NULL));
    p->o.timeout_ms = 300;
    ck_assert_int_eq(peer_open(p), MCPLUG_ETIMEDOUT);
    mcplug_close(p->server, on_closed, NULL);
    peer_until(p, has_closed, bound_ms());
    p->server = NULL;
    p->ready = 0;
    web_wait_open(NULL, 0);
    web_end(p);
}
END_TEST

START_TEST(a_call_that_is_cancelled_leaves_nothing_behind)
{
    struct peer *p = web_up(holding[_i]);
    unsigned long before = web_stat("open") - 1;
    struct shot *s = fire(p, "bad", 10, 0);

    while (web_stat("bad") < 10)
        peer_run(p, 5);
    peer_run(p, 30);
    for (unsigned i = 0; i < 10; i++)
        mcplug_cancel(s[i].call);
    peer_until(p, all_ended, bound_ms());
    for (unsigned i = 0; i < 10; i++)
        check_call(holding[_i], &s[i], MCPLUG_ECANCELED, 0, "");
    if (strstr(holding[_i], "legacy")) { /* each was told, on a connection that is kept */
        while (web_stat("cancels") < 10)
            peer_run(p, 5);
        before += 9;
    }
    web_wait_open(p, before + 1);
    check_good(p);
    web_end(p);
}
END_TEST

void add_http_connect_tests(Suite *suite)
{
    TCase *t = tcase_create("http connect");

    tcase_set_timeout(t, 60);
    tcase_add_loop_test(t, a_peer_that_is_wrong_from_the_start_is_told_as_such, 0, ROWS);
    tcase_add_loop_test(
        t, a_peer_that_is_wrong_from_the_start_is_told_as_such_for_one_revision, 0, ROWS);
    tcase_add_loop_test(t, a_peer_that_is_no_server_of_any_kind_is_told_as_such, 0, 3);
    tcase_add_loop_test(t, a_peer_that_never_answers_lets_connecting_run_out_of_time, 0,
                        7);
    tcase_add_loop_test(t, a_server_of_2024_is_found_behind_a_refusal_in_json, 0, 2);
    tcase_add_loop_test(t, a_proxy_that_is_of_no_use_is_told_without_its_password, 0,
                        PROXIES);
    tcase_add_test(t, a_server_is_not_named_after_the_keys_in_its_address);
    tcase_add_test(t, a_slow_legacy_server_is_reached);
    tcase_add_test(t, a_port_where_nobody_listens_is_told_at_once);
    tcase_add_loop_test(t, a_peer_that_goes_takes_the_calls_under_way_with_it, 0, 2);
    tcase_add_loop_test(t, a_server_is_closed_with_calls_under_way, 0, 8);
    tcase_add_loop_test(t, a_server_is_closed_while_it_connects, 0, 7);
    tcase_add_loop_test(t, a_call_that_is_cancelled_leaves_nothing_behind, 0, 7);
    suite_add_tcase(suite, t);
}
