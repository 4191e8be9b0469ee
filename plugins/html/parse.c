/* The tree of a document, within bounds that gumbo does not have.
 *
 * gumbo does not look at what its allocator returns, and its functions that free recurse
 * as deep as the elements are nested, which overflows the stack. So its blocks are kept
 * in a list: the tree is freed without gumbo, and when there is no more memory the parser
 * is left by longjmp(). That leaks nothing and leaves nothing locked, for all that gumbo
 * has is in those blocks and on its stack. */
#include "html.h"

#include <setjmp.h>
#include <string.h>
#include <strings.h>

struct html_block {
    struct html_block *next, **back;
    size_t size;
    size_t reserved; /* aligns what follows to 16 bytes */
};

struct parser {
    struct html_tree *tree;
    jmp_buf out;
    unsigned n; /* allocations */
};

static void *allocate(void *arg, size_t size)
{
    struct parser *p = arg;
    struct html_tree *tree = p->tree;
    const struct html_host *h = tree->host;
    if (++p->n % 4096 == 0 && h->task->cancelled(h->task->job))
        longjmp(p->out, MCPLUG_ECANCELED);
    size += sizeof(struct html_block);
    if (size > HTML_TREE_MAX - tree->used)
        longjmp(p->out, MCPLUG_ETOOBIG);
    struct html_block *block = h->host->mem->alloc(size);
    if (!block)
        longjmp(p->out, MCPLUG_ENOMEM);
    tree->used += size;
    *block = (struct html_block){tree->blocks, &tree->blocks, size, 0};
    if (block->next)
        block->next->back = &block->next;
    tree->blocks = block;
    return block + 1;
}

static void deallocate(void *arg, void *data)
{
    struct parser *p = arg;
    if (!data)
        return;
    struct html_block *block = (struct html_block *)data - 1;
    *block->back = block->next;
    if (block->next)
        block->next->back = block->back;
    p->tree->used -= block->size;
    p->tree->host->host->mem->free(block);
}

void html_tree_clear(struct html_tree *tree)
{
    while (tree->blocks) {
        struct html_block *next = tree->blocks->next;
        tree->host->host->mem->free(tree->blocks);
        tree->blocks = next;
    }
    tree->root = NULL;
    tree->used = 0;
}

/* ---- before gumbo sees it ---- */

/* Elements that the next of their kind closes, so that they do not nest by themselves,
 * and those that have no content. */
static bool closes_itself(GumboTag tag)
{
    switch (tag) {
    case GUMBO_TAG_P:
    case GUMBO_TAG_LI:
    case GUMBO_TAG_DD:
    case GUMBO_TAG_DT:
    case GUMBO_TAG_TD:
    case GUMBO_TAG_TH:
    case GUMBO_TAG_TR:
    case GUMBO_TAG_TBODY:
    case GUMBO_TAG_THEAD:
    case GUMBO_TAG_TFOOT:
    case GUMBO_TAG_CAPTION:
    case GUMBO_TAG_COLGROUP:
    case GUMBO_TAG_OPTION:
    case GUMBO_TAG_HTML:
    case GUMBO_TAG_HEAD:
    case GUMBO_TAG_BODY:
    case GUMBO_TAG_AREA:
    case GUMBO_TAG_BASE:
    case GUMBO_TAG_BR:
    case GUMBO_TAG_COL:
    case GUMBO_TAG_EMBED:
    case GUMBO_TAG_FRAME:
    case GUMBO_TAG_HR:
    case GUMBO_TAG_IMG:
    case GUMBO_TAG_INPUT:
    case GUMBO_TAG_LINK:
    case GUMBO_TAG_META:
    case GUMBO_TAG_PARAM:
    case GUMBO_TAG_SOURCE:
    case GUMBO_TAG_TRACK:
    case GUMBO_TAG_WBR:
        return true;
    default:
        return false;
    }
}

static bool has_raw_text(GumboTag tag)
{
    return tag == GUMBO_TAG_SCRIPT || tag == GUMBO_TAG_STYLE || tag == GUMBO_TAG_TITLE ||
           tag == GUMBO_TAG_TEXTAREA || tag == GUMBO_TAG_XMP || tag == GUMBO_TAG_IFRAME;
}

struct scan {
    const char *end;
    uint32_t open[GUMBO_TAG_LAST + 1];
    uint64_t depth, work;
};

static const char *name_end(const char *s, const char *end)
{
    while (s < end && *s != '>' && *s != '/' && (unsigned char)*s > ' ')
        s++;
    return s;
}

