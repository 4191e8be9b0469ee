/* Pins: the administrator's list of the module files that may be loaded.
 *
 * When the list exists, a module loads only if a line of it has the SHA-256 of its file
 * and its name:
 *
 *   # comment
 *   NAME SHA256HEX
 *
 * The list must belong to root and be writable for root alone. One that does not, that
 * cannot be read or that has a line of another form lets nothing load: a policy that is
 * broken must not turn into none. Modules compiled in are part of the core, and not
 * asked about. */
#ifndef MP_PLUGIN_PINS_H
#define MP_PLUGIN_PINS_H

#include "base/sha256.h"

#include <mcplug/types.h>

#include <stdbool.h>
#include <sys/types.h>

#define MP_PINS_BYTES ((size_t)1 << 20) /* the longest list */

struct mp_pin {
    char *name;
    unsigned char sha256[MP_SHA256_BYTES];
};

struct mp_pins {
    const char *path; /* borrow */
    bool exist;       /* false: there is no list, and everything may be loaded */
    struct mp_pin *list;
    size_t n, cap;
    unsigned char file[MP_SHA256_BYTES]; /* of the last mp_pins_allow_file() */
};

/* Reads the list at `path`, which must belong to `owner`. Errors begin with its path,
 * and the line if there is one. When it fails, there is nothing to clear. */
int mp_pins_read(struct mp_pins *pins, const char *path, uid_t owner,
                 struct mcplug_error *err);
void mp_pins_clear(struct mp_pins *pins);

/* Before anything of the file runs: is its SHA-256 listed? Errors begin with `file`. */
int mp_pins_allow_file(struct mp_pins *pins, const char *file, struct mcplug_error *err);
/* Then, once its descriptor is known: is it listed under that name? */
int mp_pins_allow_name(const struct mp_pins *pins, const char *file, const char *name,
                       struct mcplug_error *err);

#endif
