#include "named.h"

#include "api/host.h"
#include "base/error.h"
#include "base/mem.h"
#include "link.h"
#include "plugin/props.h"
#include "tell.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

struct mcplug_config *cli_config_silent(struct cli *cli, struct mcplug_error *err)
{
    struct mp_config_options options = {.dynamic = cli->args.mcp_config.items,
                                        .strict = cli->args.strict_mcp_config};
    if (!cli->config)
        cli->config = mp_config_load(&options, err);
    return cli->config;
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
    for (size_t i = 0; i < config->n_problems && !cli->args.quiet; i++) {
        struct mp_problem *p = &config->problems[i];
        if (!p->server)
            cli_log_line(MCPLUG_LOG_WARN, "config", mp_problem_text(p));
    }
    if (config->policy_error && !cli->args.quiet)
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
        cli_hint("Only the servers of %s exist here.", config->places.managed);
    else if (config->n_entries)
        cli_hint("`mcplug list` shows the ones there are, `mcplug add` adds one.");
    else
        cli_hint("None is configured yet: `mcplug add %.64s -- COMMAND` or "
                 "`mcplug add %.64s URL` adds it, `mcplug import` finds those of other "
                 "programs.",
                 name, name);
}

struct mp_entry *cli_named_find(struct cli *cli, const char *name)
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

struct mp_entry *cli_named_qualified(struct cli *cli, const char *text, const char **tool)
{
    struct mcplug_config *config = cli_config(cli);
    struct mp_entry *best = NULL;
    size_t longest = 0;

    text += strlen("mcp__");
    for (size_t i = 0; config && i < config->n_entries; i++) {
        struct mp_entry *entry = &config->entries[i];
        size_t len = strlen(entry->name);
        if (!entry->by && len > longest && begins_with(text, entry->name) &&
            strncmp(text + len, "__", 2) == 0 && text[len + 2]) {
            best = entry;
            longest = len;
        }
    }
    if (config && !best) {
        cli_error("no server fits mcp__%.128s", text);
        cli_hint("Such a name is mcp__SERVER__TOOL; `mcplug list` shows the servers.");
    }
    *tool = best ? text + longest + 2 : NULL;
    return best;
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

int cli_named_usable(struct cli *cli, struct mp_entry *entry)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    struct mcplug_config *config = cli->config;
    enum mp_state state;

    if (mp_entry_usable(config, entry, &state, &err) == MCPLUG_OK)
        return CLI_OK;
    if (state == MP_STATE_UNAPPROVED && !cli->args.no_input &&
        cli_approve_ask(config, entry)) {
        if (mp_config_approve(config, entry, &err) != MCPLUG_OK) {
            cli_error("%s", err.text);
            return CLI_FAILED;
        }
        entry->approval = MP_APPROVAL_GIVEN;
        if (mp_entry_usable(config, entry, &state, &err) == MCPLUG_OK)
            return CLI_OK;
    }
    cli_error("%s", err.text);
    advise(entry, state);
    return state == MP_STATE_BROKEN ? CLI_USAGE : CLI_NO_SERVER;
}

int cli_named_settings(struct cli *cli, mcplug *host, struct mp_entry *entry,
                       struct mp_resolved *resolved, mcplug_settings **settings,
                       struct mcplug_error *err)
{
    struct mcplug_config *config = cli->config;
    int r = mp_host_settings(host, config, entry, resolved, settings, err);

    for (size_t i = 0; i < config->n_problems && !cli->args.quiet; i++) {
        struct mp_problem *p = &config->problems[i];
        if (p->is_warning && p->server && p->file == entry->source->path &&
            strcmp(p->server, entry->name) == 0)
            cli_log_line(MCPLUG_LOG_WARN, "config", mp_problem_text(p));
    }
    if (r == MCPLUG_OK && resolved->missing && !cli->args.quiet) {
        char line[4096], source[MP_NAME_MAX + 8];
        snprintf(source, sizeof source, "mcp:%s", entry->name);
        snprintf(line, sizeof line, "Set the following environment variables: %s",
                 resolved->missing);
        cli_log_line(MCPLUG_LOG_WARN, source, line);
    }
    return r == MCPLUG_OK ? cli_settings_apply(*settings, &cli->args, err) : r;
}

/* ---- in place ---- */

int cli_inline_allowed(struct cli *cli, struct mcplug_error *err)
{
    const struct cli_args *args = &cli->args;
    struct mcplug_config *config = cli_config_silent(cli, err);
    struct mcplug_error why = MCPLUG_ERROR_INIT;
    const char **env = NULL;
    int r = config ? MCPLUG_OK : err->code;

    if (config && config->exclusive) {
        r = mp_fail(err, MCPLUG_ECONFIG,
                    "this server is not allowed by enterprise policy: only those of %s "
                    "are",
                    config->places.managed);
    } else if (config && (config->policy || config->policy_error)) {
        struct mp_subject subject = {.name = "",
                                     .command = (const char *const *)args->server_command,
                                     .env = NULL,
                                     .url = args->url};
        env = mp_alloc((args->env.n + 1) * sizeof *env);
        for (size_t i = 0; env && i < args->env.n; i++)
            env[i] = mp_strndup(args->env.items[i], strcspn(args->env.items[i], "="));
        subject.env = env;
        r = env ? mp_config_judge(config, &subject, &why) : mp_fail_nomem(err);
        if (env && r != MCPLUG_OK)
            mp_fail(err, r, "Cannot use this MCP server: %s", why.text);
    }
    for (size_t i = 0; env && i < args->env.n; i++)
        mp_free((char *)env[i]);
    mp_free(env);
    return r;
}
