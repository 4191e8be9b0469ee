#include "content/answer.h"

#include "base/buf.h"
#include "base/mem.h"
#include "json/skip.h"

#include <ctype.h>
#include <stdlib.h>

#define TEXT_MAX ((size_t)1 << 18) /* of blocks that are searched for repetitions */
#define VALUES_MAX 256             /* of the structured content that are looked for */
#define PLACES_MAX 16384           /* of a number in the text that are looked at */
#define BLOBS_MAX 4096             /* blocks of which the data is known again */
#define LONG_BASE64 1024           /* characters from which a string may be data */
#define NOTE_MAX 64                /* characters in place of it; shorter data stays */

enum mcplug_answer mcplug_result_answer(const mcplug_result *result,
                                        struct mcplug_bytes *part)
{
    size_t len;

    if (!result || !part)
        return MCPLUG_ANSWER_UNKNOWN;
    const char *json = mcplug_result_json(result, &len);
    mp_view all = mp_bytes(json, len), structured = mp_view_get(all, "structuredContent");
    mp_view blocks = mp_view_get(all, "content"), old = mp_view_get(all, "toolResult");

    if (!blocks.len)
        blocks = mp_view_get(all, "contents");
    bool is_array = mp_view_is_array(blocks);
    if (is_array && (mp_view_count(blocks) || !structured.len)) {
        *part = blocks;
        return MCPLUG_ANSWER_BLOCKS;
    }
    *part = structured.len ? structured : old;
    if (!structured.len && mp_view_is_string(old))
        return MCPLUG_ANSWER_TEXT;
    return part->len ? MCPLUG_ANSWER_JSON : MCPLUG_ANSWER_UNKNOWN;
}

/* ---- values in the order of the text ---- */

/* The strings and numbers that are values, whatever they are inside of: one pass over
 * text of any depth. */
static bool next_value(const unsigned char **at, const unsigned char *end, mp_view *out)
{
    const unsigned char *p = *at;

    while (p < end) {
        const unsigned char *from = p;
        if (*p == '"') {
            p = mp_skip_string(p, end);
            const unsigned char *behind = mp_skip_space(p, end);
            if (behind < end && *behind == ':') /* that was a key */
                continue;
        } else if (*p == '-' || isdigit(*p)) {
            while (p < end && (isalnum(*p) || *p == '-' || *p == '+' || *p == '.'))
                p++;
        } else {
            p++;
            continue;
        }
        *out = mp_bytes(from, (size_t)(p - from));
        *at = p;
        return true;
    }
    return false;
}

/* Strings of a result that were spilled, asked for in the order of the text. Of those
 * only the beginning is in memory. */
struct spills {
    const mcplug_result *result;
    size_t i;
    struct mcplug_spill one;
};

static bool is_spilled(struct spills *s, mp_view string)
{
    size_t n = mcplug_result_spills(s->result);
    const char *json = mcplug_result_json(s->result, NULL);

    s->one.struct_size = sizeof s->one;
    for (; s->i < n; s->i++) {
        if (mcplug_result_spill(s->result, s->i, &s->one) != MCPLUG_OK)
            return false;
        if (json + s->one.json_offset >= (const char *)string.data)
            return json + s->one.json_offset == (const char *)string.data;
    }
    return false;
}

/* ---- data of blocks ---- */

struct blobs { /* the insides of strings, in order */
    mp_view *list;
    size_t n, cap;
};

static int compare(const void *a, const void *b)
{
    const mp_view *x = a, *y = b;

    if (x->len != y->len)
        return x->len < y->len ? -1 : 1;
    return memcmp(x->data, y->data, x->len);
}

/* The inside of a string, as it is written. */
static mp_view inside(mp_view string)
{
    return string.len > 2 ? mp_bytes(string.data + 1, string.len - 2) : mp_bytes("", 0);
}

/* false: no memory */
static bool find_blobs(struct blobs *b, mp_view blocks)
{
    struct mcplug_block block = {.struct_size = sizeof block};

    *b = (struct blobs){0};
    while (b->n < BLOBS_MAX && mcplug_block_next(&blocks, &block)) {
        mp_view data = inside(block.data);
        if (data.len && !mp_grow(&b->list, &b->cap, b->n + 1))
            return false;
        if (data.len)
            b->list[b->n++] = data;
    }
    if (b->n)
        qsort(b->list, b->n, sizeof *b->list, compare);
    return true;
}

/* Is it the data of a block, so that it need not be said once more? */
static bool is_data(const struct blobs *b, mp_view string)
{
    mp_view data = inside(string);

    return b->n && bsearch(&data, b->list, b->n, sizeof data, compare);
}

/* ---- what is said twice ---- */

/* A number stands for itself where it is not a part of a longer one. What has too many
 * places to look at counts as found. */
static bool has_number(const struct mp_str *text, mp_view number)
{
    const char *p = text->data, *end = text->data + text->len;

    for (int places = 0; places < PLACES_MAX; places++) {
        p = memmem(p, (size_t)(end - p), number.data, number.len);
        if (!p)
            return false;
        bool begins = p == text->data || !(isdigit((unsigned char)p[-1]) || p[-1] == '.');
        const char *q = p + number.len;
        if (begins && (q == end || !isdigit((unsigned char)*q)))
            return true;
        do /* inside of the same digits it is a part, too */
            p++;
        while (p < end && isdigit((unsigned char)*p));
    }
    return true;
}

