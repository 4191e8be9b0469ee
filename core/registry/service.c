#include "registry/registry.h"

#include "base/error.h"
#include "base/mem.h"
#include "registry/known.h"

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

bool mp_service_ready(const struct mp_service *s)
{
    return s->keeper.state == MP_KEEPER_READY;
}

/* ---- who is told ---- */

/* Whoever hears something may take any handle away, so the list is looked through anew
 * after each of them. */
static mcplug_handle *next_untold(const struct mp_service *s)
{
    for (mcplug_handle *h = s->handles; h; h = h->next)
        if (h->told != s->change)
            return h;
    return NULL;
}

static void tell_state(struct mp_job *job)
{
    struct mp_service *s = MP_OF(job, struct mp_service, tell_job);
    mcplug_handle *h;

    while ((h = next_untold(s))) {
        bool failed = s->keeper.state == MP_KEEPER_WAITING ||
                      s->keeper.state == MP_KEEPER_PARKED ||
                      (s->keeper.state == MP_KEEPER_STOPPING &&
                       (s->keeper.after == MP_KEEPER_WAITING ||
                        s->keeper.after == MP_KEEPER_PARKED)); /* else nothing is wrong */
        h->told = s->change;
        if (h->o.state)
            h->o.state(h->o.arg, h, (enum mcplug_state)s->keeper.state,
                       failed ? &s->error : NULL);
    }
}

/* Calls fn for every handle there is now; one of them may go meanwhile, or more come. */
static void each_handle(struct mp_service *s, void (*fn)(mcplug_handle *h, void *arg),
                        void *arg)
{
    uint64_t round = ++s->rounds;
    mcplug_handle *h = s->handles;

    while (h) {
        if (h->round != round) {
            h->round = round;
            fn(h, arg);
            h = s->handles; /* the list may be another one */
        } else {
            h = h->next;
        }
    }
}

struct news {
    int kind;
    const char *text;
    size_t len;
};

static void tell_changed(mcplug_handle *h, void *arg)
{
    const struct news *news = arg;
    if (h->o.changed)
        h->o.changed(h->o.arg, h, news->kind, news->text);
}

static void tell_logged(mcplug_handle *h, void *arg)
{
    const struct news *news = arg;
    if (h->o.logged)
        h->o.logged(h->o.arg, h, news->text, news->len);
}

static void tell_remark(mcplug_handle *h, void *arg)
{
    const struct news *news = arg;
    if (h->o.remark)
        h->o.remark(h->o.arg, h, news->text, news->len);
}

/* ---- lists ---- */

static void fetch(struct mp_service *s, int i);
static void fetch_soon(struct mp_service *s);
static void settle(struct mp_service *s);

static void keep_list(struct mp_list_state *l, mcplug_list *list)
{
    mcplug_list_unref(l->list);
    l->list = mcplug_list_ref(list);
}

/* For the next time, when it may be asked about while it does not run. */
static void keep_known(struct mp_service *s)
{
    mcplug_list *lists[MP_FETCHED];
    int64_t ttls[MP_FETCHED];

    for (int i = 0; i < MP_FETCHED; i++) {
        uint64_t ms = 0;
        bool told = mp_lists_ttl(s->session, MP_KIND(i), &ms);
        lists[i] = s->lists[i].list;
        ttls[i] = !told ? MP_KNOWN_NO_TTL : ms > INT64_MAX ? INT64_MAX : (int64_t)ms;
    }
    if (s->known_path)
        mp_known_save_at(s->known_path, s->session, lists, ttls);
}

static void on_list(void *arg, mcplug_list *list, const struct mcplug_error *why)
{
    struct mp_list_state *l = arg;
    struct mp_service *s = l->service;
    int i = (int)(l - s->lists);
    struct news news = {.kind = 1 << i};

    l->fetching = false;
    l->fetched_at = mp_loop_now(s->registry->o.loop);
    if (why && why->code != MCPLUG_ECANCELED)
        log_line(s, MCPLUG_LOG_WARN, "its list of %s can't be had: %s", l->noun,
                 why->text);
    if (!why)
        keep_list(l, list);
    else if (i == 0 && s->keeper.state == MP_KEEPER_STARTING)
        mp_error_copy(&s->fetch_error, why); /* a server without its tools is not ready */
    if (s->keeper.state == MP_KEEPER_STARTING) {
        if (--s->fetching == 0)
            settle(s);
    } else if (mp_service_ready(s)) {
        if (l->stale) /* it has changed once more meanwhile */
            fetch_soon(s);
        else
            keep_known(s);
        if (!why)
            each_handle(s, tell_changed, &news);
    }
}

