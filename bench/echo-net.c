/* echo-net.c - the echo server behind a port: HTTP, and WebSocket for who upgrades.
 *
 *   bench-echo-net [--legacy] [--tools N] [--session] [--sse] PORT
 *
 * Listens on 127.0.0.1, on any free port when PORT is 0, and prints which one. One
 * thread, one epoll, connections are kept alive. A POST gets its answer as JSON, or
 * with --sse as a stream of one event; a notification gets 202, GET 405, DELETE 200.
 * With --session every POST that names no session is given one. A WebSocket gets the
 * same answers, all that came with one read in one write. The path does not matter.
 *
 * Ends when its standard input does, so that it does not outlive who started it.
 */
#include "echo.h"
#include "sha1.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    READ_SIZE = 16 << 10,
    HEAD_MAX = 64 << 10,
    INPUT_MAX = 64 << 20,
    KEY_MAX = 64, /* of Sec-WebSocket-Key */
    EVENTS = 128
};

/* Opcodes of WebSocket frames. */
enum { MORE = 0, TEXT = 1, CLOSE = 8, PING = 9, PONG = 10 };

struct net {
    struct server server;
    int epoll, listener;
    bool session, sse;
};

struct conn {
    int fd;
    bool is_ws, is_waiting, is_ending; /* waiting: until it can be written to */
    char *in;
    size_t have, room;
    struct out out;
    size_t sent;        /* of `out` */
    struct out message; /* so far, when it comes in several frames */
};

struct head {
    char method; /* its first letter */
    bool upgrades, closes, has_session;
    size_t length;
    struct span key;
};

static void put_number(struct out *o, size_t n, unsigned base)
{
    char digits[24], *d = digits + sizeof digits;

    do
        *--d = "0123456789abcdef"[n % base];
    while (n /= base);
    put(o, d, (size_t)(digits + sizeof digits - d));
}

/* ---- HTTP ---- */

/* The value of the header `name`, which ends with a colon, if this line is one. */
static bool is_header(struct span line, const char *name, struct span *value)
{
    size_t len = strlen(name);

    if ((size_t)(line.end - line.p) < len || strncasecmp(line.p, name, len) != 0)
        return false;
    value->p = skip_space(line.p + len, line.end);
    value->end = line.end;
    return true;
}

static void read_header(struct span line, struct head *h)
{
    struct span value;

    switch (*line.p | 0x20) { /* few are looked at closer */
    case 'c':
        if (is_header(line, "content-length:", &value))
            h->length = strtoul(value.p, NULL, 10);
        else if (is_header(line, "connection:", &value))
            h->closes = value.end - value.p == 5 && !strncasecmp(value.p, "close", 5);
        break;
    case 'u':
        h->upgrades |= is_header(line, "upgrade:", &value);
        break;
    case 's':
        if (is_header(line, "sec-websocket-key:", &value))
            h->key = value;
        break;
    case 'm':
        h->has_session |= is_header(line, "mcp-session-id:", &value);
        break;
    }
}

static struct head read_head(const char *p, const char *end)
{
    struct head h = {.method = *p};
    const char *newline;

    while ((newline = memchr(p, '\n', (size_t)(end - p)))) {
        p = newline + 1;
        const char *next = memchr(p, '\r', (size_t)(end - p));
        if (!next || next == p)
            break;
        read_header((struct span){p, next}, &h);
    }
    return h;
}

