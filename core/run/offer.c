/* Which tools a model is offered. Their order stays from request to request, and what is
 * found later comes last: so the caches of the APIs hold. */
#include "run/run.h"

#include "base/error.h"
#include "base/event.h"
#include "base/hash.h"
#include "base/mem.h"
#include "json/scan.h"
#include "registry/filter.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- one tool ---- */

static void known_free(struct mp_known *known)
{
    if (!known)
        return;
    mp_free(known->block);
    mp_free(known->server);
    mp_free(known->tool);
    mp_free(known);
}

/* Once for each tool, since it is learnt once. */
static void log_repair(struct mp_thread_run *run, const struct mp_provider *provider,
                       const char *name, const struct mp_findings *found)
{
    const struct mp_finding *first = found->list;

    if (found->n)
        mp_log(run->runs->models.log, MCPLUG_LOG_VERBOSE, "core",
               "the tool %s is repaired for %s: %s: %s, and %zu more", name,
               provider->name, first->path, mp_rules[first->rule].wrong, found->n - 1);
}

/* What the API would refuse is repaired. `tool` is as tools/list has it. */
static enum mp_formatted describe(struct mp_thread_run *run, struct mp_known *known,
                                  const char *name, mp_view tool, bool *no_memory)
{
    struct mp_findings found = {0};
    struct mp_formatting how = {.format = MCPLUG_FORMAT_MCP,
                                .provider =
                                    mp_provider_of_model(run->model->offer->feature.name),
                                .is_cut = true,
                                .found = &found};
    struct mp_str json, text;

    mp_str_init(&json, mp_format_max(tool.len) + strlen(name) * 6 + 256);
    mp_str_init(&text, (size_t)16 << 20);
    enum mp_formatted formatted = mp_format_tool(&json, &how, name, tool);
    mp_view whole = mp_bytes(json.data, json.len);
    *no_memory = json.failed;
    if (formatted == MP_FORMATTED && !json.failed) {
        mp_view schema = mp_view_get(whole, "inputSchema");
        size_t description, parameters, given;

        mp_str_adds(&text, name);
        mp_str_addc(&text, '\0');
        description = text.len;
        mp_str_add_view(&text, mp_view_get(whole, "description"));
        mp_str_addc(&text, '\0');
        parameters = text.len;
        mp_str_add_bytes(&text, schema);
        mp_str_addc(&text, '\0');
        given = text.len;
        mp_str_add_bytes(&text, mp_view_get(tool, "inputSchema"));
        size_t end = text.len;
        known->tokens = mcplug_estimate_tokens(text.data, given) + 8;
        known->block = mp_str_take(&text);
        *no_memory = !known->block;
        if (known->block) {
            known->def = (struct mcplug_definition){
                .struct_size = sizeof known->def,
                .name = known->block,
                .description = known->block + description,
                .schema = mp_bytes(known->block + parameters, schema.len)};
            known->schema = mp_bytes(known->block + given, end - given);
            log_repair(run, how.provider, name, &found);
        }
    }
    known->is_read_only = mp_view_true(mp_view_path(tool, "annotations/readOnlyHint"));
    mp_findings_clear(&found);
    mp_str_clear(&json);
    mp_str_clear(&text);
    return formatted;
}

struct mp_known *mp_offer_find(const struct mp_offered *o, const char *name)
{
    for (size_t i = 0; i < o->n; i++)
        if (o->known[i]->def.name && strcmp(o->known[i]->def.name, name) == 0)
            return o->known[i];
    return NULL;
}

/* give, as part of the offer; NULL: no memory */
static struct mp_known *learn(struct mp_thread_run *run, const char *name, mp_view tool,
                              const char *server, const char *remote, uint64_t hash)
{
    struct mp_offered *o = &run->offered;
    struct mp_known *known = mp_alloc(sizeof *known);
    bool no_memory = !known || !mp_grow(&o->known, &o->cap, o->n + 1);
    enum mp_formatted formatted = MP_FORMATTED;

    if (!no_memory)
        formatted = describe(run, known, name, tool, &no_memory);
    if (!no_memory && server) {
        known->server = mp_strdup(server);
        known->tool = mp_strdup(remote);
        no_memory = !known->server || !known->tool;
    }
    if (no_memory) {
        known_free(known);
        return NULL;
    }
    known->hash = hash;
    known->is_left_out = formatted != MP_FORMATTED;
    o->known[o->n++] = known;
    return known;
}

/* ---- what is offered ---- */