static void fetch(struct mp_service *s, int i)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    struct mp_list_state *l = &s->lists[i];

    l->stale = false;
    l->fetching = mp_lists_get(s->session, MP_KIND(i), on_list, l, &err) == MCPLUG_OK;
    if (!l->fetching && i == 0)
        mp_error_copy(&s->fetch_error, &err);
}

static void on_refetch(struct mp_timer *timer)
{
    struct mp_service *s = MP_OF(timer, struct mp_service, refetch);

    for (int i = 0; i < MP_FETCHED && mp_service_ready(s); i++)
        if (s->lists[i].stale && !s->lists[i].fetching)
            fetch(s, i);
}

/* A server may say that its lists change as often as it likes. */
static void fetch_soon(struct mp_service *s)
{
    struct mp_loop *loop = s->registry->o.loop;
    uint64_t due = s->refetched_at + MP_REFETCH_MS, now = mp_loop_now(loop);

    if (s->refetch.slot)
        return;
    s->refetched_at = due > now ? due : now;
    mp_timer_start(loop, &s->refetch, s->refetched_at - now, on_refetch);
}

void mp_service_look(struct mp_service *s, int i)
{
    const struct mp_list_state *l = &s->lists[i];
    uint64_t ttl, age = mp_loop_now(s->registry->o.loop) - l->fetched_at;

    if (mp_service_ready(s) && !l->fetching && age >= MP_REFRESH_MS &&
        mp_lists_ttl(s->session, MP_KIND(i), &ttl) && ttl == 0)
        fetch(s, i);
}

static void on_changed(void *arg, mcplug_server *session, int kind, const char *uri)
{
    struct mp_service *s = arg;
    struct news news = {.kind = kind, .text = uri};
    (void)session;

    if (uri) {
        each_handle(s, tell_changed, &news);
        return;
    }
    for (int i = 0; i < MP_FETCHED && s->session; i++) {
        if (kind != 1 << i)
            continue;
        s->lists[i].stale = true;
        if (mp_service_ready(s) && !s->lists[i].fetching)
            fetch_soon(s);
    }
}

/* ---- the connection ---- */

static void on_logged(void *arg, mcplug_server *session, const char *params, size_t len)
{
    struct news news = {.text = params, .len = len};
    (void)session;
    each_handle(arg, tell_logged, &news);
}

static void on_remark(void *arg, mcplug_server *session, const char *line, size_t len)
{
    struct news news = {.text = line, .len = len};
    (void)session;
    each_handle(arg, tell_remark, &news);
}

static void on_elicit(void *arg, mcplug_server *session, mcplug_input *input,
                      const char *params, size_t len)
{
    struct mp_service *s = arg;
    s->o.elicit(s->o.arg, session, input, params, len);
}

static void on_elicit_url(void *arg, mcplug_server *session, mcplug_input *input,
                          const char *params, size_t len)
{
    struct mp_service *s = arg;
    s->o.elicit_url(s->o.arg, session, input, params, len);
}

static void on_sample(void *arg, mcplug_server *session, mcplug_input *input,
                      const char *params, size_t len)
{
    struct mp_service *s = arg;
    s->o.sample(s->o.arg, session, input, params, len);
}

static void on_roots(void *arg, mcplug_server *session, mcplug_input *input,
                     const char *params, size_t len)
{
    struct mp_service *s = arg;
    s->o.roots(s->o.arg, session, input, params, len);
}

/* Would another attempt fail the same way, until somebody does something about it? */
static bool lasts(const struct mcplug_error *why)
{
    return why->code == MCPLUG_ECONFIG || why->code == MCPLUG_EAUTH ||
           why->code == MCPLUG_ENOTSUP || why->code == MCPLUG_EINVAL ||
           why->peer_status == 401 || why->peer_status == 403 || why->peer_status == 407;
}

static void failed(struct mp_service *s, const struct mcplug_error *why)
{
    uint64_t ms = mp_loop_now(s->registry->o.loop) - s->started_at;

    log_line(s, MCPLUG_LOG_VERBOSE, "not ready after %llums: %s", (unsigned long long)ms,
             why->text);
    mp_error_copy(&s->error, why);
    mp_keeper_failed(&s->keeper, why, lasts(why));
}

