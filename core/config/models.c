/* Models by name. They have keys, and say where conversations go to: so they are the
 * user's and the administrator's alone. */
#include "config/keys.h"

#include "base/error.h"
#include "base/mem.h"

#include <stdio.h>

struct mp_model_entry {
    struct mp_model_entry *next;
    struct mp_entry entry;
};

void mp_config_take_models(struct mcplug_config *config, struct mp_source *source,
                           mp_view models)
{
    bool own =
        source->scope == MCPLUG_SCOPE_USER || source->scope == MCPLUG_SCOPE_ENTERPRISE;

    if (!models.len)
        return;
    if (!own)
        mp_config_note(config, source, NULL, false, "models", models,
                       "is allowed only in the user's own file, and ignored here");
    else if (!mp_view_is_object(models))
        mp_config_note(config, source, NULL, false, "models", models,
                       "expected an object with one member per model");
    else
        source->models = models;
}

void mp_config_free_models(struct mcplug_config *config)
{
    for (struct mp_model_entry *m = config->models, *next; m; m = next) {
        next = m->next;
        mp_free(m->entry.name);
        mp_free(m);
    }
}

/* What the administrator says counts before what the user does. */
static const struct mp_source *find(const struct mcplug_config *config, const char *name,
                                    mp_view *out)
{
    const struct mp_source *found = NULL;

    for (size_t i = 0; i < config->n_sources; i++) {
        const struct mp_source *source = &config->sources[i];
        mp_view v = mp_view_get(source->models, name);
        if (v.len && (!found || source->scope == MCPLUG_SCOPE_ENTERPRISE)) {
            found = source;
            *out = v;
        }
    }
    return found;
}

static int fail_unknown(const struct mcplug_config *config, const char *name,
                        struct mcplug_error *err)
{
    struct mp_str names;

    mp_str_init(&names, 256);
    for (size_t i = 0; i < config->n_sources; i++) {
        struct mp_walk w = mp_walk_into(config->sources[i].models);
        mp_view key, value;
        while (mp_walk_member(&w, &key, &value)) {
            mp_str_adds(&names, names.len ? ", " : "");
            mp_str_add_view(&names, key);
        }
    }
    int r = mp_fail(err, MCPLUG_ENOTSUP, "no model \"%.64s\" is configured%s%s", name,
                    names.len ? "; there are " : "", names.len ? names.data : "");
    mp_str_clear(&names);
    return r;
}

int mp_config_model(struct mcplug_config *config, const char *name, struct mp_entry **out,
                    struct mcplug_error *err)
{
    mp_view json = {NULL, 0};
    const struct mp_source *source = find(config, name, &json);
    struct mp_model_entry *m = config->models;

    if (!source)
        return fail_unknown(config, name, err);
    if (!mp_view_is_object(json) || !mp_view_is_string(mp_view_get(json, "type")))
        return mp_fail(err, MCPLUG_ECONFIG,
                       "%s: models.%.64s: expected an object with a \"type\"",
                       source->path, name);
    while (m && strcmp(m->entry.name, name) != 0)
        m = m->next;
    if (!m) {
        m = mp_alloc(sizeof *m);
        char *copy = mp_strdup(name);
        if (!m || !copy) {
            mp_free(m);
            mp_free(copy);
            return mp_fail_nomem(err);
        }
        m->entry = (struct mp_entry){
            .config = config, .name = copy, .source = source, .json = json};
        m->next = config->models;
        config->models = m;
    }
    *out = &m->entry;
    return MCPLUG_OK;
}

struct notes {
    const struct mp_entry *model;
    struct mcplug_error *err;
    int result;
};

static void note(void *arg, const char *name, mp_view at, const char *text)
{
    struct notes *n = arg;
    const struct mp_entry *m = n->model;
    char path[224];

    snprintf(path, sizeof path, "models.%.64s%s%.128s", m->name, *name ? "." : "", name);
    const char *line = mp_config_note_once(m->config, m->source, path, at, text);
    if (n->result == MCPLUG_OK)
        n->result = mp_fail(n->err, MCPLUG_ECONFIG, "%s", line ? line : text);
}

int mp_config_check_model(const struct mp_entry *model,
                          const struct mcplug_option *options, struct mcplug_error *err)
{
    char *type = mp_view_strdup(mp_view_get(model->json, "type"));
    struct notes n = {model, err, MCPLUG_OK};
    struct mp_options_check check = {.kind = "model",
                                     .feature = type,
                                     .options = options,
                                     .skip = "type",
                                     .note = note,
                                     .arg = &n};
    if (!type)
        return mp_fail_nomem(err);
    mp_options_check(&check, model->json);
    mp_free(type);
    return n.result;
}
