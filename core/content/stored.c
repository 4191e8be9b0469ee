/* Results that are kept in files, as a program sees them: <mcplug/content.h>. */
#include "content/path.h"
#include "content/search.h"
#include "content/store.h"

#include "base/buf.h"
#include "base/error.h"
#include "base/mem.h"

#include <mcplug/content.h>

#include <errno.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#define PIECE ((size_t)1 << 18)

static struct mp_store *store_of(const char *dir, struct mcplug_error *err)
{
    struct mp_store *s = mp_store_new(dir, 0, 0);
    if (!s)
        mp_fail_nomem(err);
    return s;
}

struct each {
    const struct mp_store *store;
    int (*fn)(void *arg, const struct mcplug_stored *one);
    void *arg;
    bool no_memory;
};

static bool tell_one(void *arg, const struct mp_stored *one)
{
    struct each *e = arg;
    struct mp_str path;
    bool more = false;

    mp_str_init(&path, 2 * PATH_MAX);
    if (mp_str_addf(&path, "%s/%s", mp_store_dir(e->store), one->name)) {
        struct mcplug_stored stored = {
            .struct_size = sizeof stored,
            .name = one->name,
            .path = path.data,
            .server = one->server,
            .tool = one->tool,
            .format = *one->ext ? one->ext + 1 : one->ext,
            .size = one->size,
            .time_ms = one->time_ms,
        };
        more = e->fn(e->arg, &stored);
    } else {
        e->no_memory = true;
    }
    mp_str_clear(&path);
    return more;
}

int mcplug_stored_each(const char *dir,
                       int (*fn)(void *arg, const struct mcplug_stored *one), void *arg,
                       struct mcplug_error *err)
{
    struct each e = {.fn = fn, .arg = arg};

    if (!fn)
        return mp_fail_null(err, "`fn`");
    struct mp_store *s = store_of(dir, err);
    e.store = s;
    int r = s ? mp_store_each(s, tell_one, &e, err) : MCPLUG_ENOMEM;
    if (r == MCPLUG_OK && e.no_memory)
        r = mp_fail_nomem(err);
    mp_store_free(s);
    return r;
}

/* The descriptor is give; -1: `err` tells why. */
static int open_stored(const char *dir, const char *name, struct mcplug_error *err)
{
    struct mp_store *s = name ? store_of(dir, err) : NULL;
    char *full = NULL;
    int fd = -1;

    if (!name)
        mp_fail_null(err, "`name`");
    if (s && mp_store_open(s, name, &fd, &full, err) != MCPLUG_OK)
        fd = -1;
    mp_free(full);
    mp_store_free(s);
    return fd;
}

static int64_t read_at(int fd, uint64_t offset, void *buf, size_t len,
                       struct mcplug_error *err)
{
    ssize_t n;

    if (offset > INT64_MAX)
        return 0;
    do
        n = pread(fd, buf, len < INT_MAX ? len : INT_MAX, (off_t)offset);
    while (n < 0 && errno == EINTR);
    return n < 0 ? mp_fail_os(err, MCPLUG_EIO, errno, "cannot read the result") : n;
}

int64_t mcplug_stored_read(const char *dir, const char *name, uint64_t offset, void *buf,
                           size_t len, uint64_t *size, struct mcplug_error *err)
{
    struct mcplug_error own;
    struct stat st;

    mp_error_init(&own);
    err = err ? err : &own;
    if (!buf)
        return mp_fail_null(err, "`buf`");
    int fd = open_stored(dir, name, err);
    if (fd < 0)
        return err->code;
    int64_t n = read_at(fd, offset, buf, len, err);
    if (n >= 0 && size)
        *size = fstat(fd, &st) == 0 ? (uint64_t)st.st_size : 0;
    close(fd);
    return n;
}

