/* A scripted hostile peer over HTTP, for faults_http.c.
 *
 * It listens on two ports of 127.0.0.1, says "PORT PORT2" and runs until its stdin is
 * closed. The first part of a URL's path is the mode: it comes up as a proper server of
 * 2026-07-28, and misbehaves at tools/call of any tool but "good". In the query:
 *
 *   legacy      server/discover is a 400 of plain text; initialize leads to 2025-06-18
 *   sse         answers are event streams
 *   at=connect  it misbehaves at every request, from the first on
 *   deaf        what awaits no reply gets no answer, but for notifications/initialized
 *   n=NUMBER    up to the mode
 *
 * The second port is another origin, which nothing of ours should ever reach. It keeps
 * the heads of all requests; /seen shows them. On the first port, /stats shows counters,
 * and /last the head of the last POST that is no subscription.
 *
 * Modes are in evil_http_acts.c and evil_http_floods.c, those with a state in
 * evil_http_streams.c. A thread per connection, no library and no JSON parser. */
#include "evil_http.h"

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

struct counters counters;
int port, port2;

/* Kept for /seen and /last. */
static pthread_mutex_t kept_lock = PTHREAD_MUTEX_INITIALIZER;
static char seen[256 * 1024], last[16 * 1024];
static size_t seen_len;

/* ---- what a proper server says ---- */

#define RPC "{\"jsonrpc\":\"2.0\",\"id\":%llu,"

char *json_ok(char *buf, const struct request *r, uint64_t id, const char *text)
{
    snprintf(buf, 1024,
             RPC "\"result\":{%s\"content\":[{\"type\":\"text\",\"text\":\"%s\"}]}}",
             (unsigned long long)id, r->legacy ? "" : "\"resultType\":\"complete\",",
             text);
    return buf;
}

char *json_error(char *buf, uint64_t id, int code, const char *message)
{
    snprintf(buf, 1024, RPC "\"error\":{\"code\":%d,\"message\":\"%s\"}}",
             (unsigned long long)id, code, message);
    return buf;
}

char *json_proper(char *buf, const struct request *r, const char *revision)
{
    unsigned long long id = r->id;

    if (asks(r, "initialize"))
        snprintf(buf, 1024,
                 RPC
                 "\"result\":{\"protocolVersion\":\"%s\",\"capabilities\":{"
                 "\"tools\":{}},\"serverInfo\":{\"name\":\"evil\",\"version\":\"1\"}}}",
                 id, revision);
    else if (asks(r, "tools/list"))
        snprintf(buf, 1024,
                 RPC "\"result\":{\"resultType\":\"complete\",\"tools\":[{\"name\":"
                     "\"good\",\"inputSchema\":{\"type\":\"object\"}},{\"name\":\"bad\","
                     "\"inputSchema\":{\"type\":\"object\"}}]}}",
                 id);
    else if (asks(r, "tools/call"))
        json_ok(buf, r, id, "good");
    else if (asks(r, "ping"))
        snprintf(buf, 1024, RPC "\"result\":{}}", id);
    else
        json_error(buf, id, -32601, "Method not found");
    return buf;
}

static void discover(struct conn *c, const struct request *r)
{
    char buf[1024];

    if (r->legacy) {
        say_answer(c, "400 Bad Request", "text/plain", "", "Bad Request: no session");
        return;
    }
    snprintf(buf, sizeof buf,
             RPC "\"result\":{\"resultType\":\"complete\",\"supportedVersions\":["
                 "\"2026-07-28\"],\"capabilities\":{\"tools\":{\"listChanged\":true}},"
                 "\"_meta\":{\"io.modelcontextprotocol/serverInfo\":{\"name\":\"evil\","
                 "\"version\":\"1\"}}}}",
             (unsigned long long)r->id);
    say_message(c, r, buf);
}

/* A stream that stays open and says nothing more. */
static void listen_for(struct conn *c, const struct request *r)
{
    char buf[256];

    snprintf(buf, sizeof buf,
             "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/subscriptions/"
             "acknowledged\",\"params\":{\"_meta\":{\"io.modelcontextprotocol/"
             "subscriptionId\":%llu}}}",
             (unsigned long long)r->id);
    say_stream(c);
    say_event(c, "", buf);
    wait_left(c);
}

static const struct act *act_of(const char *mode)
{
    const struct act *tables[] = {acts, more_acts};

    for (int i = 0; i < 2; i++)
        for (const struct act *act = tables[i]; act->mode; act++)
            if (strcmp(act->mode, mode) == 0)
                return act;
    return NULL;
}

void answer_post(struct conn *c, const struct request *r)
{
    const struct act *act = act_of(r->mode);
    bool call = asks(r, "tools/call"), good = strstr(r->body, "\"name\":\"good\"");
    char buf[1024];

    if (!act)
        say_answer(c, "404 Not Found", "text/plain", "", "no such mode");
    else if (r->at_connect || (call && !good))
        act->call(c, r);
    else if (!is_request(r) && r->deaf && !asks(r, "notifications/initialized"))
        wait_left(c);
    else if (!is_request(r))
        say_answer(c, "202 Accepted", NULL, "", "");
    else if (asks(r, "server/discover"))
        discover(c, r);
    else if (asks(r, "subscriptions/listen") && !r->legacy)
        listen_for(c, r);
    else if (asks(r, "initialize") && !r->legacy)
        say_message(c, r, json_error(buf, r->id, -32601, "Method not found"));
    else
        say_message(c, r, json_proper(buf, r, "2025-06-18"));
}

/* ---- where requests go ---- */

