/* Sessions with a WebSocket peer that breaks the rules, one way each, through the public
 * API alone. Every test has a process, and a peer, of its own. */
#include "faults.h"
#include "run.h"
#include "../unit/now.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- the peer's process ---- */

static int port, lifeline = -1;

static void start(void)
{
    char path[4096], line[64];

    if (lifeline >= 0)
        return;
    program_beside("evil_ws", path, sizeof path);
    program_apart((const char *[]){path, NULL}, &lifeline, line, sizeof line);
    port = atoi(line);
}

static struct peer *ws_new(const char *where)
{
    char url[512];

    start();
    snprintf(url, sizeof url, "ws://127.0.0.1:%d/%s", port, where);
    return peer_new_url(NULL, url);
}

static struct peer *ws_up(const char *where)
{
    struct peer *p = ws_new(where);

    ck_assert_msg(peer_open(p) == 0, "%s: %s", where, p->why.text);
    return p;
}

static void check_clean(const char *text)
{
    for (; *text; text++)
        ck_assert((unsigned char)*text >= 0x20 && (unsigned char)*text < 0x7f);
}

/* ---- what works ---- */

static const char *const proper[] = {"normal", "fragments",   "pings",
                                     "binary", "empty",       "early",
                                     "masked", "no-protocol", "not-json"};

START_TEST(a_peer_that_keeps_to_the_rules_is_understood)
{
    struct peer *p = ws_up(proper[_i]);

    for (int round = 0; round < 3; round++) {
        struct shot *s = shoot(p, round ? "bad" : "good", 20, 10000);
        for (int i = 0; i < 20; i++)
            ck_assert_msg(s[i].code == 0, "%s: %s", proper[_i], s[i].text);
        ck_assert_str_eq(text_of(s), round ? "fine" : "good");
        if (strcmp(proper[_i], "masked") == 0)
            break; /* a second one is unmasked wrongly */
    }
    ck_assert_uint_eq(logged(p, MCPLUG_LOG_WARN, "binary"),
                      strcmp(proper[_i], "binary") == 0);
    if (strcmp(proper[_i], "not-json") != 0 && strcmp(proper[_i], "binary") != 0)
        ck_assert_uint_eq(p->n_bad, 0);
    peer_end(p);
}
END_TEST

START_TEST(the_upgrade_has_what_the_user_wants_and_no_extension)
{
    struct peer *p = ws_new("picky");

    mcplug_settings_put(p->settings, "headers", "Authorization", "Bearer secret");
    ck_assert_msg(peer_open(p) == 0, "%s", p->why.text);
    check_good(p);
    peer_end(p);
}
END_TEST

static const char *const wrong[][2] = {{"Sec-WebSocket-Key", "x"},
                                       {"Host", "elsewhere"},
                                       {"Bad Name", "x"},
                                       {"X-Split", "a\r\nEvil: yes"}};

START_TEST(headers_that_belong_to_the_protocol_are_refused)
{
    struct peer *p = ws_new("normal");

    mcplug_settings_put(p->settings, "headers", wrong[_i][0], wrong[_i][1]);
    ck_assert_int_eq(peer_open(p), MCPLUG_ECONFIG);
    ck_assert_msg(strstr(p->why.text, "headers: ") != NULL, "%s", p->why.text);
    peer_end(p);
}
END_TEST

START_TEST(long_answers_come_whole)
{
    struct peer *p = ws_up("big?10");
    struct shot *s = shoot(p, "bad", 3, 30000);
    for (int i = 0; i < 3; i++) {
        ck_assert_msg(s[i].code == 0, "%s", s[i].text);
        size_t len;
        mcplug_result_json(s[i].result, &len);
        ck_assert_uint_gt(len, 0);
    }
    check_good(p);
    peer_end(p);
}
END_TEST

