/* mcplug-bench.c - what bench/floor.c measures, with libmcplug.
 *
 *   mcplug-bench [--legacy] SERVER [ARG]...               all measurements
 *   mcplug-bench [--legacy] --calls N SERVER [ARG]...     N echo calls, one after the
 *                                                         other, and nothing else
 *   mcplug-bench [--legacy] --flights N [--under-way M] SERVER [ARG]...
 *                                                         N calls, M (64) under way
 *   mcplug-bench [--legacy] --waits N SERVER [ARG]...     N blocking calls, without and
 *                                                         with a loop thread
 *   mcplug-bench [--legacy] --big2g SERVER [ARG]...       a text of 2 GiB in bounded
 *                                                         memory, and a call after it
 *   mcplug-bench [--legacy] [--calls N | --flights N | --list N] --url URL
 *                                                         the same for echo-net.c, and
 *                                                         what floor-net.c measures;
 *                                                         N calls, 64 under way
 *
 * Public API only, so that the figures are those of a program that embeds us, and
 * the settings are the defaults but for the revision: found out, or with --legacy
 * the one that is asked for. Calls are made as a busy host would make them, on its
 * loop, the next one from the callback of the last. What is printed is what floor.c
 * prints, and
 *
 *   rss50_kb          memory with 50 servers connected, in a process of its own
 *   server_kb         memory of each of them but the first five
 *   bigN_result_ms    until the call was done; bigN_ms ends when the caller has
 *                     read the whole text too
 *
 * Big results, lists and the 50 servers are measured in fresh processes: this
 * program starts itself with --big BYTES, --list N or --servers N.
 */
#include "client.h"

#include <mcplug/mcplug.h>

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    CALLS = 20000,
    WARM_UP = 2000,
    FLIGHT = 64,
    FLIGHT_CALLS = 200000,
    FLIGHT_CALLS_NET = 60000,
    ARGS_MAX = 60,
    PIECE = 64 << 10,
    LINE = 80, /* the text of `big` has lines of 79 x and a newline */
    MEMORY_LIMIT_KB = 64 << 10
};

#define ECHO_ARGS "{\"text\":\"" TEXT "\"}"
#define TWO_GIB ((uint64_t)2 << 30)

enum mode { ALL, ECHOES, FLIGHTS, WAITS, BIG, LIST, MANY, BIG2G };

struct options {
    enum mode mode;
    uint64_t count; /* of calls, bytes, tools or servers */
    int under_way;
    bool legacy;
    bool once, queue; /* opened so; calls go through a queue */
    const char *url;  /* NULL: the server is a command */
    int argc;         /* of the server */
    char **argv;
};

static _Noreturn void die(const char *what, const char *why)
{
    fprintf(stderr, "mcplug-bench: %s: %s\n", what, why);
    exit(1);
}

/* ---- servers ---- */

static mcplug *host_new(void)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    mcplug *host = mcplug_new(NULL, &err);

    if (!host)
        die("mcplug_new", err.text);
    return host;
}

static mcplug_settings *command_settings(const struct options *o, uint64_t tools)
{
    mcplug_settings *s = mcplug_settings_new("stdio");
    char count[24];

    mcplug_settings_set(s, "command", o->argv[0]);
    for (int i = 1; i < o->argc; i++)
        mcplug_settings_add(s, "args", o->argv[i]);
    if (tools) {
        snprintf(count, sizeof count, "%llu", (unsigned long long)tools);
        mcplug_settings_add(s, "args", "--tools");
        mcplug_settings_add(s, "args", count);
    }
    return s;
}

/* Connects; `tools` are more tools for a command to list, 0 for none. */
static mcplug_server *connect_server(mcplug *host, const struct options *o,
                                     uint64_t tools)
{
    struct mcplug_server_options so = {.struct_size = sizeof so,
                                       .dedicated = 1,
                                       .once = o->once,
                                       .lists = MCPLUG_NO_LISTS,
                                       .queue = o->queue ? "bench" : NULL,
                                       .revision = o->legacy ? "2025-11-25" : NULL};
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    mcplug_settings *s = o->url ? mcplug_settings_new(NULL) : command_settings(o, tools);
    mcplug_server *server = NULL;

    if (o->url)
        mcplug_settings_set(s, "url", o->url);
    if (o->queue)
        mcplug_set_queue(host, "bench", FLIGHT, 0);
    if (mcplug_open_wait(host, s, &so, &server, &err) != MCPLUG_OK)
        die(o->url ? o->url : o->argv[0], err.text);
    mcplug_settings_free(s);
    return server;
}

