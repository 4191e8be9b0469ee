#include "client.h"

#include "../common/fds.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- letting curl work ---- */

static void run(struct mcplug_fetch_client *client, curl_socket_t fd, int events)
{
    int running;
    if (client->busy || client->failed)
        return;
    client->busy = 1;
    if (fd == CURL_SOCKET_TIMEOUT)
        client->due = FETCH_NEVER;
    if (curl_multi_socket_action(client->multi, fd, events, &running) != CURLM_OK)
        client->failed = 1;
    fetch_note_ended(client);
    client->busy = 0;
}

static int is_due(const struct mcplug_fetch_client *client)
{
    return client->due != FETCH_NEVER &&
           (uint64_t)client->due <= client->host->loop->now(client->self);
}

static void on_timer(void *arg);

/* One timer at a time, and never moved forth: it may come too early, and then looks
 * again. curl changes its mind far more often than time passes. Without memory there is
 * none until the next that happens. */
static void arm(struct mcplug_fetch_client *client)
{
    if (client->due == FETCH_NEVER ||
        (client->timer != NULL && client->timer_due <= (uint64_t)client->due))
        return;
    if (client->timer != NULL)
        client->host->loop->timer_stop(client->timer);
    uint64_t now = client->host->loop->now(client->self);
    uint64_t due = (uint64_t)client->due;
    client->timer_due = due;
    client->timer = client->host->loop->timer_start(
        client->self, due > now ? due - now : 0, on_timer, client);
}

static void refill(struct mcplug_fetch_client *client)
{
    client->budget = FETCH_TURN;
}

/* What curl has kept of an answer is handed on in here, outside of the multi handle: if
 * that fails, or we refuse it, the code it returns is all that is ever told, and the
 * transfer stays as it is for good. */
static void go_on(struct mcplug_fetch_request *f)
{
    struct mcplug_fetch_client *client = f->client;
    client->busy = 1;
    f->broken = curl_easy_pause(f->easy, (f->paused ? CURLPAUSE_RECV : 0) |
                                             (f->is_later ? CURLPAUSE_SEND : 0));
    client->busy = 0;
    client->n_broken += f->broken != CURLE_OK ? 1 : 0;
}

/* Goes on with those that had to wait for the next turn, and with bodies of which there
 * is more to pull: once with each, for it may break, and is finished before the next. */
static void go_on_all(struct mcplug_fetch_client *client)
{
    for (struct mcplug_fetch_request *f = client->requests, *next;
         f != NULL && (client->n_paused > 0 || client->n_resumed > 0); f = next) {
        int was_later = f->is_resumed && f->is_later && !f->stopped;
        int was_paused = f->paused && client->budget > FETCH_TURN / 8;
        next = f->next;
        client->n_resumed -= f->is_resumed ? 1 : 0;
        f->is_resumed = 0;
        f->is_later = f->is_later && !was_later;
        client->n_paused -= was_paused ? 1 : 0;
        f->paused = f->paused && !was_paused;
        if (was_later || was_paused)
            go_on(f);
    }
}

void fetch_kick(struct mcplug_fetch_client *client)
{
    if (client->busy)
        return;
    for (int i = 0; i < 16 && !client->failed && is_due(client); i++)
        run(client, CURL_SOCKET_TIMEOUT, 0);
    if (client->n_paused > 0)
        client->due = (int64_t)client->host->loop->now(client->self);
    arm(client);
}

void fetch_soon(struct mcplug_fetch_client *client)
{
    client->due = (int64_t)client->host->loop->now(client->self);
    arm(client);
}

static void on_timer(void *arg)
{
    struct mcplug_fetch_client *client = arg;
    client->timer = NULL;
    refill(client);
    fetch_ended_join(client);
    if (client->n_late > 0)
        fetch_collect(client); /* heads before bodies */
    go_on_all(client);
    fetch_kick(client);
    fetch_collect(client);
}

static int on_curl_timer(CURLM *multi, long ms, void *arg)
{
    struct mcplug_fetch_client *client = arg;
    (void)multi;
    client->due = ms < 0 ? FETCH_NEVER
                         : (int64_t)client->host->loop->now(client->self) + (int64_t)ms;
    if (!client->busy)
        arm(client);
    return 0;
}

/* ---- descriptors ---- */

static struct fetch_socket *socket_at(struct mcplug_fetch_client *client, int fd)
{
    size_t wanted = (size_t)fd + 1;
    if (wanted > client->n_sockets) {
        size_t n = wanted + 64;
        struct fetch_socket **more =
            client->host->mem->resize(client->sockets, n * sizeof(struct fetch_socket *));
        if (more == NULL)
            return NULL;
        for (size_t i = client->n_sockets; i < n; i++)
            more[i] = NULL;
        client->sockets = more;
        client->n_sockets = n;
    }
    if (client->sockets[fd] == NULL) {
        struct fetch_socket *s = client->host->mem->alloc(sizeof *s);
        if (s == NULL)
            return NULL;
        s->client = client;
        s->fd = fd;
        client->sockets[fd] = s;
    }
    return client->sockets[fd];
}

static void forget(struct mcplug_fetch_client *client, int fd)
{
    if ((size_t)fd >= client->n_sockets || client->sockets[fd] == NULL)
        return;
    struct fetch_socket *s = client->sockets[fd];
    if (s->watch != NULL)
        client->host->loop->watch_stop(s->watch);
    client->sockets[fd] = NULL;
    client->host->mem->free(s);
}

