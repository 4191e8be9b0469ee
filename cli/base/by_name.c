#include "cli/base/by_name.h"

#include "base/error.h"
#include "base/mem.h"
#include "cli/base/oneshot.h"
#include "base/nearest.h"
#include "cli/base/message.h"

#include <stdio.h>
#include <string.h>

#define NAMES_MAX ((size_t)4 << 20) /* bytes of what an entry asks for */
#define PREFIX_MAX 256              /* of mcp__SERVER__ */

/* ---- the configuration ---- */

mcplug_config *cli_config_silent(struct cli *cli, struct mcplug_error *err)
{
    struct mcplug_config_options options = {.struct_size = sizeof options,
                                            .more = cli->args.mcp_config.items,
                                            .strict = cli->args.strict_mcp_config};
    if (!cli->config)
        cli->config = mcplug_config_load(&options, err);
    if (cli->config && !cli->paths.struct_size) {
        cli->paths.struct_size = sizeof cli->paths;
        mcplug_config_paths(cli->config, &cli->paths);
    }
    return cli->config;
}

/* What the command line itself brings must be right. true: it was not, and told. */
static bool tell_given(mcplug_config *config)
{
    struct mcplug_problem p = {.struct_size = sizeof p};
    bool told = false;

    for (size_t i = 0; mcplug_config_problem_info(config, i, &p); i++)
        if (p.scope == MCPLUG_SCOPE_DYNAMIC && p.file_is_broken && !p.server) {
            cli_error("%s", mcplug_config_problem(config, i));
            told = true;
        }
    return told;
}

mcplug_config *cli_config(struct cli *cli)
{
    struct mcplug_problem p = {.struct_size = sizeof p};
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    mcplug_config *config = cli->config;

    if (config)
        return config;
    config = cli_config_silent(cli, &err);
    if (!config) {
        cli_error("%s", err.text);
        return NULL;
    }
    if (tell_given(config)) {
        mcplug_config_free(config);
        cli->config = NULL;
        memset(&cli->paths, 0, sizeof cli->paths);
        return NULL;
    }
    for (size_t i = 0; mcplug_config_problem_info(config, i, &p); i++)
        if (!p.server)
            cli_log_line(MCPLUG_LOG_WARN, "config", mcplug_config_problem(config, i));
    const char *policy_error = cli_config_info(config).policy_error;
    if (policy_error)
        cli_log_line(MCPLUG_LOG_WARN, "config", policy_error);
    return config;
}

const char *const *cli_plugin_dirs(struct cli *cli)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    mcplug_config *config = cli_config_silent(cli, &err);
    return config ? mcplug_config_plugin_dirs(config) : NULL;
}

const char *cli_converters(struct cli *cli)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    return mcplug_config_converters(cli_config_silent(cli, &err));
}

struct mcplug_config_info cli_config_info(const mcplug_config *config)
{
    struct mcplug_config_info info = {.struct_size = sizeof info};
    mcplug_config_info(config, &info);
    return info;
}

struct mcplug_entry_info cli_entry_info(const mcplug_entry *entry)
{
    struct mcplug_entry_info info = {.struct_size = sizeof info};
    mcplug_entry_info(entry, &info);
    return info;
}

mp_view cli_entry_json(const mcplug_entry *entry)
{
    struct mcplug_entry_info info = cli_entry_info(entry);
    return mp_bytes(info.json, info.json_len);
}

bool cli_problem_is_of(const struct mcplug_problem *p,
                       const struct mcplug_entry_info *entry)
{
    return p->server && p->file == entry->file && strcmp(p->server, entry->name) == 0;
}

/* ---- finding ---- */

void cli_tell_no_server(const struct cli *cli)
{
    static const char none[] = "No server is configured yet.";
    struct mcplug_config_info config = cli_config_info(cli->config);
    if (config.damaged) {
        cli_error("no server can be used: `mcplug config` shows what is wrong");
        return;
    }
    if (config.exclusive) {
        cli_error("no server is configured: only the servers of %s can be used here, and "
                  "it has none",
                  cli->paths.managed);
        return;
    }
    cli_tell("", none, strlen(none));
    cli_hint("`mcplug add NAME -- COMMAND` or `mcplug add NAME URL` adds one,");
    cli_hint("`mcplug import` imports those of other programs.");
}

