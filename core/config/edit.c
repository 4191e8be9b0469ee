#include "config/edit.h"

#include "base/buf.h"
#include "base/error.h"
#include "base/text.h"
#include "config/jsontext.h"
#include "config/jsontoken.h"

#include <stdio.h>

enum { SPACING_MAX = 16 }; /* white space that is longer is no style to follow */

/* ---- members ---- */

struct member {
    mp_view key, value;
    const unsigned char *from; /* behind the member before it, or behind the bracket */
    bool first;
};

struct object {
    mp_view text;
    size_t n;
    struct member last;
    bool has; /* the one that was looked for .. */
    struct member found;
    const unsigned char *next; /* .. and the key behind it */
};

/* Where a change is to be. */
struct spot {
    mp_view text;
    struct object parent, o; /* n of the parent 0: `o` is the whole */
    mp_view comma; /* of the nearest members above that share a line, or len 0 */
};

static const unsigned char *behind(mp_view v)
{
    return v.data + v.len;
}

static mp_view between(const unsigned char *from, const unsigned char *to)
{
    return mp_bytes(from, (size_t)(to - from));
}

static void read_object(struct object *o, mp_view text, const char *name)
{
    struct mp_walk w = mp_walk_into(text);
    struct member m = {.from = text.data + 1, .first = true};

    memset(o, 0, sizeof *o);
    o->text = text;
    while (mp_walk_member(&w, &m.key, &m.value)) {
        if (o->has && !o->next)
            o->next = m.key.data;
        if (!o->has && mp_view_equals(m.key, name)) {
            o->has = true;
            o->found = m;
        }
        o->last = m;
        o->n++;
        m.from = behind(m.value);
        m.first = false;
    }
}

/* ---- how others wrote ---- */

static bool has_newline(mp_view v)
{
    return memchr(v.data, '\n', v.len) != NULL;
}

/* The white space that the line of `p` begins with. */
static mp_view indent_at(mp_view text, const unsigned char *p)
{
    const unsigned char *line = memrchr(text.data, '\n', (size_t)(p - text.data));
    const unsigned char *from = line ? line + 1 : text.data, *to = from;

    while (to < p && (*to == ' ' || *to == '\t'))
        to++;
    return between(from, to);
}

static mp_view find_newline(mp_view text)
{
    const unsigned char *line = memchr(text.data, '\n', text.len);
    return mp_text(line && line > text.data && line[-1] == '\r' ? "\r\n" : "\n");
}

/* How much deeper the first array or object is that holds something deeper. */
static mp_view find_unit(mp_view text)
{
    struct mp_tokens r;
    mp_view unit = mp_text("  ");

    mp_tokens_init(&r, text.data, text.len);
    const unsigned char *before = r.p;
    for (; mp_token_next(&r); before = r.at) {
        if ((r.before != '{' && r.before != '[') || r.kind == '}' || r.kind == ']' ||
            !has_newline(between(before, r.at)))
            continue;
        mp_view outer = indent_at(text, before), inner = indent_at(text, r.at);
        if (inner.len == outer.len)
            unit.len = 0; /* unless another one is */
        if (inner.len > outer.len && inner.len - outer.len <= SPACING_MAX &&
            memcmp(inner.data, outer.data, outer.len) == 0)
            return between(inner.data + outer.len, behind(inner));
    }
    return unit;
}

struct style {
    struct mp_json_style json;
    char comma[SPACING_MAX + 1], colon[SPACING_MAX + 1], pad[SPACING_MAX + 1];
};

static bool is_spacing(mp_view v)
{
    return v.len <= SPACING_MAX && !has_newline(v);
}

/* Takes over what stands between two things on a line. */
static void follow(char to[SPACING_MAX + 1], mp_view v, const char *fallback)
{
    if (is_spacing(v))
        snprintf(to, SPACING_MAX + 1, "%.*s", (int)v.len, (const char *)v.data);
    else
        strcpy(to, fallback);
}

