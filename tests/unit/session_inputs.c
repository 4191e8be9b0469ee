#include "fake.h"

#include <errno.h>
#include <stdio.h>

static struct fake f;
static struct outcome o;

static mcplug_input *asked[128];
static char params[128][512];
static size_t n_asked;
static const char *answer_at_once;

static void on_input(void *arg, struct mp_session *s, mcplug_input *in, const char *p,
                     size_t len)
{
    (void)arg, (void)s;
    snprintf(params[n_asked], sizeof params[0], "%.*s", (int)len, p);
    asked[n_asked++] = in;
    if (answer_at_once)
        ck_assert_int_eq(mcplug_input_answer(in, answer_at_once), MCPLUG_OK);
}

static void start(bool modern)
{
    struct mp_session_options so = {
        .elicit = on_input, .sample = on_input, .roots = on_input};
    memset(&o, 0, sizeof o);
    n_asked = 0;
    answer_at_once = NULL;
    fake_init(&f);
    if (modern)
        fake_modern(&f, &so, "{\"tools\":{}}");
    else
        fake_legacy(&f, &so, "{\"tools\":{}}");
}

static void finish(void)
{
    fake_clear(&f);
}

static uint64_t call(const char *tool)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    mcplug_call *c = fake_call(f.server, tool, "{\"k\":1}", NULL, on_outcome, &o, &err);
    ck_assert_msg(c != NULL, "%s", err.text);
    return fake_expect(&f, "tools/call");
}

#define ELICIT                                                                           \
    "{\"method\":\"elicitation/"                                                         \
    "create\",\"params\":{\"mode\":\"form\",\"message\":\"n?\"}}"

/* ---- legacy ---- */

START_TEST(a_legacy_question_is_answered_under_its_own_id)
{
    start(false);
    fake_say(&f,
             "{\"jsonrpc\":\"2.0\",\"id\":\"q-1\",\"method\":\"sampling/createMessage\","
             "\"params\":{\"maxTokens\":1}}");
    ck_assert_uint_eq(n_asked, 1);
    ck_assert_str_eq(params[0], "{\"maxTokens\":1}");
    ck_assert(fake_idle(&f));
    ck_assert_int_eq(mcplug_input_answer(asked[0], "no json"), MCPLUG_EINVAL);
    ck_assert_int_eq(mcplug_input_answer(asked[0], "{\"model\":\"m\"}"), MCPLUG_OK);
    ck_assert_str_eq(fake_next(&f),
                     "{\"jsonrpc\":\"2.0\",\"id\":\"q-1\",\"result\":{\"model\":\"m\"}}");
    finish();
}
END_TEST

START_TEST(a_refused_legacy_question_gets_its_code)
{
    start(false);
    fake_say(&f, "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"roots/list\"}");
    ck_assert_str_eq(params[0], "{}");
    mcplug_input_refuse(asked[0], -1, "User rejected");
    ck_assert_str_eq(fake_next(&f),
                     "{\"jsonrpc\":\"2.0\",\"id\":3,\"error\":{\"code\":-1,"
                     "\"message\":\"User rejected\"}}");
    finish();
}
END_TEST

START_TEST(a_legacy_question_with_duplicate_members_is_refused)
{
    static const char *const params_of[] = {
        "{\"mode\":\"form\",\"message\":\"n?\",\"mode\":\"url\"}",
        "{\"mode\":\"form\",\"mess\\u0061ge\":\"a\",\"message\":\"n?\"}",
        "{\"message\":\"n?\",\"_meta\":{\"a\":1,\"a\":2}}",
    };

    start(false);
    for (size_t i = 0; i < MP_COUNT(params_of); i++) {
        fake_sayf(&f,
                  "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"elicitation/create\","
                  "\"params\":%s}",
                  params_of[i]);
        ck_assert_uint_eq(n_asked, 0);
        const char *answer = fake_next(&f);
        ck_assert_ptr_nonnull(strstr(answer, "\"id\":3,\"error\":{\"code\":-32600"));
        ck_assert_ptr_nonnull(strstr(answer, "duplicate member"));
    }
    finish();
}
END_TEST

