/* The tables through which modules reach the core. Everything a module starts on the
 * loop has a record here, so that what it forgets cannot run after it is gone. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "plugin/catalogue.h"

#include "base/buf.h"
#include "base/error.h"
#include "base/mem.h"
#include "loop/loop.h"
#include "plugin/props.h"
#include "plugin/services.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>

#ifndef PACKAGE_VERSION
#define PACKAGE_VERSION "unknown"
#endif

struct mcplug_self {
    struct mp_catalogue *catalogue;
    pthread_rwlock_t log_lock; /* who logs, in any thread, reads */
    struct mp_events *log;     /* NULL: gone */
    struct mp_loop *loop;
    struct running *first;
    size_t n_running;
    char source[48]; /* "plugin:NAME" */
};

/* A timer or watch in the list of its module. */
struct running {
    struct running *next, **at; /* what points to it */
    mcplug_self *self;
    bool is_timer;
};

struct mcplug_timer {
    struct running running;
    struct mp_timer timer;
    void (*fn)(void *arg);
    void *arg;
};

struct mcplug_watch {
    struct running running;
    struct mp_watch *watch;
};

static void list(mcplug_self *self, struct running *r, bool is_timer)
{
    *r = (struct running){self->first, &self->first, self, is_timer};
    if (r->next)
        r->next->at = &r->next;
    self->first = r;
    self->n_running++;
}

static void unlist(struct running *r)
{
    *r->at = r->next;
    if (r->next)
        r->next->at = r->at;
    r->self->n_running--;
}

/* ---- loop ---- */

static int self_post(mcplug_self *self, void (*fn)(void *arg), void *arg)
{
    return mp_loop_post(self->loop, fn, arg);
}

static void on_timer(struct mp_timer *t)
{
    mcplug_timer *timer = MP_OF(t, mcplug_timer, timer);
    void (*fn)(void *arg) = timer->fn;
    void *arg = timer->arg;

    unlist(&timer->running);
    mp_free(timer);
    fn(arg);
}

static mcplug_timer *self_timer_start(mcplug_self *self, uint64_t ms,
                                      void (*fn)(void *arg), void *arg)
{
    mcplug_timer *timer = mp_alloc(sizeof *timer);
    if (!timer)
        return NULL;
    timer->fn = fn;
    timer->arg = arg;
    if (mp_timer_start(self->loop, &timer->timer, ms, on_timer) != MCPLUG_OK) {
        mp_free(timer);
        return NULL;
    }
    list(self, &timer->running, true);
    return timer;
}

static void self_timer_stop(mcplug_timer *timer)
{
    if (!timer)
        return;
    mp_timer_stop(timer->running.self->loop, &timer->timer);
    unlist(&timer->running);
    mp_free(timer);
}

_Static_assert(MCPLUG_READABLE == MP_READABLE && MCPLUG_WRITABLE == MP_WRITABLE,
               "events pass as they are");

static mcplug_watch *self_watch_start(mcplug_self *self, int fd, unsigned events,
                                      void (*fn)(void *arg, unsigned events), void *arg)
{
    mcplug_watch *watch = mp_alloc(sizeof *watch);
    if (!watch) {
        errno = ENOMEM;
        return NULL;
    }
    watch->watch = mp_watch_start(self->loop, fd, events, fn, arg);
    if (!watch->watch) {
        int os_error = errno;
        mp_free(watch);
        errno = os_error;
        return NULL;
    }
    list(self, &watch->running, false);
    return watch;
}

static int self_watch_update(mcplug_watch *watch, unsigned events)
{
    return mp_watch_update(watch->watch, events) == 0 ? MCPLUG_OK : MCPLUG_EIO;
}

static void self_watch_stop(mcplug_watch *watch)
{
    if (!watch)
        return;
    unlist(&watch->running);
    mp_watch_stop(watch->watch);
    mp_free(watch);
}

static int self_work(mcplug_self *self, void (*run)(void *arg),
                     void (*done)(void *arg, int status), void *arg)
{
    return mp_loop_work(self->loop, run, done, arg);
}

