/* Odd input, from either side: what callers write, servers ask and modules return. */
#include "fake.h"

#include <errno.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

static struct fake f;
static struct outcome o;
static mcplug_input *asked[128];
static size_t n_asked;

#define ELICIT "{\"method\":\"elicitation/create\",\"params\":{\"mode\":\"form\"}}"

static void on_input(void *arg, struct mp_session *s, mcplug_input *in, const char *p,
                     size_t len)
{
    (void)arg, (void)s, (void)p, (void)len;
    asked[n_asked++] = in;
}

static void start(bool modern)
{
    struct mp_session_options so = {.elicit = on_input, .roots = on_input};
    static const char caps[] = "{\"tools\":{},\"prompts\":{},\"logging\":{}}";
    memset(&o, 0, sizeof o);
    n_asked = 0;
    fake_init(&f);
    if (modern)
        fake_modern(&f, &so, caps);
    else
        fake_legacy(&f, &so, caps);
}

static void call(const char *args, const struct mcplug_call_options *co)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    mcplug_call *c = fake_call(f.server, "t", args, co, on_outcome, &o, &err);
    ck_assert_msg(c != NULL, "%s", err.text);
}

static void say_questions(uint64_t id, const char *questions)
{
    fake_sayf(&f,
              "{\"jsonrpc\":\"2.0\",\"id\":%llu,\"result\":{\"resultType\":"
              "\"input_required\",\"inputRequests\":%s}}",
              ll(id), questions);
}

/* ---- what callers write ---- */

START_TEST(a_request_that_has_ended_may_outlive_its_session)
{
    struct mp_ask ask = {.method = "tools/call",
                         .tool = "t",
                         .tool_len = 1,
                         .params = mp_text("{}"),
                         .done = on_outcome,
                         .arg = &o};
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    struct mp_request request;
    char room[1024];

    start(true);
    ask.now = mp_loop_now(f.loop);
    ask.timeout_ms = 1000;
    ck_assert_uint_le(mp_request_room(&ask), sizeof room);
    ck_assert_int_eq(mp_request_init(&request, room, &ask, &err), MCPLUG_OK);
    ck_assert_int_eq(mp_request_begin(&request, f.server, &err), MCPLUG_OK);
    ck_assert_ptr_eq(request.session, f.server);
    o.times = 0;
    fake_hang_up(&f, ECONNRESET, "gone");
    ck_assert_uint_eq(o.times, 1);
    ck_assert_ptr_null(request.session); /* else it would be looked into below */
    fake_clear(&f);
    mp_request_clear(&request);
}
END_TEST

START_TEST(pretty_printed_arguments_leave_as_one_line)
{
    struct mcplug_call_options co = {.struct_size = sizeof co,
                                     .meta = "\n{\r\n  \"traceparent\": \"z\"\n}\n"};
    start(true);
    call("{\n  \"a\": 1,\r\n  \"b\": \"c\\nd\"\n}", &co);
    const char *frame = fake_next(&f);
    ck_assert_ptr_null(strpbrk(frame, "\n\r"));
    ck_assert_ptr_nonnull(strstr(frame, "\"a\": 1"));
    ck_assert_ptr_nonnull(strstr(frame, "\"c\\nd\"")); /* an escape stays what it is */
    ck_assert_ptr_nonnull(strstr(frame, "\"traceparent\":\"z\""));
    fake_request(f.server, "x/y", "{\"k\":[\n1\n],\"_meta\":{\n\"m\":[\n2\n]\n}}", NULL,
                 on_outcome, &o, NULL);
    frame = fake_next(&f);
    ck_assert_ptr_null(strpbrk(frame, "\n\r"));
    ck_assert_ptr_nonnull(strstr(frame, "\"k\":[ 1 ]"));
    ck_assert_ptr_nonnull(strstr(frame, "\"m\":[ 2 ]"));
    fake_clear(&f);
}
END_TEST

