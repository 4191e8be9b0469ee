/* What only Streamable HTTP had up to 2025-11-25: sessions, a stream for what the server
 * says unasked, and its questions on the streams of calls. */
#include "wire.h"

/* At a port of its own choice, or where it was before. */
static void start_at(int port)
{
    char env[32];

    snprintf(env, sizeof env, "PORT=%d", port);
    server = listener_node(everything.script, everything.args[HTTP], LISTENER_LIST(env));
}

/* The stream for what is said unasked is there: what the server says now is not lost. */
static void await_stream(void)
{
    WIRE_TOLD("Establishing new SSE stream");
}

static void open_everything(void)
{
    wire_open(&everything);
}

static void check_session(void)
{
    char peer[64];

    ck_assert_str_eq(real_revision(), "2025-11-25");
    ck_contains(real_info(), "\"mcp-servers/everything\"");
    snprintf(peer, sizeof peer, "http://127.0.0.1:%d", server->port);
    ck_assert_str_eq(real_fact("peer"), peer);
    ck_assert_str_eq(real_text("echo", "{\"message\":\"\\u00fc\"}"), "Echo: \xc3\xbc");
    ck_assert_int_eq(wire_count("Session initialized"), 1);
    ck_assert_int_eq(wire_count("heard server/discover"), 1);
    await_stream();
    ck_assert_int_eq(wire_count("test: GET /mcp"), 1);
}

START_TEST(it_is_reached_by_type_and_url)
{
    open_everything();
    check_session();
}
END_TEST

START_TEST(it_is_reached_by_its_url_alone)
{
    wire_use(&everything, NULL);
    wire_use_as(NULL, wire->path);
    real_open();
    check_session();
}
END_TEST

START_TEST(a_second_time_its_era_is_known)
{
    open_everything();
    real_close();
    size_t before = server->len;
    real_open();
    ck_assert_str_eq(real_text("echo", "{\"message\":\"again\"}"), "Echo: again");
    ck_assert_int_eq(listener_count(server, before, "heard server/discover"), 0);
    ck_assert_int_eq(listener_count(server, before, "heard initialize"), 1);
}
END_TEST

/* Its stream is just being opened then. */
START_TEST(it_may_be_closed_as_soon_as_it_is_open)
{
    open_everything();
    for (int i = 0; i < 5; i++) {
        real_close();
        real_open();
    }
    ck_assert_str_eq(real_text("echo", "{\"message\":\"last\"}"), "Echo: last");
    REAL_UNTIL(wire_count("Received session termination") == 5);
}
END_TEST

START_TEST(a_server_that_was_restarted_gives_a_new_session)
{
    open_everything();
    await_stream();
    ck_assert_str_eq(real_text("echo", "{\"message\":\"one\"}"), "Echo: one");
    int port = server->port;
    listener_end(server);
    start_at(port);
    ck_assert_int_eq(server->port, port);

    /* If the call is the one that finds out, it is sent again. */
    ck_assert_str_eq(real_text("echo", "{\"message\":\"two\"}"), "Echo: two");
    struct mcplug_ledger l = real_ledger();
    ck_assert_uint_le(l.transport_error, 1);
    real.breaches = (unsigned)l.transport_error;
    ck_assert_str_eq(real_text("echo", "{\"message\":\"three\"}"), "Echo: three");
    ck_assert_int_eq(wire_count("Session initialized"), 1);
    await_stream();
}
END_TEST

START_TEST(calls_to_a_server_that_is_gone_fail_and_say_where)
{
    open_everything();
    await_stream();
    listener_end(server);
    const struct reply *reply = real_try_tool("echo", "{\"message\":\"\"}");
    ck_assert_int_lt(reply->code, 0);
    ck_contains(reply->why, "127.0.0.1");
    real.breaches = 1;
}
END_TEST

START_TEST(many_calls_over_two_connections_all_end)
{
    wire_use(&everything, NULL);
    real_set("connections", "2");
    real_open();
    everything_adds(20);
}
END_TEST

/* It asks for these on the stream that no call has. */
START_TEST(it_asks_for_our_roots_and_logs_from_the_level_that_we_set)
{
    real.options.log_level = "info";
    real.roots.answer = "{\"roots\":[{\"uri\":\"file:///tmp/a\",\"name\":\"first\"}]}";
    open_everything();
    real_await_tool("get-roots-list");
    REAL_UNTIL(real.roots.asked > 0);
    REAL_UNTIL(real.logged > 0); /* that it got our roots, at level info */
    ck_assert_str_ne(at(real.log, "0/level"), "debug");
    ck_contains(real_text("get-roots-list", "{}"), "file:///tmp/a");
    ck_assert_int_eq(wire_count("heard logging/setLevel"), 1);
}
END_TEST

int main(void)
{
    WIRE_SUITE(HTTP, "server-everything", it_is_reached_by_type_and_url,
               it_is_reached_by_its_url_alone, a_second_time_its_era_is_known,
               it_may_be_closed_as_soon_as_it_is_open,
               a_server_that_was_restarted_gives_a_new_session,
               calls_to_a_server_that_is_gone_fail_and_say_where,
               many_calls_over_two_connections_all_end,
               it_asks_for_our_roots_and_logs_from_the_level_that_we_set);
    return real_run();
}
