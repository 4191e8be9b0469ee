/* Bytes as Base64, in the usual alphabet and with padding. */
#ifndef COMMON_BASE64_H
#define COMMON_BASE64_H

#include <stddef.h>
#include <stdint.h>

/* `out` needs room for 4 bytes of every 3, begun ones included. Returns how many were
 * put; there is no NUL behind them. */
static inline size_t base64_encode(const unsigned char *in, size_t len, char *out)
{
    static const char digits[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    size_t n = 0;

    for (size_t i = 0; i < len; i += 3) {
        size_t left = len - i;
        uint32_t bits = (uint32_t)in[i] << 16;
        if (left > 1)
            bits |= (uint32_t)in[i + 1] << 8;
        if (left > 2)
            bits |= in[i + 2];
        out[n++] = digits[bits >> 18];
        out[n++] = digits[bits >> 12 & 63];
        out[n++] = left > 1 ? digits[bits >> 6 & 63] : '=';
        out[n++] = left > 2 ? digits[bits & 63] : '=';
    }
    return n;
}

#endif
