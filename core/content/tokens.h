/* How many tokens a text is to a model, estimated: four characters are one. */
#ifndef MP_CONTENT_TOKENS_H
#define MP_CONTENT_TOKENS_H

#include <stddef.h>
#include <stdint.h>

struct mp_tokens { /* begins as {0} */
    uint64_t chars;
};

/* Text in pieces; a character may lie across two. */
void mp_tokens_feed(struct mp_tokens *t, const char *text, size_t len);
/* The estimate for all that was fed. */
uint64_t mp_tokens_count(const struct mp_tokens *t);
/* The same of a whole text. */
uint64_t mp_tokens_of(const char *text, size_t len);

#endif
