/* plugins/websocket/link.c - one connection, see link.h
 *
 * From top to bottom: ending, sending, silence, what libwebsockets tells, connecting.
 */
#include "link.h"

#include "../common/fds.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define PONG_MS 30000
#define CLOSE_MS 1000

/* ---- ending --------------------------------------------------------------- */

static void stop_timer(struct ws_link *l)
{
    if (l->timer != NULL)
        l->host->loop->timer_stop(l->timer);
    l->timer = NULL;
}

/* The end, once, as far as the core is concerned; libwebsockets may still have to be
 * told. */
static void end(struct ws_link *l, const struct mcplug_error *why)
{
    if (l->state == WS_OVER)
        return;
    if (l->state == WS_CLOSING)
        why = NULL;
    l->state = WS_OVER;
    stop_timer(l);
    ws_dial_stop(l->dial);
    l->dial = NULL;
    if (l->fd >= 0)
        close(l->fd);
    l->fd = -1;
    ws_outbox_clear(&l->out, l->host);
    l->host->wire->closed(l->conn, why);
}

/* Not from within one of its events, where -1 does it. */
static void kill_wsi(struct ws_link *l)
{
    struct ws_engine *e = l->engine; /* the link may be freed in here */
    struct ws_guard guard;
    if (l->wsi == NULL)
        return;
    ws_engine_enter(e, &guard);
    shutdown(lws_get_socket_fd(l->wsi), SHUT_RDWR); /* or it would try to send its rest */
    lws_set_timeout(l->wsi, PENDING_TIMEOUT_USER_OK, LWS_TO_KILL_SYNC);
    ws_engine_leave(e, &guard, 1);
}

static void link_free(struct ws_link *l)
{
    struct ws_engine *e = l->engine;
    struct ws_link **at = &e->links;
    while (*at != l)
        at = &(*at)->next;
    *at = l->next;
    e->n_links--;
    ws_dial_stop(l->dial);
    stop_timer(l);
    if (l->fd >= 0)
        close(l->fd);
    ws_outbox_clear(&l->out, l->host);
    ws_target_clear(&l->target, l->host);
    l->host->mem->free(l);
}

void ws_link_destroy(struct ws_link *l)
{
    struct ws_engine *e = l->engine;
    l->is_destroyed = 1;
    if (l->wsi == NULL)
        link_free(l);
    else
        kill_wsi(l); /* frees, maybe a little later */
    if (e->links == NULL)
        ws_engine_rest(e);
}

static void on_close_timeout(void *arg)
{
    struct ws_link *l = arg;
    l->timer = NULL;
    end(l, NULL);
    kill_wsi(l);
}

void ws_link_close(struct ws_link *l)
{
    struct ws_guard guard;
    if (l->state == WS_CLOSING || l->state == WS_OVER)
        return;
    stop_timer(l);
    if (l->state == WS_OPEN)
        l->timer = l->host->loop->timer_start(l->self, CLOSE_MS, on_close_timeout, l);
    if (l->timer == NULL) {
        end(l, NULL);
        kill_wsi(l);
        return;
    }
    l->state = WS_CLOSING;
    ws_outbox_clear(&l->out, l->host);
    ws_engine_enter(l->engine, &guard);
    lws_close_reason(l->wsi, LWS_CLOSE_STATUS_NORMAL, NULL, 0);
    /* Having a reason to tell it only begins to close: the frame, and then its answer. */
    lws_set_timeout(l->wsi, PENDING_TIMEOUT_USER_OK, LWS_TO_KILL_SYNC);
    ws_engine_leave(l->engine, &guard, 1);
}

/* ---- sending -------------------------------------------------------------- */

static int flush(struct ws_link *l, uint64_t quiet)
{
    errno = 0;
    return ws_outbox_flush(&l->out, l->host, l->conn, l->wsi, l->engine->out, quiet);
}

static void write_failed(struct ws_link *l)
{
    struct mcplug_error why = MCPLUG_ERROR_INIT;
    ws_failure_lost(l, l->wsi, errno, &why);
    end(l, &why);
}

