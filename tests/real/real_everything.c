/* The reference server: everything that MCP had before 2026-07-28, over every wire. What
 * one wire alone has is in real_http.c, real_sse.c and real_websocket.c. */
#include "wire.h"

#include <signal.h>
#include <unistd.h>

#define STATIC "demo://resource/static/document/"
#define DYNAMIC "demo://resource/dynamic/"

#define LONG_OPERATION "trigger-long-running-operation"
#define A_MINUTE "{\"duration\":60,\"steps\":600}"

static void open_everything(void)
{
    wire_open(&everything);
}

static void open_with_tool(const char *tool)
{
    open_everything();
    real_await_tool(tool);
}

/* What the server says unasked is not lost from here on: over HTTP there is a stream of
 * its own for that, which takes a moment. */
static void open_with_stream(void)
{
    open_everything();
    if (wire->kind == HTTP)
        WIRE_TOLD("Establishing new SSE stream");
}

/* Waits until it has noticed that we closed. */
static void await_close(void)
{
    static const char *const signs[WIRES] = {[HTTP] = "test: end DELETE /mcp 200",
                                             [SSE] = "Client Disconnected",
                                             [WEBSOCKET] = "WebSocket connection closed"};

    if (signs[wire->kind]) /* with stdio, real_close looks for the process */
        WIRE_TOLD(signs[wire->kind]);
}

/* ---- connecting, lists ---- */

START_TEST(it_speaks_2025_11_25_and_introduces_itself)
{
    static const char *const remarks[WIRES] = {
        "Starting default (STDIO) server", "Starting Streamable HTTP server",
        "Starting SSE server", "Starting default (STDIO) server"};

    open_everything();
    ck_assert_str_eq(real_revision(), "2025-11-25");
    ck_contains(real_info(), "\"mcp-servers/everything\"");
    ck_contains(real_capabilities(), "\"subscribe\":true");
    ck_assert_uint_gt(strlen(real_instructions()), 100);
    WIRE_TOLD(remarks[wire->kind]);
}
END_TEST

START_TEST(an_older_revision_is_spoken_when_told_so)
{
    real.options.revision = "2025-03-26";
    open_everything();
    ck_assert_str_eq(real_revision(), "2025-03-26");
    ck_assert_str_eq(real_text("echo", "{\"message\":\"old\"}"), "Echo: old");
    if (server)
        ck_assert_int_eq(wire_heard("server/discover"), 0);
}
END_TEST

START_TEST(its_lists_are_complete)
{
    static const struct {
        enum mcplug_kind kind;
        size_t count;
        const char *one;
    } lists[] = {{MCPLUG_TOOLS, 12, "get-structured-content"},
                 {MCPLUG_PROMPTS, 4, "completable-prompt"},
                 {MCPLUG_RESOURCES, 7, STATIC "features.md"},
                 {MCPLUG_TEMPLATES, 2, DYNAMIC "text/{resourceId}"}};

    open_everything();
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        ck_assert_uint_ge(real_count(lists[i].kind), lists[i].count);
        ck_assert(real_lists(lists[i].kind, lists[i].one));
        ck_assert(!real_lists(lists[i].kind, "no such thing"));
    }
}
END_TEST

START_TEST(it_offers_nothing_that_needs_what_we_lack)
{
    real.options.sample = NULL;
    real.options.elicit = real.options.elicit_url = NULL;
    real.roots.answer = "{\"roots\":[]}";
    open_with_tool("get-roots-list");
    ck_assert(!real_lists(MCPLUG_TOOLS, "trigger-sampling-request"));
    ck_assert(!real_lists(MCPLUG_TOOLS, "trigger-elicitation-request"));
    ck_assert(!real_lists(MCPLUG_TOOLS, "trigger-url-elicitation"));
}
END_TEST

