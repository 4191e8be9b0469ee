/* mcplug/admin.h - for commands and panels that look after an installation. The `mcplug`
 * command is built on it.
 *
 * NOT STABLE: everything here may change with every release, its symbols carry a version
 * of their own, and a program that uses it belongs to one release of the library. What a
 * host for agents needs is in <mcplug/mcplug.h>, which stays.
 *
 * Rules of ownership and threads are those of <mcplug/mcplug.h>. Structs that are filled
 * begin with struct_size: set it, zero the rest. Texts that are given are dropped with
 * mcplug_text_free().
 */
#ifndef MCPLUG_ADMIN_H
#define MCPLUG_ADMIN_H

#include <mcplug/mcplug.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Wipes it too: it may have been a secret. [any] */
MCPLUG_API void mcplug_text_free(char *text);

#define MCPLUG_BATCH_MAX 64
/* How many servers are started at a time: $MCP_SERVER_CONNECTION_BATCH_SIZE, a number
 * from 1 to MCPLUG_BATCH_MAX, else 3. `wrong`, which may be NULL, gets whether it is no
 * such number. [any] */
MCPLUG_API unsigned mcplug_batch_size(int *wrong);

/* ---- configuration --------------------------------------------------------------- */

/* All of it is [any], one thread at a time for each configuration. Nothing is read again:
 * after a change, load another configuration to see it. */

#define MCPLUG_NAME_MAX 64 /* characters of a server's name */
#define MCPLUG_TYPE_MAX 64 /* bytes of the name of a transport; longer ones are cut */

enum mcplug_scope { /* of several entries with one name, the first scope wins */
                    MCPLUG_SCOPE_ENTERPRISE = 0,
                    MCPLUG_SCOPE_LOCAL,
                    MCPLUG_SCOPE_PROJECT,
                    MCPLUG_SCOPE_USER,
                    MCPLUG_SCOPE_DYNAMIC, /* `more` of mcplug_config_options */
                    MCPLUG_SCOPE_PACKAGE
};

struct mcplug_scope_info {
    const char *name;        /* "project" */
    const char *about;       /* "this directory, to share" */
    uint32_t is_writable;    /* entries can be added, changed and removed */
    uint32_t needs_approval; /* others may have written it */
};
/* NULL: there is no such scope. */
MCPLUG_API const struct mcplug_scope_info *mcplug_scope_info(enum mcplug_scope scope);
/* By its name. 0: there is no such scope. */
MCPLUG_API int mcplug_scope_find(const char *name, enum mcplug_scope *out);

/* Letters, digits, - and _, at most MCPLUG_NAME_MAX. */
MCPLUG_API int mcplug_name_check(const char *name, struct mcplug_error *err);

/* -- the whole -- */

struct mcplug_config_info {
    uint32_t struct_size;
    uint32_t exclusive;       /* the administrator's file has all servers there are */
    uint32_t damaged;         /* a file can't be used, so what it has is not known */
    uint32_t reserved;        /* 0 */
    const char *policy;       /* the file; NULL: there is no policy */
    const char *policy_error; /* why nothing is allowed; NULL: it can be used */
    size_t files, entries, problems; /* how many there are */
};
MCPLUG_API void mcplug_config_info(const mcplug_config *config,
                                   struct mcplug_config_info *out);

/* Where things are; NULL where that is not known, for want of a home. Borrow from the
 * configuration. */
struct mcplug_paths {
    uint32_t struct_size;
    uint32_t reserved;     /* 0 */
    const char *cwd;       /* "/" when it is gone */
    const char *home;      /* the user's */
    const char *settings;  /* the file of the user scope */
    const char *approvals; /* a file in `state` */
    const char *state;     /* the directory for logs and approvals */
    const char *cache;     /* the directory for what can be had again */
    const char *managed;   /* the administrator's servers */
    const char *policy;    /* and policy */
};
MCPLUG_API void mcplug_config_paths(const mcplug_config *config,
                                    struct mcplug_paths *out);

