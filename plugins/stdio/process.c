/* plugins/stdio/process.c - pipes and the start of the reaper, see process.h */
#include "process.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#define CONTROL_FD 3   /* where the reaper expects it */
#define NUMBER_ROOM 24 /* for the digits of a size_t */

void stdio_fd_close(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

void stdio_ends_close(struct stdio_ends *ours)
{
    stdio_fd_close(&ours->to_stdin);
    stdio_fd_close(&ours->stdin_reader);
    stdio_fd_close(&ours->from_stdout);
    stdio_fd_close(&ours->from_stderr);
    stdio_fd_close(&ours->control);
}

void stdio_far_ends_close(struct stdio_far_ends *theirs)
{
    stdio_fd_close(&theirs->to_stdout);
    stdio_fd_close(&theirs->to_stderr);
    stdio_fd_close(&theirs->control);
}

/* Moves a descriptor out of 0..3, where a host that closed its own standard
 * streams may have got it: those numbers are handed out in the new process. */
static int lift(int *fd)
{
    if (*fd > CONTROL_FD)
        return 0;
    int higher = fcntl(*fd, F_DUPFD_CLOEXEC, CONTROL_FD + 1);
    if (higher < 0)
        return -1;
    close(*fd);
    *fd = higher;
    return 0;
}

static int open_pair(int pair[2], int is_socket)
{
    int r = is_socket ? socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair)
                      : pipe2(pair, O_CLOEXEC);
    if (r != 0)
        pair[0] = pair[1] = -1;
    return r;
}

/* Only our end may not block: the two ends of a pipe do not share that flag, and
 * servers expect streams that do. */
static int set_ours(int *ours, int *theirs)
{
    return lift(ours) != 0 || lift(theirs) != 0 || fcntl(*ours, F_SETFL, O_NONBLOCK) != 0;
}

int stdio_ends_open(const struct mcplug_host *host, struct stdio_ends *ours,
                    struct stdio_far_ends *theirs, struct mcplug_error *err)
{
    int in[2] = {-1, -1}, out[2] = {-1, -1}, log[2] = {-1, -1}, control[2] = {-1, -1};
    int failed = open_pair(in, 0) != 0 || open_pair(out, 0) != 0 ||
                 open_pair(log, 0) != 0 || open_pair(control, 1) != 0;
    *ours = (struct stdio_ends){in[1], in[0], out[0], log[0], control[0]};
    *theirs = (struct stdio_far_ends){out[1], log[1], control[1]};
    failed = failed || set_ours(&ours->to_stdin, &ours->stdin_reader) ||
             set_ours(&ours->from_stdout, &theirs->to_stdout) ||
             set_ours(&ours->from_stderr, &theirs->to_stderr) ||
             set_ours(&ours->control, &theirs->control);
    if (!failed)
        return MCPLUG_OK;

    int os_error = errno;
    host->diag->fail(err, MCPLUG_EIO, "cannot create pipes for a server: %s",
                     strerror(os_error));
    if (err != NULL)
        err->os_error = os_error;
    return MCPLUG_EIO;
}

static size_t count(const char *const *words)
{
    size_t n = 0;
    while (words[n] != NULL)
        n++;
    return n;
}

int stdio_instance(const struct mcplug_host *host, const mcplug_props *settings,
                   char out[STDIO_INSTANCE_MAX], struct mcplug_error *err)
{
    static const char digits[] = "0123456789abcdef";
    const char *template = host->diag->prop(settings, "instance");
    unsigned char random[STDIO_INSTANCE_MAX];
    size_t len = template != NULL ? strlen(template) : 0, from = len;

    out[0] = '\0';
    if (len == 0)
        return MCPLUG_OK;
    while (from > 0 && template[from - 1] == 'X')
        from--;
    if (len - from < STDIO_INSTANCE_X || len >= STDIO_INSTANCE_MAX)
        return host->diag->fail(err, MCPLUG_ECONFIG,
                                "instance must be a name that ends in %d X or more",
                                STDIO_INSTANCE_X);
    if (getrandom(random, len - from, 0) != (ssize_t)(len - from))
        return host->diag->fail(err, MCPLUG_EIO, "no random bytes: %s", strerror(errno));
    memcpy(out, template, from);
    for (size_t i = from; i < len; i++)
        out[i] = digits[random[i - from] & 15];
    out[len] = '\0';
    return MCPLUG_OK;
}