static void on_ready(void *arg, unsigned events)
{
    struct fetch_socket *s = arg;
    struct mcplug_fetch_client *client = s->client;
    events &= s->wanted;
    if (events == 0) { /* an idle connection that the peer closed: curl will see */
        s->armed = s->wanted;
        client->host->loop->watch_update(s->watch, s->armed);
        return;
    }
    refill(client);
    run(client, s->fd,
        (events & MCPLUG_READABLE ? CURL_CSELECT_IN : 0) |
            (events & MCPLUG_WRITABLE ? CURL_CSELECT_OUT : 0));
    fetch_kick(client);
    fetch_collect(client);
}

/* To wait for more to read than curl wants costs nothing, and on_ready() knows. That
 * something can be written is always so: it is waited for only when it is wanted. */
static int watch(struct fetch_socket *s)
{
    const struct mcplug_loop *loop = s->client->host->loop;
    unsigned more = s->wanted & ~s->armed, less = s->armed & ~s->wanted;
    if (s->watch == NULL)
        s->watch = loop->watch_start(s->client->self, s->fd, s->wanted, on_ready, s);
    else if (more == 0 && !(less & MCPLUG_WRITABLE))
        return 0;
    else if (loop->watch_update(s->watch, s->wanted) != 0)
        return -1;
    s->armed = s->wanted;
    return s->watch != NULL ? 0 : -1;
}

/* curl waits for it no more: is it kept, and shall we hear when it is closed? Not of one
 * that never carried a request: curl closes those without a word. */
static int stays(struct fetch_socket *s, CURL *easy)
{
    struct mcplug_fetch_request *f = NULL;
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
    struct mcplug_fetch_client *client = arg;
    (void)own;
    struct fetch_socket *s = socket_at(client, fd);
    if (s == NULL) {
        client->failed = 1;
        return -1;
    }
    s->wanted = (what & CURL_POLL_IN && what != CURL_POLL_REMOVE ? MCPLUG_READABLE : 0) |
                (what & CURL_POLL_OUT && what != CURL_POLL_REMOVE ? MCPLUG_WRITABLE : 0);
    if (what == CURL_POLL_REMOVE && !stays(s, easy)) {
        forget(client, fd);
        return 0;
    }
    if (s->wanted != 0 && watch(s) != 0) {
        client->failed = 1;
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
static int renumbered(struct mcplug_fetch_client *client, int fd)
{
    while (fd >= 0 && (size_t)fd < client->n_sockets && client->sockets[fd] != NULL) {
        struct fetch_socket *s = client->sockets[fd];
        if (s->wanted == 0) {
            forget(client, fd);
            break;
        }
        if (s->watch != NULL)
            client->host->loop->watch_stop(s->watch);
        s->watch = NULL;
        s->is_ours = 0; /* forgotten as soon as curl says so */
        int next = fcntl(fd, F_DUPFD_CLOEXEC, fd + 1);
        close(fd);
        fd = next;
    }
    return fd;
}

curl_socket_t fetch_open_socket(void *arg, curlsocktype purpose,
                                struct curl_sockaddr *address)
{
    struct mcplug_fetch_request *f = arg;
    struct mcplug_fetch_client *client = f->client;
    struct stat now;
    (void)purpose;

    if (fetch_is_denied(f, &address->addr)) {
        errno = EACCES;
        return CURL_SOCKET_BAD;
    }

    if (fetch_must_not_try(f)) {
        errno = ECONNRESET;
        return CURL_SOCKET_BAD;
    }
    int fd = fds_high(
        socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol));
    fd = renumbered(client, fd);
    if (fd < 0)
        return CURL_SOCKET_BAD;
    struct fetch_socket *s = fstat(fd, &now) == 0 ? socket_at(client, fd) : NULL;
    if (s == NULL) {
        close(fd);
        errno = ENOMEM;
        return CURL_SOCKET_BAD;
    }
    s->is_ours = 1;
    client->module->n_connected++;
    s->inode = now.st_ino;
    tune(fd);
    return fd;
}

int fetch_close_socket(void *arg, curl_socket_t fd)
{
    struct mcplug_fetch_client *client = arg;
    forget(client, fd);
    client->module->n_connected--;
    return close(fd);
}

/* ---- life ---- */

int fetch_loop_init(struct mcplug_fetch_client *client)
{
    struct fds_plugs plugs;

    client->due = FETCH_NEVER;
    refill(client);
    fds_plug(&plugs); /* it has descriptors to wake itself */
    client->multi = curl_multi_init();
    fds_unplug(&plugs);
    if (client->multi == NULL)
        return -1;
    curl_multi_setopt(client->multi, CURLMOPT_SOCKETFUNCTION, on_curl_socket);
    curl_multi_setopt(client->multi, CURLMOPT_SOCKETDATA, client);
    curl_multi_setopt(client->multi, CURLMOPT_TIMERFUNCTION, on_curl_timer);
    curl_multi_setopt(client->multi, CURLMOPT_TIMERDATA, client);
    curl_multi_setopt(client->multi, CURLMOPT_MAXCONNECTS, 512L);
    return 0;
}

static void close_all(struct mcplug_fetch_client *client)
{
    client->busy = 1; /* whatever curl still says leads nowhere */
    if (client->multi != NULL)
        curl_multi_cleanup(client->multi);
    for (size_t i = 0; i < client->n_sockets; i++)
        forget(client, (int)i);
}

int fetch_loop_renew(struct mcplug_fetch_client *client)
{
    close_all(client);
    client->busy = 0;
    client->failed = fetch_loop_init(client) != 0;
    return client->failed ? -1 : 0;
}

void fetch_loop_clear(struct mcplug_fetch_client *client)
{
    close_all(client);
    if (client->timer != NULL)
        client->host->loop->timer_stop(client->timer);
    client->host->mem->free(client->sockets);
}
