#include "cli/base/entries.h"

#include "base/mem.h"
#include "cli/base/message.h"

#include <string.h>

/* ---- finding ---- */

const char *cli_scope_name(enum mcplug_scope scope)
{
    return mcplug_scope_info(scope)->name;
}

bool cli_scope(struct cli *cli, enum mcplug_scope fallback, enum mcplug_scope *out)
{
    const char *name = cli->args.scope;
    *out = fallback;
    if (!name || (mcplug_scope_find(name, out) && mcplug_scope_info(*out)->is_writable))
        return true;
    cli_error("--scope: expected local, project or user, got \"%.64s\"", name);
    return false;
}

int cli_entry_pick(struct cli *cli, const char *name, mcplug_entry **out)
{
    mcplug_config *config = cli_config(cli);
    mcplug_entry *found = NULL, *entry;
    enum mcplug_scope scope;
    size_t n = 0;

    if (!config)
        return CLI_BAD_CONFIG;
    if (!cli_scope(cli, MCPLUG_SCOPE_USER, &scope))
        return CLI_USAGE;
    if (cli->args.scope) {
        found = mcplug_entry_find_in(config, name, scope);
        if (!found && cli_by_name_find(cli, name))
            cli_error("server \"%.64s\" is not in the %s scope", name,
                      cli_scope_name(scope));
        *out = found;
        return found ? CLI_OK : CLI_NOT_FOUND;
    }
    for (size_t i = 0; (entry = mcplug_entry_at(config, i)); i++)
        if (strcmp(mcplug_entry_name(entry), name) == 0) {
            found = entry;
            n++;
        }
    *out = found;
    if (n == 1)
        return CLI_OK;
    if (n == 0) {
        cli_by_name_find(cli, name); /* tells */
        return CLI_NOT_FOUND;
    }
    cli_error("server \"%.64s\" is in several scopes; choose one with --scope", name);
    for (size_t i = 0; (entry = mcplug_entry_at(config, i)); i++)
        if (strcmp(mcplug_entry_name(entry), name) == 0) {
            struct mcplug_entry_info e = cli_entry_info(entry);
            cli_hint("%s: %s", cli_scope_name(e.scope), e.file);
        }
    return CLI_USAGE;
}

/* ---- checking ---- */

/* give: mcplug_free; NULL: told */
static mcplug *checking_host(struct cli *cli)
{
    struct mcplug_options options = {.struct_size = sizeof options,
                                     .plugin_dirs = cli->args.plugin_dirs.items,
                                     .user_plugin_dirs = cli_plugin_dirs(cli)};
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    mcplug *host = mcplug_new(&options, &err);
    if (!host)
        cli_error("%s", err.text);
    return host;
}

void cli_entries_check(struct cli *cli, mcplug_entry *entry)
{
    mcplug *host = checking_host(cli);

    if (!host)
        return;
    if (entry)
        mcplug_entry_check(entry, host);
    else
        for (size_t i = 0; (entry = mcplug_entry_at(cli->config, i)); i++)
            mcplug_entry_check(entry, host);
    mcplug_free(host);
}

/* ---- adding ---- */

int cli_config_code(const struct mcplug_error *err)
{
    switch (err->code) {
    case MCPLUG_EINVAL:
        return CLI_USAGE;
    case MCPLUG_ECONFIG:
        return CLI_BAD_CONFIG;
    case MCPLUG_ENOMEM:
        return CLI_INTERNAL;
    default:
        return CLI_IO_ERROR;
    }
}

/* false: problems were told. */
static bool check_new(struct cli *cli, enum mcplug_scope scope, const char *name,
                      mp_view json)
{
    struct mcplug_problem p = {.struct_size = sizeof p};
    size_t before = cli_config_info(cli->config).problems;
    mcplug *host = checking_host(cli);

    bool ok =
        host && mcplug_entry_check_new(cli->config, scope, name, (const char *)json.data,
                                       json.len, host, NULL) == MCPLUG_OK;
    mcplug_free(host);
    for (size_t i = before; mcplug_config_problem_info(cli->config, i, &p); i++) {
        const char *path = p.path + strlen("mcpServers.");
        if (!p.is_warning)
            cli_error("Invalid configuration: %s: %s", path, p.text);
        else if (!cli->args.quiet)
            cli_note("warning: %s: %s", path, p.text);
    }
    return ok;
}

int cli_entry_check_new(struct cli *cli, enum mcplug_scope scope, const char *name,
                        mp_view json)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;

    if (!cli_config(cli))
        return CLI_BAD_CONFIG;
    if (mcplug_name_check(name, &err) != MCPLUG_OK) {
        cli_error("%s", err.text);
        return CLI_USAGE;
    }
    return check_new(cli, scope, name, json) ? CLI_OK : CLI_BAD_CONFIG;
}

int cli_entry_write(struct cli *cli, enum mcplug_scope scope, const char *name,
                    mp_view json, bool approved, const char **file)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;

    if (mcplug_entry_add(cli->config, scope, name, (const char *)json.data, json.len,
                         approved, file, &err) == MCPLUG_OK)
        return CLI_OK;
    cli_error("%s", err.text);
    /* the words were fine, so it is the file that does not want it */
    return err.code == MCPLUG_EINVAL ? CLI_BAD_CONFIG : cli_config_code(&err);
}

int cli_entry_add(struct cli *cli, enum mcplug_scope scope, const char *name,
                  mp_view json, bool approved, const char **file)
{
    int code = cli_entry_check_new(cli, scope, name, json);
    return code == CLI_OK ? cli_entry_write(cli, scope, name, json, approved, file)
                          : code;
}

/* ---- words ---- */

const char *cli_state_name(enum mcplug_entry_state state)
{
    switch (state) {
    case MCPLUG_ENTRY_READY:
        return "pending";
    case MCPLUG_ENTRY_DISABLED:
        return "disabled";
    case MCPLUG_ENTRY_NEEDS_APPROVAL:
        return "needs-approval";
    default:
        return "failed";
    }
}

void cli_json_member(struct mp_str *out, const char *name, const char *text)
{
    if (out->len && out->data[out->len - 1] != '{')
        mp_str_addc(out, ',');
    mp_str_add_json(out, name, strlen(name));
    mp_str_addc(out, ':');
    mp_str_add_json(out, text, strlen(text));
}

bool cli_json_masked(struct mp_str *out, mp_view entry)
{
    char *masked = mcplug_json_masked((const char *)entry.data, entry.len);
    bool ok = masked && mp_str_adds(out, masked);
    mcplug_text_free(masked);
    return ok;
}