/* Cheap, as it is part of what is measured. */
static void expect_echo(const mcplug_result *result, const struct mcplug_error *why)
{
    static const char tail[] = "\"text\":\"" TEXT "\"}]}";
    const size_t tail_len = sizeof tail - 1;
    size_t len;

    if (why)
        die("echo", why->text);
    const char *json = mcplug_result_json(result, &len);
    if (len < tail_len || memcmp(json + len - tail_len, tail, tail_len) != 0)
        die("the echo differs", json);
}

/* ---- echo calls ---- */

struct echoes {
    mcplug *host;
    mcplug_server *server;
    long calls, sent, got;
    double *took; /* of each call; NULL when that is not wanted */
};

/* One of those under way at a time. */
struct flight {
    struct echoes *e;
    double begun;
};

static mcplug_done_fn echoed;

static void send_echo(struct flight *f)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;

    f->e->sent++;
    if (f->e->took)
        f->begun = now_us();
    if (!mcplug_call_tool(f->e->server, "echo", ECHO_ARGS, NULL, echoed, f, &err))
        die("mcplug_call_tool", err.text);
}

static void echoed(void *arg, mcplug_call *call, mcplug_result *result,
                   const struct mcplug_error *why)
{
    struct flight *f = arg;
    struct echoes *e = f->e;

    (void)call;
    expect_echo(result, why);
    if (e->took)
        e->took[e->got] = now_us() - f->begun;
    e->got++;
    if (e->sent < e->calls)
        send_echo(f);
    else if (e->got == e->calls)
        mcplug_stop(e->host);
}

/* Makes `calls` calls with `flight` under way, returns the seconds it took. */
static double run_echoes(mcplug *host, mcplug_server *server, long calls, int flight,
                         double *took)
{
    struct echoes e = {.host = host, .server = server, .calls = calls, .took = took};
    struct flight flights[FLIGHT];
    double begun = now_us();

    for (int i = 0; i < flight && i < calls; i++) {
        flights[i].e = &e;
        send_echo(&flights[i]);
    }
    mcplug_run(host);
    return (now_us() - begun) / 1e6;
}

static void sequential(mcplug *host, mcplug_server *server, long calls)
{
    double *took = malloc(sizeof *took * (size_t)calls);

    if (!took)
        die("malloc", "no memory");
    double cpu = cpu_us(), gave_way = switches();
    run_echoes(host, server, calls, 1, took);
    cpu = (cpu_us() - cpu) / (double)calls;
    gave_way = (switches() - gave_way) / (double)calls;
    qsort(took, (size_t)calls, sizeof *took, by_size);
    printf("\"p50_us\":%.2f,\"p99_us\":%.2f,\"cpu_us_per_call\":%.2f,"
           "\"switches_per_call\":%.2f",
           took[calls / 2], took[calls * 99 / 100], cpu, gave_way);
    free(took);
}

/* 64 under way: how many in a second, and how long the slowest of a hundred takes. */
static void in_flight(mcplug *host, mcplug_server *server, long calls)
{
    double *took = malloc(sizeof *took * (size_t)calls);

    if (!took)
        die("malloc", "no memory");
    double seconds = run_echoes(host, server, calls, FLIGHT, took);
    qsort(took, (size_t)calls, sizeof *took, by_size);
    printf(",\"inflight64_per_s\":%.0f,\"inflight64_p99_us\":%.2f",
           (double)calls / seconds, took[calls * 99 / 100]);
    free(took);
}

/* ---- one figure of a fresh process ---- */

/* Does the text from `offset` on read as the server made it? Gives its length. */
static size_t check_piece(const mcplug_result *result, uint64_t offset)
{
    static char buf[PIECE], pattern[PIECE + LINE];
    int64_t n = mcplug_result_spill_read(result, 0, offset, buf, sizeof buf);

    if (!pattern[0]) {
        memset(pattern, 'x', sizeof pattern);
        for (size_t i = LINE - 1; i < sizeof pattern; i += LINE)
            pattern[i] = '\n';
    }
    if (n < 0)
        die("mcplug_result_spill_read", mcplug_error_name((int)n));
    if (memcmp(buf, pattern + offset % LINE, (size_t)n) != 0)
        die("spill", "the text differs");
    return (size_t)n;
}

