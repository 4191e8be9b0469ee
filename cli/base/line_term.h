/* A line that is typed at the terminal: its modes, what is read and what is written. The
 * terminal is ours only while a line is typed; what runs in between finds it as it was.
 *
 * Where the terminal can do no more than write lines (TERM=dumb) nothing is edited: it
 * makes the lines itself. */
#ifndef CLI_LINE_TERM_H
#define CLI_LINE_TERM_H

#include "cli/base/line_edit.h"

#include <termios.h>

struct cli_line_term {
    struct cli_line_edit edit;
    int in, out;
    bool is_plain; /* nothing is edited */
    bool is_open;  /* a line is being typed */
    struct termios before;
    char typed[4096]; /* read, and not looked at yet: behind the line */
    size_t n_typed, at_typed;
};

/* `in` and `out` are one terminal. */
void cli_line_term_init(struct cli_line_term *t, int in, int out, const char *prompt);
void cli_line_term_clear(struct cli_line_term *t);

/* Shows the prompt, and what `edit` has as its line. */
void cli_line_term_open(struct cli_line_term *t);
/* The terminal is as it was, and the cursor below the line. */
void cli_line_term_close(struct cli_line_term *t);
/* Has something been typed before the line was wanted? */
bool cli_line_term_has_more(const struct cli_line_term *t);
/* The terminal is readable, or there is more: what that means. CLI_LINE_ENDED also if the
 * terminal is gone. What it means to be suspended has been done. */
enum cli_line_event cli_line_term_read(struct cli_line_term *t);
/* Ctrl+C that came as a signal. */
enum cli_line_event cli_line_term_interrupt(struct cli_line_term *t);
/* A signal: the terminal has another size, somebody stops us, or lets us go on. */
void cli_line_term_signal(struct cli_line_term *t, int number);
/* Shows the line again, behind something that was written in its place. */
void cli_line_term_draw(struct cli_line_term *t);
/* Takes it away for that. */
void cli_line_term_erase(struct cli_line_term *t);
/* Lets go of the terminal, in whatever state it is; also just before the process ends. */
void cli_line_term_restore(struct cli_line_term *t);

#endif
