/* The kit behind `mcplug plugins --check`: it plays the core for one module. The way
 * in is the catalogue's own; behind `wire` and the counted buffers stand records of
 * what the module does with them. */
#ifndef MP_PLUGIN_KIT_H
#define MP_PLUGIN_KIT_H

#include "plugin/catalogue.h"

struct mp_kit {
    void (*report)(void *arg, bool passed, const char *line);
    void *arg;
    int failed;
    struct mp_loop *loop;
    struct mp_catalogue *cat;
    bool stuck; /* an instance could not be ended: nothing may be freed */
};

/* One finding. */
void mp_kit_say(struct mp_kit *kit, bool passed, const char *fmt, ...)
    MCPLUG_PRINTF(3, 4);

/* ---- contract_transport.c ---- */

extern const struct mcplug_mem mp_kit_mem;
extern const struct mcplug_wire mp_kit_wire;

/* One life of a transport, from open() to destroy(), with `settings` that are checked
 * already. */
void mp_kit_live(struct mp_kit *kit, const struct mp_offer *offer,
                 const mcplug_props *settings);

#endif
