/* JSON-RPC over one link, whatever the methods mean: pairs requests with replies. Every
 * call that was started completes exactly once, whatever the peer does; `mp_rpc_count`
 * is the proof. */
#ifndef MP_RPC_RPC_H
#define MP_RPC_RPC_H

#include "loop/loop.h"
#include "rpc/ledger.h"
#include "rpc/link.h"

struct mp_rpc;

enum {
    MP_QUEUE_MAX = 16 * 1024 * 1024, /* bytes that wait to be written */
    /* Of them, answers and notifications, which the peer can make us send without end:
     * when so many wait, further ones are dropped, and cancellations before others. */
    MP_ASIDE_MAX = 1024 * 1024,
    MP_CANCELS_MAX = MP_ASIDE_MAX / 2,
    MP_DROPPED_MS = 10000 /* between log lines about answers that were dropped */
};

/* What a peer says that is no message: counted, and the first of it logged. */
struct mp_noise {
    uint64_t count;
    unsigned logged;
    char last[121]; /* fit for a line of ours; "": none */
};

/* One request under way; lives inside its owner, who may free it in `done`. */
struct mp_call {
    uint64_t id;
    struct mp_call *older, *newer, *chained; /* in the ledger */
    struct mp_timer deadline;
    struct mp_job job; /* ends it outside of the call that decided so */
    struct mp_rpc *rpc;
    bool written;       /* the whole request has left */
    bool tell;          /* the peer, when it is cancelled */
    bool standing;      /* stays open: its answer is its end */
    bool spills;        /* its owner can use an answer with strings in a file */
    bool stream_over;   /* its exchange has ended */
    const char *ending; /* why, when it is cancelled; static text */
    /* reply is borrow; with MCPLUG_EPEER it is the error answer. Counted by what
     * the owner returns: MP_OK or MP_TOOL_ERROR where there is a result. */
    enum mp_outcome (*done)(struct mp_call *call, mp_message *reply,
                            const struct mcplug_error *why);
    /* Fills the text of a time-out; may be NULL. */
    void (*timed_out)(struct mp_call *call, struct mcplug_error *err);
};

enum mp_outcome mp_outcome_of(int code); /* of an error */

struct mp_rpc_events {
    void (*opened)(void *arg);
    void (*request)(void *arg, mp_message *m); /* the peer's; answer with mp_rpc_send */
    void (*notification)(void *arg, mp_message *m);
    void (*remark)(void *arg, struct mcplug_bytes line);
    void (*described)(void *arg, const char *name, const char *value);
    /* A call that the peer may be working on has ended without its reply, for `reason`:
     * tells the peer. `call` is borrow. */
    void (*cancelled)(void *arg, const struct mp_call *call, const char *reason);
    /* Puts the reason of a lost link into words, before anybody hears it. */
    void (*explain)(struct mcplug_error *why);
    /* The link is gone and every call has ended; the rpc is idle, not freed. */
    void (*closed)(void *arg, const struct mcplug_error *why);
};

struct mp_rpc_options {
    struct mp_link_options link; /* events and arg are the rpc's own */
    const struct mp_rpc_events *events;
    void *arg;
};

/* give */
struct mp_rpc *mp_rpc_new(const struct mp_rpc_options *options, struct mcplug_error *err);
void mp_rpc_free(struct mp_rpc *rpc); /* idle ones only; NULL is fine */

/* Another transport for the next connection; borrow `settings`. */
void mp_rpc_use(struct mp_rpc *rpc, const struct mp_offer *transport,
                const mcplug_props *settings);
const char *mp_rpc_transport(const struct mp_rpc *rpc); /* its name */
int mp_rpc_connect(struct mp_rpc *rpc, struct mcplug_error *err);
void mp_rpc_close(struct mp_rpc *rpc);      /* ends every call; `closed` follows */
void mp_rpc_hang_up(struct mp_rpc *rpc);    /* the same, but it may connect again */
bool mp_rpc_idle(const struct mp_rpc *rpc); /* no link */
uint64_t
mp_rpc_heard_at(const struct mp_rpc *rpc); /* when the last byte came; loop time */
bool mp_rpc_has_exchanges(const struct mp_rpc *rpc);
uint64_t mp_rpc_unread(const struct mp_rpc *rpc); /* bytes that the peer has not taken */

/* An id of ours that the peer repeats: a number, or a string like "1" from one that
 * answers so. */
bool mp_rpc_read_id(const struct mp_rpc *rpc, mp_view v, uint64_t *id);
/* The id that the next request will get, to write it into the frame. */
uint64_t mp_rpc_next_id(struct mp_rpc *rpc);
/* Sends a request whose text carries call->id = mp_rpc_next_id(). take `frame`.
 * `timeout_ms` 0: none. On failure nothing follows. */
int mp_rpc_call(struct mp_rpc *rpc, struct mp_call *call, mcplug_buf *frame,
                const struct mcplug_pair *meta, size_t n_meta, uint64_t timeout_ms,
                struct mcplug_error *err);
/* Ends the call as cancelled, soon but not inside this call. The peer is told when
 * `tell`. A call that ends already keeps its reason. `text` is static. */
void mp_rpc_cancel(struct mp_call *call, const char *text, bool tell);

/* A notification, or the answer to a request that came on `exchange`: `kind` is that of
 * the envelope. take `frame`. MCPLUG_EOVERLOADED: too many wait; that answers were
 * dropped for it is counted and logged here. */
int mp_rpc_send(struct mp_rpc *rpc, int kind, uint64_t exchange, mcplug_buf *frame,
                const struct mcplug_pair *meta, size_t n_meta, struct mcplug_error *err);

const struct mp_noise *mp_rpc_noise(const struct mp_rpc *rpc); /* borrow */
/* Adds what was counted so far. */
void mp_rpc_count(const struct mp_rpc *rpc, struct mcplug_ledger *sum);

#endif
