#include "content/summary.h"

#include "base/buf.h"
#include "base/mem.h"
#include "base/text.h"
#include "content/shape.h"
#include "json/skip.h"

enum {
    HEAD = 2048,      /* bytes of the beginning that are kept */
    BEGIN_CHARS = 80, /* of them are shown */
    COLUMNS_SHOWN = 24,
    ROWS_ALIKE = 3, /* lines with the same number of columns make a table */
};

struct mp_summary {
    uint64_t bytes, chars, lines; /* lines that have ended */
    uint64_t line, longest;       /* characters of the last line, and of the longest */
    bool json;                    /* may be JSON, or lines of it */
    bool begun;                   /* has more than white space */
    bool ended, cut;
    size_t head_len;
    char head[HEAD];
    struct mp_stream stream;
    struct mp_shape shape;
};

_Static_assert(sizeof(struct mp_summary) < 64 * 1024, "a summary is kept small");

struct mp_summary *mp_summary_new(void)
{
    struct mp_summary *s = mp_alloc(sizeof *s);

    if (!s)
        return NULL;
    s->json = true;
    mp_stream_init(&s->stream, MP_STREAM_LINES, mp_shape_event, &s->shape);
    mp_shape_init(&s->shape);
    return s;
}

void mp_summary_free(struct mp_summary *s)
{
    mp_free(s);
}

/* ---- reading ---- */

static void end_line(struct mp_summary *s)
{
    s->longest = s->line > s->longest ? s->line : s->longest;
    s->line = 0;
    s->lines++;
}

static void count(struct mp_summary *s, const char *data, size_t len)
{
    const char *p = data, *end = data + len;

    s->bytes += len;
    while (p < end) {
        const char *newline = memchr(p, '\n', (size_t)(end - p));
        size_t n = mp_shape_chars(p, (size_t)((newline ? newline : end) - p));
        s->line += n;
        s->chars += n + (newline != NULL);
        if (newline)
            end_line(s);
        p = newline ? newline + 1 : end;
    }
}

static void keep_head(struct mp_summary *s, const char *data, size_t len)
{
    size_t left = sizeof s->head - s->head_len, n = len < left ? len : left;

    memcpy(s->head + s->head_len, data, n);
    s->head_len += n;
}

/* Only arrays and objects: text may well begin with a number or a quote. */
static bool may_be_json(struct mp_summary *s, const char *data, size_t len)
{
    const unsigned char *end = (const unsigned char *)data + len;
    const unsigned char *p = mp_skip_space((const unsigned char *)data, end);

    if (s->begun || p == end)
        return true;
    s->begun = true;
    return *p == '{' || *p == '[';
}

void mp_summary_feed(struct mp_summary *s, const char *data, size_t len)
{
    if (len == 0)
        return;
    count(s, data, len);
    keep_head(s, data, len);
    s->json = s->json && may_be_json(s, data, len) &&
              mp_stream_feed(&s->stream, data, len, NULL) == MCPLUG_OK;
}

void mp_summary_end(struct mp_summary *s, bool cut)
{
    s->ended = true;
    s->cut = cut;
    if (!s->begun || (!cut && mp_stream_end(&s->stream, NULL) != MCPLUG_OK))
        s->json = false;
    mp_shape_end(&s->shape);
}

bool mp_summary_is_json(const struct mp_summary *s)
{
    return s->json && s->shape.values == 1;
}

uint64_t mp_summary_chars(const struct mp_summary *s)
{
    return s->chars;
}

/* ---- text ---- */

/* 120,000 lines */
static void add_amount(struct mp_brief *b, uint64_t n, const char *what)
{
    char digits[32];
    size_t at = sizeof digits, done = 0;
    uint64_t left = n;

    digits[--at] = '\0';
    do {
        if (done && done % 3 == 0)
            digits[--at] = ',';
        digits[--at] = (char)('0' + left % 10);
        done++;
    } while (left /= 10);
    mp_brief_add(b, digits + at);
    mp_brief_add(b, " ");
    mp_brief_add(b, what);
    mp_brief_add(b, n == 1 ? "" : "s");
}

static uint64_t all_lines(const struct mp_summary *s)
{
    return s->lines + (s->bytes && s->line);
}

static void add_lines(const struct mp_summary *s, struct mp_brief *b)
{
    mp_brief_add(b, s->cut ? "\xe2\x89\xa5 " : ""); /* ≥ */
    add_amount(b, all_lines(s), "line");
}

