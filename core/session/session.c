#include "session/session_private.h"

#include "base/error.h"
#include "base/mem.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>

/* ---- facts ---- */

static void on_described(void *arg, const char *name, const char *value)
{
    struct mp_session *s = arg;
    mp_identity_describe(s->id, name, value);
}

void mp_session_add_delay(const struct mp_session *s, struct mcplug_error *err)
{
    const char *delay = mp_identity_fact(s->id, "delay");
    size_t n = strlen(err->text);

    if (delay && *delay)
        snprintf(err->text + n, sizeof err->text - n, "; %s", delay);
}

const char *mp_session_name(const struct mp_session *s)
{
    return s->name;
}

const struct mp_identity *mp_session_identity(const struct mp_session *s)
{
    return s->id;
}

const mcplug_props *mp_session_settings(const struct mp_session *s)
{
    return s->wire.settings;
}

bool mp_session_is_modern(const struct mp_session *s)
{
    return s->era == MP_ERA_MODERN;
}

const char *mp_session_transport(const struct mp_session *s)
{
    return mp_rpc_transport(s->rpc);
}

bool mp_session_busy(const struct mp_session *s)
{
    const struct mp_request *call = s->calls.first;

    while (call && call->pings) /* our own */
        call = call->next;
    return call;
}

bool mp_session_lost(const struct mp_session *s)
{
    return mp_rpc_idle(s->rpc);
}

void mp_session_keep_alive(struct mp_session *s, uint32_t ms)
{
    s->o.keep_alive_ms = ms;
}

void mp_session_count(const struct mp_session *s, struct mcplug_ledger *sum)
{
    mp_rpc_count(s->rpc, sum);
}

struct mp_uris *mp_session_uris(struct mp_session *s)
{
    return &s->listening.uris;
}

uint64_t mp_session_silent_ms(const struct mp_session *s)
{
    uint64_t heard = mp_rpc_heard_at(s->rpc), now = mp_loop_now(s->cfg.loop);
    if (heard < s->opened_at)
        heard = s->opened_at;
    return now > heard ? now - heard : 0;
}

bool mp_session_can(const struct mp_session *s, const char *path)
{
    mp_view v =
        mp_view_path(mp_text(s->id->capabilities ? s->id->capabilities : "{}"), path);
    return mp_view_is_object(v) || mp_view_true(v);
}

/* ---- phases ---- */

#define TO(phase) (1u << (phase))

/* What may follow each. Connecting may go back to its beginning, and a session that was
 * ready may be renewed. FAILED may come before its reason, which enters it again. */
static const unsigned followers[MP_PHASES] = {
    [MP_IDLE] = TO(MP_OPENING),
    [MP_OPENING] = TO(MP_OPENING) | TO(MP_PROBING) | TO(MP_INITIALIZING) | TO(MP_FAILED) |
                   TO(MP_CLOSING),
    [MP_PROBING] = TO(MP_OPENING) | TO(MP_PROBING) | TO(MP_INITIALIZING) | TO(MP_READY) |
                   TO(MP_FAILED) | TO(MP_CLOSING),
    [MP_INITIALIZING] =
        TO(MP_OPENING) | TO(MP_PROBING) | TO(MP_READY) | TO(MP_FAILED) | TO(MP_CLOSING),
    [MP_READY] = TO(MP_OPENING) | TO(MP_FAILED) | TO(MP_CLOSING),
    [MP_FAILED] = TO(MP_FAILED) | TO(MP_CLOSING),
};

void mp_session_enter(struct mp_session *s, enum mp_phase phase)
{
    if (s->phase == MP_CLOSING)
        return;
    assert(followers[s->phase] & TO(phase));
    s->phase = phase;
    mp_timer_stop(s->cfg.loop, &s->connecting.patience); /* with what was sent before */
    if (phase == MP_READY || phase == MP_FAILED || phase == MP_CLOSING)
        mp_timer_stop(s->cfg.loop, &s->connecting.timer);
    if (phase != MP_READY)
        mp_timer_stop(s->cfg.loop, &s->listening.timer);
    if (phase == MP_OPENING || phase == MP_CLOSING)
        mp_inputs_forget_all(s); /* they were asked on a connection that is gone */
    if (phase == MP_READY)
        mp_notify_start(s);
}

/* ---- how a connection ends ---- */

