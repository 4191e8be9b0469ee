/* Too much of everything: the peer talks without end, or does not listen. Memory stays
 * bounded, and the session goes on. */
#include "faults.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

START_TEST(a_line_of_endless_text_is_skipped_whole)
{
    struct peer *p = peer_up(long_run() ? "endless-noise 1024" : "endless-noise 200");
    struct shot *s = shoot(p, "bad", 1, 60000);
    ck_assert_int_eq(s->code, 0);
    ck_assert_str_eq(text_of(s), "fine");
    ck_assert_uint_eq(books(p).noise, 1);
    ck_assert_uint_eq(
        logged(p, MCPLUG_LOG_WARN, "ignored a line that is not JSON-RPC: xxx"), 1);
    check_good(p);
    check_memory(p, 4);
    peer_end(p);
}
END_TEST

static int widest_pipe(void)
{
    int most = 0;

    for (int fd = 3; fd < 256; fd++) {
        int size = fcntl(fd, F_GETPIPE_SZ);
        most = size > most ? size : most;
    }
    return most;
}

START_TEST(only_a_long_line_gets_a_wider_pipe)
{
    struct peer *p = peer_up("endless-noise 4");
    int before = widest_pipe();

    check_good(p);
    ck_assert_int_gt(before, 0);
    ck_assert_int_eq(widest_pipe(), before);
    struct shot *s = shoot(p, "bad", 1, 60000);
    ck_assert_int_eq(s->code, 0);
    ck_assert_int_gt(widest_pipe(), before);
    peer_end(p);
}
END_TEST

START_TEST(a_flood_of_stderr_is_read_away_while_calls_are_answered)
{
    struct peer *p = peer_up(long_run() ? "flood-stderr 1024" : "flood-stderr 64");
    struct shot *s = shoot(p, "bad", 1, 60000);
    ck_assert_int_eq(s->code, 0);
    ck_assert_uint_gt(p->remarks, 500000);
    check_good(p);
    check_memory(p, 4);
    peer_end(p);
}
END_TEST

START_TEST(a_burst_of_notifications_is_taken_in_bounded_memory)
{
    struct peer *p = peer_up("notifications 100000");
    struct shot *s = shoot(p, "bad", 1, 30000);
    ck_assert_int_eq(s->code, 0);
    ck_assert_uint_eq(p->changes, 50000);
    check_good(p);
    check_memory(p, 8);
    peer_end(p);
}
END_TEST

static void on_progress(void *arg, mcplug_call *call, double progress, double total,
                        const char *message)
{
    (void)call, (void)progress, (void)total, (void)message;
    ++*(unsigned *)arg;
}

static void on_done(void *arg, mcplug_call *call, mcplug_result *result,
                    const struct mcplug_error *why)
{
    (void)call, (void)result;
    *(int *)arg = why ? why->code : 1;
}

static int done_code;

static bool is_done(struct peer *p)
{
    (void)p;
    return done_code != 0;
}

START_TEST(progress_of_unknown_calls_reaches_nobody)
{
    struct peer *p = peer_up("unknown-progress 10000");
    unsigned heard = 0;
    struct mcplug_call_options o = {
        .struct_size = sizeof o, .progress = on_progress, .progress_arg = &heard};

    done_code = 0;
    ck_assert_ptr_nonnull(
        mcplug_call_tool(p->server, "bad", NULL, &o, on_done, &done_code, &p->err));
    peer_until(p, is_done, bound_ms());
    ck_assert_int_eq(done_code, 1);
    ck_assert_uint_eq(heard, 0);
    check_good(p);
    check_memory(p, 8);
    peer_end(p);
}
END_TEST

/* ---- requests of the peer ---- */

START_TEST(requests_of_unknown_methods_are_refused_as_such)
{
    struct peer *p = peer_up("--legacy ask-unknown 1000");
    struct shot *s = shoot(p, "bad", 1, bound_ms());
    ck_assert_str_eq(text_of(s), "unknown 1000 refused 0 results 0");
    check_good(p);
    check_memory(p, 8);
    peer_end(p);
}
END_TEST

START_TEST(what_was_not_offered_is_an_unknown_method)
{
    struct peer *p = peer_new("--legacy ask-sampling 3");
    p->o.sample = NULL;
    ck_assert_int_eq(peer_open(p), 0);
    struct shot *s = shoot(p, "bad", 1, bound_ms());
    ck_assert_str_eq(text_of(s), "unknown 3 refused 0 results 0");
    ck_assert_uint_eq(p->questions, 0);
    peer_end(p);
}
END_TEST

