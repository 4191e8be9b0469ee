#include "session/session_private.h"

#include "base/error.h"
#include "base/mem.h"

enum { INVALID_REQUEST = -32600, METHOD_NOT_FOUND = -32601, INTERNAL_ERROR = -32603 };
enum { ID_MAX = 1024 }; /* bytes of an id that is kept until somebody has answered */

/* One question: either a request of a legacy server, answered by a message, or a part
 * of a modern result, answered by the next round of the call it belongs to. */
struct mcplug_input {
    struct mp_session *session; /* NULL: nobody waits for the answer any more */
    struct mp_request *call;    /* which a modern one belongs to; NULL: a legacy one */
    struct mp_loop *loop;
    void *owner; /* see mp_input_own() */
    uint64_t exchange;
    bool wanted; /* the other side still waits */
    bool handed; /* the embedder has the handle */
    struct mcplug_input *next, **prev;
    char id[]; /* as JSON: that of a legacy one, or the key of a modern one */
};

/* Nobody waits any more, but the embedder may still have the handle and will answer. */
static void orphan(mcplug_input *in)
{
    if (!in->prev)
        return;
    *in->prev = in->next;
    if (in->next)
        in->next->prev = in->prev;
    in->session->inputs.count--;
    in->prev = NULL;
    in->session = NULL;
    in->call = NULL;
}

static void input_free(mcplug_input *in)
{
    orphan(in);
    mp_free(in);
}

static mcplug_input *input_new(struct mp_session *s, struct mp_request *call, mp_view id)
{
    mcplug_input *in = mp_alloc(sizeof *in + id.len + 1);
    if (in) {
        memcpy(in->id, id.data, id.len);
        in->session = s;
        in->loop = s->cfg.loop;
        in->call = call;
        in->wanted = true;
        in->next = s->inputs.first;
        in->prev = &s->inputs.first;
        if (s->inputs.first)
            s->inputs.first->prev = &in->next;
        s->inputs.first = in;
        s->inputs.count++;
    }
    return in;
}

/* Who answers questions of that method? NULL: nobody. */
static mp_input_fn *handler_of(const struct mp_session *s, mp_view method, mp_view params)
{
    if (mp_view_equals(method, "elicitation/create"))
        return mp_view_equals(mp_view_get(params, "mode"), "url") ? s->o.elicit_url
                                                                  : s->o.elicit;
    if (mp_view_equals(method, "sampling/createMessage"))
        return s->o.sample;
    if (mp_view_equals(method, "roots/list"))
        return s->o.roots;
    return NULL;
}

static void hand_over(mcplug_input *in, mp_input_fn *handler, mp_view params)
{
    struct mp_session *s = in->session;
    char *text =
        params.len ? mp_strndup((const char *)params.data, params.len) : mp_strdup("{}");
    if (!text) {
        mcplug_input_refuse(in, INTERNAL_ERROR, "out of memory");
        return;
    }
    in->handed = true;
    handler(s->o.arg, s, in, text, strlen(text));
    mp_free(text);
}

/* ---- legacy: the server's own requests ---- */

void mp_inputs_request(struct mp_session *s, mp_message *m)
{
    mp_view id = mp_message_view(m, m->env.id), none = mp_bytes(NULL, 0);
    mp_view method = mp_message_view(m, m->env.method);
    mp_view params = mp_message_view(m, m->env.params);
    mp_input_fn *handler = handler_of(s, method, params);
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    mcplug_input *in = NULL;

    if (mp_message_unique(m, &err) != MCPLUG_OK) {
        if (s->era != MP_ERA_MODERN)
            mp_frame_answer(s, id, m->exchange, none, INVALID_REQUEST, err.text);
    } else if (mp_view_equals(method, "ping")) {
        mp_frame_answer(s, id, m->exchange, mp_text("{}"), 0, NULL);
    } else if (s->era == MP_ERA_MODERN) { /* no answers of ours: they go with a retry */
        mp_log(s->cfg.log, MCPLUG_LOG_WARN, s->source,
               "ignored a request of a modern server: %.*s",
               method.len > 100 ? 100 : (int)method.len, (const char *)method.data);
    } else if (!handler) {
        mp_frame_answer(s, id, m->exchange, none, METHOD_NOT_FOUND, "Method not found");
    } else if (id.len > ID_MAX) {
        mp_frame_answer(s, id, m->exchange, none, INVALID_REQUEST, "the id is too long");
    } else if (s->inputs.count == MP_INPUTS_MAX || !(in = input_new(s, NULL, id))) {
        mp_frame_answer(s, id, m->exchange, none, INTERNAL_ERROR,
                        "too many open requests");
    } else {
        in->exchange = m->exchange;
        hand_over(in, handler, params);
    }
}

