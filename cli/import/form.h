/* An entry on its way into our form. Private to cli/import. */
#ifndef CLI_IMPORT_FORM_H
#define CLI_IMPORT_FORM_H

#include "cli/import/parts.h"

/* What the keys of other programs mean. */
enum cli_import_field {
    CLI_F_TYPE,
    CLI_F_COMMAND,
    CLI_F_ARGS,
    CLI_F_ENV,
    CLI_F_CWD,
    CLI_F_URL,
    CLI_F_HTTP_URL,
    CLI_F_TCP,
    CLI_F_HEADERS,
    CLI_F_ENV_HEADERS,
    CLI_F_BEARER,
    CLI_F_BEARER_VAR,
    CLI_F_ALLOWED,
    CLI_F_DENIED,
    CLI_F_TIMEOUT,
    CLI_F_CONNECT_SEC,
    CLI_F_CONNECT_MS,
    CLI_F_TOOL_SEC,
    CLI_F_DISABLED,
    CLI_F_ENABLED,
    CLI_F_ENV_FILE,
    CLI_F_NOTHING, /* means nothing that would be missed */
    CLI_F_FIELDS
};

struct cli_import_form {
    struct cli_import_source source;
    const char *name;
    mp_view at[CLI_F_FIELDS];
    mp_view rest; /* a command that is a list: its arguments */
    struct mp_str *out;
    struct cli_import_notes *notes;
    struct mcplug_error *err;
    bool comma;
};

/* Fills the error with why there is no form; returns MCPLUG_ENOTSUP. */
int cli_form_skip(struct cli_import_form *e, const char *why);
/* Is it a string, and not empty? */
bool cli_form_is_said(mp_view v);
/* Puts what `v` says as text: strings, and numbers and truths as they are written. A
 * NUL can be in no text of ours. Clear `out` in any case. */
int cli_form_read(struct cli_import_form *e, mp_view v, struct mp_str *out);

/* The key of the next member. */
void cli_form_begin(struct cli_import_form *e, const char *key);
/* Members that are left out when there is nothing to put in. */
int cli_form_text(struct cli_import_form *e, const char *key, mp_view v, bool is_url);
int cli_form_args(struct cli_import_form *e);
int cli_form_env(struct cli_import_form *e);
int cli_form_headers(struct cli_import_form *e);
int cli_form_tools(struct cli_import_form *e, const char *key, mp_view list);

#endif
