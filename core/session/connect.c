#include "session/session_private.h"

#include "base/error.h"
#include "base/mem.h"

#include <stdio.h>

/* How long an unknown server may think about server/discover, once it has read it,
 * before initialize is sent too: some old servers never answer what they do not know.
 * A modern server that is merely slow answers late, and that answer still counts. */
#define PATIENCE_MS 1500
#define LOOK_MS 100 /* has it read it by now? */
/* Where each request has its answer, silence means more. */
#define PATIENCE_EXCHANGE_MS 10000
#define RENEWALS_MAX 5         /* sessions in a row, each begun .. */
#define RENEWAL_PAUSE_MS 10000 /* .. so soon after the one before */

enum { /* what a modern server says of a request that it understood as such */
       HEADER_MISMATCH = -32020,
       MISSING_CAPABILITY = -32021,
       UNSUPPORTED_VERSION = -32022
};

static const char *const legacy[] = {MP_LEGACY, "2025-06-18", "2025-03-26", "2024-11-05"};

static bool is_legacy(const char *revision)
{
    for (size_t i = 0; i < MP_COUNT(legacy); i++)
        if (strcmp(revision, legacy[i]) == 0)
            return true;
    return false;
}

/* A link that is gone says so itself, with a better reason. */
static void not_sent(struct mp_session *s, const struct mcplug_error *why)
{
    if (why->code != MCPLUG_ECLOSED)
        mp_session_ready(s, why);
}

/* ---- connected ---- */

/* What a locator wants to be said first. */
static void greet(struct mp_session *s)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;

    if (s->client.greeting &&
        mp_frame_notify(s, s->client.greeting, mp_text(s->client.greeting_params),
                        &err) != MCPLUG_OK)
        mp_log(s->cfg.log, MCPLUG_LOG_WARN, s->source, "%s: %s", s->client.greeting,
               err.text);
}

/* Era and revision are settled. */
static void connected(struct mp_session *s)
{
    if (s->cfg.remember && !s->client.revision_wanted)
        s->cfg.remember(s->cfg.arg, s->wire.settings_hash,
                        s->connecting.fell_back ? MP_ERA_OLDEST : s->era);
    mp_log(s->cfg.log, MCPLUG_LOG_VERBOSE, s->source, "connected, revision %s",
           s->id->revision);
    greet(s);
    if (mp_session_lost(s))
        mp_session_enter(s, MP_FAILED); /* the reason follows with on_closed() */
    else
        mp_session_ready(s, NULL);
}

/* ---- initialize ---- */

static void on_initialized(struct mp_session *s, mp_message *m)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    mp_view revision = mp_message_inner(m, "protocolVersion");
    char *text = mp_view_strdup(revision);

    if (!text || !is_legacy(text) || !mp_view_equals(revision, text)) {
        mp_fail(&err, MCPLUG_EPROTO, "the server chose protocol revision \"%.40s\", %s",
                text ? text : "", "which was not offered");
    } else if (s->client.revision_wanted &&
               strcmp(s->client.revision_wanted, text) != 0) {
        mp_fail(&err, MCPLUG_EPROTO, "revision %s was requested, the server has %s",
                s->client.revision_wanted, text);
    } else if (mp_identity_take(s->id, m, mp_message_inner(m, "serverInfo"), &err) ==
               MCPLUG_OK) {
        strcpy(s->id->revision, text);
        s->era = MP_ERA_LEGACY;
        mp_frame_notify(s, "notifications/initialized", mp_bytes(NULL, 0), &err);
    }
    mp_free(text);
    if (err.code)
        mp_session_ready(s, &err);
    else
        connected(s);
}

static void probe(struct mp_session *s);
static void start_over(struct mp_session *s, enum mp_era era);
static void forget_fallback(struct mp_session *s);

/* The server answered, if not what we hoped for. */
static bool says_no(const struct mcplug_error *why)
{
    return why->code == MCPLUG_EPEER || why->code == MCPLUG_EPROTO ||
           (why->code == MCPLUG_EREFUSED && why->peer_status >= 400);
}

