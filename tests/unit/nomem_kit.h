/* For the suites in which memory fails: once, or from one moment on. The allocator of the
 * core is replaced, so every allocation of it can be the one. */
#ifndef NOMEM_KIT_H
#define NOMEM_KIT_H

#include "config_kit.h"

#include <pthread.h>

/* ---- in place of core/base/mem.c ---- */

static unsigned long calls, fail_at;
static bool forever;
static bool spares;
static pthread_t spared;

/* From now on memory fails on other threads alone. */
static inline void spare_this_thread(void)
{
    spares = true;
    spared = pthread_self();
}

static inline bool fails(void)
{
    if (spares && pthread_equal(pthread_self(), spared))
        return false;
    calls++;
    return fail_at && (forever ? calls >= fail_at : calls == fail_at);
}

void *mp_alloc(size_t size)
{
    return fails() ? NULL : calloc(1, size ? size : 1);
}

void *mp_alloc_raw(size_t size)
{
    return fails() ? NULL : malloc(size ? size : 1);
}

void *mp_resize(void *p, size_t size)
{
    return fails() ? NULL : realloc(p, size ? size : 1);
}

void mp_free(void *p)
{
    free(p);
}

char *mp_strdup(const char *s)
{
    return !s || fails() ? NULL : strdup(s);
}

char *mp_strndup(const char *s, size_t len)
{
    char *copy = fails() ? NULL : malloc(len + 1);
    if (copy) {
        memcpy(copy, s, len);
        copy[len] = '\0';
    }
    return copy;
}

/* Does `act` with the first allocation failing, the second .. until it needs fewer; then
 * the same with all that follow failing too. `before` and `after`, which may be NULL,
 * have memory. */
static inline void torture(void (*before)(void), void (*act)(void), void (*after)(void))
{
    for (int mode = 0; mode < 2; mode++) {
        unsigned long n = 0, needed;
        do {
            if (before)
                before();
            forever = mode;
            calls = 0;
            fail_at = ++n;
            act();
            needed = calls;
            fail_at = 0;
            if (after)
                after();
            ck_assert_uint_lt(n, 100000);
        } while (needed >= n);
        ck_assert_uint_gt(n, 1);
    }
}

/* For messages. */
static inline const char *when(void)
{
    static char text[64];
    snprintf(text, sizeof text, "without allocation %lu%s", fail_at,
             forever ? " and all that follow" : "");
    return text;
}

#endif
