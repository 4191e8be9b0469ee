#include "content/tokens.h"

#include <string.h>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

/* A window of 64 bytes is turned into eight words, one for each bit of a byte. Classes of
 * characters, and where they begin and meet, are then masks that boolean operations make
 * for 64 bytes at once, and for two windows in one vector. The first bytes of a window
 * are the last of the one before and were counted there: no mask looks farther back. */

enum {
    WINDOW = 64,
    REPEATED = 8,
    STRIDE = WINDOW - REPEATED,
    FRESH = 2 * STRIDE /* bytes that are counted at once */
};
_Static_assert(REPEATED + (int)FRESH == MP_TOKENS_HELD, "two windows");

/* What is counted. Tokenizers first cut a text into words, groups of three digits, runs
 * of punctuation and white space, so most are beginnings of these; the others are where
 * such a piece is usually more than one token. */
enum kind {
    /* ASCII */
    WORD,         /* begins */
    WORD_GLUED,   /* begins behind one punctuation character, which it often absorbs */
    WORD_LONG,    /* each letter from the third on */
    CAPITALS,     /* a capital behind a capital */
    CAMEL,        /* a capital behind a small letter */
    MIXED,        /* case or digits change twice in three characters: not a word */
    CONSONANTS,   /* the fourth in a row and each further one */
    PIECE,        /* a number or a run of punctuation begins; a control character */
    NUMBER_SPACE, /* a number behind a space, which it does not absorb as words do */
    NUMBER_FOUR,  /* has more digits than one group */
    NUMBER_LONG,  /* each digit from the fourth on */
    MARKS_SPACE,  /* punctuation behind a space */
    MARKS_LONG,   /* each character of it from the third on */
    RULE,         /* punctuation and white space, the fourth of the same or more */
    SPACES,       /* two or more in a line, or a tab */
    LINE,         /* ends */
    LINE_MARK,    /* ends behind punctuation, which often absorbs that */
    ASCII_KINDS,
    /* A byte that is not UTF-8; until the end, each that is not ASCII. */
    INVALID = ASCII_KINDS,
    /* Beyond ASCII, complete characters. */
    LATIN1_SIGN,
    LATIN1,
    LATIN,
    GREEK,
    CYRILLIC,
    HEBREW,
    ARABIC,
    OTHER2, /* of two bytes */
    DEVANAGARI,
    THAI,
    INDIC,
    VIETNAMESE,
    OTHER3, /* U+1000 to U+1FFF */
    PUNCTUATION,
    BOX,      /* a run of box drawing begins */
    BOX_LONG, /* and goes on */
    SYMBOL,
    CJK_MARK,
    KANA,
    CJK,
    CJK_RUN, /* begins */
    HANGUL,
    WIDE, /* full width, presentation forms, variation selectors */
    EMOJI,
    KINDS
};
_Static_assert((int)KINDS == MP_TOKENS_KINDS, "struct mp_tokens counts them");

enum { ONE = 1024 }; /* token */

/* What each costs, and the bytes of a complete character. The costs were fitted to the
 * mean of o200k and Llama 3 over some 600 texts, and checked with others. */
