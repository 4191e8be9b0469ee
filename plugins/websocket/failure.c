/* plugins/websocket/failure.c - why a connection ended, in words and codes */
#include "link.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/ssl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

enum fate {
    FATE_RESET, /* the connection is no more */
    FATE_END,   /* the peer has closed it in good order */
    FATE_OURS   /* it is as it was, and libwebsockets did not want it any more */
};

/* libwebsockets does not say why it closes; the socket is still there to be asked. */
static enum fate fate_of(struct lws *wsi)
{
    struct tcp_info info = {0};
    socklen_t len = sizeof info;
    SSL *ssl = lws_get_ssl(wsi);
    if (getsockopt(lws_get_socket_fd(wsi), IPPROTO_TCP, TCP_INFO, &info, &len) != 0 ||
        info.tcpi_state == TCP_CLOSE)
        return FATE_RESET;
    if (info.tcpi_state == TCP_CLOSE_WAIT || info.tcpi_state == TCP_LAST_ACK ||
        info.tcpi_state == TCP_CLOSING ||
        (ssl != NULL && SSL_get_shutdown(ssl) & SSL_RECEIVED_SHUTDOWN))
        return FATE_END;
    return FATE_OURS;
}

/* What the socket itself knows, as long as nobody has read it; or `os_error`, which is
 * what errno happened to be, if it can be about a connection. */
static int reset_error(struct lws *wsi, int os_error)
{
    int kept = 0;
    socklen_t len = sizeof kept;
    if (getsockopt(lws_get_socket_fd(wsi), SOL_SOCKET, SO_ERROR, &kept, &len) == 0 &&
        kept != 0)
        return kept;
    switch (os_error) {
    case ETIMEDOUT:
    case EPIPE:
    case EHOSTUNREACH:
    case ENETUNREACH:
    case ENETDOWN:
        return os_error;
    default:
        return ECONNRESET;
    }
}

static void fail_reset(const struct ws_link *l, struct lws *wsi, int os_error,
                       struct mcplug_error *why)
{
    os_error = reset_error(wsi, os_error);
    l->host->diag->fail(why, MCPLUG_ECLOSED, "%s: %s", l->target.origin,
                        strerror(os_error));
    why->os_error = os_error;
}

/* Printable ASCII stays, and everything else is shown by its number. */
static void escape(struct mcplug_bytes text, char *out, size_t size)
{
    size_t used = 0;
    for (size_t i = 0; i < text.len && used + 5 < size; i++) {
        unsigned char c = text.data[i];
        if (c >= 0x20 && c < 0x7f && c != '\\')
            out[used++] = (char)c;
        else
            used += (size_t)snprintf(out + used, size - used, "\\x%02x", c);
    }
    out[used] = '\0';
}

static void fail_status(const struct ws_link *l, unsigned status,
                        struct mcplug_error *why)
{
    int is_auth = status == 401 || status == 403;
    l->host->diag->fail(why, is_auth ? MCPLUG_EAUTH : MCPLUG_EREFUSED,
                        "%s: the server answered the upgrade with HTTP status %u%s",
                        l->target.origin, status,
                        is_auth                         ? " (authentication required)"
                        : status >= 300 && status < 400 ? " (redirections are not "
                                                          "followed)"
                                                        : "");
    why->peer_status = (int32_t)status;
}

void ws_failure_shaking(const struct ws_link *l, struct lws *wsi,
                        struct mcplug_bytes what, int os_error, struct mcplug_error *why)
{
    char text[200];
    unsigned status = lws_http_client_http_response(wsi);
    enum fate fate = fate_of(wsi);
    escape(what, text, sizeof text);
    if (l->fd >= 0)
        l->host->diag->fail(why, MCPLUG_EIO, "%s: the handshake failed: out of resources",
                            l->target.origin);
    else if (!l->is_secured && l->tls_reason[0] != '\0')
        l->host->diag->fail(why, MCPLUG_EREFUSED, "%s: no TLS: %s", l->target.origin,
                            l->tls_reason);
    else if (status != 0 && status != 101)
        fail_status(l, status, why);
    else if (status == 101)
        l->host->diag->fail(why, MCPLUG_EPROTO, "%s: not a WebSocket upgrade: %s",
                            l->target.origin, text);
    else if (fate == FATE_RESET)
        fail_reset(l, wsi, os_error, why);
    else if (fate == FATE_END)
        l->host->diag->fail(why, MCPLUG_ECLOSED,
                            "%s: the server closed the connection %s", l->target.origin,
                            l->is_secured ? "instead of upgrading it"
                                          : "during the TLS handshake");
    else if (!l->is_secured)
        l->host->diag->fail(why, MCPLUG_EREFUSED, "%s: no TLS: the handshake failed",
                            l->target.origin);
    else
        l->host->diag->fail(why, MCPLUG_EPROTO, "%s: not a WebSocket upgrade: %s",
                            l->target.origin, text);
}

void ws_failure_lost(const struct ws_link *l, struct lws *wsi, int os_error,
                     struct mcplug_error *why)
{
    switch (fate_of(wsi)) {
    case FATE_RESET:
        fail_reset(l, wsi, os_error, why);
        break;
    case FATE_END:
        l->host->diag->fail(why, MCPLUG_ECLOSED,
                            "%s: the server ended the connection without a close frame",
                            l->target.origin);
        break;
    case FATE_OURS:
        l->host->diag->fail(why, MCPLUG_EPROTO,
                            "%s: the server broke the WebSocket protocol",
                            l->target.origin);
        break;
    }
}

void ws_failure_closed(const struct ws_link *l, struct mcplug_bytes payload,
                       struct mcplug_error *why)
{
    char text[260] = "";
    int status = 1005; /* none given */
    if (payload.len >= 2) {
        status = payload.data[0] << 8 | payload.data[1];
        payload.data += 2;
        payload.len -= 2;
        escape(payload, text, sizeof text);
    }
    l->host->diag->fail(why, status == 1008 ? MCPLUG_EAUTH : MCPLUG_ECLOSED,
                        "%s: the server closed the connection with code %d%s%s",
                        l->target.origin, status, text[0] != '\0' ? ": " : "", text);
    why->peer_status = status;
}
