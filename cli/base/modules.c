#include "cli/base/modules.h"
#include "cli/base/by_name.h"

#include "base/error.h"
#include "base/mem.h"
#include "base/sha256.h"
#include "base/text.h"
#include "cli/base/child.h"
#include "loop/loop.h"
#include "plugin/catalogue.h"
#include "rpc/link.h"
#include "cli/base/message.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define INSPECT_MS 5000
#define FILES_MAX 4096

/* ---- a descriptor as JSON ---- */

/* What a module wrote into its descriptor need not be UTF-8. */
static json_t *text(const char *s)
{
    if (!s)
        return json_null();
    json_t *value = json_string(s);
    if (!value) {
        struct mp_str shown;
        mp_str_init(&shown, 65536);
        mp_str_add_escaped(&shown, s, strlen(s), true);
        value = json_string(shown.data ? shown.data : "");
        mp_str_clear(&shown);
    }
    return value;
}

static json_t *option_json(const struct mcplug_option *o)
{
    bool many = strcmp(o->type, "list") == 0 || strcmp(o->type, "map") == 0;
    bool has_default = o->fallback && *o->fallback;
    return json_pack("{s:o,s:o,s:b,s:o,s:o}", "name", text(o->name), "type",
                     text(o->type), "required", !o->fallback && !many, "default",
                     text(has_default ? o->fallback : NULL), "help", text(o->help));
}

static json_t *feature_json(const struct mcplug_feature *f)
{
    json_t *accepts = json_array(), *options = json_array();
    bool known = mp_kind_known(f->kind);
    for (size_t i = 0; known && f->accepts && f->accepts[i]; i++)
        json_array_append_new(accepts, text(f->accepts[i]));
    for (const struct mcplug_option *o = f->options; known && o && o->name; o++)
        json_array_append_new(options, option_json(o));
    return json_pack("{s:o,s:o,s:o,s:o,s:o}", "kind", text(mp_kind_name(f->kind)), "name",
                     text(known ? f->name : NULL), "summary",
                     text(known ? f->summary : NULL), "accepts", accepts, "options",
                     options);
}

json_t *cli_module_json(const struct mcplug_plugin *d, const char *file,
                        const char *state)
{
    char abi[32];
    json_t *features = json_array();
    for (size_t i = 0; i < d->n_features; i++) {
        struct mcplug_feature f = mp_plugin_feature(d, i);
        json_array_append_new(features, feature_json(&f));
    }
    snprintf(abi, sizeof abi, "%u.%u", d->abi_major, d->abi_minor);
    return json_pack("{s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:s,s:i,s:o}", "name", text(d->name),
                     "version", text(d->version), "state", text(state), "file",
                     text(file), "summary", text(d->summary), "license", text(d->license),
                     "origin", text(d->origin), "abi", abi, "needs", (int)d->abi_needs,
                     "features", features);
}

static json_t *failed_json(const char *file, const char *state, const char *why)
{
    return json_pack("{s:o,s:o,s:o,s:s,s:o,s:o,s:o,s:o,s:[]}", "name", json_null(),
                     "version", json_null(), "file", text(file), "state", state, "error",
                     text(why), "summary", json_null(), "license", json_null(), "origin",
                     json_null(), "features");
}

/* ---- a catalogue of our own ---- */

static void on_log(void *arg, int level, const char *source, const char *line)
{
    (void)arg;
    cli_log_line(level, source, line);
}

struct shelf {
    struct mp_loop *loop;
    struct mp_catalogue *cat;
};

static void shelf_close(struct shelf *s)
{
    mp_catalogue_free(s->cat);
    mp_loop_free(s->loop);
}

static int shelf_open(struct shelf *s, struct cli *cli, struct mcplug_error *err)
{
    const struct cli_args *args = &cli->args;
    memset(s, 0, sizeof *s);
    s->loop = mp_loop_new(err);
    if (!s->loop)
        return MCPLUG_ENOMEM;
    struct mp_catalogue_options options = {
        .log = {.fn = args->quiet ? NULL : on_log,
                .level = MCPLUG_LOG_WARN + args->verbose},
        .loop = s->loop,
        .dirs = args->plugin_dirs.items,
        .more_dirs = cli_plugin_dirs(cli),
        .wire = &mp_link_wire,
    };
    s->cat = mp_catalogue_new(&options, err);
    if (!s->cat) {
        mp_loop_free(s->loop);
        s->loop = NULL;
        return MCPLUG_ENOMEM;
    }
    return MCPLUG_OK;
}

