/* Scaling from left to right. libvips 8.14 has vector code for the other direction alone,
 * and takes three times as long for this one. */
#include "image.h"

#include <math.h>
#include <stdint.h>
#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

enum { LOBES = 3, FACTOR_MAX = 4, BANDS_MAX = 4, ONE = 1 << 14 /* as a weight */ };

/* What each pixel of a row is made of. */
struct taps {
    int n;            /* of each pixel, an even number */
    int *left;        /* the first of them */
    int16_t *weights; /* n for each */
};

static double lanczos(double x)
{
    double at = M_PI * x;
    if (x == 0)
        return 1;
    return fabs(x) < LOBES ? LOBES * sin(at) * sin(at / LOBES) / (at * at) : 0;
}

/* The weights of one pixel; they sum up to ONE, so that what is even stays it. Of taps
 * beyond an edge the edge gets the weight. */
static void weigh(double centre, double factor, int size, int n, int *left, int16_t *out)
{
    double sum = 0, weights[2 * LOBES * FACTOR_MAX + 2] = {0};
    int first = (int)ceil(centre - LOBES * factor), rest = ONE, most = 0;

    *left = VIPS_CLIP(0, first, size - n);
    for (int i = first; i <= centre + LOBES * factor; i++) {
        double weight = lanczos((i - centre) / factor);
        weights[VIPS_CLIP(0, i, size - 1) - *left] += weight;
        sum += weight;
    }
    for (int i = 0; i < n; i++) {
        out[i] = (int16_t)lrint(weights[i] / sum * ONE);
        rest -= out[i];
        most = out[i] > out[most] ? i : most;
    }
    out[most] = (int16_t)(out[most] + rest);
}

/* give (g_free) */
static struct taps *taps_new(int from, int to)
{
    double factor = (double)from / to;
    int n = ((int)floor(2 * LOBES * factor) + 2) & ~1;
    size_t lefts = (size_t)to * sizeof(int), weights = (size_t)to * (size_t)n * 2;
    struct taps *taps = g_try_malloc(sizeof *taps + lefts + weights);

    if (!taps)
        return NULL;
    taps->n = n;
    taps->left = (int *)(taps + 1);
    taps->weights = (int16_t *)(taps->left + to);
    for (int x = 0; x < to; x++)
        weigh((x + .5) * factor - .5, factor, from, n, &taps->left[x],
              taps->weights + (ptrdiff_t)x * n);
    return taps;
}

static void put_slowly(const uint8_t *in, const int16_t *weights, int n, int bands,
                       uint8_t *out)
{
    for (int b = 0; b < bands; b++) {
        int sum = ONE / 2;
        for (int i = 0; i < n; i++)
            sum += weights[i] * in[i * bands + b];
        out[b] = (uint8_t)VIPS_CLIP(0, sum >> 14, 255);
    }
}

#ifdef __SSE2__
static inline __m128i pair_of(const uint8_t *in, int bands)
{
    int one, other;
    memcpy(&one, in, sizeof one);
    memcpy(&other, in + bands, sizeof other);
    return _mm_unpacklo_epi8(
        _mm_unpacklo_epi8(_mm_cvtsi32_si128(one), _mm_cvtsi32_si128(other)),
        _mm_setzero_si128());
}

static inline void store(__m128i sum, int bands, uint8_t *out)
{
    __m128i words = _mm_packs_epi32(_mm_srai_epi32(sum, 14), sum);
    uint32_t bytes = (uint32_t)_mm_cvtsi128_si32(_mm_packus_epi16(words, words));
    for (int b = 0; b < bands; b++)
        out[b] = (uint8_t)(bytes >> 8 * b);
}
#endif