START_TEST(pretty_printed_answers_leave_as_one_line)
{
    start(false);
    fake_say(&f, "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"roots/list\"}");
    ck_assert_int_eq(mcplug_input_answer(asked[0], "\n{\"roots\":\n[]}\n"), MCPLUG_OK);
    ck_assert_str_eq(fake_next(&f),
                     "{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{\"roots\": []}}");
    fake_clear(&f);
    start(true);
    call(NULL, NULL);
    say_questions(fake_expect(&f, "tools/call"), "{\"a\":" ELICIT "}");
    ck_assert_int_eq(mcplug_input_answer(asked[0], " {\n\"action\":\"decline\"}"), 0);
    fake_turn(&f);
    const char *frame = fake_next(&f);
    ck_assert_ptr_null(strchr(frame, '\n'));
    ck_assert_ptr_nonnull(
        strstr(frame, "\"inputResponses\":{\"a\":{ \"action\":\"decline\"}}"));
    fake_clear(&f);
}
END_TEST

START_TEST(white_space_before_an_object_is_no_reason_to_lose_it)
{
    start(true);
    fake_request(f.server, "prompts/get", " \t\n{\"name\":\"x\"} ", NULL, on_outcome, &o,
                 NULL);
    ck_assert_ptr_nonnull(strstr(fake_next(&f), "\"name\":\"x\""));
    call("  {\"k\":1}\n", NULL);
    ck_assert_ptr_nonnull(strstr(fake_next(&f), "\"arguments\":{\"k\":1}"));
    fake_clear(&f);
}
END_TEST

START_TEST(what_has_no_place_in_the_name_of_a_method_is_refused)
{
    static const char *const bad[] = {"a\"b", "a\\b", "a\nb", "\x01"};
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    start(true);
    for (size_t i = 0; i < MP_COUNT(bad); i++) {
        ck_assert_ptr_null(
            fake_request(f.server, bad[i], NULL, NULL, on_outcome, &o, &err));
        ck_assert_int_eq(err.code, MCPLUG_EINVAL);
    }
    ck_assert(fake_idle(&f));
    fake_call(f.server, "a\"b\nc", NULL, NULL, on_outcome, &o, NULL);
    ck_assert_ptr_nonnull(strstr(fake_next(&f), "\"name\":\"a\\\"b\\nc\""));
    fake_clear(&f);
}
END_TEST

START_TEST(of_two_values_in_meta_that_of_the_options_counts)
{
    struct mcplug_call_options co = {.struct_size = sizeof co,
                                     .meta = "{\"traceparent\":\"new\"}"};
    for (int modern = 0; modern < 2; modern++) {
        start(modern);
        fake_request(f.server, "x/y", "{\"_meta\":{\"traceparent\":\"old\",\"kept\":1}}",
                     &co, on_outcome, &o, NULL);
        const char *frame = fake_next(&f);
        ck_assert_ptr_nonnull(strstr(frame, "\"traceparent\":\"new\""));
        ck_assert_ptr_nonnull(strstr(frame, "\"kept\":1"));
        ck_assert_ptr_null(strstr(frame, "old"));
        fake_clear(&f);
    }
}
END_TEST

START_TEST(the_longest_of_all_timeouts_never_comes)
{
    struct mcplug_call_options co = {.struct_size = sizeof co, .timeout_ms = UINT64_MAX};
    struct outcome other = {0};
    start(true);
    mp_events_init(&f.log, f.log.log, &f,
                   MCPLUG_LOG_WARN); /* not a line every 30 s, for so long */
    call(NULL, &co);
    uint64_t id = fake_expect(&f, "tools/call");
    co.timeout_ms = UINT64_MAX - 1;
    fake_call(f.server, "u", NULL, &co, on_outcome, &other, NULL);
    uint64_t other_id = fake_expect(&f, "tools/call");
    fake_pass(&f, 1000ull * 365 * 86400 * 1000); /* a thousand years */
    ck_assert_uint_eq(o.times + other.times, 0);
    fake_sayf(&f, "{\"jsonrpc\":\"2.0\",\"id\":%llu,\"result\":{}}", ll(id));
    fake_sayf(&f, "{\"jsonrpc\":\"2.0\",\"id\":%llu,\"result\":{}}", ll(other_id));
    ck_assert_uint_eq(o.times, 1);
    ck_assert_uint_eq(other.times, 1);
    fake_clear(&f);
}
END_TEST