/* Was initialize refused, and is the probe all that is left? */
static bool is_refused(const struct mp_session *s)
{
    return s->phase == MP_INITIALIZING && !s->connecting.initializing &&
           s->connecting.discovering && s->failure.code;
}

static void on_refused(struct mp_timer *timer)
{
    struct mp_session *s = MP_OF(timer, struct mp_session, connecting.patience);

    if (is_refused(s))
        mp_session_ready(s, &s->failure);
}

static enum mp_outcome initialize_done(struct mp_call *call, mp_message *m,
                                       const struct mcplug_error *why)
{
    struct mp_session *s = MP_OF(call, struct mp_session, connecting.initialize);
    struct mp_connecting *c = &s->connecting;

    c->initializing = false;
    if (s->phase != MP_INITIALIZING || mp_rpc_idle(s->rpc))
        return MP_OK; /* settled already, or the link went and says so itself */
    if (!why) {
        if (c->discovering)
            mp_rpc_cancel(&c->discover, "settled otherwise", false);
        on_initialized(s, m);
    } else if (c->discovering && why->code == MCPLUG_EPEER) {
        /* It may yet turn out to be modern, but not for ever: one that ignores what it
         * does not know would hide its reason behind the time to connect. */
        s->failure = *why;
        if (mp_timer_start(s->cfg.loop, &c->patience, c->patience_ms, on_refused))
            mp_session_ready(s, &s->failure);
    } else if (c->recalled && !c->fell_back && says_no(why)) {
        c->recalled = false; /* it was legacy once, but is no longer */
        s->era = MP_ERA_UNKNOWN;
        probe(s);
    } else if (c->recalled && c->fell_back) {
        forget_fallback(s);
        start_over(s, MP_ERA_UNKNOWN);
    } else if (s->cfg.fallback && !c->fell_back && why->code == MCPLUG_EREFUSED &&
               (why->peer_status == 400 || why->peer_status == 404 ||
                why->peer_status == 405)) {
        /* what the specification lists as the signs of a server that has HTTP+SSE alone
         */
        c->fell_back = true;
        s->failure = *why;
        start_over(s, MP_ERA_LEGACY);
    } else {
        mp_session_ready(s, why);
    }
    return MP_OK;
}

static void initialize(struct mp_session *s)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    struct mp_connecting *c = &s->connecting;
    struct mp_str p;
    const char *offer = s->client.revision_wanted ? s->client.revision_wanted : MP_LEGACY;

    mp_session_enter(s, MP_INITIALIZING);
    mp_str_init(&p, 64 * 1024);
    mp_str_addf(&p,
                "\"protocolVersion\":\"%s\",\"capabilities\":%s,\"clientInfo\":", offer,
                s->client.caps);
    mp_frame_add_client(s, &p);
    struct mp_frame_parts parts = {.method = "initialize",
                                   .era = MP_ERA_LEGACY, /* no modern _meta */
                                   .members = mp_bytes(p.data, p.len)};
    c->initialize = (struct mp_call){.done = initialize_done};
    int r = p.failed ? mp_fail_nomem(&err)
                     : mp_frame_send(s, &c->initialize, &parts, 0, &err);
    mp_str_clear(&p);
    c->initializing = r == MCPLUG_OK;
    if (r != MCPLUG_OK)
        not_sent(s, &err);
}

/* ---- server/discover ---- */

/* Does an array of revisions hold that one; NULL: one with `initialize`? */
static bool holds(mp_view list, const char *revision)
{
    struct mp_walk w = mp_walk_into(list);
    mp_view v;

    while (mp_walk_element(&w, &v))
        for (size_t i = 0; i < MP_COUNT(legacy); i++)
            if (mp_view_equals(v, revision ? revision : legacy[i]))
                return true;
    return false;
}

