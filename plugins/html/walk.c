/* What each element becomes. */
#include "html.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* What is done for an element as a whole; those with more to do are in enter(). */
struct rule {
    unsigned breaks;          /* before and after it */
    const char *first, *rest; /* prefixes of its lines */
    const char *open, *close; /* around its words */
    bool skipped, pre;
};

static const struct rule rules[GUMBO_TAG_LAST] = {
    [GUMBO_TAG_HEAD] = {.skipped = true},
    [GUMBO_TAG_TITLE] = {.skipped = true},
    [GUMBO_TAG_SCRIPT] = {.skipped = true},
    [GUMBO_TAG_STYLE] = {.skipped = true},
    [GUMBO_TAG_TEMPLATE] = {.skipped = true},
    [GUMBO_TAG_NOSCRIPT] = {.skipped = true},
    [GUMBO_TAG_NOFRAMES] = {.skipped = true},
    [GUMBO_TAG_NOEMBED] = {.skipped = true},
    [GUMBO_TAG_IFRAME] = {.skipped = true},
    [GUMBO_TAG_DATALIST] = {.skipped = true},
    [GUMBO_TAG_RP] = {.skipped = true},
    [GUMBO_TAG_P] = {.breaks = 2},
    [GUMBO_TAG_DIV] = {.breaks = 1},
    [GUMBO_TAG_CENTER] = {.breaks = 1},
    [GUMBO_TAG_SECTION] = {.breaks = 2},
    [GUMBO_TAG_ARTICLE] = {.breaks = 2},
    [GUMBO_TAG_HEADER] = {.breaks = 2},
    [GUMBO_TAG_FOOTER] = {.breaks = 2},
    [GUMBO_TAG_NAV] = {.breaks = 2},
    [GUMBO_TAG_ASIDE] = {.breaks = 2},
    [GUMBO_TAG_MAIN] = {.breaks = 2},
    [GUMBO_TAG_HGROUP] = {.breaks = 2},
    [GUMBO_TAG_ADDRESS] = {.breaks = 2},
    [GUMBO_TAG_FORM] = {.breaks = 2},
    [GUMBO_TAG_FIELDSET] = {.breaks = 2},
    [GUMBO_TAG_LEGEND] = {.breaks = 1},
    [GUMBO_TAG_FIGURE] = {.breaks = 2},
    [GUMBO_TAG_FIGCAPTION] = {.breaks = 1},
    [GUMBO_TAG_DETAILS] = {.breaks = 2},
    [GUMBO_TAG_SUMMARY] = {.breaks = 1},
    [GUMBO_TAG_UL] = {.breaks = 2},
    [GUMBO_TAG_OL] = {.breaks = 2},
    [GUMBO_TAG_MENU] = {.breaks = 2},
    [GUMBO_TAG_DIR] = {.breaks = 2},
    [GUMBO_TAG_DL] = {.breaks = 2},
    [GUMBO_TAG_LI] = {.breaks = 1},
    [GUMBO_TAG_DT] = {.breaks = 1},
    [GUMBO_TAG_DD] = {.breaks = 1, .first = "    ", .rest = "    "},
    [GUMBO_TAG_BLOCKQUOTE] = {.breaks = 2, .first = "> ", .rest = "> "},
    [GUMBO_TAG_PRE] = {.breaks = 2, .first = "    ", .rest = "    ", .pre = true},
    [GUMBO_TAG_LISTING] = {.breaks = 2, .first = "    ", .rest = "    ", .pre = true},
    [GUMBO_TAG_XMP] = {.breaks = 2, .first = "    ", .rest = "    ", .pre = true},
    [GUMBO_TAG_PLAINTEXT] = {.breaks = 2, .first = "    ", .rest = "    ", .pre = true},
    [GUMBO_TAG_H1] = {.breaks = 2, .first = "# ", .rest = ""},
    [GUMBO_TAG_H2] = {.breaks = 2, .first = "## ", .rest = ""},
    [GUMBO_TAG_H3] = {.breaks = 2, .first = "### ", .rest = ""},
    [GUMBO_TAG_H4] = {.breaks = 2, .first = "#### ", .rest = ""},
    [GUMBO_TAG_H5] = {.breaks = 2, .first = "##### ", .rest = ""},
    [GUMBO_TAG_H6] = {.breaks = 2, .first = "###### ", .rest = ""},
    [GUMBO_TAG_TABLE] = {.breaks = 2},
    [GUMBO_TAG_CAPTION] = {.breaks = 2},
    [GUMBO_TAG_TR] = {.breaks = 1},
    [GUMBO_TAG_TD] = {.breaks = 1},
    [GUMBO_TAG_TH] = {.breaks = 1},
    [GUMBO_TAG_CODE] = {.open = "`", .close = "`"},
    [GUMBO_TAG_DEL] = {.open = "~~", .close = "~~"},
    [GUMBO_TAG_S] = {.open = "~~", .close = "~~"},
    [GUMBO_TAG_STRIKE] = {.open = "~~", .close = "~~"},
    [GUMBO_TAG_Q] = {.open = "\"", .close = "\""},
    [GUMBO_TAG_SUP] = {.open = "^", .close = ""},
    [GUMBO_TAG_SUB] = {.open = "_", .close = ""},
    [GUMBO_TAG_RT] = {.open = "(", .close = ")"},
    [GUMBO_TAG_BUTTON] = {.open = "[button: ", .close = "]"},
    [GUMBO_TAG_TEXTAREA] = {.open = "[field: ", .close = "]"},
    [GUMBO_TAG_A] = {.open = "["},
};