/* Reads the text, as a caller would, wherever it is; gives its size. */
static uint64_t read_text(const mcplug_result *result)
{
    uint64_t size = 0, n = 0;
    size_t len;

    if (mcplug_result_spills(result)) {
        while ((n = check_piece(result, size)) > 0)
            size += n;
        return size;
    }
    const char *p = mcplug_result_json(result, &len), *end = p + len;
    p = memmem(p, len, "xxx", 3);
    while (p && p < end && *p != '"') {
        p += *p == '\\' ? 2 : 1;
        size++;
    }
    return size;
}

static mcplug_result *call_big(mcplug_server *server, uint64_t bytes)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    mcplug_result *result = NULL;
    char args[64];

    snprintf(args, sizeof args, "{\"bytes\":%llu}", (unsigned long long)bytes);
    if (mcplug_call_tool_wait(server, "big", args, NULL, &result, &err) != MCPLUG_OK)
        die("big", err.text);
    return result;
}

static void big(mcplug *host, const struct options *o)
{
    unsigned million = (unsigned)(o->count / 1000000);
    mcplug_server *server = connect_server(host, o, 0);
    double begun = now_us();
    mcplug_result *result = call_big(server, o->count);
    double done = now_us();

    if (read_text(result) != o->count)
        die("big", "the text is cut");
    printf(",\"big%u_ms\":%.2f,\"big%u_result_ms\":%.2f,\"big%u_peak_kb\":%ld", million,
           (now_us() - begun) / 1e3, million, (done - begun) / 1e3, million,
           status_kb("VmHWM"));
    mcplug_result_unref(result);
    mcplug_close_wait(server);
}

/* N tools in all, echo among them: 10,000 is also the most we keep of a list. */
static void list(mcplug *host, const struct options *o)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    mcplug_server *server = connect_server(host, o, o->count - 1);
    mcplug_list *tools = NULL;
    double begun = now_us();

    if (mcplug_get_list_wait(server, MCPLUG_TOOLS, NULL, &tools, &err) != MCPLUG_OK)
        die("tools/list", err.text);
    double ms = (now_us() - begun) / 1e3;
    if (mcplug_list_count(tools) != o->count)
        die("tools/list", "tools are missing");
    if (o->url)
        printf("{\"list%llu_ms\":%.2f,\"list%llu_kb\":%ld}\n",
               (unsigned long long)o->count, ms, (unsigned long long)o->count,
               status_kb("VmHWM"));
    else
        printf(",\"list%llu_ms\":%.2f", (unsigned long long)o->count, ms);
    mcplug_list_unref(tools);
    mcplug_close_wait(server);
}

/* Servers that have been of use, and idle now. */
static void many(mcplug *host, const struct options *o)
{
    enum { FIRST = 5 };
    long first = 0, kb = 0;

    for (uint64_t i = 1; i <= o->count; i++) {
        run_echoes(host, connect_server(host, o, 0), 1, 1, NULL);
        kb = status_kb("VmRSS");
        if (i == FIRST)
            first = kb;
    }
    printf(",\"rss%llu_kb\":%ld", (unsigned long long)o->count, kb);
    if (o->count > FIRST)
        printf(",\"server_kb\":%.2f", (double)(kb - first) / (double)(o->count - FIRST));
}

/* False when the memory it took is above the limit. */
static bool big2g(mcplug *host, const struct options *o)
{
    static const uint64_t at[] = {0, 79, 4095, TWO_GIB / 2 - 1, TWO_GIB - PIECE};
    struct mcplug_spill spill = {.struct_size = sizeof spill};
    mcplug_server *server = connect_server(host, o, 0);
    double begun = now_us();
    mcplug_result *result = call_big(server, TWO_GIB);
    double seconds = (now_us() - begun) / 1e6;

    if (mcplug_result_spills(result) != 1 ||
        mcplug_result_spill(result, 0, &spill) != MCPLUG_OK || spill.size != TWO_GIB)
        die("big2g", "the text is not whole");
    for (size_t i = 0; i < sizeof at / sizeof *at; i++) {
        if (check_piece(result, at[i]) != PIECE)
            die("big2g", "a range is short");
    }
    if (check_piece(result, TWO_GIB - 1) != 1 || check_piece(result, TWO_GIB) != 0)
        die("big2g", "the end is not where it should be");
    mcplug_result_unref(result);
    run_echoes(host, server, 1, 1, NULL);

    long peak = status_kb("VmHWM");
    printf("{\"name\":\"mcplug %s\",\"big2g_s\":%.2f,\"big2g_peak_kb\":%ld}\n",
           mcplug_server_revision(server), seconds, peak);
    mcplug_close_wait(server);
    return peak > 0 && peak < MEMORY_LIMIT_KB;
}

