/* own.h - what long tests count of themselves: memory, descriptors, how calls ended. */
#ifndef TESTS_SOAK_OWN_H
#define TESTS_SOAK_OWN_H

#include <mcplug/mcplug.h>

#include <dirent.h>
#include <malloc.h>
#include <stdbool.h>
#include <stdio.h>

static inline long rss_kb(void)
{
    char line[128];
    long kb = 0;
    FILE *f = fopen("/proc/self/status", "r");

    while (f && fgets(line, sizeof line, f))
        sscanf(line, "VmRSS: %ld", &kb);
    if (f)
        fclose(f);
    return kb;
}

/* 0: it cannot be told */
static inline long used_kb(void)
{
#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 33)
    struct mallinfo2 m = mallinfo2();
    return (long)((m.uordblks + m.hblkhd) / 1024);
#else
    return 0;
#endif
}

static inline unsigned open_fds(void)
{
    unsigned n = 0;
    DIR *dir = opendir("/proc/self/fd");

    while (dir && readdir(dir))
        n++;
    if (dir)
        closedir(dir);
    return n - 3; /* . and .. and the directory itself */
}

/* As in struct mcplug_ledger. */
enum outcome {
    OK,
    TOOL_ERROR,
    PEER_ERROR,
    TRANSPORT_ERROR,
    TIMED_OUT,
    CANCELLED,
    OUTCOMES
};

static inline enum outcome outcome_of(bool is_error, const struct mcplug_error *why)
{
    if (!why)
        return is_error ? TOOL_ERROR : OK;
    switch (why->code) {
    case MCPLUG_EPEER:
        return PEER_ERROR;
    case MCPLUG_ETIMEDOUT:
    case MCPLUG_ERESTARTING:
        return TIMED_OUT;
    case MCPLUG_ECANCELED:
        return CANCELLED;
    default:
        return TRANSPORT_ERROR;
    }
}

#endif