/* Where long strings of answers go while they arrive: place `i` of those that are tried.
 * `own`, which may be NULL: it is made when it is missing, as is the directory above it.
 * give; NULL: there are no more. [any] */
MCPLUG_API char *mcplug_spill_place(size_t i, int *own);

struct mcplug_config_file {
    uint32_t struct_size;
    uint32_t scope;    /* enum mcplug_scope */
    const char *path;  /* as it was looked for; "--mcp-config" for text given in place */
    uint32_t in_place; /* it is no file */
    uint32_t broken;   /* not read, or no JSON: a problem tells why */
    uint32_t mode;     /* permissions, as stat() has them */
    uint32_t group;    /* that it belongs to */
    size_t entries;    /* servers that it has */
};
/* The files, the highest scope first. 0: there are no more. */
MCPLUG_API int mcplug_config_file(const mcplug_config *config, size_t i,
                                  struct mcplug_config_file *out);

struct mcplug_problem {
    uint32_t struct_size;
    uint32_t is_warning;
    const char *file;        /* those of an entry have the very pointer of its `file` */
    const char *server;      /* NULL: of the file as a whole */
    const char *path;        /* "mcpServers.github.args[1]"; "": the whole */
    const char *text;        /* what is wrong */
    size_t line, column;     /* from 1; 0: not known */
    uint32_t scope;          /* enum mcplug_scope, of the file; dynamic for
                                mcplug_entry_check_new() */
    uint32_t file_is_broken; /* so nothing of it is used */
};
/* The problems that mcplug_config_problem() has as lines. 0: there are no more. */
MCPLUG_API int mcplug_config_problem_info(const mcplug_config *config, size_t i,
                                          struct mcplug_problem *out);

/* The file that mcplug_entry_add() writes; NULL: the scope can't be written. Borrow. */
MCPLUG_API const char *mcplug_config_scope_file(mcplug_config *config,
                                                enum mcplug_scope scope);

/* -- entries: what one file says of one server -- */

typedef struct mp_entry mcplug_entry; /* lives as long as its configuration */

/* All of them, by name; of one name, the winner first. NULL: there are no more. */
MCPLUG_API mcplug_entry *mcplug_entry_at(const mcplug_config *config, size_t i);
/* The one that wins. NULL: there is none. */
MCPLUG_API mcplug_entry *mcplug_entry_find(const mcplug_config *config, const char *name);
/* The one of that very scope, the nearest of several, shadowed or not. */
MCPLUG_API mcplug_entry *mcplug_entry_find_in(const mcplug_config *config,
                                              const char *name, enum mcplug_scope scope);

enum mcplug_approval {
    MCPLUG_APPROVAL_NONE = 0, /* never given */
    MCPLUG_APPROVAL_CHANGED,  /* given to another text */
    MCPLUG_APPROVAL_GIVEN     /* or not needed */
};

struct mcplug_entry_info { /* borrow from the configuration */
    uint32_t struct_size;
    uint32_t scope; /* enum mcplug_scope */
    const char *name;
    const char *file;    /* where it stands; "--mcp-config" for text given in place */
    size_t line, column; /* there, from 1 */
    const char *json;    /* the entry itself, not NUL-ended */
    size_t json_len;
    const char *real;           /* the file without links; NULL: given in place */
    char type[MCPLUG_TYPE_MAX]; /* as mcplug_json_type() has it */
    uint32_t broken;            /* it has problems that are no warnings */
    uint32_t disabled;          /* says so itself */
    uint32_t approval;          /* enum mcplug_approval */
    uint32_t mode;              /* permissions of the file, as stat() has them */
    const char *approved;       /* what was approved when it has changed since; NULL */
    size_t approved_len;
    const mcplug_entry *shadowed_by; /* of the same name; NULL: this one is used */
};
MCPLUG_API void mcplug_entry_info(const mcplug_entry *entry,
                                  struct mcplug_entry_info *out);
MCPLUG_API const char *mcplug_entry_name(const mcplug_entry *entry);

