#include "toolbox/toolbox.h"

#include "base/mem.h"

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

/* A paragraph. */
static void add_text(struct part *p, const char *text, size_t len)
{
    while (len && (text[len - 1] == '\n' || text[len - 1] == ' '))
        len--;
    if (len) {
        add(p, text, len);
        adds(p, "\n");
    }
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
    for (size_t i = 0; list && i < mcplug_list_count(list) && !p->cut; i++) {
        size_t len;
        const char *text = mcplug_list_item(list, i, &len);
        mp_view about = mp_view_get(mp_bytes(text, len), "description");
        if (i == 0)
            adds(p, "\nPrompts:\n");
        adds(p, "- ");
        adds(p, mcplug_list_name(list, i));
        if (mp_view_is_string(about) && about.len > 2) {
            adds(p, ": ");
            add_view(p, about);
        } else {
            adds(p, "\n");
        }
    }
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
        mp_str_addf(&out, "%s#### MCP Server: %s\n", start ? "\n" : "", m->name);
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
