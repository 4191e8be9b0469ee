#include "cli/import/toml_scalar.h"

#include "base/error.h"
#include "base/text.h"

#include <stdarg.h>
#include <stdio.h>

#define NUMBER_MAX 128 /* of a number or date as it is written */

/* ---- errors, line ends ---- */

int cli_toml_fail(struct cli_toml_reader *r, size_t at, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    int code = mp_failv(r->err, MCPLUG_ECONFIG, fmt, ap);
    va_end(ap);
    r->fault_at = at;
    return code;
}

int cli_toml_unexpected(struct cli_toml_reader *r, const char *wanted)
{
    int c = cli_toml_peek(r, 0);
    if (c < 0)
        return cli_toml_fail(r, r->at, "the file ends where %s should be", wanted);
    if (c == '\n' || c == '\r')
        return cli_toml_fail(r, r->at, "the line ends where %s should be", wanted);
    if (c < 0x20 || c == 0x7f)
        return cli_toml_fail(r, r->at, "a control character (0x%02x) where %s should be",
                             (unsigned)c, wanted);
    size_t n = mp_utf8_len((const unsigned char *)r->text + r->at, r->len - r->at);
    return cli_toml_fail(r, r->at, "'%.*s' where %s should be", (int)n, r->text + r->at,
                         wanted);
}

bool cli_toml_newline(struct cli_toml_reader *r)
{
    int c = cli_toml_peek(r, 0);
    if (c == '\n')
        r->at++;
    else if (c == '\r' && cli_toml_peek(r, 1) == '\n')
        r->at += 2;
    else
        return false;
    return true;
}

/* ---- strings ---- */

static int hex_digit(int c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* The digits of \u or \U; the reader is behind that letter. */
static int read_code_point(struct cli_toml_reader *r, size_t digits, struct mp_str *out)
{
    size_t at = r->at - 2;
    uint32_t code = 0;
    char utf8[4];

    for (size_t i = 0; i < digits; i++) {
        int d = hex_digit(cli_toml_peek(r, 0));
        if (d < 0)
            return cli_toml_fail(r, at, "\\%c needs %zu hexadecimal digits",
                                 digits == 4 ? 'u' : 'U', digits);
        code = code << 4 | (uint32_t)d;
        r->at++;
    }
    if (code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff))
        return cli_toml_fail(r, at, "U+%04X is not a character", (unsigned)code);
    mp_str_add(out, utf8, mp_utf8_put(code, utf8));
    return MCPLUG_OK;
}

/* A backslash at the end of a line: what follows it up to the next visible character is
 * not there. False, and nothing is read: it is no such backslash. */
static bool skip_line_end(struct cli_toml_reader *r)
{
    size_t from = r->at++;
    while (cli_toml_peek(r, 0) == ' ' || cli_toml_peek(r, 0) == '\t')
        r->at++;
    if (!cli_toml_newline(r)) {
        r->at = from;
        return false;
    }
    for (;;) {
        if (cli_toml_peek(r, 0) == ' ' || cli_toml_peek(r, 0) == '\t')
            r->at++;
        else if (!cli_toml_newline(r))
            return true;
    }
}

static int read_escape(struct cli_toml_reader *r, bool multiline, struct mp_str *out)
{
    static const char letters[] = "btnfr\"\\", means[] = "\b\t\n\f\r\"\\";

    if (multiline && skip_line_end(r))
        return MCPLUG_OK;
    int c = cli_toml_peek(r, 1);
    const char *found = c > 0 ? strchr(letters, c) : NULL;
    if (!found && c != 'u' && c != 'U')
        return cli_toml_fail(r, r->at, "unknown escape; write a backslash as \\\\");
    r->at += 2;
    if (!found)
        return read_code_point(r, c == 'u' ? 4 : 8, out);
    mp_str_addc(out, means[found - letters]);
    return MCPLUG_OK;
}

static bool is_control(int c)
{
    return (c < 0x20 && c != '\t') || c == 0x7f;
}

/* One line, without the quote it begins with. */
static int read_line_string(struct cli_toml_reader *r, char quote, size_t opened,
                            struct mp_str *out)
{
    for (;;) {
        int c = cli_toml_peek(r, 0);
        if (c < 0 || c == '\n' || (c == '\r' && cli_toml_peek(r, 1) == '\n'))
            return cli_toml_fail(r, opened, "a string that is not closed in its line");
        if (c == quote) {
            r->at++;
            return MCPLUG_OK;
        }
        if (is_control(c))
            return cli_toml_unexpected(r, "more of the string");
        if (c == '\\' && quote == '"') {
            int e = read_escape(r, false, out);
            if (e)
                return e;
            continue;
        }
        mp_str_addc(out, (char)c);
        r->at++;
    }
}

