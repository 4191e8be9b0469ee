#include "base/text.h"
#include "json/walk.h"

#include <string.h>

static bool is_high(uint32_t unit)
{
    return unit >= 0xd800 && unit < 0xdc00;
}

static bool is_low(uint32_t unit)
{
    return unit >= 0xdc00 && unit < 0xe000;
}

/* A surrogate that found no other half: mp_utf8_put makes it U+FFFD. */
static char *put_left_over(struct mp_unescape *u, char *out)
{
    if (u->high)
        out += mp_utf8_put(u->high, out);
    u->high = 0;
    return out;
}

static uint32_t hex_value(char c)
{
    return (uint32_t)(c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10) & 0xf;
}

static char *put_unit(struct mp_unescape *u, uint32_t unit, char *out)
{
    if (u->high && is_low(unit)) {
        unit = 0x10000 + ((uint32_t)(u->high - 0xd800) << 10) + (unit - 0xdc00);
        u->high = 0;
    }
    out = put_left_over(u, out);
    if (is_high(unit))
        u->high = (uint16_t)unit;
    else
        out += mp_utf8_put(unit, out);
    return out;
}

/* `held` has a whole escape. */
static char *put_escape(struct mp_unescape *u, char *out)
{
    static const char names[] = "bfnrt", bytes[] = "\b\f\n\r\t";

    u->n = 0;
    if (u->held[1] == 'u') {
        uint32_t unit = 0;
        for (int i = 2; i < 6; i++)
            unit = unit << 4 | hex_value(u->held[i]);
        return put_unit(u, unit, out);
    }
    const char *name = memchr(names, u->held[1], sizeof names - 1);
    out = put_left_over(u, out);
    *out++ = name ? bytes[name - names] : u->held[1];
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
