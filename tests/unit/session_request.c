#include "fake.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

static struct fake f;
static struct outcome o;

static mcplug_call *call_with(const char *tool, const char *args,
                              const struct mcplug_call_options *options)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    mcplug_call *call = fake_call(f.server, tool, args, options, on_outcome, &o, &err);
    ck_assert_msg(call != NULL, "%s", err.text);
    return call;
}

static void start(bool modern, struct mp_session_options *options)
{
    memset(&o, 0, sizeof o);
    fake_init(&f);
    if (modern)
        fake_modern(&f, options, "{\"tools\":{}}");
    else
        fake_legacy(&f, options, "{\"tools\":{}}");
}

static void assert_books_balance(void)
{
    struct mcplug_ledger l = {.struct_size = sizeof l};
    fake_ledger(f.server, &l);
    ck_assert_uint_eq(l.issued, l.under_way + l.ok + l.tool_error + l.peer_error +
                                    l.transport_error + l.timed_out + l.cancelled);
}

START_TEST(a_call_gets_its_result)
{
    start(true, NULL);
    call_with("add", "{\"a\":1}", NULL);
    const char *frame = fake_next(&f);
    ck_assert_ptr_nonnull(strstr(frame, "\"name\":\"add\",\"arguments\":{\"a\":1}"));
    ck_assert_ptr_nonnull(strstr(frame, "io.modelcontextprotocol/protocolVersion"));
    fake_sayf(&f,
              "{\"jsonrpc\":\"2.0\",\"id\":%llu,\"result\":{\"resultType\":\"complete\","
              "\"content\":[]}}",
              ll(fake_id(frame)));
    ck_assert_uint_eq(o.times, 1);
    ck_assert_int_eq(o.code, 0);
    ck_assert_str_eq(o.json, "{\"resultType\":\"complete\",\"content\":[]}");
    assert_books_balance();
    fake_clear(&f);
}
END_TEST

START_TEST(a_legacy_call_has_no_meta_unless_asked_for)
{
    start(false, NULL);
    call_with("add", NULL, NULL);
    ck_assert_ptr_null(strstr(fake_next(&f), "_meta"));
    struct mcplug_call_options co = {.struct_size = sizeof co,
                                     .meta = "{\"traceparent\":\"00-aa-bb-01\"}"};
    call_with("add", NULL, &co);
    ck_assert_ptr_nonnull(
        strstr(fake_next(&f), "\"_meta\":{\"traceparent\":\"00-aa-bb-01\"}"));
    fake_clear(&f);
}
END_TEST

START_TEST(meta_passes_through_but_cannot_overwrite_ours)
{
    start(true, NULL);
    struct mcplug_call_options co = {
        .struct_size = sizeof co,
        .meta = "{\"x\":{\"y\":1},\"io.modelcontextprotocol/protocolVersion\":\"9\"}"};
    call_with("t", NULL, &co);
    const char *frame = fake_next(&f);
    ck_assert_ptr_nonnull(strstr(frame, "\"x\":{\"y\":1}"));
    ck_assert_ptr_null(strstr(frame, "\"9\""));
    fake_clear(&f);
}
END_TEST

START_TEST(arguments_that_are_no_object_are_refused_before_anything_is_sent)
{
    static const char *const bad[] = {"[]", "1", "{", "", "nonsense", "{}{}"};
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    start(true, NULL);
    for (size_t i = 0; i < MP_COUNT(bad); i++) {
        if (!*bad[i])
            continue;
        ck_assert_ptr_null(fake_call(f.server, "t", bad[i], NULL, on_outcome, &o, &err));
        ck_assert_int_eq(err.code, MCPLUG_EINVAL);
        ck_assert_ptr_nonnull(strstr(err.text, "arguments"));
    }
    ck_assert(fake_idle(&f));
    ck_assert_uint_eq(o.times, 0);
    fake_clear(&f);
}
END_TEST

