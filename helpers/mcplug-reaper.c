/* mcplug-reaper - stands between a host and one stdio server, so that no
 * process of that server is left behind, however the host ends.
 *
 *   mcplug-reaper [-C DIR] [-A N WORD...] -- COMMAND [ARGS...]
 *
 * -C is the directory that the server starts in; -A a clean-up command of N words.
 *
 * It starts with the server's stdin, stdout and stderr as 0, 1, 2 and with one
 * end of a socket pair, the lifeline, as 3. Over the lifeline go
 *
 *   to the host    "S <pid> <how>\n"      the server runs; its processes are found in a
 *                                         "cgroup", in the "tree" of /proc, or "blind",
 *                                         without it
 *                  "E <errno> <stage>\n"  it could not be started: fork, chdir, exec
 *                  "X <status>\n"         it ended: exit code, or minus the signal
 *                  "G\n"                  nothing is left of it
 *                  "A <errno> <stage>\n"  the clean-up command could not be started
 *   from the host  "T"                    SIGTERM for the whole tree
 *                  "K"                    SIGKILL for the whole tree
 *
 * and its end (the host closed it, or died, even by SIGKILL) means: end the
 * tree. So do the host's death while a forked copy of it still holds the
 * lifeline, the end of the server's main process, and SIGTERM, SIGINT or SIGHUP
 * to the reaper itself.
 *
 * The tree is every descendant. As a subreaper this process becomes the parent
 * of every orphan below it, so no double fork and no setsid leaves the tree, and
 * "waitpid has no child for me" means that nothing is left. All of this has to
 * live in a program of its own: a library may not make its host a subreaper.
 *
 * Where it can have one, the server has a cgroup of its own (plugins/common/cgroup.h),
 * which no process leaves by forking, and by which all of them are ended at once.
 *
 * A server can stop or kill this process. Stopped, it is woken by the host, with each
 * order, and by the kernel, when the host dies. Killed, it leaves the lifeline without a
 * "G", and the host ends what is in that cgroup or has the server's mark in its
 * environment (plugins/common/mark.h). The mark is looked for here too when the tree had
 * to be killed or had orphans: processes that other programs started for it are not in
 * the tree.
 *
 * The clean-up command runs once, when the tree is gone or could not be started,
 * with the server's environment, in the directory that the reaper was started in.
 * A forked copy of the reaper starts it, gives it and all that it starts 10 s, and
 * ends what is left then. The reaper itself exits at once, and the host, which waits
 * for that, need not wait for the clean-up.
 */
#include "../plugins/common/cgroup.h"
#include "../plugins/common/mark.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define LIFELINE 3
#define TERM_PATIENCE_MS 100 /* between SIGTERM and SIGKILL */
#define KILL_STEP_MS 2       /* between two rounds of SIGKILL .. */
#define KILL_SLOW_MS 100     /* .. and once they have not helped for .. */
#define KILL_EAGER_MS 1000   /* .. this long (processes stuck in the kernel) */
#define CLEAN_UP_MS 10000    /* for the clean-up command, with its tree */
#define BLIND_MS 30000       /* for all of that where there is no /proc */
#define BLIND_NEAR 256       /* rounds of likely pids, before one of all */
#define MARK_ROUNDS 1        /* what could run away from us is in the tree, and gone */
#define PID_MAX 4194304      /* of any kernel .. */
#define PID_MAX_LEAST 32768  /* .. and as it is set on most */
#define PROCESSES_MAX 65536  /* looked at in one round; memory is used as needed */

struct process {
    pid_t pid, parent, group;
};

enum phase { WATCHING, TERMINATING, KILLING };

