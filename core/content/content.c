#include "content/content.h"

#include "base/error.h"
#include "base/mem.h"
#include "content/block.h"
#include "content/tokens.h"
#include "json/conform.h"

#include <stdio.h>

/* Of our own about one block. URI and type, 64 KiB each, may be escaped byte by byte. */
#define WORDS_MAX ((size_t)1 << 20)
#define PART_MAX (4 * (size_t)MP_CONTENT_MEMORY + WORDS_MAX)

/* ---- the text of an item ---- */

static size_t offset_of(const struct mp_make *m, mp_view part)
{
    return (size_t)((const char *)part.data - mcplug_result_json(m->result, NULL));
}

int mp_item_write(const struct mp_make *m, const struct mp_item *item,
                  mcplug_write_fn *write, void *arg)
{
    int r = MCPLUG_OK;

    if (item->head.len && !write(arg, item->head.data, item->head.len))
        return r;
    if (item->string.len)
        r = mcplug_result_write_string(m->result, offset_of(m, item->string), write, arg,
                                       m->err);
    else if (item->json.len)
        r = mcplug_result_write(m->result, offset_of(m, item->json), item->json.len,
                                write, arg, m->err);
    return r;
}

static bool begins_character(char c)
{
    return ((unsigned char)c & 0xc0) != 0x80;
}

static int count_chars(void *arg, const char *data, size_t len)
{
    uint64_t n = 0;

    for (size_t i = 0; i < len; i++)
        n += begins_character(data[i]);
    *(uint64_t *)arg += n;
    return 1;
}

static int count_tokens(void *arg, const char *data, size_t len)
{
    mp_tokens_feed(arg, data, len);
    return 1;
}

struct range {
    uint64_t at, from, to; /* characters */
    struct mp_str *out;
};

static int add_range(void *arg, const char *data, size_t len)
{
    struct range *r = arg;
    size_t from = len, i = 0;

    if (r->at == 0 && r->from == 0 && r->to == UINT64_MAX) /* all of it */
        return mp_str_add(r->out, data, len);
    for (; i < len; i++) {
        if (!begins_character(data[i]))
            continue;
        if (r->at == r->to)
            break;
        if (r->at++ == r->from)
            from = i;
    }
    if (r->at > r->from && from == len) /* it began in a piece before */
        from = 0;
    if (from < i)
        mp_str_add(r->out, data + from, i - from);
    return i == len && !r->out->failed;
}

/* Adds characters `from` .. `to` of it; the end is at `chars`. */
static int add_chars(const struct mp_make *m, const struct mp_item *item, uint64_t from,
                     uint64_t to, struct mp_str *out)
{
    struct range range = {.from = from, .to = to, .out = out};
    int r = mp_item_write(m, item, add_range, &range);

    return r == MCPLUG_OK && out->failed ? mp_fail_nomem(m->err) : r;
}

/* ---- from blocks to items ---- */

static struct mp_item *add_item(struct mp_make *m)
{
    if (!mp_grow(&m->items, &m->cap, m->n + 1))
        return NULL;
    struct mp_item *item = &m->items[m->n++];
    *item = (struct mp_item){.priority = 500};
    mp_str_init(&item->head, WORDS_MAX);
    mp_str_init(&item->data, 2 * (size_t)MP_IMAGE_BYTES);
    return item;
}

/* Whom a block is for: annotations.audience and .priority. */
static bool is_for_model(mp_view annotations)
{
    mp_view audience = mp_view_get(annotations, "audience"), who;
    struct mp_walk w = mp_walk_into(audience);
    bool any = false;

    while (mp_view_is_array(audience) && mp_walk_element(&w, &who)) {
        if (!mp_view_equals(who, "user"))
            return true;
        any = true;
    }
    return !any;
}

static int priority_of(mp_view annotations)
{
    double p;

    if (!mp_view_double(mp_view_get(annotations, "priority"), &p) || !(p >= 0 && p <= 1))
        return 500;
    return (int)(p * 1000);
}

/* The note of a block in its usual words; its text is not copied. */
static int add_note(struct mp_make *m, struct mp_item *item,
                    const struct mcplug_block *block)
{
    item->string = block->text;
    if (block->kind == MCPLUG_BLOCK_TEXT)
        return MCPLUG_OK;
    if (block->kind == MCPLUG_BLOCK_OTHER) {
        item->string = mp_bytes(NULL, 0);
        item->json = block->json;
        return MCPLUG_OK;
    }
    return mp_block_note(&item->head, m->result, block, m->err);
}

