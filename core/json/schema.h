/* The little of JSON Schema that typing a word takes: which properties there are and
 * what values they accept. */
#ifndef MP_JSON_SCHEMA_H
#define MP_JSON_SCHEMA_H

#include "json/walk.h"

#include <jansson.h>

/* Schemas that hold in one place together. What does not fit is not looked at. */
struct mp_schemas {
    const json_t *root; /* where local references begin */
    const json_t *of[128];
    size_t n, given; /* the first `given` were added, the others are referred to */
};

MP_SHARED void mp_schemas_init(struct mp_schemas *set, const json_t *root);
MP_SHARED void mp_schemas_add(struct mp_schemas *set, const json_t *schema);

/* Adds what the schemas refer to: local $ref and allOf, and with `choices` anyOf and
 * oneOf as well. Each is added once, so that circles end. */
MP_SHARED void mp_schemas_expand(struct mp_schemas *set, bool choices);

/* The following take expanded sets and give such. */

/* What is said of the property `name`; false: nothing. */
MP_SHARED bool mp_schemas_property(const struct mp_schemas *set, const char *name,
                                   struct mp_schemas *out);
/* What is said of properties that have no name of their own; false: there may be
 * none. */
MP_SHARED bool mp_schemas_additional(const struct mp_schemas *set,
                                     struct mp_schemas *out);
/* What is said of the element `index` of an array; false: no array is wanted. */
MP_SHARED bool mp_schemas_element(const struct mp_schemas *set, size_t index,
                                  struct mp_schemas *out);
/* Does anything say which type is wanted? */
MP_SHARED bool mp_schemas_typed(const struct mp_schemas *set);
/* May it be an object? */
MP_SHARED bool mp_schemas_object(const struct mp_schemas *set);
/* Does one of the schemas that were added accept `value`? Looks at types, enum, const,
 * references, combinations and array elements only, at most 32 levels deep. */
MP_SHARED bool mp_schemas_accept(const struct mp_schemas *set, const json_t *value);

/* Puts what is wanted in words: `an integer or null`. */
MP_SHARED void mp_schemas_describe(const struct mp_schemas *set, char *out, size_t size);
/* borrow; the property whose name differs least from `name`, NULL: there are none. */
MP_SHARED const char *mp_schemas_nearest(const struct mp_schemas *set, const char *name);

#endif
