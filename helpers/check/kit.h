/* The kit behind `mcplug plugins --check`: it plays the core for one module. The way
 * in is the catalogue's own; behind `wire` and the counted buffers stand records of
 * what the module does with them. */
#ifndef CHECK_KIT_H
#define CHECK_KIT_H

#include "plugin/catalogue.h"

/* Tries a module against its contract: descriptor, options, init and fini twice, and
 * for transports one life (open, a ping-like frame, close) with `settings` on a loop
 * of its own, with everything it tells the core checked for order and count. `report`
 * gets one line per finding; advice has passed and begins with "warning: ". Returns
 * the number of failed checks, not loading being one, or a negative error when the
 * kit itself cannot work. `settings` may be NULL; a transport that needs some is not
 * brought to life, and a line tells which. The module must not be loaded by anybody
 * else in this process; a broken one may take the process with it. */
int mp_plugin_contract(const char *file, const mcplug_props *settings,
                       void (*report)(void *arg, bool passed, const char *line),
                       void *arg, struct mcplug_error *err);

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

/* ---- transport.c ---- */

extern const struct mcplug_mem mp_kit_mem;
extern const struct mcplug_wire mp_kit_wire;

/* One life of a transport, from open() to destroy(), with `settings` that are checked
 * already. */
void mp_kit_live(struct mp_kit *kit, const struct mp_offer *offer,
                 const mcplug_props *settings);

#endif
