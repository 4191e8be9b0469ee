/* Editing a line at a terminal: bytes that were typed in, the line and what to write to
 * the terminal out. Pure: no system calls, no clock. cli/base/line_term.h has the
 * terminal.
 *
 * The line is UTF-8 and may have several lines of text. It is shown behind a prompt, and
 * goes on below it, indented; where that is more than the terminal has rows, the rows
 * around the cursor are shown. Characters that could control the terminal are shown
 * escaped. A character and the marks that combine with it are one thing to move over. */
#ifndef CLI_LINE_EDIT_H
#define CLI_LINE_EDIT_H

#include "base/buf.h"
#include "cli/base/keys.h"

#define CLI_LINE_MAX                                                                     \
    ((size_t)1 << 20)         /* bytes; what is beyond is dropped, with a bell           \
                               */
#define CLI_LINE_HISTORY 1000 /* lines; the oldest one is dropped */

enum cli_line_event {
    CLI_LINE_NONE,
    CLI_LINE_ENTERED,     /* Enter: `line` has it */
    CLI_LINE_ENDED,       /* Ctrl+D on an empty line */
    CLI_LINE_INTERRUPTED, /* Ctrl+C on an empty line; see `interrupts` */
    CLI_LINE_SUSPENDED,   /* Ctrl+Z */
    CLI_LINE_COMPLETES    /* Tab */
};

struct cli_line_edit {
    const char *prompt; /* borrow; ASCII */
    struct mp_str line;
    size_t at;           /* of the cursor, in bytes */
    unsigned interrupts; /* how often Ctrl+C came on an empty line, and nothing else */

    /* The rest is private. */
    struct cli_keys keys;
    struct mp_str typed; /* characters that are not in the line yet */
    unsigned char part[4];
    size_t n_part; /* of a character of UTF-8 */
    bool is_pasting, after_return;
    struct mp_str killed;
    bool is_killing; /* the last key did, so the next adds to that */

    char **history; /* the oldest first */
    size_t n_history, history_cap;
    size_t shown;      /* n_history: the line is the user's own */
    struct mp_str own; /* that one, while another is shown */

    bool is_searching, has_match;
    struct mp_str query;
    size_t found;         /* in the history; n_history: none yet */
    struct mp_str before; /* the line when the search began, */
    size_t at_before;     /* and the place in it */

    size_t width, height;
    size_t row, rows,
        top;         /* of the cursor and of all that is drawn, and not shown above */
    bool is_cleared; /* the screen has to be */
    bool rings;
};

void cli_line_edit_init(struct cli_line_edit *e, const char *prompt);
void cli_line_edit_clear(struct cli_line_edit *e);

/* One byte that was typed. Whatever it returns, the next one may follow. */
enum cli_line_event cli_line_edit_feed(struct cli_line_edit *e, unsigned char byte);
/* Another line, the cursor at its end: "" to begin anew. */
void cli_line_edit_set(struct cli_line_edit *e, const char *text, size_t len);
/* As if it had been typed at the cursor. */
void cli_line_edit_insert(struct cli_line_edit *e, const char *text, size_t len);
/* Adds a line to the history, unless it is empty, the last one again, begins with a space
 * or does not fit into memory: false. */
bool cli_line_edit_remember(struct cli_line_edit *e, const char *text);

/* The size of the terminal, before anything is drawn and when it changes. */
void cli_line_edit_resize(struct cli_line_edit *e, size_t width, size_t height);
/* Adds what the terminal is to be sent so that it shows the line. */
void cli_line_edit_draw(struct cli_line_edit *e, struct mp_str *out);
/* The same, and the cursor below it: what is drawn next is another line. */
void cli_line_edit_leave(struct cli_line_edit *e, struct mp_str *out);
/* Takes the line from the screen, so that something can be written in its place. */
void cli_line_edit_erase(struct cli_line_edit *e, struct mp_str *out);

#endif
