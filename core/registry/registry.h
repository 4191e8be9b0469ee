/* The registry: servers that are kept up, and who uses them. [loop]
 *
 *   keeper.c        when to start, to stop, to wait: the machine of states
 *   registry.c      which services there are, and who finds which
 *   service.c       one connection that is kept up, its health, what it offered last
 *   health.c        when to ask whether it lives; probe.c asks
 *   server.c        one user of a service: what a program has as mcplug_server
 *   pending_call.c  one call of a user: waits for the server, in a queue, for the answer
 *   queue.c         named limits on how many calls run at once
 *
 * A service is found by what it is, not by its name: the settings as they were resolved,
 * the identity, and who answers its questions. */
#ifndef MP_REGISTRY_REGISTRY_H
#define MP_REGISTRY_REGISTRY_H

#include "connect/target.h"
#include "registry/health.h"
#include "registry/keeper.h"
#include "registry/probe.h"
#include "registry/queue.h"
#include "base/stderr_hint.h"

#define MP_CALLS_WAITING 1024 /* of one service, that are not sent yet */
#define MP_REFETCH_MS 1000    /* nor for a change */
#define MP_REFRESH_MS 10000   /* a list is not asked for more often for its age */
#define MP_RETRY_MS 10000     /* after it could not be had; twice that next time, .. */
#define MP_RETRY_DOUBLINGS 5  /* .. so often */
#define MP_REFUSALS_MAX 3     /* by the server itself, in a row: it is left alone then */
#define MP_LISTS_MS 2000      /* READY waits for lists once it has the tools */
#define MP_FETCHED 3          /* kinds of lists that are kept: all but templates */

#define MP_KIND(i) ((enum mcplug_kind)(1 << (i))) /* the i-th of these */

struct mp_registry_options {
    struct mp_loop *loop;
    struct mp_events *log;
    struct mp_catalogue *catalogue;
    struct mp_connector *connector;
    uint64_t tool_ms, request_ms; /* for calls without a time of their own */
};

struct mp_registry {
    struct mp_registry_options o;
    struct mp_starts starts;
    struct mp_service *services; /* all, retired ones too */
    struct mp_queue *queues;
    uint64_t seed;     /* of the jitter */
    uint64_t n_calls;  /* made so far */
    bool cache_failed; /* what servers offer could not be kept, and that was said */
};

void mp_registry_init(struct mp_registry *r, const struct mp_registry_options *options);
/* Ends every service; servers stay valid, and useless. Turn the loop until idle. */
void mp_registry_end(struct mp_registry *r);
bool mp_registry_idle(const struct mp_registry *r); /* nothing is left running */
void mp_registry_clear(struct mp_registry *r);      /* idle ones only */
/* The service that reaches it: one that is there, or a new one. */
int mp_registry_find(struct mp_registry *r, struct mp_target *target,
                     const struct mcplug_server_options *options, struct mp_service **out,
                     struct mcplug_error *err);
/* borrow; NULL: no memory */
struct mp_queue *mp_registry_queue(struct mp_registry *r, const char *name);

/* ---- service.c ---- */

struct mp_list_state { /* of one kind */
    struct mp_service *service;
    const char *noun;  /* "tools" */
    mcplug_list *list; /* as it was last; NULL: never had */
    bool fetching;
    bool stale; /* to be fetched anew */
    bool had;   /* the last fetch of it brought it */
    uint64_t fetched_at;
    uint64_t due;                /* not before, because it could not be had */
    unsigned failures, refusals; /* in a row; the latter are among the former */
};

/* A place in the list of servers that stays right whoever goes meanwhile. */
struct mp_cursor {
    mcplug_server *next;
    struct mp_cursor *outer;
};

struct mp_service {
    struct mp_keeper keeper;
    struct mp_registry *registry;
    struct mp_service *next, **prev;

    char *name, *source;
    struct mp_target *target;
    char *identity;
    struct mp_session_options o; /* strings are ours */
    /* Who answers its questions, which is the same for all who share it: elicit,
     * elicit_url, sample, roots. */
    mcplug_input_fn *handlers[4];
    void *handlers_arg;
    bool hears_changes; /* of lists and resources */
    bool dedicated;
    bool retired; /* nobody may find it any more */
    char *probe, *probe_url;
    char *cache_path; /* where what it offers is kept; NULL: nowhere */