START_TEST(a_long_message_goes_out_in_fragments_and_comes_back)
{
    enum { LONG = 3 << 20 };
    struct peer *p = ws_up("normal");
    char *args = malloc(LONG + 64);
    struct mcplug_call_options o = {.struct_size = sizeof o};

    ck_assert_ptr_nonnull(args);
    strcpy(args, "{\"text\":\"");
    memset(args + 9, 'y', LONG);
    strcpy(args + 9 + LONG, "\"}");
    mcplug_result *result = NULL;
    ck_assert_msg(mcplug_call_tool_wait(p->server, "echo", args, &o, &result, &p->err) ==
                      0,
                  "%s", p->err.text);
    mcplug_result_unref(result);
    struct shot *s = shoot(p, "counts", 1, 5000);
    ck_assert_msg(strstr(text_of(s), "fragments 1") != NULL, "%s", text_of(s));
    free(args);
    peer_end(p);
}
END_TEST

START_TEST(hundreds_of_calls_at_once_are_all_answered)
{
    struct peer *p = ws_up("normal");
    struct shot *s = shoot(p, "good", 500, 30000);
    for (int i = 0; i < 500; i++)
        ck_assert_msg(s[i].code == 0, "%s", s[i].text);
    ck_assert_uint_ge(books(p).ok, 500);
    peer_end(p);
}
END_TEST

START_TEST(silence_brings_pings)
{
    struct peer *p = ws_new("normal");

    mcplug_settings_set(p->settings, "ping", "20ms");
    ck_assert_int_eq(peer_open(p), 0);
    double from = now_ms();
    unsigned pings = 0;
    for (int i = 0; i < 20 && pings <= 3; i++) { /* longer where the machine is busy */
        peer_run(p, 300);
        sscanf(text_of(shoot(p, "counts", 1, 5000)), "pings %u", &pings);
    }
    ck_assert_uint_gt(pings, 3);
    ck_assert_double_lt(pings, (now_ms() - from) / 20 + 5);
    peer_end(p);
}
END_TEST

START_TEST(a_peer_that_answers_no_ping_is_given_up)
{
    if (long_run()) {
        struct peer *p = ws_new("no-pong");
        mcplug_settings_set(p->settings, "ping", "1s");
        ck_assert_int_eq(peer_open(p), 0);
        struct shot *s = shoot(p, "bad", 3, 40000);
        ck_assert_int_eq(s->code, MCPLUG_ECLOSED);
        ck_assert_int_eq(p->why.os_error, ETIMEDOUT);
        peer_end(p);
    }
}
END_TEST

/* ---- upgrades that fail ---- */

static const struct {
    const char *mode;
    int code, status, os_error;
    const char *text;
} refusals[] = {
    {"401", MCPLUG_EAUTH, 401, 0, "401"},
    {"403", MCPLUG_EAUTH, 403, 0, "403"},
    {"404", MCPLUG_EREFUSED, 404, 0, "404"},
    {"302", MCPLUG_EREFUSED, 302, 0, "not followed"},
    {"200", MCPLUG_EREFUSED, 200, 0, "200"},
    {"no-answer", MCPLUG_ETIMEDOUT, 0, ETIMEDOUT, "within 300 ms"},
    {"drip", MCPLUG_ETIMEDOUT, 0, ETIMEDOUT, "within 300 ms"},
    {"not-http", MCPLUG_ETIMEDOUT, 0, ETIMEDOUT, "within 300 ms"},
    {"endless-head", MCPLUG_EPROTO, 0, 0, "not a WebSocket upgrade"},
    {"many-heads", MCPLUG_EPROTO, 0, 0, "not a WebSocket upgrade"},
    {"reset-upgrade", MCPLUG_ECLOSED, 0, ECONNRESET, "reset"},
    {"fin-upgrade", MCPLUG_ECLOSED, 0, 0, "instead of upgrading it"},
    {"wrong-accept", MCPLUG_EPROTO, 0, 0, "not a WebSocket upgrade"},
    {"unasked-extension", MCPLUG_EPROTO, 0, 0, "not a WebSocket upgrade"},
    {"unasked-protocol", MCPLUG_EPROTO, 0, 0, "not a WebSocket upgrade"},
};