START_TEST(a_notification_with_duplicate_members_is_ignored)
{
    start(false);
    fake_say(&f, "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"roots/list\"}");
    fake_say(&f,
             "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{"
             "\"requestId\":3,\"requestId\":4}}");
    ck_assert_ptr_nonnull(strstr(f.logged, "duplicate member \"requestId\""));
    mcplug_input_answer(asked[0], "{\"roots\":[]}");
    ck_assert_ptr_nonnull(strstr(fake_next(&f), "\"id\":3,\"result\""));
    finish();
}
END_TEST

START_TEST(a_mode_without_a_handler_is_refused)
{
    start(false);
    fake_say(&f,
             "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"elicitation/create\",\"params\":"
             "{\"mode\":\"url\",\"url\":\"https://x/\"}}");
    ck_assert_uint_eq(n_asked, 0);
    ck_assert_ptr_nonnull(strstr(fake_next(&f), "-32601"));
    finish();
}
END_TEST

START_TEST(a_question_that_the_server_cancelled_is_not_answered)
{
    start(false);
    fake_say(&f, "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"roots/list\"}");
    fake_say(&f,
             "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{"
             "\"requestId\":3}}");
    mcplug_input_answer(asked[0], "{\"roots\":[]}");
    ck_assert(fake_idle(&f));
    finish();
}
END_TEST

START_TEST(an_answer_after_the_server_is_gone_does_no_harm)
{
    start(false);
    fake_say(&f, "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"roots/list\"}");
    fake_hang_up(&f, EPIPE, "x");
    fake_clear(&f);
    ck_assert_ptr_null(mcplug_input_server(asked[0]));
    ck_assert_int_eq(mcplug_input_answer(asked[0], "{\"roots\":[]}"), MCPLUG_OK);
}
END_TEST

static struct mp_request *call_of_program(uint64_t *id)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    mcplug_call *c = fake_call(f.server, "t", NULL, NULL, on_outcome, &o, &err);
    ck_assert_msg(c != NULL, "%s", err.text);
    *id = fake_expect(&f, "tools/call");
    struct mp_request *request = MP_OF(c, struct mp_request, base);
    request->number = *id; /* not one of our own */
    return request;
}

START_TEST(a_question_on_the_answer_to_a_call_belongs_to_it)
{
    struct mp_session_options so = {.roots = on_input};
    uint64_t first, second;
    char line[256];

    memset(&o, 0, sizeof o);
    n_asked = 0;
    answer_at_once = NULL;
    fake_init(&f);
    f.ops.caps = MCPLUG_CAN_EXCHANGE;
    fake_legacy(&f, &so, "{\"tools\":{}}");
    struct mp_request *a = call_of_program(&first), *b = call_of_program(&second);
    fake_say_on(&f, second, "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"roots/list\"}");
    fake_say_on(&f, first, "{\"jsonrpc\":\"2.0\",\"id\":4,\"method\":\"roots/list\"}");
    fake_say_on(&f, 0, "{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"roots/list\"}");
    ck_assert_uint_eq(n_asked, 3);
    ck_assert_ptr_eq(mp_input_request(asked[0]), b);
    ck_assert_ptr_eq(mp_input_request(asked[1]), a);
    ck_assert_ptr_null(mp_input_request(asked[2]));
    ck_assert_ptr_eq(mcplug_input_call(asked[1]), &a->base);
    a->number = 0;
    ck_assert_ptr_null(mcplug_input_call(asked[1])); /* not the program's */
    snprintf(line, sizeof line, "{\"jsonrpc\":\"2.0\",\"id\":%llu,\"result\":{}}",
             ll(second));
    fake_say_on(&f, second, line);
    ck_assert_uint_eq(o.times, 1);
    ck_assert_ptr_null(mcplug_input_call(asked[0])); /* it has ended */
    for (size_t i = 0; i < n_asked; i++)
        mcplug_input_answer(asked[i], "{\"roots\":[]}");
    finish();
}
END_TEST

