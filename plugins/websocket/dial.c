/* plugins/websocket/dial.c - from a name to a connected TCP socket, see dial.h */
#include "dial.h"

#include "../common/fds.h"
#include "../common/ip.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

struct ws_dial {
    const struct mcplug_host *host;
    mcplug_self *self;
    const struct ws_target *to;
    char denied[IP_TEXT]; /* an address that was passed over; "": none */
    ws_dial_fn *fn;
    void *arg;
    struct lookup *lookup; /* NULL: it has ended */
    struct addrinfo *all;  /* what was found .. */
    struct addrinfo *next; /* .. and where to go on should this one fail */
    int fd;                /* -1: none */
    mcplug_watch *watch;
};

static void drop(struct ws_dial *d)
{
    lookup_stop(d->lookup);
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
    if (ip_is_denied_socket(d->to->denied, to->ai_addr, d->denied))
        return EACCES;
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
    if (os_error == EACCES && d->denied[0] != '\0')
        d->host->diag->fail(
            &why, MCPLUG_EREFUSED,
            "cannot connect to %s: its address %s is blocked by enterprise policy",
            d->to->origin, d->denied);
    else
        d->host->diag->fail(&why, MCPLUG_EREFUSED, "cannot connect to %s: %s",
                            d->to->origin, strerror(os_error));
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
    if (os_error == 0 && ip_is_denied_peer(d->to->denied, d->fd, d->denied))
        os_error = EACCES;
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

static void on_found(void *arg, struct addrinfo *found, const char *reason, int os_error)
{
    struct ws_dial *d = arg;
    struct mcplug_error why = MCPLUG_ERROR_INIT;
    d->lookup = NULL;
    d->all = d->next = found;
    if (found != NULL) {
        go_on(d, 0);
        return;
    }
    d->host->diag->fail(&why, MCPLUG_EREFUSED, "cannot find %s: %s", d->to->origin,
                        reason);
    why.os_error = os_error;
    finish(d, &why);
}

struct ws_dial *ws_dial_start(const struct mcplug_host *host, mcplug_self *self,
                              struct lookups *lookups, const struct ws_target *to,
                              ws_dial_fn *fn, void *arg)
{
    struct ws_dial *d = host->mem->alloc(sizeof *d);
    char digits[8];
    if (d == NULL)
        return NULL;
    *d = (struct ws_dial){
        .host = host, .self = self, .to = to, .fn = fn, .arg = arg, .fd = -1};
    snprintf(digits, sizeof digits, "%u", to->url.port);
    d->lookup = lookup_start(lookups, to->url.host, digits, on_found, d);
    if (d->lookup != NULL)
        return d;
    host->mem->free(d);
    return NULL;
}

void ws_dial_stop(struct ws_dial *dial)
{
    if (dial != NULL)
        drop(dial);
}