struct reaper {
    enum phase phase;
    int64_t phase_began;
    pid_t server;      /* 0 once it has been waited for */
    pid_t group;       /* of the server; outlives it */
    int signals;       /* signalfd */
    int host;          /* pidfd of our parent, or -1 */
    bool lifeline_cut; /* or the host died, or we were told to end */
    char **clean_up;   /* the command for afterwards; NULL: none */
    int dir;           /* that it runs in */
    bool cleaning;     /* we are the copy that watches over it */
    const char *mark;  /* of this start; NULL: none */
    bool has_proc;     /* /proc can be read */
    int own_cgroup;    /* where `cgroup` is; -1: none */
    int cgroup;        /* of the server, and locked; -1: none */
    unsigned blind_rounds;
    bool was_rough;       /* the tree had to be killed, or had orphans */
    struct process *seen; /* PROCESSES_MAX */
};

/* What the child says when it cannot become the command. */
struct start_failure {
    int error;
    char stage[8];
};

static int64_t now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* A kernel without close_range() is also one without huge descriptor tables. */
static void close_from(int first)
{
    if (syscall(SYS_close_range, (unsigned)first, ~0U, 0U) == 0)
        return;
    for (int fd = first; fd < 4096; fd++)
        close(fd);
}

/* A host that no longer listens is noticed where we read, not here. */
static void tell_host(const char *line)
{
    ssize_t sent = send(LIFELINE, line, strlen(line), MSG_NOSIGNAL | MSG_DONTWAIT);
    (void)sent;
}

/* ---- the tree ------------------------------------------------------------- */

/* The name of a program may hold spaces, parentheses and line ends; what follows
 * its last ')' does not. */
static bool parse_stat(const char *text, size_t len, struct process *out)
{
    const char *name_end = memrchr(text, ')', len);
    char state;
    return name_end != NULL &&
           sscanf(name_end + 1, " %c %d %d", &state, &out->parent, &out->group) == 3;
}

static bool read_process(int proc, const char *pid_text, struct process *out)
{
    char text[512];
    snprintf(text, sizeof text, "%s/stat", pid_text);
    int fd = openat(proc, text, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    ssize_t len = read(fd, text, sizeof text - 1);
    close(fd);
    if (len <= 0)
        return false;
    text[len] = '\0';
    out->pid = atoi(pid_text);
    return parse_stat(text, (size_t)len, out);
}

/* Keeps in r->seen what /proc shows and returns the count; 0 means that /proc is
 * of no use here. Our own children get SIGKILL the moment they are seen when
 * `kill_children` says so: a process that forks and exits all the time is always
 * our child, but never for long. */
static size_t look_around(struct reaper *r, bool kill_children)
{
    union {
        struct dirent64 entry;
        char bytes[8192];
    } list;
    const pid_t self = getpid();
    size_t count = 0;
    bool saw_self = false;
    int proc = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (proc < 0)
        return 0;

    for (ssize_t len; (len = getdents64(proc, list.bytes, sizeof list)) > 0;) {
        for (ssize_t at = 0; at < len;) {
            const struct dirent64 *entry = (const void *)(list.bytes + at);
            struct process p;
            at += entry->d_reclen;
            if (entry->d_name[0] < '1' || entry->d_name[0] > '9' ||
                !read_process(proc, entry->d_name, &p))
                continue;
            saw_self |= p.pid == self;
            if (kill_children && p.parent == self)
                kill(p.pid, SIGKILL);
            if (count < PROCESSES_MAX)
                r->seen[count++] = p;
        }
    }
    close(proc);
    return saw_self ? count : 0;
}

/* Moves our descendants to the front of the `count` seen; returns how many. */
static size_t find_tree(struct process *seen, size_t count)
{
    size_t tree = 0, next = 0;
    for (pid_t parent = getpid();; parent = seen[next++].pid) {
        for (size_t i = tree; i < count; i++) {
            if (seen[i].parent == parent) {
                struct process found = seen[i];
                seen[i] = seen[tree];
                seen[tree++] = found;
            }
        }
        if (next == tree)
            return tree;
    }
}

/* SIGTERM also wakes what is stopped, or it would never act on it. SIGKILL goes
 * to the whole group at once, because no member can fork its way past that; such
 * a group is all ours, since groups do not reach beyond a session and the server
 * began its own. */
static void signal_process(const struct process *p, int sig)
{
    kill(p->pid, sig);
    if (sig == SIGTERM)
        kill(p->pid, SIGCONT);
    else if (p->group > 1 && p->group != getpgrp())
        kill(-p->group, sig);
}

static void read_signals(struct reaper *r)
{
    struct signalfd_siginfo info;
    while (read(r->signals, &info, sizeof info) == (ssize_t)sizeof info)
        if (info.ssi_signo != SIGCHLD)
            r->lifeline_cut = true;
}

/* The pid that a new process gets now; 0: none can be made. Its SIGCHLD is no news, or
 * there would be no pause between two rounds, in which others can die. */
static pid_t next_pid(struct reaper *r)
{
    pid_t pid = vfork();
    if (pid == 0)
        _exit(0);
    if (pid < 0)
        return 0;
    waitpid(pid, NULL, 0);
    read_signals(r);
    return pid;
}

static void kill_children_among(pid_t first, pid_t last)
{
    for (pid_t pid = first; pid <= last; pid++) {
        siginfo_t info;
        if (waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) != 0)
            continue;
        struct process child = {pid, 0, getpgid(pid)};
        signal_process(&child, SIGKILL);
    }
}

