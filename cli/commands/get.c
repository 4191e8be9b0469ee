#include "cli/commands/commands.h"

#include "base/mem.h"
#include "cli/base/entries.h"
#include "cli/base/message.h"

#include <stdlib.h>
#include <string.h>

#define TEXT_MAX ((size_t)8 << 20)

/* ---- showing ---- */

static void put_field(struct cli_out *out, const char *caption, const char *text)
{
    cli_out_f(out, "%-11s", caption);
    cli_out_shown(out, text, strlen(text));
    cli_out_s(out, "\n");
}

static void put_place(struct cli_out *out, const struct mcplug_entry_info *e)
{
    cli_out_f(out, "%-11s%s, ", "Scope:", cli_scope_name(e->scope));
    cli_out_shown(out, e->file, strlen(e->file));
    cli_out_f(out, ":%zu\n", e->line);
}

/* What it asks for, and what of that is not there. */
static void put_names(struct cli_out *out, const mcplug_entry *entry)
{
    struct mp_str names;
    mp_view name;

    mp_str_init(&names, TEXT_MAX);
    cli_entry_names(entry, &names);
    struct mp_walk w = mp_walk_into(mp_bytes(names.data, names.len));
    for (bool first = true; mp_walk_element(&w, &name); first = false) {
        char *text = mp_view_strdup(name);
        cli_out_s(out, first ? "\n"
                               "Requires:\n"
                               "  "
                             : "  ");
        cli_out_shown(out, text ? text : "", text ? strlen(text) : 0);
        cli_out_s(out,
                  text && !strchr(text, ':') && !getenv(text) ? " (not set)\n" : "\n");
        mp_free(text);
    }
    mp_str_clear(&names);
}

static void put_people(struct cli *cli, const mcplug_entry *entry, const char *masked,
                       const char *state, const char *why)
{
    struct mcplug_entry_info e = cli_entry_info(entry);
    struct cli_out *out = &cli->out;
    char *shown = mcplug_json_layout(masked, strlen(masked));

    put_field(out, "Name:", e.name);
    put_field(out, "State:", state);
    if (*why)
        put_field(out, "", why);
    put_place(out, &e);
    put_field(out, "Transport:", e.type);
    cli_out_s(out, "\n");
    cli_out_wrapped(out, shown ? shown : "", shown ? strlen(shown) : 0, 0, 0);
    mcplug_text_free(shown);

    put_names(out, entry);
    const mcplug_entry *other;
    for (size_t i = 0; (other = mcplug_entry_at(cli->config, i)); i++) {
        struct mcplug_entry_info hidden = cli_entry_info(other);
        if (hidden.shadowed_by == entry) {
            cli_out_s(out, "\n"
                           "It overrides another server of this name.\n");
            put_place(out, &hidden);
        }
    }
}

static int put_json(struct cli *cli, const mcplug_entry *entry, const char *masked,
                    const char *state, const char *why)
{
    struct mcplug_entry_info e = cli_entry_info(entry);
    struct mp_str text;

    mp_str_init(&text, TEXT_MAX);
    mp_str_addc(&text, '{');
    cli_json_member(&text, "name", e.name);
    cli_json_member(&text, "state", state);
    if (*why)
        cli_json_member(&text, "reason", why);
    cli_json_member(&text, "scope", cli_scope_name(e.scope));
    cli_json_member(&text, "file", e.file);
    mp_str_addf(&text, ",\"line\":%zu", e.line);
    cli_json_member(&text, "type", e.type);
    mp_str_adds(&text, ",\"asksFor\":");
    cli_entry_names(entry, &text);
    mp_str_adds(&text, ",\"entry\":");
    mp_str_adds(&text, masked);
    mp_str_adds(&text, "}\n");
    return cli_put_document(cli, &text, CLI_OK);
}

static int run(struct cli *cli)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    struct mcplug_problem p = {.struct_size = sizeof p};
    mcplug_config *config = cli_config(cli);
    const char *name = cli->args.words.items[0];
    mcplug_entry *entry;

    if (!config)
        return CLI_BAD_CONFIG;
    int code = CLI_OK;
    if (cli->args.scope)
        code = cli_entry_pick(cli, name, &entry);
    else if (!(entry = cli_by_name_find(cli, name)))
        code = CLI_NOT_FOUND;
    if (code != CLI_OK)
        return code;
    size_t before = cli_config_info(config).problems;
    cli_entries_check(cli, entry);
    enum mcplug_entry_state state = mcplug_entry_state(entry, &err);
    mp_view json = cli_entry_json(entry);
    char *masked = mcplug_json_masked((const char *)json.data, json.len);
    if (!masked) {
        cli_error("out of memory");
        return CLI_INTERNAL;
    }
    const char *shown = cli_state_name(state);
    if (cli->args.json)
        code = put_json(cli, entry, masked, shown, err.text);
    else
        put_people(cli, entry, masked, shown, err.text);
    mcplug_text_free(masked);
    for (size_t i = before; !cli->args.quiet && mcplug_config_problem_info(config, i, &p);
         i++)
        cli_log_line(p.is_warning ? MCPLUG_LOG_WARN : MCPLUG_LOG_ERROR, "config",
                     mcplug_config_problem(config, i));
    return code;
}

static const struct cli_option options[] = {
    {"scope", 's', CLI_TEXT, "SCOPE",
     "show the entry of this scope: local, project or user",
     offsetof(struct cli_args, scope), .complete.is = CLI_WORD_SCOPE},
    {.name = NULL},
};

const struct cli_command cli_cmd_get = {
    .name = "get",
    .words = "NAME",
    .summary = "Show a server's entry in the configuration.",
    .details = "Nothing is started. Values that may be secret are shown as ***.",
    .options = options,
    .flags = CLI_CONFIG,
    .min_words = 1,
    .max_words = 1,
    .complete = {{.is = CLI_WORD_SERVER}},
    .run = run,
};
