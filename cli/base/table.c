#include "cli/base/table.h"

#include "base/buf.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/text.h"
#include "cli/base/content.h"
#include "cli/base/message.h"
#include "cli/base/oneshot.h"

#include <stdlib.h>

#define GAP 2       /* blanks between columns */
#define NARROWEST 4 /* columns of the terminal that a column is cut to */
#define MORE "\xe2\x80\xa6"

/* ---- finding the rows ---- */

static bool is_rows(mp_view array)
{
    struct mp_walk w = mp_walk_into(array);
    mp_view row;

    if (!mp_view_is_array(array))
        return false;
    while (mp_walk_element(&w, &row))
        if (!mp_view_is_object(row))
            return false;
    return true;
}

/* The one member that is rows; one without any counts where no other has some. */
static mp_view rows_in(mp_view object, size_t *n)
{
    struct mp_walk w = mp_walk_into(object);
    mp_view key, value, rows = {0}, empty = {0};
    size_t n_empty = 0;

    *n = 0;
    while (mp_walk_member(&w, &key, &value)) {
        if (!is_rows(value))
            continue;
        if (mp_view_count(value) == 0 && n_empty++ == 0)
            empty = value;
        else if (mp_view_count(value) && (*n)++ == 0)
            rows = value;
    }
    if (*n == 0) {
        rows = empty;
        *n = n_empty;
    }
    return rows;
}

static int find_rows(struct cli_table *t, mp_view json, struct mcplug_error *err)
{
    size_t n = 0;

    if (mp_view_is_array(json) && is_rows(json)) {
        t->rows = json;
        return MCPLUG_OK;
    }
    if (mp_view_is_array(json))
        return mp_fail(err, MCPLUG_EINVAL, "an array with other values than objects");
    if (!mp_view_is_object(json))
        return mp_fail(err, MCPLUG_EINVAL, "a single JSON value");
    mp_view rows = rows_in(json, &n);
    if (n == 0)
        return mp_fail(err, MCPLUG_EINVAL, "an object without an array of objects");
    if (n > 1)
        return mp_fail(err, MCPLUG_EINVAL, "an object with %zu arrays of objects", n);
    t->rows = rows;
    return MCPLUG_OK;
}

static int find_in_text(struct cli_table *t, const struct cli_doc *doc, mp_view string,
                        struct mcplug_error *err)
{
    static const struct mp_scan_limits limits = {.depth = 64, .tokens = 1000000};

    if (string.len > CLI_LAID_OUT_MAX || cli_doc_is_spilled(doc, string))
        return mp_fail(err, MCPLUG_EINVAL, "a text of more than 16 MiB");
    mp_str_clear(&t->text);
    if (!mp_str_add_view(&t->text, string) || !t->text.len)
        return mp_fail(err, MCPLUG_EINVAL, "an empty text");
    if (mp_scan_text(t->text.data, t->text.len, &limits, NULL, NULL) != MCPLUG_OK)
        return mp_fail(err, MCPLUG_EINVAL, "text that is not JSON");
    t->doc = (struct cli_doc){.json = t->text.data, .len = t->text.len};
    return find_rows(t, mp_view_trim(cli_doc_view(&t->doc)), err);
}

int cli_table_find(struct cli_table *t, const struct cli_doc *doc, mp_view structured,
                   mp_view blocks, struct mcplug_error *err)
{
    struct mcplug_block block = {.struct_size = sizeof block};
    struct mcplug_error other = MCPLUG_ERROR_INIT;

    mp_str_init(&t->text, CLI_LAID_OUT_MAX);
    t->doc = *doc;
    t->rows = (mp_view){0};
    mp_fail(err, MCPLUG_EINVAL, "no text");
    int r = structured.len ? find_rows(t, structured, err) : MCPLUG_EINVAL;
    bool known = structured.len > 0; /* what there is, is told of the first thing */
    if (r != MCPLUG_OK && mp_view_is_string(blocks))
        return find_in_text(t, doc, blocks, known ? &other : err);
    while (r != MCPLUG_OK && mcplug_block_next(&blocks, &block)) {
        if (!block.text.len)
            continue;
        r = find_in_text(t, doc, block.text, known ? &other : err);
        known = true;
    }
    return r;
}

