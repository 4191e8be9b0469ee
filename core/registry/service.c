#include "registry/registry.h"

#include "base/error.h"
#include "base/links.h"
#include "base/mem.h"
#include "base/text.h"
#include "registry/tool_cache.h"

#include <errno.h>
#include <stdio.h>

static struct mp_service *of_keeper(struct mp_keeper *k)
{
    return MP_OF(k, struct mp_service, keeper);
}

static void log_line(const struct mp_service *s, int level, const char *fmt, ...)
    MCPLUG_PRINTF(3, 4);

static void log_line(const struct mp_service *s, int level, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    mp_logv(s->registry->o.log, level, s->source, fmt, ap);
    va_end(ap);
}

static void tell(const struct mp_service *s, struct mp_event *event)
{
    event->source = s->source;
    if (mp_events_want(s->registry->o.log, event->kind, event->level))
        mp_events_tell(s->registry->o.log, event);
}

/* An attempt to start it is over. Of one that is not kept up its one user is told. */
static void tell_started(const struct mp_service *s, const struct mcplug_error *why)
{
    struct mp_event event = {
        .kind = MP_EVENT_STARTED,
        .level = MCPLUG_LOG_VERBOSE,
        .started = {.why = why,
                    .ms = mp_loop_now(s->registry->o.loop) - s->started_at,
                    .tools = mcplug_list_count(s->lists[0].list),
                    .revision = s->revision},
    };
    if (!s->keeper.once)
        tell(s, &event);
}

static void tell_change(const struct mp_service *s)
{
    const struct mp_keeper *k = &s->keeper;
    bool is_down = k->state == MP_KEEPER_WAITING || k->state == MP_KEEPER_PARKED;
    uint64_t now = mp_loop_now(k->loop);
    struct mp_event event = {
        .kind = MP_EVENT_STATE,
        .level = is_down ? MCPLUG_LOG_WARN : MCPLUG_LOG_VERBOSE,
        .state = {.state = (int)k->state,
                  .why = is_down ? k->cause : NULL,
                  .next_ms =
                      k->state == MP_KEEPER_WAITING && k->due > now ? k->due - now : 0,
                  .failures = k->failures,
                  .starts = k->starts_made},
    };
    tell(s, &event);
}

bool mp_service_ready(const struct mp_service *s)
{
    return s->keeper.state == MP_KEEPER_READY;
}

/* Does somebody wait for an answer? */
static bool awaits_answer(const struct mp_service *s)
{
    return s->n_sent || (s->session && mp_session_busy(s->session));
}

/* ---- who is told ---- */

struct news {
    int kind;
    const char *text;
    size_t len;
};

/* Calls fn for every server there is now. Any of them may go meanwhile, and more come. */
static void each_server(struct mp_service *s,
                        void (*fn)(mcplug_server *h, const struct news *news),
                        const struct news *news)
{
    struct mp_cursor at = {.next = s->servers, .outer = s->cursors};
    uint64_t opened = s->opened;

    s->cursors = &at;
    while (at.next && at.next->seq <= opened) {
        mcplug_server *h = at.next;
        at.next = h->next;
        fn(h, news);
    }
    s->cursors = at.outer;
}

static void tell_state_to(mcplug_server *h, const struct news *news)
{
    struct mp_service *s = h->service;
    enum mp_keeper_state state = s->keeper.state, after = s->keeper.after;
    bool failed = state == MP_KEEPER_WAITING || state == MP_KEEPER_PARKED ||
                  (state == MP_KEEPER_STOPPING &&
                   (after == MP_KEEPER_WAITING || after == MP_KEEPER_PARKED)) ||
                  (s->keeper.once && !s->retired &&
                   (state == MP_KEEPER_STOPPING || state == MP_KEEPER_ENDED));
    (void)news;

    if (h->told == s->change)
        return;
    h->told = s->change;
    if (h->o.state)
        h->o.state(h->o.arg, h, (enum mcplug_state)state,
                   failed && s->error->code ? s->error : NULL);
}

static void tell_state(struct mp_job *job)
{
    each_server(MP_OF(job, struct mp_service, tell_job), tell_state_to, NULL);
}

static void tell_changed(mcplug_server *h, const struct news *news)
{
    if (h->o.changed && (!news->text || mp_uris_have(&h->uris, news->text)))
        h->o.changed(h->o.arg, h, news->kind, news->text);
}

