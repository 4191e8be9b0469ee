#include "plugin/props.h"

#include "base/buf.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/text.h"

static const char *const shape_names[] = {"a single value", "a list", "a map"};

struct setting {
    char *name;
    enum mp_shape shape;
    char **items; /* NULL-ended; a map has name, value, name, value .. */
    size_t n, cap;
};

struct mcplug_props {
    struct setting *settings;
    size_t n, cap;
    const struct mcplug_option *options; /* once checked; borrowed for ever */
    bool denies; /* addresses that the policy set, see mp_props_deny() */
};

/* ---- storage ---- */

static void wipe(char *text)
{
    if (text)
        explicit_bzero(text, strlen(text));
    mp_free(text);
}

static void setting_clear(struct setting *s)
{
    for (size_t i = 0; i < s->n; i++)
        wipe(s->items[i]);
    mp_free(s->items);
    mp_free(s->name);
}

mcplug_props *mp_props_new(void)
{
    return mp_alloc(sizeof(struct mcplug_props));
}

void mp_props_free(mcplug_props *props)
{
    if (!props)
        return;
    for (size_t i = 0; i < props->n; i++)
        setting_clear(&props->settings[i]);
    mp_free(props->settings);
    mp_free(props);
}

static struct setting *find(const mcplug_props *props, const char *name)
{
    for (size_t i = 0; name && i < props->n; i++)
        if (strcmp(props->settings[i].name, name) == 0)
            return &props->settings[i];
    return NULL;
}

/* Copies behind the items of `s`: all of them, or none. */
static bool append(struct setting *s, const char *const *items, size_t n)
{
    size_t had = s->n;

    if (!mp_grow(&s->items, &s->cap, had + n + 1))
        return false;
    while (s->n < had + n && (s->items[s->n] = mp_strdup(items[s->n - had])))
        s->n++;
    if (s->n < had + n) {
        while (s->n > had)
            wipe(s->items[--s->n]);
        s->items[had] = NULL;
        return false;
    }
    s->items[s->n] = NULL;
    return true;
}

/* Built aside, so that a failure leaves nothing half done. */
static int add_setting(mcplug_props *props, const char *name, enum mp_shape shape,
                       const char *const *items, size_t n)
{
    struct setting s = {.name = mp_strdup(name), .shape = shape};
    int r = MCPLUG_ENOMEM;

    if (props->n >= MP_PROPS_MAX)
        r = MCPLUG_ETOOBIG;
    else if (s.name && append(&s, items, n) &&
             mp_grow(&props->settings, &props->cap, props->n + 1)) {
        props->settings[props->n++] = s;
        return MCPLUG_OK;
    }
    setting_clear(&s);
    return r;
}

static char **map_value(const struct setting *map, const char *key)
{
    for (size_t i = 0; i < map->n; i += 2)
        if (strcmp(map->items[i], key) == 0)
            return &map->items[i + 1];
    return NULL;
}

/* What mp_props_set(), _add() and _put() have in common; only maps have a `key`. */
static int change(mcplug_props *props, const char *name, enum mp_shape shape,
                  const char *key, const char *value)
{
    if (!name || !*name || !key || !value)
        return MCPLUG_EINVAL;
    const char *const pair[] = {key, value}, *const *items = pair;
    size_t n = shape == MP_MAP ? 2 : 1;
    struct setting *s = find(props, name);

    items += 2 - n;
    if (!s)
        return add_setting(props, name, shape, items, n);
    if (s->shape != shape)
        return MCPLUG_EINVAL;
    char **old = shape == MP_VALUE ? s->items
                 : shape == MP_MAP ? map_value(s, key)
                                   : NULL;
    if (old) {
        char *copy = mp_strdup(value);
        if (!copy)
            return MCPLUG_ENOMEM;
        wipe(*old);
        *old = copy;
        return MCPLUG_OK;
    }
    if (s->n / n >= MP_PROPS_ITEMS)
        return MCPLUG_ETOOBIG;
    return append(s, items, n) ? MCPLUG_OK : MCPLUG_ENOMEM;
}

