/* The tools of many servers. */
#include "api/host.h"

#include "base/error.h"
#include "base/mem.h"
#include "toolbox/toolbox.h"

mcplug_toolbox *mcplug_toolbox_new(mcplug *host,
                                   const struct mcplug_toolbox_options *options,
                                   struct mcplug_error *err)
{
    if (mp_host_check(host, err) != MCPLUG_OK)
        return NULL;
    if (host->freeing) {
        mp_fail(err, MCPLUG_ECLOSED, "the host is being freed");
        return NULL;
    }
    struct mcplug_toolbox_options o = {0};
    if (mp_take_options(&o, options, err) != MCPLUG_OK)
        return NULL;
    o.struct_size = sizeof o;
    mp_pull_fill_toolbox(&host->pull, &o);
    return mp_toolbox_new(&host->registry, &host->renderer, &host->boxes, &o, host->batch,
                          err);
}

int mcplug_toolbox_add(mcplug_toolbox *box, const char *name,
                       const mcplug_settings *settings,
                       const struct mcplug_server_options *options,
                       struct mcplug_error *err)
{
    struct mcplug_server_options o = {0};
    mcplug_server *server = NULL;
    struct mp_box_server *m;

    int r = mp_box_check(box, err);
    if (r == MCPLUG_OK)
        r = mp_take_options(&o, options, err);
    if (r == MCPLUG_OK && !box->freeing && (!name || !settings))
        r = mp_fail_null(err, "`name` and `settings`");
    if (r == MCPLUG_OK)
        r = mp_toolbox_begin(box, name, &m, err);
    if (r != MCPLUG_OK)
        return r;
    o.name = o.name ? o.name : name;
    o.struct_size = sizeof o;
    r = mcplug_open(mp_host_of(box->registry), settings, &o, NULL, NULL, &server, err);
    mp_toolbox_added(m, r == MCPLUG_OK ? server : NULL);
    return r;
}

int mcplug_toolbox_add_named(mcplug_toolbox *box, mcplug_config *config, const char *name,
                             const struct mcplug_server_options *options,
                             struct mcplug_error *err)
{
    mcplug_server *server = NULL;
    struct mp_box_server *m;

    int r = mp_box_check(box, err);
    if (r == MCPLUG_OK && !box->freeing && (!config || !name))
        r = mp_fail_null(err, "`config` and `name`");
    if (r == MCPLUG_OK)
        r = mp_toolbox_begin(box, name, &m, err);
    if (r != MCPLUG_OK)
        return r;
    r = mcplug_open_named(mp_host_of(box->registry), config, name, options, NULL, NULL,
                          &server, err);
    mp_toolbox_added(m, r == MCPLUG_OK ? server : NULL);
    return r;
}
