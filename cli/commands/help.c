#include "cli/commands/commands.h"

#include "cli/base/help.h"
#include "base/nearest.h"
#include "cli/base/message.h"

#include <string.h>

static int run(struct cli *cli)
{
    const struct cli_command *command = NULL;
    if (cli->args.words.n) {
        const char *name = cli->args.words.items[0], *best = NULL;
        command = cli_command_find(name, strlen(name));
        for (size_t i = 0; !command && cli_commands[i]; i++)
            if (!cli_commands[i]->hidden)
                mp_nearest(name, cli_commands[i]->name, &best);
        if (!command) {
            cli_error("there is no command \"%s\"%s%s%s", name,
                      best ? "; did you mean \"" : "", best ? best : "",
                      best ? "\"?" : "");
            return CLI_NOT_FOUND;
        }
    }
    return cli_help_run(cli, command);
}

const struct cli_command cli_cmd_help = {
    .name = "help",
    .words = "[COMMAND]",
    .summary = "Show help for a command, or list all commands.",
    .max_words = 1,
    .complete = {{.is = CLI_WORD_COMMAND}},
    .run = run,
};