/* Title, type and size of a resource, and how it is read: it is never fetched here. */
static void add_link(const struct mp_make *m, struct mp_item *item,
                     const struct mcplug_block *block)
{
    static const char *const names[] = {"title", "name", "mimeType"};
    struct mp_str *out = &item->head;
    mp_view size = mp_view_get(block->json, "size");
    const char *before = " (";
    bool has_title = false;
    int64_t bytes;

    for (size_t i = 0; i < MP_COUNT(names); i++) {
        mp_view v = mp_view_get(block->json, names[i]);
        if (v.len <= 2 || v.len > 1024 || (i == 1 && has_title))
            continue;
        has_title = has_title || i == 0;
        mp_str_adds(out, before);
        mp_block_word(out, v, "");
        before = ", ";
    }
    if (mp_view_int(size, &bytes) && bytes >= 0) {
        mp_str_addf(out, "%s%lld bytes", before, (long long)bytes);
        before = ", ";
    }
    mp_str_adds(out, *before == ',' ? ")" : "");
    if (m->rules->in_toolbox)
        mp_str_addf(out,
                    "\nThe tool read-resource reads it, with \"server\": \"%s\" and "
                    "this \"uri\".",
                    m->rules->server);
}

static bool names_an_image(mp_view mime)
{
    return mime.len > 7 && memcmp(mime.data, "\"image/", 7) == 0;
}

static int add_block(struct mp_make *m, const struct mcplug_block *block)
{
    bool has_data = block->data.len && !block->text.len;
    bool is_image =
        block->kind == MCPLUG_BLOCK_IMAGE ||
        (has_data && block->kind != MCPLUG_BLOCK_AUDIO && names_an_image(block->mime));
    mp_view annotations = mp_view_get(block->json, "annotations");

    if (!is_for_model(annotations)) {
        m->n_user++;
        return MCPLUG_OK;
    }
    if (m->n == MP_CONTENT_BLOCKS) {
        m->has_more = true;
        return MCPLUG_OK;
    }
    struct mp_item *item = add_item(m);
    if (!item)
        return mp_fail_nomem(m->err);
    item->priority = priority_of(annotations);
    int r = is_image ? mp_fit_image(m, item, block) : add_note(m, item, block);
    if (block->kind == MCPLUG_BLOCK_LINK)
        add_link(m, item, block);
    if (has_data && !is_image)
        mp_keep_data(m, block, &item->head);
    return r == MCPLUG_OK && item->head.failed ? mp_fail_nomem(m->err) : r;
}

/* Parts of a resource say which they are where there are several. */
static void name_contents(struct mcplug_block *block, bool several)
{
    if (block->kind == MCPLUG_BLOCK_CONTENTS && (several || !block->text.len))
        block->kind = MCPLUG_BLOCK_RESOURCE;
}

static int add_blocks(struct mp_make *m)
{
    struct mcplug_block block = {.struct_size = sizeof block};
    mp_view rest = m->answer.part;
    bool several = mp_view_count(rest) > 1;
    int r = MCPLUG_OK;

    while (r == MCPLUG_OK && !m->has_more && mcplug_block_next(&rest, &block)) {
        name_contents(&block, several);
        r = add_block(m, &block);
    }
    return r;
}

static int add_words(struct mp_make *m, const char *words)
{
    struct mp_item *item = add_item(m);
    return item && mp_str_adds(&item->head, words) ? MCPLUG_OK : mp_fail_nomem(m->err);
}

static int add_beside(struct mp_make *m)
{
    struct mp_item *item = add_item(m);

    if (!item)
        return mp_fail_nomem(m->err);
    /* no note is longer than what it is for, unless that was spilled */
    item->head.max = m->answer.beside.len + 64 * mcplug_result_spills(m->result);
    if (!mp_answer_add_structured(&item->head, m->result, &m->answer)) {
        mp_str_clear(&item->head);
        item->json = m->answer.beside;
    }
    return item->head.failed ? mp_fail_nomem(m->err) : MCPLUG_OK;
}

