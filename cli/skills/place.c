#include "cli/skills/place.h"

#include "base/buf.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/path.h"
#include "cli/skills/skills.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define DIRECTORY (O_RDONLY | O_DIRECTORY | O_CLOEXEC)
#define REMOVE_FDS 16

static const char fresh[] = "new", replaced[] = "old"; /* in `temp` */

static int fail_os(const char *what, const char *path, struct mcplug_error *err)
{
    char shown[MP_PATH_SHOWN + 1];
    int error = errno;

    return mp_fail_os(err, MCPLUG_EIO, error, "cannot %s %s", what,
                      mp_path_shown(path, shown));
}

/* ---- directories below a directory ---- */

static void close_fd(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

/* Goes down from `fd`, which stays open, along all of `path` but its last part, through
 * no symbolic link. `n_made`, if not NULL: what is missing is made, and counted. Returns
 * a descriptor, or -1 with errno; `last` gets the last part. */
static int go_down(int fd, const char *path, size_t *n_made, const char **last)
{
    char part[256];
    int at = fcntl(fd, F_DUPFD_CLOEXEC, 3);

    for (const char *slash; at >= 0 && (slash = strchr(path, '/')); path = slash + 1) {
        bool fits = (size_t)(slash - path) < sizeof part;
        snprintf(part, sizeof part, "%.*s", fits ? (int)(slash - path) : 0, path);
        if (n_made && fits && mkdirat(at, part, 0777) == 0)
            ++*n_made;
        int next = fits ? openat(at, part, DIRECTORY | O_NOFOLLOW) : -1;
        int error = fits ? errno : ENAMETOOLONG;
        close(at);
        errno = error;
        at = next;
    }
    *last = path;
    return at;
}

/* Removes the `n` last of the directories that are on the way to the last part. */
static void remove_made(const struct cli_place *p, size_t n)
{
    char *way = mp_strdup(p->below);

    for (char *slash; n && way && (slash = strrchr(way, '/'));) {
        *slash = '\0';
        n -= unlinkat(p->top_fd, way, AT_REMOVEDIR) == 0;
    }
    mp_free(way);
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st, (void)type, (void)ftw;
    remove(path); /* as much as can be */
    return 0;
}

/* ---- a place ---- */

/* Is it a skill, and no directory that happens to be there? */
static bool is_skill(int parent, const char *name)
{
    struct stat st;
    int fd = openat(parent, name, DIRECTORY | O_NOFOLLOW);
    bool is = fd >= 0 && fstatat(fd, CLI_SKILL_MAIN, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
              S_ISREG(st.st_mode);

    close_fd(&fd);
    return is;
}

static int check_free(struct cli_place *p, struct mcplug_error *err)
{
    char shown[MP_PATH_SHOWN + 1];
    struct stat st;
    const char *last;
    int r = MCPLUG_OK, parent = go_down(p->top_fd, p->below, NULL, &last);

    if (parent < 0)
        return errno == ENOENT ? MCPLUG_OK : fail_os("enter the way to", p->path, err);
    if (fstatat(parent, last, &st, AT_SYMLINK_NOFOLLOW) != 0)
        r = errno == ENOENT ? MCPLUG_OK : fail_os("look at", p->path, err);
    else if (!is_skill(parent, last))
        r = mp_fail(err, MCPLUG_EIO, "%s exists and is not a skill",
                    mp_path_shown(p->path, shown));
    else if (!p->force)
        r = mp_fail(err, MCPLUG_EIO, "%s exists; --force replaces it",
                    mp_path_shown(p->path, shown));
    close_fd(&parent);
    return r;
}

int cli_place_init(struct cli_place *p, const char *top, const char *below, bool force,
                   struct mcplug_error *err)
{
    *p = (struct cli_place)CLI_PLACE_NONE;
    p->top = top;
    p->below = below;
    p->force = force;
    p->path = mp_path_join(top, below);
    if (!p->path)
        return mp_fail_nomem(err);
    p->top_fd = open(top, DIRECTORY);
    if (p->top_fd >= 0)
        return check_free(p, err);
    return errno == ENOENT ? MCPLUG_OK : fail_os("use the directory", top, err);
}

int cli_place_begin(struct cli_place *p, struct mcplug_error *err)
{
    if (p->top_fd < 0) {
        if (mkdir(p->top, 0777) != 0)
            return fail_os("make the directory", p->top, err);
        p->made_top = true;
        p->top_fd = open(p->top, DIRECTORY);
        if (p->top_fd < 0)
            return fail_os("use the directory", p->top, err);
    }
    char *temp = mp_path_join(p->top, ".mcplug-skill-XXXXXX");
    if (!temp)
        return mp_fail_nomem(err);
    if (!mkdtemp(temp)) {
        mp_free(temp);
        return fail_os("make a directory in", p->top, err);
    }
    p->temp = temp;
    p->temp_fd = open(temp, DIRECTORY | O_NOFOLLOW);
    if (p->temp_fd < 0 || mkdirat(p->temp_fd, fresh, 0777) != 0)
        return fail_os("make a directory in", temp, err);
    p->new_fd = openat(p->temp_fd, fresh, DIRECTORY | O_NOFOLLOW);
    return p->new_fd < 0 ? fail_os("use the directory", temp, err) : MCPLUG_OK;
}

int cli_place_create(struct cli_place *p, const char *path, struct mcplug_error *err)
{
    const char *last;
    size_t n_made = 0;
    int parent = go_down(p->new_fd, path, &n_made, &last);
    int fd = parent < 0
                 ? -1
                 : openat(parent, last,
                          O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (fd < 0)
        fail_os("write", path, err);
    close_fd(&parent);
    return fd;
}

/* What is there goes to `temp`, and comes back if that was for nothing. */
static int move(struct cli_place *p, int parent, const char *last,
                struct mcplug_error *err)
{
    bool was = p->force && is_skill(parent, last);

    if (was && renameat(parent, last, p->temp_fd, replaced) != 0)
        return fail_os("replace", p->path, err);
    if (renameat(p->temp_fd, fresh, parent, last) == 0)
        return MCPLUG_OK;
    int r = fail_os("write", p->path, err);
    if (was)
        renameat(p->temp_fd, replaced, parent, last);
    return r;
}

int cli_place_commit(struct cli_place *p, struct mcplug_error *err)
{
    const char *last;
    size_t n_made = 0;
    int parent = go_down(p->top_fd, p->below, &n_made, &last);

    int r = parent < 0 ? fail_os("make the way to", p->path, err)
                       : move(p, parent, last, err);
    close_fd(&parent);
    if (r == MCPLUG_OK)
        p->made_top = false;
    else
        remove_made(p, n_made);
    return r;
}

void cli_place_clear(struct cli_place *p)
{
    close_fd(&p->new_fd);
    close_fd(&p->temp_fd);
    if (p->temp)
        nftw(p->temp, remove_one, REMOVE_FDS, FTW_DEPTH | FTW_PHYS);
    if (p->made_top)
        rmdir(p->top);
    close_fd(&p->top_fd);
    mp_free(p->temp);
    mp_free(p->path);
    *p = (struct cli_place)CLI_PLACE_NONE;
}
