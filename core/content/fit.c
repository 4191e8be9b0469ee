/* Images that models take: of one of four types, and neither too many bytes nor too many
 * pixels. What is too large is made smaller by a converter, if there is one. */
#include "content/content.h"

#include "../../plugins/common/base64.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/text.h"
#include "content/base64.h"
#include "content/block.h"
#include "convert/convert.h"
#include "convert/memory.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char *const model_types[] = {"image/png", "image/jpeg", "image/gif",
                                          "image/webp"};

static bool is_model_type(mp_view mime)
{
    for (size_t i = 0; i < MP_COUNT(model_types); i++)
        if (mp_view_equals(mime, model_types[i]))
            return true;
    return false;
}

/* One image on its way. What is longer than a model takes is in a file in memory. */
struct fit {
    struct mp_make *m;
    struct mp_str bytes;
    int fd; /* -1: it is not that long */
    uint64_t size;
    struct mp_image image;
    char why[320]; /* a model does not get it; "": it does */
};

static void fit_init(struct fit *f, struct mp_make *m)
{
    *f = (struct fit){.m = m, .fd = -1};
    mp_str_init(&f->bytes, 2 * (size_t)MP_IMAGE_BYTES); /* Base64, while it is decoded */
    mp_str_adds(&f->bytes, "");
}

static void fit_clear(struct fit *f)
{
    if (f->fd >= 0)
        close(f->fd);
    mp_str_clear(&f->bytes);
}

/* ---- its bytes ---- */

static int to_file(struct fit *f)
{
    f->fd = mp_memory_file();
    if (f->fd < 0)
        return errno;
    return mp_memory_write(f->fd, 0, f->bytes.data, f->bytes.len);
}

static int add_bytes(void *arg, const char *data, size_t len)
{
    struct fit *f = arg;
    int os_error = 0;

    if (f->size > MP_DATA_MAX)
        return 0;
    if (f->fd < 0 && len <= MP_IMAGE_BYTES - f->bytes.len) {
        f->size += len;
        return mp_str_add(&f->bytes, data, len);
    }
    if (f->fd < 0)
        os_error = to_file(f);
    if (!os_error)
        os_error = mp_memory_write(f->fd, f->size, data, len);
    f->size += len;
    if (os_error)
        snprintf(f->why, sizeof f->why, "there is no memory for it");
    return !os_error;
}

static int encode(struct mp_str *out, const struct mp_str *bytes,
                  struct mcplug_error *err)
{
    mp_str_clear(out);
    if (!mp_str_reserve(out, (bytes->len + 2) / 3 * 4))
        return mp_fail_nomem(err);
    out->len = base64_encode((const unsigned char *)bytes->data, bytes->len, out->data);
    out->data[out->len] = '\0';
    return MCPLUG_OK;
}

/* ---- what models take ---- */

static uint32_t max_side(const struct mp_make *m)
{
    int64_t n = MP_IMAGE_SIDE;

    if (m->rules->converters)
        n = mp_converters_number(m->rules->converters, "image", "maxSide", n);
    return n >= 0 && n <= UINT16_MAX ? (uint32_t)n : MP_IMAGE_SIDE;
}

static bool is_wide(const struct mp_image *image, uint32_t side)
{
    return side && (image->width > side || image->height > side);
}

/* Says what is too large of it; false: nothing is. */
static bool is_too_large(struct fit *f)
{
    uint32_t side = max_side(f->m);

    if (f->size > MP_DATA_MAX)
        snprintf(f->why, sizeof f->why, "it has more than %d MiB", MP_DATA_MAX >> 20);
    else if (f->fd >= 0)
        snprintf(f->why, sizeof f->why, "models take %u bytes at most", MP_IMAGE_BYTES);
    else if (is_wide(&f->image, side))
        snprintf(f->why, sizeof f->why, "it is %u x %u pixels; models take %u a side",
                 f->image.width, f->image.height, side);
    return f->why[0];
}

