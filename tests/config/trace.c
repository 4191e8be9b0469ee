#include "trace.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#define TASKS_MAX 256
#define STOP_OF_CALL (SIGTRAP | 0x80)

/* What a call says about the file it is about. */
enum about { BY_FD, BY_PATH, BY_FD_AND_PATH };

struct call {
    long number;
    const char *name;
    enum about about;
};

#define CALL(name, about)                                                                \
    {                                                                                    \
        SYS_##name, #name, about                                                         \
    }

static const struct call calls[] = {
    CALL(read, BY_FD),
    CALL(pread64, BY_FD),
    CALL(write, BY_FD),
    CALL(pwrite64, BY_FD),
    CALL(writev, BY_FD),
    CALL(close, BY_FD),
    CALL(fsync, BY_FD),
    CALL(fdatasync, BY_FD),
    CALL(ftruncate, BY_FD),
    CALL(flock, BY_FD),
    CALL(fcntl, BY_FD),
    CALL(fstat, BY_FD),
    CALL(fchmod, BY_FD),
    CALL(fchown, BY_FD),
    CALL(getdents64, BY_FD),
    CALL(fgetxattr, BY_FD),
    CALL(openat, BY_FD_AND_PATH),
    CALL(mkdirat, BY_FD_AND_PATH),
    CALL(unlinkat, BY_FD_AND_PATH),
    CALL(renameat2, BY_FD_AND_PATH),
    CALL(linkat, BY_FD_AND_PATH),
    CALL(readlinkat, BY_FD_AND_PATH),
    CALL(fchmodat, BY_FD_AND_PATH),
    CALL(fchownat, BY_FD_AND_PATH),
    CALL(faccessat, BY_FD_AND_PATH),
#ifdef SYS_renameat
    CALL(renameat, BY_FD_AND_PATH),
#endif
#ifdef SYS_newfstatat
    CALL(newfstatat, BY_FD_AND_PATH),
#endif
#ifdef SYS_statx
    CALL(statx, BY_FD_AND_PATH),
#endif
#ifdef SYS_faccessat2
    CALL(faccessat2, BY_FD_AND_PATH),
#endif
#ifdef SYS_openat2
    CALL(openat2, BY_FD_AND_PATH),
#endif
#ifdef SYS_open
    CALL(open, BY_PATH),
    CALL(creat, BY_PATH),
    CALL(stat, BY_PATH),
    CALL(lstat, BY_PATH),
    CALL(access, BY_PATH),
    CALL(mkdir, BY_PATH),
    CALL(rmdir, BY_PATH),
    CALL(rename, BY_PATH),
    CALL(unlink, BY_PATH),
    CALL(readlink, BY_PATH),
    CALL(chmod, BY_PATH),
#endif
};

struct tasks {
    pid_t first;
    pid_t list[TASKS_MAX]; /* all that were ever seen, for the kill */
    size_t n;
    pid_t failing[TASKS_MAX]; /* whose calls are on the way to fail */
    size_t n_failing;
};

static volatile pid_t running;
static volatile sig_atomic_t too_late;

/* ---- calls ---- */

static const struct call *find_call(uint64_t number)
{
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++)
        if ((uint64_t)calls[i].number == number)
            return &calls[i];
    return NULL;
}

const char *trace_name(long number)
{
    const struct call *call = find_call((uint64_t)number);
    return call ? call->name : "?";
}

bool trace_is_unlink(long number)
{
#ifdef SYS_unlink
    if (number == SYS_unlink)
        return true;
#endif
    return number == SYS_unlinkat;
}

static bool is_rename(long number)
{
#ifdef SYS_rename
    if (number == SYS_rename)
        return true;
#endif
#ifdef SYS_renameat
    if (number == SYS_renameat)
        return true;
#endif
    return number == SYS_renameat2;
}

bool trace_must_matter(long number)
{
    static const long writing[] = {SYS_write,     SYS_pwrite64, SYS_writev,   SYS_fsync,
                                   SYS_fdatasync, SYS_fchmod,   SYS_ftruncate};

    for (size_t i = 0; i < sizeof writing / sizeof writing[0]; i++)
        if (writing[i] == number)
            return true;
    return is_rename(number);
}

