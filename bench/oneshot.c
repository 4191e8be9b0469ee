/* oneshot.c - how long a command takes from its start to its result.
 *
 *   bench-oneshot [-n RUNS] COMMAND [ARG]...
 *
 * Runs the command again and again and prints the medians as one JSON object:
 *
 *   runs
 *   result_ms    until what it prints could be read
 *   exit_ms      until it was gone
 *   peak_kb      the most memory that one of them had
 *
 * A shell's `time` is too coarse and a scripting language too slow to time a
 * program that takes a millisecond.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { RUNS = 50, RUNS_MAX = 10000 };

static _Noreturn void die(const char *what, const char *why)
{
    fprintf(stderr, "bench-oneshot: %s: %s\n", what, why);
    exit(1);
}

static double now_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

/* Reads to the end; returns when the first bytes were there, 0 when none were. A
 * result this small comes in one piece. */
static double read_all(int fd)
{
    char buf[4096];
    double first = 0;
    ssize_t n;

    while ((n = read(fd, buf, sizeof buf)) != 0) {
        if (n < 0 && errno != EINTR)
            die("read", strerror(errno));
        if (n > 0 && first == 0)
            first = now_ms();
    }
    return first;
}

static void run_once(char **argv, double *result_ms, double *exit_ms)
{
    int out[2], status = 0;

    if (pipe2(out, O_CLOEXEC) < 0)
        die("pipe", strerror(errno));
    double begun = now_ms();
    pid_t pid = fork();
    if (pid == 0) {
        dup2(out[1], STDOUT_FILENO);
        execvp(argv[0], argv);
        _exit(127);
    }
    close(out[1]);
    if (pid < 0)
        die("fork", strerror(errno));
    double first = read_all(out[0]);
    close(out[0]);
    if (waitpid(pid, &status, 0) != pid)
        die("waitpid", strerror(errno));
    *exit_ms = now_ms() - begun;
    *result_ms = first - begun;
    if (status != 0)
        die(argv[0], "failed");
    if (first == 0)
        die(argv[0], "printed nothing");
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *values, long n)
{
    qsort(values, (size_t)n, sizeof *values, by_size);
    return n % 2 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

int main(int argc, char **argv)
{
    static double result_ms[RUNS_MAX], exit_ms[RUNS_MAX];
    struct rusage usage;
    long runs = RUNS;
    int i = 1;

    if (argc > 2 && !strcmp(argv[1], "-n")) {
        runs = strtol(argv[2], NULL, 10);
        i = 3;
    }
    if (i >= argc || argv[i][0] == '-' || runs < 1 || runs > RUNS_MAX) {
        fputs("usage: bench-oneshot [-n RUNS] COMMAND [ARG]...\n", stderr);
        return 2;
    }
    run_once(argv + i, result_ms, exit_ms); /* files get into the cache */
    for (long n = 0; n < runs; n++)
        run_once(argv + i, &result_ms[n], &exit_ms[n]);
    getrusage(RUSAGE_CHILDREN, &usage);
    printf("{\"runs\":%ld,\"result_ms\":%.3f,\"exit_ms\":%.3f,\"peak_kb\":%ld}\n", runs,
           median(result_ms, runs), median(exit_ms, runs), usage.ru_maxrss);
    return 0;
}
