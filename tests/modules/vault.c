/* A vault whose secrets are in a table, and some that no good vault would give. */
#include <mcplug/plugin.h>

#include <stdio.h>
#include <string.h>

struct module {
    const struct mcplug_host *host;
};

#define SECRET(name, text)                                                               \
    {                                                                                    \
        name, text, sizeof(text) - 1                                                     \
    }

static const struct {
    const char *name, *text;
    size_t len;
} secrets[] = {
    SECRET("token", "s3cret"),
    SECRET("umlaut", "\xc3\xbc"),
    SECRET("with newline", "line\n"),
    SECRET("with return", "line\r\n"),
    SECRET("two lines", "a\nb"),
    SECRET("two newlines", "a\n\n"),
    SECRET("nul", "a\0b"),
    SECRET("latin", "\xfc"),
    SECRET("empty", ""),
};

static int give_long(const struct mcplug_host *host, size_t len, mcplug_buf **out)
{
    char *text = host->mem->alloc(len);
    if (text)
        memset(text, 'x', len);
    *out = text ? host->mem->buf_new(text, len) : NULL;
    host->mem->free(text);
    return *out ? MCPLUG_OK : MCPLUG_ENOMEM;
}

static int table_get(void *ctx, const char *name, mcplug_buf **out,
                     struct mcplug_error *err)
{
    const struct mcplug_host *host = ((const struct module *)ctx)->host;

    for (size_t i = 0; i < sizeof secrets / sizeof secrets[0]; i++)
        if (strcmp(secrets[i].name, name) == 0) {
            *out = host->mem->buf_new(secrets[i].text, secrets[i].len);
            return *out ? MCPLUG_OK : MCPLUG_ENOMEM;
        }
    if (strcmp(name, "as long as may be") == 0)
        return give_long(host, 65536, out);
    if (strcmp(name, "longer") == 0)
        return give_long(host, 65537, out);
    if (strcmp(name, "nothing") == 0)
        return MCPLUG_OK;
    if (strcmp(name, "strange") == 0)
        return 7;
    if (strcmp(name, "silent") == 0)
        return MCPLUG_EREFUSED;
    return host->diag->fail(err, MCPLUG_EREFUSED, "table: there is no \"%s\"", name);
}

/* Says what it was given, so that the tests see it. */
static int drawer_get(void *ctx, const char *name, const mcplug_props *settings,
                      mcplug_buf **out, struct mcplug_error *err)
{
    const struct mcplug_host *host = ((const struct module *)ctx)->host;
    const char *drawer = host->diag->prop(settings, "drawer");
    char text[256];

    if (strcmp(drawer, "locked") == 0)
        return host->diag->fail(err, MCPLUG_EREFUSED, "drawer: it is locked");
    int n = snprintf(text, sizeof text, "%s-%d-%s", drawer,
                     (int)host->diag->prop_int(settings, "turns", 0), name);
    *out = host->mem->buf_new(text, (size_t)n);
    return *out ? MCPLUG_OK : MCPLUG_ENOMEM;
}

static int vault_init(const struct mcplug_host *host, mcplug_self *self, void **ctx,
                      struct mcplug_error *err)
{
    struct module *module = host->mem->alloc(sizeof *module);
    (void)self;
    if (!module)
        return host->diag->fail(err, MCPLUG_ENOMEM, "out of memory");
    module->host = host;
    *ctx = module;
    return MCPLUG_OK;
}

static void vault_fini(void *ctx)
{
    struct module *module = ctx;
    module->host->mem->free(module);
}

static const struct mcplug_vault_ops ops = {
    .struct_size = sizeof ops,
    .get = table_get,
};

static const struct mcplug_vault_ops drawer_ops = {
    .struct_size = sizeof drawer_ops,
    .get = table_get,
    .get_with = drawer_get,
};

static const struct mcplug_option drawer_options[] = {
    {"drawer", "string", "top", "where they are"},
    {"turns", "int", "1", "of the key"},
    {NULL, NULL, NULL, NULL},
};

static const char *const accepts[] = {"whatever", NULL};

static const struct mcplug_feature features[] = {
    {.kind = MCPLUG_VAULT, .name = "table", .summary = "A table", .ops = &ops},
    {.kind = MCPLUG_VAULT,
     .name = "choosy",
     .summary = "The same table",
     .accepts = accepts,
     .ops = &ops},
    {.kind = MCPLUG_VAULT,
     .name = "desk",
     .summary = "Drawers",
     .options = drawer_options,
     .ops = &drawer_ops},
    {.kind = MCPLUG_VAULT,
     .name = "deaf",
     .summary = "Has options, and cannot be told",
     .options = drawer_options,
     .ops = &ops},
};

MCPLUG_PLUGIN(vault) = {
    MCPLUG_HEAD(2),    MCPLUG_FEATURES(features), .name = "vault",
    .version = "1.0",  .license = "MIT",          .summary = "Vaults of the tests",
    .origin = "tests", .init = vault_init,        .fini = vault_fini,
};
