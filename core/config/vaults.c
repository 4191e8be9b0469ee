/* Settings of vaults. They say where secrets are looked for, so they are the user's and
 * the administrator's alone. */
#include "config/keys.h"

#include "base/error.h"
#include "base/mem.h"
#include "plugin/props.h"

#include <stdio.h>

void mp_config_take_vaults(struct mcplug_config *config, struct mp_source *source,
                           mp_view vaults)
{
    bool own =
        source->scope == MCPLUG_SCOPE_USER || source->scope == MCPLUG_SCOPE_ENTERPRISE;
    struct mp_walk w = mp_walk_into(vaults);
    mp_view name, value;

    if (!vaults.len)
        return;
    if (!own) {
        mp_config_note(config, source, NULL, false, "vaults", vaults,
                       "is allowed only in the user's own file, and ignored here");
        return;
    }
    if (!mp_view_is_object(vaults)) {
        mp_config_note(config, source, NULL, false, "vaults", vaults,
                       "expected an object with one member per vault");
        return;
    }
    source->vaults = vaults;
    while (mp_walk_member(&w, &name, &value)) {
        char path[96], *text = mp_view_strdup(name);
        snprintf(path, sizeof path, "vaults.%.64s", text ? text : "");
        if (mp_view_equals(name, "file") || mp_view_equals(name, "cmd"))
            mp_config_note(config, source, NULL, false, path, name,
                           "has no settings: it does not come from a module");
        else if (!mp_view_is_object(value))
            mp_config_note(config, source, NULL, false, path, value,
                           "expected an object with settings");
        mp_free(text);
    }
}

/* What the administrator says counts before what the user does. */
static const struct mp_source *find(const struct mcplug_config *config, const char *vault,
                                    mp_view *out)
{
    const struct mp_source *found = NULL;

    for (size_t i = 0; i < config->n_sources; i++) {
        const struct mp_source *source = &config->sources[i];
        mp_view v = source->vaults.len ? mp_view_get(source->vaults, vault) : *out;
        if (source->vaults.len && mp_view_is_object(v) &&
            (!found || source->scope == MCPLUG_SCOPE_ENTERPRISE)) {
            found = source;
            *out = v;
        }
    }
    return found;
}

struct notes {
    struct mcplug_config *config;
    const struct mp_source *source;
    const char *vault;
    struct mcplug_error *err;
    int result;
};

static void note(void *arg, const char *name, mp_view at, const char *text)
{
    struct notes *n = arg;
    char path[224];

    snprintf(path, sizeof path, "vaults.%.64s%s%.128s", n->vault, *name ? "." : "", name);
    const char *line = mp_config_note_once(n->config, n->source, path, at, text);
    if (n->result == MCPLUG_OK)
        n->result = mp_fail(n->err, MCPLUG_ECONFIG, "%s", line ? line : text);
}

int mp_config_vault(struct mcplug_config *config, const char *vault, bool takes,
                    const struct mcplug_option *options, mcplug_props **out,
                    struct mcplug_error *err)
{
    mp_view settings = {NULL, 0};
    const struct mp_source *source = find(config, vault, &settings);
    struct notes n = {config, source, vault, err, MCPLUG_OK};
    struct mp_options_check check = {
        .kind = "vault", .feature = vault, .options = options, .note = note, .arg = &n};
    mcplug_props *props = mp_props_new();
    char what[96];

    if (!props)
        return mp_fail_nomem(err);
    if (source && !takes)
        note(&n, "", settings, "this vault takes no settings");
    else if (source)
        mp_options_check(&check, settings);
    int r = n.result;
    if (r == MCPLUG_OK && source)
        r = mp_props_add_json(props, settings, NULL, err);
    snprintf(what, sizeof what, "vault \"%.64s\"", vault);
    if (r == MCPLUG_OK && takes)
        r = mp_props_check(props, options, what, err);
    if (r == MCPLUG_OK)
        *out = mp_move(&props);
    mp_props_free(props);
    return r;
}
