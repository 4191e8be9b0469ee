/* The probe `http` against a server of a few lines, which this test is too. */
#include "fake.h"
#include "registry/probe.h"

#include "base/error.h"

#include <arpa/inet.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#define TEST_SKIP 77 /* as automake has it */

static struct fake f;
static struct mp_catalogue *cat;
static mcplug_check *probe;
static struct {
    unsigned times;
    int code, peer_status;
    char text[512];
} end;

/* ---- the other end ---- */

static const struct {
    const char *path, *answer;
} answers[] = {
    {"/ok", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"},
    {"/nothing", "HTTP/1.1 204 No Content\r\n\r\n"},
    {"/cached", "HTTP/1.1 304 Not Modified\r\n\r\n"},
    {"/missing", "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"},
    {"/down", "HTTP/1.1 503 Go Away\r\nContent-Length: 0\r\n\r\n"},
    {"/odd", "HTTP/1.1 599 \r\nContent-Length: 0\r\n\r\n"},
    {"/away", "HTTP/1.1 302 Found\r\nLocation: http://127.0.0.2:1/x\r\n"
              "Content-Length: 0\r\n\r\n"},
    {"/moved", "HTTP/1.1 307 Moved\r\nLocation: /down\r\nContent-Length: 0\r\n\r\n"},
    {"/garbage", "SSH-2.0-OpenSSH_9.2p1\r\n"},
    {"/cut", ""},
    {"/endless", "HTTP/1.1 200 OK\r\n\r\n"},
};

static int listening = -1, port;
static char request[8192]; /* the last one */
static atomic_size_t poured;

static void pour(int fd)
{
    static const char bytes[4096];
    ssize_t n;
    while ((n = send(fd, bytes, sizeof bytes, MSG_NOSIGNAL)) > 0)
        poured += (size_t)n;
}

static void serve_one(int fd)
{
    size_t have = 0;
    ssize_t n;

    while (!strstr(request, "\r\n\r\n") &&
           (n = read(fd, request + have, sizeof request - 1 - have)) > 0)
        request[have += (size_t)n] = '\0';
    for (size_t i = 0; i < MP_COUNT(answers); i++) {
        size_t len = strlen(answers[i].path);
        if (have < 5 + len || strncmp(request + 4, answers[i].path, len) != 0)
            continue;
        if (send(fd, answers[i].answer, strlen(answers[i].answer), MSG_NOSIGNAL) > 0 &&
            strcmp(answers[i].path, "/endless") == 0)
            pour(fd);
        return;
    }
    while (read(fd, request, 1) > 0) /* /hang: until the other one has had enough */
        continue;
}

static void *serve(void *arg)
{
    int fd;
    while ((fd = accept(listening, NULL, NULL)) >= 0) {
        memset(request, 0, sizeof request);
        serve_one(fd);
        close(fd);
    }
    return arg;
}

static pthread_t server;

static void listen_somewhere(void)
{
    struct sockaddr_in a = {.sin_family = AF_INET,
                            .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof a;

    listening = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ck_assert_int_eq(bind(listening, (struct sockaddr *)&a, sizeof a), 0);
    ck_assert_int_eq(listen(listening, 16), 0);
    ck_assert_int_eq(getsockname(listening, (struct sockaddr *)&a, &len), 0);
    port = ntohs(a.sin_port);
    ck_assert_int_eq(pthread_create(&server, NULL, serve, NULL), 0);
}

/* ---- this end ---- */

static struct mp_catalogue *open_catalogue(struct mp_loop *loop)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    struct mp_catalogue_options options = {
        .loop = loop, .wire = &mp_link_wire, .health = &mp_probe_health};
    return mp_catalogue_new(&options, &err);
}

static void setup(void)
{
    fake_init(&f);
    cat = open_catalogue(f.loop);
    ck_assert_ptr_nonnull(cat);
    memset(&end, 0, sizeof end);
    probe = NULL;
    listen_somewhere();
}

static void teardown(void)
{
    mp_probe_cancel(probe);
    shutdown(listening, SHUT_RDWR);
    pthread_join(server, NULL);
    close(listening);
    mp_session_close(f.server, NULL, NULL, NULL);
    f.server = NULL;
    mp_loop_advance(f.loop, 0);
    mp_catalogue_free(cat);
    fake_clear(&f);
}

static void on_end(void *arg, const struct mcplug_error *why)
{
    (void)arg;
    end.times++;
    end.code = why ? why->code : MCPLUG_OK;
    end.peer_status = why ? why->peer_status : 0;
    snprintf(end.text, sizeof end.text, "%s", why ? why->text : "");
    probe = NULL;
}

static void start(const char *path)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    char url[128];

    snprintf(url, sizeof url, "http://127.0.0.1:%d%s", port, path);
    struct mp_probe_options options = {.loop = f.loop,
                                       .log = &f.log,
                                       .catalogue = cat,
                                       .session = f.server,
                                       .name = "http",
                                       .url = url,
                                       .timeout_ms = 3000};
    ck_assert_msg(mp_probe_start(&options, on_end, NULL, &probe, &err) == MCPLUG_OK, "%s",
                  err.text);
    ck_assert_uint_eq(end.times, 0);
}

