/* What people are told on stderr: errors, log lines, and the one line that shows how a
 * call is coming along, which the others must not run into. */
#ifndef CLI_MESSAGE_H
#define CLI_MESSAGE_H

#include <mcplug/types.h>

#include <stdbool.h>

/* Why the command fails: `mcplug: ` and one line. What the arguments bring is escaped.
 * The texts of these, and of the hints below them, are also kept for programs. [any] */
void cli_error(const char *fmt, ...) MCPLUG_PRINTF(1, 2);
/* The same where people read another text than programs and logs. [any] */
void cli_error_shown(const char *text, const char *shown);
/* A second line below it: what to do next. [any] */
void cli_hint(const char *fmt, ...) MCPLUG_PRINTF(1, 2);
/* Looks like an error, but the command goes on: a note or a warning. [any] */
void cli_note(const char *fmt, ...) MCPLUG_PRINTF(1, 2);
/* A line below an error that is no advice. [any] */
void cli_detail(const char *fmt, ...) MCPLUG_PRINTF(1, 2);

#define CLI_REPORT_MAX 8192
/* What cli_error() and cli_hint() were given so far, each with newlines between; either
 * may be NULL. false: no error was reported. [any] */
bool cli_reported(char message[CLI_REPORT_MAX], char hint[CLI_REPORT_MAX]);
/* A question: no newline behind it. What the arguments bring is escaped. */
void cli_tell_prompt(const char *fmt, ...) MCPLUG_PRINTF(1, 2);
/* The same, escaped, but lines stay lines. Ends with a newline. [any] */
void cli_tell(const char *head, const char *text, size_t len);

/* A question of a server waits for its answer on the last line of the terminal: what the
 * functions above and below would write is held back until it has one, 64 KiB of it, and
 * the number of further messages. Not cli_tell_prompt(). [any] */
void cli_hold(bool hold);

/* One log line: `VRB mcp:NAME text`, on stderr up to the level that is shown, and in the
 * file whatever the level. Escaped here. [any] */
void cli_log_line(int level, const char *source, const char *text);
/* The same, for the file alone. [any] */
void cli_log_file(int level, const char *source, const char *text);
/* The most verbose level that is shown on stderr; -1: none. MCPLUG_LOG_WARN at first.
 * Returns the one before. */
int cli_log_show(int level);
/* Lines go to the end of that file too, each with its time. With 64 MiB it is renamed to
 * PATH.1, and another is begun. 0, or an errno. */
int cli_log_open(const char *path);

/* ---- the status line ---- */

/* Writes `text`, escaped and cut to the terminal, over the line before; NULL takes it
 * away. Other output goes above it. */
void cli_status_show(const char *text);

#endif
