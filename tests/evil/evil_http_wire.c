/* Requests in, answers out: the part of evil_http that knows HTTP and behaves. */
#include "evil_http.h"

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* ---- saying ---- */

void say(struct conn *c, const char *data, size_t len)
{
    while (len && !c->over) {
        ssize_t n = send(c->fd, data, len, MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0) {
            c->over = true;
            return;
        }
        data += n;
        len -= (size_t)n;
    }
}

void sayf(struct conn *c, const char *format, ...)
{
    char text[4096];
    va_list ap;

    va_start(ap, format);
    int n = vsnprintf(text, sizeof text, format, ap);
    va_end(ap);
    say(c, text, (size_t)n < sizeof text ? (size_t)n : sizeof text - 1);
}

void say_many(struct conn *c, char byte, uint64_t count)
{
    char block[16384];

    memset(block, byte, sizeof block);
    for (; count > sizeof block && !c->over; count -= sizeof block)
        say(c, block, sizeof block);
    say(c, block, (size_t)(count < sizeof block ? count : sizeof block));
}

void say_answer(struct conn *c, const char *status, const char *type, const char *more,
                const char *body)
{
    sayf(c, "HTTP/1.1 %s\r\n%s%s%s%sContent-Length: %zu\r\n\r\n%s", status,
         type ? "Content-Type: " : "", type ? type : "", type ? "\r\n" : "", more,
         strlen(body), body);
}

void say_stream(struct conn *c)
{
    sayf(c, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
            "Cache-Control: no-cache\r\nTransfer-Encoding: chunked\r\n\r\n");
}

void say_piece(struct conn *c, const char *data, size_t len)
{
    sayf(c, "%zx\r\n", len);
    say(c, data, len);
    say(c, "\r\n", 2);
}

void say_event(struct conn *c, const char *fields, const char *json)
{
    char text[4096];
    int n = snprintf(text, sizeof text, "%sdata: %s\n\n", fields, json);

    say_piece(c, text, (size_t)n);
}

void say_end(struct conn *c)
{
    say(c, "0\r\n\r\n", 5);
}

void say_message(struct conn *c, const struct request *r, const char *json)
{
    if (!r->sse) {
        say_answer(c, "200 OK", "application/json", "", json);
        return;
    }
    say_stream(c);
    say_event(c, "event: message\n", json);
    say_end(c);
}

void reset(struct conn *c)
{
    struct linger now = {1, 0};

    setsockopt(c->fd, SOL_SOCKET, SO_LINGER, &now, sizeof now);
    c->over = true;
}

bool has_left(const struct conn *c)
{
    struct pollfd p = {c->fd, POLLRDHUP, 0};
    return poll(&p, 1, 0) > 0;
}

void wait_left(struct conn *c)
{
    struct pollfd p = {c->fd, POLLRDHUP, 0};

    while (!c->over)
        if (poll(&p, 1, -1) > 0)
            c->over = true;
}

void nap(unsigned ms)
{
    usleep(ms * 1000);
}

/* ---- requests ---- */

const char *query_value(const struct request *r, const char *name, char *buf, size_t size)
{
    size_t len = strlen(name);

    for (const char *at = r->query; *at; at += strcspn(at, "&"), at += *at == '&') {
        if (strncmp(at, name, len) != 0 || !strchr("=&", at[len]))
            continue;
        at += len + (at[len] == '=');
        snprintf(buf, size, "%.*s", (int)strcspn(at, "&"), at);
        return buf;
    }
    return NULL;
}

uint64_t query_number(const struct request *r, const char *name, uint64_t fallback)
{
    char buf[32];
    const char *value = query_value(r, name, buf, sizeof buf);

    return value ? strtoull(value, NULL, 10) : fallback;
}

const char *header_value(const struct request *r, const char *name, char *buf,
                         size_t size)
{
    size_t len = strlen(name);

    for (const char *at = strstr(r->head, "\r\n"); at; at = strstr(at, "\r\n")) {
        at += 2;
        if (strncasecmp(at, name, len) != 0 || at[len] != ':')
            continue;
        at += len + 1;
        at += strspn(at, " \t");
        snprintf(buf, size, "%.*s", (int)strcspn(at, "\r"), at);
        return buf;
    }
    return NULL;
}

bool asks(const struct request *r, const char *method)
{
    char text[96];

    snprintf(text, sizeof text, "\"method\":\"%s\"", method);
    return strstr(r->body, text) != NULL;
}

bool is_request(const struct request *r)
{
    return r->id && strstr(r->body, "\"method\":");
}

/* Reads until at least `want` bytes are there. */
static bool read_some(struct conn *c, size_t want)
{
    while (c->have < want) {
        ssize_t n = recv(c->fd, c->in + c->have, HEAD_MAX - c->have, 0);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        c->have += (size_t)n;
    }
    return true;
}

static void use(struct conn *c, size_t n)
{
    memmove(c->in, c->in + n, c->have - n);
    c->have -= n;
}

static void parse_target(struct request *r)
{
    char target[512] = "";

    sscanf(r->head, "%15s /%511s", r->method, target);
    char *query = strchr(target, '?');
    if (query) {
        *query++ = '\0';
        snprintf(r->query, sizeof r->query, "%s", query);
    }
    char *slash = strchr(target, '/');
    if (slash) {
        *slash++ = '\0';
        snprintf(r->rest, sizeof r->rest, "%s", slash);
    }
    snprintf(r->mode, sizeof r->mode, "%.63s", target);
    char value[16];
    r->legacy = query_value(r, "legacy", value, sizeof value);
    r->sse = query_value(r, "sse", value, sizeof value);
    r->deaf = query_value(r, "deaf", value, sizeof value);
    r->at_connect =
        query_value(r, "at", value, sizeof value) && !strcmp(value, "connect");
}

static bool read_head(struct conn *c, struct request *r)
{
    char *end = NULL;

    for (size_t seen_to = 0; !end; seen_to = c->have) {
        if (c->have == HEAD_MAX || !read_some(c, seen_to + 1))
            return false;
        end = memmem(c->in, c->have, "\r\n\r\n", 4);
    }
    size_t len = (size_t)(end - c->in) + 4;
    r->head = strndup(c->in, len);
    use(c, len);
    if (r->head)
        parse_target(r);
    return r->head != NULL;
}

static bool read_body(struct conn *c, struct request *r)
{
    char value[32];
    const char *length = header_value(r, "Content-Length", value, sizeof value);
    size_t len = length ? strtoul(length, NULL, 10) : 0;

    if (len > BODY_MAX || header_value(r, "Transfer-Encoding", value, sizeof value)) {
        say_answer(c, "411 Length Required", NULL, "Connection: close\r\n", "");
        return false;
    }
    if (len > c->have && header_value(r, "Expect", value, sizeof value))
        sayf(c, "HTTP/1.1 100 Continue\r\n\r\n");
    r->body = calloc(1, len + 1);
    if (!r->body)
        return false;
    for (size_t got = 0; got < len;) {
        if (strcmp(r->mode, "slow-reader") == 0 && len > HEAD_MAX)
            nap(5);
        if (c->have == 0 && !read_some(c, 1))
            return false;
        size_t n = c->have < len - got ? c->have : len - got;
        memcpy(r->body + got, c->in, n);
        use(c, n);
        got += n;
    }
    const char *id = strstr(r->body, "\"id\":");
    r->id = id ? strtoull(id + 5, NULL, 10) : 0;
    return true;
}

bool read_request(struct conn *c, struct request *r)
{
    return read_head(c, r) && read_body(c, r);
}
