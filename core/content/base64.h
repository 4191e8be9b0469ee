/* Base64 of a blob, decoded as its pieces come. */
#ifndef MP_CONTENT_BASE64_H
#define MP_CONTENT_BASE64_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct mp_base64 {
    uint32_t bits;
    unsigned n_bits;
    bool ended;     /* padding was seen */
    bool malformed; /* a byte that is not Base64, or more of it behind the padding */
    uint64_t size;  /* bytes decoded so far */
};

/* Takes the usual alphabet, the URL one, white space and missing padding. `out` needs
 * room for `len` bytes. Returns how many were put. */
size_t mp_base64_feed(struct mp_base64 *b, const char *in, size_t len, char *out);

#endif
