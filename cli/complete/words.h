/* What a word on a command line may become: one candidate per line, VALUE and, behind a
 * tab, a description. No shell is told anything that it could take for more than text:
 * values that cannot be typed as they are shown are left out, descriptions are escaped.
 */
#ifndef CLI_CANDIDATES_H
#define CLI_CANDIDATES_H

#include "cli/base/cli.h"
#include "json/walk.h"

#include <mcplug/mcplug.h>

/* The command line around the cursor, as far as it can be understood. Texts belong to
 * whoever gave the words. */
struct cli_cursor {
    struct cli *cli;                   /* has --mcp-config and --plugin-dir of the line */
    const struct cli_command *command; /* NULL: none before the cursor */
    const struct cli_option *option;   /* whose value the word is; NULL: of none */
    const char *word;                  /* up to the cursor */
    const char *value;                 /* of `word`, behind the = of an option */
    struct cli_list words;             /* before the cursor, behind the command */
    struct cli_list given;             /* options, wherever they stand: "json" */
    bool lost;                         /* behind a command that there is not */
    bool behind;                       /* the cursor is behind -- */
    bool in_place;                     /* the server has no name: --, --url, --type */
    int files;                         /* what the shell is to add: see below */
    const char *files_at;              /* where in `word` the path begins */
};

/* The last line is `:N`, and behind a tab what stands in the word before the path. */
enum { CLI_FILES_NONE = 0, CLI_FILES_ANY = 1, CLI_FILES_DIRECTORIES = 2 };

/* ---- one line ---- */

/* `head` and `value` together are the word. */
void cli_candidate(struct cli_out *out, const char *head, const char *value,
                   const char *description);
/* Of a server: never looks like an option. Both are JSON strings. */
void cli_candidate_view(struct cli_out *out, const char *head, mp_view value,
                        mp_view description);

/* ---- of the program ---- */

void cli_candidates_commands(struct cli_out *out);
void cli_candidates_options(struct cli_cursor *at);
/* Values of at->option. */
void cli_candidates_values(struct cli_cursor *at);
void cli_candidates_modules(struct cli_cursor *at);
void cli_candidates_importers(struct cli_out *out);
void cli_candidates_shells(struct cli_out *out);

/* ---- offers.c: of the configuration, and of servers as they are known ---- */

enum cli_which { CLI_ALL, CLI_ENABLED, CLI_DISABLED, CLI_APPROVED, CLI_UNAPPROVED };
void cli_candidates_servers(struct cli_cursor *at, enum cli_which which);
/* mcp__SERVER__TOOL */
void cli_candidates_qualified(struct cli_cursor *at);
/* Those of the server that `name` means: its name, or mcp__SERVER__TOOL. */
void cli_candidates_items(struct cli_cursor *at, const char *name, enum mcplug_kind kind);
/* KEY= for the arguments of a tool or prompt, or KEY=VALUE once there is a key. `item`
 * NULL: it is in `name`. */
void cli_candidates_arguments(struct cli_cursor *at, const char *name,
                              enum mcplug_kind kind, const char *item);
/* The bare names of a prompt's arguments. */
void cli_candidates_argument_names(struct cli_cursor *at, const char *name,
                                   const char *prompt);

#endif