/* The answer is in the server's `out`, with a newline at its end. */
static void reply(const struct net *n, struct conn *c, const struct head *h)
{
    static const char before[] = "event: message\ndata: ", after[] = "\n\n";
    const struct out *body = &n->server.out;
    size_t len = body->len - 1;

    PUT(&c->out, "HTTP/1.1 200 OK\r\n");
    if (n->session && !h->has_session)
        PUT(&c->out, "Mcp-Session-Id: bench-session\r\n");
    if (n->sse) {
        PUT(&c->out, "Content-Type: text/event-stream\r\n"
                     "Transfer-Encoding: chunked\r\n\r\n");
        put_number(&c->out, sizeof before - 1 + len + sizeof after - 1, 16);
        PUT(&c->out, "\r\n");
        put(&c->out, before, sizeof before - 1);
        put(&c->out, body->data, len);
        put(&c->out, after, sizeof after - 1);
        PUT(&c->out, "\r\n0\r\n\r\n");
        return;
    }
    PUT(&c->out, "Content-Type: application/json\r\nContent-Length: ");
    put_number(&c->out, len, 10);
    PUT(&c->out, "\r\n\r\n");
    put(&c->out, body->data, len);
}

static void upgrade(struct net *n, struct conn *c, const struct head *h)
{
    static const char magic[] = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
    size_t len = h->key.p ? (size_t)(h->key.end - h->key.p) : 0;
    char text[KEY_MAX + sizeof magic], accept[SHA1_BASE64];

    if (len == 0 || len > KEY_MAX) {
        PUT(&c->out, "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n");
        c->is_ending = true;
        return;
    }
    memcpy(text, h->key.p, len);
    memcpy(text + len, magic, sizeof magic - 1);
    sha1_base64(text, len + sizeof magic - 1, accept);
    PUT(&c->out, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n"
                 "Connection: Upgrade\r\nSec-WebSocket-Protocol: mcp\r\n"
                 "Sec-WebSocket-Accept: ");
    put(&c->out, accept, sizeof accept);
    PUT(&c->out, "\r\n\r\n");
    count(&n->server.counts, &n->server.counts.upgrades);
    c->is_ws = true;
}

