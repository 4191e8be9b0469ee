/* What happens in a host, as one stream: calls, states, frames, remarks, log lines. Those
 * who want to know are listeners; the log function of the program is one of them, and its
 * lines are made from events (event_text.c). An event is built only if a listener wants
 * it: ask mp_events_want() first, which costs a few instructions.
 *
 * Events are told on the loop's thread, while they happen: a listener must not call into
 * what it is told of. What is logged from other threads goes to the log alone. */
#ifndef MP_BASE_EVENT_H
#define MP_BASE_EVENT_H

#include "base/log_rate.h"

#include <mcplug/types.h>

#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#define MP_LINE_MAX 4096                /* bytes of a log line, .. */
#define MP_LINE_ROOM (MP_LINE_MAX + 64) /* .. with how much was cut off, and the NUL */

enum mp_event_kind {
    MP_EVENT_CALL,     /* call: it is made */
    MP_EVENT_SENT,     /* call: it goes to the server, each time that it does */
    MP_EVENT_RUNNING,  /* call: still, every 30 s */
    MP_EVENT_PROGRESS, /* progress: of a call */
    MP_EVENT_RETURNED, /* call: it is back from the server, and may be sent once more */
    MP_EVENT_ENDED,    /* call: as it is in the ledger of its server */
    MP_EVENT_STATE,    /* state: of a server that is kept up */
    MP_EVENT_STARTED,  /* started: an attempt to start a server is over */
    MP_EVENT_DROPPED,  /* dropped: a connection that was up */
    MP_EVENT_FRAME,    /* frame: one message, to or from a server */
    MP_EVENT_REMARK,   /* text: a line that a server wrote to stderr */
    MP_EVENT_LOGGED,   /* text: the params of notifications/message */
    MP_EVENT_LINE,     /* text: of nothing that has a kind of its own */
    MP_EVENT_KINDS
};

#define MP_EVENT_BIT(kind) (1u << (kind))
#define MP_EVENT_ALL (MP_EVENT_BIT(MP_EVENT_KINDS) - 1)

/* How a call ended. */
enum mp_outcome {
    MP_OK,
    MP_TOOL_ERROR,
    MP_PEER_ERROR,
    MP_TRANSPORT_ERROR,
    MP_TIMED_OUT,
    MP_CANCELLED,
    MP_OUTCOMES
};

struct mp_event_call {
    uint64_t id; /* of the host, used once; 0: a request of the core's own */
    const char *method;
    const char *tool;     /* NULL: it is no tools/call */
    uint64_t queued_ms;   /* until it was sent (last) */
    uint64_t latency_ms;  /* since it was made */
    uint64_t result_size; /* bytes of JSON */
    /* Of those that have ended or returned: */
    enum mp_outcome outcome;
    const struct mcplug_error *why; /* NULL: there is a result */
    const char *failure;            /* MP_TOOL_ERROR: its words */
    bool refused; /* when it was made, by an error that its maker got; in no ledger */
};

struct mp_event {
    enum mp_event_kind kind;
    int level;          /* MCPLUG_LOG_* */
    uint64_t time_ms;   /* since the epoch */
    const char *source; /* "mcp:NAME", "plugin:NAME", "core", "config" */
    const void *like;   /* of a line: its format */
    union {
        struct mp_event_call call;
        struct {
            uint64_t id;
            const char *method, *tool;
            double done, total;  /* `total` < 0: not known */
            const char *message; /* NULL: none */
        } progress;
        struct {
            int state;                      /* enum mcplug_state */
            const struct mcplug_error *why; /* NULL: all is well */
            uint64_t next_ms;               /* WAITING: until the next attempt */
            unsigned failures;              /* in a row */
            uint64_t starts;
        } state;
        struct {
            const struct mcplug_error *why; /* NULL: it is ready */
            uint64_t ms;
            size_t tools;
            const char *revision;
        } started;
        struct {
            const struct mcplug_error *why;
            const char *transport;
            uint64_t up_ms;
        } dropped;
        struct {
            const char *text;
            size_t len;
            bool sent;      /* else it came */
            bool truncated; /* strings of it are in a file, and not here */
        } frame;
        struct {
            const char *data;
            size_t len;
            size_t cut; /* bytes of it that are not here */
        } text;
    };
};

/* Lives inside its owner. */
struct mp_event_listener {
    unsigned kinds; /* of MP_EVENT_BIT() */
    int level;      /* the most verbose one wanted */
    void (*fn)(void *arg, const struct mp_event *event);
    void *arg;
    /* our own */
    struct mp_event_listener *next;
    uint64_t seq;
    bool telling;
};

struct mp_events_cursor;

struct mp_events {
    atomic_uint wanted[MCPLUG_LOG_TRACE + 1]; /* kinds, for each level */
    struct mp_event_listener *first;
    struct mp_events_cursor *cursors;
    uint64_t seq;
    /* The log: fixed as long as the stream lives, and called in any thread. */
    void (*log)(void *arg, int level, const char *source, const char *text);
    void *log_arg;
    int log_level;
    struct mp_log_rate rate; /* last: most of it is not used, nor touched */
};

/* `log` NULL: no log. Zeroed, it is a stream without one. */
void mp_events_init(struct mp_events *events,
                    void (*log)(void *arg, int level, const char *source,
                                const char *text),
                    void *arg, int level);
/* A listener hears what happens after it was added. Both may be called by a listener that
 * is being told; one is not told of what it causes itself meanwhile. */
void mp_events_add(struct mp_events *events, struct mp_event_listener *listener);
void mp_events_remove(struct mp_events *events, struct mp_event_listener *listener);

/* Is it worth building? [any] */
static inline bool mp_events_want(const struct mp_events *events, enum mp_event_kind kind,
                                  int level)
{
    return atomic_load_explicit(&events->wanted[level], memory_order_relaxed) >> kind & 1;
}

/* Tells all who want it, in the order in which they were added, the log first. The time
 * is filled in here. */
void mp_events_tell(struct mp_events *events, struct mp_event *event);
/* On this thread, is the log or a listener being told? [any] */
bool mp_events_telling(const struct mp_events *events);

const char *mp_outcome_name(enum mp_outcome outcome);
/* The server that it is about, as its messages name it; NULL: none */
const char *mp_event_server(const struct mp_event *event);

/* ---- log lines ---- */

/* A line of its own. */
void mp_log(struct mp_events *events, int level, const char *source, const char *fmt, ...)
    MCPLUG_PRINTF(4, 5);
void mp_logv(struct mp_events *events, int level, const char *source, const char *fmt,
             va_list ap);
/* The same for the log alone, and in any thread. [any] */
void mp_log_any(struct mp_events *events, int level, const char *source, const char *fmt,
                ...) MCPLUG_PRINTF(4, 5);
void mp_logv_any(struct mp_events *events, int level, const char *source, const char *fmt,
                 va_list ap);

/* ---- event_text.c ---- */

/* The kinds that have a text at all. */
extern const unsigned mp_event_texts;
/* Line number `n` of the text for people, escaped, and with what was cut off at its end.
 * false: there are no more. [any] */
bool mp_event_text(const struct mp_event *event, unsigned n, char out[MP_LINE_ROOM]);

#endif
