#include "cli/base/out.h"

#include "base/buf.h"
#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/sendfile.h>
#include <unistd.h>

#define PIPE_SIZE (1 << 20)          /* for what is longer than the buffer */
#define MOVE_MAX ((uint64_t)1 << 30) /* at once, from a file */
#define TEXT_MAX ((size_t)1 << 20)   /* of one line or paragraph for people */

size_t cli_width(int fd)
{
    struct winsize size;
    return ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

void cli_out_init(struct cli_out *out, int fd)
{
    memset(out, 0, offsetof(struct cli_out, buf));
    out->fd = fd;
    out->terminal = isatty(fd);
    if (!out->terminal)
        return;

    const char *no_color = getenv("NO_COLOR"), *term = getenv("TERM");
    out->colour = !(no_color && *no_color) && term && strcmp(term, "dumb") != 0;
    out->width = cli_width(fd);
}

/* ---- bytes ---- */

/* A reader that takes its time must not make us deaf: with these two let through, a
 * write that blocks can be interrupted. */
static void open_ears(sigset_t *old)
{
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    pthread_sigmask(SIG_UNBLOCK, &set, old);
}

/* Something long follows: a pipe gets room for more of it. */
static void widen(struct cli_out *out)
{
    if (!out->is_wide)
        fcntl(out->fd, F_SETPIPE_SZ, PIPE_SIZE); /* fails if it is none, and may */
    out->is_wide = true;
}

static void wait_for_room(const struct cli_out *out)
{
    struct pollfd p = {.fd = out->fd, .events = POLLOUT};
    poll(&p, 1, 1000);
}

static void write_all(struct cli_out *out, const char *data, size_t len)
{
    sigset_t old;

    if (len > CLI_OUT_BUFFER)
        widen(out);
    if (!len || out->failed)
        return;
    out->sent = true;
    open_ears(&old);
    while (len && !out->failed) {
        ssize_t n = write(out->fd, data, len);
        if (n >= 0) {
            data += n;
            len -= (size_t)n;
        } else if (errno == EAGAIN) {
            wait_for_room(out);
        } else if (errno != EINTR) {
            out->failed = errno;
        }
    }
    pthread_sigmask(SIG_SETMASK, &old, NULL);
}

uint64_t cli_out_file(struct cli_out *out, int fd, uint64_t at, uint64_t len)
{
    off_t from = (off_t)at;
    uint64_t left = len;
    sigset_t old;
    ssize_t n = 1;

    cli_out_flush(out);
    if (len > CLI_OUT_BUFFER)
        widen(out);
    open_ears(&old);
    while (left && n != 0 && !out->failed) {
        n = sendfile(out->fd, fd, &from, left < MOVE_MAX ? left : MOVE_MAX);
        if (n > 0) {
            out->sent = true;
            left -= (uint64_t)n;
        } else if (n < 0 && errno == EAGAIN) {
            wait_for_room(out);
        } else if (n < 0 && errno == EPIPE) {
            out->failed = errno;
        } else if (n < 0 && errno != EINTR) {
            n = 0; /* whose fault it is shows when it is copied */
        }
    }
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    return len - left;
}

void cli_out_flush(struct cli_out *out)
{
    write_all(out, out->buf, out->len);
    out->len = 0;
}

bool cli_out_retract(struct cli_out *out)
{
    if (out->sent)
        return false;
    out->len = out->n_held = 0;
    out->last = 0;
    return true;
}

void cli_out_close(struct cli_out *out)
{
    if (out->closed)
        return;
    cli_out_flush(out);
    out->closed = true;
    if (out->terminal)
        return;
    if (close(out->fd) != 0 && errno != EBADF && !out->failed)
        out->failed = errno;
    if (out->fd == STDOUT_FILENO) { /* nobody else may get that number by chance */
        int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
        if (null >= 0 && null != STDOUT_FILENO) {
            dup2(null, STDOUT_FILENO);
            close(null);
        }
    }
}

/* Where the cursor is by now. What is not known to be narrow counts as wide. */
static void count_rows(struct cli_out *out, const unsigned char *p, size_t len)
{
    for (; len; p++, len--) {
        size_t wide = (*p & 0xc0) == 0x80 ? 0 : *p < 0xe1 ? 1 : 2;
        bool full = out->column + wide > out->width;
        if (*p == '\n' || full) {
            out->rows++;
            out->column = 0;
        }
        out->column = *p == '\n' || *p == '\r' ? 0 : out->column + wide;
    }
}

void cli_out_add(struct cli_out *out, const void *data, size_t len)
{
    if (len == 0)
        return;
    if (out->terminal)
        count_rows(out, data, len);
    out->last = ((const char *)data)[len - 1];
    if (len > sizeof out->buf - out->len)
        cli_out_flush(out);
    if (len > sizeof out->buf) {
        write_all(out, data, len);
        return;
    }
    memcpy(out->buf + out->len, data, len);
    out->len += len;
}

void cli_out_s(struct cli_out *out, const char *text)
{
    cli_out_add(out, text, strlen(text));
}

void cli_out_f(struct cli_out *out, const char *fmt, ...)
{
    char text[1024];
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    if (n > 0)
        cli_out_add(out, text, (size_t)n < sizeof text ? (size_t)n : sizeof text - 1);
}

void cli_out_json(struct cli_out *out, const char *text, size_t len)
{
    const unsigned char *p = (const unsigned char *)text, *end = p + len, *from = p;
    while (p < end) {
        size_t n = mp_utf8_len(p, (size_t)(end - p));
        uint32_t c = n ? mp_utf8_get(p, n) : 0;
        if (c == '\r' || (c >= 0x7f && mp_utf8_deceives(c))) {
            cli_out_add(out, from, (size_t)(p - from));
            if (c == '\r') /* between values: a string has none */
                cli_out_s(out, " ");
            else if (c > 0xffff)
                cli_out_f(out, "\\u%04x\\u%04x", 0xd800 + ((c - 0x10000) >> 10),
                          0xdc00 + ((c - 0x10000) & 0x3ff));
            else
                cli_out_f(out, "\\u%04x", c);
            from = p + n;
        }
        p += n ? n : 1;
    }
    cli_out_add(out, from, (size_t)(end - from));
}

void cli_out_spaces(struct cli_out *out, size_t n)
{
    while (n--)
        cli_out_s(out, " ");
}

void cli_out_fresh_line(struct cli_out *out)
{
    if (out->last && out->last != '\n')
        cli_out_s(out, "\n");
}

void cli_out_style(struct cli_out *out, enum cli_style style)
{
    static const char *const codes[] = {"\033[0m",  "\033[1m",  "\033[2m",  "\033[32m",
                                        "\033[31m", "\033[33m", "\033[36m", "\033[35m"};
    if (!out->colour)
        return;
    char last = out->last; /* invisible: does not count as something on the line */
    size_t rows = out->rows, column = out->column;
    cli_out_s(out, codes[style]);
    out->last = last;
    out->rows = rows;
    out->column = column;
}

/* ---- words of others ---- */

void cli_out_shown(struct cli_out *out, const char *text, size_t len)
{
    char shown[512];
    while (len) {
        size_t used = len;
        size_t put = mp_escape(text, &used, false, false, shown, sizeof shown);
        cli_out_add(out, shown, put);
        text += used;
        len -= used;
    }
}

/* Escapes as much of `text` as is whole; returns how many bytes that were. */
static size_t add_escaped(struct cli_out *out, const char *text, size_t len, bool more)
{
    char shown[4096];
    size_t done = 0;
    while (done < len) {
        size_t used = len - done;
        size_t put = mp_escape(text + done, &used, true, more, shown, sizeof shown);
        if (used == 0)
            break;
        cli_out_add(out, shown, put);
        done += used;
    }
    return done;
}

void cli_out_text(struct cli_out *out, const char *text, size_t len)
{
    if (!out->terminal) {
        cli_out_add(out, text, len);
        return;
    }
    while (out->n_held && len) {
        out->held[out->n_held++] = *text++;
        len--;
        size_t done = add_escaped(out, out->held, out->n_held, true);
        out->n_held -= done;
        memmove(out->held, out->held + done, out->n_held);
    }
    size_t done = add_escaped(out, text, len, true);
    if (done < len) { /* at most three bytes: less than a character */
        out->n_held = len - done;
        memcpy(out->held, text + done, out->n_held);
    }
}

void cli_out_text_end(struct cli_out *out)
{
    add_escaped(out, out->held, out->n_held, false);
    out->n_held = 0;
}

/* ---- columns ---- */

struct range {
    uint32_t first, last;
};

static bool is_in(uint32_t c, const struct range *ranges, size_t n)
{
    for (size_t i = 0; i < n && c >= ranges[i].first; i++)
        if (c <= ranges[i].last)
            return true;
    return false;
}

/* Good enough for breaking lines: East Asian scripts and emoji are two columns wide,
 * combining marks none. The locale's tables are not asked, it may be "C". */
static size_t columns_of(uint32_t c)
{
    static const struct range marks[] = {
        {0x300, 0x36f},   {0x483, 0x489},   {0x591, 0x5bd},   {0x5bf, 0x5bf},
        {0x5c1, 0x5c2},   {0x5c4, 0x5c5},   {0x5c7, 0x5c7},   {0x610, 0x61a},
        {0x64b, 0x65f},   {0x670, 0x670},   {0x6d6, 0x6dc},   {0x6df, 0x6e4},
        {0x6e7, 0x6e8},   {0x6ea, 0x6ed},   {0x900, 0x902},   {0x93a, 0x93a},
        {0x93c, 0x93c},   {0x941, 0x948},   {0x94d, 0x94d},   {0xe31, 0xe31},
        {0xe34, 0xe3a},   {0xe47, 0xe4e},   {0x1ab0, 0x1aff}, {0x1dc0, 0x1dff},
        {0x20d0, 0x20f0}, {0x302a, 0x302d}, {0x3099, 0x309a}, {0xfe00, 0xfe0f},
        {0xfe20, 0xfe2f}};
    static const struct range wide[] = {
        {0x1100, 0x115f},   {0x231a, 0x231b},  {0x23e9, 0x23ec}, {0x25fd, 0x25fe},
        {0x2614, 0x2615},   {0x2648, 0x2653},  {0x26a1, 0x26a1}, {0x26bd, 0x26be},
        {0x2705, 0x2705},   {0x2728, 0x2728},  {0x274c, 0x274c}, {0x2753, 0x2755},
        {0x2757, 0x2757},   {0x2b50, 0x2b50},  {0x2e80, 0xa4cf}, {0xac00, 0xd7a3},
        {0xf900, 0xfaff},   {0xfe30, 0xfe6f},  {0xff00, 0xff60}, {0xffe0, 0xffe6},
        {0x1f300, 0x1faff}, {0x20000, 0x3fffd}};

    if (c < marks[0].first)
        return 1;
    if (is_in(c, marks, sizeof marks / sizeof *marks))
        return 0;
    return is_in(c, wide, sizeof wide / sizeof *wide) ? 2 : 1;
}

size_t cli_columns_fit(const char *text, size_t len, size_t columns)
{
    const unsigned char *p = (const unsigned char *)text, *end = p + len;
    while (p < end) {
        size_t n = mp_utf8_len(p, (size_t)(end - p));
        size_t wide = n ? columns_of(mp_utf8_get(p, n)) : 1;
        if (wide > columns)
            break;
        columns -= wide;
        p += n ? n : 1;
    }
    return (size_t)(p - (const unsigned char *)text);
}

size_t cli_columns(const char *text, size_t len)
{
    const unsigned char *p = (const unsigned char *)text, *end = p + len;
    size_t columns = 0;
    while (p < end) {
        size_t n = mp_utf8_len(p, (size_t)(end - p));
        columns += n ? columns_of(mp_utf8_get(p, n)) : 1;
        p += n ? n : 1;
    }
    return columns;
}

/* The bytes of the first line of `text` that fit into `room` columns, broken at the
 * last space if there is one; `*skip` gets the spaces behind it. */
static size_t first_line(const char *text, size_t len, size_t room, size_t *skip)
{
    const char *newline = memchr(text, '\n', len);
    size_t line = newline ? (size_t)(newline - text) : len;
    size_t fits = cli_columns_fit(text, line, room);

    *skip = 0;
    if (fits == line) {
        *skip = newline != NULL;
        return line;
    }
    size_t at = fits;
    while (at > 0 && text[at] != ' ')
        at--;
    if (at == 0) /* one long word: it is not torn */
        for (at = fits; at < line && text[at] != ' '; at++)
            ;
    while (at + *skip < line && text[at + *skip] == ' ')
        ++*skip;
    if (at + *skip == line && newline)
        ++*skip;
    return at;
}

void cli_out_wrapped(struct cli_out *out, const char *text, size_t len, size_t indent,
                     size_t column)
{
    struct mp_str shown;
    mp_str_init(&shown, TEXT_MAX);
    mp_str_add_escaped(&shown, text, len, true);

    const char *rest = shown.data ? shown.data : "";
    size_t left = shown.len, width = out->width ? out->width : (size_t)-1;
    size_t at = column;
    bool first = true;
    while (left || first) {
        bool empty = left == 0 || *rest == '\n';
        if (!first || column == 0) {
            cli_out_spaces(out, empty ? 0 : indent);
            at = indent;
        }
        size_t skip = 0, room = width > at + 20 ? width - at : 20;
        size_t n = left ? first_line(rest, left, room, &skip) : 0;
        cli_out_add(out, rest, n);
        cli_out_s(out, "\n");
        rest += n + skip;
        left -= n + skip;
        first = false;
    }
    mp_str_clear(&shown);
}

/* ---- words of others inside ours ---- */

/* The bytes of `text` that no terminal shows in more than `room` columns: what is not
 * known to be narrow counts as wide, and a mark that combines as a character. At a space
 * where there is one in the second half. */
static size_t line_fit(const char *text, size_t len, size_t room)
{
    const unsigned char *p = (const unsigned char *)text;
    size_t at = 0, space = 0;

    while (at < len) {
        size_t n = mp_utf8_len(p + at, len - at); /* it is escaped, so it is UTF-8 */
        size_t wide = mp_utf8_get(p + at, n) < 0x1100 ? 1 : 2;
        if (wide > room)
            break;
        room -= wide;
        at += n;
        if (p[at - n] == ' ')
            space = at;
    }
    return at < len && space > at / 2 ? space : at;
}

/* Some terminals wrap in the last column. */
static size_t room_behind(const char *mark, size_t width)
{
    size_t taken = strlen(mark) + 1;
    return width > taken + 4 ? width - taken : 4;
}

void cli_quote_line(struct mp_str *out, const char *head, const char *mark,
                    const char *text, size_t len, size_t width)
{
    struct mp_str shown;
    const char *rest;
    size_t left;

    mp_str_init(&shown, TEXT_MAX);
    for (const char *tab; (tab = memchr(text, '\t', len));) {
        mp_str_add_escaped(&shown, text, (size_t)(tab - text), false);
        mp_str_adds(&shown, "  ");
        len -= (size_t)(tab + 1 - text);
        text = tab + 1;
    }
    mp_str_add_escaped(&shown, text, len, false);
    rest = shown.len ? shown.data : "";
    left = shown.len;
    do {
        size_t n = line_fit(rest, left, room_behind(head, width));
        mp_str_adds(out, head);
        mp_str_add(out, rest, n);
        mp_str_addc(out, '\n');
        rest += n;
        left -= n;
        head = mark;
    } while (left);
    out->failed = out->failed || shown.failed;
    mp_str_clear(&shown);
}

void cli_quote(struct mp_str *out, const char *mark, const char *text, size_t len,
               size_t width)
{
    while (len && text[len - 1] == '\n')
        len--;
    while (len) {
        const char *end = memchr(text, '\n', len);
        size_t n = end ? (size_t)(end - text) : len;
        cli_quote_line(out, mark, mark, text, n, width);
        n += end != NULL;
        text += n;
        len -= n;
    }
}

void cli_out_quoted(struct cli_out *out, const char *mark, const char *text, size_t len)
{
    struct mp_str lines;

    mp_str_init(&lines, TEXT_MAX);
    cli_quote_line(&lines, mark, mark, text, len, out->width ? out->width : TEXT_MAX);
    if (lines.failed && !out->failed)
        out->failed = ENOMEM; /* it is not shown whole */
    cli_out_add(out, lines.data, lines.len);
    mp_str_clear(&lines);
}
