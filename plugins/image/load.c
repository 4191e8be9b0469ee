/* What an image is by its bytes, its bounds, and its pixels. */
#include "image.h"

#include <string.h>

enum image_type image_sniff(struct mcplug_bytes bytes)
{
    static const struct {
        enum image_type type;
        size_t len;
        const char *magic;
    } magics[] = {{IMAGE_PNG, 8, "\x89PNG\r\n\x1a\n"},
                  {IMAGE_JPEG, 3, "\xff\xd8\xff"},
                  {IMAGE_GIF, 6, "GIF87a"},
                  {IMAGE_GIF, 6, "GIF89a"}};
    for (size_t i = 0; i < sizeof magics / sizeof magics[0]; i++)
        if (bytes.len >= magics[i].len &&
            memcmp(bytes.data, magics[i].magic, magics[i].len) == 0)
            return magics[i].type;
    if (bytes.len >= 12 && memcmp(bytes.data, "RIFF", 4) == 0 &&
        memcmp((const char *)bytes.data + 8, "WEBP", 4) == 0)
        return IMAGE_WEBP;
    return IMAGE_NONE;
}

/* ---- failures ---- */

int image_is_cancelled(const struct image_job *job)
{
    return job->task && job->task->cancelled && job->task->cancelled(job->task->job);
}

int image_fail(struct image_job *job, const char *what)
{
    char *all = vips_error_buffer_copy(), text[128];
    size_t n = 0;
    int r;

    /* Its first line, which may have bytes of the image in it. */
    for (const char *p = all; *p && *p != '\n' && n < sizeof text - 1; p++)
        text[n++] = *p >= ' ' && *p < 127 ? *p : '?';
    text[n] = '\0';
    if (image_is_cancelled(job))
        r = job->host->diag->fail(job->err, MCPLUG_ECANCELED, "cancelled");
    else if (strstr(all, "out of memory"))
        r = job->host->diag->fail(job->err, MCPLUG_ENOMEM,
                                  "not enough memory for %d x %d pixels", job->info.width,
                                  job->info.height);
    else
        r = job->host->diag->fail(job->err, MCPLUG_EPROTO, "%s: %s", what,
                                  n > 0 ? text : "no reason given");
    g_free(all);
    return r;
}

static int fail_broken(struct image_job *job)
{
    char what[48];
    g_snprintf(what, sizeof what, "the %s is truncated or broken",
               image_kinds[job->info.type].name);
    return image_fail(job, what);
}

/* ---- the header ---- */

/* Opens it: the header is read, pixels only when they are asked for, from top to bottom.
 * `shrink` is a factor of 1, 2, 4 or 8 at which JPEG and WebP decode faster. */
static int open_image(const struct image_job *job, int frames, int shrink,
                      VipsFailOn fail_on, VipsImage **out)
{
    void *data = (void *)job->bytes.data;
    size_t len = job->bytes.len;
    switch (job->info.type) {
    case IMAGE_PNG:
        return vips_pngload_buffer(data, len, out, "access", VIPS_ACCESS_SEQUENTIAL,
                                   "fail_on", fail_on, NULL);
    case IMAGE_JPEG:
        return vips_jpegload_buffer(data, len, out, "access", VIPS_ACCESS_SEQUENTIAL,
                                    "fail_on", fail_on, "shrink", shrink, NULL);
    case IMAGE_GIF:
        return vips_gifload_buffer(data, len, out, "access", VIPS_ACCESS_SEQUENTIAL,
                                   "fail_on", fail_on, "n", frames, NULL);
    default:
        return vips_webpload_buffer(data, len, out, "access", VIPS_ACCESS_SEQUENTIAL,
                                    "fail_on", fail_on, "n", frames, "scale",
                                    1.0 / shrink, NULL);
    }
}

