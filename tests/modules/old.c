/* Built with the headers of the first release, in abi-1.0/. It must load for ever. */
#include <mcplug/plugin.h>

#if MCPLUG_ABI_MINOR != 0
#error "this is to be built with -Itests/modules/abi-1.0, ahead of everything else"
#endif

static const struct mcplug_host *host;

static int old_open(void *ctx, mcplug_conn *conn, const mcplug_props *settings,
                    void **out, struct mcplug_error *err)
{
    (void)ctx, (void)settings, (void)err;
    *out = conn;
    host->wire->opened(conn);
    return MCPLUG_OK;
}

static int old_send(void *t, mcplug_buf *frame, const struct mcplug_envelope *env,
                    struct mcplug_error *err)
{
    (void)err;
    host->wire->feed(t, env->exchange, host->mem->buf_bytes(frame), 1);
    host->mem->buf_unref(frame);
    return MCPLUG_OK;
}

/* Hangs up instead, with a reason that is as long as it was then. */
static int cut_send(void *t, mcplug_buf *frame, const struct mcplug_envelope *env,
                    struct mcplug_error *err)
{
    struct mcplug_error cut = {sizeof cut, MCPLUG_EIO, 0, 0, "the old wire was cut"};
    (void)env, (void)err;
    host->mem->buf_unref(frame);
    host->wire->closed(t, &cut);
    return MCPLUG_OK;
}

static int cut_open(void *ctx, mcplug_conn *conn, const mcplug_props *settings,
                    void **out, struct mcplug_error *err)
{
    struct mcplug_error own = MCPLUG_ERROR_INIT;
    (void)err;
    if (host->diag->fail(&own, MCPLUG_EIO, "%0500d", 1) != MCPLUG_EIO ||
        own.struct_size != sizeof own)
        return MCPLUG_EIO;
    return old_open(ctx, conn, settings, out, err);
}

static void old_close(void *t)
{
    host->wire->closed(t, NULL);
}

static void old_destroy(void *t)
{
    (void)t;
}

static int old_init(const struct mcplug_host *h, mcplug_self *self, void **ctx,
                    struct mcplug_error *err)
{
    (void)self, (void)ctx;
    host = h;
    if (h->abi_major != MCPLUG_ABI_MAJOR)
        return h->diag->fail(err, MCPLUG_ENOTSUP, "a strange core");
    return MCPLUG_OK;
}

static const struct mcplug_transport_ops ops = {
    .struct_size = sizeof ops,
    .open = old_open,
    .send = old_send,
    .close = old_close,
    .destroy = old_destroy,
};

static const struct mcplug_transport_ops cut_ops = {
    .struct_size = sizeof cut_ops,
    .open = cut_open,
    .send = cut_send,
    .close = old_close,
    .destroy = old_destroy,
};

static const char *const schemes[] = {"old", NULL};

static const struct mcplug_feature features[] = {
    {.kind = MCPLUG_TRANSPORT,
     .name = "old",
     .summary = "Echo of days gone by",
     .accepts = schemes,
     .ops = &ops},
    {.kind = MCPLUG_TRANSPORT,
     .name = "old-cut",
     .summary = "Hangs up on whatever it is given",
     .ops = &cut_ops},
};

MCPLUG_PLUGIN(old) = {
    MCPLUG_HEAD(0),   MCPLUG_FEATURES(features),
    .name = "old",    .version = "1.0",
    .license = "MIT", .summary = "Built with the first headers",
    .init = old_init,
};