START_TEST(a_question_may_be_refused_without_a_word)
{
    start(false);
    fake_say(&f, "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"roots/list\"}");
    mcplug_input_refuse(asked[0], -1, NULL);
    ck_assert_str_eq(fake_next(&f),
                     "{\"jsonrpc\":\"2.0\",\"id\":3,\"error\":{\"code\":-1,"
                     "\"message\":\"\"}}");
    fake_clear(&f);
    start(true);
    call(NULL, NULL);
    say_questions(fake_expect(&f, "tools/call"), "{\"a\":" ELICIT "}");
    mcplug_input_refuse(asked[0], -1, NULL);
    fake_turn(&f);
    ck_assert_uint_eq(o.times, 1);
    ck_assert_int_eq(o.code, MCPLUG_ECANCELED);
    fake_clear(&f);
}
END_TEST

/* ---- what servers say ---- */

START_TEST(two_questions_under_one_key_fail_the_call)
{
    start(true);
    call(NULL, NULL);
    say_questions(fake_expect(&f, "tools/call"),
                  "{\"a\":" ELICIT ",\"b\":" ELICIT ",\"a\":" ELICIT "}");
    ck_assert_uint_eq(n_asked, 0);
    ck_assert_uint_eq(o.times, 1);
    ck_assert_int_eq(o.code, MCPLUG_EPROTO);
    ck_assert_ptr_nonnull(strstr(o.text, "twice"));
    ck_assert(fake_idle(&f));
    fake_clear(&f);
}
END_TEST

/* What is asked, and in which mode, must not depend on who reads it. */
START_TEST(a_question_with_duplicate_members_fails_the_call)
{
    static const char *const questions[] = {
        "{\"a\":" ELICIT ",\"\\u0061\":" ELICIT "}",
        "{\"a\":{\"method\":\"elicitation/create\",\"method\":\"roots/"
        "list\",\"params\":{}}}",
        "{\"a\":{\"method\":\"elicitation/create\",\"params\":{\"mode\":\"form\","
        "\"message\":\"n?\",\"m\\u006fde\":\"url\"}}}",
    };

    for (size_t i = 0; i < MP_COUNT(questions); i++) {
        start(true);
        call(NULL, NULL);
        say_questions(fake_expect(&f, "tools/call"), questions[i]);
        ck_assert_uint_eq(n_asked, 0);
        ck_assert_uint_eq(o.times, 1);
        ck_assert_int_eq(o.code, MCPLUG_EPROTO);
        ck_assert(fake_idle(&f));
        fake_clear(&f);
    }
}
END_TEST

START_TEST(a_request_of_a_modern_server_is_not_answered)
{
    start(true);
    fake_say(&f, "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"roots/list\"}");
    fake_say(&f, "{\"jsonrpc\":\"2.0\",\"id\":4,\"method\":\"what/ever\"}");
    ck_assert_uint_eq(n_asked, 0);
    ck_assert(fake_idle(&f));
    ck_assert_ptr_nonnull(strstr(f.logged, "WRN mcp:fake ignored a request"));
    fake_clear(&f);
}
END_TEST

static unsigned n_logged;
static void on_logged(void *arg, struct mp_session *s, const char *params, size_t len)
{
    (void)arg, (void)s;
    ck_assert_ptr_nonnull(params);
    ck_assert_uint_eq(len, strlen(params));
    n_logged++;
}

START_TEST(a_log_message_without_params_is_none)
{
    struct mp_session_options so = {.logged = on_logged};
    fake_init(&f);
    fake_modern(&f, &so, "{}");
    fake_say(&f, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\"}");
    ck_assert_uint_eq(n_logged, 0);
    fake_say(&f,
             "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{}}");
    ck_assert_uint_eq(n_logged, 1);
    fake_clear(&f);
}
END_TEST

#define NO_ID_ERROR                                                                      \
    "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32700,\"message\":\"parse\"}" \
    "}"

