/* Tools as the APIs of models want them. One tool that such an API refuses fails the
 * whole request, so what is known to be refused is repaired or left out: rules.h. */
#include "toolbox/toolbox.h"

#include "base/mem.h"

/* ---- its parts ---- */

/* Whole characters only. */
static size_t cut(const char *text, size_t len)
{
    size_t n = len > MP_DESCRIPTION_MAX ? MP_DESCRIPTION_MAX : len;

    while (n < len && n > 0 && ((unsigned char)text[n] & 0xc0) == 0x80)
        n--;
    return n;
}

/* Adds it as it came where it can be. */
static void add_words(struct mp_str *out, const struct mp_formatting *how, mp_view words,
                      const struct mp_at *at)
{
    struct mp_str quoted, plain;
    size_t begin = out->len;

    mp_quote_description(out, words);
    if (out->failed)
        return;
    mp_view sent = mp_bytes(out->data + begin, out->len - begin);
    if (sent.len != words.len || memcmp(sent.data, words.data, sent.len) != 0)
        mp_find(how->found, how->provider, MP_RULE_QUOTED_DESCRIPTION, at);
    mp_str_init(&plain, sent.len + 1);
    mp_str_init(&quoted, (MP_DESCRIPTION_MAX + 4) * 6);
    mp_str_add_view(&plain, sent);
    if (plain.len > MP_DESCRIPTION_MAX && how->is_cut) {
        mp_find(how->found, how->provider, MP_RULE_LONG_DESCRIPTION, at);
        mp_str_add_json(&quoted, plain.data, cut(plain.data, plain.len));
        out->len = begin;
        mp_str_add(out, quoted.data, quoted.len);
    } else if (plain.len > 1024) {
        mp_find(how->found, how->provider, MP_RULE_OLD_DESCRIPTION, at);
    }
    out->failed = out->failed || plain.failed || quoted.failed;
    mp_str_clear(&plain);
    mp_str_clear(&quoted);
}

/* Without one the model is told as much as there is. */
static void add_description(struct mp_str *out, const struct mp_formatting *how,
                            const char *name, mp_view tool)
{
    mp_view about[] = {mp_view_get(tool, "description"), mp_view_get(tool, "title"),
                       mp_view_path(tool, "annotations/title")};
    struct mp_at at = {.name = "description"};

    for (size_t i = 0; i < MP_COUNT(about); i++) {
        if (mp_view_is_string(about[i]) && about[i].len > 2) {
            add_words(out, how, about[i], &at);
            return;
        }
        if (i == 0)
            mp_find(how->found, how->provider, MP_RULE_NO_DESCRIPTION, &at);
    }
    mp_str_add_json(out, name, strlen(name));
}

/* What was left out, or merged, may be where a reference led to, or what `required`
 * names: so the result is looked at once more. */
static enum mp_formatted add_schema(struct mp_str *out, const struct mp_formatting *how,
                                    mp_view schema)
{
    const struct mp_provider *p = how->provider;
    struct mp_at at = {.name = "inputSchema"};
    struct mp_str clean, merged;

    mp_str_init(&clean, mp_format_max(schema.len));
    mp_str_init(&merged, mp_format_max(schema.len));
    if (mp_view_is_object(schema))
        mp_keywords_add(&clean, p, schema, mp_root_is_merged(schema, p), &at, how->found);
    enum mp_formatted result =
        mp_merge_add(&merged, p, mp_bytes(clean.data, clean.len), &at, how->found);
    out->failed = out->failed || clean.failed || merged.failed;
    if (result == MP_FORMATTED && !out->failed)
        mp_keywords_add(out, p, mp_bytes(merged.data, merged.len), false, &at,
                        how->found);
    mp_str_clear(&clean);
    mp_str_clear(&merged);
    return result;
}

/* ---- the tool ---- */

bool mp_tool_is_hidden(mp_view tool)
{
    mp_view visible = mp_view_path(tool, "_meta/ui/visibility"), item;
    struct mp_walk w = mp_walk_into(visible);

    while (mp_view_is_array(visible) && mp_walk_element(&w, &item))
        if (mp_view_equals(item, "model"))
            return false;
    return mp_view_is_array(visible);
}

size_t mp_format_max(size_t len)
{
    return len * (MP_FORMAT_WORK + 2) + 1024;
}

enum mp_formatted mp_format_tool(struct mp_str *out, const struct mp_formatting *how,
                                 const char *name, mp_view tool)
{
    static const struct {
        const char *begin, *schema, *end;
    } shapes[] = {
        [MCPLUG_FORMAT_MCP] = {"{\"name\":", ",\"inputSchema\":", "}"},
        [MCPLUG_FORMAT_OPENAI] = {"{\"type\":\"function\",\"function\":{\"name\":",
                                  ",\"parameters\":", "}}"},
        /* Strict unless told otherwise, which few schemas are made for. */
        [MCPLUG_FORMAT_OPENAI_RESPONSES] = {"{\"type\":\"function\",\"name\":",
                                            ",\"parameters\":", ",\"strict\":false}"},
        [MCPLUG_FORMAT_ANTHROPIC] = {"{\"name\":", ",\"input_schema\":", "}"},
        [MCPLUG_FORMAT_GEMINI] = {"{\"name\":", ",\"parametersJsonSchema\":", "}"},
    };

    if (tool.len > MP_DEFINITION_MAX) {
        mp_find(how->found, how->provider, MP_RULE_TOO_BIG, NULL);
        return MP_FORMAT_TOO_BIG;
    }
    mp_str_adds(out, shapes[how->format].begin);
    mp_str_add_json(out, name, strlen(name));
    mp_str_adds(out, ",\"description\":");
    add_description(out, how, name, tool);
    mp_str_adds(out, shapes[how->format].schema);
    enum mp_formatted result = add_schema(out, how, mp_view_get(tool, "inputSchema"));
    mp_str_adds(out, shapes[how->format].end);
    return result;
}
