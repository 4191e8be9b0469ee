/* A converter that makes what begins like a PNG of what begins like one, as the text
 * behind its size says. */
#include <mcplug/plugin.h>

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define HEAD 24
#define PLAIN 64 /* bytes of what comes out, where nothing else is said */

struct module {
    const struct mcplug_host *host;
};

static int shrink_match(void *ctx, const char *mime, const struct mcplug_limits *limits)
{
    (void)ctx;
    if (strcmp(mime, "image/x-test") == 0)
        return limits->want_mime && strcmp(limits->want_mime, "image/png") == 0 ? 60 : 0;
    return strcmp(mime, "image/png") == 0 && !limits->want_mime ? 60 : 0;
}

static void put_size(unsigned char *p, uint32_t n)
{
    for (int i = 0; i < 4; i++)
        p[i] = (unsigned char)(n >> (24 - 8 * i));
}

static int make(const struct mcplug_host *host, uint32_t side, size_t len,
                struct mcplug_content *out)
{
    unsigned char *p = host->mem->alloc(len);

    if (!p)
        return MCPLUG_ENOMEM;
    memcpy(p, "\x89PNG\r\n\x1a\n\0\0\0\rIHDR", 16);
    put_size(p + 16, side);
    put_size(p + 20, side / 2);
    out->mime = "image/png";
    out->body = host->mem->buf_new(p, len);
    host->mem->free(p);
    return out->body ? MCPLUG_OK : MCPLUG_ENOMEM;
}

static int shrink_convert(void *ctx, const struct mcplug_task *task,
                          struct mcplug_content *out, struct mcplug_error *err)
{
    const struct mcplug_host *host = ((const struct module *)ctx)->host;
    const struct mcplug_limits *limits = task->limits;
    struct mcplug_bytes in = host->mem->buf_bytes(task->in->body);
    uint32_t side =
        limits->max_width && limits->max_width < 3000 ? limits->max_width : 3000;
    char what[32] = "";

    if (in.len > HEAD)
        snprintf(what, sizeof what, "%.*s",
                 (int)(in.len - HEAD < 31 ? in.len - HEAD : 31),
                 (const char *)in.data + HEAD);
    if (strcmp(what, "refuse") == 0)
        return host->diag->fail(err, MCPLUG_EPROTO, "the PNG is broken");
    if (strcmp(what, "crash") == 0)
        __builtin_trap();
    if (strcmp(what, "nomem") == 0)
        return host->diag->fail(err, MCPLUG_ENOMEM, "out of memory");
    if (strcmp(what, "hang") == 0)
        for (;;)
            pause();
    if (strcmp(what, "wide") == 0)
        return make(host, 5000, PLAIN, out);
    if (strcmp(what, "garbage") == 0) {
        out->mime = "image/png";
        out->body = host->mem->buf_new("garbage", 7);
        return MCPLUG_OK;
    }
    if (strcmp(what, "fill") == 0) /* all that may be */
        return make(host, side, limits->max_bytes, out);
    return make(host, side, PLAIN, out);
}

static int init(const struct mcplug_host *host, mcplug_self *self, void **ctx,
                struct mcplug_error *err)
{
    static struct module module;
    (void)self, (void)err;
    module.host = host;
    *ctx = &module;
    return MCPLUG_OK;
}

static const struct mcplug_converter_ops ops = {
    .struct_size = sizeof ops, .match = shrink_match, .convert = shrink_convert};

static const char *const accepts[] = {"image/png", "image/x-test", NULL};

static const struct mcplug_option options[] = {{"maxSide", "int", "2000", "for the core"},
                                               {NULL, NULL, NULL, NULL}};

static const struct mcplug_feature features[] = {{.kind = MCPLUG_CONVERTER,
                                                  .name = "shrink",
                                                  .summary = "Makes images small",
                                                  .accepts = accepts,
                                                  .options = options,
                                                  .ops = &ops}};

MCPLUG_PLUGIN(shrink) = {MCPLUG_HEAD(4),
                         .name = "shrink",
                         .version = "1",
                         .license = "MIT",
                         .summary = "A converter for tests",
                         .origin = "mcplug",
                         MCPLUG_FEATURES(features),
                         .init = init};
