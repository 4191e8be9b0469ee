#include "soak.h"
#include "../unit/sanitized.h"

#include <dirent.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* How much more memory is none.
 *
 * At rest nobody holds anything, so what malloc() has handed out is what it was before,
 * but for caches that grow to what was needed once: the heap of timers, buckets of queues
 * (some 100 KiB). A hundred bytes lost at each of ten thousand calls are found. Pages are
 * less exact: those in use keep others from going back, and more code has been run.
 *
 * Under load bursts of 500 calls come and go, each 4 KiB while it waits, so samples with
 * many calls under way don't count; a server's connections stay open for the next ones,
 * with 20 KiB of buffers each, so more of them may take more. The median of a minute
 * takes out the rest. */
enum { USED_AT_REST_KB = 256, RSS_AT_REST_KB = 2048, RSS_KB = 2048, CONNECTION_KB = 20 };
enum {
    LONG_RUN_S = 600,
    CALLS_MAX = 250,
    PROCESSES = 4096,
    ZOMBIES = 32,
    ZOMBIE_MS = 500
};

struct sample {
    double at;
    bool calm;            /* nobody holds anything */
    long rss_kb, used_kb; /* resident; handed out by malloc */
    unsigned fds, children, calls;
};

static struct sample *samples;
static size_t n_samples, room;

/* ---- processes ---- */

struct process {
    pid_t pid, parent;
    char state;
    unsigned long long born;
    bool ours;
    double seen; /* of soak.loop_ms: a zombie, for the first time */
};

static struct process processes[PROCESSES];
static unsigned n_processes;

static struct process zombies[ZOMBIES];
static unsigned n_zombies, glimpses;

static bool read_process(const char *pid, struct process *p)
{
    char path[300], text[1024];
    int parent;
    FILE *f;

    snprintf(path, sizeof path, "/proc/%s/stat", pid);
    if (!(f = fopen(path, "r")))
        return false;
    size_t n = fread(text, 1, sizeof text - 1, f);
    fclose(f);
    text[n] = '\0';
    const char *at = strrchr(text, ')'); /* a name may have anything in it */
    *p = (struct process){.pid = atoi(pid)};
    bool ok = at && sscanf(at,
                           ") %c %d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d "
                           "%*d %*d %*d %*d %*d %llu",
                           &p->state, &parent, &p->born) == 3;
    p->parent = ok ? parent : 0;
    return ok;
}

/* Ours, and their descendants; found in as many rounds as there are generations. */
static unsigned read_processes(void)
{
    DIR *dir = opendir("/proc");
    struct dirent *d;
    unsigned n = 0;
    bool more = true;

    n_processes = 0;
    while (dir && (d = readdir(dir)) && n_processes < PROCESSES)
        if (d->d_name[0] >= '1' && d->d_name[0] <= '9')
            n_processes += read_process(d->d_name, &processes[n_processes]);
    if (dir)
        closedir(dir);
    while (more) {
        more = false;
        for (unsigned i = 0; i < n_processes; i++) {
            struct process *p = &processes[i];
            bool ours = p->parent == getpid();
            for (unsigned k = 0; !p->ours && !ours && k < n_processes; k++)
                ours = processes[k].ours && processes[k].pid == p->parent;
            if (ours && !p->ours)
                more = p->ours = true, n++;
        }
    }
    return n;
}

/* One that is seen once has just ended; one that is seen again is forgotten. */
static void look_for_zombies(void)
{
    struct process before[ZOMBIES];
    unsigned n_before = n_zombies;

    memcpy(before, zombies, sizeof before);
    n_zombies = 0;
    for (unsigned i = 0; i < n_processes; i++) {
        struct process *p = &processes[i];
        if (!p->ours || p->state != 'Z' || n_zombies == ZOMBIES)
            continue;
        p->seen = soak.loop_ms;
        for (unsigned k = 0; k < n_before; k++)
            if (before[k].pid == p->pid && before[k].born == p->born)
                p->seen = before[k].seen;
        glimpses += p->seen >= soak.loop_ms;
        if (soak.loop_ms - p->seen > ZOMBIE_MS)
            wrong("process %d, child of %d, is a zombie in two samples", (int)p->pid,
                  (int)p->parent);
        zombies[n_zombies++] = *p;
    }
}

/* By what stands in their environment: whoever left the tree is found too. */
bool sample_any_left(void)
{
    char mark[32], path[300], text[65536];
    DIR *dir = opendir("/proc");
    struct dirent *d;
    bool any = false;

    snprintf(mark, sizeof mark, "SOAK_RUN=%d", (int)getpid());
    while (dir && (d = readdir(dir))) {
        snprintf(path, sizeof path, "/proc/%s/environ", d->d_name);
        FILE *f = d->d_name[0] >= '1' && d->d_name[0] <= '9' ? fopen(path, "r") : NULL;
        size_t n = f ? fread(text, 1, sizeof text - 1, f) : 0;
        if (f)
            fclose(f);
        text[n] = '\0';
        for (size_t i = 0; i < n; i += strlen(text + i) + 1)
            any |= strcmp(text + i, mark) == 0;
    }
    if (dir)
        closedir(dir);
    return any;
}

