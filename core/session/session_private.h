/* The inside of a session, for core/session alone.
 *
 *   session.c   its life, its phases, what it is asked of itself
 *   connect.c   eras: server/discover or initialize, and the way to find out
 *   identity.c  what the server says of itself
 *   frame.c     the text of what is sent
 *   request.c   calls: time-outs, cancelling, progress, rounds of questions
 *   task.c      results that come later (the tasks extension)
 *   inputs.c    the server's questions: elicitation, sampling, roots
 *   lists.c     tools, prompts, resources, templates: every page, kept while fresh
 *   mirror.c    what of a request goes beside it too: names, arguments as headers
 *   call_log.c  the events of calls, and pings while tools run
 *   notify.c    notifications of the server, and subscriptions
 *
 * All of it is [loop].
 */
#ifndef MP_SESSION_SESSION_PRIVATE_H
#define MP_SESSION_SESSION_PRIVATE_H

#include "session/session.h"

#define MP_MODERN "2026-07-28"
#define MP_LEGACY "2025-11-25" /* the newest revision with `initialize` */

enum {
    MP_INPUTS_MAX = 64,
    MP_FACTS_MAX = 32,
    MP_ROUNDS_MAX = 32,
    MP_TASK_CANCELS_MAX = 128,
    MP_LISTENERS_MAX = 4
};

/* What a connection is doing; changed by mp_session_enter() alone. */
enum mp_phase {
    MP_IDLE,
    MP_OPENING,      /* the transport connects */
    MP_PROBING,      /* server/discover is out */
    MP_INITIALIZING, /* initialize is out, perhaps beside server/discover */
    MP_READY,
    MP_FAILED, /* not connected, and not going to be */
    MP_CLOSING,
    MP_PHASES
};

/* One kept list. */
struct mp_kept {
    struct mcplug_list *list; /* NULL: none kept */
    uint64_t fresh_until;     /* UINT64_MAX: until it changes */
    bool ttl_told;            /* the server said for how long */
    struct mp_fetch *fetch;   /* under way */
    bool changed;             /* while it was being fetched */
};

/* Where the server is. */
struct mp_wire {
    const struct mp_offer *transport;
    mcplug_props *settings;
    mcplug_props *fallback_settings; /* the same for the other transport, once in use */
    uint64_t settings_hash;          /* what eras are remembered by */
};

/* What was tried until READY, or is being tried. */
struct mp_connecting {
    bool recalled;      /* the era is known from an earlier connection */
    bool respawned;     /* started once more, straight into initialize */
    bool starting_over; /* the link is closed to be opened again */
    bool fell_back;     /* to the other transport */
    bool asked_again;   /* server/discover, as the server proposed */
    struct mp_timer timer;
    struct mp_call discover, initialize;
    bool discovering, initializing; /* they are out */
    struct mp_timer patience;
    uint32_t patience_ms; /* from when the probe was read .. */
    bool probe_read;      /* .. which it was */
};

/* Connecting again after the server forgot the session, which is not reported. */
struct mp_renewal {
    bool under_way;
    unsigned in_a_row;
    uint64_t last_at; /* it began */
};

/* What we are and want, as frames say it. */
struct mp_client {
    char *log_level, *revision_wanted; /* of the options; NULL: none */
    char *greeting, *greeting_params;  /* likewise */
    char *caps;                        /* JSON object */
    char *meta; /* the members of `_meta` that every modern request has */
    size_t meta_len;
    struct mp_str scratch; /* frames are written here */
};

/* What the server offers. */
struct mp_lists {
    struct mp_kept kept[MP_KINDS];
    struct mp_fetch *telling; /* has come, and those who waited for it are called */
    struct mp_mirror *mirror; /* of the newest list of tools; NULL: none yet */
};

/* All requests of callers that are under way, as they were made. */
struct mp_calls {
    struct mp_request *first, **last;
    struct mp_timer beat; /* tools that run are logged */
    struct mp_timer keep_alive;
    unsigned task_cancels; /* tasks/cancel that are not answered yet */
};

/* The server's questions that are open. */
struct mp_inputs {
    struct mcplug_input *first;
    unsigned count;
};

/* Changes that the server reports. */
struct mp_listening {
    struct mp_listener *newest; /* subscription */
    struct mp_timer timer;      /* to take it up again */
    unsigned lost_in_a_row;
    bool lost;             /* one was lost, and none has replaced it yet */
    unsigned lists_before; /* what was kept when it was lost */
    struct mp_uris uris;   /* resources subscribed to */
};

/* How the end of connecting is reported, once. */
struct mp_ready {
    void (*fn)(void *arg, struct mp_session *s, const struct mcplug_error *why);
    void *arg;
    struct mp_job job;
    bool settled; /* it is known, and `job` reports it */
    bool called;  /* it has been reported */
};

/* How the end of closing is reported. */
struct mp_closed {
    struct mcplug_ledger *sum;
    void (*fn)(void *arg);
    void *arg;
    struct mp_job job;
};