/* The style for the value of `m`, a member of the object or one that a new member
 * follows; NULL: the object is empty. It depends on nothing inside of that value, so that
 * setting it again changes nothing. */
static void find_style(struct style *s, const struct spot *at, const struct member *m)
{
    const struct object *o = &at->o, *parent = at->parent.n ? &at->parent : NULL;
    const struct member *near = m ? m : parent ? &parent->found : NULL;

    memset(s, 0, sizeof *s);
    strcpy(s->colon, ": ");
    if (near)
        follow(s->colon, between(behind(near->key), near->value.data), ": ");
    strcpy(s->comma, s->colon[strlen(s->colon) - 1] == ':' ? "," : ", ");
    if (m && !m->first && is_spacing(between(m->from, m->key.data)))
        follow(s->comma, between(m->from, m->key.data), "");
    else if (at->comma.len)
        follow(s->comma, at->comma, "");
    bool lines = has_newline(o->text);
    if (!m && parent && o->text.len > 2 && !lines) {
        strcpy(s->pad, " ");
    } else if (m || parent) {
        mp_view outer = m ? o->text : parent->text;
        follow(s->pad,
               between(outer.data + 1, mp_skip_space(outer.data + 1, behind(outer))), "");
    }
    if (!m)
        lines = lines || !parent || has_newline(parent->text);
    if (lines) {
        s->json.newline = find_newline(at->text);
        s->json.unit = find_unit(at->text);
    }
    s->json.comma = s->comma;
    s->json.colon = s->colon;
    s->json.pad = s->pad;
}

/* ---- set ---- */

static bool add_space(struct mp_str *out, mp_view space, mp_view newline, mp_view indent)
{
    if (!has_newline(space))
        return mp_str_add_bytes(out, space);
    return mp_str_add_bytes(out, newline) && mp_str_add_bytes(out, indent);
}

/* From the member before to the new one, as from the one before that. */
static void add_separator(struct mp_str *out, const struct style *s,
                          const struct member *last, mp_view indent)
{
    const unsigned char *comma = mp_skip_space(last->from, last->key.data);
    mp_view newline = s->json.newline;

    if (!last->first) {
        add_space(out, between(last->from, comma), newline, indent);
        mp_str_addc(out, ',');
        add_space(out, between(comma + 1, last->key.data), newline, indent);
    } else if (has_newline(between(last->from, last->key.data))) {
        mp_str_addc(out, ',');
        add_space(out, between(last->from, last->key.data), newline, indent);
    } else {
        mp_str_adds(out, s->comma);
    }
}

static void insert(const struct spot *spot, const char *key, mp_view value,
                   struct mp_str *out)
{
    const struct member *last = &spot->o.last;
    const unsigned char *at = behind(last->value);
    mp_view text = spot->text;
    struct style s;

    find_style(&s, spot, last);
    bool broken = has_newline(between(last->from, last->key.data));
    s.json.indent = indent_at(text, broken ? last->key.data : at);
    mp_str_add_bytes(out, between(text.data, at));
    add_separator(out, &s, last, s.json.indent);
    mp_str_add_json(out, key, strlen(key));
    mp_str_adds(out, s.colon);
    mp_json_write(value, &s.json, out);
    mp_str_add_bytes(out, between(at, behind(text)));
}

static void replace(const struct spot *at, mp_view value, struct mp_str *out)
{
    mp_view text = at->text, old = at->o.has ? at->o.found.value : at->o.text;
    struct style s;

    find_style(&s, at, at->o.has ? &at->o.found : NULL);
    s.json.indent = indent_at(text, old.data);
    mp_str_add_bytes(out, between(text.data, old.data));
    mp_json_write(value, &s.json, out);
    mp_str_add_bytes(out, between(behind(old), behind(text)));
}

static int fail_key(int code, const char *what, const char *key, struct mcplug_error *err)
{
    return mp_fail(err, code, "\"%.*s\" is %s", mp_json_shown(key, strlen(key)), key,
                   what);
}