/* Three quotes end it, and up to two more before them belong to it. */
static bool closes(struct cli_toml_reader *r, char quote, struct mp_str *out)
{
    size_t n = 0;
    while (n < 5 && cli_toml_peek(r, n) == quote)
        n++;
    if (n == 0)
        return false;
    for (size_t i = 0; i < (n >= 3 ? n - 3 : n); i++)
        mp_str_addc(out, quote);
    r->at += n;
    return n >= 3;
}

static int read_lines_string(struct cli_toml_reader *r, char quote, size_t opened,
                             struct mp_str *out)
{
    cli_toml_newline(r); /* right behind the quotes it does not count */
    for (;;) {
        int c = cli_toml_peek(r, 0);
        if (c < 0)
            return cli_toml_fail(r, opened, "a string that is never closed");
        if (c == quote) {
            if (closes(r, quote, out))
                return MCPLUG_OK;
            continue;
        }
        if (cli_toml_newline(r)) {
            mp_str_addc(out, '\n');
            continue;
        }
        if (is_control(c))
            return cli_toml_unexpected(r, "more of the string");
        if (c == '\\' && quote == '"') {
            int e = read_escape(r, true, out);
            if (e)
                return e;
            continue;
        }
        mp_str_addc(out, (char)c);
        r->at++;
    }
}

int cli_toml_string(struct cli_toml_reader *r, bool lines, struct mp_str *out)
{
    size_t opened = r->at;
    int quote = cli_toml_peek(r, 0);

    if (cli_toml_peek(r, 1) == quote && cli_toml_peek(r, 2) == quote) {
        if (!lines)
            return cli_toml_fail(r, opened, "a key can't be a string of several lines");
        r->at += 3;
        return read_lines_string(r, (char)quote, opened, out);
    }
    r->at++;
    return read_line_string(r, (char)quote, opened, out);
}

static int add_string(struct cli_toml_reader *r, struct mp_str *out)
{
    struct mp_str s;
    mp_str_init(&s, r->len);
    int e = cli_toml_string(r, true, &s);
    if (!e) {
        mp_str_add_json(out, s.data ? s.data : "", s.len);
        out->failed |= s.failed;
    }
    mp_str_clear(&s);
    return e;
}

/* ---- numbers ---- */

static bool is_digit(int c)
{
    return c >= '0' && c <= '9';
}

/* Digits with single underscores between them; returns how many bytes, 0: none. What
 * counts is added to `out`. */
static size_t digits(const char *s, size_t base, struct mp_str *out)
{
    size_t n = 0;
    for (;; n++) {
        int d = hex_digit((unsigned char)s[n]);
        if (d >= 0 && (size_t)d < base)
            mp_str_addc(out, s[n]);
        else if (s[n] != '_' || n == 0 || s[n - 1] == '_')
            break;
    }
    return n > 0 && s[n - 1] == '_' ? 0 : n;
}

/* 0x.., 0o.., 0b..: as a decimal number. */
static bool add_based(const char *s, struct mp_str *scratch, struct mp_str *out)
{
    size_t base = s[1] == 'x' ? 16 : s[1] == 'o' ? 8 : 2;
    uint64_t n = 0;

    size_t len = digits(s + 2, base, scratch);
    if (len == 0 || s[2 + len] != '\0')
        return false;
    for (size_t i = 0; i < scratch->len; i++) {
        uint64_t d = (uint64_t)hex_digit((unsigned char)scratch->data[i]);
        if (n > (INT64_MAX - d) / base)
            return false;
        n = n * base + d;
    }
    return mp_str_addu(out, n);
}

/* Does the decimal text fit 64 bits? */
static bool fits(const char *text)
{
    bool minus = *text == '-';
    const char *limit = minus ? "9223372036854775808" : "9223372036854775807";
    size_t n = strlen(text + minus);
    return n < 19 || (n == 19 && strcmp(text + minus, limit) <= 0);
}

/* An integer or a float in decimal digits. JSON knows the same form, but for the plus
 * and the underscores. */
static bool add_decimal(const char *s, struct mp_str *scratch, struct mp_str *out)
{
    bool whole = true;
    size_t n;

    if (*s == '-')
        mp_str_addc(scratch, '-');
    if (*s == '-' || *s == '+')
        s++;
    if ((n = digits(s, 10, scratch)) == 0 || (n > 1 && *s == '0'))
        return false;
    s += n;
    if (*s == '.') {
        mp_str_addc(scratch, *s++);
        whole = false;
        if ((n = digits(s, 10, scratch)) == 0)
            return false;
        s += n;
    }
    if (*s == 'e' || *s == 'E') {
        mp_str_addc(scratch, *s++);
        whole = false;
        if (*s == '-' || *s == '+')
            mp_str_addc(scratch, *s++);
        if ((n = digits(s, 10, scratch)) == 0)
            return false;
        s += n;
    }
    return *s == '\0' && !scratch->failed && (!whole || fits(scratch->data)) &&
           mp_str_adds(out, scratch->data);
}

