/* What evil_http says too much of, or to nobody. */
#include "evil_http.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MIB = 1024 * 1024 };

/* ---- floods ---- */

static void endless_comments(struct conn *c, const struct request *r)
{
    char block[8192];

    (void)r;
    for (size_t i = 0; i < sizeof block; i++)
        block[i] = ": still here, still here, still\n"[i % 32];
    say_stream(c);
    while (!c->over)
        say_piece(c, block, sizeof block);
}

static void endless_notes(struct conn *c, const struct request *r)
{
    (void)r;
    say_stream(c);
    while (!c->over)
        say_event(c, "", "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/unheard_of\"}");
}

void say_pings(struct conn *c)
{
    char text[100 * 64];
    size_t n = 0;

    for (int i = 0; i < 100; i++)
        n += (size_t)snprintf(text + n, sizeof text - n,
                              "data: {\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"ping\"}"
                              "\n\n",
                              i);
    say_piece(c, text, n);
}

static void ping_flood(struct conn *c, const struct request *r)
{
    (void)r;
    say_stream(c);
    while (!c->over)
        say_pings(c);
}

/* A field that is never ended. */
static void endless_field(struct conn *c, const struct request *r)
{
    char block[8192];

    memset(block, 'i', sizeof block);
    say_stream(c);
    say_piece(c, r->mode[8] == 'i' ? "id: " : "event: ", r->mode[8] == 'i' ? 4 : 7);
    while (!c->over)
        say_piece(c, block, sizeof block);
}

static void endless_body(struct conn *c, const struct request *r)
{
    sayf(c,
         "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n"
         "{\"jsonrpc\":\"2.0\",\"id\":%llu,\"result\":{\"text\":\"",
         (unsigned long long)r->id);
    while (!c->over)
        say_many(c, 'b', MIB);
}

static void long_line(struct conn *c, const struct request *r)
{
    char buf[1024];
    uint64_t len = query_number(r, "n", 16) * MIB;

    say_stream(c);
    sayf(c, "%llx\r\ndata: ", (unsigned long long)len + 8);
    say_many(c, 'x', len);
    sayf(c, "\n\n\r\n");
    say_event(c, "", json_ok(buf, r, r->id, "fine"));
    say_end(c);
}

static void huge_answer(struct conn *c, const struct request *r)
{
    char buf[1024];
    uint64_t len = query_number(r, "n", 64) * MIB;

    json_ok(buf, r, r->id, "%");
    char *at = strchr(buf, '%');
    sayf(c,
         "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: "
         "%llu\r\n\r\n%.*s",
         (unsigned long long)(strlen(buf) - 1 + len), (int)(at - buf), buf);
    say_many(c, 'y', len);
    sayf(c, "%s", at + 1);
}

/* ---- gzip: what nobody asked for, 160 times as large when it is taken apart ---- */

struct bits {
    struct conn *c;
    char out[8192];
    size_t n;
    unsigned word, have;
};

static void put_bits(struct bits *b, unsigned value, unsigned count)
{
    b->word |= value << b->have;
    for (b->have += count; b->have >= 8; b->have -= 8, b->word >>= 8) {
        b->out[b->n++] = (char)(b->word & 255);
        if (b->n == sizeof b->out) {
            say(b->c, b->out, b->n);
            b->n = 0;
        }
    }
}

/* Codes of Huffman's begin with their highest bit. */
static void put_code(struct bits *b, unsigned code, unsigned count)
{
    while (count-- && !b->c->over)
        put_bits(b, code >> count & 1, 1);
}

static void put_text(struct bits *b, const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++)
        put_code(b, 0x30 + (unsigned char)text[i], 8);
}

static void gzip_bomb(struct conn *c, const struct request *r)
{
    struct bits b = {.c = c};
    char buf[1024];

    json_ok(buf, r, r->id, "a%");
    char *at = strchr(buf, '%');
    /* what it says of it: also in ways that a client may understand otherwise than the
     * library that unpacks it */
    static const char *const codings[] = {
        "Content-Encoding: gzip", "Content-Encoding: gzip\r\nContent-Encoding: identity",
        "Content-Encoding: identity ,gzip"};
    sayf(c,
         "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
         "%s\r\nConnection: close\r\n\r\n",
         codings[query_number(r, "coding", 0) % 3]);
    say(c, "\037\213\010\0\0\0\0\0\0\003", 10);
    put_bits(&b, 1, 1); /* the last block, */
    put_bits(&b, 1, 2); /* with the fixed codes */
    put_text(&b, buf, (size_t)(at - buf));
    for (uint64_t i = query_number(r, "n", 1024) * MIB / 258; i && !c->over; i--) {
        put_code(&b, 0xc5, 8); /* the last 258 bytes, */
        put_code(&b, 0, 5);    /* from one byte back */
    }
    put_text(&b, at + 1, strlen(at + 1));
    put_code(&b, 0, 7); /* end of block */
    put_bits(&b, 0, 7);
    say(c, b.out, b.n);
    say(c, "\0\0\0\0\0\0\0\0",
        8); /* a wrong checksum: whoever sees it has lost already */
    c->over = true;
}

