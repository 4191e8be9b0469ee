/* The reference server over Streamable HTTP as it was up to 2025-11-25: with sessions, a
 * stream for what the server says unasked, and its questions on the streams of calls. */
#include "listener.h"

#include <unistd.h>

#define EVERYTHING "@modelcontextprotocol/server-everything/dist/index.js"
#define DYNAMIC "demo://resource/dynamic/"

static struct listener *everything;

static void start(int port)
{
    char env[32];

    snprintf(env, sizeof env, "PORT=%d", port);
    everything =
        listener_node(EVERYTHING, LISTENER_LIST("streamableHttp"), LISTENER_LIST(env));
}

/* The stream for what is said unasked is there: what the server says now is not lost. */
static void await_stream(void)
{
    LISTENER_TOLD(everything, "Establishing new SSE stream");
}

static void open_as(const char *type)
{
    start(0);
    real_use_url(type, "http://127.0.0.1:%d/mcp", everything->port);
    real_open();
}

static void open_everything(void)
{
    open_as("http");
}

static void open_with_tool(const char *tool)
{
    open_everything();
    real_await_tool(tool);
}

/* ---- the session ---- */

static void check_session(void)
{
    char peer[64];

    ck_assert_str_eq(real_revision(), "2025-11-25");
    ck_contains(real_info(), "\"mcp-servers/everything\"");
    snprintf(peer, sizeof peer, "http://127.0.0.1:%d", everything->port);
    ck_assert_str_eq(real_fact("peer"), peer);
    ck_assert_str_eq(real_text("echo", "{\"message\":\"\\u00fc\"}"), "Echo: \xc3\xbc");
    ck_assert_int_eq(listener_count(everything, 0, "Session initialized"), 1);
    ck_assert_int_eq(listener_count(everything, 0, "heard server/discover"), 1);
    await_stream();
    ck_assert_int_eq(listener_count(everything, 0, "test: GET /mcp"), 1);
}

START_TEST(it_is_reached_by_type_and_url)
{
    open_as("http");
    check_session();
}
END_TEST

START_TEST(it_is_reached_by_its_url_alone)
{
    open_as(NULL);
    check_session();
}
END_TEST

START_TEST(an_older_revision_is_spoken_when_told_so)
{
    real.options.revision = "2025-03-26";
    open_everything();
    ck_assert_str_eq(real_revision(), "2025-03-26");
    ck_assert_str_eq(real_text("echo", "{\"message\":\"old\"}"), "Echo: old");
    ck_assert_int_eq(listener_count(everything, 0, "heard server/discover"), 0);
}
END_TEST

START_TEST(a_second_time_its_era_is_known)
{
    open_everything();
    real_close();
    size_t before = everything->len;
    real_open();
    ck_assert_str_eq(real_text("echo", "{\"message\":\"again\"}"), "Echo: again");
    ck_assert_int_eq(listener_count(everything, before, "heard server/discover"), 0);
    ck_assert_int_eq(listener_count(everything, before, "heard initialize"), 1);
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
    REAL_UNTIL(listener_count(everything, 0, "Received session termination") == 5);
}
END_TEST

START_TEST(the_session_is_ended_there_too_at_the_close)
{
    open_everything();
    real_tool("echo", "{\"message\":\"\"}");
    real_close();
    LISTENER_TOLD(everything, "Received session termination request");
    LISTENER_TOLD(everything, "test: end DELETE /mcp 200");
}
END_TEST

START_TEST(a_server_that_was_restarted_gives_a_new_session)
{
    open_everything();
    await_stream();
    ck_assert_str_eq(real_text("echo", "{\"message\":\"one\"}"), "Echo: one");
    int port = everything->port;
    listener_end(everything);
    start(port);
    ck_assert_int_eq(everything->port, port);

    /* If the call is the one that finds out, it is sent again. */
    ck_assert_str_eq(real_text("echo", "{\"message\":\"two\"}"), "Echo: two");
    struct mcplug_ledger l = real_ledger();
    ck_assert_uint_le(l.transport_error, 1);
    real.breaches = (unsigned)l.transport_error;
    ck_assert_str_eq(real_text("echo", "{\"message\":\"three\"}"), "Echo: three");
    ck_assert_int_eq(listener_count(everything, 0, "Session initialized"), 1);
    await_stream();
}
END_TEST

START_TEST(calls_to_a_server_that_is_gone_fail_and_say_where)
{
    open_everything();
    await_stream();
    listener_end(everything);
    const struct reply *reply = real_try_tool("echo", "{\"message\":\"\"}");
    ck_assert_int_lt(reply->code, 0);
    ck_contains(reply->why, "127.0.0.1");
    real.breaches = 1;
}
END_TEST

