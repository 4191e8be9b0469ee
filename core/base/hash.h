/* FNV-1a, for what has to be told apart and is not hostile: a hash begins as 0. [any] */
#ifndef MP_BASE_HASH_H
#define MP_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

/* With the length, so that "ab","c" and "a","bc" differ. */
static inline void mp_hash_add(uint64_t *hash, const void *data, size_t len)
{
    const unsigned char *p = data;

    for (size_t i = 0; i < len; i++)
        *hash = (*hash ^ p[i]) * UINT64_C(0x100000001b3);
    *hash = (*hash ^ len) * UINT64_C(0x100000001b3);
}

#endif
