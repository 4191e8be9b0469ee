/* Modules that are wrong in one way each. Built once per name below, as
 *   cc .. -DWRONG=no_symbol wrong.c -o wrong_no_symbol.so
 * `newer` is not wrong at all, and must load: it comes from a later release. */
#include <mcplug/plugin.h>

#define W_no_symbol 1
#define W_other_abi 2
#define W_magic 3
#define W_abi_major 4
#define W_abi_needs 5
#define W_struct_size 6
#define W_feature_size 7
#define W_no_name 8
#define W_empty_name 9
#define W_bad_name 10
#define W_long_name 11
#define W_no_version 12
#define W_no_features 13
#define W_null_features 14
#define W_many_features 15
#define W_feature_no_name 16
#define W_feature_bad_name 17
#define W_no_ops 18
#define W_small_ops 19
#define W_no_open 20
#define W_no_send 21
#define W_no_close 22
#define W_no_destroy 23
#define W_no_start 24
#define W_no_stop 25
#define W_no_probe_destroy 26
#define W_no_match 27
#define W_no_convert 28
#define W_twice 29
#define W_option_no_name 30
#define W_option_no_type 31
#define W_option_bad_type 32
#define W_option_no_help 33
#define W_option_twice 34
#define W_option_many 35
#define W_accepts_many 36
#define W_init_fails 37
#define W_init_fails_silently 38
#define W_unresolved 39
#define W_tiny 40
#define W_newer 41
#define W_no_get 42
#define W_small_vault 43

#define GLUE_(a, b) a##b
#define GLUE(a, b) GLUE_(a, b)
#define IS(name) (GLUE(W_, WRONG) == W_##name)

/* ---- functions ---- */

static int open_(void *ctx, mcplug_conn *conn, const mcplug_props *settings, void **out,
                 struct mcplug_error *err)
{
    (void)ctx, (void)conn, (void)settings, (void)out, (void)err;
    return MCPLUG_ENOTSUP;
}

static int send_(void *t, mcplug_buf *frame, const struct mcplug_envelope *env,
                 struct mcplug_error *err)
{
    (void)t, (void)frame, (void)env, (void)err;
    return MCPLUG_ENOTSUP;
}

static int start_(void *ctx, mcplug_check *check, const mcplug_props *settings,
                  void **out, struct mcplug_error *err)
{
    (void)ctx, (void)check, (void)settings, (void)out, (void)err;
    return MCPLUG_ENOTSUP;
}

static void over_(void *instance)
{
    (void)instance;
}

static int match_(void *ctx, const char *mime, const struct mcplug_limits *limits)
{
    (void)ctx, (void)mime, (void)limits;
    return 0;
}

static int convert_(void *ctx, const struct mcplug_task *task, struct mcplug_content *out,
                    struct mcplug_error *err)
{
    (void)ctx, (void)task, (void)out, (void)err;
    return MCPLUG_ENOTSUP;
}

static int get_(void *ctx, const char *name, mcplug_buf **out, struct mcplug_error *err)
{
    (void)ctx, (void)name, (void)out, (void)err;
    return MCPLUG_ENOTSUP;
}

extern int mcplug_test_nobody_has_this(void);

static int init_(const struct mcplug_host *host, mcplug_self *self, void **ctx,
                 struct mcplug_error *err)
{
    (void)self, (void)ctx;
    if (IS(init_fails))
        return host->diag->fail(err, MCPLUG_ECONFIG, "the moon\nis %s", "full");
    if (IS(init_fails_silently))
        return MCPLUG_EIO;
#if IS(unresolved)
    return mcplug_test_nobody_has_this();
#else
    return MCPLUG_OK;
#endif
}

static const struct mcplug_transport_ops transport = {
    .struct_size =
        IS(small_ops) ? offsetof(struct mcplug_transport_ops, destroy) : sizeof transport,
    .open = IS(no_open) ? NULL : open_,
    .send = IS(no_send) ? NULL : send_,
    .close = IS(no_close) ? NULL : over_,
    .destroy = IS(no_destroy) ? NULL : over_,
};

static const struct mcplug_probe_ops probe = {
    .struct_size = sizeof probe,
    .start = IS(no_start) ? NULL : start_,
    .stop = IS(no_stop) ? NULL : over_,
    .destroy = IS(no_probe_destroy) ? NULL : over_,
};

static const struct mcplug_converter_ops converter = {
    .struct_size = sizeof converter,
    .match = IS(no_match) ? NULL : match_,
    .convert = IS(no_convert) ? NULL : convert_,
};

