#include "base/event.h"

#include "base/text.h"

#include <mcplug/mcplug.h>

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#define FRAME_SHOWN 3000 /* bytes of a frame in its line */
#define REMARK_SHOWN 2048
#define WAITED_MS 1000 /* a call that was sent later than this is worth a line */

const unsigned mp_event_texts =
    MP_EVENT_BIT(MP_EVENT_SENT) | MP_EVENT_BIT(MP_EVENT_RUNNING) |
    MP_EVENT_BIT(MP_EVENT_RETURNED) | MP_EVENT_BIT(MP_EVENT_STATE) |
    MP_EVENT_BIT(MP_EVENT_STARTED) | MP_EVENT_BIT(MP_EVENT_DROPPED) |
    MP_EVENT_BIT(MP_EVENT_FRAME) | MP_EVENT_BIT(MP_EVENT_REMARK) |
    MP_EVENT_BIT(MP_EVENT_LINE);

/* ---- a line ---- */

struct line {
    char *out;
    size_t len, cut;
};

/* What does not fit is only counted. `most`: no more than these bytes of it. */
static void put(struct line *l, const char *text, size_t len, size_t most)
{
    size_t shown = len < most ? len : most;
    bool is_cut = shown < len;

    if (l->cut)
        shown = 0;
    if (shown)
        l->len +=
            mp_escape(text, &shown, false, is_cut, l->out + l->len, MP_LINE_MAX - l->len);
    l->cut += len - shown;
}

static void putf(struct line *l, const char *fmt, ...) MCPLUG_PRINTF(2, 3);

static void putf(struct line *l, const char *fmt, ...)
{
    char text[MP_LINE_MAX + 1]; /* more than a line has room for */
    va_list ap;
    va_start(ap, fmt);
    int len = vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    put(l, text, len > 0 ? (size_t)len : 0, sizeof text - 1);
}

/* ---- by kind ---- */

static bool put_sent(struct line *l, unsigned n, const struct mp_event_call *call)
{
    if (n == 0 && call->tool) {
        putf(l, "Calling MCP tool: %s", call->tool);
        return true;
    }
    if (n > (call->tool != NULL) || call->queued_ms < WAITED_MS)
        return false;
    putf(l, "%s waited %llums before it was sent", call->tool ? call->tool : call->method,
         (unsigned long long)call->queued_ms);
    return true;
}

/* Who cancels a call knows, and has not seen a failure. */
static bool put_returned(struct line *l, const struct mp_event_call *call)
{
    char after[32];

    if (!call->tool || call->outcome == MP_CANCELLED)
        return false;
    mp_text_duration(after, sizeof after, call->latency_ms, false);
    if (call->outcome == MP_OK)
        putf(l, "Tool '%s' completed successfully in %s", call->tool, after);
    else
        putf(l, "Tool '%s' failed after %s: %s", call->tool, after,
             call->why ? call->why->text : call->failure);
    return true;
}

static bool put_state(struct line *l, const struct mp_event *e)
{
    const char *why = e->state.why ? e->state.why->text : "";

    if (e->state.state == MCPLUG_STATE_WAITING)
        putf(l, "restart %u in %llums: %s", e->state.failures,
             (unsigned long long)e->state.next_ms, why);
    else if (e->state.state == MCPLUG_STATE_PARKED)
        putf(l, "not retried automatically: %s", why);
    return e->state.state == MCPLUG_STATE_WAITING ||
           e->state.state == MCPLUG_STATE_PARKED;
}

static void put_dropped(struct line *l, unsigned n, const struct mp_event *e)
{
    char type[32];
    size_t i = 0;

    if (n == 1) {
        putf(l, "%s", e->dropped.why->text);
        return;
    }
    for (const char *p = e->dropped.transport; *p && i + 1 < sizeof type; p++)
        type[i++] = (char)toupper((unsigned char)*p);
    type[i] = '\0';
    putf(l, "%s connection dropped after %llus uptime", type,
         (unsigned long long)(e->dropped.up_ms / 1000));
}

static bool put_event(struct line *l, unsigned n, const struct mp_event *e)
{
    if (n > 1 || (n == 1 && e->kind != MP_EVENT_SENT && e->kind != MP_EVENT_DROPPED))
        return false;
    switch (e->kind) {
    case MP_EVENT_SENT:
        return put_sent(l, n, &e->call);
    case MP_EVENT_RUNNING:
        putf(l, "Tool '%s' still running (%llus elapsed)", e->call.tool,
             (unsigned long long)(e->call.latency_ms / 1000));
        return true;
    case MP_EVENT_RETURNED:
        return put_returned(l, &e->call);
    case MP_EVENT_STATE:
        return put_state(l, e);
    case MP_EVENT_STARTED:
        if (e->started.why)
            putf(l, "not ready after %llums: %s", (unsigned long long)e->started.ms,
                 e->started.why->text);
        else
            putf(l, "ready after %llums: %zu tools, revision %s",
                 (unsigned long long)e->started.ms, e->started.tools,
                 e->started.revision);
        return true;
    case MP_EVENT_DROPPED:
        put_dropped(l, n, e);
        return true;
    case MP_EVENT_FRAME:
        putf(l, e->frame.sent ? "-> " : "<- ");
        put(l, e->frame.text, e->frame.len, FRAME_SHOWN);
        return true;
    case MP_EVENT_REMARK:
        putf(l, "stderr: ");
        put(l, e->text.data, e->text.len, REMARK_SHOWN);
        l->cut += e->text.cut;
        return true;
    case MP_EVENT_LINE:
        put(l, e->text.data, e->text.len, SIZE_MAX);
        l->cut += e->text.cut;
        return true;
    default: /* mp_event_texts has no other kind */
        return false;
    }
}

bool mp_event_text(const struct mp_event *event, unsigned n, char out[MP_LINE_ROOM])
{
    struct line l = {.out = out};

    if (!put_event(&l, n, event))
        return false;
    out[l.len] = '\0';
    if (l.cut)
        snprintf(out + l.len, MP_LINE_ROOM - l.len, "… (%zu byte%s more)", l.cut,
                 l.cut == 1 ? "" : "s");
    return true;
}
