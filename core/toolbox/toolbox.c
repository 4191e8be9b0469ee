#include "toolbox/toolbox.h"

#include "base/error.h"
#include "base/hash.h"
#include "base/links.h"
#include "base/mem.h"

#include <stdlib.h>

/* ---- servers ---- */

struct mp_box_server *mp_toolbox_member(const struct mcplug_toolbox *box,
                                        const char *name)
{
    for (size_t i = 0; i < box->n_members; i++)
        if (strcmp(box->members[i]->name, name) == 0)
            return box->members[i];
    return NULL;
}

/* Of a list that is the same as before it is known. 0: it is empty. */
static uint64_t hash_list(struct mp_hashed *h, mcplug_list *list)
{
    size_t len;

    if (list == h->list)
        return h->hash;
    mcplug_list_unref(h->list);
    h->list = mcplug_list_ref(list);
    h->hash = 0;
    for (size_t i = 0; i < mcplug_list_count(list); i++) {
        const char *json = mcplug_list_item(list, i, &len);
        mp_hash_add(&h->hash, json, len);
    }
    return h->hash;
}

/* Everything that a model is told. 0: nothing. */
static uint64_t hash_all(struct mcplug_toolbox *box)
{
    uint64_t hash = 0;

    for (size_t i = 0; i < box->n_members; i++) {
        struct mp_box_server *m = box->members[i];
        const char *says = m->server->service->id.instructions;
        uint64_t before = hash;
        for (int k = 0; k < MP_FETCHED; k++) {
            uint64_t key[] = {
                (uint64_t)k,
                hash_list(&m->hashed[k], mcplug_server_list(m->server, MP_KIND(k)))};
            if (key[1])
                mp_hash_add(&hash, key, sizeof key);
        }
        if (says && *says)
            mp_hash_add(&hash, says, strlen(says));
        if (hash != before) /* one that has nothing may come and go */
            mp_hash_add(&hash, m->name, strlen(m->name));
    }
    if (box->has_stored)
        mp_hash_add(&hash, "stored", 6);
    return hash;
}

static void tell_changed(struct mp_job *job)
{
    struct mcplug_toolbox *box = MP_OF(job, struct mcplug_toolbox, changed_job);
    if (!box->o.changed || box->freeing)
        return;
    uint64_t now = hash_all(box);
    if (now == box->told) /* a server came back as it was */
        return;
    box->told = now;
    box->o.changed(box->o.arg, box);
}

void mp_toolbox_changed(struct mcplug_toolbox *box)
{
    box->is_old = true;
    if (!box->freeing)
        mp_job_defer(box->registry->o.loop, &box->changed_job, tell_changed);
}

static void on_state(void *arg, mcplug_server *server, enum mcplug_state state,
                     const struct mcplug_error *why)
{
    struct mp_box_server *m = arg;
    struct mcplug_toolbox *box = m->box;
    (void)server;

    if (state == MCPLUG_STATE_READY)
        mp_toolbox_changed(box);
    if (box->o.state)
        box->o.state(box->o.arg, box, m->name, state, why);
    if (!box->freeing && !m->is_leaving)
        mp_warm_heard(m, state, why);
}

static void on_changed(void *arg, mcplug_server *server, int kind, const char *uri)
{
    struct mp_box_server *m = arg;
    (void)server;
    (void)kind;
    if (!uri)
        mp_toolbox_changed(m->box);
}

static void on_logged(void *arg, mcplug_server *server, const char *params, size_t len)
{
    struct mp_box_server *m = arg;
    (void)server;
    if (!m->box->freeing)
        m->box->o.logged(m->box->o.arg, m->box, m->name, params, len);
}

static void on_remark(void *arg, mcplug_server *server, const char *line, size_t len)
{
    struct mp_box_server *m = arg;
    (void)server;
    if (!m->box->freeing)
        m->box->o.remark(m->box->o.arg, m->box, m->name, line, len);
}

static struct mp_box_server *member_new(struct mcplug_toolbox *box, const char *name)
{
    struct mp_box_server *m = mp_alloc(sizeof *m);

