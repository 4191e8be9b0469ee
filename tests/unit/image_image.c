/* The converter `image`: which step fits, what comes out of each kind of image, and what
 * is refused. The images are made here, by libvips. */
#include "base/buf.h"
#include "base/mem.h"
#include "plugin/catalogue.h"
#include "quick.h"
#include "suite.h"

#include <check.h>
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <malloc.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include <vips/vips.h>
#include <zlib.h>

#define TEST_SKIP 77 /* as automake has it */

static char module_path[PATH_MAX];
static struct mcplug_host host;
static const struct mcplug_plugin *plugin;
static const struct mcplug_converter_ops *ops;
static void *ctx;

static struct mcplug_error err;
static struct mcplug_content out;
static struct mcplug_bytes got;
static struct {
    char step[32];
    int width, height, frames;
} facts;
static GPtrArray *images, *texts; /* what a test has made, until it ends */
static int polls_left;            /* until the job is cancelled; -1: never */

/* ---- one conversion ---- */

static int on_fact(const mcplug_job *job, const char *name, const char *value)
{
    (void)job;
    if (strcmp(name, "step") == 0)
        snprintf(facts.step, sizeof facts.step, "%s", value);
    else if (strcmp(name, "width") == 0)
        facts.width = atoi(value);
    else if (strcmp(name, "height") == 0)
        facts.height = atoi(value);
    else if (strcmp(name, "frames") == 0)
        facts.frames = atoi(value);
    else
        ck_abort_msg("fact %s", name);
    return MCPLUG_OK;
}

static int is_cancelled(const mcplug_job *job)
{
    (void)job;
    if (polls_left > 0)
        polls_left--;
    return polls_left == 0;
}

static int convert_bytes(const void *data, size_t len, struct mcplug_limits limits)
{
    mcplug_buf *body = host.mem->buf_new(data, len);
    struct mcplug_content in = {sizeof in, "image/png", body, -1, 0, len};
    struct mcplug_task task = {sizeof task,  &in,  &limits, NULL,
                               is_cancelled, NULL, on_fact};
    limits.struct_size = sizeof limits;
    mp_buf_unref(out.body);
    out = (struct mcplug_content){.struct_size = sizeof out, .fd = -1};
    err = (struct mcplug_error)MCPLUG_ERROR_INIT;
    memset(&facts, 0, sizeof facts);
    int r = ops->convert(ctx, &task, &out, &err);
    ck_assert_int_eq(err.code, r);
    if (r == 0) {
        ck_assert_ptr_nonnull(out.body);
        got = host.mem->buf_bytes(out.body);
    } else {
        ck_assert_ptr_null(out.body);
        ck_assert_uint_gt(strlen(err.text), 0);
    }
    host.mem->buf_unref(body);
    return r;
}

#define CONVERT(file, ...)                                                               \
    convert_bytes((file).data, (file).len, (struct mcplug_limits){__VA_ARGS__})
#define CONVERTS(file, ...)                                                              \
    do {                                                                                 \
        int r_ = CONVERT(file, __VA_ARGS__);                                             \
        ck_assert_msg(r_ == 0, "%d %s", r_, err.text);                                   \
    } while (0)

#define ASSERT_IS(mime_, step_, width_, height_)                                         \
    do {                                                                                 \
        ck_assert_str_eq(out.mime, mime_);                                               \
        ck_assert_str_eq(facts.step, step_);                                             \
        ck_assert_int_eq(facts.width, width_);                                           \
        ck_assert_int_eq(facts.height, height_);                                         \
    } while (0)

/* ---- images ---- */

struct file {
    void *data;
    size_t len;
};

enum { SHARP, NOISY };

static VipsImage *keep(VipsImage *image)
{
    g_ptr_array_add(images, image);
    return image;
}

static VipsImage *from_pixels(const uint8_t *pixels, int width, int height, int bands)
{
    size_t len = (size_t)width * (size_t)height * (size_t)bands;
    VipsImage *plain = vips_image_new_from_memory_copy(pixels, len, width, height, bands,
                                                       VIPS_FORMAT_UCHAR);
    VipsImage *image = NULL;
    ck_assert_int_eq(
        vips_copy(plain, &image, "interpretation",
                  bands < 3 ? VIPS_INTERPRETATION_B_W : VIPS_INTERPRETATION_sRGB, NULL),
        0);
    g_object_unref(plain);
    return keep(image);
}

/* Four quarters: red, green above blue, white; or noise, of 512 colours, as the quantiser
 * takes long with more. Alpha, the last of 2 or 4 bands, is 0 in the last quarter. */
static VipsImage *quarters(int width, int height, int bands, int kind)
{
    static const uint8_t colours[4][4] = {
        {255, 0, 0, 255}, {0, 255, 0, 255}, {0, 0, 255, 255}, {255, 255, 255, 0}};
    uint8_t *pixels = malloc((size_t)width * (size_t)height * (size_t)bands), *p = pixels;
    unsigned seed = 1;
    for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++) {
            const uint8_t *c = colours[2 * (y >= height / 2) + (x >= width / 2)];
            for (int b = 0; b < bands; b++) {
                seed = seed * 1103515245 + 12345;
                int is_alpha = bands % 2 == 0 && b == bands - 1;
                *p++ = is_alpha        ? c[3]
                       : kind == SHARP ? c[b]
                                       : (uint8_t)(seed >> 16 & 0xe0);
            }
        }
    VipsImage *image = from_pixels(pixels, width, height, bands);
    free(pixels);
    return image;
}

