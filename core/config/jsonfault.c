#include "config/jsonfault.h"

#include "base/error.h"
#include "base/text.h"
#include "config/jsontext.h"
#include "config/jsontoken.h"
#include "json/fault.h"

/* Where a scan stopped. `r` has read everything before. */
struct trouble {
    mp_view text;
    size_t at; /* may be moved to what people have to look at */
    struct mp_tokens r;
    struct mcplug_error *err;
};

#define wrong(t, ...) mp_fail((t)->err, MCPLUG_ECONFIG, __VA_ARGS__)

static bool has(const struct trouble *t, const char *bytes)
{
    size_t n = strlen(bytes);
    return t->text.len - t->at >= n && memcmp(t->text.data + t->at, bytes, n) == 0;
}

static size_t offset_of(const struct trouble *t, const unsigned char *p)
{
    return (size_t)(p - t->text.data);
}

static bool is_word(unsigned char c)
{
    return (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z') ||
           (c && strchr("_.+-$", c));
}

static bool is_closing(unsigned char c)
{
    return c == '}' || c == ']';
}

int mp_json_shown(const char *s, size_t len)
{
    if (len <= MP_JSON_SHOWN)
        return (int)len;
    len = MP_JSON_SHOWN;
    while (len && ((unsigned char)s[len] & 0xc0) == 0x80)
        len--;
    return (int)len;
}

static int say_word(struct trouble *t, const unsigned char *from)
{
    const unsigned char *p = from, *end = t->text.data + t->text.len;

    while (p < end && is_word(*p))
        p++;
    t->at = offset_of(t, from);
    int n = mp_json_shown((const char *)from, (size_t)(p - from));
    if ((*from | 0x20) >= 'a' && (*from | 0x20) <= 'z')
        return wrong(t, "%.*s is no JSON value; text stands in double quotes", n, from);
    return wrong(t, "%.*s is no number as JSON writes them", n, from);
}

/* Does the last token run into where the scan stopped, and makes no value? */
static bool stopped_in_word(const struct trouble *t)
{
    const struct mp_tokens *r = &t->r;

    if (r->kind != MP_WORD || offset_of(t, r->at) + r->len != t->at)
        return false;
    if (t->at < t->text.len && is_word(t->text.data[t->at]))
        return true;
    return mp_scan_text((const char *)r->at, r->len, &mp_scan_defaults, NULL, NULL) !=
           MCPLUG_OK;
}

static int say_character(struct trouble *t)
{
    const unsigned char *p = t->text.data + t->at;
    size_t n = mp_utf8_len(p, t->text.len - t->at);

    if (n == 0)
        return wrong(t, "a byte that is not UTF-8");
    if (n == 1 && (*p <= 0x20 || *p == 0x7f))
        return wrong(t, "the control character 0x%02x has no place here", *p);
    return wrong(t, "the character %.*s has no place here", (int)n, p);
}

static int say_comment(struct trouble *t)
{
    if (has(t, "/*") &&
        !memmem(t->text.data + t->at + 2, t->text.len - t->at - 2, "*/", 2))
        return wrong(t, "a comment begins here and does not end");
    return wrong(t, "comments are not part of JSON; take this one out");
}

/* A closing bracket that nothing or something else waits for. */
static int say_closing(struct trouble *t, char c)
{
    const struct mp_tokens *r = &t->r;

    if (r->depth == 0)
        return wrong(t, "'%c' closes nothing", c);
    size_t at = offset_of(t, r->open[r->depth - 1]);
    char opened = (char)t->text.data[at];
    struct mp_place where = mp_place_of(t->text, at);
    if ((opened == '{') != (c == '}'))
        return wrong(t, "'%c' does not close the '%c' of line %zu, column %zu", c, opened,
                     where.line, where.column);
    if (r->kind == ',') {
        t->at = offset_of(t, r->at);
        return wrong(t, "the comma before the closing '%c' is one too many", c);
    }
    return wrong(t, "a value is missing before '%c'", c);
}

static int say_key_wanted(struct trouble *t, unsigned char c)
{
    const unsigned char *p = t->text.data + t->at, *end = t->text.data + t->text.len;
    const unsigned char *from = p;

    if (c == ',')
        return wrong(t, "a comma without a member before it");
    while (p < end && is_word(*p))
        p++;
    if (p > from)
        return wrong(t, "the key %.*s needs double quotes",
                     mp_json_shown((const char *)from, (size_t)(p - from)), from);
    if (c == ':' || c == '{' || c == '[')
        return wrong(t, "a key in double quotes is missing before '%c'", c);
    return say_character(t);
}

static int say_after_value(struct trouble *t, unsigned char c)
{
    const char *what = mp_token_in_object(&t->r) ? "member" : "value";

    if (is_word(c) && t->r.kind == MP_STRING && t->r.p == t->text.data + t->at)
        return wrong(t, "this stands outside of the quotes; is one missing before?");
    if (c == '"' || c == '{' || c == '[' || is_word(c))
        return wrong(t, "a comma is missing before this %s", what);
    if (c == ':' && !mp_token_in_object(&t->r))
        return wrong(t, "':' stands between a key and its value, in {} only");
    return say_character(t);
}

/* The scan did not want the byte at `at`. */
static int say_unexpected(struct trouble *t)
{
    const struct mp_tokens *r = &t->r;
    unsigned char c = t->text.data[t->at];

    if (has(t, "//") || has(t, "/*") || c == '#')
        return say_comment(t);
    if (stopped_in_word(t))
        return say_word(t, r->at);
    if (c == '\'' || has(t, "\xe2\x80\x98") || has(t, "\xe2\x80\x99"))
        return wrong(t, "single quotes; JSON has double quotes only");
    if (has(t, "\xe2\x80\x9c") || has(t, "\xe2\x80\x9d") || has(t, "\xe2\x80\x9e"))
        return wrong(t, "a typographic quote; JSON has the plain one only");
    if (is_closing(c))
        return say_closing(t, (char)c);
    if (r->kind == '{' || (r->kind == ',' && mp_token_in_object(r)))
        return say_key_wanted(t, c);
    if (r->kind == MP_KEY)
        return wrong(t, "a ':' is missing behind the key %.*s",
                     mp_json_shown((const char *)r->at, r->len), r->at);
    if (r->kind == ',' || r->kind == '[' || r->kind == ':' || r->kind == 0) {
        if (c == ',')
            return wrong(t, "a comma without a value before it");
        return is_word(c) ? say_word(t, t->text.data + t->at) : say_character(t);
    }
    return say_after_value(t, c);
}

/* The first bytes tell what an editor made of the file. */
static int say_beginning(struct trouble *t)
{
    if (has(t, "\xef\xbb\xbf"))
        return wrong(t, "begins with a byte order mark; save it as UTF-8 without one");
    if (has(t, "\xff\xfe") || has(t, "\xfe\xff"))
        return wrong(t, "is UTF-16; save it as UTF-8");
    return say_unexpected(t);
}

static int say_behind(struct trouble *t)
{
    unsigned char c = t->text.data[t->at];

    if (stopped_in_word(t))
        return say_word(t, t->r.at);
    if (c == '"' || c == '{' || c == '[')
        return wrong(t, "a second value; there may be one only");
    if (c == ',' || is_word(c))
        return wrong(t, "nothing may stand behind the end");
    return say_unexpected(t);
}

static int say_control(struct trouble *t)
{
    unsigned char c = t->text.data[t->at];

    if (c == '\n' || c == '\r') {
        t->at = offset_of(t, t->r.at);
        return wrong(t, "this string is not closed on its line; a line break in it is "
                        "written \\n");
    }
    if (c == '\t')
        return wrong(t, "a tab in a string; it is written \\t");
    return wrong(t, "a control character in a string; it is written \\u%04x", c);
}

static int say_escape(struct trouble *t)
{
    size_t at = t->at;

    while (t->text.data[t->at] != '\\' || t->at == at)
        t->at--;
    if (t->text.data[t->at + 1] == 'u')
        return wrong(t, "four hexadecimal digits are missing behind \\u");
    return wrong(t,
                 "this backslash begins no escape; a backslash itself is written \\\\");
}

static int say_end(struct trouble *t)
{
    const struct mp_tokens *r = &t->r;

    if (r->kind == 0)
        return wrong(t, "there is nothing in it");
    if (r->depth == 0)
        return say_word(t, r->at);
    const unsigned char *from = r->open[r->depth - 1];
    struct mp_place where = mp_place_of(t->text, offset_of(t, from));
    return wrong(t, "ends before the '%c' of line %zu, column %zu is closed", *from,
                 where.line, where.column);
}

static int say_open_string(struct trouble *t)
{
    struct mp_place where = mp_place_of(t->text, offset_of(t, t->r.at));
    return wrong(t, "ends inside the string that begins in line %zu, column %zu",
                 where.line, where.column);
}

static int say(struct trouble *t, unsigned fault)
{
    switch (fault) {
    case UTF8:
        return wrong(t, "a byte that is not UTF-8");
    case CONTROL:
        return say_control(t);
    case IN_ESCAPE:
        return say_escape(t);
    case TOO_DEEP:
        return mp_fail(t->err, MCPLUG_ETOOBIG, "more than %d brackets inside each other",
                       MP_CONFIG_DEPTH);
    case TOO_MANY:
        return mp_fail(t->err, MCPLUG_ETOOBIG, "more than %d keys and values",
                       MP_CONFIG_TOKENS);
    case BEHIND:
        return say_behind(t);
    case ENDS_IN_STRING:
        return say_open_string(t);
    case CHARACTER:
        return t->at == 0 ? say_beginning(t) : say_unexpected(t);
    default:
        return say_end(t);
    }
}

int mp_json_fault(mp_view text, unsigned fault, size_t *at, struct mcplug_error *err)
{
    struct trouble t = {.text = text, .at = *at, .err = err};

    mp_tokens_init(&t.r, text.data, t.at);
    while (mp_token_next(&t.r))
        ;
    int r = say(&t, fault);
    *at = t.at;
    return r;
}