/* Answers the request that begins at `p`; its length, or 0 when it is not whole. */
static size_t take_request(struct net *n, struct conn *c, const char *p, size_t len)
{
    const char *end = memmem(p, len, "\r\n\r\n", 4);

    if (!end) {
        c->is_ending |= len > HEAD_MAX;
        return 0;
    }
    end += 4;
    struct head h = read_head(p, end);
    if (h.length > INPUT_MAX)
        c->is_ending = true;
    if (h.length > INPUT_MAX || h.length > len - (size_t)(end - p))
        return 0;
    n->server.out.len = 0;
    if (h.upgrades)
        upgrade(n, c, &h);
    else if (h.method == 'G')
        PUT(&c->out, "HTTP/1.1 405 Method Not Allowed\r\nAllow: POST, DELETE\r\n"
                     "Content-Length: 0\r\n\r\n");
    else if (h.method == 'D')
        PUT(&c->out, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
    else if (answer_message(&n->server, end, end + h.length))
        reply(n, c, &h);
    else
        PUT(&c->out, "HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n");
    c->is_ending |= h.closes;
    return (size_t)(end - p) + h.length;
}

/* ---- WebSocket ---- */

static void put_frame(struct out *o, int opcode, const char *data, size_t len)
{
    unsigned char head[10] = {(unsigned char)(0x80 | opcode)};
    size_t bytes = len < 126 ? 0 : len <= UINT16_MAX ? 2 : 8;

    head[1] = (unsigned char)(bytes == 0 ? len : bytes == 2 ? 126 : 127);
    for (size_t i = 0; i < bytes; i++)
        head[2 + i] = (unsigned char)(len >> (bytes - 1 - i) * 8);
    put(o, (const char *)head, 2 + bytes);
    put(o, data, len);
}

static void unmask(char *p, size_t len, const char *mask)
{
    uint64_t eight, wide;
    size_t i = 0;

    memcpy(&wide, mask, 4);
    memcpy((char *)&wide + 4, mask, 4);
    for (; i + 8 <= len; i += 8) {
        memcpy(&eight, p + i, 8);
        eight ^= wide;
        memcpy(p + i, &eight, 8);
    }
    for (; i < len; i++)
        p[i] ^= mask[i % 4];
}

static void say(struct net *n, struct conn *c, const char *p, size_t len)
{
    n->server.out.len = 0;
    if (answer_message(&n->server, p, p + len))
        put_frame(&c->out, TEXT, n->server.out.data, n->server.out.len - 1);
}

static void on_frame(struct net *n, struct conn *c, unsigned char first, const char *p,
                     size_t len)
{
    bool is_last = first & 0x80;

    switch (first & 15) {
    case TEXT:
    case MORE:
        if (is_last && c->message.len == 0) {
            say(n, c, p, len);
            break;
        }
        c->is_ending |= len > INPUT_MAX - c->message.len;
        if (c->is_ending)
            break;
        put(&c->message, p, len);
        if (is_last) {
            say(n, c, c->message.data, c->message.len);
            c->message.len = 0;
        }
        break;
    case PING:
        put_frame(&c->out, PONG, p, len);
        break;
    case PONG:
        break;
    default:
        put_frame(&c->out, CLOSE, p, len < 2 ? 0 : 2);
        c->is_ending = true;
    }
}

/* The frame that begins at `p`; its length, or 0 when it is not whole. */
static size_t take_frame(struct net *n, struct conn *c, char *p, size_t len)
{
    const unsigned char *u = (const unsigned char *)p;
    size_t head = 2, payload = 0;

    if (len < 2)
        return 0;
    size_t bytes = (u[1] & 127) < 126 ? 0 : (u[1] & 127) == 126 ? 2 : 8;
    head += bytes + 4;
    c->is_ending |= !(u[1] & 128); /* clients mask */
    if (len < head || c->is_ending)
        return 0;
    for (size_t i = 0; i < bytes; i++)
        payload = payload << 8 | u[2 + i];
    if (bytes == 0)
        payload = u[1] & 127;
    c->is_ending |= payload > INPUT_MAX;
    if (c->is_ending || len - head < payload)
        return 0;
    unmask(p + head, payload, p + head - 4);
    on_frame(n, c, u[0], p + head, payload);
    return head + payload;
}

/* ---- connections ---- */

static void conn_free(struct conn *c)
{
    close(c->fd);
    free(c->in);
    free(c->out.data);
    free(c->message.data);
    free(c);
}

static void wait_for(const struct net *n, struct conn *c, bool to_write)
{
    struct epoll_event e = {.events = to_write ? EPOLLOUT : EPOLLIN, .data.ptr = c};

    c->is_waiting = to_write;
    if (epoll_ctl(n->epoll, EPOLL_CTL_MOD, c->fd, &e) < 0)
        die("epoll_ctl");
}

/* False when the connection is over. What can't be written now is kept, and nothing
 * is read meanwhile. */
static bool conn_write(const struct net *n, struct conn *c)
{
    while (c->sent < c->out.len) {
        ssize_t w =
            send(c->fd, c->out.data + c->sent, c->out.len - c->sent, MSG_NOSIGNAL);
        if (w < 0 && errno == EINTR)
            continue;
        if (w < 0 && errno != EAGAIN)
            return false;
        if (w < 0) {
            if (!c->is_waiting)
                wait_for(n, c, true);
            return true;
        }
        c->sent += (size_t)w;
    }
    c->out.len = c->sent = 0;
    if (c->is_waiting)
        wait_for(n, c, false);
    return !c->is_ending;
}

/* Answers everything that is whole. */
static void conn_answer(struct net *n, struct conn *c)
{
    size_t at = 0, used;

    do {
        used = c->is_ending   ? 0
               : c->is_ws     ? take_frame(n, c, c->in + at, c->have - at)
               : at < c->have ? take_request(n, c, c->in + at, c->have - at)
                              : 0;
        at += used;
    } while (used > 0);
    c->have -= at;
    if (at > 0 && c->have > 0)
        memmove(c->in, c->in + at, c->have);
}

static bool conn_read(struct net *n, struct conn *c)
{
    if (c->room - c->have < READ_SIZE) {
        c->room = c->room * 2 + READ_SIZE;
        c->in = realloc(c->in, c->room);
        if (!c->in)
            die("out of memory");
    }
    ssize_t r = recv(c->fd, c->in + c->have, c->room - c->have, 0);
    if (r < 0 && (errno == EINTR || errno == EAGAIN))
        return true;
    if (r <= 0)
        return false;
    c->have += (size_t)r;
    conn_answer(n, c);
    return c->out.len > 0 ? conn_write(n, c) : !c->is_ending;
}

static void conn_new(struct net *n)
{
    int fd = accept4(n->listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC), on = 1;
    struct conn *c = fd < 0 ? NULL : calloc(1, sizeof *c);

    if (fd < 0)
        return;
    if (!c)
        die("out of memory");
    struct epoll_event e = {.events = EPOLLIN, .data.ptr = c};
    c->fd = fd;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (epoll_ctl(n->epoll, EPOLL_CTL_ADD, fd, &e) < 0)
        die("epoll_ctl");
    count(&n->server.counts, &n->server.counts.accepts);
}

/* ---- the loop ---- */

static void listen_on(struct net *n, unsigned port)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    socklen_t len = sizeof a;
    int on = 1;

    a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    n->listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    n->epoll = epoll_create1(EPOLL_CLOEXEC);
    if (n->listener < 0 || n->epoll < 0)
        die("socket");
    setsockopt(n->listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bind(n->listener, (struct sockaddr *)&a, len) < 0 ||
        listen(n->listener, 1024) < 0 ||
        getsockname(n->listener, (struct sockaddr *)&a, &len) < 0)
        die("cannot listen on that port");
    printf("%u\n", ntohs(a.sin_port));
    fflush(stdout);
}

