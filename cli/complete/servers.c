/* What servers are known to offer, for completion. Starts none of them. */
#include "cli/complete/words.h"

#include "base/buf.h"
#include "base/mem.h"
#include "cli/base/catalogue.h"
#include "cli/base/entries.h"

#include <string.h>

#define QUALIFIED_SERVERS 512 /* whose tools are looked up at once */
#define NAME_MAX_BYTES 1024

/* What a server is known to offer, and what of it may be used. */
struct offer {
    const mcplug_entry *entry;
    mcplug_known *known; /* NULL: nothing */
};

/* Clear in any case. */
static bool offer_load(struct offer *o, const mcplug_entry *entry)
{
    o->entry = entry;
    o->known = mcplug_known_new(entry);
    return o->known;
}

static void offer_clear(struct offer *o)
{
    mcplug_known_free(o->known);
}

/* Read silently: whoever presses a key at a prompt wants no messages. NULL: none. */
static mcplug_config *config_of(struct cli_cursor *at)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    return cli_config_silent(at->cli, &err);
}

/* ---- servers ---- */

static bool is_one_of(const struct mcplug_entry_info *entry, enum cli_word_kind which)
{
    bool asked = mcplug_scope_info(entry->scope)->needs_approval;
    switch (which) {
    case CLI_WORD_SERVER_ENABLED:
        return !entry->disabled;
    case CLI_WORD_SERVER_DISABLED:
        return entry->disabled;
    case CLI_WORD_SERVER_APPROVED:
        return asked && entry->approval == MCPLUG_APPROVAL_GIVEN;
    case CLI_WORD_SERVER_UNAPPROVED:
        return asked && entry->approval != MCPLUG_APPROVAL_GIVEN;
    default:
        return true;
    }
}

/* "http, disabled" */
static void describe(const struct mcplug_entry_info *entry, struct mp_str *out)
{
    mp_str_adds(out, entry->broken ? "broken" : entry->type);
    if (entry->disabled)
        mp_str_adds(out, ", disabled");
}

static bool is_among(const struct cli_list *list, const char *word)
{
    for (size_t i = 0; i < list->n; i++)
        if (strcmp(list->items[i], word) == 0)
            return true;
    return false;
}

void cli_candidates_servers(struct cli_cursor *at, enum cli_word_kind which)
{
    mcplug_config *config = config_of(at);
    const mcplug_entry *entry;

    for (size_t i = 0; config && (entry = mcplug_entry_at(config, i)); i++) {
        struct mcplug_entry_info e = cli_entry_info(entry);
        struct mp_str about;
        if (e.shadowed_by || e.name[0] == '-' || !is_one_of(&e, which) ||
            is_among(&at->words, e.name))
            continue;
        mp_str_init(&about, NAME_MAX_BYTES);
        describe(&e, &about);
        cli_candidate(&at->cli->out, at->head, e.name, about.data);
        mp_str_clear(&about);
    }
}

/* ---- mcp__SERVER__TOOL ---- */

/* Its length; 0: it is hidden by another one, or has none that fits. */
static size_t prefix_of(const mcplug_entry *entry, char prefix[NAME_MAX_BYTES])
{
    return !cli_entry_info(entry).shadowed_by &&
                   mcplug_entry_prefix(entry, prefix, NAME_MAX_BYTES)
               ? strlen(prefix)
               : 0;
}

/* The server that such a word means, and in `rest` the tool; NULL: none. */
static mcplug_entry *find_qualified(const mcplug_config *config, const char *word,
                                    const char **rest)
{
    mcplug_entry *best = NULL, *entry;
    char prefix[NAME_MAX_BYTES];
    size_t longest = 0;

    for (size_t i = 0; (entry = mcplug_entry_at(config, i)); i++) {
        size_t len = prefix_of(entry, prefix);
        if (len <= longest || strncmp(word, prefix, len) != 0)
            continue;
        best = entry;
        longest = len;
        *rest = word + longest;
    }
    return best;
}

static void put_items(struct cli_cursor *at, const struct offer *offer,
                      enum mcplug_kind kind, const char *head)
{
    struct mp_walk w = mp_walk_into(cli_known_items(offer->known, kind));
    mp_view item;

