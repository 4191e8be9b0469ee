#include "session/session.h"

#include "base/error.h"
#include "base/mem.h"

#include <stdio.h>

/* ---- life ---- */

static void call_free(struct mp_request *call)
{
    mcplug_server *s = call->server;

    if (call->prev) {
        *call->prev = call->next;
        *(call->next ? &call->next->prev : &s->last_call) = call->prev;
    }
    mp_job_drop(s->cfg.loop, &call->cancel_job);
    mp_timer_stop(s->cfg.loop, &call->patience);
    mp_inputs_forget_call(call);
    mp_mirror_forget_call(call);
    mp_task_free(call);
    mp_str_clear(&call->answers);
    mp_free(call->refusal);
    mp_free(call->state);
    mp_free(call->members);
    mp_free(call->name);
    mp_free(call->own_meta);
    mp_free(call->meta);
    mp_free(call->log_level);
    mp_free(call);
}

void mp_request_finish(struct mp_request *call, mp_message *reply,
                       const struct mcplug_error *why)
{
    if (call->pings && why && why->code == MCPLUG_EPEER)
        why = NULL; /* any answer is life */
    if (why && why->code != MCPLUG_EPEER)
        mp_task_cancel(call); /* nobody waits for it any more */
    mp_task_free(call);
    mp_call_log_ended(call, reply, why);
    call->done(call->arg, &call->base, reply, why);
    call_free(call);
}

/* ---- time-outs ---- */

void mp_say_timeout(uint64_t ms, char *out, size_t size)
{
    if (ms >= 1000 && ms % 1000 == 0)
        snprintf(out, size, "%llus", (unsigned long long)(ms / 1000));
    else
        snprintf(out, size, "%llums", (unsigned long long)ms);
}

static void on_timed_out(struct mp_call *rpc, struct mcplug_error *err)
{
    struct mp_request *call = MP_OF(rpc, struct mp_request, rpc);
    char after[32];

    mp_say_timeout(call->timeout_ms, after, sizeof after);
    if (call->tool)
        mp_fail(err, MCPLUG_ETIMEDOUT, "MCP tool call '%.200s' timed out after %s",
                call->tool, after);
    else
        mp_fail(err, MCPLUG_ETIMEDOUT, "%.200s timed out after %s", call->method, after);
}

/* ---- rounds ---- */

static bool may_ask(const struct mp_request *call)
{
    return call->tool || strcmp(call->method, "prompts/get") == 0 ||
           strcmp(call->method, "resources/read") == 0;
}

/* The result has questions: they go to the handlers, and the request goes out again
 * with their answers. */
static int ask(struct mp_request *call, mp_message *m, struct mcplug_error *err)
{
    mp_view state = mp_message_inner(m, "requestState");
    mp_view questions = mp_message_inner(m, "inputRequests");

    if (!may_ask(call))
        return mp_fail(err, MCPLUG_EPROTO,
                       "the server wants input for %s, which has none", call->method);
    if (++call->rounds > MP_ROUNDS_MAX)
        return mp_fail(err, MCPLUG_EPROTO, "the server wants input for the %uth time",
                       call->rounds);
    if (!state.len && !questions.len)
        return mp_fail(err, MCPLUG_EPROTO,
                       "input_required with neither inputRequests nor requestState");
    mp_free(call->state);
    call->state =
        mp_view_is_string(state) ? mp_strndup((const char *)state.data, state.len) : NULL;
    if (mp_view_is_string(state) && !call->state)
        return mp_fail_nomem(err);
    return mp_inputs_ask(call, questions, err);
}