START_TEST(nobody_at_the_port_is_told_at_once)
{
    int port, fd = listener_nobody(&port);
    real_use_url(NULL, "http://127.0.0.1:%d/mcp", port);
    const struct mcplug_error *why = real_refused();
    close(fd);
    ck_assert_int_eq(why->code, MCPLUG_EREFUSED);
    ck_contains(why->text, "127.0.0.1");
    ck_contains(why->text, "refused");
}
END_TEST

START_TEST(a_wrong_path_is_told_with_its_status)
{
    start(0);
    real_use_url("http", "http://127.0.0.1:%d/nowhere", everything->port);
    const struct mcplug_error *why = real_refused();
    ck_assert_int_eq(why->code, MCPLUG_EREFUSED);
    ck_assert_int_eq(why->peer_status, 404);
    ck_contains(why->text, "HTTP 404");
}
END_TEST

/* ---- calls ---- */

START_TEST(two_hundred_calls_at_once_each_get_their_own_answer)
{
    enum { MANY = 200 };
    static struct reply replies[MANY];
    char text[100];

    open_everything();
    for (int i = 0; i < MANY; i++) {
        snprintf(text, sizeof text, "{\"a\":%d,\"b\":1000}", i);
        real_begin_tool("get-sum", text, &replies[i]);
    }
    struct mcplug_ledger ledger = real_ledger();
    ck_assert_uint_ge(ledger.under_way, MANY);
    for (int i = 0; i < MANY; i++) {
        REAL_UNTIL(replies[i].done);
        ck_assert_msg(replies[i].code == MCPLUG_OK, "%d: %s", i, replies[i].why);
        snprintf(text, sizeof text, "The sum of %d and 1000 is %d.", i, i + 1000);
        ck_assert_str_eq(text_of(replies[i].json), text);
        reply_clear(&replies[i]);
    }
}
END_TEST

START_TEST(many_calls_over_two_connections_all_end)
{
    enum { MANY = 20 };
    struct reply replies[MANY];
    char text[100];

    start(0);
    real_use_url("http", "http://127.0.0.1:%d/mcp", everything->port);
    real_set("connections", "2");
    real_open();
    for (int i = 0; i < MANY; i++) {
        snprintf(text, sizeof text, "{\"message\":\"%d\"}", i);
        real_begin_tool("echo", text, &replies[i]);
    }
    for (int i = 0; i < MANY; i++) {
        REAL_UNTIL(replies[i].done);
        snprintf(text, sizeof text, "Echo: %d", i);
        ck_assert_str_eq(text_of(replies[i].json), text);
        reply_clear(&replies[i]);
    }
}
END_TEST

START_TEST(content_that_is_no_text_arrives_whole)
{
    open_everything();
    json_t *image = real_tool("get-tiny-image", "{}");
    ck_assert_str_eq(at(image, "content/1/mimeType"), "image/png");
    ck_assert_uint_gt(strlen(at(image, "content/1/data")), 1000);
}
END_TEST

START_TEST(errors_of_tools_and_of_the_peer_are_told_apart)
{
    open_everything();
    const struct reply *reply = real_try_tool("get-sum", "{\"a\":\"one\"}");
    ck_assert_int_eq(reply->code, MCPLUG_OK);
    ck_assert(reply->is_error);
    reply = real_try("no/such/method", NULL);
    ck_assert_int_eq(reply->code, MCPLUG_EPEER);
    ck_assert_int_eq(reply->status, -32601);
    real_ping();
}
END_TEST

START_TEST(progress_arrives_on_the_stream_of_the_call)
{
    struct reply reply;

    open_everything();
    real_begin_tool("trigger-long-running-operation", "{\"duration\":0.5,\"steps\":5}",
                    &reply);
    REAL_UNTIL(reply.progress > 0);
    ck_assert(!reply.done);
    REAL_UNTIL(reply.done);
    ck_assert_int_eq(reply.code, MCPLUG_OK);
    ck_assert_int_eq(reply.progress, 5);
    ck_assert_double_eq(reply.total, 5);
    reply_clear(&reply);
}
END_TEST

START_TEST(a_cancel_reaches_the_server)
{
    struct reply reply;

    open_everything();
    real_begin_tool("trigger-long-running-operation", "{\"duration\":60,\"steps\":600}",
                    &reply);
    REAL_UNTIL(reply.progress > 0);
    real_cancel(&reply);
    REAL_UNTIL(reply.done);
    ck_assert_int_eq(reply.code, MCPLUG_ECANCELED);
    LISTENER_TOLD(everything, "heard notifications/cancelled");
    LISTENER_TOLD(everything, "test: end POST /mcp 200 cut");
    ck_assert_str_eq(real_text("echo", "{\"message\":\"on\"}"), "Echo: on");
}
END_TEST

