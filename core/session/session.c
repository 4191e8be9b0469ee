#include "session/session.h"

#include "base/error.h"
#include "base/mem.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>

/* ---- facts ---- */

static void on_described(void *arg, const char *name, const char *value)
{
    mcplug_server *s = arg;
    size_t n = strlen(name) + 1, v = strlen(value) + 1;
    const char *known = mp_session_fact(s, name);

    if ((known && strcmp(known, value) == 0) || s->n_facts == MP_FACTS_MAX)
        return;
    struct mp_fact *fact = mp_alloc(sizeof *fact + n + v);
    if (!fact) /* a fact is for people; the session lives without */
        return;
    s->n_facts++;
    memcpy(fact->name, name, n);
    fact->value = fact->name + n;
    memcpy(fact->value, value, v);
    fact->next = s->facts;
    s->facts = fact;
}

const char *mp_session_fact(const mcplug_server *s, const char *name)
{
    for (const struct mp_fact *f = s->facts; f; f = f->next)
        if (strcmp(f->name, name) == 0)
            return f->value;
    return NULL;
}

uint64_t mp_session_silent_ms(const mcplug_server *s)
{
    uint64_t heard = mp_rpc_heard_at(s->rpc), now = mp_loop_now(s->cfg.loop);
    if (heard < s->opened_at)
        heard = s->opened_at;
    return now > heard ? now - heard : 0;
}

bool mp_session_can(const mcplug_server *s, const char *path)
{
    mp_view v = mp_view_path(mp_text(s->capabilities ? s->capabilities : "{}"), path);
    return mp_view_is_object(v) || mp_view_true(v);
}

/* ---- how a connection ends ---- */

/* What a person should make of an errno. */
static const char *meaning(const struct mcplug_error *why)
{
    switch (why->os_error) {
    case ECONNRESET:
        return "Connection reset - server may have crashed or restarted";
    case ETIMEDOUT:
        return "Connection timeout - network issue or server unresponsive";
    case ECONNREFUSED:
        return "Connection refused - server may be down";
    case EPIPE:
        return "Broken pipe - server closed connection unexpectedly";
    case EHOSTUNREACH:
        return "Host unreachable - network connectivity issue";
    case ESRCH:
        return "Process not found - stdio server process terminated";
    default:
        return NULL;
    }
}

static void explain(struct mcplug_error *why)
{
    struct mcplug_error told = *why;
    const char *words = meaning(why);

    if (words)
        snprintf(why->text, sizeof why->text, "%s (%.400s)", words, told.text);
    else if (why->peer_status >= 400 && why->peer_status < 600)
        return; /* a status of HTTP has been put in words already */
    else if (strncmp(told.text, "Failed to spawn process", 23) != 0)
        snprintf(why->text, sizeof why->text, "Connection error: %.470s", told.text);
}

static void dropped(mcplug_server *s, const struct mcplug_error *why)
{
    char type[32];
    size_t i = 0;
    uint64_t up = (mp_loop_now(s->cfg.loop) - s->opened_at) / 1000;

    for (const char *p = mp_rpc_transport(s->rpc); *p && i + 1 < sizeof type; p++)
        type[i++] = (char)toupper((unsigned char)*p);
    type[i] = '\0';
    mp_log(s->cfg.log, MCPLUG_LOG_ERROR, s->source,
           "%s connection dropped after %llus uptime", type, (unsigned long long)up);
    mp_log(s->cfg.log, MCPLUG_LOG_ERROR, s->source, "%s", why->text);
}

/* ---- events of the rpc ---- */

static void on_opened(void *arg)
{
    mcplug_server *s = arg;
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
    mcplug_server *s = arg;
    mp_log(s->cfg.log, MCPLUG_LOG_VERBOSE, s->source, "stderr: %.*s",
           line.len > 2048 ? 2048 : (int)line.len, line.data);
    if (s->o.remark && s->phase != MP_CLOSING)
        s->o.remark(s->o.arg, s, (const char *)line.data, line.len);
}

static void session_free(mcplug_server *s);

static void tell_ready(struct mp_job *job)
{
    mcplug_server *s = MP_OF(job, mcplug_server, ready_job);
    s->ready_called = true;
    s->ready(s->ready_arg, s, s->failure.code ? &s->failure : NULL);
}

static void finish_close(struct mp_job *job)
{
    mcplug_server *s = MP_OF(job, mcplug_server, closed_job);
    void (*closed)(void *) = s->closed;
    void *arg = s->closed_arg;

    if (!s->ready_called) {
        mp_fail(&s->failure, MCPLUG_ECANCELED,
                "the server was closed before it was ready");
        tell_ready(&s->ready_job);
    }
    session_free(s);
    if (closed)
        closed(arg);
}

