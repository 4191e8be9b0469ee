/* Results as they came, with what was spilled in its place: <mcplug/admin.h>. */
#include <mcplug/admin.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/text.h"
#include "json/walk.h"

#include <stdio.h>

#define PIECE                                                                            \
    ((size_t)1 << 18) /* of a string that was spilled, read and written at once */

/* Where things go until there is an error, or the receiver wants no more. */
struct sink {
    mcplug_write_fn *write;
    void *arg;
    bool ended;
    int r;
};

static void put(struct sink *s, const char *data, size_t len)
{
    if (s->r == MCPLUG_OK && !s->ended && len)
        s->ended = !s->write(s->arg, data, len);
}

/* As the inside of a JSON string. What was spilled is well-formed UTF-8, so only the few
 * bytes that JSON keeps for itself need care. */
static void put_escaped(struct sink *s, const char *data, size_t len)
{
    const char *plain = data, *end = data + len;

    for (const char *p = data; p < end; p++) {
        unsigned char c = (unsigned char)*p;
        if (c >= 0x20 && c != '"' && c != '\\')
            continue;
        put(s, plain, (size_t)(p - plain));
        plain = p + 1;
        char code[8];
        static const char names[] = "btn\vfr";
        int n;
        if (c == '"' || c == '\\')
            n = snprintf(code, sizeof code, "\\%c", c);
        else if (c >= '\b' && c <= '\r' && c != '\v')
            n = snprintf(code, sizeof code, "\\%c", names[c - '\b']);
        else
            n = snprintf(code, sizeof code, "\\u%04x", c);
        put(s, code, (size_t)n);
    }
    put(s, plain, (size_t)(end - plain));
}

/* How many of `n` bytes of UTF-8 are whole characters. */
static size_t whole(const char *data, size_t n)
{
    size_t k = n;

    while (k && n - k < 3 && ((unsigned char)data[k - 1] & 0xc0) == 0x80)
        k--;
    if (k < 2 || (unsigned char)data[k - 1] < 0xc0 ||
        mp_utf8_len((const unsigned char *)data + k - 1, n - k + 1))
        return n;
    return k - 1;
}

static void put_spill(struct sink *s, const mcplug_result *result, size_t i,
                      void (*put_piece)(struct sink *s, const char *data, size_t len))
{
    char *piece = mp_resize(NULL, PIECE);
    uint64_t at = 0;
    int64_t n = 1;

    if (!piece)
        s->r = MCPLUG_ENOMEM;
    while (piece && n > 0 && !s->ended) {
        n = mcplug_result_spill_read(result, i, at, piece, PIECE);
        if (n < 0)
            s->r = MCPLUG_EIO;
        if (n > 0)
            n = (int64_t)whole(piece, (size_t)n);
        if (n > 0)
            put_piece(s, piece, (size_t)n);
        at += n > 0 ? (uint64_t)n : 0;
    }
    mp_free(piece);
}

/* The first string from number `i` on that was spilled and begins in [at, end). */
static bool next_spill(const mcplug_result *result, size_t *i, size_t at, size_t end,
                       struct mcplug_spill *out)
{
    for (; *i < mcplug_result_spills(result); ++*i)
        if (mcplug_result_spill(result, *i, out) == MCPLUG_OK && out->json_offset >= at &&
            out->json_offset < end)
            return true;
    return false;
}

static int end_of(const struct sink *s, struct mcplug_error *err)
{
    if (s->r == MCPLUG_ENOMEM)
        return mp_fail_nomem(err);
    return s->r == MCPLUG_OK ? s->r
                             : mp_fail(err, s->r,
                                       "the spilled part of the result can't "
                                       "be read");
}

int mcplug_result_write(const mcplug_result *result, size_t at, size_t len,
                        mcplug_write_fn *write, void *arg, struct mcplug_error *err)
{
    struct sink s = {.write = write, .arg = arg};
    struct mcplug_spill spill = {.struct_size = sizeof spill};
    size_t all, i = 0;
    const char *json = mcplug_result_json(result, &all);

    if (at > all)
        return mp_fail(err, MCPLUG_EINVAL, "the part is not in the result");
    size_t end = len < all - at ? at + len : all;
    while (s.r == MCPLUG_OK && next_spill(result, &i, at, end, &spill)) {
        put(&s, json + at, spill.json_offset + 1 - at);
        put_spill(&s, result, i, put_escaped);
        put(&s, "\"", 1);
        at = spill.json_offset + spill.json_len;
    }
    put(&s, json + at, end - at);
    return end_of(&s, err);
}

int mcplug_result_write_string(const mcplug_result *result, size_t at,
                               mcplug_write_fn *write, void *arg,
                               struct mcplug_error *err)
{
    struct sink s = {.write = write, .arg = arg};
    struct mcplug_spill spill = {.struct_size = sizeof spill};
    size_t all, i = 0;
    const char *json = mcplug_result_json(result, &all);

    if (at >= all || json[at] != '"')
        return mp_fail(err, MCPLUG_EINVAL, "no string begins there");
    if (next_spill(result, &i, at, at + 1, &spill)) {
        put_spill(&s, result, i, put);
        return end_of(&s, err);
    }
    char piece[4 + 3 * 4096];
    struct mp_unescape u = {0};
    const char *p = json + at + 1, *quote = p;
    while (*quote != '"') /* it is valid JSON */
        quote += *quote == '\\' ? 2 : 1;
    while (p < quote) {
        size_t n = (size_t)(quote - p) < 4096 ? (size_t)(quote - p) : 4096;
        put(&s, piece, mp_unescape_feed(&u, p, n, piece));
        p += n;
    }
    put(&s, piece, mp_unescape_end(&u, piece));
    return end_of(&s, err);
}
