/* plugins/stdio/stdio.c - transport "stdio": a server as a local program.
 *
 * Messages go to its stdin and come from its stdout, one a line; its stderr is
 * remarks. This file is what the core sees, server.h says where the rest is.
 */
#include "server.h"

#include <errno.h>
#include <string.h>
#include <sys/ioctl.h>

#define QUEUE_CEILING (64u << 20) /* the core's own limit comes first */

/* What init() got, for one host of possibly many. */
struct module {
    const struct mcplug_host *host;
    mcplug_self *self;
    const struct mcplug_lines *lines;
    unsigned char *chunk; /* what one read brings is fed before the next */
    bool warned_of_proc;
};

static int start_watches(struct stdio_server *s, struct mcplug_error *err)
{
    const struct mcplug_loop *loop = s->host->loop;
    /* Nothing is read from stdout before opened(), and of stdin nothing is to be
     * known before it is full. */
    s->in_watch =
        loop->watch_start(s->self, s->ends.to_stdin, 0, stdio_streams_on_stdin, s);
    s->out_watch =
        loop->watch_start(s->self, s->ends.from_stdout, 0, stdio_streams_on_stdout, s);
    s->err_watch = loop->watch_start(s->self, s->ends.from_stderr, MCPLUG_READABLE,
                                     stdio_streams_on_stderr, s);
    s->control_watch = loop->watch_start(s->self, s->ends.control, MCPLUG_READABLE,
                                         stdio_server_on_control, s);
    if (s->in_watch != NULL && s->out_watch != NULL && s->err_watch != NULL &&
        s->control_watch != NULL)
        return MCPLUG_OK;
    return s->host->diag->fail(err, MCPLUG_ENOMEM, "cannot watch the pipes of a server");
}

static uint64_t grace(const struct mcplug_host *host, const mcplug_props *settings,
                      const char *name)
{
    int64_t ms = host->diag->prop_int(settings, name, 2000);
    return ms > 0 ? (uint64_t)ms : 0;
}

static struct stdio_server *server_new(struct module *module, mcplug_conn *conn,
                                       const mcplug_props *settings)
{
    const struct mcplug_host *host = module->host;
    struct stdio_server *s = host->mem->alloc(sizeof *s);
    if (s == NULL)
        return NULL;
    s->chunk = module->chunk;
    s->warned_of_proc = &module->warned_of_proc;
    s->host = host;
    s->self = module->self;
    s->conn = conn;
    s->lines = module->lines;
    s->command = host->diag->prop(settings, "command");
    s->cwd = host->diag->prop(settings, "cwd");
    s->clean_up = host->diag->prop_list(settings, "cleanUp")[0];
    s->close_grace = grace(host, settings, "closeGrace");
    s->term_grace = grace(host, settings, "termGrace");
    s->why = (struct mcplug_error)MCPLUG_ERROR_INIT;
    s->reaper_fd = -1;
    s->ends = (struct stdio_ends){-1, -1, -1, -1, -1};
    s->remarks.host = host;
    s->remarks.self = module->self;
    s->remarks.conn = conn;
    return s;
}

static void server_free(struct stdio_server *s)
{
    const struct mcplug_host *host = s->host;
    s->lines->free(s->framer);
    host->mem->free(s);
}

/* The start of the reaper comes last, because it cannot be taken back. */
static int server_start(struct stdio_server *s, const mcplug_props *settings,
                        struct mcplug_error *err)
{
    const struct mcplug_host *host = s->host;
    struct stdio_far_ends theirs = {-1, -1, -1};
    int r = stdio_instance(host, settings, s->instance, err);
    if (r == MCPLUG_OK && !mark_make(s->mark))
        r = host->diag->fail(err, MCPLUG_EIO, "no random bytes: %s", strerror(errno));
    if (r == MCPLUG_OK) {
        s->framer = s->lines->create(host, s->conn, QUEUE_CEILING);
        if (s->framer == NULL)
            r = host->diag->fail(err, MCPLUG_ENOMEM, "out of memory");
    }
    if (r == MCPLUG_OK)
        r = stdio_ends_open(host, &s->ends, &theirs, err);
    if (r == MCPLUG_OK)
        r = start_watches(s, err);
    if (r == MCPLUG_OK)
        r = stdio_spawn(host, settings, s->instance, s->mark, &s->ends, &theirs,
                        &s->reaper, err);
    if (r == MCPLUG_OK)
        s->lines->attach(s->framer, MCPLUG_LINES_PIPE, s->ends.to_stdin, s->in_watch, 0);
    stdio_far_ends_close(&theirs);
    return r;
}

