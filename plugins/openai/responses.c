#include "openai.h"

#include <string.h>

struct state {
    int is_begun;
    struct text id, name, arguments; /* of the call at hand */
    size_t n_items, n_calls;
    size_t n_pieces; /* of text, of the item at hand */
    int has_text, is_refusal, is_cut;
    int is_lossy; /* there is an item that the API would not take back */
};

/* ---- the request ---- */

static void add_text(struct text *t, struct mcplug_bytes text)
{
    openai_comma(t);
    text_adds(t, "{\"type\":\"input_text\",\"text\":");
    text_add_string(t, text);
    text_adds(t, "}");
}

static void add_part(struct text *t, const struct mcplug_item *item)
{
    if (item->kind == MCPLUG_ITEM_IMAGE) {
        openai_comma(t);
        text_adds(t, "{\"type\":\"input_image\",\"detail\":\"auto\",\"image_url\":");
        openai_data_url(t, item);
        text_adds(t, "}");
    } else if (item->kind == MCPLUG_ITEM_DOCUMENT) {
        openai_comma(t);
        text_adds(t, "{\"type\":\"input_file\",\"filename\":");
        openai_file_name(t, item);
        openai_member(t, "file_data");
        openai_data_url(t, item);
        text_adds(t, "}");
    } else {
        add_text(t, item->text);
    }
}

static void add_result(struct model_request *rq, const struct mcplug_item *result)
{
    struct text *t = &rq->body;
    openai_comma(t);
    text_adds(t, "{\"type\":\"function_call_output\",\"call_id\":");
    text_add_strings(t, result->id);
    openai_member(t, "output");
    if (openai_has_files(result)) {
        text_adds(t, "[");
        for (size_t i = 0; i < result->n_items; i++)
            add_part(t, result->items[i]);
        text_adds(t, "]");
    } else {
        openai_result_text(t, rq->model->host->mem, result, NULL);
    }
    text_adds(t, "}");
}

static void add_user(struct model_request *rq, const struct mcplug_message *message)
{
    struct text *t = &rq->body;
    size_t n_parts = 0;
    for (size_t i = 0; i < message->n_items; i++) {
        const struct mcplug_item *item = message->items[i];
        if (item->kind == MCPLUG_ITEM_TOOL_RESULT) {
            add_result(rq, item);
            continue;
        }
        if (n_parts++ == 0) {
            openai_comma(t);
            text_adds(t, "{\"role\":\"user\",\"content\":[");
        }
        add_part(t, item);
        if (i + 1 < message->n_items &&
            message->items[i + 1]->kind != MCPLUG_ITEM_TOOL_RESULT)
            continue;
        text_adds(t, "]}");
        n_parts = 0;
    }
}

static void add_assistant(struct model_request *rq, const struct mcplug_message *message)
{
    struct text *t = &rq->body;
    struct mcplug_bytes items = json_inside(message->raw), item;
    while (json_next(&items, &item)) {
        openai_comma(t);
        text_add_bytes(t, item);
    }
    for (size_t i = 0; message->raw.len == 0 && i < message->n_items; i++) {
        const struct mcplug_item *said = message->items[i];
        if (said->kind == MCPLUG_ITEM_TEXT) {
            openai_comma(t);
            text_adds(t, "{\"role\":\"assistant\",\"content\":");
            text_add_string(t, said->text);
            text_adds(t, "}");
        } else if (said->kind == MCPLUG_ITEM_TOOL_USE) {
            openai_comma(t);
            text_adds(t, "{\"type\":\"function_call\",\"call_id\":");
            text_add_strings(t, said->id);
            openai_member(t, "name");
            openai_tool_name(t, said->name);
            openai_member(t, "arguments");
            openai_arguments(t, rq->model->json, said->text);
            text_adds(t, "}");
        }
    }
}

static const char *setting(const struct model_request *rq, const char *name)
{
    const struct model *m = rq->model;
    const char *value = m->host->diag->prop(m->settings, name);
    return value != NULL ? value : "";
}

/* Nothing is kept by the API, so what the model thought has to come and go with the
 * turn; nobody but the API can read it. */
