#include "session/session_private.h"

#include "base/error.h"
#include "base/mem.h"

/* The tasks extension: a server may answer a call with a task and have its result
 * fetched later. The caller sees none of it: the call simply takes its time. */

#define POLL_MS 1000     /* when the server suggests nothing */
#define POLL_LEAST_MS 50 /* whatever it suggests */
#define POLL_MOST_MS 60000

struct mp_task {
    char *members; /* "taskId":.. */
    char *id;
    bool updating; /* tasks/update is out, not tasks/get */
    bool over;     /* ended, or the server was told to end it */
};

static void poll_later(struct mp_request *call, mp_message *m);

static void give_up(struct mp_request *call, int code, const char *text)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    mp_fail(&err, code, "%s", text);
    mp_request_finish(call, NULL, &err);
}

/* ---- its end ---- */

/* A message of its own whose result is `result`, a part of `m`; long strings that
 * went to the file come along. */
static mp_message *lift(mp_message *m, mp_view result)
{
    struct mp_str text;

    mp_str_init(&text, m->len + 16);
    mp_str_adds(&text, "{\"result\":");
    size_t shift = (size_t)((const char *)result.data - m->text) - text.len;
    mp_str_add(&text, result.data, result.len);
    mp_str_addc(&text, '}');
    size_t len = text.len;
    char *owned = mp_str_take(&text);
    mp_message *lifted = owned ? mp_message_new(NULL, len, owned) : NULL;
    if (!lifted)
        return NULL;
    if (mp_scan_text(lifted->text, len, &mp_scan_defaults, &lifted->env, NULL) !=
        MCPLUG_OK) {
        mp_message_unref(lifted);
        return NULL;
    }
    lifted->spill_fd = m->spill_fd;
    lifted->spills = m->spills;
    lifted->n_spills = m->n_spills;
    m->spill_fd = -1;
    m->spills = NULL;
    m->n_spills = 0;
    for (size_t i = 0; i < lifted->n_spills; i++) /* those outside go far off, and away */
        lifted->spills[i].at -= shift;
    mp_message_expose(lifted, lifted->env.result);
    return lifted;
}

static void completed(struct mp_request *call, mp_message *m)
{
    mp_view result = mp_message_inner(m, "result");

    call->task->over = true;
    if (!mp_view_is_object(result)) {
        give_up(call, MCPLUG_EPROTO, "the task completed without a result");
        return;
    }
    if (mp_view_unique(result, NULL) == MCPLUG_EPROTO) {
        give_up(call, MCPLUG_EPROTO, "the task's result has a duplicate member");
        return;
    }
    mp_message *lifted = lift(m, result);
    if (lifted) {
        call->tool_failed = mcplug_result_is_error(lifted);
        mp_request_finish(call, lifted, NULL);
    } else {
        give_up(call, MCPLUG_ENOMEM, "out of memory");
    }
    mp_message_unref(lifted);
}

static void task_failed(struct mp_request *call, mp_message *m)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    mp_view error = mp_message_inner(m, "error");
    char *text = mp_view_strdup(mp_view_get(error, "message"));
    int64_t code = 0;

    mp_fail(&err, MCPLUG_EPEER, "%s", text ? text : "the task failed");
    if (mp_view_int(mp_view_get(error, "code"), &code))
        err.peer_status = (int32_t)code;
    mp_free(text);
    mp_request_finish(call, NULL, &err);
}

/* ---- on its way ---- */

static void on_task(struct mp_request *call, mp_message *m)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    mp_view status = mp_message_inner(m, "status");

    if (mp_view_equals(status, "completed")) {
        completed(call, m);
    } else if (mp_view_equals(status, "failed")) {
        task_failed(call, m);
    } else if (mp_view_equals(status, "cancelled")) {
        call->task->over = true;
        give_up(call, MCPLUG_ECANCELED, "the server cancelled the task");
    } else if (mp_view_equals(status, "input_required")) {
        if (++call->rounds > MP_ROUNDS_MAX)
            give_up(call, MCPLUG_EPROTO, "the task asks for input too often");
        else if (mp_inputs_ask(call, mp_message_inner(m, "inputRequests"), &err) != 0)
            mp_request_finish(call, NULL, &err);
    } else if (mp_view_equals(status, "working")) {
        char *text = mp_view_strdup(mp_message_inner(m, "statusMessage"));
        if (text && mp_call_log_wants_progress(call))
            mp_call_log_progress(call, 0, -1, text, mp_bytes(NULL, 0));
        mp_free(text);
        poll_later(call, m);
    } else {
        give_up(call, MCPLUG_EPROTO, "the task has an unknown status");
    }
}