static void tell_logged(mcplug_server *h, const struct news *news)
{
    if (h->o.logged)
        h->o.logged(h->o.arg, h, news->text, news->len);
}

static void tell_remark(mcplug_server *h, const struct news *news)
{
    if (h->o.remark)
        h->o.remark(h->o.arg, h, news->text, news->len);
}

/* ---- lists ---- */

static void fetch_soon(struct mp_service *s);
static void settle(struct mp_service *s);

/* Whatever went wrong with it is over. */
static void retry_reset(struct mp_list_state *l)
{
    l->due = 0;
    l->failures = l->refusals = 0;
}

static void keep_list(struct mp_list_state *l, mcplug_list *list)
{
    mcplug_list_unref(l->list);
    l->list = mcplug_list_ref(list);
    l->had = true;
    retry_reset(l);
}

/* For the next time, when it may be asked about while it does not run. Only what was
 * fetched: the others keep their date. */
static void keep_known(struct mp_service *s, unsigned kinds, mcplug_list *templates)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    mcplug_list *lists[MP_KINDS] = {NULL};
    int64_t ttls[MP_KINDS];

    for (int i = 0; i < MP_KINDS; i++) {
        uint64_t ms = 0;
        bool told = mp_lists_ttl(s->session, MP_KIND(i), &ms);
        ttls[i] = !told ? MP_TOOL_CACHE_NO_TTL : ms > INT64_MAX ? INT64_MAX : (int64_t)ms;
    }
    for (int i = 0; i < MP_FETCHED; i++)
        if (kinds & MP_KIND(i) && s->lists[i].had && !s->lists[i].stale)
            lists[i] = s->lists[i].list;
    lists[MP_FETCHED] = templates;
    if (!s->cache_path ||
        mp_tool_cache_save(s->cache_path, &s->id, lists, ttls, &err) == MCPLUG_OK ||
        s->registry->cache_failed)
        return;
    s->registry->cache_failed = true; /* once is enough */
    mp_log(s->registry->o.log, MCPLUG_LOG_VERBOSE, "catalogue",
           "the lists of servers are not cached: %s", err.text);
}

/* It is asked for again, later and later. A server that refuses it knows what it says,
 * and is asked a few times only, unless it tells of another change. */
static void list_failed(struct mp_list_state *l, const struct mcplug_error *why)
{
    struct mp_service *s = l->service;

    l->due = mp_loop_now(s->registry->o.loop) + ((uint64_t)MP_RETRY_MS << l->failures);
    l->failures += l->failures < MP_RETRY_DOUBLINGS;
    if (why->code != MCPLUG_EPEER || ++l->refusals < MP_REFUSALS_MAX)
        l->stale = true;
    log_line(s, MCPLUG_LOG_WARN, "cannot get its list of %s: %s", l->noun, why->text);
}

static void on_others(struct mp_timer *timer)
{
    settle(MP_OF(timer, struct mp_service, others));
}

/* The tools decide whether it is ready; the other lists may be a little late. */
static void settle_soon(struct mp_service *s)
{
    bool has_tools = s->wanted & MCPLUG_TOOLS && !s->lists[0].fetching;

    if (!s->fetching || s->fetch_error->code)
        settle(s);
    else if (has_tools && !s->keeper.once && !s->others.slot &&
             mp_timer_start(s->registry->o.loop, &s->others, MP_LISTS_MS, on_others) !=
                 MCPLUG_OK)
        settle(s);
}

static void on_list(void *arg, mcplug_list *list, const struct mcplug_error *why)
{
    struct mp_list_state *l = arg;
    struct mp_service *s = l->service;
    int i = (int)(l - s->lists);
    struct news news = {.kind = 1 << i};

    l->fetching = false;
    l->fetched_at = mp_loop_now(s->registry->o.loop);
    if (!why)
        keep_list(l, list);
    else if (why->code != MCPLUG_ECANCELED)
        list_failed(l, why);
    if (s->keeper.state == MP_KEEPER_STARTING) {
        s->fetching--;
        if (why && i == 0 && !s->keeper.once) /* kept up without its tools it is no use */
            mp_error_keep(&s->fetch_error, why);
        if (!why || s->fetch_error->code || !mp_session_lost(s->session))
            settle_soon(s); /* else the connection is gone, which is told next */
    } else if (mp_service_ready(s)) {
        if (l->stale) /* once more: it has changed meanwhile, or could not be had */
            fetch_soon(s);
        else if (!why)
            keep_known(s, MP_KIND(i), NULL);
        if (!why)
            each_server(s, tell_changed, &news);
    }
}

