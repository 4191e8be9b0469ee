/* The lines that a user has typed in conversations, kept in $XDG_STATE_HOME/mcplug/run:
 * one JSON string per line, the newest last. Several programs may add to it. Where it
 * cannot be read or written, there is no history, and no failure. */
#ifndef CLI_HISTORY_H
#define CLI_HISTORY_H

#include "cli/base/line_edit.h"

#include <mcplug/admin.h>

#define CLI_HISTORY_LINE ((size_t)65536)   /* bytes; longer ones are not kept */
#define CLI_HISTORY_FILE ((size_t)1 << 20) /* bytes; then the older half goes */

void cli_history_read(const struct mcplug_paths *paths, struct cli_line_edit *e);
/* `text` is UTF-8. */
void cli_history_add(const struct mcplug_paths *paths, const char *text);

#endif
