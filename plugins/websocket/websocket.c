/* websocket: transports "websocket" and "ws", one message in one WebSocket message, and
 * "ws-ide", the same with an editor on this machine.
 *
 * link.c has a connection, engine.c drives libwebsockets, target.c reads the settings.
 * This is what the core sees.
 */
#include "link.h"

#include "../common/ide_target.h"

#include <string.h>

static int open_target(struct ws_engine *engine, mcplug_conn *conn,
                       const mcplug_props *settings, const char *url,
                       const struct mcplug_pair *extra, void **out,
                       struct mcplug_error *err)
{
    struct ws_target target;
    struct ws_link *link;
    int r = ws_target_init(&target, engine->host, settings, url, extra, err);
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

static int websocket_open(void *ctx, mcplug_conn *conn, const mcplug_props *settings,
                          void **out, struct mcplug_error *err)
{
    struct ws_engine *engine = ctx;
    const struct mcplug_pair none = {NULL, NULL};
    const char *url = engine->host->diag->prop(settings, "url");
    return open_target(engine, conn, settings, url, &none, out, err);
}

static int ide_open(void *ctx, mcplug_conn *conn, const mcplug_props *settings,
                    void **out, struct mcplug_error *err)
{
    struct ws_engine *engine = ctx;
    struct ide_target found;
    int r = ide_target_find(engine->host, engine->self, settings, "ws", &found, err);
    if (r != MCPLUG_OK)
        return r;
    const struct mcplug_pair token = {found.header, found.value};
    return open_target(engine, conn, settings, found.url, &token, out, err);
}

static int websocket_send(void *t, mcplug_buf *frame, const struct mcplug_envelope *env,
                          struct mcplug_error *err)
{
    return ws_link_send(t, frame, env->serial, err);
}

/* Once it is initialized, an editor is told who we are. */
static int ide_send(void *t, mcplug_buf *frame, const struct mcplug_envelope *env,
                    struct mcplug_error *err)
{
    struct ws_link *link = t;
    int greets = 0;
    for (size_t i = 0; i < env->n_meta; i++)
        greets |= strcmp(env->meta[i].name, "method") == 0 &&
                  strcmp(env->meta[i].value, "notifications/initialized") == 0;
    int r = ws_link_send(link, frame, env->serial, err);
    mcplug_buf *greeting = greets && r >= 0 ? ide_target_greeting(link->host) : NULL;
    if (greeting != NULL)
        ws_link_send(link, greeting, 0, NULL);
    return r;
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
    if (engine == NULL)
        return host->diag->fail(err, MCPLUG_ENOMEM, "out of memory");
    engine->host = host;
    engine->self = self;
    *ctx = engine;
    return MCPLUG_OK;
}

static void websocket_fini(void *ctx)
{
    struct ws_engine *engine = ctx;
    ws_engine_stop(engine);
    engine->host->mem->free(engine);
}

#define WIRE_OPTIONS                                                                     \
    {"headers", "map", "", "header fields for the upgrade, such as Authorization"},      \
        {"subprotocol", "string", "mcp", "what to ask for in Sec-WebSocket-Protocol"},   \
        {"ping", "duration", "30s", "how long silence lasts until a ping; 0: never"},    \
        {"connectTimeout", "duration", "60s", "for TCP, TLS and the upgrade together"},  \
        {"caFile", "string", "", "certificates to trust instead of the system's (PEM)"}, \
        {"certFile", "string", "", "our certificate and its chain (PEM)"},               \
        {"keyFile", "string", "", "its private key (PEM), if not in certFile"},          \
    {                                                                                    \
        "insecure", "bool", "false", "take any certificate of the server"                \
    }

static const struct mcplug_option options[] = {
    {"url", "string", NULL, "ws://HOST[:PORT][/PATH], or wss:// with TLS"},
    WIRE_OPTIONS,
    {NULL, NULL, NULL, NULL},
};

static const struct mcplug_option ide_options[] = {
    IDE_OPTIONS,
    WIRE_OPTIONS,
    {NULL, NULL, NULL, NULL},
};

static const struct mcplug_transport_ops ops = {
    .struct_size = sizeof ops,
    .open = websocket_open,
    .send = websocket_send,
    .close = websocket_close,
    .destroy = websocket_destroy,
};

static const struct mcplug_transport_ops ide_ops = {
    .struct_size = sizeof ide_ops,
    .open = ide_open,
    .send = ide_send,
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
        .summary = "the same under a shorter name",
        .accepts = schemes,
        .options = options,
        .ops = &ops,
    },
    {
        .kind = MCPLUG_TRANSPORT,
        .name = "ws-ide",
        .summary = "an editor on this machine, WebSocket",
        .options = ide_options,
        .ops = &ide_ops,
    },
};

MCPLUG_PLUGIN(websocket) = {
    MCPLUG_HEAD(0),         MCPLUG_FEATURES(features),
    .name = "websocket",    .version = "1.0",
    .license = "MIT",       .summary = "Servers behind a WebSocket",
    .init = websocket_init, .fini = websocket_fini,
};
