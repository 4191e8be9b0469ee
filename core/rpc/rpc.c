#include "rpc/rpc.h"

#include "base/error.h"
#include "base/mem.h"
#include "base/text.h"

#define NOISE_LOGGED_MAX 20 /* lines; the rest is only counted */
#define NOISE_SHOWN_MAX 120 /* bytes of one */

/* How the peer writes the ids of our requests, which are numbers. Some read them as
 * strings, and answer to "1". The first answer to a call shows it: who has answered to a
 * number knows them, and means something else by a string. */
enum id_form { IDS_UNSEEN, IDS_NUMBERS, IDS_STRINGS };

/* Frames that the transport keeps until they can be written: which, and how much. */
struct unsent {
    struct unsent_frame {
        uint64_t serial;
        uint32_t len;
        bool aside; /* an answer or a notification */
    } * frames;     /* those from `first` on, oldest first */
    size_t first, count, cap;
    size_t bytes;       /* of all */
    size_t aside_bytes; /* of those that are aside */
};

/* Answers that the peer did not take in time. */
struct dropped {
    uint64_t count;     /* since the last log line */
    uint64_t logged_at; /* loop time; 0: never */
};

struct mp_rpc {
    struct mp_rpc_options o;
    mcplug_conn *link;
    struct mp_ledger calls;
    uint64_t issued, ended[MP_OUTCOMES], late, unknown;
    struct mp_noise noise;
    uint64_t serial; /* of the last frame; ids are serials */
    struct unsent unsent;
    struct dropped dropped;
    enum id_form ids;
    bool closing;
    struct mp_job ender; /* ends the calls of an rpc that was closed */
};

static const struct mcplug_error asked_for = {.struct_size = sizeof asked_for,
                                              .code = MCPLUG_ECANCELED,
                                              .text = "the server was closed"};

/* ---- frames that wait ---- */

/* Is there room for one more? MCPLUG_EOVERLOADED, _ENOMEM */
static int unsent_room(struct unsent *w, size_t len, bool aside, struct mcplug_error *err)
{
    if (aside && w->aside_bytes >= MP_ASIDE_MAX)
        return mp_fail(err, MCPLUG_EOVERLOADED,
                       "overloaded: %zu bytes of answers and notifications are waiting "
                       "to be written, the limit is %d bytes",
                       w->aside_bytes, MP_ASIDE_MAX);
    if (w->bytes + len > MP_QUEUE_MAX && w->bytes > 0)
        return mp_fail(err, MCPLUG_EOVERLOADED,
                       "overloaded: %zu bytes in %zu messages are waiting to be written, "
                       "the limit is %d bytes",
                       w->bytes, w->count, MP_QUEUE_MAX);
    if (w->first + w->count < w->cap)
        return MCPLUG_OK;
    if (w->first > 0 && w->first >= w->count) {
        memmove(w->frames, w->frames + w->first, w->count * sizeof *w->frames);
        w->first = 0;
        return MCPLUG_OK;
    }
    return mp_grow(&w->frames, &w->cap, w->cap + 1) ? MCPLUG_OK : mp_fail_nomem(err);
}

static void unsent_add(struct unsent *w, uint64_t serial, size_t len, bool aside)
{
    w->frames[w->first + w->count++] =
        (struct unsent_frame){serial, (uint32_t)len, aside};
    w->bytes += len;
    w->aside_bytes += aside ? len : 0;
}

/* It was written, or its answer is not awaited any more; none is fine. */
static void unsent_forget(struct unsent *w, uint64_t serial)
{
    struct unsent_frame *f = w->frames + w->first;
    size_t at = 0, end = w->count;

    while (at < end && f[at].serial != serial) { /* nearly always the first */
        size_t middle = at + (end - at) / 2;
        if (f[middle].serial <= serial) /* they count up */
            at = f[middle].serial == serial ? middle : middle + 1;
        else
            end = middle;
    }
    if (at >= end)
        return;
    w->bytes -= f[at].len;
    w->aside_bytes -= f[at].aside ? f[at].len : 0;
    w->count--;
    if (at > w->count / 2) {
        memmove(f + at, f + at + 1, (w->count - at) * sizeof *f);
        return;
    }
    memmove(f + 1, f, at * sizeof *f);
    w->first++;
}