static void explain(struct mcplug_error *why)
{
    static const struct {
        int os_error;
        const char *words;
    } meanings[] = {
        {ECONNRESET, "Connection reset - server may have crashed or restarted"},
        {ETIMEDOUT, "Connection timeout - network issue or server unresponsive"},
        {ECONNREFUSED, "Connection refused - server may be down"},
        {EPIPE, "Broken pipe - server closed connection unexpectedly"},
        {EHOSTUNREACH, "Host unreachable - network connectivity issue"},
        {ESRCH, "Process not found - stdio server process terminated"},
    };
    struct mcplug_error told = *why;
    size_t i = 0;

    while (i < MP_COUNT(meanings) && meanings[i].os_error != why->os_error)
        i++;
    if (i < MP_COUNT(meanings))
        snprintf(why->text, sizeof why->text, "%s (%.400s)", meanings[i].words,
                 told.text);
    else if (why->peer_status >= 400 && why->peer_status < 600)
        return; /* a status of HTTP has been put in words already */
    else if (strncmp(told.text, "Failed to spawn process", 23) != 0)
        snprintf(why->text, sizeof why->text, "Connection error: %.470s", told.text);
}

/* ---- events of the rpc ---- */

static void on_opened(void *arg)
{
    struct mp_session *s = arg;
    s->opened_at = mp_loop_now(s->cfg.loop);
    mp_connect_opened(s);
}

static void on_request(void *arg, mp_message *m)
{
    mp_inputs_request(arg, m);
}

static void on_notification(void *arg, mp_message *m)
{
    mp_notify(arg, m);
}

static void on_remark(void *arg, struct mcplug_bytes line)
{
    struct mp_session *s = arg;
    struct mp_event event = {
        .kind = MP_EVENT_REMARK,
        .level = MCPLUG_LOG_VERBOSE,
        .source = s->source,
        .text = {.data = (const char *)line.data, .len = line.len},
    };

    if (mp_events_want(s->cfg.log, MP_EVENT_REMARK, MCPLUG_LOG_VERBOSE))
        mp_events_tell(s->cfg.log, &event);
    if (s->o.remark && s->phase != MP_CLOSING)
        s->o.remark(s->o.arg, s, (const char *)line.data, line.len);
}

/* Where requests have streams of their own, a modern server takes the end of the stream
 * for the cancellation. */
static void on_cancelled(void *arg, const struct mp_call *call, const char *reason)
{
    struct mp_session *s = arg;
    struct mp_str params;

    if (mp_rpc_has_exchanges(s->rpc) && strcmp(s->id->revision, MP_MODERN) >= 0)
        return;
    mp_str_init(&params, 1024);
    mp_str_adds(&params, "{\"requestId\":");
    mp_str_addu(&params, call->id);
    mp_str_adds(&params, ",\"reason\":");
    mp_str_add_json(&params, reason, strlen(reason));
    mp_str_addc(&params, '}');
    if (!params.failed)
        mp_frame_notify(s, "notifications/cancelled", mp_bytes(params.data, params.len),
                        NULL);
    mp_str_clear(&params);
}

static void session_free(struct mp_session *s);

static void tell_ready(struct mp_job *job)
{
    struct mp_session *s = MP_OF(job, struct mp_session, ready.job);
    s->ready.called = true;
    s->ready.fn(s->ready.arg, s, s->failure.code ? &s->failure : NULL);
}

static void finish_close(struct mp_job *job)
{
    struct mp_session *s = MP_OF(job, struct mp_session, closed.job);
    void (*closed)(void *) = s->closed.fn;
    void *arg = s->closed.arg;

    if (!s->ready.called) {
        mp_fail(&s->failure, MCPLUG_ECANCELED,
                "the server was closed before it was ready");
        tell_ready(&s->ready.job);
    }
    if (s->closed.sum)
        mp_session_count(s, s->closed.sum);
    session_free(s);
    if (closed)
        closed(arg);
}

static void fail(struct mp_session *s, const struct mcplug_error *why)
{
    mp_session_enter(s, MP_FAILED);
    s->failure = *why;
}

/* Questions, and the calls that wait for answers or for their task. */
static void end_everything(struct mp_session *s, const struct mcplug_error *why)
{
    mp_inputs_forget_all(s);
    while (s->calls.first && s->phase != MP_CLOSING)
        mp_request_finish(s->calls.first, NULL, why);
}

