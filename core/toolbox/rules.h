/* What the APIs of models refuse in the definition of a tool, and what is done about it.
 * Runs and toolboxes repair by these rules, and `mcplug tools --lint` reports by them: it
 * is the same code that does both. [any]
 *
 *   rules.c     the table: providers, rules, findings
 *   keywords.c  every schema inside of the definition
 *   merge.c     its root
 *   formats.c   the tool
 */
#ifndef MP_TOOLBOX_RULES_H
#define MP_TOOLBOX_RULES_H

#include "base/buf.h"
#include "json/walk.h"

#include <mcplug/admin.h>

#define MP_DESCRIPTION_MAX 2048 /* bytes of what is said of one tool */
#define MP_DEFINITION_MAX ((size_t)1 << 20)
#define MP_FINDINGS 100     /* of one tool */
#define MP_FINDING_PATH 512 /* bytes of the path of a finding */

/* ---- providers ---- */

struct mp_provider {
    const char *name;          /* as people type it; NULL ends the table */
    const char *const *models; /* features of the kind `model` that speak to it */
    enum mcplug_format format;
    size_t name_max;            /* of a tool */
    const char *name_chars;     /* beside letters, digits and _ */
    bool name_is_word;          /* which begins with a letter or _ */
    size_t key_max;             /* of a property of the root; 0: any name will do */
    size_t tools_max;           /* of one request; 0: not known */
    const char *const *formats; /* `format`s it knows; NULL: it does not mind others */
    bool needs_items;           /* of every array */
    bool needs_described;       /* of every property that is required */
    bool has_lone_refs;         /* $ref stands alone in its object */
    bool drops_extensions;      /* x-.. */
};

extern const struct mp_provider mp_providers[];
/* NULL: there is none of that name. */
const struct mp_provider *mp_provider_find(const char *name);
/* The one that a feature of that name speaks to; else the strictest. */
const struct mp_provider *mp_provider_of_model(const char *feature);
const struct mp_provider *mp_provider_of_format(enum mcplug_format format);

/* ---- rules ---- */

enum mp_rule {
    MP_RULE_NAME,
    MP_RULE_APP_ONLY,
    MP_RULE_NO_DESCRIPTION,
    MP_RULE_LONG_DESCRIPTION,
    MP_RULE_OLD_DESCRIPTION,
    MP_RULE_QUOTED_DESCRIPTION,
    MP_RULE_ROOT_TYPE,
    MP_RULE_ROOT_PROPERTIES,
    MP_RULE_ROOT_CHOICE,
    MP_RULE_ROOT_REF,
    MP_RULE_ROOT_KEYWORD,
    MP_RULE_KEY,
    MP_RULE_REQUIRED_KEY,
    MP_RULE_DIALECT,
    MP_RULE_EXTENSION,
    MP_RULE_NO_SCHEMA,
    MP_RULE_KEYWORD,
    MP_RULE_TUPLE,
    MP_RULE_EXCLUSIVE,
    MP_RULE_NO_ITEMS,
    MP_RULE_FORMAT,
    MP_RULE_REF,
    MP_RULE_REF_BESIDE,
    MP_RULE_REQUIRED_UNKNOWN,
    MP_RULE_TWICE,
    MP_RULE_TOO_DEEP,
    MP_RULE_TOO_COSTLY,
    MP_RULE_TOO_BIG,
    MP_RULE_TOO_MANY,
    MP_RULE_MORE,
    MP_RULES
};

struct mp_rule_info {
    const char *id;      /* for programs; stays */
    unsigned char is[3]; /* enum mcplug_severity, by the index of the provider */
    bool is_left_out;    /* the tool, or none is */
    const char *wrong, *cure, *advice;
};
extern const struct mp_rule_info mp_rules[MP_RULES];

/* ---- findings ---- */

struct mp_finding {
    enum mp_rule rule;
    enum mcplug_severity severity;
    char *path; /* a JSON pointer into the definition */
};

struct mp_findings { /* of one tool */
    struct mp_finding *list;
    size_t n, cap;
    bool failed; /* no memory */
};
void mp_findings_clear(struct mp_findings *found);

/* A place in a definition: on the stack of whoever looks at it. */
struct mp_at {
    const struct mp_at *up; /* NULL: the definition */
    const char *name;       /* NULL: `key`, or `index` if that has none */
    mp_view key;
    size_t index;
};
/* `found` may be NULL: nobody asks. */
void mp_find(struct mp_findings *found, const struct mp_provider *provider,
             enum mp_rule rule, const struct mp_at *at);

/* ---- keywords.c ---- */

/* Adds a schema with all schemas inside of it as the provider takes them: what is no JSON
 * Schema is left out or rewritten. `is_merged`: its root will be merged, so what one part
 * of it requires may be described by another. */
void mp_keywords_add(struct mp_str *out, const struct mp_provider *provider,
                     mp_view schema, bool is_merged, const struct mp_at *at,
                     struct mp_findings *found);

/* ---- merge.c ---- */

/* What it may take to merge a schema into a plain object. The work of an array is in
 * proportion to its length, and no tool takes the share of another. */
#define MP_FORMAT_WORK 32  /* steps per byte of the schema */
#define MP_FORMAT_DEPTH 32 /* of allOf, anyOf, oneOf and $ref in each other */

enum mp_formatted {
    MP_FORMATTED,
    MP_FORMAT_UNFIT, /* requires a name that models do not take */
    MP_FORMAT_TOO_COSTLY,
    MP_FORMAT_TOO_DEEP,
    MP_FORMAT_TOO_BIG,
};

/* Will the root be merged, or are its properties all that is said of the object? */
bool mp_root_is_merged(mp_view schema, const struct mp_provider *provider);
/* Adds the schema as that of a plain object; it has been through mp_keywords_add(). */
enum mp_formatted mp_merge_add(struct mp_str *out, const struct mp_provider *provider,
                               mp_view schema, const struct mp_at *at,
                               struct mp_findings *found);

#endif
