#include "cli/watch/watch.h"

#include "base/text.h"

#define TEXT_MAX ((size_t)1 << 16) /* of one text as it is shown */

struct cli_row cli_row_begin(struct cli_view *v, size_t at)
{
    mp_str_addf(&v->frame, "\033[%zu;1H", at + 1);
    return (struct cli_row){&v->frame, v->term->width, v->term->colour};
}

void cli_row_style(struct cli_row *r, enum cli_style style)
{
    static const char *const codes[] = {"\033[0m",  "\033[1m",  "\033[2m",
                                        "\033[32m", "\033[31m", "\033[33m"};
    if (r->colour)
        mp_str_adds(r->out, codes[style]);
}

void cli_row_end(struct cli_row *r)
{
    cli_row_style(r, CLI_PLAIN);
    if (r->left)
        mp_str_adds(r->out, "\033[K");
}

void cli_row_spaces(struct cli_row *r, size_t n)
{
    for (n = n < r->left ? n : r->left; n; n--, r->left--)
        mp_str_addc(r->out, ' ');
}

size_t cli_row_text(struct cli_row *r, const char *text, size_t columns)
{
    struct mp_str shown;
    size_t len = strlen(text), room = columns < r->left ? columns : r->left;

    mp_str_init(&shown, TEXT_MAX);
    mp_str_add_escaped(&shown, text, len < TEXT_MAX / 16 ? len : TEXT_MAX / 16, false);
    size_t n = shown.data ? cli_columns_fit(shown.data, shown.len, room) : 0;
    bool cut = n < shown.len && room > 2;
    if (cut)
        n = cli_columns_fit(shown.data, shown.len, room - 2);
    size_t took = shown.data ? cli_columns(shown.data, n) : 0;
    mp_str_add(r->out, shown.data ? shown.data : "", n);
    if (cut) {
        mp_str_adds(r->out, "..");
        took += 2;
    }
    r->left -= took;
    mp_str_clear(&shown);
    return took;
}

size_t cli_shown_columns(const char *text)
{
    struct mp_str shown;
    mp_str_init(&shown, TEXT_MAX);
    mp_str_add_escaped(&shown, text, strnlen(text, TEXT_MAX / 16), false);
    size_t n = shown.data ? cli_columns(shown.data, shown.len) : 0;
    mp_str_clear(&shown);
    return n;
}

/* The longest end of `text` that fits into `columns`. */
static const char *end_of(const char *text, size_t len, size_t columns)
{
    const char *end = text + len;
    while (text < end && cli_columns(text, (size_t)(end - text)) > columns)
        do
            text++;
        while (text < end && ((unsigned char)*text & 0xc0) == 0x80);
    return text;
}

void cli_row_name(struct cli_row *r, const char *text, size_t columns)
{
    struct mp_str shown;
    size_t room = columns < r->left ? columns : r->left;

    mp_str_init(&shown, TEXT_MAX);
    mp_str_add_escaped(&shown, text, strnlen(text, 256), false);
    size_t all = shown.data ? cli_columns(shown.data, shown.len) : 0;
    if (all <= room || room < 4) {
        cli_row_cell(r, text, columns);
    } else {
        size_t begin = cli_columns_fit(shown.data, shown.len, (room - 1) / 2);
        size_t took = cli_columns(shown.data, begin) + 2;
        const char *end = end_of(shown.data, shown.len, room - took);
        took += cli_columns(end, strlen(end));
        mp_str_add(r->out, shown.data, begin);
        mp_str_adds(r->out, "..");
        mp_str_adds(r->out, end);
        r->left -= took;
        cli_row_spaces(r, columns - took);
    }
    mp_str_clear(&shown);
}

void cli_row_cell(struct cli_row *r, const char *text, size_t columns)
{
    size_t took = cli_row_text(r, text, columns);
    cli_row_spaces(r, columns > took ? columns - took : 0);
}

void cli_row_number(struct cli_row *r, const char *text, size_t columns)
{
    size_t len = strlen(text);
    cli_row_spaces(r, columns > len ? columns - len : 0);
    cli_row_text(r, text, columns);
}
