#include "anthropic.h"

#include <string.h>

static struct mcplug_bytes get(const struct model_request *rq, struct mcplug_bytes object,
                               const char *key)
{
    return rq->model->json->get(object, key);
}

/* ---- one block ---- */

static void each_text(struct anthropic_turn *t, void (*fn)(struct text *text))
{
    fn(&t->start);
    fn(&t->text);
    fn(&t->thinking);
    fn(&t->signature);
    fn(&t->citations);
    fn(&t->input);
}

static void empty(struct text *text)
{
    text_cut(text, 0);
}

static void block_start(struct model_request *rq, uint64_t index,
                        struct mcplug_bytes block)
{
    struct anthropic_turn *t = rq->state;
    if (!json_is_object(block) || !model_item(rq))
        return;
    if (t->start.mem == NULL) {
        const struct mcplug_mem *mem = rq->model->host->mem;
        text_init(&t->start, mem, MODEL_TURN_MAX);
        text_init(&t->text, mem, MODEL_TURN_MAX);
        text_init(&t->thinking, mem, MODEL_TURN_MAX);
        text_init(&t->signature, mem, MODEL_TURN_MAX);
        text_init(&t->citations, mem, MODEL_TURN_MAX);
        text_init(&t->input, mem, MODEL_TURN_MAX);
    }
    each_text(t, empty);
    t->half = 0;
    t->is_open = 1;
    t->index = index;
    text_add_bytes(&t->start, block);
    struct mcplug_bytes type = get(rq, block, "type");
    text_add_inside(&t->text, get(rq, block, "text"));
    text_add_inside(&t->thinking, get(rq, block, "thinking"));
    text_add_inside(&t->signature, get(rq, block, "signature"));
    if (json_is(type, "text"))
        model_tell_text(rq, get(rq, block, "text"));
    else if (json_is(type, "thinking"))
        model_tell_thought(rq, get(rq, block, "thinking"));
}

static void block_delta(struct model_request *rq, struct mcplug_bytes delta)
{
    struct anthropic_turn *t = rq->state;
    struct mcplug_bytes type = get(rq, delta, "type");
    if (json_is(type, "text_delta")) {
        struct mcplug_bytes piece = get(rq, delta, "text");
        text_add_inside(&t->text, piece);
        model_tell_text(rq, piece);
    } else if (json_is(type, "thinking_delta")) {
        struct mcplug_bytes piece = get(rq, delta, "thinking");
        text_add_inside(&t->thinking, piece);
        model_tell_thought(rq, piece);
    } else if (json_is(type, "signature_delta")) {
        text_add_inside(&t->signature, get(rq, delta, "signature"));
    } else if (json_is(type, "input_json_delta")) {
        text_add_unescaped(&t->input, get(rq, delta, "partial_json"), &t->half);
    } else if (json_is(type, "citations_delta")) {
        struct mcplug_bytes citation = get(rq, delta, "citation");
        if (t->citations.len > 0 && citation.len > 0)
            text_adds(&t->citations, ",");
        text_add_bytes(&t->citations, citation);
    }
}

static int is_blank(struct mcplug_bytes inside)
{
    for (size_t i = 0; i < inside.len; i++) {
        if (inside.data[i] == '\\' && i + 1 < inside.len &&
            memchr("ntrf", inside.data[i + 1], 4) != NULL)
            i++;
        else if (inside.data[i] != ' ')
            return 0;
    }
    return 1;
}

/* A member that came in pieces, which replaces that of the start, without a comma if it
 * is the first. */
static void add_member(struct text *raw, const char *key, struct mcplug_bytes value,
                       const char *before, const char *behind)
{
    if (value.len == 0)
        return;
    text_adds(raw, raw->len > 0 && raw->data[raw->len - 1] == '{' ? "\"" : ",\"");
    text_adds(raw, key);
    text_adds(raw, "\":");
    text_adds(raw, before);
    text_add_bytes(raw, value);
    text_adds(raw, behind);
}

/* The block as it has to be sent back: what the start said of it, and the pieces. A block
 * of a kind that is not known is kept too. */