/* inf and nan have no number in JSON. */
static bool add_special(const char *s, struct mp_str *out)
{
    bool minus = *s == '-';
    if (*s == '-' || *s == '+')
        s++;
    if (strcmp(s, "inf") != 0 && strcmp(s, "nan") != 0)
        return false;
    return mp_str_addf(out, "\"%s%s\"", minus && *s == 'i' ? "-" : "", s);
}

static bool add_number(const char *s, struct mp_str *out)
{
    struct mp_str scratch;
    bool based = s[0] == '0' && (s[1] == 'x' || s[1] == 'o' || s[1] == 'b');

    mp_str_init(&scratch, NUMBER_MAX);
    bool ok = based ? add_based(s, &scratch, out) : add_decimal(s, &scratch, out);
    out->failed |= scratch.failed; /* no memory; longer than its maximum it can't be */
    mp_str_clear(&scratch);
    return ok || out->failed;
}

/* ---- dates ---- */

/* `n` digits at `*s` as a number that is at least `low` and at most `high`. */
static bool number_at(const char **s, int n, int low, int high, int *out)
{
    int value = 0;
    for (int i = 0; i < n; i++, (*s)++) {
        if (!is_digit((unsigned char)**s))
            return false;
        value = value * 10 + (**s - '0');
    }
    *out = value;
    return value >= low && value <= high;
}

static bool date_at(const char **s)
{
    static const int days[] = {31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    int y, m, d;

    if (!number_at(s, 4, 0, 9999, &y) || *(*s)++ != '-' || !number_at(s, 2, 1, 12, &m) ||
        *(*s)++ != '-' || !number_at(s, 2, 1, 31, &d))
        return false;
    bool leap = y % 4 == 0 && (y % 100 != 0 || y % 400 == 0);
    return d <= days[m - 1] && (m != 2 || d < 29 || leap);
}

static bool time_at(const char **s)
{
    int n;
    if (!number_at(s, 2, 0, 23, &n) || *(*s)++ != ':' || !number_at(s, 2, 0, 59, &n) ||
        *(*s)++ != ':' || !number_at(s, 2, 0, 60, &n))
        return false;
    if (**s != '.')
        return true;
    if (!is_digit((unsigned char)*++*s))
        return false;
    while (is_digit((unsigned char)**s))
        (*s)++;
    return true;
}

static bool offset_at(const char **s)
{
    int n;
    if (**s == 'Z' || **s == 'z') {
        (*s)++;
        return true;
    }
    if (**s != '+' && **s != '-')
        return true; /* local time */
    (*s)++;
    return number_at(s, 2, 0, 23, &n) && *(*s)++ == ':' && number_at(s, 2, 0, 59, &n);
}

static bool looks_like_date(const char *s)
{
    size_t n = strspn(s, "0123456789");
    return (n == 4 && s[4] == '-') || (n == 2 && s[2] == ':');
}

static bool is_date(const char *s)
{
    if (s[2] == ':')
        return time_at(&s) && *s == '\0';
    if (!date_at(&s))
        return false;
    if (*s == 'T' || *s == 't' || *s == ' ') {
        s++;
        return time_at(&s) && offset_at(&s) && *s == '\0';
    }
    return *s == '\0';
}

/* ---- any of them ---- */

/* Takes the word here: letters, digits and what numbers and dates have besides. */
static size_t take_word(struct cli_toml_reader *r, char word[NUMBER_MAX])
{
    size_t n = 0;
    for (;; n++) {
        int c = cli_toml_peek(r, n);
        bool space = c == ' ' && n == 10 && word[4] == '-' && word[7] == '-' &&
                     is_digit(cli_toml_peek(r, n + 1));
        if (c <= 0 || n + 1 == NUMBER_MAX ||
            !(is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
              strchr("+-_.:", c) || space))
            break;
        word[n] = (char)c;
    }
    word[n] = '\0';
    return n;
}

int cli_toml_scalar(struct cli_toml_reader *r, struct mp_str *out)
{
    char word[NUMBER_MAX];
    int c = cli_toml_peek(r, 0);

    if (c == '"' || c == '\'')
        return add_string(r, out);
    size_t n = take_word(r, word);
    if (n == 0)
        return cli_toml_unexpected(r, "a value");
    if (n + 1 == NUMBER_MAX)
        return cli_toml_fail(r, r->at, "%.40s.. is too long", word);
    if (strcmp(word, "true") == 0 || strcmp(word, "false") == 0) {
        mp_str_adds(out, word);
    } else if (looks_like_date(word)) {
        if (!is_date(word))
            return cli_toml_fail(r, r->at, "%.40s is not a date or time", word);
        mp_str_add_json(out, word, n);
    } else if (add_special(word, out)) {
        /* is there already */
    } else if (!is_digit(c) && !strchr("+-.", c)) {
        return cli_toml_fail(r, r->at, "%.40s is not a value; text needs quotes", word);
    } else if (!add_number(word, out)) {
        return cli_toml_fail(r, r->at, "%.40s is not a valid number", word);
    }
    r->at += n;
    return MCPLUG_OK;
}
