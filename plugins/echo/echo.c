/* echo: a transport that answers every message with the same bytes.
 *
 * A whole module in one file, to start your own from: copy it, rename it, and
 * replace the answers by something that reaches a server. It is built with
 *
 *   cc -shared -fPIC -o echo.so echo.c $(pkg-config --cflags mcplug)
 *
 * and links nothing: all it needs from the core comes with `host`.
 */
#include <mcplug/plugin.h>

static const struct mcplug_host *host; /* the one global a module may have */

/* Somebody wants a connection. What we put in *out comes back as `t` in all the
 * calls below; this transport has nothing to keep but the connection itself. */
static int echo_open(void *ctx, mcplug_conn *conn, const mcplug_props *settings,
                     void **out, struct mcplug_error *err)
{
    (void)ctx, (void)settings, (void)err;
    *out = conn;
    host->wire->opened(conn); /* a slow transport would say this later */
    return MCPLUG_OK;
}

/* One message for the peer. Whatever comes back is fed to the core, in as many
 * pieces as it comes; the last argument says that the message ends here. */
static int echo_send(void *t, mcplug_buf *frame, const struct mcplug_envelope *env,
                     struct mcplug_error *err)
{
    (void)env, (void)err;
    host->wire->feed(t, 0, host->mem->buf_bytes(frame), 1);
    host->mem->buf_unref(frame); /* send() takes it, so it is ours to drop */
    return MCPLUG_OK;
}

/* The core asks for the end; closed() grants it, at once or later. */
static void echo_close(void *t)
{
    host->wire->closed(t, NULL);
}

/* After closed(): here the memory of a connection would be freed. */
static void echo_destroy(void *t)
{
    (void)t;
}

/* Called once, when the module is loaded. */
static int echo_init(const struct mcplug_host *h, mcplug_self *self, void **ctx,
                     struct mcplug_error *err)
{
    (void)self, (void)ctx, (void)err;
    host = h;
    return MCPLUG_OK;
}

static const struct mcplug_transport_ops ops = {
    .struct_size = sizeof ops,
    .open = echo_open,
    .send = echo_send,
    .close = echo_close,
    .destroy = echo_destroy,
};

/* What "type" a configuration names: {"type": "echo"}. */
static const struct mcplug_feature features[] = {
    {
        .kind = MCPLUG_TRANSPORT,
        .name = "echo",
        .summary = "answers every message with the same bytes",
        .ops = &ops,
    },
};

/* The one symbol a module exports. The core reads it before it runs any code. */
MCPLUG_PLUGIN(echo) = {
    MCPLUG_HEAD(0),    MCPLUG_FEATURES(features),
    .name = "echo",    .version = "1.0",
    .license = "MIT",  .summary = "Echo, the tutorial's transport",
    .init = echo_init,
};