static void add_raw(struct model_request *rq, struct mcplug_bytes input)
{
    struct anthropic_turn *t = rq->state;
    struct mcplug_bytes rest = json_inside(text_bytes(&t->start)), key, value;
    size_t n = 0;
    text_adds(&rq->raw, t->n_blocks++ > 0 ? ",{" : "[{");
    while (json_next_member(&rest, &key, &value)) {
        if ((t->text.len > 0 && json_is(key, "text")) ||
            (t->thinking.len > 0 && json_is(key, "thinking")) ||
            (t->signature.len > 0 && json_is(key, "signature")) ||
            (t->citations.len > 0 && json_is(key, "citations")) ||
            (input.len > 0 && json_is(key, "input")))
            continue;
        if (n++ > 0)
            text_adds(&rq->raw, ",");
        text_add_bytes(&rq->raw, key);
        text_adds(&rq->raw, ":");
        text_add_bytes(&rq->raw, value);
    }
    add_member(&rq->raw, "text", text_bytes(&t->text), "\"", "\"");
    add_member(&rq->raw, "thinking", text_bytes(&t->thinking), "\"", "\"");
    add_member(&rq->raw, "signature", text_bytes(&t->signature), "\"", "\"");
    add_member(&rq->raw, "citations", text_bytes(&t->citations), "[", "]");
    add_member(&rq->raw, "input", input, "", "");
    text_adds(&rq->raw, "}");
}

static int is_failed(struct model_request *rq)
{
    const struct anthropic_turn *t = rq->state;
    const struct text *all[] = {&t->start,     &t->text,      &t->thinking,
                                &t->signature, &t->citations, &t->input};
    for (size_t i = 0; i < sizeof all / sizeof all[0] && rq->raw.failed == 0; i++)
        rq->raw.failed = all[i]->failed; /* which ends the request */
    return rq->raw.failed != 0;
}

/* What the model wrote, or else what the start has; nothing at all is {}. */
static struct mcplug_bytes input_of(struct model_request *rq, struct mcplug_bytes block)
{
    struct anthropic_turn *t = rq->state;
    if (t->input.len == 0) {
        struct mcplug_bytes input = get(rq, block, "input");
        text_add_bytes(&t->input, input);
        if (!json_is_object(input)) {
            text_cut(&t->input, 0);
            text_adds(&t->input, "{}");
        }
    }
    return text_bytes(&t->input);
}

static void block_stop(struct model_request *rq)
{
    struct anthropic_turn *t = rq->state;
    struct mcplug_bytes block = text_bytes(&t->start), input = {NULL, 0};
    if (!t->is_open || is_failed(rq))
        return;
    t->is_open = 0;
    text_add_half(&t->input, &t->half);
    struct mcplug_bytes type = get(rq, block, "type");
    if (json_is(type, "text") && is_blank(text_bytes(&t->text)))
        return; /* the API would not take it back */
    if (json_is(type, "tool_use")) {
        input = input_of(rq, block);
        model_tell_call_json(rq, get(rq, block, "id"), get(rq, block, "name"), input);
        t->n_calls++;
    } else if (t->input.len > 0) {
        input = text_bytes(&t->input);
    }
    if (input.len > 0 &&
        (!json_is_object(json_trim(input)) || !rq->model->json->valid(input)))
        input = (struct mcplug_bytes){(const unsigned char *)"{}", 2};
    add_raw(rq, input);
}

/* ---- the turn ---- */

static void take_usage(struct model_request *rq, struct mcplug_bytes usage)
{
    struct anthropic_turn *t = rq->state;
    if (!json_is_object(usage))
        return;
    t->input_tokens = model_number(rq, usage, "input_tokens", t->input_tokens);
    t->output_tokens = model_number(rq, usage, "output_tokens", t->output_tokens);
    t->cache_read = model_number(rq, usage, "cache_read_input_tokens", t->cache_read);
    t->cache_written =
        model_number(rq, usage, "cache_creation_input_tokens", t->cache_written);
    struct mcplug_usage sum = {
        .struct_size = sizeof sum,
        .input = t->input_tokens + t->cache_read + t->cache_written,
        .input_cached = t->cache_read,
        .input_to_cache = t->cache_written,
        .output = t->output_tokens,
    };
    model_tell_usage(rq, &sum);
}

static void take_stop(struct model_request *rq, struct mcplug_bytes reason)
{
    static const struct {
        const char *reason;
        enum mcplug_stop stop;
    } known[] = {
        {"end_turn", MCPLUG_STOP_END},
        {"stop_sequence", MCPLUG_STOP_END},
        {"tool_use", MCPLUG_STOP_TOOLS},
        {"max_tokens", MCPLUG_STOP_LENGTH},
        {"pause_turn", MCPLUG_STOP_PAUSED},
        {"refusal", MCPLUG_STOP_REFUSED},
        {"model_context_window_exceeded", MCPLUG_STOP_FULL},
    };
    struct anthropic_turn *t = rq->state;
    if (!json_is_string(reason))
        return;
    t->has_stop = 1;
    t->stop = MCPLUG_STOP_END;
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (json_is(reason, known[i].reason))
            t->stop = known[i].stop;
}

