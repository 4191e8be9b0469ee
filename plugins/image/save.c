/* Scaling, and one format each. Every function returns what libvips does, 0 or -1. */
#include "image.h"

#include <string.h>

int image_frames(VipsImage *in)
{
    return in->Ysize / vips_image_get_page_height(in);
}

int image_first(VipsImage *in, VipsImage **out)
{
    VipsImage *frame = NULL;
    int r = vips_extract_area(in, &frame, 0, 0, in->Xsize, vips_image_get_page_height(in),
                              NULL);
    if (r == 0)
        r = vips_copy(frame, out, NULL);
    if (r == 0) {
        vips_image_remove(*out, VIPS_META_PAGE_HEIGHT);
        vips_image_remove(*out, VIPS_META_N_PAGES);
        vips_image_remove(*out, "delay");
        vips_image_remove(*out, "loop");
    }
    g_clear_object(&frame);
    return r;
}

/* ---- scaling ---- */

static int scale_opaque(VipsImage *in, int width, int height, VipsImage **out)
{
    double across = (double)width / in->Xsize, down = (double)in->Ysize / height;
    VipsImage *low = NULL;
    int r;

    if (!image_can_shrink_across(in, width) || down < 1 || down >= 4)
        return vips_resize(in, out, across, "vscale", 1 / down, NULL);
    r = vips_reducev(in, &low, down, NULL);
    if (r == 0)
        r = image_shrink_across(low, width, out);
    g_clear_object(&low);
    return r;
}

/* Colours are weighted by alpha, so that what is transparent does not shine through. */
static int scale_frame(VipsImage *in, int width, int height, VipsImage **out)
{
    double across = (double)width / in->Xsize, down = (double)height / in->Ysize;
    VipsImage *weighted = NULL, *scaled = NULL, *plain = NULL;
    int r;

    if (!vips_image_hasalpha(in))
        return scale_opaque(in, width, height, out);
    r = vips_premultiply(in, &weighted, NULL) ||
        vips_resize(weighted, &scaled, across, "vscale", down, NULL) ||
        vips_unpremultiply(scaled, &plain, NULL) ||
        vips_cast(plain, out, in->BandFmt, NULL);
    g_clear_object(&plain);
    g_clear_object(&scaled);
    g_clear_object(&weighted);
    return r ? -1 : 0;
}

static int scale_nth(VipsImage *in, int n, int width, int height, VipsImage **out)
{
    int high = vips_image_get_page_height(in);
    VipsImage *frame = NULL, *scaled = NULL;
    int r = vips_extract_area(in, &frame, 0, n * high, in->Xsize, high, NULL);
    if (r == 0)
        r = scale_frame(frame, width, height, &scaled);
    if (r == 0) {
        *out = vips_image_copy_memory(scaled);
        r = *out ? 0 : -1;
    }
    g_clear_object(&scaled);
    g_clear_object(&frame);
    return r;
}

static int scale_all(VipsImage *in, int width, int height, int n, VipsImage **out)
{
    VipsImage **frames = g_new0(VipsImage *, (size_t)n), *joined = NULL;
    int r = 0;
    for (int i = 0; r == 0 && i < n; i++)
        r = scale_nth(in, i, width, height, &frames[i]);
    if (r == 0)
        r = vips_arrayjoin(frames, &joined, n, "across", 1, NULL);
    if (r == 0) {
        *out = vips_image_copy_memory(joined);
        r = *out ? 0 : -1;
    }
    if (r == 0)
        vips_image_set_int(*out, VIPS_META_PAGE_HEIGHT, height);
    g_clear_object(&joined);
    for (int i = 0; i < n; i++)
        g_clear_object(&frames[i]);
    g_free(frames);
    return r;
}

int image_scale(VipsImage *in, int width, int height, VipsImage **out)
{
    int n = image_frames(in);
    return n > 1 ? scale_all(in, width, height, n, out)
                 : scale_frame(in, width, height, out);
}

/* ---- formats ---- */

