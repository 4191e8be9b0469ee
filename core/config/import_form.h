/* An entry on its way into our form. Private to core/config/import_*.c. */
#ifndef MP_CONFIG_IMPORT_FORM_H
#define MP_CONFIG_IMPORT_FORM_H

#include "config/import_parts.h"

/* What the keys of other programs mean. */
enum mp_field {
    MP_F_TYPE,
    MP_F_COMMAND,
    MP_F_ARGS,
    MP_F_ENV,
    MP_F_CWD,
    MP_F_URL,
    MP_F_HTTP_URL,
    MP_F_TCP,
    MP_F_HEADERS,
    MP_F_ENV_HEADERS,
    MP_F_BEARER,
    MP_F_BEARER_VAR,
    MP_F_ALLOWED,
    MP_F_DENIED,
    MP_F_TIMEOUT,
    MP_F_CONNECT_SEC,
    MP_F_CONNECT_MS,
    MP_F_TOOL_SEC,
    MP_F_DISABLED,
    MP_F_ENABLED,
    MP_F_ENV_FILE,
    MP_F_NOTHING, /* means nothing that would be missed */
    MP_F_FIELDS
};

struct mp_form {
    struct mp_import_source source;
    const char *name;
    mp_view at[MP_F_FIELDS];
    mp_view rest; /* a command that is a list: its arguments */
    struct mp_str *out;
    struct mp_import_notes *notes;
    struct mcplug_error *err;
    bool comma;
};

/* Fills the error with why there is no form; returns MCPLUG_ENOTSUP. */
int mp_form_skip(struct mp_form *e, const char *why);
/* Is it a string, and not empty? */
bool mp_form_is_said(mp_view v);
/* Puts what `v` says as text: strings, and numbers and truths as they are written. A
 * NUL can be in no text of ours. Clear `out` in any case. */
int mp_form_read(struct mp_form *e, mp_view v, struct mp_str *out);

/* The key of the next member. */
void mp_form_begin(struct mp_form *e, const char *key);
/* Members that are left out when there is nothing to put in. */
int mp_form_text(struct mp_form *e, const char *key, mp_view v, bool is_url);
int mp_form_args(struct mp_form *e);
int mp_form_env(struct mp_form *e);
int mp_form_headers(struct mp_form *e);
int mp_form_tools(struct mp_form *e, const char *key, mp_view list);

#endif