/* May it be used? `why` gets the reason when it may not. The policy is asked, with the
 * variables as they are now. */
MCPLUG_API enum mcplug_entry_state mcplug_entry_state(const mcplug_entry *entry,
                                                      struct mcplug_error *why);

/* May that tool of it be used? toolsAllowed and toolsDenied decide. 0: no; `why`, which
 * may be NULL, names the list. A broken entry denies nothing: it is not used. */
MCPLUG_API int mcplug_entry_allows(const mcplug_entry *entry, const char *tool,
                                   struct mcplug_error *why);
/* Does a pattern of such a list, "get_*", stand for the tool? */
MCPLUG_API int mcplug_tool_matches(const char *pattern, const char *tool);

/* Calls `fn` for every variable and secret that its settings may ask for: "VAR",
 * "file:PATH". The same name may come again. Of a key that is not known here, a module
 * may know more, so it counts as a setting. */
MCPLUG_API void mcplug_entry_each_name(const mcplug_entry *entry,
                                       void (*fn)(void *arg, const char *name),
                                       void *arg);

/* "A, B": variables that it asks for and that are not set. give; NULL: none. */
MCPLUG_API char *mcplug_entry_missing(const mcplug_entry *entry);

/* mcplug_open_named() for an entry that was found already. */
MCPLUG_API int mcplug_entry_open(mcplug *host, mcplug_entry *entry,
                                 const struct mcplug_server_options *options,
                                 mcplug_ready_fn *ready, void *ready_arg,
                                 mcplug_server **out, struct mcplug_error *err);
/* mcplug_close(), but a connection without other users does not linger for `idle_ms`.
 */
MCPLUG_API void mcplug_server_end(mcplug_server *server, void (*closed)(void *arg),
                                  void *arg);

/* The feature that its "healthProbe" means, as modules have it: "list-tools" for
 * "listTools"; "" when it names none. */
MCPLUG_API void mcplug_entry_probe(const mcplug_entry *entry, char out[MCPLUG_TYPE_MAX]);

/* A digest of what it says, however it is laid out, as 64 hexadecimal digits: equal for
 * entries that mean the same server. MCPLUG_ENOMEM. */
MCPLUG_API int mcplug_entry_digest(const mcplug_entry *entry, char out[65]);

/* Checks its settings against what its module declares, which is loaded; what is wrong is
 * noted among the problems. */
MCPLUG_API void mcplug_entry_check(mcplug_entry *entry, mcplug *host);
/* The same, and its shape, for an entry that is in no file yet: problems are noted with
 * "the entry" as their file. MCPLUG_ECONFIG: it has some that are no warnings. */
MCPLUG_API int mcplug_entry_check_new(mcplug_config *config, enum mcplug_scope scope,
                                      const char *name, const char *json, size_t len,
                                      mcplug *host, struct mcplug_error *err);

/* -- keys that an entry may have -- */

struct mcplug_key {
    uint32_t struct_size;
    uint32_t is_setting; /* of the transport: its module says what is right */
    const char *name;
    const char *type; /* as in struct mcplug_option; NULL: as its module says */
    const char *help; /* one line; NULL: likewise */
};
/* 0: there are no more. [any] */
MCPLUG_API int mcplug_config_key(size_t i, struct mcplug_key *out);
/* Is it a name that is given to secrets: API_KEY, --user, X-Session? [any] */
MCPLUG_API int mcplug_name_is_telling(const char *name);

/* -- names towards models: mcp__SERVER__TOOL, as people type them -- */

/* "mcp__SERVER__", with _ for everything but letters and digits. 0: it does not fit. */
MCPLUG_API int mcplug_entry_prefix(const mcplug_entry *entry, char *out, size_t size);
/* The server that such a name means: by its prefix, or by what the toolbox calls it.
 * `tool` gets what is behind it. NULL: none does. When several do, `other`, NULL else, is
 * another one. */
MCPLUG_API mcplug_entry *mcplug_entry_find_qualified(const mcplug_config *config,
                                                     const char *name, const char **tool,
                                                     const mcplug_entry **other);
