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
        if (s->keeper.state != MP_KEEPER_ENDED || s->orders || s->n_alive != s->n_handles)
            return false; /* a handle was released, and nobody told yet */
    return true;
}

void mp_registry_clear(struct mp_registry *r)
{
    while (r->services)
        mp_service_free(r->services);
    while (r->queues) {
        struct mp_named_queue *q = r->queues;
        r->queues = q->next;
        mp_queue_free(q->queue);
        mp_free(q);
    }
}

struct mp_queue *mp_registry_queue(struct mp_registry *r, const char *name)
{
    for (struct mp_named_queue *q = r->queues; q; q = q->next)
        if (strcmp(mp_queue_name(q->queue), name) == 0)
            return q->queue;
    struct mp_named_queue *q = mp_alloc(sizeof *q);
    if (!q || !(q->queue = mp_queue_new(r->o.loop, name, 0, 0))) {
        mp_free(q);
        return NULL;
    }
    q->next = r->queues;
    r->queues = q;
    return q->queue;
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
    const struct mp_request *call = s->session ? s->session->calls : NULL;

    while (call && call->pings) /* our own */
        call = call->next;
    return s->n_sent || call;
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

    if (s->known_path || !path) {
        mp_free(path);
        return;
    }
    s->known_path = path;
    if (!mp_tool_cache_load_at(path, &known))
        return;
    for (int i = 0; i < MP_FETCHED; i++) {
        mp_view items = mp_tool_cache_items(&known, MP_KIND(i));
        if (!s->lists[i].list && items.len && mp_tool_cache_whole(&known, MP_KIND(i)))
            s->lists[i].list = mp_list_read(MP_KIND(i), items);
    }
    if (!s->instructions)
        s->instructions =
            mp_view_strdup(mp_view_get(mp_tool_cache_server(&known), "instructions"));
    mp_tool_cache_clear(&known);
}

