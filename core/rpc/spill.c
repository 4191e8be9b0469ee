#include "rpc/spill.h"

#include "base/buf.h"
#include "base/error.h"
#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define CHUNK ((size_t)16384)
#define SCRATCH (4 + 3 * CHUNK)

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

char *mp_spill_dir(const char *dir)
{
    struct mp_str path;
    const char *base;

    mp_str_init(&path, 4096);
    if (dir) {
        mp_str_adds(&path, dir);
    } else if ((base = secure_getenv("XDG_RUNTIME_DIR")) && base[0] == '/') {
        mp_str_addf(&path, "%s/mcplug", base);
    } else if ((base = secure_getenv("XDG_CACHE_HOME")) && base[0] == '/') {
        mp_str_addf(&path, "%s/mcplug", base);
    } else if ((base = secure_getenv("HOME")) && base[0] == '/') {
        mp_str_addf(&path, "%s/.cache/mcplug", base);
    } else {
        mp_str_adds(&path, "/tmp");
    }
    return mp_str_take(&path);
}

/* Makes the last two levels when they are missing: ~/.cache may be, too. */
static void make_private(const char *dir)
{
    char *parent = mp_strdup(dir);
    char *slash = parent ? strrchr(parent, '/') : NULL;

    if (mkdir(dir, 0700) != 0 && errno == ENOENT && slash && slash != parent) {
        *slash = '\0';
        mkdir(parent, 0700);
        mkdir(dir, 0700);
    }
    mp_free(parent);
}

static int open_nameless(const char *dir)
{
    int fd = open(dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR))
        return fd;

    struct mp_str path;
    mp_str_init(&path, 4096);
    mp_str_addf(&path, "%s/spill-XXXXXX", dir);
    char *name = mp_str_take(&path);
    fd = name ? mkostemp(name, O_CLOEXEC) : -1;
    if (fd >= 0)
        unlink(name);
    mp_free(name);
    return fd;
}

int mp_spill_begin(struct mp_spill *s, const char *dir, struct mcplug_error *err)
{
    s->unescape = (struct mp_unescape){0};
    s->start = s->size;
    if (!s->scratch && !(s->scratch = mp_alloc(SCRATCH)))
        return mp_fail_nomem(err);
    if (s->fd >= 0)
        return MCPLUG_OK;

    s->fd = open_nameless(dir);
    if (s->fd < 0 && errno == ENOENT) {
        make_private(dir);
        s->fd = open_nameless(dir);
    }
    if (s->fd < 0)
        return mp_fail_os(err, MCPLUG_EIO, errno, "no spill file in %s", dir);
    return MCPLUG_OK;
}

static int write_out(struct mp_spill *s, const char *data, size_t len, uint64_t max,
                     struct mcplug_error *err)
{
    if (len > max || s->size > max - len)
        return mp_fail(err, MCPLUG_ETOOBIG,
                       "strings of the message exceed %llu bytes, the limit for spilling",
                       (unsigned long long)max);
    while (len) {
        ssize_t n = write(s->fd, data, len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return mp_fail_os(err, MCPLUG_EIO, n < 0 ? errno : ENOSPC,
                              "cannot write the spill file");
        data += n;
        len -= (size_t)n;
        s->size += (uint64_t)n;
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
