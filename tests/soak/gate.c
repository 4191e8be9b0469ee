/* The way to a server of a network that dies and comes back, for soak.c:
 *
 *   gate [--toolless] PEER
 *
 * PEER is a program that says on which port of 127.0.0.1 it listens and runs until its
 * stdin is closed. The gate says a port of its own, the same for as long as it lives, and
 * hands every connection on. While there is no peer, its port refuses. One letter each on
 * stdin:
 *
 *   k   kills the peer; another one comes 100 ms later
 *   s   stops it (SIGSTOP)
 *   c   lets it go on
 *   r   resets all connections, on both sides
 *
 * At the end of stdin everything goes. A peer that ends by itself comes back too. With
 * --toolless nobody hears that the peer has tools: for one that can't list them. */
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
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { PAIRS = 1000, ROOM = 64 * 1024, PAUSE_MS = 100 };

/* One direction of a connection. */
struct way {
    size_t from, to; /* what is in `data` and not written yet */
    bool over;       /* the reading side has ended */
    char data[ROOM];
};

struct pair {
    int fd[2]; /* the host's, the peer's */
    struct way way[2];
};

static struct pair *pairs[PAIRS];
static unsigned n_pairs;
static int door = -1, lifeline = -1, news = -1, peer_port;
static pid_t peer;
static bool toolless;
static long long due; /* when the next peer starts; 0: there is one */

static _Noreturn void die(const char *what)
{
    fprintf(stderr, "gate: %s: %s\n", what, strerror(errno));
    exit(1);
}

