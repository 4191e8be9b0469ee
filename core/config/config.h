/* The configuration behind <mcplug/admin.h>: which servers there are, which file each
 * comes from, what is wrong with it, and whether it may be used. Reading never fails as a
 * whole: what is wrong with a file or an entry is a problem of that one, and the others
 * are there.
 *
 * A file is a JSON object with the member "mcpServers", as many programs have it.
 *
 * The public functions are defined beside what they are about: config.c (what there is),
 * change.c (what is written), resolve.c (what may be used). */
#ifndef MP_CONFIG_CONFIG_H
#define MP_CONFIG_CONFIG_H

#include "config/approval.h"
#include "config/jsontext.h"
#include "config/paths.h"
#include "config/policy.h"

#include <mcplug/admin.h>
#include <mcplug/plugin.h>

#include <stdatomic.h>

#define MP_LOCAL_FILE ".mcplug.local.json"
#define MP_PROJECT_FILE ".mcp.json"

#define MP_ENTRY_MAX ((size_t)64 << 10) /* bytes of an entry */
#define MP_ENTRY_DEPTH 32               /* brackets in brackets */
#define MP_CONFIG_FILES 256             /* that are read, all scopes together */
#define MP_CONFIG_SERVERS 4096          /* entries of one file */
#define MP_PROJECT_MAX                                                                   \
    ((size_t)4 << 20) /* bytes of project files, after which none is read */
#define MP_TIME_MAX (365 * 86400000LL)    /* ms that an entry may say */
#define MP_SPILL_LIMIT ((int64_t)1 << 40) /* bytes on disk that an entry may say */
#define MP_PROBLEMS_MAX 1000

#define MP_SCOPES (MCPLUG_SCOPE_PACKAGE + 1)
const char *mp_scope_name(enum mcplug_scope scope); /* "project" */
/* Others may have written it: an entry is used only after its approval. */
bool mp_scope_needs_approval(enum mcplug_scope scope);

struct mp_source { /* one file */
    enum mcplug_scope scope;
    char *path; /* as it was looked for; "--mcp-config" for text given in place */
    char *real; /* without links; NULL for text given in place */
    struct mp_file file;
    bool broken;    /* not read, or no JSON; its problem tells why */
    bool strange;   /* and that is since it is somebody else's */
    mp_view queues; /* in its text; len 0: none that count */
    mp_view vaults; /* the same */
    mp_view models; /* the same */
};

struct mp_problem {
    bool is_warning;
    const char *file;   /* borrow */
    char *server;       /* NULL: of the file as a whole */
    char *path;         /* "mcpServers.github.args[1]"; "": the whole */
    struct mp_place at; /* line 0: not known */
    char *text;
    char *line; /* NULL until mp_problem_text() */
};

struct mp_entry {
    struct mcplug_config *config;
    char *name;
    const struct mp_source *source;
    mp_view json; /* the value, in the text of its source */
    struct mp_place at;
    bool broken;               /* it has problems that are no warnings */
    bool checked;              /* by mp_entry_check() */
    bool disabled;             /* says so itself */
    const struct mp_entry *by; /* the one of the same name that wins; NULL: this does */
    enum mcplug_approval approval; /* where the scope wants one */
    mp_view was;                   /* what was approved, when it has changed since */
};

struct mcplug_config {
    atomic_uint refs;
    struct mp_paths paths;
    struct mp_source *sources; /* the highest scope first */
    size_t n_sources;
    struct mp_entry *entries; /* by name; of one name, the winner first */
    size_t n_entries;
    struct mp_entry **winners; /* of each name, in the same order */
    size_t n_winners;
    struct mp_problem *problems;
    size_t n_problems;
    bool too_many;   /* files */
    bool incomplete; /* something did not fit */
    bool exclusive;  /* there is a file of the administrator's: it is all there is */
    struct mp_policy *policy;
    char *policy_error; /* the policy can't be read, so nothing is allowed */
    struct mp_file approvals;
    char **plugin_dirs;            /* NULL-ended; NULL: none */
    char *converters;              /* a JSON object; NULL: none */
    struct mp_model_entry *models; /* that were asked for */
    char *new_local, *new_project; /* for mcplug_config_scope_file() */
};