static int check_bounds(const struct image_job *job)
{
    const struct image_info *info = &job->info;
    const struct mcplug_limits *limits = job->task ? job->task->limits : NULL;
    uint64_t most = IMAGE_PIXELS_MAX;
    uint64_t pixels = (uint64_t)info->width * (uint64_t)info->height;

    if (limits && limits->max_pixels > 0 && limits->max_pixels < most)
        most = limits->max_pixels;
    if (info->width > IMAGE_SIDE_MAX || info->height > IMAGE_SIDE_MAX)
        return job->host->diag->fail(job->err, MCPLUG_ETOOBIG,
                                     "it is %d x %d pixels; %d a side are allowed",
                                     info->width, info->height, IMAGE_SIDE_MAX);
    if (info->frames > IMAGE_FRAMES_MAX)
        return job->host->diag->fail(job->err, MCPLUG_ETOOBIG,
                                     "it has %d frames; %d are allowed", info->frames,
                                     IMAGE_FRAMES_MAX);
    if (pixels * (uint64_t)info->frames <= most)
        return MCPLUG_OK;
    if (info->frames > 1)
        return job->host->diag->fail(
            job->err, MCPLUG_ETOOBIG,
            "it has %d frames of %d x %d pixels; %llu pixels are allowed", info->frames,
            info->width, info->height, (unsigned long long)most);
    return job->host->diag->fail(job->err, MCPLUG_ETOOBIG,
                                 "it is %d x %d pixels; %llu pixels are allowed",
                                 info->width, info->height, (unsigned long long)most);
}

int image_inspect(struct image_job *job)
{
    struct image_info *info = &job->info;
    VipsImage *image = NULL;
    int orientation;

    *info = (struct image_info){.type = image_sniff(job->bytes)};
    if (job->bytes.len == 0)
        return job->host->diag->fail(job->err, MCPLUG_EPROTO, "it is empty");
    if (info->type == IMAGE_NONE)
        return job->host->diag->fail(job->err, MCPLUG_EPROTO,
                                     "it is neither PNG, JPEG, GIF nor WebP");
    /* The first frame: with all of them libvips refuses what is too high for it. */
    if (open_image(job, 1, 1, VIPS_FAIL_ON_NONE, &image) != 0)
        return fail_broken(job);
    info->frames = vips_image_get_n_pages(image);
    orientation = info->frames > 1 ? 1 : vips_image_get_orientation(image);
    info->is_turned = orientation >= 5 && orientation <= 8;
    info->width = info->is_turned ? image->Ysize : image->Xsize;
    info->height = info->is_turned ? image->Xsize : image->Ysize;
    g_object_unref(image);
    return check_bounds(job);
}

/* ---- pixels ---- */

static void on_progress(VipsImage *image, VipsProgress *progress, struct image_job *job)
{
    (void)progress;
    if (image_is_cancelled(job))
        vips_image_set_kill(image, TRUE);
}

/* What is computed from this image ends when the job is cancelled. */
static void watch(struct image_job *job, VipsImage *image)
{
    vips_image_set_progress(image, TRUE);
    g_signal_connect(image, "eval", G_CALLBACK(on_progress), job);
}

/* What is done by the decoder. That of JPEG drops frequencies, which looks well and takes
 * a fraction of the time; that of WebP takes averages, so half is left to a better
 * filter. */
static int shrink_of(const struct image_job *job, int width, int height, int frames)
{
    int shrink = 1, least = job->info.type == IMAGE_JPEG ? 2 : 4;
    if (frames > 1 || (job->info.type != IMAGE_JPEG && job->info.type != IMAGE_WEBP))
        return 1;
    while (shrink < 8 && job->info.width / width >= shrink * least &&
           job->info.height / height >= shrink * least)
        shrink *= 2;
    return shrink;
}

/* Replaces `*image` by what was made of it, if `r` says that it was. take `*next` */
static int step(VipsImage **image, int r, VipsImage **next)
{
    if (r == 0) {
        g_object_unref(*image);
        *image = *next;
        *next = NULL;
    }
    return r;
}

