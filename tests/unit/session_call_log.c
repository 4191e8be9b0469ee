/* What the log says of tools that run, and what happens meanwhile: times, pings,
 * errors, cancelling. */
#include "fake.h"

#include <stdio.h>
#include <stdlib.h>

#define TOOLS "{\"tools\":{}}"

static struct fake f;

/* What a call came to, in the words of a tool. */
struct end {
    unsigned times;
    int code;
    char text[512], error[512];
    uint64_t id;
    unsigned steps;
    double progress, total;
    char message[64];
};

static void on_end(void *arg, mcplug_call *call, mcplug_result *result,
                   const struct mcplug_error *why)
{
    struct end *e = arg;
    (void)call;
    e->times++;
    if (why) {
        e->code = why->code;
        snprintf(e->text, sizeof e->text, "%s", why->text);
    } else if (mcplug_result_is_error(result)) {
        snprintf(e->error, sizeof e->error, "%s", mcplug_result_error_text(result));
    }
}

static void on_step(void *arg, mcplug_call *call, double progress, double total,
                    const char *message)
{
    struct end *e = arg;
    (void)call;
    e->steps++;
    e->progress = progress;
    e->total = total;
    snprintf(e->message, sizeof e->message, "%s", message ? message : "-");
}

static mcplug_call *start_with(struct end *e, const char *tool,
                               struct mcplug_call_options *o)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;

    memset(e, 0, sizeof *e);
    mcplug_call *call = fake_call(f.server, tool, NULL, o, on_end, e, &err);
    ck_assert_msg(call != NULL, "%s", err.text);
    e->id = fake_expect(&f, "tools/call");
    return call;
}

static mcplug_call *start(struct end *e, const char *tool)
{
    return start_with(e, tool, NULL);
}

static void answer(const struct end *e, const char *members)
{
    fake_sayf(&f,
              "{\"jsonrpc\":\"2.0\",\"id\":%llu,\"result\":{\"resultType\":\"complete\""
              "%s%s}}",
              (unsigned long long)e->id, *members ? "," : "", members);
}

static void answer_ping(const char *method)
{
    struct end ping = {.id = fake_expect(&f, method)};
    answer(&ping, "");
}

/* How often the log has it. */
static unsigned told(const char *text)
{
    unsigned n = 0;
    for (const char *at = f.logged; (at = strstr(at, text)); at++)
        n++;
    return n;
}

#define TOLD(text)                                                                       \
    ck_assert_msg(told(text) == 1, "%u of: %s\n%s", told(text), text, f.logged)

static void forget(void)
{
    f.logged[0] = '\0';
}

static void set_up(void)
{
    fake_init(&f);
}

static void tear_down(void)
{
    fake_clear(&f);
}

/* ---- X1 ---- */

START_TEST(x1_a_call_is_told_when_it_begins_and_how_it_ended)
{
    struct end e;
    fake_legacy(&f, NULL, TOOLS);
    start(&e, "read_file");
    ck_assert_ptr_nonnull(strstr(f.logged, "VRB mcp:fake Calling MCP tool: read_file\n"));
    fake_pass(&f, 340);
    answer(&e, "\"content\":[]");
    ck_assert_uint_eq(e.times, 1);
    TOLD("VRB mcp:fake Tool 'read_file' completed successfully in 340ms\n");
}
END_TEST

START_TEST(x1_a_time_is_told_in_the_unit_that_fits)
{
    static const struct {
        uint64_t ms;
        const char *text;
    } times[] = {{0, "0ms"},          {999, "999ms"},    {1000, "1s"},
                 {12000, "12s"},      {12999, "12s"},    {59999, "59s"},
                 {60000, "1m 0s"},    {125000, "2m 5s"}, {3599999, "59m 59s"},
                 {7325000, "122m 5s"}};
    fake_legacy(&f, NULL, TOOLS);
    for (size_t i = 0; i < MP_COUNT(times); i++) {
        char want[128];
        struct end e;
        forget();
        start(&e, "T");
        fake_pass(&f, times[i].ms);
        answer(&e, "");
        snprintf(want, sizeof want, "Tool 'T' completed successfully in %s\n",
                 times[i].text);
        TOLD(want);
    }
}
END_TEST

