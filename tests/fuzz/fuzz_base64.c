/* Base64: fed in any pieces, it gives what a plain decoder gives for the whole, and
 * nothing is written behind the room that was promised. */
#include "content/base64.h"
#include "must.h"

#include <string.h>

#define ROOM 4096

struct plain {
    unsigned char out[ROOM];
    size_t size;
    bool malformed;
};

static int value_of(uint8_t c)
{
    static const char usual[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const char *at = strchr(usual, c == '-' ? '+' : c == '_' ? '/' : c);

    return c && at ? (int)(at - usual) : -1;
}

/* Bit by bit, into a row of bits. */
static void decode(const uint8_t *data, size_t size, struct plain *p)
{
    size_t bits = 0;
    bool ended = false;

    memset(p, 0, sizeof *p);
    for (size_t i = 0; i < size && !p->malformed; i++) {
        int v = value_of(data[i]);
        if (data[i] && strchr(" \t\r\n", data[i]))
            continue;
        if (data[i] == '=')
            ended = true;
        else if (v < 0 || ended)
            p->malformed = true;
        else
            for (int bit = 5; bit >= 0; bit--, bits++)
                p->out[bits / 8] |= (unsigned char)((v >> bit & 1) << (7 - bits % 8));
    }
    p->size = bits / 8;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct plain want;
    struct mp_base64 b = {0};
    unsigned char out[ROOM];
    size_t put = 0;

    if (size < 2 || size > ROOM)
        return 0;
    /* the first bytes say how long the pieces are: two lengths in turns, 0: the rest */
    size_t steps[] = {data[0] % 64u, data[1] % 64u};
    data += 2;
    size -= 2;
    decode(data, size, &want);
    for (size_t at = 0, turn = 0; at < size; turn++) {
        size_t len = steps[turn % 2];
        if (len == 0 || len > size - at)
            len = size - at;
        char *in = malloc(len), *piece = malloc(len); /* no byte more than there is */
        MUST(in && piece);
        memcpy(in, data + at, len);
        size_t n = mp_base64_feed(&b, in, len, piece);
        MUST(n <= len && put + n <= sizeof out);
        memcpy(out + put, piece, n);
        put += n;
        at += len;
        free(in);
        free(piece);
    }
    MUST(b.malformed == want.malformed);
    MUST(b.size == put && put == want.size);
    MUST(memcmp(out, want.out, put) == 0);
    return 0;
}
