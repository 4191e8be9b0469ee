/* What the files of the import share. Private to core/config/import*.c and its tests. */
#ifndef MP_CONFIG_IMPORT_PARTS_H
#define MP_CONFIG_IMPORT_PARTS_H

#include "config/import.h"
#include "json/walk.h"

#define MP_IMPORT_ENTRIES 1000 /* of one import, taken or skipped */
#define MP_IMPORT_MEMBERS 1000 /* arguments, variables, fields or tools of one entry */
#define MP_IMPORT_NAME 64      /* characters of a server's name */
#define MP_IMPORT_INPUTS                                                                 \
    65536                  /* bytes of the list of inputs; a longer one is not read      \
                            */
#define MP_IMPORT_ENV 4096 /* bytes of an entry's env that is searched for names */
#define MP_IMPORT_TEXT ((size_t)64 << 10)  /* bytes of one text, as it stands there */
#define MP_IMPORT_ENTRY ((size_t)16 << 20) /* of an entry in our form */

/* The same order as mp_importers. */
enum mp_program {
    MP_CLAUDE_DESKTOP,
    MP_CLAUDE_CODE,
    MP_CURSOR,
    MP_VSCODE,
    MP_CODEX,
    MP_GEMINI,
    MP_WINDSURF,
    MP_ZED,
};

/* Where an entry comes from. */
struct mp_import_source {
    enum mp_program program;
    const struct mp_import_places *paths;
    const char *file;
    const char *project; /* the directory it is meant for; NULL: everywhere */
    mp_view root;        /* the whole file, JSON */
    mp_view inputs;      /* what is asked for: objects with id and description */
    mp_view off[2];      /* names of servers that are switched off */
    mp_view on[2];       /* of the only ones that are not */
    mp_view env;         /* of the entry: what the server itself may put in for ${..} */
};

/* ---- import_text.c ---- */

/* What a person should know of one entry. */
struct mp_import_notes {
    struct mp_str lines;
    struct mp_str left_out; /* "a, b" */
};

void mp_import_notes_init(struct mp_import_notes *notes);
void mp_import_notes_clear(struct mp_import_notes *notes);
/* Adds a line, once. */
void mp_import_note(struct mp_import_notes *notes, const char *fmt, ...)
    MCPLUG_PRINTF(2, 3);
/* Adds "KEY" or, with `of`, "OF.KEY" to what was left out. */
void mp_import_left_out(struct mp_import_notes *notes, const char *of, const char *key);
/* give; all of it, NULL when there is nothing. */
char *mp_import_notes_take(struct mp_import_notes *notes);

/* Adds `text` with its variables in our form. What would be a variable or a command
 * here, but is none there, becomes plain text. `in_url`: what it is part of. */
void mp_import_translate(const struct mp_import_source *source, const char *text,
                         bool in_url, struct mp_import_notes *notes, struct mp_str *out);

/* ---- import_entry.c ---- */

/* Adds the entry `from`, called `name` there, in our form. MCPLUG_ENOTSUP with the
 * reason when it has none. */
int mp_import_entry(const struct mp_import_source *source, const char *name, mp_view from,
                    struct mp_str *out, struct mp_import_notes *notes,
                    struct mcplug_error *err);

/* ---- import_programs.c ---- */

/* The `i`th file that the program may have; false: there are no more. give `path`: NULL
 * without memory, "" when that place is not known. `project`: it is of places->cwd. */
bool mp_import_place(enum mp_program program, const struct mp_import_places *paths,
                     size_t i, char **path, bool *project);
/* give `out`; the project directory that `file` is in, NULL: it is in none. MCPLUG_OK or
 * MCPLUG_ENOMEM. */
int mp_import_project_of(enum mp_program program, const struct mp_import_places *paths,
                         const char *file, char **out);

/* Finds what of `source->root` concerns all servers. */
void mp_import_open(struct mp_import_source *source);
/* Calls `fn` for each object with servers in `source->root`, its own `source` given. Ends
 * with the first that does not return MCPLUG_OK. */
typedef int mp_import_fn(void *arg, const struct mp_import_source *source,
                         const char *key, mp_view servers);
int mp_import_each(const struct mp_import_source *source, mp_import_fn *fn, void *arg);
/* Is that server switched off elsewhere in the file? */
bool mp_import_is_off(const struct mp_import_source *source, const char *name);
/* give; the description of an input, NULL: none. */
char *mp_import_input(const struct mp_import_source *source, const char *id);

/* ---- import.c ---- */

/* mp_import_read() of one file whose text is given. */
int mp_import_text(const struct mp_importer *from, const struct mp_import_places *paths,
                   const char *file, const char *project, mp_view text,
                   struct mp_import *out, struct mcplug_error *err);

#endif