/* ---- ending calls ---- */

enum mp_outcome mp_outcome_of(int code)
{
    switch (code) {
    case MCPLUG_EPEER:
        return MP_PEER_ERROR;
    case MCPLUG_ETIMEDOUT:
    case MCPLUG_ERESTARTING:
        return MP_TIMED_OUT;
    case MCPLUG_ECANCELED:
        return MP_CANCELLED;
    default:
        return MP_TRANSPORT_ERROR;
    }
}

/* The one place where a call ends. */
static void complete(struct mp_call *call, mp_message *reply,
                     const struct mcplug_error *why)
{
    struct mp_rpc *rpc = call->rpc;

    mp_timer_stop(rpc->o.link.loop, &call->deadline);
    mp_job_drop(rpc->o.link.loop, &call->job);
    mp_ledger_remove(&rpc->calls, call->id);
    if (rpc->link && mp_link_can_cancel(rpc->link)) {
        unsent_forget(&rpc->unsent, call->id);
        if (!call->stream_over)
            mp_link_settled(rpc->link, call->id);
    }
    /* Counted before `done`, so that the books are right when it looks at them. */
    enum mp_outcome first = why ? mp_outcome_of(why->code) : MP_OK;
    rpc->ended[first]++;
    enum mp_outcome outcome = call->done(call, reply, why);
    if (!why && outcome != first) {
        rpc->ended[first]--;
        rpc->ended[outcome]++;
    }
}

static void tell_cancelled(const struct mp_call *call, const char *reason)
{
    struct mp_rpc *rpc = call->rpc;

    if (!rpc->link)
        return;
    if (mp_link_can_cancel(rpc->link)) {
        mp_link_cancel(rpc->link, call->id);
        if (!call->written)
            return; /* it never got there */
    }
    if (rpc->unsent.aside_bytes >= MP_CANCELS_MAX)
        return; /* a peer that reads nothing would not read that either */
    rpc->o.events->cancelled(rpc->o.arg, call, reason);
}

static void end_now(struct mp_job *job)
{
    struct mp_call *call = MP_OF(job, struct mp_call, job);
    struct mcplug_error why = MCPLUG_ERROR_INIT;

    mp_fail(&why, MCPLUG_ECANCELED, "%s", call->ending);
    if (call->tell)
        tell_cancelled(call, "cancelled");
    complete(call, NULL, &why);
}

void mp_rpc_cancel(struct mp_call *call, const char *text, bool tell)
{
    if (call->job.queued)
        return;
    call->tell = tell;
    call->ending = text;
    mp_job_defer(call->rpc->o.link.loop, &call->job, end_now);
}

static void on_deadline(struct mp_timer *timer)
{
    struct mp_call *call = MP_OF(timer, struct mp_call, deadline);
    struct mcplug_error why = MCPLUG_ERROR_INIT;

    mp_fail(&why, MCPLUG_ETIMEDOUT, "request timed out");
    if (call->timed_out)
        call->timed_out(call, &why);
    tell_cancelled(call, "timed out");
    complete(call, NULL, &why);
}

static void say_if_written(const struct mp_call *call, struct mcplug_error *e)
{
    static const char note[] = " (the request had already been sent)";
    size_t n = strlen(e->text);

    if (call->written && n + sizeof note <= sizeof e->text)
        memcpy(e->text + n, note, sizeof note);
}

/* In the order in which they were made: those that can be made again are, in it. */
static void end_all(struct mp_rpc *rpc, const struct mcplug_error *why)
{
    struct mp_call *call;

    while ((call = rpc->calls.oldest)) {
        struct mcplug_error e = *why;
        if (call->job.queued)
            mp_fail(&e, MCPLUG_ECANCELED, "%s", call->ending);
        if (e.code != MCPLUG_ECANCELED)
            say_if_written(call, &e);
        complete(call, NULL, &e);
    }
}

