/* Tool arguments given as words: `key=value`, typed by the tool's JSON Schema. */
#ifndef CLI_BASE_TYPED_ARGS_H
#define CLI_BASE_TYPED_ARGS_H

#include "cli/base/tree.h"

/* Sets `key` of the object `args` from the text `value` as the property of that name
 * in `schema` (a tool's inputSchema, may be NULL) wants it: string as it is, integer
 * and number and boolean and null parsed (`numbers` notes how numbers were written; 1.0
 * and 1e3 are integers), array and object as JSON text (an array
 * also as repeated keys: each adds one element, typed by `items`); type lists, anyOf,
 * oneOf, allOf, enum, const, and local $ref ("#/...") are followed, no other $ref
 * ever is. Where several types are wanted a string is the last choice: `null` is null.
 * Without a schema or a type: JSON when it parses as such and is not a bare word (so
 * `true` is a string), else a string. What is no array is replaced by the same key's
 * next value. `a.b=value` sets a member of an object where the schema has
 * no property called "a.b". Errors (MCPLUG_EINVAL) name the key, what was given and
 * what is wanted, and the nearest property name when there is none of that name and
 * additionalProperties is false. Depth of schema walking is bounded (32). */
int cli_typed_args_set(json_t *args, const json_t *schema, const char *key,
                       const char *value, struct cli_numbers *numbers,
                       struct mcplug_error *err);

/* Names the required properties that `args` lacks, if any. */
int cli_typed_args_check_required(const json_t *args, const json_t *schema,
                                  struct mcplug_error *err);

#endif