static void add_text(const struct mp_summary *s, struct mp_brief *b)
{
    bool binary = memchr(s->head, '\0', s->head_len);
    uint64_t longest = s->line > s->longest ? s->line : s->longest;

    if (s->bytes == 0) {
        mp_brief_add(b, "empty");
        return;
    }
    if (binary) {
        mp_brief_add(b, "binary data, ");
        add_amount(b, s->bytes, "byte");
    } else {
        mp_brief_add(b, "text, ");
        add_lines(s, b);
        mp_brief_add(b, ", longest ");
        add_amount(b, longest, "character");
    }
    mp_brief_add(b, ", begins ");
    mp_brief_quote(b, s->head, s->head_len, BEGIN_CHARS, s->bytes > s->head_len);
}

/* ---- tables ---- */

/* To the end of the cell at `p`; quotes may hold the separator. */
static const char *end_of_cell(const char *p, const char *end, char separator)
{
    bool quoted = false;

    for (; p < end && (quoted || *p != separator); p++)
        quoted ^= *p == '"';
    return p;
}

static unsigned cells(const char *p, const char *end, char separator)
{
    unsigned n = 1;

    while ((p = end_of_cell(p, end, separator)) < end) {
        p++;
        n++;
    }
    return n;
}

/* The next whole line of the head, without its end; NULL: there is none. */
static const char *next_line(const struct mp_summary *s, const char **rest, size_t *len)
{
    const char *line = *rest, *end = s->head + s->head_len;
    const char *newline = memchr(line, '\n', (size_t)(end - line));

    if (line == end || (!newline && (s->cut || s->bytes > s->head_len)))
        return NULL;
    *rest = newline ? newline + 1 : end;
    *len = (size_t)((newline ? newline : end) - line);
    *len -= *len && line[*len - 1] == '\r';
    return line;
}

/* How many columns every line of the head has; 0: they differ, or it has too few. */
static unsigned columns(const struct mp_summary *s, char separator)
{
    const char *rest = s->head, *line;
    unsigned n = 0, rows = 0;
    size_t len;

    while ((line = next_line(s, &rest, &len))) {
        unsigned here = cells(line, line + len, separator);
        if (here < 2 || (rows && here != n))
            return 0;
        n = here;
        rows++;
    }
    return rows >= ROWS_ALIKE ? n : 0;
}

static bool add_table(const struct mp_summary *s, struct mp_brief *b)
{
    static const char separators[] = "\t,;";
    const char *rest = s->head, *separator = separators, *line;
    unsigned n = 0, i = 0;
    size_t len;

    if (memchr(s->head, '\0', s->head_len))
        return false;
    while (*separator && !(n = columns(s, *separator)))
        separator++;
    if (!n)
        return false;
    mp_brief_add(b, *separator == '\t' ? "TSV, " : "CSV, ");
    add_lines(s, b);
    mp_brief_add(b, ", ");
    add_amount(b, n, "column");
    line = next_line(s, &rest, &len);
    for (const char *p = line; i < n && i < COLUMNS_SHOWN; i++) {
        const char *end = end_of_cell(p, line + len, *separator);
        bool quotes = end - p > 1 && *p == '"' && end[-1] == '"';
        mp_brief_add(b, i ? ", " : ": ");
        mp_brief_name(b, p + quotes, (size_t)(end - p) - 2 * quotes, false);
        p = end + 1;
    }
    if (i < n)
        mp_brief_add(b, ", \xe2\x80\xa6"); /* … */
    mp_brief_add(b, "; then ");
    line = next_line(s, &rest, &len);
    mp_brief_quote(b, line, len, BEGIN_CHARS, false);
    return !b->full;
}

/* ---- the line ---- */

bool mp_summary_add(const struct mp_summary *s, struct mp_str *out)
{
    struct mp_brief b = {.len = 0};

    if (s->json) {
        if (s->shape.values > 1) {
            mp_brief_add(&b, s->cut ? "\xe2\x89\xa5 " : ""); /* ≥ */
            mp_brief_addu(&b, s->shape.values);
            mp_brief_add(&b, s->shape.values == all_lines(s) ? " lines of JSON: "
                                                             : " JSON values: ");
        }
        mp_shape_print(&s->shape, &b);
    } else if (!add_table(s, &b)) {
        b.len = 0;
        b.full = false;
        add_text(s, &b);
    }
    return mp_str_add(out, b.text, b.len);
}
