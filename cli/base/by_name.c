#include "cli/base/by_name.h"

#include "api/host.h"
#include "base/error.h"
#include "base/mem.h"
#include "cli/base/oneshot.h"
#include "plugin/props.h"
#include "registry/names.h"
#include "cli/base/message.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

struct mcplug_config *cli_config_silent(struct cli *cli, struct mcplug_error *err)
{
    struct mp_config_options options = {.dynamic = cli->args.mcp_config.items,
                                        .strict = cli->args.strict_mcp_config};
    if (!cli->config)
        cli->config = mp_config_load(&options, err);
    if (cli->config && !cli->paths.struct_size) {
        cli->paths.struct_size = sizeof cli->paths;
        mcplug_config_paths(cli->config, &cli->paths);
    }
    return cli->config;
}

/* What the command line itself brings must be right. true: it was not, and told. */
static bool tell_given(struct mcplug_config *config)
{
    bool told = false;
    for (size_t i = 0; i < config->n_sources; i++) {
        const struct mp_source *source = &config->sources[i];
        for (size_t k = 0; k < config->n_problems; k++) {
            struct mp_problem *p = &config->problems[k];
            if (source->scope == MP_SCOPE_DYNAMIC && source->broken && !p->server &&
                p->file == source->path) {
                cli_error("%s", mp_problem_text(p));
                told = true;
            }
        }
    }
    return told;
}

struct mcplug_config *cli_config(struct cli *cli)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    struct mcplug_config *config = cli->config;

    if (config)
        return config;
    config = cli_config_silent(cli, &err);
    if (!config) {
        cli_error("%s", err.text);
        return NULL;
    }
    if (tell_given(config)) {
        mp_config_free(config);
        cli->config = NULL;
        memset(&cli->paths, 0, sizeof cli->paths);
        return NULL;
    }
    for (size_t i = 0; i < config->n_problems; i++) {
        struct mp_problem *p = &config->problems[i];
        if (!p->server)
            cli_log_line(MCPLUG_LOG_WARN, "config", mp_problem_text(p));
    }
    if (config->policy_error)
        cli_log_line(MCPLUG_LOG_WARN, "config", config->policy_error);
    return config;
}

const char *const *cli_plugin_dirs(struct cli *cli)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    struct mcplug_config *config = cli_config_silent(cli, &err);
    return config ? (const char *const *)config->plugin_dirs : NULL;
}

/* ---- finding ---- */

void cli_tell_no_server(const struct mcplug_config *config)
{
    static const char none[] = "No server is configured yet.";
    if (mp_config_damaged(config)) {
        cli_error("no server can be used: `mcplug config` shows what is wrong");
        return;
    }
    if (config->exclusive) {
        cli_error("there is no server: only those of %s exist here, and it has none",
                  config->paths.managed);
        return;
    }
    cli_tell("", none, strlen(none));
    cli_hint("`mcplug add NAME -- COMMAND` or `mcplug add NAME URL` adds one,");
    cli_hint("`mcplug import` finds those of other programs.");
}

static void tell_unknown(const struct mcplug_config *config, const char *name)
{
    const char *best = NULL;
    for (size_t i = 0; i < config->n_entries; i++)
        mp_nearest(name, config->entries[i].name, &best);
    cli_error("there is no server \"%.64s\"%s%s%s", name, best ? "; did you mean \"" : "",
              best ? best : "", best ? "\"?" : "");
    if (mp_config_damaged(config))
        cli_hint("It may be in a file that can't be used; `mcplug config` shows what is "
                 "wrong.");
    else if (config->exclusive)
        cli_hint("Only the servers of %s exist here.", config->paths.managed);
    else if (config->n_entries)
        cli_hint("`mcplug list` shows the ones there are, `mcplug add` adds one.");
    else
        cli_hint("None is configured yet: `mcplug add %.64s -- COMMAND` or "
                 "`mcplug add %.64s URL` adds it, `mcplug import` finds those of other "
                 "programs.",
                 name, name);
}

struct mp_entry *cli_by_name_find(struct cli *cli, const char *name)
{
    struct mcplug_config *config = cli_config(cli);
    struct mp_entry *entry = config ? mp_config_find(config, name) : NULL;
    if (config && !entry)
        tell_unknown(config, name);
    return entry;
}

/* Is `name`, with _ for what is no letter or digit, the beginning of `text`? */
static bool begins_with(const char *text, const char *name)
{
    for (; *name; name++, text++)
        if (*text != (isalnum((unsigned char)*name) ? *name : '_'))
            return false;
    return true;
}

