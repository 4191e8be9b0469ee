#include "content/image.h"

#include <string.h>

#define PIXELS_PER_TOKEN 750
#define SCALED_SIDE 1568 /* to which models scale an image down */

static uint32_t big16(const unsigned char *p)
{
    return (uint32_t)p[0] << 8 | p[1];
}

static uint32_t little16(const unsigned char *p)
{
    return (uint32_t)p[1] << 8 | p[0];
}

static uint32_t big32(const unsigned char *p)
{
    return big16(p) << 16 | big16(p + 2);
}

static uint32_t little24(const unsigned char *p)
{
    return (uint32_t)p[2] << 16 | little16(p);
}

/* The frame header comes behind any number of segments. */
static void look_at_jpeg(const unsigned char *p, size_t len, struct mp_image *out)
{
    size_t at = 2;

    while (at + 9 <= len && p[at] == 0xff) {
        unsigned char marker = p[at + 1];
        bool is_frame = marker >= 0xc0 && marker <= 0xcf && marker != 0xc4 &&
                        marker != 0xc8 && marker != 0xcc;
        if (is_frame) {
            out->height = big16(p + at + 5);
            out->width = big16(p + at + 7);
            return;
        }
        if (marker == 0xff) { /* fill bytes */
            at++;
        } else {
            size_t size = big16(p + at + 2);
            if (size < 2)
                return;
            at += 2 + size;
        }
    }
}

/* Lossy, lossless and extended files keep their size in different places. */
static void look_at_webp(const unsigned char *p, size_t len, struct mp_image *out)
{
    if (len >= 30 && memcmp(p + 12, "VP8 ", 4) == 0) {
        out->width = little16(p + 26) & 0x3fff;
        out->height = little16(p + 28) & 0x3fff;
    } else if (len >= 25 && memcmp(p + 12, "VP8L", 4) == 0) {
        uint32_t bits = little16(p + 21) | little16(p + 23) << 16;
        out->width = (bits & 0x3fff) + 1;
        out->height = (bits >> 14 & 0x3fff) + 1;
    } else if (len >= 30 && memcmp(p + 12, "VP8X", 4) == 0) {
        out->width = little24(p + 24) + 1;
        out->height = little24(p + 27) + 1;
    }
}

struct mp_image mp_image_look(const void *data, size_t len)
{
    const unsigned char *p = data;
    struct mp_image image = {0};

    if (len >= 8 && memcmp(p, "\x89PNG\r\n\x1a\n", 8) == 0) {
        image.mime = "image/png";
        if (len >= 24) {
            image.width = big32(p + 16);
            image.height = big32(p + 20);
        }
    } else if (len >= 3 && memcmp(p, "\xff\xd8\xff", 3) == 0) {
        image.mime = "image/jpeg";
        look_at_jpeg(p, len, &image);
    } else if (len >= 6 && (memcmp(p, "GIF87a", 6) == 0 || memcmp(p, "GIF89a", 6) == 0)) {
        image.mime = "image/gif";
        if (len >= 10) {
            image.width = little16(p + 6);
            image.height = little16(p + 8);
        }
    } else if (len >= 12 && memcmp(p, "RIFF", 4) == 0 && memcmp(p + 8, "WEBP", 4) == 0) {
        image.mime = "image/webp";
        look_at_webp(p, len, &image);
    }
    return image;
}

uint64_t mp_image_tokens(const struct mp_image *image)
{
    uint64_t w = image->width, h = image->height, side = w > h ? w : h;

    if (!w || !h)
        return MP_IMAGE_TOKENS;
    if (side > SCALED_SIDE) {
        w = w * SCALED_SIDE / side;
        h = h * SCALED_SIDE / side;
    }
    return (w * h + PIXELS_PER_TOKEN - 1) / PIXELS_PER_TOKEN;
}
