#include "base/sha256.h"

#include "../../plugins/common/fds.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define BLOCK 64

/* First 32 bits of the fractional parts of the cube roots of the first 64 primes. */
static const uint32_t k[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4,
    0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe,
    0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f,
    0x4a7484aa, 0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7,
    0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc,
    0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b,
    0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116,
    0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7,
    0xc67178f2,
};

static uint32_t rotr(uint32_t x, unsigned n)
{
    return x >> n | x << (32 - n);
}

static uint32_t get32(const unsigned char *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static void put32(unsigned char *p, uint32_t x)
{
    for (int i = 0; i < 4; i++)
        p[i] = (unsigned char)(x >> (24 - 8 * i));
}

/* Section 6.2.2, with the variables a..h as s[0]..s[7]. */
static void take_block(uint32_t state[8], const unsigned char *block)
{
    uint32_t w[64], s[8];

    for (int t = 0; t < 16; t++)
        w[t] = get32(block + 4 * t);
    for (int t = 16; t < 64; t++) {
        uint32_t x = w[t - 15], y = w[t - 2];
        uint32_t sigma0 = rotr(x, 7) ^ rotr(x, 18) ^ x >> 3;
        uint32_t sigma1 = rotr(y, 17) ^ rotr(y, 19) ^ y >> 10;
        w[t] = sigma1 + w[t - 7] + sigma0 + w[t - 16];
    }
    memcpy(s, state, sizeof s);
    for (int t = 0; t < 64; t++) {
        uint32_t sum1 = rotr(s[4], 6) ^ rotr(s[4], 11) ^ rotr(s[4], 25);
        uint32_t sum0 = rotr(s[0], 2) ^ rotr(s[0], 13) ^ rotr(s[0], 22);
        uint32_t choice = (s[4] & s[5]) ^ (~s[4] & s[6]);
        uint32_t majority = (s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]);
        uint32_t t1 = s[7] + sum1 + choice + k[t] + w[t];
        memmove(s + 1, s, 7 * sizeof s[0]);
        s[4] += t1;
        s[0] = t1 + sum0 + majority;
    }
    for (int i = 0; i < 8; i++)
        state[i] += s[i];
}

void mp_sha256_init(struct mp_sha256 *sha)
{
    /* The same of the square roots of the first 8 primes. */
    static const uint32_t start[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                      0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    memset(sha, 0, sizeof *sha);
    memcpy(sha->state, start, sizeof start);
}

void mp_sha256_add(struct mp_sha256 *sha, const void *data, size_t len)
{
    const unsigned char *p = data;

    while (len) {
        size_t at = sha->len % BLOCK, n = BLOCK - at < len ? BLOCK - at : len;
        memcpy(sha->block + at, p, n);
        sha->len += n;
        p += n;
        len -= n;
        if (at + n == BLOCK)
            take_block(sha->state, sha->block);
    }
}

void mp_sha256_end(struct mp_sha256 *sha, unsigned char out[MP_SHA256_BYTES])
{
    static const unsigned char padding[BLOCK] = {0x80};
    unsigned char bits[8];
    size_t at = sha->len % BLOCK;

    put32(bits, (uint32_t)(sha->len >> 29));
    put32(bits + 4, (uint32_t)(sha->len << 3));
    mp_sha256_add(sha, padding, (at < 56 ? 56 : 56 + BLOCK) - at);
    mp_sha256_add(sha, bits, sizeof bits);
    for (int i = 0; i < 8; i++)
        put32(out + 4 * i, sha->state[i]);
}

int mp_sha256_file(const char *path, unsigned char out[MP_SHA256_BYTES])
{
    unsigned char data[16384];
    struct mp_sha256 sha;
    struct stat st;
    ssize_t n;

    /* O_NONBLOCK: a pipe of that name must not stop us. */
    int fd = fds_high(open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    if (fd < 0)
        return errno;
    int os_error = fstat(fd, &st) != 0 ? errno : S_ISREG(st.st_mode) ? 0 : EINVAL;
    mp_sha256_init(&sha);
    while (os_error == 0 && (n = read(fd, data, sizeof data)) != 0) {
        if (n > 0)
            mp_sha256_add(&sha, data, (size_t)n);
        else if (errno != EINTR)
            os_error = errno;
    }
    close(fd);
    if (os_error == 0)
        mp_sha256_end(&sha, out);
    return os_error;
}

void mp_sha256_hex(const unsigned char digest[MP_SHA256_BYTES],
                   char out[MP_SHA256_HEX + 1])
{
    static const char digits[] = "0123456789abcdef";

    for (size_t i = 0; i < MP_SHA256_BYTES; i++) {
        out[2 * i] = digits[digest[i] >> 4];
        out[2 * i + 1] = digits[digest[i] & 15];
    }
    out[MP_SHA256_HEX] = '\0';
}
