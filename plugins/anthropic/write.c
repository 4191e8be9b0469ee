#include "anthropic.h"

#include <stdio.h>
#include <string.h>

#define CACHE_MARK ",\"cache_control\":{\"type\":\"ephemeral\"}"

static const struct model_tools tools = {.head = ",\"tools\":[",
                                         .name = "{\"name\":",
                                         .schema = ",\"input_schema\":",
                                         .between = "},",
                                         .tail = CACHE_MARK "}]"};

/* Messages of one role are one: the API wants results of tools in one message, and it
 * accepts none that is empty. So a message is opened by its first block. */
struct writer {
    struct model_request *rq;
    struct text *out;
    uint32_t role;                  /* of the message that is open; 0: none so far */
    int has_foreign_ids;            /* the calls before were made by another model */
    const struct mcplug_item *last; /* of the last message of the user */
};

/* The API refuses texts without a visible character. */
static int is_blank(struct mcplug_bytes text)
{
    for (size_t i = 0; i < text.len; i++)
        if (memchr(" \t\r\n\f\v", text.data[i], 6) == NULL)
            return 0;
    return 1;
}

static int is_left_out(const struct mcplug_item *item)
{
    switch (item->kind) {
    case MCPLUG_ITEM_TEXT:
        return is_blank(item->text);
    case MCPLUG_ITEM_IMAGE:
    case MCPLUG_ITEM_DOCUMENT:
    case MCPLUG_ITEM_TOOL_USE:
    case MCPLUG_ITEM_TOOL_RESULT:
        return 0;
    default:
        return 1;
    }
}

/* Of use and result alike: the API takes letters, digits, _ and - alone. */
static void add_id(struct writer *w, const char *id)
{
    char safe[256];
    size_t n = 0;
    if (!w->has_foreign_ids) {
        text_add_strings(w->out, id);
        return;
    }
    for (const char *c = id != NULL ? id : ""; *c != '\0' && n + 4 < sizeof safe; c++) {
        int is_fine = (*c >= '0' && *c <= '9') || *c == '_' || *c == '-' ||
                      ((*c | 0x20) >= 'a' && (*c | 0x20) <= 'z');
        if (is_fine)
            safe[n++] = *c;
        else
            n += (size_t)sprintf(safe + n, "_%02x", (unsigned char)*c);
    }
    safe[n] = '\0';
    text_add_strings(w->out, safe);
}

static void add_source(struct text *out, const struct mcplug_item *item, const char *type)
{
    text_adds(out, "{\"type\":\"");
    text_adds(out, type);
    text_adds(out, "\",\"source\":{\"type\":\"base64\",\"media_type\":");
    text_add_strings(out, item->mime);
    text_adds(out, ",\"data\":");
    text_add_string(out, item->text);
    text_adds(out, "}");
    if (item->kind == MCPLUG_ITEM_DOCUMENT && item->name != NULL &&
        item->name[0] != '\0') {
        text_adds(out, ",\"title\":");
        text_add_strings(out, item->name);
    }
}

/* Without the bracket at its end. */
static void add_plain(struct text *out, const struct mcplug_item *item)
{
    if (item->kind == MCPLUG_ITEM_IMAGE) {
        add_source(out, item, "image");
    } else if (item->kind == MCPLUG_ITEM_DOCUMENT) {
        add_source(out, item, "document");
    } else {
        text_adds(out, "{\"type\":\"text\",\"text\":");
        text_add_string(out, item->text);
    }
}

static void add_use(struct writer *w, const struct mcplug_item *item)
{
    text_adds(w->out, "{\"type\":\"tool_use\",\"id\":");
    add_id(w, item->id);
    text_adds(w->out, ",\"name\":");
    text_add_strings(w->out, item->name);
    text_adds(w->out, ",\"input\":");
    if (json_is_object(json_trim(item->text)) && w->rq->model->json->valid(item->text))
        text_add_bytes(w->out, item->text);
    else
        text_adds(w->out, "{}");
}

