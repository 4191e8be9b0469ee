/* Servers out of the files of other programs, as entries of ours. Reads only. */
#ifndef CLI_IMPORT_IMPORT_H
#define CLI_IMPORT_IMPORT_H

#include "base/buf.h"

#define CLI_IMPORT_MAX ((size_t)64 << 20) /* some keep their history in the same file */

struct cli_importer {
    const char *name;  /* "claude-desktop" */
    const char *title; /* "Claude Desktop" */
};

/* claude-desktop, claude-code, cursor, vscode, codex, gemini, windsurf, zed; then
 * name NULL. */
extern const struct cli_importer cli_importers[];

struct cli_imported {
    char *name;  /* made to fit the rules for names, unique within the import */
    char *as;    /* what it was called there, when that differs; NULL */
    char *entry; /* JSON object in our form */
    char *note;  /* what to know, one sentence per line; NULL: nothing */
    char *file;
    char *project; /* the directory it was meant for; NULL: everywhere */
    int fault;     /* of the command: CLI_OK, or why the entry cannot be added */
};

struct cli_import {
    struct cli_imported *list;
    size_t n;
    char **skipped; /* "FILE: NAME: why", one per entry that has no form here */
    size_t n_skipped;
    char **files; /* that were read */
    size_t n_files;
};

struct cli_import_places {
    const char *home; /* $HOME */
    const char *xdg;  /* $XDG_CONFIG_HOME; NULL: home/.config */
    const char *cwd;  /* for files of a project: .cursor/mcp.json, .vscode/mcp.json, .. */
    bool user_only;   /* leave out what lies in `cwd`: a repository may have brought it */
};

/* Reads the files of `from` where it keeps them, or `file` alone when it is not NULL. A
 * file that is not there is passed over; MCPLUG_ENOTSUP when there was none at all, with
 * the places looked at. A file that can't be read is MCPLUG_ECONFIG with file, line and
 * column. Clear `out` in any case. */
int cli_import_read(const struct cli_importer *from,
                    const struct cli_import_places *paths, const char *file,
                    struct cli_import *out, struct mcplug_error *err);
void cli_import_clear(struct cli_import *import);

const struct cli_importer *cli_importer_find(const char *name); /* NULL: unknown */

#endif
