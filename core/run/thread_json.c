/* A thread as JSON: blocks as MCP has them in sampling, and documents beside them. */
#include "run/thread.h"

#include "base/error.h"
#include "base/mem.h"
#include "json/walk.h"

#include <stdarg.h>

/* ---- writing ---- */

static void add_member(struct mp_str *out, const char *name, const char *value)
{
    if (!value)
        return;
    mp_str_addf(out, ",\"%s\":", name);
    mp_str_add_json(out, value, strlen(value));
}

static void add_item(struct mp_str *out, const struct mcplug_item *item);

static void add_items(struct mp_str *out, const struct mcplug_item *const *items,
                      size_t n)
{
    mp_str_addc(out, '[');
    for (size_t i = 0; i < n; i++) {
        if (i)
            mp_str_addc(out, ',');
        add_item(out, items[i]);
    }
    mp_str_addc(out, ']');
}

static void add_item(struct mp_str *out, const struct mcplug_item *item)
{
    const char *text = (const char *)item->text.data;

    switch (item->kind) {
    case MCPLUG_ITEM_TEXT:
        mp_str_adds(out, "{\"type\":\"text\",\"text\":");
        mp_str_add_json(out, text, item->text.len);
        break;
    case MCPLUG_ITEM_IMAGE:
    case MCPLUG_ITEM_DOCUMENT:
        mp_str_addf(out, "{\"type\":\"%s\",\"data\":",
                    item->kind == MCPLUG_ITEM_IMAGE ? "image" : "document");
        mp_str_add_json(out, text, item->text.len);
        add_member(out, "mimeType", item->mime);
        add_member(out, "name", item->name);
        break;
    case MCPLUG_ITEM_TOOL_USE:
        mp_str_adds(out, "{\"type\":\"tool_use\"");
        add_member(out, "id", item->id);
        add_member(out, "name", item->name);
        mp_str_adds(out, ",\"input\":");
        mp_str_add_bytes(out, item->text);
        break;
    default:
        mp_str_adds(out, "{\"type\":\"tool_result\"");
        add_member(out, "toolUseId", item->id);
        add_member(out, "name", item->name);
        mp_str_adds(out, item->is_error ? ",\"isError\":true" : "");
        mp_str_adds(out, ",\"content\":");
        add_items(out, item->items, item->n_items);
        break;
    }
    mp_str_addc(out, '}');
}

static void add_said(struct mp_str *out, const struct mp_said *said)
{
    mp_str_addf(out, "{\"role\":\"%s\",\"content\":",
                said->m.role == MCPLUG_ROLE_USER ? "user" : "assistant");
    add_items(out, said->m.items, said->m.n_items);
    if (said->type && said->model) {
        mp_str_adds(out, ",\"raw\":{\"type\":");
        mp_str_add_json(out, said->type, strlen(said->type));
        add_member(out, "model", said->model);
        if (said->raw.len) {
            mp_str_adds(out, ",\"turn\":");
            mp_str_add(out, said->raw.data, said->raw.len);
        }
        mp_str_addc(out, '}');
    }
    mp_str_addc(out, '}');
}

const char *mcplug_thread_json(mcplug_thread *thread, size_t *len)
{
    if (len)
        *len = 0;
    if (!thread)
        return NULL;
    struct mp_str *out = &thread->json;
    if (!out->len) {
        mp_str_adds(out, "{\"messages\":[");
        for (size_t i = 0; i < thread->n; i++) {
            mp_str_adds(out, i ? ",\n" : "\n");
            add_said(out, thread->said[i]);
        }
        mp_str_adds(out, "\n]}\n");
    }
    if (out->failed) {
        mp_str_clear(out);
        return NULL;
    }
    if (len)
        *len = out->len;
    return out->data;
}

/* ---- reading ---- */

struct reading {
    mcplug_thread *thread;
    struct mcplug_error *err;
    size_t message, item; /* where we are, for errors */
};

static int MCPLUG_PRINTF(2, 3) bad(const struct reading *r, const char *fmt, ...)
{
    struct mcplug_error what = MCPLUG_ERROR_INIT;
    va_list ap;

    va_start(ap, fmt);
    mp_failv(&what, MCPLUG_EPROTO, fmt, ap);
    va_end(ap);
    return mp_fail(r->err, MCPLUG_EPROTO, "messages[%zu].content[%zu]: %s", r->message,
                   r->item, what.text);
}