    while (mp_walk_element(&w, &item)) {
        mp_view about = mp_view_get(item, "description");
        if (!mp_view_is_string(about) || about.len <= 2)
            about = mp_view_get(item, "title");
        if (!mp_view_is_string(about) && kind != MCPLUG_TOOLS && kind != MCPLUG_PROMPTS)
            about = mp_view_get(item, "name");
        if (cli_allows_item(offer->entry, kind, cli_item_name(item, kind)))
            cli_candidate_view(&at->cli->out, head, cli_item_name(item, kind), about);
    }
}

void cli_candidates_qualified(struct cli_cursor *at)
{
    mcplug_config *config = config_of(at);
    size_t left = QUALIFIED_SERVERS, typed = strlen(at->word);
    char prefix[NAME_MAX_BYTES];
    const mcplug_entry *entry;

    for (size_t i = 0; config && left && (entry = mcplug_entry_at(config, i)); i++) {
        size_t len = prefix_of(entry, prefix);
        struct offer offer;
        if (!len || strncmp(at->word, prefix, typed < len ? typed : len) != 0)
            continue;
        left--;
        if (offer_load(&offer, entry))
            put_items(at, &offer, MCPLUG_TOOLS, prefix);
        offer_clear(&offer);
    }
}

/* ---- one server ---- */

/* What is known of the server of the line; `rest` gets the tool within its name. Clear
 * `offer` in any case. */
static bool load(struct cli_cursor *at, struct offer *offer, const char **rest)
{
    mcplug_config *config = at->server ? config_of(at) : NULL;
    mcplug_entry *entry = NULL;

    memset(offer, 0, sizeof *offer);
    *rest = NULL;
    if (config && strncmp(at->server, "mcp__", 5) == 0)
        entry = find_qualified(config, at->server, rest);
    if (config && !entry)
        entry = mcplug_entry_find(config, at->server);
    return entry && offer_load(offer, entry);
}

void cli_candidates_items(struct cli_cursor *at, enum mcplug_kind kind)
{
    struct offer offer;
    const char *rest;
    if (load(at, &offer, &rest))
        put_items(at, &offer, kind, at->head);
    offer_clear(&offer);
}

static mp_view find_item(const struct offer *offer, enum mcplug_kind kind,
                         const char *name)
{
    struct mp_walk w = mp_walk_into(cli_known_items(offer->known, kind));
    mp_view item;
    while (mp_walk_element(&w, &item))
        if (mp_view_equals(cli_item_name(item, kind), name) &&
            cli_allows_item(offer->entry, kind, cli_item_name(item, kind)))
            return item;
    return mp_bytes(NULL, 0);
}

/* ---- arguments ---- */

static bool is_type(mp_view schema, const char *type)
{
    mp_view t = mp_view_get(schema, "type"), one;
    struct mp_walk w = mp_walk_into(t);
    if (mp_view_is_string(t))
        return mp_view_equals(t, type);
    while (mp_walk_element(&w, &one))
        if (mp_view_is_string(one) && mp_view_equals(one, type))
            return true;
    return false;
}

static bool is_named(mp_view name, const char *text, size_t len)
{
    char *plain = mp_view_strdup(name);
    bool same = plain && strlen(plain) == len && memcmp(plain, text, len) == 0;
    mp_free(plain);
    return same;
}

/* Has a word of the line this key already? */
static bool has_value(const struct cli_cursor *at, mp_view key)
{
    for (size_t i = 0; i < at->words.n; i++) {
        const char *equals = strchr(at->words.items[i], '=');
        if (equals &&
            is_named(key, at->words.items[i], (size_t)(equals - at->words.items[i])))
            return true;
    }
    return false;
}

/* KEY= once: what has a = in it, or looks like an option, can't be written as a word. */
static void put_key(struct cli_cursor *at, mp_view key, mp_view about, mp_view type)
{
    struct mp_str name, text;

    mp_str_init(&name, NAME_MAX_BYTES);
    mp_str_init(&text, 65536);
    mp_str_add_view(&name, key);
    if (!mp_view_is_string(about) || about.len <= 2)
        about = type;
    mp_str_add_view(&text, about);
    if (name.len && !name.failed && name.data[0] != '-' &&
        !memchr(name.data, '=', name.len) && !memchr(name.data, 0, name.len)) {
        mp_str_addc(&name, '=');
        cli_candidate(&at->cli->out, "", name.data, text.failed ? NULL : text.data);
    }
    mp_str_clear(&name);
    mp_str_clear(&text);
}

