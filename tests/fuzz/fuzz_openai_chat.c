/* Answers of Chat Completions, see model.h. */
#include "model.h"

extern const struct mcplug_plugin mcplug_builtin_openai;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    return fuzz_model(&mcplug_builtin_openai, "openai-chat", data, size);
}
