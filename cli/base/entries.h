/* What the commands around entries of the configuration have in common. */
#ifndef CLI_ENTRIES_H
#define CLI_ENTRIES_H

#include "cli/base/by_name.h"
#include "cli/base/doc.h"

const char *cli_scope_name(enum mcplug_scope scope); /* "project" */
/* --scope, or `fallback`. false: told that there is no such scope to write to. */
bool cli_scope(struct cli *cli, enum mcplug_scope fallback, enum mcplug_scope *out);

/* The entry that NAME means for a command that changes it: of the scope of --scope, or
 * the only one there is. CLI_OK, or the outcome after having told why there is none. */
int cli_entry_pick(struct cli *cli, const char *name, mcplug_entry **out);

/* Everything that can be said against an entry (NULL: against all of them), its
 * transport's settings included, is noted in the configuration. A host is made for it,
 * and modules are loaded. */
void cli_entries_check(struct cli *cli, mcplug_entry *entry);

/* Checks a name and `json`, which may become an entry; tells problems, all of them.
 * CLI_OK or the exit code. */
int cli_entry_check_new(struct cli *cli, enum mcplug_scope scope, const char *name,
                        mp_view json);
/* Adds what was checked. `approved`: the user wrote it. CLI_OK or the exit code. */
int cli_entry_write(struct cli *cli, enum mcplug_scope scope, const char *name,
                    mp_view json, bool approved, const char **file);
/* Both. */
int cli_entry_add(struct cli *cli, enum mcplug_scope scope, const char *name,
                  mp_view json, bool approved, const char **file);

/* As long as nobody has tried: "pending", "failed", "disabled", "needs-approval". */
const char *cli_state_name(enum mcplug_entry_state state);

/* The outcome of what a function that changes the configuration returned. */
int cli_config_code(const struct mcplug_error *err);
/* Adds `,"NAME":"TEXT"` (no comma behind a brace). */
void cli_json_member(struct mp_str *out, const char *name, const char *text);
/* Adds an entry with what may be a secret as ***. false: no memory */
bool cli_json_masked(struct mp_str *out, mp_view entry);

#endif