/* ---- memory, descriptors ---- */

void sample_take(double at_s, bool calm)
{
    if (n_samples == room) {
        room = room ? room * 2 : 8192;
        samples = realloc(samples, room * sizeof *samples);
        if (!samples)
            give_up("no memory");
        memset(samples + n_samples, 0, (room - n_samples) * sizeof *samples);
    }
    struct sample *s = &samples[n_samples++];
    malloc_trim(0);
    *s = (struct sample){
        .at = at_s, .calm = calm, .rss_kb = rss_kb(), .used_kb = used_kb()};
    s->fds = open_fds();
    s->calls = load_under_way();
    s->children = read_processes();
    look_for_zombies();
    if (soak.verbose)
        printf("sample: %.1f s, %ld KiB, %ld used, %u fds, %u processes, %u calls under "
               "way%s\n",
               at_s, s->rss_kb, s->used_kb, s->fds, s->children, s->calls,
               calm ? ", at rest" : "");
    if (calm && s->children > gate_processes())
        wrong("nobody holds a server, and there are %u processes, %u of them gates and "
              "peers",
              s->children, gate_processes());
}

void sample_last(char *out, size_t size)
{
    const struct sample *s = &samples[n_samples - 1];
    snprintf(out, size, "rss %.1f MiB, %u fds, %u processes", (double)s->rss_kb / 1024,
             s->fds, s->children);
}

/* ---- judgement ---- */

static int by_size(const void *a, const void *b)
{
    long x = *(const long *)a, y = *(const long *)b;
    return x < y ? -1 : x > y;
}

/* Of a tenth of the run, 0 .. 9. */
struct tenth {
    long median_kb, rest_kb, used_kb;
    unsigned fds;    /* the least */
    long median_fds; /* under load */
};

static long median(long *of, size_t n)
{
    qsort(of, n, sizeof *of, by_size);
    return of[n / 2];
}

static struct tenth tenth_of(double seconds, int which)
{
    long *kb = calloc(n_samples + 1, sizeof *kb);
    long *fds = calloc(n_samples + 1, sizeof *fds);
    struct tenth t = {.fds = UINT32_MAX};
    size_t n = 0;

    for (size_t i = 0; kb && fds && i < n_samples; i++) {
        const struct sample *s = &samples[i];
        int in = (int)(s->at * 10 / seconds);
        if ((in > 9 ? 9 : in) != which)
            continue;
        t.fds = s->fds < t.fds ? s->fds : t.fds;
        if (s->calm)
            t.rest_kb = s->rss_kb, t.used_kb = s->used_kb;
        else if (s->calls <= CALLS_MAX)
            fds[n] = s->fds, kb[n++] = s->rss_kb;
    }
    if (n) {
        t.median_kb = median(kb, n);
        t.median_fds = median(fds, n);
    }
    free(kb);
    free(fds);
    return t;
}

static void check_growth(const char *what, long before, long after, long bound)
{
    if (after - before > bound)
        wrong("%s has grown by %ld KiB, %ld are allowed", what, after - before, bound);
}

void sample_judge(double seconds)
{
    struct tenth a = tenth_of(seconds, 1), b = tenth_of(seconds, 9);
    long more = b.median_fds > a.median_fds ? b.median_fds - a.median_fds : 0;

    printf("memory: median %.1f MiB in the second tenth, %.1f MiB in the last; at rest "
           "%.1f and %.1f MiB, of these in use %ld and %ld KiB\n",
           (double)a.median_kb / 1024, (double)b.median_kb / 1024,
           (double)a.rest_kb / 1024, (double)b.rest_kb / 1024, a.used_kb, b.used_kb);
    printf(
        "descriptors: least %u in the second tenth, %u in the last; under load %ld and "
        "%ld\n",
        a.fds, b.fds, a.median_fds, b.median_fds);
    printf("zombies: %u seen between exit and wait\n", glimpses);
    if (a.fds != b.fds)
        wrong("there were %u descriptors at rest, there are %u", a.fds, b.fds);
    if (SANITIZED)
        return; /* what is freed stays there for a while */
    check_growth("memory in use at rest", a.used_kb, b.used_kb, USED_AT_REST_KB);
    check_growth("resident memory at rest", a.rest_kb, b.rest_kb, RSS_AT_REST_KB);
    if (seconds >= LONG_RUN_S && a.median_kb && b.median_kb)
        check_growth("resident memory under load", a.median_kb, b.median_kb,
                     RSS_KB + more * CONNECTION_KB);
}
