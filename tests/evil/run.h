/* Runs the suite of one program of fault tests. They take minutes, and do not depend on
 * how the sources came here: $MCPLUG_TEST_DIST, as set for distcheck, leaves them out. */
#ifndef EVIL_RUN_H
#define EVIL_RUN_H

#include <check.h>
#include <stdlib.h>

/* take `suite`. What main() returns. */
static inline int run_faults(Suite *suite)
{
    SRunner *runner = srunner_create(suite);
    if (getenv("MCPLUG_TEST_DIST")) {
        srunner_free(runner);
        return 77; /* skipped */
    }
    srunner_run_all(runner, CK_NORMAL);
    int failures = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failures != 0;
}

#endif
