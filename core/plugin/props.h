/* Settings of one server or module instance: names with a value, a list of values
 * or a map. The core checks them against what the module declared before the
 * module sees them. */
#ifndef MP_PLUGIN_PROPS_H
#define MP_PLUGIN_PROPS_H

#include <mcplug/plugin.h>

#include "base/nearest.h"
#include "base/option.h"

#include <stdbool.h>

struct mp_str;

#define MP_PROPS_MAX 256    /* settings in one set */
#define MP_PROPS_ITEMS 4096 /* values of one list, pairs of one map */
#define MP_OPTIONS_MAX 64   /* options that one feature may declare */

mcplug_props *mp_props_new(void);
mcplug_props *mp_props_copy(const mcplug_props *props); /* give; NULL: no memory */
void mp_props_free(mcplug_props *props);                /* wipes: there may be secrets */

/* All three copy. MCPLUG_OK, _ENOMEM, _ETOOBIG (see above), or _EINVAL: a NULL, an
 * empty name, or a name that is there already in another shape. After a failure
 * everything is as before. */
int mp_props_set(mcplug_props *props, const char *name, const char *value);
int mp_props_add(mcplug_props *props, const char *name, const char *value); /* list */
void mp_props_unset(mcplug_props *props, const char *name);
int mp_props_put(mcplug_props *props, const char *name, const char *key,
                 const char *value); /* map; a key that is there is replaced */

/* As struct mcplug_diag has them: fallbacks apply once the options are attached.
 * Before that numbers are read as "int" or "bool". */
const char *mp_props_get(const mcplug_props *props, const char *name);
int64_t mp_props_int(const mcplug_props *props, const char *name, int64_t fallback);
const char *const *mp_props_list(const mcplug_props *props, const char *name);
/* Was it given, so that it is no fallback? */
bool mp_props_is_set(const mcplug_props *props, const char *name);
/* The value that a map has for `key`; NULL: none. */
const char *mp_props_map_get(const mcplug_props *props, const char *name,
                             const char *key);
/* Calls `fn` for each setting that is a URL, be it by what its module declares, once that
 * is attached, or by its name; also for a fallback. borrow */
void mp_props_each_url(const mcplug_props *props,
                       void (*fn)(void *arg, const char *name, const char *url),
                       void *arg);
/* Adds an address that must not be connected to, HOST:PORT as in ip.h, to the setting
 * that takes them, once options are attached. MCPLUG_ENOTSUP: there is none. A check
 * refuses such a setting that came in by another way. */
int mp_props_deny(mcplug_props *props, const char *address);
/* Forgets the setting of that name, if there is one. */
void mp_props_drop(mcplug_props *props, const char *name);
/* Each setting of `from` takes the place of that of the same name, whatever its shape;
 * `from` is empty after that. MCPLUG_ENOMEM or _ETOOBIG: all as before. */
int mp_props_replace(mcplug_props *props, mcplug_props *from);
/* Puts `top` on it: a value replaces one, a list goes on, a map gets more entries. As
 * mp_props_set() and the like fail. */
int mp_props_merge(mcplug_props *props, const mcplug_props *top);

/* Checks every setting against `options` (NULL: none) and attaches them for their
 * fallbacks: unknown names (with the nearest known one), missing ones, malformed
 * ints, bools (true/false/yes/no/1/0), durations ("250ms", "2s", "5m", "1h", bare
 * numbers are ms), sizes ("64k", "16M", "1G"), a list where a value belongs and the
 * other way round. `what` begins the message: `transport "stdio"`. MCPLUG_ECONFIG.
 * `options` must outlive `props` and its copies; attached on success only. */
int mp_props_check(mcplug_props *props, const struct mcplug_option *options,
                   const char *what, struct mcplug_error *err);

/* Adds the members of an object that is valid JSON: scalars as values, arrays as lists,
 * objects as maps; but the one that is called `skip` (NULL: none). MCPLUG_ECONFIG: what
 * is deeper, or null. */
int mp_props_add_json(mcplug_props *props, struct mcplug_bytes object, const char *skip,
                      struct mcplug_error *err);

/* What "isolation" of a converter may be: "process", "none", or not there. */
bool mp_isolation_is_known(struct mcplug_bytes value);

/* Appends the names of required options that are not set, as `a, b`; returns how
 * many. `props` may be NULL: nothing is set. */
size_t mp_props_missing(const mcplug_props *props, const struct mcplug_option *options,
                        struct mp_str *out);
/* A copy with only those settings that `options` know. give; NULL: no memory */
mcplug_props *mp_props_known(const mcplug_props *props,
                             const struct mcplug_option *options);

/* The same bytes for equal settings whatever the order they were given in; to key
 * what is remembered per server. Not proof against somebody who looks for two sets
 * with one hash. */
uint64_t mp_props_hash(const mcplug_props *props);

/* Are they the same, whatever the order? */
bool mp_props_equal(const mcplug_props *a, const mcplug_props *b);

#endif