struct mp_names *cli_names(const struct mcplug_config *config)
{
    struct mp_names *names = mp_names_new(false);
    bool ok = names != NULL;

    for (size_t i = 0; ok && i < config->n_entries; i++)
        ok = config->entries[i].by ||
             mp_names_server(names, config->entries[i].name) == MCPLUG_OK;
    if (ok)
        return names;
    mp_names_free(names);
    return NULL;
}

/* The server that has this very namespace; `rest` is behind it. */
static struct mp_entry *by_namespace(const struct mcplug_config *config, const char *text,
                                     const char **rest)
{
    struct mp_names *names = cli_names(config);
    struct mp_entry *found = NULL;

    for (size_t i = 0; names && !found && i < config->n_entries; i++) {
        struct mp_entry *entry = &config->entries[i];
        const char *space = mp_names_namespace(names, entry->name);
        size_t n = space ? strlen(space) : 0;
        if (!entry->by && n && strncmp(text, space, n) == 0 &&
            strncmp(text + n, "__", 2) == 0 && text[n + 2]) {
            found = entry;
            *rest = text + n + 2;
        }
    }
    mp_names_free(names);
    return found;
}

/* The server that `text` names without a tool; NULL: none. */
static const char *bare_server(const struct mcplug_config *config, const char *text)
{
    for (size_t i = 0; i < config->n_entries; i++) {
        const char *name = config->entries[i].name, *rest = text + strlen(name);
        if (begins_with(text, name) && (!*rest || strcmp(rest, "__") == 0))
            return name;
    }
    return NULL;
}

/* What is wrong with a name that no server fits; `text` is behind mcp__. */
static void tell_unqualified(const struct mcplug_config *config, const char *text)
{
    const char *end = strstr(text, "__"), *best = NULL, *bare = bare_server(config, text);
    char *server = end ? mp_strndup(text, (size_t)(end - text)) : NULL;
    char near[MP_NAME_MAX + 1] = "";

    for (size_t i = 0; server && i < config->n_entries; i++)
        mp_nearest(server, config->entries[i].name, &best);
    for (size_t i = 0; best && best[i] && i < MP_NAME_MAX; i++)
        near[i] = (char)(isalnum((unsigned char)best[i]) ? best[i] : '_');
    if (bare) {
        cli_error("which tool of server \"%s\"? mcp__%.128s names none", bare, text);
        cli_hint("`mcplug tools %s` lists the ones it has.", bare);
    } else {
        cli_error("no server fits mcp__%.128s%s%s%.128s%s", text,
                  best ? "; did you mean mcp__" : "", near, best ? end : "",
                  best ? "?" : "");
        cli_hint("Such a name is mcp__SERVER__TOOL; `mcplug list` shows the servers.");
    }
    mp_free(server);
}

struct mp_entry *cli_by_name_qualified(struct cli *cli, const char *text,
                                       const char **tool)
{
    struct mcplug_config *config = cli_config(cli);
    struct mp_entry *found = NULL, *other = NULL;

    text += strlen("mcp__");
    for (size_t i = 0; config && i < config->n_entries; i++) {
        struct mp_entry *entry = &config->entries[i];
        size_t len = strlen(entry->name);
        if (entry->by || !begins_with(text, entry->name) ||
            strncmp(text + len, "__", 2) != 0 || !text[len + 2])
            continue;
        other = found;
        found = entry;
        *tool = text + len + 2;
    }
    if (config && !found)
        found = by_namespace(config, text, tool);
    if (found && other) { /* a guess could be what somebody else hopes for */
        cli_error("mcp__%.128s may be of \"%s\" or of \"%s\"", text, other->name,
                  found->name);
        cli_hint("`mcplug call SERVER TOOL` says which.");
        found = NULL;
    } else if (config && !found) {
        tell_unqualified(config, text);
    }
    if (!found)
        *tool = NULL;
    return found;
}

/* ---- using ---- */

static void advise(const struct mp_entry *entry, enum mp_state state)
{
    switch (state) {
    case MP_STATE_DISABLED:
        cli_hint("`mcplug enable %s` changes that.", entry->name);
        break;
    case MP_STATE_UNAPPROVED:
        cli_hint("`mcplug approve %s`, at a terminal, shows it and asks.", entry->name);
        break;
    case MP_STATE_BROKEN:
        cli_hint("`mcplug config` lists everything that is wrong.");
        break;
    default:
        break;
    }
}

