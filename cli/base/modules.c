#include "cli/base/modules.h"
#include "cli/base/by_name.h"

#include "base/error.h"
#include "base/mem.h"
#include "base/sha256.h"
#include "base/text.h"
#include "cli/base/child.h"
#include "cli/base/message.h"

#include <mcplug/admin.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define INSPECT_MS 5000

/* ---- as JSON ---- */

/* A path or a message of a module need not be UTF-8. */
static json_t *text(const char *s)
{
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

static json_t *failed_json(const char *file, const char *state, const char *why)
{
    return json_pack("{s:o,s:o,s:o,s:s,s:o,s:o,s:o,s:o,s:[]}", "name", json_null(),
                     "version", json_null(), "file", text(file), "state", state, "error",
                     text(why), "summary", json_null(), "license", json_null(), "origin",
                     json_null(), "features");
}

/* ---- a host to look for them ---- */

static void on_log(void *arg, int level, const char *source, const char *line)
{
    (void)arg;
    cli_log_line(level, source, line);
}

mcplug *cli_modules_host(struct cli *cli, bool silent, struct mcplug_error *err)
{
    const struct cli_args *args = &cli->args;
    struct mcplug_options options = {
        .struct_size = sizeof options,
        .log = silent || args->quiet ? NULL : on_log,
        .log_level = MCPLUG_LOG_WARN + args->verbose,
        .plugin_dirs = args->plugin_dirs.items,
        .user_plugin_dirs = cli_plugin_dirs(cli),
    };
    return mcplug_new(&options, err);
}

/* ---- by type ---- */

static json_t *type_of(const json_t *module, const char *type)
{
    size_t i;
    json_t *f;
    json_array_foreach(json_object_get(module, "features"), i, f)
    {
        const char *kind = json_string_value(json_object_get(f, "kind"));
        const char *name = json_string_value(json_object_get(f, "name"));
        if (kind && name && strcmp(name, type) == 0 &&
            (strcmp(kind, "transport") == 0 || strcmp(kind, "locator") == 0))
            return json_incref(f);
    }
    return NULL;
}

json_t *cli_modules_type(struct cli *cli, const char *type)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    struct mcplug_module m = {.struct_size = sizeof m};
    mcplug *host = cli_modules_host(cli, true, &err);
    mcplug_modules *modules = host ? mcplug_modules_new(host, &err) : NULL;
    char plain[MCPLUG_TYPE_MAX] = "";
    json_t *entry = json_pack("{s:s}", "type", type), *found = NULL;
    char *written = entry ? json_dumps(entry, JSON_COMPACT) : NULL;

    if (written)
        mcplug_json_type(written, strlen(written), plain);
    for (size_t i = 0; modules && *plain && !found && mcplug_modules_get(modules, i, &m);
         i++) {
        char *described =
            !m.file || strcmp(m.name, plain) == 0
                ? mcplug_module_describe(host, m.file ? m.file : m.name, &err)
                : NULL;
        json_t *module = described ? json_loads(described, 0, NULL) : NULL;
        found = type_of(module, plain);
        json_decref(module);
        mcplug_text_free(described);
    }
    free(written);
    json_decref(entry);
    mcplug_modules_free(modules);
    mcplug_free(host);
    return found;
}

/* ---- in the child ---- */

int cli_modules_inspect(struct cli *cli, const char *file)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    int fd = cli_child_begin();
    mcplug *host = fd < 0 ? NULL : cli_modules_host(cli, false, &err);

    if (!host)
        return CLI_INTERNAL;
    char *described = mcplug_module_describe(host, file, &err);
    if (described) {
        cli_child_report(fd, described, strlen(described));
    } else {
        json_t *object = failed_json(file, "refused", err.text);
        char *dumped = object ? json_dumps(object, JSON_COMPACT) : NULL;
        cli_child_report(fd, dumped ? dumped : "", dumped ? strlen(dumped) : 0);
        free(dumped);
        json_decref(object);
    }
    mcplug_text_free(described);
    mcplug_free(host);
    return CLI_OK;
}

/* ---- finding ---- */

struct search {
    json_t *list;
    const char **files; /* borrow */
    size_t n;
};

static json_t *read_report(const char *file, const struct cli_child *child)
{
    char what[128], why[1024];
    json_t *object = NULL;
    if (child->end == CLI_CHILD_EXITED && child->number == 0 && child->output.len)
        object = json_loadb(child->output.data, child->output.len, 0, NULL);
    if (object && !json_object_get(object, "state"))
        json_object_set_new(object, "state", json_string("ok"));
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

/* What is compiled in is described here; the files are gathered. */
static int gather(struct search *s, mcplug *host, const mcplug_modules *modules,
                  struct mcplug_error *err)
{
    struct mcplug_module m = {.struct_size = sizeof m};
    size_t n = 0;

    while (mcplug_modules_get(modules, n, &m))
        n++;
    s->files = mp_alloc((n + 1) * sizeof *s->files);
    if (!s->files)
        return mp_fail_nomem(err);
    for (size_t i = 0; mcplug_modules_get(modules, i, &m); i++) {
        if (m.file && !m.again) {
            s->files[s->n++] = m.file;
        } else if (!m.file) {
            char *described = mcplug_module_describe(host, m.name, err);
            json_t *object = described ? json_loads(described, 0, NULL) : NULL;
            json_object_set_new(object, "state", json_string("built in"));
            json_array_append_new(s->list, object);
            mcplug_text_free(described);
        }
    }
    return MCPLUG_OK;
}

json_t *cli_modules_find(struct cli *cli, struct mcplug_error *err)
{
    struct search s = {.list = json_array()};
    mcplug *host = s.list ? cli_modules_host(cli, false, err) : NULL;
    mcplug_modules *modules = host ? mcplug_modules_new(host, err) : NULL;

    int r = !s.list ? mp_fail_nomem(err) : modules ? MCPLUG_OK : err->code;
    if (r == MCPLUG_OK)
        r = gather(&s, host, modules, err);
    if (r == MCPLUG_OK && inspect_all(&s, cli->args.verbose > 0) != MCPLUG_OK)
        r = mp_fail_nomem(err);
    mp_free(s.files);
    mcplug_modules_free(modules);
    mcplug_free(host);
    if (r != MCPLUG_OK) {
        json_decref(s.list);
        s.list = NULL;
    }
    return s.list;
}