START_TEST(x1_a_call_is_told_to_be_running_every_thirty_seconds)
{
    struct end e;
    fake_legacy(&f, NULL, TOOLS);
    start(&e, "T");
    fake_pass(&f, 29999);
    ck_assert_uint_eq(told("still running"), 0);
    fake_pass(&f, 1);
    TOLD("VRB mcp:fake Tool 'T' still running (30s elapsed)\n");
    for (int i = 0; i < 9; i++)
        fake_pass(&f, 30000);
    ck_assert_uint_eq(told("still running"), 10);
    TOLD("Tool 'T' still running (300s elapsed)\n");
    answer(&e, "");
    forget();
    fake_pass(&f, 600000);
    ck_assert_str_eq(f.logged, "");
}
END_TEST

START_TEST(x1_each_of_several_calls_has_its_own_thirty_seconds)
{
    struct end a, b, c;
    fake_legacy(&f, NULL, TOOLS);
    start(&a, "A");
    fake_pass(&f, 10000);
    start(&b, "B");
    fake_pass(&f, 15000);
    start(&c, "C");
    fake_pass(&f, 5000); /* 30 s of A, 20 of B, 5 of C */
    TOLD("Tool 'A' still running (30s elapsed)");
    ck_assert_uint_eq(told("still running"), 1);
    fake_pass(&f, 10000);
    TOLD("Tool 'B' still running (30s elapsed)");
    answer(&b, "");
    fake_pass(&f, 20000);
    TOLD("Tool 'C' still running (30s elapsed)");
    TOLD("Tool 'A' still running (60s elapsed)");
    answer(&a, "");
    fake_pass(&f, 25000);
    TOLD("Tool 'C' still running (60s elapsed)");
    ck_assert_uint_eq(told("still running"), 5);
    answer(&c, "");
    TOLD("Tool 'B' completed successfully in 30s");
    TOLD("Tool 'A' completed successfully in 1m 0s");
    TOLD("Tool 'C' completed successfully in 1m 0s");
}
END_TEST

/* As for a call that waited for its server, or for its turn. */
START_TEST(x1_time_that_was_spent_before_counts)
{
    struct mcplug_call_options o = {.struct_size = sizeof o, .waited_ms = 29000};
    struct end a, b;
    fake_legacy(&f, NULL, TOOLS);
    start(&a, "A");
    start_with(&b, "B", &o);
    fake_pass(&f, 1000);
    TOLD("Tool 'B' still running (30s elapsed)");
    fake_pass(&f, 29000);
    TOLD("Tool 'A' still running (30s elapsed)");
    fake_pass(&f, 1000);
    TOLD("Tool 'B' still running (60s elapsed)");
    answer(&b, "");
    TOLD("Tool 'B' completed successfully in 1m 0s");
    answer(&a, "");
}
END_TEST

START_TEST(x1_a_failure_says_after_what_time_and_why)
{
    struct end e;
    fake_legacy(&f, NULL, TOOLS);
    start(&e, "T");
    fake_pass(&f, 12400);
    fake_sayf(&f,
              "{\"jsonrpc\":\"2.0\",\"id\":%llu,\"error\":{\"code\":-32602,"
              "\"message\":\"no such tool\"}}",
              (unsigned long long)e.id);
    ck_assert_int_eq(e.code, MCPLUG_EPEER);
    ck_assert_uint_eq(told("VRB mcp:fake Tool 'T' failed after 12s: "), 1);
    ck_assert_ptr_nonnull(strstr(strstr(f.logged, "failed after"), "no such tool"));
    start(&e, "U");
    fake_pass(&f, 500);
    fake_hang_up(&f, 0, "exit status 3");
    ck_assert_int_eq(e.code, MCPLUG_ECLOSED);
    ck_assert_uint_eq(told("Tool 'U' failed after 500ms: "), 1);
    ck_assert_uint_eq(told("completed"), 0);
}
END_TEST

