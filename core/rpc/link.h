/* The link: the core's end of one connection, with a transport module at the other, which
 * sees it as its mcplug_conn.
 * It keeps the module to its contract, and never enters it from a call that it is
 * making: what a module tells is handed on at the end of the loop's turn. */
#ifndef MP_RPC_LINK_H
#define MP_RPC_LINK_H

#include "plugin/catalogue.h"
#include "plugin/props.h"
#include "rpc/assembler.h"

struct mp_loop;

/* In the order of a connection's life; `closed` comes once and last, the link is
 * gone when it returns. */
struct mp_link_events {
    void (*opened)(void *arg);
    void (*message)(void *arg, mp_message *m); /* borrow */
    void (*exchange_end)(void *arg, uint64_t exchange, const struct mcplug_error *why);
    void (*remark)(void *arg, struct mcplug_bytes line);
    /* Inside a call of the module: may only take note. */
    void (*written)(void *arg, uint64_t serial);
    void (*described)(void *arg, const char *name, const char *value);
    /* why == NULL: as asked for. */
    void (*closed)(void *arg, const struct mcplug_error *why);
};

struct mp_link_options {
    struct mp_loop *loop;
    struct mp_events *log; /* borrow, as long as the link */
    const char *source;    /* for its log lines; likewise */
    const struct mp_offer *transport;
    const mcplug_props *settings; /* checked; copied */
    struct mp_assembler_limits limits;
    const struct mp_link_events *events;
    void *arg;
};

/* give; NULL when it could not even start: no event follows then. `err` is filled. */
mcplug_conn *mp_link_open(const struct mp_link_options *options,
                          struct mcplug_error *err);
/* take `frame`. MCPLUG_OK, MCPLUG_QUEUED, or an error. */
int mp_link_send(mcplug_conn *link, mcplug_buf *frame, struct mcplug_envelope *env,
                 struct mcplug_error *err);
void mp_link_close(mcplug_conn *link); /* `closed` follows, also when it was closing */
uint64_t mp_link_heard_at(const mcplug_conn *link); /* the last byte; 0: none yet */
/* What was sent and the peer has not taken yet, as far as its transport knows. */
uint64_t mp_link_unread(const mcplug_conn *link);
bool mp_link_can_cancel(const mcplug_conn *link);
void mp_link_cancel(mcplug_conn *link, uint64_t exchange); /* if it can */
/* The call of that exchange has its reply. */
void mp_link_settled(mcplug_conn *link, uint64_t exchange);

/* What modules call; for the catalogue. */
extern const struct mcplug_wire mp_link_wire;

#endif