void cli_table_clear(struct cli_table *t)
{
    mp_str_clear(&t->text);
}

/* ---- cells ---- */

struct cell {
    bool is_json; /* white space between values is left out */
    bool in_string, is_escaped;
    struct cli_out *out;
    struct mp_str *text; /* in place of `out` */
    size_t max;          /* bytes of `text`; what is longer is cut */
    bool is_cut;         /* and was */
};

static const char *escape_of(char c)
{
    switch (c) {
    case '\t':
        return "\\t";
    case '\n':
        return "\\n";
    case '\r':
        return "\\r";
    case '\\':
        return "\\\\";
    default:
        return NULL;
    }
}

/* Does the byte belong to compact JSON? */
static bool is_kept(struct cell *c, char byte)
{
    if (!c->in_string) {
        c->in_string = byte == '"';
        return byte != ' ' && byte != '\t' && byte != '\n' && byte != '\r';
    }
    if (c->is_escaped)
        c->is_escaped = false;
    else if (byte == '\\')
        c->is_escaped = true;
    else if (byte == '"')
        c->in_string = false;
    return true;
}

/* An mcplug_write_fn, for programs. */
static int put_cell(void *arg, const char *data, size_t len)
{
    struct cell *c = arg;
    size_t from = 0;

    for (size_t i = 0; i < len; i++) {
        bool kept = !c->is_json || is_kept(c, data[i]);
        const char *escape = kept ? escape_of(data[i]) : "";
        if (!escape)
            continue;
        cli_doc_text_sink(c->out, data + from, i - from);
        cli_out_s(c->out, escape);
        from = i + 1;
    }
    cli_doc_text_sink(c->out, data + from, len - from);
    return !c->out->failed;
}

/* The same for people, who need no \\ because nothing undoes it. */
static int add_cell(void *arg, const char *data, size_t len)
{
    struct cell *c = arg;

    for (size_t i = 0; i < len && !c->is_cut; i++) {
        if (c->is_json && !is_kept(c, data[i]))
            continue;
        const char *escape = data[i] == '\\' ? NULL : escape_of(data[i]);
        c->is_cut = c->text->len + 2 > c->max;
        if (!c->is_cut)
            mp_str_add(c->text, escape ? escape : data + i, escape ? 2 : 1);
    }
    return !c->is_cut;
}

/* The text of a value for people, as much as a terminal may need of it. */
static int cell_text(const struct cli_doc *doc, mp_view value, size_t width,
                     struct mp_str *out, bool *is_cut)
{
    struct mp_str raw;
    struct cell c = {.is_json = !mp_view_is_string(value), .text = &raw};

    mp_str_reset(out);
    *is_cut = false;
    if (!value.len)
        return MCPLUG_OK;
    c.max = 4 * width + 8;
    mp_str_init(&raw, c.max);
    int r = cli_doc_write(doc, value, add_cell, &c);
    while (c.is_cut && raw.len && ((unsigned char)raw.data[raw.len - 1] & 0x80)) {
        raw.len--; /* it may be half a character */
        if ((unsigned char)raw.data[raw.len] >= 0xc0)
            break;
    }
    mp_str_add_escaped(out, raw.data ? raw.data : "", raw.len, false);
    *is_cut = c.is_cut;
    if (raw.failed || out->failed)
        r = MCPLUG_ENOMEM;
    mp_str_clear(&raw);
    return r;
}

/* ---- columns ---- */

struct column {
    mp_view key;
    size_t width; /* columns of the terminal that it is wide, or cut to */
    bool has_numbers, has_others;
};

struct layout {
    const struct cli_table *table;
    struct cli_out *out;
    size_t n, shown; /* shown: the first ones, for which there is room */
    size_t blanks;   /* due before anything else on the line */
    struct column columns[CLI_TABLE_COLUMNS];
    mp_view cells[CLI_TABLE_COLUMNS]; /* of one row */
};