#define SAVED(image, suffix, ...)                                                        \
    ({                                                                                   \
        struct file f_;                                                                  \
        int r_ =                                                                         \
            vips_##suffix##save_buffer(image, &f_.data, &f_.len, ##__VA_ARGS__, NULL);   \
        ck_assert_msg(r_ == 0, "%s", vips_error_buffer());                               \
        g_ptr_array_add(texts, f_.data);                                                 \
        f_;                                                                              \
    })

/* What came out, decoded; "n" is ignored by those that have no frames. */
static VipsImage *decoded(void)
{
    VipsImage *image = vips_image_new_from_buffer(
        got.data, got.len,
        strcmp(out.mime, "image/gif") == 0 || strcmp(out.mime, "image/webp") == 0
            ? "[n=-1]"
            : "",
        NULL);
    ck_assert_msg(image != NULL, "%s", vips_error_buffer());
    return keep(image);
}

static double *point(VipsImage *image, int x, int y)
{
    double *c = NULL;
    int n = 0;
    ck_assert_int_eq(vips_getpoint(image, &c, &n, x, y, NULL), 0);
    g_ptr_array_add(texts, c);
    return c;
}

static VipsImage *in_space(VipsImage *image, VipsInterpretation space)
{
    VipsImage *to = NULL;
    ck_assert_int_eq(vips_colourspace(image, &to, space, NULL), 0);
    return keep(to);
}

static void assert_colour(VipsImage *image, double x, double y, int red, int green,
                          int blue)
{
    const int want[3] = {red, green, blue};
    const double *c = point(in_space(image, VIPS_INTERPRETATION_sRGB),
                            (int)(x * image->Xsize), (int)(y * image->Ysize));
    for (int i = 0; i < 3; i++)
        ck_assert_msg(c[i] > want[i] - 24 && c[i] < want[i] + 24,
                      "at %.2f, %.2f: %.0f %.0f %.0f, not %d %d %d", x, y, c[0], c[1],
                      c[2], red, green, blue);
}

/* The quarters are where they were. */
static void assert_upright(void)
{
    VipsImage *image = decoded();
    ck_assert_int_eq(image->Xsize, facts.width);
    ck_assert_int_eq(image->Ysize, facts.height);
    assert_colour(image, .25, .25, 255, 0, 0);
    assert_colour(image, .75, .25, 0, 255, 0);
    assert_colour(image, .25, .75, 0, 0, 255);
    assert_colour(image, .75, .75, 255, 255, 255);
}

static int has(const char *field)
{
    return vips_image_get_typeof(decoded(), field) != 0;
}

