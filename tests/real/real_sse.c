/* HTTP+SSE of 2024-11-05: one stream carries everything that the server says. */
#include "listener.h"

#define EVERYTHING "@modelcontextprotocol/server-everything/dist/index.js"
#define GITHUB "@modelcontextprotocol/server-github/dist/index.js"
#define DYNAMIC "demo://resource/dynamic/"

static struct listener *server;

static void start(int port)
{
    char env[32];

    snprintf(env, sizeof env, "PORT=%d", port);
    server = listener_node(EVERYTHING, LISTENER_LIST("sse"), LISTENER_LIST(env));
}

static void open_as(const char *type)
{
    start(0);
    real_use_url(type, "http://127.0.0.1:%d/sse", server->port);
    real_open();
}

static void open_with_tool(const char *tool)
{
    open_as("sse");
    real_await_tool(tool);
}

/* ---- connecting ---- */

START_TEST(it_is_reached_by_its_type)
{
    open_as("sse");
    ck_assert_str_eq(real_revision(), "2025-11-25");
    ck_assert_str_eq(real_text("echo", "{\"message\":\"\\u00fc\"}"), "Echo: \xc3\xbc");
    ck_assert_int_eq(listener_count(server, 0, "test: POST /sse"), 0);
    ck_assert_int_eq(listener_count(server, 0, "test: GET /sse"), 1);
    real_close();
    LISTENER_TOLD(server, "Client Disconnected");
}
END_TEST

/* Both server/discover and initialize are answered with status 404 first, which is the
 * sign of an old server. The second time that is known. */
static void close_first(void)
{
    real.breaches = 2;
    real_close();
    real.breaches = 0;
}

START_TEST(its_url_alone_leads_there_and_is_remembered)
{
    open_as(NULL);
    ck_assert_str_eq(real_text("echo", "{\"message\":\"one\"}"), "Echo: one");
    ck_assert_int_eq(listener_count(server, 0, "test: POST /sse"), 2);
    ck_assert_int_eq(listener_count(server, 0, "test: GET /sse"), 1);
    close_first();

    size_t before = server->len;
    real_open();
    ck_assert_str_eq(real_text("echo", "{\"message\":\"two\"}"), "Echo: two");
    ck_assert_int_eq(listener_count(server, before, "test: POST /sse"), 0);
    ck_assert_int_eq(listener_count(server, before, "test: GET /sse"), 1);
}
END_TEST

START_TEST(a_type_is_taken_by_its_word_and_never_replaced)
{
    start(0);
    real_use_url("http", "http://127.0.0.1:%d/sse", server->port);
    const struct mcplug_error *why = real_refused();
    ck_assert_int_eq(why->peer_status, 404);
    ck_contains(why->text, "HTTP 404");
    ck_assert_int_eq(listener_count(server, 0, "test: GET /sse"), 0);
}
END_TEST

START_TEST(a_wrong_path_is_told_with_its_status)
{
    start(0);
    real_use_url("sse", "http://127.0.0.1:%d/nowhere", server->port);
    const struct mcplug_error *why = real_refused();
    ck_assert_int_eq(why->code, MCPLUG_EREFUSED);
    ck_assert_int_eq(why->peer_status, 404);
    ck_contains(why->text, "HTTP 404");
}
END_TEST

START_TEST(the_end_of_the_stream_is_the_end_of_the_connection)
{
    struct reply reply;

    open_as("sse");
    real_begin_tool("trigger-long-running-operation", "{\"duration\":60,\"steps\":600}",
                    &reply);
    REAL_UNTIL(reply.progress > 0);
    listener_end(server);
    REAL_UNTIL(reply.done);
    ck_assert_int_eq(reply.code, MCPLUG_ECLOSED);
    REAL_UNTIL(real.dropped == 1);
    real.dropped = 0;
    real.breaches = 1;
}
END_TEST

/* ---- calls ---- */

START_TEST(many_calls_at_once_each_get_their_own_answer)
{
    enum { MANY = 100 };
    static struct reply replies[MANY];
    char text[100];

    open_as("sse");
    for (int i = 0; i < MANY; i++) {
        snprintf(text, sizeof text, "{\"a\":%d,\"b\":1000}", i);
        real_begin_tool("get-sum", text, &replies[i]);
    }
    for (int i = 0; i < MANY; i++) {
        REAL_UNTIL(replies[i].done);
        ck_assert_msg(replies[i].code == MCPLUG_OK, "%d: %s", i, replies[i].why);
        snprintf(text, sizeof text, "The sum of %d and 1000 is %d.", i, i + 1000);
        ck_assert_str_eq(text_of(replies[i].json), text);
        reply_clear(&replies[i]);
    }
}
END_TEST

