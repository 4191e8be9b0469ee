/* echo.h - what the echo servers answer, whatever wire it goes over.
 *
 * No JSON library: a request is scanned once for the few members that matter,
 * and the answer is made of its own bytes. Input that is not JSON is not
 * diagnosed; this is a tool to measure with, not an example to follow.
 *
 * Tools: echo {"text":...}; big {"bytes":N} and stats {}, which are not listed;
 * and N more that are only there to make a long list. `stats` tells, as text, what
 * was needed before this first call, and begins to count anew:
 *
 *   accepts=1 upgrades=0 requests=1 notifications=0
 */
#ifndef MCPLUG_BENCH_ECHO_H
#define MCPLUG_BENCH_ECHO_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define VERSION_KEY "\"io.modelcontextprotocol/protocolVersion\""
#define INFO "{\"name\":\"bench-echo-server\",\"version\":\"1\"}"
#define CACHE ",\"resultType\":\"complete\",\"ttlMs\":60000,\"cacheScope\":\"public\""

enum { KEPT_MAX = 256 << 20 }; /* of a big text that is kept whole */

struct span {
    const char *p, *end;
};

/* The members of a request that an answer depends on; `p` NULL if missing. */
struct request {
    struct span id, method, name, text, bytes;
    bool modern;
};

struct out {
    char *data;
    size_t len, room;
    void (*send)(const char *data, size_t len); /* NULL: everything is kept */
};

/* Since the start, or the last `stats`; up to the first call of a tool. */
struct counts {
    unsigned accepts, upgrades, requests, notifications;
    bool ended;
};

struct server {
    struct out out;
    char *tools; /* text of the list */
    size_t tools_len;
    bool legacy;
    struct counts counts;
};

static _Noreturn void die(const char *why)
{
    fprintf(stderr, "bench-echo-server: %s\n", why);
    exit(1);
}

/* ---- output ---- */

static inline void flush(struct out *o)
{
    o->send(o->data, o->len);
    o->len = 0;
}

static void put(struct out *o, const char *data, size_t len)
{
    if (o->room - o->len < len) {
        o->room = (o->room + len) * 2;
        o->data = realloc(o->data, o->room);
        if (!o->data)
            die("out of memory");
    }
    memcpy(o->data + o->len, data, len);
    o->len += len;
}

static void put_span(struct out *o, struct span s)
{
    put(o, s.p, (size_t)(s.end - s.p));
}

#define PUT(o, literal) put(o, literal, sizeof literal - 1)

/* ---- scanning: every byte is looked at once ---- */

/* Past the string that starts at `p`, or NULL. */
static const char *skip_string(const char *p, const char *end)
{
    const char *quote = p;

    while ((quote = memchr(quote + 1, '"', (size_t)(end - quote - 1)))) {
        const char *slash = quote;
        while (slash[-1] == '\\')
            slash--;
        if ((quote - slash) % 2 == 0)
            return quote + 1;
    }
    return NULL;
}

/* Past any value: a string, a bracketed one, or up to the next delimiter. */
static const char *skip_value(const char *p, const char *end)
{
    int depth = 0;

    if (p < end && *p == '"')
        return skip_string(p, end);
    while (p && p < end) {
        char c = *p;
        if (depth == 0 && (c == ',' || c == '}' || c == ']'))
            return p;
        if (c == '"') {
            p = skip_string(p, end);
            continue;
        }
        depth += (c == '{' || c == '[') - (c == '}' || c == ']');
        p++;
        if (depth == 0 && (c == '}' || c == ']'))
            return p;
    }
    return NULL;
}

static const char *skip_space(const char *p, const char *end)
{
    while (p < end && (*p == ' ' || *p == '\t' || *p == '\r'))
        p++;
    return p;
}

/* Keys and strings keep their quotes. */
static inline bool is(struct span s, const char *quoted)
{
    size_t len = strlen(quoted);
    return (size_t)(s.end - s.p) == len && !memcmp(s.p, quoted, len);
}

enum level { MESSAGE, PARAMS, ARGUMENTS, META_DATA };

/* What the member `key` of an object is to us: an object to look into, or a
 * place for its value; neither if it does not matter. */