/* The three ways a modern result can go; true when the call goes on. */
static bool goes_on(struct mp_request *call, mp_message *m, struct mcplug_error *why)
{
    mp_view type = mp_message_inner(m, "resultType");

    if (call->server->era != MP_ERA_MODERN || !type.len ||
        mp_bytes_eq(type, "\"complete\""))
        return false;
    if (mp_bytes_eq(type, "\"input_required\""))
        return ask(call, m, why) == MCPLUG_OK;
    if (mp_bytes_eq(type, "\"task\""))
        return mp_task_begin(call, m, why);
    mp_fail(why, MCPLUG_EPROTO, "the result's type %.*s is unknown",
            type.len > 60 ? 60 : (int)type.len, (const char *)type.data);
    return false;
}

static enum mp_outcome round_done(struct mp_call *rpc, mp_message *m,
                                  const struct mcplug_error *why)
{
    struct mp_request *call = MP_OF(rpc, struct mp_request, rpc);
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    enum mp_outcome outcome = MP_OK;

    call->in_round = false;
    if (why) {
        if (!mp_mirror_again(call, m, why))
            mp_request_finish(call, m, why);
    } else if (!goes_on(call, m, &err)) {
        if (err.code)
            outcome = MP_TRANSPORT_ERROR;
        else if (call->tool && mcplug_result_is_error(m))
            outcome = MP_TOOL_ERROR;
        mp_request_finish(call, err.code ? NULL : m, err.code ? &err : NULL);
    }
    return outcome;
}

static int send_with(struct mp_request *call, const struct mp_frame_parts *parts,
                     const struct mcplug_pair *meta, size_t n_meta,
                     enum mp_outcome (*done)(struct mp_call *, mp_message *,
                                             const struct mcplug_error *),
                     struct mcplug_error *err)
{
    mcplug_server *s = call->server;
    uint64_t now = mp_loop_now(s->cfg.loop);

    if (now >= call->deadline) { /* the questions took all the time there was */
        on_timed_out(&call->rpc, err);
        return MCPLUG_ETIMEDOUT;
    }
    mcplug_buf *frame = mp_frame_request(s, mp_rpc_next_id(s->rpc), parts);
    if (!frame)
        return mp_fail_nomem(err);
    call->reached = call->reached || call->rpc.written;
    call->rpc = (struct mp_call){.done = done, .timed_out = on_timed_out};
    int r =
        mp_rpc_call(s->rpc, &call->rpc, frame, meta, n_meta, call->deadline - now, err);
    call->in_round = r == MCPLUG_OK;
    return r;
}

int mp_request_send(struct mp_request *call, const struct mp_frame_parts *parts,
                    const char *name,
                    enum mp_outcome (*done)(struct mp_call *, mp_message *,
                                            const struct mcplug_error *),
                    struct mcplug_error *err)
{
    struct mcplug_pair meta[3] = {{"method", parts->method},
                                  {"protocol-version", call->server->revision},
                                  {"name", name}};
    return send_with(call, parts, meta, name ? 3 : 2, done, err);
}

static int send_round(struct mp_request *call, struct mcplug_error *err)
{
    const char *level = call->log_level ? call->log_level : call->server->log_level;
    struct mp_frame_parts parts = {
        .method = call->method,
        .members = mp_bytes(call->members, call->members_len),
        .meta = mp_text(call->meta),
        .own_meta = mp_text(call->own_meta),
        .log_level = level,
        .progress = call->o.progress != NULL,
        .answers = mp_bytes(call->answers.data, call->answers.len),
        .state = mp_text(call->state),
    };
    const char *name = call->tool ? call->tool : call->name;
    struct mcplug_pair meta[3 + MP_HEADERS_MAX];
    size_t n = name ? 3 : 2, more;
    struct mp_str values;

    meta[0] = (struct mcplug_pair){"method", call->method};
    meta[1] = (struct mcplug_pair){"protocol-version", call->server->revision};
    meta[2] = (struct mcplug_pair){"name", name};
    int r = mp_mirror_pairs(call, name, &values, meta + n, &more, err);
    if (r == MCPLUG_OK)
        r = send_with(call, &parts, meta, n + more, round_done, err);
    mp_str_clear(&values);
    return r;
}

