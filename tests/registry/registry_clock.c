/* Servers that stay up, over minutes and hours: real processes, and a clock that the
 * tests move. Every test
 * has a process of its own, so that its children and descriptors are its own, too. */
#include "matrix.h"

#include <stdlib.h>

int main(void)
{
    if (getenv("MCPLUG_TEST_DIST")) /* what goes into a package is not told by these */
        return 77;
    Suite *suite = suite_create("registry_clock");

    add_loop_tests(suite);
    add_probe_tests(suite);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failures = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failures != 0;
}