/* ---- what comes in ---- */

static void tell_frame(struct mp_rpc *rpc, const char *text, size_t len, bool sent,
                       bool truncated)
{
    struct mp_event event = {
        .kind = MP_EVENT_FRAME,
        .level = MCPLUG_LOG_TRACE,
        .source = rpc->o.link.source,
        .frame = {.text = text, .len = len, .sent = sent, .truncated = truncated},
    };
    mp_events_tell(rpc->o.link.log, &event);
}

static bool id_of(mp_view v, uint64_t *id)
{
    int64_t n;
    if (!mp_view_int(v, &n) || n <= 0)
        return false;
    *id = (uint64_t)n;
    return true;
}

/* The text of a number as we would write it, and nothing else. */
static bool quoted_id_of(mp_view v, uint64_t *id)
{
    return mp_view_is_string(v) && v.len > 2 && v.data[1] != '0' &&
           id_of(mp_bytes(v.data + 1, v.len - 2), id);
}

bool mp_rpc_read_id(const struct mp_rpc *rpc, mp_view v, uint64_t *id)
{
    return id_of(v, id) || (rpc->ids == IDS_STRINGS && quoted_id_of(v, id));
}

static void peer_error(mp_message *m, struct mcplug_error *why)
{
    int64_t code = 0;
    char *text = mp_view_strdup(mp_message_inner(m, "message"));

    bool whole = mp_view_int(mp_message_inner(m, "code"), &code) && text;
    mp_fail(why, MCPLUG_EPEER, "%s", text ? text : "error without a message");
    if (!whole && text)
        mp_fail(why, MCPLUG_EPEER, "%s (error without a code)", text);
    why->peer_status = code >= INT32_MIN && code <= INT32_MAX ? (int32_t)code : 0;
    mp_free(text);
}

static void on_reply(struct mp_call *call, mp_message *m)
{
    struct mcplug_error why;
    const struct mp_envelope *env = &m->env;
    const char *fault = NULL;

    mp_error_init(&why);
    if (env->result.len + env->error.len > 0 && env->params.len)
        fault = "the reply has params";
    else if (env->result.len && env->error.len)
        fault = "the reply has both a result and an error";
    else if (env->result.len && !mp_view_is_object(mp_message_view(m, env->result)))
        fault = "the reply's result is not an object";
    else if (!env->result.len && !mp_view_is_object(mp_message_view(m, env->error)))
        fault = "the reply has neither a result nor an error object";
    if (fault) {
        mp_fail(&why, MCPLUG_EPROTO, "%s", fault);
        complete(call, NULL, &why);
    } else if (mp_message_unique(m, NULL) != MCPLUG_OK) {
        struct mcplug_error twice = MCPLUG_ERROR_INIT;
        int r = mp_message_unique(m, &twice);
        mp_fail(&why, r, r == MCPLUG_EPROTO ? "the reply has a %s" : "%s", twice.text);
        complete(call, NULL, &why);
    } else if (env->result.len) {
        mp_message_expose(m, env->result);
        complete(call, m, NULL);
    } else {
        peer_error(m, &why);
        mp_message_expose(m, env->error);
        complete(call, m, &why);
    }
}

/* The one call that waits for an answer; NULL when there are more. */
static struct mp_call *only_call(const struct mp_rpc *rpc)
{
    struct mp_call *only = NULL;

    for (struct mp_call *call = rpc->calls.oldest; call; call = call->newer) {
        if (call->standing)
            continue;
        if (only)
            return NULL;
        only = call;
    }
    return only;
}

/* A string. Of a peer that has answered nothing yet it must be the id of a call under
 * way, and if it came as the reply to one, of that; else `id` stays as it was. */
