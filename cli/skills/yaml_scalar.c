#include "cli/skills/yaml_scalar.h"

#include "base/error.h"
#include "base/mem.h"
#include "base/text.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

int cli_yaml_fail(struct cli_yaml_reader *r, const char *fmt, ...)
{
    char what[256];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(what, sizeof what, fmt, ap);
    va_end(ap);
    return mp_fail(r->err, MCPLUG_EPROTO, "line %zu: %s", r->line, what);
}

bool cli_yaml_is_comment(const struct cli_yaml_reader *r)
{
    return cli_yaml_peek(r, 0) == '#' &&
           (r->at == r->line_at || cli_yaml_is_blank(r->text[r->at - 1]));
}

bool cli_yaml_is_marker(const struct cli_yaml_reader *r)
{
    return r->len - r->at > 3 && r->at == r->line_at &&
           (memcmp(r->text + r->at, "---", 3) == 0 ||
            memcmp(r->text + r->at, "...", 3) == 0) &&
           cli_yaml_is_gap(cli_yaml_peek(r, 3));
}

int cli_yaml_next(struct cli_yaml_reader *r)
{
    bool is_rest = r->at > r->line_at;

    while (r->at < r->len) {
        size_t from = r->at;
        while (cli_yaml_peek(r, 0) == ' ')
            r->at++;
        size_t spaces = r->at;
        cli_yaml_skip_blanks(r);
        if (cli_yaml_is_comment(r))
            while (cli_yaml_peek(r, 0) != '\n')
                r->at++;
        if (cli_yaml_peek(r, 0) != '\n') {
            if (is_rest) {
                r->at = from;
                return cli_yaml_fail(r, "unexpected text behind a value");
            }
            if (r->at > spaces)
                return cli_yaml_fail(r, "a tab in the indentation");
            if (cli_yaml_is_marker(r))
                return cli_yaml_fail(r, "another document");
            return MCPLUG_OK;
        }
        if (r->at < r->len)
            cli_yaml_newline(r);
        is_rest = false;
    }
    return MCPLUG_OK;
}

/* ---- scalars of several lines ---- */

static void trim(struct mp_str *out, size_t from)
{
    while (out->len > from && cli_yaml_is_blank(out->data[out->len - 1]))
        out->len--;
    if (out->data)
        out->data[out->len] = '\0';
}

/* Between two lines: a space, or a newline for each empty one. */
static void fold(struct mp_str *out, size_t empty)
{
    if (!empty)
        mp_str_addc(out, ' ');
    while (empty--)
        mp_str_addc(out, '\n');
}

/* Passes the newline here, and empty lines, up to the first byte of the next line that is
 * no blank. Returns how many were empty. */
static size_t skip_lines(struct cli_yaml_reader *r)
{
    size_t n = 0;

    cli_yaml_newline(r);
    for (;;) {
        while (cli_yaml_peek(r, 0) == ' ')
            r->at++;
        size_t spaces = r->at;
        cli_yaml_skip_blanks(r);
        if (r->at >= r->len)
            return n;
        if (r->text[r->at] != '\n') {
            r->at = spaces;
            return n;
        }
        cli_yaml_newline(r);
        n++;
    }
}

/* ---- quoted ---- */

static int escape(struct cli_yaml_reader *r, struct mp_str *out);

/* A line of a quoted scalar has ended; the next one goes on. */
static int quoted_line(struct cli_yaml_reader *r, long parent, size_t kept, bool escaped,
                       struct mp_str *out)
{
    if (!escaped)
        trim(out, kept);
    size_t empty = skip_lines(r);
    if (r->at >= r->len)
        return cli_yaml_fail(r, "a quoted text does not end");
    if (cli_yaml_is_marker(r))
        return cli_yaml_fail(r, "another document");
    if (cli_yaml_column(r) <= parent)
        return cli_yaml_fail(r, "a quoted text is not indented");
    cli_yaml_skip_blanks(r);
    if (!escaped || empty)
        fold(out, empty);
    return MCPLUG_OK;
}