int cli_by_name_usable(struct cli *cli, struct mp_entry *entry)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    struct mcplug_config *config = cli->config;
    enum mp_state state;

    if (mp_entry_usable(config, entry, &state, &err) == MCPLUG_OK)
        return CLI_OK;
    if (state == MP_STATE_UNAPPROVED && !cli->args.no_input && cli_approve_ask(entry)) {
        if (mp_config_approve(config, entry, &err) != MCPLUG_OK) {
            cli_error("%s", err.text);
            return CLI_FAILED;
        }
        if (mp_entry_usable(config, entry, &state, &err) == MCPLUG_OK)
            return CLI_OK;
    }
    cli_error("%s", err.text);
    advise(entry, state);
    return state == MP_STATE_BROKEN ? CLI_USAGE : CLI_NO_SERVER;
}

/* What the command line puts on top counts as much as the entry. */
static int judge_final(struct cli *cli, const struct mp_entry *entry,
                       const mcplug_settings *settings, struct mcplug_error *err)
{
    const struct cli_args *args = &cli->args;
    struct mcplug_error why = MCPLUG_ERROR_INIT;

    if (cli->config->exclusive &&
        (args->env.n || args->headers.n || args->set.n || args->cwd || args->insecure))
        return mp_fail(err, MCPLUG_EREFUSED,
                       "server \"%s\" comes from %s and is used as it is, without --env, "
                       "--header, --cwd, --set and --insecure",
                       entry->name, cli->config->paths.managed);
    int r = mp_config_judge(cli->config, entry, settings->props, &why);
    return r == MCPLUG_OK
               ? r
               : mp_fail(err, MCPLUG_EREFUSED, "Cannot use MCP server \"%s\": %s",
                         entry->name, why.text);
}

int cli_by_name_settings(struct cli *cli, mcplug *host, struct mp_entry *entry,
                         struct mp_resolved *resolved, mcplug_settings **settings,
                         struct mcplug_error *err)
{
    struct mcplug_config *config = cli->config;
    int r = mp_host_settings(host, config, entry, resolved, settings, err);

    for (size_t i = 0; i < config->n_problems; i++) {
        struct mp_problem *p = &config->problems[i];
        if (p->is_warning && p->server && p->file == entry->source->path &&
            strcmp(p->server, entry->name) == 0)
            cli_log_line(MCPLUG_LOG_WARN, "config", mp_problem_text(p));
    }
    if (r == MCPLUG_OK && resolved->missing) {
        char line[4096], source[MP_NAME_MAX + 8];
        snprintf(source, sizeof source, "mcp:%s", entry->name);
        snprintf(line, sizeof line, "Set the following environment variables: %s",
                 resolved->missing);
        cli_log_line(MCPLUG_LOG_WARN, source, line);
    }
    if (r == MCPLUG_OK)
        r = cli_settings_apply(*settings, &cli->args, err);
    return r == MCPLUG_OK ? judge_final(cli, entry, *settings, err) : r;
}

/* ---- in place ---- */

int cli_inline_allowed(struct cli *cli, const mcplug_settings *settings,
                       struct mcplug_error *err)
{
    struct mcplug_config *config = cli_config_silent(cli, err);
    struct mcplug_error why = MCPLUG_ERROR_INIT;

    if (!config)
        return err->code;
    if (config->exclusive)
        return mp_fail(
            err, MCPLUG_EREFUSED,
            "this server is not allowed by enterprise policy: only those of %s "
            "are",
            config->paths.managed);
    int r = mp_config_judge(config, NULL, settings->props, &why);
    return r == MCPLUG_OK ? r
                          : mp_fail(err, MCPLUG_EREFUSED,
                                    "Cannot use this MCP server: %s", why.text);
}

/* ---- names ---- */

static void add_name(void *arg, const char *name)
{
    struct mp_str *out = arg, item;
    mp_str_init(&item, MP_FILE_MAX);
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

void cli_entry_names(const struct mp_entry *entry, struct mp_str *out)
{
    struct mp_str list;
    mp_str_init(&list, MP_FILE_MAX * 4);
    mp_str_addc(&list, '[');
    mp_entry_each_name(entry, add_name, &list);
    mp_str_addc(&list, ']');
    mp_str_add(out, list.data, list.len);
    mp_str_clear(&list);
}
