#include "anthropic.h"

static const struct model_api api = {
    .name = "Anthropic",
    .url = "https://api.anthropic.com",
    .key_variable = "ANTHROPIC_API_KEY",
    .max_tokens = 8192, /* the API demands a number, and every model can do that */
    .state_size = sizeof(struct anthropic_turn),
    .write = anthropic_write,
    .event = anthropic_event,
    .whole = anthropic_whole,
    .over = anthropic_over,
    .error = anthropic_error,
    .clear = anthropic_clear,
};

static int open_model(void *ctx, const mcplug_props *settings, void **out,
                      struct mcplug_error *err)
{
    return model_open(ctx, &api, settings, out, err);
}

static const struct mcplug_option options[] = {
    {"url", "url", "https://api.anthropic.com", "where the API is"},
    {"version", "string", "2026-10-21",
     "header anthropic-version; some gateways know 2023-06-01 only"},
    MODEL_OPTIONS("ANTHROPIC_API_KEY"),
    {NULL, NULL, NULL, NULL},
};

static const struct mcplug_model_ops ops = {
    .struct_size = sizeof ops,
    .open = open_model,
    .close = model_close,
    .ask = model_ask,
    .drop = model_drop,
    .count = model_count,
};

static const struct mcplug_feature features[] = {
    {
        .kind = MCPLUG_MODEL,
        .name = "anthropic",
        .summary = "models behind the Messages API of Anthropic",
        .options = options,
        .ops = &ops,
    },
};

MCPLUG_PLUGIN(anthropic) = {
    MCPLUG_HEAD(4),   MCPLUG_FEATURES(features), .name = "anthropic",
    .version = "1.0", .license = "MIT",          .summary = "Models of Anthropic",
    .init = web_init, .fini = web_fini,
};