/* The server no longer wants to know. */
void mp_inputs_cancelled(struct mp_session *s, mp_message *m)
{
    mp_view id = mp_message_inner(m, "requestId");

    for (mcplug_input *in = s->inputs.first; in; in = in->next)
        if (!in->call && mp_bytes_eq(id, in->id))
            in->wanted = false;
}

/* ---- modern: questions inside a result ---- */

static mcplug_input *input_of(const struct mp_request *call, mp_view key)
{
    for (mcplug_input *in = call->session->inputs.first; in; in = in->next)
        if (in->call == call && !in->handed && mp_view_same(key, mp_text(in->id)))
            return in;
    return NULL;
}

static int ask_one(struct mp_request *call, mp_view key, mp_view question,
                   struct mcplug_error *err)
{
    struct mp_session *s = call->session;
    mp_view method = mp_view_get(question, "method");
    mp_view params = mp_view_get(question, "params");
    mp_input_fn *handler = handler_of(s, method, params);
    struct mcplug_error twice = MCPLUG_ERROR_INIT;
    char *text = mp_view_strdup(method);
    int r = MCPLUG_OK;

    if (mp_view_unique(question, &twice) != MCPLUG_OK ||
        mp_view_unique(params, &twice) != MCPLUG_OK)
        r = mp_fail(err, twice.code, "the server's question: %s", twice.text);
    else if (!text)
        r = mp_fail(err, MCPLUG_EPROTO, "the server's question has no method");
    else if (!handler)
        r = mp_fail(err, MCPLUG_EPROTO,
                    "the server asks for %.100s, which the client did not declare", text);
    else if (input_of(call, key))
        r = mp_fail(err, MCPLUG_EPROTO, "the server asks twice under one key");
    else if (s->inputs.count >= MP_INPUTS_MAX)
        r = mp_fail(err, MCPLUG_EPROTO, "the server asks more than %d questions",
                    MP_INPUTS_MAX);
    else if (!input_new(s, call, key))
        r = mp_fail_nomem(err);
    else
        call->open_inputs++;
    mp_free(text);
    return r;
}

/* First all of them are noted, then they are asked: a handler may answer at once, and
 * only the last answer may send the call on. One more is held open meanwhile. */
int mp_inputs_ask(struct mp_request *call, mp_view questions, struct mcplug_error *err)
{
    struct mp_session *s = call->session;
    struct mp_walk w = mp_walk_into(questions);
    mp_view key, question;

    mp_str_clear(&call->answers);
    int r = mp_request_wait_for_answers(call, err);
    call->open_inputs = 1;
    while (r == MCPLUG_OK && mp_walk_member(&w, &key, &question))
        r = ask_one(call, key, question, err);
    if (r != MCPLUG_OK) {
        mp_inputs_forget_call(call);
        return r;
    }
    call->asking = true;
    w = mp_walk_into(questions);
    while (!call->refused && !call->cancel_job.queued &&
           mp_walk_member(&w, &key, &question)) {
        mp_view params = mp_view_get(question, "params");
        mcplug_input *in = input_of(call, key);
        mp_input_fn *handler = handler_of(s, mp_view_get(question, "method"), params);
        if (in && handler)
            hand_over(in, handler, params);
    }
    call->asking = false;
    call->open_inputs--;
    mp_inputs_settle(call);
    return MCPLUG_OK;
}

/* Goes on with the call when its questions are settled; from a job, because answers
 * may come inside any call of the embedder's. */
static void settled(struct mp_job *job)
{
    struct mp_request *call = MP_OF(job, struct mp_request, settle_job);
    struct mcplug_error err = MCPLUG_ERROR_INIT;

    mp_timer_stop(call->session->cfg.loop, &call->patience);
    if (call->answers.len)
        mp_str_addc(&call->answers, '}');
    if (!call->refused) {
        mp_request_answered(call);
        return;
    }
    mp_fail(&err, MCPLUG_ECANCELED, "the server's question was refused: %s",
            call->refusal ? call->refusal : "no reason given");
    mp_request_finish(call, NULL, &err);
}

