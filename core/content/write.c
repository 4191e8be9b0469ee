/* Results as they came, with what was spilled in its place: mcplug_result_read() for
 * programs, and what <mcplug/admin.h> has. */
#include <mcplug/admin.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/text.h"
#include "json/walk.h"

#include <stdio.h>
#include <string.h>

#define PIECE 32768                   /* on the stack */
#define SPILL_PIECE ((size_t)1 << 18) /* of a spilled string, as it is */

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

static void put_spill(struct sink *s, const mcplug_result *result, size_t i)
{
    char few[4096]; /* without memory it takes longer */
    char *all = mp_alloc_raw(SPILL_PIECE), *piece = all ? all : few;
    size_t room = all ? SPILL_PIECE : sizeof few;
    uint64_t at = 0;
    int64_t n = 1;

    while (n > 0 && !s->ended) {
        n = mcplug_result_spill_read(result, i, at, piece, room);
        if (n < 0)
            s->r = MCPLUG_EIO;
        if (n > 0)
            n = (int64_t)whole(piece, (size_t)n);
        if (n > 0)
            put(s, piece, (size_t)n);
        at += n > 0 ? (uint64_t)n : 0;
    }
    mp_free(all);
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
    return s->r == MCPLUG_OK ? s->r
                             : mp_fail(err, s->r,
                                       "the spilled part of the result can't "
                                       "be read");
}

/* ---- JSON, piece by piece ---- */

/* How one byte is written inside of a JSON string; 0: as it is. What was spilled is
 * well-formed UTF-8, so only the few that JSON keeps for itself need care. */
static size_t escape(unsigned char c, char code[8])
{
    static const char names[] = "btn\vfr";

    if (c >= 0x20 && c != '"' && c != '\\')
        return 0;
    if (c == '"' || c == '\\')
        return (size_t)snprintf(code, 8, "\\%c", c);
    if (c >= '\b' && c <= '\r' && c != '\v')
        return (size_t)snprintf(code, 8, "\\%c", names[c - '\b']);
    return (size_t)snprintf(code, 8, "\\u%04x", c);
}

/* How many of the first `n` bytes are whole characters, of a text that goes on. */
static size_t before_character(const char *data, size_t n)
{
    while (n && ((unsigned char)data[n] & 0xc0) == 0x80)
        n--;
    return n;
}

/* As much of `data` as fits into `buf`, whole characters, escaped. Returns what was put,
 * and in `*n` how many bytes of `data` that were. */
static size_t put_escaped(const char *data, size_t *n, char *buf, size_t len)
{
    size_t used = 0, put = 0;
    char code[8];

    while (used < *n) {
        size_t run = used, more = 0;
        while (run < *n && !(more = escape((unsigned char)data[run], code)))
            run++;
        size_t plain = run - used;
        if (plain > len - put) {
            plain = before_character(data + used, len - put);
            more = 0;
            run = *n; /* that was all */
        }
        memcpy(buf + put, data + used, plain);
        put += plain;
        used += plain;
        if (run == *n || more > len - put)
            break;
        memcpy(buf + put, code, more);
        put += more;
        used++;
    }
    *n = used;
    return put;
}

/* The next piece of a string that was spilled; behind it its closing quote. */
static int64_t spilled_piece(const mcplug_result *result, struct mcplug_cursor *at,
                             char *buf, size_t len)
{
    struct mcplug_spill spill = {.struct_size = sizeof spill};
    char raw[PIECE];

    if (mcplug_result_spill(result, at->part, &spill) != MCPLUG_OK ||
        at->offset > spill.size)
        return MCPLUG_EINVAL;
    int64_t r = mcplug_result_spill_read(result, at->part, at->offset, raw,
                                         len < sizeof raw ? len : sizeof raw);
    if (r < 0)
        return MCPLUG_EIO;
    size_t n = whole(raw, (size_t)r);
    if (!n) {
        at->inside = 0;
        at->part++;
        at->offset = spill.json_offset + spill.json_len;
        buf[0] = '"';
        return 1;
    }
    r = (int64_t)put_escaped(raw, &n, buf, len);
    at->offset += n;
    return r;
}

