#include "session/session_private.h"

#include "base/error.h"
#include "base/mem.h"

/* A subscriptions/listen request under way. While one replaces another there are
 * two, so that no change falls between them. */
struct mp_listener {
    struct mp_call rpc;
    struct mp_session *session;
    struct mp_listener *older;
    bool acknowledged;
    uint64_t since; /* it was */
};

#define STOOD_MS 10000 /* a stream that lasted as long resets the delay */

/* In the order of the kinds. */
static const struct {
    const char *capability, *wish;
} lists[] = {
    {"tools/listChanged", "toolsListChanged"},
    {"prompts/listChanged", "promptsListChanged"},
    {"resources/listChanged", "resourcesListChanged"}, /* templates too */
};

static struct mp_listener *listener_of(const struct mp_session *s, mp_view id)
{
    struct mp_listener *l = s->listening.newest;
    uint64_t n;

    if (!mp_rpc_read_id(s->rpc, id, &n))
        return NULL;
    while (l && l->rpc.id != n)
        l = l->older;
    return l;
}

static mp_view subscription_of(const mp_message *m)
{
    return mp_view_get(mp_message_inner(m, "_meta"),
                       "io.modelcontextprotocol/subscriptionId");
}

static void drop_listeners(struct mp_listener *l)
{
    for (; l; l = l->older)
        mp_rpc_cancel(&l->rpc, "replaced", true);
}

/* A server that acknowledges nothing must not collect them: behind the newest few, only
 * one that is in force stays until the newest is. */
static void drop_unacknowledged(struct mp_listener *l)
{
    for (unsigned n = 0; l; l = l->older)
        if (++n > MP_LISTENERS_MAX && !l->acknowledged)
            mp_rpc_cancel(&l->rpc, "replaced", true);
}

/* ---- changes that may have been missed ---- */

unsigned mp_notify_kept(const struct mp_session *s)
{
    unsigned kept = 0;

    for (int i = 0; i < MP_KINDS; i++)
        kept |= s->lists.kept[i].list ? 1u << i : 0;
    if (kept & MCPLUG_TEMPLATES)
        kept |= MCPLUG_RESOURCES;
    return kept & ~(unsigned)MCPLUG_TEMPLATES;
}

void mp_notify_lists(struct mp_session *s, unsigned kinds)
{
    for (int i = 0; i < MP_KINDS; i++)
        if (kinds & 1u << i && s->o.changed && s->phase == MP_READY)
            s->o.changed(s->o.arg, s, 1 << i, NULL);
}

/* Changes are notified again. There may have been some meanwhile: all lists from before,
 * and those fetched since then, are taken to have changed. */
static void listening_restored(struct mp_session *s)
{
    unsigned kinds = s->listening.lists_before | mp_notify_kept(s);

    if (!s->listening.lost)
        return;
    for (int i = 0; i < MP_KINDS; i++) /* the answer may be from before */
        if (s->lists.kept[i].fetch)
            kinds |= 1u << i == MCPLUG_TEMPLATES ? MCPLUG_RESOURCES : 1u << i;
    s->listening.lost = false;
    s->listening.lists_before = 0;
    for (size_t i = 0; i < MP_COUNT(lists); i++)
        if (!s->o.changed || !mp_session_can(s, lists[i].capability))
            kinds &= ~(1u << i); /* never notified, so none was missed */
    mp_lists_changed(s, kinds & MCPLUG_RESOURCES ? kinds | MCPLUG_TEMPLATES : kinds);
    mp_notify_lists(s, kinds);
}

/* ---- calls that wait for an acknowledgement ---- */

/* An acknowledgement has the subset of what was asked for that will be notified. */
static bool is_granted(const mp_message *m, const char *uri)
{
    mp_view subset = mp_message_inner(m, "notifications"), item;
    mp_view granted = mp_view_get(subset, "resourceSubscriptions");
    struct mp_walk w = mp_walk_into(granted);

    if (!mp_view_is_object(subset))
        return true; /* it does not say */
    while (mp_view_is_array(granted) && mp_walk_element(&w, &item))
        if (mp_view_equals(item, uri))
            return true;
    return false;
}

