#include "openai.h"

#include <string.h>

/* Arguments are an object: a piece that begins like one, and not in the midst of one. */
static int begins_object(struct mcplug_bytes arguments)
{
    size_t i = json_is_string(arguments) ? 1 : 0;
    while (i < arguments.len && arguments.data[i] == ' ')
        i++;
    return i < arguments.len && arguments.data[i] == '{';
}

/* Follows the brackets of what is new, from `from` on. */
static void follow(struct chat_call *call, size_t from)
{
    for (size_t i = from; i < call->arguments.len; i++) {
        char c = call->arguments.data[i];
        if (call->in_string) {
            if (call->is_escape)
                call->is_escape = 0;
            else if (c == '\\')
                call->is_escape = 1;
            else if (c == '"')
                call->in_string = 0;
        } else if (c == '"') {
            call->in_string = 1;
        } else if (c == '{' || c == '[') {
            call->depth++;
        } else if ((c == '}' || c == ']') && call->depth > 0 && --call->depth == 0) {
            call->is_closed = 1;
        }
    }
}

/* A string, or an object as some servers have it, which is JSON as it is. */
static void add_arguments(struct chat_call *call, struct mcplug_bytes value)
{
    size_t from = call->arguments.len;
    if (json_is_string(value))
        text_add_unescaped(&call->arguments, value, &call->half);
    else if (json_is_object(value))
        text_add_bytes(&call->arguments, value);
    follow(call, from);
}

/* ---- which call a piece belongs to ---- */

static int has_id(const struct chat_call *call, struct mcplug_bytes id)
{
    return call->id.len > 0 && json_is(id, call->id.data);
}

/* The last call of that index; of that id; or the last one. */
static struct chat_call *find(struct chat_calls *calls, int64_t index,
                              struct mcplug_bytes id)
{
    for (size_t i = calls->n; i-- > 0;) {
        struct chat_call *call = &calls->all[i];
        if (index >= 0 ? call->index == index : id.len == 0 || has_id(call, id))
            return call;
    }
    return NULL;
}

/* Is it another call than the one that its index, or the lack of one, points to? Some
 * servers give all calls of a turn the same index or id; others repeat the name in each
 * piece of a call. */
static int is_other(const struct chat_call *call, int64_t index, struct mcplug_bytes id,
                    struct mcplug_bytes name, struct mcplug_bytes arguments)
{
    if (name.len == 0)
        return 0;
    if (id.len > 0 && call->id.len > 0 && !has_id(call, id))
        return 1;
    if (call->is_closed && begins_object(arguments))
        return 1;
    return index < 0 && id.len == 0 && call->name.len > 0 &&
           !json_is(name, call->name.data);
}

static struct chat_call *add_call(struct chat_calls *calls, int64_t index)
{
    if (calls->n == calls->room) {
        size_t room = calls->room > 0 ? calls->room * 2 : 8;
        struct chat_call *all = calls->mem->resize(calls->all, room * sizeof *all);
        if (all == NULL)
            return NULL;
        calls->all = all;
        calls->room = room;
    }
    struct chat_call *call = &calls->all[calls->n++];
    *call = (struct chat_call){.index = index};
    text_init(&call->id, calls->mem, 4096);
    text_init(&call->name, calls->mem, 4096);
    text_init(&call->arguments, calls->mem, MODEL_TURN_MAX);
    text_init(&call->extra, calls->mem, MODEL_TURN_MAX);
    return call;
}

/* What says nothing is as if it were not there. */
static struct mcplug_bytes said(struct mcplug_bytes value)
{
    struct mcplug_bytes none = {NULL, 0};
    return json_is_object(value) || (json_is_string(value) && value.len > 2) ? value
                                                                             : none;
}

int chat_calls_take(struct chat_calls *calls, const struct mcplug_json *json,
                    struct mcplug_bytes element)
{
    struct mcplug_bytes function = json->get(element, "function");
    struct mcplug_bytes id = said(json->get(element, "id"));
    struct mcplug_bytes name = said(json->get(function, "name"));
    struct mcplug_bytes arguments = said(json->get(function, "arguments"));
    struct mcplug_bytes extra = said(json->get(element, "extra_content"));
    int64_t index = -1;
    text_half half = 0;

    if (id.len + name.len + arguments.len == 0)
        return MCPLUG_OK;
    if (!json->integer(json->get(element, "index"), &index) || index < 0)
        index = -1;
    struct chat_call *call = find(calls, index, id);
    if (call == NULL || is_other(call, index, id, name, arguments)) {
        if (calls->n == MODEL_ITEMS_MAX)
            return MCPLUG_ETOOBIG;
        call = add_call(calls, index);
        if (call == NULL)
            return MCPLUG_ENOMEM;
    }
    if (call->id.len == 0)
        text_add_unescaped(&call->id, id, &half);
    half = 0;
    if (call->name.len == 0)
        text_add_unescaped(&call->name, name, &half);
    add_arguments(call, arguments);
    if (extra.len > 0) {
        text_clear(&call->extra);
        text_add_bytes(&call->extra, extra);
    }
    calls->held += arguments.len + extra.len;
    if (calls->held > MODEL_TURN_MAX)
        return MCPLUG_ETOOBIG;
    if (call->id.failed == MCPLUG_ENOMEM || call->name.failed == MCPLUG_ENOMEM)
        return MCPLUG_ENOMEM;
    return call->arguments.failed != 0 ? call->arguments.failed : call->extra.failed;
}

/* ---- when all of them are there ---- */

static void clear_call(struct chat_call *call)
{
    text_clear(&call->id);
    text_clear(&call->name);
    text_clear(&call->arguments);
    text_clear(&call->extra);
}

int chat_calls_drop_cut(struct chat_calls *calls, const struct mcplug_json *json)
{
    struct chat_call *last = calls->n > 0 ? &calls->all[calls->n - 1] : NULL;
    if (last == NULL || last->arguments.len == 0 ||
        json->valid(text_bytes(&last->arguments)))
        return 0;
    clear_call(last);
    calls->n--;
    return 1;
}

static int is_taken(const struct chat_calls *calls, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(calls->all[i].id.data, calls->all[n].id.data) == 0)
            return 1;
    return 0;
}

int chat_calls_name(struct chat_calls *calls, const struct model_request *rq)
{
    char made[64];
    for (size_t i = 0; i < calls->n; i++) {
        struct chat_call *call = &calls->all[i];
        text_add_half(&call->arguments, &call->half);
        text_adds(&call->name, "");
        if (call->id.len > 0 && !is_taken(calls, i))
            continue;
        openai_make_id(rq, i, made, sizeof made);
        text_clear(&call->id);
        text_adds(&call->id, made);
        if (call->id.failed != 0)
            return MCPLUG_ENOMEM;
    }
    return MCPLUG_OK;
}

void chat_calls_clear(struct chat_calls *calls)
{
    for (size_t i = 0; i < calls->n; i++)
        clear_call(&calls->all[i]);
    if (calls->mem != NULL)
        calls->mem->free(calls->all);
    *calls = (struct chat_calls){.mem = calls->mem};
}
