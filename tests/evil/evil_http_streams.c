/* The modes of evil_http that remember something: sessions, streams that are taken up
 * again, and the HTTP+SSE transport of 2024-11-05. */
#include "evil_http.h"

#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* ---- /session: Mcp-Session-Id ----
 *
 * The tool "expire" ends it; "missing" and "unfit" are errors of JSON-RPC whose status
 * could mean that. In the query:
 *
 *   initialized=mute  that notification gets no answer
 *   get=busy          the stream ends, is refused once, then says that tools changed
 *   get=hasty         the stream ends at once, and wants to be opened again at once
 *   over=null         its end is told with 400, by an error without an id
 *   over=text         or by a text
 *
 * The tool "held" is never answered. The reply to "begun" begins, breaks off, and the
 * session ends with it. */

static atomic_ulong sessions, valid;

static bool in_session(const struct request *r)
{
    char value[64];
    const char *id = header_value(r, "Mcp-Session-Id", value, sizeof value);

    return id && valid && strtoul(id + (id[0] == 's'), NULL, 10) == valid;
}

static void begin_session(struct conn *c, const struct request *r)
{
    char buf[1024], more[64];

    valid = ++sessions;
    snprintf(more, sizeof more, "Mcp-Session-Id: s%lu\r\n", sessions);
    say_answer(c, "200 OK", "application/json", more, json_proper(buf, r, "2025-06-18"));
}

static void session_get(struct conn *c, const struct request *r)
{
    static atomic_ulong gets;
    unsigned long n = ++gets;
    char kind[16] = "";

    query_value(r, "get", kind, sizeof kind);
    if (strcmp(kind, "busy") == 0 && n == 2) {
        say_answer(c, "503 Service Unavailable", NULL, "", "");
        return;
    }
    say_stream(c);
    if (strcmp(kind, "hasty") == 0 || (strcmp(kind, "busy") == 0 && n == 1)) {
        say_piece(c, "retry: 0\n\n", 10);
        say_end(c);
        return;
    }
    if (strcmp(kind, "busy") == 0)
        say_event(
            c, "",
            "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}");
    wait_left(c);
}

static void say_over(struct conn *c, const struct request *r)
{
    char buf[1024], kind[16] = "";

    query_value(r, "over", kind, sizeof kind);
    if (strcmp(kind, "text") == 0)
        say_answer(c, "400 Bad Request", "text/plain", "", "No such session");
    else if (strcmp(kind, "null") == 0)
        say_answer(c, "400 Bad Request", "application/json", "",
                   "{\"jsonrpc\":\"2.0\",\"error\":{\"code\":-32000,\"message\":\"Bad "
                   "Request: No valid session ID provided\"},\"id\":null}");
    else
        say_answer(c, "404 Not Found", "application/json", "",
                   json_error(buf, r->id, -32001, "Session not found"));
}

/* A POST within the session. */
static void session_post(struct conn *c, const struct request *r)
{
    char buf[1024];

    if (asks(r, "notifications/initialized") &&
        query_value(r, "initialized", buf, sizeof buf)) {
        wait_left(c);
    } else if (!is_request(r)) {
        say_answer(c, "202 Accepted", NULL, "", "");
    } else if (strstr(r->body, "\"name\":\"missing\"")) {
        say_answer(c, "404 Not Found", "application/json", "",
                   json_error(buf, r->id, -32601, "no such method in this session"));
    } else if (strstr(r->body, "\"name\":\"unfit\"")) {
        say_answer(c, "400 Bad Request", "application/json", "",
                   json_error(buf, r->id, -32602, "no such session to work on"));
    } else if (strstr(r->body, "\"name\":\"held\"")) {
        wait_left(c);
    } else if (strstr(r->body, "\"name\":\"begun\"")) {
        valid = 0;
        say_stream(c);
        say_event(c, "id: 1\nretry: 1\n", "");
        say_end(c);
    } else {
        if (strstr(r->body, "\"name\":\"expire\""))
            valid = 0;
        say_message(c, r, json_proper(buf, r, "2025-06-18"));
    }
}

