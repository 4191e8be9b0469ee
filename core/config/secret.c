#include "config/secret.h"

#include "../../plugins/common/fds.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define SLICE_MS 10 /* how often a command that keeps a pipe open is looked at */
#define TAIL 200    /* what is kept of its stderr */

/* ---- values ---- */

/* Room for the longest value, a line end, and one byte more to see that it is too long.
 * It never moves, so that nothing is left of a value once it was wiped. */
struct value {
    char data[MP_SECRET_MAX + 3];
    size_t len;
};

static void wipe(struct value *v)
{
    if (v)
        explicit_bzero(v, sizeof *v);
    mp_free(v);
}

static bool is_text(const struct value *v)
{
    const unsigned char *p = (const unsigned char *)v->data, *end = p + v->len;

    while (p < end) {
        size_t n = mp_utf8_len(p, (size_t)(end - p));
        if (n == 0 || (*p < 0x20 && *p != '\t') || *p == 0x7f)
            return false;
        p += n;
    }
    return true;
}

/* `source` is how messages name it. */
static int hand_over(struct value *v, const char *source, struct mp_str *out,
                     struct mcplug_error *err)
{
    if (v->len && v->data[v->len - 1] == '\n')
        v->len--;
    if (v->len && v->data[v->len - 1] == '\r' && v->data[v->len] == '\n')
        v->len--;
    if (v->len > MP_SECRET_MAX)
        return mp_fail(err, MCPLUG_ETOOBIG, "%s: is longer than %zu bytes", source,
                       MP_SECRET_MAX);
    if (memchr(v->data, '\n', v->len))
        return mp_fail(err, MCPLUG_ECONFIG, "%s: has more than one line", source);
    if (!is_text(v))
        return mp_fail(err, MCPLUG_ECONFIG,
                       "%s: is not text (it has control characters, or is not UTF-8)",
                       source);
    return mp_str_add(out, v->data, v->len) ? MCPLUG_OK : mp_fail_nomem(err);
}

/* Reads once. The bytes read, 0 at the end or when it is full, -1 with errno; EAGAIN when
 * there is nothing now. */
static ssize_t read_some(int fd, struct value *v)
{
    ssize_t n;

    do
        n = read(fd, v->data + v->len, sizeof v->data - v->len);
    while (n < 0 && errno == EINTR);
    if (n > 0)
        v->len += (size_t)n;
    return n;
}

