/* The calls under way, by id and by age. */
#ifndef MP_RPC_LEDGER_H
#define MP_RPC_LEDGER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct mp_call;

struct mp_ledger {
    struct mp_call **chains; /* by the last bits of the id; a power of two */
    size_t cap, count;
    struct mp_call *oldest, *newest;
};

/* `oldest` is the one that was added first of those that are in; NULL when empty. */
bool mp_ledger_add(struct mp_ledger *l, struct mp_call *call); /* false: no memory */
struct mp_call *mp_ledger_find(const struct mp_ledger *l, uint64_t id);
void mp_ledger_remove(struct mp_ledger *l, uint64_t id);
void mp_ledger_clear(struct mp_ledger *l);

#endif
