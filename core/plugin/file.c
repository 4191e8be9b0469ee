/* A module's constructors run before any check of ours could, so every check of the
 * file comes before dlopen(). Between the check and dlopen() only root or we ourselves
 * can change the file or any directory on the way to it, that being what is checked;
 * so the real path is loaded as it is. A descriptor (/proc/self/fd/N) would gain
 * nothing, and debuggers would lose the path. */
#include "plugin/catalogue.h"

#include "base/buf.h"
#include "base/error.h"
#include "base/mem.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#define PATH_SHOWN 240 /* of the 496 bytes that an error has */

int mp_plugin_fail(struct mcplug_error *err, int code, const char *file, const char *fmt,
                   ...)
{
    char shown[PATH_SHOWN + 1];
    struct mcplug_error reason;
    size_t len = strlen(file), half = PATH_SHOWN / 2 - 2;
    va_list ap;

    if (len <= PATH_SHOWN)
        memcpy(shown, file, len + 1);
    else
        snprintf(shown, sizeof shown, "%.*s...%s", (int)half, file, file + len - half);
    va_start(ap, fmt);
    mp_failv(&reason, code, fmt, ap);
    va_end(ap);
    return mp_fail(err, code, "%s: %s", shown, reason.text);
}

static int fail_os(struct mcplug_error *err, const char *file, int os_error,
                   const char *what)
{
    mp_plugin_fail(err, MCPLUG_EIO, file, "%s: %s", what, strerror(os_error));
    if (err)
        err->os_error = os_error;
    return MCPLUG_EIO;
}

static bool trusted_owner(const struct stat *st)
{
    return st->st_uid == 0 || st->st_uid == geteuid();
}

static int check_file(const char *file, const char *real, struct mcplug_error *err)
{
    struct stat st;

    if (stat(real, &st) != 0)
        return fail_os(err, file, errno, "cannot be read");
    if (!S_ISREG(st.st_mode))
        return mp_plugin_fail(err, MCPLUG_EINVAL, file, "is not a regular file");
    if (!trusted_owner(&st))
        return mp_plugin_fail(
            err, MCPLUG_EINVAL, file,
            "belongs to user %ld, neither root nor the one running this",
            (long)st.st_uid);
    if (st.st_mode & (S_IWGRP | S_IWOTH))
        return mp_plugin_fail(err, MCPLUG_EINVAL, file,
                              "others than its owner can write it (mode %04o)",
                              (unsigned)st.st_mode & 07777);
    return MCPLUG_OK;
}

static int check_dir(const char *file, const char *dir, bool nearest,
                     struct mcplug_error *err)
{
    struct stat st;

    if (stat(dir, &st) != 0)
        return fail_os(err, file, errno, "its directory cannot be read");
    if (!trusted_owner(&st))
        return mp_plugin_fail(
            err, MCPLUG_EINVAL, file,
            "its directory %s belongs to user %ld, neither root nor the one running this",
            dir, (long)st.st_uid);
    bool writable = st.st_mode & (S_IWGRP | S_IWOTH);
    if (writable && (nearest || !(st.st_mode & S_ISVTX)))
        return mp_plugin_fail(err, MCPLUG_EINVAL, file,
                              "others than its owner can write its directory %s "
                              "(mode %04o)",
                              dir, (unsigned)st.st_mode & 07777);
    return MCPLUG_OK;
}

/* Every directory from the one of `path`, which is a real path, to the root. */
static int check_dirs(const char *file, const char *path, struct mcplug_error *err)
{
    char *dir = mp_strdup(path);
    bool nearest = true;
    int r = dir ? MCPLUG_OK : mp_fail_nomem(err);

    while (r == MCPLUG_OK) {
        char *slash = strrchr(dir, '/');
        if (!slash)
            break;
        bool root = slash == dir;
        slash[root ? 1 : 0] = '\0';
        r = check_dir(file, dir, nearest, err);
        nearest = false;
        if (root)
            break;
    }
    mp_free(dir);
    return r;
}

/* Real path of a file's directory, with a last `/x` for check_dirs() to take off. */
static char *real_place(const char *file)
{
    const char *slash = strrchr(file, '/');
    char *dir = slash ? mp_strndup(file, (size_t)(slash - file) + 1) : mp_strdup(".");
    char *real = dir ? realpath(dir, NULL) : NULL;
    struct mp_str place;

    mp_str_init(&place, SIZE_MAX / 2);
    if (real)
        mp_str_addf(&place, "%s/x", strcmp(real, "/") == 0 ? "" : real);
    else
        place.failed = true;
    free(real);
    mp_free(dir);
    return mp_str_take(&place);
}