START_TEST(nobody_at_the_port_is_told_at_once)
{
    const char *types[] = {wire->type, NULL};

    for (size_t i = 0; i < 2; i++) {
        int port, fd = listener_nobody(&port);
        real_use_url(types[i], "%s:%d%s", wire->begin, port, wire->path);
        const struct mcplug_error *why = real_refused();
        close(fd);
        ck_assert_int_eq(why->code, MCPLUG_EREFUSED);
        ck_contains(why->text, "127.0.0.1");
        ck_contains(why->text, "refused");
    }
}
END_TEST

START_TEST(a_wrong_path_is_told_with_its_status)
{
    wire_use(&everything, NULL);
    wire_use_as(wire->type, "/nowhere");
    const struct mcplug_error *why = real_refused();
    ck_assert_int_eq(why->code, MCPLUG_EREFUSED);
    if (wire->kind == WEBSOCKET) {
        ck_contains(why->text, "400");
    } else {
        ck_assert_int_eq(why->peer_status, 404);
        ck_contains(why->text, "HTTP 404");
    }
}
END_TEST

START_TEST(the_end_of_the_server_is_the_end_of_the_connection)
{
    struct reply reply;

    open_everything();
    real_begin_tool(LONG_OPERATION, A_MINUTE, &reply);
    REAL_UNTIL(reply.progress > 0);
    if (server)
        listener_end(server);
    else
        kill(real.pid, SIGKILL);
    REAL_UNTIL(reply.done);
    ck_assert_int_eq(reply.code, MCPLUG_ECLOSED);
    REAL_UNTIL(real.dropped == 1);
    real.dropped = 0;
    real.breaches = 1;
}
END_TEST

START_TEST(a_new_resource_is_told_and_then_listed)
{
    open_with_stream();
    size_t before = real_count(MCPLUG_RESOURCES);
    int told = real.changed[MCPLUG_RESOURCES];
    real_tool("gzip-file-as-resource",
              "{\"name\":\"new.gz\",\"data\":\"data:text/plain,hello\"}");
    REAL_UNTIL(real.changed[MCPLUG_RESOURCES] > told);
    ck_assert_uint_eq(real_count(MCPLUG_RESOURCES), before + 1);
}
END_TEST

/* ---- tools ---- */

START_TEST(echo_returns_what_it_was_sent)
{
    open_everything();
    ck_assert_str_eq(real_text("echo", "{\"message\":\"a \\\"b\\\" \\n \\u00fc \\ud83d"
                                       "\\ude00 \xc3\xa4\"}"),
                     "Echo: a \"b\" \n \xc3\xbc \xf0\x9f\x98\x80 \xc3\xa4");
}
END_TEST

START_TEST(two_hundred_calls_at_once_each_get_their_own_answer)
{
    open_everything();
    everything_adds(200);
}
END_TEST

START_TEST(long_messages_go_both_ways)
{
    enum { LONG = 300000 };
    char *args = malloc(LONG + 100);
    char *end = args + sprintf(args, "{\"message\":\"");

    memset(end, 'x', LONG);
    strcpy(end + LONG, "\"}");
    open_everything();
    json_t *result = real_tool("echo", args);
    ck_assert_uint_eq(strlen(at(result, "content/0/text")), LONG + strlen("Echo: "));
    free(args);
}
END_TEST

START_TEST(structured_content_comes_with_the_text)
{
    open_everything();
    json_t *result = real_tool("get-structured-content", "{\"location\":\"Chicago\"}");
    ck_assert_int_eq(json_integer_value(get(result, "structuredContent/temperature")),
                     36);
    ck_contains(text_of(result), "\"temperature\":36");
}
END_TEST

START_TEST(content_that_is_no_text_arrives_whole)
{
    open_everything();
    json_t *image = real_tool("get-tiny-image", "{}");
    ck_assert_str_eq(at(image, "content/1/mimeType"), "image/png");
    ck_assert_uint_gt(strlen(at(image, "content/1/data")), 1000);
    json_t *links = real_tool("get-resource-links", "{\"count\":4}");
    ck_assert_str_eq(at(links, "content/4/type"), "resource_link");
}
END_TEST

