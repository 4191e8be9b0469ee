/* Probes, vaults and locators that are asked once by the contract kit, and answer wrongly
 * in one way each. Built once per name below, as
 *   cc .. -DASKED=probe_silent asked.c -o asked_probe_silent.so
 * Those called `good` keep to the rules. */
#include <mcplug/plugin.h>

#include <stddef.h>
#include <unistd.h>

#define A_probe_good 1
#define A_probe_silent 2
#define A_probe_twice 3
#define A_probe_no_reason 4
#define A_vault_good 11
#define A_vault_nothing 12
#define A_vault_no_reason 13
#define A_vault_strange 14
#define A_locator_good 21
#define A_locator_silent 22
#define A_locator_itself 23
#define A_locator_nonsense 24
#define A_locator_greets_badly 25
#define A_locator_hangs 26

#define GLUE_(a, b) a##b
#define GLUE(a, b) GLUE_(a, b)
#define NUMBER GLUE(A_, ASKED)
#define IS(name) (NUMBER == A_##name)

static const struct mcplug_host *host;

/* ---- probe ---- */

static void on_answer(void *arg, struct mcplug_bytes reply,
                      const struct mcplug_error *why)
{
    struct mcplug_error none = MCPLUG_ERROR_INIT;
    (void)reply;
    none.code = MCPLUG_EREFUSED;
    if (!IS(probe_silent))
        host->health->verdict(arg, IS(probe_no_reason) ? &none : why);
    if (IS(probe_twice))
        host->health->verdict(arg, why);
}

static int start(void *ctx, mcplug_check *check, const mcplug_props *settings, void **out,
                 struct mcplug_error *err)
{
    const struct mcplug_bytes none = {NULL, 0};
    (void)ctx, (void)settings, (void)err;
    if (!host->health)
        return host->diag->fail(err, MCPLUG_ENOTSUP, "nobody to ask");
    *out = check;
    return host->health->request(check, "tools/list", none, on_answer, check);
}

static void nothing(void *p)
{
    (void)p;
}

/* ---- vault ---- */

static int get(void *ctx, const char *name, mcplug_buf **out, struct mcplug_error *err)
{
    (void)ctx, (void)err;
    if (IS(vault_strange))
        return 7;
    if (IS(vault_no_reason))
        return MCPLUG_EREFUSED;
    if (name[0] == '?')
        return host->diag->fail(err, MCPLUG_EREFUSED, "there is no \"%s\"", name);
    if (!IS(vault_nothing))
        *out = host->mem->buf_new("s3cret", 6);
    return MCPLUG_OK;
}

/* ---- locator ---- */

static int locate(void *ctx, const mcplug_props *settings, mcplug_place *place,
                  struct mcplug_error *err)
{
    const struct mcplug_place_ops *ops = host->place;
    (void)ctx, (void)err;
    while (IS(locator_hangs))
        pause();
    if (IS(locator_silent))
        return MCPLUG_OK;
    ops->transport(place, IS(locator_itself) ? "asked" : "stdio");
    ops->set(place, "command", host->diag->prop(settings, "program"));
    if (IS(locator_nonsense))
        ops->put(place, "command", "a", "b");
    if (IS(locator_greets_badly))
        ops->greet(place, "notifications/hello", "hello");
    return MCPLUG_OK;
}

/* ---- the descriptor ---- */

static const struct mcplug_option options[] = {
    {"program", "string", "true", "what is found"},
    {NULL, NULL, NULL, NULL},
};

static const struct mcplug_probe_ops probe = {
    .struct_size = sizeof probe, .start = start, .stop = nothing, .destroy = nothing};
static const struct mcplug_vault_ops vault = {.struct_size = sizeof vault, .get = get};
static const struct mcplug_locator_ops locator = {.struct_size = sizeof locator,
                                                  .locate = locate};

static const struct mcplug_feature features[] = {
    {.kind = NUMBER < 10   ? MCPLUG_PROBE
             : NUMBER < 20 ? MCPLUG_VAULT
                           : MCPLUG_LOCATOR,
     .name = "asked",
     .summary = "Answers",
     .options = NUMBER > 20 ? options : NULL,
     .ops = NUMBER < 10   ? (const void *)&probe
            : NUMBER < 20 ? (const void *)&vault
                          : (const void *)&locator},
};

static int init(const struct mcplug_host *h, mcplug_self *self, void **ctx,
                struct mcplug_error *err)
{
    (void)self, (void)ctx, (void)err;
    host = h;
    return MCPLUG_OK;
}

MCPLUG_PLUGIN(asked) = {
    MCPLUG_HEAD(4),       .name = "asked",           .version = "1.0", .license = "MIT",
    .summary = "Answers", MCPLUG_FEATURES(features), .init = init,
};