/* ---- conversion ---- */

/* Reads what a converter has made, which is not believed to be what was asked for. */
static int take(struct fit *f, const struct mp_converted *made, uint64_t max_bytes,
                uint32_t side)
{
    struct mp_str bytes;
    int r = MCPLUG_OK, os_error;

    mp_str_init(&bytes, MP_IMAGE_BYTES + 1);
    if (made->size > max_bytes || made->size > MP_IMAGE_BYTES)
        r = MCPLUG_EPROTO;
    else if ((os_error = mp_memory_read(made->fd, made->size, &bytes)))
        r = os_error == ENOMEM ? MCPLUG_ENOMEM : MCPLUG_EPROTO;
    struct mp_image image = mp_image_look(bytes.data, bytes.len);
    if (r == MCPLUG_OK && (!image.mime || is_wide(&image, side)))
        r = MCPLUG_EPROTO;
    if (r != MCPLUG_OK) {
        mp_str_clear(&bytes);
        return r;
    }
    mp_str_clear(&f->bytes);
    f->bytes = bytes;
    f->image = image;
    f->size = bytes.len;
    if (f->fd >= 0)
        close(f->fd);
    f->fd = -1;
    return r;
}

/* Of the time that the images of one result have together; at least 1 ms. */
static uint32_t time_left(struct mp_make *m)
{
    uint64_t now = mp_clock_ms();

    if (!m->convert_until)
        m->convert_until = now + MP_IMAGES_MS;
    uint64_t left = now < m->convert_until ? m->convert_until - now : 1;
    return left < MP_CONVERT_MS ? (uint32_t)left : MP_CONVERT_MS;
}

/* Whole characters of it. */
static void say_both(char *out, size_t size, const char *what, const char *why)
{
    size_t n = mp_text_line(out, size / 2, what, strlen(what));

    if (n)
        n += (size_t)snprintf(out + n, size - n, ", and ");
    mp_text_line(out + n, size - n, why, strlen(why));
}

/* MCPLUG_OK also if it could not be done: f->why says so then. `want` NULL: same type. */
static int convert(struct fit *f, const char *mime, const char *want, uint64_t max_bytes)
{
    struct mp_conversion what = {.mime = mime,
                                 .want = want,
                                 .size = f->size,
                                 .max_width = max_side(f->m),
                                 .max_height = max_side(f->m),
                                 .max_bytes = max_bytes,
                                 .timeout_ms = time_left(f->m),
                                 .cancelled = f->m->rules->cancelled};
    struct mp_converted made = MP_CONVERTED_NONE;
    struct mcplug_error why;
    char was[sizeof f->why];

    mp_error_init(&why);
    memcpy(was, f->why, sizeof was);
    int os_error = f->fd < 0 ? to_file(f) : 0;
    int r = os_error ? mp_fail_os(&why, MCPLUG_EIO, os_error, "no file in memory")
                     : MCPLUG_OK;
    what.fd = f->fd;
    if (r == MCPLUG_OK)
        r = mp_convert(f->m->rules->converters, &what, &made, &why);
    if (r == MCPLUG_OK)
        r = take(f, &made, max_bytes, what.max_width);
    mp_converted_clear(&made);
    if (r == MCPLUG_ENOMEM)
        return mp_fail_nomem(f->m->err);
    if (r == MCPLUG_OK)
        f->why[0] = '\0';
    else
        say_both(f->why, sizeof f->why, was,
                 why.text[0] ? why.text : "the converter made no such image");
    return MCPLUG_OK;
}

/* ---- an image that no model takes ---- */

/* What it is instead, and why; "": its type is not one of the four. */
static int add_refused(struct mp_make *m, struct mp_item *item,
                       const struct mcplug_block *block, const char *why)
{
    struct mp_str *out = &item->head;
    int r = MCPLUG_OK;

    if (!*why) {
        mp_str_adds(out, "[Unsupported image type: ");
        mp_block_word(out, block->mime, "application/octet-stream");
        mp_str_addc(out, ']');
    } else {
        struct mcplug_block image = *block;
        image.kind = MCPLUG_BLOCK_IMAGE;
        r = mp_block_note(out, m->result, &image, m->err);
        mp_str_addf(out, "\nNot shown: %s.", why);
    }
    mp_keep_data(m, block, out);
    return r;
}

