#include "cli/base/line_edit.h"

#include "base/mem.h"
#include "base/text.h"
#include "cli/base/out.h"

#define CTRL(letter) ((letter) - '@')
#define BACKSPACE 127
#define INDENT 2     /* columns of rows behind the first */
#define TAB "    "   /* what one looks like */
#define WIDTH_MIN 16 /* what is narrower is drawn as if it were that wide */
#define SHOWN_MAX 32 /* bytes of one character that is escaped */

void cli_line_edit_init(struct cli_line_edit *e, const char *prompt)
{
    *e = (struct cli_line_edit){.prompt = prompt, .width = 80, .height = 24};
    mp_str_init(&e->line, CLI_LINE_MAX);
    mp_str_init(&e->typed, CLI_LINE_MAX);
    mp_str_init(&e->killed, CLI_LINE_MAX);
    mp_str_init(&e->own, CLI_LINE_MAX);
    mp_str_init(&e->query, CLI_LINE_MAX);
    mp_str_init(&e->before, CLI_LINE_MAX);
}

void cli_line_edit_clear(struct cli_line_edit *e)
{
    mp_str_clear(&e->line);
    mp_str_clear(&e->typed);
    mp_str_clear(&e->killed);
    mp_str_clear(&e->own);
    mp_str_clear(&e->query);
    mp_str_clear(&e->before);
    for (size_t i = 0; i < e->n_history; i++)
        mp_free(e->history[i]);
    mp_free(e->history);
    e->history = NULL;
    e->n_history = e->history_cap = 0;
}

/* ---- characters ---- */

/* What one looks like, `*columns` wide; it is `*n` bytes long. A newline is none. */
static size_t show(const char *p, size_t avail, size_t *n, char out[SHOWN_MAX],
                   size_t *columns)
{
    size_t len = mp_utf8_len((const unsigned char *)p, avail), used;

    *n = used = len ? len : 1;
    if (*p >= ' ' && *p < 127) {
        out[0] = *p;
        *columns = 1;
        return 1;
    }
    if (*p == '\t') {
        memcpy(out, TAB, sizeof TAB - 1);
        *columns = sizeof TAB - 1;
        return *columns;
    }
    size_t put = mp_escape(p, &used, false, false, out, SHOWN_MAX);
    *columns = cli_columns(out, put);
    return put;
}

static size_t columns_at(const struct cli_line_edit *e, size_t at, size_t *n)
{
    char out[SHOWN_MAX];
    size_t columns;

    show(e->line.data + at, e->line.len - at, n, out, &columns);
    return columns;
}

/* Behind the character there, and its marks. */
static size_t after(const struct cli_line_edit *e, size_t at)
{
    size_t n;

    if (at >= e->line.len)
        return e->line.len;
    columns_at(e, at, &n);
    at += n;
    while (at < e->line.len && e->line.data[at] != '\n' && columns_at(e, at, &n) == 0)
        at += n;
    return at;
}

static size_t ahead_of(const struct cli_line_edit *e, size_t at)
{
    size_t n;

    while (at > 0) {
        do
            at--;
        while (at > 0 && ((unsigned char)e->line.data[at] & 0xc0) == 0x80);
        if (e->line.data[at] == '\n' || columns_at(e, at, &n) > 0)
            break;
    }
    return at;
}

/* Letters and digits, also those beyond ASCII, are words. */
static bool is_word(const struct cli_line_edit *e, size_t at)
{
    unsigned char c = (unsigned char)e->line.data[at];

    return c >= 0x80 || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
           (c >= 'A' && c <= 'Z') || c == '_';
}

static size_t word_after(const struct cli_line_edit *e, size_t at)
{
    while (at < e->line.len && !is_word(e, at))
        at++;
    while (at < e->line.len && is_word(e, at))
        at++;
    return at;
}

