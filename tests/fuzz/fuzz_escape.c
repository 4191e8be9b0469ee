/* The terminal escaper: whatever goes in, nothing comes out that moves a cursor, hides
 * text or turns it round; and pieces give the same as the whole. */
#include "base/buf.h"
#include "base/text.h"

#include <stdlib.h>

static void check(const unsigned char *p, size_t len)
{
    for (size_t i = 0; i < len;) {
        size_t n = mp_utf8_len(p + i, len - i);
        if (n == 0 ||
            (n == 1 && (p[i] < 0x20 || p[i] == 0x7f) && p[i] != '\n' && p[i] != '\t'))
            abort();
        if (n == 2 && p[i] == 0xc2 && p[i + 1] < 0xa0) /* C1 */
            abort();
        if (n == 3 && p[i] == 0xe2 && p[i + 1] == 0x80 &&
            ((p[i + 2] >= 0x8b && p[i + 2] <= 0x8f) ||
             (p[i + 2] >= 0xa8 && p[i + 2] <= 0xae)))
            abort();
        if (n == 3 && p[i] == 0xef && p[i + 1] == 0xb8 && p[i + 2] <= 0x8f)
            abort();                                    /* variation selectors */
        if (n == 4 && p[i] == 0xf3 && p[i + 1] == 0xa0) /* tags */
            abort();
        i += n;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct mp_str whole, parts;
    char out[37];

    if (size == 0)
        return 0;
    size_t step = data[0] % 16 + 4u, at = 1;
    mp_str_init(&whole, 1 << 24);
    mp_str_init(&parts, 1 << 24);
    mp_str_add_escaped(&whole, (const char *)data + 1, size - 1, true);
    while (at < size) {
        size_t len = size - at < step ? size - at : step;
        size_t put = mp_escape((const char *)data + at, &len, true, at + len < size, out,
                               sizeof out);
        if (len == 0)
            abort();
        mp_str_add(&parts, out, put);
        at += len;
    }
    if (whole.len != parts.len ||
        (whole.len && memcmp(whole.data, parts.data, whole.len)))
        abort();
    check((unsigned char *)whole.data, whole.len);
    mp_str_clear(&whole);
    mp_str_clear(&parts);
    return 0;
}
