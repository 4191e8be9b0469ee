/* floor-net.c - the least a client on the network can cost, to compare clients with.
 *
 *   bench-floor-net [--modern] [--calls N] URL
 *
 * URL is http://127.0.0.1:PORT/.. or ws://..; what is there is echo-net.c. Over HTTP,
 * one call after the other goes over one connection, and 64 under way have one each;
 * over a WebSocket all share one. Answers are not parsed but for their length and
 * id. Prints p50_us, p99_us, cpu_us_per_call and inflight64_per_s as floor.c does, and
 *
 *   inflight64_p99_us  how long the slowest of a hundred takes then; over HTTP
 *   peak_kb      the most memory this process had
 *   connect_rtt  round trips before the first call, see client.h
 */
#include "client.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    CALLS = 20000,
    WARM_UP = 2000,
    FLIGHT = 64,
    FLIGHT_CALLS = 60000,
    REQUEST_MAX = 2048,
    ROOM = 256 << 10
};

struct target {
    unsigned port;
    bool modern, is_ws;
};

/* A connection. Input from `start`, ends at `have`. */
struct wire {
    int fd;
    long id;      /* of the call under way, over HTTP .. */
    double begun; /* .. and when it was made */
    char *data;
    size_t start, have;
};

static _Noreturn void die(const char *what)
{
    perror(what);
    exit(1);
}

/* ---- connections ---- */

static void send_bytes(const struct wire *w, const char *data, size_t len)
{
    while (len > 0) {
        ssize_t n = send(w->fd, data, len, MSG_NOSIGNAL);
        if (n < 0)
            die("send");
        data += n;
        len -= (size_t)n;
    }
}

static void receive(struct wire *w)
{
    if (w->start == w->have)
        w->start = w->have = 0;
    if (w->start > 0 && w->have > ROOM / 2) {
        memmove(w->data, w->data + w->start, w->have - w->start);
        w->have -= w->start;
        w->start = 0;
    }
    ssize_t n = recv(w->fd, w->data + w->have, ROOM - w->have, 0);
    if (n <= 0)
        die("the server went away");
    w->have += (size_t)n;
}

static void upgrade(struct wire *w)
{
    static const char ask[] =
        "GET /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\n"
        "Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
        "Sec-WebSocket-Key: MDEyMzQ1Njc4OWFiY2RlZg==\r\nSec-WebSocket-Protocol: mcp\r\n"
        "\r\n";
    char *end;

    send_bytes(w, ask, sizeof ask - 1);
    do
        receive(w);
    while (!(end = memmem(w->data, w->have, "\r\n\r\n", 4)));
    w->start = (size_t)(end + 4 - w->data);
}

