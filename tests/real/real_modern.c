/* Servers that speak 2026-07-28, over stdio and HTTP. What HTTP alone has is in
 * real_modern_http.c. */
#include "wire.h"

static void use_modern(const char *flag)
{
    wire_use(&modern, flag);
    if (!server)
        real_env("MCPLUG_TEST_NPM", real_need("MCPLUG_TEST_NPM"));
}

static void open_modern(void)
{
    use_modern(NULL);
    real_open();
}

/* What changes from here on is told: over HTTP the subscription takes a moment. `times`
 * it has been made by then, or made anew. */
static void await_subscription(int times)
{
    if (server)
        REAL_UNTIL(wire_count("somebody listens") >= times);
}

/* ---- the SDK's server: discovering ---- */

START_TEST(discovery_tells_who_it_is)
{
    open_modern();
    ck_assert_str_eq(real_revision(), "2026-07-28");
    ck_contains(real_info(), "\"version\":\"1.2.3\"");
    ck_contains(real_info(), "\"name\":\"modern\"");
    ck_contains(real_capabilities(), "\"subscribe\":true");
    ck_assert_str_eq(real_instructions(), "Greet first.");
    ck_assert_str_eq(real_text("add", "{\"a\":1,\"b\":2}"), "3");
}
END_TEST

START_TEST(every_request_says_who_we_are_and_what_we_can)
{
    static const char *const can[] = {"elicitation/form", "elicitation/url", "sampling",
                                      "roots"};
    json_t *meta, *mine;

    real.roots.answer = "{\"roots\":[]}";
    open_modern();
    meta = json_loads(real_text("meta", "{}"), 0, NULL);
    mine = json_object_get(get(meta, "envelope"),
                           "io.modelcontextprotocol/clientCapabilities");
    for (size_t i = 0; i < sizeof can / sizeof *can; i++)
        ck_assert_msg(json_is_object(get(mine, can[i])), "%s", can[i]);
    mine = json_object_get(get(meta, "envelope"), "io.modelcontextprotocol/clientInfo");
    ck_assert_str_eq(at(mine, "name"), "mcplug-test");
    json_decref(meta);
}
END_TEST

START_TEST(a_server_of_this_revision_alone_refuses_an_older_one)
{
    use_modern(NULL);
    real.options.revision = "2025-11-25";
    const struct mcplug_error *why = real_refused();
    ck_assert_int_ne(why->code, MCPLUG_ETIMEDOUT);
    ck_contains(why->text, "2025-11-25");
}
END_TEST

START_TEST(a_server_of_both_eras_is_spoken_to_in_the_newer)
{
    use_modern("--both");
    real_open();
    ck_assert_str_eq(real_revision(), "2026-07-28");
    ck_assert_str_eq(real_text("add", "{\"a\":1,\"b\":2}"), "3");
    if (server)
        ck_assert_int_eq(wire_heard("initialize"), 0);
}
END_TEST

START_TEST(a_server_of_both_eras_speaks_the_older_when_told_so)
{
    real.options.revision = "2025-11-25";
    use_modern("--both");
    real_open();
    ck_assert_str_eq(real_revision(), "2025-11-25");
    ck_assert_str_eq(real_text("add", "{\"a\":1,\"b\":2}"), "3");
}
END_TEST

/* Over HTTP it has no session then, and so no way to ask. */
START_TEST(a_server_of_both_eras_asks_in_the_older_too)
{
    real.elicit.answer = "{\"action\":\"accept\",\"content\":{\"name\":\"Ada\"}}";
    real.options.revision = "2025-11-25";
    use_modern("--both");
    real_open();
    ck_assert_str_eq(real_revision(), "2025-11-25");
    ck_assert_str_eq(real_text("greet", "{}"), "hello Ada");
}
END_TEST

/* By the time it answers the probe, initialize may have been tried: one era only may
 * come of that, and everything has to work in it. */
START_TEST(a_server_of_both_eras_that_starts_slowly_is_in_one_era)
{
    real.elicit.answer = "{\"action\":\"accept\",\"content\":{\"name\":\"Ada\"}}";
    use_modern("--both");
    real_arg("--late=4000");
    real_open();
    ck_assert_str_eq(real_text("greet", "{}"), "hello Ada");
    real_tool("grow", "{}");
    REAL_UNTIL(real.changed[MCPLUG_TOOLS] > 0);
    json_t *sum = real_tool("add", "{\"a\":1,\"b\":2}");
    bool modern = strcmp(real_revision(), "2026-07-28") == 0;
    ck_assert_int_eq(strcmp(at(sum, "resultType"), "complete") == 0, modern);
}
END_TEST

