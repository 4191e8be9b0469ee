#include "base/batch.h"

#include <string.h>

bool mp_batch_may_begin(struct mp_batch *b)
{
    while (b->next < b->n && !b->waits(b->arg, b->next))
        b->next++;
    return !b->stopped && b->next < b->n && b->n_running < b->size;
}

bool mp_batch_begin(struct mp_batch *b)
{
    if (!mp_batch_may_begin(b))
        return false;
    size_t i = b->next++;
    b->running[b->n_running++] = i;
    if (!b->begin(b->arg, i))
        mp_batch_done(b, i);
    return mp_batch_may_begin(b);
}

void mp_batch_done(struct mp_batch *b, size_t i)
{
    size_t k = 0;

    while (k < b->n_running && b->running[k] != i)
        k++;
    if (k == b->n_running)
        return;
    b->n_running--;
    memmove(&b->running[k], &b->running[k + 1], (b->n_running - k) * sizeof *b->running);
}

void mp_batch_remove(struct mp_batch *b, size_t i)
{
    mp_batch_done(b, i);
    for (size_t k = 0; k < b->n_running; k++)
        b->running[k] -= b->running[k] > i;
    b->next -= b->next > i;
    b->n -= b->n > i;
}