static struct sockaddr_in here(int port)
{
    return (struct sockaddr_in){.sin_family = AF_INET,
                                .sin_port = htons((uint16_t)port),
                                .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
}

/* ---- the door ---- */

/* A port that was asked for by its number stays ours while nobody listens. */
static int take_port(void)
{
    struct sockaddr_in a = here(0);
    socklen_t len = sizeof a;
    int on = 1, fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (fd < 0 || bind(fd, (struct sockaddr *)&a, sizeof a) != 0 ||
        getsockname(fd, (struct sockaddr *)&a, &len) != 0)
        die("bind");
    close(fd);
    door = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (door < 0 || setsockopt(door, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0 ||
        bind(door, (struct sockaddr *)&a, sizeof a) != 0)
        die("bind");
    return ntohs(a.sin_port);
}

static void open_door(void)
{
    if (listen(door, 512) != 0)
        die("listen");
}

static void close_door(void)
{
    shutdown(door, SHUT_RDWR);
}

/* ---- connections ---- */

static void pair_end(unsigned i, bool reset)
{
    struct linger now = {1, 0};

    for (int side = 0; side < 2; side++) {
        if (reset)
            setsockopt(pairs[i]->fd[side], SOL_SOCKET, SO_LINGER, &now, sizeof now);
        close(pairs[i]->fd[side]);
    }
    free(pairs[i]);
    pairs[i] = pairs[--n_pairs];
}

static void reset_all(void)
{
    while (n_pairs)
        pair_end(0, true);
}

static void welcome(void)
{
    struct sockaddr_in a = here(peer_port);
    int fd = accept4(door, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    int on = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    struct pair *p = n_pairs < PAIRS ? malloc(sizeof *p) : NULL;

    if (fd < 0 || on < 0 || !p ||
        (connect(on, (struct sockaddr *)&a, sizeof a) != 0 && errno != EINPROGRESS)) {
        if (fd >= 0)
            close(fd);
        if (on >= 0)
            close(on);
        free(p);
        return;
    }
    p->fd[0] = fd;
    p->fd[1] = on;
    for (int i = 0; i < 2; i++) {
        p->way[i].from = p->way[i].to = 0;
        p->way[i].over = false;
    }
    pairs[n_pairs++] = p;
}

/* In what the peer says; what stands there instead is as long, and still JSON. */
static void hide_tools(char *data, size_t len)
{
    static const char tools[] = "\"tools\":{}";
    char *at = memmem(data, len, tools, sizeof tools - 1);

    if (at)
        memset(at, ' ', sizeof tools - 1);
}

/* Moves what can be moved from fd[side] to the other one. False: it is broken. */
static bool move(struct pair *p, int side)
{
    struct way *w = &p->way[side];
    ssize_t n;

    if (w->from == w->to && !w->over) {
        w->from = w->to = 0;
        n = recv(p->fd[side], w->data, ROOM, 0);
        if (n < 0)
            return errno == EAGAIN || errno == EINTR || errno == ENOTCONN;
        w->to = (size_t)n;
        w->over = n == 0;
        if (side == 1 && toolless)
            hide_tools(w->data, w->to);
        if (w->over)
            shutdown(p->fd[!side], SHUT_WR);
    }
    if (w->from < w->to) {
        n = send(p->fd[!side], w->data + w->from, w->to - w->from, MSG_NOSIGNAL);
        if (n < 0)
            return errno == EAGAIN || errno == EINTR || errno == ENOTCONN;
        w->from += (size_t)n;
    }
    return true;
}

/* What to wait for at that side. */
static short wants(const struct pair *p, int side)
{
    const struct way *in = &p->way[side], *out = &p->way[!side];

    return (short)((in->from == in->to && !in->over ? POLLIN : 0) |
                   (out->from < out->to ? POLLOUT : 0));
}

/* ---- the peer ---- */

static void peer_start(const char *path)
{
    int in[2], out[2];
    char line[64] = "";

    if (pipe2(in, O_CLOEXEC) != 0 || pipe2(out, O_CLOEXEC) != 0 || (peer = fork()) < 0)
        die(path);
    if (peer == 0) {
        dup2(in[0], STDIN_FILENO);
        dup2(out[1], STDOUT_FILENO);
        execl(path, path, (char *)NULL);
        _exit(127);
    }
    close(in[0]);
    close(out[1]);
    lifeline = in[1];
    news = out[0];
    for (size_t n = 0; !strchr(line, '\n'); n++)
        if (n == sizeof line - 1 || read(news, line + n, 1) != 1)
            die(path);
    peer_port = atoi(line);
    due = 0;
    open_door();
}

/* It is gone, or shall be. */
static void peer_end(void)
{
    if (due)
        return;
    close_door();
    kill(peer, SIGKILL);
    waitpid(peer, NULL, 0);
    close(lifeline);
    close(news);
    due = now_ms() + PAUSE_MS;
}

static void obey(void)
{
    char c;
    ssize_t n = read(STDIN_FILENO, &c, 1);

    if (n < 0 && errno == EINTR)
        return;
    if (n <= 0) {
        peer_end();
        exit(0);
    }
    if (c == 'k')
        peer_end();
    else if (c == 'r')
        reset_all();
    else if (!due && (c == 's' || c == 'c'))
        kill(peer, c == 's' ? SIGSTOP : SIGCONT);
}

/* ---- life ---- */

static void serve(struct pollfd *set, nfds_t n)
{
    unsigned known = n_pairs; /* those of the set; the last one first, as they swap */

    for (unsigned i = known; i-- > 0;) {
        short got = (short)(set[3 + 2 * i].revents | set[4 + 2 * i].revents);
        struct pair *p = pairs[i];
        if (!got || 4 + 2 * i >= n)
            continue;
        if (!move(p, 0) || !move(p, 1))
            pair_end(i, true);
        else if (p->way[0].over && p->way[1].over && p->way[0].from == p->way[0].to &&
                 p->way[1].from == p->way[1].to)
            pair_end(i, false);
        else if (got & (POLLHUP | POLLERR) && !(got & POLLIN))
            pair_end(i, true);
    }
}

static void turn(const char *path)
{
    static struct pollfd set[3 + 2 * PAIRS];
    nfds_t n = 3;
    long long wait = due ? due - now_ms() : -1;

    set[0] = (struct pollfd){.fd = STDIN_FILENO, .events = POLLIN};
    set[1] = (struct pollfd){.fd = due ? -1 : news, .events = POLLIN};
    set[2] = (struct pollfd){.fd = due ? -1 : door, .events = POLLIN};
    for (unsigned i = 0; i < n_pairs; i++)
        for (int side = 0; side < 2; side++)
            set[n++] = (struct pollfd){.fd = pairs[i]->fd[side],
                                       .events = wants(pairs[i], side)};
    if (poll(set, n, due ? (int)(wait > 0 ? wait : 0) : -1) > 0) {
        serve(set, n);
        if (set[2].revents & POLLIN)
            welcome();
        if (set[1].revents)
            peer_end();
        if (set[0].revents)
            obey();
    }
    if (due && now_ms() >= due)
        peer_start(path);
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "--toolless") == 0) {
        toolless = true;
        argv++, argc--;
    }
    if (argc != 2)
        return 2;
    printf("%d\n", take_port());
    fflush(stdout);
    peer_start(argv[1]);
    for (;;)
        turn(argv[1]);
}
