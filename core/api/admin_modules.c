/* <mcplug/admin.h>: modules. */
#include <mcplug/admin.h>

#include "api/host.h"
#include "base/option.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/mem.h"

#include <string.h>

#define DESCRIBED_MAX ((size_t)4 << 20)

/* ---- listing ---- */

struct listed {
    char *name, *file;
    bool again;
};

struct mcplug_modules {
    const struct mp_catalogue *catalogue;
    struct listed *list;
    size_t n, cap;
    bool failed;
};

static bool note(void *arg, const struct mp_listed *one)
{
    mcplug_modules *m = arg;

    if (!mp_grow(&m->list, &m->cap, m->n + 1)) {
        m->failed = true;
        return false;
    }
    struct listed *l = &m->list[m->n++];
    *l = (struct listed){.name = mp_strdup(one->name),
                         .file = one->file ? mp_strdup(one->file) : NULL,
                         .again = one->again};
    m->failed = !l->name || (one->file && !l->file);
    return !m->failed;
}

mcplug_modules *mcplug_modules_new(mcplug *host, struct mcplug_error *err)
{
    if (!host) {
        mp_fail_null(err, "`host`");
        return NULL;
    }
    mcplug_modules *m = mp_alloc(sizeof *m);

    if (m) {
        m->catalogue = host->catalogue;
        m->failed = mp_catalogue_each(host->catalogue, note, m) != MCPLUG_OK || m->failed;
    }
    if (!m || m->failed) {
        mp_fail_nomem(err);
        mcplug_modules_free(m);
        m = NULL;
    }
    return m;
}

void mcplug_modules_free(mcplug_modules *modules)
{
    if (!modules)
        return;
    for (size_t i = 0; i < modules->n; i++) {
        mp_free(modules->list[i].name);
        mp_free(modules->list[i].file);
    }
    mp_free(modules->list);
    mp_free(modules);
}

int mcplug_modules_get(const mcplug_modules *modules, size_t i, struct mcplug_module *out)
{
    if (!modules || !out || i >= modules->n)
        return 0;
    const struct listed *l = &modules->list[i];
    struct mcplug_module m = {.again = l->again, .name = l->name, .file = l->file};
    mp_give_struct(out, m);
    return 1;
}

const char *mcplug_modules_dir(const mcplug_modules *modules, size_t i)
{
    return modules ? mp_catalogue_dir(modules->catalogue, i) : NULL;
}

/* ---- packages ---- */

struct each {
    int (*fn)(void *arg, const struct mcplug_packaged *one);
    void *arg;
};

static bool pass_on(void *arg, const struct mp_packaged *one)
{
    const struct each *each = arg;
    struct mcplug_packaged p = {.struct_size = sizeof p,
                                .kind = one->kind,
                                .name = one->name,
                                .package = one->package,
                                .summary = one->summary};
    return each->fn(each->arg, &p) != 0;
}

int mcplug_packages_each(int (*fn)(void *arg, const struct mcplug_packaged *one),
                         void *arg)
{
    return fn ? mp_packages_each(NULL, pass_on, &(struct each){fn, arg}) : MCPLUG_EINVAL;
}

/* ---- describing ---- */

/* A member of an object, with a comma before it unless it is the first. */
static void add_text(struct mp_str *out, const char *name, const char *text)
{
    mp_str_addf(
        out, "%s\"%s\":", out->failed || out->data[out->len - 1] == '{' ? "" : ",", name);
    if (text)
        mp_str_add_json(out, text, strlen(text));
    else
        mp_str_adds(out, "null");
}

static void add_option(struct mp_str *out, const struct mcplug_option *o)
{
    bool many = strcmp(o->type, "list") == 0 || strcmp(o->type, "map") == 0;

    mp_str_addc(out, '{');
    add_text(out, "name", o->name);
    add_text(out, "type", o->type);
    mp_str_addf(out, ",\"required\":%s", !o->fallback && !many ? "true" : "false");
    add_text(out, "default", o->fallback && *o->fallback ? o->fallback : NULL);
    add_text(out, "help", o->help);
    mp_str_addc(out, '}');
}

/* Of a kind that this core does not know nothing but the kind can be read. */
static void add_feature(struct mp_str *out, const struct mcplug_feature *f)
{
    bool known = mp_kind_known(f->kind);

    mp_str_addc(out, '{');
    add_text(out, "kind", mp_kind_name(f->kind));
    add_text(out, "name", known ? f->name : NULL);
    add_text(out, "summary", known ? f->summary : NULL);
    mp_str_adds(out, ",\"accepts\":[");
    for (size_t i = 0; known && f->accepts && f->accepts[i]; i++) {
        mp_str_adds(out, i ? "," : "");
        mp_str_add_json(out, f->accepts[i], strlen(f->accepts[i]));
    }
    mp_str_adds(out, "],\"options\":[");
    bool any = false;
    for (size_t i = 0; known && f->options && f->options[i].name; i++) {
        if (strcmp(f->options[i].type, MP_ADDRESSES) == 0)
            continue; /* people cannot set it */
        mp_str_adds(out, any ? "," : "");
        add_option(out, &f->options[i]);
        any = true;
    }
    mp_str_adds(out, "]}");
}

static void add_module(struct mp_str *out, const struct mcplug_plugin *d,
                       const char *file)
{
    mp_str_addc(out, '{');
    add_text(out, "name", d->name);
    add_text(out, "version", d->version);
    add_text(out, "file", file);
    add_text(out, "summary", d->summary);
    add_text(out, "license", d->license);
    add_text(out, "origin", d->origin);
    mp_str_addf(out, ",\"abi\":\"%u.%u\",\"needs\":%u,\"features\":[", d->abi_major,
                d->abi_minor, d->abi_needs);
    for (size_t i = 0; i < d->n_features; i++) {
        struct mcplug_feature f = mp_plugin_feature(d, i);
        mp_str_adds(out, i ? "," : "");
        add_feature(out, &f);
    }
    mp_str_adds(out, "]}");
}

static const struct mcplug_plugin *built_in(mcplug *host, const char *name)
{
    const struct mcplug_plugin *d;

    for (size_t i = 0; (d = mp_catalogue_builtin(host->catalogue, i)); i++)
        if (mp_plugin_handshake(d, name, NULL) == MCPLUG_OK && strcmp(d->name, name) == 0)
            return d;
    return NULL;
}

char *mcplug_module_describe(mcplug *host, const char *module, struct mcplug_error *err)
{
    if (mp_host_check(host, err) != MCPLUG_OK)
        return NULL;
    if (!module) {
        mp_fail_null(err, "`module`");
        return NULL;
    }
    const struct mcplug_plugin *d = strchr(module, '/') ? NULL : built_in(host, module);
    const char *file = d ? NULL : module;
    const struct mp_plugin *plugin = NULL;
    struct mp_str text;

    if (!d) {
        if (mp_catalogue_load(host->catalogue, module, &plugin, err) != MCPLUG_OK)
            return NULL;
        d = plugin->descriptor;
    }
    mp_str_init(&text, DESCRIBED_MAX);
    add_module(&text, d, file);
    char *described = mp_str_take(&text);
    if (!described)
        mp_fail_nomem(err);
    return described;
}
