#include "monkey.h"
#include "../unit/sanitized.h"

#include <dirent.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* At rest nobody holds anything, so what malloc() has handed out is what it was before,
 * but for what the system's libraries keep once they were used. The first rounds use
 * all of them. Pages are less exact: what a burst needed once does not all go back. */
enum { FIRST_ROUNDS = 3, USED_KB = 512, RSS_KB = 16 * 1024 };

static struct rest {
    long used_kb, rss_kb;
} first, last;
static unsigned n_rests, fds_at_start;

static void show_fds(void)
{
    for (int fd = 3; fd < 1024; fd++) {
        char path[64], target[256];
        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
        ssize_t n = readlink(path, target, sizeof target - 1);
        if (n > 0)
            printf("  %d: %.*s\n", fd, (int)n, target);
    }
}

void look_start(void)
{
    fds_at_start = open_fds();
}

/* ---- processes ---- */

static size_t read_whole(const char *pid, const char *name, char *out, size_t size)
{
    char path[300];

    snprintf(path, sizeof path, "/proc/%s/%s", pid, name);
    FILE *f = fopen(path, "r");
    size_t n = f ? fread(out, 1, size - 1, f) : 0;
    if (f)
        fclose(f);
    out[n] = '\0';
    return n;
}

/* A child of ours that is no proxy, alive or not. */
static bool is_child(const char *pid)
{
    char text[1024];
    int parent = 0;

    read_whole(pid, "stat", text, sizeof text);
    const char *at = strrchr(text, ')'); /* a name may have anything in it */
    return at && sscanf(at, ") %*c %d", &parent) == 1 && parent == getpid() &&
           !wires_are(atoi(pid));
}

/* One that a server is, or was started by: wherever it is now, it has our mark. */
static bool is_marked(const char *pid)
{
    static char text[65536];
    char mark[48];
    size_t n = read_whole(pid, "environ", text, sizeof text);

    snprintf(mark, sizeof mark, "MONKEY_RUN=%s", monkey.mark);
    for (size_t i = 0; i < n; i += strlen(text + i) + 1)
        if (strcmp(text + i, mark) == 0)
            return true;
    return false;
}

static void look_for_processes(void)
{
    DIR *dir = opendir("/proc");
    struct dirent *d;
    char name[64];

    while (dir && (d = readdir(dir))) {
        if (d->d_name[0] < '1' || d->d_name[0] > '9')
            continue;
        if (!is_child(d->d_name) && !is_marked(d->d_name))
            continue;
        read_whole(d->d_name, "comm", name, sizeof name);
        name[strcspn(name, "\n")] = '\0';
        wrong(NULL, "all hosts are freed, and process %s is left: %s", d->d_name, name);
    }
    if (dir)
        closedir(dir);
}

/* ---- files ---- */

/* Only these may be there: what was made before the first host, and the caches. */
static void look_for_files(const char *path, bool is_cache)
{
    DIR *dir = opendir(path);
    struct dirent *d;
    struct stat st;
    char at[600];

    while (dir && (d = readdir(dir))) {
        if (!strcmp(d->d_name, ".") || !strcmp(d->d_name, ".."))
            continue;
        snprintf(at, sizeof at, "%s/%s", path, d->d_name);
        if (lstat(at, &st) != 0)
            continue;
        bool ours = !strcmp(path, monkey.dir) &&
                    (!strcmp(d->d_name, "book") || !strcmp(d->d_name, "socket"));
        if (S_ISDIR(st.st_mode))
            look_for_files(at, is_cache || !strcmp(d->d_name, "cache"));
        else if (!ours && (!is_cache || d->d_name[0] == '.' || strstr(at, ".tmp")))
            wrong(NULL, "all hosts are freed, and a file is left: %s", at);
    }
    if (dir)
        closedir(dir);
}

/* ---- at rest ---- */

void look_at_rest(double at_s)
{
    unsigned fds = open_fds();

    look_for_processes();
    look_for_files(monkey.dir, false);
    if (fds != fds_at_start) {
        wrong(NULL, "all hosts are freed, and there are %u descriptors; there were %u",
              fds, fds_at_start);
        show_fds();
    }
    malloc_trim(0);
    last = (struct rest){used_kb(), rss_kb()};
    if (n_rests++ < FIRST_ROUNDS) {
        first.used_kb = last.used_kb > first.used_kb ? last.used_kb : first.used_kb;
        first.rss_kb = last.rss_kb > first.rss_kb ? last.rss_kb : first.rss_kb;
    }
    if (monkey.verbose || n_rests % 10 == 1) {
        printf("%5.0f s: %llu operations, at rest %ld KiB in use, %ld resident, %u "
               "descriptors\n",
               at_s, (unsigned long long)monkey.acts, last.used_kb, last.rss_kb, fds);
        fflush(stdout);
    }
}

void look_judge(void)
{
    printf("memory at rest: %ld KiB in use after %d rounds, %ld after %u; resident %ld "
           "and %ld KiB\n",
           first.used_kb, FIRST_ROUNDS, last.used_kb, n_rests, first.rss_kb, last.rss_kb);
    if (SANITIZED)
        return; /* what is freed stays there for a while; the sanitizer looks for leaks */
    if (last.used_kb - first.used_kb > USED_KB)
        wrong(NULL, "memory in use at rest has grown by %ld KiB, %d are allowed",
              last.used_kb - first.used_kb, USED_KB);
    if (last.rss_kb - first.rss_kb > RSS_KB)
        wrong(NULL, "resident memory at rest has grown by %ld KiB, %d are allowed",
              last.rss_kb - first.rss_kb, RSS_KB);
}
