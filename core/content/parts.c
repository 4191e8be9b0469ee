/* The parts of a content, as a program sees them: <mcplug/content.h>. */
#include "content/content.h"

#include "base/error.h"
#include "base/mem.h"
#include "content/tokens.h"

mcplug_rendering *mp_content_new(void)
{
    mcplug_rendering *c = mp_alloc(sizeof *c);
    if (c) {
        atomic_init(&c->refs, 1);
        mp_str_init(&c->text, SIZE_MAX / 2); /* parts have limits */
    }
    return c;
}

const mcplug_rendering *mcplug_rendering_ref(const mcplug_rendering *content)
{
    if (content)
        atomic_fetch_add_explicit(&((mcplug_rendering *)content)->refs, 1,
                                  memory_order_relaxed);
    return content;
}

void mcplug_rendering_unref(const mcplug_rendering *content)
{
    mcplug_rendering *c = (mcplug_rendering *)content;

    if (!c || atomic_fetch_sub_explicit(&c->refs, 1, memory_order_acq_rel) != 1)
        return;
    for (size_t i = 0; i < c->n; i++)
        mp_str_clear(&c->parts[i].text);
    mp_free(c->parts);
    mp_str_clear(&c->text);
    mp_free(c->stored);
    mp_free(c->warning);
    mp_free(atomic_load(&c->json));
    mp_free(c);
}

struct mp_part *mp_content_add(mcplug_rendering *c, size_t max)
{
    if (!mp_grow(&c->parts, &c->cap, c->n + 1))
        return NULL;
    struct mp_part *part = &c->parts[c->n++];
    *part = (struct mp_part){0};
    mp_str_init(&part->text, max);
    return mp_str_adds(&part->text, "") ? part : NULL;
}

static bool is_text(const struct mp_part *part)
{
    return !part->image.mime;
}

int mp_content_finish(mcplug_rendering *c, struct mcplug_error *err)
{
    size_t texts = 0;

    for (size_t i = 0; i < c->n; i++) {
        struct mp_part *p = &c->parts[i];
        texts += is_text(p);
        p->tokens = is_text(p) ? mp_tokens_of(p->text.data, p->text.len)
                               : mp_image_tokens(&p->image);
    }
    bool join = texts > 1, first = true;
    for (size_t i = 0; join && i < c->n; i++) {
        const struct mp_part *p = &c->parts[i];
        if (!is_text(p))
            continue;
        if (!first)
            mp_str_addc(&c->text, '\n');
        mp_str_add(&c->text, p->text.data, p->text.len);
        first = false;
    }
    return c->text.failed ? mp_fail_nomem(err) : MCPLUG_OK;
}

int mcplug_rendering_part(const mcplug_rendering *content, size_t i,
                          struct mcplug_part *out)
{
    if (!content || !out || i >= content->n)
        return 0;
    const struct mp_part *p = &content->parts[i];
    struct mcplug_part own = {
        .kind = is_text(p) ? MCPLUG_PART_TEXT : MCPLUG_PART_IMAGE,
        .text = p->text.data,
        .len = p->text.len,
        .mime = p->image.mime,
        .tokens = p->tokens,
        .width = p->image.width,
        .height = p->image.height,
    };
    mp_give_struct(out, own);
    return 1;
}

const char *mcplug_rendering_text(const mcplug_rendering *content, size_t *len)
{
    const struct mp_str *text = content ? &content->text : NULL;

    for (size_t i = 0; text && !text->len && i < content->n; i++)
        if (is_text(&content->parts[i]))
            text = &content->parts[i].text;
    if (len)
        *len = text ? text->len : 0;
    return text && text->data ? text->data : content ? "" : NULL;
}

static void add_block(struct mp_str *out, const struct mp_part *p)
{
    mp_str_adds(out, is_text(p) ? "{\"type\":\"text\",\"text\":"
                                : "{\"type\":\"image\",\"data\":");
    mp_str_add_json(out, p->text.data, p->text.len);
    if (!is_text(p))
        mp_str_addf(out, ",\"mimeType\":\"%s\"", p->image.mime);
    mp_str_addc(out, '}');
}

const char *mcplug_rendering_json(const mcplug_rendering *content, size_t *len)
{
    mcplug_rendering *c =
        (mcplug_rendering *)content; /* the text is kept for the next time */
    char *kept = c ? atomic_load(&c->json) : NULL;
    struct mp_str out;

    if (c && !kept) {
        mp_str_init(&out, SIZE_MAX / 2);
        mp_str_addc(&out, '[');
        for (size_t i = 0; i < c->n; i++) {
            mp_str_adds(&out, i ? "," : "");
            add_block(&out, &c->parts[i]);
        }
        mp_str_addc(&out, ']');
        char *made = mp_str_take(&out);
        if (!made)
            return NULL;
        if (atomic_compare_exchange_strong(&c->json, &kept, made))
            kept = made;
        else
            mp_free(made); /* another thread was quicker */
    }
    if (len)
        *len = kept ? strlen(kept) : 0;
    return kept;
}

void mcplug_rendering_info(const mcplug_rendering *content,
                           struct mcplug_rendering_info *out)
{
    if (!content || !out)
        return;
    struct mcplug_rendering_info own = {.is_cut = content->is_cut,
                                        .characters = content->chars,
                                        .stored = content->stored};
    for (size_t i = 0; i < content->n; i++)
        own.tokens += content->parts[i].tokens;
    mp_give_struct(out, own);
}

uint64_t mcplug_estimate_tokens(const char *text, size_t len)
{
    return text ? mp_tokens_of(text, len) : 0;
}
