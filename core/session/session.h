/* A session: MCP with one server, in whichever revision that server speaks.
 *
 *   connect.c   eras: server/discover or initialize, and the way to find out
 *   identity.c  what the server says of itself
 *   frame.c     the text of what is sent
 *   request.c   calls: time-outs, cancelling, progress, rounds of questions
 *   task.c      results that come later (the tasks extension)
 *   inputs.c    the server's questions: elicitation, sampling, roots
 *   lists.c     tools, prompts, resources, templates: every page, kept while fresh
 *   mirror.c    what of a request goes beside it too: names, arguments as headers
 *   call_log.c  what the log says of tools that run, and the pings meanwhile
 *   notify.c    what the server tells unasked, and subscriptions
 *
 * All of it is [loop].
 */
#ifndef MP_SESSION_SESSION_H
#define MP_SESSION_SESSION_H

#include "rpc/rpc.h"

#include <mcplug/mcplug.h>

#define MP_MODERN "2026-07-28"
#define MP_LEGACY "2025-11-25" /* the newest revision with `initialize` */

#define MP_FORMER_MAX 24    /* texts that a server said of itself in sessions before */
#define MP_REQUEST_MS 60000 /* for each request but tools/call */
#define MP_FRAME_MAX ((size_t)1 << 30) /* of what we send */

enum { MP_KINDS = 4, MP_INPUTS_MAX = 64, MP_FACTS_MAX = 32, MP_ROUNDS_MAX = 32 };

/* MP_ERA_OLDEST is for the memory alone: legacy, by the transport to fall back on. */
enum mp_era { MP_ERA_UNKNOWN, MP_ERA_MODERN, MP_ERA_LEGACY, MP_ERA_OLDEST };

enum mp_phase {
    MP_IDLE,
    MP_OPENING,      /* the transport connects */
    MP_PROBING,      /* server/discover is out */
    MP_INITIALIZING, /* initialize is out, perhaps beside server/discover */
    MP_FETCHING,     /* connected; the lists asked for are on their way */
    MP_READY,
    MP_FAILED,
    MP_CLOSING
};

/* One kept list. */
struct mp_kept {
    struct mcplug_list *list; /* NULL: none kept */
    uint64_t fresh_until;     /* UINT64_MAX: until it changes */
    bool ttl_told;            /* the server said for how long */
    struct mp_fetch *fetch;   /* under way */
    bool changed;             /* while it was being fetched */
};

struct mp_fact {
    struct mp_fact *next;
    char *value; /* in the same block, behind the name */
    char name[];
};

struct mp_uris {
    char **all;
    size_t n;
};
void mp_uris_clear(struct mp_uris *uris);

struct mp_session_config { /* from the host; strings are borrow, as long as the host */
    struct mp_loop *loop;
    const struct mp_log *log;
    const char *client_name, *client_version;
    const char *spill_dir;
    /* Remembers and recalls what era a server of these settings has. */
    enum mp_era (*recall)(void *arg, uint64_t settings_hash);
    void (*remember)(void *arg, uint64_t settings_hash, enum mp_era era);
    /* The transport for servers that the first one finds too old, with `settings`
     * checked for it (give). NULL: there is no other. */
    int (*fallback)(void *arg, const mcplug_props *settings, const struct mp_offer **out,
                    mcplug_props **checked, struct mcplug_error *err);
    /* The last that is heard of a session. */
    void (*gone)(void *arg, mcplug_server *s);
    void *arg;
};

struct mcplug_server {
    struct mp_session_config cfg;
    struct mcplug_server_options o; /* strings in it are ours or NULL */
    char *name, *source, *log_level, *revision_wanted;
    const struct mp_offer *transport;
    mcplug_props *settings;
    mcplug_props *fallback_settings; /* the same for the other transport */
    uint64_t settings_hash;

    struct mp_rpc *rpc;
    enum mp_phase phase;
    enum mp_era era;
    bool recalled;       /* the era is known from an earlier connection */
    bool respawned;      /* started once more, straight into initialize */
    bool starting_over;  /* the link is closed to be opened again */
    bool fell_back;      /* to the other transport */
    bool asked_again;    /* server/discover, as the server proposed */
    bool renewing;       /* connecting again, which nobody outside needs to know */
    unsigned renewals;   /* in a row */
    uint64_t renewed_at; /* the last time */
    uint64_t opened_at;
    struct mp_timer connect_timer, patience;
    uint32_t patience_ms; /* from when the probe was read .. */
    bool probe_read;      /* .. which it was */
    struct mp_call discover, initialize;
    bool discovering, initializing;
    struct mcplug_error failure; /* the best reason so far for not connecting */
    unsigned prefetching;

