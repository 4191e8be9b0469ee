#include "cli/commands/commands.h"

#include "base/mem.h"
#include "cli/base/entries.h"
#include "cli/base/message.h"

#include <string.h>

static size_t errors(const mcplug_config *config)
{
    struct mcplug_problem p = {.struct_size = sizeof p};
    size_t n = cli_config_info(config).policy_error != NULL;
    for (size_t i = 0; mcplug_config_problem_info(config, i, &p); i++)
        n += !p.is_warning;
    return n;
}

/* ---- for people ---- */

static void put_files(struct cli_out *out, const struct cli *cli)
{
    struct mcplug_config_info config = cli_config_info(cli->config);
    struct mcplug_config_file f = {.struct_size = sizeof f};
    const char *approvals = cli->paths.approvals;

    cli_out_s(out, config.files ? "Files, highest precedence first:\n"
                                : "There is no configuration file.\n");
    for (size_t i = 0; mcplug_config_file(cli->config, i, &f); i++) {
        if (approvals && strcmp(f.path, approvals) == 0)
            continue; /* it has a problem, but no servers */
        cli_out_f(out, "  %-10s ", cli_scope_name(f.scope));
        cli_out_shown(out, f.path, strlen(f.path));
        if (f.broken)
            cli_out_s(out, "  (not used: see below)\n");
        else
            cli_out_f(out, "  (%zu server%s)\n", f.entries, f.entries == 1 ? "" : "s");
    }
    if (config.exclusive)
        cli_out_s(out, "The administrator's file exists, so no other file is used.\n");
    if (config.policy_error)
        cli_out_s(out, "The policy cannot be used, so no server is allowed.\n");
    else if (config.policy) {
        cli_out_s(out, "Policy: ");
        cli_out_shown(out, config.policy, strlen(config.policy));
        cli_out_s(out, "\n");
    }
}

static void put_entry(struct cli_out *out, const mcplug_entry *entry, size_t width)
{
    struct mcplug_entry_info e = cli_entry_info(entry);
    size_t n = cli_columns(e.name, strlen(e.name));

    cli_out_s(out, e.shadowed_by ? "    hides " : "  ");
    cli_out_style(out, e.shadowed_by ? CLI_DIM : CLI_BOLD);
    cli_out_shown(out, e.name, strlen(e.name));
    cli_out_style(out, CLI_PLAIN);
    cli_out_spaces(out, e.shadowed_by ? 1 : width - n + 2);
    cli_out_f(out, "%s ", cli_scope_name(e.scope));
    cli_out_shown(out, e.file, strlen(e.file));
    cli_out_f(out, ":%zu", e.line);
    if (!e.shadowed_by) {
        enum mcplug_entry_state state = mcplug_entry_state(entry, NULL);
        if (state != MCPLUG_ENTRY_READY)
            cli_out_f(out, "  %s", cli_state_name(state));
    }
    cli_out_s(out, "\n");
}

static void put_entries(struct cli_out *out, const mcplug_config *config)
{
    const mcplug_entry *entry;
    size_t width = 0;

    for (size_t i = 0; (entry = mcplug_entry_at(config, i)); i++) {
        const char *name = mcplug_entry_name(entry);
        size_t n = cli_columns(name, strlen(name));
        width = n > width ? n : width;
    }
    cli_out_s(out, mcplug_entry_at(config, 0) ? "\nServers:\n" : "");
    for (size_t i = 0; (entry = mcplug_entry_at(config, i)); i++)
        put_entry(out, entry, width);
}

static void put_problems(struct cli_out *out, mcplug_config *config)
{
    struct mcplug_config_info info = cli_config_info(config);
    struct mcplug_problem p = {.struct_size = sizeof p};

    if (info.problems || info.policy_error)
        cli_out_s(out, "\nProblems:\n");
    if (info.policy_error) {
        cli_out_s(out, "  ");
        cli_out_shown(out, info.policy_error, strlen(info.policy_error));
        cli_out_s(out, "\n");
    }
    for (size_t i = 0; mcplug_config_problem_info(config, i, &p); i++) {
        const char *text = mcplug_config_problem(config, i);
        cli_out_s(out, p.is_warning ? "  warning: " : "  ");
        cli_out_shown(out, text, strlen(text));
        cli_out_s(out, "\n");
    }
}

