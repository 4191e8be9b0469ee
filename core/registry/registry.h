/* The registry: servers that are kept up, and who holds on to them. [loop]
 *
 *   keeper.c    when to start, to stop, to wait: the machine of states
 *   registry.c  which servers there are, who finds which, their health, their end
 *   service.c   one server: its keeper, its connection, what it offered last
 *   health.c    when to ask whether it lives; probe.c asks
 *   handle.c    one user of it
 *   order.c     one call of a user: waits in a queue, for the server, for the answer
 *   queue.c     named limits on how many calls run at once
 *
 * A service is found by what it is, not by its name: the settings as they were resolved,
 * the identity, and who answers its questions. */
#ifndef MP_REGISTRY_REGISTRY_H
#define MP_REGISTRY_REGISTRY_H

#include "registry/health.h"
#include "registry/keeper.h"
#include "registry/probe.h"
#include "registry/queue.h"
#include "registry/stderr_hint.h"

#define MP_ORDERS_WAITING 1024 /* of one service, that are not sent yet */
#define MP_REFETCH_MS 1000     /* nor for a change */
#define MP_REFRESH_MS 10000    /* a list is not asked for more often for its age */
#define MP_RETRY_MS 10000      /* after it could not be had; twice that next time, .. */
#define MP_RETRY_DOUBLINGS 5   /* .. so often */
#define MP_REFUSALS_MAX 3      /* by the server itself, in a row: it is left alone then */
#define MP_LISTS_MS 2000       /* READY waits for lists once it has the tools */
#define MP_FETCHED 3           /* kinds of lists that are kept: all but templates */

#define MP_KIND(i) ((enum mcplug_kind)(1 << (i))) /* the i-th of these */

struct mcplug_settings {
    char *type;
    mcplug_props *props;
};

/* What a person would call a server without a name: its program, or its address. Keys
 * that are part of an address stay out of logs. borrow: of these, or `room` */
const char *mp_settings_name(const mcplug_settings *settings, char *room, size_t size);

/* What the registry wants from above. */
struct mp_registry_options {
    struct mp_loop *loop;
    const struct mp_log *log;
    struct mp_catalogue *catalogue;
    /* As mcplug_open(). */
    int (*open)(void *arg, const mcplug_settings *settings,
                const struct mcplug_server_options *options,
                void (*ready)(void *, mcplug_server *, const struct mcplug_error *),
                void *ready_arg, mcplug_server **out, struct mcplug_error *err);
    void *arg;
    uint64_t tool_ms, request_ms; /* for calls without a time of their own */
};

struct mp_named_queue {
    struct mp_named_queue *next;
    struct mp_queue *queue;
};

struct mp_registry {
    struct mp_registry_options o;
    struct mp_starts starts;
    struct mp_service *services; /* all, retired ones too */
    struct mp_named_queue *queues;
    uint64_t seed; /* of the jitter */
};

void mp_registry_init(struct mp_registry *r, const struct mp_registry_options *options);
/* Ends every service; handles stay valid, and useless. Turn the loop until idle. */
void mp_registry_end(struct mp_registry *r);
bool mp_registry_idle(const struct mp_registry *r); /* nothing is left running */
void mp_registry_clear(struct mp_registry *r);      /* idle ones only */
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

struct mp_service {
    struct mp_keeper keeper;
    struct mp_registry *registry;
    struct mp_service *next, **prev;

    char *name, *source;
    mcplug_settings *settings;
    uint64_t hash;
    char *identity;
    struct mcplug_server_options o; /* strings are ours */
    bool dedicated;
    bool retired; /* nobody may find it any more */
    char *probe, *probe_url;
    char *known_path; /* where what it offers is kept; NULL: nowhere */

    mcplug_server *session; /* while something of it is there */
    struct mp_health health;
    struct mp_probe *check;
    struct mp_list_state lists[MP_FETCHED];
    unsigned fetching;      /* lists that READY waits for */
    struct mp_timer others; /* it has the tools, and waits for the others */
    struct mcplug_error fetch_error;
    char *revision, *transport, *instructions; /* as they were last; NULL: never had */
    uint64_t started_at;
    struct mcplug_error error; /* the last thing that went wrong */
    char said[MP_STDERR_HINT_MAX +
              1];             /* the remark of this attempt that tells most; "": none */
    struct mp_uris uris;      /* resources to subscribe to, while there is no session */
    struct mp_job settle_job; /* for the end of a start */
    struct mcplug_error settled;
    struct mp_job stopped_job;
    struct mp_timer refetch; /* of lists that changed */
    uint64_t refetched_at;

