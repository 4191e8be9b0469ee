/* One field of a form that a server wants filled in (elicitation), after its schema. */
#ifndef CLI_FORM_FIELD_H
#define CLI_FORM_FIELD_H

#include "cli/base/tree.h"

struct mp_str;

/* What stands above the prompt: title, description, kind, limits, choices; a line
 * each, not escaped yet. */
void cli_field_describe(const char *name, const json_t *schema, bool required,
                        struct mp_str *out);
/* The declared default as the user would type it; give: mp_free, NULL: none, or one that
 * is not the same when it is typed, so it does not fit the field or cannot be shown as it
 * is. `numbers` has how those of the schema are written. */
char *cli_field_default(const json_t *schema, struct cli_numbers *numbers);
/* Reads what the user typed; `numbers` notes how a number was. give `out`; MCPLUG_EINVAL
 * with what is wanted. */
int cli_field_parse(const json_t *schema, const char *text, struct cli_numbers *numbers,
                    json_t **out, struct mcplug_error *err);
/* Does it seem to ask for a password or the like, which servers must not in a form? */
bool cli_field_is_secret(const char *name, const json_t *schema);

#endif
