/* socket: transports "unix" and "tcp", one message a line over a stream socket.
 *
 * The worked example of a custom transport: what a real one needs (settings, a
 * slow start, partial reads and writes, errors, an end at any time) and nothing
 * else. From top to bottom: ending, reading and writing, connecting,
 * what the core sees. Addresses and names have files of their own; plugins/echo is a
 * smaller one to begin with.
 */
#include "../common/fds.h"
#include "address.h"
#include "../common/ip.h"
#include "../common/lookup.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#define CHUNK 65536               /* read at once */
#define QUEUE_CEILING (64u << 20) /* the core's own limit comes first */

/* What init() got, for one host of possibly many. */
struct module {
    const struct mcplug_host *host;
    mcplug_self *self;
    const struct mcplug_lines *lines;
    struct lookups *lookups;
    unsigned char *chunk; /* what one read brings is fed before the next */
};

struct link {
    const struct mcplug_host *host;
    mcplug_self *self;
    mcplug_conn *conn;
    struct socket_address where;
    struct lookups *lookups;
    struct lookup *lookup;    /* while a name is looked up */
    struct addrinfo *all;     /* what was found .. */
    struct addrinfo *untried; /* .. and where to go on should this one fail */
    int fd;                   /* -1: none */
    mcplug_watch *watch;
    int is_open, is_over;
    const struct mcplug_lines *lines;
    mcplug_framer *framer;
    unsigned char *chunk; /* CHUNK bytes, for one read; all connections share it */
};

static int fail_os(const struct link *l, struct mcplug_error *err, int code, int os_error,
                   const char *what)
{
    return l->host->diag->fail_os(err, code, os_error, "%s %s", what, l->where.text);
}

/* ---- ending --------------------------------------------------------------- */

static void hang_up(struct link *l)
{
    if (l->watch != NULL)
        l->host->loop->watch_stop(l->watch); /* before its descriptor is closed */
    l->watch = NULL;
    if (l->fd >= 0)
        close(l->fd);
    l->fd = -1;
}

/* The end, once; the core answers with destroy(). */
static void end(struct link *l, const struct mcplug_error *why)
{
    if (l->is_over)
        return;
    l->is_over = 1;
    l->lines->detach(l->framer);
    hang_up(l);
    l->host->wire->closed(l->conn, why);
}

/* ---- reading and writing -------------------------------------------------- */

/* Reads once for each event, so that a peer that floods us leaves room for the
 * others. The core puts the pieces together. */
static void receive(struct link *l)
{
    struct mcplug_error why = MCPLUG_ERROR_INIT;
    ssize_t n = recv(l->fd, l->chunk, CHUNK, 0);
    if (n > 0) {
        l->lines->feed(l->framer, (struct mcplug_bytes){l->chunk, (size_t)n});
        return;
    }
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n == 0)
        l->host->diag->fail(&why, MCPLUG_ECLOSED, "%s: the server closed the connection",
                            l->where.text);
    else
        fail_os(l, &why, MCPLUG_ECLOSED, errno, "cannot read from");
    l->lines->end(l->framer);
    end(l, &why);
}

static void write_failed(struct link *l)
{
    struct mcplug_error why = MCPLUG_ERROR_INIT;
    fail_os(l, &why, MCPLUG_ECLOSED, l->lines->broken(l->framer), "cannot write to");
    end(l, &why);
}

static int socket_send(void *t, mcplug_buf *frame, const struct mcplug_envelope *env,
                       struct mcplug_error *err)
{
    struct link *l = t;
    int r = l->lines->send(l->framer, frame, env, err);
    if (r < 0 && l->lines->broken(l->framer) != 0)
        write_failed(l);
    return r;
}

static void socket_flush(void *t)
{
    struct link *l = t;
    if (l->lines->flush(l->framer, NULL) != MCPLUG_OK)
        write_failed(l);
}

/* ---- connecting ----------------------------------------------------------- */

static void on_event(void *arg, unsigned events);

/* A peer that vanished without a word is noticed within a minute. */
static void tune_tcp(int fd)
{
    const struct {
        int level, option, value;
    } wanted[] = {
        {IPPROTO_TCP, TCP_NODELAY, 1},   {SOL_SOCKET, SO_KEEPALIVE, 1},
        {IPPROTO_TCP, TCP_KEEPIDLE, 30}, {IPPROTO_TCP, TCP_KEEPINTVL, 10},
        {IPPROTO_TCP, TCP_KEEPCNT, 3},   {IPPROTO_TCP, TCP_USER_TIMEOUT, 30000},
    };
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++)
        setsockopt(fd, wanted[i].level, wanted[i].option, &wanted[i].value, sizeof(int));
}

