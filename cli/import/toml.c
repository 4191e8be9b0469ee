#include "cli/import/toml.h"

#include "base/error.h"
#include "base/mem.h"
#include "base/text.h"
#include "cli/import/toml_scalar.h"

#define TEXT_MAX ((size_t)1 << 20)
#define DEPTH_MAX 32
#define VALUES_MAX 100000
#define HELD_MAX (16 * TEXT_MAX) /* keys and values, as they are kept */

/* Tables may be opened again and be filled by dotted keys, so a tree comes first. */
enum kind {
    SCALAR,
    ARRAY,  /* [ .. ] */
    TABLES, /* [[ .. ]] */
    TABLE,
};
enum origin {
    IMPLIED, /* on the way of a header: may be defined once */
    DEFINED, /* by its own header */
    DOTTED,  /* by dotted keys: more of them may follow */
    INLINE,  /* complete */
};

struct node {
    uint8_t kind, origin, depth;
    uint8_t level;             /* in the tree of its siblings */
    struct node *left, *right; /* siblings by key, balanced (AA tree) */
    struct node *by_key;       /* a table's members */
    struct node *first, *last; /* children in the order of the text */
    struct node *next, *older; /* sibling; every node made before */
    size_t key, key_len;       /* in `held` */
    size_t value, value_len;   /* likewise: JSON text of a scalar */
};

struct toml {
    struct cli_toml_reader in;
    struct mp_str held;
    struct node *root, *table; /* that keys go to */
    struct node *newest;
    size_t n_values;
};

static int fail_big(struct toml *t, const char *what)
{
    t->in.fault_at = t->in.at;
    return mp_fail(t->in.err, MCPLUG_ETOOBIG, "%s", what);
}

/* How much of a key fits a message. */
static int shown(const struct toml *t, const struct node *key)
{
    size_t n = key->key_len < 60 ? key->key_len : 60;
    while (n < key->key_len && n > 0 && (t->held.data[key->key + n] & 0xc0) == 0x80)
        n--;
    return (int)n;
}

#define KEY(t, node) shown(t, node), (t)->held.data + (node)->key

/* ---- the tree ---- */

static int compare(const struct toml *t, const struct node *a, const struct node *b)
{
    size_t n = a->key_len < b->key_len ? a->key_len : b->key_len;
    int c = n ? memcmp(t->held.data + a->key, t->held.data + b->key, n) : 0;
    return c ? c : (a->key_len > b->key_len) - (a->key_len < b->key_len);
}

static struct node *find(const struct toml *t, const struct node *table,
                         const struct node *key)
{
    struct node *at = table->by_key;
    while (at) {
        int c = compare(t, key, at);
        if (c == 0)
            break;
        at = c < 0 ? at->left : at->right;
    }
    return at;
}

static struct node *skew(struct node *n)
{
    struct node *l = n->left;
    if (!l || l->level != n->level)
        return n;
    n->left = l->right;
    l->right = n;
    return l;
}

static struct node *split(struct node *n)
{
    struct node *r = n->right;
    if (!r || !r->right || r->right->level != n->level)
        return n;
    n->right = r->left;
    r->left = n;
    r->level++;
    return r;
}

static struct node *insert(const struct toml *t, struct node *at, struct node *n)
{
    if (!at)
        return n;
    if (compare(t, n, at) < 0)
        at->left = insert(t, at->left, n);
    else
        at->right = insert(t, at->right, n);
    return split(skew(at));
}