/* Without /proc the kernel still says of any pid whether it is a child of ours, and once
 * these are dead, their children are. Pids are given in turn, so those of the tree follow
 * the server's, from a lowest one on again behind the highest, which is 32768 or a
 * multiple of it. Now and then all are tried: each may have been given since. */
static void kill_blindly(struct reaper *r)
{
    const pid_t last = next_pid(r), step = PID_MAX_LEAST;
    if (last == 0 || ++r->blind_rounds % BLIND_NEAR == 0) {
        kill_children_among(2, PID_MAX);
    } else if (last > r->group) {
        kill_children_among(r->group, last);
    } else {
        kill_children_among(r->group, (r->group + step - 1) / step * step);
        kill_children_among(2, last);
    }
}

/* False when the tree cannot be seen, for want of /proc. */
static bool signal_tree(struct reaper *r, int sig)
{
    size_t count = look_around(r, sig == SIGKILL);
    if (count == 0) {
        kill(-r->group, sig);
        if (sig == SIGKILL)
            kill_blindly(r);
        return false;
    }
    size_t tree = find_tree(r->seen, count);
    for (size_t i = 0; i < tree; i++)
        signal_process(&r->seen[i], sig);
    return true;
}

static void enter(struct reaper *r, enum phase next)
{
    if (next <= r->phase)
        return;
    r->phase = next;
    r->phase_began = now_ms();
    r->was_rough |= next == KILLING;
    if (next == TERMINATING)
        signal_tree(r, SIGTERM);
    else if (r->cgroup >= 0)
        cgroup_kill(r->cgroup);
}

/* ---- starting a command --------------------------------------------------- */