START_TEST(progress_arrives_and_a_cancel_reaches_the_server)
{
    struct reply reply;

    open_as("sse");
    real_begin_tool("trigger-long-running-operation", "{\"duration\":0.8,\"steps\":8}",
                    &reply);
    REAL_UNTIL(reply.progress > 0);
    real_cancel(&reply);
    REAL_UNTIL(reply.done);
    ck_assert_int_eq(reply.code, MCPLUG_ECANCELED);
    LISTENER_TOLD(server, "heard notifications/cancelled");

    /* It was told: else its answer would come before this one's. */
    real_tool("trigger-long-running-operation", "{\"duration\":1.2,\"steps\":1}");
    struct mcplug_ledger ledger = real_ledger();
    ck_assert_uint_eq(ledger.late, 0);
    ck_assert_uint_eq(ledger.cancelled, 1);
}
END_TEST

START_TEST(errors_of_tools_and_of_the_peer_are_told_apart)
{
    open_as("sse");
    const struct reply *reply = real_try_tool("get-sum", "{\"a\":\"one\"}");
    ck_assert_int_eq(reply->code, MCPLUG_OK);
    ck_assert(reply->is_error);
    reply = real_try("no/such/method", NULL);
    ck_assert_int_eq(reply->code, MCPLUG_EPEER);
    ck_assert_int_eq(reply->status, -32601);
    real_ping();
}
END_TEST

/* ---- what it asks and tells ---- */

START_TEST(it_asks_us_for_a_sample_and_a_form)
{
    real.sample.answer = "{\"role\":\"assistant\",\"model\":\"pen-and-paper\","
                         "\"content\":{\"type\":\"text\",\"text\":\"forty-two\"}}";
    real.elicit.answer = "{\"action\":\"accept\",\"content\":{\"name\":\"Ada\"}}";
    open_with_tool("trigger-elicitation-request");
    ck_contains(real_text("trigger-sampling-request", "{\"prompt\":\"how many?\"}"),
                "forty-two");
    ck_contains(real_text("trigger-elicitation-request", "{}"), "- Name: Ada");
    ck_assert_int_eq(real.sample.asked, 1);
    ck_assert_int_eq(real.elicit.asked, 1);
}
END_TEST

START_TEST(updates_of_a_resource_and_logs_arrive)
{
    real.options.log_level = "info";
    real.roots.answer = "{\"roots\":[]}";
    open_as("sse");
    real_subscribe(DYNAMIC "text/1");
    LISTENER_TOLD(server, "heard resources/subscribe");
    real_tool("toggle-subscriber-updates", "{}");
    REAL_UNTIL(real.updated > 0);
    ck_assert_str_eq(real.uri, DYNAMIC "text/1");
    REAL_UNTIL(real.logged > 0); /* that it got our roots, at level info */
}
END_TEST

/* ---- a gateway in front of servers that know stdio alone ---- */

static void start_gateway(const char *script, const char *arg)
{
    char path[4096], command[8300];

    snprintf(command, sizeof command, "exec '%s' '%s' %s", real_node(),
             real_script(script, path, sizeof path), arg);
    server = listener_node(
        "supergateway/dist/index.js",
        LISTENER_LIST("--stdio", command, "--outputTransport", "sse", "--port", "0"),
        NULL);
}

START_TEST(a_server_that_knows_2024_11_05_alone_is_used)
{
    start_gateway(GITHUB, "");
    real_use_url("sse", "http://127.0.0.1:%d/sse", server->port);
    real_open();
    ck_assert_str_eq(real_revision(), "2024-11-05");
    ck_contains(real_info(), "github-mcp-server");
    ck_assert_uint_gt(real_count(MCPLUG_TOOLS), 20);
    const struct reply *reply = real_try_tool("get_issue", "{\"owner\":\"nobody\"}");
    ck_assert_int_eq(reply->code, MCPLUG_EPEER);
    ck_contains(reply->why, "Invalid");
}
END_TEST

START_TEST(the_gateway_is_found_by_its_url_alone)
{
    start_gateway(EVERYTHING, "stdio");
    real_use_url(NULL, "http://127.0.0.1:%d/sse", server->port);
    real_open();
    ck_assert_str_eq(real_text("echo", "{\"message\":\"through\"}"), "Echo: through");
    json_t *image = real_tool("get-tiny-image", "{}");
    ck_assert_uint_gt(strlen(at(image, "content/1/data")), 1000);
    close_first();
    LISTENER_TOLD(server, "test: end GET /sse 200 cut");
    real_open(); /* the one server behind it is initialized once more */
    ck_assert_str_eq(real_text("echo", "{\"message\":\"again\"}"), "Echo: again");
}
END_TEST

int main(void)
{
    REAL_SUITE("server-everything over SSE", it_is_reached_by_its_type,
               its_url_alone_leads_there_and_is_remembered,
               a_type_is_taken_by_its_word_and_never_replaced,
               a_wrong_path_is_told_with_its_status,
               the_end_of_the_stream_is_the_end_of_the_connection,
               many_calls_at_once_each_get_their_own_answer,
               progress_arrives_and_a_cancel_reaches_the_server,
               errors_of_tools_and_of_the_peer_are_told_apart,
               it_asks_us_for_a_sample_and_a_form, updates_of_a_resource_and_logs_arrive);
    REAL_SUITE("supergateway with SSE", a_server_that_knows_2024_11_05_alone_is_used,
               the_gateway_is_found_by_its_url_alone);
    return real_run();
}
