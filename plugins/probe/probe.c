/* plugins/probe/probe.c - is a server alive? Asks it something that every server answers.
 *
 * Any answer is life, an error too: `ping` is gone in 2026-07-28, and a server that says
 * so is alive. */
#include <mcplug/plugin.h>

struct module {
    const struct mcplug_host *host;
};

/* One check. */
struct asked {
    const struct mcplug_host *host;
    mcplug_check *check;
};

static void on_answer(void *arg, struct mcplug_bytes reply,
                      const struct mcplug_error *why)
{
    struct asked *a = arg;
    (void)reply;
    a->host->health->verdict(a->check, why);
}

static int ask(void *ctx, mcplug_check *check, const char *method, void **out,
               struct mcplug_error *err)
{
    static const struct mcplug_bytes none = {NULL, 0};
    const struct mcplug_host *host = ((struct module *)ctx)->host;

    if (host->health == NULL)
        return host->diag->fail(err, MCPLUG_ENOTSUP, "this host makes no health checks");
    struct asked *a = host->mem->alloc(sizeof *a);
    if (a == NULL)
        return host->diag->fail(err, MCPLUG_ENOMEM, "out of memory");
    *a = (struct asked){host, check};
    int r = host->health->request(check, method, none, on_answer, a);
    if (r != MCPLUG_OK) {
        host->mem->free(a);
        return host->diag->fail(err, r, "%s could not be sent", method);
    }
    *out = a;
    return MCPLUG_OK;
}

static int ping_start(void *ctx, mcplug_check *check, const mcplug_props *settings,
                      void **out, struct mcplug_error *err)
{
    (void)settings;
    return ask(ctx, check, "ping", out, err);
}

static int list_start(void *ctx, mcplug_check *check, const mcplug_props *settings,
                      void **out, struct mcplug_error *err)
{
    (void)settings;
    return ask(ctx, check, "tools/list", out, err);
}

static int discover_start(void *ctx, mcplug_check *check, const mcplug_props *settings,
                          void **out, struct mcplug_error *err)
{
    (void)settings;
    return ask(ctx, check, "server/discover", out, err);
}

/* What was asked is the core's, which drops a late answer. */
static void stop(void *p)
{
    (void)p;
}

static void destroy(void *p)
{
    struct asked *a = p;
    a->host->mem->free(a);
}

static int probe_init(const struct mcplug_host *host, mcplug_self *self, void **ctx,
                      struct mcplug_error *err)
{
    struct module *module = host->mem->alloc(sizeof *module);
    (void)self;
    if (module == NULL)
        return host->diag->fail(err, MCPLUG_ENOMEM, "out of memory");
    module->host = host;
    *ctx = module;
    return MCPLUG_OK;
}

static void probe_fini(void *ctx)
{
    struct module *module = ctx;
    module->host->mem->free(module);
}

static const struct mcplug_probe_ops ping_ops = {
    .struct_size = sizeof ping_ops,
    .start = ping_start,
    .stop = stop,
    .destroy = destroy,
};

static const struct mcplug_probe_ops list_ops = {
    .struct_size = sizeof list_ops,
    .start = list_start,
    .stop = stop,
    .destroy = destroy,
};

static const struct mcplug_probe_ops discover_ops = {
    .struct_size = sizeof discover_ops,
    .start = discover_start,
    .stop = stop,
    .destroy = destroy,
};

static const struct mcplug_feature features[] = {
    {
        .kind = MCPLUG_PROBE,
        .name = "ping",
        .summary = "sends ping",
        .ops = &ping_ops,
    },
    {
        .kind = MCPLUG_PROBE,
        .name = "list-tools",
        .summary = "asks for the first page of the tools",
        .ops = &list_ops,
    },
    {
        .kind = MCPLUG_PROBE,
        .name = "discover",
        .summary = "sends server/discover",
        .ops = &discover_ops,
    },
};

MCPLUG_PLUGIN(probe) = {
    MCPLUG_HEAD(0),     MCPLUG_FEATURES(features), .name = "probe",
    .version = "1.0",   .license = "MIT",          .summary = "Is a server alive?",
    .init = probe_init, .fini = probe_fini,
};
