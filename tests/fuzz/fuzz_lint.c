/* The tools of a server, for each provider. What must hold whatever they are: a tool is
 * left out with a finding that says so, or is sent as JSON in which nothing is found any
 * more; and a tool in which nothing was found is sent with the schema that it has. */
#include "base/buf.h"
#include "json/walk.h"

#include <mcplug/admin.h>

#include "must.h"

#include <string.h>

static bool is_left_out(const mcplug_lint *lint, size_t tool)
{
    struct mcplug_finding f = {.struct_size = sizeof f};

    for (size_t i = 0; mcplug_lint_finding(lint, tool, i, &f); i++) {
        MUST(f.severity >= MCPLUG_ADVICE && f.severity <= MCPLUG_REFUSED);
        MUST(f.rule && f.path && f.wrong && f.cure && f.advice);
        if (f.is_left_out)
            return true;
    }
    return false;
}

static void check_sent(const char *provider, const char *json, size_t len)
{
    struct mcplug_finding f = {.struct_size = sizeof f};
    mcplug_lint *again = NULL;
    struct mp_str array;

    MUST(mp_scan_text(json, len, &mp_scan_defaults, NULL, NULL) == MCPLUG_OK);
    mp_str_init(&array, len + 2);
    mp_str_addc(&array, '[');
    mp_str_add(&array, json, len);
    mp_str_addc(&array, ']');
    MUST(!array.failed);
    if (mcplug_lint_new(provider, "s", array.data, array.len, &again, NULL) == MCPLUG_OK)
        MUST(!mcplug_lint_finding(again, 0, 0, &f) || f.severity != MCPLUG_REFUSED);
    mcplug_lint_free(again);
    mp_str_clear(&array);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *provider;

    for (size_t p = 0; (provider = mcplug_lint_provider(p)); p++) {
        mcplug_lint *lint = NULL;
        if (mcplug_lint_new(provider, "s", (const char *)data, size, &lint, NULL) !=
            MCPLUG_OK)
            return 0;
        mp_view array = mp_view_trim(mp_bytes(data, size));
        for (size_t i = 0, n = mp_view_count(array); i < n && i < 4; i++) {
            size_t len = 0;
            const char *json = mcplug_lint_tool(lint, i, &len);
            MUST(!json == is_left_out(lint, i));
            if (json)
                check_sent(provider, json, len);
        }
        mcplug_lint_free(lint);
    }
    return 0;
}
