#include "run/thread.h"

#include "base/error.h"
#include "base/mem.h"
#include "json/walk.h"

/* ---- items ---- */

static char *put_text(char **at, const void *data, size_t len)
{
    char *begin = *at;

    if (len)
        memcpy(begin, data, len);
    begin[len] = '\0';
    *at += len + 1;
    return begin;
}

static size_t room(const char *text)
{
    return text ? strlen(text) + 1 : 0;
}

/* One block: the item, then its texts. */
struct mcplug_item *mp_item_new(enum mcplug_item_kind kind, struct mcplug_bytes text,
                                const char *mime, const char *name, const char *id)
{
    size_t size =
        sizeof(struct mcplug_item) + text.len + 1 + room(mime) + room(name) + room(id);
    struct mcplug_item *item = mp_alloc_raw(size);

    if (!item)
        return NULL;
    char *at = (char *)(item + 1);
    *item = (struct mcplug_item){.struct_size = sizeof *item, .kind = kind};
    item->text = mp_bytes(put_text(&at, text.data, text.len), text.len);
    item->mime = mime ? put_text(&at, mime, strlen(mime)) : NULL;
    item->name = name ? put_text(&at, name, strlen(name)) : NULL;
    item->id = id ? put_text(&at, id, strlen(id)) : NULL;
    return item;
}

void mp_item_free(struct mcplug_item *item)
{
    if (!item)
        return;
    for (uint32_t i = 0; i < item->n_items; i++)
        mp_item_free((struct mcplug_item *)item->items[i]);
    mp_free((void *)item->items);
    mp_free(item);
}

bool mp_item_put(struct mcplug_item *item, struct mcplug_item *inner)
{
    size_t n = item->n_items;
    void *items = (void *)item->items;

    if (inner && (n & (n - 1)) == 0) /* 0, 1, 2, 4, 8 .. are full */
        items = mp_resize(items, (n ? n * 2 : 1) * sizeof *item->items);
    if (!inner || !items) {
        mp_item_free(inner);
        return false;
    }
    item->items = items;
    ((struct mcplug_item **)items)[item->n_items++] = inner;
    return true;
}

struct mcplug_item *mp_item_copy(const struct mcplug_item *from)
{
    struct mcplug_item *item =
        mp_item_new(from->kind, from->text, from->mime, from->name, from->id);

    if (item)
        item->is_error = from->is_error;
    for (uint32_t i = 0; item && i < from->n_items; i++)
        if (!mp_item_put(item, mp_item_copy(from->items[i]))) {
            mp_item_free(item);
            return NULL;
        }
    return item;
}

static bool is_one_of(const char *mime, const char *const *list)
{
    for (; mime && *list; list++)
        if (strcmp(mime, *list) == 0)
            return true;
    return false;
}