    if (!m)
        return NULL;
    m->box = box;
    m->name = mp_strdup(name);
    if (m->name && mp_grow(&box->members, &box->cap, box->n_members + 1) &&
        mp_names_server(box->names, name) == MCPLUG_OK)
        return m;
    mp_free(m->name);
    mp_free(m);
    return NULL;
}

int mp_toolbox_begin(struct mcplug_toolbox *box, const char *name,
                     struct mp_box_server **out, struct mcplug_error *err)
{
    if (box->freeing)
        return mp_fail(err, MCPLUG_ECLOSED, "the toolbox is being freed");
    if (!*name || mp_toolbox_member(box, name))
        return mp_fail(err, MCPLUG_EINVAL, "%s \"%.64s\"",
                       *name ? "the toolbox has a server" : "not a name:", name);
    if (box->n_members >= MP_BOX_SERVERS)
        return mp_fail(err, MCPLUG_ETOOBIG, "a toolbox has %d servers at most",
                       MP_BOX_SERVERS);
    bool is_new = !mp_names_namespace(box->names, name);
    if (is_new && box->n_named >= MP_BOX_NAMES)
        return mp_fail(err, MCPLUG_ETOOBIG,
                       "a toolbox has servers of %d names at most, one after the other",
                       MP_BOX_NAMES);
    struct mp_box_server *m = member_new(box, name);
    if (!m)
        return mp_fail_nomem(err);
    box->n_named += is_new;
    *out = m;
    return MCPLUG_OK;
}

static void member_free(struct mp_box_server *m)
{
    for (int i = 0; i < MP_FETCHED; i++) {
        mcplug_list_unref(m->lists[i]);
        mcplug_list_unref(m->hashed[i].list);
    }
    mp_free(m->name);
    mp_free(m);
}

void mp_toolbox_added(struct mp_box_server *m, mcplug_server *server)
{
    struct mcplug_toolbox *box = m->box;

    if (!server) {
        member_free(m);
        return;
    }
    server->o.arg = m;
    server->o.state = on_state;
    server->o.changed = on_changed;
    server->o.logged = box->o.logged ? on_logged : NULL;
    server->o.remark = box->o.remark ? on_remark : NULL;
    m->server = server;
    m->index = box->n_members;
    box->members[box->n_members++] = m;
    mp_toolbox_changed(box);
}

/* ---- tools ---- */

static void drop_tools(struct mcplug_toolbox *box)
{
    for (size_t i = 0; i < box->n_tools; i++)
        mp_free(box->tools[i].json);
    mp_free(box->tools);
    mp_free(box->by_name);
    mp_free(box->instructions);
    for (size_t i = 0; i < MP_COUNT(box->arrays); i++) {
        mp_free(box->arrays[i].json);
        box->arrays[i] = (struct mp_array){0};
    }
    box->tools = NULL;
    box->by_name = NULL;
    box->n_tools = 0;
    box->instructions = NULL;
}

/* Gives names to the tools that the server has now. One that has had too many keeps those
 * it had. MCPLUG_ENOMEM */
static int name_tools(struct mp_box_server *m, const mcplug_list *list)
{
    size_t n = list ? mcplug_list_count(list) : 0;
    const char **tools = mp_alloc((n + 1) * sizeof *tools);

    if (!tools)
        return MCPLUG_ENOMEM;
    for (size_t i = 0; i < n; i++)
        tools[i] = mcplug_list_name(list, i);
    int r = mp_names_tools(m->box->names, m->name, tools);
    mp_free(tools);
    if (r == MCPLUG_ETOOBIG)
        mp_log(m->box->registry->o.log, MCPLUG_LOG_WARN, m->server->service->source,
               "its new tools get no names: it has had more than %d", MP_NAMES_TOOLS);
    return r == MCPLUG_ENOMEM ? r : MCPLUG_OK;
}

static int take_lists(struct mp_box_server *m)
{
    for (int i = 0; i < MP_FETCHED; i++) {
        mcplug_list *list = mcplug_server_list(m->server, MP_KIND(i));
        if (list == m->lists[i])
            continue;
        if (!list && m->server->service->lists[i].list)
            return MCPLUG_ENOMEM; /* for what the filter leaves of it */
        if (i == 0 && name_tools(m, list) != MCPLUG_OK)
            return MCPLUG_ENOMEM;
        mcplug_list_unref(m->lists[i]);
        m->lists[i] = mcplug_list_ref(list);
    }
    return MCPLUG_OK;
}

