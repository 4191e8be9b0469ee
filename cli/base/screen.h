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

/* A setting of the user. false: it is none of the above, or no value for it. */
bool cli_screen_set(struct cli_screen *s, const char *name, const char *value);
/* Adds `"format":"..", ..`, the members of a JSON object. */
void cli_screen_settings(const struct cli_screen *s, struct mp_str *out);

#endif
