/* A scripted hostile WebSocket peer, for faults_ws.c: evil_ws.
 *
 * It listens on a port of 127.0.0.1, says its number and runs until its stdin is closed.
 * The path of the URL is the mode: /MODE or /MODE?NUMBER. It is a proper server of
 * 2026-07-28 otherwise: the tools "good", "echo" and "counts" work as long as there is
 * anybody to answer, and "quiet" is never answered. No library and no JSON parser:
 * whoever tests a parser should not need one. */
#include "evil_ws.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

/* ---- the key of the upgrade ---- */

static uint32_t turned(uint32_t v, int n)
{
    return v << n | v >> (32 - n);
}

static void sha1_block(uint32_t h[5], const unsigned char *p)
{
    uint32_t w[80], a = h[0], b = h[1], c = h[2], d = h[3], e = h[4];

    for (int i = 0; i < 16; i++, p += 4)
        w[i] = (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
    for (int i = 16; i < 80; i++)
        w[i] = turned(w[i - 3] ^ w[i - 8] ^ w[i - 14] ^ w[i - 16], 1);
    for (int i = 0; i < 80; i++) {
        uint32_t f = i < 20   ? ((b & c) | (~b & d)) + 0x5a827999
                     : i < 40 ? (b ^ c ^ d) + 0x6ed9eba1
                     : i < 60 ? ((b & c) | (b & d) | (c & d)) + 0x8f1bbcdc
                              : (b ^ c ^ d) + 0xca62c1d6;
        uint32_t t = turned(a, 5) + f + e + w[i];
        e = d, d = c, c = turned(b, 30), b = a, a = t;
    }
    h[0] += a, h[1] += b, h[2] += c, h[3] += d, h[4] += e;
}

/* Of up to 100 bytes. */
static void sha1(const char *text, unsigned char out[20])
{
    uint32_t h[5] = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0};
    unsigned char block[128] = {0};
    size_t len = strlen(text), size = len < 56 ? 64 : 128;

    memcpy(block, text, len);
    block[len] = 0x80;
    block[size - 2] = (unsigned char)(len * 8 >> 8);
    block[size - 1] = (unsigned char)(len * 8);
    for (size_t i = 0; i < size; i += 64)
        sha1_block(h, block + i);
    for (int i = 0; i < 20; i++)
        out[i] = (unsigned char)(h[i / 4] >> (24 - i % 4 * 8));
}