void mp_props_unset(mcplug_props *props, const char *name)
{
    struct setting *s = find(props, name);

    if (!s)
        return;
    setting_clear(s);
    *s = props->settings[--props->n];
}

int mp_props_set(mcplug_props *props, const char *name, const char *value)
{
    return change(props, name, MP_VALUE, "", value);
}

int mp_props_add(mcplug_props *props, const char *name, const char *value)
{
    return change(props, name, MP_LIST, "", value);
}

int mp_props_put(mcplug_props *props, const char *name, const char *key,
                 const char *value)
{
    return change(props, name, MP_MAP, key, value);
}

const char *mp_props_map_get(const mcplug_props *props, const char *name, const char *key)
{
    const struct setting *s = find(props, name);
    char **value = s && s->shape == MP_MAP ? map_value(s, key) : NULL;
    return value ? *value : NULL;
}

void mp_props_drop(mcplug_props *props, const char *name)
{
    struct setting *s = find(props, name);

    if (!s)
        return;
    setting_clear(s);
    size_t behind = (size_t)(&props->settings[--props->n] - s);
    memmove(s, s + 1, behind * sizeof *s);
}

int mp_props_replace(mcplug_props *props, mcplug_props *from)
{
    size_t added = 0;

    for (size_t i = 0; i < from->n; i++)
        added += !find(props, from->settings[i].name);
    if (props->n + added > MP_PROPS_MAX)
        return MCPLUG_ETOOBIG;
    if (!mp_grow(&props->settings, &props->cap, props->n + added))
        return MCPLUG_ENOMEM;
    for (size_t i = 0; i < from->n; i++) {
        struct setting *s = find(props, from->settings[i].name);
        if (s)
            setting_clear(s);
        else
            s = &props->settings[props->n++];
        *s = from->settings[i];
    }
    from->n = 0;
    return MCPLUG_OK;
}

int mp_props_merge(mcplug_props *props, const mcplug_props *top)
{
    int r = MCPLUG_OK;

    for (size_t i = 0; i < top->n; i++) {
        const struct setting *s = &top->settings[i];
        size_t step = s->shape == MP_MAP ? 2 : 1;
        for (size_t k = 0; r == MCPLUG_OK && k < s->n; k += step)
            r = change(props, s->name, s->shape, s->items[k], s->items[k + step - 1]);
    }
    return r;
}

static const struct mcplug_option *option(const struct mcplug_option *options,
                                          const char *name)
{
    for (size_t i = 0; options && name && i < MP_OPTIONS_MAX && options[i].name; i++)
        if (strcmp(options[i].name, name) == 0)
            return &options[i];
    return NULL;
}

static mcplug_props *copy_some(const mcplug_props *props, bool all,
                               const struct mcplug_option *options)
{
    mcplug_props *copy = mp_props_new();
    bool ok = copy != NULL;

    for (size_t i = 0; ok && i < props->n; i++) {
        const struct setting *s = &props->settings[i];
        if (all || option(options, s->name))
            ok = add_setting(copy, s->name, s->shape, (const char *const *)s->items,
                             s->n) == MCPLUG_OK;
    }
    if (ok) {
        copy->options = props->options;
        copy->denies = props->denies;
    } else {
        mp_props_free(mp_move(&copy));
    }
    return copy;
}

mcplug_props *mp_props_copy(const mcplug_props *props)
{
    return copy_some(props, true, NULL);
}

mcplug_props *mp_props_known(const mcplug_props *props,
                             const struct mcplug_option *options)
{
    return copy_some(props, false, options);
}

/* ---- what modules ask ---- */

/* The value as text, without regard to whether it was set or is a fallback. */
const char *mp_props_get(const mcplug_props *props, const char *name)
{
    const struct setting *s = find(props, name);
    if (s)
        return s->shape == MP_VALUE ? s->items[0] : NULL;

    const struct mcplug_option *o = option(props->options, name);
    const struct mp_option_type *t = o ? mp_option_type(o->type) : NULL;
    bool given = t && t->shape == MP_VALUE && o->fallback && *o->fallback;
    return given ? o->fallback : NULL;
}

bool mp_props_is_set(const mcplug_props *props, const char *name)
{
    return find(props, name) != NULL;
}

