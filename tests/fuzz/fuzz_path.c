/* Paths: of a document that the scan accepts, a run writes what a walk over it finds, in
 * whatever pieces it comes. The first byte tells how many of the next ones are sizes of
 * pieces, the second how many make up a path, from which steps are drawn, so that the
 * walk knows them too; the rest is the document. With 0, the text up to a newline is the
 * path. */
#include "content/path.h"

#include "base/buf.h"
#include "json/walk.h"
#include "must.h"

#include <string.h>

enum kind { MEMBER, RANGE, EACH };

struct step {
    enum kind kind;
    bool slice;
    const char *name;
    uint64_t from, to;
};

struct input {
    const uint8_t *sizes;
    size_t n_sizes;
    const char *text;
    size_t len;
};

/* ---- the path ---- */

static const struct {
    const char *written, *name;
} keys[] = {
    {".a", "a"},
    {".b", "b"},
    {"[\"\"]", ""},
    {".[\"\\u0061\"]", "a"},
    {".\"\\ud83d\\ude00\"", "\xf0\x9f\x98\x80"},
    {".\xc3\xa9?", "\xc3\xa9"},
    {"[ \"\\\"]\" ]", "\"]"},
    {"[\"\\ud800\"]", "\xef\xbf\xbd"},
};

/* One byte is one step. */
static void draw(uint8_t byte, bool after_slice, struct step *step, struct mp_str *path)
{
    unsigned choice = byte % 16, from = byte / 16 % 4, to = byte / 64;

    memset(step, 0, sizeof *step);
    step->to = UINT64_MAX;
    if (choice < 8 || (after_slice && choice < 15)) {
        step->kind = MEMBER;
        step->name = keys[choice % 8].name;
        mp_str_adds(path, keys[choice % 8].written);
    } else if (choice < 11) {
        step->kind = RANGE;
        step->from = from;
        step->to = from + 1;
        mp_str_addf(path, "[%u]", from);
    } else if (choice < 13) {
        step->kind = RANGE;
        step->slice = true;
        step->from = from;
        step->to = to;
        if (from)
            mp_str_addf(path, ".[%u:%u]", from, to);
        else
            mp_str_addf(path, "[ :%u]", to);
    } else if (choice < 14) {
        step->kind = RANGE;
        step->slice = true;
        step->from = from;
        mp_str_addf(path, "[%u:]", from);
    } else {
        step->kind = EACH;
        mp_str_adds(path, after_slice ? "[][]" : "[]");
    }
}

/* ---- the walk ---- */

static void visit(mp_view value, const struct step *steps, size_t n, struct mp_str *out)
{
    struct mp_walk w = mp_walk_into(value);
    mp_view key, inner;

    if (n == 0) {
        mp_str_add_bytes(out, value);
        mp_str_addc(out, '\n');
    } else if (mp_view_is_object(value) && steps->kind != RANGE) {
        while (mp_walk_member(&w, &key, &inner))
            if (steps->kind == EACH || mp_view_equals(key, steps->name))
                visit(inner, steps + 1, n - 1, out);
    } else if (mp_view_is_array(value) && steps->kind != MEMBER) {
        for (uint64_t i = 0; mp_walk_element(&w, &inner); i++)
            if (i >= steps->from && i < steps->to)
                visit(inner, steps + 1, n - 1, out);
    }
}

/* ---- the run ---- */

struct outcome {
    struct mp_str out;
    struct mcplug_error err;
    uint64_t count;
    int result;
};

static int keep(void *arg, const char *data, size_t len)
{
    MUST(len > 0);
    return mp_str_add(arg, data, len);
}