START_TEST(a_tool_error_is_a_result_with_its_text)
{
    start(true, NULL);
    call_with("t", NULL, NULL);
    fake_sayf(&f,
              "{\"jsonrpc\":\"2.0\",\"id\":%llu,\"result\":{\"isError\":true,"
              "\"content\":[{\"type\":\"text\",\"text\":\"broken\"}]}}",
              ll(fake_expect(&f, "tools/call")));
    ck_assert_int_eq(o.code, 0);
    ck_assert(o.is_error);
    struct mcplug_ledger l = {.struct_size = sizeof l};
    fake_ledger(f.server, &l);
    ck_assert_uint_eq(l.tool_error, 1);
    fake_clear(&f);
}
END_TEST

static char said[64];
static void keep_error_text(void *arg, mcplug_call *call, mcplug_result *r,
                            const struct mcplug_error *why)
{
    (void)arg, (void)call, (void)why;
    strncpy(said, mcplug_result_error_text(r), sizeof said - 1);
}

START_TEST(the_error_text_is_content_else_error_else_unknown)
{
    static const struct {
        const char *result, *text;
    } table[] = {
        {"{\"isError\":true,\"content\":[{\"type\":\"text\",\"text\":\"a\"}],\"error\":"
         "\"b\"}",
         "a"},
        {"{\"isError\":true,\"content\":[],\"error\":\"b\"}", "b"},
        {"{\"isError\":true}", "Unknown error"},
    };
    start(false, NULL);
    for (size_t i = 0; i < MP_COUNT(table); i++) {
        fake_call(f.server, "t", NULL, NULL, keep_error_text, NULL, NULL);
        fake_sayf(&f, "{\"jsonrpc\":\"2.0\",\"id\":%llu,\"result\":%s}",
                  ll(fake_expect(&f, "tools/call")), table[i].result);
        ck_assert_str_eq(said, table[i].text);
    }
    fake_clear(&f);
}
END_TEST

START_TEST(a_peer_error_has_code_message_and_object)
{
    start(true, NULL);
    call_with("t", NULL, NULL);
    fake_sayf(&f,
              "{\"jsonrpc\":\"2.0\",\"id\":%llu,\"error\":{\"code\":-32602,"
              "\"message\":\"no such\\ntool\",\"data\":[1]}}",
              ll(fake_expect(&f, "tools/call")));
    ck_assert_int_eq(o.code, MCPLUG_EPEER);
    ck_assert_int_eq(o.peer_status, -32602);
    ck_assert_str_eq(o.text, "no such tool");
    ck_assert_ptr_nonnull(strstr(o.json, "\"data\":[1]"));
    fake_clear(&f);
}
END_TEST

START_TEST(replies_of_the_wrong_shape_fail_their_own_call)
{
    static const char *const wrong[] = {
        "\"result\":{},\"error\":{\"code\":1,\"message\":\"\"}",
        "\"x\":1",
        "\"result\":[]",
        "\"result\":\"text\"",
        "\"result\":null",
        "\"error\":\"text\"",
        "\"error\":[]",
    };
    start(true, NULL);
    for (size_t i = 0; i < MP_COUNT(wrong); i++) {
        memset(&o, 0, sizeof o);
        call_with("t", NULL, NULL);
        fake_sayf(&f, "{\"jsonrpc\":\"2.0\",\"id\":%llu,%s}",
                  ll(fake_expect(&f, "tools/call")), wrong[i]);
        ck_assert_uint_eq(o.times, 1);
        ck_assert_int_eq(o.code, MCPLUG_EPROTO);
        assert_books_balance();
    }
    fake_clear(&f);
}
END_TEST

