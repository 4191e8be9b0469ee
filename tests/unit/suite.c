#include "suite.h"

#include <stdio.h>
#include <stdlib.h>

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
