/* Does a value conform to a JSON Schema? As far as a host has to know: what a server
 * promised of its results. [any]
 *
 * Known are type, enum, const, required, properties, additionalProperties, items,
 * prefixItems, minimum, maximum, minLength, maxLength, minItems, maxItems, allOf, anyOf,
 * oneOf, not, and $ref inside of the schema; what else a schema says is not looked at.
 * Nothing is fetched. */
#ifndef MP_JSON_CONFORM_H
#define MP_JSON_CONFORM_H

#include "json/walk.h"

#define MP_CONFORM_DEPTH 64     /* of values and schemas in each other */
#define MP_CONFORM_STEPS 200000 /* schemas that are applied to values */

/* MCPLUG_OK: it does, or that would take more than the above to tell. MCPLUG_EPROTO: it
 * does not, and `err` names the place and what was expected. Both have passed a scan. */
int mp_conform(mp_view schema, mp_view value, struct mcplug_error *err);

#endif
