#include "toolbox/toolbox.h"

#include "base/error.h"
#include "base/mem.h"
#include "base/text.h"

#define LENGTH_MIN 4 /* bytes of one answer: any character fits */
#define LENGTH_MAX 50000
#define LINE_ROOM 64 /* of what is written before a match */

struct answer {
    struct mp_str *text;
    size_t most;
    uint64_t skip;    /* bytes of values before those that are wanted */
    uint64_t written; /* values, all of them */
    uint64_t last;    /* offset of the last match */
    bool is_full;
};

/* How many of `len` bytes are whole characters, of a text that goes on. It is all of them
 * where the last ones are no beginning of a character. */
static size_t whole(const unsigned char *p, size_t len)
{
    static const unsigned char least[] = {0xc0, 0xe0, 0xf0};

    for (size_t n = 1; n <= 3 && n < len; n++) {
        unsigned char c = p[len - n];
        if (c >= 0xc0)
            return c >= least[n - 1] ? len - n : len;
        if (c < 0x80)
            break;
    }
    return len;
}

/* Whole characters of it, and U+FFFD for what is none. */
static void add_utf8(struct mp_str *out, const unsigned char *p, size_t len, bool begins)
{
    for (int i = 0; i < 3 && !begins && len && (*p & 0xc0) == 0x80; i++) {
        p++; /* the rest of one before */
        len--;
    }
    while (len) {
        size_t n = mp_utf8_len(p, len);
        if (n)
            mp_str_add(out, p, n);
        else
            mp_str_adds(out, "\xef\xbf\xbd");
        p += n ? n : 1;
        len -= n ? n : 1;
    }
}

static int read_bytes(const char *dir, const char *name, uint64_t offset,
                      struct answer *a, struct mcplug_error *err)
{
    char *buf = mp_alloc(a->most);
    uint64_t size = 0;
    int r = MCPLUG_OK;

    if (!buf)
        return mp_fail_nomem(err);
    int64_t n = mcplug_stored_read(dir, name, offset, buf, a->most, &size, err);
    if (n > 0 && offset + (uint64_t)n < size) /* the next answer begins with the rest */
        n = (int64_t)whole((const unsigned char *)buf, (size_t)n);
    if (n < 0) {
        r = (int)n;
    } else if (n == 0) {
        mp_str_addf(a->text, "The result has %llu bytes; there are none at offset %llu.",
                    (unsigned long long)size, (unsigned long long)offset);
    } else {
        mp_str_addf(a->text, "Bytes %llu to %llu of %llu:\n", (unsigned long long)offset,
                    (unsigned long long)(offset + (uint64_t)n - 1),
                    (unsigned long long)size);
        add_utf8(a->text, (const unsigned char *)buf, (size_t)n, offset == 0);
    }
    mp_free(buf);
    return r;
}

static int take_value(void *arg, const char *data, size_t len)
{
    struct answer *a = arg;
    uint64_t skip = a->skip < len ? a->skip : len;

    a->written += len;
    a->skip -= skip;
    data += skip;
    len -= (size_t)skip;
    size_t room = a->most - a->text->len;
    if (len > room) {
        a->is_full = true;
        len = room;
    }
    mp_str_add(a->text, data, len);
    return !a->is_full;
}

static int read_path(const char *dir, const char *name, const char *path, uint64_t offset,
                     struct answer *a, struct mcplug_error *err)
{
    uint64_t count = 0;

    a->skip = offset;
    int r = mcplug_stored_select(dir, name, path, take_value, a, &count, err);
    if (r != MCPLUG_OK)
        return r;
    if (!a->written) {
        mp_str_adds(a->text, "The path leads to no value.");
    } else if (!a->text->len) {
        mp_str_addf(a->text, "The values have %llu bytes; there are none at offset %llu.",
                    (unsigned long long)a->written, (unsigned long long)offset);
    } else if (a->is_full) { /* what was cut may have cut a character */
        a->text->len = whole((const unsigned char *)a->text->data, a->text->len);
        uint64_t next = offset + a->text->len;
        mp_str_addf(a->text, "\n[There is more. Go on at \"offset\": %llu.]",
                    (unsigned long long)next);
    }
    return r;
}

