/* remove, enable and disable: what changes one entry that is there. */
#include "cli/commands/commands.h"

#include "base/mem.h"
#include "cli/base/entries.h"
#include "cli/base/journal.h"
#include "cli/base/message.h"

#include <string.h>

#define TEXT_MAX ((size_t)1 << 20)

static int tell(struct cli *cli, const char *what, const struct mcplug_entry_info *e)
{
    struct cli_out *out = &cli->out;
    if (cli->args.json) {
        struct mp_str text;
        mp_str_init(&text, TEXT_MAX);
        mp_str_addc(&text, '{');
        cli_json_member(&text, "name", e->name);
        cli_json_member(&text, "done", what);
        cli_json_member(&text, "scope", cli_scope_name(e->scope));
        cli_json_member(&text, "file", e->file);
        mp_str_adds(&text, "}\n");
        return cli_put_document(cli, &text, CLI_OK);
    }
    cli_out_f(out, "%c%s server \"%s\" ", what[0] - 'a' + 'A', what + 1, e->name);
    cli_out_f(out, "%s the %s scope: ", strcmp(what, "removed") == 0 ? "from" : "in",
              cli_scope_name(e->scope));
    cli_out_shown(out, e->file, strlen(e->file));
    cli_out_s(out, "\n");
    return CLI_OK;
}

static int finish(struct cli *cli, int r, const char *what, const mcplug_entry *entry,
                  const struct mcplug_error *err)
{
    struct mcplug_entry_info e = cli_entry_info(entry);

    if (r != MCPLUG_OK) {
        cli_error("%s", err->text);
        return cli_config_code(err);
    }
    return tell(cli, what, &e);
}

/* What is known of the definition goes with it; what is known of those that had the name
 * before, and the log, once no scope has the name. */
static void forget(const struct cli *cli, const mcplug_entry *entry)
{
    const mcplug_config *config = cli->config;
    const char *name = mcplug_entry_name(entry);
    const mcplug_entry *other;

    mcplug_known_forget(entry, 0);
    for (size_t i = 0; (other = mcplug_entry_at(config, i)); i++)
        if (other != entry && strcmp(mcplug_entry_name(other), name) == 0)
            return;
    mcplug_known_forget(entry, 1);
    cli_journal_remove(&cli->paths, name);
}

static int run_remove(struct cli *cli)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    mcplug_entry *entry = NULL;
    int code = cli_entry_pick(cli, cli->args.words.items[0], &entry);
    if (code != CLI_OK)
        return code;
    int r = mcplug_entry_remove(entry, &err);
    if (r == MCPLUG_OK)
        forget(cli, entry);
    return finish(cli, r, "removed", entry, &err);
}

static int set_disabled(struct cli *cli, bool disabled)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    const char *what = disabled ? "disabled" : "enabled";
    mcplug_entry *entry = NULL;
    int code = cli_entry_pick(cli, cli->args.words.items[0], &entry);
    if (code != CLI_OK)
        return code;
    int r =
        disabled ? mcplug_entry_disable(entry, &err) : mcplug_entry_enable(entry, &err);
    if (r == MCPLUG_OK && cli_entry_info(entry).disabled == disabled && !cli->args.quiet)
        cli_note("note: it was already %s", what);
    return finish(cli, r, what, entry, &err);
}

static int run_enable(struct cli *cli)
{
    return set_disabled(cli, false);
}

static int run_disable(struct cli *cli)
{
    return set_disabled(cli, true);
}

static const struct cli_option options[] = {
    {"scope", 's', CLI_TEXT, "SCOPE",
     "the scope, if several have the name: local, project or user",
     offsetof(struct cli_args, scope), .complete.is = CLI_WORD_SCOPE},
    {.name = NULL},
};

const struct cli_command cli_cmd_remove = {
    .name = "remove",
    .words = "NAME",
    .summary = "Remove a server from the configuration.",
    .options = options,
    .flags = CLI_CONFIG,
    .min_words = 1,
    .max_words = 1,
    .complete = {{.is = CLI_WORD_SERVER}},
    .run = run_remove,
};

const struct cli_command cli_cmd_enable = {
    .name = "enable",
    .words = "NAME",
    .summary = "Enable a server that was disabled.",
    .options = options,
    .flags = CLI_CONFIG,
    .min_words = 1,
    .max_words = 1,
    .complete = {{.is = CLI_WORD_SERVER_DISABLED}},
    .run = run_enable,
};

const struct cli_command cli_cmd_disable = {
    .name = "disable",
    .words = "NAME",
    .summary = "Disable a server, but keep it in the configuration.",
    .options = options,
    .flags = CLI_CONFIG,
    .min_words = 1,
    .max_words = 1,
    .complete = {{.is = CLI_WORD_SERVER_ENABLED}},
    .run = run_disable,
};