int cli_yaml_quoted(struct cli_yaml_reader *r, long parent, struct mp_str *out)
{
    const char quote = r->text[r->at++];
    size_t kept = out->len; /* blanks up to there stay */
    int e = MCPLUG_OK;

    while (e == MCPLUG_OK) {
        char c = cli_yaml_peek(r, 0);
        if (c == '\n') {
            e = quoted_line(r, parent, kept, false, out);
        } else if (c == quote && quote == '\'' && cli_yaml_peek(r, 1) == '\'') {
            mp_str_addc(out, '\'');
            r->at += 2;
        } else if (c == quote) {
            r->at++;
            break;
        } else if (c == '\\' && quote == '"' && cli_yaml_peek(r, 1) == '\n') {
            r->at++;
            e = quoted_line(r, parent, kept, true, out);
            kept = out->len;
        } else if (c == '\\' && quote == '"') {
            r->at++;
            e = escape(r, out);
            kept = out->len;
        } else {
            mp_str_addc(out, c);
            r->at++;
        }
    }
    return e;
}

static bool hex(struct cli_yaml_reader *r, size_t digits, uint32_t *out)
{
    uint32_t code = 0;

    for (size_t i = 0; i < digits; i++) {
        int digit = mp_hex_value(cli_yaml_peek(r, i));
        if (digit < 0)
            return false;
        code = code << 4 | (uint32_t)digit;
    }
    r->at += digits;
    *out = code;
    return true;
}

static int code_escape(struct cli_yaml_reader *r, char kind, struct mp_str *out)
{
    size_t digits = kind == 'x' ? 2 : kind == 'u' ? 4 : 8;
    uint32_t code, low;
    char utf8[4];

    if (!hex(r, digits, &code))
        return cli_yaml_fail(r, "expected %zu hexadecimal digits behind \\%c", digits,
                             kind);
    if (kind == 'u' && code >= 0xd800 && code < 0xdc00 && cli_yaml_peek(r, 0) == '\\' &&
        cli_yaml_peek(r, 1) == 'u') {
        r->at += 2;
        if (hex(r, 4, &low) && low >= 0xdc00 && low < 0xe000)
            code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
    }
    if (!code || code > 0x10ffff || (code >= 0xd800 && code < 0xe000))
        return cli_yaml_fail(r, "\\%c is followed by no character", kind);
    mp_str_add(out, utf8, mp_utf8_put(code, utf8));
    return MCPLUG_OK;
}

/* What is behind a backslash. */
static int escape(struct cli_yaml_reader *r, struct mp_str *out)
{
    static const struct {
        char c;
        const char *means;
    } short_ones[] = {
        {'a', "\a"},           {'b', "\b"},
        {'t', "\t"},           {'\t', "\t"},
        {'n', "\n"},           {'v', "\v"},
        {'f', "\f"},           {'r', "\r"},
        {'e', "\x1b"},         {' ', " "},
        {'"', "\""},           {'/', "/"},
        {'\\', "\\"},          {'N', "\xc2\x85"},
        {'_', "\xc2\xa0"},     {'L', "\xe2\x80\xa8"},
        {'P', "\xe2\x80\xa9"},
    };
    char c = cli_yaml_peek(r, 0);

    r->at++;
    if (c == 'x' || c == 'u' || c == 'U')
        return code_escape(r, c, out);
    for (size_t i = 0; i < MP_COUNT(short_ones); i++)
        if (short_ones[i].c == c) {
            mp_str_adds(out, short_ones[i].means);
            return MCPLUG_OK;
        }
    return cli_yaml_fail(r, "an escape that YAML does not have");
}

/* ---- plain ---- */

/* May a plain scalar begin here? */
static int check_begin(struct cli_yaml_reader *r, bool in_flow)
{
    char c = cli_yaml_peek(r, 0), next = cli_yaml_peek(r, 1);

    if (strchr("&*!", c))
        return cli_yaml_fail(r, "anchors, aliases and tags are not supported");
    if (strchr(",[]{}#|>'\"%@`", c))
        return cli_yaml_fail(r, "a plain text cannot begin with %c", c);
    if (strchr("-?:", c) && (cli_yaml_is_gap(next) || (in_flow && strchr(",[]{}", next))))
        return cli_yaml_fail(r, "a plain text cannot begin with %c", c);
    return MCPLUG_OK;
}

/* Adds the rest of the line, without a comment. */
static int plain_line(struct cli_yaml_reader *r, struct mp_str *out)
{
    size_t kept = out->len;

    while (cli_yaml_peek(r, 0) != '\n' && !cli_yaml_is_comment(r)) {
        if (r->text[r->at] == ':' && cli_yaml_is_gap(cli_yaml_peek(r, 1)))
            return cli_yaml_fail(r, "a key inside a plain text; quote the text");
        mp_str_addc(out, r->text[r->at++]);
    }
    trim(out, kept);
    return MCPLUG_OK;
}

