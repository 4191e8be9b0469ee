/* What the commands around entries of the configuration have in common. */
#ifndef CLI_ENTRIES_H
#define CLI_ENTRIES_H

#include "cli/base/by_name.h"
#include "config/config.h"

/* --scope, or `otherwise`. false: told that there is no such scope. */
bool cli_scope(struct cli *cli, enum mp_scope fallback, enum mp_scope *out);

/* The entry that NAME means for a command that changes it: of the scope of --scope, or
 * the only one there is. NULL: told. */
struct mp_entry *cli_entry_pick(struct cli *cli, const char *name);

/* Everything that can be said against an entry, its transport's settings included, is
 * noted in the configuration. A host is made for it, and modules are loaded. */
void cli_entries_check(struct cli *cli, struct mp_entry *entries, size_t n);

/* Checks `json` and adds it; tells problems, all of them. `approved`: the user wrote it.
 * CLI_OK or the exit code. */
int cli_entry_add(struct cli *cli, enum mp_scope scope, const char *name, mp_view json,
                  bool approved, const char **file);

/* As long as nobody has tried: "pending", "failed", "disabled", "needs-approval". */
const char *cli_state_name(enum mp_state state);
/* "stdio"; what a URL stands for without a type: "http", "websocket", ..; "" when that is
 * not known yet. Written to `room`. */
const char *cli_entry_transport(const struct mp_entry *entry, char *room, size_t size);

/* The exit code for what a function of the configuration returned. */
int cli_config_code(const struct mcplug_error *err);
/* Adds `,"NAME":"TEXT"` (no comma behind a brace). */
void cli_json_member(struct mp_str *out, const char *name, const char *text);

#endif
