/* The commands, one file each. */
#ifndef CLI_COMMANDS_H
#define CLI_COMMANDS_H

#include "cli/base/cli.h"

/* All of them, in the order of the help text: X(name) for the cli_cmd_name of a file. */
#define CLI_COMMANDS(X)                                                                  \
    X(add)                                                                               \
    X(add_json)                                                                          \
    X(import)                                                                            \
    X(add_from_claude_desktop)                                                           \
    X(list)                                                                              \
    X(watch)                                                                             \
    X(get)                                                                               \
    X(remove)                                                                            \
    X(enable)                                                                            \
    X(disable)                                                                           \
    X(approve)                                                                           \
    X(reset_approvals)                                                                   \
    X(config)                                                                            \
    X(logs)                                                                              \
    X(doctor)                                                                            \
    X(tools)                                                                             \
    X(search)                                                                            \
    X(call)                                                                              \
    X(run)                                                                               \
    X(results)                                                                           \
    X(cost)                                                                              \
    X(convert)                                                                           \
    X(resources)                                                                         \
    X(read)                                                                              \
    X(prompts)                                                                           \
    X(prompt)                                                                            \
    X(skills)                                                                            \
    X(skill)                                                                             \
    X(complete)                                                                          \
    X(ping)                                                                              \
    X(info)                                                                              \
    X(plugins)                                                                           \
    X(ide)                                                                               \
    X(completion)                                                                        \
    X(candidates)                                                                        \
    X(help)

#define CLI_DECLARE(name) extern const struct cli_command cli_cmd_##name;
CLI_COMMANDS(CLI_DECLARE)
#undef CLI_DECLARE

#endif
