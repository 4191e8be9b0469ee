#include "base/event.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

/* A place in the list of listeners that stays right whoever goes meanwhile. */
struct mp_events_cursor {
    struct mp_event_listener *next;
    struct mp_events_cursor *outer;
};

/* ---- who listens ---- */

static void update(struct mp_events *events)
{
    for (int level = 0; level <= MCPLUG_LOG_TRACE; level++) {
        unsigned kinds = events->log && level <= events->log_level ? mp_event_texts : 0;
        for (const struct mp_event_listener *l = events->first; l; l = l->next)
            kinds |= level <= l->level ? l->kinds : 0;
        atomic_store_explicit(&events->wanted[level], kinds, memory_order_relaxed);
    }
}

void mp_events_init(struct mp_events *events,
                    void (*log)(void *arg, int level, const char *source,
                                const char *text),
                    void *arg, int level)
{
    memset(events, 0, offsetof(struct mp_events, rate));
    mp_log_rate_init(&events->rate);
    events->log = log;
    events->log_arg = arg;
    events->log_level = log ? level : -1;
    update(events);
}

void mp_events_add(struct mp_events *events, struct mp_event_listener *listener)
{
    struct mp_event_listener **last = &events->first;

    while (*last)
        last = &(*last)->next;
    listener->next = NULL;
    listener->telling = false;
    listener->seq = ++events->seq;
    *last = listener;
    update(events);
}

void mp_events_remove(struct mp_events *events, struct mp_event_listener *listener)
{
    struct mp_event_listener **at = &events->first;

    while (*at && *at != listener)
        at = &(*at)->next;
    if (!*at)
        return;
    *at = listener->next;
    for (struct mp_events_cursor *c = events->cursors; c; c = c->outer)
        if (c->next == listener)
            c->next = listener->next;
    update(events);
}

/* ---- telling ---- */

/* Who is telling on this thread, in whose callback. */
struct told {
    const struct mp_events *events;
    const struct told *outer;
};
static _Thread_local const struct told *innermost;

static void told_begin(struct told *told, const struct mp_events *events)
{
    *told = (struct told){events, innermost};
    innermost = told;
}

bool mp_events_telling(const struct mp_events *events)
{
    const struct told *t = innermost;
    while (t && t->events != events)
        t = t->outer;
    return t != NULL;
}

/* Those that a peer or a module can cause as often as it likes. */
#define COUNTED                                                                          \
    (MP_EVENT_BIT(MP_EVENT_LINE) | MP_EVENT_BIT(MP_EVENT_REMARK) |                       \
     MP_EVENT_BIT(MP_EVENT_LOGGED) | MP_EVENT_BIT(MP_EVENT_PROGRESS))

static void tell_dropped(struct mp_events *events)
{
    struct mp_log_kind k;
    char line[MP_LOG_RATE_TEXT + 64];

    while (mp_log_rate_over(&events->rate, &k)) {
        snprintf(line, sizeof line, "%llu more in %d s: %s", (unsigned long long)k.more,
                 MP_LOG_RATE_MS / 1000, k.text);
        events->log(events->log_arg, k.level, k.from, line);
    }
}

/* The one place where lines get to the log, and are kept from flooding it. */
static void tell_log(struct mp_events *events, const struct mp_event *event)
{
    char line[MP_LINE_ROOM];
    enum mp_log_verdict verdict = MP_LOG_PASS;

    if (!events->log || event->level > events->log_level)
        return;
    tell_dropped(events);
    for (unsigned n = 0; verdict != MP_LOG_DROP && mp_event_text(event, n, line); n++) {
        if (n == 0 && COUNTED & MP_EVENT_BIT(event->kind))
            verdict = mp_log_rate_count(&events->rate, event->source, (int)event->kind,
                                        event->like, event->level, line);
        if (verdict != MP_LOG_DROP)
            events->log(events->log_arg, event->level, event->source, line);
    }
    if (verdict == MP_LOG_LAST) {
        snprintf(line, sizeof line,
                 "more lines like this are counted, not logged, for %d s",
                 MP_LOG_RATE_MS / 1000);
        events->log(events->log_arg, event->level, event->source, line);
    }
}

static void tell(struct mp_events *events, struct mp_event_listener *l,
                 const struct mp_event *event)
{
    const struct mp_event_listener *still = NULL;
    uint64_t seq = l->seq;

    if (l->telling || event->level > l->level || !(l->kinds & MP_EVENT_BIT(event->kind)))
        return;
    l->telling = true;
    l->fn(l->arg, event);
    for (still = events->first; still && still != l;) /* its owner may have freed it */
        still = still->next;
    if (still && l->seq == seq)
        l->telling = false;
}

void mp_events_tell(struct mp_events *events, struct mp_event *event)
{
    struct mp_events_cursor at = {.next = events->first, .outer = events->cursors};
    uint64_t newest = events->seq;
    struct timespec now;
    struct told told;

    clock_gettime(CLOCK_REALTIME, &now);
    event->time_ms = (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
    told_begin(&told, events);
    tell_log(events, event);
    events->cursors = &at;
    while (at.next && at.next->seq <= newest) {
        struct mp_event_listener *l = at.next;
        at.next = l->next;
        tell(events, l, event);
    }
    events->cursors = at.outer;
    innermost = told.outer;
}

/* ---- lines ---- */

static void tell_line(struct mp_events *events, int level, const char *source,
                      const char *fmt, va_list ap, bool to_all)
{
    struct mp_event event = {
        .kind = MP_EVENT_LINE, .level = level, .source = source, .like = fmt};
    char room[MP_LINE_MAX];
    int wanted = vsnprintf(room, sizeof room, fmt, ap);
    size_t len = strlen(room);

    event.text.data = room;
    event.text.len = len;
    event.text.cut = wanted > 0 && (size_t)wanted > len ? (size_t)wanted - len : 0;
    if (to_all) {
        mp_events_tell(events, &event);
    } else {
        struct told told;
        told_begin(&told, events);
        tell_log(events, &event);
        innermost = told.outer;
    }
}

void mp_logv(struct mp_events *events, int level, const char *source, const char *fmt,
             va_list ap)
{
    if (mp_events_want(events, MP_EVENT_LINE, level))
        tell_line(events, level, source, fmt, ap, true);
}

void mp_log(struct mp_events *events, int level, const char *source, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    mp_logv(events, level, source, fmt, ap);
    va_end(ap);
}

void mp_logv_any(struct mp_events *events, int level, const char *source, const char *fmt,
                 va_list ap)
{
    if (events->log && level <= events->log_level)
        tell_line(events, level, source, fmt, ap, false);
}

void mp_log_any(struct mp_events *events, int level, const char *source, const char *fmt,
                ...)
{
    va_list ap;

    va_start(ap, fmt);
    mp_logv_any(events, level, source, fmt, ap);
    va_end(ap);
}

/* ---- names ---- */

const char *mp_outcome_name(enum mp_outcome outcome)
{
    static const char *const names[MP_OUTCOMES] = {
        "ok", "tool_error", "peer_error", "transport_error", "timed_out", "cancelled"};
    return names[outcome];
}

const char *mp_event_server(const struct mp_event *event)
{
    return strncmp(event->source, "mcp:", 4) == 0 ? event->source + 4 : NULL;
}
