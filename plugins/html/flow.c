/* Words, lines and their prefixes. */
#include "html.h"

#include <string.h>

static void add(struct html_flow *f, const char *text)
{
    plain_text_add(&f->out, text, strlen(text));
}

static void trim(struct plain_text *out)
{
    while (out->len > 0 && out->data[out->len - 1] == ' ')
        out->len--;
}

/* Ends the line, and begins another with what goes before its words. */
static void begin_line(struct html_flow *f)
{
    trim(&f->out);
    for (unsigned n = f->out.len > 0 ? f->breaks : 0; n > 0; n--) {
        add(f, "\n");
        if (n == 1)
            break;
        /* An empty line is still inside of what has begun. */
        for (unsigned i = 0; i < f->n_levels && f->levels[i].used; i++)
            add(f, f->levels[i].rest);
        trim(&f->out);
    }
    for (unsigned i = 0; i < f->n_levels; i++) {
        struct html_level *level = &f->levels[i];
        add(f, level->used ? level->rest : level->first);
        level->used = true;
    }
}

/* Whatever is due before a word. */
static void begin_word(struct html_flow *f)
{
    static const char spaces[] = "        ";
    if (!f->line_open || f->breaks > 0) {
        if (!f->inline_only)
            begin_line(f);
        else if (f->out.len > 0)
            add(f, " ");
    } else {
        plain_text_add(&f->out, spaces,
                       f->spaces < sizeof spaces - 1 ? f->spaces : sizeof spaces - 1);
    }
    f->line_open = true;
    f->breaks = f->spaces = 0;
    for (unsigned i = 0; i < f->n_marks; i++)
        add(f, f->marks[i]);
    if (f->n_marks > 0)
        f->last_mark = f->out.len;
    f->n_marks = 0;
    f->marks_written = f->marks_made;
}

void html_flow_word(struct html_flow *f, const char *text, size_t len)
{
    if (len == 0)
        return;
    begin_word(f);
    plain_text_add(&f->out, text, len);
}

void html_flow_append(struct html_flow *f, const char *text, size_t len)
{
    plain_text_add(&f->out, text, len);
}

void html_flow_break(struct html_flow *f, unsigned lines)
{
    if (f->breaks < lines)
        f->breaks = lines;
}

void html_flow_space(struct html_flow *f)
{
    if (f->line_open && f->spaces == 0)
        f->spaces = 1;
}

bool html_flow_push(struct html_flow *f, const char *first, const char *rest)
{
    if (f->n_levels == HTML_LEVELS_MAX || f->inline_only)
        return false;
    struct html_level *level = &f->levels[f->n_levels++];
    *level = (struct html_level){.used = false};
    strncpy(level->first, first, sizeof level->first - 1);
    strncpy(level->rest, rest, sizeof level->rest - 1);
    return true;
}

void html_flow_pop(struct html_flow *f)
{
    f->n_levels--;
}

uint64_t html_flow_open(struct html_flow *f, const char *mark)
{
    if (f->n_marks == HTML_MARKS_MAX)
        return 0;
    f->marks[f->n_marks++] = mark;
    return ++f->marks_made;
}

bool html_flow_close(struct html_flow *f, uint64_t mark)
{
    if (mark == 0)
        return false;
    if (mark <= f->marks_written)
        return true;
    f->n_marks--; /* those opened later are closed already */
    f->marks_made--;
    return false;
}

/* The length of what must not be shown, or is a space, at `s`; else 0. `c` gets what it
 * stands for: '\0' nothing, ' ' a space that stays, '\n', '\t'. */
static size_t special(const unsigned char *s, char *c)
{
    *c = '\0';
    if (s[0] == '\n' || s[0] == '\t' || s[0] == ' ') {
        *c = (char)s[0];
        return 1;
    }
    if (s[0] == '\r' || s[0] == '\f') {
        *c = '\n';
        return 1;
    }
    if (s[0] < 0x20 || s[0] == 0x7f)
        return 1;
    if (s[0] == 0xc2 && s[1] >= 0x80 && s[1] < 0xa0)
        return 2; /* C1 */
    if (s[0] == 0xc2 && s[1] == 0xad)
        return 2; /* soft hyphen */
    if (s[0] == 0xc2 && s[1] == 0xa0) {
        *c = 'n';
        return 2;
    }
    return 0;
}

static void put_special(struct html_flow *f, char c, bool preformatted)
{
    switch (c) {
    case 'n':
        if (preformatted || f->line_open)
            f->spaces++;
        break;
    case '\n':
        if (preformatted && !f->inline_only) {
            f->breaks++;
            f->spaces = 0;
            break;
        }
        html_flow_space(f);
        break;
    case ' ':
    case '\t':
        if (!preformatted)
            html_flow_space(f);
        break;
    default:
        break;
    }
}

/* Indentation is part of what is preformatted: a line may begin with it. */
static void put_indent(struct html_flow *f, char c)
{
    html_flow_word(f, c == '\t' ? "\t" : " ", 1);
}

void html_flow_text(struct html_flow *f, const char *text, bool preformatted)
{
    const unsigned char *s = (const unsigned char *)text, *word = s;
    while (true) {
        char c = 0;
        size_t n = *s ? special(s, &c) : 0;
        if (n == 0 && *s) {
            s++;
            continue;
        }
        html_flow_word(f, (const char *)word, (size_t)(s - word));
        if (!*s)
            break;
        if (preformatted && (c == ' ' || c == '\t' || c == 'n'))
            put_indent(f, c);
        else
            put_special(f, c, preformatted);
        word = s += n;
    }
}
