/* The text of a settings file, as it comes with --mcp-config. Whatever it is: problems
 * have a place and words, an entry is broken when one of them is about it, what is shown
 * of it is JSON and holds nothing of a header but references, and an entry that is
 * written back or taken away changes no other. */
#include "base/buf.h"
#include "base/mem.h"
#include "config/config.h"
#include "config/edit.h"
#include "plugin/props.h"
#include "must.h"

#include <stdlib.h>
#include <strings.h>

int LLVMFuzzerInitialize(int *argc, char ***argv);
#define MAX ((size_t)1 << 22)
#define EDITED 4 /* entries that are written back, of each file */

/* ---- in place of core/config/installed.c: nothing of this machine is read ---- */

const char *mp_installed_system_dir(void)
{
    return "/nonexistent";
}

const char *mp_installed_package_dir(void)
{
    return "/nonexistent";
}

uid_t mp_installed_owner(void)
{
    return 0;
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc, (void)argv;
    setenv("HOME", "/nonexistent", 1);
    unsetenv("XDG_STATE_HOME");
    unsetenv("XDG_CONFIG_HOME");
    return 0;
}

/* ---- loading ---- */

/* All but "env" and "headers", so that no file is read for a secret. */
static const struct mcplug_option options[] = {
    {"command", "string", "", "a program"},
    {"args", "list", NULL, "its arguments"},
    {"cwd", "string", "", "where it starts"},
    {"url", "string", "", "an address"},
    {"count", "int", "1", "how many"},
    {"grace", "duration", "2s", "how long"},
    {"room", "bytes", "64k", "how much"},
    {"loud", "bool", "false", "how loud"},
    {"labels", "map", NULL, "words"},
    {"word", "string", NULL, "needed"},
    {NULL, NULL, NULL, NULL},
};

static const char *const schemes[] = {"https", "ws", NULL};

static struct mcplug_config *load(const char *text)
{
    const char *const dynamic[] = {text, NULL};
    struct mcplug_config_options o = {
        .struct_size = sizeof o, .strict = 1, .more = dynamic};
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    struct mcplug_config *config = mcplug_config_load(&o, &err);

    MUST(config || (err.code == MCPLUG_ENOMEM && err.text[0]));
    return config;
}

static mp_view text_of(const struct mcplug_config *config)
{
    return mp_bytes(config->sources[0].file.text.data, config->sources[0].file.text.len);
}

static void check_problems(struct mcplug_config *config)
{
    size_t lines = 1;
    mp_view text = text_of(config);

    for (size_t i = 0; i < text.len; i++)
        lines += text.data[i] == '\n' || text.data[i] == '\r';
    for (size_t i = 0; i < config->n_problems; i++) {
        struct mp_problem *p = &config->problems[i];
        MUST(p->text[0] && p->path && p->at.line && p->at.column);
        MUST(p->at.line <= lines && p->at.column <= text.len + 1);
        MUST(strstr(mp_problem_text(p), p->text));
    }
}

static void note_name(void *arg, const char *name)
{
    MUST(name[0] && strlen(name) < MAX);
    ++*(size_t *)arg;
}

static void check_entry(struct mcplug_config *config, struct mp_entry *entry)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    struct mp_resolved resolved;
    size_t names = 0;

    mp_entry_check(entry, "x", options);
    mp_entry_check_url(entry, "x", schemes);
    bool told = mp_config_problem_of(config, entry) != NULL;
    if (config->n_problems < MP_PROBLEMS_MAX)
        MUST(told == entry->broken);
    enum mcplug_entry_state state = mcplug_entry_state(entry, &err);
    MUST(!entry->broken || state == MCPLUG_ENTRY_BROKEN);
    MUST(state == MCPLUG_ENTRY_READY || (err.code == MCPLUG_ECONFIG && err.text[0]));
    mcplug_entry_each_name(entry, note_name, &names);
    if (state != MCPLUG_ENTRY_READY)
        return;
    err.text[0] = '\0';
    int r = mp_entry_resolve(entry, options, &resolved, &err);
    MUST(r == MCPLUG_OK || (r == err.code && err.text[0]));
    MUST(r != MCPLUG_OK || resolved.props);
    MUST(r != MCPLUG_OK || !resolved.missing || names);
    mp_resolved_clear(&resolved);
}

/* ---- showing ---- */

/* How far the reference at `shown` goes: to its end, or to the default. */
static size_t reference_at(const char *shown)
{
    const char *end = strncmp(shown, "${", 2) == 0 ? strchr(shown, '}') : NULL;
    const char *fallback = end ? strstr(shown, ":-") : NULL;

    if (!end)
        return 0;
    return (size_t)((fallback && fallback < end ? fallback + 2 : end + 1) - shown);
}