static struct wire wire_open(const struct target *t)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons((uint16_t)t->port)};
    struct wire w = {.fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    int on = 1;

    a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    w.data = malloc(ROOM);
    if (!w.data || w.fd < 0 || connect(w.fd, (struct sockaddr *)&a, sizeof a) < 0)
        die("connect");
    setsockopt(w.fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (t->is_ws)
        upgrade(&w);
    return w;
}

static void wire_close(struct wire *w)
{
    close(w->fd);
    free(w->data);
}

/* ---- messages ---- */

/* Wraps a message for the wire; `method` and `name` are for the headers. */
static size_t wrap(const struct target *t, char *to, const char *message, size_t len,
                   const char *method, const char *name)
{
    static const char head[] = "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\n"
                               "Content-Type: application/json\r\n"
                               "Accept: application/json, text/event-stream\r\n"
                               "MCP-Protocol-Version: ";
    char *p = to;

    if (t->is_ws) { /* with a mask of zeros, which costs nothing */
        const unsigned char small[] = {0x81, (unsigned char)(0x80 | len), 0, 0, 0, 0};
        const unsigned char more[] = {
            0x81, 0xfe, (unsigned char)(len >> 8), (unsigned char)len, 0, 0, 0, 0};
        p = len < 126 ? mempcpy(p, small, sizeof small) : mempcpy(p, more, sizeof more);
    } else {
        p = mempcpy(p, head, sizeof head - 1);
        p = stpcpy(p, t->modern ? "2026-07-28\r\nMcp-Method: " : "2025-11-25\r\n");
        if (t->modern)
            p = stpcpy(stpcpy(p, method), "\r\n");
        if (t->modern && name)
            p = stpcpy(stpcpy(stpcpy(p, "Mcp-Name: "), name), "\r\n");
        p = stpcpy(p, "Content-Length: ");
        for (size_t digit = 1000; digit > 0; digit /= 10) /* zeros in front do no harm */
            *p++ = (char)('0' + len / digit % 10);
        p = stpcpy(p, "\r\n\r\n");
    }
    p = mempcpy(p, message, len);
    return (size_t)(p - to);
}

static size_t wrap_echo(const struct target *t, char *to, long id)
{
    char message[REQUEST_MAX / 2];
    size_t len = make_call(t->modern, message, id) - 1; /* no newline */

    return wrap(t, to, message, len, "tools/call", "echo");
}

/* The next message, if it is whole, or NULL; stays valid until more is received. */
static char *unwrap(const struct target *t, struct wire *w, size_t *len)
{
    const unsigned char *p = (const unsigned char *)w->data + w->start;
    size_t have = w->have - w->start, head, body = 0;

    if (t->is_ws) {
        if (have < 4)
            return NULL;
        head = p[1] < 126 ? 2 : 4; /* none of ours is longer than 64 kB */
        body = p[1] < 126 ? p[1] : (size_t)p[2] << 8 | p[3];
    } else {
        static const char key[] = "Content-Length: ";
        const char *end = have ? memmem(p, have, "\r\n\r\n", 4) : NULL;
        const char *at = end ? memmem(p, have, key, sizeof key - 1) : NULL;
        if (!end)
            return NULL;
        head = (size_t)(end + 4 - (const char *)p);
        body = at ? strtoul(at + sizeof key - 1, NULL, 10) : 0;
    }
    if (have < head + body)
        return NULL;
    w->start += head + body;
    *len = body;
    return (char *)p + head;
}

static char *await(const struct target *t, struct wire *w, size_t *len)
{
    char *message;

    while (!(message = unwrap(t, w, len)))
        receive(w);
    return message;
}

/* Sends a request, or a notification when `id` is negative. */
static char *ask(const struct target *t, struct wire *w, long id, const char *method,
                 const char *params, size_t *len)
{
    char message[REQUEST_MAX / 2], wrapped[REQUEST_MAX], number[32] = "";

    if (id >= 0)
        sprintf(number, "\"id\":%ld,", id);
    size_t n = (size_t)sprintf(
        message, "{\"jsonrpc\":\"2.0\",%s\"method\":\"%s\",\"params\":{%s%s%s}}", number,
        method, params, *params && t->modern ? "," : "", t->modern ? META : "");
    n = wrap(t, wrapped, message, n, method,
             !strcmp(method, "tools/call") ? "stats" : NULL);
    send_bytes(w, wrapped, n);
    if (t->is_ws && id < 0)
        return NULL;
    char *answer = await(t, w, len);
    if (id >= 0 && id_of(answer, *len) != id)
        die("an answer to another request");
    return answer;
}

static void handshake(const struct target *t, struct wire *w)
{
    size_t len;

    if (t->modern) {
        ask(t, w, 0, "server/discover", "", &len);
        return;
    }
    ask(t, w, 0, "initialize",
        "\"protocolVersion\":\"2025-11-25\",\"capabilities\":{},"
        "\"clientInfo\":{\"name\":\"bench-floor\",\"version\":\"1\"}",
        &len);
    ask(t, w, -1, "notifications/initialized", "", &len);
}

/* ---- measurements ---- */

static void sequential(const struct target *t, struct wire *w, long calls)
{
    double *took = malloc(sizeof *took * (size_t)calls), cpu = 0;
    char request[REQUEST_MAX];

    if (!took)
        die("malloc");
    for (long i = -WARM_UP; i < calls; i++) {
        long id = i + WARM_UP + 10;
        size_t len;
        if (i == 0)
            cpu = cpu_us();
        double begun = now_us();
        send_bytes(w, request, wrap_echo(t, request, id));
        char *answer = await(t, w, &len);
        if (id_of(answer, len) != id)
            die("an answer to another request");
        if (i >= 0)
            took[i] = now_us() - begun;
    }
    cpu = (cpu_us() - cpu) / (double)calls;
    qsort(took, (size_t)calls, sizeof *took, by_size);
    printf("\"p50_us\":%.2f,\"p99_us\":%.2f,\"cpu_us_per_call\":%.2f", took[calls / 2],
           took[calls * 99 / 100], cpu);
    free(took);
}

/* One call under way on each of 64 connections. */
static void flight_http(const struct target *t, long calls)
{
    struct epoll_event events[FLIGHT];
    struct wire wires[FLIGHT];
    char request[REQUEST_MAX];
    double *took = malloc(sizeof *took * (size_t)calls);
    int epoll = epoll_create1(EPOLL_CLOEXEC);
    long sent = 0, got = 0;
    size_t len;

    if (!took)
        die("malloc");

    for (int i = 0; i < FLIGHT; i++) {
        wires[i] = wire_open(t);
        struct epoll_event e = {.events = EPOLLIN, .data.ptr = &wires[i]};
        if (epoll < 0 || epoll_ctl(epoll, EPOLL_CTL_ADD, wires[i].fd, &e) < 0)
            die("epoll");
    }
    double begun = now_us();
    for (; sent < FLIGHT && sent < calls; sent++) {
        wires[sent].id = 1000000 + sent;
        wires[sent].begun = now_us();
        send_bytes(&wires[sent], request, wrap_echo(t, request, wires[sent].id));
    }
    while (got < calls) {
        int n = epoll_wait(epoll, events, FLIGHT, -1);
        for (int i = 0; i < n; i++) {
            struct wire *w = events[i].data.ptr;
            receive(w);
            char *answer = unwrap(t, w, &len);
            if (!answer)
                continue;
            if (id_of(answer, len) != w->id)
                die("an answer to another request");
            took[got++] = now_us() - w->begun;
            if (sent == calls)
                continue;
            w->id = 1000000 + sent++;
            w->begun = now_us();
            send_bytes(w, request, wrap_echo(t, request, w->id));
        }
    }
    begun = (now_us() - begun) / 1e6;
    qsort(took, (size_t)calls, sizeof *took, by_size);
    printf(",\"inflight64_per_s\":%.0f,\"inflight64_p99_us\":%.2f", (double)calls / begun,
           took[calls * 99 / 100]);
    free(took);
    for (int i = 0; i < FLIGHT; i++)
        wire_close(&wires[i]);
    close(epoll);
}

/* All on one connection: what one read brings is replaced by one write. */
static void flight_ws(const struct target *t, struct wire *w, long calls)
{
    char *answered = calloc((size_t)calls, 1), *answer;
    char *requests = malloc(FLIGHT * REQUEST_MAX);
    long sent = 0, got = 0;
    double begun = now_us();
    size_t len;

    if (!answered || !requests)
        die("malloc");
    while (got < calls) {
        size_t n = 0;
        while (sent < calls && sent - got < FLIGHT)
            n += wrap_echo(t, requests + n, 1000000 + sent++);
        send_bytes(w, requests, n);
        answer = await(t, w, &len);
        do {
            long id = id_of(answer, len) - 1000000;
            if (id < 0 || id >= sent || answered[id]++)
                die("an answer to no request");
            got++;
        } while ((answer = unwrap(t, w, &len)));
    }
    printf(",\"inflight64_per_s\":%.0f", (double)calls / ((now_us() - begun) / 1e6));
    free(answered);
    free(requests);
}

static int count_round_trips(const struct target *t)
{
    char said[REQUEST_MAX];
    size_t len;

    for (int i = 0; i < 2; i++) { /* the first one counts what was before us */
        struct wire w = wire_open(t);
        handshake(t, &w);
        char *answer = ask(t, &w, 1, "tools/call", "\"name\":\"stats\"", &len);
        len = len < sizeof said ? len : sizeof said - 1;
        memcpy(said, answer, len);
        said[len] = '\0';
        wire_close(&w);
    }
    return round_trips(said, !t->is_ws);
}

static void measure(const struct target *t, long calls)
{
    struct wire w = wire_open(t);

    handshake(t, &w);
    printf("{\"name\":\"floor %s %s\",", t->is_ws ? "ws" : "http",
           t->modern ? "modern" : "legacy");
    sequential(t, &w, calls);
    if (t->is_ws)
        flight_ws(t, &w, FLIGHT_CALLS);
    else
        flight_http(t, FLIGHT_CALLS);
    wire_close(&w);
    printf(",\"peak_kb\":%ld", status_kb("VmHWM"));
    printf(",\"connect_rtt\":%d}\n", count_round_trips(t));
}

int main(int argc, char **argv)
{
    struct target t = {.modern = false};
    long calls = CALLS;
    char scheme[8];
    int i = 1;

    for (; i < argc && argv[i][0] == '-'; i++) {
        if (!strcmp(argv[i], "--modern"))
            t.modern = true;
        else if (!strcmp(argv[i], "--calls") && i + 1 < argc)
            calls = strtol(argv[++i], NULL, 10);
        else
            break;
    }
    if (i + 1 != argc || calls < 1 ||
        sscanf(argv[i], "%5[a-z]://127.0.0.1:%u", scheme, &t.port) != 2) {
        fputs("usage: bench-floor-net [--modern] [--calls N] URL\n", stderr);
        return 2;
    }
    t.is_ws = !strcmp(scheme, "ws");
    measure(&t, calls);
    return fflush(stdout) ? 1 : 0;
}
