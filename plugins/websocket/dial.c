/* plugins/websocket/dial.c - from a name to a connected TCP socket, see dial.h */
#include "dial.h"

#include "../common/fds.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

struct ws_dial {
    const struct mcplug_host *host;
    mcplug_self *self;
    const char *what;
    ws_dial_fn *fn; /* NULL: stopped */
    void *arg;
    char node[256], port[8]; /* the pool thread's own copies */
    int is_looking;          /* the pool has it */
    int status, os_error;    /* of the search */
    struct addrinfo *all;    /* what was found .. */
    struct addrinfo *next;   /* .. and where to go on should this one fail */
    int fd;                  /* -1: none */
    mcplug_watch *watch;
};

static void drop(struct ws_dial *d)
{
    if (d->watch != NULL)
        d->host->loop->watch_stop(d->watch); /* before its descriptor is closed */
    if (d->fd >= 0)
        close(d->fd);
    if (d->all != NULL)
        freeaddrinfo(d->all);
    d->host->mem->free(d);
}

/* The end: hands the socket on, or the failure. */
static void finish(struct ws_dial *d, const struct mcplug_error *why)
{
    ws_dial_fn *fn = d->fn;
    void *arg = d->arg;
    int fd = d->fd;
    if (d->watch != NULL)
        d->host->loop->watch_stop(d->watch);
    d->watch = NULL;
    d->fd = -1;
    drop(d);
    fn(arg, fd, why);
}

/* A peer that vanished without a word is noticed within a minute. */
static void tune(int fd)
{
    const struct {
        int level, option, value;
    } wanted[] = {
        {IPPROTO_TCP, TCP_NODELAY, 1},   {SOL_SOCKET, SO_KEEPALIVE, 1},
        {IPPROTO_TCP, TCP_KEEPIDLE, 30}, {IPPROTO_TCP, TCP_KEEPINTVL, 10},
        {IPPROTO_TCP, TCP_KEEPCNT, 3},   {IPPROTO_TCP, TCP_USER_TIMEOUT, 30000},
    };
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++)
        setsockopt(fd, wanted[i].level, wanted[i].option, &wanted[i].value, sizeof(int));
}

static void on_event(void *arg, unsigned events);

/* Begins with one address; 0 or an errno. */
static int try(struct ws_dial *d, const struct addrinfo *to)
{
    d->fd =
        fds_high(socket(to->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    if (d->fd >= 0) {
        tune(d->fd);
        if (connect(d->fd, to->ai_addr, to->ai_addrlen) == 0 || errno == EINPROGRESS)
            d->watch =
                d->host->loop->watch_start(d->self, d->fd, MCPLUG_WRITABLE, on_event, d);
    }
    if (d->watch != NULL)
        return 0;
    int os_error = errno;
    if (d->fd >= 0)
        close(d->fd);
    d->fd = -1;
    return os_error;
}

/* Goes on with the addresses that are left; `os_error` is why the last one failed. */
static void go_on(struct ws_dial *d, int os_error)
{
    struct mcplug_error why = MCPLUG_ERROR_INIT;
    while (d->next != NULL) {
        const struct addrinfo *to = d->next;
        d->next = to->ai_next;
        os_error = try(d, to);
        if (os_error == 0)
            return;
    }
    d->host->diag->fail(&why, MCPLUG_EREFUSED, "cannot connect to %s: %s", d->what,
                        strerror(os_error));
    why.os_error = os_error;
    finish(d, &why);
}

static void on_event(void *arg, unsigned events)
{
    struct ws_dial *d = arg;
    int os_error = 0;
    socklen_t len = sizeof os_error;
    (void)events;
    getsockopt(d->fd, SOL_SOCKET, SO_ERROR, &os_error, &len);
    if (os_error == 0) {
        finish(d, NULL);
        return;
    }
    d->host->loop->watch_stop(d->watch);
    d->watch = NULL;
    close(d->fd);
    d->fd = -1;
    go_on(d, os_error);
}

static void look_up(void *arg) /* the pool thread's part */
{
    struct ws_dial *d = arg;
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV};
    d->status = getaddrinfo(d->node, d->port, &hints, &d->all);
    d->os_error = d->status == EAI_SYSTEM ? errno : 0;
}

static void on_found(void *arg, int work_status)
{
    struct ws_dial *d = arg;
    struct mcplug_error why = MCPLUG_ERROR_INIT;
    d->is_looking = 0;
    if (d->fn == NULL) {
        drop(d);
        return;
    }
    d->next = d->all;
    if (d->all != NULL) {
        go_on(d, 0);
        return;
    }
    const char *reason = work_status != MCPLUG_OK ? "the lookup was cancelled"
                         : d->os_error != 0       ? strerror(d->os_error)
                                                  : gai_strerror(d->status);
    d->host->diag->fail(&why, MCPLUG_EREFUSED, "cannot find %s: %s", d->what, reason);
    why.os_error = d->os_error;
    finish(d, &why);
}

struct ws_dial *ws_dial_start(const struct mcplug_host *host, mcplug_self *self,
                              const char *node, uint16_t port, const char *what,
                              ws_dial_fn *fn, void *arg)
{
    struct ws_dial *d = host->mem->alloc(sizeof *d);
    if (d == NULL)
        return NULL;
    *d = (struct ws_dial){
        .host = host, .self = self, .what = what, .fn = fn, .arg = arg, .fd = -1};
    snprintf(d->node, sizeof d->node, "%s", node);
    snprintf(d->port, sizeof d->port, "%u", port);
    d->is_looking = 1;
    if (host->loop->work(self, look_up, on_found, d) == MCPLUG_OK)
        return d;
    host->mem->free(d);
    return NULL;
}

void ws_dial_stop(struct ws_dial *dial)
{
    if (dial == NULL)
        return;
    dial->fn = NULL;
    if (!dial->is_looking) /* else on_found() does it */
        drop(dial);
}