/* Rows mostly have the same names in the same order: `guess` is looked at first. */
static size_t find_column(const struct layout *l, mp_view key, size_t guess)
{
    if (guess < l->n && mp_view_same(l->columns[guess].key, key))
        return guess;
    for (size_t i = 0; i < l->n; i++)
        if (mp_view_same(l->columns[i].key, key))
            return i;
    return l->n;
}

/* Of two members of a name the first one counts. */
static bool read_row(struct layout *l, mp_view row, bool adds)
{
    struct mp_walk w = mp_walk_into(row);
    mp_view key, value;
    size_t at = 0;

    memset(l->cells, 0, sizeof l->cells);
    for (; mp_walk_member(&w, &key, &value); at++) {
        at = find_column(l, key, at);
        if (at == CLI_TABLE_COLUMNS)
            return false;
        if (at == l->n && adds)
            l->columns[l->n++] = (struct column){.key = key};
        if (!l->cells[at].len)
            l->cells[at] = value;
    }
    return true;
}

static bool is_number(mp_view v)
{
    return v.len && (*v.data == '-' || (*v.data >= '0' && *v.data <= '9'));
}

static int measure(struct layout *l, size_t i, mp_view value, struct mp_str *text)
{
    bool is_cut;
    int r = cell_text(&l->table->doc, value, l->out->width, text, &is_cut);
    size_t width =
        is_cut ? l->out->width : cli_columns(text->data ? text->data : "", text->len);
    if (width > l->columns[i].width)
        l->columns[i].width = width;
    return r;
}

/* Which columns there are, and how wide they would be. */
static int survey(struct layout *l, struct mp_str *text)
{
    struct mp_walk w = mp_walk_into(l->table->rows);
    mp_view row;
    int r = MCPLUG_OK;

    while (r == MCPLUG_OK && mp_walk_element(&w, &row)) {
        if (!read_row(l, row, true))
            return MCPLUG_ETOOBIG;
        for (size_t i = 0; r == MCPLUG_OK && l->out->width && i < l->n; i++) {
            mp_view v = l->cells[i];
            if (is_number(v))
                l->columns[i].has_numbers = true;
            else if (v.len && !mp_view_is_null(v))
                l->columns[i].has_others = true;
            r = measure(l, i, v, text);
        }
    }
    for (size_t i = 0; r == MCPLUG_OK && l->out->width && i < l->n; i++)
        r = measure(l, i, l->columns[i].key, text);
    return r;
}

static size_t width_with(const struct layout *l, size_t n, size_t most)
{
    size_t width = n ? GAP * (n - 1) : 0;
    for (size_t i = 0; i < n; i++)
        width += l->columns[i].width < most ? l->columns[i].width : most;
    return width;
}

/* Wide columns are cut, all to the same width; what has no room at all is left out. */
static void fit(struct layout *l)
{
    size_t room = l->out->width, most = room;

    l->shown = l->n;
    if (!room)
        return;
    while (l->shown > 1 && width_with(l, l->shown, NARROWEST) > room)
        l->shown--;
    while (most > NARROWEST && width_with(l, l->shown, most) > room)
        most--;
    size_t taken = width_with(l, l->shown, most), left = room > taken ? room - taken : 0;
    for (size_t i = 0; i < l->shown; i++) {
        if (l->columns[i].width <= most)
            continue;
        l->columns[i].width = most + (left > 0);
        left -= left > 0;
    }
}

/* ---- lines ---- */

/* `text` is escaped. Numbers stand on the right; no line ends with blanks. */
static void put_aligned(struct layout *l, size_t i, const struct mp_str *text,
                        bool is_cut)
{
    const struct column *c = &l->columns[i];
    const char *data = text->data ? text->data : "";
    size_t len = text->len, wide = cli_columns(data, len);
    bool is_right = c->has_numbers && !c->has_others;

    is_cut = is_cut || wide > c->width;
    if (is_cut) {
        len = cli_columns_fit(data, len, c->width ? c->width - 1 : 0);
        wide = cli_columns(data, len) + 1;
    }
    size_t blanks = c->width > wide ? c->width - wide : 0;
    if (wide) {
        cli_out_spaces(l->out, l->blanks + (is_right ? blanks : 0));
        l->blanks = is_right ? GAP : blanks + GAP;
    } else {
        l->blanks += c->width + GAP;
    }
    cli_out_shown(l->out, data, len);
    if (is_cut)
        cli_out_s(l->out, MORE);
}

