/* Results for a model. */
#include "api/host.h"

#include "base/error.h"

mcplug_call *mcplug_render(mcplug *host, mcplug_result *result,
                           const struct mcplug_render_options *options,
                           mcplug_render_fn *done, void *arg, struct mcplug_error *err)
{
    struct mcplug_render_options o = {0};

    if (mp_host_check(host, err) != MCPLUG_OK ||
        mp_take_options(&o, options, err) != MCPLUG_OK)
        return NULL;
    if (!result || !done) {
        mp_fail_null(err, "`result` and `done`");
        return NULL;
    }
    mp_view definition = mp_text(o.definition);
    if (o.definition && mp_frame_object(&definition, "definition", err) != MCPLUG_OK)
        return NULL;
    if (host->freeing) {
        mp_fail(err, MCPLUG_ECLOSED, "the host is being freed");
        return NULL;
    }
    return mp_render(&host->renderer, result, &o, false, done, arg, err);
}