bool mp_offer_add(struct mp_offered *o, struct mp_known *known)
{
    if (known->is_offered || known->is_bad || !known->def.name)
        return true;
    if (o->max && o->n_defs >= o->max && !known->own)
        return true;
    if (!mp_grow(&o->defs, &o->defs_cap, o->n_defs + 1))
        return false;
    o->defs[o->n_defs++] = &known->def;
    o->tokens += known->tokens;
    known->is_offered = true;
    return true;
}

void mp_offer_withdraw(struct mp_offered *o, struct mp_known *known)
{
    size_t kept = 0;

    for (size_t i = 0; i < o->n_defs; i++)
        if (o->defs[i] != &known->def)
            o->defs[kept++] = o->defs[i];
    o->n_defs = kept;
    o->tokens -= known->is_offered ? known->tokens : 0;
    known->is_offered = false;
}

void mp_offer_clear(struct mp_offered *o)
{
    for (size_t i = 0; i < o->n; i++)
        known_free(o->known[i]);
    mp_free(o->known);
    mp_free(o->defs);
    *o = (struct mp_offered){0};
}

/* ---- the tools of the program ---- */

static bool is_name(const char *name)
{
    size_t n = strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                            "0123456789_-");
    return n >= 1 && n <= MP_TOOL_NAME_MAX && !name[n];
}

static int learn_own(struct mp_thread_run *run, const struct mcplug_tool *tool,
                     struct mcplug_error *err)
{
    struct mcplug_tool own = {0};
    struct mcplug_error why = MCPLUG_ERROR_INIT;
    struct mp_str json;
    int r = mp_take_bare_options(&own, tool, err);

    if (r != MCPLUG_OK)
        return r;
    if (!own.name || !is_name(own.name))
        return mp_fail(err, MCPLUG_EINVAL,
                       "the name of a tool, \"%.80s\", is not 1 to 64 letters, digits, _ "
                       "and -",
                       own.name ? own.name : "");
    if (mp_offer_find(&run->offered, own.name))
        return mp_fail(err, MCPLUG_EINVAL, "there are two tools called %s", own.name);
    if (!own.call && !(own.flags & (MCPLUG_TOOL_SHOWN | MCPLUG_TOOL_MCP)))
        return mp_fail(err, MCPLUG_EINVAL, "the tool %s has no `call`", own.name);
    mp_view schema = mp_text(own.schema ? own.schema : "{\"type\":\"object\"}");
    if (mp_frame_object(&schema, "schema", &why) != MCPLUG_OK)
        return mp_fail(err, MCPLUG_EINVAL, "the tool %s: %s", own.name, why.text);
    mp_str_init(&json, (size_t)16 << 20);
    mp_str_adds(&json, "{\"description\":");
    mp_str_add_json(&json, own.description ? own.description : "",
                    own.description ? strlen(own.description) : 0);
    mp_str_adds(&json, ",\"inputSchema\":");
    mp_str_add_bytes(&json, schema);
    mp_str_addc(&json, '}');
    bool is_mcp = own.flags & MCPLUG_TOOL_MCP;
    struct mp_known *known =
        json.failed
            ? NULL
            : learn(run, own.name, mp_bytes(json.data, json.len),
                    is_mcp && own.integration && *own.integration ? own.integration
                                                                  : NULL,
                    own.name, 0);
    mp_str_clear(&json);
    if (!known)
        return mp_fail_nomem(err);
    if (known->is_left_out)
        return mp_fail(err, MCPLUG_EINVAL,
                       "the tool %s: its schema is one that models refuse", own.name);
    known->own = tool;
    known->is_read_only = own.flags & (MCPLUG_TOOL_READ_ONLY | MCPLUG_TOOL_SHOWN);
    return MCPLUG_OK;
}

int mp_offer_own(struct mp_thread_run *run, struct mcplug_error *err)
{
    int r = MCPLUG_OK;

    for (size_t i = 0; r == MCPLUG_OK && run->o.tools && run->o.tools[i]; i++)
        r = i < MP_RUN_TOOLS
                ? learn_own(run, run->o.tools[i], err)
                : mp_fail(err, MCPLUG_ETOOBIG,
                          "a run has at most %d tools of the program", MP_RUN_TOOLS);
    return r;
}

/* ---- those of the toolbox ---- */

/* That was said of this tool, as it is, already. */
static bool is_left_out(const struct mp_offered *o, uint64_t hash)
{
    for (size_t i = 0; i < o->n; i++)
        if (o->known[i]->is_left_out && o->known[i]->hash == hash)
            return true;
    return false;
}

static bool is_in(const char *const *patterns, const char *name, const char *remote)
{
    return mp_filter_match(patterns, remote) || mp_filter_match(patterns, name);
}