START_TEST(wrong_arguments_are_the_tools_failure)
{
    open_everything();
    const struct reply *reply = real_try_tool("get-sum", "{\"a\":\"one\"}");
    ck_assert_int_eq(reply->code, MCPLUG_OK);
    ck_assert(reply->is_error);
    ck_contains(text_of(reply->json), "-32602");
}
END_TEST

START_TEST(an_unknown_method_is_the_peers_error)
{
    open_everything();
    const struct reply *reply = real_try("no/such/method", NULL);
    ck_assert_int_eq(reply->code, MCPLUG_EPEER);
    ck_assert_int_eq(reply->status, -32601);
}
END_TEST

/* ---- time ---- */

START_TEST(progress_of_a_long_operation_arrives_as_it_is_made)
{
    struct reply reply;

    open_everything();
    real_begin_tool(LONG_OPERATION, "{\"duration\":0.5,\"steps\":5}", &reply);
    REAL_UNTIL(reply.progress > 0);
    ck_assert(!reply.done);
    REAL_UNTIL(reply.done);
    ck_assert_int_eq(reply.code, MCPLUG_OK);
    ck_assert_int_eq(reply.progress, 5);
    ck_assert_double_eq(reply.at, 5);
    ck_assert_double_eq(reply.total, 5);
    reply_clear(&reply);
}
END_TEST

START_TEST(a_cancel_ends_the_call_and_reaches_the_server)
{
    struct reply reply;

    open_everything();
    real_begin_tool(LONG_OPERATION, A_MINUTE, &reply);
    REAL_UNTIL(reply.progress > 0);
    real_cancel(&reply);
    ck_assert(!reply.done);
    REAL_UNTIL(reply.done);
    ck_assert_int_eq(reply.code, MCPLUG_ECANCELED);
    ck_assert_int_lt(reply.progress, 600);
    if (server)
        REAL_UNTIL(wire_heard("notifications/cancelled") > 0);
    if (wire->kind == HTTP)
        WIRE_TOLD("test: end POST /mcp 200 cut");
    ck_assert_str_eq(real_text("echo", "{\"message\":\"on\"}"), "Echo: on");
}
END_TEST

/* Not through the gateway: it changes the ids of requests, and not those in cancels. */
START_TEST(a_cancelled_operation_is_never_answered)
{
    struct reply reply;

    open_everything();
    real_begin_tool(LONG_OPERATION, "{\"duration\":1,\"steps\":10}", &reply);
    REAL_UNTIL(reply.progress > 0);
    real_cancel(&reply);
    REAL_UNTIL(reply.done);
    ck_assert_int_eq(reply.code, MCPLUG_ECANCELED);
    ck_assert_int_lt(reply.progress, 10);

    /* It was told: else its answer would come before this one's. */
    real_tool(LONG_OPERATION, "{\"duration\":1.5,\"steps\":1}");
    struct mcplug_ledger ledger = real_ledger();
    ck_assert_uint_eq(ledger.late, 0);
    ck_assert_uint_eq(ledger.cancelled, 1);
    ck_assert_str_eq(real_text("echo", "{\"message\":\"still here\"}"),
                     "Echo: still here");
}
END_TEST

static void check_close(struct reply *reply)
{
    real_close();
    ck_assert(reply->done);
    ck_assert_int_eq(reply->code, MCPLUG_ECANCELED);
    await_close();
}

START_TEST(closing_ends_a_call_that_has_just_begun)
{
    struct reply reply;

    open_everything();
    real_begin_tool(LONG_OPERATION, A_MINUTE, &reply);
    check_close(&reply);
}
END_TEST

START_TEST(closing_ends_what_is_under_way)
{
    struct reply reply;

    open_everything();
    real_begin_tool(LONG_OPERATION, A_MINUTE, &reply);
    REAL_UNTIL(reply.progress > 0);
    check_close(&reply);
}
END_TEST

