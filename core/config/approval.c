#include "config/approval.h"

#include "base/error.h"
#include "base/mem.h"
#include "base/path.h"
#include "config/edit.h"
#include "config/jsontext.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

/* {"approved": {FILE: {NAME: {digest, at, owners, entry}}}} */
#define APPROVED "approved"

typedef char owners_text[48]; /* "1000 0": of the file, and of its directory */

int mp_approvals_read(const char *path, struct mp_file *out, struct mcplug_error *err)
{
    memset(out, 0, sizeof *out);
    if (!path)
        return MCPLUG_OK;
    int r = mp_file_read(path, out, err);
    if (r != MCPLUG_OK || !out->exists)
        return r;
    const struct stat *st = &out->st;
    mp_view text = mp_bytes(out->text.data, out->text.len);
    if ((st->st_uid != geteuid() && st->st_uid != 0) || st->st_mode & (S_IWGRP | S_IWOTH))
        r = mp_fail(err, MCPLUG_ECONFIG,
                    "%s: other users can change it, so its approvals are not used", path);
    else
        r = mp_json_check_file(path, text, err);
    if (r != MCPLUG_OK)
        mp_file_clear(out);
    return r;
}

/* mp_view_path() takes no names with slashes, which paths have. */
static mp_view find(mp_view text, const char *file, const char *name)
{
    return mp_view_get(mp_view_get(mp_view_get(text, APPROVED), file), name);
}

static mp_view value_of(const struct mp_file *file)
{
    return mp_view_trim(mp_bytes(file->text.data, file->text.len));
}

/* The entry without "disabled", as canonical text. */
static bool add_digested(mp_view entry, struct mp_str *out)
{
    struct mp_walk w = mp_walk_into(entry);
    mp_view key, value;
    bool first = true;

    mp_str_addc(out, '{');
    while (mp_walk_member(&w, &key, &value)) {
        if (mp_view_equals(key, "disabled"))
            continue;
        if (!first)
            mp_str_addc(out, ',');
        first = false;
        mp_json_canonical(key, out);
        mp_str_addc(out, ':');
        mp_json_canonical(value, out);
    }
    return mp_str_addc(out, '}');
}

static const char *write_owners(struct mp_owners owners, owners_text out)
{
    snprintf(out, sizeof(owners_text), "%ju %ju", (uintmax_t)owners.file,
             (uintmax_t)owners.dir);
    return out;
}

/* `owners` NULL: they do not count. */
static bool make_digest(const char *owners, const char *file, const char *name,
                        mp_view entry, char out[MP_SHA256_HEX + 1])
{
    unsigned char digest[MP_SHA256_BYTES];
    struct mp_sha256 sha;
    struct mp_str text;

    mp_str_init(&text, MP_FILE_MAX * 2);
    bool ok = add_digested(entry, &text);
    if (ok) {
        mp_sha256_init(&sha);
        if (owners)
            mp_sha256_add(&sha, owners, strlen(owners) + 1);
        mp_sha256_add(&sha, file, strlen(file) + 1); /* its NUL keeps the parts apart */
        mp_sha256_add(&sha, name, strlen(name) + 1);
        mp_sha256_add(&sha, text.data, text.len);
        mp_sha256_end(&sha, digest);
        mp_sha256_hex(digest, out);
    }
    mp_str_clear(&text);
    return ok;
}

bool mp_approval_digest(const char *file, const char *name, mp_view entry,
                        char out[MP_SHA256_HEX + 1])
{
    return make_digest(NULL, file, name, entry, out);
}

enum mcplug_approval mp_approvals_of(const struct mp_file *approvals, const char *file,
                                     struct mp_owners owners, const char *name,
                                     mp_view entry, mp_view *was)
{
    mp_view known = find(value_of(approvals), file, name);
    char digest[MP_SHA256_HEX + 1];
    owners_text whose;

    if (!mp_view_is_object(known) ||
        !mp_view_equals(mp_view_get(known, "owners"), write_owners(owners, whose)))
        return MCPLUG_APPROVAL_NONE;
    if (make_digest(whose, file, name, entry, digest) &&
        mp_view_equals(mp_view_get(known, "digest"), digest))
        return MCPLUG_APPROVAL_GIVEN;
    *was = mp_view_get(known, "entry");
    return mp_view_is_object(*was) ? MCPLUG_APPROVAL_CHANGED : MCPLUG_APPROVAL_NONE;
}

/* ---- writing ---- */

struct change {
    const char *path, *file, *name;
    struct mp_owners owners;
    mp_view entry;
    size_t removed;
};