static void add_reasoning(struct model_request *rq)
{
    static const char *const members[] = {"effort", "summary"};
    const struct model *m = rq->model;
    struct text *t = &rq->body;
    size_t n = 0;
    if (m->host->diag->prop_int(m->settings, "reasoning", 1) != 0 && !rq->is_count)
        text_adds(t, ",\"include\":[\"reasoning.encrypted_content\"]");
    for (size_t i = 0; i < 2; i++) {
        const char *value = setting(rq, members[i]);
        if (value[0] == '\0')
            continue;
        if (n++ == 0)
            text_adds(t, ",\"reasoning\":{");
        openai_member(t, members[i]);
        text_add_strings(t, value);
    }
    if (n > 0)
        text_adds(t, "}");
}

/* They are strict unless told otherwise. */
static const struct model_tools tools = {.head = ",\"tools\":[",
                                         .name = "{\"type\":\"function\",\"name\":",
                                         .schema = ",\"parameters\":",
                                         .between = ",\"strict\":false},",
                                         .tail = ",\"strict\":false}]"};

static int responses_write(struct model_request *rq, struct mcplug_error *err)
{
    const struct mcplug_prompt *prompt = rq->prompt;
    struct text *t = &rq->body;

    openai_begin(rq, rq->is_count ? "/responses/input_tokens" : "/responses");
    if (!rq->is_count)
        text_adds(t, ",\"stream\":true,\"store\":false");
    add_reasoning(rq);
    if (rq->max_tokens > 0 && !rq->is_count) {
        text_adds(t, ",\"max_output_tokens\":");
        text_addu(t, rq->max_tokens);
    }
    if (prompt->system.len > 0) {
        text_adds(t, ",\"instructions\":");
        text_add_string(t, prompt->system);
    }
    text_adds(t, ",\"input\":[");
    for (size_t i = 0; i < prompt->n_messages; i++)
        if (prompt->messages[i]->role == MCPLUG_ROLE_ASSISTANT)
            add_assistant(rq, prompt->messages[i]);
        else
            add_user(rq, prompt->messages[i]);
    text_adds(t, "]");
    model_add_tools(rq, &tools);
    text_adds(t, "}");
    (void)err; /* what did not fit is noticed by who asked */
    return MCPLUG_OK;
}

/* ---- the answer: items ---- */

static struct state *begun(struct model_request *rq)
{
    struct state *s = rq->state;
    const struct mcplug_mem *mem = rq->model->host->mem;
    if (s->is_begun)
        return s;
    s->is_begun = 1;
    text_init(&s->id, mem, 4096);
    text_init(&s->name, mem, 4096);
    text_init(&s->arguments, mem, MODEL_TURN_MAX);
    return s;
}

static void responses_clear(struct model_request *rq)
{
    struct state *s = begun(rq);
    text_clear(&s->id);
    text_clear(&s->name);
    text_clear(&s->arguments);
}

static void tell_text(struct model_request *rq, struct state *s,
                      struct mcplug_bytes string)
{
    static const unsigned char blank[] = "\"\\n\\n\"";
    if (!json_is_string(string) || string.len == 2)
        return;
    if (s->has_text && s->n_pieces == 0) /* another message of the same turn */
        model_tell_text(rq, (struct mcplug_bytes){blank, sizeof blank - 1});
    s->has_text = 1;
    s->n_pieces++;
    model_tell_text(rq, string);
}

static void next_item(struct model_request *rq)
{
    struct state *s = rq->state;
    text_adds(&rq->raw, s->n_items++ > 0 ? "," : "[");
}

static void keep_item(struct model_request *rq, struct mcplug_bytes item)
{
    next_item(rq);
    text_add_bytes(&rq->raw, item);
}

static void set_text(struct text *t, struct mcplug_bytes string)
{
    text_half half = 0;
    text_clear(t);
    text_adds(t, "");
    text_add_unescaped(t, string, &half);
    text_add_half(t, &half);
}

