/* Time for deadlines. [any] */
#ifndef MP_BASE_CLOCK_H
#define MP_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

/* ms; does not jump. */
static inline uint64_t mp_clock_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

#endif
