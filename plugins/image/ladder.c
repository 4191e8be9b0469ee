/* The steps down to a size that fits: first of the same format, then of ever less. */
#include "image.h"

#include <math.h>

/* A step scales to so many percent of what the pixel cap leaves, or into a square. */
struct rung {
    const char *name;
    int percent, side;
    enum image_type type; /* IMAGE_NONE: the format that is wanted */
    int quality;          /* 0: 64 colours */
};

static const struct rung rungs[] = {
    {"100 %", 100, 0, IMAGE_NONE, 80},    {"75 %", 75, 0, IMAGE_NONE, 80},
    {"50 %", 50, 0, IMAGE_NONE, 80},      {"25 %", 25, 0, IMAGE_NONE, 80},
    {"64 colours", 0, 800, IMAGE_PNG, 0}, {"jpeg 50", 0, 600, IMAGE_JPEG, 50},
    {"jpeg 20", 0, 400, IMAGE_JPEG, 20},
};

struct size {
    int width, height;
};

static int scaled(int side, double by)
{
    int n = (int)lround(side * by);
    return n < 1 ? 1 : n;
}

/* Into max_width x max_height (0: none), never enlarged, its aspect kept. */
static struct size fit(struct size size, uint32_t max_width, uint32_t max_height)
{
    double by = 1;
    if (max_width > 0 && (double)max_width / size.width < by)
        by = (double)max_width / size.width;
    if (max_height > 0 && (double)max_height / size.height < by)
        by = (double)max_height / size.height;
    return (struct size){scaled(size.width, by), scaled(size.height, by)};
}

static struct size size_of(const struct rung *rung, struct size size)
{
    if (rung->percent > 0)
        return (struct size){scaled(size.width, rung->percent / 100.0),
                             scaled(size.height, rung->percent / 100.0)};
    return fit(size, (uint32_t)rung->side, (uint32_t)rung->side);
}

/* ---- what comes out ---- */

static void tell(struct image_job *job, const char *step, struct size size, int frames)
{
    const struct mcplug_task *task = job->task;
    char text[16];
    if (!MCPLUG_HAS(task, struct mcplug_task, fact))
        return;
    task->fact(task->job, "step", step);
    g_snprintf(text, sizeof text, "%d", size.width);
    task->fact(task->job, "width", text);
    g_snprintf(text, sizeof text, "%d", size.height);
    task->fact(task->job, "height", text);
    g_snprintf(text, sizeof text, "%d", frames);
    if (frames > 1)
        task->fact(task->job, "frames", text);
}

static int put(struct image_job *job, const struct image_file *file, enum image_type type,
               struct mcplug_content *out)
{
    mcplug_buf *body = job->host->mem->buf_new(file->data, file->len);
    if (!body)
        return job->host->diag->fail(job->err, MCPLUG_ENOMEM, "out of memory");
    out->mime = image_kinds[type].mime;
    out->body = body;
    return MCPLUG_OK;
}

static int put_unchanged(struct image_job *job, struct mcplug_content *out)
{
    const struct image_info *info = &job->info;
    out->mime = image_kinds[info->type].mime;
    out->body = job->host->mem->buf_ref(job->task->in->body);
    tell(job, "unchanged", (struct size){info->width, info->height}, info->frames);
    return MCPLUG_OK;
}

/* ---- the ladder ---- */

/* Encodes `base` as the step has it; `size` is then its size. */
static int try_rung(const struct rung *rung, VipsImage *base, enum image_type type,
                    struct size *size, struct image_file *file)
{
    struct size full = {base->Xsize, vips_image_get_page_height(base)};
    VipsImage *first = NULL, *small = NULL, *in = base;
    int r = 0;

    *size = size_of(rung, full);
    if (!image_kinds[type].has_animation && image_frames(in) > 1) {
        r = image_first(in, &first);
        in = first;
    }
    if (r == 0 && (size->width != full.width || size->height != full.height)) {
        r = image_scale(in, size->width, size->height, &small);
        in = small;
    }
    if (r == 0)
        r = rung->quality == 0 ? image_save_64(in, file)
                               : image_save(in, type, rung->quality, file);
    g_clear_object(&small);
    g_clear_object(&first);
    return r;
}

/* The first step that fits. One that fails, for want of memory or because the format
 * has no such sizes, is followed by a smaller one. */
static int descend(struct image_job *job, VipsImage *base, enum image_type want,
                   struct mcplug_content *out)
{
    uint64_t most = job->task->limits->max_bytes;
    size_t n_rungs = want == IMAGE_PAM ? 1 : sizeof rungs / sizeof rungs[0];
    int n_saved = 0;

    for (size_t i = 0; i < n_rungs && !image_is_cancelled(job); i++) {
        enum image_type type = rungs[i].type == IMAGE_NONE ? want : rungs[i].type;
        struct image_file file = {NULL, 0};
        struct size size;
        int r = try_rung(&rungs[i], base, type, &size, &file), fits = 0;
        if (r == 0) {
            n_saved++;
            fits = most == 0 || file.len <= most;
        }
        if (fits && (r = put(job, &file, type, out)) == 0)
            tell(job, rungs[i].name, size,
                 image_kinds[type].has_animation ? image_frames(base) : 1);
        g_free(file.data);
        if (fits)
            return r;
    }
    if (image_is_cancelled(job) || n_saved == 0)
        return image_fail(job, "it cannot be encoded");
    return job->host->diag->fail(job->err, MCPLUG_ETOOBIG,
                                 "even its smallest form is above %llu bytes",
                                 (unsigned long long)most);
}

int image_convert(struct image_job *job, struct mcplug_content *out)
{
    const struct mcplug_limits *limits = job->task->limits;
    const struct image_info *info = &job->info;
    enum image_type want =
        limits->want_mime ? image_type_of(limits->want_mime) : info->type;
    struct size full = {info->width, info->height};
    struct size size = fit(full, limits->max_width, limits->max_height);
    VipsImage *base = NULL;
    int r;

    if (want == IMAGE_NONE)
        return job->host->diag->fail(job->err, MCPLUG_ENOTSUP,
                                     "images are not converted to %.64s",
                                     limits->want_mime);
    if (want == info->type && size.width == full.width && size.height == full.height &&
        (limits->max_bytes == 0 || job->bytes.len <= limits->max_bytes))
        return put_unchanged(job, out);
    r = image_decode(job, size.width, size.height,
                     image_kinds[want].has_animation ? info->frames : 1, &base);
    if (r == 0)
        r = descend(job, base, want, out);
    g_clear_object(&base);
    return r;
}