static bool is_taken(const struct mcplug_toolbox *box, const char *name)
{
    for (size_t i = 0; i < box->n_tools; i++) {
        const struct mp_tool *t = &box->tools[i];
        if (strcmp(t->name, name) == 0 ||
            (t->member &&
             strcmp(mcplug_list_name(t->member->lists[0], t->index), name) == 0))
            return true;
    }
    return false;
}

/* Our own, once one of the servers has resources, and a result was stored. */
static void add_own(struct mcplug_toolbox *box)
{
    bool has_resources = false;

    for (size_t i = 0; i < box->n_members; i++) {
        const mcplug_list *list = box->members[i]->lists[2];
        has_resources = has_resources || (list && mcplug_list_count(list));
    }
    for (size_t i = 0; i < MP_OWN_TOOLS; i++) {
        bool wanted = i >= MP_READ_RESULT ? box->has_stored : has_resources;
        if (!wanted || is_taken(box, mp_own_names[i]))
            continue;
        box->tools[box->n_tools++] =
            (struct mp_tool){.name = mp_own_names[i], .index = i};
    }
}

static int by_name(const void *a, const void *b)
{
    const struct mp_tool *const *x = a, *const *y = b;
    int order = strcmp((*x)->name, (*y)->name);
    return order ? order : (*x > *y) - (*x < *y);
}

static int is_name(const void *key, const void *at)
{
    return strcmp(key, (*(struct mp_tool *const *)at)->name);
}

static void sort_tools(struct mcplug_toolbox *box)
{
    for (size_t i = 0; i < box->n_tools; i++)
        box->by_name[i] = &box->tools[i];
    if (box->n_tools)
        qsort(box->by_name, box->n_tools, sizeof *box->by_name, by_name);
}

/* A list may name a tool twice: the first one counts. */
static void drop_doubles(struct mcplug_toolbox *box)
{
    size_t kept = 0;

    sort_tools(box);
    for (size_t i = box->n_tools; i-- > 1;)
        if (strcmp(box->by_name[i]->name, box->by_name[i - 1]->name) == 0)
            box->by_name[i]->name = NULL;
    for (size_t i = 0; i < box->n_tools; i++)
        if (box->tools[i].name)
            box->tools[kept++] = box->tools[i];
    if (kept < box->n_tools) {
        box->n_tools = kept;
        sort_tools(box);
    }
}

static bool is_hidden(const mcplug_list *list, size_t i)
{
    size_t len;
    const char *tool = mcplug_list_item(list, i, &len);
    return mp_tool_is_hidden(mp_bytes(tool, len));
}

static void add_tools(struct mcplug_toolbox *box, struct mp_box_server *m)
{
    size_t count = m->lists[0] ? mcplug_list_count(m->lists[0]) : 0;

    for (size_t i = 0; i < count; i++) {
        const char *name =
            mp_names_of(box->names, m->name, mcplug_list_name(m->lists[0], i));
        if (name && !is_hidden(m->lists[0], i))
            box->tools[box->n_tools++] =
                (struct mp_tool){.name = name, .member = m, .index = i};
    }
}

void mp_toolbox_rebuild(struct mcplug_toolbox *box)
{
    size_t n = MP_OWN_TOOLS;

    if (!box->is_old || box->freeing)
        return;
    box->is_old = box->is_partial = false;
    box->built++;
    drop_tools(box);
    for (size_t i = 0; i < box->n_members; i++) {
        struct mp_box_server *m = box->members[i];
        if (take_lists(m) != MCPLUG_OK)
            box->is_partial = true;
        n += m->lists[0] ? mcplug_list_count(m->lists[0]) : 0;
    }
    box->tools = mp_alloc(n * sizeof *box->tools);
    box->by_name = mp_alloc(n * sizeof *box->by_name);
    if (!box->tools || !box->by_name) {
        drop_tools(box);
        box->is_partial = true;
        return;
    }
    for (size_t i = 0; i < box->n_members; i++)
        add_tools(box, box->members[i]);
    add_own(box);
    drop_doubles(box);
}