static size_t word_before(const struct cli_line_edit *e, size_t at)
{
    while (at > 0 && !is_word(e, at - 1))
        at--;
    while (at > 0 && is_word(e, at - 1))
        at--;
    return at;
}

/* Ctrl+W: up to a blank. */
static size_t blank_before(const struct cli_line_edit *e, size_t at)
{
    while (at > 0 && strchr(" \t\n", e->line.data[at - 1]))
        at--;
    while (at > 0 && !strchr(" \t\n", e->line.data[at - 1]))
        at--;
    return at;
}

static size_t line_begin(const struct cli_line_edit *e, size_t at)
{
    while (at > 0 && e->line.data[at - 1] != '\n')
        at--;
    return at;
}

static size_t line_end(const struct cli_line_edit *e, size_t at)
{
    while (at < e->line.len && e->line.data[at] != '\n')
        at++;
    return at;
}

/* ---- changing ---- */

/* The longest beginning of whole characters that has at most `room` bytes. */
static size_t whole(const char *text, size_t len, size_t room)
{
    if (len <= room)
        return len;
    while (room > 0 && ((unsigned char)text[room] & 0xc0) == 0x80)
        room--;
    return room;
}

static void insert(struct cli_line_edit *e, const char *text, size_t len)
{
    struct mp_str *s = &e->line;
    size_t n = whole(text, len, CLI_LINE_MAX - s->len);

    e->rings |= n < len;
    if (!n)
        return;
    if (!mp_str_reserve(s, n)) {
        s->failed = false; /* what is there stays */
        e->rings = true;
        return;
    }
    memmove(s->data + e->at + n, s->data + e->at, s->len - e->at);
    memcpy(s->data + e->at, text, n);
    s->len += n;
    s->data[s->len] = '\0';
    e->at += n;
}

/* What was typed piece by piece is put into a long line at once. */
static void flush(struct cli_line_edit *e)
{
    if (e->typed.len)
        insert(e, e->typed.data, e->typed.len);
    e->rings |= e->typed.failed;
    mp_str_clear(&e->typed);
}

static void cut(struct cli_line_edit *e, size_t from, size_t to)
{
    struct mp_str *s = &e->line;

    if (from >= to)
        return;
    memmove(s->data + from, s->data + to, s->len - to);
    s->len -= to - from;
    s->data[s->len] = '\0';
    e->at = from;
}

static void kill_text(struct cli_line_edit *e, size_t from, size_t to)
{
    struct mp_str sum;

    if (from >= to)
        return;
    mp_str_init(&sum, CLI_LINE_MAX);
    if (e->is_killing && from >= e->at) /* forwards: behind what is there */
        mp_str_add(&sum, e->killed.data, e->killed.len);
    mp_str_add(&sum, e->line.data + from, to - from);
    if (e->is_killing && from < e->at)
        mp_str_add(&sum, e->killed.data, e->killed.len);
    if (sum.failed) {
        mp_str_clear(&sum);
        return;
    }
    mp_str_clear(&e->killed);
    e->killed = sum;
    cut(e, from, to);
    e->is_killing = true;
}

static void set_line(struct cli_line_edit *e, const char *text, size_t len)
{
    mp_str_reset(&e->line);
    e->line.failed = false;
    e->at = 0;
    insert(e, text, len);
}

void cli_line_edit_set(struct cli_line_edit *e, const char *text, size_t len)
{
    mp_str_clear(&e->typed);
    e->is_searching = e->is_killing = false;
    e->shown = e->n_history;
    set_line(e, text, len);
}

void cli_line_edit_insert(struct cli_line_edit *e, const char *text, size_t len)
{
    flush(e);
    insert(e, text, len);
}

/* ---- history ---- */

