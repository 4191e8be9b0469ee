/* Which pages are wanted. */
#include "pdf.h"

#include <limits.h>

static const char *skip_spaces(const char *s)
{
    while (*s == ' ')
        s++;
    return s;
}

/* A number from 1; NULL: there is none. */
static const char *read_number(const char *s, int *out)
{
    int n = 0;
    if (*s < '0' || *s > '9')
        return NULL;
    for (; *s >= '0' && *s <= '9'; s++)
        n = n > (INT_MAX - 9) / 10 ? INT_MAX : n * 10 + (*s - '0');
    *out = n;
    return n > 0 ? s : NULL;
}

/* `7`, `1-3` or `10-`; NULL: none of these. */
static const char *read_range(const char *s, int *first, int *last)
{
    if (!(s = read_number(s, first)))
        return NULL;
    *last = *first;
    s = skip_spaces(s);
    if (*s != '-')
        return s;
    s = skip_spaces(s + 1);
    *last = INT_MAX;
    if (*s >= '0' && *s <= '9')
        s = read_number(s, last);
    else if (*s != ',' && *s != '\0')
        return NULL;
    return s && *first <= *last ? skip_spaces(s) : NULL;
}

bool pdf_pages_read(const char *text, struct pdf_pages *out)
{
    const char *s = skip_spaces(text);
    out->n = 0;
    while (*s) {
        int first, last;
        if (out->n == PDF_RANGES_MAX || !(s = read_range(s, &first, &last)))
            return false;
        out->ranges[out->n].first = first;
        out->ranges[out->n++].last = last;
        if (*s == '\0')
            return true;
        if (*s != ',')
            return false;
        s = skip_spaces(s + 1);
        if (*s == '\0')
            return false;
    }
    return true;
}

bool pdf_pages_has(const struct pdf_pages *pages, int page)
{
    for (size_t i = 0; i < pages->n; i++)
        if (page >= pages->ranges[i].first && page <= pages->ranges[i].last)
            return true;
    return pages->n == 0;
}
