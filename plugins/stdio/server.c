/* plugins/stdio/server.c - how a server starts, lives and ends, see server.h
 *
 * The server is not our child but that of mcplug-reaper, which is: it tells over
 * the control socket how the server starts and ends, and it sees to it that the
 * whole tree goes when we ask, or when we die. closed() is only told when the
 * reaper is gone, and with it every process of the server. A clean-up command may
 * still run then: whoever waits for the server's end does not wait for that.
 *
 * A server can stop the reaper, or kill it. Each order wakes it first. If it goes without
 * the word that nothing is left, or does not go, we look for the rest ourselves
 * (sweep.h).
 */
#include "server.h"

#include "../common/fds.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define MUTE_PATIENCE_MS 1000 /* from the end of stdout to the server's */
#define KILL_PATIENCE_MS 5000 /* for processes the kernel cannot end */
#define SWEEP_PATIENCE_MS 5000
#define REAP_STEP_MS 1 /* where an exit cannot be watched */

/* ---- phases --------------------------------------------------------------- */

/* The server may have stopped it. */
static void wake_reaper(const struct stdio_server *s)
{
    kill(s->reaper, SIGCONT);
}

static void order_reaper(const struct stdio_server *s, char order)
{
    wake_reaper(s);
    ssize_t sent = send(s->ends.control, &order, 1, MSG_NOSIGNAL | MSG_DONTWAIT);
    (void)sent;     /* a reaper that cannot hear is gone, and its end of file comes */
    wake_reaper(s); /* in case it was stopped once more */
}

static void blame(struct stdio_server *s, int code, int os_error, const char *text)
{
    s->host->diag->fail(&s->why, code, "%s", text);
    s->why.os_error = os_error;
}

static bool reaper_is_gone(const struct stdio_server *s, int flags)
{
    pid_t r;
    do {
        r = waitpid(s->reaper, NULL, flags);
    } while (r < 0 && errno == EINTR);
    return r != 0; /* ECHILD: the host collects children itself, or ignores them */
}

static void on_reaper(void *arg, unsigned events)
{
    (void)events;
    stdio_server_enter(arg, STDIO_REAPING);
}

/* A reaper whose control socket has ended is about to exit, but may have to wait
 * for a processor: polling for it would keep that from it. */
static bool watch_reaper(struct stdio_server *s)
{
    if (s->reaper_fd < 0) {
        s->reaper_fd = fds_high((int)syscall(SYS_pidfd_open, s->reaper, 0U));
        if (s->reaper_fd >= 0)
            s->reaper_watch = s->host->loop->watch_start(s->self, s->reaper_fd,
                                                         MCPLUG_READABLE, on_reaper, s);
    }
    return s->reaper_watch != NULL;
}

static void warn_unkillable(struct stdio_server *s)
{
    s->host->diag->log(s->self, MCPLUG_LOG_WARN,
                       "\"%s\": processes of the server cannot be killed", s->command);
}

static void on_swept(void *arg, struct mark_sweep found)
{
    struct stdio_server *s = arg;
    s->sweep = NULL;
    if (!found.has_proc)
        s->host->diag->log(s->self, MCPLUG_LOG_WARN,
                           "\"%s\": cannot search for processes that outlived "
                           "mcplug-reaper: /proc is not mounted",
                           s->command);
    else if (found.left > 0)
        warn_unkillable(s);
    else if (found.killed > 0)
        s->host->diag->log(s->self, MCPLUG_LOG_WARN,
                           "\"%s\": processes of the server outlived mcplug-reaper "
                           "and were killed",
                           s->command);
    stdio_server_enter(s, STDIO_REAPING);
}

/* A reaper that did not end in time is ended now. Its control socket has not, so the pid
 * is still its own. */
static void sweep(struct stdio_server *s)
{
    if (s->gave_up)
        kill(s->reaper, SIGKILL);
    s->sweep = stdio_sweep_start(s->host, s->self, s->mark, on_swept, s);
}

static void patience_ended(struct stdio_server *s)
{
    switch (s->phase) {
    case STDIO_MUTE:
        blame(s, MCPLUG_ECLOSED, EPIPE, "server closed its stdout but is still running");
        stdio_server_enter(s, STDIO_TERMINATING);
        break;
    case STDIO_LEAVING:
        stdio_server_enter(s, STDIO_TERMINATING);
        break;
    case STDIO_TERMINATING:
        stdio_server_enter(s, STDIO_KILLING);
        break;
    case STDIO_REAPING:
        stdio_server_enter(s, s->gave_up ? STDIO_OVER : STDIO_REAPING);
        break;
    case STDIO_KILLING:
    case STDIO_ENDED:
        s->gave_up = true;
        stdio_streams_unwatch(s, &s->control_watch);
        stdio_server_enter(s, STDIO_SWEEPING);
        break;
    case STDIO_SWEEPING:
        stdio_sweep_abandon(s->sweep);
        s->sweep = NULL;
        warn_unkillable(s);
        stdio_server_enter(s, STDIO_REAPING);
        break;
    case STDIO_STARTING:
    case STDIO_RUNNING:
    case STDIO_OVER:
        break;
    }
}

