/* plugins/stdio/server.c - how a server starts, lives and ends, see server.h
 *
 * The server is not our child but that of mcplug-reaper, which is: it tells over
 * the control socket how the server starts and ends, and it sees to it that the
 * whole tree goes when we ask, or when we die. closed() is only told when the
 * reaper is gone, and with it every process of the server. A clean-up command may
 * still run then: whoever waits for the server's end does not wait for that.
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
#define REAP_STEP_MS 1        /* where an exit cannot be watched */

/* ---- phases --------------------------------------------------------------- */

static void order_reaper(const struct stdio_server *s, char order)
{
    ssize_t sent = send(s->ends.control, &order, 1, MSG_NOSIGNAL | MSG_DONTWAIT);
    (void)sent; /* a reaper that cannot hear is gone, and its end of file comes */
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
        stdio_server_enter(s, STDIO_REAPING);
        break;
    case STDIO_KILLING:
    case STDIO_ENDED:
        s->host->diag->log(s->self, MCPLUG_LOG_WARN,
                           "\"%s\": processes of the server cannot be killed",
                           s->command);
        stdio_server_enter(s, STDIO_OVER);
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
        be_patient(s, MUTE_PATIENCE_MS);
        break;
    case STDIO_LEAVING:
        stdio_streams_close_stdin(s);
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
        start_timer(s, KILL_PATIENCE_MS); /* likewise */
        break;
    case STDIO_REAPING: /* the last resort blocks, but for microseconds */
        if (reaper_is_gone(s, WNOHANG) ||
            (!watch_reaper(s) && !start_timer(s, REAP_STEP_MS) && reaper_is_gone(s, 0)))
            stdio_server_enter(s, STDIO_OVER);
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

static void server_started(struct stdio_server *s, int pid)
{
    char text[16];
    s->pid = pid;
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
    char stage[8];
    if (sscanf(line, "S %d", &number) == 1)
        server_started(s, number);
    else if (sscanf(line, "E %d %7s", &number, stage) == 2)
        server_not_started(s, number, stage);
    else if (sscanf(line, "X %d", &number) == 1)
        server_ended(s, number);
    else if (sscanf(line, "A %d %7s", &number, stage) == 2)
        clean_up_not_started(s, number, stage);
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
 * with it, and its group is all of the tree that we can still reach. */
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
    stdio_server_enter(s, STDIO_REAPING);
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
