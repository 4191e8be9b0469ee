#include "net_private.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- letting curl work ---- */

static void run(struct net *net, curl_socket_t fd, int events)
{
    if (net->busy || net->failed)
        return;
    net->busy = 1;
    if (fd == CURL_SOCKET_TIMEOUT)
        net->due = NET_NEVER;
    if (curl_multi_socket_action(net->multi, fd, events, &net->running) != CURLM_OK)
        net->failed = 1;
    net->busy = 0;
}

static int is_due(const struct net *net)
{
    return net->due != NET_NEVER && (uint64_t)net->due <= net->host->loop->now(net->self);
}

static void on_timer(void *arg);

/* One timer at a time, and never moved forth: it may come too early, and then looks
 * again. curl changes its mind far more often than time passes. Without memory there is
 * none until the next that happens. */
static void arm(struct net *net)
{
    if (net->due == NET_NEVER ||
        (net->timer != NULL && net->timer_due <= (uint64_t)net->due))
        return;
    if (net->timer != NULL)
        net->host->loop->timer_stop(net->timer);
    uint64_t now = net->host->loop->now(net->self);
    uint64_t due = (uint64_t)net->due;
    net->timer_due = due;
    net->timer =
        net->host->loop->timer_start(net->self, due > now ? due - now : 0, on_timer, net);
}

void net_refill(struct net *net)
{
    net->budget = NET_TURN;
}

/* Goes on with those that had to wait for the next turn. What curl has kept of an answer
 * is handed on in here, outside of the multi handle: if that fails, or we refuse it, the
 * code it returns is all that is ever told, and the transfer stays as it is for good. */
static void unpause(struct net *net)
{
    for (struct net_fetch *f = net->fetches, *next;
         f != NULL && net->n_paused > 0 && net->budget > NET_TURN / 8; f = next) {
        next = f->next;
        if (!f->paused)
            continue;
        f->paused = 0;
        net->n_paused--;
        net->busy = 1;
        f->broken = curl_easy_pause(f->easy, CURLPAUSE_CONT);
        net->busy = 0;
        net->n_broken += f->broken != CURLE_OK ? 1 : 0;
    }
}

void net_kick(struct net *net)
{
    if (net->busy)
        return;
    for (int i = 0; i < 16 && !net->failed && is_due(net); i++)
        run(net, CURL_SOCKET_TIMEOUT, 0);
    if (net->n_paused > 0)
        net->due = (int64_t)net->host->loop->now(net->self);
    arm(net);
}

void net_soon(struct net *net)
{
    net->due = (int64_t)net->host->loop->now(net->self);
    arm(net);
}

static void on_timer(void *arg)
{
    struct net *net = arg;
    net->timer = NULL;
    net_refill(net);
    unpause(net);
    net_kick(net);
    net_collect(net);
}

static int on_curl_timer(CURLM *multi, long ms, void *arg)
{
    struct net *net = arg;
    (void)multi;
    net->due =
        ms < 0 ? NET_NEVER : (int64_t)net->host->loop->now(net->self) + (int64_t)ms;
    if (!net->busy)
        arm(net);
    return 0;
}

/* ---- descriptors ---- */

static struct net_socket *socket_at(struct net *net, int fd)
{
    size_t wanted = (size_t)fd + 1;
    if (wanted > net->n_sockets) {
        size_t n = wanted + 64;
        struct net_socket **more =
            net->host->mem->resize(net->sockets, n * sizeof(struct net_socket *));
        if (more == NULL)
            return NULL;
        for (size_t i = net->n_sockets; i < n; i++)
            more[i] = NULL;
        net->sockets = more;
        net->n_sockets = n;
    }
    if (net->sockets[fd] == NULL) {
        struct net_socket *s = net->host->mem->alloc(sizeof *s);
        if (s == NULL)
            return NULL;
        s->net = net;
        s->fd = fd;
        net->sockets[fd] = s;
    }
    return net->sockets[fd];
}

static void forget(struct net *net, int fd)
{
    if ((size_t)fd >= net->n_sockets || net->sockets[fd] == NULL)
        return;
    struct net_socket *s = net->sockets[fd];
    if (s->watch != NULL)
        net->host->loop->watch_stop(s->watch);
    net->sockets[fd] = NULL;
    net->host->mem->free(s);
}

static void on_ready(void *arg, unsigned events)
{
    struct net_socket *s = arg;
    struct net *net = s->net;
    events &= s->wanted;
    if (events == 0) { /* an idle connection that the peer closed: curl will see */
        s->armed = s->wanted;
        net->host->loop->watch_update(s->watch, s->armed);
        return;
    }
    net_refill(net);
    run(net, s->fd,
        (events & MCPLUG_READABLE ? CURL_CSELECT_IN : 0) |
            (events & MCPLUG_WRITABLE ? CURL_CSELECT_OUT : 0));
    net_kick(net);
    net_collect(net);
}

/* To wait for more to read than curl wants costs nothing, and on_ready() knows. That
 * something can be written is always so: it is waited for only when it is wanted. */
static int watch(struct net_socket *s)
{
    const struct mcplug_loop *loop = s->net->host->loop;
    unsigned more = s->wanted & ~s->armed, less = s->armed & ~s->wanted;
    if (s->watch == NULL)
        s->watch = loop->watch_start(s->net->self, s->fd, s->wanted, on_ready, s);
    else if (more == 0 && !(less & MCPLUG_WRITABLE))
        return 0;
    else if (loop->watch_update(s->watch, s->wanted) != 0)
        return -1;
    s->armed = s->wanted;
    return s->watch != NULL ? 0 : -1;
}