static int save_jpeg(VipsImage *in, int quality, struct image_file *out)
{
    VipsArrayDouble *white = vips_array_double_newv(1, 255.0);
    VipsImage *opaque = NULL;
    int r = 0;
    if (vips_image_hasalpha(in))
        r = vips_flatten(in, &opaque, "background", white, NULL);
    if (r == 0)
        r = vips_jpegsave_buffer(opaque ? opaque : in, &out->data, &out->len, "Q",
                                 quality, "optimize_coding", TRUE, "strip", TRUE, NULL);
    g_clear_object(&opaque);
    vips_area_unref(VIPS_AREA(white));
    return r;
}

/* "P7", then rows of red, green, blue and alpha. */
static int save_pam(VipsImage *in, struct image_file *out)
{
    VipsImage *colour = NULL, *full = NULL;
    char head[128];
    size_t len = 0, n;
    void *pixels = NULL;
    int r = vips_colourspace(in, &colour, VIPS_INTERPRETATION_sRGB, NULL);
    if (r == 0)
        r = vips_image_hasalpha(colour) ? vips_copy(colour, &full, NULL)
                                        : vips_addalpha(colour, &full, NULL);
    if (r == 0) {
        pixels = vips_image_write_to_memory(full, &len);
        r = pixels ? 0 : -1;
    }
    if (r == 0) {
        n = (size_t)g_snprintf(head, sizeof head,
                               "P7\nWIDTH %d\nHEIGHT %d\nDEPTH 4\nMAXVAL 255\n"
                               "TUPLTYPE RGB_ALPHA\nENDHDR\n",
                               full->Xsize, full->Ysize);
        out->data = g_try_malloc(n + len);
        out->len = n + len;
        if (out->data) {
            memcpy(out->data, head, n);
            memcpy((char *)out->data + n, pixels, len);
        } else {
            vips_error("image", "out of memory");
            r = -1;
        }
    }
    g_free(pixels);
    g_clear_object(&full);
    g_clear_object(&colour);
    return r;
}

/* The quantiser's effort, of 1 to 10. Its usual 7 takes twice as long, and makes files
 * that are 1 % smaller; with 5 they are 10 % larger. */
#define EFFORT 6

static int save_still(VipsImage *in, enum image_type type, int quality,
                      struct image_file *out)
{
    switch (type) {
    case IMAGE_PNG:
        return vips_pngsave_buffer(in, &out->data, &out->len, "compression", 9, "palette",
                                   TRUE, "effort", EFFORT, "strip", TRUE, NULL);
    case IMAGE_JPEG:
        return save_jpeg(in, quality, out);
    default:
        return save_pam(in, out);
    }
}

int image_save(VipsImage *in, enum image_type type, int quality, struct image_file *out)
{
    VipsImage *first = NULL;
    int r;

    if (type == IMAGE_GIF)
        return vips_gifsave_buffer(in, &out->data, &out->len, "effort", EFFORT, "strip",
                                   TRUE, NULL);
    if (type == IMAGE_WEBP)
        return vips_webpsave_buffer(in, &out->data, &out->len, "Q", quality, "strip",
                                    TRUE, NULL);
    r = image_first(in, &first);
    if (r == 0)
        r = save_still(first, type, quality, out);
    g_clear_object(&first);
    return r;
}

/* A palette of PNG is 1, 2, 4 or 8 bits deep, and libvips chooses as many colours as
 * these can name: 64 is none of them. The GIF saver of libvips does know 6 bits, so its
 * quantiser picks the 64 colours; the PNG, 8 bits deep, keeps them and has no others.
 * What is partly transparent becomes opaque or transparent on the way. */
int image_save_64(VipsImage *in, struct image_file *out)
{
    VipsImage *first = NULL, *few = NULL;
    struct image_file gif = {NULL, 0};
    int r = image_first(in, &first);
    if (r == 0)
        r = vips_gifsave_buffer(first, &gif.data, &gif.len, "bitdepth", 6, "effort",
                                EFFORT, "strip", TRUE, NULL);
    if (r == 0)
        r = vips_gifload_buffer(gif.data, gif.len, &few, "access", VIPS_ACCESS_SEQUENTIAL,
                                NULL);
    if (r == 0)
        r = vips_pngsave_buffer(few, &out->data, &out->len, "compression", 9, "palette",
                                TRUE, "dither", 0.0, "strip", TRUE, NULL);
    g_clear_object(&few);
    g_clear_object(&first);
    g_free(gif.data);
    return r;
}