struct mp_session {
    struct mp_session_config cfg;
    struct mp_session_options o; /* without its strings, which `client` has */
    char *name, *source;         /* in messages; in the log */
    struct mp_identity *id;      /* borrow; outlives us */
    struct mp_rpc *rpc;
    enum mp_phase phase;
    enum mp_era era;
    uint64_t opened_at;
    struct mcplug_error failure; /* the best reason so far for not connecting */

    struct mp_wire wire;             /* session.c */
    struct mp_ready ready;           /* session.c */
    struct mp_closed closed;         /* session.c */
    struct mp_connecting connecting; /* connect.c */
    struct mp_renewal renewal;       /* connect.c */
    struct mp_client client;         /* frame.c */
    struct mp_calls calls;           /* request.c, call_log.c */
    struct mp_inputs inputs;         /* inputs.c */
    struct mp_lists lists;           /* lists.c, mirror.c */
    struct mp_listening listening;   /* notify.c */
};

/* ---- session.c ---- */

/* The next phase, with all that it starts and stops. A session that is closing stays so:
 * callbacks of the program, those for log lines too, may close it at any time. */
void mp_session_enter(struct mp_session *s, enum mp_phase phase);
/* Adds to a time-out why the transport holds messages back, if it does. */
void mp_session_add_delay(const struct mp_session *s, struct mcplug_error *err);
/* Connecting has come to an end, well or not. */
void mp_session_ready(struct mp_session *s, const struct mcplug_error *why);

/* ---- connect.c ---- */

int mp_connect_start(struct mp_session *s, struct mcplug_error *err);
void mp_connect_opened(struct mp_session *s);
/* The link went while connecting: true when it is being tried once more. */
bool mp_connect_retry(struct mp_session *s, const struct mcplug_error *why);
/* The server has forgotten a session that was ready: true when it gets a new one. */
bool mp_connect_renew(struct mp_session *s, const struct mcplug_error *why);

/* ---- frame.c ---- */

enum { MP_HEADERS_MAX = 64 }; /* arguments of one tool that go beside a request */

struct mp_frame_parts {
    const char *method;
    const char *name;       /* what it is about, for the envelope; NULL: nothing */
    enum mp_era era;        /* of the frame; MP_ERA_UNKNOWN: that of the session */
    mp_view members;        /* of params, as text without the braces, or empty */
    mp_view meta, own_meta; /* objects of the caller's, or empty */
    const char *log_level;
    bool progress;   /* ask for progress, token = id */
    mp_view answers; /* inputResponses object, or empty */
    mp_view state;   /* requestState, a string with its quotes, or empty */
    const struct mcplug_pair *headers; /* further pairs of the envelope */
    size_t n_headers;                  /* MP_HEADERS_MAX at most */
};
/* Writes a request and sends it. `timeout_ms` 0: none. On failure nothing follows. */
int mp_frame_send(struct mp_session *s, struct mp_call *call,
                  const struct mp_frame_parts *parts, uint64_t timeout_ms,
                  struct mcplug_error *err);
/* Makes members of an object of params, all but a `_meta`, which comes out apart. */
bool mp_frame_members(mp_view params, struct mp_str *members, mp_view *meta);
/* Answers a request of the server's: with `result`, or if that is empty, with an error.
 * A failure is logged. */
void mp_frame_answer(struct mp_session *s, mp_view id, uint64_t exchange, mp_view result,
                     int code, const char *message);
/* Writes and sends a notification; `params` is an object, or empty. */
int mp_frame_notify(struct mp_session *s, const char *method, mp_view params,
                    struct mcplug_error *err);
/* Line ends, which in checked JSON are only white space, become blanks: a frame is one
 * line. */
void mp_frame_flatten(char *text, size_t len);
/* Once per session: what the client is and can do. */
int mp_frame_client(struct mp_session *s, struct mcplug_error *err);
void mp_frame_add_client(const struct mp_session *s, struct mp_str *out); /* its name */

/* ---- request.c ---- */

void mp_request_unpark(struct mp_session *s); /* sends those that waited for a session */
/* A request of our own whose failure is only worth a log line. */
int mp_request_background(struct mp_session *s, const char *method, mp_view members,
                          const char *name, struct mcplug_error *err);
/* For rounds: the answers to the questions of a result are complete. */
void mp_request_answered(struct mp_request *call);
int mp_request_wait_for_answers(struct mp_request *call, struct mcplug_error *err);
/* Sends one request on behalf of the call: the next round, or one about its task.
 * `done` gets MP_OF(rpc, struct mp_request, rpc), with in_round reset by itself. */
int mp_request_send_round(struct mp_request *call, struct mcplug_error *err);
int mp_request_send(struct mp_request *call, const struct mp_frame_parts *parts,
                    enum mp_outcome (*done)(struct mp_call *, mp_message *,
                                            const struct mcplug_error *),
                    struct mcplug_error *err);
/* Ends it with that reply (borrow), or that error. */
void mp_request_finish(struct mp_request *call, mp_message *reply,
                       const struct mcplug_error *why);

/* ---- task.c ---- */

