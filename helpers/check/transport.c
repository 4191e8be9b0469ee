#include "helpers/check/kit.h"

#include "base/buf.h"
#include "base/error.h"
#include "base/mem.h"
#include "loop/loop.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

#define PATIENCE_MS 5000 /* for opened(), written() and closed() */
#define REPLY_MS 200     /* for an answer, which nobody has to give */
#define LATE_MS 50       /* for calls after the last one */
#define BLOCKED_MS 50    /* a call on the loop thread must not take longer */

/* ---- buffers that know who holds them ---- */

struct mcplug_buf {
    atomic_int refs;
    bool kept; /* by the kit, which wants to read `refs` later */
    size_t len;
    char data[];
};

static mcplug_buf *kit_buf_new(const void *data, size_t len)
{
    mcplug_buf *buf = mp_alloc(sizeof *buf + len + 1);
    if (buf) {
        atomic_init(&buf->refs, 1);
        buf->len = len;
        if (len)
            memcpy(buf->data, data, len);
    }
    return buf;
}

static mcplug_buf *kit_buf_ref(mcplug_buf *buf)
{
    atomic_fetch_add(&buf->refs, 1);
    return buf;
}

static void kit_buf_unref(mcplug_buf *buf)
{
    if (buf && atomic_fetch_sub(&buf->refs, 1) == 1 && !buf->kept)
        mp_kit_memory_free(buf);
}

/* One that the module makes, and has to drop. */
static mcplug_buf *module_buf_new(const void *data, size_t len)
{
    mcplug_buf *buf = kit_buf_new(data, len);
    if (buf && !mp_kit_memory_note(buf, len)) {
        mp_free(buf);
        buf = NULL;
    }
    return buf;
}

static struct mcplug_bytes kit_buf_bytes(const mcplug_buf *buf)
{
    return mp_bytes(buf->data, buf->len);
}

const struct mcplug_mem mp_kit_mem = {
    .struct_size = sizeof mp_kit_mem,
    .alloc = mp_kit_memory_alloc,
    .resize = mp_kit_memory_resize,
    .free = mp_kit_memory_free,
    .buf_new = module_buf_new,
    .buf_ref = kit_buf_ref,
    .buf_unref = kit_buf_unref,
    .buf_bytes = kit_buf_bytes,
};

mcplug_buf *mp_kit_buf_lend(const void *data, size_t len)
{
    mcplug_buf *buf = kit_buf_new(data, len);
    if (buf)
        buf->kept = true;
    return buf;
}

int mp_kit_buf_take_back(mcplug_buf *buf)
{
    int refs = atomic_load(&buf->refs);
    if (refs <= 1)
        mp_free(buf);
    return refs;
}

/* ---- the record of one connection ---- */

#define SERIAL 1
#define EXCHANGE 1

struct mcplug_conn {
    struct mp_kit *kit;
    const char *name; /* of the transport */
    pthread_t thread;
    _Atomic(const char *) foreign; /* what was called on another thread */
    unsigned opened, written, messages, ended, closed;
    uint32_t caps;           /* of the transport */
    bool queued;             /* send() kept the frame */
    bool asked;              /* to close */
    struct mcplug_error why; /* closed() said */
    struct mcplug_error end; /* exchange_end() said; 0: nothing */
    char remark[128];        /* the last line */
    const char *wrong[8];    /* static texts, each once */
    size_t n_wrong;
};

static void wrong(mcplug_conn *conn, const char *what)
{
    for (size_t i = 0; i < conn->n_wrong; i++)
        if (conn->wrong[i] == what)
            return;
    if (conn->n_wrong < MP_COUNT(conn->wrong))
        conn->wrong[conn->n_wrong++] = what;
}

/* False: on another thread, where the rest of the record must not be touched. */
static bool here(mcplug_conn *conn, const char *call)
{
    if (pthread_equal(conn->thread, pthread_self()))
        return true;
    atomic_store(&conn->foreign, call);
    return false;
}

