#include "cli/base/line_term.h"

#include "cli/base/signals.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define OUT_MAX ((size_t)1 << 22) /* of one drawing: a screen */
/* What is pasted is marked as such; and no more. */
#define ENTER "\033[?2004h"
#define LEAVE "\033[?2004l"

static void put(struct cli_line_term *t, const char *data, size_t len)
{
    struct pollfd p = {.fd = t->out, .events = POLLOUT};

    while (len) {
        ssize_t n = write(t->out, data, len);
        if (n < 0 && errno == EAGAIN)
            poll(&p, 1, 1000);
        else if (n < 0 && errno != EINTR)
            return; /* it is gone, which reading will tell */
        data += n > 0 ? n : 0;
        len -= n > 0 ? (size_t)n : 0;
    }
}

static void put_with(struct cli_line_term *t,
                     void (*make)(struct cli_line_edit *, struct mp_str *))
{
    struct mp_str out;

    if (t->is_plain)
        return;
    mp_str_init(&out, OUT_MAX);
    make(&t->edit, &out);
    if (!out.failed)
        put(t, out.data, out.len);
    mp_str_clear(&out);
}

void cli_line_term_draw(struct cli_line_term *t)
{
    put_with(t, cli_line_edit_draw);
    if (t->is_plain)
        put(t, t->edit.prompt, strlen(t->edit.prompt));
}

void cli_line_term_erase(struct cli_line_term *t)
{
    put_with(t, cli_line_edit_erase);
}

/* ---- modes ---- */

static void measure(struct cli_line_term *t)
{
    struct winsize size;
    bool known = ioctl(t->out, TIOCGWINSZ, &size) == 0;

    cli_line_edit_resize(&t->edit, known && size.ws_col ? size.ws_col : 80,
                         known && size.ws_row ? size.ws_row : 24);
}

/* All keys are bytes for us. What is written is still made fit for the terminal. */
static void take_terminal(struct cli_line_term *t)
{
    struct termios raw;

    t->is_open = true;
    if (t->is_plain || tcgetattr(t->in, &t->before) != 0)
        return;
    raw = t->before;
    raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO | IEXTEN | ISIG);
    raw.c_iflag &= ~(tcflag_t)(ICRNL | INLCR | IXON);
    raw.c_cc[VMIN] = 1;
    raw.c_cc[VTIME] = 0;
    tcsetattr(t->in, TCSANOW, &raw);
    put(t, ENTER, sizeof ENTER - 1);
    measure(t);
}

void cli_line_term_restore(struct cli_line_term *t)
{
    if (!t->is_open)
        return;
    t->is_open = false;
    if (t->is_plain)
        return;
    tcsetattr(t->in, TCSANOW, &t->before);
    put(t, LEAVE, sizeof LEAVE - 1);
}

void cli_line_term_open(struct cli_line_term *t)
{
    if (!t->is_open)
        take_terminal(t);
    cli_line_term_draw(t);
}

void cli_line_term_close(struct cli_line_term *t)
{
    if (!t->is_open)
        return;
    put_with(t, cli_line_edit_leave);
    cli_line_term_restore(t);
}

static void suspend(struct cli_line_term *t)
{
    bool was_open = t->is_open;

    if (was_open)
        cli_line_term_close(t);
    cli_signals_suspend();
    if (was_open)
        cli_line_term_open(t);
}

void cli_line_term_signal(struct cli_line_term *t, int number)
{
    if (number == SIGTSTP) {
        suspend(t);
    } else if (t->is_open && !t->is_plain && number == SIGCONT) {
        t->edit.row = 0; /* who knows where that is */
        tcsetattr(t->in, TCSANOW, &t->before);
        take_terminal(t);
        cli_line_term_draw(t);
    } else if (t->is_open && !t->is_plain && number == SIGWINCH) {
        measure(t);
        cli_line_term_draw(t);
    }
}

/* ---- reading ---- */

bool cli_line_term_has_more(const struct cli_line_term *t)
{
    return t->at_typed < t->n_typed;
}

static enum cli_line_event next(struct cli_line_term *t)
{
    enum cli_line_event event = CLI_LINE_NONE;

    while (event == CLI_LINE_NONE && cli_line_term_has_more(t)) {
        unsigned char byte = (unsigned char)t->typed[t->at_typed++];
        event = cli_line_edit_feed(&t->edit, byte);
        if (t->is_plain && event == CLI_LINE_COMPLETES) {
            cli_line_edit_insert(&t->edit, "\t", 1);
            event = CLI_LINE_NONE;
        }
        if (t->is_plain && event == CLI_LINE_NONE && byte == '\n')
            put(t, "  ", 2); /* it goes on */
    }
    return event;
}

enum cli_line_event cli_line_term_read(struct cli_line_term *t)
{
    if (!cli_line_term_has_more(t)) {
        ssize_t n = read(t->in, t->typed, sizeof t->typed);
        if (n < 0 && (errno == EINTR || errno == EAGAIN))
            return CLI_LINE_NONE;
        if (n <= 0)
            return CLI_LINE_ENDED;
        t->n_typed = (size_t)n;
        t->at_typed = 0;
    }
    enum cli_line_event event = next(t);
    if (event == CLI_LINE_SUSPENDED) {
        suspend(t);
        return CLI_LINE_NONE;
    }
    if (event == CLI_LINE_NONE)
        put_with(t, cli_line_edit_draw);
    return event;
}

enum cli_line_event cli_line_term_interrupt(struct cli_line_term *t)
{
    static const unsigned char ctrl_c = 3;

    t->n_typed = t->at_typed = 0;
    enum cli_line_event event = cli_line_edit_feed(&t->edit, ctrl_c);
    if (t->is_plain)
        put(t, "\n", 1);
    if (event == CLI_LINE_NONE)
        cli_line_term_draw(t);
    return event;
}

/* ---- life ---- */

void cli_line_term_init(struct cli_line_term *t, int in, int out, const char *prompt)
{
    const char *term = getenv("TERM");

    memset(t, 0, sizeof *t);
    cli_line_edit_init(&t->edit, prompt);
    t->in = in;
    t->out = out;
    t->is_plain = !term || !*term || strcmp(term, "dumb") == 0;
}

void cli_line_term_clear(struct cli_line_term *t)
{
    cli_line_term_close(t);
    cli_line_edit_clear(&t->edit);
}
