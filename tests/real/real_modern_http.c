/* 2026-07-28 over HTTP: no sessions, every request stands for itself, its headers say
 * what its body does, and whoever hangs up cancels. */
#include "listener.h"

static struct listener *modern;

static void use_modern(const char *type, const char *flag)
{
    modern = listener_node("./modern-server.mjs", LISTENER_LIST("--http=0", flag), NULL);
    real_use_url(type, "http://127.0.0.1:%d/mcp", modern->port);
}

static void open_modern(void)
{
    use_modern("http", NULL);
    real_open();
}

/* ---- connecting ---- */

static void check_modern(void)
{
    ck_assert_str_eq(real_revision(), "2026-07-28");
    ck_contains(real_info(), "\"modern\"");
    ck_assert_str_eq(real_instructions(), "Greet first.");
    ck_assert_str_eq(real_text("add", "{\"a\":1,\"b\":2}"), "3");
    real_close();
    ck_assert_int_eq(listener_count(modern, 0, "heard initialize"), 0);
    ck_assert_int_eq(listener_count(modern, 0, "test: GET"), 0);
    ck_assert_int_eq(listener_count(modern, 0, "test: DELETE"), 0);
}

START_TEST(there_is_no_session_and_nothing_to_end)
{
    open_modern();
    check_modern();
}
END_TEST

START_TEST(it_is_reached_by_its_url_alone)
{
    use_modern(NULL, NULL);
    real_open();
    check_modern();
}
END_TEST

START_TEST(a_server_of_both_eras_is_spoken_to_in_the_newer)
{
    use_modern("http", "--both");
    real_open();
    check_modern();
}
END_TEST

START_TEST(a_server_of_both_eras_speaks_the_older_without_a_session)
{
    real.options.revision = "2025-11-25";
    use_modern("http", "--both");
    real_open();
    ck_assert_str_eq(real_revision(), "2025-11-25");
    ck_assert_str_eq(real_text("add", "{\"a\":1,\"b\":2}"), "3");
    LISTENER_TOLD(modern, "test: end GET /mcp 405"); /* no stream is fine */
    ck_assert_str_eq(real_text("add", "{\"a\":1,\"b\":3}"), "4");
}
END_TEST

START_TEST(a_server_of_this_revision_alone_refuses_an_older_one)
{
    use_modern("http", NULL);
    real.options.revision = "2025-11-25";
    const struct mcplug_error *why = real_refused();
    ck_assert_int_ne(why->code, MCPLUG_ETIMEDOUT);
    ck_contains(why->text, "2025-11-25");
}
END_TEST

START_TEST(it_can_be_asked_whether_it_lives)
{
    open_modern();
    real_ping();
    json_t *found = real_ask("server/discover", NULL);
    ck_assert_str_eq(at(found, "supportedVersions/0"), "2026-07-28");
}
END_TEST

/* ---- headers that mirror the message ---- */

#define ROUTE                                                                            \
    "{\"region\":\"eu \\u00fc\",\"level\":-7,\"where\":{\"dry\":true},\"secret\":\"s\"}"

static void check_headers(const char *text)
{
    json_t *headers = json_loads(text, 0, NULL);

    ck_assert_msg(headers != NULL, "%s", text);
    ck_assert_str_eq(at(headers, "mcp-method"), "tools/call");
    ck_assert_str_eq(at(headers, "mcp-name"), "route");
    ck_assert_str_eq(at(headers, "mcp-protocol-version"), "2026-07-28");
    ck_assert_str_eq(at(headers, "mcp-param-region"), "=?base64?ZXUgw7w=?=");
    ck_assert_str_eq(at(headers, "mcp-param-level"), "-7");
    ck_assert_str_eq(at(headers, "mcp-param-dry"), "true");
    ck_assert_ptr_null(json_object_get(headers, "mcp-session-id"));
    ck_assert_uint_eq(json_object_size(headers), 6);
    json_decref(headers);
}

START_TEST(arguments_go_along_as_headers_where_the_schema_says_so)
{
    open_modern();
    real_count(MCPLUG_TOOLS);
    size_t before = modern->len;
    check_headers(real_text("route", ROUTE));
    ck_assert_int_eq(listener_count(modern, before, "heard tools/call"), 1);
}
END_TEST

/* It is refused with -32020 then, and told in the schema which headers are missing. */
START_TEST(the_schema_is_fetched_when_the_server_misses_headers)
{
    open_modern();
    check_headers(real_text("route", ROUTE));
    check_headers(real_text("route", ROUTE));
    ck_assert_int_eq(listener_count(modern, 0, "heard tools/list"), 1);
    ck_assert_int_eq(listener_count(modern, 0, "test: end POST /mcp 400"), 1);
}
END_TEST