/* All of them end: with `why`, or after the acknowledgement `m`. Whoever hears of one may
 * change them all, so it is looked anew each time. */
static void end_listening(struct mp_session *s, const mp_message *m,
                          const struct mcplug_error *why)
{
    struct mp_request *call = s->calls.first;

    while (s->phase == MP_READY && call) {
        struct mcplug_error err = MCPLUG_ERROR_INIT;
        if (!call->listens || call->cancel_job.queued) {
            call = call->next;
            continue;
        }
        if (!why && call->subscribes && !is_granted(m, call->uri))
            mp_fail(&err, MCPLUG_ENOTSUP,
                    "server \"%s\" does not report changes of %.200s", s->name,
                    call->uri);
        mp_request_finish(call, NULL, why ? why : err.code ? &err : NULL);
        call = s->calls.first;
    }
}

static void on_settled(struct mp_job *job)
{
    mp_request_finish(MP_OF(job, struct mp_request, settle_job), NULL, NULL);
}

/* ---- notifications ---- */

static void on_progress(struct mp_session *s, mp_message *m)
{
    uint64_t token;
    double progress = 0, total = -1;

    if (!mp_rpc_read_id(s->rpc, mp_message_inner(m, "progressToken"), &token))
        return;
    for (struct mp_request *call = s->calls.first; call; call = call->next) {
        if (!call->in_round || call->rpc.id != token || !mp_call_log_wants_progress(call))
            continue;
        mp_view_double(mp_message_inner(m, "progress"), &progress);
        mp_view_double(mp_message_inner(m, "total"), &total);
        char *text = mp_view_strdup(mp_message_inner(m, "message"));
        mp_call_log_progress(call, progress, total, text,
                             mp_message_view(m, m->env.params));
        mp_free(text);
        return;
    }
}

/* `m` NULL: the list has changed, else the one resource that it names. */
static void on_changed(struct mp_session *s, unsigned which, const mp_message *m)
{
    char *uri = m ? mp_view_strdup(mp_message_inner(m, "uri")) : NULL;

    if (!m)
        mp_lists_changed(s, which);
    if (s->o.changed && (uri || !m))
        s->o.changed(s->o.arg, s, (int)(which & ~(unsigned)MCPLUG_TEMPLATES), uri);
    mp_free(uri);
}

static void on_logged(struct mp_session *s, mp_message *m)
{
    mp_view params = mp_message_view(m, m->env.params);
    struct mp_event event = {
        .kind = MP_EVENT_LOGGED,
        .level = MCPLUG_LOG_VERBOSE,
        .source = s->source,
        .text = {.data = (const char *)params.data, .len = params.len},
    };

    if (params.len && mp_events_want(s->cfg.log, MP_EVENT_LOGGED, MCPLUG_LOG_VERBOSE))
        mp_events_tell(s->cfg.log, &event);
    char *text = NULL;
    if (s->o.logged && params.len)
        text = mp_strndup((const char *)params.data, params.len);
    if (text)
        s->o.logged(s->o.arg, s, text, params.len);
    mp_free(text);
}

/* A server ends a subscription of ours by cancelling it. */
static void on_cancelled(struct mp_session *s, mp_message *m)
{
    struct mp_listener *l = listener_of(s, mp_message_inner(m, "requestId"));

    if (l)
        mp_rpc_cancel(&l->rpc, "the server ended the subscription", false);
    else
        mp_inputs_cancelled(s, m);
}

/* The newest subscription is in force: those that it replaces are ended. */
static void on_acknowledged(struct mp_session *s, mp_message *m)
{
    struct mp_listener *l = listener_of(s, subscription_of(m));

    if (!l)
        return;
    if (!l->acknowledged)
        l->since = mp_loop_now(s->cfg.loop);
    l->acknowledged = true;
    if (l == s->listening.newest) {
        drop_listeners(l->older);
        end_listening(s, m, NULL);
    }
    listening_restored(s);
}

/* While two subscriptions overlap, both notify a change. Once the newer one is
 * acknowledged, what comes under the other is ignored. */
static bool is_duplicate(const struct mp_session *s, mp_message *m)
{
    mp_view id = subscription_of(m);
    const struct mp_listener *from = listener_of(s, id), *l = s->listening.newest;

    if (!from)
        return id.len >
               0; /* one that has ended, whose last notifications still come in */
    while (l != from && !l->acknowledged)
        l = l->older;
    return l != from;
}

