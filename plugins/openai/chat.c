#include "openai.h"

#include <string.h>

/* ---- messages of the user ---- */

/* Only a message of the user may have files: those of results follow behind them all. */
static const char follows[] = "The tool returned files, which follow.";

static void add_text_part(struct text *t, const char *text)
{
    openai_comma(t);
    text_adds(t, "{\"type\":\"text\",\"text\":");
    text_add_strings(t, text);
    text_adds(t, "}");
}

static void add_part(struct text *t, const struct mcplug_item *item)
{
    openai_comma(t);
    if (item->kind == MCPLUG_ITEM_IMAGE) {
        text_adds(t, "{\"type\":\"image_url\",\"image_url\":{\"url\":");
        openai_data_url(t, item);
        text_adds(t, "}}");
    } else if (item->kind == MCPLUG_ITEM_DOCUMENT) {
        text_adds(t, "{\"type\":\"file\",\"file\":{\"filename\":");
        openai_file_name(t, item);
        openai_member(t, "file_data");
        openai_data_url(t, item);
        text_adds(t, "}}");
    } else {
        text_adds(t, "{\"type\":\"text\",\"text\":");
        text_add_string(t, item->text);
        text_adds(t, "}");
    }
}

static void add_result(struct text *t, const struct mcplug_mem *mem,
                       const struct mcplug_item *result)
{
    openai_comma(t);
    text_adds(t, "{\"role\":\"tool\",\"tool_call_id\":");
    text_add_strings(t, result->id);
    openai_member(t, "content");
    openai_result_text(t, mem, result, openai_has_files(result) ? follows : NULL);
    text_adds(t, "}");
}

static void add_files(struct text *t, const struct mcplug_mem *mem,
                      const struct mcplug_item *result)
{
    struct text title;
    if (!openai_has_files(result))
        return;
    text_init(&title, mem, t->max);
    text_adds(&title, "Returned by the tool");
    if (result->name != NULL && result->name[0] != '\0') {
        text_adds(&title, " ");
        text_adds(&title, result->name);
    }
    if (result->id != NULL) {
        text_adds(&title, " (call ");
        text_adds(&title, result->id);
        text_adds(&title, ")");
    }
    text_adds(&title, ":");
    if (title.failed == 0)
        add_text_part(t, title.data);
    else
        t->failed = title.failed;
    for (size_t i = 0; i < result->n_items; i++)
        if (result->items[i]->kind != MCPLUG_ITEM_TEXT)
            add_part(t, result->items[i]);
    text_clear(&title);
}

/* Messages of the user that follow each other, `n` of them, become one: templates of some
 * models fail otherwise. Before it come the results of tools, a message each. */
static void add_user(struct model_request *rq, const struct mcplug_message *const *all,
                     size_t n)
{
    struct text *t = &rq->body;
    const struct mcplug_mem *mem = rq->model->host->mem;
    const struct mcplug_item *text = NULL; /* the only thing that is said */
    size_t n_said = 0;

    for (size_t m = 0; m < n; m++)
        for (size_t i = 0; i < all[m]->n_items; i++) {
            const struct mcplug_item *item = all[m]->items[i];
            if (item->kind == MCPLUG_ITEM_TOOL_RESULT) {
                add_result(t, mem, item);
                n_said += openai_has_files(item) ? 2 : 0;
            } else {
                text = item;
                n_said++;
            }
        }
    if (n_said == 0)
        return;
    openai_comma(t);
    text_adds(t, "{\"role\":\"user\",\"content\":");
    if (n_said == 1 && text->kind == MCPLUG_ITEM_TEXT) {
        text_add_string(t, text->text);
        text_adds(t, "}");
        return;
    }
    text_adds(t, "[");
    for (int is_rest = 0; is_rest < 2; is_rest++)
        for (size_t m = 0; m < n; m++)
            for (size_t i = 0; i < all[m]->n_items; i++) {
                const struct mcplug_item *item = all[m]->items[i];
                int is_result = item->kind == MCPLUG_ITEM_TOOL_RESULT;
                if (is_result && !is_rest)
                    add_files(t, mem, item);
                else if (!is_result && is_rest)
                    add_part(t, item);
            }
    text_adds(t, "]}");
}

/* ---- messages of the assistant ---- */

