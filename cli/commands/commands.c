#include "cli/commands/commands.h"

#include <stddef.h>

#define ADDRESS(name) &cli_cmd_##name,

const struct cli_command *const cli_commands[] = {CLI_COMMANDS(ADDRESS) NULL};
