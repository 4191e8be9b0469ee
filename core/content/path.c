#include "content/path.h"

#include "base/buf.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/text.h"
#include "json/skip.h"
#include "json/stream.h"
#include "json/walk.h"

#include <stdio.h>

/* An escape is at most six times as long as what it stands for: a key that the stream has
 * cut is longer than any of a path. */
_Static_assert(6 * MP_PATH_KEY_MAX <= MP_STREAM_HELD, "keys of paths must fit");

enum step_kind {
    MEMBER, /* of that name */
    RANGE,  /* elements */
    EACH    /* every element or member */
};

struct step {
    enum step_kind kind;
    bool slice;          /* of RANGE: not a single element */
    size_t key, key_len; /* of MEMBER: in `keys` */
    uint64_t from, to;   /* of RANGE and EACH: `to` is the first behind it */
};

struct mp_path {
    size_t n;
    struct step steps[MP_PATH_STEPS];
    struct mp_str keys;
};

/* ---- parsing ---- */

struct parser {
    const char *start, *p, *end;
    struct mp_path *path;
    struct mcplug_error *err;
};

static size_t column(const struct parser *in)
{
    size_t n = 1;
    for (const char *p = in->start; p < in->p; p++)
        n += (*p & 0xc0) != 0x80;
    return n;
}

static int expected(const struct parser *in, const char *what)
{
    size_t n = in->p < in->end
                   ? mp_utf8_len((const unsigned char *)in->p, (size_t)(in->end - in->p))
                   : 0;
    if (n)
        return mp_fail(in->err, MCPLUG_EINVAL, "column %zu: expected %s, got \"%.*s\"",
                       column(in), what, (int)n, in->p);
    return mp_fail(in->err, MCPLUG_EINVAL, "column %zu: expected %s, got the end",
                   column(in), what);
}

static int refused(const struct parser *in, const char *what)
{
    return mp_fail(in->err, MCPLUG_EINVAL, "column %zu: %s", column(in), what);
}

static bool at(const struct parser *in, char c)
{
    return in->p < in->end && *in->p == c;
}

static bool at_digit(const struct parser *in)
{
    return in->p < in->end && *in->p >= '0' && *in->p <= '9';
}

static void spaces(struct parser *in)
{
    while (at(in, ' ') || at(in, '\t') || at(in, '\n') || at(in, '\r'))
        in->p++;
}

static int add_step(struct parser *in, const struct step *step)
{
    if (in->path->n == MP_PATH_STEPS)
        return mp_fail(in->err, MCPLUG_EINVAL, "column %zu: more than %d steps",
                       column(in), MP_PATH_STEPS);
    in->path->steps[in->path->n++] = *step;
    return MCPLUG_OK;
}

/* The name that was added to `keys` from `from` on. */
static int add_member(struct parser *in, size_t from)
{
    const struct mp_str *keys = &in->path->keys;
    struct step step = {.kind = MEMBER, .key = from, .key_len = keys->len - from};

    if (keys->failed)
        return mp_fail_nomem(in->err);
    if (step.key_len > MP_PATH_KEY_MAX)
        return mp_fail(in->err, MCPLUG_EINVAL,
                       "column %zu: the name is longer than %d bytes", column(in),
                       MP_PATH_KEY_MAX);
    return add_step(in, &step);
}

static int parse_string(struct parser *in)
{
    const unsigned char *from = (const unsigned char *)in->p;
    const unsigned char *to = mp_skip_string(from, (const unsigned char *)in->end);
    size_t before = in->path->keys.len, len = (size_t)(to - from);
    struct mcplug_error why = MCPLUG_ERROR_INIT;

    if (mp_scan_text(in->p, len, &mp_scan_defaults, NULL, &why) != MCPLUG_OK)
        return mp_fail(in->err, MCPLUG_EINVAL,
                       "column %zu: expected a name in quotes as JSON has it: %s",
                       column(in), why.text);
    mp_str_add_view(&in->path->keys, mp_bytes(from, len));
    int r = add_member(in, before);
    if (r == MCPLUG_OK)
        in->p += len;
    return r;
}

static bool begins_name(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$' ||
           c == '@' || c & 0x80;
}

/* A bare name; more than in jq, which has operators. */
static int parse_name(struct parser *in)
{
    const char *end = in->p;
    size_t before = in->path->keys.len;

    while (end < in->end &&
           (begins_name(*end) || *end == '-' || (*end >= '0' && *end <= '9')))
        end++;
    mp_str_add(&in->path->keys, in->p, (size_t)(end - in->p));
    int r = add_member(in, before);
    if (r == MCPLUG_OK)
        in->p = end;
    return r;
}