/* What there was no memory for may be had now, and lists whose time is over are fetched
 * anew, which is told later. Not while somebody goes through the tools: what he was given
 * stays until the next callback. */
static void look_again(struct mcplug_toolbox *box)
{
    for (size_t i = 0; i < box->n_members && !box->freeing; i++)
        for (int k = 0; k < MP_FETCHED; k++)
            mcplug_server_list(box->members[i]->server, MP_KIND(k));
    box->is_old = box->is_old || box->is_partial;
    mp_toolbox_rebuild(box);
}

static struct mp_tool *find_tool(const struct mcplug_toolbox *box, const char *name)
{
    struct mp_tool *const *at =
        box->n_tools ? bsearch(name, box->by_name, box->n_tools, sizeof *at, is_name)
                     : NULL;
    return at ? *at : NULL;
}

const struct mp_tool *mp_toolbox_find(struct mcplug_toolbox *box, const char *name)
{
    mp_toolbox_rebuild(box);
    const struct mp_tool *t = find_tool(box, name);
    if (!t && box->is_partial) {
        look_again(box);
        t = find_tool(box, name);
    }
    return t;
}

size_t mcplug_toolbox_count(mcplug_toolbox *box)
{
    if (mp_box_check(box, NULL) != MCPLUG_OK)
        return 0;
    look_again(box);
    return box->n_tools;
}

const char *mcplug_toolbox_name(mcplug_toolbox *box, size_t i)
{
    if (mp_box_check(box, NULL) != MCPLUG_OK)
        return NULL;
    mp_toolbox_rebuild(box);
    return i < box->n_tools ? box->tools[i].name : NULL;
}

/* The definition as it came, but for the name, and headings in its description. */
static char *with_name(const struct mp_tool *t, size_t *len)
{
    size_t n;
    const char *text = mcplug_list_item(t->member->lists[0], t->index, &n);
    struct mp_walk w = mp_walk_into(mp_bytes(text, n));
    mp_view key, value;
    struct mp_str out;

    mp_str_init(&out, 13 * n + 1024);
    mp_str_adds(&out, "{\"name\":");
    mp_str_add_json(&out, t->name, strlen(t->name));
    while (mp_walk_member(&w, &key, &value)) {
        if (mp_view_equals(key, "name"))
            continue;
        mp_str_addc(&out, ',');
        mp_str_add(&out, key.data, key.len);
        mp_str_addc(&out, ':');
        if (mp_view_is_string(value) && mp_view_equals(key, "description"))
            mp_quote_description(&out, value);
        else
            mp_str_add(&out, value.data, value.len);
    }
    mp_str_addc(&out, '}');
    *len = out.len;
    return mp_str_take(&out);
}

const char *mcplug_toolbox_tool(mcplug_toolbox *box, size_t i, size_t *len)
{
    size_t unwanted;

    if (mp_box_check(box, NULL) != MCPLUG_OK)
        return NULL;
    mp_toolbox_rebuild(box);
    if (i >= box->n_tools)
        return NULL;
    len = len ? len : &unwanted;
    struct mp_tool *t = &box->tools[i];
    if (!t->member) {
        *len = strlen(mp_own_tools[t->index]);
        return mp_own_tools[t->index];
    }
    if (!t->json)
        t->json = with_name(t, &t->json_len);
    *len = t->json_len;
    return t->json;
}

static mp_view definition(const struct mp_tool *t)
{
    size_t len;

    if (!t->member)
        return mp_text(mp_own_tools[t->index]);
    const char *json = mcplug_list_item(t->member->lists[0], t->index, &len);
    return mp_bytes(json, len);
}

static void log_left_out(struct mcplug_toolbox *box, const struct mp_tool *t,
                         enum mp_formatted why)
{
    static const enum mp_rule rules[] = {[MP_FORMAT_UNFIT] = MP_RULE_REQUIRED_KEY,
                                         [MP_FORMAT_TOO_COSTLY] = MP_RULE_TOO_COSTLY,
                                         [MP_FORMAT_TOO_DEEP] = MP_RULE_TOO_DEEP,
                                         [MP_FORMAT_TOO_BIG] = MP_RULE_TOO_BIG};

