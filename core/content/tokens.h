/* How many tokens a text is to a model, estimated by classes of characters. There is no
 * vocabulary, so it is exact for no tokenizer and near for all: within a few percent of
 * the mean of o200k and Llama 3 for prose, code, JSON, CSV and the larger scripts
 * (tests/real/tokens.sh measures it). */
#ifndef MP_CONTENT_TOKENS_H
#define MP_CONTENT_TOKENS_H

#include <stddef.h>
#include <stdint.h>

enum {
    MP_TOKENS_KINDS = 42, /* of what costs tokens */
    MP_TOKENS_HELD = 120  /* bytes that are looked at together */
};

/* A text so far; begins as {0}. Fixed in size, owns nothing. */
struct mp_tokens {
    uint64_t counts[MP_TOKENS_KINDS][2]; /* of two windows into it, that take turns */
    uint64_t len;
    unsigned char held[MP_TOKENS_HELD]; /* its end, which is not counted yet */
};

/* Text in pieces, cut anywhere, even inside a character: the estimate is that of the
 * whole. A byte that is not UTF-8 counts as one token. */
void mp_tokens_feed(struct mp_tokens *t, const char *text, size_t len);

/* The estimate for all that was fed: at most its bytes, at least 1 unless it is empty.
 * More may follow. */
uint64_t mp_tokens_count(const struct mp_tokens *t);

/* The same of a whole text. */
uint64_t mp_tokens_of(const char *text, size_t len);

#endif
