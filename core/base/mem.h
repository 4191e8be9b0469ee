/* Memory: every allocation of the core goes through here. [any] */
#ifndef MP_BASE_MEM_H
#define MP_BASE_MEM_H

#include <stddef.h>

#include "base/shared.h"

MP_SHARED void *mp_alloc(size_t size); /* zeroed; NULL when out of memory */
void *mp_alloc_raw(size_t size);       /* not zeroed: for what is filled at once */
MP_SHARED void *mp_resize(void *p, size_t size);
MP_SHARED void mp_free(void *p); /* NULL is fine */
MP_SHARED char *mp_strdup(const char *s);
MP_SHARED char *mp_strndup(const char *s, size_t len);

/* Hands over what `*slot` holds and leaves NULL there. */
#define mp_move(slot) mp_move_((void **)(slot))
static inline void *mp_move_(void **slot)
{
    void *p = *slot;
    *slot = NULL;
    return p;
}

#define MP_COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define MP_OF(ptr, type, member) ((type *)((char *)(ptr)-offsetof(type, member)))

#endif