/* Makes the last child of `parent`, under the key of `key` when it is a table. */
static int add(struct toml *t, struct node *parent, const struct node *key,
               enum kind kind, enum origin origin, struct node **out)
{
    if (parent->depth == DEPTH_MAX)
        return fail_big(t, "tables and arrays nest too deep");
    if (t->n_values == VALUES_MAX)
        return fail_big(t, "too many values");
    struct node *n = mp_alloc(sizeof *n);
    if (!n)
        return mp_fail_nomem(t->in.err);
    t->n_values++;
    n->older = t->newest;
    t->newest = n;
    n->kind = (uint8_t)kind;
    n->origin = (uint8_t)origin;
    n->depth = (uint8_t)(parent->depth + 1);
    n->level = 1;
    if (parent->last)
        parent->last->next = n;
    else
        parent->first = n;
    parent->last = n;
    if (key) {
        n->key = key->key;
        n->key_len = key->key_len;
        parent->by_key = insert(t, parent->by_key, n);
    }
    *out = n;
    return MCPLUG_OK;
}

/* ---- blanks ---- */

static void skip_blanks(struct toml *t)
{
    while (cli_toml_peek(&t->in, 0) == ' ' || cli_toml_peek(&t->in, 0) == '\t')
        t->in.at++;
}

static int skip_comment(struct toml *t)
{
    if (cli_toml_peek(&t->in, 0) != '#')
        return MCPLUG_OK;
    for (;; t->in.at++) {
        int c = cli_toml_peek(&t->in, 0);
        if (c < 0 || c == '\n' || (c == '\r' && cli_toml_peek(&t->in, 1) == '\n'))
            return MCPLUG_OK;
        if ((c < 0x20 && c != '\t') || c == 0x7f)
            return cli_toml_unexpected(&t->in, "more of the comment");
    }
}

/* Blanks, comments and line ends, as they may stand in an array. */
static int skip_lines(struct toml *t)
{
    int e;
    do {
        skip_blanks(t);
        e = skip_comment(t);
    } while (!e && cli_toml_newline(&t->in));
    return e;
}

/* ---- keys ---- */

static bool is_bare(int c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           c == '_' || c == '-';
}

/* One part of a key; `out` borrows nothing but the place in `held`. */
static int read_part(struct toml *t, struct node *out)
{
    int c = cli_toml_peek(&t->in, 0), e = MCPLUG_OK;

    memset(out, 0, sizeof *out);
    out->key = t->held.len;
    if (c == '"' || c == '\'')
        e = cli_toml_string(&t->in, false, &t->held);
    else if (!is_bare(c))
        e = cli_toml_unexpected(&t->in, "a key");
    else
        for (; is_bare(cli_toml_peek(&t->in, 0)); t->in.at++)
            mp_str_addc(&t->held, (char)cli_toml_peek(&t->in, 0));
    if (!e && t->held.failed)
        e = mp_fail_nomem(t->in.err);
    out->key_len = t->held.len - out->key;
    return e;
}

/* Behind a part: does another one follow? */
static bool next_part(struct toml *t)
{
    skip_blanks(t);
    if (cli_toml_peek(&t->in, 0) != '.')
        return false;
    t->in.at++;
    skip_blanks(t);
    return true;
}

/* One step of a header's way: into a table, or the last one of [[ .. ]]. */
static int enter(struct toml *t, size_t at, const struct node *key, struct node **table)
{
    struct node *n = find(t, *table, key);
    if (!n)
        return add(t, *table, key, TABLE, IMPLIED, table);
    if (n->kind == TABLES)
        n = n->last;
    if (n->kind != TABLE || n->origin == INLINE)
        return cli_toml_fail(
            &t->in, at, "\"%.*s\" already has a value and is not a table", KEY(t, key));
    *table = n;
    return MCPLUG_OK;
}

static int open_table(struct toml *t, size_t at, const struct node *key)
{
    struct node *n = find(t, t->table, key);
    if (!n)
        return add(t, t->table, key, TABLE, DEFINED, &t->table);
    if (n->kind == TABLE && n->origin != IMPLIED && n->origin != INLINE)
        return cli_toml_fail(&t->in, at, "the table \"%.*s\" is given twice",
                             KEY(t, key));
    if (n->kind != TABLE || n->origin != IMPLIED)
        return cli_toml_fail(&t->in, at, "\"%.*s\" is given twice", KEY(t, key));
    n->origin = DEFINED;
    t->table = n;
    return MCPLUG_OK;
}