static void close_end(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

/* ---- files ---- */

static int make_path(const char *path, const char *home, const char *dir,
                     struct mp_str *out, struct mcplug_error *err)
{
    bool in_home = path[0] == '~' && path[1] == '/';

    if (in_home && (!home || !home[0]))
        return mp_fail(err, MCPLUG_ECONFIG, "file:%.200s: there is no home directory",
                       path);
    if (in_home)
        mp_str_adds(out, home);
    else if (path[0] != '/' && dir && dir[0])
        mp_str_addf(out, "%s/", dir);
    if (!mp_str_adds(out, in_home ? path + 1 : path))
        return mp_fail(err, MCPLUG_ETOOBIG, "file:%.200s: the path is too long", path);
    return MCPLUG_OK;
}

int mp_secret_file(const char *path, const char *home, const char *dir,
                   struct mp_str *out, struct mcplug_error *err)
{
    struct value *v = mp_alloc(sizeof *v);
    struct mp_str full;
    struct stat st;
    char source[260];
    int fd = -1;

    mp_str_init(&full, PATH_MAX);
    int r = v ? make_path(path, home, dir, &full, err) : mp_fail_nomem(err);
    if (r == MCPLUG_OK) {
        snprintf(source, sizeof source, "file:%.250s", full.data);
        /* O_NONBLOCK: a fifo must not hold us up before we see that it is one. */
        fd = fds_high(open(full.data, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
        ssize_t n = fd >= 0 ? fstat(fd, &st) : -1;
        bool regular = n == 0 && S_ISREG(st.st_mode);
        if (regular)
            while ((n = read_some(fd, v)) > 0)
                ;
        if (n < 0)
            r = mp_fail_os(err, MCPLUG_EIO, errno, "%s: cannot be read", source);
        else if (!regular)
            r = mp_fail(err, MCPLUG_ECONFIG, "%s: is not a regular file", source);
        else
            r = hand_over(v, source, out, err);
    }
    close_end(&fd);
    wipe(v);
    mp_str_clear(&full);
    return r;
}

/* ---- a command ---- */

struct run {
    char source[110]; /* "cmd:COMMAND", for messages */
    pid_t pid;        /* 0: not started, or reaped */
    int out, err;     /* our ends of its pipes; -1: at its end */
    struct value *value;
    char tail[TAIL]; /* the last bytes of its stderr */
    size_t tail_len;
    int64_t deadline;
};

/* Both ends above 2, even in a host that runs without its first three descriptors: the
 * child's are put there one after the other. */
static bool open_pipe(int ends[2])
{
    int low[2];

    ends[0] = ends[1] = -1;
    if (pipe2(low, O_CLOEXEC) != 0)
        return false;
    ends[0] = fcntl(low[0], F_DUPFD_CLOEXEC, 3);
    ends[1] = fcntl(low[1], F_DUPFD_CLOEXEC, 3);
    int os_error = errno;
    close(low[0]);
    close(low[1]);
    errno = os_error;
    return ends[0] >= 0 && ends[1] >= 0 && fcntl(ends[0], F_SETFL, O_NONBLOCK) == 0;
}

/* Returns 0 or an errno. */
static int spawn(struct run *run, const char *command, const char *dir, int out, int err)
{
    char sh[] = "sh", dash_c[] = "-c", dashes[] = "--";
    char *argv[] = {sh, dash_c, dashes, (char *)command, NULL};
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attr;
    sigset_t none, every;
    int r = 0;

    sigemptyset(&none);
    sigfillset(&every);
    posix_spawn_file_actions_init(&files);
    posix_spawnattr_init(&attr);
    r |= posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
    r |= posix_spawn_file_actions_adddup2(&files, out, 1);
    r |= posix_spawn_file_actions_adddup2(&files, err, 2);
    r |= posix_spawn_file_actions_addclosefrom_np(&files, 3);
    if (dir)
        r |= posix_spawn_file_actions_addchdir_np(&files, dir);
    posix_spawnattr_setpgroup(&attr, 0);
    posix_spawnattr_setsigdefault(&attr, &every);
    posix_spawnattr_setsigmask(&attr, &none);
    posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF |
                                        POSIX_SPAWN_SETSIGMASK);
    r = r ? ENOMEM : posix_spawn(&run->pid, "/bin/sh", &files, &attr, argv, environ);
    if (r)
        run->pid = 0;
    posix_spawn_file_actions_destroy(&files);
    posix_spawnattr_destroy(&attr);
    return r;
}

/* Starts it with our ends of its pipes in `run`. */
static int start(struct run *run, const char *command, const char *dir,
                 struct mcplug_error *err)
{
    int out[2] = {-1, -1}, errs[2] = {-1, -1}, r = MCPLUG_OK;

    if (!open_pipe(out) || !open_pipe(errs)) {
        r = mp_fail_os(err, MCPLUG_EIO, errno, "%s: cannot create a pipe", run->source);
    } else {
        int os_error = spawn(run, command, dir, out[1], errs[1]);
        if (os_error)
            r = mp_fail_os(err, MCPLUG_EIO, os_error, "%s: cannot be run in %.200s",
                           run->source, dir ? dir : "this directory");
    }
    close_end(&out[1]);
    close_end(&errs[1]);
    run->out = out[0];
    run->err = errs[0];
    return r;
}

/* ---- while it runs ---- */

static void keep_tail(struct run *run, const char *data, size_t len)
{
    if (len > TAIL) {
        data += len - TAIL;
        len = TAIL;
    }
    size_t old = run->tail_len > TAIL - len ? TAIL - len : run->tail_len;
    memmove(run->tail, run->tail + run->tail_len - old, old);
    memcpy(run->tail + old, data, len);
    run->tail_len = old + len;
}

/* At most a pipe full: somebody may write to it without end. */
static void drain_err(struct run *run)
{
    char chunk[4096];
    ssize_t n = 1;

    for (int i = 0; run->err >= 0 && n > 0 && i < 16; i++) {
        n = read(run->err, chunk, sizeof chunk);
        if (n > 0)
            keep_tail(run, chunk, (size_t)n);
        else if (n == 0 || (errno != EAGAIN && errno != EINTR))
            close_end(&run->err);
    }
    explicit_bzero(chunk, sizeof chunk);
}

static void drain_out(struct run *run)
{
    ssize_t n = 1;

    while (run->out >= 0 && n > 0 && run->value->len < sizeof run->value->data) {
        n = read_some(run->out, run->value);
        if (n == 0 || (n < 0 && errno != EAGAIN))
            close_end(&run->out);
    }
}

/* Is it over? It stays a zombie, which keeps its number and its group's from being given
 * to somebody else. -1: it is no child any more, for the host waits for every child. */
static int has_ended(pid_t pid)
{
    siginfo_t info = {.si_pid = 0};

    while (waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) != 0)
        if (errno != EINTR)
            return -1;
    return info.si_pid != 0;
}

/* What a process that outlives the shell writes is not waited for, but what is in the
 * pipe when the shell ends is read. */
static int watch(struct run *run, struct mcplug_error *err)
{
    for (;;) {
        struct pollfd fds[] = {{run->out, POLLIN, 0}, {run->err, POLLIN, 0}};
        int ended = has_ended(run->pid);
        drain_out(run);
        drain_err(run);
        if (run->value->len == sizeof run->value->data)
            return mp_fail(err, MCPLUG_ETOOBIG, "%s: prints more than %zu bytes",
                           run->source, MP_SECRET_MAX);
        if (ended)
            return MCPLUG_OK;
        int64_t left = run->deadline - (int64_t)mp_clock_ms();
        if (left <= 0)
            return mp_fail(err, MCPLUG_ETIMEDOUT, "%s: timed out", run->source);
        poll(fds, 2, left < SLICE_MS ? (int)left : SLICE_MS);
    }
}

/* Ends what is left of the group, then the zombie. False: the status is lost. */
static bool reap(struct run *run, int *status)
{
    pid_t pid = run->pid, r;

    run->pid = 0;
    if (pid == 0 || has_ended(pid) < 0)
        return false;
    kill(-pid, SIGKILL);
    do
        r = waitpid(pid, status, 0);
    while (r < 0 && errno == EINTR);
    return r == pid;
}

/* ---- how it ended ---- */

/* The first line of what is left of stderr, for a message; "" when there is none. */
static void first_line(const struct run *run, char out[TAIL + 3])
{
    const char *p = run->tail, *end = p + run->tail_len;

    while (p < end && (*p == '\n' || *p == '\r' || (*p & 0xc0) == 0x80))
        p++; /* it may begin within a character */
    size_t len = 0;
    while (p + len < end && p[len] != '\n' && p[len] != '\r' && p[len])
        len++;
    snprintf(out, TAIL + 3, "%s%.*s", len ? ": " : "", (int)len, p);
}

static int judge(const struct run *run, int status, struct mcplug_error *err)
{
    char said[TAIL + 3];
    int r, code = WIFEXITED(status) ? WEXITSTATUS(status) : 0;

    if (WIFEXITED(status) && code == 0)
        return MCPLUG_OK;
    first_line(run, said);
    if (WIFEXITED(status))
        r = mp_fail(err, MCPLUG_EIO, "%s: exit status %d%s", run->source, code, said);
    else
        r = mp_fail(err, MCPLUG_EIO, "%s: was killed by signal %d%s", run->source,
                    WTERMSIG(status), said);
    if (err)
        err->peer_status = code;
    return r;
}

int mp_secret_command(const char *command, const char *dir, int ms, struct mp_str *out,
                      struct mcplug_error *err)
{
    struct run run = {.out = -1, .err = -1, .deadline = (int64_t)mp_clock_ms() + ms};
    int status = 0;

    snprintf(run.source, sizeof run.source, "cmd:%.100s", command);
    run.value = mp_alloc(sizeof *run.value);
    int r = run.value ? start(&run, command, dir, err) : mp_fail_nomem(err);
    if (r == MCPLUG_OK)
        r = watch(&run, err);
    bool known = reap(&run, &status);
    if (r == MCPLUG_OK && !known)
        r = mp_fail(err, MCPLUG_EIO,
                    "%s: its exit status is lost (does the program ignore SIGCHLD?)",
                    run.source);
    if (r == MCPLUG_OK)
        r = judge(&run, status, err);
    if (r == MCPLUG_OK)
        r = hand_over(run.value, run.source, out, err);
    close_end(&run.out);
    close_end(&run.err);
    wipe(run.value);
    explicit_bzero(run.tail, sizeof run.tail);
    return r;
}
