#include "plain.h"

#include <stdio.h>
#include <string.h>

size_t plain_text_max(const struct mcplug_limits *limits)
{
    uint64_t max = limits ? limits->max_bytes : 0;
    return max > 0 && max < PLAIN_TEXT_MAX ? max : PLAIN_TEXT_MAX;
}

void plain_text_add(struct plain_text *t, const char *data, size_t len)
{
    if (t->full || t->nomem || len == 0)
        return;
    if (len > t->max - t->len) { /* whole characters of UTF-8 */
        t->full = true;
        for (len = t->max - t->len; len > 0 && (data[len] & 0xc0) == 0x80; len--)
            ;
        if (len == 0)
            return;
    }
    if (len > t->size - t->len) {
        size_t size = t->size < 512 ? 1024 : t->size * 2;
        while (size < t->len + len)
            size *= 2;
        char *more = t->mem->resize(t->data, size);
        if (!more) {
            t->nomem = true;
            return;
        }
        t->data = more;
        t->size = size;
    }
    memcpy(t->data + t->len, data, len);
    t->len += len;
}

void plain_text_cut(struct plain_text *t)
{
    char notice[96];
    size_t n =
        (size_t)snprintf(notice, sizeof notice,
                         "\n[The rest is left out: %zu bytes are allowed.]\n", t->max);
    if (n * 2 > t->max)
        return;
    size_t room = t->max - n, len = room < t->len ? room : t->len;
    const char *line = len > 0 ? memrchr(t->data, '\n', len) : NULL;
    if (line && (size_t)(line - t->data) > len / 2)
        len = (size_t)(line - t->data);
    while (len > 0 && len < t->len && (t->data[len] & 0xc0) == 0x80)
        len--;
    t->len = len;
    t->full = false;
    plain_text_add(t, notice, n);
    t->full = true;
}

void plain_text_clear(struct plain_text *t)
{
    t->mem->free(t->data);
    t->data = NULL;
    t->len = t->size = 0;
    t->full = t->nomem = false;
}
