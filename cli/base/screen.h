/* What a terminal can show: how large it is, and in which way it takes images. */
#ifndef CLI_SCREEN_H
#define CLI_SCREEN_H

#include "base/buf.h"
#include "cli/base/args.h"

/* Members are named as settings of the converter to text/x-terminal are. */
struct cli_screen {
    const char *format;               /* "kitty", "iterm2", "sixel" or "symbols" */
    const char *colors;               /* "true", "256", "16" or "none" */
    uint32_t columns, rows;           /* at most, of an image */
    uint32_t cell_width, cell_height; /* pixels */
};

/* As the environment and the kernel say, of the terminal at `fd`; what they do not say is
 * 80 x 24 characters of 8 x 16 pixels. An image may take all rows but one. */
void cli_screen_look(struct cli_screen *s, int fd);

/* Asks the terminal of standard input and output which images it takes, and waits for its
 * answer for 200 ms in all. Nothing is asked where they are no terminal, ours is not in
 * the foreground, something was typed already, or the environment says enough. What is
 * typed meanwhile is given back to the terminal as far as the kernel allows. Blocks. */
void cli_screen_ask(struct cli_screen *s);

/* What a terminal answers, in pieces of any length. Begins as zeros. */
struct cli_answers {
    bool kitty, sixel;
    bool done; /* the last answer was there: nothing follows */
    size_t len;
    char sequence[256]; /* that has begun */
    size_t n_rest;
    char rest[1024]; /* what was typed, and is no answer; more is dropped */
};
void cli_answers_feed(struct cli_answers *a, const char *data, size_t len);

/* A setting of the user. false: it is none of the above, or no value for it. */
bool cli_screen_set(struct cli_screen *s, const char *name, const char *value);
/* Adds `"format":"..", ..`, the members of a JSON object. */
void cli_screen_settings(const struct cli_screen *s, struct mp_str *out);

#endif
