/* The keys of an entry, one row each. From the table follow the checks of schema.c, what
 * supervision.c reads, what the policy looks at (resolve.c), what is shown (mask.c) and
 * what is completed. doc/mcplug.json.5 has to name every key that has a line of help;
 * tests/unit/config_keys.c checks that. [any] */
#ifndef MP_CONFIG_KEYS_H
#define MP_CONFIG_KEYS_H

#include "config/config.h"

/* ---- checks ---- */

/* Notes a problem of the entry; `below` is what follows the server's name: ".args[1]". */
void mp_entry_complain(struct mp_entry *entry, bool is_warning, const char *below,
                       mp_view at, const char *fmt, ...) MCPLUG_PRINTF(5, 6);
void mp_entry_expected(struct mp_entry *entry, const char *below, mp_view at,
                       const char *what);
/* What could not be checked must not be used. */
void mp_entry_no_memory(struct mp_entry *entry);

/* Can it be written as one text: a string, a number, a boolean? */
bool mp_view_is_scalar(mp_view v);
/* give: that text; NULL: no memory */
char *mp_view_text(mp_view v);
/* A string of C: no NUL inside. */
void mp_check_string(struct mp_entry *entry, const char *below, mp_view v);
/* A list of scalars, an object with scalars. */
void mp_check_strings(struct mp_entry *entry, const char *below, mp_view v);
void mp_check_map(struct mp_entry *entry, const char *below, mp_view v);

/* ---- the table ---- */

/* How a value becomes a member of struct mp_supervision. */
struct mp_key_reader {
    bool (*read)(mp_view v, void *out); /* false: no memory */
    void (*clear)(void *out);           /* NULL: nothing to free */
};

enum mp_shown {
    MP_SHOWN_MASKED, /* but for user info and query of URLs, and what follows --token */
    MP_SHOWN,        /* as it is */
    MP_HIDDEN,       /* but for references */
};

struct mp_key {
    const char *name; /* NULL ends the table */
    const char *type; /* as in struct mcplug_option; NULL: as its module says */
    /* NULL: its module declares what is right */
    void (*check)(struct mp_entry *entry, const char *below, mp_view v);
    const struct mp_key_reader *into; /* NULL: not of struct mp_supervision */
    size_t at;                        /* the member it is read into */
    bool ours;                        /* not a setting of the transport */
    bool judged;                      /* the policy looks at it */
    bool own; /* refused in scopes that need approval, which others may have written */
    enum mp_shown shown;
    const char *help; /* one line; NULL: as its module says */
};

extern const struct mp_key mp_keys[];
const struct mp_key *mp_key_find(mp_view name); /* NULL: not in the table */
/* Is it one that other programs keep in an entry, and that has no meaning here? */
bool mp_key_is_foreign(mp_view name);
/* The option of that name that a transport declares; NULL: none. */
const struct mcplug_option *mp_option_find(const struct mcplug_option *options,
                                           mp_view name);

/* ---- options.c ---- */

/* The settings of a feature that is no transport: a probe, a vault. */
struct mp_options_check {
    const char *kind, *feature;          /* "probe", "cpu" */
    const struct mcplug_option *options; /* what it declares; NULL: nothing */
    const char *skip;                    /* a member that is no setting; may be NULL */
    mp_view beside; /* an object that may have what is missing; may be empty */
    /* `name` is the member's, "" for the object; borrow. */
    void (*note)(void *arg, const char *name, mp_view at, const char *text);
    void *arg;
};
/* Unknown members, those of a wrong type, and missing ones. */
void mp_options_check(const struct mp_options_check *check, mp_view object);

/* ---- names ---- */

/* Do the words differ in one place alone, by so many letters at most? Case does not
 * count. */
bool mp_key_is_slip(const char *given, const char *meant, size_t letters);
/* A name that is given to secrets: API_KEY, --user, X-Session. */
bool mp_key_tells(const char *name, size_t len);
/* May the member `key` of a value that is `outer` be shown? Without memory it may not,
 * and `failed` is set. */
enum mp_shown mp_key_shown(mp_view key, enum mp_shown outer, bool *failed);

#endif
