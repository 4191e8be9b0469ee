/* main.c - options, sockets, and the loop around one client at a time. */
#include "server.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <netdb.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

static const char usage[] =
    "Usage: " SERVER_NAME " [OPTION]...\n"
    "An MCP server to try hosts against, on stdin and stdout.\n"
    "\n"
    "  --era both|modern|legacy  which protocol revisions to speak (both)\n"
    "  --socket unix:PATH        listen on a unix socket instead of stdio\n"
    "  --socket tcp:HOST:PORT    listen on TCP; port 0 takes any free one\n"
    "  --tools N                 add N generated tools, gen_0000 and on\n"
    "  --page N                  give lists in pages of N items\n"
    "  --help, --version\n"
    "\n"
    "Legacy clients get log messages of level info and above until they set\n"
    "another level.\n";

static volatile sig_atomic_t told_to_end;

static void on_signal(int number)
{
    (void)number;
    told_to_end = 1;
}

static _Noreturn void die(const char *what, const char *why)
{
    fprintf(stderr, SERVER_NAME ": %s: %s\n", what, why);
    exit(2);
}

/* ---- one client ---- */

/* Handles whole lines while there is room for answers. True: some are left. */
static bool handle_lines(struct peer *p)
{
    while (p->backlog < BACKLOG_LIMIT) {
        size_t len;
        const char *line = peer_line(p, &len);
        if (!line)
            return false;
        if (len > 0)
            peer_handle(p, line, len);
    }
    return true;
}

/* Waits for input if `reading`, for room if there is output, or for time. */
static void await(struct peer *p, bool reading, int timeout_ms, const sigset_t *mask)
{
    struct pollfd fds[2] = {
        {.fd = reading ? p->in : -1, .events = POLLIN},
        {.fd = p->backlog ? p->out : -1, .events = POLLOUT},
    };
    struct timespec t = {timeout_ms / 1000, timeout_ms % 1000 * 1000000L};

    int n = ppoll(fds, 2, timeout_ms < 0 ? NULL : &t, mask);
    if (n > 0 && fds[0].revents)
        peer_fill(p);
}

/* Serves until the client is gone, or has closed its side and has been given
 * all answers; calls still waiting then are dropped. */
static void serve(struct world *w, int in, int out, const sigset_t *mask)
{
    struct peer p;

    peer_init(&p, w, in, out);
    while (!told_to_end) {
        bool more = handle_lines(&p);
        int timeout_ms = calls_tick(&p);
        if (p.eof && !more)
            listens_finish(&p);
        if (peer_flush(&p) < 0 || (p.eof && !more && !p.backlog))
            break;
        if (more && p.backlog < BACKLOG_LIMIT)
            continue;
        await(&p, !p.eof && !more, timeout_ms, mask);
    }
    if (told_to_end) {
        listens_finish(&p);
        peer_flush(&p);
    }
    peer_clear(&p);
}

/* Pipes and sockets are ours alone; a terminal or a file is left as it is. */
static void unblock(int fd)
{
    struct stat st;

    if (fstat(fd, &st) == 0 && (S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode)))
        fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
}

/* ---- sockets ---- */

static int listen_unix(const char *path)
{
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    struct stat st;
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (strlen(path) >= sizeof a.sun_path)
        die(path, "path too long for a socket");
    strcpy(a.sun_path, path);
    if (lstat(path, &st) == 0 && S_ISSOCK(st.st_mode))
        unlink(path); /* left over from a run that was killed */
    if (fd < 0 || bind(fd, (struct sockaddr *)&a, sizeof a) < 0 || listen(fd, 64) < 0)
        die(path, strerror(errno));
    fprintf(stderr, "listening on unix:%s\n", path);
    return fd;
}

static int port_of(int fd)
{
    struct sockaddr_storage a;
    socklen_t len = sizeof a;
    char port[NI_MAXSERV];

    if (getsockname(fd, (struct sockaddr *)&a, &len) < 0 ||
        getnameinfo((struct sockaddr *)&a, len, NULL, 0, port, sizeof port,
                    NI_NUMERICSERV))
        die("tcp", strerror(errno));
    return atoi(port);
}

