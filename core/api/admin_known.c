/* <mcplug/admin.h>: what servers offered last. */
#include <mcplug/admin.h>

#include "base/error.h"
#include "base/mem.h"
#include "registry/registry.h"
#include "registry/tool_cache.h"

#include <time.h>

struct mcplug_known {
    struct mp_tool_cache cache;
};

mcplug_known *mcplug_known_new(const mcplug_entry *entry)
{
    mcplug_known *known = entry ? mp_alloc(sizeof *known) : NULL;

    if (known && !mp_tool_cache_load(&entry->config->paths, entry, &known->cache)) {
        mcplug_known_free(known);
        known = NULL;
    }
    return known;
}

void mcplug_known_free(mcplug_known *known)
{
    if (known)
        mp_tool_cache_clear(&known->cache);
    mp_free(known);
}

const char *mcplug_known_items(const mcplug_known *known, enum mcplug_kind kind,
                               size_t *len)
{
    if (!known || !len)
        return NULL;
    mp_view items = mp_tool_cache_items(&known->cache, kind);

    *len = items.len;
    return items.len ? (const char *)items.data : NULL;
}

int mcplug_known_info(const mcplug_known *known, enum mcplug_kind kind,
                      struct mcplug_known_info *out)
{
    if (!known || !out || !mp_tool_cache_items(&known->cache, kind).len)
        return 0;
    struct mcplug_known_info info = {
        .whole = mp_tool_cache_whole(&known->cache, kind),
        .fresh = mp_tool_cache_fresh(&known->cache, kind, (int64_t)time(NULL)),
        .at = mp_tool_cache_at(&known->cache, kind),
    };
    mp_give_struct(out, info);
    return 1;
}

void mcplug_known_forget(const mcplug_entry *entry, int all)
{
    if (!entry)
        return;
    if (all)
        mp_tool_cache_forget_name(&entry->config->paths, entry->name);
    else
        mp_tool_cache_forget(&entry->config->paths, entry);
}