static void on_modern(struct mp_session *s, mp_message *m)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    mp_view info =
        mp_view_get(mp_message_inner(m, "_meta"), "io.modelcontextprotocol/serverInfo");

    if (!info.len) /* where drafts of the revision had it */
        info = mp_message_inner(m, "serverInfo");
    s->era = MP_ERA_MODERN;
    strcpy(s->id->revision, MP_MODERN);
    if (mp_identity_take(s->id, m, info, &err) != MCPLUG_OK)
        mp_session_ready(s, &err);
    else
        connected(s);
}

static void fall_back(struct mp_session *s)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;

    if (s->client.revision_wanted && strcmp(s->client.revision_wanted, MP_MODERN) == 0) {
        mp_fail(&err, MCPLUG_EPROTO,
                "revision %s was requested, the server only has older ones", MP_MODERN);
        mp_session_ready(s, &err);
    } else if (s->phase == MP_PROBING) {
        initialize(s);
    } else if (!s->connecting.initializing) { /* initialize was refused before */
        mp_session_ready(s, &s->failure);
    }
}

/* A modern server that was slow to start has initialize before it too by now, and may
 * take that for the choice of an old revision: it gets a fresh start. */
static void start_over(struct mp_session *s, enum mp_era era)
{
    mp_log(s->cfg.log, MCPLUG_LOG_VERBOSE, s->source, "started over, as %s",
           era == MP_ERA_MODERN   ? MP_MODERN
           : era == MP_ERA_LEGACY ? "legacy"
                                  : "unknown");
    s->era = era;
    mp_session_enter(s, MP_OPENING);
    s->connecting.starting_over = true;
    mp_rpc_hang_up(s->rpc);
}

/* The revisions of the server, in a result or in an error; `asks` that we ask again. */
static void on_versions(struct mp_session *s, mp_message *m, mp_view list, bool asks)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    struct mp_connecting *c = &s->connecting;

    if (holds(list, MP_MODERN) && !(asks && c->asked_again)) {
        c->asked_again = c->asked_again || asks;
        if (c->initializing)
            start_over(s, MP_ERA_MODERN);
        else if (asks)
            probe(s);
        else
            on_modern(s, m);
    } else if (holds(list, NULL)) {
        fall_back(s);
    } else {
        mp_fail(&err, MCPLUG_EPROTO,
                "no protocol revision in common: the server has %.*s, we have %s to "
                "2024-11-05",
                list.len > 200 ? 200 : (int)list.len, (const char *)list.data, MP_MODERN);
        mp_session_ready(s, &err);
    }
}

static enum mp_outcome discover_done(struct mp_call *call, mp_message *m,
                                     const struct mcplug_error *why)
{
    struct mp_session *s = MP_OF(call, struct mp_session, connecting.discover);

    s->connecting.discovering = false;
    if ((s->phase != MP_PROBING && s->phase != MP_INITIALIZING) || mp_rpc_idle(s->rpc))
        return MP_OK;
    if (!why || why->code == MCPLUG_EPEER) {
        /* Who writes an error without an id has not understood the request; the code then
         * means what older servers mean by it. Where each request has a stream for its
         * answer, such an error may come from a server that looked at the headers alone.
         */
        mp_view id = mp_message_view(m, m->env.id);
        mp_view list = why ? mp_view_get(mp_message_inner(m, "data"), "supported")
                           : mp_message_inner(m, "supportedVersions");
        if (mp_view_is_array(list) && (!why || why->peer_status == UNSUPPORTED_VERSION))
            on_versions(s, m, list, why != NULL);
        else if (why && (m->exchange || (id.len && !mp_view_is_null(id))) &&
                 (why->peer_status == MISSING_CAPABILITY ||
                  why->peer_status == HEADER_MISMATCH))
            mp_session_ready(s, why);
        else
            fall_back(s);
    } else if (says_no(why) || !mp_rpc_has_exchanges(s->rpc)) {
        fall_back(s);
    } else {
        mp_session_ready(s, why);
    }
    return MP_OK;
}

