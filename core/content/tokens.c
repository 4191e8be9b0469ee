#include "content/tokens.h"

void mp_tokens_feed(struct mp_tokens *t, const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++)
        t->chars += ((unsigned char)text[i] & 0xc0) != 0x80;
}

uint64_t mp_tokens_count(const struct mp_tokens *t)
{
    return (t->chars + 3) / 4;
}

uint64_t mp_tokens_of(const char *text, size_t len)
{
    struct mp_tokens t = {0};

    mp_tokens_feed(&t, text, len);
    return mp_tokens_count(&t);
}