START_TEST(a_question_in_the_result_of_a_call_belongs_to_it)
{
    uint64_t id;

    start(true);
    struct mp_request *a = call_of_program(&id);
    fake_sayf(&f,
              "{\"jsonrpc\":\"2.0\",\"id\":%llu,\"result\":{\"resultType\":"
              "\"input_required\",\"inputRequests\":{\"k\":" ELICIT "}}}",
              ll(id));
    ck_assert_uint_eq(n_asked, 1);
    ck_assert_ptr_eq(mcplug_input_call(asked[0]), &a->base);
    mcplug_cancel(&a->base);
    fake_turn(&f);
    ck_assert_uint_eq(o.times, 1);
    ck_assert_ptr_null(mcplug_input_call(asked[0]));
    mcplug_input_answer(asked[0], "{\"action\":\"decline\"}");
    finish();
}
END_TEST

START_TEST(open_questions_are_bounded)
{
    start(false);
    for (int i = 0; i < MP_INPUTS_MAX + 5; i++)
        fake_sayf(&f, "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"roots/list\"}", i);
    ck_assert_uint_eq(n_asked, MP_INPUTS_MAX);
    for (int i = 0; i < 5; i++)
        ck_assert_ptr_nonnull(strstr(fake_next(&f), "too many open requests"));
    for (size_t i = 0; i < n_asked; i++)
        mcplug_input_answer(asked[i], "{}");
    finish();
}
END_TEST

START_TEST(an_id_that_is_too_long_is_refused)
{
    start(false);
    fake_sayf(&f, "{\"jsonrpc\":\"2.0\",\"id\":\"%02000d\",\"method\":\"roots/list\"}",
              0);
    ck_assert_uint_eq(n_asked, 0);
    ck_assert_ptr_nonnull(strstr(fake_next(&f), "the id is too long"));
    finish();
}
END_TEST

/* ---- modern ---- */

static void say_questions(uint64_t id, const char *questions, const char *state)
{
    fake_sayf(&f,
              "{\"jsonrpc\":\"2.0\",\"id\":%llu,\"result\":{\"resultType\":"
              "\"input_required\"%s%s%s%s}}",
              ll(id), questions ? ",\"inputRequests\":" : "", questions ? questions : "",
              state ? ",\"requestState\":" : "", state ? state : "");
}

START_TEST(questions_of_a_result_are_answered_by_a_new_request_with_the_state_as_it_was)
{
    start(true);
    uint64_t first = call("ask");
    say_questions(first, "{\"a\":" ELICIT ",\"b\":{\"method\":\"roots/list\"}}",
                  "\"s\\u0041\\n\"");
    ck_assert_uint_eq(n_asked, 2);
    mcplug_input_answer(asked[1], "{\"roots\":[]}");
    fake_turn(&f);
    ck_assert(fake_idle(&f));
    mcplug_input_answer(asked[0], "{\"action\":\"accept\"}");
    fake_turn(&f);
    const char *frame = fake_next(&f);
    ck_assert_uint_ne(fake_id(frame), first);
    ck_assert_ptr_nonnull(strstr(frame, "\"arguments\":{\"k\":1}"));
    ck_assert_ptr_nonnull(strstr(frame, "\"inputResponses\":{\"b\":{\"roots\":[]},\"a\":{"
                                        "\"action\":\"accept\"}}"));
    ck_assert_ptr_nonnull(strstr(frame, "\"requestState\":\"s\\u0041\\n\""));
    fake_sayf(
        &f, "{\"jsonrpc\":\"2.0\",\"id\":%llu,\"result\":{\"resultType\":\"complete\"}}",
        ll(fake_id(frame)));
    ck_assert_uint_eq(o.times, 1);
    ck_assert_int_eq(o.code, 0);
    finish();
}
END_TEST