/* Calls are calls, whatever the reason says: servers that copy this API differ there. */
static void finish(struct model_request *rq)
{
    struct anthropic_turn *t = rq->state;
    block_stop(rq);
    text_adds(&rq->raw, t->n_blocks > 0 ? "]" : "[]");
    if (!t->has_stop || t->stop == MCPLUG_STOP_END || t->stop == MCPLUG_STOP_TOOLS)
        t->stop = t->n_calls > 0 ? MCPLUG_STOP_TOOLS : MCPLUG_STOP_END;
    model_end(rq, t->stop);
}

/* The status that the error would have had. */
static int status_of(struct mcplug_bytes type)
{
    static const struct {
        const char *type;
        int status;
    } known[] = {
        {"invalid_request_error", 400}, {"authentication_error", 401},
        {"billing_error", 402},         {"permission_error", 403},
        {"not_found_error", 404},       {"request_too_large", 413},
        {"rate_limit_error", 429},      {"timeout_error", 504},
        {"overloaded_error", 529},
    };
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (json_is(type, known[i].type))
            return known[i].status;
    return 500;
}

static void fail_event(struct model_request *rq, struct mcplug_bytes json)
{
    model_fail_api(rq, status_of(get(rq, get(rq, json, "error"), "type")), json);
}

void anthropic_event(struct model_request *rq, const char *sse_type,
                     struct mcplug_bytes json)
{
    struct anthropic_turn *t = rq->state;
    struct mcplug_bytes type = get(rq, json, "type");
    (void)sse_type; /* says the same */
    if (json_is(type, "message_start")) {
        take_usage(rq, get(rq, get(rq, json, "message"), "usage"));
    } else if (json_is(type, "content_block_start")) {
        block_stop(rq);
        block_start(rq, model_number(rq, json, "index", 0),
                    get(rq, json, "content_block"));
    } else if (json_is(type, "content_block_delta")) {
        if (t->is_open && model_number(rq, json, "index", t->index) == t->index)
            block_delta(rq, get(rq, json, "delta"));
    } else if (json_is(type, "content_block_stop")) {
        if (model_number(rq, json, "index", t->index) == t->index)
            block_stop(rq);
    } else if (json_is(type, "message_delta")) {
        take_usage(rq, get(rq, json, "usage"));
        take_stop(rq, get(rq, get(rq, json, "delta"), "stop_reason"));
    } else if (json_is(type, "message_stop")) {
        finish(rq);
    } else if (json_is(type, "error")) {
        fail_event(rq, json);
    }
    is_failed(rq);
}

void anthropic_over(struct model_request *rq)
{
    struct anthropic_turn *t = rq->state;
    if (t->has_stop)
        finish(rq);
}

void anthropic_whole(struct model_request *rq, struct mcplug_bytes json)
{
    struct mcplug_bytes content = get(rq, json, "content"), block;
    struct mcplug_bytes rest = json_inside(content);
    uint64_t tokens = model_number(rq, json, "input_tokens", UINT64_MAX);
    if (json_is(get(rq, json, "type"), "error")) {
        fail_event(rq, json);
    } else if (rq->is_count && tokens != UINT64_MAX) {
        model_counted(rq, tokens);
    } else if (!rq->is_count && json_is_array(content)) {
        while (!rq->is_over && json_next(&rest, &block)) {
            block_start(rq, 0, block);
            block_stop(rq);
        }
        take_usage(rq, get(rq, json, "usage"));
        take_stop(rq, get(rq, json, "stop_reason"));
        finish(rq);
    } else {
        model_fail(rq, MCPLUG_EPROTO, "the answer is not of the Messages API");
    }
}

void anthropic_error(struct model_request *rq, struct mcplug_bytes json,
                     struct model_problem *problem)
{
    text_half half = 0;
    struct mcplug_bytes error = get(rq, json, "error");
    struct mcplug_bytes words = get(rq, error, "message");
    text_add_unescaped(&problem->words, json_is_string(words) ? words : error, &half);
}

void anthropic_clear(struct model_request *rq)
{
    each_text(rq->state, text_clear);
}