/* ---- JSON ---- */

static void add_files(struct mp_str *out, const mcplug_config *config)
{
    struct mcplug_config_file f = {.struct_size = sizeof f};

    for (size_t i = 0; mcplug_config_file(config, i, &f); i++) {
        mp_str_adds(out, i ? ",{" : "{");
        cli_json_member(out, "scope", cli_scope_name(f.scope));
        cli_json_member(out, "file", f.path);
        mp_str_addf(out, ",\"used\":%s,\"servers\":%zu}", f.broken ? "false" : "true",
                    f.entries);
    }
}

static void add_entries(struct mp_str *out, const mcplug_config *config)
{
    const mcplug_entry *entry;

    for (size_t i = 0; (entry = mcplug_entry_at(config, i)); i++) {
        struct mcplug_entry_info e = cli_entry_info(entry);
        struct mcplug_error why = MCPLUG_ERROR_INIT;
        mp_str_adds(out, i ? ",{" : "{");
        cli_json_member(out, "name", e.name);
        cli_json_member(out, "scope", cli_scope_name(e.scope));
        cli_json_member(out, "file", e.file);
        mp_str_addf(out, ",\"line\":%zu", e.line);
        if (e.shadowed_by) {
            cli_json_member(out, "hiddenBy", cli_entry_info(e.shadowed_by).file);
        } else {
            enum mcplug_entry_state state = mcplug_entry_state(entry, &why);
            cli_json_member(out, "state", cli_state_name(state));
            if (why.text[0])
                cli_json_member(out, "reason", why.text);
        }
        mp_str_adds(out, ",\"entry\":");
        cli_json_masked(out, mp_bytes(e.json, e.json_len));
        mp_str_addc(out, '}');
    }
}

static void add_problems(struct mp_str *out, const mcplug_config *config)
{
    struct mcplug_problem p = {.struct_size = sizeof p};

    for (size_t i = 0; mcplug_config_problem_info(config, i, &p); i++) {
        mp_str_adds(out, i ? ",{" : "{");
        cli_json_member(out, "severity", p.is_warning ? "warning" : "error");
        cli_json_member(out, "file", p.file);
        if (p.line)
            mp_str_addf(out, ",\"line\":%zu,\"column\":%zu", p.line, p.column);
        cli_json_member(out, "path", p.path);
        cli_json_member(out, "text", p.text);
        mp_str_addc(out, '}');
    }
}

static int put_json(struct cli *cli, const mcplug_config *config, int outcome)
{
    struct mcplug_config_info info = cli_config_info(config);
    struct mp_str text;

    mp_str_init(&text, (size_t)64 << 20);
    mp_str_adds(&text, "{\"files\":[");
    add_files(&text, config);
    mp_str_adds(&text, "],\"servers\":[");
    add_entries(&text, config);
    mp_str_adds(&text, "],\"problems\":[");
    add_problems(&text, config);
    mp_str_addf(&text, "],\"exclusive\":%s", info.exclusive ? "true" : "false");
    if (info.policy)
        cli_json_member(&text, "policy", info.policy);
    if (info.policy_error)
        cli_json_member(&text, "policyError", info.policy_error);
    mp_str_adds(&text, "}\n");
    return cli_put_document(cli, &text, outcome);
}

static int run(struct cli *cli)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    mcplug_config *config = cli_config_silent(cli, &err);
    if (!config) {
        cli_error("%s", err.text);
        return CLI_INTERNAL;
    }
    cli_entries_check(cli, NULL);
    int code = errors(config) ? CLI_BAD_CONFIG : CLI_OK;
    if (cli->args.json)
        return put_json(cli, config, code);
    put_files(&cli->out, cli);
    put_entries(&cli->out, config);
    put_problems(&cli->out, config);
    return code;
}

const struct cli_command cli_cmd_config = {
    .name = "config",
    .words = "",
    .summary = "Show which file defines which server, and all problems.",
    .details =
        "Files are shown in the order of their scopes: enterprise, local, project, user, "
        "dynamic (--mcp-config), package. If several files define the same name, the "
        "first one is used. The exit code is 2 if there is a problem.",
    .flags = CLI_CONFIG,
    .run = run,
};