static void keep_text(char **slot, const char *text)
{
    char *copy = mp_strdup(text);
    if (copy) {
        mp_free(*slot);
        *slot = copy;
    }
}

/* Connected, and all lists are there: the server is ready, or it is not at all. */
static void settle(struct mp_service *s)
{
    uint64_t ms = mp_loop_now(s->registry->o.loop) - s->started_at;

    if (s->fetch_error.code) {
        failed(s, &s->fetch_error);
        return;
    }
    keep_text(&s->revision, s->session->revision);
    keep_text(&s->transport, mp_rpc_transport(s->session->rpc));
    keep_text(&s->instructions, s->session->instructions ? s->session->instructions : "");
    log_line(s, MCPLUG_LOG_VERBOSE, "ready after %llums: %zu tools, revision %s",
             (unsigned long long)ms, mcplug_list_count(s->lists[0].list), s->revision);
    keep_known(s);
    mp_keeper_started(&s->keeper);
    fetch_soon(s); /* what changed while it was being fetched */
}

static void on_ready(void *arg, mcplug_server *session, const struct mcplug_error *why)
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
    for (int i = 0; i < MP_FETCHED; i++) {
        fetch(s, i);
        s->fetching += s->lists[i].fetching;
    }
    if (!s->fetching)
        settle(s);
}

static void on_dropped(void *arg, mcplug_server *session, const struct mcplug_error *why)
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

static void start(struct mp_keeper *k)
{
    struct mp_service *s = of_keeper(k);
    struct mp_registry *r = s->registry;
    struct mcplug_server_options o = s->o;

    o.prefetch = 0;
    o.name = s->name;
    o.arg = s;
    o.changed = on_changed;
    o.logged = on_logged;
    o.remark = on_remark;
    o.dropped = on_dropped;
    o.elicit = s->o.elicit ? on_elicit : NULL;
    o.elicit_url = s->o.elicit_url ? on_elicit_url : NULL;
    o.sample = s->o.sample ? on_sample : NULL;
    o.roots = s->o.roots ? on_roots : NULL;
    s->started_at = mp_loop_now(r->o.loop);
    s->restarts += k->was_ready;
    s->settled = (struct mcplug_error)MCPLUG_ERROR_INIT;
    int result = MCPLUG_OK;
    if (s->probe)
        result = mp_probe_check(r->o.catalogue, s->probe, s->probe_url, &s->settled);
    if (result == MCPLUG_OK)
        result =
            r->o.open(r->o.arg, s->settings, &o, on_ready, s, &s->session, &s->settled);
    if (result != MCPLUG_OK) {
        s->session = NULL;
        log_line(s, MCPLUG_LOG_ERROR, "connection failed: %s", s->settled.text);
        mp_job_defer(r->o.loop, &s->settle_job, tell_not_started);
    }
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
    mp_health_rest(&s->health);
    if (s->session)
        mp_session_close(s->session, on_closed, s);
    else
        mp_job_defer(s->registry->o.loop, &s->stopped_job, tell_stopped);
}

static void end_if_unused(struct mp_job *job)
{
    struct mp_service *s = MP_OF(job, struct mp_service, end_job);

    if (s->n_alive || s->orders)
        return;
    if (s->keeper.state == MP_KEEPER_ENDED) {
        mp_service_free(s);
    } else if (s->keeper.state != MP_KEEPER_READY) { /* idle, or not worth an attempt */
        s->retired = true;
        mp_keeper_end(&s->keeper, NULL);
    }
}

void mp_service_look_for_end(struct mp_service *s)
{
    mp_job_defer(s->registry->o.loop, &s->end_job, end_if_unused);
}

