#include "rpc/ledger.h"

#include "base/mem.h"
#include "rpc/rpc.h"

static size_t home(const struct mp_ledger *l, uint64_t id)
{
    /* Scattered: neighbours in a row would make every removal walk past them all. */
    return (size_t)(id * 0x9e3779b97f4a7c15u >> 20) & (l->cap - 1);
}

static void put(struct mp_ledger *l, struct mp_call *call)
{
    size_t at = home(l, call->id);
    while (l->slots[at])
        at = (at + 1) & (l->cap - 1);
    l->slots[at] = call;
}

static bool grow(struct mp_ledger *l)
{
    struct mp_ledger bigger = *l;

    bigger.cap = l->cap ? l->cap * 2 : 16;
    bigger.slots = mp_alloc(bigger.cap * sizeof *bigger.slots);
    if (!bigger.slots)
        return false;
    for (size_t i = 0; i < l->cap; i++)
        if (l->slots[i])
            put(&bigger, l->slots[i]);
    mp_free(l->slots);
    *l = bigger;
    return true;
}

bool mp_ledger_add(struct mp_ledger *l, struct mp_call *call)
{
    if ((l->count + 1) * 2 > l->cap && !grow(l))
        return false;
    put(l, call);
    l->count++;
    call->older = l->newest;
    call->newer = NULL;
    *(l->newest ? &l->newest->newer : &l->oldest) = call;
    l->newest = call;
    return true;
}

static bool locate(const struct mp_ledger *l, uint64_t id, size_t *at)
{
    if (l->count == 0)
        return false;
    for (*at = home(l, id); l->slots[*at]; *at = (*at + 1) & (l->cap - 1))
        if (l->slots[*at]->id == id)
            return true;
    return false;
}

struct mp_call *mp_ledger_find(const struct mp_ledger *l, uint64_t id)
{
    size_t at;
    return locate(l, id, &at) ? l->slots[at] : NULL;
}

static void unlink_call(struct mp_ledger *l, const struct mp_call *call)
{
    *(call->older ? &call->older->newer : &l->oldest) = call->newer;
    *(call->newer ? &call->newer->older : &l->newest) = call->older;
}

/* Takes one out and moves up those behind it that would not be found any more. */
void mp_ledger_remove(struct mp_ledger *l, uint64_t id)
{
    size_t hole;
    if (!locate(l, id, &hole))
        return;
    unlink_call(l, l->slots[hole]);
    l->slots[hole] = NULL;
    l->count--;
    for (size_t at = (hole + 1) & (l->cap - 1); l->slots[at];
         at = (at + 1) & (l->cap - 1)) {
        size_t want = home(l, l->slots[at]->id);
        if (((at - want) & (l->cap - 1)) >= ((at - hole) & (l->cap - 1))) {
            l->slots[hole] = l->slots[at];
            l->slots[at] = NULL;
            hole = at;
        }
    }
}

void mp_ledger_clear(struct mp_ledger *l)
{
    mp_free(l->slots);
    *l = (struct mp_ledger){0};
}