int64_t mp_props_int(const mcplug_props *props, const char *name, int64_t fallback)
{
    const char *text = mp_props_get(props, name);
    const struct mcplug_option *o = option(props->options, name);
    int64_t n = fallback;

    if (!text)
        return fallback;
    if (!props->options)
        return mp_option_parse("int", text, &n) || mp_option_parse("bool", text, &n)
                   ? n
                   : fallback;
    return o && mp_option_parse(o->type, text, &n) ? n : fallback;
}

const char *const *mp_props_list(const mcplug_props *props, const char *name)
{
    static const char *const none[] = {NULL};
    const struct setting *s = find(props, name);
    return s && s->shape != MP_VALUE ? (const char *const *)s->items : none;
}

void mp_props_each_url(const mcplug_props *props,
                       void (*fn)(void *arg, const char *name, const char *url),
                       void *arg)
{
    const struct mcplug_option *o = props->options;

    for (size_t i = 0; i < props->n; i++) {
        const struct setting *s = &props->settings[i];
        const struct mcplug_option *declared = option(o, s->name);
        if (s->shape == MP_VALUE &&
            mp_option_is_url(s->name, declared ? declared->type : NULL))
            fn(arg, s->name, s->items[0]);
    }
    for (size_t i = 0; o && i < MP_OPTIONS_MAX && o[i].name; i++)
        if (mp_option_is_url(o[i].name, o[i].type) && !find(props, o[i].name) &&
            mp_props_get(props, o[i].name))
            fn(arg, o[i].name, mp_props_get(props, o[i].name));
}

int mp_props_deny(mcplug_props *props, const char *address)
{
    const struct mcplug_option *o = props->options;
    size_t i = 0;

    while (o && i < MP_OPTIONS_MAX && o[i].name && strcmp(o[i].type, MP_ADDRESSES) != 0)
        i++;
    if (!o || i == MP_OPTIONS_MAX || !o[i].name)
        return MCPLUG_ENOTSUP;
    const char *const *known = mp_props_list(props, o[i].name);
    for (; props->denies && *known; known++)
        if (strcmp(*known, address) == 0)
            return MCPLUG_OK;
    int r = mp_props_add(props, o[i].name, address);
    props->denies |= r == MCPLUG_OK;
    return r;
}

/* ---- checking ---- */

/* A name or value from outside, cut to what fits a message. */
struct shown {
    char text[64];
};

static struct shown show(const char *text)
{
    struct shown s;
    size_t len = strlen(text);
    size_t put = mp_escape(text, &len, false, false, s.text, sizeof s.text - 1);
    s.text[put] = '\0';
    return s;
}

static int fail_unknown(const char *name, const struct mcplug_option *options,
                        const char *what, struct mcplug_error *err)
{
    const char *best = NULL;
    for (size_t i = 0; options && i < MP_OPTIONS_MAX && options[i].name; i++)
        if (strcmp(options[i].type, MP_ADDRESSES) != 0) /* people cannot set it */
            mp_nearest(name, options[i].name, &best);
    return mp_fail(err, MCPLUG_ECONFIG, "%s: unknown setting \"%s\"%s%s%s", what,
                   show(name).text, best ? "; did you mean \"" : "", best ? best : "",
                   best ? "\"?" : "");
}

static int check_setting(const struct setting *s, const struct mcplug_option *o,
                         const char *what, struct mcplug_error *err)
{
    const struct mp_option_type *t = mp_option_type(o->type);
    int64_t n;

    if (!t) /* the handshake lets no such table pass */
        return mp_fail(err, MCPLUG_ECONFIG, "%s: the setting \"%s\" has no known type",
                       what, s->name);
    if (s->shape != t->shape)
        return mp_fail(err, MCPLUG_ECONFIG, "%s: the setting \"%s\": expected %s, got %s",
                       what, s->name, shape_names[t->shape], shape_names[s->shape]);
    if (!t->parse || t->parse(s->items[0], &n))
        return MCPLUG_OK;
    return mp_fail(err, MCPLUG_ECONFIG, "%s: the setting \"%s\": expected %s, got \"%s\"",
                   what, s->name, t->like, show(s->items[0]).text);
}

