#include "faults_http.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static struct web web = {.lifeline = -1}; /* of this test's process */

/* ---- the peer's process ---- */

struct web *web_start(void)
{
    char path[4096], line[64];

    if (web.lifeline >= 0)
        return &web;
    program_beside("evil_http", path, sizeof path);
    program_apart((const char *[]){path, NULL}, &web.lifeline, line, sizeof line);
    ck_assert_int_eq(sscanf(line, "%d %d", &web.port, &web.port2), 2);
    return &web;
}

static int dial(int port)
{
    struct sockaddr_in a = {.sin_family = AF_INET,
                            .sin_port = htons((uint16_t)port),
                            .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM, 0);

    ck_assert_int_ge(fd, 0);
    if (connect(fd, (struct sockaddr *)&a, sizeof a) == 0)
        return fd;
    close(fd);
    return -1;
}

void web_stop(void)
{
    int fd = open("/dev/null", O_RDONLY);

    ck_assert_int_ge(dup2(fd, web.lifeline), 0); /* its number has been counted */
    close(fd);
    web.gone = true;
    while ((fd = dial(web.port)) >= 0) {
        close(fd);
        usleep(1000);
    }
}

const char *web_ask(int port, const char *path)
{
    char ask[256];
    int fd = dial(port), n = snprintf(ask, sizeof ask, "GET %s HTTP/1.1\r\n\r\n", path);
    size_t have = 0;
    ssize_t got;

    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(write(fd, ask, (size_t)n), n);
    while ((got = read(fd, web.text + have, sizeof web.text - 1 - have)) > 0)
        have += (size_t)got;
    close(fd);
    web.text[have] = '\0';
    const char *body = strstr(web.text, "\r\n\r\n");
    ck_assert_ptr_nonnull(body);
    return body + 4;
}

unsigned long web_stat(const char *name)
{
    char key[40];
    const char *text = web_ask(web.port, "/stats");

    snprintf(key, sizeof key, "%s ", name);
    const char *at = strstr(text, key);
    ck_assert_msg(at != NULL, "no %s in %s", name, text);
    return strtoul(at + strlen(key), NULL, 10);
}

/* ---- sessions ---- */

struct peer *web_new(const char *type, const char *where)
{
    char url[512];

    web_start();
    snprintf(url, sizeof url, "http://127.0.0.1:%d/%s", web.port, where);
    return peer_new_url(type, url);
}

struct peer *web_up(const char *where)
{
    struct peer *p = web_new(NULL, where);

    ck_assert_msg(peer_open(p) == 0, "%s: %s", where, p->why.text);
    return p;
}

/* The one that asks is open, too. */
void web_wait_open(struct peer *p, unsigned long n)
{
    double since = now_ms();
    unsigned long open;

    while ((open = web_stat("open") - 1) > n) {
        ck_assert_msg(now_ms() - since < bound_ms(),
                      "%lu connections are open, %lu expected", open, n);
        if (p)
            peer_run(p, 5);
        else
            usleep(5000);
    }
}

void web_end(struct peer *p)
{
    peer_end(p);
    if (!web.gone)
        web_wait_open(NULL, 0);
}

const char *code_name(int code)
{
    return code == 0 ? "OK" : mcplug_error_name(code);
}

void check_call(const char *where, const struct shot *s, int code, int status,
                const char *text)
{
    ck_assert_msg(s->ended == 1, "%s: ended %u times", where, s->ended);
    ck_assert_msg(s->code == code, "%s: %s instead of %s, \"%s\"", where,
                  code_name(s->code), code_name(code), s->text);
    ck_assert_msg(s->peer_status == status, "%s: status %d instead of %d, \"%s\"", where,
                  s->peer_status, status, s->text);
    ck_assert_msg(strstr(s->code ? s->text : text_of(s), text) != NULL,
                  "%s: \"%s\" is not in \"%s\"", where, text,
                  s->code ? s->text : text_of(s));
    for (const char *at = s->text; *at; at++)
        ck_assert_msg((unsigned char)*at >= 0x20 && *at != 0x7f, "%s: \"%s\"", where,
                      s->text);
}