    char revision[16];
    char *info, *capabilities, *instructions;
    char *former[MP_FORMER_MAX]; /* what these were; whoever has them may use them */
    size_t n_former, former_bytes;
    char *meta; /* the members of `_meta` that every modern request has */
    size_t meta_len;
    struct mp_str scratch; /* frames are written here */
    char *client_caps;     /* JSON object */
    struct mp_fact *facts;
    unsigned n_facts;

    struct mp_kept kept[MP_KINDS];
    struct mp_mirror *mirror; /* of the newest list of tools; NULL: none yet */
    struct mp_request *calls, **last_call; /* all under way, as they were made */
    struct mp_timer beat;                  /* tools that run are told of */
    struct mp_timer keep_alive;
    struct mcplug_input *inputs; /* all open */
    unsigned n_inputs;
    struct mp_listener *listener; /* the newest subscription */
    struct mp_timer listen_timer; /* to take it up again */
    unsigned listens_lost;        /* in a row */
    bool listen_lost;             /* one was lost, and no other stands yet */
    unsigned lists_before;        /* what was kept when it was lost */
    struct mp_uris uris;          /* resources subscribed to */

    void (*ready)(void *arg, mcplug_server *server, const struct mcplug_error *why);
    void *ready_arg;
    struct mp_job ready_job;
    bool ready_told;   /* settled; the embedder hears of it */
    bool ready_called; /* he has */
    void (*closed)(void *arg);
    void *closed_arg;
    struct mp_job closed_job;
    mcplug_server *next, **prev; /* in the host's list */
    bool is_kept;                /* by the registry, which alone closes it */
};

/* ---- session.c ---- */

/* give; starts connecting. `settings` and `options` are copied. */
int mp_session_open(const struct mp_session_config *cfg, const struct mp_offer *transport,
                    const mcplug_props *settings,
                    const struct mcplug_server_options *options, const char *name,
                    void (*ready)(void *, mcplug_server *, const struct mcplug_error *),
                    void *ready_arg, mcplug_server **out, struct mcplug_error *err);
void mp_session_close(mcplug_server *s, void (*closed)(void *arg), void *arg);
/* Connecting has come to an end, well or not. */
void mp_session_ready(mcplug_server *s, const struct mcplug_error *why);
const char *mp_session_fact(const mcplug_server *s, const char *name);
/* Since the last byte of the server came in, or it was opened. */
uint64_t mp_session_silent_ms(const mcplug_server *s);
/* Does the server have it: "tools", "tools/listChanged"? */
bool mp_session_can(const mcplug_server *s, const char *path);

/* ---- connect.c ---- */

int mp_connect_start(mcplug_server *s, struct mcplug_error *err);
void mp_connect_opened(mcplug_server *s);
/* The link went while connecting: true when it is being tried once more. */
bool mp_connect_retry(mcplug_server *s, const struct mcplug_error *why);
/* The server has forgotten a session that was ready: true when it gets a new one. */
bool mp_connect_renew(mcplug_server *s, const struct mcplug_error *why);

/* ---- frame.c ---- */

struct mp_frame_parts {
    const char *method;
    mp_view members;        /* of params, as text without the braces, or empty */
    mp_view meta, own_meta; /* objects of the caller's, or empty */
    const char *log_level;
    bool progress;   /* ask for progress, token = id */
    mp_view answers; /* inputResponses object, or empty */
    mp_view state;   /* requestState, a string with its quotes, or empty */
};
/* give; NULL: no memory. In a modern session `_meta` gets what every request has. */
mcplug_buf *mp_frame_request(mcplug_server *s, uint64_t id,
                             const struct mp_frame_parts *parts);