/* The row that is in `cells`. */
static int put_line(struct layout *l, struct mp_str *text)
{
    const struct cli_doc *doc = &l->table->doc;
    int r = MCPLUG_OK;
    bool is_cut;

    l->blanks = 0;
    for (size_t i = 0; r == MCPLUG_OK && i < l->shown; i++) {
        struct cell c = {.out = l->out, .is_json = !mp_view_is_string(l->cells[i])};
        if (l->out->width) {
            r = cell_text(doc, l->cells[i], l->out->width, text, &is_cut);
            put_aligned(l, i, text, is_cut);
            continue;
        }
        if (i)
            cli_out_s(l->out, "\t");
        if (l->cells[i].len)
            r = cli_doc_write(doc, l->cells[i], put_cell, &c);
    }
    cli_out_s(l->out, "\n");
    return r;
}

static int put_lines(struct layout *l, struct mp_str *text)
{
    struct mp_walk w = mp_walk_into(l->table->rows);
    mp_view row;

    if (l->n == 0)
        return MCPLUG_OK;
    for (size_t i = 0; i < l->n; i++)
        l->cells[i] = l->columns[i].key;
    cli_out_style(l->out, CLI_BOLD);
    int r = put_line(l, text);
    cli_out_style(l->out, CLI_PLAIN);
    while (r == MCPLUG_OK && !l->out->failed && mp_walk_element(&w, &row)) {
        read_row(l, row, false);
        r = put_line(l, text);
    }
    return r;
}

int cli_table_put(const struct cli_table *t, struct cli_out *out, size_t *n_hidden)
{
    struct layout *l = mp_alloc(sizeof *l);
    struct mp_str text;
    int r = l ? MCPLUG_OK : MCPLUG_ENOMEM;

    *n_hidden = 0;
    mp_str_init(&text, (size_t)1 << 21);
    if (l) {
        memset(l, 0, sizeof *l);
        l->table = t;
        l->out = out;
        r = survey(l, &text);
    }
    if (r == MCPLUG_OK) {
        fit(l);
        *n_hidden = l->n - l->shown;
        r = put_lines(l, &text);
    }
    mp_str_clear(&text);
    mp_free(l);
    return r;
}

/* ---- the option ---- */

struct saving {
    const struct cli_table *table;
    size_t n_hidden;
    int r;
};

static int write_table(void *arg, struct cli_out *out)
{
    struct saving *s = arg;
    s->r = cli_table_put(s->table, out, &s->n_hidden);
    return s->r;
}

static int put_result(struct cli_oneshot *link, struct cli_save *save,
                      const struct cli_table *t)
{
    struct saving s = {.table = t};
    struct cli_saved what = {"table.tsv", "text/tab-separated-values",
                             "a table of more than 256 columns", write_table, &s};
    int code = cli_save_one(save, link->cli, &what);

    cli_out_flush(&link->cli->out);
    if (s.r == MCPLUG_OK && s.n_hidden)
        cli_note("the terminal is too narrow for %zu more column%s", s.n_hidden,
                 s.n_hidden == 1 ? "" : "s");
    return code;
}

void cli_table_result(struct cli_oneshot *link, struct cli_save *save,
                      const struct cli_doc *doc, mp_view structured, mp_view blocks)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    struct cli_table t;
    int code = CLI_BAD_ARGUMENTS;

    if (cli_table_find(&t, doc, structured, blocks, &err) == MCPLUG_OK) {
        code = put_result(link, save, &t);
    } else {
        cli_error("--table expects an array of objects, and the result has %s", err.text);
        cli_hint("Without --table it is printed as it is.");
    }
    cli_table_clear(&t);
    cli_oneshot_finish(link, code);
}
