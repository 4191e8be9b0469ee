#include "registry/tool_cache.h"

#include "base/error.h"
#include "base/mem.h"
#include "session/session.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#define KEY_DIGITS 16
#define WAIT_MS 20     /* for another writer */
#define NEVER_FRESH 60 /* seconds until a list that keeps no time is dated anew .. */
#define SAME_S 300     /* .. and any other one, if half its time is not over before */
#define STALE_S ((time_t)90 * 24 * 3600)
#define FILES_MAX 4096             /* of the directory, looked at for stale ones */
#define FRAME_MAX 256              /* bytes around the items of a part */
#define ITEM_MAX ((size_t)1 << 30) /* one more than fits may be looked at */

#define INFO_MAX ((size_t)16 << 10)
#define CAPABILITIES_MAX ((size_t)8 << 10)
#define INSTRUCTIONS_MAX ((size_t)20 << 10) /* as JSON has them */

/* What a file has, each {"at":SECONDS,..}. All together fit into one that can be read
 * again. */
static const struct part {
    unsigned kind; /* 0: the server itself */
    const char *member, *name;
    size_t max;
} parts[] = {
    {MCPLUG_TOOLS, "tools", "name", (size_t)512 << 10},
    {MCPLUG_PROMPTS, "prompts", "name", (size_t)128 << 10},
    {MCPLUG_RESOURCES, "resources", "uri", (size_t)256 << 10},
    {MCPLUG_TEMPLATES, "templates", "uriTemplate", (size_t)64 << 10},
    {0, "server", NULL, INFO_MAX + CAPABILITIES_MAX + INSTRUCTIONS_MAX},
};
#define SERVER (&parts[MP_COUNT(parts) - 1])