int ws_link_send(struct ws_link *l, mcplug_buf *frame, uint64_t serial,
                 struct mcplug_error *err)
{
    struct ws_guard guard;
    if (l->state != WS_OPEN) {
        l->host->mem->buf_unref(frame);
        return l->host->diag->fail(err, MCPLUG_ECLOSED, "the connection is closed");
    }
    int r = ws_outbox_add(&l->out, l->host, frame, serial, err);
    if (r != MCPLUG_OK)
        return r;
    ws_engine_enter(l->engine, &guard);
    int is_broken = flush(l, serial) < 0; /* written() is for what is MCPLUG_QUEUED */
    if (is_broken)
        write_failed(l);
    int is_left = !is_broken && ws_outbox_has(&l->out, serial);
    if (is_left) /* not in here: more would be read for each answer, without an end */
        ws_engine_soon(l->engine);
    ws_engine_leave(l->engine, &guard, 0);
    if (!is_broken)
        return is_left ? MCPLUG_QUEUED : MCPLUG_OK;
    kill_wsi(l);
    return l->host->diag->fail(err, MCPLUG_ECLOSED, "cannot write to %s",
                               l->target.origin);
}

/* ---- silence -------------------------------------------------------------- */

static void on_silence(void *arg);

static void wait_for_word(struct ws_link *l, uint64_t ms)
{
    l->timer = l->host->loop->timer_start(l->self, ms, on_silence, l);
    if (l->timer == NULL)
        l->host->diag->log(l->self, MCPLUG_LOG_WARN,
                           "%s: out of memory, no more pings are sent", l->target.origin);
}

static void ask(struct ws_link *l)
{
    struct ws_guard guard;
    l->asked = l->host->loop->now(l->self);
    l->out.is_ping_due = 1;
    ws_engine_enter(l->engine, &guard);
    int is_broken = flush(l, 0) < 0;
    if (is_broken)
        write_failed(l);
    ws_engine_leave(l->engine, &guard, 1);
    if (is_broken)
        kill_wsi(l);
    else if (l->state == WS_OPEN &&
             l->timer == NULL) /* it may have been heard in there */
        wait_for_word(l, PONG_MS);
}

static void on_silence(void *arg)
{
    struct ws_link *l = arg;
    struct mcplug_error why = MCPLUG_ERROR_INIT;
    uint64_t now = l->host->loop->now(l->self), quiet = now - l->heard;
    l->timer = NULL;
    if (l->asked != 0 && now - l->asked < PONG_MS) {
        wait_for_word(l, PONG_MS - (now - l->asked));
    } else if (l->asked != 0 && !l->is_excused && now - l->asked > 2 * PONG_MS) {
        l->is_excused = 1; /* it was us who stood still: the answer may be there */
        ask(l);
    } else if (l->asked != 0) {
        l->host->diag->fail(&why, MCPLUG_ECLOSED,
                            "%s: the server has not answered a ping for %d s",
                            l->target.origin, PONG_MS / 1000);
        why.os_error = ETIMEDOUT;
        end(l, &why);
        kill_wsi(l);
    } else if (quiet < l->target.ping_ms) {
        wait_for_word(l, l->target.ping_ms - quiet);
    } else {
        ask(l);
    }
}

static void heard(struct ws_link *l)
{
    l->heard = l->host->loop->now(l->self);
    l->is_excused = 0;
    if (l->asked == 0)
        return;
    l->asked = 0;
    stop_timer(l);
    wait_for_word(l, l->target.ping_ms);
}

/* ---- what libwebsockets tells ---------------------------------------------- */

/* The socket that it has connected to nobody gives way to ours. */
static void take_socket(struct ws_link *l, struct lws *wsi)
{
    int r;
    l->wsi = wsi;
    do
        r = dup3(l->fd, lws_get_socket_fd(wsi), O_CLOEXEC);
    while (r < 0 && (errno == EINTR || errno == EBUSY));
    if (r < 0)
        return; /* ws_dialled() sees that the socket is still there */
    close(l->fd);
    l->fd = -1;
}

