#include "gemini.h"

#include <stdio.h>
#include <string.h>

/* Messages of one role are one content, which its first part opens: the API accepts none
 * that is empty. */
struct writer {
    struct model_request *rq;
    struct text *out;
    uint32_t role; /* of the content that is open; 0: none is */
    size_t n_contents;
    struct mcplug_bytes parts; /* of the turn before, from the next call on */
    int is_old; /* the model takes no media in results of tools: they follow behind */
};

static void close_content(struct writer *w)
{
    if (w->role != 0)
        text_adds(w->out, "]}");
    w->role = 0;
}

static void begin_part(struct writer *w, uint32_t role)
{
    if (w->role == role) {
        text_adds(w->out, ",");
        return;
    }
    close_content(w);
    if (w->n_contents++ > 0)
        text_adds(w->out, ",");
    text_adds(w->out, role == MCPLUG_ROLE_ASSISTANT ? "{\"role\":\"model\",\"parts\":["
                                                    : "{\"role\":\"user\",\"parts\":[");
    w->role = role;
}

/* ---- parts ---- */

static int is_media(const struct mcplug_item *item)
{
    return item->kind == MCPLUG_ITEM_IMAGE || item->kind == MCPLUG_ITEM_DOCUMENT;
}

/* The only one of the four kinds of images that the API refuses. */
static int is_refused(const struct mcplug_item *item)
{
    return item->kind == MCPLUG_ITEM_IMAGE && item->mime != NULL &&
           strcmp(item->mime, "image/gif") == 0;
}
#define REFUSED_NOTE "[An image/gif is left out: the API does not accept it.]"

static void add_media(struct text *out, const struct mcplug_item *item)
{
    text_adds(out, "{\"inlineData\":{\"mimeType\":");
    text_add_strings(out, item->mime);
    text_adds(out, ",\"data\":");
    text_add_string(out, item->text);
    text_adds(out, "}}");
}

static void add_text(struct text *out, struct mcplug_bytes text)
{
    text_adds(out, "{\"text\":");
    text_add_string(out, text);
    text_adds(out, "}");
}

/* A call that another model made. Models from 3 on demand a signature of the first call
 * of a turn, and take this word for one. */
static void add_use(struct writer *w, const struct mcplug_item *item, int is_first)
{
    text_adds(w->out, "{\"functionCall\":{\"name\":");
    text_add_strings(w->out, item->name);
    text_adds(w->out, ",\"args\":");
    if (json_is_object(json_trim(item->text)) && w->rq->model->json->valid(item->text))
        text_add_bytes(w->out, item->text);
    else
        text_adds(w->out, "{}");
    text_adds(w->out, "}");
    if (is_first)
        text_adds(w->out, ",\"thoughtSignature\":\"skip_thought_signature_validator\"");
    text_adds(w->out, "}");
}

/* The call that the next result belongs to; empty when the turn has no other. The ids of
 * calls that had none are the core's, so results are told apart by their order, which is
 * that of the calls. */
static struct mcplug_bytes next_call(struct writer *w)
{
    struct mcplug_bytes part, call = {NULL, 0};
    while (!json_is_object(call) && json_next(&w->parts, &part))
        call = w->rq->model->json->get(part, "functionCall");
    return call;
}

static void add_output(struct writer *w, const struct mcplug_item *item)
{
    struct text all;
    size_t n = 0;
    text_init(&all, w->rq->model->host->mem, MODEL_REQUEST_MAX);
    for (size_t i = 0; i < item->n_items; i++) {
        const struct mcplug_item *part = item->items[i];
        if (part->kind != MCPLUG_ITEM_TEXT && !is_refused(part))
            continue;
        if (n++ > 0)
            text_adds(&all, "\n");
        if (part->kind == MCPLUG_ITEM_TEXT)
            text_add_bytes(&all, part->text);
        else
            text_adds(&all, REFUSED_NOTE);
    }
    text_adds(w->out, item->is_error ? "{\"error\":" : "{\"output\":");
    text_add_string(w->out, text_bytes(&all));
    text_adds(w->out, "}");
    if (all.failed != 0)
        w->out->failed = all.failed;
    text_clear(&all);
}

static void add_result(struct writer *w, const struct mcplug_item *item)
{
    const struct mcplug_json *json = w->rq->model->json;
    struct mcplug_bytes call = next_call(w);
    struct mcplug_bytes id = json->get(call, "id"), name = json->get(call, "name");
    size_t n = 0;
    text_adds(w->out, "{\"functionResponse\":{");
    if (json_is_string(id) && id.len > 2) {
        text_adds(w->out, "\"id\":");
        text_add_bytes(w->out, id);
        text_adds(w->out, ",");
    }
    text_adds(w->out, "\"name\":");
    if (json_is_string(name))
        text_add_bytes(w->out, name);
    else
        text_add_strings(w->out, item->name);
    text_adds(w->out, ",\"response\":");
    add_output(w, item);
    for (size_t i = 0; i < item->n_items && !w->is_old; i++) {
        if (!is_media(item->items[i]) || is_refused(item->items[i]))
            continue;
        text_adds(w->out, n++ > 0 ? "," : ",\"parts\":[");
        add_media(w->out, item->items[i]);
    }
    text_adds(w->out, n > 0 ? "]}}" : "}}");
}

/* Images and documents of results, in a content of their own: next to results, older
 * models refuse them. */