/* Of two members with one name some take the first, some the last. */
START_TEST(a_reply_with_duplicate_members_fails_its_own_call)
{
    static const struct {
        const char *members, *name;
    } replies[] = {
        {"\"result\":{\"isError\":false,\"content\":[],\"isError\":true}", "\"isError\""},
        {"\"result\":{\"content\":[],\"c\\u006fntent\":[]}", "ntent\""},
        {"\"result\":{\"content\":[],\"_meta\":{\"a\":1,\"\\u0061\":2}}", "duplicate"},
        {"\"result\":{\"content\":[],\"\\u005fmeta\":{\"a\":1,\"a\":2}}", "\"a\""},
        {"\"result\":{\"_meta\":{},\"content\":[],\"_meta\":{}}", "\"_meta\""},
        {"\"result\":{\"1\":1,\"2\":1,\"3\":1,\"4\":1,\"5\":1,\"6\":1,\"7\":1,\"8\":1,"
         "\"9\":1,"
         "\"10\":1,\"11\":1,\"12\":1,\"13\":1,\"14\":1,\"15\":1,\"16\":1,\"17\":1,"
         "\"13\":1}",
         "\"13\""},
        {"\"error\":{\"code\":1,\"message\":\"a\",\"code\":2}", "\"code\""},
    };
    start(true, NULL);
    for (size_t i = 0; i < MP_COUNT(replies); i++) {
        memset(&o, 0, sizeof o);
        call_with("t", NULL, NULL);
        fake_sayf(&f, "{\"jsonrpc\":\"2.0\",\"id\":%llu,%s}",
                  ll(fake_expect(&f, "tools/call")), replies[i].members);
        ck_assert_uint_eq(o.times, 1);
        ck_assert_int_eq(o.code, MCPLUG_EPROTO);
        ck_assert_msg(strstr(o.text, "duplicate member") &&
                          strstr(o.text, replies[i].name),
                      "%s", o.text);
        assert_books_balance();
    }
    fake_clear(&f);
}
END_TEST

START_TEST(names_in_a_reply_may_be_escaped)
{
    start(true, NULL);
    call_with("t", NULL, NULL);
    fake_sayf(
        &f,
        "{\"jsonrpc\":\"2.0\",\"\\u0069d\":%llu,\"res\\u0075lt\":{\"is\\u0045rror\":"
        "true,\"content\":[]}}",
        ll(fake_expect(&f, "tools/call")));
    ck_assert_uint_eq(o.times, 1);
    ck_assert_int_eq(o.code, 0);
    ck_assert(o.is_error);
    fake_clear(&f);
}
END_TEST

START_TEST(names_that_are_only_alike_do_no_harm)
{
    start(true, NULL);
    for (int i = 0; i < 2; i++) {
        memset(&o, 0, sizeof o);
        call_with("t", "{\"ab\":1,\"aab\":2,\"Ab\":3,\"\":4,\"a\\u0062c\":5}", NULL);
        fake_sayf(&f,
                  "{\"jsonrpc\":\"2.0\",\"id\":%llu,\"result\":{%s\"content\":[],\"a\":1,"
                  "\"content \":2,\"Content\":3,\"\":4,\"\\u00e9\":5,\"\xc3\xa8\":6}}",
                  ll(fake_expect(&f, "tools/call")),
                  i ? "\"b1\":1,\"b2\":1,\"b3\":1,\"b4\":1,\"b5\":1,\"b6\":1,\"b7\":1,"
                      "\"b8\":1,\"b9\":1,\"b10\":1,\"b11\":1,\"b12\":1,\"b13\":1,"
                    : "");
        ck_assert_uint_eq(o.times, 1);
        ck_assert_int_eq(o.code, 0);
    }
    fake_clear(&f);
}
END_TEST

