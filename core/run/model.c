#include "run/model.h"

#include "base/error.h"
#include "base/event.h"
#include "base/links.h"
#include "base/mem.h"
#include "connect/settings.h"
#include "json/walk.h"

#include <stdio.h>

/* ---- its settings ---- */

static int read_number(const mcplug_props *props, const char *name, double least,
                       double *out, struct mcplug_error *err)
{
    const char *value = mp_props_get(props, name);

    if (!value || !*value)
        return MCPLUG_OK;
    if (mp_scan_text(value, strlen(value), &mp_scan_defaults, NULL, NULL) != MCPLUG_OK ||
        !mp_view_double(mp_text(value), out) || *out < least)
        return mp_fail(err, MCPLUG_ECONFIG, "%s: \"%.64s\" is no such number", name,
                       value);
    return MCPLUG_OK;
}

/* Those that MCPLUG_MODEL_OPTIONS declares. */
static int read_settings(struct mcplug_model *m, struct mcplug_error *err)
{
    struct {
        const char *name;
        double least, *out;
    } numbers[] = {{"contextTokens", 1000, &m->context},
                   {"priceInput", 0, &m->price_input},
                   {"priceOutput", 0, &m->price_output},
                   {"priceCached", 0, &m->price_cached},
                   {"priceToCache", 0, &m->price_to_cache}};
    const char *name = mp_props_get(m->settings, "model");
    int r = MCPLUG_OK;

    if (!name || !*name)
        return mp_fail(err, MCPLUG_ECONFIG, "the setting \"model\" is missing");
    m->context = MP_MODEL_CONTEXT;
    m->price_input = m->price_output = m->price_cached = m->price_to_cache = -1;
    for (size_t i = 0; r == MCPLUG_OK && i < MP_COUNT(numbers); i++)
        r = read_number(m->settings, numbers[i].name, numbers[i].least, numbers[i].out,
                        err);
    if (r == MCPLUG_OK && !m->name && !(m->name = mp_strdup(name)))
        r = mp_fail_nomem(err);
    return r;
}

static int check(struct mcplug_model *m, const mcplug_settings *settings,
                 struct mcplug_error *err)
{
    char what[64];

    snprintf(what, sizeof what, "model \"%.40s\"", settings->type);
    mp_props_free(m->settings);
    m->settings = mp_props_copy(settings->props);
    if (!m->settings)
        return mp_fail_nomem(err);
    int r = mp_props_check(m->settings, m->offer->feature.options, what, err);
    return r == MCPLUG_OK ? read_settings(m, err) : r;
}

int mp_model_open(struct mcplug_model *m, const mcplug_settings *settings,
                  struct mcplug_error *err)
{
    int r = m->m ? MCPLUG_OK : check(m, settings, err);

    if (r == MCPLUG_OK && !m->m)
        r = m->ops->open(m->offer->plugin->ctx, m->settings, &m->m, err);
    return r;
}

/* Secrets are looked up when it is first asked. */
static int begin(struct mcplug_model *m, struct mcplug_error *err)
{
    const mcplug_settings *settings = mp_target_settings(m->target);
    int r = mp_catalogue_find(m->models->connector->catalogue, MCPLUG_MODEL,
                              settings->type, &m->offer, err);

    if (r != MCPLUG_OK)
        return r;
    m->ops = m->offer->feature.ops;
    return mp_target_has_secrets(m->target) ? check(m, settings, err)
                                            : mp_model_open(m, settings, err);
}

/* ---- models ---- */

static void close_model(struct mcplug_model *m)
{
    if (m->prev)
        mp_links_drop(m, next, prev);
    if (m->m)
        m->ops->close(m->m);
    mp_props_free(m->settings);
    mp_target_unref(m->target);
    m->target = NULL;
    m->m = NULL;
    m->settings = NULL;
    m->models = NULL;
}

struct mcplug_model *mp_model_new(struct mp_models *models, struct mp_target *target,
                                  struct mcplug_error *err)
{
    struct mcplug_model *m = mp_alloc(sizeof *m);

    if (!m) {
        mp_target_unref(target);
        mp_fail_nomem(err);
        return NULL;
    }
    m->refs = 1;
    m->counter = mp_model_counts;
    m->models = models;
    m->target = target;
    if (begin(m, err) != MCPLUG_OK) {
        mp_model_unref(m);
        return NULL;
    }
    mp_links_push(models->first, m, next, prev);
    return m;
}

struct mcplug_model *mp_model_ref(struct mcplug_model *model)
{
    model->refs++;
    return model;
}

void mp_model_unref(struct mcplug_model *m)
{
    if (!m || --m->refs > 0)
        return;
    close_model(m);
    mp_free(m->name);
    mp_free(m);
}

void mp_models_clear(struct mp_models *models)
{
    while (models->first)
        close_model(models->first);
}

double mp_model_cost(const struct mcplug_model *m, const struct mcplug_usage *u)
{
    double cached = m->price_cached >= 0 ? m->price_cached : m->price_input;
    double to_cache = m->price_to_cache >= 0 ? m->price_to_cache : m->price_input;
    uint64_t other = u->input_cached + u->input_to_cache;

    if (m->price_input < 0 || m->price_output < 0)
        return -1;
    return ((double)(u->input > other ? u->input - other : 0) * m->price_input +
            (double)u->input_cached * cached + (double)u->input_to_cache * to_cache +
            (double)u->output * m->price_output) /
           1e6;
}