int mp_plugin_file_check(const char *file, char **real, struct mcplug_error *err)
{
    char *path = realpath(file, NULL), *place = NULL;
    int r;

    if (!path)
        return errno == ENOMEM ? mp_fail_nomem(err)
                               : fail_os(err, file, errno, "cannot be found");
    place = real_place(file);
    r = place ? check_file(file, path, err) : mp_fail_nomem(err);
    if (r == MCPLUG_OK)
        r = check_dirs(file, path, err);
    if (r == MCPLUG_OK)
        r = check_dirs(file, place, err);
    if (r == MCPLUG_OK) {
        char *copy = mp_strdup(path);
        if (copy)
            *real = copy;
        else
            r = mp_fail_nomem(err);
    }
    free(path);
    mp_free(place);
    return r;
}

/* ---- loading ---- */

/* dlsym() looks into the libraries that a module needs as well; those of another
 * module must not pass for its own. */
static const void *own_symbol(void *handle, const char *name)
{
    const void *symbol = dlsym(handle, name);
    struct link_map *mine = NULL;
    void *owner = NULL;
    Dl_info info;

    if (!symbol || dlinfo(handle, RTLD_DI_LINKMAP, &mine) != 0 ||
        !dladdr1(symbol, &info, &owner, RTLD_DL_LINKMAP))
        return NULL;
    return owner == mine ? symbol : NULL;
}

static int fail_no_symbol(void *handle, const char *file, struct mcplug_error *err)
{
    char name[] = "mcplug_plugin_N";

    for (char n = '0'; n <= '9'; n++) {
        name[sizeof name - 2] = n;
        if (strcmp(name, MCPLUG_SYMBOL) != 0 && own_symbol(handle, name))
            return mp_plugin_fail(err, MCPLUG_ENOTSUP, file,
                                  "was built for module ABI %c, this core has %d", n,
                                  MCPLUG_ABI_MAJOR);
    }
    return mp_plugin_fail(err, MCPLUG_EINVAL, file,
                          "is not a module: it has no symbol %s", MCPLUG_SYMBOL);
}

int mp_plugin_file_open(const char *real, const struct mcplug_plugin **out,
                        struct mcplug_error *err)
{
    /* Never unloaded, dlclose() or not: threads and exit handlers of a library that
     * the module brought along may outlive all we know of. */
    void *handle = dlopen(real, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (!handle) {
        const char *why = dlerror();
        size_t len = strlen(real);
        if (why && strncmp(why, real, len) == 0 && strncmp(why + len, ": ", 2) == 0)
            why += len + 2;
        return mp_plugin_fail(err, MCPLUG_EINVAL, real, "cannot be loaded: %s",
                              why ? why : "the loader gave no reason");
    }
    const struct mcplug_plugin *d = own_symbol(handle, MCPLUG_SYMBOL);
    int r = d ? mp_plugin_handshake(d, real, err) : fail_no_symbol(handle, real, err);
    if (r == MCPLUG_OK)
        *out = d;
    return r;
}

/* ---- reading instead of loading ---- */

/* Is `text` the end of one of the C strings that end in these bytes? */
static bool mentions(const char *data, size_t size, const char *text, size_t len)
{
    const char *end = data + size, *nul;

    for (const char *p = data; (nul = memchr(p, '\0', (size_t)(end - p))); p = nul + 1) {
        size_t before = (size_t)(nul - data);
        if (before >= len && strncasecmp(nul - len, text, len) == 0)
            return true;
        if (nul + 1 == end)
            break;
    }
    return false;
}

bool mp_plugin_file_mentions(const char *file, const char *text)
{
    char data[16384];
    size_t len = strlen(text), kept = 0;
    struct stat st;
    bool found = false;

    /* O_NONBLOCK: a pipe of that name must not stop us. Read, not mapped: whoever can
     * cut the file short while we look could kill us with that. */
    int fd = open(file, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return true;
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) || len > sizeof data / 2)
        found = true;
    while (!found) {
        ssize_t n = read(fd, data + kept, sizeof data - kept);
        if (n <= 0) {
            found = n < 0 && errno != EINTR;
            if (n < 0 && !found)
                continue;
            break;
        }
        size_t have = kept + (size_t)n;
        found = mentions(data, have, text, len);
        kept = have < len ? have : len; /* the beginning of one that goes on */
        memmove(data, data + have - kept, kept);
    }
    close(fd);
    return found;
}