/* An element that has begun. */
struct frame {
    const GumboNode *node;
    unsigned next;     /* of its children */
    unsigned breaks;   /* after it */
    uint64_t mark;     /* of html_flow_open() */
    const char *close; /* written behind its words, if there were any */
    const char *url;   /* of a link */
    long number;       /* of the next item; 0: not numbered */
    bool numbered, list, level, pre, table, cell;
};

struct walk {
    const struct html_host *host;
    struct plain_text frames; /* of struct frame */
    struct html_flow main, cell;
    struct html_flow *flow; /* one of the two */
    struct html_tables tables;
    struct html_table table;
    bool in_table; /* one for data */
    unsigned pre, lists;
    unsigned n; /* nodes */
};

/* ---- nodes ---- */

const GumboVector *html_children(const GumboNode *node)
{
    static const GumboVector none;
    return node->type == GUMBO_NODE_ELEMENT ? &node->v.element.children : &none;
}

const char *html_attribute(const GumboNode *node, const char *name)
{
    const GumboAttribute *a = gumbo_get_attribute(&node->v.element.attributes, name);
    return a ? a->value : NULL;
}

long html_number(const GumboNode *node, const char *name, long otherwise, long least,
                 long most)
{
    const char *text = html_attribute(node, name);
    char *end = NULL;
    long n = text ? strtol(text, &end, 10) : 0;
    if (!text || end == text)
        return otherwise;
    return n < least ? least : n > most ? most : n;
}

static bool is_html(const GumboNode *node)
{
    return node->v.element.tag_namespace == GUMBO_NAMESPACE_HTML;
}

/* Does the style have this declaration? Both without spaces. */
static bool has_style(const char *style, const char *name, const char *value)
{
    for (const char *s = style; (s = strcasestr(s, name)); s++) {
        const char *v = s + strlen(name);
        while (*v == ' ' || *v == ':')
            v++;
        if (strncasecmp(v, value, strlen(value)) == 0)
            return true;
    }
    return false;
}

