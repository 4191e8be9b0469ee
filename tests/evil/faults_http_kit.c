#include "faults_http.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static struct web web = {.lifeline = -1}; /* of this test's process */

/* ---- the peer's process ---- */

static void peer_path(char *out, size_t size)
{
    char exe[4000];
    ssize_t n = readlink("/proc/self/exe", exe, sizeof exe - 1);

    ck_assert_int_gt(n, 0);
    exe[n] = '\0';
    *strrchr(exe, '/') = '\0';
    char *libs = strstr(exe, "/.libs");
    if (libs)
        *libs = '\0';
    snprintf(out, size, "%s/evil_http", exe);
}

/* Not a child of ours: peer_end() checks that the library has left none. */
static void run_apart(const char *path, int in, int out)
{
    pid_t pid = fork();

    ck_assert_int_ge(pid, 0);
    if (pid == 0) {
        if (fork() != 0)
            _exit(0);
        dup2(in, STDIN_FILENO);
        dup2(out, STDOUT_FILENO);
        execl(path, path, (char *)NULL);
        _exit(127);
    }
    ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
}

struct web *web_start(void)
{
    char path[4096], line[64] = "";
    int in[2], out[2];

    if (web.lifeline >= 0)
        return &web;
    peer_path(path, sizeof path);
    ck_assert_int_eq(pipe2(in, O_CLOEXEC) | pipe2(out, O_CLOEXEC), 0);
    run_apart(path, in[0], out[1]);
    close(in[0]);
    close(out[1]);
    web.lifeline = in[1];
    for (size_t n = 0; !strchr(line, '\n'); n++)
        ck_assert_msg(n < sizeof line - 1 && read(out[0], line + n, 1) == 1,
                      "%s does not start", path);
    close(out[0]);
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
