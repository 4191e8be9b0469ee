#include "config/approval.h"

#include "base/error.h"
#include "base/mem.h"
#include "config/edit.h"
#include "config/jsontext.h"

#include <stdint.h>
#include <stdio.h>
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

static int add(void *arg, const struct mp_file *old, struct mp_str *out,
               struct mcplug_error *err)
{
    const struct change *c = arg;
    const char *path[] = {APPROVED, c->file, c->name, NULL};
    char digest[MP_SHA256_HEX + 1], at[32];
    owners_text whose;
    time_t now = time(NULL);
    struct tm tm;
    struct mp_str value;

    int r = check_old(c, old, err);
    if (r != MCPLUG_OK)
        return r;
    write_owners(c->owners, whose);
    if (!make_digest(whose, c->file, c->name, c->entry, digest))
        return mp_fail_nomem(err);
    strftime(at, sizeof at, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &tm));
    mp_str_init(&value, MP_FILE_MAX * 2);
    mp_str_addf(&value,
                "{\"digest\":\"%s\",\"at\":\"%s\",\"owners\":\"%s\",\"entry\":", digest,
                at, whose);
    mp_json_canonical(c->entry, &value);
    if (mp_str_addc(&value, '}'))
        r = mp_edit_set(mp_bytes(old->text.data, old->text.len), path,
                        mp_bytes(value.data, value.len), out, err);
    else
        r = mp_fail_nomem(err);
    if (r == MCPLUG_OK)
        r = mp_json_check(mp_bytes(out->data, out->len), NULL, err);
    mp_str_clear(&value);
    return r;
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

static size_t count_all(mp_view files)
{
    struct mp_walk w = mp_walk_into(files);
    mp_view key, value;
    size_t n = 0;
    while (mp_walk_member(&w, &key, &value))
        n += mp_view_count(value);
    return n;
}

static int drop(void *arg, const struct mp_file *old, struct mp_str *out,
                struct mcplug_error *err)
{
    struct change *c = arg;
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
    return mp_edit_remove(text, path, out, err);
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