/* Not shown by a browser, even without the style sheets, which are not read. */
static bool is_hidden(const GumboNode *node)
{
    const char *style = html_attribute(node, "style");
    return html_attribute(node, "hidden") ||
           (style && (has_style(style, "display", "none") ||
                      has_style(style, "visibility", "hidden"))) ||
           (node->v.element.tag == GUMBO_TAG_UNKNOWN &&
            node->v.element.original_tag.length > 7 &&
            strncasecmp(node->v.element.original_tag.data, "<dialog", 7) == 0 &&
            !html_attribute(node, "open"));
}

/* ---- pieces ---- */

static void put(struct walk *w, const char *text)
{
    html_flow_text(w->flow, text, false);
}

/* `[what: text]`, on one line. */
static void put_bracket(struct walk *w, const char *what, const char *text)
{
    uint64_t mark = html_flow_open(w->flow, "[");
    put(w, what);
    if (text && *text) {
        html_flow_append(w->flow, ": ", 2);
        w->flow->line_open = true;
        struct html_flow *f = w->flow;
        bool was = f->inline_only;
        f->inline_only = true;
        f->spaces = 0;
        html_flow_text(f, text, false);
        f->inline_only = was;
    }
    if (html_flow_close(w->flow, mark))
        html_flow_append(w->flow, "]", 1);
}

static void put_image(struct walk *w, const GumboNode *node)
{
    const char *alt = html_attribute(node, "alt");
    if (html_number(node, "width", 99, 0, 99) <= 1 ||
        html_number(node, "height", 99, 0, 99) <= 1 || (alt && !*alt))
        return; /* it counts views, or decorates */
    put_bracket(w, "image", alt);
}

static void put_input(struct walk *w, const GumboNode *node)
{
    const char *type = html_attribute(node, "type");
    const char *value = html_attribute(node, "value");
    const char *hint = html_attribute(node, "placeholder");
    bool checked = html_attribute(node, "checked") != NULL;
    type = type ? type : "text";
    html_flow_space(w->flow);
    if (strcasecmp(type, "hidden") == 0)
        return;
    if (strcasecmp(type, "checkbox") == 0)
        html_flow_word(w->flow, checked ? "[x]" : "[ ]", 3);
    else if (strcasecmp(type, "radio") == 0)
        html_flow_word(w->flow, checked ? "(x)" : "( )", 3);
    else if (strcasecmp(type, "submit") == 0 || strcasecmp(type, "button") == 0 ||
             strcasecmp(type, "reset") == 0)
        put_bracket(w, "button", value ? value : type);
    else if (strcasecmp(type, "image") == 0)
        put_bracket(w, "button", html_attribute(node, "alt"));
    else
        put_bracket(w, "field",
                    strcasecmp(type, "password") == 0 || !value || !*value ? hint
                                                                           : value);
    html_flow_space(w->flow);
}

/* The text of an option, which has no elements in it. */
static const char *text_of(const GumboNode *node)
{
    const GumboVector *children = html_children(node);
    const GumboNode *child = children->length > 0 ? children->data[0] : NULL;
    return child && child->type == GUMBO_NODE_TEXT ? child->v.text.text : "";
}

static void put_options(struct walk *w, const GumboNode *node, unsigned *n)
{
    const GumboVector *children = html_children(node);
    for (unsigned i = 0; i < children->length && *n <= HTML_CHOICES_MAX; i++) {
        const GumboNode *child = children->data[i];
        if (child->type != GUMBO_NODE_ELEMENT ||
            child->v.element.tag != GUMBO_TAG_OPTION || !*text_of(child))
            continue;
        if (*n > 0)
            html_flow_append(w->flow, ",", 1);
        html_flow_space(w->flow);
        if (++*n > HTML_CHOICES_MAX)
            put(w, "..");
        else
            put(w, text_of(child));
        if (html_attribute(child, "selected"))
            html_flow_append(w->flow, " (selected)", 11);
    }
}

static void put_select(struct walk *w, const GumboNode *node)
{
    unsigned n = 0;
    html_flow_space(w->flow);
    html_flow_word(w->flow, "[choice:", 8);
    const GumboVector *children = html_children(node);
    put_options(w, node, &n);
    for (unsigned i = 0; i < children->length; i++)
        put_options(w, children->data[i], &n); /* of groups */
    html_flow_append(w->flow, "]", 1);
    html_flow_space(w->flow);
}

