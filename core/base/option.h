/* Types of options, and values of them as people write them. [any] */
#ifndef MP_BASE_OPTION_H
#define MP_BASE_OPTION_H

#include "base/shared.h"

#include <stdbool.h>
#include <stdint.h>

enum mp_shape { MP_VALUE, MP_LIST, MP_MAP };

struct mp_option_type {
    const char *name; /* "duration" */
    enum mp_shape shape;
    bool (*parse)(const char *text, int64_t *out); /* NULL: not a number */
    const char *like; /* "a duration like 250ms, 2s, 5m or 1h"; NULL: any text */
};

/* The type of a setting that takes addresses which must not be connected to. The policy
 * sets it, and nobody else can. */
#define MP_ADDRESSES "addresses"

/* NULL: no such type. */
const struct mp_option_type *mp_option_type(const char *name);
/* Is a setting a URL, which the policy looks at? By its type, which may be NULL, or by
 * its name, "proxy" or one that ends in "url", for modules that are older than the type.
 */
bool mp_option_is_url(const char *name, const char *type);
/* Reads `text` as `type`; types that are not numbers take any text and leave `out`. */
MP_SHARED bool mp_option_parse(const char *type, const char *text, int64_t *out);

#endif
