/* Settings of one server or module instance: names with a value, a list of values
 * or a map. The core checks them against what the module declared before the
 * module sees them. */
#ifndef MP_PLUGIN_PROPS_H
#define MP_PLUGIN_PROPS_H

#include <mcplug/plugin.h>

#include <stdbool.h>

mcplug_props *mp_props_new(void);
mcplug_props *mp_props_copy(const mcplug_props *props); /* give; NULL: no memory */
void mp_props_free(mcplug_props *props);

int mp_props_set(mcplug_props *props, const char *name, const char *value);
int mp_props_add(mcplug_props *props, const char *name, const char *value); /* list */
int mp_props_put(mcplug_props *props, const char *name, const char *key,
                 const char *value); /* map; a key that is there is replaced */

/* As struct mcplug_diag has them: fallbacks apply once the options are attached. */
const char *mp_props_get(const mcplug_props *props, const char *name);
int64_t mp_props_int(const mcplug_props *props, const char *name, int64_t otherwise);
const char *const *mp_props_list(const mcplug_props *props, const char *name);

/* Checks every setting against `options` (NULL: none) and attaches them for their
 * fallbacks: unknown names (with the nearest known one), missing ones, malformed
 * ints, bools (true/false/yes/no/1/0), durations ("250ms", "2s", "5m", "1h", bare
 * numbers are ms), sizes ("64k", "16M", "1G"), a list where a value belongs and the
 * other way round. `what` begins the message: `transport "stdio"`. MCPLUG_ECONFIG. */
int mp_props_check(mcplug_props *props, const struct mcplug_option *options,
                   const char *what, struct mcplug_error *err);

/* The same bytes for equal settings whatever the order they were given in; to key
 * what is remembered per server. */
uint64_t mp_props_hash(const mcplug_props *props);

#endif