/* ---- links ---- */

static bool begins(const char *s, const char *with)
{
    return strncasecmp(s, with, strlen(with)) == 0;
}

/* The address of a link, if it leads anywhere outside of the document. */
static const char *link_url(const GumboNode *node)
{
    const char *url = html_attribute(node, "href");
    while (url && *url && (unsigned char)*url <= ' ')
        url++;
    if (!url || !*url || *url == '#' || begins(url, "javascript:") ||
        begins(url, "vbscript:") || begins(url, "data:") || strlen(url) > HTML_URL_MAX)
        return NULL;
    return url;
}

/* Without what would end it, or is not to be shown. */
static void append_url(struct html_flow *f, const char *url)
{
    for (; *url; url++) {
        unsigned char c = (unsigned char)*url;
        char escaped[4];
        if (c == ' ' || c == '(' || c == ')' || c == '<' || c == '>') {
            snprintf(escaped, sizeof escaped, "%%%02X", c);
            html_flow_append(f, escaped, 3);
        } else if (c == 0xc2 && (unsigned char)url[1] < 0xa0) {
            url++;
        } else if (c > ' ' && c != 0x7f) {
            html_flow_append(f, url, 1);
        }
    }
}

/* `[text](url)`, but text that is the address already stays as it is. */
static void end_link(struct html_flow *f, const char *url)
{
    struct plain_text *out = &f->out;
    size_t at = f->last_mark;
    const char *address = begins(url, "mailto:") ? url + 7 : url;
    if (at > 0 && at <= out->len && out->data[at - 1] == '[' &&
        out->len - at == strlen(address) &&
        memcmp(out->data + at, address, out->len - at) == 0) {
        memmove(out->data + at - 1, out->data + at, out->len - at);
        out->len--;
        return;
    }
    html_flow_append(f, "](", 2);
    append_url(f, url);
    html_flow_append(f, ")", 1);
}

/* ---- elements ---- */

static struct frame *top_frame(struct walk *w)
{
    return (struct frame *)(void *)(w->frames.data + w->frames.len) - 1;
}

/* `- `, or the number that it has; also in a cell, where it has no line of its own. */
static void begin_item(struct walk *w, const GumboNode *node, struct frame *list,
                       struct frame *frame)
{
    char first[16] = "- ", rest[16] = "  ";
    if (list->numbered) {
        list->number = html_number(node, "value", list->number, -99999999, 99999999);
        snprintf(first, sizeof first, "%ld. ", list->number++);
        snprintf(rest, sizeof rest, "%*s", (int)strlen(first), "");
    }
    frame->level = html_flow_push(w->flow, first, rest);
    if (w->flow->inline_only) {
        html_flow_space(w->flow);
        html_flow_word(w->flow, first, strlen(first) - 1);
        html_flow_space(w->flow);
    }
}

static void begin_list(struct walk *w, const GumboNode *node, struct frame *frame)
{
    frame->list = true;
    frame->numbered = node->v.element.tag == GUMBO_TAG_OL;
    frame->number = html_number(node, "start", 1, -99999999, 99999999);
    frame->breaks = w->lists++ > 0 ? 1 : 2;
}

/* Elements without content; true: it was one. */
static bool put_void(struct walk *w, const GumboNode *node)
{
    switch (node->v.element.tag) {
    case GUMBO_TAG_BR:
        if (w->flow->breaks < 2)
            w->flow->breaks++;
        return true;
    case GUMBO_TAG_HR:
        html_flow_break(w->flow, 2);
        html_flow_word(w->flow, "---", 3);
        html_flow_break(w->flow, 2);
        return true;
    case GUMBO_TAG_IMG:
        put_image(w, node);
        return true;
    case GUMBO_TAG_INPUT:
        put_input(w, node);
        return true;
    case GUMBO_TAG_SELECT:
        put_select(w, node);
        return true;
    default:
        return false;
    }
}