START_TEST(x1_other_requests_are_not_tools)
{
    struct end e = {0};
    fake_legacy(&f, NULL, TOOLS);
    forget();
    fake_request(f.server, "prompts/get", NULL, NULL, on_end, &e, NULL);
    e.id = fake_expect(&f, "prompts/get");
    fake_pass(&f, 59000);
    ck_assert_uint_eq(f.server->calls.beat.slot, 0);
    answer(&e, "");
    ck_assert_str_eq(f.logged, "");
}
END_TEST

START_TEST(x1_who_wants_no_such_lines_pays_for_none)
{
    struct end e;
    mp_events_init(&f.log, f.log.log, &f, MCPLUG_LOG_WARN);
    fake_legacy(&f, NULL, TOOLS);
    start(&e, "T");
    ck_assert_uint_eq(f.server->calls.beat.slot, 0);
    fake_pass(&f, 90000);
    answer(&e, "\"isError\":true");
    ck_assert_str_eq(f.logged, "");
}
END_TEST

/* ---- X2 ---- */

START_TEST(x2_the_time_for_a_tool_is_a_hundred_thousand_seconds)
{
    struct end e;
    fake_legacy(&f, NULL, TOOLS);
    start(&e, "slow");
    fake_pass(&f, 99999999);
    ck_assert_uint_eq(e.times, 0);
    forget(); /* that it was running still */
    fake_pass(&f, 1);
    ck_assert_int_eq(e.code, MCPLUG_ETIMEDOUT);
    ck_assert_str_eq(e.text, "MCP tool call 'slow' timed out after 100000s");
    TOLD("Tool 'slow' failed after 1666m 40s: MCP tool call 'slow' timed out after "
         "100000s\n");
}
END_TEST

START_TEST(x2_the_server_is_told_when_the_time_is_up)
{
    struct end e;
    char want[64];
    fake_legacy(&f, NULL, TOOLS);
    start(&e, "slow");
    fake_pass(&f, 100000000);
    const char *frame = fake_next(&f);
    ck_assert_ptr_nonnull(strstr(frame, "\"notifications/cancelled\""));
    snprintf(want, sizeof want, "\"requestId\":%llu", (unsigned long long)e.id);
    ck_assert_msg(strstr(frame, want) != NULL, "%s", frame);
    answer(&e, ""); /* too late */
    ck_assert_uint_eq(e.times, 1);
    ck_assert_uint_eq(told("completed"), 0);
}
END_TEST

START_TEST(x2_a_time_of_the_server_or_of_the_call_comes_first)
{
    struct mp_session_options s = {.tool_ms = 5000};
    struct mcplug_call_options o = {.struct_size = sizeof o, .timeout_ms = 1500};
    struct end of_server, of_call;
    fake_legacy(&f, &s, TOOLS);
    start(&of_server, "A");
    start_with(&of_call, "B", &o);
    fake_pass(&f, 1500);
    ck_assert_str_eq(of_call.text, "MCP tool call 'B' timed out after 1500ms");
    ck_assert_uint_eq(of_server.times, 0);
    fake_expect(&f, "notifications/cancelled");
    fake_pass(&f, 3500);
    ck_assert_str_eq(of_server.text, "MCP tool call 'A' timed out after 5s");
    fake_expect(&f, "notifications/cancelled");
    TOLD("Tool 'B' failed after 1s: MCP tool call 'B' timed out after 1500ms\n");
    o.timeout_ms = 9000; /* also when it is the longer one */
    start_with(&of_call, "C", &o);
    fake_pass(&f, 8999);
    ck_assert_uint_eq(of_call.times, 0);
    fake_pass(&f, 1);
    ck_assert_str_eq(of_call.text, "MCP tool call 'C' timed out after 9s");
}
END_TEST

/* ---- X3 ---- */

