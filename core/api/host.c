#include "api/host.h"
#include "api/options.h"

#include "base/error.h"
#include "base/mem.h"
#include "toolbox/toolbox.h"

#include <mcplug/admin.h>

#include <stdlib.h>

#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#ifndef PACKAGE_VERSION
#define PACKAGE_VERSION "0"
#endif

const char *mcplug_version(void)
{
    return PACKAGE_VERSION;
}

uint32_t mcplug_version_number(void)
{
    return MCPLUG_VERSION_NUMBER;
}

const char *mcplug_error_name(int code)
{
    return mp_error_name(code);
}

/* ---- life ---- */

static uint64_t from_environment(const char *name, uint64_t fallback)
{
    const char *text = secure_getenv(name);
    char *end;

    if (!text || *text < '0' || *text > '9')
        return fallback;
    unsigned long long ms = strtoull(text, &end, 10);
    return *end || ms == 0 ? fallback : ms;
}

unsigned mcplug_batch_size(int *wrong)
{
    static const char name[] = "MCP_SERVER_CONNECTION_BATCH_SIZE";
    const char *text = secure_getenv(name);
    uint64_t n = from_environment(name, 0);
    bool fits = n >= 1 && n <= MCPLUG_BATCH_MAX;

    if (wrong)
        *wrong = text && *text && !fits;
    return fits ? (unsigned)n : MP_BATCH;
}

static int take_options(mcplug *host, const struct mcplug_options *given,
                        struct mcplug_options *o, struct mp_host_json *json,
                        struct mcplug_error *err)
{
    *o = (struct mcplug_options){0};
    int r = mp_take_options(o, given, err);
    if (r == MCPLUG_OK)
        r = mp_host_options_fill(o, json, err);
    if (r == MCPLUG_OK)
        r = mp_pull_init(&host->pull, o->events, err);
    if (r != MCPLUG_OK)
        return r;
    if (!o->log && mp_pull_wants(&host->pull, MCPLUG_EVENT_LOG))
        mp_events_init(&host->events, mp_pull_log, &host->pull, o->log_level);
    else
        mp_events_init(&host->events, o->log, o->log_arg, o->log_level);
    host->client_name = mp_strdup(o->client_name ? o->client_name : "mcplug");
    host->client_version =
        mp_strdup(o->client_version ? o->client_version : PACKAGE_VERSION);
    host->spill_dir = mp_spill_dir(o->spill_dir);
    uint64_t ms = from_environment("MCP_TIMEOUT", 30000);
    host->connector.connect_ms = ms > UINT32_MAX ? UINT32_MAX : (uint32_t)ms;
    host->connector.tool_ms = from_environment("MCP_TOOL_TIMEOUT", 100000000);
    host->batch = mcplug_batch_size(NULL);
    return host->client_name && host->client_version && host->spill_dir
               ? MCPLUG_OK
               : mp_fail_nomem(err);
}

static void host_free(mcplug *host)
{
    void (*free_log_arg)(void *) = host->free_log_arg;
    void *log_arg = host->log_arg;

    mp_converters_free(host->conversions.converters);
    mp_uses_forget(&host->runs);
    mp_models_clear(&host->runs.models);
    mp_catalogue_free(host->catalogue);
    mp_renderer_clear(&host->renderer);
    mp_host_end_listeners(host);
    mp_loop_free(host->loop);
    mp_pull_clear(&host->pull);
    mp_free(host->client_name);
    mp_free(host->client_version);
    mp_free(host->spill_dir);
    mp_free(host);
    if (free_log_arg)
        free_log_arg(log_arg);
}

