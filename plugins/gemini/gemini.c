#include "gemini.h"

static const struct model_api api = {
    .name = "Gemini",
    .url = "https://generativelanguage.googleapis.com",
    .key_variable = "GEMINI_API_KEY",
    .state_size = sizeof(struct gemini_turn),
    .write = gemini_write,
    .event = gemini_event,
    .whole = gemini_whole,
    .over = gemini_over,
    .error = gemini_error,
};

static int open_model(void *ctx, const mcplug_props *settings, void **out,
                      struct mcplug_error *err)
{
    return model_open(ctx, &api, settings, out, err);
}

static const struct mcplug_option options[] = {
    {"url", "url", "https://generativelanguage.googleapis.com", "where the API is"},
    MODEL_OPTIONS("GEMINI_API_KEY"),
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
        .name = "gemini",
        .summary = "models behind the Gemini API of Google",
        .options = options,
        .ops = &ops,
    },
};

MCPLUG_PLUGIN(gemini) = {
    MCPLUG_HEAD(4),   MCPLUG_FEATURES(features),     .name = "gemini", .version = "1.0",
    .license = "MIT", .summary = "Models of Google", .init = web_init, .fini = web_fini,
};
