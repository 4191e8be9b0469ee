/* What the files of the import share. Private to cli/import and its tests. */
#ifndef CLI_IMPORT_PARTS_H
#define CLI_IMPORT_PARTS_H

#include "cli/import/import.h"
#include "json/walk.h"

#define CLI_IMPORT_ENTRIES 1000 /* of one import, taken or skipped */
#define CLI_IMPORT_MEMBERS 1000 /* arguments, variables, fields or tools of one entry */
#define CLI_IMPORT_NAME 64      /* characters of a server's name */
#define CLI_IMPORT_INPUTS                                                                \
    65536                   /* bytes of the list of inputs; a longer one is not read     \
                             */
#define CLI_IMPORT_ENV 4096 /* bytes of an entry's env that is searched for names */
#define CLI_IMPORT_TEXT ((size_t)64 << 10)  /* bytes of one text, as it stands there */
#define CLI_IMPORT_ENTRY ((size_t)16 << 20) /* of an entry in our form */

/* The same order as cli_importers. */
enum cli_import_program {
    CLI_CLAUDE_DESKTOP,
    CLI_CLAUDE_CODE,
    CLI_CURSOR,
    CLI_VSCODE,
    CLI_CODEX,
    CLI_GEMINI,
    CLI_WINDSURF,
    CLI_ZED,
};

/* Where an entry comes from. */
struct cli_import_source {
    enum cli_import_program program;
    const struct cli_import_places *paths;
    const char *file;
    const char *project; /* the directory it is meant for; NULL: everywhere */
    mp_view root;        /* the whole file, JSON */
    mp_view inputs;      /* what is asked for: objects with id and description */
    mp_view off[2];      /* names of servers that are switched off */
    mp_view on[2];       /* of the only ones that are not */
    mp_view env;         /* of the entry: what the server itself may put in for ${..} */
};

/* ---- text.c ---- */

/* What a person should know of one entry. */
struct cli_import_notes {
    struct mp_str lines;
    struct mp_str left_out; /* "a, b" */
};

void cli_import_notes_init(struct cli_import_notes *notes);
void cli_import_notes_clear(struct cli_import_notes *notes);
/* Adds a line, once. */
void cli_import_note(struct cli_import_notes *notes, const char *fmt, ...)
    MCPLUG_PRINTF(2, 3);
/* Adds "KEY" or, with `of`, "OF.KEY" to what was left out. */
void cli_import_left_out(struct cli_import_notes *notes, const char *of, const char *key);
/* give; all of it, NULL when there is nothing. */
char *cli_import_notes_take(struct cli_import_notes *notes);

/* Adds `text` with its variables in our form. What would be a variable or a command
 * here, but is none there, becomes plain text. `in_url`: what it is part of. */
void cli_import_translate(const struct cli_import_source *source, const char *text,
                          bool in_url, struct cli_import_notes *notes,
                          struct mp_str *out);

/* ---- entry.c ---- */

/* Adds the entry `from`, called `name` there, in our form. MCPLUG_ENOTSUP with the
 * reason when it has none. */
int cli_import_entry(const struct cli_import_source *source, const char *name,
                     mp_view from, struct mp_str *out, struct cli_import_notes *notes,
                     struct mcplug_error *err);

/* ---- programs.c ---- */

/* The `i`th file that the program may have; false: there are no more. give `path`: NULL
 * without memory, "" when that place is not known. `project`: it is of places->cwd. */
bool cli_import_place(enum cli_import_program program,
                      const struct cli_import_places *paths, size_t i, char **path,
                      bool *project);
/* give `out`; the project directory that `file` is in, NULL: it is in none. MCPLUG_OK or
 * MCPLUG_ENOMEM. */
int cli_import_project_of(enum cli_import_program program,
                          const struct cli_import_places *paths, const char *file,
                          char **out);

/* Finds what of `source->root` concerns all servers. */
void cli_import_open(struct cli_import_source *source);
/* Calls `fn` for each object with servers in `source->root`, its own `source` given. Ends
 * with the first that does not return MCPLUG_OK. */
typedef int cli_import_fn(void *arg, const struct cli_import_source *source,
                          const char *key, mp_view servers);
int cli_import_each(const struct cli_import_source *source, cli_import_fn *fn, void *arg);
/* Is that server switched off elsewhere in the file? */
bool cli_import_is_off(const struct cli_import_source *source, const char *name);
/* give; the description of an input, NULL: none. */
char *cli_import_input(const struct cli_import_source *source, const char *id);

/* ---- import.c ---- */

/* cli_import_read() of one file whose text is given. */
int cli_import_text(const struct cli_importer *from,
                    const struct cli_import_places *paths, const char *file,
                    const char *project, mp_view text, struct cli_import *out,
                    struct mcplug_error *err);

#endif