/* Begins with one address. After success on_event() learns what comes of it. */
static int dial(struct link *l, const struct sockaddr *to, socklen_t len,
                struct mcplug_error *err)
{
    l->fd =
        fds_high(socket(to->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    if (l->fd >= 0 && to->sa_family != AF_UNIX)
        tune_tcp(l->fd);
    if (l->fd >= 0 && (connect(l->fd, to, len) == 0 || errno == EINPROGRESS))
        l->watch =
            l->host->loop->watch_start(l->self, l->fd, MCPLUG_WRITABLE, on_event, l);
    if (l->watch != NULL)
        return MCPLUG_OK;
    int os_error = errno;
    hang_up(l);
    return fail_os(l, err, MCPLUG_EREFUSED, os_error, "cannot connect to");
}

/* The administrator's policy denies it, whatever name led there. */
static int fail_denied(const struct link *l, const char *address,
                       struct mcplug_error *err)
{
    return l->host->diag->fail(
        err, MCPLUG_EREFUSED,
        "cannot connect to %s: its address %s is blocked by enterprise policy",
        l->where.text, address);
}

/* Goes on to the next address; `why` ends up as the last one's failure. */
static void dial_next(struct link *l, struct mcplug_error *why)
{
    char denied[IP_TEXT];
    while (l->untried != NULL) {
        struct addrinfo *to = l->untried;
        l->untried = to->ai_next;
        if (ip_is_denied_socket(l->where.denied, to->ai_addr, denied))
            fail_denied(l, denied, why);
        else if (dial(l, to->ai_addr, to->ai_addrlen, why) == MCPLUG_OK)
            return;
    }
    end(l, why);
}

static void on_lookup(void *arg, struct addrinfo *found, const char *reason, int os_error)
{
    struct link *l = arg;
    struct mcplug_error why = MCPLUG_ERROR_INIT;
    l->lookup = NULL;
    l->all = l->untried = found;
    if (found == NULL) {
        l->host->diag->fail(&why, MCPLUG_EREFUSED, "cannot find %s: %s", l->where.text,
                            reason);
        why.os_error = os_error;
    }
    dial_next(l, &why);
}

static void connected_or_not(struct link *l)
{
    struct mcplug_error why = MCPLUG_ERROR_INIT;
    char denied[IP_TEXT];
    int os_error = 0;
    socklen_t len = sizeof os_error;
    getsockopt(l->fd, SOL_SOCKET, SO_ERROR, &os_error, &len);
    if (os_error == 0 && l->where.denied != NULL &&
        ip_is_denied_peer(l->where.denied, l->fd, denied)) {
        hang_up(l);
        fail_denied(l, denied, &why);
        dial_next(l, &why);
        return;
    }
    if (os_error == 0 && l->host->loop->watch_update(l->watch, MCPLUG_READABLE) != 0)
        os_error = EIO;
    if (os_error != 0) {
        hang_up(l);
        fail_os(l, &why, MCPLUG_EREFUSED, os_error, "cannot connect to");
        dial_next(l, &why);
        return;
    }
    l->is_open = 1;
    l->lines->attach(l->framer, MCPLUG_LINES_SOCKET, l->fd, l->watch, MCPLUG_READABLE);
    l->host->wire->describe(l->conn, "peer", l->where.text);
    l->host->wire->opened(l->conn);
}

static void on_event(void *arg, unsigned events)
{
    struct link *l = arg;
    if (!l->is_open)
        connected_or_not(l);
    else if (events & MCPLUG_WRITABLE && l->lines->flush(l->framer, NULL) != MCPLUG_OK)
        write_failed(l);
    else if (events & MCPLUG_READABLE)
        receive(l);
}

/* ---- what the core sees --------------------------------------------------- */

static void socket_close(void *t)
{
    end(t, NULL);
}

static void socket_destroy(void *t)
{
    struct link *l = t;
    lookup_stop(l->lookup);
    l->lines->free(l->framer);
    hang_up(l);
    if (l->all != NULL)
        freeaddrinfo(l->all);
    l->host->mem->free(l);
}

static int start(struct link *l, struct mcplug_error *err)
{
    if (l->where.node[0] == '\0')
        return dial(l, (struct sockaddr *)&l->where.un, sizeof l->where.un, err);
    l->lookup = lookup_start(l->lookups, l->where.node, l->where.port, on_lookup, l);
    return l->lookup != NULL
               ? MCPLUG_OK
               : fail_os(l, err, errno == ENOMEM ? MCPLUG_ENOMEM : MCPLUG_EIO, errno,
                         "cannot look up");
}

/* After a failure there is nothing to destroy. */
static int link_open(const struct module *module, mcplug_conn *conn,
                     const struct socket_address *where, void **out,
                     struct mcplug_error *err)
{
    const struct mcplug_host *host = module->host;
    struct link *l = host->mem->alloc(sizeof *l);
    if (l == NULL)
        return host->diag->fail(err, MCPLUG_ENOMEM, "out of memory");
    l->host = host;
    l->self = module->self;
    l->conn = conn;
    l->where = *where;
    l->fd = -1;
    l->lookups = module->lookups;
    l->lines = module->lines;
    l->chunk = module->chunk;
    l->framer = l->lines->create(host, conn, QUEUE_CEILING);
    int r = l->framer != NULL ? start(l, err)
                              : host->diag->fail(err, MCPLUG_ENOMEM, "out of memory");
    if (r == MCPLUG_OK)
        *out = l;
    else
        socket_destroy(l);
    return r;
}

static int unix_open(void *ctx, mcplug_conn *conn, const mcplug_props *settings,
                     void **out, struct mcplug_error *err)
{
    const struct module *module = ctx;
    struct socket_address where;
    int r = socket_address_unix(module->host, settings, &where, err);
    return r == MCPLUG_OK ? link_open(module, conn, &where, out, err) : r;
}

static int tcp_open(void *ctx, mcplug_conn *conn, const mcplug_props *settings,
                    void **out, struct mcplug_error *err)
{
    const struct module *module = ctx;
    struct socket_address where;
    int r = socket_address_tcp(module->host, settings, &where, err);
    return r == MCPLUG_OK ? link_open(module, conn, &where, out, err) : r;
}

static int socket_init(const struct mcplug_host *host, mcplug_self *self, void **ctx,
                       struct mcplug_error *err)
{
    const struct mcplug_lines *lines = host->service(self, "lines", 1);
    if (lines == NULL)
        return host->diag->fail(err, MCPLUG_ENOTSUP, "this core has no service lines 1");
    struct module *module = host->mem->alloc(sizeof *module);
    unsigned char *chunk = host->mem->resize(NULL, CHUNK); /* not zeroed */
    struct lookups *lookups = lookups_new(host, self);
    if (module == NULL || chunk == NULL || lookups == NULL) {
        lookups_free(lookups);
        host->mem->free(module);
        host->mem->free(chunk);
        return host->diag->fail(err, MCPLUG_ENOMEM, "out of memory");
    }
    *module = (struct module){host, self, lines, lookups, chunk};
    *ctx = module;
    return MCPLUG_OK;
}

static void socket_fini(void *ctx)
{
    struct module *module = ctx;
    const struct mcplug_mem *mem = module->host->mem;
    lookups_free(module->lookups);
    mem->free(module->chunk);
    mem->free(module);
}

static const struct mcplug_option unix_options[] = {
    {"path", "string", "", "the socket's path; this or url is needed"},
    {"url", "url", "", "unix:PATH"},
    {NULL, NULL, NULL, NULL},
};

static const struct mcplug_option tcp_options[] = {
    {"host", "string", "", "name or address; host and port, or url, are needed"},
    {"port", "int", "", "1 to 65535"},
    {"url", "url", "", "tcp:HOST:PORT, tcp://HOST:PORT, tcp:[IPV6]:PORT"},
    {"denyAddresses", "addresses", "",
     "set by the policy: what must not be connected to"},
    {NULL, NULL, NULL, NULL},
};

static const struct mcplug_transport_ops unix_ops = {
    .struct_size = sizeof unix_ops,
    .open = unix_open,
    .send = socket_send,
    .close = socket_close,
    .destroy = socket_destroy,
    .flush = socket_flush,
};

static const struct mcplug_transport_ops tcp_ops = {
    .struct_size = sizeof tcp_ops,
    .open = tcp_open,
    .send = socket_send,
    .close = socket_close,
    .destroy = socket_destroy,
    .flush = socket_flush,
};

static const char *const unix_schemes[] = {"unix", NULL};
static const char *const tcp_schemes[] = {"tcp", NULL};

static const struct mcplug_feature features[] = {
    {
        .kind = MCPLUG_TRANSPORT,
        .name = "unix",
        .summary = "a server behind a Unix socket, one message a line",
        .accepts = unix_schemes,
        .options = unix_options,
        .ops = &unix_ops,
    },
    {
        .kind = MCPLUG_TRANSPORT,
        .name = "tcp",
        .summary = "a server behind a TCP port, one message a line",
        .accepts = tcp_schemes,
        .options = tcp_options,
        .ops = &tcp_ops,
    },
};

MCPLUG_PLUGIN(socket) = {
    MCPLUG_HEAD(4),      MCPLUG_FEATURES(features),
    .name = "socket",    .version = "1.0",
    .license = "MIT",    .summary = "Servers behind a stream socket",
    .init = socket_init, .fini = socket_fini,
};
