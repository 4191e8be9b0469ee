#include "listener.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { LOG_MAX = 8 * 1024 * 1024, TERM_PATIENCE = 8 /* seconds */ };

static struct listener listeners[LISTENERS_MAX];

/* ---- what they write ---- */

static void find_port(struct listener *l)
{
    const char *told = strstr(l->log, "test: port ");
    if (told && strchr(told, '\n'))
        l->port = atoi(told + strlen("test: port "));
}

/* Reads what is there. At the end of it the process is ending, or has ended. */
static void read_log(struct listener *l)
{
    char piece[65536];
    ssize_t n;

    while (l->out >= 0 && (n = read(l->out, piece, sizeof piece)) != -1) {
        if (n == 0) {
            close(l->out);
            l->out = -1;
            break;
        }
        if (l->len + (size_t)n > LOG_MAX)
            continue;
        l->log = realloc(l->log, l->len + (size_t)n + 1);
        ck_assert_ptr_nonnull(l->log);
        for (ssize_t i = 0; i < n; i++)
            l->log[l->len++] = piece[i] ? piece[i] : '?';
        l->log[l->len] = '\0';
        if (getenv("MCPLUG_TEST_TRACE"))
            fprintf(stderr, "[%d] %.*s", (int)l->pid, (int)n, piece);
    }
    if (!l->port)
        find_port(l);
}

void listeners_read(void)
{
    for (int i = 0; i < LISTENERS_MAX; i++)
        if (listeners[i].log)
            read_log(&listeners[i]);
}

size_t listeners_poll(struct pollfd *out)
{
    size_t n = 0;
    for (int i = 0; i < LISTENERS_MAX; i++)
        if (listeners[i].log && listeners[i].out >= 0)
            out[n++] = (struct pollfd){.fd = listeners[i].out, .events = POLLIN};
    return n;
}

const char *listeners_said(void)
{
    static char text[3000]; /* check takes no long messages */
    size_t used = 0;

    text[0] = '\0';
    for (int i = 0; i < LISTENERS_MAX; i++) {
        const struct listener *l = &listeners[i];
        if (!l->log || used >= sizeof text)
            continue;
        size_t part = l->len > 1400 ? l->len - 1400 : 0; /* the end says more */
        used += (size_t)snprintf(text + used, sizeof text - used, "[%d] %s\n",
                                 (int)l->pid, l->log + part);
    }
    return text;
}

int listener_count(const struct listener *l, size_t from, const char *part)
{
    int count = 0;
    const char *at = l->log + from;

    while ((at = strstr(at, part))) {
        count++;
        at += strlen(part);
    }
    return count;
}

/* ---- begin ---- */

int listener_nobody(int *port)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof address;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(bind(fd, (struct sockaddr *)&address, len), 0);
    ck_assert_int_eq(getsockname(fd, (struct sockaddr *)&address, &len), 0);
    *port = ntohs(address.sin_port);
    return fd;
}

static struct listener *new_listener(void)
{
    for (int i = 0; i < LISTENERS_MAX; i++)
        if (!listeners[i].log) {
            listeners[i] = (struct listener){.in = -1, .out = -1, .log = calloc(1, 1)};
            ck_assert_ptr_nonnull(listeners[i].log);
            return &listeners[i];
        }
    ck_abort_msg("more than %d processes", LISTENERS_MAX);
    return NULL;
}

/* In the child. All other descriptors close by themselves. */
static void become(const char *const *argv, const char *const *env, int in, int out)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    dup2(in, 0);
    dup2(out, 1);
    dup2(out, 2);
    for (; env && *env; env++)
        putenv((char *)(uintptr_t)*env);
    execvp(argv[0], (char *const *)(uintptr_t)argv);
    fprintf(stderr, "cannot start %s: %s\n", argv[0], strerror(errno));
    _exit(127);
}

struct listener *listener_start(const char *const *argv, const char *const *env)
{
    struct listener *l = new_listener();
    int in[2], out[2];

    ck_assert_int_eq(pipe2(in, O_CLOEXEC), 0);
    ck_assert_int_eq(pipe2(out, O_CLOEXEC), 0);
    fflush(NULL);
    l->pid = fork();
    ck_assert_int_ge(l->pid, 0);
    if (l->pid == 0)
        become(argv, env, in[0], out[1]);
    close(in[0]);
    close(out[1]);
    l->in = in[1];
    l->out = out[0];
    fcntl(l->out, F_SETFL, O_NONBLOCK);
    return l;
}

struct listener *listener_node(const char *script, const char *const *args,
                               const char *const *env)
{
    const char *argv[32] = {real_node(), "--require"};
    char preload[4096], path[4096];
    size_t n = 4;

    snprintf(preload, sizeof preload, "%s/tests/real/listen.cjs",
             real_need("MCPLUG_SRC"));
    argv[2] = preload;
    argv[3] = real_script(script, path, sizeof path);
    while (*args && n + 1 < sizeof argv / sizeof *argv)
        argv[n++] = *args++;
    struct listener *l = listener_start(argv, env);
    REAL_UNTIL(l->port > 0 || l->out < 0);
    ck_assert_msg(l->port > 0, "%s does not listen: %s", script, l->log);
    return l;
}

/* ---- end ---- */

static bool has_ended(struct listener *l)
{
    return waitpid(l->pid, NULL, WNOHANG) != 0;
}

/* It may have children, which a gentle end lets it take along. */
void listener_end(struct listener *l)
{
    const struct timespec pause = {.tv_nsec = 2000000};
    bool ended = false;

    if (!l->pid)
        return;
    kill(l->pid, SIGTERM);
    for (int i = 0; !(ended = has_ended(l)) && i < TERM_PATIENCE * 500; i++) {
        read_log(l); /* it must not wait for us */
        nanosleep(&pause, NULL);
    }
    if (!ended) {
        kill(l->pid, SIGKILL);
        waitpid(l->pid, NULL, 0);
    }
    l->pid = 0;
    read_log(l);
    if (l->out >= 0)
        close(l->out);
    close(l->in);
    l->in = l->out = -1;
}

void listeners_end_all(void)
{
    for (int i = 0; i < LISTENERS_MAX; i++) {
        if (!listeners[i].log)
            continue;
        listener_end(&listeners[i]);
        free(listeners[i].log);
        listeners[i].log = NULL;
    }
}

void listener_say(struct listener *l, const char *line)
{
    size_t len = strlen(line);
    ck_assert_int_eq(write(l->in, line, len), (ssize_t)len);
}