static const struct mcplug_vault_ops vault = {
    .struct_size =
        IS(small_vault) ? offsetof(struct mcplug_vault_ops, get) : sizeof vault,
    .get = IS(no_get) ? NULL : get_,
};

/* ---- tables ---- */

#if IS(option_many)
#define SOME(n)                                                                          \
    {n "0", "int", "0", "-"}, {n "1", "int", "0", "-"}, {n "2", "int", "0", "-"},        \
        {n "3", "int", "0", "-"},                                                        \
    {                                                                                    \
        n "4", "int", "0", "-"                                                           \
    }
#define MANY                                                                             \
    SOME("a"), SOME("b"), SOME("c"), SOME("d"), SOME("e"), SOME("f"), SOME("g"),         \
        SOME("h"), SOME("i"), SOME("j"), SOME("k"), SOME("l"), SOME("m"),
#else
#define MANY
#endif

static const struct mcplug_option options[] = {
    /* clang-format off */
    MANY /* clang-format on */
    {"url", "string", "", "Where"},
    {IS(option_no_name) ? ""
     : IS(option_twice) ? "url"
                        : "wait",
     IS(option_no_type)    ? NULL
     : IS(option_bad_type) ? "float"
                           : "duration",
     "1s", IS(option_no_help) ? NULL : "How long"},
    {NULL, NULL, NULL, NULL},
};

#define FIVE "a", "b", "c", "d", "e"
static const char *const accepts[] = {
#if IS(accepts_many)
    FIVE,    FIVE, FIVE, FIVE, FIVE, FIVE, FIVE, FIVE, FIVE, FIVE, FIVE, FIVE, FIVE,
#endif
    "wrong", NULL,
};

struct feature {
    struct mcplug_feature now;
#if IS(newer)
    const char *later[2]; /* what a later release might append */
#endif
};

static const struct feature features[] = {
    {.now = {.kind = MCPLUG_TRANSPORT,
             .name = IS(feature_no_name)    ? NULL
                     : IS(feature_bad_name) ? "../wrong"
                                            : "wrong",
             .accepts = accepts,
             .options = options,
             .ops = IS(no_ops) ? NULL : &transport}},
    {.now = {.kind = MCPLUG_PROBE, .name = "wrong", .ops = &probe}},
#if IS(newer)
    {.now = {.kind = 9, .name = NULL}, .later = {"x", "y"}},
    {.now = {.kind = 4000000000u, .name = "wrong"}},
#endif
    {.now = {.kind = IS(twice) ? MCPLUG_PROBE : MCPLUG_CONVERTER,
             .name = "wrong",
             .ops = IS(twice) ? (const void *)&probe : &converter}},
    {.now = {.kind = MCPLUG_VAULT, .name = "wrong", .ops = &vault}},
};

/* ---- the descriptor ---- */

struct descriptor {
    struct mcplug_plugin now;
#if IS(newer)
    const char *later[3];
#endif
};

#if IS(no_symbol)
#define DESCRIPTOR mcplug_plugin_of_sorts
#elif IS(other_abi)
#define DESCRIPTOR mcplug_plugin_2
#else
#define DESCRIPTOR mcplug_plugin_1
#endif

#define SIZE                                                                             \
    (IS(tiny)          ? 8                                                               \
     : IS(struct_size) ? offsetof(struct mcplug_plugin, fini)                            \
                       : sizeof(struct descriptor))

extern MCPLUG_VISIBLE const struct descriptor DESCRIPTOR;

const struct descriptor DESCRIPTOR = {
    .now =
        {
            .magic = IS(magic) ? 0x7f454c46 : MCPLUG_MAGIC,
            .struct_size = SIZE,
            .abi_major = IS(abi_major) ? 3 : MCPLUG_ABI_MAJOR,
            .abi_minor = IS(newer) || IS(abi_needs) ? 7 : MCPLUG_ABI_MINOR,
            .abi_needs = IS(abi_needs) ? 7 : 0,
            .feature_size = IS(feature_size) ? offsetof(struct mcplug_feature, ops)
                                             : sizeof(struct feature),
            .name = IS(no_name)      ? NULL
                    : IS(empty_name) ? ""
                    : IS(bad_name)   ? "Wrong Name"
                    : IS(long_name)  ? "a-name-that-is-longer-than-thirty-2"
                                     : "wrong",
            .version = IS(no_version) ? NULL : "1.0",
            .license = "MIT",
            .summary = "Wrong in one way",
            .features = IS(null_features) ? NULL : &features[0].now,
            .n_features = IS(no_features)     ? 0
                          : IS(many_features) ? 65
                                              : sizeof features / sizeof features[0],
            .init = init_,
        },
};
