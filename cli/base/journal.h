/* What configured servers wrote to stderr and what happened to them, kept on disk for
 * `mcplug logs`: NAME.log and, before it, NAME.log.1 in $XDG_STATE_HOME/mcplug/logs. Each
 * is bounded, and so is what a server can have written in a while. Lines are in the file
 * as soon as they are told of, so they outlive a kill. Nothing here fails a command: what
 * goes wrong is warned of once, and then no more is kept. */
#ifndef CLI_JOURNAL_H
#define CLI_JOURNAL_H

#include "base/buf.h"

#include <mcplug/admin.h>

#include <stdbool.h>

#define CLI_JOURNAL_OFF "MCPLUG_LOGS"        /* "0" in it: nothing is kept */
#define CLI_JOURNAL_LINE 4096                /* bytes of a line, its end included */
#define CLI_JOURNAL_FILE ((uint64_t)1 << 20) /* bytes of a file */
#define CLI_JOURNAL_NAME_MAX (64 + sizeof ".log.1") /* of a file's name */

/* One line: `2026-11-16T15:04:05.123Z ERR event text`, the text escaped. */
enum cli_journal_kind { CLI_JOURNAL_EVENT, CLI_JOURNAL_STDERR, CLI_JOURNAL_KINDS };

struct cli_journal;

/* For the server of that name; the file is made for the first line. give; NULL: nothing
 * is to be kept, or there is no place for it, which all of these functions take. */
struct cli_journal *cli_journal_open(const struct mcplug_paths *paths, const char *name);
void cli_journal_close(struct cli_journal *j);
/* Does the user want it? */
bool cli_journal_wanted(void);

/* `level` is one of MCPLUG_LOG_*. What does not fit into a line is cut off. [any] */
void cli_journal_line(struct cli_journal *j, int level, enum cli_journal_kind kind,
                      const char *text, size_t len);
/* The same for an event, with a C string. */
void cli_journal_event(struct cli_journal *j, int level, const char *text);
/* What happened to the server, or what it wrote to stderr. Frames are not kept, nor
 * events without a text. */
void cli_journal_take(struct cli_journal *j, const struct mcplug_activity *event);
/* Tells `fn` all that may be worth a line. The host has it; NULL: nothing is to be kept,
 * or there is no memory. */
mcplug_listener *cli_journal_listen(mcplug *host, mcplug_activity_fn *fn, void *arg);

/* Forgets what is kept of that server. */
void cli_journal_remove(const struct mcplug_paths *paths, const char *name);

/* ---- reading ---- */

/* give `fd`: what is kept of the server, in the newer or the `older` file, to be read; -1
 * when there is none. Files that others could have written are refused. */
int cli_journal_look(const struct mcplug_paths *paths, const char *name, bool older,
                     int *fd, struct mcplug_error *err);
/* Adds the last lines of it, `max` bytes at most, which `out` has room for; nothing if
 * there are none that may be read. */
void cli_journal_tail(const struct mcplug_paths *paths, const char *name, size_t max,
                      struct mp_str *out);
/* give: the directory; NULL: none is known, or no memory */
char *cli_journal_dir(const struct mcplug_paths *paths);

/* ---- for tests ---- */

struct cli_journal_limits {
    uint64_t file;         /* bytes, at least those of a line */
    uint64_t lines;        /* of each kind in a window, */
    uint64_t bytes;        /* and bytes of them */
    uint64_t window_ms;    /* how long that is, */
    uint64_t (*now)(void); /* by this clock, in ms; NULL: cli_now() */
};
struct cli_journal *cli_journal_open_with(const struct mcplug_paths *paths,
                                          const char *name,
                                          const struct cli_journal_limits *limits);

#endif