#define MCPLUG_TOOL_NONE (-1)
#define MCPLUG_TOOL_SEVERAL (-2)
/* The tool of the server's list that such a name means: itself, or else the only one that
 * becomes so with _ for everything but letters and digits, or the one that the toolbox
 * would give that name. Its index, or one of the above. */
MCPLUG_API ptrdiff_t mcplug_entry_find_tool(const mcplug_entry *entry,
                                            const mcplug_list *tools, const char *name);

/* -- changing files -- */

/* All of them block until other writers are done. Files are replaced whole: after a
 * failure they are as they were. MCPLUG_EINVAL or MCPLUG_ECONFIG: what was asked for
 * can't be; anything else: the system failed. */

/* Adds an entry to the file of that scope. Its name, its shape and the policy are checked
 * first; a name that the file has is refused. `approved`: the user wrote it, so it has
 * the approval that its scope wants; both are written, or neither. `file`, which may be
 * NULL, gets the file, borrow. */
MCPLUG_API int mcplug_entry_add(mcplug_config *config, enum mcplug_scope scope,
                                const char *name, const char *json, size_t len,
                                int approved, const char **file,
                                struct mcplug_error *err);
MCPLUG_API int mcplug_entry_remove(const mcplug_entry *entry, struct mcplug_error *err);
MCPLUG_API int mcplug_entry_disable(const mcplug_entry *entry, struct mcplug_error *err);
MCPLUG_API int mcplug_entry_enable(const mcplug_entry *entry, struct mcplug_error *err);
/* The user was shown the entry and said yes. */
MCPLUG_API int mcplug_entry_approve(mcplug_entry *entry, struct mcplug_error *err);
/* Forgets what was approved of the files of this directory and those above; `name` NULL:
 * of all servers. `forgotten`, which may be NULL, gets how many there were. */
MCPLUG_API int mcplug_approvals_reset(mcplug_config *config, const char *name,
                                      size_t *forgotten, struct mcplug_error *err);
/* The same for every project there is. */
MCPLUG_API int mcplug_approvals_reset_all(mcplug_config *config, size_t *forgotten,
                                          struct mcplug_error *err);

/* -- text of entries, for people -- */

/* Is it one JSON value? `err` says what is wrong in words for people, without the place,
 * which `line` and `column` get, if they are not NULL. */
MCPLUG_API int mcplug_json_check(const char *json, size_t len, size_t *line,
                                 size_t *column, struct mcplug_error *err);
/* The following take what has passed that. */

/* The transport that an entry means: "stdio"; without a type, what its URL stands for,
 * "http", "websocket", ..; "" when that is not known before variables are looked up. */
MCPLUG_API void mcplug_json_type(const char *entry, size_t len,
                                 char out[MCPLUG_TYPE_MAX]);
/* An entry with what may be a secret replaced by "***". References to variables and
 * secrets are shown, but for defaults and commands. give; NULL: no memory */
MCPLUG_API char *mcplug_json_masked(const char *entry, size_t len);
/* Without white space, and strings in one spelling. give; NULL: no memory */
MCPLUG_API char *mcplug_json_canonical(const char *json, size_t len);
/* Laid out in lines, two blanks per level. give; NULL: no memory */
MCPLUG_API char *mcplug_json_layout(const char *json, size_t len);

struct mcplug_expansion {
    uint32_t struct_size;
    uint32_t reserved; /* 0 */
    void *arg;
    /* A variable is not set and has no default. */
    void (*missing)(void *arg, const char *name);
    /* A secret is asked for, ${KIND:NAME}; nothing is put in its place. */
    void (*secret)(void *arg, const char *kind, const char *name);
};
/* A text of an entry with variables put in, as when the server is used. `expansion` may
 * be NULL. give; NULL: `err` tells why it can't be read, without values. */
MCPLUG_API char *mcplug_expand(const char *text, const struct mcplug_expansion *expansion,
                               struct mcplug_error *err);

/* ---- tools as the APIs of models take them ---------------------------------------- */