/* One that has changed is another tool under the same name. */
static int learn_box_tool(struct mp_thread_run *run, size_t i, struct mcplug_error *err)
{
    struct mp_offered *o = &run->offered;
    const char *name = mcplug_toolbox_name(run->o.box, i), *server = "", *remote = "";
    size_t len = 0;
    const char *json = mcplug_toolbox_tool(run->o.box, i, &len);

    if (!name || !json)
        return mp_fail_nomem(err);
    mcplug_toolbox_find(run->o.box, name, &server, &remote);
    if (run->o.tools_allowed && !is_in(run->o.tools_allowed, name, remote))
        return MCPLUG_OK;
    uint64_t hash = 0;
    mp_hash_add(&hash, json, len);
    struct mp_known *known = mp_offer_find(o, name);
    if (is_left_out(o, hash) || (known && !known->own && known->hash == hash))
        return MCPLUG_OK;
    bool is_taken = known && known->own;
    if (is_taken)
        known = NULL;
    if (known) {
        mp_offer_withdraw(o, known);
        known->def.name = NULL;
    }
    known = learn(run, name, mp_bytes(json, len), server, remote, hash);
    if (!known)
        return mp_fail_nomem(err);
    known->is_left_out |= is_taken;
    if (known->is_left_out) {
        known->def.name = NULL;
        mp_run_warn(run, "the tool %s is left out: %s", name,
                    is_taken ? "the program has one of that name"
                             : "its schema is one that models refuse");
    }
    return MCPLUG_OK;
}

static void forget_gone(struct mp_thread_run *run)
{
    struct mp_offered *o = &run->offered;

    for (size_t i = 0; i < o->n; i++) {
        struct mp_known *k = o->known[i];
        if (!k->own && !k->is_search && k->def.name &&
            (!run->o.box || !mcplug_toolbox_find(run->o.box, k->def.name, NULL, NULL))) {
            mp_offer_withdraw(o, k);
            k->def.name = NULL;
        }
    }
}

/* ---- all of them ---- */

/* Those of `tools_first`, in its order, as long as there is room for them. */
static void choose_first(struct mp_thread_run *run)
{
    struct mp_offered *o = &run->offered;
    uint64_t most = o->budget / MP_RUN_FIRST_PART;

    for (const char *const *wanted = run->o.tools_first; wanted && *wanted; wanted++) {
        const char *const one[] = {*wanted, NULL};
        for (size_t i = 0; i < o->n; i++) {
            struct mp_known *k = o->known[i];
            if (!k->server || k->own || k->is_first || !k->def.name ||
                k->tokens > most - o->first || !is_in(one, k->def.name, k->tool))
                continue;
            k->is_first = true;
            o->first += k->tokens;
        }
    }
}

/* Those of the toolbox for results that it has stored, which say so to the model. */
static bool reads_results(const struct mp_known *k)
{
    return k->server && !*k->server &&
           (strcmp(k->tool, mp_own_names[MP_READ_RESULT]) == 0 ||
            strcmp(k->tool, mp_own_names[MP_SEARCH_RESULT]) == 0);
}

static struct mp_known *learn_search(struct mp_thread_run *run)
{
    struct mp_str json;
    struct mp_known *k = NULL;

    mp_str_init(&json, (size_t)1 << 16);
    mp_search_define(&run->offered, &json);
    if (!json.failed)
        k = learn(run, MP_SEARCH_TOOLS, mp_bytes(json.data, json.len), NULL, NULL, 0);
    mp_str_clear(&json);
    if (k)
        k->is_search = k->is_read_only = true;
    return k;
}

/* Within the budget, and what the API takes, all of them. Else those of the program,
 * those that are wanted first, and the means to find others. */
static int choose(struct mp_thread_run *run, struct mcplug_error *err)
{
    struct mp_offered *o = &run->offered;
    uint64_t tokens = 0;
    size_t n = 0;
    bool ok = true;

    o->max = mp_provider_of_model(run->model->offer->feature.name)->tools_max;
    for (size_t i = 0; i < o->n; i++) {
        bool counts = o->known[i]->def.name && !o->known[i]->is_search;
        tokens += counts ? o->known[i]->tokens : 0;
        n += counts;
    }
    if ((tokens > o->budget || (o->max && n > o->max)) && !o->is_searched && run->o.box &&
        !mp_offer_find(o, MP_SEARCH_TOOLS)) {
        struct mp_known *k = learn_search(run);
        ok = k && mp_offer_add(o, k);
        o->is_searched = ok;
    }
    if (o->is_searched)
        choose_first(run);
    for (size_t i = 0; ok && i < o->n; i++)
        if (!o->is_searched || o->known[i]->own || o->known[i]->is_first ||
            reads_results(o->known[i]))
            ok = mp_offer_add(o, o->known[i]);
    return ok ? MCPLUG_OK : mp_fail_nomem(err);
}

