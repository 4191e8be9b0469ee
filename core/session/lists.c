#include "session/session_private.h"

#include "base/error.h"
#include "base/mem.h"

#include <stdatomic.h>

/* What one server may offer, or it ends early, with a warning. */
enum { PAGES_MAX = 64, ITEMS_FIRST = 16, ITEMS_MAX = 10000, CURSOR_MAX = 65536 };
#define BYTES_MAX ((uint64_t)32 << 20)

struct item {
    mp_view json;
    const char *name;
};

struct mcplug_list {
    atomic_uint refs;
    mp_message *pages[PAGES_MAX];
    char *names[PAGES_MAX]; /* the names of one page, one behind the other */
    size_t n_pages;
    struct item *items;
    size_t count;
    mcplug_list *whole; /* whose items these are; NULL: its own */
};

struct waiter {
    struct waiter *next;
    mp_list_fn *done;
    void *arg;
};

/* A list on its way, page by page. */
struct mp_fetch {
    struct mp_call rpc;
    struct mp_session *session;
    int index; /* which of MP_KINDS */
    mcplug_list *list;
    uint64_t ttl; /* the shortest of its pages */
    bool ttl_told;
    uint64_t began_at, bytes; /* of all pages */
    char *cursor;             /* the last one, with its quotes */
    struct mp_mirror *mirror; /* of tools whose arguments go out as headers too */
    struct waiter *waiters;
    struct mp_fetch *outer; /* one whose waiters are being called meanwhile */
    bool abandoned;         /* nobody waits for it any more */
    struct mp_job job;      /* ends one that needs no request */
};

static const struct {
    const char *method, *array, *name, *capability, *change;
} kinds[MP_KINDS] = {
    {"tools/list", "tools", "name", "tools", "tools/listChanged"},
    {"prompts/list", "prompts", "name", "prompts", "prompts/listChanged"},
    {"resources/list", "resources", "uri", "resources", "resources/listChanged"},
    {"resources/templates/list", "resourceTemplates", "uriTemplate", "resources",
     "resources/listChanged"},
};

static int index_of(enum mcplug_kind kind)
{
    for (int i = 0; i < MP_KINDS; i++)
        if ((int)kind == 1 << i)
            return i;
    return -1;
}

const char *mp_lists_method(enum mcplug_kind kind)
{
    return kinds[index_of(kind)].method;
}

/* ---- lists ---- */

static mcplug_list *list_new(void)
{
    mcplug_list *list = mp_alloc(sizeof *list);
    if (list)
        atomic_init(&list->refs, 1);
    return list;
}

mcplug_list *mcplug_list_ref(mcplug_list *list)
{
    if (list)
        atomic_fetch_add_explicit(&list->refs, 1, memory_order_relaxed);
    return list;
}

void mcplug_list_unref(mcplug_list *list)
{
    if (!list || atomic_fetch_sub_explicit(&list->refs, 1, memory_order_acq_rel) != 1)
        return;
    for (size_t i = 0; i < list->n_pages; i++) {
        mp_message_unref(list->pages[i]);
        mp_free(list->names[i]);
    }
    mcplug_list_unref(list->whole);
    mp_free(list->items);
    mp_free(list);
}

mcplug_list *mp_list_subset(mcplug_list *list, bool (*keep)(void *arg, const char *name),
                            void *arg)
{
    mcplug_list *part = list_new();
    struct item *items = mp_alloc((list->count + 1) * sizeof *items);

    if (!part || !items) {
        mp_free(items);
        mp_free(part);
        return NULL;
    }
    part->whole = mcplug_list_ref(list);
    part->items = items;
    for (size_t i = 0; i < list->count; i++)
        if (keep(arg, list->items[i].name))
            items[part->count++] = list->items[i];
    return part;
}

size_t mcplug_list_count(const mcplug_list *list)
{
    return list ? list->count : 0;
}

const char *mcplug_list_item(const mcplug_list *list, size_t i, size_t *len)
{
    if (i >= mcplug_list_count(list))
        return NULL;
    if (len)
        *len = list->items[i].json.len;
    return (const char *)list->items[i].json.data;
}

