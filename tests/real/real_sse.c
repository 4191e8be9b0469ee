/* What only HTTP+SSE of 2024-11-05 has: one stream carries everything that the server
 * says. */
#include "wire.h"

START_TEST(it_is_reached_by_its_type)
{
    wire_open(&everything);
    ck_assert_str_eq(real_revision(), "2025-11-25");
    ck_assert_str_eq(real_text("echo", "{\"message\":\"\\u00fc\"}"), "Echo: \xc3\xbc");
    ck_assert_int_eq(wire_count("test: POST /sse"), 0);
    ck_assert_int_eq(wire_count("test: GET /sse"), 1);
    real_close();
    WIRE_TOLD("Client Disconnected");
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
    wire_use(&everything, NULL);
    wire_use_as(NULL, wire->path);
    real_open();
    ck_assert_str_eq(real_text("echo", "{\"message\":\"one\"}"), "Echo: one");
    ck_assert_int_eq(wire_count("test: POST /sse"), 2);
    ck_assert_int_eq(wire_count("test: GET /sse"), 1);
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
    wire_use(&everything, NULL);
    wire_use_as("http", wire->path);
    const struct mcplug_error *why = real_refused();
    ck_assert_int_eq(why->peer_status, 404);
    ck_contains(why->text, "HTTP 404");
    ck_assert_int_eq(wire_count("test: GET /sse"), 0);
}
END_TEST

START_TEST(the_gateway_is_found_by_its_url_alone)
{
    server = wire_gateway("sse", everything.script, "stdio");
    wire_use_as(NULL, wire->path);
    real_open();
    ck_assert_str_eq(real_text("echo", "{\"message\":\"through\"}"), "Echo: through");
    json_t *image = real_tool("get-tiny-image", "{}");
    ck_assert_uint_gt(strlen(at(image, "content/1/data")), 1000);
    close_first();
    WIRE_TOLD("test: end GET /sse 200 cut");
    real_open(); /* the one server behind it is initialized once more */
    ck_assert_str_eq(real_text("echo", "{\"message\":\"again\"}"), "Echo: again");
}
END_TEST

int main(void)
{
    WIRE_SUITE(SSE, "server-everything", it_is_reached_by_its_type,
               its_url_alone_leads_there_and_is_remembered,
               a_type_is_taken_by_its_word_and_never_replaced);
    WIRE_SUITE(SSE, "supergateway", the_gateway_is_found_by_its_url_alone);
    return real_run();
}
