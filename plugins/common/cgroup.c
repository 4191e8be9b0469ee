/* plugins/common/cgroup.c - see cgroup.h */
#include "cgroup.h"

#include "fds.h"
#include "mark.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#define PREFIX "mcplug-"
#define NAME_ROOM (sizeof PREFIX + MARK_LEN)
#define DEPTH_MAX 32     /* of cgroups that a server made in its own */
#define MAKE_TRIES 3     /* another start may take a new one for one left over */
#define PAUSE_NS 1000000 /* between two looks */

static FILE *open_file(int dir, const char *path)
{
    int fd = fds_high(openat(dir, path, O_RDONLY | O_CLOEXEC));
    FILE *f = fd >= 0 ? fdopen(fd, "r") : NULL;
    if (f == NULL && fd >= 0)
        close(fd);
    return f;
}

static int open_dir(int dir, const char *path)
{
    return fds_high(openat(dir, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
}

/* ---- where we are --------------------------------------------------------- */

/* The path of our cgroup in the v2 hierarchy: the line "0::PATH". */
static bool read_own_path(FILE *f, char out[PATH_MAX])
{
    char line[PATH_MAX + 8];
    while (fgets(line, sizeof line, f) != NULL) {
        size_t len = strcspn(line, "\n");
        if (strncmp(line, "0::/", 4) != 0 || line[len] != '\n')
            continue;
        line[len] = '\0';
        memcpy(out, line + 3, len - 2);
        return strncmp(out, "/..", 3) != 0; /* outside of our cgroup namespace */
    }
    return false;
}

/* mountinfo writes blanks and backslashes in names as \ooo. */
static void unescape(char *text)
{
    char *to = text;
    for (; *text != '\0'; text++, to++) {
        *to = *text;
        if (text[0] == '\\' && strspn(text + 1, "01234567") >= 3) {
            *to = (char)((text[1] - '0') << 6 | (text[2] - '0') << 3 | (text[3] - '0'));
            text += 3;
        }
    }
    *to = '\0';
}

/* A line is ID PARENT MAJOR:MINOR ROOT POINT OPTIONS [TAG..] - TYPE SOURCE OPTIONS.
 * Joins the point and what of `own` is below the root. */
static bool join_mount(char *line, const char *own, char out[2 * PATH_MAX])
{
    char *field[5], *rest = line;
    const char *type = strstr(line, " - cgroup2 ");
    for (int i = 0; i < 5; i++)
        field[i] = strsep(&rest, " ");
    if (type == NULL || rest == NULL)
        return false;
    char *root = field[3], *point = field[4];
    unescape(root);
    unescape(point);
    size_t len = strcmp(root, "/") == 0 ? 0 : strlen(root);
    if (strncmp(own, root, len) != 0 || (own[len] != '/' && own[len] != '\0'))
        return false;
    return snprintf(out, 2 * PATH_MAX, "%s%s", point, own + len) < 2 * PATH_MAX;
}

/* What does not belong to our user is for others to arrange. */
static int open_ours(const char *path)
{
    struct statfs fs;
    struct stat st;
    int fd = open_dir(AT_FDCWD, path);
    if (fd >= 0 && fstatfs(fd, &fs) == 0 && fs.f_type == CGROUP2_SUPER_MAGIC &&
        fstat(fd, &st) == 0 && st.st_uid == geteuid())
        return fd;
    if (fd >= 0)
        close(fd);
    return -1;
}

/* There may be thousands of mounts; that of cgroups is one of the first. */
static int open_mounted(const char *own)
{
    char *line = NULL, path[2 * PATH_MAX];
    size_t room = 0;
    int fd = -1;
    FILE *f = open_file(AT_FDCWD, "/proc/self/mountinfo");
    while (f != NULL && fd < 0 && getline(&line, &room, f) > 0)
        if (join_mount(line, own, path))
            fd = open_ours(path);
    free(line);
    if (f != NULL)
        fclose(f);
    return fd;
}

int cgroup_open_own(bool *has_proc)
{
    char own[PATH_MAX];
    FILE *f = open_file(AT_FDCWD, "/proc/self/cgroup");
    *has_proc = f != NULL || access("/proc/self/stat", F_OK) == 0;
    bool is_known = f != NULL && read_own_path(f, own);
    if (f != NULL)
        fclose(f);
    return is_known ? open_mounted(own) : -1;
}

/* ---- one for a server ----------------------------------------------------- */

static void name_of(const char *mark, char out[NAME_ROOM])
{
    snprintf(out, NAME_ROOM, PREFIX "%s", mark);
}

int cgroup_make(int own, const char *mark)
{
    char name[NAME_ROOM];
    name_of(mark, name);
    for (int i = 0; i < MAKE_TRIES && mkdirat(own, name, 0755) == 0; i++) {
        int fd = open_dir(own, name);
        if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0)
            return fd;
        if (fd >= 0)
            close(fd);
        unlinkat(own, name, AT_REMOVEDIR);
    }
    return -1;
}

bool cgroup_kill(int cgroup)
{
    int fd = fds_high(openat(cgroup, "cgroup.kill", O_WRONLY | O_CLOEXEC));
    bool sent = fd >= 0 && write(fd, "1", 1) == 1;
    if (fd >= 0)
        close(fd);
    return sent;
}

/* For kernels before 5.14. */
static void kill_each(int cgroup)
{
    FILE *f = open_file(cgroup, "cgroup.procs");
    for (int pid; f != NULL && fscanf(f, "%d", &pid) == 1;)
        if (pid > 1 && pid != getpid()) /* 0: of another pid namespace */
            kill(pid, SIGKILL);
    if (f != NULL)
        fclose(f);
}

/* Empties it, of cgroups from the innermost. */
static void empty(int cgroup, unsigned depth)
{
    union {
        struct dirent64 entry;
        char bytes[2048];
    } list;
    if (!cgroup_kill(cgroup))
        kill_each(cgroup);
    lseek(cgroup, 0, SEEK_SET);
    for (ssize_t len; (len = getdents64(cgroup, list.bytes, sizeof list)) > 0;) {
        for (ssize_t at = 0; at < len;) {
            const struct dirent64 *entry = (const void *)(list.bytes + at);
            at += entry->d_reclen;
            if (entry->d_type != DT_DIR || strcmp(entry->d_name, ".") == 0 ||
                strcmp(entry->d_name, "..") == 0 || depth == DEPTH_MAX)
                continue;
            int inner = open_dir(cgroup, entry->d_name);
            if (inner < 0)
                continue;
            empty(inner, depth + 1);
            close(inner);
            unlinkat(cgroup, entry->d_name, AT_REMOVEDIR);
        }
    }
}

/* True when it is gone, also if it never was. */
static bool remove_now(int own, const char *name)
{
    return unlinkat(own, name, AT_REMOVEDIR) == 0 || errno == ENOENT;
}

static int64_t now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

bool cgroup_end(int own, const char *mark)
{
    const struct timespec pause = {.tv_nsec = PAUSE_NS};
    int64_t until = now_ms() + CGROUP_END_MS;
    char name[NAME_ROOM];
    name_of(mark, name);
    while (!remove_now(own, name)) {
        int fd = open_dir(own, name);
        if (fd >= 0) {
            empty(fd, 0);
            close(fd);
        }
        if (remove_now(own, name))
            return true;
        if (now_ms() >= until)
            return false;
        nanosleep(&pause, NULL);
    }
    return true;
}

/* True when it was unlocked, and is still there. */
static bool end_unlocked(int own, const char *name)
{
    bool is_left = false;
    int fd = open_dir(own, name);
    if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0) {
        empty(fd, 0);
        is_left = !remove_now(own, name);
    }
    if (fd >= 0)
        close(fd);
    return is_left;
}

/* Most of the time there are no others, which the number of links tells. */
bool cgroup_end_stale(int own, bool has_one)
{
    union {
        struct dirent64 entry;
        char bytes[2048];
    } list;
    unsigned seen = 0;
    bool is_any_left = false;
    struct stat st;
    if (fstat(own, &st) == 0 && st.st_nlink == (has_one ? 3 : 2))
        return false;
    lseek(own, 0, SEEK_SET);
    for (ssize_t len; (len = getdents64(own, list.bytes, sizeof list)) > 0;) {
        for (ssize_t at = 0; at < len;) {
            const struct dirent64 *entry = (const void *)(list.bytes + at);
            at += entry->d_reclen;
            if (strncmp(entry->d_name, PREFIX, sizeof PREFIX - 1) == 0 &&
                mark_is(entry->d_name + sizeof PREFIX - 1) && seen++ < CGROUP_STALE_MAX)
                is_any_left |= end_unlocked(own, entry->d_name);
        }
    }
    return is_any_left;
}
