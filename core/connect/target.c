#include "connect/target_private.h"

#include "base/error.h"
#include "base/mem.h"
#include "base/text.h"

/* ---- life ---- */

static void target_free(struct mp_target *t)
{
    mcplug_settings_free(t->settings);
    mcplug_settings_free(t->overlay);
    mp_props_free(t->variables);
    mcplug_config_free(t->config);
    mcplug_config_free(t->judge);
    while (t->vaults) {
        struct mp_target_vault *v = t->vaults;
        t->vaults = v->next;
        mp_props_free(v->settings);
        mp_free(v);
    }
    mp_free(t);
}

struct mp_target *mp_target_ref(struct mp_target *t)
{
    t->refs++;
    return t;
}

void mp_target_unref(struct mp_target *t)
{
    if (t && --t->refs == 0)
        target_free(t);
}

static int judge_in_place(const struct mcplug_config *config,
                          const mcplug_settings *settings, struct mcplug_error *err)
{
    struct mcplug_error why = MCPLUG_ERROR_INIT;

    if (config->exclusive)
        return mp_fail(err, MCPLUG_EREFUSED,
                       "this server is not allowed by enterprise policy: only those of "
                       "%s are",
                       config->paths.managed);
    int r = mp_config_judge(config, NULL, settings->props, NULL, false, &why);
    return r == MCPLUG_OK ? r
                          : mp_fail(err, MCPLUG_EREFUSED,
                                    "Cannot use this MCP server: %s", why.text);
}

int mp_target_of_settings(const mcplug_settings *settings, struct mcplug_config *policy,
                          struct mp_target **out, struct mcplug_error *err)
{
    int r = policy ? judge_in_place(policy, settings, err) : MCPLUG_OK;
    struct mp_target *t = r == MCPLUG_OK ? mp_alloc(sizeof *t) : NULL;

    if (r != MCPLUG_OK)
        return r;
    if (!t || !(t->settings = mp_settings_copy(settings))) {
        mp_free(t);
        return mp_fail_nomem(err);
    }
    t->refs = 1;
    t->config = policy ? mp_config_ref(policy) : NULL;
    t->judge = policy && policy->policy ? mp_config_ref(policy) : NULL;
    t->hash = mp_props_hash(t->settings->props);
    *out = t;
    return MCPLUG_OK;
}

/* ---- from an entry ---- */

/* Which transport is it? Without a type the URL tells, and that may have variables. */
static int find_transport(struct mp_connector *c, const struct mp_entry *entry,
                          const struct mp_offer **out, struct mcplug_error *err)
{
    static const struct mcplug_option only_url[] = {{"url", "url", "", ""},
                                                    {NULL, NULL, NULL, NULL}};
    struct mp_resolved first;
    char *type = NULL;
    int r = mp_entry_type(entry, &type, err);

    if (r == MCPLUG_OK && type) {
        r = mp_connector_type(c, type, NULL, out, err);
    } else if (r == MCPLUG_OK) {
        r = mp_entry_resolve(entry, only_url, &first, err);
        if (r == MCPLUG_OK)
            r = mp_connector_type(c, NULL, mp_props_get(first.props, "url"), out, err);
        mp_resolved_clear(&first);
    }
    mp_free(type);
    return r;
}

int mp_target_make_settings(const char *type, mcplug_props *props,
                            const mcplug_settings *overlay, mcplug_settings **out,
                            struct mcplug_error *err)
{
    mcplug_settings *s = mp_settings_take(type, props);
    int r = s ? MCPLUG_OK : mp_fail_nomem(err);

    if (s && overlay)
        r = mp_settings_merge(s, overlay, err);
    if (r == MCPLUG_OK)
        *out = mp_move(&s);
    mcplug_settings_free(s);
    return r;
}

struct finding {
    struct mp_target *target;
    struct mp_catalogue *catalogue;
    struct mcplug_error *err;
    int result;
};

/* Modules are loaded on the loop's thread, so the vaults are found before they are asked:
 * "keyring:NAME" names one. */
