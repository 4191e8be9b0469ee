#include "cli/base/help.h"

#include "cli/base/cli.h"

#include <mcplug/mcplug.h>

#include <stdio.h>
#include <string.h>

#define HELP_COLUMN 26

static void put_entry(struct cli_out *out, const char *left, const char *help)
{
    size_t at = 2 + strlen(left);
    cli_out_s(out, "  ");
    cli_out_s(out, left);
    if (at + 1 > HELP_COLUMN) {
        cli_out_s(out, "\n");
        at = 0;
    } else {
        cli_out_spaces(out, HELP_COLUMN - at);
        at = HELP_COLUMN;
    }
    cli_out_wrapped(out, help, strlen(help), HELP_COLUMN, at);
}

static void put_options(struct cli_out *out, const struct cli_group *group)
{
    char left[64];
    cli_out_f(out, "\n%s:\n", group->title);
    for (const struct cli_option *o = group->options; o->name; o++) {
        if (!o->help)
            continue;
        char letter[] = {'-', o->letter, ',', ' ', '\0'};
        snprintf(left, sizeof left, "%s--%s%s%s", o->letter ? letter : "", o->name,
                 o->value ? " " : "", o->value ? o->value : "");
        put_entry(out, left, o->help);
    }
}

static void put_form(struct cli_out *out, const char *head, const char *name,
                     const char *before, const char *words, const char *behind)
{
    char line[256];
    int n = snprintf(line, sizeof line, "mcplug %s%s%s%s [OPTIONS]%s", name, before,
                     *words ? " " : "", words, behind);
    cli_out_s(out, head);
    cli_out_wrapped(out, line, (size_t)n, 11, 7);
}

static void put_usage(struct cli_out *out, const struct cli_command *c)
{
    bool server = c->flags & CLI_SERVER;
    put_form(out, "Usage: ", c->name, server ? " SERVER" : "", c->words, "");
    if (!server)
        return;
    put_form(out, "       ", c->name, "", c->words, " -- PROGRAM [ARGS...]");
    put_form(out, "       ", c->name, "", c->words, " --url URL");
    if (c->flags & CLI_ALL_SERVERS)
        put_form(out, "       ", c->name, "", "", "");
}

static void help_for(struct cli_out *out, const struct cli_command *c)
{
    struct cli_group groups[CLI_GROUPS];
    size_t n = cli_command_groups(c, groups);

    put_usage(out, c);
    cli_out_s(out, "\n");
    cli_out_wrapped(out, c->summary, strlen(c->summary), 0, 0);
    if (c->details) {
        cli_out_s(out, "\n");
        cli_out_wrapped(out, c->details, strlen(c->details), 0, 0);
    }
    for (size_t i = 0; i < n; i++)
        put_options(out, &groups[i]);
}

static void help_for_all(struct cli_out *out)
{
    static const char how[] =
        "SERVER is a name that was added with `mcplug add`. Without a name, put the "
        "server's command and its arguments after --, or use --url. See `mcplug help "
        "COMMAND` for the options of a command.";
    struct cli_group groups[CLI_GROUPS];

    cli_out_s(out, "Usage: mcplug COMMAND SERVER [ARGS...] [OPTIONS]\n"
                   "       mcplug COMMAND [ARGS...] [OPTIONS] -- PROGRAM [ARGS...]\n"
                   "       mcplug COMMAND [ARGS...] [OPTIONS] --url URL\n\n"
                   "Uses servers of the Model Context Protocol (MCP) from the shell.\n\n"
                   "Commands:\n");
    for (size_t i = 0; cli_commands[i]; i++)
        if (!cli_commands[i]->hidden)
            put_entry(out, cli_commands[i]->name, cli_commands[i]->summary);
    cli_out_s(out, "\n");
    cli_out_wrapped(out, how, sizeof how - 1, 0, 0);
    cli_command_groups(NULL, groups);
    put_options(out, &groups[0]);
    cli_out_s(out, "\nExamples:\n"
                   "  mcplug add github https://api.example.com/mcp\n"
                   "  mcplug call github search q=mcplug\n"
                   "  mcplug call echo text=hello -- my-server --its-option\n"
                   "  mcplug read file:///notes.txt --url unix:/run/notes.sock\n");
}

void cli_help(struct cli_out *out, const struct cli_command *command)
{
    if (out->width == 0)
        out->width = 80;
    if (command)
        help_for(out, command);
    else
        help_for_all(out);
}
