/* Results for a model. */
#include "api/host.h"

#include "base/error.h"
#include "convert/message.h"

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
    if (o.model && o.model->models != &host->runs.models) {
        mp_fail(err, MCPLUG_EINVAL, "`model` is of another host");
        return NULL;
    }
    return mp_render(&host->renderer, result, &o, mp_model_counter(o.model), false, done,
                     arg, err);
}

/* What it is, by its first bytes. */
static const char *type_of(const char *data, size_t len)
{
    const char *mime = mp_image_look(data, len).mime;
    return mime                                        ? mime
           : len >= 5 && memcmp(data, "%PDF-", 5) == 0 ? "application/pdf"
                                                       : NULL;
}

static int check_conversion(const mcplug *host, const void *data, size_t len,
                            struct mcplug_convert_options *o, struct mcplug_error *err)
{
    mp_view settings = mp_text(o->settings);

    if (len && !data)
        return mp_fail_null(err, "`data`");
    if (len > MP_CONVERT_INPUT)
        return mp_fail(err, MCPLUG_ETOOBIG, "content of more than %llu MiB",
                       (unsigned long long)(MP_CONVERT_INPUT >> 20));
    if (o->settings && mp_frame_object(&settings, "settings", err) != MCPLUG_OK)
        return err ? err->code : MCPLUG_EINVAL;
    if (!o->mime)
        o->mime = type_of(data, len);
    if (!o->mime)
        return mp_fail(err, MCPLUG_EINVAL,
                       "the type of the content must be given: its bytes do not show it");
    return host->freeing ? mp_fail(err, MCPLUG_ECLOSED, "the host is being freed")
                         : MCPLUG_OK;
}

mcplug_call *mcplug_convert(mcplug *host, const void *data, size_t len,
                            const struct mcplug_convert_options *options,
                            mcplug_convert_fn *done, void *arg, struct mcplug_error *err)
{
    struct mcplug_convert_options o = {0};

    if (mp_host_check(host, err) != MCPLUG_OK ||
        mp_take_options(&o, options, err) != MCPLUG_OK)
        return NULL;
    if (!done) {
        mp_fail_null(err, "`done`");
        return NULL;
    }
    if (check_conversion(host, data, len, &o, err) != MCPLUG_OK)
        return NULL;
    return mp_convert_start(&host->conversions, data, len, &o, done, arg, err);
}
