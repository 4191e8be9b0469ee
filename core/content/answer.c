#include "content/answer.h"

#include "base/buf.h"
#include "json/skip.h"

#include <ctype.h>

#define TEXT_MAX ((size_t)1 << 18) /* of blocks that are searched for repetitions */
#define LEAVES_MAX 256   /* values of the structured content that are looked for */
#define LONG_BASE64 1024 /* characters from which a string may be data */

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

/* ---- what is said twice ---- */

/* The inside of a string, as it is written. */
static mp_view inside(mp_view string)
{
    return string.len > 2 ? mp_bytes(string.data + 1, string.len - 2) : mp_bytes("", 0);
}

/* Is it the data of a block, so that it need not be said once more? */
static bool is_data(mp_view string, mp_view blocks)
{
    struct mcplug_block block = {.struct_size = sizeof block};
    mp_view data = inside(string);

    while (data.len && mcplug_block_next(&blocks, &block)) {
        mp_view other = inside(block.data);
        if (other.len == data.len && memcmp(other.data, data.data, data.len) == 0)
            return true;
    }
    return false;
}

/* A number stands for itself where it is not a part of a longer one. */
static bool has_number(const struct mp_str *text, mp_view number)
{
    const char *p = text->data, *end = text->data + text->len;

    while ((p = memmem(p, (size_t)(end - p), number.data, number.len))) {
        bool begins = p == text->data || !(isdigit((unsigned char)p[-1]) || p[-1] == '.');
        const char *q = p + number.len;
        if (begins && (q == end || !isdigit((unsigned char)*q)))
            return true;
        p++;
    }
    return false;
}

struct search {
    const struct mp_str *text; /* of all blocks */
    mp_view blocks;
    struct mp_str word;
    size_t left; /* leaves */
};

static bool has_leaf(struct search *s, mp_view leaf)
{
    if (mp_view_is_string(leaf)) {
        mp_str_reset(&s->word);
        mp_str_add_view(&s->word, leaf);
        return s->word.failed || !s->word.len ||
               memmem(s->text->data, s->text->len, s->word.data, s->word.len) ||
               is_data(leaf, s->blocks);
    }
    if (leaf.data[0] == '-' || isdigit(leaf.data[0]))
        return has_number(s->text, leaf);
    return true; /* a literal is no information that could be looked for */
}

/* Are all values of `v` in the text? `depth` is bounded by the scan. */
static bool has_all(struct search *s, mp_view v)
{
    struct mp_walk w = mp_walk_into(v);
    mp_view key, item;

    if (!mp_view_is_object(v) && !mp_view_is_array(v)) {
        s->left--;
        return has_leaf(s, v);
    }
    while (s->left && (mp_view_is_object(v) ? mp_walk_member(&w, &key, &item)
                                            : mp_walk_element(&w, &item)))
        if (!has_all(s, item))
            return false;
    return true;
}

/* The blocks' text, as far as it is to be searched. false: there is more. */
static bool add_texts(struct mp_str *text, mp_view blocks)
{
    struct mcplug_block block = {.struct_size = sizeof block};

    mp_str_adds(text, "");
    while (!text->failed && mcplug_block_next(&blocks, &block)) {
        mp_str_add_view(text, block.text);
        mp_str_addc(text, '\n');
    }
    return !text->failed;
}

/* What can't be looked at counts as repeated: the blocks are what the server means to be
 * read. */
static bool is_repeated(mp_view structured, mp_view blocks)
{
    struct mp_str text;
    struct search s = {.text = &text, .blocks = blocks, .left = LEAVES_MAX};
    bool repeated = true;

    mp_str_init(&text, TEXT_MAX);
    mp_str_init(&s.word, TEXT_MAX);
    if (add_texts(&text, blocks))
        repeated = has_all(&s, structured);
    mp_str_clear(&s.word);
    mp_str_clear(&text);
    return repeated;
}

void mp_answer_of(const mcplug_result *result, struct mp_answer *out)
{
    size_t len;
    const char *json = mcplug_result_json(result, &len);

    *out = (struct mp_answer){.kind = MCPLUG_ANSWER_UNKNOWN};
    out->kind = mcplug_result_answer(result, &out->part);
    if (out->kind != MCPLUG_ANSWER_BLOCKS)
        return;
    mp_view structured = mp_view_get(mp_bytes(json, len), "structuredContent");
    if (structured.len && !is_repeated(structured, out->part))
        out->beside = structured;
}

/* ---- structured content, without data ---- */

static bool is_base64(mp_view string)
{
    if (string.len < LONG_BASE64)
        return false;
    for (size_t i = 1; i + 1 < string.len; i++) {
        unsigned char c = string.data[i];
        if (!isalnum(c) && !strchr("+/=-_\\", c)) /* \/ is a way to write it */
            return false;
    }
    return true;
}

static void add_string(struct mp_str *out, mp_view string, mp_view blocks)
{
    bool known = is_data(string, blocks);

    if (known || is_base64(string))
        mp_str_addf(out, "\"[Base64%s, %zu characters]\"",
                    known ? ", the data of a block" : "", string.len - 2);
    else
        mp_str_add(out, string.data, string.len);
}

void mp_answer_add_structured(struct mp_str *out, mp_view structured, mp_view blocks)
{
    const unsigned char *p = structured.data, *end = p + structured.len;

    while (p < end) {
        const unsigned char *quote = memchr(p, '"', (size_t)(end - p));
        mp_str_add(out, p, (size_t)((quote ? quote : end) - p));
        if (!quote)
            break;
        p = mp_skip_string(quote, end);
        add_string(out, mp_bytes(quote, (size_t)(p - quote)), blocks);
    }
}
