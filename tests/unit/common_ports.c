#include "../../plugins/common/ports.h"
#include "suite.h"

#include <arpa/inet.h>
#include <check.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

/* A socket with a port of its own, which nobody else can have meanwhile. */
static int holding(int *port)
{
    struct sockaddr_in own = {.sin_family = AF_INET};
    socklen_t len = sizeof own;
    own.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    ck_assert_int_eq(bind(fd, (struct sockaddr *)&own, sizeof own), 0);
    ck_assert_int_eq(getsockname(fd, (struct sockaddr *)&own, &len), 0);
    *port = ntohs(own.sin_port);
    return fd;
}

static int listening(int *port)
{
    int fd = holding(port);
    ck_assert_int_eq(listen(fd, 16), 0);
    return fd;
}

START_TEST(many_ports_are_asked_at_once)
{
    int ports[100], fds[100];
    unsigned char open[100];
    for (int i = 0; i < 100; i++) {
        fds[i] = i % 3 == 0 ? holding(&ports[i]) : listening(&ports[i]);
    }
    ports_open(ports, 100, 200, open);
    for (int i = 0; i < 100; i++) {
        ck_assert_int_eq(open[i], i % 3 != 0);
        close(fds[i]);
    }
}
END_TEST

START_TEST(one_that_is_too_busy_costs_the_time_that_was_given_and_no_more)
{
    int ports[40], fds[40], port, full = listening(&port);
    unsigned char open[40];
    struct timespec from, to;

    listen(full, 0);
    for (int i = 0; i < 40; i++) {
        ports[i] = port;
        fds[i] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
        struct sockaddr_in peer = {.sin_family = AF_INET,
                                   .sin_port = htons((uint16_t)port)};
        peer.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        connect(fds[i], (struct sockaddr *)&peer, sizeof peer);
    }
    clock_gettime(CLOCK_MONOTONIC, &from);
    ports_open(ports, 40, 100, open);
    clock_gettime(CLOCK_MONOTONIC, &to);
    ck_assert_int_eq(open[39], 0);
    long ms = (to.tv_sec - from.tv_sec) * 1000 + (to.tv_nsec - from.tv_nsec) / 1000000;
    ck_assert_int_lt(ms, 1000);
    for (int i = 0; i < 40; i++)
        close(fds[i]);
    close(full);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("common_ports");
    TCase *t = tcase_create("all");

    tcase_add_test(t, many_ports_are_asked_at_once);
    tcase_add_test(t, one_that_is_too_busy_costs_the_time_that_was_given_and_no_more);
    suite_add_tcase(suite, t);

    return run_to_end(suite);
}