static int collect(struct mp_make *m)
{
    struct mp_item *item;
    int r = MCPLUG_OK;

    if (m->answer.kind == MCPLUG_ANSWER_BLOCKS) {
        r = add_blocks(m);
        if (r == MCPLUG_OK && m->answer.beside.len)
            r = add_beside(m);
        if (r == MCPLUG_OK && !m->n && m->n_user)
            r = add_words(m, "[The result is meant for the user alone.]");
    } else if (!(item = add_item(m))) {
        r = mp_fail_nomem(m->err);
    } else if (m->answer.kind == MCPLUG_ANSWER_TEXT) {
        item->string = m->answer.part;
    } else {
        item->json = m->answer.part;
    }
    return r;
}

/* ---- is it too long? ---- */

/* Without looking at the text: it can't have more characters than that. */
static uint64_t most_chars(const struct mp_make *m)
{
    uint64_t n = 0;
    size_t spills = mcplug_result_spills(m->result);

    for (size_t i = 0; i < m->n; i++)
        n += m->items[i].head.len + m->items[i].string.len + m->items[i].json.len;
    for (size_t i = 0; i < spills; i++) {
        struct mcplug_spill spill = {.struct_size = sizeof spill};
        mcplug_result_spill(m->result, i, &spill);
        n += spill.size;
    }
    return n;
}

static int measure(struct mp_make *m)
{
    int r = MCPLUG_OK;

    for (size_t i = 0; r == MCPLUG_OK && i < m->n; i++) {
        r = mp_item_write(m, &m->items[i], count_chars, &m->items[i].chars);
        m->chars += m->items[i].chars;
    }
    return r;
}

static uint64_t image_tokens(const struct mp_make *m)
{
    uint64_t n = 0;

    for (size_t i = 0; i < m->n; i++)
        if (m->items[i].image.mime)
            n += mp_image_tokens(&m->items[i].image);
    return n;
}

/* All texts, with a newline behind each. */
static int join(struct mp_make *m, struct mp_str *out)
{
    int r = MCPLUG_OK;

    mp_str_adds(out, "");
    for (size_t i = 0; r == MCPLUG_OK && i < m->n; i++) {
        r = add_chars(m, &m->items[i], 0, UINT64_MAX, out);
        mp_str_addc(out, '\n');
    }
    return r == MCPLUG_OK && out->failed ? mp_fail_nomem(m->err) : r;
}

/* By the program's own way to count; < 0: it can't. */
static int count_by_program(struct mp_make *m, int64_t *out)
{
    const struct mp_content_rules *rules = m->rules;
    struct mp_str text;

    mp_str_init(&text, PART_MAX);
    int r = join(m, &text);
    if (r == MCPLUG_OK)
        *out = rules->count(rules->count_arg, text.data, text.len);
    mp_str_clear(&text);
    return r;
}

static int estimate(struct mp_make *m, int64_t *out)
{
    struct mp_tokens tokens = {0};
    int r = MCPLUG_OK;

    for (size_t i = 0; r == MCPLUG_OK && i < m->n; i++)
        r = mp_item_write(m, &m->items[i], count_tokens, &tokens);
    *out = (int64_t)mp_tokens_count(&tokens);
    return r;
}

/* What a tool's definition allows its results to be; 0: it says nothing. */
static uint64_t chars_allowed(const struct mp_content_rules *rules)
{
    mp_view meta = mp_view_get(mp_text(rules->definition), "_meta");
    int64_t n;

    if (!mp_view_int(mp_view_get(meta, "anthropic/maxResultSizeChars"), &n) || n <= 0)
        return 0;
    return n < MP_TOOL_CHARS_MAX ? (uint64_t)n : MP_TOOL_CHARS_MAX;
}

/* There is one in any case. */
static uint64_t limit_chars(uint64_t tokens)
{
    uint64_t n = tokens * MP_CHARS_PER_TOKEN;
    return n < MP_CONTENT_MEMORY ? n : MP_CONTENT_MEMORY;
}

static void decide(struct mp_make *m, int64_t tokens)
{
    m->is_too_long =
        tokens >= 0 && (uint64_t)tokens + image_tokens(m) > m->rules->max_tokens;
}

static int decide_by_estimate(struct mp_make *m)
{
    int64_t tokens = MP_COUNT_FAILED;
    int r = estimate(m, &tokens);

    decide(m, tokens);
    return r;
}

/* Could a count by a model say something else than the estimate? Not where each byte may
 * be a token, nor where images alone decide, nor of so many characters a token as no text
 * has. `most` bytes are in the texts. */