mcplug *mcplug_new(const struct mcplug_options *options, struct mcplug_error *err)
{
    struct mcplug_options o;
    struct mp_host_json json = {0};
    struct mp_converters *converters = NULL;
    mcplug *host = mp_alloc(sizeof *host);

    if (!host) {
        mp_fail_nomem(err);
    } else if (take_options(host, options, &o, &json, err) == MCPLUG_OK &&
               (host->loop = mp_loop_new(err))) {
        mp_loop_set_log(host->loop, &host->events);
        host->pull.loop = host->loop;
        struct mp_catalogue_options c = {.log = &host->events,
                                         .loop = host->loop,
                                         .dirs = o.plugin_dirs,
                                         .more_dirs = o.user_plugin_dirs,
                                         .plugins = o.plugins,
                                         .helper_dir = o.helper_dir,
                                         .wire = &mp_link_wire,
                                         .health = &mp_probe_health,
                                         .place = &mp_place_ops,
                                         .reply = &mp_reply_ops};
        if (mp_renderer_init(&host->renderer, host->loop, &host->events, o.results_dir,
                             err) == MCPLUG_OK)
            host->catalogue = mp_catalogue_new(&c, err);
        if (host->catalogue)
            converters =
                mp_converters_new(host->catalogue, host->loop, o.converters, err);
        host->conversions =
            (struct mp_convert_calls){.loop = host->loop, .converters = converters};
        host->renderer.converters = converters;
        host->runs.models = (struct mp_models){
            .loop = host->loop, .log = &host->events, .connector = &host->connector};
    }
    mp_host_json_clear(&json);
    if (host && !converters) {
        host_free(host);
        return NULL;
    }
    if (host) {
        host->connector.loop = host->loop;
        host->connector.log = &host->events;
        host->connector.catalogue = host->catalogue;
        host->connector.client_name = host->client_name;
        host->connector.client_version = host->client_version;
        host->connector.spill_dir = host->spill_dir;
        mp_searches_init(&host->connector.searches, host->loop);
        struct mp_registry_options r = {.loop = host->loop,
                                        .log = &host->events,
                                        .catalogue = host->catalogue,
                                        .connector = &host->connector,
                                        .tool_ms = host->connector.tool_ms,
                                        .request_ms = MP_REQUEST_MS};
        mp_registry_init(&host->registry, &r);
        host->free_log_arg = o.free_arg;
        host->log_arg = o.log_arg;
    }
    return host;
}

/* A mcplug_stop() that did not know of this thread does not end it. */
static void *run_thread(void *arg)
{
    mcplug *host = arg;

    mp_loop_set_thread(host->loop, pthread_self());
    while (!atomic_load(&host->thread_ends))
        mp_loop_run(host->loop);
    return NULL;
}

int mcplug_start_thread(mcplug *host, struct mcplug_error *err)
{
    if (host && atomic_load(&host->has_thread))
        return mp_fail(err, MCPLUG_EINVAL, "the loop thread is already running");
    if (mp_host_check(host, err) != MCPLUG_OK)
        return MCPLUG_EINVAL;
    if (mp_loop_is_running(host->loop))
        return mp_fail(err, MCPLUG_EINVAL, "the loop is already running, on this thread");
    mp_loop_unstop(host->loop);
    mp_pull_unstop(&host->pull);
    atomic_store(&host->has_thread, true); /* for what runs there at once */
    int r = pthread_create(&host->thread, NULL, run_thread, host);
    if (r != 0) {
        atomic_store(&host->has_thread, false);
        return mp_fail_os(err, MCPLUG_EIO, r, "cannot start a thread");
    }
    mp_loop_set_thread(host->loop, host->thread); /* it may not have come that far */
    return MCPLUG_OK;
}

static void end_all(void *arg)
{
    mcplug *host = arg;

    mp_runs_end(&host->runs);
    for (mcplug_toolbox *box = host->boxes; box; box = box->next)
        mp_toolbox_end(box);
    mp_registry_end(&host->registry);
    mp_renderer_end(&host->renderer);
    mp_convert_calls_end(&host->conversions);
    for (mcplug_toolbox *box = host->boxes; box; box = box->next)
        mp_warm_clear(box);
}

static bool is_idle(const mcplug *host)
{
    bool idle = mp_registry_idle(&host->registry) && !host->renderer.under_way &&
                !host->conversions.under_way && !host->runs.under_way;

    for (const mcplug_toolbox *box = host->boxes; box; box = box->next)
        idle = idle && mp_toolbox_idle(box);
    return idle;
}

static void close_boxes(void *arg)
{
    for (mcplug_toolbox *box = ((mcplug *)arg)->boxes; box; box = box->next)
        mp_toolbox_close(box);
}

/* In a child of fork() all that is open belongs to the parent, locks may be held for
 * ever, and a module would say goodbye to its peers. So what connections have is left as
 * it is, and so is the loop, by which the rest is refused. */
static void forget(mcplug *host)
{
    mp_pull_forget(&host->pull);
    mp_free(mp_move(&host->client_name));
    mp_free(mp_move(&host->client_version));
    mp_free(mp_move(&host->spill_dir));
}