START_TEST(an_upgrade_that_fails_is_told_with_its_reason)
{
    struct peer *p = ws_new(refusals[_i].mode);

    if (refusals[_i].code == MCPLUG_ETIMEDOUT)
        mcplug_settings_set(p->settings, "connectTimeout", "300ms");
    peer_open(p);
    ck_assert_msg(p->why.code == refusals[_i].code, "%s: %s, \"%s\"", refusals[_i].mode,
                  mcplug_error_name(p->why.code), p->why.text);
    ck_assert_msg(p->why.peer_status == refusals[_i].status, "%s: status %d",
                  refusals[_i].mode, p->why.peer_status);
    ck_assert_msg(p->why.os_error == refusals[_i].os_error, "%s: os error %d",
                  refusals[_i].mode, p->why.os_error);
    ck_assert_msg(strstr(p->why.text, refusals[_i].text) != NULL, "%s: \"%s\"",
                  refusals[_i].mode, p->why.text);
    check_clean(p->why.text);
    check_memory(p, 8);
    peer_end(p);
}
END_TEST

START_TEST(nobody_there_is_told_as_refused)
{
    struct peer *p = peer_new_url(NULL, "ws://127.0.0.1:1/");

    ck_assert_int_eq(peer_open(p), MCPLUG_EREFUSED);
    ck_assert_int_eq(p->why.os_error, ECONNREFUSED);
    peer_end(p);
}
END_TEST

START_TEST(a_server_without_tls_is_no_tls_server)
{
    char url[64];

    start();
    snprintf(url, sizeof url, "wss://127.0.0.1:%d/normal", port);
    struct peer *p = peer_new_url(NULL, url);
    mcplug_settings_set(p->settings, "connectTimeout", "2s");
    ck_assert_int_ne(peer_open(p), 0);
    ck_assert_ptr_nonnull(strstr(p->why.text, "wss://127.0.0.1:"));
    peer_end(p);
}
END_TEST

static unsigned n_ready;

static void count_ready(void *arg, mcplug_server *server, const struct mcplug_error *why)
{
    (void)arg, (void)server, (void)why;
    n_ready++;
}

START_TEST(closing_while_it_connects_ends_at_once)
{
    struct peer *p = ws_new(_i == 0 ? "no-answer" : _i == 1 ? "drip" : "normal");
    double since = now_ms();

    ck_assert_int_eq(
        mcplug_open(p->host, p->settings, &p->o, count_ready, p, &p->server, &p->err), 0);
    peer_run(p, _i == 2 ? 0 : 50);
    mcplug_close_wait(p->server);
    p->server = NULL;
    ck_assert_uint_le(n_ready, 1);
    ck_assert_double_lt(now_ms() - since, 50 + bound_ms());
    peer_end(p);
}
END_TEST

START_TEST(closing_says_goodbye_with_a_close_frame)
{
    struct peer *p = ws_up("normal");

    mcplug_close_wait(p->server);
    p->server = NULL;
    p->ready = 0;
    peer_open(p);
    struct shot *s = shoot(p, "counts", 1, bound_ms());
    ck_assert_msg(strstr(text_of(s), "closed 1000") != NULL, "%s", text_of(s));
    peer_end(p);
}
END_TEST

START_TEST(a_peer_that_does_not_answer_our_close_frame_is_left_after_a_second)
{
    struct peer *p = ws_up("close-never");
    double since = now_ms();

    check_good(p);
    peer_end(p);
    ck_assert_double_lt(now_ms() - since, 1000 + bound_ms());
}
END_TEST

/* ---- connections that break ---- */

static void shoot_counts(struct peer *p)
{
    fire(p, "counts", 1, 0);
    peer_until(p, last_ended, bound_ms());
}

