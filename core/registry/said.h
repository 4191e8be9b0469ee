/* Of all that a server writes to stderr, the line that tells most of why it failed. */
#ifndef MP_REGISTRY_SAID_H
#define MP_REGISTRY_SAID_H

#include <stdbool.h>
#include <stddef.h>

#define MP_SAID "; it said: " /* before that line, in an error */
#define MP_SAID_MAX 160       /* bytes of it that are kept */

/* Does a line tell more than the one that was kept, `had` ("", or NULL: none)? Later ones
 * do, but for blank ones, details that belong to it, and what runtimes always end with.
 */
bool mp_said_more(const char *line, size_t len, const char *had);
/* Keeps it if so, fit for one line of text: whole characters, blanks in place of
 * controls. `said` has room for MP_SAID_MAX + 1 bytes. */
void mp_said_keep(char *said, const char *line, size_t len);

#endif