/* In pieces, and with `go_on` also what need not be read. */
static void run(struct outcome *o, const struct mp_path *path, const struct input *in,
                bool go_on)
{
    struct mp_select *s = mp_select_new(path, keep, &o->out);
    bool done = false;

    mp_str_init(&o->out, 1 << 24);
    mp_str_adds(&o->out, "");
    memset(&o->err, 0, sizeof o->err);
    o->err.struct_size = sizeof o->err;
    o->result = MCPLUG_OK;
    for (size_t at = 0, i = 0; at < in->len && o->result == MCPLUG_OK; i++) {
        size_t n = in->n_sizes ? in->sizes[i % in->n_sizes] % 64u : in->len;
        n = n < in->len - at ? n : in->len - at;
        if (n == 0 && i % 2)
            n = 1;
        char *copy = malloc(n ? n : 1); /* so that nothing behind it is read */
        memcpy(copy, in->text + at, n);
        if (!done || go_on)
            o->result = mp_select_feed(s, copy, n, &done, &o->err);
        free(copy);
        at += n;
    }
    if (o->result == MCPLUG_OK)
        o->result = mp_select_end(s, &o->err);
    o->count = mp_select_count(s);
    mp_select_free(s);
}

static void pieces_change_nothing(const struct mp_path *path, const struct input *in,
                                  struct outcome *whole)
{
    struct input all = {NULL, 0, in->text, in->len};
    struct outcome pieces;

    run(whole, path, &all, true);
    run(&pieces, path, in, false);
    MUST(whole->result == pieces.result && whole->count == pieces.count);
    MUST(strcmp(whole->err.text, pieces.err.text) == 0);
    MUST(whole->out.len == pieces.out.len &&
         memcmp(whole->out.data, pieces.out.data, pieces.out.len) == 0);
    MUST((whole->result == MCPLUG_OK) == (whole->err.text[0] == '\0'));
    mp_str_clear(&pieces.out);
}

static void is_what_a_walk_finds(const struct input *in, const struct step *steps,
                                 size_t n, const struct outcome *whole)
{
    static const struct mp_scan_limits limits = {64, 100000};
    struct mp_str expected;

    if (mp_scan_text(in->text, in->len, &limits, NULL, NULL) != MCPLUG_OK)
        return;
    mp_str_init(&expected, 1 << 24);
    mp_str_adds(&expected, "");
    visit(mp_view_trim(mp_bytes(in->text, in->len)), steps, n, &expected);
    MUST(whole->result == MCPLUG_OK);
    MUST(expected.len == whole->out.len &&
         memcmp(expected.data, whole->out.data, expected.len) == 0);
    mp_str_clear(&expected);
}

/* ---- inputs ---- */

static void drawn_path(struct input *in, size_t n)
{
    struct step steps[8];
    struct mp_path *path = NULL;
    struct outcome whole;
    struct mp_str text;

    mp_str_init(&text, 1000);
    for (size_t i = 0; i < n; i++)
        draw((uint8_t)in->text[i], i && steps[i - 1].slice, &steps[i], &text);
    in->text += n;
    in->len -= n;
    MUST(mp_path_parse(n ? text.data : ".", &path, NULL) == MCPLUG_OK);
    pieces_change_nothing(path, in, &whole);
    is_what_a_walk_finds(in, steps, n, &whole);
    mp_str_clear(&whole.out);
    mp_path_free(path);
    mp_str_clear(&text);
}

static void written_path(struct input *in)
{
    const char *newline = memchr(in->text, '\n', in->len);
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    struct mp_path *path = NULL;
    struct outcome whole;

    if (!newline)
        return;
    char *text = strndup(in->text, (size_t)(newline - in->text));
    int r = mp_path_parse(text, &path, &err);
    MUST((r == MCPLUG_OK) == (path != NULL) && (r == MCPLUG_OK) == (err.text[0] == '\0'));
    MUST(r == MCPLUG_OK || r == MCPLUG_EINVAL);
    in->len -= (size_t)(newline + 1 - in->text);
    in->text = newline + 1;
    if (path) {
        pieces_change_nothing(path, in, &whole);
        mp_str_clear(&whole.out);
    }
    mp_path_free(path);
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2 || size - 2 < data[0] % 8u)
        return 0;
    struct input in = {data + 2, data[0] % 8u, (const char *)data + 2 + data[0] % 8u, 0};
    in.len = size - 2 - in.n_sizes;
    size_t n = data[1] % 9u;

    if (n == 0)
        written_path(&in);
    else if (in.len >= n - 1)
        drawn_path(&in, n - 1);
    return 0;
}