    struct mp_lookup *lookup;   /* what a start has to look up */
    struct mp_session *session; /* while something of it is there */
    struct mp_identity id;      /* what it said of itself last */
    struct mp_health health;
    mcplug_check *check;
    struct mp_list_state lists[MP_FETCHED];
    unsigned wanted;        /* kinds that READY waits for */
    unsigned asked;         /* those that it waited for with this connection */
    unsigned fetching;      /* lists that READY waits for now */
    struct mp_timer others; /* it has the tools, and waits for the others */
    struct mp_timer limit;  /* of the whole attempt */
    const struct mcplug_error *fetch_error; /* kept, as those below */
    char revision[16];                      /* the last one that it was ready with */
    char *transport;                        /* likewise; NULL: never ready */
    uint64_t started_at;
    const struct mcplug_error *error; /* the last thing that went wrong */
    char
        said[MP_STDERR_HINT_MAX + 1]; /* the remark of this attempt that tells most; "" */
    struct mp_uris uris;      /* resources to subscribe to, while there is no session */
    struct mp_job settle_job; /* for the end of a start */
    const struct mcplug_error *settled;
    struct mp_job stopped_job;
    struct mp_timer refetch; /* of lists that changed */
    uint64_t refetched_at;

    mcplug_server *servers, **last_server; /* the oldest first */
    unsigned n_servers;
    unsigned n_alive;       /* servers, closed ones too, but for `leaving` */
    mcplug_server *leaving; /* closed, and told when all is gone */
    struct mp_cursor *cursors;
    uint64_t opened; /* counts servers */
    uint64_t change; /* counts states; for those who are told */
    struct mp_job tell_job, end_job;

    struct mp_pending_call *calls, **last_call; /* as they were made */
    unsigned n_sent, n_waiting, n_at_server;    /* the last are among those that wait */
    uint64_t restarts, queued_ms;
    struct mcplug_ledger wire;                  /* of sessions that have ended */
    uint64_t issued, ended[MP_OUTCOMES];        /* calls */
    struct mcplug_ledger calls_told, wire_told; /* what mcplug_status points to */
};

bool mp_service_ready(const struct mp_service *s);
/* Somebody looks at that list: it is fetched anew if its time is over. */
void mp_service_refresh_if_stale(struct mp_service *s, int i);
/* A list that was fetched on somebody's behalf: it is the newest there is. */
void mp_service_take_list(struct mp_service *s, enum mcplug_kind kind, mcplug_list *list);
int mp_service_new(struct mp_registry *r, struct mp_target *target,
                   const struct mcplug_server_options *options, struct mp_service **out,
                   struct mcplug_error *err);
/* Would the connection be the same one? Times are everybody's own. */
bool mp_service_fits(const struct mp_service *s, const struct mp_target *target,
                     const struct mcplug_server_options *options);
/* One more user of it: it stays as long, and is watched as closely, as anybody wants. */
void mp_service_share(struct mp_service *s, const struct mcplug_server_options *options);
/* The kinds of lists that READY waits for. */
unsigned mp_server_lists_of(const struct mcplug_server_options *o);
/* What it offered last, from what is kept at `path`, which it keeps from now on. take;
 * NULL is fine */
void mp_service_recall(struct mp_service *s, char *path);
/* Its last user has gone: ends it, now or when it has been idle. */
void mp_service_unused(struct mp_service *s);
/* Frees it soon, if it has ended and nobody is left. */
void mp_service_maybe_free(struct mp_service *s);
void mp_service_free(struct mp_service *s); /* ended ones only */

/* ---- server.c ---- */