static void tell_dropped(struct mp_session *s, const struct mcplug_error *why)
{
    struct mp_event event = {
        .kind = MP_EVENT_DROPPED,
        .level = MCPLUG_LOG_ERROR,
        .source = s->source,
        .dropped = {.why = why,
                    .transport = mp_rpc_transport(s->rpc),
                    .up_ms = mp_loop_now(s->cfg.loop) - s->opened_at},
    };
    if (mp_events_want(s->cfg.log, MP_EVENT_DROPPED, MCPLUG_LOG_ERROR))
        mp_events_tell(s->cfg.log, &event);
    if (s->o.dropped)
        s->o.dropped(s->o.arg, s, why);
}

/* Renewing has come to an end, well or not. */
static void renewed(struct mp_session *s, const struct mcplug_error *why)
{
    struct mcplug_error told;

    s->renewal.under_way = false;
    if (!why) {
        unsigned kept = mp_notify_kept(s);
        mp_lists_unwatched(s);
        mp_session_enter(s, MP_READY);
        mp_request_unpark(s);
        mp_notify_lists(s, kept); /* it may be a server of a newer version */
        return;
    }
    told = *why;
    fail(s, &told);
    end_everything(s, &told);
    if (s->phase != MP_CLOSING && !s->ready.job.queued) /* else `ready` reports it */
        tell_dropped(s, &told);
}

static void on_closed(void *arg, const struct mcplug_error *why)
{
    struct mp_session *s = arg;

    if (s->phase == MP_CLOSING) {
        mp_job_defer(s->cfg.loop, &s->closed.job, finish_close);
        return;
    }
    bool was_ready = s->phase == MP_READY;
    if (!was_ready && s->phase != MP_FAILED && mp_connect_retry(s, why))
        return;
    if (was_ready && mp_connect_renew(s, why))
        return;
    if (s->renewal.under_way) { /* nothing may wait any more when it is reported */
        mp_session_ready(s, why);
        return;
    }
    if (was_ready)
        fail(s, why);
    end_everything(s, why);
    if (s->phase == MP_CLOSING) /* by a callback of the program */
        return;
    if (!was_ready)
        mp_session_ready(s, why);
    else if (!s->ready.job.queued) /* else `ready` reports it */
        tell_dropped(s, why);
}

static const struct mp_rpc_events rpc_events = {
    .opened = on_opened,
    .request = on_request,
    .notification = on_notification,
    .remark = on_remark,
    .described = on_described,
    .cancelled = on_cancelled,
    .explain = explain,
    .closed = on_closed,
};

/* ---- ready ---- */

void mp_session_ready(struct mp_session *s, const struct mcplug_error *why)
{
    if (s->renewal.under_way) {
        renewed(s, why);
        return;
    }
    if (s->ready.settled)
        return;
    s->ready.settled = true;
    if (why) {
        fail(s, why);
        mp_log(s->cfg.log, MCPLUG_LOG_ERROR, s->source, "connection failed: %s",
               why->text);
    } else {
        s->failure.code = MCPLUG_OK;
        mp_session_enter(s, MP_READY);
    }
    mp_job_defer(s->cfg.loop, &s->ready.job, tell_ready);
}

/* ---- life ---- */

static void session_free(struct mp_session *s)
{
    if (!s)
        return;
    mp_timer_stop(s->cfg.loop, &s->connecting.timer);
    mp_timer_stop(s->cfg.loop, &s->connecting.patience);
    mp_timer_stop(s->cfg.loop, &s->listening.timer);
    mp_timer_stop(s->cfg.loop, &s->calls.beat);
    mp_timer_stop(s->cfg.loop, &s->calls.keep_alive);
    mp_job_drop(s->cfg.loop, &s->ready.job);
    mp_job_drop(s->cfg.loop, &s->closed.job);
    mp_inputs_forget_all(s);
    mp_lists_clear(s);
    mp_mirror_free(s->lists.mirror);
    mp_uris_clear(&s->listening.uris);
    mp_rpc_free(s->rpc);
    mp_props_free(s->wire.settings);
    mp_props_free(s->wire.fallback_settings);
    mp_str_clear(&s->client.scratch);
    mp_free(s->name);
    mp_free(s->source);
    mp_free(s->client.log_level);
    mp_free(s->client.revision_wanted);
    mp_free(s->client.greeting);
    mp_free(s->client.greeting_params);
    mp_free(s->client.meta);
    mp_free(s->client.caps);
    mp_free(s);
}

