#include "toolbox/toolbox.h"

#include "base/error.h"
#include "base/links.h"
#include "base/mem.h"

#include <mcplug/admin.h>

#include <stdio.h>
#include <stdlib.h>

/* One call of a tool by its name in the box. */
struct mp_use {
    struct mcplug_call base;
    struct mcplug_toolbox *box;
    struct mp_use *next, **prev;
    struct mp_box_server *member; /* NULL: list-resources, of all */
    bool is_own, cancelled;
    mcplug_call *call; /* what is under way: of the server, or of the content after it;
                          NULL: answered by ourselves */
    struct mp_job job;
    struct mcplug_error failure; /* of our own answer */
    mp_message *answer;          /* our own */
    struct mp_counter *counter;  /* of the result; NULL: none */
    uint64_t began_at;
    char *arguments; /* of our own tools that need a thread */
    bool searches;

    mcplug_record_fn *done;
    void *arg;
    void (*progress)(void *, mcplug_call *, double, double, const char *);
    void (*progress_json)(void *, mcplug_call *, const char *, size_t);
    void *progress_arg;
    void (*free_arg)(void *);     /* for that; NULL: none */
    struct mcplug_record *record; /* empty until the call has ended */
};

/* ---- the end ---- */

static void use_free(struct mp_use *use)
{
    if (use->prev) {
        mp_links_drop(use, next, prev);
        use->box->under_way--;
    }
    mp_job_drop(use->box->registry->o.loop, &use->job);
    mp_message_unref(use->answer);
    mcplug_record_unref(use->record);
    mp_free(use->arguments);
    if (use->counter)
        use->counter->unref(use->counter);
    mcplug_call_unref(&use->base);
}

static void finish(struct mp_use *use)
{
    struct mcplug_toolbox *box = use->box;
    struct mcplug_record *r = use->record;

    use->base.cancel = NULL;
    if (r->code_index)
        mp_log(box->registry->o.log, MCPLUG_LOG_VERBOSE, "core",
               "code index %s used by tool '%s': %s", r->code_index, r->tool,
               r->ok ? "ok" : "failed");
    use->done(use->arg, &use->base, r);
    if (use->free_arg)
        use->free_arg(use->progress_arg);
    use_free(use);
    mp_toolbox_settle(box);
}

/* What cancelling it ended meanwhile has no text. */
static void on_rendered(void *arg, mcplug_call *call, const mcplug_rendering *content,
                        const struct mcplug_error *why)
{
    struct mp_use *use = arg;
    struct mcplug_toolbox *box = use->box;
    (void)call;

    use->call = NULL;
    mp_record_content(use->record, content, why);
    if (use->cancelled) {
        use->record->result = "";
        use->record->result_len = 0;
    } else if (why && why->code == MCPLUG_EPROTO) {
        char source[MCPLUG_NAME_MAX + 5];
        snprintf(source, sizeof source, "mcp:%s", use->record->server);
        mp_log(box->registry->o.log, MCPLUG_LOG_ERROR, source, "%s", why->text);
    }
    if (content && content->stored && !box->has_stored) {
        box->has_stored = true;
        mp_toolbox_changed(box);
    }
    finish(use);
}

/* What a tool's definition says of its results, if it does. give; NULL: nothing, or no
 * memory */
static char *definition(const struct mp_use *use)
{
    mcplug_list *list =
        use->is_own || use->member->is_leaving ? NULL : use->member->lists[0];
    ptrdiff_t i = list ? mcplug_list_find(list, use->record->tool) : -1;
    size_t len = 0;
    const char *json = i < 0 ? NULL : mcplug_list_item(list, (size_t)i, &len);

    bool says = json && (memmem(json, len, "\"outputSchema\"", 14) ||
                         memmem(json, len, "/maxResultSizeChars\"", 20));
    return says ? mp_strndup(json, len) : NULL;
}

