/* shell: servers that a shell starts. A transport as somebody else would write it, with
 * nothing but the installed header; the tests build and use it outside of the tree. One
 * socket is the server's standard input and output, one line is one message. */
#define _GNU_SOURCE
#include <mcplug/plugin.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define PATIENCE_MS 2000 /* from the end of its input to the server's own end */

extern char **environ;

/* What init() got; each host of a program calls it. */
struct module {
    const struct mcplug_host *host;
    mcplug_self *self;
};

struct frame {
    struct frame *next;
    mcplug_buf *bytes;
    uint64_t serial;
};

struct shell {
    const struct mcplug_host *host;
    mcplug_self *self;
    mcplug_conn *conn;
    pid_t pid;
    int fd;
    mcplug_watch *watch;
    mcplug_timer *timer;
    struct frame *first, **last; /* what the server has not taken yet */
    size_t sent;                 /* of the first one */
    int closing;
};

/* The only way out: nothing runs any more when the core hears of it. */
static void end(struct shell *s, const char *why)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;

    if (s->fd < 0)
        return;
    s->host->loop->watch_stop(s->watch);
    if (s->timer)
        s->host->loop->timer_stop(s->timer);
    s->timer = NULL;
    close(s->fd);
    s->fd = -1;
    kill(s->pid, SIGKILL);
    waitpid(s->pid, NULL, 0);
    s->host->diag->fail(&err, MCPLUG_ECLOSED, "shell: %s", why);
    s->host->wire->closed(s->conn, s->closing ? NULL : &err);
}

/* Sends what waits, until the server takes no more. 0, or an errno. */
static int flush(struct shell *s)
{
    while (s->first) {
        struct frame *f = s->first;
        struct mcplug_bytes b = s->host->mem->buf_bytes(f->bytes);
        int at_end = s->sent == b.len;
        ssize_t n = send(s->fd, at_end ? (const void *)"\n" : b.data + s->sent,
                         at_end ? 1 : b.len - s->sent, MSG_NOSIGNAL);
        if (n < 0)
            return errno == EAGAIN || errno == EINTR ? 0 : errno;
        s->sent += (size_t)n;
        if (!at_end)
            continue;
        s->sent = 0;
        s->first = f->next;
        s->host->wire->written(s->conn, f->serial);
        s->host->mem->buf_unref(f->bytes);
        s->host->mem->free(f);
    }
    s->last = &s->first;
    return 0;
}

/* Whole lines and parts of lines, as they come. */
static void feed(struct shell *s, const unsigned char *data, size_t len)
{
    while (len) {
        const unsigned char *stop = memchr(data, '\n', len);
        struct mcplug_bytes piece = {data, stop ? (size_t)(stop - data) : len};
        s->host->wire->feed(s->conn, 0, piece, stop != NULL);
        size_t used = piece.len + (stop != NULL);
        data += used;
        len -= used;
    }
}

static void on_event(void *arg, unsigned events)
{
    struct shell *s = arg;
    unsigned char data[4096];
    int broken = events & MCPLUG_WRITABLE ? flush(s) : 0;

    if (broken) {
        end(s, strerror(broken));
        return;
    }
    s->host->loop->watch_update(s->watch,
                                MCPLUG_READABLE | (s->first ? MCPLUG_WRITABLE : 0));
    if (!(events & MCPLUG_READABLE))
        return;
    ssize_t n = read(s->fd, data, sizeof data);
    if (n > 0)
        feed(s, data, (size_t)n);
    else if (n == 0)
        end(s, "the server closed its output");
    else if (errno != EAGAIN && errno != EINTR)
        end(s, strerror(errno));
}

static int start(struct shell *s, const char *command, struct mcplug_error *err)
{
    char *argv[] = {"sh", "-c", (char *)command, NULL};
    posix_spawn_file_actions_t actions;
    int fds[2];

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) != 0)
        return s->host->diag->fail(err, MCPLUG_EIO, "shell: %s", strerror(errno));
    fcntl(fds[0], F_SETFL, O_NONBLOCK);
    int r = posix_spawn_file_actions_init(&actions);
    if (r == 0) {
        posix_spawn_file_actions_adddup2(&actions, fds[1], 0);
        posix_spawn_file_actions_adddup2(&actions, fds[1], 1);
        r = posix_spawn(&s->pid, "/bin/sh", &actions, NULL, argv, environ);
        posix_spawn_file_actions_destroy(&actions);
    }
    close(fds[1]);
    if (r == 0) {
        s->fd = fds[0];
        s->watch =
            s->host->loop->watch_start(s->self, s->fd, MCPLUG_READABLE, on_event, s);
        if (s->watch)
            return MCPLUG_OK;
        r = errno;
        kill(s->pid, SIGKILL);
        waitpid(s->pid, NULL, 0);
    }
    close(fds[0]);
    return s->host->diag->fail(err, MCPLUG_EIO, "shell: %s", strerror(r));
}