START_TEST(an_argument_that_is_not_given_has_no_header)
{
    open_modern();
    real_count(MCPLUG_TOOLS);
    json_t *headers = json_loads(real_text("route", "{\"region\":\"eu\"}"), 0, NULL);
    ck_assert_str_eq(at(headers, "mcp-param-region"), "eu");
    ck_assert_uint_eq(json_object_size(headers), 4);
    json_decref(headers);
}
END_TEST

/* ---- questions ---- */

START_TEST(a_question_is_answered_and_the_call_goes_on)
{
    real.elicit.answer = "{\"action\":\"accept\",\"content\":{\"name\":\"Ada\"}}";
    open_modern();
    ck_assert_str_eq(real_text("greet", "{}"), "hello Ada");
    ck_assert_int_eq(real.elicit.asked, 1);
    ck_assert_int_eq(listener_count(modern, 0, "heard tools/call"), 2);
    ck_assert_int_eq(listener_count(modern, 0, "heard a reply"), 0);
}
END_TEST

START_TEST(two_rounds_of_questions_keep_the_servers_state)
{
    real.elicit.answer = "{\"action\":\"accept\",\"content\":{\"name\":\"Ada\"}}";
    real.sample.answer = "{\"role\":\"assistant\",\"model\":\"m\",\"content\":"
                         "{\"type\":\"text\",\"text\":\"roses\"}}";
    real.roots.answer = "{\"roots\":[{\"uri\":\"file:///tmp/a\"}]}";
    open_modern();
    const char *text = real_text("consult", "{\"word\":\"w\\u00fcrd\"}");
    ck_contains(text, "\"word\":\"w\xc3\xbcrd\"");
    ck_contains(text, "\"poem\":\"roses\"");
    ck_contains(text, "\"who\":\"Ada\"");
    ck_assert_int_eq(listener_count(modern, 0, "heard tools/call"), 3);
}
END_TEST

/* ---- subscriptions ---- */

START_TEST(a_new_tool_is_told_on_the_stream_of_the_subscription)
{
    open_modern();
    real_count(MCPLUG_TOOLS);
    LISTENER_TOLD(modern, "somebody listens");
    ck_assert_str_eq(real_text("grow", "{}"), "extra-1");
    REAL_UNTIL(real.changed[MCPLUG_TOOLS] > 0);
    ck_assert(real_lists(MCPLUG_TOOLS, "extra-1"));
    ck_assert_str_eq(real_text("extra-1", "{}"), "extra-1");
    ck_assert_int_eq(listener_count(modern, 0, "end POST /mcp 200 cut"), 0);
    real_close(); /* it listens until then */
    LISTENER_TOLD(modern, "end POST /mcp 200 cut");
}
END_TEST

START_TEST(only_what_we_subscribed_to_is_told)
{
    open_modern();
    LISTENER_TOLD(modern, "somebody listens");
    size_t before = modern->len;
    real_subscribe("note://today");
    REAL_UNTIL(listener_count(modern, before, "somebody listens") > 0);
    real_tool("write", "{\"note\":\"somebody listens\"}");
    REAL_UNTIL(real.updated > 0);
    ck_assert_str_eq(real.uri, "note://today");
    json_t *read = real_ask("resources/read", "{\"uri\":\"note://today\"}");
    ck_assert_str_eq(at(read, "contents/0/text"), "somebody listens");
    ck_assert_int_eq(real.updated, 1);
}
END_TEST

/* ---- time ---- */

START_TEST(progress_arrives_on_the_stream_of_the_call)
{
    struct reply reply;

    open_modern();
    real_begin_tool("slow", "{\"ms\":400,\"steps\":4,\"name\":\"it\"}", &reply);
    REAL_UNTIL(reply.progress > 0);
    ck_assert(!reply.done);
    REAL_UNTIL(reply.done);
    ck_assert_str_eq(text_of(reply.json), "it is done");
    ck_assert_int_eq(reply.progress, 4);
    ck_assert_str_eq(reply.step, "step 4");
    reply_clear(&reply);
}
END_TEST

START_TEST(a_call_is_cancelled_by_hanging_up)
{
    struct reply reply;

    open_modern();
    real_begin_tool("slow", "{\"ms\":60000,\"steps\":600,\"name\":\"sleepy\"}", &reply);
    REAL_UNTIL(reply.progress > 0);
    real_cancel(&reply);
    REAL_UNTIL(reply.done);
    ck_assert_int_eq(reply.code, MCPLUG_ECANCELED);
    LISTENER_TOLD(modern, "cancelled sleepy");
    ck_assert_str_eq(real_text("cancelled", "{}"), "sleepy");
    ck_assert_int_eq(listener_count(modern, 0, "heard notifications/cancelled"), 0);
}
END_TEST

