#include "openai.h"

#include "../common/web.h"

static int open_responses(void *ctx, const mcplug_props *settings, void **out,
                          struct mcplug_error *err)
{
    return model_open(ctx, &openai_responses, settings, out, err);
}

static int open_chat(void *ctx, const mcplug_props *settings, void **out,
                     struct mcplug_error *err)
{
    return model_open(ctx, &openai_chat, settings, out, err);
}

static const struct mcplug_option responses_options[] = {
    {"url", "url", OPENAI_URL, "where the API is, without /responses"},
    {"reasoning", "bool", "true",
     "the model reasons, and gets its thoughts back; false for those that do not"},
    {"effort", "string", "", "how much it reasons: low, medium, high .."},
    {"summary", "string", "", "show what it thinks: auto, concise, detailed"},
    MODEL_OPTIONS("OPENAI_API_KEY"),
    {NULL, NULL, NULL, NULL},
};

static const struct mcplug_option chat_options[] = {
    {"url", "url", OPENAI_URL, "where the API is, without /chat/completions"},
    {"effort", "string", "", "how much it reasons: low, medium, high .."},
    {"returnReasoning", "bool", "true",
     "send what the model thought back with its turn; false for servers that refuse it"},
    {"streamUsage", "bool", "true",
     "ask for the number of tokens; false for servers that refuse stream_options"},
    {"maxTokensName", "string", "",
     "what maxTokens is called; default: max_completion_tokens for OpenAI, max_tokens "
     "for others"},
    MODEL_OPTIONS("OPENAI_API_KEY"),
    {NULL, NULL, NULL, NULL},
};

static const struct mcplug_model_ops responses_ops = {
    .struct_size = sizeof responses_ops,
    .open = open_responses,
    .close = model_close,
    .ask = model_ask,
    .drop = model_drop,
    .count = model_count,
};

static const struct mcplug_model_ops chat_ops = {
    .struct_size = sizeof chat_ops,
    .open = open_chat,
    .close = model_close,
    .ask = model_ask,
    .drop = model_drop,
};

static const struct mcplug_feature features[] = {
    {
        .kind = MCPLUG_MODEL,
        .name = "openai",
        .summary = "models of OpenAI, by the Responses API",
        .options = responses_options,
        .ops = &responses_ops,
    },
    {
        .kind = MCPLUG_MODEL,
        .name = "openai-chat",
        .summary = "models behind Chat Completions: llama.cpp, Ollama, vLLM and others",
        .options = chat_options,
        .ops = &chat_ops,
    },
};

MCPLUG_PLUGIN(openai) = {
    MCPLUG_HEAD(4),   MCPLUG_FEATURES(features),
    .name = "openai", .version = "1.0",
    .license = "MIT", .summary = "Models of OpenAI, and of others with the same API",
    .init = web_init, .fini = web_fini,
};