START_TEST(it_can_be_asked_whether_it_lives_and_what_it_is)
{
    open_modern();
    real_ping();
    json_t *found = real_ask("server/discover", NULL);
    ck_assert_str_eq(at(found, "supportedVersions/0"), "2026-07-28");
}
END_TEST

/* ---- input required ---- */

START_TEST(a_question_is_answered_and_the_call_goes_on)
{
    real.elicit.answer = "{\"action\":\"accept\",\"content\":{\"name\":\"Ada\"}}";
    open_modern();
    ck_assert_str_eq(real_text("greet", "{}"), "hello Ada");
    ck_assert_int_eq(real.elicit.asked, 1);
    ck_assert_str_eq(at(real.elicit.params, "message"), "Who are you?");
    if (server) {
        ck_assert_int_eq(wire_heard("tools/call"), 2);
        ck_assert_int_eq(wire_heard("a reply"), 0);
    }
}
END_TEST

START_TEST(a_question_is_declined)
{
    real.elicit.answer = "{\"action\":\"decline\"}";
    open_modern();
    ck_assert_str_eq(real_text("greet", "{}"), "decline");
}
END_TEST

START_TEST(two_rounds_of_questions_keep_the_servers_state)
{
    real.elicit.answer = "{\"action\":\"accept\",\"content\":{\"name\":\"Ada\"}}";
    real.sample.answer = "{\"role\":\"assistant\",\"model\":\"m\",\"content\":"
                         "{\"type\":\"text\",\"text\":\"roses \\\"are\\\" red\"}}";
    real.roots.answer = "{\"roots\":[{\"uri\":\"file:///tmp/a\"}]}";
    open_modern();
    const char *text = real_text("consult", "{\"word\":\"w\\u00fcrd\"}");
    json_t *state = json_loads(text, 0, NULL);
    ck_assert_msg(state != NULL, "%s", text);
    ck_assert_str_eq(at(state, "word"), "w\xc3\xbcrd");
    ck_assert_str_eq(at(state, "poem"), "roses \"are\" red");
    ck_assert_str_eq(at(state, "roots/0"), "file:///tmp/a");
    ck_assert_str_eq(at(state, "who"), "Ada");
    json_decref(state);
    ck_assert_int_eq(real.sample.asked, 1);
    ck_assert_int_eq(real.roots.asked, 1);
    ck_assert_int_eq(real.elicit.asked, 1);
    if (server)
        ck_assert_int_eq(wire_heard("tools/call"), 3);
}
END_TEST

START_TEST(calls_at_once_do_not_mix_their_questions)
{
    enum { MANY = 8 };
    struct reply replies[MANY];
    char text[100];

    real.elicit.answer = "{\"action\":\"accept\",\"content\":{\"name\":\"Ada\"}}";
    real.sample.answer = "{\"role\":\"assistant\",\"model\":\"m\",\"content\":"
                         "{\"type\":\"text\",\"text\":\"\"}}";
    real.roots.answer = "{\"roots\":[]}";
    open_modern();
    for (int i = 0; i < MANY; i++) {
        snprintf(text, sizeof text, "{\"word\":\"word-%d\"}", i);
        real_begin_tool("consult", text, &replies[i]);
    }
    for (int i = 0; i < MANY; i++) {
        REAL_UNTIL(replies[i].done);
        snprintf(text, sizeof text, "\"word\":\"word-%d\"", i);
        ck_contains(text_of(replies[i].json), text);
        reply_clear(&replies[i]);
    }
    ck_assert_int_eq(real.elicit.asked, MANY);
}
END_TEST

START_TEST(a_link_is_opened)
{
    real.elicit_url.answer = "{\"action\":\"accept\"}";
    open_modern();
    ck_assert_str_eq(real_text("visit", "{}"), "visit: accept");
    ck_assert_str_eq(at(real.elicit_url.params, "url"), "https://example.com/form");
}
END_TEST

START_TEST(a_refused_question_ends_the_call)
{
    open_modern();
    const struct reply *reply = real_try_tool("greet", "{}");
    ck_assert_int_lt(reply->code, 0);
    ck_contains(reply->why, "nobody is at home");
    ck_assert_int_eq(real.elicit.asked, 1);
}
END_TEST