static const char *skip_raw(const char *s, const char *end, const char *name, size_t len)
{
    for (; (size_t)(end - s) > len + 2; s++) {
        s = memchr(s, '<', (size_t)(end - s) - len - 1);
        if (!s)
            return end;
        if (s[1] == '/' && strncasecmp(s + 2, name, len) == 0)
            return s;
    }
    return end;
}

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\f' || c == '\r';
}

/* The `>` of a tag, or NULL, and how many attributes there are before it. */
static const char *tag_end(const char *s, const char *end, uint64_t *attributes)
{
    bool gap = true;
    for (*attributes = 0; s < end && *s != '>'; s++) {
        if (is_space(*s) || *s == '/') {
            gap = true;
        } else if (*s == '=') {
            while (s + 1 < end && is_space(s[1]))
                s++;
            if (s + 1 < end && (s[1] == '"' || s[1] == '\'')) {
                s = memchr(s + 2, s[1], (size_t)(end - s) - 2);
                if (!s)
                    return NULL;
            }
        } else if (gap) {
            ++*attributes;
            gap = false;
        }
    }
    return s < end ? s : NULL;
}

/* One tag, at the character behind its `<`; where to go on. */
static const char *scan_tag(struct scan *scan, const char *s)
{
    bool closing = *s == '/';
    const char *name = s + closing;
    if (name == scan->end || !((*name | 0x20) >= 'a' && (*name | 0x20) <= 'z'))
        return s;
    const char *stop = name_end(name, scan->end);
    size_t len = (size_t)(stop - name);
    uint64_t attributes;
    const char *close = tag_end(stop, scan->end, &attributes);
    GumboTag tag = gumbo_tagn_enum(name, (unsigned)len);
    bool foreign = scan->open[GUMBO_TAG_SVG] + scan->open[GUMBO_TAG_MATH] > 0;
    scan->work += attributes * attributes / 2; /* each is compared with the others */
    if (!close)
        return scan->end;
    if (foreign ? close[-1] == '/' : closes_itself(tag))
        return close;
    if (closing) {
        if (scan->open[tag] > 0) {
            scan->open[tag]--;
            scan->depth--;
        }
        return close;
    }
    if (has_raw_text(tag) && !foreign)
        return skip_raw(close, scan->end, name, len);
    scan->open[tag]++;
    scan->depth++;
    return close;
}

/* How many elements and attributes gumbo would look at, roughly: at each tag the elements
 * that are open. What is not counted here meets the limits of the process. */
static uint64_t work_of(const char *data, size_t len)
{
    struct scan scan = {.end = data + len};
    const char *s = data;
    while (s < scan.end && (s = memchr(s, '<', (size_t)(scan.end - s)))) {
        size_t left = (size_t)(scan.end - ++s);
        if (left >= 3 && memcmp(s, "!--", 3) == 0) {
            s = memmem(s, left, "-->", 3);
            if (!s)
                break;
        } else if (left > 0) {
            s = scan_tag(&scan, s);
            scan.work += scan.depth;
        }
    }
    return scan.work;
}

/* A frameset replaces the body, which gumbo then frees, and that recurses. So there is
 * none: it is renamed. */
static void rename_framesets(char *data, size_t len)
{
    const char *end = data + len;
    for (char *s = data; (s = memchr(s, '<', (size_t)(end - s))); s++)
        if (end - s > 9 && strncasecmp(s + 1, "frameset", 8) == 0)
            s[8] = 'X';
}

/* ---- */

static int fail(const struct html_host *h, int code, struct mcplug_error *err)
{
    const struct mcplug_diag *diag = h->host->diag;
    switch (code) {
    case MCPLUG_ECANCELED:
        return diag->fail(err, code, "the conversion was cancelled");
    case MCPLUG_ETOOBIG:
        return diag->fail(err, code, "the elements of the HTML need more than %zu MiB",
                          HTML_TREE_MAX >> 20);
    default:
        return diag->fail(err, code, "out of memory");
    }
}

int html_parse(struct html_tree *tree, const struct html_host *host,
               struct plain_text *input, struct mcplug_error *err)
{
    struct parser parser = {.tree = tree};
    *tree = (struct html_tree){.host = host};
    if (work_of(input->data, input->len) > HTML_WORK_MAX)
        return host->host->diag->fail(err, MCPLUG_ETOOBIG,
                                      "the elements of the HTML are nested too deeply, "
                                      "or have too many attributes");
    rename_framesets(input->data, input->len);
    GumboOptions options = kGumboDefaultOptions;
    options.allocator = allocate;
    options.deallocator = deallocate;
    options.userdata = &parser;
    options.max_errors = 0;
    int code = setjmp(parser.out);
    if (code != 0)
        return fail(host, code, err);
    tree->root = gumbo_parse_with_options(&options, input->data, input->len)->root;
    return MCPLUG_OK;
}
