/* Names for files, made of what a server says: a URI and a media type. All of it is
 * hostile. */
#ifndef CLI_FILE_NAME_H
#define CLI_FILE_NAME_H

#include "base/buf.h"

#define CLI_SAFE_NAME_MAX 150 /* bytes */

/* Adds the last segment of a URI or path as a name of one file: letters and digits of any
 * script, and . _ - + @ = , in between. All else becomes a _. It does not begin with a
 * dot or a dash, and is cut to CLI_SAFE_NAME_MAX bytes, whole characters, with a short
 * extension kept. Adds nothing if nothing is left. */
void mp_safe_name(const char *uri, size_t len, struct mp_str *out);

/* ".png" for image/png; parameters and case do not count. ".txt" for text that is not
 * known, ".bin" for all else. */
const char *mp_mime_extension(const char *mime, size_t len);

/* Where the extension of a name begins, with its dot; its end where it has none. */
const char *cli_name_extension(const char *name);

#endif
