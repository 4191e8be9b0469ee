/* Locators: one that finds what it is told to, and some that no good module would be. */
#include <mcplug/plugin.h>

#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct module {
    const struct mcplug_host *host;
    unsigned searches;
};

static const char *near(const char *host, char *out, size_t size)
{
    snprintf(out, size, "ws://%s/", host);
    return out;
}

/* Starts "program" with "args" by the transport "to", or finds it "at" a URL; greets and
 * cleans up as told. */
static int found(void *ctx, const mcplug_props *settings, mcplug_place *place,
                 struct mcplug_error *err)
{
    struct module *m = ctx;
    const struct mcplug_diag *diag = m->host->diag;
    const struct mcplug_place_ops *ops = m->host->place;
    const char *greeting = diag->prop(settings, "greeting");
    const char *const *clean_up = diag->prop_list(settings, "after");
    const char *const *args = diag->prop_list(settings, "args");
    int64_t ms = diag->prop_int(settings, "takes", 0);
    char url[300];

    if (ms)
        usleep((useconds_t)ms * 1000);
    if (diag->prop(settings, "fails"))
        return diag->fail(err, MCPLUG_EREFUSED, "%s", diag->prop(settings, "fails"));
    int r = ops->transport(place, diag->prop(settings, "to"));
    if (r == MCPLUG_OK && diag->prop(settings, "at"))
        r = ops->set(place, "url", diag->prop(settings, "at"));
    else if (r == MCPLUG_OK && diag->prop(settings, "near"))
        r = ops->set(place, "url", near(diag->prop(settings, "near"), url, sizeof url));
    else if (r == MCPLUG_OK)
        r = ops->set(place, "command", diag->prop(settings, "program"));
    for (size_t i = 0; r == MCPLUG_OK && args[i]; i++)
        r = ops->add(place, "args", args[i]);
    if (r == MCPLUG_OK)
        r = ops->fact(place, "found", "by the locator");
    if (r == MCPLUG_OK && __atomic_fetch_add(&m->searches, 1, __ATOMIC_RELAXED) == 0)
        r = ops->fact(place, "first", "of all");
    if (r == MCPLUG_OK && greeting)
        r = ops->greet(place, greeting, diag->prop(settings, "params"));
    if (r == MCPLUG_OK && clean_up[0])
        r = ops->clean_up(place, clean_up);
    return r;
}

static int hangs(void *ctx, const mcplug_props *settings, mcplug_place *place,
                 struct mcplug_error *err)
{
    (void)ctx, (void)settings, (void)place, (void)err;
    for (;;)
        pause();
}

static int says_nothing(void *ctx, const mcplug_props *settings, mcplug_place *place,
                        struct mcplug_error *err)
{
    (void)ctx, (void)settings, (void)place, (void)err;
    return MCPLUG_OK;
}

static int says_nonsense(void *ctx, const mcplug_props *settings, mcplug_place *place,
                         struct mcplug_error *err)
{
    struct module *m = ctx;
    (void)settings, (void)err;
    m->host->place->transport(place, "stdio");
    m->host->place->set(place, NULL, NULL);
    m->host->place->put(place, "command", "a", "b");
    m->host->place->greet(place, NULL, NULL);
    m->host->place->clean_up(place, NULL);
    for (int i = 0; i < 1000; i++)
        m->host->place->fact(place, "a", "b");
    return 7;
}

static const struct mcplug_locator_ops found_ops = {sizeof found_ops, 0, found};
static const struct mcplug_locator_ops hangs_ops = {sizeof hangs_ops, 0, hangs};
static const struct mcplug_locator_ops nothing_ops = {sizeof nothing_ops, 0,
                                                      says_nothing};
static const struct mcplug_locator_ops nonsense_ops = {sizeof nonsense_ops, 0,
                                                       says_nonsense};

static const struct mcplug_option options[] = {
    {"to", "string", "stdio", "the transport"},
    {"url", "string", "", "found: and anything"},
    {"program", "string", "true", "what is started"},
    {"args", "list", NULL, "its arguments"},
    {"at", "url", "", "or where it is"},
    {"near", "string", "", "or the host that it is on"},
    {"greeting", "string", "", "a method"},
    {"params", "string", "{}", "and its parameters"},
    {"after", "list", NULL, "a clean-up command"},
    {"takes", "duration", "0", "to answer"},
    {"fails", "string", "", "with this text"},
    {NULL, NULL, NULL, NULL},
};

static const char *const schemes[] = {"found", NULL};

static const struct mcplug_feature features[] = {
    {.kind = MCPLUG_LOCATOR,
     .name = "found",
     .accepts = schemes,
     .summary = "What the settings say",
     .options = options,
     .ops = &found_ops},
    {.kind = MCPLUG_LOCATOR, .name = "hangs", .summary = "Hangs", .ops = &hangs_ops},
    {.kind = MCPLUG_LOCATOR,
     .name = "says-nothing",
     .summary = "Says nothing",
     .ops = &nothing_ops},
    {.kind = MCPLUG_LOCATOR,
     .name = "says-nonsense",
     .summary = "Says nonsense",
     .ops = &nonsense_ops},
};

static int init(const struct mcplug_host *host, mcplug_self *self, void **ctx,
                struct mcplug_error *err)
{
    struct module *m = host->mem->alloc(sizeof *m);
    (void)self, (void)err;
    if (!m)
        return MCPLUG_ENOMEM;
    m->host = host;
    *ctx = m;
    return MCPLUG_OK;
}

static void fini(void *ctx)
{
    struct module *m = ctx;
    m->host->mem->free(m);
}

MCPLUG_PLUGIN(locate) = {
    MCPLUG_HEAD(4),        .name = "locate",          .version = "1", .license = "MIT",
    .summary = "Locators", MCPLUG_FEATURES(features), .init = init,   .fini = fini,
};