void mp_notify(struct mp_session *s, mp_message *m)
{
    mp_view method = mp_message_view(m, m->env.method);
    struct mcplug_error why;

    if (s->phase == MP_CLOSING)
        return;
    mp_error_init(&why);
    if (mp_message_unique(m, &why) != MCPLUG_OK)
        mp_log(s->cfg.log, MCPLUG_LOG_WARN, s->source, "ignored %.*s: %s",
               method.len > 100 ? 100 : (int)method.len, (const char *)method.data,
               why.text);
    else if (mp_view_equals(method, "notifications/subscriptions/acknowledged"))
        on_acknowledged(s, m);
    else if (is_duplicate(s, m))
        return;
    else if (mp_view_equals(method, "notifications/progress"))
        on_progress(s, m);
    else if (mp_view_equals(method, "notifications/message"))
        on_logged(s, m);
    else if (mp_view_equals(method, "notifications/tools/list_changed"))
        on_changed(s, MCPLUG_TOOLS, NULL);
    else if (mp_view_equals(method, "notifications/prompts/list_changed"))
        on_changed(s, MCPLUG_PROMPTS, NULL);
    else if (mp_view_equals(method, "notifications/resources/list_changed"))
        on_changed(s, MCPLUG_RESOURCES | MCPLUG_TEMPLATES, NULL);
    else if (mp_view_equals(method, "notifications/resources/updated"))
        on_changed(s, MCPLUG_RESOURCES, m);
    else if (mp_view_equals(method, "notifications/cancelled"))
        on_cancelled(s, m);
    else
        mp_log(s->cfg.log, MCPLUG_LOG_VERBOSE, s->source, "ignored %.*s",
               method.len > 100 ? 100 : (int)method.len, (const char *)method.data);
}

/* ---- subscriptions/listen ---- */

static int listen_anew(struct mp_session *s, struct mcplug_error *err);
static void listen_again(struct mp_session *s, bool stood);

static void on_listen_again(struct mp_timer *timer)
{
    struct mp_session *s = MP_OF(timer, struct mp_session, listening.timer);
    struct mcplug_error err = MCPLUG_ERROR_INIT;

    if (s->phase != MP_READY || listen_anew(s, &err) == MCPLUG_OK)
        return;
    mp_log(s->cfg.log, MCPLUG_LOG_WARN, s->source, "subscriptions/listen: %s", err.text);
    listen_again(s, false);
}

/* Where a stream can be lost alone, for example to the idle time-out of a proxy, the
 * subscription is sent again. The delay grows with each that ends within STOOD_MS: after
 * every loss all lists count as changed. */
static void listen_again(struct mp_session *s, bool stood)
{
    static const uint32_t pauses[] = {1000, 2000, 5000, 10000, 30000, 60000};
    struct mp_listening *l = &s->listening;

    if (stood)
        l->lost_in_a_row = 0;
    uint32_t pause = pauses[l->lost_in_a_row < 5 ? l->lost_in_a_row : 5];
    l->lost_in_a_row++;
    mp_timer_start(s->cfg.loop, &l->timer, pause, on_listen_again);
}

static enum mp_outcome listen_done(struct mp_call *rpc, mp_message *m,
                                   const struct mcplug_error *why)
{
    struct mp_listener *l = MP_OF(rpc, struct mp_listener, rpc), **at;
    struct mp_session *s = l->session;
    struct mcplug_error ended = MCPLUG_ERROR_INIT;
    bool heard = l->acknowledged;
    bool stood = heard && mp_loop_now(s->cfg.loop) - l->since >= STOOD_MS;
    (void)m;

    if (why && why->code != MCPLUG_ECANCELED)
        mp_log(s->cfg.log, MCPLUG_LOG_VERBOSE, s->source, "subscriptions/listen: %s",
               why->text);
    for (at = &s->listening.newest; *at != l; at = &(*at)->older)
        ;
    bool was_newest = at == &s->listening.newest; /* the others were to go anyway */
    *at = l->older;
    mp_free(l);
    const struct mp_listener *other = s->listening.newest;
    while (other && !other->acknowledged)
        other = other->older;
    if (!s->listening.newest || (heard && !other)) {
        /* lists that are kept until they change may change without a notification now */
        s->listening.lost = true;
        s->listening.lists_before |= mp_notify_kept(s);
        mp_lists_unwatched(s);
    }
    if (was_newest && why && why->code != MCPLUG_ECANCELED && why->code != MCPLUG_EPEER &&
        s->phase == MP_READY && mp_rpc_has_exchanges(s->rpc)) {
        listen_again(s, stood); /* its calls wait for that one */
    } else if (was_newest) {
        if (!why)
            mp_fail(&ended, MCPLUG_EPROTO, "the server ended subscriptions/listen");
        end_listening(s, NULL, why ? why : &ended);
    }
    return MP_OK;
}

