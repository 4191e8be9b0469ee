#include "cli/base/model.h"

#include "base/error.h"
#include "base/mem.h"
#include "base/nearest.h"
#include "cli/base/by_name.h"
#include "cli/base/message.h"
#include "cli/base/oneshot.h"
#include "cli/base/packages.h"

#include <string.h>

/* give; NULL with `err` */
static mcplug_settings *settings_of(const struct cli_list *set, struct mcplug_error *err)
{
    mcplug_settings *s = mcplug_settings_new(NULL);
    int r = s ? MCPLUG_OK : mp_fail_nomem(err);

    for (size_t i = 0; r == MCPLUG_OK && set && i < set->n; i++)
        r = cli_setting_apply(s, set->items[i], err);
    if (r == MCPLUG_OK)
        return s;
    mcplug_settings_free(s);
    return NULL;
}

static int report(const struct mcplug_error *err)
{
    cli_error("%s", err->text);
    return err->code == MCPLUG_ENOMEM ? CLI_INTERNAL : CLI_USAGE;
}

int cli_model_check(const char *name, const char *given, const struct cli_list *set)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    const char *slash = strchr(name, '/');

    if (!*name || slash == name || (slash && !slash[1])) {
        cli_error("%s: expected TYPE/NAME, such as " CLI_MODEL_EXAMPLE ", got \"%.100s\"",
                  given, name);
        return CLI_USAGE;
    }
    mcplug_settings *s = settings_of(set, &err);
    int code = s ? CLI_OK : report(&err);
    mcplug_settings_free(s);
    return code;
}

/* What it may be meant to be: one that could be installed. */
static void hint_type(const char *name)
{
    json_t *packages = cli_packages(), *one;
    char *type = mp_strndup(name, strcspn(name, "/"));
    const char *best = NULL;
    size_t i;

    json_array_foreach(packages, i, one)
    {
        const char *known = json_string_value(json_object_get(one, "name"));
        if (type && strcmp(json_string_value(json_object_get(one, "kind")), "model") == 0)
            mp_nearest(type, known, &best);
    }
    if (best && strcmp(best, type) != 0)
        cli_hint("Did you mean %s? It comes with the package %s.", best,
                 cli_package_of(packages, "model", best));
    else
        cli_hint("`mcplug plugins` lists the modules that are installed.");
    mp_free(type);
    json_decref(packages);
}

static int report_open(const char *name, bool can_set, const struct mcplug_error *err)
{
    if (err->code == MCPLUG_OK) /* the configuration, which has been told */
        return CLI_BAD_CONFIG;
    cli_error("%s", err->text);
    switch (err->code) {
    case MCPLUG_ENOTSUP:
        if (!strchr(name, '/') && strncmp(err->text, "no model ", 9) == 0) {
            cli_hint("-m TYPE/NAME names one that is not, such as " CLI_MODEL_EXAMPLE
                     ".");
            return CLI_NOT_FOUND;
        }
        hint_type(name);
        return CLI_UNSUPPORTED;
    case MCPLUG_ECONFIG:
    case MCPLUG_EINVAL:
        cli_hint("`mcplug plugins %.*s` lists its settings%s.", (int)strcspn(name, "/"),
                 name, can_set ? ", for --set" : "");
        return CLI_BAD_CONFIG;
    case MCPLUG_ENOMEM:
        return CLI_INTERNAL;
    default:
        return CLI_MODEL_FAILED;
    }
}

int cli_model_open(struct cli *cli, mcplug *host, const char *name,
                   const struct cli_list *set, mcplug_model **out)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    mcplug_settings *s = settings_of(set, &err);
    mcplug_model *model = NULL;

    if (!s)
        return report(&err);
    if (strchr(name, '/') || cli_config(cli)) /* which is not read for a type */
        model = mcplug_model_new_named(host, cli->config, name, s, &err);
    mcplug_settings_free(s);
    if (!model)
        return report_open(name, set != NULL, &err);
    *out = model;
    return CLI_OK;
}