static struct mp_call *call_by_string(struct mp_rpc *rpc, const mp_message *m,
                                      mp_view raw, uint64_t *id)
{
    struct mp_call *call = NULL;
    uint64_t n;

    if (rpc->ids == IDS_NUMBERS || !quoted_id_of(raw, &n))
        return NULL;
    if (rpc->ids == IDS_STRINGS || m->exchange == 0 || m->exchange == n)
        call = mp_ledger_find(&rpc->calls, n);
    if (call && rpc->ids == IDS_UNSEEN) {
        rpc->ids = IDS_STRINGS;
        mp_log(rpc->o.link.log, MCPLUG_LOG_VERBOSE, rpc->o.link.source,
               "answers with strings instead of the numeric ids of requests");
    }
    if (rpc->ids == IDS_STRINGS)
        *id = n;
    return call;
}

/* An error without an id is the peer's word on a request that it could not read;
 * where only one is under way, that is the one. */
static void on_response(struct mp_rpc *rpc, mp_message *m)
{
    uint64_t id = 0;
    struct mp_call *call = NULL;
    mp_view raw = mp_message_view(m, m->env.id);

    if (id_of(raw, &id)) {
        call = mp_ledger_find(&rpc->calls, id);
        if (call && rpc->ids == IDS_UNSEEN)
            rpc->ids = IDS_NUMBERS;
    } else if (mp_view_is_string(raw)) {
        call = call_by_string(rpc, m, raw, &id);
    } else if ((raw.len == 0 || mp_view_is_null(raw)) && m->env.error.len) {
        call = m->exchange ? mp_ledger_find(&rpc->calls, m->exchange) : only_call(rpc);
    }
    if (call && !call->job.queued) { /* a cancelled one waits for its end already */
        on_reply(call, m);
        return;
    }
    bool late = id && id <= rpc->serial;
    *(late ? &rpc->late : &rpc->unknown) += 1;
    mp_log(rpc->o.link.log, MCPLUG_LOG_VERBOSE, rpc->o.link.source,
           "answer to %s request %llu dropped", late ? "ended" : "unknown",
           (unsigned long long)id);
}

/* `what` it is: "what is no message". The same again is logged once. */
static void on_noise(struct mp_rpc *rpc, const char *what, const mp_message *m)
{
    struct mp_noise *noise = &rpc->noise;
    char was[sizeof noise->last];

    noise->count++;
    memcpy(was, noise->last, sizeof was);
    mp_text_line(noise->last, sizeof noise->last, m->text, m->len);
    if (noise->logged >= NOISE_LOGGED_MAX ||
        (noise->logged && strcmp(was, noise->last) == 0))
        return;
    mp_log(rpc->o.link.log, MCPLUG_LOG_WARN, rpc->o.link.source, "ignored %s%s%s: %.*s",
           what, m->error ? ": " : "", m->error ? m->error->text : "",
           m->len > NOISE_SHOWN_MAX ? NOISE_SHOWN_MAX : (int)m->len, m->text);
    if (++noise->logged == NOISE_LOGGED_MAX)
        mp_log(rpc->o.link.log, MCPLUG_LOG_WARN, rpc->o.link.source,
               "further lines that are not JSON-RPC are counted, not logged");
}

static void on_unread(struct mp_rpc *rpc, mp_message *m)
{
    struct mcplug_error why = MCPLUG_ERROR_INIT;
    struct mp_call *call = NULL;

    if (m->salvaged_id && (!m->salvaged_string || rpc->ids == IDS_STRINGS))
        call = mp_ledger_find(&rpc->calls, m->salvaged_id);
    if (m->state == MP_MESSAGE_NOISE || !call || call->job.queued) {
        on_noise(rpc, "a line that is not JSON-RPC", m);
        return;
    }
    mp_fail(&why, m->error->code, "the reply could not be read: %s", m->error->text);
    complete(call, NULL, &why);
}

/* Inside a call of the module: a message has become long. */
static bool is_wanted(void *arg, mp_view raw)
{
    const struct mp_rpc *rpc = arg;
    const struct mp_call *call = rpc->calls.oldest;
    uint64_t id;

    if (raw.len) {
        bool known = id_of(raw, &id) || quoted_id_of(raw, &id);
        call = known ? mp_ledger_find(&rpc->calls, id) : NULL;
        return call && call->spills && !call->job.queued;
    }
    while (call && !call->spills)
        call = call->newer;
    return call != NULL;
}

