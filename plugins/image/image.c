/* The converter `image`, on libvips. */
#include "image.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <vips/vector.h>

struct module {
    const struct mcplug_host *host;
    /* Of libgomp, or NULL: see find_gomp(). */
    int (*threads_get)(void);
    void (*threads_set)(int n);
};

const struct image_kind image_kinds[] = {
    [IMAGE_PNG] = {"image/png", "PNG", 0},
    [IMAGE_JPEG] = {"image/jpeg", "JPEG", 0},
    [IMAGE_GIF] = {"image/gif", "GIF", 1},
    [IMAGE_WEBP] = {"image/webp", "WebP", 1},
    [IMAGE_PAM] = {"image/x-portable-arbitrarymap", "PAM", 0},
};

enum image_type image_type_of(const char *mime)
{
    for (int type = 0; mime && type < IMAGE_NONE; type++)
        if (strcasecmp(mime, image_kinds[type].mime) == 0)
            return type;
    return IMAGE_NONE;
}

static int match(void *ctx, const char *mime, const struct mcplug_limits *limits)
{
    enum image_type type = image_type_of(mime);
    (void)ctx;
    if (type == IMAGE_NONE || type == IMAGE_PAM)
        return 0;
    if (!limits || !limits->want_mime)
        return 90;
    switch (image_type_of(limits->want_mime)) {
    case IMAGE_PAM:
        return 80;
    case IMAGE_NONE:
        return 0;
    default:
        return 90;
    }
}

static int convert(void *ctx, const struct mcplug_task *task, struct mcplug_content *out,
                   struct mcplug_error *err)
{
    struct module *module = ctx;
    struct image_job job = {.host = module->host, .task = task, .err = err};
    int threads = module->threads_get ? module->threads_get() : 0;
    int r;

    if (!task->in->body)
        return module->host->diag->fail(err, MCPLUG_EINVAL, "there are no bytes");
    if (threads > 1)
        module->threads_set(1);
    job.bytes = module->host->mem->buf_bytes(task->in->body);
    r = image_inspect(&job);
    if (r == 0)
        r = image_convert(&job, out);
    if (threads > 1)
        module->threads_set(threads);
    vips_error_clear();
    vips_thread_shutdown(); /* what libvips keeps for this thread */
    return r;
}

/* ---- the start of libvips ---- */

static void drop_message(const char *domain, GLogLevelFlags level, const char *text,
                         void *arg)
{
    (void)domain, (void)level, (void)text, (void)arg;
}

/* libvips loads dynamic modules (ImageMagick, poppler, OpenSlide ..) from below VIPSHOME,
 * which it sets in the environment if it is not there. None of them is wanted, so it is
 * shown a place where there can be none, and the environment is left as it was. Where the
 * user has set VIPSHOME that stays in force; what is loaded from there is blocked. */
static int start_without_modules(void)
{
    int is_set = g_getenv("VIPSHOME") != NULL;
    int r;
    if (!is_set)
        g_setenv("VIPSHOME", "/dev/null", TRUE);
    r = VIPS_INIT("mcplug");
    if (!is_set)
        g_unsetenv("VIPSHOME");
    return r;
}

/* The quantiser of libvips has its loops run by OpenMP, whose threads spin while they
 * wait: on a machine that is busy it takes three times as long as with one, and always
 * twice the processor time. The setting is the calling thread's. */
static void find_gomp(struct module *module)
{
    void *gomp = dlopen("libgomp.so.1", RTLD_LAZY | RTLD_NOLOAD);
    void *get = gomp ? dlsym(gomp, "omp_get_max_threads") : NULL;
    void *set = gomp ? dlsym(gomp, "omp_set_num_threads") : NULL;
    if (get && set) {
        memcpy(&module->threads_get, &get, sizeof get);
        memcpy(&module->threads_set, &set, sizeof set);
    }
}

/* A tiny image with alpha and a profile, through every loader, the transform of colours,
 * scaling and every saver: what libraries read or allocate late is there after that. */