static const struct {
    uint16_t cost, bytes;
} kinds[KINDS] = {
    [WORD] = {601, 0},         [WORD_GLUED] = {102, 0},  [WORD_LONG] = {160, 0},
    [CAPITALS] = {213, 0},     [CAMEL] = {500, 0},       [MIXED] = {789, 0},
    [CONSONANTS] = {346, 0},   [PIECE] = {1024, 0},      [NUMBER_SPACE] = {2048, 0},
    [NUMBER_FOUR] = {711, 0},  [NUMBER_LONG] = {322, 0}, [MARKS_SPACE] = {1312, 0},
    [MARKS_LONG] = {163, 0},   [RULE] = {15, 0},         [SPACES] = {643, 0},
    [LINE] = {1320, 0},        [LINE_MARK] = {83, 0},    [INVALID] = {1024, 0},
    [LATIN1_SIGN] = {1407, 2}, [LATIN1] = {1254, 2},     [LATIN] = {1952, 2},
    [GREEK] = {431, 2},        [CYRILLIC] = {292, 2},    [HEBREW] = {848, 2},
    [ARABIC] = {400, 2},       [OTHER2] = {1227, 2},     [DEVANAGARI] = {516, 3},
    [THAI] = {448, 3},         [INDIC] = {960, 3},       [VIETNAMESE] = {205, 3},
    [OTHER3] = {1333, 3},      [PUNCTUATION] = {762, 3}, [BOX] = {1693, 3},
    [BOX_LONG] = {136, 3},     [SYMBOL] = {1696, 3},     [CJK_MARK] = {885, 3},
    [KANA] = {638, 3},         [CJK] = {734, 3},         [CJK_RUN] = {1144, 3},
    [HANGUL] = {729, 3},       [WIDE] = {717, 3},        [EMOJI] = {2458, 4},
};

/* ---- masks ---- */

/* How vectors are passed does not matter within a file. */
#if defined __GNUC__ && !defined __clang__
#pragma GCC diagnostic ignored "-Wpsabi"
#endif

/* A mask of each of two windows. */
typedef uint64_t masks __attribute__((vector_size(16)));

/* The bytes of two windows by their bits, and those of ASCII by their class. */
struct windows {
    masks bit[8];
    masks small, capital, letter, digit, mark, space, tab, line, control;
};

/* Where the byte `by` before is in a mask. */
static inline masks behind(masks m, int by)
{
    return m << by;
}

/* Where the four bytes up to here are all in a mask. */
static inline masks four(masks m)
{
    masks both = m & behind(m, 1);
    return both & behind(both, 2);
}

#ifdef __SSE2__
/* The highest bit of each of 32 bytes. */
static inline uint32_t highest(__m128i a, __m128i b)
{
    return (uint32_t)_mm_movemask_epi8(a) | (uint32_t)_mm_movemask_epi8(b) << 16;
}
#endif

/* The bits of one window. */
static inline void slice(uint64_t bits[8], const unsigned char *p)
{
#ifdef __SSE2__
    const __m128i *v = (const __m128i *)(const void *)p;
    __m128i v0 = _mm_loadu_si128(v), v1 = _mm_loadu_si128(v + 1);
    __m128i v2 = _mm_loadu_si128(v + 2), v3 = _mm_loadu_si128(v + 3);
#pragma GCC unroll 8
    for (int bit = 7; bit >= 0; bit--) {
        bits[bit] = highest(v0, v1) | (uint64_t)highest(v2, v3) << 32;
        v0 = _mm_add_epi8(v0, v0), v1 = _mm_add_epi8(v1, v1);
        v2 = _mm_add_epi8(v2, v2), v3 = _mm_add_epi8(v3, v3);
    }
#else
    memset(bits, 0, 8 * sizeof *bits);
    for (int at = 0; at < WINDOW; at += 8) {
        uint64_t x = 0;
        for (int i = 0; i < 8; i++)
            x |= (uint64_t)p[at + i] << 8 * i;
        /* the product brings one bit of each byte together in the highest byte */
        for (int bit = 0; bit < 8; bit++)
            bits[bit] |= ((x >> bit & 0x0101010101010101u) * 0x0102040810204080u >> 56)
                         << at;
    }
#endif
}

