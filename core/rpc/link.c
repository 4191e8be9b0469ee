#include "rpc/link.h"

#include "base/error.h"
#include "base/mem.h"
#include "loop/loop.h"

/* Something a module told that waits for the end of the turn. */
struct item {
    enum { ITEM_MESSAGE, ITEM_REMARK, ITEM_EXCHANGE_END, ITEM_OVERRUN } type;
    struct item *next;
    mp_message *message;
    mcplug_buf *line;
    uint64_t exchange;
    struct mcplug_error *why;
};

/* One message being put together; transports with reply streams have several. */
struct stream {
    struct stream *next;
    uint64_t exchange;
    bool overrun; /* told that its message is too long */
    struct mp_assembler assembler;
};

struct mcplug_conn {
    struct mp_link_options o;
    mcplug_props *settings;
    const struct mcplug_transport_ops *ops;
    void *transport;
    struct mp_job job;
    struct stream shared;   /* exchange 0 */
    struct stream *streams; /* the others */
    struct stream *spare;   /* one that is not in use */
    struct item *first, **last;
    mp_message *msg_first, **msg_last; /* messages, the usual case, need no item */
    bool opened, opened_told;
    bool given_up; /* we must ask to close, once the module has returned */
    bool closing;  /* we asked */
    bool closed;   /* the module said so */
    bool complained;
    bool has_why;
    uint64_t heard_at;
    struct mcplug_error why;
};

struct mp_link { /* one thing, seen by the core as a link and by modules as a conn */
    struct mcplug_conn conn;
};

static void deliver(struct mp_job *job);

static void wake(mcplug_conn *c)
{
    mp_job_defer(c->o.loop, &c->job, deliver);
}

static void complain(mcplug_conn *c, const char *what)
{
    if (!c->complained)
        mp_log(c->o.log, MCPLUG_LOG_WARN, c->o.source,
               "transport %s breaks its contract: %s", c->o.transport->feature.name,
               what);
    c->complained = true;
}

/* ---- what modules call ---- */

static void wire_opened(mcplug_conn *c)
{
    if (c->opened || c->closed) {
        complain(c, c->closed ? "opened after closed" : "opened twice");
        return;
    }
    c->opened = true;
    wake(c);
}

/* The connection can't go on; the reason is kept for the end. */
static void give_up(mcplug_conn *c, int code, const char *why)
{
    if (c->given_up || c->closing || c->closed)
        return;
    mp_fail(&c->why, code, "%s", why);
    c->has_why = true;
    c->given_up = true;
    wake(c);
}

static struct stream *stream_of(mcplug_conn *c, uint64_t exchange)
{
    if (exchange == 0 || !(c->ops->caps & MCPLUG_CAN_EXCHANGE))
        return &c->shared;
    struct stream *s = c->streams;
    while (s && s->exchange != exchange)
        s = s->next;
    if (!s && (s = c->spare ? c->spare : mp_alloc(sizeof *s))) {
        if (!c->spare)
            mp_assembler_init(&s->assembler, &c->o.limits);
        c->spare = NULL;
        s->exchange = exchange;
        s->overrun = false;
        s->next = c->streams;
        c->streams = s;
    }
    return s;
}

static void stream_free(mcplug_conn *c, struct stream *s)
{
    mp_assembler_clear(&s->assembler); /* and ready for another message */
    if (c->spare)
        mp_free(s);
    else
        c->spare = s;
}

static void stream_drop(mcplug_conn *c, uint64_t exchange)
{
    for (struct stream **at = &c->streams; *at; at = &(*at)->next) {
        struct stream *s = *at;
        if (s->exchange == exchange) {
            *at = s->next;
            stream_free(c, s);
            return;
        }
    }
}

static void enqueue(mcplug_conn *c, struct item *item)
{
    *c->last = item;
    c->last = &item->next;
    wake(c);
}