START_TEST(a_question_that_we_cannot_answer_is_not_asked)
{
    real.options.elicit = NULL;
    open_modern();
    const struct reply *reply = real_try_tool("greet", "{}");
    ck_assert(reply->code < 0 || reply->is_error);
    ck_assert_str_eq(real_text("add", "{\"a\":1,\"b\":2}"), "3");
}
END_TEST

START_TEST(a_server_that_asks_for_ever_is_given_up)
{
    real.elicit.answer = "{\"action\":\"accept\",\"content\":{\"name\":\"Ada\"}}";
    open_modern();
    const struct reply *reply = real_try_tool("insist", "{}");
    ck_assert_int_eq(reply->code, MCPLUG_EPROTO);
    ck_assert_int_gt(real.elicit.asked, 3);
    ck_assert_str_eq(real_text("greet", "{}"), "hello Ada");
    real.breaches = 1;
}
END_TEST

/* ---- subscriptions ---- */

START_TEST(a_new_tool_is_told_and_then_listed)
{
    open_modern();
    ck_assert(!real_lists(MCPLUG_TOOLS, "extra-1"));
    await_subscription(1);
    ck_assert_str_eq(real_text("grow", "{}"), "extra-1");
    REAL_UNTIL(real.changed[MCPLUG_TOOLS] > 0);
    ck_assert(real_lists(MCPLUG_TOOLS, "extra-1"));
    ck_assert_str_eq(real_text("extra-1", "{}"), "extra-1");
    if (server) {
        ck_assert_int_eq(wire_count("end POST /mcp 200 cut"), 0);
        real_close(); /* it listens until then */
        WIRE_TOLD("end POST /mcp 200 cut");
    }
}
END_TEST

START_TEST(a_fresh_list_is_kept)
{
    open_modern();
    real_count(MCPLUG_TOOLS);
    struct mcplug_ledger before = real_ledger();
    real_count(MCPLUG_TOOLS);
    ck_assert_uint_eq(real_ledger().issued, before.issued);
}
END_TEST

START_TEST(only_what_we_subscribed_to_is_told)
{
    open_modern();
    await_subscription(1);
    real_tool("write", "{\"note\":\"nobody listens\"}");
    real_subscribe("note://today");
    await_subscription(2);
    real_tool("write", "{\"note\":\"somebody reads\"}");
    REAL_UNTIL(real.updated > 0);
    ck_assert_str_eq(real.uri, "note://today");
    json_t *read = real_ask("resources/read", "{\"uri\":\"note://today\"}");
    ck_assert_str_eq(at(read, "contents/0/text"), "somebody reads");

    real_unsubscribe("note://today");
    await_subscription(3);
    real_tool("write", "{\"note\":\"nobody again\"}");
    real_tool("add", "{\"a\":1,\"b\":2}");
    ck_assert_int_eq(real.updated, 1);
}
END_TEST

START_TEST(lists_are_watched_on_while_subscriptions_change)
{
    open_modern();
    await_subscription(1);
    real_subscribe("note://today");
    await_subscription(2);
    real_subscribe("note://tomorrow");
    await_subscription(3);
    real_tool("grow", "{}");
    real_tool("write", "{\"note\":\"\"}");
    REAL_UNTIL(real.changed[MCPLUG_TOOLS] > 0);
    REAL_UNTIL(real.updated == 2);
    ck_assert_str_eq(real.uri, "note://tomorrow");
}
END_TEST

/* ---- time ---- */

START_TEST(progress_arrives_with_its_message_as_it_is_made)
{
    struct reply reply;

    open_modern();
    real_begin_tool("slow", "{\"ms\":400,\"steps\":4,\"name\":\"it\"}", &reply);
    REAL_UNTIL(reply.progress > 0);
    ck_assert(!reply.done);
    REAL_UNTIL(reply.done);
    ck_assert_str_eq(text_of(reply.json), "it is done");
    ck_assert_int_eq(reply.progress, 4);
    ck_assert_double_eq(reply.total, 4);
    ck_assert_str_eq(reply.step, "step 4");
    reply_clear(&reply);
}
END_TEST

