/* Probes that no good module would offer, and some that look at what they are given. */
#include <mcplug/plugin.h>

#include <stddef.h>

struct module {
    const struct mcplug_host *host;
    mcplug_self *self;
};

struct one {
    const struct module *module;
    mcplug_check *check;
    int answers;
    int judges_late; /* a verdict in stop() */
};

#define HEALTH(one) ((one)->module->host->health)
#define SAY(one, ...)                                                                    \
    (one)->module->host->diag->log((one)->module->self, MCPLUG_LOG_WARN, __VA_ARGS__)

static const struct mcplug_bytes none = {NULL, 0};

static struct one *make(void *ctx, mcplug_check *check, void **out)
{
    const struct module *module = ctx;
    struct one *one = module->host->mem->alloc(sizeof *one);
    if (one == NULL)
        return NULL;
    one->module = module;
    one->check = check;
    *out = one;
    return one;
}

static void stop(void *p)
{
    struct one *one = p;
    SAY(one, "stopped");
    if (one->judges_late)
        HEALTH(one)->verdict(one->check, NULL);
}

static void destroy(void *p)
{
    struct one *one = p;
    SAY(one, "destroyed");
    one->module->host->mem->free(one);
}

#define START(name)                                                                      \
    static int name(void *ctx, mcplug_check *check, const mcplug_props *settings,        \
                    void **out, struct mcplug_error *err)
#define BEGIN()                                                                          \
    struct one *one = make(ctx, check, out);                                             \
    (void)settings, (void)err;                                                           \
    if (one == NULL)                                                                     \
    return MCPLUG_ENOMEM

START(inside)
{
    BEGIN();
    HEALTH(one)->verdict(check, NULL);
    return MCPLUG_OK;
}

START(twice)
{
    struct mcplug_error why = {
        .struct_size = sizeof why, .code = MCPLUG_EIO, .text = "the second word"};
    BEGIN();
    HEALTH(one)->verdict(check, NULL);
    HEALTH(one)->verdict(check, &why);
    HEALTH(one)->verdict(check, &why);
    return MCPLUG_OK;
}

START(mute)
{
    struct mcplug_error why = MCPLUG_ERROR_INIT;
    BEGIN();
    HEALTH(one)->verdict(check, &why);
    return MCPLUG_OK;
}

START(never)
{
    BEGIN();
    return MCPLUG_OK;
}

START(late)
{
    BEGIN();
    one->judges_late = 1;
    return MCPLUG_OK;
}

START(refuses)
{
    const struct module *module = ctx;
    (void)check, (void)settings, (void)out;
    return module->host->diag->fail(err, MCPLUG_EREFUSED, "not today");
}

static void on_nothing(void *arg, struct mcplug_bytes reply,
                       const struct mcplug_error *why)
{
    (void)arg, (void)reply, (void)why;
    __builtin_trap(); /* nobody is there any more */
}

START(both)
{
    const struct module *module = ctx;
    (void)settings, (void)out, (void)err;
    module->host->health->request(check, "ping", none, on_nothing, NULL);
    module->host->health->verdict(check, NULL);
    return 7;
}

static void on_answer(void *arg, struct mcplug_bytes reply,
                      const struct mcplug_error *why)
{
    struct one *one = arg;
    SAY(one, "answer %d: %.*s%s", ++one->answers, (int)reply.len,
        reply.data ? (const char *)reply.data : "", why ? why->text : "");
    HEALTH(one)->verdict(one->check, why);
}

START(asks)
{
    static const char params[] = "{\"cursor\":\"x\"}";
    struct mcplug_bytes text = {(const unsigned char *)params, sizeof params - 1};
    BEGIN();
    int r = HEALTH(one)->request(check, "tools/list", text, on_answer, one);
    if (r != MCPLUG_OK)
        one->module->host->mem->free(one);
    return r;
}

/* As many as it can; says how many, and asks once more after the verdict. */
START(greedy)
{
    int n = 0, r;
    BEGIN();
    while ((r = HEALTH(one)->request(check, "ping", none, on_nothing, one)) == MCPLUG_OK)
        n++;
    SAY(one, "%d requests, then %d", n, r);
    HEALTH(one)->verdict(check, NULL);
    SAY(one, "and then %d", HEALTH(one)->request(check, "ping", none, on_nothing, one));
    return MCPLUG_OK;
}

