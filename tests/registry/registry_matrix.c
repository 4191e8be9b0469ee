/* Servers that stay up, and what can happen to them: real processes and sockets, over
 * every wire, through the public API. Every test
 * has a process of its own, so that its children and descriptors are its own, too. */
#include "matrix.h"

#include <stdlib.h>

int main(void)
{
    if (getenv("MCPLUG_TEST_DIST")) /* what goes into a package is not told by these */
        return 77;
    Suite *suite = suite_create("registry_matrix");

    add_kill_tests(suite);
    add_start_tests(suite);
    add_share_tests(suite);
    add_call_tests(suite);
    add_want_tests(suite);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failures = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failures != 0;
}