/* ---- all of them ---- */

/* Runs this program again for one figure, which it prints in place of us. */
static void again(const struct options *o, const char *mode, const char *count)
{
    const char *argv[ARGS_MAX + 6] = {"mcplug-bench", mode, count};
    int n = 3, status = 0;

    if (o->legacy)
        argv[n++] = "--legacy";
    for (int i = 0; i < o->argc; i++)
        argv[n++] = o->argv[i];
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) {
        execv("/proc/self/exe", (char **)argv);
        _exit(127);
    }
    if (pid < 0 || waitpid(pid, &status, 0) != pid || status != 0)
        die(mode, "failed");
}

static void all(mcplug *host, const struct options *o)
{
    mcplug_server *server = connect_server(host, o, 0);

    printf("{\"name\":\"mcplug %s\",", o->legacy ? "legacy" : "modern");
    run_echoes(host, server, WARM_UP, 1, NULL);
    sequential(host, server, CALLS);
    printf(",\"inflight64_per_s\":%.0f",
           FLIGHT_CALLS / run_echoes(host, server, FLIGHT_CALLS, FLIGHT, NULL));
    printf(",\"rss_kb\":%ld", status_kb("VmRSS"));
    mcplug_close_wait(server);
    again(o, "--servers", "50");
    again(o, "--big", "10000000");
    again(o, "--big", "50000000");
    again(o, "--list", "1000");
    again(o, "--list", "10000");
    puts("}");
}

/* The second time the era is known; nothing else is. The first `stats` tells of what
 * was before, and makes the server count anew. */
static int count_round_trips(mcplug *host, const struct options *o)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    int trips = 0;

    for (int i = 0; i < 2; i++) {
        mcplug_server *server = connect_server(host, o, 0);
        mcplug_result *result = NULL;
        size_t len;
        if (mcplug_call_tool_wait(server, "stats", "{}", NULL, &result, &err) !=
            MCPLUG_OK)
            die("stats", err.text);
        trips =
            round_trips(mcplug_result_json(result, &len), !strncmp(o->url, "http", 4));
        mcplug_result_unref(result);
        mcplug_close_wait(server);
    }
    return trips;
}

static void all_net(mcplug *host, const struct options *o)
{
    mcplug_server *server = connect_server(host, o, 0);

    printf("{\"name\":\"mcplug %.*s %s\",", (int)strcspn(o->url, ":"), o->url,
           o->legacy ? "legacy" : "modern");
    run_echoes(host, server, WARM_UP, 1, NULL);
    sequential(host, server, CALLS);
    in_flight(host, server, FLIGHT_CALLS_NET);
    printf(",\"peak_kb\":%ld", status_kb("VmHWM"));
    mcplug_close_wait(server);
    printf(",\"connect_rtt\":%d}\n", count_round_trips(host, o));
}

/* No clock is read between the calls and nothing sorted behind them, so that a
 * profile of this shows the library. */
static void echoes(mcplug *host, const struct options *o, int flight)
{
    mcplug_server *server = connect_server(host, o, 0);
    double cpu = cpu_us(), gave_way = switches();

    double seconds = run_echoes(host, server, (long)o->count, flight, NULL);
    printf("{\"calls\":%llu,\"per_s\":%.0f,\"cpu_us_per_call\":%.2f,"
           "\"switches_per_call\":%.2f}\n",
           (unsigned long long)o->count, (double)o->count / seconds,
           (cpu_us() - cpu) / (double)o->count,
           (switches() - gave_way) / (double)o->count);
    mcplug_close_wait(server);
}