static void tell_unknown(const struct cli *cli, const char *name)
{
    struct mcplug_config_info config = cli_config_info(cli->config);
    const mcplug_entry *entry;
    const char *best = NULL;
    for (size_t i = 0; (entry = mcplug_entry_at(cli->config, i)); i++)
        mp_nearest(name, mcplug_entry_name(entry), &best);
    cli_error("there is no server \"%.64s\"%s%s%s", name, best ? "; did you mean \"" : "",
              best ? best : "", best ? "\"?" : "");
    if (config.damaged)
        cli_hint("It may be in a file that can't be used; `mcplug config` shows what is "
                 "wrong.");
    else if (config.exclusive)
        cli_hint("Only the servers of %s can be used here.", cli->paths.managed);
    else if (config.entries)
        cli_hint("`mcplug list` shows all servers, `mcplug add` adds one.");
    else
        cli_hint(
            "No server is configured yet: `mcplug add %.64s -- COMMAND` or `mcplug add "
            "%.64s URL` adds it, `mcplug import` imports those of other programs.",
            name, name);
}

mcplug_entry *cli_by_name_find(struct cli *cli, const char *name)
{
    mcplug_config *config = cli_config(cli);
    mcplug_entry *entry = config ? mcplug_entry_find(config, name) : NULL;
    if (config && !entry)
        tell_unknown(cli, name);
    return entry;
}

/* The server that `text` names without a tool; NULL: none. */
static const char *bare_server(const mcplug_config *config, const char *text)
{
    const mcplug_entry *entry;
    char prefix[PREFIX_MAX];

    for (size_t i = 0; (entry = mcplug_entry_at(config, i)); i++) {
        size_t n = mcplug_entry_prefix(entry, prefix, sizeof prefix) ? strlen(prefix) : 0;
        if (n && (strcmp(text, prefix) == 0 ||
                  (strlen(text) == n - 2 && strncmp(text, prefix, n - 2) == 0)))
            return mcplug_entry_name(entry);
    }
    return NULL;
}

/* What is wrong with a name, mcp__SERVER__TOOL, that no server fits. */
static void tell_unqualified(const mcplug_config *config, const char *text)
{
    const char *part = text + strlen("mcp__"), *end = strstr(part, "__"), *best = NULL;
    const char *bare = bare_server(config, text), *name;
    char *server = end ? mp_strndup(part, (size_t)(end - part)) : NULL;
    char near[PREFIX_MAX] = "";

    for (size_t i = 0; server && (name = mcplug_config_name(config, i)); i++)
        mp_nearest(server, name, &best);
    if (best)
        mcplug_entry_prefix(mcplug_entry_find(config, best), near, sizeof near);
    if (bare) {
        cli_error("%.133s names the server \"%s\", but no tool", text, bare);
        cli_hint("`mcplug tools %s` lists its tools.", bare);
    } else {
        cli_error("no server matches %.133s%s%s%.126s%s", text,
                  *near ? "; did you mean " : "", near, *near ? end + 2 : "",
                  *near ? "?" : "");
        cli_hint("The form is mcp__SERVER__TOOL; `mcplug list` shows the servers.");
    }
    mp_free(server);
}

/* `text` is mcp__SERVER__TOOL. NULL: told. */
static mcplug_entry *find_qualified(struct cli *cli, const char *text)
{
    mcplug_config *config = cli_config(cli);
    const mcplug_entry *other;

    if (!config)
        return NULL;
    mcplug_entry *found = mcplug_entry_find_qualified(config, text, &cli->tool, &other);
    if (!found)
        tell_unqualified(config, text);
    if (!other)
        return found;
    /* a guess could be what somebody else hopes for */
    cli_error("%.133s is ambiguous: it matches the servers \"%s\" and \"%s\"", text,
              mcplug_entry_name(other), mcplug_entry_name(found));
    cli_hint("Use `mcplug call SERVER TOOL` instead.");
    return NULL;
}

int cli_by_name_server(struct cli *cli, mcplug_entry **out)
{
    const char *name = cli->args.server;
    bool qualified = name && strncmp(name, "mcp__", 5) == 0 &&
                     cli->args.command->flags & CLI_QUALIFIED;

    if (name && !cli->server)
        cli->server = qualified ? find_qualified(cli, name) : cli_by_name_find(cli, name);
    if (name && !cli->server)
        return cli_by_name_none(cli);
    *out = cli->server;
    return CLI_OK;
}

int cli_by_name_none(const struct cli *cli)
{
    return cli->config ? CLI_NOT_FOUND : CLI_BAD_CONFIG;
}

/* ---- using ---- */

static void advise(const char *name, enum mcplug_entry_state state)
{
    switch (state) {
    case MCPLUG_ENTRY_DISABLED:
        cli_hint("`mcplug enable %s` enables it.", name);
        break;
    case MCPLUG_ENTRY_NEEDS_APPROVAL:
        cli_hint("Review and approve it at a terminal: `mcplug approve %s`.", name);
        break;
    case MCPLUG_ENTRY_BROKEN:
        cli_hint("`mcplug config` lists all problems.");
        break;
    default:
        break;
    }
}

