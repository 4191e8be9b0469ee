#include "cli/commands/commands.h"

#include "base/mem.h"
#include "cli/base/entries.h"
#include "cli/base/message.h"

#include <string.h>

static size_t servers_in(const struct mcplug_config *config,
                         const struct mp_source *source)
{
    size_t n = 0;
    for (size_t i = 0; i < config->n_entries; i++)
        n += config->entries[i].source == source;
    return n;
}

static enum mp_state state_of(const struct mcplug_config *config,
                              const struct mp_entry *entry, struct mcplug_error *why)
{
    enum mp_state state;
    mp_entry_usable(config, entry, &state, why);
    return state;
}

static size_t errors(const struct mcplug_config *config)
{
    size_t n = config->policy_error != NULL;
    for (size_t i = 0; i < config->n_problems; i++)
        n += !config->problems[i].is_warning;
    return n;
}

/* ---- for people ---- */

static void put_files(struct cli_out *out, const struct mcplug_config *config)
{
    cli_out_s(out, config->n_sources ? "Files, the first that has a name wins:\n"
                                     : "There is no file with servers.\n");
    for (size_t i = 0; i < config->n_sources; i++) {
        const struct mp_source *source = &config->sources[i];
        size_t n = servers_in(config, source);
        if (config->paths.approvals && strcmp(source->path, config->paths.approvals) == 0)
            continue; /* it has a problem, but no servers */
        cli_out_f(out, "  %-10s ", mp_scope_name(source->scope));
        cli_out_shown(out, source->path, strlen(source->path));
        if (source->broken)
            cli_out_s(out, "  (not used: see below)\n");
        else
            cli_out_f(out, "  (%zu server%s)\n", n, n == 1 ? "" : "s");
    }
    if (config->exclusive)
        cli_out_s(out, "The administrator's file is there, so it is the only one.\n");
    if (config->policy_error)
        cli_out_s(out, "The policy can't be used, so nothing is allowed.\n");
    else if (config->policy) {
        cli_out_s(out, "Policy: ");
        cli_out_shown(out, config->paths.policy, strlen(config->paths.policy));
        cli_out_s(out, "\n");
    }
}

static void put_entries(struct cli_out *out, const struct mcplug_config *config)
{
    size_t width = 0;
    for (size_t i = 0; i < config->n_entries; i++) {
        size_t n = cli_columns(config->entries[i].name, strlen(config->entries[i].name));
        width = n > width ? n : width;
    }
    cli_out_s(out, config->n_entries ? "\nServers:\n" : "");
    for (size_t i = 0; i < config->n_entries; i++) {
        const struct mp_entry *entry = &config->entries[i];
        struct mcplug_error why = MCPLUG_ERROR_INIT;
        size_t n = cli_columns(entry->name, strlen(entry->name));
        cli_out_s(out, entry->by ? "    hides " : "  ");
        cli_out_style(out, entry->by ? CLI_DIM : CLI_BOLD);
        cli_out_shown(out, entry->name, strlen(entry->name));
        cli_out_style(out, CLI_PLAIN);
        cli_out_spaces(out, entry->by ? 1 : width - n + 2);
        cli_out_f(out, "%s ", mp_scope_name(entry->source->scope));
        cli_out_shown(out, entry->source->path, strlen(entry->source->path));
        cli_out_f(out, ":%zu", entry->at.line);
        if (!entry->by) {
            enum mp_state state = state_of(config, entry, &why);
            if (state != MP_STATE_READY)
                cli_out_f(out, "  %s", cli_state_name(state));
        }
        cli_out_s(out, "\n");
    }
}

static void put_problems(struct cli_out *out, struct mcplug_config *config)
{
    if (config->n_problems || config->policy_error)
        cli_out_s(out, "\nProblems:\n");
    if (config->policy_error) {
        cli_out_s(out, "  ");
        cli_out_shown(out, config->policy_error, strlen(config->policy_error));
        cli_out_s(out, "\n");
    }
    for (size_t i = 0; i < config->n_problems; i++) {
        const char *text = mp_problem_text(&config->problems[i]);
        cli_out_s(out, config->problems[i].is_warning ? "  warning: " : "  ");
        cli_out_shown(out, text, strlen(text));
        cli_out_s(out, "\n");
    }
}