START_TEST(handlers_may_answer_at_once)
{
    start(true);
    answer_at_once = "{\"action\":\"accept\"}";
    say_questions(call("ask"), "{\"a\":" ELICIT ",\"b\":" ELICIT "}", NULL);
    const char *frame = fake_next(&f);
    ck_assert_ptr_nonnull(strstr(frame, "\"inputResponses\":{\"a\":"));
    ck_assert_ptr_null(strstr(frame, "requestState"));
    ck_assert(fake_idle(&f));
    finish();
}
END_TEST

START_TEST(a_state_without_questions_is_sent_back_at_once)
{
    start(true);
    say_questions(call("ask"), NULL, "\"s\"");
    const char *frame = fake_next(&f);
    ck_assert_ptr_nonnull(strstr(frame, "\"requestState\":\"s\""));
    ck_assert_ptr_null(strstr(frame, "inputResponses"));
    finish();
}
END_TEST

START_TEST(other_calls_carry_neither_state_nor_answers)
{
    struct outcome other = {0};
    start(true);
    uint64_t id = call("ask");
    say_questions(id, "{\"a\":" ELICIT "}", "\"s\"");
    fake_call(f.server, "other", NULL, NULL, on_outcome, &other, NULL);
    const char *frame = fake_next(&f);
    ck_assert_ptr_null(strstr(frame, "requestState"));
    ck_assert_ptr_null(strstr(frame, "inputResponses"));
    mcplug_input_answer(asked[0], "{}");
    finish();
}
END_TEST

START_TEST(endless_questions_end)
{
    start(true);
    uint64_t id = call("ask");
    for (int i = 0; i < MP_ROUNDS_MAX; i++) {
        say_questions(id, NULL, "\"s\"");
        id = fake_expect(&f, "tools/call");
    }
    say_questions(id, NULL, "\"s\"");
    ck_assert_uint_eq(o.times, 1);
    ck_assert_int_eq(o.code, MCPLUG_EPROTO);
    finish();
}
END_TEST

START_TEST(bad_questions_fail_the_call)
{
    static const char *const bad[] = {
        "{\"a\":{}}",
        "{\"a\":7}",
        "{\"a\":{\"method\":\"tools/call\"}}",
        "{\"a\":" ELICIT ",\"b\":{\"method\":\"x\"}}",
    };
    start(true);
    for (size_t i = 0; i < MP_COUNT(bad); i++) {
        memset(&o, 0, sizeof o);
        say_questions(call("ask"), bad[i], NULL);
        ck_assert_uint_eq(o.times, 1);
        ck_assert_int_eq(o.code, MCPLUG_EPROTO);
    }
    say_questions(call("ask"), NULL, NULL);
    ck_assert_uint_eq(n_asked, 0);
    ck_assert_uint_eq(o.times, 2);
    finish();
}
END_TEST

START_TEST(questions_to_what_cannot_have_any_are_refused)
{
    start(true);
    fake_request(f.server, "completion/complete", "{}", NULL, on_outcome, &o, NULL);
    say_questions(fake_expect(&f, "completion/complete"), NULL, "\"s\"");
    ck_assert_int_eq(o.code, MCPLUG_EPROTO);
    finish();
}
END_TEST

START_TEST(a_refused_question_ends_the_call)
{
    start(true);
    say_questions(call("ask"), "{\"a\":" ELICIT ",\"b\":" ELICIT "}", NULL);
    mcplug_input_refuse(asked[0], -1, "not now");
    ck_assert_uint_eq(o.times, 0);
    fake_turn(&f);
    ck_assert_uint_eq(o.times, 1);
    ck_assert_int_eq(o.code, MCPLUG_ECANCELED);
    ck_assert_ptr_nonnull(strstr(o.text, "not now"));
    mcplug_input_answer(asked[1], "{}"); /* too late, and harmless */
    finish();
}
END_TEST

