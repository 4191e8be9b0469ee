/* small_screen.h - a terminal that knows what the line editor sends, and nothing else:
 * anything else is a mistake, and so is a line that the terminal would have to break. */
#ifndef TESTS_SMALL_SCREEN_H
#define TESTS_SMALL_SCREEN_H

#include "base/text.h"
#include "cli/base/out.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SCREEN_ROWS 12
#define SCREEN_COLUMNS 40

struct small_screen {
    size_t height, width, row, column;
    char cells[SCREEN_ROWS][SCREEN_COLUMNS][24]; /* "": a blank */
    size_t scrolled, bells;
    const char *wrong; /* NULL: nothing */
};

static inline void screen_erase(struct small_screen *s, size_t row, size_t column)
{
    for (; row < s->height; row++, column = 0)
        for (; column < s->width; column++)
            s->cells[row][column][0] = '\0';
}

static inline void screen_newline(struct small_screen *s)
{
    if (++s->row < s->height)
        return;
    s->row = s->height - 1;
    s->scrolled++;
    memmove(s->cells[0], s->cells[1], (s->height - 1) * sizeof *s->cells);
    screen_erase(s, s->height - 1, 0);
}

static inline const char *screen_sequence(struct small_screen *s, const char *p)
{
    char *end;
    unsigned long n = strtoul(p, &end, 10);

    if (*end == 'A' && n <= s->row && n > 0)
        s->row -= n;
    else if (*end == 'C' && s->column + n < s->width)
        s->column += n;
    else if (*end == 'J' && n == 2)
        screen_erase(s, 0, 0);
    else if (*end == 'J')
        screen_erase(s, s->row, s->column);
    else if (*end == 'H')
        s->row = s->column = 0;
    else
        s->wrong = "a sequence that it does not know, or that leaves the screen";
    return end + 1;
}

static inline void screen_put(struct small_screen *s, const char *p, size_t n)
{
    size_t wide = cli_columns(p, n), column = s->column;

    if (mp_utf8_deceives(mp_utf8_get((const unsigned char *)p, n)))
        s->wrong = "a character that controls the terminal";
    if (column + wide > s->width) {
        s->wrong = "a row that is too long";
        return;
    }
    if (!wide && column > 0) { /* a mark */
        char *cell = s->cells[s->row][column - 1];
        if (strlen(cell) + n < sizeof *s->cells[0])
            strncat(cell, p, n);
        return;
    }
    for (size_t i = 0; i < wide; i++)
        s->cells[s->row][column + i][0] = '\0';
    memcpy(s->cells[s->row][column], p, n);
    s->cells[s->row][column][n] = '\0';
    if (wide == 2)
        strcpy(s->cells[s->row][column + 1], "\1");
    s->column += wide;
}

static inline void screen_feed(struct small_screen *s, const char *data, size_t len)
{
    const char *p = data, *end = data + len;

    while (p < end && !s->wrong) {
        size_t n = mp_utf8_len((const unsigned char *)p, (size_t)(end - p));
        if (*p == '\033' && p[1] == '[') {
            p = screen_sequence(s, p + 2);
            continue;
        }
        if (!n)
            s->wrong = "bytes that are no UTF-8";
        else if (*p == '\r')
            s->column = 0;
        else if (*p == '\n')
            screen_newline(s);
        else if (*p == '\a')
            s->bells++;
        else
            screen_put(s, p, n);
        p += n;
    }
}

/* The rows, each with a `/` behind it, without blanks and empty rows at the end. */
static inline const char *screen_text(const struct small_screen *s)
{
    static char text[SCREEN_ROWS * SCREEN_COLUMNS * 24];
    size_t n = 0, used = 0;

    for (size_t row = 0; row < s->height; row++) {
        size_t begin = n, last = n;
        for (size_t i = 0; i < s->width; i++) {
            const char *cell = s->cells[row][i];
            if (*cell == '\1')
                continue;
            n += (size_t)sprintf(text + n, "%s", *cell ? cell : " ");
            if (*cell && *cell != ' ')
                last = n;
        }
        n = last;
        text[n++] = '/';
        if (last > begin)
            used = n;
    }
    text[used] = '\0';
    return text;
}

#endif