    mcplug_handle *handles;
    unsigned n_handles;
    unsigned n_alive;       /* handles, released ones too, but for `leaving` */
    mcplug_handle *leaving; /* released, and told when all is gone */
    uint64_t change;        /* counts states; for those who are told */
    uint64_t rounds;        /* of telling all handles something */
    struct mp_job tell_job, end_job;

    struct mp_order *orders, **last_order;   /* as they were made */
    unsigned n_sent, n_waiting, n_at_server; /* the last are among those that wait */
    uint64_t restarts, queued_ms;
    uint64_t issued, ended[MP_OUTCOMES];
};

bool mp_service_ready(const struct mp_service *s);
/* Somebody looks at that list: it is fetched anew if its time is over. */
void mp_service_refresh_if_stale(struct mp_service *s, int i);
/* Its keeper and its lists, at the beginning. */
void mp_service_init(struct mp_service *s);

/* ---- registry.c ---- */

/* The service for these settings: one that is there, or a new one. */
int mp_registry_find(struct mp_registry *r, const mcplug_settings *settings,
                     const struct mcplug_acquire_options *options,
                     struct mp_service **out, struct mcplug_error *err);
/* One more user of it: it stays as long, and is watched as closely, as anybody wants. */
void mp_service_share(struct mp_service *s, const struct mcplug_acquire_options *options,
                      uint32_t keep_alive_ms);
/* Does somebody wait for an answer: through a handle, or on the connection itself? */
bool mp_service_busy(const struct mp_service *s);
/* What it offered last, from what is kept at `path`, which it keeps from now on. take;
 * NULL is fine */
void mp_service_recall(struct mp_service *s, char *path);
/* Its last user has gone: ends it, now or when it has been idle. */
void mp_service_unused(struct mp_service *s);
/* Frees it soon, if it has ended and nobody is left. */
void mp_service_maybe_free(struct mp_service *s);
void mp_service_free(struct mp_service *s); /* ended ones only */

/* ---- handle.c ---- */

struct mcplug_handle {
    struct mp_service *service;
    mcplug_handle *next, **prev;
    struct mcplug_acquire_options o; /* strings and lists are ours */
    uint64_t tool_ms, request_ms;    /* 0: the registry's */
    char *name;
    struct mp_waiter waiter;
    void (*ready)(void *arg, mcplug_handle *handle, const struct mcplug_error *why);
    void *ready_arg;
    bool ready_due;      /* not called yet */
    bool leaving;        /* in that list of its service */
    bool released, gone; /* `gone`: the program knows */
    unsigned n_orders;
    uint64_t told, round;      /* see mp_service */
    struct mcplug_list *tools; /* what the filter leaves of `tools_of` */
    struct mcplug_list *tools_of;
    struct mp_job release_job;
    void (*on_released)(void *arg);
    void *released_arg;
};

int mp_handle_new(struct mp_registry *r, const mcplug_settings *settings,
                  const struct mcplug_acquire_options *options,
                  void (*ready)(void *, mcplug_handle *, const struct mcplug_error *),
                  void *ready_arg, mcplug_handle **out, struct mcplug_error *err);
void mp_handle_release(mcplug_handle *h, void (*released)(void *arg), void *arg);
mcplug_list *mp_handle_list(mcplug_handle *h, enum mcplug_kind kind);
/* Lets it go if nothing needs it any more. */
void mp_handle_settle(mcplug_handle *h);
void mp_handle_gone(mcplug_handle *h); /* frees it and tells */
void mp_handle_free(mcplug_handle *h);
bool mp_handle_allows(const mcplug_handle *h, const char *tool);
void mp_handle_status(const mcplug_handle *h, struct mcplug_status *out);
int mp_handle_restart(mcplug_handle *h, struct mcplug_error *err);

/* ---- order.c ---- */

/* As mcplug_handle_request(); with `tool` it is tools/call, and `params` the arguments.
 */
mcplug_call *mp_order_start(mcplug_handle *h, const char *method, const char *tool,
                            const char *params, const struct mcplug_call_options *options,
                            mcplug_done_fn *done, void *arg, struct mcplug_error *err);
/* All orders of that handle end, soon. */
void mp_orders_cancel(mcplug_handle *h);

#endif
