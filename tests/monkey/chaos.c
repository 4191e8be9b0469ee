/* The way to a server that does not work as it should, for monkey.c:
 *
 *   chaos SEED BOOK pipe PEER [ARG]..       from our stdin and stdout to those of PEER
 *   chaos SEED BOOK port PEER [ARG]..       from a port to the one that PEER says
 *   chaos SEED BOOK each PEER [ARG]..       a PEER for each connection to a port
 *   chaos SEED BOOK unix:PATH PEER [ARG]..  the same for a unix socket
 *
 * BOOK is the page of book.h. Ports are of 127.0.0.1; what listens says on stdout where,
 * and runs until its stdin ends. One letter each on stdin:
 *
 *   k   kills the PEER of "port" and starts it again
 *   x   ends all connections */
#include "book.h"
#include "../unit/now.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PAIRS = 500, ROOM = 64 * 1024, ONE_IN = 30, DELAY_MS = 400 };

/* What was read at one end and is not written at the other yet. */
struct way {
    size_t from, to;
    bool over;   /* the end that is read has ended */
    bool pieces; /* byte by byte */
    double not_before;
    char data[2 * ROOM];
};

struct pair {
    int in[2], out[2]; /* the host's end, the peer's; in == out for sockets */
    struct way way[2];
    pid_t peer; /* 0: it has none of its own */
    bool cut, silent;
};

static struct pair *pairs[PAIRS];
static unsigned n_pairs;
static struct book *book;
static uint64_t luck;
static char **peer_argv;
static bool is_pipe, is_each;
static int door = -1, lifeline = -1, peer_port;
static pid_t peer;

static _Noreturn void die(const char *what)
{
    fprintf(stderr, "chaos: %s: %s\n", what, strerror(errno));
    exit(1);
}

static struct sockaddr_in here(int port)
{
    return (struct sockaddr_in){.sin_family = AF_INET,
                                .sin_port = htons((uint16_t)port),
                                .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
}

/* ---- peers ---- */

static pid_t run(int in, int out)
{
    pid_t pid = fork();

    if (pid < 0)
        die("fork");
    if (pid == 0) {
        dup2(in, STDIN_FILENO);
        dup2(out, STDOUT_FILENO);
        if (!is_pipe) /* else it is the library that has to find it */
            prctl(PR_SET_PDEATHSIG, SIGKILL);
        execv(peer_argv[0], peer_argv);
        _exit(127);
    }
    return pid;
}

static void peer_start(void)
{
    int in[2], out[2];
    char line[64] = "";

    if (pipe2(in, O_CLOEXEC) != 0 || pipe2(out, O_CLOEXEC) != 0)
        die("pipe");
    peer = run(in[0], out[1]);
    close(in[0]);
    close(out[1]);
    lifeline = in[1];
    for (size_t n = 0; !strchr(line, '\n'); n++)
        if (n == sizeof line - 1 || read(out[0], line + n, 1) != 1)
            die(peer_argv[0]);
    close(out[0]);
    peer_port = atoi(line);
}

static void peer_end(void)
{
    if (!peer)
        return;
    kill(peer, SIGKILL);
    waitpid(peer, NULL, 0);
    close(lifeline);
    peer = 0;
}

/* ---- pairs ---- */

static struct pair *pair_new(int in, int out)
{
    struct pair *p = n_pairs < PAIRS ? calloc(1, sizeof *p) : NULL;

