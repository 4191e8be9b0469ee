/* Where -o leads: results as files. Nothing that exists is overwritten unless --force
 * says so, names made of a server's words stay in the directory, and what could not be
 * written whole is removed. */
#ifndef CLI_SAVE_H
#define CLI_SAVE_H

#include "cli/base/doc.h"

struct cli_oneshot;

#define CLI_SAVE_FILES 10000 /* of one result, in a directory */

enum cli_save_to { CLI_SAVE_NOWHERE, CLI_SAVE_STDOUT, CLI_SAVE_FILE, CLI_SAVE_DIR };

struct cli_save {
    enum cli_save_to to;
    const char *path;
    bool force, is_made;     /* is_made: the directory was not there before */
    struct cli_name *names;  /* that were given to files of this result */
    size_t n_names, n_saved; /* n_saved: files */
    bool explained;          /* how to overwrite was told */
    bool failed;             /* a write did, and others would */
};

/* Before anything is asked of a server: reads the options, refuses what cannot work, and
 * makes the directory. CLI_OK, or an outcome that was reported. End `s` in either case.
 */
int cli_save_begin(struct cli_save *s, const struct cli_args *args);
/* A directory that was made for nothing is removed. */
void cli_save_end(struct cli_save *s);

/* The blocks of a result, or the parts of a resource: each into the directory, or the one
 * that the file is for; links and what the file is not for is printed. Returns an outcome
 * that was reported. */
int cli_save_blocks(struct cli_save *s, struct cli *cli, const struct cli_doc *doc,
                    mp_view blocks);

/* Anything else, written by `write`: under `name` in a directory; without -o it is
 * printed. `type` is a MIME type. `write` returns MCPLUG_OK; MCPLUG_EIO, the result
 * cannot be read back; MCPLUG_ENOMEM; or MCPLUG_EPROTO and MCPLUG_ETOOBIG, it is no
 * Base64 or too large, which `what` names. */
typedef int cli_save_fn(void *arg, struct cli_out *out);
struct cli_saved {
    const char *name, *type, *what;
    cli_save_fn *write;
    void *arg;
};
int cli_save_one(struct cli_save *s, struct cli *cli, const struct cli_saved *what);
/* JSON of a result, and a newline; a text. */
int cli_save_json(struct cli_save *s, struct cli *cli, const struct cli_doc *doc,
                  mp_view part, const char *name);
int cli_save_text(struct cli_save *s, struct cli *cli, const struct cli_doc *doc,
                  mp_view string);

/* With --json a file is for the document: saves it, and finishes. false: it is not. */
bool cli_save_document(struct cli_save *s, struct cli_oneshot *link,
                       const struct cli_doc *doc);
/* Finishes after something was saved, or was not: with --json, the document is the
 * result, or that of a failure with the result in it. */
void cli_save_done(struct cli_oneshot *link, const struct cli_doc *doc, int code);

/* The options. */
#define CLI_SAVE_OPTIONS                                                                 \
    {"output",                                                                           \
     'o',                                                                                \
     CLI_TEXT,                                                                           \
     "FILE|DIR",                                                                         \
     "save to FILE, or each part to a file in DIR, which is created if it ends with /; " \
     "- is standard output",                                                             \
     offsetof(struct cli_args, output),                                                  \
     .complete.is = CLI_WORD_FILE},                                                      \
    {                                                                                    \
        "force", 0, CLI_FLAG, NULL, "with -o, overwrite files that exist",               \
            .at = offsetof(struct cli_args, force)                                       \
    }

#endif
