/* What only WebSockets have. The server behind this one is a gateway in front of one that
 * knows stdio alone. */
#include "wire.h"

static void check_echo(void)
{
    real_open();
    ck_assert_str_eq(real_revision(), "2025-11-25");
    ck_contains(real_info(), "\"mcp-servers/everything\"");
    ck_assert_str_eq(real_text("echo", "{\"message\":\"\\u00fc\"}"), "Echo: \xc3\xbc");
    int closed = wire_count("WebSocket connection closed");
    real_close();
    REAL_UNTIL(wire_count("WebSocket connection closed") > closed);
}

START_TEST(it_is_reached_by_its_url_alone_and_by_either_name_of_the_type)
{
    wire_use(&everything, NULL);
    wire_use_as(NULL, wire->path);
    check_echo();
    wire_use_as("ws", wire->path);
    check_echo();
    wire_use_as("websocket", wire->path);
    check_echo();
}
END_TEST

int main(void)
{
    WIRE_SUITE(WEBSOCKET, "supergateway",
               it_is_reached_by_its_url_alone_and_by_either_name_of_the_type);
    return real_run();
}
