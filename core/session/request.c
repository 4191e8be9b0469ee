#include "session/session_private.h"

#include "base/error.h"
#include "base/mem.h"
#include "base/text.h"

#define ANSWERS_MAX ((size_t)64 << 20) /* bytes, to one round of questions */

/* ---- its end ---- */

/* Of what came while it was under way nothing is left; its texts are. It may outlive the
 * session: one that was not written waits for the next one. */
static void leave(struct mp_request *call)
{
    struct mp_session *s = call->session;

    if (call->prev) {
        *call->prev = call->next;
        *(call->next ? &call->next->prev : &s->calls.last) = call->prev;
        call->prev = NULL;
        call->next = NULL;
    }
    mp_job_drop(s->cfg.loop, &call->cancel_job);
    mp_timer_stop(s->cfg.loop, &call->patience);
    mp_inputs_forget_call(call);
    mp_mirror_forget_call(call);
    mp_task_free(call);
    mp_str_clear(&call->answers);
    mp_free(call->refusal);
    mp_free(call->state);
    call->refusal = call->state = NULL;
    call->listens = false;
    call->session = NULL;
}

mcplug_call *mcplug_call_ref(mcplug_call *call)
{
    if (call)
        atomic_fetch_add_explicit(&call->refs, 1, memory_order_relaxed);
    return call;
}

void mcplug_call_unref(mcplug_call *call)
{
    if (call && atomic_fetch_sub_explicit(&call->refs, 1, memory_order_acq_rel) == 1)
        mp_free(call);
}

void mp_request_clear(struct mp_request *call)
{
    if (call->session)
        leave(call);
    mp_free(call->long_members);
    mp_free(call->name);
    mp_free(call->own_meta);
}

void mp_request_finish(struct mp_request *call, mp_message *reply,
                       const struct mcplug_error *why)
{
    if (call->pings && why && why->code == MCPLUG_EPEER)
        why = NULL; /* any answer is life */
    if (why && why->code != MCPLUG_EPEER)
        mp_task_cancel(call); /* nobody waits for it any more */
    mp_call_log(call, MP_EVENT_RETURNED, reply, why);
    leave(call);
    call->done(call->arg, &call->base, reply, why);
}

/* ---- time-outs ---- */

static void on_timed_out(struct mp_call *rpc, struct mcplug_error *err)
{
    struct mp_request *call = MP_OF(rpc, struct mp_request, rpc);
    char after[32];

    mp_text_duration(after, sizeof after, call->timeout_ms, true);
    if (call->tool)
        mp_fail(err, MCPLUG_ETIMEDOUT, "MCP tool call '%.200s' timed out after %s",
                call->tool, after);
    else
        mp_fail(err, MCPLUG_ETIMEDOUT, "%.200s timed out after %s", call->method, after);
    mp_session_add_delay(call->session, err);
}

/* ---- rounds ---- */

/* The result has questions: they go to the handlers, and the request goes out again
 * with their answers. */
static int ask(struct mp_request *call, mp_message *m, struct mcplug_error *err)
{
    mp_view state = mp_message_inner(m, "requestState");
    mp_view questions = mp_message_inner(m, "inputRequests");

    if (!call->tool && strcmp(call->method, "prompts/get") != 0 &&
        strcmp(call->method, "resources/read") != 0)
        return mp_fail(err, MCPLUG_EPROTO,
                       "the server asks for input on %s, which cannot have any",
                       call->method);
    if (++call->rounds > MP_ROUNDS_MAX)
        return mp_fail(err, MCPLUG_EPROTO, "the server asks for input for the %uth time",
                       call->rounds);
    if (!state.len && !questions.len)
        return mp_fail(err, MCPLUG_EPROTO,
                       "input_required with neither inputRequests nor requestState");
    mp_free(call->state);
    call->state = NULL;
    if (mp_view_is_string(state) &&
        !(call->state = mp_strndup((const char *)state.data, state.len)))
        return mp_fail_nomem(err);
    return mp_inputs_ask(call, questions, err);
}

