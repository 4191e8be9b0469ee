#include "pam.h"

#include <string.h>

/* ---- lines ---- */

struct line {
    const char *word; /* the first, and what follows it */
    size_t word_len;
    const char *rest;
    size_t rest_len;
};

static int is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f';
}

/* Without the blanks around it. */
static struct line line_split(const char *p, size_t len)
{
    struct line line = {0};

    for (; len && is_blank(*p); p++)
        len--;
    while (len && is_blank(p[len - 1]))
        len--;
    line.word = p;
    while (line.word_len < len && !is_blank(p[line.word_len]))
        line.word_len++;
    line.rest = p + line.word_len;
    line.rest_len = len - line.word_len;
    for (; line.rest_len && is_blank(*line.rest); line.rest++)
        line.rest_len--;
    return line;
}

static int is_word(const char *p, size_t len, const char *word)
{
    return len == strlen(word) && memcmp(p, word, len) == 0;
}

/* Decimal digits alone, of a number from 1 that fits; 0: it is none. */
static uint32_t number(const char *p, size_t len)
{
    uint32_t n = 0;

    if (len < 1 || len > 9)
        return 0;
    for (size_t i = 0; i < len; i++) {
        if (p[i] < '0' || p[i] > '9')
            return 0;
        n = 10 * n + (uint32_t)(p[i] - '0');
    }
    return n;
}

/* ---- the header ---- */

enum { WIDTH, HEIGHT, DEPTH, MAXVAL, NUMBERS };
static const char *const names[NUMBERS] = {"WIDTH", "HEIGHT", "DEPTH", "MAXVAL"};

struct header {
    uint32_t numbers[NUMBERS]; /* 0: not there */
    const char *type;          /* TUPLTYPE, not ended; NULL: none */
    size_t type_len;
    size_t len; /* of the whole header */
};

static int read_line(const struct mcplug_diag *diag, const struct line *line,
                     struct header *h, struct mcplug_error *err)
{
    if (line->word_len == 0 || line->word[0] == '#')
        return MCPLUG_OK;
    if (is_word(line->word, line->word_len, "TUPLTYPE")) {
        if (h->type)
            return diag->fail(err, MCPLUG_EPROTO, "the PAM has two TUPLTYPE");
        h->type = line->rest;
        h->type_len = line->rest_len;
        return MCPLUG_OK;
    }
    for (int i = 0; i < NUMBERS; i++) {
        if (!is_word(line->word, line->word_len, names[i]))
            continue;
        if (h->numbers[i])
            return diag->fail(err, MCPLUG_EPROTO, "the PAM has two %s", names[i]);
        h->numbers[i] = number(line->rest, line->rest_len);
        if (!h->numbers[i])
            return diag->fail(err, MCPLUG_EPROTO,
                              "the %s of the PAM is not a number from 1", names[i]);
        return MCPLUG_OK;
    }
    return diag->fail(err, MCPLUG_EPROTO, "the PAM has an unknown line in its header");
}

static int read_header(const struct mcplug_diag *diag, struct mcplug_bytes in,
                       struct header *h, struct mcplug_error *err)
{
    const char *p = (const char *)in.data;
    const char *end = p + (in.len < PAM_HEADER ? in.len : PAM_HEADER), *start = p;
    int r = MCPLUG_OK;

    if (in.len < 3 || memcmp(p, "P7\n", 3) != 0)
        return diag->fail(err, MCPLUG_EPROTO, "it is not a PAM");
    p += 3;
    while (r == MCPLUG_OK) {
        const char *newline = p < end ? memchr(p, '\n', (size_t)(end - p)) : NULL;
        if (!newline)
            return in.len < PAM_HEADER
                       ? diag->fail(err, MCPLUG_EPROTO, "the PAM is truncated")
                       : diag->fail(err, MCPLUG_EPROTO,
                                    "the header of the PAM has more than %d bytes",
                                    PAM_HEADER);
        struct line line = line_split(p, (size_t)(newline - p));
        p = newline + 1;
        if (is_word(line.word, line.word_len, "ENDHDR"))
            break;
        r = read_line(diag, &line, h, err);
    }
    h->len = (size_t)(p - start);
    return r;
}

static int check_header(const struct mcplug_diag *diag, const struct header *h,
                        struct mcplug_error *err)
{
    const uint32_t *n = h->numbers;

    for (int i = 0; i < NUMBERS; i++)
        if (!n[i])
            return diag->fail(err, MCPLUG_EPROTO, "the PAM has no %s", names[i]);
    if (n[DEPTH] != 3 && n[DEPTH] != 4)
        return diag->fail(err, MCPLUG_ENOTSUP, "its depth is %u; 3 and 4 are known",
                          (unsigned)n[DEPTH]);
    if (n[MAXVAL] != 255)
        return diag->fail(err, MCPLUG_ENOTSUP,
                          "its samples go up to %u; 255 is what is known",
                          (unsigned)n[MAXVAL]);
    if (h->type && !is_word(h->type, h->type_len, n[DEPTH] == 3 ? "RGB" : "RGB_ALPHA"))
        return diag->fail(err, MCPLUG_ENOTSUP, "its TUPLTYPE is not %s",
                          n[DEPTH] == 3 ? "RGB" : "RGB_ALPHA");
    if (n[WIDTH] > PAM_SIDE || n[HEIGHT] > PAM_SIDE)
        return diag->fail(err, MCPLUG_ETOOBIG,
                          "it is %u x %u pixels; %d a side are allowed",
                          (unsigned)n[WIDTH], (unsigned)n[HEIGHT], PAM_SIDE);
    return MCPLUG_OK;
}

int pam_read(const struct mcplug_diag *diag, struct mcplug_bytes in, struct pam *out,
             struct mcplug_error *err)
{
    struct header h = {0};
    int r = read_header(diag, in, &h, err);

    if (r == MCPLUG_OK)
        r = check_header(diag, &h, err);
    if (r != MCPLUG_OK)
        return r;
    /* 64 MiB at most */
    size_t need = (size_t)h.numbers[WIDTH] * h.numbers[HEIGHT] * h.numbers[DEPTH];
    if (in.len - h.len < need)
        return diag->fail(err, MCPLUG_EPROTO, "the PAM is truncated");
    *out = (struct pam){h.numbers[WIDTH], h.numbers[HEIGHT], h.numbers[DEPTH],
                        in.data + h.len};
    return MCPLUG_OK;
}