static void kit_opened(mcplug_conn *conn)
{
    if (!here(conn, "opened()"))
        return;
    if (conn->closed)
        wrong(conn, "opened() after closed()");
    else if (conn->opened)
        wrong(conn, "opened() more than once");
    conn->opened++;
}

static void kit_feed(mcplug_conn *conn, uint64_t exchange, struct mcplug_bytes piece,
                     int last)
{
    if (!here(conn, "feed()"))
        return;
    if (conn->closed)
        wrong(conn, "feed() after closed()");
    else if (!conn->opened)
        wrong(conn, "feed() before opened()");
    if (piece.len && !piece.data)
        wrong(conn, "feed() of bytes at NULL");
    if (exchange != 0 && exchange != EXCHANGE)
        wrong(conn, "feed() for an exchange that was never begun");
    else if (exchange != 0 && conn->ended)
        wrong(conn, "feed() for an exchange after its end");
    conn->messages += last != 0;
}

static void kit_exchange_end(mcplug_conn *conn, uint64_t exchange,
                             const struct mcplug_error *why)
{
    if (!here(conn, "exchange_end()"))
        return;
    if (why)
        mp_error_copy(&conn->end, why);
    if (conn->closed)
        wrong(conn, "exchange_end() after closed()");
    if (!(conn->caps & MCPLUG_CAN_EXCHANGE))
        wrong(conn, "exchange_end() without MCPLUG_CAN_EXCHANGE in its caps");
    if (exchange != EXCHANGE)
        wrong(conn, "exchange_end() for an exchange that was never begun");
    else if (conn->ended++)
        wrong(conn, "exchange_end() more than once");
}

static void kit_written(mcplug_conn *conn, uint64_t serial)
{
    if (!here(conn, "written()"))
        return;
    if (conn->closed)
        wrong(conn, "written() after closed()");
    if (serial != SERIAL)
        wrong(conn, "written() for a serial that was never sent");
    else if (conn->written++)
        wrong(conn, "written() more than once for one serial");
}

static void kit_remark(mcplug_conn *conn, struct mcplug_bytes line)
{
    if (!here(conn, "remark()"))
        return;
    if (conn->closed)
        wrong(conn, "remark() after closed()");
    if (line.len && !line.data)
        wrong(conn, "remark() of bytes at NULL");
    else
        snprintf(conn->remark, sizeof conn->remark, "%.*s",
                 (int)(line.len < sizeof conn->remark ? line.len : sizeof conn->remark),
                 (const char *)line.data);
}

static void kit_describe(mcplug_conn *conn, const char *name, const char *value)
{
    if (!here(conn, "describe()"))
        return;
    if (conn->closed)
        wrong(conn, "describe() after closed()");
    if (!name || !value)
        wrong(conn, "describe() without a name or value");
}

static void kit_closed(mcplug_conn *conn, const struct mcplug_error *why)
{
    if (!here(conn, "closed()"))
        return;
    if (conn->closed)
        wrong(conn, "closed() more than once");
    if (why && why->code >= 0)
        wrong(conn, "closed() for a reason without an error code");
    if (why && !conn->closed)
        mp_error_copy(&conn->why, why);
    conn->closed++;
}

static void kit_discard(mcplug_conn *conn, uint64_t exchange)
{
    if (!here(conn, "discard()"))
        return;
    if (conn->closed)
        wrong(conn, "discard() after closed()");
    if (exchange != 0 && exchange != EXCHANGE)
        wrong(conn, "discard() for an exchange that was never begun");
}

const struct mcplug_wire mp_kit_wire = {
    .struct_size = sizeof mp_kit_wire,
    .opened = kit_opened,
    .feed = kit_feed,
    .exchange_end = kit_exchange_end,
    .written = kit_written,
    .remark = kit_remark,
    .describe = kit_describe,
    .closed = kit_closed,
    .discard = kit_discard,
};

/* ---- one life of a transport ---- */

static bool is_open_or_closed(const void *arg)
{
    const mcplug_conn *conn = arg;

    return conn->opened || conn->closed;
}