static int shell_open(void *ctx, mcplug_conn *conn, const mcplug_props *settings,
                      void **out, struct mcplug_error *err)
{
    const struct module *module = ctx;
    struct shell *s = module->host->mem->alloc(sizeof *s);

    if (!s)
        return module->host->diag->fail(err, MCPLUG_ENOMEM, "out of memory");
    s->host = module->host;
    s->self = module->self;
    s->conn = conn;
    s->last = &s->first;
    int r = start(s, s->host->diag->prop(settings, "command"), err);
    if (r != MCPLUG_OK) {
        module->host->mem->free(s);
        return r;
    }
    *out = s;
    s->host->wire->opened(conn);
    return MCPLUG_OK;
}

static int shell_send(void *t, mcplug_buf *frame, const struct mcplug_envelope *env,
                      struct mcplug_error *err)
{
    struct shell *s = t;
    struct frame *f = s->fd < 0 ? NULL : s->host->mem->alloc(sizeof *f);

    if (!f) {
        s->host->mem->buf_unref(frame);
        return s->host->diag->fail(err, s->fd < 0 ? MCPLUG_ECLOSED : MCPLUG_ENOMEM,
                                   "shell: %s", s->fd < 0 ? "closed" : "out of memory");
    }
    f->bytes = frame;
    f->serial = env->serial;
    *s->last = f;
    s->last = &f->next;
    s->host->loop->watch_update(s->watch, MCPLUG_READABLE | MCPLUG_WRITABLE);
    return MCPLUG_QUEUED;
}

static void on_patience_over(void *arg)
{
    struct shell *s = arg;
    s->timer = NULL;
    end(s, "the server did not end");
}

static void shell_close(void *t)
{
    struct shell *s = t;

    if (s->fd < 0)
        return;
    s->closing = 1;
    shutdown(s->fd, SHUT_WR);
    s->timer = s->host->loop->timer_start(s->self, PATIENCE_MS, on_patience_over, s);
    if (!s->timer)
        end(s, "out of memory");
}

static void shell_destroy(void *t)
{
    struct shell *s = t;

    while (s->first) {
        struct frame *f = s->first;
        s->first = f->next;
        s->host->mem->buf_unref(f->bytes);
        s->host->mem->free(f);
    }
    s->host->mem->free(s);
}

static int shell_init(const struct mcplug_host *host, mcplug_self *self, void **ctx,
                      struct mcplug_error *err)
{
    struct module *module = host->mem->alloc(sizeof *module);

    if (!module)
        return host->diag->fail(err, MCPLUG_ENOMEM, "out of memory");
    module->host = host;
    module->self = self;
    *ctx = module;
    return MCPLUG_OK;
}

static void shell_fini(void *ctx)
{
    struct module *module = ctx;
    module->host->mem->free(module);
}

static const struct mcplug_option options[] = {
    {"command", "string", NULL, "what the shell runs"},
    {NULL, NULL, NULL, NULL},
};

static const struct mcplug_transport_ops ops = {
    .struct_size = sizeof ops,
    .open = shell_open,
    .send = shell_send,
    .close = shell_close,
    .destroy = shell_destroy,
};

static const struct mcplug_feature features[] = {{
    .kind = MCPLUG_TRANSPORT,
    .name = "shell",
    .summary = "servers that a shell starts",
    .options = options,
    .ops = &ops,
}};

MCPLUG_PLUGIN(shell) = {
    MCPLUG_HEAD(0),     MCPLUG_FEATURES(features),
    .name = "shell",    .version = "1.0",
    .license = "MIT",   .summary = "Servers that a shell starts",
    .init = shell_init, .fini = shell_fini,
};