static int check_old(const struct change *c, const struct mp_file *old,
                     struct mcplug_error *err)
{
    mp_view text = mp_bytes(old->text.data, old->text.len);
    return text.len ? mp_json_check_file(c->path, text, err) : MCPLUG_OK;
}

/* A failure of what knows nothing of the file. */
static int fail_in(const struct change *c, const struct mcplug_error *why,
                   struct mcplug_error *err)
{
    return mp_file_fail(err, why->code, c->path, why->text);
}

/* ---- pruning ---- */

struct record {
    mp_view file, name, value, at;
    bool replaced; /* by the one that is added */
    bool dropped;
};

static bool is_gone(mp_view file)
{
    char *path = mp_view_strdup(file), *dir = path ? mp_path_dir(path) : NULL;
    struct stat st;
    bool gone = dir && (stat(dir, &st) == 0 ? !S_ISDIR(st.st_mode)
                                            : errno == ENOENT || errno == ENOTDIR);
    mp_free(dir);
    mp_free(path);
    return gone;
}

static size_t size_of(const struct record *r)
{
    return r->file.len + r->name.len + r->value.len;
}

/* The oldest one first; times are texts of one form. */
static int by_age(const void *a, const void *b)
{
    const struct record *x = *(struct record *const *)a, *y = *(struct record *const *)b;
    size_t len = x->at.len < y->at.len ? x->at.len : y->at.len;
    int order = len ? memcmp(x->at.data, y->at.data, len) : 0;
    if (order == 0 && x->at.len != y->at.len)
        order = x->at.len < y->at.len ? -1 : 1;
    return order ? order : x < y ? -1 : x > y;
}

/* `room` bytes are for the one that is added. Returns whether any was dropped. */
static bool choose(struct record *list, struct record **sorted, size_t n, size_t room)
{
    size_t kept = 0, bytes = room;
    bool any = false;

    for (size_t i = 0; i < n; i++) {
        sorted[i] = &list[i];
        any = any || list[i].dropped;
        if (list[i].dropped || list[i].replaced)
            continue;
        kept++;
        bytes += size_of(&list[i]);
    }
    qsort(sorted, n, sizeof *sorted, by_age);
    for (size_t i = 0; i < n && (kept >= MP_APPROVALS_MAX || bytes > MP_APPROVALS_BYTES);
         i++) {
        if (sorted[i]->dropped || sorted[i]->replaced)
            continue;
        sorted[i]->dropped = any = true;
        kept--;
        bytes -= size_of(sorted[i]);
    }
    return any;
}

static size_t list_records(const struct change *c, mp_view files, struct record *out)
{
    struct mp_walk w = mp_walk_into(files), inner;
    mp_view file, names, name, value;
    size_t n = 0;

    while (mp_walk_member(&w, &file, &names)) {
        bool same = mp_view_equals(file, c->file), gone = !same && is_gone(file);
        inner = mp_walk_into(names);
        while (mp_walk_member(&inner, &name, &value))
            out[n++] = (struct record){.file = file,
                                       .name = name,
                                       .value = value,
                                       .at = mp_view_get(value, "at"),
                                       .replaced = same && mp_view_equals(name, c->name),
                                       .dropped = gone};
    }
    return n;
}

static void write_kept(const struct record *list, size_t n, struct mp_str *out)
{
    mp_view file = {0};

    mp_str_addc(out, '{');
    for (size_t i = 0; i < n; i++) {
        const struct record *r = &list[i];
        if (r->dropped)
            continue;
        bool next = r->file.data != file.data;
        if (file.data)
            mp_str_adds(out, next ? "}," : ",");
        if (next) {
            mp_str_add(out, r->file.data, r->file.len);
            mp_str_adds(out, ":{");
        }
        mp_str_add(out, r->name.data, r->name.len);
        mp_str_addc(out, ':');
        mp_str_add(out, r->value.data, r->value.len);
        file = r->file;
    }
    mp_str_adds(out, file.data ? "}}" : "}");
}

static size_t count_all(mp_view files)
{
    struct mp_walk w = mp_walk_into(files);
    mp_view key, value;
    size_t n = 0;
    while (mp_walk_member(&w, &key, &value))
        n += mp_view_count(value);
    return n;
}

/* `out` gets the old text without what is forgotten when `room` more bytes come. */
static int prune(const struct change *c, const struct mp_file *old, size_t room,
                 struct mp_str *out, struct mcplug_error *err)
{
    mp_view text = mp_bytes(old->text.data, old->text.len);
    mp_view files = mp_view_get(value_of(old), APPROVED);
    const char *path[] = {APPROVED, NULL};
    size_t n = mp_view_is_object(files) ? count_all(files) : 0;
    struct record *list = mp_alloc((n + 1) * sizeof *list);
    struct record **sorted = mp_alloc((n + 1) * sizeof *sorted);
    struct mp_str kept;
    int r = list && sorted ? MCPLUG_OK : mp_fail_nomem(err);