/* Somebody else needs it, too, and drops it with mcplug_config_free(). [any] */
struct mcplug_config *mp_config_ref(struct mcplug_config *config);

/* The first problem of that entry which is no warning; NULL: none. */
const struct mp_problem *mp_config_problem_of(const struct mcplug_config *config,
                                              const struct mp_entry *entry);

/* "FILE:LINE:COLUMN: PATH: TEXT"; borrow from the configuration. */
const char *mp_problem_text(struct mp_problem *p);

/* Is there a file that can't be used? What it has is not known then. Projects of others
 * do not count: anyone can put one above a directory that all may write. */
bool mp_config_damaged(const struct mcplug_config *config);

/* Notes a problem; `at` is a part of the source's text (len 0: the file as a whole).
 * MCPLUG_OK or MCPLUG_ENOMEM; beyond MP_PROBLEMS_MAX nothing is noted. */
int mp_config_note(struct mcplug_config *config, const struct mp_source *source,
                   const char *server, bool is_warning, const char *path, mp_view at,
                   const char *fmt, ...) MCPLUG_PRINTF(7, 8);

/* The same, but once for each path. The problem as mp_problem_text() has it; NULL: it
 * could not be noted. */
const char *mp_config_note_once(struct mcplug_config *config,
                                const struct mp_source *source, const char *path,
                                mp_view at, const char *text);

/* ---- schema.c ---- */

/* What can be said of an entry without its module: the shapes of the keys that every
 * server may have, and whether its URL is one that all read alike. */
void mp_entry_check_shape(struct mp_entry *entry);
/* Checks a part of an entry that a program gives in place: the keys of its transport, or
 * those of its supervision. `name` begins messages; `json`, any text, becomes the object.
 * MCPLUG_ECONFIG. */
int mp_part_check(const char *name, bool settings, mp_view *json,
                  struct mcplug_error *err);
/* The first thing that is wrong with an entry, among the problems from `before` on;
 * change.c. MCPLUG_OK: it is not broken, else `code`. */
int mp_entry_broken(const struct mp_entry *entry, size_t before, int code,
                    struct mcplug_error *err);
/* The rest: settings of the transport, after what its module declares, and keys that
 * nobody knows. Once per entry. */
void mp_entry_check(struct mp_entry *entry, const char *transport,
                    const struct mcplug_option *options);

/* And its URL, as far as it can be told without variables: of a scheme that the transport
 * takes (`accepts` as in its feature; NULL: any). */
void mp_entry_check_url(struct mp_entry *entry, const char *transport,
                        const char *const *accepts);
/* The settings beside the name of its probe, against what that declares. */
void mp_entry_check_probe(struct mp_entry *entry, const char *probe,
                          const struct mcplug_option *options);
/* Takes in "converters" of a file, settings of converters by their names. */
void mp_config_take_converters(struct mcplug_config *config,
                               const struct mp_source *source, mp_view converters);
/* Takes in "models" of a file, settings of models by the names that a user gives them. */
void mp_config_take_models(struct mcplug_config *config, struct mp_source *source,
                           mp_view models);
void mp_config_free_models(struct mcplug_config *config);
/* The model of that name, as an entry of its own; borrow, from the configuration.
 * MCPLUG_ENOTSUP: there is none, and `err` names those there are; MCPLUG_ECONFIG. [loop]
 */
int mp_config_model(struct mcplug_config *config, const char *name, struct mp_entry **out,
                    struct mcplug_error *err);
/* Its settings against what its module declares. MCPLUG_ECONFIG: what is wrong is noted,
 * and `err` has the first. */
int mp_config_check_model(const struct mp_entry *model,
                          const struct mcplug_option *options, struct mcplug_error *err);
/* Takes in "vaults" of a file, settings of vaults by their names. */
void mp_config_take_vaults(struct mcplug_config *config, struct mp_source *source,
                           mp_view vaults);
/* The settings of a vault, of the administrator's file or the user's, checked against
 * what it declares. give `out`, which has none where no file does. MCPLUG_ECONFIG: what
 * is wrong is noted, and `err` has the first. `takes` is false for vaults that know of no
 * settings. */
int mp_config_vault(struct mcplug_config *config, const char *vault, bool takes,
                    const struct mcplug_option *options, mcplug_props **out,
                    struct mcplug_error *err);
