/* The converter `pdf`: the text of each page, in the order of reading, after a line that
 * has its number.
 *
 * GLib and poppler end the process when memory runs out: in a worker that is one
 * conversion that failed. */
#include "pdf.h"

#include "../common/plain.h"

#include <poppler.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

struct module {
    const struct mcplug_host *host;
    /* poppler forgets what it has read from files when no document is open any more, and
     * in a worker it cannot open them again. */
    PopplerDocument *sample;
    guint log_handler;
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
    return is_type(mime, "application/pdf") && limits &&
                   is_type(limits->want_mime, "text/plain")
               ? 90
               : 0;
}

/* ---- text ---- */

/* Adds UTF-8 without control characters; `line_ends` stay, or become spaces. Returns
 * whether there was anything but spaces. */
static bool add_shown(struct plain_text *t, const char *text, bool line_ends)
{
    const char *s = text, *from = text;
    bool any = false;
    while (*s) {
        gunichar c = g_utf8_get_char_validated(s, -1);
        bool bad = c == (gunichar)-1 || c == (gunichar)-2;
        const char *next = bad ? s + 1 : g_utf8_next_char(s);
        const char *with = NULL;
        if (bad)
            with = "\xef\xbf\xbd";
        else if (c == '\f' || c == '\r' || (c == '\n' && !line_ends))
            with = line_ends ? "\n" : " ";
        else if (c == 0xa0)
            with = " ";
        else if ((c < 0x20 && c != '\n' && c != '\t') || (c >= 0x7f && c < 0xa0) ||
                 c == 0xad)
            with = "";
        else if (c > ' ')
            any = true;
        if (with) {
            plain_text_add(t, from, (size_t)(s - from));
            plain_text_add(t, with, strlen(with));
            from = next;
        }
        s = next;
    }
    plain_text_add(t, from, (size_t)(s - from));
    return any;
}

static void add_page(struct plain_text *t, PopplerDocument *document, int page, int pages)
{
    char line[64];
    int n = snprintf(line, sizeof line, "%s--- page %d of %d ---\n",
                     t->len > 0 ? "\n" : "", page, pages);
    PopplerPage *p = poppler_document_get_page(document, page - 1);
    char *text = p ? poppler_page_get_text(p) : NULL;
    plain_text_add(t, line, (size_t)n);
    if (!p)
        plain_text_add(t, "[This page is damaged.]\n", 24);
    else if (!text || !add_shown(t, text, true))
        plain_text_add(t, "[This page has no text.]\n", 25);
    else if (t->len > 0 && t->data[t->len - 1] != '\n')
        plain_text_add(t, "\n", 1);
    g_free(text);
    g_clear_object(&p);
}

static int add_pages(const struct module *m, const struct mcplug_task *task,
                     PopplerDocument *document, const struct pdf_pages *wanted,
                     struct plain_text *t, struct mcplug_error *err)
{
    const struct mcplug_diag *diag = m->host->diag;
    int pages = poppler_document_get_n_pages(document);
    for (int page = 1; page <= pages && !t->full && !t->nomem; page++) {
        if (!pdf_pages_has(wanted, page))
            continue;
        if (task->cancelled(task->job))
            return diag->fail(err, MCPLUG_ECANCELED, "the conversion was cancelled");
        add_page(t, document, page, pages);
    }
    if (t->nomem)
        return diag->fail(err, MCPLUG_ENOMEM, "out of memory");
    if (t->len == 0 && wanted->n > 0)
        return diag->fail(err, MCPLUG_ECONFIG,
                          "the PDF has %d pages, and none of those in the setting pages",
                          pages);
    return MCPLUG_OK;
}

/* ---- the converter ---- */

static int open_document(const struct module *m, struct mcplug_bytes in,
                         PopplerDocument **out, struct mcplug_error *err)
{
    const struct mcplug_diag *diag = m->host->diag;
    GError *why = NULL;
    GBytes *bytes = g_bytes_new_static(in.data, in.len);
    int r = MCPLUG_OK;
    *out = poppler_document_new_from_bytes(bytes, NULL, &why);
    if (!*out && g_error_matches(why, POPPLER_ERROR, POPPLER_ERROR_ENCRYPTED))
        r = diag->fail(err, MCPLUG_ENOTSUP, "the PDF needs a password");
    else if (!*out && g_error_matches(why, POPPLER_ERROR, POPPLER_ERROR_DAMAGED))
        r = diag->fail(err, MCPLUG_EPROTO, "the PDF is damaged");
    else if (!*out)
        r = diag->fail(err, MCPLUG_EPROTO, "the PDF cannot be read: %s",
                       why ? why->message : "unknown error");
    g_clear_error(&why);
    g_bytes_unref(bytes);
    return r;
}

