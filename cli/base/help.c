#include "cli/base/help.h"

#include "base/buf.h"
#include "base/mem.h"
#include "cli/base/doc.h"

#include <mcplug/mcplug.h>

#include <stdio.h>
#include <string.h>

#define HELP_COLUMN 26
#define JSON_MAX ((size_t)1 << 20)

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

#define FORMS 4
struct forms { /* in which a command may be written */
    char lines[FORMS][256];
    size_t n;
};

static void add_form(struct forms *f, const char *name, const char *before,
                     const char *words, const char *behind)
{
    snprintf(f->lines[f->n++], sizeof f->lines[0], "mcplug %s%s%s%s [OPTIONS]%s", name,
             before, *words ? " " : "", words, behind);
}

static struct forms forms_of(const struct cli_command *c)
{
    bool server = c->flags & CLI_SERVER;
    struct forms f = {.n = 0};

    add_form(&f, c->name, server ? " SERVER" : "", c->words, "");
    if (server) {
        add_form(&f, c->name, "", c->words, " -- PROGRAM [ARGS...]");
        add_form(&f, c->name, "", c->words, " --url URL");
    }
    if (server && c->flags & CLI_ALL_SERVERS)
        add_form(&f, c->name, "", "", "");
    return f;
}

static void put_usage(struct cli_out *out, const struct cli_command *c)
{
    struct forms f = forms_of(c);
    for (size_t i = 0; i < f.n; i++) {
        cli_out_s(out, i ? "       " : "Usage: ");
        cli_out_wrapped(out, f.lines[i], strlen(f.lines[i]), 11, 7);
    }
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

static const char summary[] =
    "Uses servers of the Model Context Protocol (MCP) from the shell.";
static const char how[] =
    "SERVER is a name that was added with `mcplug add`. Without a name, put the "
    "server's command and its arguments after --, or use --url. See `mcplug help "
    "COMMAND` for the options of a command.";
static const char *const all_forms[] = {
    "mcplug COMMAND SERVER [ARGS...] [OPTIONS]",
    "mcplug COMMAND [ARGS...] [OPTIONS] -- PROGRAM [ARGS...]",
    "mcplug COMMAND [ARGS...] [OPTIONS] --url URL",
};

static void help_for_all(struct cli_out *out)
{
    struct cli_group groups[CLI_GROUPS];

    for (size_t i = 0; i < MP_COUNT(all_forms); i++)
        cli_out_f(out, "%s%s\n", i ? "       " : "Usage: ", all_forms[i]);
    cli_out_f(out, "\n%s\n\nCommands:\n", summary);
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

/* ---- for programs ---- */

static void add_text(struct mp_str *out, const char *name, const char *text)
{
    if (out->len && out->data[out->len - 1] != '{')
        mp_str_addc(out, ',');
    mp_str_addf(out, "\"%s\":", name);
    if (text)
        mp_str_add_json(out, text, strlen(text));
    else
        mp_str_adds(out, "null");
}

static void add_usage(struct mp_str *out, const struct cli_command *command)
{
    struct forms f = {.n = 0};
    size_t n = MP_COUNT(all_forms);

    if (command) {
        f = forms_of(command);
        n = f.n;
    }
    mp_str_adds(out, ",\"usage\":[");
    for (size_t i = 0; i < n; i++) {
        const char *line = command ? f.lines[i] : all_forms[i];
        mp_str_adds(out, i ? "," : "");
        mp_str_add_json(out, line, strlen(line));
    }
    mp_str_addc(out, ']');
}

static void add_commands(struct mp_str *out)
{
    bool any = false;

    mp_str_adds(out, ",\"commands\":[");
    for (size_t i = 0; cli_commands[i]; i++) {
        if (cli_commands[i]->hidden)
            continue;
        mp_str_adds(out, any ? ",{" : "{");
        add_text(out, "name", cli_commands[i]->name);
        add_text(out, "summary", cli_commands[i]->summary);
        mp_str_addc(out, '}');
        any = true;
    }
    mp_str_addc(out, ']');
}

static void add_options(struct mp_str *out, const struct cli_command *command)
{
    struct cli_group groups[CLI_GROUPS];
    size_t n = cli_command_groups(command, groups);
    bool any = false;

    mp_str_adds(out, ",\"options\":[");
    for (size_t i = 0; i < n; i++)
        for (const struct cli_option *o = groups[i].options; o->name; o++) {
            char letter[] = {o->letter, '\0'};
            if (!o->help)
                continue;
            mp_str_adds(out, any ? ",{" : "{");
            add_text(out, "name", o->name);
            add_text(out, "letter", o->letter ? letter : NULL);
            add_text(out, "value", o->value);
            add_text(out, "help", o->help);
            mp_str_addc(out, '}');
            any = true;
        }
    mp_str_addc(out, ']');
}

int cli_help_run(struct cli *cli, const struct cli_command *command)
{
    struct mp_str text;

    if (!cli->args.json) {
        cli_help(&cli->out, command);
        return CLI_OK;
    }
    mp_str_init(&text, JSON_MAX);
    mp_str_addc(&text, '{');
    add_text(&text, "command", command ? command->name : NULL);
    add_usage(&text, command);
    add_text(&text, "summary", command ? command->summary : summary);
    add_text(&text, "details", command ? command->details : how);
    if (!command)
        add_commands(&text);
    add_options(&text, command);
    mp_str_adds(&text, "}\n");
    return cli_put_document(cli, &text, CLI_OK);
}
