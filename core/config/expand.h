/* ${VAR}, ${VAR:-default} and references to secrets in the texts of an entry.
 *
 *   ${NAME}            a variable; NAME is letters, digits and _
 *   ${NAME:-default}   the default when it is not set or empty; may have ${..} inside
 *   ${file:PATH}       the content of a file, without the newline at its end
 *   ${cmd:COMMAND}     what a shell command prints, likewise
 *   ${VAULT:NAME}      a secret that a module keeps: ${keyring:NAME}
 *   $${                the text ${
 *
 * VAULT is small letters, digits and -. A `}` ends a reference; PATH, COMMAND and NAME
 * are taken as they are. Anything else is text, a $ without a brace included. What was
 * put in is never expanded again. */
#ifndef MP_CONFIG_EXPAND_H
#define MP_CONFIG_EXPAND_H

#include "base/buf.h"

#define MP_EXPAND_DEPTH 8               /* ${A:-${B:-..}} */
#define MP_EXPAND_MAX ((size_t)1 << 20) /* of one text, expanded */
#define MP_EXPAND_NAME ((size_t)4096)   /* what is asked for, "cmd:..", and a NUL */

struct mp_expansion {
    /* The value of a variable; NULL: not set. */
    const char *(*variable)(void *arg, const char *name);
    /* Adds what file:, cmd: or a vault has; `kind` is the word before the colon. An
     * error ends the expansion. */
    int (*secret)(void *arg, const char *kind, const char *name, struct mp_str *out,
                  struct mcplug_error *err);
    /* A variable is not set and has no default; its text stays as it is. */
    void (*missing)(void *arg, const char *name);
    void *arg;
};

/* Adds `text` expanded. MCPLUG_ECONFIG for what cannot be read: "${" without "}", a name
 * with other characters (${env:X} and ${input:X} are told how to write it here), an empty
 * one, nesting too deep; or what `secret` returned. `err` does not repeat values. */
int mp_expand(const struct mp_expansion *e, const char *text, struct mp_str *out,
              struct mcplug_error *err);

/* Calls `fn` for everything that `text` may ask for, in order, defaults included: "VAR",
 * "file:PATH", .. Gives up silently where mp_expand() would fail. */
void mp_expand_each(const char *text, void (*fn)(void *arg, const char *name), void *arg);

/* The length of the reference at `p`, if that is one without a default and without a
 * command: ${NAME}, ${file:PATH}, ${keyring:NAME}; 0: it is not. */
size_t mp_expand_reference(const char *p);

#endif
