#include "content/shape.h"

#include "base/text.h"

#include <stdio.h>
#include <string.h>

enum { NOWHERE = 0xff, NAME_CHARS = 40 };

#define MORE "\xe2\x80\xa6"     /* … */
#define TIMES "\xc3\x97"        /* × */
#define AT_MOST "\xe2\x89\xa4"  /* ≤ */
#define AT_LEAST "\xe2\x89\xa5" /* ≥ */

/* ---- a line ---- */

static void add(struct mp_brief *b, const char *text, size_t len)
{
    if (b->full || len > sizeof b->text - b->len) {
        b->full = true;
        return;
    }
    memcpy(b->text + b->len, text, len);
    b->len += len;
}

void mp_brief_add(struct mp_brief *b, const char *text)
{
    add(b, text, strlen(text));
}

void mp_brief_addu(struct mp_brief *b, uint64_t number)
{
    char text[24];
    add(b, text, (size_t)snprintf(text, sizeof text, "%llu", (unsigned long long)number));
}

static void add_character(struct mp_brief *b, const char *text, size_t size)
{
    static const char escapes[] = "\"\"\\\\\nn\rr\tt"; /* what, and as which letter */
    char out[16];

    for (const char *e = escapes; *e; e += 2)
        if (*text == *e) {
            char escape[] = {'\\', e[1]};
            add(b, escape, sizeof escape);
            return;
        }
    add(b, out, mp_escape(text, &size, false, false, out, sizeof out));
}

void mp_brief_quote(struct mp_brief *b, const char *text, size_t len, size_t chars,
                    bool cut)
{
    size_t at = 0;

    add(b, "\"", 1);
    for (; at < len && chars; chars--) {
        size_t left = len - at;
        size_t size = mp_utf8_len((const unsigned char *)text + at, left);
        if (size == 0 && cut && left < 4 && (text[at] & 0xc0) == 0xc0)
            break; /* a character that was cut */
        size = size ? size : 1;
        add_character(b, text + at, size);
        at += size;
    }
    mp_brief_add(b, cut || at < len ? MORE "\"" : "\"");
}

static bool is_name(const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        char c = text[i];
        bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
        if (!letter && (i == 0 || !((c >= '0' && c <= '9') || c == '-')))
            return false;
    }
    return len > 0;
}

void mp_brief_name(struct mp_brief *b, const char *text, size_t len, bool cut)
{
    if (!cut && len <= NAME_CHARS && is_name(text, len))
        add(b, text, len);
    else
        mp_brief_quote(b, text, len, NAME_CHARS, cut);
}

/* ---- a shape ---- */

/* How much of it is shown. */
struct detail {
    uint32_t depth;
    unsigned keys, samples;
};

struct printer {
    const struct mp_shape *s;
    struct mp_brief *b;
    const struct detail *detail;
};

static void print_node(const struct printer *to, const struct mp_shape_node *node,
                       uint32_t depth);

/* 5, 0..5, and of what was cut ≥ 5 */
static void print_count(struct mp_brief *b, uint64_t least, uint64_t most, bool open)
{
    if (open) {
        mp_brief_add(b, AT_LEAST " ");
    } else if (least != most) {
        mp_brief_addu(b, least);
        mp_brief_add(b, "..");
    }
    mp_brief_addu(b, most);
}

static void print_key(struct mp_brief *b, const struct mp_shape_node *key)
{
    mp_brief_name(b, key->key, key->key_kept, key->key_len > key->key_kept);
}

static void print_map(const struct printer *to, const struct mp_shape_node *node,
                      uint32_t depth)
{
    const struct mp_shape_node *key = &to->s->nodes[node->first];

    mp_brief_add(to->b, "{");
    mp_brief_quote(to->b, key->key, key->key_kept, NAME_CHARS,
                   key->key_len > key->key_kept);
    mp_brief_add(to->b, ", " MORE ": ");
    print_node(to, key, depth + 1);
    mp_brief_add(to->b, " " TIMES " ");
    print_count(to->b, node->least_keys, node->most_keys, node->open);
    mp_brief_add(to->b, "}");
}

/* Keys that are not shown. How many different ones there are is known of one object, and
 * of objects that seem to have the same. */
static void print_others(const struct printer *to, const struct mp_shape_node *node,
                         unsigned shown)
{
    uint64_t hidden = node->n_keys - shown, others = node->others;
    bool known = others == 0 || node->objects == 1;

    if (hidden + others == 0)
        return;
    if (!known && others % node->objects == 0 && node->least_keys == node->most_keys &&
        others / node->objects == node->most_keys - node->n_keys) {
        others /= node->objects;
        known = true;
    }
    mp_brief_add(to->b, shown ? ", " MORE " " : MORE " ");
    if (known) {
        mp_brief_addu(to->b, hidden + others);
        mp_brief_add(to->b, " ");
    }
    mp_brief_add(to->b, known && hidden + others == 1 ? "more key" : "more keys");
}

