/* The wires of the peer other than stdin and stdout: a thread for each connection. */
#include "peer.h"

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

enum { IN_MAX = 64 * 1024, STREAMS = 64 };

struct conn {
    int fd;
    size_t have;
    char in[IN_MAX + 1];
    char body[IN_MAX + 1];
};

/* The streams of HTTP+SSE, by the number in the address that they told. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int streams[STREAMS];
static unsigned n_streams;

static void say(int fd, const char *data, size_t len)
{
    while (len) {
        ssize_t n = send(fd, data, len, MSG_NOSIGNAL);
        if (n <= 0)
            return;
        data += n;
        len -= (size_t)n;
    }
}

/* ---- the key of an upgrade: SHA-1, in Base64 ---- */

static uint32_t turned(uint32_t v, int n)
{
    return v << n | v >> (32 - n);
}

static void sum_block(uint32_t h[5], const unsigned char *p)
{
    uint32_t w[80], v[5];

    memcpy(v, h, sizeof v);
    for (int i = 0; i < 80; i++) {
        static const uint32_t k[] = {0x5a827999, 0x6ed9eba1, 0x8f1bbcdc, 0xca62c1d6};
        uint32_t f[] = {(v[1] & v[2]) | (~v[1] & v[3]), v[1] ^ v[2] ^ v[3],
                        (v[1] & v[2]) | (v[1] & v[3]) | (v[2] & v[3]),
                        v[1] ^ v[2] ^ v[3]};
        w[i] = i < 16 ? (uint32_t)p[4 * i] << 24 | (uint32_t)p[4 * i + 1] << 16 |
                            (uint32_t)p[4 * i + 2] << 8 | p[4 * i + 3]
                      : turned(w[i - 3] ^ w[i - 8] ^ w[i - 14] ^ w[i - 16], 1);
        uint32_t t = turned(v[0], 5) + f[i / 20] + v[4] + w[i] + k[i / 20];
        v[4] = v[3];
        v[3] = v[2];
        v[2] = turned(v[1], 30);
        v[1] = v[0];
        v[0] = t;
    }
    for (int i = 0; i < 5; i++)
        h[i] += v[i];
}

static void accept_key(const char *key, char out[29])
{
    static const char digits[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    uint32_t h[5] = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0};
    unsigned char text[128] = {0}, sum[21] = {0};

    snprintf((char *)text, 61, "%.24s258EAFA5-E914-47DA-95CA-C5AB0DC85B11", key);
    text[60] = 0x80; /* 60 bytes, 480 bits */
    text[126] = 480 >> 8;
    text[127] = 480 & 255;
    sum_block(h, text);
    sum_block(h, text + 64);
    for (int i = 0; i < 20; i++)
        sum[i] = (unsigned char)(h[i / 4] >> (24 - i % 4 * 8));
    for (int i = 0; i < 28; i++) {
        const unsigned char *p = sum + i / 4 * 3;
        uint32_t v = (uint32_t)p[0] << 16 | (uint32_t)p[1] << 8 | p[2];
        out[i] = digits[v >> (18 - i % 4 * 6) & 63];
    }
    out[27] = '=';
    out[28] = '\0';
}

/* ---- WebSocket ---- */

static bool take(struct conn *c, void *out, size_t len)
{
    char *to = out;

    while (len) {
        if (!c->have) {
            ssize_t n = recv(c->fd, c->in, IN_MAX, 0);
            if (n <= 0)
                return false;
            c->have = (size_t)n;
        }
        size_t n = len < c->have ? len : c->have;
        memcpy(to, c->in, n);
        memmove(c->in, c->in + n, c->have - n);
        c->have -= n;
        to += n;
        len -= n;
    }
    return true;
}

static void say_frame(struct conn *c, unsigned char kind, const char *data, size_t len)
{
    unsigned char head[4] = {0x80 | kind, (unsigned char)len};

    if (len >= 126) {
        head[1] = 126;
        head[2] = (unsigned char)(len >> 8);
        head[3] = (unsigned char)len;
    }
    say(c->fd, (char *)head, len >= 126 ? 4 : 2);
    say(c->fd, data, len);
}

/* One frame is one message: nobody here says more than that. */
static bool hear_frame(struct conn *c)
{
    unsigned char head[2], wide[2], mask[4];
    char buf[REPLY_MAX];

    if (!take(c, head, 2))
        return false;
    size_t len = head[1] & 127;
    if (len == 127 || !(head[1] & 128) || (len == 126 && !take(c, wide, 2)))
        return false;
    if (len == 126)
        len = (size_t)wide[0] << 8 | wide[1];
    if (len > IN_MAX || !take(c, mask, 4) || !take(c, c->body, len))
        return false;
    for (size_t i = 0; i < len; i++)
        c->body[i] ^= (char)mask[i & 3];
    c->body[len] = '\0';
    int kind = head[0] & 15;
    if (kind == 8 || kind == 9)
        say_frame(c, kind == 8 ? 8 : 10, c->body, len);
    const char *reply = kind == 1 ? peer_reply(buf, c->body, false) : NULL;
    if (reply)
        say_frame(c, 1, reply, strlen(reply));
    return kind != 8;
}

static void upgrade(struct conn *c, const char *head)
{
    char key[29], text[256];
    const char *at = strcasestr(head, "Sec-WebSocket-Key: ");

    if (!at)
        return;
    accept_key(at + 19, key);
    int n = snprintf(text, sizeof text,
                     "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n"
                     "Connection: Upgrade\r\nSec-WebSocket-Accept: %s\r\n"
                     "Sec-WebSocket-Protocol: mcp\r\n\r\n",
                     key);
    say(c->fd, text, (size_t)n);
    while (hear_frame(c))
        continue;
}