/* Makes members of an object of params, all but a `_meta`, which comes out apart. */
bool mp_frame_members(mp_view params, struct mp_str *members, mp_view *meta);
mcplug_buf *mp_frame_notification(const char *method, mp_view params);
mcplug_buf *mp_frame_answer(mp_view id, mp_view result);
mcplug_buf *mp_frame_refusal(mp_view id, int code, const char *message);
/* Takes white space off the ends of what a caller gave, and checks that it is one JSON
 * object. `what` begins the message. MCPLUG_EINVAL */
int mp_frame_object(mp_view *text, const char *what, struct mcplug_error *err);
/* Line ends, which in checked JSON are only white space, become blanks: a frame is one
 * line. */
void mp_frame_flatten(char *text, size_t len);
int mp_frame_client_caps(mcplug_server *s, struct mcplug_error *err);
int mp_frame_meta(mcplug_server *s, struct mcplug_error *err);

/* ---- request.c ---- */

struct mp_request;
struct mp_request *mp_request_start(mcplug_server *s, const char *method, mp_view params,
                                    const char *tool, const struct mcplug_call_options *o,
                                    mcplug_done_fn *done, void *arg,
                                    struct mcplug_error *err);
void mp_request_cancel(struct mp_request *call);
/* MCPLUG_EINVAL: a call without a function that is told its end. */
int mp_request_check(bool has_done, struct mcplug_error *err);
/* 100000s, 250ms: in whole seconds where there are any. */
void mp_say_timeout(uint64_t ms, char *out, size_t size);
void mp_request_unpark(mcplug_server *s); /* sends those that waited for a session */
/* A request of our own whose failure is only worth a log line. */
int mp_request_background(mcplug_server *s, const char *method, mp_view members,
                          const char *name, struct mcplug_error *err);
/* Has the server seen it, or part of it, or may it have? */
bool mp_request_was_written(const struct mp_request *call);
/* For rounds: the answers to the questions of a result are complete, or one of them
 * was refused. */
void mp_request_answered(struct mp_request *call);
int mp_request_wait_for_answers(struct mp_request *call, struct mcplug_error *err);
void mp_request_refused(struct mp_request *call, const char *what);
/* Sends one request on behalf of the call: the next round, or one about its task.
 * `done` gets MP_OF(rpc, struct mp_request, rpc), with in_round reset by itself. */
int mp_request_send(struct mp_request *call, const struct mp_frame_parts *parts,
                    const char *name,
                    enum mp_outcome (*done)(struct mp_call *, mp_message *,
                                            const struct mcplug_error *),
                    struct mcplug_error *err);
/* Ends it with that reply (borrow), or that error. */
void mp_request_finish(struct mp_request *call, mp_message *reply,
                       const struct mcplug_error *why);

/* What a program holds: a request of a session, or whatever else can be cancelled. */
struct mcplug_call {
    void (*cancel)(struct mcplug_call *call);
};