static int read_setting(const struct module *m, const struct mcplug_task *task,
                        struct pdf_pages *out, struct mcplug_error *err)
{
    const char *text = NULL;
    if (MCPLUG_HAS(task, struct mcplug_task, settings))
        text = m->host->diag->prop(task->settings, "pages");
    if (pdf_pages_read(text ? text : "", out))
        return MCPLUG_OK;
    return m->host->diag->fail(
        err, MCPLUG_ECONFIG,
        "the setting pages is \"%.64s\"; expected up to %d numbers "
        "and ranges such as 1-3,7,10-",
        text, PDF_RANGES_MAX);
}

static void report(const struct module *m, const struct mcplug_task *task,
                   PopplerDocument *document, bool cut)
{
    char *title = poppler_document_get_title(document), pages[16];
    struct plain_text t = {.mem = m->host->mem, .max = 239};
    if (MCPLUG_HAS(task, struct mcplug_task, fact)) {
        snprintf(pages, sizeof pages, "%d", poppler_document_get_n_pages(document));
        task->fact(task->job, "pages", pages);
        if (title && add_shown(&t, title, false) && !t.nomem) {
            t.full = false;
            t.max++;
            plain_text_add(&t, "", 1);
            task->fact(task->job, "title", t.data);
        }
        if (cut)
            task->fact(task->job, "cut", "true");
    }
    plain_text_clear(&t);
    g_free(title);
}

static int convert(void *ctx, const struct mcplug_task *task, struct mcplug_content *out,
                   struct mcplug_error *err)
{
    struct module *m = ctx;
    const struct mcplug_mem *mem = m->host->mem;
    struct plain_text text = {.mem = mem, .max = plain_text_max(task->limits)};
    PopplerDocument *document = NULL;
    struct pdf_pages wanted;
    mcplug_buf *body = NULL;

    int r = read_setting(m, task, &wanted, err);
    if (r == 0)
        r = open_document(m, mem->buf_bytes(task->in->body), &document, err);
    if (r == 0)
        r = add_pages(m, task, document, &wanted, &text, err);
    if (r == 0 && text.full)
        plain_text_cut(&text);
    if (r == 0 && !(body = mem->buf_new(text.len > 0 ? text.data : "", text.len)))
        r = m->host->diag->fail(err, MCPLUG_ENOMEM, "out of memory");
    if (r == 0) {
        report(m, task, document, text.full);
        out->mime = "text/plain";
        out->body = body;
    }
    g_clear_object(&document);
    plain_text_clear(&text);
    return r;
}

/* What poppler has to say of broken documents, which it logs in the domain Poppler. */
static void drop(const char *domain, GLogLevelFlags level, const char *message, void *arg)
{
    (void)domain, (void)level, (void)message, (void)arg;
}

static void fini(void *ctx)
{
    struct module *m = ctx;
    g_clear_object(&m->sample);
    g_log_remove_handler("Poppler", m->log_handler);
    m->host->mem->free(m);
}

static int init(const struct mcplug_host *host, mcplug_self *self, void **ctx,
                struct mcplug_error *err)
{
    (void)self;
    struct module *m = host->mem->alloc(sizeof *m);
    if (!m)
        return host->diag->fail(err, MCPLUG_ENOMEM, "out of memory");
    m->host = host;
    m->log_handler = g_log_set_handler(
        "Poppler", G_LOG_LEVEL_MASK | G_LOG_FLAG_FATAL | G_LOG_FLAG_RECURSION, drop,
        NULL);
    struct mcplug_bytes in = {(const unsigned char *)pdf_sample, strlen(pdf_sample)};
    int r = open_document(m, in, &m->sample, err);
    if (r == 0) {
        struct plain_text text = {.mem = host->mem, .max = 4096};
        add_page(&text, m->sample, 1, 1);
        plain_text_clear(&text);
        *ctx = m;
    } else {
        fini(m);
    }
    return r;
}

static const struct mcplug_converter_ops ops = {
    .struct_size = sizeof ops, .match = match, .convert = convert};

static const char *const accepts[] = {"application/pdf", NULL};

static const struct mcplug_option options[] = {
    {"pages", "string", "", "the pages that are converted, such as 1-3,7,10-; else all"},
    {NULL, NULL, NULL, NULL}};

static const struct mcplug_feature features[] = {{.kind = MCPLUG_CONVERTER,
                                                  .name = "pdf",
                                                  .summary = "PDF as text",
                                                  .accepts = accepts,
                                                  .options = options,
                                                  .ops = &ops}};

/* These sources are under the MIT licence, as all of mcplug. poppler is under the GPL, so
 * the module as it is loaded, with poppler, is too. */
MCPLUG_PLUGIN(pdf) = {MCPLUG_HEAD(4),
                      .name = "pdf",
                      .version = "0.1.0",
                      .license = "GPL-2.0-or-later",
                      .summary = "PDF as text",
                      .origin = "mcplug",
                      MCPLUG_FEATURES(features),
                      .init = init,
                      .fini = fini};