START_TEST(it_hears_that_we_close)
{
    open_everything();
    real_tool("echo", "{\"message\":\"\"}");
    real_close();
    await_close();
    if (wire->kind == HTTP)
        WIRE_TOLD("Received session termination request");
}
END_TEST

START_TEST(it_answers_a_ping)
{
    open_everything();
    real_ping();
}
END_TEST

/* ---- prompts, resources, completion ---- */

START_TEST(a_prompt_takes_arguments)
{
    open_everything();
    json_t *prompt = real_ask("prompts/get", "{\"name\":\"args-prompt\",\"arguments\":"
                                             "{\"city\":\"Paris\",\"state\":\"Texas\"}}");
    ck_assert_str_eq(at(prompt, "messages/0/content/text"),
                     "What's weather in Paris, Texas?");
    prompt = real_ask("prompts/get", "{\"name\":\"simple-prompt\"}");
    ck_assert_str_eq(at(prompt, "messages/0/role"), "user");
}
END_TEST

START_TEST(a_prompt_without_its_arguments_is_refused)
{
    open_everything();
    const struct reply *reply = real_try("prompts/get", "{\"name\":\"args-prompt\"}");
    ck_assert_int_eq(reply->code, MCPLUG_EPEER);
    ck_assert_int_eq(reply->status, -32602);
    ck_assert_int_eq(json_integer_value(get(reply->json, "code")), -32602);
}
END_TEST

START_TEST(resources_are_read_as_text_and_as_bytes)
{
    open_everything();
    json_t *read = real_ask("resources/read", "{\"uri\":\"" STATIC "features.md\"}");
    ck_assert_str_eq(at(read, "contents/0/mimeType"), "text/markdown");
    ck_assert_uint_gt(strlen(at(read, "contents/0/text")), 1000);
    read = real_ask("resources/read", "{\"uri\":\"" DYNAMIC "text/7\"}");
    ck_contains(at(read, "contents/0/text"), "Resource 7:");
    read = real_ask("resources/read", "{\"uri\":\"" DYNAMIC "blob/8\"}");
    ck_assert_uint_gt(strlen(at(read, "contents/0/blob")), 20);
}
END_TEST

START_TEST(a_resource_that_is_not_there_is_the_peers_error)
{
    open_everything();
    const struct reply *reply =
        real_try("resources/read", "{\"uri\":\"demo://resource/none\"}");
    ck_assert_int_eq(reply->code, MCPLUG_EPEER);
    ck_contains(reply->why, "demo://resource/none");
}
END_TEST

START_TEST(arguments_are_completed)
{
    open_everything();
    json_t *values =
        real_ask("completion/complete",
                 "{\"ref\":{\"type\":\"ref/prompt\",\"name\":\"completable-prompt\"},"
                 "\"argument\":{\"name\":\"department\",\"value\":\"E\"}}");
    ck_assert_str_eq(at(values, "completion/values/0"), "Engineering");
    values =
        real_ask("completion/complete",
                 "{\"ref\":{\"type\":\"ref/prompt\",\"name\":\"completable-prompt\"},"
                 "\"argument\":{\"name\":\"name\",\"value\":\"\"},"
                 "\"context\":{\"arguments\":{\"department\":\"Sales\"}}}");
    ck_assert_str_eq(at(values, "completion/values/2"), "Frank");
    values = real_ask("completion/complete",
                      "{\"ref\":{\"type\":\"ref/resource\",\"uri\":\"" DYNAMIC
                      "text/{resourceId}\"},"
                      "\"argument\":{\"name\":\"resourceId\",\"value\":\"12\"}}");
    ck_assert_str_eq(at(values, "completion/values/0"), "12");
}
END_TEST

/* ---- what it asks us ---- */

