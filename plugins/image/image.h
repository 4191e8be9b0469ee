/* plugins/image/image.h - images that fit a model, on libvips.
 *
 *   image.c   what the core sees: match and convert, and the start of libvips
 *   load.c    what an image is by its bytes, its bounds, and its pixels
 *   ladder.c  the steps down to a size that fits
 *   save.c    one format each, and scaling
 *   across.c  scaling from left to right, which takes longest
 *
 * Input is hostile: only the loaders of the four types are ever called, each by name, and
 * none decodes before width, height and frames are within bounds. Images are decoded
 * once, as 8 bit grey or sRGB with or without alpha, upright and without metadata; each
 * step starts from those pixels. [any]
 */
#ifndef MCPLUG_IMAGE_H
#define MCPLUG_IMAGE_H

#include <mcplug/plugin.h>

#include <vips/vips.h>

enum {
    IMAGE_SIDE_MAX = 16384,       /* pixels */
    IMAGE_PIXELS_MAX = 100000000, /* of all frames together */
    IMAGE_FRAMES_MAX = 4096
};

enum image_type { IMAGE_PNG, IMAGE_JPEG, IMAGE_GIF, IMAGE_WEBP, IMAGE_PAM, IMAGE_NONE };

struct image_kind {
    const char *mime, *name;
    int has_animation; /* as far as we read and write it */
};

extern const struct image_kind image_kinds[]; /* by enum image_type */

/* What the header says. */
struct image_info {
    enum image_type type;
    int width, height; /* as it is shown: EXIF's orientation is taken into account */
    int frames;        /* 1: not animated */
    int is_turned;     /* width and height are swapped in the file */
};

/* One conversion. */
struct image_job {
    const struct mcplug_host *host;
    const struct mcplug_task *task;
    struct mcplug_error *err;
    struct mcplug_bytes bytes;
    struct image_info info;
};

/* What was encoded; `data` is g_malloc()'s. */
struct image_file {
    void *data;
    size_t len;
};

/* ---- load.c ---- */

/* By the first bytes alone. */
enum image_type image_sniff(struct mcplug_bytes bytes);
enum image_type image_type_of(const char *mime);
/* Reads the header into job->info, and refuses what is out of bounds. */
int image_inspect(struct image_job *job);
/* Decodes `frames` frames (1, or all) and scales them to width x height, which are not
 * larger than those of job->info. give `out`, in memory: the frames one below the other,
 * "page-height" says how. */
int image_decode(struct image_job *job, int width, int height, int frames,
                 VipsImage **out);
int image_is_cancelled(const struct image_job *job);
/* Fails with what libvips says, which is cleared; or with MCPLUG_ECANCELED. */
int image_fail(struct image_job *job, const char *what);

/* ---- save.c ---- */

int image_frames(VipsImage *in);
/* The first frame. give `out`; 0 or -1, as libvips has it, for all of save.c */
int image_first(VipsImage *in, VipsImage **out);
/* Each frame by itself, so that none bleeds into the next. give `out`, in memory. */
int image_scale(VipsImage *in, int width, int height, VipsImage **out);
int image_save(VipsImage *in, enum image_type type, int quality, struct image_file *out);
/* A PNG with at most 64 colours. */
int image_save_64(VipsImage *in, struct image_file *out);

/* ---- across.c ---- */

/* For 8 bit images, to less than their width and more than a quarter of it. */
int image_can_shrink_across(VipsImage *in, int width);
/* As vips_reduceh() does, in a third of the time. give `out`, which is computed when it
 * is asked for; 0 or -1 */
int image_shrink_across(VipsImage *in, int width, VipsImage **out);

/* ---- ladder.c ---- */

/* All but reading the header. */
int image_convert(struct image_job *job, struct mcplug_content *out);

#endif
