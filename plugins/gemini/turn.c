#include "gemini.h"

#include <stdlib.h>
#include <string.h>

static struct mcplug_bytes get(const struct model_request *rq, struct mcplug_bytes object,
                               const char *key)
{
    return rq->model->json->get(object, key);
}

static int is_true(struct mcplug_bytes value)
{
    return value.len == 4 && memcmp(value.data, "true", 4) == 0;
}

/* ---- the turn as it has to be sent back ---- */

static void close_text(struct model_request *rq)
{
    struct gemini_turn *t = rq->state;
    if (t->is_open)
        text_adds(&rq->raw, t->open_is_thought ? "\",\"thought\":true}" : "\"}");
    t->is_open = 0;
}

/* 0: it is one too many. */
static int begin_raw(struct model_request *rq)
{
    struct gemini_turn *t = rq->state;
    close_text(rq);
    if (!model_item(rq))
        return 0;
    text_adds(&rq->raw, t->n_parts++ > 0 ? "," : "{\"role\":\"model\",\"parts\":[");
    return 1;
}

/* Has it a text and nothing else that would be lost? */
static int is_plain(struct mcplug_bytes part)
{
    struct mcplug_bytes rest = json_inside(part), key, value;
    while (json_next_member(&rest, &key, &value))
        if (!json_is(key, "text") && !json_is(key, "thought"))
            return 0;
    return 1;
}

/* Pieces of a text become one part, for there are thousands of them. A part with a
 * signature stays as it is. */
static void keep_text(struct model_request *rq, struct mcplug_bytes text, int is_thought)
{
    struct gemini_turn *t = rq->state;
    if (text.len <= 2)
        return;
    if (!t->is_open || t->open_is_thought != is_thought) {
        if (!begin_raw(rq))
            return;
        text_adds(&rq->raw, "{\"text\":\"");
        t->is_open = 1;
        t->open_is_thought = is_thought;
    }
    text_add_inside(&rq->raw, text);
}

/* ---- parts ---- */

static void tell_call(struct model_request *rq, struct mcplug_bytes call)
{
    static const struct mcplug_bytes none = {(const unsigned char *)"{}", 2};
    struct gemini_turn *t = rq->state;
    struct mcplug_bytes args = get(rq, call, "args");
    t->n_calls++;
    model_tell_call_json(rq, get(rq, call, "id"), get(rq, call, "name"),
                         json_is_object(args) ? args : none);
}

static void take_part(struct model_request *rq, struct mcplug_bytes part)
{
    struct mcplug_bytes text = get(rq, part, "text");
    struct mcplug_bytes call = get(rq, part, "functionCall");
    int is_thought = is_true(get(rq, part, "thought"));
    if (!json_is_object(part))
        return;
    if (is_thought)
        model_tell_thought(rq, text);
    else
        model_tell_text(rq, text);
    if (json_is_string(text) && is_plain(part)) {
        keep_text(rq, text, is_thought);
        return;
    }
    if (begin_raw(rq))
        text_add_bytes(&rq->raw, part);
    if (json_is_object(call))
        tell_call(rq, call);
}

/* ---- chunks ---- */

static void take_usage(struct model_request *rq, struct mcplug_bytes usage)
{
    if (!json_is_object(usage))
        return;
    struct mcplug_usage sum = {
        .struct_size = sizeof sum,
        .input = model_number(rq, usage, "promptTokenCount", 0) +
                 model_number(rq, usage, "toolUsePromptTokenCount", 0),
        .input_cached = model_number(rq, usage, "cachedContentTokenCount", 0),
        .output = model_number(rq, usage, "candidatesTokenCount", 0) +
                  model_number(rq, usage, "thoughtsTokenCount", 0),
    };
    model_tell_usage(rq, &sum);
}

enum { BROKEN = 0 }; /* a turn that cannot be used */

static void take_stop(struct model_request *rq, struct mcplug_bytes reason,
                      struct mcplug_bytes chunk)
{
    static const struct {
        const char *reason;
        int stop;
    } known[] = {
        {"STOP", MCPLUG_STOP_END},
        {"MAX_TOKENS", MCPLUG_STOP_LENGTH},
        {"SAFETY", MCPLUG_STOP_REFUSED},
        {"RECITATION", MCPLUG_STOP_REFUSED},
        {"LANGUAGE", MCPLUG_STOP_REFUSED},
        {"BLOCKLIST", MCPLUG_STOP_REFUSED},
        {"PROHIBITED_CONTENT", MCPLUG_STOP_REFUSED},
        {"SPII", MCPLUG_STOP_REFUSED},
        {"IMAGE_SAFETY", MCPLUG_STOP_REFUSED},
        {"IMAGE_PROHIBITED_CONTENT", MCPLUG_STOP_REFUSED},
        {"MALFORMED_FUNCTION_CALL", BROKEN},
        {"UNEXPECTED_TOOL_CALL", BROKEN},
        {"TOO_MANY_TOOL_CALLS", BROKEN},
        {"MISSING_THOUGHT_SIGNATURE", BROKEN},
        {"MALFORMED_RESPONSE", BROKEN},
    };
    struct gemini_turn *t = rq->state;
    int stop = MCPLUG_STOP_END;
    if (!json_is_string(reason) || json_is(reason, "FINISH_REASON_UNSPECIFIED"))
        return;
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (json_is(reason, known[i].reason))
            stop = known[i].stop;
    if (stop == BROKEN) { /* the model is at fault: it may do better next time */
        model_fail_api(rq, 500, chunk);
        return;
    }
    t->has_stop = 1;
    t->stop = (enum mcplug_stop)stop;
}

