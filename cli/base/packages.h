/* What a server's type may be, and which package brings it, as the installed list of
 * packages has it: the command itself knows no transport by its name. */
#ifndef CLI_PACKAGES_H
#define CLI_PACKAGES_H

#include <mcplug/admin.h>

#include <jansson.h>
#include <stdbool.h>

/* The list, as an array of objects with "kind", "name", "package" and "summary"; empty
 * when there is none. give: json_decref; NULL: no memory */
json_t *cli_packages(void);
/* The package that brings a feature. Borrow of `packages`; NULL: not known */
const char *cli_package_of(const json_t *packages, const char *kind, const char *name);

/* The type of an entry that has a command and nothing else: a local program. */
void cli_program_type(char out[MCPLUG_TYPE_MAX]);
/* Is it that, or NULL, or another word for it? */
bool cli_is_program_type(const char *type);

#endif