static int add_headers(struct ws_link *l, unsigned char **at, size_t room)
{
    l->is_secured = 1;
    if (l->target.headers_len > room)
        return -1; /* cannot be: target.h has the sizes */
    memcpy(*at, l->target.headers, l->target.headers_len);
    *at += l->target.headers_len;
    return 0;
}

static void opened(struct ws_link *l)
{
    stop_timer(l);
    l->state = WS_OPEN;
    l->heard = l->host->loop->now(l->self);
    if (l->target.ping_ms > 0)
        wait_for_word(l, l->target.ping_ms);
    l->host->wire->describe(l->conn, "peer", l->target.origin);
    l->host->wire->opened(l->conn);
}

static void received(struct ws_link *l, struct lws *wsi, struct mcplug_bytes piece)
{
    int is_last = lws_is_final_fragment(wsi);
    heard(l);
    if (lws_frame_is_binary(wsi) && !l->warned_binary) {
        l->warned_binary = 1;
        l->host->diag->log(l->self, MCPLUG_LOG_WARN,
                           "%s sends binary messages; they are read as text",
                           l->target.origin);
    }
    if (piece.len > 0 || l->in_message)
        l->host->wire->feed(l->conn, 0, piece, is_last);
    l->in_message = !is_last && (piece.len > 0 || l->in_message);
}

static int writable(struct ws_link *l)
{
    int is_ping_due = l->out.is_ping_due;
    if (l->state != WS_OPEN)
        return 0;
    if (flush(l, 0) != 0) {
        write_failed(l);
        return -1;
    }
    if (is_ping_due) /* it stood behind a long message, of which the server takes more */
        l->asked = l->host->loop->now(l->self);
    return 0;
}

static void closed(struct ws_link *l, struct lws *wsi, int os_error)
{
    struct mcplug_error why = MCPLUG_ERROR_INIT;
    ws_failure_lost(l, wsi, os_error, &why);
    end(l, &why);
}

/* While the connection is of interest to the core. */
static int event(struct ws_link *l, struct lws *wsi, enum lws_callback_reasons reason,
                 void *in, size_t len, int os_error)
{
    struct mcplug_error why = MCPLUG_ERROR_INIT;
    struct mcplug_bytes bytes = {in, in != NULL ? len : 0};
    switch (reason) {
    case LWS_CALLBACK_WSI_CREATE:
        take_socket(l, wsi);
        break;
    case LWS_CALLBACK_CLIENT_APPEND_HANDSHAKE_HEADER:
        return add_headers(l, in, len);
    case LWS_CALLBACK_CLIENT_CONNECTION_ERROR:
        ws_failure_shaking(l, wsi, bytes, os_error, &why);
        end(l, &why);
        break;
    case LWS_CALLBACK_CLOSED_CLIENT_HTTP: /* hung up on us before it answered */
    case LWS_CALLBACK_WSI_DESTROY:        /* in case that nothing was said before */
        bytes = (struct mcplug_bytes){(const unsigned char *)"no answer", 9};
        ws_failure_shaking(l, wsi, bytes, os_error, &why);
        end(l, &why);
        break;
    case LWS_CALLBACK_CLIENT_ESTABLISHED:
        opened(l);
        break;
    case LWS_CALLBACK_CLIENT_RECEIVE:
        if (l->state == WS_OPEN)
            received(l, wsi, bytes);
        break;
    case LWS_CALLBACK_CLIENT_RECEIVE_PONG:
        if (l->state == WS_OPEN) /* else the timer is for closing */
            heard(l);
        break;
    case LWS_CALLBACK_CLIENT_WRITEABLE:
        return writable(l);
    case LWS_CALLBACK_WS_PEER_INITIATED_CLOSE:
        ws_failure_closed(l, bytes, &why);
        end(l, &why); /* it answers the frame by itself */
        break;
    case LWS_CALLBACK_CLIENT_CLOSED:
        closed(l, wsi, os_error);
        break;
    default:
        break;
    }
    return 0;
}