static void on_timer(void *arg)
{
    struct stdio_server *s = arg;
    s->timer = NULL;
    patience_ended(s);
}

static void stop_timer(struct stdio_server *s)
{
    if (s->timer != NULL)
        s->host->loop->timer_stop(s->timer);
    s->timer = NULL;
}

static bool start_timer(struct stdio_server *s, uint64_t ms)
{
    s->timer = s->host->loop->timer_start(s->self, ms, on_timer, s);
    return s->timer != NULL;
}

/* Where a timer cannot be had there is no patience either. */
static void be_patient(struct stdio_server *s, uint64_t ms)
{
    if (!start_timer(s, ms))
        patience_ended(s);
}

void stdio_server_enter(struct stdio_server *s, enum stdio_phase next)
{
    stop_timer(s);
    s->phase = next;
    switch (next) {
    case STDIO_STARTING:
    case STDIO_RUNNING:
        break;
    case STDIO_MUTE:
        wake_reaper(s); /* it is to say that the server ended */
        be_patient(s, MUTE_PATIENCE_MS);
        break;
    case STDIO_LEAVING:
        stdio_streams_close_stdin(s);
        wake_reaper(s); /* likewise */
        be_patient(s, s->close_grace);
        break;
    case STDIO_TERMINATING:
        stdio_streams_close_stdin(s);
        order_reaper(s, 'T');
        be_patient(s, s->term_grace);
        break;
    case STDIO_KILLING:
        stdio_streams_close_stdin(s);
        order_reaper(s, 'K');
        start_timer(s, KILL_PATIENCE_MS); /* without one, the reaper's word will do */
        break;
    case STDIO_ENDED:
        stdio_streams_close_stdin(s);
        stdio_streams_finish(s);
        start_timer(s, KILL_PATIENCE_MS); /* as there */
        break;
    case STDIO_SWEEPING:
        stdio_streams_close_stdin(s);
        stdio_streams_finish(s);
        start_timer(s, SWEEP_PATIENCE_MS); /* as there, with the end of the sweep */
        sweep(s);
        break;
    case STDIO_REAPING: /* the last resort blocks, but for microseconds */
        if (reaper_is_gone(s, WNOHANG) ||
            (!watch_reaper(s) && !start_timer(s, REAP_STEP_MS) && reaper_is_gone(s, 0)))
            stdio_server_enter(s, STDIO_OVER);
        else if (s->gave_up && s->reaper_watch != NULL)
            start_timer(s, KILL_PATIENCE_MS); /* even SIGKILL may have to wait */
        break;
    case STDIO_OVER:
        stdio_server_release(s);
        s->host->wire->closed(s->conn, s->asked ? NULL : &s->why);
        break;
    }
}

void stdio_server_fail(struct stdio_server *s, int os_error)
{
    if (s->why.code == 0)
        blame(s, MCPLUG_EIO, os_error, "cannot write to the server's stdin");
    if (s->phase < STDIO_KILLING)
        stdio_server_enter(s, STDIO_KILLING);
}

void stdio_server_release(struct stdio_server *s)
{
    stop_timer(s);
    stdio_sweep_abandon(s->sweep);
    s->sweep = NULL;
    stdio_remarks_clear(&s->remarks);
    stdio_streams_close_stdin(s);
    stdio_streams_unwatch(s, &s->out_watch);
    stdio_streams_unwatch(s, &s->err_watch);
    stdio_streams_unwatch(s, &s->control_watch);
    stdio_streams_unwatch(s, &s->reaper_watch);
    stdio_fd_close(&s->reaper_fd);
    stdio_ends_close(&s->ends);
}

/* ---- what the reaper says ------------------------------------------------- */

static void warn_of_proc(struct stdio_server *s)
{
    if (!*s->warned_of_proc)
        s->host->diag->log(s->self, MCPLUG_LOG_WARN,
                           "/proc is not mounted: processes of a server that kills "
                           "mcplug-reaper cannot be found");
    *s->warned_of_proc = true;
}