static void take_call(struct model_request *rq, struct state *s, struct mcplug_bytes item)
{
    const struct mcplug_json *json = rq->model->json;
    struct mcplug_bytes id = json->get(item, "call_id");
    struct mcplug_bytes arguments = json->get(item, "arguments");
    int has_id = json_is_string(id) && id.len > 2;
    char made[64];

    set_text(&s->id, id);
    set_text(&s->name, json->get(item, "name"));
    set_text(&s->arguments, arguments);
    if (json_is_object(arguments))
        text_add_bytes(&s->arguments, arguments);
    if (s->arguments.failed != 0 || s->name.failed == MCPLUG_ENOMEM) {
        model_fail(rq, MCPLUG_ENOMEM, "out of memory");
        return;
    }
    if (json_is(json->get(item, "status"), "incomplete") && s->arguments.len > 0 &&
        !json->valid(text_bytes(&s->arguments))) {
        s->is_cut = 1; /* and nobody could answer it */
        return;
    }
    if (!has_id) {
        openai_make_id(rq, s->n_calls, made, sizeof made);
        text_adds(&s->id, made);
    }
    if (s->id.failed != 0) {
        model_fail(rq, MCPLUG_EPROTO, "a call of the answer has an id that is too long");
        return;
    }
    s->n_calls++;
    model_tell_call(rq, s->id.data, s->name.data, text_bytes(&s->arguments));
    if (has_id && json_is_string(arguments)) {
        keep_item(rq, item);
        return;
    }
    next_item(rq);
    text_adds(&rq->raw, "{\"type\":\"function_call\",\"call_id\":");
    text_add_strings(&rq->raw, s->id.data);
    openai_member(&rq->raw, "name");
    openai_tool_name(&rq->raw, s->name.data);
    openai_member(&rq->raw, "arguments");
    openai_arguments(&rq->raw, json, text_bytes(&s->arguments));
    text_adds(&rq->raw, "}");
}

/* Text that did not come in pieces before. */
static void take_message(struct model_request *rq, struct state *s,
                         struct mcplug_bytes item)
{
    const struct mcplug_json *json = rq->model->json;
    struct mcplug_bytes rest = json_inside(json->get(item, "content")), part;
    int is_told = s->n_pieces > 0;
    while (json_next(&rest, &part)) {
        struct mcplug_bytes refusal = json->get(part, "refusal");
        if (json_is_string(refusal) && refusal.len > 2)
            s->is_refusal = 1;
        if (is_told)
            continue;
        tell_text(rq, s, json->get(part, "text"));
        tell_text(rq, s, refusal);
    }
    keep_item(rq, item);
}

static int has_content(const struct mcplug_json *json, struct mcplug_bytes item)
{
    struct mcplug_bytes encrypted = json->get(item, "encrypted_content");
    struct mcplug_bytes open = json_inside(json->get(item, "content")), first;
    return (json_is_string(encrypted) && encrypted.len > 2) || json_next(&open, &first);
}

static void take_item(struct model_request *rq, struct state *s, struct mcplug_bytes item)
{
    const struct mcplug_json *json = rq->model->json;
    struct mcplug_bytes type = json->get(item, "type");
    if (!json_is_object(item) || !model_item(rq))
        return;
    if (json_is(type, "function_call")) {
        take_call(rq, s, item);
    } else if (json_is(type, "message")) {
        take_message(rq, s, item);
    } else {
        if (json_is(type, "reasoning") && !has_content(json, item))
            s->is_lossy = 1;
        keep_item(rq, item);
    }
    s->n_pieces = 0;
}

/* ---- the answer: its end ---- */

static void take_usage(struct model_request *rq, struct mcplug_bytes usage)
{
    const struct mcplug_json *json = rq->model->json;
    struct mcplug_bytes details = json->get(usage, "input_tokens_details");
    if (!json_is_object(usage))
        return;
    struct mcplug_usage told = {
        .struct_size = sizeof told,
        .input = model_number(rq, usage, "input_tokens", 0),
        .input_cached = model_number(rq, details, "cached_tokens", 0),
        .input_to_cache = model_number(rq, details, "cache_write_tokens", 0),
        .output = model_number(rq, usage, "output_tokens", 0),
    };
    model_tell_usage(rq, &told);
}

