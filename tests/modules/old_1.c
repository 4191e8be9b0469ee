/* Built with the headers of minor 1, in abi-1.1/. It must load for ever.
 *
 * A server inside a transport, of what minor 1 brought: it reads requests with the
 * service `json`, takes back half a reply with discard(), returns the arguments that go
 * beside a call, and ends its exchanges when they are settled. */
#include <mcplug/plugin.h>

#include <stdio.h>
#include <string.h>

#if MCPLUG_ABI_MINOR != 1
#error "this is to be built with -Itests/modules/abi-1.1, ahead of everything else"
#endif

#define DISCOVERED                                                                       \
    "{\"resultType\":\"complete\",\"supportedVersions\":[\"2026-07-28\"],"               \
    "\"capabilities\":{\"tools\":{}},\"_meta\":{\"io.modelcontextprotocol/serverInfo\":" \
    "{\"name\":\"old-1\",\"version\":\"1.1\"}}}"
#define TOOLS                                                                            \
    "{\"resultType\":\"complete\",\"tools\":[{\"name\":\"where\",\"inputSchema\":"       \
    "{\"type\":\"object\",\"properties\":{\"region\":{\"type\":\"string\","              \
    "\"x-mcp-header\":\"Region\"}}}}]}"

struct module {
    const struct mcplug_host *host;
    const struct mcplug_json *json;
};

struct old {
    const struct module *module;
    mcplug_conn *conn;
    unsigned settled;
};

static int old_open(void *ctx, mcplug_conn *conn, const mcplug_props *settings,
                    void **out, struct mcplug_error *err)
{
    const struct module *module = ctx;
    struct old *t = module->host->mem->alloc(sizeof *t);

    (void)settings;
    if (!t)
        return module->host->diag->fail(err, MCPLUG_ENOMEM, "out of memory");
    t->module = module;
    t->conn = conn;
    *out = t;
    module->host->wire->opened(conn);
    return MCPLUG_OK;
}

static const char *beside(const struct mcplug_envelope *env, const char *name)
{
    for (size_t i = 0; i < env->n_meta; i++)
        if (strcmp(env->meta[i].name, name) == 0)
            return env->meta[i].value;
    return "nowhere";
}

static void reply(struct old *t, struct mcplug_bytes request,
                  const struct mcplug_envelope *env)
{
    const struct mcplug_json *json = t->module->json;
    const struct mcplug_wire *wire = t->module->host->wire;
    static const char half[] = "{\"jsonrpc\":\"2.0\",\"id\":";
    char line[1024], result[512] = "{\"resultType\":\"complete\"}";
    char *method = json->string(json->get(request, "method"));
    int64_t id = 0;

    json->integer(json->get(request, "id"), &id);
    if (method && strcmp(method, "server/discover") == 0)
        snprintf(result, sizeof result, "%s", DISCOVERED);
    else if (method && strcmp(method, "tools/list") == 0)
        snprintf(result, sizeof result, "%s", TOOLS);
    else if (method && strcmp(method, "tools/call") == 0)
        snprintf(result, sizeof result,
                 "{\"resultType\":\"complete\",\"content\":[{\"type\":\"text\","
                 "\"text\":\"in %s\"}]}",
                 beside(env, "param:Region"));
    t->module->host->mem->free(method);
    wire->feed(t->conn, env->exchange,
               (struct mcplug_bytes){(const unsigned char *)half, sizeof half - 1}, 0);
    wire->discard(t->conn, env->exchange);
    int n = snprintf(line, sizeof line, "{\"jsonrpc\":\"2.0\",\"id\":%lld,\"result\":%s}",
                     (long long)id, result);
    wire->feed(t->conn, env->exchange,
               (struct mcplug_bytes){(const unsigned char *)line, (size_t)n}, 1);
}

static int old_send(void *arg, mcplug_buf *frame, const struct mcplug_envelope *env,
                    struct mcplug_error *err)
{
    struct old *t = arg;
    const struct mcplug_host *host = t->module->host;
    struct mcplug_bytes text = host->mem->buf_bytes(frame);
    int r = MCPLUG_OK;

    if (!t->module->json->valid(text))
        r = host->diag->fail(err, MCPLUG_EPROTO, "that is no JSON");
    else if (env->kind == MCPLUG_REQUEST)
        reply(t, text, env);
    host->mem->buf_unref(frame);
    return r;
}

static void old_settled(void *arg, uint64_t exchange)
{
    struct old *t = arg;
    char times[16];

    snprintf(times, sizeof times, "%u", ++t->settled);
    t->module->host->wire->describe(t->conn, "settled", times);
    t->module->host->wire->exchange_end(t->conn, exchange, NULL);
}

static void old_close(void *arg)
{
    struct old *t = arg;
    t->module->host->wire->closed(t->conn, NULL);
}

static void old_destroy(void *arg)
{
    struct old *t = arg;
    t->module->host->mem->free(t);
}

static int old_init(const struct mcplug_host *host, mcplug_self *self, void **ctx,
                    struct mcplug_error *err)
{
    struct module *module;
    const struct mcplug_json *json = host->service(self, "json", 1);

    if (!json || host->abi_minor < 1)
        return host->diag->fail(err, MCPLUG_ENOTSUP, "the core is older than minor 1");
    module = host->mem->alloc(sizeof *module);
    if (!module)
        return host->diag->fail(err, MCPLUG_ENOMEM, "out of memory");
    *module = (struct module){host, json};
    *ctx = module;
    return MCPLUG_OK;
}

static void old_fini(void *ctx)
{
    struct module *module = ctx;
    module->host->mem->free(module);
}

static const struct mcplug_transport_ops ops = {
    .struct_size = sizeof ops,
    .caps = MCPLUG_CAN_EXCHANGE | MCPLUG_MIRRORS_PARAMS,
    .open = old_open,
    .send = old_send,
    .close = old_close,
    .destroy = old_destroy,
    .settled = old_settled,
};

static const char *const schemes[] = {"old-1", NULL};

static const struct mcplug_feature features[] = {
    {.kind = MCPLUG_TRANSPORT,
     .name = "old-1",
     .summary = "A server of minor 1",
     .accepts = schemes,
     .ops = &ops},
};

MCPLUG_PLUGIN(old_1) = {
    MCPLUG_HEAD(1),   MCPLUG_FEATURES(features),
    .name = "old-1",  .version = "1.1",
    .license = "MIT", .summary = "Built with the headers of minor 1",
    .init = old_init, .fini = old_fini,
};
