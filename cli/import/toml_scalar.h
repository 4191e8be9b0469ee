/* Strings, numbers, booleans and dates of a TOML text. Private to cli/import/toml*.c. */
#ifndef CLI_IMPORT_TOML_SCALAR_H
#define CLI_IMPORT_TOML_SCALAR_H

#include "base/buf.h"

struct cli_toml_reader {
    const char *text; /* UTF-8 */
    size_t len, at;
    size_t fault_at; /* where the error that was filled in is */
    struct mcplug_error *err;
};

/* The byte at `offset` from here; -1 behind the end. */
static inline int cli_toml_peek(const struct cli_toml_reader *r, size_t offset)
{
    return offset < r->len - r->at ? (unsigned char)r->text[r->at + offset] : -1;
}

/* Notes the place and fills the error; returns MCPLUG_ECONFIG. */
int cli_toml_fail(struct cli_toml_reader *r, size_t at, const char *fmt, ...)
    MCPLUG_PRINTF(3, 4);
/* The same for the byte here, which does not belong there. */
int cli_toml_unexpected(struct cli_toml_reader *r, const char *wanted);

/* Skips a line end and returns true, if there is one. */
bool cli_toml_newline(struct cli_toml_reader *r);

/* Reads the string whose quote is here and adds what it says. One of several lines only
 * with `lines`: a key can't be one. */
int cli_toml_string(struct cli_toml_reader *r, bool lines, struct mp_str *out);
/* Reads a value that is no array and no table, and adds it as JSON. */
int cli_toml_scalar(struct cli_toml_reader *r, struct mp_str *out);

#endif