static int append_table(struct toml *t, size_t at, const struct node *key)
{
    struct node *n = find(t, t->table, key);
    int e = MCPLUG_OK;
    if (!n)
        e = add(t, t->table, key, TABLES, DEFINED, &n);
    else if (n->kind != TABLES)
        e = cli_toml_fail(&t->in, at, "\"%.*s\" is given already, but not as [[..]]",
                          KEY(t, key));
    return e ? e : add(t, n, NULL, TABLE, DEFINED, &t->table);
}

/* [a.b] or [[a.b]] */
static int read_header(struct toml *t)
{
    bool array = cli_toml_peek(&t->in, 1) == '[', more = true;
    struct node key;

    t->table = t->root;
    t->in.at += array ? 2 : 1;
    skip_blanks(t);
    while (more) {
        size_t at = t->in.at;
        int e = read_part(t, &key);
        if (e)
            return e;
        more = next_part(t);
        e = more    ? enter(t, at, &key, &t->table)
            : array ? append_table(t, at, &key)
                    : open_table(t, at, &key);
        if (e)
            return e;
    }
    for (int i = 0; i < 1 + array; i++, t->in.at++)
        if (cli_toml_peek(&t->in, 0) != ']')
            return cli_toml_unexpected(&t->in, array ? "]]" : "]");
    return MCPLUG_OK;
}

/* ---- values ---- */

static int read_value(struct toml *t, struct node *parent, const struct node *key);

/* One step of a dotted key: into a table that other dotted keys made. */
static int enter_dotted(struct toml *t, size_t at, const struct node *key,
                        struct node **table)
{
    struct node *n = find(t, *table, key);
    if (!n)
        return add(t, *table, key, TABLE, DOTTED, table);
    if (n->kind != TABLE || n->origin != DOTTED)
        return cli_toml_fail(
            &t->in, at, "\"%.*s\" is given already, and can't be added to", KEY(t, key));
    *table = n;
    return MCPLUG_OK;
}

/* a.b = value */
static int read_member(struct toml *t, struct node *table)
{
    struct node key;
    for (;;) {
        size_t at = t->in.at;
        int e = read_part(t, &key);
        if (e)
            return e;
        if (!next_part(t)) {
            if (find(t, table, &key))
                return cli_toml_fail(&t->in, at, "\"%.*s\" is given twice", KEY(t, &key));
            break;
        }
        if ((e = enter_dotted(t, at, &key, &table)))
            return e;
    }
    if (cli_toml_peek(&t->in, 0) != '=')
        return cli_toml_unexpected(&t->in, "=");
    t->in.at++;
    skip_blanks(t);
    return read_value(t, table, &key);
}

static int read_inline(struct toml *t, struct node *table)
{
    t->in.at++;
    skip_blanks(t);
    if (cli_toml_peek(&t->in, 0) == '}') {
        t->in.at++;
        return MCPLUG_OK;
    }
    for (;;) {
        int e = read_member(t, table);
        if (e)
            return e;
        skip_blanks(t);
        int c = cli_toml_peek(&t->in, 0);
        if (c != ',' && c != '}')
            return cli_toml_unexpected(&t->in, ", or }");
        t->in.at++;
        if (c == '}')
            return MCPLUG_OK;
        skip_blanks(t);
    }
}

static int read_array(struct toml *t, struct node *array)
{
    bool comma = true;
    t->in.at++;
    for (;;) {
        int e = skip_lines(t);
        if (e)
            return e;
        int c = cli_toml_peek(&t->in, 0);
        if (c == ']') {
            t->in.at++;
            return MCPLUG_OK;
        }
        if (c == ',' && !comma) {
            t->in.at++;
            comma = true;
            continue;
        }
        if (!comma)
            return cli_toml_unexpected(&t->in, ", or ]");
        if ((e = read_value(t, array, NULL)))
            return e;
        comma = false;
    }
}