/* The limit of that tool, of its server, or of the toolbox. */
static uint32_t max_tokens(const struct mp_use *use)
{
    const struct mcplug_server_options *o = use->member ? &use->member->server->o : NULL;

    for (size_t i = 0; o && o->tool_output_tokens && o->tool_output_tokens[i]; i += 2)
        if (o->tool_output_tokens[i + 1] &&
            strcmp(o->tool_output_tokens[i], use->record->tool) == 0)
            return (uint32_t)strtoul(o->tool_output_tokens[i + 1], NULL, 10);
    return o && o->max_output_tokens ? o->max_output_tokens : use->box->o.max_tokens;
}

/* What our own tools read from files is never stored again. The server may go while it is
 * worked on. */
static void render(struct mp_use *use, mcplug_result *result)
{
    const struct mcplug_toolbox_options *b = &use->box->o;
    char *says = definition(use);
    struct mcplug_render_options o = {
        .server = use->record->server,
        .tool = use->record->tool,
        .definition = says,
        .max_tokens = max_tokens(use),
        .tail = use->member ? use->member->server->o.output_tail : 0,
        .no_files = b->no_files,
        .whole = use->arguments != NULL,
        .count = b->count,
        .count_arg = b->arg,
    };
    struct mcplug_error why = MCPLUG_ERROR_INIT;

    use->call = mp_render(use->box->renderer, result, &o, use->counter, true, on_rendered,
                          use, &why);
    mp_free(says);
    use->member = NULL;
    if (!use->call)
        on_rendered(use, NULL, NULL, &why);
}

static void ended(struct mp_use *use, mcplug_result *result,
                  const struct mp_event_call *how)
{
    use->call = NULL;
    mp_record_fill(use->record, result, how, use->cancelled);
    if (result && !how->why)
        render(use, result);
    else
        finish(use);
}

static void on_done(void *arg, mcplug_call *call, mcplug_result *result,
                    const struct mcplug_error *why)
{
    struct mp_event_call how = {0};
    mp_pending_call_end(call, result, why, &how);
    ended(arg, result, &how);
}

static void on_job(struct mp_job *job)
{
    struct mp_use *use = MP_OF(job, struct mp_use, job);
    bool failed = use->failure.code != MCPLUG_OK; /* or cancelled meanwhile */
    struct mp_event_call how = {
        .outcome = !failed          ? MP_OK
                   : use->cancelled ? MP_CANCELLED
                                    : MP_TRANSPORT_ERROR,
        .why = failed ? &use->failure : NULL,
        .latency_ms = mp_loop_now(use->box->registry->o.loop) - use->began_at,
    };
    ended(use, failed ? NULL : use->answer, &how);
}

static void cancel(mcplug_call *call)
{
    struct mp_use *use = MP_OF(call, struct mp_use, base);

    use->cancelled = true;
    if (use->call)
        mcplug_cancel(use->call);
    else if (!use->arguments) /* which a thread works on */
        mp_fail(&use->failure, MCPLUG_ECANCELED, "cancelled");
}

void mp_uses_cancel(struct mcplug_toolbox *box)
{
    for (struct mp_use *use = box->uses; use; use = use->next)
        cancel(&use->base);
}

static void on_progress(void *arg, mcplug_call *call, double progress, double total,
                        const char *message)
{
    struct mp_use *use = arg;
    (void)call;
    use->progress(use->progress_arg, &use->base, progress, total, message);
}

static void on_progress_json(void *arg, mcplug_call *call, const char *params, size_t len)
{
    struct mp_use *use = arg;
    (void)call;
    use->progress_json(use->progress_arg, &use->base, params, len);
}

/* ---- the beginning ---- */

static const char *kind_of(const struct mp_use *use, const char *tool)
{
    bool is_result = strcmp(tool, mp_own_names[MP_READ_RESULT]) == 0 ||
                     strcmp(tool, mp_own_names[MP_SEARCH_RESULT]) == 0;

    return !use->is_own ? "mcp" : is_result ? "mcp_result" : "mcp_resource";
}

/* Who is called is known: there is a record for what becomes of it. */
static int begin_record(struct mp_use *use, const char *tool, struct mcplug_error *err)
{
    const char *server = use->member ? use->member->name : "";
    const char *space = mp_names_namespace(use->box->names, server);

    use->record = mp_record_new(kind_of(use, tool), space ? space : "", server, tool);
    return use->record ? MCPLUG_OK : mp_fail_nomem(err);
}