START_TEST(closing_ends_what_is_under_way)
{
    struct reply reply;

    open_everything();
    real_begin_tool("trigger-long-running-operation", "{\"duration\":60,\"steps\":600}",
                    &reply);
    REAL_UNTIL(reply.progress > 0);
    real_close();
    ck_assert(reply.done);
    ck_assert_int_eq(reply.code, MCPLUG_ECANCELED);
    LISTENER_TOLD(everything, "test: end DELETE /mcp 200");
}
END_TEST

/* ---- what it asks us ---- */

START_TEST(a_sample_is_asked_for_and_answered_while_the_call_waits)
{
    real.sample.answer = "{\"role\":\"assistant\",\"model\":\"pen-and-paper\","
                         "\"content\":{\"type\":\"text\",\"text\":\"forty-two\"}}";
    open_with_tool("trigger-sampling-request");
    const char *text = real_text("trigger-sampling-request",
                                 "{\"prompt\":\"how many?\",\"maxTokens\":7}");
    ck_contains(text, "forty-two");
    ck_assert_int_eq(real.sample.asked, 1);
    ck_contains(at(real.sample.params, "messages/0/content/text"), "how many?");
}
END_TEST

START_TEST(forms_and_links_are_answered)
{
    real.elicit.answer = "{\"action\":\"accept\",\"content\":{\"name\":\"Ada\","
                         "\"check\":true,\"integer\":7}}";
    real.elicit_url.answer = "{\"action\":\"accept\"}";
    open_with_tool("trigger-url-elicitation");
    ck_contains(real_text("trigger-elicitation-request", "{}"), "- Name: Ada");
    ck_contains(
        real_text("trigger-url-elicitation", "{\"url\":\"https://example.com/x\"}"),
        "\"action\": \"accept\"");
    ck_assert_int_eq(real.elicit.asked, 1);
    ck_assert_int_eq(real.elicit_url.asked, 1);
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

/* It asks for these on the stream that no call has. */
START_TEST(it_asks_for_our_roots_and_logs_from_the_level_that_we_set)
{
    real.options.log_level = "info";
    real.roots.answer = "{\"roots\":[{\"uri\":\"file:///tmp/a\",\"name\":\"first\"}]}";
    open_with_tool("get-roots-list");
    REAL_UNTIL(real.roots.asked > 0);
    REAL_UNTIL(real.logged > 0); /* that it got our roots, at level info */
    ck_assert_str_ne(at(real.log, "0/level"), "debug");
    ck_contains(real_text("get-roots-list", "{}"), "file:///tmp/a");
    ck_assert_int_eq(listener_count(everything, 0, "heard logging/setLevel"), 1);
}
END_TEST

/* ---- what it tells us ---- */

START_TEST(updates_of_a_resource_come_on_the_stream)
{
    const char *uri = DYNAMIC "text/1";

    open_everything();
    await_stream();
    real_subscribe(uri);
    LISTENER_TOLD(everything, "heard resources/subscribe");
    real_tool("toggle-subscriber-updates", "{}");
    REAL_UNTIL(real.updated > 0);
    ck_assert_str_eq(real.uri, uri);
}
END_TEST

START_TEST(a_new_resource_is_told_and_then_listed)
{
    open_everything();
    await_stream();
    size_t before = real_count(MCPLUG_RESOURCES);
    int told = real.changed[MCPLUG_RESOURCES];
    real_tool("gzip-file-as-resource",
              "{\"name\":\"new.gz\",\"data\":\"data:text/plain,hello\"}");
    REAL_UNTIL(real.changed[MCPLUG_RESOURCES] > told);
    ck_assert_uint_eq(real_count(MCPLUG_RESOURCES), before + 1);
}
END_TEST

int main(void)
{
    REAL_SUITE(
        "server-everything over HTTP", it_is_reached_by_type_and_url,
        it_is_reached_by_its_url_alone, an_older_revision_is_spoken_when_told_so,
        a_second_time_its_era_is_known, it_may_be_closed_as_soon_as_it_is_open,
        the_session_is_ended_there_too_at_the_close,
        a_server_that_was_restarted_gives_a_new_session,
        calls_to_a_server_that_is_gone_fail_and_say_where,
        nobody_at_the_port_is_told_at_once, a_wrong_path_is_told_with_its_status,
        two_hundred_calls_at_once_each_get_their_own_answer,
        many_calls_over_two_connections_all_end, content_that_is_no_text_arrives_whole,
        errors_of_tools_and_of_the_peer_are_told_apart,
        progress_arrives_on_the_stream_of_the_call, a_cancel_reaches_the_server,
        closing_ends_what_is_under_way,
        a_sample_is_asked_for_and_answered_while_the_call_waits,
        forms_and_links_are_answered, a_refused_sample_is_the_tools_failure,
        it_asks_for_our_roots_and_logs_from_the_level_that_we_set,
        updates_of_a_resource_come_on_the_stream, a_new_resource_is_told_and_then_listed);
    return real_run();
}