bool cli_line_edit_remember(struct cli_line_edit *e, const char *text)
{
    const char *last = e->n_history ? e->history[e->n_history - 1] : "";
    char *copy = NULL;

    if (*text && *text != ' ' && strcmp(text, last) != 0 &&
        mp_grow(&e->history, &e->history_cap, e->n_history + 1))
        copy = mp_strdup(text);
    if (copy)
        e->history[e->n_history++] = copy;
    if (e->n_history > CLI_LINE_HISTORY) {
        mp_free(e->history[0]);
        memmove(e->history, e->history + 1, --e->n_history * sizeof *e->history);
    }
    e->shown = e->n_history;
    return copy != NULL;
}

/* Shows that line of the history, or the user's own. */
static void go_to(struct cli_line_edit *e, size_t i)
{
    if (e->shown == e->n_history) {
        mp_str_clear(&e->own);
        mp_str_add(&e->own, e->line.data, e->line.len);
    }
    e->shown = i;
    if (i < e->n_history)
        set_line(e, e->history[i], strlen(e->history[i]));
    else
        set_line(e, e->own.data, e->own.len);
}

static size_t columns_between(const struct cli_line_edit *e, size_t from, size_t to)
{
    size_t columns = 0, n;

    for (; from < to; from += n)
        columns += columns_at(e, from, &n);
    return columns;
}

/* The place in the line that begins at `from` which is below or above the cursor. */
static size_t at_column(const struct cli_line_edit *e, size_t from, size_t column)
{
    size_t at = from, columns = 0, n;

    while (at < e->line.len && e->line.data[at] != '\n') {
        columns += columns_at(e, at, &n);
        if (columns > column)
            break;
        at = after(e, at);
    }
    return at;
}

/* Within a text of several lines first. */
static void go_up(struct cli_line_edit *e)
{
    size_t begin = line_begin(e, e->at);

    if (begin > 0)
        e->at = at_column(e, line_begin(e, begin - 1), columns_between(e, begin, e->at));
    else if (e->shown > 0)
        go_to(e, e->shown - 1);
}

static void go_down(struct cli_line_edit *e)
{
    size_t begin = line_begin(e, e->at), end = line_end(e, e->at);

    if (end < e->line.len)
        e->at = at_column(e, end + 1, columns_between(e, begin, e->at));
    else if (e->shown < e->n_history)
        go_to(e, e->shown + 1);
}

/* ---- searching ---- */

/* From `i` on, back in time. */
static void find(struct cli_line_edit *e, size_t i)
{
    const char *query = e->query.len ? e->query.data : "", *at;

    e->has_match = false;
    for (i++; i-- > 0 && *query;) {
        if (i >= e->n_history || !(at = strstr(e->history[i], query)))
            continue;
        e->found = i;
        e->has_match = true;
        set_line(e, e->history[i], strlen(e->history[i]));
        e->at = (size_t)(at - e->history[i]);
        return;
    }
}

static void search(struct cli_line_edit *e)
{
    mp_str_clear(&e->before);
    mp_str_add(&e->before, e->line.data, e->line.len);
    e->at_before = e->at;
    mp_str_reset(&e->query);
    e->is_searching = true;
    e->has_match = false;
    e->found = e->n_history;
}

/* What was found stays in the line. */
static void end_search(struct cli_line_edit *e)
{
    e->is_searching = false;
    if (e->found == e->n_history)
        return;
    if (e->shown == e->n_history) {
        mp_str_clear(&e->own);
        mp_str_add(&e->own, e->before.data, e->before.len);
    }
    e->shown = e->found;
}

static void give_up_search(struct cli_line_edit *e)
{
    e->is_searching = false;
    set_line(e, e->before.data, e->before.len);
    e->at = e->at_before < e->line.len ? e->at_before : e->line.len;
}

static void shorten_query(struct cli_line_edit *e)
{
    size_t n = e->query.len;

    if (!n)
        return;
    do
        n--;
    while (n > 0 && ((unsigned char)e->query.data[n] & 0xc0) == 0x80);
    e->query.len = n;
    e->query.data[n] = '\0';
    e->found = e->n_history;
    find(e, e->n_history);
}

