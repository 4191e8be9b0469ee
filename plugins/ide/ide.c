/* ide: editors on this machine that run a server, found by their lock files. Locators,
 * one for each dialect: they say where the editor listens and what token it wants, and
 * the transports websocket, sse and http do the rest.
 *
 * ../common/ide.c has the search, which the command's `mcplug ide` uses too. */
#include "../common/ide.h"
#include "../common/url.h"
#include "../common/web_post.h"
#include "../common/ws_options.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct module {
    const struct mcplug_host *host;
    mcplug_self *self;
};

struct dialect {
    const char *name;      /* as editors call it */
    const char *transport; /* as we do */
    int family;            /* of tokens that are given without an editor */
    int greets;
    const struct mcplug_option *options;
};

/* What is found, on its way; all of it is large. */
struct search {
    const struct mcplug_host *host;
    const struct dialect *dialect;
    struct ide_search where;
    struct ide ide; /* its port is 0 when the settings have a URL */
    char url[URL_MAX];
    const char *header; /* the field that carries the token; NULL: it wants none */
    char value[IDE_TOKEN_MAX + 16];
    char why[400];
};

/* ---- looking ---- */

static int look(struct search *s, mcplug_self *self, const char *name,
                struct mcplug_error *err)
{
    const struct mcplug_host *host = s->host;
    const struct mcplug_json *json = host->service(self, "json", 1);

    if (json == NULL)
        return host->diag->fail(err, MCPLUG_ENOTSUP, "this core has no service json 1");
    ide_search_from_environment(&s->where, host->mem->alloc, host->mem->free);
    s->where.check_ports = 0; /* connecting will tell, and why */
    int r = ide_choose(json, &s->where, s->dialect->name, name, &s->ide, s->why,
                       sizeof s->why);
    if (r != MCPLUG_OK)
        return host->diag->fail(err, r, "%s", s->why);
    ide_url(&s->ide, s->url, sizeof s->url);
    return MCPLUG_OK;
}

static int set_token(struct search *s, const char *token, int family,
                     struct mcplug_error *err)
{
    const char *before;

    if (token[0] == '\0')
        return MCPLUG_OK;
    if (!ide_token_valid(token))
        return s->host->diag->fail(err, MCPLUG_ECONFIG,
                                   "authToken: 10 to 500 visible ASCII characters");
    s->header = ide_token_header(family, &before);
    snprintf(s->value, sizeof s->value, "%s%s", before, token);
    return MCPLUG_OK;
}

/* As the settings say, and for what they leave open, the best editor that runs a server
 * of this dialect. */
static int find(struct search *s, mcplug_self *self, const mcplug_props *settings,
                struct mcplug_error *err)
{
    const struct mcplug_diag *diag = s->host->diag;
    const char *url = diag->prop(settings, "url");
    const char *token = diag->prop(settings, "authToken");

    token = token != NULL ? token : "";
    if (url != NULL && strlen(url) >= sizeof s->url)
        return diag->fail(err, MCPLUG_ECONFIG, "url: too long");
    if (url != NULL && url[0] != '\0') {
        snprintf(s->url, sizeof s->url, "%s", url);
        return set_token(s, token, s->dialect->family, err);
    }
    int r = look(s, self, diag->prop(settings, "ideName"), err);
    if (r == MCPLUG_OK)
        r = set_token(s, token[0] != '\0' ? token : s->ide.token, s->ide.family, err);
    return r;
}

/* ---- the answer ---- */

static int is_own(const char *name)
{
    return strcmp(name, "url") == 0 || strcmp(name, "authToken") == 0 ||
           strcmp(name, "ideName") == 0;
}

/* The settings of the wire go on as they are. */
static int pass_on(const struct mcplug_host *host, const struct mcplug_option *options,
                   const mcplug_props *settings, mcplug_place *place)
{
    int r = MCPLUG_OK;

    for (const struct mcplug_option *o = options; r == MCPLUG_OK && o->name; o++) {
        if (is_own(o->name))
            continue;
        const char *value = host->diag->prop(settings, o->name);
        const char *const *map = host->diag->prop_list(settings, o->name);
        if (strcmp(o->type, "map") != 0)
            r = value != NULL ? host->place->set(place, o->name, value) : MCPLUG_OK;
        else
            for (size_t i = 0; r == MCPLUG_OK && map[i] != NULL; i += 2)
                r = host->place->put(place, o->name, map[i], map[i + 1]);
    }
    return r;
}

static int takes(const struct mcplug_option *options, const char *name)
{
    while (options->name != NULL && strcmp(options->name, name) != 0)
        options++;
    return options->name != NULL;
}