static void on_message(void *arg, mp_message *m);

/* 2025-03-26 lets a peer send several messages as one array. */
static void on_batch(struct mp_rpc *rpc, mp_message *m)
{
    struct mp_scan_limits limits = rpc->o.link.limits.scan;
    struct mp_walk w = mp_walk_into(mp_bytes(m->text, m->len));
    mp_view element;
    size_t count = 0;

    while (mp_walk_element(&w, &element)) {
        mp_message *part = NULL;
        if (mp_view_is_object(element) && m->n_spills == 0)
            part = mp_message_new((const char *)element.data, element.len, NULL);
        if (part && mp_scan_text(part->text, part->len, &limits, &part->env, NULL) == 0) {
            count++;
            part->exchange = m->exchange;
            on_message(rpc, part);
        }
        mp_message_unref(part);
    }
    if (count == 0)
        on_noise(rpc, "an array without messages", m);
}

static void on_message(void *arg, mp_message *m)
{
    struct mp_rpc *rpc = arg;
    const struct mp_envelope *env = &m->env;

    if (rpc->closing)
        return;
    if (mp_events_want(rpc->o.link.log, MP_EVENT_FRAME, MCPLUG_LOG_TRACE))
        tell_frame(rpc, m->text, m->len, false, m->n_spills > 0);
    if (m->state != MP_MESSAGE_READ) {
        on_unread(rpc, m);
    } else if (m->text[0] == '[') {
        on_batch(rpc, m);
    } else if (env->method.len && !mp_view_is_string(mp_message_view(m, env->method))) {
        mp_log(rpc->o.link.log, MCPLUG_LOG_WARN, rpc->o.link.source,
               "ignored a message whose method is not a string");
    } else if (env->method.len && env->id.len && !env->result.len && !env->error.len) {
        rpc->o.events->request(rpc->o.arg, m);
    } else if (env->method.len && !env->id.len) {
        rpc->o.events->notification(rpc->o.arg, m);
    } else {
        on_response(rpc, m);
    }
}

static void on_exchange_end(void *arg, uint64_t exchange, const struct mcplug_error *why)
{
    struct mp_rpc *rpc = arg;
    struct mcplug_error silent = MCPLUG_ERROR_INIT;
    struct mp_call *call = mp_ledger_find(&rpc->calls, exchange);

    unsent_forget(&rpc->unsent, exchange);
    if (call)
        call->stream_over = true;
    if (!call || call->job.queued || rpc->closing)
        return;
    mp_fail(&silent, MCPLUG_EPROTO, "the reply stream ended without a reply");
    if (why && why->os_error) { /* the network's fault, which has its own words */
        silent = *why;
        rpc->o.events->explain(&silent);
        say_if_written(call, &silent);
        why = NULL;
    }
    complete(call, NULL, why ? why : &silent);
}

static void on_opened(void *arg)
{
    struct mp_rpc *rpc = arg;
    rpc->o.events->opened(rpc->o.arg);
}

static void on_remark(void *arg, struct mcplug_bytes line)
{
    struct mp_rpc *rpc = arg;
    rpc->o.events->remark(rpc->o.arg, line);
}

static void on_described(void *arg, const char *name, const char *value)
{
    struct mp_rpc *rpc = arg;
    rpc->o.events->described(rpc->o.arg, name, value);
}

static void on_closed(void *arg, const struct mcplug_error *why)
{
    struct mp_rpc *rpc = arg;
    struct mcplug_error told = asked_for;

    rpc->link = NULL;
    mp_free(rpc->unsent.frames);
    rpc->unsent = (struct unsent){0};
    if (!rpc->closing) {
        if (why)
            told = *why;
        else
            mp_fail(&told, MCPLUG_ECLOSED, "the connection ended");
        rpc->o.events->explain(&told);
    }
    end_all(rpc, &told);
    rpc->o.events->closed(rpc->o.arg, rpc->closing ? NULL : &told);
}