static enum mcplug_stop stop_of(const struct model_request *rq, const struct state *s,
                                struct mcplug_bytes response)
{
    const struct mcplug_json *json = rq->model->json;
    struct mcplug_bytes details = json->get(response, "incomplete_details");
    int is_incomplete = json_is(json->get(response, "status"), "incomplete");
    if (is_incomplete && json_is(json->get(details, "reason"), "content_filter"))
        return MCPLUG_STOP_REFUSED;
    if (is_incomplete && (s->is_cut || s->n_calls == 0))
        return MCPLUG_STOP_LENGTH;
    if (s->n_calls > 0)
        return MCPLUG_STOP_TOOLS;
    return s->is_refusal ? MCPLUG_STOP_REFUSED : MCPLUG_STOP_END;
}

/* The response is complete, and has all items once more. */
static void finish(struct model_request *rq, struct state *s,
                   struct mcplug_bytes response)
{
    const struct mcplug_json *json = rq->model->json;
    struct mcplug_bytes rest = json_inside(json->get(response, "output")), item;
    int has_items = s->n_items > 0 || s->is_cut;
    while (!has_items && json_next(&rest, &item))
        take_item(rq, s, item);
    take_usage(rq, json->get(response, "usage"));
    if (s->is_lossy) /* so that it will be made from its parts */
        text_cut(&rq->raw, 0);
    else if (rq->raw.len > 0)
        text_adds(&rq->raw, "]");
    model_end(rq, stop_of(rq, s, response));
}

static int has_failed(const struct mcplug_json *json, struct mcplug_bytes response)
{
    struct mcplug_bytes status = json->get(response, "status");
    return json_is(status, "failed") || json_is(status, "cancelled");
}

static void fail_response(struct model_request *rq, struct mcplug_bytes json)
{
    model_fail_api(rq, openai_error_status(rq, json), json);
}

/* ---- events ---- */

static void responses_event(struct model_request *rq, const char *sse_type,
                            struct mcplug_bytes json)
{
    const struct mcplug_json *reader = rq->model->json;
    struct state *s = begun(rq);
    struct mcplug_bytes type = reader->get(json, "type"),
                        delta = reader->get(json, "delta"),
                        response = reader->get(json, "response");
    (void)sse_type; /* the same, but that long ones are cut */

    if (json_is(type, "response.output_text.delta")) {
        tell_text(rq, s, delta);
    } else if (json_is(type, "response.refusal.delta")) {
        s->is_refusal = 1;
        tell_text(rq, s, delta);
    } else if (json_is(type, "response.reasoning_summary_text.delta") ||
               json_is(type, "response.reasoning_text.delta")) {
        model_tell_thought(rq, delta);
    } else if (json_is(type, "response.reasoning_summary_text.done") ||
               json_is(type, "response.reasoning_text.done")) {
        static const unsigned char blank[] = "\"\\n\\n\"";
        model_tell_thought(rq, (struct mcplug_bytes){blank, sizeof blank - 1});
    } else if (json_is(type, "response.output_item.done")) {
        take_item(rq, s, reader->get(json, "item"));
    } else if (json_is(type, "response.completed") ||
               json_is(type, "response.incomplete")) {
        finish(rq, s, response);
    } else if (json_is(type, "response.failed") || json_is(type, "error") ||
               json_is_object(reader->get(json, "error"))) {
        fail_response(rq, json);
    }
}

static void responses_whole(struct model_request *rq, struct mcplug_bytes json)
{
    const struct mcplug_json *reader = rq->model->json;
    struct mcplug_bytes tokens = reader->get(json, "input_tokens");
    int64_t n;
    if (json_is_object(reader->get(json, "error")) || has_failed(reader, json))
        fail_response(rq, json);
    else if (rq->is_count && reader->integer(tokens, &n) && n >= 0)
        model_counted(rq, (uint64_t)n);
    else if (!rq->is_count && json_is_array(reader->get(json, "output")))
        finish(rq, begun(rq), json);
    else
        model_fail(rq, MCPLUG_EPROTO, "the answer is not one of the API \"responses\"");
}

const struct model_api openai_responses = {
    .name = "OpenAI",
    .url = OPENAI_URL,
    .key_variable = "OPENAI_API_KEY",
    .state_size = sizeof(struct state),
    .write = responses_write,
    .event = responses_event,
    .whole = responses_whole,
    .error = openai_error,
    .clear = responses_clear,
};