/* The name in a value of "healthProbe", which may be an object; empty: none. */
mp_view mp_probe_of(mp_view value);

/* ---- supervision.c ---- */

/* The entry's "type" in our words ("streamable-http" is "http"), "stdio" when it has a
 * command and no type. give `out`, NULL when the URL has to tell. */
int mp_entry_type(const struct mp_entry *entry, char **out, struct mcplug_error *err);
/* The word that people are shown for a type or a scheme of a URL: "http" for "https".
 * Borrow, or `type` itself. */
const char *mp_type_shown(const char *type);

/* ---- resolve.c ---- */

/* What an entry comes to: the variables it asks for are looked up, and what must not be
 * used is refused. */
struct mp_resolved {
    char *type;              /* NULL: the URL has to tell */
    mcplug_props *props;     /* for the transport */
    char *missing;           /* "A, B": variables that are not set; NULL: none */
    mcplug_props *variables; /* those that it asked for, a map "variables" */
    bool has_secrets;        /* and these, of which `props` has the references */
};

/* Where secrets other than files and commands come from; NULL: from nowhere. */
struct mp_vaults {
    int (*get)(void *arg, const char *vault, const char *name, struct mp_str *out,
               struct mcplug_error *err);
    void *arg;
};

/* Only for entries that mcplug_entry_state() finds ready. `options` as declared by the
 * transport: what is in neither them nor our own keys is left out. Variables are looked
 * up; a secret is not, its reference stands for it. Clear `out` in any case. */
int mp_entry_resolve(const struct mp_entry *entry, const struct mcplug_option *options,
                     struct mp_resolved *out, struct mcplug_error *err);
/* The same settings once more, with the secrets: give `out`. `variables` are those that
 * were found then. Reads nothing of `entry` that can change. May block: see
 * secret.h. [any] */
int mp_entry_secrets(const struct mp_entry *entry, const struct mcplug_option *options,
                     const mcplug_props *variables, const struct mp_vaults *vaults,
                     mcplug_props **out, struct mcplug_error *err);
void mp_resolved_clear(struct mp_resolved *resolved);
/* A project's server starts where the project is, unless `props` have a directory or what
 * takes the `options` knows none. */
int mp_entry_set_cwd(const struct mp_entry *entry, const struct mcplug_option *options,
                     mcplug_props *props, struct mcplug_error *err);
/* What the policy says of settings as they are about to be used: after whatever was put
 * on top of an entry, or of a server that is given in place (`entry` NULL). `is_found`: a
 * locator made them of the entry's settings, which have been judged: what the
 * administrator blocks is blocked here too, while it is the entry that must be allowed,
 * for nobody can write down beforehand what a locator finds. Every setting that is a URL
 * is judged (mp_props_each_url()), also those of its health check: `probe`, or, where
 * that is NULL, as the entry has them. */
int mp_config_judge(const struct mcplug_config *config, const struct mp_entry *entry,
                    const mcplug_props *props, const mcplug_props *probe, bool is_found,
                    struct mcplug_error *err);

/* Adds to checked settings, as mp_props_deny() does, which addresses the policy denies to
 * what their URLs name: it is the module that sees what a name leads to. */
int mp_config_fence(const struct mcplug_config *config, const struct mp_entry *entry,
                    mcplug_props *props, struct mcplug_error *err);
/* The same for the settings of a health check of the server with `props`. */
int mp_config_fence_probe(const struct mcplug_config *config,
                          const struct mp_entry *entry, const mcplug_props *props,
                          mcplug_props *probe, struct mcplug_error *err);

/* ---- mask.c ---- */

/* Adds the entry with what may be a secret replaced by "***": values of "env" and
 * "headers", user info and query of URLs, what follows a name that tells, and PEM blocks.
 * Not what chooses programs: variables such as PATH, the host of a URL, and code behind
 * -c and -e but for the one word, or quoted text, that follows a name that tells. A token
 * in the path of a URL, or behind a name that does not tell, is shown. References to
 * variables and secrets are shown, they are what keeps secrets out of files; but not
 * defaults and commands, which may hold one. */
bool mp_mask_entry(mp_view entry, struct mp_str *out);

#endif
