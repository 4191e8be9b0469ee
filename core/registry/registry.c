#include "registry/registry.h"

#include "base/error.h"
#include "base/mem.h"
#include "registry/tool_cache.h"

#include <stdio.h>
#include <sys/random.h>

void mp_registry_init(struct mp_registry *r, const struct mp_registry_options *options)
{
    memset(r, 0, sizeof *r);
    r->o = *options;
    mp_starts_init(&r->starts, MP_STARTS_MAX);
    if (getrandom(&r->seed, sizeof r->seed, GRND_NONBLOCK) != (ssize_t)sizeof r->seed)
        r->seed = (uintptr_t)r; /* it only keeps servers from starting in step */
}

void mp_registry_end(struct mp_registry *r)
{
    struct mcplug_error why = {sizeof why, MCPLUG_ECANCELED, 0, 0, "the host ends"};

    for (struct mp_service *s = r->services; s; s = s->next) {
        s->retired = true;
        mp_keeper_end(&s->keeper, &why);
    }
}

bool mp_registry_idle(const struct mp_registry *r)
{
    for (const struct mp_service *s = r->services; s; s = s->next)
        if (s->keeper.state != MP_KEEPER_ENDED || s->calls || s->n_alive != s->n_servers)
            return false; /* one was closed, and nobody told yet */
    return true;
}

void mp_registry_clear(struct mp_registry *r)
{
    while (r->services)
        mp_service_free(r->services);
    while (r->queues) {
        struct mp_queue *q = r->queues;
        r->queues = q->next;
        mp_queue_free(q);
    }
}

struct mp_queue *mp_registry_queue(struct mp_registry *r, const char *name)
{
    struct mp_queue *q = r->queues;

    while (q && strcmp(q->name, name) != 0)
        q = q->next;
    if (q || !(q = mp_queue_new(r->o.loop, name, 0, 0)))
        return q;
    q->next = r->queues;
    r->queues = q;
    return q;
}

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

bool mp_service_busy(const struct mp_service *s)
{
    return s->n_sent || (s->session && mp_session_busy(s->session));
}

static bool busy(struct mp_health *h)
{
    return mp_service_busy(of_health(h));
}

static void on_checked(void *arg, const struct mcplug_error *why)
{
    struct mp_service *s = arg;
    s->check = NULL;
    if (why)
        mp_log(s->registry->o.log, MCPLUG_LOG_ERROR, s->source, "health check failed: %s",
               why->text);
    else
        mp_keeper_answered(&s->keeper);
    mp_health_checked(&s->health, why);
}

static int check(struct mp_health *h, struct mcplug_error *err)
{
    struct mp_service *s = of_health(h);
    struct mp_probe_options o = {
        .loop = s->registry->o.loop,
        .log = s->registry->o.log,
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
    mp_log(s->registry->o.log, MCPLUG_LOG_ERROR, s->source, "%s", why->text);
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

/* ---- services ---- */

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
    if (s->prev) {
        *s->prev = s->next;
        if (s->next)
            s->next->prev = s->prev;
    }
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

/* Equal, or both not there. */
static bool same_text(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

/* Who is asked, in the order of mp_service.handlers. */
static void take_handlers(const struct mcplug_server_options *o, mcplug_input_fn *out[4])
{
    out[0] = o->elicit;
    out[1] = o->elicit_url;
    out[2] = o->sample;
    out[3] = o->roots;
}

/* Would the connection be the same one? Times are everybody's own. */
static bool fits(const struct mp_service *s, const struct mp_target *target,
                 const struct mcplug_server_options *o)
{
    mcplug_input_fn *handlers[4];

    take_handlers(o, handlers);
    return !s->retired && !s->dedicated &&
           strcmp(s->identity, o->identity ? o->identity : "") == 0 &&
           memcmp(handlers, s->handlers, sizeof handlers) == 0 &&
           (!asks(handlers) || o->arg == s->handlers_arg) &&
           o->max_memory == s->o.max_memory && o->max_spill == s->o.max_spill &&
           same_text(o->log_level, s->o.log_level) &&
           same_text(o->revision, s->o.revision) && same_text(s->probe, o->probe) &&
           same_text(s->probe_url, o->probe_url) && mp_target_equal(s->target, target);
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

static int service_new(struct mp_registry *r, struct mp_target *target,
                       const struct mcplug_server_options *o, struct mp_service **out,
                       struct mcplug_error *err)
{
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
    mp_service_init(s);
    mp_health_init(&s->health, &health_ops, r->o.loop, window_of(o));
    s->keeper.idle_ms = o->idle_ms;
    s->keeper.once = o->once != 0;
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
    s->next = r->services;
    s->prev = &r->services;
    if (r->services)
        r->services->prev = &s->next;
    r->services = s;
    *out = s;
    return MCPLUG_OK;
}

/* One who wants it pinged is enough. */
static void keep_alive(struct mp_service *s, uint32_t ms)
{
    uint32_t old = s->o.keep_alive_ms;

    if (ms && (!old || ms < old)) {
        s->o.keep_alive_ms = ms;
        if (s->session)
            mp_session_keep_alive(s->session, ms);
    }
}

/* Who wants it watched closest has his way. A look that is due at the old pace would be
 * late; one that is under way goes on. */
static void watch_closer(struct mp_service *s, uint64_t ms)
{
    struct mp_health *h = &s->health;

    if (ms >= h->idle_ms)
        return;
    h->idle_ms = ms;
    if (h->watching && !h->checking && !h->misses && !h->doubted) {
        mp_health_rest(h);
        mp_health_watch(h);
    }
}

/* One more user of it: it stays as long, and is watched as closely, as anybody wants. */
static void share(struct mp_service *s, const struct mcplug_server_options *o)
{
    uint64_t idle = s->keeper.idle_ms;

    /* who wants it to stay longest has his way */
    if (idle && (!o->idle_ms || o->idle_ms > idle))
        mp_keeper_set_idle(&s->keeper, o->idle_ms);
    s->wanted |= mp_server_lists_of(o);
    watch_closer(s, window_of(o));
    keep_alive(s, o->keep_alive_ms);
}

int mp_registry_find(struct mp_registry *r, struct mp_target *target,
                     const struct mcplug_server_options *o, struct mp_service **out,
                     struct mcplug_error *err)
{
    bool own = o->dedicated || o->once;

    for (struct mp_service *s = own ? NULL : r->services; s; s = s->next) {
        if (!fits(s, target, o))
            continue;
        share(s, o);
        *out = s;
        return MCPLUG_OK;
    }
    return service_new(r, target, o, out, err);
}
