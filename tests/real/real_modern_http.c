/* What only HTTP has of 2026-07-28: no sessions, every request stands for itself, its
 * headers say what its body does, and whoever hangs up cancels. */
#include "wire.h"

/* ---- connecting ---- */

static void check_modern(void)
{
    ck_assert_str_eq(real_revision(), "2026-07-28");
    ck_contains(real_info(), "\"modern\"");
    ck_assert_str_eq(real_instructions(), "Greet first.");
    ck_assert_str_eq(real_text("add", "{\"a\":1,\"b\":2}"), "3");
    real_close();
    ck_assert_int_eq(wire_count("heard initialize"), 0);
    ck_assert_int_eq(wire_count("test: GET"), 0);
    ck_assert_int_eq(wire_count("test: DELETE"), 0);
}

START_TEST(there_is_no_session_and_nothing_to_end)
{
    wire_open(&modern);
    check_modern();
}
END_TEST

START_TEST(it_is_reached_by_its_url_alone)
{
    wire_use(&modern, NULL);
    wire_use_as(NULL, wire->path);
    real_open();
    check_modern();
}
END_TEST

START_TEST(a_server_of_both_eras_is_spoken_to_in_the_newer)
{
    wire_use(&modern, "--both");
    real_open();
    check_modern();
}
END_TEST

START_TEST(a_server_of_both_eras_speaks_the_older_without_a_session)
{
    real.options.revision = "2025-11-25";
    wire_use(&modern, "--both");
    real_open();
    ck_assert_str_eq(real_revision(), "2025-11-25");
    ck_assert_str_eq(real_text("add", "{\"a\":1,\"b\":2}"), "3");
    WIRE_TOLD("test: end GET /mcp 405"); /* no stream is fine */
    ck_assert_str_eq(real_text("add", "{\"a\":1,\"b\":3}"), "4");
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
    wire_open(&modern);
    real_count(MCPLUG_TOOLS);
    size_t before = server->len;
    check_headers(real_text("route", ROUTE));
    ck_assert_int_eq(listener_count(server, before, "heard tools/call"), 1);
}
END_TEST

/* It is refused with -32020 then, and told in the schema which headers are missing. */
START_TEST(the_schema_is_fetched_when_the_server_misses_headers)
{
    wire_open(&modern);
    check_headers(real_text("route", ROUTE));
    check_headers(real_text("route", ROUTE));
    ck_assert_int_eq(wire_count("heard tools/list"), 1);
    ck_assert_int_eq(wire_count("test: end POST /mcp 400"), 1);
}
END_TEST

START_TEST(an_argument_that_is_not_given_has_no_header)
{
    wire_open(&modern);
    real_count(MCPLUG_TOOLS);
    json_t *headers = json_loads(real_text("route", "{\"region\":\"eu\"}"), 0, NULL);
    ck_assert_str_eq(at(headers, "mcp-param-region"), "eu");
    ck_assert_uint_eq(json_object_size(headers), 4);
    json_decref(headers);
}
END_TEST

/* ---- hanging up ---- */

START_TEST(a_call_that_has_not_answered_yet_is_cancelled_too)
{
    struct reply reply;

    wire_open(&modern);
    size_t before = server->len;
    real_begin_tool("slow", "{\"ms\":60000,\"steps\":1,\"name\":\"mute\"}", &reply);
    REAL_UNTIL(listener_count(server, before, "heard tools/call") > 0);
    real_cancel(&reply);
    REAL_UNTIL(reply.done);
    WIRE_TOLD("cancelled mute");
}
END_TEST

int main(void)
{
    WIRE_SUITE(HTTP, "@modelcontextprotocol/server 2",
               there_is_no_session_and_nothing_to_end, it_is_reached_by_its_url_alone,
               a_server_of_both_eras_is_spoken_to_in_the_newer,
               a_server_of_both_eras_speaks_the_older_without_a_session,
               arguments_go_along_as_headers_where_the_schema_says_so,
               the_schema_is_fetched_when_the_server_misses_headers,
               an_argument_that_is_not_given_has_no_header,
               a_call_that_has_not_answered_yet_is_cancelled_too);
    return real_run();
}