static void fail_chunk(struct model_request *rq, struct mcplug_bytes json)
{
    uint64_t status = model_number(rq, get(rq, json, "error"), "code", 500);
    model_fail_api(rq, status >= 400 && status < 600 ? (int)status : 500, json);
}

void gemini_event(struct model_request *rq, const char *type, struct mcplug_bytes json)
{
    struct gemini_turn *t = rq->state;
    struct mcplug_bytes rest = json_inside(get(rq, json, "candidates"));
    struct mcplug_bytes candidate = {NULL, 0}, part;
    (void)type;
    if (json_is_object(get(rq, json, "error"))) {
        fail_chunk(rq, json);
        return;
    }
    json_next(&rest, &candidate); /* one was asked for */
    take_usage(rq, get(rq, json, "usageMetadata"));
    rest = json_inside(get(rq, get(rq, candidate, "content"), "parts"));
    while (!rq->is_over && json_next(&rest, &part))
        take_part(rq, part);
    take_stop(rq, get(rq, candidate, "finishReason"), json);
    if (json_is_string(get(rq, get(rq, json, "promptFeedback"), "blockReason"))) {
        t->has_stop = 1;
        t->stop = MCPLUG_STOP_REFUSED;
    }
}

/* Nothing marks the end of a stream but that a reason was given. */
void gemini_over(struct model_request *rq)
{
    struct gemini_turn *t = rq->state;
    if (!t->has_stop)
        return;
    close_text(rq);
    text_adds(&rq->raw, t->n_parts > 0 ? "]}" : "{\"role\":\"model\",\"parts\":[]}");
    if (t->stop == MCPLUG_STOP_END && t->n_calls > 0)
        t->stop = MCPLUG_STOP_TOOLS;
    model_end(rq, t->stop);
}

/* A count, or a stream as a list of its chunks. */
void gemini_whole(struct model_request *rq, struct mcplug_bytes json)
{
    struct mcplug_bytes rest, chunk;
    uint64_t tokens = model_number(rq, json, "totalTokens", UINT64_MAX);
    json = json_trim(json);
    if (json_is_object(get(rq, json, "error"))) {
        fail_chunk(rq, json);
    } else if (rq->is_count && tokens != UINT64_MAX) {
        model_counted(rq, tokens);
    } else if (rq->is_count) {
        model_fail(rq, MCPLUG_EPROTO, "the answer is not of the Gemini API");
    } else if (json_is_array(json)) {
        for (rest = json_inside(json); !rq->is_over && json_next(&rest, &chunk);)
            gemini_event(rq, "", chunk);
        gemini_over(rq);
    } else {
        gemini_event(rq, "", json);
        gemini_over(rq);
    }
}

/* ---- errors ---- */

/* "37s" or "0.5s", of google.rpc.RetryInfo. */
static int64_t delay_of(const struct model_request *rq, struct mcplug_bytes detail)
{
    char *text = rq->model->json->string(get(rq, detail, "retryDelay"));
    size_t n = text != NULL ? strspn(text, "0123456789") : 0;
    int64_t ms = -1;
    if (n > 0 && n < 6)
        ms = atol(text) * 1000 + (text[n] == '.' ? 1000 : 0); /* rather late */
    rq->model->host->mem->free(text);
    return ms;
}

void gemini_error(struct model_request *rq, struct mcplug_bytes json,
                  struct model_problem *problem)
{
    text_half half = 0;
    json = json_trim(json);
    if (json_is_array(json)) { /* as it is when it was not asked for as a stream */
        struct mcplug_bytes list = json_inside(json);
        json_next(&list, &json);
    }
    struct mcplug_bytes error = get(rq, json, "error"), detail;
    struct mcplug_bytes candidate = json_inside(get(rq, json, "candidates"));
    text_add_unescaped(&problem->words, get(rq, error, "message"), &half);
    if (!json_is_object(error) && json_next(&candidate, &detail)) {
        struct mcplug_bytes why = get(rq, detail, "finishMessage");
        text_add_unescaped(&problem->words, get(rq, detail, "finishReason"), &half);
        if (json_is_string(why))
            text_adds(&problem->words, ": ");
        text_add_unescaped(&problem->words, why, &half);
    }
    struct mcplug_bytes rest = json_inside(get(rq, error, "details"));
    while (json_next(&rest, &detail)) {
        int64_t ms = delay_of(rq, detail);
        if (ms >= 0)
            problem->retry_after_ms = ms;
        problem->is_key |= json_is(get(rq, detail, "reason"), "API_KEY_INVALID");
    }
}
