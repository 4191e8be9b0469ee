#include "cli/base/entries.h"

#include "api/host.h"
#include "base/mem.h"
#include "cli/base/message.h"

#include <stdio.h>
#include <string.h>

bool cli_scope(struct cli *cli, enum mp_scope fallback, enum mp_scope *out)
{
    const char *name = cli->args.scope;
    *out = fallback;
    if (!name)
        return true;
    if (mp_scope_find(name, out) &&
        (*out == MP_SCOPE_USER || mp_scope_needs_approval(*out)))
        return true;
    cli_error("--scope is local, project or user, not \"%.64s\"", name);
    return false;
}

struct mp_entry *cli_entry_pick(struct cli *cli, const char *name)
{
    struct mcplug_config *config = cli_config(cli);
    struct mp_entry *found = NULL;
    enum mp_scope scope;
    size_t n = 0;

    if (!config || !cli_scope(cli, MP_SCOPE_USER, &scope))
        return NULL;
    if (cli->args.scope) {
        found = mp_config_find_in(config, name, scope);
        if (!found && cli_by_name_find(cli, name))
            cli_error("server \"%.64s\" is not in the %s scope", name,
                      mp_scope_name(scope));
        return found;
    }
    for (size_t i = 0; i < config->n_entries; i++) {
        if (strcmp(config->entries[i].name, name) == 0) {
            found = &config->entries[i];
            n++;
        }
    }
    if (n == 1)
        return found;
    if (n == 0) {
        cli_by_name_find(cli, name); /* tells */
        return NULL;
    }
    cli_error("server \"%.64s\" is in several scopes; say which with --scope", name);
    for (size_t i = 0; i < config->n_entries; i++)
        if (strcmp(config->entries[i].name, name) == 0)
            cli_hint("%s: %s", mp_scope_name(config->entries[i].source->scope),
                     config->entries[i].source->path);
    return NULL;
}

/* ---- checking ---- */

static void check_one(struct mcplug_config *config, mcplug *host, struct mp_entry *entry)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    const struct mp_offer *offer;
    char *type = NULL, *url = NULL;

    if (entry->broken || mp_entry_type(entry, &type, &err) != MCPLUG_OK)
        return;
    if (!type) {
        url = mp_view_strdup(mp_view_get(entry->json, "url"));
        if (url && strncmp(url, "${", 2) == 0) { /* not known before it is used */
            mp_free(url);
            return;
        }
    }
    if (mp_connector_transport(&host->connector, type, url, &offer, &err) == MCPLUG_OK) {
        mp_config_check(config, entry, offer->feature.name, offer->feature.options);
        mp_config_check_url(config, entry, offer->feature.name, offer->feature.accepts);
    } else {
        char path[MP_NAME_MAX + 32];
        snprintf(path, sizeof path, "mcpServers.%s.%s", entry->name,
                 type ? "type" : "url");
        mp_config_note(config, entry->source, entry->name, false, path,
                       mp_view_get(entry->json, type ? "type" : "url"), "%s", err.text);
        entry->broken = true;
    }
    mp_free(type);
    mp_free(url);
}

void cli_entries_check(struct cli *cli, struct mp_entry *entries, size_t n)
{
    struct mcplug_options options = {.struct_size = sizeof options,
                                     .plugin_dirs = cli->args.plugin_dirs.items,
                                     .user_plugin_dirs = cli_plugin_dirs(cli)};
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    mcplug *host = mcplug_new(&options, &err);
    for (size_t i = 0; host && i < n; i++)
        check_one(cli->config, host, &entries[i]);
    if (host)
        mcplug_free(host);
    else
        cli_error("%s", err.text);
}

/* ---- adding ---- */

int cli_config_code(const struct mcplug_error *err)
{
    switch (err->code) {
    case MCPLUG_EINVAL:
    case MCPLUG_ECONFIG:
        return CLI_USAGE;
    default:
        return CLI_FAILED;
    }
}

/* false: problems were told. */
static bool check_new(struct cli *cli, enum mp_scope scope, const char *name,
                      mp_view json)
{
    struct mcplug_config *config = cli->config;
    struct mp_source source = {.scope = scope, .path = (char *)"the entry"};
    struct mp_entry entry = {.name = (char *)name, .source = &source, .json = json};
    size_t before = config->n_problems;

    source.file.text.data = (char *)(uintptr_t)json.data;
    source.file.text.len = json.len;
    mp_config_check_shape(config, &entry);
    cli_entries_check(cli, &entry, 1);
    for (size_t i = before; i < config->n_problems; i++) {
        const struct mp_problem *p = &config->problems[i];
        const char *path = p->path + strlen("mcpServers.");
        if (!p->is_warning)
            cli_error("Invalid configuration: %s: %s", path, p->text);
        else if (!cli->args.quiet)
            cli_error("warning: %s: %s", path, p->text);
    }
    return !entry.broken;
}

int cli_entry_add(struct cli *cli, enum mp_scope scope, const char *name, mp_view json,
                  bool approved, const char **file)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    struct mcplug_config *config = cli_config(cli);

    if (!config)
        return CLI_FAILED;
    int r = mp_name_check(name, &err);
    if (r == MCPLUG_OK && !check_new(cli, scope, name, json))
        return CLI_USAGE;
    if (r == MCPLUG_OK)
        r = mp_config_add(config, scope, name, json, approved, file, &err);
    if (r == MCPLUG_OK)
        return CLI_OK;
    cli_error("%s", err.text);
    return cli_config_code(&err);
}

/* ---- words ---- */

const char *cli_state_name(enum mp_state state)
{
    switch (state) {
    case MP_STATE_READY:
        return "pending";
    case MP_STATE_DISABLED:
        return "disabled";
    case MP_STATE_UNAPPROVED:
        return "needs-approval";
    default:
        return "failed";
    }
}

const char *cli_entry_transport(const struct mp_entry *entry, char *room, size_t size)
{
    static const char *const same[][2] = {
        {"https", "http"}, {"wss", "websocket"}, {"ws", "websocket"}};
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    char *type = NULL, *url = NULL;

    room[0] = '\0';
    if (!mp_view_is_object(entry->json))
        return room;
    if (mp_entry_type(entry, &type, &err) == MCPLUG_OK && type) {
        snprintf(room, size, "%s", type);
    } else if ((url = mp_view_strdup(mp_view_get(entry->json, "url")))) {
        size_t n = strspn(url, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz");
        for (size_t i = 0; i < n; i++)
            url[i] = (char)(url[i] | 0x20);
        if (n && url[n] == ':')
            snprintf(room, size, "%.*s", (int)n, url);
    }
    for (size_t i = 0; i < MP_COUNT(same); i++)
        if (strcmp(room, same[i][0]) == 0)
            snprintf(room, size, "%s", same[i][1]);
    mp_free(type);
    mp_free(url);
    return room;
}

void cli_json_member(struct mp_str *out, const char *name, const char *text)
{
    if (out->len && out->data[out->len - 1] != '{')
        mp_str_addc(out, ',');
    mp_str_add_json(out, name, strlen(name));
    mp_str_addc(out, ':');
    mp_str_add_json(out, text, strlen(text));
}