const char *mcplug_list_name(const mcplug_list *list, size_t i)
{
    return i < mcplug_list_count(list) ? list->items[i].name : NULL;
}

ptrdiff_t mcplug_list_find(const mcplug_list *list, const char *name)
{
    for (size_t i = 0; name && i < mcplug_list_count(list); i++)
        if (strcmp(list->items[i].name, name) == 0)
            return (ptrdiff_t)i;
    return -1;
}

/* ---- pages ---- */

static void warn_early_end(const struct mp_fetch *f, const char *why)
{
    mp_log(f->session->cfg.log, MCPLUG_LOG_WARN, f->session->source, "%s ended early: %s",
           kinds[f->index].method, why);
}

/* Adds the items of one page. Those without a name are left out, and so are tools with a
 * wrong x-mcp-header, where arguments are sent as headers. Names are gathered in one
 * block, and pointed at once that has stopped moving. `f` NULL: of a list that was kept,
 * of which nothing is reported. */
static int add_items(mcplug_list *list, int index, mp_message *m, mp_view array,
                     struct mp_fetch *f, struct mcplug_error *err)
{
    size_t first = list->count, cap = first, unnamed = 0, doubtful = 0;
    struct item *items = list->items;
    struct mp_walk w = mp_walk_into(array);
    struct mp_str names;
    mp_view item;

    mp_str_init(&names, m->len + 1);
    while (mp_walk_element(&w, &item)) {
        mp_view name = mp_view_get(item, kinds[index].name);
        size_t at = names.len;
        bool usable = true;
        if (list->count == ITEMS_MAX) {
            if (f)
                warn_early_end(f, "more than 10000 items");
            break;
        }
        if (!mp_view_is_string(name)) {
            unnamed++;
            continue;
        }
        int r = mp_view_unique(item, NULL);
        if (r == MCPLUG_ENOMEM) {
            names.failed = true;
            break;
        }
        if (r != MCPLUG_OK) { /* which name is meant depends on who reads it */
            doubtful++;
            continue;
        }
        mp_str_add_view(&names, name);
        if (!mp_str_addc(&names, '\0') ||
            (f && f->mirror &&
             mp_mirror_note(f->session, f->mirror, names.data + at, item, &usable, err) !=
                 MCPLUG_OK)) {
            names.failed = true;
            break;
        }
        if (!usable) {
            names.len = at;
            continue;
        }
        if (list->count == cap) { /* to count them first would be a walk of its own */
            cap = cap < ITEMS_MAX / 2 ? 2 * cap + ITEMS_FIRST : ITEMS_MAX;
            items = mp_resize(list->items, cap * sizeof *items);
            if (!items) {
                names.failed = true;
                break;
            }
            list->items = items;
        }
        items[list->count++] = (struct item){item, (const char *)at};
    }
    char *block = mp_str_take(&names);
    if (!block) {
        list->count = first;
        return mp_fail_nomem(err);
    }
    if (cap > list->count && list->count > 0 &&
        (items = mp_resize(list->items, list->count * sizeof *items)) != NULL)
        list->items = items;
    for (size_t i = first; i < list->count; i++)
        list->items[i].name = block + (size_t)list->items[i].name;
    list->pages[list->n_pages] = mp_message_ref(m);
    list->names[list->n_pages++] = block;
    if (f && unnamed)
        mp_log(f->session->cfg.log, MCPLUG_LOG_WARN, f->session->source,
               "%s: %zu items without a name left out", kinds[index].method, unnamed);
    if (f && doubtful)
        mp_log(f->session->cfg.log, MCPLUG_LOG_WARN, f->session->source,
               "%s: %zu items with duplicate members left out", kinds[index].method,
               doubtful);
    return MCPLUG_OK;
}

mcplug_list *mp_list_read(enum mcplug_kind kind, mp_view array)
{
    mp_message *m = mp_message_new((const char *)array.data, array.len, NULL);
    mcplug_list *list = m ? list_new() : NULL;

    if (list && add_items(list, index_of(kind), m, mp_bytes(m->text, m->len), NULL,
                          NULL) != MCPLUG_OK) {
        mcplug_list_unref(list);
        list = NULL;
    }
    mp_message_unref(m);
    return list;
}