/* curl waits for it no more: is it kept, and shall we hear when it is closed? Not of one
 * that never carried a request: curl closes those without a word. */
static int stays(struct net_socket *s, CURL *easy)
{
    struct net_fetch *f = NULL;
    struct stat now;
    if (!s->is_ours || s->is_live)
        return s->is_ours;
    curl_easy_getinfo(easy, CURLINFO_PRIVATE, (char **)&f);
    s->is_live =
        f != NULL && f->tries > 0 && fstat(s->fd, &now) == 0 && now.st_ino == s->inode;
    return s->is_live;
}

static int on_curl_socket(CURL *easy, curl_socket_t fd, int what, void *arg, void *own)
{
    struct net *net = arg;
    (void)own;
    struct net_socket *s = socket_at(net, fd);
    if (s == NULL) {
        net->failed = 1;
        return -1;
    }
    s->wanted = (what & CURL_POLL_IN && what != CURL_POLL_REMOVE ? MCPLUG_READABLE : 0) |
                (what & CURL_POLL_OUT && what != CURL_POLL_REMOVE ? MCPLUG_WRITABLE : 0);
    if (what == CURL_POLL_REMOVE && !stays(s, easy)) {
        forget(net, fd);
        return 0;
    }
    if (s->wanted != 0 && watch(s) != 0) {
        net->failed = 1;
        return -1;
    }
    return 0;
}

/* A peer that vanished without a word is noticed within a minute. */
static void tune(int fd)
{
    const struct {
        int level, option, value;
    } wanted[] = {
        {SOL_SOCKET, SO_KEEPALIVE, 1},          {IPPROTO_TCP, TCP_KEEPIDLE, 30},
        {IPPROTO_TCP, TCP_KEEPINTVL, 10},       {IPPROTO_TCP, TCP_KEEPCNT, 3},
        {IPPROTO_TCP, TCP_USER_TIMEOUT, 60000},
    };
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++)
        setsockopt(fd, wanted[i].level, wanted[i].option, &wanted[i].value, sizeof(int));
}

/* Whoever had this number before was closed without a word. As long as curl believes
 * that it is watched, the new one would not be: it gets another number. */
static int renumbered(struct net *net, int fd)
{
    while (fd >= 0 && (size_t)fd < net->n_sockets && net->sockets[fd] != NULL) {
        struct net_socket *s = net->sockets[fd];
        if (s->wanted == 0) {
            forget(net, fd);
            break;
        }
        if (s->watch != NULL)
            net->host->loop->watch_stop(s->watch);
        s->watch = NULL;
        s->is_ours = 0; /* forgotten as soon as curl says so */
        int next = fcntl(fd, F_DUPFD_CLOEXEC, fd + 1);
        close(fd);
        fd = next;
    }
    return fd;
}

curl_socket_t net_open_socket(void *arg, curlsocktype purpose,
                              struct curl_sockaddr *address)
{
    const struct net_fetch *f = arg;
    struct net *net = f->net;
    struct stat now;
    (void)purpose;

    if (net_must_not_try(f)) {
        errno = ECONNRESET;
        return CURL_SOCKET_BAD;
    }
    int fd = socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
    fd = renumbered(net, fd);
    if (fd < 0)
        return CURL_SOCKET_BAD;
    struct net_socket *s = fstat(fd, &now) == 0 ? socket_at(net, fd) : NULL;
    if (s == NULL) {
        close(fd);
        errno = ENOMEM;
        return CURL_SOCKET_BAD;
    }
    s->is_ours = 1;
    s->inode = now.st_ino;
    tune(fd);
    return fd;
}

int net_close_socket(void *arg, curl_socket_t fd)
{
    forget(arg, fd);
    return close(fd);
}

/* ---- life ---- */

int net_loop_init(struct net *net)
{
    net->due = NET_NEVER;
    net_refill(net);
    net->multi = curl_multi_init();
    if (net->multi == NULL)
        return -1;
    curl_multi_setopt(net->multi, CURLMOPT_SOCKETFUNCTION, on_curl_socket);
    curl_multi_setopt(net->multi, CURLMOPT_SOCKETDATA, net);
    curl_multi_setopt(net->multi, CURLMOPT_TIMERFUNCTION, on_curl_timer);
    curl_multi_setopt(net->multi, CURLMOPT_TIMERDATA, net);
    curl_multi_setopt(net->multi, CURLMOPT_MAXCONNECTS, 512L);
    return 0;
}

static void close_all(struct net *net)
{
    net->busy = 1; /* whatever curl still says leads nowhere */
    if (net->multi != NULL)
        curl_multi_cleanup(net->multi);
    for (size_t i = 0; i < net->n_sockets; i++)
        forget(net, (int)i);
}

int net_loop_renew(struct net *net)
{
    close_all(net);
    net->busy = 0;
    net->running = 0;
    net->failed = net_loop_init(net) != 0;
    return net->failed ? -1 : 0;
}

void net_loop_clear(struct net *net)
{
    close_all(net);
    if (net->timer != NULL)
        net->host->loop->timer_stop(net->timer);
    net->host->mem->free(net->sockets);
}
