#include "run/model.h"

#include "base/error.h"
#include "base/event.h"
#include "base/links.h"
#include "base/mem.h"
#include "connect/settings.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- its settings ---- */

/* A setting of ours, which the module does not see. */
static int take_number(mcplug_props *props, const char *name, double least, double *out,
                       struct mcplug_error *err)
{
    const char *value = mp_props_get(props, name);
    char *end = NULL;

    if (!value)
        return MCPLUG_OK;
    errno = 0;
    *out = strtod(value, &end);
    if (end == value || *end || errno || !isfinite(*out) || *out < least)
        return mp_fail(err, MCPLUG_ECONFIG, "%s: \"%.64s\" is no such number", name,
                       value);
    mp_props_drop(props, name);
    return MCPLUG_OK;
}

static int take_settings(struct mcplug_model *m, mcplug_props *props,
                         struct mcplug_error *err)
{
    struct {
        const char *name;
        double *out;
    } prices[] = {{"priceInput", &m->price_input},
                  {"priceOutput", &m->price_output},
                  {"priceCached", &m->price_cached},
                  {"priceToCache", &m->price_to_cache}};
    const char *name = mp_props_get(props, "model");
    double context = MP_MODEL_CONTEXT;
    int r = take_number(props, "contextTokens", 1000, &context, err);

    if (r == MCPLUG_OK && (!name || !*name))
        r = mp_fail(err, MCPLUG_ECONFIG, "the setting \"model\" is missing");
    for (size_t i = 0; i < MP_COUNT(prices); i++)
        *prices[i].out = -1;
    for (size_t i = 0; r == MCPLUG_OK && i < MP_COUNT(prices); i++)
        r = take_number(props, prices[i].name, 0, prices[i].out, err);
    if (r != MCPLUG_OK)
        return r;
    m->context = context < 1e12 ? (uint64_t)context : (uint64_t)1e12;
    m->name = mp_strdup(name);
    mp_props_drop(props, "model");
    return m->name ? MCPLUG_OK : mp_fail_nomem(err);
}

static int open_model(struct mcplug_model *m, const mcplug_settings *settings,
                      struct mcplug_error *err)
{
    int r = mp_catalogue_find(m->models->catalogue, MCPLUG_MODEL, settings->type,
                              &m->offer, err);
    char what[64];

    if (r != MCPLUG_OK)
        return r;
    snprintf(what, sizeof what, "model \"%.40s\"", settings->type);
    m->ops = m->offer->feature.ops;
    m->settings = mp_props_copy(settings->props);
    if (!m->settings)
        return mp_fail_nomem(err);
    r = take_settings(m, m->settings, err);
    if (r == MCPLUG_OK)
        r = mp_props_check(m->settings, m->offer->feature.options, what, err);
    if (r == MCPLUG_OK)
        r = m->ops->open(m->offer->plugin->ctx, m->settings, &m->m, err);
    return r;
}

/* ---- models ---- */

static void close_model(struct mcplug_model *m)
{
    if (m->prev)
        mp_links_drop(m, next, prev);
    if (m->m)
        m->ops->close(m->m);
    mp_props_free(m->settings);
    m->m = NULL;
    m->settings = NULL;
    m->models = NULL;
}

struct mcplug_model *mp_model_new(struct mp_models *models,
                                  const mcplug_settings *settings,
                                  struct mcplug_error *err)
{
    struct mcplug_model *m = mp_alloc(sizeof *m);

    if (!m) {
        mp_fail_nomem(err);
        return NULL;
    }
    m->refs = 1;
    m->models = models;
    if (open_model(m, settings, err) != MCPLUG_OK) {
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