static void print_object(const struct printer *to, const struct mp_shape_node *node,
                         uint32_t depth)
{
    unsigned shown = 0;

    if (depth >= to->detail->depth &&
        (node->first != NOWHERE || depth == MP_SHAPE_DEPTH)) {
        mp_brief_add(to->b, "{" MORE "}");
        return;
    }
    if (node->map) {
        print_map(to, node, depth);
        return;
    }
    mp_brief_add(to->b, "{");
    for (uint8_t i = node->first; i != NOWHERE && shown < to->detail->keys; shown++) {
        const struct mp_shape_node *key = &to->s->nodes[i];
        mp_brief_add(to->b, shown ? ", " : "");
        print_key(to->b, key);
        /* the last object may have had it, had it not been cut */
        bool optional = key->present + node->open < node->objects && !node->starved;
        mp_brief_add(to->b, optional ? "?: " : ": ");
        print_node(to, key, depth + 1);
        i = key->next;
    }
    print_others(to, node, shown);
    if (node->open && node->objects == 1) /* more may have followed */
        mp_brief_add(to->b, shown ? ", " MORE : MORE);
    mp_brief_add(to->b, "}");
}

static void print_array(const struct printer *to, const struct mp_shape_node *node,
                        uint32_t depth)
{
    if (depth == MP_SHAPE_DEPTH || (node->most == 0 && node->open)) {
        mp_brief_add(to->b, "[" MORE "]");
        return;
    }
    if (node->most == 0) {
        mp_brief_add(to->b, "[]");
        return;
    }
    mp_brief_add(to->b, "[");
    print_count(to->b, node->least, node->most, node->open);
    mp_brief_add(to->b, " " TIMES " ");
    if (depth >= to->detail->depth || node->elements == NOWHERE)
        mp_brief_add(to->b, MORE);
    else
        print_node(to, &to->s->nodes[node->elements], depth + 1);
    mp_brief_add(to->b, "]");
}

static void print_strings(const struct printer *to, const struct mp_shape_node *node)
{
    unsigned shown = node->n_samples, all = shown;

    if (shown > to->detail->samples)
        shown = to->detail->samples;
    bool others = node->more_samples || shown < all;
    for (unsigned i = 0; i < shown; i++)
        others |= node->samples[i].cut;
    mp_brief_add(to->b, "string");
    if (others) { /* whose lengths are not seen */
        mp_brief_add(to->b, " " AT_MOST " ");
        mp_brief_addu(to->b, node->longest);
    }
    for (unsigned i = 0; i < shown; i++) {
        const struct mp_shape_sample *sample = &node->samples[i];
        mp_brief_add(to->b, i ? ", " : " (");
        mp_brief_quote(to->b, sample->text, sample->len, MP_SHAPE_SAMPLE, sample->cut);
    }
    if (shown)
        mp_brief_add(to->b, node->more_samples || shown < all ? ", " MORE ")" : ")");
}

static void print_numbers(const struct printer *to, const struct mp_shape_node *node)
{
    char least[24], most[24];
    const char *from = node->least_text, *up_to = node->most_text;

    snprintf(least, sizeof least, "%lld", (long long)node->least_integer);
    snprintf(most, sizeof most, "%lld", (long long)node->most_integer);
    if (!node->reals ||
        (node->integers && (double)node->least_integer < node->least_real))
        from = least;
    if (!node->reals || (node->integers && (double)node->most_integer > node->most_real))
        up_to = most;
    mp_brief_add(to->b, node->reals ? "number " : "integer ");
    mp_brief_add(to->b, from);
    if (strcmp(from, up_to) != 0) {
        mp_brief_add(to->b, "..");
        mp_brief_add(to->b, up_to);
    }
}

static void print_node(const struct printer *to, const struct mp_shape_node *node,
                       uint32_t depth)
{
    size_t before = to->b->len;

#define EITHER mp_brief_add(to->b, to->b->len > before ? " | " : "")
    if (node->objects) {
        print_object(to, node, depth);
    }
    if (node->arrays) {
        EITHER;
        print_array(to, node, depth);
    }
    if (node->strings) {
        EITHER;
        print_strings(to, node);
    }
    if (node->integers || node->reals) {
        EITHER;
        print_numbers(to, node);
    }
    if (node->trues || node->falses) {
        EITHER;
        mp_brief_add(to->b, !node->trues ? "false" : !node->falses ? "true" : "boolean");
    }
    if (node->nulls) {
        EITHER;
        mp_brief_add(to->b, "null");
    }
#undef EITHER
    if (to->b->len == before) /* of which nothing came before it was cut */
        mp_brief_add(to->b, MORE);
}

void mp_shape_print(const struct mp_shape *s, struct mp_brief *b)
{
    static const struct detail details[] = {
        {MP_SHAPE_DEPTH, MP_SHAPE_KEYS, 2},
        {MP_SHAPE_DEPTH, MP_SHAPE_KEYS, 1},
        {MP_SHAPE_DEPTH, MP_SHAPE_KEYS, 0},
        {4, 16, 0},
        {3, 12, 0},
        {2, 8, 0},
        {1, 4, 0},
        {0, 0, 0},
    };
    size_t before = b->len, n = sizeof details / sizeof details[0];

    for (size_t i = 0; i < n; i++) {
        struct printer to = {s, b, &details[i]};
        b->len = before;
        b->full = false;
        print_node(&to, &s->nodes[0], 0);
        if (!b->full)
            return;
    }
}
