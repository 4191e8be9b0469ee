#include "cli/base/pictures.h"

#include "base/mem.h"
#include "cli/base/content.h"
#include "cli/base/draw.h"

#include <string.h>
#include <strings.h>
#include <unistd.h>

#define DATA_MAX ((size_t)32 << 20) /* of an image that is drawn */
#define DRAW_MS 10000               /* for each of its conversions */

struct picture {
    const unsigned char *block; /* where its JSON begins */
    const mcplug_converted *text;
};

struct cli_pictures {
    struct cli_oneshot *link;
    mcplug_result *result;
    struct cli_doc doc;
    mp_view rest; /* blocks that were not looked at */
    cli_result_fn *next;
    struct cli_draw draw;
    bool stopped; /* none of the others would be drawn */
    size_t n;     /* that were tried */
    struct picture list[CLI_PICTURES];
};

static void pictures_free(struct cli_pictures *p)
{
    if (!p)
        return;
    for (size_t i = 0; i < p->n; i++)
        mcplug_converted_unref(p->list[i].text);
    mcplug_result_unref(p->result);
    mp_free(p);
}

/* ---- which ones ---- */

static bool is_image(const struct mcplug_block *b)
{
    return b->data.len > 2 && !b->text.len && b->mime.len > 8 &&
           strncasecmp((const char *)b->mime.data, "\"image/", 7) == 0;
}

static bool has_image(mp_view blocks)
{
    struct mcplug_block block = {.struct_size = sizeof block};

    while (mcplug_block_next(&blocks, &block))
        if (is_image(&block))
            return true;
    return false;
}

static int add_data(void *arg, const char *data, size_t len)
{
    return mp_str_add(arg, data, len);
}

/* ---- one after the other ---- */

static void step(struct cli_pictures *p);

static void on_drawn(void *arg, mcplug_call *call, const mcplug_converted *converted,
                     const struct mcplug_error *why)
{
    struct cli_pictures *p = arg;
    (void)call;

    if (p->link->finished) {
        pictures_free(p);
        return;
    }
    if (why && why->code == MCPLUG_ECANCELED && p->link->loop.signal) {
        cli_oneshot_fail(p->link, why, NULL);
        pictures_free(p);
        return;
    }
    if (converted)
        p->list[p->n - 1].text = mcplug_converted_ref(converted);
    p->stopped = why && (why->code == MCPLUG_ENOTSUP || why->code == MCPLUG_EIO ||
                         why->code == MCPLUG_ETIMEDOUT || why->code == MCPLUG_ENOMEM);
    step(p);
}

/* false: it stays a note. */
static bool start(struct cli_pictures *p, const struct mcplug_block *block)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    struct mp_str data;

    p->list[p->n++].block = block->json.data;
    mp_str_init(&data, DATA_MAX);
    bool ok = mcplug_block_write_data(p->doc.result, block, add_data, &data, NULL) ==
                  MCPLUG_OK &&
              !data.failed && data.len &&
              cli_draw_start(&p->draw, data.data, data.len, NULL, &err) == MCPLUG_OK;
    mp_str_clear(&data);
    return ok;
}

static void step(struct cli_pictures *p)
{
    struct mcplug_block block = {.struct_size = sizeof block};

    while (!p->stopped && p->n < CLI_PICTURES && mcplug_block_next(&p->rest, &block))
        if (is_image(&block) && start(p, &block))
            return;
    p->next(p->link, p->link->job, &p->doc);
    pictures_free(p);
}

bool cli_pictures_draw(struct cli_oneshot *link, const struct cli_doc *doc,
                       mp_view blocks, cli_result_fn *next)
{
    const struct cli_args *args = &link->cli->args;

    if (!link->cli->out.terminal || args->json || args->no_images || doc->raw ||
        !has_image(blocks))
        return false;
    struct cli_pictures *p = mp_alloc(sizeof *p);
    if (!p)
        return false;
    p->link = link;
    p->result = mcplug_result_ref((mcplug_result *)doc->result);
    p->doc = *doc;
    p->doc.pictures = p;
    p->rest = blocks;
    p->next = next;
    p->draw = (struct cli_draw){.host = link->host,
                                .timeout_ms = DRAW_MS,
                                .asks = true,
                                .call = &link->call,
                                .done = on_drawn,
                                .arg = p};
    cli_screen_look(&p->draw.screen, STDOUT_FILENO);
    p->draw.screen.rows = (p->draw.screen.rows + 1) * 2 / 3;
    link->answered = true;
    step(p);
    return true;
}

/* ---- printing ---- */

void cli_pictures_put(const struct cli_pictures *pictures,
                      const struct mcplug_block *block, struct cli_out *out)
{
    for (size_t i = 0; pictures && i < pictures->n; i++) {
        const struct picture *one = &pictures->list[i];
        if (!one->text || one->block != block->json.data)
            continue;
        cli_draw_put(one->text, out);
        cli_out_fresh_line(out);
    }
}