void mp_inputs_settle(struct mp_request *call)
{
    if (!call->asking && !call->cancel_job.queued &&
        (call->open_inputs == 0 || call->refused))
        mp_job_defer(call->session->cfg.loop, &call->settle_job, settled);
}

/* Those of a call; `call` NULL: those of a legacy server. */
static void forget(struct mp_session *s, const struct mp_request *call)
{
    mcplug_input *in = s->inputs.first;

    while (in) {
        mcplug_input *next = in->next;
        if (in->call == call && in->handed)
            orphan(in);
        else if (in->call == call)
            input_free(in);
        in = next;
    }
}

void mp_inputs_forget_call(struct mp_request *call)
{
    mp_job_drop(call->session->cfg.loop, &call->settle_job);
    mp_timer_stop(call->session->cfg.loop, &call->patience);
    forget(call->session, call);
    call->open_inputs = 0;
}

void mp_inputs_forget_all(struct mp_session *s)
{
    forget(s, NULL);
}

/* ---- what the embedder calls ---- */

void mp_input_own(mcplug_input *in, void *owner)
{
    in->owner = owner;
}

/* One that nobody waits for may have outlived the loop, and is its holder's alone. */
int mp_input_check(const mcplug_input *in, const char *function)
{
    return !in->session || mp_loop_here(in->loop)
               ? MCPLUG_OK
               : mp_loop_refuse(in->loop, function, NULL);
}

void *mp_input_owner(const mcplug_input *in)
{
    return in->session ? in->owner : NULL;
}

struct mp_request *mp_input_request(const mcplug_input *in)
{
    struct mp_request *call = in->call;

    if (!call && in->session && in->exchange) {
        call = in->session->calls.first;
        while (call && !(call->in_round && call->rpc.id == in->exchange))
            call = call->next;
    }
    return call && call->number ? call : NULL;
}

void mp_inputs_pass_on(struct mp_session *s, const void *owner, void *next)
{
    for (mcplug_input *in = s->inputs.first; in; in = in->next)
        if (in->owner == owner)
            in->owner = next;
}

/* Ends the question, with `result` or if that is empty, with an error. */
static void answer(mcplug_input *in, mp_view result, int code, const char *message)
{
    struct mp_session *s = in->session;
    struct mp_request *call = in->call;

    if (s && call) {
        call->open_inputs--;
        if (result.len) {
            mp_str_adds(&call->answers, call->answers.len ? "," : "{");
            mp_str_adds(&call->answers, in->id);
            mp_str_addc(&call->answers, ':');
            mp_str_add(&call->answers, result.data, result.len);
        } else if (!call->refused) {
            call->refusal = mp_strdup(message);
            call->refused = true;
        }
        mp_inputs_settle(call);
    } else if (s && in->wanted && !mp_rpc_idle(s->rpc)) {
        mp_frame_answer(s, mp_text(in->id), in->exchange, result, code, message);
    }
    input_free(in);
}

/* An answer of several lines is copied, to make it one; without memory for that, the
 * question is refused rather than left open. */
int mcplug_input_answer(mcplug_input *in, const char *result)
{
    mp_view view = mp_text(result);

    if (!in || mp_input_check(in, __func__) != MCPLUG_OK)
        return MCPLUG_EINVAL;
    if (!result || mp_frame_object(&view, "answer", NULL) != MCPLUG_OK)
        return MCPLUG_EINVAL;
    if (!memchr(view.data, '\n', view.len) && !memchr(view.data, '\r', view.len)) {
        answer(in, view, 0, NULL);
        return MCPLUG_OK;
    }
    char *line = mp_strndup((const char *)view.data, view.len);
    if (line) {
        mp_frame_flatten(line, view.len);
        answer(in, mp_bytes(line, view.len), 0, NULL);
    } else {
        mcplug_input_refuse(in, INTERNAL_ERROR, "out of memory");
    }
    mp_free(line);
    return MCPLUG_OK;
}

void mcplug_input_refuse(mcplug_input *in, int code, const char *message)
{
    if (in && mp_input_check(in, __func__) == MCPLUG_OK)
        answer(in, mp_bytes(NULL, 0), code, message);
}