/* To 8 bit sRGB, or grey. A profile that is broken or of other channels is ignored, as
 * viewers do. */
static int to_srgb(VipsImage **image)
{
    VipsImage *next = NULL;
    int r = 0;

    if (vips_image_get_typeof(*image, VIPS_META_ICC_NAME) != 0) {
        if (vips_icc_transform(*image, &next, "srgb", "embedded", TRUE, "intent",
                               VIPS_INTENT_PERCEPTUAL, "depth", 8, NULL) == 0)
            step(image, 0, &next);
        else
            vips_error_clear();
    }
    VipsInterpretation is = vips_image_guess_interpretation(*image);
    VipsInterpretation want =
        is == VIPS_INTERPRETATION_GREY16 || is == VIPS_INTERPRETATION_B_W
            ? VIPS_INTERPRETATION_B_W
            : VIPS_INTERPRETATION_sRGB;
    if (is != want)
        r = step(image, vips_colourspace(*image, &next, want, NULL), &next);
    if (r == 0 && (*image)->BandFmt != VIPS_FORMAT_UCHAR)
        r = step(image, vips_cast_uchar(*image, &next, NULL), &next);
    return r;
}

static void *drop_field(VipsImage *image, const char *name, GValue *value, void *arg)
{
    static const char *const kept[] = {VIPS_META_PAGE_HEIGHT, VIPS_META_N_PAGES, "delay",
                                       "loop"};
    GSList **names = arg;
    (void)image, (void)value;
    for (size_t i = 0; i < sizeof kept / sizeof kept[0]; i++)
        if (strcmp(name, kept[i]) == 0)
            return NULL;
    *names = g_slist_prepend(*names, g_strdup(name));
    return NULL;
}

/* `image` must be ours alone. */
static void drop_metadata(VipsImage *image)
{
    GSList *names = NULL;
    vips_image_map(image, drop_field, &names);
    for (GSList *at = names; at; at = at->next)
        vips_image_remove(image, at->data);
    g_slist_free_full(names, g_free);
}

static int to_memory(VipsImage **image)
{
    VipsImage *memory = vips_image_copy_memory(*image);
    return memory ? step(image, 0, &memory) : -1;
}

/* In this order: what is large is scaled before its colours are computed, and it is
 * turned in memory, because the decoder goes from top to bottom. */
static int make_upright(VipsImage **image, int width, int height, int frames,
                        int is_turned)
{
    VipsImage *next = NULL;
    int w = is_turned ? height : width, h = is_turned ? width : height;
    int r = 0;

    if (frames == 1 && ((*image)->Xsize != w || (*image)->Ysize != h))
        r = step(image, image_scale(*image, w, h, &next), &next);
    if (r == 0)
        r = to_srgb(image);
    if (r == 0)
        r = to_memory(image);
    if (r == 0 && frames == 1 && vips_image_get_orientation(*image) > 1) {
        r = step(image, vips_autorot(*image, &next, NULL), &next);
        if (r == 0)
            r = to_memory(image);
    }
    if (r == 0)
        r = step(image, vips_copy(*image, &next, NULL), &next);
    if (r == 0)
        drop_metadata(*image);
    if (r == 0 && frames > 1 &&
        ((*image)->Xsize != width || vips_image_get_page_height(*image) != height))
        r = step(image, image_scale(*image, width, height, &next), &next);
    return r;
}

int image_decode(struct image_job *job, int width, int height, int frames,
                 VipsImage **out)
{
    VipsImage *image = NULL;
    int shrink = shrink_of(job, width, height, frames);
    int r = open_image(job, frames, shrink, VIPS_FAIL_ON_TRUNCATED, &image);

    if (r == 0) {
        watch(job, image);
        r = make_upright(&image, width, height, frames, job->info.is_turned);
    }
    if (r == 0) {
        watch(job, image);
        *out = image;
    } else {
        g_clear_object(&image);
        r = fail_broken(job);
    }
    return r;
}
