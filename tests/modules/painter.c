/* A converter of images that draws nothing: the pixels say within which limits they were
 * wanted, and the text for a terminal says that and its settings. A PNG that has the word
 * refuse, or hang, does it; of one that has the word title, the text sets that, and of
 * one that has the word stain, it leaves a colour on. */
#include <mcplug/plugin.h>

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define PIXELS "image/x-portable-arbitrarymap"
#define TEXT "text/x-terminal"

struct module {
    const struct mcplug_host *host;
};

static int painter_match(void *ctx, const char *mime, const struct mcplug_limits *limits)
{
    const char *want = limits->want_mime ? limits->want_mime : mime;
    (void)ctx;
    return (strcmp(mime, "image/png") == 0 && strcmp(want, PIXELS) == 0) ||
                   (strcmp(mime, PIXELS) == 0 && strcmp(want, TEXT) == 0)
               ? 100
               : 0;
}

static int give(const struct mcplug_host *host, const char *mime, const char *text,
                struct mcplug_content *out)
{
    out->mime = mime;
    out->body = host->mem->buf_new(text, strlen(text));
    return out->body ? MCPLUG_OK : MCPLUG_ENOMEM;
}

static int painter_convert(void *ctx, const struct mcplug_task *task,
                           struct mcplug_content *out, struct mcplug_error *err)
{
    const struct mcplug_host *host = ((const struct module *)ctx)->host;
    struct mcplug_bytes in = host->mem->buf_bytes(task->in->body);
    const mcplug_props *settings = task->settings;
    char text[512];

    if (in.len >= 4 && memcmp(in.data, "\x89PNG", 4) != 0) {
        snprintf(
            text, sizeof text, "\033[7m<%s %s %sx%s cells of %sx%s, %.*s>\033[0m\n",
            host->diag->prop(settings, "format"), host->diag->prop(settings, "colors"),
            host->diag->prop(settings, "columns"), host->diag->prop(settings, "rows"),
            host->diag->prop(settings, "cellWidth"),
            host->diag->prop(settings, "cellHeight"), (int)in.len, (const char *)in.data);
        if (memmem(in.data, in.len, "title", 5))
            return give(host, TEXT, "\033]0;title\007\n", out);
        if (memmem(in.data, in.len, "stain", 5))
            return give(host, TEXT, "\033[0m\033[48;5;0m stain\n", out);
        return give(host, TEXT, text, out);
    }
    if (memmem(in.data, in.len, "refuse", 6))
        return host->diag->fail(err, MCPLUG_EPROTO, "the PNG says refuse");
    while (memmem(in.data, in.len, "hang", 4))
        pause();
    if (memmem(in.data, in.len, "title", 5))
        return give(host, PIXELS, "title", out);
    if (memmem(in.data, in.len, "stain", 5))
        return give(host, PIXELS, "stain", out);
    snprintf(text, sizeof text, "%ux%u pixels", task->limits->max_width,
             task->limits->max_height);
    return give(host, PIXELS, text, out);
}

static int init(const struct mcplug_host *host, mcplug_self *self, void **ctx,
                struct mcplug_error *err)
{
    static struct module module; /* of one host alone: tests have no more */
    (void)self, (void)err;
    module.host = host;
    *ctx = &module;
    return MCPLUG_OK;
}

static const struct mcplug_converter_ops ops = {
    .struct_size = sizeof ops, .match = painter_match, .convert = painter_convert};

static const char *const accepts[] = {"image/png", PIXELS, NULL};

static const struct mcplug_option options[] = {
    {"format", "string", "none", "as of chafa"},
    {"colors", "string", "none", "as of chafa"},
    {"columns", "int", "1", "as of chafa"},
    {"rows", "int", "1", "as of chafa"},
    {"cellWidth", "int", "1", "as of chafa"},
    {"cellHeight", "int", "1", "as of chafa"},
    {NULL, NULL, NULL, NULL}};

static const struct mcplug_feature features[] = {{.kind = MCPLUG_CONVERTER,
                                                  .name = "painter",
                                                  .summary = "Draws nothing",
                                                  .accepts = accepts,
                                                  .options = options,
                                                  .ops = &ops}};

MCPLUG_PLUGIN(painter) = {MCPLUG_HEAD(4),
                          .name = "painter",
                          .version = "1",
                          .license = "MIT",
                          .summary = "A converter of images for tests",
                          .origin = "mcplug",
                          MCPLUG_FEATURES(features),
                          .init = init};
