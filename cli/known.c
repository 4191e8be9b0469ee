#include "known.h"

#include "base/mem.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#define KEY_DIGITS 16
#define WAIT_MS 100         /* for another writer */
#define FRESH_S (24 * 3600) /* the same list is not written again */
#define STALE_S ((time_t)90 * 24 * 3600)
#define FILES_MAX 4096 /* of the directory, looked at for stale ones */

/* All kinds together fit into a file that can be read again. */
static const struct kind {
    enum mcplug_kind kind;
    const char *member, *name;
    size_t max;
} kinds[] = {
    {MCPLUG_TOOLS, "tools", "name", (size_t)512 << 10},
    {MCPLUG_PROMPTS, "prompts", "name", (size_t)128 << 10},
    {MCPLUG_RESOURCES, "resources", "uri", (size_t)256 << 10},
    {MCPLUG_TEMPLATES, "templates", "uriTemplate", (size_t)64 << 10},
};

static const struct kind *kind_of(enum mcplug_kind kind)
{
    for (size_t i = 0; i < MP_COUNT(kinds); i++)
        if (kinds[i].kind == kind)
            return &kinds[i];
    return NULL;
}

/* give; NULL: there is no place for it */
static char *path_of(const struct mp_places *places, const struct mp_entry *entry)
{
    const char *real = entry->source ? entry->source->real : NULL;
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    char digest[MP_SHA256_HEX + 1];
    struct mp_str path;

    if (!places->cache || !mp_view_is_object(entry->json) ||
        mp_name_check(entry->name, &err) != MCPLUG_OK ||
        !mp_approval_digest(real ? real : "", entry->name, entry->json, digest))
        return NULL;
    mp_str_init(&path, 65536);
    mp_str_addf(&path, "%s/known/%s-%.*s.json", places->cache, entry->name, KEY_DIGITS,
                digest);
    return mp_str_take(&path);
}

/* ---- a list as text ---- */

enum detail { WHOLE, ARGUMENTS, NAMES };

static void add_names(struct mp_str *out, mp_view container, bool is_object)
{
    struct mp_walk w = mp_walk_into(container);
    mp_view key, value;
    bool first = true;

    while (is_object ? mp_walk_member(&w, &key, &value) : mp_walk_element(&w, &value)) {
        mp_view name = is_object ? key : mp_view_get(value, "name");
        if (!mp_view_is_string(name))
            continue;
        mp_str_adds(out, first ? "" : ",");
        mp_str_adds(out, is_object ? "" : "{\"name\":");
        mp_str_add(out, name.data, name.len);
        mp_str_adds(out, is_object ? ":{}" : "}");
        first = false;
    }
}

/* Views are of JSON text, so what they show can be copied as it is. */
static void add_short(struct mp_str *out, mp_view item, const struct kind *kind,
                      enum detail detail)
{
    mp_view name = mp_view_get(item, kind->name);

    mp_str_addf(out, "{\"%s\":", kind->name);
    mp_str_add(out, name.data, name.len);
    if (detail == ARGUMENTS && kind->kind == MCPLUG_TOOLS) {
        mp_str_adds(out, ",\"inputSchema\":{\"properties\":{");
        add_names(out, mp_view_path(item, "inputSchema/properties"), true);
        mp_str_adds(out, "}}");
    } else if (detail == ARGUMENTS && kind->kind == MCPLUG_PROMPTS) {
        mp_str_adds(out, ",\"arguments\":[");
        add_names(out, mp_view_get(item, "arguments"), false);
        mp_str_adds(out, "]");
    }
    mp_str_adds(out, "}");
}

static bool add_list(struct mp_str *out, const mcplug_list *list, const struct kind *kind,
                     enum detail detail)
{
    bool first = true;

    mp_str_addc(out, '[');
    for (size_t i = 0; i < mcplug_list_count(list); i++) {
        size_t len, before = out->len;
        const char *json = mcplug_list_item(list, i, &len);
        mp_view item = mp_bytes(json, len);
        if (!mp_view_is_string(mp_view_get(item, kind->name)))
            continue;
        if (!first)
            mp_str_addc(out, ',');
        if (detail == WHOLE)
            mp_str_add(out, json, len);
        else
            add_short(out, item, kind, detail);
        /* Of names alone, as many as there is room for. */
        if (out->failed || out->len > kind->max) {
            if (detail != NAMES || out->failed)
                return false;
            out->len = before;
            break;
        }
        first = false;
    }
    return mp_str_addc(out, ']');
}

/* ---- writing ---- */

struct change {
    const struct kind *kind;
    struct mp_str text; /* of the list */
    bool written;
};

