#include "json/walk.h"

#include "base/buf.h"
#include "base/text.h"
#include "json/skip.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static const mp_view nothing;

/* ---- over values ---- */

/* Brackets and quotes; what else there is does not matter when looking for the end
 * of an array or object. */
static const unsigned char *find_mark(const unsigned char *p, const unsigned char *end)
{
#ifdef __SSE2__
    const __m128i quote = _mm_set1_epi8('"'), fold = _mm_set1_epi8(0x20);
    const __m128i opening = _mm_set1_epi8('{'), closing = _mm_set1_epi8('}');
    while (end - p >= 16) {
        __m128i v = _mm_loadu_si128((const __m128i *)(const void *)p);
        __m128i folded = _mm_or_si128(v, fold); /* '[' and ']' become '{' and '}' */
        __m128i mark = _mm_or_si128(_mm_cmpeq_epi8(v, quote),
                                    _mm_or_si128(_mm_cmpeq_epi8(folded, opening),
                                                 _mm_cmpeq_epi8(folded, closing)));
        unsigned mask = (unsigned)_mm_movemask_epi8(mark);
        if (mask)
            return p + __builtin_ctz(mask);
        p += 16;
    }
#endif
    while (p < end && *p != '"' && (*p | 0x20) != '{' && (*p | 0x20) != '}')
        p++;
    return p;
}

static const unsigned char *skip_container(const unsigned char *p,
                                           const unsigned char *end)
{
    size_t depth = 0;

    while ((p = find_mark(p, end)) < end) {
        if (*p == '"') {
            p = mp_skip_string(p, end);
            continue;
        }
        if ((*p++ | 0x20) == '{')
            depth++;
        else if (--depth == 0)
            return p;
    }
    return end;
}

static bool ends_scalar(unsigned char c)
{
    return c == ',' || c == ']' || c == '}' || c == ':' || mp_is_space(c);
}

static const unsigned char *skip_value(const unsigned char *p, const unsigned char *end)
{
    if (*p == '"')
        return mp_skip_string(p, end);
    if (*p == '{' || *p == '[')
        return skip_container(p, end);
    while (p < end && !ends_scalar(*p))
        p++;
    return p;
}

static bool starts_with(mp_view v, char c)
{
    return v.len && v.data[0] == (unsigned char)c;
}

mp_view mp_view_trim(mp_view text)
{
    while (text.len && mp_is_space(text.data[0]))
        text.data++, text.len--;
    while (text.len && mp_is_space(text.data[text.len - 1]))
        text.len--;
    return text;
}

struct mp_walk mp_walk_into(mp_view container)
{
    struct mp_walk w = {NULL, NULL};
    if (container.len >= 2 &&
        (starts_with(container, '{') || starts_with(container, '['))) {
        w.p = container.data + 1;
        w.end = container.data + container.len - 1; /* without the closing bracket */
    }
    return w;
}

/* To the next key or element, past a comma. */
static bool next(struct mp_walk *w)
{
    w->p = mp_skip_space(w->p, w->end);
    if (w->p < w->end && *w->p == ',')
        w->p = mp_skip_space(w->p + 1, w->end);
    return w->p < w->end;
}

static bool stop(struct mp_walk *w)
{
    w->p = w->end;
    return false;
}

bool mp_walk_member(struct mp_walk *w, mp_view *key, mp_view *value)
{
    if (!next(w) || *w->p != '"')
        return stop(w);
    const unsigned char *behind_key = mp_skip_string(w->p, w->end);
    const unsigned char *p = mp_skip_space(behind_key, w->end);
    if (p == w->end || *p != ':')
        return stop(w);
    p = mp_skip_space(p + 1, w->end);
    const unsigned char *behind = p < w->end ? skip_value(p, w->end) : p;
    if (behind == p)
        return stop(w);
    *key = mp_bytes(w->p, (size_t)(behind_key - w->p));
    *value = mp_bytes(p, (size_t)(behind - p));
    w->p = behind;
    return true;
}

bool mp_walk_element(struct mp_walk *w, mp_view *value)
{
    if (!next(w))
        return false;
    const unsigned char *behind = skip_value(w->p, w->end);
    const unsigned char *p = mp_skip_space(behind, w->end);
    if (behind == w->p || (p < w->end && *p == ':')) /* that was a member's key */
        return stop(w);
    *value = mp_bytes(w->p, (size_t)(behind - w->p));
    w->p = p;
    return true;
}

size_t mp_view_count(mp_view container)
{
    struct mp_walk w = mp_walk_into(container);
    mp_view key, value;
    size_t n = 0;

    if (starts_with(container, '{'))
        while (mp_walk_member(&w, &key, &value))
            n++;
    else
        while (mp_walk_element(&w, &value))
            n++;
    return n;
}