/* The result says that it comes later. Takes the call over; true when it did. */
bool mp_task_begin(struct mp_request *call, mp_message *m, struct mcplug_error *why);
void mp_task_answered(struct mp_request *call);
void mp_task_cancel(struct mp_request *call); /* tells the server; no task is fine */
void mp_task_free(struct mp_request *call);

/* ---- inputs.c ---- */

/* A request of the server's. */
void mp_inputs_request(struct mp_session *s, mp_message *m);
void mp_inputs_cancelled(struct mp_session *s, mp_message *m);
/* Puts the questions of an input_required result (or of a task) to the handlers. */
int mp_inputs_ask(struct mp_request *call, mp_view questions, struct mcplug_error *err);
/* Goes on with the call when nothing is open any more. */
void mp_inputs_settle(struct mp_request *call);
void mp_inputs_forget_call(struct mp_request *call);
void mp_inputs_forget_all(struct mp_session *s);

/* ---- lists.c ---- */

/* mp_lists_get(), but from the server: what is kept counts no more. A fetch that is on
 * its way to it already is joined. */
int mp_lists_refetch(struct mp_session *s, enum mcplug_kind kind, mp_list_fn *done,
                     void *arg, struct mcplug_error *err);
void mp_lists_changed(struct mp_session *s, unsigned kinds);
void mp_lists_unwatched(struct mp_session *s); /* changes are not notified any more */
void mp_lists_clear(struct mp_session *s);

/* ---- mirror.c ---- */

#define MP_PARAM "param:" /* begins the name of a pair that is an argument */

/* Does this session's transport send arguments as headers? */
bool mp_mirror_wanted(const struct mp_session *s);
/* give; for the tools of a list that is being fetched. NULL: no memory. */
struct mp_mirror *mp_mirror_new(void);
/* Looks at one of them and notes its headers. A tool that must not be used is logged, and
 * not `valid`. MCPLUG_ENOMEM */
int mp_mirror_note(struct mp_session *s, struct mp_mirror *table, const char *name,
                   mp_view tool, bool *valid, struct mcplug_error *err);
/* The list is complete: what was known before is replaced. take; NULL changes nothing. */
void mp_mirror_adopt(struct mp_session *s, struct mp_mirror *table);
void mp_mirror_free(struct mp_mirror *table);
/* The arguments of a call of that tool that go beside it, MP_HEADERS_MAX at most. Names
 * are the table's, values lie in `values`, which the caller clears, also on failure.
 * MCPLUG_ETOOBIG, MCPLUG_ENOMEM */
int mp_mirror_pairs(const struct mp_request *call, const char *name,
                    struct mp_str *values, struct mcplug_pair *pairs, size_t *n,
                    struct mcplug_error *err);
/* The name or URI that a request of that method is about, give; not written when it has
 * none. `members` are those of params, without the braces. MCPLUG_ENOMEM */
int mp_mirror_name(const char *method, mp_view members, char **out,
                   struct mcplug_error *err);
/* The server refused a call. Was it for its headers, the tools are fetched, and it goes
 * out once more. Takes the call over; true when it did. */
bool mp_mirror_again(struct mp_request *call, mp_message *reply,
                     const struct mcplug_error *why);
void mp_mirror_forget_call(struct mp_request *call);

/* ---- call_log.c ---- */

#define MP_BEAT_MS 30000 /* between log lines about a tool that runs */

void mp_call_log_began(struct mp_request *call); /* after it has been sent */
/* Tells it, if a listener wants it; the result is for those that returned. */
void mp_call_log(const struct mp_request *call, enum mp_event_kind kind,
                 const mp_message *reply, const struct mcplug_error *why);
static inline bool mp_call_log_wants_progress(const struct mp_request *call)
{
    return call->o.progress || call->o.progress_json;
}
/* To listeners, then to the caller, who wants it. `params` are those of a notification;
 * empty: it came in another way. */
void mp_call_log_progress(struct mp_request *call, double done, double total,
                          const char *message, mp_view params);

/* ---- identity.c ---- */

int mp_identity_take(struct mp_identity *id, mp_message *m, mp_view info,
                     struct mcplug_error *err);
/* It is about to be reached anew, perhaps elsewhere: the facts so far go once it has
 * answered, unless they are told again. */
void mp_identity_renew(struct mp_identity *id);
/* A fact for people: without memory, or above MP_FACTS_MAX, it is not kept. */
void mp_identity_describe(struct mp_identity *id, const char *name, const char *value);

/* ---- notify.c ---- */

void mp_notify(struct mp_session *s, mp_message *m);
void mp_notify_start(struct mp_session *s); /* connected: log level, subscriptions */
/* Begins a request that has a `uri`. */
int mp_notify_begin(struct mp_request *call, struct mcplug_error *err);
/* The lists that are kept, fresh or not, as `changed` names them: templates are
 * resources. */
unsigned mp_notify_kept(const struct mp_session *s);
/* Calls `changed` for these, without a notification of the server. */
void mp_notify_lists(struct mp_session *s, unsigned kinds);

#endif