/* ---- JSON ---- */

static void add_files(struct mp_str *out, const struct mcplug_config *config)
{
    for (size_t i = 0; i < config->n_sources; i++) {
        const struct mp_source *source = &config->sources[i];
        mp_str_adds(out, i ? ",{" : "{");
        cli_json_member(out, "scope", mp_scope_name(source->scope));
        cli_json_member(out, "file", source->path);
        mp_str_addf(out, ",\"used\":%s,\"servers\":%zu}",
                    source->broken ? "false" : "true", servers_in(config, source));
    }
}

static void add_entries(struct mp_str *out, const struct mcplug_config *config)
{
    for (size_t i = 0; i < config->n_entries; i++) {
        const struct mp_entry *entry = &config->entries[i];
        struct mcplug_error why = MCPLUG_ERROR_INIT;
        mp_str_adds(out, i ? ",{" : "{");
        cli_json_member(out, "name", entry->name);
        cli_json_member(out, "scope", mp_scope_name(entry->source->scope));
        cli_json_member(out, "file", entry->source->path);
        mp_str_addf(out, ",\"line\":%zu", entry->at.line);
        if (entry->by) {
            cli_json_member(out, "hiddenBy", entry->by->source->path);
        } else {
            cli_json_member(out, "state", cli_state_name(state_of(config, entry, &why)));
            if (why.text[0])
                cli_json_member(out, "reason", why.text);
        }
        mp_str_adds(out, ",\"entry\":");
        mp_mask_entry(entry->json, out);
        mp_str_addc(out, '}');
    }
}

static void add_problems(struct mp_str *out, const struct mcplug_config *config)
{
    for (size_t i = 0; i < config->n_problems; i++) {
        const struct mp_problem *p = &config->problems[i];
        mp_str_adds(out, i ? ",{" : "{");
        cli_json_member(out, "severity", p->is_warning ? "warning" : "error");
        cli_json_member(out, "file", p->file);
        if (p->at.line)
            mp_str_addf(out, ",\"line\":%zu,\"column\":%zu", p->at.line, p->at.column);
        cli_json_member(out, "path", p->path);
        cli_json_member(out, "text", p->text);
        mp_str_addc(out, '}');
    }
}

static void put_json(struct cli_out *out, const struct mcplug_config *config)
{
    struct mp_str text;
    mp_str_init(&text, (size_t)64 << 20);
    mp_str_adds(&text, "{\"files\":[");
    add_files(&text, config);
    mp_str_adds(&text, "],\"servers\":[");
    add_entries(&text, config);
    mp_str_adds(&text, "],\"problems\":[");
    add_problems(&text, config);
    mp_str_addf(&text, "],\"exclusive\":%s", config->exclusive ? "true" : "false");
    if (config->policy || config->policy_error)
        cli_json_member(&text, "policy", config->paths.policy);
    if (config->policy_error)
        cli_json_member(&text, "policyError", config->policy_error);
    mp_str_adds(&text, "}\n");
    cli_out_json(out, text.data, text.len);
    mp_str_clear(&text);
}

static int run(struct cli *cli)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    struct mcplug_config *config = cli_config_silent(cli, &err);
    if (!config) {
        cli_error("%s", err.text);
        return CLI_FAILED;
    }
    cli_entries_check(cli, config->entries, config->n_entries);
    if (cli->args.json) {
        put_json(&cli->out, config);
    } else {
        put_files(&cli->out, config);
        put_entries(&cli->out, config);
        put_problems(&cli->out, config);
    }
    return errors(config) ? CLI_USAGE : CLI_OK;
}

const struct cli_command cli_cmd_config = {
    .name = "config",
    .words = "",
    .summary = "Show which file gives which server, and everything that is wrong.",
    .details = "Files are shown in the order of their scopes: enterprise, local, "
               "project, user, dynamic (--mcp-config), package. A name in several of "
               "them means the first one. The exit code is 2 if something is wrong.",
    .flags = CLI_CONFIG,
    .run = run,
};