static char *argument(const char *arguments, const char *name)
{
    return mp_view_strdup(mp_view_get(mp_text(arguments), name));
}

static int check_arguments(const char *arguments, struct mcplug_error *err)
{
    mp_view text = mp_text(arguments);
    return text.len ? mp_frame_object(&text, "arguments", err) : MCPLUG_OK;
}

/* take `out`, a CallToolResult */
static int take_answer(struct mp_use *use, struct mp_str *out, struct mcplug_error *err)
{
    size_t len = out->len;
    char *text = mp_str_take(out);

    use->answer = text ? mp_message_new(text, len, text) : NULL;
    if (!use->answer)
        return mp_fail_nomem(err);
    mp_message_expose(use->answer, (struct mp_span){0, len});
    return MCPLUG_OK;
}

/* Answered here and now, told later. */
static int list_resources(struct mp_use *use, const char *arguments,
                          struct mcplug_error *err)
{
    bool named = mp_view_is_string(mp_view_get(mp_text(arguments), "server"));
    char *server = argument(arguments, "server");
    struct mp_str out;

    mp_str_init(&out, MP_FRAME_MAX);
    int r = named && !server ? mp_fail_nomem(err)
                             : begin_record(use, mp_own_names[MP_LIST_RESOURCES], err);
    if (r == MCPLUG_OK)
        r = mp_resources_list(use->box, server ? server : "", &out, err);
    if (r == MCPLUG_OK)
        r = take_answer(use, &out, err);
    mp_str_clear(&out);
    mp_free(server);
    if (r == MCPLUG_OK)
        mp_job_defer(use->box->registry->o.loop, &use->job, on_job);
    return r;
}

static int read_resource(struct mp_use *use, const char *arguments,
                         const struct mcplug_call_options *options,
                         struct mcplug_error *err)
{
    const char *tool = mp_own_names[MP_READ_RESOURCE];
    char *server = argument(arguments, "server"), *uri = argument(arguments, "uri");
    struct mp_str params;
    int r = MCPLUG_OK;

    mp_str_init(&params, MP_FRAME_MAX);
    if (!server || !uri)
        r = mp_fail(err, MCPLUG_EINVAL, "%s needs \"server\" and \"uri\"", tool);
    else if (!(use->member = mp_toolbox_member(use->box, server)))
        r = mp_fail(err, MCPLUG_EINVAL, "there is no server \"%.64s\"", server);
    else
        r = begin_record(use, tool, err);
    if (r == MCPLUG_OK) {
        mp_str_adds(&params, "{\"uri\":");
        mp_str_add_json(&params, uri, strlen(uri));
        if (!mp_str_addc(&params, '}'))
            r = mp_fail_nomem(err);
    }
    if (r == MCPLUG_OK) {
        use->call = mp_pending_call_start(use->member->server, "resources/read", NULL,
                                          params.data, options, on_done, use, err);
        r = use->call ? MCPLUG_OK : err->code;
    }
    mp_str_clear(&params);
    mp_free(server);
    mp_free(uri);
    return r;
}

/* ---- results in files ---- */

static void read_file(void *arg)
{
    struct mp_use *use = arg;
    const struct mp_renderer *r = use->box->renderer;
    uint32_t limit = use->box->o.max_tokens ? use->box->o.max_tokens : r->max_tokens;
    struct mp_str out;

    mp_str_init(&out, MP_FRAME_MAX);
    if (mp_results_answer(mp_store_dir(r->store), use->searches, use->arguments,
                          (size_t)limit * 2, &out, &use->failure) == MCPLUG_OK)
        take_answer(use, &out, &use->failure);
    mp_str_clear(&out);
}

static void on_read(void *arg, int status)
{
    struct mp_use *use = arg;

    if (status != MCPLUG_OK || use->cancelled)
        mp_fail(&use->failure, use->cancelled ? MCPLUG_ECANCELED : status, "cancelled");
    on_job(&use->job);
}