static void keeps_alive(const char *method)
{
    struct end a, b;

    fake_pass(&f, 500000);
    ck_assert(fake_idle(&f)); /* nobody calls */
    start(&a, "A");
    fake_pass(&f, 20000);
    start(&b, "B"); /* one ping for both */
    fake_pass(&f, 29999);
    ck_assert(fake_idle(&f));
    fake_pass(&f, 1);
    answer_ping(method);
    ck_assert(fake_idle(&f));
    answer(&a, "");
    for (int i = 0; i < 3; i++) {
        fake_pass(&f, 50000);
        answer_ping(method);
    }
    ck_assert(fake_idle(&f));
    answer(&b, "");
    fake_pass(&f, 500000);
    ck_assert(fake_idle(&f));
    ck_assert_uint_eq(told("WRN") + told("ERR"), 0);
    start(&a, "A"); /* and again */
    fake_pass(&f, 50000);
    answer_ping(method);
    answer(&a, "");
}

/* _i: 0 legacy, ping; 1 modern, server/discover */
START_TEST(x3_the_server_is_pinged_while_a_tool_runs)
{
    struct mp_session_options o = {.keep_alive_ms = 50000};
    (_i ? fake_modern : fake_legacy)(&f, &o, TOOLS);
    keeps_alive(_i ? "server/discover" : "ping");
}
END_TEST

START_TEST(x3_without_being_asked_nobody_is_pinged)
{
    struct end e;
    fake_legacy(&f, NULL, TOOLS);
    start(&e, "T");
    fake_pass(&f, 1000000);
    ck_assert(fake_idle(&f));
    answer(&e, "");
}
END_TEST

START_TEST(x3_a_ping_that_nobody_answers_ends_no_call)
{
    struct mp_session_options o = {.keep_alive_ms = 50000};
    struct end e;
    fake_legacy(&f, &o, TOOLS);
    start(&e, "T");
    for (int i = 0; i < 10; i++)
        fake_pass(&f, 50000);
    ck_assert_uint_eq(e.times, 0);
    ck_assert_uint_ge(told("WRN mcp:fake ping: "), 7);
    answer(&e, "");
    ck_assert(e.times == 1 && e.code == MCPLUG_OK);
}
END_TEST

/* ---- X4 ---- */

START_TEST(x4_a_tools_own_failure_has_its_words)
{
    static const struct {
        const char *result, *text;
    } all[] = {
        {"\"isError\":true,\"content\":[{\"type\":\"text\",\"text\":\"disk full\"}]",
         "disk full"},
        {"\"isError\":true,\"content\":[{\"type\":\"text\",\"text\":\"first\"},{\"type\":"
         "\"text\",\"text\":\"second\"}],\"error\":\"third\"",
         "first"},
        {"\"isError\":true,\"error\":\"broken pipe\"", "broken pipe"},
        {"\"isError\":true,\"content\":[],\"error\":\"said apart\"", "said apart"},
        {"\"isError\":true,\"content\":[{\"type\":\"image\",\"data\":\"\"}]",
         "Unknown error"},
        {"\"isError\":true,\"content\":7,\"error\":{\"code\":1}", "Unknown error"},
        {"\"isError\":true", "Unknown error"},
    };
    fake_legacy(&f, NULL, TOOLS);
    for (size_t i = 0; i < MP_COUNT(all); i++) {
        char want[128];
        struct end e;
        forget();
        start(&e, "T");
        fake_pass(&f, 12000);
        answer(&e, all[i].result);
        ck_assert_int_eq(e.code, MCPLUG_OK); /* the server did answer */
        ck_assert_str_eq(e.error, all[i].text);
        snprintf(want, sizeof want, "VRB mcp:fake Tool 'T' failed after 12s: %s\n",
                 all[i].text);
        TOLD(want);
        ck_assert_uint_eq(told("completed"), 0);
    }
}
END_TEST