char *mp_tool_cache_path(const struct mp_paths *paths, const struct mp_entry *entry)
{
    const char *real = entry->source ? entry->source->real : NULL;
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    char digest[MP_SHA256_HEX + 1];
    struct mp_str path;

    if (!paths->cache || !mp_view_is_object(entry->json) ||
        mcplug_name_check(entry->name, &err) != MCPLUG_OK ||
        !mp_approval_digest(real ? real : "", entry->name, entry->json, digest))
        return NULL;
    mp_str_init(&path, 65536);
    mp_str_addf(&path, "%s/known/%s-%.*s.json", paths->cache, entry->name, KEY_DIGITS,
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
static void add_short(struct mp_str *out, mp_view item, const struct part *part,
                      enum detail detail)
{
    mp_view name = mp_view_get(item, part->name);

    mp_str_addf(out, "{\"%s\":", part->name);
    mp_str_add(out, name.data, name.len);
    if (detail == ARGUMENTS && part->kind == MCPLUG_TOOLS) {
        mp_str_adds(out, ",\"inputSchema\":{\"properties\":{");
        add_names(out, mp_view_path(item, "inputSchema/properties"), true);
        mp_str_adds(out, "}}");
    } else if (detail == ARGUMENTS && part->kind == MCPLUG_PROMPTS) {
        mp_str_adds(out, ",\"arguments\":[");
        add_names(out, mp_view_get(item, "arguments"), false);
        mp_str_adds(out, "]");
    }
    mp_str_adds(out, "}");
}

static bool add_items(struct mp_str *out, const mcplug_list *list,
                      const struct part *part, enum detail detail)
{
    size_t n = list ? mcplug_list_count(list) : 0;
    bool first = true;

    mp_str_addc(out, '[');
    for (size_t i = 0; i < n; i++) {
        size_t len, before = out->len;
        const char *json = mcplug_list_item(list, i, &len);
        mp_view item = mp_bytes(json, len);
        if (!mp_view_is_string(mp_view_get(item, part->name)))
            continue;
        if (!first)
            mp_str_addc(out, ',');
        if (detail == WHOLE)
            mp_str_add(out, json, len);
        else
            add_short(out, item, part, detail);
        /* Of names alone, as many as there is room for. */
        if (out->failed || out->len > part->max) {
            if (detail != NAMES || out->failed)
                return false;
            out->len = before;
            break;
        }
        first = false;
    }
    return mp_str_addc(out, ']');
}

/* give: what stands behind the time. NULL: no memory. */
static char *list_text(const mcplug_list *list, const struct part *part, int64_t ttl_ms)
{
    for (enum detail detail = WHOLE; detail <= NAMES; detail++) {
        struct mp_str text;
        mp_str_init(&text, ITEM_MAX);
        if (ttl_ms >= 0)
            mp_str_addf(&text, "\"ttlMs\":%lld,", (long long)ttl_ms);
        mp_str_addf(&text, "\"whole\":%s,\"items\":", detail == WHOLE ? "true" : "false");
        if (add_items(&text, list, part, detail) && mp_str_addc(&text, '}'))
            return mp_str_take(&text);
        bool failed = text.failed;
        mp_str_clear(&text);
        if (failed) /* less would be kept of it than there is room for */
            break;
    }
    return NULL;
}

/* ---- a server as text ---- */

static bool add_object(struct mp_str *out, const char *name, const char *json, size_t max)
{
    size_t len = json ? strlen(json) : 0;
    if (len > max)
        return false;
    mp_str_addf(out, ",\"%s\":", name);
    mp_str_add(out, len ? json : "{}", len ? len : 2);
    return true;
}

/* false: cut, between characters. */
static bool add_instructions(struct mp_str *out, const char *text)
{
    size_t whole = strlen(text), n = whole < INSTRUCTIONS_MAX ? whole : INSTRUCTIONS_MAX;
    size_t before = out->len;

    for (;;) {
        while (n && n < whole && ((unsigned char)text[n] & 0xc0) == 0x80)
            n--;
        mp_str_adds(out, ",\"instructions\":");
        mp_str_add_json(out, text, n);
        if (out->failed || out->len - before <= INSTRUCTIONS_MAX)
            return n == whole;
        out->len = before;
        n /= 2;
    }
}

/* give: what stands behind the time. NULL: no memory. */
static char *server_text(const struct mp_identity *s)
{
    struct mp_str text;

    mp_str_init(&text, SERVER->max * 8);
    mp_str_adds(&text, "\"revision\":");
    mp_str_add_json(&text, s->revision, strlen(s->revision));
    bool whole = add_object(&text, "serverInfo", s->info, INFO_MAX);
    whole = add_object(&text, "capabilities", s->capabilities, CAPABILITIES_MAX) && whole;
    if (s->instructions)
        whole = add_instructions(&text, s->instructions) && whole;
    mp_str_addf(&text, ",\"whole\":%s}", whole ? "true" : "false");
    return mp_str_take(&text);
}

/* ---- time ---- */

static int64_t fresh_ms(mp_view part)
{
    int64_t ms;
    if (!mp_view_int(mp_view_get(part, "ttlMs"), &ms))
        return (int64_t)MP_TOOL_CACHE_FRESH_S * 1000;
    const int64_t most = (int64_t)MP_TOOL_CACHE_FRESH_MAX_S * 1000;
    return ms < 0 ? 0 : ms < most ? ms : most;
}

/* Seconds since then; -1: not known, or it is yet to come. */
static int64_t age_of(mp_view part, int64_t now)
{
    int64_t at;
    if (!mp_view_int(mp_view_get(part, "at"), &at) || at <= 0 || at > now)
        return -1;
    return now - at;
}

/* ---- writing ---- */

struct change {
    char *texts[MP_COUNT(parts)]; /* behind the time; NULL: stays as it is */
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

/* Has it that text behind its time, and is it too early to date it anew? */
static bool is_same(mp_view part, const char *text, int64_t now)
{
    int64_t age = age_of(part, now), fresh = fresh_ms(part) / 1000;
    int64_t half = fresh ? (fresh + 1) / 2 : NEVER_FRESH;
    mp_view at = mp_view_get(part, "at");

    if (age < 0 || age >= (half < SAME_S ? half : SAME_S))
        return false;
    const unsigned char *rest = at.data + at.len;
    size_t left = (size_t)(part.data + part.len - rest);
    return left == strlen(text) + 1 && rest[0] == ',' &&
           memcmp(rest + 1, text, left - 1) == 0;
}

static int change(void *arg, const struct mp_file *old, struct mp_str *out,
                  struct mcplug_error *err)
{
    struct change *c = arg;
    bool valid = old->exists && is_valid(&old->text), first = true;
    mp_view was = valid ? mp_bytes(old->text.data, old->text.len) : mp_bytes(NULL, 0);
    int64_t now = (int64_t)time(NULL);
    bool needed = false;

    for (size_t i = 0; i < MP_COUNT(parts); i++)
        needed = needed || (c->texts[i] && !is_same(mp_view_get(was, parts[i].member),
                                                    c->texts[i], now));
    if (!needed)
        return mp_str_add(out, old->text.data, old->text.len) ? MCPLUG_OK
                                                              : mp_fail_nomem(err);

    for (size_t i = 0; i < MP_COUNT(parts); i++) {
        mp_view kept = mp_view_get(was, parts[i].member);
        if (!c->texts[i] &&
            (!mp_view_is_object(kept) || kept.len > parts[i].max + FRAME_MAX))
            continue; /* not by us */
        mp_str_addf(out, "%c\"%s\":", first ? '{' : ',', parts[i].member);
        if (c->texts[i]) {
            mp_str_addf(out, "{\"at\":%lld,", (long long)now);
            mp_str_adds(out, c->texts[i]);
        } else {
            mp_str_add(out, kept.data, kept.len);
        }
        first = false;
    }
    mp_str_adds(out, "}\n");
    if (out->failed)
        return mp_fail_nomem(err);
    if (!is_valid(out)) /* with what is around it */
        return mp_fail(err, MCPLUG_ETOOBIG, "nested too deeply to be read again");
    c->written = true;
    return MCPLUG_OK;
}

/* NAME-KEY.json and nothing else: a name may have a - in it, and so may others. */
static bool is_of(const char *file, const char *name)
{
    size_t n = strlen(name);
    return strncmp(file, name, n) == 0 && file[n] == '-' &&
           strspn(file + n + 1, "0123456789abcdef") == KEY_DIGITS &&
           strcmp(file + n + 1 + KEY_DIGITS, ".json") == 0;
}

/* Those of that name; NULL: those that are stale. Servers come and go with their
 * projects, so only time tells which are gone for good. take `dir`, which may be NULL */
static void remove_files(char *dir, const char *name)
{
    DIR *d = dir ? opendir(dir) : NULL;
    time_t now = time(NULL);
    struct dirent *e;
    struct stat st;

    for (size_t n = 0; d && (name || n < FILES_MAX) && (e = readdir(d)); n++) {
        size_t len = strlen(e->d_name);
        bool old = !name && len >= KEY_DIGITS + 6 &&
                   strcmp(e->d_name + len - 5, ".json") == 0 &&
                   fstatat(dirfd(d), e->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
                   S_ISREG(st.st_mode) && st.st_mtime < now - STALE_S;
        if (old || (name && is_of(e->d_name, name)))
            unlinkat(dirfd(d), e->d_name, 0);
    }
    if (d)
        closedir(d);
    mp_free(dir);
}

/* Could it have been written by us, and by nobody else? */
static bool is_ours(const struct stat *st)
{
    return S_ISREG(st->st_mode) && st->st_uid == geteuid() &&
           !(st->st_mode & (S_IWGRP | S_IWOTH));
}

/* It is but a cache: what would never be read again, and whose mode and owner an update
 * would keep, gives way to a new file. So does a link, lest another file be replaced. */
static void remove_unreadable(const char *path)
{
    struct stat st;

    if (lstat(path, &st) == 0 && !S_ISDIR(st.st_mode) &&
        (!is_ours(&st) || !(st.st_mode & S_IRUSR) || st.st_size > (off_t)MP_FILE_MAX))
        unlink(path);
}

int mp_tool_cache_save(const char *path, const struct mp_identity *id,
                       mcplug_list *const lists[MP_KINDS], const int64_t ttls[MP_KINDS],
                       struct mcplug_error *err)
{
    struct change c = {.texts = {NULL}};

    if (!path)
        return mp_fail(err, MCPLUG_EIO, "there is no directory for it");
    remove_unreadable(path);
    for (int i = 0; i < MP_KINDS; i++) /* the first parts are these kinds */
        if (lists[i])
            c.texts[i] = list_text(lists[i], &parts[i], ttls[i]);
    if (id)
        c.texts[SERVER - parts] = server_text(id);
    int r = mp_file_update_cache(path, 0600, WAIT_MS, change, &c, err);
    if (c.written)
        remove_files(mp_path_dir(path), NULL);
    for (size_t i = 0; i < MP_COUNT(parts); i++)
        mp_free(c.texts[i]);
    return r;
}

void mp_tool_cache_forget(const struct mp_paths *paths, const struct mp_entry *entry)
{
    char *path = mp_tool_cache_path(paths, entry);
    if (path)
        unlink(path);
    mp_free(path);
}

void mp_tool_cache_forget_name(const struct mp_paths *paths, const char *name)
{
    remove_files(paths->cache ? mp_path_join(paths->cache, "known") : NULL, name);
}

/* ---- reading ---- */

bool mp_tool_cache_load_at(const char *path, struct mp_tool_cache *out)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;

    memset(out, 0, sizeof *out);
    int r = mp_file_read_own(path, &out->file, &err);
    if (r == MCPLUG_OK && out->file.exists && is_ours(&out->file.st) &&
        is_valid(&out->file.text))
        return true;
    mp_tool_cache_clear(out);
    return false;
}

bool mp_tool_cache_load(const struct mp_paths *paths, const struct mp_entry *entry,
                        struct mp_tool_cache *out)
{
    char *path = mp_tool_cache_path(paths, entry);
    bool found = path && mp_tool_cache_load_at(path, out);

    if (!path)
        memset(out, 0, sizeof *out);
    mp_free(path);
    return found;
}

void mp_tool_cache_clear(struct mp_tool_cache *known)
{
    mp_file_clear(&known->file);
}

/* Of that kind; 0: of the server. */
static mp_view part_in(const struct mp_tool_cache *known, unsigned kind)
{
    mp_view text = mp_bytes(known->file.text.data, known->file.text.len);
    mp_view found = {NULL, 0};

    for (size_t i = 0; i < MP_COUNT(parts) && text.len; i++)
        if (parts[i].kind == kind)
            found = mp_view_get(text, parts[i].member);
    return mp_view_is_object(found) ? found : mp_bytes(NULL, 0);
}

mp_view mp_tool_cache_items(const struct mp_tool_cache *known, enum mcplug_kind kind)
{
    mp_view items = mp_view_get(part_in(known, kind), "items");
    return mp_view_is_array(items) ? items : mp_bytes(NULL, 0);
}

bool mp_tool_cache_whole(const struct mp_tool_cache *known, enum mcplug_kind kind)
{
    return mp_view_true(mp_view_get(part_in(known, kind), "whole")) &&
           mp_tool_cache_items(known, kind).len;
}

int64_t mp_tool_cache_at(const struct mp_tool_cache *known, enum mcplug_kind kind)
{
    int64_t at;
    mp_view part = part_in(known, kind);
    return mp_view_int(mp_view_get(part, "at"), &at) && at > 0 ? at : 0;
}

/* Times are cut to seconds, so one more may have passed: never used longer than said. */
bool mp_tool_cache_fresh(const struct mp_tool_cache *known, enum mcplug_kind kind,
                         int64_t now)
{
    mp_view part = part_in(known, kind);
    int64_t age = age_of(part, now);
    return mp_tool_cache_items(known, kind).len && age >= 0 &&
           age < fresh_ms(part) / 1000;
}

mp_view mp_tool_cache_server(const struct mp_tool_cache *known)
{
    return part_in(known, 0);
}