static int listen_tcp(const char *address)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE}, *found;
    char *host = must(strdup(address)), *port = strrchr(host, ':');
    char *bare = host;
    int fd, one = 1;

    if (!port)
        die(address, "expected HOST:PORT");
    *port++ = '\0';
    if (*bare == '[' && port[-2] == ']') { /* [::1]:80 */
        port[-2] = '\0';
        bare++;
    }
    int r = getaddrinfo(*bare ? bare : NULL, port, &hints, &found);
    if (r)
        die(address, gai_strerror(r));
    fd = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one) < 0 ||
        bind(fd, found->ai_addr, found->ai_addrlen) < 0 || listen(fd, 64) < 0)
        die(address, strerror(errno));
    fprintf(stderr, "listening on tcp:%.*s:%d\n", (int)(strrchr(address, ':') - address),
            address, port_of(fd));
    freeaddrinfo(found);
    free(host);
    return fd;
}

/* Serves clients one after the other; the next ones wait in the kernel. */
static void serve_socket(struct world *w, const char *where, const sigset_t *mask)
{
    bool local = !strncmp(where, "unix:", 5);
    int fd;

    if (!local && strncmp(where, "tcp:", 4) != 0)
        die(where, "expected unix:PATH or tcp:HOST:PORT");
    fd = local ? listen_unix(where + 5) : listen_tcp(where + 4);
    while (!told_to_end) {
        struct pollfd ready = {.fd = fd, .events = POLLIN};
        if (ppoll(&ready, 1, NULL, mask) <= 0)
            continue;
        int client = accept4(fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (client < 0)
            continue;
        serve(w, client, client, mask);
        close(client);
    }
    close(fd);
    if (local)
        unlink(where + 5);
}

/* ---- start ---- */

static size_t number(const char *text, size_t most)
{
    char *end;
    unsigned long n = strtoul(text, &end, 10);

    if (*text < '0' || *text > '9' || *end || n > most)
        die(text, "not a number I can use");
    return n;
}

static enum era era_of(const char *name)
{
    if (!strcmp(name, "both"))
        return ERA_BOTH;
    if (!strcmp(name, "modern"))
        return ERA_MODERN;
    if (strcmp(name, "legacy") != 0)
        die(name, "no such era");
    return ERA_LEGACY;
}

static void parse(int argc, char **argv, struct options *opt)
{
    static const struct option known[] = {
        {"era", required_argument, NULL, 'e'},
        {"socket", required_argument, NULL, 's'},
        {"tools", required_argument, NULL, 't'},
        {"page", required_argument, NULL, 'p'},
        {"help", no_argument, NULL, 'h'},
        {"version", no_argument, NULL, 'v'},
        {NULL, 0, NULL, 0},
    };
    int c;

    while ((c = getopt_long(argc, argv, "", known, NULL)) != -1) {
        if (c == 'e')
            opt->era = era_of(optarg);
        else if (c == 's')
            opt->socket = optarg;
        else if (c == 't')
            opt->tools = number(optarg, TOOL_LIMIT);
        else if (c == 'p')
            opt->page = number(optarg, TOOL_LIMIT);
        else if (c == 'h')
            exit(fputs(usage, stdout) < 0);
        else if (c == 'v')
            exit(puts(SERVER_NAME " " SERVER_VERSION) < 0);
        else
            exit(2);
    }
    if (optind < argc)
        die(argv[optind], "unexpected argument");
}

/* Signals arrive only while the loop waits, so none is missed. */
static void catch_signals(sigset_t *waiting)
{
    struct sigaction end = {.sa_handler = on_signal};
    sigset_t held;

    signal(SIGPIPE, SIG_IGN);
    sigemptyset(&held);
    sigaddset(&held, SIGTERM);
    sigaddset(&held, SIGINT);
    sigprocmask(SIG_BLOCK, &held, waiting);
    sigdelset(waiting, SIGTERM);
    sigdelset(waiting, SIGINT);
    sigaction(SIGTERM, &end, NULL);
    sigaction(SIGINT, &end, NULL);
}

int main(int argc, char **argv)
{
    struct world w = {.opt = {.era = ERA_BOTH}};
    sigset_t mask;

    parse(argc, argv, &w.opt);
    catch_signals(&mask);
    world_init(&w);
    if (w.opt.socket) {
        serve_socket(&w, w.opt.socket, &mask);
    } else {
        unblock(STDIN_FILENO);
        unblock(STDOUT_FILENO);
        serve(&w, STDIN_FILENO, STDOUT_FILENO, &mask);
    }
    world_clear(&w);
    return 0;
}