/* The median of blocking calls, in us. */
static double wait_us(mcplug *host, const struct options *o)
{
    mcplug_server *server = connect_server(host, o, 0);
    size_t calls = (size_t)o->count;
    double *took = malloc(sizeof *took * calls);

    if (!took)
        die("malloc", "no memory");
    for (size_t i = 0; i < calls; i++) {
        struct mcplug_error err = MCPLUG_ERROR_INIT;
        mcplug_result *result = NULL;
        double begun = now_us();
        if (mcplug_call_tool_wait(server, "echo", ECHO_ARGS, NULL, &result, &err) !=
            MCPLUG_OK)
            die("mcplug_call_tool_wait", err.text);
        took[i] = now_us() - begun;
        mcplug_result_unref(result);
    }
    mcplug_close_wait(server);
    qsort(took, calls, sizeof *took, by_size);
    double median = took[calls / 2];
    free(took);
    return median;
}

static void waits(mcplug *host, const struct options *o)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    mcplug *other = host_new();

    if (mcplug_start_thread(other, &err) != MCPLUG_OK)
        die("mcplug_start_thread", err.text);
    printf("{\"wait_us\":%.2f,\"wait_thread_us\":%.2f}\n", wait_us(host, o),
           wait_us(other, o));
    mcplug_free(other);
}

static bool parse(int argc, char **argv, struct options *o)
{
    static const struct {
        const char *name;
        enum mode mode;
        bool counted;
    } modes[] = {{"--calls", ECHOES, true}, {"--flights", FLIGHTS, true},
                 {"--big", BIG, true},      {"--list", LIST, true},
                 {"--servers", MANY, true}, {"--big2g", BIG2G, false},
                 {"--waits", WAITS, true},  {"--modern", ALL, false},
                 {"--legacy", ALL, false}};
    enum { MODES = sizeof modes / sizeof *modes };
    int i = 1;

    for (; i < argc && argv[i][0] == '-'; i++) {
        size_t m = 0;
        if (!strcmp(argv[i], "--url") && i + 1 < argc) {
            o->url = argv[++i];
            continue;
        }
        if (!strcmp(argv[i], "--under-way") && i + 1 < argc) {
            o->under_way = (int)strtol(argv[++i], NULL, 10);
            continue;
        }
        if (!strcmp(argv[i], "--once") || !strcmp(argv[i], "--queue")) {
            o->once |= !strcmp(argv[i], "--once");
            o->queue |= !strcmp(argv[i], "--queue");
            continue;
        }
        while (m < MODES && strcmp(argv[i], modes[m].name) != 0)
            m++;
        if (m == MODES || (modes[m].counted && i + 1 >= argc))
            return false;
        if (modes[m].mode == ALL)
            o->legacy = !strcmp(argv[i], "--legacy");
        else
            o->mode = modes[m].mode;
        if (modes[m].counted && (o->count = strtoull(argv[++i], NULL, 10)) == 0)
            return false;
    }
    o->argc = argc - i;
    o->argv = argv + i;
    if (o->url) /* the other modes start servers of their own */
        return o->argc == 0 && (o->mode == ALL || o->mode == ECHOES ||
                                o->mode == FLIGHTS || o->mode == LIST);
    return o->argc > 0 && o->argc <= ARGS_MAX;
}

int main(int argc, char **argv)
{
    struct options o = {.mode = ALL, .under_way = FLIGHT};
    bool fine = true;

    if (!parse(argc, argv, &o)) {
        fputs(
            "usage: mcplug-bench [--legacy] [--once] [--queue]\n"
            "                    [--calls N | --flights N [--under-way M] | --waits N |\n"
            "                     --big2g]\n"
            "                    --url URL | SERVER [ARG]...\n",
            stderr);
        return 2;
    }
    signal(SIGPIPE, SIG_IGN);
    mcplug *host = host_new();
    switch (o.mode) {
    case ALL:
        if (o.url)
            all_net(host, &o);
        else
            all(host, &o);
        break;
    case ECHOES:
        echoes(host, &o, 1);
        break;
    case FLIGHTS:
        echoes(host, &o, o.under_way);
        break;
    case WAITS:
        waits(host, &o);
        break;
    case BIG:
        big(host, &o);
        break;
    case LIST:
        list(host, &o);
        break;
    case MANY:
        many(host, &o);
        break;
    case BIG2G:
        fine = big2g(host, &o);
        break;
    }
    mcplug_free(host);
    return fine && !fflush(stdout) ? 0 : 1;
}
