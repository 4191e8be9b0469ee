/* mcplug: MCP servers from the shell. */
#include "cli/base/failure.h"
#include "cli/base/help.h"
#include "cli/base/message.h"

#include <mcplug/mcplug.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

/* A command must not fail silently because its output had nowhere to go. */
static int check_output(struct cli *cli, int code)
{
    struct cli_out *out = &cli->out;

    cli_failure_put(cli, code, NULL, NULL);
    cli_out_close(out);
    if (!out->failed)
        return code;
    if (out->failed == EPIPE)
        return CLI_BROKEN_PIPE;
    cli_error("cannot write the output: %s", strerror(out->failed));
    if (code == CLI_OK) /* standard output may be another than what failed */
        cli_failure_put(cli, CLI_IO_ERROR, NULL, NULL);
    return CLI_IO_ERROR;
}

static int run(struct cli *cli, int argc, char **argv)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;

    if (argc < 2) {
        struct cli_out *out = &cli->out;
        cli_out_init(out, STDERR_FILENO);
        cli_help(out, NULL);
        return CLI_USAGE;
    }
    int r = cli_args_parse(&cli->args, argc, argv, &err);
    if (cli->args.json)
        cli_failure_arm(cli);
    if (r != MCPLUG_OK) {
        const struct cli_command *c = cli->args.command;
        cli_error("%s", err.text);
        cli_hint("See `mcplug help%s%s`.", c ? " " : "", c ? c->name : "");
        return CLI_USAGE;
    }
    if (cli->args.version) {
        cli_out_f(&cli->out, cli->args.json ? "{\"version\":\"%s\"}\n" : "mcplug %s\n",
                  mcplug_version());
        return CLI_OK;
    }
    if (cli->args.help)
        return cli_help_run(cli, cli->args.command);
    const struct cli_args *args = &cli->args;
    cli_log_show(args->quiet ? -1 : MCPLUG_LOG_WARN + args->verbose);
    r = args->log_file ? cli_log_open(args->log_file) : 0;
    if (r) {
        cli_error("cannot write the log %s: %s", args->log_file, strerror(r));
        return CLI_IO_ERROR;
    }
    return args->command->run(cli);
}

/* Whoever closed one of the first three must not have it filled by chance with something
 * else, which output would go to then. Standard output gets what can't be written, so
 * that whatever should have gone there is missed, as on a full disk. */
static void hold_descriptors(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0 &&
            open("/dev/null", (fd == STDOUT_FILENO ? O_RDONLY : O_RDWR) | O_CLOEXEC) < 0)
            return;
}

int main(int argc, char **argv)
{
    struct cli cli;
    hold_descriptors();
    memset(&cli, 0, offsetof(struct cli, out));
    signal(SIGPIPE, SIG_IGN); /* a failed write says it as well */
    signal(SIGXFSZ, SIG_IGN); /* and so it does beyond RLIMIT_FSIZE */
    cli_out_init(&cli.out, STDOUT_FILENO);
    int code = run(&cli, argc, argv);
    code = check_output(&cli, code);
    mcplug_config_free(cli.config);
    cli_args_clear(&cli.args);
    return cli_exit_code(code);
}
