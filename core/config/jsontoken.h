/* JSON text as tokens: for texts that a scan has passed, or their beginnings. */
#ifndef MP_CONFIG_JSONTOKEN_H
#define MP_CONFIG_JSONTOKEN_H

#include "json/skip.h"

#include <stddef.h>

/* What a file may hold. */
enum { MP_CONFIG_DEPTH = 64, MP_CONFIG_TOKENS = 1000000 };

/* Punctuation is its own byte. */
enum { MP_STRING = '"', MP_KEY = 'k', MP_WORD = 'w' };

/* One token after the other, of text that is JSON, or the beginning of it. */
struct mp_tokens {
    const unsigned char *p, *end;
    const unsigned char *at; /* the token, and its length */
    size_t len;
    char kind, before; /* what it is, and what came before it; 0: nothing */
    unsigned depth;
    const unsigned char *open[MP_CONFIG_DEPTH]; /* the brackets around it */
};

static inline void mp_tokens_init(struct mp_tokens *r, const unsigned char *text,
                                  size_t len)
{
    memset(r, 0, offsetof(struct mp_tokens, open));
    r->p = text ? text : (const unsigned char *)"";
    r->end = r->p + len;
}

static inline bool mp_token_in_object(const struct mp_tokens *r)
{
    return r->depth && *r->open[r->depth - 1] == '{';
}

static inline bool mp_token_ends_word(unsigned char c)
{
    return mp_is_space(c) || (c && strchr(",:\"[]{}", c));
}

/* False at the end, and then the last token stays. */
static inline bool mp_token_next(struct mp_tokens *r)
{
    r->p = mp_skip_space(r->p, r->end);
    if (r->p == r->end)
        return false;
    r->before = r->kind;
    r->at = r->p++;
    r->kind = (char)*r->at;
    switch (*r->at) {
    case '"':
        if (mp_token_in_object(r) && (r->before == '{' || r->before == ','))
            r->kind = MP_KEY;
        r->p = mp_skip_string(r->at, r->end);
        break;
    case '{':
    case '[':
        if (r->depth == MP_CONFIG_DEPTH)
            return false;
        r->open[r->depth++] = r->at;
        break;
    case '}':
    case ']':
        r->depth -= r->depth > 0;
        break;
    case ',':
    case ':':
        break;
    default:
        r->kind = MP_WORD;
        while (r->p < r->end && !mp_token_ends_word(*r->p))
            r->p++;
    }
    r->len = (size_t)(r->p - r->at);
    return true;
}

#endif
