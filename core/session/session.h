/* A session: MCP with one server, in whichever revision that server speaks. This is what
 * the layers above use of it; how it is made is in session_private.h. All of it is
 * [loop]. */
#ifndef MP_SESSION_SESSION_H
#define MP_SESSION_SESSION_H

#include "rpc/rpc.h"

#include <mcplug/mcplug.h>

#include <stdatomic.h>

#define MP_REQUEST_MS 60000            /* for each request but tools/call */
#define MP_FRAME_MAX ((size_t)1 << 30) /* of what we send */

enum { MP_KINDS = 4 }; /* of lists */

struct mp_session;
/* A question of the server's; see mcplug_input_fn. */
typedef void mp_input_fn(void *arg, struct mp_session *s, mcplug_input *input,
                         const char *params, size_t len);

/* MP_ERA_OLDEST is for the memory alone: legacy, by the transport to fall back on. */
enum mp_era { MP_ERA_UNKNOWN, MP_ERA_MODERN, MP_ERA_LEGACY, MP_ERA_OLDEST };

struct mp_fact {
    struct mp_fact *next;
    char *value;
    bool is_old; /* of the connection before */
    char name[];
};

/* What a server last said of itself, and the facts of its transport. It outlives the
 * session, so that it is known while the server is down. */
struct mp_identity {
    char revision[16];                        /* "": not known */
    char *info, *capabilities, *instructions; /* NULL: not known */
    struct mp_fact *facts;
    unsigned n_facts;
};

struct mp_session_options {
    uint32_t timeout_ms; /* to connect */
    uint64_t spent_ms;   /* of that, to find out where the server is */
    uint32_t request_ms; /* for each request but tools/call; 0: MP_REQUEST_MS */
    uint64_t tool_ms;    /* for tools/call */
    uint64_t max_memory; /* of one message; 0: 16 MiB */
    uint64_t max_spill;  /* of one message; 0: 4 GiB */
    const char *log_level, *revision;
    uint32_t keep_alive_ms;
    const struct mcplug_pair *facts; /* known before it is reached */
    size_t n_facts;
    const char *greeting; /* a notification once it is up; NULL: none */
    const char *greeting_params;
    void *arg; /* for all of the following */
    mp_input_fn *elicit, *elicit_url, *sample, *roots;
    void (*changed)(void *arg, struct mp_session *s, int kind, const char *uri);
    void (*logged)(void *arg, struct mp_session *s, const char *params, size_t len);
    void (*remark)(void *arg, struct mp_session *s, const char *line, size_t len);
    /* The connection was lost: called once, after every request under way has ended. Not
     * called after mp_session_close(). */
    void (*dropped)(void *arg, struct mp_session *s, const struct mcplug_error *why);
};

/* What is left of the time to connect. */
static inline uint64_t mp_session_connect_ms(const struct mp_session_options *o)
{
    return o->timeout_ms > o->spent_ms ? o->timeout_ms - o->spent_ms : 1;
}

struct mp_uris {
    char **all;
    size_t n;
};
bool mp_uris_have(const struct mp_uris *uris, const char *uri);
/* Puts it in, or takes it out. MCPLUG_ENOMEM */
int mp_uris_set(struct mp_uris *uris, const char *uri, bool on, struct mcplug_error *err);
void mp_uris_clear(struct mp_uris *uris);
/* Hands all of them over to one that has none. */
void mp_uris_move(struct mp_uris *to, struct mp_uris *from);

struct mp_session_config { /* from the host; strings are borrow, as long as the host */
    struct mp_loop *loop;
    struct mp_events *log;
    const char *client_name, *client_version;
    const char *spill_dir;
    /* Remembers and recalls what era a server of these settings has. */
    enum mp_era (*recall)(void *arg, uint64_t settings_hash);
    void (*remember)(void *arg, uint64_t settings_hash, enum mp_era era);
    /* The transport for servers that the first one finds too old, by the name that it
     * has for that one, with `settings` checked for it (give). NULL: there is none. */
    int (*fallback)(void *arg, const char *next, const mcplug_props *settings,
                    const struct mp_offer **out, mcplug_props **checked,
                    struct mcplug_error *err);
    void *arg;
};

/* ---- session.c ---- */