static bool is_in_doubt(const struct mp_make *m, uint64_t most)
{
    const uint64_t limit = m->rules->max_tokens, images = image_tokens(m);

    return images <= limit && most + images > limit &&
           m->chars <= limit * MP_CHARS_ASKED && most <= MP_QUESTION_MAX;
}

/* In two steps: what is far below the limit costs no counting. */
static int judge(struct mp_make *m)
{
    const struct mp_content_rules *rules = m->rules;
    const uint64_t limit = rules->max_tokens;
    const uint64_t images = (uint64_t)m->n_images * MP_IMAGE_TOKENS;
    const uint64_t half = limit_chars(limit / 2);
    int64_t tokens = MP_COUNT_FAILED;

    m->is_too_long = m->has_more;
    uint64_t most = most_chars(m);
    if (!m->has_more && most + images * MP_CHARS_PER_TOKEN <= half)
        return MCPLUG_OK;
    int r = measure(m);
    uint64_t chars = m->chars + images * MP_CHARS_PER_TOKEN;
    m->is_too_long = m->has_more || m->chars > MP_CONTENT_MEMORY;
    if (r != MCPLUG_OK || m->is_too_long || rules->whole || chars <= half ||
        m->chars <= chars_allowed(rules))
        return r;
    if (rules->count) {
        r = count_by_program(m, &tokens);
        decide(m, tokens);
    } else if (rules->asks && is_in_doubt(m, most)) {
        r = join(m, &m->question);
    } else {
        r = decide_by_estimate(m);
    }
    return r;
}

/* ---- parts ---- */

static int add_part(struct mp_make *m, struct mp_item *item)
{
    struct mp_part *part = mp_content_add(m->content, PART_MAX);
    uint64_t left_out = item->chars - item->keep - item->keep_tail;
    int r = MCPLUG_OK;

    if (!part)
        return mp_fail_nomem(m->err);
    if (item->image.mime) {
        mp_str_clear(&part->text);
        part->text = item->data;
        part->image = item->image;
        mp_str_init(&item->data, 0);
        return r;
    }
    r = add_chars(m, item, 0, item->keep_tail ? item->keep : UINT64_MAX, &part->text);
    if (r == MCPLUG_OK && item->keep_tail) {
        mp_str_addf(&part->text, "\n[.. %llu characters left out ..]\n",
                    (unsigned long long)left_out);
        r = add_chars(m, item, item->chars - item->keep_tail, UINT64_MAX, &part->text);
    }
    return r == MCPLUG_OK && part->text.failed ? mp_fail_nomem(m->err) : r;
}

static int add_all(struct mp_make *m)
{
    int r = MCPLUG_OK;

    for (size_t i = 0; r == MCPLUG_OK && i < m->n; i++)
        r = add_part(m, &m->items[i]);
    m->chars = 0; /* it may not have been counted */
    for (size_t i = 0; r == MCPLUG_OK && i < m->content->n; i++) {
        const struct mp_part *part = &m->content->parts[i];
        if (!part->image.mime)
            count_chars(&m->chars, part->text.data, part->text.len);
    }
    return r;
}

static int add_cut_part(struct mp_make *m, struct mp_item *item)
{
    struct mp_part *part;

    if (item->image.mime || item->keep_tail || item->keep == item->chars)
        return add_part(m, item);
    part = mp_content_add(m->content, PART_MAX);
    return part ? add_chars(m, item, 0, item->keep, &part->text) : mp_fail_nomem(m->err);
}

/* What fits, and a warning: of a text in itself, of blocks as one more. */
static int add_cut(struct mp_make *m)
{
    uint64_t limit = limit_chars(m->rules->max_tokens);
    struct mp_part *warning = NULL;
    int r = MCPLUG_OK;

    m->content->is_cut = true;
    mp_cut_share(m->items, m->n, limit, m->rules->tail, mp_fit_shrink, m);
    for (size_t i = 0; r == MCPLUG_OK && i < m->n; i++)
        if (m->items[i].kept)
            r = add_cut_part(m, &m->items[i]);
    if (r != MCPLUG_OK)
        return r;
    if (m->answer.kind != MCPLUG_ANSWER_BLOCKS && m->content->n)
        warning = &m->content->parts[0];
    else
        warning = mp_content_add(m->content, WORDS_MAX);
    if (!warning || !mp_str_addf(&warning->text, mp_cut_warning, m->rules->max_tokens))
        r = mp_fail_nomem(m->err);
    return r;
}

