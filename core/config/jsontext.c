#include "config/jsontext.h"

#include "base/buf.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/text.h"
#include "config/jsontoken.h"
#include "json/fault.h"

#include <stdlib.h>

/* ---- places ---- */

struct mp_place mp_place_after(struct mp_place at, const unsigned char *from,
                               const unsigned char *to)
{
    for (; from < to; from++) {
        if (*from == '\n') {
            at.line++;
            at.column = 1;
        } else if ((*from & 0xc0) != 0x80) {
            at.column++;
        }
    }
    return at;
}

struct mp_place mp_place_of(mp_view text, size_t offset)
{
    struct mp_place first = {1, 1};
    offset = offset < text.len ? offset : text.len;
    return offset ? mp_place_after(first, text.data, text.data + offset) : first;
}

/* ---- why a text is no JSON, in people's words ---- */

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
        return wrong(t, "%.*s is not a JSON value; put text in double quotes", n, from);
    return wrong(t, "%.*s is not a JSON number", n, from);
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
        return wrong(t, "unexpected control character 0x%02x", *p);
    return wrong(t, "unexpected character %.*s", (int)n, p);
}

static int say_comment(struct trouble *t)
{
    if (has(t, "/*") &&
        !memmem(t->text.data + t->at + 2, t->text.len - t->at - 2, "*/", 2))
        return wrong(t, "this comment is not closed");
    return wrong(t, "JSON has no comments; remove this one");
}

