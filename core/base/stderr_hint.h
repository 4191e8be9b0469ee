/* Of all that a server writes to stderr, the line that tells most of why it failed. */
#ifndef MP_BASE_STDERR_HINT_H
#define MP_BASE_STDERR_HINT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/shared.h"

#define MP_STDERR_HINT "; stderr: " /* before that line, in an error */
#define MP_STDERR_HINT_MAX 160      /* bytes of it that are kept */

/* Does a line tell more than the one that was kept, `had` ("", or NULL: none)? Later ones
 * do, but for blank ones, details that belong to it, and what runtimes always end with.
 */
MP_SHARED bool mp_stderr_hint_more(const char *line, size_t len, const char *had);
/* Keeps it if so, fit for one line of text: whole characters, blanks in place of
 * controls. `said` has room for MP_STDERR_HINT_MAX + 1 bytes. */
void mp_stderr_hint_keep(char *said, const char *line, size_t len);

#endif
