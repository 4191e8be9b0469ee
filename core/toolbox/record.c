#include "toolbox/toolbox.h"

#include "base/mem.h"

#include <mcplug/admin.h>

#include <ctype.h>

/* ---- the text of a result ---- */

static void add_line(struct mp_str *out, mp_view text)
{
    if (!text.len)
        return;
    if (out->len)
        mp_str_addc(out, '\n');
    mp_str_add_view(out, text);
}

/* A model has to know that it does not see all. */
static void add_cuts(struct mp_str *out, const mcplug_result *result)
{
    uint64_t size = 0;
    size_t n = mcplug_result_spills(result);

    for (size_t i = 0; i < n; i++) {
        struct mcplug_spill spill = {.struct_size = sizeof spill};
        if (mcplug_result_spill(result, i, &spill) == MCPLUG_OK)
            size += spill.size;
    }
    if (n)
        mp_str_addf(out, "%s[Cut short: %llu bytes in all.]", out->len ? "\n" : "",
                    (unsigned long long)size);
}

bool mp_record_text(const mcplug_result *from, struct mp_str *out)
{
    struct mcplug_block block = {.struct_size = sizeof block};
    mp_view part;
    enum mcplug_answer answer = mcplug_result_answer(from, &part);

    if (answer == MCPLUG_ANSWER_TEXT) {
        add_line(out, part);
    } else if (answer == MCPLUG_ANSWER_BLOCKS) {
        size_t len;
        const char *json = mcplug_result_json(from, &len);
        while (mcplug_block_next(&part, &block))
            add_line(out, block.text);
        part = mp_view_get(mp_bytes(json, len), "structuredContent");
    }
    if (answer != MCPLUG_ANSWER_TEXT && !out->len && part.len)
        mp_str_add(out, part.data, part.len);
    add_cuts(out, from);
    return !out->failed;
}

/* ---- the record as JSON ---- */

const char *mcplug_record_json(const struct mcplug_record *record)
{
    struct mp_str *out = mp_record_room(record);
    size_t len;

    mp_str_reset(out);
    mp_str_addf(out, "{\"ok\":%s,\"result\":", record->ok ? "true" : "false");
    mp_str_add_json(out, record->result, record->result_len);
    mp_str_addf(out,
                ",\"latencyMs\":%llu,\"kind\":", (unsigned long long)record->latency_ms);
    mp_str_add_json(out, record->kind, strlen(record->kind));
    mp_str_adds(out, ",\"namespace\":");
    mp_str_add_json(out, record->name_space, strlen(record->name_space));
    mp_str_adds(out, ",\"extras\":");
    const char *extras = record->extras ? mcplug_result_json(record->extras, &len) : NULL;
    if (extras)
        mp_str_add(out, extras, len);
    else
        mp_str_adds(out, "{}");
    mp_str_addc(out, '}');
    return out->failed ? NULL : out->data;
}

/* ---- who indexes code ---- */

/* As people name them in their configuration. */
static const char *const indexes[] = {
    "ast-grep", "claude-context", "code-index",  "code-index-mcp", "codebase-memory",
    "cody",     "serena",         "sourcegraph", "zoekt",
};

static bool same_name(const char *a, const char *b)
{
    for (; *a && *b; a++, b++) {
        char x = *a == '_' ? '-' : (char)tolower((unsigned char)*a);
        if (x != *b)
            return false;
    }
    return !*a && !*b;
}

const char *mp_code_index(const char *server)
{
    for (size_t i = 0; i < MP_COUNT(indexes); i++)
        if (same_name(server, indexes[i]))
            return indexes[i];
    return NULL;
}