static int stdio_open(void *ctx, mcplug_conn *conn, const mcplug_props *settings,
                      void **out, struct mcplug_error *err)
{
    struct module *module = ctx;
    const struct mcplug_host *host = module->host;
    const char *command = host->diag->prop(settings, "command");
    if (command == NULL || command[0] == '\0')
        return host->diag->fail(err, MCPLUG_ECONFIG, "command is empty");
    const char *clean_up = host->diag->prop_list(settings, "cleanUp")[0];
    if (clean_up != NULL && clean_up[0] == '\0')
        return host->diag->fail(err, MCPLUG_ECONFIG, "cleanUp begins with an empty word");
    struct stdio_server *s = server_new(module, conn, settings);
    if (s == NULL)
        return host->diag->fail(err, MCPLUG_ENOMEM, "out of memory");
    int r = server_start(s, settings, err);
    if (r == MCPLUG_OK) {
        *out = s;
    } else {
        stdio_server_release(s);
        server_free(s);
    }
    return r;
}

static int stdio_send(void *t, mcplug_buf *frame, const struct mcplug_envelope *env,
                      struct mcplug_error *err)
{
    struct stdio_server *s = t;
    int r = s->lines->send(s->framer, frame, env, err);
    if (r < 0 && s->lines->broken(s->framer) != 0)
        stdio_server_fail(s, s->lines->broken(s->framer));
    return r;
}

static void stdio_flush(void *t)
{
    stdio_streams_on_stdin(t, MCPLUG_WRITABLE);
}

/* In any other phase the end is on its way already. */
static void stdio_close(void *t)
{
    struct stdio_server *s = t;
    if (s->phase <= STDIO_MUTE) {
        s->asked = true;
        stdio_server_enter(s, STDIO_LEAVING);
    }
}

static uint64_t stdio_unread(void *t)
{
    struct stdio_server *s = t;
    int bytes = 0;
    if (s->ends.to_stdin < 0 || ioctl(s->ends.to_stdin, FIONREAD, &bytes) != 0)
        return 0;
    return (uint64_t)bytes;
}

static void stdio_destroy(void *t)
{
    server_free(t);
}

static int stdio_init(const struct mcplug_host *host, mcplug_self *self, void **ctx,
                      struct mcplug_error *err)
{
    const struct mcplug_lines *lines = host->service(self, "lines", 1);
    if (lines == NULL)
        return host->diag->fail(err, MCPLUG_ENOTSUP, "this core has no service lines 1");
    struct module *module = host->mem->alloc(sizeof *module);
    unsigned char *chunk = host->mem->resize(NULL, STDIO_CHUNK); /* not zeroed */
    if (module == NULL || chunk == NULL) {
        host->mem->free(module);
        host->mem->free(chunk);
        return host->diag->fail(err, MCPLUG_ENOMEM, "out of memory");
    }
    *module = (struct module){host, self, lines, chunk, false};
    *ctx = module;
    return MCPLUG_OK;
}

static void stdio_fini(void *ctx)
{
    struct module *module = ctx;
    const struct mcplug_mem *mem = module->host->mem;
    mem->free(module->chunk);
    mem->free(module);
}

static const struct mcplug_option options[] = {
    {"command", "string", NULL, "program to run, looked for in PATH"},
    {"args", "list", NULL, "its arguments"},
    {"env", "map", NULL, "variables to add to its environment"},
    {"cwd", "string", "", "directory to run it in"},
    {"inheritEnv", "string", "true",
     "which environment variables it inherits: true, false, or names with commas"},
    {"closeGrace", "duration", "2s",
     "how long it may take to exit after its stdin is closed"},
    {"termGrace", "duration", "2s",
     "how long it may take to exit after SIGTERM, before SIGKILL"},
    {"cleanUp", "list", NULL,
     "program and arguments to run after the server has ended, for at most 10 s"},
    {"instance", "string", "",
     "a name such as srv-XXXXXXXX; in args and cleanUp it is replaced by a name unique "
     "to this start"},
    {NULL, NULL, NULL, NULL},
};

static const struct mcplug_transport_ops ops = {
    .struct_size = sizeof ops,
    .open = stdio_open,
    .send = stdio_send,
    .close = stdio_close,
    .destroy = stdio_destroy,
    .unread = stdio_unread,
    .flush = stdio_flush,
};

static const struct mcplug_feature features[] = {
    {
        .kind = MCPLUG_TRANSPORT,
        .name = "stdio",
        .summary = "a local program, over its stdin and stdout",
        .options = options,
        .ops = &ops,
    },
};

MCPLUG_PLUGIN(stdio) = {
    MCPLUG_HEAD(4),     MCPLUG_FEATURES(features),
    .name = "stdio",    .version = "1.0",
    .license = "MIT",   .summary = "Servers that are local programs",
    .init = stdio_init, .fini = stdio_fini,
};
