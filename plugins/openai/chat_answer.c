#include "openai.h"

static struct chat_state *begun(struct model_request *rq)
{
    struct chat_state *s = rq->state;
    const struct mcplug_mem *mem = rq->model->host->mem;
    if (s->is_begun)
        return s;
    s->is_begun = 1;
    s->calls.mem = mem;
    text_init(&s->content, mem, MODEL_TURN_MAX);
    text_init(&s->reasoning, mem, MODEL_TURN_MAX);
    text_init(&s->details, mem, MODEL_TURN_MAX);
    text_init(&s->extra, mem, MODEL_TURN_MAX);
    return s;
}

void chat_clear(struct model_request *rq)
{
    struct chat_state *s = begun(rq);
    text_clear(&s->content);
    text_clear(&s->reasoning);
    text_clear(&s->details);
    text_clear(&s->extra);
    chat_calls_clear(&s->calls);
}

/* ---- what a message says, whole or a piece of it ---- */

static void take_text(struct model_request *rq, struct chat_state *s,
                      struct mcplug_bytes string)
{
    model_tell_text(rq, string);
    text_add_inside(&s->content, string);
}

static void take_reasoning(struct model_request *rq, struct chat_state *s,
                           struct mcplug_bytes message)
{
    static const char *const names[] = {"reasoning_content", "reasoning"};
    for (size_t i = 0; i < 2; i++) {
        struct mcplug_bytes piece = rq->model->json->get(message, names[i]);
        if (!json_is_string(piece) || piece.len == 2)
            continue;
        if (s->reasoning_name == NULL)
            s->reasoning_name = names[i];
        if (s->reasoning_name != names[i]) /* the same again, under another name */
            continue;
        model_tell_thought(rq, piece);
        text_add_inside(&s->reasoning, piece);
    }
}

/* Texts, and what the model thinks, as a list of parts. */
static void take_parts(struct model_request *rq, struct chat_state *s,
                       struct mcplug_bytes parts)
{
    const struct mcplug_json *json = rq->model->json;
    struct mcplug_bytes rest = json_inside(parts), part, thought;
    while (json_next(&rest, &part)) {
        struct mcplug_bytes thoughts = json_inside(json->get(part, "thinking"));
        take_text(rq, s, json->get(part, "text"));
        while (json_next(&thoughts, &thought))
            model_tell_thought(rq, json->get(thought, "text"));
    }
}

static void take_calls(struct model_request *rq, struct chat_state *s,
                       struct mcplug_bytes calls)
{
    struct mcplug_bytes rest = json_inside(calls), call;
    int r = MCPLUG_OK;
    while (r == MCPLUG_OK && json_is_array(calls) && json_next(&rest, &call))
        r = chat_calls_take(&s->calls, rq->model->json, call);
    if (r == MCPLUG_ENOMEM)
        model_fail(rq, r, "out of memory");
    else if (r != MCPLUG_OK)
        model_fail(rq, r, "the answer has more than %d calls of tools, or %zu MiB",
                   MODEL_ITEMS_MAX, MODEL_TURN_MAX >> 20);
}

static void take_message(struct model_request *rq, struct chat_state *s,
                         struct mcplug_bytes message)
{
    const struct mcplug_json *json = rq->model->json;
    struct mcplug_bytes content = json->get(message, "content");
    struct mcplug_bytes refusal = json->get(message, "refusal");
    struct mcplug_bytes extra = json->get(message, "extra_content");
    struct mcplug_bytes details = json->get(message, "reasoning_details");
    struct mcplug_bytes rest = json_inside(details), detail;

    take_reasoning(rq, s, message);
    if (json_is_array(content))
        take_parts(rq, s, content);
    else
        take_text(rq, s, content);
    if (json_is_string(refusal) && refusal.len > 2) {
        s->is_refusal = 1;
        take_text(rq, s, refusal);
    }
    while (json_is_array(details) && json_next(&rest, &detail)) {
        if (s->details.len > 0)
            text_adds(&s->details, ",");
        text_add_bytes(&s->details, detail);
    }
    if (json_is_object(extra)) {
        text_clear(&s->extra);
        text_add_bytes(&s->extra, extra);
    }
    take_calls(rq, s, json->get(message, "tool_calls"));
}

static void take_finish(struct chat_state *s, struct mcplug_bytes reason)
{
    if (!json_is_string(reason) || reason.len == 2)
        return;
    if (json_is(reason, "length") || json_is(reason, "max_tokens"))
        s->stop = MCPLUG_STOP_LENGTH;
    else if (json_is(reason, "content_filter"))
        s->stop = MCPLUG_STOP_REFUSED;
    else
        s->stop = MCPLUG_STOP_END;
}

static void take_usage(struct model_request *rq, struct mcplug_bytes usage)
{
    const struct mcplug_json *json = rq->model->json;
    struct mcplug_bytes details = json->get(usage, "prompt_tokens_details");
    if (!json_is_object(usage))
        return;
    struct mcplug_usage told = {
        .struct_size = sizeof told,
        .input = model_number(rq, usage, "prompt_tokens", 0),
        .output = model_number(rq, usage, "completion_tokens", 0),
    };
    told.input_cached =
        model_number(rq, details, "cached_tokens",
                     model_number(rq, usage, "prompt_cache_hit_tokens", 0));
    told.input_to_cache = model_number(rq, details, "cache_write_tokens", 0);
    model_tell_usage(rq, &told);
}

