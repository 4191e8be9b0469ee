/* Servers that stay up: for ten minutes, or as long as you like.
 *
 *   soak [-v] [SECONDS [SEED]]     10 seconds, a seed by chance
 *
 * Twenty servers over stdio, HTTP, SSE and WebSocket, some fifty users and a toolbox on
 * them, three hundred calls a second, and once a second something goes wrong. After a
 * tenth of the time and at the end everything is let go of, and counted. It fails when
 * memory, descriptors or processes are left, or more than they were; when a call ends
 * twice or never, or with another one's answer; or when the books don't add up. */
#include "soak.h"

#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

enum { TICK_MS = 20, CALLS_A_TICK = 6, WRONG_MAX = 50, HANG_S = 180 };

struct soak soak;

/* splitmix64: any seed will do, 0 too. */
static uint64_t drawn(uint64_t *state, uint64_t below)
{
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return (z ^ (z >> 31)) % below;
}

uint64_t chance(uint64_t below)
{
    return drawn(&soak.luck, below);
}

uint64_t fate(uint64_t below)
{
    return drawn(&soak.fate, below);
}

/* ---- what is told ---- */

static void say_wrong(const char *format, va_list ap)
{
    if (soak.failures++ < WRONG_MAX) {
        printf("WRONG: ");
        vprintf(format, ap);
        printf("\n");
        fflush(stdout);
    }
}

void wrong(const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    say_wrong(format, ap);
    va_end(ap);
}

static _Noreturn void fail(void)
{
    printf("soak: failed, %u found; the same again: make soak SOAK=%.0f SEED=%llu\n",
           soak.failures, soak.seconds, (unsigned long long)soak.seed);
    fflush(stdout);
    _exit(1);
}

void give_up(const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    say_wrong(format, ap);
    va_end(ap);
    fail();
}

static void on_hang(int sig)
{
    static const char text[] = "soak: failed: it hangs\n";

    (void)sig;
    if (write(STDOUT_FILENO, text, sizeof text - 1) > 0)
        _exit(1);
    _exit(1);
}

static void on_log(void *arg, int level, const char *source, const char *text)
{
    (void)arg;
    printf("  [%d] %s: %s\n", level, source, text);
}

static void tell(double at_s)
{
    char sample[128];

    sample_last(sample, sizeof sample);
    printf("%5.0f s: %llu calls, %u under way, %lu faults, %llu restarts, %s\n", at_s,
           (unsigned long long)soak.issued, load_under_way(), soak.faults,
           (unsigned long long)restarts_so_far(), sample);
    fflush(stdout);
}

/* ---- the run ---- */

/* On a machine that has other things to do a turn may take seconds, which say nothing
 * about the library: one counts for 50 ms at most. */
void turn(unsigned ms)
{
    static double last;
    struct pollfd p = {.fd = mcplug_fd(soak.host), .events = POLLIN};
    int wait = mcplug_timeout(soak.host);

    poll(&p, 1, wait < 0 || wait > (int)ms ? (int)ms : wait);
    mcplug_turn(soak.host, 0);
    double now = now_ms();
    soak.loop_ms += now - last < 50 ? now - last : 50;
    last = now;
}

static void tick(double *next)
{
    double now = now_ms();

    do {
        turn(now < *next ? (unsigned)(*next - now) + 1 : 0);
        now = now_ms();
    } while (now < *next);
    *next = now > *next + 500 ? now : *next + TICK_MS; /* what was missed stays missed */
    load_tick(CALLS_A_TICK);
    load_look();
    mischief_tick();
}

/* Everything is let go of: what is there now is what stays. */
static void rest(double at_s)
{
    soak.at_rest = true;
    mischief_stop();
    fleet_recover();
    fleet_release();
    for (double until = now_ms() + 300; now_ms() < until;)
        turn(20); /* peers that were killed come back, for their number */
    sample_take(at_s, true);
}

static void run(double seconds)
{
    double began = now_ms(), second = began + 1000, next = began;
    bool rested = false;

    fleet_acquire();
    for (;;) {
        double at_s = (now_ms() - began) / 1000;
        if (at_s >= seconds)
            break;
        tick(&next);
        if (!rested && at_s >= seconds / 10) {
            double since = now_ms();
            rest(seconds / 10);
            soak.at_rest = false;
            fleet_acquire();
            rested = true;
            began += now_ms() - since; /* that is no part of the run */
            next = second = now_ms();
        }
        if (now_ms() < second)
            continue;
        second += 1000;
        at_s = (now_ms() - began) / 1000;
        mischief_one();
        for (unsigned i = 0; i < soak.n_servers; i++)
            check_books(&soak.servers[i]);
        sample_take(at_s, false);
        if ((long)at_s % 10 == 0)
            tell(at_s);
    }
    rest(seconds);
    tell(seconds);
}

static void end(double seconds)
{
    uint64_t ended = 0;

    for (int i = 0; i < 6; i++)
        ended += soak.ended[i];
    mischief_tell();
    printf("calls: %llu issued: %llu ok, %llu tool errors, %llu peer errors, %llu lost, "
           "%llu timed out, %llu cancelled; %llu refused\n",
           (unsigned long long)soak.issued, (unsigned long long)soak.ended[0],
           (unsigned long long)soak.ended[1], (unsigned long long)soak.ended[2],
           (unsigned long long)soak.ended[3], (unsigned long long)soak.ended[4],
           (unsigned long long)soak.ended[5], (unsigned long long)soak.refused);
    if (soak.issued != ended)
        wrong("%llu calls were issued, %llu have ended", (unsigned long long)soak.issued,
              (unsigned long long)ended);
    sample_judge(seconds);
    fleet_free();
    mcplug_free(soak.host);
    gates_end();
    if (sample_any_left())
        wrong("a process is left");
}

int main(int argc, char **argv)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    struct mcplug_options o = {
        .struct_size = sizeof o, .log_level = MCPLUG_LOG_WARN, .log = on_log};

    if (argc > 1 && strcmp(argv[1], "-v") == 0) {
        soak.verbose = true;
        argv++, argc--;
    }
    double seconds = soak.seconds = argc > 1 && *argv[1] ? atof(argv[1]) : 10;
    if (argc > 2 && *argv[2])
        soak.seed = strtoull(argv[2], NULL, 10);
    else if (getrandom(&soak.seed, 4, 0) != 4)
        soak.seed = (uint64_t)getpid();
    if (seconds < 10) {
        fprintf(stderr, "soak [-v] [SECONDS [SEED]], 10 seconds at least\n");
        return 2;
    }
    soak.luck = soak.seed;
    soak.fate = ~soak.seed;
    printf("soak: %.0f s, seed %llu\n", seconds, (unsigned long long)soak.seed);
    fflush(stdout);
    signal(SIGALRM, on_hang);
    alarm((unsigned)seconds + HANG_S);
    gates_start();
    soak.host = mcplug_new(soak.verbose ? &o : NULL, &err);
    if (!soak.host)
        give_up("no host: %s", err.text);
    fleet_new();
    run(seconds);
    end(seconds);
    if (soak.failures)
        fail();
    printf("soak: passed\n");
    return 0;
}
