/* Help texts, made from the same tables that the parser reads. */
#ifndef CLI_HELP_H
#define CLI_HELP_H

#include "cli/base/cli.h"

/* For one command, or NULL: for all. */
void cli_help(struct cli_out *out, const struct cli_command *command);
/* The same on standard output, as JSON with --json. Returns the outcome. */
int cli_help_run(struct cli *cli, const struct cli_command *command);

#endif