static enum mcplug_item_kind kind_of(mp_view type)
{
    static const char *const names[] = {[MCPLUG_ITEM_TEXT] = "text",
                                        [MCPLUG_ITEM_IMAGE] = "image",
                                        [MCPLUG_ITEM_DOCUMENT] = "document",
                                        [MCPLUG_ITEM_TOOL_USE] = "tool_use",
                                        [MCPLUG_ITEM_TOOL_RESULT] = "tool_result"};
    for (size_t i = 1; i < MP_COUNT(names); i++)
        if (mp_view_equals(type, names[i]))
            return i;
    return 0;
}

/* Which members there have to be, by kind. */
static const struct {
    const char *text, *must[2];
} shapes[] = {
    [MCPLUG_ITEM_TEXT] = {"text", {NULL, NULL}},
    [MCPLUG_ITEM_IMAGE] = {"data", {"mimeType", NULL}},
    [MCPLUG_ITEM_DOCUMENT] = {"data", {"mimeType", NULL}},
    [MCPLUG_ITEM_TOOL_USE] = {"input", {"id", "name"}},
    [MCPLUG_ITEM_TOOL_RESULT] = {NULL, {"toolUseId", NULL}},
};

/* give; NULL with `ok` false: no memory. A member that is not there is NULL. */
static char *take_member(mp_view block, const char *name, bool *ok)
{
    mp_view value = mp_view_get(block, name);
    char *text = value.len ? mp_view_strdup(value) : NULL;

    *ok &= !value.len || text;
    return text;
}

static struct mcplug_item *read_item(const struct reading *r, mp_view block,
                                     enum mcplug_item_kind kind)
{
    bool is_use = kind == MCPLUG_ITEM_TOOL_USE, ok = true;
    mp_view value = shapes[kind].text ? mp_view_get(block, shapes[kind].text) : block;
    char *mime = take_member(block, "mimeType", &ok);
    char *name = take_member(block, "name", &ok);
    char *id = take_member(block, is_use ? "id" : "toolUseId", &ok);
    struct mcplug_item *item = NULL;
    struct mp_str text;

    if (kind == MCPLUG_ITEM_TOOL_RESULT && !name && id) {
        const struct mcplug_item *use = mp_thread_use(r->thread, id);
        name = mp_strdup(use ? use->name : "");
        ok &= name != NULL;
    }
    mp_str_init(&text, MP_THREAD_BYTES);
    if (is_use)
        mp_str_add_bytes(&text, value);
    else if (shapes[kind].text)
        mp_str_add_view(&text, value);
    if (ok && !text.failed)
        item = mp_item_new(kind, mp_bytes(text.data, text.len), mime, name, id);
    if (!item)
        mp_fail_nomem(r->err);
    mp_str_clear(&text);
    mp_free(mime);
    mp_free(name);
    mp_free(id);
    return item;
}

static int check_block(const struct reading *r, mp_view block, enum mcplug_item_kind kind)
{
    static const char *const strings[] = {"mimeType", "name", "id", "toolUseId"};
    const char *text = shapes[kind].text;
    mp_view value = mp_view_get(block, text ? text : "");
    mp_view failed = mp_view_get(block, "isError");

    if (kind == MCPLUG_ITEM_TOOL_USE && !mp_view_is_object(value))
        return bad(r, "\"input\" is not an object");
    if (text && kind != MCPLUG_ITEM_TOOL_USE && !mp_view_is_string(value))
        return bad(r, "\"%s\" is not a string", text);
    for (size_t i = 0; i < MP_COUNT(strings); i++) {
        value = mp_view_get(block, strings[i]);
        if (value.len && !mp_view_is_string(value))
            return bad(r, "\"%s\" is not a string", strings[i]);
    }
    for (size_t i = 0; i < MP_COUNT(shapes[kind].must) && shapes[kind].must[i]; i++)
        if (!mp_view_get(block, shapes[kind].must[i]).len)
            return bad(r, "\"%s\" is missing", shapes[kind].must[i]);
    if (mp_view_equals(mp_view_get(block, "id"), ""))
        return bad(r, "\"id\" is empty");
    if (failed.len && !mp_view_true(failed) && !mp_bytes_eq(failed, "false"))
        return bad(r, "\"isError\" is not true or false");
    return MCPLUG_OK;
}

