/* Models, and threads that are run. */
#include "api/host.h"

#include "base/error.h"
#include "base/mem.h"
#include "connect/settings.h"

static int check_model(mcplug *host, bool is_given, struct mcplug_error *err)
{
    int r = mp_host_check(host, err);

    if (r == MCPLUG_OK && !is_given)
        r = mp_fail_null(err, "the settings and their type, or the name of a model,");
    if (r == MCPLUG_OK && host->freeing)
        r = mp_fail(err, MCPLUG_ECLOSED, "the host is being freed");
    return r;
}

mcplug_model *mcplug_model_new(mcplug *host, const mcplug_settings *settings,
                               struct mcplug_error *err)
{
    struct mp_target *target = NULL;

    if (check_model(host, settings && settings->type, err) != MCPLUG_OK ||
        mp_target_of_settings(settings, NULL, &target, err) != MCPLUG_OK)
        return NULL;
    return mp_model_new(&host->runs.models, target, err);
}

/* TYPE/NAME */
static mcplug_model *new_typed(mcplug *host, const char *name, const char *slash,
                               const mcplug_settings *overlay, struct mcplug_error *err)
{
    mcplug_model *model = NULL;

    if (slash == name || !slash[1]) {
        mp_fail(err, MCPLUG_EINVAL, "expected TYPE/NAME, got \"%.100s\"", name);
        return NULL;
    }
    char *type = mp_strndup(name, (size_t)(slash - name));
    mcplug_settings *settings = type ? mcplug_settings_new(type) : NULL;
    int r = settings && mcplug_settings_set(settings, "model", slash + 1) == MCPLUG_OK
                ? MCPLUG_OK
                : mp_fail_nomem(err);
    if (r == MCPLUG_OK && overlay)
        r = mp_settings_merge(settings, overlay, err);
    if (r == MCPLUG_OK)
        model = mcplug_model_new(host, settings, err);
    mcplug_settings_free(settings);
    mp_free(type);
    return model;
}

mcplug_model *mcplug_model_new_named(mcplug *host, mcplug_config *config,
                                     const char *name, const mcplug_settings *overlay,
                                     struct mcplug_error *err)
{
    const char *slash = name ? strchr(name, '/') : NULL;
    struct mp_target *target = NULL;

    if (check_model(host, name && (config || slash), err) != MCPLUG_OK)
        return NULL;
    if (slash)
        return new_typed(host, name, slash, overlay, err);
    if (mp_target_of_model(&host->connector, config, name, overlay, &target, err) !=
        MCPLUG_OK)
        return NULL;
    return mp_model_new(&host->runs.models, target, err);
}

double mcplug_model_cost(const mcplug_model *model, const struct mcplug_usage *usage)
{
    struct mcplug_usage own = {0};

    if (!model || !usage || mp_take_bare_options(&own, usage, NULL) != MCPLUG_OK)
        return -1;
    return mp_model_cost(model, &own);
}

void mcplug_model_free(mcplug_model *model)
{
    if (model &&
        (!model->models || mp_loop_check(model->models->loop, NULL) == MCPLUG_OK))
        mp_model_unref(model);
}

static int check_run(const mcplug_thread *thread, const struct mcplug_run_options *o,
                     struct mcplug_error *err)
{
    struct mp_models *models = o->model ? o->model->models : NULL;

    if (!thread || !o->model)
        return mp_fail_null(err, "`thread` and the model");
    if (!models)
        return mp_fail(err, MCPLUG_EINVAL, "the host of the model is gone");
    int r = mp_loop_check(models->loop, err);
    if (r != MCPLUG_OK)
        return r;
    if (o->box && o->box->registry->o.loop != models->loop)
        return mp_fail(err, MCPLUG_EINVAL, "the toolbox and the model are of two hosts");
    if (MP_OF(models, struct mp_runs, models)->ending || (o->box && o->box->freeing))
        return mp_fail(err, MCPLUG_ECLOSED, "the host or the toolbox is being freed");
    if (thread->is_running)
        return mp_fail(err, MCPLUG_EINVAL, "a run is working on the thread");
    if (o->max_cost > 0 && (o->model->price_input < 0 || o->model->price_output < 0))
        return mp_fail(err, MCPLUG_ECONFIG,
                       "a limit of cost needs the settings priceInput and priceOutput of "
                       "the model");
    return MCPLUG_OK;
}

mcplug_call *mcplug_thread_run(mcplug_thread *thread,
                               const struct mcplug_run_options *options,
                               mcplug_run_fn *done, void *arg, struct mcplug_error *err)
{
    struct mcplug_run_options o = {0};

    if (mp_take_options(&o, options, err) != MCPLUG_OK)
        return NULL;
    if (!done) {
        mp_fail_null(err, "`done`");
        return NULL;
    }
    if (check_run(thread, &o, err) != MCPLUG_OK)
        return NULL;
    return mp_run_start(MP_OF(o.model->models, struct mp_runs, models), thread, &o, done,
                        arg, err);
}

struct mcplug_run_result *mp_run_result_copy(const struct mcplug_run_result *from)
{
    struct {
        struct mcplug_run_result result;
        struct mcplug_usage usage;
        char text[];
    } *copy = mp_alloc(sizeof *copy + from->len + 1);

    if (!copy)
        return NULL;
    copy->result = *from;
    copy->usage = *from->usage;
    memcpy(copy->text, from->text, from->len);
    copy->result.usage = &copy->usage;
    copy->result.text = copy->text;
    return &copy->result;
}

void mcplug_run_result_free(struct mcplug_run_result *result)
{
    mp_free(result);
}