void mp_request_answered(struct mp_request *call)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    int r = MCPLUG_OK;

    if (call->answers.failed)
        r = mp_fail_nomem(&err);
    else if (call->task)
        mp_task_answered(call);
    else
        r = send_round(call, &err);
    if (r != MCPLUG_OK)
        mp_request_finish(call, NULL, &err);
}

/* Nobody answered the server's questions in time. */
static void on_no_answer(struct mp_timer *timer)
{
    struct mp_request *call = MP_OF(timer, struct mp_request, patience);
    struct mcplug_error err = MCPLUG_ERROR_INIT;

    on_timed_out(&call->rpc, &err);
    mp_request_finish(call, NULL, &err);
}

int mp_request_wait_for_answers(struct mp_request *call, struct mcplug_error *err)
{
    struct mp_loop *loop = call->server->cfg.loop;
    uint64_t now = mp_loop_now(loop);
    uint64_t left = call->deadline > now ? call->deadline - now : 0;

    if (mp_timer_start(loop, &call->patience, left, on_no_answer) != MCPLUG_OK)
        return mp_fail_nomem(err);
    return MCPLUG_OK;
}

void mp_request_refused(struct mp_request *call, const char *what)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    mp_fail(&err, MCPLUG_ECANCELED, "the server's question was refused: %s", what);
    mp_request_finish(call, NULL, &err);
}

/* ---- cancelling ---- */

static void cancel_now(struct mp_job *job)
{
    struct mp_request *call = MP_OF(job, struct mp_request, cancel_job);
    struct mcplug_error err = MCPLUG_ERROR_INIT;

    mp_fail(&err, MCPLUG_ECANCELED, "cancelled");
    mp_request_finish(call, NULL, &err);
}

void mp_request_cancel(struct mp_request *call)
{
    if (call->in_round)
        mp_rpc_cancel(&call->rpc, "cancelled", !call->task); /* a task has its own way */
    else { /* an answer that came in this turn counts no more, nor does its task */
        mp_job_drop(call->server->cfg.loop, &call->settle_job);
        mp_timer_stop(call->server->cfg.loop, &call->patience);
        mp_job_defer(call->server->cfg.loop, &call->cancel_job, cancel_now);
    }
}

/* ---- starting ---- */

static int check_method(const char *method, struct mcplug_error *err)
{
    for (const char *p = method; *p; p++)
        if ((unsigned char)*p < 0x20 || *p == '"' || *p == '\\')
            return mp_fail(err, MCPLUG_EINVAL, "not the name of a method: %.60s", method);
    return MCPLUG_OK;
}

static int take_call_options(struct mp_request *call, const struct mcplug_call_options *o,
                             struct mcplug_error *err)
{
    if (!o)
        return MCPLUG_OK;
    if (mp_take_options(&call->o, o, err) != MCPLUG_OK)
        return MCPLUG_EINVAL;
    if (call->o.meta) {
        mp_view meta = mp_text(call->o.meta);
        int r = mp_frame_object(&meta, "_meta", err);
        if (r != MCPLUG_OK)
            return r;
        if (!(call->meta = mp_strndup((const char *)meta.data, meta.len)))
            return mp_fail_nomem(err);
        mp_frame_flatten(call->meta, meta.len);
    }
    if (call->o.log_level && !(call->log_level = mp_strdup(call->o.log_level)))
        return mp_fail_nomem(err);
    return MCPLUG_OK;
}

static bool tool_members(struct mp_str *m, const char *tool, mp_view arguments)
{
    mp_str_reserve(m, arguments.len + strlen(tool) + 40);
    mp_str_add_lit(m, "\"name\":");
    mp_str_add_json(m, tool, strlen(tool));
    mp_str_add_lit(m, ",\"arguments\":");
    return arguments.len ? mp_str_add(m, arguments.data, arguments.len)
                         : mp_str_add_lit(m, "{}");
}

