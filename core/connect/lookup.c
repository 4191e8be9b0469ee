#include "connect/target_private.h"

#include "base/error.h"
#include "base/mem.h"

struct mp_lookup {
    struct mp_connector *connector;
    struct mp_target *target;
    uint64_t ms;
    void (*done)(void *, const struct mp_endpoint *, const struct mcplug_error *, bool);
    void *arg;
    bool is_working, is_cancelled; /* a thread of the pool has it; nobody waits */
    mcplug_settings *settings;     /* with secrets */
    uint64_t since;                /* when the locator was asked */
    struct mp_locate *locate;
    struct mcplug_error why;
};

/* ---- its end ---- */

static void lookup_free(struct mp_lookup *l)
{
    if (l->locate)
        mp_locate_cancel(l->locate);
    mcplug_settings_free(l->settings);
    mp_target_unref(l->target);
    mp_free(l);
}

static void tell(struct mp_lookup *l, const struct mp_endpoint *at,
                 const struct mcplug_error *why, bool is_secret)
{
    l->done(l->arg, at, why, is_secret);
    lookup_free(l);
}

void mp_lookup_cancel(struct mp_lookup *l)
{
    l->is_cancelled = true;
    if (!l->is_working)
        lookup_free(l);
}

/* ---- where it is ---- */

/* The locator's type; NULL: it has another */
static const struct mp_offer *locator_of(struct mp_connector *c,
                                         const struct mp_target *t)
{
    const mcplug_settings *s = t->settings;
    const struct mp_offer *offer = mp_target_offer(t);
    struct mcplug_error unsaid = MCPLUG_ERROR_INIT; /* it is told when it is opened */

    if (!offer && mp_connector_type(c, s->type, mp_props_get(s->props, "url"), &offer,
                                    &unsaid) != MCPLUG_OK)
        return NULL;
    return offer->feature.kind == MCPLUG_LOCATOR ? offer : NULL;
}

/* The answer is completed and checked as if it stood in the configuration, and leads to a
 * transport: there is one hop only. */
static int accept(const struct mp_lookup *l, const char *locator,
                  const struct mcplug_place *place, const struct mp_offer **out,
                  struct mcplug_error *err)
{
    struct mp_connector *c = l->connector;
    struct mcplug_error why = MCPLUG_ERROR_INIT;
    const char *type = place->settings->type;
    mp_view params = mp_text(place->greeting_params);
    int r = mp_catalogue_find(c->catalogue, MP_TYPE, type, out, &why);

    if (r == MCPLUG_OK && (*out)->feature.kind == MCPLUG_LOCATOR)
        r = mp_fail(&why, MCPLUG_ECONFIG, "it names another locator, \"%.64s\"", type);
    if (r == MCPLUG_OK && place->greeting)
        r = mp_frame_object(&params, place->greeting, &why);
    if (r != MCPLUG_OK)
        return mp_fail(err, r, "%s: %s", locator, why.text);
    if (l->target->entry)
        r = mp_entry_set_cwd(l->target->entry, (*out)->feature.options,
                             place->settings->props, &why);
    if (r == MCPLUG_OK)
        r = mp_target_judge(l->target, place->settings->props, true, &why);
    return r == MCPLUG_OK
               ? r
               : mp_fail(err, r, "%s: the server that it found: %s", locator, why.text);
}

static void on_place(void *arg, const struct mcplug_place *place,
                     const struct mcplug_error *why)
{
    struct mp_lookup *l = arg;
    struct mp_endpoint at = {.target = l->target, .place = place};
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    const struct mp_offer *locator = locator_of(l->connector, l->target);

    l->locate = NULL;
    if (why) {
        tell(l, NULL, why, false);
    } else if (accept(l, locator ? locator->feature.name : "", place, &at.offer, &err) !=
               MCPLUG_OK) {
        tell(l, NULL, &err, false);
    } else {
        at.settings = place->settings;
        at.spent_ms = mp_loop_now(l->connector->loop) - l->since;
        tell(l, &at, NULL, false);
    }
}

