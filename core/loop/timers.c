#include "loop/timers.h"

#include "base/mem.h"

static void place(struct mp_timers *t, size_t slot, struct mp_timer *timer)
{
    t->heap[slot] = timer;
    timer->slot = slot;
}

/* Of two that are due at once, the one started first goes first. */
static bool before(const struct mp_timer *a, const struct mp_timer *b)
{
    return a->due != b->due ? a->due < b->due : a->seq < b->seq;
}

static void sift_up(struct mp_timers *t, size_t slot)
{
    struct mp_timer *timer = t->heap[slot];
    while (slot > 1 && before(timer, t->heap[slot / 2])) {
        place(t, slot, t->heap[slot / 2]);
        slot /= 2;
    }
    place(t, slot, timer);
}

static void sift_down(struct mp_timers *t, size_t slot)
{
    struct mp_timer *timer = t->heap[slot];
    for (;;) {
        size_t child = slot * 2;
        if (child > t->count)
            break;
        if (child < t->count && before(t->heap[child + 1], t->heap[child]))
            child++;
        if (!before(t->heap[child], timer))
            break;
        place(t, slot, t->heap[child]);
        slot = child;
    }
    place(t, slot, timer);
}

bool mp_timers_add(struct mp_timers *t, struct mp_timer *timer)
{
    if (t->count + 2 > t->cap) {
        size_t cap = t->cap ? t->cap * 2 : 16;
        struct mp_timer **heap = mp_resize(t->heap, cap * sizeof *heap);
        if (!heap)
            return false;
        t->heap = heap;
        t->cap = cap;
    }
    timer->seq = ++t->seq;
    t->heap[++t->count] = timer;
    sift_up(t, t->count);
    return true;
}

void mp_timers_remove(struct mp_timers *t, struct mp_timer *timer)
{
    size_t slot = timer->slot;
    if (slot == 0)
        return;
    timer->slot = 0;
    struct mp_timer *moved = t->heap[t->count--];
    if (moved == timer)
        return;
    place(t, slot, moved);
    sift_up(t, slot);
    sift_down(t, moved->slot);
}

uint64_t mp_timers_next(const struct mp_timers *t)
{
    return t->count ? t->heap[1]->due : 0;
}

struct mp_timer *mp_timers_due(struct mp_timers *t, uint64_t now, uint64_t seq)
{
    if (t->count == 0 || t->heap[1]->due > now || t->heap[1]->seq > seq)
        return NULL;
    struct mp_timer *timer = t->heap[1];
    mp_timers_remove(t, timer);
    return timer;
}

void mp_timers_clear(struct mp_timers *t)
{
    mp_free(t->heap);
    *t = (struct mp_timers){0};
}