/* Each piece between stars stands in `secret`. */
static void check_pieces(const char *shown, size_t len, const char *secret)
{
    while (len) {
        const char *stars = memmem(shown, len, "***", 3);
        size_t piece = stars ? (size_t)(stars - shown) : len;
        MUST(memmem(secret, strlen(secret), shown, piece));
        piece += stars ? 3 : 0;
        shown += piece;
        len -= piece;
    }
}

/* Nothing but stars, references that stand in `secret`, and a short word: "Bearer ". */
static void check_hidden(const char *shown, const char *secret)
{
    size_t run = 0;

    while (*shown) {
        size_t len = strncmp(shown, "***", 3) == 0 ? 3 : reference_at(shown);
        check_pieces(shown, len, secret);
        run = len || *shown == '}' ? 0 : run + 1;
        MUST(run <= 8);
        shown += len ? len : 1;
    }
}

static void check_headers(mp_view entry, mp_view masked)
{
    mp_view headers = mp_view_get(entry, "headers"), key, value;
    mp_view shown = mp_view_get(masked, "headers");
    struct mp_walk w = mp_walk_into(headers);

    while (mp_walk_member(&w, &key, &value)) {
        char *name = mp_view_strdup(key), *secret = mp_view_strdup(value);
        char *text = name ? mp_view_strdup(mp_view_get(shown, name)) : NULL;
        if (secret && text)
            check_hidden(text, secret);
        mp_free(name);
        mp_free(secret);
        mp_free(text);
    }
}

static void check_mask(const struct mp_entry *entry)
{
    struct mp_str out;
    struct mp_place at;

    mp_str_init(&out, MAX);
    MUST(mp_mask_entry(entry->json, &out));
    mp_view masked = mp_bytes(out.data, out.len);
    MUST(mp_json_check(masked, &at, NULL) == MCPLUG_OK);
    MUST(mp_view_count(masked) == mp_view_count(entry->json));
    check_headers(entry->json, masked);
    mp_str_clear(&out);
}

/* ---- changing ---- */

static bool same_value(mp_view a, mp_view b)
{
    struct mp_str x, y;

    mp_str_init(&x, MAX);
    mp_str_init(&y, MAX);
    MUST(mp_json_canonical(a, &x) && mp_json_canonical(b, &y));
    bool same = strcmp(x.data, y.data) == 0;
    mp_str_clear(&x);
    mp_str_clear(&y);
    return same;
}

/* The same entries, but for number `without`. */
static void check_same(const struct mcplug_config *a, const char *text, size_t without)
{
    struct mcplug_config *b = load(text);
    size_t k = 0;

    MUST(b && !b->sources[0].broken);
    for (size_t i = 0; i < a->n_entries; i++) {
        if (i == without)
            continue;
        MUST(k < b->n_entries);
        MUST(strcmp(a->entries[i].name, b->entries[k].name) == 0);
        MUST(same_value(a->entries[i].json, b->entries[k].json));
        k++;
    }
    MUST(k == b->n_entries);
    mcplug_config_free(b);
}

static void check_edit(const struct mcplug_config *config, size_t i)
{
    const struct mp_entry *entry = &config->entries[i];
    const char *const path[] = {"mcpServers", entry->name, NULL};
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    mp_view text = text_of(config), there = text;
    struct mp_str set, removed;

    while (there.len && strchr(" \t\r\n", there.data[0]))
        there.data++, there.len--;
    there = mp_view_get(mp_view_get(there, path[0]), path[1]);
    if (there.data != entry->json.data) /* a name with a NUL in it */
        return;
    mp_str_init(&set, MAX);
    mp_str_init(&removed, MAX);
    MUST(mp_edit_set(text, path, entry->json, &set, &err) == MCPLUG_OK);
    check_same(config, set.data, SIZE_MAX);
    MUST(mp_edit_remove(mp_bytes(set.data, set.len), path, &removed, &err) == MCPLUG_OK);
    check_same(config, removed.data, i);
    mp_str_clear(&set);
    mp_str_clear(&removed);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size > 1 << 16)
        return 0;
    char *text = strndup((const char *)data, size);
    MUST(text);
    /* anything else is the path of a file */
    struct mcplug_config *config =
        text[strspn(text, " \t\r\n")] == '{' ? load(text) : NULL;
    if (config) {
        struct mp_place at;
        MUST(config->n_sources == 1 && !config->exclusive);
        MUST(mp_config_damaged(config) ==
             (mp_json_check(text_of(config), &at, NULL) != MCPLUG_OK));
        for (size_t i = 0; i < config->n_entries; i++) {
            check_entry(config, &config->entries[i]);
            check_mask(&config->entries[i]);
        }
        check_problems(config);
        for (size_t i = 0; i < config->n_entries && i < EDITED; i++)
            check_edit(config, i);
    }
    mcplug_config_free(config);
    free(text);
    return 0;
}
