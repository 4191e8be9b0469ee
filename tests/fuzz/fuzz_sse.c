/* Event streams: for any bytes in any pieces, the events that come out are those of a
 * plain reader that has the whole stream. */
#include "../../plugins/common/sse.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SIZE_LIMIT = 20000 };

/* Events, one after the other, as bytes that can be compared. */
struct record {
    unsigned char bytes[1 << 23];
    size_t len;
    unsigned char data[1 << 16]; /* of the event that is not over */
    size_t n_data;
};

static struct record got, want;

static void add(struct record *r, const void *bytes, size_t len)
{
    if (len > sizeof r->bytes - r->len)
        abort();
    memcpy(r->bytes + r->len, bytes, len);
    r->len += len;
}

static void add_data(struct record *r, const void *bytes, size_t len)
{
    if (len > sizeof r->data - r->n_data)
        abort();
    memcpy(r->data + r->n_data, bytes, len);
    r->n_data += len;
}

static void end_event(struct record *r, const char *type, const char *id, int64_t retry)
{
    add(r, type, strlen(type) + 1);
    add(r, &r->n_data, sizeof r->n_data);
    add(r, r->data, r->n_data);
    add(r, id, strlen(id) + 1);
    add(r, &retry, sizeof retry);
    r->n_data = 0;
}

/* ---- the module's ---- */

static struct sse_in in;

static void on_data(void *arg, const char *type, struct mcplug_bytes piece)
{
    if (arg != &got || strlen(type) >= SSE_TYPE_MAX || piece.len == 0 ||
        memchr(piece.data, '\r', piece.len) ||
        (piece.len > 1 && memchr(piece.data, '\n', piece.len)))
        abort();
    add_data(&got, piece.data, piece.len);
}

static void on_event(void *arg, const char *type, int has_data)
{
    if (arg != &got || has_data != (got.n_data > 0))
        abort();
    end_event(&got, type, in.id, in.retry_ms);
}

/* ---- the plain one ---- */

struct plain {
    char type[SSE_TYPE_MAX], id[SSE_ID_MAX], next_id[SSE_ID_MAX];
    int64_t retry;
    int any, lines;
};

static int is(const unsigned char *name, size_t len, const char *wanted)
{
    return len == strlen(wanted) && !memcmp(name, wanted, len);
}

static void plain_retry(struct plain *p, const unsigned char *value, size_t len)
{
    double number = 0;
    for (size_t i = 0; i < len; i++) {
        if (!strchr("0123456789", value[i]) || !value[i])
            return;
        number = number * 10 + (value[i] - '0');
    }
    if (len)
        p->retry = number > 86400000 ? 86400000 : (int64_t)number;
}

static void plain_field(struct plain *p, const unsigned char *line, size_t len, int whole)
{
    const unsigned char *colon = memchr(line, ':', len);
    size_t name = colon ? (size_t)(colon - line) : len;
    const unsigned char *value = colon ? colon + 1 : line + len;
    size_t n = (size_t)(line + len - value);
    if (n && *value == ' ') {
        value++;
        n--;
    }
    if (is(line, name, "data")) {
        if (!whole && !colon)
            return;
        if (p->lines++)
            add_data(&want, "\n", 1);
        add_data(&want, value, n);
        p->any = 1;
    }
    if (!whole)
        return;
    if (is(line, name, "event")) {
        size_t kept = n < SSE_TYPE_MAX ? n : SSE_TYPE_MAX - 1;
        memset(p->type, 0, sizeof p->type);
        for (size_t i = 0; i < kept; i++)
            p->type[i] = value[i] ? (char)value[i] : '?';
        p->any = 1;
    } else if (is(line, name, "id")) {
        if (!memchr(value, 0, n)) {
            memset(p->next_id, 0, sizeof p->next_id);
            memcpy(p->next_id, value, n < SSE_ID_MAX ? n : 0);
        }
        p->any = 1;
    } else if (is(line, name, "retry")) {
        plain_retry(p, value, n);
        p->any = 1;
    }
}

static void plain_read(struct plain *p, const uint8_t *bytes, size_t size)
{
    static unsigned char text[SIZE_LIMIT];
    size_t len = 0;
    memset(p, 0, sizeof *p);
    p->retry = -1;
    if (size >= 3 && !memcmp(bytes, "\xef\xbb\xbf", 3)) {
        bytes += 3;
        size -= 3;
    }
    for (size_t i = 0; i < size; i++) /* every line end becomes LF */
        if (bytes[i] == '\r')
            text[len++] = '\n';
        else if (bytes[i] != '\n' || i == 0 || bytes[i - 1] != '\r')
            text[len++] = bytes[i];

    size_t start = 0;
    for (size_t i = 0; i < len; i++) {
        if (text[i] != '\n')
            continue;
        if (i > start) {
            plain_field(p, text + start, i - start, 1);
        } else if (p->any) {
            memcpy(p->id, p->next_id, sizeof p->id);
            end_event(&want, p->type, p->id, p->retry);
            memset(p->type, 0, sizeof p->type);
            p->any = p->lines = 0;
        }
        start = i + 1;
    }
    /* The last line has no end: nothing but data counts, which is handed on at once. */
    plain_field(p, text + start, len - start, 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct plain p;
    if (size < 1 || data[0] + 1u > size || size > SIZE_LIMIT)
        return 0;
    const uint8_t *cuts = data + 1, *text = cuts + data[0];
    size_t len = size - 1 - data[0];

    want.len = want.n_data = got.len = got.n_data = 0;
    plain_read(&p, text, len);
    sse_in_init(&in, on_data, on_event, &got);
    unsigned char *room = malloc(8); /* pieces end where it ends, so that ASan sees it */
    if (!room)
        abort();
    for (size_t at = 0, i = 0; at < len;) {
        size_t step = len;
        if (data[0]) /* 0: an empty piece, but not for ever */
            step = i > 2 * len ? 1 : cuts[i % data[0]] % 9u;
        i++;
        if (step > len - at)
            step = len - at;
        if (step <= 8)
            memcpy(room + 8 - step, text + at, step);
        sse_in_feed(&in, step <= 8 ? room + 8 - step : text + at, step);
        at += step;
    }
    free(room);
    int had_data = got.n_data > 0;
    if (got.len != want.len || memcmp(got.bytes, want.bytes, got.len) ||
        got.n_data != want.n_data || memcmp(got.data, want.data, got.n_data) ||
        strcmp(in.id, p.id) || in.retry_ms != p.retry) {
        fprintf(stderr, "%zu and %zu bytes out, %zu and %zu wanted\n", got.len,
                got.n_data, want.len, want.n_data);
        abort();
    }
    if (sse_in_restart(&in) != had_data || sse_in_restart(&in) != 0)
        abort();
    return 0;
}