START(looks)
{
    BEGIN();
    const struct mcplug_target *t = HEALTH(one)->target(check);
    SAY(one, "%s %s %s %s %d %d", t->server, t->transport, t->url ? t->url : "-",
        t->revision, (int)t->pid, (int)t->silent_ms);
    const struct mcplug_diag *diag = one->module->host->diag;
    const char *const *headers = diag->prop_list(settings, "headers");
    SAY(one, "%s %s=%s", diag->prop(settings, "healthUrl"),
        headers[0] ? headers[0] : "no header", headers[0] ? headers[1] : "");
    HEALTH(one)->verdict(check, NULL);
    return MCPLUG_OK;
}

START(measures)
{
    BEGIN();
    const struct mcplug_diag *diag = one->module->host->diag;
    const char *const *words = diag->prop_list(settings, "words");
    const char *const *marks = diag->prop_list(settings, "marks");
    SAY(one, "limit %d, unit %s, words %s %s, marks %s=%s",
        (int)diag->prop_int(settings, "limit", 0), diag->prop(settings, "unit"),
        words[0] ? words[0] : "-", words[0] && words[1] ? words[1] : "-",
        marks[0] ? marks[0] : "-", marks[0] ? marks[1] : "-");
    HEALTH(one)->verdict(check, NULL);
    return MCPLUG_OK;
}

static int probes_init(const struct mcplug_host *host, mcplug_self *self, void **ctx,
                       struct mcplug_error *err)
{
    struct module *module = host->mem->alloc(sizeof *module);
    if (module == NULL)
        return host->diag->fail(err, MCPLUG_ENOMEM, "out of memory");
    *module = (struct module){host, self};
    *ctx = module;
    return MCPLUG_OK;
}

static void probes_fini(void *ctx)
{
    struct module *module = ctx;
    module->host->mem->free(module);
}

#define OPS(name)                                                                        \
    (const struct mcplug_probe_ops[1])                                                   \
    {                                                                                    \
        {                                                                                \
            .struct_size = sizeof(struct mcplug_probe_ops), .start = name, .stop = stop, \
            .destroy = destroy                                                           \
        }                                                                                \
    }
#define PROBE(text, fn)                                                                  \
    {                                                                                    \
        .kind = MCPLUG_PROBE, .name = text, .summary = text, .ops = OPS(fn)              \
    }

static const struct mcplug_option options[] = {
    {"healthUrl", "string", NULL, "where to look"},
    {"headers", "map", NULL, "for the same origin"},
    {"url", "string", "", "where to look as well"},
    {NULL, NULL, NULL, NULL},
};
static const struct mcplug_option measured[] = {
    {"limit", "int", NULL, "what is too much"},
    {"unit", "string", "percent", "of the limit"},
    {"words", "list", NULL, "some words"},
    {"marks", "map", NULL, "some pairs"},
    {NULL, NULL, NULL, NULL},
};
static const char *const schemes[] = {"https", NULL};

static const struct mcplug_feature features[] = {
    PROBE("odd-inside", inside),
    PROBE("odd-twice", twice),
    PROBE("odd-mute", mute),
    PROBE("odd-never", never),
    PROBE("odd-late", late),
    PROBE("odd-refuses", refuses),
    PROBE("odd-both", both),
    PROBE("odd-asks", asks),
    PROBE("odd-greedy", greedy),
    {
        .kind = MCPLUG_PROBE,
        .name = "odd-looks",
        .summary = "looks around",
        .accepts = schemes,
        .options = options,
        .ops = OPS(looks),
    },
    {
        .kind = MCPLUG_PROBE,
        .name = "odd-measures",
        .summary = "says what it was given",
        .options = measured,
        .ops = OPS(measures),
    },
};

MCPLUG_PLUGIN(probes) = {
    MCPLUG_HEAD(0),    MCPLUG_FEATURES(features), .name = "probes",
    .version = "1.0",  .license = "MIT",          .summary = "Probes of the tests",
    .origin = "tests", .init = probes_init,       .fini = probes_fini,
};
