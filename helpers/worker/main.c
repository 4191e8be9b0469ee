/* mcplug-worker FILE: loads one module, locks itself in, and converts what it is sent on
 * descriptor 3 (core/convert/message.h). It ends when the other end is closed, also in
 * the middle of a conversion. */
#include "base/buf.h"
#include "base/error.h"
#include "base/mem.h"
#include "convert/message.h"
#include "convert/run.h"
#include "helpers/worker/sandbox.h"
#include "plugin/catalogue.h"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define CPU_OLD_SECONDS 30 /* after which a worker lets another one follow */
#define STACK ((size_t)64 << 10)

/* ---- the other end ---- */

/* A conversion may hang, and then nobody would look at the socket. */
static void *watch_host(void *arg)
{
    struct pollfd fd = {MP_WORKER_FD, 0, 0}; /* POLLHUP comes unasked */

    (void)arg;
    while (poll(&fd, 1, -1) <= 0 || !(fd.revents & (POLLHUP | POLLERR | POLLNVAL)))
        ;
    _exit(0);
}

static bool start_watch(void)
{
    pthread_attr_t attr;
    pthread_t thread;
    bool ok = pthread_attr_init(&attr) == 0;

    if (!ok)
        return false;
    pthread_attr_setstacksize(&attr, STACK);
    ok = pthread_create(&thread, &attr, watch_host, NULL) == 0;
    pthread_attr_destroy(&attr);
    return ok;
}

/* ---- the module ---- */

struct module {
    const struct mp_plugin *plugin;
    struct mp_offer offers[64]; /* its converters */
    size_t n;
};

static int load(const char *file, struct module *m, struct mcplug_error *err)
{
    /* No loop: libuv may open a queue to the kernel (io_uring) that no lock holds for. */
    const struct mp_catalogue_options options = {.loop = NULL};
    struct mp_catalogue *catalogue = mp_catalogue_new(&options, err);

    if (!catalogue)
        return MCPLUG_ENOMEM;
    int r = mp_catalogue_load(catalogue, file, &m->plugin, err);
    if (r != MCPLUG_OK)
        return r;
    const struct mcplug_plugin *d = m->plugin->descriptor;
    for (size_t i = 0; i < d->n_features && m->n < MP_COUNT(m->offers); i++) {
        struct mp_offer offer = {mp_plugin_feature(d, i), m->plugin};
        if (offer.feature.kind == MCPLUG_CONVERTER)
            m->offers[m->n++] = offer;
    }
    return m->n ? MCPLUG_OK
                : mp_plugin_fail(err, MCPLUG_ENOTSUP, file, "offers no converter");
}

/* ---- requests ---- */

static const struct mp_offer *best_of(const struct module *m, const struct mp_run *run,
                                      int *match)
{
    const struct mp_offer *best = NULL;

    *match = 0;
    for (size_t i = 0; i < m->n; i++) {
        int n = mp_run_match(&m->offers[i], run);
        if (n > *match) {
            best = &m->offers[i];
            *match = n;
        }
    }
    return best;
}

static struct mp_run run_of(const struct mp_worker_message *m)
{
    const struct mp_worker_head *h = &m->head;
    const char *want = m->texts[MP_TEXT_WANT];

    return (struct mp_run){.mime = m->texts[MP_TEXT_MIME],
                           .fd = m->fds[0],
                           .size = h->size,
                           .limits = {.struct_size = sizeof(struct mcplug_limits),
                                      .max_width = h->max_width,
                                      .max_height = h->max_height,
                                      .max_bytes = h->max_bytes,
                                      .max_pixels = h->max_pixels,
                                      .want_mime = *want ? want : NULL},
                           .settings = m->texts[MP_TEXT_SETTINGS],
                           .extra = m->texts[MP_TEXT_EXTRA]};
}

static bool is_old(void)
{
    struct timespec used;
    return clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used) != 0 ||
           used.tv_sec >= CPU_OLD_SECONDS;
}

/* Answers one. */
static int answer(const struct module *module, struct mp_worker_message *m,
                  struct mp_worker_message *reply)
{
    const struct mp_run run = run_of(m);
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    const char *mime = "";
    struct mp_str facts;
    int match;

    reply->head =
        (struct mp_worker_head){.kind = MP_WORKER_DONE, .serial = m->head.serial};
    for (size_t i = 0; i < MP_TEXTS; i++)
        reply->texts[i] = NULL;
    mp_str_init(&facts, MP_WORKER_TEXT / 2);
    const struct mp_offer *offer = best_of(module, &run, &match);
    if (m->head.kind == MP_WORKER_MATCH)
        reply->head.code = match;
    else if (!offer)
        reply->head.code =
            mp_fail(&err, MCPLUG_ENOTSUP, "it cannot be converted to %s",
                    run.limits.want_mime ? run.limits.want_mime : run.mime);
    else
        reply->head.code = mp_run_convert(offer, &run, m->fds[1], &reply->head.size,
                                          &mime, &facts, &err);
    reply->head.leave = is_old();
    reply->texts[MP_TEXT_MIME] = mime;
    reply->texts[MP_TEXT_ERROR] = err.text;
    reply->texts[MP_TEXT_FACTS] = facts.data;
    int os_error = mp_worker_send(MP_WORKER_FD, reply, 0, true);
    mp_str_clear(&facts);
    mp_worker_close_fds(m);
    return os_error;
}

int main(int argc, char **argv)
{
    static struct mp_worker_message m, reply;
    static struct module module;
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    int r;

    if (argc != 2)
        return 2;
    worker_set_limits();
    r = start_watch() ? MCPLUG_OK : mp_fail(&err, MCPLUG_EIO, "no thread can be started");
    if (r == MCPLUG_OK)
        r = load(argv[1], &module, &err);
    if (r == MCPLUG_OK)
        r = worker_lock(MP_WORKER_FD, &err);
    m.head = (struct mp_worker_head){.kind = MP_WORKER_HELLO, .code = r};
    m.texts[MP_TEXT_ERROR] = err.text;
    if (mp_worker_send(MP_WORKER_FD, &m, 0, true) != 0 || r != MCPLUG_OK)
        _exit(1);
    while (mp_worker_receive(MP_WORKER_FD, &m) == 0 && answer(&module, &m, &reply) == 0)
        ;
    _exit(0); /* nothing here outlives it, and libraries may have threads */
}
