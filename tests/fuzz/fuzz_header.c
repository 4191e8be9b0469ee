/* Header fields: any value is written with safe bytes only, and comes back as it was. */
#include "../../plugins/common/header.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static void must(int holds)
{
    if (!holds)
        abort();
}

static int is_safe(unsigned char c)
{
    return c > ' ' && c < 0x7F;
}

static unsigned digit_of(char c)
{
    if (c >= 'A' && c <= 'Z')
        return (unsigned)(c - 'A');
    if (c >= 'a' && c <= 'z')
        return (unsigned)(c - 'a') + 26;
    if (c >= '0' && c <= '9')
        return (unsigned)(c - '0') + 52;
    must(c == '+' || c == '/');
    return c == '+' ? 62 : 63;
}

/* As a server does it: marked values are decoded, all others mean themselves. */
static size_t decode(const char *text, size_t len, unsigned char *out)
{
    size_t n = 0;
    if (len < 9 || memcmp(text, "=?base64?", 9) || memcmp(text + len - 2, "?=", 2)) {
        memcpy(out, text, len);
        return len;
    }
    must(len >= 11);
    text += 9;
    len -= 11;
    must(len % 4 == 0 && len > 0);
    for (size_t i = 0; i < len; i += 4) {
        int last = i + 4 == len;
        int pad = last ? (text[i + 3] == '=') + (text[i + 2] == '=') : 0;
        unsigned bits = digit_of(text[i]) << 18 | digit_of(text[i + 1]) << 12;
        if (pad < 2)
            bits |= digit_of(text[i + 2]) << 6;
        if (pad < 1)
            bits |= digit_of(text[i + 3]);
        out[n++] = (unsigned char)(bits >> 16);
        if (pad < 2)
            out[n++] = (unsigned char)(bits >> 8);
        if (pad < 1)
            out[n++] = (unsigned char)bits;
        must(!(bits & (pad == 2 ? 0xFFFFu : pad == 1 ? 0xFFu : 0)));
    }
    return n;
}

static void check_encode(const char *value, size_t size)
{
    size_t room = header_encoded_size(size);
    char *text = malloc(room);
    unsigned char *back = malloc(room);
    must(text && back);
    size_t len = header_encode(value, size, text);
    must(len < room && strlen(text) == len && !len == !size);
    for (size_t i = 0; i < len; i++)
        must(is_safe((unsigned char)text[i]) || (i > 0 && i + 1 < len && text[i] == ' '));
    must(header_is_value(text));
    must(decode(text, len, back) == size && (!size || !memcmp(back, value, size)));
    free(back);
    free(text);
}

static void check_name(const char *text)
{
    size_t len = strlen(text);
    int reserved = header_is_reserved(text);
    if (header_is_name(text, len)) {
        must(len > 0 && header_is_value(text));
        for (size_t i = 0; i < len; i++)
            must(is_safe((unsigned char)text[i]) && text[i] != ':');
    }
    /* Case does not matter. */
    char *other = strdup(text);
    must(other != NULL);
    for (char *p = other; *p; p++)
        if ((*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z'))
            *p ^= 0x20;
    must(header_is_reserved(other) == reserved);
    free(other);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *copy = malloc(size + 1); /* of just this size */
    must(copy != NULL);
    if (size)
        memcpy(copy, data, size);
    copy[size] = '\0';
    header_is_name(copy, size);
    header_is_value(copy);
    check_name(copy);
    free(copy);

    char *value = malloc(size + !size);
    must(value != NULL);
    if (size)
        memcpy(value, data, size);
    check_encode(value, size);
    free(value);
    return 0;
}