/* The answer to tasks/get, or to tasks/update, which says nothing new. */
static enum mp_outcome answered(struct mp_call *rpc, mp_message *m,
                                const struct mcplug_error *why)
{
    struct mp_request *call = MP_OF(rpc, struct mp_request, rpc);

    call->in_round = false;
    if (why)
        mp_request_finish(call, m, why);
    else if (call->task->updating)
        poll_later(call, m);
    else
        on_task(call, m);
    return MP_OK;
}

static void send_about(struct mp_request *call, bool update)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    struct mp_frame_parts parts = {
        .method = update ? "tasks/update" : "tasks/get",
        .name = call->task->id,
        .members = mp_text(call->task->members),
        .answers = mp_bytes(call->answers.data, call->answers.len),
    };
    call->task->updating = update;
    int r = mp_request_send(call, &parts, answered, &err);
    mp_str_clear(&call->answers);
    if (r != MCPLUG_OK)
        mp_request_finish(call, NULL, &err);
}

static void on_poll(struct mp_timer *timer)
{
    send_about(MP_OF(timer, struct mp_request, patience), false);
}

static void poll_later(struct mp_request *call, mp_message *m)
{
    struct mp_loop *loop = call->session->cfg.loop;
    uint64_t now = mp_loop_now(loop);
    int64_t ms = POLL_MS;

    mp_view_int(mp_message_inner(m, "pollIntervalMs"), &ms);
    if (ms < POLL_LEAST_MS)
        ms = POLL_LEAST_MS;
    if (ms > POLL_MOST_MS)
        ms = POLL_MOST_MS;
    if (now + (uint64_t)ms > call->deadline)
        ms = call->deadline > now ? (int64_t)(call->deadline - now) : 0;
    if (mp_timer_start(loop, &call->patience, (uint64_t)ms, on_poll) != MCPLUG_OK)
        give_up(call, MCPLUG_ENOMEM, "out of memory");
}

void mp_task_answered(struct mp_request *call)
{
    send_about(call, true);
}

/* ---- life ---- */

bool mp_task_begin(struct mp_request *call, mp_message *m, struct mcplug_error *why)
{
    mp_view id = mp_message_inner(m, "taskId");
    struct mp_str members;

    if (!mp_view_is_string(id) || !call->tool) {
        mp_fail(
            why, MCPLUG_EPROTO,
            call->tool
                ? "the task has no taskId"
                : "the server answered a request that is not a tool call with a task");
        return false;
    }
    mp_task_free(call);
    call->task = mp_alloc(sizeof *call->task);
    if (call->task) {
        mp_str_init(&members, id.len + 32);
        mp_str_adds(&members, "\"taskId\":");
        mp_str_add(&members, id.data, id.len);
        call->task->members = mp_str_take(&members);
        call->task->id = mp_view_strdup(id);
    }
    if (!call->task || !call->task->members || !call->task->id) {
        mp_fail_nomem(why);
        return false;
    }
    on_task(call, m);
    return true;
}

void mp_task_cancel(struct mp_request *call)
{
    struct mp_task *task = call->task;

    if (!task || task->over || mp_rpc_idle(call->session->rpc))
        return;
    task->over = true;
    if (call->session->calls.task_cancels >= MP_TASK_CANCELS_MAX)
        return; /* a server that answers none of them gets no more */
    mp_request_background(call->session, "tasks/cancel", mp_text(task->members), task->id,
                          NULL);
}

void mp_task_free(struct mp_request *call)
{
    if (!call->task)
        return;
    mp_free(call->task->members);
    mp_free(call->task->id);
    mp_free(call->task);
    call->task = NULL;
}