START_TEST(it_asks_us_for_a_sample_and_shows_the_answer)
{
    real.sample.answer = "{\"role\":\"assistant\",\"model\":\"pen-and-paper\","
                         "\"content\":{\"type\":\"text\",\"text\":\"forty-two\"}}";
    open_with_tool("trigger-sampling-request");
    const char *text = real_text("trigger-sampling-request",
                                 "{\"prompt\":\"how many?\",\"maxTokens\":7}");
    ck_contains(text, "forty-two");
    ck_contains(text, "pen-and-paper");
    ck_assert_int_eq(real.sample.asked, 1);
    ck_contains(at(real.sample.params, "messages/0/content/text"), "how many?");
    ck_assert_int_eq(json_integer_value(get(real.sample.params, "maxTokens")), 7);
}
END_TEST

START_TEST(a_refused_sample_is_the_tools_failure)
{
    open_with_tool("trigger-sampling-request");
    const struct reply *reply =
        real_try_tool("trigger-sampling-request", "{\"prompt\":\"how many?\"}");
    ck_assert_int_eq(reply->code, MCPLUG_OK);
    ck_assert(reply->is_error);
    ck_contains(text_of(reply->json), "nobody is at home");
}
END_TEST

START_TEST(a_form_is_filled_in)
{
    real.elicit.answer = "{\"action\":\"accept\",\"content\":{\"name\":\"Ada\","
                         "\"check\":true,\"integer\":7}}";
    open_with_tool("trigger-elicitation-request");
    const char *text = real_text("trigger-elicitation-request", "{}");
    ck_contains(text, "- Name: Ada");
    ck_contains(text, "- Agreed to terms: true");
    ck_contains(text, "- Favorite Integer: 7");
    ck_assert_str_eq(at(real.elicit.params, "requestedSchema/properties/name/type"),
                     "string");
    ck_assert_int_eq(real.elicit.asked, 1);
}
END_TEST

START_TEST(a_form_is_declined)
{
    real.elicit.answer = "{\"action\":\"decline\"}";
    open_with_tool("trigger-elicitation-request");
    ck_contains(real_text("trigger-elicitation-request", "{}"), "User declined");
}
END_TEST

START_TEST(a_link_is_opened)
{
    real.elicit_url.answer = "{\"action\":\"accept\"}";
    open_with_tool("trigger-url-elicitation");
    ck_contains(
        real_text("trigger-url-elicitation", "{\"url\":\"https://example.com/x\"}"),
        "\"action\": \"accept\"");
    ck_assert_str_eq(at(real.elicit_url.params, "url"), "https://example.com/x");
    ck_assert_int_eq(real.elicit.asked, 0);
    ck_assert_int_eq(real.elicit_url.asked, 1);
}
END_TEST

START_TEST(it_lists_our_roots)
{
    real.roots.answer = "{\"roots\":[{\"uri\":\"file:///tmp/a\",\"name\":\"first\"},"
                        "{\"uri\":\"file:///tmp/b\"}]}";
    open_with_tool("get-roots-list");
    const char *text = real_text("get-roots-list", "{}");
    ck_contains(text, "(2 total)");
    ck_contains(text, "1. first\n   URI: file:///tmp/a");
    ck_contains(text, "file:///tmp/b");
}
END_TEST

/* ---- what it tells us ---- */

START_TEST(it_logs_from_the_level_that_we_set)
{
    json_t *entry;
    size_t i;

    real.options.log_level = "info";
    real.roots.answer = "{\"roots\":[]}";
    open_everything();
    REAL_UNTIL(real.logged > 0); /* that it got our roots, at level info */
    json_array_foreach(real.log, i, entry)
    {
        ck_assert_str_ne(at(entry, "level"), "debug");
        ck_assert_ptr_nonnull(get(entry, "data"));
    }
}
END_TEST

