/* <mcplug/admin.h>: what the APIs of models refuse in the tools of a server. */
#include <mcplug/admin.h>

#include "base/error.h"
#include "base/mem.h"
#include "registry/names.h"
#include "toolbox/toolbox.h"

struct linted { /* one tool */
    struct mp_findings found;
    char *json; /* NULL: it is left out */
    size_t len;
};

struct mcplug_lint {
    const struct mp_provider *provider;
    struct linted *tools;
    size_t n;
    struct mp_findings found; /* about all of them */
};

const char *mcplug_lint_provider(size_t i)
{
    for (size_t k = 0; mp_providers[k].name; k++)
        if (k == i)
            return mp_providers[k].name;
    return NULL;
}

void mcplug_lint_free(mcplug_lint *lint)
{
    for (size_t i = 0; lint && i < lint->n; i++) {
        mp_findings_clear(&lint->tools[i].found);
        mp_free(lint->tools[i].json);
    }
    if (lint) {
        mp_findings_clear(&lint->found);
        mp_free(lint->tools);
    }
    mp_free(lint);
}

/* ---- one tool ---- */

static bool is_name(const struct mp_provider *p, mp_view name)
{
    const char *text = (const char *)name.data + 1;
    size_t len = name.len - 2, n = 0;

    for (; n < len; n++) { /* an escape is none of them */
        char c = text[n];
        bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
        if (!is_letter && !(c >= '0' && c <= '9') && (!c || !strchr(p->name_chars, c)))
            return false;
        if (n == 0 && p->name_is_word && !is_letter)
            return false;
    }
    return n >= 1 && n <= p->name_max;
}

static int judge(const struct mp_provider *p, const char *name, mp_view tool,
                 struct linted *out, struct mcplug_error *err)
{
    struct mp_formatting how = {
        .format = MCPLUG_FORMAT_MCP, .provider = p, .is_cut = true, .found = &out->found};
    struct mp_at at = {.name = "name"}, meta = {.name = "_meta"},
                 ui = {.up = &meta, .name = "ui"},
                 visibility = {.up = &ui, .name = "visibility"};
    struct mp_str json;

    if (mp_tool_is_hidden(tool)) {
        mp_find(&out->found, p, MP_RULE_APP_ONLY, &visibility);
        return out->found.failed ? mp_fail_nomem(err) : MCPLUG_OK;
    }
    if (!is_name(p, mp_view_get(tool, "name")))
        mp_find(&out->found, p, MP_RULE_NAME, &at);
    mp_str_init(&json, mp_format_max(tool.len) + strlen(name) * 12);
    enum mp_formatted r = mp_format_tool(&json, &how, name, tool);
    bool failed = json.failed || out->found.failed;
    if (r == MP_FORMATTED && !failed) {
        out->len = json.len;
        out->json = mp_str_take(&json);
        failed = !out->json;
    }
    mp_str_clear(&json);
    return failed ? mp_fail_nomem(err) : MCPLUG_OK;
}

/* ---- all of them ---- */

/* give, NULL-ended */
static int read_names(mp_view array, const char ***out, struct mcplug_error *err)
{
    struct mp_walk w = mp_walk_into(array);
    size_t n = 0, count = mp_view_count(array);
    const char **names = mp_alloc((count + 1) * sizeof *names);
    int r = names ? MCPLUG_OK : mp_fail_nomem(err);
    mp_view tool;

    while (r == MCPLUG_OK && mp_walk_element(&w, &tool)) {
        mp_view name = mp_view_get(tool, "name");
        if (!mp_view_is_string(name) || name.len == 2)
            r = mp_fail(err, MCPLUG_EINVAL, "the tool at index %zu has no name", n);
        else if (!(names[n++] = mp_view_strdup(name)))
            r = mp_fail_nomem(err);
    }
    if (r == MCPLUG_OK)
        *out = names;
    else
        mp_free_list(names);
    return r;
}

static int judge_all(mcplug_lint *lint, const char *server, mp_view array,
                     struct mcplug_error *err)
{
    struct mp_walk w = mp_walk_into(array);
    struct mp_names *names = mp_names_new(false);
    const char **list = NULL;
    mp_view tool;
    int r = names ? read_names(array, &list, err) : mp_fail_nomem(err);

    if (r == MCPLUG_OK) {
        r = mp_names_tools(names, server, list);
        if (r != MCPLUG_OK)
            mp_fail(err, r, r == MCPLUG_ENOMEM ? "out of memory" : "too many tools");
    }
    if (r == MCPLUG_OK &&
        !(lint->tools = mp_alloc((mp_view_count(array) + 1) * sizeof *lint->tools)))
        r = mp_fail_nomem(err);
    while (r == MCPLUG_OK && mp_walk_element(&w, &tool)) {
        const char *name = mp_names_of(names, server, list[lint->n]);
        r = judge(lint->provider, name ? name : list[lint->n], tool,
                  &lint->tools[lint->n], err);
        lint->n++;
    }
    if (lint->provider->tools_max && lint->n > lint->provider->tools_max)
        mp_find(&lint->found, lint->provider, MP_RULE_TOO_MANY, NULL);
    if (r == MCPLUG_OK && lint->found.failed)
        r = mp_fail_nomem(err);
    mp_free_list(list);
    mp_names_free(names);
    return r;
}

int mcplug_lint_new(const char *provider, const char *server, const char *tools,
                    size_t len, mcplug_lint **out, struct mcplug_error *err)
{
    const struct mp_provider *p = provider ? mp_provider_find(provider) : NULL;

    if (!p)
        return mp_fail(err, MCPLUG_EINVAL, "there is no provider \"%.40s\"",
                       provider ? provider : "");
    if (!server || !tools || !out)
        return mp_fail(err, MCPLUG_EINVAL,
                       "`server`, `tools` and `out` must not be NULL");
    mp_view array = mp_view_trim(mp_bytes(tools, len));
    int r = mp_scan_text(tools, len, &mp_scan_defaults, NULL, err);
    if (r != MCPLUG_OK)
        return r;
    if (!mp_view_is_array(array))
        return mp_fail(err, MCPLUG_EINVAL, "expected an array of tools");
    mcplug_lint *lint = mp_alloc(sizeof *lint);
    if (!lint)
        return mp_fail_nomem(err);
    lint->provider = p;
    r = judge_all(lint, server, array, err);
    if (r == MCPLUG_OK)
        *out = mp_move(&lint);
    mcplug_lint_free(lint);
    return r;
}

/* ---- what was found ---- */

int mcplug_lint_finding(const mcplug_lint *lint, size_t tool, size_t i,
                        struct mcplug_finding *out)
{
    if (!lint || !out || (tool >= lint->n && tool != MCPLUG_NO_TOOL))
        return 0;
    const struct mp_findings *found =
        tool == MCPLUG_NO_TOOL ? &lint->found : &lint->tools[tool].found;
    if (i >= found->n)
        return 0;
    const struct mp_rule_info *rule = &mp_rules[found->list[i].rule];
    struct mcplug_finding finding = {.severity = found->list[i].severity,
                                     .is_left_out = rule->is_left_out,
                                     .rule = rule->id,
                                     .path = found->list[i].path,
                                     .wrong = rule->wrong,
                                     .cure = rule->cure,
                                     .advice = rule->advice};
    mp_give_struct(out, finding);
    return 1;
}

const char *mcplug_lint_tool(const mcplug_lint *lint, size_t i, size_t *len)
{
    if (!lint || i >= lint->n || !lint->tools[i].json)
        return NULL;
    if (len)
        *len = lint->tools[i].len;
    return lint->tools[i].json;
}
