/* One field of a form that a server wants filled in (elicitation), after its schema. */
#ifndef CLI_FORM_FIELD_H
#define CLI_FORM_FIELD_H

#include <mcplug/types.h>

#include <jansson.h>
#include <stdbool.h>

struct mp_str;

/* What stands above the prompt: title, description, kind, limits, choices; a line
 * each, not escaped yet. */
void cli_field_describe(const char *name, const json_t *schema, bool required,
                        struct mp_str *out);
/* The declared default as the user would type it; give: mp_free, NULL: none. */
char *cli_field_default(const json_t *schema);
/* Reads what the user typed. give `out`; MCPLUG_EINVAL with what is wanted. */
int cli_field_parse(const json_t *schema, const char *text, json_t **out,
                    struct mcplug_error *err);

#endif
