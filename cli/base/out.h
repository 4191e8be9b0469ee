/* Where output goes: one buffered writer per descriptor. It knows if people look at a
 * terminal, and it is the only place from which bytes of a server reach one. */
#ifndef CLI_OUT_H
#define CLI_OUT_H

#include <mcplug/types.h>

#include <stdbool.h>

#define CLI_OUT_BUFFER 65536

struct cli_out {
    int fd;
    bool terminal;
    bool colour;
    size_t width; /* columns of the terminal; 0: no terminal, lines are never broken */
    bool closed;
    int failed; /* errno of the first write that failed; all later bytes are dropped */
    char last;  /* the last byte added; 0: none yet */
    size_t rows, column; /* of a terminal: rows that are full, and columns of the next */
    bool sent;           /* bytes have left, or may have */
    bool is_wide;        /* something long was sent: a pipe has room for more of it */
    size_t n_held;
    char held[4]; /* the beginning of a character that a piece of text ended with */
    size_t len;
    char buf[CLI_OUT_BUFFER];
};

void cli_out_init(struct cli_out *out, int fd);
/* Sends what is buffered. SIGINT and SIGTERM get through while a write blocks. */
void cli_out_flush(struct cli_out *out);
/* Takes back what was added, which the writer turned out not to be able to end. false:
 * some of it has left. */
bool cli_out_retract(struct cli_out *out);
/* Flushes, and unless it is a terminal lets go of the descriptor, so that a reader sees
 * the end and the file system its last chance to complain. Once is enough. */
void cli_out_close(struct cli_out *out);

/* ---- our own words, and bytes that must arrive as they are ---- */

void cli_out_add(struct cli_out *out, const void *data, size_t len);
void cli_out_s(struct cli_out *out, const char *text);
void cli_out_f(struct cli_out *out, const char *fmt, ...) MCPLUG_PRINTF(2, 3);
void cli_out_spaces(struct cli_out *out, size_t n);
void cli_out_fresh_line(struct cli_out *out); /* a newline unless there is one */

/* JSON, whole characters of it; stays JSON: characters that could deceive are written as
 * \\u. What others wrote and must arrive as it is, is for cli_doc_json(). */
void cli_out_json(struct cli_out *out, const char *text, size_t len);

enum cli_style {
    CLI_PLAIN,
    CLI_BOLD,
    CLI_DIM,
    CLI_GREEN,
    CLI_RED,
    CLI_YELLOW,
    CLI_CYAN,
    CLI_MAGENTA
};
void cli_out_style(struct cli_out *out, enum cli_style style);

/* The next `len` bytes of a file from `at` on, moved by the kernel, which spares most of
 * the time. Returns how many those were: fewer where the kernel or the file can't, and
 * the caller copies the rest. */
uint64_t cli_out_file(struct cli_out *out, int fd, uint64_t at, uint64_t len);

/* ---- words of others ---- */

/* One line for people: always escaped. */
void cli_out_shown(struct cli_out *out, const char *text, size_t len);
/* A piece of a result's text: escaped on a terminal but for newlines and tabs, byte
 * for byte elsewhere. A character may lie across pieces; end the last one. */
void cli_out_text(struct cli_out *out, const char *text, size_t len);
void cli_out_text_end(struct cli_out *out);
/* A paragraph for people, escaped and broken at spaces to fit the terminal; every line
 * begins with `indent` spaces, but the first one goes on at column `column` when that
 * is not 0. Ends with a newline. */
void cli_out_wrapped(struct cli_out *out, const char *text, size_t len, size_t indent,
                     size_t column);

/* Begin every line of a server's words, or a project's, inside a question, so that none
 * can pass for one of ours. With letters: a line that begins with them is not turned
 * round. */
#define CLI_SERVERS "server| "
#define CLI_FILES "file| "
struct mp_str;
/* Adds words of others to `out`: escaped, each line with that mark and a newline, broken
 * so that no terminal of `width` columns breaks one itself. An empty text adds nothing.
 */
void cli_quote(struct mp_str *out, const char *mark, const char *text, size_t len,
               size_t width);
/* One line of them, with `head` where it begins and `mark` where it goes on; a newline in
 * it is escaped. */
void cli_quote_line(struct mp_str *out, const char *head, const char *mark,
                    const char *text, size_t len, size_t width);
/* The same with one mark, written. */
void cli_out_quoted(struct cli_out *out, const char *mark, const char *text, size_t len);
/* Columns of the terminal; 80 where it does not say. */
size_t cli_width(int fd);

/* Columns that escaped text takes on a terminal. */
size_t cli_columns(const char *text, size_t len);
/* The longest beginning of `text`, in bytes, that fits into `columns`. */
size_t cli_columns_fit(const char *text, size_t len, size_t columns);

#endif
