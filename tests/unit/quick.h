/* check writes a note of every assertion that holds. Where there are hundreds of
 * thousands, that takes longer than what is tested: this one notes nothing. */
#ifndef TEST_QUICK_H
#define TEST_QUICK_H

#include <check.h>
#include <stdlib.h>

#define HOLDS(condition, ...)                                                            \
    do {                                                                                 \
        if (!(condition))                                                                \
            ck_abort_msg(__VA_ARGS__);                                                   \
    } while (0)

/* How many random ones: under valgrind, which is for other faults, a tenth. */
static inline unsigned fewer(unsigned n)
{
    return getenv("MCPLUG_TEST_VALGRIND") ? n / 10 : n;
}

#endif
