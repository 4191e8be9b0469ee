/* Ends that the embedder brings about at awkward moments: inside callbacks, and when
 * something else is about to happen to the same call. */
#include "faults.h"

#include <unistd.h>

static unsigned closed, done, lists;
static int done_code;

static void on_closed(void *arg)
{
    (void)arg;
    closed++;
}

static bool is_closed(struct peer *p)
{
    (void)p;
    return closed > 0;
}

static void close_now(struct peer *p)
{
    mcplug_server *server = p->server;

    p->server = NULL;
    if (server)
        mcplug_close(server, on_closed, p);
}

/* ---- callbacks that close; their `arg` is the peer ---- */

static void close_in_ready(void *arg, mcplug_server *server,
                           const struct mcplug_error *why)
{
    struct peer *p = arg;
    (void)why;
    p->server = server;
    p->ready++;
    close_now(p);
}

static void close_in_done(void *arg, mcplug_call *call, mcplug_result *result,
                          const struct mcplug_error *why)
{
    (void)call, (void)result;
    done++;
    done_code = why ? why->code : 0;
    close_now(arg);
}

static void just_done(void *arg, mcplug_call *call, mcplug_result *result,
                      const struct mcplug_error *why)
{
    (void)arg, (void)call, (void)result;
    done++;
    done_code = why ? why->code : 0;
}

static void close_in_dropped(void *arg, mcplug_server *server, enum mcplug_state state,
                             const struct mcplug_error *why)
{
    struct peer *p = arg;
    (void)server;
    p->was_ready |= state == MCPLUG_STATE_READY;
    if (p->was_ready && why)
        close_now(p);
}

static void close_in_changed(void *arg, mcplug_server *server, int kind, const char *uri)
{
    (void)server, (void)kind, (void)uri;
    close_now(arg);
}

static void close_in_question(void *arg, mcplug_server *server, mcplug_input *input,
                              const char *params, size_t len)
{
    (void)server, (void)params, (void)len;
    close_now(arg);
    ck_assert_int_eq(mcplug_input_answer(input, "{}"), 0);
}

static void close_before_question(void *arg, mcplug_server *server, mcplug_input *input,
                                  const char *params, size_t len)
{
    (void)server, (void)params, (void)len;
    mcplug_input_refuse(input, -1, "no");
    close_now(arg);
}

static void close_in_remark(void *arg, mcplug_server *server, const char *line,
                            size_t len)
{
    (void)server, (void)line, (void)len;
    close_now(arg);
}

static void close_in_list(void *arg, mcplug_call *call, mcplug_list *list,
                          const struct mcplug_error *why)
{
    (void)call, (void)list, (void)why;
    lists++;
    close_now(arg);
}

static void start_calls(struct peer *p, unsigned n, mcplug_done_fn *fn)
{
    for (unsigned i = 0; i < n; i++)
        ck_assert_ptr_nonnull(
            mcplug_call_tool(p->server, "bad", NULL, NULL, fn, p, &p->err));
}

/* Opens, makes calls, and waits until the close has come to its end. */
static void check_closing(struct peer *p, unsigned calls, mcplug_done_fn *fn)
{
    ck_assert_int_eq(peer_open(p), 0);
    start_calls(p, calls, fn);
    peer_until(p, is_closed, 1000 + bound_ms());
    ck_assert_uint_eq(closed, 1);
    ck_assert_uint_eq(done, calls); /* every one, once */
    p->ready = 0;
    peer_end(p);
}

START_TEST(a_server_may_be_closed_in_the_end_of_a_call)
{
    check_closing(peer_new(_i ? "exit-on-call 1" : "crlf"), 50, close_in_done);
}
END_TEST

START_TEST(a_server_may_be_closed_when_it_was_dropped)
{
    struct peer *p = peer_new("exit-on-call 1");
    p->o.state = close_in_dropped;
    check_closing(p, 50, just_done);
}
END_TEST

START_TEST(a_server_may_be_closed_in_a_notification)
{
    struct peer *p = peer_new("notifications 1000");
    p->o.changed = close_in_changed;
    check_closing(p, 3, just_done);
}
END_TEST

START_TEST(a_server_may_be_closed_in_a_remark)
{
    struct peer *p = peer_new("flood-stderr 1");
    p->o.remark = close_in_remark;
    check_closing(p, 3, just_done);
}
END_TEST

START_TEST(a_server_may_be_closed_in_a_question)
{
    static const char *const modes[] = {"input-forever", "--legacy ask-sampling 30"};
    struct peer *p = peer_new(modes[_i % 2]);
    p->o.elicit = p->o.sample = _i / 2 ? close_before_question : close_in_question;
    check_closing(p, 1, just_done);
    ck_assert_int_eq(done_code, MCPLUG_ECANCELED);
}
END_TEST

START_TEST(a_server_may_be_closed_in_ready)
{
    static const char *const modes[] = {"plain", "exit-at-once 1"};
    struct peer *p = peer_new(modes[_i]);

    ck_assert_int_eq(
        mcplug_open(p->host, p->settings, &p->o, close_in_ready, p, &p->server, &p->err),
        0);
    peer_until(p, is_closed, bound_ms());
    p->ready = 0;
    peer_end(p);
}
END_TEST

/* In every state that connecting goes through. */
START_TEST(a_server_may_be_closed_while_it_connects)
{
    for (unsigned us = 0; us < 6000; us += 200) {
        struct peer *p = peer_new("plain");
        p->o.lists = MCPLUG_TOOLS;
        closed = 0;
        ck_assert_int_eq(mcplug_open(p->host, p->settings, &p->o, close_in_ready, p,
                                     &p->server, &p->err),
                         0);
        for (double since = now_ms(); (now_ms() - since) * 1000 < us;)
            mcplug_turn(p->host, 0);
        close_now(p);
        peer_until(p, is_closed, 400 + bound_ms());
        ck_assert_uint_eq(closed, 1);
        p->ready = 0;
        peer_end(p);
    }
}
END_TEST

