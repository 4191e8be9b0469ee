#include "cli/base/draw.h"

#include "base/error.h"
#include "cli/base/content.h"
#include "cli/base/drawing.h"

#include <string.h>

#define SETTINGS_MAX ((size_t)1 << 16)
#define SIDE_MAX                                                                         \
    4000 /* pixels: more than converters hand on, and than any terminal shows */

static uint32_t side(const struct cli_draw *d, uint32_t cells, uint32_t cell)
{
    uint64_t pixels = (uint64_t)cells * cell;
    uint32_t most = d->max_side && d->max_side < SIDE_MAX ? d->max_side : SIDE_MAX;
    return pixels < most ? (uint32_t)pixels : most;
}

static void on_text(void *arg, mcplug_call *call, const mcplug_converted *converted,
                    const struct mcplug_error *why)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    struct cli_draw *d = arg;
    size_t len = 0;
    const char *text = converted ? mcplug_converted_data(converted, &len) : NULL;

    *d->call = NULL;
    if (converted && (strcmp(mcplug_converted_mime(converted), CLI_TERMINAL_TEXT) != 0 ||
                      !cli_drawing_is_one(text, len))) {
        mp_fail(&err, MCPLUG_EIO, "what the converter drew is not only an image");
        converted = NULL;
        why = &err;
    }
    d->done(d->arg, call, converted, why);
}

static int start_text(struct cli_draw *d, const char *data, size_t len,
                      struct mcplug_error *err)
{
    struct mcplug_convert_options o = {.struct_size = sizeof o,
                                       .timeout_ms = d->timeout_ms,
                                       .mime = CLI_PIXELS,
                                       .want = CLI_TERMINAL_TEXT};
    struct mp_str settings;

    if (d->asks)
        cli_screen_ask(&d->screen);
    d->asks = false;
    mp_str_init(&settings, SETTINGS_MAX);
    mp_str_addc(&settings, '{');
    cli_screen_settings(&d->screen, &settings);
    mp_str_adds(&settings, d->settings && *d->settings ? "," : "");
    mp_str_adds(&settings, d->settings ? d->settings : "");
    mp_str_addc(&settings, '}');
    o.settings = settings.data;
    *d->call =
        settings.failed ? NULL : mcplug_convert(d->host, data, len, &o, on_text, d, err);
    if (settings.failed)
        mp_fail(err, MCPLUG_ETOOBIG, "the settings are too long");
    mp_str_clear(&settings);
    return *d->call ? MCPLUG_OK : err->code;
}

static void on_pixels(void *arg, mcplug_call *call, const mcplug_converted *converted,
                      const struct mcplug_error *why)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    struct cli_draw *d = arg;
    size_t len = 0;
    const char *data = converted ? mcplug_converted_data(converted, &len) : NULL;

    *d->call = NULL;
    if (!converted)
        d->done(d->arg, call, NULL, why);
    else if (start_text(d, data, len, &err) != MCPLUG_OK)
        d->done(d->arg, call, NULL, &err);
}

int cli_draw_start(struct cli_draw *d, const void *data, size_t len, const char *mime,
                   struct mcplug_error *err)
{
    struct mcplug_convert_options o = {
        .struct_size = sizeof o,
        .timeout_ms = d->timeout_ms,
        .mime = mime,
        .want = CLI_PIXELS,
        .max_width = side(d, d->screen.columns, d->screen.cell_width),
        .max_height = side(d, d->screen.rows, d->screen.cell_height),
    };

    if (mime && strcmp(mime, CLI_PIXELS) == 0)
        return start_text(d, data, len, err);
    *d->call = mcplug_convert(d->host, data, len, &o, on_pixels, d, err);
    return *d->call ? MCPLUG_OK : err->code;
}

void cli_draw_put(const mcplug_converted *drawn, struct cli_out *out)
{
    size_t len;
    const char *text = mcplug_converted_data(drawn, &len);

    cli_content_bytes(out, text, len);
    if (!cli_drawing_leaves_colours(text, len))
        return;
    char last = out->last; /* as cli_out_style(): nothing that is on the line */
    cli_out_s(out, "\033[0m");
    out->last = last;
}
