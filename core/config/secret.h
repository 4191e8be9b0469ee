/* Where the values of ${file:..} and ${cmd:..} come from. Both block; the trailing
 * newline is not part of a value; what is no text (a NUL, not UTF-8, a newline inside) is
 * refused, for it would not fit a header. Messages name the source, never a value. */
#ifndef MP_CONFIG_SECRET_H
#define MP_CONFIG_SECRET_H

#include "base/buf.h"

#define MP_SECRET_MAX ((size_t)64 << 10)
#define MP_SECRET_MS 10000 /* for a command of an entry */

/* `~/` is `home` (NULL: refused); a relative path is relative to `dir`. */
int mp_secret_file(const char *path, const char *home, const char *dir,
                   struct mp_str *out, struct mcplug_error *err);
/* Runs `command` with /bin/sh in `dir`, stdin closed, for `ms` at most; what it writes to
 * stderr is part of the message when it fails. Changes no signal handlers, leaves no
 * child behind. */
int mp_secret_command(const char *command, const char *dir, int ms, struct mp_str *out,
                      struct mcplug_error *err);

#endif