static void find_vault(void *arg, const char *name)
{
    struct finding *f = arg;
    size_t n = strcspn(name, ":");
    bool is_vault = name[n] && strncmp(name, "file:", 5) != 0 && strncmp(name, "cmd:", 4);

    for (struct mp_target_vault *v = f->target->vaults; v && is_vault; v = v->next)
        is_vault = strncmp(v->name, name, n) != 0 || v->name[n];
    if (!is_vault || f->result != MCPLUG_OK)
        return;
    struct mp_target_vault *v = mp_alloc(sizeof *v + n + 1);
    if (!v) {
        f->result = mp_fail_nomem(f->err);
        return;
    }
    memcpy(v->name, name, n);
    f->result = mp_catalogue_find(f->catalogue, MCPLUG_VAULT, v->name, &v->offer, f->err);
    if (f->result == MCPLUG_OK)
        f->result =
            mp_config_vault(f->target->config, v->name, mp_vault_takes_settings(v->offer),
                            v->offer->feature.options, &v->settings, f->err);
    v->next = f->target->vaults; /* also if there is none: the target goes with it */
    f->target->vaults = v;
}

/* What a start has to look up again is judged again. */
static int keep_entry(struct mp_target *t, struct mp_connector *c,
                      struct mcplug_config *config, struct mp_entry *entry,
                      struct mp_resolved *resolved, const mcplug_settings *overlay,
                      struct mcplug_error *err)
{
    struct finding f = {.target = t, .catalogue = c->catalogue, .err = err};

    t->config = mp_config_ref(config);
    t->entry = entry;
    t->variables = mp_move(&resolved->variables);
    if (overlay && !(t->overlay = mp_settings_copy(overlay)))
        return mp_fail_nomem(err);
    if (t->has_secrets)
        mcplug_entry_each_name(entry, find_vault, &f);
    return f.result;
}

static int usable(const struct mp_entry *entry, struct mcplug_error *err)
{
    struct mcplug_error why = MCPLUG_ERROR_INIT;

    if (mcplug_entry_state(entry, &why) == MCPLUG_ENTRY_READY)
        return MCPLUG_OK;
    return mp_fail(err, why.code, "%s", why.text);
}

void mp_target_check_probe(struct mp_connector *c, struct mp_entry *entry)
{
    mp_view value = mp_view_get(entry->json, "healthProbe");
    char *name = mp_view_is_object(value) ? mp_view_strdup(mp_probe_of(value)) : NULL;
    char plain[MP_PROBE_NAME];
    const struct mp_offer *offer;

    /* one that nobody offers is told of when the server starts */
    if (name && strlen(name) < MP_PROBE_NAME / 2) {
        mp_probe_name(name, plain);
        if (mp_catalogue_find(c->catalogue, MCPLUG_PROBE, plain, &offer, NULL) ==
            MCPLUG_OK)
            mp_entry_check_probe(entry, plain, offer->feature.options);
    }
    mp_free(name);
}

int mp_target_of_entry(struct mp_connector *c, struct mcplug_config *config,
                       struct mp_entry *entry, const mcplug_settings *overlay,
                       struct mp_resolved *resolved, struct mp_target **out,
                       struct mcplug_error *err)
{
    struct mcplug_error why = MCPLUG_ERROR_INIT;
    struct mp_target *t = mp_alloc(sizeof *t);

    memset(resolved, 0, sizeof *resolved);
    if (!t)
        return mp_fail_nomem(err);
    t->refs = 1;
    int r = usable(entry, err);
    if (r == MCPLUG_OK)
        r = find_transport(c, entry, &t->offer, err);
    if (r == MCPLUG_OK) {
        const struct mcplug_feature *f = &t->offer->feature;
        mp_entry_check(entry, f->name, f->options);
        mp_entry_check_url(entry, f->name, f->accepts);
        mp_target_check_probe(c, entry);
        r = entry->broken ? usable(entry, err) : MCPLUG_OK;
    }
    if (r == MCPLUG_OK)
        r = mp_entry_resolve(entry, t->offer->feature.options, resolved, err);
    if (r == MCPLUG_OK)
        r = mp_target_make_settings(resolved->type, mp_move(&resolved->props), overlay,
                                    &t->settings, err);
    /* What is put on top counts as much; and a key that the type does not know, and which
     * an allow rule is about, does not. */
    if (r == MCPLUG_OK && mp_config_judge(config, entry, t->settings->props, NULL, false,
                                          &why) != MCPLUG_OK)
        r = mp_fail(err, MCPLUG_EREFUSED, "Cannot use MCP server \"%s\": %s", entry->name,
                    why.text);
    t->judge = config->policy ? mp_config_ref(config) : NULL;
    t->judged = entry;
    t->has_secrets = resolved->has_secrets;
    t->is_elsewhere = overlay && mp_props_get(overlay->props, "url");
    /* A URL that was put on top may lead to a locator. */
    if (r == MCPLUG_OK &&
        (t->has_secrets || t->is_elsewhere || t->offer->feature.kind == MCPLUG_LOCATOR))
        r = keep_entry(t, c, config, entry, resolved, overlay, err);
    if (r != MCPLUG_OK) {
        target_free(t);
        return r;
    }
    t->hash = mp_props_hash(t->settings->props);
    *out = t;
    return MCPLUG_OK;
}