static double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static void setup(void)
{
    static const struct mp_catalogue_options options;
    void *so = dlopen(module_path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    ck_assert_msg(so != NULL, "%s", dlerror());
    plugin = dlsym(so, MCPLUG_SYMBOL);
    ck_assert_ptr_nonnull(plugin);
    mp_host_init(&host, &options, "/nowhere");
    ck_assert_msg(plugin->init(&host, NULL, &ctx, &err) == 0, "%s", err.text);
    ops = plugin->features[0].ops;
    polls_left = -1;
    images = g_ptr_array_new_with_free_func(g_object_unref);
    texts = g_ptr_array_new_with_free_func(g_free);
}

static void teardown(void)
{
    mp_buf_unref(out.body);
    out.body = NULL;
    g_ptr_array_unref(images);
    g_ptr_array_unref(texts);
    plugin->fini(ctx);
}

/* ---- what is accepted ---- */

START_TEST(the_four_types_are_accepted_and_turned_into_each_other)
{
    static const char *const types[] = {"image/png", "image/jpeg", "image/gif",
                                        "image/webp"};
    struct mcplug_limits limits = {.struct_size = sizeof limits};
    for (size_t i = 0; i < MP_COUNT(types); i++) {
        limits.want_mime = NULL;
        ck_assert_int_eq(ops->match(ctx, types[i], &limits), 90);
        limits.want_mime = types[3 - i];
        ck_assert_int_eq(ops->match(ctx, types[i], &limits), 90);
        limits.want_mime = "image/x-portable-arbitrarymap";
        ck_assert_int_eq(ops->match(ctx, types[i], &limits), 80);
        limits.want_mime = "text/plain";
        ck_assert_int_eq(ops->match(ctx, types[i], &limits), 0);
    }
    limits.want_mime = NULL;
    ck_assert_int_eq(ops->match(ctx, "image/svg+xml", &limits), 0);
    ck_assert_int_eq(ops->match(ctx, "image/tiff", &limits), 0);

    struct file png = SAVED(quarters(300, 200, 3, SHARP), png);
    for (size_t i = 1; i < MP_COUNT(types); i++) {
        CONVERTS(png, .want_mime = types[i]);
        ASSERT_IS(types[i], "100 %", 300, 200);
        assert_upright();
    }
    ck_assert_int_eq(CONVERT(png, .want_mime = "image/tiff"), MCPLUG_ENOTSUP);
    ck_assert_str_eq(err.text, "images are not converted to image/tiff");
}
END_TEST

START_TEST(within_both_limits_the_very_bytes_come_back)
{
    VipsImage *image = quarters(200, 100, 3, SHARP);
    struct file files[] = {SAVED(image, png), SAVED(image, jpeg), SAVED(image, gif),
                           SAVED(image, webp)};
    static const char *const types[] = {"image/png", "image/jpeg", "image/gif",
                                        "image/webp"};
    for (size_t i = 0; i < MP_COUNT(files); i++) {
        CONVERTS(files[i], 0);
        ASSERT_IS(types[i], "unchanged", 200, 100);
        CONVERTS(files[i], .max_width = 200, .max_height = 100, .max_bytes = files[i].len,
                 .max_pixels = 20000);
        ASSERT_IS(types[i], "unchanged", 200, 100);
        ck_assert_uint_eq(got.len, files[i].len);
        ck_assert_int_eq(memcmp(got.data, files[i].data, got.len), 0);
        CONVERTS(files[i], .max_width = 199);
        ASSERT_IS(types[i], "100 %", 199, 100);
    }
}
END_TEST

/* ---- the ladder ---- */

/* How many entries the palette of a PNG has; 0: none. */
static unsigned palette_size(void)
{
    const uint8_t *p = got.data;
    for (size_t i = 8; i + 12 <= got.len;) {
        size_t len = (size_t)p[i] << 24 | (size_t)p[i + 1] << 16 | (size_t)p[i + 2] << 8 |
                     p[i + 3];
        if (memcmp(p + i + 4, "PLTE", 4) == 0)
            return (unsigned)(len / 3);
        i += len + 12;
    }
    return 0;
}

START_TEST(each_step_is_taken_when_the_one_before_is_too_large)
{
    static const struct {
        const char *step, *mime;
        int width, height;
    } steps[] = {{"100 %", "image/png", 3600, 16},    {"75 %", "image/png", 2700, 12},
                 {"50 %", "image/png", 1800, 8},      {"25 %", "image/png", 900, 4},
                 {"64 colours", "image/png", 800, 4}, {"jpeg 50", "image/jpeg", 600, 3},
                 {"jpeg 20", "image/jpeg", 400, 2}};
    struct file png = SAVED(quarters(3600, 16, 3, NOISY), png);
    uint64_t most = png.len - 1;
    char text[64];
    for (size_t i = 0; i < MP_COUNT(steps); i++) {
        CONVERTS(png, .max_bytes = most);
        ASSERT_IS(steps[i].mime, steps[i].step, steps[i].width, steps[i].height);
        ck_assert_uint_le(got.len, most);
        if (i == 3)
            ck_assert_uint_gt(palette_size(), 64);
        if (i == 4) {
            ck_assert_uint_gt(palette_size(), 16);
            ck_assert_uint_le(palette_size(), 64);
        }
        most = got.len - 1;
    }
    CONVERTS(png, .max_bytes = most + 1);
    ck_assert_int_eq(CONVERT(png, .max_bytes = most), MCPLUG_ETOOBIG);
    snprintf(text, sizeof text, "even its smallest form is above %d bytes", (int)most);
    ck_assert_str_eq(err.text, text);
}
END_TEST

START_TEST(the_pixel_cap_comes_first_and_keeps_the_aspect)
{
    struct file jpeg = SAVED(quarters(3000, 1000, 3, SHARP), jpeg, "Q", 95);
    CONVERTS(jpeg, .max_width = 2000, .max_height = 2000, .max_bytes = 3932160);
    ASSERT_IS("image/jpeg", "100 %", 2000, 667);
    assert_upright();
    CONVERTS(jpeg, .max_width = 2000, .max_height = 100);
    ASSERT_IS("image/jpeg", "100 %", 300, 100);
    assert_upright();
    CONVERTS(jpeg, .max_width = 2000, .max_bytes = got.len + 4000);
    ck_assert_int_le(facts.width, 1500);
    struct file line = SAVED(quarters(3000, 2, 3, SHARP), png);
    CONVERTS(line, .max_width = 100);
    ASSERT_IS("image/png", "100 %", 100, 1);
}
END_TEST

START_TEST(nothing_is_ever_enlarged)
{
    struct file png = SAVED(quarters(90, 60, 3, NOISY), png);
    CONVERTS(png, .max_bytes = png.len - 1);
    ck_assert_int_le(facts.width, 90);
    CONVERTS(png, .want_mime = "image/x-portable-arbitrarymap", .max_width = 500,
             .max_height = 500);
    ASSERT_IS("image/x-portable-arbitrarymap", "100 %", 90, 60);
    for (uint64_t most = png.len - 1; CONVERT(png, .max_bytes = most) == 0;
         most = got.len - 1) {
        ck_assert_int_le(facts.width, 90);
        ck_assert_int_le(facts.height, 60);
    }
    ck_assert_int_eq(err.code, MCPLUG_ETOOBIG);
}
END_TEST

/* The raster that came out, against what libvips alone makes of the image. That knows 64
 * places between two pixels, which with noise is a difference of some levels. */
static void assert_scaled_as(VipsImage *image, int width, int height)
{
    VipsImage *scaled = NULL, *colour;
    ck_assert_int_eq(vips_resize(image, &scaled, (double)width / image->Xsize, "vscale",
                                 (double)height / image->Ysize, NULL),
                     0);
    colour = in_space(keep(scaled), VIPS_INTERPRETATION_sRGB);
    size_t len, n = (size_t)width * (size_t)height;
    uint8_t *want = vips_image_write_to_memory(colour, &len);
    const uint8_t *p = got.data + got.len - n * 4;
    g_ptr_array_add(texts, want);
    ck_assert_uint_eq(len, n * 3);
    for (size_t i = 0; i < n * 3; i++)
        HOLDS(abs(p[i / 3 * 4 + i % 3] - want[i]) <= 8,
              "to %d x %d: pixel %zu, band %zu is %d, not %d", width, height, i / 3,
              i % 3, p[i / 3 * 4 + i % 3], want[i]);
}

START_TEST(pixels_are_scaled_as_libvips_does)
{
    static const int sizes[][2] = {{300, 61}, {299, 61}, {201, 41}, {200, 41}, {151, 31},
                                   {100, 20}, {77, 16},  {76, 15},  {75, 15},  {20, 4}};
    for (int bands = 1; bands <= 3; bands += 2) {
        VipsImage *image = quarters(301, 61, bands, NOISY);
        struct file png = SAVED(image, png);
        for (size_t i = 0; i < MP_COUNT(sizes); i++) {
            CONVERTS(png, .max_width = (uint32_t)sizes[i][0],
                     .want_mime = "image/x-portable-arbitrarymap");
            ck_assert_int_eq(facts.width, sizes[i][0]);
            ck_assert_int_eq(facts.height, sizes[i][1]);
            assert_scaled_as(image, sizes[i][0], sizes[i][1]);
        }
    }
    /* What has no room for the filter, too. */
    for (int side = 2; side < 40; side += 3) {
        VipsImage *image = quarters(side, side, 3, NOISY);
        struct file png = SAVED(image, png);
        CONVERTS(png, .max_width = (uint32_t)(side - 1),
                 .want_mime = "image/x-portable-arbitrarymap");
        assert_scaled_as(image, side - 1, side - 1);
    }
}
END_TEST

/* ---- kinds of images ---- */

START_TEST(alpha_is_kept_where_it_can_be_and_white_where_not)
{
    struct file png = SAVED(quarters(400, 400, 4, SHARP), png);
    VipsImage *image;
    CONVERTS(png, .max_width = 200);
    image = decoded();
    ck_assert_int_eq(image->Bands, 4);
    ck_assert(point(image, 150, 150)[3] == 0);
    CONVERTS(png, .max_width = 200, .want_mime = "image/jpeg");
    assert_upright();
    CONVERTS(png, .max_width = 200, .want_mime = "image/webp");
    image = decoded();
    ck_assert_int_eq(image->Bands, 4);
}
END_TEST

START_TEST(grey_sixteen_bit_and_palette_images_keep_their_look)
{
    VipsImage *grey = quarters(400, 300, 1, SHARP), *wide, *image;
    struct file file = SAVED(grey, png);
    CONVERTS(file, .max_width = 200);
    image = decoded();
    assert_colour(image, .25, .25, 255, 255, 255);
    assert_colour(image, .75, .25, 0, 0, 0);
    CONVERTS(file, .max_width = 200, .want_mime = "image/jpeg");
    image = decoded();
    ck_assert_int_eq(image->Bands, 1);

    wide = in_space(quarters(400, 300, 3, SHARP), VIPS_INTERPRETATION_RGB16);
    file = SAVED(wide, png);
    ck_assert_int_eq(((uint8_t *)file.data)[24], 16);
    CONVERTS(file, .max_width = 200);
    ck_assert_int_le(((const uint8_t *)got.data)[24], 8);
    assert_upright();
    CONVERTS(file, .max_width = 200, .want_mime = "image/webp");
    assert_upright();

    file = SAVED(quarters(400, 300, 3, SHARP), png, "palette", TRUE, "bitdepth", 2);
    CONVERTS(file, .max_width = 200);
    assert_upright();
    file = SAVED(quarters(400, 300, 3, SHARP), png, "interlace", TRUE);
    CONVERTS(file, .max_width = 200);
    assert_upright();
}
END_TEST

START_TEST(cmyk_becomes_rgb_and_profiles_are_applied_and_dropped)
{
    VipsImage *image = quarters(400, 300, 3, SHARP), *tagged;
    const double *c;
    struct file file = SAVED(in_space(image, VIPS_INTERPRETATION_CMYK), jpeg, "Q", 95);
    CONVERTS(file, .max_width = 200);
    ASSERT_IS("image/jpeg", "100 %", 200, 150);
    image = decoded();
    ck_assert_int_eq(image->Bands, 3);
    ck_assert(!has(VIPS_META_ICC_NAME));
    c = point(image, 50, 35);
    ck_assert(c[0] > 200 && c[1] < 80 && c[2] < 80);

    /* Of Display P3, red is outside of sRGB, and a half of it is more than a half. */
    uint8_t half[64 * 64 * 3];
    for (size_t i = 0; i < sizeof half; i++)
        half[i] = i % 3 == 0 ? 160 : 80;
    VipsBlob *p3 = NULL;
    ck_assert_int_eq(vips_profile_load("p3", &p3, NULL), 0);
    tagged = from_pixels(half, 64, 64, 3);
    vips_image_set_blob_copy(tagged, VIPS_META_ICC_NAME, VIPS_AREA(p3)->data,
                             VIPS_AREA(p3)->length);
    file = SAVED(tagged, png);
    CONVERTS(file, .max_width = 32);
    ck_assert(!has(VIPS_META_ICC_NAME));
    image = decoded();
    c = point(image, 16, 16);
    ck_assert_msg(c[0] > 165 && c[0] < 180, "%.0f", c[0]);

    vips_area_unref(VIPS_AREA(p3));
    vips_image_set_blob_copy(tagged, VIPS_META_ICC_NAME, half, 500);
    file = SAVED(tagged, jpeg, "Q", 95);
    CONVERTS(file, .max_width = 32);
    assert_colour(decoded(), .5, .5, 160, 80, 80);
}
END_TEST

START_TEST(what_exif_says_is_up_is_up)
{
    static const int corners[9][2] = {{0, 0}, {0, 0}, {1, 0}, {1, 1}, {0, 1},
                                      {0, 0}, {1, 0}, {1, 1}, {0, 1}};
    VipsImage *image = quarters(600, 400, 3, SHARP);
    for (int orientation = 1; orientation <= 8; orientation++) {
        vips_image_set_int(image, VIPS_META_ORIENTATION, orientation);
        struct file file = SAVED(image, jpeg, "Q", 95);
        int turned = orientation >= 5;
        CONVERTS(file, 0);
        ASSERT_IS("image/jpeg", "unchanged", turned ? 400 : 600, turned ? 600 : 400);
        CONVERTS(file, .max_width = 200);
        ASSERT_IS("image/jpeg", "100 %", 200, turned ? 300 : 133);
        /* Red, the first of the file, is in this corner. */
        VipsImage *shown = decoded();
        ck_assert_int_eq(shown->Xsize, 200);
        assert_colour(shown, corners[orientation][0] ? .75 : .25,
                      corners[orientation][1] ? .75 : .25, 255, 0, 0);
        ck_assert_int_eq(vips_image_get_orientation(shown), 1);
        CONVERTS(file, .max_width = 100, .want_mime = "image/x-portable-arbitrarymap");
        ck_assert_int_eq(facts.height, turned ? 150 : 67);
    }
}
END_TEST

static VipsImage *animation(int width, int height, int n)
{
    VipsImage *frames[16], *roll = NULL, *image = NULL;
    int delays[16];
    for (int i = 0; i < n; i++) {
        uint8_t *pixels = malloc((size_t)width * (size_t)height * 3);
        for (int p = 0; p < width * height; p++) {
            pixels[3 * p] = (uint8_t)(i * 20);
            pixels[3 * p + 1] = (uint8_t)(p % width * 255 / width);
            pixels[3 * p + 2] = (uint8_t)(255 - i * 20);
        }
        frames[i] = from_pixels(pixels, width, height, 3);
        delays[i] = 40 + 10 * i;
        free(pixels);
    }
    ck_assert_int_eq(vips_arrayjoin(frames, &roll, n, "across", 1, NULL), 0);
    ck_assert_int_eq(vips_copy(roll, &image, NULL), 0);
    keep(roll);
    vips_image_set_int(image, VIPS_META_PAGE_HEIGHT, height);
    vips_image_set_array_int(image, "delay", delays, n);
    vips_image_set_int(image, "loop", 3);
    return keep(image);
}

START_TEST(animations_keep_their_frames_delays_and_loops)
{
    VipsImage *image = animation(120, 80, 10);
    struct file files[] = {SAVED(image, gif), SAVED(image, webp, "Q", 90)};
    for (size_t i = 0; i < MP_COUNT(files); i++) {
        int *delays, n = 0, loop = 0;
        CONVERTS(files[i], 0);
        ck_assert_str_eq(facts.step, "unchanged");
        ck_assert_int_eq(facts.frames, 10);
        CONVERTS(files[i], .max_width = 60);
        ASSERT_IS(i == 0 ? "image/gif" : "image/webp", "100 %", 60, 40);
        ck_assert_int_eq(facts.frames, 10);
        VipsImage *shown = decoded();
        ck_assert_int_eq(vips_image_get_page_height(shown), 40);
        ck_assert_int_eq(shown->Ysize, 400);
        ck_assert_int_eq(vips_image_get_array_int(shown, "delay", &delays, &n), 0);
        ck_assert_int_eq(n, 10);
        ck_assert_int_eq(delays[9], 130);
        ck_assert_int_eq(vips_image_get_int(shown, "loop", &loop), 0);
        ck_assert_int_eq(loop, 3);
        for (int f = 0; f < 10; f++) /* and none has bled into the next */
            for (int edge = 0; edge < 2; edge++)
                assert_colour(shown, .5, (f + (edge ? .985 : .01)) / 10, f * 20, 128,
                              255 - f * 20);
        CONVERTS(files[i], .max_bytes = files[i].len - 1);
        ck_assert_int_eq(facts.frames, 10);
        CONVERTS(files[i], .max_width = 40, .want_mime = "image/png");
        ASSERT_IS("image/png", "100 %", 40, 27);
        ck_assert_int_eq(facts.frames, 0);
        for (uint64_t most = files[i].len - 1; CONVERT(files[i], .max_bytes = most) == 0;
             most = got.len - 1)
            ck_assert_int_eq(facts.frames, strcmp(facts.step, "64 colours") == 0 ||
                                                   strncmp(facts.step, "jpeg", 4) == 0
                                               ? 0
                                               : 10);
        ck_assert_int_eq(err.code, MCPLUG_ETOOBIG);
    }
    CONVERTS(files[0], .want_mime = "image/webp", .max_width = 40);
    ck_assert_int_eq(facts.frames, 10);
}
END_TEST

START_TEST(a_raster_for_terminals_has_four_bytes_a_pixel)
{
    struct file files[] = {SAVED(quarters(600, 300, 4, SHARP), png),
                           SAVED(quarters(600, 300, 1, SHARP), jpeg),
                           SAVED(animation(600, 300, 3), gif)};
    static const char head[] = "P7\nWIDTH 80\nHEIGHT 40\nDEPTH 4\nMAXVAL 255\n"
                               "TUPLTYPE RGB_ALPHA\nENDHDR\n";
    for (size_t i = 0; i < MP_COUNT(files); i++) {
        CONVERTS(files[i], .max_width = 80, .max_height = 80,
                 .want_mime = "image/x-portable-arbitrarymap");
        ASSERT_IS("image/x-portable-arbitrarymap", "100 %", 80, 40);
        ck_assert_uint_eq(got.len, strlen(head) + (size_t)80 * 40 * 4);
        ck_assert_int_eq(memcmp(got.data, head, strlen(head)), 0);
        const uint8_t *p = (const uint8_t *)got.data + strlen(head);
        ck_assert_int_eq(p[3], 255);
        if (i == 0) {
            ck_assert_int_eq(p[0], 255);
            ck_assert_int_eq(p[1], 0);
            ck_assert_int_eq(p[(40 * 80 - 1) * 4 + 3], 0);
        }
    }
    ck_assert_int_eq(CONVERT(files[0], .max_width = 80, .max_bytes = 100,
                             .want_mime = "image/x-portable-arbitrarymap"),
                     MCPLUG_ETOOBIG);
}
END_TEST

/* ---- what is refused ---- */

static void put32(uint8_t *p, uint32_t n)
{
    p[0] = (uint8_t)(n >> 24), p[1] = (uint8_t)(n >> 16);
    p[2] = (uint8_t)(n >> 8), p[3] = (uint8_t)n;
}

static size_t put_chunk(uint8_t *at, const char *type, const void *data, size_t len)
{
    put32(at, (uint32_t)len);
    memcpy(at + 4, type, 4);
    memcpy(at + 8, data, len);
    put32(at + 8 + len, (uint32_t)crc32(0, at + 4, (unsigned)len + 4));
    return len + 12;
}

/* A PNG of one bit a pixel that is all black, whatever its size. `rows` are there, of the
 * `height` that it says. */
static struct file black_png(uint32_t width, uint32_t height, uint32_t rows)
{
    uint8_t head[13] = {0};
    size_t row = (width + 7) / 8 + 1, n = 8;
    uint8_t *zeros = calloc(1, row), *packed = malloc(8u << 20), *png = malloc(9u << 20);
    z_stream z = {0};
    ck_assert_int_eq(deflateInit(&z, 9), Z_OK);
    z.next_out = packed, z.avail_out = 8u << 20;
    for (uint32_t y = 0; y < rows; y++) {
        z.next_in = zeros, z.avail_in = (unsigned)row;
        deflate(&z, y + 1 == rows ? Z_FINISH : Z_NO_FLUSH);
    }
    put32(head, width), put32(head + 4, height), head[8] = 1;
    memcpy(png, "\x89PNG\r\n\x1a\n", 8);
    n += put_chunk(png + n, "IHDR", head, sizeof head);
    n += put_chunk(png + n, "IDAT", packed, z.total_out);
    n += put_chunk(png + n, "IEND", "", 0);
    deflateEnd(&z);
    free(zeros), free(packed);
    return (struct file){png, n};
}

START_TEST(bombs_are_refused_at_once)
{
    static const struct {
        uint32_t width, height, rows; /* to make the others whole takes seconds */
        const char *text;
    } bombs[] = {
        {16384, 16384, 16384, "it is 16384 x 16384 pixels; 100000000 pixels are allowed"},
        {50000, 50000, 9, "it is 50000 x 50000 pixels; 16384 a side are allowed"},
        {16385, 1, 1, "it is 16385 x 1 pixels; 16384 a side are allowed"},
        {1, 16385, 9, "it is 1 x 16385 pixels; 16384 a side are allowed"},
        {10000, 10001, 9, "it is 10000 x 10001 pixels; 100000000 pixels are allowed"}};
    for (size_t i = 0; i < MP_COUNT(bombs); i++) {
        struct file png = black_png(bombs[i].width, bombs[i].height, bombs[i].rows);
        ck_assert_uint_lt(png.len, 1u << 20);
        double began = now_ms();
        ck_assert_int_eq(CONVERT(png, .max_width = 2000, .max_height = 2000),
                         MCPLUG_ETOOBIG);
        ck_assert(now_ms() - began < 1000);
        ck_assert_str_eq(err.text, bombs[i].text);
        free(png.data);
    }
    struct file png = black_png(1000, 1000, 1000);
    ck_assert_int_eq(CONVERT(png, .max_pixels = 999999), MCPLUG_ETOOBIG);
    CONVERTS(png, .max_pixels = 1000000);
    free(png.data);
}
END_TEST

START_TEST(frames_count_in_the_bounds)
{
    /* 2000 x 2000, 26 frames of one pixel each */
    uint8_t gif[512] = "GIF89a\xd0\x07\xd0\x07\x80\0\0\0\0\0\xff\xff\xff";
    static const uint8_t frame[] = {0x2c, 0, 0, 0, 0, 1, 0, 1, 0, 0, 2, 2, 0x44, 1, 0};
    size_t n = 19;
    for (int i = 0; i < 26; i++, n += sizeof frame)
        memcpy(gif + n, frame, sizeof frame);
    gif[n++] = 0x3b;
    struct file file = {gif, n};
    ck_assert_int_eq(CONVERT(file, .max_width = 100), MCPLUG_ETOOBIG);
    ck_assert_str_eq(
        err.text, "it has 26 frames of 2000 x 2000 pixels; 100000000 pixels are allowed");
}
END_TEST

START_TEST(one_bit_of_a_large_image_is_shrunk)
{
    uint32_t side = is_quick() ? 3000 : 10000;
    struct file png = black_png(side, side, side);
    CONVERTS(png, .max_width = 2000, .max_height = 2000, .max_bytes = 3932160);
    ASSERT_IS("image/png", "100 %", 2000, 2000);
    assert_colour(decoded(), .5, .5, 0, 0, 0);
    free(png.data);
}
END_TEST

START_TEST(truncated_images_are_errors_once_they_must_be_decoded)
{
    VipsImage *image = quarters(250, 200, 3, NOISY);
    struct file files[] = {SAVED(image, png), SAVED(image, jpeg), SAVED(image, gif),
                           SAVED(image, webp)};
    static const char *const names[] = {"PNG", "JPEG", "GIF", "WebP"};
    for (size_t i = 0; i < MP_COUNT(files); i++) {
        char begin[64];
        files[i].len = files[i].len * 2 / 3;
        snprintf(begin, sizeof begin, "the %s is truncated or broken: ", names[i]);
        ck_assert_int_eq(CONVERT(files[i], .max_width = 100), MCPLUG_EPROTO);
        ck_assert_msg(strncmp(err.text, begin, strlen(begin)) == 0, "%s", err.text);
        ck_assert_ptr_null(strchr(err.text, '\n'));
        /* Its header can be read, and it needs no change. */
        if (i != 3)
            CONVERTS(files[i], 0);
    }
}
END_TEST

START_TEST(what_is_no_image_is_refused)
{
    static const struct {
        const char *data;
        size_t len;
    } magics[] = {{"\x89PNG\r\n\x1a\n", 8},
                  {"\xff\xd8\xff\xe0", 4},
                  {"GIF89a", 6},
                  {"GIF87a", 6},
                  {"RIFF\x10\x20\0\0WEBPVP8 ", 16},
                  {"RIFF\x10\x20\0\0WEBPVP8X", 16}};
    static const char *const others[] = {"<svg xmlns=\"http://www.w3.org/2000/svg\"/>",
                                         "II*\0\x08", "%PDF-1.4", "P6 1 1 255 abc", "x"};
    uint8_t garbage[4096] = {0};
    ck_assert_int_eq(CONVERT(((struct file){garbage, 0}), 0), MCPLUG_EPROTO);
    ck_assert_str_eq(err.text, "it is empty");
    for (size_t i = 0; i < MP_COUNT(others); i++) {
        ck_assert_int_eq(
            CONVERT(((struct file){(void *)others[i], strlen(others[i])}), 0),
            MCPLUG_EPROTO);
        ck_assert_str_eq(err.text, "it is neither PNG, JPEG, GIF nor WebP");
    }
    for (size_t i = 0; i < MP_COUNT(magics); i++)
        for (unsigned seed = 0; seed < 50; seed++) {
            for (size_t k = 0; k < sizeof garbage; k++)
                garbage[k] = (uint8_t)((seed * 31 + k) * 2654435761u >> 13);
            memcpy(garbage, magics[i].data, magics[i].len);
            int r = CONVERT(((struct file){garbage, seed * 80 + magics[i].len}),
                            .max_width = 10, .max_bytes = 10);
            ck_assert_msg(r == MCPLUG_EPROTO || r == MCPLUG_ETOOBIG, "%d %s", r,
                          err.text);
        }
}
END_TEST

/* ---- what the worker relies on ---- */

START_TEST(a_cancelled_job_ends)
{
    struct file png = SAVED(quarters(200, 200, 3, NOISY), png);
    /* It is asked before each of the seven steps and after the last; how often within
     * them depends on when threads of libvips get their turn. */
    for (int polls = 1; polls < 40; polls += polls < 8 ? 1 : 6) {
        polls_left = polls;
        int r = CONVERT(png, .max_bytes = 1000);
        ck_assert_msg(r == MCPLUG_ECANCELED || (polls > 8 && polls_left > 0),
                      "poll %d: %d %s", polls, r, err.text);
    }
}
END_TEST

/* Tools that have an allocator of their own, and open files themselves. */
static bool is_instrumented(void)
{
#ifdef __SANITIZE_ADDRESS__
    return true;
#else
    return getenv("MCPLUG_TEST_VALGRIND") != NULL;
#endif
}

/* From now on files cannot be opened. */
static void lock_files(void)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat, 2, 0),
#ifdef SYS_open
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_open, 1, 0),
#else
        BPF_STMT(BPF_MISC | BPF_TAX, 0),