/* Of several choices, which are not asked for, the first counts. */
static void take_choices(struct model_request *rq, struct chat_state *s,
                         struct mcplug_bytes choices)
{
    const struct mcplug_json *json = rq->model->json;
    struct mcplug_bytes rest = json_inside(choices), choice;
    while (json_is_array(choices) && json_next(&rest, &choice)) {
        struct mcplug_bytes message = json->get(choice, "delta");
        if (model_number(rq, choice, "index", 0) != 0)
            continue;
        if (!json_is_object(message))
            message = json->get(choice, "message");
        take_message(rq, s, message);
        take_finish(s, json->get(choice, "finish_reason"));
    }
}

/* ---- the turn as it has to be sent back ---- */

static void add_member(struct text *t, const char *name, const char *before,
                       const struct text *value, const char *after)
{
    if (value->len == 0)
        return;
    openai_member(t, name);
    text_adds(t, before);
    text_add_bytes(t, text_bytes(value));
    text_adds(t, after);
}

static void add_call(struct model_request *rq, const struct chat_call *call)
{
    struct text *t = &rq->raw;
    openai_comma(t);
    text_adds(t, "{\"id\":");
    text_add_strings(t, call->id.data);
    text_adds(t, ",\"type\":\"function\",\"function\":{\"name\":");
    openai_tool_name(t, call->name.data);
    openai_member(t, "arguments");
    openai_arguments(t, rq->model->json, text_bytes(&call->arguments));
    text_adds(t, "}");
    add_member(t, "extra_content", "", &call->extra, "");
    text_adds(t, "}");
}

static void write_turn(struct model_request *rq, const struct chat_state *s)
{
    const struct model *m = rq->model;
    struct text *t = &rq->raw;
    text_adds(t, "{\"role\":\"assistant\",\"content\":\"");
    text_add_bytes(t, text_bytes(&s->content));
    text_adds(t, "\"");
    if (m->host->diag->prop_int(m->settings, "returnReasoning", 1) != 0) {
        if (s->reasoning_name != NULL)
            add_member(t, s->reasoning_name, "\"", &s->reasoning, "\"");
        add_member(t, "reasoning_details", "[", &s->details, "]");
    }
    add_member(t, "extra_content", "", &s->extra, "");
    if (s->calls.n > 0) {
        text_adds(t, ",\"tool_calls\":[");
        for (size_t i = 0; i < s->calls.n; i++)
            add_call(rq, &s->calls.all[i]);
        text_adds(t, "]");
    }
    text_adds(t, "}");
}

static int has_failed(const struct chat_state *s)
{
    int failed = s->content.failed != 0 ? s->content.failed : s->reasoning.failed;
    failed = failed != 0 ? failed : s->details.failed;
    return failed != 0 ? failed : s->extra.failed;
}

/* Calls are calls, whatever the reason is that the server gives for the end. */
static void finish(struct model_request *rq, struct chat_state *s)
{
    enum mcplug_stop stop = s->stop != 0 ? s->stop : MCPLUG_STOP_END;
    int is_cut =
        stop == MCPLUG_STOP_LENGTH && chat_calls_drop_cut(&s->calls, rq->model->json);
    int r = has_failed(s);
    if (r == MCPLUG_OK)
        r = chat_calls_name(&s->calls, rq);
    if (r != MCPLUG_OK) {
        model_fail(rq, r,
                   r == MCPLUG_ENOMEM ? "out of memory" : "the answer is too long");
        return;
    }
    for (size_t i = 0; i < s->calls.n; i++) {
        const struct chat_call *call = &s->calls.all[i];
        model_tell_call(rq, call->id.data, call->name.data, text_bytes(&call->arguments));
    }
    write_turn(rq, s);
    if (s->calls.n > 0 && !is_cut && stop != MCPLUG_STOP_REFUSED)
        stop = MCPLUG_STOP_TOOLS;
    else if (s->is_refusal && stop == MCPLUG_STOP_END)
        stop = MCPLUG_STOP_REFUSED;
    model_end(rq, stop);
}

/* ---- events ---- */

/* An error in place of a piece: `error`, be it an object or a text, or an object that is
 * one as a whole. */
static int is_error(const struct model_request *rq, struct mcplug_bytes json)
{
    const struct mcplug_json *reader = rq->model->json;
    struct mcplug_bytes error = reader->get(json, "error");
    return json_is_object(error) || (json_is_string(error) && error.len > 2) ||
           json_is(reader->get(json, "object"), "error") ||
           json_is(reader->get(json, "type"), "error");
}

void chat_event(struct model_request *rq, const char *type, struct mcplug_bytes json)
{
    struct chat_state *s = begun(rq);
    (void)type;
    if (is_error(rq, json)) {
        model_fail_api(rq, openai_error_status(rq, json), json);
        return;
    }
    take_choices(rq, s, rq->model->json->get(json, "choices"));
    take_usage(rq, rq->model->json->get(json, "usage"));
}

void chat_whole(struct model_request *rq, struct mcplug_bytes json)
{
    struct chat_state *s = begun(rq);
    chat_event(rq, "", json);
    if (json_is_array(rq->model->json->get(json, "choices")))
        finish(rq, s);
    else
        model_fail(rq, MCPLUG_EPROTO, "the answer is no chat completion");
}

/* Some servers do not write [DONE], others give no reason for the end; without both, the
 * answer broke off. */
void chat_over(struct model_request *rq)
{
    struct chat_state *s = begun(rq);
    if (s->stop != 0 || rq->is_done)
        finish(rq, s);
}
