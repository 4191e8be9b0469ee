/* The catalogue: which modules there are, and the ones loaded so far. A module is
 * loaded when somebody asks for what it offers, and never unloaded.
 *
 * Where a feature is looked for, in this order: modules loaded already, modules
 * compiled in, the file NAME.so in each directory of the search path (modules with
 * several features have one link per feature, tcp.so -> socket.so), and at last
 * every other *.so there is whose bytes have that name in them: one that has not
 * cannot offer it, and is not worth mapping with all its libraries. The same goes for
 * URL schemes and mime types, with every character a file name of ours cannot have
 * replaced: https.so -> http.so, image-png.so.
 *
 * The search path: the directories in the options, then $MCPLUG_PLUGIN_PATH (colons
 * between them, absolute ones only, ignored for secure execution), then those that the
 * user has configured, then the one given at build time. */
#ifndef MP_PLUGIN_CATALOGUE_H
#define MP_PLUGIN_CATALOGUE_H

#include "base/event.h"

#include <mcplug/plugin.h>

#include <stdbool.h>
#include <sys/types.h>

struct mp_catalogue;
struct mp_loop;
struct mp_str;

struct mp_catalogue_options {
    struct mp_events *log; /* borrow; NULL: none */
    struct mp_loop *loop;
    const char *const *dirs;      /* NULL-ended, searched first; may be NULL */
    const char *const *more_dirs; /* the same, searched before the installed one alone */
    /* What modules call; given from above because it belongs to higher layers. */
    const struct mcplug_wire *wire;
    const struct mcplug_health *health;   /* may be NULL */
    const struct mcplug_place_ops *place; /* may be NULL */
    const struct mcplug_reply_ops *reply; /* may be NULL */
    /* NULL: $MCPLUG_HELPER_PATH (not for secure execution), or the installed one */
    const char *helper_dir;
    const struct mcplug_mem *mem; /* NULL: the core's own; for the kit below */
    /* See pins.h. NULL: the installed one; and to whom it belongs, root but in tests */
    const char *pins;
    uid_t pins_owner;
    /* Linked into the program, NULL-ended; before those compiled in. borrow the modules,
     * not the array; may be NULL */
    const struct mcplug_plugin *const *plugins;
    const char *packages; /* see mp_packages_each(); NULL: as there */
};

/* One module, loaded and through its handshake. */
struct mp_plugin {
    const struct mcplug_plugin *descriptor;
    char *file; /* its real path; NULL: compiled in */
    void *ctx;  /* what init() gave */
    mcplug_self *self;
};

/* What somebody asked for. `feature` is a copy of the core's own size: members that
 * the module does not know are zero. Valid as long as the catalogue. */
struct mp_offer {
    struct mcplug_feature feature;
    const struct mp_plugin *plugin;
};

struct mp_catalogue *mp_catalogue_new(const struct mp_catalogue_options *options,
                                      struct mcplug_error *err); /* give; copies */
/* Calls fini() of every module; all their instances must be gone. */
void mp_catalogue_free(struct mp_catalogue *cat);
/* The same, and nothing else; mp_catalogue_free() follows. How many timers and watches
 * they have left running. */
size_t mp_catalogue_fini(struct mp_catalogue *cat);

/* For `kind`: a transport or a locator, for the types of entries are one name space. */
#define MP_TYPE 0u

/* Finds who offers `kind` under `name`, and loads it. MCPLUG_ENOTSUP: nobody does;
 * the message lists where was searched, and names the package that brings it, or
 * says why the file NAME.so was refused. Modules that fail on the way are logged, one
 * line each, and once. [loop] */
int mp_catalogue_find(struct mp_catalogue *cat, uint32_t kind, const char *name,
                      const struct mp_offer **out, struct mcplug_error *err);
/* The same by URL scheme or mime type, after `accepts`; case does not matter. */
int mp_catalogue_accepts(struct mp_catalogue *cat, uint32_t kind, const char *what,
                         const struct mp_offer **out, struct mcplug_error *err);

