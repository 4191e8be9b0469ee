/* A module's constructors run before any check of ours could, so every check of the
 * file comes before dlopen(). Between the check and dlopen() only root or we ourselves
 * can change the file or any directory on the way to it, that being what is checked;
 * so the real path is loaded as it is. A descriptor (/proc/self/fd/N) would gain
 * nothing, and debuggers would lose the path. */
#include "plugin/catalogue.h"

#include "../../plugins/common/fds.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/path.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

int mp_plugin_fail(struct mcplug_error *err, int code, const char *file, const char *fmt,
                   ...)
{
    char shown[MP_PATH_SHOWN + 1];
    struct mcplug_error reason = MCPLUG_ERROR_INIT;
    va_list ap;

    va_start(ap, fmt);
    mp_failv(&reason, code, fmt, ap);
    va_end(ap);
    return mp_fail(err, code, "%s: %s", mp_path_shown(file, shown), reason.text);
}

static int fail_os(struct mcplug_error *err, const char *file, int os_error,
                   const char *what)
{
    mp_plugin_fail(err, MCPLUG_EIO, file, "%s: %s", what, strerror(os_error));
    if (err)
        err->os_error = os_error;
    return MCPLUG_EIO;
}

/* ---- whose it is ---- */

#define OVERFLOW_UID 65534 /* where /proc does not say */

bool mp_uid_map_has_root(const char *map)
{
    unsigned long inside, outside, count;
    int used;

    for (; sscanf(map, "%lu %lu %lu%n", &inside, &outside, &count, &used) == 3;
         map += used)
        if (outside == 0 && count > 0)
            return true;
    return false;
}

/* Small files of /proc, whole. False: it cannot be read. */
static bool read_small(const char *path, char *text, size_t size)
{
    int fd = fds_high(open(path, O_RDONLY | O_CLOEXEC));
    ssize_t n = fd < 0 ? -1 : read(fd, text, size - 1);

    if (fd >= 0)
        close(fd);
    text[n > 0 ? n : 0] = '\0';
    return n >= 0;
}

uid_t mp_unmapped_root(void)
{
    char text[8192];

    if (!read_small("/proc/self/uid_map", text, sizeof text) || mp_uid_map_has_root(text))
        return 0;
    unsigned long uid = read_small("/proc/sys/kernel/overflowuid", text, sizeof text)
                            ? strtoul(text, NULL, 10)
                            : 0;
    return uid ? (uid_t)uid : OVERFLOW_UID;
}

static bool is_below(const char *path, const char *dir)
{
    char *real = dir ? realpath(dir, NULL) : NULL;
    size_t len = real ? strlen(real) : 0;
    bool below = real && strncmp(path, real, len) == 0 && path[len] == '/';

    free(real);
    return below;
}

/* Of the file itself, or of its directory `dir`. `sticky` keeps others from replacing
 * what is not theirs. */
static int check_access(const char *file, const char *dir, const struct stat *st,
                        bool sticky, uid_t unmapped_root, struct mcplug_error *err)
{
    bool of_root = st->st_uid == 0 || (unmapped_root && st->st_uid == unmapped_root);

    if (!of_root && st->st_uid != geteuid())
        return mp_plugin_fail(
            err, MCPLUG_EINVAL, file,
            "%s%s%sbelongs to user %ld, who is neither root nor the current user",
            dir ? "its directory " : "", dir ? dir : "", dir ? " " : "",
            (long)st->st_uid);
    if (st->st_mode & (S_IWGRP | S_IWOTH) && !sticky)
        return mp_plugin_fail(
            err, MCPLUG_EINVAL, file,
            "%s%s is writable by users other than its owner (mode %04o)",
            dir ? "its directory " : "it", dir ? dir : "", (unsigned)st->st_mode & 07777);
    return MCPLUG_OK;
}

/* Every directory from `dir`, which is a real path and is written over, to the root. */
static int check_dirs(const char *file, char *dir, uid_t unmapped_root,
                      struct mcplug_error *err)
{
    struct stat st;

    for (bool nearest = true;; nearest = false) {
        if (stat(dir, &st) != 0)
            return fail_os(err, file, errno, "its directory cannot be read");
        int r = check_access(file, dir, &st, !nearest && st.st_mode & S_ISVTX,
                             unmapped_root, err);
        char *slash = strrchr(dir, '/');
        if (r != MCPLUG_OK || !slash || slash[1] == '\0')
            return r;
        slash[slash == dir] = '\0';
    }
}

int mp_plugin_file_check(const char *file, const struct mp_file_owners *owners,
                         char **real, struct mcplug_error *err)
{
    char *path = realpath(file, NULL);
    if (!path)
        return errno == ENOMEM ? mp_fail_nomem(err)
                               : fail_os(err, file, errno, "cannot be found");
    char *copy = mp_strdup(path), *dir = mp_path_dir(path), *given = mp_path_dir(file);
    char *place = given ? realpath(given, NULL) : NULL;
    int r = copy && dir && place ? MCPLUG_OK : mp_fail_nomem(err);
    bool installed = owners && owners->unmapped_root && is_below(path, owners->installed);
    uid_t unmapped_root = installed ? owners->unmapped_root : 0;
    struct stat st;

    if (r == MCPLUG_OK && stat(path, &st) != 0)
        r = fail_os(err, file, errno, "cannot be read");
    else if (r == MCPLUG_OK && !S_ISREG(st.st_mode))
        r = mp_plugin_fail(err, MCPLUG_EINVAL, file, "is not a regular file");
    if (r == MCPLUG_OK)
        r = check_access(file, NULL, &st, false, unmapped_root, err);
    if (r == MCPLUG_OK)
        r = check_dirs(file, dir, unmapped_root, err);
    if (r == MCPLUG_OK)
        r = check_dirs(file, place, unmapped_root, err);
    if (r == MCPLUG_OK)
        *real = mp_move(&copy);
    free(path);
    free(place);
    mp_free(copy);
    mp_free(dir);
    mp_free(given);
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
    mp_plugin_open_needed(real);
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

bool mp_plugin_file_mentions(const char *file, const char *text)
{
    char data[16384];
    size_t len = strlen(text), kept = 0;
    struct stat st;
    bool found = false;

    /* O_NONBLOCK: a pipe of that name must not stop us. Read, not mapped: whoever can
     * cut the file short while we look could kill us with that. */
    int fd = fds_high(open(file, O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    if (fd < 0)
        return true;
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) || len > sizeof data / 2)
        found = true;
    while (!found) {
        ssize_t n = read(fd, data + kept, sizeof data - kept);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0) {
            found = n < 0;
            break;
        }
        size_t have = kept + (size_t)n;
        char *end = data + have, *nul = data;
        for (; !found && (nul = memchr(nul, '\0', (size_t)(end - nul))); nul++)
            found = (size_t)(nul - data) >= len && strncasecmp(nul - len, text, len) == 0;
        kept = have < len ? have : len; /* the beginning of one that goes on */
        memmove(data, data + have - kept, kept);
    }
    close(fd);
    return found;
}