/* The same of two rows, reading BANDS_MAX bytes of each pixel. */
static inline void put(const uint8_t *const in[2], const int16_t *weights, int n,
                       int bands, uint8_t *const out[2])
{
#ifdef __SSE2__
    __m128i sums[2] = {_mm_set1_epi32(ONE / 2), _mm_set1_epi32(ONE / 2)};
    const uint8_t *p = in[0], *q = in[1];

    for (int i = 0; i < n; i += 2, p += 2 * bands, q += 2 * bands) {
        int both;
        memcpy(&both, weights + i, sizeof both);
        __m128i w = _mm_set1_epi32(both);
        sums[0] = _mm_add_epi32(sums[0], _mm_madd_epi16(pair_of(p, bands), w));
        sums[1] = _mm_add_epi32(sums[1], _mm_madd_epi16(pair_of(q, bands), w));
    }
    store(sums[0], bands, out[0]);
    store(sums[1], bands, out[1]);
#else
    put_slowly(in[0], weights, n, bands, out[0]);
    put_slowly(in[1], weights, n, bands, out[1]);
#endif
}

/* Pixels `x` to `end` of two rows, which may be the same one. `in` are their pixels
 * `first` to `last`. */
static inline void put_rows(const struct taps *taps, const uint8_t *const in[2],
                            int first, int last, int bands, uint8_t *const out[2], int x,
                            int end)
{
    const int16_t *weights = taps->weights + (ptrdiff_t)x * taps->n;
    ptrdiff_t at = 0;

    for (; x < end; x++, weights += taps->n, at += bands) {
        ptrdiff_t from = (ptrdiff_t)(taps->left[x] - first) * bands;
        const uint8_t *const p[2] = {in[0] + from, in[1] + from};
        uint8_t *const q[2] = {out[0] + at, out[1] + at};
        if (taps->left[x] + taps->n + BANDS_MAX <= last) {
            put(p, weights, taps->n, bands, q);
        } else {
            put_slowly(p[0], weights, taps->n, bands, q[0]);
            put_slowly(p[1], weights, taps->n, bands, q[1]);
        }
    }
}

static int generate(VipsRegion *out, void *seq, void *a, void *b, gboolean *stop)
{
    const struct taps *taps = b;
    const VipsRect *r = &out->valid;
    VipsRegion *in = seq;
    int end = r->left + r->width, bottom = r->top + r->height;
    int first = taps->left[r->left], last = taps->left[end - 1] + taps->n;
    VipsRect need = {first, r->top, last - first, r->height};

    (void)a, (void)stop;
    if (vips_region_prepare(in, &need) != 0)
        return -1;
    for (int y = r->top; y < bottom; y += 2) {
        int next = y + 1 < bottom ? y + 1 : y;
        const uint8_t *const from[2] = {VIPS_REGION_ADDR(in, first, y),
                                        VIPS_REGION_ADDR(in, first, next)};
        uint8_t *const to[2] = {VIPS_REGION_ADDR(out, r->left, y),
                                VIPS_REGION_ADDR(out, r->left, next)};
        if (in->im->Bands == 3) /* so that it is compiled for that */
            put_rows(taps, from, first, last, 3, to, r->left, end);
        else
            put_rows(taps, from, first, last, in->im->Bands, to, r->left, end);
    }
    return 0;
}

int image_can_shrink_across(VipsImage *in, int width)
{
    return in->BandFmt == VIPS_FORMAT_UCHAR && in->Coding == VIPS_CODING_NONE &&
           in->Bands <= BANDS_MAX && in->Xsize > width &&
           in->Xsize < FACTOR_MAX * (gint64)width &&
           in->Xsize >= 2 * LOBES * FACTOR_MAX + 2;
}

int image_shrink_across(VipsImage *in, int width, VipsImage **out)
{
    struct taps *taps = taps_new(in->Xsize, width);
    VipsImage *image = vips_image_new();
    int r = taps ? 0 : -1;

    if (taps)
        g_object_set_data_full(G_OBJECT(image), "mcplug-taps", taps, g_free);
    else
        vips_error("image", "out of memory");
    if (r == 0)
        r = vips_image_pipelinev(image, VIPS_DEMAND_STYLE_THINSTRIP, in, NULL);
    if (r == 0) {
        image->Xsize = width;
        r = vips_image_generate(image, vips_start_one, generate, vips_stop_one, in, taps);
    }
    if (r == 0) {
        vips_object_local(image, g_object_ref(in));
        *out = image;
    } else {
        g_object_unref(image);
    }
    return r;
}
