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

static void fetch_soon(struct mp_service *s);
static void settle(struct mp_service *s);

static void keep_list(struct mp_list_state *l, mcplug_list *list)
{
    mcplug_list_unref(l->list);
    l->list = mcplug_list_ref(list);
}

/* For the next time, when it may be asked about while it does not run. Only what was
 * fetched: the others keep their date. */
static void keep_known(struct mp_service *s, int kinds)
{
    mcplug_list *lists[MP_FETCHED];
    int64_t ttls[MP_FETCHED];

    for (int i = 0; i < MP_FETCHED; i++) {
        const struct mp_list_state *l = &s->lists[i];
        uint64_t ms = 0;
        bool told = mp_lists_ttl(s->session, MP_KIND(i), &ms);
        lists[i] = kinds & MP_KIND(i) && l->had && !l->stale ? l->list : NULL;
        ttls[i] = !told ? MP_TOOL_CACHE_NO_TTL : ms > INT64_MAX ? INT64_MAX : (int64_t)ms;
    }
    if (s->known_path)
        mp_tool_cache_save_at(s->known_path, s->session, lists, ttls);
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
    if (!s->fetching || s->fetch_error.code)
        settle(s);
    else if (!s->lists[0].fetching && !s->others.slot &&
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
        if (why && i == 0) /* a server without its tools is not ready */
            mp_error_copy(&s->fetch_error, why);
        if (!why || i == 0 || !mp_rpc_idle(s->session->rpc))
            settle_soon(s); /* else the connection is gone, which is told next */
    } else if (mp_service_ready(s)) {
        if (l->stale) /* once more: it has changed meanwhile, or could not be had */
            fetch_soon(s);
        else if (!why)
            keep_known(s, MP_KIND(i));
        if (!why)
            each_handle(s, tell_changed, &news);
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
    if (i == 0)
        mp_error_copy(&s->fetch_error, &err);
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
        s->lists[i].refusals = 0;
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
    struct mp_service *s = arg;
    struct news news = {.text = line, .len = len};
    (void)session;

    if (s->keeper.state == MP_KEEPER_STARTING)
        mp_stderr_hint_keep(s->said, line, len);
    each_handle(s, tell_remark, &news);
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

/* A program that cannot be run: nobody need wait for it, though it may come. */
static bool is_missing(const struct mp_service *s, const struct mcplug_error *why)
{
    const mcplug_settings *t = s->settings;
    bool is_program = t->type ? strcmp(t->type, "stdio") == 0
                              : mp_props_get(t->props, "command") != NULL;

    return is_program && why->code == MCPLUG_EREFUSED &&
           (why->os_error == ENOENT || why->os_error == EACCES ||
            why->os_error == ENOTDIR || why->os_error == ENOEXEC);
}

static void failed(struct mp_service *s, const struct mcplug_error *cause)
{
    uint64_t ms = mp_loop_now(s->registry->o.loop) - s->started_at;
    struct mcplug_error why;

    mp_error_copy(&why, cause);
    if (why.os_error == ESRCH && s->said[0])
        snprintf(why.text, sizeof why.text, "%.300s" MP_STDERR_HINT "%s", cause->text,
                 s->said);
    log_line(s, MCPLUG_LOG_VERBOSE, "not ready after %llums: %s", (unsigned long long)ms,
             why.text);
    mp_error_copy(&s->error, &why);
    mp_keeper_failed(&s->keeper, &why, lasts(&why));
    if (is_missing(s, &why))
        mp_keeper_fail_waiters(&s->keeper);
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
    const struct mp_uris *now = &s->session->uris;
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
    uint64_t ms = mp_loop_now(s->registry->o.loop) - s->started_at;

    mp_timer_stop(s->registry->o.loop, &s->others);
    if (s->fetch_error.code) {
        failed(s, &s->fetch_error);
        return;
    }
    keep_text(&s->revision, s->session->revision);
    keep_text(&s->transport, mp_rpc_transport(s->session->rpc));
    keep_text(&s->instructions, s->session->instructions ? s->session->instructions : "");
    log_line(s, MCPLUG_LOG_VERBOSE, "ready after %llums: %zu tools, revision %s",
             (unsigned long long)ms, mcplug_list_count(s->lists[0].list), s->revision);
    keep_known(s, MCPLUG_TOOLS | MCPLUG_PROMPTS | MCPLUG_RESOURCES);
    mp_keeper_started(&s->keeper);
    replay_subscriptions(s);
    if (mp_service_ready(s))
        fetch_soon(s); /* what changed while it was being fetched, or could not be had */
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
        retry_reset(&s->lists[i]);
        fetch(s, i);
        s->fetching += s->lists[i].fetching;
    }
    settle_soon(s);
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
    s->said[0] = '\0';
    s->settled = (struct mcplug_error)MCPLUG_ERROR_INIT;
    int result = MCPLUG_OK;
    if (s->probe)
        result = mp_probe_check(r->o.catalogue, s->probe, s->probe_url, &s->settled);
    if (result == MCPLUG_OK)
        result =
            r->o.open(r->o.arg, s->settings, &o, on_ready, s, &s->session, &s->settled);
    if (result == MCPLUG_OK) {
        s->session->is_kept = true;
        s->session->uris = s->uris; /* which its predecessor had */
        s->uris = (struct mp_uris){0};
    } else {
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
    mp_timer_stop(s->registry->o.loop, &s->others);
    mp_health_rest(&s->health);
    if (s->session) {
        s->uris = s->session->uris;
        s->session->uris = (struct mp_uris){0};
        mp_session_close(s->session, on_closed, s);
    } else {
        mp_job_defer(s->registry->o.loop, &s->stopped_job, tell_stopped);
    }
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
    s->last_order = &s->orders;
    for (int i = 0; i < MP_FETCHED; i++) {
        s->lists[i].service = s;
        s->lists[i].noun = nouns[i];
    }
    s->error = (struct mcplug_error)MCPLUG_ERROR_INIT;
    s->fetch_error = (struct mcplug_error)MCPLUG_ERROR_INIT;
}
