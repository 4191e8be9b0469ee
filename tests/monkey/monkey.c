/* A standing adversary: any operation at any time, against servers that misbehave, over
 * wires that fail.
 *
 *   monkey [-v] [--seed N] [--seconds S]
 *
 * Up to three hosts at once, each run in another way, have servers over every wire, most
 * of them through a proxy or filter that cuts, resets, corrupts, duplicates, drops,
 * delays or goes silent. Operations are drawn from the seed, also inside of callbacks.
 * A round takes some seconds. Then everything is let go of, or freed while it is under
 * way, and the run fails when a request ended twice or never, the books of a server are
 * not those that we keep, a callback is missing, or processes, descriptors, files or
 * memory are left. After each round every wire has to carry a call, left alone. */
#include "monkey.h"
#include "../unit/now.h"

#ifdef __GLIBC__
#include <execinfo.h>
#endif
#include <ftw.h>
#include <malloc.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

/* Without --seconds, as in make check: longer where it finds the most. */
#if defined(__SANITIZE_ADDRESS__)
#define SECONDS 40
#else
#define SECONDS 10
#endif

enum { WRONG_MAX = 30, ROUND_MS = 4000, HANG_S = 240, ACTS_A_TICK = 4 };

struct monkey monkey;

static pthread_mutex_t telling = PTHREAD_MUTEX_INITIALIZER;

/* ---- chance ---- */

unsigned any(struct host *h, unsigned below)
{
    return below ? (unsigned)drawn(&h->luck, below) : 0;
}

bool one_in(struct host *h, unsigned n)
{
    return any(h, n) == 0;
}

/* ---- what is told ---- */

void note(struct host *h, const char *format, ...)
{
    char *line = h->notes[h->n_notes++ % NOTES];
    va_list ap;

    va_start(ap, format);
    vsnprintf(line, NOTE_SIZE, format, ap);
    va_end(ap);
    if (monkey.verbose)
        printf("host %u: %*s%s\n", h->index, (int)h->depth * 2, "", line);
}

static void show_notes(const struct host *h)
{
    unsigned from = h->n_notes > NOTES ? h->n_notes - NOTES : 0;

    printf("the last operations of host %u:\n", h->index);
    for (unsigned i = from; i < h->n_notes; i++)
        printf("  %s\n", h->notes[i % NOTES]);
}

static void say_wrong(const struct host *h, const char *format, va_list ap)
{
    pthread_mutex_lock(&telling);
    if (monkey.failures++ < WRONG_MAX) {
        printf("WRONG: ");
        vprintf(format, ap);
        printf("\n");
        if (h && monkey.failures < 4)
            show_notes(h);
        fflush(stdout);
    }
    pthread_mutex_unlock(&telling);
}

void wrong(struct host *h, const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    say_wrong(h, format, ap);
    va_end(ap);
}

static void say_again(void)
{
    printf("monkey: failed, %u found; the same again: tests/monkey/monkey --seed %llu "
           "--seconds %.0f\n",
           monkey.failures, (unsigned long long)monkey.seed, monkey.seconds);
    fflush(stdout);
}

void give_up(const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    say_wrong(NULL, format, ap);
    va_end(ap);
    say_again();
    _exit(1);
}

/* It hangs, or was killed by what it found; what it did last is what counts. */
/* The functions that the thread is in, for addr2line; a debugger may not be there. */
static void show_where(void)
{
#ifdef __GLIBC__
    void *at[64];

    backtrace_symbols_fd(at, backtrace(at, 64), STDOUT_FILENO);
#endif
}

static void on_signal(int sig)
{
    printf("monkey: signal %d%s\n", sig, sig == SIGALRM ? ": it hangs" : "");
    fflush(stdout);
    show_where();
    for (int i = 0; i < HOSTS; i++)
        if (monkey.hosts[i].mcplug)
            show_notes(&monkey.hosts[i]);
    say_again();
    signal(SIGABRT, SIG_DFL);
    abort();
}

static void say_end(void)
{
    static const char *const names[OUTCOMES] = {
        "ok", "tool errors", "peer errors", "transport errors", "timed out", "cancelled"};

    printf("operations: %llu; calls: %llu issued", (unsigned long long)monkey.acts,
           (unsigned long long)monkey.issued);
    for (int i = 0; i < OUTCOMES; i++)
        printf("%s %llu %s", i ? "," : ":", (unsigned long long)monkey.ended[i],
               names[i]);
    printf("; %llu refused; %llu lists and calls of toolboxes\nfaults:",
           (unsigned long long)monkey.refused, (unsigned long long)monkey.lists_asked);
    for (int i = 0; i < FAULTS; i++)
        printf("%s %lu %s", i ? "," : "", monkey.book->faults[i], fault_names[i]);
    printf("\n");
}

/* ---- rounds ---- */

static void add_up(struct host *h)
{
    monkey.acts += h->acts;
    monkey.issued += h->issued;
    monkey.refused += h->refused;
    monkey.lists_asked += h->lists_asked;
    for (int i = 0; i < OUTCOMES; i++) {
        monkey.ended[i] += h->ended[i];
        h->ended[i] = 0;
    }
    h->acts = h->issued = h->refused = h->lists_asked = 0;
}