/* ---- asking ---- */

bool mp_raw_equals(const char *raw, size_t left, const char *text, size_t len)
{
    char out[4 + 3 * 64];

    if (!memchr(raw, '\\', left))
        return left == len && memcmp(raw, text, len) == 0;

    struct mp_unescape u = {0, 0, {0}};
    while (left) {
        size_t n = left < 64 ? left : 64;
        size_t put = mp_unescape_feed(&u, raw, n, out);
        if (put > len || memcmp(out, text, put) != 0)
            return false;
        text += put;
        len -= put;
        raw += n;
        left -= n;
    }
    size_t put = mp_unescape_end(&u, out);
    return put == len && memcmp(out, text, put) == 0;
}

static bool key_is(mp_view key, const char *name, size_t len)
{
    return mp_raw_equals((const char *)key.data + 1, key.len >= 2 ? key.len - 2 : 0, name,
                         len);
}

static mp_view get(mp_view object, const char *name, size_t len)
{
    struct mp_walk w = mp_walk_into(object);
    mp_view key, value;

    while (mp_walk_member(&w, &key, &value))
        if (key_is(key, name, len))
            return value;
    return nothing;
}

mp_view mp_view_get(mp_view object, const char *name)
{
    return get(object, name, strlen(name));
}

mp_view mp_view_path(mp_view object, const char *path)
{
    for (;;) {
        size_t len = strcspn(path, "/");
        object = get(object, path, len);
        if (object.len == 0 || path[len] == '\0')
            return object;
        path += len + 1;
    }
}

bool mp_view_is_object(mp_view v)
{
    return starts_with(v, '{');
}

bool mp_view_is_array(mp_view v)
{
    return starts_with(v, '[');
}

bool mp_view_is_string(mp_view v)
{
    return v.len >= 2 && starts_with(v, '"');
}

bool mp_view_is_null(mp_view v)
{
    return mp_bytes_eq(v, "null");
}

bool mp_view_same(mp_view a, mp_view b)
{
    struct mp_str x, y;

    if (a.len == b.len && memcmp(a.data, b.data, a.len) == 0)
        return true;
    if (!memchr(a.data, '\\', a.len) && !memchr(b.data, '\\', b.len))
        return false;
    mp_str_init(&x, a.len);
    mp_str_init(&y, b.len);
    bool same = mp_str_add_view(&x, a) && mp_str_add_view(&y, b) && x.len == y.len &&
                memcmp(x.data, y.data, x.len) == 0;
    mp_str_clear(&x);
    mp_str_clear(&y);
    return same;
}

bool mp_view_true(mp_view v)
{
    return mp_bytes_eq(v, "true");
}

bool mp_view_equals(mp_view string, const char *text)
{
    return mp_view_is_string(string) && key_is(string, text, strlen(text));
}

/* ---- strings ---- */

bool mp_str_add_view(struct mp_str *s, mp_view string)
{
    enum { STEP = 512 };
    char out[4 + 3 * STEP];
    struct mp_unescape u = {0, 0, {0}};

    if (!mp_view_is_string(string))
        return !s->failed;
    const char *p = (const char *)string.data + 1;
    size_t left = string.len - 2;
    if (!memchr(p, '\\', left))
        return mp_str_add(s, p, left);
    while (left) {
        size_t n = left < STEP ? left : STEP;
        if (!mp_str_add(s, out, mp_unescape_feed(&u, p, n, out)))
            return false;
        p += n;
        left -= n;
    }
    return mp_str_add(s, out, mp_unescape_end(&u, out));
}

char *mp_view_strdup(mp_view string)
{
    struct mp_str s;

    if (!mp_view_is_string(string))
        return NULL;
    mp_str_init(&s, string.len);
    mp_str_add_view(&s, string);
    return mp_str_take(&s);
}

/* ---- unescaping ---- */

/* A surrogate that found no other half: mp_utf8_put makes it U+FFFD. */
static char *put_left_over(struct mp_unescape *u, char *out)
{
    if (u->high)
        out += mp_utf8_put(u->high, out);
    u->high = 0;
    return out;
}

