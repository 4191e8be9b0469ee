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

/* Room for `more` items and the NULL behind them. */
static bool reserve_items(struct setting *s, size_t more)
{
    if (s->n + more + 1 <= s->cap)
        return true;
    size_t cap = s->cap ? s->cap * 2 : 4;
    while (cap < s->n + more + 1)
        cap *= 2;
    char **items = mp_resize(s->items, cap * sizeof *items);
    if (!items)
        return false;
    s->items = items;
    s->cap = cap;
    return true;
}

static bool append_item(struct setting *s, const char *text)
{
    char *copy = mp_strdup(text);
    if (!copy || !reserve_items(s, 1)) {
        wipe(copy);
        return false;
    }
    s->items[s->n++] = copy;
    s->items[s->n] = NULL;
    return true;
}

static int append_setting(mcplug_props *props, struct setting *s)
{
    if (props->n >= MP_PROPS_MAX)
        return MCPLUG_ETOOBIG;
    if (props->n == props->cap) {
        size_t cap = props->cap ? props->cap * 2 : 8;
        struct setting *grown = mp_resize(props->settings, cap * sizeof *grown);
        if (!grown)
            return MCPLUG_ENOMEM;
        props->settings = grown;
        props->cap = cap;
    }
    props->settings[props->n++] = *s;
    return MCPLUG_OK;
}

/* A setting of that name with one or two items; built aside so that a failure
 * leaves nothing half done. */
static int add_new(mcplug_props *props, const char *name, enum mp_shape shape,
                   const char *first, const char *second)
{
    struct setting s = {.name = mp_strdup(name), .shape = shape};
    int r = MCPLUG_ENOMEM;

    if (s.name && append_item(&s, first) && (!second || append_item(&s, second)))
        r = append_setting(props, &s);
    if (r != MCPLUG_OK)
        setting_clear(&s);
    return r;
}

static int replace_item(struct setting *s, size_t at, const char *value)
{
    char *copy = mp_strdup(value);
    if (!copy)
        return MCPLUG_ENOMEM;
    wipe(s->items[at]);
    s->items[at] = copy;
    return MCPLUG_OK;
}

int mp_props_set(mcplug_props *props, const char *name, const char *value)
{
    if (!name || !*name || !value)
        return MCPLUG_EINVAL;
    struct setting *s = find(props, name);
    if (!s)
        return add_new(props, name, MP_VALUE, value, NULL);
    return s->shape == MP_VALUE ? replace_item(s, 0, value) : MCPLUG_EINVAL;
}

int mp_props_add(mcplug_props *props, const char *name, const char *value)
{
    if (!name || !*name || !value)
        return MCPLUG_EINVAL;
    struct setting *s = find(props, name);
    if (!s)
        return add_new(props, name, MP_LIST, value, NULL);
    if (s->shape != MP_LIST)
        return MCPLUG_EINVAL;
    if (s->n >= MP_PROPS_ITEMS)
        return MCPLUG_ETOOBIG;
    return append_item(s, value) ? MCPLUG_OK : MCPLUG_ENOMEM;
}

int mp_props_put(mcplug_props *props, const char *name, const char *key,
                 const char *value)
{
    if (!name || !*name || !key || !value)
        return MCPLUG_EINVAL;
    struct setting *s = find(props, name);
    if (!s)
        return add_new(props, name, MP_MAP, key, value);
    if (s->shape != MP_MAP)
        return MCPLUG_EINVAL;
    for (size_t i = 0; i < s->n; i += 2)
        if (strcmp(s->items[i], key) == 0)
            return replace_item(s, i + 1, value);
    if (s->n / 2 >= MP_PROPS_ITEMS)
        return MCPLUG_ETOOBIG;
    if (!reserve_items(s, 2) || !append_item(s, key))
        return MCPLUG_ENOMEM;
    if (!append_item(s, value)) {
        wipe(s->items[--s->n]);
        s->items[s->n] = NULL;
        return MCPLUG_ENOMEM;
    }
    return MCPLUG_OK;
}

const char *mp_props_map_get(const mcplug_props *props, const char *name, const char *key)
{
    const struct setting *s = find(props, name);

    for (size_t i = 0; s && s->shape == MP_MAP && i < s->n; i += 2)
        if (strcmp(s->items[i], key) == 0)
            return s->items[i + 1];
    return NULL;
}

int mp_props_merge(mcplug_props *props, const mcplug_props *top)
{
    int r = MCPLUG_OK;

    for (size_t i = 0; i < top->n; i++) {
        const struct setting *s = &top->settings[i];
        size_t step = s->shape == MP_MAP ? 2 : 1;
        for (size_t k = 0; r == MCPLUG_OK && k < s->n; k += step)
            r = s->shape == MP_VALUE ? mp_props_set(props, s->name, s->items[k])
                : s->shape == MP_LIST
                    ? mp_props_add(props, s->name, s->items[k])
                    : mp_props_put(props, s->name, s->items[k], s->items[k + 1]);
    }
    return r;
}