static int parse_index(struct parser *in, uint64_t *out)
{
    uint64_t n = 0;

    if (at(in, '-'))
        return refused(in, "an index from the end of an array is not supported, as it "
                           "needs all of the array in memory: use [N], [N:M] or [N:], "
                           "counted from 0");
    if (!at_digit(in))
        return expected(in, "an index");
    for (; at_digit(in); in->p++)
        if (__builtin_mul_overflow(n, 10, &n) ||
            __builtin_add_overflow(n, (uint64_t)(*in->p - '0'), &n) || n > INT64_MAX)
            return refused(in, "the index is too large");
    *out = n;
    return MCPLUG_OK;
}

/* Behind `[`: an index, or a slice with one or both of its ends. */
static int parse_range(struct parser *in, struct step *step)
{
    bool lower = !at(in, ':');
    int r = lower ? parse_index(in, &step->from) : MCPLUG_OK;

    step->kind = RANGE;
    step->to = step->from + 1;
    spaces(in);
    if (r != MCPLUG_OK || !at(in, ':'))
        return r;
    step->slice = true;
    step->to = UINT64_MAX;
    in->p++;
    spaces(in);
    if (!lower || !at(in, ']'))
        r = parse_index(in, &step->to);
    if (step->to <= step->from) /* empty from the first element on */
        step->from = step->to = 0;
    return r;
}

static int parse_bracket(struct parser *in)
{
    struct mp_path *path = in->path;
    bool in_slice = path->n && path->steps[path->n - 1].slice;
    struct step step = {.kind = EACH, .to = UINT64_MAX};
    int r = MCPLUG_OK;

    in->p++;
    spaces(in);
    if (at(in, '"')) {
        r = parse_string(in);
    } else if (at(in, ']')) {
        if (in_slice) /* which has selected its elements already */
            path->steps[path->n - 1].slice = false;
        else
            r = add_step(in, &step);
    } else if (in_slice) {
        r = expected(in, "] or a name in quotes behind a slice");
    } else if (at(in, '-') || at(in, ':') || at_digit(in)) {
        r = parse_range(in, &step);
        if (r == MCPLUG_OK)
            r = add_step(in, &step);
    } else {
        r = expected(in, "an index, a slice such as 2:5, a name in quotes or ]");
    }
    spaces(in);
    if (r == MCPLUG_OK && !at(in, ']'))
        r = expected(in, "]");
    if (r == MCPLUG_OK)
        in->p++;
    return r;
}

/* One step, with the dot before it. */
static int parse_step(struct parser *in)
{
    bool dot = at(in, '.');
    int r;

    in->p += dot;
    if (at(in, '['))
        r = parse_bracket(in);
    else if (!dot)
        r = expected(in, in->p == in->start ? "a path that begins with . or [, such as "
                                              ".items[0].name"
                                            : ". or [");
    else if (at(in, '"'))
        r = parse_string(in);
    else if (in->p < in->end && begins_name(*in->p))
        r = parse_name(in);
    else if (at_digit(in))
        r = expected(in, "a name, or an index in brackets such as [0]");
    else
        r = expected(in, "a name, a name in quotes or [");
    while (r == MCPLUG_OK && at(in, '?'))
        in->p++;
    return r;
}

static int parse(struct parser *in)
{
    int r = MCPLUG_OK;

    if (!mp_is_utf8(in->start))
        return mp_fail(in->err, MCPLUG_EINVAL, "a path must be UTF-8");
    spaces(in);
    while (in->end > in->p && mp_is_space((unsigned char)in->end[-1]))
        in->end--;
    in->start = in->p;
    if (in->end - in->p == 1 && at(in, '.'))
        return MCPLUG_OK;
    do {
        r = parse_step(in);
    } while (r == MCPLUG_OK && in->p < in->end);
    return r;
}

int mp_path_parse(const char *text, struct mp_path **out, struct mcplug_error *err)
{
    size_t len = strlen(text);

    if (len > MP_PATH_MAX)
        return mp_fail(err, MCPLUG_EINVAL, "a path is at most %d bytes long",
                       MP_PATH_MAX);
    struct mp_path *path = mp_alloc(sizeof *path);
    if (!path)
        return mp_fail_nomem(err);
    mp_str_init(&path->keys, MP_PATH_MAX);
    struct parser in = {text, text, text + len, path, err};
    int r = parse(&in);
    if (r == MCPLUG_OK)
        *out = mp_move(&path);
    mp_path_free(path);
    return r;
}

void mp_path_free(struct mp_path *path)
{
    if (!path)
        return;
    mp_str_clear(&path->keys);
    mp_free(path);
}