START_TEST(x4_what_is_no_error_is_none)
{
    static const char *const all[] = {"\"isError\":false", "\"isError\":\"true\"",
                                      "\"isError\":1", "\"error\":\"x\""};
    fake_legacy(&f, NULL, TOOLS);
    for (size_t i = 0; i < MP_COUNT(all); i++) {
        struct end e;
        forget();
        start(&e, "T");
        answer(&e, all[i]);
        ck_assert_str_eq(e.error, "");
        TOLD("completed successfully");
    }
}
END_TEST

/* Whatever a server or a tool is called, a line of the log is one line. */
START_TEST(x4_words_of_a_server_forge_no_lines)
{
    struct end e;
    fake_legacy(&f, NULL, TOOLS);
    forget();
    start(&e, "T\nERR core \033[2J");
    answer(&e, "\"isError\":true,\"error\":\"a\\nb\\u001b[31m\\u0007\"");
    unsigned lines = 0;
    for (const char *p = f.logged; *p; p++) {
        lines += *p == '\n';
        ck_assert(*p == '\n' || (unsigned char)*p >= 0x20);
    }
    ck_assert_msg(lines == 2, "%s", f.logged);
}
END_TEST

/* ---- X5 ---- */

START_TEST(x5_after_a_cancel_nothing_has_failed)
{
    struct end e;
    fake_legacy(&f, NULL, TOOLS);
    mcplug_cancel(start(&e, "T"));
    fake_turn(&f);
    ck_assert_int_eq(e.code, MCPLUG_ECANCELED);
    ck_assert_uint_eq(fake_id(fake_next(&f)), 0);
    answer(&e, "\"isError\":true");
    fake_pass(&f, 300000);
    ck_assert_uint_eq(e.times, 1);
    TOLD("Calling MCP tool: T");
    ck_assert_uint_eq(told("failed") + told("completed") + told("still"), 0);
    ck_assert_uint_eq(told("WRN") + told("ERR"), 0);
}
END_TEST

START_TEST(x5_closing_the_server_is_no_failure_of_its_tools)
{
    struct end e;
    fake_legacy(&f, NULL, TOOLS);
    start(&e, "T");
    fake_clear(&f);
    ck_assert_int_eq(e.code, MCPLUG_ECANCELED);
    ck_assert_uint_eq(told("failed") + told("completed"), 0);
    fake_init(&f);
}
END_TEST

/* ---- X6 ---- */

/* _i: 0 legacy, 1 modern */
START_TEST(x6_meta_goes_along_and_progress_comes_back)
{
    static const char trace[] = "\"traceparent\":\"00-4bf92f3577b34da6a3ce929d0e0e4736-"
                                "00f067aa0ba902b7-01\"";
    char meta[256];
    struct end e;

    (_i ? fake_modern : fake_legacy)(&f, NULL, TOOLS);
    snprintf(meta, sizeof meta, " {%s,\n\"com.example/tag\":{\"a\":[1]}} ", trace);
    struct mcplug_call_options o = {
        .struct_size = sizeof o, .meta = meta, .progress = on_step, .progress_arg = &e};
    start_with(&e, "T", &o);
    const char *frame = f.sent[f.n_seen - 1];
    const char *at = strstr(frame, "\"_meta\":{");
    ck_assert_ptr_nonnull(at);
    ck_assert_ptr_nonnull(strstr(at, trace));
    ck_assert_ptr_nonnull(strstr(at, "\"com.example/tag\":{\"a\":[1]}"));
    ck_assert_ptr_null(strchr(frame, '\n'));
    ck_assert_int_eq(strstr(at, "io.modelcontextprotocol/") != NULL, _i);
    const char *token = strstr(at, "\"progressToken\":");
    ck_assert_ptr_nonnull(token);
    ck_assert_uint_eq(strtoull(token + 16, NULL, 10), e.id);
    fake_sayf(&f,
              "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{"
              "\"progressToken\":%llu,\"progress\":3,\"total\":7.5,\"message\":\"so "
              "far\"}}",
              (unsigned long long)e.id);
    ck_assert_uint_eq(e.steps, 1);
    ck_assert(e.progress == 3 && e.total == 7.5);
    ck_assert_str_eq(e.message, "so far");
    fake_sayf(&f,
              "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{"
              "\"progressToken\":%llu,\"progress\":4}}",
              (unsigned long long)e.id);
    ck_assert_uint_eq(e.steps, 2);
    ck_assert(e.total < 0);
    ck_assert_str_eq(e.message, "-");
    answer(&e, "");
}
END_TEST