static struct span *place_of(enum level at, struct span key, struct request *rq,
                             enum level *inner)
{
    if (at == MESSAGE && is(key, "\"id\""))
        return &rq->id;
    if (at == MESSAGE && is(key, "\"method\""))
        return &rq->method;
    if (at == MESSAGE && is(key, "\"params\""))
        *inner = PARAMS;
    if (at == PARAMS && is(key, "\"name\""))
        return &rq->name;
    if (at == PARAMS && is(key, "\"arguments\""))
        *inner = ARGUMENTS;
    if (at == PARAMS && is(key, "\"_meta\""))
        *inner = META_DATA;
    if (at == ARGUMENTS && is(key, "\"text\""))
        return &rq->text;
    if (at == ARGUMENTS && is(key, "\"bytes\""))
        return &rq->bytes;
    if (at == META_DATA && is(key, VERSION_KEY))
        rq->modern = true;
    return NULL;
}

/* Past the object that starts at `p`, or NULL. */
static const char *scan(const char *p, const char *end, enum level at, struct request *rq)
{
    for (;;) {
        p = skip_space(p + 1, end); /* past the brace or comma */
        if (p < end && *p == '}')
            return p + 1;
        if (p >= end || *p != '"')
            return NULL;
        struct span key = {p, skip_string(p, end)};
        p = key.end ? skip_space(key.end, end) : end;
        if (p >= end || *p != ':')
            return NULL;
        p = skip_space(p + 1, end);
        enum level inner = MESSAGE;
        struct span *place = place_of(at, key, rq, &inner), value = {p, NULL};
        p = inner != MESSAGE && p < end && *p == '{' ? scan(p, end, inner, rq)
                                                     : skip_value(p, end);
        value.end = p;
        if (!p)
            return NULL;
        if (place)
            *place = value;
        p = skip_space(p, end);
        if (p >= end || *p != ',')
            return p < end && *p == '}' ? p + 1 : NULL;
    }
}

/* ---- answers ---- */

static void open_result(struct out *o, const struct request *rq)
{
    PUT(o, "{\"jsonrpc\":\"2.0\",\"id\":");
    put_span(o, rq->id);
    PUT(o, ",\"result\":{");
}

static void open_content(struct out *o, const struct request *rq)
{
    open_result(o, rq);
    if (rq->modern)
        PUT(o, "\"resultType\":\"complete\",");
    PUT(o, "\"content\":[{\"type\":\"text\",\"text\":");
}

static void refuse(struct out *o, const struct request *rq, const char *error)
{
    PUT(o, "{\"jsonrpc\":\"2.0\",\"id\":");
    put_span(o, rq->id);
    PUT(o, ",\"error\":");
    put(o, error, strlen(error));
    PUT(o, "}\n");
}

/* Lines of 79 x and a newline, which is two bytes on the wire. */
static void big(struct out *o, const struct request *rq)
{
    enum { TEXT = 80, WIRE = 81, LINES = 800 };
    char pattern[WIRE * LINES];
    uint64_t bytes = rq->bytes.p ? strtoull(rq->bytes.p, NULL, 10) : 0;
    if (!o->send && bytes > KEPT_MAX)
        bytes = KEPT_MAX;
    uint64_t left = bytes / TEXT * WIRE + bytes % TEXT;

    memset(pattern, 'x', sizeof pattern);
    for (size_t i = WIRE; i <= sizeof pattern; i += WIRE)
        memcpy(pattern + i - 2, "\\n", 2);
    open_content(o, rq);
    PUT(o, "\"");
    if (o->send)
        flush(o);
    while (left > 0) {
        size_t n = left < sizeof pattern ? (size_t)left : sizeof pattern;
        if (o->send)
            o->send(pattern, n);
        else
            put(o, pattern, n);
        left -= n;
    }
    PUT(o, "\"}]}}\n");
}

static void count(struct counts *c, unsigned *what)
{
    if (!c->ended)
        (*what)++;
}

static void stats(struct server *s, const struct request *rq)
{
    const struct counts *c = &s->counts;
    char text[160];

    int n = sprintf(text, "\"accepts=%u upgrades=%u requests=%u notifications=%u\"",
                    c->accepts, c->upgrades, c->requests, c->notifications);
    open_content(&s->out, rq);
    put(&s->out, text, (size_t)n);
    PUT(&s->out, "}]}}\n");
    s->counts = (struct counts){.ended = false};
}

