#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

void *mp_alloc(size_t size)
{
    return calloc(1, size ? size : 1);
}

void *mp_alloc_raw(size_t size)
{
    return malloc(size ? size : 1);
}

void *mp_resize(void *p, size_t size)
{
    return realloc(p, size ? size : 1);
}

void mp_free(void *p)
{
    free(p);
}

char *mp_strdup(const char *s)
{
    return s ? mp_strndup(s, strlen(s)) : NULL;
}

char *mp_strndup(const char *s, size_t len)
{
    char *copy = malloc(len + 1);
    if (copy) {
        memcpy(copy, s, len);
        copy[len] = '\0';
    }
    return copy;
}