/* Questions, and the calls that wait for answers or for their task. */
static void end_everything(mcplug_server *s, const struct mcplug_error *why)
{
    if (s->phase == MP_READY) {
        s->phase = MP_FAILED;
        s->failure = *why;
    }
    mp_inputs_forget_all(s);
    while (s->calls && s->phase != MP_CLOSING)
        mp_request_finish(s->calls, NULL, why);
}

static void tell_dropped(mcplug_server *s, const struct mcplug_error *why)
{
    dropped(s, why);
    if (s->o.dropped)
        s->o.dropped(s->o.arg, s, why);
}

/* A session that the server forgot has a new one, or none. */
static void renewed(mcplug_server *s, const struct mcplug_error *why)
{
    struct mcplug_error told;

    s->renewing = false;
    if (!why) {
        unsigned kept = mp_notify_kept(s);
        s->phase = MP_READY;
        mp_lists_unwatched(s);
        mp_notify_start(s);
        mp_request_unpark(s);
        mp_notify_lists(s, kept); /* it may be a server of a newer version */
        return;
    }
    told = *why;
    s->phase = MP_READY; /* as those who hear it know it */
    end_everything(s, &told);
    if (s->phase != MP_CLOSING && !s->ready_job.queued) /* else `ready` tells */
        tell_dropped(s, &told);
}

static void on_closed(void *arg, const struct mcplug_error *why)
{
    mcplug_server *s = arg;

    if (s->phase == MP_CLOSING) {
        mp_job_defer(s->cfg.loop, &s->closed_job, finish_close);
        return;
    }
    bool was_ready = s->phase == MP_READY;
    if (!was_ready && s->phase != MP_FAILED && s->phase != MP_FETCHING &&
        mp_connect_retry(s, why))
        return;
    if (was_ready && mp_connect_renew(s, why))
        return;
    if (s->renewing) { /* before anybody hears of it, so that nothing waits any more */
        mp_session_ready(s, why);
        return;
    }
    end_everything(s, why);
    if (s->phase == MP_CLOSING) /* one of those who heard it closed us */
        return;
    if (!was_ready) {
        mp_session_ready(s, why);
    } else if (s->ready_job.queued) { /* nobody knows yet that it was ready */
        s->failure = *why;
    } else {
        tell_dropped(s, why);
    }
}

static const struct mp_rpc_events rpc_events = {
    .opened = on_opened,
    .request = on_request,
    .notification = on_notification,
    .remark = on_remark,
    .described = on_described,
    .explain = explain,
    .closed = on_closed,
};

/* ---- ready ---- */

void mp_session_ready(mcplug_server *s, const struct mcplug_error *why)
{
    mp_timer_stop(s->cfg.loop, &s->connect_timer);
    mp_timer_stop(s->cfg.loop, &s->patience);
    if (s->renewing) {
        renewed(s, why);
        return;
    }
    if (s->ready_told)
        return;
    s->ready_told = true;
    if (why) {
        s->phase = MP_FAILED;
        s->failure = *why;
        mp_log(s->cfg.log, MCPLUG_LOG_ERROR, s->source, "connection failed: %s",
               why->text);
    } else {
        s->phase = MP_READY;
        s->failure.code = MCPLUG_OK;
        mp_notify_start(s);
    }
    mp_job_defer(s->cfg.loop, &s->ready_job, tell_ready);
}

/* ---- life ---- */

static void session_free(mcplug_server *s)
{
    if (!s)
        return;
    mp_timer_stop(s->cfg.loop, &s->connect_timer);
    mp_timer_stop(s->cfg.loop, &s->patience);
    mp_job_drop(s->cfg.loop, &s->ready_job);
    mp_job_drop(s->cfg.loop, &s->closed_job);
    mp_inputs_forget_all(s);
    mp_lists_clear(s);
    mp_mirror_free(s->mirror);
    mp_notify_clear(s);
    mp_call_log_clear(s);
    mp_rpc_free(s->rpc);
    mp_props_free(s->settings);
    mp_props_free(s->fallback_settings);
    mp_str_clear(&s->scratch);
    while (s->facts) {
        struct mp_fact *fact = s->facts;
        s->facts = fact->next;
        mp_free(fact);
    }
    if (s->cfg.gone)
        s->cfg.gone(s->cfg.arg, s);
    mp_free(s->name);
    mp_free(s->source);
    mp_free(s->log_level);
    mp_free(s->revision_wanted);
    mp_identity_clear(s);
    mp_free(s->meta);
    mp_free(s->client_caps);
    mp_free(s);
}

