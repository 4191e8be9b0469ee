/* Which tools of a server may be seen and called: toolsAllowed and toolsDenied; and which
 * tools a pattern stands for, in these and in other lists. [any] */
#ifndef MP_REGISTRY_FILTER_H
#define MP_REGISTRY_FILTER_H

#include <stdbool.h>

/* Lists are NULL-ended; `allowed` NULL or empty: all, `denied` NULL: none. "*" and "any"
 * stand for every tool, case does not matter, and who is denied is not allowed. A *
 * inside a pattern stands for any text: "get_*". */
bool mp_filter_allows(const char *const *allowed, const char *const *denied,
                      const char *tool);
/* The first of a list that stands for the tool. borrow; NULL: none */
const char *mp_filter_match(const char *const *list, const char *tool);

#endif