size_t mp_props_missing(const mcplug_props *props, const struct mcplug_option *options,
                        struct mp_str *out)
{
    size_t n = 0;

    for (size_t i = 0; options && i < MP_OPTIONS_MAX && options[i].name; i++) {
        const struct mcplug_option *o = &options[i];
        const struct mp_option_type *t = mp_option_type(o->type);
        bool required = !o->fallback && t && t->shape == MP_VALUE;
        if (required && !(props && find(props, o->name)))
            mp_str_addf(out, "%s%s", n++ ? ", " : "", o->name);
    }
    return n;
}

int mp_props_check(mcplug_props *props, const struct mcplug_option *options,
                   const char *what, struct mcplug_error *err)
{
    int r = MCPLUG_OK;

    for (size_t i = 0; r == MCPLUG_OK && i < props->n; i++) {
        const struct setting *s = &props->settings[i];
        const struct mcplug_option *o = option(options, s->name);
        if (o && strcmp(o->type, MP_ADDRESSES) == 0 && !props->denies)
            r = mp_fail(err, MCPLUG_ECONFIG,
                        "%s: the setting \"%s\" cannot be set: it is the policy's", what,
                        s->name);
        else
            r = o ? check_setting(s, o, what, err)
                  : fail_unknown(s->name, options, what, err);
    }
    if (r != MCPLUG_OK)
        return r;

    struct mp_str names;
    mp_str_init(&names, 16384);
    size_t n = mp_props_missing(props, options, &names);
    if (n == 0)
        props->options = options;
    else if (names.failed)
        r = mp_fail(err, MCPLUG_ECONFIG, "%s: %zu settings are missing", what, n);
    else
        r = mp_fail(err, MCPLUG_ECONFIG, "%s: missing setting%s: %s", what,
                    n == 1 ? "" : "s", names.data);
    mp_str_clear(&names);
    return r;
}

/* ---- hashing ---- */

/* FNV-1a over the bytes and the NUL that ends them, so that "ab","c" and "a","bc"
 * differ. */
static uint64_t hash_text(uint64_t h, const char *text)
{
    do {
        h ^= (unsigned char)*text;
        h *= UINT64_C(0x100000001b3);
    } while (*text++);
    return h;
}

/* Spreads every bit over all of them: the results are added up. */
static uint64_t hash_mix(uint64_t h)
{
    h ^= h >> 30;
    h *= UINT64_C(0xbf58476d1ce4e5b9);
    h ^= h >> 27;
    h *= UINT64_C(0x94d049bb133111eb);
    return h ^ h >> 31;
}

/* A sum does not mind the order, and needs no sorted copy, for which there might be
 * no memory. */
uint64_t mp_props_hash(const mcplug_props *props)
{
    static const uint64_t start = UINT64_C(0xcbf29ce484222325);
    uint64_t sum = start;

    for (size_t i = 0; i < props->n; i++) {
        const struct setting *s = &props->settings[i];
        uint64_t h = hash_text(start + (uint64_t)s->shape, s->name), pairs = 0;
        if (s->shape == MP_MAP)
            for (size_t j = 0; j < s->n; j += 2)
                pairs += hash_mix(hash_text(hash_text(h, s->items[j]), s->items[j + 1]));
        else
            for (size_t j = 0; j < s->n; j++)
                h = hash_text(h, s->items[j]);
        sum += hash_mix(h + pairs);
    }
    return hash_mix(sum);
}

/* ---- comparing ---- */

bool mp_props_equal(const mcplug_props *a, const mcplug_props *b)
{
    bool same = a->n == b->n;

    for (size_t i = 0; same && i < a->n; i++) {
        const struct setting *x = &a->settings[i], *y = find(b, x->name);
        bool map = x->shape == MP_MAP;
        same = y && x->shape == y->shape && x->n == y->n;
        for (size_t j = 0; same && j < x->n; j += map ? 2 : 1) {
            char **other = map ? map_value(y, x->items[j]) : &y->items[j];
            same = other && strcmp(x->items[j + map], *other) == 0;
        }
    }
    return same;
}