/* true: the key was for the search. */
static bool search_key(struct cli_line_edit *e, int key)
{
    switch (key) {
    case CTRL('R'):
        if (e->found > 0)
            find(e, e->found < e->n_history ? e->found - 1 : e->n_history);
        return true;
    case BACKSPACE:
    case CTRL('H'):
        shorten_query(e);
        return true;
    case CTRL('C'):
    case CTRL('G'):
        give_up_search(e);
        return true;
    default:
        end_search(e);
        return false;
    }
}

/* ---- keys ---- */

static bool move_key(struct cli_line_edit *e, int key)
{
    switch (key) {
    case CTRL('B'):
    case CLI_KEY_LEFT:
        e->at = ahead_of(e, e->at);
        return true;
    case CTRL('F'):
    case CLI_KEY_RIGHT:
        e->at = after(e, e->at);
        return true;
    case CTRL('A'):
    case CLI_KEY_HOME:
        e->at = line_begin(e, e->at);
        return true;
    case CTRL('E'):
    case CLI_KEY_END:
        e->at = line_end(e, e->at);
        return true;
    case CLI_KEY_ALT + 'b':
    case CLI_KEY_WORD_LEFT:
        e->at = word_before(e, e->at);
        return true;
    case CLI_KEY_ALT + 'f':
    case CLI_KEY_WORD_RIGHT:
        e->at = word_after(e, e->at);
        return true;
    case CTRL('P'):
    case CLI_KEY_UP:
        go_up(e);
        return true;
    case CTRL('N'):
    case CLI_KEY_DOWN:
        go_down(e);
        return true;
    default:
        return false;
    }
}

static bool kill_key(struct cli_line_edit *e, int key)
{
    size_t end = line_end(e, e->at);

    switch (key) {
    case CTRL('U'):
        kill_text(e, line_begin(e, e->at), e->at);
        return true;
    case CTRL('K'): /* at the end of one, the next line is joined */
        kill_text(e, e->at, end == e->at ? after(e, end) : end);
        return true;
    case CTRL('W'):
        kill_text(e, blank_before(e, e->at), e->at);
        return true;
    case CLI_KEY_ALT + BACKSPACE:
        kill_text(e, word_before(e, e->at), e->at);
        return true;
    case CLI_KEY_ALT + 'd':
        kill_text(e, e->at, word_after(e, e->at));
        return true;
    default:
        return false;
    }
}

static void change_key(struct cli_line_edit *e, int key)
{
    switch (key) {
    case BACKSPACE:
    case CTRL('H'):
        cut(e, ahead_of(e, e->at), e->at);
        break;
    case CTRL('D'):
    case CLI_KEY_DELETE:
        cut(e, e->at, after(e, e->at));
        break;
    case CTRL('Y'):
        insert(e, e->killed.data, e->killed.len);
        break;
    case CLI_KEY_ALT + '\r':
    case CLI_KEY_ALT + '\n':
        insert(e, "\n", 1);
        break;
    case CTRL('L'):
        e->is_cleared = true;
        break;
    case CTRL('R'):
        search(e);
        break;
    default:
        break;
    }
}

/* A line that ends with a backslash goes on, but not one that ends with two. */
static bool goes_on(const struct cli_line_edit *e)
{
    size_t n = 0;

    while (n < e->line.len && e->line.data[e->line.len - 1 - n] == '\\')
        n++;
    return n % 2 == 1;
}

static enum cli_line_event enter(struct cli_line_edit *e)
{
    if (!goes_on(e))
        return CLI_LINE_ENTERED;
    e->line.data[e->line.len - 1] = '\n';
    e->at = e->line.len;
    return CLI_LINE_NONE;
}