/* Calls `fn` for each file that may offer something for that scheme or type, without
 * loading it: first those that are named after it, then the others that have it in their
 * bytes. Paths are real; each file comes once. `fn` returns false to stop. MCPLUG_ENOMEM.
 * [any] */
int mp_catalogue_files(const struct mp_catalogue *cat, const char *what,
                       bool (*fn)(void *arg, const char *file), void *arg);
/* The error of mp_catalogue_accepts() for what is not there. [any] */
int mp_catalogue_lacks(const struct mp_catalogue *cat, uint32_t kind, const char *what,
                       struct mcplug_error *err);
const char *mp_catalogue_helper_dir(const struct mp_catalogue *cat); /* [any] */

/* For host->use(): the service of that name, for the module that `self` is of. */
const void *mp_catalogue_use(struct mp_catalogue *cat, mcplug_self *self,
                             const char *name, uint32_t version, void **ctx,
                             struct mcplug_error *err);
/* A thread is in that module for good: it is not to be finished, nor anything freed that
 * it may still use. */
void mp_catalogue_leave(const struct mp_offer *offer);

/* Loads one file: checks, pins, dlopen, handshake, init; a file that is loaded already is
 * given again. The reason for a refusal is one line that begins with its path. */
int mp_catalogue_load(struct mp_catalogue *cat, const char *file,
                      const struct mp_plugin **out, struct mcplug_error *err);

struct mp_listed {
    const char *name; /* the file's, without .so, or that of a module compiled in */
    const char *file; /* without links; NULL: compiled in */
    bool again;       /* another link to a file that came before */
};
/* Calls `fn` for every module compiled in and every file on the search path, loaded or
 * not. Loads nothing. `fn` returns false to stop. MCPLUG_ENOMEM */
int mp_catalogue_each(const struct mp_catalogue *cat,
                      bool (*fn)(void *arg, const struct mp_listed *one), void *arg);
/* The modules linked into the program, then those compiled in; NULL: no more. */
const struct mcplug_plugin *mp_catalogue_builtin(const struct mp_catalogue *cat,
                                                 size_t i);
/* The directories of the search path; NULL: there are no more. */
const char *mp_catalogue_dir(const struct mp_catalogue *cat, size_t i);

/* ---- file.c ---- */

/* In a user namespace that has no number for root, as bubblewrap and Flatpak make them,
 * files of root seem to belong to the overflow user, like those of everybody else who has
 * none. That user counts as root for the file that is installed, and for no other. */
struct mp_file_owners {
    const char *installed; /* the directory given at build time */
    uid_t unmapped_root;   /* 0: root has a number, the usual one */
};

/* The user to whom files of root seem to belong where root has no number; else 0. [any]
 */
uid_t mp_unmapped_root(void);
/* Of the text of /proc/self/uid_map; for mp_unmapped_root(). [any] */
bool mp_uid_map_has_root(const char *map);

/* May this file be loaded? A regular file, owned by root or by us, that neither
 * group nor others can write, in a directory of which the same holds. Directories
 * further up may be writable for others when they are sticky, like /tmp. Where a link
 * leads to the file, this goes for the link's directory too. `owners` may be NULL.
 * `real` gets the resolved path (give). */
int mp_plugin_file_check(const char *file, const struct mp_file_owners *owners,
                         char **real, struct mcplug_error *err);
/* dlopen and handshake of a file that may be loaded; `real` is its real path. Nothing of
 * it is called but its constructors. */
int mp_plugin_file_open(const char *real, const struct mcplug_plugin **out,
                        struct mcplug_error *err);
/* Opens the libraries that this file needs, so that they are not bound at once with it.
 * What cannot be opened is left to mp_plugin_file_open(). In needed.c */
void mp_plugin_open_needed(const char *real);
/* Has this file `text` as the end of a C string, whatever the case? When it cannot be
 * read, the answer is yes, so that loading it gets to say why. */
