/* Tables as rows of cells. */
#include "html.h"

#include <string.h>

/* ---- which tables are for data ---- */

struct step {
    const GumboNode *node;
    unsigned next; /* of its children */
    size_t table;  /* it is in that one, from 1 */
};

static struct html_found *found_at(struct html_tables *t, size_t i)
{
    return i > 0 ? (struct html_found *)(void *)t->found.data + (i - 1) : NULL;
}

static bool takes_lines(GumboTag tag)
{
    return tag == GUMBO_TAG_TABLE || tag == GUMBO_TAG_PRE || tag == GUMBO_TAG_HR ||
           tag == GUMBO_TAG_BLOCKQUOTE || (tag >= GUMBO_TAG_H1 && tag <= GUMBO_TAG_H6) ||
           tag == GUMBO_TAG_TEXTAREA || tag == GUMBO_TAG_DL;
}

/* Counts an element for the table it is in; returns the one that its children are in. */
static size_t note(struct html_tables *t, const GumboNode *node, size_t table)
{
    GumboTag tag = node->v.element.tag;
    struct html_found *in = found_at(t, table);
    if (in && takes_lines(tag))
        in->layout = true;
    if (in && tag == GUMBO_TAG_TR) {
        in->rows++;
        in->last = 0;
    }
    if (in && (tag == GUMBO_TAG_TD || tag == GUMBO_TAG_TH) && ++in->last > in->columns)
        in->columns = in->last;
    if (tag != GUMBO_TAG_TABLE)
        return table;
    struct html_found found = {.node = node};
    plain_text_add(&t->found, (const char *)&found, sizeof found);
    return t->found.len / sizeof found;
}

void html_tables_find(struct html_tables *t, const GumboNode *root)
{
    struct plain_text steps = {.mem = t->found.mem, .max = SIZE_MAX / 4};
    struct step first = {.node = root};
    plain_text_add(&steps, (const char *)&first, sizeof first);
    while (steps.len > 0 && !steps.nomem && !t->found.nomem) {
        struct step *top = (struct step *)(void *)(steps.data + steps.len) - 1;
        const GumboVector *children = html_children(top->node);
        if (top->next == children->length) {
            steps.len -= sizeof *top;
            continue;
        }
        struct step step = {.node = children->data[top->next++]};
        if (step.node->type == GUMBO_NODE_ELEMENT) {
            step.table = note(t, step.node, top->table);
            plain_text_add(&steps, (const char *)&step, sizeof step);
        }
    }
    if (steps.nomem)
        t->found.nomem = true;
    plain_text_clear(&steps);
}

bool html_tables_is_data(struct html_tables *t, const GumboNode *table)
{
    struct html_found *found;
    do {
        if (t->next == t->found.len / sizeof *found)
            return false;
        found = found_at(t, ++t->next);
    } while (found->node != table);
    return !found->layout && found->rows > 1 && found->columns > 1 &&
           found->columns <= HTML_COLUMNS_MAX;
}

/* ---- one of them ---- */

struct cell {
    size_t at, len;
    size_t row; /* from 1 */
};

/* As a terminal shows them, about: twice the width from the scripts of East Asia on. */
static unsigned width(const char *s, size_t len)
{
    unsigned n = 0;
    for (size_t i = 0; i < len; i++) {
        unsigned char c = (unsigned char)s[i],
                      next = i + 1 < len ? (unsigned char)s[i + 1] : 0;
        if ((c & 0xc0) == 0x80)
            continue;
        bool wide =
            c >= 0xe3 || (c == 0xe2 && next >= 0xba) || (c == 0xe1 && next == 0x84);
        n += wide && !(c == 0xef && next == 0xbf) ? 2 : 1;
    }
    return n;
}

static const char *text_at(const struct html_table *t, size_t at)
{
    return t->text.data ? t->text.data + at : "";
}

