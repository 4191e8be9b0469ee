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

#define MP_REQUEST_MS 60000            /* for each request but tools/call */
#define MP_FRAME_MAX ((size_t)1 << 30) /* of what we send */

struct mp_session;
/* A question of the server's; see mcplug_input_fn. */
typedef void mp_input_fn(void *arg, struct mp_session *s, mcplug_input *input,
                         const char *params, size_t len);

enum { MP_KINDS = 4, MP_INPUTS_MAX = 64, MP_FACTS_MAX = 32, MP_ROUNDS_MAX = 32 };

/* MP_ERA_OLDEST is for the memory alone: legacy, by the transport to fall back on. */
enum mp_era { MP_ERA_UNKNOWN, MP_ERA_MODERN, MP_ERA_LEGACY, MP_ERA_OLDEST };

enum mp_phase {
    MP_IDLE,
    MP_OPENING,      /* the transport connects */
    MP_PROBING,      /* server/discover is out */
    MP_INITIALIZING, /* initialize is out, perhaps beside server/discover */
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
    char *value;
    char name[];
};

/* What a server said of itself, and what its transport told of it, last. It outlives the
 * session, so that it can be asked for while the server is down. */
struct mp_identity {
    char revision[16];                        /* "": not known */
    char *info, *capabilities, *instructions; /* NULL: not told */
    struct mp_fact *facts;
    unsigned n_facts;
};

struct mp_session_options {
    uint32_t timeout_ms; /* to connect */
    uint32_t request_ms; /* for each request but tools/call; 0: MP_REQUEST_MS */
    uint64_t tool_ms;    /* for tools/call */
    uint64_t max_memory; /* of one message; 0: 16 MiB */
    uint64_t max_spill;  /* of one message; 0: 8 GiB */
    const char *log_level, *revision;
    uint32_t keep_alive_ms;
    void *arg; /* for all of the following */
    mp_input_fn *elicit, *elicit_url, *sample, *roots;
    void (*changed)(void *arg, struct mp_session *s, int kind, const char *uri);
    void (*logged)(void *arg, struct mp_session *s, const char *params, size_t len);
    void (*remark)(void *arg, struct mp_session *s, const char *line, size_t len);
    /* The connection is gone, though nobody asked: once, after every request under way
     * has ended. */
    void (*dropped)(void *arg, struct mp_session *s, const struct mcplug_error *why);
};

struct mp_uris {
    char **all;
    size_t n;
};
bool mp_uris_have(const struct mp_uris *uris, const char *uri);
/* Puts it in, or takes it out. MCPLUG_ENOMEM */
int mp_uris_set(struct mp_uris *uris, const char *uri, bool on, struct mcplug_error *err);
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
    void *arg;
};

struct mp_session {
    struct mp_session_config cfg;
    struct mp_session_options o; /* strings in it are below */
    struct mp_identity *id;      /* borrow; outlives us */
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

    char *meta; /* the members of `_meta` that every modern request has */
    size_t meta_len;
    struct mp_str scratch; /* frames are written here */
    char *client_caps;     /* JSON object */

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

