#include "config/jsontext.h"

#include "base/buf.h"
#include "base/error.h"
#include "base/mem.h"
#include "config/jsonfault.h"
#include "config/jsontoken.h"

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

mp_view mp_json_trim(mp_view text)
{
    while (text.len && mp_is_space(text.data[0])) {
        text.data++;
        text.len--;
    }
    while (text.len && mp_is_space(text.data[text.len - 1]))
        text.len--;
    return text;
}

/* ---- keys given twice ---- */

struct key {
    const unsigned char *object; /* its bracket */
    const unsigned char *at;     /* where it is written */
    const char *name;            /* unescaped */
    size_t len;
};

static int by_order(const unsigned char *a, const unsigned char *b)
{
    return (a > b) - (a < b);
}

static int same_name(const struct key *a, const struct key *b)
{
    if (a->object != b->object)
        return by_order(a->object, b->object);
    if (a->len != b->len)
        return a->len < b->len ? -1 : 1;
    return memcmp(a->name, b->name, a->len);
}

static int by_name(const void *x, const void *y)
{
    const struct key *a = x, *b = y;
    int order = same_name(a, b);
    return order ? order : by_order(a->at, b->at);
}

/* The names with escapes are kept in `names`, which never moves. */
static bool read_key(const struct mp_tokens *r, struct key *key, struct mp_str *names)
{
    key->object = r->open[r->depth - 1];
    key->at = r->at;
    key->name = (const char *)r->at + 1;
    key->len = r->len - 2;
    if (!memchr(key->name, '\\', key->len))
        return true;
    size_t from = names->len;
    if (!mp_str_add_view(names, mp_bytes(r->at, r->len)))
        return false;
    key->name = names->data + from;
    key->len = names->len - from;
    return true;
}

static bool read_keys(mp_view text, struct key **keys, size_t *n, struct mp_str *names)
{
    struct mp_tokens r;
    size_t room = 0;

    mp_tokens_init(&r, text.data, text.len);
    while (mp_token_next(&r)) {
        if (r.kind != MP_KEY)
            continue;
        if (*n == room) {
            room = room ? 2 * room : 64;
            struct key *more = mp_resize(*keys, room * sizeof **keys);
            if (!more)
                return false;
            *keys = more;
        }
        if (!read_key(&r, &(*keys)[(*n)++], names))
            return false;
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
        r = mp_json_fault(text, scan.fault, &where, err);
    }
    if (r != MCPLUG_OK && at)
        *at = mp_place_of(text, where);
    return r;
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

static bool add_view(struct mp_str *out, mp_view v)
{
    return mp_str_add(out, v.data, v.len);
}

static bool add_line(struct mp_str *out, const struct mp_json_style *style, size_t units)
{
    add_view(out, style->newline);
    add_view(out, style->indent);
    while (units-- && !out->failed)
        add_view(out, style->unit);
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

/* Between a bracket and what it holds. */
static void add_inside(struct mp_str *out, const struct mp_json_style *style, bool flat,
                       bool object, size_t level)
{
    if (!flat)
        add_line(out, style, level);
    else if (object)
        mp_str_adds(out, style->pad);
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
        if (first != closing) /* neither inside an empty one nor between two members */
            add_inside(out, style, flat & 1, r.before == '{' || r.kind == '}', level);
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

bool mp_json_layout(mp_view value, size_t depth, const char *unit, const char *newline,
                    struct mp_str *out)
{
    struct mp_str indent;
    struct mp_json_style style = {.comma = ", ", .colon = ": ", .pad = ""};

    mp_str_init(&indent, depth * strlen(unit));
    if (*unit) {
        for (size_t i = 0; i < depth && !indent.failed; i++)
            mp_str_adds(&indent, unit);
        style.newline = mp_text(newline);
        style.indent = mp_bytes(indent.data, indent.len);
        style.unit = mp_text(unit);
    }
    bool ok = !indent.failed && mp_json_write(value, &style, out);
    mp_str_clear(&indent);
    return ok;
}