/* One definition that an API refuses fails a whole request, so runs and toolboxes repair
 * what is known to be refused. This tells what that is, for those who write servers. */

enum mcplug_severity {
    MCPLUG_ADVICE = 1, /* it is taken as it is */
    MCPLUG_REPAIRED,   /* it would be taken, but is changed */
    MCPLUG_REFUSED     /* the API would refuse it as it is */
};

#define MCPLUG_NO_TOOL SIZE_MAX

struct mcplug_finding { /* borrow from its lint */
    uint32_t struct_size;
    uint32_t severity;    /* enum mcplug_severity */
    uint32_t is_left_out; /* the tool: it is not sent at all */
    uint32_t reserved;    /* 0 */
    const char *rule;     /* "root-choice"; the names are kept */
    const char *path;     /* a JSON pointer into the definition; "": all of it */
    const char *wrong;    /* what is wrong there */
    const char *cure;     /* what mcplug does about it, without a subject */
    const char *advice;   /* what the author should do */
};

typedef struct mcplug_lint mcplug_lint; /* the tools of one server, for one provider */

/* "anthropic", "openai", "gemini". NULL: there are no more. [any] */
MCPLUG_API const char *mcplug_lint_provider(size_t i);
/* Judges an array of definitions, as tools/list has it, and repairs them. `server` is
 * what its names begin with. MCPLUG_EINVAL: no such provider, or no array of objects that
 * have a name. give: mcplug_lint_free [any] */
MCPLUG_API int mcplug_lint_new(const char *provider, const char *server,
                               const char *tools, size_t len, mcplug_lint **out,
                               struct mcplug_error *err);
MCPLUG_API void mcplug_lint_free(mcplug_lint *lint);
/* Those of the tool at that index of the list; MCPLUG_NO_TOOL: those about all of them.
 * 0: there are no more. */
MCPLUG_API int mcplug_lint_finding(const mcplug_lint *lint, size_t tool, size_t i,
                                   struct mcplug_finding *out);
/* The tool at `i` as it is sent: name, description and inputSchema, as JSON with a NUL
 * behind it. Borrow; NULL: it is left out, or there are no more. `len` may be NULL. */
MCPLUG_API const char *mcplug_lint_tool(const mcplug_lint *lint, size_t i, size_t *len);

/* ---- modules --------------------------------------------------------------------- */

typedef struct mcplug_modules mcplug_modules; /* those that a host could load */

struct mcplug_module {
    uint32_t struct_size;
    uint32_t again;   /* not 0: another link to a file that came before */
    const char *name; /* "tcp": of the file, without .so, or of a module compiled in */
    const char *file; /* without links; NULL: compiled in */
};

/* What is compiled in and the files on the host's search path. Loads nothing. give:
 * mcplug_modules_free */
MCPLUG_API mcplug_modules *mcplug_modules_new(mcplug *host, struct mcplug_error *err);
MCPLUG_API void mcplug_modules_free(mcplug_modules *modules);
/* Borrow. 0: there are no more. */
MCPLUG_API int mcplug_modules_get(const mcplug_modules *modules, size_t i,
                                  struct mcplug_module *out);
/* The directories of the search path, in order; the last one is that of the installation.
 * Borrow; NULL: there are no more. */
MCPLUG_API const char *mcplug_modules_dir(const mcplug_modules *modules, size_t i);

/* Loads a module, a file or by its name one compiled in, and says what it declares, as
 * JSON: name, version, file, summary, license, origin, abi ("1.3"), needs (a minor of
 * it), and features, each with kind, name, summary, accepts and options (name, type,
 * required, default, help). What is not declared is null. give; NULL: it is refused, and
 * `err` says why. A broken module may end or hang the process: try it in one of its own.
 */
MCPLUG_API char *mcplug_module_describe(mcplug *host, const char *module,
                                        struct mcplug_error *err);

