/* A limit of time for what other processes do, that is fair on a busy machine.
 *
 * It is counted in ticks of our own: a sleep of 1 ms, and a look at every process in
 * /proc, which is what a round of mcplug-reaper is made of. On a busy machine a tick
 * takes longer, because we wait for a processor, first to wake up and then to go on, and
 * so does the reaper. A tick counts as long as the shortest that was seen. On an idle
 * machine that is a little less than one takes on the average, by a fifth at most.
 */
#ifndef TESTS_REAPER_TICK_H
#define TESTS_REAPER_TICK_H

#include "../unit/now.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#define TICKS_FIRST 20 /* to find out how long one is */

static inline double tick_once(void)
{
    const struct timespec ms = {.tv_nsec = 1000000};
    double began = now_ms();
    char path[300], text[512];
    struct dirent *entry;
    DIR *proc = opendir("/proc");
    while (proc != NULL && (entry = readdir(proc)) != NULL) {
        if (entry->d_name[0] < '1' || entry->d_name[0] > '9')
            continue;
        snprintf(path, sizeof path, "/proc/%s/stat", entry->d_name);
        int fd = open(path, O_RDONLY | O_CLOEXEC);
        ssize_t len = fd >= 0 ? read(fd, text, sizeof text) : 0;
        (void)len;
        if (fd >= 0)
            close(fd);
    }
    if (proc != NULL)
        closedir(proc);
    nanosleep(&ms, NULL);
    return now_ms() - began;
}

static inline double *tick_shortest(void)
{
    static double shortest;
    return &shortest;
}

/* Waits for one; returns how many milliseconds it counts. */
static inline double tick(void)
{
    double *shortest = tick_shortest(), took = tick_once();
    if (took < *shortest)
        *shortest = took;
    return *shortest;
}

/* Finds out how long one is; to be called first. */
static inline void tick_prepare(void)
{
    *tick_shortest() = tick_once();
    for (int i = 0; i < TICKS_FIRST; i++)
        tick();
}

#endif