/* give; starts connecting. `settings` and `options` are copied. */
int mp_session_open(const struct mp_session_config *cfg, const struct mp_offer *transport,
                    const mcplug_props *settings,
                    const struct mp_session_options *options, const char *name,
                    struct mp_identity *id,
                    void (*ready)(void *, struct mp_session *,
                                  const struct mcplug_error *),
                    void *ready_arg, struct mp_session **out, struct mcplug_error *err);
/* `sum`, which may be NULL, gets what was counted, just before `closed`. */
void mp_session_close(struct mp_session *s, struct mcplug_ledger *sum,
                      void (*closed)(void *arg), void *arg);
const char *mp_session_name(const struct mp_session *s);
const struct mp_identity *mp_session_identity(const struct mp_session *s);
const mcplug_props *mp_session_settings(const struct mp_session *s);
bool mp_session_is_modern(const struct mp_session *s);
const char *mp_session_transport(const struct mp_session *s);
/* Does a request wait for its answer? Pings do not count. */
bool mp_session_busy(const struct mp_session *s);
/* Has the connection ended? `dropped` may not have been called yet. */
bool mp_session_lost(const struct mp_session *s);
void mp_session_keep_alive(struct mp_session *s, uint32_t ms);
/* Requests on the wire so far, and lines that were not JSON. */
void mp_session_count(const struct mp_session *s, struct mcplug_ledger *sum);
struct mp_uris *mp_session_uris(struct mp_session *s); /* resources subscribed to */
/* Since the last byte of the server came in, or it was opened. */
uint64_t mp_session_silent_ms(const struct mp_session *s);
/* Does the server have it: "tools", "tools/listChanged"? */
bool mp_session_can(const struct mp_session *s, const char *path);

/* ---- frame.c ---- */

/* Takes white space off the ends of what a caller gave, and checks that it is one JSON
 * object. `what` begins the message. MCPLUG_EINVAL */
int mp_frame_object(mp_view *text, const char *what, struct mcplug_error *err);

/* ---- request.c ---- */

struct mp_request;

/* What is asked. */
struct mp_ask {
    const char *method, *tool; /* `tool`: it is tools/call, and `params` the arguments */
    size_t tool_len;
    mp_view params;
    struct mcplug_call_options o; /* strings are borrow */
    uint64_t timeout_ms, now;     /* the latter of the loop */
    mcplug_done_fn *done;
    void *arg;
};

/* A request lives in a block of its owner's, with mp_request_room() bytes for its texts.
 * `done` ends it; the owner clears it then, or begins it once more when it never
 * was written. Clears itself on failure. */
size_t mp_request_room(const struct mp_ask *ask);
int mp_request_init(struct mp_request *call, char *room, const struct mp_ask *ask,
                    struct mcplug_error *err);
int mp_request_begin(struct mp_request *call, struct mp_session *s,
                     struct mcplug_error *err);
void mp_request_clear(struct mp_request *call); /* not the block */
void mp_request_cancel(struct mp_request *call);
/* MCPLUG_EINVAL: `done` is NULL. */
int mp_request_check(bool has_done, struct mcplug_error *err);
/* Has the server seen it, or part of it, or may it have? */
bool mp_request_was_written(const struct mp_request *call);

/* Of a failure: MCPLUG_ERROR_*. */
uint32_t mp_request_flags(const struct mp_request *call, const struct mcplug_error *why);
/* Of a failure of what has no effects. */
uint32_t mp_error_retry(const struct mcplug_error *why);

/* What it counts as, and what an event says of its result. */
enum mp_outcome mp_request_outcome(const struct mp_request *call,
                                   const struct mcplug_error *why);
void mp_request_result(const struct mp_request *call, const mp_message *reply,
                       const struct mcplug_error *why, struct mp_event_call *out);

/* What a program holds: a request of a session, or anything else that can be cancelled.
 * It is the first thing in its block, which goes with the last reference. Its owner has
 * one until it has ended, and clears everything else before it drops that. */
struct mcplug_call {
    void (*cancel)(struct mcplug_call *call); /* NULL: it has ended */
    struct mcplug_call *shown; /* what the program has instead; NULL: this one */
    struct mp_loop *loop;      /* of what a program holds */
    atomic_uint refs;
};