static void on_one(void *arg, mcplug_call *call, mcplug_result *result,
                   const struct mcplug_error *why)
{
    struct shot *s = arg;

    (void)call, (void)result;
    s->ended++;
    s->call = NULL;
    s->code = why ? why->code : 0;
}

static const struct {
    const char *mode;
    int code, status, os_error;
    const char *text;
} breaks[] = {
    {"reset", MCPLUG_ECLOSED, 0, ECONNRESET, "reset"},
    {"reset-inside", MCPLUG_ECLOSED, 0, ECONNRESET, "reset"},
    {"fin", MCPLUG_ECLOSED, 0, 0, "without a close frame"},
    {"fin-inside", MCPLUG_ECLOSED, 0, 0, "without a close frame"},
    {"fin-between-fragments", MCPLUG_ECLOSED, 0, 0, "without a close frame"},
    {"close?1000", MCPLUG_ECLOSED, 1000, 0, "go\\x1b[31m \\xc3\\xa4way\\x0a"},
    {"close?1001", MCPLUG_ECLOSED, 1001, 0, "1001"},
    {"close?1008", MCPLUG_EAUTH, 1008, 0, "1008"},
    {"close?1011", MCPLUG_ECLOSED, 1011, 0, "1011"},
    {"close?4001", MCPLUG_ECLOSED, 4001, 0, "4001"},
    {"close?999", MCPLUG_ECLOSED, 1002, 0, "1002"},
    {"close-bare", MCPLUG_ECLOSED, 1005, 0, "1005"},
    {"close-one", MCPLUG_ECLOSED, 1005, 0, "1005"},
    {"big-control", MCPLUG_EPROTO, 0, 0, "broke the WebSocket protocol"},
    {"cut-control", MCPLUG_EPROTO, 0, 0, "broke the WebSocket protocol"},
    {"reserved-bits", MCPLUG_EPROTO, 0, 0, "broke the WebSocket protocol"},
    {"odd-opcode", MCPLUG_EPROTO, 0, 0, "broke the WebSocket protocol"},
    {"stray-continuation", MCPLUG_EPROTO, 0, 0, "broke the WebSocket protocol"},
    {"text-in-text", MCPLUG_EPROTO, 0, 0, "broke the WebSocket protocol"},
    {"negative-length", MCPLUG_EPROTO, 0, 0, "broke the WebSocket protocol"},
};

START_TEST(a_connection_that_breaks_ends_every_call_once_and_at_once)
{
    struct peer *p = ws_up(breaks[_i].mode);
    struct shot *s = fire(p, "quiet", 20, 0);

    shoot_counts(p); /* now they all have been read */
    fire(p, "bad", 1, 0);
    peer_until(p, was_dropped, bound_ms());
    for (int i = 0; i < 22; i++) {
        if (i == 20)
            continue;
        ck_assert_uint_eq(s[i].ended, 1);
        ck_assert_msg(s[i].code == breaks[_i].code, "%s: %s, \"%s\"", breaks[_i].mode,
                      mcplug_error_name(s[i].code), s[i].text);
    }
    ck_assert_int_eq(p->why.code, breaks[_i].code);
    ck_assert_msg(p->why.peer_status == breaks[_i].status, "%s: status %d",
                  breaks[_i].mode, p->why.peer_status);
    ck_assert_msg(p->why.os_error == breaks[_i].os_error, "%s: os error %d",
                  breaks[_i].mode, p->why.os_error);
    ck_assert_msg(strstr(p->why.text, breaks[_i].text) != NULL, "%s: \"%s\"",
                  breaks[_i].mode, p->why.text);
    check_clean(p->why.text);
    peer_end(p);
}
END_TEST