static bool is_written_or_closed(const void *arg)
{
    const mcplug_conn *conn = arg;

    return conn->written || conn->closed;
}

static bool is_answered(const void *arg)
{
    const mcplug_conn *conn = arg;

    return conn->messages || conn->ended || conn->closed;
}

static bool is_closed(const void *arg)
{
    const mcplug_conn *conn = arg;

    return conn->closed;
}

static bool never(const void *arg)
{
    (void)arg;
    return false;
}

static bool await(mcplug_conn *conn, bool (*so)(const void *arg), uint64_t ms)
{
    char who[64];

    snprintf(who, sizeof who, "transport \"%s\"", conn->name);
    return mp_kit_await(conn->kit, who, so, conn, ms);
}

static void enter(struct mp_kit *kit, const char *name, const char *op)
{
    mp_kit_enter(kit, "transport \"%s\": %s()", name, op);
}

static void leave(struct mp_kit *kit, const char *name, const char *op)
{
    uint64_t took = mp_kit_leave(kit);
    if (took > BLOCKED_MS)
        mp_kit_say(kit, true,
                   "warning: transport \"%s\": %s() kept the loop waiting for %u ms",
                   name, op, (unsigned)took);
}

/* Sends one frame, of which the kit keeps a reference to `*kept`. */
static void try_send(struct mp_kit *kit, const struct mp_offer *offer, void *t,
                     mcplug_conn *conn, mcplug_buf **kept)
{
    static const char ping[] = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}";
    static const struct mcplug_pair meta[] = {{"method", "ping"},
                                              {"protocol-version", "2025-11-25"}};
    const struct mcplug_transport_ops *ops = offer->feature.ops;
    bool can_flush = MCPLUG_HAS(ops, struct mcplug_transport_ops, flush);
    const struct mcplug_envelope env = {.struct_size = sizeof env,
                                        .kind = MCPLUG_REQUEST,
                                        .serial = SERIAL,
                                        .exchange = EXCHANGE,
                                        .meta = meta,
                                        .n_meta = MP_COUNT(meta),
                                        .flags = can_flush ? MCPLUG_MORE : 0};
    const char *name = offer->feature.name;
    struct mcplug_error why = MCPLUG_ERROR_INIT;
    mcplug_buf *frame = kit_buf_new(ping, sizeof ping - 1);

    if (!frame)
        return;
    frame->kept = true;
    *kept = kit_buf_ref(frame);
    enter(kit, name, "send");
    int r = ops->send(t, frame, &env, &why);
    leave(kit, name, "send");
    conn->queued = r == MCPLUG_QUEUED;
    if (can_flush && !conn->closed) {
        enter(kit, name, "flush");
        ops->flush(t);
        leave(kit, name, "flush");
    }
    if (r > MCPLUG_QUEUED)
        mp_kit_say(kit, false, "transport \"%s\": send() returned the unknown code %d",
                   name, r);
    else if (r < 0 && why.text[0])
        mp_kit_say(kit, true, "warning: transport \"%s\": send() failed: %s", name,
                   why.text);
    else if (r < 0)
        mp_kit_say(kit, false, "transport \"%s\": send() failed: no reason given", name);
    if (conn->queued && !await(conn, is_written_or_closed, PATIENCE_MS))
        mp_kit_say(kit, false,
                   "transport \"%s\": written() did not follow MCPLUG_QUEUED within %d s",
                   name, PATIENCE_MS / 1000);
    await(conn, is_answered, REPLY_MS);
    if (conn->written && !conn->queued)
        wrong(conn, "written() for a frame that was not queued");
}

/* Whatever was held of the frame must be dropped once the instance is gone. One that
 * is still held is not freed, because somebody may yet look at it. */
static void check_frame(struct mp_kit *kit, const char *name, mcplug_buf *frame)
{
    if (!frame)
        return;
    int refs = atomic_load(&frame->refs);
    if (refs > 1)
        mp_kit_say(kit, false,
                   "transport \"%s\": send() takes the frame, but it was never "
                   "dropped",
                   name);
    else if (refs < 1)
        mp_kit_say(kit, false, "transport \"%s\": the frame was dropped more than once",
                   name);
    if (refs <= 1)
        mp_free(frame);
}

