/* Which word was meant. [any] */
#ifndef MP_BASE_NEAREST_H
#define MP_BASE_NEAREST_H

#include "base/shared.h"

#include <stddef.h>
#include <stdint.h>

/* Distance in edits, a swap of neighbours being one; SIZE_MAX: one has more than 64
 * bytes. */
size_t mp_distance(const char *a, const char *b);

/* For "did you mean": keeps in `*best` whichever of it and `candidate` is nearer to
 * `word`, if near enough at all. `*best` begins as NULL. */
MP_SHARED void mp_nearest(const char *word, const char *candidate, const char **best);

#endif
