#include "config/expand.h"

#include "base/error.h"
#include "base/text.h"

/* A text is read in one of three ways. CHECK comes before EXPAND, so that no command runs
 * for a text that turns out to be malformed at its end. */
enum purpose { CHECK, EACH, EXPAND };

struct pass {
    enum purpose purpose;
    const struct mp_expansion *e;              /* of EXPAND */
    void (*each)(void *arg, const char *name); /* of EACH */
    void *arg;
    struct mp_str *out;
    size_t start;              /* the length of `out` before */
    char name[MP_EXPAND_NAME]; /* what is asked for now, as a C string */
    struct mcplug_error *err;
};

static int read_text(struct pass *x, const char *p, const char *end, unsigned depth);

/* ---- letters ---- */

static bool in_vault(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
}

static bool in_variable(char c)
{
    return c == '_' || (c != '-' && in_vault(mp_lower(c)));
}

/* ---- what is put in ---- */

static int too_big(struct pass *x)
{
    return mp_fail(x->err, MCPLUG_ETOOBIG, "is longer than %zu bytes once expanded",
                   MP_EXPAND_MAX);
}

static int add(struct pass *x, const char *text, size_t len)
{
    if (x->purpose != EXPAND || len == 0)
        return MCPLUG_OK;
    if (len > MP_EXPAND_MAX - (x->out->len - x->start))
        return too_big(x);
    if (!mp_str_add(x->out, text, len))
        return x->out->len + len > x->out->max ? too_big(x) : mp_fail_nomem(x->err);
    return MCPLUG_OK;
}

/* Copies the `len` bytes that name what is wanted into x->name. */
static int take_name(struct pass *x, const char *from, size_t len)
{
    if (len >= sizeof x->name)
        return mp_fail(x->err, MCPLUG_ETOOBIG,
                       "the text between \"${\" and \"}\" is longer than %zu bytes",
                       sizeof x->name - 1);
    memcpy(x->name, from, len);
    x->name[len] = '\0';
    return MCPLUG_OK;
}

/* `word` is what stands before the `:-` or the `}`. */
static int take_variable(struct pass *x, const char *word, const char *end)
{
    if (word == end)
        return mp_fail(x->err, MCPLUG_ECONFIG, "\"${\" is not followed by a name");
    const char *stop = word;
    while (stop < end && in_variable(*stop))
        stop++;
    if (stop < end) /* behind it may be what should stay unseen: ${KEY-abc} */
        return mp_fail(x->err, MCPLUG_ECONFIG,
                       "\"${%.*s..\": a variable's name is letters, digits and _, and a "
                       "default begins with \":-\"",
                       (int)(stop - word > 40 ? 40 : stop - word), word);
    return take_name(x, word, (size_t)(end - word));
}

/* Puts in the variable x->name; `*used` tells whether there was a value for it. */
static int add_variable(struct pass *x, bool may_be_empty, bool *used)
{
    *used = false;
    if (x->purpose == EACH)
        x->each(x->arg, x->name);
    if (x->purpose != EXPAND)
        return MCPLUG_OK;
    const char *value = x->e->variable(x->e->arg, x->name);
    *used = value && (may_be_empty || value[0]);
    return *used ? add(x, value, strlen(value)) : MCPLUG_OK;
}

/* x->name is "kind:name", its colon at `colon`. */
static int add_secret(struct pass *x, size_t colon)
{
    struct mp_str *out = x->out;

    if (x->purpose == EACH)
        x->each(x->arg, x->name);
    if (x->purpose != EXPAND)
        return MCPLUG_OK;
    x->name[colon] = '\0';
    const char *kind = x->name, *name = x->name + colon + 1;
    if (!x->e->secret)
        return mp_fail(x->err, MCPLUG_ECONFIG, "${%.40s:..} cannot be used here", kind);
    size_t before = out->len;
    int r = x->e->secret(x->e->arg, kind, name, out, x->err);
    if (r != MCPLUG_OK)
        return r;
    if (out->failed)
        return mp_fail_nomem(x->err);
    if (out->len - x->start > MP_EXPAND_MAX)
        return too_big(x);
    if (out->len > before && memchr(out->data + before, '\0', out->len - before))
        return mp_fail(x->err, MCPLUG_ECONFIG, "%.40s:%.100s: has a NUL byte", kind,
                       name);
    return MCPLUG_OK;
}

/* ---- references; `*at` is behind the "${" and is moved behind the "}" ---- */

/* The brace that closes what was opened before `p`, or NULL. */
static const char *find_close(const char *p, const char *end)
{
    for (size_t open = 1; p < end; p++) {
        if (*p == '}' && --open == 0)
            return p;
        if (*p == '$' && end - p > 1 && p[1] == '{') {
            open++;
            p++;
        }
    }
    return NULL;
}

