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

static void puts_(struct line *l, const char *text)
{
    put(l, text, strlen(text), SIZE_MAX);
}

static void putf(struct line *l, const char *fmt, ...) MCPLUG_PRINTF(2, 3);

/* For numbers and the words around them. */
static void putf(struct line *l, const char *fmt, ...)
{
    char room[128];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(room, sizeof room, fmt, ap);
    va_end(ap);
    puts_(l, room);
}

/* ---- by kind ---- */

static bool put_sent(struct line *l, unsigned n, const struct mp_event_call *call)
{
    if (n == 0 && call->tool) {
        puts_(l, "Calling MCP tool: ");
        puts_(l, call->tool);
        return true;
    }
    if (n > (call->tool != NULL) || call->queued_ms < WAITED_MS)
        return false;
    puts_(l, call->tool ? call->tool : call->method);
    putf(l, " waited %llums before it was sent", (unsigned long long)call->queued_ms);
    return true;
}

static bool put_running(struct line *l, const struct mp_event_call *call)
{
    puts_(l, "Tool '");
    puts_(l, call->tool);
    putf(l, "' still running (%llus elapsed)",
         (unsigned long long)(call->latency_ms / 1000));
    return true;
}

/* Who cancels a call knows, and has not seen a failure. */
static bool put_returned(struct line *l, const struct mp_event_call *call)
{
    bool ok = call->outcome == MP_OK;
    char after[32];

    if (!call->tool || call->outcome == MP_CANCELLED)
        return false;
    mp_text_duration(after, sizeof after, call->latency_ms, false);
    puts_(l, "Tool '");
    puts_(l, call->tool);
    putf(l, ok ? "' completed successfully in %s" : "' failed after %s: ", after);
    if (!ok)
        puts_(l, call->why ? call->why->text : call->failure);
    return true;
}

static bool put_state(struct line *l, const struct mp_event *e)
{
    const char *why = e->state.why ? e->state.why->text : "";

    if (e->state.state == MCPLUG_STATE_WAITING)
        putf(l, "restart %u in %llums: ", e->state.failures,
             (unsigned long long)e->state.next_ms);
    else if (e->state.state == MCPLUG_STATE_PARKED)
        puts_(l, "not tried again by itself: ");
    else
        return false;
    puts_(l, why);
    return true;
}

static bool put_started(struct line *l, const struct mp_event *e)
{
    unsigned long long ms = e->started.ms;

    if (e->started.why) {
        putf(l, "not ready after %llums: ", ms);
        puts_(l, e->started.why->text);
    } else {
        putf(l, "ready after %llums: %zu tools, revision %s", ms, e->started.tools,
             e->started.revision);
    }
    return true;
}

static bool put_dropped(struct line *l, unsigned n, const struct mp_event *e)
{
    char type[32];
    size_t i = 0;

    if (n == 1) {
        puts_(l, e->dropped.why->text);
        return true;
    }
    for (const char *p = e->dropped.transport; *p && i + 1 < sizeof type; p++)
        type[i++] = (char)toupper((unsigned char)*p);
    type[i] = '\0';
    putf(l, "%s connection dropped after %llus uptime", type,
         (unsigned long long)(e->dropped.up_ms / 1000));
    return true;
}

static bool put_event(struct line *l, unsigned n, const struct mp_event *e)
{
    if (n > 1 || (n == 1 && e->kind != MP_EVENT_SENT && e->kind != MP_EVENT_DROPPED))
        return false;
    switch (e->kind) {
    case MP_EVENT_SENT:
        return put_sent(l, n, &e->call);
    case MP_EVENT_RUNNING:
        return put_running(l, &e->call);
    case MP_EVENT_RETURNED:
        return put_returned(l, &e->call);
    case MP_EVENT_STATE:
        return put_state(l, e);
    case MP_EVENT_STARTED:
        return put_started(l, e);
    case MP_EVENT_DROPPED:
        return put_dropped(l, n, e);
    case MP_EVENT_FRAME:
        puts_(l, e->frame.sent ? "-> " : "<- ");
        put(l, e->frame.text, e->frame.len, FRAME_SHOWN);
        return true;
    case MP_EVENT_REMARK:
        puts_(l, "stderr: ");
        put(l, e->text.data, e->text.len, REMARK_SHOWN);
        l->cut += e->text.cut;
        return true;
    case MP_EVENT_LINE:
        put(l, e->text.data, e->text.len, SIZE_MAX);
        l->cut += e->text.cut;
        return true;
    case MP_EVENT_CALL:
    case MP_EVENT_PROGRESS:
    case MP_EVENT_ENDED:
    case MP_EVENT_LOGGED:
    case MP_EVENT_KINDS:
        break;
    }
    return false;
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
