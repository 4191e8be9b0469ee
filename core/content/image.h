/* Images as far as their first bytes tell: what they are and how large. [any] */
#ifndef MP_CONTENT_IMAGE_H
#define MP_CONTENT_IMAGE_H

#include "base/shared.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What every model's API takes of one image. */
#define MP_IMAGE_BYTES 3932160 /* 5 MiB as Base64 */
#define MP_IMAGE_SIDE 2000     /* pixels, once a conversation has many images */
#define MP_IMAGE_TOKENS 1600   /* of one, where only its number counts */

struct mp_image {
    const char *mime;       /* image/png, image/jpeg, image/gif, image/webp; NULL: none */
    uint32_t width, height; /* 0: not in the bytes that were given */
};

/* `data` is the beginning of the file, or all of it. */
MP_SHARED struct mp_image mp_image_look(const void *data, size_t len);
/* About what it costs: a token for 750 pixels, once it is no larger than 1568 a side. */
uint64_t mp_image_tokens(const struct mp_image *image);

#endif