/* One subscription carries all that is wanted; a change of it replaces it. */
static int listen_anew(struct mp_session *s, struct mcplug_error *err)
{
    const struct mp_uris *uris = &s->listening.uris;
    struct mp_frame_parts parts = {.method = "subscriptions/listen"};
    struct mp_str p;
    const char *comma = "";

    mp_str_init(&p, 16 * 1024 * 1024);
    mp_str_adds(&p, "\"notifications\":{");
    for (size_t i = 0; s->o.changed && i < MP_COUNT(lists); i++) {
        if (!mp_session_can(s, lists[i].capability))
            continue;
        mp_str_addf(&p, "%s\"%s\":true", comma, lists[i].wish);
        comma = ",";
    }
    for (size_t i = 0; i < uris->n; i++) {
        mp_str_addf(&p, "%s%s", comma, i ? "" : "\"resourceSubscriptions\":[");
        mp_str_add_json(&p, uris->all[i], strlen(uris->all[i]));
        comma = ",";
    }
    mp_str_adds(&p, uris->n ? "]}" : "}");
    if (!*comma && !p.failed) { /* nothing is wanted */
        drop_listeners(s->listening.newest);
        mp_str_clear(&p);
        return MCPLUG_OK;
    }
    parts.members = mp_bytes(p.data, p.len);
    struct mp_listener *l = p.failed ? NULL : mp_alloc(sizeof *l);
    if (l)
        *l = (struct mp_listener){{.done = listen_done, .standing = true}, .session = s};
    int r = l ? mp_frame_send(s, &l->rpc, &parts, 0, err) : mp_fail_nomem(err);
    mp_str_clear(&p);
    if (r != MCPLUG_OK) {
        mp_free(l);
        return r;
    }
    mp_timer_stop(s->cfg.loop, &s->listening.timer);
    l->older = s->listening.newest;
    s->listening.newest = l;
    drop_unacknowledged(l);
    return MCPLUG_OK;
}

/* ---- what is subscribed to ---- */

/* A request with one member, a string. */
static int request_with(struct mp_session *s, const char *method, const char *key,
                        const char *value, struct mcplug_error *err)
{
    struct mp_str p;

    mp_str_init(&p, 1024 * 1024);
    mp_str_addf(&p, "\"%s\":", key);
    mp_str_add_json(&p, value, strlen(value));
    int r = p.failed
                ? mp_fail_nomem(err)
                : mp_request_background(s, method, mp_bytes(p.data, p.len), NULL, err);
    mp_str_clear(&p);
    return r;
}

void mp_notify_start(struct mp_session *s)
{
    const struct mp_uris *uris = &s->listening.uris;
    struct mcplug_error err = MCPLUG_ERROR_INIT;

    if (s->phase != MP_READY)
        return;
    if (s->era == MP_ERA_MODERN)
        listen_anew(s, &err);
    else if (s->client.log_level && mp_session_can(s, "logging"))
        request_with(s, "logging/setLevel", "level", s->client.log_level, &err);
    bool may = s->era == MP_ERA_LEGACY && mp_session_can(s, "resources/subscribe");
    for (size_t i = 0; may && i < uris->n; i++) /* a session begun anew knows nothing */
        request_with(s, "resources/subscribe", "uri", uris->all[i], &err);
    if (err.code)
        mp_log(s->cfg.log, MCPLUG_LOG_WARN, s->source, "%s", err.text);
}

