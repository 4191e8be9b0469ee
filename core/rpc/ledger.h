/* The calls under way, by id. */
#ifndef MP_RPC_LEDGER_H
#define MP_RPC_LEDGER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct mp_call;

struct mp_ledger {
    struct mp_call **slots; /* open addressing, a power of two */
    size_t cap, count;
    size_t hint; /* where mp_ledger_any() found the last one */
};

bool mp_ledger_add(struct mp_ledger *l, struct mp_call *call); /* false: no memory */
struct mp_call *mp_ledger_find(const struct mp_ledger *l, uint64_t id);
void mp_ledger_remove(struct mp_ledger *l, uint64_t id);
struct mp_call *mp_ledger_any(struct mp_ledger *l); /* NULL when empty */
void mp_ledger_clear(struct mp_ledger *l);

#endif