/* Adds the bits of masks, as far as they are in `valid`, to their counts. */
static inline void tally(uint64_t (*counts)[2], const masks *found, size_t n, masks valid)
{
    for (size_t i = 0; i < n; i++) {
        masks x = found[i] & valid;
        x -= x >> 1 & 0x5555555555555555u;
        x = (x & 0x3333333333333333u) + (x >> 2 & 0x3333333333333333u);
        x = (x + (x >> 4)) & 0x0f0f0f0f0f0f0f0fu;
#ifdef __SSE2__
        __m128i *sum = (__m128i *)(void *)counts[i];
        x = (masks)_mm_sad_epu8((__m128i)x, _mm_setzero_si128());
        _mm_storeu_si128(sum, _mm_add_epi64(_mm_loadu_si128(sum), (__m128i)x));
#else
        for (int w = 0; w < 2; w++)
            counts[i][w] += x[w] * 0x0101010101010101u >> 56;
#endif
    }
}

/* ---- ASCII ---- */

static inline void classify(struct windows *w)
{
    masks b0 = w->bit[0], b1 = w->bit[1], b2 = w->bit[2], b3 = w->bit[3];
    masks b4 = w->bit[4], b5 = w->bit[5], b6 = w->bit[6], b7 = w->bit[7];
    masks low = ~(b7 | b6), spacing = low & ~b5 & ~b4 & b3;

    w->tab = spacing & ~b2 & ~b1 & b0;
    w->line = spacing & (b2 ^ b1) & (b2 ^ ~b0); /* 0A, 0D */
    w->control = low & ~b5 & ~(w->tab | w->line);
    w->space = low & b5 & ~(b4 | b3 | b2 | b1 | b0);
    w->digit = low & b5 & b4 & ~(b3 & (b2 | b1));
    w->letter = ~b7 & b6 & (b4 | b3 | b2 | b1 | b0) & ~(b4 & b3 & (b2 | (b1 & b0)));
    w->small = w->letter & b5;
    w->capital = w->letter & ~b5;
    w->mark = ~b7 & (b6 | b5) & ~(w->letter | w->digit | w->space);
}

/* Among letters: a, e, i, o, u, y. */
static inline masks vowels(const struct windows *w)
{
    masks b0 = w->bit[0], b1 = w->bit[1], b2 = w->bit[2], b3 = w->bit[3];
    masks b4 = w->bit[4];
    return b0 & ((~b1 & ~(b3 & b2) & (~b4 | b3 | b2)) | (b1 & b2 & b3 & ~b4));
}

/* Bytes that are there for the fourth time in a row or more. */
static inline masks repeats(const struct windows *w)
{
    masks differ = {0};
#pragma GCC unroll 8
    for (int bit = 0; bit < 8; bit++)
        differ |= w->bit[bit] ^ behind(w->bit[bit], 1);
    return ~(differ | behind(differ, 1) | behind(differ, 2));
}

static inline void find_ascii(const struct windows *w, masks *found)
{
    masks letter = w->letter, digit = w->digit, mark = w->mark, line = w->line;
    masks repeated = repeats(w), space = behind(w->space, 1), gap = w->space | w->tab;

    masks begin = letter & ~behind(letter | w->bit[7], 1);
    masks marks = mark & ~behind(mark, 1), glued = begin & behind(marks, 1);
    masks camel = w->capital & behind(w->small, 1), capital = behind(w->capital, 1);
    found[WORD] = begin & ~glued;
    found[WORD_GLUED] = glued;
    found[WORD_LONG] = letter & behind(letter, 1) & behind(letter, 2);
    found[CAPITALS] = w->capital & capital & ~repeated;
    found[CAMEL] = camel;
    found[CONSONANTS] = four(letter & ~vowels(w)) & ~repeated;
    /* a capital that only begins a word is no change */
    masks change = camel | (digit & behind(letter, 1)) | (letter & behind(digit, 1)) |
                   (w->small & capital & behind(letter, 2));
    found[MIXED] = change & behind(change, 2);

    masks number = digit & ~behind(digit, 1), group = four(digit);
    found[NUMBER_SPACE] = number & space;
    found[NUMBER_FOUR] = group & ~behind(group, 1);
    found[NUMBER_LONG] = group;
    found[MARKS_SPACE] = marks & space;
    found[MARKS_LONG] = mark & behind(mark, 1) & behind(mark, 2) & ~repeated;
    found[PIECE] = ((number | marks) & ~space) | w->control;

    masks end = line & ~behind(line, 1);
    found[RULE] = repeated & (mark | gap | line);
    found[SPACES] =
        (gap & behind(gap, 1) & ~behind(gap, 2)) | (w->tab & ~behind(w->tab, 1));
    found[LINE] = end & ~behind(mark, 1);
    found[LINE_MARK] = end & behind(mark, 1);
}