static void fetch(struct mp_service *s, int i)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    struct mp_list_state *l = &s->lists[i];

    l->stale = false;
    l->had = false;
    l->fetching = mp_lists_get(s->session, MP_KIND(i), on_list, l, &err) == MCPLUG_OK;
    if (l->fetching)
        return;
    list_failed(l, &err);
    if (i == 0 && !s->keeper.once)
        mp_error_keep(&s->fetch_error, &err);
}

void mp_service_take_list(struct mp_service *s, enum mcplug_kind kind, mcplug_list *list)
{
    for (int i = 0; i < MP_FETCHED; i++) {
        struct mp_list_state *l = &s->lists[i];
        if (kind != MP_KIND(i) || l->list == list)
            continue;
        l->fetched_at = mp_loop_now(s->registry->o.loop);
        keep_list(l, list);
        keep_known(s, kind, NULL);
    }
    if (kind == MCPLUG_TEMPLATES)
        keep_known(s, 0, list);
}

static void on_refetch(struct mp_timer *timer)
{
    struct mp_service *s = MP_OF(timer, struct mp_service, refetch);
    uint64_t now = mp_loop_now(s->registry->o.loop);

    s->refetched_at = now;
    for (int i = 0; i < MP_FETCHED && mp_service_ready(s); i++) {
        const struct mp_list_state *l = &s->lists[i];
        if (l->stale && !l->fetching && l->due <= now)
            fetch(s, i);
    }
    if (mp_service_ready(s))
        fetch_soon(s); /* those that are not due yet */
}

/* What is stale, as soon as it may be: a server may say that its lists change as often as
 * it likes. */
static void fetch_soon(struct mp_service *s)
{
    struct mp_loop *loop = s->registry->o.loop;
    uint64_t now = mp_loop_now(loop), due = UINT64_MAX;

    for (int i = 0; i < MP_FETCHED; i++) {
        const struct mp_list_state *l = &s->lists[i];
        if (l->stale && !l->fetching && l->due < due)
            due = l->due;
    }
    if (due == UINT64_MAX)
        return;
    if (s->refetched_at && due < s->refetched_at + MP_REFETCH_MS)
        due = s->refetched_at + MP_REFETCH_MS;
    mp_timer_start(loop, &s->refetch, due > now ? due - now : 0, on_refetch);
}

void mp_service_refresh_if_stale(struct mp_service *s, int i)
{
    const struct mp_list_state *l = &s->lists[i];
    uint64_t ttl, age = mp_loop_now(s->registry->o.loop) - l->fetched_at;

    if (!mp_service_ready(s) || l->fetching)
        return;
    if (age >= MP_REFRESH_MS && mp_lists_ttl(s->session, MP_KIND(i), &ttl) && ttl == 0)
        fetch(s, i);
    if (l->stale && !s->refetch.slot) /* there was no memory for the timer */
        fetch_soon(s);
}

static void on_changed(void *arg, struct mp_session *session, int kind, const char *uri)
{
    struct mp_service *s = arg;
    struct news news = {.kind = kind, .text = uri};
    (void)session;

    if (uri || !(s->wanted & (unsigned)kind)) { /* nothing to be fetched before */
        for (int i = 0; !uri && i < MP_FETCHED; i++)
            s->lists[i].stale |= kind == 1 << i && s->lists[i].list;
        each_server(s, tell_changed, &news);
        return;
    }
    for (int i = 0; i < MP_FETCHED && s->session; i++) {
        if (kind != 1 << i)
            continue;
        s->lists[i].stale = true;
        s->lists[i].refusals = 0;
        if (mp_service_ready(s) && !s->lists[i].fetching)
            fetch_soon(s);
    }
}

/* ---- the connection ---- */

static void on_logged(void *arg, struct mp_session *session, const char *params,
                      size_t len)
{
    struct news news = {.text = params, .len = len};
    (void)session;
    each_server(arg, tell_logged, &news);
}

static void on_remark(void *arg, struct mp_session *session, const char *line, size_t len)
{
    struct mp_service *s = arg;
    struct news news = {.text = line, .len = len};
    (void)session;

    if (s->keeper.state == MP_KEEPER_STARTING)
        mp_stderr_hint_keep(s->said, line, len);
    each_server(s, tell_remark, &news);
}