int cli_yaml_plain(struct cli_yaml_reader *r, long parent, struct mp_str *out)
{
    int e = check_begin(r, false);

    if (e == MCPLUG_OK)
        e = plain_line(r, out);
    while (e == MCPLUG_OK && cli_yaml_peek(r, 0) == '\n' && r->at < r->len) {
        size_t empty = skip_lines(r);
        if (r->at >= r->len || cli_yaml_column(r) <= parent || cli_yaml_is_comment(r) ||
            cli_yaml_is_blank(r->text[r->at])) {
            r->at = r->line_at; /* the line is another value's */
            break;
        }
        fold(out, empty);
        e = plain_line(r, out);
    }
    return e == MCPLUG_OK ? cli_yaml_next(r) : e;
}

int cli_yaml_plain_in_flow(struct cli_yaml_reader *r, struct mp_str *out)
{
    size_t kept = out->len;
    int e = check_begin(r, true);

    if (e != MCPLUG_OK)
        return e;
    for (;; r->at++) {
        char c = cli_yaml_peek(r, 0), next = cli_yaml_peek(r, 1);
        if (c == '\n' || strchr(",[]{}", c) || cli_yaml_is_comment(r) ||
            (c == ':' && (cli_yaml_is_gap(next) || strchr(",[]{}", next))))
            break;
        mp_str_addc(out, c);
    }
    trim(out, kept);
    return MCPLUG_OK;
}

/* ---- block ---- */

struct block {
    bool folded;
    char chomp;  /* '-', '+' or 0 */
    long indent; /* of its lines; -1: that of the first one */
};

/* `|`, `>` and what may follow. */
static int block_header(struct cli_yaml_reader *r, long parent, struct block *b)
{
    long digit = 0;

    b->folded = r->text[r->at++] == '>';
    for (;; r->at++) {
        char c = cli_yaml_peek(r, 0);
        if ((c == '-' || c == '+') && !b->chomp)
            b->chomp = c;
        else if (c >= '1' && c <= '9' && !digit)
            digit = c - '0';
        else
            break;
    }
    b->indent = digit ? parent + digit : -1;
    cli_yaml_skip_blanks(r);
    if (cli_yaml_is_comment(r))
        r->at += strcspn(r->text + r->at, "\n");
    if (cli_yaml_peek(r, 0) != '\n')
        return cli_yaml_fail(r, "unexpected text behind %c", b->folded ? '>' : '|');
    return MCPLUG_OK;
}

/* The indentation of the first line that is not empty, which empty lines before it must
 * not exceed. */
static int find_indent(struct cli_yaml_reader *r, long parent, struct block *b)
{
    struct cli_yaml_reader look = *r;
    long longest = 0;

    while (look.at < look.len) {
        while (cli_yaml_peek(&look, 0) == ' ')
            look.at++;
        if (cli_yaml_peek(&look, 0) != '\n')
            break;
        if (cli_yaml_column(&look) > longest)
            longest = cli_yaml_column(&look);
        if (look.at < look.len)
            cli_yaml_newline(&look);
    }
    b->indent = cli_yaml_column(&look);
    if (look.at >= look.len || b->indent <= parent) /* none has text */
        b->indent = longest > parent ? longest : parent + 1;
    else if (longest > b->indent)
        return cli_yaml_fail(r, "an empty line is indented more than the text below it");
    return MCPLUG_OK;
}

/* Adds line ends before a line that has text. `more`: it begins with a blank, and those
 * between such lines stay. */
static void block_break(const struct block *b, bool any, bool was_more, bool more,
                        size_t empty, struct mp_str *out)
{
    if (any && b->folded && !more && !was_more) {
        fold(out, empty);
        return;
    }
    for (empty += any; empty; empty--)
        mp_str_addc(out, '\n');
}