static void count(const struct request *r)
{
    bool call = asks(r, "tools/call"), good = strstr(r->body, "\"name\":\"good\"");

    counters.posts += strcmp(r->method, "POST") == 0;
    counters.gets += strcmp(r->method, "GET") == 0;
    counters.deletes += strcmp(r->method, "DELETE") == 0;
    counters.discovers += asks(r, "server/discover");
    counters.initializes += asks(r, "initialize");
    counters.listens += asks(r, "subscriptions/listen");
    counters.cancels += asks(r, "notifications/cancelled");
    counters.good += call && good;
    counters.bad += call && !good;
}

static void show_stats(struct conn *c)
{
    char text[512];

    snprintf(
        text, sizeof text,
        "connections %lu\nopen %lu\nposts %lu\ngets %lu\ndeletes %lu\n"
        "discovers %lu\ninitializes %lu\nlistens %lu\ncancels %lu\ngood %lu\nbad %lu\n",
        counters.connections, counters.open, counters.posts, counters.gets,
        counters.deletes, counters.discovers, counters.initializes, counters.listens,
        counters.cancels, counters.good, counters.bad);
    say_answer(c, "200 OK", "text/plain", "Connection: close\r\n", text);
    c->over = true;
}

static void show(struct conn *c, const char *text)
{
    pthread_mutex_lock(&kept_lock);
    sayf(c,
         "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nConnection: close\r\n"
         "Content-Length: %zu\r\n\r\n",
         strlen(text));
    say(c, text, strlen(text));
    pthread_mutex_unlock(&kept_lock);
    c->over = true;
}

static void keep(const struct conn *c, const struct request *r)
{
    size_t len = strlen(r->head);

    pthread_mutex_lock(&kept_lock);
    if (!c->other && strcmp(r->method, "POST") == 0 &&
        !strstr(r->head, "subscriptions/listen")) /* which comes when it likes */
        snprintf(last, sizeof last, "%s", r->head);
    if (c->other && seen_len + len < sizeof seen) {
        memcpy(seen + seen_len, r->head, len + 1);
        seen_len += len;
    }
    pthread_mutex_unlock(&kept_lock);
}

/* Whoever comes here gets what it wants, so that it can be told. */
static void other_origin(struct conn *c, const struct request *r)
{
    char buf[1024];

    keep(c, r);
    if (asks(r, "server/discover"))
        discover(c, r);
    else
        say_answer(c, "200 OK", "application/json", "",
                   json_ok(buf, r, r->id, "from the other origin"));
}

static void dispatch(struct conn *c, const struct request *r)
{
    if (strcmp(r->mode, "stats") == 0) {
        show_stats(c);
        return;
    }
    if (strcmp(r->mode, "seen") == 0 || strcmp(r->mode, "last") == 0) {
        show(c, r->mode[0] == 's' ? seen : last);
        return;
    }
    if (c->other) {
        other_origin(c, r);
        return;
    }
    count(r);
    keep(c, r);
    if (session_request(c, r) || resume_request(c, r) || sse_request(c, r))
        return;
    if (strcmp(r->method, "POST") == 0 || r->at_connect)
        answer_post(c, r);
    else
        say_answer(c, "405 Method Not Allowed", NULL, "Allow: POST\r\n", "");
}

/* ---- life ---- */

static void *serve(void *arg)
{
    struct conn *c = arg;

    counters.open++;
    while (!c->over) {
        struct request r = {0};
        if (read_request(c, &r))
            dispatch(c, &r);
        else
            c->over = true;
        free(r.head);
        free(r.body);
    }
    close(c->fd);
    counters.open--;
    free(c->in);
    free(c);
    return NULL;
}

static void begin(int fd, bool other)
{
    struct conn *c = calloc(1, sizeof *c);
    char *in = malloc(HEAD_MAX);
    pthread_attr_t attr;
    pthread_t thread;
    int on = 1;

    if (!c || !in)
        abort();
    *c = (struct conn){.fd = fd, .other = other, .in = in};
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, 128 * 1024);
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    if (pthread_create(&thread, &attr, serve, c) != 0)
        abort();
    pthread_attr_destroy(&attr);
}

static void *accept_all(void *arg)
{
    const int *listener = arg;

    for (;;) {
        int fd = accept4(listener[0], NULL, NULL, SOCK_CLOEXEC);
        if (fd < 0) {
            nap(1);
            continue;
        }
        counters.connections += !listener[1];
        begin(fd, listener[1]);
    }
    return NULL;
}

static int listen_on(int *out)
{
    struct sockaddr_in a = {.sin_family = AF_INET,
                            .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof a;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (fd < 0 || bind(fd, (struct sockaddr *)&a, sizeof a) != 0 ||
        listen(fd, 2048) != 0 || getsockname(fd, (struct sockaddr *)&a, &len) != 0) {
        perror("evil_http");
        exit(1);
    }
    *out = ntohs(a.sin_port);
    return fd;
}

int main(void)
{
    static int listeners[2][2];
    struct rlimit files;
    pthread_t thread;
    char byte;

    signal(SIGPIPE, SIG_IGN);
    if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
        files.rlim_cur = files.rlim_max;
        setrlimit(RLIMIT_NOFILE, &files);
    }
    listeners[0][0] = listen_on(&port);
    listeners[1][0] = listen_on(&port2);
    listeners[1][1] = 1;
    for (int i = 0; i < 2; i++)
        if (pthread_create(&thread, NULL, accept_all, listeners[i]) != 0)
            abort();
    printf("%d %d\n", port, port2);
    fflush(stdout);
    while (read(STDIN_FILENO, &byte, 1) > 0)
        ;
    _exit(0);
}
