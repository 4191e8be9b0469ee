/* The words that configuration files have for types. This is the one place of the core
 * that knows a transport by its name: the format promises that a command alone means a
 * local program, and that words of other programs' files are understood. */
#include "config/config.h"

#include "base/error.h"
#include "base/mem.h"

#include <string.h>

static const char program[] = "stdio";

int mp_entry_type(const struct mp_entry *entry, char **out, struct mcplug_error *err)
{
    static const char *const same[][2] = {
        {"streamable-http", "http"},
        {"streamableHttp", "http"},
        {"streamable_http", "http"},
        {"local", program},
    };
    mp_view type = mp_view_get(entry->json, "type");
    const char *word = type.len ? NULL : program;

    *out = NULL;
    if (!type.len && !mp_view_get(entry->json, "command").len)
        return MCPLUG_OK;
    for (size_t i = 0; !word && i < MP_COUNT(same); i++)
        if (mp_view_equals(type, same[i][0]))
            word = same[i][1];
    *out = word ? mp_strdup(word) : mp_view_strdup(type);
    return *out ? MCPLUG_OK : mp_fail_nomem(err);
}

const char *mp_type_shown(const char *type)
{
    static const char *const same[][2] = {
        {"https", "http"}, {"wss", "websocket"}, {"ws", "websocket"}};
    for (size_t i = 0; i < MP_COUNT(same); i++)
        if (strcmp(type, same[i][0]) == 0)
            return same[i][1];
    return type;
}
