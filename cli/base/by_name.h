/* Servers by their names in the configuration. */
#ifndef CLI_BY_NAME_H
#define CLI_BY_NAME_H

#include "cli/base/cli.h"
#include "config/config.h"

#include <mcplug/mcplug.h>

/* The configuration, read once, with what --mcp-config adds; files that can't be used are
 * told as warnings unless --quiet. NULL: an error was told. borrow from `cli`. */
struct mcplug_config *cli_config(struct cli *cli);

/* The same without a word about what is wrong with it; NULL: it can't be had. */
struct mcplug_config *cli_config_silent(struct cli *cli, struct mcplug_error *err);
/* "pluginDirs" of the configuration, NULL-ended, or NULL. borrow */
const char *const *cli_plugin_dirs(struct cli *cli);

/* Tells that no server is configured, and what to do about it. */
void cli_tell_no_server(const struct mcplug_config *config);

/* The entry that `name` means; NULL: the user was told that there is none, with the one
 * that it looks like. */
struct mp_entry *cli_by_name_find(struct cli *cli, const char *name);

/* `mcp__SERVER__TOOL`: the entry and, in `tool`, the rest of the text. Each part of a
 * name stands there with _ for everything but letters and digits, or as mp_names has it.
 * NULL: told that there is none, or more than one. */
struct mp_entry *cli_by_name_qualified(struct cli *cli, const char *text,
                                       const char **tool);

/* The names that the tools of all servers have towards a model, as far as the servers
 * tell. give: mp_names_free; NULL: no memory. */
struct mp_names;
struct mp_names *cli_names(const struct mcplug_config *config);

/* May it be used? Asks for approval where a person can be asked. CLI_OK, or the exit code
 * after having told why not. */
int cli_by_name_usable(struct cli *cli, struct mp_entry *entry);

/* How to reach it: what its entry says, and on top of that what the command line does
 * (--env, --header, --cwd, --set, --insecure). Variables that are not set are warned of.
 * give `settings`; clear `resolved` in any case. */
int cli_by_name_settings(struct cli *cli, mcplug *host, struct mp_entry *entry,
                         struct mp_resolved *resolved, mcplug_settings **settings,
                         struct mcplug_error *err);

/* Is a server that is given in place (`--`, --url) allowed here? */
int cli_inline_allowed(struct cli *cli, const mcplug_settings *settings,
                       struct mcplug_error *err);

/* Everything that the entry may ask for, each once: adds a JSON array of strings. */
void cli_entry_names(const struct mp_entry *entry, struct mp_str *out);

/* ---- approve.c ---- */

/* Shows the entry in full and what has changed since it was approved, and asks. Without
 * a terminal the answer is no. */
bool cli_approve_ask(const struct mp_entry *entry);
/* Reads a line of the terminal: is it y, Y or yes? */
bool cli_said_yes(void);
/* What changed between two JSON values, line by line: "- " gone, "+ " new, "  " as
 * before; escaped, each line indented by `indent`. false: it is too long, and nothing
 * was put. */
bool cli_put_diff(struct cli_out *out, mp_view was, mp_view now, size_t indent);

#endif