static int read_value(struct toml *t, struct node *parent, const struct node *key)
{
    int c = cli_toml_peek(&t->in, 0);
    struct node *n;
    int e = add(t, parent, key, c == '[' ? ARRAY : c == '{' ? TABLE : SCALAR, INLINE, &n);
    if (e)
        return e;
    if (c == '[')
        return read_array(t, n);
    if (c == '{')
        return read_inline(t, n);
    n->value = t->held.len;
    e = cli_toml_scalar(&t->in, &t->held);
    n->value_len = t->held.len - n->value;
    return !e && t->held.failed ? mp_fail_nomem(t->in.err) : e;
}

/* ---- the document ---- */

static int read_line(struct toml *t)
{
    int e = MCPLUG_OK;
    skip_blanks(t);
    int c = cli_toml_peek(&t->in, 0);
    if (c == '[')
        e = read_header(t);
    else if (c >= 0 && c != '#' && c != '\n' && c != '\r')
        e = read_member(t, t->table);
    if (e)
        return e;
    skip_blanks(t);
    if ((e = skip_comment(t)))
        return e;
    if (cli_toml_peek(&t->in, 0) >= 0 && !cli_toml_newline(&t->in))
        return cli_toml_unexpected(&t->in, "the end of the line");
    return MCPLUG_OK;
}

static int check_utf8(struct toml *t)
{
    for (size_t i = 0; i < t->in.len;) {
        size_t n = mp_utf8_len((const unsigned char *)t->in.text + i, t->in.len - i);
        if (n == 0)
            return cli_toml_fail(&t->in, i, "bytes that are not UTF-8");
        i += n;
    }
    return MCPLUG_OK;
}

/* `t->held` is complete. Recursion ends at DEPTH_MAX. */
static void write_node(const struct toml *t, const struct node *n, struct mp_str *out)
{
    if (n->kind == SCALAR) {
        mp_str_add(out, t->held.data + n->value, n->value_len);
        return;
    }
    mp_str_addc(out, n->kind == TABLE ? '{' : '[');
    for (const struct node *child = n->first; child; child = child->next) {
        if (child != n->first)
            mp_str_addc(out, ',');
        if (n->kind == TABLE) {
            mp_str_add_json(out, t->held.data + child->key, child->key_len);
            mp_str_addc(out, ':');
        }
        write_node(t, child, out);
    }
    mp_str_addc(out, n->kind == TABLE ? '}' : ']');
}

static int read_document(struct toml *t)
{
    struct node top = {.depth = 0};
    if (t->in.len > TEXT_MAX)
        return fail_big(t, "the text is longer than 1 MiB");
    int e = check_utf8(t);
    if (!e)
        e = add(t, &top, NULL, TABLE, DEFINED, &t->root);
    if (e)
        return e;
    t->table = t->root;
    if (t->in.len >= 3 && memcmp(t->in.text, "\xef\xbb\xbf", 3) == 0)
        t->in.at = 3;
    while (!e && t->in.at < t->in.len)
        e = read_line(t);
    return e;
}

int cli_toml_to_json(mp_view text, struct mp_str *out, struct mp_place *at,
                     struct mcplug_error *err)
{
    struct toml t = {
        .in = {.text = (const char *)text.data, .len = text.len, .err = err}};

    mp_str_init(&t.held, HELD_MAX);
    mp_str_adds(&t.held, ""); /* so that keys may be empty */
    int e = t.held.failed ? mp_fail_nomem(err) : read_document(&t);
    if (!e) {
        write_node(&t, t.root, out);
        if (out->failed)
            e = mp_fail(err, MCPLUG_ENOMEM, "out of memory for the values of the text");
    } else if (at) {
        *at = mp_place_of(text, t.in.fault_at);
    }
    while (t.newest) {
        struct node *n = t.newest;
        t.newest = n->older;
        mp_free(n);
    }
    mp_str_clear(&t.held);
    return e;
}
