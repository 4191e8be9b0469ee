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

/* What init() got. A program may have several hosts, and each of them calls init():
 * so this comes back as `ctx`, and there are no variables outside of functions. */
struct module {
    const struct mcplug_host *host;
    mcplug_self *self; /* for timers, descriptors and log lines: none here */
};

struct link {
    const struct mcplug_host *host;
    mcplug_conn *conn; /* the core's side of it */
};

/* Somebody wants a connection. What we put in *out comes back as `t` in all the
 * calls below. */
static int echo_open(void *ctx, mcplug_conn *conn, const mcplug_props *settings,
                     void **out, struct mcplug_error *err)
{
    const struct module *module = ctx;
    const struct mcplug_host *host = module->host;
    struct link *l = host->mem->alloc(sizeof *l);
    (void)settings;
    if (l == NULL)
        return host->diag->fail(err, MCPLUG_ENOMEM, "out of memory");
    l->host = host;
    l->conn = conn;
    *out = l;
    host->wire->opened(conn); /* a slow transport would say this later */
    return MCPLUG_OK;
}

/* One message for the peer. Whatever comes back is fed to the core, in as many
 * pieces as it comes; the last argument says that the message ends here. */
static int echo_send(void *t, mcplug_buf *frame, const struct mcplug_envelope *env,
                     struct mcplug_error *err)
{
    struct link *l = t;
    (void)env, (void)err;
    l->host->wire->feed(l->conn, 0, l->host->mem->buf_bytes(frame), 1);
    l->host->mem->buf_unref(frame); /* send() takes it, so it is ours to drop */
    return MCPLUG_OK;
}

/* The core asks for the end; closed() grants it, at once or later. */
static void echo_close(void *t)
{
    struct link *l = t;
    l->host->wire->closed(l->conn, NULL);
}

/* After closed(). */
static void echo_destroy(void *t)
{
    struct link *l = t;
    l->host->mem->free(l);
}

/* Called once by each host, when it loads the module. */
static int echo_init(const struct mcplug_host *host, mcplug_self *self, void **ctx,
                     struct mcplug_error *err)
{
    struct module *module = host->mem->alloc(sizeof *module);
    if (module == NULL)
        return host->diag->fail(err, MCPLUG_ENOMEM, "out of memory");
    module->host = host;
    module->self = self;
    *ctx = module;
    return MCPLUG_OK;
}

/* The end of that host; its connections are gone already. */
static void echo_fini(void *ctx)
{
    struct module *module = ctx;
    module->host->mem->free(module);
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
    .init = echo_init, .fini = echo_fini,
};
