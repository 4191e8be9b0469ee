/* approve and reset-approvals: what of a project may be used. */
#include "cli/commands/commands.h"

#include "base/mem.h"
#include "cli/base/entries.h"
#include "cli/base/message.h"

#include <string.h>
#include <unistd.h>

static bool waits(const struct mp_entry *entry)
{
    return !entry->by && mp_scope_needs_approval(entry->source->scope) &&
           entry->approval != MP_APPROVAL_GIVEN && !entry->broken;
}

/* For people; with --json there is one document at the end. */
static void say(struct cli *cli, const char *before, const struct mp_entry *entry,
                const char *behind)
{
    if (!cli->args.json)
        cli_out_f(&cli->out, "%s\"%s\"%s\n", before, entry->name, behind);
}

static int approve_one(struct cli *cli, struct mp_entry *entry)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    struct cli_out *out = &cli->out;

    if (!mp_scope_needs_approval(entry->source->scope)) {
        say(cli, "", entry, " is not of a project, and wants no approval.");
        return CLI_OK;
    }
    if (entry->approval == MP_APPROVAL_GIVEN) {
        say(cli, "", entry, " is approved as it is.");
        return CLI_OK;
    }
    if (entry->broken)
        return cli_by_name_usable(cli, entry);
    if (!isatty(STDIN_FILENO) || !isatty(STDERR_FILENO)) {
        cli_error("\"%s\" is not approved: that takes a person at a terminal",
                  entry->name);
        return CLI_NO_SERVER;
    }
    cli_out_flush(out);
    if (!cli_approve_ask(entry)) {
        say(cli, "", entry, " is not approved.");
        return CLI_NO_SERVER;
    }
    if (mp_config_approve(cli->config, entry, &err) != MCPLUG_OK) {
        cli_error("%s", err.text);
        return cli_config_code(&err);
    }
    say(cli, "Approved ", entry, ".");
    return CLI_OK;
}

static void put_json(struct cli *cli)
{
    struct mp_str text;
    mp_str_init(&text, MP_FILE_MAX * 4);
    mp_str_adds(&text, "{\"servers\":[");
    for (size_t i = 0; i < cli->config->n_entries; i++) {
        const struct mp_entry *entry = &cli->config->entries[i];
        if (entry->by || !mp_scope_needs_approval(entry->source->scope))
            continue;
        mp_str_adds(&text, text.data[text.len - 1] == '[' ? "{" : ",{");
        cli_json_member(&text, "name", entry->name);
        mp_str_addf(&text, ",\"approved\":%s}",
                    entry->approval == MP_APPROVAL_GIVEN ? "true" : "false");
    }
    mp_str_adds(&text, "]}\n");
    cli_out_json(&cli->out, text.data, text.len);
    mp_str_clear(&text);
}

static int run_approve(struct cli *cli)
{
    const struct cli_list *words = &cli->args.words;
    struct mcplug_config *config = cli_config(cli);
    int worst = CLI_OK;
    size_t n = 0;

    if (!config)
        return CLI_FAILED;
    for (size_t i = 0; i < words->n; i++) {
        struct mp_entry *entry = cli_by_name_find(cli, words->items[i]);
        int code = entry ? approve_one(cli, entry) : CLI_USAGE;
        worst = code > worst ? code : worst;
    }
    for (size_t i = 0; words->n == 0 && i < config->n_entries; i++) {
        if (!waits(&config->entries[i]))
            continue;
        int code = approve_one(cli, &config->entries[i]);
        worst = code > worst ? code : worst;
        n++;
    }
    if (cli->args.json)
        put_json(cli);
    else if (words->n == 0 && n == 0)
        cli_out_s(&cli->out, "Nothing waits for approval here.\n");
    return worst;
}

/* ---- reset-approvals ---- */

static int forget(struct cli *cli, const char *file, const char *name, size_t *total)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    size_t removed;
    if (mp_approvals_remove(cli->config->paths.approvals, file, name, &removed, &err) !=
        MCPLUG_OK) {
        cli_error("%s", err.text);
        return cli_config_code(&err);
    }
    *total += removed;
    return CLI_OK;
}

static int run_reset(struct cli *cli)
{
    const struct cli_list *words = &cli->args.words;
    struct mcplug_config *config = cli_config(cli);
    int code = config ? CLI_OK : CLI_FAILED;
    size_t total = 0;

    if (cli->args.all && words->n) {
        cli_error("give either --all or names");
        return CLI_USAGE;
    }
    if (config && cli->args.all)
        code = forget(cli, NULL, NULL, &total);
    for (size_t i = 0; config && !cli->args.all && i < config->n_sources; i++) {
        const struct mp_source *source = &config->sources[i];
        if (!source->real || !mp_scope_needs_approval(source->scope))
            continue;
        for (size_t k = 0; code == CLI_OK && k < words->n; k++)
            code = forget(cli, source->real, words->items[k], &total);
        if (words->n == 0 && code == CLI_OK)
            code = forget(cli, source->real, NULL, &total);
    }
    if (code != CLI_OK)
        return code;
    if (cli->args.json)
        cli_out_f(&cli->out, "{\"forgotten\":%zu}\n", total);
    else
        cli_out_f(&cli->out, "%zu approval%s forgotten.\n", total, total == 1 ? "" : "s");
    return CLI_OK;
}

static const struct cli_option reset_options[] = {
    {"all", 0, CLI_FLAG, NULL, "those of every project, not of this one alone",
     offsetof(struct cli_args, all)},
    {.name = NULL},
};

const struct cli_command cli_cmd_approve = {
    .name = "approve",
    .words = "[NAME...]",
    .summary = "Look at what a project's files want to run, and allow it.",
    .details =
        "Servers of .mcp.json and .mcplug.local.json are used only after somebody at a "
        "terminal has seen them in full and agreed. The approval is of exactly what was "
        "shown: when the entry changes, the question comes again, with the difference. "
        "Without NAME all that wait for approval are gone through. What `mcplug add` "
        "wrote by itself is approved.",
    .flags = CLI_CONFIG,
    .max_words = CLI_MANY,
    .run = run_approve,
};

const struct cli_command cli_cmd_reset_approvals = {
    .name = "reset-approvals",
    .words = "[NAME...]",
    .summary = "Forget what was approved of this project.",
    .options = reset_options,
    .flags = CLI_CONFIG,
    .max_words = CLI_MANY,
    .run = run_reset,
};