static void add_calls(struct model_request *rq, const struct mcplug_message *message)
{
    struct text *t = &rq->body;
    size_t n = 0;
    for (size_t i = 0; i < message->n_items; i++) {
        const struct mcplug_item *item = message->items[i];
        if (item->kind != MCPLUG_ITEM_TOOL_USE)
            continue;
        text_adds(t, n++ > 0 ? "," : ",\"tool_calls\":[");
        text_adds(t, "{\"id\":");
        text_add_strings(t, item->id);
        text_adds(t, ",\"type\":\"function\",\"function\":{\"name\":");
        openai_tool_name(t, item->name);
        openai_member(t, "arguments");
        openai_arguments(t, rq->model->json, item->text);
        text_adds(t, "}}");
    }
    if (n > 0)
        text_adds(t, "]");
}

/* Text is never null, which some servers refuse. */
static void add_assistant(struct model_request *rq, const struct mcplug_message *message)
{
    struct text *t = &rq->body, all;
    openai_comma(t);
    if (message->raw.len > 0) {
        text_add_bytes(t, message->raw);
        return;
    }
    text_init(&all, rq->model->host->mem, t->max);
    for (size_t i = 0; i < message->n_items; i++) {
        if (message->items[i]->kind != MCPLUG_ITEM_TEXT)
            continue;
        if (all.len > 0)
            text_adds(&all, "\n\n");
        text_add_bytes(&all, message->items[i]->text);
    }
    text_adds(t, "{\"role\":\"assistant\",\"content\":");
    text_add_string(t, text_bytes(&all));
    if (all.failed != 0 && t->failed == 0)
        t->failed = all.failed;
    text_clear(&all);
    add_calls(rq, message);
    text_adds(t, "}");
}

/* ---- the request ---- */

static void add_messages(struct model_request *rq)
{
    const struct mcplug_prompt *prompt = rq->prompt;
    struct text *t = &rq->body;

    text_adds(t, ",\"messages\":[");
    if (prompt->system.len > 0) {
        text_adds(t, "{\"role\":\"system\",\"content\":");
        text_add_string(t, prompt->system);
        text_adds(t, "}");
    }
    for (size_t i = 0, n; i < prompt->n_messages; i += n) {
        n = 1;
        if (prompt->messages[i]->role == MCPLUG_ROLE_ASSISTANT) {
            add_assistant(rq, prompt->messages[i]);
            continue;
        }
        while (i + n < prompt->n_messages &&
               prompt->messages[i + n]->role == MCPLUG_ROLE_USER)
            n++;
        add_user(rq, prompt->messages + i, n);
    }
    text_adds(t, "]");
}

/* OpenAI refuses the old name with its newer models, most others know no other. */
static const char *limit_name(const struct model *m)
{
    const char *name = m->host->diag->prop(m->settings, "maxTokensName");
    if (name != NULL && name[0] != '\0')
        return name;
    return openai_is_own(m) ? "max_completion_tokens" : "max_tokens";
}

static const struct model_tools tools = {
    .head = ",\"tools\":[",
    .name = "{\"type\":\"function\",\"function\":{\"name\":",
    .schema = ",\"parameters\":",
    .between = "}},",
    .tail = "}}]"};

static int chat_write(struct model_request *rq, struct mcplug_error *err)
{
    const struct model *m = rq->model;
    const struct mcplug_diag *diag = m->host->diag;
    const char *effort = diag->prop(m->settings, "effort");
    struct text *t = &rq->body;

    openai_begin(rq, "/chat/completions");
    text_adds(t, ",\"stream\":true");
    if (diag->prop_int(m->settings, "streamUsage", 1) != 0)
        text_adds(t, ",\"stream_options\":{\"include_usage\":true}");
    if (rq->max_tokens > 0) {
        text_adds(t, ",");
        text_add_strings(t, limit_name(m));
        text_adds(t, ":");
        text_addu(t, rq->max_tokens);
    }
    if (effort != NULL && effort[0] != '\0') {
        text_adds(t, ",\"reasoning_effort\":");
        text_add_strings(t, effort);
    }
    add_messages(rq);
    model_add_tools(rq, &tools);
    text_adds(t, "}");
    (void)err; /* what did not fit is noticed by who asked */
    return MCPLUG_OK;
}

const struct model_api openai_chat = {
    .name = "model server", /* of whomever */
    .url = OPENAI_URL,
    .key_variable = "OPENAI_API_KEY",
    .state_size = sizeof(struct chat_state),
    .write = chat_write,
    .event = chat_event,
    .whole = chat_whole,
    .over = chat_over,
    .error = openai_error,
    .clear = chat_clear,
};
