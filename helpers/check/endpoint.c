/* An HTTP server on this machine that answers as servers do when something is wrong. On a
 * thread of its own, one connection after another. */
#include "helpers/check/kit.h"

#include "base/buf.h"
#include "base/error.h"
#include "base/mem.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#define REQUEST_MAX ((size_t)4 << 20)
#define ERROR_BODY                                                                       \
    "{\"type\":\"error\",\"error\":{\"type\":\"api_error\",\"message\":\"a test\"}}"

struct mp_kit_endpoint {
    int fd, stop; /* the latter is readable when it is to end */
    pthread_t thread;
    _Atomic enum mp_kit_answer answer;
    atomic_uint requests;
    char url[64];
};

/* ---- its answers ---- */

static const struct {
    const char *head, *body;
} answers[] = {
    [MP_KIT_UNAUTHORIZED] = {"401 Unauthorized\r\nContent-Type: application/json",
                             ERROR_BODY},
    [MP_KIT_TOO_MANY] = {"429 Too Many Requests\r\nContent-Type: application/json\r\n"
                         "Retry-After: 7",
                         ERROR_BODY},
    [MP_KIT_BROKEN] = {"500 Internal Server Error\r\nContent-Type: text/plain", "oh no"},
    [MP_KIT_GARBAGE] = {"200 OK\r\nContent-Type: application/json", "\x01{[\xff"},
    [MP_KIT_CUT] = {"200 OK\r\nContent-Type: text/event-stream\r\n"
                    "Transfer-Encoding: chunked",
                    "40\r\ndata: {\"type\""},
    [MP_KIT_SILENT] = {NULL, NULL},
};

static void send_all(int fd, const char *text)
{
    size_t len = strlen(text);

    while (len) {
        ssize_t n = send(fd, text, len, MSG_NOSIGNAL);
        if (n <= 0 && errno != EINTR)
            return;
        text += n > 0 ? n : 0;
        len -= n > 0 ? (size_t)n : 0;
    }
}

static void reply(int fd, enum mp_kit_answer answer)
{
    char head[512], length[64] = "";

    if (answer != MP_KIT_CUT)
        snprintf(length, sizeof length, "Content-Length: %zu\r\n",
                 strlen(answers[answer].body));
    snprintf(head, sizeof head, "HTTP/1.1 %s\r\n%sConnection: close\r\n\r\n",
             answers[answer].head, length);
    send_all(fd, head);
    send_all(fd, answers[answer].body);
}

/* ---- a request ---- */

/* Some bytes of it; false: it has ended, or we are to. */
static bool more(struct mp_kit_endpoint *e, int fd, struct mp_str *in)
{
    struct pollfd p[2] = {{fd, POLLIN, 0}, {e->stop, POLLIN, 0}};
    char piece[4096];

    while (poll(p, 2, -1) < 0 && errno == EINTR)
        ;
    ssize_t n = p[1].revents ? 0 : read(fd, piece, sizeof piece);
    return n > 0 && mp_str_add(in, piece, (size_t)n);
}

/* Is all of it there? What has no length has no body that would matter. */
static bool is_whole(const struct mp_str *in)
{
    const char *end = in->len ? memmem(in->data, in->len, "\r\n\r\n", 4) : NULL;
    const char *line = end ? strchr(in->data, '\n') : NULL;
    size_t body = 0;

    for (; line && line < end; line = strchr(line + 1, '\n'))
        if (strncasecmp(line + 1, "Content-Length:", 15) == 0)
            body = strtoul(line + 16, NULL, 10);
    return end && in->len - (size_t)(end + 4 - in->data) >= body;
}

static void serve(struct mp_kit_endpoint *e, int fd)
{
    struct mp_str in;
    bool is_there = true;

    mp_str_init(&in, REQUEST_MAX);
    while (is_there && !is_whole(&in))
        is_there = more(e, fd, &in);
    if (is_there) {
        enum mp_kit_answer answer = e->answer;
        e->requests++;
        if (answer != MP_KIT_SILENT)
            reply(fd, answer);
        while (answer == MP_KIT_SILENT && more(e, fd, &in))
            ;
    }
    mp_str_clear(&in);
}

static void *on_thread(void *arg)
{
    struct mp_kit_endpoint *e = arg;

    for (;;) {
        struct pollfd p[2] = {{e->fd, POLLIN, 0}, {e->stop, POLLIN, 0}};
        while (poll(p, 2, -1) < 0 && errno == EINTR)
            ;
        if (p[1].revents)
            return NULL;
        int fd = accept4(e->fd, NULL, NULL, SOCK_CLOEXEC);
        if (fd < 0)
            continue;
        serve(e, fd);
        shutdown(fd, SHUT_WR);
        close(fd);
    }
}

/* ---- the whole ---- */

static bool listen_on(struct mp_kit_endpoint *e)
{
    struct sockaddr_in at = {.sin_family = AF_INET,
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof at;

    e->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    e->stop = eventfd(0, EFD_CLOEXEC);
    if (e->fd < 0 || e->stop < 0 || bind(e->fd, (struct sockaddr *)&at, len) != 0 ||
        listen(e->fd, 8) != 0 || getsockname(e->fd, (struct sockaddr *)&at, &len) != 0)
        return false;
    snprintf(e->url, sizeof e->url, "http://127.0.0.1:%u", ntohs(at.sin_port));
    return true;
}

struct mp_kit_endpoint *mp_kit_endpoint_open(void)
{
    struct mp_kit_endpoint *e = mp_alloc(sizeof *e);

    if (!e)
        return NULL;
    e->fd = e->stop = -1;
    if (listen_on(e) && pthread_create(&e->thread, NULL, on_thread, e) == 0)
        return e;
    if (e->fd >= 0)
        close(e->fd);
    if (e->stop >= 0)
        close(e->stop);
    mp_free(e);
    return NULL;
}

const char *mp_kit_endpoint_url(const struct mp_kit_endpoint *e)
{
    return e->url;
}

void mp_kit_endpoint_set(struct mp_kit_endpoint *e, enum mp_kit_answer answer)
{
    e->answer = answer;
}

unsigned mp_kit_endpoint_requests(const struct mp_kit_endpoint *e)
{
    return e->requests;
}

void mp_kit_endpoint_stop(struct mp_kit_endpoint *e)
{
    uint64_t one = 1;

    if (e->fd < 0)
        return;
    if (write(e->stop, &one, sizeof one) == sizeof one)
        pthread_join(e->thread, NULL);
    close(e->fd);
    close(e->stop);
    e->fd = e->stop = -1;
}

void mp_kit_endpoint_free(struct mp_kit_endpoint *e)
{
    if (e)
        mp_kit_endpoint_stop(e);
    mp_free(e);
}