static void enqueue_message(mcplug_conn *c, mp_message *m)
{
    if (!c->first) { /* no item waits: order is kept without one */
        *c->msg_last = m;
        c->msg_last = &m->next;
        wake(c);
        return;
    }
    struct item *item = mp_alloc(sizeof *item);
    if (!item) {
        mp_message_unref(m);
        give_up(c, MCPLUG_ENOMEM, "out of memory");
        return;
    }
    item->type = ITEM_MESSAGE;
    item->message = m;
    enqueue(c, item);
}

/* What a module gives as a reason is an error, and not one that only a peer can give. */
static void take_reason(struct mcplug_error *to, const struct mcplug_error *why)
{
    mp_error_copy(to, why);
    if (to->code >= 0 || to->code == MCPLUG_EPEER)
        to->code = MCPLUG_EIO;
}

static struct item *item_with_reason(const struct mcplug_error *why)
{
    struct item *item = mp_alloc(sizeof *item);
    if (item && why && !(item->why = mp_alloc(sizeof *item->why))) {
        mp_free(item);
        item = NULL;
    }
    if (item && why)
        take_reason(item->why, why);
    return item;
}

/* The reply of that exchange is longer than it may be: nobody has to wait for its end. */
static void tell_overrun(mcplug_conn *c, struct stream *s)
{
    const struct mcplug_error *why = mp_assembler_overrun(&s->assembler);
    struct item *item = why && !s->overrun ? item_with_reason(why) : NULL;

    if (!item)
        return;
    s->overrun = true;
    item->type = ITEM_OVERRUN;
    item->exchange = s->exchange;
    mp_fail(item->why, why->code, "the reply could not be read: %s", why->text);
    enqueue(c, item);
}

/* `last` below 0: the stream ended where a message had not. */
static void wire_feed(mcplug_conn *c, uint64_t exchange, struct mcplug_bytes piece,
                      int last)
{
    enum mp_piece kind = last < 0 ? MP_PIECE_CUT : last ? MP_PIECE_LAST : MP_PIECE_MORE;
    mp_message *m;

    if (!c->opened || c->closed) {
        complain(c, c->closed ? "feed after closed" : "feed before opened");
        return;
    }
    c->heard_at = mp_loop_now(c->o.loop);
    struct stream *s = stream_of(c, exchange);
    if (!s || mp_assembler_feed(&s->assembler, piece, kind, &m) != MCPLUG_OK) {
        give_up(c, MCPLUG_ENOMEM, "out of memory");
        return;
    }
    if (m) {
        m->exchange = s->exchange;
        enqueue_message(c, m);
    } else if (s->exchange) {
        tell_overrun(c, s);
    }
}

static void wire_exchange_end(mcplug_conn *c, uint64_t exchange,
                              const struct mcplug_error *why)
{
    if (c->closed) {
        complain(c, "exchange_end after closed");
        return;
    }
    stream_drop(c, exchange);
    struct item *item = item_with_reason(why);
    if (!item) {
        give_up(c, MCPLUG_ENOMEM, "out of memory");
        return;
    }
    item->type = ITEM_EXCHANGE_END;
    item->exchange = exchange;
    enqueue(c, item);
}

static void wire_discard(mcplug_conn *c, uint64_t exchange)
{
    if (c->closed) {
        complain(c, "discard after closed");
        return;
    }
    if (exchange && c->ops->caps & MCPLUG_CAN_EXCHANGE)
        stream_drop(c, exchange);
    else
        mp_assembler_clear(&c->shared.assembler);
}

static void wire_written(mcplug_conn *c, uint64_t serial)
{
    if (!c->closed)
        c->o.events->written(c->o.arg, serial);
}

/* Lines beside the protocol are told when there is memory for it, and dropped
 * otherwise. */
static void wire_remark(mcplug_conn *c, struct mcplug_bytes line)
{
    struct item *item = c->closed ? NULL : mp_alloc(sizeof *item);
    if (!item)
        return;
    item->type = ITEM_REMARK;
    item->line = mp_buf_new(line.data, line.len);
    if (!item->line) {
        mp_free(item);
        return;
    }
    enqueue(c, item);
}

