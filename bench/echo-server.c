/* echo-server.c - the fastest MCP server we can write, so that what a
 * benchmark of clients measures is the client.
 *
 * No JSON library: a request is scanned once for the few members that matter,
 * and the answer is made of its own bytes. Every request that came with one
 * read is answered with one write. Input that is not JSON is not diagnosed;
 * this is a tool to measure with, not an example to follow.
 *
 *   bench-echo-server [--legacy] [--tools N]
 *
 * Tools: echo {"text":...}; big {"bytes":N}, which is not listed; and N more that
 * are only there to make a long list.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { READ_SIZE = 256 << 10, FLUSH_SIZE = 1 << 20 };

#define VERSION_KEY "\"io.modelcontextprotocol/protocolVersion\""
#define INFO "{\"name\":\"bench-echo-server\",\"version\":\"1\"}"
#define CACHE ",\"resultType\":\"complete\",\"ttlMs\":60000,\"cacheScope\":\"public\""

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
};

struct server {
    struct out out;
    char *tools; /* text of the list */
    size_t tools_len;
    bool legacy;
};

static _Noreturn void die(const char *why)
{
    fprintf(stderr, "bench-echo-server: %s\n", why);
    exit(1);
}

/* ---- output ---- */

static void write_all(const char *data, size_t len)
{
    while (len > 0) {
        ssize_t n = write(STDOUT_FILENO, data, len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            exit(0); /* the client is gone, which is how a run ends */
        data += n;
        len -= (size_t)n;
    }
}

static void flush(struct out *o)
{
    write_all(o->data, o->len);
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
    uint64_t left = bytes / TEXT * WIRE + bytes % TEXT;

    memset(pattern, 'x', sizeof pattern);
    for (size_t i = WIRE; i <= sizeof pattern; i += WIRE)
        memcpy(pattern + i - 2, "\\n", 2);
    open_content(o, rq);
    PUT(o, "\"");
    flush(o);
    while (left > 0) {
        size_t n = left < sizeof pattern ? (size_t)left : sizeof pattern;
        write_all(pattern, n);
        left -= n;
    }
    PUT(o, "\"}]}}\n");
}

static void call(struct out *o, const struct request *rq)
{
    if (is(rq->name, "\"echo\"") && rq->text.p) {
        open_content(o, rq);
        put_span(o, rq->text);
        PUT(o, "}]}}\n");
    } else if (is(rq->name, "\"big\"")) {
        big(o, rq);
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

static void answer(struct server *s, const struct request *rq)
{
    struct out *o = &s->out;

    if (is(rq->method, "\"tools/call\"")) {
        call(o, rq);
    } else if (is(rq->method, "\"tools/list\"")) {
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

/* Answers all whole lines in `in`, returns how many bytes they were. */
static size_t answer_lines(struct server *s, const char *in, size_t len)
{
    const char *p = in, *end = in + len, *newline;

    while ((newline = memchr(p, '\n', (size_t)(end - p)))) {
        struct request rq = {.modern = false};
        if (*p == '{' && scan(p, newline, MESSAGE, &rq) && rq.id.p && rq.method.p)
            answer(s, &rq);
        if (s->out.len > FLUSH_SIZE)
            flush(&s->out);
        p = newline + 1;
    }
    flush(&s->out);
    return (size_t)(p - in);
}

int main(int argc, char **argv)
{
    struct server s = {.legacy = false};
    size_t have = 0, room = 0;
    unsigned tools = 0;
    char *in = NULL;

    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "--legacy"))
            s.legacy = true;
        else if (!strcmp(argv[i], "--tools") && i + 1 < argc)
            tools = (unsigned)strtoul(argv[++i], NULL, 10);
        else
            die("usage: bench-echo-server [--legacy] [--tools N]");
    }
    make_tools(&s, tools);
    for (;;) {
        if (room - have < READ_SIZE) {
            room = room * 2 + READ_SIZE;
            in = realloc(in, room);
            if (!in)
                die("out of memory");
        }
        ssize_t n = read(STDIN_FILENO, in + have, room - have);
        if (n == 0 || (n < 0 && errno != EINTR))
            break;
        have += n > 0 ? (size_t)n : 0;
        size_t used = answer_lines(&s, in, have);
        have -= used;
        memmove(in, in + used, have);
    }
    free(in);
    free(s.tools);
    free(s.out.data);
    return 0;
}
