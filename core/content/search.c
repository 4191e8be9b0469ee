#include "content/search.h"

#include "base/error.h"
#include "base/mem.h"
#include "base/text.h"

#include <errno.h>
#include <unistd.h>

#define PIECE ((size_t)1 << 18)
/* Behind a match: enough to find out how long its line is. */
#define AHEAD (MP_SEARCH_LINE_MAX + MP_SEARCH_NEEDLE_MAX + 16)
/* Before it, and what is left of a character there. */
#define BACK (MP_SEARCH_CONTEXT_MAX + 16)
#define BUF_SIZE (BACK + PIECE + AHEAD)
#define TEXT_SIZE (3 * (2 * MP_SEARCH_CONTEXT_MAX + MP_SEARCH_NEEDLE_MAX))

/* Offsets are of the file, but where a pointer into `buf` is needed. */
struct search {
    int fd;
    size_t len, context;
    bool ignore_case;
    char needle[MP_SEARCH_NEEDLE_MAX]; /* in lower case with ignore_case */
    char *buf, *text;
    char *lower; /* `buf` in lower case; NULL unless ignore_case */
    uint64_t base;
    size_t n;
    bool at_end;                        /* there is nothing behind `buf` */
    uint64_t pos;                       /* matches begin here or later */
    uint64_t counted, line, line_start; /* of the line that has the byte `counted` */
};

/* ---- bytes, sixteen at a time ---- */

typedef unsigned char vec __attribute__((vector_size(16)));

static size_t count_lines(const char *p, size_t len)
{
    const vec ends = (vec){0} + (unsigned char)'\n';
    size_t n = 0;

    while (len >= sizeof(vec)) {
        vec sums = {0}, v;
        for (int i = 0; i < 255 && len >= sizeof v; i++) {
            memcpy(&v, p, sizeof v);
            sums -= (vec)(v == ends); /* -1 where they are the same */
            p += sizeof v;
            len -= sizeof v;
        }
        for (size_t i = 0; i < sizeof sums; i++)
            n += sums[i];
    }
    while (len--)
        n += *p++ == '\n';
    return n;
}

static void to_lower(char *out, const char *p, size_t len)
{
    while (len >= sizeof(vec)) {
        vec v;
        memcpy(&v, p, sizeof v);
        v += (vec)(v - (unsigned char)'A' < (unsigned char)26) & (unsigned char)0x20;
        memcpy(out, &v, sizeof v);
        p += sizeof v;
        out += sizeof v;
        len -= sizeof v;
    }
    while (len--)
        *out++ = mp_lower(*p++);
}

/* ---- reading ---- */

/* What is before `keep` goes, and the buffer is filled. */
static int fill(struct search *s, uint64_t keep, struct mcplug_error *err)
{
    size_t gone = (size_t)(keep - s->base);

    memmove(s->buf, s->buf + gone, s->n - gone);
    s->base = keep;
    s->n -= gone;
    while (s->n < BUF_SIZE && !s->at_end) {
        ssize_t n = pread(s->fd, s->buf + s->n, BUF_SIZE - s->n,
                          (off_t)(s->base + (uint64_t)s->n));
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return mp_fail_os(err, MCPLUG_EIO, errno, "cannot read what is searched");
        s->n += (size_t)n;
        s->at_end = n == 0;
    }
    if (s->lower)
        to_lower(s->lower, s->buf, s->n);
    return MCPLUG_OK;
}

/* Counts lines up to `to`, which is in the buffer or at its end. */
static void count_to(struct search *s, uint64_t to)
{
    const char *p = s->buf + (s->counted - s->base);
    size_t len = (size_t)(to - s->counted);
    size_t ends = count_lines(p, len);

    if (ends) {
        const char *last = memrchr(p, '\n', len);
        s->line_start = s->counted + (uint64_t)(last - p) + 1;
        s->line += ends;
    }
    s->counted = to;
}

/* Everything that is before `from` is read for its lines alone. */
static int skip_to(struct search *s, uint64_t from, struct mcplug_error *err)
{
    int r = fill(s, 0, err);

    while (r == MCPLUG_OK && from > s->base + s->n && !s->at_end) {
        uint64_t end = s->base + s->n;
        count_to(s, end);
        r = fill(s, end - BACK, err);
    }
    if (from > s->base + s->n)
        from = s->base + s->n;
    s->pos = from;
    if (r == MCPLUG_OK)
        count_to(s, from);
    return r;
}

/* ---- a match ---- */

static bool is_inside(char c)
{
    return ((unsigned char)c & 0xc0) == 0x80; /* of a character */
}

/* Where the text around a match begins and ends, and what that leaves out. */
static void frame(const struct search *s, struct mp_match *m, const char **start,
                  const char **end)
{
    const char *hit = s->buf + (m->offset - s->base), *hit_end = hit + s->len;
    const char *stop = s->buf + s->n;
    size_t before = (size_t)(m->offset - s->line_start);

    m->cut_before = m->offset - s->line_start > s->context;
    *start = hit - (m->cut_before ? s->context : before);
    for (int i = 0; m->cut_before && i < 3 && *start < hit && is_inside(**start); i++)
        ++*start;

    size_t room = (size_t)(stop - hit_end);
    const char *eol =
        memchr(hit_end, '\n', room < s->context + 1 ? room : s->context + 1);
    m->cut_after = !eol && room > s->context;
    *end = eol ? eol : m->cut_after ? hit_end + s->context : stop;
    if (!m->cut_after && *end > hit_end && (*end)[-1] == '\r')
        --*end;
    const char *lead = *end;
    for (int i = 0; m->cut_after && i < 3 && lead > hit_end && is_inside(*lead); i++)
        lead--;
    if (m->cut_after && lead < *end && lead >= hit_end &&
        mp_utf8_len((const unsigned char *)lead, (size_t)(stop - lead)) >
            (size_t)(*end - lead))
        *end = lead;
}