int ws_link_event(struct lws *wsi, enum lws_callback_reasons reason, void *user, void *in,
                  size_t len)
{
    int os_error = errno;
    (void)user;
    switch (reason) {
    case LWS_CALLBACK_WSI_CREATE:
    case LWS_CALLBACK_WSI_DESTROY:
    case LWS_CALLBACK_CLIENT_APPEND_HANDSHAKE_HEADER:
    case LWS_CALLBACK_CLIENT_CONNECTION_ERROR:
    case LWS_CALLBACK_CLOSED_CLIENT_HTTP:
    case LWS_CALLBACK_CLIENT_ESTABLISHED:
    case LWS_CALLBACK_CLIENT_RECEIVE:
    case LWS_CALLBACK_CLIENT_RECEIVE_PONG:
    case LWS_CALLBACK_CLIENT_WRITEABLE:
    case LWS_CALLBACK_WS_PEER_INITIATED_CLOSE:
    case LWS_CALLBACK_CLIENT_CLOSED:
        break;
    default: /* may not even have a connection */
        return 0;
    }
    struct ws_link *l = lws_get_opaque_user_data(wsi);
    if (l == NULL)
        return 0;
    int r = 0;
    if (l->state != WS_OVER)
        r = event(l, wsi, reason, in, len, os_error);
    if (reason == LWS_CALLBACK_WSI_DESTROY) {
        l->wsi = NULL;
        if (l->is_destroyed)
            link_free(l);
        return 0;
    }
    if (l->state != WS_OVER || r != 0)
        return r;
    return reason == LWS_CALLBACK_CLIENT_RECEIVE ||
                   reason == LWS_CALLBACK_CLIENT_WRITEABLE ||
                   reason == LWS_CALLBACK_CLIENT_ESTABLISHED
               ? -1
               : 0;
}

/* ---- connecting ----------------------------------------------------------- */

/* libwebsockets connects only by itself, but to local sockets as well, and that is done
 * at once: this one is for nothing else, and nobody ever answers there. Its name goes to
 * `address`, in the way of libwebsockets. */
