/* What a target is made of, for the files of this folder. */
#ifndef MP_CONNECT_TARGET_PRIVATE_H
#define MP_CONNECT_TARGET_PRIVATE_H

#include "connect/target.h"

struct mp_target_vault {
    struct mp_target_vault *next;
    const struct mp_offer *offer;
    mcplug_props *settings; /* what the configuration has for it */
    char name[];
};

struct mp_target {
    unsigned refs;
    mcplug_settings *settings;
    const struct mp_offer *offer; /* NULL: not known */
    bool is_elsewhere; /* its URL was put on top, and may call for another transport */
    bool has_secrets;
    uint64_t hash;

    /* The policy that judges what it comes to; NULL: there is none. */
    struct mcplug_config *judge;
    const struct mp_entry *judged; /* NULL: it was given in place */

    /* For what is looked up at each start. `config` NULL: there is nothing that could
     * be, or nobody to judge it; `entry` NULL: its settings were given in place. */
    struct mcplug_config *config;
    struct mp_entry *entry;
    mcplug_props *variables;
    mcplug_settings *overlay;
    struct mp_target_vault *vaults; /* that the entry names */
};

/* take `props`; `overlay`, which may be NULL, is put on top. give `out` */
int mp_target_make_settings(const char *type, mcplug_props *props,
                            const mcplug_settings *overlay, mcplug_settings **out,
                            struct mcplug_error *err);

#endif
