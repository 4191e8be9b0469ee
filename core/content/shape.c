#include "content/shape.h"

#include "base/buf.h"
#include "base/text.h"
#include "json/skip.h"

enum { NOWHERE = 0xff }; /* no node */

enum {
    MAP_KEYS = 64, /* scalars in one object that make it a map, */
    MAP_ALIKE = 8, /* or so many arrays or objects with the same keys, */
    MAP_TIGHT = 3  /* or so many when nodes are scarce */
};

/* ---- characters ---- */

size_t mp_shape_chars(const char *text, size_t len)
{
    const signed char *p = (const signed char *)text, *end = p + len;
    size_t n = 0;

#ifdef __SSE2__
    const __m128i last = _mm_set1_epi8(-65); /* of those that continue a character */
    while (end - p >= 16) {
        __m128i sum = _mm_setzero_si128();
        for (int i = 0; i < 255 && end - p >= 16; i++, p += 16) {
            __m128i v = _mm_loadu_si128((const __m128i *)(const void *)p);
            sum = _mm_sub_epi8(sum, _mm_cmpgt_epi8(v, last));
        }
        sum = _mm_sad_epu8(sum, _mm_setzero_si128());
        n += (size_t)_mm_cvtsi128_si64(sum) +
             (size_t)_mm_cvtsi128_si64(_mm_unpackhi_epi64(sum, sum));
    }
#endif
    for (; p < end; p++)
        n += *p > -65;
    return n;
}

/* ---- nodes ---- */

static struct mp_shape_node *node_at(struct mp_shape *s, uint8_t i)
{
    return i == NOWHERE ? NULL : &s->nodes[i];
}

/* A node for a place at `depth`. The last ones are for what is nearer to the top. */
static uint8_t take_node(struct mp_shape *s, uint32_t depth)
{
    uint32_t kept = depth > 2 ? 6 * (depth - 2) : 0;
    uint8_t i = s->free;

    if (i == NOWHERE || s->used + kept >= MP_SHAPE_NODES)
        return NOWHERE;
    struct mp_shape_node *node = &s->nodes[i];
    s->free = node->next;
    s->used++;
    memset(node, 0, sizeof *node);
    node->next = node->first = node->last = node->elements = NOWHERE;
    return i;
}

static void free_node(struct mp_shape *s, uint8_t i)
{
    if (i == NOWHERE)
        return;
    struct mp_shape_node *node = &s->nodes[i];
    for (uint8_t key = node->first, next; key != NOWHERE; key = next) {
        next = s->nodes[key].next;
        free_node(s, key);
    }
    free_node(s, node->elements);
    node->next = s->free;
    s->free = i;
    s->used--;
}

void mp_shape_init(struct mp_shape *s)
{
    memset(s, 0, offsetof(struct mp_shape, nodes));
    for (uint8_t i = 0; i < MP_SHAPE_NODES; i++)
        s->nodes[i].next = i + 1 < MP_SHAPE_NODES ? i + 1 : NOWHERE;
    take_node(s, 0); /* the first is the document */
    s->current = s->string = NOWHERE;
}

/* ---- lengths, ranges and samples ---- */

/* Widens a range, which is empty if `first`. */
static void widen(uint64_t *least, uint64_t *most, bool first, uint64_t low,
                  uint64_t high)
{
    *least = first || low < *least ? low : *least;
    *most = first || high > *most ? high : *most;
}

static void widen_integers(struct mp_shape_node *node, uint64_t count, int64_t low,
                           int64_t high)
{
    bool first = node->integers == 0;

    node->least_integer = first || low < node->least_integer ? low : node->least_integer;
    node->most_integer = first || high > node->most_integer ? high : node->most_integer;
    node->integers += count;
}

static void copy_number(char to[MP_SHAPE_NUMBER], const char *text, size_t len)
{
    static const char more[] = "\xe2\x80\xa6";
    bool cut = len >= MP_SHAPE_NUMBER;

    if (cut)
        len = MP_SHAPE_NUMBER - sizeof more;
    memcpy(to, text, len);
    memcpy(to + len, more, cut ? sizeof more : 0);
    to[cut ? MP_SHAPE_NUMBER - 1 : len] = '\0';
}

