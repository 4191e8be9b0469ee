/* tree.c - what a command costs with all the processes that it starts.
 *
 *   tree COMMAND [ARG]...
 *
 * Prints one JSON object on standard error when the command has ended:
 *
 *   status      its exit status
 *   ms          until it ended
 *   cpu_ms      of the processor, of all of them
 *   peak_kb     the most memory that all of them had at one time, looked at every 20 ms;
 *               what several share is counted once (Pss)
 *   processes   the most of them that there were at one time
 *
 * Processes that outlive the command are killed, and counted.
 */
#include "client.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { EVERY_MS = 20, PROCESSES_MAX = 65536 };

struct process {
    pid_t pid, parent;
    bool is_ours;
};
static struct process all[PROCESSES_MAX];

static _Noreturn void die(const char *what)
{
    fprintf(stderr, "tree: %s: %s\n", what, strerror(errno));
    exit(2);
}

/* Every process, and whose child it is. */
static size_t list(void)
{
    DIR *dir = opendir("/proc");
    size_t n = 0;

    for (struct dirent *e; dir && n < PROCESSES_MAX && (e = readdir(dir));) {
        char path[300], line[512] = "";
        FILE *f;
        if (!isdigit((unsigned char)e->d_name[0]))
            continue;
        snprintf(path, sizeof path, "/proc/%s/stat", e->d_name);
        if (!(f = fopen(path, "r")))
            continue;
        const char *end = fgets(line, sizeof line, f) ? strrchr(line, ')') : NULL;
        fclose(f);
        if (end && strlen(end) > 4)
            all[n++] = (struct process){.pid = (pid_t)strtol(e->d_name, NULL, 10),
                                        .parent = (pid_t)strtol(end + 4, NULL, 10)};
    }
    if (dir)
        closedir(dir);
    return n;
}

static long pss_kb(pid_t pid)
{
    char path[64], line[256];
    long kb = 0;

    snprintf(path, sizeof path, "/proc/%d/smaps_rollup", (int)pid);
    FILE *f = fopen(path, "r");
    while (f && kb == 0 && fgets(line, sizeof line, f))
        if (!strncmp(line, "Pss:", 4))
            kb = strtol(line + 4, NULL, 10);
    if (f)
        fclose(f);
    return kb;
}

/* Those that descend from us; who lost their parent is our child. */
static size_t mark(size_t n)
{
    size_t ours = 0;

    for (bool more = true; more;) {
        more = false;
        for (size_t i = 0; i < n; i++) {
            bool is = all[i].parent == getpid();
            for (size_t k = 0; k < n && !is && !all[i].is_ours; k++)
                is = all[k].is_ours && all[k].pid == all[i].parent;
            if (!is || all[i].is_ours)
                continue;
            all[i].is_ours = more = true;
            ours++;
        }
    }
    return ours;
}

static void look(long *peak_kb, size_t *most)
{
    size_t n = list(), ours = mark(n);
    long kb = 0;

    for (size_t i = 0; i < n; i++)
        kb += all[i].is_ours ? pss_kb(all[i].pid) : 0;
    *peak_kb = kb > *peak_kb ? kb : *peak_kb;
    *most = ours > *most ? ours : *most;
}

/* Until none is left: children of those that are killed become ours. */
static void kill_rest(void)
{
    while (waitpid(-1, NULL, WNOHANG) >= 0) {
        size_t n = list();
        mark(n);
        for (size_t i = 0; i < n; i++)
            if (all[i].is_ours)
                kill(all[i].pid, SIGKILL);
        poll(NULL, 0, 1);
    }
}

int main(int argc, char **argv)
{
    struct rusage usage;
    long peak_kb = 0;
    size_t most = 0;
    int status = 0;

    if (argc < 2) {
        fputs("usage: tree COMMAND [ARG]...\n", stderr);
        return 2;
    }
    if (prctl(PR_SET_CHILD_SUBREAPER, 1) < 0)
        die("prctl");
    double begun = now_us();
    pid_t pid = fork();
    if (pid == 0) {
        execvp(argv[1], argv + 1);
        _exit(127);
    }
    int fd = pid < 0 ? -1 : (int)syscall(SYS_pidfd_open, pid, 0);
    if (fd < 0)
        die("the command");
    struct pollfd p = {.fd = fd, .events = POLLIN};
    while (poll(&p, 1, EVERY_MS) == 0)
        look(&peak_kb, &most);
    double ms = (now_us() - begun) / 1000;
    if (waitpid(pid, &status, 0) != pid)
        die("waitpid");
    kill_rest();
    getrusage(RUSAGE_CHILDREN, &usage);
    double cpu_ms = (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1e3 +
                    (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e3;
    fprintf(stderr,
            "{\"status\":%d,\"ms\":%.0f,\"cpu_ms\":%.0f,\"peak_kb\":%ld,"
            "\"processes\":%zu}\n",
            WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), ms, cpu_ms,
            peak_kb, most);
    return 0;
}
