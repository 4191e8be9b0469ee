/* plugins/websocket/engine.c - libwebsockets on the core's loop, see engine.h */
#include "engine.h"

#include "../common/fds.h"
#include "link.h"
#include "tls.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define RUNS_AT_ONCE 8 /* before others get their turn */
#define LONG_SECONDS 86400
#define NEEDED_FDS 8
#define SITES_MAX 1024
#define FILE_NAME_MAX 4096
#ifdef LWS_WITH_EVLIB_PLUGINS
#define EVENT_PLUGIN LWS_INSTALL_LIBDIR "/libwebsockets-evlib_uv.so"
#endif

static const struct lws_protocols protocols[] = {
    {"mcplug", ws_link_event, 0, WS_READ, 0, NULL, WS_FRAGMENT},
    {NULL, NULL, 0, 0, 0, NULL, 0},
};

/* ---- running -------------------------------------------------------------- */

static void on_timer(void *arg);

/* An alarm that rings too early costs one empty turn, and saves starting it anew each
 * time. */
static void arm_in(struct ws_engine *e, int wait)
{
    if (wait < 0 || e->watch == NULL)
        return;
    uint64_t due = e->host->loop->now(e->self) + (uint64_t)wait;
    if (e->timer != NULL && e->due <= due)
        return;
    if (e->timer != NULL)
        e->host->loop->timer_stop(e->timer);
    e->timer = e->host->loop->timer_start(e->self, (uint64_t)wait, on_timer, e);
    e->due = due;
}

static void run(struct ws_engine *e)
{
    int left = RUNS_AT_ONCE;
    do
        uv_run(&e->loop, UV_RUN_NOWAIT);
    while (--left > 0 && uv_backend_timeout(&e->loop) == 0);
    arm_in(e, uv_backend_timeout(&e->loop));
}

void ws_engine_soon(struct ws_engine *e)
{
    arm_in(e, 0);
}

void ws_engine_enter(struct ws_engine *e, struct ws_guard *guard)
{
    sigset_t pending, pipe;
    guard->is_on = 0;
    if (e->n_tls == 0) /* libwebsockets itself asks for no signal */
        return;
    sigpending(&pending);
    if (sigismember(&pending, SIGPIPE) == 1) /* somebody holds one back already */
        return;
    sigemptyset(&pipe);
    sigaddset(&pipe, SIGPIPE);
    guard->is_on = pthread_sigmask(SIG_BLOCK, &pipe, &guard->before) == 0;
}

void ws_engine_leave(struct ws_engine *e, struct ws_guard *guard, int is_to_run)
{
    if (is_to_run)
        run(e);
    if (!guard->is_on)
        return;
    const struct timespec now = {0, 0};
    sigset_t pipe;
    sigemptyset(&pipe);
    sigaddset(&pipe, SIGPIPE);
    while (sigtimedwait(&pipe, NULL, &now) < 0 && errno == EINTR)
        continue;
    pthread_sigmask(SIG_SETMASK, &guard->before, NULL);
}

static void turn(struct ws_engine *e)
{
    struct ws_guard guard;
    ws_engine_enter(e, &guard);
    ws_engine_leave(e, &guard, 1);
    if (e->links == NULL)
        ws_engine_rest(e);
}

static void on_timer(void *arg)
{
    struct ws_engine *e = arg;
    e->timer = NULL;
    turn(e);
}

static void on_event(void *arg, unsigned events)
{
    (void)events;
    turn(arg);
}

int ws_engine_wake(struct ws_engine *e, struct mcplug_error *err)
{
    if (e->watch != NULL)
        return MCPLUG_OK;
    e->watch = e->host->loop->watch_start(e->self, uv_backend_fd(&e->loop),
                                          MCPLUG_READABLE, on_event, e);
    if (e->watch == NULL)
        return e->host->diag->fail(err, MCPLUG_EIO, "cannot watch for events: %s",
                                   strerror(errno));
    return MCPLUG_OK;
}

void ws_engine_rest(struct ws_engine *e)
{
    if (e->watch != NULL)
        e->host->loop->watch_stop(e->watch);
    if (e->timer != NULL)
        e->host->loop->timer_stop(e->timer);
    e->watch = NULL;
    e->timer = NULL;
}

/* ---- sites ---------------------------------------------------------------- */

/* A file that has been replaced makes another site: its certificates are read anew. */
static void add_file(char *key, size_t size, const char *file)
{
    size_t used = strlen(key);
    struct stat s = {0};
    if (file != NULL)
        stat(file, &s); /* when it is not there, reading it will say so */
    snprintf(key + used, size - used, "%s\n%llx %llx %lld %lld.%09ld\n",
             file != NULL ? file : "", (unsigned long long)s.st_dev,
             (unsigned long long)s.st_ino, (long long)s.st_size,
             (long long)s.st_mtim.tv_sec, s.st_mtim.tv_nsec);
}

static void site_free(struct ws_engine *e, struct ws_site *site)
{
    ws_tls_free(site->tls);
    e->host->mem->free(site->key);
    e->host->mem->free(site);
}

