#include "json/walk.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static bool is_digit(unsigned char c)
{
    return c >= '0' && c <= '9';
}

bool mp_view_int(mp_view v, int64_t *out)
{
    if (v.len == 0)
        return false;
    const unsigned char *p = v.data, *end = p + v.len;
    bool negative = *p == '-';
    int64_t n = 0;

    p += negative;
    if (p == end)
        return false;
    for (; p < end; p++) {
        int digit = *p - '0';
        if (!is_digit(*p) || __builtin_mul_overflow(n, 10, &n) ||
            __builtin_sub_overflow(n, digit, &n)) /* downwards, for INT64_MIN */
            return false;
    }
    if (!negative && n == INT64_MIN)
        return false;
    *out = negative ? n : -n;
    return true;
}

/* More digits than any double, or halfway between two, needs to be told apart. */
enum { DIGITS_MAX = 800 };

/* A number taken apart: its digits without leading zeros, and the power of ten that
 * the last one counts. */
struct decimal {
    char digits[DIGITS_MAX];
    size_t n;
    int64_t exponent;
};

static void add_digit(struct decimal *d, unsigned char c)
{
    if (d->n == 0 && c == '0')
        return;
    if (d->n < DIGITS_MAX) {
        d->digits[d->n++] = (char)c;
        return;
    }
    if (c != '0') /* enough to be above halfway, where it was on it */
        d->digits[DIGITS_MAX - 1] |= 1;
    d->exponent++;
}

static int64_t read_exponent(const unsigned char *p, const unsigned char *end)
{
    bool negative = p < end && *p == '-';
    int64_t n = 0;

    if (p < end && (*p == '-' || *p == '+'))
        p++;
    for (; p < end && is_digit(*p); p++)
        if (n < INT64_MAX / 100)
            n = n * 10 + (*p - '0');
    return negative ? -n : n;
}

bool mp_view_double(mp_view v, double *out)
{
    if (v.len == 0)
        return false;
    const unsigned char *p = v.data, *end = p + v.len;
    bool negative = *p == '-';
    struct decimal d;
    d.n = 0;
    d.exponent = 0;

    p += negative;
    if (p == end || !is_digit(*p))
        return false;
    for (; p < end && is_digit(*p); p++)
        add_digit(&d, *p);
    if (p < end && *p == '.')
        for (p++; p < end && is_digit(*p); p++) {
            d.exponent--;
            add_digit(&d, *p);
        }
    if (p < end && (*p | 0x20) == 'e')
        d.exponent += read_exponent(p + 1, end);

    /* Written without a point, it means the same in every locale. */
    char text[DIGITS_MAX + 32];
    long power = d.exponent > 99999    ? 99999
                 : d.exponent < -99999 ? -99999
                                       : (long)d.exponent;
    snprintf(text, sizeof text, "%.*se%ld", d.n ? (int)d.n : 1, d.n ? d.digits : "0",
             power);
    double value = strtod(text, NULL);
    if (!isfinite(value))
        return false;
    *out = negative ? -value : value;
    return true;
}