    mp_log(box->registry->o.log,
           why == MP_FORMAT_UNFIT ? MCPLUG_LOG_VERBOSE : MCPLUG_LOG_WARN,
           t->member ? t->member->server->service->source : "core",
           "the tool %s is not given to a model: %s", t->name,
           mp_rules[rules[why]].wrong);
}

static void add_tool(struct mcplug_toolbox *box, struct mp_str *out, size_t i,
                     enum mcplug_format format)
{
    const struct mp_tool *t = &box->tools[i];
    size_t before = out->len, len;

    mp_str_adds(out, before > 1 ? "," : "");
    if (format == MCPLUG_FORMAT_MCP) {
        const char *json = mcplug_toolbox_tool(box, i, &len);
        out->failed = out->failed || !json || !mp_str_add(out, json, len);
        return;
    }
    struct mp_formatting how = {.format = format,
                                .provider = mp_provider_of_format(format)};
    enum mp_formatted result = mp_format_tool(out, &how, t->name, definition(t));
    if (result != MP_FORMATTED && !out->failed) {
        log_left_out(box, t, result);
        out->len = before;
        out->data[before] = '\0';
    }
}

const char *mcplug_toolbox_json(mcplug_toolbox *box, enum mcplug_format format,
                                size_t *len)
{
    struct mp_str out;
    size_t max = 1024;

    if (mp_box_check(box, NULL) != MCPLUG_OK || (unsigned)format >= MP_COUNT(box->arrays))
        return NULL;
    look_again(box);
    struct mp_array *array = &box->arrays[format];
    if (!array->json) {
        for (size_t i = 0; i < box->n_tools; i++)
            max += mp_format_max(definition(&box->tools[i]).len);
        mp_str_init(&out, max);
        mp_str_addc(&out, '[');
        for (size_t i = 0; i < box->n_tools; i++)
            add_tool(box, &out, i, format);
        mp_str_addc(&out, ']');
        array->len = out.len;
        array->json = mp_str_take(&out);
        mp_str_clear(&out);
    }
    if (array->json && len)
        *len = array->len;
    return array->json;
}

int mcplug_toolbox_find(mcplug_toolbox *box, const char *name, const char **server,
                        const char **tool)
{
    if (mp_box_check(box, NULL) != MCPLUG_OK)
        return 0;
    const struct mp_tool *t = name ? mp_toolbox_find(box, name) : NULL;
    if (t && server)
        *server = t->member ? t->member->name : "";
    if (t && tool)
        *tool = t->member ? mcplug_list_name(t->member->lists[0], t->index) : t->name;
    return t != NULL;
}

mcplug_server *mcplug_toolbox_server(mcplug_toolbox *box, const char *server)
{
    if (mp_box_check(box, NULL) != MCPLUG_OK)
        return NULL;
    struct mp_box_server *m =
        box->freeing || !server ? NULL : mp_toolbox_member(box, server);
    return m ? m->server : NULL;
}

const char *mcplug_toolbox_instructions(mcplug_toolbox *box)
{
    if (mp_box_check(box, NULL) != MCPLUG_OK)
        return NULL;
    mp_toolbox_rebuild(box);
    if (box->freeing) /* the servers that had something to say may be gone */
        return box->instructions ? box->instructions : "";
    if (!box->instructions)
        box->instructions = mp_instructions(box);
    return box->instructions;
}

/* ---- life ---- */

struct mcplug_toolbox *mp_toolbox_new(struct mp_registry *r, struct mp_renderer *renderer,
                                      struct mcplug_toolbox **list,
                                      const struct mcplug_toolbox_options *options,
                                      unsigned batch, struct mcplug_error *err)
{
    struct mcplug_toolbox *box = mp_alloc(sizeof *box);

    if (!box) {
        mp_fail_nomem(err);
        return NULL;
    }
    if (mp_take_options(&box->o, options, err) != MCPLUG_OK) {
        mp_free(box);
        return NULL;
    }
    box->registry = r;
    box->renderer = renderer;
    box->o.batch = box->o.batch ? box->o.batch : batch;
    if (box->o.batch > MCPLUG_BATCH_MAX)
        box->o.batch = MCPLUG_BATCH_MAX;
    box->names = mp_names_new(box->o.plain_names != 0);
    if (!box->names) {
        mp_free(box);
        mp_fail_nomem(err);
        return NULL;
    }
    mp_links_push(*list, box, next, prev);
    return box;
}