/* Goes down as far as there is a way; `*path` becomes the rest of it. */
static int descend(struct spot *at, const char *const **path, struct mcplug_error *err)
{
    mp_view whole = mp_view_trim(at->text);
    struct object *o = &at->o;

    if (!mp_view_is_object(whole))
        return mp_fail(err, MCPLUG_ECONFIG, "the document is not an object");
    read_object(o, whole, **path);
    while (o->has && (*path)[1]) {
        const struct member *m = &o->found;
        if (!mp_view_is_object(m->value))
            return fail_key(MCPLUG_ECONFIG, "not an object", **path, err);
        if (!m->first && is_spacing(between(m->from, m->key.data)))
            at->comma = between(m->from, m->key.data);
        at->parent = *o;
        read_object(o, at->parent.found.value, *++*path);
    }
    return MCPLUG_OK;
}

/* Makes the value for the key before `path`: the objects on the way, and `value`. */
static bool wrap(const char *const *path, mp_view value, struct mp_str *out)
{
    size_t n = 0, room = value.len;

    for (; path[n]; n++)
        room += 6 * strlen(path[n]) + 5;
    mp_str_init(out, room);
    for (size_t i = 0; i < n; i++) {
        mp_str_addc(out, '{');
        mp_str_add_json(out, path[i], strlen(path[i]));
        mp_str_addc(out, ':');
    }
    mp_str_add_bytes(out, value);
    while (n--)
        mp_str_addc(out, '}');
    return !out->failed;
}

static int finish(const struct mp_str *out, struct mcplug_error *err)
{
    if (!out->failed)
        return MCPLUG_OK;
    return mp_fail(err, MCPLUG_ETOOBIG, "the new text does not fit into %zu bytes",
                   out->max);
}

int mp_edit_set(mp_view text, const char *const *path, mp_view value, struct mp_str *out,
                struct mcplug_error *err)
{
    struct spot at = {.text = text};
    struct mp_str made;

    if (!*path || !mp_view_trim(value).len)
        return mp_fail(err, MCPLUG_EINVAL, "no key or no value to set");
    for (const char *const *key = path; *key; key++)
        if (!mp_is_utf8(*key)) /* it would be written as another one */
            return mp_fail(err, MCPLUG_EINVAL, "a key is not UTF-8");
    if (!mp_view_trim(text).len) /* what is new ends with a line */
        at.text = mp_text(text.len && find_newline(text).len > 1 ? "{}\r\n" : "{}\n");
    int r = descend(&at, &path, err);
    if (r != MCPLUG_OK)
        return r;
    if (!wrap(path + (at.o.n > 0), value, &made)) {
        r = mp_fail_nomem(err);
    } else {
        mp_view new = mp_bytes(made.data, made.len);
        if (at.o.n && !at.o.has)
            insert(&at, *path, new, out);
        else
            replace(&at, new, out);
        r = finish(out, err);
    }
    mp_str_clear(&made);
    return r;
}

/* ---- remove ---- */

int mp_edit_remove(mp_view text, const char *const *path, struct mp_str *out,
                   struct mcplug_error *err)
{
    struct spot at = {.text = text};
    const struct object *o = &at.o;

    if (!*path)
        return mp_fail(err, MCPLUG_EINVAL, "no key to remove");
    if (!mp_view_trim(text).len)
        return fail_key(MCPLUG_EINVAL, "not there", *path, err);
    int r = descend(&at, &path, err);
    if (r != MCPLUG_OK)
        return r;
    if (!o->has)
        return fail_key(MCPLUG_EINVAL, "not there", *path, err);

    const unsigned char *from = o->found.from, *to = behind(o->found.value);
    if (o->n == 1) {
        to = behind(o->text) - 1; /* as empty as can be */
    } else if (o->next) {
        from = o->found.key.data;
        to = o->next; /* comes to stand where this one stood */
    }
    mp_str_add_bytes(out, between(text.data, from));
    mp_str_add_bytes(out, between(to, behind(text)));
    return finish(out, err);
}