static void changed(struct mp_keeper *k)
{
    struct mp_service *s = of_keeper(k);

    if (k->state == MP_KEEPER_READY)
        mp_health_watch(&s->health);
    else
        mp_health_rest(&s->health);
    if (k->state == MP_KEEPER_WAITING)
        log_line(s, MCPLUG_LOG_WARN, "restart %u in %llums: %s", k->failures,
                 (unsigned long long)(k->due - mp_loop_now(k->loop)), k->cause.text);
    else if (k->state == MP_KEEPER_PARKED)
        log_line(s, MCPLUG_LOG_WARN, "not tried again by itself: %s", k->cause.text);
    if (k->state != MP_KEEPER_READY && !s->n_handles)
        mp_service_look_for_end(s);
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

/* Calls through handles, and those that somebody makes on the connection itself. */
static bool is_used(struct mp_keeper *k)
{
    const struct mp_service *s = of_keeper(k);
    const struct mp_request *call = s->session ? s->session->calls : NULL;

    while (call && call->pings) /* our own */
        call = call->next;
    return s->n_sent || call;
}

static const struct mp_keeper_ops keeper_ops = {.start = start,
                                                .stop = stop,
                                                .changed = changed,
                                                .random = jitter,
                                                .is_used = is_used};

/* ---- health ---- */

static struct mp_service *of_health(struct mp_health *h)
{
    return MP_OF(h, struct mp_service, health);
}

static uint64_t silent_ms(struct mp_health *h)
{
    struct mp_service *s = of_health(h);
    return s->session ? mp_session_silent_ms(s->session) : 0;
}

static bool busy(struct mp_health *h)
{
    return is_used(&of_health(h)->keeper);
}

static void on_checked(void *arg, const struct mcplug_error *why)
{
    struct mp_service *s = arg;
    s->check = NULL;
    if (why)
        log_line(s, MCPLUG_LOG_ERROR, "health check failed: %s", why->text);
    mp_health_checked(&s->health, why);
}

static int check(struct mp_health *h, struct mcplug_error *err)
{
    struct mp_service *s = of_health(h);
    struct mp_probe_options o = {
        .catalogue = s->registry->o.catalogue,
        .session = s->session,
        .name = s->probe,
        .url = s->probe_url,
        .timeout_ms = MP_HEALTH_CHECK_MS,
    };
    return mp_probe_start(&o, on_checked, s, &s->check, err);
}

static void cancel_check(struct mp_health *h)
{
    struct mp_service *s = of_health(h);
    if (s->check)
        mp_probe_cancel(mp_move(&s->check));
}

static void dead(struct mp_health *h, const struct mcplug_error *why)
{
    struct mp_service *s = of_health(h);
    log_line(s, MCPLUG_LOG_ERROR, "%s", why->text);
    mp_error_copy(&s->error, why);
    mp_keeper_lost(&s->keeper, why);
}

static const struct mp_health_ops health_ops = {
    .silent_ms = silent_ms,
    .busy = busy,
    .check = check,
    .cancel = cancel_check,
    .dead = dead,
};

/* ---- its beginning and its end ---- */

void mp_service_recall(struct mp_service *s, const char *path)
{
    struct mp_known known;

    if (s->known_path || !(s->known_path = mp_strdup(path)))
        return;
    if (!mp_known_load_at(path, &known))
        return;
    for (int i = 0; i < MP_FETCHED; i++) {
        mp_view items = mp_known_items(&known, MP_KIND(i));
        if (!s->lists[i].list && items.len && mp_known_whole(&known, MP_KIND(i)))
            s->lists[i].list = mp_list_read(MP_KIND(i), items);
    }
    if (!s->instructions)
        s->instructions =
            mp_view_strdup(mp_view_get(mp_known_server(&known), "instructions"));
    mp_known_clear(&known);
}

void mp_service_init(struct mp_service *s, uint64_t probe_ms)
{
    static const char *const nouns[MP_FETCHED] = {"tools", "prompts", "resources"};
    struct mp_registry *r = s->registry;

    mp_keeper_init(&s->keeper, &keeper_ops, r->o.loop, &r->starts, s->name);
    mp_health_init(&s->health, &health_ops, r->o.loop,
                   probe_ms ? probe_ms : MP_HEALTH_IDLE_MS);
    for (int i = 0; i < MP_FETCHED; i++) {
        s->lists[i].service = s;
        s->lists[i].noun = nouns[i];
    }
    s->error = (struct mcplug_error)MCPLUG_ERROR_INIT;
    s->fetch_error = (struct mcplug_error)MCPLUG_ERROR_INIT;
}

void mp_service_unused(struct mp_service *s)
{
    bool asks = s->o.elicit || s->o.elicit_url || s->o.sample || s->o.roots;

    /* somebody may come back before it is stopped; not if it is nobody else's, or could
     * ask somebody who is gone */
    if (s->keeper.idle_ms && mp_service_ready(s) && !s->dedicated && !asks)
        return;
    s->retired = true;
    mp_keeper_end(&s->keeper, NULL);
}