static int take_params(struct mp_request *call, mp_view params, struct mcplug_error *err)
{
    struct mp_str members;
    mp_view meta = mp_bytes(NULL, 0);

    if (params.len) {
        int r = mp_frame_object(&params, call->tool ? "arguments" : "params", err);
        if (r != MCPLUG_OK)
            return r;
    }
    mp_str_init(&members, MP_FRAME_MAX);
    bool ok = call->tool ? tool_members(&members, call->tool, params)
                         : mp_frame_members(params, &members, &meta);
    call->members_len = members.len;
    if (ok && members.len)
        ok = (call->members = mp_str_take(&members));
    if (ok && call->members)
        mp_frame_flatten(call->members, call->members_len);
    if (ok && mp_view_is_object(meta))
        ok = (call->own_meta = mp_strndup((const char *)meta.data, meta.len));
    if (ok && call->own_meta)
        mp_frame_flatten(call->own_meta, meta.len);
    mp_str_clear(&members);
    if (!ok)
        return mp_fail_nomem(err);
    if (call->tool)
        return MCPLUG_OK;
    return mp_mirror_name(call->method, mp_bytes(call->members, call->members_len),
                          &call->name, err);
}

static int prepare(struct mp_request *call, mp_view params,
                   const struct mcplug_call_options *o, struct mcplug_error *err)
{
    mcplug_server *s = call->server;

    if (s->phase != MP_READY && s->phase != MP_FETCHING && !s->renewing)
        return mp_fail(err, MCPLUG_ECLOSED, "server \"%s\" is not connected%s%.300s",
                       s->name, s->failure.code ? ": " : "",
                       s->failure.code ? s->failure.text : "");
    int r = check_method(call->method, err);
    if (r == MCPLUG_OK)
        r = take_params(call, params, err);
    if (r == MCPLUG_OK)
        r = take_call_options(call, o, err);
    if (r != MCPLUG_OK)
        return r;
    call->timeout_ms = call->o.timeout_ms ? call->o.timeout_ms
                       : call->tool       ? s->o.tool_ms
                                          : s->o.request_ms;
    mp_loop_tick(s->cfg.loop); /* whoever calls may have been busy for long */
    uint64_t now = mp_loop_now(s->cfg.loop), spent = call->o.waited_ms;
    uint64_t left = call->timeout_ms > spent ? call->timeout_ms - spent : 0;
    call->began_at = now > spent ? now - spent : 0;
    call->deadline = left > UINT64_MAX - now ? UINT64_MAX : now + left;
    return MCPLUG_OK;
}

static void cancel(mcplug_call *call)
{
    mp_request_cancel(MP_OF(call, struct mp_request, base));
}

bool mp_request_was_written(const struct mp_request *call)
{
    return call->reached || call->rpc.written;
}

/* One block for the call and its names. */
static struct mp_request *call_new(mcplug_server *s, const char *method, const char *tool)
{
    size_t n = strlen(method) + 1, t = tool ? strlen(tool) + 1 : 0;
    struct mp_request *call = mp_alloc_raw(sizeof *call + n + t);

    if (call) {
        char *names = (char *)(call + 1);
        memset(call, 0, sizeof *call);
        call->base.cancel = cancel;
        call->server = s;
        call->method = memcpy(names, method, n);
        call->tool = tool ? memcpy(names + n, tool, t) : NULL;
        mp_str_init(&call->answers, 64 * 1024 * 1024);
    }
    return call;
}

/* ---- while the session is renewed ---- */

/* Where sessions come and go on their own, a connection that is just being lost may be
 * one that comes back at once. */
static bool may_be_renewed(const mcplug_server *s)
{
    const struct mcplug_transport_ops *ops = s->transport->feature.ops;
    return s->phase == MP_READY && s->era == MP_ERA_LEGACY &&
           ops->caps & MCPLUG_CAN_EXCHANGE;
}