static void read_string(pid_t pid, uint64_t address, char *out, size_t size)
{
    size_t n = 0;

    /* Not beyond a page at once: what follows may not be there. */
    while (n < size - 1) {
        size_t page = 4096 - (size_t)((address + n) % 4096);
        size_t want = page < size - 1 - n ? page : size - 1 - n;
        struct iovec here = {out + n, want};
        struct iovec there = {(void *)(uintptr_t)(address + n), want};
        ssize_t got = process_vm_readv(pid, &here, 1, &there, 1, 0);
        if (got <= 0)
            break;
        if (memchr(out + n, '\0', (size_t)got))
            return;
        n += (size_t)got;
    }
    out[n] = '\0';
}

static void read_link(char *out, size_t size, pid_t pid, int fd)
{
    char name[64];

    if (fd == AT_FDCWD)
        snprintf(name, sizeof name, "/proc/%d/cwd", (int)pid);
    else
        snprintf(name, sizeof name, "/proc/%d/fd/%d", (int)pid, fd);
    ssize_t n = readlink(name, out, size - 1);
    out[n < 0 ? 0 : n] = '\0';
}

static bool is_below(const char *path, const char *top)
{
    size_t len = strlen(top);
    return strncmp(path, top, len) == 0 && (path[len] == '\0' || path[len] == '/');
}

static bool touches(const struct trace *t, pid_t pid, const struct call *call,
                    const __uint64_t args[6])
{
    char base[PATH_MAX] = "", text[PATH_MAX] = "", path[2 * PATH_MAX];

    if (call->about == BY_FD)
        read_link(base, sizeof base, pid, (int)args[0]);
    else
        read_string(pid, args[call->about == BY_PATH ? 0 : 1], text, sizeof text);
    if (call->about != BY_FD && text[0] != '/')
        read_link(base, sizeof base, pid,
                  call->about == BY_PATH ? AT_FDCWD : (int)args[0]);
    snprintf(path, sizeof path, "%s%s%s", base, *base && *text ? "/" : "", text);
    return is_below(path, t->watch[0]) || (t->watch[1] && is_below(path, t->watch[1]));
}

/* ---- interfering ---- */

#ifdef __x86_64__
bool trace_can_fail(void)
{
    return true;
}

static void skip_call(pid_t pid)
{
    ptrace(PTRACE_POKEUSER, pid, offsetof(struct user_regs_struct, orig_rax), -1L);
}

static void set_result(pid_t pid, int os_error)
{
    ptrace(PTRACE_POKEUSER, pid, offsetof(struct user_regs_struct, rax), -(long)os_error);
}
#else
bool trace_can_fail(void)
{
    return false;
}

static void skip_call(pid_t pid)
{
    (void)pid;
}

static void set_result(pid_t pid, int os_error)
{
    (void)pid, (void)os_error;
}
#endif

static void note_task(struct tasks *tasks, pid_t pid)
{
    for (size_t i = 0; i < tasks->n; i++)
        if (tasks->list[i] == pid)
            return;
    if (tasks->n < TASKS_MAX)
        tasks->list[tasks->n++] = pid;
}

static void kill_all(const struct tasks *tasks)
{
    for (size_t i = 0; i < tasks->n; i++)
        kill(tasks->list[i], SIGKILL);
}

/* What a crash of the machine would meet cannot be tried, but the order can be seen. */
static void note_order(struct trace *t, long number)
{
    if (number == SYS_fsync || number == SYS_fdatasync) {
        t->wrote = t->renamed = false;
    } else if (is_rename(number)) {
        t->hasty = t->hasty || t->wrote;
        t->renamed = true;
    } else if (number == SYS_write || number == SYS_pwrite64 || number == SYS_writev) {
        t->wrote = true;
    }
}

static void at_entry(struct trace *t, struct tasks *tasks, pid_t pid, uint64_t number,
                     const __uint64_t args[6])
{
    const struct call *call = find_call(number);

    if (!call || !touches(t, pid, call, args))
        return;
    t->calls++;
    note_order(t, call->number);
    if (t->fail_at == 0 || tasks->n_failing == TASKS_MAX)
        return;
    if (t->calls == t->fail_at || (t->forever && t->acted && call->number == t->number)) {
        t->acted = true;
        t->number = call->number;
        tasks->failing[tasks->n_failing++] = pid;
        skip_call(pid);
    }
}

static void at_exit(const struct trace *t, struct tasks *tasks, pid_t pid)
{
    for (size_t i = 0; i < tasks->n_failing; i++)
        if (tasks->failing[i] == pid) {
            tasks->failing[i] = tasks->failing[--tasks->n_failing];
            set_result(pid, t->os_error);
            return;
        }
}

