/* The converter `chafa`: pixels as what a terminal shows, drawn by libchafa. The result
 * is what the command `chafa --threads 1 --stretch -s COLUMNSxROWS -f FORMAT` prints,
 * without the line end behind it; of symbols with `-c full`, 240, 16 or none. It depends
 * on the pixels and the settings alone: the environment is not read, and one thread
 * draws, because libchafa divides the work by the number of threads. Of the limits it
 * keeps max_bytes; the others are those of images.
 *
 * libchafa writes warnings only about wrong parameters, in the log domain of the program,
 * which is not ours to silence; so every parameter is checked here. */
#include "fit.h"
#include "pam.h"

#include <chafa.h>

#include <stdio.h>
#include <string.h>

#define IN_MIME "image/x-portable-arbitrarymap"
#define OUT_MIME "text/x-terminal"
#define CELLS_MAX 1000 /* columns, rows */
#define CELL_MIN 6     /* pixels; a sixel is six high */
#define CELL_MAX 200
/* What a drawing costs is bounded by these: some seconds, if the image is noise. */
#define SYMBOLS_MAX 131072         /* cells */
#define PIXELS_MAX (3840u * 2160u) /* in cells */
#define TRIES_MAX 8                /* to guess a size of few enough bytes, .. */
#define HALVES_MAX 18              /* .. and then to halve it, which ends at one cell */

struct module {
    const struct mcplug_host *host;
    ChafaTermInfo *terminal; /* has the sequences of every format; counted atomically */
};

/* ---- settings ---- */

struct wish {
    ChafaPixelMode format;
    ChafaCanvasMode colors;
    struct fit fit;
};

struct choice {
    const char *name;
    int value;
};

static const struct choice formats[] = {{"kitty", CHAFA_PIXEL_MODE_KITTY},
                                        {"iterm2", CHAFA_PIXEL_MODE_ITERM2},
                                        {"sixel", CHAFA_PIXEL_MODE_SIXELS},
                                        {"symbols", CHAFA_PIXEL_MODE_SYMBOLS},
                                        {NULL, 0}};

/* The first 16 of 256 colours are what the user has made of them, and not used. */
static const struct choice colors[] = {{"true", CHAFA_CANVAS_MODE_TRUECOLOR},
                                       {"256", CHAFA_CANVAS_MODE_INDEXED_240},
                                       {"16", CHAFA_CANVAS_MODE_INDEXED_16},
                                       {"none", CHAFA_CANVAS_MODE_FGBG},
                                       {NULL, 0}};

static int choose(const struct mcplug_host *host, const mcplug_props *settings,
                  const char *name, const struct choice *from, int *out,
                  struct mcplug_error *err)
{
    const char *value = host->diag->prop(settings, name);

    for (; from->name; from++)
        if (value && strcmp(value, from->name) == 0) {
            *out = from->value;
            return MCPLUG_OK;
        }
    return host->diag->fail(err, MCPLUG_ECONFIG, "the setting %s cannot be \"%.64s\"",
                            name, value ? value : "");
}

static int measure(const struct mcplug_host *host, const mcplug_props *settings,
                   const char *name, int64_t from, int64_t to, uint32_t *out,
                   struct mcplug_error *err)
{
    int64_t n = host->diag->prop_int(settings, name, from);

    if (n < from || n > to)
        return host->diag->fail(err, MCPLUG_ECONFIG,
                                "the setting %s is %lld; expected %lld to %lld", name,
                                (long long)n, (long long)from, (long long)to);
    *out = (uint32_t)n;
    return MCPLUG_OK;
}

static int read_settings(const struct mcplug_host *host, const mcplug_props *settings,
                         struct wish *out, struct mcplug_error *err)
{
    struct fit *fit = &out->fit;
    int format = 0, mode = 0;
    int r = choose(host, settings, "format", formats, &format, err);

    if (r == MCPLUG_OK)
        r = choose(host, settings, "colors", colors, &mode, err);
    if (r == MCPLUG_OK)
        r = measure(host, settings, "columns", 1, CELLS_MAX, &fit->columns, err);
    if (r == MCPLUG_OK)
        r = measure(host, settings, "rows", 1, CELLS_MAX, &fit->rows, err);
    if (r == MCPLUG_OK)
        r = measure(host, settings, "cellWidth", CELL_MIN, CELL_MAX, &fit->cell_width,
                    err);
    if (r == MCPLUG_OK)
        r = measure(host, settings, "cellHeight", CELL_MIN, CELL_MAX, &fit->cell_height,
                    err);
    out->format = (ChafaPixelMode)format;
    out->colors = format == CHAFA_PIXEL_MODE_SYMBOLS ? (ChafaCanvasMode)mode
                                                     : CHAFA_CANVAS_MODE_TRUECOLOR;
    fit->symbols = format == CHAFA_PIXEL_MODE_SYMBOLS;
    if (r == MCPLUG_OK)
        fit->cells = fit->symbols ? SYMBOLS_MAX
                                  : PIXELS_MAX / (fit->cell_width * fit->cell_height);
    return r;
}

