/* Structured content beside blocks: with notes in place of its data it is the same JSON
 * otherwise, and never longer. */
#include "base/buf.h"
#include "content/answer.h"
#include "json/skip.h"
#include "must.h"
#include "rpc/message.h"

#define SPLIT 0x1e /* blocks, then the structured content */

/* Are they the same but for strings that became a note? A key never does. */
static void compare(const char *before, size_t len, const char *after, size_t after_len)
{
    const unsigned char *p = (const unsigned char *)before, *end = p + len;
    const unsigned char *q = (const unsigned char *)after, *stop = q + after_len;

    while (p < end && q < stop) {
        const unsigned char *from = p, *to = q;
        p = *p == '"' ? mp_skip_string(p, end) : p + 1;
        q = *q == '"' ? mp_skip_string(q, stop) : q + 1;
        bool same = p - from == q - to && memcmp(from, to, (size_t)(p - from)) == 0;
        if (!same) {
            const unsigned char *behind = mp_skip_space(p, end);
            MUST(*from == '"' && q - to < p - from && memcmp(to, "\"[Base64", 8) == 0);
            MUST(behind == end || *behind != ':');
        }
    }
    MUST(p == end && q == stop);
}

static void check(const mcplug_result *result)
{
    struct mp_answer answer;
    struct mp_str out;

    MUST(mp_answer_of(result, &answer));
    if (!answer.beside.len)
        return;
    mp_str_init(&out, answer.beside.len);
    MUST(mp_answer_add_structured(&out, result, &answer) && !out.failed);
    MUST(mp_scan_text(out.data, out.len, &mp_scan_defaults, NULL, NULL) == MCPLUG_OK);
    compare((const char *)answer.beside.data, answer.beside.len, out.data, out.len);
    mp_str_clear(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *split = size ? memchr(data, SPLIT, size) : NULL;
    struct mp_str json;

    if (!split)
        return 0;
    mp_str_init(&json, 1 << 20);
    mp_str_adds(&json, "{\"content\":[");
    mp_str_add(&json, data, (size_t)(split - data));
    mp_str_adds(&json, "],\"structuredContent\":");
    mp_str_add(&json, split + 1, size - (size_t)(split - data) - 1);
    mp_str_addc(&json, '}');
    if (mp_scan_text(json.data, json.len, &mp_scan_defaults, NULL, NULL) == MCPLUG_OK) {
        mp_message *m = mp_message_new(json.data, json.len, NULL);
        MUST(m);
        mp_message_expose(m, (struct mp_span){0, json.len});
        check(m);
        mp_message_unref(m);
    }
    mp_str_clear(&json);
    return 0;
}