/* Sockets are real, the clock is not: a millisecond of it for each turn. */
static void run(unsigned ms)
{
    for (unsigned i = 0; i < ms && !end.times; i++) {
        mp_loop_advance(f.loop, 1);
        mp_loop_turn(f.loop, false);
        usleep(200);
    }
}

static void look_at(const char *path)
{
    fake_legacy(&f, NULL, "{}");
    start(path);
    run(5000);
    ck_assert_uint_eq(end.times, 1);
}

static const char *const good[] = {"/ok", "/nothing", "/cached", "/away", "/endless"};

START_TEST(a_status_of_200_to_399_is_life)
{
    look_at(good[_i]);
    ck_assert_msg(end.code == MCPLUG_OK, "%s", end.text);
    ck_assert_uint_lt(poured, 16 << 20); /* what was on its way, and no more */
}
END_TEST

static const struct {
    const char *path;
    int status;
    const char *text;
} bad[] = {
    {"/missing", 404, "healthUrl: HTTP 404 Not Found"},
    {"/down", 503, "healthUrl: HTTP 503 Service Unavailable"},
    {"/odd", 599, "healthUrl: HTTP 599"},
    {"/moved", 503, "healthUrl: HTTP 503 Service Unavailable"},
    {"/garbage", 0, NULL},
    {"/cut", 0, NULL},
    {"/hang", 0, "no answer within 3000ms"},
};

START_TEST(anything_else_is_a_miss_in_words)
{
    look_at(bad[_i].path);
    ck_assert_int_ne(end.code, MCPLUG_OK);
    ck_assert_int_eq(end.peer_status, bad[_i].status);
    if (bad[_i].text)
        ck_assert_str_eq(end.text, bad[_i].text);
    else
        ck_assert_uint_gt(strlen(end.text), 10);
}
END_TEST

START_TEST(nobody_there_is_a_miss)
{
    fake_legacy(&f, NULL, "{}");
    int kept = port;
    port = 1;
    start("/ok");
    run(5000);
    port = kept;
    ck_assert_int_eq(end.code, MCPLUG_EREFUSED);
}
END_TEST

START_TEST(a_look_can_be_cancelled)
{
    fake_legacy(&f, NULL, "{}");
    start(_i ? "/hang" : "/ok");
    run(_i ? 50 : 0);
    mp_probe_cancel(probe);
    probe = NULL;
    run(100);
    ck_assert_uint_eq(end.times, 0);
}
END_TEST

START_TEST(headers_of_the_server_go_to_its_origin_alone)
{
    char url[64];
    snprintf(url, sizeof url, "http://127.0.0.1:%d/mcp", _i ? port : port + 1);
    mp_props_set(f.settings, "url", url);
    mp_props_put(f.settings, "headers", "Authorization", "Bearer s3cret");
    look_at("/ok");
    ck_assert_int_eq(end.code, MCPLUG_OK);
    ck_assert_int_eq(strncmp(request, "GET /ok HTTP/1.1\r\n", 18), 0);
    ck_assert_int_eq(strstr(request, "s3cret") != NULL, _i);
}
END_TEST

static void add(TCase *tc)
{
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_loop_test(tc, a_status_of_200_to_399_is_life, 0, MP_COUNT(good));
    tcase_add_loop_test(tc, anything_else_is_a_miss_in_words, 0, MP_COUNT(bad));
    tcase_add_test(tc, nobody_there_is_a_miss);
    tcase_add_loop_test(tc, a_look_can_be_cancelled, 0, 2);
    tcase_add_loop_test(tc, headers_of_the_server_go_to_its_origin_alone, 0, 2);
}

int main(void)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    struct mp_loop *loop = mp_loop_new(&err);
    struct mp_catalogue *c = loop ? open_catalogue(loop) : NULL;
    int there = c ? mp_probe_check(c, NULL, "http", "http://localhost/", &err) : err.code;

    mp_catalogue_free(c);
    mp_loop_free(loop);
    return there == MCPLUG_ENOTSUP ? TEST_SKIP : run_suite("registry_probe_http", add);
}
