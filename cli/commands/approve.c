/* approve and reset-approvals: what of a project may be used. */
#include "cli/commands/commands.h"

#include "base/mem.h"
#include "cli/base/entries.h"
#include "cli/base/message.h"

#include <string.h>
#include <unistd.h>

#define TEXT_MAX ((size_t)4 << 20)

static bool is_asked(const struct mcplug_entry_info *e)
{
    return mcplug_scope_info(e->scope)->needs_approval;
}

static bool waits(const struct mcplug_entry_info *e)
{
    return !e->shadowed_by && e->approval != MCPLUG_APPROVAL_GIVEN && !e->broken;
}

/* For people; with --json there is one document at the end. */
static void say(struct cli *cli, const char *before, const mcplug_entry *entry,
                const char *behind)
{
    if (!cli->args.json)
        cli_out_f(&cli->out, "%s\"%s\"%s\n", before, mcplug_entry_name(entry), behind);
}

static int approve_one(struct cli *cli, mcplug_entry *entry)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    struct mcplug_entry_info e = cli_entry_info(entry);
    struct cli_out *out = &cli->out;

    if (!is_asked(&e)) {
        say(cli, "", entry, " is not a project's server and needs no approval.");
        return CLI_OK;
    }
    if (e.approval == MCPLUG_APPROVAL_GIVEN) {
        say(cli, "", entry, " is already approved.");
        return CLI_OK;
    }
    if (mcplug_entry_state(entry, &err) == MCPLUG_ENTRY_BROKEN)
        return cli_by_name_usable(cli, entry);
    if (!isatty(STDIN_FILENO) || !isatty(STDERR_FILENO)) {
        cli_error("\"%s\" is not approved: run this command at a terminal", e.name);
        return CLI_NEEDS_APPROVAL;
    }
    cli_out_flush(out);
    if (!cli_approve_ask(cli, entry)) {
        say(cli, "", entry, " is not approved.");
        return CLI_NEEDS_APPROVAL;
    }
    if (mcplug_entry_approve(entry, &err) != MCPLUG_OK) {
        cli_error("%s", err.text);
        return cli_config_code(&err);
    }
    say(cli, "Approved ", entry, ".");
    return CLI_OK;
}

static int put_json(struct cli *cli, int outcome)
{
    const mcplug_entry *entry;
    struct mp_str text;
    mp_str_init(&text, TEXT_MAX);
    mp_str_adds(&text, "{\"servers\":[");
    for (size_t i = 0; (entry = mcplug_entry_at(cli->config, i)); i++) {
        struct mcplug_entry_info e = cli_entry_info(entry);
        if (e.shadowed_by || !is_asked(&e))
            continue;
        mp_str_adds(&text, text.data[text.len - 1] == '[' ? "{" : ",{");
        cli_json_member(&text, "name", e.name);
        mp_str_addf(&text, ",\"approved\":%s}",
                    e.approval == MCPLUG_APPROVAL_GIVEN ? "true" : "false");
    }
    mp_str_adds(&text, "]}\n");
    return cli_put_document(cli, &text, outcome);
}

static int run_approve(struct cli *cli)
{
    const struct cli_list *words = &cli->args.words;
    mcplug_config *config = cli_config(cli);
    mcplug_entry *entry;
    int worst = CLI_OK;
    size_t n = 0;

    if (!config)
        return CLI_BAD_CONFIG;
    for (size_t i = 0; i < words->n; i++) {
        entry = cli_by_name_find(cli, words->items[i]);
        int code = entry ? approve_one(cli, entry) : CLI_NOT_FOUND;
        worst = cli_worse(worst, code);
    }
    for (size_t i = 0; words->n == 0 && (entry = mcplug_entry_at(config, i)); i++) {
        struct mcplug_entry_info e = cli_entry_info(entry);
        if (!waits(&e))
            continue;
        int code = approve_one(cli, entry);
        worst = cli_worse(worst, code);
        n++;
    }
    if (cli->args.json && (worst == CLI_OK || worst == CLI_NEEDS_APPROVAL))
        worst = put_json(cli, worst);
    else if (!cli->args.json && words->n == 0 && n == 0)
        cli_out_s(&cli->out, "No server needs approval here.\n");
    return worst;
}

/* ---- reset-approvals ---- */

static int forget(struct cli *cli, size_t *total, struct mcplug_error *err)
{
    const struct cli_list *words = &cli->args.words;
    int r = MCPLUG_OK;
    size_t n;

    if (cli->args.all)
        return mcplug_approvals_reset_all(cli->config, total, err);
    if (words->n == 0)
        return mcplug_approvals_reset(cli->config, NULL, total, err);
    for (size_t i = 0; r == MCPLUG_OK && i < words->n; i++) {
        r = mcplug_approvals_reset(cli->config, words->items[i], &n, err);
        *total += r == MCPLUG_OK ? n : 0;
    }
    return r;
}

static int run_reset(struct cli *cli)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    size_t total = 0;

    if (cli->args.all && cli->args.words.n) {
        cli_error("use either --all or names, not both");
        return CLI_USAGE;
    }
    if (!cli_config(cli))
        return CLI_BAD_CONFIG;
    if (forget(cli, &total, &err) != MCPLUG_OK) {
        cli_error("%s", err.text);
        return cli_config_code(&err);
    }
    if (cli->args.json)
        cli_out_f(&cli->out, "{\"forgotten\":%zu}\n", total);
    else
        cli_out_f(&cli->out, "%zu approval%s removed.\n", total, total == 1 ? "" : "s");
    return CLI_OK;
}

static const struct cli_option reset_options[] = {
    {"all", 0, CLI_FLAG, NULL, "remove the approvals of all projects",
     .at = offsetof(struct cli_args, all)},
    {.name = NULL},
};

const struct cli_command cli_cmd_approve = {
    .name = "approve",
    .words = "[NAME...]",
    .summary = "Review and approve the servers of a project's files.",
    .details =
        "Servers of .mcp.json and .mcplug.local.json are used only after the user has "
        "seen them in full at a terminal and agreed. The approval covers exactly what "
        "was shown: when the entry changes, the user is asked again and shown the "
        "difference. Without NAME, all servers that need approval are shown, one after "
        "the other. Entries that `mcplug add` writes are approved automatically.",
    .flags = CLI_CONFIG,
    .max_words = CLI_MANY,
    .complete = {{.is = CLI_WORD_SERVER_UNAPPROVED}},
    .run = run_approve,
};

const struct cli_command cli_cmd_reset_approvals = {
    .name = "reset-approvals",
    .words = "[NAME...]",
    .summary = "Remove the approvals of this project.",
    .options = reset_options,
    .flags = CLI_CONFIG,
    .max_words = CLI_MANY,
    .complete = {{.is = CLI_WORD_SERVER_APPROVED}},
    .run = run_reset,
};