static void watch(const struct net *n, int fd, const void *what)
{
    struct epoll_event e = {.events = EPOLLIN, .data.ptr = (void *)what};

    if (epoll_ctl(n->epoll, EPOLL_CTL_ADD, fd, &e) < 0 && errno != EPERM)
        die("epoll_ctl"); /* EPERM: a file, or /dev/null, which has no end to wait for */
}

static void serve(struct net *n)
{
    static const char input;
    struct epoll_event events[EVENTS];

    watch(n, n->listener, NULL);
    watch(n, STDIN_FILENO, &input);
    for (;;) {
        int got = epoll_wait(n->epoll, events, EVENTS, -1);
        for (int i = 0; i < got; i++) {
            struct conn *c = events[i].data.ptr;
            char ignored[256];
            if (!c) {
                conn_new(n);
            } else if ((const char *)c == &input) {
                if (read(STDIN_FILENO, ignored, sizeof ignored) <= 0)
                    return;
            } else if (!(c->is_waiting ? conn_write(n, c) : conn_read(n, c))) {
                conn_free(c);
            }
        }
    }
}

int main(int argc, char **argv)
{
    struct net n = {.session = false};
    unsigned tools = 0;
    int i = 1;

    for (; i < argc && argv[i][0] == '-'; i++) {
        if (!strcmp(argv[i], "--legacy"))
            n.server.legacy = true;
        else if (!strcmp(argv[i], "--session"))
            n.session = true;
        else if (!strcmp(argv[i], "--sse"))
            n.sse = true;
        else if (!strcmp(argv[i], "--tools") && i + 1 < argc)
            tools = (unsigned)strtoul(argv[++i], NULL, 10);
        else
            break;
    }
    if (i + 1 != argc || argv[i][0] == '-')
        die("usage: bench-echo-net [--legacy] [--tools N] [--session] [--sse] PORT");
    make_tools(&n.server, tools);
    listen_on(&n, (unsigned)strtoul(argv[i], NULL, 10));
    serve(&n);
    close(n.epoll);
    close(n.listener);
    free(n.server.tools);
    free(n.server.out.data);
    return 0;
}