START_TEST(other_servers_of_the_same_host_go_on)
{
    struct peer *p = ws_up("reset");
    mcplug_settings *settings = mcplug_settings_new(NULL);
    mcplug_server *other = NULL;
    mcplug_result *result = NULL;
    char url[64];

    snprintf(url, sizeof url, "ws://127.0.0.1:%d/normal", port);
    struct mcplug_server_options once = {.struct_size = sizeof once, .once = 1};
    mcplug_settings_set(settings, "url", url);
    ck_assert_int_eq(mcplug_open_wait(p->host, settings, &once, &other, &p->err), 0);
    fire(p, "bad", 1, 0);
    peer_until(p, was_dropped, bound_ms());
    ck_assert_int_eq(mcplug_call_tool_wait(other, "good", NULL, NULL, &result, &p->err),
                     0);
    mcplug_result_unref(result);
    mcplug_close_wait(other);
    mcplug_settings_free(settings);
    peer_end(p);
}
END_TEST

START_TEST(a_server_that_dies_under_many_calls_ends_each_once)
{
    struct peer *p = ws_up("die");
    struct shot *s = fire(p, "quiet", 100, 0);

    shoot_counts(p);
    fire(p, "bad", 1, 0);
    peer_until(p, was_dropped, bound_ms());
    for (int i = 0; i < 100; i++) {
        ck_assert_uint_eq(s[i].ended, 1);
        ck_assert_int_eq(s[i].code, MCPLUG_ECLOSED);
    }
    peer_end(p);
}
END_TEST

/* Here the first answer breaks the connection under the calls that follow it. */
START_TEST(calls_made_while_the_connection_breaks_end_once_or_never_begin)
{
    struct peer *p = ws_up("reset");

    for (int i = 0; i < 200 && !p->dropped; i++) {
        struct shot *s = &p->shots[p->n_shots];
        s->call = mcplug_call_tool(p->server, "bad", NULL, NULL, on_one, s, &p->err);
        if (!s->call)
            break;
        p->n_shots++;
    }
    ck_assert_uint_gt(p->n_shots, 0);
    peer_until(p, was_dropped, bound_ms());
    for (unsigned i = 0; i < p->n_shots; i++)
        ck_assert_int_eq(p->shots[i].code, MCPLUG_ECLOSED);
    peer_end(p);
}
END_TEST

/* ---- too much ---- */

START_TEST(a_frame_without_end_is_bounded_and_ends_its_call)
{
    struct peer *p = ws_up(long_run() ? "huge-length?2048" : "huge-length?300");
    struct shot *s = fire(p, "bad", 1, 2000);

    peer_until(p, all_ended, 60000);
    ck_assert_int_ne(s->code, 0);
    check_memory(p, 64);
    peer_end(p);
}
END_TEST

START_TEST(wrong_utf8_is_the_fault_of_its_message_alone)
{
    struct peer *p = ws_up("bad-utf8");
    struct shot *s = shoot(p, "bad", 5, 10000);

    for (int i = 0; i < 5; i++)
        ck_assert_int_eq(s[i].code, MCPLUG_EPROTO);
    check_good(p);
    peer_end(p);
}
END_TEST

static bool has_dropped_answers(struct peer *p)
{
    return logged(p, MCPLUG_LOG_WARN, "dropped ") > 0;
}

START_TEST(answers_that_the_peer_does_not_read_are_dropped)
{
    struct peer *p = ws_up("ping-forever");

    fire(p, "bad", 1, 0);
    peer_until(p, has_dropped_answers, 20 * bound_ms());
    unsigned n_fds = open_fds();
    struct shot *next = fire(p, "good", 1, 500);
    peer_until(p, last_ended, 500 + bound_ms());
    ck_assert_int_eq(next->code, MCPLUG_ETIMEDOUT);
    ck_assert_uint_eq(open_fds(), n_fds);
    ck_assert_uint_le(p->n_bad, 4); /* not one for each */
    check_memory(p, 24);
    peer_end(p);
}
END_TEST

static const char *const floods[] = {"ping-flood", "empty-flood"};