void mp_service_unused(struct mp_service *s)
{
    bool asks = s->o.elicit || s->o.elicit_url || s->o.sample || s->o.roots;

    /* somebody may come back before it is stopped; not if it is nobody else's, or could
     * ask somebody who is gone */
    if (s->keeper.idle_ms && mp_service_ready(s) && !s->dedicated && !asks) {
        mp_keeper_set_idle(&s->keeper, s->keeper.idle_ms); /* from now on */
        return;
    }
    s->retired = true;
    mp_keeper_end(&s->keeper, NULL);
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

void mp_service_maybe_free(struct mp_service *s)
{
    mp_job_defer(s->registry->o.loop, &s->end_job, end_if_unused);
}

void mp_service_free(struct mp_service *s)
{
    struct mp_loop *loop = s->registry->o.loop;

    while (s->handles) /* of a host that is freed: nobody may use them any more */
        mp_handle_free(s->handles);
    while (s->leaving) {
        mcplug_handle *h = s->leaving;
        s->leaving = h->next;
        mp_handle_gone(h);
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
    mp_job_drop(loop, &s->stopped_job);
    mp_job_drop(loop, &s->tell_job);
    mp_job_drop(loop, &s->end_job);
    for (int i = 0; i < MP_FETCHED; i++)
        mcplug_list_unref(s->lists[i].list);
    if (s->settings) {
        mp_props_free(s->settings->props);
        mp_free(s->settings->type);
        mp_free(s->settings);
    }
    mp_free((char *)s->o.log_level);
    mp_free((char *)s->o.revision);
    mp_free(s->name);
    mp_free(s->source);
    mp_free(s->identity);
    mp_free(s->probe);
    mp_free(s->probe_url);
    mp_free(s->known_path);
    mp_free(s->revision);
    mp_free(s->transport);
    mp_free(s->instructions);
    mp_uris_clear(&s->uris);
    mp_free(s);
}

/* Equal, or both not there. */
static bool same_text(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

/* Would the connection be the same one? Times are everybody's own. */
static bool same_options(const struct mcplug_server_options *a,
                         const struct mcplug_server_options *b)
{
    bool asks = a->elicit || a->elicit_url || a->sample || a->roots;
    return a->elicit == b->elicit && a->elicit_url == b->elicit_url &&
           a->sample == b->sample && a->roots == b->roots &&
           (!asks || a->arg == b->arg) && a->max_memory == b->max_memory &&
           a->max_spill == b->max_spill && same_text(a->log_level, b->log_level) &&
           same_text(a->revision, b->revision);
}

static bool fits(const struct mp_service *s, const mcplug_settings *settings,
                 uint64_t hash, const struct mcplug_server_options *o,
                 const struct mcplug_acquire_options *options)
{
    return !s->retired && !s->dedicated && s->hash == hash &&
           same_text(s->settings->type, settings->type) &&
           strcmp(s->identity, options->identity ? options->identity : "") == 0 &&
           mp_props_equal(s->settings->props, settings->props) &&
           same_options(&s->o, o) && same_text(s->probe, options->probe) &&
           same_text(s->probe_url, options->probe_url);
}

static mcplug_settings *copy_settings(const mcplug_settings *from)
{
    mcplug_settings *s = mp_alloc(sizeof *s);
    if (!s)
        return NULL;
    s->props = mp_props_copy(from->props);
    s->type = mp_strdup(from->type);
    if (s->props && (s->type || !from->type))
        return s;
    mp_props_free(s->props);
    mp_free(s->type);
    mp_free(s);
    return NULL;
}

static bool copy_text(char **slot, const char *text)
{
    return !text || (*slot = mp_strdup(text));
}

const char *mp_settings_name(const mcplug_settings *settings, char *room, size_t size)
{
    const char *command = mp_props_get(settings->props, "command");
    const char *url = mp_props_get(settings->props, "url");

    if (command) {
        const char *slash = strrchr(command, '/');
        return slash && slash[1] ? slash + 1 : command;
    }
    if (!url)
        return settings->type ? settings->type : "server";
    const char *host = strstr(url, "://");
    host = host ? host + 3 : url;
    size_t authority = strcspn(host, "/?#");
    const char *user = memrchr(host, '@', authority);
    const char *rest = user ? user + 1 : host;
    snprintf(room, size, "%.*s%.*s", (int)(host - url), url, (int)strcspn(rest, "?#"),
             rest);
    return room;
}

static uint64_t window_of(const struct mcplug_acquire_options *o)
{
    return o->probe_ms ? o->probe_ms : MP_HEALTH_IDLE_MS;
}

static int service_new(struct mp_registry *r, const mcplug_settings *settings,
                       const struct mcplug_server_options *o,
                       const struct mcplug_acquire_options *options,
                       struct mp_service **out, struct mcplug_error *err)
{
    struct mp_service *s = mp_alloc(sizeof *s);
    struct mp_str source;
    char *level = NULL, *revision = NULL, room[256];

    if (!s)
        return mp_fail_nomem(err);
    s->registry = r;
    s->o = *o;
    s->hash = mp_props_hash(settings->props);
    s->dedicated = options->dedicated != 0;
    s->name =
        mp_strdup(o->name ? o->name : mp_settings_name(settings, room, sizeof room));
    mp_service_init(s);
    mp_health_init(&s->health, &health_ops, r->o.loop, window_of(options));
    s->keeper.idle_ms = options->idle_ms;
    mp_str_init(&source, 256);
    mp_str_addf(&source, "mcp:%.200s", s->name ? s->name : "");
    s->source = mp_str_take(&source);
    s->identity = mp_strdup(options->identity ? options->identity : "");
    s->settings = copy_settings(settings);
    bool ok = s->name && s->source && s->identity && s->settings &&
              copy_text(&s->probe, options->probe) &&
              copy_text(&s->probe_url, options->probe_url) &&
              copy_text(&level, o->log_level) && copy_text(&revision, o->revision);
    s->o.name = NULL;
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
            s->session->o.keep_alive_ms = ms;
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

void mp_service_share(struct mp_service *s, const struct mcplug_acquire_options *options,
                      uint32_t keep_alive_ms)
{
    uint64_t idle = s->keeper.idle_ms;

    /* who wants it to stay longest has his way */
    if (idle && (!options->idle_ms || options->idle_ms > idle))
        mp_keeper_set_idle(&s->keeper, options->idle_ms);
    watch_closer(s, window_of(options));
    keep_alive(s, keep_alive_ms);
}

int mp_registry_find(struct mp_registry *r, const mcplug_settings *settings,
                     const struct mcplug_acquire_options *options,
                     struct mp_service **out, struct mcplug_error *err)
{
    const struct mcplug_server_options *given = options->server;
    struct mcplug_server_options o = {.struct_size = sizeof o};
    uint64_t hash = mp_props_hash(settings->props);

    if (mp_take_options(&o, given, err) != MCPLUG_OK)
        return MCPLUG_EINVAL;
    for (struct mp_service *s = options->dedicated ? NULL : r->services; s; s = s->next) {
        if (!fits(s, settings, hash, &o, options))
            continue;
        mp_service_share(s, options, o.keep_alive_ms);
        *out = s;
        return MCPLUG_OK;
    }
    return service_new(r, settings, &o, options, out, err);
}
