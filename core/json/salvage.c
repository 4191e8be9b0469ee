#include "json/scan.h"
#include "json/skip.h"

/* What the braces around the candidates said. */
enum outcome {
    FOUND,
    ABSENT, /* the message's own id is not in this part */
    LOST,   /* the braces make no sense here */
};

struct part {
    const unsigned char *start, *end;
    bool cut;    /* the message goes on behind it */
    bool quoted; /* the id is a string */
};

/* Does a member "id" begin at `p`, with an integer that is all there? What follows shows
 * that no digit is missing. */
static bool read_member(const struct part *in, const unsigned char *p, uint64_t *id)
{
    uint64_t n = 0;

    if (in->end - p < 4 || memcmp(p, "\"id\"", 4) != 0)
        return false;
    p = mp_skip_space(p + 4, in->end);
    if (p == in->end || *p != ':')
        return false;
    p = mp_skip_space(p + 1, in->end);
    if (in->quoted && (p == in->end || *p++ != '"'))
        return false;
    const unsigned char *first = p;

    for (; p < in->end && *p >= '0' && *p <= '9'; p++)
        if (__builtin_mul_overflow(n, 10u, &n) ||
            __builtin_add_overflow(n, (uint64_t)(*p - '0'), &n))
            return false;
    if (p == first || (*first == '0' && p - first > 1))
        return false;
    if (in->quoted && (p == in->end || *p++ != '"'))
        return false;
    const unsigned char *behind = mp_skip_space(p, in->end);
    if (behind == in->end ? in->cut && behind == p && !in->quoted
                          : *behind != ',' && *behind != '}')
        return false;
    *id = n;
    return true;
}

/* Forward from the message's first byte. */
static enum outcome from_start(const struct part *in, uint64_t *id)
{
    const unsigned char *p = mp_skip_space(in->start, in->end);
    size_t depth = 1;

    if (p == in->end || *p != '{')
        return LOST;
    for (p++; p < in->end && depth; p++) {
        if (*p == '"') {
            if (depth == 1 && read_member(in, p, id))
                return FOUND;
            p = mp_skip_string(p, in->end) - 1;
        } else if (*p == '{' || *p == '[') {
            depth++;
        } else if (*p == '}' || *p == ']') {
            depth--;
        }
    }
    return mp_skip_space(p, in->end) < in->end ? LOST : ABSENT;
}

/* The opening quote of the string that ends before `p`; `start` when it is not there. */
static const unsigned char *string_start(const unsigned char *start,
                                         const unsigned char *p)
{
    while (p > start) {
        p = memrchr(start, '"', (size_t)(p - start));
        if (!p)
            return start;
        const unsigned char *q = p;
        while (q > start && q[-1] == '\\')
            q--;
        if ((p - q) % 2 == 0)
            return p;
        p = q; /* only backslashes in between */
    }
    return start;
}

/* Backward from the message's last byte. */
static enum outcome from_end(const struct part *in, uint64_t *id)
{
    const unsigned char *p = in->end;
    size_t depth = 1;

    while (p > in->start && mp_is_space(p[-1]))
        p--;
    if (p == in->start || p[-1] != '}')
        return LOST;
    for (p--; p > in->start && depth;) {
        unsigned char c = *--p;
        if (c == '"') {
            p = string_start(in->start, p);
            if (depth == 1 && read_member(in, p, id))
                return FOUND;
        } else if (c == '}' || c == ']') {
            depth++;
        } else if (c == '{' || c == '[') {
            depth--;
        }
    }
    while (p > in->start && mp_is_space(p[-1]))
        p--;
    return p > in->start ? LOST : ABSENT;
}

static bool any(const struct part *in, bool last, uint64_t *id)
{
    const unsigned char *p = in->start;
    bool found = false;

    while ((last || !found) && (p = memmem(p, (size_t)(in->end - p), "\"id\"", 4))) {
        found = read_member(in, p, id) || found;
        p += 4;
    }
    return found;
}

bool mp_scan_salvage_id(const char *head, size_t head_len, const char *tail,
                        size_t tail_len, bool quoted, uint64_t *id)
{
    const unsigned char *h = (const unsigned char *)(head ? head : "");
    const unsigned char *t = (const unsigned char *)(tail ? tail : "");
    struct part first = {h, h + head_len, tail_len > 0, quoted};
    struct part last = {t, t + tail_len, false, quoted};
    uint64_t n = 0;

    enum outcome end = from_end(&last, &n);
    enum outcome start = end == FOUND ? LOST : from_start(&first, &n);
    if (end != FOUND && start != FOUND && !(end == LOST && any(&last, true, &n)) &&
        !(start == LOST && any(&first, false, &n)))
        return false;
    *id = n;
    return true;
}