static bool has_64_questions(struct peer *p)
{
    return p->questions >= 64;
}

START_TEST(of_200_questions_at_once_64_are_put_and_the_rest_refused)
{
    struct peer *p = peer_new("--legacy ask-sampling 200");
    p->keep_questions = true;
    ck_assert_int_eq(peer_open(p), 0);
    struct shot *s = fire(p, "bad", 1, 0);
    peer_until(p, has_64_questions, bound_ms());
    peer_run(p, 50);
    ck_assert_uint_eq(p->questions, 64);
    for (unsigned i = 0; i < 64; i++) {
        ck_assert_int_eq(mcplug_input_answer(p->kept[i], "[]"), MCPLUG_EINVAL);
        ck_assert_int_eq(mcplug_input_answer(p->kept[i], "{\"role\":\"x\"}"), 0);
    }
    peer_until(p, all_ended, bound_ms());
    ck_assert_str_eq(text_of(s), "unknown 0 refused 136 results 64");
    check_good(p);
    peer_end(p);
}
END_TEST

START_TEST(questions_that_are_open_when_the_server_is_closed_may_be_answered_later)
{
    struct peer *p = peer_new("--legacy ask-sampling 20");
    p->keep_questions = true;
    ck_assert_int_eq(peer_open(p), 0);
    fire(p, "bad", 1, 0);
    while (p->questions < 20)
        peer_run(p, 1);
    mcplug_close_wait(p->server);
    p->server = NULL;
    p->ready = 0;
    for (unsigned i = 0; i < 20; i++)
        if (i % 2)
            mcplug_input_refuse(p->kept[i], -1, "too late");
        else
            ck_assert_int_eq(mcplug_input_answer(p->kept[i], "{}"), 0);
    ck_assert_int_eq(p->shots[0].code, MCPLUG_ECANCELED);
    peer_end(p);
}
END_TEST

START_TEST(ten_thousand_pings_are_answered)
{
    struct peer *p = peer_up("--legacy ask-ping 10000");
    struct shot *s = shoot(p, "bad", 1, 10000);
    ck_assert_str_eq(text_of(s), "unknown 0 refused 0 results 10000");
    check_memory(p, 24);
    peer_end(p);
}
END_TEST

static bool has_dropped_answers(struct peer *p)
{
    return logged(p, MCPLUG_LOG_WARN, "dropped ") > 0;
}