/* ---- a fetch and its end ---- */

static void fetch_free(struct mp_fetch *f)
{
    mcplug_list_unref(f->list);
    mp_job_drop(f->session->cfg.loop, &f->job);
    mp_free(f->cursor);
    mp_free(f);
}

static void finish(struct mp_fetch *f, const struct mcplug_error *why)
{
    struct mp_session *s = f->session;
    struct mp_kept *kept = &s->lists.kept[f->index];
    mcplug_list *list = f->list;

    if (f->abandoned) {
        mp_mirror_free(f->mirror);
        fetch_free(f);
        return;
    }
    kept->fetch = NULL;
    if (!why)
        mp_mirror_adopt(s, f->mirror);
    else
        mp_mirror_free(f->mirror);
    if (!why && !kept->changed) {
        uint64_t now = mp_loop_now(s->cfg.loop);
        bool until_changed = s->era == MP_ERA_LEGACY ||
                             (!f->ttl_told && s->listening.newest && s->o.changed &&
                              mp_session_can(s, kinds[f->index].change));
        mcplug_list_unref(kept->list);
        kept->list = mcplug_list_ref(list);
        kept->fresh_until = until_changed ? UINT64_MAX : now + f->ttl;
        kept->ttl_told = f->ttl_told && s->era != MP_ERA_LEGACY;
    } else if (!why) { /* it changed on the way */
        kept->fresh_until = 0;
        kept->ttl_told = true;
    }
    kept->changed = false;
    f->outer = s->lists.telling;
    s->lists.telling = f;
    while (f->waiters) {
        struct waiter *w = f->waiters;
        f->waiters = w->next;
        w->done(w->arg, why ? NULL : list, why);
        mp_free(w);
    }
    s->lists.telling = f->outer;
    fetch_free(f);
}

static int next_page(struct mp_fetch *f, struct mcplug_error *err);

/* Is there another page to ask for? A server that repeats a cursor, or never stops,
 * is warned of, and what came so far is the list. */
static bool more_pages(struct mp_fetch *f, mp_message *m)
{
    const struct mp_session *s = f->session;
    mp_view cursor = mp_message_inner(m, "nextCursor");
    /* for all pages together, until the last one is asked for */
    uint64_t most_ms = s->o.request_ms > MP_REQUEST_MS ? s->o.request_ms : MP_REQUEST_MS;
    const char *why = NULL;

    if (!mp_view_is_string(cursor))
        return false;
    if (f->cursor && mp_bytes_eq(cursor, f->cursor))
        why = "the server repeats a cursor";
    else if (f->list->n_pages >= PAGES_MAX)
        why = "more than 64 pages";
    else if (f->list->count >= ITEMS_MAX)
        why = "more than 10000 items";
    else if (f->bytes > BYTES_MAX)
        why = "more than 32 MiB";
    else if (cursor.len > CURSOR_MAX)
        why = "a cursor of more than 64 KiB";
    else if (mp_loop_now(s->cfg.loop) - f->began_at >= most_ms)
        why = "its pages take too long";
    if (why) {
        warn_early_end(f, why);
        return false;
    }
    mp_free(f->cursor);
    f->cursor = mp_strndup((const char *)cursor.data, cursor.len);
    return true;
}