/* What comes at `at` of the JSON up to `end`: in `buf`, or where it is, and then `most`
 * bytes of it. Returns how many, 0 at the end, or an error. */
static int64_t next_piece(const mcplug_result *result, struct mcplug_cursor *at,
                          size_t end, char *buf, size_t len, size_t most,
                          const char **out)
{
    struct mcplug_spill spill = {.struct_size = sizeof spill};
    size_t i = at->part;

    *out = buf;
    if (at->inside)
        return spilled_piece(result, at, buf, len);
    if (at->offset > end)
        return MCPLUG_EINVAL;
    *out = mcplug_result_json(result, NULL) + at->offset;
    bool has_spill = next_spill(result, &i, at->offset, end, &spill);
    size_t n = (has_spill ? spill.json_offset + 1 : end) - at->offset;
    at->part = i;
    if (n > most) {
        n = before_character(*out, most);
    } else if (has_spill) {
        at->inside = 1;
        at->offset = 0;
        return (int64_t)n;
    }
    at->offset += n;
    return (int64_t)n;
}

int64_t mcplug_result_read(const mcplug_result *result, struct mcplug_cursor *at,
                           void *buf, size_t len)
{
    const char *piece;
    size_t all, put = 0;
    int64_t n = 1;

    if (!result || !at || at->struct_size < MP_SIZE_UP_TO(struct mcplug_cursor, offset) ||
        !buf || len < MCPLUG_READ_MIN)
        return MCPLUG_EINVAL;
    mcplug_result_json(result, &all);
    while (n > 0 && len - put >= MCPLUG_READ_MIN) {
        char *to = (char *)buf + put;
        n = next_piece(result, at, all, to, len - put, len - put, &piece);
        if (n > 0 && piece != to)
            memcpy(to, piece, (size_t)n);
        put += n > 0 ? (size_t)n : 0;
    }
    return put ? (int64_t)put : n;
}

int mcplug_result_write(const mcplug_result *result, size_t at, size_t len,
                        mcplug_write_fn *write, void *arg, struct mcplug_error *err)
{
    struct sink s = {.write = write, .arg = arg};
    struct mcplug_cursor cursor = {.struct_size = sizeof cursor, .offset = at};
    char buf[PIECE];
    const char *piece;
    size_t all;
    int64_t n = 1;

    if (!result || !write)
        return mp_fail_null(err, "`result` and `write`");
    mcplug_result_json(result, &all);
    if (at > all)
        return mp_fail(err, MCPLUG_EINVAL, "the part is not in the result");
    size_t end = len < all - at ? at + len : all;
    while (n > 0 && !s.ended) {
        n = next_piece(result, &cursor, end, buf, sizeof buf, SIZE_MAX, &piece);
        put(&s, piece, n > 0 ? (size_t)n : 0);
    }
    s.r = n < 0 ? (int)n : MCPLUG_OK;
    return end_of(&s, err);
}

/* ---- one string ---- */

int mcplug_result_write_string(const mcplug_result *result, size_t at,
                               mcplug_write_fn *write, void *arg,
                               struct mcplug_error *err)
{
    struct sink s = {.write = write, .arg = arg};
    struct mcplug_spill spill = {.struct_size = sizeof spill};
    size_t all, i = 0;

    if (!result || !write)
        return mp_fail_null(err, "`result` and `write`");
    const char *json = mcplug_result_json(result, &all);
    if (at >= all || json[at] != '"')
        return mp_fail(err, MCPLUG_EINVAL, "no string begins there");
    if (next_spill(result, &i, at, at + 1, &spill)) {
        put_spill(&s, result, i);
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