/* A closing bracket that nothing or something else waits for. */
static int say_closing(struct trouble *t, char c)
{
    const struct mp_tokens *r = &t->r;

    if (r->depth == 0)
        return wrong(t, "unmatched '%c'", c);
    size_t at = offset_of(t, r->open[r->depth - 1]);
    char opened = (char)t->text.data[at];
    struct mp_place where = mp_place_of(t->text, at);
    if ((opened == '{') != (c == '}'))
        return wrong(t, "'%c' does not close the '%c' of line %zu, column %zu", c, opened,
                     where.line, where.column);
    if (r->kind == ',') {
        t->at = offset_of(t, r->at);
        return wrong(t, "trailing comma before '%c'", c);
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
        return wrong(t, "text outside of quotes; is a quote missing before it?");
    if (c == '"' || c == '{' || c == '[' || is_word(c))
        return wrong(t, "a comma is missing before this %s", what);
    if (c == ':' && !mp_token_in_object(&t->r))
        return wrong(
            t, "unexpected ':'; it is allowed only between a key and its value in {}");
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
        return wrong(t, "single quotes; JSON allows only double quotes");
    if (has(t, "\xe2\x80\x9c") || has(t, "\xe2\x80\x9d") || has(t, "\xe2\x80\x9e"))
        return wrong(t, "a typographic quote; JSON allows only the plain double quote");
    if (c == '}' || c == ']')
        return say_closing(t, (char)c);
    if (r->kind == '{' || (r->kind == ',' && mp_token_in_object(r)))
        return say_key_wanted(t, c);
    if (r->kind == MP_KEY)
        return wrong(t, "a ':' is missing after the key %.*s",
                     mp_json_shown((const char *)r->at, r->len), r->at);
    if (r->kind == ',' || r->kind == '[' || r->kind == ':' || r->kind == 0) {
        if (c == ',')
            return wrong(t, "a comma without a value before it");
        return is_word(c) ? say_word(t, t->text.data + t->at) : say_character(t);
    }
    return say_after_value(t, c);
}

static int say_behind(struct trouble *t)
{
    unsigned char c = t->text.data[t->at];

    if (stopped_in_word(t))
        return say_word(t, t->r.at);
    if (c == '"' || c == '{' || c == '[')
        return wrong(t, "a second value; only one is allowed");
    if (c == ',' || is_word(c))
        return wrong(t, "unexpected text after the end");
    return say_unexpected(t);
}

static int say_control(struct trouble *t)
{
    unsigned char c = t->text.data[t->at];

    if (c == '\n' || c == '\r') {
        t->at = offset_of(t, t->r.at);
        return wrong(t,
                     "this string is not closed on its line; write a line break as \\n");
    }
    if (c == '\t')
        return wrong(t, "a tab in a string; write it as \\t");
    return wrong(t, "a control character in a string; write it as \\u%04x", c);
}

static int say_escape(struct trouble *t)
{
    size_t at = t->at;

    while (t->text.data[t->at] != '\\' || t->at == at)
        t->at--;
    if (t->text.data[t->at + 1] == 'u')
        return wrong(t, "four hexadecimal digits are missing after \\u");
    return wrong(t, "unknown escape; write a backslash as \\\\");
}

static int say_end(struct trouble *t)
{
    const struct mp_tokens *r = &t->r;

    if (r->kind == 0)
        return wrong(t, "is empty");
    if (r->depth == 0)
        return say_word(t, r->at);
    const unsigned char *from = r->open[r->depth - 1];
    struct mp_place where = mp_place_of(t->text, offset_of(t, from));
    return wrong(t, "ends before the '%c' of line %zu, column %zu is closed", *from,
                 where.line, where.column);
}

static int say(struct trouble *t, unsigned fault)
{
    struct mp_place where;

    switch (fault) {
    case UTF8:
        return wrong(t, "a byte that is not UTF-8");
    case CONTROL:
        return say_control(t);
    case IN_ESCAPE:
        return say_escape(t);
    case TOO_DEEP:
        return mp_fail(t->err, MCPLUG_ETOOBIG, "nested more than %d levels deep",
                       MP_CONFIG_DEPTH);
    case TOO_MANY:
        return mp_fail(t->err, MCPLUG_ETOOBIG, "more than %d keys and values",
                       MP_CONFIG_TOKENS);
    case BEHIND:
        return say_behind(t);
    case ENDS_IN_STRING:
        where = mp_place_of(t->text, offset_of(t, t->r.at));
        return wrong(t, "ends inside the string that begins in line %zu, column %zu",
                     where.line, where.column);
    case CHARACTER:
        /* The first bytes tell what an editor made of the file. */
        if (t->at == 0 && has(t, "\xef\xbb\xbf"))
            return wrong(t,
                         "begins with a byte order mark; save it as UTF-8 without one");
        if (t->at == 0 && (has(t, "\xff\xfe") || has(t, "\xfe\xff")))
            return wrong(t, "is UTF-16; save it as UTF-8");
        return say_unexpected(t);
    default:
        return say_end(t);
    }
}

/* A scan of `text` stopped at byte `*at` with that fault. `*at` becomes the byte that
 * people have to look at. MCPLUG_ECONFIG or MCPLUG_ETOOBIG. */
static int tell_fault(mp_view text, unsigned fault, size_t *at, struct mcplug_error *err)
{
    struct trouble t = {.text = text, .at = *at, .err = err};

    mp_tokens_init(&t.r, text.data, t.at);
    while (mp_token_next(&t.r))
        ;
    int r = say(&t, fault);
    *at = t.at;
    return r;
}

/* ---- keys given twice ---- */

struct key {
    const unsigned char *object; /* its bracket */
    const unsigned char *at;     /* where it is written */
    const char *name;            /* unescaped */
    size_t len;
};

static int same_name(const struct key *a, const struct key *b)
{
    if (a->object != b->object)
        return a->object < b->object ? -1 : 1;
    if (a->len != b->len)
        return a->len < b->len ? -1 : 1;
    return memcmp(a->name, b->name, a->len);
}

static int by_name(const void *x, const void *y)
{
    const struct key *a = x, *b = y;
    int order = same_name(a, b);
    return order ? order : (a->at > b->at) - (a->at < b->at);
}

/* The names with escapes are kept in `names`, which never moves. */
static bool read_keys(mp_view text, struct key **keys, size_t *n, struct mp_str *names)
{
    struct mp_tokens r;
    size_t room = 0;

    mp_tokens_init(&r, text.data, text.len);
    while (mp_token_next(&r)) {
        if (r.kind != MP_KEY)
            continue;
        if (!mp_grow(keys, &room, *n + 1))
            return false;
        struct key *key = &(*keys)[(*n)++];
        *key = (struct key){r.open[r.depth - 1], r.at, (const char *)r.at + 1, r.len - 2};
        if (memchr(key->name, '\\', key->len)) {
            size_t from = names->len;
            if (!mp_str_add_view(names, mp_bytes(r.at, r.len)))
                return false;
            key->name = names->data + from;
            key->len = names->len - from;
        }
    }
    return true;
}

/* Sorted, so that a hostile text cannot make it slow. */
static int check_twice(mp_view text, size_t *at, struct mcplug_error *err)
{
    struct mp_str names;
    struct key *keys = NULL;
    const struct key *twice = NULL;
    size_t n = 0;

    mp_str_init(&names, text.len);
    int r = mp_str_reserve(&names, text.len) && read_keys(text, &keys, &n, &names)
                ? MCPLUG_OK
                : mp_fail_nomem(err);
    if (r == MCPLUG_OK && n > 1) {
        qsort(keys, n, sizeof *keys, by_name);
        for (size_t i = 1; i < n; i++)
            if (same_name(&keys[i - 1], &keys[i]) == 0 &&
                (!twice || keys[i].at < twice->at))
                twice = &keys[i];
    }
    for (size_t i = 0; r == MCPLUG_OK && i < n; i++)
        if (memchr(keys[i].name, '\0', keys[i].len)) {
            *at = (size_t)(keys[i].at - text.data);
            r = mp_fail(err, MCPLUG_ECONFIG, "a key has a NUL character");
            break;
        }
    if (r == MCPLUG_OK && twice) {
        *at = (size_t)(twice->at - text.data);
        r = mp_fail(err, MCPLUG_ECONFIG, "\"%.*s\" is given twice",
                    mp_json_shown(twice->name, twice->len), twice->name);
    }
    mp_free(keys);
    mp_str_clear(&names);
    return r;
}

int mp_json_check(mp_view text, struct mp_place *at, struct mcplug_error *err)
{
    const struct mp_scan_limits limits = {.depth = MP_CONFIG_DEPTH,
                                          .tokens = MP_CONFIG_TOKENS};
    struct mp_scan scan;
    size_t where = 0, used;

    mp_scan_init(&scan, &limits);
    scan.bare = true; /* no message: names of its parts are names like others */
    int r = mp_scan_feed(&scan, (const char *)text.data, text.len, false, &used, NULL);
    if (r == MCPLUG_OK)
        r = mp_scan_end(&scan, NULL);
    if (r == MCPLUG_OK) {
        r = check_twice(text, &where, err);
    } else {
        where = used;
        r = tell_fault(text, scan.fault, &where, err);
    }
    if (r != MCPLUG_OK && at)
        *at = mp_place_of(text, where);
    return r;
}

int mp_json_check_file(const char *path, mp_view text, struct mcplug_error *err)
{
    struct mcplug_error why = MCPLUG_ERROR_INIT;
    struct mp_place at;

    int r = mp_json_check(text, &at, &why);
    if (r != MCPLUG_OK)
        mp_fail(err, MCPLUG_ECONFIG, "%s:%zu:%zu: %s", path, at.line, at.column,
                why.text);
    return r == MCPLUG_OK ? r : MCPLUG_ECONFIG;
}

/* ---- other spellings ---- */

static bool add_plain(mp_view string, struct mp_str *plain, struct mp_str *out)
{
    if (!memchr(string.data, '\\', string.len))
        return mp_str_add(out, string.data, string.len);
    mp_str_reset(plain);
    if (!mp_str_add_view(plain, string))
        return false;
    return mp_str_add_json(out, plain->data ? plain->data : "", plain->len);
}

bool mp_json_canonical(mp_view value, struct mp_str *out)
{
    struct mp_tokens r;
    struct mp_str plain;
    bool ok = true;

    mp_str_init(&plain, value.len);
    mp_tokens_init(&r, value.data, value.len);
    while (ok && mp_token_next(&r)) {
        if (r.kind == MP_STRING || r.kind == MP_KEY)
            ok = add_plain(mp_bytes(r.at, r.len), &plain, out);
        else
            ok = mp_str_add(out, r.at, r.len);
    }
    mp_str_clear(&plain);
    return ok;
}

/* ---- layout ---- */

static bool add_line(struct mp_str *out, const struct mp_json_style *style, size_t units)
{
    mp_str_add_bytes(out, style->newline);
    mp_str_add_bytes(out, style->indent);
    while (units-- && !out->failed)
        mp_str_add_bytes(out, style->unit);
    return !out->failed;
}

/* Does the array whose bracket was just read hold no other, nor an object? What is read
 * ahead for it belongs to no other array, so all of it together stays linear. */
static bool is_flat(const struct mp_tokens *r)
{
    struct mp_tokens ahead = *r;

    if (r->kind != '[')
        return false;
    while (mp_token_next(&ahead) && ahead.depth == r->depth)
        ;
    return ahead.depth < r->depth;
}

bool mp_json_write(mp_view value, const struct mp_json_style *style, struct mp_str *out)
{
    struct mp_tokens r;
    uint64_t flat = 0; /* one bit per level, the deepest lowest: on one line */
    size_t level = 0;

    mp_tokens_init(&r, value.data, value.len);
    while (!out->failed && mp_token_next(&r)) {
        bool first = r.before == '{' || r.before == '[';
        bool closing = r.kind == '}' || r.kind == ']';
        level -= closing && level;
        /* Between a bracket and what it holds: neither inside an empty one nor between
         * two members. */
        if (first != closing && !(flat & 1))
            add_line(out, style, level);
        else if (first != closing && (r.before == '{' || r.kind == '}'))
            mp_str_adds(out, style->pad);
        if (closing)
            flat >>= 1;
        if (r.kind == ',' && flat & 1)
            mp_str_adds(out, style->comma);
        else if (r.kind == ':')
            mp_str_adds(out, style->colon);
        else
            mp_str_add(out, r.at, r.len);
        if (r.kind == ',' && !(flat & 1))
            add_line(out, style, level);
        if (r.kind == '{' || r.kind == '[') {
            flat = flat << 1 | (style->newline.len == 0 || is_flat(&r));
            level++;
        }
    }
    return !out->failed;
}

bool mp_json_layout(mp_view value, struct mp_str *out)
{
    const struct mp_json_style style = {.newline = mp_text("\n"),
                                        .unit = mp_text("  "),
                                        .comma = ", ",
                                        .colon = ": ",
                                        .pad = ""};
    return mp_json_write(value, &style, out);
}