/* ---- beyond ASCII: each character where its last byte is ---- */

/* `s`: the bits of the byte before. */
static void find_two(masks *found, masks last, const masks *s)
{
    masks c0 = last & ~s[4] & ~s[3], c8 = last & ~s[4] & s[3]; /* and the next seven */
    masks d0 = last & s[4] & ~s[3], d8 = last & s[4] & s[3];

    found[LATIN1_SIGN] = c0 & ~s[2] & ~s[0];
    found[LATIN1] = c0 & ~s[2] & s[0];
    found[LATIN] = (c0 & s[2]) | (c8 & ~s[2] & ~s[1]);
    found[GREEK] = c8 & s[2] & s[1];
    found[CYRILLIC] = d0 & ~s[2];
    found[HEBREW] = d0 & s[2] & s[1];
    found[ARABIC] = d8 & ~s[2];
    found[OTHER2] = (c8 & (s[2] ^ s[1])) | (d0 & s[2] & ~s[1]) | (d8 & s[2]);
}

/* `l`: the bits of the byte before that. */
static void find_three(masks *found, masks last, const masks *s, const masks *l)
{
    masks e0 = last & ~l[3] & ~l[2], first = ~(s[5] | s[4] | s[3] | s[2] | s[1] | s[0]);
    masks indic = e0 & ~l[1] & ~l[0], other = e0 & ~l[1] & l[0];
    masks symbol = e0 & l[1] & ~l[0], kana = e0 & l[1] & l[0];
    masks b8 = s[5] & s[4] & s[3] & ~s[2]; /* B8 to BB */
    masks devanagari = indic & s[5] & ~s[4] & ~s[3] & s[2] & ~s[1];
    masks thai = indic & b8 & ~s[1], vietnamese = other & b8 & s[1];
    masks box = symbol & ~s[5] & s[4] & ~s[3] & s[2] & ~(s[1] & s[0]);
    masks cjk = last & ((~l[3] & l[2]) | (l[3] & ~l[2] & ~l[1]));

    found[DEVANAGARI] = devanagari;
    found[THAI] = thai;
    found[INDIC] = indic & ~(thai | devanagari);
    found[VIETNAMESE] = vietnamese;
    found[OTHER3] = other & ~vietnamese;
    found[PUNCTUATION] = symbol & first;
    found[BOX] = box & ~behind(box, 3);
    found[BOX_LONG] = box & behind(box, 3);
    found[SYMBOL] = symbol & ~(first | box);
    found[CJK_MARK] = kana & first;
    found[KANA] = kana & ~first;
    found[CJK] = cjk & behind(cjk, 3);
    found[CJK_RUN] = cjk & ~behind(cjk, 3);
    found[HANGUL] = last & l[3] & (l[2] ^ l[1]);
    found[WIDE] = last & l[3] & l[2] & l[1];
}