static size_t find_uri(const struct mp_uris *uris, const char *uri)
{
    size_t i = 0;

    while (i < uris->n && strcmp(uris->all[i], uri) != 0)
        i++;
    return i;
}

bool mp_uris_have(const struct mp_uris *uris, const char *uri)
{
    return find_uri(uris, uri) < uris->n;
}

int mp_uris_set(struct mp_uris *uris, const char *uri, bool on, struct mcplug_error *err)
{
    size_t i = find_uri(uris, uri);

    if (!on && i < uris->n) {
        mp_free(uris->all[i]);
        uris->all[i] = uris->all[--uris->n];
    } else if (on && i == uris->n) {
        char **more = mp_resize(uris->all, (i + 1) * sizeof *more);
        char *copy = mp_strdup(uri);
        if (more)
            uris->all = more;
        if (!more || !copy) {
            mp_free(copy);
            return mp_fail_nomem(err);
        }
        uris->all[uris->n++] = copy;
    }
    return MCPLUG_OK;
}

int mp_notify_subscribe(struct mp_session *s, const char *uri, bool on,
                        struct mcplug_error *err)
{
    if (s->phase != MP_READY)
        return mp_fail(err, MCPLUG_ECLOSED, "server \"%s\" is not connected", s->name);
    if (on && s->era == MP_ERA_LEGACY && !mp_session_can(s, "resources/subscribe"))
        return mp_fail(err, MCPLUG_ENOTSUP, "server \"%s\" has no resource subscriptions",
                       s->name);
    size_t before = s->listening.uris.n;
    int r = mp_uris_set(&s->listening.uris, uri, on, err);
    if (r != MCPLUG_OK)
        return r;
    bool had = s->listening.uris.n == before;
    if (s->era == MP_ERA_MODERN)
        r = listen_anew(s, err);
    else
        r = request_with(s, on ? "resources/subscribe" : "resources/unsubscribe", "uri",
                         uri, err);
    if (r != MCPLUG_OK && on && !had)
        mp_uris_set(&s->listening.uris, uri, false, err);
    return r;
}

/* In 2026-07-28 the subscription is replaced, and the call waits until the server
 * acknowledges that. */
static int begin_listening(struct mp_request *call, bool had, struct mcplug_error *err)
{
    struct mp_session *s = call->session;
    const struct mp_listener *newest = s->listening.newest;
    int r = had != call->subscribes || !newest ? listen_anew(s, err) : MCPLUG_OK;

    if (r == MCPLUG_OK)
        r = mp_request_wait_for_answers(call, err);
    if (r != MCPLUG_OK)
        return r;
    newest = s->listening.newest;
    call->listens = true;
    if (!newest || newest->acknowledged || newest->rpc.job.queued)
        mp_job_defer(s->cfg.loop, &call->settle_job,
                     on_settled); /* nothing to wait for */
    return MCPLUG_OK;
}

int mp_notify_begin(struct mp_request *call, struct mcplug_error *err)
{
    struct mp_session *s = call->session;
    bool had = mp_uris_have(&s->listening.uris, call->uri);

    if (call->subscribes && s->era == MP_ERA_LEGACY &&
        !mp_session_can(s, "resources/subscribe"))
        return mp_fail(err, MCPLUG_ENOTSUP, "server \"%s\" has no resource subscriptions",
                       s->name);
    int r = mp_uris_set(&s->listening.uris, call->uri, call->subscribes, err);
    if (r == MCPLUG_OK)
        r = s->era == MP_ERA_MODERN ? begin_listening(call, had, err)
                                    : mp_request_send_round(call, err);
    if (r != MCPLUG_OK && call->subscribes && !had)
        mp_uris_set(&s->listening.uris, call->uri, false, NULL);
    return r;
}

void mp_uris_move(struct mp_uris *to, struct mp_uris *from)
{
    *to = *from;
    *from = (struct mp_uris){0};
}

void mp_uris_clear(struct mp_uris *uris)
{
    for (size_t i = 0; i < uris->n; i++)
        mp_free(uris->all[i]);
    mp_free(uris->all);
    *uris = (struct mp_uris){0};
}
