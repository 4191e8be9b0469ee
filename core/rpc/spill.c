#include "rpc/spill.h"

#include "../../plugins/common/fds.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/fsize.h"
#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define CHUNK ((size_t)65536) /* what a pipe holds: one write for each read */
#define SCRATCH (4 + 3 * CHUNK)
/* That moves on: it is copied in one go, while everything else waits. */
#define MOVED_MAX ((uint64_t)1 << 28)

void mp_spill_init(struct mp_spill *s)
{
    *s = (struct mp_spill){.fd = -1};
}

void mp_spill_clear(struct mp_spill *s)
{
    if (s->fd >= 0)
        close(s->fd);
    mp_free(s->scratch);
    mp_spill_init(s);
}

/* ---- places ---- */

/* A text that begins with this is a list of places, each of which begins with it. */
#define PLACE '\n'

/* One that is not absolute could be anywhere, and what has the separator in it can't be
 * told: both are left out. */
static void add_place(struct mp_str *list, const char *variable, const char *below)
{
    const char *base = variable[0] == '/' ? variable : secure_getenv(variable);

    if (base && base[0] == '/' && !strchr(base, PLACE) && strlen(base) < PATH_MAX)
        mp_str_addf(list, "%c%s%s", PLACE, base, below);
}

char *mp_spill_dir(const char *dir)
{
    struct mp_str path;
    const char *cache = secure_getenv("XDG_CACHE_HOME");

    mp_str_init(&path, dir ? PATH_MAX : 6 * PATH_MAX);
    if (dir) {
        mp_str_adds(&path, dir[0] == PLACE ? "./" : "");
        mp_str_adds(&path, dir);
        return mp_str_take(&path);
    }
    if (cache && cache[0] == '/')
        add_place(&path, "XDG_CACHE_HOME", "/mcplug");
    else
        add_place(&path, "HOME", "/.cache/mcplug");
    add_place(&path, "TMPDIR", "");
    add_place(&path, "/var/tmp", "");
    add_place(&path, "/tmp", "");
    add_place(&path, "XDG_RUNTIME_DIR", "/mcplug");
    return mp_str_take(&path);
}

char *mp_spill_place(const char *dirs, size_t i, bool *own)
{
    struct mp_str path;
    const char *end = dirs;

    *own = true;
    if (dirs[0] != PLACE)
        return i == 0 ? mp_strdup(dirs) : NULL;
    do {
        dirs = end;
        if (!*dirs)
            return NULL;
        end = strchrnul(dirs + 1, PLACE);
    } while (i--);
    mp_str_init(&path, 2 * PATH_MAX);
    mp_str_add(&path, dirs + 1, (size_t)(end - dirs - 1));
    char *place = mp_str_take(&path);
    const char *name = place ? strrchr(place, '/') : NULL;
    *own = name && strcmp(name, "/mcplug") == 0;
    return place;
}

