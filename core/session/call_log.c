#include "session/session_private.h"

#include "base/mem.h"

static uint64_t elapsed(const struct mp_request *call)
{
    uint64_t now = mp_loop_now(call->session->cfg.loop);
    return now > call->began_at ? now - call->began_at : 0;
}

static bool is_wanted(const struct mp_session *s, enum mp_event_kind kind)
{
    return mp_events_want(s->cfg.log, kind, MCPLUG_LOG_VERBOSE);
}

/* Fills what is the same for all kinds, and tells it. */
static void tell(const struct mp_request *call, struct mp_event *event)
{
    const struct mp_session *s = call->session;

    event->level = MCPLUG_LOG_VERBOSE;
    event->source = s->source;
    event->call.id = call->number;
    event->call.method = call->method;
    event->call.tool = call->tool;
    event->call.queued_ms = call->queued_ms;
    event->call.latency_ms = elapsed(call);
    mp_events_tell(s->cfg.log, event);
}

static void tell_kind(const struct mp_request *call, enum mp_event_kind kind)
{
    struct mp_event event = {.kind = kind};
    tell(call, &event);
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
            tell_kind(call, MP_EVENT_RUNNING);
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
    if (is_wanted(s, MP_EVENT_SENT))
        tell_kind(call, MP_EVENT_SENT);
    if (!call->tool)
        return;
    if (is_wanted(s, MP_EVENT_RUNNING)) {
        uint64_t ms = call->queued_ms, left = MP_BEAT_MS - ms % MP_BEAT_MS;
        call->beats = ms / MP_BEAT_MS; /* some of them while it waited to be sent */
        if (!s->calls.beat.slot || s->calls.beat.due > mp_loop_now(s->cfg.loop) + left)
            mp_timer_start(s->cfg.loop, &s->calls.beat, left, on_beat);
    }
    if (s->o.keep_alive_ms && !s->calls.keep_alive.slot)
        mp_timer_start(s->cfg.loop, &s->calls.keep_alive, s->o.keep_alive_ms,
                       on_keep_alive);
}

void mp_call_log_progress(struct mp_request *call, double done, double total,
                          const char *message)
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

    if (is_wanted(s, MP_EVENT_PROGRESS))
        mp_events_tell(s->cfg.log, &event);
    call->o.progress(call->o.progress_arg, &call->base, done, total, message);
}

void mp_call_log_clear(struct mp_session *s)
{
    mp_timer_stop(s->cfg.loop, &s->calls.beat);
    mp_timer_stop(s->cfg.loop, &s->calls.keep_alive);
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

static void tell_returned(const struct mp_request *call, const mp_message *reply,
                          const struct mcplug_error *why)
{
    struct mp_event event = {.kind = MP_EVENT_RETURNED};
    mp_request_result(call, reply, why, &event.call);
    tell(call, &event);
}

void mp_call_log_ended(const struct mp_request *call, const mp_message *reply,
                       const struct mcplug_error *why)
{
    if (is_wanted(call->session, MP_EVENT_RETURNED))
        tell_returned(call, reply, why);
}