static enum mp_outcome page_done(struct mp_call *rpc, mp_message *m,
                                 const struct mcplug_error *why)
{
    struct mp_fetch *f = MP_OF(rpc, struct mp_fetch, rpc);
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    mp_view array;
    int64_t ttl = 0;

    if (why || f->abandoned) {
        finish(f, why);
        return MP_OK;
    }
    array = mp_message_inner(m, kinds[f->index].array);
    f->bytes += m->len;
    for (size_t i = 0; i < m->n_spills; i++)
        f->bytes += m->spills[i].size;
    if (!mp_view_is_array(array)) {
        mp_fail(&err, MCPLUG_EPROTO, "%s: the result has no array \"%s\"",
                kinds[f->index].method, kinds[f->index].array);
    } else if (1 << f->index == MCPLUG_TOOLS && mp_mirror_wanted(f->session) &&
               !f->mirror && !(f->mirror = mp_mirror_new())) {
        mp_fail_nomem(&err);
    } else if (add_items(f->list, f->index, m, array, f, &err) == MCPLUG_OK) {
        if (mp_view_int(mp_message_inner(m, "ttlMs"), &ttl)) {
            uint64_t ms = ttl > 0 ? (uint64_t)ttl : 0;
            f->ttl = f->ttl_told && f->ttl < ms ? f->ttl : ms;
            f->ttl_told = true;
        }
        if (more_pages(f, m)) {
            if (!f->cursor)
                mp_fail_nomem(&err);
            else if (next_page(f, &err) == MCPLUG_OK)
                return MP_OK;
        }
    }
    finish(f, err.code ? &err : NULL);
    return err.code ? MP_TRANSPORT_ERROR : MP_OK;
}

static void on_timed_out(struct mp_call *rpc, struct mcplug_error *err)
{
    struct mp_fetch *f = MP_OF(rpc, struct mp_fetch, rpc);
    mp_fail(err, MCPLUG_ETIMEDOUT, "%s timed out after %ums", kinds[f->index].method,
            f->session->o.request_ms);
    mp_session_add_delay(f->session, err);
}

static int next_page(struct mp_fetch *f, struct mcplug_error *err)
{
    struct mp_session *s = f->session;
    struct mp_str members;
    struct mp_frame_parts parts = {.method = kinds[f->index].method};
    int r;

    mp_str_init(&members, 2 * CURSOR_MAX);
    if (f->cursor)
        mp_str_addf(&members, "\"cursor\":%s", f->cursor);
    parts.members = mp_bytes(members.data, members.len);
    f->rpc = (struct mp_call){.done = page_done, .timed_out = on_timed_out};
    r = members.failed ? mp_fail_nomem(err)
                       : mp_frame_send(s, &f->rpc, &parts, s->o.request_ms, err);
    mp_str_clear(&members);
    return r;
}

/* ---- asking for one ---- */

static void finish_later(struct mp_job *job)
{
    finish(MP_OF(job, struct mp_fetch, job), NULL);
}

static int start_fetch(struct mp_session *s, int index, struct mcplug_error *err)
{
    struct mp_fetch *f = mp_alloc(sizeof *f);
    struct mp_kept *kept = &s->lists.kept[index];
    uint64_t now = mp_loop_now(s->cfg.loop);
    bool fresh = kept->list && now < kept->fresh_until;
    int r = MCPLUG_OK;

    if (!f || !(f->list = fresh ? mcplug_list_ref(kept->list) : list_new())) {
        mp_free(f);
        return mp_fail_nomem(err);
    }
    f->session = s;
    f->index = index;
    f->began_at = now;
    if (fresh && kept->fresh_until != UINT64_MAX) {
        f->ttl = kept->fresh_until - now;
        f->ttl_told = true;
    }
    if (fresh || !mp_session_can(s, kinds[index].capability))
        mp_job_defer(s->cfg.loop, &f->job, finish_later);
    else
        r = next_page(f, err);
    if (r != MCPLUG_OK) {
        mcplug_list_unref(f->list);
        mp_free(f);
        return r;
    }
    kept->fetch = f;
    kept->changed = false;
    return MCPLUG_OK;
}

int mp_lists_get(struct mp_session *s, enum mcplug_kind kind, mp_list_fn *done, void *arg,
                 struct mcplug_error *err)
{
    int index = index_of(kind);

    if (index < 0)
        return mp_fail(err, MCPLUG_EINVAL, "no list of kind %d", (int)kind);
    if (mp_request_check(done != NULL, err) != MCPLUG_OK)
        return MCPLUG_EINVAL;
    if (s->phase != MP_READY)
        return mp_fail(err, MCPLUG_ECLOSED, "server \"%s\" is not connected", s->name);
    struct waiter *w = mp_alloc(sizeof *w);
    if (!w)
        return mp_fail_nomem(err);
    *w = (struct waiter){NULL, done, arg};
    if (!s->lists.kept[index].fetch && start_fetch(s, index, err) != MCPLUG_OK) {
        mp_free(w);
        return err ? err->code : MCPLUG_ENOMEM;
    }
    struct waiter **end = &s->lists.kept[index].fetch->waiters;
    while (*end)
        end = &(*end)->next;
    *end = w;
    return MCPLUG_OK;
}

