#include "registry/registry.h"

#include "base/error.h"
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
                  .why = is_down ? &k->cause : NULL,
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
                   failed && s->error.code ? &s->error : NULL);
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

static void keep_list(struct mp_list_state *l, mcplug_list *list)
{
    mcplug_list_unref(l->list);
    l->list = mcplug_list_ref(list);
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
           "what servers offer is not kept: %s", err.text);
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
    log_line(s, MCPLUG_LOG_WARN, "its list of %s can't be had: %s", l->noun, why->text);
}

/* Whatever went wrong with it is over. */
static void retry_reset(struct mp_list_state *l)
{
    l->due = 0;
    l->failures = l->refusals = 0;
}

static void on_others(struct mp_timer *timer)
{
    settle(MP_OF(timer, struct mp_service, others));
}

/* The tools decide whether it is ready; the other lists may be a little late. */
static void settle_soon(struct mp_service *s)
{
    bool has_tools = s->wanted & MCPLUG_TOOLS && !s->lists[0].fetching;

    if (!s->fetching || s->fetch_error.code)
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
    if (!why) {
        l->had = true;
        retry_reset(l);
        keep_list(l, list);
    } else if (why->code != MCPLUG_ECANCELED) {
        list_failed(l, why);
    }
    if (s->keeper.state == MP_KEEPER_STARTING) {
        s->fetching--;
        if (why && i == 0 && !s->keeper.once) /* kept up without its tools it is no use */
            mp_error_copy(&s->fetch_error, why);
        if (!why || s->fetch_error.code || !mp_session_lost(s->session))
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
        mp_error_copy(&s->fetch_error, &err);
}

void mp_service_take_list(struct mp_service *s, enum mcplug_kind kind, mcplug_list *list)
{
    for (int i = 0; i < MP_FETCHED; i++) {
        struct mp_list_state *l = &s->lists[i];
        if (kind != MP_KIND(i) || l->list == list)
            continue;
        l->had = true;
        l->fetched_at = mp_loop_now(s->registry->o.loop);
        retry_reset(l);
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
        mcplug_input_refuse(input, -32603, "nobody is left to answer");
        return;
    }
    mp_input_own(input, h);
    s->handlers[which](s->handlers_arg, h, input, params, len);
}

static void on_elicit(void *arg, struct mp_session *session, mcplug_input *input,
                      const char *params, size_t len)
{
    (void)session;
    ask(arg, 0, input, params, len);
}

static void on_elicit_url(void *arg, struct mp_session *session, mcplug_input *input,
                          const char *params, size_t len)
{
    (void)session;
    ask(arg, 1, input, params, len);
}

static void on_sample(void *arg, struct mp_session *session, mcplug_input *input,
                      const char *params, size_t len)
{
    (void)session;
    ask(arg, 2, input, params, len);
}

static void on_roots(void *arg, struct mp_session *session, mcplug_input *input,
                     const char *params, size_t len)
{
    (void)session;
    ask(arg, 3, input, params, len);
}

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
    bool is_program = t->type ? strcmp(t->type, "stdio") == 0
                              : mp_props_get(t->props, "command") != NULL;

    return is_program && why->code == MCPLUG_EREFUSED &&
           (why->os_error == ENOENT || why->os_error == EACCES ||
            why->os_error == ENOTDIR || why->os_error == ENOEXEC);
}

static void attempt_failed(struct mp_service *s, const struct mcplug_error *cause,
                           bool lasting)
{
    struct mcplug_error why;

    mp_error_copy(&why, cause);
    if (why.os_error == ESRCH && s->said[0] && !s->keeper.once)
        snprintf(why.text, sizeof why.text, "%.300s" MP_STDERR_HINT "%s", cause->text,
                 s->said);
    tell_started(s, &why);
    mp_error_copy(&s->error, &why);
    mp_keeper_failed(&s->keeper, &why, lasting);
    if (is_missing(s, &why))
        mp_keeper_fail_waiters(&s->keeper);
}

static void failed(struct mp_service *s, const struct mcplug_error *cause)
{
    attempt_failed(s, cause, lasts(cause));
}

static void keep_text(char **slot, const char *text)
{
    char *copy = mp_strdup(text);
    if (copy) {
        mp_free(*slot);
        *slot = copy;
    }
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
    if (s->fetch_error.code) {
        failed(s, &s->fetch_error);
        return;
    }
    memcpy(s->revision, s->id.revision, sizeof s->revision);
    keep_text(&s->transport, mp_session_transport(s->session));
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
        failed(s, why);
        return;
    }
    s->fetch_error.code = MCPLUG_OK;
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

    mp_error_copy(&s->error, why);
    if (s->keeper.state == MP_KEEPER_STARTING)
        failed(s, why);
    else
        mp_keeper_lost(&s->keeper, why);
}

