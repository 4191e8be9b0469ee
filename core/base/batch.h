/* Many are to be begun, in their order, and only so many run at a time: the next one
 * begins when one is done. */
#ifndef MP_BASE_BATCH_H
#define MP_BASE_BATCH_H

#include "base/shared.h"

#include <mcplug/admin.h>

#include <stdbool.h>
#include <stddef.h>

struct mp_batch {
    size_t n;    /* in all */
    size_t size; /* that run at a time, from 1 to MCPLUG_BATCH_MAX */

    void *arg;
    /* Is the i-th still to be begun, once it is its turn? */
    bool (*waits)(void *arg, size_t i);
    /* It counts as running already. false: it is done. */
    bool (*begin)(void *arg, size_t i);

    size_t next; /* the first one whose turn has not come */
    size_t running[MCPLUG_BATCH_MAX], n_running;
    bool stopped; /* no more are begun */
};

/* Has the turn of another one come? */
bool mp_batch_may_begin(struct mp_batch *b);
/* Begins one, if its turn has come: beginning may take a while, and signals are to be
 * seen in between. true: the turn of another one has come. */
MP_SHARED bool mp_batch_begin(struct mp_batch *b);
/* The i-th does not run any more; one that does not run is ignored. */
MP_SHARED void mp_batch_done(struct mp_batch *b, size_t i);
/* The i-th is none of them any more; those behind it move up. */
void mp_batch_remove(struct mp_batch *b, size_t i);

#endif