static int select_all(int fd, struct mp_select *s, struct mcplug_error *err)
{
    char *piece = mp_alloc_raw(PIECE);
    uint64_t at = 0;
    int64_t n = 1;
    bool done = false;
    int r = piece ? MCPLUG_OK : mp_fail_nomem(err);

    while (r == MCPLUG_OK && n > 0 && !done) {
        n = read_at(fd, at, piece, PIECE, err);
        r = n < 0 ? (int)n : n > 0 ? mp_select_feed(s, piece, (size_t)n, &done, err) : r;
        at += n > 0 ? (uint64_t)n : 0;
    }
    if (r == MCPLUG_OK && !done)
        r = mp_select_end(s, err);
    mp_free(piece);
    return r;
}

int mcplug_stored_select(const char *dir, const char *name, const char *path,
                         int (*fn)(void *arg, const char *data, size_t len), void *arg,
                         uint64_t *count, struct mcplug_error *err)
{
    struct mcplug_error own;
    struct mp_path *parsed = NULL;
    struct mp_select *s = NULL;

    mp_error_init(&own);
    err = err ? err : &own;
    if (!path || !fn)
        return mp_fail_null(err, "`path` and `fn`");
    int r = mp_path_parse(path, &parsed, err);
    int fd = r == MCPLUG_OK ? open_stored(dir, name, err) : -1;
    if (r == MCPLUG_OK && fd < 0)
        r = err->code;
    if (r == MCPLUG_OK && !(s = mp_select_new(parsed, fn, arg)))
        r = mp_fail_nomem(err);
    if (r == MCPLUG_OK)
        r = select_all(fd, s, err);
    if (r == MCPLUG_EPROTO) {
        struct mcplug_error why = *err;
        mp_fail(err, r, "the result is not JSON: %s", why.text);
    }
    if (r == MCPLUG_OK && count)
        *count = mp_select_count(s);
    if (fd >= 0)
        close(fd);
    mp_select_free(s);
    mp_path_free(parsed);
    return r;
}

struct finder {
    int (*fn)(void *arg, const struct mcplug_match *one);
    void *arg;
};

static bool tell_match(void *arg, const struct mp_match *m)
{
    const struct finder *f = arg;
    struct mcplug_match match = {
        .struct_size = sizeof match,
        .is_cut = m->cut_before || m->cut_after,
        .offset = m->offset,
        .line = m->line,
        .text = m->text,
        .len = m->len,
        .at = m->at,
        .match_len = m->match_len,
    };
    return f->fn(f->arg, &match);
}

int mcplug_stored_search(const char *dir, const char *name, const char *text,
                         int ignore_case, uint64_t offset,
                         int (*fn)(void *arg, const struct mcplug_match *one), void *arg,
                         struct mcplug_error *err)
{
    struct mcplug_error own;
    struct mp_search_options o = {
        .ignore_case = ignore_case != 0, .context = 200, .from = offset};
    struct finder f = {fn, arg};
    uint64_t total = 0;

    mp_error_init(&own);
    err = err ? err : &own;
    if (!text || !fn)
        return mp_fail_null(err, "`text` and `fn`");
    if (!*text)
        return mp_fail(err, MCPLUG_EINVAL, "the text to find is empty");
    int fd = open_stored(dir, name, err);
    if (fd < 0)
        return err->code;
    int r = mp_search(fd, text, strlen(text), &o, tell_match, &f, &total, err);
    close(fd);
    return r;
}

int mcplug_stored_remove(const char *dir, const char *name, struct mcplug_error *err)
{
    char *full = NULL;
    int fd = -1;

    if (!name)
        return mp_fail_null(err, "`name`");
    struct mp_store *s = store_of(dir, err);
    int r = s ? mp_store_open(s, name, &fd, &full, err) : MCPLUG_ENOMEM;
    if (r == MCPLUG_OK) {
        close(fd);
        r = mp_store_remove(s, full, err);
    }
    mp_free(full);
    mp_store_free(s);
    return r;
}
