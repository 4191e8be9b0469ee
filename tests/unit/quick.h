/* check writes a note of every assertion that holds. Where there are hundreds of
 * thousands, that takes longer than what is tested: this one notes nothing. */
#ifndef TEST_QUICK_H
#define TEST_QUICK_H

#include <check.h>
#include <stdbool.h>
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

/* Under valgrind: what is a matter of size alone is left to the sanitizers. */
static inline bool is_slow(void)
{
    return getenv("MCPLUG_TEST_VALGRIND") != NULL;
}

/* In builds that are slow, or were tested before in another place: what was run in full
 * there is run in a smaller size. The first build has it off. */
static inline bool is_quick(void)
{
    return getenv("MCPLUG_TEST_QUICK") != NULL;
}

#endif