bool session_request(struct conn *c, const struct request *r)
{
    struct request legacy = *r;

    if (strcmp(r->mode, "session") != 0)
        return false;
    legacy.legacy = true;
    if (asks(r, "server/discover")) {
        say_answer(c, "400 Bad Request", "text/plain", "", "Mcp-Session-Id is missing");
    } else if (asks(r, "initialize")) {
        begin_session(c, &legacy);
    } else if (!in_session(r)) {
        say_over(c, r);
    } else if (strcmp(r->method, "DELETE") == 0) {
        valid = 0;
        say_answer(c, "200 OK", NULL, "", "");
    } else if (strcmp(r->method, "GET") == 0) {
        session_get(c, &legacy);
    } else {
        session_post(c, &legacy);
    }
    return true;
}

/* ---- /resume: streams that end and want to be taken up again ---- */

/* Says the event with number `n` of the stream for request `id`: nothing but that, or
 * the answer when there were enough. */
static void say_part(struct conn *c, const struct request *r, uint64_t id, uint64_t n)
{
    char buf[1024], fields[96];
    uint64_t wanted = query_number(r, "n", 1);

    snprintf(fields, sizeof fields, "id: e%llu-%llu\nretry: 20\n", (unsigned long long)id,
             (unsigned long long)n);
    say_stream(c);
    if (n <= wanted || strcmp(r->mode, "resume-forever") == 0) {
        say_event(c, fields, "");
        if (strcmp(r->mode, "resume-half") == 0)
            say_piece(c, "data: {\"jsonrpc\":\"2.0\",\"id\"", 27);
    } else {
        say_event(c, fields, json_ok(buf, r, id, "fine"));
    }
    say_end(c);
}

static void resume_get(struct conn *c, const struct request *r)
{
    char value[64];
    const char *last = header_value(r, "Last-Event-ID", value, sizeof value);
    unsigned long long id, n;

    if (strcmp(r->mode, "resume-refused") == 0) {
        say_answer(c, "405 Method Not Allowed", NULL, "Allow: POST\r\n", "");
    } else if (strcmp(r->mode, "resume-lost") == 0) {
        say_answer(c, "404 Not Found", NULL, "", "");
    } else if (!last) {
        say_stream(c);
        wait_left(c);
    } else if (sscanf(last, "e%llu-%llu", &id, &n) == 2) {
        say_part(c, r, id, n + 1);
    } else {
        say_answer(c, "400 Bad Request", "text/plain", "", "no such event");
    }
}

bool resume_request(struct conn *c, const struct request *r)
{
    if (strncmp(r->mode, "resume", 6) != 0)
        return false;
    if (strcmp(r->method, "GET") == 0) {
        resume_get(c, r);
    } else if (asks(r, "tools/call") && strstr(r->body, "\"name\":\"bad\"")) {
        say_part(c, r, r->id, 1);
    } else {
        struct request proper = *r;
        strcpy(proper.mode, "ok");
        answer_post(c, &proper);
    }
    return true;
}

/* ---- /sse: one stream for all answers ---- */

enum { STREAMS = 64 };

struct stream {
    struct conn *c; /* NULL: free */
    enum { GOES_ON, ENDS, BREAKS } fate;
};

static pthread_mutex_t streams_lock = PTHREAD_MUTEX_INITIALIZER;
static struct stream streams[STREAMS];

