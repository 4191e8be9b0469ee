/* Real time. From the system itself: some tests put another clock_gettime() in its place.
 */
#ifndef TEST_NOW_H
#define TEST_NOW_H

#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static inline double now_ms(void)
{
    struct timespec t;
    syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

/* Time of the processor that this process has had: what it did, however busy the machine
 * is otherwise. */
static inline double work_ms(void)
{
    struct timespec t;
    syscall(SYS_clock_gettime, CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

#endif