/* ---- what the keeper asks for ---- */

static void tell_not_started(struct mp_job *job)
{
    struct mp_service *s = MP_OF(job, struct mp_service, settle_job);
    failed(s, &s->settled);
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
    log_line(s, MCPLUG_LOG_ERROR, "connection failed: %s", why.text);
    failed(s, &why);
}

static int open_session(struct mp_service *s, const mcplug_settings *settings,
                        struct mcplug_error *err)
{
    struct mp_registry *r = s->registry;
    struct mp_session_options o = s->o;

    o.arg = s;
    o.changed = s->hears_changes ? on_changed : NULL;
    o.logged = on_logged;
    o.remark = on_remark;
    o.dropped = on_dropped;
    o.elicit = s->handlers[0] ? on_elicit : NULL;
    o.elicit_url = s->handlers[1] ? on_elicit_url : NULL;
    o.sample = s->handlers[2] ? on_sample : NULL;
    o.roots = s->handlers[3] ? on_roots : NULL;
    int result = mp_connector_open(r->o.connector, settings, mp_target_offer(s->target),
                                   &o, s->name, &s->id, on_ready, s, &s->session, err);
    if (result != MCPLUG_OK) {
        s->session = NULL;
        log_line(s, MCPLUG_LOG_ERROR, "connection failed: %s", err->text);
        return result;
    }
    mp_uris_move(mp_session_uris(s->session), &s->uris); /* which its predecessor had */
    if (s->wanted) /* without memory the requests' own limits do */
        mp_timer_start(r->o.loop, &s->limit, s->o.timeout_ms, on_limit);
    return MCPLUG_OK;
}

/* The time to connect begins now: a secret may take its own. */
static void on_secrets(void *arg, const mcplug_settings *settings,
                       const struct mcplug_error *why)
{
    struct mp_service *s = arg;
    struct mcplug_error err = MCPLUG_ERROR_INIT;

    s->lookup = NULL;
    if (why) { /* somebody has to do something about it */
        log_line(s, MCPLUG_LOG_ERROR, "connection failed: %s", why->text);
        attempt_failed(s, why, true);
    } else if (open_session(s, settings, &err) != MCPLUG_OK) {
        failed(s, &err);
    }
}

static void start(struct mp_keeper *k)
{
    struct mp_service *s = of_keeper(k);
    struct mp_registry *r = s->registry;
    struct mcplug_error *err = &s->settled;

    s->started_at = mp_loop_now(r->o.loop);
    s->restarts += k->was_ready;
    s->said[0] = '\0';
    *err = (struct mcplug_error)MCPLUG_ERROR_INIT;
    int result = MCPLUG_OK;
    if (s->probe) {
        result = mp_probe_check(r->o.catalogue, s->probe, s->probe_url, err);
        if (result != MCPLUG_OK)
            log_line(s, MCPLUG_LOG_ERROR, "connection failed: %s", err->text);
    }
    if (result == MCPLUG_OK && mp_target_has_secrets(s->target))
        result = mp_lookup_start(r->o.loop, s->target, on_secrets, s, &s->lookup, err);
    else if (result == MCPLUG_OK)
        result = open_session(s, mp_target_settings(s->target), err);
    if (result != MCPLUG_OK)
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
    return mp_service_busy(of_keeper(k));
}

static const struct mp_keeper_ops keeper_ops = {.start = start,
                                                .stop = stop,
                                                .changed = changed,
                                                .random = jitter,
                                                .is_used = is_used};

/* ---- its beginning ---- */

void mp_service_init(struct mp_service *s)
{
    static const char *const nouns[MP_FETCHED] = {"tools", "prompts", "resources"};
    struct mp_registry *r = s->registry;

    mp_keeper_init(&s->keeper, &keeper_ops, r->o.loop, &r->starts, s->name);
    s->last_call = &s->calls;
    s->last_server = &s->servers;
    s->wire.struct_size = sizeof s->wire;
    for (int i = 0; i < MP_FETCHED; i++) {
        s->lists[i].service = s;
        s->lists[i].noun = nouns[i];
    }
    s->error = (struct mcplug_error)MCPLUG_ERROR_INIT;
    s->fetch_error = (struct mcplug_error)MCPLUG_ERROR_INIT;
}

void mp_service_wire(const struct mp_service *s, struct mcplug_ledger *out)
{
    *out = s->wire;
    if (s->session)
        mp_session_count(s->session, out);
}
