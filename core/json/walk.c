#include "json/walk.h"

#include "base/buf.h"
#include "json/skip.h"

static const mp_view nothing;

/* ---- over values ---- */

/* Brackets and quotes; what else there is does not matter when looking for the end
 * of an array or object. */
static const unsigned char *find_mark(const unsigned char *p, const unsigned char *end)
{
#ifdef __SSE2__
    const __m128i quote = _mm_set1_epi8('"'), fold = _mm_set1_epi8(0x20);
    const __m128i opening = _mm_set1_epi8('{'), closing = _mm_set1_epi8('}');
    while (end - p >= 16) {
        __m128i v = _mm_loadu_si128((const __m128i *)(const void *)p);
        __m128i folded = _mm_or_si128(v, fold); /* '[' and ']' become '{' and '}' */
        __m128i mark = _mm_or_si128(_mm_cmpeq_epi8(v, quote),
                                    _mm_or_si128(_mm_cmpeq_epi8(folded, opening),
                                                 _mm_cmpeq_epi8(folded, closing)));
        unsigned mask = (unsigned)_mm_movemask_epi8(mark);
        if (mask)
            return p + __builtin_ctz(mask);
        p += 16;
    }
#endif
    while (p < end && *p != '"' && (*p | 0x20) != '{' && (*p | 0x20) != '}')
        p++;
    return p;
}

static const unsigned char *skip_container(const unsigned char *p,
                                           const unsigned char *end)
{
    size_t depth = 0;

    while ((p = find_mark(p, end)) < end) {
        if (*p == '"') {
            p = mp_skip_string(p, end);
            continue;
        }
        if ((*p++ | 0x20) == '{')
            depth++;
        else if (--depth == 0)
            return p;
    }
    return end;
}

static bool ends_scalar(unsigned char c)
{
    return c == ',' || c == ']' || c == '}' || c == ':' || mp_is_space(c);
}

static const unsigned char *skip_value(const unsigned char *p, const unsigned char *end)
{
    if (*p == '"')
        return mp_skip_string(p, end);
    if (*p == '{' || *p == '[')
        return skip_container(p, end);
    while (p < end && !ends_scalar(*p))
        p++;
    return p;
}

static bool starts_with(mp_view v, char c)
{
    return v.len && v.data[0] == (unsigned char)c;
}

struct mp_walk mp_walk_into(mp_view container)
{
    struct mp_walk w = {NULL, NULL};
    if (container.len >= 2 &&
        (starts_with(container, '{') || starts_with(container, '['))) {
        w.p = container.data + 1;
        w.end = container.data + container.len - 1; /* without the closing bracket */
    }
    return w;
}

/* To the next key or element, past a comma. */
static bool next(struct mp_walk *w)
{
    w->p = mp_skip_space(w->p, w->end);
    if (w->p < w->end && *w->p == ',')
        w->p = mp_skip_space(w->p + 1, w->end);
    return w->p < w->end;
}

static bool stop(struct mp_walk *w)
{
    w->p = w->end;
    return false;
}

bool mp_walk_member(struct mp_walk *w, mp_view *key, mp_view *value)
{
    if (!next(w) || *w->p != '"')
        return stop(w);
    const unsigned char *behind_key = mp_skip_string(w->p, w->end);
    const unsigned char *p = mp_skip_space(behind_key, w->end);
    if (p == w->end || *p != ':')
        return stop(w);
    p = mp_skip_space(p + 1, w->end);
    const unsigned char *behind = p < w->end ? skip_value(p, w->end) : p;
    if (behind == p)
        return stop(w);
    *key = mp_bytes(w->p, (size_t)(behind_key - w->p));
    *value = mp_bytes(p, (size_t)(behind - p));
    w->p = behind;
    return true;
}

bool mp_walk_element(struct mp_walk *w, mp_view *value)
{
    if (!next(w))
        return false;
    const unsigned char *behind = skip_value(w->p, w->end);
    const unsigned char *p = mp_skip_space(behind, w->end);
    if (behind == w->p || (p < w->end && *p == ':')) /* that was a member's key */
        return stop(w);
    *value = mp_bytes(w->p, (size_t)(behind - w->p));
    w->p = p;
    return true;
}

size_t mp_view_count(mp_view container)
{
    struct mp_walk w = mp_walk_into(container);
    mp_view key, value;
    size_t n = 0;

    if (starts_with(container, '{'))
        while (mp_walk_member(&w, &key, &value))
            n++;
    else
        while (mp_walk_element(&w, &value))
            n++;
    return n;
}

/* ---- asking ---- */

static bool key_is(mp_view key, const char *name, size_t len)
{
    char out[4 + 3 * 64];
    const char *p = (const char *)key.data + 1;
    size_t left = key.len >= 2 ? key.len - 2 : 0;

    if (!memchr(p, '\\', left))
        return left == len && memcmp(p, name, len) == 0;

    struct mp_unescape u = {0, 0, {0}};
    while (left) {
        size_t n = left < 64 ? left : 64;
        size_t put = mp_unescape_feed(&u, p, n, out);
        if (put > len || memcmp(out, name, put) != 0)
            return false;
        name += put;
        len -= put;
        p += n;
        left -= n;
    }
    size_t put = mp_unescape_end(&u, out);
    return put == len && memcmp(out, name, put) == 0;
}

static mp_view get(mp_view object, const char *name, size_t len)
{
    struct mp_walk w = mp_walk_into(object);
    mp_view key, value;

    while (mp_walk_member(&w, &key, &value))
        if (key_is(key, name, len))
            return value;
    return nothing;
}

mp_view mp_view_get(mp_view object, const char *name)
{
    return get(object, name, strlen(name));
}

mp_view mp_view_path(mp_view object, const char *path)
{
    for (;;) {
        size_t len = strcspn(path, "/");
        object = get(object, path, len);
        if (object.len == 0 || path[len] == '\0')
            return object;
        path += len + 1;
    }
}

bool mp_view_is_object(mp_view v)
{
    return starts_with(v, '{');
}

bool mp_view_is_array(mp_view v)
{
    return starts_with(v, '[');
}

bool mp_view_is_string(mp_view v)
{
    return v.len >= 2 && starts_with(v, '"');
}

bool mp_view_is_null(mp_view v)
{
    return mp_bytes_eq(v, "null");
}

bool mp_view_true(mp_view v)
{
    return mp_bytes_eq(v, "true");
}

bool mp_view_equals(mp_view string, const char *text)
{
    return mp_view_is_string(string) && key_is(string, text, strlen(text));
}

/* ---- strings ---- */

bool mp_str_add_view(struct mp_str *s, mp_view string)
{
    enum { STEP = 512 };
    char out[4 + 3 * STEP];
    struct mp_unescape u = {0, 0, {0}};

    if (!mp_view_is_string(string))
        return !s->failed;
    const char *p = (const char *)string.data + 1;
    size_t left = string.len - 2;
    if (!memchr(p, '\\', left))
        return mp_str_add(s, p, left);
    while (left) {
        size_t n = left < STEP ? left : STEP;
        if (!mp_str_add(s, out, mp_unescape_feed(&u, p, n, out)))
            return false;
        p += n;
        left -= n;
    }
    return mp_str_add(s, out, mp_unescape_end(&u, out));
}

char *mp_view_strdup(mp_view string)
{
    struct mp_str s;

    if (!mp_view_is_string(string))
        return NULL;
    mp_str_init(&s, string.len);
    mp_str_add_view(&s, string);
    return mp_str_take(&s);
}
