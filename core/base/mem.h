/* Memory: every allocation of the core goes through here. [any] */
#ifndef MP_BASE_MEM_H
#define MP_BASE_MEM_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "base/shared.h"

MP_SHARED void *mp_alloc(size_t size); /* zeroed; NULL when out of memory */
void *mp_alloc_raw(size_t size);       /* not zeroed: for what is filled at once */
MP_SHARED void *mp_resize(void *p, size_t size);
MP_SHARED void mp_free(void *p); /* NULL is fine */
MP_SHARED char *mp_strdup(const char *s);
MP_SHARED char *mp_strndup(const char *s, size_t len);

/* A NULL-ended list and its texts; NULL is fine. */
static inline void mp_free_list(const char *const *list)
{
    for (size_t i = 0; list && list[i]; i++)
        mp_free((char *)list[i]);
    mp_free((void *)list);
}

/* Hands over what `*slot` holds and leaves NULL there. */
#define mp_move(slot) mp_move_((void **)(slot))
static inline void *mp_move_(void **slot)
{
    void *p = *slot;
    *slot = NULL;
    return p;
}

/* Makes room for `want` elements in the array that `*list` points to, which has room for
 * `*cap` of them now. false: no memory, and all is as before. */
#define mp_grow(list, cap, want) mp_grow_(list, cap, want, sizeof **(list))
static inline bool mp_grow_(void *list, size_t *cap, size_t want, size_t size)
{
    size_t bigger = *cap ? *cap : 8;
    void *p;

    if (want <= *cap)
        return true;
    while (bigger < want)
        bigger *= 2;
    memcpy(&p, list, sizeof p); /* whatever it points to */
    p = mp_resize(p, bigger * size);
    if (!p)
        return false;
    memcpy(list, &p, sizeof p);
    *cap = bigger;
    return true;
}

#define MP_COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define MP_OF(ptr, type, member) ((type *)((char *)(ptr)-offsetof(type, member)))

#endif