/* It is for whoever made the call that it belongs to, else for the oldest user. */
static void ask(struct mp_service *s, int which, mcplug_input *input, const char *params,
                size_t len)
{
    const struct mp_request *request = mp_input_request(input);
    mcplug_server *h = request ? mp_pending_call_server(request) : s->servers;

    if (!h || h->closed) {
        mcplug_input_refuse(input, -32603, "no handler is left to answer");
        return;
    }
    mp_input_own(input, h);
    s->handlers[which](s->handlers_arg, h, input, params, len);
}

#define ASKS(name, which)                                                                \
    static void name(void *arg, struct mp_session *session, mcplug_input *input,         \
                     const char *params, size_t len)                                     \
    {                                                                                    \
        (void)session;                                                                   \
        ask(arg, which, input, params, len);                                             \
    }
ASKS(on_elicit, 0)
ASKS(on_elicit_url, 1)
ASKS(on_sample, 2)
ASKS(on_roots, 3)

/* Would another attempt fail the same way, until somebody does something about it? */
static bool lasts(const struct mcplug_error *why)
{
    return why->code == MCPLUG_ECONFIG || why->code == MCPLUG_EAUTH ||
           why->code == MCPLUG_ENOTSUP || why->code == MCPLUG_EINVAL ||
           why->peer_status == 401 || why->peer_status == 403 || why->peer_status == 407;
}

/* A program that cannot be run: nobody need wait for it, though it may come. */
static bool is_missing(const struct mp_service *s, const struct mcplug_error *why)
{
    const mcplug_settings *t = mp_target_settings(s->target);

    return mp_props_get(t->props, "command") && why->code == MCPLUG_EREFUSED &&
           (why->os_error == ENOENT || why->os_error == EACCES ||
            why->os_error == ENOTDIR || why->os_error == ENOEXEC);
}

/* `lasting`: so it does, whatever the code says. */
static void failed(struct mp_service *s, const struct mcplug_error *cause, bool lasting)
{
    struct mcplug_error why;

    mp_error_copy(&why, cause);
    if (why.os_error == ESRCH && s->said[0] && !s->keeper.once)
        snprintf(why.text, sizeof why.text, "%.300s" MP_STDERR_HINT "%s", cause->text,
                 s->said);
    tell_started(s, &why);
    mp_error_keep(&s->error, &why);
    mp_keeper_failed(&s->keeper, &why, lasting || lasts(cause));
    if (is_missing(s, &why))
        mp_keeper_fail_waiters(&s->keeper);
}

/* Resources may have changed while it was away. Whoever hears it may subscribe to others,
 * so it is gone through copies. */
static void replay_subscriptions(struct mp_service *s)
{
    if (!mp_service_ready(s))
        return;
    const struct mp_uris *now = mp_session_uris(s->session);
    struct mp_uris all = {.all = now->n ? mp_alloc(now->n * sizeof *all.all) : NULL};

    for (; all.all && all.n < now->n; all.n++)
        all.all[all.n] = mp_strdup(now->all[all.n]);
    for (size_t i = 0; i < all.n && mp_service_ready(s); i++)
        if (all.all[i])
            on_changed(s, s->session, MCPLUG_RESOURCES, all.all[i]);
    mp_uris_clear(&all);
}

/* Connected, and the tools are there: the server is ready, or it is not at all. */
static void settle(struct mp_service *s)
{
    mp_timer_stop(s->registry->o.loop, &s->others);
    mp_timer_stop(s->registry->o.loop, &s->limit);
    if (s->fetch_error->code) {
        failed(s, s->fetch_error, false);
        return;
    }
    memcpy(s->revision, s->id.revision, sizeof s->revision);
    char *transport = mp_strdup(mp_session_transport(s->session));
    if (transport) {
        mp_free(s->transport);
        s->transport = transport;
    }
    tell_started(s, NULL);
    keep_known(s, MCPLUG_TOOLS | MCPLUG_PROMPTS | MCPLUG_RESOURCES, NULL);
    mp_keeper_started(&s->keeper);
    replay_subscriptions(s);
    if (mp_service_ready(s))
        fetch_soon(s); /* what changed while it was being fetched, or could not be had */
}

