#include "toolbox/toolbox.h"

#include "base/mem.h"
#include "base/text.h"

#define PART_MAX ((size_t)256 << 10) /* of one server: a model reads all of them */

/* What one server has to say. */
struct part {
    struct mp_str *out;
    size_t end; /* of what it may */
    bool cut;
};

static void add(struct part *p, const char *text, size_t len)
{
    size_t left = p->end - p->out->len;

    if (len > left) {
        p->cut = true;
        len = left;
        while (len && ((unsigned char)text[len] & 0xc0) == 0x80)
            len--; /* no half of a character */
        p->end = p->out->len + len;
    }
    mp_str_add(p->out, text, len);
}

static void adds(struct part *p, const char *text)
{
    add(p, text, strlen(text));
}

/* A paragraph in the words of the server, each line marked: no text of one server can
 * begin the section of another, or end its own. */
static void add_text(struct part *p, const char *text, size_t len)
{
    struct mp_str quoted;

    while (len && (text[len - 1] == '\n' || text[len - 1] == ' '))
        len--;
    if (!len)
        return;
    if (len > PART_MAX) /* one more than fits: it is cut, and said so */
        len = PART_MAX + 1;
    mp_str_init(&quoted, 12 * (PART_MAX + 1));
    mp_quote(&quoted, text, len, true);
    add(p, quoted.data, quoted.len);
    adds(p, "\n");
    p->out->failed = p->out->failed || quoted.failed;
    mp_str_clear(&quoted);
}

static void add_view(struct part *p, mp_view string)
{
    char *text = mp_view_strdup(string);
    if (text)
        add_text(p, text, strlen(text));
    else if (mp_view_is_string(string))
        p->out->failed = true; /* no memory: rather nothing than half of it */
    mp_free(text);
}

static void add_prompts(struct part *p, const mcplug_list *list)
{
    struct mp_str item;

    mp_str_init(&item, (size_t)64 << 20);
    for (size_t i = 0; list && i < mcplug_list_count(list) && !p->cut; i++) {
        size_t len;
        const char *text = mcplug_list_item(list, i, &len);
        mp_view about = mp_view_get(mp_bytes(text, len), "description");
        if (i == 0)
            adds(p, "\nPrompts:\n");
        mp_str_reset(&item);
        mp_str_adds(&item, "- ");
        mp_str_adds(&item, mcplug_list_name(list, i));
        if (mp_view_is_string(about) && about.len > 2) {
            mp_str_adds(&item, ": ");
            mp_str_add_view(&item, about);
        }
        add_text(p, item.data ? item.data : "", item.len);
        p->out->failed = p->out->failed || item.failed;
    }
    mp_str_clear(&item);
}

/* What a server says of one tool beside its description. */
static mp_view tool_text(mp_view tool)
{
    mp_view text = mp_view_get(tool, "instructions");
    return mp_view_is_string(text) ? text : mp_view_path(tool, "_meta/instructions");
}

/* The tools of the box are in the order of its servers: those of `m` begin at `*at`. */
static void add_tools(struct part *p, struct mcplug_toolbox *box,
                      const struct mp_box_server *m, size_t *at)
{
    for (; *at < box->n_tools && box->tools[*at].member == m; ++*at) {
        const struct mp_tool *t = &box->tools[*at];
        size_t len;
        const char *json = mcplug_list_item(m->lists[0], t->index, &len);
        mp_view text = tool_text(mp_bytes(json, len));
        const char *name = t->name;
        if (!mp_view_is_string(text) || text.len == 2 || p->cut)
            continue;
        if (strncmp(name, "mcp__", 5) == 0 && !box->o.plain_names)
            name += 5;
        adds(p, "\n##### Tool: ");
        adds(p, name);
        adds(p, "\n");
        add_view(p, text);
    }
}

char *mp_instructions(struct mcplug_toolbox *box)
{
    struct mp_str out;
    size_t at = 0;

    mp_str_init(&out, (box->n_members + 1) * (PART_MAX + 1024));
    mp_str_adds(&out, "");
    for (size_t i = 0; i < box->n_members; i++) {
        const struct mp_box_server *m = box->members[i];
        const char *text = m->server->service->id.instructions;
        size_t start = out.len;
        char name[MCPLUG_NAME_MAX * 4 + 1];
        mp_text_line(name, sizeof name, m->name, strlen(m->name));
        mp_str_addf(&out, "%s#### MCP Server: %s\n", start ? "\n" : "", name);
        size_t head = out.len;
        struct part part = {&out, head + PART_MAX, false};
        if (text)
            add_text(&part, text, strlen(text));
        add_prompts(&part, m->lists[1]);
        add_tools(&part, box, m, &at);
        if (part.cut)
            mp_str_addf(&out, "\n(The rest is left out: more than %zu KiB.)\n",
                        PART_MAX >> 10);
        if (out.len == head && !out.failed) { /* it has nothing to say */
            out.len = start;
            out.data[start] = '\0';
        }
    }
    return mp_str_take(&out);
}
