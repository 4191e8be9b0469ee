/* Why a text is no JSON, in people's words. */
#ifndef MP_CONFIG_JSONFAULT_H
#define MP_CONFIG_JSONFAULT_H

#include "json/walk.h"

/* A scan of `text` stopped at byte `*at` with that fault of json/fault.h. `*at` becomes
 * the byte that people have to look at. MCPLUG_ECONFIG or MCPLUG_ETOOBIG. */
int mp_json_fault(mp_view text, unsigned fault, size_t *at, struct mcplug_error *err);

/* How much of a name fits into a message: whole characters, for "%.*s". */
enum { MP_JSON_SHOWN = 60 };
int mp_json_shown(const char *s, size_t len);

#endif
