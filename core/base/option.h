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

/* NULL: no such type. */
const struct mp_option_type *mp_option_type(const char *name);
/* Reads `text` as `type`; types that are not numbers take any text and leave `out`. */
MP_SHARED bool mp_option_parse(const char *type, const char *text, int64_t *out);

#endif