/* The call waits until it can be sent, or its time is up. */
static int park(struct mp_request *call, struct mcplug_error *err)
{
    int r = mp_request_wait_for_answers(call, err);
    call->is_parked = r == MCPLUG_OK;
    return r;
}

static void unpark(struct mp_request *call)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;

    call->is_parked = false;
    mp_timer_stop(call->server->cfg.loop, &call->patience);
    if (call->cancel_job.queued)
        return;
    if (send_round(call, &err) != MCPLUG_OK)
        mp_request_finish(call, NULL, &err);
}

static struct mp_request *oldest_parked(const mcplug_server *s)
{
    struct mp_request *call = s->calls;

    while (call && !call->is_parked)
        call = call->next;
    return call;
}

/* Whoever hears of a failure may change them all, so it is looked anew each time. */
void mp_request_unpark(mcplug_server *s)
{
    struct mp_request *call;

    while (s->phase == MP_READY && (call = oldest_parked(s)))
        unpark(call);
}

int mp_request_check(bool has_done, struct mcplug_error *err)
{
    return has_done ? MCPLUG_OK
                    : mp_fail(err, MCPLUG_EINVAL, "nobody to tell how the call ends");
}

struct mp_request *mp_request_start(mcplug_server *s, const char *method, mp_view params,
                                    const char *tool, const struct mcplug_call_options *o,
                                    mcplug_done_fn *done, void *arg,
                                    struct mcplug_error *err)
{
    if (mp_request_check(done != NULL, err) != MCPLUG_OK)
        return NULL;
    struct mp_request *call = call_new(s, method, tool);
    if (!call) {
        mp_fail_nomem(err);
        return NULL;
    }
    call->done = done;
    call->arg = arg;
    int r = prepare(call, params, o, err);
    if (r == MCPLUG_OK)
        r = s->renewing ? park(call, err) : send_round(call, err);
    if (r == MCPLUG_ECLOSED && may_be_renewed(s))
        r = park(call, err);
    if (r != MCPLUG_OK) {
        call_free(call);
        return NULL;
    }
    call->prev = s->last_call;
    *s->last_call = call;
    s->last_call = &call->next;
    mp_call_log_began(call);
    return call;
}

/* ---- errands ---- */

struct errand {
    struct mp_call rpc;
    mcplug_server *server;
    const char *method; /* static text */
};

static enum mp_outcome errand_done(struct mp_call *rpc, mp_message *m,
                                   const struct mcplug_error *why)
{
    struct errand *e = MP_OF(rpc, struct errand, rpc);
    bool pings = !strcmp(e->method, "ping") || !strcmp(e->method, "server/discover");
    (void)m;

    if (why && why->code != MCPLUG_ECANCELED &&
        !(pings && why->code == MCPLUG_EPEER)) /* any answer is life */
        mp_log(e->server->cfg.log, MCPLUG_LOG_WARN, e->server->source, "%s: %s",
               e->method, why->text);
    mp_free(e);
    return MP_OK;
}

int mp_request_background(mcplug_server *s, const char *method, mp_view members,
                          const char *name, struct mcplug_error *err)
{
    struct mp_frame_parts parts = {.method = method, .members = members};
    struct mcplug_pair meta[] = {
        {"method", method}, {"protocol-version", s->revision}, {"name", name}};
    struct errand *e = mp_alloc(sizeof *e);
    mcplug_buf *frame = e ? mp_frame_request(s, mp_rpc_next_id(s->rpc), &parts) : NULL;

    if (!frame) {
        mp_free(e);
        return mp_fail_nomem(err);
    }
    e->server = s;
    e->method = method;
    e->rpc.done = errand_done;
    int r = mp_rpc_call(s->rpc, &e->rpc, frame, meta, name ? 3 : 2, s->o.request_ms, err);
    if (r != MCPLUG_OK)
        mp_free(e);
    return r;
}
