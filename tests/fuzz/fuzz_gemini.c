/* Answers of the Gemini API, see model.h. */
#include "model.h"

extern const struct mcplug_plugin mcplug_builtin_gemini;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    return fuzz_model(&mcplug_builtin_gemini, "gemini", data, size);
}