struct mp_request {
    struct mcplug_call base;
    struct mp_call rpc; /* the round under way */
    bool in_round;
    mcplug_server *server;
    struct mp_request *next, **prev;
    mcplug_done_fn *done;
    void *arg;
    struct mcplug_call_options o; /* strings are below */
    const char *method, *tool;    /* behind this struct */
    char *members;                /* of params, without a `_meta` */
    size_t members_len;
    char *name; /* what it is about, for the envelope; NULL: `tool`, or nothing */
    char *meta, *own_meta, *log_level;
    uint64_t timeout_ms, deadline, began_at;
    uint64_t beats;         /* how often it was told to be running still */
    bool pings;             /* any answer is a success */
    bool reached;           /* an earlier round of it did reach the server */
    bool is_parked;         /* waits for a session to be renewed */
    bool refetched;         /* the tools, because its headers were refused */
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

/* ---- task.c ---- */

/* The result says that it comes later. Takes the call over; true when it did. */
bool mp_task_begin(struct mp_request *call, mp_message *m, struct mcplug_error *why);
void mp_task_answered(struct mp_request *call);
void mp_task_cancel(struct mp_request *call); /* tells the server; no task is fine */
void mp_task_free(struct mp_request *call);

/* ---- inputs.c ---- */

/* A request of the server's. */
void mp_inputs_request(mcplug_server *s, mp_message *m);
void mp_inputs_cancelled(mcplug_server *s, mp_message *m);
/* Puts the questions of an input_required result (or of a task) to the handlers. */
int mp_inputs_ask(struct mp_request *call, mp_view questions, struct mcplug_error *err);
/* Goes on with the call when nothing is open any more. */
void mp_inputs_settle(struct mp_request *call);
void mp_inputs_forget_call(struct mp_request *call);
void mp_inputs_forget_all(mcplug_server *s);

/* ---- lists.c ---- */

int mp_lists_get(mcplug_server *s, enum mcplug_kind kind, mcplug_list_fn *done, void *arg,
                 struct mcplug_error *err);
/* The same, but from the server: what is kept counts no more. A fetch that is on its
 * way to it already is joined. */
int mp_lists_refetch(mcplug_server *s, enum mcplug_kind kind, mcplug_list_fn *done,
                     void *arg, struct mcplug_error *err);
/* For how long the list that was fetched last may still be used, after its server's word:
 * 0 when it is old already. false: the server said nothing of it, or there is no list. */
bool mp_lists_ttl(const mcplug_server *s, enum mcplug_kind kind, uint64_t *ms);
/* A list that was kept: an array that a scan has passed. give; NULL: no memory */
mcplug_list *mp_list_read(enum mcplug_kind kind, mp_view array);
/* Those items whose names `keep` wants. give; NULL: no memory */
mcplug_list *mp_list_subset(mcplug_list *list, bool (*keep)(void *arg, const char *name),
                            void *arg);
void mp_lists_changed(mcplug_server *s, unsigned kinds);
void mp_lists_unwatched(mcplug_server *s); /* changes are not told any more */
void mp_lists_clear(mcplug_server *s);

/* ---- mirror.c ---- */

#define MP_PARAM "param:" /* begins the name of a pair that is an argument */

enum { MP_HEADERS_MAX = 64 }; /* of one tool */

/* Does this session's transport send arguments as headers? */
bool mp_mirror_wanted(const mcplug_server *s);
/* Finds every x-mcp-header of an inputSchema. `found` gets two C strings for each:
 * "param:NAME", and the names that lead to the argument, a JSON array. MCPLUG_EPROTO:
 * one is not as it must be, `err` says which and why. */
int mp_mirror_check(mp_view schema, struct mp_str *found, unsigned *n,
                    struct mcplug_error *err);
/* give; for the tools of a list that is being fetched. NULL: no memory. */
struct mp_mirror *mp_mirror_new(void);
/* Looks at one of them and notes its headers. A tool that must not be used is logged, and
 * not `valid`. MCPLUG_ENOMEM */
int mp_mirror_note(mcplug_server *s, struct mp_mirror *table, const char *name,
                   mp_view tool, bool *valid, struct mcplug_error *err);
/* The list is complete: what was known before is replaced. take; NULL changes nothing. */
void mp_mirror_adopt(mcplug_server *s, struct mp_mirror *table);
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

#define MP_BEAT_MS 30000 /* a tool that runs is told of that often */

/* 340ms, 12s, 2m 5s */
void mp_say_duration(uint64_t ms, char *out, size_t size);
void mp_call_log_began(struct mp_request *call); /* after it has been sent */
void mp_call_log_ended(const struct mp_request *call, const mp_message *reply,
                       const struct mcplug_error *why);
void mp_call_log_clear(mcplug_server *s);

/* ---- identity.c ---- */

/* What a server says of itself. What it said before, in a session that was renewed, stays
 * as long as the server: programs have it. MCPLUG_EPROTO: too many times. */
int mp_identity_take(mcplug_server *s, mp_message *m, mp_view info,
                     struct mcplug_error *err);
void mp_identity_clear(mcplug_server *s);

/* ---- notify.c ---- */

void mp_notify(mcplug_server *s, mp_message *m);
int mp_notify_subscribe(mcplug_server *s, const char *uri, bool on,
                        struct mcplug_error *err);
void mp_notify_start(mcplug_server *s); /* connected: log level, subscriptions */
/* The lists that are kept, fresh or not, as `changed` names them: templates are
 * resources. */
unsigned mp_notify_kept(const mcplug_server *s);
/* Tells that these have changed, of which the server itself said nothing. */
void mp_notify_lists(mcplug_server *s, unsigned kinds);
void mp_notify_clear(mcplug_server *s);

#endif