/* `held` has a whole escape. */
static char *put_escape(struct mp_unescape *u, char *out)
{
    static const char names[] = "bfnrt", bytes[] = "\b\f\n\r\t";
    uint32_t unit = 0;

    u->n = 0;
    if (u->held[1] != 'u') {
        const char *name = memchr(names, u->held[1], sizeof names - 1);
        out = put_left_over(u, out);
        *out++ = name ? bytes[name - names] : u->held[1];
        return out;
    }
    for (int i = 2; i < 6; i++)
        unit = unit << 4 | ((uint32_t)mp_hex_value(u->held[i]) & 0xf);
    if (u->high && unit >= 0xdc00 && unit < 0xe000) {
        unit = 0x10000 + ((uint32_t)(u->high - 0xd800) << 10) + (unit - 0xdc00);
        u->high = 0;
    }
    out = put_left_over(u, out);
    if (unit >= 0xd800 && unit < 0xdc00)
        u->high = (uint16_t)unit;
    else
        out += mp_utf8_put(unit, out);
    return out;
}

size_t mp_unescape_feed(struct mp_unescape *u, const char *in, size_t len, char *out)
{
    const char *end = in + len;
    char *start = out;

    while (in < end) {
        if (u->n == 0 && *in != '\\') {
            const char *stop = memchr(in, '\\', (size_t)(end - in));
            size_t plain = (size_t)((stop ? stop : end) - in);
            out = put_left_over(u, out);
            memcpy(out, in, plain);
            out += plain;
            in += plain;
            continue;
        }
        u->held[u->n++] = *in++;
        if (u->n > 1 && (u->held[1] != 'u' || u->n == sizeof u->held))
            out = put_escape(u, out);
    }
    return (size_t)(out - start);
}

size_t mp_unescape_end(struct mp_unescape *u, char *out)
{
    char *end = put_left_over(u, out);
    u->n = 0;
    return (size_t)(end - out);
}

/* ---- numbers ---- */

static bool is_digit(unsigned char c)
{
    return c >= '0' && c <= '9';
}

bool mp_view_int(mp_view v, int64_t *out)
{
    if (v.len == 0)
        return false;
    const unsigned char *p = v.data, *end = p + v.len;
    bool negative = *p == '-';
    int64_t n = 0;

    p += negative;
    if (p == end)
        return false;
    for (; p < end; p++) {
        int digit = *p - '0';
        if (!is_digit(*p) || __builtin_mul_overflow(n, 10, &n) ||
            __builtin_sub_overflow(n, digit, &n)) /* downwards, for INT64_MIN */
            return false;
    }
    if (!negative && n == INT64_MIN)
        return false;
    *out = negative ? n : -n;
    return true;
}

/* More digits than any double, or halfway between two, needs to be told apart. */
enum { DIGITS_MAX = 800 };

/* A number taken apart: its digits without leading zeros, and the power of ten that
 * the last one counts. */
struct decimal {
    char digits[DIGITS_MAX];
    size_t n;
    int64_t exponent;
};

static void add_digit(struct decimal *d, unsigned char c)
{
    if (d->n == 0 && c == '0')
        return;
    if (d->n < DIGITS_MAX) {
        d->digits[d->n++] = (char)c;
        return;
    }
    if (c != '0') /* enough to be above halfway, where it was on it */
        d->digits[DIGITS_MAX - 1] |= 1;
    d->exponent++;
}

static int64_t read_exponent(const unsigned char *p, const unsigned char *end)
{
    bool negative = p < end && *p == '-';
    int64_t n = 0;

    if (p < end && (*p == '-' || *p == '+'))
        p++;
    for (; p < end && is_digit(*p); p++)
        if (n < INT64_MAX / 100)
            n = n * 10 + (*p - '0');
    return negative ? -n : n;
}

bool mp_view_double(mp_view v, double *out)
{
    if (v.len == 0)
        return false;
    const unsigned char *p = v.data, *end = p + v.len;
    bool negative = *p == '-';
    struct decimal d;
    d.n = 0;
    d.exponent = 0;

    p += negative;
    if (p == end || !is_digit(*p))
        return false;
    for (; p < end && is_digit(*p); p++)
        add_digit(&d, *p);
    if (p < end && *p == '.')
        for (p++; p < end && is_digit(*p); p++) {
            d.exponent--;
            add_digit(&d, *p);
        }
    if (p < end && (*p | 0x20) == 'e')
        d.exponent += read_exponent(p + 1, end);

    /* Written without a point, it means the same in every locale. */
    char text[DIGITS_MAX + 32];
    long power = d.exponent > 99999    ? 99999
                 : d.exponent < -99999 ? -99999
                                       : (long)d.exponent;
    snprintf(text, sizeof text, "%.*se%ld", d.n ? (int)d.n : 1, d.n ? d.digits : "0",
             power);
    double value = strtod(text, NULL);
    if (!isfinite(value))
        return false;
    *out = negative ? -value : value;
    return true;
}
