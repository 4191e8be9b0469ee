/* Built with the headers of minor 2, in abi-1.2/. It must load for ever.
 *
 * A vault, the kind that minor 2 brought. */
#include <mcplug/plugin.h>

#include <string.h>

#if MCPLUG_ABI_MINOR != 2
#error "this is to be built with -Itests/modules/abi-1.2, ahead of everything else"
#endif

static int old_get(void *ctx, const char *name, mcplug_buf **out,
                   struct mcplug_error *err)
{
    static const char secret[] = "kept since minor 2";
    const struct mcplug_host *host = ctx;

    if (strcmp(name, "token") != 0)
        return host->diag->fail(err, MCPLUG_EREFUSED, "old-2: there is no \"%s\"", name);
    *out = host->mem->buf_new(secret, sizeof secret - 1);
    return *out ? MCPLUG_OK : host->diag->fail(err, MCPLUG_ENOMEM, "out of memory");
}

static int old_init(const struct mcplug_host *host, mcplug_self *self, void **ctx,
                    struct mcplug_error *err)
{
    (void)self;
    if (host->abi_minor < 2)
        return host->diag->fail(err, MCPLUG_ENOTSUP, "the core is older than minor 2");
    *ctx = (void *)host;
    return MCPLUG_OK;
}

static const struct mcplug_vault_ops ops = {
    .struct_size = sizeof ops,
    .get = old_get,
};

static const struct mcplug_feature features[] = {
    {.kind = MCPLUG_VAULT, .name = "old-2", .summary = "A vault of minor 2", .ops = &ops},
};

MCPLUG_PLUGIN(old_2) = {
    MCPLUG_HEAD(2),   MCPLUG_FEATURES(features),
    .name = "old-2",  .version = "1.2",
    .license = "MIT", .summary = "Built with the headers of minor 2",
    .init = old_init,
};
