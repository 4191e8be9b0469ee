#include "cli/base/screen.h"

#include "base/mem.h"
#include "cli/base/entries.h"
#include "cli/base/progress.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>

#define SIDE_MAX 1000 /* columns, rows */
#define CELL_MIN 6    /* pixels */
#define CELL_MAX 200
#define ANSWER_MS 200

static bool is_env(const char *name, const char *value)
{
    const char *has = getenv(name);
    return has && strcmp(has, value) == 0;
}

static const char *colors_of_environment(void)
{
    const char *no_color = getenv("NO_COLOR");

    if ((no_color && *no_color) || !getenv("TERM") || is_env("TERM", "dumb"))
        return "none";
    return is_env("COLORTERM", "truecolor") || is_env("COLORTERM", "24bit") ? "true"
                                                                            : "256";
}

static uint32_t cell(uint32_t pixels)
{
    return pixels < CELL_MIN ? CELL_MIN : pixels > CELL_MAX ? CELL_MAX : pixels;
}

void cli_screen_look(struct cli_screen *s, int fd)
{
    bool takes_files = is_env("TERM_PROGRAM", "iTerm.app") ||
                       is_env("TERM_PROGRAM", "WezTerm") ||
                       is_env("LC_TERMINAL", "iTerm2");
    struct winsize size = {0};

    if (ioctl(fd, TIOCGWINSZ, &size) != 0)
        memset(&size, 0, sizeof size);
    *s = (struct cli_screen){
        .format = takes_files ? "iterm2" : "symbols",
        .colors = colors_of_environment(),
        .columns = size.ws_col && size.ws_col <= SIDE_MAX ? size.ws_col : 80,
        .rows = size.ws_row && size.ws_row <= SIDE_MAX ? size.ws_row : 24,
        .cell_width = 8,
        .cell_height = 16,
    };
    if (size.ws_xpixel >= s->columns && size.ws_ypixel >= s->rows) {
        s->cell_width = cell(size.ws_xpixel / s->columns);
        s->cell_height = cell(size.ws_ypixel / s->rows);
    }
    s->rows -= s->rows > 1;
}

/* ---- asking ---- */

/* A query of one pixel that shows nothing, and one that every terminal answers: what does
 * not know the first passes over it, and the answer to the second is the end. */
#define QUERY "\033_Gi=31,s=1,v=1,a=q,t=d,f=24;AAAA\033\\\033[c"

static void keep(struct cli_answers *a, const char *data, size_t len)
{
    size_t room = sizeof a->rest - a->n_rest;
    memcpy(a->rest + a->n_rest, data, len < room ? len : room);
    a->n_rest += len < room ? len : room;
}

/* `ESC [ ? CLASS ; ATTRIBUTE ; .. c`, with 4 for sixel. */
static void take_attributes(struct cli_answers *a)
{
    const char *p = a->sequence + 3, *end = a->sequence + a->len - 1;

    a->done = true;
    while (p < end && (p = memchr(p, ';', (size_t)(end - p)))) {
        p++;
        size_t n = 0;
        while (p + n < end && p[n] != ';')
            n++;
        a->sixel = a->sixel || (n == 1 && *p == '4');
    }
}

/* May `c` be the next byte of `ESC _ G .. ESC \` or of the attributes? */
static bool fits(const struct cli_answers *a, char c)
{
    bool is_graphics = a->len > 1 && a->sequence[1] == '_';

    if (a->len == sizeof a->sequence)
        return false;
    if (a->len == 1)
        return c == '_' || c == '[';
    if (a->len == 2)
        return c == (is_graphics ? 'G' : '?');
    return is_graphics || c == ';' || c == 'c' || (c >= '0' && c <= '9');
}

static void take_byte(struct cli_answers *a, char c)
{
    a->sequence[a->len++] = c;
    if (a->len > 2 && a->sequence[1] == '[' && c == 'c') {
        take_attributes(a);
        a->len = 0;
    } else if (a->len > 4 && c == '\\' && a->sequence[a->len - 2] == '\033') {
        a->kitty = a->kitty || memmem(a->sequence, a->len, "i=31", 4) != NULL;
        a->len = 0;
    }
}

void cli_answers_feed(struct cli_answers *a, const char *data, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        bool begun = a->len && fits(a, data[i]);
        if (!begun) {
            keep(a, a->sequence, a->len); /* it was no answer */
            a->len = 0;
        }
        if (begun || data[i] == '\033')
            take_byte(a, data[i]);
        else
            keep(a, &data[i], 1);
    }
}

/* One terminal for both, which is ours to use, and can do more than text. */
static bool can_ask(void)
{
    struct stat in, out;
    int typed = 0;

    return isatty(STDIN_FILENO) && isatty(STDOUT_FILENO) &&
           fstat(STDIN_FILENO, &in) == 0 && fstat(STDOUT_FILENO, &out) == 0 &&
           in.st_rdev == out.st_rdev && tcgetpgrp(STDIN_FILENO) == getpgrp() &&
           getenv("TERM") && !is_env("TERM", "dumb") && !is_env("TERM", "linux") &&
           ioctl(STDIN_FILENO, FIONREAD, &typed) == 0 && !typed;
}

