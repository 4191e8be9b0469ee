/* Summaries: whatever the data, one line of limited length, the same however the data is
 * cut into pieces, and JSON where the scan says so. The first byte tells how many of the
 * next ones are sizes of pieces, and whether the data was cut; the rest is the data. */
#include "content/summary.h"

#include "base/buf.h"
#include "base/text.h"
#include "json/walk.h"
#include "must.h"

#include <string.h>

struct outcome {
    struct mp_str line;
    bool json;
    uint64_t chars;
};

static void summarise(struct outcome *o, const uint8_t *sizes, size_t n_sizes,
                      const uint8_t *data, size_t len, bool cut)
{
    struct mp_summary *s = mp_summary_new();

    for (size_t at = 0, i = 0; at < len; i++) {
        size_t n = n_sizes ? sizes[i % n_sizes] % 64u : len;
        n = n < len - at ? n : len - at;
        if (n == 0 && i % 2)
            n = 1;
        char *copy = malloc(n ? n : 1); /* so that nothing behind it is read */
        memcpy(copy, data + at, n);
        mp_summary_feed(s, copy, n);
        free(copy);
        at += n;
    }
    mp_summary_end(s, cut);
    mp_str_init(&o->line, 10 * MP_SUMMARY_MAX);
    MUST(mp_summary_add(s, &o->line));
    o->json = mp_summary_is_json(s);
    o->chars = mp_summary_chars(s);
    mp_summary_free(s);
}

static void is_a_line(const struct mp_str *line)
{
    MUST(line->len > 0 && line->len <= MP_SUMMARY_MAX);
    MUST(strlen(line->data) == line->len && mp_is_utf8(line->data));
    for (size_t i = 0, n; i < line->len; i += n) {
        const unsigned char *p = (const unsigned char *)line->data + i;
        n = mp_utf8_len(p, line->len - i);
        MUST(!mp_utf8_deceives(mp_utf8_get(p, n)));
    }
}

/* Brackets and quotes of the summary of JSON match, unless it has been cut short. */
static void is_balanced(const struct mp_str *line)
{
    int depth = 0;
    bool quoted = false;

    for (const char *p = line->data; *p; p++) {
        if (quoted && *p == '\\')
            p++;
        else if (*p == '"')
            quoted = !quoted;
        else if (!quoted)
            depth += (*p == '{' || *p == '[') - (*p == '}' || *p == ']');
        MUST(depth >= 0);
    }
    MUST(depth == 0 && !quoted);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct mp_scan_limits limits = {64, 100000};
    struct outcome whole, pieces;

    if (size == 0 || size - 1 < data[0] % 8u)
        return 0;
    bool cut = data[0] & 0x80;
    size_t n_sizes = data[0] % 8u, len = size - 1 - n_sizes;
    const uint8_t *text = data + 1 + n_sizes;

    summarise(&whole, NULL, 0, text, len, cut);
    summarise(&pieces, data + 1, n_sizes, text, len, cut);
    is_a_line(&whole.line);
    MUST(strcmp(whole.line.data, pieces.line.data) == 0);
    MUST(whole.json == pieces.json && whole.chars == pieces.chars);
    MUST(whole.chars <= len);

    bool valid = mp_scan_text((const char *)text, len, &limits, NULL, NULL) == MCPLUG_OK;
    mp_view value = mp_view_trim(mp_bytes(text, len));
    if (valid && (mp_view_is_object(value) || mp_view_is_array(value)))
        MUST(whole.json);
    else if (valid)
        MUST(!whole.json);
    if (whole.json)
        is_balanced(&whole.line);
    mp_str_clear(&whole.line);
    mp_str_clear(&pieces.line);
    return 0;
}