int cli_yaml_block(struct cli_yaml_reader *r, long parent, struct mp_str *out)
{
    struct block b = {.chomp = 0};
    bool any = false, more = false;
    size_t empty = 0;
    int e = block_header(r, parent, &b);

    if (e != MCPLUG_OK)
        return e;
    cli_yaml_newline(r);
    if (b.indent < 0)
        e = find_indent(r, parent, &b);
    while (e == MCPLUG_OK && r->at < r->len) {
        while (cli_yaml_peek(r, 0) == ' ' && cli_yaml_column(r) < b.indent)
            r->at++;
        if (r->text[r->at] == '\n') {
            empty++;
        } else if (cli_yaml_column(r) < b.indent && r->text[r->at] == '\t') {
            return cli_yaml_fail(r, "a tab in the indentation");
        } else if (cli_yaml_column(r) < b.indent || cli_yaml_is_marker(r)) {
            r->at = r->line_at;
            break;
        } else {
            bool was_more = more;
            size_t n = strcspn(r->text + r->at, "\n");
            more = cli_yaml_is_blank(r->text[r->at]);
            block_break(&b, any, was_more, more, empty, out);
            mp_str_add(out, r->text + r->at, n);
            r->at += n;
            any = true;
            empty = 0;
        }
        cli_yaml_newline(r);
    }
    if (b.chomp != '-' && any)
        mp_str_addc(out, '\n');
    for (; b.chomp == '+' && empty; empty--)
        mp_str_addc(out, '\n');
    return e == MCPLUG_OK ? cli_yaml_next(r) : e;
}

/* ---- the core schema ---- */

static bool is_one_of(const char *text, const char *const *words)
{
    for (; *words; words++)
        if (strcmp(text, *words) == 0)
            return true;
    return false;
}

static size_t digits(const char *text)
{
    return strspn(text, "0123456789");
}

/* [-+]? ( . digits | digits [ . digits* ] ) [ e [-+]? digits ] */
static bool is_number(const char *text, bool *is_whole)
{
    const char *p = text + (*text == '-' || *text == '+');
    size_t before = digits(p), behind = 0;

    p += before;
    *is_whole = before && !*p;
    if (*p == '.') {
        behind = digits(p + 1);
        p += 1 + behind;
    }
    if (!before && !behind)
        return false;
    if (*p == 'e' || *p == 'E') {
        p += 1 + (p[1] == '-' || p[1] == '+');
        size_t n = digits(p);
        if (!n)
            return false;
        p += n;
    }
    return !*p;
}

static json_t *whole_number(const char *text, int base)
{
    errno = 0;
    long long n = strtoll(text, NULL, base);
    return errno ? NULL : json_integer(n);
}

/* NULL: it is no number. */
static json_t *number(const char *text)
{
    bool is_whole;

    if (strncmp(text, "0x", 2) == 0 && text[2] &&
        !text[2 + strspn(text + 2, "0123456789abcdefABCDEF")])
        return whole_number(text + 2, 16);
    if (strncmp(text, "0o", 2) == 0 && text[2] && !text[2 + strspn(text + 2, "01234567")])
        return whole_number(text + 2, 8);
    if (!is_number(text, &is_whole))
        return NULL;
    json_t *n = is_whole ? whole_number(text, 10) : NULL;
    return n ? n : json_real(strtod(text, NULL)); /* NULL: beyond a double */
}

int cli_yaml_resolve(struct cli_yaml_reader *r, const struct mp_str *text, json_t **out)
{
    static const char *const nulls[] = {"", "~", "null", "Null", "NULL", NULL};
    static const char *const trues[] = {"true", "True", "TRUE", NULL};
    static const char *const falses[] = {"false", "False", "FALSE", NULL};
    static const char *const beyond[] = {".inf",  ".Inf",  ".INF",  "+.inf", "+.Inf",
                                         "+.INF", "-.inf", "-.Inf", "-.INF", ".nan",
                                         ".NaN",  ".NAN",  NULL};
    const char *s = text->data ? text->data : "";
    bool is_whole;

    if (is_one_of(s, beyond))
        return cli_yaml_fail(r, "%s is not supported", s);
    if (is_one_of(s, nulls))
        *out = json_null();
    else if (is_one_of(s, trues))
        *out = json_true();
    else if (is_one_of(s, falses))
        *out = json_false();
    else if (!(*out = number(s)) && is_number(s, &is_whole))
        return cli_yaml_fail(r, "a number is too large");
    else if (!*out)
        *out = json_stringn(s, text->len);
    return *out ? MCPLUG_OK : mp_fail_nomem(r->err);
}