/* The three ways a modern result can go; true when the call goes on. */
static bool goes_on(struct mp_request *call, mp_message *m, struct mcplug_error *why)
{
    mp_view type = mp_message_inner(m, "resultType");

    if (call->session->era != MP_ERA_MODERN || !type.len ||
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

static bool goes_to_new_session(struct mp_request *call, const struct mcplug_error *why);

static enum mp_outcome round_done(struct mp_call *rpc, mp_message *m,
                                  const struct mcplug_error *why)
{
    struct mp_request *call = MP_OF(rpc, struct mp_request, rpc);
    struct mcplug_error err;
    enum mp_outcome outcome = MP_OK;

    mp_error_init(&err);
    call->in_round = false;
    if (why) {
        if (!goes_to_new_session(call, why) && !mp_mirror_again(call, m, why))
            mp_request_finish(call, m, why);
    } else if (!goes_on(call, m, &err)) {
        if (err.code)
            outcome = MP_TRANSPORT_ERROR;
        else if ((call->tool_failed = call->tool && mcplug_result_is_error(m)))
            outcome = MP_TOOL_ERROR;
        mp_request_finish(call, err.code ? NULL : m, err.code ? &err : NULL);
    }
    return outcome;
}

int mp_request_send(struct mp_request *call, const struct mp_frame_parts *parts,
                    enum mp_outcome (*done)(struct mp_call *, mp_message *,
                                            const struct mcplug_error *),
                    struct mcplug_error *err)
{
    struct mp_session *s = call->session;
    uint64_t now = mp_loop_now(s->cfg.loop);

    if (now >= call->deadline) { /* the questions took all the time there was */
        on_timed_out(&call->rpc, err);
        return MCPLUG_ETIMEDOUT;
    }
    call->reached = call->reached || call->rpc.written;
    call->rpc = (struct mp_call){.done = done, .timed_out = on_timed_out, .spills = true};
    int r = mp_frame_send(s, &call->rpc, parts, call->deadline - now, err);
    call->in_round = r == MCPLUG_OK;
    return r;
}

int mp_request_send_round(struct mp_request *call, struct mcplug_error *err)
{
    struct mcplug_pair headers[MP_HEADERS_MAX];
    struct mp_str values;
    struct mp_frame_parts parts = {
        .method = call->method,
        .name = call->tool ? call->tool : call->name,
        .members = mp_bytes(call->members, call->members_len),
        .meta = mp_text(call->meta),
        .own_meta = mp_text(call->own_meta),
        .log_level = call->log_level ? call->log_level : call->session->client.log_level,
        .progress = mp_call_log_wants_progress(call),
        .answers = mp_bytes(call->answers.data, call->answers.len),
        .state = mp_text(call->state),
        .headers = headers,
    };

    int r = mp_mirror_pairs(call, parts.name, &values, headers, &parts.n_headers, err);
    if (r == MCPLUG_OK)
        r = mp_request_send(call, &parts, round_done, err);
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
        r = mp_request_send_round(call, &err);
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
    struct mp_loop *loop = call->session->cfg.loop;
    uint64_t now = mp_loop_now(loop);
    uint64_t left = call->deadline > now ? call->deadline - now : 0;

    if (mp_timer_start(loop, &call->patience, left, on_no_answer) != MCPLUG_OK)
        return mp_fail_nomem(err);
    return MCPLUG_OK;
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
    if (!call->session) /* it has ended, or was not begun */
        return;
    if (call->in_round)
        mp_rpc_cancel(&call->rpc, "cancelled", !call->task); /* a task has its own way */
    else { /* an answer that came in this turn counts no more, nor does its task */
        mp_job_drop(call->session->cfg.loop, &call->settle_job);
        mp_timer_stop(call->session->cfg.loop, &call->patience);
        mp_job_defer(call->session->cfg.loop, &call->cancel_job, cancel_now);
    }
}

/* ---- starting ---- */

/* The block of a request has its texts behind it, all but those that are rarely there. */
static size_t text_room(const char *text)
{
    return text ? strlen(text) + 1 : 0;
}

static const char *put_text(char **at, const char *text)
{
    if (!text)
        return NULL;
    size_t n = strlen(text) + 1;
    char *put = memcpy(*at, text, n);
    *at += n;
    return put;
}

#define MEMBERS "\"name\":,\"arguments\":{}"

/* A byte of the name takes six at most, as JSON. */
static size_t members_room(const struct mp_ask *ask)
{
    return ask->tool ? 6 * ask->tool_len + 2 + ask->params.len + sizeof MEMBERS : 0;
}

size_t mp_request_room(const struct mp_ask *ask)
{
    size_t names = ask->tool ? ask->tool_len + 1 : text_room(ask->method);
    return names + text_room(ask->o.meta) + text_room(ask->o.log_level) +
           members_room(ask);
}

/* There is room for it. */
static void tool_members(struct mp_request *call, char *at, size_t room, size_t tool_len,
                         mp_view arguments)
{
    struct mp_str m = {.data = at, .cap = room, .max = room};

    mp_str_add_lit(&m, "\"name\":");
    mp_str_add_json(&m, call->tool, tool_len);
    mp_str_add_lit(&m, ",\"arguments\":");
    if (arguments.len)
        mp_str_add(&m, arguments.data, arguments.len);
    else
        mp_str_add_lit(&m, "{}");
    mp_frame_flatten(m.data, m.len);
    call->members = m.data;
    call->members_len = m.len;
}

static int other_members(struct mp_request *call, mp_view params,
                         struct mcplug_error *err)
{
    struct mp_str members;
    mp_view meta = mp_bytes(NULL, 0);

    mp_str_init(&members, MP_FRAME_MAX);
    bool ok = mp_frame_members(params, &members, &meta);
    size_t len = members.len;
    int r = mp_view_is_object(meta) ? mp_frame_object(&meta, "params._meta", err) : 0;
    if (r != MCPLUG_OK) {
        mp_str_clear(&members);
        return r;
    }
    if (ok && len)
        ok = (call->long_members = mp_str_take(&members));
    if (ok && call->long_members)
        mp_frame_flatten(call->long_members, len);
    if (ok && mp_view_is_object(meta))
        ok = (call->own_meta = mp_strndup((const char *)meta.data, meta.len));
    if (ok && call->own_meta)
        mp_frame_flatten(call->own_meta, meta.len);
    mp_str_clear(&members);
    call->members = call->long_members;
    call->members_len = len;
    return ok ? mp_mirror_name(call->method, mp_bytes(call->members, len), &call->name,
                               err)
              : mp_fail_nomem(err);
}

int mp_request_check(bool has_done, struct mcplug_error *err)
{
    return has_done ? MCPLUG_OK : mp_fail(err, MCPLUG_EINVAL, "`done` must not be NULL");
}

int mp_request_init(struct mp_request *call, char *room, const struct mp_ask *ask,
                    struct mcplug_error *err)
{
    mp_view params = ask->params;
    uint64_t spent = ask->o.waited_ms;

    memset(call, 0, sizeof *call);
    atomic_init(&call->base.refs, 1);
    call->o = ask->o;
    call->done = ask->done;
    call->arg = ask->arg;
    if (ask->tool) {
        call->method = "tools/call";
        call->tool = memcpy(room, ask->tool, ask->tool_len + 1);
        room += ask->tool_len + 1;
    } else {
        call->method = put_text(&room, ask->method);
    }
    call->timeout_ms = ask->timeout_ms;
    call->began_at = ask->now > spent ? ask->now - spent : 0;
    uint64_t left = call->timeout_ms > spent ? call->timeout_ms - spent : 0;
    call->deadline = left > UINT64_MAX - ask->now ? UINT64_MAX : ask->now + left;
    mp_str_init(&call->answers, ANSWERS_MAX);
    for (const char *p = call->tool ? "" : call->method; *p; p++)
        if ((unsigned char)*p < 0x20 || *p == '"' || *p == '\\')
            return mp_fail(err, MCPLUG_EINVAL, "not the name of a method: %.60s",
                           call->method);
    int r = MCPLUG_OK;
    call->log_level = put_text(&room, call->o.log_level);
    if (call->o.meta) {
        mp_view meta = mp_text(call->o.meta);
        r = mp_frame_object(&meta, "_meta", err);
        if (r == MCPLUG_OK) {
            char *own = memcpy(room, meta.data, meta.len);
            own[meta.len] = '\0';
            room += meta.len + 1;
            mp_frame_flatten(own, meta.len);
            call->meta = own;
        }
    }
    if (r == MCPLUG_OK && params.len)
        r = mp_frame_object(&params, call->tool ? "arguments" : "params", err);
    if (r == MCPLUG_OK && call->tool)
        tool_members(call, room, members_room(ask), ask->tool_len, params);
    else if (r == MCPLUG_OK)
        r = other_members(call, params, err);
    if (r != MCPLUG_OK)
        mp_request_clear(call);
    return r;
}

bool mp_request_was_written(const struct mp_request *call)
{
    return call->reached || call->rpc.written;
}

uint32_t mp_error_retry(const struct mcplug_error *why)
{
    switch (why->code) {
    case MCPLUG_EREFUSED:
    case MCPLUG_ETIMEDOUT:
    case MCPLUG_ECANCELED:
    case MCPLUG_ECLOSED:
    case MCPLUG_EIO:
    case MCPLUG_EOVERLOADED:
    case MCPLUG_ERESTART:
    case MCPLUG_ERESTARTING:
        return MCPLUG_ERROR_RETRY;
    default:
        return 0; /* the cause lasts */
    }
}

static bool has_effects(const struct mp_request *call)
{
    static const char *const harmless[] = {
        "resources/read",      "prompts/get",           "completion/complete",
        "resources/subscribe", "resources/unsubscribe", "resources/list",
        "prompts/list",        "logging/setLevel",      "resources/templates/list"};

    if (call->tool || call->pings)
        return !call->pings;
    for (size_t i = 0; i < MP_COUNT(harmless); i++)
        if (strcmp(call->method, harmless[i]) == 0)
            return false;
    return true;
}

uint32_t mp_request_flags(const struct mp_request *call, const struct mcplug_error *why)
{
    if (!mp_request_was_written(call))
        return MCPLUG_ERROR_RETRY;
    return MCPLUG_ERROR_SENT | (has_effects(call) ? 0 : mp_error_retry(why));
}

/* ---- while the session is renewed ---- */

/* Where sessions come and go on their own, a connection that is just being lost may be
 * one that comes back at once. */
static bool may_be_renewed(const struct mp_session *s)
{
    const struct mcplug_transport_ops *ops = s->wire.transport->feature.ops;
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

/* The server has ended the session. A request that was refused for it was not carried
 * out: it is sent once more, in the session that follows. The link goes right after it,
 * and takes the others along: of these, only what never left may be sent. */
static bool goes_to_new_session(struct mp_request *call, const struct mcplug_error *why)
{
    struct mp_session *s = call->session;
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    bool was_refused = !mp_rpc_idle(s->rpc);

    if (why->code != MCPLUG_ECLOSED || why->peer_status != 404 || !may_be_renewed(s) ||
        (was_refused ? call->resent : call->rpc.written))
        return false;
    call->resent = call->resent || was_refused;
    call->rpc.written = false; /* it has had no effect */
    return park(call, &err) == MCPLUG_OK;
}

static int send_first(struct mp_request *call, struct mcplug_error *err)
{
    return call->uri ? mp_notify_begin(call, err) : mp_request_send_round(call, err);
}

/* Whoever hears of a failure may change them all, so it is looked anew each time. */
void mp_request_unpark(struct mp_session *s)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    struct mp_request *call = s->calls.first;

    while (s->phase == MP_READY && call) {
        if (!call->is_parked) {
            call = call->next;
            continue;
        }
        call->is_parked = false;
        mp_timer_stop(s->cfg.loop, &call->patience);
        if (!call->cancel_job.queued && send_first(call, &err) != MCPLUG_OK)
            mp_request_finish(call, NULL, &err);
        call = s->calls.first;
    }
}

int mp_request_begin(struct mp_request *call, struct mp_session *s,
                     struct mcplug_error *err)
{
    if (s->phase != MP_READY && !s->renewal.under_way)
        return mp_fail(err, MCPLUG_ECLOSED, "server \"%s\" is not connected%s%.300s",
                       s->name, s->failure.code ? ": " : "",
                       s->failure.code ? s->failure.text : "");
    call->session = s;
    if (call->pings)
        call->method = s->era == MP_ERA_MODERN ? "server/discover" : "ping";
    call->rpc.written = false;
    call->reached = call->refetched = call->asking = call->refused = false;
    call->rounds = call->open_inputs = 0;
    int r = s->renewal.under_way ? park(call, err) : send_first(call, err);
    if (r == MCPLUG_ECLOSED && may_be_renewed(s))
        r = park(call, err);
    if (r != MCPLUG_OK) {
        leave(call);
        return r;
    }
    call->prev = s->calls.last;
    *s->calls.last = call;
    s->calls.last = &call->next;
    mp_call_log_began(call);
    return MCPLUG_OK;
}

/* ---- requests of our own ---- */

struct background {
    struct mp_call rpc;
    struct mp_session *session;
    const char *method; /* static text */
};

static unsigned *counter_of(struct mp_session *s, const char *method)
{
    return strcmp(method, "tasks/cancel") == 0 ? &s->calls.task_cancels : NULL;
}

static enum mp_outcome background_done(struct mp_call *rpc, mp_message *m,
                                       const struct mcplug_error *why)
{
    struct background *e = MP_OF(rpc, struct background, rpc);
    bool pings = !strcmp(e->method, "ping") || !strcmp(e->method, "server/discover");
    unsigned *counter = counter_of(e->session, e->method);
    (void)m;

    if (counter)
        --*counter;
    if (why && why->code != MCPLUG_ECANCELED &&
        !(pings && why->code == MCPLUG_EPEER)) /* any answer is life */
        mp_log(e->session->cfg.log, MCPLUG_LOG_WARN, e->session->source, "%s: %s",
               e->method, why->text);
    mp_free(e);
    return MP_OK;
}

int mp_request_background(struct mp_session *s, const char *method, mp_view members,
                          const char *name, struct mcplug_error *err)
{
    struct mp_frame_parts parts = {.method = method, .name = name, .members = members};
    struct background *e = mp_alloc(sizeof *e);

    if (!e)
        return mp_fail_nomem(err);
    *e = (struct background){{.done = background_done}, s, method};
    unsigned *counter = counter_of(s, method);
    int r = mp_frame_send(s, &e->rpc, &parts, s->o.request_ms, err);
    if (r != MCPLUG_OK)
        mp_free(e);
    else if (counter)
        ++*counter;
    return r;
}