static bool is_base64(struct mcplug_bytes text)
{
    size_t end = text.len;

    while (end > 0 && text.len - end < 2 && text.data[end - 1] == '=')
        end--;
    for (size_t i = 0; i < end; i++) {
        unsigned char c = text.data[i];
        if (!((c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
              (c >= '0' && c <= '9') || c == '+' || c == '/'))
            return false;
    }
    return text.len > 0 && text.len % 4 == 0;
}

int mp_item_check(const struct mcplug_item *item, struct mcplug_error *err)
{
    static const char *const images[] = {"image/png", "image/jpeg", "image/gif",
                                         "image/webp", NULL};
    static const char *const documents[] = {"application/pdf", NULL};
    bool is_image = item->kind == MCPLUG_ITEM_IMAGE;

    if (item->text.len && !item->text.data)
        return mp_fail_null(err, "the text of an item");
    if (item->kind == MCPLUG_ITEM_TEXT)
        return MCPLUG_OK;
    if (!is_image && item->kind != MCPLUG_ITEM_DOCUMENT)
        return mp_fail(err, MCPLUG_EINVAL,
                       "a user says text, images and documents, nothing of kind %u",
                       (unsigned)item->kind);
    if (!is_one_of(item->mime, is_image ? images : documents))
        return mp_fail(err, MCPLUG_EINVAL, "\"%.64s\" is no type of %s that models take",
                       item->mime ? item->mime : "",
                       is_image ? "an image" : "a document");
    return is_base64(item->text)
               ? MCPLUG_OK
               : mp_fail(err, MCPLUG_EINVAL, "an image or document that is not Base64");
}

static size_t item_bytes(const struct mcplug_item *item)
{
    size_t bytes = sizeof *item + item->text.len + room(item->mime) + room(item->name) +
                   room(item->id);

    for (uint32_t i = 0; i < item->n_items; i++)
        bytes += item_bytes(item->items[i]);
    return bytes;
}

/* ---- messages ---- */

static void said_free(struct mp_said *said)
{
    for (size_t i = 0; i < said->m.n_items; i++)
        mp_item_free(said->items[i]);
    mp_free(said->items);
    mp_free(said->type);
    mp_free(said->model);
    mp_str_clear(&said->raw);
    mp_free(said);
}

static struct mp_said *begin(struct mcplug_thread *thread, enum mcplug_role role,
                             struct mcplug_error *err)
{
    struct mp_said *said = NULL;

    if (thread->n >= MP_THREAD_MESSAGES) {
        mp_fail(err, MCPLUG_ETOOBIG, "the thread has %d messages", MP_THREAD_MESSAGES);
        return NULL;
    }
    if (mp_grow(&thread->said, &thread->cap, thread->n + 1) &&
        mp_grow(&thread->messages, &thread->messages_cap, thread->n + 1))
        said = mp_alloc(sizeof *said);
    if (!said) {
        mp_fail_nomem(err);
        return NULL;
    }
    said->m = (struct mcplug_message){.struct_size = sizeof said->m, .role = role};
    mp_str_init(&said->raw, MP_THREAD_BYTES);
    thread->messages[thread->n] = &said->m;
    thread->said[thread->n++] = said;
    return said;
}

/* take `item` */
static int put_at(struct mcplug_thread *thread, struct mp_said *said, size_t at,
                  struct mcplug_item *item, struct mcplug_error *err)
{
    size_t bytes = item_bytes(item);
    int r = MCPLUG_OK;

    if (said->m.n_items >= MP_MESSAGE_ITEMS)
        r = mp_fail(err, MCPLUG_ETOOBIG, "a message has at most %d items",
                    MP_MESSAGE_ITEMS);
    else if (bytes > MP_THREAD_BYTES - thread->bytes)
        r = mp_fail(err, MCPLUG_ETOOBIG, "the thread is full: it holds %zu MiB",
                    MP_THREAD_BYTES >> 20);
    else if (!mp_grow(&said->items, &said->cap, said->m.n_items + 1))
        r = mp_fail_nomem(err);
    if (r != MCPLUG_OK) {
        mp_item_free(item);
        return r;
    }
    memmove(said->items + at + 1, said->items + at,
            (said->m.n_items - at) * sizeof *said->items);
    said->items[at] = item;
    said->m.n_items++;
    said->m.items = (const struct mcplug_item *const *)said->items;
    thread->bytes += bytes;
    mp_str_clear(&thread->json);
    return MCPLUG_OK;
}

/* A message that was begun for an item which did not fit is dropped. */
static int put_new(struct mcplug_thread *thread, enum mcplug_role role,
                   struct mcplug_item *item, struct mcplug_error *err)
{
    struct mp_said *last = thread->n ? thread->said[thread->n - 1] : NULL;
    bool is_new = !last || last->m.role != role;

    if (is_new)
        last = begin(thread, role, err);
    if (!last) {
        mp_item_free(item);
        return err ? err->code : MCPLUG_ENOMEM;
    }
    int r = put_at(thread, last, last->m.n_items, item, err);
    if (r != MCPLUG_OK && is_new)
        said_free(thread->said[--thread->n]);
    return r;
}

int mp_thread_put(struct mcplug_thread *thread, enum mcplug_role role,
                  struct mcplug_item *item, struct mcplug_error *err)
{
    struct mcplug_error own = MCPLUG_ERROR_INIT;

    return item ? put_new(thread, role, item, err ? err : &own) : mp_fail_nomem(err);
}

/* ---- uses and results ---- */

/* Which use of a turn that is, from 1 on; 0: none. */
static size_t use_of(const struct mp_said *turn, const char *id)
{
    for (size_t i = 0; turn && i < turn->m.n_items; i++)
        if (turn->items[i]->kind == MCPLUG_ITEM_TOOL_USE &&
            strcmp(turn->items[i]->id, id) == 0)
            return i + 1;
    return 0;
}

/* The message that has, or will have, the results of the last turn; NULL: none yet. */
static struct mp_said *results_of(const struct mcplug_thread *thread)
{
    struct mp_said *last = thread->n ? thread->said[thread->n - 1] : NULL;

    return last && last->m.role == MCPLUG_ROLE_USER ? last : NULL;
}

static struct mp_said *turn_before(const struct mcplug_thread *thread)
{
    struct mp_said *results = results_of(thread);
    size_t n = thread->n - (results ? 1 : 0);

    return n ? thread->said[n - 1] : NULL;
}

const struct mcplug_item *mp_thread_use(const struct mcplug_thread *thread,
                                        const char *id)
{
    const struct mp_said *turn = thread->n ? turn_before(thread) : NULL;
    size_t which = use_of(turn, id);

    return which ? turn->items[which - 1] : NULL;
}

bool mp_thread_has_result(const struct mcplug_thread *thread, const char *id)
{
    const struct mp_said *results = results_of(thread);

    for (size_t i = 0; results && i < results->m.n_items; i++)
        if (results->items[i]->kind == MCPLUG_ITEM_TOOL_RESULT &&
            strcmp(results->items[i]->id, id) == 0)
            return true;
    return false;
}

int mp_thread_put_result(struct mcplug_thread *thread, struct mcplug_item *result,
                         struct mcplug_error *err)
{
    struct mp_said *turn = turn_before(thread), *results = results_of(thread);
    size_t which = result ? use_of(turn, result->id) : 0, at = 0;

    if (!result)
        return mp_fail_nomem(err);
    if (!which || mp_thread_has_result(thread, result->id)) {
        mp_item_free(result);
        return mp_fail(err, MCPLUG_EINVAL, "no use of a tool waits for this answer");
    }
    if (!results)
        return mp_thread_put(thread, MCPLUG_ROLE_USER, result, err);
    while (at < results->m.n_items &&
           results->items[at]->kind == MCPLUG_ITEM_TOOL_RESULT &&
           use_of(turn, results->items[at]->id) < which)
        at++;
    return put_at(thread, results, at, result, err);
}

int mp_thread_close_turn(struct mcplug_thread *thread, const char *text,
                         struct mcplug_error *err)
{
    struct mp_said *turn = thread->n ? turn_before(thread) : NULL;
    int r = MCPLUG_OK;

    for (size_t i = 0; turn && r == MCPLUG_OK && i < turn->m.n_items; i++) {
        const struct mcplug_item *use = turn->items[i];
        if (use->kind != MCPLUG_ITEM_TOOL_USE || mp_thread_has_result(thread, use->id))
            continue;
        struct mcplug_item *result =
            mp_item_new(MCPLUG_ITEM_TOOL_RESULT, mp_text(NULL), NULL, use->name, use->id);
        if (result)
            result->is_error = 1;
        if (result && !mp_item_put(result, mp_item_new(MCPLUG_ITEM_TEXT, mp_text(text),
                                                       NULL, NULL, NULL))) {
            mp_item_free(result);
            result = NULL;
        }
        r = mp_thread_put_result(thread, result, err);
    }
    return r;
}

void mp_thread_show_raw(struct mcplug_thread *thread, const char *type, const char *model)
{
    for (size_t i = 0; i < thread->n; i++) {
        struct mp_said *s = thread->said[i];
        bool own = s->raw.len && s->type && s->model && strcmp(s->type, type) == 0 &&
                   strcmp(s->model, model) == 0;
        s->m.raw = own ? mp_bytes(s->raw.data, s->raw.len) : mp_bytes(NULL, 0);
    }
}

void mp_thread_drop_raw(struct mcplug_thread *thread, struct mp_said *said)
{
    thread->bytes -= said->raw.len;
    mp_str_clear(&said->raw);
    said->m.raw = mp_bytes(NULL, 0);
}

/* ---- for programs ---- */

mcplug_thread *mcplug_thread_new(void)
{
    mcplug_thread *thread = mp_alloc(sizeof *thread);

    if (thread)
        mp_str_init(&thread->json, 2 * MP_THREAD_BYTES);
    return thread;
}

void mcplug_thread_free(mcplug_thread *thread)
{
    if (!thread)
        return;
    if (thread->is_running) {
        thread->is_freed = true;
        return;
    }
    for (size_t i = 0; i < thread->n; i++)
        said_free(thread->said[i]);
    mp_free(thread->said);
    mp_free(thread->messages);
    mp_str_clear(&thread->json);
    mp_free(thread);
}

static int may_change(const mcplug_thread *thread, struct mcplug_error *err)
{
    if (!thread)
        return mp_fail_null(err, "`thread`");
    return thread->is_running
               ? mp_fail(err, MCPLUG_EINVAL, "a run is working on the thread")
               : MCPLUG_OK;
}

int mcplug_thread_add(mcplug_thread *thread, const struct mcplug_item *given,
                      struct mcplug_error *err)
{
    struct mcplug_item item = {0};
    int r = may_change(thread, err);

    if (r == MCPLUG_OK && !given)
        r = mp_fail_null(err, "`item`");
    if (r == MCPLUG_OK)
        r = mp_take_bare_options(&item, given, err);
    if (r == MCPLUG_OK)
        r = mp_item_check(&item, err);
    if (r != MCPLUG_OK)
        return r;
    return mp_thread_put(thread, MCPLUG_ROLE_USER,
                         mp_item_new(item.kind, item.text, item.mime, item.name, NULL),
                         err);
}

int mcplug_thread_say(mcplug_thread *thread, const char *text)
{
    struct mcplug_item item = {
        .struct_size = sizeof item, .kind = MCPLUG_ITEM_TEXT, .text = mp_text(text)};
    return text ? mcplug_thread_add(thread, &item, NULL) : MCPLUG_EINVAL;
}

int mcplug_thread_take_back(mcplug_thread *thread, size_t n, struct mcplug_error *err)
{
    int r = may_change(thread, err);
    struct mp_said *last = r == MCPLUG_OK ? results_of(thread) : NULL;
    size_t has = 0;

    while (last && has < last->m.n_items &&
           last->items[last->m.n_items - 1 - has]->kind != MCPLUG_ITEM_TOOL_RESULT)
        has++;
    if (r == MCPLUG_OK && n > has)
        r = mp_fail(err, MCPLUG_EINVAL,
                    "%zu items were to be taken back, and the user has said %zu", n, has);
    if (r != MCPLUG_OK)
        return r;
    for (; n; n--) {
        struct mcplug_item *item = last->items[--last->m.n_items];
        thread->bytes -= item_bytes(item);
        mp_item_free(item);
    }
    if (last && !last->m.n_items)
        said_free(thread->said[--thread->n]);
    mp_str_clear(&thread->json);
    return MCPLUG_OK;
}

int mcplug_thread_answer(mcplug_thread *thread, const char *id, const char *text,
                         struct mcplug_error *err)
{
    int r = may_change(thread, err);

    if (r == MCPLUG_OK && (!id || !text))
        r = mp_fail_null(err, "`id` and `text`");
    if (r != MCPLUG_OK)
        return r;
    const struct mcplug_item *use = mp_thread_use(thread, id);
    struct mcplug_item *result = mp_item_new(MCPLUG_ITEM_TOOL_RESULT, mp_text(NULL), NULL,
                                             use ? use->name : "", id);
    if (result && !mp_item_put(result, mp_item_new(MCPLUG_ITEM_TEXT, mp_text(text), NULL,
                                                   NULL, NULL))) {
        mp_item_free(result);
        result = NULL;
    }
    return mp_thread_put_result(thread, result, err);
}

size_t mcplug_thread_count(const mcplug_thread *thread)
{
    return thread ? thread->n : 0;
}

int mcplug_thread_message(const mcplug_thread *thread, size_t i,
                          struct mcplug_message *out)
{
    if (!thread || !out || i >= thread->n)
        return 0;
    struct mcplug_message m = thread->said[i]->m;
    m.raw = mp_bytes(NULL, 0);
    mp_give_struct(out, m);
    return 1;
}