static void begin_part(struct walk *w, const GumboNode *node, struct frame *parent,
                       struct frame *frame)
{
    switch (node->v.element.tag) {
    case GUMBO_TAG_UL:
    case GUMBO_TAG_OL:
    case GUMBO_TAG_MENU:
    case GUMBO_TAG_DIR:
    case GUMBO_TAG_DL:
        begin_list(w, node, frame);
        break;
    case GUMBO_TAG_LI:
        begin_item(w, node, parent, frame);
        break;
    case GUMBO_TAG_A:
        frame->url = link_url(node);
        break;
    case GUMBO_TAG_TABLE:
        frame->table = html_tables_is_data(&w->tables, node) && !w->in_table;
        w->in_table |= frame->table;
        break;
    case GUMBO_TAG_TR:
        if (w->in_table)
            html_table_row(&w->table);
        break;
    case GUMBO_TAG_TD:
    case GUMBO_TAG_TH:
        if (w->in_table && w->flow == &w->main) {
            frame->cell = true;
            w->flow = &w->cell;
        }
        break;
    default:
        break;
    }
}

/* Pushes the frame of an element, unless nothing is shown of its content. */
static void enter(struct walk *w, const GumboNode *node)
{
    static const struct rule none;
    bool html = is_html(node);
    const struct rule *rule = html ? &rules[node->v.element.tag] : &none;
    if (!html && (node->v.element.tag == GUMBO_TAG_STYLE ||
                  node->v.element.tag == GUMBO_TAG_SCRIPT))
        return;
    if (rule->skipped || is_hidden(node) || (html && put_void(w, node)))
        return;
    if (!html)
        html_flow_space(w->flow); /* words of a drawing or a formula are apart */
    struct frame frame = {.node = node, .breaks = rule->breaks, .close = rule->close};
    if (html)
        begin_part(w, node, top_frame(w), &frame);
    if (frame.breaks > 0 && !frame.cell)
        html_flow_break(w->flow, frame.breaks);
    if (rule->first)
        frame.level = html_flow_push(w->flow, rule->first, rule->rest);
    if (rule->open && (node->v.element.tag != GUMBO_TAG_A || frame.url) &&
        (node->v.element.tag != GUMBO_TAG_CODE || w->pre == 0))
        frame.mark = html_flow_open(w->flow, rule->open);
    frame.pre = rule->pre;
    w->pre += frame.pre;
    plain_text_add(&w->frames, (const char *)&frame, sizeof frame);
}

static void end_cell(struct walk *w, const GumboNode *node)
{
    struct html_flow *cell = &w->cell;
    html_table_cell(&w->table, node, cell->out.data, cell->out.len);
    struct plain_text out = cell->out;
    out.len = 0;
    *cell = (struct html_flow){.out = out, .inline_only = true};
    w->flow = &w->main;
}

static void leave(struct walk *w)
{
    struct frame frame = *top_frame(w);
    w->frames.len -= sizeof frame;
    w->pre -= frame.pre;
    w->lists -= frame.list;
    if (html_flow_close(w->flow, frame.mark)) {
        if (frame.url)
            end_link(w->flow, frame.url);
        else
            html_flow_append(w->flow, frame.close, strlen(frame.close));
    }
    if (frame.level)
        html_flow_pop(w->flow);
    if (frame.cell)
        end_cell(w, frame.node);
    else if (frame.breaks > 0)
        html_flow_break(w->flow, frame.breaks);
    if (frame.table) {
        html_table_write(&w->table, &w->main);
        html_flow_break(&w->main, 2);
        w->in_table = false;
    }
}