static int outcome_of(enum mcplug_entry_state state)
{
    switch (state) {
    case MCPLUG_ENTRY_BROKEN:
        return CLI_BAD_CONFIG;
    case MCPLUG_ENTRY_BLOCKED:
        return CLI_BLOCKED;
    case MCPLUG_ENTRY_DISABLED:
        return CLI_DISABLED;
    case MCPLUG_ENTRY_NEEDS_APPROVAL:
        return CLI_NEEDS_APPROVAL;
    default:
        return CLI_NOT_FOUND;
    }
}

int cli_by_name_usable(struct cli *cli, mcplug_entry *entry)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;

    if (entry == cli->server && cli->is_usable)
        return CLI_OK;
    enum mcplug_entry_state state = mcplug_entry_state(entry, &err);
    if (state == MCPLUG_ENTRY_NEEDS_APPROVAL && !cli->args.no_input &&
        cli_approve_ask(cli, entry)) {
        if (mcplug_entry_approve(entry, &err) != MCPLUG_OK) {
            cli_error("%s", err.text);
            return CLI_IO_ERROR;
        }
        state = mcplug_entry_state(entry, &err);
    }
    if (state == MCPLUG_ENTRY_READY) {
        cli->is_usable = cli->is_usable || entry == cli->server;
        return CLI_OK;
    }
    cli_error("%s", err.text);
    advise(mcplug_entry_name(entry), state);
    return outcome_of(state);
}

bool cli_by_name_asks(const mcplug_entry *entry)
{
    struct mcplug_entry_info e = cli_entry_info(entry);
    return e.broken || e.disabled || e.approval != MCPLUG_APPROVAL_GIVEN;
}

/* give `out`: what the command line puts on top of an entry; NULL: nothing. */
static int make_overlay(struct cli *cli, const mcplug_entry *entry, mcplug_settings **out,
                        struct mcplug_error *err)
{
    const struct cli_args *args = &cli->args;

    *out = NULL;
    if (!args->env.n && !args->headers.n && !args->set.n && !args->cwd && !args->insecure)
        return MCPLUG_OK;
    if (cli_config_info(cli->config).exclusive)
        return mp_fail(err, MCPLUG_EREFUSED,
                       "server \"%s\" is defined in %s and cannot be changed with --env, "
                       "--header, --cwd, --set or --insecure",
                       mcplug_entry_name(entry), cli->paths.managed);
    mcplug_settings *s = mcplug_settings_new(NULL);
    if (!s)
        return mp_fail_nomem(err);
    int r = cli_settings_apply(s, args, err);
    if (r == MCPLUG_OK)
        *out = s;
    else
        mcplug_settings_free(s);
    return r;
}

int cli_by_name_open(struct cli *cli, mcplug *host, mcplug_entry *entry,
                     const struct mcplug_server_options *options, mcplug_ready_fn *ready,
                     void *arg, mcplug_server **out, struct mcplug_error *err)
{
    struct mcplug_server_options o = *options;
    mcplug_settings *overlay;

    int r = make_overlay(cli, entry, &overlay, err);
    if (r != MCPLUG_OK)
        return r;
    o.overlay = overlay;
    r = mcplug_entry_open(host, entry, &o, ready, arg, out, err);
    mcplug_settings_free(overlay);
    return r;
}

/* ---- which tools ---- */

bool cli_allows_item(const mcplug_entry *entry, enum mcplug_kind kind, mp_view name)
{
    if (!entry || kind != MCPLUG_TOOLS)
        return true;
    char *tool = mp_view_strdup(name);
    bool allowed = tool && mcplug_entry_allows(entry, tool, NULL);
    mp_free(tool);
    return allowed;
}

bool cli_allows_tell(const mcplug_entry *entry, const char *tool)
{
    struct mcplug_error why = MCPLUG_ERROR_INIT;
    if (!entry || mcplug_entry_allows(entry, tool, &why))
        return true;
    cli_error("%s", why.text);
    return false;
}

/* ---- names ---- */

static void add_name(void *arg, const char *name)
{
    struct mp_str *out = arg, item;
    mp_str_init(&item, NAMES_MAX);
    mp_str_add_json(&item, name, strlen(name));
    mp_view list = mp_bytes(out->data, out->len), known;
    struct mp_walk w = mp_walk_into(list);
    bool again = false;
    while (mp_walk_element(&w, &known))
        again = again || mp_view_equals(known, name);
    if (!again && item.data) {
        mp_str_adds(out, out->len > 1 ? "," : "");
        mp_str_add(out, item.data, item.len);
    }
    mp_str_clear(&item);
}

void cli_entry_names(const mcplug_entry *entry, struct mp_str *out)
{
    struct mp_str list;
    mp_str_init(&list, NAMES_MAX);
    mp_str_addc(&list, '[');
    mcplug_entry_each_name(entry, add_name, &list);
    mp_str_addc(&list, ']');
    mp_str_add(out, list.data, list.len);
    mp_str_clear(&list);
}