static int warm_up(struct image_job *job)
{
    VipsImage *black = NULL, *grey = NULL, *sample = NULL, *back = NULL;
    VipsBlob *profile = NULL;
    struct image_file file = {NULL, 0};
    double alpha = 128;
    int r = vips_black(&black, 32, 32, "bands", 3, NULL) ||
            vips_bandjoin_const(black, &grey, &alpha, 1, NULL) ||
            vips_copy(grey, &sample, "interpretation", VIPS_INTERPRETATION_sRGB, NULL) ||
            vips_profile_load("srgb", &profile, NULL);
    if (r == 0)
        vips_image_set_blob_copy(sample, VIPS_META_ICC_NAME, VIPS_AREA(profile)->data,
                                 VIPS_AREA(profile)->length);
    for (int type = IMAGE_PNG; r == 0 && type <= IMAGE_WEBP; type++) {
        r = image_save(sample, type, 80, &file);
        job->bytes = (struct mcplug_bytes){file.data, file.len};
        if (r == 0)
            r = image_inspect(job);
        if (r == 0)
            r = image_decode(job, 20, 20, 1, &back); /* not by the decoder */
        g_clear_object(&back);
        g_clear_pointer(&file.data, g_free);
    }
    if (r == 0)
        r = image_save_64(sample, &file);
    if (r != 0 && job->err->code == 0)
        r = image_fail(job, "a first image");
    g_free(file.data);
    g_clear_object(&sample);
    g_clear_object(&grey);
    g_clear_object(&black);
    if (profile)
        vips_area_unref(VIPS_AREA(profile));
    return r;
}

static int image_init(const struct mcplug_host *host, mcplug_self *self, void **ctx,
                      struct mcplug_error *err)
{
    /* libvips is there once per process, and for as long as that lives. */
    static pthread_mutex_t alone = PTHREAD_MUTEX_INITIALIZER;
    struct module *module = host->mem->alloc(sizeof *module);
    struct mcplug_error why = MCPLUG_ERROR_INIT;
    struct image_job job = {.host = host, .err = &why};
    int r;

    (void)self;
    if (!module)
        return host->diag->fail(err, MCPLUG_ENOMEM, "out of memory");
    module->host = host;
    find_gomp(module);
    pthread_mutex_lock(&alone);
    g_log_set_handler("VIPS", G_LOG_LEVEL_MASK | G_LOG_FLAG_FATAL | G_LOG_FLAG_RECURSION,
                      drop_message, NULL);
    r = start_without_modules();
    if (r == 0) {
        vips_block_untrusted_set(TRUE);
        vips_concurrency_set(1);
        vips_cache_set_max(0);
        /* It scales faster, but compiles code into files of the user's home. The worker
         * has none, so there it is a file of /tmp that is unlinked at once. */
        vips_vector_set_enabled(!getenv("HOME"));
        r = warm_up(&job);
    } else {
        image_fail(&job, "it does not start");
    }
    pthread_mutex_unlock(&alone);
    if (r == 0) {
        *ctx = module;
        return MCPLUG_OK;
    }
    host->mem->free(module);
    return host->diag->fail(err, MCPLUG_EIO, "libvips cannot be used: %s", why.text);
}

static void image_fini(void *ctx)
{
    struct module *module = ctx;
    module->host->mem->free(module);
}

static const struct mcplug_converter_ops ops = {
    .struct_size = sizeof ops, .match = match, .convert = convert};

static const char *const accepts[] = {"image/png", "image/jpeg", "image/gif",
                                      "image/webp", NULL};

/* The core looks at it and gives us limits; it is here to be known. */
static const struct mcplug_option options[] = {
    {"maxSide", "int", "2000", "pixels a side that models get; 0: any number"},
    {NULL, NULL, NULL, NULL},
};

static const struct mcplug_feature features[] = {{.kind = MCPLUG_CONVERTER,
                                                  .name = "image",
                                                  .summary = "Images that fit a model",
                                                  .accepts = accepts,
                                                  .options = options,
                                                  .ops = &ops}};

MCPLUG_PLUGIN(image) = {MCPLUG_HEAD(4),
                        .name = "image",
                        .version = "0.1.0",
                        .license = "MIT",
                        .summary = "Images that fit a model",
                        .origin = "mcplug",
                        MCPLUG_FEATURES(features),
                        .init = image_init,
                        .fini = image_fini};
