/* Built with the headers of minor 3, in abi-1.3/. It must load for ever.
 *
 * A server inside a transport, of what minor 3 brought: it says how much its peer has not
 * read yet while that is starting, and tells a message that the end of the stream cut
 * short from one that is broken. */
#include <mcplug/plugin.h>

#include <stdio.h>
#include <string.h>

#if MCPLUG_ABI_MINOR != 3
#error "this is to be built with -Itests/modules/abi-1.3, ahead of everything else"
#endif

#define INITIALIZED                                                                      \
    "{\"protocolVersion\":\"2025-06-18\",\"capabilities\":{\"tools\":{}},"               \
    "\"serverInfo\":{\"name\":\"old-3\",\"version\":\"1.3\"}}"
#define LOOKS 3 /* of the core, until the peer has started */

struct module {
    const struct mcplug_host *host;
    mcplug_self *self;
    const struct mcplug_json *json;
};

struct old {
    const struct module *module;
    mcplug_conn *conn;
    mcplug_buf *kept;    /* the first request, which the peer has not read */
    mcplug_timer *start; /* of the peer */
    unsigned looks;
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

static void feed(struct old *t, const char *text, int last)
{
    struct mcplug_bytes piece = {(const unsigned char *)text, strlen(text)};
    t->module->host->wire->feed(t->conn, 0, piece, last);
}

static void reply(struct old *t, struct mcplug_bytes request)
{
    const struct mcplug_error cut = {sizeof cut, MCPLUG_EIO, 0, 0, "the wire was cut"};
    const struct mcplug_json *json = t->module->json;
    char *method = json->string(json->get(request, "method"));
    char line[512];
    int64_t id = 0;

    json->integer(json->get(request, "id"), &id);
    if (!method || strcmp(method, "server/discover") == 0)
        snprintf(line, sizeof line,
                 "{\"jsonrpc\":\"2.0\",\"id\":%lld,\"error\":{\"code\":-32601,"
                 "\"message\":\"no such method\"}}",
                 (long long)id);
    else
        snprintf(line, sizeof line, "{\"jsonrpc\":\"2.0\",\"id\":%lld,\"result\":%s}",
                 (long long)id,
                 strcmp(method, "initialize") == 0 ? INITIALIZED : "{\"tools\":[]}");
    if (method && strcmp(method, "tools/call") == 0) {
        line[strlen(line) / 2] = '\0';
        feed(t, line, -1);
        t->module->host->wire->closed(t->conn, &cut);
    } else {
        feed(t, line, 1);
    }
    t->module->host->mem->free(method);
}

static void on_started(void *arg)
{
    struct old *t = arg;
    mcplug_buf *request = t->kept;

    t->start = NULL;
    t->kept = NULL;
    reply(t, t->module->host->mem->buf_bytes(request));
    t->module->host->mem->buf_unref(request);
}

/* The peer starts once the core has looked often enough. */
static uint64_t old_unread(void *arg)
{
    struct old *t = arg;
    char times[16];

    if (!t->kept)
        return 0;
    snprintf(times, sizeof times, "%u", ++t->looks);
    t->module->host->wire->describe(t->conn, "looks", times);
    if (t->looks == LOOKS)
        t->start = t->module->host->loop->timer_start(t->module->self, 0, on_started, t);
    return t->module->host->mem->buf_bytes(t->kept).len;
}

static int old_send(void *arg, mcplug_buf *frame, const struct mcplug_envelope *env,
                    struct mcplug_error *err)
{
    struct old *t = arg;

    (void)err;
    if (env->kind == MCPLUG_REQUEST && t->looks == 0 && !t->kept) {
        t->kept = frame;
        return MCPLUG_OK;
    }
    if (env->kind == MCPLUG_REQUEST)
        reply(t, t->module->host->mem->buf_bytes(frame));
    t->module->host->mem->buf_unref(frame);
    return MCPLUG_OK;
}

static void old_close(void *arg)
{
    struct old *t = arg;
    t->module->host->loop->timer_stop(t->start);
    t->start = NULL;
    t->module->host->wire->closed(t->conn, NULL);
}

static void old_destroy(void *arg)
{
    struct old *t = arg;
    t->module->host->mem->buf_unref(t->kept);
    t->module->host->mem->free(t);
}

static int old_init(const struct mcplug_host *host, mcplug_self *self, void **ctx,
                    struct mcplug_error *err)
{
    struct module *module;
    const struct mcplug_json *json = host->service(self, "json", 1);

    if (!json || host->abi_minor < 3)
        return host->diag->fail(err, MCPLUG_ENOTSUP, "the core is older than minor 3");
    module = host->mem->alloc(sizeof *module);
    if (!module)
        return host->diag->fail(err, MCPLUG_ENOMEM, "out of memory");
    *module = (struct module){host, self, json};
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
    .open = old_open,
    .send = old_send,
    .close = old_close,
    .destroy = old_destroy,
    .unread = old_unread,
};

static const char *const schemes[] = {"old-3", NULL};

static const struct mcplug_feature features[] = {
    {.kind = MCPLUG_TRANSPORT,
     .name = "old-3",
     .summary = "A server of minor 3",
     .accepts = schemes,
     .ops = &ops},
};

MCPLUG_PLUGIN(old_3) = {
    MCPLUG_HEAD(3),   MCPLUG_FEATURES(features),
    .name = "old-3",  .version = "1.3",
    .license = "MIT", .summary = "Built with the headers of minor 3",
    .init = old_init, .fini = old_fini,
};
