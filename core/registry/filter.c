#include "registry/filter.h"

#include "base/text.h"

const char *mp_filter_match(const char *const *list, const char *tool)
{
    for (; list && *list; list++)
        if (mp_glob("any", *list, true) || mp_glob(*list, tool, true))
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