static void add_late_media(struct writer *w, const struct mcplug_message *message)
{
    int is_begun = 0;
    for (size_t i = 0; i < message->n_items; i++) {
        const struct mcplug_item *result = message->items[i];
        for (size_t k = 0; k < result->n_items; k++) {
            if (result->kind != MCPLUG_ITEM_TOOL_RESULT || !is_media(result->items[k]) ||
                is_refused(result->items[k]))
                continue;
            if (!is_begun)
                close_content(w);
            is_begun = 1;
            begin_part(w, MCPLUG_ROLE_USER);
            add_media(w->out, result->items[k]);
        }
    }
}

/* ---- the conversation ---- */

static void add_plain(struct writer *w, uint32_t role, const struct mcplug_item *item)
{
    static const struct mcplug_bytes note = {(const unsigned char *)REFUSED_NOTE,
                                             sizeof REFUSED_NOTE - 1};
    if (item->kind == MCPLUG_ITEM_TEXT ? item->text.len == 0 : !is_media(item))
        return;
    begin_part(w, role);
    if (is_refused(item))
        add_text(w->out, note);
    else if (is_media(item))
        add_media(w->out, item);
    else
        add_text(w->out, item->text);
}

static void add_items(struct writer *w, const struct mcplug_message *message)
{
    int n_results = 0, n_uses = 0;
    for (size_t i = 0; i < message->n_items; i++) {
        if (message->items[i]->kind != MCPLUG_ITEM_TOOL_RESULT)
            continue;
        begin_part(w, message->role);
        add_result(w, message->items[i]);
        n_results++;
    }
    if (n_results > 0 && w->is_old)
        add_late_media(w, message);
    for (size_t i = 0; i < message->n_items; i++) {
        if (message->items[i]->kind == MCPLUG_ITEM_TOOL_USE) {
            begin_part(w, message->role);
            add_use(w, message->items[i], n_uses++ == 0);
        } else {
            add_plain(w, message->role, message->items[i]);
        }
    }
}

static void add_message(struct writer *w, const struct mcplug_message *message)
{
    const struct mcplug_json *json = w->rq->model->json;
    int has_raw = message->role == MCPLUG_ROLE_ASSISTANT && message->raw.len > 0 &&
                  json->valid(message->raw) &&
                  json_is_array(json->get(message->raw, "parts"));
    if (message->role == MCPLUG_ROLE_ASSISTANT)
        w->parts = (struct mcplug_bytes){NULL, 0};
    if (!has_raw) {
        add_items(w, message);
        return;
    }
    w->parts = json_inside(json->get(message->raw, "parts"));
    if (json_trim(w->parts).len == 0)
        return;
    close_content(w);
    if (w->n_contents++ > 0)
        text_adds(w->out, ",");
    text_add_bytes(w->out, message->raw);
}

/* Of versions 1 and 2, and of the open models. */
static int is_old(const char *model)
{
    return strncmp(model, "gemini-1", 8) == 0 || strncmp(model, "gemini-2", 8) == 0 ||
           strncmp(model, "gemma", 5) == 0;
}

static const struct model_tools tools = {.head =
                                             ",\"tools\":[{\"functionDeclarations\":[",
                                         .name = "{\"name\":",
                                         .schema = ",\"parametersJsonSchema\":",
                                         .between = "},",
                                         .tail = "}]}]"};

static void add_request(struct writer *w)
{
    const struct model_request *rq = w->rq;
    const struct mcplug_prompt *prompt = rq->prompt;
    text_adds(w->out, "\"contents\":[");
    for (size_t i = 0; i < prompt->n_messages; i++)
        add_message(w, prompt->messages[i]);
    close_content(w);
    text_adds(w->out, "]");
    if (prompt->system.len > 0) {
        text_adds(w->out, ",\"systemInstruction\":{\"parts\":[");
        add_text(w->out, prompt->system);
        text_adds(w->out, "]}");
    }
    model_add_tools(w->rq, &tools);
    if (rq->max_tokens > 0 && !rq->is_count) {
        text_adds(w->out, ",\"generationConfig\":{\"maxOutputTokens\":");
        text_addu(w->out, rq->max_tokens);
        text_adds(w->out, "}");
    }
}

int gemini_write(struct model_request *rq, struct mcplug_error *err)
{
    const struct model *m = rq->model;
    const char *model = rq->prompt->model;
    struct writer w = {.rq = rq, .out = &rq->body};
    (void)err;
    if (strncmp(model, "models/", 7) == 0)
        model += 7;
    w.is_old = is_old(model);
    /* Others are not below models/, such as tunedModels/NAME. */
    text_adds(&rq->path, strchr(model, '/') != NULL ? "/v1beta/" : "/v1beta/models/");
    text_add_path(&rq->path, model);
    text_adds(&rq->path,
              rq->is_count ? ":countTokens" : ":streamGenerateContent?alt=sse");
    if (m->key != NULL)
        model_header(rq, "x-goog-api-key", m->key);
    if (rq->is_count) {
        text_adds(w.out, "{\"generateContentRequest\":{\"model\":");
        text_adds(w.out, "\"");
        if (strchr(model, '/') == NULL)
            text_adds(w.out, "models/");
        text_add_path(w.out, model);
        text_adds(w.out, "\",");
        add_request(&w);
        text_adds(w.out, "}}");
    } else {
        text_adds(w.out, "{");
        add_request(&w);
        text_adds(w.out, "}");
    }
    return MCPLUG_OK;
}