/* value * 10^scale, roughly */
static double scaled(double value, int64_t scale)
{
    static const double up[] = {1e0, 1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7, 1e8,
                                1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16};
    static const double down[] = {1e0,   1e-1,  1e-2,  1e-3,  1e-4,  1e-5,
                                  1e-6,  1e-7,  1e-8,  1e-9,  1e-10, 1e-11,
                                  1e-12, 1e-13, 1e-14, 1e-15, 1e-16};
    enum { MOST = 16 };

    for (; scale > MOST && value < 1e280; scale -= MOST)
        value *= up[MOST];
    for (; scale < -MOST && value > 0; scale += MOST)
        value *= down[MOST];
    if (scale > MOST) /* beyond every double, and so are all such */
        return 1e302;
    return scale >= 0 ? value * up[scale] : scale >= -MOST ? value * down[-scale] : 0;
}

/* Adds the digits at `p` to `*value`; `*dropped`: those that it has no room for. */
static const char *digits(const char *p, const char *end, uint64_t *value,
                          int64_t *dropped)
{
    uint64_t n = *value;

    for (; p < end && *p >= '0' && *p <= '9' && n < 100000000000000000u; p++)
        n = n * 10 + (uint64_t)(*p - '0');
    *value = n;
    for (; p < end && *p >= '0' && *p <= '9'; p++)
        ++*dropped;
    return p;
}

/* To compare with others, not to be shown: the last digits may be wrong. */
static double approximate(const char *text, size_t len)
{
    const char *p = text, *end = text + len;
    bool negative = *p == '-', down = false;
    uint64_t value = 0, power = 0;
    int64_t scale = 0, dropped = 0;

    p = digits(p + negative, end, &value, &scale);
    if (p < end && *p == '.') {
        const char *point = p;
        p = digits(p + 1, end, &value, &dropped);
        scale -= p - point - 1 - dropped;
    }
    if (p < end) { /* at the e */
        p++;
        down = p < end && *p == '-';
        p += p < end && (*p == '-' || *p == '+');
        digits(p, end, &power, &dropped);
        power = power > 100000 ? 100000 : power;
    }
    double result =
        value ? scaled((double)value, scale + (down ? -(int64_t)power : (int64_t)power))
              : 0;
    return negative ? -result : result;
}

static void add_real(struct mp_shape_node *node, const char *text, size_t len)
{
    double value = approximate(text, len);

    if (node->reals == 0 || value < node->least_real) {
        node->least_real = value;
        copy_number(node->least_text, text, len);
    }
    if (node->reals == 0 || value > node->most_real) {
        node->most_real = value;
        copy_number(node->most_text, text, len);
    }
    node->reals++;
}

static void add_number(struct mp_shape_node *node, const struct mp_stream_event *e)
{
    int64_t n = 0;

    if (!(e->flags & MP_STREAM_INTEGER)) {
        add_real(node, e->data, e->len);
    } else if (e->len <= 18) { /* which fit */
        bool negative = e->data[0] == '-';
        for (size_t i = negative; i < e->len; i++)
            n = n * 10 + (e->data[i] - '0');
        n = negative ? -n : n;
        widen_integers(node, 1, n, n);
    } else if (mp_view_int(mp_bytes(e->data, e->len), &n)) {
        widen_integers(node, 1, n, n);
    } else {
        add_real(node, e->data, e->len);
    }
}

/* Notes a string that begins like this; `cut`: and goes on. */
static void add_sample(struct mp_shape_node *node, const char *text, size_t len, bool cut)
{
    const unsigned char *p = (const unsigned char *)text;
    size_t kept = 0;

    for (int n = 0; n < MP_SHAPE_SAMPLE && kept < len; n++) {
        size_t size = mp_utf8_len(p + kept, len - kept);
        kept += size ? size : 1;
    }
    cut = cut || kept < len;
    for (int i = 0; i < node->n_samples; i++) {
        const struct mp_shape_sample *sample = &node->samples[i];
        if (sample->len == kept && sample->cut == cut &&
            memcmp(sample->text, text, kept) == 0)
            return;
    }
    if (node->n_samples == 2) {
        node->more_samples = true;
        return;
    }
    struct mp_shape_sample *sample = &node->samples[node->n_samples++];
    sample->len = (uint8_t)kept;
    sample->cut = cut;
    memcpy(sample->text, text, kept);
}

