#include "toolbox/toolbox.h"

#include "base/error.h"
#include "base/links.h"
#include "base/mem.h"

/* One call of a tool by its name in the box. */
struct mp_use {
    struct mcplug_call base;
    struct mcplug_toolbox *box;
    struct mp_use *next, **prev;
    struct mp_box_server *member; /* NULL: list-resources, of all */
    bool is_own, cancelled;
    mcplug_call *call; /* of the server; NULL: answered by ourselves */
    struct mp_job job;
    struct mcplug_error failure;
    mp_message *answer; /* our own */
    uint64_t began_at;

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
    mcplug_call_unref(&use->base);
}

static void finish(struct mp_use *use, mcplug_result *result,
                   const struct mp_event_call *ended)
{
    struct mcplug_toolbox *box = use->box;
    struct mcplug_record *r = use->record;

    use->base.cancel = NULL;
    mp_record_fill(r, result, ended, use->cancelled);
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

static void on_done(void *arg, mcplug_call *call, mcplug_result *result,
                    const struct mcplug_error *why)
{
    struct mp_event_call ended = {0};
    mp_pending_call_end(call, result, why, &ended);
    finish(arg, result, &ended);
}

static void on_job(struct mp_job *job)
{
    struct mp_use *use = MP_OF(job, struct mp_use, job);
    bool failed = use->failure.code != MCPLUG_OK; /* it was cancelled meanwhile */
    struct mp_event_call ended = {
        .outcome = failed ? MP_CANCELLED : MP_OK,
        .why = failed ? &use->failure : NULL,
        .latency_ms = mp_loop_now(use->box->registry->o.loop) - use->began_at,
    };
    finish(use, failed ? NULL : use->answer, &ended);
}

static void cancel(mcplug_call *call)
{
    struct mp_use *use = MP_OF(call, struct mp_use, base);

    use->cancelled = true;
    if (use->call)
        mcplug_cancel(use->call);
    else
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

/* Who is called is known: there is a record for what becomes of it. */
static int begin_record(struct mp_use *use, const char *tool, struct mcplug_error *err)
{
    const char *server = use->member ? use->member->name : "";
    const char *space = mp_names_namespace(use->box->names, server);

    use->record = mp_record_new(use->is_own ? "mcp_resource" : "mcp", space ? space : "",
                                server, tool);
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
    if (r == MCPLUG_OK) {
        size_t len = out.len;
        char *text = mp_str_take(&out);
        use->answer = text ? mp_message_new(text, len, text) : NULL;
        if (use->answer)
            mp_message_expose(use->answer, (struct mp_span){0, len});
        else
            r = mp_fail_nomem(err);
    }
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

mcplug_call *mcplug_toolbox_call(struct mcplug_toolbox *box, const char *name,
                                 const char *arguments,
                                 const struct mcplug_call_options *options,
                                 mcplug_record_fn *done, void *arg,
                                 struct mcplug_error *err)
{
    struct mcplug_error own = MCPLUG_ERROR_INIT;

    err = err ? err : &own;
    if (mp_box_check(box, err) != MCPLUG_OK ||
        mp_request_check(done != NULL, err) != MCPLUG_OK)
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