START_TEST(an_error_without_id_is_not_taken_for_the_end_of_a_subscription)
{
    struct mcplug_ledger l = {.struct_size = sizeof l};
    struct outcome other = {0};
    start(true);
    ck_assert_int_eq(mp_notify_subscribe(f.server, "file:///a", true, NULL), MCPLUG_OK);
    fake_expect(&f, "subscriptions/listen");
    fake_say(&f, NO_ID_ERROR); /* nothing waits for an answer */
    call(NULL, NULL);
    fake_expect(&f, "tools/call");
    fake_say(&f, NO_ID_ERROR); /* one call does */
    ck_assert_uint_eq(o.times, 1);
    ck_assert_int_eq(o.code, MCPLUG_EPEER);
    ck_assert_int_eq(o.peer_status, -32700);
    call(NULL, NULL);
    fake_call(f.server, "u", NULL, NULL, on_outcome, &other, NULL);
    fake_say(&f, NO_ID_ERROR); /* it could be either */
    ck_assert_uint_eq(o.times + other.times, 1);
    fake_ledger(f.server, &l);
    ck_assert_uint_eq(l.unknown, 2);
    ck_assert_uint_eq(l.under_way, 3); /* the subscription stands */
    fake_clear(&f);
}
END_TEST

static unsigned n_lists;
static void on_list(void *arg, mcplug_list *list, const struct mcplug_error *why)
{
    (void)arg, (void)list;
    ck_assert_ptr_null(why);
    n_lists++;
}

static void get_tools(bool asks)
{
    unsigned before = n_lists;
    ck_assert_int_eq(mp_lists_get(f.server, MCPLUG_TOOLS, on_list, NULL, NULL), 0);
    fake_turn(&f);
    ck_assert_int_eq(!fake_idle(&f), asks);
    if (asks)
        fake_sayf(&f, "{\"jsonrpc\":\"2.0\",\"id\":%llu,\"result\":{\"tools\":[]}}",
                  ll(fake_expect(&f, "tools/list")));
    ck_assert_uint_eq(n_lists, before + 1);
}

static void on_changed(void *arg, struct mp_session *s, int kind, const char *uri)
{
    (void)arg, (void)s, (void)kind, (void)uri;
}

START_TEST(a_list_whose_changes_nobody_hears_of_is_not_kept)
{
    struct mp_session_options so = {0};
    fake_init(&f);
    fake_modern(&f, &so, "{\"tools\":{},\"resources\":{\"subscribe\":true}}");
    mp_notify_subscribe(f.server, "file:///a", true, NULL); /* which is not about tools */
    fake_expect(&f, "subscriptions/listen");
    get_tools(true);
    get_tools(true);
    fake_clear(&f);

    so = (struct mp_session_options){.changed = on_changed};
    fake_init(&f);
    fake_modern(&f, &so, "{\"tools\":{\"listChanged\":true}}");
    uint64_t listens = fake_expect(&f, "subscriptions/listen");
    get_tools(true);
    fake_pass(&f, 30ull * 86400 * 1000);
    get_tools(false);
    fake_sayf(&f, "{\"jsonrpc\":\"2.0\",\"id\":%llu,\"result\":{}}", ll(listens));
    get_tools(true);
    fake_clear(&f);
}
END_TEST

/* ---- what modules do ---- */

static struct mcplug_transport_ops own_ops;

static int silent_open(void *ctx, mcplug_conn *conn, const mcplug_props *settings,
                       void **out, struct mcplug_error *err)
{
    (void)ctx, (void)conn, (void)settings, (void)out, (void)err;
    return MCPLUG_EIO;
}

static int silent_send(void *t, mcplug_buf *frame, const struct mcplug_envelope *env,
                       struct mcplug_error *err)
{
    (void)t, (void)env, (void)err;
    mp_buf_unref(frame);
    return MCPLUG_EIO;
}

static void begin_with_own_ops(void)
{
    memset(&o, 0, sizeof o);
    n_asked = 0;
    fake_init(&f);
    own_ops = *(const struct mcplug_transport_ops *)f.offer.feature.ops;
    f.offer.feature.ops = &own_ops;
}

static void on_ready(void *arg, struct mp_session *s, const struct mcplug_error *why)
{
    (void)arg, (void)s;
    f.readies++;
    f.ready_why = why ? *why : (struct mcplug_error)MCPLUG_ERROR_INIT;
}

static enum mp_era remembered;
static enum mp_era recall(void *arg, uint64_t hash)
{
    (void)arg, (void)hash;
    return remembered;
}