static bool is_valid(const struct mp_str *text)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    return text->len &&
           mp_scan_text(text->data, text->len, &mp_scan_defaults, NULL, &err) ==
               MCPLUG_OK &&
           mp_view_is_object(mp_bytes(text->data, text->len));
}

static int change(void *arg, const struct mp_file *old, struct mp_str *out,
                  struct mcplug_error *err)
{
    struct change *c = arg;
    bool valid = old->exists && is_valid(&old->text);
    mp_view was = valid ? mp_bytes(old->text.data, old->text.len) : mp_bytes(NULL, 0);
    mp_view same = mp_view_get(was, c->kind->member);
    int64_t at, now = (int64_t)time(NULL);
    (void)err;

    if (same.len == c->text.len && memcmp(same.data, c->text.data, same.len) == 0 &&
        mp_view_int(mp_view_get(was, "at"), &at) && at <= now && now - at < FRESH_S)
        return mp_str_add(out, was.data, was.len) ? MCPLUG_OK : MCPLUG_ENOMEM;

    mp_str_addc(out, '{');
    for (size_t i = 0; i < MP_COUNT(kinds); i++) {
        mp_view list = mp_view_get(was, kinds[i].member);
        if (&kinds[i] == c->kind)
            list = mp_bytes(c->text.data, c->text.len);
        else if (list.len > kinds[i].max + 1)
            continue; /* not by us */
        if (!mp_view_is_array(list))
            continue;
        mp_str_addf(out, "\"%s\":", kinds[i].member);
        mp_str_add(out, list.data, list.len);
        mp_str_addc(out, ',');
    }
    mp_str_addf(out, "\"at\":%lld}\n", (long long)now);
    c->written = !out->failed;
    return out->failed ? MCPLUG_ENOMEM : MCPLUG_OK;
}

/* Servers come and go with their projects, so only time tells which are gone for good. */
static void remove_stale(const char *path)
{
    char *dir = mp_path_dir(path);
    DIR *d = dir ? opendir(dir) : NULL;
    time_t now = time(NULL);
    struct dirent *e;
    struct stat st;

    for (size_t n = 0; d && n < FILES_MAX && (e = readdir(d)); n++) {
        size_t len = strlen(e->d_name);
        if (len < KEY_DIGITS + 6 || strcmp(e->d_name + len - 5, ".json") != 0 ||
            fstatat(dirfd(d), e->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0)
            continue;
        if (S_ISREG(st.st_mode) && st.st_mtime < now - STALE_S)
            unlinkat(dirfd(d), e->d_name, 0);
    }
    if (d)
        closedir(d);
    mp_free(dir);
}

void cli_known_save(const struct mp_places *places, const struct mp_entry *entry,
                    enum mcplug_kind kind, const mcplug_list *list)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    struct change c = {.kind = kind_of(kind)};
    char *path = c.kind ? path_of(places, entry) : NULL;

    if (!path)
        return;
    for (enum detail detail = WHOLE; detail <= NAMES; detail++) {
        mp_str_init(&c.text, c.kind->max * 2);
        if (add_list(&c.text, list, c.kind, detail)) {
            mp_file_update_within(path, 0600, WAIT_MS, change, &c, &err);
            detail = NAMES;
        }
        mp_str_clear(&c.text);
    }
    if (c.written)
        remove_stale(path);
    mp_free(path);
}

/* ---- reading ---- */

bool cli_known_load(const struct mp_places *places, const struct mp_entry *entry,
                    struct cli_known *out)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    char *path = path_of(places, entry);

    memset(out, 0, sizeof *out);
    int r = path ? mp_file_read(path, &out->file, &err) : MCPLUG_EIO;
    mp_free(path);
    return r == MCPLUG_OK && out->file.exists && out->file.st.st_uid == geteuid() &&
           !(out->file.st.st_mode & (S_IWGRP | S_IWOTH)) && is_valid(&out->file.text);
}

void cli_known_clear(struct cli_known *known)
{
    mp_file_clear(&known->file);
}

mp_view cli_known_items(const struct cli_known *known, enum mcplug_kind kind)
{
    const struct kind *k = kind_of(kind);
    mp_view none = {NULL, 0},
            text = mp_bytes(known->file.text.data, known->file.text.len);
    mp_view items = k && text.len ? mp_view_get(text, k->member) : none;
    return mp_view_is_array(items) ? items : none;
}

mp_view cli_known_name(mp_view item, enum mcplug_kind kind)
{
    const struct kind *k = kind_of(kind);
    return k ? mp_view_get(item, k->name) : mp_bytes(NULL, 0);
}
