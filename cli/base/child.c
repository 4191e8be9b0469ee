#include "cli/base/child.h"

#include "base/mem.h"
#include "cli/base/progress.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define AT_ONCE 16
#define WORDS_MAX 512
#define OUTPUT_MAX ((size_t)4 << 20)

#ifndef MCPLUG_HELPER_DIR
#error "define MCPLUG_HELPER_DIR as a string: where helper programs are installed"
#endif

extern char **environ;

/* ---- helpers ---- */

const char *cli_helper_dir_given(void)
{
    const char *given = secure_getenv("MCPLUG_HELPER_PATH");
    return given && *given == '/' ? given : NULL;
}

char *cli_helper_path(const char *name)
{
    const char *given = cli_helper_dir_given();
    struct mp_str path;

    mp_str_init(&path, PATH_MAX);
    mp_str_addf(&path, "%s/%s", given ? given : MCPLUG_HELPER_DIR, name);
    return mp_str_take(&path);
}

/* ---- starting ---- */

static int spawn(struct cli_child *c, int out, bool heard)
{
    const char *argv[WORDS_MAX] = {c->program ? c->program : "mcplug"};
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attr;
    sigset_t none, back;

    for (size_t i = 0; i + 2 < WORDS_MAX && c->words[i]; i++)
        argv[i + 1] = c->words[i];
    sigemptyset(&none);
    sigemptyset(&back);
    sigaddset(&back, SIGPIPE);
    sigaddset(&back, SIGXFSZ);
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&files, out, STDOUT_FILENO);
    if (!heard)
        posix_spawn_file_actions_addopen(&files, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawnattr_init(&attr);
    posix_spawnattr_setsigmask(&attr, &none);
    posix_spawnattr_setsigdefault(&attr, &back);
    posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    int e = posix_spawn(&c->pid, c->program ? c->program : "/proc/self/exe", &files,
                        &attr, (char *const *)argv, environ);
    posix_spawnattr_destroy(&attr);
    posix_spawn_file_actions_destroy(&files);
    return e;
}

static bool start(struct cli_child *c, unsigned ms, bool heard)
{
    int fds[2];
    mp_str_init(&c->output, OUTPUT_MAX);
    c->end = CLI_CHILD_LOST;
    c->fd = -1;
    if (pipe2(fds, O_CLOEXEC) != 0) {
        c->number = errno;
        return false;
    }
    c->number = spawn(c, fds[1], heard);
    close(fds[1]);
    if (c->number != 0) {
        close(fds[0]);
        return false;
    }
    fcntl(fds[0], F_SETFL, O_NONBLOCK);
    c->fd = fds[0];
    c->deadline = cli_now() + ms;
    return true;
}

/* ---- ending ---- */

static void reap(struct cli_child *c, bool stuck)
{
    int status = 0;
    if (stuck)
        kill(c->pid, SIGKILL);
    while (waitpid(c->pid, &status, 0) < 0 && errno == EINTR)
        ;
    close(c->fd);
    c->fd = -1;
    if (stuck) {
        c->end = CLI_CHILD_STUCK;
    } else if (WIFSIGNALED(status)) {
        c->end = CLI_CHILD_SIGNALED;
        c->number = WTERMSIG(status);
    } else {
        c->end = CLI_CHILD_EXITED;
        c->number = WEXITSTATUS(status);
    }
}

/* Takes what is there; true while there may be more later. */
static bool drain(struct cli_child *c)
{
    char piece[4096];
    for (;;) {
        ssize_t n = read(c->fd, piece, sizeof piece);
        if (n < 0)
            return errno == EAGAIN || errno == EINTR;
        if (n == 0)
            return false;
        mp_str_add(&c->output, piece, (size_t)n);
        if (c->output.failed) /* too much to be a report */
            return true;
    }
}

/* Has it ended, though something it started may still hold the pipe? */
static bool is_gone(const struct cli_child *c)
{
    siginfo_t info = {0};
    return waitid(P_PID, (id_t)c->pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
           info.si_pid == c->pid;
}

/* The end of the pipe and the end of the process are two things: a child that closes
 * the one and goes on is waited for, one that left somebody holding it is not. */
static bool look_after(struct cli_child *c, bool readable)
{
    bool more = readable ? drain(c) : true, late = cli_now() >= c->deadline;
    if (readable && more && !late)
        return false;
    if (is_gone(c)) {
        drain(c); /* what it wrote last came before its end, maybe after our look */
        reap(c, false);
        return true;
    }
    if (late) {
        reap(c, true);
        return true;
    }
    if (!more)
        usleep(1000);
    return false;
}

static void wait_some(struct cli_child **running, size_t n)
{
    struct pollfd fds[AT_ONCE];
    for (size_t i = 0; i < n; i++)
        fds[i] = (struct pollfd){.fd = running[i]->fd, .events = POLLIN};
    poll(fds, n, 50);
    for (size_t i = 0; i < n; i++)
        if (look_after(running[i], fds[i].revents != 0))
            running[i] = NULL;
}

void cli_children_run(struct cli_child *children, size_t n, unsigned ms, bool heard)
{
    struct cli_child *running[AT_ONCE];
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    size_t limit = cpus < 1 ? 1 : cpus > AT_ONCE ? AT_ONCE : (size_t)cpus;
    size_t next = 0, n_running = 0;

    while (next < n || n_running) {
        while (next < n && n_running < limit) {
            struct cli_child *c = &children[next++];
            if (start(c, ms, heard))
                running[n_running++] = c;
        }
        wait_some(running, n_running);
        size_t kept = 0;
        for (size_t i = 0; i < n_running; i++)
            if (running[i])
                running[kept++] = running[i];
        n_running = kept;
    }
}

void cli_child_describe(const struct cli_child *child, unsigned ms, char *out, size_t cap)
{
    switch (child->end) {
    case CLI_CHILD_SIGNALED:
        snprintf(out, cap, "crashed (signal %d)", child->number);
        break;
    case CLI_CHILD_STUCK:
        snprintf(out, cap, "did not end within %u s", ms / 1000);
        break;
    case CLI_CHILD_LOST:
        snprintf(out, cap, "could not be started (%s)", strerror(child->number));
        break;
    case CLI_CHILD_EXITED:
        snprintf(out, cap, "ended the process (exit status %d)", child->number);
        break;
    }
}

/* ---- in the child ---- */

int cli_child_begin(void)
{
    struct rlimit no_core = {0, 0};
    setrlimit(RLIMIT_CORE, &no_core); /* a crash here is expected and told */
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    int fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
    if (fd >= 0)
        dup2(STDERR_FILENO, STDOUT_FILENO);
    return fd;
}

void cli_child_report(int fd, const char *data, size_t len)
{
    while (len) {
        ssize_t n = write(fd, data, len);
        if (n < 0 && errno != EINTR)
            return;
        if (n > 0) {
            data += n;
            len -= (size_t)n;
        }
    }
}