START_TEST(a_flood_of_frames_is_taken_in_bounded_memory)
{
    struct peer *p = ws_up(floods[_i]);
    struct shot *s = shoot(p, "bad", 3, 30000);

    for (int i = 0; i < 3; i++)
        ck_assert_msg(s[i].code == 0, "%s: %s", floods[_i], s[i].text);
    check_good(p);
    check_memory(p, 8);
    peer_end(p);
}
END_TEST

START_TEST(a_peer_that_does_not_read_for_a_while_gets_everything)
{
    enum { LONG = 1 << 20 };
    struct peer *p = ws_up("sleepy");
    char *args = malloc(LONG + 64);
    struct mcplug_call_options o = {.struct_size = sizeof o};

    ck_assert_ptr_nonnull(args);
    strcpy(args, "{\"text\":\"");
    memset(args + 9, 'y', LONG);
    strcpy(args + 9 + LONG, "\"}");
    fire(p, "bad", 1, 0);
    peer_run(p, 20);
    for (int i = 0; i < 8; i++) {
        mcplug_result *result = NULL;
        ck_assert_msg(
            mcplug_call_tool_wait(p->server, "echo", args, &o, &result, &p->err) == 0,
            "%s", p->err.text);
        mcplug_result_unref(result);
    }
    free(args);
    peer_until(p, all_ended, 10000);
    peer_end(p);
}
END_TEST

#define COUNT(rows) (int)(sizeof(rows) / sizeof *(rows))

static Suite *suite(void)
{
    Suite *s = suite_create("faults_ws");
    TCase *c = tcase_create("ws");

    tcase_set_timeout(c, 120);
    tcase_add_loop_test(c, a_peer_that_keeps_to_the_rules_is_understood, 0,
                        COUNT(proper));
    tcase_add_test(c, the_upgrade_has_what_the_user_wants_and_no_extension);
    tcase_add_loop_test(c, headers_that_belong_to_the_protocol_are_refused, 0, 4);
    tcase_add_test(c, long_answers_come_whole);
    tcase_add_test(c, a_long_message_goes_out_in_fragments_and_comes_back);
    tcase_add_test(c, hundreds_of_calls_at_once_are_all_answered);
    tcase_add_test(c, silence_brings_pings);
    tcase_add_test(c, a_peer_that_answers_no_ping_is_given_up);
    tcase_add_loop_test(c, an_upgrade_that_fails_is_told_with_its_reason, 0,
                        COUNT(refusals));
    tcase_add_test(c, nobody_there_is_told_as_refused);
    tcase_add_test(c, a_server_without_tls_is_no_tls_server);
    tcase_add_loop_test(c, closing_while_it_connects_ends_at_once, 0, 3);
    tcase_add_test(c, closing_says_goodbye_with_a_close_frame);
    tcase_add_test(c, a_peer_that_does_not_answer_our_close_frame_is_left_after_a_second);
    tcase_add_loop_test(c, a_connection_that_breaks_ends_every_call_once_and_at_once, 0,
                        COUNT(breaks));
    tcase_add_test(c, other_servers_of_the_same_host_go_on);
    tcase_add_test(c, a_server_that_dies_under_many_calls_ends_each_once);
    tcase_add_test(c, calls_made_while_the_connection_breaks_end_once_or_never_begin);
    tcase_add_test(c, a_frame_without_end_is_bounded_and_ends_its_call);
    tcase_add_test(c, wrong_utf8_is_the_fault_of_its_message_alone);
    tcase_add_loop_test(c, a_flood_of_frames_is_taken_in_bounded_memory, 0,
                        COUNT(floods));
    tcase_add_test(c, a_peer_that_does_not_read_for_a_while_gets_everything);
    suite_add_tcase(s, c);
    c = tcase_create("ws budget");
    tcase_set_timeout(c, 120);
    tcase_add_test(c, answers_that_the_peer_does_not_read_are_dropped);
    suite_add_tcase(s, c);
    return s;
}

int main(void)
{
    return run_faults(suite());
}