static int make_rpc(struct mp_session *s, struct mcplug_error *err)
{
    struct mp_rpc_options o = {
        .link = {.loop = s->cfg.loop,
                 .log = s->cfg.log,
                 .source = s->source,
                 .transport = s->wire.transport,
                 .settings = s->wire.settings,
                 .limits = {.scan = mp_scan_defaults,
                            .memory = s->o.max_memory,
                            .spill = s->o.max_spill,
                            .dir = s->cfg.spill_dir}},
        .events = &rpc_events,
        .arg = s,
    };
    s->rpc = mp_rpc_new(&o, err);
    return s->rpc ? MCPLUG_OK : MCPLUG_ENOMEM;
}

int mp_session_open(const struct mp_session_config *cfg, const struct mp_offer *transport,
                    const mcplug_props *settings, const struct mp_session_options *o,
                    const char *name, struct mp_identity *id,
                    void (*ready)(void *, struct mp_session *,
                                  const struct mcplug_error *),
                    void *ready_arg, struct mp_session **out, struct mcplug_error *err)
{
    struct mp_session *s = mp_alloc(sizeof *s);
    if (!s)
        return mp_fail_nomem(err);
    s->cfg = *cfg;
    s->id = id;
    s->id->revision[0] = '\0';
    s->calls.last = &s->calls.first;
    mp_str_init(&s->client.scratch, MP_FRAME_MAX);
    s->wire.transport = transport;
    s->ready.fn = ready;
    s->ready.arg = ready_arg;
    s->o = *o;
    s->o.log_level = s->o.revision = NULL;
    s->o.greeting = s->o.greeting_params = NULL;
    s->o.facts = NULL;
    if (!s->o.request_ms)
        s->o.request_ms = MP_REQUEST_MS;
    if (!s->o.max_memory)
        s->o.max_memory = 16 * 1024 * 1024;
    if (!s->o.max_spill)
        s->o.max_spill = 4ull * 1024 * 1024 * 1024;

    struct mp_str source;
    mp_str_init(&source, 256);
    mp_str_addf(&source, "mcp:%.200s", name);
    s->source = mp_str_take(&source);
    s->name = mp_strdup(name);
    s->wire.settings = mp_props_copy(settings);
    bool ok = s->source && s->name && s->wire.settings;
    if (o->log_level)
        ok = ok && (s->client.log_level = mp_strdup(o->log_level));
    if (o->revision)
        ok = ok && (s->client.revision_wanted = mp_strdup(o->revision));
    if (o->greeting) { /* one line, as every frame */
        mp_view params = mp_text(o->greeting_params);
        ok = ok && mp_frame_object(&params, "", NULL) == MCPLUG_OK &&
             (s->client.greeting = mp_strdup(o->greeting)) &&
             (s->client.greeting_params =
                  mp_strndup((const char *)params.data, params.len));
        if (ok)
            mp_frame_flatten(s->client.greeting_params, params.len);
    }
    mp_identity_renew(id);
    for (size_t i = 0; i < o->n_facts; i++)
        mp_identity_describe(id, o->facts[i].name, o->facts[i].value);
    int r = ok ? mp_frame_client(s, err) : mp_fail_nomem(err);
    if (r == MCPLUG_OK)
        r = make_rpc(s, err);
    if (r == MCPLUG_OK) {
        s->wire.settings_hash = mp_props_hash(s->wire.settings);
        r = mp_connect_start(s, err);
    }
    if (r != MCPLUG_OK) {
        session_free(s);
        return r;
    }
    *out = s;
    return MCPLUG_OK;
}

void mp_session_close(struct mp_session *s, struct mcplug_ledger *sum,
                      void (*closed)(void *arg), void *arg)
{
    if (s->phase == MP_CLOSING) /* once is enough */
        return;
    mp_session_enter(s, MP_CLOSING);
    s->ready.settled = true;
    s->closed.sum = sum;
    s->closed.fn = closed;
    s->closed.arg = arg;
    mp_job_drop(s->cfg.loop, &s->ready.job);
    for (struct mp_request *call = s->calls.first; call; call = call->next)
        mp_request_cancel(call);
    mp_rpc_close(s->rpc);
    if (mp_rpc_idle(s->rpc))
        mp_job_defer(s->cfg.loop, &s->closed.job, finish_close);
}
