/* model.h - what fuzz targets for modules of models have in common: an answer of any
 * bytes ends a request once, the same whatever its pieces are; what is told as text is
 * UTF-8, and the turn that is told is JSON with which the next request is JSON, too. The
 * first byte says what kind of answer it is, the second how it is cut. */
#ifndef TESTS_FUZZ_MODEL_H
#define TESTS_FUZZ_MODEL_H

#include "../unit/model_kit.h"
#include "base/text.h"
#include "must.h"

static inline int is_json(const char *data, size_t len)
{
    const struct mcplug_json *json = kit_host.service(NULL, "json", 1);
    return json->valid((struct mcplug_bytes){(const unsigned char *)data, len});
}

static inline void is_utf8(const struct kit_text *t)
{
    for (size_t i = 0, n; i < t->len; i += n) {
        n = mp_utf8_len((const unsigned char *)t->data + i, t->len - i);
        MUST(n > 0);
    }
}

static inline void run_once(uint8_t how, size_t step, const uint8_t *data, size_t size)
{
    static const char *const types[] = {"text/event-stream", "application/json", "",
                                        "text/event-stream"};
    int status = how & 4 ? 400 : 200;
    MUST((how & 8 && kit.ops->count != NULL ? kit_count(HELLO) : kit_ask(HELLO)) ==
         MCPLUG_OK);
    feed_head(status, types[how & 3]);
    for (size_t i = 0; i < size; i += step)
        feed_bytes(data + i, size - i < step ? size - i : step);
    feed_done(how & 16 ? MCPLUG_ECLOSED : 0, 0);
    MUST(told.n_ends == 1);
    MUST(told.why.code != 0 || told.n_raws == 0 || is_json(told.raw.data, told.raw.len));
    MUST(strstr(told.why.text, "sk-secret") == NULL);
    is_utf8(&told.text);
    is_utf8(&told.thought);
}

static inline void send_back(void)
{
    char *raw = strndup(told.raw.data, told.raw.len);
    MUST(raw != NULL);
    const struct mcplug_prompt *prompt =
        PROMPT(MESSAGES(USER(TEXT_ITEM("a")), RAW_ASSISTANT(raw, TEXT_ITEM("b")),
                        USER(RESULT_ITEM("i", "n", TEXT_ITEM("c"), IMAGE_ITEM("aQ==")))));
    MUST(kit_ask(prompt) == MCPLUG_OK);
    MUST(is_json(net.body.data, net.body.len));
    kit_drop();
    free(raw);
}

static inline int fuzz_model(const struct mcplug_plugin *plugin, const char *feature,
                             const uint8_t *data, size_t size)
{
    if (kit.model == NULL) {
        kit_init(plugin, feature);
        kit_setting("apiKey", "sk-secret");
        MUST(kit_open() == MCPLUG_OK);
    }
    if (size < 2)
        return 0;
    uint8_t how = data[0];
    size_t step = 1 + data[1] % 64;
    run_once(how, size, data + 2, size - 2);
    char *text = strndup(told.text.data, told.text.len);
    char *calls = strndup(told.calls.data, told.calls.len);
    char *raw = strndup(told.raw.data, told.raw.len);
    int code = told.why.code;
    run_once(how, step, data + 2, size - 2);
    MUST(told.why.code == code && strcmp(told.text.data, text) == 0 &&
         strcmp(told.calls.data, calls) == 0 && strcmp(told.raw.data, raw) == 0);
    if (told.why.code == 0 && told.n_raws > 0)
        send_back();
    kit_drop();
    free(text);
    free(calls);
    free(raw);
    return 0;
}

#endif
