#include "rpc/link.h"

#include "base/error.h"
#include "base/mem.h"
#include "loop/loop.h"

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
    struct mp_job flusher;     /* for frames that were kept to the end of the turn */
    uint64_t sent_in;          /* the turn of the last frame; 0: none */
    struct stream shared;      /* exchange 0 */
    struct stream *streams;    /* the others */
    struct stream *spare;      /* one that is not in use */
    mp_message *first, **last; /* what the module told in this turn, in its order */
    bool opened, opened_told;
    bool given_up; /* we must ask to close, once the module has returned */
    bool closing;  /* we asked */
    bool closed;   /* the module said so */
    bool complained;
    uint64_t heard_at;
    const struct mcplug_error *why; /* kept */
};

static void deliver(struct mp_job *job);

/* Is its contract broken so? Returns what it is given, and logs the first. */
static bool breaks(mcplug_conn *c, bool is, const char *how)
{
    if (is && !c->complained) {
        c->complained = true;
        mp_log(c->o.log, MCPLUG_LOG_WARN, c->o.source,
               "transport %s breaks its contract: %s", c->o.transport->feature.name, how);
    }
    return is;
}

/* ---- what modules call ---- */

static void wire_opened(mcplug_conn *c)
{
    if (breaks(c, c->closed, "opened after closed") ||
        breaks(c, c->opened, "opened twice"))
        return;
    c->opened = true;
    mp_job_defer(c->o.loop, &c->job, deliver);
}