static void take_options(mcplug_server *s, const struct mcplug_server_options *o)
{
    mp_take_options(&s->o, o, NULL); /* it was asked for its size before */
    s->o.name = s->o.log_level = s->o.revision = NULL;
    if (!s->o.request_ms)
        s->o.request_ms = MP_REQUEST_MS;
    if (!s->o.max_memory)
        s->o.max_memory = 16 * 1024 * 1024;
    if (!s->o.max_spill)
        s->o.max_spill = 8ull * 1024 * 1024 * 1024;
}

static int copy_strings(mcplug_server *s, const struct mcplug_server_options *o,
                        const char *name)
{
    struct mp_str source;

    mp_str_init(&source, 256);
    mp_str_addf(&source, "mcp:%.200s", name);
    s->name = mp_strdup(name);
    s->source = mp_str_take(&source);
    bool ok = s->name && s->source;
    if (o && MCPLUG_KNOWS(o, struct mcplug_server_options, log_level) && o->log_level)
        ok = ok && (s->log_level = mp_strdup(o->log_level));
    if (o && MCPLUG_KNOWS(o, struct mcplug_server_options, revision) && o->revision)
        ok = ok && (s->revision_wanted = mp_strdup(o->revision));
    return ok ? MCPLUG_OK : MCPLUG_ENOMEM;
}

static int make_rpc(mcplug_server *s, struct mcplug_error *err)
{
    struct mp_rpc_options o = {
        .link = {.loop = s->cfg.loop,
                 .log = s->cfg.log,
                 .source = s->source,
                 .transport = s->transport,
                 .settings = s->settings,
                 .limits = {.scan = mp_scan_defaults,
                            .memory = s->o.max_memory,
                            .spill = s->o.max_spill,
                            .dir = s->cfg.spill_dir}},
        .events = &rpc_events,
        .arg = s,
    };
    s->rpc = mp_rpc_new(&o, err);
    if (!s->rpc)
        return MCPLUG_ENOMEM;
    mp_rpc_revision(s->rpc, s->revision);
    return MCPLUG_OK;
}

int mp_session_open(const struct mp_session_config *cfg, const struct mp_offer *transport,
                    const mcplug_props *settings,
                    const struct mcplug_server_options *options, const char *name,
                    void (*ready)(void *, mcplug_server *, const struct mcplug_error *),
                    void *ready_arg, mcplug_server **out, struct mcplug_error *err)
{
    mcplug_server *s = mp_alloc(sizeof *s);
    if (!s)
        return mp_fail_nomem(err);
    s->cfg = *cfg;
    s->last_call = &s->calls;
    mp_str_init(&s->scratch, MP_FRAME_MAX);
    s->transport = transport;
    s->ready = ready;
    s->ready_arg = ready_arg;
    take_options(s, options);
    s->settings = mp_props_copy(settings);
    int r = s->settings ? copy_strings(s, options, name) : MCPLUG_ENOMEM;
    if (r == MCPLUG_OK)
        s->settings_hash = mp_props_hash(s->settings);
    else
        mp_fail_nomem(err);
    if (r == MCPLUG_OK)
        r = mp_frame_client_caps(s, err);
    if (r == MCPLUG_OK)
        r = make_rpc(s, err);
    if (r == MCPLUG_OK)
        r = mp_connect_start(s, err);
    if (r != MCPLUG_OK) {
        session_free(s);
        return r;
    }
    *out = s;
    return MCPLUG_OK;
}

void mp_session_close(mcplug_server *s, void (*closed)(void *arg), void *arg)
{
    if (s->phase == MP_CLOSING) /* once is enough */
        return;
    s->phase = MP_CLOSING;
    s->ready_told = true;
    s->closed = closed;
    s->closed_arg = arg;
    mp_job_drop(s->cfg.loop, &s->ready_job);
    mp_timer_stop(s->cfg.loop, &s->connect_timer);
    mp_timer_stop(s->cfg.loop, &s->patience);
    mp_timer_stop(s->cfg.loop, &s->listen_timer);
    mp_inputs_forget_all(s);
    for (struct mp_request *call = s->calls; call; call = call->next)
        mp_request_cancel(call);
    mp_rpc_close(s->rpc);
    if (mp_rpc_idle(s->rpc))
        mp_job_defer(s->cfg.loop, &s->closed_job, finish_close);
}