static int open_session(const char *revision, struct mcplug_error *err)
{
    struct mp_session_config cfg = {.loop = f.loop,
                                    .log = &f.log,
                                    .client_name = "t",
                                    .client_version = "1",
                                    .spill_dir = "/tmp",
                                    .recall = recall};
    struct mp_session_options so = {.revision = revision, .timeout_ms = 30000};
    int r = mp_session_open(&cfg, &f.offer, f.settings, &so, "fake", &f.id, on_ready,
                            NULL, &f.server, err);
    fake_turn(&f);
    return r;
}

START_TEST(a_module_that_fails_without_a_word_is_told_as_failed)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    begin_with_own_ops();
    own_ops.open = silent_open;
    ck_assert_int_eq(open_session(NULL, &err), MCPLUG_EIO);
    ck_assert_int_eq(err.code, MCPLUG_EIO);
    ck_assert_ptr_nonnull(strstr(err.text, "without a reason"));
    ck_assert_uint_eq(f.readies, 0);
    fake_clear(&f);

    begin_with_own_ops();
    own_ops.send = silent_send;
    ck_assert_int_eq(open_session(NULL, &err), MCPLUG_OK);
    ck_assert_uint_eq(f.readies, 1);
    ck_assert_int_eq(f.ready_why.code, MCPLUG_EIO);
    fake_clear(&f);
}
END_TEST

START_TEST(a_round_that_a_module_will_not_send_ends_the_call)
{
    struct mp_session_options so = {.elicit = on_input};
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    begin_with_own_ops();
    fake_modern(&f, &so, "{\"tools\":{}}");
    call(NULL, NULL);
    say_questions(fake_expect(&f, "tools/call"), "{\"a\":" ELICIT "}");
    own_ops.send = silent_send;
    mcplug_input_answer(asked[0], "{}");
    fake_turn(&f);
    ck_assert_uint_eq(o.times, 1);
    ck_assert_int_eq(o.code, MCPLUG_EIO);
    ck_assert_ptr_null(fake_call(f.server, "t", NULL, NULL, on_outcome, &o, &err));
    ck_assert_int_eq(err.code, MCPLUG_EIO);
    fake_clear(&f);
}
END_TEST

START_TEST(a_pinned_revision_is_not_overruled_by_memory)
{
    static const struct {
        enum mp_era remembered;
        const char *pinned, *first;
    } table[] = {
        {MP_ERA_LEGACY, NULL, "initialize"},
        {MP_ERA_LEGACY, "2026-07-28", "server/discover"},
        {MP_ERA_MODERN, NULL, "server/discover"},
        {MP_ERA_MODERN, "2025-06-18", "initialize"},
    };
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    for (size_t i = 0; i < MP_COUNT(table); i++) {
        fake_init(&f);
        remembered = table[i].remembered;
        ck_assert_int_eq(open_session(table[i].pinned, &err), MCPLUG_OK);
        fake_expect(&f, table[i].first);
        fake_clear(&f);
    }
}
END_TEST

START_TEST(facts_are_bounded)
{
    char name[16];
    start(true);
    for (int i = 0; i < MP_FACTS_MAX + 5; i++) {
        snprintf(name, sizeof name, "f%d", i);
        mp_link_wire.describe(f.conn, name, "value");
        mp_link_wire.describe(f.conn, name, "value"); /* nothing new */
    }
    for (int i = 0; i < MP_FACTS_MAX + 5; i++) {
        snprintf(name, sizeof name, "f%d", i);
        const char *value = mp_identity_fact((f.server)->id, name);
        if (i < MP_FACTS_MAX)
            ck_assert_str_eq(value, "value");
        else
            ck_assert_ptr_null(value);
    }
    fake_clear(&f);
}
END_TEST

static uint64_t serials[28000];
static size_t n_serials;

static int queue(void *t, mcplug_buf *frame, const struct mcplug_envelope *env,
                 struct mcplug_error *err)
{
    (void)t, (void)err;
    mp_buf_unref(frame);
    serials[n_serials++] = env->serial;
    return MCPLUG_QUEUED;
}

