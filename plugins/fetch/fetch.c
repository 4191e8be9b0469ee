#include "client.h"

static int fetch_init(const struct mcplug_host *host, mcplug_self *self, void **ctx,
                      struct mcplug_error *err)
{
    if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
        return host->diag->fail(err, MCPLUG_EIO, "libcurl cannot be initialized");
    struct fetch_module *module = host->mem->alloc(sizeof *module);
    if (module == NULL) {
        curl_global_cleanup();
        return host->diag->fail(err, MCPLUG_ENOMEM, "out of memory");
    }
    module->host = host;
    module->self = self;
    fetch_share_init(module);
    *ctx = module;
    return MCPLUG_OK;
}

static void fetch_fini(void *ctx)
{
    struct fetch_module *module = ctx;
    fetch_share_clear(module);
    module->host->mem->free(module);
    curl_global_cleanup();
}

static const struct mcplug_fetch table = {
    .struct_size = sizeof table,
    .client_new = fetch_client_new,
    .client_free = fetch_client_free,
    .start = fetch_start,
    .stop = fetch_stop,
    .is_written = fetch_is_written,
    .resume = fetch_resume,
};

static const struct mcplug_feature features[] = {
    {
        .kind = MCPLUG_SERVICE,
        .name = MCPLUG_FETCH,
        .summary = "HTTP for other modules",
        .ops = &table,
        .version = MCPLUG_FETCH_VERSION,
    },
};

MCPLUG_PLUGIN(fetch) = {
    MCPLUG_HEAD(4),     MCPLUG_FEATURES(features), .name = "fetch",
    .version = "1.0",   .license = "MIT",          .summary = "HTTP for other modules",
    .init = fetch_init, .fini = fetch_fini,
};
