/* SHA-256, after FIPS 180-4. Not for secrets: what it hashes may show in its timing. */
#ifndef MP_BASE_SHA256_H
#define MP_BASE_SHA256_H

#include <stddef.h>
#include <stdint.h>

#include "base/shared.h"

#define MP_SHA256_BYTES 32
#define MP_SHA256_HEX (2 * MP_SHA256_BYTES)

struct mp_sha256 {
    uint32_t state[8];
    uint64_t len;            /* bytes so far */
    unsigned char block[64]; /* the last len % 64 of them */
};

MP_SHARED void mp_sha256_init(struct mp_sha256 *sha);
MP_SHARED void mp_sha256_add(struct mp_sha256 *sha, const void *data, size_t len);
/* Once; start again with init. */
MP_SHARED void mp_sha256_end(struct mp_sha256 *sha, unsigned char out[MP_SHA256_BYTES]);

/* Of a regular file. 0, or an errno with nothing written. */
MP_SHARED int mp_sha256_file(const char *path, unsigned char out[MP_SHA256_BYTES]);

/* As lower-case text, with a NUL. */
MP_SHARED void mp_sha256_hex(const unsigned char digest[MP_SHA256_BYTES],
                             char out[MP_SHA256_HEX + 1]);

#endif
