#include "rpc/ledger.h"

#include "base/mem.h"
#include "rpc/rpc.h"

static struct mp_call **chain_of(const struct mp_ledger *l, uint64_t id)
{
    return &l->chains[id & (l->cap - 1)]; /* ids count up, so they spread by themselves */
}

static bool grow(struct mp_ledger *l)
{
    struct mp_ledger bigger = *l;

    bigger.cap = l->cap ? l->cap * 2 : 16;
    bigger.chains = mp_alloc(bigger.cap * sizeof *bigger.chains);
    if (!bigger.chains)
        return false;
    for (struct mp_call *call = l->oldest; call; call = call->newer) {
        struct mp_call **chain = chain_of(&bigger, call->id);
        call->chained = *chain;
        *chain = call;
    }
    mp_free(l->chains);
    *l = bigger;
    return true;
}

bool mp_ledger_add(struct mp_ledger *l, struct mp_call *call)
{
    if (l->count == l->cap && !grow(l))
        return false;
    struct mp_call **chain = chain_of(l, call->id);
    call->chained = *chain;
    *chain = call;
    l->count++;
    call->older = l->newest;
    call->newer = NULL;
    *(l->newest ? &l->newest->newer : &l->oldest) = call;
    l->newest = call;
    return true;
}

struct mp_call *mp_ledger_find(const struct mp_ledger *l, uint64_t id)
{
    struct mp_call *call = l->count ? *chain_of(l, id) : NULL;

    while (call && call->id != id)
        call = call->chained;
    return call;
}

void mp_ledger_remove(struct mp_ledger *l, uint64_t id)
{
    struct mp_call *call = mp_ledger_find(l, id);

    if (!call)
        return;
    struct mp_call **at = chain_of(l, id);
    while (*at != call)
        at = &(*at)->chained;
    *at = call->chained;
    l->count--;
    *(call->older ? &call->older->newer : &l->oldest) = call->newer;
    *(call->newer ? &call->newer->older : &l->newest) = call->older;
}

void mp_ledger_clear(struct mp_ledger *l)
{
    mp_free(l->chains);
    *l = (struct mp_ledger){0};
}