START_TEST(cancellation_reaches_the_tool)
{
    struct reply reply;

    open_modern();
    real_begin_tool("slow", "{\"ms\":60000,\"steps\":600,\"name\":\"sleepy\"}", &reply);
    REAL_UNTIL(reply.progress > 0);
    real_cancel(&reply);
    REAL_UNTIL(reply.done);
    ck_assert_int_eq(reply.code, MCPLUG_ECANCELED);
    WIRE_TOLD("cancelled sleepy");
    ck_assert_str_eq(real_text("cancelled", "{}"), "sleepy");
    if (server) /* it was hung up on, which says it */
        ck_assert_int_eq(wire_heard("notifications/cancelled"), 0);
}
END_TEST

START_TEST(a_call_that_takes_too_long_is_cancelled_there_too)
{
    struct reply reply;

    open_modern();
    real_begin_within(200, "slow", "{\"ms\":60000,\"steps\":1,\"name\":\"tardy\"}",
                      &reply);
    REAL_UNTIL(reply.done);
    ck_assert_int_eq(reply.code, MCPLUG_ETIMEDOUT);
    ck_assert_ptr_null(reply.json);
    WIRE_TOLD("cancelled tardy");
    ck_assert_str_eq(real_text("cancelled", "{}"), "tardy");
    real.timed_out = 1;
}
END_TEST

/* ---- results ---- */

START_TEST(structured_content_and_failures_arrive)
{
    open_modern();
    json_t *sum = real_tool("add", "{\"a\":1.5,\"b\":2}");
    ck_assert_double_eq(json_number_value(get(sum, "structuredContent/sum")), 3.5);
    const struct reply *reply = real_try_tool("fail", "{}");
    ck_assert_int_eq(reply->code, MCPLUG_OK);
    ck_assert(reply->is_error);
    reply = real_try_tool("no-such-tool", "{}");
    ck_assert(reply->code == MCPLUG_EPEER || reply->is_error);
}
END_TEST

START_TEST(an_unknown_method_is_the_peers_error)
{
    open_modern();
    const struct reply *reply = real_try("no/such/method", NULL);
    ck_assert_int_eq(reply->code, MCPLUG_EPEER);
    ck_assert_int_eq(reply->status, -32601);
    if (server)
        WIRE_TOLD("test: end POST /mcp 404");
    ck_assert_str_eq(real_text("add", "{\"a\":1,\"b\":2}"), "3");
}
END_TEST

START_TEST(a_hundred_calls_at_once_each_get_their_own_answer)
{
    open_modern();
    real_add_many("add", 100, NULL);
}
END_TEST

START_TEST(prompts_are_got_and_completed)
{
    open_modern();
    json_t *prompt =
        real_ask("prompts/get", "{\"name\":\"ode\",\"arguments\":{\"animal\":\"bee\"}}");
    ck_assert_str_eq(at(prompt, "messages/0/content/text"), "Praise the bee");
    json_t *values = real_ask("completion/complete",
                              "{\"ref\":{\"type\":\"ref/prompt\",\"name\":\"ode\"},"
                              "\"argument\":{\"name\":\"animal\",\"value\":\"be\"}}");
    ck_assert_uint_eq(json_array_size(get(values, "completion/values")), 2);
    ck_assert_str_eq(at(values, "completion/values/1"), "bear");
}
END_TEST

START_TEST(it_logs_from_the_level_of_the_request)
{
    real.options.log_level = "warning";
    open_modern();
    real_tool("chat", "{}");
    ck_assert_int_eq(real.logged, 2);
    ck_assert_str_eq(at(real.log, "0/level"), "warning");
    ck_assert_str_eq(at(real.log, "0/data"), "this is warning");
    ck_assert_str_eq(at(real.log, "1/logger"), "chat");
}
END_TEST

START_TEST(it_logs_nothing_unasked)
{
    open_modern();
    real_tool("chat", "{}");
    ck_assert_int_eq(real.logged, 0);
}
END_TEST

/* ---- servers that people use ---- */

static const struct peer context7 = {
    .script = "@upstash/context7-mcp/dist/index.js",
    .args = {[HTTP] = {"--transport", "http", "--port", "0"}},
    .env = {"CONTEXT7_API_URL=http://127.0.0.1:9/api", /* nobody is there */
            "OTEL_SDK_DISABLED=true"}};