/* An event of the stream; in some modes its type is said last. */
static void say_typed(struct conn *c, const char *mode, const char *type,
                      const char *data)
{
    const char *end = strcmp(mode, "sse-data-first-crlf") == 0 ? "\r\n" : "\n";
    char text[4096];

    if (strncmp(mode, "sse-data-first", 14) == 0) {
        snprintf(text, sizeof text, "data: /elsewhere%sevent: ping%s%s", end, end, end);
        say_piece(c, text, strlen(text));
        snprintf(text, sizeof text, "data: %s%sevent: %s%s%s", data, end, type, end, end);
    } else {
        snprintf(text, sizeof text, "event: %s\ndata: %s\n\n", type, data);
    }
    say_piece(c, text, strlen(text));
}

static void say_endpoint(struct conn *c, const struct request *r, int sid)
{
    const char *kind = r->mode + 3;
    char where[256];

    if (strcmp(kind, "-relative") == 0)
        snprintf(where, sizeof where, "post?sid=%d", sid);
    else if (strcmp(kind, "-absolute") == 0)
        snprintf(where, sizeof where, "http://127.0.0.1:%d/%s/post?sid=%d", port, r->mode,
                 sid);
    else if (strcmp(kind, "-other-origin") == 0)
        snprintf(where, sizeof where, "http://127.0.0.1:%d/%s/post?sid=%d", port2,
                 r->mode, sid);
    else if (strcmp(kind, "-slashes") == 0)
        snprintf(where, sizeof where, "//127.0.0.1:%d/post?sid=%d", port2, sid);
    else if (strcmp(kind, "-file") == 0)
        snprintf(where, sizeof where, "file:///etc/passwd");
    else if (strcmp(kind, "-junk") == 0)
        snprintf(where, sizeof where, "http://\001 @[/:x");
    else
        snprintf(where, sizeof where, "/%s/post?sid=%d", r->mode, sid);
    say_typed(c, r->mode, "endpoint", where);
}

static void say_long_endpoint(struct conn *c)
{
    sayf(c, "%x\r\nevent: endpoint\ndata: /", 24 + 1024 * 1024 + 2);
    say_many(c, 'l', 1024 * 1024);
    sayf(c, "\n\n\r\n");
}

/* Holds the stream until the peer has left, or a POST has decided otherwise. */
static void hold(struct conn *c, int sid)
{
    bool go_on = true;

    while (go_on) {
        struct pollfd p = {c->fd, POLLRDHUP, 0};
        bool left = poll(&p, 1, 10) > 0;
        pthread_mutex_lock(&streams_lock);
        if (streams[sid].fate == BREAKS)
            reset(c);
        go_on = !left && !c->over && streams[sid].fate == GOES_ON;
        if (!go_on)
            streams[sid].c = NULL;
        pthread_mutex_unlock(&streams_lock);
    }
    c->over = true;
}

static void sse_get(struct conn *c, const struct request *r)
{
    int sid = 0;

    if (strcmp(r->mode, "sse-404") == 0 || strcmp(r->mode, "sse-401") == 0) {
        say_answer(c, r->mode[6] == '4' ? "404 Not Found" : "401 Unauthorized", NULL, "",
                   "");
        return;
    }
    if (strcmp(r->mode, "sse-html") == 0) {
        say_answer(c, "200 OK", "text/html", "", "<html></html>");
        return;
    }
    pthread_mutex_lock(&streams_lock);
    while (sid < STREAMS - 1 && streams[sid].c)
        sid++;
    say_stream(c);
    if (strcmp(r->mode, "sse-no-endpoint") == 0)
        say_piece(c, ": wait\n\n", 8);
    else if (strcmp(r->mode, "sse-long-endpoint") == 0)
        say_long_endpoint(c);
    else
        say_endpoint(c, r, sid);
    streams[sid] = (struct stream){.c = c};
    pthread_mutex_unlock(&streams_lock);
    hold(c, sid);
}

static void sse_reply(const struct request *r, int sid, bool bad)
{
    char buf[1024];

    pthread_mutex_lock(&streams_lock);
    if (streams[sid].c)
        say_typed(streams[sid].c, r->mode, "message",
                  bad ? json_ok(buf, r, r->id, "fine")
                      : json_proper(buf, r, "2024-11-05"));
    pthread_mutex_unlock(&streams_lock);
}