/* give; text, an image or a document. */
static int read_content(const struct reading *r, mp_view block,
                        enum mcplug_item_kind kind, struct mcplug_item **out)
{
    struct mcplug_error why = MCPLUG_ERROR_INIT;
    int result = check_block(r, block, kind);

    if (result != MCPLUG_OK)
        return result;
    struct mcplug_item *item = read_item(r, block, kind);
    if (!item)
        return MCPLUG_ENOMEM;
    if (mp_item_check(item, &why) != MCPLUG_OK) {
        mp_item_free(item);
        return bad(r, "%s", why.text);
    }
    *out = item;
    return MCPLUG_OK;
}

/* The content of a tool's result. */
static int read_inner(const struct reading *r, mp_view content, struct mcplug_item *item)
{
    struct mp_walk w = mp_walk_into(content);
    mp_view block;

    if (!mp_view_is_array(content))
        return bad(r, "\"content\" of a result is not an array");
    while (mp_walk_element(&w, &block)) {
        enum mcplug_item_kind kind = kind_of(mp_view_get(block, "type"));
        struct mcplug_item *inner = NULL;
        if (kind < MCPLUG_ITEM_TEXT || kind > MCPLUG_ITEM_DOCUMENT)
            return bad(r, "a result has text, images and documents only");
        if (item->n_items >= MP_MESSAGE_ITEMS)
            return bad(r, "a result has at most %d parts", MP_MESSAGE_ITEMS);
        int result = read_content(r, block, kind, &inner);
        if (result != MCPLUG_OK)
            return result;
        if (!mp_item_put(item, inner))
            return mp_fail_nomem(r->err);
    }
    return MCPLUG_OK;
}

static int read_use(const struct reading *r, mp_view block)
{
    int result = check_block(r, block, MCPLUG_ITEM_TOOL_USE);

    if (result != MCPLUG_OK)
        return result;
    struct mcplug_item *item = read_item(r, block, MCPLUG_ITEM_TOOL_USE);
    if (!item)
        return MCPLUG_ENOMEM;
    const struct mp_said *last = r->thread->said[r->thread->n - 1];
    if (last->m.role == MCPLUG_ROLE_ASSISTANT && mp_thread_use(r->thread, item->id)) {
        mp_item_free(item);
        return bad(r, "another use in this message has the same \"id\"");
    }
    return mp_thread_put(r->thread, MCPLUG_ROLE_ASSISTANT, item, r->err);
}

static int read_result(const struct reading *r, mp_view block)
{
    struct mcplug_error why = MCPLUG_ERROR_INIT;
    int result = check_block(r, block, MCPLUG_ITEM_TOOL_RESULT);

    if (result != MCPLUG_OK)
        return result;
    struct mcplug_item *item = read_item(r, block, MCPLUG_ITEM_TOOL_RESULT);
    if (!item)
        return MCPLUG_ENOMEM;
    item->is_error = mp_view_true(mp_view_get(block, "isError"));
    result = read_inner(r, mp_view_get(block, "content"), item);
    if (result != MCPLUG_OK) {
        mp_item_free(item);
        return result;
    }
    result = mp_thread_put_result(r->thread, item, &why);
    if (result == MCPLUG_EINVAL)
        return bad(r, "it is the result of no use before it");
    if (result != MCPLUG_OK)
        mp_error_copy(r->err, &why);
    return result;
}

static int read_block(const struct reading *r, mp_view block, enum mcplug_role role)
{
    enum mcplug_item_kind kind = kind_of(mp_view_get(block, "type"));
    bool is_user = role == MCPLUG_ROLE_USER;
    struct mcplug_item *item = NULL;

    if (!kind)
        return bad(r, "its \"type\" is none of text, image, document, tool_use and "
                      "tool_result");
    if (is_user ? kind == MCPLUG_ITEM_TOOL_USE
                : kind != MCPLUG_ITEM_TEXT && kind != MCPLUG_ITEM_TOOL_USE)
        return bad(r, "it is of a type that this role does not say");
    if (kind == MCPLUG_ITEM_TOOL_USE)
        return read_use(r, block);
    if (kind == MCPLUG_ITEM_TOOL_RESULT)
        return read_result(r, block);
    int result = read_content(r, block, kind, &item);
    return result == MCPLUG_OK ? mp_thread_put(r->thread, role, item, r->err) : result;
}