static void find_beyond(const struct windows *w, masks *found)
{
    masks s[8], l[8], f[8]; /* of one byte before, two, three */
    masks next = w->bit[7] & ~w->bit[6];

#pragma GCC unroll 8
    for (int bit = 0; bit < 8; bit++) {
        s[bit] = behind(w->bit[bit], 1);
        l[bit] = behind(w->bit[bit], 2);
        f[bit] = behind(w->bit[bit], 3);
    }
    /* C2 to DF and one byte */
    masks all2 = next & s[7] & s[6] & ~s[5] & (s[4] | s[3] | s[2] | s[1]);
    /* E0 to EF and two; no character that needs fewer, no surrogate */
    masks all3 = next & s[7] & ~s[6] & l[7] & l[6] & l[5] & ~l[4];
    all3 &= l[3] | l[2] | l[1] | l[0] | s[5];
    all3 &= ~(l[3] & l[2] & ~l[1] & l[0] & s[5]);
    /* F0 to F4 and three; likewise, and none beyond U+10FFFF */
    masks all4 = next & s[7] & ~s[6] & l[7] & ~l[6] & f[7] & f[6] & f[5] & f[4] & ~f[3];
    all4 &= ~(f[2] & (f[1] | f[0] | l[5] | l[4]));
    all4 &= f[2] | f[1] | f[0] | l[5] | l[4];

    found[INVALID] = w->bit[7];
    find_two(found, all2, s);
    find_three(found, all3, s, l);
    found[EMOJI] = all4;
}

/* ---- texts ---- */

static inline uint64_t first_bytes(size_t n)
{
    return n < STRIDE ? (((uint64_t)1 << n) - 1) << REPEATED : UINT64_MAX << REPEATED;
}

/* Counts `n` bytes of the windows at `p`, behind those that were counted already. */
static void add_windows(struct mp_tokens *t, const unsigned char *p, size_t n)
{
    masks found[KINDS];
    masks valid = {first_bytes(n), first_bytes(n > STRIDE ? n - STRIDE : 0)};
    uint64_t first[8], second[8];
    struct windows w;

    slice(first, p);
    slice(second, p + STRIDE);
#pragma GCC unroll 8
    for (int bit = 0; bit < 8; bit++)
        w.bit[bit] = (masks){first[bit], second[bit]};
    classify(&w);
    find_ascii(&w, found);
    tally(t->counts, found, ASCII_KINDS, valid);
    masks high = w.bit[7] & valid;
    if (high[0] | high[1]) {
        find_beyond(&w, found);
        tally(t->counts + ASCII_KINDS, found + ASCII_KINDS, KINDS - ASCII_KINDS, valid);
    }
}

void mp_tokens_feed(struct mp_tokens *t, const char *text, size_t len)
{
    const unsigned char *p = (const unsigned char *)text, *end = p + len;
    size_t held = t->len % FRESH;

    t->len += len;
    for (; (size_t)(end - p) >= FRESH - held; held = 0) {
        const unsigned char *at = t->held;
        /* copied only when the bytes before are not in this piece */
        if (held || p - (const unsigned char *)text < REPEATED)
            memcpy(t->held + REPEATED + held, p, FRESH - held);
        else
            at = p - REPEATED;
        add_windows(t, at, FRESH);
        memmove(t->held, at + FRESH, REPEATED);
        p += FRESH - held;
    }
    if (p < end)
        memcpy(t->held + REPEATED + held, p, (size_t)(end - p));
}

uint64_t mp_tokens_count(const struct mp_tokens *t)
{
    struct mp_tokens whole = *t;
    uint64_t counts[KINDS], sum = 0;

    if (t->len % FRESH)
        add_windows(&whole, whole.held, t->len % FRESH);
    for (size_t k = 0; k < KINDS; k++)
        counts[k] = whole.counts[k][0] + whole.counts[k][1];
    for (size_t k = 0; k < KINDS; k++)
        counts[INVALID] -= kinds[k].bytes * counts[k];
    for (size_t k = 0; k < KINDS; k++)
        sum += kinds[k].cost * counts[k];
    sum = (sum + ONE / 2) / ONE;
    /* a token is a byte or more */
    if (sum > t->len)
        sum = t->len;
    return sum || !t->len ? sum : 1;
}

uint64_t mp_tokens_of(const char *text, size_t len)
{
    struct mp_tokens t = {0};
    mp_tokens_feed(&t, text, len);
    return mp_tokens_count(&t);
}