/* ---- drawing ---- */

/* The characters that the command uses. Where no sequence can swap the colours, there
 * are those that are the inverse of others. */
static ChafaSymbolMap *make_symbols(ChafaCanvasMode mode)
{
    ChafaSymbolMap *map = chafa_symbol_map_new();

    chafa_symbol_map_add_by_tags(map, CHAFA_SYMBOL_TAG_BLOCK);
    chafa_symbol_map_add_by_tags(map, CHAFA_SYMBOL_TAG_BORDER);
    chafa_symbol_map_add_by_tags(map, CHAFA_SYMBOL_TAG_SPACE);
    chafa_symbol_map_remove_by_tags(map, CHAFA_SYMBOL_TAG_WIDE);
    if (mode != CHAFA_CANVAS_MODE_FGBG)
        chafa_symbol_map_remove_by_tags(map, CHAFA_SYMBOL_TAG_INVERTED);
    return map;
}

static ChafaCanvasConfig *make_config(const struct wish *wish, uint32_t columns,
                                      uint32_t rows)
{
    ChafaCanvasConfig *config = chafa_canvas_config_new();
    ChafaSymbolMap *symbols = make_symbols(wish->colors);

    chafa_canvas_config_set_geometry(config, (int)columns, (int)rows);
    chafa_canvas_config_set_cell_geometry(config, (int)wish->fit.cell_width,
                                          (int)wish->fit.cell_height);
    chafa_canvas_config_set_pixel_mode(config, wish->format);
    chafa_canvas_config_set_canvas_mode(config, wish->colors);
    chafa_canvas_config_set_transparency_threshold(config, 0.5f);
    chafa_canvas_config_set_symbol_map(config, symbols);
    chafa_canvas_config_set_optimizations(config,
                                          wish->colors == CHAFA_CANVAS_MODE_FGBG
                                              ? CHAFA_OPTIMIZATION_NONE
                                              : CHAFA_OPTIMIZATION_REUSE_ATTRIBUTES);
    chafa_symbol_map_unref(symbols);
    return config;
}

/* `pam` has a depth of 4, and is aligned. give */
static GString *draw(const struct module *m, const struct wish *wish,
                     const struct pam *pam, uint32_t columns, uint32_t rows)
{
    ChafaCanvasConfig *config = make_config(wish, columns, rows);
    ChafaCanvas *canvas = chafa_canvas_new(config);

    chafa_canvas_draw_all_pixels(canvas, CHAFA_PIXEL_RGBA8_UNASSOCIATED, pam->pixels,
                                 (int)pam->width, (int)pam->height, (int)pam->width * 4);
    GString *text = chafa_canvas_print(canvas, m->terminal);
    chafa_canvas_unref(canvas);
    chafa_canvas_config_unref(config);
    return text;
}

static int say_size(const struct mcplug_task *task, uint32_t columns, uint32_t rows)
{
    char number[16];

    snprintf(number, sizeof number, "%u", (unsigned)columns);
    int r = task->fact(task->job, "columns", number);
    snprintf(number, sizeof number, "%u", (unsigned)rows);
    return r == MCPLUG_OK ? task->fact(task->job, "rows", number) : r;
}

/* As large as it may be, and smaller if that has too many bytes. */
static int draw_to_fit(const struct module *m, const struct mcplug_task *task,
                       struct wish wish, const struct pam *pam, mcplug_buf **out,
                       struct mcplug_error *err)
{
    const uint64_t most = task->limits->max_bytes;
    const struct mcplug_host *host = m->host;
    uint32_t columns, rows;

    for (int i = 0; i < TRIES_MAX + HALVES_MAX; i++) {
        if (task->cancelled(task->job))
            return host->diag->fail(err, MCPLUG_ECANCELED, "cancelled");
        fit_image(&wish.fit, pam->width, pam->height, &columns, &rows);
        GString *text = draw(m, &wish, pam, columns, rows);
        const uint64_t len = text->len, cells = (uint64_t)columns * rows;
        int fits = !most || len <= most;
        if (fits)
            *out = host->mem->buf_new(text->str, text->len);
        g_string_free(text, TRUE);
        if (fits)
            return *out ? say_size(task, columns, rows)
                        : host->diag->fail(err, MCPLUG_ENOMEM, "out of memory");
        if (cells == 1)
            break;
        uint64_t next = i < TRIES_MAX ? cells * most / len * 9 / 10 : cells / 2;
        wish.fit.cells = next ? (uint32_t)next : 1; /* fewer, because most < len */
    }
    return host->diag->fail(err, MCPLUG_ETOOBIG,
                            "%llu bytes are too few for it on a terminal",
                            (unsigned long long)most);
}

/* ---- the converter ---- */

static int match(void *ctx, const char *mime, const struct mcplug_limits *limits)
{
    (void)ctx;
    return strcmp(mime, IN_MIME) == 0 && limits->want_mime &&
                   strcmp(limits->want_mime, OUT_MIME) == 0
               ? 90
               : 0;
}