#endif
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS)};
    struct sock_fprog filter = {MP_COUNT(code), code};
    ck_assert_int_eq(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
    ck_assert_int_eq(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter), 0);
}

START_TEST(no_file_is_opened_after_init)
{
    VipsImage *still = quarters(100, 80, 4, NOISY), *moving = animation(100, 50, 4);
    struct file files[] = {SAVED(still, png), SAVED(still, jpeg), SAVED(moving, gif),
                           SAVED(moving, webp)};
    if (!is_instrumented())
        lock_files();
    for (size_t i = 0; i < MP_COUNT(files); i++) {
        CONVERTS(files[i], .max_width = 50);
        CONVERTS(files[i], .max_width = 50, .want_mime = "image/webp");
        CONVERTS(files[i], .max_width = 50, .want_mime = "image/x-portable-arbitrarymap");
        CONVERT(files[i], .max_bytes = 100);
        files[i].len /= 2;
        CONVERT(files[i], .max_width = 50);
    }
}
END_TEST

static long resident_pages(void)
{
    FILE *f = fopen("/proc/self/statm", "r");
    long size = 0, resident = 0;
    ck_assert_int_eq(fscanf(f, "%ld %ld", &size, &resident), 2);
    fclose(f);
    return resident;
}

START_TEST(memory_stays_flat_over_a_thousand_images)
{
    VipsImage *still = quarters(60, 40, 4, NOISY), *moving = animation(30, 20, 3);
    struct file files[] = {SAVED(still, png), SAVED(still, jpeg), SAVED(moving, gif),
                           SAVED(moving, webp)};
    int n = is_quick() ? 200 : 1000;
    long before = 0;
    for (int i = 0; i < n; i++) {
        struct file file = files[i % 4];
        if (i == n / 5)
            before = resident_pages();
        if (i % 8 >= 4)
            file.len /= 2;
        CONVERT(file, .max_width = 25, .max_bytes = i % 3 == 0 ? 700 : 0);
    }
    if (!is_instrumented())
        ck_assert_msg((resident_pages() - before) * getpagesize() < 4 << 20,
                      "%ld pages, then %ld", before, resident_pages());
    ck_assert_int_eq((int)strlen(vips_error_buffer()), 0);
}
END_TEST