static int read_stored(struct mp_use *use, const struct mp_tool *tool,
                       const char *arguments, struct mcplug_error *err)
{
    int r = begin_record(use, mp_own_names[tool->index], err);

    use->searches = tool->index == MP_SEARCH_RESULT;
    use->arguments = mp_strdup(arguments ? arguments : "{}");
    if (r == MCPLUG_OK && !use->arguments)
        r = mp_fail_nomem(err);
    if (r == MCPLUG_OK) {
        r = mp_loop_work(use->box->registry->o.loop, read_file, on_read, use);
        if (r != MCPLUG_OK)
            mp_fail(err, r, "no thread can be started");
    }
    return r;
}

static int start(struct mp_use *use, const struct mp_tool *tool, const char *arguments,
                 const struct mcplug_call_options *given, struct mcplug_error *err)
{
    struct mcplug_call_options o = {0};
    int r = mp_take_options(&o, given, err);
    use->progress = o.progress;
    use->progress_json = o.progress_json;
    use->progress_arg = o.progress_arg;
    use->free_arg = o.free_arg;
    o.free_arg = NULL;
    o.progress = o.progress ? on_progress : NULL;
    o.progress_json = o.progress_json ? on_progress_json : NULL;
    o.progress_arg = use;
    if (r == MCPLUG_OK)
        r = check_arguments(arguments, err);
    if (r != MCPLUG_OK)
        return r;
    if (use->is_own && tool->index == MP_LIST_RESOURCES)
        return list_resources(use, arguments, err);
    if (use->is_own && tool->index >= MP_READ_RESULT)
        return read_stored(use, tool, arguments, err);
    if (use->is_own)
        return read_resource(use, arguments, &o, err);
    r = begin_record(use, mcplug_list_name(tool->member->lists[0], tool->index), err);
    if (r != MCPLUG_OK)
        return r;
    use->call =
        mp_pending_call_start(use->member->server, "tools/call", use->record->tool,
                              arguments, &o, on_done, use, err);
    return use->call ? MCPLUG_OK : err->code;
}

mcplug_call *mp_toolbox_call(struct mcplug_toolbox *box, const char *name,
                             const char *arguments,
                             const struct mcplug_call_options *options,
                             struct mp_counter *counter, mcplug_record_fn *done,
                             void *arg, struct mcplug_error *err)
{
    struct mcplug_error own = MCPLUG_ERROR_INIT;

    err = err ? err : &own;
    if (mp_request_check(done != NULL, err) != MCPLUG_OK)
        return NULL;
    if (box->freeing) {
        mp_fail(err, MCPLUG_ECLOSED, "the toolbox is being freed");
        return NULL;
    }
    name = name ? name : ""; /* which models are known to write */
    const struct mp_tool *tool = mp_toolbox_find(box, name);
    if (!tool) {
        mp_fail(err, MCPLUG_ENOTSUP,
                "A tool with the name %.200s was not found. Only use tools that are "
                "available in your given list of tools.",
                name);
        return NULL;
    }
    struct mp_use *use = mp_alloc(sizeof *use);
    if (!use) {
        mp_fail_nomem(err);
        return NULL;
    }
    atomic_init(&use->base.refs, 1);
    use->base.cancel = cancel;
    use->base.loop = box->registry->o.loop;
    use->box = box;
    use->member = tool->member;
    use->is_own = !tool->member;
    use->counter = counter;
    if (counter)
        counter->ref(counter);
    use->failure = (struct mcplug_error)MCPLUG_ERROR_INIT;
    mp_loop_tick(box->registry->o.loop); /* whoever calls may have been busy for long */
    use->began_at = mp_loop_now(box->registry->o.loop);
    use->done = done;
    use->arg = arg;
    int r = start(use, tool, arguments, options, err);
    if (r != MCPLUG_OK) {
        use_free(use);
        return NULL;
    }
    if (use->call)
        use->call->shown = &use->base;
    mp_links_push(box->uses, use, next, prev);
    box->under_way++;
    return &use->base;
}

mcplug_call *mcplug_toolbox_call(struct mcplug_toolbox *box, const char *name,
                                 const char *arguments,
                                 const struct mcplug_call_options *options,
                                 mcplug_record_fn *done, void *arg,
                                 struct mcplug_error *err)
{
    if (mp_box_check(box, err) != MCPLUG_OK)
        return NULL;
    return mp_toolbox_call(box, name, arguments, options, NULL, done, arg, err);
}
