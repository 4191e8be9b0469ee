/* What evil_http does to a request, one way each. */
#include "evil_http.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MIB = 1024 * 1024 };

static void ok(struct conn *c, const struct request *r)
{
    char buf[1024];
    say_message(c, r, json_ok(buf, r, r->id, "fine"));
}

/* ---- connections that break ---- */

static void reset_before_status(struct conn *c, const struct request *r)
{
    (void)r;
    reset(c);
}

static void fin_before_status(struct conn *c, const struct request *r)
{
    (void)r;
    c->over = true;
}

static void some_headers(struct conn *c)
{
    sayf(c, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Le");
    nap(10);
}

static void reset_in_headers(struct conn *c, const struct request *r)
{
    (void)r;
    some_headers(c);
    reset(c);
}

static void fin_in_headers(struct conn *c, const struct request *r)
{
    (void)r;
    some_headers(c);
    c->over = true;
}

/* Half of a JSON body, or of the whole stream. */
static void some_body(struct conn *c, const struct request *r)
{
    char buf[1024];
    size_t len = strlen(json_ok(buf, r, r->id, "fine"));

    if (r->sse) {
        say_stream(c);
        sayf(c, "%zx\r\ndata: %.*s", len + 8, (int)(len / 2), buf);
    } else {
        sayf(c,
             "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
             "Content-Length: %zu\r\n\r\n%.*s",
             len, (int)(len / 2), buf);
    }
    nap(10);
}

static void reset_in_body(struct conn *c, const struct request *r)
{
    some_body(c, r);
    reset(c);
}

static void fin_in_body(struct conn *c, const struct request *r)
{
    some_body(c, r);
    c->over = true;
}

static void stall_in_body(struct conn *c, const struct request *r)
{
    some_body(c, r);
    wait_left(c);
}

/* Whole chunks, but half of an event; the stream may go on. */
static void some_event(struct conn *c, const struct request *r)
{
    char buf[1024], half[600];

    json_ok(buf, r, r->id, "fine");
    snprintf(half, sizeof half, "data: %.*s", (int)strlen(buf) / 2, buf);
    say_stream(c);
    say_piece(c, ": hello\n\n", 9);
    say_piece(c, half, strlen(half));
    nap(10);
}

static void reset_in_event(struct conn *c, const struct request *r)
{
    some_event(c, r);
    reset(c);
}

static void fin_in_event(struct conn *c, const struct request *r)
{
    some_event(c, r);
    c->over = true;
}

/* The stream ends as it should, but in the middle of an event. */
static void half_event(struct conn *c, const struct request *r)
{
    some_event(c, r);
    say_end(c);
}

static void no_reply(struct conn *c, const struct request *r)
{
    (void)r;
    say_stream(c);
    say_piece(c, ": nothing to say\n\n", 18);
    say_end(c);
}

/* ---- time ---- */

static void silence(struct conn *c, const struct request *r)
{
    (void)r;
    wait_left(c);
}

static void headers_only(struct conn *c, const struct request *r)
{
    (void)r;
    say_stream(c);
    wait_left(c);
}

static void drip(struct conn *c, const struct request *r)
{
    char buf[1024], text[2048];
    unsigned ms = (unsigned)query_number(r, "n", 50);

    json_ok(buf, r, r->id, "fine");
    snprintf(text, sizeof text,
             "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
             "Content-Length: %zu\r\n\r\n%s",
             strlen(buf), buf);
    for (const char *at = text; *at && !c->over && !has_left(c); at++) {
        say(c, at, 1);
        for (unsigned i = 0; i < ms && !has_left(c); i += 50)
            nap(ms < 50 ? ms : 50);
    }
    c->over |= has_left(c);
}

static void slow(struct conn *c, const struct request *r)
{
    nap((unsigned)query_number(r, "n", 100));
    ok(c, r);
}

static void never_closes(struct conn *c, const struct request *r)
{
    char buf[1024];

    say_stream(c);
    say_event(c, "", json_ok(buf, r, r->id, "fine"));
    wait_left(c);
}

/* ---- statuses ---- */

static const struct {
    const char *mode, *status, *more, *type, *body;
} statuses[] = {
    {"202", "202 Accepted", "", NULL, ""},
    {"400-text", "400 Bad Request", "", "text/plain", "you are \033[31mwrong\r\n\tthere"},
    {"401", "401 Unauthorized", "WWW-Authenticate: Bearer realm=\"evil\"\r\n",
     "text/plain", "who are you?"},
    {"401-bare", "401 Unauthorized", "", NULL, ""},
    {"403", "403 Forbidden", "", "text/html", "<html>no</html>"},
    {"404", "404 Not Found", "", "text/plain", "nothing here"},
    {"405", "405 Method Not Allowed", "Allow: GET\r\n", NULL, ""},
    {"406", "406 Not Acceptable", "", NULL, ""},
    {"413", "413 Content Too Large", "", NULL, ""},
    {"418", "418 \001\177\377tea", "", "text/plain", "\377\376\200"},
    {"429-date", "429 Too Many Requests",
     "Retry-After: Fri, 31 Dec 2100 23:59:59 GMT\r\n", NULL, ""},
    {"429-junk", "429 Too Many Requests", "Retry-After: -99999999999999999999\r\n", NULL,
     ""},
    {"500", "500 Internal Server Error", "", "text/plain", "oops"},
    {"502", "502 Bad Gateway", "", "text/html", "<html><h1>502</h1></html>"},
    {"599", "599 Whatever", "", NULL, ""},
    {"999", "999 Odd", "", NULL, ""},
    {"html", "200 OK", "", "text/html", "<!doctype html><title>Log in</title>"},
    {"wrong-type", "200 OK", "", "application/xml", "<result/>"},
    {"empty-body", "200 OK", "", "application/json", ""},
    {"null-body", "200 OK", "", "application/json", "null"},
    {"text-body", "200 OK", "", "application/json", "hello"},
    {"empty-stream", "200 OK", "", "text/event-stream", ""},
    {NULL, NULL, NULL, NULL, NULL},
};

static void status(struct conn *c, const struct request *r)
{
    for (size_t i = 0; statuses[i].mode; i++)
        if (strcmp(statuses[i].mode, r->mode) == 0)
            say_answer(c, statuses[i].status, statuses[i].type, statuses[i].more,
                       statuses[i].body);
}

/* No body is allowed with these, nor a length. */
static void bodiless(struct conn *c, const struct request *r)
{
    sayf(c, "HTTP/1.1 %s\r\n%s\r\n",
         strcmp(r->mode, "204") == 0 ? "204 No Content" : "205 Reset Content",
         strcmp(r->mode, "204") == 0 ? "" : "Content-Length: 0\r\n");
}

/* 429 or 503, the first `times` times, or always. */
static void not_now(struct conn *c, const struct request *r)
{
    static atomic_ulong refused;
    uint64_t after = query_number(r, "after", 0);
    char more[64] = "";

    if (++refused > query_number(r, "times", UINT64_MAX)) {
        ok(c, r);
        return;
    }
    if (after)
        snprintf(more, sizeof more, "Retry-After: %llu\r\n", (unsigned long long)after);
    say_answer(c, r->mode[0] == '4' ? "429 Too Many Requests" : "503 Service Unavailable",
               NULL, more, "");
}

/* Errors of JSON-RPC that have an HTTP status as well. */
static void status_json(struct conn *c, const struct request *r)
{
    static const struct {
        const char *mode, *status;
        int code;
        const char *message;
    } known[] = {
        {"400-json", "400 Bad Request", -32602, "no good"},
        {"401-json", "401 Unauthorized", -32001, "who are you?"},
        {"403-json", "403 Forbidden", -32600, "not you"},
        {"404-json", "404 Not Found", -32601, "no method"},
    };
    char buf[1024];

    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(known[i].mode, r->mode) == 0)
            say_answer(c, known[i].status, "application/json", "",
                       json_error(buf, r->id, known[i].code, known[i].message));
}