START_TEST(
    a_call_that_waits_for_answers_can_be_cancelled_times_out_and_ends_with_the_link)
{
    struct mcplug_call_options co = {.struct_size = sizeof co, .timeout_ms = 5000};
    for (int way = 0; way < 3; way++) {
        start(true);
        mcplug_call *c = fake_call(f.server, "ask", NULL, &co, on_outcome, &o, NULL);
        say_questions(fake_expect(&f, "tools/call"), "{\"a\":" ELICIT "}", NULL);
        if (way == 0)
            mcplug_cancel(c);
        else if (way == 1)
            fake_pass(&f, 5000);
        else
            fake_hang_up(&f, EPIPE, "x");
        fake_turn(&f);
        ck_assert_uint_eq(o.times, 1);
        ck_assert_int_eq(o.code, way == 0   ? MCPLUG_ECANCELED
                                 : way == 1 ? MCPLUG_ETIMEDOUT
                                            : MCPLUG_ECLOSED);
        mcplug_input_answer(asked[0], "{}");
        finish();
    }
}
END_TEST

START_TEST(an_answer_and_a_cancel_in_one_turn_end_the_call_once)
{
    for (int way = 0; way < 2; way++) {
        start(true);
        mcplug_call *c = fake_call(f.server, "ask", NULL, NULL, on_outcome, &o, NULL);
        say_questions(fake_expect(&f, "tools/call"), "{\"a\":" ELICIT "}", NULL);
        if (way)
            mcplug_cancel(c);
        mcplug_input_answer(asked[0], "{}");
        if (!way)
            mcplug_cancel(c);
        fake_turn(&f);
        ck_assert_uint_eq(o.times, 1);
        ck_assert_int_eq(o.code, MCPLUG_ECANCELED);
        finish();
    }
}
END_TEST

START_TEST(an_unknown_result_type_is_invalid)
{
    start(true);
    fake_sayf(&f, "{\"jsonrpc\":\"2.0\",\"id\":%llu,\"result\":{\"resultType\":\"odd\"}}",
              ll(call("t")));
    ck_assert_int_eq(o.code, MCPLUG_EPROTO);
    ck_assert_ptr_nonnull(strstr(o.text, "odd"));
    finish();
}
END_TEST

/* ---- tasks ---- */

static void say_task(uint64_t id, const char *type, const char *status, const char *more)
{
    fake_sayf(&f,
              "{\"jsonrpc\":\"2.0\",\"id\":%llu,\"result\":{\"resultType\":\"%s\","
              "\"taskId\":\"t-1\",\"status\":\"%s\",\"ttlMs\":null,"
              "\"pollIntervalMs\":200%s}}",
              ll(id), type, status, more);
}

START_TEST(a_task_is_polled_until_its_result_is_there)
{
    start(true);
    say_task(call("t"), "task", "working", "");
    ck_assert(fake_idle(&f));
    fake_pass(&f, 199);
    ck_assert(fake_idle(&f));
    fake_pass(&f, 1);
    const char *frame = fake_next(&f);
    ck_assert_ptr_nonnull(strstr(frame, "\"method\":\"tasks/get\""));
    ck_assert_ptr_nonnull(strstr(frame, "\"taskId\":\"t-1\""));
    say_task(fake_id(frame), "complete", "working", "");
    fake_pass(&f, 200);
    say_task(fake_expect(&f, "tasks/get"), "complete", "completed",
             ",\"result\":{\"isError\":true,\"content\":[]}");
    ck_assert_uint_eq(o.times, 1);
    ck_assert_int_eq(o.code, 0);
    ck_assert_str_eq(o.json, "{\"isError\":true,\"content\":[]}");
    ck_assert(o.is_error);
    finish();
}
END_TEST

START_TEST(the_result_of_a_task_has_each_member_once)
{
    start(true);
    say_task(call("t"), "task", "working", "");
    fake_pass(&f, 200);
    say_task(fake_expect(&f, "tasks/get"), "complete", "completed",
             ",\"result\":{\"isError\":false,\"isError\":true,\"content\":[]}");
    ck_assert_uint_eq(o.times, 1);
    ck_assert_int_eq(o.code, MCPLUG_EPROTO);
    finish();
}
END_TEST

