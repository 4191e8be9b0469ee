/* Names towards models, mcp__SERVER__TOOL, for people who type them: <mcplug/admin.h>. */
#include "config/config.h"

#include "base/mem.h"
#include "registry/names.h"

#include <mcplug/admin.h>

#define PREFIX "mcp__"
#define BETWEEN "__"

static char plain(char c)
{
    bool letter =
        (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    return letter ? c : '_';
}

/* Where in `text` the name, with _ for what is no letter or digit, ends; NULL: it does
 * not begin with it. */
static const char *behind(const char *text, const char *name)
{
    for (; *name; name++, text++)
        if (*text != plain(*name))
            return NULL;
    return text;
}

/* The tool in `text` behind `name`, when it is of that server. */
static const char *tool_behind(const char *text, const char *name)
{
    const char *end = behind(text, name);
    size_t n = strlen(BETWEEN);
    return end && strncmp(end, BETWEEN, n) == 0 && end[n] ? end + n : NULL;
}

int mcplug_entry_prefix(const mcplug_entry *entry, char *out, size_t size)
{
    if (!entry || !out)
        return 0;
    size_t n = strlen(entry->name), head = strlen(PREFIX);
    if (head + n + sizeof BETWEEN > size)
        return 0;
    memcpy(out, PREFIX, head);
    for (size_t i = 0; i < n; i++)
        out[head + i] = plain(entry->name[i]);
    memcpy(out + head + n, BETWEEN, sizeof BETWEEN);
    return 1;
}

/* give; NULL: no memory */
static struct mp_names *names_of(const struct mcplug_config *config)
{
    struct mp_names *names = mp_names_new(false);
    bool ok = names != NULL;

    for (size_t i = 0; ok && i < config->n_entries; i++)
        ok = config->entries[i].by ||
             mp_names_server(names, config->entries[i].name) == MCPLUG_OK;
    if (ok)
        return names;
    mp_names_free(names);
    return NULL;
}

/* By the name that the toolbox gives to the server, which may be shorter, or hashed. */
static struct mp_entry *by_namespace(const struct mcplug_config *config, const char *text,
                                     const char **tool)
{
    struct mp_names *names = names_of(config);
    struct mp_entry *found = NULL;

    for (size_t i = 0; names && !found && i < config->n_entries; i++) {
        struct mp_entry *entry = &config->entries[i];
        const char *space = entry->by ? NULL : mp_names_namespace(names, entry->name);
        const char *rest = space && *space ? tool_behind(text, space) : NULL;
        if (rest) {
            found = entry;
            *tool = rest;
        }
    }
    mp_names_free(names);
    return found;
}

mcplug_entry *mcplug_entry_find_qualified(const mcplug_config *config, const char *name,
                                          const char **tool, const mcplug_entry **other)
{
    struct mp_entry *found = NULL;

    if (!config || !name || !tool || !other)
        return NULL;
    *other = NULL;
    if (strncmp(name, PREFIX, strlen(PREFIX)) != 0)
        return NULL;
    name += strlen(PREFIX);
    for (size_t i = 0; i < config->n_entries; i++) {
        struct mp_entry *entry = &config->entries[i];
        const char *rest = entry->by ? NULL : tool_behind(name, entry->name);
        if (!rest)
            continue;
        *other = found;
        found = entry;
        *tool = rest;
    }
    return found ? found : by_namespace(config, name, tool);
}

/* The tool that was given this name: shortened, or told apart from another one. */
static ptrdiff_t find_given(const mcplug_entry *entry, const mcplug_list *tools,
                            const char *name)
{
    size_t n = mcplug_list_count(tools);
    struct mp_names *names = names_of(entry->config);
    const char **list = mp_alloc((n + 1) * sizeof *list), *server, *tool;
    ptrdiff_t found = MCPLUG_TOOL_NONE;

    for (size_t i = 0; list && i < n; i++)
        list[i] = mcplug_list_name(tools, i);
    if (names && list && mp_names_tools(names, entry->name, list) == MCPLUG_OK &&
        mp_names_resolve(names, name, &server, &tool) && strcmp(server, entry->name) == 0)
        found = mcplug_list_find(tools, tool);
    mp_free(list);
    mp_names_free(names);
    return found;
}

ptrdiff_t mcplug_entry_find_tool(const mcplug_entry *entry, const mcplug_list *tools,
                                 const char *name)
{
    if (!entry || !name)
        return MCPLUG_TOOL_NONE;
    size_t head = strlen(PREFIX);
    const char *text = strncmp(name, PREFIX, head) == 0 ? name + head : name;
    const char *tool = tool_behind(text, entry->name);
    ptrdiff_t found = MCPLUG_TOOL_NONE;

    if (!tool && by_namespace(entry->config, text, &tool) != entry)
        tool = NULL;
    if (tool && (found = mcplug_list_find(tools, tool)) >= 0)
        return found;
    for (size_t i = 0; tool && i < mcplug_list_count(tools); i++) {
        const char *end = behind(tool, mcplug_list_name(tools, i));
        if (end && !*end)
            found = found == MCPLUG_TOOL_NONE ? (ptrdiff_t)i : MCPLUG_TOOL_SEVERAL;
    }
    return found == MCPLUG_TOOL_NONE ? find_given(entry, tools, name) : found;
}