/* ---- maps ---- */

enum type { OBJECT = 1, ARRAY = 2, STRING = 4, NUMBER = 8, BOOLEAN = 16 };

/* null goes with every type */
static unsigned types(const struct mp_shape_node *node)
{
    return (node->objects ? OBJECT : 0) | (node->arrays ? ARRAY : 0) |
           (node->strings ? STRING : 0) | (node->integers || node->reals ? NUMBER : 0) |
           (node->trues || node->falses ? BOOLEAN : 0);
}

static bool same_key(const struct mp_shape_node *node, const struct mp_shape_node *name)
{
    return node->key_len == name->key_len && node->key_hash == name->key_hash &&
           memcmp(node->key, name->key, name->key_kept) == 0;
}

static uint8_t find_key(const struct mp_shape *s, const struct mp_shape_node *node,
                        const struct mp_shape_node *name)
{
    uint8_t i = node->first;

    while (i != NOWHERE && !same_key(&s->nodes[i], name))
        i = s->nodes[i].next;
    return i;
}

static void link_key(struct mp_shape *s, struct mp_shape_node *node, uint8_t i)
{
    s->nodes[i].next = NOWHERE;
    if (node->last == NOWHERE)
        node->first = i;
    else
        s->nodes[node->last].next = i;
    node->last = i;
    node->n_keys++;
}

static void make_map(struct mp_shape *s, struct mp_shape_node *node);
static void merge(struct mp_shape *s, uint8_t to, uint8_t from);

/* The keys of `from` become keys of `to`. */
static void merge_keys(struct mp_shape *s, struct mp_shape_node *to,
                       struct mp_shape_node *from)
{
    if (from->map && !to->map && to->first != NOWHERE)
        make_map(s, to);
    if (from->map && to->first == NOWHERE)
        to->map = true;
    for (uint8_t i = from->first, next; i != NOWHERE; i = next) {
        struct mp_shape_node *key = &s->nodes[i];
        uint8_t same = to->map ? to->first : find_key(s, to, key);
        next = key->next;
        key->instance = 0;
        if (same != NOWHERE) {
            merge(s, same, i);
        } else if (to->n_keys < MP_SHAPE_KEYS) {
            link_key(s, to, i);
        } else {
            to->others += key->present;
            free_node(s, i);
        }
    }
    from->first = from->last = NOWHERE;
}

static void merge_values(struct mp_shape_node *to, const struct mp_shape_node *from)
{
    if (from->objects)
        widen(&to->least_keys, &to->most_keys, to->objects == 0, from->least_keys,
              from->most_keys);
    if (from->arrays)
        widen(&to->least, &to->most, to->arrays == 0, from->least, from->most);
    if (from->integers)
        widen_integers(to, from->integers, from->least_integer, from->most_integer);
    if (from->reals) {
        if (to->reals == 0 || from->least_real < to->least_real) {
            to->least_real = from->least_real;
            memcpy(to->least_text, from->least_text, sizeof to->least_text);
        }
        if (to->reals == 0 || from->most_real > to->most_real) {
            to->most_real = from->most_real;
            memcpy(to->most_text, from->most_text, sizeof to->most_text);
        }
    }
    to->reals += from->reals;
    to->objects += from->objects;
    to->arrays += from->arrays;
    to->strings += from->strings;
    to->trues += from->trues;
    to->falses += from->falses;
    to->nulls += from->nulls;
    to->others += from->others;
    to->present += from->present;
    to->starved |= from->starved;
    to->longest = from->longest > to->longest ? from->longest : to->longest;
    to->more_samples |= from->more_samples;
    for (int i = 0; i < from->n_samples; i++)
        add_sample(to, from->samples[i].text, from->samples[i].len, from->samples[i].cut);
}

/* All that is known of `from`, which is freed, becomes known of `to`. */
static void merge(struct mp_shape *s, uint8_t to, uint8_t from)
{
    struct mp_shape_node *a = &s->nodes[to], *b = &s->nodes[from];

    merge_values(a, b);
    merge_keys(s, a, b);
    for (uint8_t i = a->first; i != NOWHERE; i = s->nodes[i].next)
        s->nodes[i].instance = 0; /* `objects` is another now */
    if (a->elements == NOWHERE) {
        a->elements = b->elements;
        b->elements = NOWHERE;
    } else if (b->elements != NOWHERE) {
        merge(s, a->elements, b->elements);
        b->elements = NOWHERE;
    }
    free_node(s, from);
}

