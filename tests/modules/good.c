/* A transport that is right in every way: whatever is sent comes back, a turn later.
 * Built under several names (-DGOOD_NAME, -DGOOD_FEATURE, -DGOOD_SCHEME) it serves as
 * the innocent bystander of the tests. */
#include <mcplug/plugin.h>

#ifndef GOOD_NAME
#define GOOD_NAME "good"
#endif
#ifndef GOOD_FEATURE
#define GOOD_FEATURE "loopback"
#endif
#ifndef GOOD_SCHEME
#define GOOD_SCHEME "loopback"
#endif

struct module {
    const struct mcplug_host *host;
    mcplug_self *self;
};

struct loopback {
    const struct mcplug_host *host;
    mcplug_self *self;
    mcplug_conn *conn;
    mcplug_timer *opening, *answering, *closing;
    mcplug_buf *frame; /* waits to come back */
    uint64_t serial, exchange, delay;
};

static void on_opened(void *arg)
{
    struct loopback *t = arg;
    t->opening = NULL;
    t->host->wire->describe(t->conn, "peer", "itself");
    t->host->wire->opened(t->conn);
}

static int loopback_open(void *ctx, mcplug_conn *conn, const mcplug_props *settings,
                         void **out, struct mcplug_error *err)
{
    const struct module *module = ctx;
    const struct mcplug_host *host = module->host;
    struct loopback *t = host->mem->alloc(sizeof *t);
    if (!t)
        return host->diag->fail(err, MCPLUG_ENOMEM, "out of memory");
    t->host = host;
    t->self = module->self;
    t->conn = conn;
    t->delay = (uint64_t)host->diag->prop_int(settings, "delay", 0);
    t->opening = host->loop->timer_start(t->self, t->delay, on_opened, t);
    if (!t->opening) {
        host->mem->free(t);
        return host->diag->fail(err, MCPLUG_ENOMEM, "out of memory");
    }
    *out = t;
    return MCPLUG_OK;
}

static void on_answer(void *arg)
{
    struct loopback *t = arg;
    struct mcplug_bytes all = t->host->mem->buf_bytes(t->frame), rest = all;

    t->answering = NULL;
    t->host->wire->written(t->conn, t->serial);
    all.len /= 2;
    rest.data += all.len;
    rest.len -= all.len;
    t->host->wire->feed(t->conn, t->exchange, all, 0);
    t->host->wire->feed(t->conn, t->exchange, rest, 1);
    if (t->exchange)
        t->host->wire->exchange_end(t->conn, t->exchange, NULL);
    t->host->mem->buf_unref(t->frame);
    t->frame = NULL;
}

static int loopback_send(void *arg, mcplug_buf *frame, const struct mcplug_envelope *env,
                         struct mcplug_error *err)
{
    struct loopback *t = arg;

    if (t->frame) {
        t->host->mem->buf_unref(frame);
        return t->host->diag->fail(err, MCPLUG_EOVERLOADED, "one at a time");
    }
    t->answering = t->host->loop->timer_start(t->self, t->delay, on_answer, t);
    if (!t->answering) {
        t->host->mem->buf_unref(frame);
        return t->host->diag->fail(err, MCPLUG_ENOMEM, "out of memory");
    }
    t->frame = frame;
    t->serial = env->serial;
    t->exchange = env->exchange;
    return MCPLUG_QUEUED;
}

static void on_closed(void *arg)
{
    struct loopback *t = arg;
    t->closing = NULL;
    t->host->wire->closed(t->conn, NULL);
}

static void loopback_close(void *arg)
{
    struct loopback *t = arg;
    t->host->loop->timer_stop(t->opening);
    t->host->loop->timer_stop(t->answering);
    t->opening = t->answering = NULL;
    t->closing = t->host->loop->timer_start(t->self, 0, on_closed, t);
    if (!t->closing)
        t->host->wire->closed(t->conn, NULL);
}

static void loopback_destroy(void *arg)
{
    struct loopback *t = arg;
    t->host->mem->buf_unref(t->frame);
    t->host->mem->free(t);
}

static int good_init(const struct mcplug_host *host, mcplug_self *self, void **ctx,
                     struct mcplug_error *err)
{
    struct module *module = host->mem->alloc(sizeof *module);
    if (!module)
        return host->diag->fail(err, MCPLUG_ENOMEM, "out of memory");
    *module = (struct module){host, self};
    *ctx = module;
    host->diag->log(self, MCPLUG_LOG_VERBOSE, "at your service");
    return MCPLUG_OK;
}

static void good_fini(void *ctx)
{
    struct module *module = ctx;
    module->host->diag->log(module->self, MCPLUG_LOG_VERBOSE, "good bye");
    module->host->mem->free(module);
}

static const struct mcplug_transport_ops ops = {
    .struct_size = sizeof ops,
    .caps = MCPLUG_CAN_EXCHANGE,
    .open = loopback_open,
    .send = loopback_send,
    .close = loopback_close,
    .destroy = loopback_destroy,
};

static const struct mcplug_option options[] = {
    {"delay", "duration", "0", "Time before anything happens"},
    {"label", "string", "", "A name for people"},
    {"headers", "map", NULL, "Not looked at"},
    {NULL, NULL, NULL, NULL},
};

static const char *const schemes[] = {GOOD_SCHEME, GOOD_SCHEME "s", NULL};

static const struct mcplug_feature features[] = {
    {.kind = MCPLUG_TRANSPORT,
     .name = GOOD_FEATURE,
     .summary = "Says what it is told",
     .accepts = schemes,
     .options = options,
     .ops = &ops},
};

MCPLUG_PLUGIN(good) = {
    MCPLUG_HEAD(0),    MCPLUG_FEATURES(features), .name = GOOD_NAME,
    .version = "1.0",  .license = "MIT",          .summary = "A loopback",
    .origin = "tests", .init = good_init,         .fini = good_fini,
};
