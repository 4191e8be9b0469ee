/* HTML as text: whatever comes in, valid UTF-8 without control characters comes out,
 * within the limit. The first byte says which charset and limit. Without the module there
 * is nothing to try. */
#include "must.h"

#ifdef FUZZ_HTML
#include "base/buf.h"
#include "base/error.h"
#include "base/text.h"
#include "plugin/catalogue.h"

#include <mcplug/plugin.h>
#include <string.h>

extern const struct mcplug_plugin mcplug_builtin_html;

static int never(const mcplug_job *job)
{
    (void)job;
    return 0;
}

static int take_fact(const mcplug_job *job, const char *name, const char *value)
{
    (void)job;
    MUST(*name && *value && strlen(value) < 256);
    return MCPLUG_OK;
}

static void check_text(struct mcplug_bytes text)
{
    for (size_t i = 0, n; i < text.len; i += n) {
        unsigned char c = text.data[i];
        n = mp_utf8_len(text.data + i, text.len - i);
        MUST(n > 0);
        MUST((c >= 0x20 && c != 0x7f) || c == '\n' || c == '\t');
        MUST(c != 0xc2 || text.data[i + 1] >= 0xa0);
    }
}

static void *open_module(void)
{
    static struct mcplug_host host;
    void *ctx = NULL;
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    struct mp_catalogue_options options = {.helper_dir = ""};
    mp_host_init(&host, &options, NULL);
    MUST(mcplug_builtin_html.init(&host, NULL, &ctx, &err) == MCPLUG_OK);
    return ctx;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const mimes[] = {"text/html", "text/html;charset=utf-8",
                                        "application/xhtml+xml; charset=utf-16le",
                                        "text/html; charset=shift_jis"};
    static void *ctx;
    const struct mcplug_converter_ops *ops = mcplug_builtin_html.features[0].ops;
    uint8_t how = size > 0 ? data[0] : 0;

    ctx = ctx ? ctx : open_module();
    data += size > 0;
    size -= size > 0;
    struct mcplug_limits limits = {.struct_size = sizeof limits,
                                   .want_mime = "text/plain",
                                   .max_bytes = how & 4 ? how >> 3 << 4 : 0};
    struct mcplug_content in = {.struct_size = sizeof in,
                                .mime = mimes[how & 3],
                                .body = mp_buf_new(data, size),
                                .fd = -1,
                                .size = size};
    struct mcplug_content out = {.struct_size = sizeof out, .fd = -1};
    struct mcplug_task task = {.struct_size = sizeof task,
                               .in = &in,
                               .limits = &limits,
                               .cancelled = never,
                               .fact = take_fact};
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    int r = ops->convert(ctx, &task, &out, &err);
    if (r == MCPLUG_OK) {
        struct mcplug_bytes text = mp_buf_bytes(out.body);
        MUST(limits.max_bytes == 0 || text.len <= limits.max_bytes);
        check_text(text);
    } else {
        MUST(r == MCPLUG_ETOOBIG && err.text[0]);
    }
    mp_buf_unref(out.body);
    mp_buf_unref(in.body);
    return 0;
}
#else
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    (void)data, (void)size;
    return 0;
}
#endif
