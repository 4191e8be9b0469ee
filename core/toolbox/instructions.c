#include "toolbox/toolbox.h"

#include "base/mem.h"

/* A paragraph, with an empty line before it. */
static void add_text(struct mp_str *out, const char *text, size_t len)
{
    while (len && (text[len - 1] == '\n' || text[len - 1] == ' '))
        len--;
    if (len) {
        mp_str_add(out, text, len);
        mp_str_addc(out, '\n');
    }
}

static void add_view(struct mp_str *out, mp_view string)
{
    char *text = mp_view_strdup(string);
    if (text)
        add_text(out, text, strlen(text));
    else if (mp_view_is_string(string))
        out->failed = true; /* no memory: rather nothing than half of it */
    mp_free(text);
}

static void add_prompts(struct mp_str *out, const mcplug_list *list)
{
    for (size_t i = 0; list && i < mcplug_list_count(list); i++) {
        size_t len;
        const char *text = mcplug_list_item(list, i, &len);
        mp_view about = mp_view_get(mp_bytes(text, len), "description");
        if (i == 0)
            mp_str_adds(out, "\nPrompts:\n");
        mp_str_addf(out, "- %s", mcplug_list_name(list, i));
        if (mp_view_is_string(about) && about.len > 2) {
            mp_str_adds(out, ": ");
            add_view(out, about);
        } else {
            mp_str_addc(out, '\n');
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
static void add_tools(struct mp_str *out, struct mcplug_toolbox *box,
                      const struct mp_box_server *m, size_t *at)
{
    for (; *at < box->n_tools && box->tools[*at].member == m; ++*at) {
        const struct mp_tool *t = &box->tools[*at];
        size_t len;
        const char *json = mcplug_list_item(m->lists[0], t->index, &len);
        mp_view text = tool_text(mp_bytes(json, len));
        const char *name = t->name;
        if (!mp_view_is_string(text) || text.len == 2)
            continue;
        if (strncmp(name, "mcp__", 5) == 0 && !box->o.plain_names)
            name += 5;
        mp_str_addf(out, "\n##### Tool: %s\n", name);
        add_view(out, text);
    }
}

char *mp_instructions(struct mcplug_toolbox *box)
{
    struct mp_str out;
    size_t at = 0;

    mp_str_init(&out, (size_t)64 << 20);
    mp_str_adds(&out, "");
    for (size_t i = 0; i < box->n_members; i++) {
        const struct mp_box_server *m = box->members[i];
        const char *text = m->handle->service->instructions;
        size_t start = out.len;
        mp_str_addf(&out, "%s#### MCP Server: %s\n", start ? "\n" : "", m->name);
        size_t head = out.len;
        if (text)
            add_text(&out, text, strlen(text));
        add_prompts(&out, m->lists[1]);
        add_tools(&out, box, m, &at);
        if (out.len == head && !out.failed) { /* it has nothing to say */
            out.len = start;
            out.data[start] = '\0';
        }
    }
    return mp_str_take(&out);
}
