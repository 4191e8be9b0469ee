/* Help texts, made from the same tables that the parser reads. */
#ifndef CLI_HELP_H
#define CLI_HELP_H

#include "cli/base/args.h"
#include "cli/base/out.h"

/* For one command, or NULL: for all. */
void cli_help(struct cli_out *out, const struct cli_command *command);

#endif