START_TEST(what_callers_give_with_duplicate_members_is_refused)
{
    static const char *const bad[] = {
        "{\"a\":1,\"a\":2}",
        "{\"name\":1,\"n\\u0061me\":2}",
        "{\"x\":{},\"b\":1,\"c\":1,\"d\":1,\"e\":1,\"f\":1,\"g\":1,\"h\":1,\"i\":1,\"j\":"
        "1,"
        "\"k\":1,\"l\":1,\"m\":1,\"n\":1,\"o\":1,\"p\":1,\"q\":1,\"x\":1}",
    };
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    char text[400];

    start(true, NULL);
    for (size_t i = 0; i < MP_COUNT(bad); i++) {
        struct mcplug_call_options co = {.struct_size = sizeof co, .meta = bad[i]};
        ck_assert_ptr_null(fake_call(f.server, "t", bad[i], NULL, on_outcome, &o, &err));
        ck_assert_int_eq(err.code, MCPLUG_EINVAL);
        ck_assert_ptr_nonnull(strstr(err.text, "arguments: duplicate member"));
        ck_assert_ptr_null(fake_call(f.server, "t", "{}", &co, on_outcome, &o, &err));
        ck_assert_ptr_nonnull(strstr(err.text, "_meta: duplicate member"));
        ck_assert_ptr_null(
            fake_request(f.server, "x/y", bad[i], NULL, on_outcome, &o, &err));
        ck_assert_ptr_nonnull(strstr(err.text, "params: duplicate member"));
        snprintf(text, sizeof text, "{\"_meta\":%s}", bad[i]);
        ck_assert_ptr_null(
            fake_request(f.server, "x/y", text, NULL, on_outcome, &o, &err));
        ck_assert_ptr_nonnull(strstr(err.text, "params._meta: duplicate member"));
    }
    ck_assert(fake_idle(&f));
    ck_assert_uint_eq(o.times, 0);
    fake_clear(&f);
}
END_TEST

START_TEST(an_unreadable_reply_fails_its_own_call_at_once_and_no_other)
{
    struct outcome other = {0};
    start(true, NULL);
    call_with("t", NULL, NULL);
    uint64_t id = fake_expect(&f, "tools/call");
    fake_call(f.server, "u", NULL, NULL, on_outcome, &other, NULL);
    uint64_t other_id = fake_expect(&f, "tools/call");
    fake_sayf(&f, "{\"result\":{\"n\":NaN},\"jsonrpc\":\"2.0\",\"id\":%llu}", ll(id));
    ck_assert_uint_eq(o.times, 1);
    ck_assert_int_eq(o.code, MCPLUG_EPROTO);
    ck_assert_ptr_nonnull(strstr(o.text, "could not be read"));
    ck_assert_ptr_nonnull(strstr(o.text, "byte 15"));
    ck_assert_uint_eq(other.times, 0);
    fake_sayf(&f, "{\"jsonrpc\":\"2.0\",\"id\":%llu,\"result\":{}}", ll(other_id));
    ck_assert_uint_eq(other.times, 1);
    ck_assert_int_eq(other.code, 0);
    fake_clear(&f);
}
END_TEST

START_TEST(duplicate_unknown_and_late_answers_are_counted_and_dropped)
{
    struct mcplug_ledger l = {.struct_size = sizeof l};
    start(true, NULL);
    call_with("t", NULL, NULL);
    uint64_t id = fake_expect(&f, "tools/call");
    fake_sayf(&f, "{\"jsonrpc\":\"2.0\",\"id\":%llu,\"result\":{}}", ll(id));
    fake_sayf(&f, "{\"jsonrpc\":\"2.0\",\"id\":%llu,\"result\":{}}", ll(id));
    fake_say(&f, "{\"jsonrpc\":\"2.0\",\"id\":99999,\"result\":{}}");
    fake_say(&f, "{\"jsonrpc\":\"2.0\",\"id\":\"1\",\"result\":{}}");
    ck_assert_uint_eq(o.times, 1);
    fake_ledger(f.server, &l);
    ck_assert_uint_eq(l.late, 1);
    ck_assert_uint_eq(l.unknown, 2);
    assert_books_balance();
    fake_clear(&f);
}
END_TEST

START_TEST(a_tool_call_times_out_with_its_name_and_tells_the_server)
{
    struct mcplug_call_options co = {.struct_size = sizeof co, .timeout_ms = 2000};
    start(true, NULL);
    call_with("slow", NULL, &co);
    uint64_t id = fake_expect(&f, "tools/call");
    fake_pass(&f, 1999);
    ck_assert_uint_eq(o.times, 0);
    mp_link_wire.describe(f.conn, "delay", "HTTP 429");
    fake_pass(&f, 1);
    ck_assert_uint_eq(o.times, 1);
    ck_assert_int_eq(o.code, MCPLUG_ETIMEDOUT);
    ck_assert_str_eq(o.text, "MCP tool call 'slow' timed out after 2s; HTTP 429");
    const char *frame = fake_next(&f);
    ck_assert_ptr_nonnull(strstr(frame, "notifications/cancelled"));
    char want[64];
    snprintf(want, sizeof want, "\"requestId\":%llu", ll(id));
    ck_assert_ptr_nonnull(strstr(frame, want));
    fake_clear(&f);
}
END_TEST

