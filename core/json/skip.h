/* The inner loops that JSON text is crossed with, many bytes at a time. */
#ifndef MP_JSON_SKIP_H
#define MP_JSON_SKIP_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#define MP_EACH_BYTE(c) ((uint64_t)(c)*0x0101010101010101u)

/* Not 0 when a byte of `x` is `c`. Bytes from 0x80 on may be missed or add to it:
 * only for words that hold none, or where they count as a hit anyway. */
static inline uint64_t mp_word_has(uint64_t x, unsigned char c)
{
    uint64_t y = x ^ MP_EACH_BYTE(c);
    return (y - MP_EACH_BYTE(1)) & ~y & MP_EACH_BYTE(0x80);
}

static inline bool mp_is_plain(unsigned char c)
{
    return c >= 0x20 && c < 0x80 && c != '"' && c != '\\';
}

/* The first byte that a string cannot just go on with: a quote, a backslash, a
 * control character or one beyond ASCII; `end` when there is none. */
static inline const unsigned char *mp_skip_plain(const unsigned char *p,
                                                 const unsigned char *end)
{
#ifdef __SSE2__
    const __m128i quote = _mm_set1_epi8('"'), escape = _mm_set1_epi8('\\');
    const __m128i space = _mm_set1_epi8(' ');
    while (end - p >= 16) {
        __m128i v = _mm_loadu_si128((const __m128i *)(const void *)p);
        /* compared as signed: what is beyond ASCII is below space too */
        __m128i odd = _mm_or_si128(
            _mm_cmplt_epi8(v, space),
            _mm_or_si128(_mm_cmpeq_epi8(v, quote), _mm_cmpeq_epi8(v, escape)));
        unsigned mask = (unsigned)_mm_movemask_epi8(odd);
        if (mask)
            return p + __builtin_ctz(mask);
        p += 16;
    }
#endif
    while (end - p >= 8) {
        uint64_t x;
        memcpy(&x, p, sizeof x);
        uint64_t below_space = (x - MP_EACH_BYTE(0x20)) & ~x;
        if (((x | below_space) & MP_EACH_BYTE(0x80)) | mp_word_has(x, '"') |
            mp_word_has(x, '\\'))
            break;
        p += 8;
    }
    while (p < end && mp_is_plain(*p))
        p++;
    return p;
}

/* The same where UTF-8 is not checked: the first quote, backslash or control character.
 */
static inline const unsigned char *mp_skip_text(const unsigned char *p,
                                                const unsigned char *end)
{
#ifdef __SSE2__
    const __m128i quote = _mm_set1_epi8('"'), escape = _mm_set1_epi8('\\');
    const __m128i control = _mm_set1_epi8(0x1f);
    while (end - p >= 16) {
        __m128i v = _mm_loadu_si128((const __m128i *)(const void *)p);
        __m128i odd = _mm_or_si128(
            _mm_cmpeq_epi8(_mm_min_epu8(v, control), v),
            _mm_or_si128(_mm_cmpeq_epi8(v, quote), _mm_cmpeq_epi8(v, escape)));
        unsigned mask = (unsigned)_mm_movemask_epi8(odd);
        if (mask)
            return p + __builtin_ctz(mask);
        p += 16;
    }
#endif
    while (p < end && *p >= 0x20 && *p != '"' && *p != '\\')
        p++;
    return p;
}

static inline bool mp_is_space(unsigned char c)
{
    return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

static inline const unsigned char *mp_skip_space(const unsigned char *p,
                                                 const unsigned char *end)
{
    while (p < end && *p <= ' ' && mp_is_space(*p))
        p++;
    return p;
}

/* Behind the string whose quote is at `p`; `end` when it is not closed. */
static inline const unsigned char *mp_skip_string(const unsigned char *p,
                                                  const unsigned char *end)
{
    const unsigned char *from = p + 1, *quote;

    /* most strings are short */
    quote = mp_skip_plain(from, end - from > 32 ? from + 32 : end);
    if (quote < end && *quote == '"')
        return quote + 1;
    while (from < end && (quote = memchr(from, '"', (size_t)(end - from)))) {
        const unsigned char *q = quote;
        while (q > from && q[-1] == '\\')
            q--;
        if ((quote - q) % 2 == 0)
            return quote + 1;
        from = quote + 1;
    }
    return end;
}

#endif
