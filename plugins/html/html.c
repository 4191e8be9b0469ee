/* The converter `html`, on gumbo. */
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

static const char *const accepts[] = {"text/html", "application/xhtml+xml", NULL};

static const struct mcplug_feature features[] = {{.kind = MCPLUG_CONVERTER,
                                                  .name = "html",
                                                  .summary = "HTML as text",
                                                  .accepts = accepts,
                                                  .ops = &ops}};

MCPLUG_PLUGIN(html) = {MCPLUG_HEAD(4),
                       .name = "html",
                       .version = "0.1.0",
                       .license = "MIT",
                       .summary = "HTML as text",
                       .origin = "mcplug",
                       MCPLUG_FEATURES(features)};
