#include "toolbox/toolbox.h"

#include "base/error.h"
#include "base/mem.h"

/* ---- servers ---- */

struct mp_box_server *mp_toolbox_member(const struct mcplug_toolbox *box,
                                        const char *name)
{
    for (size_t i = 0; i < box->n_members; i++)
        if (strcmp(box->members[i]->name, name) == 0)
            return box->members[i];
    return NULL;
}

static void tell_changed(struct mp_job *job)
{
    struct mcplug_toolbox *box = MP_OF(job, struct mcplug_toolbox, changed_job);
    if (box->o.changed)
        box->o.changed(box->o.arg, box);
}

static void is_old(struct mcplug_toolbox *box)
{
    box->is_old = true;
    if (!box->freeing)
        mp_job_defer(box->registry->o.loop, &box->changed_job, tell_changed);
}

static void on_state(void *arg, mcplug_handle *handle, enum mcplug_state state,
                     const struct mcplug_error *why)
{
    struct mp_box_server *m = arg;
    struct mcplug_toolbox *box = m->box;
    (void)handle;

    if (state == MCPLUG_STATE_READY)
        is_old(box);
    if (box->o.state)
        box->o.state(box->o.arg, box, m->name, state, why);
    if (!box->freeing)
        mp_warm_heard(m, state, why);
}

static void on_changed(void *arg, mcplug_handle *handle, int kind, const char *uri)
{
    struct mp_box_server *m = arg;
    (void)handle;
    (void)kind;
    if (!uri)
        is_old(m->box);
}

static struct mp_box_server *member_new(struct mcplug_toolbox *box, const char *name)
{
    struct mp_box_server *m = mp_alloc(sizeof *m);

    if (!m)
        return NULL;
    m->box = box;
    m->name = mp_strdup(name);
    if (box->n_members == box->cap) {
        size_t cap = box->cap ? box->cap * 2 : 16;
        struct mp_box_server **all = mp_resize(box->members, cap * sizeof *all);
        if (all) {
            box->members = all;
            box->cap = cap;
        }
    }
    if (m->name && box->n_members < box->cap &&
        mp_names_server(box->names, name) == MCPLUG_OK)
        return m;
    mp_free(m->name);
    mp_free(m);
    return NULL;
}

int mp_toolbox_begin(struct mcplug_toolbox *box, const char *name,
                     struct mcplug_acquire_options *options, struct mp_box_server **out,
                     struct mcplug_error *err)
{
    if (box->freeing)
        return mp_fail(err, MCPLUG_ECLOSED, "the toolbox is being freed");
    if (!*name || mp_toolbox_member(box, name))
        return mp_fail(err, MCPLUG_EINVAL, "%s \"%.64s\"",
                       *name ? "the toolbox has a server" : "not a name:", name);
    if (box->n_members >= MP_BOX_SERVERS)
        return mp_fail(err, MCPLUG_ETOOBIG, "a toolbox has %d servers at most",
                       MP_BOX_SERVERS);
    struct mp_box_server *m = member_new(box, name);
    if (!m)
        return mp_fail_nomem(err);
    options->arg = m;
    options->state = on_state;
    options->changed = on_changed;
    options->logged = NULL;
    options->remark = NULL;
    *out = m;
    return MCPLUG_OK;
}

static void member_free(struct mp_box_server *m)
{
    for (int i = 0; i < MP_FETCHED; i++)
        mcplug_list_unref(m->lists[i]);
    mp_free(m->name);
    mp_free(m);
}

void mp_toolbox_added(struct mp_box_server *m, mcplug_handle *handle)
{
    struct mcplug_toolbox *box = m->box;

    if (!handle) {
        member_free(m);
        return;
    }
    m->handle = handle;
    box->members[box->n_members++] = m;
    is_old(box);
}

/* ---- tools ---- */

static void drop_tools(struct mcplug_toolbox *box)
{
    for (size_t i = 0; i < box->n_tools; i++)
        mp_free(box->tools[i].json);
    mp_free(box->tools);
    mp_free(box->instructions);
    box->tools = NULL;
    box->n_tools = 0;
    box->instructions = NULL;
}

