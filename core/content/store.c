#include "content/store.h"

#include "../../plugins/common/fds.h"
#include "base/error.h"
#include "base/fsize.h"
#include "base/mem.h"
#include "base/path.h"
#include "config/file.h"
#include "content/results.h"
#include "rpc/spill.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/sendfile.h>

#define TEMP_TRIES 16
#define BUDGET ((uint64_t)1 << 26) /* written before free space is looked at again */
#define PIECE ((size_t)1 << 24)    /* copied by the system in one call */
#define CHUNK ((size_t)1 << 16)    /* copied by ourselves */
#define SEVERAL 240                /* bytes of names in a message */

#define KEPT_FREE "5 % of the disk or 1 GiB stay free"

struct mp_store_file {
    const struct mp_store *store;
    int fd;
    int dir; /* of `temp`; -1: it has no name at all */
    mp_file_name temp;
    uint64_t size;
    uint64_t budget; /* that may be written before free space is looked at again */
    bool failed;
};

static void close_fd(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

/* ---- the object ---- */

static char *default_dir(void)
{
    const char *cache = secure_getenv("XDG_CACHE_HOME"), *home = secure_getenv("HOME");
    struct mp_str dir;

    mp_str_init(&dir, 2 * PATH_MAX);
    if (cache && cache[0] == '/' && strlen(cache) < PATH_MAX)
        mp_str_addf(&dir, "%s/mcplug/results", cache);
    else if (home && home[0] == '/' && strlen(home) < PATH_MAX)
        mp_str_addf(&dir, "%s/.cache/mcplug/results", home);
    else
        mp_str_addf(&dir, "/var/tmp/mcplug-%u/results", (unsigned)geteuid());
    return mp_str_take(&dir);
}

struct mp_store *mp_store_new(const char *dir, uint64_t quota, uint64_t age_s)
{
    struct mp_store *s = mp_alloc(sizeof *s);

    if (!s)
        return NULL;
    s->dir = dir && *dir ? mp_path_absolute(dir) : default_dir();
    s->quota = quota ? quota : MP_STORE_QUOTA;
    s->age_s = age_s ? age_s : MP_STORE_AGE;
    if (!s->dir) {
        mp_free(s);
        return NULL;
    }
    for (size_t n = strlen(s->dir); n > 1 && s->dir[n - 1] == '/'; n--)
        s->dir[n - 1] = '\0';
    return s;
}

void mp_store_free(struct mp_store *s)
{
    if (s)
        mp_free(s->dir);
    mp_free(s);
}

const char *mp_store_dir(const struct mp_store *s)
{
    return s->dir;
}

/* ---- what there is ---- */

int mp_store_each(const struct mp_store *s,
                  bool (*fn)(void *arg, const struct mp_stored *one), void *arg,
                  struct mcplug_error *err)
{
    struct mp_results l = {0};
    struct mp_result_name parts;
    int dir;

    int r = mp_results_open(s, false, &dir, err);
    if (r == MCPLUG_OK && dir >= 0)
        r = mp_results_read(&l, s, dir, false, err);
    close_fd(&dir);
    bool more = true;
    for (size_t i = 0; i < l.n && more; i++)
        if (mp_result_name_read(l.list[i].name, &parts))
            more = fn(arg, &(struct mp_stored){.name = l.list[i].name,
                                               .server = parts.server,
                                               .tool = parts.tool,
                                               .ext = parts.ext,
                                               .time_ms = l.list[i].time_ms,
                                               .size = l.list[i].size});
    mp_results_clear(&l);
    return r;
}

int mp_store_sweep(const struct mp_store *s, uint64_t need, struct mcplug_error *err)
{
    struct mp_results l = {0};
    int dir;

    int r = mp_results_open(s, false, &dir, err);
    if (r == MCPLUG_OK && dir >= 0) {
        mp_results_lock(dir);
        r = mp_results_make_room(s, dir, need, &l, err);
    }
    mp_results_clear(&l);
    mp_results_unlock(&dir);
    return r;
}

/* ---- writing ---- */

static int fail_write(const struct mp_store *s, int os_error, struct mcplug_error *err)
{
    return mp_file_fail_os(err, s->dir, os_error, "cannot write the result",
                           os_error == ENOSPC  ? KEPT_FREE
                           : os_error == EFBIG ? "because of RLIMIT_FSIZE"
                                               : NULL);
}

/* 0 or an errno. */
static int open_temp(struct mp_store_file *f, int dir)
{
    uint64_t bits;
    int fd = -1, e = EEXIST;

    for (int i = 0; i < TEMP_TRIES && e == EEXIST; i++) {
        ssize_t n;
        do
            n = getrandom(&bits, sizeof bits, 0);
        while (n < 0 && errno == EINTR);
        if (n != (ssize_t)sizeof bits)
            return n < 0 ? errno : EIO;
        snprintf(f->temp, sizeof f->temp, ".tmp-%016llx", (unsigned long long)bits);
        fd = fds_high(openat(dir, f->temp,
                             O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
        e = fd >= 0 ? 0 : errno;
    }
    if (e)
        return e;
    f->fd = fd;
    f->dir = fds_high(openat(dir, ".", O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (f->dir >= 0)
        return 0;
    e = errno;
    unlinkat(dir, f->temp, 0);
    return e;
}

static int open_new(struct mp_store_file *f, int dir)
{
    int e = 0;

    f->fd = fds_high(openat(dir, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
    if (f->fd < 0)
        e = errno;
    if (e == EOPNOTSUPP || e == EISDIR || e == EINVAL)
        e = open_temp(f, dir);
    if (e == 0 && fchmod(f->fd, 0600) != 0)
        e = errno;
    return e;
}

static void file_clear(struct mp_store_file *f)
{
    if (f->dir >= 0)
        unlinkat(f->dir, f->temp, 0);
    close_fd(&f->dir);
    close_fd(&f->fd);
}

void mp_store_drop(struct mp_store_file *f)
{
    if (f)
        file_clear(f);
    mp_free(f);
}

int mp_store_begin(const struct mp_store *s, struct mp_store_file **out,
                   struct mcplug_error *err)
{
    struct mp_store_file *f = mp_alloc(sizeof *f);
    struct mp_results l = {0};
    int dir = -1;

    if (!f)
        return mp_fail_nomem(err);
    *f = (struct mp_store_file){.store = s, .fd = -1, .dir = -1};
    int r = mp_results_open(s, true, &dir, err);
    if (r == MCPLUG_OK) {
        mp_results_lock(dir);
        r = mp_results_make_room(s, dir, 0, &l, err);
    }
    int e = r == MCPLUG_OK ? open_new(f, dir) : 0;
    if (e)
        r = mp_file_fail_os(err, s->dir, e, "cannot create a file", NULL);
    mp_results_clear(&l);
    mp_results_unlock(&dir);
    if (r == MCPLUG_OK)
        *out = f;
    else
        mp_store_drop(f);
    return r;
}

/* May `len` more be written? It is looked at ever more often as it gets less, for others
 * write there, too. 0 or an errno. */
static int check_budget(struct mp_store_file *f, uint64_t len)
{
    if (f->budget < len) {
        uint64_t left = mp_spill_usable(f->fd);
        if (left < len)
            return ENOSPC;
        f->budget = left / 2 < BUDGET ? left / 2 : BUDGET;
        if (f->budget < len)
            f->budget = len;
    }
    return 0;
}

static int write_all(struct mp_store_file *f, const char *data, size_t len)
{
    int e = check_budget(f, len);

    while (len && e == 0) {
        ssize_t n = mp_fsize_write(f->fd, f->size, data, len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n < 0 ? errno : EIO;
        data += n;
        len -= (size_t)n;
        f->size += (uint64_t)n;
        f->budget -= (uint64_t)n;
    }
    return e;
}

static int fail_incomplete(const struct mp_store *s, struct mcplug_error *err)
{
    return mp_file_fail(err, MCPLUG_EIO, s->dir, "the result is not complete");
}

int mp_store_write(struct mp_store_file *f, const void *data, size_t len,
                   struct mcplug_error *err)
{
    uint64_t quota = f->store->quota;
    int r = MCPLUG_OK, e = 0;

    if (f->failed)
        r = fail_incomplete(f->store, err);
    else if (len > quota || f->size > quota - len)
        r = mp_results_fail_quota(f->store, f->size + len, err);
    else if (len && (e = write_all(f, data, len)) != 0)
        r = fail_write(f->store, e, err);
    f->failed = r != MCPLUG_OK;
    return r;
}

/* ---- copying ---- */

/* Ways to copy a piece, in order; the next is tried where one is not supported. */
enum way { RANGE, SENDFILE, BY_HAND, WAYS };

static ssize_t copy_piece(enum way way, int from, off_t *at, int to, size_t len,
                          char *chunk)
{
    ssize_t n;

    if (way == RANGE)
        return copy_file_range(from, at, to, NULL, len, 0);
    if (way == SENDFILE)
        return sendfile(to, from, at, len);
    n = pread(from, chunk, len < CHUNK ? len : CHUNK, *at);
    if (n > 0)
        n = mp_fsize_write(to, (uint64_t)*at, chunk, (size_t)n);
    if (n > 0)
        *at += n;
    return n;
}

/* `size` bytes into `f`, which is empty. 0 or an errno. */
static int copy(struct mp_store_file *f, int from, uint64_t size)
{
    enum way way = RANGE;
    char *chunk = NULL;
    off_t at = 0;
    int e = 0;

    if (size > INT64_MAX || mp_fsize_room(0) < size)
        e = EFBIG;
    else if (mp_spill_usable(f->fd) < size)
        e = ENOSPC;
    while ((uint64_t)at < size && e == 0) {
        uint64_t left = size - (uint64_t)at, room = mp_fsize_room((uint64_t)at);
        size_t len = left < PIECE ? (size_t)left : PIECE;
        if (room < len) /* it was lowered meanwhile */
            e = EFBIG;
        if (e == 0 && way == BY_HAND && !chunk && !(chunk = mp_alloc_raw(CHUNK)))
            e = ENOMEM;
        if (e == 0)
            e = check_budget(f, len);
        if (e)
            break;
        ssize_t n = copy_piece(way, from, &at, f->fd, len, chunk);
        if (n > 0)
            f->budget -= (uint64_t)n;
        else if (n == 0 && way == BY_HAND)
            e = EIO; /* it has become shorter */
        else if (n == 0 || (errno != EINTR && errno != ENOSPC && errno != EDQUOT))
            e = ++way < WAYS ? 0 : errno;
        else if (errno != EINTR)
            e = errno;
    }
    mp_free(chunk);
    f->size = (uint64_t)at;
    return e;
}

/* ---- giving a name ---- */

/* 0 or an errno, EEXIST among them. */
static int link_nameless(int fd, int dir, const char *name)
{
    char path[64];

    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    if (linkat(AT_FDCWD, path, dir, name, AT_SYMLINK_FOLLOW) == 0)
        return 0;
    if (errno != ENOENT) /* else /proc may not be there */
        return errno;
    return linkat(fd, "", dir, name, AT_EMPTY_PATH) == 0 ? 0 : errno;
}

static int rename_temp(const struct mp_store_file *f, int dir, const char *name)
{
    if (renameat2(f->dir, f->temp, dir, name, RENAME_NOREPLACE) == 0)
        return 0;
    if (errno != EINVAL && errno != ENOSYS)
        return errno;
    return linkat(f->dir, f->temp, dir, name, 0) == 0 ? 0 : errno;
}

/* The first that no result has, from now on. */
static int64_t free_time(const struct mp_results *l)
{
    int64_t t = mp_results_now(CLOCK_REALTIME);

    for (size_t i = l->n; i--;) /* the oldest first */
        if (l->list[i].time_ms == t && t < INT64_MAX)
            t++;
    return t;
}

static int give_name(const struct mp_store_file *f, int dir,
                     const struct mp_result_frame *frame, const struct mp_results *l,
                     mp_file_name name)
{
    int64_t t = free_time(l);
    int e = EEXIST;

    for (int tries = 0; tries < MP_STORE_FILES && e == EEXIST; tries++, t++) {
        if (snprintf(name, sizeof(mp_file_name), "%s%lld%s", frame->head, (long long)t,
                     frame->tail) >= (int)sizeof(mp_file_name))
            return ENAMETOOLONG;
        e = f->dir >= 0 ? rename_temp(f, dir, name) : link_nameless(f->fd, dir, name);
    }
    return e;
}

/* Where a file without a name cannot get one, or its directory is gone: once more with
 * a name that is not kept. */
static int name_copy(struct mp_store_file *f, int dir,
                     const struct mp_result_frame *frame, const struct mp_results *l,
                     mp_file_name name)
{
    struct mp_store_file other = {.store = f->store, .fd = -1, .dir = -1};
    int e = open_temp(&other, dir);

    if (e == 0 && fchmod(other.fd, 0600) != 0)
        e = errno;
    if (e == 0)
        e = copy(&other, f->fd, f->size);
    if (e == 0)
        e = give_name(&other, dir, frame, l, name);
    file_clear(&other);
    return e;
}

static bool on_one_disk(int a, int b)
{
    struct stat x, y;

    return fstat(a, &x) == 0 && fstat(b, &y) == 0 && x.st_dev == y.st_dev;
}

/* `copies`: whatever it costs; else *os_error gets why it was not named. Nothing is
 * removed for what cannot be linked. */
static int store(const struct mp_store *s, struct mp_store_file *f,
                 const struct mp_result_frame *frame, bool copies, char **path,
                 int *os_error, struct mcplug_error *err)
{
    size_t len = strlen(s->dir);
    char *whole = mp_alloc(len + 1 + sizeof(mp_file_name));
    struct mp_results l = {0};
    mp_file_name name;
    int dir = -1;

    *os_error = 0;
    int r = whole ? mp_results_open(s, true, &dir, err) : mp_fail_nomem(err);
    if (r == MCPLUG_OK && !copies && !on_one_disk(f->fd, dir))
        *os_error = EXDEV;
    if (r == MCPLUG_OK && *os_error == 0) {
        mp_results_lock(dir);
        r = mp_results_make_room(s, dir, f->size, &l, err);
    }
    if (r == MCPLUG_OK && *os_error == 0) {
        int e = give_name(f, dir, frame, &l, name);
        if (e && e != EEXIST && copies)
            e = name_copy(f, dir, frame, &l, name);
        *os_error = e;
        if (e && copies)
            r = fail_write(s, e, err);
    }
    if (r == MCPLUG_OK && *os_error == 0) {
        snprintf(whole, len + 1 + sizeof(mp_file_name), "%s%s%s", s->dir,
                 s->dir[len - 1] == '/' ? "" : "/", name);
        *path = mp_move(&whole);
    }
    mp_results_clear(&l);
    mp_results_unlock(&dir);
    mp_free(whole);
    return r;
}

int mp_store_commit(struct mp_store_file *f, const char *server, const char *tool,
                    const char *name, const char *ext, char **path,
                    struct mcplug_error *err)
{
    struct mp_result_frame frame;
    int os_error, r;

    mp_result_frame_init(&frame, server, tool, name, ext);
    if (f->failed)
        r = fail_incomplete(f->store, err);
    else
        r = store(f->store, f, &frame, true, path, &os_error, err);
    mp_store_drop(f);
    return r;
}

/* ---- adopting ---- */

static int adopt_copy(const struct mp_store *s, int fd, uint64_t size,
                      const struct mp_result_frame *frame, char **path,
                      struct mcplug_error *err)
{
    struct mp_store_file *f = NULL;
    int os_error;

    int r = mp_store_begin(s, &f, err);
    int e = r == MCPLUG_OK ? copy(f, fd, size) : 0;
    if (e)
        r = fail_write(s, e, err);
    if (r == MCPLUG_OK)
        r = store(s, f, frame, true, path, &os_error, err);
    mp_store_drop(f);
    return r;
}

int mp_store_adopt(const struct mp_store *s, int fd, uint64_t size, const char *server,
                   const char *tool, const char *ext, char **path,
                   struct mcplug_error *err)
{
    struct mp_store_file f = {.store = s, .fd = fd, .dir = -1, .size = size};
    struct mp_result_frame frame;
    struct stat st;
    int os_error = EXDEV, r = MCPLUG_OK;

    mp_result_frame_init(&frame, server, tool, NULL, ext);
    if (size > s->quota)
        return mp_results_fail_quota(s, size, err);
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) || (uint64_t)st.st_size < size)
        return mp_fail(err, MCPLUG_EINVAL,
                       "the result is not a file, or shorter than it should be");
    /* A file of another owner would not be ours, one with a name could be changed. */
    if (st.st_nlink == 0 && st.st_uid == geteuid() && (uint64_t)st.st_size == size &&
        fchmod(fd, 0600) == 0)
        r = store(s, &f, &frame, false, path, &os_error, err);
    if (r == MCPLUG_OK && os_error)
        r = adopt_copy(s, fd, size, &frame, path, err);
    return r;
}

/* ---- one of them ---- */

static int fail_none(const struct mp_store *s, const char *which,
                     struct mcplug_error *err)
{
    char shown[MP_PATH_SHOWN + 1], dir[MP_PATH_SHOWN + 1];

    return mp_fail(err, MCPLUG_EINVAL, "there is no result %s in %s",
                   mp_path_shown(which, shown), mp_path_shown(s->dir, dir));
}

/* Names those that `which` could mean, as many as there is room for. */
static int fail_several(const struct mp_results *l, const size_t *found, size_t n,
                        size_t all, const char *which, struct mcplug_error *err)
{
    char shown[MP_PATH_SHOWN + 1], names[SEVERAL + 1] = "";
    size_t len = 0, i = 0;

    for (; i < n && len + strlen(l->list[found[i]].name) + 2 <= SEVERAL; i++)
        len += (size_t)snprintf(names + len, sizeof names - len, "%s%s", i ? ", " : "",
                                l->list[found[i]].name);
    return mp_fail(err, MCPLUG_EINVAL, "%zu results are %.100s: %s%s", all,
                   mp_path_shown(which, shown), names, all > i ? ", .." : "");
}

/* give: the full name. */
static int find(const struct mp_store *s, int dir, const char *which, char **name,
                struct mcplug_error *err)
{
    struct mp_results l = {0};
    size_t found[4] = {0}, n = 0, all = 0;
    int64_t t = -1;
    const char *end = mp_result_time_read(which, &t);

    int r = *which ? mp_results_read(&l, s, dir, false, err) : fail_none(s, which, err);
    for (size_t i = 0; i < l.n; i++) {
        bool is_it = end && !*end ? l.list[i].time_ms == t
                                  : strncmp(l.list[i].name, which, strlen(which)) == 0;
        if (is_it && n < MP_COUNT(found))
            found[n++] = i;
        all += is_it;
    }
    if (r == MCPLUG_OK && all == 0)
        r = fail_none(s, which, err);
    else if (r == MCPLUG_OK && all > 1)
        r = fail_several(&l, found, n, all, which, err);
    else if (r == MCPLUG_OK && !(*name = mp_strdup(l.list[found[0]].name)))
        r = mp_fail_nomem(err);
    mp_results_clear(&l);
    return r;
}

/* The name in an absolute path, whatever way it leads to the directory; NULL: elsewhere.
 */
static const char *name_of_path(int dir, const char *path, bool *has_memory)
{
    struct stat ours, there;
    char *above = mp_path_dir(path);
    bool same = above && fstat(dir, &ours) == 0 && stat(above, &there) == 0 &&
                ours.st_dev == there.st_dev && ours.st_ino == there.st_ino;

    *has_memory = above != NULL;
    mp_free(above);
    return same ? strrchr(path, '/') + 1 : NULL;
}

/* -1 with errno: not a result of ours. */
static int open_exact(int dir, const char *name)
{
    struct mp_result_name parts;
    struct stat st;
    int fd = -1;

    errno = ENOENT;
    if (mp_result_name_read(name, &parts))
        fd = fds_high(
            openat(dir, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
    if (fd >= 0 &&
        (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) || st.st_uid != geteuid())) {
        close_fd(&fd);
        errno = ENOENT;
    }
    return fd;
}

/* Not there, or not what it should be. */
static bool is_missing(int e)
{
    return e == ENOENT || e == ELOOP || e == ENXIO || e == ENAMETOOLONG;
}

int mp_store_open(const struct mp_store *s, const char *which, int *fd, char **name,
                  struct mcplug_error *err)
{
    const char *exact = which;
    bool has_memory = true;
    char *full = NULL;
    int dir, opened = -1;

    int r = mp_results_open(s, false, &dir, err);
    if (r == MCPLUG_OK && dir >= 0 && which[0] == '/')
        exact = name_of_path(dir, which, &has_memory);
    if (r == MCPLUG_OK && !has_memory)
        r = mp_fail_nomem(err);
    else if (r == MCPLUG_OK && (dir < 0 || !exact))
        r = fail_none(s, which, err);
    if (r == MCPLUG_OK) {
        opened = open_exact(dir, exact);
        if (opened >= 0 && !(full = mp_strdup(exact)))
            r = mp_fail_nomem(err);
    }
    if (r == MCPLUG_OK && opened < 0 && (exact != which || !is_missing(errno)))
        r = is_missing(errno)
                ? fail_none(s, which, err)
                : mp_file_fail_os(err, s->dir, errno, "cannot open the result", NULL);
    if (r == MCPLUG_OK && opened < 0) {
        r = find(s, dir, which, &full, err);
        opened = r == MCPLUG_OK ? open_exact(dir, full) : -1;
        if (r == MCPLUG_OK && opened < 0)
            r = fail_none(s, which, err);
    }
    if (r == MCPLUG_OK) {
        *fd = opened;
        opened = -1;
        if (name)
            *name = mp_move(&full);
    }
    close_fd(&opened);
    close_fd(&dir);
    mp_free(full);
    return r;
}

int mp_store_remove(const struct mp_store *s, const char *name, struct mcplug_error *err)
{
    struct mp_result_name parts;
    struct stat st;
    int dir;

    int r = mp_results_open(s, false, &dir, err);
    if (r != MCPLUG_OK)
        return r;
    if (dir < 0 || !mp_result_name_read(name, &parts) ||
        !mp_result_is_ours(dir, name, &st))
        r = fail_none(s, name, err);
    else if (unlinkat(dir, name, 0) != 0)
        r = errno == ENOENT
                ? fail_none(s, name, err)
                : mp_file_fail_os(err, s->dir, errno, "cannot remove the result", NULL);
    close_fd(&dir);
    return r;
}
