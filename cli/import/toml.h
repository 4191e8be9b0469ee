/* TOML 1.0, turned into JSON text: enough to read what other programs keep in it. */
#ifndef CLI_IMPORT_TOML_H
#define CLI_IMPORT_TOML_H

#include "config/jsontext.h"

/* Adds one JSON object. Dates become strings, inf and nan too. MCPLUG_ECONFIG with the
 * place: a key given twice, a table defined twice, and all else that is no TOML. */
int cli_toml_to_json(mp_view text, struct mp_str *out, struct mp_place *at,
                     struct mcplug_error *err);

#endif