/* From now on all its keys are one. */
static void make_map(struct mp_shape *s, struct mp_shape_node *node)
{
    uint8_t to = node->first;

    for (uint8_t i = s->nodes[to].next, next; i != NOWHERE; i = next) {
        next = s->nodes[i].next;
        merge(s, to, i);
    }
    s->nodes[to].next = NOWHERE;
    node->last = to;
    node->n_keys = 1;
    node->map = true;
}

/* Most keys of `a` are keys of `b`, or what their elements are is alike. */
static bool alike(struct mp_shape *s, const struct mp_shape_node *a,
                  const struct mp_shape_node *b)
{
    const struct mp_shape_node *x = node_at(s, a->elements), *y = node_at(s, b->elements);
    unsigned common = 0;

    if (x && y)
        return types(x) == types(y) && (!(types(x) & (OBJECT | ARRAY)) || alike(s, x, y));
    if (a->map || b->map)
        return a->map && b->map;
    for (uint8_t i = a->first; i != NOWHERE; i = s->nodes[i].next)
        common += find_key(s, b, &s->nodes[i]) != NOWHERE;
    return common && 2 * common >= a->n_keys && 2 * common >= b->n_keys;
}

static bool all_alike(struct mp_shape *s, const struct mp_shape_node *node)
{
    for (uint8_t i = s->nodes[node->first].next; i != NOWHERE; i = s->nodes[i].next)
        if (!alike(s, &s->nodes[node->first], &s->nodes[i]))
            return false;
    return true;
}

/* Another key comes, the `n`th of this object: are keys data here, not names? */
static bool is_map(struct mp_shape *s, const struct mp_shape_node *node, uint64_t n)
{
    uint64_t most = 0;
    unsigned type = 0;

    for (uint8_t i = node->first; i != NOWHERE; i = s->nodes[i].next) {
        const struct mp_shape_node *key = &s->nodes[i];
        type |= types(key);
        most = key->present > most ? key->present : most;
    }
    if (type & (type - 1)) /* of several types */
        return false;
    bool full = node->n_keys == MP_SHAPE_KEYS;
    if (type == OBJECT || type == ARRAY) {
        bool tight = s->used > MP_SHAPE_NODES / 2;
        return full ||
               (node->n_keys >= (tight ? MAP_TIGHT : MAP_ALIKE) && all_alike(s, node));
    }
    /* one with many, or many with few in common */
    return full &&
           (n > MAP_KEYS || (node->objects > MAP_KEYS && 4 * most < node->objects));
}

/* ---- keys ---- */

static void add_to_key(struct mp_shape_node *name, const char *text, size_t len)
{
    size_t left = sizeof name->key - name->key_kept, kept = len < left ? len : left;

    memcpy(name->key + name->key_kept, text, kept);
    name->key_kept += (uint8_t)kept;
    name->key_len += len;
    for (size_t i = kept; i < len; i++) /* FNV-1a of what is not kept */
        name->key_hash = (name->key_hash ^ (unsigned char)text[i]) * 0x100000001b3u;
}

/* Fills the key of `name` alone: its text, unescaped. */
static void read_key(struct mp_shape_node *name, const struct mp_stream_event *e)
{
    enum { STEP = 128 };
    struct mp_unescape u = {0, 0, {0}};
    char out[4 + 3 * STEP];

    name->key_kept = 0;
    name->key_len = 0;
    name->key_hash = e->flags & MP_STREAM_CUT ? 1 : 0;
    if (!(e->flags & MP_STREAM_ESCAPED)) {
        add_to_key(name, e->data, e->len);
        return;
    }
    for (size_t at = 0; at < e->len; at += STEP) {
        size_t n = e->len - at < STEP ? e->len - at : STEP;
        add_to_key(name, out, mp_unescape_feed(&u, e->data + at, n, out));
    }
    add_to_key(name, out, mp_unescape_end(&u, out));
}

