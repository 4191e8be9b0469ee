#include "base/buf.h"

#include "base/mem.h"
#include "base/text.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>

struct mcplug_buf {
    atomic_uint refs;
    size_t len;
    char *data; /* behind this struct, or `moved` */
    char *moved;
};

mcplug_buf *mp_buf_new(const void *data, size_t len)
{
    mcplug_buf *buf = mp_alloc_raw(sizeof *buf + len + 1);
    if (buf) {
        atomic_init(&buf->refs, 1);
        buf->len = len;
        buf->moved = NULL;
        buf->data = (char *)(buf + 1);
        if (len)
            memcpy(buf->data, data, len);
        buf->data[len] = '\0';
    }
    return buf;
}

mcplug_buf *mp_buf_ref(mcplug_buf *buf)
{
    atomic_fetch_add_explicit(&buf->refs, 1, memory_order_relaxed);
    return buf;
}

void mp_buf_unref(mcplug_buf *buf)
{
    if (buf && atomic_fetch_sub_explicit(&buf->refs, 1, memory_order_acq_rel) == 1) {
        mp_free(buf->moved);
        mp_free(buf);
    }
}

struct mcplug_bytes mp_buf_bytes(const mcplug_buf *buf)
{
    return mp_bytes(buf->data, buf->len);
}

void mp_str_init(struct mp_str *s, size_t max)
{
    memset(s, 0, sizeof *s);
    s->max = max;
}

void mp_str_clear(struct mp_str *s)
{
    mp_free(s->data);
    mp_str_init(s, s->max);
}

void mp_str_reset(struct mp_str *s)
{
    s->len = 0;
    s->failed = false;
}

bool mp_str_reserve(struct mp_str *s, size_t more)
{
    if (s->failed || more > s->max || s->len > s->max - more) {
        s->failed = true;
        return false;
    }
    if (s->len + more + 1 <= s->cap)
        return true;

    size_t cap = s->cap ? s->cap : 128;
    while (cap < s->len + more + 1)
        cap += cap / 2 + 64;
    if (cap > s->max) /* so that what fits is never too long */
        cap = s->max + 1;
    char *data = mp_resize(s->data, cap);
    if (!data) {
        s->failed = true;
        return false;
    }
    s->data = data;
    s->cap = cap;
    return true;
}

bool mp_str_adds(struct mp_str *s, const char *text)
{
    return mp_str_add(s, text, strlen(text));
}

bool mp_str_addc(struct mp_str *s, char c)
{
    return mp_str_add(s, &c, 1);
}

bool mp_str_addu(struct mp_str *s, uint64_t number)
{
    char digits[20];
    size_t at = sizeof digits;
    do
        digits[--at] = (char)('0' + number % 10);
    while (number /= 10);
    return mp_str_add(s, digits + at, sizeof digits - at);
}

bool mp_str_addf(struct mp_str *s, const char *fmt, ...)
{
    va_list ap, again;
    va_start(ap, fmt);
    va_copy(again, ap);
    int n = vsnprintf(NULL, 0, fmt, ap);
    va_end(ap);
    bool ok = n >= 0 && mp_str_reserve(s, (size_t)n);
    if (ok) {
        vsnprintf(s->data + s->len, (size_t)n + 1, fmt, again);
        s->len += (size_t)n;
    }
    va_end(again);
    return ok;
}

bool mp_str_add_json(struct mp_str *s, const char *text, size_t len)
{
    static const char special[] = "\"\\\n\r\t", letters[] = "\"\\nrt";
    const unsigned char *p = (const unsigned char *)text, *end = p + len, *plain = p;

    mp_str_addc(s, '"');
    while (p < end) {
        size_t n = *p >= 0x80 ? mp_utf8_len(p, (size_t)(end - p)) : 1;
        if (n > 1 || (n == 1 && *p >= 0x20 && *p != '"' && *p != '\\')) {
            p += n;
            continue;
        }
        mp_str_add(s, plain, (size_t)(p - plain));
        const char *at = memchr(special, *p, sizeof special - 1);
        if (n == 0)
            mp_str_adds(s, "\xef\xbf\xbd");
        else if (at)
            mp_str_add(s, (char[]){'\\', letters[at - special]}, 2);
        else
            mp_str_addf(s, "\\u%04x", *p);
        plain = ++p;
    }
    mp_str_add(s, plain, (size_t)(p - plain));
    return mp_str_addc(s, '"');
}

mcplug_buf *mp_str_to_buf(struct mp_str *s)
{
    mcplug_buf *buf = s->failed ? NULL : mp_alloc(sizeof *buf);
    if (buf) {
        atomic_init(&buf->refs, 1);
        buf->len = s->len;
        buf->moved = s->data;
        buf->data = s->data;
        s->data = NULL;
    }
    mp_str_clear(s);
    return buf;
}

char *mp_str_take(struct mp_str *s)
{
    char *text = NULL;
    if (!s->failed && mp_str_reserve(s, 0)) {
        s->data[s->len] = '\0';
        text = s->data;
        s->data = NULL;
    }
    mp_str_clear(s);
    return text;
}
