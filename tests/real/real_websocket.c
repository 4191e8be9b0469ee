/* A gateway that puts servers which know stdio alone behind a WebSocket. */
#include "listener.h"

#include <unistd.h>

#define EVERYTHING "@modelcontextprotocol/server-everything/dist/index.js"
#define GITHUB "@modelcontextprotocol/server-github/dist/index.js"

static struct listener *gateway;

static void start(const char *script, const char *arg)
{
    char path[4096], command[8300];

    snprintf(command, sizeof command, "exec '%s' '%s' %s", real_node(),
             real_script(script, path, sizeof path), arg);
    gateway = listener_node(
        "supergateway/dist/index.js",
        LISTENER_LIST("--stdio", command, "--outputTransport", "ws", "--port", "0"),
        NULL);
}

static void open_as(const char *type)
{
    start(EVERYTHING, "stdio");
    real_use_url(type, "ws://127.0.0.1:%d/message", gateway->port);
    real_open();
}

static void check_echo(void)
{
    ck_assert_str_eq(real_revision(), "2025-11-25");
    ck_contains(real_info(), "\"mcp-servers/everything\"");
    ck_assert_str_eq(real_text("echo", "{\"message\":\"\\u00fc\"}"), "Echo: \xc3\xbc");
    int closed = listener_count(gateway, 0, "WebSocket connection closed");
    real_close();
    REAL_UNTIL(listener_count(gateway, 0, "WebSocket connection closed") > closed);
}

START_TEST(it_is_reached_by_its_url_alone_and_by_either_name_of_the_type)
{
    open_as(NULL);
    check_echo();
    real_use_url("ws", "ws://127.0.0.1:%d/message", gateway->port);
    real_open();
    check_echo();
    real_use_url("websocket", "ws://127.0.0.1:%d/message", gateway->port);
    real_open();
    check_echo();
}
END_TEST

START_TEST(many_calls_at_once_each_get_their_own_answer)
{
    enum { MANY = 200 };
    static struct reply replies[MANY];
    char text[100];

    open_as("ws");
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

START_TEST(long_messages_go_both_ways)
{
    enum { LONG = 300000 };
    char *args = malloc(LONG + 100);
    char *end = args + sprintf(args, "{\"message\":\"");

    memset(end, 'x', LONG);
    strcpy(end + LONG, "\"}");
    open_as("ws");
    json_t *result = real_tool("echo", args);
    ck_assert_uint_eq(strlen(at(result, "content/0/text")), LONG + strlen("Echo: "));
    free(args);
}
END_TEST

START_TEST(progress_arrives_and_a_cancel_reaches_the_server)
{
    struct reply reply;

    open_as("ws");
    real_begin_tool("trigger-long-running-operation", "{\"duration\":60,\"steps\":600}",
                    &reply);
    REAL_UNTIL(reply.progress > 0);
    real_cancel(&reply);
    REAL_UNTIL(reply.done);
    ck_assert_int_eq(reply.code, MCPLUG_ECANCELED);
    LISTENER_TOLD(gateway, "\"method\":\"notifications/cancelled\"");
    ck_assert_str_eq(real_text("echo", "{\"message\":\"on\"}"), "Echo: on");
}
END_TEST

START_TEST(errors_of_tools_and_of_the_peer_are_told_apart)
{
    open_as("ws");
    const struct reply *reply = real_try_tool("get-sum", "{\"a\":\"one\"}");
    ck_assert_int_eq(reply->code, MCPLUG_OK);
    ck_assert(reply->is_error);
    reply = real_try("no/such/method", NULL);
    ck_assert_int_eq(reply->code, MCPLUG_EPEER);
    ck_assert_int_eq(reply->status, -32601);
    real_ping();
}
END_TEST

START_TEST(a_server_that_knows_2024_11_05_alone_is_used)
{
    start(GITHUB, "");
    real_use_url(NULL, "ws://127.0.0.1:%d/message", gateway->port);
    real_open();
    ck_assert_str_eq(real_revision(), "2024-11-05");
    ck_assert_uint_gt(real_count(MCPLUG_TOOLS), 20);
}
END_TEST

START_TEST(the_end_of_the_server_is_the_end_of_the_connection)
{
    struct reply reply;

    open_as("ws");
    real_begin_tool("trigger-long-running-operation", "{\"duration\":60,\"steps\":600}",
                    &reply);
    REAL_UNTIL(reply.progress > 0);
    listener_end(gateway);
    REAL_UNTIL(reply.done);
    ck_assert_int_eq(reply.code, MCPLUG_ECLOSED);
    REAL_UNTIL(real.dropped == 1);
    real.dropped = 0;
    real.breaches = 1;
}
END_TEST

START_TEST(a_path_without_a_websocket_is_refused)
{
    start(EVERYTHING, "stdio");
    real_use_url("ws", "ws://127.0.0.1:%d/nowhere", gateway->port);
    const struct mcplug_error *why = real_refused();
    ck_assert_int_eq(why->code, MCPLUG_EREFUSED);
    ck_contains(why->text, "400");
}
END_TEST

START_TEST(nobody_at_the_port_is_told_at_once)
{
    int port, fd = listener_nobody(&port);
    real_use_url("ws", "ws://127.0.0.1:%d/message", port);
    const struct mcplug_error *why = real_refused();
    close(fd);
    ck_assert_int_eq(why->code, MCPLUG_EREFUSED);
    ck_contains(why->text, "127.0.0.1");
    ck_contains(why->text, "refused");
}
END_TEST

int main(void)
{
    REAL_SUITE("supergateway with WebSocket",
               it_is_reached_by_its_url_alone_and_by_either_name_of_the_type,
               many_calls_at_once_each_get_their_own_answer, long_messages_go_both_ways,
               progress_arrives_and_a_cancel_reaches_the_server,
               errors_of_tools_and_of_the_peer_are_told_apart,
               a_server_that_knows_2024_11_05_alone_is_used,
               the_end_of_the_server_is_the_end_of_the_connection,
               a_path_without_a_websocket_is_refused, nobody_at_the_port_is_told_at_once);
    return real_run();
}