/* A key that was not met at this place. `depth`: of its value. */
static uint8_t add_key(struct mp_shape *s, struct mp_shape_node *node, uint64_t n,
                       const struct mp_shape_node *name, uint32_t depth)
{
    uint8_t i = NOWHERE;
    bool look = (node->others & (node->others - 1)) == 0; /* ever less often */

    if (node->n_keys >= MAP_TIGHT && look && is_map(s, node, n)) {
        make_map(s, node);
        return node->first;
    }
    if (node->n_keys < MP_SHAPE_KEYS)
        i = take_node(s, depth);
    if (i == NOWHERE) {
        node->starved |= node->n_keys < MP_SHAPE_KEYS;
        node->others++;
        return i;
    }
    struct mp_shape_node *key = &s->nodes[i];
    key->key_kept = name->key_kept;
    key->key_len = name->key_len;
    key->key_hash = name->key_hash;
    memcpy(key->key, name->key, sizeof key->key);
    link_key(s, node, i);
    return i;
}

/* The key that is expected is the next one in nearly every document: it is compared
 * without a copy. */
static bool is_expected(const struct mp_shape_node *key, const struct mp_stream_event *e)
{
    return key && key->key_len == e->len && e->len <= sizeof key->key &&
           !(e->flags & MP_STREAM_ESCAPED) && memcmp(key->key, e->data, e->len) == 0;
}

static void on_key(struct mp_shape *s, const struct mp_stream_event *e)
{
    struct mp_shape_node *node = &s->nodes[s->frames[e->depth - 1].node];
    uint8_t i = s->frames[e->depth - 1].expected;
    uint64_t n = ++s->frames[e->depth - 1].n;
    struct mp_shape_node name;

    if (node->map) {
        i = node->first;
    } else if (!is_expected(node_at(s, i), e)) {
        read_key(&name, e);
        i = find_key(s, node, &name);
        if (i == NOWHERE)
            i = add_key(s, node, n, &name, e->depth);
    }
    s->current = i;
    if (i == NOWHERE)
        return;
    s->frames[e->depth - 1].expected = s->nodes[i].next;
    if (s->nodes[i].instance != node->objects || node->map)
        s->nodes[i].present++;
    s->nodes[i].instance = node->objects;
}

/* ---- values ---- */

/* The node of the value at `depth` that begins; NULL: it is not looked at. */
static struct mp_shape_node *place(struct mp_shape *s, uint32_t depth)
{
    if (depth == 0) {
        s->values++;
        return &s->nodes[0];
    }
    if (s->frames[depth - 1].object)
        return node_at(s, s->current);
    struct mp_shape_node *array = &s->nodes[s->frames[depth - 1].node];
    s->frames[depth - 1].n++;
    if (array->elements == NOWHERE)
        array->elements = take_node(s, depth);
    return node_at(s, array->elements);
}

static enum mp_stream_answer on_container(struct mp_shape *s,
                                          const struct mp_stream_event *e)
{
    struct mp_shape_node *node = place(s, e->depth);
    bool object = e->kind == MP_STREAM_OBJECT;

    if (!node)
        return MP_STREAM_AS_RAW;
    if (e->depth == MP_SHAPE_DEPTH) { /* too deep to look into */
        node->objects += object;
        node->arrays += !object;
        return MP_STREAM_AS_RAW;
    }
    if (object)
        node->objects++;
    s->frames[e->depth].node = (uint8_t)(node - s->nodes);
    s->frames[e->depth].expected = node->first;
    s->frames[e->depth].object = object;
    s->frames[e->depth].n = 0;
    s->depth = e->depth + 1;
    return MP_STREAM_GO;
}

static void on_end(struct mp_shape *s)
{
    uint64_t n = s->frames[--s->depth].n;
    struct mp_shape_node *node = &s->nodes[s->frames[s->depth].node];

    if (s->frames[s->depth].object)
        widen(&node->least_keys, &node->most_keys, node->objects == 1, n, n);
    else
        widen(&node->least, &node->most, node->arrays++ == 0, n, n);
}

/* Adds to the beginning of the string that is open. */
static void begin_with(struct mp_shape *s, const char *text, size_t len)
{
    size_t left = sizeof s->begun - s->begun_len;

    if (len > left) {
        s->begun_cut = true;
        len = left;
    }
    memcpy(s->begun + s->begun_len, text, len);
    s->begun_len += (uint8_t)len;
}