static void on_ready(void *arg, struct mp_session *session,
                     const struct mcplug_error *why)
{
    struct mp_service *s = arg;
    (void)session;

    if (s->keeper.state != MP_KEEPER_STARTING)
        return; /* stopped meanwhile */
    if (why) {
        failed(s, why, false);
        return;
    }
    mp_error_drop(&s->fetch_error);
    s->fetching = 0;
    s->asked = s->wanted;
    for (int i = 0; i < MP_FETCHED; i++) {
        retry_reset(&s->lists[i]);
        if (!(s->wanted & MP_KIND(i)))
            continue;
        fetch(s, i);
        s->fetching += s->lists[i].fetching;
    }
    settle_soon(s);
}

static void on_dropped(void *arg, struct mp_session *session,
                       const struct mcplug_error *why)
{
    struct mp_service *s = arg;
    (void)session;

    mp_error_keep(&s->error, why);
    if (s->keeper.state == MP_KEEPER_STARTING)
        failed(s, why, false);
    else
        mp_keeper_lost(&s->keeper, why);
}

/* ---- what the keeper asks for ---- */

/* What no session tells of. */
static void not_connected(struct mp_service *s, const struct mcplug_error *why,
                          bool lasting)
{
    log_line(s, MCPLUG_LOG_ERROR, "connection failed: %s", why->text);
    failed(s, why, lasting);
}

static void tell_not_started(struct mp_job *job)
{
    struct mp_service *s = MP_OF(job, struct mp_service, settle_job);
    not_connected(s, s->settled, false);
}

/* Connecting has a limit of its own in the session; this one is for the lists after it.
 */
static void on_limit(struct mp_timer *timer)
{
    struct mp_service *s = MP_OF(timer, struct mp_service, limit);
    struct mcplug_error why = MCPLUG_ERROR_INIT;

    mp_fail(&why, MCPLUG_ETIMEDOUT,
            "Connection to MCP server \"%s\" timed out after %ums", s->name,
            s->o.timeout_ms);
    not_connected(s, &why, false);
}

static int open_session(struct mp_service *s, const struct mp_endpoint *at,
                        struct mcplug_error *err)
{
    struct mp_registry *r = s->registry;
    struct mp_session_options o = s->o;

    o.arg = s;
    o.spent_ms = at->spent_ms;
    o.changed = s->hears_changes ? on_changed : NULL;
    o.logged = on_logged;
    o.remark = on_remark;
    o.dropped = on_dropped;
    o.elicit = s->handlers[0] ? on_elicit : NULL;
    o.elicit_url = s->handlers[1] ? on_elicit_url : NULL;
    o.sample = s->handlers[2] ? on_sample : NULL;
    o.roots = s->handlers[3] ? on_roots : NULL;
    int result = mp_connector_open(r->o.connector, at, &o, s->name, &s->id, on_ready, s,
                                   &s->session, err);
    if (result != MCPLUG_OK) {
        s->session = NULL;
        return result;
    }
    mp_uris_move(mp_session_uris(s->session), &s->uris); /* which its predecessor had */
    if (s->wanted) /* without memory the requests' own limits do */
        mp_timer_start(r->o.loop, &s->limit, mp_session_connect_ms(&o), on_limit);
    return MCPLUG_OK;
}

/* The time to connect begins now, less what a locator took of it: a secret may take its
 * own. */
static void on_looked_up(void *arg, const struct mp_endpoint *at,
                         const struct mcplug_error *why, bool is_secret)
{
    struct mp_service *s = arg;
    struct mcplug_error err = MCPLUG_ERROR_INIT;

    s->lookup = NULL;
    if (why) /* of a secret: somebody has to do something about it */
        not_connected(s, why, is_secret);
    else if (open_session(s, at, &err) != MCPLUG_OK)
        not_connected(s, &err, false);
}

static void start(struct mp_keeper *k)
{
    struct mp_service *s = of_keeper(k);
    struct mp_registry *r = s->registry;
    struct mcplug_error err = MCPLUG_ERROR_INIT;

    s->started_at = mp_loop_now(r->o.loop);
    s->restarts += k->was_ready;
    s->said[0] = '\0';
    int result = mp_probe_check(r->o.catalogue, s->target, s->probe, s->probe_url, &err);
    const struct mp_endpoint at = {.target = s->target,
                                   .settings = mp_target_settings(s->target),
                                   .offer = mp_target_offer(s->target)};
    if (result == MCPLUG_OK && mp_lookup_needed(r->o.connector, s->target))
        result = mp_lookup_start(r->o.connector, s->target, s->o.timeout_ms, on_looked_up,
                                 s, &s->lookup, &err);
    else if (result == MCPLUG_OK)
        result = open_session(s, &at, &err);
    if (result == MCPLUG_OK)
        return;
    mp_error_keep(&s->settled, &err);
    mp_job_defer(r->o.loop, &s->settle_job, tell_not_started);
}