START_TEST(context7_is_modern_and_says_what_failed)
{
    wire_use(&context7, NULL);
    if (server)
        wire_use_as(NULL, wire->path);
    real_open();
    ck_assert_str_eq(real_revision(), "2026-07-28");
    ck_contains(real_info(), "\"name\":\"Context7\"");
    ck_assert_uint_gt(strlen(real_instructions()), 100);
    ck_assert_uint_eq(real_count(MCPLUG_TOOLS), 2);
    ck_assert(real_lists(MCPLUG_TOOLS, "resolve-library-id"));
    const struct reply *reply = real_try_tool(
        "resolve-library-id", "{\"query\":\"hooks\",\"libraryName\":\"react\"}");
    ck_assert_int_eq(reply->code, MCPLUG_OK);
    ck_contains(text_of(reply->json), "Error");
}
END_TEST

START_TEST(mongodb_is_modern_and_misses_its_database)
{
    real_use("mongodb-mcp-server/dist/esm/index.js");
    real_env("HOME", real.dir);
    real_env("MDB_MCP_TELEMETRY", "disabled");
    real_open();
    ck_assert_str_eq(real_revision(), "2026-07-28");
    ck_contains(real_info(), "\"name\":\"MongoDB MCP Server\"");
    ck_assert_uint_gt(real_count(MCPLUG_TOOLS), 20);
    ck_assert(real_lists(MCPLUG_TOOLS, "list-databases"));
    ck_assert_uint_eq(real_count(MCPLUG_RESOURCES), 2);
    const struct reply *reply =
        real_try_tool("list-databases", "{\"connectionId\":\"none\"}");
    ck_assert_int_eq(reply->code, MCPLUG_OK);
    ck_assert(reply->is_error);
    ck_contains(text_of(reply->json), "connect");
    ck_assert_str_eq(at(reply->json, "resultType"), "complete"); /* modern to the end */
}
END_TEST

enum { ON_BOTH = ON_STDIO | ON_HTTP };

int main(void)
{
    WIRE_SUITES("@modelcontextprotocol/server 2", {ON_BOTH, discovery_tells_who_it_is},
                {ON_BOTH, every_request_says_who_we_are_and_what_we_can},
                {ON_BOTH, a_server_of_this_revision_alone_refuses_an_older_one},
                {ON_BOTH, it_can_be_asked_whether_it_lives_and_what_it_is},
                {ON_BOTH, a_server_of_both_eras_is_spoken_to_in_the_newer},
                {ON_BOTH, a_server_of_both_eras_speaks_the_older_when_told_so},
                {ON_STDIO, a_server_of_both_eras_asks_in_the_older_too},
                {ON_STDIO, a_server_of_both_eras_that_starts_slowly_is_in_one_era},
                {ON_BOTH, a_question_is_answered_and_the_call_goes_on},
                {ON_BOTH, a_question_is_declined},
                {ON_BOTH, two_rounds_of_questions_keep_the_servers_state},
                {ON_BOTH, calls_at_once_do_not_mix_their_questions},
                {ON_BOTH, a_link_is_opened}, {ON_BOTH, a_refused_question_ends_the_call},
                {ON_BOTH, a_question_that_we_cannot_answer_is_not_asked},
                {ON_BOTH, a_server_that_asks_for_ever_is_given_up},
                {ON_BOTH, a_new_tool_is_told_and_then_listed},
                {ON_BOTH, a_fresh_list_is_kept},
                {ON_BOTH, only_what_we_subscribed_to_is_told},
                {ON_BOTH, lists_are_watched_on_while_subscriptions_change},
                {ON_BOTH, progress_arrives_with_its_message_as_it_is_made},
                {ON_BOTH, cancellation_reaches_the_tool},
                {ON_BOTH, a_call_that_takes_too_long_is_cancelled_there_too},
                {ON_BOTH, a_hundred_calls_at_once_each_get_their_own_answer},
                {ON_BOTH, structured_content_and_failures_arrive},
                {ON_BOTH, an_unknown_method_is_the_peers_error},
                {ON_BOTH, prompts_are_got_and_completed},
                {ON_BOTH, it_logs_from_the_level_of_the_request},
                {ON_BOTH, it_logs_nothing_unasked});
    WIRE_SUITES("context7-mcp", {ON_BOTH, context7_is_modern_and_says_what_failed});
    REAL_SUITE("mongodb-mcp-server", mongodb_is_modern_and_misses_its_database);
    return real_run();
}
