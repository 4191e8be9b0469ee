#include "base/option.h"

#include "base/mem.h"

#include <string.h>
#include <strings.h>

/* Decimal digits up to the first other character; false when there are none or
 * they do not fit. */
static bool read_digits(const char **at, int64_t *out)
{
    const char *p = *at;
    int64_t n = 0;

    if (*p < '0' || *p > '9')
        return false;
    for (; *p >= '0' && *p <= '9'; p++)
        if (__builtin_mul_overflow(n, 10, &n) || __builtin_add_overflow(n, *p - '0', &n))
            return false;
    *at = p;
    *out = n;
    return true;
}

static bool parse_int(const char *text, int64_t *out)
{
    bool negative = *text == '-';
    int64_t n;

    if (negative)
        text++;
    if (!read_digits(&text, &n) || *text)
        return false;
    *out = negative ? -n : n;
    return true;
}

struct unit {
    const char *name;
    int64_t factor;
};

static bool parse_units(const char *text, const struct unit *units, int64_t *out)
{
    int64_t n;
    if (!read_digits(&text, &n))
        return false;
    for (; units->name; units++)
        if (strcmp(text, units->name) == 0)
            return !__builtin_mul_overflow(n, units->factor, out);
    return false;
}

static bool parse_bool(const char *text, int64_t *out)
{
    static const char *const words[] = {"false", "true", "no", "yes", "0", "1"};
    for (size_t i = 0; i < MP_COUNT(words); i++)
        if (strcmp(text, words[i]) == 0) {
            *out = i & 1;
            return true;
        }
    return false;
}

static bool parse_duration(const char *text, int64_t *out)
{
    static const struct unit units[] = {{"", 1},      {"ms", 1},      {"s", 1000},
                                        {"m", 60000}, {"h", 3600000}, {NULL, 0}};
    return parse_units(text, units, out);
}

static bool parse_bytes(const char *text, int64_t *out)
{
    static const struct unit units[] = {{"", 1},        {"k", 1 << 10}, {"K", 1 << 10},
                                        {"M", 1 << 20}, {"G", 1 << 30}, {NULL, 0}};
    return parse_units(text, units, out);
}

static const struct mp_option_type types[] = {
    {"string", MP_VALUE, NULL, NULL},
    {"int", MP_VALUE, parse_int, "a number"},
    {"bool", MP_VALUE, parse_bool, "true or false"},
    {"duration", MP_VALUE, parse_duration, "a duration like 250ms, 2s, 5m or 1h"},
    {"bytes", MP_VALUE, parse_bytes, "a size like 512, 64k, 16M or 1G"},
    {"secret", MP_VALUE, NULL, NULL},
    {"url", MP_VALUE, NULL, NULL},
    {"list", MP_LIST, NULL, NULL},
    {"map", MP_MAP, NULL, NULL},
    {MP_ADDRESSES, MP_LIST, NULL, NULL},
};

const struct mp_option_type *mp_option_type(const char *name)
{
    for (size_t i = 0; name && i < MP_COUNT(types); i++)
        if (strcmp(name, types[i].name) == 0)
            return &types[i];
    return NULL;
}

bool mp_option_is_url(const char *name, const char *type)
{
    size_t len = strlen(name);

    return (type && strcmp(type, "url") == 0) || strcmp(name, "proxy") == 0 ||
           (len >= 3 && strcasecmp(name + len - 3, "url") == 0);
}

bool mp_option_parse(const char *type, const char *text, int64_t *out)
{
    const struct mp_option_type *t = mp_option_type(type);
    return t && (!t->parse || t->parse(text, out));
}
