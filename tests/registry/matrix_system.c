/* What the system says, the clock, and the peer's process. */
#include "matrix_kit.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#if defined(__SANITIZE_ADDRESS__)
#define SANITIZED 1
#else
#define SANITIZED 0
#endif

unsigned bound_ms(void)
{
    if (getenv("MCPLUG_TEST_STRICT"))
        return 50;
    return SANITIZED || getenv("MCPLUG_TEST_VALGRIND") ? 10000 : 500;
}

/* Takes the place of the C library's, for libuv and for the libraries of modules: a
 * machine that stood still is told apart only by what this says. */
static atomic_long jumped_s;

__attribute__((visibility("default"))) int clock_gettime(clockid_t id, struct timespec *t)
{
    long r = syscall(SYS_clock_gettime, id, t);
    if (r == 0 && id != CLOCK_REALTIME && id != CLOCK_PROCESS_CPUTIME_ID &&
        id != CLOCK_THREAD_CPUTIME_ID)
        t->tv_sec += jumped_s;
    return (int)r;
}

void clock_jump(unsigned seconds)
{
    jumped_s += seconds;
}

/* ---- what the system says ---- */

unsigned kin_alive(const struct rig *r)
{
    return alive(r->kin);
}

/* The state of a thread, as the system's letter; 0: there is none. */
static char state_of(int pid, int thread)
{
    char path[64], line[512];

    snprintf(path, sizeof path, "/proc/%d/task/%d/stat", pid, thread);
    FILE *f = fopen(path, "r");
    const char *at = f && fgets(line, sizeof line, f) ? strrchr(line, ')') : NULL;
    if (f)
        fclose(f);
    return at ? at[2] : '\0';
}

static bool every_thread(int pid, bool (*fits)(int pid, int thread))
{
    char path[64];
    bool all = true;
    struct dirent *d;

    snprintf(path, sizeof path, "/proc/%d/task", pid);
    DIR *dir = opendir(path);
    while (dir && all && (d = readdir(dir)))
        all = d->d_name[0] == '.' || fits(pid, atoi(d->d_name));
    if (dir)
        closedir(dir);
    return all;
}

static bool children_asleep(int pid, int thread)
{
    char path[64];
    bool still = true;
    int child;

    snprintf(path, sizeof path, "/proc/%d/task/%d/children", pid, thread);
    FILE *f = fopen(path, "r");
    HOLDS(f || pid != getpid() || thread != pid, "there is no %s", path);
    while (f && still && fscanf(f, "%d", &child) == 1)
        still = asleep(child);
    if (f)
        fclose(f);
    return still;
}

/* Waiting, stopped or dead: neither running nor about to, nor gone just now. */
static bool thread_asleep(int pid, int thread)
{
    char state = thread == getpid() ? 'S' : state_of(pid, thread);
    return state && state != 'R' && state != 'D' && children_asleep(pid, thread);
}

static bool thread_stopped(int pid, int thread)
{
    return state_of(pid, thread) == 'T';
}

bool asleep(pid_t pid)
{
    return every_thread(pid, thread_asleep);
}

bool stopped(pid_t pid)
{
    return every_thread(pid, thread_stopped);
}

void check_no_children(void)
{
    siginfo_t info; /* nobody is waited for here */
    ck_assert_int_eq(waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT), -1);
    ck_assert_int_eq(errno, ECHILD);
}

/* ---- the peer ---- */

void peer_path(char *out, size_t size)
{
    program_beside("peer", out, size);
}

void peer_start(struct rig *r)
{
    char path[4096], port[16], mute[128], line[32];

    peer_path(path, sizeof path);
    snprintf(mute, sizeof mute, "%s/mute", r->dir);
    snprintf(port, sizeof port, "%d", r->port);
    program_apart((const char *[]){path, r->notes, "--port", port, "--flaky", mute, NULL},
                  NULL, line, sizeof line);
    r->port = atoi(line);
    r->peer = 0;
    FILE *f = fopen(r->notes, "r");
    char note[64];
    ck_assert_ptr_nonnull(f);
    while (fgets(note, sizeof note, f))
        sscanf(note, "start %d", &r->peer);
    fclose(f);
}

/* A zombie whose parent is not ours is somebody else's to collect. */
static bool is_there(pid_t pid)
{
    char path[40], line[512] = "";

    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    FILE *f = fopen(path, "r");
    if (!f)
        return false;
    bool read = fgets(line, sizeof line, f) != NULL;
    fclose(f);
    const char *at = strrchr(line, ')');
    return read && at && at[2] != 'Z' && at[2] != 'X';
}

void wait_gone(pid_t pid)
{
    double since = now_ms();

    while (is_there(pid)) {
        ck_assert_msg(now_ms() - since < 5000, "process %d is still there", (int)pid);
        usleep(200);
    }
}

void peer_stop(struct rig *r)
{
    kill(r->peer, SIGKILL);
    wait_gone(r->peer);
    r->peer = 0;
}

void rig_kill(struct rig *r)
{
    if (r->wire != STDIO) {
        peer_stop(r);
        peer_start(r);
        return;
    }
    struct mcplug_status s = rig_status(r);
    ck_assert_int_gt(s.pid, 0);
    ck_assert_int_eq(kill((pid_t)s.pid, SIGKILL), 0);
}

unsigned rig_noted(const struct rig *r, const char *start)
{
    char line[256];
    unsigned n = 0;
    FILE *f = fopen(r->notes, "r");

    while (f && fgets(line, sizeof line, f))
        n += strncmp(line, start, strlen(start)) == 0;
    if (f)
        fclose(f);
    return n;
}