static int site_open(struct ws_engine *e, struct ws_site *site,
                     const struct ws_target *target, const char *key,
                     struct mcplug_error *err)
{
    static const lws_retry_bo_t no_pings = {0}; /* ours are in link.c */
    const struct mcplug_host *host = e->host;
    struct lws_context_creation_info info = {
        .port = CONTEXT_PORT_NO_LISTEN,
        .vhost_name = "mcplug",
        .protocols = protocols,
        .http_proxy_address = "", /* and none from the environment */
        .connect_timeout_secs = LONG_SECONDS,
        .retry_and_idle_policy = &no_pings,
    };
    site->key = host->mem->alloc(strlen(key) + 1);
    if (site->key == NULL)
        return host->diag->fail(err, MCPLUG_ENOMEM, "out of memory");
    memcpy(site->key, key, strlen(key) + 1);
    if (target->url.secure) {
        int r = ws_tls_new(e, target, &site->tls, err);
        if (r != MCPLUG_OK)
            return r;
        info.options = LWS_SERVER_OPTION_DO_SSL_GLOBAL_INIT;
        info.provided_client_ssl_ctx = site->tls;
    }
    site->vhost = lws_create_vhost(e->lws, &info);
    if (site->vhost == NULL)
        return host->diag->fail(err, MCPLUG_ENOMEM, "libwebsockets is out of memory");
    return MCPLUG_OK;
}

static int site_new(struct ws_engine *e, const struct ws_target *target, const char *key,
                    struct ws_site **out, struct mcplug_error *err)
{
    if (e->n_sites == SITES_MAX)
        return e->host->diag->fail(err, MCPLUG_EOVERLOADED,
                                   "certificate files have changed too often");
    struct ws_site *site = e->host->mem->alloc(sizeof *site);
    if (site == NULL)
        return e->host->diag->fail(err, MCPLUG_ENOMEM, "out of memory");
    int r = site_open(e, site, target, key, err);
    if (r == MCPLUG_OK)
        *out = site;
    else
        site_free(e, site);
    return r;
}

int ws_engine_site(struct ws_engine *e, const struct ws_target *target,
                   struct lws_vhost **out, struct mcplug_error *err)
{
    const char *const files[] = {target->ca_file, target->cert_file, target->key_file};
    char key[3 * (FILE_NAME_MAX + 128)] = "";
    struct ws_site *site;
    for (size_t i = 0; target->url.secure && i < 3; i++) {
        if (files[i] != NULL && strlen(files[i]) > FILE_NAME_MAX)
            return e->host->diag->fail(err, MCPLUG_ECONFIG,
                                       "the name of a certificate file is too long");
        add_file(key, sizeof key, files[i]);
    }
    for (site = e->sites; site != NULL; site = site->next)
        if (strcmp(site->key, key) == 0)
            break;
    if (site == NULL) {
        int r = site_new(e, target, key, &site, err);
        if (r != MCPLUG_OK)
            return r;
        site->next = e->sites;
        e->sites = site;
        e->n_sites++;
        e->n_tls += site->tls != NULL;
    }
    *out = site->vhost;
    return MCPLUG_OK;
}

/* ---- life ----------------------------------------------------------------- */

/* libwebsockets unloads its part for libuv from within a function of it. */
static int pin_plugin(struct ws_engine *e, struct mcplug_error *err)
{
#ifdef LWS_WITH_EVLIB_PLUGINS
    void *handle = dlopen(EVENT_PLUGIN, RTLD_NOW | RTLD_NODELETE);
    if (handle == NULL)
        return e->host->diag->fail(err, MCPLUG_ENOTSUP,
                                   "libwebsockets cannot work with libuv "
                                   "(package libwebsockets-evlib-uv): %s",
                                   dlerror());
    dlclose(handle);
#else /* all in one library */
    (void)e, (void)err;
#endif
    return MCPLUG_OK;
}

static void find_pipe(uv_handle_t *handle, void *arg)
{
    struct ws_engine *e = arg;
    uv_os_fd_t fd;
    if (handle->type == UV_POLL && uv_fileno(handle, &fd) == 0)
        e->pipe_fd = fd;
}

/* libwebsockets has SIGPIPE ignored from here on, but that is not ours to decide. The
 * lock is for two hosts that begin at the same time: the second one would take what
 * libwebsockets did for the first one as the program's own wish. */
static struct lws_context *create_quietly(const struct lws_context_creation_info *info)
{
    static pthread_mutex_t alone = PTHREAD_MUTEX_INITIALIZER;
    struct sigaction pipe;
    pthread_mutex_lock(&alone);
    lws_set_log_level(0, NULL);
    sigaction(SIGPIPE, NULL, &pipe);
    struct lws_context *lws = lws_create_context(info);
    sigaction(SIGPIPE, &pipe, NULL);
    pthread_mutex_unlock(&alone);
    return lws;
}