static bool prepare(struct reaper *r)
{
    sigset_t all, awaited;
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    prctl(PR_SET_PDEATHSIG, SIGCONT); /* does nothing, but for one who is stopped */
    setsid();
    close_from(LIFELINE + 1);

    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    signal(SIGCHLD, SIG_DFL); /* if ignored, there would be nothing to wait for */
    sigemptyset(&awaited);
    sigaddset(&awaited, SIGCHLD);
    sigaddset(&awaited, SIGTERM);
    sigaddset(&awaited, SIGINT);
    sigaddset(&awaited, SIGHUP);
    r->signals = signalfd(-1, &awaited, SFD_CLOEXEC | SFD_NONBLOCK);
    r->host = (int)syscall(SYS_pidfd_open, getppid(), 0U);
    r->mark = mark_last(getenv(MARK_VARIABLE));
    r->own_cgroup = cgroup_open_own(&r->has_proc);
    if (r->own_cgroup >= 0 && r->mark != NULL)
        r->cgroup = cgroup_make(r->own_cgroup, r->mark);
    r->dir = r->clean_up ? open(".", O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;

    void *room = mmap(NULL, PROCESSES_MAX * sizeof *r->seen, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    r->seen = room;
    return r->signals >= 0 && room != MAP_FAILED;
}

/* The command dies with us, should somebody kill the reaper. */
static _Noreturn void become(char **command, const char *dir, int report)
{
    struct start_failure failure = {0, "chdir"};
    sigset_t none;

    setsid();
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (int sig = 1; sig < NSIG; sig++)
        signal(sig, SIG_DFL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    dup3(report, LIFELINE, O_CLOEXEC);
    close_from(LIFELINE + 1);

    if (dir == NULL || chdir(dir) == 0) {
        memcpy(failure.stage, "exec", 5);
        execvp(command[0], command);
    }
    failure.error = errno;
    ssize_t told = write(LIFELINE, &failure, sizeof failure);
    (void)told;
    _exit(127);
}

static void tell_failure(char what, const struct start_failure *failure)
{
    char line[64];
    snprintf(line, sizeof line, "%c %d %s\n", what, failure->error, failure->stage);
    tell_host(line);
}

/* vfork, but into a cgroup. To move there later would make every fork of the system wait
 * for a moment, and take longer. The child has our stack, so it may not return from a
 * function that we are in: no call of clone3() can be made with C alone. Where it is not
 * made in line, the child gets a copy of our memory, for 60 us more. */
static inline __attribute__((always_inline)) pid_t vfork_into(int cgroup)
{
    struct clone_args args = {
        .flags = CLONE_VFORK | CLONE_INTO_CGROUP,
        .exit_signal = SIGCHLD,
        .cgroup = (uint64_t)cgroup,
    };
#if defined __x86_64__ && defined __LP64__
    long r = SYS_clone3;
    args.flags |= CLONE_VM;
    __asm__ volatile("syscall"
                     : "+a"(r)
                     : "D"(&args), "S"(sizeof args)
                     : "rcx", "r11", "memory");
    if (r < 0)
        errno = (int)-r;
    return r < 0 ? -1 : (pid_t)r;
#else
    return (pid_t)syscall(SYS_clone3, &args, sizeof args);
#endif
}

/* vfork copies nothing, and is over when the command runs or has failed. What went
 * wrong comes through a pipe all the same, which exec closes: not everywhere
 * does vfork share memory. A child that dies in between counts as started.
 * Without a `cgroup`, -1, it starts in ours. Returns its pid, or -1. */
static pid_t start(char **command, const char *dir, int cgroup,
                   struct start_failure *failure)
{
    int report[2] = {-1, -1};
    pid_t pid = -1;
    *failure = (struct start_failure){0, "fork"};
    if (pipe2(report, O_CLOEXEC) == 0)
        pid = cgroup >= 0 ? vfork_into(cgroup) : vfork();
    if (pid == 0)
        become(command, dir, report[1]);
    if (pid < 0)
        failure->error = errno;
    close(report[1]);
    ssize_t len = read(report[0], failure, sizeof *failure);
    close(report[0]);
    if (pid > 0 && len > 0) {
        waitpid(pid, NULL, 0);
        pid = -1;
    }
    return pid;
}

/* False when something is left in it. */
static bool end_cgroup(struct reaper *r)
{
    bool is_gone = r->cgroup < 0 || cgroup_end(r->own_cgroup, r->mark);
    if (r->cgroup >= 0)
        close(r->cgroup);
    r->cgroup = -1;
    return is_gone;
}

/* Kernels before 5.7 cannot start a process in a cgroup, some sandboxes forbid it, and
 * there are cgroups in which no process may be. */
static bool start_server(struct reaper *r, char **command, const char *dir)
{
    struct start_failure failure;
    char line[32];
    pid_t pid = start(command, dir, r->cgroup, &failure);
    if (pid < 0 && r->cgroup >= 0 && strcmp(failure.stage, "fork") == 0) {
        end_cgroup(r);
        pid = start(command, dir, -1, &failure);
    }
    if (pid < 0) {
        tell_failure('E', &failure);
        return false;
    }
    r->server = r->group = pid;
    const char *how = r->has_proc ? "tree" : "blind";
    snprintf(line, sizeof line, "S %d %s\n", (int)pid, r->cgroup >= 0 ? "cgroup" : how);
    tell_host(line);
    return true;
}

/* ---- watching over it ----------------------------------------------------- */

static void server_ended(struct reaper *r, int status)
{
    char line[32];
    r->server = 0;
    snprintf(line, sizeof line, "X %d\n",
             WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status));
    tell_host(line);
}

/* False when no descendant is left. */
static bool reap(struct reaper *r)
{
    for (;;) {
        int status;
        pid_t pid = waitpid(-1, &status, WNOHANG);
        if (pid == 0)
            return true;
        if (pid < 0)
            return errno != ECHILD;
        if (pid == r->server)
            server_ended(r, status);
        else
            r->was_rough = true;
    }
}

static void read_lifeline(struct reaper *r)
{
    char orders[16];
    ssize_t len = recv(LIFELINE, orders, sizeof orders, MSG_DONTWAIT);
    if (len == 0 || (len < 0 && errno != EAGAIN && errno != EINTR))
        r->lifeline_cut = true;
    for (ssize_t i = 0; i < len; i++) {
        if (orders[i] == 'T')
            signal_tree(r, SIGTERM);
        else if (orders[i] == 'K')
            enter(r, KILLING);
    }
}

static int64_t spent_in_phase(const struct reaper *r)
{
    return now_ms() - r->phase_began;
}

/* Sleeps until something happens or the phase has to go on. */
static void wait_for_news(struct reaper *r)
{
    struct pollfd on[] = {
        {.fd = r->lifeline_cut ? -1 : LIFELINE, .events = POLLIN},
        {.fd = r->lifeline_cut ? -1 : r->host, .events = POLLIN},
        {.fd = r->signals, .events = POLLIN},
    };
    int64_t spent = spent_in_phase(r);
    int timeout = -1;
    if (r->phase == WATCHING && r->cleaning)
        timeout = spent < CLEAN_UP_MS ? (int)(CLEAN_UP_MS - spent) : 0;
    else if (r->phase == TERMINATING)
        timeout = spent < TERM_PATIENCE_MS ? (int)(TERM_PATIENCE_MS - spent) : 0;
    else if (r->phase == KILLING)
        timeout = spent < KILL_EAGER_MS ? KILL_STEP_MS : KILL_SLOW_MS;

    if (poll(on, sizeof on / sizeof on[0], timeout) <= 0)
        return;
    if (on[2].revents != 0)
        read_signals(r);
    if (on[1].revents != 0)
        r->lifeline_cut = true;
    if (on[0].revents != 0)
        read_lifeline(r);
}

static bool must_end(const struct reaper *r)
{
    if (r->cleaning)
        return spent_in_phase(r) >= CLEAN_UP_MS;
    return r->lifeline_cut || r->server == 0;
}

/* False when without /proc the rest was not found; else nothing is left. */
static bool watch_over(struct reaper *r)
{
    while (reap(r)) {
        if (must_end(r))
            enter(r, TERMINATING);
        if (r->phase == TERMINATING && spent_in_phase(r) >= TERM_PATIENCE_MS)
            enter(r, KILLING);
        if (r->phase == KILLING && !signal_tree(r, SIGKILL) &&
            spent_in_phase(r) >= BLIND_MS)
            return false;
        wait_for_news(r);
    }
    return true;
}

/* What is in no tree of ours. False when something is left. */
static bool end_marked(const struct reaper *r)
{
    return r->mark == NULL || !r->was_rough || mark_sweep(r->mark, MARK_ROUNDS).left == 0;
}

/* The server's pipes must end when the server does, so they may not stay open
 * here; and no directory is kept busy. */
static void let_go(void)
{
    int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
    for (int fd = 0; fd < LIFELINE; fd++) {
        if (nothing < 0)
            close(fd);
        else
            dup2(nothing, fd);
    }
    if (nothing > LIFELINE)
        close(nothing);
    int root = chdir("/");
    (void)root;
}

/* ---- cleaning up ---------------------------------------------------------- */

/* The lifeline stays open until the command runs or has failed, so that the host
 * hears of a failure before the end of file. */
static void clean_up(struct reaper *r)
{
    struct start_failure failure = {0, "chdir"};
    pid_t pid = -1;
    prctl(PR_SET_CHILD_SUBREAPER, 1); /* a fork does not inherit it */
    if (fchdir(r->dir) != 0)
        failure.error = errno;
    else
        pid = start(r->clean_up, NULL, -1, &failure);
    if (pid < 0)
        tell_failure('A', &failure);
    close(LIFELINE);
    if (pid < 0)
        return;
    r->cleaning = r->lifeline_cut = true;
    r->group = pid;
    r->phase = WATCHING;
    r->phase_began = now_ms();
    watch_over(r);
}

static void hand_over_clean_up(struct reaper *r)
{
    struct start_failure failure = {0, "fork"};
    pid_t pid = fork();
    if (pid == 0) {
        clean_up(r);
        _exit(0);
    }
    if (pid < 0) {
        failure.error = errno;
        tell_failure('A', &failure);
    }
}

/* ---- the command line ----------------------------------------------------- */

/* argv[at] is the count of -A. Moves the words one place forward, over the count, so
 * that a NULL fits behind them. Returns where the next option is, or 0. */
static int take_clean_up(struct reaper *r, int argc, char **argv, int at)
{
    char *end = NULL;
    long n = at < argc ? strtol(argv[at], &end, 10) : 0;
    if (r->clean_up != NULL || n < 1 || *end != '\0' || n >= argc - at ||
        argv[at + 1][0] == '\0')
        return 0;
    r->clean_up = argv + at;
    memmove(argv + at, argv + at + 1, (size_t)n * sizeof *argv);
    argv[at + n] = NULL;
    return at + (int)n + 1;
}

/* Returns where the server's command begins, or 0. */
static int take_options(struct reaper *r, int argc, char **argv, const char **dir)
{
    int at = 1;
    while (at < argc && strcmp(argv[at], "--") != 0) {
        if (strcmp(argv[at], "-C") == 0 && at + 1 < argc) {
            *dir = argv[at + 1];
            at += 2;
        } else if (strcmp(argv[at], "-A") != 0) {
            return 0;
        } else if ((at = take_clean_up(r, argc, argv, at + 1)) == 0) {
            fputs("mcplug-reaper: -A needs a number of words and that many words, "
                  "the first not empty, and can be given once\n",
                  stderr);
            return 0;
        }
    }
    return at + 1 < argc ? at + 1 : 0;
}

static int run(int argc, char **argv)
{
    struct reaper r = {.phase = WATCHING, .own_cgroup = -1, .cgroup = -1};
    const char *dir = NULL;
    int at = take_options(&r, argc, argv, &dir);
    if (at == 0) {
        fputs("usage: mcplug-reaper [-C DIR] [-A N WORD...] -- COMMAND [ARGS...]\n",
              stderr);
        return 2;
    }
    if (fcntl(LIFELINE, F_SETFD, FD_CLOEXEC) != 0) {
        fputs("mcplug-reaper: descriptor 3 must be the lifeline\n", stderr);
        return 2;
    }
    if (!prepare(&r)) {
        struct start_failure failure = {errno, "fork"};
        tell_failure('E', &failure);
        return 1;
    }
    bool started = start_server(&r, argv + at, dir);
    let_go();
    bool is_any_left = r.own_cgroup >= 0 && cgroup_end_stale(r.own_cgroup, r.cgroup >= 0);
    bool is_gone = !started || watch_over(&r);
    is_gone = end_cgroup(&r) && is_gone;
    if (is_any_left)
        cgroup_end_stale(r.own_cgroup, false); /* what took a moment to die */
    if (is_gone && end_marked(&r))
        tell_host("G\n");
    if (r.clean_up != NULL)
        hand_over_clean_up(&r);
    return started ? 0 : 1;
}

/* Without what else happens at an exit: a leak check has a process stopped for it, and
 * the SIGCONT that the host sends before an order would cancel the stop, which is then
 * waited for without end. */
int main(int argc, char **argv)
{
    _exit(run(argc, argv));
}
