/* The assembler, with the piece boundaries as input: whatever comes, the outcome does
 * not depend on where the pieces were cut, and nothing lies outside of the text. */
#include "rpc/assembler.h"

#include <stdio.h>
#include <stdlib.h>

#define MUST(x)                                                                          \
    do                                                                                   \
        if (!(x)) {                                                                      \
            fprintf(stderr, "violated: %s\n", #x);                                       \
            abort();                                                                     \
        }                                                                                \
    while (0)

/* Small limits, so that short inputs reach them; the input's repetition makes strings
 * long enough to spill. */
static const struct mp_assembler_limits limits = {
    .scan = {.depth = 8, .tokens = 200},
    .memory = 2 * 1024,
    .spill = 6 * 1024,
    .dir = "/dev/shm",
};

static void check_span(const mp_message *m, struct mp_span s)
{
    MUST(s.at <= m->len && s.len <= m->len - s.at);
    if (s.len)
        MUST(mp_scan_text(m->text + s.at, s.len, &limits.scan, NULL, NULL) == MCPLUG_OK);
}

static void check(const mp_message *m)
{
    MUST(m->text[m->len] == '\0');
    if (m->state != MP_MESSAGE_READ) {
        MUST(m->len <= MP_EDGE);
        MUST((m->state == MP_MESSAGE_BROKEN) == (m->error != NULL));
        return;
    }
    MUST(mp_scan_text(m->text, m->len, &limits.scan, NULL, NULL) == MCPLUG_OK);
    check_span(m, m->env.id);
    check_span(m, m->env.method);
    check_span(m, m->env.params);
    check_span(m, m->env.result);
    check_span(m, m->env.error);
    for (uint32_t i = 0; i < m->env.n_inner; i++)
        check_span(m, m->env.inner[i].value);
    for (size_t i = 0; i < m->n_spills; i++) {
        const struct mp_spilled *s = &m->spills[i];
        MUST(s->at + s->len <= m->len && s->len >= 2);
        MUST(m->text[s->at] == '"' && m->text[s->at + s->len - 1] == '"');
        MUST(s->size <= limits.spill);
    }
}

static mp_message *assemble(const char *text, size_t len, const uint8_t *cuts, size_t n)
{
    struct mp_assembler a;
    mp_message *m = NULL;
    size_t at = 0, i = 0;

    mp_assembler_init(&a, &limits);
    do {
        size_t step = n ? (size_t)cuts[i % n] * cuts[(i + 1) % n] + 1 : len;
        i++;
        if (step > len - at)
            step = len - at;
        MUST(!m);
        MUST(mp_assembler_feed(&a, mp_bytes(text + at, step), at + step == len, &m) ==
             MCPLUG_OK);
        at += step;
    } while (at < len);
    mp_assembler_clear(&a);
    return m;
}

/* data: how many cuts, the cuts, then the text, in which 0xff N stands for a run of
 * the byte behind it. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct mp_str text;
    if (size < 3 || data[0] + 1u > size)
        return 0;
    const uint8_t *cuts = data + 1, *p = cuts + data[0], *end = data + size;
    mp_str_init(&text, 12 * 1024);
    for (; p < end; p++) {
        size_t run = 1;
        if (*p == 0xff && p + 2 < end) {
            run = (size_t)p[1] * 16;
            p += 2;
        }
        if (mp_str_reserve(&text, run)) {
            memset(text.data + text.len, *p, run);
            text.len += run;
        }
    }
    if (!text.failed && text.len) {
        mp_message *whole = assemble(text.data, text.len, NULL, 0);
        mp_message *parts = assemble(text.data, text.len, cuts, data[0]);
        MUST(!whole == !parts);
        if (whole) {
            check(whole);
            check(parts);
            MUST(whole->state == parts->state || whole->n_spills != parts->n_spills ||
                 whole->state == MP_MESSAGE_BROKEN || parts->state == MP_MESSAGE_BROKEN);
            if (whole->state == MP_MESSAGE_READ && parts->state == MP_MESSAGE_READ &&
                !whole->n_spills && !parts->n_spills)
                MUST(whole->len == parts->len &&
                     !memcmp(whole->text, parts->text, whole->len));
            if (text.len < limits.memory / 2)
                MUST(whole->state == parts->state);
        }
        mp_message_unref(whole);
        mp_message_unref(parts);
    }
    mp_str_clear(&text);
    return 0;
}