static void call(struct server *s, const struct request *rq)
{
    struct out *o = &s->out;

    s->counts.ended = true;
    if (is(rq->name, "\"echo\"") && rq->text.p) {
        open_content(o, rq);
        put_span(o, rq->text);
        PUT(o, "}]}}\n");
    } else if (is(rq->name, "\"big\"")) {
        big(o, rq);
    } else if (is(rq->name, "\"stats\"")) {
        stats(s, rq);
    } else {
        refuse(o, rq, "{\"code\":-32602,\"message\":\"Unknown tool\"}");
    }
}

static void list(struct server *s, const struct request *rq)
{
    struct out *o = &s->out;

    open_result(o, rq);
    PUT(o, "\"tools\":[");
    put(o, s->tools, s->tools_len);
    PUT(o, "]");
    if (rq->modern)
        PUT(o, CACHE);
    PUT(o, "}}\n");
}

/* Adds the answer, a line, to `out`. */
static void answer(struct server *s, const struct request *rq)
{
    struct out *o = &s->out;

    if (is(rq->method, "\"tools/call\"")) {
        call(s, rq);
        return;
    }
    count(&s->counts, &s->counts.requests);
    if (is(rq->method, "\"tools/list\"")) {
        list(s, rq);
    } else if (is(rq->method, "\"ping\"")) {
        open_result(o, rq);
        PUT(o, "}}\n");
    } else if (is(rq->method, "\"initialize\"")) {
        open_result(o, rq);
        PUT(o, "\"protocolVersion\":\"2025-11-25\",\"capabilities\":{\"tools\":{}},"
               "\"serverInfo\":" INFO "}}\n");
    } else if (is(rq->method, "\"server/discover\"") && !s->legacy) {
        open_result(o, rq);
        PUT(o,
            "\"supportedVersions\":[\"2026-07-28\"],\"capabilities\":{\"tools\":{}},"
            "\"_meta\":{\"io.modelcontextprotocol/serverInfo\":" INFO "}" CACHE "}}\n");
    } else {
        refuse(o, rq, "{\"code\":-32601,\"message\":\"Method not found\"}");
    }
}

/* ---- the list ---- */

static void make_tools(struct server *s, unsigned count)
{
    FILE *f = open_memstream(&s->tools, &s->tools_len);

    if (!f)
        die("out of memory");
    fputs("{\"name\":\"echo\",\"description\":\"Returns the text it was given.\","
          "\"inputSchema\":{\"type\":\"object\",\"properties\":{\"text\":{\"type\":"
          "\"string\"}},\"required\":[\"text\"]}}",
          f);
    for (unsigned i = 0; i < count; i++)
        fprintf(
            f,
            ",{\"name\":\"gen_%04u\",\"title\":\"Search issues %u\","
            "\"description\":\"Searches the issues of project %u.\","
            "\"inputSchema\":{\"type\":\"object\",\"properties\":{\"query\":{\"type\":"
            "\"string\",\"description\":\"Words to look for\",\"minLength\":1},"
            "\"status\":{\"type\":\"string\",\"enum\":[\"open\",\"closed\",\"all\"]},"
            "\"labels\":{\"type\":\"array\",\"items\":{\"type\":\"string\"}},"
            "\"since\":{\"type\":\"string\",\"format\":\"date-time\"},"
            "\"limit\":{\"type\":\"integer\",\"minimum\":1,\"maximum\":100}},"
            "\"required\":[\"query\"],\"additionalProperties\":false}}",
            i, i, i);
    if (fclose(f))
        die("out of memory");
}

/* Answers one message. False when there is nothing to answer. */
static bool answer_message(struct server *s, const char *p, const char *end)
{
    struct request rq = {.modern = false};

    if (p == end || *p != '{' || !scan(p, end, MESSAGE, &rq) || !rq.method.p)
        return false;
    if (rq.id.p)
        answer(s, &rq);
    else
        count(&s->counts, &s->counts.notifications);
    return rq.id.p;
}

#endif