/* ---- a run ---- */

struct mp_select {
    const struct mp_path *path;
    mcplug_write_fn *write;
    void *arg;
    uint64_t count;
    bool matched;                 /* the last key: its value follows */
    uint64_t next[MP_PATH_STEPS]; /* the element of the array that step leads into */
    struct mp_stream stream;
};

/* Behind the value at `depth`, which its steps lead to: can any other match? */
static bool nothing_left(const struct mp_select *s, uint32_t depth)
{
    for (uint32_t i = 0; i < depth; i++)
        if (s->path->steps[i].kind != RANGE || s->next[i] < s->path->steps[i].to)
            return false;
    return true;
}

static bool key_matches(const struct mp_select *s, const struct mp_stream_event *e)
{
    const struct step *step = &s->path->steps[e->depth - 1];

    if (step->kind != MEMBER)
        return true;
    if (e->flags & MP_STREAM_CUT)
        return false;
    const char *key = s->path->keys.data + step->key;
    if (e->flags & MP_STREAM_ESCAPED)
        return mp_raw_equals(e->data, e->len, key, step->key_len);
    return e->len == step->key_len && memcmp(e->data, key, e->len) == 0;
}

/* The value begins, and the steps lead to what it is in. */
static enum mp_stream_answer on_value(struct mp_select *s,
                                      const struct mp_stream_event *e)
{
    const struct step *steps = s->path->steps;
    uint32_t depth = e->depth;

    if (depth && steps[depth - 1].kind == MEMBER) {
        if (!s->matched)
            return MP_STREAM_SKIP;
    } else if (depth) {
        uint64_t i = s->next[depth - 1]++;
        if (i >= steps[depth - 1].to)
            return nothing_left(s, depth - 1) ? MP_STREAM_STOP : MP_STREAM_SKIP_REST;
        if (i < steps[depth - 1].from)
            return MP_STREAM_SKIP;
    }
    if (depth == s->path->n)
        return MP_STREAM_AS_RAW;
    s->next[depth] = 0;
    enum step_kind kind = steps[depth].kind;
    if (e->kind == MP_STREAM_OBJECT ? kind != RANGE
                                    : e->kind == MP_STREAM_ARRAY && kind != MEMBER)
        return MP_STREAM_GO;
    return nothing_left(s, depth) ? MP_STREAM_STOP : MP_STREAM_SKIP;
}

static enum mp_stream_answer on_raw(struct mp_select *s, const struct mp_stream_event *e)
{
    if (e->len && !s->write(s->arg, e->data, e->len))
        return MP_STREAM_STOP;
    if (!(e->flags & MP_STREAM_LAST))
        return MP_STREAM_GO;
    s->count++;
    if (!s->write(s->arg, "\n", 1))
        return MP_STREAM_STOP;
    /* what is behind the whole document is still checked */
    return e->depth && nothing_left(s, e->depth) ? MP_STREAM_STOP : MP_STREAM_GO;
}

static enum mp_stream_answer on_event(void *arg, const struct mp_stream_event *e)
{
    struct mp_select *s = arg;

    switch (e->kind) {
    case MP_STREAM_OBJECT:
    case MP_STREAM_ARRAY:
    case MP_STREAM_SCALAR:
        return on_value(s, e);
    case MP_STREAM_KEY:
        s->matched = key_matches(s, e);
        return MP_STREAM_GO;
    case MP_STREAM_END:
        return e->depth && nothing_left(s, e->depth) ? MP_STREAM_STOP : MP_STREAM_GO;
    case MP_STREAM_RAW:
        return on_raw(s, e);
    default:
        return MP_STREAM_GO;
    }
}

struct mp_select *mp_select_new(const struct mp_path *path, mcplug_write_fn *write,
                                void *arg)
{
    struct mp_select *s = mp_alloc(sizeof *s);

    if (!s)
        return NULL;
    s->path = path;
    s->write = write;
    s->arg = arg;
    mp_stream_init(&s->stream, MP_STREAM_ASK, on_event, s);
    return s;
}

void mp_select_free(struct mp_select *s)
{
    mp_free(s);
}

int mp_select_feed(struct mp_select *s, const char *data, size_t len, bool *done,
                   struct mcplug_error *err)
{
    int r = mp_stream_feed(&s->stream, data, len, err);

    if (done)
        *done = s->stream.stopped;
    return r;
}

int mp_select_end(struct mp_select *s, struct mcplug_error *err)
{
    return mp_stream_end(&s->stream, err);
}

uint64_t mp_select_count(const struct mp_select *s)
{
    return s->count;
}