/* On the thread that calls, is the program being called by the host? */
static bool in_callback(const mcplug *host)
{
    if (mp_events_telling(&host->events))
        return true;
    if (atomic_load(&host->has_thread))
        return pthread_equal(pthread_self(), host->thread);
    return mp_loop_in_turn(host->loop) || host->reporting;
}

static bool may_be_freed(mcplug *host)
{
    struct mcplug_error why = MCPLUG_ERROR_INIT;

    if (!atomic_load(&host->has_thread) && !mp_loop_here(host->loop)) {
        mp_loop_refuse(host->loop, "mcplug_free", NULL);
        return false;
    }
    if (in_callback(host))
        mp_fail(&why, MCPLUG_EINVAL,
                "mcplug_free: called inside a callback; the host is not freed");
    else if (mp_loop_intact(host->loop, &why) == MCPLUG_OK)
        return true;
    if (!host->refusing) { /* or the line would lead to the next one */
        host->refusing = true;
        mp_log_any(&host->events, MCPLUG_LOG_ERROR, "core", "%s", why.text);
        host->refusing = false;
    }
    return false;
}

/* What is told on the way is told in turns, as always. Servers and toolboxes are there
 * until nothing is told any more, but for those that the program has closed. */
static void end(mcplug *host)
{
    if (atomic_load(&host->has_thread)) {
        atomic_store(&host->thread_ends, true); /* before the loop is stopped for it */
        mp_loop_stop(host->loop);
        pthread_join(host->thread, NULL);
        atomic_store(&host->has_thread, false);
        mp_loop_disown(host->loop);
    }
    mp_pull_end(&host->pull);
    host->freeing = true;
    mp_loop_call(host->loop, end_all, host);
    while (!is_idle(host))
        mp_loop_turn(host->loop, true);
    mp_loop_settle(host->loop); /* what was posted may use servers and toolboxes */
    mp_loop_call(host->loop, close_boxes, host);
    while (!mp_registry_idle(&host->registry) || host->boxes)
        mp_loop_turn(host->loop, true);
    mp_registry_clear(&host->registry);
    mp_searches_clear(&host->connector.searches);
    mp_loop_settle(host->loop); /* before modules end that have work under way */
    host_free(host);
}

void mcplug_free(mcplug *host)
{
    if (host && mp_loop_forked(host->loop))
        forget(host);
    else if (host && may_be_freed(host))
        end(host);
}

mcplug *mp_host_of(const struct mp_registry *registry)
{
    return MP_OF(registry, mcplug, registry);
}

/* ---- the loop ---- */

/* For what runs the loop: it is ours to run, and not running. */
static int may_run(mcplug *host, const char *function)
{
    struct mcplug_error why = MCPLUG_ERROR_INIT;
    int r = MCPLUG_OK;

    if (mp_loop_in_turn(host->loop))
        r = mp_fail(&why, MCPLUG_EINVAL, "%s: called inside a callback", function);
    else
        r = mp_loop_intact(host->loop, &why);
    if (r != MCPLUG_OK)
        mp_log(&host->events, MCPLUG_LOG_ERROR, "core", "%s", why.text);
    return r;
}

void mcplug_run(mcplug *host)
{
    if (mp_host_check(host, NULL) == MCPLUG_OK && may_run(host, __func__) == MCPLUG_OK)
        mp_loop_run(host->loop);
}

void mcplug_stop(mcplug *host)
{
    if (!host || mp_loop_forked(host->loop))
        return;
    mp_pull_stop(&host->pull);
    if (!atomic_load(&host->has_thread)) /* ours ends in mcplug_free() */
        mp_loop_stop(host->loop);
}

int mcplug_fd(mcplug *host)
{
    if (!host || atomic_load(&host->has_thread) ||
        mp_loop_check(host->loop, NULL) != MCPLUG_OK)
        return -1;
    return mp_loop_fd(host->loop);
}

int mcplug_timeout(mcplug *host)
{
    if (mp_host_check(host, NULL) != MCPLUG_OK)
        return -1;
    return mp_loop_timeout(host->loop);
}

int mcplug_turn(mcplug *host, int wait)
{
    int r = mp_host_check(host, NULL);

    if (r == MCPLUG_OK && (r = may_run(host, __func__)) == MCPLUG_OK)
        mp_loop_turn(host->loop, wait);
    return r;
}

int mcplug_post(mcplug *host, void (*fn)(void *arg), void *arg)
{
    return host && fn && !mp_loop_forked(host->loop) ? mp_loop_post(host->loop, fn, arg)
                                                     : MCPLUG_EINVAL;
}