static bool copy_setting(mcplug_props *to, const struct setting *from)
{
    struct setting s = {.name = mp_strdup(from->name), .shape = from->shape};
    bool ok = s.name && reserve_items(&s, from->n);

    for (size_t i = 0; ok && i < from->n; i++)
        ok = append_item(&s, from->items[i]);
    ok = ok && append_setting(to, &s) == MCPLUG_OK;
    if (!ok)
        setting_clear(&s);
    return ok;
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

    for (size_t i = 0; ok && i < props->n; i++)
        if (all || option(options, props->settings[i].name))
            ok = copy_setting(copy, &props->settings[i]);
    if (ok) {
        copy->options = props->options;
        return copy;
    }
    mp_props_free(copy);
    return NULL;
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
        mp_nearest(name, options[i].name, &best);
    if (best)
        return mp_fail(err, MCPLUG_ECONFIG,
                       "%s: unknown setting \"%s\", did you mean \"%s\"?", what,
                       show(name).text, best);
    return mp_fail(err, MCPLUG_ECONFIG, "%s: unknown setting \"%s\"", what,
                   show(name).text);
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
        return mp_fail(err, MCPLUG_ECONFIG, "%s: the setting \"%s\" wants %s, not %s",
                       what, s->name, shape_names[t->shape], shape_names[s->shape]);
    if (!t->parse || t->parse(s->items[0], &n))
        return MCPLUG_OK;
    return mp_fail(err, MCPLUG_ECONFIG, "%s: the setting \"%s\" wants %s, not \"%s\"",
                   what, s->name, t->like, show(s->items[0]).text);
}

static bool required(const struct mcplug_option *o)
{
    const struct mp_option_type *t = mp_option_type(o->type);
    return !o->fallback && t && t->shape == MP_VALUE;
}

size_t mp_props_missing(const mcplug_props *props, const struct mcplug_option *options,
                        struct mp_str *out)
{
    size_t n = 0;
    for (size_t i = 0; options && i < MP_OPTIONS_MAX && options[i].name; i++) {
        if (!required(&options[i]) || (props && find(props, options[i].name)))
            continue;
        if (out && n)
            mp_str_adds(out, ", ");
        if (out)
            mp_str_adds(out, options[i].name);
        n++;
    }
    return n;
}

static int check_missing(const mcplug_props *props, const struct mcplug_option *options,
                         const char *what, struct mcplug_error *err)
{
    struct mp_str names;
    mp_str_init(&names, 16384);
    size_t n = mp_props_missing(props, options, &names);
    int r = MCPLUG_OK;

    if (n && names.failed)
        r = mp_fail(err, MCPLUG_ECONFIG, "%s: %zu settings are missing", what, n);
    else if (n)
        r = mp_fail(err, MCPLUG_ECONFIG, "%s: missing setting%s: %s", what,
                    n == 1 ? "" : "s", names.data);
    mp_str_clear(&names);
    return r;
}

int mp_props_check(mcplug_props *props, const struct mcplug_option *options,
                   const char *what, struct mcplug_error *err)
{
    for (size_t i = 0; i < props->n; i++) {
        const struct setting *s = &props->settings[i];
        const struct mcplug_option *o = option(options, s->name);
        int r = o ? check_setting(s, o, what, err)
                  : fail_unknown(s->name, options, what, err);
        if (r != MCPLUG_OK)
            return r;
    }
    int r = check_missing(props, options, what, err);
    if (r == MCPLUG_OK)
        props->options = options;
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

static bool has_pair(const struct setting *map, const char *key, const char *value)
{
    for (size_t i = 0; i < map->n; i += 2)
        if (strcmp(map->items[i], key) == 0)
            return strcmp(map->items[i + 1], value) == 0;
    return false;
}

bool mp_props_equal(const mcplug_props *a, const mcplug_props *b)
{
    bool same = a->n == b->n;

    for (size_t i = 0; same && i < a->n; i++) {
        const struct setting *x = &a->settings[i], *y = find(b, x->name);
        same = y && x->shape == y->shape && x->n == y->n;
        for (size_t j = 0; same && j < x->n; j += x->shape == MP_MAP ? 2 : 1)
            same = x->shape == MP_MAP ? has_pair(y, x->items[j], x->items[j + 1])
                                      : strcmp(x->items[j], y->items[j]) == 0;
    }
    return same;
}
