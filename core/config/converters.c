/* Settings of converters. One of them lets a module run inside the program, so they are
 * the user's and the administrator's alone. */
#include "config/keys.h"

#include "base/mem.h"
#include "plugin/props.h"

#include <stdio.h>

#define CONVERTERS_MAX ((size_t)4 << 10) /* bytes of all of them */

/* Does an object that came before have it? What the administrator says counts before what
 * the user does, and its file comes first. */
static bool is_known(const struct mcplug_config *config, mp_view name)
{
    struct mp_walk w = mp_walk_into(mp_text(config->converters));
    mp_view known, value;

    while (config->converters && mp_walk_member(&w, &known, &value))
        if (mp_view_same(known, name))
            return true;
    return false;
}

static bool is_well(struct mcplug_config *config, const struct mp_source *source,
                    mp_view name, mp_view value)
{
    char path[96], *text = mp_view_strdup(name);
    const char *wrong = NULL;

    snprintf(path, sizeof path, "converters.%.64s", text ? text : "");
    mp_free(text);
    if (!mp_view_is_object(value))
        wrong = "expected an object with settings";
    else if (!mp_isolation_is_known(mp_view_get(value, "isolation")))
        wrong = "\"isolation\" is \"process\" or \"none\"";
    if (wrong)
        mp_config_note(config, source, NULL, false, path, value, "%s", wrong);
    return !wrong;
}

void mp_config_take_converters(struct mcplug_config *config,
                               const struct mp_source *source, mp_view converters)
{
    bool own =
        source->scope == MCPLUG_SCOPE_USER || source->scope == MCPLUG_SCOPE_ENTERPRISE;
    const char *wrong = !own ? "is allowed only in the user's own file, and ignored here"
                        : !mp_view_is_object(converters)
                            ? "expected an object with one member per converter"
                            : NULL;
    struct mp_walk w = mp_walk_into(converters);
    mp_view name, value;
    struct mp_str all;

    if (!converters.len)
        return;
    if (wrong) {
        mp_config_note(config, source, NULL, false, "converters", converters, "%s",
                       wrong);
        return;
    }
    mp_str_init(&all, CONVERTERS_MAX);
    mp_str_adds(&all, config->converters ? config->converters : "{}");
    while (mp_walk_member(&w, &name, &value)) {
        if (is_known(config, name) || !is_well(config, source, name, value))
            continue;
        all.len -= all.len > 0;
        if (all.len > 1)
            mp_str_addc(&all, ',');
        mp_str_add_bytes(&all, name);
        mp_str_addc(&all, ':');
        mp_str_add_bytes(&all, value);
        mp_str_addc(&all, '}');
    }
    if (all.failed) {
        mp_config_note(config, source, NULL, false, "converters", converters,
                       "these settings are too long");
        mp_str_clear(&all);
        return;
    }
    mp_free(config->converters);
    config->converters = mp_str_take(&all);
    config->incomplete |= !config->converters;
}

const char *mcplug_config_converters(const mcplug_config *config)
{
    return config ? config->converters : NULL;
}