/* ---- both ---- */

/* An image of another type: a converter may make one of the four of it. */
static int convert_other(struct fit *f, const struct mcplug_block *block)
{
    char *mime =
        block->mime.len > 2 && block->mime.len < 128 ? mp_view_strdup(block->mime) : NULL;
    int r = MCPLUG_OK;

    if (mime && strncmp(mime, "image/", 6) == 0)
        r = convert(f, mime, "image/png", MP_IMAGE_BYTES);
    mp_free(mime);
    f->why[0] = '\0'; /* that its type is not known says enough */
    return r;
}

int mp_fit_image(struct mp_make *m, struct mp_item *item,
                 const struct mcplug_block *block)
{
    struct mcplug_error why;
    struct fit f;
    bool is_refused = false;

    mp_error_init(&why);
    fit_init(&f, m);
    int r = mcplug_block_write_data(m->result, block, add_bytes, &f, &why);
    f.image = mp_image_look(f.bytes.data, f.bytes.len);
    if (f.bytes.failed) {
        r = mp_fail_nomem(m->err);
    } else if (r == MCPLUG_EPROTO) {
        snprintf(f.why, sizeof f.why, "the data is not Base64");
        r = MCPLUG_OK;
    } else if (r != MCPLUG_OK) {
        mp_error_copy(m->err, &why);
    } else if (f.why[0]) {
        is_refused = true;
    } else if (!f.image.mime && is_model_type(block->mime)) {
        snprintf(f.why, sizeof f.why, "the data is not an image of that type");
    } else if (!f.image.mime && m->rules->converters && f.size && f.size <= MP_DATA_MAX) {
        r = convert_other(&f, block);
    } else if (f.image.mime && is_too_large(&f) && m->rules->converters &&
               f.size <= MP_DATA_MAX) {
        r = convert(&f, f.image.mime, NULL, MP_IMAGE_BYTES);
    }
    if (r == MCPLUG_OK && !f.why[0] && f.bytes.len > MP_IMAGES_MAX - m->image_bytes)
        snprintf(f.why, sizeof f.why, "the images of a result have %u MiB at most",
                 MP_IMAGES_MAX >> 20);
    is_refused = is_refused || f.why[0] || !f.image.mime;
    if (r == MCPLUG_OK && is_refused) {
        r = add_refused(m, item, block, f.why);
    } else if (r == MCPLUG_OK) {
        item->image = f.image;
        m->n_images++;
        m->image_bytes += f.bytes.len;
        r = encode(&item->data, &f.bytes, m->err);
    }
    fit_clear(&f);
    return r;
}

bool mp_fit_shrink(void *arg, struct mp_item *item, uint64_t bytes)
{
    struct mp_make *m = arg;
    struct mcplug_error own, *err = m->err;
    struct mp_base64 base64 = {0};
    struct fit f;
    bool ok = false;

    if (!m->rules->converters)
        return false;
    mp_error_init(&own);
    m->err = &own; /* that it cannot be done is no failure */
    fit_init(&f, m);
    f.image = item->image;
    if (mp_str_reserve(&f.bytes, item->data.len)) {
        f.bytes.len =
            mp_base64_feed(&base64, item->data.data, item->data.len, f.bytes.data);
        f.size = f.bytes.len;
        ok = convert(&f, f.image.mime, NULL, bytes) == MCPLUG_OK && !f.why[0] &&
             encode(&item->data, &f.bytes, &own) == MCPLUG_OK;
    }
    if (ok)
        item->image = f.image;
    fit_clear(&f);
    m->err = err;
    return ok;
}
