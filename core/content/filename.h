/* Names for files, made of what a server says: a URI, a path, a media type. Everything in
 * them is hostile. A name that comes from here is shown to people and to models, who put
 * it into commands of a shell: it has no character that is special there. [any] */
#ifndef MP_CONTENT_FILENAME_H
#define MP_CONTENT_FILENAME_H

#include "base/buf.h"

#define MP_SAFE_NAME_MAX 150 /* bytes */
#define MP_EXTENSION_MAX 16  /* without its dot */

/* Adds the last segment of a URI or path as a name: letters and digits of any script, and
 * . _ - + @ = , in between. All else, such as separators, blanks, quotes, control
 * characters, what is invisible, turns text round or is not UTF-8, becomes one _. It does
 * not begin with a dot. At most MP_SAFE_NAME_MAX bytes, whole characters; a short
 * extension is kept. Adds nothing if nothing is left. The name of a name is the same. */
MP_SHARED void mp_safe_name(const char *uri, size_t len, struct mp_str *out);

/* The same with another maximum, which is at most MP_SAFE_NAME_MAX. `out` has room for
 * one byte more, a NUL. Returns the length. */
size_t mp_safe_name_put(const char *uri, size_t len, size_t max, char *out);

/* Where the extension of a name begins, its dot included: up to MP_EXTENSION_MAX ASCII
 * letters and digits behind the last dot, which is not the first byte. The end of the
 * name if it has none. */
MP_SHARED const char *mp_name_extension(const char *name);

/* ".png" for image/png; parameters and case are ignored. ".txt" for text that is not
 * known, ".bin" for all else. */
MP_SHARED const char *mp_mime_extension(const char *mime, size_t len);
/* The other way, "image/png" for ".png", the first of several; NULL: it is not known. */
MP_SHARED const char *mp_extension_mime(const char *extension);

#endif