/* ---- what goes out ---- */

static void on_written(void *arg, uint64_t serial)
{
    struct mp_rpc *rpc = arg;
    struct mp_call *call = mp_ledger_find(&rpc->calls, serial);

    if (call)
        call->written = true;
    unsent_forget(&rpc->unsent, serial);
}

static int send_frame(struct mp_rpc *rpc, mcplug_buf *frame, struct mcplug_envelope *env,
                      struct mcplug_error *err)
{
    struct mcplug_bytes bytes = mp_buf_bytes(frame);
    bool aside = env->kind != MCPLUG_REQUEST;

    int r = rpc->link ? unsent_room(&rpc->unsent, bytes.len, aside, err)
                      : mp_fail(err, MCPLUG_ECLOSED, "not connected");
    if (r != MCPLUG_OK) {
        mp_buf_unref(frame);
        return r;
    }
    if (mp_events_want(rpc->o.link.log, MP_EVENT_FRAME, MCPLUG_LOG_TRACE))
        tell_frame(rpc, (const char *)bytes.data, bytes.len, true, false);
    r = mp_link_send(rpc->link, frame, env, err);
    if (r == MCPLUG_QUEUED)
        unsent_add(&rpc->unsent, env->serial, bytes.len, aside);
    return r;
}

uint64_t mp_rpc_next_id(struct mp_rpc *rpc)
{
    return rpc->serial + 1;
}

int mp_rpc_call(struct mp_rpc *rpc, struct mp_call *call, mcplug_buf *frame,
                const struct mcplug_pair *meta, size_t n_meta, uint64_t timeout_ms,
                struct mcplug_error *err)
{
    struct mp_loop *loop = rpc->o.link.loop;
    int r;

    call->rpc = rpc;
    call->id = ++rpc->serial;
    call->written = false;
    if (!mp_ledger_add(&rpc->calls, call) ||
        (timeout_ms && mp_timer_start(loop, &call->deadline, timeout_ms, on_deadline))) {
        mp_buf_unref(frame);
        r = mp_fail_nomem(err);
    } else {
        struct mcplug_envelope env = {.kind = MCPLUG_REQUEST,
                                      .serial = call->id,
                                      .exchange = call->id,
                                      .meta = meta,
                                      .n_meta = n_meta};
        r = send_frame(rpc, frame, &env, err);
    }
    if (r < 0) {
        mp_timer_stop(loop, &call->deadline);
        mp_ledger_remove(&rpc->calls, call->id);
        return r;
    }
    call->written = r == MCPLUG_OK;
    rpc->issued++;
    return MCPLUG_OK;
}

static void note_dropped(struct mp_rpc *rpc, const struct mcplug_error *why)
{
    struct dropped *d = &rpc->dropped;
    uint64_t now = mp_loop_now(rpc->o.link.loop);

    d->count++;
    if (d->logged_at && now - d->logged_at < MP_DROPPED_MS)
        return;
    mp_log(rpc->o.link.log, MCPLUG_LOG_WARN, rpc->o.link.source,
           "dropped %llu answer%s to requests of the server: %s",
           (unsigned long long)d->count, d->count == 1 ? "" : "s", why->text);
    d->logged_at = now ? now : 1;
    d->count = 0;
}

int mp_rpc_send(struct mp_rpc *rpc, int kind, uint64_t exchange, mcplug_buf *frame,
                const struct mcplug_pair *meta, size_t n_meta, struct mcplug_error *err)
{
    struct mcplug_envelope env = {.kind = kind,
                                  .serial = ++rpc->serial,
                                  .exchange = exchange,
                                  .meta = meta,
                                  .n_meta = n_meta};
    struct mcplug_error own = MCPLUG_ERROR_INIT;

    if (!err)
        err = &own;
    int r = send_frame(rpc, frame, &env, err);
    if (r == MCPLUG_EOVERLOADED && kind == MCPLUG_RESPONSE)
        note_dropped(rpc, err);
    return r < 0 ? r : MCPLUG_OK;
}