START_TEST(the_outer_limit_of_a_tool_call_is_a_hundred_thousand_seconds)
{
    start(true, NULL);
    call_with("slow", NULL, NULL);
    fake_pass(&f, 99999999);
    ck_assert_uint_eq(o.times, 0);
    fake_pass(&f, 1);
    ck_assert_str_eq(o.text, "MCP tool call 'slow' timed out after 100000s");
    fake_clear(&f);
}
END_TEST

START_TEST(a_cancel_ends_the_call_tells_the_server_and_logs_no_failure)
{
    start(true, NULL);
    mcplug_call *call = call_with("slow", NULL, NULL);
    fake_expect(&f, "tools/call");
    mcplug_cancel(call);
    ck_assert_uint_eq(o.times, 0); /* never inside the call that asked */
    mcplug_cancel(call);           /* twice is once */
    fake_turn(&f);
    ck_assert_uint_eq(o.times, 1);
    ck_assert_int_eq(o.code, MCPLUG_ECANCELED);
    fake_expect(&f, "notifications/cancelled");
    ck_assert(fake_idle(&f));
    ck_assert_ptr_null(strstr(f.logged, "ERR"));
    ck_assert_ptr_null(strstr(f.logged, "WRN"));
    assert_books_balance();
    fake_clear(&f);
}
END_TEST

static double last_progress, last_total;
static char last_message[64];
static void on_progress(void *arg, mcplug_call *call, double progress, double total,
                        const char *message)
{
    (void)arg, (void)call;
    last_progress = progress;
    last_total = total;
    strncpy(last_message, message ? message : "", sizeof last_message - 1);
}

