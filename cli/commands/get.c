#include "cli/commands/commands.h"

#include "base/mem.h"
#include "config/jsontext.h"
#include "cli/base/entries.h"
#include "cli/base/message.h"

#include <stdlib.h>
#include <string.h>

/* ---- showing ---- */

static void put_field(struct cli_out *out, const char *caption, const char *text)
{
    cli_out_f(out, "%-11s", caption);
    cli_out_shown(out, text, strlen(text));
    cli_out_s(out, "\n");
}

static void put_place(struct cli_out *out, const struct mp_entry *entry)
{
    cli_out_f(out, "%-11s%s, ", "Scope:", mp_scope_name(entry->source->scope));
    cli_out_shown(out, entry->source->path, strlen(entry->source->path));
    cli_out_f(out, ":%zu\n", entry->at.line);
}

/* What it asks for, and what of that is not there. */
static void put_names(struct cli_out *out, const struct mp_entry *entry)
{
    struct mp_str names;
    mp_view name;

    mp_str_init(&names, MP_FILE_MAX * 4);
    cli_entry_names(entry, &names);
    struct mp_walk w = mp_walk_into(mp_bytes(names.data, names.len));
    for (bool first = true; mp_walk_element(&w, &name); first = false) {
        char *text = mp_view_strdup(name);
        cli_out_s(out, first ? "\nAsks for:\n  " : "  ");
        cli_out_shown(out, text ? text : "", text ? strlen(text) : 0);
        cli_out_s(out,
                  text && !strchr(text, ':') && !getenv(text) ? " (not set)\n" : "\n");
        mp_free(text);
    }
    mp_str_clear(&names);
}

static void put_people(struct cli *cli, const struct mp_entry *entry,
                       const struct mp_str *masked, const char *state, const char *why)
{
    struct cli_out *out = &cli->out;
    struct mp_str shown;
    char room[64];

    put_field(out, "Name:", entry->name);
    put_field(out, "State:", state);
    if (*why)
        put_field(out, "", why);
    put_place(out, entry);
    put_field(out, "Transport:", cli_entry_transport(entry, room, sizeof room));
    mp_str_init(&shown, MP_FILE_MAX * 4);
    mp_json_layout(mp_bytes(masked->data, masked->len), 0, "  ", "\n", &shown);
    cli_out_s(out, "\n");
    cli_out_wrapped(out, shown.data ? shown.data : "", shown.len, 0, 0);
    mp_str_clear(&shown);

    put_names(out, entry);
    for (size_t i = 0; i < cli->config->n_entries; i++)
        if (cli->config->entries[i].by == entry) {
            cli_out_s(out, "\nIt hides another one.\n");
            put_place(out, &cli->config->entries[i]);
        }
}

static void put_json(struct cli *cli, const struct mp_entry *entry,
                     const struct mp_str *masked, const char *state, const char *why)
{
    struct mp_str text;
    char room[64];

    mp_str_init(&text, MP_FILE_MAX * 4);
    mp_str_addc(&text, '{');
    cli_json_member(&text, "name", entry->name);
    cli_json_member(&text, "state", state);
    if (*why)
        cli_json_member(&text, "reason", why);
    cli_json_member(&text, "scope", mp_scope_name(entry->source->scope));
    cli_json_member(&text, "file", entry->source->path);
    mp_str_addf(&text, ",\"line\":%zu", entry->at.line);
    cli_json_member(&text, "type", cli_entry_transport(entry, room, sizeof room));
    mp_str_adds(&text, ",\"asksFor\":");
    cli_entry_names(entry, &text);
    mp_str_adds(&text, ",\"entry\":");
    mp_str_add(&text, masked->data, masked->len);
    mp_str_adds(&text, "}\n");
    cli_out_json(&cli->out, text.data, text.len);
    mp_str_clear(&text);
}

static int run(struct cli *cli)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    struct mcplug_config *config = cli_config(cli);
    const char *name = cli->args.words.items[0];
    struct mp_entry *entry;
    struct mp_str masked;
    enum mp_state state;

    if (!config)
        return CLI_FAILED;
    entry = cli->args.scope ? cli_entry_pick(cli, name) : cli_by_name_find(cli, name);
    if (!entry)
        return CLI_USAGE;
    size_t before = config->n_problems;
    cli_entries_check(cli, entry, 1);
    mp_entry_usable(config, entry, &state, &err);
    mp_str_init(&masked, MP_FILE_MAX * 2);
    if (!mp_mask_entry(entry->json, &masked)) {
        mp_str_clear(&masked);
        cli_error("out of memory");
        return CLI_FAILED;
    }
    (cli->args.json ? put_json : put_people)(cli, entry, &masked, cli_state_name(state),
                                             err.text);
    mp_str_clear(&masked);
    for (size_t i = before; i < config->n_problems && !cli->args.quiet; i++)
        cli_log_line(config->problems[i].is_warning ? MCPLUG_LOG_WARN : MCPLUG_LOG_ERROR,
                     "config", mp_problem_text(&config->problems[i]));
    return CLI_OK;
}

static const struct cli_option options[] = {
    {"scope", 's', CLI_TEXT, "SCOPE", "that of this scope: local, project or user",
     offsetof(struct cli_args, scope)},
    {.name = NULL},
};

const struct cli_command cli_cmd_get = {
    .name = "get",
    .words = "NAME",
    .summary = "Show what the configuration has for a server.",
    .details = "Nothing is started. What may be a secret is shown as ***.",
    .options = options,
    .flags = CLI_CONFIG,
    .min_words = 1,
    .max_words = 1,
    .run = run,
};