/* `how` its processes are found. */
static void server_started(struct stdio_server *s, int pid, const char *how)
{
    char text[16];
    s->pid = pid;
    s->host->diag->log(s->self, MCPLUG_LOG_TRACE, "\"%s\": its processes are found by %s",
                       s->command, how);
    if (strcmp(how, "blind") == 0)
        warn_of_proc(s);
    if (s->phase != STDIO_STARTING)
        return;
    snprintf(text, sizeof text, "%d", pid);
    s->host->wire->describe(s->conn, "pid", text);
    if (s->instance[0] != '\0')
        s->host->wire->describe(s->conn, "instance", s->instance);
    if (s->host->loop->watch_update(s->out_watch, MCPLUG_READABLE) != 0) {
        blame(s, MCPLUG_EIO, 0, "cannot wait for the server's stdout");
        stdio_server_enter(s, STDIO_KILLING);
        return;
    }
    s->opened = true;
    stdio_server_enter(s, STDIO_RUNNING);
    s->host->wire->opened(s->conn);
}

static void server_not_started(struct stdio_server *s, int os_error, const char *stage)
{
    bool in_chdir = strcmp(stage, "chdir") == 0;
    s->host->diag->fail(&s->why, MCPLUG_EREFUSED,
                        STDIO_SPAWN_FAILED "cannot %s \"%s\": %s",
                        in_chdir ? "enter directory" : "start",
                        in_chdir ? s->cwd : s->command, strerror(os_error));
    s->why.os_error = os_error;
    stdio_server_enter(s, STDIO_ENDED);
}

static void blame_exit(struct stdio_server *s, int status)
{
    char text[96];
    const char *name = status < 0 ? sigdescr_np(-status) : NULL;
    if (status >= 0)
        snprintf(text, sizeof text, "server exited with status %d", status);
    else
        snprintf(text, sizeof text, "server was killed by signal %d (%s)", -status,
                 name != NULL ? name : "unknown");
    blame(s, MCPLUG_ECLOSED, ESRCH, text);
}

static void server_ended(struct stdio_server *s, int status)
{
    if (s->why.code == 0)
        blame_exit(s, status);
    s->why.peer_status = status >= 0 ? status : 128 - status;
    stdio_server_enter(s, STDIO_ENDED);
}

/* Nothing else suffers from that, so it is a remark and no error. */
static void clean_up_not_started(struct stdio_server *s, int os_error, const char *stage)
{
    char text[512];
    bool in_chdir = strcmp(stage, "chdir") == 0;
    int len = snprintf(
        text, sizeof text, "cannot run the clean-up command \"%.200s\"%s: %s",
        s->clean_up, in_chdir ? " in the directory of its host" : "", strerror(os_error));
    s->host->wire->remark(s->conn,
                          (struct mcplug_bytes){(unsigned char *)text, (size_t)len});
}

static void take_line(struct stdio_server *s, const char *line)
{
    int number;
    char word[8];
    if (sscanf(line, "S %d %7s", &number, word) == 2)
        server_started(s, number, word);
    else if (sscanf(line, "E %d %7s", &number, word) == 2)
        server_not_started(s, number, word);
    else if (sscanf(line, "X %d", &number) == 1)
        server_ended(s, number);
    else if (strcmp(line, "G") == 0)
        s->is_gone = true;
    else if (sscanf(line, "A %d %7s", &number, word) == 2)
        clean_up_not_started(s, number, word);
}

static void take_control(struct stdio_server *s, const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        if (text[i] == '\n') {
            s->control[s->control_len] = '\0';
            s->control_len = 0;
            take_line(s, s->control);
        } else if (s->control_len < sizeof s->control - 1) {
            s->control[s->control_len++] = text[i];
        }
    }
}

/* A reaper that goes without a word about the server was killed. The server died
 * with it, and its group too, before the rest is looked for. */
static void reaper_left(struct stdio_server *s)
{
    stdio_streams_unwatch(s, &s->control_watch);
    if (s->phase != STDIO_ENDED) {
        if (s->pid > 0)
            kill(-s->pid, SIGKILL);
        if (s->why.code == 0 && s->pid > 0)
            blame(s, MCPLUG_ECLOSED, ESRCH, "mcplug-reaper ended unexpectedly");
        else if (s->why.code == 0)
            blame(s, MCPLUG_EREFUSED, ECHILD,
                  STDIO_SPAWN_FAILED "mcplug-reaper ended before the server began");
        stdio_server_enter(s, STDIO_ENDED);
    }
    stdio_server_enter(s, s->is_gone ? STDIO_REAPING : STDIO_SWEEPING);
}

void stdio_server_on_control(void *arg, unsigned events)
{
    struct stdio_server *s = arg;
    char text[64];
    (void)events;
    for (;;) {
        ssize_t n = recv(s->ends.control, text, sizeof text, MSG_DONTWAIT);
        if (n > 0)
            take_control(s, text, (size_t)n);
        else if (n < 0 && (errno == EAGAIN || errno == EINTR))
            return;
        else
            break;
    }
    reaper_left(s);
}