static void tell_stopped(struct mp_job *job)
{
    struct mp_service *s = MP_OF(job, struct mp_service, stopped_job);
    mp_keeper_stopped(&s->keeper);
}

static void on_closed(void *arg)
{
    struct mp_service *s = arg;
    s->session = NULL;
    mp_keeper_stopped(&s->keeper);
}

static void stop(struct mp_keeper *k)
{
    struct mp_service *s = of_keeper(k);

    mp_job_drop(s->registry->o.loop, &s->settle_job);
    mp_timer_stop(s->registry->o.loop, &s->refetch);
    mp_timer_stop(s->registry->o.loop, &s->others);
    mp_timer_stop(s->registry->o.loop, &s->limit);
    mp_health_rest(&s->health);
    if (s->lookup)
        mp_lookup_cancel(mp_move(&s->lookup));
    if (s->session) {
        mp_uris_move(&s->uris, mp_session_uris(s->session));
        mp_session_close(s->session, &s->wire, on_closed, s);
    } else {
        mp_job_defer(s->registry->o.loop, &s->stopped_job, tell_stopped);
    }
}

static void changed(struct mp_keeper *k)
{
    struct mp_service *s = of_keeper(k);

    if (k->state == MP_KEEPER_READY && !k->once)
        mp_health_watch(&s->health);
    else
        mp_health_rest(&s->health);
    tell_change(s);
    if (k->state != MP_KEEPER_READY && !s->n_servers)
        mp_service_maybe_free(s);
    s->change++;
    mp_job_defer(k->loop, &s->tell_job, tell_state);
}

/* xorshift: it need not be secret. */
static uint32_t jitter(struct mp_keeper *k)
{
    uint64_t *x = &of_keeper(k)->registry->seed;
    *x ^= *x << 13;
    *x ^= *x >> 7;
    *x ^= *x << 17;
    return (uint32_t)(*x >> 32);
}

static bool is_used(struct mp_keeper *k)
{
    return awaits_answer(of_keeper(k));
}

static const struct mp_keeper_ops keeper_ops = {.start = start,
                                                .stop = stop,
                                                .changed = changed,
                                                .random = jitter,
                                                .is_used = is_used};

/* ---- health ---- */

static uint64_t silent_ms(struct mp_health *h)
{
    const struct mp_service *s = MP_OF(h, struct mp_service, health);
    return s->session ? mp_session_silent_ms(s->session) : 0;
}

static bool busy(struct mp_health *h)
{
    return awaits_answer(MP_OF(h, struct mp_service, health));
}

static void on_checked(void *arg, const struct mcplug_error *why)
{
    struct mp_service *s = arg;
    s->check = NULL;
    if (why)
        log_line(s, MCPLUG_LOG_ERROR, "health check failed: %s", why->text);
    else
        mp_keeper_answered(&s->keeper);
    mp_health_checked(&s->health, why);
}

static int check(struct mp_health *h, struct mcplug_error *err)
{
    struct mp_service *s = MP_OF(h, struct mp_service, health);
    struct mp_probe_options o = {
        .loop = s->registry->o.loop,
        .log = s->registry->o.log,
        .catalogue = s->registry->o.catalogue,
        .session = s->session,
        .target = s->target,
        .name = s->probe,
        .url = s->probe_url,
        .timeout_ms = MP_HEALTH_CHECK_MS,
    };
    return mp_probe_start(&o, on_checked, s, &s->check, err);
}

static void cancel_check(struct mp_health *h)
{
    struct mp_service *s = MP_OF(h, struct mp_service, health);
    if (s->check)
        mp_probe_cancel(mp_move(&s->check));
}

static void dead(struct mp_health *h, const struct mcplug_error *why)
{
    struct mp_service *s = MP_OF(h, struct mp_service, health);
    log_line(s, MCPLUG_LOG_ERROR, "%s", why->text);
    mp_error_keep(&s->error, why);
    mp_keeper_lost(&s->keeper, why);
}

static const struct mp_health_ops health_ops = {
    .silent_ms = silent_ms,
    .busy = busy,
    .check = check,
    .cancel = cancel_check,
    .dead = dead,
};

/* ---- life ---- */