static void read_answers(struct cli_answers *a)
{
    struct pollfd p = {.fd = STDIN_FILENO, .events = POLLIN};
    uint64_t until = cli_now() + ANSWER_MS;
    char data[256];

    while (!a->done) {
        uint64_t now = cli_now();
        if (now >= until || (poll(&p, 1, (int)(until - now)) < 0 && errno != EINTR))
            return;
        if (!p.revents)
            continue;
        ssize_t n = read(STDIN_FILENO, data, sizeof data);
        if (n == 0 || (n < 0 && errno != EINTR && errno != EAGAIN))
            return;
        cli_answers_feed(a, data, n > 0 ? (size_t)n : 0);
    }
}

/* Keys that the terminal would have made signals of were only read. */
static int signal_of(const struct termios *t, char c)
{
    static const struct {
        int key, number;
    } keys[] = {{VINTR, SIGINT}, {VQUIT, SIGQUIT}, {VSUSP, SIGTSTP}};

    for (size_t i = 0; i < MP_COUNT(keys); i++)
        if (t->c_lflag & ISIG && t->c_cc[keys[i].key] != _POSIX_VDISABLE &&
            t->c_cc[keys[i].key] == (cc_t)c)
            return keys[i].number;
    return 0;
}

static void give_back(const struct cli_answers *a, const struct termios *t)
{
    for (size_t i = 0; i < a->n_rest; i++)
        if (!signal_of(t, a->rest[i]))
            ioctl(STDIN_FILENO, TIOCSTI, &a->rest[i]);
}

static void send_signals(const struct cli_answers *a, const struct termios *t)
{
    for (size_t i = 0; i < a->n_rest; i++)
        if (signal_of(t, a->rest[i]))
            kill(0, signal_of(t, a->rest[i]));
}

/* A terminal that was stopped takes nothing; what was typed of a line is seen only now.
 */
static bool send_query(void)
{
    struct pollfd p = {.fd = STDOUT_FILENO, .events = POLLOUT};
    int typed = 0;

    return ioctl(STDIN_FILENO, FIONREAD, &typed) == 0 && !typed && poll(&p, 1, 0) == 1 &&
           p.revents == POLLOUT &&
           write(STDOUT_FILENO, QUERY, sizeof QUERY - 1) == sizeof QUERY - 1;
}

/* Signals wait until the terminal is as it was. Without echo and lines, answers are read
 * as they come and are not seen. */
void cli_screen_ask(struct cli_screen *s)
{
    static const int blocked[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP};
    struct cli_answers a = {0};
    struct termios before, raw;
    sigset_t set, old;

    if (strcmp(s->format, "symbols") != 0 || !can_ask() ||
        tcgetattr(STDIN_FILENO, &before) != 0)
        return;
    sigemptyset(&set);
    for (size_t i = 0; i < MP_COUNT(blocked); i++)
        sigaddset(&set, blocked[i]);
    pthread_sigmask(SIG_BLOCK, &set, &old);
    raw = before;
    raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO | ISIG);
    raw.c_cc[VMIN] = 0;
    raw.c_cc[VTIME] = 0;
    if (tcsetattr(STDIN_FILENO, TCSANOW, &raw) == 0) {
        if (send_query())
            read_answers(&a);
        keep(&a, a.sequence, a.len);
        give_back(&a, &before);
        tcsetattr(STDIN_FILENO, TCSANOW, &before);
        send_signals(&a, &before);
    }
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (a.kitty || a.sixel)
        s->format = a.kitty ? "kitty" : "sixel";
}

/* ---- settings ---- */

static bool set_number(uint32_t *out, const char *value)
{
    char *end;
    unsigned long n = strtoul(value, &end, 10);

    if (value[0] < '0' || value[0] > '9' || *end || n < 1 || n > UINT16_MAX)
        return false;
    *out = (uint32_t)n;
    return true;
}

static bool set_word(const char **out, const char *value, const char *const *words,
                     size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(words[i], value) == 0) {
            *out = words[i];
            return true;
        }
    return false;
}

bool cli_screen_set(struct cli_screen *s, const char *name, const char *value)
{
    static const char *const formats[] = {"kitty", "iterm2", "sixel", "symbols"};
    static const char *const colors[] = {"true", "256", "16", "none"};

    if (strcmp(name, "format") == 0)
        return set_word(&s->format, value, formats, MP_COUNT(formats));
    if (strcmp(name, "colors") == 0)
        return set_word(&s->colors, value, colors, MP_COUNT(colors));
    return (strcmp(name, "columns") == 0 && set_number(&s->columns, value)) ||
           (strcmp(name, "rows") == 0 && set_number(&s->rows, value)) ||
           (strcmp(name, "cellWidth") == 0 && set_number(&s->cell_width, value)) ||
           (strcmp(name, "cellHeight") == 0 && set_number(&s->cell_height, value));
}

void cli_screen_settings(const struct cli_screen *s, struct mp_str *out)
{
    cli_json_member(out, "format", s->format);
    cli_json_member(out, "colors", s->colors);
    mp_str_addf(out,
                ",\"columns\":\"%u\",\"rows\":\"%u\",\"cellWidth\":\"%u\","
                "\"cellHeight\":\"%u\"",
                s->columns, s->rows, s->cell_width, s->cell_height);
}