/* Patience begins when the server has read the probe: before that it is still starting,
 * which says nothing about its era. */
static void on_patience(struct mp_timer *timer)
{
    struct mp_session *s = MP_OF(timer, struct mp_session, connecting.patience);
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    struct mp_connecting *c = &s->connecting;

    if (s->phase != MP_PROBING)
        return;
    if (c->probe_read) {
        initialize(s);
        return;
    }
    c->probe_read = mp_rpc_unread(s->rpc) == 0;
    if (mp_timer_start(s->cfg.loop, timer, c->probe_read ? c->patience_ms : LOOK_MS,
                       on_patience) != MCPLUG_OK) {
        mp_fail_nomem(&err);
        mp_session_ready(s, &err);
    }
}

static void probe(struct mp_session *s)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    struct mp_connecting *c = &s->connecting;
    struct mp_frame_parts parts = {.method = "server/discover", .era = MP_ERA_MODERN};

    mp_session_enter(s, MP_PROBING);
    c->discover = (struct mp_call){.done = discover_done};
    int r = mp_frame_send(s, &c->discover, &parts, 0, &err);
    if (r != MCPLUG_OK) {
        not_sent(s, &err);
        return;
    }
    c->discovering = true;
    c->patience_ms = s->era == MP_ERA_MODERN        ? s->o.timeout_ms / 2
                     : mp_rpc_has_exchanges(s->rpc) ? PATIENCE_EXCHANGE_MS
                                                    : PATIENCE_MS;
    c->probe_read = false;
    if (!s->client.revision_wanted)
        on_patience(&c->patience);
}

/* ---- from the session ---- */

void mp_connect_opened(struct mp_session *s)
{
    bool modern =
        s->client.revision_wanted && strcmp(s->client.revision_wanted, MP_MODERN) == 0;

    if (s->phase != MP_OPENING)
        return;
    if (s->era == MP_ERA_LEGACY || (s->client.revision_wanted && !modern))
        initialize(s);
    else
        probe(s);
}

/* Has the transport that the session has come to. */
static int use_transport(struct mp_session *s, struct mcplug_error *err)
{
    const struct mp_offer *other;

    if (!s->connecting.fell_back || s->wire.fallback_settings)
        return MCPLUG_OK;
    int r = s->cfg.fallback(s->cfg.arg, s->wire.transport->feature.next, s->wire.settings,
                            &other, &s->wire.fallback_settings, err);
    if (r == MCPLUG_OK) {
        mp_log(s->cfg.log, MCPLUG_LOG_VERBOSE, s->source, "continuing with transport %s",
               other->feature.name);
        mp_rpc_use(s->rpc, other, s->wire.fallback_settings);
    }
    return r;
}

/* It was that old once, but is no longer: all begins anew. */
static void forget_fallback(struct mp_session *s)
{
    s->connecting.recalled = s->connecting.fell_back = false;
    mp_rpc_use(s->rpc, s->wire.transport, s->wire.settings);
    mp_props_free(s->wire.fallback_settings);
    s->wire.fallback_settings = NULL;
}

/* A server that goes before it is connected may be one that exits on what it does not
 * know; it gets one more start, straight into initialize. One that was
 * ended to start over is started again as what it turned out to be. */
bool mp_connect_retry(struct mp_session *s, const struct mcplug_error *why)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    struct mp_connecting *c = &s->connecting;
    bool probed = s->phase == MP_PROBING || s->phase == MP_INITIALIZING;

    if (c->starting_over) {
        c->starting_over = false;
        if (use_transport(s, &err) != MCPLUG_OK ||
            mp_rpc_connect(s->rpc, &err) != MCPLUG_OK)
            mp_session_ready(s, &err);
        return true;
    }
    if (c->fell_back && s->failure.code && says_no(why)) {
        mp_session_ready(s, &s->failure); /* not that old either: as it was at first */
        return true;
    }
    if (c->recalled && c->fell_back) {
        forget_fallback(s);
        s->era = MP_ERA_UNKNOWN;
    } else if (!probed || c->respawned || s->era == MP_ERA_LEGACY ||
               s->client.revision_wanted || why->code == MCPLUG_ENOMEM) {
        return false;
    } else {
        mp_log(
            s->cfg.log, MCPLUG_LOG_VERBOSE, s->source,
            "the connection ended on server/discover (%s); trying again with initialize",
            why->text);
        c->respawned = true;
        s->era = MP_ERA_LEGACY;
    }
    mp_session_enter(s, MP_OPENING);
    return mp_rpc_connect(s->rpc, &err) == MCPLUG_OK;
}

