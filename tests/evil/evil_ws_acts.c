/* What evil_ws.c does in its modes. */
#include "evil_ws.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* ---- in place of an upgrade ---- */

static void status(struct guest *g, const char *line, const char *more)
{
    char text[512];
    int n = snprintf(text, sizeof text,
                     "HTTP/1.1 %s\r\nContent-Length: 6\r\n%s\r\nsorry\n", line, more);
    put(g, text, (size_t)n);
    flush(g);
    leave_deaf(g);
}

static void say_401(struct guest *g, uint64_t id)
{
    (void)id;
    status(g, "401 Unauthorized", "WWW-Authenticate: Bearer\r\n");
}

static void say_403(struct guest *g, uint64_t id)
{
    (void)id;
    status(g, "403 Forbidden", "");
}

static void say_404(struct guest *g, uint64_t id)
{
    (void)id;
    status(g, "404 Not Found", "");
}

static void say_302(struct guest *g, uint64_t id)
{
    (void)id;
    status(g, "302 Found", "Location: ws://127.0.0.1:1/elsewhere\r\n");
}

static void say_200(struct guest *g, uint64_t id)
{
    (void)id;
    status(g, "200 OK", "Content-Type: text/plain\r\n");
}

static void no_answer(struct guest *g, uint64_t id)
{
    (void)id;
    leave_deaf(g);
}

static void drip(struct guest *g, uint64_t id)
{
    (void)id;
    put(g, "HTTP/1.1 101 Switching Protocols\r\nX: ", 37);
    for (;;) {
        put(g, "x", 1);
        flush(g);
        usleep(1000);
    }
}

static void endless_head(struct guest *g, uint64_t id)
{
    (void)id;
    put(g, "HTTP/1.1 101 Switching Protocols\r\nX-Long: ", 42);
    many(g, 'x', 64 << 20);
    leave(g);
}

static void many_heads(struct guest *g, uint64_t id)
{
    (void)id;
    put(g, "HTTP/1.1 101 Switching Protocols\r\n", 34);
    for (int i = 0; i < 1000000; i++)
        put(g, "Upgrade: websocket\r\n", 20);
    leave(g);
}

static void not_http(struct guest *g, uint64_t id)
{
    (void)id;
    put(g, "SSH-2.0-OpenSSH_9.2\r\n\r\n", 23);
    flush(g);
    leave_deaf(g);
}

static void reset(struct guest *g, uint64_t id)
{
    (void)id;
    leave_reset(g);
}

static void hang_up(struct guest *g, uint64_t id)
{
    (void)id;
    leave(g);
}

static void wrong_accept(struct guest *g, uint64_t id)
{
    (void)id;
    upgrade(g, "AAAAAAAAAAAAAAAAAAAAAAAAAAA=", "");
}

static void unasked_extension(struct guest *g, uint64_t id)
{
    (void)id;
    upgrade(g, g->accept, "Sec-WebSocket-Extensions: permessage-deflate\r\n");
}

static void unasked_protocol(struct guest *g, uint64_t id)
{
    (void)id;
    g->offers_mcp = false;
    upgrade(g, g->accept, "Sec-WebSocket-Protocol: chat\r\n");
}

static void no_protocol(struct guest *g, uint64_t id)
{
    (void)id;
    g->offers_mcp = false;
    upgrade(g, g->accept, "");
}

/* A message in the same packet as the upgrade. */
static void early(struct guest *g, uint64_t id)
{
    (void)id;
    upgrade(g, g->accept, "");
    say(g, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}");
}

/* Looks for what the client must have said. */
static void picky(struct guest *g, uint64_t id)
{
    if (!strstr(g->head, "\r\nAuthorization: Bearer secret\r\n") ||
        !strstr(g->head, "\r\nUser-Agent: mcplug/") ||
        !strstr(g->head, "\r\nHost: 127.0.0.1:") || !g->offers_mcp ||
        strstr(g->head, "Sec-WebSocket-Extensions"))
        say_403(g, id);
    upgrade(g, g->accept, "");
}

const struct act upgrade_acts[] = {
    {"401", say_401},
    {"403", say_403},
    {"404", say_404},
    {"302", say_302},
    {"200", say_200},
    {"no-answer", no_answer},
    {"drip", drip},
    {"endless-head", endless_head},
    {"many-heads", many_heads},
    {"not-http", not_http},
    {"reset-upgrade", reset},
    {"fin-upgrade", hang_up},
    {"wrong-accept", wrong_accept},
    {"unasked-extension", unasked_extension},
    {"unasked-protocol", unasked_protocol},
    {"no-protocol", no_protocol},
    {"early", early},
    {"picky", picky},
    {NULL, NULL},
};

/* ---- at a call ---- */

static const char half[] = "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"content\":[";

static void reset_inside(struct guest *g, uint64_t id)
{
    (void)id;
    head(g, FIN | TEXT, 5000);
    put(g, half, sizeof half - 1);
    flush(g);
    usleep(20000); /* or the reset overtakes it */
    leave_reset(g);
}

static void fin_inside(struct guest *g, uint64_t id)
{
    (void)id;
    head(g, FIN | TEXT, 5000);
    put(g, half, sizeof half - 1);
    flush(g);
    leave(g);
}

static void fin_between_fragments(struct guest *g, uint64_t id)
{
    (void)id;
    frame(g, TEXT, half, sizeof half - 1);
    flush(g);
    leave(g);
}

static void close_with(struct guest *g, uint64_t id)
{
    unsigned char text[64] = {(unsigned char)(g->arg >> 8), (unsigned char)g->arg};

    (void)id;
    memcpy(text + 2, "go\33[31m \303\244way\n", 15);
    frame(g, FIN | CLOSE, text, 17);
    flush(g);
    leave_deaf(g);
}