static enum cli_line_event on_key(struct cli_line_edit *e, int key)
{
    flush(e);
    if (key != CTRL('C'))
        e->interrupts = 0;
    if (e->is_searching && search_key(e, key))
        return CLI_LINE_NONE;
    if (kill_key(e, key))
        return CLI_LINE_NONE;
    e->is_killing = false;
    if (move_key(e, key))
        return CLI_LINE_NONE;
    switch (key) {
    case '\r':
    case '\n': /* typed before we read keys */
        return enter(e);
    case '\t':
        return CLI_LINE_COMPLETES;
    case CTRL('Z'):
        return CLI_LINE_SUSPENDED;
    case CTRL('C'):
        if (e->line.len) {
            cli_line_edit_set(e, "", 0);
            return CLI_LINE_NONE;
        }
        e->interrupts++;
        return CLI_LINE_INTERRUPTED;
    case CTRL('D'):
        if (!e->line.len)
            return CLI_LINE_ENDED;
        break;
    default:
        break;
    }
    change_key(e, key);
    return CLI_LINE_NONE;
}

/* ---- bytes ---- */

static void add_character(struct cli_line_edit *e, const char *text, size_t len)
{
    e->interrupts = 0;
    e->is_killing = false;
    if (e->is_searching) {
        if (mp_str_add(&e->query, text, len))
            find(e, e->found);
        e->query.failed = false;
    } else if (!mp_str_add(&e->typed, text, len)) {
        flush(e);
    }
}

/* Bytes that are no UTF-8 are dropped. */
static void add_byte(struct cli_line_edit *e, unsigned char byte)
{
    size_t wants = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1;

    if (wants > 1)
        e->n_part = 0;
    if (wants == 1 && byte < 0x80) {
        e->n_part = 0;
        add_character(e, (const char *)&byte, 1);
        return;
    }
    if (wants == 1 && !e->n_part)
        return;
    e->part[e->n_part++] = byte;
    if (mp_utf8_len(e->part, e->n_part) == e->n_part)
        add_character(e, (const char *)e->part, e->n_part);
    else if (e->n_part < sizeof e->part)
        return;
    e->n_part = 0;
}

/* Newlines do not enter the line; other control characters are dropped. */
static void paste(struct cli_line_edit *e, int key)
{
    bool after_return = e->after_return;

    if (key == CLI_KEY_PASTE_ENDS)
        e->is_pasting = false;
    if (key >= CLI_KEY_ALT)
        key -= CLI_KEY_ALT;
    e->after_return = key == '\r';
    if (key == '\r' || (key == '\n' && !after_return))
        add_byte(e, '\n');
    else if (key == '\t' || (key >= ' ' && key != BACKSPACE && key < 256))
        add_byte(e, (unsigned char)key);
}

enum cli_line_event cli_line_edit_feed(struct cli_line_edit *e, unsigned char byte)
{
    int key = cli_keys_feed(&e->keys, byte, 0);

    if (key == CLI_KEY_NONE)
        return CLI_LINE_NONE;
    if (e->is_pasting) {
        paste(e, key);
        return CLI_LINE_NONE;
    }
    if (key == CLI_KEY_PASTE_BEGINS) {
        if (e->is_searching)
            end_search(e);
        e->is_pasting = true;
        e->after_return = false;
        return CLI_LINE_NONE;
    }
    if (key >= ' ' && key < 256 && key != BACKSPACE) {
        add_byte(e, (unsigned char)key);
        return CLI_LINE_NONE;
    }
    return on_key(e, key);
}

/* ---- drawing ---- */

struct drawing {
    struct mp_str *out; /* NULL: only measured */
    size_t width;       /* columns that are used: all but the last one */
    size_t from, to;    /* rows that are drawn */
    size_t row, column; /* where we are */
};

static bool is_drawn(const struct drawing *d)
{
    return d->out && d->row >= d->from && d->row < d->to;
}

static void next_row(struct drawing *d)
{
    d->row++;
    d->column = INDENT;
    if (!is_drawn(d))
        return;
    mp_str_adds(d->out, d->row > d->from ? "\r\n" : "");
    for (size_t i = 0; i < INDENT; i++)
        mp_str_addc(d->out, ' ');
}

