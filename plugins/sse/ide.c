/* The same wire for an editor on this machine, which is found by its lock file. */
#include "sse.h"

#include "../common/ide_target.h"

int sse_ide_open(void *ctx, mcplug_conn *conn, const mcplug_props *settings, void **out,
                 struct mcplug_error *err)
{
    struct web_module *module = ctx;
    struct ide_target target;
    struct sse_link *l;
    int r = ide_target_find(module->host, module->self, settings, "sse", &target, err);
    if (r != MCPLUG_OK)
        return r;
    struct mcplug_pair token = {target.header, target.value};
    r = sse_open(module, conn, settings, target.url, &token, &l, err);
    if (r != MCPLUG_OK)
        return r;
    l->is_ide = 1;
    *out = l;
    return MCPLUG_OK;
}

void sse_ide_greet(struct sse_link *l)
{
    struct mcplug_envelope env = {.struct_size = sizeof env, .kind = MCPLUG_NOTIFICATION};
    mcplug_buf *frame = ide_target_greeting(l->outbox.host);
    if (frame != NULL)
        sse_post(l, frame, &env, NULL);
}

const struct mcplug_option sse_ide_options[] = {
    IDE_OPTIONS,
    WEB_OPTIONS,
    {NULL, NULL, NULL, NULL},
};