/* libwebsockets crashes when it begins without descriptors; so it is tried first. */
static int try_descriptors(const struct ws_engine *e)
{
    int fds[NEEDED_FDS], n = 0, os_error = 0;
    while (n < NEEDED_FDS && os_error == 0) {
        fds[n] = fcntl(uv_backend_fd(&e->loop), F_DUPFD_CLOEXEC, 3);
        if (fds[n] < 0)
            os_error = errno;
        else
            n++;
    }
    while (n > 0)
        close(fds[--n]);
    return os_error;
}

static void create(struct ws_engine *e)
{
    void *loops[] = {&e->loop};
    const struct lws_context_creation_info info = {
        .port = CONTEXT_PORT_NO_LISTEN,
        .options = LWS_SERVER_OPTION_LIBUV | LWS_SERVER_OPTION_EXPLICIT_VHOSTS,
        .foreign_loops = loops, /* which also means no signal handlers */
        .pcontext = &e->lws,
        .pt_serv_buf_size = WS_READ,
        .max_http_header_data = 16 << 10,
        .fd_limit_per_thread = WS_CONNECTIONS + 8, /* and its own */
        .timeout_secs = LONG_SECONDS,              /* ours are in link.c */
    };
    e->lws = create_quietly(&info);
    uv_walk(&e->loop, find_pipe, e);
}

int ws_engine_start(struct ws_engine *e, struct mcplug_error *err)
{
    const struct mcplug_host *host = e->host;
    if (e->lws != NULL)
        return MCPLUG_OK;
    int r = pin_plugin(e, err);
    if (r != MCPLUG_OK)
        return r;
    e->out = host->mem->alloc(LWS_PRE + WS_FRAGMENT);
    if (e->out == NULL)
        return host->diag->fail(err, MCPLUG_ENOMEM, "out of memory");
    struct fds_plugs plugs;
    fds_plug(&plugs); /* neither libuv nor libwebsockets may close one of these */
    int status = uv_loop_init(&e->loop);
    if (status != 0) {
        fds_unplug(&plugs);
        host->mem->free(e->out);
        e->out = NULL;
        return host->diag->fail(err, MCPLUG_EIO, "cannot create an event loop: %s",
                                uv_strerror(status));
    }
    int os_error = try_descriptors(e);
    e->pipe_fd = -1;
    if (os_error == 0)
        create(e);
    fds_unplug(&plugs);
    if (e->lws != NULL && e->pipe_fd >= 0)
        return MCPLUG_OK;
    for (int i = 0; i < RUNS_AT_ONCE; i++) /* if it has given up by itself */
        uv_run(&e->loop, UV_RUN_NOWAIT);
    ws_engine_stop(e);
    host->diag->fail(err, os_error != 0 ? MCPLUG_EIO : MCPLUG_ENOMEM,
                     "libwebsockets cannot be initialized: %s",
                     os_error != 0 ? strerror(os_error) : "out of memory");
    if (err != NULL)
        err->os_error = os_error;
    return os_error != 0 ? MCPLUG_EIO : MCPLUG_ENOMEM;
}

/* libwebsockets closes the descriptor of its pipe twice, the second time when libuv says
 * that the handle is closed. In between the number may be another thread's. */
static void run_down(struct ws_engine *e)
{
    int theirs = fcntl(e->pipe_fd, F_DUPFD_CLOEXEC, 3);
    int flags = theirs >= 0 ? fcntl(e->pipe_fd, F_GETFD) : 0;
    int held = theirs < 0 && e->pipe_fd >= 0
                   ? fcntl(uv_backend_fd(&e->loop), F_DUPFD_CLOEXEC, e->pipe_fd)
                   : -1;
    for (int i = 0; i < 2 * RUNS_AT_ONCE; i++)
        uv_run(&e->loop, UV_RUN_NOWAIT);
    if (held >= 0 && held != e->pipe_fd)
        close(held);
    if (theirs >= 0) {
        dup3(theirs, e->pipe_fd, flags & FD_CLOEXEC ? O_CLOEXEC : 0);
        close(theirs);
    }
}

static void on_forgotten(uv_handle_t *handle, void *arg)
{
    (void)arg;
    if (!uv_is_closing(handle))
        uv_close(handle, NULL);
}

void ws_engine_stop(struct ws_engine *e)
{
    struct ws_guard guard;
    if (e->out == NULL)
        return;
    ws_engine_rest(e);
    ws_engine_enter(e, &guard);
    if (e->lws != NULL)
        lws_context_destroy(e->lws); /* begins to close its handles .. */
    run_down(e);
    if (e->lws != NULL)
        lws_context_destroy(e->lws); /* .. and frees, now that they are closed */
    uv_walk(&e->loop, on_forgotten, NULL);
    uv_run(&e->loop, UV_RUN_NOWAIT);
    uv_loop_close(&e->loop);
    ws_engine_leave(e, &guard, 0);
    while (e->sites != NULL) {
        struct ws_site *site = e->sites;
        e->sites = site->next;
        site_free(e, site);
    }
    e->host->mem->free(e->out);
    e->out = NULL;
    e->lws = NULL;
    e->n_sites = e->n_tls = 0;
}