/* `at`: the cursor, which is looked for; returns where it is in `row` and `column`. */
static void draw_text(struct drawing *d, const char *text, size_t len, size_t at,
                      size_t *row, size_t *column)
{
    char shown[SHOWN_MAX];
    size_t columns, n;

    for (size_t i = 0; i < len; i += n) {
        bool is_newline = text[i] == '\n';
        n = 1;
        size_t put =
            is_newline ? columns = 0 : show(text + i, len - i, &n, shown, &columns);
        if (!is_newline && columns && d->column + columns > d->width)
            next_row(d);
        if (i == at) {
            *row = d->row;
            *column = d->column;
        }
        if (is_newline) {
            next_row(d);
            continue;
        }
        if (is_drawn(d))
            mp_str_add(d->out, shown, put);
        d->column += columns;
    }
    if (at == len) {
        *row = d->row;
        *column = d->column;
    }
}

static void draw_all(const struct cli_line_edit *e, struct drawing *d, size_t *row,
                     size_t *column)
{
    const char *head = e->has_match || !e->query.len ? "search: " : "not found: ";
    const struct mp_str *query = &e->query;
    size_t none;

    if (!e->is_searching) {
        draw_text(d, e->prompt, strlen(e->prompt), (size_t)-1, &none, &none);
    } else {
        draw_text(d, head, strlen(head), (size_t)-1, &none, &none);
        draw_text(d, query->data, query->len, (size_t)-1, &none, &none);
        draw_text(d, " > ", 3, (size_t)-1, &none, &none);
    }
    draw_text(d, e->line.data, e->line.len, e->at, row, column);
}

void cli_line_edit_resize(struct cli_line_edit *e, size_t width, size_t height)
{
    e->width = width < WIDTH_MIN ? WIDTH_MIN : width;
    e->height = height ? height : 1;
}

void cli_line_edit_erase(struct cli_line_edit *e, struct mp_str *out)
{
    mp_str_addc(out, '\r');
    if (e->row)
        mp_str_addf(out, "\033[%zuA", e->row);
    mp_str_adds(out, "\033[J");
    e->row = e->rows = 0;
}

void cli_line_edit_draw(struct cli_line_edit *e, struct mp_str *out)
{
    struct drawing d = {.width = e->width - 1};
    size_t row = 0, column = 0;

    flush(e);
    draw_all(e, &d, &row, &column);
    size_t rows = d.row + 1, fit = e->height;
    if (e->top + fit > rows)
        e->top = rows > fit ? rows - fit : 0;
    if (row < e->top)
        e->top = row;
    if (row >= e->top + fit)
        e->top = row - fit + 1;
    if (e->is_cleared) {
        mp_str_adds(out, "\033[H\033[2J");
        e->row = 0;
    } else {
        cli_line_edit_erase(e, out);
    }
    d = (struct drawing){
        .out = out, .width = e->width - 1, .from = e->top, .to = e->top + fit};
    draw_all(e, &d, &row, &column);
    e->rows = rows - e->top < fit ? rows - e->top : fit;
    e->row = row - e->top;
    if (e->rows - 1 > e->row)
        mp_str_addf(out, "\033[%zuA", e->rows - 1 - e->row);
    mp_str_addc(out, '\r');
    if (column)
        mp_str_addf(out, "\033[%zuC", column);
    mp_str_adds(out, e->rings ? "\a" : "");
    e->rings = e->is_cleared = false;
}

void cli_line_edit_leave(struct cli_line_edit *e, struct mp_str *out)
{
    flush(e);
    if (e->is_searching)
        end_search(e);
    e->at = e->line.len;
    cli_line_edit_draw(e, out);
    mp_str_adds(out, "\r\n");
    e->row = e->rows = e->top = 0;
}
