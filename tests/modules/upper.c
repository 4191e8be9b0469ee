#include <mcplug/plugin.h>

#include <stdio.h>
#include <string.h>

static int match(void *ctx, const char *mime, const struct mcplug_limits *limits)
{
    const char *want = limits->want_mime;

    (void)ctx;
    return strcmp(mime, "text/plain") == 0 && (!want || strcmp(want, mime) == 0) ? 50 : 0;
}

static int capitals(const struct mcplug_host *host, const struct mcplug_task *task,
                    struct mcplug_bytes in, char *text, struct mcplug_error *err)
{
    char changed[24];
    size_t n = 0;

    for (size_t i = 0; i < in.len; i++) {
        unsigned char c = in.data[i];
        if (i % 65536 == 0 && task->cancelled(task->job))
            return host->diag->fail(err, MCPLUG_ECANCELED, "cancelled");
        if (c >= 0x80)
            return host->diag->fail(err, MCPLUG_ENOTSUP, "it is not ASCII");
        n += c >= 'a' && c <= 'z';
        text[i] = (char)(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
    }
    snprintf(changed, sizeof changed, "%zu", n);
    return task->fact(task->job, "changed", changed);
}

static int convert(void *ctx, const struct mcplug_task *task, struct mcplug_content *out,
                   struct mcplug_error *err)
{
    const struct mcplug_host *host = ctx;
    struct mcplug_bytes in = host->mem->buf_bytes(task->in->body);
    uint64_t most = task->limits->max_bytes;

    if (most && in.len > most)
        return host->diag->fail(err, MCPLUG_ETOOBIG, "it has more than %llu bytes",
                                (unsigned long long)most);
    char *text = host->mem->alloc(in.len + 1);
    if (!text)
        return host->diag->fail(err, MCPLUG_ENOMEM, "out of memory");
    int r = capitals(host, task, in, text, err);
    if (r == MCPLUG_OK) {
        out->mime = "text/plain";
        out->body = host->mem->buf_new(text, in.len);
        if (!out->body)
            r = host->diag->fail(err, MCPLUG_ENOMEM, "out of memory");
    }
    host->mem->free(text);
    return r;
}

static int init(const struct mcplug_host *host, mcplug_self *self, void **ctx,
                struct mcplug_error *err)
{
    (void)self, (void)err;
    *ctx = (void *)host; /* all that convert() needs */
    return MCPLUG_OK;
}

static const char *const accepts[] = {"text/plain", NULL};

static const struct mcplug_converter_ops ops = {
    .struct_size = sizeof ops,
    .match = match,
    .convert = convert,
};

static const struct mcplug_feature features[] = {
    {
        .kind = MCPLUG_CONVERTER,
        .name = "upper",
        .summary = "text in capitals",
        .accepts = accepts,
        .ops = &ops,
    },
};

MCPLUG_PLUGIN(upper) = {
    MCPLUG_HEAD(4),
    .name = "upper",
    .version = "1.0",
    .license = "MIT",
    .summary = "Text in capitals",
    MCPLUG_FEATURES(features),
    .init = init,
};