START_TEST(a_call_that_has_not_answered_yet_is_cancelled_too)
{
    struct reply reply;

    open_modern();
    size_t before = modern->len;
    real_begin_tool("slow", "{\"ms\":60000,\"steps\":1,\"name\":\"mute\"}", &reply);
    REAL_UNTIL(listener_count(modern, before, "heard tools/call") > 0);
    real_cancel(&reply);
    REAL_UNTIL(reply.done);
    LISTENER_TOLD(modern, "cancelled mute");
}
END_TEST

/* ---- results ---- */

START_TEST(an_unknown_method_is_the_peers_error_behind_status_404)
{
    open_modern();
    const struct reply *reply = real_try("no/such/method", NULL);
    ck_assert_int_eq(reply->code, MCPLUG_EPEER);
    ck_assert_int_eq(reply->status, -32601);
    LISTENER_TOLD(modern, "test: end POST /mcp 404");
    ck_assert_str_eq(real_text("add", "{\"a\":1,\"b\":2}"), "3");
}
END_TEST

START_TEST(failures_of_tools_and_logs_of_calls_arrive)
{
    real.options.log_level = "warning";
    open_modern();
    const struct reply *reply = real_try_tool("fail", "{}");
    ck_assert_int_eq(reply->code, MCPLUG_OK);
    ck_assert(reply->is_error);
    real_tool("chat", "{}");
    ck_assert_int_eq(real.logged, 2);
    ck_assert_str_eq(at(real.log, "0/data"), "this is warning");
}
END_TEST

START_TEST(a_hundred_calls_at_once_each_get_their_own_answer)
{
    enum { MANY = 100 };
    static struct reply replies[MANY];
    char text[100];

    open_modern();
    for (int i = 0; i < MANY; i++) {
        snprintf(text, sizeof text, "{\"a\":%d,\"b\":1000}", i);
        real_begin_tool("add", text, &replies[i]);
    }
    for (int i = 0; i < MANY; i++) {
        REAL_UNTIL(replies[i].done);
        ck_assert_msg(replies[i].code == MCPLUG_OK, "%d: %s", i, replies[i].why);
        ck_assert_int_eq(atoi(text_of(replies[i].json)), i + 1000);
        reply_clear(&replies[i]);
    }
}
END_TEST

/* ---- a server that people use ---- */

START_TEST(context7_is_modern_and_says_what_failed)
{
    struct listener *context7 = listener_node(
        "@upstash/context7-mcp/dist/index.js",
        LISTENER_LIST("--transport", "http", "--port", "0"),
        LISTENER_LIST("CONTEXT7_API_URL=http://127.0.0.1:9/api", /* nobody is there */
                      "OTEL_SDK_DISABLED=true"));

    real_use_url(NULL, "http://127.0.0.1:%d/mcp", context7->port);
    real_open();
    ck_assert_str_eq(real_revision(), "2026-07-28");
    ck_contains(real_info(), "\"name\":\"Context7\"");
    ck_assert_uint_eq(real_count(MCPLUG_TOOLS), 2);
    const struct reply *reply = real_try_tool(
        "resolve-library-id", "{\"query\":\"hooks\",\"libraryName\":\"react\"}");
    ck_assert_int_eq(reply->code, MCPLUG_OK);
    ck_contains(text_of(reply->json), "Error");
}
END_TEST

int main(void)
{
    REAL_SUITE("@modelcontextprotocol/server 2 over HTTP",
               there_is_no_session_and_nothing_to_end, it_is_reached_by_its_url_alone,
               a_server_of_both_eras_is_spoken_to_in_the_newer,
               a_server_of_both_eras_speaks_the_older_without_a_session,
               a_server_of_this_revision_alone_refuses_an_older_one,
               it_can_be_asked_whether_it_lives,
               arguments_go_along_as_headers_where_the_schema_says_so,
               the_schema_is_fetched_when_the_server_misses_headers,
               an_argument_that_is_not_given_has_no_header,
               a_question_is_answered_and_the_call_goes_on,
               two_rounds_of_questions_keep_the_servers_state,
               a_new_tool_is_told_on_the_stream_of_the_subscription,
               only_what_we_subscribed_to_is_told,
               progress_arrives_on_the_stream_of_the_call,
               a_call_is_cancelled_by_hanging_up,
               a_call_that_has_not_answered_yet_is_cancelled_too,
               an_unknown_method_is_the_peers_error_behind_status_404,
               failures_of_tools_and_logs_of_calls_arrive,
               a_hundred_calls_at_once_each_get_their_own_answer);
    REAL_SUITE("context7-mcp over HTTP", context7_is_modern_and_says_what_failed);
    return real_run();
}