/* ---- HTTP and HTTP+SSE ---- */

static void answer(struct conn *c, const char *status, const char *body)
{
    char text[REPLY_MAX + 256];
    int n = snprintf(text, sizeof text,
                     "HTTP/1.1 %s\r\nContent-Type: application/json\r\n"
                     "Content-Length: %zu\r\n\r\n%s",
                     status, strlen(body), body);
    say(c->fd, text, (size_t)n);
}

static void wait_left(const struct conn *c)
{
    struct pollfd p = {c->fd, POLLRDHUP, 0};
    poll(&p, 1, -1);
}

static void event(int fd, const char *kind, const char *data)
{
    char text[REPLY_MAX + 64];
    int n = snprintf(text, sizeof text, "event: %s\ndata: %s\n\n", kind, data);
    say(fd, text, (size_t)n);
}

static void stream(struct conn *c)
{
    static const char head[] = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
                               "Connection: close\r\n\r\n";
    char where[32];

    pthread_mutex_lock(&lock);
    unsigned i = n_streams++ % STREAMS;
    streams[i] = c->fd;
    snprintf(where, sizeof where, "/sse?id=%u", i + 1);
    say(c->fd, head, sizeof head - 1);
    event(c->fd, "endpoint", where);
    pthread_mutex_unlock(&lock);
    wait_left(c);
    pthread_mutex_lock(&lock);
    streams[i] = -1;
    pthread_mutex_unlock(&lock);
}

static void post_to_stream(struct conn *c, const char *head)
{
    char buf[REPLY_MAX];
    uint64_t id = peer_number(head, "/sse?id=");
    const char *reply = peer_reply(buf, c->body, true);

    answer(c, "202 Accepted", "");
    pthread_mutex_lock(&lock);
    if (reply && id && id <= STREAMS && streams[id - 1] > 0)
        event(streams[id - 1], "message", reply);
    pthread_mutex_unlock(&lock);
}

/* False: the host has gone away from a call that had no answer. */
static bool post(struct conn *c)
{
    char buf[REPLY_MAX], name[32] = "";
    const char *reply = peer_reply(buf, c->body, false);
    const char *at = strstr(c->body, "\"name\":\"");

    if (reply) {
        answer(c, "200 OK", reply);
    } else if (!peer_number(c->body, "\"id\":")) {
        answer(c, "202 Accepted", "");
    } else {
        wait_left(c);
        sscanf(at ? at : "", "\"name\":\"%31[^\"]", name);
        peer_note("left %s", name);
        return false;
    }
    return true;
}

static bool hear_head(struct conn *c, char *head, size_t room)
{
    char *end;

    while (!(end = memmem(c->in, c->have, "\r\n\r\n", 4))) {
        ssize_t n = recv(c->fd, c->in + c->have, IN_MAX - c->have, 0);
        if (n <= 0)
            return false;
        c->have += (size_t)n;
    }
    size_t len = (size_t)(end - c->in) + 4;
    if (len >= room)
        return false;
    take(c, head, len);
    head[len] = '\0';
    return true;
}

static bool serve_request(struct conn *c)
{
    char head[8192];

    if (!hear_head(c, head, sizeof head))
        return false;
    const char *at = strcasestr(head, "Content-Length: ");
    size_t len = at ? strtoul(at + 16, NULL, 10) : 0;
    if (len > IN_MAX || !take(c, c->body, len))
        return false;
    c->body[len] = '\0';
    if (strncmp(head, "GET /ws", 7) == 0)
        upgrade(c, head);
    else if (strncmp(head, "GET /sse", 8) == 0)
        stream(c);
    else if (strncmp(head, "POST /sse", 9) == 0)
        return post_to_stream(c, head), true;
    else if (strncmp(head, "POST /mcp", 9) == 0)
        return post(c);
    else
        return answer(c, "405 Method Not Allowed", ""), true;
    return false;
}

static void *serve(void *arg)
{
    struct conn *c = arg;

    while (serve_request(c))
        continue;
    close(c->fd);
    free(c);
    return NULL;
}

_Noreturn void peer_serve(int port)
{
    struct sockaddr_in a = {.sin_family = AF_INET,
                            .sin_port = htons((uint16_t)port),
                            .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof a;
    int yes = 1, door = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    pthread_attr_t attr;

    signal(SIGPIPE, SIG_IGN);
    alarm(600); /* a test that failed may have left us behind */
    setsockopt(door, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    /* the one that was killed may be on its way out, or somebody be calling from there */
    for (int i = 0; bind(door, (struct sockaddr *)&a, size) != 0; i++)
        if (i == 100 || poll(NULL, 0, 50) != 0)
            _exit(4);
    if (listen(door, 512) != 0 || getsockname(door, (struct sockaddr *)&a, &size) != 0)
        _exit(4);
    peer_note("start %d", (int)getpid());
    printf("%d\n", ntohs(a.sin_port));
    fflush(stdout);
    pthread_attr_init(&attr);
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    for (;;) {
        pthread_t thread;
        struct conn *c = malloc(sizeof *c);
        if (!c)
            _exit(5);
        c->fd = accept4(door, NULL, NULL, SOCK_CLOEXEC);
        c->have = 0;
        setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
        if (c->fd < 0 || pthread_create(&thread, &attr, serve, c) != 0)
            _exit(6);
    }
}
