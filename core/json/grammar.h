/* What the readers of JSON that look at each byte once have in common: the states between
 * two bytes, and the steps inside numbers and escapes. */
#ifndef MP_JSON_GRAMMAR_H
#define MP_JSON_GRAMMAR_H

#include <stdbool.h>

/* What may come next. */
enum state {
    VALUE,        /* a value */
    FIRST_VALUE,  /* a value, or the end of an array */
    FIRST_KEY,    /* a key, or the end of an object */
    KEY,          /* a key */
    COLON,        /* the colon behind a key */
    AFTER,        /* a comma, or the end of the array or object */
    DONE,         /* nothing more */
    STRING,       /* the rest of a string .. */
    ESCAPE,       /* .. behind a backslash */
    HEX,          /* .. in the digits of \uXXXX */
    CONTINUATION, /* .. inside a character */
    MINUS,        /* the rest of a number, behind its sign .. */
    ZERO,         /* .. behind a leading zero */
    DIGITS,       /* .. in its integer part */
    POINT,        /* .. behind the point */
    FRACTION,     /* .. in the digits behind the point */
    EXPONENT,     /* .. behind the e */
    SIGN,         /* .. behind the sign of the exponent */
    POWER,        /* .. in the digits of the exponent */
    LITERAL,      /* the rest of true, false or null */
    SKIPPED,      /* the rest of an array or object that is not checked */
};

static inline bool is_digit(unsigned char c)
{
    return c >= '0' && c <= '9';
}

/* May it follow a backslash? */
static inline bool is_escape(unsigned char c)
{
    static const char letters[256] = {
        ['"'] = 1, ['\\'] = 1, ['/'] = 1, ['b'] = 1, ['f'] = 1,
        ['n'] = 1, ['r'] = 1,  ['t'] = 1, ['u'] = 1};
    return letters[c];
}

/* The state behind `c` in a number; VALUE: `c` is not part of it. */
static inline enum state number_step(enum state state, unsigned char c)
{
    switch (state) {
    case MINUS:
        return c == '0' ? ZERO : is_digit(c) ? DIGITS : VALUE;
    case DIGITS:
        if (is_digit(c))
            return DIGITS;
        /* fall through */
    case ZERO:
        return c == '.' ? POINT : (c | 0x20) == 'e' ? EXPONENT : VALUE;
    case POINT:
        return is_digit(c) ? FRACTION : VALUE;
    case FRACTION:
        return is_digit(c) ? FRACTION : (c | 0x20) == 'e' ? EXPONENT : VALUE;
    case EXPONENT:
        return c == '+' || c == '-' ? SIGN : is_digit(c) ? POWER : VALUE;
    default:
        return is_digit(c) ? POWER : VALUE;
    }
}

static inline bool number_is_whole(enum state state)
{
    return state == ZERO || state == DIGITS || state == FRACTION || state == POWER;
}

#endif
