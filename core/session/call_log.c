#include "session/session_private.h"

#include "base/mem.h"
#include "base/text.h"

static uint64_t elapsed(const struct mp_request *call)
{
    uint64_t now = mp_loop_now(call->session->cfg.loop);
    return now > call->began_at ? now - call->began_at : 0;
}

static void tell(const struct mp_request *call, const char *fmt, ...) MCPLUG_PRINTF(2, 3);

static void tell(const struct mp_request *call, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    mp_logv(call->session->cfg.log, MCPLUG_LOG_VERBOSE, call->session->source, fmt, ap);
    va_end(ap);
}

static bool is_wanted(const struct mp_session *s)
{
    return mp_log_wants(s->cfg.log, MCPLUG_LOG_VERBOSE);
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
            tell(call, "Tool '%s' still running (%llus elapsed)", call->tool,
                 (unsigned long long)(ms / 1000));
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

    if (!call->tool)
        return;
    if (is_wanted(s)) {
        uint64_t ms = elapsed(call), left = MP_BEAT_MS - ms % MP_BEAT_MS;
        tell(call, "Calling MCP tool: %s", call->tool);
        call->beats = ms / MP_BEAT_MS; /* some of them while it waited to be sent */
        if (!s->calls.beat.slot || s->calls.beat.due > mp_loop_now(s->cfg.loop) + left)
            mp_timer_start(s->cfg.loop, &s->calls.beat, left, on_beat);
    }
    if (s->o.keep_alive_ms && !s->calls.keep_alive.slot)
        mp_timer_start(s->cfg.loop, &s->calls.keep_alive, s->o.keep_alive_ms,
                       on_keep_alive);
}

void mp_call_log_clear(struct mp_session *s)
{
    mp_timer_stop(s->cfg.loop, &s->calls.beat);
    mp_timer_stop(s->cfg.loop, &s->calls.keep_alive);
}

/* ---- at its end ---- */

/* Who cancels a call knows, and has not seen a failure. */
void mp_call_log_ended(const struct mp_request *call, const mp_message *reply,
                       const struct mcplug_error *why)
{
    char after[32];

    if (!call->tool || !is_wanted(call->session) ||
        (why && why->code == MCPLUG_ECANCELED))
        return;
    mp_text_duration(after, sizeof after, elapsed(call), false);
    if (why)
        tell(call, "Tool '%s' failed after %s: %s", call->tool, after, why->text);
    else if (reply && mcplug_result_is_error(reply))
        tell(call, "Tool '%s' failed after %s: %s", call->tool, after,
             mcplug_result_error_text(reply));
    else
        tell(call, "Tool '%s' completed successfully in %s", call->tool, after);
}