struct mcplug_server {
    struct mp_service *service;
    mcplug_server *next, **prev;
    struct mcplug_server_options o; /* strings and lists are ours, or the service's; its
                                       `arg` is for all callbacks but questions */
    char *name;
    uint64_t seq; /* the lower, the older */
    struct mp_waiter waiter;
    mcplug_ready_fn *ready;
    void *ready_arg;
    bool ready_due;     /* not called yet */
    unsigned lists;     /* kinds that it has yet to see before that */
    bool leaving;       /* in that list of its service */
    bool closed, gone;  /* `gone`: the program knows */
    unsigned n_calls;   /* that hold on to it .. */
    unsigned under_way; /* .. of which these have not ended */
    struct mp_list_call *list_calls;
    uint64_t told;      /* see mp_service.change */
    mcplug_list *tools; /* what the filter leaves of `tools_of` */
    mcplug_list *tools_of;
    struct mp_uris uris; /* resources that it subscribed to */
    uint64_t issued, ended[MP_OUTCOMES];
    struct mp_job close_job;
    void (*on_closed)(void *arg);
    void *closed_arg;
    void (*free_arg)(void *arg); /* NULL: none */
    void *given_arg;             /* `arg` as the program gave it */
};

int mp_server_open(struct mp_registry *r, struct mp_target *target,
                   const struct mcplug_server_options *options, mcplug_ready_fn *ready,
                   void *ready_arg, mcplug_server **out, struct mcplug_error *err);
static inline struct mp_loop *mp_server_loop(const mcplug_server *h)
{
    return h->service->registry->o.loop;
}
/* For the beginning of a public function: as mp_loop_check(), and it is not NULL. */
#define mp_server_here(h, err)                                                           \
    ((h) ? mp_loop_check(mp_server_loop(h), err) : mp_fail_null(err, "`server`"))
/* What the filter leaves of a list of tools. give; NULL: no memory */
mcplug_list *mp_server_filter(mcplug_server *h, mcplug_list *tools);
/* As mcplug_get_list(); `done` must not be NULL. */
mcplug_call *mp_server_get_list(mcplug_server *h, enum mcplug_kind kind,
                                const struct mcplug_call_options *options,
                                mcplug_list_fn *done, void *arg,
                                struct mcplug_error *err);
/* Lets it go if nothing needs it any more. */
void mp_server_settle(mcplug_server *h);
void mp_server_gone(mcplug_server *h); /* frees it and tells */
void mp_server_free(mcplug_server *h);
/* The subscription to that resource has been asked for: `why` says how that ended, NULL:
 * well. One that was refused or cancelled is over, any other stays wanted. */
void mp_server_subscribed(mcplug_server *h, const char *uri,
                          const struct mcplug_error *why);
/* MCPLUG_ECLOSED: it has ended, or never will be up again. */
int mp_server_check(const mcplug_server *h, struct mcplug_error *err);

/* ---- pending_call.c ---- */

/* As mcplug_request(); with `tool` it is tools/call, and `params` the arguments. NULL as
 * `method`: a ping. */
mcplug_call *mp_pending_call_start(mcplug_server *h, const char *method, const char *tool,
                                   const char *params,
                                   const struct mcplug_call_options *options,
                                   mcplug_done_fn *done, void *arg,
                                   struct mcplug_error *err);
/* As mcplug_subscribe(), with `on`, or mcplug_unsubscribe(). Without `ask` the server
 * need not be asked, and it ends well. */
mcplug_call *mp_pending_call_subscribe(mcplug_server *h, const char *uri, bool on,
                                       bool ask,
                                       const struct mcplug_call_options *options,
                                       mcplug_done_fn *done, void *arg,
                                       struct mcplug_error *err);
/* Has somebody asked for that subscription, and no answer yet? */
bool mp_pending_call_subscribes(const struct mp_service *s, const char *uri);
/* Calls of that server that ask for it end, as cancelled, and change nothing any more.
 * NULL: for any. */
void mp_pending_calls_unsubscribe(mcplug_server *h, const char *uri);
/* Inside its `done`: what the event of its end says. */
void mp_pending_call_end(const mcplug_call *call, const mcplug_result *result,
                         const struct mcplug_error *why, struct mp_event_call *out);
/* All calls of that server end, soon. */
void mp_pending_calls_cancel(mcplug_server *h);
/* Whose request is it? */
mcplug_server *mp_pending_call_server(const struct mp_request *request);

#endif
