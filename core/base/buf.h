/* Bytes: `mcplug_buf`, counted and immutable, and `mp_str`, growing up to a
 * maximum given at its start. */
#ifndef MP_BASE_BUF_H
#define MP_BASE_BUF_H

#include <mcplug/plugin.h>

#include "base/shared.h"

#include <stdbool.h>
#include <string.h>

/* ---- mcplug_buf [any] ---- */

mcplug_buf *mp_buf_new(const void *data, size_t len); /* give; copies */
mcplug_buf *mp_buf_ref(mcplug_buf *buf);
void mp_buf_unref(mcplug_buf *buf); /* NULL is fine */
struct mcplug_bytes mp_buf_bytes(const mcplug_buf *buf);

/* ---- mp_str ---- */

struct mp_str {
    char *data; /* NUL behind the last byte once anything was added */
    size_t len, cap, max;
    bool failed; /* an addition did not fit or had no memory; stays set */
};

MP_SHARED void mp_str_init(struct mp_str *s, size_t max);
/* Frees; usable again with the same maximum. */
MP_SHARED void mp_str_clear(struct mp_str *s);
MP_SHARED bool mp_str_reserve(struct mp_str *s, size_t more);

static inline bool mp_str_add(struct mp_str *s, const void *data, size_t len)
{
    if ((s->failed || len >= s->cap - s->len) && !mp_str_reserve(s, len))
        return false;
    if (len)
        memcpy(s->data + s->len, data, len);
    s->len += len;
    s->data[s->len] = '\0';
    return true;
}

/* A string literal. */
#define mp_str_add_lit(s, lit) mp_str_add(s, "" lit, sizeof(lit) - 1)

MP_SHARED bool mp_str_adds(struct mp_str *s, const char *text);
MP_SHARED bool mp_str_addc(struct mp_str *s, char c);
MP_SHARED bool mp_str_addu(struct mp_str *s, uint64_t number);
MP_SHARED bool mp_str_addf(struct mp_str *s, const char *fmt, ...) MCPLUG_PRINTF(2, 3);
/* As a JSON string, quotes included. Bytes that are not UTF-8 become U+FFFD. */
MP_SHARED bool mp_str_add_json(struct mp_str *s, const char *text, size_t len);
/* give; moves the bytes without a copy and leaves `s` empty. NULL when `s` failed
 * or memory ran out; `s` is cleared then too. */
mcplug_buf *mp_str_to_buf(struct mp_str *s);
/* Empties `s` but keeps its memory for the next time. */
MP_SHARED void mp_str_reset(struct mp_str *s);
/* give; a C string, NULL when `s` failed. `s` is left empty. */
MP_SHARED char *mp_str_take(struct mp_str *s);

static inline struct mcplug_bytes mp_bytes(const void *data, size_t len)
{
    struct mcplug_bytes b = {(const unsigned char *)data, len};
    return b;
}

static inline struct mcplug_bytes mp_text(const char *s)
{
    return mp_bytes(s, s ? strlen(s) : 0);
}

static inline bool mp_str_add_bytes(struct mp_str *s, struct mcplug_bytes b)
{
    return mp_str_add(s, b.data, b.len);
}

static inline bool mp_bytes_eq(struct mcplug_bytes b, const char *text)
{
    return b.len == strlen(text) && memcmp(b.data, text, b.len) == 0;
}

#endif