static void sum_up(struct mp_kit *kit, const char *name, const mcplug_conn *conn,
                   int failed_before)
{
    for (size_t i = 0; i < conn->n_wrong; i++)
        mp_kit_say(kit, false, "transport \"%s\": %s", name, conn->wrong[i]);
    const char *foreign = atomic_load(&conn->foreign);
    if (foreign)
        mp_kit_say(kit, false, "transport \"%s\": called %s on another thread", name,
                   foreign);
    if (!conn->asked)
        mp_kit_say(kit, conn->opened, "%stransport \"%s\": %s: %s%s%s",
                   conn->opened ? "warning: " : "", name,
                   conn->opened ? "the connection ended by itself" : "could not connect",
                   conn->why.text[0] ? conn->why.text : "no reason given",
                   conn->remark[0] ? "; the last remark was: " : "", conn->remark);
    if (conn->end.code)
        mp_kit_say(kit, true, "warning: transport \"%s\": the exchange failed: %s", name,
                   conn->end.text[0] ? conn->end.text : "no reason given");
    if (kit->failed == failed_before)
        mp_kit_say(kit, true, "transport \"%s\": everything in order and counted%s", name,
                   conn->messages ? ", and an answer came" : "");
}

/* From a good open() to the end. False: it did not end. */
static bool live_on(struct mp_kit *kit, const struct mp_offer *offer, void *t,
                    mcplug_conn *conn)
{
    const struct mcplug_transport_ops *ops = offer->feature.ops;
    const char *name = offer->feature.name;
    mcplug_buf *frame = NULL;

    if (!await(conn, is_open_or_closed, PATIENCE_MS))
        mp_kit_say(
            kit, false,
            "transport \"%s\": neither opened() nor closed() within %d s of open()", name,
            PATIENCE_MS / 1000);
    else if (conn->opened && !conn->closed)
        try_send(kit, offer, t, conn, &frame);
    if (!conn->closed) {
        conn->asked = true;
        enter(kit, name, "close");
        ops->close(t);
        leave(kit, name, "close");
    }
    if (!await(conn, is_closed, PATIENCE_MS)) {
        mp_kit_say(kit, false,
                   "transport \"%s\": closed() did not come within %d s of close()", name,
                   PATIENCE_MS / 1000);
        return false;
    }
    enter(kit, name, "destroy");
    ops->destroy(t);
    leave(kit, name, "destroy");
    await(conn, never, LATE_MS);
    check_frame(kit, name, frame);
    return true;
}

void mp_kit_live(struct mp_kit *kit, const struct mp_offer *offer,
                 const mcplug_props *settings)
{
    const struct mcplug_transport_ops *ops = offer->feature.ops;
    const char *name = offer->feature.name;
    struct mcplug_error why = MCPLUG_ERROR_INIT;
    mcplug_conn *conn = mp_alloc(sizeof *conn);
    int before = kit->failed;
    void *t = NULL;

    if (!conn) {
        mp_kit_say(kit, false, "transport \"%s\": out of memory", name);
        return;
    }
    conn->kit = kit;
    conn->name = name;
    conn->thread = pthread_self();
    conn->caps = ops->caps;
    enter(kit, name, "open");
    int r = ops->open(offer->plugin->ctx, conn, settings, &t, &why);
    leave(kit, name, "open");
    if (r == MCPLUG_OK) {
        if (!live_on(kit, offer, t, conn))
            kit->stuck = true;
        sum_up(kit, name, conn, before);
    } else {
        await(conn, never, LATE_MS);
        mp_kit_say(kit, false, "transport \"%s\": open() failed: %s", name,
                   why.text[0] ? why.text : "no reason given");
        if (is_open_or_closed(conn))
            mp_kit_say(kit, false,
                       "transport \"%s\": calls followed an open() that failed", name);
    }
    if (!kit->stuck)
        mp_free(conn);
}
