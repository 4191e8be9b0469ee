/* plugins/common/lookup.c - names to addresses, see lookup.h */
#include "lookup.h"

#include "fds.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

/* What the loop and the threads share; the last one frees it. */
struct pool {
    pthread_mutex_t lock; /* of it, and of what lookups say to be under it */
    unsigned refs, n_threads;
    struct lookup *first, **last; /* those that wait for a thread */
};

struct lookups {
    const struct mcplug_host *host;
    mcplug_self *self;
    struct pool *pool;
};

struct lookup {
    struct lookups *all; /* the loop's, as are the next ones */
    mcplug_watch *watch;
    lookup_fn *fn;
    void *arg;

    char node[256], port[8]; /* never changed */

    unsigned refs; /* from here on under the lock: the loop's, a thread's */
    struct lookup *next;
    int fd; /* readable when it has ended; -1: nobody waits any more */
    int status, os_error;
    struct addrinfo *found;
};

/* ---- both ---- */

/* Under the lock. */
static void lookup_unref(struct lookup *k)
{
    if (--k->refs > 0)
        return;
    if (k->found != NULL)
        freeaddrinfo(k->found);
    free(k);
}

/* Under the lock, which it gives back. */
static void pool_unref(struct pool *pool)
{
    int is_last = --pool->refs == 0;
    pthread_mutex_unlock(&pool->lock);
    if (!is_last)
        return;
    pthread_mutex_destroy(&pool->lock);
    free(pool);
}

/* Under the lock. */
static void ended(struct lookup *k)
{
    if (k->fd >= 0)
        eventfd_write(k->fd, 1); /* which its counter has room for */
}

/* ---- threads ---- */

static void look_up(struct lookup *k, struct pool *pool)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV};
    struct addrinfo *found = NULL;
    pthread_mutex_unlock(&pool->lock);
    int status = getaddrinfo(k->node, k->port, &hints, &found);
    int os_error = status == EAI_SYSTEM ? errno : 0;
    pthread_mutex_lock(&pool->lock);
    k->status = status;
    k->os_error = os_error;
    k->found = status == 0 ? found : NULL;
    ended(k);
}

static struct lookup *take_first(struct pool *pool)
{
    struct lookup *k = pool->first;
    if (k == NULL)
        return NULL;
    pool->first = k->next;
    if (pool->first == NULL)
        pool->last = &pool->first;
    return k;
}

static void *run(void *arg)
{
    struct pool *pool = arg;
    struct lookup *k;
    pthread_mutex_lock(&pool->lock);
    while ((k = take_first(pool)) != NULL) {
        k->refs++;
        look_up(k, pool);
        lookup_unref(k);
    }
    pool->n_threads--;
    pool_unref(pool);
    return NULL;
}

/* Under the lock. Signals are for the program's own threads. 0 or an errno */
static int begin_thread(struct pool *pool)
{
    sigset_t all, before;
    pthread_attr_t attr;
    pthread_t id;
    int r = pthread_attr_init(&attr);
    if (r != 0)
        return r;
    sigfillset(&all);
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    r = pthread_create(&id, &attr, run, pool);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attr);
    if (r == 0) {
        pool->refs++;
        pool->n_threads++;
    }
    return r;
}

/* ---- life ---- */

struct lookups *lookups_new(const struct mcplug_host *host, mcplug_self *self)
{
    struct lookups *all = host->mem->alloc(sizeof *all);
    struct pool *pool = calloc(1, sizeof *pool); /* may outlive the host's memory */
    if (all == NULL || pool == NULL || pthread_mutex_init(&pool->lock, NULL) != 0) {
        host->mem->free(all);
        free(pool);
        return NULL;
    }
    pool->refs = 1;
    pool->last = &pool->first;
    *all = (struct lookups){host, self, pool};
    return all;
}

void lookups_free(struct lookups *all)
{
    if (all == NULL)
        return;
    pthread_mutex_lock(&all->pool->lock);
    pool_unref(all->pool);
    all->host->mem->free(all);
}

/* ---- one lookup ---- */

/* It is over for the loop, with or without what was found. */
static void leave(struct lookup *k)
{
    struct pool *pool = k->all->pool;
    if (k->watch != NULL)
        k->all->host->loop->watch_stop(k->watch); /* before its descriptor is closed */
    pthread_mutex_lock(&pool->lock);
    for (struct lookup **at = &pool->first; *at != NULL; at = &(*at)->next) {
        if (*at != k)
            continue;
        *at = k->next;
        if (k->next == NULL)
            pool->last = at;
        break;
    }
    if (k->fd >= 0)
        close(k->fd);
    k->fd = -1;
    lookup_unref(k);
    pthread_mutex_unlock(&pool->lock);
}

void lookup_stop(struct lookup *k)
{
    if (k != NULL)
        leave(k);
}

static void on_ended(void *arg, unsigned events)
{
    struct lookup *k = arg;
    lookup_fn *fn = k->fn;
    void *fn_arg = k->arg;
    (void)events;
    pthread_mutex_lock(&k->all->pool->lock);
    struct addrinfo *found = k->found;
    int status = k->status, os_error = k->os_error;
    k->found = NULL;
    pthread_mutex_unlock(&k->all->pool->lock);
    leave(k);
    fn(fn_arg, found, os_error != 0 ? strerror(os_error) : gai_strerror(status),
       os_error);
}

/* An address that is written in numbers needs no thread. */
static int is_numeric(struct lookup *k)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM,
                             .ai_flags = AI_NUMERICSERV | AI_NUMERICHOST};
    return getaddrinfo(k->node, k->port, &hints, &k->found) == 0;
}

/* 0 or an errno */
static int enqueue(struct lookup *k)
{
    struct pool *pool = k->all->pool;
    int r = 0;
    pthread_mutex_lock(&pool->lock);
    if (pool->n_threads < LOOKUP_THREADS)
        r = begin_thread(pool); /* it waits for the lock */
    if (r == 0 || pool->n_threads > 0) {
        r = 0;
        *pool->last = k;
        pool->last = &k->next;
    }
    pthread_mutex_unlock(&pool->lock);
    return r;
}

struct lookup *lookup_start(struct lookups *all, const char *node, const char *port,
                            lookup_fn *fn, void *arg)
{
    struct lookup *k = calloc(1, sizeof *k);
    if (k == NULL)
        return NULL;
    k->all = all;
    k->fn = fn;
    k->arg = arg;
    k->refs = 1;
    snprintf(k->node, sizeof k->node, "%s", node);
    snprintf(k->port, sizeof k->port, "%s", port);
    k->fd = fds_high(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (k->fd >= 0)
        k->watch =
            all->host->loop->watch_start(all->self, k->fd, MCPLUG_READABLE, on_ended, k);
    int os_error = k->watch == NULL ? errno : 0;
    if (os_error == 0 && is_numeric(k))
        ended(k);
    else if (os_error == 0)
        os_error = enqueue(k);
    if (os_error == 0)
        return k;
    leave(k);
    errno = os_error;
    return NULL;
}