static void tick(void)
{
    struct pollfd set[HOSTS];

    for (int i = 0; i < HOSTS; i++) {
        struct host *h = &monkey.hosts[i];
        set[i] = (struct pollfd){.fd = -1, .events = POLLIN};
        if (!h->mcplug)
            continue;
        for (unsigned n = drawn(&monkey.luck, ACTS_A_TICK); n > 0; n--)
            host_act(h);
        if (drawn(&monkey.luck, 200) == 0)
            host_wait(h);
        if (h->drive != THREAD)
            set[i].fd = mcplug_fd(h->mcplug);
    }
    poll(set, HOSTS, 1 + (int)drawn(&monkey.luck, 3));
    for (int i = 0; i < HOSTS; i++)
        if (monkey.hosts[i].mcplug)
            host_turn(&monkey.hosts[i]);
}

static void run_round(double until)
{
    unsigned n = 1 + (unsigned)drawn(&monkey.luck, HOSTS);

    for (unsigned i = 0; i < n; i++) {
        struct host *h = &monkey.hosts[i];
        h->luck = drawn(&monkey.luck, UINT64_MAX);
        host_new(h, (enum drive)drawn(&monkey.luck, DRIVES));
    }
    while (now_ms() < until) {
        tick();
        if (drawn(&monkey.luck, 1500) == 0) { /* one of them goes, and comes back */
            struct host *h = &monkey.hosts[drawn(&monkey.luck, n)];
            host_free(h);
            host_new(h, (enum drive)drawn(&monkey.luck, DRIVES));
        }
    }
    for (unsigned i = 0; i < n; i++) {
        host_free(&monkey.hosts[i]);
        add_up(&monkey.hosts[i]);
    }
    wires_tell('x');
    hosts_proof();
}

static void run(double seconds)
{
    double began = now_ms(), at = 0;

    while (at < seconds * 1000 && monkey.failures < WRONG_MAX) {
        double left = seconds * 1000 - at;
        run_round(now_ms() + (left < ROUND_MS ? left : ROUND_MS));
        at = now_ms() - began;
        look_at_rest(at / 1000);
        alarm((unsigned)HANG_S);
    }
}

/* ---- the run ---- */

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st, (void)type, (void)ftw;
    return remove(path);
}

static void make_dirs(void)
{
    static const char *const names[] = {"spill", "home", "cache", "state", "config"};
    static const char *const variables[] = {NULL, "HOME", "XDG_CACHE_HOME",
                                            "XDG_STATE_HOME", "XDG_CONFIG_HOME"};
    char path[80];

    strcpy(monkey.dir, "/tmp/mcplug-monkey-XXXXXX");
    if (!mkdtemp(monkey.dir))
        give_up("no directory can be made in /tmp");
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        snprintf(path, sizeof path, "%s/%s", monkey.dir, names[i]);
        if (mkdir(path, 0700) != 0)
            give_up("%s can't be made", path);
        if (variables[i])
            setenv(variables[i], path, 1);
    }
    snprintf(monkey.mark, sizeof monkey.mark, "%d", (int)getpid());
}

static bool read_options(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "-v"))
            monkey.verbose = true;
        else if (!strcmp(argv[i], "--seed") && i + 1 < argc && *argv[i + 1])
            monkey.seed = strtoull(argv[++i], NULL, 10);
        else if (!strcmp(argv[i], "--seconds") && i + 1 < argc)
            monkey.seconds = atof(argv[++i]);
        else
            return false;
    }
    return monkey.seconds > 0;
}

int main(int argc, char **argv)
{
    /* What threads that are long gone left in arenas of their own is not ours to free,
     * and would hide what is. */
    mallopt(M_ARENA_MAX, 1);
    if (getrandom(&monkey.seed, 4, 0) != 4)
        monkey.seed = (uint64_t)getpid();
    monkey.seconds = SECONDS;
    if (getenv("MCPLUG_TEST_DIST"))
        return 77; /* these sources have been tested in another place */
    if (!read_options(argc, argv)) {
        fprintf(stderr, "monkey [-v] [--seed N] [--seconds S]\n");
        return 2;
    }
    monkey.luck = monkey.seed;
    printf("monkey: %.0f s, seed %llu\n", monkey.seconds,
           (unsigned long long)monkey.seed);
    fflush(stdout);
    signal(SIGALRM, on_signal);
    signal(SIGABRT, on_signal);
    signal(SIGSEGV, on_signal);
    alarm(HANG_S);
    for (unsigned i = 0; i < HOSTS; i++) {
        monkey.hosts[i].index = i;
        sem_init(&monkey.hosts[i].lent, 0, 0);
    }
    make_dirs();
    wires_start();
    hosts_proof(); /* what the system's libraries keep open once they were used */
    look_start();
    run(monkey.seconds);
    say_end();
    look_judge();
    wires_end();
    nftw(monkey.dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    if (monkey.failures) {
        say_again();
        return 1;
    }
    printf("monkey: passed\n");
    return 0;
}
