/* No process of a server's tree outlives its host, SIGKILL included.
 *
 *   survivors PATH_OF_MCPLUG_REAPER
 *
 * Twenty times: a host starts the reaper with a server of four processes, one of
 * them in a session of its own and deaf to SIGTERM; the host is SIGKILLed; 250 ms
 * later, as tick.h counts them, neither the four nor the reaper may exist.
 *
 * The server is this same program, started as `survivors --server`. Each of the
 * processes writes its pid to stdout once it is in place, and then just waits.
 */
#include "../unit/now.h"
#include "tick.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define RUNS 20
#define PIDS 5 /* the reaper and the four */
#define START_LIMIT_MS 10000
#define END_LIMIT_MS 200 /* as ticks count, see tick.h: 250 where nothing else runs */

/* ---- the server ----------------------------------------------------------- */

static void announce(pid_t pid, int fd)
{
    if (write(fd, &pid, sizeof pid) != (ssize_t)sizeof pid)
        _exit(1);
}

static void announce_and_wait(void)
{
    announce(getpid(), STDOUT_FILENO);
    for (;;)
        pause();
}

/* root -> child -> escaped grandchild, root -> other child */
static int be_server(void)
{
    if (fork() == 0) {
        if (fork() == 0) {
            setsid();
            signal(SIGTERM, SIG_IGN);
        }
        announce_and_wait();
    }
    if (fork() == 0)
        announce_and_wait();
    announce_and_wait();
    return 0;
}

/* ---- the host ------------------------------------------------------------- */

static void become_reaper(const char *reaper, int pids, int lifeline)
{
    char program[4096] = "";
    if (readlink("/proc/self/exe", program, sizeof program - 1) < 0)
        _exit(1);
    /* Out of the way of 0..3 first, so that no dup2 hits one still needed. */
    pids = fcntl(pids, F_DUPFD_CLOEXEC, 10);
    lifeline = fcntl(lifeline, F_DUPFD_CLOEXEC, 10);
    if (dup2(pids, STDOUT_FILENO) >= 0 && dup2(lifeline, 3) >= 0)
        execl(reaper, reaper, "--", program, "--server", (char *)NULL);
    perror(reaper);
    _exit(1);
}

static void be_host(const char *reaper, int pids)
{
    int lifeline[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, lifeline) != 0)
        _exit(1);
    pid_t pid = fork();
    if (pid == 0)
        become_reaper(reaper, pids, lifeline[1]);
    close(lifeline[1]);
    announce(pid, pids);
    close(pids); /* it ends with the tree, so a failed start is seen at once */
    for (;;)
        pause();
}

/* ---- the experiment ------------------------------------------------------- */

static bool read_pids(int fd, pid_t pids[PIDS])
{
    int64_t limit = now_ms() + START_LIMIT_MS;
    for (int i = 0; i < PIDS; i++) {
        struct pollfd on = {.fd = fd, .events = POLLIN};
        int64_t left = limit - now_ms();
        if (left < 0 || poll(&on, 1, (int)left) != 1 ||
            read(fd, &pids[i], sizeof pids[i]) != (ssize_t)sizeof pids[i])
            return false;
    }
    return true;
}

/* This process is a subreaper too: orphans come here, and what has ended is
 * collected, so that what still has a pid is alive. */
static int count_survivors(const pid_t pids[PIDS])
{
    int alive = 0;
    while (waitpid(-1, NULL, WNOHANG) > 0)
        ;
    for (int i = 0; i < PIDS; i++)
        alive += pids[i] > 0 && kill(pids[i], 0) == 0;
    return alive;
}

/* The milliseconds until all were gone, or -1 if some were not in time. */
static int await_end(const pid_t pids[PIDS], int *survivors)
{
    for (double spent = 0; spent < END_LIMIT_MS; spent += tick()) {
        *survivors = count_survivors(pids);
        if (*survivors == 0)
            return (int)spent;
    }
    return -1;
}

static void clean_up(const pid_t pids[PIDS])
{
    for (int i = 0; i < PIDS; i++)
        if (pids[i] > 0)
            kill(pids[i], SIGKILL);
    while (waitpid(-1, NULL, 0) > 0)
        ;
}

/* With one, the reaper makes a cgroup, and searches at the end, as it does for a host. */
static void set_mark(void)
{
    char mark[33];
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    snprintf(mark, sizeof mark, "%016llx%08lx%08x", (unsigned long long)t.tv_sec,
             (unsigned long)t.tv_nsec, (unsigned)getpid());
    setenv("MCPLUG_RUN", mark, 1);
}

/* The milliseconds a run took to leave nothing, or -1. */
static int run(int number, const char *reaper)
{
    pid_t pids[PIDS] = {0};
    int channel[2], survivors = 0, spent = -1;
    if (pipe2(channel, O_CLOEXEC) != 0)
        return -1;
    pid_t host = fork();
    if (host == 0)
        be_host(reaper, channel[1]);
    close(channel[1]);

    bool ready = read_pids(channel[0], pids);
    if (!ready)
        printf("run %d: the server did not start\n", number);
    kill(host, SIGKILL);
    if (ready) {
        spent = await_end(pids, &survivors);
        if (spent < 0)
            printf("run %d: %d of %d processes alive after %d ms\n", number, survivors,
                   PIDS, END_LIMIT_MS);
    }
    if (spent < 0)
        clean_up(pids);
    close(channel[0]);
    return spent;
}

int main(int argc, char **argv)
{
    int good = 0, slowest = 0;
    if (argc == 2 && strcmp(argv[1], "--server") == 0)
        return be_server();
    if (argc != 2) {
        fputs("usage: survivors PATH_OF_MCPLUG_REAPER\n", stderr);
        return 2;
    }
    set_mark();
    tick_prepare();
    setvbuf(stdout, NULL, _IONBF, 0); /* or forked hosts would repeat our lines */
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    for (int i = 1; i <= RUNS; i++) {
        int spent = run(i, argv[1]);
        good += spent >= 0;
        slowest = spent > slowest ? spent : slowest;
    }
    printf("%d of %d runs left no survivor\n", good, RUNS);
    if (good == RUNS)
        printf("slowest end: %d ms\n", slowest);
    return good == RUNS ? 0 : 1;
}