START_TEST(progress_reaches_the_caller_who_asked_for_it)
{
    struct mcplug_call_options co = {.struct_size = sizeof co, .progress = on_progress};
    start(true, NULL);
    call_with("slow", NULL, &co);
    const char *frame = fake_next(&f);
    char want[64];
    snprintf(want, sizeof want, "\"progressToken\":%llu", ll(fake_id(frame)));
    ck_assert_ptr_nonnull(strstr(frame, want));
    fake_sayf(&f,
              "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{%s,"
              "\"progress\":0.5,\"total\":2,\"message\":\"half\"}}",
              want);
    ck_assert_double_eq(last_progress, 0.5);
    ck_assert_double_eq(last_total, 2);
    ck_assert_str_eq(last_message, "half");
    fake_say(&f, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{"
                 "\"progressToken\":4711,\"progress\":9}}");
    ck_assert_double_eq(last_progress, 0.5);
    fake_clear(&f);
}
END_TEST

static char last_params[256];
static void on_progress_json(void *arg, mcplug_call *call, const char *params, size_t len)
{
    ck_assert_ptr_eq(arg, last_params);
    ck_assert_ptr_nonnull(call);
    ck_assert_uint_eq(len, strlen(params));
    snprintf(last_params, sizeof last_params, "%s", params);
    last_progress = 0; /* the other callback runs after this one */
}

/* _i: 1 with the other callback too */
START_TEST(progress_also_comes_as_its_params_were_written)
{
    struct mcplug_call_options co = {.struct_size = sizeof co,
                                     .progress = _i ? on_progress : NULL,
                                     .progress_json = on_progress_json,
                                     .progress_arg = last_params};
    char params[256];

    start(true, NULL);
    call_with("slow", NULL, &co);
    const char *frame = fake_next(&f);
    snprintf(params, sizeof params,
             "{\"progressToken\":%llu, \"progress\":0.50, \"_meta\":{\"x\":[1]}}",
             ll(fake_id(frame)));
    snprintf(last_message, sizeof last_message, "\"progressToken\":%llu",
             ll(fake_id(frame)));
    ck_assert_ptr_nonnull(strstr(frame, last_message)); /* it was asked for */
    fake_sayf(&f,
              "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":"
              "%s}",
              params);
    ck_assert_str_eq(last_params, params);
    ck_assert_double_eq(last_progress, _i ? 0.5 : 0);
    fake_clear(&f);
}
END_TEST

START_TEST(a_lost_link_fails_every_call_once_and_says_if_it_was_written)
{
    struct outcome many[100] = {0};
    start(true, NULL);
    for (size_t i = 0; i < 50; i++)
        fake_call(f.server, "t", NULL, NULL, on_outcome, &many[i], NULL);
    f.queues = true;
    for (size_t i = 50; i < 100; i++)
        fake_call(f.server, "t", NULL, NULL, on_outcome, &many[i], NULL);
    fake_hang_up(&f, ECONNRESET, "reset");
    for (size_t i = 0; i < 100; i++) {
        ck_assert_uint_eq(many[i].times, 1);
        ck_assert_int_eq(many[i].code, MCPLUG_ECLOSED);
        ck_assert_int_eq(strstr(many[i].text, "had already been sent") != NULL, i < 50);
    }
    ck_assert_uint_eq(f.drops, 1);
    assert_books_balance();
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    ck_assert_ptr_null(fake_call(f.server, "t", NULL, NULL, on_outcome, &o, &err));
    ck_assert_int_eq(err.code, MCPLUG_ECLOSED);
    fake_clear(&f);
}
END_TEST

START_TEST(a_peer_that_does_not_read_ends_in_overloaded)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    char *args = malloc(1000100);
    memset(args, 'x', 1000100);
    memcpy(args, "{\"a\":\"", 6);
    strcpy(args + 1000000, "\"}");
    start(true, NULL);
    f.queues = true;
    static struct outcome many[32];
    size_t n = 0;
    while (n < 32 && fake_call(f.server, "t", args, NULL, on_outcome, &many[n], &err))
        n++;
    ck_assert_uint_eq(n, 16);
    ck_assert_int_eq(err.code, MCPLUG_EOVERLOADED);
    ck_assert_ptr_nonnull(strstr(err.text, "16 messages"));
    assert_books_balance();
    for (size_t i = 0; i < f.n_sent; i++)
        mp_link_wire.written(f.conn, f.serials[i]);
    ck_assert_ptr_nonnull(
        fake_call(f.server, "t", args, NULL, on_outcome, &many[n], &err));
    free(args);
    fake_clear(&f);
}
END_TEST

START_TEST(closing_ends_calls_under_way_as_cancelled)
{
    start(true, NULL);
    call_with("t", NULL, NULL);
    struct mp_session *s = f.server;
    f.server = NULL;
    mp_session_close(s, NULL, NULL, NULL);
    ck_assert_uint_eq(o.times, 0);
    fake_turn(&f);
    ck_assert_uint_eq(o.times, 1);
    ck_assert_int_eq(o.code, MCPLUG_ECANCELED);
    fake_clear(&f);
}
END_TEST

START_TEST(an_error_without_id_is_the_answer_to_the_only_call)
{
    start(true, NULL);
    call_with("t", NULL, NULL);
    fake_say(&f, "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32700,"
                 "\"message\":\"parse\"}}");
    ck_assert_int_eq(o.code, MCPLUG_EPEER);
    ck_assert_int_eq(o.peer_status, -32700);
    fake_clear(&f);
}
END_TEST

START_TEST(a_batch_is_taken_apart)
{
    struct outcome second = {0};
    start(false, NULL);
    call_with("t", NULL, NULL);
    uint64_t a = fake_expect(&f, "tools/call");
    fake_call(f.server, "u", NULL, NULL, on_outcome, &second, NULL);
    uint64_t b = fake_expect(&f, "tools/call");
    fake_sayf(&f,
              "[{\"jsonrpc\":\"2.0\",\"id\":%llu,\"result\":{}},7,{\"jsonrpc\":\"2.0\","
              "\"id\":%llu,\"result\":{\"x\":1}}]",
              ll(a), ll(b));
    ck_assert_uint_eq(o.times, 1);
    ck_assert_uint_eq(second.times, 1);
    ck_assert_str_eq(second.json, "{\"x\":1}");
    fake_say(&f, "[]");
    ck_assert_ptr_nonnull(
        strstr(f.logged, "WRN mcp:fake ignored an array without messages"));
    fake_clear(&f);
}
END_TEST

