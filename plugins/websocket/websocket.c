/* websocket: transports "websocket" and "ws", one message in one WebSocket message.
 *
 * link.c has a connection, engine.c drives libwebsockets, target.c reads the settings.
 * This is what the core sees.
 */
#include "link.h"

#include "../common/ws_options.h"

static int websocket_open(void *ctx, mcplug_conn *conn, const mcplug_props *settings,
                          void **out, struct mcplug_error *err)
{
    struct ws_engine *engine = ctx;
    struct ws_target target;
    struct ws_link *link;
    int r = ws_target_init(&target, engine->host, settings, err);
    if (r != MCPLUG_OK)
        return r;
    r = ws_engine_start(engine, err);
    if (r == MCPLUG_OK)
        r = ws_link_open(engine, conn, &target, &link, err);
    else
        ws_target_clear(&target, engine->host);
    if (r == MCPLUG_OK)
        *out = link;
    return r;
}

static int websocket_send(void *t, mcplug_buf *frame, const struct mcplug_envelope *env,
                          struct mcplug_error *err)
{
    return ws_link_send(t, frame, env->serial, err);
}

static void websocket_close(void *t)
{
    ws_link_close(t);
}

static void websocket_destroy(void *t)
{
    ws_link_destroy(t);
}

static int websocket_init(const struct mcplug_host *host, mcplug_self *self, void **ctx,
                          struct mcplug_error *err)
{
    struct ws_engine *engine = host->mem->alloc(sizeof *engine);
    if (engine == NULL || (engine->lookups = lookups_new(host, self)) == NULL) {
        host->mem->free(engine);
        return host->diag->fail(err, MCPLUG_ENOMEM, "out of memory");
    }
    engine->host = host;
    engine->self = self;
    *ctx = engine;
    return MCPLUG_OK;
}

static void websocket_fini(void *ctx)
{
    struct ws_engine *engine = ctx;
    ws_engine_stop(engine);
    lookups_free(engine->lookups);
    engine->host->mem->free(engine);
}

static const struct mcplug_option options[] = {
    {"url", "url", NULL, "ws://HOST[:PORT][/PATH], or wss:// with TLS"},
    WS_OPTIONS,
    {NULL, NULL, NULL, NULL},
};

static const struct mcplug_transport_ops ops = {
    .struct_size = sizeof ops,
    .open = websocket_open,
    .send = websocket_send,
    .close = websocket_close,
    .destroy = websocket_destroy,
};

static const char *const schemes[] = {"ws", "wss", NULL};

static const struct mcplug_feature features[] = {
    {
        .kind = MCPLUG_TRANSPORT,
        .name = "websocket",
        .summary = "a server behind a WebSocket",
        .accepts = schemes,
        .options = options,
        .ops = &ops,
    },
    {
        .kind = MCPLUG_TRANSPORT,
        .name = "ws",
        .summary = "the same as websocket",
        .accepts = schemes,
        .options = options,
        .ops = &ops,
    },
};

MCPLUG_PLUGIN(websocket) = {
    MCPLUG_HEAD(4),         MCPLUG_FEATURES(features),
    .name = "websocket",    .version = "1.0",
    .license = "MIT",       .summary = "Servers behind a WebSocket",
    .init = websocket_init, .fini = websocket_fini,
};