static int read_raw(const struct reading *r, mp_view raw)
{
    struct mp_said *said = r->thread->said[r->thread->n - 1];
    mp_view turn = mp_view_get(raw, "turn");

    if (!mp_view_is_string(mp_view_get(raw, "type")) ||
        !mp_view_is_string(mp_view_get(raw, "model")))
        return mp_fail(r->err, MCPLUG_EPROTO,
                       "messages[%zu].raw: \"type\" or \"model\" is not a string",
                       r->message);
    if (turn.len > MP_THREAD_BYTES - r->thread->bytes)
        return mp_fail(r->err, MCPLUG_ETOOBIG, "the thread is full: it holds %zu MiB",
                       MP_THREAD_BYTES >> 20);
    said->type = mp_view_strdup(mp_view_get(raw, "type"));
    said->model = mp_view_strdup(mp_view_get(raw, "model"));
    if (!said->type || !said->model || !mp_str_add_bytes(&said->raw, turn))
        return mp_fail_nomem(r->err);
    r->thread->bytes += turn.len;
    return MCPLUG_OK;
}

static int read_message(struct reading *r, mp_view message)
{
    mp_view role = mp_view_get(message, "role"), raw = mp_view_get(message, "raw");
    struct mp_walk w = mp_walk_into(mp_view_get(message, "content"));
    bool is_user = mp_view_equals(role, "user");
    size_t before = r->thread->n;
    mp_view block;

    if (!is_user && !mp_view_equals(role, "assistant"))
        return mp_fail(r->err, MCPLUG_EPROTO,
                       "messages[%zu]: \"role\" is neither user nor assistant",
                       r->message);
    if (!is_user && (!before || r->thread->said[before - 1]->m.role != MCPLUG_ROLE_USER))
        return mp_fail(r->err, MCPLUG_EPROTO,
                       "messages[%zu]: the assistant answers nothing", r->message);
    /* What tools are used before has its answers first. */
    for (r->item = 0; mp_walk_element(&w, &block); r->item++) {
        int result =
            read_block(r, block, is_user ? MCPLUG_ROLE_USER : MCPLUG_ROLE_ASSISTANT);
        if (result != MCPLUG_OK)
            return result;
    }
    if (!r->item)
        return mp_fail(r->err, MCPLUG_EPROTO,
                       "messages[%zu]: \"content\" is no array, or empty", r->message);
    return !is_user && raw.len ? read_raw(r, raw) : MCPLUG_OK;
}

static int read_messages(struct reading *r, mp_view messages)
{
    struct mp_walk w = mp_walk_into(messages);
    mp_view message;

    if (!mp_view_is_array(messages))
        return mp_fail(r->err, MCPLUG_EPROTO, "there is no array \"messages\"");
    for (; mp_walk_element(&w, &message); r->message++) {
        bool closes = mp_view_equals(mp_view_get(message, "role"), "assistant");
        int result = closes
                         ? mp_thread_close_turn(r->thread, "There was no answer.", r->err)
                         : MCPLUG_OK;
        if (result == MCPLUG_OK)
            result = read_message(r, message);
        if (result != MCPLUG_OK)
            return result;
    }
    return MCPLUG_OK;
}

mcplug_thread *mcplug_thread_parse(const char *json, size_t len, struct mcplug_error *err)
{
    static const struct mp_scan_limits limits = {.depth = 64, .tokens = 100000000};
    struct mcplug_error own = MCPLUG_ERROR_INIT;
    struct reading r = {.err = err ? err : &own};

    if (!json) {
        mp_fail_null(err, "`json`");
        return NULL;
    }
    if (mp_scan_text(json, len, &limits, NULL, r.err) != MCPLUG_OK)
        return NULL;
    r.thread = mcplug_thread_new();
    if (!r.thread)
        mp_fail_nomem(r.err);
    else if (read_messages(&r, mp_view_get(mp_view_trim(mp_bytes(json, len)),
                                           "messages")) == MCPLUG_OK)
        return r.thread;
    mcplug_thread_free(r.thread);
    return NULL;
}
