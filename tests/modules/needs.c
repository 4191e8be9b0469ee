/* needs.c - a library of which a function is missing, and modules that need it.
 *
 *   needs_lib.so   -DLIBRARY: calls nowhere(), which nobody has, in a function that is
 *                  not used
 *   needs.so       uses the library
 *   needs_path.so  the same, with a search path of its own
 */
int nowhere(void);
int needs_answer(void);
int needs_unused(void);

#ifdef LIBRARY

int needs_answer(void)
{
    return 42;
}

int needs_unused(void)
{
    return nowhere();
}

#else

#include <mcplug/plugin.h>

static int needs_init(const struct mcplug_host *host, mcplug_self *self, void **ctx,
                      struct mcplug_error *err)
{
    (void)self, (void)ctx;
    return needs_answer() == 42 ? MCPLUG_OK
                                : host->diag->fail(err, MCPLUG_EIO, "another library");
}

static const struct {
    uint32_t struct_size, caps;
} table = {sizeof table, 0};

static const struct mcplug_feature features[] = {
    {
        .kind = MCPLUG_SERVICE,
        .name = "needs",
        .summary = "nothing",
        .ops = &table,
        .version = 1,
    },
};

MCPLUG_PLUGIN(needs) = {
    MCPLUG_HEAD(4),   MCPLUG_FEATURES(features),    .name = "needs",    .version = "1.0",
    .license = "MIT", .summary = "needs a library", .init = needs_init,
};

#endif