START_TEST(a_task_may_ask)
{
    start(true);
    say_task(call("t"), "task", "input_required",
             ",\"inputRequests\":{\"a\":" ELICIT "}");
    mcplug_input_answer(asked[0], "{\"action\":\"decline\"}");
    fake_turn(&f);
    const char *frame = fake_next(&f);
    ck_assert_ptr_nonnull(strstr(frame, "\"method\":\"tasks/update\""));
    ck_assert_ptr_nonnull(
        strstr(frame, "\"inputResponses\":{\"a\":{\"action\":\"decline\"}}"));
    fake_sayf(
        &f, "{\"jsonrpc\":\"2.0\",\"id\":%llu,\"result\":{\"resultType\":\"complete\"}}",
        ll(fake_id(frame)));
    fake_pass(&f, 1000);
    say_task(fake_expect(&f, "tasks/get"), "complete", "failed",
             ",\"error\":{\"code\":-5,\"message\":\"bad\"}");
    ck_assert_int_eq(o.code, MCPLUG_EPEER);
    ck_assert_int_eq(o.peer_status, -5);
    ck_assert_str_eq(o.text, "bad");
    finish();
}
END_TEST

START_TEST(cancelling_a_call_cancels_its_task)
{
    for (int polling = 0; polling < 2; polling++) {
        start(true);
        mcplug_call *c = fake_call(f.server, "t", NULL, NULL, on_outcome, &o, NULL);
        say_task(fake_expect(&f, "tools/call"), "task", "working", "");
        if (polling) {
            fake_pass(&f, 200);
            fake_expect(&f, "tasks/get");
        }
        mcplug_cancel(c);
        fake_turn(&f);
        ck_assert_uint_eq(o.times, 1);
        ck_assert_int_eq(o.code, MCPLUG_ECANCELED);
        ck_assert_ptr_nonnull(strstr(fake_next(&f), "\"method\":\"tasks/cancel\""));
        fake_pass(&f, 1000);
        finish();
    }
}
END_TEST

static void add(TCase *tc)
{
    tcase_add_test(tc, a_question_on_the_answer_to_a_call_belongs_to_it);
    tcase_add_test(tc, a_question_in_the_result_of_a_call_belongs_to_it);
    tcase_add_test(tc, a_legacy_question_is_answered_under_its_own_id);
    tcase_add_test(tc, a_refused_legacy_question_gets_its_code);
    tcase_add_test(tc, a_mode_without_a_handler_is_refused);
    tcase_add_test(tc, a_legacy_question_with_duplicate_members_is_refused);
    tcase_add_test(tc, a_notification_with_duplicate_members_is_ignored);
    tcase_add_test(tc, a_question_that_the_server_cancelled_is_not_answered);
    tcase_add_test(tc, an_answer_after_the_server_is_gone_does_no_harm);
    tcase_add_test(tc, open_questions_are_bounded);
    tcase_add_test(tc, an_id_that_is_too_long_is_refused);
    tcase_add_test(
        tc, questions_of_a_result_are_answered_by_a_new_request_with_the_state_as_it_was);
    tcase_add_test(tc, handlers_may_answer_at_once);
    tcase_add_test(tc, a_state_without_questions_is_sent_back_at_once);
    tcase_add_test(tc, other_calls_carry_neither_state_nor_answers);
    tcase_add_test(tc, endless_questions_end);
    tcase_add_test(tc, bad_questions_fail_the_call);
    tcase_add_test(tc, questions_to_what_cannot_have_any_are_refused);
    tcase_add_test(tc, a_refused_question_ends_the_call);
    tcase_add_test(
        tc,
        a_call_that_waits_for_answers_can_be_cancelled_times_out_and_ends_with_the_link);
    tcase_add_test(tc, an_answer_and_a_cancel_in_one_turn_end_the_call_once);
    tcase_add_test(tc, an_unknown_result_type_is_invalid);
    tcase_add_test(tc, a_task_is_polled_until_its_result_is_there);
    tcase_add_test(tc, the_result_of_a_task_has_each_member_once);
    tcase_add_test(tc, a_task_may_ask);
    tcase_add_test(tc, cancelling_a_call_cancels_its_task);
}

int main(void)
{
    return run_suite("session_inputs", add);
}
