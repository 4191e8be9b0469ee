/* plugins/common/mark.c - finding processes by their environment, see mark.h */
#include "mark.h"

#include "fds.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define CHUNK 8192              /* of an environment, read at once */
#define ENVIRONMENT_MAX 8388608 /* bytes of one; the kernel allows 6 MiB */
#define PAUSE_NS 1000000        /* between two rounds */

static const char digits[] = "0123456789abcdef";

bool mark_make(char out[MARK_LEN + 1])
{
    unsigned char random[MARK_LEN / 2];
    if (getrandom(random, sizeof random, 0) != (ssize_t)sizeof random)
        return false;
    for (size_t i = 0; i < sizeof random; i++) {
        out[2 * i] = digits[random[i] >> 4];
        out[2 * i + 1] = digits[random[i] & 15];
    }
    out[MARK_LEN] = '\0';
    return true;
}

bool mark_is(const char *text)
{
    return strspn(text, digits) == MARK_LEN;
}

/* True for marks with commas between them, and nothing else. */
static bool are_marks(const char *value)
{
    while (mark_is(value)) {
        value += MARK_LEN;
        if (*value == '\0')
            return true;
        if (*value++ != ',')
            return false;
    }
    return false;
}

void mark_variable(const char *inherited, const char *mark, char out[MARKS_ROOM])
{
    const size_t most = (MARK_NEST - 1) * (MARK_LEN + 1) - 1;
    if (inherited == NULL || !are_marks(inherited))
        inherited = "";
    size_t len = strlen(inherited);
    if (len > most) {
        inherited += len - most;
        len = most;
    }
    sprintf(out, MARK_VARIABLE "=%s%s%s", inherited, len > 0 ? "," : "", mark);
}

const char *mark_last(const char *value)
{
    if (value == NULL || !are_marks(value))
        return NULL;
    return value + strlen(value) - MARK_LEN;
}

/* ---- the sweep ------------------------------------------------------------ */

static int64_t now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* Of `dir`, that of a process, or of /proc with the pid in `path`. What belongs to
 * another user cannot be read, or not be ours to end. 1: it has the mark, 0: it does
 * not, -1: it is gone. */
static int has_mark(int dir, const char *path, const char *mark)
{
    char text[MARK_LEN + CHUNK];
    size_t kept = 0;
    struct stat st;
    int found = 0;
    ssize_t len = 0;

    int fd = fds_high(openat(dir, path, O_RDONLY | O_CLOEXEC));
    if (fd < 0)
        return errno == ENOENT || errno == ESRCH ? -1 : 0;
    for (size_t total = 0; found == 0 && total < ENVIRONMENT_MAX; total += (size_t)len) {
        len = read(fd, text + kept, CHUNK);
        if (len <= 0)
            break;
        found = memmem(text, kept + (size_t)len, mark, MARK_LEN) != NULL;
        size_t have = kept + (size_t)len;
        kept = have < MARK_LEN - 1 ? have : MARK_LEN - 1;
        memmove(text, text + have - kept, kept);
    }
    if (found == 1 && (fstat(fd, &st) != 0 || st.st_uid != geteuid()))
        found = 0;
    close(fd);
    return len < 0 && errno == ESRCH ? -1 : found;
}

/* The directory of a process stands for that process and no later one with its pid, so
 * the mark is looked for once more through it, and the signal goes to it. A group is
 * ended as well, because no member can fork its way past that; it is all the server's,
 * since groups do not reach beyond a session and the server began its own. */
static bool kill_marked(int proc, const char *pid_text, const char *mark)
{
    pid_t pid = atoi(pid_text), group = getpgid(pid);
    bool sent = false;
    int dir = fds_high(openat(proc, pid_text, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (dir >= 0 && has_mark(dir, "environ", mark) == 1) {
        if (group > 1 && group != getpgrp() && getpgid(pid) == group)
            kill(-group, SIGKILL);
        sent = syscall(SYS_pidfd_send_signal, dir, SIGKILL, NULL, 0U) == 0 ||
               (errno == ENOSYS && kill(pid, SIGKILL) == 0);
    }
    if (dir >= 0)
        close(dir);
    return sent;
}

struct sighting {
    bool saw_self;
    unsigned found, vanished, killed;
};

static struct sighting look(const char *mark)
{
    union {
        struct dirent64 entry;
        char bytes[8192];
    } list;
    struct sighting s = {false, 0, 0, 0};
    const pid_t self = getpid();
    int proc = fds_high(open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC));

    for (ssize_t len;
         proc >= 0 && (len = getdents64(proc, list.bytes, sizeof list)) > 0;) {
        for (ssize_t at = 0; at < len;) {
            const struct dirent64 *entry = (const void *)(list.bytes + at);
            char path[sizeof entry->d_name + sizeof "/environ"];
            at += entry->d_reclen;
            if (entry->d_name[0] < '1' || entry->d_name[0] > '9')
                continue;
            if (atoi(entry->d_name) == self) {
                s.saw_self = true;
                continue;
            }
            snprintf(path, sizeof path, "%s/environ", entry->d_name);
            int has = has_mark(proc, path, mark);
            s.vanished += has < 0;
            s.found += has > 0;
            s.killed += has > 0 && kill_marked(proc, entry->d_name, mark);
        }
    }
    if (proc >= 0)
        close(proc);
    return s;
}

struct mark_sweep mark_sweep(const char *mark, unsigned rounds)
{
    const struct timespec pause = {.tv_nsec = PAUSE_NS};
    struct mark_sweep sweep = {true, 0, 0};
    int64_t until = now_ms() + MARK_SWEEP_MS;
    unsigned empty = 0;

    for (;;) {
        struct sighting s = look(mark);
        sweep.has_proc = s.saw_self;
        sweep.killed += s.killed;
        sweep.left = s.found;
        empty = s.found == 0 ? empty + 1 : 0;
        if (!s.saw_self || empty >= rounds || (empty > 0 && s.vanished == 0) ||
            now_ms() >= until)
            return sweep;
        nanosleep(&pause, NULL);
    }
}