/* As UTF-8, whatever it is. */
static void put_text(const struct search *s, struct mp_match *m, const char *p,
                     const char *end)
{
    const char *hit = s->buf + (m->offset - s->base), *hit_end = hit + s->len;
    size_t put = 0, match_end = 0;

    while (p < end) {
        size_t n = mp_utf8_len((const unsigned char *)p, (size_t)(end - p));
        if (p <= hit)
            m->at = put;
        if (n)
            memcpy(s->text + put, p, n);
        else
            memcpy(s->text + put, "\xef\xbf\xbd", 3);
        put += n ? n : 3;
        if (p < hit_end)
            match_end = put;
        p += n ? n : 1;
    }
    m->text = s->text;
    m->len = put;
    m->match_len = match_end - m->at;
}

/* Where to go on: behind its line, or, in a long one, behind what was shown. */
static uint64_t next_of(const struct search *s, uint64_t offset)
{
    uint64_t behind = offset + s->len, end = s->base + s->n;
    uint64_t longest = s->line_start + MP_SEARCH_LINE_MAX;

    if (behind <= longest) {
        uint64_t stop = longest + 1 < end ? longest + 1 : end;
        const char *p = s->buf + (behind - s->base);
        const char *eol = memchr(p, '\n', (size_t)(stop - behind));
        if (eol)
            return behind + (uint64_t)(eol - p) + 1;
        if (stop <= longest) /* the file ends there */
            return end;
    }
    return behind + s->context < end ? behind + s->context : end;
}

static const char *find(const struct search *s, uint64_t limit)
{
    const char *text = s->lower ? s->lower : s->buf;
    size_t at = (size_t)(s->pos - s->base);
    uint64_t end = limit + s->len - 1;

    if (end > s->base + s->n)
        end = s->base + s->n;
    return end > s->pos ? memmem(text + at, (size_t)(end - s->pos), s->needle, s->len)
                        : NULL;
}

/* What is in the buffer. false: `fn` wants no more, or the maximum is reached. */
static bool search_buffer(struct search *s, uint64_t max,
                          bool (*fn)(void *arg, const struct mp_match *match), void *arg,
                          uint64_t *total)
{
    uint64_t end = s->base + s->n, limit = s->at_end ? end : end - AHEAD;
    const char *hit;

    while (s->pos < limit && (hit = find(s, limit))) {
        struct mp_match m = {0};
        const char *start, *stop;
        m.offset = s->base + (uint64_t)(hit - (s->lower ? s->lower : s->buf));
        count_to(s, m.offset);
        m.line = s->line;
        m.next = next_of(s, m.offset);
        frame(s, &m, &start, &stop);
        put_text(s, &m, start, stop);
        ++*total;
        s->pos = m.next;
        if (!fn(arg, &m) || *total == max)
            return false;
    }
    if (s->pos < limit)
        s->pos = limit;
    return true;
}

/* ---- all of it ---- */

static int search_init(struct search *s, int fd, const char *needle, size_t len,
                       const struct mp_search_options *o, struct mcplug_error *err)
{
    s->fd = fd;
    s->len = len;
    s->line = 1;
    s->context = o->context ? o->context : MP_SEARCH_CONTEXT;
    if (s->context > MP_SEARCH_CONTEXT_MAX)
        s->context = MP_SEARCH_CONTEXT_MAX;
    if (o->ignore_case)
        to_lower(s->needle, needle, len);
    else
        memcpy(s->needle, needle, len);
    s->buf = mp_alloc_raw(BUF_SIZE);
    s->text = mp_alloc_raw(TEXT_SIZE);
    s->lower = o->ignore_case ? mp_alloc_raw(BUF_SIZE) : NULL;
    return s->buf && s->text && (s->lower || !o->ignore_case) ? MCPLUG_OK
                                                              : mp_fail_nomem(err);
}

int mp_search(int fd, const char *needle, size_t len,
              const struct mp_search_options *options,
              bool (*fn)(void *arg, const struct mp_match *match), void *arg,
              uint64_t *total, struct mcplug_error *err)
{
    static const struct mp_search_options none = {0};
    const struct mp_search_options *o = options ? options : &none;
    uint64_t found = 0;

    if (len == 0 || len > MP_SEARCH_NEEDLE_MAX)
        return mp_fail(err, MCPLUG_EINVAL,
                       "the text to look for has %zu bytes, expected "
                       "1 to %zu",
                       len, MP_SEARCH_NEEDLE_MAX);
    struct search *s = mp_alloc(sizeof *s);
    if (!s)
        return mp_fail_nomem(err);
    int r = search_init(s, fd, needle, len, o, err);
    if (r == MCPLUG_OK)
        r = skip_to(s, o->from, err);
    while (r == MCPLUG_OK && search_buffer(s, o->max, fn, arg, &found) && !s->at_end) {
        count_to(s, s->pos);
        uint64_t keep = s->pos - s->base < BACK ? s->base : s->pos - BACK;
        r = fill(s, keep, err);
    }
    if (r == MCPLUG_OK && total)
        *total = found;
    mp_free(s->buf);
    mp_free(s->text);
    mp_free(s->lower);
    mp_free(s);
    return r;
}