/* The whole is in a file; with images, what fits of it is here as well. */
static int add_kept(struct mp_make *m)
{
    int r = m->n_images ? add_cut(m) : MCPLUG_OK;
    struct mp_part *part = r == MCPLUG_OK ? mp_content_add(m->content, WORDS_MAX) : NULL;

    m->content->is_cut = true;
    if (r == MCPLUG_OK)
        r = part ? mp_keep_whole(m, &part->text) : mp_fail_nomem(m->err);
    return r;
}

/* ---- what the tool promised ---- */

#define SCHEMA_MAX ((size_t)1 << 20) /* bytes of structured content that is checked */

/* A result that is not what its definition says is warned of, and given all the same. */
static void check_schema(struct mp_make *m)
{
    mp_view schema = mp_view_get(mp_text(m->rules->definition), "outputSchema");
    struct mcplug_error why;
    struct mp_str text;
    size_t len;

    if (!schema.len || mcplug_result_is_error(m->result))
        return;
    const char *json = mcplug_result_json(m->result, &len);
    mp_view structured = mp_view_get(mp_bytes(json, len), "structuredContent");
    mp_error_init(&why);
    if (!structured.len)
        mp_fail(&why, MCPLUG_EPROTO, "there is none");
    else if (structured.len <= SCHEMA_MAX && !mcplug_result_spills(m->result))
        mp_conform(schema, structured, &why);
    if (!why.text[0])
        return;
    mp_str_init(&text, 1024);
    mp_str_addf(&text, "structured content does not conform to its outputSchema: %s",
                why.text);
    m->content->warning = mp_str_take(&text);
}

/* ---- the whole ---- */

void mp_make_init(struct mp_make *m, const mcplug_result *result,
                  const struct mp_content_rules *rules)
{
    *m = (struct mp_make){.result = result, .rules = rules};
    mp_str_init(&m->question, PART_MAX);
}

void mp_make_clear(struct mp_make *m)
{
    for (size_t i = 0; i < m->n; i++) {
        mp_str_clear(&m->items[i].head);
        mp_str_clear(&m->items[i].data);
    }
    mp_free(m->items);
    mp_str_clear(&m->question);
    mcplug_rendering_unref(m->content);
    *m = (struct mp_make){0};
}

int mp_make_begin(struct mp_make *m, struct mcplug_error *err)
{
    m->err = err;
    if (!mp_answer_of(m->result, &m->answer))
        return mp_fail_nomem(err);
    if (m->answer.kind == MCPLUG_ANSWER_UNKNOWN)
        return mp_fail(err, MCPLUG_EPROTO, "Unexpected response format from tool %.200s",
                       m->rules->tool);
    m->content = mp_content_new();
    if (!m->content)
        return mp_fail_nomem(err);
    int r = collect(m);
    return r == MCPLUG_OK ? judge(m) : r;
}

int mp_make_end(struct mp_make *m, int64_t tokens, mcplug_rendering **out,
                struct mcplug_error *err)
{
    int r = MCPLUG_OK;

    m->err = err;
    if (m->question.len && tokens == MP_COUNT_NONE)
        r = decide_by_estimate(m);
    else if (m->question.len)
        decide(m, tokens);
    mp_str_clear(&m->question);
    if (r == MCPLUG_OK && !m->is_too_long)
        r = add_all(m);
    else if (r == MCPLUG_OK)
        r = m->rules->store ? add_kept(m) : add_cut(m);
    if (r == MCPLUG_OK) {
        m->content->chars = m->chars;
        if (!m->content->warning)
            check_schema(m);
        r = mp_content_finish(m->content, err);
    }
    if (r == MCPLUG_OK)
        *out = mp_move(&m->content);
    return r;
}

int mp_content_make(const mcplug_result *result, const struct mp_content_rules *rules,
                    mcplug_rendering **out, struct mcplug_error *err)
{
    struct mcplug_error own = MCPLUG_ERROR_INIT;
    struct mp_make m;

    err = err ? err : &own;
    mp_make_init(&m, result, rules);
    int r = mp_make_begin(&m, err);
    if (r == MCPLUG_OK)
        r = mp_make_end(&m, MP_COUNT_NONE, out, err);
    mp_make_clear(&m);
    return r;
}