/* Notifications without an end, four of them in 17 bits. */
static void gzip_notes(struct conn *c, const struct request *r)
{
    static const char event[] = "data: {\"jsonrpc\":\"2.0\",\"method\":"
                                "\"notifications/unheard_of_it\"}\n\n";
    struct bits b = {.c = c};

    (void)r;
    sayf(c, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
            "Content-Encoding: gzip\r\nConnection: close\r\n\r\n");
    say(c, "\037\213\010\0\0\0\0\0\0\003", 10);
    put_bits(&b, 1, 1);
    put_bits(&b, 1, 2);
    put_text(&b, event, 64);
    while (!c->over) {
        put_code(&b, 0xc5, 8); /* 258 bytes, */
        put_code(&b, 11, 5);   /* from 49 .. 64 bytes back: */
        put_bits(&b, 15, 4);   /* 64 */
    }
}

/* ---- answers for nobody, or too many ---- */

static void two_replies(struct conn *c, const struct request *r)
{
    char buf[1024], more[1024];

    json_ok(buf, r, r->id, "fine");
    json_ok(more, r, r->id + (r->sse ? 0 : 1), "smuggled");
    if (r->sse) {
        say_stream(c);
        say_event(c, "", buf);
        say_event(c, "", more);
        say_end(c);
    } else {
        char both[4096];
        snprintf(both, sizeof both,
                 "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
                 "Content-Length: %zu\r\n\r\n%sHTTP/1.1 200 OK\r\n"
                 "Content-Type: application/json\r\nContent-Length: %zu\r\n\r\n%s",
                 strlen(buf), buf, strlen(more), more);
        say(c, both, strlen(both));
    }
}

static void reply_wrong_id(struct conn *c, const struct request *r)
{
    char buf[1024];
    say_message(c, r, json_ok(buf, r, r->id + 1000000, "fine"));
}

static void reply_no_id(struct conn *c, const struct request *r)
{
    say_message(c, r,
                "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32700,"
                "\"message\":\"Parse error\"}}");
}

static void json_then_garbage(struct conn *c, const struct request *r)
{
    char buf[1024], text[1100];

    snprintf(text, sizeof text, "%s and more", json_ok(buf, r, r->id, "fine"));
    say_message(c, r, text);
}

static void json_lines(struct conn *c, const struct request *r)
{
    char buf[1024], text[2048];

    json_ok(buf, r, r->id, "fine");
    snprintf(text, sizeof text, "\n%s\n", buf);
    say_answer(c, "200 OK", "application/json; charset=utf-8", "", text);
}

static void odd_events(struct conn *c, const struct request *r)
{
    char buf[1024], text[2048];

    json_ok(buf, r, r->id, "fine");
    char *comma = strchr(buf, ',');
    snprintf(text, sizeof text,
             "\357\273\277:\r\revent: ping\r\ndata: {}\r\n\r\nretry: soon\nid: a\001b\n"
             "unheard: of\nevent:message\ndata:%.*s\rdata: %s\r\n\r\n",
             (int)(comma - buf), buf, comma);
    say_stream(c);
    for (size_t i = 0; text[i]; i++)
        say_piece(c, text + i, 1);
    say_end(c);
}

/* The type of each event behind its data. */
static void data_first(struct conn *c, const struct request *r)
{
    char buf[1024], text[4096];
    const char *end = strcmp(r->mode, "data-first-crlf") == 0 ? "\r\n" : "\n";

    snprintf(text, sizeof text,
             "data: {\"jsonrpc\":\"2.0\",\"id\":%llu,\"result\":{}}%sevent: ping%s%s"
             "data: never ended: {%sevent: ping%s%s"
             "event: ping%sdata: [%sevent: message%sdata: ]%s%s"
             "data: %s%sevent: message%s%s",
             (unsigned long long)r->id, end, end, end, end, end, end, end, end, end, end,
             end, json_ok(buf, r, r->id, "fine"), end, end, end);
    say_stream(c);
    say_piece(c, text, strlen(text));
    say_end(c);
}

const struct act more_acts[] = {
    {"endless-comments", endless_comments},
    {"endless-notes", endless_notes},
    {"ping-flood", ping_flood},
    {"endless-id", endless_field},
    {"endless-event", endless_field},
    {"endless-body", endless_body},
    {"long-line", long_line},
    {"huge-answer", huge_answer},
    {"gzip-bomb", gzip_bomb},
    {"gzip-notes", gzip_notes},
    {"two-replies", two_replies},
    {"reply-wrong-id", reply_wrong_id},
    {"reply-no-id", reply_no_id},
    {"json-then-garbage", json_then_garbage},
    {"json-lines", json_lines},
    {"odd-events", odd_events},
    {"data-first", data_first},
    {"data-first-crlf", data_first},
    {NULL, NULL},
};