/* CPU time until the first 1000 of so many answers to ping are written. */
static double drain(size_t waiting)
{
    n_serials = 0;
    for (size_t i = 0; i < waiting; i++)
        mp_link_wire.feed(f.conn, 0, mp_text("{\"id\":1,\"method\":\"ping\"}"), 1);
    fake_turn(&f);
    ck_assert_uint_eq(n_serials, waiting);
    clock_t began = clock();
    for (size_t i = 0; i < 1000; i++)
        mp_link_wire.written(f.conn, serials[i]);
    double taken = (double)(clock() - began) / CLOCKS_PER_SEC;
    for (size_t i = 1000; i < waiting; i++)
        mp_link_wire.written(f.conn, serials[i]);
    return taken;
}

START_TEST(a_long_queue_drains_as_quickly_as_a_short_one)
{
    begin_with_own_ops();
    fake_legacy(&f, NULL, "{}");
    own_ops.send = queue;
    double one = drain(1000);
    ck_assert_double_lt(drain(MP_COUNT(serials)), 10 * one + 0.005);
    fake_clear(&f);
}
END_TEST

/* ---- the loop below ---- */

static struct mp_loop *loop;
static struct mp_timer again, other;
static unsigned n_again, n_other;
static void on_again(struct mp_timer *timer)
{
    if (++n_again < 100000)
        mp_timer_start(loop, timer, 0, on_again);
}

static void on_other(struct mp_timer *timer)
{
    (void)timer;
    n_other++;
}

START_TEST(a_timer_that_starts_itself_again_lets_others_run)
{
    loop = mp_loop_new(NULL);
    mp_timer_start(loop, &again, 0, on_again);
    mp_timer_start(loop, &other, 0, on_other);
    while (!n_other)
        mp_loop_turn(loop, true);
    ck_assert_uint_lt(n_again, 10);
    mp_timer_stop(loop, &again);
    mp_loop_free(loop);
}
END_TEST

static uint64_t real_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

START_TEST(a_timer_that_is_started_after_a_pause_waits_its_whole_time)
{
    loop = mp_loop_new(NULL);
    mp_loop_turn(loop, false);
    usleep(20000);
    uint64_t began = real_ms();
    mp_timer_start(loop, &other, 15, on_other);
    while (!n_other)
        mp_loop_turn(loop, false);
    ck_assert_uint_ge(real_ms() - began, 14);
    mp_loop_free(loop);
}
END_TEST

static void add(TCase *tc)
{
    tcase_add_test(tc, pretty_printed_arguments_leave_as_one_line);
    tcase_add_test(tc, pretty_printed_answers_leave_as_one_line);
    tcase_add_test(tc, white_space_before_an_object_is_no_reason_to_lose_it);
    tcase_add_test(tc, what_has_no_place_in_the_name_of_a_method_is_refused);
    tcase_add_test(tc, of_two_values_in_meta_that_of_the_options_counts);
    tcase_add_test(tc, the_longest_of_all_timeouts_never_comes);
    tcase_add_test(tc, a_question_may_be_refused_without_a_word);
    tcase_add_test(tc, two_questions_under_one_key_fail_the_call);
    tcase_add_test(tc, a_question_with_duplicate_members_fails_the_call);
    tcase_add_test(tc, a_request_of_a_modern_server_is_not_answered);
    tcase_add_test(tc, a_log_message_without_params_is_none);
    tcase_add_test(tc, an_error_without_id_is_not_taken_for_the_end_of_a_subscription);
    tcase_add_test(tc, a_list_whose_changes_nobody_hears_of_is_not_kept);
    tcase_add_test(tc, a_module_that_fails_without_a_word_is_told_as_failed);
    tcase_add_test(tc, a_round_that_a_module_will_not_send_ends_the_call);
    tcase_add_test(tc, a_pinned_revision_is_not_overruled_by_memory);
    tcase_add_test(tc, facts_are_bounded);
    tcase_add_test(tc, a_long_queue_drains_as_quickly_as_a_short_one);
    tcase_add_test(tc, a_request_that_has_ended_may_outlive_its_session);
    tcase_add_test(tc, a_timer_that_starts_itself_again_lets_others_run);
    tcase_add_test(tc, a_timer_that_is_started_after_a_pause_waits_its_whole_time);
}

int main(void)
{
    return run_suite("session_edges", add);
}
