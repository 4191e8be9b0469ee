#include "web.h"

int web_init(const struct mcplug_host *host, mcplug_self *self, void **ctx,
             struct mcplug_error *err)
{
    struct web_module *module = host->mem->alloc(sizeof *module);
    if (module == NULL)
        return host->diag->fail(err, MCPLUG_ENOMEM, "out of memory");
    module->host = host;
    module->self = self;
    *ctx = module;
    return MCPLUG_OK;
}

void web_fini(void *ctx)
{
    struct web_module *module = ctx;
    module->host->mem->free(module);
}

int web_use(struct web_module *module, struct mcplug_error *err)
{
    struct mcplug_error why = MCPLUG_ERROR_INIT;
    if (module->fetch != NULL)
        return MCPLUG_OK;
    module->fetch = module->host->use(module->self, MCPLUG_FETCH, MCPLUG_FETCH_VERSION,
                                      &module->fetch_ctx, &why);
    if (module->fetch != NULL)
        return MCPLUG_OK;
    return module->host->diag->fail(err, why.code, "HTTP cannot be used: %s", why.text);
}
