#include "registry/filter.h"

#include <stddef.h>

/* Of ASCII letters, whatever the locale of the program is. */
static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

/* Goes back to the last * only: what the ones before it stood for need never change. So
 * a pattern full of them takes no more than its length times that of the name. */
static bool matches(const char *pattern, const char *tool)
{
    const char *star = NULL, *again = NULL;

    while (*tool) {
        if (*pattern == '*') {
            star = pattern++;
            again = tool;
        } else if (*pattern && lower(*pattern) == lower(*tool)) {
            pattern++;
            tool++;
        } else if (star) {
            pattern = star + 1;
            tool = ++again;
        } else {
            return false;
        }
    }
    while (*pattern == '*')
        pattern++;
    return !*pattern;
}

const char *mp_filter_match(const char *const *list, const char *tool)
{
    for (; list && *list; list++)
        if (matches("any", *list) || matches(*list, tool))
            return *list;
    return NULL;
}

bool mp_filter_allows(const char *const *allowed, const char *const *denied,
                      const char *tool)
{
    if (mp_filter_match(denied, tool))
        return false;
    return !allowed || !*allowed || mp_filter_match(allowed, tool);
}
