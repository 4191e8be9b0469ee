/* A search for a server by a locator, on a thread of its own: it may block. There are
 * MP_SEARCHES at a time, others wait. One that does not answer in time is left behind,
 * and counts until its thread ends after all. [loop] */
#ifndef MP_CONNECT_LOCATE_H
#define MP_CONNECT_LOCATE_H

#include "connect/settings.h"
#include "loop/loop.h"
#include "plugin/catalogue.h"

enum {
    MP_SEARCHES = 4,
    MP_SEARCHES_WAIT_MS = 300, /* for those left behind, before the host ends */
    MP_PLACE_FACTS = 32,
    MP_PLACE_WORDS = 64,    /* of a clean-up command */
    MP_PLACE_TEXT = 1 << 16 /* bytes of anything */
};

/* What a locator has found. */
struct mcplug_place {
    mcplug_settings *settings; /* its type: NULL until it is told */
    struct mcplug_pair facts[MP_PLACE_FACTS];
    size_t n_facts;
    char *greeting, *greeting_params; /* NULL: none */
    int failed;                       /* MCPLUG_E* of the first function that did */
};

struct mp_locate; /* a search under way */

struct mp_searches { /* of one host */
    struct mp_loop *loop;
    struct mp_search_thread *threads[MP_SEARCHES]; /* NULL: none */
    struct mp_locate *first, **last;               /* that wait for one */
};

extern const struct mcplug_place_ops mp_place_ops;

void mp_searches_init(struct mp_searches *searches, struct mp_loop *loop);
/* When none is under way. Waits a little for those that were left behind; the modules of
 * others stay. */
void mp_searches_clear(struct mp_searches *searches);

/* `settings` have been checked for the locator that `offer` is. `done` runs once, with
 * the place, borrow, or the reason why there is none; unless it is cancelled. */
int mp_locate_start(struct mp_searches *searches, const struct mp_offer *offer,
                    const mcplug_props *settings, uint64_t ms,
                    void (*done)(void *arg, const struct mcplug_place *place,
                                 const struct mcplug_error *why),
                    void *arg, struct mp_locate **out, struct mcplug_error *err);
void mp_locate_cancel(struct mp_locate *locate);

#endif