    if (!p)
        return NULL;
    p->in[0] = in;
    p->out[0] = out;
    p->in[1] = p->out[1] = -1;
    return p;
}

/* Its other end: a connection to the peer, or a peer of its own. */
static bool pair_connect(struct pair *p)
{
    struct sockaddr_in a = here(peer_port);
    int ends[2];

    if (!is_pipe && !is_each) {
        int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        p->in[1] = p->out[1] = fd;
        return fd >= 0 && (connect(fd, (struct sockaddr *)&a, sizeof a) == 0 ||
                           errno == EINPROGRESS);
    }
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
        return false;
    p->in[1] = p->out[1] = ends[0];
    fcntl(ends[0], F_SETFL, O_NONBLOCK);
    p->peer = run(ends[1], ends[1]);
    close(ends[1]);
    return true;
}

static void pair_free(struct pair *p, bool reset)
{
    struct linger now = {1, 0};

    for (int side = 0; side < 2; side++) {
        if (reset && p->in[side] >= 0)
            setsockopt(p->in[side], SOL_SOCKET, SO_LINGER, &now, sizeof now);
        if (p->in[side] >= 0)
            close(p->in[side]);
        if (p->out[side] != p->in[side])
            close(p->out[side]);
    }
    if (p->peer && reset)
        kill(p->peer, SIGKILL);
    free(p);
}

static void pair_end(unsigned i, bool reset)
{
    pair_free(pairs[i], reset);
    pairs[i] = pairs[--n_pairs];
}

static bool is_struck(void)
{
    return !book->calm && drawn(&luck, ONE_IN) == 0;
}

static void welcome(void)
{
    int fd = accept4(door, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    struct pair *p = fd >= 0 ? pair_new(fd, fd) : NULL;
    bool refused = p && is_struck();

    if (refused)
        book->faults[REFUSE]++;
    if (p && !refused && pair_connect(p))
        pairs[n_pairs++] = p;
    else if (p)
        pair_free(p, true);
    else if (fd >= 0)
        close(fd);
}

/* ---- what goes wrong ---- */

/* To what has just been read. False: the pair is to end at once. */
static bool strike(struct pair *p, struct way *w)
{
    enum fault fault = drawn(&luck, REFUSE);
    size_t len = w->to - w->from;

    book->faults[fault]++;
    switch (fault) {
    case CUT:
        w->to = w->from + drawn(&luck, len);
        p->cut = true;
        break;
    case RESET:
        return false;
    case CORRUPT:
        w->data[w->from + drawn(&luck, len)] = (char)drawn(&luck, 256);
        break;
    case DUPLICATE:
        memcpy(w->data + w->to, w->data + w->from, len);
        w->to += len;
        break;
    case DROP:
        w->to = w->from;
        break;
    case DELAY:
        w->not_before = now_ms() + (double)drawn(&luck, DELAY_MS);
        break;
    case PIECES:
        w->pieces = true;
        break;
    default:
        p->silent = true;
        break;
    }
    return true;
}

/* ---- moving ---- */

static bool is_harmless(void)
{
    return errno == EAGAIN || errno == EINTR || errno == ENOTCONN;
}

/* False: it is broken. */
static bool fill(struct pair *p, int side)
{
    struct way *w = &p->way[side];
    ssize_t n = read(p->in[side], w->data, ROOM);

    if (n < 0)
        return is_harmless();
    w->from = 0;
    w->to = (size_t)n;
    w->over = n == 0;
    w->pieces = false;
    if (p->silent)
        w->to = 0;
    else if (n > 0 && is_struck())
        return strike(p, w);
    if (w->over && !p->silent && shutdown(p->out[!side], SHUT_WR) != 0 && is_pipe)
        return false; /* our stdout: there is no one left to talk to */
    return true;
}

static bool drain(struct pair *p, int side)
{
    struct way *w = &p->way[side];
    size_t len = w->pieces ? 1 : w->to - w->from;
    ssize_t n = write(p->out[!side], w->data + w->from, len);

    if (n < 0)
        return is_harmless();
    w->from += (size_t)n;
    return true;
}

static bool is_empty(const struct way *w)
{
    return w->from == w->to;
}

static bool move(struct pair *p, int side, double now)
{
    struct way *w = &p->way[side];

    if (is_empty(w) && !w->over && !p->cut && !fill(p, side))
        return false;
    return is_empty(w) || w->not_before > now || drain(p, side);
}

/* Runs what can be run. False: it is over. */
static bool pair_move(struct pair *p)
{
    double now = now_ms();

    if (!move(p, 0, now) || !move(p, 1, now))
        return false;
    if (!is_empty(&p->way[0]) || !is_empty(&p->way[1]))
        return true;
    if (p->silent) /* a host that has gone is noticed, whatever else is not */
        return is_pipe || !p->way[0].over;
    return !p->cut && !(p->way[0].over && p->way[1].over);
}

/* ---- life ---- */

static void end(int status)
{
    while (n_pairs)
        pair_end(0, true);
    peer_end();
    exit(status);
}

static void obey(void)
{
    char c;
    ssize_t n = read(STDIN_FILENO, &c, 1);

    if (n < 0 && errno == EINTR)
        return;
    if (n <= 0)
        end(0);
    while (n_pairs)
        pair_end(0, true);
    if (c == 'k' && peer) {
        peer_end();
        peer_start();
    }
}

static void turn(void)
{
    static struct pollfd set[2 + 4 * PAIRS];
    double now = now_ms();
    int wait = -1;
    nfds_t n = 0;

    set[n++] = (struct pollfd){.fd = is_pipe ? -1 : STDIN_FILENO, .events = POLLIN};
    set[n++] = (struct pollfd){.fd = door, .events = POLLIN};
    for (unsigned i = 0; i < n_pairs; i++)
        for (int side = 0; side < 2; side++) {
            struct pair *p = pairs[i];
            struct way *w = &p->way[side];
            bool held = !is_empty(w) && w->not_before > now;
            bool reads = is_empty(w) && !w->over && !p->cut;
            if (held && (wait < 0 || w->not_before - now < wait))
                wait = (int)(w->not_before - now) + 1;
            set[n++] = (struct pollfd){.fd = reads ? p->in[side] : -1, .events = POLLIN};
            set[n++] = (struct pollfd){.fd = is_empty(w) || held ? -1 : p->out[!side],
                                       .events = POLLOUT};
        }
    if (poll(set, n, wait) < 0 && errno != EINTR)
        die("poll");
    for (unsigned i = n_pairs; i-- > 0;) {
        short got = 0;
        for (int k = 0; k < 4; k++)
            got |= set[2 + 4 * i + k].revents;
        if ((got || wait >= 0) && !pair_move(pairs[i]))
            pair_end(i, drawn(&luck, 2));
    }
    if (is_pipe && !n_pairs)
        end(0);
    if (set[1].revents)
        welcome();
    if (set[0].revents)
        obey();
}

static void listen_at(const char *path)
{
    struct sockaddr_un un = {.sun_family = AF_UNIX};
    struct sockaddr_in in = here(0);
    socklen_t len = sizeof in;

    door =
        socket(path ? AF_UNIX : AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (path)
        snprintf(un.sun_path, sizeof un.sun_path, "%s", path);
    if (door < 0 ||
        bind(door, path ? (struct sockaddr *)&un : (struct sockaddr *)&in,
             path ? sizeof un : sizeof in) != 0 ||
        listen(door, 256) != 0)
        die("listen");
    if (!path && getsockname(door, (struct sockaddr *)&in, &len) != 0)
        die("getsockname");
    printf("%d\n", path ? 0 : ntohs(in.sin_port));
    fflush(stdout);
}

int main(int argc, char **argv)
{
    if (argc < 5) {
        fprintf(stderr, "chaos SEED BOOK pipe|port|each|unix:PATH PEER [ARG]..\n");
        return 2;
    }
    int fd = open(argv[2], O_RDWR | O_CLOEXEC);
    book = fd < 0 ? MAP_FAILED
                  : mmap(NULL, sizeof *book, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (book == MAP_FAILED)
        die(argv[2]);
    close(fd);
    luck = strtoull(argv[1], NULL, 10) ^ (uint64_t)(book->serial++) << 32;
    peer_argv = argv + 4;
    is_pipe = strcmp(argv[3], "pipe") == 0;
    is_each = !is_pipe && strcmp(argv[3], "port") != 0;
    signal(SIGPIPE, SIG_IGN);
    if (is_pipe || is_each)
        signal(SIGCHLD, SIG_IGN); /* they need not be waited for */
    if (is_pipe) {
        fcntl(STDIN_FILENO, F_SETFL, O_NONBLOCK);
        fcntl(STDOUT_FILENO, F_SETFL, O_NONBLOCK);
        pairs[0] = pair_new(STDIN_FILENO, STDOUT_FILENO);
        if (!pairs[0] || !pair_connect(pairs[0]))
            die(peer_argv[0]);
        n_pairs = 1;
    } else {
        if (!is_each)
            peer_start();
        listen_at(strncmp(argv[3], "unix:", 5) == 0 ? argv[3] + 5 : NULL);
    }
    for (;;)
        turn();
}
