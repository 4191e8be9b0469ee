/* A service on another service: CHAIN_NAME, and CHAIN_USES if it uses one, of which it
 * wants CHAIN_WANTS. With CHAIN_EARLY it asks for it in init(). */
#include <mcplug/plugin.h>

#ifndef CHAIN_NAME
#define CHAIN_NAME "chain"
#endif
#ifndef CHAIN_WANTS
#define CHAIN_WANTS 1
#endif

struct chain_ops {
    struct mcplug_service_ops head;
    /* How many are behind it, and itself; 0 and a reason. */
    int (*depth)(void *ctx, struct mcplug_error *err);
};

struct module {
    const struct mcplug_host *host;
    mcplug_self *self;
};

static const struct chain_ops *next_of(struct module *m, void **ctx,
                                       struct mcplug_error *err)
{
#ifdef CHAIN_USES
    return m->host->use(m->self, CHAIN_USES, CHAIN_WANTS, ctx, err);
#else
    (void)m, (void)ctx, (void)err;
    return NULL;
#endif
}

static int depth(void *ctx, struct mcplug_error *err)
{
    void *behind = NULL;
    const struct chain_ops *next = next_of(ctx, &behind, err);
    if (next) {
        int n = next->depth(behind, err);
        return n ? n + 1 : 0;
    }
#ifdef CHAIN_USES
    return 0;
#else
    return 1;
#endif
}

static int init(const struct mcplug_host *host, mcplug_self *self, void **ctx,
                struct mcplug_error *err)
{
    struct module *m = host->mem->alloc(sizeof *m);
    if (!m)
        return MCPLUG_ENOMEM;
    m->host = host;
    m->self = self;
    *ctx = m;
#ifdef CHAIN_EARLY
    void *behind;
    if (!next_of(m, &behind, err)) {
        host->mem->free(m);
        return MCPLUG_EREFUSED;
    }
#else
    (void)err;
#endif
    return MCPLUG_OK;
}

static void fini(void *ctx)
{
    struct module *m = ctx;
    m->host->diag->log(m->self, MCPLUG_LOG_WARN, "fini");
    m->host->mem->free(m);
}

static const struct chain_ops ops = {{sizeof ops, 0}, depth};

static const struct mcplug_feature features[] = {
    {.kind = MCPLUG_SERVICE,
     .name = CHAIN_NAME,
     .summary = "A link of a chain",
     .ops = &ops,
     .version = 1},
};

MCPLUG_PLUGIN(chain) = {
    MCPLUG_HEAD(4),
    .name = CHAIN_NAME,
    .version = "1",
    .license = "MIT",
    .summary = "A link of a chain",
    MCPLUG_FEATURES(features),
    .init = init,
    .fini = fini,
};
