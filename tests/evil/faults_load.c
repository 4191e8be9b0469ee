/* A third part of faults_http.c: many calls at once. */
#include "faults_http.h"

int main(void)
{
    Suite *suite = suite_create("faults_load");

    add_http_load_tests(suite);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failures = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failures != 0;
}