/* A line of the list of packages, which is installed with the library. */
struct mcplug_packaged {
    uint32_t struct_size;
    uint32_t reserved;
    const char *kind;    /* "transport", "vault", .. */
    const char *name;    /* of the feature, or a scheme of URLs */
    const char *package; /* that brings it */
    const char *summary; /* "": another name of the same */
};
/* Calls `fn` for each of them, what is installed and what could be; borrow. It returns 0
 * to stop. MCPLUG_OK, also when there is no such list, or MCPLUG_ENOMEM. */
MCPLUG_API int
mcplug_packages_each(int (*fn)(void *arg, const struct mcplug_packaged *one), void *arg);

/* ---- what servers offered last --------------------------------------------------- */

/* Lists that servers gave are kept on disk, so that they can be shown, searched and
 * completed without starting any. [any] */

typedef struct mcplug_known mcplug_known; /* what is kept of one server */

/* Of a server with this very definition. give: mcplug_known_free; NULL: nothing is kept,
 * or others could have written it. */
MCPLUG_API mcplug_known *mcplug_known_new(const mcplug_entry *entry);
MCPLUG_API void mcplug_known_free(mcplug_known *known);

struct mcplug_known_info {
    uint32_t struct_size;
    uint32_t whole;    /* nothing was left out because it was too long */
    uint32_t fresh;    /* may be used in place of asking */
    uint32_t reserved; /* 0 */
    int64_t at;        /* when it was fetched, in seconds as time() has them */
};
/* About the list of that kind. 0: it was never fetched. */
MCPLUG_API int mcplug_known_info(const mcplug_known *known, enum mcplug_kind kind,
                                 struct mcplug_known_info *out);
/* Its items as a JSON array, not NUL-ended, borrow. NULL: it was never fetched. */
MCPLUG_API const char *mcplug_known_items(const mcplug_known *known,
                                          enum mcplug_kind kind, size_t *len);

/* Forgets what is kept of the definition, or, with `all`, of every one that ever had its
 * name. */
MCPLUG_API void mcplug_known_forget(const mcplug_entry *entry, int all);

/* ---- results --------------------------------------------------------------------- */

/* Takes a piece; 0: wants no more, which is no failure. */
typedef int mcplug_write_fn(void *arg, const char *data, size_t len);

/* Writes `len` bytes of mcplug_result_json() from `at` on, SIZE_MAX: all that follow, in
 * pieces of whole characters, with every string that was spilled in its place, whole. The
 * part must not begin or end inside such a string. MCPLUG_EIO: what was spilled can't be
 * read. [any] */
MCPLUG_API int mcplug_result_write(const mcplug_result *result, size_t at, size_t len,
                                   mcplug_write_fn *write, void *arg,
                                   struct mcplug_error *err);
/* The string that begins at `at` there, with its quote, unescaped: UTF-8. [any] */
MCPLUG_API int mcplug_result_write_string(const mcplug_result *result, size_t at,
                                          mcplug_write_fn *write, void *arg,
                                          struct mcplug_error *err);
/* The file of the string that mcplug_result_spill() gives for `i`, which begins at
 * `*offset` there, for sendfile() and the like. borrow, as long as the result: it must
 * not be closed, written or sought in. -1: there is no such string. [any] */
MCPLUG_API int mcplug_result_spill_fd(const mcplug_result *result, size_t i,
                                      uint64_t *offset);

/* ---- content --------------------------------------------------------------------- */

/* What a result has for a model or a person. Parts of it are where they are in
 * mcplug_result_json(): borrow, as long as the result; what is not there has length 0.
 * [any] */

enum mcplug_answer {
    MCPLUG_ANSWER_UNKNOWN = 0, /* none of these */
    MCPLUG_ANSWER_BLOCKS,      /* an array: `content`, or `contents` of resources/read */
    MCPLUG_ANSWER_TEXT,        /* a string: `toolResult` of 2024-10-07 */
    MCPLUG_ANSWER_JSON         /* `structuredContent`, or a `toolResult` of any type */
};
/* Which part of a result is to be shown, so that nothing is shown twice: the blocks, and
 * data without any. */