static void at_stop(struct trace *t, struct tasks *tasks, pid_t pid)
{
    struct __ptrace_syscall_info info;

    if (ptrace(PTRACE_GET_SYSCALL_INFO, pid, sizeof info, &info) <= 0)
        return;
    if (info.op == PTRACE_SYSCALL_INFO_ENTRY)
        at_entry(t, tasks, pid, info.entry.nr, info.entry.args);
    else if (info.op == PTRACE_SYSCALL_INFO_EXIT)
        at_exit(t, tasks, pid);
    if (t->calls)
        t->stops++;
    if (t->kill_at && t->stops == t->kill_at && !t->acted) {
        t->acted = true;
        kill_all(tasks);
    }
}

/* ---- running ---- */

static void on_alarm(int number)
{
    (void)number;
    too_late = 1;
    kill(running, SIGKILL);
}

static void watch_time(pid_t pid)
{
    struct sigaction act = {.sa_handler = on_alarm, .sa_flags = SA_RESTART};

    running = pid;
    too_late = 0;
    sigaction(SIGALRM, &act, NULL);
    alarm(TRACE_SECONDS);
}

/* A sanitizer's search for leaks traces, too, and cannot where somebody else does. */
static void no_leak_check(void)
{
    const char *before = getenv("ASAN_OPTIONS");
    char options[1024];

    snprintf(options, sizeof options, "%s%sdetect_leaks=0", before ? before : "",
             before ? ":" : "");
    setenv("ASAN_OPTIONS", options, 1);
}

static pid_t start(char **argv, int out, bool traced)
{
    pid_t pid = fork();
    if (pid != 0)
        return pid;
    int null = open("/dev/null", O_RDONLY);
    if (null < 0 || dup2(null, 0) < 0 || dup2(out, 1) < 0 || dup2(out, 2) < 0)
        _exit(126);
    if (traced && ptrace(PTRACE_TRACEME, 0, NULL, NULL) != 0)
        _exit(125);
    if (traced) {
        no_leak_check();
        raise(SIGSTOP);
    }
    execvp(argv[0], argv);
    fprintf(stderr, "%s: %s\n", argv[0], strerror(errno));
    _exit(127);
}

/* Lets all of them run until each has ended. */
static void run_on(struct trace *t, struct tasks *tasks)
{
    int status;
    pid_t pid;

    while ((pid = waitpid(-1, &status, __WALL)) > 0) {
        int sig = 0;
        if (WIFEXITED(status) || WIFSIGNALED(status)) {
            if (pid == tasks->first)
                t->status = status;
            continue;
        }
        note_task(tasks, pid);
        if (WSTOPSIG(status) == STOP_OF_CALL)
            at_stop(t, tasks, pid);
        else if (status >> 16 == 0 && WSTOPSIG(status) != SIGSTOP)
            sig = WSTOPSIG(status); /* its own; SIGSTOP is how new tasks begin */
        if ((t->kill_at && t->acted) || too_late)
            kill(pid, SIGKILL);
        ptrace(PTRACE_SYSCALL, pid, NULL, (void *)(intptr_t)sig);
    }
}

bool trace_run(struct trace *t, char **argv, int out)
{
    struct tasks tasks = {.n = 0};
    int status;
    pid_t pid = start(argv, out, true);

    tasks.first = pid;
    t->stops = t->calls = 0;
    t->acted = t->wrote = t->renamed = t->hasty = false;
    note_task(&tasks, pid);
    if (pid < 0 || waitpid(pid, &status, __WALL) != pid || !WIFSTOPPED(status))
        return false;
    if (ptrace(PTRACE_SETOPTIONS, pid, NULL,
               PTRACE_O_EXITKILL | PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACECLONE |
                   PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_TRACEEXEC) != 0) {
        kill(pid, SIGKILL);
        waitpid(pid, &status, __WALL);
        return false;
    }
    watch_time(pid);
    ptrace(PTRACE_SYSCALL, pid, NULL, NULL);
    run_on(t, &tasks);
    alarm(0);
    t->late = too_late;
    return true;
}

void trace_none(struct trace *t, char **argv, int out)
{
    pid_t pid = start(argv, out, false);

    t->status = 127 << 8;
    if (pid < 0)
        return;
    watch_time(pid);
    waitpid(pid, &t->status, 0);
    alarm(0);
    t->late = too_late;
}
