/* plugins/common/ports.c - who listens, see ports.h */
#include "ports.h"

#include "fds.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdint.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { AT_ONCE = 32 }; /* sockets */

static long now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (long)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* A socket that begins to connect; -1 when it can't, with *open set as far as known. */
static int knock(int port, unsigned char *open)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    int fd = fds_high(socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    *open = fd < 0;
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (fd >= 0 && connect(fd, (struct sockaddr *)&to, sizeof to) != 0 &&
        errno != EINPROGRESS && errno != EINTR) {
        close(fd);
        fd = -1;
    }
    return fd;
}

/* Connected, and not with itself, which happens to a client whose own port is by chance
 * the one that it asked for. */
static int answered(int fd, int port)
{
    struct sockaddr_in own;
    socklen_t len = sizeof own, error_len = sizeof(int);
    int error = 0;
    if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &error_len) != 0 || error != 0)
        return 0;
    return getsockname(fd, (struct sockaddr *)&own, &len) == 0 &&
           ntohs(own.sin_port) != port;
}

static void knock_at_some(const int *ports, size_t n, long until, unsigned char *open)
{
    struct pollfd fds[AT_ONCE];
    size_t waiting = 0;
    for (size_t i = 0; i < n; i++) {
        fds[i] = (struct pollfd){.fd = knock(ports[i], &open[i]), .events = POLLOUT};
        waiting += fds[i].fd >= 0;
    }
    while (waiting > 0) {
        long left = until - now_ms();
        int r = poll(fds, n, left > 0 ? (int)left : 0);
        if (r == 0 || (r < 0 && errno != EINTR))
            break;
        for (size_t i = 0; r > 0 && i < n; i++) {
            if (fds[i].fd < 0 || fds[i].revents == 0)
                continue;
            open[i] = (unsigned char)answered(fds[i].fd, ports[i]);
            close(fds[i].fd);
            fds[i].fd = -1;
            waiting--;
        }
    }
    for (size_t i = 0; i < n; i++)
        if (fds[i].fd >= 0)
            close(fds[i].fd);
}

void ports_open(const int *ports, size_t n, int timeout_ms, unsigned char *open)
{
    long until = now_ms() + timeout_ms;
    for (size_t at = 0; at < n; at += AT_ONCE)
        knock_at_some(ports + at, n - at < AT_ONCE ? n - at : AT_ONCE, until, open + at);
}
