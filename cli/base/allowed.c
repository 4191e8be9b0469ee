#include "cli/base/allowed.h"

#include "base/mem.h"
#include "registry/filter.h"
#include "cli/base/message.h"

int cli_allowed_init(struct cli_allowed *allowed, const struct mp_entry *entry,
                     struct mcplug_error *err)
{
    memset(allowed, 0, sizeof *allowed);
    if (!entry || entry->broken) /* a broken one is not used anyway */
        return MCPLUG_OK;
    allowed->entry = entry;
    int r = mp_entry_supervision(entry, &allowed->supervision, err);
    allowed->unknown = r != MCPLUG_OK;
    return r;
}

void cli_allowed_clear(struct cli_allowed *allowed)
{
    mp_supervision_clear(&allowed->supervision);
    memset(allowed, 0, sizeof *allowed);
}

bool cli_allowed_has(const struct cli_allowed *allowed, const char *tool)
{
    const struct mp_supervision *u = &allowed->supervision;
    return !allowed->unknown &&
           (!allowed->entry ||
            mp_filter_allows((const char *const *)u->tools_allowed,
                             (const char *const *)u->tools_denied, tool));
}

bool cli_allowed_item(const struct cli_allowed *allowed, enum mcplug_kind kind,
                      mp_view name)
{
    char *tool = kind == MCPLUG_TOOLS ? mp_view_strdup(name) : NULL;
    bool has = kind != MCPLUG_TOOLS || (tool && cli_allowed_has(allowed, tool));
    mp_free(tool);
    return has;
}

size_t cli_allowed_count(const struct mp_entry *entry, const mcplug_list *tools)
{
    struct cli_allowed allowed;
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    size_t n = 0;

    (void)cli_allowed_init(&allowed, entry, &err); /* without memory: none */
    for (size_t i = 0; i < mcplug_list_count(tools); i++)
        n += cli_allowed_has(&allowed, mcplug_list_name(tools, i));
    cli_allowed_clear(&allowed);
    return n;
}

bool cli_allowed_tell(const struct cli_allowed *allowed, const char *tool)
{
    if (cli_allowed_has(allowed, tool))
        return true;
    if (!allowed->entry)
        return false;
    const struct mp_entry *entry = allowed->entry;
    const char *by =
        mp_filter_match((const char *const *)allowed->supervision.tools_denied, tool);
    if (by)
        cli_error("tool '%.128s' of server \"%s\" is not allowed: toolsDenied of %s has "
                  "\"%.128s\"",
                  tool, entry->name, entry->source->path, by);
    else
        cli_error("tool '%.128s' of server \"%s\" is not allowed: it is not in "
                  "toolsAllowed of %s",
                  tool, entry->name, entry->source->path);
    return false;
}