int mp_target_of_model(struct mp_connector *c, struct mcplug_config *config,
                       const char *name, const mcplug_settings *overlay,
                       struct mp_target **out, struct mcplug_error *err)
{
    struct mp_resolved resolved = {0};
    struct mp_entry *entry = NULL;
    struct mp_target *t = mp_alloc(sizeof *t);
    char *type = NULL;
    int r = t ? mp_config_model(config, name, &entry, err) : mp_fail_nomem(err);

    if (!t)
        return r;
    t->refs = 1;
    if (r == MCPLUG_OK && !(type = mp_view_strdup(mp_view_get(entry->json, "type"))))
        r = mp_fail_nomem(err);
    if (r == MCPLUG_OK)
        r = mp_catalogue_find(c->catalogue, MCPLUG_MODEL, type, &t->offer, err);
    if (r == MCPLUG_OK)
        r = mp_config_check_model(entry, t->offer->feature.options, err);
    if (r == MCPLUG_OK)
        r = mp_entry_resolve(entry, t->offer->feature.options, &resolved, err);
    if (r == MCPLUG_OK)
        r = mp_target_make_settings(type, mp_move(&resolved.props), overlay, &t->settings,
                                    err);
    if (r == MCPLUG_OK && resolved.missing)
        r = mp_fail(err, MCPLUG_ECONFIG, "models.%.64s: not set: %s", name,
                    resolved.missing);
    t->has_secrets = resolved.has_secrets;
    if (r == MCPLUG_OK && t->has_secrets)
        r = keep_entry(t, c, config, entry, &resolved, overlay, err);
    mp_resolved_clear(&resolved);
    mp_free(type);
    if (r != MCPLUG_OK) {
        target_free(t);
        return r;
    }
    t->hash = mp_props_hash(t->settings->props);
    *out = t;
    return MCPLUG_OK;
}

/* ---- what it comes to ---- */

int mp_target_judge(const struct mp_target *t, const mcplug_props *props, bool is_found,
                    struct mcplug_error *err)
{
    return t && t->judge
               ? mp_config_judge(t->judge, t->judged, props, NULL, is_found, err)
               : MCPLUG_OK;
}

int mp_target_fence(const struct mp_target *t, mcplug_props *props,
                    struct mcplug_error *err)
{
    return t && t->judge ? mp_config_fence(t->judge, t->judged, props, err) : MCPLUG_OK;
}

int mp_target_judge_probe(const struct mp_target *t, mcplug_props *probe,
                          struct mcplug_error *err)
{
    const mcplug_props *props = t ? t->settings->props : NULL;
    int r = MCPLUG_OK;

    if (t && t->judge)
        r = mp_config_judge(t->judge, t->judged, props, probe, false, err);
    if (t && t->judge && r == MCPLUG_OK)
        r = mp_config_fence_probe(t->judge, t->judged, props, probe, err);
    return r;
}

/* ---- what it is ---- */

const mcplug_settings *mp_target_settings(const struct mp_target *t)
{
    return t->settings;
}

const struct mp_offer *mp_target_offer(const struct mp_target *t)
{
    return t->is_elsewhere ? NULL : t->offer;
}

bool mp_target_has_secrets(const struct mp_target *t)
{
    return t->has_secrets;
}

/* References mean the same where the files do that they stand in: paths and commands are
 * relative to these. What was given in place has a policy alone, and that is the same or
 * another one. */
static bool same_source(const struct mp_target *a, const struct mp_target *b)
{
    return a->entry && b->entry
               ? mp_text_same(a->entry->source->real, b->entry->source->real)
               : !a->entry && !b->entry && a->config == b->config;
}

/* What a name may lead to depends on the rules, and these may be about a server's name.
 */
static bool same_rules(const struct mp_target *a, const struct mp_target *b)
{
    return !a->judge || !b->judge ? !a->judge && !b->judge
                                  : mp_text_same(a->judged ? a->judged->name : NULL,
                                                 b->judged ? b->judged->name : NULL);
}

bool mp_target_equal(const struct mp_target *a, const struct mp_target *b)
{
    return a->hash == b->hash && same_source(a, b) && same_rules(a, b) &&
           mp_text_same(a->settings->type, b->settings->type) &&
           mp_props_equal(a->settings->props, b->settings->props);
}
