/* plugins/common/web.h - what modules that use the service "fetch" have in common. */
#ifndef MCPLUG_COMMON_WEB_H
#define MCPLUG_COMMON_WEB_H

#include <mcplug/fetch.h>

/* A module's ctx: what init() got, for one host of possibly many. */
struct web_module {
    const struct mcplug_host *host;
    mcplug_self *self;
    const struct mcplug_fetch *fetch; /* NULL: not asked for so far */
    void *fetch_ctx;
};

/* For a module's descriptor. */
int web_init(const struct mcplug_host *host, mcplug_self *self, void **ctx,
             struct mcplug_error *err);
void web_fini(void *ctx);

/* Looks the service up, the first time: libcurl is loaded when a request is to be made,
 * and not when a module is looked at. */
int web_use(struct web_module *module, struct mcplug_error *err);

#endif /* MCPLUG_COMMON_WEB_H */
