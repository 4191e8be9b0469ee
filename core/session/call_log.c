#include "session/session_private.h"

#include "base/mem.h"

static uint64_t elapsed(const struct mp_request *call)
{
    uint64_t now = mp_loop_now(call->session->cfg.loop);
    return now > call->began_at ? now - call->began_at : 0;
}

void mp_call_log(const struct mp_request *call, enum mp_event_kind kind,
                 const mp_message *reply, const struct mcplug_error *why)
{
    const struct mp_session *s = call->session;

    if (!mp_events_want(s->cfg.log, kind, MCPLUG_LOG_VERBOSE))
        return;
    struct mp_event event = {
        .kind = kind,
        .level = MCPLUG_LOG_VERBOSE,
        .source = s->source,
        .call = {.id = call->number,
                 .method = call->method,
                 .tool = call->tool,
                 .queued_ms = call->queued_ms,
                 .latency_ms = elapsed(call)},
    };
    if (kind == MP_EVENT_RETURNED)
        mp_request_result(call, reply, why, &event.call);
    mp_events_tell(s->cfg.log, &event);
}

/* ---- while a tool runs ---- */

/* One timer for all of them: it waits for whichever is due first. */
static void on_beat(struct mp_timer *timer)
{
    struct mp_session *s = MP_OF(timer, struct mp_session, calls.beat);
    uint64_t next = UINT64_MAX;

    for (struct mp_request *call = s->calls.first; call; call = call->next) {
        uint64_t ms = elapsed(call);
        if (!call->tool)
            continue;
        if (ms / MP_BEAT_MS > call->beats) {
            call->beats = ms / MP_BEAT_MS;
            mp_call_log(call, MP_EVENT_RUNNING, NULL, NULL);
        }
        uint64_t left = (call->beats + 1) * MP_BEAT_MS - ms;
        next = left < next ? left : next;
    }
    if (next != UINT64_MAX)
        mp_timer_start(s->cfg.loop, &s->calls.beat, next, on_beat);
}

static void on_keep_alive(struct mp_timer *timer)
{
    struct mp_session *s = MP_OF(timer, struct mp_session, calls.keep_alive);
    const char *method = s->era == MP_ERA_MODERN ? "server/discover" : "ping";
    struct mcplug_error err = MCPLUG_ERROR_INIT;

    for (struct mp_request *call = s->calls.first; call; call = call->next) {
        if (!call->tool)
            continue;
        if (s->phase == MP_READY)
            mp_request_background(s, method, mp_bytes(NULL, 0), NULL, &err);
        mp_timer_start(s->cfg.loop, timer, s->o.keep_alive_ms, on_keep_alive);
        return;
    }
}

void mp_call_log_began(struct mp_request *call)
{
    struct mp_session *s = call->session;

    call->queued_ms = elapsed(call);
    mp_call_log(call, MP_EVENT_SENT, NULL, NULL);
    if (!call->tool)
        return;
    if (mp_events_want(s->cfg.log, MP_EVENT_RUNNING, MCPLUG_LOG_VERBOSE)) {
        uint64_t ms = call->queued_ms, left = MP_BEAT_MS - ms % MP_BEAT_MS;
        call->beats = ms / MP_BEAT_MS; /* some of them while it waited to be sent */
        if (!s->calls.beat.slot || s->calls.beat.due > mp_loop_now(s->cfg.loop) + left)
            mp_timer_start(s->cfg.loop, &s->calls.beat, left, on_beat);
    }
    if (s->o.keep_alive_ms && !s->calls.keep_alive.slot)
        mp_timer_start(s->cfg.loop, &s->calls.keep_alive, s->o.keep_alive_ms,
                       on_keep_alive);
}

/* Neither callback can end the call, which it asks for at most: both see it. */
void mp_call_log_progress(struct mp_request *call, double done, double total,
                          const char *message, mp_view params)
{
    const struct mp_session *s = call->session;
    struct mp_event event = {
        .kind = MP_EVENT_PROGRESS,
        .level = MCPLUG_LOG_VERBOSE,
        .source = s->source,
        .progress = {.id = call->number,
                     .method = call->method,
                     .tool = call->tool,
                     .done = done,
                     .total = total,
                     .message = message},
    };

    if (mp_events_want(s->cfg.log, MP_EVENT_PROGRESS, MCPLUG_LOG_VERBOSE))
        mp_events_tell(s->cfg.log, &event);
    char *text = call->o.progress_json && params.len
                     ? mp_strndup((const char *)params.data, params.len)
                     : NULL;
    if (text)
        call->o.progress_json(call->o.progress_arg, &call->base, text, params.len);
    mp_free(text);
    if (call->o.progress)
        call->o.progress(call->o.progress_arg, &call->base, done, total, message);
}

/* ---- at its end ---- */

enum mp_outcome mp_request_outcome(const struct mp_request *call,
                                   const struct mcplug_error *why)
{
    return why ? mp_outcome_of(why->code) : call->tool_failed ? MP_TOOL_ERROR : MP_OK;
}

void mp_request_result(const struct mp_request *call, const mp_message *reply,
                       const struct mcplug_error *why, struct mp_event_call *out)
{
    size_t len = 0;

    out->outcome = mp_request_outcome(call, why);
    out->why = why;
    if (reply && !why)
        mcplug_result_json(reply, &len);
    out->result_size = len;
    out->failure =
        out->outcome == MP_TOOL_ERROR && reply ? mcplug_result_error_text(reply) : NULL;
}
