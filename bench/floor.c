/* floor.c - the least a client on a pipe can cost, to compare clients with.
 *
 *   bench-floor [--modern] [--calls N] SERVER [ARG]...    all measurements
 *   bench-floor [--modern] --oneshot SERVER [ARG]...      start, one call, exit
 *
 * No JSON library and no loop: writes are whole requests, answers are told
 * apart by a scan for their id. What it prints is what every client of this
 * benchmark prints, one JSON object:
 *
 *   p50_us, p99_us    one echo call after the other
 *   cpu_us_per_call   user and system time of this process during those
 *   switches_per_call how often this process gave way to others in those
 *   inflight64_per_s  calls per second with 64 under way
 *   rss_kb            memory after that
 *   bigN_ms, _peak_kb a result of N million bytes, held whole, in a process of
 *                     its own, and the most memory that process had
 *   listN_ms          tools/list of N tools, in a process of its own
 *
 * Run both ends on one core (bench/pin): across cores the wake-up is all one
 * measures.
 */
#include "client.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CALLS = 20000, WARM_UP = 2000, FLIGHT = 64, FLIGHT_CALLS = 200000, ARGS_MAX = 60 };

struct link {
    pid_t pid;
    int in, out; /* ours to read, ours to write */
    bool modern;
    char *data; /* input: lines from `start`, ends at `have` */
    size_t start, have, room;
    char *request; /* room for a flight of requests */
};

static _Noreturn void die(const char *what)
{
    perror(what);
    exit(1);
}

/* ---- the link ---- */

static void link_open(struct link *l, char **argv, bool modern)
{
    posix_spawn_file_actions_t fa;
    extern char **environ;
    int to[2], from[2];

    if (pipe2(to, O_CLOEXEC) < 0 || pipe2(from, O_CLOEXEC) < 0)
        die("pipe");
    posix_spawn_file_actions_init(&fa);
    posix_spawn_file_actions_adddup2(&fa, to[0], STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&fa, from[1], STDOUT_FILENO);
    *l = (struct link){.in = from[0], .out = to[1], .modern = modern};
    errno = posix_spawnp(&l->pid, argv[0], &fa, NULL, argv, environ);
    if (errno)
        die(argv[0]);
    posix_spawn_file_actions_destroy(&fa);
    close(to[0]);
    close(from[1]);
    l->request = malloc(FLIGHT * 1024);
    if (!l->request)
        die("malloc");
}

static void link_close(struct link *l)
{
    close(l->out);
    close(l->in);
    waitpid(l->pid, NULL, 0);
    free(l->data);
    free(l->request);
}

static void send_bytes(struct link *l, const char *data, size_t len)
{
    while (len > 0) {
        ssize_t n = write(l->out, data, len);
        if (n < 0)
            die("write");
        data += n;
        len -= (size_t)n;
    }
}

/* Gives the next line, which stays valid until the next call. */
static char *read_line(struct link *l, size_t *len)
{
    size_t seen = l->start;

    for (;;) {
        char *end = l->have > seen ? memchr(l->data + seen, '\n', l->have - seen) : NULL;
        if (end) {
            char *line = l->data + l->start;
            *len = (size_t)(end - line);
            l->start += *len + 1;
            return line;
        }
        if (l->start == l->have)
            l->start = l->have = 0;
        seen = l->have;
        if (l->room - l->have < (64 << 10)) {
            l->room = l->room * 2 + (64 << 10);
            l->data = realloc(l->data, l->room);
            if (!l->data)
                die("realloc");
        }
        ssize_t n = read(l->in, l->data + l->have, l->room - l->have);
        if (n <= 0)
            die("server went away");
        l->have += (size_t)n;
    }
}

/* ---- requests ---- */

static char *ask(struct link *l, long id, const char *method, const char *params,
                 size_t *len)
{
    size_t n = (size_t)sprintf(
        l->request,
        "{\"jsonrpc\":\"2.0\",\"id\":%ld,\"method\":\"%s\",\"params\":{%s%s%s}}\n", id,
        method, params, *params && l->modern ? "," : "", l->modern ? META : "");
    send_bytes(l, l->request, n);
    char *line = read_line(l, len);
    if (id_of(line, *len) != id)
        die("an answer to another request");
    return line;
}

static void handshake(struct link *l)
{
    static const char done[] =
        "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n";
    size_t len;

    if (l->modern) {
        ask(l, 0, "server/discover", "", &len);
        return;
    }
    ask(l, 0, "initialize",
        "\"protocolVersion\":\"2025-11-25\",\"capabilities\":{},"
        "\"clientInfo\":{\"name\":\"bench-floor\",\"version\":\"1\"}",
        &len);
    send_bytes(l, done, sizeof done - 1);
}

/* ---- measurements ---- */

struct figures {
    double p50_us, p99_us, cpu_us_per_call, switches_per_call, inflight_per_s;
};

static void sequential(struct link *l, long calls, struct figures *f)
{
    double *took = malloc(sizeof *took * (size_t)calls), cpu = 0, gave_way = 0;

    if (!took)
        die("malloc");
    for (long i = -WARM_UP; i < calls; i++) {
        size_t len;
        if (i == 0) {
            cpu = cpu_us();
            gave_way = switches();
        }
        double begun = now_us();
        send_bytes(l, l->request, make_call(l->modern, l->request, i + WARM_UP + 1));
        char *line = read_line(l, &len);
        if (id_of(line, len) != i + WARM_UP + 1)
            die("an answer to another request");
        if (i >= 0)
            took[i] = now_us() - begun;
    }
    f->cpu_us_per_call = (cpu_us() - cpu) / (double)calls;
    f->switches_per_call = (switches() - gave_way) / (double)calls;
    qsort(took, (size_t)calls, sizeof *took, by_size);
    f->p50_us = took[calls / 2];
    f->p99_us = took[calls * 99 / 100];
    free(took);
}

