#include "content/base64.h"

#include <endian.h>
#include <string.h>

#define NONE 0x80 /* a bit that no value has */

/* clang-format off */
/* Of both alphabets. */
static const unsigned char values[256] = {
    [0 ... '*'] = NONE,
    ['+'] = 62, [','] = NONE, ['-'] = 62, ['.'] = NONE, ['/'] = 63,
    ['0'] = 52, 53, 54, 55, 56, 57, 58, 59, 60, 61,
    [':' ... '@'] = NONE,
    ['A'] = 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12,
    13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25,
    ['[' ... '^'] = NONE, ['_'] = 63, ['`'] = NONE,
    ['a'] = 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38,
    39, 40, 41, 42, 43, 44, 45, 46, 47, 48, 49, 50, 51,
    ['{' ... 255] = NONE,
};
/* clang-format on */

/* Four characters as the upper 24 bits; NONE in `*seen` if one of them is no value. */
static inline uint32_t group(const unsigned char *p, unsigned *seen)
{
    unsigned a = values[p[0]], b = values[p[1]], c = values[p[2]], d = values[p[3]];

    *seen |= a | b | c | d;
    return a << 26 | b << 20 | c << 14 | d << 8;
}

/* Two groups at a time while there is nothing else; returns how many characters. `out`
 * has room for as much as is read, so two bytes more than these groups have can be
 * written. */
static size_t feed_groups(const unsigned char *in, size_t len, char *out)
{
    size_t i = 0;

    for (; len - i >= 8; i += 8, out += 6) {
        unsigned seen = 0;
        uint64_t high = group(in + i, &seen), low = group(in + i + 4, &seen);
        if (seen & NONE)
            break;
        uint64_t bytes = htobe64(high << 32 | low << 8);
        memcpy(out, &bytes, sizeof bytes);
    }
    return i;
}

size_t mp_base64_feed(struct mp_base64 *b, const char *in, size_t len, char *out)
{
    const unsigned char *p = (const unsigned char *)in;
    size_t put = 0;

    for (size_t i = 0; i < len && !b->malformed; i++) {
        if (b->n_bits == 0 && !b->ended) {
            size_t n = feed_groups(p + i, len - i, out + put);
            put += n / 4 * 3;
            i += n;
            if (i == len)
                break;
        }
        unsigned char c = p[i];
        if (c == '\n' || c == '\r' || c == ' ' || c == '\t')
            continue;
        if (c == '=') {
            b->ended = true;
            continue;
        }
        if (values[c] == NONE || b->ended) {
            b->malformed = true;
            break;
        }
        b->bits = b->bits << 6 | values[c];
        b->n_bits += 6;
        if (b->n_bits >= 8) {
            b->n_bits -= 8;
            out[put++] = (char)(b->bits >> b->n_bits & 0xff);
        }
    }
    b->size += put;
    return put;
}