static void add_result(struct writer *w, const struct mcplug_item *item)
{
    size_t n = 0;
    text_adds(w->out, "{\"type\":\"tool_result\",\"tool_use_id\":");
    add_id(w, item->id);
    text_adds(w->out, ",\"content\":[");
    for (size_t i = 0; i < item->n_items; i++) {
        const struct mcplug_item *part = item->items[i];
        if (is_left_out(part) || part->kind >= MCPLUG_ITEM_TOOL_USE)
            continue;
        if (n++ > 0)
            text_adds(w->out, ",");
        add_plain(w->out, part);
        text_adds(w->out, "}");
    }
    if (n == 0 && item->is_error) /* which must not be empty */
        text_adds(w->out, "{\"type\":\"text\",\"text\":\"The tool failed.\"}");
    text_adds(w->out, item->is_error ? "],\"is_error\":true" : "]");
}

/* What comes next belongs to a message of this role. */
static void begin_block(struct writer *w, uint32_t role)
{
    if (w->role == role) {
        text_adds(w->out, ",");
        return;
    }
    if (w->role != 0)
        text_adds(w->out, "]},");
    text_adds(w->out, role == MCPLUG_ROLE_ASSISTANT
                          ? "{\"role\":\"assistant\",\"content\":["
                          : "{\"role\":\"user\",\"content\":[");
    w->role = role;
}

static void add_item(struct writer *w, uint32_t role, const struct mcplug_item *item)
{
    if (is_left_out(item))
        return;
    begin_block(w, role);
    if (item->kind == MCPLUG_ITEM_TOOL_USE)
        add_use(w, item);
    else if (item->kind == MCPLUG_ITEM_TOOL_RESULT)
        add_result(w, item);
    else
        add_plain(w->out, item);
    text_adds(w->out, item == w->last ? CACHE_MARK "}" : "}");
}

static void add_message(struct writer *w, const struct mcplug_message *message)
{
    int has_raw = message->role == MCPLUG_ROLE_ASSISTANT &&
                  json_is_array(json_trim(message->raw)) &&
                  w->rq->model->json->valid(message->raw);
    if (message->role == MCPLUG_ROLE_ASSISTANT)
        w->has_foreign_ids = !has_raw;
    if (has_raw) {
        struct mcplug_bytes inside = json_inside(message->raw);
        if (is_blank(inside))
            return;
        begin_block(w, message->role);
        text_add_bytes(w->out, inside);
        return;
    }
    for (size_t i = 0; i < message->n_items; i++)
        add_item(w, message->role, message->items[i]);
}

/* Up to here the next request will be the same, so it is worth a cache. */
static const struct mcplug_item *last_item(const struct mcplug_prompt *prompt)
{
    const struct mcplug_item *last = NULL;
    for (size_t i = prompt->n_messages; i > 0 && last == NULL; i--) {
        const struct mcplug_message *message = prompt->messages[i - 1];
        if (message->role != MCPLUG_ROLE_USER)
            continue;
        for (size_t k = message->n_items; k > 0 && last == NULL; k--)
            if (!is_left_out(message->items[k - 1]))
                last = message->items[k - 1];
    }
    return last;
}

int anthropic_write(struct model_request *rq, struct mcplug_error *err)
{
    const struct model *m = rq->model;
    const struct mcplug_prompt *prompt = rq->prompt;
    struct writer w = {.rq = rq, .out = &rq->body, .last = last_item(prompt)};
    (void)err;
    text_adds(&rq->path, rq->is_count ? "/v1/messages/count_tokens" : "/v1/messages");
    const char *version = m->host->diag->prop(m->settings, "version");
    if (version != NULL && version[0] != '\0')
        model_header(rq, "anthropic-version", version);
    if (m->key != NULL)
        model_header(rq, "x-api-key", m->key);
    text_adds(w.out, "{\"model\":");
    text_add_strings(w.out, prompt->model);
    if (!rq->is_count) {
        text_adds(w.out, ",\"max_tokens\":");
        text_addu(w.out, rq->max_tokens);
        text_adds(w.out, ",\"stream\":true");
    }
    if (!is_blank(prompt->system)) {
        text_adds(w.out, ",\"system\":");
        text_add_string(w.out, prompt->system);
    }
    model_add_tools(rq, &tools);
    text_adds(w.out, ",\"messages\":[");
    for (size_t i = 0; i < prompt->n_messages; i++)
        add_message(&w, prompt->messages[i]);
    text_adds(w.out, w.role != 0 ? "]}]}" : "]}");
    return MCPLUG_OK;
}