    void (*ready)(void *arg, struct mp_session *server, const struct mcplug_error *why);
    void *ready_arg;
    struct mp_job ready_job;
    bool ready_told;   /* settled; the embedder hears of it */
    bool ready_called; /* he has */
    struct mcplug_ledger *closed_sum;
    void (*closed)(void *arg);
    void *closed_arg;
    struct mp_job closed_job;
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
/* Connecting has come to an end, well or not. */
void mp_session_ready(struct mp_session *s, const struct mcplug_error *why);
const char *mp_session_name(const struct mp_session *s);
const struct mp_identity *mp_session_identity(const struct mp_session *s);
const mcplug_props *mp_session_settings(const struct mp_session *s);
bool mp_session_is_modern(const struct mp_session *s);
const char *mp_session_transport(const struct mp_session *s);
/* Does a request wait for its answer? Pings do not count. */
bool mp_session_busy(const struct mp_session *s);
/* Has the connection ended, though `dropped` may not have been told yet? */
bool mp_session_lost(const struct mp_session *s);
void mp_session_keep_alive(struct mp_session *s, uint32_t ms);
/* Requests on the wire so far, and lines that were not JSON. */
void mp_session_count(const struct mp_session *s, struct mcplug_ledger *sum);
/* Resources subscribed to: hands them over to a session that has none, or takes them.
 * take, give */
void mp_session_give_uris(struct mp_session *s, struct mp_uris *uris);
void mp_session_take_uris(struct mp_session *s, struct mp_uris *out);
struct mp_uris *mp_session_uris(struct mp_session *s);
/* Since the last byte of the server came in, or it was opened. */
uint64_t mp_session_silent_ms(const struct mp_session *s);
/* Does the server have it: "tools", "tools/listChanged"? */
bool mp_session_can(const struct mp_session *s, const char *path);

/* ---- connect.c ---- */

int mp_connect_start(struct mp_session *s, struct mcplug_error *err);
void mp_connect_opened(struct mp_session *s);
/* The link went while connecting: true when it is being tried once more. */
bool mp_connect_retry(struct mp_session *s, const struct mcplug_error *why);
/* The server has forgotten a session that was ready: true when it gets a new one. */
bool mp_connect_renew(struct mp_session *s, const struct mcplug_error *why);

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
/* The envelope's pairs, so that a transport need not read the frame: method, revision
 * and name. NULL is left out, as is a revision of "". Returns how many there are. */
enum { MP_PAIRS_MAX = 3 };
size_t mp_frame_pairs(struct mcplug_pair pairs[MP_PAIRS_MAX], const char *method,
                      const char *revision, const char *name);
/* give; NULL: no memory. In a modern session `_meta` gets what every request has. */
mcplug_buf *mp_frame_request(struct mp_session *s, uint64_t id,
                             const struct mp_frame_parts *parts);
/* Makes members of an object of params, all but a `_meta`, which comes out apart. */
bool mp_frame_members(mp_view params, struct mp_str *members, mp_view *meta);
mcplug_buf *mp_frame_answer(mp_view id, mp_view result);
mcplug_buf *mp_frame_refusal(mp_view id, int code, const char *message);
/* Writes and sends a notification; `params` is an object, or empty. */
int mp_frame_notify(struct mp_session *s, const char *method, mp_view params,
                    struct mcplug_error *err);
/* Takes white space off the ends of what a caller gave, and checks that it is one JSON
 * object. `what` begins the message. MCPLUG_EINVAL */
int mp_frame_object(mp_view *text, const char *what, struct mcplug_error *err);
/* Line ends, which in checked JSON are only white space, become blanks: a frame is one
 * line. */
void mp_frame_flatten(char *text, size_t len);
int mp_frame_client_caps(struct mp_session *s, struct mcplug_error *err);
int mp_frame_meta(struct mp_session *s, struct mcplug_error *err);

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
/* The same in a block of its own, which is freed after `done`. NULL with `err`. */
struct mp_request *mp_request_start(struct mp_session *s, const char *method,
                                    mp_view params, const char *tool,
                                    const struct mcplug_call_options *o,
                                    mcplug_done_fn *done, void *arg,
                                    struct mcplug_error *err);
void mp_request_cancel(struct mp_request *call);
/* MCPLUG_EINVAL: a call without a function that is told its end. */
int mp_request_check(bool has_done, struct mcplug_error *err);
void mp_request_unpark(struct mp_session *s); /* sends those that waited for a session */
/* A request of our own whose failure is only worth a log line. */
int mp_request_background(struct mp_session *s, const char *method, mp_view members,
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
    struct mcplug_call base; /* whoever has the block sets `cancel` */
    struct mp_call rpc;      /* the round under way */
    bool in_round;
    struct mp_session *session; /* NULL: not sent yet */
    struct mp_request *next, **prev;
    mcplug_done_fn *done;
    void *arg;
    struct mcplug_call_options o; /* strings are below */
    const char *method, *tool;    /* of the block, as those below */
    const char *members;          /* of params, without a `_meta` */
    size_t members_len;
    char *long_members; /* these, when they are not in the block */
    char *name;         /* what it is about, for the envelope; NULL: `tool`, or nothing */
    const char *meta, *log_level;
    char *own_meta;
    bool is_own; /* in a block of its own */
    uint64_t timeout_ms, deadline, began_at;
    uint64_t beats;         /* how often it was told to be running still */
    bool pings;             /* any answer is a success */
    bool tool_failed;       /* its result says so */
    bool reached;           /* an earlier round of it did reach the server */
    bool is_parked;         /* waits for a session to be renewed */
    bool resent;            /* was refused for its session, and goes to the next one */
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
void mp_inputs_request(struct mp_session *s, mp_message *m);
void mp_inputs_cancelled(struct mp_session *s, mp_message *m);
/* Puts the questions of an input_required result (or of a task) to the handlers. */
int mp_inputs_ask(struct mp_request *call, mp_view questions, struct mcplug_error *err);
/* Goes on with the call when nothing is open any more. */
void mp_inputs_settle(struct mp_request *call);
void mp_inputs_forget_call(struct mp_request *call);
void mp_inputs_forget_all(struct mp_session *s);
/* Whom the question is for, as those above know it. */
void mp_input_own(mcplug_input *in, void *owner);
void *mp_input_owner(const mcplug_input *in); /* NULL: nobody waits for the answer */
/* The request that it belongs to; NULL: not known. */
const struct mp_request *mp_input_request(const mcplug_input *in);
/* What was for one is for another from now on. */
void mp_inputs_pass_on(struct mp_session *s, const void *owner, void *next);

/* ---- lists.c ---- */

int mp_lists_get(struct mp_session *s, enum mcplug_kind kind, mcplug_list_fn *done,
                 void *arg, struct mcplug_error *err);
/* The same, but from the server: what is kept counts no more. A fetch that is on its
 * way to it already is joined. */
int mp_lists_refetch(struct mp_session *s, enum mcplug_kind kind, mcplug_list_fn *done,
                     void *arg, struct mcplug_error *err);
/* For how long the list that was fetched last may still be used, after its server's word:
 * 0 when it is old already. false: the server said nothing of it, or there is no list. */
bool mp_lists_ttl(const struct mp_session *s, enum mcplug_kind kind, uint64_t *ms);
/* A list that was kept: an array that a scan has passed. give; NULL: no memory */
mcplug_list *mp_list_read(enum mcplug_kind kind, mp_view array);
/* Those items whose names `keep` wants. give; NULL: no memory */
mcplug_list *mp_list_subset(mcplug_list *list, bool (*keep)(void *arg, const char *name),
                            void *arg);
void mp_lists_changed(struct mp_session *s, unsigned kinds);
void mp_lists_unwatched(struct mp_session *s); /* changes are not told any more */
void mp_lists_clear(struct mp_session *s);

/* ---- mirror.c ---- */

#define MP_PARAM "param:" /* begins the name of a pair that is an argument */

enum { MP_HEADERS_MAX = 64 }; /* of one tool */

/* Does this session's transport send arguments as headers? */
bool mp_mirror_wanted(const struct mp_session *s);
/* Finds every x-mcp-header of an inputSchema. `found` gets two C strings for each:
 * "param:NAME", and the names that lead to the argument, a JSON array. MCPLUG_EPROTO:
 * one is not as it must be, `err` says which and why. */
int mp_mirror_check(mp_view schema, struct mp_str *found, unsigned *n,
                    struct mcplug_error *err);
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

#define MP_BEAT_MS 30000 /* a tool that runs is told of that often */

void mp_call_log_began(struct mp_request *call); /* after it has been sent */
void mp_call_log_ended(const struct mp_request *call, const mp_message *reply,
                       const struct mcplug_error *why);
void mp_call_log_clear(struct mp_session *s);

/* ---- identity.c ---- */

int mp_identity_take(struct mp_identity *id, mp_message *m, mp_view info,
                     struct mcplug_error *err);
/* A fact for people: without memory, or above MP_FACTS_MAX, it is not kept. */
void mp_identity_describe(struct mp_identity *id, const char *name, const char *value);
const char *mp_identity_fact(const struct mp_identity *id, const char *name);
void mp_identity_clear(struct mp_identity *id);

/* ---- notify.c ---- */

void mp_notify(struct mp_session *s, mp_message *m);
int mp_notify_subscribe(struct mp_session *s, const char *uri, bool on,
                        struct mcplug_error *err);
void mp_notify_start(struct mp_session *s); /* connected: log level, subscriptions */
/* The lists that are kept, fresh or not, as `changed` names them: templates are
 * resources. */
unsigned mp_notify_kept(const struct mp_session *s);
/* Tells that these have changed, of which the server itself said nothing. */
void mp_notify_lists(struct mp_session *s, unsigned kinds);
void mp_notify_clear(struct mp_session *s);

#endif