static void step(struct walk *w)
{
    struct frame *top = top_frame(w);
    const GumboVector *children = html_children(top->node);
    if (top->next == children->length) {
        leave(w);
        return;
    }
    const GumboNode *node = children->data[top->next++];
    if (node->type == GUMBO_NODE_ELEMENT)
        enter(w, node);
    else if (node->type == GUMBO_NODE_TEXT || node->type == GUMBO_NODE_CDATA ||
             node->type == GUMBO_NODE_WHITESPACE)
        html_flow_text(w->flow, node->v.text.text, w->pre > 0);
}

/* ---- the document ---- */

static const GumboNode *child_of(const GumboNode *node, GumboTag tag)
{
    const GumboVector *children = html_children(node);
    for (unsigned i = 0; i < children->length; i++) {
        const GumboNode *child = children->data[i];
        if (child->type == GUMBO_NODE_ELEMENT && child->v.element.tag == tag)
            return child;
    }
    return NULL;
}

static void put_title(struct walk *w, const GumboNode *root, char *title, size_t size)
{
    const GumboNode *head = child_of(root, GUMBO_TAG_HEAD);
    const GumboNode *node = head ? child_of(head, GUMBO_TAG_TITLE) : NULL;
    struct html_flow f = {.out = {.mem = w->main.out.mem, .max = size - 1},
                          .inline_only = true};
    if (node)
        html_flow_text(&f, text_of(node), false);
    if (f.out.len > 0) {
        memcpy(title, f.out.data, f.out.len);
        html_flow_word(&w->main, "Title: ", 7);
        html_flow_append(&w->main, f.out.data, f.out.len);
        html_flow_break(&w->main, 2);
    }
    title[f.out.len] = '\0';
    plain_text_clear(&f.out);
}

static bool is_full(const struct walk *w)
{
    return w->main.out.full || w->cell.out.full || w->table.text.full ||
           w->table.cells.full;
}

static bool is_out_of_memory(const struct walk *w)
{
    return w->main.out.nomem || w->cell.out.nomem || w->table.text.nomem ||
           w->table.cells.nomem || w->frames.nomem || w->tables.found.nomem;
}

int html_walk(const struct html_tree *tree, struct plain_text *out, char *title,
              size_t title_size, struct mcplug_error *err)
{
    const struct html_host *h = tree->host;
    const struct mcplug_diag *diag = h->host->diag;
    struct plain_text empty = {.mem = h->host->mem, .max = out->max};
    struct plain_text records = {.mem = h->host->mem, .max = SIZE_MAX / 4};
    struct plain_text cells = {.mem = h->host->mem, .max = HTML_CELLS_MAX};
    struct walk w = {.host = h,
                     .frames = records,
                     .main = {.out = *out},
                     .cell = {.out = empty, .inline_only = true},
                     .tables = {.found = records},
                     .table = {.text = empty, .cells = cells, .headed = true}};
    struct frame root = {.node = tree->root};
    bool cancelled = false;

    w.flow = &w.main;
    put_title(&w, tree->root, title, title_size);
    html_tables_find(&w.tables, tree->root);
    plain_text_add(&w.frames, (const char *)&root, sizeof root);
    while (w.frames.len > 0 && !is_full(&w) && !is_out_of_memory(&w) && !cancelled) {
        step(&w);
        cancelled = ++w.n % 4096 == 0 && h->task->cancelled(h->task->job);
    }
    bool full = is_full(&w);
    while (w.frames.len > 0)
        leave(&w);
    plain_text_add(&w.main.out, "\n", w.main.out.len > 0);
    bool nomem = is_out_of_memory(&w);
    *out = w.main.out;
    out->full |= full;
    html_table_clear(&w.table);
    plain_text_clear(&w.cell.out);
    plain_text_clear(&w.tables.found);
    plain_text_clear(&w.frames);
    if (cancelled)
        return diag->fail(err, MCPLUG_ECANCELED, "the conversion was cancelled");
    return nomem ? diag->fail(err, MCPLUG_ENOMEM, "out of memory") : MCPLUG_OK;
}
