/* How many there are of each name. [any] */
#ifndef MP_BASE_TALLY_H
#define MP_BASE_TALLY_H

#include "base/shared.h"

#include <stddef.h>

struct mp_tally_row {
    const char *name; /* borrow */
    size_t count;
};

struct mp_tally {              /* begins as zeros */
    struct mp_tally_row *rows; /* a name each, in the order in which they came */
    size_t n;
};

/* Adds `count`, which may be 0. Without memory for a new name nothing is added. */
MP_SHARED void mp_tally_add(struct mp_tally *t, const char *name, size_t count);
/* The most frequent first; those that are as frequent by name. */
MP_SHARED void mp_tally_sort(struct mp_tally *t);
MP_SHARED void mp_tally_clear(struct mp_tally *t);

#endif