START_TEST(it_logs_nothing_below_the_level_that_we_set)
{
    real.options.log_level = "emergency";
    real.roots.answer = "{\"roots\":[]}";
    open_everything();
    REAL_UNTIL(real.roots.asked > 0);
    real_tool("echo", "{\"message\":\"\"}");
    ck_assert_int_eq(real.logged, 0);
}
END_TEST

START_TEST(updates_come_for_a_resource_that_we_subscribed_to)
{
    const char *uri = DYNAMIC "text/1";

    open_with_stream();
    real_subscribe(uri);
    if (server)
        REAL_UNTIL(wire_heard("resources/subscribe") > 0);
    real_tool("toggle-subscriber-updates", "{}");
    REAL_UNTIL(real.updated > 0);
    ck_assert_str_eq(real.uri, uri);

    /* Off and on again is how it is made to send at once. */
    real_unsubscribe(uri);
    if (server)
        REAL_UNTIL(wire_heard("resources/unsubscribe") > 0);
    real_tool("toggle-subscriber-updates", "{}");
    int updates = real.updated;
    real_tool("toggle-subscriber-updates", "{}");
    real_tool("echo", "{\"message\":\"\"}");
    ck_assert_int_eq(real.updated, updates);
}
END_TEST

/* The gateway gives answers of ours to the server under other ids than its questions had:
 * nothing of what it asks works over a WebSocket. */
enum { ON_ASKING = ON_STDIO | ON_HTTP | ON_SSE };

int main(void)
{
    WIRE_SUITES("server-everything", {ON_ALL, it_speaks_2025_11_25_and_introduces_itself},
                {ON_ALL, an_older_revision_is_spoken_when_told_so},
                {ON_ALL, its_lists_are_complete},
                {ON_ASKING, it_offers_nothing_that_needs_what_we_lack},
                {ON_NETS, nobody_at_the_port_is_told_at_once},
                {ON_NETS, a_wrong_path_is_told_with_its_status},
                {ON_ALL & ~ON_HTTP, the_end_of_the_server_is_the_end_of_the_connection},
                {ON_ALL, a_new_resource_is_told_and_then_listed},
                {ON_ALL, echo_returns_what_it_was_sent},
                {ON_ALL, two_hundred_calls_at_once_each_get_their_own_answer},
                {ON_ALL, long_messages_go_both_ways},
                {ON_ALL, structured_content_comes_with_the_text},
                {ON_ALL, content_that_is_no_text_arrives_whole},
                {ON_ALL, wrong_arguments_are_the_tools_failure},
                {ON_ALL, an_unknown_method_is_the_peers_error},
                {ON_ALL, progress_of_a_long_operation_arrives_as_it_is_made},
                {ON_ALL, a_cancel_ends_the_call_and_reaches_the_server},
                {ON_ALL & ~ON_WEBSOCKET, a_cancelled_operation_is_never_answered},
                {ON_ALL, closing_ends_a_call_that_has_just_begun},
                {ON_ALL, closing_ends_what_is_under_way},
                {ON_ALL, it_hears_that_we_close}, {ON_ALL, it_answers_a_ping},
                {ON_ALL, a_prompt_takes_arguments},
                {ON_ALL, a_prompt_without_its_arguments_is_refused},
                {ON_ALL, resources_are_read_as_text_and_as_bytes},
                {ON_ALL, a_resource_that_is_not_there_is_the_peers_error},
                {ON_ALL, arguments_are_completed},
                {ON_ASKING, it_asks_us_for_a_sample_and_shows_the_answer},
                {ON_ASKING, a_refused_sample_is_the_tools_failure},
                {ON_ASKING, a_form_is_filled_in}, {ON_ASKING, a_form_is_declined},
                {ON_ASKING, a_link_is_opened}, {ON_ASKING, it_lists_our_roots},
                {ON_ASKING, it_logs_from_the_level_that_we_set},
                {ON_ASKING, it_logs_nothing_below_the_level_that_we_set},
                {ON_ALL, updates_come_for_a_resource_that_we_subscribed_to});
    return real_run();
}