static void wire_describe(mcplug_conn *c, const char *name, const char *value)
{
    if (!c->closed)
        c->o.events->described(c->o.arg, name, value);
}

static void wire_closed(mcplug_conn *c, const struct mcplug_error *why)
{
    if (c->closed) {
        complain(c, "closed twice");
        return;
    }
    c->closed = true;
    if (why && !c->has_why) {
        take_reason(&c->why, why);
        c->has_why = true;
    }
    wake(c);
}

const struct mcplug_wire mp_link_wire = {
    .struct_size = sizeof mp_link_wire,
    .opened = wire_opened,
    .feed = wire_feed,
    .exchange_end = wire_exchange_end,
    .written = wire_written,
    .remark = wire_remark,
    .describe = wire_describe,
    .closed = wire_closed,
    .discard = wire_discard,
};

/* ---- handing on ---- */

static void item_free(struct item *item)
{
    mp_message_unref(item->message);
    mp_buf_unref(item->line);
    mp_free(item->why);
    mp_free(item);
}

static void link_free(mcplug_conn *c)
{
    mp_job_drop(c->o.loop, &c->job);
    while (c->streams)
        stream_drop(c, c->streams->exchange);
    if (c->spare) {
        mp_assembler_clear(&c->spare->assembler);
        mp_free(c->spare);
    }
    mp_assembler_clear(&c->shared.assembler);
    while (c->first) {
        struct item *item = c->first;
        c->first = item->next;
        item_free(item);
    }
    while (c->msg_first) {
        mp_message *m = c->msg_first;
        c->msg_first = m->next;
        mp_message_unref(m);
    }
    mp_props_free(c->settings);
    mp_free(c);
}

static void deliver_item(mcplug_conn *c, struct item *item)
{
    const struct mp_link_events *events = c->o.events;

    switch (item->type) {
    case ITEM_MESSAGE:
        events->message(c->o.arg, item->message);
        break;
    case ITEM_REMARK:
        events->remark(c->o.arg, mp_buf_bytes(item->line));
        break;
    case ITEM_EXCHANGE_END:
        events->exchange_end(c->o.arg, item->exchange, item->why);
        break;
    case ITEM_OVERRUN:
        mp_link_cancel((struct mp_link *)c, item->exchange);
        events->exchange_end(c->o.arg, item->exchange, item->why);
        break;
    }
    item_free(item);
}

/* Messages that were queued without an item came before every item that waits. */
static void deliver_waiting(mcplug_conn *c)
{
    for (;;) {
        if (c->msg_first) {
            mp_message *m = c->msg_first;
            c->msg_first = m->next;
            if (!c->msg_first)
                c->msg_last = &c->msg_first;
            m->next = NULL;
            c->o.events->message(c->o.arg, m);
            mp_message_unref(m);
        } else if (c->first) {
            struct item *item = c->first;
            c->first = item->next;
            if (!c->first)
                c->last = &c->first;
            deliver_item(c, item);
        } else {
            return;
        }
    }
}

static void deliver(struct mp_job *job)
{
    mcplug_conn *c = MP_OF(job, mcplug_conn, job);

    if (c->opened && !c->opened_told) {
        c->opened_told = true;
        c->o.events->opened(c->o.arg);
    }
    deliver_waiting(c);
    if (c->closed) {
        c->ops->destroy(c->transport);
        c->o.events->closed(c->o.arg, c->has_why ? &c->why : NULL);
        link_free(c);
    } else if (c->given_up) {
        mp_link_close((struct mp_link *)c);
    }
}

/* ---- what the core calls ---- */

static const struct mcplug_transport_ops *ops_of(const struct mp_offer *offer)
{
    return offer->feature.ops;
}

/* A module that fails without a word, or with an odd one, is not taken for one that did
 * not. Returns the code that counts. */
static int must_tell(const mcplug_conn *c, int code, struct mcplug_error *err)
{
    int told = code < 0 ? code : MCPLUG_EIO;

    if (err->code != told)
        mp_fail(err, told, "transport %s failed without a reason (%d)",
                c->o.transport->feature.name, code);
    return told;
}