struct search {
    struct mp_str text;  /* of all blocks */
    struct mp_str facts; /* what they are, each between newlines */
    struct mp_str word;  /* between newlines */
    struct blobs blobs;
};

static bool has_value(struct search *s, mp_view value)
{
    if (value.data[0] != '"')
        return has_number(&s->text, value);
    mp_str_reset(&s->word);
    mp_str_addc(&s->word, '\n');
    mp_str_add_view(&s->word, value);
    mp_str_addc(&s->word, '\n');
    if (s->word.failed)
        return true;
    return memmem(s->text.data, s->text.len, s->word.data + 1, s->word.len - 2) ||
           memmem(s->facts.data, s->facts.len, s->word.data, s->word.len) ||
           is_data(&s->blobs, value);
}

/* Are the first values of `v` in the text? Literals are no information that could be
 * looked for. */
static bool has_all(struct search *s, mp_view v)
{
    const unsigned char *p = v.data, *end = p + v.len;
    mp_view value;

    for (int i = 0; i < VALUES_MAX && next_value(&p, end, &value); i++)
        if (!has_value(s, value))
            return false;
    return true;
}

/* What a block is, which structured content that has the blocks once more says, too. */
static void add_facts(struct mp_str *out, const struct mcplug_block *block)
{
    const mp_view facts[] = {mp_view_get(block->json, "type"), block->mime, block->uri};

    for (size_t i = 0; i < MP_COUNT(facts); i++) {
        mp_str_add_view(out, facts[i]);
        mp_str_addc(out, '\n');
    }
}

/* The blocks' text, as far as it is to be searched. false: there is more. */
static bool add_texts(struct mp_str *text, struct mp_str *facts,
                      const mcplug_result *result, mp_view blocks)
{
    struct mcplug_block block = {.struct_size = sizeof block};
    struct spills spills = {.result = result};

    mp_str_adds(text, "");
    mp_str_addc(facts, '\n');
    while (!text->failed && !facts->failed && mcplug_block_next(&blocks, &block)) {
        if (block.text.len && is_spilled(&spills, block.text))
            return false;
        mp_str_add_view(text, block.text);
        mp_str_addc(text, '\n');
        add_facts(facts, &block);
    }
    return !text->failed && !facts->failed;
}

/* With memory for all that may be added, so that what fails later is too long. */
static bool begin_text(struct mp_str *text, mp_view from)
{
    mp_str_init(text, TEXT_MAX);
    return mp_str_reserve(text, from.len < TEXT_MAX ? from.len : TEXT_MAX);
}

/* What can't be looked at counts as repeated: the blocks are what the server means to be
 * read. false: no memory */
static bool is_repeated(const mcplug_result *result, mp_view structured, mp_view blocks,
                        bool *repeated)
{
    struct search s;
    bool ok = begin_text(&s.text, blocks);

    ok = begin_text(&s.facts, blocks) && ok;
    ok = begin_text(&s.word, structured) && ok;
    ok = find_blobs(&s.blobs, blocks) && ok;
    if (ok)
        *repeated =
            !add_texts(&s.text, &s.facts, result, blocks) || has_all(&s, structured);
    mp_free(s.blobs.list);
    mp_str_clear(&s.word);
    mp_str_clear(&s.facts);
    mp_str_clear(&s.text);
    return ok;
}

bool mp_answer_of(const mcplug_result *result, struct mp_answer *out)
{
    bool ok = true, repeated = true;
    size_t len;
    const char *json = mcplug_result_json(result, &len);

    *out = (struct mp_answer){.kind = MCPLUG_ANSWER_UNKNOWN};
    out->kind = mcplug_result_answer(result, &out->part);
    if (out->kind != MCPLUG_ANSWER_BLOCKS)
        return true;
    mp_view structured = mp_view_get(mp_bytes(json, len), "structuredContent");
    if (structured.len)
        ok = is_repeated(result, structured, out->part, &repeated);
    if (!repeated)
        out->beside = structured;
    return ok;
}

/* ---- structured content, without data ---- */

static bool is_base64(mp_view string)
{
    for (size_t i = 1; i + 1 < string.len; i++) {
        unsigned char c = string.data[i];
        bool is_slash = c == '\\' && string.data[i + 1] == '/'; /* a way to write it */
        if (!isalnum(c) && !is_slash && !strchr("+/=-_", c))
            return false;
    }
    return true;
}

bool mp_answer_add_structured(struct mp_str *out, const mcplug_result *result,
                              const struct mp_answer *answer)
{
    mp_view all = answer->beside, value;
    const unsigned char *p = all.data, *end = p + all.len, *copied = p;
    struct spills spills = {.result = result};
    struct blobs blobs;
    bool whole = true;

    out->failed = !find_blobs(&blobs, answer->part);
    while (whole && next_value(&p, end, &value)) {
        bool cut = value.data[0] == '"' && is_spilled(&spills, value);
        if (value.data[0] != '"' || (!cut && value.len <= NOTE_MAX))
            continue;
        bool known = is_data(&blobs, value);
        if (known || ((cut || value.len >= LONG_BASE64) && is_base64(value))) {
            mp_str_add(out, copied, (size_t)(value.data - copied));
            mp_str_addf(out, "\"[Base64%s, %llu characters]\"",
                        known ? ", the data of a block" : "",
                        cut ? (unsigned long long)spills.one.size
                            : (unsigned long long)value.len - 2);
            copied = p;
        }
        whole = !cut || copied == p;
    }
    mp_str_add(out, copied, (size_t)(end - copied));
    mp_free(blobs.list);
    return whole;
}