static void endless_error(struct conn *c, const struct request *r)
{
    (void)r;
    sayf(c, "HTTP/1.1 500 Internal Server Error\r\nContent-Type: text/plain\r\n\r\n");
    while (!c->over)
        say_many(c, 'e', MIB);
}

static void no_type(struct conn *c, const struct request *r)
{
    char buf[1024];
    say_answer(c, "200 OK", NULL, "", json_ok(buf, r, r->id, "fine"));
}

/* ---- headers and framing ---- */

static void interim_flood(struct conn *c, const struct request *r)
{
    for (uint64_t i = query_number(r, "n", 1000); i && !c->over; i--)
        sayf(c, "HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n");
    ok(c, r);
}

static void huge_headers(struct conn *c, const struct request *r)
{
    char buf[1024];

    json_ok(buf, r, r->id, "fine");
    sayf(c, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nX-Long: ");
    say_many(c, 'h', query_number(r, "n", 70000));
    sayf(c, "\r\nContent-Length: %zu\r\n\r\n%s", strlen(buf), buf);
}

static void many_headers(struct conn *c, const struct request *r)
{
    char buf[1024];

    json_ok(buf, r, r->id, "fine");
    sayf(c, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n");
    for (uint64_t i = query_number(r, "n", 100000); i && !c->over; i--)
        sayf(c, "X-%llu: %llu\r\n", (unsigned long long)i, (unsigned long long)i);
    sayf(c, "Content-Length: %zu\r\n\r\n%s", strlen(buf), buf);
}

static void endless_headers(struct conn *c, const struct request *r)
{
    (void)r;
    sayf(c, "HTTP/1.1 200 OK\r\n");
    while (!c->over)
        sayf(c, "X-More: and more and more and more and more and more and more\r\n");
}

static void long_length(struct conn *c, const struct request *r)
{
    char buf[1024];

    json_ok(buf, r, r->id, "fine");
    sayf(c,
         "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
         "Content-Length: %zu\r\n\r\n%s",
         strlen(buf) + 100, buf);
    c->over = true;
}

static void short_length(struct conn *c, const struct request *r)
{
    char buf[1024];

    json_ok(buf, r, r->id, "fine");
    sayf(c,
         "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
         "Content-Length: %zu\r\n\r\n%s",
         strlen(buf) / 2, buf);
}

static void odd_length(struct conn *c, const struct request *r)
{
    char buf[1024];
    sayf(c,
         "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
         "Content-Length: -5\r\n\r\n%s",
         json_ok(buf, r, r->id, "fine"));
    c->over = true;
}

static void chunk_garbage(struct conn *c, const struct request *r)
{
    (void)r;
    sayf(c, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
            "Transfer-Encoding: chunked\r\n\r\nzebra\r\n{}\r\n");
    wait_left(c);
}

static void chunk_huge(struct conn *c, const struct request *r)
{
    char buf[1024];
    sayf(c,
         "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
         "Transfer-Encoding: chunked\r\n\r\nfffffffffffffffff0\r\n%s",
         json_ok(buf, r, r->id, "fine"));
    wait_left(c);
}

static void bad_status_line(struct conn *c, const struct request *r)
{
    (void)r;
    sayf(c, "HTTQ/7.1 fine thanks\r\nContent-Length: 0\r\n\r\n");
    c->over = true;
}

static void http09(struct conn *c, const struct request *r)
{
    char buf[1024];
    sayf(c, "%s\n", json_ok(buf, r, r->id, "fine"));
    c->over = true;
}

static void not_http(struct conn *c, const struct request *r)
{
    (void)r;
    sayf(c, "SSH-2.0-OpenSSH_9.2\r\n");
    wait_left(c);
}

/* ---- redirects ---- */

static void redirect_to(struct conn *c, const char *status_text, const char *where)
{
    char more[512];

    snprintf(more, sizeof more, "Location: %s\r\n", where);
    say_answer(c, status_text, NULL, more, "");
}

static void redirect(struct conn *c, const struct request *r)
{
    static const char temporary[] = "307 Temporary Redirect";
    const char *kind = r->mode + strlen("redirect-");
    char where[400];

    snprintf(where, sizeof where, "http://127.0.0.1:%d/ok?%s", port, r->query);
    if (strcmp(kind, "307-same") == 0)
        redirect_to(c, temporary, where);
    else if (strcmp(kind, "308-same") == 0)
        redirect_to(c, "308 Permanent Redirect", strstr(where, "/ok"));
    else if (strcmp(kind, "301") == 0)
        redirect_to(c, "301 Moved Permanently", where);
    else if (strcmp(kind, "302") == 0)
        redirect_to(c, "302 Found", where);
    else if (strcmp(kind, "303") == 0)
        redirect_to(c, "303 See Other", where);
    else if (strcmp(kind, "file") == 0)
        redirect_to(c, temporary, "file:///etc/passwd");
    else if (strcmp(kind, "gopher") == 0)
        redirect_to(c, temporary, "gopher://127.0.0.1:1/x");
    else if (strcmp(kind, "junk") == 0)
        redirect_to(c, temporary, "http://\001 @[/:x");
    else if (strcmp(kind, "nowhere") == 0)
        say_answer(c, temporary, NULL, "", "");
    else if (strcmp(kind, "loop") == 0)
        redirect_to(c, temporary, strcat(strcpy(where, "/redirect-loop?"), r->query));
    else {
        snprintf(where, sizeof where,
                 strcmp(kind, "slashes") == 0 ? "//127.0.0.1:%d/ok"
                 : strcmp(kind, "user") == 0  ? "http://127.0.0.1:%d@127.0.0.1:%d/ok"
                                              : "http://127.0.0.1:%d/ok",
                 strcmp(kind, "user") == 0 ? port : port2, port2);
        redirect_to(c, temporary, where);
    }
}

const struct act acts[] = {
    {"ok", ok},
    {"reset-before-status", reset_before_status},
    {"fin-before-status", fin_before_status},
    {"reset-in-headers", reset_in_headers},
    {"fin-in-headers", fin_in_headers},
    {"reset-in-body", reset_in_body},
    {"fin-in-body", fin_in_body},
    {"stall-in-body", stall_in_body},
    {"reset-in-event", reset_in_event},
    {"fin-in-event", fin_in_event},
    {"half-event", half_event},
    {"no-reply", no_reply},
    {"silence", silence},
    {"headers-only", headers_only},
    {"drip", drip},
    {"slow", slow},
    {"slow-reader", ok}, /* see read_body() */
    {"never-closes", never_closes},
    {"202", status},
    {"204", bodiless},
    {"205", bodiless},
    {"400-text", status},
    {"400-json", status_json},
    {"401", status},
    {"401-bare", status},
    {"401-json", status_json},
    {"403", status},
    {"403-json", status_json},
    {"404", status},
    {"404-json", status_json},
    {"405", status},
    {"406", status},
    {"413", status},
    {"418", status},
    {"429", not_now},
    {"429-date", status},
    {"429-junk", status},
    {"500", status},
    {"502", status},
    {"503", not_now},
    {"599", status},
    {"999", status},
    {"html", status},
    {"wrong-type", status},
    {"no-type", no_type},
    {"empty-body", status},
    {"null-body", status},
    {"text-body", status},
    {"empty-stream", status},
    {"endless-error", endless_error},
    {"1xx-flood", interim_flood},
    {"huge-headers", huge_headers},
    {"many-headers", many_headers},
    {"endless-headers", endless_headers},
    {"long-length", long_length},
    {"short-length", short_length},
    {"odd-length", odd_length},
    {"chunk-garbage", chunk_garbage},
    {"chunk-huge", chunk_huge},
    {"bad-status-line", bad_status_line},
    {"http09", http09},
    {"not-http", not_http},
    {"redirect-307-same", redirect},
    {"redirect-308-same", redirect},
    {"redirect-301", redirect},
    {"redirect-302", redirect},
    {"redirect-303", redirect},
    {"redirect-loop", redirect},
    {"redirect-file", redirect},
    {"redirect-gopher", redirect},
    {"redirect-junk", redirect},
    {"redirect-nowhere", redirect},
    {"redirect-other", redirect},
    {"redirect-slashes", redirect},
    {"redirect-user", redirect},
    {NULL, NULL},
};