void mp_service_recall(struct mp_service *s, char *path)
{
    struct mp_tool_cache known;

    if (s->cache_path || !path) {
        mp_free(path);
        return;
    }
    s->cache_path = path;
    if (!mp_tool_cache_load_at(path, &known))
        return;
    for (int i = 0; i < MP_FETCHED; i++) {
        mp_view items = mp_tool_cache_items(&known, MP_KIND(i));
        if (!s->lists[i].list && items.len && mp_tool_cache_whole(&known, MP_KIND(i)))
            s->lists[i].list = mp_list_read(MP_KIND(i), items);
    }
    if (!s->id.instructions)
        s->id.instructions =
            mp_view_strdup(mp_view_get(mp_tool_cache_server(&known), "instructions"));
    mp_tool_cache_clear(&known);
}

static bool asks(mcplug_input_fn *const handlers[4])
{
    return handlers[0] || handlers[1] || handlers[2] || handlers[3];
}

void mp_service_unused(struct mp_service *s)
{
    /* somebody may come back before it is stopped; not if it is nobody else's, or could
     * ask somebody who is gone */
    if (s->keeper.idle_ms && mp_service_ready(s) && !s->dedicated && !asks(s->handlers)) {
        mp_keeper_set_idle(&s->keeper, s->keeper.idle_ms); /* from now on */
        return;
    }
    s->retired = true;
    mp_keeper_end(&s->keeper, NULL);
}

static void end_if_unused(struct mp_job *job)
{
    struct mp_service *s = MP_OF(job, struct mp_service, end_job);

    if (s->n_alive || s->calls)
        return;
    if (s->keeper.state == MP_KEEPER_ENDED) {
        mp_service_free(s);
    } else if (s->keeper.state != MP_KEEPER_READY) { /* idle, or not worth an attempt */
        s->retired = true;
        mp_keeper_end(&s->keeper, NULL);
    }
}

void mp_service_maybe_free(struct mp_service *s)
{
    mp_job_defer(s->registry->o.loop, &s->end_job, end_if_unused);
}

void mp_service_free(struct mp_service *s)
{
    struct mp_loop *loop = s->registry->o.loop;

    while (s->servers) /* of a host that is freed: nobody may use them any more */
        mp_server_free(s->servers);
    while (s->leaving) {
        mcplug_server *h = s->leaving;
        s->leaving = h->next;
        mp_server_gone(h);
    }
    if (s->prev)
        mp_links_drop(s, next, prev);
    mp_health_rest(&s->health);
    mp_keeper_clear(&s->keeper);
    mp_job_drop(loop, &s->settle_job);
    mp_timer_stop(loop, &s->refetch);
    mp_timer_stop(loop, &s->others);
    mp_timer_stop(loop, &s->limit);
    mp_job_drop(loop, &s->stopped_job);
    mp_job_drop(loop, &s->tell_job);
    mp_job_drop(loop, &s->end_job);
    for (int i = 0; i < MP_FETCHED; i++)
        mcplug_list_unref(s->lists[i].list);
    mp_error_drop(&s->error);
    mp_error_drop(&s->fetch_error);
    mp_error_drop(&s->settled);
    mp_target_unref(s->target);
    mp_free((char *)s->o.log_level);
    mp_free((char *)s->o.revision);
    mp_free(s->name);
    mp_free(s->source);
    mp_free(s->identity);
    mp_free(s->probe);
    mp_free(s->probe_url);
    mp_free(s->cache_path);
    mp_free(s->transport);
    mp_identity_clear(&s->id);
    mp_uris_clear(&s->uris);
    mp_free(s);
}

/* Who is asked, in the order of mp_service.handlers. */
static void take_handlers(const struct mcplug_server_options *o, mcplug_input_fn *out[4])
{
    out[0] = o->elicit;
    out[1] = o->elicit_url;
    out[2] = o->sample;
    out[3] = o->roots;
}

bool mp_service_fits(const struct mp_service *s, const struct mp_target *target,
                     const struct mcplug_server_options *o)
{
    mcplug_input_fn *handlers[4];

    take_handlers(o, handlers);
    return !s->retired && !s->dedicated &&
           strcmp(s->identity, o->identity ? o->identity : "") == 0 &&
           memcmp(handlers, s->handlers, sizeof handlers) == 0 &&
           (!asks(handlers) || o->arg == s->handlers_arg) &&
           o->max_memory == s->o.max_memory && o->max_spill == s->o.max_spill &&
           mp_text_same(o->log_level, s->o.log_level) &&
           mp_text_same(o->revision, s->o.revision) && mp_text_same(s->probe, o->probe) &&
           mp_text_same(s->probe_url, o->probe_url) && mp_target_equal(s->target, target);
}