/* With the settings, or those with secrets. */
static int locate(struct mp_lookup *l, const struct mp_offer *locator,
                  struct mcplug_error *err)
{
    const mcplug_settings *s = l->settings ? l->settings : l->target->settings;
    mcplug_props *props = NULL;
    int r = mp_connector_check(locator, s->props, &props, err);

    l->since = mp_loop_now(l->connector->loop);
    if (r == MCPLUG_OK)
        r = mp_target_judge(l->target, props, false, err);
    if (r == MCPLUG_OK)
        r = mp_locate_start(&l->connector->searches, locator, props, l->ms, on_place, l,
                            &l->locate, err);
    mp_props_free(props);
    return r;
}

/* ---- secrets ---- */

/* On a thread of the pool, as all that follows until on_looked_up(). */
static int from_vault(void *arg, const char *vault, const char *name, struct mp_str *out,
                      struct mcplug_error *err)
{
    const struct mp_target *t = arg;

    for (const struct mp_target_vault *v = t->vaults; v; v = v->next)
        if (strcmp(v->name, vault) == 0)
            return mp_vault_ask(v->offer, v->settings, name, out, err);
    return mp_fail(err, MCPLUG_ENOTSUP, "there is no vault \"%s\"", vault);
}

static void look_up(void *arg)
{
    struct mp_lookup *l = arg;
    struct mp_target *t = l->target;
    const struct mp_vaults vaults = {from_vault, t};
    mcplug_props *props = NULL;

    int r = mp_entry_secrets(t->entry, t->offer->feature.options, t->variables, &vaults,
                             &props, &l->why);
    if (r == MCPLUG_OK)
        mp_target_make_settings(t->settings->type, props, t->overlay, &l->settings,
                                &l->why);
}

static void on_looked_up(void *arg, int status)
{
    struct mp_lookup *l = arg;
    struct mp_endpoint at = {.target = l->target,
                             .settings = l->settings,
                             .offer = mp_target_offer(l->target)};

    l->is_working = false;
    if (status != MCPLUG_OK && !l->why.code)
        mp_fail(&l->why, status, "secrets could not be looked up: %s",
                mp_error_name(status));
    if (l->is_cancelled) {
        lookup_free(l);
        return;
    }
    if (l->why.code) {
        tell(l, NULL, &l->why, true);
        return;
    }
    const struct mp_offer *locator = locator_of(l->connector, l->target);
    if (!locator)
        tell(l, &at, NULL, false);
    else if (locate(l, locator, &l->why) != MCPLUG_OK)
        tell(l, NULL, &l->why, false);
}

/* ---- its beginning ---- */

bool mp_lookup_needed(struct mp_connector *c, const struct mp_target *t)
{
    return t->has_secrets || locator_of(c, t);
}

int mp_lookup_start(struct mp_connector *c, struct mp_target *target, uint64_t ms,
                    void (*done)(void *arg, const struct mp_endpoint *at,
                                 const struct mcplug_error *why, bool is_secret),
                    void *arg, struct mp_lookup **out, struct mcplug_error *err)
{
    struct mp_lookup *l = mp_alloc(sizeof *l);
    int r;

    if (!l)
        return mp_fail_nomem(err);
    l->connector = c;
    l->target = mp_target_ref(target);
    l->ms = ms;
    l->done = done;
    l->arg = arg;
    l->why = (struct mcplug_error)MCPLUG_ERROR_INIT;
    if (target->has_secrets) {
        l->is_working = true;
        r = mp_loop_work(c->loop, look_up, on_looked_up, l);
        if (r != MCPLUG_OK)
            mp_fail(err, r, "secrets could not be looked up: %s", mp_error_name(r));
    } else {
        r = locate(l, locator_of(c, target), err);
    }
    if (r != MCPLUG_OK) {
        lookup_free(l);
        return r;
    }
    *out = l;
    return MCPLUG_OK;
}
