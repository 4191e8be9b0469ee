#include "cli/watch/watch.h"

#include "cli/base/message.h"
#include "cli/base/signals.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define UNSENT_MAX ((size_t)1 << 22)
#define LAST_MS 300 /* that a terminal gets to take what is written last */

/* Another screen, no cursor, no line that runs on into the next one; and back. */
#define ENTER "\033[?1049h\033[?25l\033[?7l\033[H\033[2J"
#define LEAVE "\033[?7h\033[?25h\033[?1049l"

/* ---- bytes ---- */

/* `unsent` is what a terminal that was stopped has not taken yet. */
bool cli_term_flush(struct cli_term *t)
{
    while (t->sent < t->unsent.len) {
        ssize_t n = write(t->fd, t->unsent.data + t->sent, t->unsent.len - t->sent);
        if (n > 0)
            t->sent += (size_t)n;
        else if (n < 0 && errno == EAGAIN)
            return true;
        else if (n < 0 && errno != EINTR)
            return false;
    }
    t->sent = 0;
    mp_str_reset(&t->unsent);
    return true;
}

bool cli_term_write(struct cli_term *t, const char *data, size_t len)
{
    mp_str_add(&t->unsent, data, len);
    return cli_term_flush(t);
}

/* What waits is waited for, a little; then come these bytes, memory or not. */
static void write_last(struct cli_term *t, const char *data, size_t len)
{
    struct pollfd p = {.fd = t->fd, .events = POLLOUT};
    uint64_t end = cli_now() + LAST_MS;
    bool there = cli_term_flush(t);

    while (there && t->unsent.len && cli_now() < end) {
        poll(&p, 1, LAST_MS / 4);
        there = cli_term_flush(t);
    }
    t->sent = 0;
    mp_str_reset(&t->unsent);
    while (there && len) {
        ssize_t n = write(t->fd, data, len);
        there = n > 0 || (n < 0 && errno == EINTR);
        data += n > 0 ? n : 0;
        len -= n > 0 ? (size_t)n : 0;
    }
}

/* ---- the screen ---- */

void cli_term_measure(struct cli_term *t)
{
    struct winsize size;
    bool known = ioctl(t->fd, TIOCGWINSZ, &size) == 0;
    t->width = known && size.ws_col ? size.ws_col : 80;
    t->height = known && size.ws_row ? size.ws_row : 24;
}

/* Ctrl+C and Ctrl+Z stay signals. */
void cli_term_enter(struct cli_term *t)
{
    struct termios raw = t->before;

    raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO | IEXTEN);
    raw.c_iflag &= ~(tcflag_t)(ICRNL | INLCR);
    raw.c_cc[VMIN] = 1;
    raw.c_cc[VTIME] = 0;
    tcsetattr(t->fd, TCSANOW, &raw);
    cli_term_measure(t);
    if (!t->open && isatty(STDERR_FILENO))
        t->shown = cli_log_show(-1); /* nobody writes across the screen */
    t->open = true;
    cli_term_write(t, ENTER, sizeof ENTER - 1);
}

void cli_term_leave(struct cli_term *t)
{
    if (!t->open)
        return;
    t->open = false;
    write_last(t, LEAVE, sizeof LEAVE - 1);
    tcsetattr(t->fd, TCSANOW, &t->before);
    if (isatty(STDERR_FILENO))
        cli_log_show(t->shown);
}

void cli_term_suspend(struct cli_term *t)
{
    cli_term_leave(t);
    cli_signals_suspend();
    cli_term_enter(t);
}

/* ---- life ---- */

/* A descriptor of our own: that writes do not block is nobody else's business. */
static int open_terminal(void)
{
    int flags = O_RDWR | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, fd = -1;
    char path[256];

    if (ttyname_r(STDOUT_FILENO, path, sizeof path) == 0)
        fd = open(path, flags);
    return fd >= 0 ? fd : open("/dev/tty", flags);
}

void cli_term_clear(struct cli_term *t)
{
    cli_term_leave(t);
    if (t->signal_fd >= 0)
        close(t->signal_fd);
    if (t->fd >= 0)
        close(t->fd);
    mp_str_clear(&t->unsent);
    t->fd = t->signal_fd = -1;
}

bool cli_term_init(struct cli_term *t)
{
    const char *term = getenv("TERM"), *no_color = getenv("NO_COLOR");

    memset(t, 0, sizeof *t);
    t->fd = t->signal_fd = -1;
    mp_str_init(&t->unsent, UNSENT_MAX);
    if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO) || !term || !*term ||
        strcmp(term, "dumb") == 0)
        return false;
    t->colour = !(no_color && *no_color);
    t->fd = open_terminal();
    if (t->fd < 0 || tcgetattr(t->fd, &t->before) != 0) {
        cli_term_clear(t);
        return false;
    }
    t->signal_fd = cli_signals_open_terminal();
    return true;
}
