#include "commands.h"

#include <stddef.h>

const struct cli_command *const cli_commands[] = {
    &cli_cmd_tools,
    &cli_cmd_call,
    &cli_cmd_resources,
    &cli_cmd_read,
    &cli_cmd_prompts,
    &cli_cmd_prompt,
    &cli_cmd_complete,
    &cli_cmd_ping,
    &cli_cmd_info,
    &cli_cmd_plugins,
    &cli_cmd_ide,
    &cli_cmd_help,
    NULL,
};