/* Without memory the connection can't go on; the reason is kept for the end. */
static void give_up(mcplug_conn *c)
{
    if (c->given_up || c->closing || c->closed)
        return;
    struct mcplug_error why;
    mp_error_init(&why);
    mp_fail_nomem(&why);
    mp_error_keep(&c->why, &why);
    c->given_up = true;
    mp_job_defer(c->o.loop, &c->job, deliver);
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

static void stream_drop(mcplug_conn *c, uint64_t exchange)
{
    struct stream **at = &c->streams, *s;

    while (*at && (*at)->exchange != exchange)
        at = &(*at)->next;
    if (!(s = *at))
        return;
    *at = s->next;
    mp_assembler_clear(&s->assembler); /* and ready for another message */
    if (c->spare)
        mp_free(s);
    else
        c->spare = s;
}

/* take */
static void enqueue(mcplug_conn *c, mp_message *m)
{
    *c->last = m;
    c->last = &m->next;
    mp_job_defer(c->o.loop, &c->job, deliver);
}

/* What a module gives as a reason is an error, and not one that only a peer can give. */
static void take_reason(struct mcplug_error *to, const struct mcplug_error *why)
{
    mp_error_copy(to, why);
    if (to->code >= 0 || to->code == MCPLUG_EPEER)
        to->code = MCPLUG_EIO;
}

/* give; NULL: no memory */
static mp_message *end_of(uint64_t exchange, enum mp_message_state state,
                          const struct mcplug_error *why)
{
    mp_message *m = mp_message_new(NULL, 0, NULL);

    if (m && why && !(m->error = mp_alloc(sizeof *m->error))) {
        mp_message_unref(m);
        return NULL;
    }
    if (m && why)
        take_reason(m->error, why);
    if (m) {
        m->state = state;
        m->exchange = exchange;
    }
    return m;
}

/* The reply of that exchange is longer than it may be: nobody has to wait for its end. */
static void tell_overrun(mcplug_conn *c, struct stream *s)
{
    const struct mcplug_error *why = mp_assembler_overrun(&s->assembler);
    mp_message *m =
        why && !s->overrun ? end_of(s->exchange, MP_MESSAGE_OVERRUN, why) : NULL;

    if (!m)
        return;
    s->overrun = true;
    mp_fail(m->error, why->code, "the reply could not be read: %s", why->text);
    enqueue(c, m);
}

/* `last` below 0: the stream ended where a message had not. */
static void wire_feed(mcplug_conn *c, uint64_t exchange, struct mcplug_bytes piece,
                      int last)
{
    enum mp_piece kind = last < 0 ? MP_PIECE_CUT : last ? MP_PIECE_LAST : MP_PIECE_MORE;
    mp_message *m;

    if (breaks(c, c->closed, "feed after closed") ||
        breaks(c, !c->opened, "feed before opened"))
        return;
    c->heard_at = mp_loop_now(c->o.loop);
    struct stream *s = stream_of(c, exchange);
    if (!s || mp_assembler_feed(&s->assembler, piece, kind, &m) != MCPLUG_OK) {
        give_up(c);
        return;
    }
    if (m) {
        m->exchange = s->exchange;
        enqueue(c, m);
    } else if (s->exchange) {
        tell_overrun(c, s);
    }
}

static void wire_exchange_end(mcplug_conn *c, uint64_t exchange,
                              const struct mcplug_error *why)
{
    if (breaks(c, c->closed, "exchange_end after closed"))
        return;
    stream_drop(c, exchange);
    mp_message *m = end_of(exchange, MP_MESSAGE_END, why);
    if (m)
        enqueue(c, m);
    else
        give_up(c);
}

static void wire_discard(mcplug_conn *c, uint64_t exchange)
{
    if (breaks(c, c->closed, "discard after closed"))
        return;
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
    mp_message *m =
        c->closed ? NULL : mp_message_new((const char *)line.data, line.len, NULL);

    if (m) {
        m->state = MP_MESSAGE_REMARK;
        enqueue(c, m);
    }
}

static void wire_describe(mcplug_conn *c, const char *name, const char *value)
{
    if (!c->closed)
        c->o.events->described(c->o.arg, name, value);
}

static void wire_closed(mcplug_conn *c, const struct mcplug_error *why)
{
    if (breaks(c, c->closed, "closed twice"))
        return;
    c->closed = true;
    if (why && !c->why->code) {
        struct mcplug_error reason;
        take_reason(&reason, why);
        mp_error_keep(&c->why, &reason);
    }
    mp_job_defer(c->o.loop, &c->job, deliver);
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

static void link_free(mcplug_conn *c)
{
    mp_job_drop(c->o.loop, &c->job);
    mp_job_drop(c->o.loop, &c->flusher);
    while (c->streams)
        stream_drop(c, c->streams->exchange);
    if (c->spare) {
        mp_assembler_clear(&c->spare->assembler);
        mp_free(c->spare);
    }
    mp_assembler_clear(&c->shared.assembler);
    while (c->first) {
        mp_message *m = c->first;
        c->first = m->next;
        mp_message_unref(m);
    }
    mp_props_free(c->settings);
    mp_error_drop(&c->why);
    mp_free(c);
}

static void hand_on(mcplug_conn *c, mp_message *m)
{
    const struct mp_link_events *events = c->o.events;

    switch (m->state) {
    case MP_MESSAGE_READ:
    case MP_MESSAGE_NOISE:
    case MP_MESSAGE_BROKEN:
        events->message(c->o.arg, m);
        break;
    case MP_MESSAGE_REMARK:
        events->remark(c->o.arg, mp_bytes(m->text, m->len));
        break;
    case MP_MESSAGE_OVERRUN:
        mp_link_cancel(c, m->exchange);
        /* fall through */
    case MP_MESSAGE_END:
        events->exchange_end(c->o.arg, m->exchange, m->error);
        break;
    }
}

static void deliver(struct mp_job *job)
{
    mcplug_conn *c = MP_OF(job, mcplug_conn, job);

    if (c->opened && !c->opened_told) {
        c->opened_told = true;
        c->o.events->opened(c->o.arg);
    }
    while (c->first) {
        mp_message *m = c->first;
        c->first = m->next;
        if (!c->first)
            c->last = &c->first;
        m->next = NULL;
        hand_on(c, m);
        mp_message_unref(m);
    }
    if (c->closed) {
        c->ops->destroy(c->transport);
        c->o.events->closed(c->o.arg, c->why->code ? c->why : NULL);
        link_free(c);
    } else if (c->given_up) {
        mp_link_close(c);
    }
}

/* ---- what the core calls ---- */

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

mcplug_conn *mp_link_open(const struct mp_link_options *options, struct mcplug_error *err)
{
    mcplug_conn *c = mp_alloc(sizeof *c);
    if (!c) {
        mp_fail_nomem(err);
        return NULL;
    }
    err->code = MCPLUG_OK;
    c->o = *options;
    c->why = &mp_no_error;
    c->ops = options->transport->feature.ops;
    c->last = &c->first;
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
    return c;
}

static void flush(struct mp_job *job)
{
    mcplug_conn *c = MP_OF(job, mcplug_conn, flusher);

    if (!c->closing && !c->closed)
        c->ops->flush(c->transport);
}

/* The first frame of a turn leaves at once, which is all there is for one call after the
 * other, and lets the peer begin; those that follow in the same turn may be joined. */
static uint64_t flags_of_next(mcplug_conn *c)
{
    uint64_t turn = mp_loop_turn_id(c->o.loop);
    bool more = turn && turn == c->sent_in &&
                MCPLUG_HAS(c->ops, struct mcplug_transport_ops, flush);

    c->sent_in = turn;
    return more ? MCPLUG_MORE : 0;
}

int mp_link_send(mcplug_conn *c, mcplug_buf *frame, struct mcplug_envelope *env,
                 struct mcplug_error *err)
{
    if (!c->opened || c->closing || c->closed) {
        mp_buf_unref(frame);
        return mp_fail(err, MCPLUG_ECLOSED, "the connection is %s",
                       c->opened ? "closed" : "not open yet");
    }
    struct mcplug_error own;
    env->struct_size = sizeof *env;
    env->flags = flags_of_next(c);
    if (!err) {
        mp_error_init(&own);
        err = &own;
    }
    err->code = MCPLUG_OK;
    int r = c->ops->send(c->transport, frame, env, err);
    if (r == MCPLUG_QUEUED && env->flags & MCPLUG_MORE)
        mp_job_defer(c->o.loop, &c->flusher, flush);
    return r == MCPLUG_OK || r == MCPLUG_QUEUED ? r : must_tell(c, r, err);
}

void mp_link_close(mcplug_conn *c)
{
    if (c->closing || c->closed)
        return;
    if (c->flusher.queued)
        c->ops->flush(c->transport);
    c->closing = true;
    if (!c->closed) /* flush() may have found that out */
        c->ops->close(c->transport);
}

uint64_t mp_link_heard_at(const mcplug_conn *c)
{
    return c->heard_at;
}

uint64_t mp_link_unread(const mcplug_conn *c)
{
    bool can_tell = !c->closing && !c->closed &&
                    MCPLUG_HAS(c->ops, struct mcplug_transport_ops, unread);
    return can_tell ? c->ops->unread(c->transport) : 0;
}

bool mp_link_can_cancel(const mcplug_conn *c)
{
    return c->ops->caps & MCPLUG_CAN_EXCHANGE ||
           MCPLUG_HAS(c->ops, struct mcplug_transport_ops, cancel);
}

void mp_link_cancel(mcplug_conn *c, uint64_t exchange)
{
    if (c->closing || c->closed)
        return;
    if (MCPLUG_HAS(c->ops, struct mcplug_transport_ops, cancel))
        c->ops->cancel(c->transport, exchange);
    stream_drop(c, exchange); /* no end of it need follow */
}

void mp_link_settled(mcplug_conn *c, uint64_t exchange)
{
    if (c->closing || c->closed || !(c->ops->caps & MCPLUG_CAN_EXCHANGE) ||
        !MCPLUG_HAS(c->ops, struct mcplug_transport_ops, settled))
        return;
    for (const mp_message *m = c->first; m; m = m->next)
        if (m->state == MP_MESSAGE_END && m->exchange == exchange)
            return; /* the module has said its end, which waits to be handed on */
    c->ops->settled(c->transport, exchange);
    stream_drop(c, exchange);
}