static int take_match(void *arg, const struct mcplug_match *m)
{
    struct answer *a = arg;

    /* the first fits in any case: who goes on gets ahead */
    a->is_full = a->written && a->text->len + m->len + LINE_ROOM > a->most;
    a->last = m->offset;
    if (a->is_full)
        return 0;
    mp_str_addf(a->text, "line %llu, offset %llu: ", (unsigned long long)m->line,
                (unsigned long long)m->offset);
    mp_str_add(a->text, m->text, m->len);
    mp_str_addc(a->text, '\n');
    a->written++;
    return 1;
}

/* give; NULL: there is none */
static int word(mp_view arguments, const char *name, char **out, struct mcplug_error *err)
{
    mp_view v = mp_view_get(arguments, name);

    *out = mp_view_strdup(v);
    return *out || !mp_view_is_string(v) ? MCPLUG_OK : mp_fail_nomem(err);
}

static int search(const char *dir, const char *name, mp_view arguments, uint64_t offset,
                  struct answer *a, struct mcplug_error *err)
{
    bool any_case = mp_view_true(mp_view_get(arguments, "ignore_case"));
    char *text;
    int r = word(arguments, "text", &text, err);

    if (r == MCPLUG_OK && (!text || !*text))
        r = mp_fail(err, MCPLUG_EINVAL, "search_result needs \"text\"");
    if (r == MCPLUG_OK)
        r = mcplug_stored_search(dir, name, text, any_case, offset, take_match, a, err);
    if (r == MCPLUG_OK && !a->written && !a->is_full)
        mp_str_adds(a->text, "No match.");
    else if (r == MCPLUG_OK && a->is_full)
        mp_str_addf(a->text, "[There are more. Go on at \"offset\": %llu.]",
                    (unsigned long long)a->last);
    mp_free(text);
    return r;
}

/* A number that the model may leave out. */
static int number(mp_view arguments, const char *name, int64_t *out,
                  struct mcplug_error *err)
{
    mp_view v = mp_view_get(arguments, name);

    if (!v.len || mp_view_is_null(v) || (mp_view_int(v, out) && *out >= 0))
        return MCPLUG_OK;
    return mp_fail(err, MCPLUG_EINVAL, "\"%s\" must be a number, 0 or more", name);
}

static int answer(const char *dir, bool searches, mp_view arguments, struct answer *a,
                  struct mcplug_error *err)
{
    char *name = NULL, *path = NULL;
    int64_t offset = 0, length = 0;

    int r = word(arguments, "result", &name, err);
    if (r == MCPLUG_OK)
        r = word(arguments, "path", &path, err);
    if (r == MCPLUG_OK && (!name || !*name))
        r = mp_fail(err, MCPLUG_EINVAL,
                    "\"result\" is missing: the name of a stored result");
    if (r == MCPLUG_OK)
        r = number(arguments, "offset", &offset, err);
    if (r == MCPLUG_OK)
        r = number(arguments, "length", &length, err);
    if (length > 0 && (uint64_t)length < a->most)
        a->most = (size_t)length;
    if (a->most < LENGTH_MIN)
        a->most = LENGTH_MIN;
    if (r == MCPLUG_OK && searches)
        r = search(dir, name, arguments, (uint64_t)offset, a, err);
    else if (r == MCPLUG_OK && path && *path)
        r = read_path(dir, name, path, (uint64_t)offset, a, err);
    else if (r == MCPLUG_OK)
        r = read_bytes(dir, name, (uint64_t)offset, a, err);
    mp_free(path);
    mp_free(name);
    return r;
}

int mp_results_answer(const char *dir, bool searches, const char *arguments, size_t most,
                      struct mp_str *out, struct mcplug_error *err)
{
    struct mp_str text;
    struct answer a = {.text = &text, .most = most < LENGTH_MAX ? most : LENGTH_MAX};

    mp_str_init(&text, 4 * (size_t)LENGTH_MAX);
    mp_str_adds(&text, "");
    int r = answer(dir, searches, mp_text(arguments), &a, err);
    if (r == MCPLUG_OK) {
        mp_str_adds(out, "{\"content\":[{\"type\":\"text\",\"text\":");
        mp_str_add_json(out, text.data, text.len);
        mp_str_adds(out, "}]}");
        r = out->failed || text.failed ? mp_fail_nomem(err) : r;
    }
    mp_str_clear(&text);
    return r;
}