/* libchafa reads words, and takes the length of a row for a multiple of their size, so
 * pixels without alpha and those that are not aligned are copied. give `copy`, or NULL */
static int align(const struct mcplug_host *host, struct pam *pam, unsigned char **copy,
                 struct mcplug_error *err)
{
    size_t n = (size_t)pam->width * pam->height;
    const unsigned char *from = pam->pixels;

    if (pam->depth == 4 && (uintptr_t)from % sizeof(uint32_t) == 0)
        return MCPLUG_OK;
    *copy = host->mem->alloc(n * 4);
    if (!*copy)
        return host->diag->fail(err, MCPLUG_ENOMEM, "out of memory");
    if (pam->depth == 4)
        memcpy(*copy, from, n * 4);
    for (size_t i = 0; pam->depth == 3 && i < n; i++) {
        memcpy(*copy + 4 * i, from + 3 * i, 3);
        (*copy)[4 * i + 3] = 255;
    }
    pam->pixels = *copy;
    pam->depth = 4;
    return MCPLUG_OK;
}

static int convert(void *ctx, const struct mcplug_task *task, struct mcplug_content *out,
                   struct mcplug_error *err)
{
    const struct module *m = ctx;
    const struct mcplug_host *host = m->host;
    unsigned char *copy = NULL;
    struct wish wish = {0};
    struct pam pam = {0};
    mcplug_buf *body = NULL;

    int r = read_settings(host, task->settings, &wish, err);
    if (r == MCPLUG_OK)
        r = pam_read(host->diag, host->mem->buf_bytes(task->in->body), &pam, err);
    if (r == MCPLUG_OK)
        r = align(host, &pam, &copy, err);
    if (r == MCPLUG_OK)
        r = draw_to_fit(m, task, wish, &pam, &body, err);
    host->mem->free(copy);
    if (r != MCPLUG_OK) {
        host->mem->buf_unref(body);
        return r;
    }
    out->mime = OUT_MIME;
    out->body = body;
    return MCPLUG_OK;
}

/* ---- the descriptor ---- */

/* Everything that libchafa and GLib make once is made here, by a drawing of each kind. */
static void warm_up(const struct module *m)
{
    static const uint32_t pixels[4] = {0xff0000ff, 0xff00ff00, 0x80ff0000, 0};
    const struct pam pam = {2, 2, 4, (const unsigned char *)pixels};

    for (const struct choice *f = formats; f->name; f++)
        for (const struct choice *c = colors; c->name; c++) {
            const struct wish wish = {.format = (ChafaPixelMode)f->value,
                                      .colors = (ChafaCanvasMode)c->value,
                                      .fit = {.cell_width = 8, .cell_height = 16}};
            g_string_free(draw(m, &wish, &pam, 1, 1), TRUE);
        }
}

static int init(const struct mcplug_host *host, mcplug_self *self, void **ctx,
                struct mcplug_error *err)
{
    struct module *m = host->mem->alloc(sizeof *m);

    (void)self;
    if (!m)
        return host->diag->fail(err, MCPLUG_ENOMEM, "out of memory");
    chafa_set_n_threads(1); /* of the library, for all of the process */
    ChafaTermDb *db = chafa_term_db_new();
    m->host = host;
    m->terminal = chafa_term_db_get_fallback_info(db);
    chafa_term_db_unref(db);
    warm_up(m);
    *ctx = m;
    return MCPLUG_OK;
}

static void fini(void *ctx)
{
    struct module *m = ctx;

    chafa_term_info_unref(m->terminal);
    m->host->mem->free(m);
}

static const struct mcplug_option options[] = {
    {"format", "string", "symbols",
     "what the terminal shows: kitty, iterm2, sixel or "
     "symbols"},
    {"columns", "int", "80", "at most this many columns, 1 to 1000"},
    {"rows", "int", "24", "at most this many rows, 1 to 1000"},
    {"cellWidth", "int", "8", "pixels of a column, 6 to 200"},
    {"cellHeight", "int", "16", "pixels of a row, 6 to 200"},
    {"colors", "string", "256", "of symbols: true, 256, 16 or none"},
    {NULL, NULL, NULL, NULL},
};

static const struct mcplug_converter_ops ops = {
    .struct_size = sizeof ops, .match = match, .convert = convert};

static const char *const accepts[] = {IN_MIME, NULL};

static const struct mcplug_feature features[] = {{.kind = MCPLUG_CONVERTER,
                                                  .name = "chafa",
                                                  .summary = "Images on a terminal",
                                                  .accepts = accepts,
                                                  .options = options,
                                                  .ops = &ops}};

MCPLUG_PLUGIN(chafa) = {MCPLUG_HEAD(4),
                        .name = "chafa",
                        .version = "0.1.0",
                        .license = "MIT",
                        .summary = "Images on a terminal",
                        .origin = "mcplug",
                        MCPLUG_FEATURES(features),
                        .init = init,
                        .fini = fini};
