/* A model that the command line names: TYPE/NAME, or a name of the configuration. */
#ifndef CLI_MODEL_H
#define CLI_MODEL_H

#include "cli/base/cli.h"

#include <mcplug/mcplug.h>

#define CLI_MODEL_EXAMPLE "anthropic/claude-sonnet-4-5"

/* Before anything is done: is it a name, as the option or variable `given` has it?
 * CLI_OK, or an outcome that was reported. `set`: NAME=VALUE, which may be NULL. */
int cli_model_check(const char *name, const char *given, const struct cli_list *set);
/* give: mcplug_model_free. `set` goes on top of its settings. An outcome that is not
 * CLI_OK was reported. */
int cli_model_open(struct cli *cli, mcplug *host, const char *name,
                   const struct cli_list *set, mcplug_model **out);

#endif