/* How others write it, and how it is written here. */
static int check_kind(struct pass *x, const char *word, const char *colon,
                      const char *close)
{
    size_t len = (size_t)(colon - word);
    int name = (int)(close - colon - 1 > 60 ? 60 : close - colon - 1);
    const char *shown = colon + 1;

    if (len == 3 && memcmp(word, "env", 3) == 0)
        return mp_fail(x->err, MCPLUG_ECONFIG,
                       "\"${env:%.*s}\": write \"${%.*s}\" for a variable", name, shown,
                       name, shown);
    if (len == 5 && memcmp(word, "input", 5) == 0)
        return mp_fail(x->err, MCPLUG_ECONFIG,
                       "\"${input:%.*s}\": inputs are not supported; write \"${%.*s}\" "
                       "for a variable or \"${keyring:%.*s}\" for a stored secret",
                       name, shown, name, shown, name, shown);
    if (len == 0)
        return mp_fail(x->err, MCPLUG_ECONFIG, "\"${\" is not followed by a name");
    while (word < colon && in_vault(*word))
        word++;
    if (word < colon)
        return mp_fail(x->err, MCPLUG_ECONFIG,
                       "\"${%.*s:\": a default begins with \":-\", and the name of a "
                       "vault has lower-case letters, digits and -",
                       len > 40 ? 40 : (int)len, word);
    if (colon + 1 == close)
        return mp_fail(x->err, MCPLUG_ECONFIG, "\"${%.*s:}\" has no name after the colon",
                       len > 40 ? 40 : (int)len, colon - len);
    return MCPLUG_OK;
}

static int read_reference(struct pass *x, const char **at, const char *end,
                          unsigned depth)
{
    const char *word = *at, *stop = word, *close;
    bool used = false;
    int r;

    if (depth >= MP_EXPAND_DEPTH)
        return mp_fail(x->err, MCPLUG_ECONFIG,
                       "\"${\" is nested more than %d levels deep", MP_EXPAND_DEPTH);
    while (stop < end && (in_variable(*stop) || *stop == '-'))
        stop++;
    bool colon = stop < end && *stop == ':';
    bool fallback = colon && end - stop > 1 && stop[1] == '-';
    close =
        fallback ? find_close(stop + 2, end) : memchr(stop, '}', (size_t)(end - stop));
    if (!close)
        return mp_fail(x->err, MCPLUG_ECONFIG, "\"${\" has no closing \"}\"");
    *at = close + 1;
    if (colon && !fallback) {
        r = check_kind(x, word, stop, close);
        if (r == MCPLUG_OK)
            r = take_name(x, word, (size_t)(close - word));
        return r == MCPLUG_OK ? add_secret(x, (size_t)(stop - word)) : r;
    }
    r = take_variable(x, word, fallback ? stop : close);
    if (r == MCPLUG_OK)
        r = add_variable(x, !fallback, &used);
    if (r != MCPLUG_OK || used)
        return r;
    if (fallback)
        return read_text(x, stop + 2, close, depth + 1);
    if (x->purpose == EXPAND && x->e->missing)
        x->e->missing(x->e->arg, x->name);
    return add(x, word - 2, (size_t)(close + 1 - (word - 2)));
}

static int read_text(struct pass *x, const char *p, const char *end, unsigned depth)
{
    int r = MCPLUG_OK;

    while (r == MCPLUG_OK && p < end) {
        const char *open = memmem(p, (size_t)(end - p), "${", 2);
        bool text = open && open > p && open[-1] == '$'; /* $${ is ${ */
        r = add(x, p, (size_t)((open ? open : end) - p) - text);
        p = open ? open + 2 : end;
        if (r == MCPLUG_OK && text)
            r = add(x, open, 2);
        else if (r == MCPLUG_OK && open)
            r = read_reference(x, &p, end, depth);
    }
    return r;
}

/* ---- the two ways in ---- */

int mp_expand(const struct mp_expansion *e, const char *text, struct mp_str *out,
              struct mcplug_error *err)
{
    struct pass x = {.purpose = CHECK, .e = e, .out = out, .start = out->len, .err = err};
    const char *end = text + strlen(text);

    int r = read_text(&x, text, end, 0);
    x.purpose = EXPAND;
    if (r == MCPLUG_OK)
        r = read_text(&x, text, end, 0);
    if (r != MCPLUG_OK && out->len > x.start) {
        explicit_bzero(out->data + x.start, out->len - x.start);
        out->len = x.start;
    }
    explicit_bzero(x.name, sizeof x.name);
    return r;
}

void mp_expand_each(const char *text, void (*fn)(void *arg, const char *name), void *arg)
{
    struct pass x = {.purpose = EACH, .each = fn, .arg = arg};

    read_text(&x, text, text + strlen(text), 0);
}

size_t mp_expand_reference(const char *p)
{
    const char *word = p + 2, *stop = word, *close = NULL;

    if (p[0] != '$' || p[1] != '{')
        return 0;
    while (in_variable(*stop))
        stop++;
    if (*stop == '}' && stop > word)
        return (size_t)(stop + 1 - p);
    for (stop = word; in_vault(*stop);)
        stop++;
    if (stop > word && *stop == ':' && stop[1] != '-' && strncmp(word, "cmd:", 4) != 0)
        close = memchr(stop, '}', strnlen(stop, MP_EXPAND_NAME));
    return close ? (size_t)(close + 1 - p) : 0;
}
