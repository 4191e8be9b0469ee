#include "connect/connector.h"

#include "base/error.h"
#include "base/mem.h"
#include "base/text.h"
#include "connect/target.h"

#include <stdio.h>

/* ---- eras remembered ---- */

/* NULL: not known */
static enum mp_era *find_era(struct mp_connector *c, uint64_t hash)
{
    for (size_t i = 0; i < c->n_eras && i < MP_ERAS_KEPT; i++)
        if (c->eras[i].hash == hash)
            return &c->eras[i].era;
    return NULL;
}

static enum mp_era recall(void *arg, uint64_t hash)
{
    const enum mp_era *era = find_era(arg, hash);
    return era ? *era : MP_ERA_UNKNOWN;
}

/* The oldest makes way. */
static void remember(void *arg, uint64_t hash, enum mp_era era)
{
    struct mp_connector *c = arg;
    enum mp_era *known = find_era(c, hash);

    if (!known) {
        size_t i = c->n_eras++ % MP_ERAS_KEPT;
        c->eras[i].hash = hash;
        known = &c->eras[i].era;
    }
    *known = era;
}

/* ---- transports ---- */

int mp_connector_check(const struct mp_offer *offer, const mcplug_props *settings,
                       mcplug_props **out, struct mcplug_error *err)
{
    char what[64];
    mcplug_props *props = mp_props_copy(settings);

    if (!props)
        return mp_fail_nomem(err);
    snprintf(what, sizeof what, "%s \"%.32s\"", mp_kind_name(offer->feature.kind),
             offer->feature.name);
    int r = mp_props_check(props, offer->feature.options, what, err);
    if (r == MCPLUG_OK)
        *out = mp_move(&props);
    mp_props_free(props);
    return r;
}

/* For a URL whose transport nobody named: the one that the first one names comes next. */
static int fallback(void *arg, const char *next, const mcplug_props *settings,
                    const struct mp_offer **out, mcplug_props **checked,
                    struct mcplug_error *err)
{
    struct mp_connector *c = arg;
    int r = mp_catalogue_find(c->catalogue, MCPLUG_TRANSPORT, next, out, err);
    return r == MCPLUG_OK ? mp_connector_check(*out, settings, checked, err) : r;
}

int mp_connector_type(struct mp_connector *c, const char *type, const char *url,
                      const struct mp_offer **out, struct mcplug_error *err)
{
    char scheme[33];

    if (type)
        return mp_catalogue_find(c->catalogue, MP_TYPE, type, out, err);
    size_t n = url ? strcspn(url, ":") : 0;
    if (n == 0 || n >= sizeof scheme || url[n] != ':')
        return mp_fail(err, MCPLUG_ECONFIG, "%s",
                       url ? "the URL has no scheme before a colon" /* nor is it shown */
                           : "neither a transport type nor a URL was given");
    for (size_t i = 0; i < n; i++)
        scheme[i] = mp_lower(url[i]);
    scheme[n] = '\0';
    return mp_catalogue_accepts(c->catalogue, MP_TYPE, scheme, out, err);
}

/* ---- opening ---- */

/* The last word, on what will be dialled: all that was put in, on top and found is in it,
 * and its module has said which settings are URLs. */
static int judge(const struct mp_endpoint *at, mcplug_props *props,
                 struct mcplug_error *err)
{
    struct mcplug_error why = MCPLUG_ERROR_INIT;
    int r = mp_target_judge(at->target, props, at->place != NULL, &why);

    if (r == MCPLUG_OK)
        r = mp_target_fence(at->target, props, &why);
    return r == MCPLUG_OK ? r
                          : mp_fail(err, r, "Cannot use this MCP server: %s", why.text);
}

int mp_connector_open(struct mp_connector *c, const struct mp_endpoint *at,
                      const struct mp_session_options *options, const char *name,
                      struct mp_identity *id,
                      void (*ready)(void *, struct mp_session *,
                                    const struct mcplug_error *),
                      void *ready_arg, struct mp_session **out, struct mcplug_error *err)
{
    const mcplug_settings *settings = at->settings;
    const struct mp_offer *offer = at->offer;
    struct mp_session_options o = *options;
    mcplug_props *props = NULL;
    int r = MCPLUG_OK;

    if (!offer)
        r = mp_connector_type(c, settings->type, mp_props_get(settings->props, "url"),
                              &offer, err);
    /* Its file could not be looked at when a lookup was to begin, but now it can. */
    if (r == MCPLUG_OK && offer->feature.kind == MCPLUG_LOCATOR)
        r = mp_fail(err, MCPLUG_EIO, "the locator \"%s\" could not be called",
                    offer->feature.name);
    if (r == MCPLUG_OK)
        r = mp_connector_check(offer, settings->props, &props, err);
    if (r == MCPLUG_OK)
        r = judge(at, props, err);
    if (r != MCPLUG_OK) {
        mp_props_free(props);
        return r;
    }
    o.timeout_ms = o.timeout_ms ? o.timeout_ms : c->connect_ms;
    o.tool_ms = o.tool_ms ? o.tool_ms : c->tool_ms;
    if (at->place) {
        o.facts = at->place->facts;
        o.n_facts = at->place->n_facts;
        o.greeting = at->place->greeting;
        o.greeting_params = at->place->greeting_params;
    }
    struct mp_session_config cfg = {
        .loop = c->loop,
        .log = c->log,
        .client_name = c->client_name,
        .client_version = c->client_version,
        .spill_dir = c->spill_dir,
        .recall = recall,
        .remember = remember,
        .fallback = !settings->type && offer->feature.next ? fallback : NULL,
        .arg = c,
    };
    r = mp_session_open(&cfg, offer, props, &o, name, id, ready, ready_arg, out, err);
    mp_props_free(props);
    return r;
}