static void close_bare(struct guest *g, uint64_t id)
{
    (void)id;
    frame(g, FIN | CLOSE, "", 0);
    flush(g);
    leave_deaf(g);
}

static void close_one(struct guest *g, uint64_t id)
{
    (void)id;
    frame(g, FIN | CLOSE, "x", 1);
    flush(g);
    leave_deaf(g);
}

static void raw(struct guest *g, const char *bytes, size_t len)
{
    put(g, bytes, len);
    flush(g);
}

static void big_control(struct guest *g, uint64_t id)
{
    (void)id;
    head(g, FIN | PING, 126);
    many(g, 'x', 126);
}

static void cut_control(struct guest *g, uint64_t id)
{
    (void)id;
    frame(g, PING, "x", 1);
}

static void reserved_bits(struct guest *g, uint64_t id)
{
    (void)id;
    frame(g, FIN | 0x40 | TEXT, "{}", 2);
}

static void odd_opcode(struct guest *g, uint64_t id)
{
    (void)id;
    frame(g, FIN | 3, "{}", 2);
}

static void stray_continuation(struct guest *g, uint64_t id)
{
    (void)id;
    frame(g, FIN, "{}", 2);
}

static void text_in_text(struct guest *g, uint64_t id)
{
    (void)id;
    frame(g, TEXT, half, sizeof half - 1);
    frame(g, FIN | TEXT, "{}", 2);
}

static void negative_length(struct guest *g, uint64_t id)
{
    (void)id;
    raw(g, "\x81\x7f\xff\xff\xff\xff\xff\xff\xff\xff{", 11);
}

/* As long as a frame can say, and without an end. */
static void huge_length(struct guest *g, uint64_t id)
{
    (void)id;
    head(g, FIN | TEXT, (uint64_t)1 << 62);
    put(g, half, sizeof half - 1);
    put(g, "\"", 1);
    many(g, 'x', (g->arg ? g->arg : 256) << 20);
    flush(g);
    leave_deaf(g);
}

static void bad_utf8(struct guest *g, uint64_t id)
{
    char text[160];
    int n = snprintf(text, sizeof text,
                     "{\"jsonrpc\":\"2.0\",\"id\":%llu,\"result\":{\"x\":\"\xff\"}}",
                     (unsigned long long)id);
    frame(g, FIN | TEXT, text, (size_t)n);
}

static void not_json(struct guest *g, uint64_t id)
{
    frame(g, FIN | TEXT, "Hello!", 6);
    ok(g, id, "fine");
}

static void masked(struct guest *g, uint64_t id)
{
    char text[200];
    int n = snprintf(text, sizeof text,
                     "{\"jsonrpc\":\"2.0\",\"id\":%llu,\"result\":{\"resultType\":"
                     "\"complete\",\"content\":[{\"type\":\"text\",\"text\":\"fine\"}]}}",
                     (unsigned long long)id);
    frame(g, FIN | MASKED | TEXT, text, (size_t)n);
}

/* Long answers in one frame. */
static void big(struct guest *g, uint64_t id)
{
    uint64_t count = (g->arg ? g->arg : 10) << 20;
    char text[200];
    int n = snprintf(text, sizeof text,
                     "{\"jsonrpc\":\"2.0\",\"id\":%llu,\"result\":{\"resultType\":"
                     "\"complete\",\"content\":[{\"type\":\"text\",\"text\":\"",
                     (unsigned long long)id);
    head(g, FIN | TEXT, (uint64_t)n + count + 5);
    put(g, text, (size_t)n);
    many(g, 'x', count);
    put(g, "\"}]}}", 5);
}

static void ping_flood(struct guest *g, uint64_t id)
{
    for (int i = 0; i < 20000; i++)
        frame(g, FIN | PING, "0123456789", 10);
    ok(g, id, "fine");
}

/* Requests without an end, and their answers are not read. */
static void ping_forever(struct guest *g, uint64_t id)
{
    (void)id;
    for (;;)
        say(g, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}");
}

static void empty_flood(struct guest *g, uint64_t id)
{
    for (int i = 0; i < 100000; i++)
        frame(g, i == 0 ? TEXT : 0, "", 0);
    frame(g, FIN, "", 0);
    ok(g, id, "fine");
}

/* Reads nothing for a while, then everything. */
static void sleepy(struct guest *g, uint64_t id)
{
    usleep(300000);
    ok(g, id, "fine");
}

static void die(struct guest *g, uint64_t id)
{
    (void)g, (void)id;
    _exit(1);
}

static void silent(struct guest *g, uint64_t id)
{
    (void)g, (void)id;
}

const struct act call_acts[] = {
    {"reset", reset},
    {"reset-inside", reset_inside},
    {"fin", hang_up},
    {"fin-inside", fin_inside},
    {"fin-between-fragments", fin_between_fragments},
    {"close", close_with},
    {"close-bare", close_bare},
    {"close-one", close_one},
    {"big-control", big_control},
    {"cut-control", cut_control},
    {"reserved-bits", reserved_bits},
    {"odd-opcode", odd_opcode},
    {"stray-continuation", stray_continuation},
    {"text-in-text", text_in_text},
    {"negative-length", negative_length},
    {"huge-length", huge_length},
    {"bad-utf8", bad_utf8},
    {"not-json", not_json},
    {"masked", masked},
    {"big", big},
    {"ping-flood", ping_flood},
    {"empty-flood", empty_flood},
    {"ping-forever", ping_forever},
    {"sleepy", sleepy},
    {"die", die},
    {"silent", silent},
    {"no-pong", silent},
    {NULL, NULL},
};