struct mp_link *mp_link_open(const struct mp_link_options *options,
                             struct mcplug_error *err)
{
    struct mp_link *link = mp_alloc(sizeof *link);
    if (!link) {
        mp_fail_nomem(err);
        return NULL;
    }
    mcplug_conn *c = &link->conn;
    err->code = MCPLUG_OK;
    c->o = *options;
    c->ops = ops_of(options->transport);
    c->last = &c->first;
    c->msg_last = &c->msg_first;
    mp_assembler_init(&c->shared.assembler, &options->limits);
    c->settings = mp_props_copy(options->settings);
    int r = c->settings ? MCPLUG_OK : mp_fail_nomem(err);
    if (r == MCPLUG_OK)
        r = c->ops->open(options->transport->plugin->ctx, c, c->settings, &c->transport,
                         err);
    if (r != MCPLUG_OK) {
        must_tell(c, r, err);
        link_free(c);
        return NULL;
    }
    return link;
}

int mp_link_send(struct mp_link *link, mcplug_buf *frame, struct mcplug_envelope *env,
                 struct mcplug_error *err)
{
    mcplug_conn *c = &link->conn;

    if (!c->opened || c->closing || c->closed) {
        mp_buf_unref(frame);
        return mp_fail(err, MCPLUG_ECLOSED, "the connection is %s",
                       c->opened ? "closed" : "not open yet");
    }
    struct mcplug_error own = MCPLUG_ERROR_INIT;
    env->struct_size = sizeof *env;
    if (!err)
        err = &own;
    err->code = MCPLUG_OK;
    int r = c->ops->send(c->transport, frame, env, err);
    return r == MCPLUG_OK || r == MCPLUG_QUEUED ? r : must_tell(c, r, err);
}

void mp_link_close(struct mp_link *link)
{
    mcplug_conn *c = &link->conn;
    if (c->closing || c->closed)
        return;
    c->closing = true;
    c->ops->close(c->transport);
}

uint64_t mp_link_heard_at(const struct mp_link *link)
{
    return link->conn.heard_at;
}

bool mp_link_has_exchanges(const struct mp_link *link)
{
    return link->conn.ops->caps & MCPLUG_CAN_EXCHANGE;
}

uint64_t mp_link_unread(const struct mp_link *link)
{
    const mcplug_conn *c = &link->conn;
    bool can_tell = !c->closing && !c->closed &&
                    MCPLUG_HAS(c->ops, struct mcplug_transport_ops, unread);
    return can_tell ? c->ops->unread(c->transport) : 0;
}

bool mp_link_can_cancel(const struct mp_link *link)
{
    const struct mcplug_transport_ops *ops = link->conn.ops;
    return ops->caps & MCPLUG_CAN_EXCHANGE ||
           MCPLUG_HAS(ops, struct mcplug_transport_ops, cancel);
}

void mp_link_cancel(struct mp_link *link, uint64_t exchange)
{
    mcplug_conn *c = &link->conn;
    if (c->closing || c->closed)
        return;
    if (MCPLUG_HAS(c->ops, struct mcplug_transport_ops, cancel))
        c->ops->cancel(c->transport, exchange);
    stream_drop(c, exchange); /* no end of it need follow */
}

/* Has the module said the end of that exchange, which waits to be handed on? */
static bool ends(const mcplug_conn *c, uint64_t exchange)
{
    for (const struct item *item = c->first; item; item = item->next)
        if (item->type == ITEM_EXCHANGE_END && item->exchange == exchange)
            return true;
    return false;
}

void mp_link_settled(struct mp_link *link, uint64_t exchange)
{
    mcplug_conn *c = &link->conn;
    if (!c->closing && !c->closed && c->ops->caps & MCPLUG_CAN_EXCHANGE &&
        MCPLUG_HAS(c->ops, struct mcplug_transport_ops, settled) && !ends(c, exchange)) {
        c->ops->settled(c->transport, exchange);
        stream_drop(c, exchange);
    }
}
