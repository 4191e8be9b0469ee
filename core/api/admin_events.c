#include "api/host.h"

#include "base/links.h"
#include "base/mem.h"

#include <mcplug/admin.h>

#include <stdio.h>

struct mcplug_listener {
    struct mp_event_listener base;
    mcplug *host;
    struct mcplug_listener *next, **prev;
    mcplug_activity_fn *fn;
    void *arg;
};

_Static_assert(MCPLUG_ACTIVITY_CALL == MP_EVENT_BIT(MP_EVENT_CALL) &&
                   MCPLUG_ACTIVITY_SENT == MP_EVENT_BIT(MP_EVENT_SENT) &&
                   MCPLUG_ACTIVITY_RUNNING == MP_EVENT_BIT(MP_EVENT_RUNNING) &&
                   MCPLUG_ACTIVITY_PROGRESS == MP_EVENT_BIT(MP_EVENT_PROGRESS) &&
                   MCPLUG_ACTIVITY_RETURNED == MP_EVENT_BIT(MP_EVENT_RETURNED) &&
                   MCPLUG_ACTIVITY_ENDED == MP_EVENT_BIT(MP_EVENT_ENDED) &&
                   MCPLUG_ACTIVITY_STATE == MP_EVENT_BIT(MP_EVENT_STATE) &&
                   MCPLUG_ACTIVITY_STARTED == MP_EVENT_BIT(MP_EVENT_STARTED) &&
                   MCPLUG_ACTIVITY_DROPPED == MP_EVENT_BIT(MP_EVENT_DROPPED) &&
                   MCPLUG_ACTIVITY_FRAME == MP_EVENT_BIT(MP_EVENT_FRAME) &&
                   MCPLUG_ACTIVITY_REMARK == MP_EVENT_BIT(MP_EVENT_REMARK) &&
                   MCPLUG_ACTIVITY_LOGGED == MP_EVENT_BIT(MP_EVENT_LOGGED) &&
                   MCPLUG_ACTIVITY_LINE == MP_EVENT_BIT(MP_EVENT_LINE) &&
                   (unsigned)MCPLUG_ACTIVITY_ALL == MP_EVENT_ALL,
               "kinds are the same inside and outside");
_Static_assert((int)MCPLUG_OUTCOME_OK == (int)MP_OK &&
                   (int)MCPLUG_OUTCOME_TOOL_ERROR == (int)MP_TOOL_ERROR &&
                   (int)MCPLUG_OUTCOME_PEER_ERROR == (int)MP_PEER_ERROR &&
                   (int)MCPLUG_OUTCOME_TRANSPORT_ERROR == (int)MP_TRANSPORT_ERROR &&
                   (int)MCPLUG_OUTCOME_TIMED_OUT == (int)MP_TIMED_OUT &&
                   (int)MCPLUG_OUTCOME_CANCELLED == (int)MP_CANCELLED &&
                   (int)MCPLUG_OUTCOME_CANCELLED + 1 == (int)MP_OUTCOMES,
               "outcomes are, too");
_Static_assert(MCPLUG_ACTIVITY_LINE_MAX == MP_LINE_ROOM, "and so is the room for a line");

/* ---- an event as programs see it ---- */

static void put_text(struct mcplug_activity *out, const char *text, size_t len)
{
    out->text = text;
    out->len = text ? len : 0;
}

static void put_call(struct mcplug_activity *out, const struct mp_event_call *call)
{
    out->call = call->id;
    out->method = call->method;
    out->tool = call->tool;
    out->queued_ms = call->queued_ms;
    out->latency_ms = call->latency_ms;
    out->result_size = call->result_size;
    out->outcome = call->outcome;
    out->refused = call->refused;
    out->why = call->why;
    put_text(out, call->failure, call->failure ? strlen(call->failure) : 0);
}

static void put_data(struct mcplug_activity *out, const struct mp_event *e)
{
    switch (e->kind) {
    case MP_EVENT_CALL:
    case MP_EVENT_SENT:
    case MP_EVENT_RUNNING:
    case MP_EVENT_RETURNED:
    case MP_EVENT_ENDED:
        put_call(out, &e->call);
        break;
    case MP_EVENT_PROGRESS:
        out->call = e->progress.id;
        out->method = e->progress.method;
        out->tool = e->progress.tool;
        out->progress = e->progress.done;
        out->total = e->progress.total;
        put_text(out, e->progress.message,
                 e->progress.message ? strlen(e->progress.message) : 0);
        break;
    case MP_EVENT_STATE:
        out->state = (uint32_t)e->state.state;
        out->why = e->state.why;
        out->next_ms = e->state.next_ms;
        out->starts = e->state.starts;
        out->failures = e->state.failures;
        break;
    case MP_EVENT_STARTED:
        out->why = e->started.why;
        out->ms = e->started.ms;
        out->tools = e->started.tools;
        out->revision = e->started.revision;
        break;
    case MP_EVENT_DROPPED:
        out->why = e->dropped.why;
        out->ms = e->dropped.up_ms;
        out->transport = e->dropped.transport;
        break;
    case MP_EVENT_FRAME:
        out->is_sent = e->frame.sent;
        out->is_cut = e->frame.truncated;
        put_text(out, e->frame.text, e->frame.len);
        break;
    case MP_EVENT_REMARK:
    case MP_EVENT_LOGGED:
    case MP_EVENT_LINE:
        put_text(out, e->text.data, e->text.len);
        break;
    case MP_EVENT_KINDS:
        break;
    }
}

static void on_event(void *arg, const struct mp_event *e)
{
    const struct mcplug_listener *l = arg;
    struct mcplug_activity event = {
        .struct_size = sizeof event,
        .kind = MP_EVENT_BIT(e->kind),
        .level = e->level,
        .time_ms = e->time_ms,
        .source = e->source,
        .server = mp_event_server(e),
        .inner = e,
    };

    put_data(&event, e);
    l->fn(l->arg, &event);
}

/* ---- who listens ---- */

mcplug_listener *mcplug_listen(mcplug *host, uint32_t kinds, int level,
                               mcplug_activity_fn *fn, void *arg)
{
    struct mcplug_listener *l = host && fn ? mp_alloc(sizeof *l) : NULL;

    if (!l)
        return NULL;
    l->base = (struct mp_event_listener){
        .kinds = kinds & MP_EVENT_ALL, .level = level, .fn = on_event, .arg = l};
    l->host = host;
    l->fn = fn;
    l->arg = arg;
    mp_links_push(host->listeners, l, next, prev);
    mp_events_add(&host->events, &l->base);
    return l;
}

void mcplug_unlisten(mcplug_listener *listener)
{
    if (!listener)
        return;
    mp_events_remove(&listener->host->events, &listener->base);
    mp_links_drop(listener, next, prev);
    mp_free(listener);
}

void mp_host_end_listeners(mcplug *host)
{
    while (host->listeners)
        mcplug_unlisten(host->listeners);
}

/* ---- what is asked of an event ---- */

int mcplug_activity_text(const struct mcplug_activity *event, unsigned n,
                         char out[MCPLUG_ACTIVITY_LINE_MAX])
{
    return event && event->inner && out && mp_event_text(event->inner, n, out);
}

int mcplug_activity_concerns(const struct mcplug_activity *event,
                             const mcplug_server *server)
{
    return event && event->source && server &&
           strcmp(event->source, server->service->source) == 0;
}

const char *mcplug_outcome_name(enum mcplug_outcome outcome)
{
    return (unsigned)outcome < MP_OUTCOMES ? mp_outcome_name((enum mp_outcome)outcome)
                                           : "";
}