MCPLUG_API enum mcplug_answer mcplug_result_answer(const mcplug_result *result,
                                                   struct mcplug_bytes *part);

enum mcplug_block_kind {
    MCPLUG_BLOCK_OTHER = 0, /* all that is known is its JSON */
    MCPLUG_BLOCK_TEXT,
    MCPLUG_BLOCK_IMAGE,
    MCPLUG_BLOCK_AUDIO,
    MCPLUG_BLOCK_LINK,     /* to a resource */
    MCPLUG_BLOCK_RESOURCE, /* embedded */
    MCPLUG_BLOCK_CONTENTS  /* a part of what resources/read brings */
};

struct mcplug_block {
    uint32_t struct_size;
    uint32_t kind;
    struct mcplug_bytes json;
    /* JSON strings, with their quotes; of an embedded resource, those of the resource. */
    struct mcplug_bytes text, data; /* `data` is Base64 */
    struct mcplug_bytes mime, uri;
};

/* The next of several blocks. `rest` begins as an array of them, or as a single one, and
 * becomes what follows. 0: there are no more. */
MCPLUG_API int mcplug_block_next(struct mcplug_bytes *rest, struct mcplug_block *out);
/* Writes it as text, without a newline at the end that it does not have itself: text as
 * it is, strings that were spilled whole, and a line in place of all else:
 * `[image/png, 1234 bytes]`, `Resource link: URI`, `[Binary resource: URI (TYPE)]`. What
 * is embedded has a line `Resource: URI` before it; of OTHER it is the JSON. */
MCPLUG_API int mcplug_block_write(const mcplug_result *result,
                                  const struct mcplug_block *block,
                                  mcplug_write_fn *write, void *arg,
                                  struct mcplug_error *err);
/* Writes its data, decoded. MCPLUG_EPROTO: it is not Base64; what came before that was
 * written. */
MCPLUG_API int mcplug_block_write_data(const mcplug_result *result,
                                       const struct mcplug_block *block,
                                       mcplug_write_fn *write, void *arg,
                                       struct mcplug_error *err);

/* ---- events ---------------------------------------------------------------------- */

/* What happens in a host, as it happens: log lines are made from the same. An event and
 * all that it points to is borrow until the callback returns. Listeners run inside the
 * functions of the library that have something to tell; of this library they may call
 * mcplug_listen(), mcplug_unlisten(), mcplug_activity_*(), mcplug_post() and what only
 * looks at servers and lists, no other. */

enum mcplug_activity_kind {
    MCPLUG_ACTIVITY_CALL = 1 << 0,     /* a call is made */
    MCPLUG_ACTIVITY_SENT = 1 << 1,     /* a call goes to the server, each time it does */
    MCPLUG_ACTIVITY_RUNNING = 1 << 2,  /* a call of a tool runs still, every 30 s */
    MCPLUG_ACTIVITY_PROGRESS = 1 << 3, /* of a call that asked for it */
    MCPLUG_ACTIVITY_RETURNED = 1 << 4, /* a call is back, and may be sent once more */
    MCPLUG_ACTIVITY_ENDED = 1 << 5, /* a call has ended, as its server's ledger has it */
    MCPLUG_ACTIVITY_STATE = 1 << 6, /* the state of a server has changed */
    MCPLUG_ACTIVITY_STARTED = 1 << 7, /* an attempt to start a server is over */
    MCPLUG_ACTIVITY_DROPPED = 1 << 8, /* a connection that was up is lost */
    MCPLUG_ACTIVITY_FRAME = 1 << 9,   /* a message to or from a server, whole */
    MCPLUG_ACTIVITY_REMARK = 1 << 10, /* a line of a server's stderr */
    MCPLUG_ACTIVITY_LOGGED = 1 << 11, /* params of notifications/message */
    MCPLUG_ACTIVITY_LINE = 1 << 12,   /* a log line of nothing else */
    MCPLUG_ACTIVITY_ALL = (1 << 13) - 1
};