int main(void)
{
    const char *build = getenv("MCPLUG_BUILD");
    Suite *suite = suite_create("image_image");
    TCase *tests = tcase_create("all");

    /* With arenas of their own, threads of libvips make glibc read
     * /proc/sys/vm/overcommit_memory when they give memory back: not of the module. */
    mallopt(M_ARENA_MAX, 1);
    if (!build)
        return TEST_SKIP;
    snprintf(module_path, sizeof module_path, "%s/plugins/.libs/image.so", build);
    if (access(module_path, R_OK) != 0)
        return TEST_SKIP;
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_set_timeout(tests, 120);
    tcase_add_test(tests, the_four_types_are_accepted_and_turned_into_each_other);
    tcase_add_test(tests, within_both_limits_the_very_bytes_come_back);
    tcase_add_test(tests, each_step_is_taken_when_the_one_before_is_too_large);
    tcase_add_test(tests, the_pixel_cap_comes_first_and_keeps_the_aspect);
    tcase_add_test(tests, nothing_is_ever_enlarged);
    tcase_add_test(tests, pixels_are_scaled_as_libvips_does);
    tcase_add_test(tests, alpha_is_kept_where_it_can_be_and_white_where_not);
    tcase_add_test(tests, grey_sixteen_bit_and_palette_images_keep_their_look);
    tcase_add_test(tests, cmyk_becomes_rgb_and_profiles_are_applied_and_dropped);
    tcase_add_test(tests, what_exif_says_is_up_is_up);
    tcase_add_test(tests, animations_keep_their_frames_delays_and_loops);
    tcase_add_test(tests, a_raster_for_terminals_has_four_bytes_a_pixel);
    tcase_add_test(tests, bombs_are_refused_at_once);
    tcase_add_test(tests, frames_count_in_the_bounds);
    tcase_add_test(tests, one_bit_of_a_large_image_is_shrunk);
    tcase_add_test(tests, truncated_images_are_errors_once_they_must_be_decoded);
    tcase_add_test(tests, what_is_no_image_is_refused);
    tcase_add_test(tests, a_cancelled_job_ends);
    tcase_add_test(tests, no_file_is_opened_after_init);
    tcase_add_test(tests, memory_stays_flat_over_a_thousand_images);
    suite_add_tcase(suite, tests);
    return run_to_end(suite);
}
