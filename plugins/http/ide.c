/* The same wire for an editor on this machine, which is found by its lock file. */
#include "http.h"

#include "../common/ide_target.h"

int http_ide_open(void *ctx, mcplug_conn *conn, const mcplug_props *settings, void **out,
                  struct mcplug_error *err)
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
    WEB_OPTIONS,
    {NULL, NULL, NULL, NULL},
};