START_TEST(a_server_may_be_closed_in_the_end_of_a_list)
{
    struct peer *p = peer_new(_i ? "exit-on-list" : "plain");

    ck_assert_int_eq(peer_open(p), 0);
    for (unsigned i = 0; i < 5; i++)
        ck_assert_ptr_nonnull(
            mcplug_get_list(p->server, MCPLUG_TOOLS, NULL, close_in_list, p, &p->err));
    peer_until(p, is_closed, bound_ms());
    ck_assert_uint_eq(lists, 5);
    p->ready = 0;
    peer_end(p);
}
END_TEST

/* ---- two things at once ---- */

static bool has_a_question(struct peer *p)
{
    return p->questions > 0;
}

/* Answer and cancel, cancel and answer, refusal and cancel, cancel and refusal. */
START_TEST(an_answer_and_a_cancel_in_one_turn_end_the_call_once)
{
    struct peer *p = peer_new("input-forever");
    p->keep_questions = true;
    ck_assert_int_eq(peer_open(p), 0);
    struct shot *s = fire(p, "bad", 1, 0);
    peer_until(p, has_a_question, bound_ms());
    if (_i % 2)
        mcplug_cancel(s->call);
    if (_i < 2)
        ck_assert_int_eq(mcplug_input_answer(p->kept[0], "{\"action\":\"accept\"}"), 0);
    else
        mcplug_input_refuse(p->kept[0], -1, "no");
    if (_i % 2 == 0)
        mcplug_cancel(s->call);
    peer_until(p, all_ended, bound_ms());
    ck_assert_int_eq(s->code, MCPLUG_ECANCELED);
    peer_run(p, 100); /* for the answer to a round that should not have gone out */
    for (unsigned i = 1; i < p->questions; i++)
        mcplug_input_refuse(p->kept[i], -1, "too late");
    check_good(p);
    peer_end(p);
}
END_TEST

START_TEST(an_answer_and_a_close_in_one_turn_cancel_the_call)
{
    struct peer *p = peer_new("input-forever");
    p->keep_questions = true;
    ck_assert_int_eq(peer_open(p), 0);
    struct shot *s = fire(p, "bad", 1, 0);
    peer_until(p, has_a_question, bound_ms());
    ck_assert_int_eq(mcplug_input_answer(p->kept[0], "{\"action\":\"accept\"}"), 0);
    close_now(p);
    peer_until(p, is_closed, bound_ms());
    ck_assert_int_eq(s->code, MCPLUG_ECANCELED);
    p->ready = 0;
    peer_end(p);
}
END_TEST

static void stop_in_done(void *arg, mcplug_call *call, mcplug_result *result,
                         const struct mcplug_error *why)
{
    just_done(arg, call, result, why);
    mcplug_stop(((struct peer *)arg)->host);
}

/* The call waits for the next look at its task; that is due already when the call is
 * cancelled. */
START_TEST(a_cancel_when_a_task_is_due_to_be_looked_at_ends_the_call_once)
{
    struct peer *p = peer_up("task-forever");
    mcplug_call *call =
        mcplug_call_tool(p->server, "bad", NULL, NULL, stop_in_done, p, &p->err);

    ck_assert_ptr_nonnull(call);
    peer_run(p, 20); /* the task is known, the first look is 50 ms away */
    usleep(100000);
    mcplug_cancel(call);
    mcplug_run(p->host);
    ck_assert_uint_eq(done, 1);
    ck_assert_int_eq(done_code, MCPLUG_ECANCELED);
    peer_run(p, 150);
    check_good(p);
    peer_end(p);
}
END_TEST

START_TEST(lists_that_never_come_let_connecting_run_out_of_time)
{
    struct peer *p = peer_new("mute-list");
    p->o.lists = MCPLUG_TOOLS;
    p->o.timeout_ms = 300;
    ck_assert_int_eq(peer_open(p), MCPLUG_ETIMEDOUT);
    ck_assert_str_eq(p->why.text,
                     "Connection to MCP server \"peer\" timed out after 300ms");
    peer_run(p, 100);
    peer_end(p);
}
END_TEST

void add_closing_tests(Suite *suite)
{
    TCase *t = tcase_create("closing");

    tcase_set_timeout(t, 60);
    tcase_add_loop_test(t, a_server_may_be_closed_in_the_end_of_a_call, 0, 2);
    tcase_add_test(t, a_server_may_be_closed_when_it_was_dropped);
    tcase_add_test(t, a_server_may_be_closed_in_a_notification);
    tcase_add_test(t, a_server_may_be_closed_in_a_remark);
    tcase_add_loop_test(t, a_server_may_be_closed_in_a_question, 0, 4);
    tcase_add_loop_test(t, a_server_may_be_closed_in_ready, 0, 2);
    tcase_add_test(t, a_server_may_be_closed_while_it_connects);
    tcase_add_loop_test(t, a_server_may_be_closed_in_the_end_of_a_list, 0, 2);
    tcase_add_loop_test(t, an_answer_and_a_cancel_in_one_turn_end_the_call_once, 0, 4);
    tcase_add_test(t, an_answer_and_a_close_in_one_turn_cancel_the_call);
    tcase_add_test(t, a_cancel_when_a_task_is_due_to_be_looked_at_ends_the_call_once);
    tcase_add_test(t, lists_that_never_come_let_connecting_run_out_of_time);
    suite_add_tcase(suite, t);
}
