#include "content/base64.h"

static int value_of(unsigned char c)
{
    if (c >= 'A' && c <= 'Z')
        return c - 'A';
    if (c >= 'a' && c <= 'z')
        return c - 'a' + 26;
    if (c >= '0' && c <= '9')
        return c - '0' + 52;
    if (c == '+' || c == '-')
        return 62;
    return c == '/' || c == '_' ? 63 : -1;
}

size_t mp_base64_feed(struct mp_base64 *b, const char *in, size_t len, char *out)
{
    size_t put = 0;
    for (size_t i = 0; i < len && !b->malformed; i++) {
        unsigned char c = (unsigned char)in[i];
        if (c == '\n' || c == '\r' || c == ' ' || c == '\t')
            continue;
        if (c == '=') {
            b->ended = true;
            continue;
        }
        int v = value_of(c);
        if (v < 0 || b->ended) {
            b->malformed = true;
            break;
        }
        b->bits = b->bits << 6 | (uint32_t)v;
        b->n_bits += 6;
        if (b->n_bits >= 8) {
            b->n_bits -= 8;
            out[put++] = (char)(b->bits >> b->n_bits & 0xff);
        }
    }
    b->size += put;
    return put;
}