    mp_str_init(&kept, MP_FILE_MAX);
    if (r == MCPLUG_OK)
        n = n ? list_records(c, files, list) : 0;
    if (r == MCPLUG_OK && choose(list, sorted, n, room)) {
        write_kept(list, n, &kept);
        r = kept.failed
                ? mp_fail_nomem(err)
                : mp_edit_set(text, path, mp_bytes(kept.data, kept.len), out, err);
    } else if (r == MCPLUG_OK && text.len && !mp_str_add(out, text.data, text.len)) {
        r = mp_fail_nomem(err);
    }
    mp_str_clear(&kept);
    mp_free(list);
    mp_free(sorted);
    return r;
}

static int add(void *arg, const struct mp_file *old, struct mp_str *out,
               struct mcplug_error *err)
{
    const struct change *c = arg;
    const char *path[] = {APPROVED, c->file, c->name, NULL};
    char digest[MP_SHA256_HEX + 1], at[32];
    struct mcplug_error why = MCPLUG_ERROR_INIT;
    owners_text whose;
    time_t now = time(NULL);
    struct tm tm;
    struct mp_str value, rest;

    int r = check_old(c, old, err);
    if (r != MCPLUG_OK)
        return r;
    write_owners(c->owners, whose);
    if (!make_digest(whose, c->file, c->name, c->entry, digest))
        return mp_fail_nomem(err);
    strftime(at, sizeof at, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &tm));
    mp_str_init(&rest, MP_FILE_MAX);
    mp_str_init(&value, MP_FILE_MAX * 2);
    mp_str_addf(&value,
                "{\"digest\":\"%s\",\"at\":\"%s\",\"owners\":\"%s\",\"entry\":", digest,
                at, whose);
    mp_json_canonical(c->entry, &value);
    r = mp_str_addc(&value, '}') ? prune(c, old, value.len, &rest, &why)
                                 : mp_fail_nomem(&why);
    if (r == MCPLUG_OK)
        r = mp_edit_set(mp_bytes(rest.data, rest.len), path,
                        mp_bytes(value.data, value.len), out, &why);
    if (r == MCPLUG_OK)
        r = mp_json_check(mp_bytes(out->data, out->len), NULL, &why);
    mp_str_clear(&value);
    mp_str_clear(&rest);
    return r == MCPLUG_OK ? r : fail_in(c, &why, err);
}

int mp_approvals_add(const char *path, const char *file, struct mp_owners owners,
                     const char *name, mp_view entry, struct mcplug_error *err)
{
    struct change c = {path, file, name, owners, entry, 0};
    if (!path)
        return mp_fail(err, MCPLUG_EIO,
                       "there is no home directory to store approvals in");
    return mp_file_update(path, 0600, add, &c, err);
}

static int drop(void *arg, const struct mp_file *old, struct mp_str *out,
                struct mcplug_error *err)
{
    struct change *c = arg;
    struct mcplug_error why = MCPLUG_ERROR_INIT;
    mp_view text = mp_bytes(old->text.data, old->text.len), value = value_of(old);
    const char *path[] = {APPROVED, c->file, c->file ? c->name : NULL, NULL};

    int r = check_old(c, old, err);
    if (r != MCPLUG_OK && !c->file) /* to forget everything is the way to mend it */
        return mp_str_adds(out, "{}\n") ? MCPLUG_OK : mp_fail_nomem(err);
    if (r != MCPLUG_OK)
        return r;
    if (!c->file)
        c->removed = count_all(mp_view_get(value, APPROVED));
    else if (!c->name)
        c->removed = mp_view_count(mp_view_get(mp_view_get(value, APPROVED), c->file));
    else
        c->removed = find(value, c->file, c->name).len ? 1 : 0;
    if (c->removed == 0)
        return mp_str_add(out, old->text.data, old->text.len) ? MCPLUG_OK
                                                              : mp_fail_nomem(err);
    r = mp_edit_remove(text, path, out, &why);
    return r == MCPLUG_OK ? r : fail_in(c, &why, err);
}

int mp_approvals_remove(const char *path, const char *file, const char *name,
                        size_t *removed, struct mcplug_error *err)
{
    struct change c = {.path = path, .file = file, .name = name};
    *removed = 0;
    if (!path || access(path, F_OK) != 0)
        return MCPLUG_OK;
    int r = mp_file_update(path, 0600, drop, &c, err);
    if (r == MCPLUG_OK)
        *removed = c.removed;
    return r;
}