START_TEST(answers_that_the_peer_does_not_read_are_dropped)
{
    struct peer *p = peer_up("--legacy ping-forever");

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

/* ---- rounds ---- */

START_TEST(a_question_that_nobody_answers_ends_with_the_calls_time)
{
    struct peer *p = peer_new("input-forever");
    p->keep_questions = true;
    ck_assert_int_eq(peer_open(p), 0);
    struct shot *s = fire(p, "bad", 10, 300);
    peer_until(p, all_ended, 300 + bound_ms());
    for (unsigned i = 0; i < 10; i++) {
        ck_assert_int_eq(s[i].code, MCPLUG_ETIMEDOUT);
        ck_assert_str_eq(s[i].text, "MCP tool call 'bad' timed out after 300ms");
        mcplug_input_refuse(p->kept[i], -1, "too late");
    }
    check_good(p);
    peer_end(p);
}
END_TEST

START_TEST(a_task_that_never_ends_ends_with_the_calls_time)
{
    struct peer *p = peer_up("task-forever");
    struct shot *s = fire(p, "bad", 3, 400);
    peer_until(p, all_ended, 400 + bound_ms());
    for (unsigned i = 0; i < 3; i++)
        ck_assert_str_eq(s[i].text, "MCP tool call 'bad' timed out after 400ms");
    check_good(p);
    peer_end(p);
}
END_TEST

/* ---- a peer that does not listen ---- */

static char *payload(size_t len)
{
    char *text = malloc(len + 16);

    ck_assert_ptr_nonnull(text);
    memcpy(text, "{\"x\":\"", 6);
    memset(text + 6, 'p', len);
    strcpy(text + 6 + len, "\"}");
    return text;
}

struct tally {
    unsigned ended, ok;
};

static void tally_done(void *arg, mcplug_call *call, mcplug_result *result,
                       const struct mcplug_error *why)
{
    struct tally *t = arg;
    (void)call, (void)result;
    t->ended++;
    t->ok += !why;
}

/* Calls of `len` bytes until the queue is full; how many went in. */
static unsigned fill(struct peer *p, size_t len, struct tally *t)
{
    char *text = payload(len);
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    unsigned n = 0;

    while (mcplug_call_tool(p->server, "bad", text, NULL, tally_done, t, &err))
        ck_assert_uint_lt(++n, 200000);
    ck_assert_int_eq(err.code, MCPLUG_EOVERLOADED);
    ck_assert_msg(strstr(err.text, "the limit is 16777216 bytes"), "%s", err.text);
    free(text);
    return n;
}

/* The peer reads no more after one call of the tool "bad". */
static void check_full_queue(size_t len, long mb)
{
    struct peer *p = peer_up("stop-reading");
    struct tally t = {0};

    fire(p, "bad", 1, 0);
    while (p->changes == 0)
        peer_run(p, 1);
    unsigned n = fill(p, len, &t);
    ck_assert_uint_ge(n * (len + 600), 14 * 1024 * 1024);
    check_memory(p, mb);
    kill(atoi(mcplug_server_fact(p->server, "pid")), SIGUSR1);
    double since = now_ms();
    while (t.ended < n && now_ms() - since < 20000)
        peer_run(p, 5);
    ck_assert_uint_eq(t.ended, n);
    ck_assert_uint_eq(t.ok, n);
    ck_assert_msg(now_ms() - since < 3 * bound_ms(), "%u calls drained in %.0f ms", n,
                  now_ms() - since);
    check_good(p);
    peer_end(p);
}

START_TEST(a_full_queue_of_large_calls_is_overloaded_until_the_peer_reads_again)
{
    check_full_queue(60000, 48);
}
END_TEST

START_TEST(a_full_queue_of_small_calls_is_overloaded_until_the_peer_reads_again)
{
    check_full_queue(1, 160);
}
END_TEST

START_TEST(calls_in_a_full_queue_are_cancelled_with_their_server)
{
    struct peer *p = peer_up("stop-reading");
    struct tally t = {0};

    fire(p, "bad", 1, 0);
    while (p->changes == 0)
        peer_run(p, 1);
    unsigned n = fill(p, 100000, &t);
    double since = now_ms();
    mcplug_close_wait(p->server);
    p->server = NULL;
    p->ready = 0;
    ck_assert_uint_eq(t.ended, n);
    ck_assert_uint_eq(t.ok, 0);
    ck_assert(now_ms() - since < 400 + bound_ms()); /* closeGrace and termGrace */
    ck_assert_int_eq(p->shots[0].code, MCPLUG_ECANCELED);
    peer_end(p);
}
END_TEST

void add_flood_tests(Suite *suite)
{
    TCase *t = tcase_create("floods");

    tcase_set_timeout(t, 120);
    tcase_add_test(t, a_line_of_endless_text_is_skipped_whole);
    tcase_add_test(t, only_a_long_line_gets_a_wider_pipe);
    tcase_add_test(t, a_flood_of_stderr_is_read_away_while_calls_are_answered);
    tcase_add_test(t, a_burst_of_notifications_is_taken_in_bounded_memory);
    tcase_add_test(t, progress_of_unknown_calls_reaches_nobody);
    tcase_add_test(t, requests_of_unknown_methods_are_refused_as_such);
    tcase_add_test(t, what_was_not_offered_is_an_unknown_method);
    tcase_add_test(t, of_200_questions_at_once_64_are_put_and_the_rest_refused);
    tcase_add_test(
        t, questions_that_are_open_when_the_server_is_closed_may_be_answered_later);
    tcase_add_test(t, ten_thousand_pings_are_answered);
    tcase_add_test(t, answers_that_the_peer_does_not_read_are_dropped);
    tcase_add_test(t, a_question_that_nobody_answers_ends_with_the_calls_time);
    tcase_add_test(t, a_task_that_never_ends_ends_with_the_calls_time);
    tcase_add_test(t,
                   a_full_queue_of_large_calls_is_overloaded_until_the_peer_reads_again);
    tcase_add_test(t,
                   a_full_queue_of_small_calls_is_overloaded_until_the_peer_reads_again);
    tcase_add_test(t, calls_in_a_full_queue_are_cancelled_with_their_server);
    suite_add_tcase(suite, t);
}