bool mp_plugin_file_mentions(const char *file, const char *text);
/* mp_fail() with `file: ` in front. A path that would leave no room for the reason is
 * cut in its middle. */
int mp_plugin_fail(struct mcplug_error *err, int code, const char *file, const char *fmt,
                   ...) MCPLUG_PRINTF(4, 5);

/* ---- handshake.c ---- */

/* Is this descriptor one we can work with? Nothing in it is called. One message per
 * way to fail, beginning with `file`. Features of kinds that this core does not know
 * are no failure and not looked at: a newer module may offer more. */
int mp_plugin_handshake(const struct mcplug_plugin *d, const char *file,
                        struct mcplug_error *err);
/* The i-th feature as a copy of the core's own size. */
struct mcplug_feature mp_plugin_feature(const struct mcplug_plugin *d, size_t i);
const char *mp_kind_name(uint32_t kind); /* "transport", .. or "kind 9" */
bool mp_kind_known(uint32_t kind);
bool mp_kind_is_type(uint32_t kind); /* may stand as "type" in an entry */

#define MP_PROBE_NAME 64
/* What the module's probe is called that a configuration names: modules have no capitals
 * in their names, so listTools is list-tools. */
void mp_probe_name(const char *name, char out[MP_PROBE_NAME]);

/* ---- tables.c: what modules are handed ---- */

/* The core's record of one module; log lines come from "plugin:NAME". give. `cat` is
 * where host->use() looks; NULL: nowhere. */
mcplug_self *mp_self_new(const char *name, struct mp_catalogue *cat,
                         struct mp_events *log, struct mp_loop *loop);
/* Stops what the module left running on the loop. */
void mp_self_free(mcplug_self *self);
/* The same for a module that a thread is in for good: what it logs goes nowhere. */
void mp_self_leave(mcplug_self *self);
/* Timers and watches that run now. */
size_t mp_self_running(const mcplug_self *self);
/* Fills in every table; `options` and `helper_dir` are borrowed as long as `host`. */
void mp_host_init(struct mcplug_host *host, const struct mp_catalogue_options *options,
                  const char *helper_dir);

/* ---- vault.c: secrets that modules keep ---- */

#define MP_VAULT_NAME_MAX 256           /* bytes of a secret's name */
#define MP_VAULT_MAX ((size_t)64 << 10) /* bytes of a secret */

/* Adds the secret `name` of the vault that `offer` is, without the newline at its end.
 * `settings` are checked already; a vault that takes none does not see them.
 * Blocks, for a minute perhaps: any thread but the loop's while that runs.
 * MCPLUG_EREFUSED is the vault's own: no such secret, or nobody who could tell.
 * MCPLUG_ECONFIG: the name can't be one, or what was found is no single line of text, and
 * would not fit a header; MCPLUG_ETOOBIG. No message has the secret in it, and no copy is
 * left but that in `out`. */
int mp_vault_ask(const struct mp_offer *offer, const mcplug_props *settings,
                 const char *name, struct mp_str *out, struct mcplug_error *err);
/* Is it one that can be given settings? */
bool mp_vault_takes_settings(const struct mp_offer *offer);

/* ---- packages.c: who brings what is not there ---- */

#define MP_PACKAGES_BYTES ((size_t)64 << 10) /* what is behind them is not read */

/* One line of the list. `summary` is empty for other names of the same, schemes. */
struct mp_packaged {
    const char *kind, *name, *package, *summary;
};
/* Calls `fn` for each line of the list of packages; what it is given is valid until it
 * returns, and it returns false to stop. `path` NULL: $MCPLUG_MODULE_PACKAGES (absolute,
 * not for secure execution), or the installed one. A list that cannot be read is empty,
 * lines that are none are passed over: it is for messages alone. MCPLUG_ENOMEM */
int mp_packages_each(const char *path,
                     bool (*fn)(void *arg, const struct mp_packaged *one), void *arg);

/* ---- builtin.c (the list comes from config.h) ---- */

extern const struct mcplug_plugin *const mp_builtins[]; /* NULL-ended */

#endif