/* Without an end; others may say something in between. */
static void sse_flood(int sid)
{
    for (bool go_on = true; go_on;) {
        pthread_mutex_lock(&streams_lock);
        go_on = streams[sid].c && !streams[sid].c->over;
        if (go_on)
            say_pings(streams[sid].c);
        pthread_mutex_unlock(&streams_lock);
    }
}

/* What the POST of a bad call is answered with; true: nothing more is to be said. */
static bool sse_bad_post(struct conn *c, const struct request *r, int sid)
{
    const char *kind = r->mode + 3;

    if (strcmp(kind, "-post-held") == 0)
        sse_reply(r, sid, true);
    if (strcmp(kind, "-post-500") == 0)
        say_answer(c, "500 Internal Server Error", "text/plain", "", "oops");
    else if (strcmp(kind, "-post-404") == 0)
        say_answer(c, "404 Not Found", NULL, "", "");
    else if (strcmp(kind, "-post-reset") == 0)
        reset(c);
    else if (strcmp(kind, "-post-silent") == 0 || strcmp(kind, "-post-held") == 0 ||
             strcmp(kind, "-post-deaf") == 0)
        wait_left(c);
    else
        say_answer(c, "202 Accepted", NULL, "", "");
    pthread_mutex_lock(&streams_lock);
    if (strcmp(kind, "-dies") == 0)
        streams[sid].fate = ENDS;
    if (strcmp(kind, "-breaks") == 0)
        streams[sid].fate = BREAKS;
    pthread_mutex_unlock(&streams_lock);
    if (strcmp(kind, "-ping-flood") == 0)
        sse_flood(sid);
    return strncmp(kind, "-post", 5) == 0 || strcmp(kind, "-ping-flood") == 0 ||
           strcmp(kind, "-dies") == 0 || strcmp(kind, "-breaks") == 0 ||
           strcmp(kind, "-mute") == 0;
}

static void sse_post(struct conn *c, const struct request *r)
{
    int sid = (int)query_number(r, "sid", STREAMS) % STREAMS;
    bool bad =
        r->at_connect || (asks(r, "tools/call") && !strstr(r->body, "\"name\":\"good\""));

    if (bad && sse_bad_post(c, r, sid))
        return;
    if (!is_request(r) && !asks(r, "notifications/initialized") &&
        (strcmp(r->mode, "sse-ping-flood") == 0 ||
         strcmp(r->mode, "sse-post-deaf") == 0)) {
        wait_left(c);
        return;
    }
    if (!bad)
        say_answer(c, "202 Accepted", "text/plain", "", "Accepted");
    if (is_request(r))
        sse_reply(r, sid, bad);
}

/* The POST of somebody who takes it for Streamable HTTP. */
static void sse_refuse(struct conn *c, const struct request *r)
{
    char buf[1024];
    bool missing = strcmp(r->mode, "sse-json-404") == 0;

    if (missing || strcmp(r->mode, "sse-json-405") == 0)
        say_answer(c, missing ? "404 Not Found" : "405 Method Not Allowed",
                   "application/json", "",
                   json_error(buf, r->id, -32000, "no such way in"));
    else
        say_answer(c, "405 Method Not Allowed", NULL, "Allow: GET\r\n", "");
}

bool sse_request(struct conn *c, const struct request *r)
{
    struct request legacy = *r;

    if (strncmp(r->mode, "sse", 3) != 0)
        return false;
    legacy.legacy = true;
    if (strcmp(r->method, "GET") == 0)
        sse_get(c, &legacy);
    else if (strcmp(r->method, "POST") == 0 && query_number(r, "sid", STREAMS) < STREAMS)
        sse_post(c, &legacy);
    else
        sse_refuse(c, r);
    return true;
}