static void string_text(struct mp_shape *s, const char *text, size_t len)
{
    s->chars += mp_shape_chars(text, len);
    if (!s->nodes[s->string].more_samples)
        begin_with(s, text, len);
}

static void string_piece(struct mp_shape *s, const struct mp_stream_event *e)
{
    enum { STEP = 512 };
    char out[4 + 3 * STEP];

    if (!(e->flags & MP_STREAM_ESCAPED)) {
        string_text(s, e->data, e->len);
        return;
    }
    s->escapes = true;
    for (size_t at = 0; at < e->len; at += STEP) {
        size_t n = e->len - at < STEP ? e->len - at : STEP;
        string_text(s, out, mp_unescape_feed(&s->unescape, e->data + at, n, out));
    }
}

static void end_string(struct mp_shape *s)
{
    struct mp_shape_node *node = &s->nodes[s->string];
    char out[4];

    if (s->escapes)
        string_text(s, out, mp_unescape_end(&s->unescape, out));
    s->in_string = false;
    node->longest = s->chars > node->longest ? s->chars : node->longest;
    if (!node->more_samples)
        add_sample(node, s->begun, s->begun_len, s->begun_cut);
}

static void on_string(struct mp_shape *s, const struct mp_stream_event *e)
{
    if (e->flags & MP_STREAM_FIRST) {
        struct mp_shape_node *node = place(s, e->depth);
        s->string = node ? (uint8_t)(node - s->nodes) : NOWHERE;
        if (!node)
            return;
        node->strings++;
        if (e->flags & MP_STREAM_LAST && !(e->flags & MP_STREAM_ESCAPED)) {
            uint64_t chars = mp_shape_chars(e->data, e->len);
            node->longest = chars > node->longest ? chars : node->longest;
            if (!node->more_samples)
                add_sample(node, e->data, e->len, false);
            return;
        }
        s->in_string = true;
        s->escapes = false;
        s->chars = 0;
        s->begun_len = 0;
        s->begun_cut = false;
        memset(&s->unescape, 0, sizeof s->unescape);
    }
    if (s->string == NOWHERE)
        return;
    string_piece(s, e);
    if (e->flags & MP_STREAM_LAST)
        end_string(s);
}

static void on_scalar(struct mp_shape *s, const struct mp_stream_event *e)
{
    struct mp_shape_node *node = place(s, e->depth);

    if (!node)
        return;
    switch (e->kind) {
    case MP_STREAM_NUMBER:
        add_number(node, e);
        break;
    case MP_STREAM_TRUE:
        node->trues++;
        break;
    case MP_STREAM_FALSE:
        node->falses++;
        break;
    default:
        node->nulls++;
    }
}

enum mp_stream_answer mp_shape_event(void *arg, const struct mp_stream_event *e)
{
    struct mp_shape *s = arg;

    switch (e->kind) {
    case MP_STREAM_OBJECT:
    case MP_STREAM_ARRAY:
        return on_container(s, e);
    case MP_STREAM_END:
        on_end(s);
        break;
    case MP_STREAM_KEY:
        on_key(s, e);
        break;
    case MP_STREAM_STRING:
        on_string(s, e);
        break;
    case MP_STREAM_SCALAR:
    case MP_STREAM_RAW:
        break;
    default:
        on_scalar(s, e);
    }
    return MP_STREAM_GO;
}

/* The array or object that was opened last is not complete. */
static void leave_open(struct mp_shape *s)
{
    uint64_t n = s->frames[--s->depth].n;
    struct mp_shape_node *node = &s->nodes[s->frames[s->depth].node];
    bool object = s->frames[s->depth].object;

    node->open = true;
    if (object)
        widen(&node->least_keys, &node->most_keys, node->objects == 1,
              node->objects == 1 ? n : node->least_keys, n);
    else
        widen(&node->least, &node->most, node->arrays == 0,
              node->arrays == 0 ? n : node->least, n);
    node->arrays += !object;
}

void mp_shape_end(struct mp_shape *s)
{
    if (s->in_string)
        end_string(s);
    while (s->depth)
        leave_open(s);
}