static int answer(const struct search *s, const mcplug_props *settings,
                  mcplug_place *place)
{
    const struct mcplug_place_ops *ops = s->host->place;
    char greeting[48];

    int r = ops->transport(place, s->dialect->transport);
    if (r == MCPLUG_OK)
        r = ops->set(place, "url", s->url);
    if (r == MCPLUG_OK && s->header != NULL)
        r = ops->put(place, "headers", s->header, s->value);
    if (r == MCPLUG_OK)
        r = pass_on(s->host, s->dialect->options, settings, place);
    /* It is on this machine; its token, which stands in no entry, goes nowhere else. */
    if (r == MCPLUG_OK && s->ide.port != 0 && takes(s->dialect->options, "proxy"))
        r = ops->set(place, "proxy", "none");
    if (r == MCPLUG_OK && s->ide.port != 0)
        r = ops->fact(place, "ide", s->ide.name);
    if (r == MCPLUG_OK && s->ide.workspace[0] != '\0')
        r = ops->fact(place, "workspace", s->ide.workspace);
    if (r == MCPLUG_OK && s->dialect->greets) {
        snprintf(greeting, sizeof greeting, "{\"pid\":%ld}", (long)getpid());
        r = ops->greet(place, "ide_connected", greeting);
    }
    return r;
}

static int locate(void *ctx, const struct dialect *dialect, const mcplug_props *settings,
                  mcplug_place *place, struct mcplug_error *err)
{
    const struct module *module = ctx;
    const struct mcplug_host *host = module->host;
    struct search *s = host->mem->alloc(sizeof *s);

    if (s == NULL)
        return host->diag->fail(err, MCPLUG_ENOMEM, "out of memory");
    s->host = host;
    s->dialect = dialect;
    int r = find(s, module->self, settings, err);
    if (r == MCPLUG_OK)
        r = answer(s, settings, place);
    explicit_bzero(s, sizeof *s); /* there is a token in it */
    host->mem->free(s);
    return r;
}

/* ---- the dialects ---- */

#define IDE_OPTIONS                                                                      \
    {"url", "url", "", "where the editor listens; found by its lock file by default"},   \
        {"authToken", "secret", "", "the editor's token, 10 to 500 ASCII characters"},   \
    {                                                                                    \
        "ideName", "string", "", "use the editor of this name"                           \
    }

static const struct mcplug_option web_options[] = {
    IDE_OPTIONS,
    WEB_OPTIONS,
    {NULL, NULL, NULL, NULL},
};

static const struct mcplug_option ws_options[] = {
    IDE_OPTIONS,
    WS_OPTIONS,
    {NULL, NULL, NULL, NULL},
};

static int ws_locate(void *ctx, const mcplug_props *settings, mcplug_place *place,
                     struct mcplug_error *err)
{
    static const struct dialect ws = {"ws", "websocket", IDE_LOCK, 1, ws_options};
    return locate(ctx, &ws, settings, place, err);
}

static int sse_locate(void *ctx, const mcplug_props *settings, mcplug_place *place,
                      struct mcplug_error *err)
{
    static const struct dialect sse = {"sse", "sse", IDE_LOCK, 1, web_options};
    return locate(ctx, &sse, settings, place, err);
}

static int http_locate(void *ctx, const mcplug_props *settings, mcplug_place *place,
                       struct mcplug_error *err)
{
    static const struct dialect http = {"http", "http", IDE_COMPANION, 0, web_options};
    return locate(ctx, &http, settings, place, err);
}

/* ---- the module ---- */

static int ide_init(const struct mcplug_host *host, mcplug_self *self, void **ctx,
                    struct mcplug_error *err)
{
    struct module *module = host->mem->alloc(sizeof *module);

    if (module == NULL)
        return host->diag->fail(err, MCPLUG_ENOMEM, "out of memory");
    *module = (struct module){host, self};
    *ctx = module;
    return MCPLUG_OK;
}

static void ide_fini(void *ctx)
{
    struct module *module = ctx;
    module->host->mem->free(module);
}

static const struct mcplug_locator_ops ws_ops = {sizeof ws_ops, 0, ws_locate};
static const struct mcplug_locator_ops sse_ops = {sizeof sse_ops, 0, sse_locate};
static const struct mcplug_locator_ops http_ops = {sizeof http_ops, 0, http_locate};

static const struct mcplug_feature features[] = {
    {
        .kind = MCPLUG_LOCATOR,
        .name = "ws-ide",
        .summary = "an editor on this machine, WebSocket",
        .options = ws_options,
        .ops = &ws_ops,
    },
    {
        .kind = MCPLUG_LOCATOR,
        .name = "sse-ide",
        .summary = "an editor on this machine, HTTP+SSE",
        .options = web_options,
        .ops = &sse_ops,
    },
    {
        .kind = MCPLUG_LOCATOR,
        .name = "http-ide",
        .summary = "an editor on this machine, Streamable HTTP",
        .options = web_options,
        .ops = &http_ops,
    },
};

MCPLUG_PLUGIN(ide) = {
    MCPLUG_HEAD(4),   MCPLUG_FEATURES(features), .name = "ide",
    .version = "1.0", .license = "MIT",          .summary = "Editors on this machine",
    .init = ide_init, .fini = ide_fini,
};
