/* Modules as the command shows them: JSON objects, made in a child process by loading
 * the file, or here for those that are compiled in. */
#ifndef CLI_MODULES_H
#define CLI_MODULES_H

#include "cli/base/cli.h"

#include <mcplug/mcplug.h>

#include <jansson.h>

/* Everything that is found, as an array. Each has "state": "ok", "built in", "refused",
 * "crashed" or "stuck", the latter three with "error". give; NULL with `err`. */
json_t *cli_modules_find(struct cli *cli, struct mcplug_error *err);

/* A host that looks for modules where the command line says. give: mcplug_free */
mcplug *cli_modules_host(struct cli *cli, bool silent, struct mcplug_error *err);

/* The feature that a "type" means, as an object; its module is loaded. give; NULL: no
 * module has it, or it is refused. */
json_t *cli_modules_type(struct cli *cli, const char *type);

/* In the child: loads `file` and reports its object. */
int cli_modules_inspect(struct cli *cli, const char *file);

/* Runs the contract kit, mcplug-check, over a file. The words are its settings. */
int cli_modules_check(struct cli *cli, const char *file);

#endif
