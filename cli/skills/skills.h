/* Skills of a server: the extension io.modelcontextprotocol/skills (SEP-2640).
 *
 * An entry of skills/list or skills/get has the frontmatter of a SKILL.md and every file
 * of the skill with its size and digest. Nothing of a skill is used before it was
 * compared with that: SKILL.md first, then the others. A match proves that a server is
 * consistent, not that it is to be trusted. */
#ifndef CLI_SKILLS_H
#define CLI_SKILLS_H

#include "base/sha256.h"
#include "cli/base/oneshot.h"
#include "json/walk.h"

#define CLI_SKILL_FILES_MAX 1000                 /* the extension asks for 512, */
#define CLI_SKILL_BYTES_MAX ((uint64_t)64 << 20) /* and for 16 MiB */
#define CLI_SKILL_PATH_MAX 1024                  /* of a file in its skill */
#define CLI_SKILL_MAIN "SKILL.md"

/* ---- entry.c: what a server says of a skill ---- */

struct cli_skill_file {
    const char *uri; /* borrow from the entry */
    char *path;      /* in the skill, unescaped: "references/FORMS.md" */
    uint64_t size;
    char digest[MP_SHA256_HEX + 1];
};

struct cli_skill {
    json_t *entry;
    const json_t *frontmatter; /* the next three: borrow from the entry */
    const char *uri;           /* of SKILL.md */
    const char *name, *description;
    char *place;  /* relative path of a directory that no other skill of the server has;
                     its  last part is the name */
    bool dynamic; /* generated: there are no digests, and no files here */
    struct cli_skill_file *files; /* SKILL.md first, the rest as they came */
    size_t n_files;
    uint64_t bytes; /* of all files */
};

/* Reads and checks an entry: URIs, names of files, digests, limits. MCPLUG_EPROTO: it is
 * not what the extension says, or names a file that has no place in a directory;
 * MCPLUG_ETOOBIG; MCPLUG_ENOMEM. Clear `out` in any case. */
int cli_skill_read(mp_view json, struct cli_skill *out, struct mcplug_error *err);
void cli_skill_clear(struct cli_skill *s);

/* NULL: there is no such file. */
const struct cli_skill_file *cli_skill_find(const struct cli_skill *s, const char *path);

/* Adds `text` as one part of a path: all but letters, digits, `-`, `_` and `.` as %XX. */
void cli_skill_add_encoded(struct mp_str *out, const char *text);

/* ---- verify.c: is a file what the entry says? ---- */

/* The part of a result of resources/read that has the file; MCPLUG_EPROTO when it has
 * another size or digest, or there is none. `out` is valid as long as the result. */
int cli_skill_verify(const struct cli_doc *doc, const struct cli_skill_file *file,
                     struct mcplug_block *out, struct mcplug_error *err);
/* The same for SKILL.md, and whether its frontmatter is that of the entry. */
int cli_skill_verify_main(const struct cli_doc *doc, const struct cli_skill *s,
                          struct mcplug_block *out, struct mcplug_error *err);
/* Passes the bytes of a part that was verified. As mcplug_result_write(). */
int cli_skill_write(const struct cli_doc *doc, const struct mcplug_block *part,
                    mcplug_write_fn *write, void *arg);

/* Is what SKILL.md begins with, between two lines `---`, what the entry has?
 * MCPLUG_EPROTO names the first member that differs. */
int cli_skill_compare(mp_view text, const json_t *frontmatter, struct mcplug_error *err);

/* ---- pages.c: skills/list ---- */

#define CLI_SKILL_PAGES_MAX 64
#define CLI_SKILL_ITEMS_MAX 10000

struct cli_skill_list { /* the first member of the job of a command that asks for it */
    cli_ready_fn *done; /* called when everything is there */
    struct mp_str pages[CLI_SKILL_PAGES_MAX];
    size_t n_pages, bytes;
    mp_view *items; /* in the pages */
    size_t n, cap;
    char *cursor; /* the last one, with its quotes */
};

/* Asks for all pages and calls `done`. A server that repeats a cursor or never ends is
 * warned of, and what came so far is the list. */
void cli_skill_list_get(struct cli_oneshot *link, struct cli_skill_list *list,
                        cli_ready_fn *done);
void cli_skill_list_clear(struct cli_skill_list *list);

/* Does the server have the extension? false: the command was ended with an error. */
bool cli_skills_offered(struct cli_oneshot *link);

/* The entry whose URI, or else whose name, is `word`. Without one, or with several of
 * that name, the command is ended with an error, and the length is 0. */
mp_view cli_skill_list_find(struct cli_oneshot *link, const struct cli_skill_list *list,
                            const char *word);

#endif
