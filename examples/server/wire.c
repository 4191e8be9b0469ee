/* wire.c - bytes in and out of one client, never waiting for it. */
#include "server.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

enum { READ_SIZE = 64 << 10, PIECE_SIZE = 64 << 10 };

/* The text of `big` is lines of 79 x and a newline, which JSON writes as two
 * characters: 80 bytes of text are 81 on the wire. */
enum { TEXT_LINE = 80, WIRE_LINE = 81, PATTERN_LINES = 800 };

void *must(void *allocated)
{
    if (!allocated) {
        fputs(SERVER_NAME ": out of memory\n", stderr);
        abort();
    }
    return allocated;
}

void peer_init(struct peer *p, struct world *world, int in, int out)
{
    *p = (struct peer){.world = world, .in = in, .out = out, .log_level = LEVEL_INFO};
    p->watched = must(json_object());
}

void peer_clear(struct peer *p)
{
    calls_clear(p);
    listens_clear(p);
    json_decref(p->watched);
    json_decref(p->caps);
    while (p->first) {
        struct piece *gone = p->first;
        p->first = gone->next;
        free(gone->data);
        free(gone);
    }
    free(p->text);
}

void peer_fill(struct peer *p)
{
    if (p->start) {
        memmove(p->text, p->text + p->start, p->have - p->start);
        p->have -= p->start;
        p->seen -= p->start;
        p->start = 0;
    }
    if (p->room - p->have < READ_SIZE) {
        p->room = p->room * 2 + READ_SIZE;
        p->text = must(realloc(p->text, p->room));
    }
    ssize_t n = read(p->in, p->text + p->have, p->room - p->have);
    if (n > 0)
        p->have += (size_t)n;
    else if (n == 0 || (errno != EAGAIN && errno != EINTR))
        p->eof = true;
}

const char *peer_line(struct peer *p, size_t *len)
{
    if (p->seen == p->have)
        return NULL;
    char *line = p->text + p->start;
    char *end = memchr(p->text + p->seen, '\n', p->have - p->seen);
    if (!end) {
        if (p->have - p->start > LINE_LIMIT) {
            p->skipping = true;
            p->start = p->have;
        }
        p->seen = p->have;
        return NULL;
    }
    *len = p->skipping ? SIZE_MAX : (size_t)(end - line);
    p->skipping = false;
    p->start = p->seen = (size_t)(end - p->text) + 1;
    return line;
}

static const char *pattern(void)
{
    static char text[WIRE_LINE * PATTERN_LINES];

    if (!text[0]) {
        memset(text, 'x', sizeof text);
        for (size_t i = WIRE_LINE; i <= sizeof text; i += WIRE_LINE)
            memcpy(text + i - 2, "\\n", 2);
    }
    return text;
}

/* The next bytes of a piece that lie together. */
static struct iovec rest_of(const struct piece *piece)
{
    uint64_t left = piece->len - piece->sent;
    struct iovec v = {.iov_len = (size_t)left};

    if (piece->data) {
        v.iov_base = piece->data + piece->sent;
    } else {
        size_t phase = piece->sent % WIRE_LINE;
        size_t most = (size_t)WIRE_LINE * PATTERN_LINES - phase;
        v.iov_base = (char *)pattern() + phase;
        v.iov_len = left < most ? (size_t)left : most;
    }
    return v;
}

static void drop_sent(struct peer *p)
{
    while (p->first && p->first->sent == p->first->len) {
        struct piece *gone = p->first;
        p->first = gone->next;
        if (!p->first)
            p->last = NULL;
        free(gone->data);
        free(gone);
    }
}

int peer_flush(struct peer *p)
{
    while (p->first) {
        struct iovec v = rest_of(p->first);
        ssize_t n = write(p->out, v.iov_base, v.iov_len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return errno == EAGAIN ? 0 : -1;
        p->first->sent += (uint64_t)n;
        p->backlog -= (uint64_t)n;
        drop_sent(p);
    }
    return 0;
}

static struct piece *piece_add(struct peer *p)
{
    struct piece *piece = must(calloc(1, sizeof *piece));
    if (p->last)
        p->last->next = piece;
    else
        p->first = piece;
    p->last = piece;
    return piece;
}

void peer_put(struct peer *p, const char *data, size_t len)
{
    struct piece *piece = p->last;
    if (len == 0)
        return;
    if (!piece || !piece->data || piece->len > PIECE_SIZE)
        piece = piece_add(p);
    if (piece->room - piece->len < len) {
        piece->room = (size_t)piece->len + len + 4096;
        piece->data = must(realloc(piece->data, piece->room));
    }
    memcpy(piece->data + piece->len, data, len);
    piece->len += len;
    p->backlog += len;
}

void peer_put_pattern(struct peer *p, uint64_t text_bytes)
{
    uint64_t len = text_bytes / TEXT_LINE * WIRE_LINE + text_bytes % TEXT_LINE;
    if (len == 0)
        return;
    piece_add(p)->len = len;
    p->backlog += len;
}

static int put_dumped(const char *data, size_t len, void *peer)
{
    peer_put(peer, data, len);
    return 0;
}

void peer_put_json(struct peer *p, json_t *message)
{
    json_dump_callback(message, put_dumped, p, JSON_COMPACT);
    peer_put(p, "\n", 1);
    json_decref(message);
}