START_TEST(noise_is_skipped_logged_and_bounded)
{
    start(true, NULL);
    fake_say(&f, "Server listening\x1b[31m on stdio");
    fake_say(&f, "[info] ready");
    for (int i = 0; i < 1000; i++)
        fake_say(&f, "more noise");
    ck_assert_ptr_nonnull(strstr(f.logged, "Server listening\\x1b[31m on stdio"));
    size_t lines = 0;
    for (char *p = f.logged; (p = strstr(p, "ignored a line that is not JSON-RPC")); p++)
        lines++;
    ck_assert_uint_eq(lines, 3); /* the same again is no news */
    for (int i = 0; i < 1000; i++)
        fake_sayf(&f, "noise %d", i);
    for (char *p = f.logged; (p = strstr(p, "ignored a line that is not JSON-RPC")); p++)
        lines++;
    ck_assert_uint_eq(lines, 3 + 20);
    ck_assert_ptr_nonnull(
        strstr(f.logged, "further lines that are not JSON-RPC are counted, not logged"));
    struct mcplug_ledger l = {.struct_size = sizeof l};
    fake_ledger(f.server, &l);
    ck_assert_uint_eq(l.noise, 2002);
    fake_clear(&f);
}
END_TEST

static void add(TCase *tc)
{
    tcase_add_test(tc, a_call_gets_its_result);
    tcase_add_test(tc, a_legacy_call_has_no_meta_unless_asked_for);
    tcase_add_test(tc, meta_passes_through_but_cannot_overwrite_ours);
    tcase_add_test(tc, arguments_that_are_no_object_are_refused_before_anything_is_sent);
    tcase_add_test(tc, a_tool_error_is_a_result_with_its_text);
    tcase_add_test(tc, the_error_text_is_content_else_error_else_unknown);
    tcase_add_test(tc, a_peer_error_has_code_message_and_object);
    tcase_add_test(tc, replies_of_the_wrong_shape_fail_their_own_call);
    tcase_add_test(tc, a_reply_with_duplicate_members_fails_its_own_call);
    tcase_add_test(tc, names_in_a_reply_may_be_escaped);
    tcase_add_test(tc, names_that_are_only_alike_do_no_harm);
    tcase_add_test(tc, what_callers_give_with_duplicate_members_is_refused);
    tcase_add_test(tc, an_unreadable_reply_fails_its_own_call_at_once_and_no_other);
    tcase_add_test(tc, duplicate_unknown_and_late_answers_are_counted_and_dropped);
    tcase_add_test(tc, a_tool_call_times_out_with_its_name_and_tells_the_server);
    tcase_add_test(tc, the_outer_limit_of_a_tool_call_is_a_hundred_thousand_seconds);
    tcase_add_test(tc, a_cancel_ends_the_call_tells_the_server_and_logs_no_failure);
    tcase_add_test(tc, progress_reaches_the_caller_who_asked_for_it);
    tcase_add_loop_test(tc, progress_also_comes_as_its_params_were_written, 0, 2);
    tcase_add_test(tc, a_lost_link_fails_every_call_once_and_says_if_it_was_written);
    tcase_add_test(tc, a_peer_that_does_not_read_ends_in_overloaded);
    tcase_add_test(tc, closing_ends_calls_under_way_as_cancelled);
    tcase_add_test(tc, an_error_without_id_is_the_answer_to_the_only_call);
    tcase_add_test(tc, a_batch_is_taken_apart);
    tcase_add_test(tc, noise_is_skipped_logged_and_bounded);
}

int main(void)
{
    return run_suite("session_request", add);
}
