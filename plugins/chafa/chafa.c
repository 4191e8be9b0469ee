/* The converter `chafa`, on chafa. */
#include <mcplug/plugin.h>

static int match(void *ctx, const char *mime, const struct mcplug_limits *limits)
{
    (void)ctx, (void)mime, (void)limits;
    return 0;
}

static int convert(void *ctx, const struct mcplug_task *task, struct mcplug_content *out,
                   struct mcplug_error *err)
{
    (void)ctx, (void)task, (void)out, (void)err;
    return MCPLUG_ENOTSUP;
}

static const struct mcplug_converter_ops ops = {
    .struct_size = sizeof ops, .match = match, .convert = convert};

static const char *const accepts[] = {"image/x-portable-arbitrarymap", NULL};

static const struct mcplug_feature features[] = {{.kind = MCPLUG_CONVERTER,
                                                  .name = "chafa",
                                                  .summary = "Images on a terminal",
                                                  .accepts = accepts,
                                                  .ops = &ops}};

MCPLUG_PLUGIN(chafa) = {MCPLUG_HEAD(4),
                        .name = "chafa",
                        .version = "0.1.0",
                        .license = "MIT",
                        .summary = "Images on a terminal",
                        .origin = "mcplug",
                        MCPLUG_FEATURES(features)};