static void add(struct html_table *t, const char *text, size_t len)
{
    if (t->column == HTML_COLUMNS_MAX)
        return;
    struct cell cell = {.at = t->text.len, .row = t->n_rows};
    for (size_t i = 0; i < len; i++) {
        if (text[i] == '|')
            plain_text_add(&t->text, "\\", 1);
        plain_text_add(&t->text, text + i, 1);
    }
    cell.len = t->text.len - cell.at;
    plain_text_add(&t->cells, (const char *)&cell, sizeof cell);
    unsigned w = width(text_at(t, cell.at), cell.len);
    if (w > t->widths[t->column])
        t->widths[t->column] = w;
    if (++t->column > t->n_columns)
        t->n_columns = t->column;
}

/* Empty cells where those from above reach down to. */
static void add_below(struct html_table *t)
{
    while (t->column < HTML_COLUMNS_MAX && t->below[t->column] > 0) {
        t->below[t->column]--;
        add(t, "", 0);
    }
}

void html_table_row(struct html_table *t)
{
    add_below(t);
    t->n_rows++;
    t->column = 0;
}

void html_table_cell(struct html_table *t, const GumboNode *node, const char *text,
                     size_t len)
{
    if (t->n_rows == 0)
        html_table_row(t);
    add_below(t);
    if (t->n_rows == 1 && node->v.element.tag == GUMBO_TAG_TD)
        t->headed = false;
    long across = html_number(node, "colspan", 1, 1, HTML_COLUMNS_MAX);
    long down = html_number(node, "rowspan", 1, 1, 65534);
    for (long i = 0; i < across && t->column < HTML_COLUMNS_MAX; i++) {
        t->below[t->column] = (unsigned)down - 1;
        add(t, text, i == 0 ? len : 0);
    }
}

static void pad(struct html_flow *to, const char *with, unsigned n)
{
    while (n-- > 0)
        html_flow_append(to, with, 1);
}

/* `|---|---|`, as wide as the cells. */
static void write_rule(const struct html_table *t, struct html_flow *to, bool aligned)
{
    html_flow_break(to, 1);
    html_flow_word(to, "|", 1);
    for (unsigned i = 0; i < t->n_columns; i++) {
        pad(to, "-", aligned ? t->widths[i] + 2 : 3);
        html_flow_append(to, "|", 1);
    }
}

static void write_row(const struct html_table *t, const struct cell *cells, size_t n,
                      struct html_flow *to, bool aligned)
{
    html_flow_break(to, 1);
    html_flow_word(to, "|", 1);
    for (size_t i = 0; i < (aligned ? t->n_columns : n); i++) {
        const char *text = i < n ? text_at(t, cells[i].at) : "";
        size_t len = i < n ? cells[i].len : 0;
        html_flow_append(to, " ", 1);
        html_flow_append(to, text, len);
        if (aligned)
            pad(to, " ", t->widths[i] - width(text, len));
        html_flow_append(to, " |", 2);
    }
}

static bool is_empty(const struct cell *cells, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (cells[i].len > 0)
            return false;
    return true;
}

void html_table_write(struct html_table *t, struct html_flow *to)
{
    const struct cell *cells = (const struct cell *)(const void *)t->cells.data;
    size_t n = t->cells.len / sizeof *cells, total = 1;
    bool written = false, ruled = !t->headed;
    for (unsigned i = 0; i < t->n_columns; i++)
        total += t->widths[i] + 3;
    bool aligned = total <= HTML_ALIGNED_MAX;
    for (size_t from = 0, end; from < n && !to->out.full; from = end) {
        for (end = from; end < n && cells[end].row == cells[from].row; end++)
            ;
        if (is_empty(cells + from, end - from))
            continue;
        if (written && !ruled) {
            write_rule(t, to, aligned);
            ruled = true;
        }
        write_row(t, cells + from, end - from, to, aligned);
        written = true;
    }
    html_table_clear(t);
}

void html_table_clear(struct html_table *t)
{
    plain_text_clear(&t->text);
    plain_text_clear(&t->cells);
    struct plain_text text = t->text, none = t->cells;
    *t = (struct html_table){.text = text, .cells = none, .headed = true};
}