static int listen_locally(char *address, size_t size)
{
    struct sockaddr_un un = {.sun_family = AF_UNIX};
    socklen_t len = sizeof un;
    int fd = fds_high(socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    if (fd >= 0 &&
        (bind(fd, (struct sockaddr *)&un, sizeof un.sun_family) != 0 || /* any name */
         listen(fd, SOMAXCONN) != 0 ||
         getsockname(fd, (struct sockaddr *)&un, &len) != 0)) {
        int os_error = errno;
        close(fd);
        errno = os_error;
        return -1;
    }
    if (fd >= 0)
        snprintf(address, size, "+@%.*s",
                 (int)(len - offsetof(struct sockaddr_un, sun_path) - 1),
                 un.sun_path + 1);
    return fd;
}

static int shake(struct ws_link *l, struct mcplug_error *why)
{
    static const lws_retry_bo_t no_pings = {0};
    char address[sizeof(struct sockaddr_un)];
    struct ws_engine *e = l->engine;
    struct lws_client_connect_info info = {
        .context = e->lws,
        .address = address,
        .port = l->target.url.port,
        .path = l->target.path,
        .host = l->target.host,
        .protocol = l->target.subprotocol,
        .local_protocol_name = "mcplug",
        .alpn = "http/1.1",
        .ietf_version_or_minus_one = -1,
        .retry_and_idle_policy = &no_pings,
        .opaque_user_data = l,
        .vhost = l->vhost,
        .ssl_connection = LCCSCF_HTTP_NO_FOLLOW_REDIRECT,
    };
    if (l->target.url.secure)
        info.ssl_connection |= LCCSCF_USE_SSL | LCCSCF_SKIP_SERVER_CERT_HOSTNAME_CHECK;
    l->is_secured = !l->target.url.secure;
    int local = listen_locally(address, sizeof address);
    if (local < 0) {
        int os_error = errno;
        l->host->diag->fail(why, MCPLUG_EIO, "cannot create a socket: %s",
                            strerror(os_error));
        why->os_error = os_error;
        return MCPLUG_EIO;
    }
    struct fds_plugs plugs;
    fds_plug(&plugs);
    struct lws *wsi = lws_client_connect_via_info(&info);
    fds_unplug(&plugs);
    close(local);
    if (wsi != NULL && l->wsi == NULL && l->state == WS_SHAKING)
        l->wsi = wsi; /* waits for the local socket: it must go before we do */
    if (wsi != NULL && l->fd < 0)
        return MCPLUG_OK;
    if (l->tls_reason[0] != '\0')
        return l->host->diag->fail(why, MCPLUG_EREFUSED, "%s: no TLS: %s",
                                   l->target.origin, l->tls_reason);
    return l->host->diag->fail(why, MCPLUG_ECLOSED, "%s: the handshake failed",
                               l->target.origin);
}

static void on_dialled(void *arg, int fd, const struct mcplug_error *why)
{
    struct ws_link *l = arg;
    struct mcplug_error failure = MCPLUG_ERROR_INIT;
    struct ws_guard guard;
    l->dial = NULL;
    if (fd < 0) {
        end(l, why);
        return;
    }
    l->fd = fd;
    l->state = WS_SHAKING;
    ws_engine_enter(l->engine, &guard);
    int r = shake(l, &failure);
    ws_engine_leave(l->engine, &guard, r == MCPLUG_OK);
    if (r == MCPLUG_OK)
        return;
    end(l, &failure); /* unless an event has done it */
    kill_wsi(l);
}

static void on_connect_timeout(void *arg)
{
    struct ws_link *l = arg;
    struct mcplug_error why = MCPLUG_ERROR_INIT;
    l->timer = NULL;
    l->host->diag->fail(&why, MCPLUG_ETIMEDOUT, "%s: no connection within %llu ms",
                        l->target.origin, (unsigned long long)l->target.connect_ms);
    why.os_error = ETIMEDOUT;
    end(l, &why);
    kill_wsi(l);
}

static int start(struct ws_link *l, struct mcplug_error *err)
{
    int r = ws_engine_site(l->engine, &l->target, &l->vhost, err);
    if (r == MCPLUG_OK)
        r = ws_engine_wake(l->engine, err);
    if (r != MCPLUG_OK)
        return r;
    l->timer =
        l->host->loop->timer_start(l->self, l->target.connect_ms, on_connect_timeout, l);
    if (l->timer == NULL)
        return l->host->diag->fail(err, MCPLUG_ENOMEM, "out of memory");
    l->dial =
        ws_dial_start(l->host, l->self, l->engine->lookups, &l->target, on_dialled, l);
    if (l->dial == NULL)
        return l->host->diag->fail(err, errno == ENOMEM ? MCPLUG_ENOMEM : MCPLUG_EIO,
                                   "cannot look up %s: %s", l->target.origin,
                                   strerror(errno));
    return MCPLUG_OK;
}

int ws_link_open(struct ws_engine *engine, mcplug_conn *conn, struct ws_target *target,
                 struct ws_link **out, struct mcplug_error *err)
{
    const struct mcplug_host *host = engine->host;
    struct ws_link *l = NULL;
    int r = MCPLUG_OK;
    if (engine->n_links == WS_CONNECTIONS)
        r = host->diag->fail(err, MCPLUG_EOVERLOADED, "more than %d connections",
                             WS_CONNECTIONS);
    else if ((l = host->mem->alloc(sizeof *l)) == NULL)
        r = host->diag->fail(err, MCPLUG_ENOMEM, "out of memory");
    if (r != MCPLUG_OK) {
        ws_target_clear(target, host);
        return r;
    }
    l->engine = engine;
    l->host = host;
    l->self = engine->self;
    l->conn = conn;
    l->target = *target;
    l->fd = -1;
    l->next = engine->links;
    engine->links = l;
    engine->n_links++;
    r = start(l, err);
    if (r == MCPLUG_OK)
        *out = l;
    else
        ws_link_destroy(l);
    return r;
}