/* In directories that others can write, too: no name is ever opened that was there. */
static int open_nameless(const char *dir)
{
    int fd = fds_high(open(dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
    if (fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR))
        return fd;

    struct fds_plugs plugs;
    struct mp_str path;
    mp_str_init(&path, 4096);
    mp_str_addf(&path, "%s/spill-XXXXXX", dir);
    char *name = mp_str_take(&path);
    fds_plug(&plugs);
    fd = name ? mkostemp(name, O_CLOEXEC) : -1;
    fds_unplug(&plugs);
    if (fd >= 0)
        unlink(name);
    mp_free(name);
    return fd;
}

/* The file at that place; -1 with errno. Of our own directory the last two levels are
 * made when they are missing: ~/.cache may be, too. */
static int open_at(const char *dir, bool own)
{
    int fd = open_nameless(dir);

    if (fd >= 0 || errno != ENOENT || !own)
        return fd;
    char *parent = mp_strdup(dir);
    char *slash = parent ? strrchr(parent, '/') : NULL;
    if (mkdir(dir, 0700) != 0 && errno == ENOENT && slash && slash != parent) {
        *slash = '\0';
        mkdir(parent, 0700);
        mkdir(dir, 0700);
    }
    mp_free(parent);
    return open_nameless(dir);
}

/* ---- free space ---- */

#define RESERVE_MAX ((uint64_t)1 << 30)
#define BUDGET_MAX ((uint64_t)1 << 26)

/* Of an error: not all of the disk was ours to fill. */
#define KEPT_FREE " (5 % of it or 1 GiB stay free)"

uint64_t mp_spill_reserve(uint64_t total)
{
    return total / 20 < RESERVE_MAX ? total / 20 : RESERVE_MAX;
}

uint64_t mp_spill_usable(int fd)
{
    struct statvfs fs;

    if (fstatvfs(fd, &fs) != 0)
        return 0;
    uint64_t reserve = mp_spill_reserve((uint64_t)fs.f_blocks * fs.f_frsize);
    uint64_t available = (uint64_t)fs.f_bavail * fs.f_frsize;
    return available > reserve ? available - reserve : 0;
}

/* Is there room for `len` more? It is looked at ever more often as it gets less, for
 * others write there, too. */
static bool has_budget(struct mp_spill *s, size_t len)
{
    if (s->budget < len) {
        uint64_t left = mp_spill_usable(s->fd);
        s->budget = left / 2 < BUDGET_MAX ? left / 2 : BUDGET_MAX;
        if (left < len)
            return false;
        if (s->budget < len)
            s->budget = len;
    }
    return true;
}

/* MCPLUG_EIO: `what`, the directory of place `i`, and `more`. */
static int fail_at(const char *dirs, size_t i, int os_error, const char *what,
                   const char *more, struct mcplug_error *err)
{
    bool own;
    char *dir = mp_spill_place(dirs, i, &own);
    int r = dir ? mp_fail_os(err, MCPLUG_EIO, os_error, "%s %s%s", what, dir, more)
                : mp_fail_nomem(err);
    mp_free(dir);
    return r;
}

int mp_spill_begin(struct mp_spill *s, const char *dirs, struct mcplug_error *err)
{
    int os_error = 0; /* of the first place */
    char *dir, others[64] = "";
    bool own;

    s->unescape = (struct mp_unescape){0};
    s->start = s->size;
    if (!s->scratch && !(s->scratch = mp_alloc(SCRATCH)))
        return mp_fail_nomem(err);
    if (s->fd >= 0)
        return MCPLUG_OK;

    s->dirs = dirs;
    for (s->place = 0; (dir = mp_spill_place(dirs, s->place, &own)); s->place++) {
        s->fd = open_at(dir, own);
        if (s->fd < 0 && s->place == 0)
            os_error = errno;
        mp_free(dir);
        s->budget = 0;
        if (s->fd >= 0 && has_budget(s, 1))
            return MCPLUG_OK;
        if (s->fd >= 0) {
            os_error = s->place == 0 ? ENOSPC : os_error;
            close(s->fd);
            s->fd = -1;
        }
    }
    if (s->place > 1)
        snprintf(others, sizeof others, ", nor in %zu other directories", s->place - 1);
    else if (os_error == ENOSPC)
        snprintf(others, sizeof others, "%s", KEPT_FREE);
    return s->place
               ? fail_at(dirs, 0, os_error, "cannot create a spill file in", others, err)
               : mp_fail_nomem(err);
}

/* ---- when a place is full ---- */

/* Somewhere else than `old`, with room for what there is and more? On the same disk
 * there would not be; it is not asked to copy gigabytes to find out. */
static bool has_room(int old, int fd, uint64_t size)
{
    struct stat a, b;

    return fstat(old, &a) == 0 && fstat(fd, &b) == 0 && a.st_dev != b.st_dev &&
           mp_spill_usable(fd) > size;
}

static bool copy(int from, int to, uint64_t size)
{
    off_t at = 0;

    if (mp_fsize_room(0) < size)
        return false;
    while ((uint64_t)at < size) {
        ssize_t n = sendfile(to, from, &at, (size_t)(size - (uint64_t)at));
        if (n == 0 || (n < 0 && errno != EINTR))
            return false;
    }
    return true;
}

/* Goes on in the next place that takes it, with what was written so far. */
static bool move_on(struct mp_spill *s)
{
    char *dir;
    bool own;

    if (s->size > MOVED_MAX)
        return false;
    for (size_t i = s->place + 1; (dir = mp_spill_place(s->dirs, i, &own)); i++) {
        int fd = open_at(dir, own);
        mp_free(dir);
        if (fd >= 0 && has_room(s->fd, fd, s->size) && copy(s->fd, fd, s->size)) {
            close(s->fd);
            s->fd = fd;
            s->place = i;
            s->budget = 0;
            return true;
        }
        if (fd >= 0)
            close(fd);
    }
    return false;
}

static int write_out(struct mp_spill *s, const char *data, size_t len, uint64_t max,
                     struct mcplug_error *err)
{
    if (len > max || s->size > max - len)
        return mp_fail(err, MCPLUG_ETOOBIG,
                       "strings of the message exceed %llu bytes, the limit for spilling",
                       (unsigned long long)max);
    while (len) {
        bool has_room = has_budget(s, len);
        ssize_t n = has_room ? mp_fsize_write(s->fd, s->size, data, len) : 0;
        int e = n < 0 ? errno : ENOSPC;
        if (n < 0 && e == EINTR)
            continue;
        if (n < 0 && e == EFBIG) /* it would be so everywhere */
            return fail_at(s->dirs, s->place, e, "cannot write the spill file in",
                           ", because of RLIMIT_FSIZE", err);
        if (n <= 0 && !move_on(s))
            return fail_at(s->dirs, s->place, e, "cannot write the spill file in",
                           has_room ? "" : KEPT_FREE, err);
        if (n > 0) {
            data += n;
            len -= (size_t)n;
            s->size += (uint64_t)n;
            s->budget -= (uint64_t)n;
        }
    }
    return MCPLUG_OK;
}

int mp_spill_add(struct mp_spill *s, const char *raw, size_t len, uint64_t max,
                 struct mcplug_error *err)
{
    int r = MCPLUG_OK;

    /* Nothing to unescape and nothing held back: straight to the file. */
    if (s->unescape.n == 0 && s->unescape.high == 0 && !memchr(raw, '\\', len))
        return write_out(s, raw, len, max, err);
    while (len && r == MCPLUG_OK) {
        size_t piece = len < CHUNK ? len : CHUNK;
        size_t put = mp_unescape_feed(&s->unescape, raw, piece, s->scratch);
        r = write_out(s, s->scratch, put, max, err);
        raw += piece;
        len -= piece;
    }
    return r;
}

int mp_spill_end(struct mp_spill *s, uint64_t max, struct mcplug_error *err)
{
    size_t put = mp_unescape_end(&s->unescape, s->scratch);
    return write_out(s, s->scratch, put, max, err);
}