/* ---- L2 ---- */

static char traced[65536];

static void on_trace(void *arg, int level, const char *source, const char *text)
{
    size_t n = strlen(traced);
    (void)arg;
    if (level == MCPLUG_LOG_TRACE)
        snprintf(traced + n, sizeof traced - n, "%s %s\n", source, text);
}

/* _i: most verbose level wanted */
START_TEST(l2_what_is_sent_and_what_comes_is_told_when_tracing)
{
    struct end e;
    traced[0] = '\0';
    mp_events_init(&f.log, on_trace, NULL, _i);
    fake_legacy(&f, NULL, TOOLS);
    start(&e, "T");
    answer(&e, "\"content\":[{\"type\":\"text\",\"text\":\"raw\"}]");
    if (_i < MCPLUG_LOG_TRACE) {
        ck_assert_str_eq(traced, "");
        return;
    }
    ck_assert_ptr_nonnull(strstr(traced, "mcp:fake -> {\"jsonrpc\":\"2.0\""));
    ck_assert_ptr_nonnull(strstr(traced, "\"method\":\"tools/call\""));
    ck_assert_ptr_nonnull(strstr(traced, "mcp:fake <- {\"jsonrpc\":\"2.0\""));
    ck_assert_ptr_nonnull(strstr(traced, "\"text\":\"raw\""));
}
END_TEST

static void add(TCase *tc)
{
    tcase_add_checked_fixture(tc, set_up, tear_down);
    tcase_add_test(tc, x1_a_call_is_told_when_it_begins_and_how_it_ended);
    tcase_add_test(tc, x1_a_time_is_told_in_the_unit_that_fits);
    tcase_add_test(tc, x1_a_call_is_told_to_be_running_every_thirty_seconds);
    tcase_add_test(tc, x1_each_of_several_calls_has_its_own_thirty_seconds);
    tcase_add_test(tc, x1_time_that_was_spent_before_counts);
    tcase_add_test(tc, x1_a_failure_says_after_what_time_and_why);
    tcase_add_test(tc, x1_other_requests_are_not_tools);
    tcase_add_test(tc, x1_who_wants_no_such_lines_pays_for_none);
    tcase_add_test(tc, x2_the_time_for_a_tool_is_a_hundred_thousand_seconds);
    tcase_add_test(tc, x2_the_server_is_told_when_the_time_is_up);
    tcase_add_test(tc, x2_a_time_of_the_server_or_of_the_call_comes_first);
    tcase_add_loop_test(tc, x3_the_server_is_pinged_while_a_tool_runs, 0, 2);
    tcase_add_test(tc, x3_without_being_asked_nobody_is_pinged);
    tcase_add_test(tc, x3_a_ping_that_nobody_answers_ends_no_call);
    tcase_add_test(tc, x4_a_tools_own_failure_has_its_words);
    tcase_add_test(tc, x4_what_is_no_error_is_none);
    tcase_add_test(tc, x4_words_of_a_server_forge_no_lines);
    tcase_add_test(tc, x5_after_a_cancel_nothing_has_failed);
    tcase_add_test(tc, x5_closing_the_server_is_no_failure_of_its_tools);
    tcase_add_loop_test(tc, x6_meta_goes_along_and_progress_comes_back, 0, 2);
    tcase_add_loop_test(tc, l2_what_is_sent_and_what_comes_is_told_when_tracing,
                        MCPLUG_LOG_VERBOSE, MCPLUG_LOG_TRACE + 1);
}

int main(void)
{
    return run_suite("session_call_log", add);
}
