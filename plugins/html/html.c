/* The converter `html`: HTML as text that people and language models read, in the manner
 * of Markdown. What a browser would not show is left out: scripts, styles, and elements
 * that are hidden by an attribute or their own style. */
#include "html.h"

#include <string.h>
#include <strings.h>

struct module {
    const struct mcplug_host *host;
    struct html_charsets *charsets;
};

static bool is_type(const char *mime, const char *type)
{
    size_t n = strlen(type);
    return mime && strncasecmp(mime, type, n) == 0 &&
           (mime[n] == '\0' || mime[n] == ';' || mime[n] == ' ');
}

static int match(void *ctx, const char *mime, const struct mcplug_limits *limits)
{
    (void)ctx;
    bool html = is_type(mime, "text/html") || is_type(mime, "application/xhtml+xml");
    return html && limits && is_type(limits->want_mime, "text/plain") ? 90 : 0;
}

static int check_size(const struct html_host *h, size_t len, struct mcplug_error *err)
{
    const struct mcplug_diag *diag = h->host->diag;
    int64_t max = HTML_INPUT_BYTES;
    if (MCPLUG_HAS(h->task, struct mcplug_task, settings))
        max = diag->prop_int(h->task->settings, "maxInput", max);
    if (max < 0 || len > (uint64_t)max)
        return diag->fail(err, MCPLUG_ETOOBIG,
                          "the HTML has %zu bytes; maxInput allows %lld", len,
                          (long long)max);
    return MCPLUG_OK;
}

static void tell(const struct mcplug_task *task, const char *name, const char *value)
{
    if (MCPLUG_HAS(task, struct mcplug_task, fact) && *value)
        task->fact(task->job, name, value);
}

static int convert(void *ctx, const struct mcplug_task *task, struct mcplug_content *out,
                   struct mcplug_error *err)
{
    struct module *m = ctx;
    const struct mcplug_mem *mem = m->host->mem;
    const struct mcplug_diag *diag = m->host->diag;
    struct html_host h = {.host = m->host, .task = task};
    struct mcplug_bytes in = mem->buf_bytes(task->in->body);
    struct plain_text input = {.mem = mem, .max = in.len * 3 + 1}, text = {.mem = mem};
    struct html_tree tree = {.host = &h};
    char title[240] = "";
    mcplug_buf *body = NULL;

    text.max = plain_text_max(task->limits);
    int r = check_size(&h, in.len, err);
    if (r == 0) {
        html_decode(task->in->mime, in, &input);
        plain_text_add(&input, "\n", 1);
        if (input.nomem)
            r = diag->fail(err, MCPLUG_ENOMEM, "out of memory");
    }
    if (r == 0)
        r = html_parse(&tree, &h, &input, err);
    if (r == 0)
        r = html_walk(&tree, &text, title, sizeof title, err);
    if (r == 0 && text.full)
        plain_text_cut(&text);
    if (r == 0 && !(body = mem->buf_new(text.len > 0 ? text.data : "", text.len)))
        r = diag->fail(err, MCPLUG_ENOMEM, "out of memory");
    if (r == 0) {
        tell(task, "title", title);
        tell(task, "cut", text.full ? "true" : "");
        out->mime = "text/plain";
        out->body = body;
    }
    html_tree_clear(&tree);
    plain_text_clear(&input);
    plain_text_clear(&text);
    return r;
}

static int init(const struct mcplug_host *host, mcplug_self *self, void **ctx,
                struct mcplug_error *err)
{
    (void)self;
    struct module *m = host->mem->alloc(sizeof *m);
    struct html_charsets *charsets = m ? html_charsets_new(host->mem) : NULL;
    if (!charsets) {
        host->mem->free(m);
        return host->diag->fail(err, MCPLUG_ENOMEM, "out of memory");
    }
    *m = (struct module){.host = host, .charsets = charsets};
    *ctx = m;
    return MCPLUG_OK;
}

static void fini(void *ctx)
{
    struct module *m = ctx;
    const struct mcplug_mem *mem = m->host->mem;
    html_charsets_free(mem, m->charsets);
    mem->free(m);
}

static const struct mcplug_converter_ops ops = {
    .struct_size = sizeof ops, .match = match, .convert = convert};

static const char *const accepts[] = {"text/html", "application/xhtml+xml", NULL};

static const struct mcplug_option options[] = {
    {"maxInput", "bytes", HTML_INPUT_MAX, "the largest document that is converted"},
    {NULL, NULL, NULL, NULL}};

static const struct mcplug_feature features[] = {{.kind = MCPLUG_CONVERTER,
                                                  .name = "html",
                                                  .summary = "HTML as text",
                                                  .accepts = accepts,
                                                  .options = options,
                                                  .ops = &ops}};

MCPLUG_PLUGIN(html) = {MCPLUG_HEAD(4),
                       .name = "html",
                       .version = "0.1.0",
                       .license = "MIT",
                       .summary = "HTML as text",
                       .origin = "mcplug",
                       MCPLUG_FEATURES(features),
                       .init = init,
                       .fini = fini};