/* ---- what the thread has ---- */

static bool hear_name(struct mp_offered *o, const char *name, bool is_used, bool is_old)
{
    struct mp_known *k = mp_offer_find(o, name);

    if (!k || (!is_used && is_old && k->tokens + o->tokens > o->budget))
        return true;
    return mp_offer_add(o, k);
}

/* An answer of search_tools: what each line begins with. */
static bool hear_found(struct mp_offered *o, const struct mcplug_item *text, bool is_old)
{
    const char *line = (const char *)text->text.data;
    char name[MP_TOOL_NAME_MAX + 1];
    bool ok = true;

    while (ok && line && *line) {
        size_t len = strcspn(line, ":\n");
        if (line[len] == ':' && len <= MP_TOOL_NAME_MAX) {
            memcpy(name, line, len);
            name[len] = '\0';
            ok = hear_name(o, name, false, is_old);
        }
        line += strcspn(line, "\n");
        line += *line == '\n';
    }
    return ok;
}

/* Tools that were used or found are offered, in the order in which they were. A thread
 * that is run again has those that it had, so that what is cached of it stays good; of
 * those that it never used as many as the budget allows. */
static int hear(struct mp_thread_run *run, struct mcplug_error *err)
{
    const struct mcplug_thread *t = run->thread;
    struct mp_offered *o = &run->offered;
    bool ok = true;

    for (; ok && o->is_searched && o->n_heard < t->n; o->n_heard++)
        for (size_t j = 0; ok && j < t->said[o->n_heard]->m.n_items; j++) {
            const struct mcplug_item *item = t->said[o->n_heard]->items[j];
            bool is_old = o->n_heard < o->n_before;
            if (item->kind == MCPLUG_ITEM_TOOL_USE)
                ok = hear_name(o, item->name, true, is_old);
            else if (item->kind == MCPLUG_ITEM_TOOL_RESULT && !item->is_error &&
                     strcmp(item->name, MP_SEARCH_TOOLS) == 0)
                for (size_t i = 0; ok && i < item->n_items; i++)
                    ok = item->items[i]->kind != MCPLUG_ITEM_TEXT ||
                         hear_found(o, item->items[i], is_old);
        }
    return ok ? MCPLUG_OK : mp_fail_nomem(err);
}

int mp_offer_update(struct mp_thread_run *run, struct mcplug_error *err)
{
    struct mp_offered *o = &run->offered;
    size_t n = run->o.box ? mcplug_toolbox_count(run->o.box) : 0;
    int r = MCPLUG_OK;

    if (o->is_begun && (!run->o.box || o->seen == run->o.box->built))
        return hear(run, err);
    o->is_begun = true;
    o->seen = run->o.box ? run->o.box->built : 0;
    o->n_heard = 0; /* of tools that are new, too */
    for (size_t i = 0; r == MCPLUG_OK && i < n; i++)
        r = learn_box_tool(run, i, err);
    if (r == MCPLUG_OK) {
        forget_gone(run);
        r = choose(run, err);
    }
    return r == MCPLUG_OK ? hear(run, err) : r;
}

/* ---- one that was refused ---- */

static bool is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '-';
}

static bool names(const char *words, const char *name)
{
    size_t len = strlen(name);

    for (const char *at = words; (at = strstr(at, name)); at++)
        if ((at == words || !is_word(at[-1])) && !is_word(at[len]))
            return true;
    return false;
}

/* "tools.3.custom.input_schema: ..", "Invalid 'tools[3].function.name'", or its name. */
struct mp_known *mp_offer_blame(const struct mp_offered *o, const char *words)
{
    const char *at = strstr(words, "tools");
    char *end = NULL;
    unsigned long i = o->n_defs;

    if (at && (at[5] == '.' || at[5] == '[') && isdigit((unsigned char)at[6]))
        i = strtoul(at + 6, &end, 10);
    if (end && i < o->n_defs)
        return mp_offer_find(o, o->defs[i]->name);
    for (size_t k = 0; k < o->n_defs; k++)
        if (strlen(o->defs[k]->name) > 3 && names(words, o->defs[k]->name))
            return mp_offer_find(o, o->defs[k]->name);
    return NULL;
}