/* How a call ended: each has a number of that name in struct mcplug_ledger. */
enum mcplug_outcome {
    MCPLUG_OUTCOME_OK = 0,
    MCPLUG_OUTCOME_TOOL_ERROR,
    MCPLUG_OUTCOME_PEER_ERROR,
    MCPLUG_OUTCOME_TRANSPORT_ERROR,
    MCPLUG_OUTCOME_TIMED_OUT,
    MCPLUG_OUTCOME_CANCELLED
};

struct mcplug_activity {
    uint32_t struct_size;
    uint32_t kind;
    int32_t level;      /* MCPLUG_LOG_* */
    uint32_t outcome;   /* ENDED, RETURNED: enum mcplug_outcome */
    uint64_t time_ms;   /* since the epoch */
    const char *source; /* "mcp:NAME", "plugin:NAME", "core", "config" */
    const char *server; /* NAME of "mcp:NAME"; NULL: it is about no server */
    /* Why it failed: RETURNED, ENDED, STATE, STARTED, DROPPED. NULL: it did not, or
     * TOOL_ERROR, whose words are `text`. */
    const struct mcplug_error *why;
    /* The params of LOGGED, the line of REMARK and LINE, the message of PROGRESS, the
     * bytes of FRAME; not ended by a NUL. NULL: none */
    const char *text;
    size_t len;

    /* CALL, SENT, RUNNING, RETURNED, ENDED, PROGRESS */
    uint64_t call; /* counts the calls of a host; 0: a request of the library's own */
    const char *method, *tool; /* `tool` NULL: it is no tools/call */
    uint64_t queued_ms;        /* until it was sent last */
    uint64_t latency_ms;       /* since it was made */
    uint64_t result_size;      /* bytes of JSON */
    uint32_t refused; /* ENDED: at once, by an error that its caller got; in no ledger */
    uint32_t is_sent; /* FRAME: by us; else it came from the server */
    uint32_t is_cut;  /* FRAME: long strings of it are in a file, and not here */
    uint32_t state;   /* STATE: enum mcplug_state */
    double progress, total; /* PROGRESS; `total` < 0: not known */

    uint64_t next_ms;          /* STATE: until the next attempt */
    uint64_t starts, failures; /* STATE: of it, in all; in a row */
    uint64_t ms;               /* STARTED: for how long; DROPPED: it was up */
    uint64_t tools;            /* STARTED */
    const char *revision;      /* STARTED */
    const char *transport;     /* DROPPED */
    const void *inner;         /* for the functions below */
};

typedef struct mcplug_listener mcplug_listener;
typedef void mcplug_activity_fn(void *arg, const struct mcplug_activity *event);

/* Tells `fn` what happens from now on, of `kinds` (MCPLUG_ACTIVITY_*, or-ed) and up to
 * `level`, in the order in which it happens. It ends with mcplug_unlisten(), or with the
 * host. What it causes itself it is not told; nor what modules log, who may be in any
 * thread: mcplug_options.log is. give; NULL: no memory. [loop] */
MCPLUG_API mcplug_listener *mcplug_listen(mcplug *host, uint32_t kinds, int level,
                                          mcplug_activity_fn *fn, void *arg);
MCPLUG_API void mcplug_unlisten(mcplug_listener *listener); /* [loop] */

#define MCPLUG_ACTIVITY_LINE_MAX 4160 /* bytes of a line, with its NUL */
/* Line `n`, from 0, of what the log has of it: escaped, and when it is cut, it says so at
 * its end. 0: there are no more lines, or none at all. */
MCPLUG_API int mcplug_activity_text(const struct mcplug_activity *event, unsigned n,
                                    char out[MCPLUG_ACTIVITY_LINE_MAX]);
/* Is it about the connection that `server` uses, which others may share? [loop] */
MCPLUG_API int mcplug_activity_concerns(const struct mcplug_activity *event,
                                        const mcplug_server *server);
MCPLUG_API const char *mcplug_outcome_name(enum mcplug_outcome outcome); /* "ok" [any] */

#ifdef __cplusplus
}
#endif

#endif /* MCPLUG_ADMIN_H */