static uint64_t self_now(mcplug_self *self)
{
    return mp_loop_now(self->loop);
}

/* ---- the rest ---- */

static void self_log(mcplug_self *self, int level, const char *fmt, ...)
    MCPLUG_PRINTF(3, 4);

static void self_log(mcplug_self *self, int level, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    pthread_rwlock_rdlock(&self->log_lock);
    if (self->log)
        mp_logv_any(self->log, level, self->source, fmt, ap);
    pthread_rwlock_unlock(&self->log_lock);
    va_end(ap);
}

static const void *self_service(mcplug_self *self, const char *name, uint32_t version)
{
    (void)self;
    return name ? mp_service_find(name, version) : NULL;
}

static const void *self_use(mcplug_self *self, const char *name, uint32_t version,
                            void **ctx, struct mcplug_error *err)
{
    return mp_catalogue_use(self->catalogue, self, name, version, ctx, err);
}

static const struct mcplug_mem mem_table = {
    .struct_size = sizeof mem_table,
    .alloc = mp_alloc,
    .resize = mp_resize,
    .free = mp_free,
    .buf_new = mp_buf_new,
    .buf_ref = mp_buf_ref,
    .buf_unref = mp_buf_unref,
    .buf_bytes = mp_buf_bytes,
};

static const struct mcplug_diag diag_table = {
    .struct_size = sizeof diag_table,
    .log = self_log,
    .fail = mp_fail,
    .prop = mp_props_get,
    .prop_int = mp_props_int,
    .prop_list = mp_props_list,
    .fail_os = mp_fail_os,
};

static const struct mcplug_loop loop_table = {
    .struct_size = sizeof loop_table,
    .post = self_post,
    .timer_start = self_timer_start,
    .timer_stop = self_timer_stop,
    .watch_start = self_watch_start,
    .watch_update = self_watch_update,
    .watch_stop = self_watch_stop,
    .work = self_work,
    .now = self_now,
};

void mp_host_init(struct mcplug_host *host, const struct mp_catalogue_options *options,
                  const char *helper_dir)
{
    *host = (struct mcplug_host){
        .struct_size = sizeof *host,
        .abi_major = MCPLUG_ABI_MAJOR,
        .abi_minor = MCPLUG_ABI_MINOR,
        .version = PACKAGE_VERSION,
        .helper_dir = helper_dir,
        .mem = options->mem ? options->mem : &mem_table,
        .diag = &diag_table,
        .loop = &loop_table,
        .wire = options->wire,
        .health = options->health,
        .service = self_service,
        .use = self_use,
        .place = options->place,
        .reply = options->reply,
    };
}

mcplug_self *mp_self_new(const char *name, struct mp_catalogue *cat,
                         struct mp_events *log, struct mp_loop *loop)
{
    mcplug_self *self = mp_alloc(sizeof *self);
    if (self) {
        self->catalogue = cat;
        pthread_rwlock_init(&self->log_lock, NULL);
        self->log = log;
        self->loop = loop;
        snprintf(self->source, sizeof self->source, "plugin:%s", name);
    }
    return self;
}

size_t mp_self_running(const mcplug_self *self)
{
    return self->n_running;
}

static void stop_all(mcplug_self *self)
{
    if (self->n_running)
        mp_log(self->log, MCPLUG_LOG_WARN, self->source,
               "left %zu timers or watches running", self->n_running);
    while (self->first)
        if (self->first->is_timer)
            self_timer_stop(MP_OF(self->first, mcplug_timer, running));
        else
            self_watch_stop(MP_OF(self->first, mcplug_watch, running));
}

void mp_self_free(mcplug_self *self)
{
    if (!self)
        return;
    stop_all(self);
    pthread_rwlock_destroy(&self->log_lock);
    mp_free(self);
}

void mp_self_leave(mcplug_self *self)
{
    stop_all(self);
    pthread_rwlock_wrlock(&self->log_lock);
    self->log = NULL;
    pthread_rwlock_unlock(&self->log_lock);
}