struct mp_request {
    /* Whose block it is may read these, and sets `cancel`, `loop`, `arg`, `number`,
     * `pings`, `uri` and `subscribes`. */
    struct mcplug_call base;
    mcplug_done_fn *done;
    void *arg;
    const char *method, *tool; /* of the block, as those below */
    uint64_t timeout_ms, deadline, began_at;
    uint64_t number;    /* for events; 0: of our own */
    uint64_t queued_ms; /* from when it was made until it was sent last */
    bool pings;         /* any answer is a success */
    /* resources/subscribe or resources/unsubscribe, whose answer in 2026-07-28 is the
     * acknowledgement of subscriptions/listen; NULL: another request */
    const char *uri;
    bool subscribes;  /* to that */
    bool tool_failed; /* its result says so */

    /* The rest is for core/session alone. */
    bool in_round;
    struct mp_call rpc;         /* the round under way */
    struct mp_session *session; /* NULL: not sent yet */
    struct mp_request *next, **prev;
    struct mcplug_call_options o; /* strings are below */
    const char *members;          /* of params, without a `_meta` */
    size_t members_len;
    char *long_members; /* these, when they are not in the block */
    char *name;         /* what it is about, for the envelope; NULL: `tool`, or nothing */
    const char *meta, *log_level;
    char *own_meta;
    uint64_t beats;         /* how often it was logged as running still */
    bool reached;           /* an earlier round of it did reach the server */
    bool is_parked;         /* waits for a session to be renewed */
    bool resent;            /* was refused for its session, and goes to the next one */
    bool refetched;         /* the tools, because its headers were refused */
    bool listens;           /* waits for that acknowledgement */
    struct mp_again *again; /* waits for them */

    /* questions and their answers */
    unsigned rounds, open_inputs;
    bool asking, refused;
    char *refusal;
    struct mp_str answers; /* inputResponses */
    char *state;           /* requestState, with quotes */
    struct mp_task *task;
    struct mp_timer patience; /* while no request of it is under way */
    struct mp_job cancel_job, settle_job;
};

/* ---- inputs.c ---- */

/* Whom the question is for: a pointer of the layer above, which is not read here. */
void mp_input_own(mcplug_input *in, void *owner);
/* MCPLUG_EINVAL: `function`, which is public, was called on a wrong thread; logged. */
int mp_input_check(const mcplug_input *in, const char *function);
void *
mp_input_owner(const mcplug_input *in); /* NULL: the answer is not wanted any more */
/* The request that it belongs to, as the wire says: it came in its result, or on its
 * exchange. NULL: not known, over by now, or one of our own. */
struct mp_request *mp_input_request(const mcplug_input *in);
/* Questions of one owner belong to another from now on. */
void mp_inputs_pass_on(struct mp_session *s, const void *owner, void *next);

/* ---- lists.c ---- */

typedef void mp_list_fn(void *arg, mcplug_list *list, const struct mcplug_error *why);
int mp_lists_get(struct mp_session *s, enum mcplug_kind kind, mp_list_fn *done, void *arg,
                 struct mcplug_error *err);
/* Whoever asked with that `arg` does not wait any more, and is not called. A fetch that
 * nobody is left to wait for is cancelled. */
void mp_lists_leave(struct mp_session *s, const void *arg);
const char *mp_lists_method(enum mcplug_kind kind); /* "tools/list" */
/* For how long the list that was fetched last may still be used, after its server's word:
 * 0 when it is old already. false: the server said nothing of it, or there is no list. */
bool mp_lists_ttl(const struct mp_session *s, enum mcplug_kind kind, uint64_t *ms);
/* A list that was kept: an array that a scan has passed. give; NULL: no memory */
mcplug_list *mp_list_read(enum mcplug_kind kind, mp_view array);
/* Those items whose names `keep` wants. give; NULL: no memory */
mcplug_list *mp_list_subset(mcplug_list *list, bool (*keep)(void *arg, const char *name),
                            void *arg);

/* ---- identity.c ---- */

const char *mp_identity_fact(const struct mp_identity *id, const char *name);
void mp_identity_clear(struct mp_identity *id);

/* ---- notify.c ---- */

int mp_notify_subscribe(struct mp_session *s, const char *uri, bool on,
                        struct mcplug_error *err);

#endif