static void finish_free(struct mp_job *job)
{
    struct mcplug_toolbox *box = MP_OF(job, struct mcplug_toolbox, freed_job);
    void (*freed)(void *) = box->freed;
    void *arg = box->freed_arg;
    struct mcplug_toolbox_options o = box->o;

    if (box->n_closed < box->n_members || box->n_leaving || box->under_way)
        return;
    mp_warm_clear(box);
    mp_job_drop(box->registry->o.loop, &box->changed_job);
    drop_tools(box);
    for (size_t i = 0; i < box->n_members; i++)
        member_free(box->members[i]);
    mp_free(box->members);
    mp_names_free(box->names);
    mp_links_drop(box, next, prev);
    mp_free(box);
    if (o.free_arg)
        o.free_arg(o.arg);
    if (freed)
        freed(arg);
}

void mp_toolbox_settle(struct mcplug_toolbox *box)
{
    if (box->is_closing)
        mp_job_defer(box->registry->o.loop, &box->freed_job, finish_free);
}

static void on_closed(void *arg)
{
    struct mcplug_toolbox *box = arg;
    box->n_closed++;
    mp_toolbox_settle(box);
}

static void on_left(void *arg)
{
    struct mp_box_server *m = arg;
    struct mcplug_toolbox *box = m->box;
    void (*closed)(void *) = m->closed;
    void *closed_arg = m->closed_arg;

    if (box->is_old) /* its tools may be among them still */
        drop_tools(box);
    member_free(m);
    box->n_leaving--;
    mp_toolbox_settle(box);
    if (closed)
        closed(closed_arg);
}

/* Calls that are under way end, and have all they need for that. */
int mcplug_toolbox_remove(struct mcplug_toolbox *box, const char *server,
                          void (*closed)(void *arg), void *arg, struct mcplug_error *err)
{
    if (mp_box_check(box, err) != MCPLUG_OK)
        return MCPLUG_EINVAL;
    if (!server)
        return mp_fail_null(err, "`server`");
    struct mp_box_server *m = box->freeing ? NULL : mp_toolbox_member(box, server);

    if (!m)
        return mp_fail(err, MCPLUG_ENOTSUP, "the toolbox has no server \"%.64s\"",
                       server);
    size_t index = m->index;
    for (size_t i = index; i + 1 < box->n_members; i++) {
        box->members[i] = box->members[i + 1];
        box->members[i]->index = i;
    }
    box->n_members--;
    box->n_leaving++;
    m->is_leaving = true;
    m->closed = closed;
    m->closed_arg = arg;
    mp_warm_removed(box, index);
    mp_toolbox_changed(box);
    mcplug_close(m->server, on_left, m);
    return MCPLUG_OK;
}

void mcplug_toolbox_free(struct mcplug_toolbox *box, void (*freed)(void *arg), void *arg)
{
    if (!box || mp_box_check(box, NULL) != MCPLUG_OK)
        return;
    if (!box->freed) {
        box->freed = freed;
        box->freed_arg = arg;
    }
    if (box->freeing) /* by the host, which is being freed and closes it */
        return;
    box->freeing = true;
    mp_toolbox_close(box);
    mp_uses_cancel(box);
}

void mp_toolbox_end(struct mcplug_toolbox *box)
{
    if (box->freeing)
        return;
    box->freeing = true;
    mp_uses_cancel(box);
}

bool mp_toolbox_idle(const struct mcplug_toolbox *box)
{
    return !box->under_way && !box->n_leaving;
}

void mp_toolbox_close(struct mcplug_toolbox *box)
{
    if (box->is_closing)
        return;
    box->is_closing = true;
    for (size_t i = 0; i < box->n_members; i++)
        mcplug_close(box->members[i]->server, on_closed, box);
    mp_toolbox_settle(box);
}