static bool drop_waiter(struct mp_fetch *f, const void *arg)
{
    for (struct waiter **at = f ? &f->waiters : NULL; at && *at; at = &(*at)->next) {
        struct waiter *w = *at;
        if (w->arg != arg)
            continue;
        *at = w->next;
        mp_free(w);
        return true;
    }
    return false;
}

void mp_lists_leave(struct mp_session *s, const void *arg)
{
    for (struct mp_fetch *f = s->lists.telling; f; f = f->outer)
        if (drop_waiter(f, arg))
            return;
    for (int i = 0; i < MP_KINDS; i++) {
        struct mp_kept *kept = &s->lists.kept[i];
        struct mp_fetch *f = kept->fetch;
        if (!drop_waiter(f, arg))
            continue;
        if (!f->waiters && !f->job.queued) { /* whoever asks next gets one of its own */
            f->abandoned = true;
            kept->fetch = NULL;
            kept->changed = false;
            mp_rpc_cancel(&f->rpc, "cancelled", true);
        }
        return;
    }
}

int mp_lists_refetch(struct mp_session *s, enum mcplug_kind kind, mp_list_fn *done,
                     void *arg, struct mcplug_error *err)
{
    int index = index_of(kind);

    if (index < 0 || !mp_session_can(s, kinds[index].capability))
        return mp_fail(err, MCPLUG_EINVAL, "the server has no list of kind %d",
                       (int)kind);
    struct mp_kept *kept = &s->lists.kept[index];
    struct mp_fetch *f = kept->fetch;
    if (f && f->job.queued) { /* it would have given what is kept, and asks instead */
        mcplug_list *list = list_new();
        int r = list ? next_page(f, err) : mp_fail_nomem(err);
        if (r != MCPLUG_OK) {
            mcplug_list_unref(list);
            return r;
        }
        mp_job_drop(s->cfg.loop, &f->job);
        mcplug_list_unref(f->list);
        f->list = list;
        f->ttl = 0;
        f->ttl_told = false;
    }
    mcplug_list_unref(kept->list);
    kept->list = NULL;
    return mp_lists_get(s, kind, done, arg, err);
}

bool mp_lists_ttl(const struct mp_session *s, enum mcplug_kind kind, uint64_t *ms)
{
    int index = index_of(kind);
    uint64_t now = mp_loop_now(s->cfg.loop);

    if (index < 0 || !s->lists.kept[index].ttl_told)
        return false;
    uint64_t until = s->lists.kept[index].fresh_until;
    *ms = until > now ? until - now : 0;
    return true;
}

void mp_lists_changed(struct mp_session *s, unsigned changed)
{
    for (int i = 0; i < MP_KINDS; i++) {
        if (!(changed & 1u << i))
            continue;
        mcplug_list_unref(s->lists.kept[i].list);
        s->lists.kept[i].list = NULL;
        s->lists.kept[i].changed = s->lists.kept[i].fetch != NULL;
    }
}

void mp_lists_unwatched(struct mp_session *s)
{
    for (unsigned i = 0; i < MP_KINDS; i++)
        if (s->lists.kept[i].list && s->lists.kept[i].fresh_until == UINT64_MAX)
            mp_lists_changed(s, 1u << i);
}

/* Fetches that wait for the loop end here; those on the wire ended with it. */
void mp_lists_clear(struct mp_session *s)
{
    static const struct mcplug_error closed = {.struct_size = sizeof closed,
                                               .code = MCPLUG_ECANCELED,
                                               .text = "the server was closed"};
    for (int i = 0; i < MP_KINDS; i++) {
        if (s->lists.kept[i].fetch)
            finish(s->lists.kept[i].fetch, &closed);
        mcplug_list_unref(s->lists.kept[i].list);
        s->lists.kept[i].list = NULL;
    }
}