/* One value as a word: strings as they are, a @ at the beginning doubled, for it would
 * mean a file; all else as JSON has it. */
static void put_value(struct cli_cursor *at, const char *head, mp_view value)
{
    struct mp_str text;

    mp_str_init(&text, NAME_MAX_BYTES);
    if (mp_view_is_string(value)) {
        mp_str_add_view(&text, value);
        if (text.len && text.data[0] == '@' && !text.failed) {
            mp_str_reset(&text);
            mp_str_addc(&text, '@');
            mp_str_add_view(&text, value);
        }
    } else if (!mp_view_is_object(value) && !mp_view_is_array(value)) {
        mp_str_add(&text, value.data, value.len);
    }
    if (text.len && !text.failed && !memchr(text.data, 0, text.len))
        cli_candidate(&at->cli->out, head, text.data, NULL);
    mp_str_clear(&text);
}

static void put_values(struct cli_cursor *at, mp_view schema, const char *head)
{
    mp_view items = mp_view_get(schema, "items"), value;
    if (is_type(schema, "array") && mp_view_is_object(items))
        schema = items;
    struct mp_walk w = mp_walk_into(mp_view_get(schema, "enum"));
    while (mp_walk_element(&w, &value))
        put_value(at, head, value);
    if ((value = mp_view_get(schema, "const")).len)
        put_value(at, head, value);
    if (is_type(schema, "boolean") && !mp_view_get(schema, "enum").len) {
        cli_candidate(&at->cli->out, head, "true", NULL);
        cli_candidate(&at->cli->out, head, "false", NULL);
    }
}

static void tool_arguments(struct cli_cursor *at, mp_view tool, const char *head)
{
    struct mp_walk w = mp_walk_into(mp_view_path(tool, "inputSchema/properties"));
    mp_view key, schema;

    while (mp_walk_member(&w, &key, &schema)) {
        if (head && is_named(key, head, strlen(head) - 1))
            put_values(at, schema, head);
        else if (!head && (is_type(schema, "array") || !has_value(at, key)))
            put_key(at, key, mp_view_get(schema, "description"),
                    mp_view_get(schema, "type"));
    }
}

static void prompt_arguments(struct cli_cursor *at, mp_view prompt, bool bare)
{
    struct mp_walk w = mp_walk_into(mp_view_get(prompt, "arguments"));
    mp_view argument;

    while (mp_walk_element(&w, &argument)) {
        mp_view name = mp_view_get(argument, "name");
        mp_view about = mp_view_get(argument, "description");
        if (bare)
            cli_candidate_view(&at->cli->out, "", name, about);
        else if (mp_view_is_string(name) && !has_value(at, name))
            put_key(at, name, about, mp_bytes(NULL, 0));
    }
}

void cli_candidates_arguments(struct cli_cursor *at, enum mcplug_kind kind)
{
    bool qualified = at->n_own && at->own[0] == at->server;
    const char *item = at->n_own && !qualified ? at->own[0] : NULL;
    const char *equals = strchr(at->word, '='), *rest;
    struct offer offer;
    char *head = NULL;

    if (equals && equals[1] == '@' && equals[2] != '@') {
        at->files = CLI_FILES_ANY;
        at->files_at = equals + 2;
        return;
    }
    if (equals && !(head = mp_strndup(at->word, (size_t)(equals + 1 - at->word))))
        return;
    if (load(at, &offer, &rest)) {
        const char *which = item ? item : rest;
        mp_view found = which ? find_item(&offer, kind, which) : mp_bytes(NULL, 0);
        if (kind == MCPLUG_TOOLS)
            tool_arguments(at, found, head);
        else if (!head)
            prompt_arguments(at, found, false);
    }
    offer_clear(&offer);
    mp_free(head);
}

void cli_candidates_argument_names(struct cli_cursor *at, const char *prompt)
{
    struct offer offer;
    const char *rest;
    if (load(at, &offer, &rest))
        prompt_arguments(at, find_item(&offer, MCPLUG_PROMPTS, prompt), true);
    offer_clear(&offer);
}