static void on_connect_timeout(struct mp_timer *timer)
{
    struct mp_session *s = MP_OF(timer, struct mp_session, connecting.timer);
    struct mcplug_error err = MCPLUG_ERROR_INIT;

    if (is_refused(s)) { /* which says more than the time */
        mp_session_ready(s, &s->failure);
        return;
    }
    mp_fail(&err, MCPLUG_ETIMEDOUT,
            "Connection to MCP server \"%s\" timed out after %ums", s->name,
            s->o.timeout_ms);
    mp_session_add_delay(s, &err);
    uint64_t noise = mp_rpc_noise(s->rpc)->count;
    size_t n = strlen(err.text);
    if (noise && !s->renewal.under_way) /* then it may be of long ago */
        snprintf(err.text + n, sizeof err.text - n,
                 "; %llu line%s of its output %s not JSON-RPC, the last: %s",
                 (unsigned long long)noise, noise == 1 ? "" : "s",
                 noise == 1 ? "is" : "are", mp_rpc_noise(s->rpc)->last);
    mp_session_ready(s, &err);
}

static int dial(struct mp_session *s, struct mcplug_error *err)
{
    uint64_t ms = mp_session_connect_ms(&s->o);

    s->o.spent_ms = 0; /* once */
    if (mp_timer_start(s->cfg.loop, &s->connecting.timer, ms, on_connect_timeout) !=
        MCPLUG_OK)
        return mp_fail_nomem(err);
    return mp_rpc_connect(s->rpc, err);
}

int mp_connect_start(struct mp_session *s, struct mcplug_error *err)
{
    const char *wanted = s->client.revision_wanted;

    mp_session_enter(s, MP_OPENING);
    if (wanted && strcmp(wanted, MP_MODERN) != 0 && !is_legacy(wanted))
        return mp_fail(err, MCPLUG_EINVAL, "unknown protocol revision \"%s\"", wanted);
    if (s->cfg.recall && !wanted)
        s->era = s->cfg.recall(s->cfg.arg, s->wire.settings_hash);
    s->connecting.recalled = s->era != MP_ERA_UNKNOWN;
    s->connecting.fell_back = s->era == MP_ERA_OLDEST && s->cfg.fallback;
    if (s->era == MP_ERA_OLDEST)
        s->era = MP_ERA_LEGACY;
    int r = use_transport(s, err);
    return r == MCPLUG_OK ? dial(s, err) : r;
}

bool mp_connect_renew(struct mp_session *s, const struct mcplug_error *why)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    struct mp_renewal *r = &s->renewal;
    uint64_t now = mp_loop_now(s->cfg.loop);

    if (s->era != MP_ERA_LEGACY || why->code != MCPLUG_ECLOSED || why->peer_status != 404)
        return false;
    if (now - r->last_at > RENEWAL_PAUSE_MS)
        r->in_a_row = 0;
    r->last_at = now;
    if (++r->in_a_row > RENEWALS_MAX) /* it would be asked for ever */
        return false;
    mp_log(s->cfg.log, MCPLUG_LOG_WARN, s->source, "%s; starting a new one", why->text);
    s->renewal.under_way = true;
    mp_session_enter(s, MP_OPENING);
    s->id->revision[0] = '\0';
    if (dial(s, &err) != MCPLUG_OK)
        mp_session_ready(s, &err);
    return true;
}
