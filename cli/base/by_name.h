/* Servers by their names in the configuration. */
#ifndef CLI_BY_NAME_H
#define CLI_BY_NAME_H

#include "base/buf.h"
#include "cli/base/cli.h"
#include "json/walk.h"

/* The configuration, read once, with what --mcp-config adds; files that can't be used are
 * told as warnings unless --quiet. NULL: an error was told. borrow from `cli`. */
mcplug_config *cli_config(struct cli *cli);

/* The same without a word about what is wrong with it; NULL: it can't be had. */
mcplug_config *cli_config_silent(struct cli *cli, struct mcplug_error *err);
/* "pluginDirs" of the configuration, NULL-ended, or NULL. borrow */
const char *const *cli_plugin_dirs(struct cli *cli);
/* Settings of converters that are configured; NULL: none. borrow */
const char *cli_converters(struct cli *cli);

struct mcplug_config_info cli_config_info(const mcplug_config *config);
struct mcplug_entry_info cli_entry_info(const mcplug_entry *entry);
/* What the entry says. */
mp_view cli_entry_json(const mcplug_entry *entry);
/* Is it a problem of that entry? */
bool cli_problem_is_of(const struct mcplug_problem *p,
                       const struct mcplug_entry_info *entry);

/* Tells that no server is configured, and what to do about it. */
void cli_tell_no_server(const struct cli *cli);

/* The entry that `name` means; NULL: the user was told that there is none, with the one
 * that it looks like. */
mcplug_entry *cli_by_name_find(struct cli *cli, const char *name);

/* The server that the command line names, looked up once: by its name or, where the
 * command takes that, by mcp__SERVER__TOOL; cli->tool is the rest of the text then, else
 * NULL. CLI_OK, with NULL for a server that is given in place; or the
 * exit code after having told that there is none, or more than one. */
int cli_by_name_server(struct cli *cli, mcplug_entry **out);
/* The outcome where cli_by_name_find() has found none: there is no such server, or no
 * configuration. */
int cli_by_name_none(const struct cli *cli);

/* May it be used? Asks for approval where a person can be asked. CLI_OK, or the exit code
 * after having told why not. */
int cli_by_name_usable(struct cli *cli, mcplug_entry *entry);

/* Is there something to ask or to tell before it is opened? If not, opening it judges it,
 * and that is enough. */
bool cli_by_name_asks(const mcplug_entry *entry);

/* Opens it as its entry says, and on top of that as the command line does (--env,
 * --header, --cwd, --set, --insecure). As mcplug_entry_open(). */
int cli_by_name_open(struct cli *cli, mcplug *host, mcplug_entry *entry,
                     const struct mcplug_server_options *options, mcplug_ready_fn *ready,
                     void *arg, mcplug_server **out, struct mcplug_error *err);

/* Everything that the entry may ask for, each once: adds a JSON array of strings. */
void cli_entry_names(const mcplug_entry *entry, struct mp_str *out);

/* ---- which of its tools may be used; `entry` NULL: given in place, so all of them ----
 */

/* An item of a list: resources and prompts are always allowed. */
bool cli_allows_item(const mcplug_entry *entry, enum mcplug_kind kind, mp_view name);
/* false was told to the user, with the list and the file that say so. */
bool cli_allows_tell(const mcplug_entry *entry, const char *tool);

/* ---- approve.c, consent.c ---- */

/* Shows the entry in full and what has changed since it was approved, and asks. Without
 * a terminal the answer is no. */
bool cli_approve_ask(const struct cli *cli, const mcplug_entry *entry);
/* Drops what was typed so far at a terminal, which is no answer to what is shown next. */
void cli_drop_typed(int fd);
/* Is a line, without its end, consent? Only y and yes are, whatever the case. */
bool cli_is_yes(const char *line, size_t len);

#endif