/* Gives names to the tools that the server has now. */
static int name_tools(struct mp_box_server *m, const mcplug_list *list,
                      struct mcplug_error *err)
{
    size_t n = list ? mcplug_list_count(list) : 0;
    const char **tools = mp_alloc((n + 1) * sizeof *tools);

    if (!tools)
        return mp_fail_nomem(err);
    for (size_t i = 0; i < n; i++)
        tools[i] = mcplug_list_name(list, i);
    int r = mp_names_tools(m->box->names, m->name, tools);
    mp_free(tools);
    return r == MCPLUG_OK
               ? r
               : mp_fail(err, r, "the tools of server \"%.64s\" have no names", m->name);
}

static int take_lists(struct mp_box_server *m, struct mcplug_error *err)
{
    static const enum mcplug_kind kinds[MP_FETCHED] = {MCPLUG_TOOLS, MCPLUG_PROMPTS,
                                                       MCPLUG_RESOURCES};
    for (int i = 0; i < MP_FETCHED; i++) {
        mcplug_list *list = mp_handle_list(m->handle, kinds[i]);
        if (list == m->lists[i])
            continue;
        int r = i == 0 ? name_tools(m, list, err) : MCPLUG_OK;
        if (r != MCPLUG_OK)
            return r;
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

/* Our own, once one of the servers has resources. */
static void add_own(struct mcplug_toolbox *box)
{
    bool wanted = false;

    for (size_t i = 0; i < box->n_members; i++) {
        const mcplug_list *list = box->members[i]->lists[2];
        wanted = wanted || (list && mcplug_list_count(list));
    }
    for (size_t i = 0; wanted && i < MP_OWN_TOOLS; i++) {
        if (is_taken(box, mp_own_names[i]))
            continue;
        box->tools[box->n_tools++] =
            (struct mp_tool){.name = mp_own_names[i], .index = i};
    }
}

int mp_toolbox_look(struct mcplug_toolbox *box, struct mcplug_error *err)
{
    struct mcplug_error own = MCPLUG_ERROR_INIT;
    size_t n = MP_OWN_TOOLS;
    int r = MCPLUG_OK;

    if (!box->is_old)
        return MCPLUG_OK;
    if (!err)
        err = &own;
    drop_tools(box);
    for (size_t i = 0; i < box->n_members; i++) {
        int one = take_lists(box->members[i], err);
        r = one == MCPLUG_OK ? r : one;
        n += box->members[i]->lists[0] ? mcplug_list_count(box->members[i]->lists[0]) : 0;
    }
    box->tools = mp_alloc(n * sizeof *box->tools);
    if (!box->tools)
        return mp_fail_nomem(err);
    for (size_t i = 0; i < box->n_members; i++) {
        struct mp_box_server *m = box->members[i];
        size_t count = m->lists[0] ? mcplug_list_count(m->lists[0]) : 0;
        for (size_t k = 0; k < count; k++) {
            const char *name =
                mp_names_of(box->names, m->name, mcplug_list_name(m->lists[0], k));
            if (name)
                box->tools[box->n_tools++] =
                    (struct mp_tool){.name = name, .member = m, .index = k};
        }
    }
    add_own(box);
    box->is_old = r != MCPLUG_OK;
    return r;
}

/* A list that names a tool twice has it twice, under one name. */
const struct mp_tool *mp_toolbox_find(struct mcplug_toolbox *box, const char *name)
{
    mp_toolbox_look(box, NULL);
    for (size_t i = 0; i < box->n_tools; i++)
        if (strcmp(box->tools[i].name, name) == 0)
            return &box->tools[i];
    return NULL;
}

size_t mcplug_toolbox_count(mcplug_toolbox *box)
{
    mp_toolbox_look(box, NULL);
    return box->n_tools;
}

const char *mcplug_toolbox_name(mcplug_toolbox *box, size_t i)
{
    mp_toolbox_look(box, NULL);
    return i < box->n_tools ? box->tools[i].name : NULL;
}

/* The definition as it came, but for the name. */
static char *with_name(const struct mp_tool *t, size_t *len)
{
    size_t n;
    const char *text = mcplug_list_item(t->member->lists[0], t->index, &n);
    struct mp_walk w = mp_walk_into(mp_bytes(text, n));
    mp_view key, value;
    struct mp_str out;

    mp_str_init(&out, n + 1024);
    mp_str_adds(&out, "{\"name\":");
    mp_str_add_json(&out, t->name, strlen(t->name));
    while (mp_walk_member(&w, &key, &value)) {
        if (mp_view_equals(key, "name"))
            continue;
        mp_str_addc(&out, ',');
        mp_str_add(&out, key.data, key.len);
        mp_str_addc(&out, ':');
        mp_str_add(&out, value.data, value.len);
    }
    mp_str_addc(&out, '}');
    *len = out.len;
    return mp_str_take(&out);
}

const char *mcplug_toolbox_tool(mcplug_toolbox *box, size_t i, size_t *len)
{
    mp_toolbox_look(box, NULL);
    if (i >= box->n_tools)
        return NULL;
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

int mcplug_toolbox_find(mcplug_toolbox *box, const char *name, const char **server,
                        const char **tool)
{
    const struct mp_tool *t = mp_toolbox_find(box, name);
    if (!t)
        return 0;
    *server = t->member ? t->member->name : "";
    *tool = t->member ? mcplug_list_name(t->member->lists[0], t->index) : t->name;
    return 1;
}

mcplug_handle *mcplug_toolbox_handle(mcplug_toolbox *box, const char *server)
{
    struct mp_box_server *m = mp_toolbox_member(box, server);
    return m ? m->handle : NULL;
}

const char *mcplug_toolbox_instructions(mcplug_toolbox *box)
{
    mp_toolbox_look(box, NULL);
    if (!box->instructions)
        box->instructions = mp_instructions(box);
    return box->instructions;
}

/* ---- life ---- */

struct mcplug_toolbox *mp_toolbox_new(struct mp_registry *r,
                                      const struct mcplug_toolbox_options *options,
                                      unsigned batch, struct mcplug_error *err)
{
    struct mcplug_toolbox *box = mp_alloc(sizeof *box);

    if (!box) {
        mp_fail_nomem(err);
        return NULL;
    }
    if (options)
        memcpy(&box->o, options,
               options->struct_size < sizeof box->o ? options->struct_size
                                                    : sizeof box->o);
    box->registry = r;
    box->batch = box->o.batch ? box->o.batch : batch;
    box->names = mp_names_new(box->o.plain_names != 0);
    if (!box->names) {
        mp_free(box);
        mp_fail_nomem(err);
        return NULL;
    }
    return box;
}

static void finish_free(struct mp_job *job)
{
    struct mcplug_toolbox *box = MP_OF(job, struct mcplug_toolbox, freed_job);
    void (*freed)(void *) = box->freed;
    void *arg = box->freed_arg;

    if (box->n_released < box->n_members || box->under_way)
        return;
    mp_warm_clear(box);
    mp_job_drop(box->registry->o.loop, &box->changed_job);
    drop_tools(box);
    for (size_t i = 0; i < box->n_members; i++)
        member_free(box->members[i]);
    mp_free(box->members);
    mp_names_free(box->names);
    mp_free(box);
    if (freed)
        freed(arg);
}

void mp_toolbox_settle(struct mcplug_toolbox *box)
{
    if (box->freeing)
        mp_job_defer(box->registry->o.loop, &box->freed_job, finish_free);
}

static void on_released(void *arg)
{
    struct mcplug_toolbox *box = arg;
    box->n_released++;
    mp_toolbox_settle(box);
}

void mp_toolbox_free(struct mcplug_toolbox *box, void (*freed)(void *arg), void *arg)
{
    if (box->freeing)
        return;
    box->freeing = true;
    box->freed = freed;
    box->freed_arg = arg;
    for (size_t i = 0; i < box->n_members; i++)
        mp_handle_release(box->members[i]->handle, on_released, box);
    mp_uses_cancel(box);
    mp_toolbox_settle(box);
}
