/* Memory and buffers of a module, counted. What others gave it, as the strings of the
 * service `json`, comes to free() too and is passed on. The functions of `mem` get no
 * context, so this record is one of the process. */
#include "helpers/check/kit.h"

#include "base/mem.h"

#include <stdint.h>

#define BUCKETS 1024

struct block {
    struct block *next;
    const void *at;
    size_t size;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct block *blocks[BUCKETS];

static struct block **slot_of(const void *p)
{
    struct block **slot = &blocks[((uintptr_t)p >> 4) % BUCKETS];
    while (*slot && (*slot)->at != p)
        slot = &(*slot)->next;
    return slot;
}

/* take `b` */
static void add(struct block *b, const void *p, size_t size)
{
    b->at = p;
    b->size = size;
    pthread_mutex_lock(&lock);
    struct block **slot = slot_of(p);
    b->next = *slot;
    *slot = b;
    pthread_mutex_unlock(&lock);
}

bool mp_kit_memory_note(const void *p, size_t size)
{
    struct block *b = mp_alloc(sizeof *b);
    if (b)
        add(b, p, size);
    return b != NULL;
}

void mp_kit_memory_forget(const void *p)
{
    pthread_mutex_lock(&lock);
    struct block **slot = slot_of(p), *b = *slot;
    if (b)
        *slot = b->next;
    pthread_mutex_unlock(&lock);
    mp_free(b);
}

size_t mp_kit_memory_left(size_t *bytes)
{
    size_t n = 0;

    *bytes = 0;
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < BUCKETS; i++)
        for (const struct block *b = blocks[i]; b; b = b->next, n++)
            *bytes += b->size;
    pthread_mutex_unlock(&lock);
    return n;
}

void *mp_kit_memory_alloc(size_t size)
{
    void *p = mp_alloc(size);
    if (p && !mp_kit_memory_note(p, size)) {
        mp_free(p);
        p = NULL;
    }
    return p;
}

void *mp_kit_memory_resize(void *p, size_t size)
{
    struct block *b = mp_alloc(sizeof *b);
    void *q = b ? mp_resize(p, size) : NULL;

    if (!q) {
        mp_free(b);
        return NULL;
    }
    if (p)
        mp_kit_memory_forget(p);
    add(b, q, size);
    return q;
}

void mp_kit_memory_free(void *p)
{
    if (p)
        mp_kit_memory_forget(p);
    mp_free(p);
}
