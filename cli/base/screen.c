#include "cli/base/screen.h"

#include "base/mem.h"
#include "cli/base/entries.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

#define SIDE_MAX 4096 /* columns, rows, or pixels of a cell */

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
        s->cell_width = size.ws_xpixel / s->columns;
        s->cell_height = size.ws_ypixel / s->rows;
    }
    s->rows -= s->rows > 1;
}

/* ---- settings ---- */

static bool set_number(uint32_t *out, const char *value)
{
    char *end;
    unsigned long n = strtoul(value, &end, 10);

    if (value[0] < '0' || value[0] > '9' || *end || n < 1 || n > SIDE_MAX)
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