/* ---- life ---- */

static const struct mp_link_events link_events = {
    .opened = on_opened,
    .message = on_message,
    .exchange_end = on_exchange_end,
    .remark = on_remark,
    .written = on_written,
    .described = on_described,
    .closed = on_closed,
};

struct mp_rpc *mp_rpc_new(const struct mp_rpc_options *options, struct mcplug_error *err)
{
    struct mp_rpc *rpc = mp_alloc(sizeof *rpc);
    if (!rpc) {
        mp_fail_nomem(err);
        return NULL;
    }
    rpc->o = *options;
    rpc->o.link.events = &link_events;
    rpc->o.link.arg = rpc;
    rpc->o.link.limits.wanted = is_wanted;
    rpc->o.link.limits.arg = rpc;
    return rpc;
}

void mp_rpc_use(struct mp_rpc *rpc, const struct mp_offer *transport,
                const mcplug_props *settings)
{
    rpc->o.link.transport = transport;
    rpc->o.link.settings = settings;
}

const char *mp_rpc_transport(const struct mp_rpc *rpc)
{
    return rpc->o.link.transport->feature.name;
}

bool mp_rpc_has_exchanges(const struct mp_rpc *rpc)
{
    const struct mcplug_transport_ops *ops = rpc->o.link.transport->feature.ops;
    return rpc->link && ops->caps & MCPLUG_CAN_EXCHANGE;
}

uint64_t mp_rpc_unread(const struct mp_rpc *rpc)
{
    return rpc->link ? mp_link_unread(rpc->link) : 0;
}

void mp_rpc_free(struct mp_rpc *rpc)
{
    if (!rpc)
        return;
    mp_job_drop(rpc->o.link.loop, &rpc->ender);
    mp_ledger_clear(&rpc->calls);
    mp_free(rpc->unsent.frames);
    mp_free(rpc);
}

int mp_rpc_connect(struct mp_rpc *rpc, struct mcplug_error *err)
{
    struct mcplug_error own = MCPLUG_ERROR_INIT;

    if (!err)
        err = &own;
    rpc->ids = IDS_UNSEEN;
    rpc->link = mp_link_open(&rpc->o.link, err);
    return rpc->link ? MCPLUG_OK : err->code;
}

static void end_after_close(struct mp_job *job)
{
    end_all(MP_OF(job, struct mp_rpc, ender), &asked_for);
}

void mp_rpc_hang_up(struct mp_rpc *rpc)
{
    if (rpc->link)
        mp_link_close(rpc->link);
}

void mp_rpc_close(struct mp_rpc *rpc)
{
    rpc->closing = true;
    mp_job_defer(rpc->o.link.loop, &rpc->ender, end_after_close);
    mp_rpc_hang_up(rpc);
}

bool mp_rpc_idle(const struct mp_rpc *rpc)
{
    return !rpc->link;
}

const struct mp_noise *mp_rpc_noise(const struct mp_rpc *rpc)
{
    return &rpc->noise;
}

void mp_rpc_count(const struct mp_rpc *rpc, struct mcplug_ledger *sum)
{
    sum->under_way += (uint32_t)rpc->calls.count;
    sum->issued += rpc->issued;
    sum->ok += rpc->ended[MP_OK];
    sum->tool_error += rpc->ended[MP_TOOL_ERROR];
    sum->peer_error += rpc->ended[MP_PEER_ERROR];
    sum->transport_error += rpc->ended[MP_TRANSPORT_ERROR];
    sum->timed_out += rpc->ended[MP_TIMED_OUT];
    sum->cancelled += rpc->ended[MP_CANCELLED];
    sum->late += rpc->late;
    sum->unknown += rpc->unknown;
    sum->noise += rpc->noise.count;
}

uint64_t mp_rpc_heard_at(const struct mp_rpc *rpc)
{
    return rpc->link ? mp_link_heard_at(rpc->link) : 0;
}