static bool copy_text(char **slot, const char *text)
{
    return !text || (*slot = mp_strdup(text));
}

static uint64_t window_of(const struct mcplug_server_options *o)
{
    return o->probe_ms ? o->probe_ms : MP_HEALTH_IDLE_MS;
}

unsigned mp_server_lists_of(const struct mcplug_server_options *o)
{
    const unsigned all = MCPLUG_TOOLS | MCPLUG_PROMPTS | MCPLUG_RESOURCES;
    return o->lists ? o->lists & all : o->once ? 0 : all;
}

int mp_service_new(struct mp_registry *r, struct mp_target *target,
                   const struct mcplug_server_options *o, struct mp_service **out,
                   struct mcplug_error *err)
{
    static const char *const nouns[MP_FETCHED] = {"tools", "prompts", "resources"};
    struct mp_service *s = mp_alloc(sizeof *s);
    struct mp_str source;
    char *level = NULL, *revision = NULL, buf[256];

    if (!s)
        return mp_fail_nomem(err);
    s->registry = r;
    s->o = (struct mp_session_options){
        .timeout_ms = o->timeout_ms ? o->timeout_ms : r->o.connector->connect_ms,
        .request_ms = o->request_ms,
        .tool_ms = o->tool_ms,
        .max_memory = o->max_memory,
        .max_spill = o->max_spill,
        .keep_alive_ms = o->keep_alive_ms};
    take_handlers(o, s->handlers);
    s->handlers_arg = o->arg;
    s->dedicated = o->dedicated || o->once;
    s->wanted = mp_server_lists_of(o);
    s->hears_changes = !o->once || o->changed;
    s->name = mp_strdup(
        o->name ? o->name
                : mp_settings_name(mp_target_settings(target), buf, sizeof buf));
    mp_keeper_init(&s->keeper, &keeper_ops, r->o.loop, &r->starts, s->name);
    mp_health_init(&s->health, &health_ops, r->o.loop, window_of(o));
    s->keeper.idle_ms = o->idle_ms;
    s->keeper.once = o->once != 0;
    s->last_call = &s->calls;
    s->last_server = &s->servers;
    s->wire.struct_size = sizeof s->wire;
    for (int i = 0; i < MP_FETCHED; i++) {
        s->lists[i].service = s;
        s->lists[i].noun = nouns[i];
    }
    s->error = s->fetch_error = s->settled = &mp_no_error;
    mp_str_init(&source, 256);
    mp_str_addf(&source, "mcp:%.200s", s->name ? s->name : "");
    s->source = mp_str_take(&source);
    s->identity = mp_strdup(o->identity ? o->identity : "");
    s->target = mp_target_ref(target);
    bool ok = s->name && s->source && s->identity && copy_text(&s->probe, o->probe) &&
              copy_text(&s->probe_url, o->probe_url) && copy_text(&level, o->log_level) &&
              copy_text(&revision, o->revision);
    s->o.log_level = level;
    s->o.revision = revision;
    if (!ok) {
        mp_service_free(s);
        return mp_fail_nomem(err);
    }
    mp_links_push(r->services, s, next, prev);
    *out = s;
    return MCPLUG_OK;
}

void mp_service_share(struct mp_service *s, const struct mcplug_server_options *o)
{
    uint64_t idle = s->keeper.idle_ms;
    uint32_t ping = s->o.keep_alive_ms;
    struct mp_health *h = &s->health;

    /* who wants it to stay longest has their way */
    if (idle && (!o->idle_ms || o->idle_ms > idle))
        mp_keeper_set_idle(&s->keeper, o->idle_ms);
    s->wanted |= mp_server_lists_of(o);
    if (o->keep_alive_ms && (!ping || o->keep_alive_ms < ping)) { /* one is enough */
        s->o.keep_alive_ms = o->keep_alive_ms;
        if (s->session)
            mp_session_keep_alive(s->session, o->keep_alive_ms);
    }
    /* A look that is due at the old pace would be late; one that is under way goes on. */
    if (window_of(o) >= h->idle_ms)
        return;
    h->idle_ms = window_of(o);
    if (h->watching && !h->checking && !h->misses && !h->doubted) {
        mp_health_rest(h);
        mp_health_watch(h);
    }
}
