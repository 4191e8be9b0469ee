/* sha1.h - SHA-1 of a short text, for the one place that still wants it: the answer
 * to a WebSocket upgrade, in base64.
 */
#ifndef MCPLUG_BENCH_SHA1_H
#define MCPLUG_BENCH_SHA1_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { SHA1_TEXT_MAX = 119, SHA1_BASE64 = 28 }; /* two blocks; a digest's letters */

static inline uint32_t sha1_roll(uint32_t x, int n)
{
    return x << n | x >> (32 - n);
}

static inline void sha1_block(uint32_t h[5], const unsigned char *p)
{
    uint32_t w[80], a = h[0], b = h[1], c = h[2], d = h[3], e = h[4];

    for (int i = 0; i < 16; i++, p += 4)
        w[i] = (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
    for (int i = 16; i < 80; i++)
        w[i] = sha1_roll(w[i - 3] ^ w[i - 8] ^ w[i - 14] ^ w[i - 16], 1);
    for (int i = 0; i < 80; i++) {
        uint32_t f = i < 20   ? ((b & c) | (~b & d)) + 0x5a827999
                     : i < 40 ? (b ^ c ^ d) + 0x6ed9eba1
                     : i < 60 ? ((b & c) | (b & d) | (c & d)) + 0x8f1bbcdc
                              : (b ^ c ^ d) + 0xca62c1d6;
        uint32_t next = sha1_roll(a, 5) + f + e + w[i];
        e = d;
        d = c;
        c = sha1_roll(b, 30);
        b = a;
        a = next;
    }
    h[0] += a;
    h[1] += b;
    h[2] += c;
    h[3] += d;
    h[4] += e;
}

/* Writes 28 letters and no end. `len` is at most SHA1_TEXT_MAX. */
static inline void sha1_base64(const char *text, size_t len, char *out)
{
    static const char letters[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    uint32_t h[5] = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0};
    unsigned char block[128] = {0}, digest[21] = {0};
    size_t size = len < 56 ? 64 : 128;

    if (len > SHA1_TEXT_MAX)
        abort();
    memcpy(block, text, len);
    block[len] = 0x80;
    block[size - 2] = (unsigned char)(len * 8 >> 8);
    block[size - 1] = (unsigned char)(len * 8);
    for (size_t at = 0; at < size; at += 64)
        sha1_block(h, block + at);
    for (int i = 0; i < 20; i++)
        digest[i] = (unsigned char)(h[i / 4] >> (24 - i % 4 * 8));
    for (int i = 0; i < 21; i += 3) {
        uint32_t three =
            (uint32_t)digest[i] << 16 | (uint32_t)digest[i + 1] << 8 | digest[i + 2];
        for (int n = 0; n < 4; n++)
            *out++ = letters[three >> (18 - n * 6) & 63];
    }
    out[-1] = '='; /* 20 bytes are one short of seven threes */
}

#endif
