#include "suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

int run_to_end(Suite *suite)
{
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}

bool offered(const char *name)
{
    const char *build = getenv("MCPLUG_BUILD");
    char command[4200];

    if (!build)
        return true;
    snprintf(command, sizeof command, "'%s/mcplug' plugins %s >/dev/null 2>&1", build,
             name);
    if (system(command) == 0)
        return true;
    printf("skipped what needs: %s\n", name);
    fflush(stdout);
    return false;
}

static double seconds(void (*work)(size_t n), size_t n)
{
    struct timespec from, to;
    double best = 1e9;

    for (int i = 0; i < 5; i++) {
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &from);
        work(n);
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &to);
        double took =
            (double)(to.tv_sec - from.tv_sec) + (double)(to.tv_nsec - from.tv_nsec) / 1e9;
        best = took < best ? took : best;
    }
    return best;
}

double grows_by(void (*work)(size_t n), size_t n)
{
    double small = seconds(work, n), large = seconds(work, 8 * n);
    return small > 0 ? large / small : 0;
}
