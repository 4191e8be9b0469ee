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
    char *head;                        /* of `word`, before `value`: "--scope=", or "" */
    struct cli_list words;             /* before the cursor, behind the command */
    const char *server;                /* the first of them, where that is one; or NULL */
    const char *const *own;            /* those of `words` that the command itself gets */
    size_t n_own;                      /* how many */
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

/* `head` and `value` together are the word. `head` is mostly at->head. */
void cli_candidate(struct cli_out *out, const char *head, const char *value,
                   const char *description);
/* Of a server: never looks like an option. Both are JSON strings. */
void cli_candidate_view(struct cli_out *out, const char *head, mp_view value,
                        mp_view description);

/* ---- of the program ---- */

void cli_candidates_choices(struct cli_cursor *at, const struct cli_choice *choices);
void cli_candidates_commands(struct cli_cursor *at);
void cli_candidates_options(struct cli_cursor *at);
void cli_candidates_importers(struct cli_cursor *at);
void cli_candidates_modules(struct cli_cursor *at);
void cli_candidates_transports(struct cli_cursor *at);
void cli_candidates_scopes(struct cli_cursor *at);

/* ---- servers.c: of the configuration, and of servers as they are known ---- */

/* `which` is CLI_WORD_SERVER or one of its kinds. */
void cli_candidates_servers(struct cli_cursor *at, enum cli_word_kind which);
/* mcp__SERVER__TOOL */
void cli_candidates_qualified(struct cli_cursor *at);
/* Those of at->server, which is a name or mcp__SERVER__TOOL. None without a server. */
void cli_candidates_items(struct cli_cursor *at, enum mcplug_kind kind);
/* KEY= for the arguments of the tool or prompt that is the first word, or KEY=VALUE once
 * there is a key. */
void cli_candidates_arguments(struct cli_cursor *at, enum mcplug_kind kind);
/* The bare names of a prompt's arguments. */
void cli_candidates_argument_names(struct cli_cursor *at, const char *prompt);

#endif
