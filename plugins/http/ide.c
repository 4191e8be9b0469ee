/* The same wires for an editor on this machine, which is found by its lock file. */
#include "http.h"

#include "../common/ide_target.h"

static int sse_ide_open(void *ctx, mcplug_conn *conn, const mcplug_props *settings,
                        void **out, struct mcplug_error *err)
{
    struct web_module *module = ctx;
    struct ide_target target;
    int r = ide_target_find(module->host, module->self, settings, "sse", &target, err);
    if (r != MCPLUG_OK)
        return r;
    struct mcplug_pair token = {target.header, target.value};
    r = http_sse_open(module, conn, settings, target.url, &token, out, err);
    if (r == MCPLUG_OK)
        ((struct http_link *)*out)->is_ide = 1;
    return r;
}

void http_ide_greet(struct http_link *l)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    struct mcplug_envelope env = {.struct_size = sizeof env, .kind = MCPLUG_NOTIFICATION};
    mcplug_buf *frame = ide_target_greeting(l->host);
    struct http_exchange *e = frame != NULL ? http_exchange_new(l, frame, &env) : NULL;
    if (e != NULL && http_exchange_begin(e, &err) != MCPLUG_OK)
        http_exchange_free(e);
}

static int http_ide_open(void *ctx, mcplug_conn *conn, const mcplug_props *settings,
                         void **out, struct mcplug_error *err)
{
    struct web_module *module = ctx;
    struct ide_target target;
    int r = ide_target_find(module->host, module->self, settings, "http", &target, err);
    if (r != MCPLUG_OK)
        return r;
    struct mcplug_pair token = {target.header, target.value};
    return http_open(module, conn, settings, target.url, &token, out, err);
}

const struct mcplug_option http_ide_options[] = {
    IDE_OPTIONS,
    HTTP_OPTIONS,
    {NULL, NULL, NULL, NULL},
};

const struct mcplug_transport_ops http_sse_ide_ops = {
    .struct_size = sizeof http_sse_ide_ops,
    .open = sse_ide_open,
    .send = http_link_send,
    .close = http_link_close,
    .destroy = http_link_destroy,
    .cancel = http_link_cancel,
};

const struct mcplug_transport_ops http_ide_ops = {
    .struct_size = sizeof http_ide_ops,
    .caps = MCPLUG_CAN_EXCHANGE | MCPLUG_MIRRORS_PARAMS,
    .open = http_ide_open,
    .send = http_link_send,
    .close = http_link_close,
    .destroy = http_link_destroy,
    .cancel = http_link_cancel,
    .settled = http_link_settled,
};
