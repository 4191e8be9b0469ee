/* The commands, one file each. */
#ifndef CLI_COMMANDS_H
#define CLI_COMMANDS_H

#include "cli/base/cli.h"

extern const struct cli_command cli_cmd_add, cli_cmd_add_json, cli_cmd_import,
    cli_cmd_add_from_claude_desktop, cli_cmd_remove, cli_cmd_list, cli_cmd_get,
    cli_cmd_enable, cli_cmd_disable, cli_cmd_approve, cli_cmd_reset_approvals,
    cli_cmd_config, cli_cmd_doctor, cli_cmd_tools, cli_cmd_call, cli_cmd_resources,
    cli_cmd_read, cli_cmd_prompts, cli_cmd_prompt, cli_cmd_complete, cli_cmd_ping,
    cli_cmd_info, cli_cmd_plugins, cli_cmd_ide, cli_cmd_completion, cli_cmd_candidates,
    cli_cmd_help, cli_cmd_search, cli_cmd_logs, cli_cmd_watch;

#endif
