/* first-request.c - how long a command takes from its start to the request that it makes.
 *
 *   first-request [-n RUNS] [--body FILE] COMMAND [ARG]...
 *
 * PORT in an argument is replaced by the port, on 127.0.0.1, at which the request is
 * awaited. It is answered with status 400, with which the command must end, however. With
 * --body what the last request said is kept in FILE. Prints one JSON object:
 *
 *   runs
 *   median_ms, best_ms   until the request was there, to its last byte
 *   cpu_ms               of the processor, to the end of the command; the median
 *   bytes                that the body of the request had
 */
#include "client.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { RUNS = 20, RUNS_MAX = 10000, WORDS_MAX = 256, PATIENCE_MS = 30000 };

static char request[32 << 20];

struct figures {
    double ms, cpu_ms;
    size_t at, bytes; /* where the body is in `request` */
};

static _Noreturn void die(const char *what, const char *why)
{
    fprintf(stderr, "first-request: %s: %s\n", what, why);
    exit(1);
}

static int listen_at(char port[8])
{
    struct sockaddr_in a = {.sin_family = AF_INET,
                            .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof a;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (fd < 0 || bind(fd, (struct sockaddr *)&a, len) < 0 || listen(fd, 8) < 0 ||
        getsockname(fd, (struct sockaddr *)&a, &len) < 0)
        die("listen", strerror(errno));
    snprintf(port, 8, "%u", ntohs(a.sin_port));
    return fd;
}

/* The words, with the port for PORT; they stay. */
static char **with_port(char **words, const char *port)
{
    static char *all[WORDS_MAX + 1];

    for (int i = 0; words[i]; i++) {
        const char *at = strstr(words[i], "PORT");
        if (i == WORDS_MAX)
            die("COMMAND", "too many words");
        all[i] = words[i];
        if (at && asprintf(&all[i], "%.*s%s%s", (int)(at - words[i]), words[i], port,
                           at + 4) < 0)
            die("asprintf", strerror(errno));
    }
    return all;
}

static int accept_one(int fd)
{
    struct pollfd p = {.fd = fd, .events = POLLIN};

    if (poll(&p, 1, PATIENCE_MS) != 1)
        die("the request", "it did not come");
    int peer = accept4(fd, NULL, NULL, SOCK_CLOEXEC);
    if (peer < 0)
        die("accept", strerror(errno));
    return peer;
}

/* A whole request, whose body has a length. */
static void read_request(int fd, struct figures *f)
{
    static const char go_on[] = "HTTP/1.1 100 Continue\r\n\r\n";
    size_t len = 0;

    for (f->at = 0; !f->at || len < f->at + f->bytes;) {
        ssize_t n = read(fd, request + len, sizeof request - 1 - len);
        if (n <= 0)
            die("the request", n < 0 ? strerror(errno) : "it is not whole");
        len += (size_t)n;
        request[len] = '\0';
        const char *end = f->at ? NULL : strstr(request, "\r\n\r\n");
        const char *length = end ? strcasestr(request, "\r\nContent-Length:") : NULL;
        if (!end)
            continue;
        if (!length || length > end)
            die("the request", "it has no length");
        f->at = (size_t)(end + 4 - request);
        f->bytes = strtoul(length + 17, NULL, 10);
        if (strcasestr(request, "\r\nExpect: 100") &&
            write(fd, go_on, sizeof go_on - 1) < 0)
            die("write", strerror(errno));
    }
}

static void answer(int fd)
{
    static const char text[] =
        "HTTP/1.1 400 Bad Request\r\nContent-Type: application/json\r\n"
        "Content-Length: 2\r\nConnection: close\r\n\r\n{}";

    if (write(fd, text, sizeof text - 1) < 0)
        die("write", strerror(errno));
    close(fd);
}

static double ms_of(struct timeval t)
{
    return (double)t.tv_sec * 1e3 + (double)t.tv_usec / 1e3;
}

static void run_once(int fd, char **words, struct figures *f)
{
    struct rusage usage;
    double begun = now_us();
    pid_t pid = fork();

    if (pid == 0) {
        int null = open("/dev/null", O_RDWR);
        dup2(null, STDIN_FILENO);
        dup2(null, STDOUT_FILENO);
        dup2(null, STDERR_FILENO);
        execvp(words[0], words);
        _exit(127);
    }
    if (pid < 0)
        die("fork", strerror(errno));
    int peer = accept_one(fd);
    read_request(peer, f);
    f->ms = (now_us() - begun) / 1000;
    answer(peer);
    if (wait4(pid, NULL, 0, &usage) != pid)
        die("wait4", strerror(errno));
    f->cpu_ms = ms_of(usage.ru_utime) + ms_of(usage.ru_stime);
}

static void keep(const char *file, const struct figures *f)
{
    FILE *out = fopen(file, "w");

    if (!out || fwrite(request + f->at, 1, f->bytes, out) != f->bytes || fclose(out) != 0)
        die(file, strerror(errno));
}

int main(int argc, char **argv)
{
    static double ms[RUNS_MAX], cpu_ms[RUNS_MAX];
    const char *body = NULL;
    struct figures f;
    char port[8];
    long runs = RUNS;
    int i = 1;

    for (; i + 1 < argc && argv[i][0] == '-'; i += 2)
        if (!strcmp(argv[i], "-n"))
            runs = strtol(argv[i + 1], NULL, 10);
        else if (!strcmp(argv[i], "--body"))
            body = argv[i + 1];
        else
            break;
    if (i >= argc || argv[i][0] == '-' || runs < 1 || runs > RUNS_MAX) {
        fputs("usage: first-request [-n RUNS] [--body FILE] COMMAND [ARG]...\n", stderr);
        return 2;
    }
    int fd = listen_at(port);
    char **words = with_port(argv + i, port);
    run_once(fd, words, &f); /* files get into the cache */
    for (long n = 0; n < runs; n++) {
        run_once(fd, words, &f);
        ms[n] = f.ms;
        cpu_ms[n] = f.cpu_ms;
    }
    if (body)
        keep(body, &f);
    qsort(ms, (size_t)runs, sizeof *ms, by_size);
    qsort(cpu_ms, (size_t)runs, sizeof *cpu_ms, by_size);
    printf("{\"runs\":%ld,\"median_ms\":%.2f,\"best_ms\":%.2f,\"cpu_ms\":%.2f,"
           "\"bytes\":%zu}\n",
           runs, ms[runs / 2], ms[0], cpu_ms[runs / 2], f.bytes);
    return 0;
}