static void accept_of(const char *key, char out[32])
{
    static const char digits[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    char text[100];
    unsigned char sum[21] = {0};

    snprintf(text, sizeof text, "%.24s258EAFA5-E914-47DA-95CA-C5AB0DC85B11", key);
    sha1(text, sum);
    for (int i = 0; i < 7; i++) {
        uint32_t v =
            (uint32_t)sum[i * 3] << 16 | (uint32_t)sum[i * 3 + 1] << 8 | sum[i * 3 + 2];
        for (int k = 0; k < 4; k++)
            out[i * 4 + k] = digits[v >> (18 - 6 * k) & 63];
    }
    out[27] = '=';
    out[28] = '\0';
}

/* ---- saying ---- */

static void guest_free(struct guest *g)
{
    close(g->fd);
    free(g->head);
    free(g->message);
    free(g);
}

_Noreturn void leave(struct guest *g)
{
    guest_free(g);
    pthread_exit(NULL);
}

_Noreturn void leave_reset(struct guest *g)
{
    struct linger now = {1, 0};

    setsockopt(g->fd, SOL_SOCKET, SO_LINGER, &now, sizeof now);
    leave(g);
}

_Noreturn void leave_deaf(struct guest *g)
{
    while (recv(g->fd, g->in, sizeof g->in, 0) > 0)
        continue;
    leave(g);
}

void flush(struct guest *g)
{
    for (size_t at = 0; at < g->waiting;) {
        ssize_t n = send(g->fd, g->out + at, g->waiting - at, MSG_NOSIGNAL);
        if (n <= 0)
            leave(g);
        at += (size_t)n;
    }
    g->waiting = 0;
}

void put(struct guest *g, const void *data, size_t len)
{
    const char *p = data;

    while (len > 0) {
        size_t n = sizeof g->out - g->waiting;
        if (n > len)
            n = len;
        memcpy(g->out + g->waiting, p, n);
        g->waiting += n;
        p += n;
        len -= n;
        if (g->waiting == sizeof g->out)
            flush(g);
    }
}

void many(struct guest *g, char byte, uint64_t count)
{
    char block[4096];

    memset(block, byte, sizeof block);
    for (; count > sizeof block; count -= sizeof block)
        put(g, block, sizeof block);
    put(g, block, (size_t)count);
}

void head(struct guest *g, int kind, uint64_t len)
{
    unsigned char h[14] = {(unsigned char)kind};
    unsigned char masked = kind & MASKED ? 0x80 : 0;
    size_t n = 2;

    if (len < 126) {
        h[1] = (unsigned char)len;
    } else if (len < 65536) {
        h[1] = 126;
        h[2] = (unsigned char)(len >> 8);
        h[3] = (unsigned char)len;
        n = 4;
    } else {
        h[1] = 127;
        for (int i = 0; i < 8; i++)
            h[2 + i] = (unsigned char)(len >> (56 - 8 * i));
        n = 10;
    }
    h[1] |= masked;
    put(g, h, masked ? n + 4 : n);
}

void frame(struct guest *g, int kind, const void *data, size_t len)
{
    head(g, kind, len);
    put(g, data, len);
}

/* In the mode "fragments" in pieces of a few bytes, with pings in between. */
void say(struct guest *g, const char *text)
{
    size_t len = strlen(text), piece = 1;

    if (strcmp(g->mode, "binary") == 0) {
        frame(g, FIN | BINARY, text, len);
        return;
    }
    if (strcmp(g->mode, "pings") == 0)
        frame(g, FIN | PING, "are you there", 13);
    if (strcmp(g->mode, "empty") == 0)
        frame(g, FIN | TEXT, "", 0);
    if (strcmp(g->mode, "fragments") != 0) {
        frame(g, FIN | TEXT, text, len);
        return;
    }
    for (size_t at = 0; at < len; at += piece, piece = piece % 7 + 1) {
        frame(g, at == 0 ? TEXT : 0, text + at, piece < len - at ? piece : len - at);
        if (piece == 3)
            frame(g, FIN | PING, "x", 1);
    }
    frame(g, FIN, "", 0);
}

void sayf(struct guest *g, const char *format, ...)
{
    char text[4096];
    va_list ap;

    va_start(ap, format);
    vsnprintf(text, sizeof text, format, ap);
    va_end(ap);
    say(g, text);
}

void ok(struct guest *g, uint64_t id, const char *text)
{
    sayf(g,
         "{\"jsonrpc\":\"2.0\",\"id\":%llu,\"result\":{\"resultType\":\"complete\","
         "\"content\":[{\"type\":\"text\",\"text\":\"%s\"}]}}",
         (unsigned long long)id, text);
}

void upgrade(struct guest *g, const char *accept, const char *more)
{
    char text[512];
    int n =
        snprintf(text, sizeof text,
                 "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n"
                 "Connection: Upgrade\r\nSec-WebSocket-Accept: %s\r\n%s%s\r\n",
                 accept, g->offers_mcp ? "Sec-WebSocket-Protocol: mcp\r\n" : "", more);
    put(g, text, (size_t)n);
}

/* ---- hearing ---- */

/* Between two reads everything said goes out at once. */
static unsigned char next_byte(struct guest *g)
{
    if (g->used == g->have) {
        flush(g);
        ssize_t n = recv(g->fd, g->in, sizeof g->in, 0);
        if (n <= 0)
            leave(g);
        g->have = (size_t)n;
        g->used = 0;
    }
    return g->in[g->used++];
}

static uint64_t number_behind(const char *line, const char *key)
{
    const char *at = strstr(line, key);
    return at ? strtoull(at + strlen(key), NULL, 10) : 0;
}

/* The call's own "text" comes back as it was written. */
static void echo(struct guest *g, uint64_t id, const char *line)
{
    const char *at = strstr(line, "\"text\":\""), *end = at ? strchr(at + 8, '"') : NULL;
    char start[160];

    if (!end) {
        ok(g, id, "");
        return;
    }
    int n = snprintf(start, sizeof start,
                     "{\"jsonrpc\":\"2.0\",\"id\":%llu,\"result\":{\"resultType\":"
                     "\"complete\",\"content\":[{\"type\":\"text\",\"text\":\"",
                     (unsigned long long)id);
    size_t len = (size_t)(end - at - 8);
    head(g, FIN | TEXT, (size_t)n + len + 5);
    put(g, start, (size_t)n);
    put(g, at + 8, len);
    put(g, "\"}]}}", 5);
}

static atomic_int last_code; /* of the close frames of all guests */

static void on_call(struct guest *g, uint64_t id, const char *line)
{
    char text[128];

    if (strstr(line, "\"name\":\"quiet\"")) {
        return; /* is never answered */
    } else if (strstr(line, "\"name\":\"good\"")) {
        ok(g, id, "good");
    } else if (strstr(line, "\"name\":\"echo\"")) {
        echo(g, id, line);
    } else if (strstr(line, "\"name\":\"counts\"")) {
        snprintf(text, sizeof text,
                 "pings %u pongs %u fragments %u binaries %u closed %d", g->pings,
                 g->pongs, g->fragments, g->binaries, (int)last_code);
        ok(g, id, text);
    } else {
        const struct act *act = call_acts;
        while (act->mode && strcmp(act->mode, g->mode) != 0)
            act++;
        if (act->mode)
            act->run(g, id);
        else
            ok(g, id, "fine");
    }
}

static void on_message(struct guest *g, const char *line)
{
    uint64_t id = number_behind(line, "\"id\":");

    if (!id || !strstr(line, "\"method\":"))
        return;
    if (strstr(line, "\"method\":\"server/discover\""))
        sayf(g,
             "{\"jsonrpc\":\"2.0\",\"id\":%llu,\"result\":{\"resultType\":\"complete\","
             "\"supportedVersions\":[\"2026-07-28\"],\"capabilities\":{\"tools\":{}},"
             "\"_meta\":{\"io.modelcontextprotocol/serverInfo\":{\"name\":\"evil\","
             "\"version\":\"1\"}}}}",
             (unsigned long long)id);
    else if (strstr(line, "\"method\":\"tools/call\""))
        on_call(g, id, line);
    else if (!strstr(line, "\"method\":\"subscriptions/listen\""))
        sayf(g,
             "{\"jsonrpc\":\"2.0\",\"id\":%llu,\"error\":{\"code\":-32601,"
             "\"message\":\"Method not found\"}}",
             (unsigned long long)id);
}

static void keep(struct guest *g, uint64_t len)
{
    if (len > MESSAGE_MAX || g->message_len + len > MESSAGE_MAX)
        leave(g);
    if (g->message_len + len + 1 > g->message_room) {
        g->message_room = g->message_len + (size_t)len + 65536;
        g->message = realloc(g->message, g->message_room);
        if (!g->message)
            abort();
    }
}

static void payload(struct guest *g, uint64_t len, const unsigned char mask[4])
{
    uint64_t at = 0;

    keep(g, len);
    while (at < len) {
        g->message[g->message_len++] = (char)(next_byte(g) ^ mask[at & 3]);
        at++;
        while (g->used < g->have && at < len) {
            g->message[g->message_len++] = (char)(g->in[g->used++] ^ mask[at & 3]);
            at++;
        }
    }
    g->message[g->message_len] = '\0';
}

static void on_control(struct guest *g, int kind, size_t at)
{
    size_t len = g->message_len - at;

    if (kind == CLOSE) {
        if (len >= 2)
            last_code =
                (unsigned char)g->message[at] << 8 | (unsigned char)g->message[at + 1];
        if (strcmp(g->mode, "close-never") == 0)
            leave_deaf(g);
        frame(g, FIN | CLOSE, g->message + at, len);
        flush(g);
        leave(g);
    }
    if (kind == PING) {
        g->pings++;
        if (strcmp(g->mode, "no-pong") != 0)
            frame(g, FIN | PONG, g->message + at, len);
    } else {
        g->pongs++;
    }
    g->message_len = at; /* a message may be under way around it */
}

/* A client that does not mask, or goes beyond a rule, is left alone. */
static void hear_frame(struct guest *g)
{
    unsigned char first = next_byte(g), second = next_byte(g), mask[4];
    uint64_t len = second & 127;
    int wide = len == 126 ? 2 : len == 127 ? 8 : 0, kind = first & 15;
    size_t at = g->message_len;

    if (!(second & 128) || first & 0x70)
        leave_reset(g);
    if (wide)
        len = 0;
    for (int i = 0; i < wide; i++)
        len = len << 8 | next_byte(g);
    for (int i = 0; i < 4; i++)
        mask[i] = next_byte(g);
    payload(g, len, mask);
    if (kind & 8) {
        on_control(g, kind, at);
        return;
    }
    g->fragments += !(first & FIN);
    g->binaries += kind == BINARY;
    if (first & FIN) {
        g->message_len = 0;
        on_message(g, g->message);
    }
}

static void hear_request(struct guest *g)
{
    static const char key[] = "Sec-WebSocket-Key: ";
    size_t n = 0, room = 128 << 10;

    g->head = calloc(1, room);
    if (!g->head)
        abort();
    while (n < room - 1 && !(n >= 4 && memcmp(g->head + n - 4, "\r\n\r\n", 4) == 0))
        g->head[n++] = (char)next_byte(g);
    sscanf(g->head, "GET /%63[^? ]?%llu", g->mode, (unsigned long long *)&g->arg);
    const char *at = strcasestr(g->head, key);
    if (at)
        accept_of(at + sizeof key - 1, g->accept);
    g->offers_mcp = strcasestr(g->head, "Sec-WebSocket-Protocol: mcp\r\n") != NULL;
}

static void *serve(void *arg)
{
    struct guest *g = arg;
    const struct act *act = upgrade_acts;

    hear_request(g);
    while (act->mode && strcmp(act->mode, g->mode) != 0)
        act++;
    if (act->mode)
        act->run(g, 0);
    else
        upgrade(g, g->accept, "");
    while (g->fd >= 0) /* until the thread ends in there */
        hear_frame(g);
    return NULL;
}

/* ---- life ---- */

static void *wait_for_end(void *arg)
{
    char c;

    (void)arg;
    while (read(STDIN_FILENO, &c, 1) > 0)
        continue;
    _exit(0);
}

static void welcome(int fd)
{
    struct guest *g = calloc(1, sizeof *g);
    pthread_t thread;
    int yes = 1;

    if (!g)
        abort();
    g->fd = fd;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    if (pthread_create(&thread, NULL, serve, g) != 0)
        guest_free(g);
    else
        pthread_detach(thread);
}

int main(void)
{
    struct sockaddr_in a = {.sin_family = AF_INET,
                            .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof a;
    pthread_t thread;
    int door = socket(AF_INET, SOCK_STREAM, 0);

    if (door < 0 || bind(door, (struct sockaddr *)&a, sizeof a) != 0 ||
        listen(door, 64) != 0 || getsockname(door, (struct sockaddr *)&a, &len) != 0 ||
        pthread_create(&thread, NULL, wait_for_end, NULL) != 0) {
        perror("evil_ws");
        return 1;
    }
    printf("%d\n", ntohs(a.sin_port));
    fflush(stdout);
    for (;;) {
        int fd = accept(door, NULL, NULL);
        if (fd >= 0)
            welcome(fd);
    }
}