/* Keeps 64 calls under way: what one read brings is replaced by one write. */
static void in_flight(struct link *l, long calls, struct figures *f)
{
    char *answered = calloc((size_t)calls, 1);
    long sent = 0, got = 0;
    double begun = now_us();

    if (!answered)
        die("calloc");
    while (got < calls) {
        size_t n = 0, len;
        while (sent < calls && sent - got < FLIGHT)
            n += make_call(l->modern, l->request + n, 1000000 + sent++);
        send_bytes(l, l->request, n);
        do {
            char *line = read_line(l, &len);
            long id = id_of(line, len) - 1000000;
            if (id < 0 || id >= sent || answered[id]++)
                die("an answer to no request");
            got++;
        } while (l->start < l->have &&
                 memchr(l->data + l->start, '\n', l->have - l->start));
    }
    f->inflight_per_s = (double)calls / ((now_us() - begun) / 1e6);
    free(answered);
}

/* One request in a fresh process: its time, and the most memory it took. */
static double alone(char **argv, bool modern, const char *method, const char *params,
                    long *peak_kb)
{
    struct {
        double ms;
        long kb;
    } told = {0, 0};
    int report[2];

    if (pipe(report) < 0)
        die("pipe");
    pid_t pid = fork();
    if (pid == 0) {
        struct link l;
        size_t len;
        link_open(&l, argv, modern);
        handshake(&l);
        double begun = now_us();
        ask(&l, 1, method, params, &len);
        told.ms = (now_us() - begun) / 1e3;
        told.kb = status_kb("VmHWM");
        link_close(&l);
        _exit(write(report[1], &told, sizeof told) != sizeof told);
    }
    close(report[1]);
    if (pid < 0 || read(report[0], &told, sizeof told) != sizeof told)
        die("fork");
    close(report[0]);
    waitpid(pid, NULL, 0);
    *peak_kb = told.kb;
    return told.ms;
}

static void print_big(char **argv, bool modern, int million)
{
    char params[128];
    long kb;

    sprintf(params, "\"name\":\"big\",\"arguments\":{\"bytes\":%d000000}", million);
    double ms = alone(argv, modern, "tools/call", params, &kb);
    printf(",\"big%d_ms\":%.2f,\"big%d_peak_kb\":%ld", million, ms, million, kb);
}

static void print_list(char **argv, int argc, bool modern, int tools)
{
    char *longer[ARGS_MAX + 3], count[16];
    long kb;

    sprintf(count, "%d", tools);
    memcpy(longer, argv, sizeof *argv * (size_t)argc);
    longer[argc] = "--tools";
    longer[argc + 1] = count;
    longer[argc + 2] = NULL;
    printf(",\"list%d_ms\":%.2f", tools, alone(longer, modern, "tools/list", "", &kb));
}

static void measure(char **argv, int argc, bool modern, long calls)
{
    struct figures f;
    struct link l;

    link_open(&l, argv, modern);
    handshake(&l);
    sequential(&l, calls, &f);
    in_flight(&l, FLIGHT_CALLS, &f);
    printf("{\"name\":\"floor %s\",\"p50_us\":%.2f,\"p99_us\":%.2f,"
           "\"cpu_us_per_call\":%.2f,\"switches_per_call\":%.2f,"
           "\"inflight64_per_s\":%.0f,\"rss_kb\":%ld",
           modern ? "modern" : "legacy", f.p50_us, f.p99_us, f.cpu_us_per_call,
           f.switches_per_call, f.inflight_per_s, status_kb("VmRSS"));
    fflush(stdout);
    link_close(&l);
    print_big(argv, modern, 10);
    print_big(argv, modern, 50);
    print_list(argv, argc, modern, 1000);
    print_list(argv, argc, modern, 10000);
    puts("}");
}

static void oneshot(char **argv, bool modern)
{
    struct link l;
    size_t len;

    link_open(&l, argv, modern);
    handshake(&l);
    send_bytes(&l, l.request, make_call(l.modern, l.request, 1));
    char *line = read_line(&l, &len);
    if (id_of(line, len) != 1)
        die("an answer to another request");
    printf("%.*s\n", (int)len, line);
    link_close(&l);
}

int main(int argc, char **argv)
{
    bool modern = false, once = false;
    long calls = CALLS;
    int i = 1;

    for (; i < argc && argv[i][0] == '-'; i++) {
        if (!strcmp(argv[i], "--modern"))
            modern = true;
        else if (!strcmp(argv[i], "--oneshot"))
            once = true;
        else if (!strcmp(argv[i], "--calls") && i + 1 < argc)
            calls = strtol(argv[++i], NULL, 10);
        else
            break;
    }
    if (i >= argc || argv[i][0] == '-' || calls < 1 || argc - i > ARGS_MAX) {
        fputs("usage: bench-floor [--modern] [--oneshot] [--calls N] SERVER [ARG]...\n",
              stderr);
        return 2;
    }
    signal(SIGPIPE, SIG_IGN);
    if (once)
        oneshot(argv + i, modern);
    else
        measure(argv + i, argc - i, modern, calls);
    return 0;
}
