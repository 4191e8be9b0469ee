/* plugins/websocket/outbox.c - messages that wait to be sent, see outbox.h */
#include "outbox.h"

#include <string.h>

#define CEILING ((size_t)64 << 20) /* the core's own limit comes first */

struct ws_message {
    struct ws_message *next;
    mcplug_buf *text; /* owned */
    size_t len;
    uint64_t serial;
};

int ws_outbox_add(struct ws_outbox *out, const struct mcplug_host *host,
                  mcplug_buf *frame, uint64_t serial, struct mcplug_error *err)
{
    size_t len = host->mem->buf_bytes(frame).len;
    if (out->first != NULL && (len > CEILING || out->waiting > CEILING - len)) {
        host->mem->buf_unref(frame);
        return host->diag->fail(
            err, MCPLUG_EOVERLOADED,
            "the peer does not read: %zu bytes are waiting to be sent", out->waiting);
    }
    struct ws_message *m = out->spare;
    out->spare = NULL;
    if (m == NULL)
        m = host->mem->alloc(sizeof *m);
    if (m == NULL) {
        host->mem->buf_unref(frame);
        return host->diag->fail(err, MCPLUG_ENOMEM, "out of memory");
    }
    *m = (struct ws_message){NULL, frame, len, serial};
    if (out->first == NULL)
        out->first = m;
    else
        out->last->next = m;
    out->last = m;
    out->waiting += len;
    return MCPLUG_OK;
}

static void drop_first(struct ws_outbox *out, const struct mcplug_host *host)
{
    struct ws_message *m = out->first;
    out->first = m->next;
    out->waiting -= m->len;
    out->sent = 0;
    host->mem->buf_unref(m->text);
    if (out->spare == NULL)
        out->spare = m;
    else
        host->mem->free(m);
}

/* One frame; libwebsockets masks it in place, wants room before it, and keeps what the
 * socket does not take. */
static int write_frame(struct ws_outbox *out, const struct mcplug_host *host,
                       struct lws *wsi, unsigned char *buf)
{
    const struct ws_message *m = out->first;
    struct mcplug_bytes text = host->mem->buf_bytes(m->text);
    size_t len = m->len - out->sent;
    if (len > WS_FRAGMENT)
        len = WS_FRAGMENT;
    if (len > 0)
        memcpy(buf + LWS_PRE, text.data + out->sent, len);
    int flags =
        lws_write_ws_flags(LWS_WRITE_TEXT, out->sent == 0, out->sent + len == m->len);
    if (lws_write(wsi, buf + LWS_PRE, len, (enum lws_write_protocol)flags) < 0)
        return -1;
    out->sent += len;
    return 0;
}

int ws_outbox_flush(struct ws_outbox *out, const struct mcplug_host *host,
                    mcplug_conn *conn, struct lws *wsi, unsigned char *buf,
                    uint64_t quiet)
{
    while (!lws_partial_buffered(wsi)) {
        if (out->leaving != 0 && out->leaving != quiet)
            host->wire->written(conn, out->leaving);
        out->leaving = 0;
        if (out->is_ping_due && out->sent == 0) {
            out->is_ping_due = 0;
            if (lws_write(wsi, buf + LWS_PRE, 0, LWS_WRITE_PING) < 0)
                return -1;
            continue;
        }
        if (out->first == NULL)
            return 0;
        if (write_frame(out, host, wsi, buf) < 0)
            return -1;
        if (out->sent == out->first->len) {
            out->leaving = out->first->serial;
            drop_first(out, host);
        }
    }
    lws_callback_on_writable(wsi);
    return 0;
}

int ws_outbox_has(const struct ws_outbox *out, uint64_t serial)
{
    return out->leaving == serial ||
           (out->last != NULL && out->first != NULL && out->last->serial == serial);
}

void ws_outbox_clear(struct ws_outbox *out, const struct mcplug_host *host)
{
    while (out->first != NULL)
        drop_first(out, host);
    host->mem->free(out->spare);
    *out = (struct ws_outbox){NULL, NULL, NULL, 0, 0, 0, 0};
}