/* ---- in the child ---- */

int cli_modules_inspect(struct cli *cli, const char *file)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    struct shelf shelf;
    const struct mp_plugin *plugin = NULL;
    json_t *object = NULL;

    int fd = cli_child_begin();
    if (fd < 0 || shelf_open(&shelf, cli, &err) != MCPLUG_OK)
        return CLI_FAILED;
    if (mp_catalogue_load(shelf.cat, file, &plugin, &err) == MCPLUG_OK)
        object = cli_module_json(plugin->descriptor, file, "ok");
    else
        object = failed_json(file, "refused", err.text);
    char *dumped = object ? json_dumps(object, JSON_COMPACT) : NULL;
    if (dumped)
        cli_child_report(fd, dumped, strlen(dumped));
    free(dumped);
    json_decref(object);
    shelf_close(&shelf);
    return dumped ? CLI_OK : CLI_FAILED;
}

/* ---- finding ---- */

struct search {
    json_t *list;
    char **files;
    size_t n;
};

static bool note(void *arg, const char *file, const struct mcplug_plugin *builtin)
{
    struct search *s = arg;
    if (builtin) {
        json_array_append_new(s->list, cli_module_json(builtin, NULL, "built in"));
        return true;
    }
    if (s->n == FILES_MAX)
        return false;
    s->files[s->n] = mp_strdup(file);
    if (s->files[s->n])
        s->n++;
    return true;
}

static json_t *read_report(const char *file, const struct cli_child *child)
{
    char what[128], why[1024];
    json_t *object = NULL;
    if (child->end == CLI_CHILD_EXITED && child->number == 0 && child->output.len)
        object = json_loadb(child->output.data, child->output.len, 0, NULL);
    if (object)
        return object;
    cli_child_describe(child, INSPECT_MS, what, sizeof what);
    snprintf(why, sizeof why, "%s: %s while loading", file, what);
    return failed_json(file, child->end == CLI_CHILD_STUCK ? "stuck" : "crashed", why);
}

/* What an administrator would put into the list of pins, loadable or not. */
static json_t *sha256_json(const char *file)
{
    unsigned char digest[MP_SHA256_BYTES];
    char hex[MP_SHA256_HEX + 1];

    if (mp_sha256_file(file, digest) != 0)
        return json_null();
    mp_sha256_hex(digest, hex);
    return json_string(hex);
}

static int inspect_all(struct search *s, bool heard)
{
    struct cli_child *children = mp_alloc(s->n * sizeof *children);
    const char **words = mp_alloc(4 * s->n * sizeof *words);
    int r = children && words ? MCPLUG_OK : MCPLUG_ENOMEM;

    for (size_t i = 0; r == MCPLUG_OK && i < s->n; i++) {
        children[i].words = &words[4 * i];
        words[4 * i] = "plugins";
        words[4 * i + 1] = "--inspect";
        words[4 * i + 2] = s->files[i];
    }
    if (r == MCPLUG_OK)
        cli_children_run(children, s->n, INSPECT_MS, heard);
    for (size_t i = 0; r == MCPLUG_OK && i < s->n; i++) {
        json_t *object = read_report(s->files[i], &children[i]);
        json_object_set_new(object, "sha256", sha256_json(s->files[i]));
        json_array_append_new(s->list, object);
        mp_str_clear(&children[i].output);
    }
    mp_free(words);
    mp_free(children);
    return r;
}

json_t *cli_modules_find(struct cli *cli, struct mcplug_error *err)
{
    struct shelf shelf;
    struct search s = {.list = json_array(),
                       .files = mp_alloc(FILES_MAX * sizeof *s.files)};
    int r = s.list && s.files ? shelf_open(&shelf, cli, err) : mp_fail_nomem(err);

    if (r == MCPLUG_OK) {
        mp_catalogue_each(shelf.cat, note, &s);
        shelf_close(&shelf);
        r = inspect_all(&s, cli->args.verbose > 0);
        if (r != MCPLUG_OK)
            mp_fail_nomem(err);
    }
    for (size_t i = 0; i < s.n; i++)
        mp_free(s.files[i]);
    mp_free(s.files);
    if (r != MCPLUG_OK) {
        json_decref(s.list);
        s.list = NULL;
    }
    return s.list;
}