/* A word that is `template` becomes `instance`. */
static void append(char **argv, size_t *n, const char *const *words, const char *template,
                   const char *instance)
{
    for (; *words != NULL; words++)
        argv[(*n)++] =
            (char *)(*instance && strcmp(*words, template) == 0 ? instance : *words);
}

/* The reaper's command line, its path and a number in one block, for host->mem->free. */
static char **reaper_command(const struct mcplug_host *host, const mcplug_props *settings,
                             const char *instance)
{
    const char *template = host->diag->prop(settings, "instance");
    const char *const *args = host->diag->prop_list(settings, "args");
    const char *const *clean_up = host->diag->prop_list(settings, "cleanUp");
    const char *dir = host->diag->prop(settings, "cwd");
    size_t n = 0, cleaning = count(clean_up);
    size_t words = count(args) + cleaning + 8; /* path, -C DIR, -A N, --, command, NULL */
    size_t path_room = strlen(host->helper_dir) + sizeof "/mcplug-reaper";
    char **argv = host->mem->alloc(words * sizeof *argv + NUMBER_ROOM + path_room);
    if (argv == NULL)
        return NULL;

    /* posix_spawn changes none of these, whatever its prototype says. */
    char *number = (char *)(argv + words);
    argv[n++] = number + NUMBER_ROOM;
    snprintf(argv[0], path_room, "%s/mcplug-reaper", host->helper_dir);
    if (dir != NULL && dir[0] != '\0') {
        argv[n++] = (char *)"-C";
        argv[n++] = (char *)dir;
    }
    if (cleaning > 0) {
        snprintf(number, NUMBER_ROOM, "%zu", cleaning);
        argv[n++] = (char *)"-A";
        argv[n++] = number;
        append(argv, &n, clean_up, template, instance);
    }
    argv[n++] = (char *)"--";
    argv[n++] = (char *)host->diag->prop(settings, "command");
    append(argv, &n, args, template, instance);
    argv[n] = NULL;
    return argv;
}

/* An errno, like posix_spawn itself. */
static int spawn(char **argv, char **envp, const int fds[CONTROL_FD + 1], pid_t *out)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attr;
    sigset_t set;
    int r = posix_spawn_file_actions_init(&actions);
    if (r != 0)
        return r;
    r = posix_spawnattr_init(&attr);
    if (r == 0) {
        for (int fd = 0; fd <= CONTROL_FD && r == 0; fd++)
            r = posix_spawn_file_actions_adddup2(&actions, fds[fd], fd);
        sigemptyset(&set);
        posix_spawnattr_setsigmask(&attr, &set);
        sigfillset(&set);
        posix_spawnattr_setsigdefault(&attr, &set);
        posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
        if (r == 0)
            r = posix_spawn(out, argv[0], &actions, &attr, argv, envp);
        posix_spawnattr_destroy(&attr);
    }
    posix_spawn_file_actions_destroy(&actions);
    return r;
}

int stdio_spawn(const struct mcplug_host *host, const mcplug_props *settings,
                const char *instance, const char *mark, const struct stdio_ends *ours,
                const struct stdio_far_ends *theirs, pid_t *out, struct mcplug_error *err)
{
    const int fds[] = {ours->stdin_reader, theirs->to_stdout, theirs->to_stderr,
                       theirs->control};
    char **envp = NULL;
    int r = stdio_environment(host, settings, mark, &envp, err);
    if (r != MCPLUG_OK)
        return r;
    char **argv = reaper_command(host, settings, instance);
    int os_error = argv == NULL ? ENOMEM : spawn(argv, envp, fds, out);
    if (os_error != 0) {
        r = os_error == ENOMEM ? MCPLUG_ENOMEM : MCPLUG_EREFUSED;
        host->diag->fail(
            err, r, STDIO_SPAWN_FAILED "cannot run %s/mcplug-reaper for \"%s\": %s",
            host->helper_dir, host->diag->prop(settings, "command"), strerror(os_error));
        if (err != NULL)
            err->os_error = os_error;
    }
    host->mem->free(argv);
    host->mem->free(envp);
    return r;
}
